"""Cells that depend on cells: a model is trained once, by a cell of its own, whatever happens meanwhile."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from taskloom.core import Example, Folds, Item, Suite, Task, Text
from taskloom.episodes import Deck
from taskloom.errors import StudyError
from taskloom.models import Lesson
from taskloom.models.fake import Fake
from taskloom.models.recipe import Learnt
from taskloom.models.trained import Trained
from taskloom.reports import How, render
from taskloom.studies import artifacts
from taskloom.studies.api import keep_plan, merge_runs, prepare
from taskloom.studies.ledger import Ledger
from taskloom.studies.plan import Plan, plan
from taskloom.studies.queue import Queue
from taskloom.studies.results import read_results
from taskloom.studies.run import run
from taskloom.studies.study import load
from taskloom.studies.trained_tasks import meant
from taskloom.studies.training import Training
from taskloom.studies.work import Bench
from taskloom.suites import rows, store

Until = Callable[[Callable[[], bool]], None]
STUDY = """
name: taught
baselines: false
suite: suite
tasks: ["@test"]
protocol: {seeds: 2, shots: [0, 1], query: 4}
models:
  base: {load: "fake:pupil", seconds: SECONDS}
  meta: {train: base, most: 20}
  more: {train: meta, most: 5}
learners:
  plain: {in-context: {model: base}, shots: [0]}
  taught: {in-context: {model: meta}}
  again: {in-context: {model: more}, shots: [0]}
"""
PROGRAM = """
import sys
from pathlib import Path
from typing import Any
from taskloom.studies.api import prepare
if __name__ == "__main__":
    done, _ = prepare(sys.argv[1], sys.argv[2]).run(workers=int(sys.argv[3]))
    sys.exit(done.failed)
