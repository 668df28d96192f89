"""Encoders that a study trains on tasks of several formats: one training for all tasks, and what it must not do."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from taskloom.benchmarks import build
from taskloom.document_lessons import LessonMaker
from taskloom.errors import StudyError
from taskloom.lessons import taught_rows
from taskloom.models.trained import Trained, trained
from taskloom.models.vector_lessons import groups_in
from taskloom.reports import How
from taskloom.reports.summary import summarise
from taskloom.studies.api import LEDGER, prepare
from taskloom.studies.curves import form_parameters
from taskloom.studies.ledger import Ledger
from taskloom.studies.overrides import Overrides
from taskloom.studies.plan import Plan, plan
from taskloom.studies.study import load
from taskloom.studies.training import Training
from taskloom.suites import store

KINDS = {
    "bird": ("owl", "crow", "gull", "wren"),
    "tree": ("oak", "elm", "ash", "fir"),
    "fish": ("cod", "eel", "ray", "bass"),
}
VARIANCE = "Analysis of variance over seeds of training: mean over values"
TRAINED = ("MTL CLS", "MTL CTRL", "adapters", "PALs", "fusion", "adapters + MTL CTRL")  # in the paper's order
STUDY = """
name: formats
baselines: false
suite: suite
tasks: ["@train", "@test"]
protocol: {seeds: 1, training: 2, shots: [all], query: all, for: {in-alike: {shots: [0]}, "*find": {shots: [0]}}}
models:
  base: {load: "fake:bag"}
  cls: {train: base, goal: vectors, most: 20, batch: 8, epochs: 1}
  codes: {train: base, goal: vectors, tell: codes, most: 20, batch: 8, epochs: 1}
  adapters: {train: base, goal: vectors, tell: adapters, most: 20, batch: 8, epochs: 1}
  fusion: {train: adapters, goal: vectors, tell: fusion, most: 20, batch: 8, epochs: 1}
learners:
  base: {represent: {model: base}, training: 1}
  cls: {represent: {model: cls}}
  codes: {represent: {model: codes}}
  fusion: {represent: {model: fusion}, training: 1, tasks: ["*-find"]}
  both: {represent: {model: [adapters, codes]}, tasks: ["*-find"]}
  as-RGN: {represent: {model: codes, form: RGN}, tasks: ["*-year"], training: 1}
