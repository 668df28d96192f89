from __future__ import annotations

import math
from dataclasses import replace

import pytest

from taskloom.core import Example, Item, Suite, Task, Text
from taskloom.errors import UnknownNameError
from taskloom.messages import Note
from taskloom.reports import FORMS, How, compare, render, summarise
from taskloom.reports.summary import Tally, _samples, curve
from taskloom.scores import metric, score
from taskloom.studies.costs import Cost
from taskloom.studies.results import Outcome, Results
from taskloom.suites import rows


def test_scores_are_those_of_the_outcomes(results, summary):
    leaderboard = next(b for b in summary.of("accuracy") if b.shots == 5)
    score = next(s.score for s in leaderboard.standings if s.learner == "weak")
    tasks = ("title->category", "keywords->category")
    found = [o for o in results.outcomes if o.learner == "weak" and o.shots == 5 and o.task in tasks]
    assert score.value == pytest.approx(sum(o.scores["accuracy"].value for o in found) / len(found))
    assert score.n == sum(len(o.answers) for o in found)
    assert score.low < score.value < score.high


def test_parts_have_metrics_of_their_own(summary):
    assert {"title/rouge-l", "category/accuracy", "accuracy", "tau-b", "mse", "list-f1"} <= set(summary.metrics)
    assert set(summary.of("title/rouge-l")[0].tasks) == {"keywords->title+category"}


def test_every_learner_is_on_every_leaderboard(results, summary):
    for leaderboard in summary.leaderboards:
        assert {s.learner for s in leaderboard.standings} == set(results.learners)
        broken = next(s for s in leaderboard.standings if s.learner == "broken")
        assert math.isnan(broken.score.value)
        assert broken.rank == 0


def test_curves_go_over_shots(summary):
    points = curve(summary, "accuracy")["weak"]
    assert [shots for shots, _ in points] == [0, 5]


def test_counts(results, summary):
    c = summary.counts
    assert (c.done, c.failed, c.missing) == (len(results.outcomes), 1, 2)
    assert c.skipped == {Note.of("output-unsupported", learner="majority", kind="ranking"): 3}
    assert Tally("weak", "prompt-cut", 30) in c.noted
    assert c.costs["weak"].seconds == pytest.approx(15)
    assert c.cells["broken"] == 0


def test_an_unusable_answer_is_counted_once_however_many_metrics_score_it(results, summary):
    plain = [o for o in results.outcomes if o.learner == "weak" and not any("/" in name for name in o.scores)]
    none = sum(answer is None for o in plain for answer in o.answers)
    tally = next(t for t in summary.counts.unusable if (t.learner, t.what) == ("weak", "unparsable"))
    assert (tally.count, tally.of) == (none, sum(len(o.answers) for o in plain))
    parts = {t.what for t in summary.counts.unusable if "/" in t.what}
    assert parts == {"title/unparsable", "category/unparsable"}


def test_samples_are_chosen_by_content_and_marked(results, summary):
    turned = replace(results, outcomes=results.outcomes[::-1])
    assert summarise(turned, How(count=20)).samples == summary.samples
    for sample in summary.samples["title->category"]:
        assert sample.fields.keys() == {"title"}
        for given in sample.answers:
            (mark,) = given.marks
            assert mark.right == (given.text in sample.gold)
    marks = [m for s in summary.samples["title->keywords"] for g in s.answers for m in g.marks]
    assert all(mark.right is None and mark.metric == "list-f1" for mark in marks)


def text_results(pools, rows_asked):
    """Results of one learner that is asked about these rows of the test pool, or of the only one."""
    name = "test" if "test" in pools else "all"
    task = Task(id="t", instruction="Answer.", output=Text(), metrics=("exact-match",))
    suite = Suite(id="s", tasks={"t": task}, pools={"t": {n: rows.pool(task, found) for n, found in pools.items()}})
    asked = suite.pools["t"][name].take(rows_asked)
    gold = tuple(e.gold for e in asked)
    scores = {"exact-match": score(metric("exact-match"), gold, ["x"] * len(gold), Text())}
    outcome = Outcome(
        cell="c", task="t", learner="a", shots=0, seed=0, index=0, pool=name, rows=tuple(rows_asked),
        items=tuple(e.item.id for e in asked), answers=("x",) * len(gold), gold=gold, scores=scores, counts={},
        cost=Cost(),
    )  # fmt: skip
    return Results(
        name="s", command="", suite=suite, learners={"a": "A"}, baselines=(), outcomes=(outcome,), failures=(),
        missing=0, skipped={},
    )  # fmt: skip


def examples(head, count):
    return [Example(Item(str(n), {"input": f"{head} {n}"}), (f"{head} gold {n}",), f"{head}{n}") for n in range(count)]


def test_samples_show_the_input_that_was_asked_about_where_pools_share_ids():
    made = text_results({"train": examples("train", 9), "test": examples("test", 9)}, (7, 2, 5))
    samples = summarise(made).samples["t"]
    assert {s.item: s.fields["input"] for s in samples} == {"7": "test 7", "2": "test 2", "5": "test 5"}
    assert {s.gold for s in samples} == {("test gold 7",), ("test gold 2",), ("test gold 5",)}


def test_samples_read_no_rows_but_their_own_however_large_the_pool():
    made = text_results({"all": examples("large", 2_500)}, range(2_300, 2_400))
    taken = []

    class Watched:
        def take(self, wanted):
            taken.extend(wanted)
            return made.suite.pools["t"]["all"].take(wanted)

    watched = replace(made, suite=replace(made.suite, pools={"t": {"all": Watched()}}))
    samples = _samples(watched)["t"]
    assert [s.fields["input"] for s in samples] == [f"large {row}" for row in taken]
    assert len(taken) == 3


def test_signatures_can_be_quoted(summary):
    assert set(summary.signatures) == set(summary.metrics)
    assert summary.signatures["title/rouge-l"] == ("rouge-l|variant:corrected|v:2|taskloom:0.1.0",)


def test_nothing_is_no_value(empty):
    made = summarise(empty)
    assert made.leaderboards == ()
    assert made.samples == {}
    for form in ("terminal", "md", "csv", "tex", "json", "html"):
        text = render(made, form)
        assert "nan" not in text.lower().replace("finance", "")
    assert "no value" in render(empty, "terminal").lower()


@pytest.mark.parametrize("form", sorted(FORMS))
def test_every_form_can_be_written_to_a_file(results, form):
    broken = replace(results.failures[0], traceback="half a pair: \ud83c, and a null: \x00")
    made = replace(results, name="half \ud83c", outcomes=results.outcomes[:4], failures=(broken,))
    assert render(made, form, How(count=20)).encode()


def test_all_failed(results):
    failed = summarise(replace(results, outcomes=()))
    assert failed.counts.failed == 1
    assert "no value" in render(failed, "html").lower()


def test_unknown_names_say_which_come_near(results):
    with pytest.raises(UnknownNameError, match="did you mean strong"):
        compare(results, "stron", "weak")
    with pytest.raises(UnknownNameError, match="form of report"):
        render(results, "pdf")
