"""UniFew in studies: zero-shot, few-shot and meta-trained on episodes, with the words of the document."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from taskloom.benchmarks.labelled import known_sets
from taskloom.choices import FORMS, yes_no
from taskloom.core import Example, Item, Labels, Suite, Task
from taskloom.errors import StudyError, UsageError
from taskloom.models.trained import Trained, trained
from taskloom.sources.labelled import FIELDS
from taskloom.studies import artifacts
from taskloom.studies.api import prepare
from taskloom.studies.plan import Plan, plan
from taskloom.studies.study import load
from taskloom.studies.training import Training
from taskloom.suites import rows, store

DOCUMENT = Path(__file__).parents[2] / "docs" / "unifew.md"
KINDS = ("owl", "oak", "cod", "elm", "jay", "fir", "eel", "hen")
STUDY = """
name: unifew
baselines: false
suite: suite
tasks: ["@test"]
protocol: {seeds: 1, shots: [0, 2], query: 6}
models:
  base: {load: "fake:pupil"}
  meta: {train: base, template: choices, episodes: 20, most: 60}
learners:
  unifew: {tune: {model: base, template: choices}}
  meta: {tune: {model: meta, template: choices}}
  shown: {in-context: {model: base, template: choices}}
  writes: {in-context: {model: base, template: choices, answers: generate}, shots: [0]}