"""


def task(name: str) -> Task:
    return Task(id=name, instruction=f"Say it {name}.", output=Text(), metrics=("exact-match",))


def examples(word: str, *, shared: bool) -> list[Example]:
    """Give thirty examples; of tasks that share their records, of the same ones."""
    return [
        Example(Item(f"{n}", {"input": f"number {n} of {word}"}), (f"{word} {n}",), f"r{n}" if shared else f"{word}{n}")
        for n in range(30)
    ]


def write_suite(folder: Path, *, shared: bool = False) -> Suite:
    """Write two folds: each of two test tasks is asked with the train tasks of its own fold."""
    names = ("left", "right", "east", "west", "north")
    tasks = {name: task(name) for name in names}
    pools = {name: {"all": rows.pool(of, examples(name, shared=shared))} for name, of in tasks.items()}
    folds: Folds = {
        "one": {"train": ("east",), "test": ("left",)},
        "two": {"train": ("west", "north"), "test": ("right",)},
    }
    return store.write(Suite(id="s", tasks=tasks, pools=pools, folds=folds), folder)


@pytest.fixture
def study(tmp_path: Path) -> Callable[..., Path]:
    def make(seconds: float = 0.0, *, shared: bool = False, **replaced: str) -> Path:
        if not (tmp_path / "suite").exists():
            write_suite(tmp_path / "suite", shared=shared)
        text = STUDY.replace("SECONDS", str(seconds))
        for name, line in replaced.items():
            text = "\n".join(f"  {line}" if old.strip().startswith(f"{name}:") else old for old in text.splitlines())
        (tmp_path / "study.yaml").write_text(text)
        return tmp_path / "study.yaml"

    return make


def planned(path: Path) -> Plan:
    return plan(load(str(path))[0], path.parent)


def contents(folder: Path) -> list[tuple[str, str, bytes]]:
    with Ledger(folder / "ledger.db") as ledger:
        return list(ledger.contents())


def whole(path: Path, folder: str = "whole") -> list[tuple[str, str, bytes]]:
    """Run a study in one go, and give what its ledger holds."""
    prepare(path, path.parent / folder).run()
    return contents(path.parent / folder)


def child(study: Path, folder: Path, workers: int = 1) -> subprocess.Popen[bytes]:
    folder.mkdir(exist_ok=True)
    (folder.parent / "program.py").write_text(PROGRAM)
    command = [sys.executable, str(folder.parent / "program.py"), str(study), str(folder), str(workers)]
    return subprocess.Popen(command, env={**os.environ, "PYTHONHASHSEED": str(workers)})


def test_tasks_of_any_role_go_by_a_star(tmp_path: Path):
    suite = write_suite(tmp_path / "suite")
    assert meant(suite, "@*") == ["east", "west", "north", "left", "right"]
    assert meant(suite, "@two/*") == ["west", "north", "right"]
    assert meant(replace(suite, folds={"one": {"train": ("east",)}}), "@*") == ["east"]
    with pytest.raises(StudyError, match="@three"):
        meant(suite, "@three/*")


def test_a_model_is_trained_once_for_each_fold_and_seed_and_used_by_many(study: Callable[..., Path]):
    made = planned(study())
    trains = [cell for cell in made.cells if cell.kind == "train"]
    assert {(cell.learner, cell.fold, cell.seed) for cell in trains} == {
        (model, fold, seed) for model in ("meta", "more") for fold in ("one", "two") for seed in (0, 1)
    }
    assert len({cell.id for cell in trains}) == len(trains) == 8
    by_id = {cell.id: cell for cell in made.cells}
    for cell in made.cells:
        uses = [by_id[id_] for _, id_ in cell.uses]
        assert [used.kind for used in uses] == ["train"] * len(uses)
        assert len(uses) == {"plain": 0, "taught": 1, "again": 2, "meta": 0, "more": 1}[cell.learner]
        assert all(used.seed == cell.seed for used in uses)
        asked = {"one": "left", "two": "right"}
        assert all(asked[used.fold] == cell.task for used in uses)


def test_cells_that_train_come_before_those_that_use_them_by_any_number_of_workers(study: Callable[..., Path]):
    path = study()
    one = whole(path)
    done, found = prepare(path, path.parent / "two").run(workers=2)
    assert (done.failed, done.skipped, found.missing) == (0, 0, 0)
    assert contents(path.parent / "two") == one
    assert {model: len(costs) for model, costs in found.training.items()} == {"meta": 4, "more": 4}
    assert "training meta\t4" in render(found, "terminal", How(count=20))
    answers = {(o.learner, o.task): o.answers for o in found.outcomes if o.shots == 0 and o.seed == 0}
    assert all(str(answer).startswith("east ") for answer in answers["taught", "left"])
    assert all(not str(answer).startswith("east ") for answer in answers["taught", "right"])


def test_targets_that_are_taught_the_same_share_a_model_and_no_record_is_on_both_sides(tmp_path: Path):
    for shared in (False, True):
        folder = tmp_path / str(shared)
        suite = write_suite(folder / "suite", shared=shared)
        both = {"one": {"train": ("east",), "test": ("left", "right")}}
        store.write(Suite(id="s", tasks=suite.tasks, pools=suite.pools, folds=both), folder / "suite", replace=True)
        (folder / "study.yaml").write_text(STUDY.replace("SECONDS", "0"))
        made = planned(folder / "study.yaml")
        trains = [cell for cell in made.cells if cell.kind == "train" and cell.learner == "meta"]
        assert len(trains) == (4 if shared else 2)
        if shared:
            prepare(folder / "study.yaml", folder / "run").run()
            for cell in trains:
                drawn = {f"number {n} of {cell.task}" for n in asked_numbers(folder / "run", cell.task, cell.seed)}
                text = (artifacts.place(folder / "run", cell.id) / "lessons.json").read_text(encoding="utf-8")
                assert not [one for one in drawn if one.replace(cell.task, "east") in text]


def asked_numbers(folder: Path, name: str, seed: int) -> set[str]:
    with Ledger(folder / "ledger.db") as ledger:
        suite = store.open_suite(folder.parent / "suite")
        found = read_results(ledger, suite, command="")
    return {item for o in found.outcomes if (o.task, o.seed) == (name, seed) for item in o.items}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_that_is_killed_while_it_trains_ends_like_one_that_was_not(
    study: Callable[..., Path], tmp_path: Path, until: Until, workers: int
):
    path = study(seconds=1.0)
    folder = tmp_path / "killed"
    for _ in range(2):
        with child(path, folder, workers) as process:
            until(lambda: any((folder / "artifacts").glob(".*")) or process.poll() is not None)
            process.send_signal(signal.SIGKILL)
    with child(path, folder, workers) as process:
        assert process.wait(120) == 0
    assert contents(folder) == whole(study())
    assert not [left for left in (folder / "artifacts").iterdir() if left.name.startswith(".")]


def test_two_runs_at_once_train_nothing_twice(study: Callable[..., Path], tmp_path: Path):
    path = study(seconds=0.2)
    with child(path, tmp_path / "both") as one, child(path, tmp_path / "both") as two:
        assert (one.wait(120), two.wait(120)) == (0, 0)
    assert contents(tmp_path / "both") == whole(study())


def test_a_merged_ledger_without_its_artifacts_trains_again_what_is_needed(study: Callable[..., Path], tmp_path: Path):
    path = study()
    prepare(path, tmp_path / "first", only=["again", "left"]).run()
    prepare(path, tmp_path / "second", only=["plain", "right"]).run()
    shutil.rmtree(tmp_path / "first" / "artifacts")  # as on a machine that only got the ledger
    merged = merge_runs(tmp_path / "second", tmp_path / "first")
    assert (merged.new > 0, merged.differ, merged.damaged) == (True, 0, 0)
    done, found = prepare(path, tmp_path / "second").run()
    assert (done.failed, done.skipped, found.missing) == (0, 0, 0)
    assert contents(tmp_path / "second") == whole(path)


def test_merging_runs_copies_the_models_that_lie_beside(study: Callable[..., Path], tmp_path: Path):
    path = study()
    prepare(path, tmp_path / "first", only=["again", "left"]).run()
    prepare(path, tmp_path / "second", only=["plain", "right"]).run()
    (tmp_path / "mine").write_text("a key")
    for folder in (tmp_path / "first" / "artifacts").iterdir():
        (folder / "link").symlink_to(tmp_path / "mine")  # or the file itself would be in a run that is passed on
    merge_runs(tmp_path / "second", tmp_path / "first")
    names = {folder.name for folder in (tmp_path / "first" / "artifacts").iterdir()}
    assert not [*(tmp_path / "second" / "artifacts").rglob("link")]
    assert names <= {folder.name for folder in (tmp_path / "second" / "artifacts").iterdir()}


def test_a_training_that_fails_skips_those_that_need_it_and_both_are_tried_again(
    study: Callable[..., Path], tmp_path: Path
):
    path = study()
    made = planned(path)
    (tmp_path / "artifacts").write_text("in the way")  # so that nothing can be kept
    with Ledger(tmp_path / "ledger.db") as ledger:
        keep_plan(made, ledger)
        done = run(made, ledger)
        found = read_results(ledger, made.suite, command="")
    users = [cell for cell in made.cells if cell.uses]
    assert (done.failed, done.skipped) == (4, len(users))
    assert {failure.learner for failure in found.failures} == {"meta"}
    assert {outcome.learner for outcome in found.outcomes} == {"plain"}
    reasons = {(note.code, dict(note.values)["model"]) for note in found.skipped}
    assert reasons == {("training-failed", "meta")}
    (tmp_path / "artifacts").unlink()
    with Ledger(tmp_path / "ledger.db") as ledger:
        again = run(made, ledger)
        assert (again.failed, again.skipped, again.ran) == (0, 0, 4 + len(users))
        assert not read_results(ledger, made.suite, command="").skipped


def test_what_training_made_is_looked_at_before_it_is_used(study: Callable[..., Path], tmp_path: Path):
    path = study()
    prepare(path, tmp_path / "run", only=["taught"]).run()
    for folder in (tmp_path / "run" / "artifacts").iterdir():
        (folder / "lessons.json").write_text("[]")
    done, _ = prepare(path, tmp_path / "run").run()
    assert (done.failed, done.skipped) == (0, 0)  # cut short: they were made again
    assert contents(tmp_path / "run") == whole(path)


def test_a_worker_refuses_a_draw_that_the_plan_did_not_name(study: Callable[..., Path], tmp_path: Path):
    path = study()
    made = planned(path)
    shutil.rmtree(tmp_path / "suite")
    write_suite(tmp_path / "suite", shared=True)
    with Ledger(tmp_path / "ledger.db") as ledger:
        keep_plan(made, ledger)
        done = run(made, ledger, workers=2)
        codes = {why.code for why, _ in ledger.ended("failed").values()}
    assert done.failed > 0
    assert codes == {"draw-differs"}


@pytest.mark.parametrize(
    ("replaced", "told"),
    [
        ({"meta": "meta: {train: more}"}, r"study.yaml:\d+:17: a model is trained from itself: "),
        ({"base": 'base: {load: "fake:echo"}'}, "model 'meta': its base can't be trained: 'base'"),
        ({"meta": "meta: {train: base, tasks: [nothing]}"}, "unknown task: 'nothing'"),
        ({"meta": "meta: {train: base, folds: [three]}"}, "model 'meta': unknown fold: 'three'"),
        (
            {"meta": 'meta: {train: base, tasks: ["@train", "@devv"]}'},
            "unknown role of a fold: '@devv'; did you mean @dev",
        ),
        ({"meta": "meta: {train: base, encoding: nonsense}"}, "an encoding joins"),
        ({"meta": "meta: {train: base, mst: 3}"}, "did you mean most"),
        ({"meta": "meta: {train: base, most: 0}"}, "most must be an integer >= 1, or all"),
        ({"meta": "meta: {train: bsae}"}, r"study.yaml:9:17: model 'meta': unknown model: 'bsae'; did you mean base"),
    ],
)
def test_what_can_not_be_trained_is_told_before_any_work(
    study: Callable[..., Path], tmp_path: Path, replaced: dict[str, str], told: str
):
    path = study(**replaced)
    with pytest.raises(Exception, match=told):
        planned(path)
    assert not (tmp_path / "artifacts").exists()


def test_a_task_that_two_folds_of_a_model_ask_about_is_a_fault(study: Callable[..., Path], tmp_path: Path):
    path = study()
    suite = store.open_suite(tmp_path / "suite")
    folds = {"one": {"train": ("east",), "test": ("left",)}, "two": {"train": ("west",), "test": ("left",)}}
    again = Suite(id="s", tasks=suite.tasks, pools=dict(suite.pools), folds=folds)
    store.write(again, tmp_path / "other")
    path.write_text(path.read_text().replace("suite: suite", "suite: other"))
    with pytest.raises(StudyError, match="task 'left' is in several folds; set `folds` to one of: one, two"):
        planned(path)
    path.write_text(path.read_text().replace("train: base,", "train: base, folds: [two],"))
    path.write_text(path.read_text().replace("train: meta,", "train: meta, folds: [two],"))
    assert {cell.fold for cell in planned(path).cells if cell.kind == "train"} == {"two"}


def test_seeds_of_training_are_apart_from_those_of_draws(study: Callable[..., Path], tmp_path: Path):
    path = study()
    path.write_text(path.read_text().replace("seeds: 2,", "seeds: 1, training: [5, 6, 7],"))
    made = planned(path)
    trains = [cell for cell in made.cells if cell.learner == "meta"]
    assert sorted(cell.training for cell in trains) == [5, 5, 6, 6, 7, 7]
    _, found = prepare(path, tmp_path / "run").run()
    assert {(o.seed, o.training) for o in found.outcomes} == {(0, 5), (0, 6), (0, 7)}


def test_a_model_that_no_fold_is_for_is_skipped_with_the_reason(study: Callable[..., Path]):
    made = planned(study(meta="meta: {train: base, folds: [one]}"))
    assert {note.code for note in made.skipped} == {"no-fold"}
    assert {cell.task for cell in made.cells if cell.learner == "taught"} == {"left"}
    assert {cell.fold for cell in made.cells if cell.learner == "taught"} == {"one"}


def test_a_fold_that_the_study_names_is_the_one_that_is_trained_in(study: Callable[..., Path], tmp_path: Path):
    path = study()
    suite = store.open_suite(tmp_path / "suite")
    folds: Folds = {"one": {"train": ("east",), "test": ("left",)}, "two": {"train": ("west",), "test": ("left",)}}
    store.write(Suite(id="s", tasks=suite.tasks, pools=dict(suite.pools), folds=folds), tmp_path / "other")
    path.write_text(path.read_text().replace("suite: suite", "suite: other").replace("@test", "@two/test"))
    assert {cell.fold for cell in planned(path).cells if cell.kind == "train"} == {"two"}


def test_a_model_is_named_by_what_its_encoding_shows_of_tags(study: Callable[..., Path], tmp_path: Path):
    def ids(source: str, encoding: str) -> set[str]:
        path = study(meta=f"meta: {{train: base, encoding: {encoding}}}")
        suite = store.open_suite(tmp_path / "suite")
        tasks = {name: replace(of, tags={"source": (source,)}) for name, of in suite.tasks.items()}
        tagged = Suite(id="s", tasks=tasks, pools=dict(suite.pools), folds=suite.folds)
        store.write(tagged, tmp_path / "tagged", replace=True)
        path.write_text(path.read_text().replace("suite: suite", "suite: tagged"))
        return {cell.id for cell in planned(path).cells if cell.learner == "meta"}

    assert ids("squad", "id") != ids("imdb", "id")
    assert ids("squad", "def") == ids("imdb", "def")


TWO = """
from dataclasses import dataclass
from typing import ClassVar
from taskloom import Learner

