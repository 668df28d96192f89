"""What was kept of a run is read as it was given, whatever its form, and scored once."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from taskloom.core import Example, Fields, Item, Labels, Number, Output, Ranking, Suite, Task, Terms, Text
from taskloom.errors import LedgerError, StudyError
from taskloom.reports import How, render, summarise
from taskloom.scores import Scored
from taskloom.scores.tasks import score_task
from taskloom.studies.api import LEDGER, open_run, run
from taskloom.studies.finished import checksum, packed, unpacked
from taskloom.studies.ledger import Ledger
from taskloom.studies.results import Results, own_records, records_of
from taskloom.suites import rows, store

SAYS = """
import json
from dataclasses import dataclass
from typing import ClassVar
from taskloom import Learner

@dataclass(frozen=True)
class Says(Learner):
    said: str
    version: ClassVar[int] = 1
    outputs: ClassVar[frozenset] = frozenset({"text", "labels", "terms", "number", "ranking", "fields"})
    unaided: ClassVar[frozenset] = outputs

    def fit(self, task, support, dev, *, seed, tools):
        return self

    def predict(self, items):
        return [json.loads(self.said) for _ in items]
"""
BOTH = Fields({"year": Number(), "keywords": Terms()})
GOLDS: dict[str, Any] = {
    "text": "yes",
    "number": 1.0,
    "ranking": (("a", 1.0), ("b", 0.0)),
    "fields": {"year": 1.0, "keywords": ("x", "y")},
    "labels": ("a",),
}
METRICS = {"text": "exact-match", "number": "mse", "ranking": "ndcg", "labels": "micro-f1"}


def suite(folder: Path, output: Output, metrics: Sequence[str]) -> None:
    of = Task(id="t", instruction="Answer.", output=output, metrics=tuple(metrics))
    items = [Item(str(n), {"input": f"text {n}"}, ("a", "b")) for n in range(12)]
    pool = rows.pool(of, [Example(item, (GOLDS[output.kind],), item.id) for item in items])
    store.write(Suite(id="s", tasks={"t": of}, pools={"t": {"all": pool}}), folder, replace=True)


def said(folder: Path, output: Output, metrics: Sequence[str], answer: Any) -> Results:
    """Run a learner that always says the same."""
    suite(folder / "suite", output, metrics)
    (folder / "says.py").write_text(SAYS)
    learner = json.dumps({"says.py:Says": {"said": json.dumps(answer)}})
    (folder / "s.yaml").write_text(
        "name: s\nsuite: suite\nbaselines: false\nprotocol: {shots: [0], seeds: 1, query: 2}\n"
        f"learners: {{says: {learner}}}\n"
    )
    return run(folder / "s.yaml", folder / "run")


@pytest.mark.parametrize(
    ("output", "answer", "reason", "shown"),
    [
        (Number(), "abc", "not-finite", "abc"),
        (Number(), "12", "not-finite", "12"),
        (Number(), True, "not-finite", "True"),
        pytest.param(Number(), 10**400, "not-finite", f"{10**400}", id="huge"),
        (Text(), ["a"], "text-expected", "('a',)"),
        (Ranking(), ["ab", "c"], "pairs-expected", "('ab', 'c')"),
        (Ranking(), [["a", 1.0], ["b"]], "pairs-expected", "(('a', 1.0), ('b',))"),
        (Ranking(), [["a", "1"]], "grade-not-finite", "(('a', '1'),)"),
        (Labels(("a", "b"), many=True), "a", "labels-expected", "a"),
    ],
)
def test_an_answer_of_another_form_is_unusable_and_shown_as_it_was_given(
    tmp_path: Path, output: Output, answer: Any, reason: str, shown: str
):
    name = METRICS[output.kind]
    found = said(tmp_path, output, [name], answer)
    assert found.outcomes[0].scores[name].unusable == {reason: 2}
    assert {g.text for s in summarise(found, How(count=20)).samples["t"] for g in s.answers} == {shown}
    assert render(open_run(tmp_path / "run"), "html", How(count=20))
    again = "ndcg@5" if output.kind == "ranking" else {"mse": "tau-b", "micro-f1": "macro-f1"}.get(name, "rouge-l")
    suite(tmp_path / "suite", output, [again])
    (new,) = open_run(tmp_path / "run").outcomes
    assert new.scores[again].unusable == {reason: 2}


@pytest.mark.parametrize(
    ("answer", "unusable"),
    [
        ({"keywords": ["x"]}, {"year": {"unparsable": 2}, "keywords": {}}),
        ({"keywords": "x", "year": "1"}, {"year": {"not-finite": 2}, "keywords": {"terms-expected": 2}}),
        ({"keywords": ["x"], "more": 1, "year": 1}, {"year": {}, "keywords": {}}),
        ("x", {"year": {"unparsable": 2}, "keywords": {"unparsable": 2}}),
    ],
)
def test_of_several_fields_those_that_have_their_form_count(
    tmp_path: Path, answer: Any, unusable: dict[str, dict[str, int]]
):
    found = said(tmp_path, BOTH, ["year/mse", "keywords/list-f1"], answer)
    assert {n.partition("/")[0]: s.unusable for n, s in found.outcomes[0].scores.items()} == unusable
    suite(tmp_path / "suite", BOTH, ["year/tau-b", "keywords/bpref"])
    (new,) = open_run(tmp_path / "run").outcomes
    assert {n.partition("/")[0]: s.unusable for n, s in new.scores.items()} == unusable
    assert render(open_run(tmp_path / "run"), "html", How(count=20))


def test_the_parts_of_an_answer_stand_in_the_order_of_the_task(tmp_path: Path):
    found = said(tmp_path, BOTH, ["year/mse"], {"keywords": ["x"], "year": None})
    assert found.outcomes[0].answers == ({"year": None, "keywords": ("x",)},) * 2
    assert list(found.outcomes[0].answers[0] or ()) == ["year", "keywords"]


def test_new_metrics_are_scored_once_and_those_that_are_kept_not_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    said(tmp_path, Text(), ["exact-match"], "yes")
    metrics = ("rouge-l", "exact-match", "rouge-l:published", "bleu-4")
    suite(tmp_path / "suite", Text(), metrics)
    scored: list[tuple[str, ...]] = []

    def counted(of: Task, gold: Sequence[Any], answers: Sequence[Any], metrics: tuple[str, ...]) -> dict[str, Scored]:
        scored.append(metrics)
        return score_task(of, gold, answers, metrics)

    monkeypatch.setattr("taskloom.studies.results.score_task", counted)
    (found,) = open_run(tmp_path / "run").outcomes
    assert list(found.scores) == list(metrics)
    assert scored == [("rouge-l", "rouge-l:published", "bleu-4")]
    open_run(tmp_path / "run")
    assert scored[1:] == []


def test_an_outcome_says_which_rows_of_which_pool_were_asked_about(tmp_path: Path):
    (found,) = said(tmp_path, Text(), ["exact-match"], "yes").outcomes
    pool = store.open_suite(tmp_path / "suite").pools["t"][found.pool]
    assert tuple(example.item.id for example in pool.take(found.rows)) == found.items


def test_a_report_needs_the_ledger_and_the_suite_alone(tmp_path: Path):
    before = said(tmp_path, Text(), ["exact-match"], "yes")
    (tmp_path / "says.py").unlink()
    (tmp_path / "s.yaml").unlink()
    (tmp_path / "run" / "study.yaml").unlink()
    again = open_run(tmp_path / "run")
    assert [(o.cell, o.answers) for o in again.outcomes] == [(o.cell, o.answers) for o in before.outcomes]
    assert (again.learners, again.settings) == (before.learners, before.settings)
    assert render(again, "md", How(count=20)) == render(replace(before, command=again.command), "md", How(count=20))


def test_reading_a_report_writes_nothing_unless_a_metric_is_new(tmp_path: Path):
    said(tmp_path, Text(), ["exact-match"], "yes")
    ledger = tmp_path / "run" / LEDGER
    before = ledger.read_bytes()
    open_run(tmp_path / "run")
    assert ledger.read_bytes() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_run_in_a_folder_that_can_not_be_written_is_read(tmp_path: Path):
    found = said(tmp_path, Text(), ["exact-match"], "yes")
    suite(tmp_path / "suite", Text(), ["rouge-l"])
    for path in (tmp_path / "run", *(tmp_path / "run").iterdir()):
        path.chmod(path.stat().st_mode & ~0o222)
    (again,) = open_run(tmp_path / "run").outcomes
    assert again.answers == found.outcomes[0].answers
    assert list(again.scores) == ["rouge-l"]


def test_a_suite_that_was_changed_since_the_run_is_told(tmp_path: Path):
    said(tmp_path, Text(), ["exact-match"], "yes")
    suite(tmp_path / "suite", Number(), ["mse"])
    with pytest.raises(StudyError, match=r"the suite has changed since the run; run it again; tasks that differ: t"):
        open_run(tmp_path / "run")


def test_an_item_is_known_by_its_record_and_by_itself_where_it_has_none(tmp_path: Path):
    results = said(tmp_path, Text(), ["exact-match"], "yes")
    (outcome, *_) = results.outcomes
    groups = results.suite.pools["t"][outcome.pool].groups()
    assert outcome.records == tuple(groups[list(outcome.rows)].tolist())
    of = results.suite.tasks["t"]
    examples = [Example(Item(str(n), {"input": ""}), ("yes",), "" if n else "r") for n in range(3)]
    of_rows = rows.pool(of, examples).groups()
    records = records_of("t", examples, of_rows)
    assert records == (int(of_rows[0]), *own_records("t", ("0", "1", "2"))[1:])
    assert len({*records, *records_of("u", examples, of_rows)}) == 5


def drawn(folder: Path) -> Results:
    """Run a learner at 0 shots and at numbers of shots that are drawn, on a task of classes and one without."""
    kind = Task(id="kind", instruction="Which?", output=Labels(("a", "b", "c")), metrics=("accuracy",))
    free = Task(id="free", instruction="Say it.", output=Text(), metrics=("exact-match",))
    examples = [Example(Item(str(n), {"input": "x"}), ("abc"[n % 3],), str(n)) for n in range(30)]
    pools = {of.id: {"all": rows.pool(of, examples)} for of in (kind, free)}
    store.write(Suite(id="s", tasks={"kind": kind, "free": free}, pools=pools), folder / "suite")
    (folder / "s.yaml").write_text(
        "name: s\nsuite: suite\nbaselines: false\nlearners: {nearest: {}, random: {}}\n"
        "protocol: {shots: {drawn: 3, 0: 1}, most: 2, seeds: 1, query: 2}\n"
    )
    return run(folder / "s.yaml", folder / "run")


def test_an_outcome_says_how_many_examples_of_each_class_were_shown(tmp_path: Path):
    found = {(o.task, o.shots, o.index): o for o in drawn(tmp_path).outcomes if o.learner == "random"}
    assert [found["kind", "drawn", index].chance for index in range(3)] == [1 / 8] * 3
    shown = [found["kind", "drawn", index].sizes for index in range(3)]
    assert all(len(sizes) == 3 and {*sizes} <= {1, 2} for sizes in shown)
    assert len({*shown}) > 1
    assert (found["kind", 0, 0].sizes, found["kind", 0, 0].chance) == ((0, 0, 0), 1.0)
    assert not any(o.sizes for (task, *_), o in found.items() if task == "free")


def test_a_ledger_of_before_sizes_were_kept_is_read_without_them(tmp_path: Path):
    drawn(tmp_path)
    with Ledger(tmp_path / "run" / LEDGER) as ledger:
        for cell, body in ledger.db.execute("SELECT cell, body FROM results").fetchall():
            old = packed({name: value for name, value in unpacked(body).items() if name not in ("sizes", "chance")})
            ledger.db.execute(
                "UPDATE results SET body = ?, digest = ? WHERE cell = ?", (old, checksum(cell, old), cell)
            )
    assert {(o.sizes, o.chance) for o in open_run(tmp_path / "run").outcomes} == {((), 1.0)}


@pytest.mark.parametrize("change", ["UPDATE planned SET learner = 'x'", "UPDATE scores SET unusable = '\"x\"'"])
def test_a_ledger_that_was_edited_is_refused(tmp_path: Path, change: str):
    said(tmp_path, Text(), ["exact-match"], "yes")
    with Ledger(tmp_path / "run" / LEDGER) as ledger:
        ledger.db.execute(change)
        ledger.db.execute("UPDATE scores SET digest = checksum(cell, signature, width, units, unusable)")
    with pytest.raises(LedgerError) as refused:
        open_run(tmp_path / "run")
    assert refused.value.note.code == "ledger-damaged"
