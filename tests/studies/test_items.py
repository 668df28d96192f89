"""One row for each answer: as it was asked, written, read and scored."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from taskloom.core import Example, Fields, Item, Labels, Number, Output, Suite, Task, Text
from taskloom.errors import UnknownNameError, UsageError
from taskloom.scores import METRICS, metric, score
from taskloom.studies.api import open_run, run
from taskloom.studies.items import BLOCK, item_rows, unit_values
from taskloom.studies.results import Results
from taskloom.suites import rows, store

WRITER = """
from dataclasses import dataclass
from typing import ClassVar
from taskloom import Learner, Response

@dataclass(frozen=True)
class Writer(Learner):
    version: ClassVar[int] = 1
    outputs: ClassVar[frozenset] = frozenset({"labels", "number", "fields"})
    unaided: ClassVar[frozenset] = outputs

    def fit(self, task, support, dev, *, seed, tools):
        self_ = object.__new__(type(self))
        object.__setattr__(self_, "task", task)
        return self_

    def predict(self, items):
        return [self.respond(item) for item in items]

    def respond(self, item):
        if self.task.output.kind == "labels":
            raw = item.fields["input"].split()[1]
            parsed = "even" if int(raw) % 2 == 0 else "odd" if int(raw) < 9 else None
            return Response(parsed, raw="=" + raw + "\\n\\ud83c", options={"even": -0.5, "odd": -1.25})
        if self.task.output.kind == "number":
            return Response(-1.0)
        part = Response("no such", raw="say,\\n", options={"even": 0.0})
        return Response({"kind": "no such", "size": 2.0}, parts={"kind": part, "size": Response(2.0)})
