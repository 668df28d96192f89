"""Encoders in studies: vectors shared by cells, runs and workers, counted apart; learners on them; older ledgers."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from taskloom.core import Example, Item, Labels, Suite, Task
from taskloom.errors import StudyError
from taskloom.models.vectors import cached
from taskloom.studies.api import LEDGER, prepare
from taskloom.studies.asking import asking
from taskloom.studies.ledger import Ledger
from taskloom.studies.ledger_schema import ADDED, OLDER
from taskloom.studies.work import Bench, drawn_for, tools_for
from taskloom.suites import rows, store

BIRDS, TREES = ("owl", "crow", "gull", "wren", "kite", "rook"), ("oak", "elm", "ash", "fir", "yew", "box")
STUDY = """
name: encoders
baselines: false
suite: suite
protocol: {seeds: 2, shots: [0, 2], query: 4}
models:
  bag: {load: "fake:bag"}
learners:
  prototype: {prototype: {model: bag}}
  neighbours: {neighbours: {model: bag, k: 3}}
  setfit: {setfit: {model: bag, pairs: 4}}
  signatures: {signatures: {model: bag}}
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("TASKLOOM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Two tasks over the same texts, and the study of four learners."""
    found: dict[str, Task] = {}
    pools: dict[str, Any] = {}
    for name, labels in (("kind", ("bird", "tree")), ("other", ("b", "t"))):
        found[name] = Task(id=name, instruction="Which?", output=Labels(labels), metrics=("accuracy",))
        made = [
            Example(Item(f"{label}{n}", {"input": f"{words} {words[:4]} number {n}"}), (label,), f"{label}{n}")
            for label, all_words in zip(labels, (BIRDS, TREES), strict=True)
            for n, words in enumerate(f"{word} {label}s" for word in all_words)
        ]
        pools[name] = {"all": rows.pool(found[name], made)}
    store.write(Suite(id="s", tasks=found, pools=pools), tmp_path / "suite")
    (tmp_path / "study.yaml").write_text(STUDY)
    return tmp_path / "study.yaml"


def test_learners_on_vectors_run_and_are_the_same_with_any_number_of_workers(study: Path):
    done, found = prepare(study, study.parent / "run").run()
    assert done.failed == 0
    shots = {(o.learner, o.shots) for o in found.outcomes}
    assert shots == {("prototype", 0)} | {(name, 2) for name in ("prototype", "neighbours", "setfit", "signatures")}
    assert any(note.code == "examples-needed" for note in prepare(study, study.parent / "run").plan.skipped)
    prepare(study, study.parent / "two").run(workers=2)
    with Ledger(study.parent / "run" / LEDGER) as one, Ledger(study.parent / "two" / LEDGER) as other:
        assert list(one.contents()) == list(other.contents())


def test_encoding_is_counted_apart_and_the_second_run_does_none(study: Path):
    first = prepare(study, study.parent / "first").run()[1]
    assert sum(o.cost.encoded for o in first.outcomes) > 0
    assert sum(o.cost.encoding for o in first.outcomes) > 0
    assert all(o.cost.fitting <= o.cost.seconds for o in first.outcomes)
    (_, said), *_ = cached()
    second = prepare(study, study.parent / "second").run()[1]
    assert all(o.cost.encoded == 0 == o.cost.encoding for o in second.outcomes)
    assert cached()[0][1] == said
    assert all(o.cost.read > 0 for o in second.outcomes if o.learner == "setfit")  # its own vectors are its own cost
    assert all(o.cost.read == 0 for o in second.outcomes if o.learner == "prototype")


def test_a_report_tells_what_encoding_took(study: Path, taskloom: Callable[..., Any]):
    prepare(study, study.parent / "run").run()
    shown = taskloom("report", study.parent / "run", "--to", "md").out
    assert "tokens encoded" in shown
    assert "seconds encoding" in shown


def test_probabilities_of_labels_are_kept(study: Path):
    made = prepare(study, study.parent / "run")
    made.run()
    with Ledger(study.parent / "run" / LEDGER) as ledger:
        for cell in made.plan.cells:
            kept = ledger.outputs(cell.id)["query"]
            assert len(kept["options"]) == 2
            assert all(len(scores) == 2 for scores in kept["scores"])


def test_a_model_without_vectors_is_refused_with_the_remedy(study: Path):
    study.write_text(STUDY.replace('load: "fake:bag"', 'load: "fake:echo"'))
    with pytest.raises(StudyError, match="needs a model that gives vectors, and 'bag' gives none; name an encoder"):
        prepare(study, study.parent / "run")


def test_an_encoder_can_not_be_trained_to_answer(study: Path):
    study.write_text(STUDY.replace("learners:", "  more: {train: bag, tasks: [other]}\nlearners:").replace(
        "prototype: {model: bag}", "prototype: {model: more}"))  # fmt: skip
    with pytest.raises(StudyError, match="its base can't be trained: 'bag'"):
        prepare(study, study.parent / "run")


def test_words_are_counted_without_the_records_of_the_query_set(study: Path):
    plan = prepare(study, study.parent / "run").plan
    bench = Bench(plan.study, plan.suite, plan.learners, plan.models, study.parent / "run")
    cell = next(cell for cell in plan.cells if cell.learner == "signatures")
    drawn = drawn_for(bench, cell)
    tools = tools_for(bench, cell, pytest.fail)
    counts = tools.word_counts()
    pool = plan.suite.pools[cell.task]["all"]
    asked = {word for example in pool.take(drawn.rows["query"]) for word in example.item.fields["input"].split()}
    assert counts["number"] == len(pool) - len(drawn.rows["query"])
    assert not any(word in counts for word in asked & {*BIRDS, *TREES})


def test_a_learner_on_vectors_can_be_asked_by_hand(study: Path):
    made = asking("fake:bag", "kind", suite=study.parent / "suite", shots=2)
    made = replace(made, learner=prepare(study, study.parent / "run").plan.learners["prototype"])
    made.bench.models["bag"] = made.bench.models["fake:bag"]  # type: ignore[index]
    found, _ = made.answers([{"input": "owl birds owl number 9"}])
    assert found[0].answer == "bird"


# --- ledgers of the format before ------------------------------------------------------------------------------------


def aged(path: Path) -> None:
    """Make a ledger what it was before costs told of encoding."""
    db = sqlite3.connect(path)
    (older,) = [statement for statement in OLDER if "CREATE TABLE costs" in statement]
    rows = db.execute("SELECT * FROM costs").fetchall()
    db.execute("DROP TABLE costs")
    db.execute(older)
    added = len(ADDED)
    db.executemany(f"INSERT INTO costs VALUES ({', '.join('?' * len(rows[0][:-added]))})", [r[:-added] for r in rows])
    db.execute("PRAGMA user_version = 5")
    db.commit()
    db.close()


def test_a_ledger_of_format_5_goes_on_with_all_that_it_has(study: Path):
    prepare(study, study.parent / "run").run()
    with Ledger(study.parent / "run" / LEDGER) as ledger:
        before, costs = list(ledger.contents()), ledger.costs()
    aged(study.parent / "run" / LEDGER)
    done, found = prepare(study, study.parent / "run").run()
    assert (done.ran, len(found.outcomes)) == (0, len(costs))
    with Ledger(study.parent / "run" / LEDGER) as ledger:
        assert list(ledger.contents()) == before
        assert [replace(one[3], encoded=0, encoding=0.0) for one in costs] == [one[3] for one in ledger.costs()]


def test_a_ledger_of_format_5_that_can_not_be_written_is_read_and_merged(study: Path, monkeypatch: pytest.MonkeyPatch):
    prepare(study, study.parent / "run").run()
    aged(study.parent / "run" / LEDGER)
    may = os.access
    closed = study.parent / "run"
    monkeypatch.setattr(os, "access", lambda path, mode: may(path, mode) and closed not in (path, Path(path).parent))
    from taskloom.studies.merging import merge

    with Ledger(closed / LEDGER) as ledger:
        assert not ledger.writable
        known = len(ledger.costs())
        assert known
    with Ledger(study.parent / "all.db") as ledger:
        assert merge(ledger, closed / LEDGER).new == known
        assert len(ledger.costs()) == known
