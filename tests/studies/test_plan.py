"""Which cells a study has, what they are named by, and what is refused before any work."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from taskloom.core import ABSENT, Example, Fields, Item, Labels, Number, Output, Suite, Task, Text
from taskloom.episodes import Deck, Sampler
from taskloom.errors import StudyError, UnknownNameError
from taskloom.learners.instructed import Instructed
from taskloom.messages import Note
from taskloom.reports import render, summarise
from taskloom.reports.views.agreement import Agreement
from taskloom.studies.api import open_run, prepare, run
from taskloom.studies.plan import Plan, plan
from taskloom.studies.study import Study, StudyLearner, StudyProtocol
from taskloom.studies.training import Training
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
    return Study(
        name="s", suite=str(folder), tasks=tuple(tasks), protocol=ONE, learners=chosen, baselines=False,
        folder=folder.parent,
    )  # fmt: skip


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


def test_tasks_are_named_by_a_tag(tmp_path: Path):
    own = [replace(task(name), tags={"level": (level,)}) for name, level in (("a", "word"), ("b", "atomic"))]
    suite(tmp_path / "suite", *own)
    assert {cell.task for cell in plan(study(tmp_path / "suite", ["@level=atomic"]), tmp_path).cells} == {"b"}
    with pytest.raises(StudyError, match="unknown tag of tasks: '@level=atomc'; did you mean @level=atomic"):
        plan(study(tmp_path / "suite", ["@level=atomc"]), tmp_path)


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


def test_a_protocol_may_be_of_a_task_of_the_benchmark_that_was_not_found(tmp_path: Path):
    there = store.open_suite(labelled(tmp_path / "there", {"cs": 9}))
    store.write(replace(there, about={ABSENT: ["drsm"]}), tmp_path / "suite")
    with pytest.raises(StudyError) as refused:
        plan(replace(study(tmp_path / "suite"), protocol=replace(ONE, tasks={"drsm": ONE, "drzm": ONE})), tmp_path)
    assert [fault.partition(";")[0] for fault in refused.value.faults] == ["protocol: unknown task: 'drzm'"]


# baselines, metrics and classes


def labelled(folder: Path, sizes: Mapping[str, int], **pools: Mapping[str, int]) -> Path:
    """Write a suite of one task of labels, whose pools have so many examples of each class."""
    of = task("t", Labels(("cs", "hep", "math", "nlin")), ["accuracy", "macro-f1"])
    made = {}
    for name, counts in (pools or {"all": sizes}).items():
        golds = [label for label, n in counts.items() for _ in range(n)]
        items = [Item(f"{name}{n}", {"input": f"text {n}"}) for n in range(len(golds))]
        examples = [Example(item, (gold,), item.id) for item, gold in zip(items, golds, strict=True)]
        made[name] = rows.pool(of, examples)
    store.write(Suite(id="s", tasks={"t": of}, pools={"t": made}), folder, replace=True)
    return folder


def test_baselines_that_no_task_can_use_are_no_part_of_a_plan_unless_they_are_named(tmp_path: Path):
    folder = labelled(tmp_path / "suite", dict.fromkeys(("cs", "hep"), 9))
    made = replace(study(folder, nearest=StudyLearner(learner="nearest")), baselines=True)
    found = plan(replace(made, protocol=replace(ONE, shots={0: 1, 1: 1})), tmp_path)
    assert list(found.learners) == ["nearest", "majority", "random", "copy-demonstration"]
    assert found.baselines == ("majority", "random", "copy-demonstration")
    named = plan(replace(made, baselines=("copy-input", "random")), tmp_path)
    assert list(named.learners) == ["nearest", "copy-input", "random"]
    assert Note.of("output-unsupported", learner="copy-input", kind="labels") in named.skipped


def test_a_learner_takes_the_first_episodes_of_each_setting_alone_where_it_says_so(tmp_path: Path):
    made = study(labelled(tmp_path / "suite", {"cs": 9, "hep": 9}), nearest=StudyLearner(learner="nearest"),
                 costly=StudyLearner(learner="tfidf-linear", episodes=2))  # fmt: skip
    protocol = replace(ONE, shots={1: 3, 2: 3}, seeds=(0, 7), own_episodes=True)
    cells = plan(replace(made, protocol=protocol), tmp_path).cells
    found = {name: {(c.shots, c.seed, c.index) for c in cells if c.learner == name} for name in ("nearest", "costly")}
    assert found["costly"] == {(s, seed, i) for s, i in [(1, 0), (1, 1), (2, 3), (2, 4)] for seed in (0, 7)}
    assert found["nearest"] == {(s, seed, i) for s in (1, 2) for i in range(3 * s - 3, 3 * s) for seed in (0, 7)}


def test_a_baseline_under_another_name_is_one_too(tmp_path: Path):
    folder = labelled(tmp_path / "suite", dict.fromkeys(("cs", "hep"), 9))
    made = study(folder, chance=StudyLearner(learner="random", options={"prior": "pool"}))
    assert plan(made, tmp_path).baselines == ("chance",)


def test_classes_that_are_dropped_are_named_with_their_sizes_and_how_many_remain(tmp_path: Path):
    folder = labelled(tmp_path / "suite", {"cs": 9, "hep": 5, "math": 4})
    made = study(folder, most=StudyLearner(learner="majority"))
    (note,) = plan(replace(made, protocol=replace(ONE, shots={0: 1, 4: 1})), tmp_path).dropped
    assert note == Note.of(
        "classes-dropped", task="t", shots=[0, 4], least=5, count=2, of=4, remain=2,
        classes=[("math", 4), ("nlin", 0)],
    )  # fmt: skip
    assert str(note).startswith("task 't' at 0 and 4 shots: 2 of 4 classes dropped")
    assert not plan(replace(made, protocol=replace(ONE, shots={0: 1})), tmp_path).skipped


def test_dropped_classes_are_in_the_report_of_a_run(tmp_path: Path):
    folder = labelled(tmp_path / "suite", {"cs": 9, "hep": 5, "math": 4})
    made = study(folder, most=StudyLearner(learner="majority"))
    found = run(replace(made, protocol=replace(ONE, shots={4: 1})), tmp_path / "run")
    assert [note.code for note in found.dropped] == ["classes-dropped"]
    assert open_run(tmp_path / "run").dropped == found.dropped
    assert all("math (4), nlin (0)" in render(found, form) for form in ("md", "html"))
    (told,) = json.loads(render(found, "json"))["counts"]["dropped"]
    assert (told["code"], told["values"]["remain"]) == ("classes-dropped", 2)


def test_majority_is_run_at_any_shots_from_the_pool_and_named_by_all_of_it(tmp_path: Path):
    made = study(tmp_path / "suite", most=StudyLearner(learner="majority"))
    made = replace(made, protocol=replace(ONE, shots={0: 1, 2: 1}))
    cells = set()
    for more in (6, 30):
        labelled(tmp_path / "suite", {}, train={"cs": 20, "hep": more}, test={"cs": 2, "hep": 2})
        found = run(made, tmp_path / "run")
        assert [o.answers for o in found.outcomes] == [(("cs" if more == 6 else "hep"),) * 2] * 2
        cells |= {o.cell for o in found.outcomes}
    assert len(cells) == 4


def test_an_episode_that_asks_about_all_there_is_skips_majority_but_for_labels_and_says_why(tmp_path: Path):
    suite(tmp_path / "suite", task("t"))
    made = study(tmp_path / "suite", most=StudyLearner(learner="majority"), copy=StudyLearner(learner="copy-input"))
    made = replace(made, protocol=replace(ONE, sampler=Sampler(query="all")))
    found = run(made, tmp_path / "run")
    assert [o.learner for o in found.outcomes] == ["copy"]
    assert [note.code for note in found.skipped] == ["prior-empty"]
    labelled(tmp_path / "labels", {"cs": 3, "hep": 2})
    (most,) = run(replace(made, suite=str(tmp_path / "labels")), tmp_path / "other", only=["most"]).outcomes
    assert most.answers == ("cs",) * 5


def test_metrics_of_a_study_that_fit_no_task_and_tasks_that_none_fits_are_faults(tmp_path: Path):
    suite(tmp_path / "suite", task("a"), task("b", Number(), ["mse"]))
    made = replace(study(tmp_path / "suite", most=StudyLearner(learner="majority")), metrics=("ndcg", "bleu-4"))
    with pytest.raises(StudyError) as refused:
        plan(made, tmp_path)
    assert [fault.partition(" (")[0] for fault in refused.value.faults] == [
        "metric 'ndcg' can score no task of the study",
        "no metric of the study can score b; add one, such as mse",
    ]


def test_other_metrics_run_no_cell_again(tmp_path: Path):
    folder = labelled(tmp_path / "suite", dict.fromkeys(("cs", "hep"), 9))
    made = study(folder, most=StudyLearner(learner="majority"))
    first = run(made, tmp_path / "run")
    chosen = prepare(replace(made, metrics=("micro-f1", "accuracy")), tmp_path / "run")
    done, found = chosen.run()
    assert done.ran == 0
    assert [o.cell for o in found.outcomes] == [o.cell for o in first.outcomes]
    assert [list(o.scores) for o in found.outcomes] == [["micro-f1", "accuracy"]]
    assert [list(o.scores) for o in open_run(tmp_path / "run").outcomes] == [["micro-f1", "accuracy"]]
    assert summarise(found).metrics == ("micro-f1", "accuracy")
    assert found.suite.fingerprint == first.suite.fingerprint


def test_a_report_can_be_made_by_other_metrics_and_refuses_those_that_fit_nothing(tmp_path: Path):
    folder = labelled(tmp_path / "suite", dict.fromkeys(("cs", "hep"), 9))
    run(study(folder, most=StudyLearner(learner="majority")), tmp_path / "run")
    found = open_run(tmp_path / "run", metrics=["micro-f1"])
    assert [list(o.scores) for o in found.outcomes] == [["micro-f1"]]
    for wrong, kind, told in (
        ("mikro-f1", UnknownNameError, "did you mean micro-f1"), ("mse", StudyError, "can score no task"),
    ):  # fmt: skip
        with pytest.raises(kind, match=told):
            open_run(tmp_path / "run", metrics=[wrong])


def test_a_metric_of_a_view_that_no_task_has_is_a_fault_before_any_work(tmp_path: Path):
    suite(tmp_path / "suite", task("t"))
    made = replace(study(tmp_path / "suite"), views=(Agreement(x="rouge-l", y="exact-match"),))
    with pytest.raises(StudyError, match="no task of the study has metric 'exact-match'"):
        plan(made, tmp_path)
    assert plan(replace(made, metrics=("rouge-l", "exact-match")), tmp_path).cells


def test_settings_have_cells_of_the_same_episodes_or_each_of_its_own(tmp_path: Path):
    suite(tmp_path / "suite", task("t"))
    made = study(tmp_path / "suite")
    protocol = replace(ONE, shots={"drawn": 2, 0: 3})
    same, own = (
        plan(replace(made, protocol=replace(protocol, own_episodes=own)), tmp_path).cells for own in (False, True)
    )
    assert [(cell.shots, cell.index) for cell in same] == [("drawn", 0), ("drawn", 1), (0, 0), (0, 1), (0, 2)]
    assert [(cell.shots, cell.index) for cell in own] == [("drawn", 0), ("drawn", 1), (0, 2), (0, 3), (0, 4)]
    assert len({cell.draw for cell in own}) == 5


def test_what_is_taught_is_apart_from_the_episodes_that_each_setting_has(tmp_path: Path):
    suite(tmp_path / "suite", task("t"))
    made = replace(study(tmp_path / "suite"), protocol=replace(ONE, shots={"drawn": 2, 0: 3}, own_episodes=True))
    planned = plan(made, tmp_path)
    deck = Deck(planned.suite, "t")
    asked = set[int]()
    for cell in planned.cells:
        asked |= deck.groups(deck.draw(made.protocol.drawing(cell.shots), index=cell.index))
    assert Training(planned.suite, made)._avoided("t", 0) == asked


def test_a_plan_knows_how_many_items_the_episodes_of_each_task_and_setting_ask_about(tmp_path: Path):
    suite(tmp_path / "suite", task("t"))
    how = Sampler(query=8, per_class=True, share=0.5)
    made = replace(study(tmp_path / "suite"), protocol=replace(ONE, shots={"drawn": 1, 0: 1}, sampler=how))
    assert plan(made, tmp_path).questions == {
        ("t", "drawn"): 6,
        ("t", 0): 8,
    }  # of 12, half is left where some are shown
