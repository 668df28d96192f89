"""What models are trained on: tasks drawn by seed, what tables go by, and what is known of leaks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from taskloom import benchmarks
from taskloom.core import Example, Suite
from taskloom.errors import StudyError
from taskloom.ids import Json
from taskloom.models.trained import Trained
from taskloom.studies.plan import Plan, plan
from taskloom.studies.study import parse
from taskloom.studies.training import Training
from taskloom.suites import store

Planned = Callable[..., Plan]
STUDY = """
name: tk
suite: suite
tasks: [TASKS]
baselines: false
protocol: {seeds: 1, shots: [0], query: 4}
models:
  base: {load: "fake:pupil"}
MODELS
learners:
  untrained: {instructed: {model: base, encoding: def}}
LEARNERS
"""


def written(models: Sequence[str], tasks: str) -> str:
    """Write a study with a learner for each trained model, which are called a, b and so on."""
    named = dict(zip("abcdef", models, strict=False))
    lines = "\n".join(f"  {name}: {{train: base, {how}}}" for name, how in named.items())
    learners = "\n".join(f"  asked-{name}: {{instructed: {{model: {name}, encoding: def}}}}" for name in named)
    return STUDY.replace("MODELS", lines).replace("LEARNERS", learners).replace("TASKS", tasks)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own")
    store.write(benchmarks.build("natural-instructions", scored=20), folder / "suite")
    return folder


@pytest.fixture
def planned(own: Path) -> Planned:
    def make(*models: str, tasks: str = '"@default/test"') -> Plan:
        return plan(parse(written(models, tasks), folder=own), own)

    return make


def facets(made: Plan, learner: str) -> dict[str, Json]:
    return {name: value for name, value in made.settings[learner].items() if name.startswith(("train", "base"))}


def trained_on(made: Plan, model: str, seed: int = 0) -> set[str]:
    how, target = made.models[model], made.suite.folds["default"]["test"][0]
    assert isinstance(how, Trained)
    return {*Training(made.suite, made.study).taught(model, how, target, seed).rows}


def test_tasks_are_drawn_by_the_seed_and_those_of_fewer_are_among_those_of_more(planned: Planned):
    made = planned("sample: 2", "sample: 5", "sample: 16")
    for seed in range(4):
        two, five, every = (trained_on(made, name, seed) for name in "abc")
        assert (len(two), len(five), len(every)) == (2, 5, 16)
        assert two < five < every
    assert len({frozenset(trained_on(made, "a", seed)) for seed in range(4)}) > 1


def test_a_drawn_number_names_a_model_by_the_rows_alone(planned: Planned):
    made = planned("most: 8", "most: 8, sample: 16", "most: 8, sample: 15")
    ids = {cell.learner: cell.id for cell in made.cells if cell.kind == "train"}
    assert ids.keys() == {"a", "c"}  # what is taught the same is one cell
    used = {cell.learner: dict(cell.uses) for cell in made.cells if cell.uses}
    assert [*used["asked-a"].values()] == [*used["asked-b"].values()] != [*used["asked-c"].values()]


def test_more_tasks_than_there_are_are_skipped_with_a_note(planned: Planned):
    made = planned("sample: 17")
    (note,) = made.skipped
    assert (note.code, dict(note.values)) == ("sample-too-large", {"model": "a", "sample": 17, "tasks": 16})
    assert {cell.learner for cell in made.cells} == {"untrained"}


def test_tables_can_go_by_what_a_model_was_trained_with(planned: Planned):
    made = planned("encoding: def+pos2, most: 8, sample: 4, what: lora, steps: 5", "most: all")
    assert facets(made, "asked-a") == {
        "base": "base", "trained": "lora", "training tasks": 4, "training instances": 8,
        "training encoding": "def+pos2", "training": {"steps": 5},
    }  # fmt: skip
    assert facets(made, "asked-b") == {
        "base": "base", "trained": "all", "training tasks": 16, "training instances": 40,
        "training encoding": "default template", "training": {},
    }  # fmt: skip
    assert facets(made, "untrained") == {
        "base": "base", "trained": "nothing", "training tasks": 0, "training instances": 0,
        "training encoding": "untrained",
    }  # fmt: skip
    assert made.settings["untrained"]["encoding"] == "def"


def test_a_model_from_scratch_has_as_many_parameters_as_its_vocabulary_makes_it(own: Path):
    text = written(("most: 4",), '"@default/test"').replace(
        '{load: "fake:pupil"}', '{train: "new:t5-nano", goal: texts, vocabulary: 1000, steps: 1}'
    )
    made = plan(parse(text, folder=own), own)
    assert {found["parameters"] for found in made.settings.values()} == {1_047_296}
    assert (made.settings["untrained"]["training tasks"], made.settings["asked-a"]["base"]) == (0, "base")


def test_the_upper_bound_is_trained_on_instances_that_are_never_asked_about(planned: Planned):
    made = planned('tasks: ["@test"], most: 1000, apart: study')
    trains = [cell for cell in made.cells if cell.kind == "train"]
    assert len(trains) == 1
    (note,) = made.taught
    assert (note.code, dict(note.values)) == ("taught-asked", {"model": "a", "tasks": 6, "asked": 6})
    asked = {e.item.id for name in made.suite.folds["default"]["test"] for e in every(made.suite, name, "test")}
    taught = {e.item.id for name in made.suite.folds["default"]["test"] for e in every(made.suite, name, "train")}
    assert len(asked) == 6 * 20
    assert taught
    assert not asked & taught


def every(suite: Suite, task: str, pool: str) -> list[Example]:
    found = suite.pools[task][pool]
    return list(found.take(range(len(found))))


def test_an_upper_bound_without_further_instances_is_skipped_with_a_note(tmp_path: Path):
    store.write(benchmarks.build("natural-instructions"), tmp_path / "suite")  # all instances are scored
    made = plan(parse(written(('tasks: ["@test"]',), '"@default/test"'), folder=tmp_path), tmp_path)
    assert {(note.code, dict(note.values)["tasks"]) for note in made.skipped} == {("all-are-scored", 6)}
    assert "have no instances beyond those that are scored" in str(next(iter(made.skipped)))


def test_training_tasks_are_told_to_be_certified_as_far_as_they_were_compared(planned: Planned):
    made = planned("most: 8", "tasks: [task9001_weather_data_to_text]", "tasks: [task9023_german_cause_or_effect]")
    codes = {dict(note.values)["model"]: note.code for note in made.taught}
    assert codes == {"a": "taught-certified", "b": "taught-certified"}  # of c, nothing is known


def test_a_track_without_training_tasks_is_an_error_that_says_what_to_do(own: Path, tmp_path: Path):
    suite = store.open_suite(own / "suite")
    folds = {"default": suite.folds["default"], "bare": {"test": suite.folds["xlingual"]["test"]}}
    bare = Suite(id="s", tasks=suite.tasks, pools=dict(suite.pools), folds=folds)
    store.write(bare, tmp_path / "suite")
    told = r"nothing to train on: .* train tasks \(0 were excluded for leaks\); build the suite again .*: bare"
    with pytest.raises(StudyError, match=told):
        plan(parse(written(("most: 8",), '"@bare/test"'), folder=tmp_path), tmp_path)
    both = plan(parse(written(("most: 8",), '"@test"'), folder=tmp_path), tmp_path)
    assert {note.code for note in both.skipped} == {"nothing-to-train-on"}  # of some tracks: those are skipped