"""
KINDS = Labels(("even", "odd"))
TASKS: dict[str, tuple[Output, tuple[str, ...], Callable[[int], Any]]] = {
    "kind": (KINDS, ("macro-f1", "accuracy"), lambda n: "odd" if n % 2 else "even"),
    "size": (Number(), ("mse",), float),
    "both": (
        Fields({"kind": KINDS, "size": Number()}),
        ("kind/accuracy", "size/mse"),
        lambda n: {"kind": "odd" if n % 2 else "even", "size": float(n)},
    ),
}


def suite() -> Suite:
    tasks = {name: Task(id=name, instruction="?", output=of[0], metrics=of[1]) for name, of in TASKS.items()}
    pools = {
        name: {
            "all": rows.pool(
                task,
                [Example(Item(f"i{n}", {"input": f"number {n}"}), (TASKS[name][2](n),), f"r{n}") for n in range(12)],
            )
        }
        for name, task in tasks.items()
    }
    return Suite(id="numbers", tasks=tasks, pools=pools)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("items")
    store.write(suite(), place / "suite")
    (place / "writer.py").write_text(WRITER)
    (place / "s.yaml").write_text(
        "name: s\nsuite: suite\nbaselines: false\nprotocol: {shots: [0], seeds: 2, query: 12}\n"
        'learners: {writer: {"writer.py:Writer": {}}}\n'
    )
    run(place / "s.yaml", place / "run")
    return place / "run"


@pytest.fixture(scope="module")
def results(folder: Path) -> Results:
    return open_run(folder)


def test_a_row_has_what_was_asked_written_read_and_scored(results: Results):
    found = {(row.item, row.seed): row for row in item_rows(results, ["kind"])}
    assert len(found) == 24
    row = found["i3", 1]
    assert (row.learner, row.task, row.shots, row.episode, row.training) == ("writer", "kind", 0, 0, 1)
    assert (row.fields, row.gold, row.raw, row.answer) == ({"input": "number 3"}, ("odd",), "=3\n\ud83c", "odd")
    assert (row.unusable, row.right, row.scores) == ("", True, {"macro-f1": 1.0, "accuracy": 1.0})
    assert row.options == {"even": -0.5, "odd": -1.25}
    lost = found["i11", 0]
    assert (lost.answer, lost.unusable, lost.right, lost.scores["accuracy"]) == (None, "unparsable", False, 0.0)


def test_rows_of_several_fields_name_them(results: Results):
    row = next(item_rows(results, ["both"]))
    assert row.unusable == "kind/label-unknown"
    assert row.right is False
    assert row.raw == '{"kind": "say,\\n"}'
    assert row.options == {"kind/even": 0.0}


def test_rows_without_a_metric_that_tells_right_from_wrong_are_neither(results: Results):
    row = next(row for row in item_rows(results, ["size"]) if row.item == "i2")
    assert (row.right, row.scores, row.raw) == (None, {"mse": 9.0}, None)


def test_a_table_has_a_column_for_each_input_and_metric(results: Results):
    table = results.to_arrow()
    assert table.num_rows == 72
    assert table.column_names[:8] == ["learner", "task", "shots", "seed", "episode", "training", "item", "input.input"]
    assert [name for name in table.column_names if name.startswith("score.")] == [
        "score.macro-f1", "score.accuracy", "score.mse", "score.kind/accuracy", "score.size/mse",
    ]  # fmt: skip
    row = next(row for row in table.to_pylist() if (row["task"], row["item"]) == ("kind", "i3"))
    assert (row["gold"], row["raw"], row["right"], row["score.mse"]) == ("odd", "=3\n\ufffd", True, None)
    assert json.loads(row["options"]) == {"even": -0.5, "odd": -1.25}
    assert (row["way"], row["sizes"]) == (2, "[0, 0]")
    both = next(row for row in table.to_pylist() if row["task"] == "both")
    assert json.loads(both["answer"]) == {"kind": "no such", "size": 2.0}
    assert (both["way"], both["sizes"]) == (None, None)


def test_a_data_frame_has_the_same_rows(results: Results):
    frame = results.to_pandas(["kind"])
    assert frame.groupby("seed")["right"].mean().to_dict() == {0: 10 / 12, 1: 10 / 12}


def test_without_pandas_the_error_says_what_to_install(folder: Path):
    program = (
        "import sys\nclass Hidden:\n    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'pandas': raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Hidden())\nimport taskloom\nfrom taskloom.errors import UsageError\n"
        f"results = taskloom.open_run({str(folder)!r})\n"
        "try:\n    results.to_pandas()\nexcept UsageError as error:\n    print(error.note.code)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "pandas-missing"


def test_only_tasks_of_the_run_can_be_asked_for(results: Results):
    with pytest.raises(UnknownNameError, match="kinds"):
        next(item_rows(results, ["kinds"]))


def test_a_run_that_was_moved_is_not_made_anew(results: Results, tmp_path: Path):
    moved = replace(results, ledger=tmp_path / "ledger.db")
    with pytest.raises(UsageError, match="moved or removed"):
        next(item_rows(moved))
    assert not (tmp_path / "ledger.db").exists()


def answered(name: str) -> tuple[Output | None, Sequence[Any], Sequence[Any]]:
    """Gold answers and answers that a metric takes; more than one block of them."""
    from taskloom.core import Ranking, Terms

    many, takes = BLOCK + 7, METRICS[name].takes
    golds: dict[str, Any] = {
        "text": ("a b c d e",), "labels": ("odd",), "terms": (("a", "b"),), "number": (3.0,),
        "ranking": ((("x", 1.0), ("y", 0.0)),),
    }  # fmt: skip
    outputs: dict[str, Output] = {"text": Text(), "labels": KINDS, "terms": Terms(), "number": Number(),
                                  "ranking": Ranking()}  # fmt: skip
    wrong: dict[str, Any] = {"text": "a b c d f", "labels": "even", "terms": ("b", "q"), "number": 5.0,
                             "ranking": (("x", 0.0), ("y", 1.0))}  # fmt: skip
    kind = next(kind for kind in takes if kind in golds)
    given = [golds[kind][0] if n % 3 else wrong[kind] if n % 2 else None for n in range(many)]
    return outputs[kind], [golds[kind]] * many, given


@pytest.mark.parametrize("name", [name for name, entry in METRICS.items() if entry.takes])
def test_the_score_of_an_answer_is_that_of_it_alone(name: str):
    complete = {"f1": "f1:positive=odd", "p": "p@1", "r": "r@1", "mass": "mass@1", "best-mass": "best-mass@1"}
    typed = complete.get(name, name)
    output, gold, given = answered(name)
    scored = score(metric(typed, output), gold, given, output)
    alone = [float(scored.metric.reduce(scored.units[at : at + 1])[0]) for at in range(len(gold))]
    np.testing.assert_allclose(unit_values(scored), alone)
