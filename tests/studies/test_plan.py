"""Which cells a study has, what they are named by, and what is refused before any work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from taskloom.core import Example, Fields, Item, Number, Output, Suite, Task, Text
from taskloom.episodes import Sampler
from taskloom.errors import StudyError
from taskloom.learners.instructed import Instructed
from taskloom.studies.api import run
from taskloom.studies.plan import Plan, plan
from taskloom.studies.study import Study, StudyLearner, StudyProtocol
from taskloom.suites import rows, store

ONE = StudyProtocol(shots={0: 1}, seeds=(0,), sampler=Sampler(query=2))
NOISE = {"model": "fake:noise"}


def suite(folder: Path, *tasks: Task, folds: Any = None) -> Suite:
    """Write a suite of twelve examples for each task."""
    golds: dict[str, Any] = {"text": "yes", "number": 1.0, "fields": {"year": 1.0, "title": "yes"}}
    pools = {
        task.id: {
            "all": rows.pool(
                task,
                [Example(Item(str(n), {"input": f"text {n}"}), (golds[task.output.kind],), str(n)) for n in range(12)],
            )
        }
        for task in tasks
    }
    made = Suite(id="s", tasks={task.id: task for task in tasks}, pools=pools, folds=folds or {})
    return store.write(made, folder, replace=True)


def task(name: str, output: Output | None = None, metrics: Sequence[str] = ("rouge-l",), **more: Any) -> Task:
    return Task(id=name, instruction="Answer.", output=output or Text(), metrics=tuple(metrics), **more)


def study(folder: Path, tasks: Sequence[str] = ("*",), **learners: StudyLearner) -> Study:
    chosen = learners or {"copy": StudyLearner(learner="copy-input")}
    return Study(name="s", suite=str(folder), tasks=tuple(tasks), protocol=ONE, learners=chosen, folder=folder.parent)


def ids(of: Plan) -> dict[str, str]:
    return {cell.learner: cell.id for cell in of.cells}


def test_what_a_learner_shows_of_a_tasks_tags_names_its_cells_alone(tmp_path: Path):
    def tagged(category: str) -> Study:
        suite(tmp_path / "suite", task("t", tags={"source": ("squad",), "category": (category,)}))
        by_id = StudyLearner(learner="instructed", options={**NOISE, "encoding": "id+def"})
        return study(tmp_path / "suite", id=by_id, plain=StudyLearner(learner="instructed", options=NOISE))

    before = ids(plan(tagged("Question Answering"), tmp_path))
    run(tagged("Question Answering"), tmp_path / "run")
    after = ids(plan(tagged("Translation"), tmp_path))
    assert before["plain"] == after["plain"]
    assert before["id"] != after["id"]
    resumed, fresh = run(tagged("Translation"), tmp_path / "run"), run(tagged("Translation"), tmp_path / "fresh")
    assert [o.answers for o in resumed.outcomes] == [o.answers for o in fresh.outcomes]


def test_a_task_without_tags_is_shown_by_what_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    suite(tmp_path / "suite", task("t"))
    by_id = StudyLearner(learner="instructed", options={**NOISE, "encoding": "id"})
    found = ids(plan(study(tmp_path / "suite", id=by_id), tmp_path))
    monkeypatch.delattr(Instructed, "shown")
    assert found == ids(plan(study(tmp_path / "suite", id=by_id), tmp_path))


def test_metrics_are_checked_before_any_work_all_at_once(tmp_path: Path):
    both = Fields({"year": Number(), "title": Text()})
    suite(
        tmp_path / "suite",
        task("good", both, ["year/mse", "title/rouge-l"]),
        task("unknown", metrics=["rouge-x", "rouge-l", "blue-4"]),
        task("other", metrics=["ndcg"]),
        task("field", both, ["yaer/mse"]),
        task("no field", metrics=["title/rouge-l"]),
    )
    with pytest.raises(StudyError) as refused:
        plan(study(tmp_path / "suite"), tmp_path)
    told = refused.value.faults
    assert [fault.partition(":")[0] for fault in told] == [
        "task 'unknown'",
        "task 'unknown'",
        "task 'other'",
        "task 'field'",
        "task 'no field'",
    ]
    assert "unknown metric: 'rouge-x'; did you mean rouge-l?" in told[0]
    assert "unknown field of metric 'yaer/mse': 'yaer'; did you mean year?" in told[3]


def test_a_name_with_brackets_is_a_name_wherever_names_are_taken(tmp_path: Path):
    name, other = "price [EUR]->t", "price E->t"
    suite(tmp_path / "suite", task(name), task(other), folds={"f": {"test": (name,), "train": (other,)}})
    folder = tmp_path / "suite"
    for made in (
        plan(study(folder, [name]), tmp_path),
        plan(study(folder, ["@test"]), tmp_path),
        plan(study(folder), tmp_path, only=[name]),
        plan(study(folder, copy=StudyLearner(learner="copy-input", tasks=(name,))), tmp_path),
    ):
        assert {cell.task for cell in made.to_run} == {name}
    assert len(plan(study(folder, ["price *"]), tmp_path).cells) == 2


def test_a_task_may_be_called_as_a_part_of_a_fold_is(tmp_path: Path):
    suite(tmp_path / "suite", task("@test"), task("b"))
    assert {cell.task for cell in plan(study(tmp_path / "suite", ["@test"]), tmp_path).cells} == {"@test"}


@pytest.mark.parametrize(
    ("wanted", "tasks"),
    [
        ("@test", {"a", "b"}),
        ("@dev", {"c"}),
        ("@excluded", {"d"}),
        ("@scenario 1/a/test", {"a"}),
        ("@scenario 1/a/train", {"b"}),
        ("@test/test", {"b"}),
    ],
)
def test_tasks_are_named_by_role_or_by_fold_and_role_and_folds_may_have_slashes(
    tmp_path: Path, wanted: str, tasks: set[str]
):
    folds = {
        "scenario 1/a": {"test": ("a",), "train": ("b",), "dev": ("c",)},
        "test": {"test": ("b",), "train": ("a",), "excluded": ("d",)},
    }
    suite(tmp_path / "suite", *map(task, "abcd"), folds=folds)
    assert {cell.task for cell in plan(study(tmp_path / "suite", [wanted]), tmp_path).cells} == tasks


def test_a_fold_of_a_suite_without_folds_is_refused(tmp_path: Path):
    suite(tmp_path / "suite", task("a"))
    with pytest.raises(StudyError, match="no fold has such tasks; folds of the suite: none: '@f/test'"):
        plan(study(tmp_path / "suite", ["@f/test"]), tmp_path)


def test_tasks_of_folds_hide_no_unknown_names(tmp_path: Path):
    suite(tmp_path / "suite", task("a"), task("b"))
    assert len(plan(study(tmp_path / "suite", ["@test"]), tmp_path).cells) == 2
    with pytest.raises(StudyError) as refused:
        plan(study(tmp_path / "suite", ["@test", "@tset", "@train", "nonsuch"]), tmp_path)
    told = refused.value.faults
    assert [fault.partition(":")[0] for fault in told] == [
        "unknown role of a fold",
        "no fold has such tasks; folds of the suite",
        "unknown task",
    ]


def test_only_keeps_learners_by_name_and_all_tasks(tmp_path: Path):
    suite(tmp_path / "suite", task("a"), task("b"))
    both = study(tmp_path / "suite", one=StudyLearner(learner="copy-input"), two=StudyLearner(learner="copy-input"))
    assert {(c.task, c.learner) for c in plan(both, tmp_path, only=["two"]).to_run} == {("a", "two"), ("b", "two")}
    assert {(c.task, c.learner) for c in plan(both, tmp_path, only=["two", "b"]).to_run} == {("b", "two")}


def test_a_learner_of_ones_own_tells_what_else_it_is_shown(tmp_path: Path):
    (tmp_path / "own.py").write_text(OWN)
    own = StudyLearner(learner="own.py:Own")
    named = [
        ids(plan(study(tmp_path / "suite", own=own), tmp_path))["own"]
        for language in ("en", "fr")
        if suite(tmp_path / "suite", task("t", tags={"language": (language,)}))
    ]
    assert named[0] != named[1]
    told = replace(own, options={"bad": True})
    with pytest.raises(Exception, match=r"what learner Own shows of task 't' must be a text, a finite number"):
        plan(study(tmp_path / "suite", own=told), tmp_path)


OWN = """
from dataclasses import dataclass
from typing import ClassVar
from taskloom import Learner

@dataclass(frozen=True)
class Own(Learner):
    bad: bool = False
    version: ClassVar[int] = 1
    outputs: ClassVar[frozenset] = frozenset({"text"})
    unaided: ClassVar[frozenset] = outputs

    def shown(self, task):
        return {1} if self.bad else list(task.tags["language"])

    def fit(self, task, support, dev, *, seed, tools):
        return self

    def predict(self, items):
        return ["yes" for _ in items]
"""


def test_tasks_beside_learners_and_in_protocols_must_be_there(tmp_path: Path):
    suite(tmp_path / "suite", task("abstract->title"))
    made = study(tmp_path / "suite", copy=StudyLearner(learner="copy-input", tasks=("abstract->titel",)))
    own = replace(ONE, tasks={"abstrakt->*": ONE})
    with pytest.raises(StudyError) as refused:
        plan(replace(made, protocol=own), tmp_path)
    assert [fault.partition(";")[0] for fault in refused.value.faults] == [
        "learner 'copy': unknown task: 'abstract->titel'",
        "protocol: unknown task: 'abstrakt->*'",
    ]
