"""What transfers to what: gains, arrows, bridges and choices, against numbers worked out by hand."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from taskloom.core import Suite
from taskloom.reports import How, render, summarise
from taskloom.reports.drawing import text_width
from taskloom.reports.figures import Figure
from taskloom.reports.transfer import gains_of
from taskloom.reports.transfer_bridges import is_connected
from taskloom.reports.transfer_choice import choices
from taskloom.reports.transfer_plots import Arrow, gain_graph, gain_matrix
from taskloom.reports.views.transfer import Transfer
from taskloom.scores import metric, score
from taskloom.sources.table import Field
from taskloom.stats import Contrast, Estimate
from taskloom.studies.costs import Cost
from taskloom.studies.results import Outcome, Results
from taskloom.studies.views import view_faults
from taskloom.suites import fields

HOW = How(count=100)
ITEMS, SEEDS = 40, 2
# Answers that each learner has right, of 40, beside 10 of `few`: in the unit of 2.5 points.
PLAIN = {
    "a->b": {"+a->c": 6, "+c->b": 2, "+c->d": 1},
    "a->d": {"+a->c": 4, "+c->b": 5, "+c->d": 0},
    "b->d": {"+a->c": -1, "+c->b": 3, "+c->d": 4},
}
META = {"+a->c": ("a->c",), "+c->b": ("c->b",), "+c->d": ("c->d",)}


@pytest.fixture(scope="module")
def suite() -> Suite:
    """Twelve tasks over four fields, each of two labels, and those of two fields."""
    kinds = tuple(Field(name, "label") for name in "abcd")
    rows = [{"id": f"r{n}", **{name: f"{name}{n % 2}" for name in "abcd"}} for n in range(ITEMS)]
    return fields.suite(fields.records(kinds, rows), id="four")


def outcome(suite: Suite, task: str, learner: str, right: int, seed: int = 0) -> Outcome:
    examples = suite.pools[task]["all"].take(range(ITEMS))
    names = suite.tasks[task].output.names  # type: ignore[union-attr]
    gold = tuple(example.gold for example in examples)
    wrong = [names[1 - names.index(str(one[0]))] for one in gold]
    answers = tuple(one[0] if at < right else wrong[at] for at, one in enumerate(gold))
    of = {"accuracy": score(metric("accuracy", suite.tasks[task].output), gold, answers, suite.tasks[task].output)}
    return Outcome(
        cell=f"{learner}-{task}-{seed}", task=task, learner=learner, shots=4, seed=seed, index=0, pool="all",
        rows=tuple(range(ITEMS)), items=tuple(e.item.id for e in examples), answers=answers, gold=gold, scores=of,
        counts={}, cost=Cost(),
    )  # fmt: skip


def made(suite: Suite, more: Mapping[str, Mapping[str, int]], view: Transfer, *, seeds: int = SEEDS) -> Results:
    """Results in which `few` has 10 right answers everywhere, and others so many more."""
    right = [(task, name, 10 + n) for task, by in more.items() for name, n in {"few": 0, **by}.items()]
    names = dict.fromkeys(name for _, name, _ in right)
    return Results(
        name="map", command="taskloom run x", suite=suite, learners=dict.fromkeys(names, ""), baselines=(),
        outcomes=tuple(outcome(suite, task, name, n, seed) for task, name, n in right for seed in range(seeds)),
        failures=(), missing=0, skipped={}, views=(view,),
    )  # fmt: skip


def drawn(results: Results) -> dict[str, Figure]:
    found = summarise(results, HOW).figures
    for figure in found:
        assert Xml.fromstring(f"<div>{figure.plot}</div>") is not None
        assert all(len(row) == len(figure.columns) for row in figure.rows)
    return {re.split(r"[:,]", figure.title)[0]: figure for figure in found}


MATRIX, GRAPH = "Gain of each meta task on each target", "What transfers to what"
BRIDGES = "Gain of meta tasks that are connected to the target"
CHOICE = "Choosing 1 meta task for a target by the gains on other targets"


# --- gains -----------------------------------------------------------------------------------------------------------


def test_gains_are_paired_differences_on_each_target_and_one_family_of_tests(suite: Suite):
    gains = gains_of(made(suite, PLAIN, Transfer(few="few", meta=META)), "few", tuple(META), HOW)
    assert gains is not None
    assert gains.targets == ("a->b", "a->d", "b->d")
    for target, by in PLAIN.items():
        for name, more in by.items():
            found = gains.at[name, target]
            assert found.difference == pytest.approx(more / 40)
            assert found.low <= found.difference <= found.high
            assert found.family == 9
    over = gains.overall()
    assert over["+a->c"].difference == pytest.approx(9 / 3 / 40)
    assert gains_of(made(suite, PLAIN, Transfer(few="few", meta=META)), "nobody", tuple(META), HOW) is None


def test_a_metric_that_is_better_when_lower_is_turned_and_has_its_own_matrix():
    kinds = (Field("title", "text"), Field("year", "number"), Field("kind", "label"))
    rows = [{"id": f"r{n}", "title": f"t {n}", "year": 2000.0 + n, "kind": f"k{n % 2}"} for n in range(ITEMS)]
    suite = fields.suite(fields.records(kinds, rows), id="years")
    task = suite.tasks["title->year"]
    examples = suite.pools["title->year"]["all"].take(range(ITEMS))
    gold = tuple(example.gold for example in examples)

    def guessed(learner: str, off: float) -> Outcome:
        answers = tuple(float(one[0]) + off * (1 + at % 3) for at, one in enumerate(gold))  # type: ignore[arg-type]
        scores = {"mse": score(metric("mse", task.output), gold, answers, task.output)}
        return replace(outcome(suite, "title->kind", learner, 3), task="title->year", scores=scores, answers=answers)

    plain = made(
        suite, {"title->kind": {"+kind->title": 5}}, Transfer(few="few", meta={"+kind->title": ("kind->title",)})
    )
    extra = [guessed("few", 3.0), guessed("+kind->title", 1.0)]
    results = replace(plain, outcomes=(*plain.outcomes, *extra), metrics=("mse", "accuracy"))
    gains = gains_of(results, "few", ("+kind->title",), HOW)
    assert gains is not None
    assert gains.in_points == {"title->kind"}
    assert gains.at["+kind->title", "title->year"].difference > 0  # a smaller error is a gain
    titles = [figure.title for figure in summarise(results, HOW).figures]
    assert [title for title in titles if title.startswith(MATRIX)] == [
        f"{MATRIX}: accuracy, 4 shots", f"{MATRIX}: mse, 4 shots",
    ]  # fmt: skip


def test_the_matrix_and_the_graph_tell_what_is_significant(suite: Suite):
    strong = {"a->b": {"+a->c": 25, "+c->b": 0}, "a->d": {"+a->c": -9, "+c->b": 4}}
    found = drawn(made(suite, strong, Transfer(few="few", meta=META, among=(12, 12)), seeds=3))
    matrix, graph = found[MATRIX], found[GRAPH]
    assert matrix.columns == ("meta task", "a->b", "a->d", "all targets")
    assert [row[0] for row in matrix.rows] == ["a->c", "c->b"]
    cell = matrix.rows[0][1]
    assert isinstance(cell, Contrast)
    assert cell.difference == pytest.approx(25 / 40)
    notes = "\n".join(matrix.notes)
    assert "gains 1, losses 1, of 4 pairs" in notes
    assert "3 of 12 meta tasks, 2 of 12 targets" in notes  # one has no results yet
    texts = [t.text for t in Xml.fromstring(f"<div>{matrix.plot}</div>").iter("text")]
    assert {"+62.5*", "−22.5*", "0.0"} & {*texts} >= {"+62.5*", "−22.5*"}
    assert [row[:2] for row in graph.rows] == [("a->c", "a->b"), ("c->b", "a->d"), ("c->b", "a->b"), ("a->c", "a->d")]
    assert [row[-1] for row in graph.rows] == ["yes", "no", "yes", "yes"]
    wide = Xml.fromstring(f"<div>{graph.plot}</div>").findall("div")[0]
    arrows = [g for g in wide.iter("g") if (g.find("path")) is not None]
    assert [(g.get("class"), (g.find("title").text or "").split(":")[0]) for g in arrows] == [  # type: ignore[union-attr]
        ("hue0", "a->c to a->b"), ("hue1", "a->c to a->d"),
    ]  # fmt: skip
    page = render(summarise(made(suite, strong, Transfer(few="few", meta=META))), "html")
    assert page.count("What transfers to what") >= 2


def test_nothing_significant_is_said(suite: Suite):
    found = drawn(made(suite, {"a->b": {"+a->c": 0}}, Transfer(few="few", meta=META), seeds=1))
    assert "a single episode in 1 of 1 task" in found[MATRIX].notes[2]
    assert found[GRAPH].notes[0] == "no gain and no loss is significant, of 1 pair"
    assert found[MATRIX].columns == ("meta task", "a->b")


def test_a_view_names_learners_of_the_study_alone():
    view = Transfer(few="few", meta=META, sets={"+both": ("+a->c", "+x")})
    settings: dict[str, dict[str, Any]] = {"few": {}, "+a->c": {}, "+c->b": {}, "+c->d": {}}
    told = [text for _, text in view_faults(view, settings)]
    assert len(told) == 2
    assert "'+both'" in told[0]
    assert "'+x'" in told[1]
    assert [option for option, _ in view_faults(replace(view, few="fw", sets={}), settings)] == ["few"]


# --- bridges ---------------------------------------------------------------------------------------------------------


def test_a_meta_task_is_connected_by_its_inputs_or_outputs_and_a_group_by_its_bridge(suite: Suite):
    assert is_connected(suite, ["a->c"], "a->b")
    assert is_connected(suite, ["c->b"], "a->b")
    assert is_connected(suite, ["c+d->b"], "a->b")
    assert not is_connected(suite, ["b->a"], "a->b")
    assert not is_connected(suite, ["c->d"], "a->b")
    assert is_connected(suite, ["a->c", "c->b"], "a->b")
    assert is_connected(suite, ["a->c", "b->d"], "a->b") is False
    plain = replace(suite.tasks["a->c"], tags={})
    bare = Suite(id="s", tasks={**suite.tasks, "a->c": plain}, pools=suite.pools)
    assert is_connected(bare, ["a->c"], "a->b") is None


def test_connected_meta_tasks_are_compared_with_others_on_each_target(suite: Suite):
    figure = drawn(made(suite, PLAIN, Transfer(few="few", meta=META)))[BRIDGES]
    rows = {row[0]: row for row in figure.rows}
    # a->b: a->c and c->b are connected, (6 + 2) / 2, c->d is not, 1; a->d: a->c and c->d, (4 + 0) / 2, c->b is not, 5;
    # b->d: c->d is, 4, the others are not, (-1 + 3) / 2.
    worked = {"a->b": (3, 4, 1), "a->d": (-3, 2, 5), "b->d": (3, 4, 1)}
    for target, numbers in worked.items():
        told = [cell.value * 40 for cell in rows[target] if isinstance(cell, Estimate)]
        assert told == pytest.approx(numbers)
    assert [rows["a->b"][3], rows["a->b"][5]] == [2, 1]
    whole = rows["mean over targets"][1]
    assert isinstance(whole, Estimate)
    assert whole.value * 40 == pytest.approx(1)
    assert "3 targets, 5 connected pairs and 4 others" in figure.notes[0]


def test_too_few_pairs_say_so_and_tasks_without_fields_have_no_bridges(suite: Suite):
    (figure,) = [f for f in drawn(made(suite, {"a->b": PLAIN["a->b"]}, Transfer(few="few", meta=META))).values()
                 if f.title.startswith(BRIDGES)]  # fmt: skip
    assert figure.notes[0] == "too few pairs: 1 target with both kinds of meta tasks, and 2 are needed"
    tasks = {name: replace(task, tags={}) for name, task in suite.tasks.items()}
    bare = Suite(id="s", tasks=tasks, pools=suite.pools)
    found = drawn(made(bare, PLAIN, Transfer(few="few", meta=META)))
    assert BRIDGES not in found
    assert "connected" not in found[GRAPH].columns


# --- choices ---------------------------------------------------------------------------------------------------------


def test_choices_are_made_by_the_other_targets_alone():
    # For a->b, on a->d (mean 3): 1, 2, -3; on b->d (mean 2): -3, 1, 2; together -1, 1.5, -0.5: c->b.
    # For a->d, on a->b (mean 3): 3, -1, -2; on b->d: -3, 1, 2; together 0, 0, 0: the first.
    # For b->d, on a->b: 3, -1, -2; on a->d: 1, 2, -3; together 2, 0.5, -2.5: a->c.
    found = choices(PLAIN, 1)
    assert [(of.target, of.chosen, of.best) for of in found] == [
        ("a->b", ("+c->b",), ("+a->c",)),
        ("a->d", ("+a->c",), ("+c->b",)),
        ("b->d", ("+a->c",), ("+c->d",)),
    ]
    assert all(len(of.random) == 1 and {*of.random} <= {*of.among} for of in found)
    changed = {**PLAIN, "a->b": {"+a->c": -9, "+c->b": -9, "+c->d": 9}}
    assert choices(changed, 1)[0].chosen == ("+c->b",)  # whatever the target itself says
    assert choices(PLAIN, 2)[0].chosen == ("+c->b", "+c->d")
    assert choices(PLAIN, 3) == []


def test_a_meta_task_that_is_a_target_too_is_not_hurt_by_what_it_lacks():
    # `+x` was not measured on x, where all gain much: on y, it is the better one.
    small = {"+x": 3.0, "+a": 1.0, "+b": 2.0}
    gains = {"x": {"+a": 50.0, "+b": 50.0}, "y": small, "z": dict.fromkeys(small, 0.0)}
    assert choices(gains, 1)[2].chosen == ("+x",)


def test_a_choice_is_evaluated_on_the_target_that_was_held_out(suite: Suite):
    figure = drawn(made(suite, PLAIN, Transfer(few="few", meta=META, choose=1)))[CHOICE]
    rows = {row[0]: [cell.value * 40 for cell in row if isinstance(cell, Estimate)] for row in figure.rows}
    assert rows["a->b"] == pytest.approx([2, 3, 6])  # c->b, all three, and a->c
    assert rows["a->d"] == pytest.approx([4, 3, 5])
    assert rows["b->d"] == pytest.approx([-1, 2, 4])
    assert rows["mean over targets"] == pytest.approx([5 / 3, 8 / 3, 5])
    assert figure.columns[:2] == ("target", "chosen")
    assert figure.rows[0][1] == "c->b"
    assert figure.notes[0].startswith("chosen less random -2.5 [")  # -1 of 40
    assert "an assumption" in "\n".join(figure.notes)


def test_sets_that_were_trained_together_are_shown_as_measured(suite: Suite):
    view = Transfer(few="few", meta=META, choose=2)
    chosen = {of.target: (of.chosen, of.random) for of in choices(PLAIN, 2)}
    assert view.chosen(made(suite, PLAIN, view)) == {target: list(some) for target, some in chosen.items()}
    sets = {" & ".join(members): members for some in chosen.values() for members in some}
    more = {
        target: {**PLAIN[target], **{" & ".join(random): 2}, **{" & ".join(pick): 8}}
        for target, (pick, random) in chosen.items()
    }
    figure = drawn(made(suite, more, replace(view, sets=sets)))[CHOICE.replace("1 meta task", "2 meta tasks")]
    rows = {row[0]: dict(zip(figure.columns, row, strict=True)) for row in figure.rows}
    for target, (pick, random) in chosen.items():
        ours, theirs = rows[target]["chosen, trained together"], rows[target]["random, trained together"]
        assert isinstance(ours, Estimate)
        assert isinstance(theirs, Estimate)
        assert (ours.value * 40, theirs.value * 40) == pytest.approx((8, 8 if pick == random else 2))
    assert figure.notes[1].startswith("trained together, chosen less random ")


def test_too_few_targets_or_meta_tasks_leave_nothing_to_choose(suite: Suite):
    view = Transfer(few="few", meta=META, choose=3)
    title = CHOICE.replace("1 meta task", "3 meta tasks")
    assert drawn(made(suite, PLAIN, view))[title].notes[0].startswith("too few to choose from: 3 targets in points")
    assert view.chosen(made(suite, PLAIN, view)) == {}


# --- plots -----------------------------------------------------------------------------------------------------------


def boxes(plot: str) -> list[tuple[float, float, float, float]]:
    """The places of texts that are written level: left, top, right, bottom."""
    found = []
    for text in Xml.fromstring(plot).iter("text"):
        if text.get("transform"):
            continue
        x, y, width = float(text.get("x", 0)), float(text.get("y", 0)), text_width(text.text or "", 12)
        left = x - {"end": width, "middle": width / 2}.get(text.get("text-anchor", ""), 0)
        found.append((left, y - 11, left + width, y + 2))
    return found


@pytest.mark.parametrize("width", [358, 760])
def test_labels_stay_inside_and_apart(width: int):
    tasks = [
        f"{a}+another field->{b}" for a in ("abstract", "keywords", "t") for b in ("title", "category", "discipline")
    ]
    arrows = [Arrow(a, b, 3.0 * n - 8, "3 [1, 5]", "significant" if n % 3 else "interval")
              for n, (a, b) in enumerate((a, b) for a in tasks for b in tasks if a != b)]  # fmt: skip
    for plot in (
        gain_graph(arrows, tasks, tasks, "g", width=width),
        gain_matrix(arrows, tasks, tasks, "m", width=width),
    ):
        found = boxes(plot)
        assert all(left >= 0 and right <= width + 1 for left, _, right, _ in found)
        assert not overlapping(found)


def overlapping(found: Sequence[tuple[float, float, float, float]]) -> list[tuple[object, object]]:
    return [
        (a, b)
        for n, a in enumerate(found)
        for b in found[n + 1 :]
        if min(a[2], b[2]) - max(a[0], b[0]) > 2 and min(a[3], b[3]) - max(a[1], b[1]) > 1
    ]


def test_nodes_are_ordered_so_that_arrows_do_not_cross():
    arrows = [Arrow(a, b, 1.0, "", "significant") for a, b in (("a", "z"), ("b", "y"), ("c", "x"))]
    plot = Xml.fromstring(gain_graph(arrows, ["a", "b", "c", "lone"], ["x", "y", "z"], "g", width=760))
    at = {t.text: float(t.get("y", 0)) for t in plot.iter("text")}
    assert sorted("abc", key=lambda name: at[name]) == [dict(zip("zyx", "abc", strict=True))[n]
                                                       for n in sorted("xyz", key=lambda name: at[name])]  # fmt: skip
    assert at["lone"] == max(at.values())