"""


def item(form: str, n: int, kind: str) -> dict[str, str]:
    text = f"number {n} is about an {kind}"
    return {
        "single": {"text": text},
        "pair": {"text1": text, "text2": f"it is number {n}"},
        "relation": {"text": f"#{kind}# and *{n}*", "mention1": kind, "mention2": str(n)},
        "entity": {"text": f"the #{kind}# of {n}", "mention": kind},
    }[form]


def task(name: str, form: str, labels: tuple[str, ...]) -> tuple[Task, list[Example]]:
    made = Task(id=name, instruction="Choose.", output=Labels(labels), metrics=("accuracy",))
    golds = [(n, labels[n % len(labels)]) for n in range(60)]
    return made, [Example(Item(f"{n}", item(form, n, gold)), (gold,), f"{name}{n}") for n, gold in golds]


def write_suite(folder: Path) -> None:
    """Write tasks of all forms: train and test tasks of single texts have no label in common."""
    made = [
        task("kinds@train", "single", KINDS[:4]),
        task("nli@train", "pair", ("entailment", "neutral", "contradiction")),
        task("kinds@test", "single", KINDS[4:]),
        task("same@test", "pair", ("equivalent", "not_equivalent")),
        task("relations@test", "relation", ("birthplace", "employer", "spouse")),
        task("entities@test", "entity", ("person", "place")),
    ]
    tasks = {of.id: of for of, _ in made}
    pools = {of.id: {"all": rows.pool(of, examples)} for of, examples in made}
    folds = {"flex": {role: tuple(name for name in tasks if name.endswith(f"@{role}")) for role in ("train", "test")}}
    store.write(Suite(id="s", tasks=tasks, pools=pools, folds=folds), folder)


@pytest.fixture
def study(tmp_path: Path) -> Callable[..., Path]:
    write_suite(tmp_path / "suite")

    def make(*replaced: tuple[str, str], text: str = STUDY) -> Path:
        for old, new in replaced:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "study.yaml").write_text(text)
        return tmp_path / "study.yaml"

    return make


def planned(path: Path) -> Plan:
    return plan(load(str(path))[0], path.parent)


def trains(path: Path) -> set[str]:
    return {cell.id for cell in planned(path).cells if cell.kind == "train"}


def test_one_template_serves_all_forms_and_answers_are_labels(study: Callable[..., Path], tmp_path: Path):
    done, found = prepare(study(), tmp_path / "run").run()
    assert (done.failed, done.skipped, found.missing) == (0, 0, 0)
    assert {(o.learner, o.shots) for o in found.outcomes} == {
        ("unifew", 0), ("unifew", 2), ("meta", 0), ("meta", 2), ("shown", 0), ("shown", 2), ("writes", 0)
    }  # fmt: skip
    labels = {name: of.output.names for name, of in store.open_suite(tmp_path / "suite").tasks.items()}  # type: ignore[union-attr]
    for o in found.outcomes:
        if o.learner != "writes":
            assert {*map(str, o.answers)} <= {*labels[o.task]}
    echoed = [o for o in found.outcomes if o.learner == "writes"]
    assert any(o.scores["accuracy"].unusable for o in echoed)  # what is no choice is counted


def test_lessons_are_episodes_of_train_tasks_alone(study: Callable[..., Path], tmp_path: Path):
    path = study()
    (only,) = trains(path)
    prepare(path, tmp_path / "run", only=["meta", "kinds@test"]).run()
    text = (artifacts.place(tmp_path / "run", only) / "lessons.json").read_text(encoding="utf-8")
    prompts = [prompt for prompt, _ in json.loads(text)]
    shown = [tuple(re.findall(r"\([A-Z]\) (\w+)", prompt)) for prompt in prompts]
    assert {name for names in shown for name in names} == {*KINDS[:4], "Yes", "No", "Maybe"}
    assert {len(names) for names in shown} == {2, 3, 4}


def test_all_pairs_of_flex_are_asked_for_yes_no_and_maybe():
    pairs = [of for of in known_sets().values() if of.form == "pair"]
    assert len(pairs) > 5
    for of in pairs:
        for labels in of.labels.values():
            assert {*yes_no(labels).values()} == {2: {"Yes", "No"}, 3: {"Yes", "No", "Maybe"}}[len(labels)]


def test_every_form_of_labelled_data_has_words_of_its_own():
    assert {frozenset(fields) for fields in FIELDS.values()} == {frozenset(fields) for fields in FORMS}


def test_what_is_drawn_names_a_trained_model_and_nothing_else_does(study: Callable[..., Path]):
    before = trains(study())
    for old, new in (
        ("episodes: 20", "episodes: 21"),
        ("episodes: 20", "episodes: 20, ways: [2, 3]"),
        ("episodes: 20", "episodes: 20, shots: 2"),
        ("template: choices, episodes", "template: unifiedqa, episodes"),
        ("most: 60", "most: 50"),
    ):
        assert not before & trains(study((old, new)))
    assert trains(study(("episodes: 20", "episodes: 20, ways: [2, 5], shots: [1, 5]"))) == before
    assert trains(study(("protocol: {seeds: 1", "protocol: {seeds: [0]"))) == before


def test_models_that_are_not_trained_on_episodes_keep_their_names(study: Callable[..., Path]):
    plain = ("template: choices, episodes: 20, most: 60", "most: 60")
    before = {"f00b7644f86990186b631e30dc6f6820"}  # as they were named before there were templates and episodes
    assert trains(study(plain)) == before
    assert trains(study((plain[0], "most: 60, template: default"))) == before


def test_no_record_of_the_target_is_taught(study: Callable[..., Path], tmp_path: Path):
    path = study(
        ('tasks: ["@test"]', "tasks: [kinds@train]"),
        ("template: choices, episodes: 20", "template: choices, episodes: 20, tasks: [kinds@train]"),
    )
    made = planned(path)
    (cell,) = [cell for cell in made.cells if cell.kind == "train"]
    of = made.models["meta"]
    assert isinstance(of, Trained)
    training = Training(made.suite, made.study)
    lessons, _ = training.lessons(of, training.taught("meta", of, cell.task, cell.seed), cell.training)
    _, found = prepare(path, tmp_path / "run").run()
    asked = {name for o in found.outcomes for name in o.items}
    assert asked
    assert not asked & {lesson.item for lesson in lessons}


def test_a_trial_draws_few_episodes_of_as_many_rows(study: Callable[..., Path], tmp_path: Path):
    done, found = prepare(study(), tmp_path / "run", limit=2).run()
    assert (done.failed, found.missing) == (0, 0)


def test_held_out_lessons_share_no_record_with_those_that_are_taught(study: Callable[..., Path]):
    path = study(("episodes: 20", "episodes: 20, dev: 5, patience: 2"))
    made = planned(path)
    (cell,) = [cell for cell in made.cells if cell.kind == "train"]
    training, of = Training(made.suite, made.study), made.models["meta"]
    assert isinstance(of, Trained)
    lessons, dev = training.lessons(of, training.taught("meta", of, cell.task, cell.seed), cell.training)
    assert len(dev) >= 5
    assert not {(one.task, one.item) for one in lessons} & {(one.task, one.item) for one in dev}


def test_a_model_whose_tasks_give_no_episode_is_skipped_with_the_reason(study: Callable[..., Path]):
    made = planned(study(("episodes: 20", "episodes: 20, shots: [20, 20]")))
    assert {note.code for note in made.skipped} == {"no-episode"}
    assert {dict(note.values)["tasks"] for note in made.skipped} == {("kinds@train",)}
    assert "meta" not in {cell.learner for cell in made.cells}


def test_a_template_that_does_not_fit_train_tasks_is_refused_before_any_work(study: Callable[..., Path]):
    with pytest.raises(StudyError, match=r"model 'meta': task 'kinds@train': unknown slot \{headline\}"):
        planned(study(("template: choices, episodes", 'template: "{headline}{text}", episodes')))
    with pytest.raises(StudyError, match="did you mean choices"):
        planned(study(("template: choices, episodes", "template: choises, episodes")))


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"ways": [2, 3]}, "options-of-episodes"),
        ({"episodes": -1}, "whole-number-expected"),
        ({"episodes": 5, "ways": [1, 3]}, "range-expected"),
        ({"episodes": 5, "ways": [4, 3]}, "range-expected"),
        ({"episodes": 5, "shots": [1, 0]}, "range-expected"),
        ({"episodes": 5, "shots": "many"}, "range-expected"),
        ({"episodes": 5, "shots": [1, 2, 3]}, "range-expected"),
        ({"template": "choices", "encoding": "def"}, "encoding-and-template"),
        ({"goal": "texts", "template": "choices"}, "options-of-answers"),
    ],
)
def test_options_that_can_not_be_meant_are_refused(options: dict[str, object], code: str):
    with pytest.raises(UsageError) as caught:
        trained({"train": "base", **options})
    assert caught.value.note.code == code


def test_the_study_of_the_document_runs_as_a_trial(study: Callable[..., Path], tmp_path: Path):
    (text,) = re.findall(r"```yaml\n(name: unifew.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    small = re.sub(r"base: \{.*\}", 'base: {load: "fake:pupil"}', text).replace("suites/flex", "suite")
    done, found = prepare(study(text=small), tmp_path / "run", limit=2).run()
    assert (done.failed, done.skipped, found.missing) == (0, 0, 0)