@dataclass(frozen=True)
class Two(Learner):
    names: tuple = ()
    version: ClassVar[int] = 1
    outputs: ClassVar[frozenset[str]] = frozenset({"text"})
    unaided: ClassVar[frozenset[str]] = outputs

    @property
    def models(self):
        return tuple(self.names)

    def fit(self, task, support, dev, *, seed, tools):
        for name in self.names:
            tools.model(name)
        return self

    def predict(self, items):
        return ["x" for _ in items]
"""


def two_models(study: Callable[..., Path], models: str) -> Path:
    path = study()
    path.with_name("two.py").write_text(TWO)
    head = path.read_text().partition("learners:")[0]
    learners = f'learners:\n  one: {{"two.py:Two": {{names: [bad]}}}}\n  both: {{"two.py:Two": {{names: {models}}}}}\n'
    path.write_text(
        head.replace("  meta: {train: base, most: 20}\n", "  bad: {train: base, most: 7}\n  meta: {train: base}\n")
        + learners
    )
    return path


def test_a_learner_of_several_models_is_named_by_the_content_of_all(study: Callable[..., Path]):
    path = two_models(study, "[base, meta]")
    before = {cell.id for cell in planned(path).cells if cell.learner == "both"}
    path.write_text(path.read_text().replace("meta: {train: base}", "meta: {train: base, most: 3}"))
    assert not before & {cell.id for cell in planned(path).cells if cell.learner == "both"}


@pytest.mark.parametrize("models", ["[meta, bad]", "[bad, meta]"])
def test_a_learner_whose_second_model_can_not_be_trained_is_skipped_and_the_run_ends(
    study: Callable[..., Path], tmp_path: Path, models: str, monkeypatch: pytest.MonkeyPatch
):
    path = two_models(study, models)
    made = planned(path)
    kept = Fake.train

    def full(self: Fake, lessons: Sequence[Lesson], *rest: Any, **more: Any) -> Learnt:
        if len(lessons) in (7, 14):  # those of the bad one, in either fold
            raise OSError("no space left on device")
        return kept(self, lessons, *rest, **more)

    monkeypatch.setattr(Fake, "train", full)
    with Ledger(tmp_path / "ledger.db") as ledger:
        keep_plan(made, ledger)
        done = run(made, ledger)
        found = read_results(ledger, made.suite, command="")
    assert {failure.learner for failure in found.failures} == {"bad"}
    assert done.skipped == sum(cell.learner in ("one", "both") for cell in made.cells)
    assert done.ran == sum(cell.kind == "train" for cell in made.cells)
    assert not found.outcomes


def test_no_record_of_any_episode_is_taught_though_one_of_them_can_not_be_drawn(tmp_path: Path):
    suite = write_suite(tmp_path / "suite", shared=True)
    (tmp_path / "study.yaml").write_text(
        STUDY.replace("SECONDS", "0").replace("shots: [0, 1]", "shots: {drawn: 3, 0: 2}, least: 1, most: 4")
    )
    made = planned(tmp_path / "study.yaml")
    training = Training(suite, made.study)
    for cell in (cell for cell in made.cells if cell.kind == "train" and cell.learner == "meta"):
        of = made.models["meta"]
        assert isinstance(of, Trained)
        taught = training.taught("meta", of, cell.task, cell.seed)
        records = {int(suite.pools[task]["all"].groups()[row]) for task, rows in taught.rows.items() for row in rows}
        deck, protocol = Deck(suite, cell.task), made.study.protocol.of(cell.task)
        for shots, episodes in protocol.shots.items():
            for index in range(episodes):
                assert not records & deck.groups(deck.draw(protocol.drawing(shots), seed=cell.seed, index=index))


def test_a_model_that_no_record_is_left_for_is_skipped(tmp_path: Path):
    write_suite(tmp_path / "suite", shared=True)
    text = STUDY.replace("SECONDS", "0").replace("query: 4", "query: all")
    (tmp_path / "study.yaml").write_text(text)
    made = planned(tmp_path / "study.yaml")
    assert {note.code for note in made.skipped} == {"no-record-left"}
    assert {cell.learner for cell in made.cells} == {"plain"}


def test_what_was_made_again_by_another_run_is_not_made_twice(study: Callable[..., Path], tmp_path: Path):
    path = study()
    prepare(path, tmp_path / "run", only=["taught"]).run()
    shutil.rmtree(tmp_path / "run" / "artifacts")
    made = prepare(path, tmp_path / "run").plan
    with Ledger(tmp_path / "run" / "ledger.db") as ledger:
        queue = Queue(made.to_run, ledger, tmp_path / "run")
        lost = [cell for cell in queue.ready if cell.id in queue.remade]
        assert lost
        prepare(path, tmp_path / "run").run()  # another one
        assert queue.claimed(lost, "me") == set()


def test_a_model_can_not_be_trained_on_roles_of_a_suite_without_folds(study: Callable[..., Path], tmp_path: Path):
    path = study()
    suite = store.open_suite(tmp_path / "suite")
    store.write(Suite(id="s", tasks=suite.tasks, pools=dict(suite.pools)), tmp_path / "plain")
    path.write_text(path.read_text().replace("suite: suite", "suite: plain"))
    with pytest.raises(StudyError, match="model 'meta': the suite has no folds"):
        planned(path)


def test_of_trained_models_the_last_few_stay_open(study: Callable[..., Path], monkeypatch: pytest.MonkeyPatch):
    models = {f"m{n}": Trained(train="base") for n in range(5)} | {"base": Fake(load="fake:pupil")}
    made = planned(study())
    bench = Bench(made.study, made.suite, made.learners, models, Path())
    monkeypatch.setattr(Bench, "_open", lambda self, name, chain: object())
    first = bench.model("m0", (("m0", "c0"),))
    assert bench.model("base") is bench.model("base")
    for n in range(1, 4):
        bench.model(f"m{n}", ((f"m{n}", f"c{n}"),))
    assert list(bench.opened) == ["base", "m1", "m2", "m3"]
    assert bench.model("m0", (("m0", "c0"),)) is not first
    assert "base" in bench.opened  # which has its weights anyway
    bench.model("m4", (("m2", "c2"), ("m3", "c3"), ("m0", "c0"), ("m4", "c4")))
    assert {"m2", "m3", "m0", "m4"} <= bench.opened.keys()  # what a cell uses is never closed