views:
  - values: {by: training, paper: scirepeval, title: In and out}
  - values:
      {by: format, only: training=in-train, learners: [cls, codes], paper: scirepeval, tables: form in-train,
       title: By form}
  - anova: {by: training, learners: [cls, codes], paper: scirepeval}
  - efficiency: {against: codes, paper: scirepeval}
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("TASKLOOM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def documents(prefix: str, count: int) -> list[dict[str, Any]]:
    found = []
    for n in range(count):
        kind = [*KINDS][n % 3]
        word = KINDS[kind][n // 3 % 4]
        found.append(
            {"id": f"{prefix}{n}", "title": f"{prefix} {word} {n}", "abstract": f"the {word} is a {kind}", "kind": kind,
             "year": 1990 + n % 7, "topics": [kind, word]}
        )  # fmt: skip
    return found


def tasks(prefix: str, training: str) -> str:
    more = f"""
  {prefix}-topics: {{kind: multi-label, label: topics, least: 12}}
  {prefix}-alike: {{kind: proximity, same: kind, positives: 4, negatives: 6}}"""
    return f"""
from: {prefix}.jsonl
id: id
held_out: 0.4
training: {training}
tasks:
  {prefix}-kind: {{kind: classification, label: kind}}{more if prefix == "in" else ""}
  {prefix}-year: {{kind: regression, label: year, tags: {{label scale: year}}}}
  {prefix}-find: {{kind: search, found_by: topics, positives: 4, negatives: 6}}
"""


@pytest.fixture
def study(tmp_path: Path) -> Callable[..., Path]:
    for prefix, training in (("in", "in-train"), ("out", "out-of-train")):
        rows = map(json.dumps, documents(prefix, 48 if prefix == "in" else 24))
        (tmp_path / f"{prefix}.jsonl").write_text("\n".join(rows))
        (tmp_path / f"{prefix}.yaml").write_text(tasks(prefix, training))
    store.write(build("scirepeval", [str(tmp_path / "in.yaml"), str(tmp_path / "out.yaml")]), tmp_path / "suite")

    def make(**replaced: str) -> Path:
        text = STUDY
        for name, line in replaced.items():
            lines = [f"  {line}" if old.startswith(f"  {name}: {{train") else old for old in text.splitlines()]
            text = "\n".join(lines)
        (tmp_path / "study.yaml").write_text(text)
        return tmp_path / "study.yaml"

    return make


def planned(path: Path) -> Plan:
    return plan(load(str(path))[0], path.parent)


def test_one_training_of_each_model_and_seed_serves_all_tasks_those_it_was_trained_on_too(study: Callable[..., Path]):
    made = planned(study())
    trains = Counter((cell.learner, cell.training) for cell in made.cells if cell.kind == "train")
    assert trains == {(name, seed): 1 for name in ("cls", "codes", "adapters") for seed in (0, 1)} | {("fusion", 0): 1}
    asked = {(cell.learner, cell.task) for cell in made.cells if cell.kind == "adapt"}
    assert {task for learner, task in asked if learner == "codes"} == {*made.suite.tasks}
    assert {cell.training for cell in made.cells if cell.learner == "base"} == {0}
    (fusion,) = [cell for cell in made.cells if cell.kind == "train" and cell.learner == "fusion"]
    assert [name for name, _ in fusion.uses] == ["adapters"]


def test_no_document_that_is_asked_about_is_trained_on(study: Callable[..., Path]):
    made = planned(study())
    training = Training(made.suite, made.study)
    of = made.models["codes"]
    assert isinstance(of, Trained)
    taught = training.taught("codes", of, "in-kind", 0)
    assert {*taught.rows} == {name for name in made.suite.tasks if name.startswith("in-")}
    assert taught == training.taught("codes", of, "out-find", 0)
    made_tasks, dropped = training.vector_tasks(of, taught, 0)
    read = {text for task in made_tasks for lesson in task.lessons for text in lesson.texts[:1]}
    asked = {
        "\n".join(example.item.fields.values())
        for name in made.suite.tasks
        for pool in [made.suite.asked_pool(name)]
        for example in pool.take(range(len(pool)))
    }
    assert read.isdisjoint(asked)
    assert dropped == {}
    assert {task.name: task.forms for task in made_tasks} == {
        "in-kind": ("CLF", "CLF"), "in-topics": ("CLF", "CLF"), "in-year": ("RGN", "RGN"), "in-alike": ("PRX", "PRX"),
        "in-find": ("QRY", "PRX"),
    }  # fmt: skip


def test_a_study_of_formats_runs_to_the_same_ledger_by_any_number_of_workers(study: Callable[..., Path]):
    path = study()
    done, found = prepare(path, path.parent / "one").run()
    assert (done.failed, done.skipped, found.missing) == (0, 0, 0)
    prepare(path, path.parent / "two").run(workers=2)
    with Ledger(path.parent / "one" / LEDGER) as one, Ledger(path.parent / "two" / LEDGER) as two:
        assert list(one.contents()) == list(two.contents())
    assert all(o.cost.encoded >= 0 <= o.cost.encoding for o in found.outcomes)  # of models of several seeds
    assert sum(o.cost.encoded for o in found.outcomes if o.learner == "cls" and o.training == 1) > 0
    answers = {(o.learner, o.training): o.answers for o in found.outcomes if o.task == "in-year"}
    assert answers["as-RGN", 0] == answers["codes", 0]  # which is the form of numbers anyway
    assert answers["cls", 0] != answers["cls", 1]
    assert form_parameters(found) == {"codes": 32, "adapters": 32, "fusion": 32}
    figures = {figure.title: figure for figure in summarise(found, How(count=20)).figures}
    assert [*figures] == [
        "In and out", "By form",
        *(f"{VARIANCE}{part}" for part in (", training in-train", ", training out-of-train", "")),
        "Efficiency", "Time relative to codes",
    ]  # fmt: skip
    in_and_out = {row[0]: row[1:] for row in figures["In and out"].rows}
    assert in_and_out["SPECTER2 MTL CTRL, published"] == (62.4, 73.1, 70.4)
    assert in_and_out["both"][2] is None  # it was not asked about all tasks
    by_form = {row[0]: row for row in figures["By form"].rows}
    assert [*by_form][:2] == ["cls", "codes"]
    query = dict(zip(figures["By form"].columns, by_form["QRY, published"], strict=True))
    assert {"CLF": 31.1, "RGN": 43.1, "PRX": 87.5, "SRCH": 78.5}.items() <= query.items()
    assert not isinstance(by_form["codes"][1], float)  # ours have intervals
    spread = {row[0]: row[1:3] for row in figures[f"{VARIANCE}, training in-train"].rows}
    assert spread["SPECTER2 MTL CTRL, published"] == (62.4, "0.09")
    assert [*spread][2:] == [f"SPECTER2 {name}, published" for name in TRAINED]  # not those that were not trained
    relative = {row[0]: row[1:] for row in figures["Time relative to codes"].rows}
    assert relative["codes"] == (32, "1.00x", "1.00x")
    assert relative["both"][0] == 64
    assert relative["SPECTER2 PALs, published"] == ("2,000,000", "1.42x", "1.29x")
    assert "base" not in relative  # which was not trained


def test_a_trial_is_short(study: Callable[..., Path]):
    path = study()
    done, found = prepare(path, path.parent / "run", limit=2).run()
    assert done.failed == 0
    assert all(len(o.answers) <= 2 for o in found.outcomes)
    assert all(cost.items <= 2 * 5 for costs in found.training.values() for cost in costs)


def test_random_groups_of_tasks_have_their_own_forms_and_serve_tasks_that_were_not_trained_on(
    study: Callable[..., Path],
):
    path = study(codes="codes: {train: base, goal: vectors, tell: codes, by: random, most: 20, batch: 8, epochs: 1}")
    text = "\n".join(line for line in path.read_text().splitlines() if "as-RGN" not in line)
    path.write_text(text)
    done, found = prepare(path, path.parent / "run").run()
    assert done.failed == 0
    groups = [groups_in([at]) for at in sorted((path.parent / "run" / "artifacts").glob("*")) if groups_in([at])]
    assert len(groups) == 2  # one for each seed of training
    for own in groups:
        assert {*own} == {
            *(f"in-{name}" for name in ("kind", "topics", "year", "alike", "find")),
            "CLF",
            "RGN",
            "PRX",
            "SRCH",
        }
        assert sorted(Counter(own[name] for name in own if name.startswith("in-")).values()) == [1, 1, 1, 2]
        assert own["RGN"] == own["in-year"]
    assert {o.task for o in found.outcomes if o.learner == "codes"} >= {"out-kind", "in-find"}


@pytest.mark.parametrize(
    ("model", "line", "told"),
    [
        ("codes", "codes: {train: base, goal: vectors, tell: codes, tasks: [in-kind]}", "no task to train on"),
        ("codes", "codes: {train: base, goal: vectors, tell: codes, batch: 4}", "set `batch` to 5 or more"),
        ("codes", "codes: {train: base, goal: vectors, tell: codez}", "codes"),
        ("codes", "codes: {train: base, goal: vectors, tell: codes, what: lora}", "has `tell`, and no such options"),
        ("codes", "codes: {train: base, goal: vectors, tell: codes, tasks: ['@training=intrain']}", "in-train"),
        ("codes", "codes: {train: cls, goal: vectors, tell: fusion}", "`tell: adapters`"),
        ("fusion", "fusion: {train: adapters, goal: vectors, tell: codes}", "already"),
        ("cls", "cls: {train: 'fake:random', goal: vectors}", "an encoder that can be trained"),
        ("cls", "cls: {train: 'fake:pupil', goal: vectors}", "an encoder that can be trained"),
        ("cls", "cls: {train: base, goal: vectors, by: random}", "`tell` that is not none"),
        ("cls", "cls: {train: base, triplets: 3}", "`goal: vectors`"),
        ("cls", "cls: {train: base, goal: vectors, tasks: ['!in-kind']}", "must name some that it is trained on"),
    ],
)
def test_what_can_not_be_trained_is_refused_before_any_work(
    study: Callable[..., Path], model: str, line: str, told: str
):
    with pytest.raises(StudyError) as caught:
        planned(study(**{model: line}))
    assert told in str(caught.value)


def test_a_form_that_an_encoder_does_not_have_is_refused_before_any_work(study: Callable[..., Path]):
    path = study()
    path.write_text(
        path.read_text().replace("base: {represent: {model: base}", "base: {represent: {model: base, form: PRXX}")
    )
    with pytest.raises(StudyError, match="gives no vectors in the form PRXX; it has: CLF, QRY"):
        planned(path)


def test_a_view_by_a_tag_that_no_task_has_is_refused(study: Callable[..., Path]):
    path = study()
    path.write_text(path.read_text().replace("values: {by: training, paper", "values: {by: trainning, paper"))
    with pytest.raises(StudyError, match="trainning"):
        planned(path)


def test_tasks_of_a_tag_are_trained_on(study: Callable[..., Path]):
    line = "cls: {train: base, goal: vectors, tasks: ['@format=CLF'], most: 20, batch: 8, epochs: 1}"
    made = planned(study(cls=line))
    of = made.models["cls"]
    assert isinstance(of, Trained)
    taught = Training(made.suite, made.study).taught("cls", of, "out-find", 0)
    assert {*taught.rows} == {"in-kind", "in-topics", "out-kind"}


def test_usual_options_are_those_of_the_paper_unless_a_study_says_otherwise():
    plain, own = trained({"train": "x", "goal": "vectors"}), {"steps": 5, "lr": 0.1, "warmup": 0}
    assert (plain.batch, plain.warmup, plain.schedule, plain.rate, plain.epochs) == (256, 700, "inverse-sqrt", 5e-5, 2)
    assert (plain.most, plain.triplets, plain.margin, plain.apart) == (600_000, 5, 1.0, "study")
    adapters = trained({"train": "x", "goal": "vectors", "tell": "adapters"})
    assert (adapters.rate, adapters.epochs, adapters.telling.tell) == (1e-4, 6, "adapters")
    assert trained({"train": "x", "goal": "vectors", "tell": "fusion"}).epochs == 4
    mine = trained({"train": "x", "goal": "vectors", **own})
    assert (mine.budget, mine.rate, mine.warmup) == (("steps", 5), 0.1, 0)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("formats", 5), ("formats-codes", 2), ("formats-affinity", 11), ("formats-efficiency", 4), ("formats-demo", 5),
        ("formats-no-citations", 2),
    ],
)  # fmt: skip
def test_the_named_studies_can_be_planned_on_a_suite_of_all_formats(study: Callable[..., Path], name: str, count: int):
    folder = study().parent
    made = Overrides(suite=str(folder / "suite"), model="fake:bag").in_place(load(name)[0])
    if name == "formats-efficiency":
        made = replace(made, tasks=("*-find",))
    protocol = replace(made.protocol, tasks={})  # patterns of tasks that this suite does not have
    made = replace(made, protocol=protocol, models={key: _without_citations(of) for key, of in made.models.items()})
    found = plan(made, folder)
    trained_models = {cell.learner for cell in found.cells if cell.kind == "train"}
    assert trained_models == {model for model, of in found.models.items() if isinstance(of, Trained)}
    assert len(trained_models) == count


def _without_citations(of: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the task that stands for citations here, where a model leaves them out."""
    tasks = [name.replace("!citation-triplets", "!in-alike") for name in of.get("tasks", ())]
    return {**of, "tasks": tasks} if tasks else dict(of)


def test_citations_can_be_left_out(study: Callable[..., Path]):
    line = "cls: {train: base, goal: vectors, tasks: ['@train', '!in-alike'], batch: 8}"
    made = planned(study(cls=line))
    of = made.models["cls"]
    assert isinstance(of, Trained)
    assert "in-alike" not in Training(made.suite, made.study).taught("cls", of, "out-find", 0).rows
    with pytest.raises(StudyError, match="unknown task"):
        planned(study(cls=line.replace("!in-alike", "!citation-triplets")))
    assert {*load("formats-bases")[0].models} >= {"specter", "scincl"}
    assert load("formats-no-citations")[0].models["without"]["tasks"] == ["@train", "!citation-triplets"]


def test_the_released_samples_of_training_tasks_give_lessons_in_the_published_forms(real_data: Path):
    suite = build("scirepeval", str(real_data / "scirepeval"), held_out=0.3)
    rows = {name: taught_rows(suite, name, most=30) for name in suite.tasks}
    maker = LessonMaker(suite=suite, triplets=5, most=30)
    made = {task.name: task for task in maker.tasks(rows)}
    assert {name: (task.loss, task.forms) for name, task in made.items()} == {
        "mesh-descriptors": ("class", ("CLF", "CLF")), "fields-of-study": ("labels", ("CLF", "CLF")),
        "same-author": ("triplet", ("PRX", "PRX")), "citation-triplets": ("triplet", ("PRX", "PRX")),
        "search": ("triplet", ("QRY", "PRX")),
    }  # fmt: skip
    assert all(0 < len(task.lessons) <= 30 for task in made.values())
    assert all(text.strip() for task in made.values() for lesson in task.lessons for text in lesson.texts)
    assert maker.dropped["query-without-order"] < 10
