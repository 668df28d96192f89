"""A study to cells: each a unit of work, named by the content of all that determines it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TypeAlias

from ..core import ROLES, Suite, Task
from ..episodes import Sampler, draw, draw_id
from ..errors import EpisodeError, StudyError, TaskloomError, nearest
from ..ids import Json, fingerprint
from ..learners import FLOORS, Learner, can_do, identity, learner, model_of, settings, shown
from ..models.load import Source, source
from ..scores.tasks import parts_of
from ..suites import store
from .study import Study, chosen_tasks, named
from .yaml_reader import StudyFaults

VERSION = 1  # of the way a cell is run: raise it when the same cell gives other answers
SUITE = "suite"
Get: TypeAlias = "Callable[[str, Source], object]"  # fetches a model by its name in the study


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One learner on one episode of one task; `limit` marks a trial that asks about fewer items."""

    id: str
    task: str
    learner: str
    shots: int
    seed: int
    index: int
    limit: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All cells of a study, and what was left out of it."""

    study: Study
    suite: Suite
    folder: Path  # of the suite
    learners: Mapping[str, Learner]
    models: Mapping[str, Source]
    model_ids: Mapping[str, Json]  # what each is named by
    cells: tuple[Cell, ...]
    left_out: Mapping[str, int]

    @property
    def floors(self) -> tuple[str, ...]:
        """Name the learners that are only lines to be above."""
        return tuple(name for name, chosen in self.study.learners.items() if chosen.learner in FLOORS)


def sampler(study: Study, shots: int) -> Sampler:
    """Say how a study draws its episodes; the query set is the same for all numbers of shots."""
    protocol = study.protocol
    return Sampler(
        shots=shots,
        reserve=max(protocol.shots),
        dev=protocol.dev,
        query=protocol.query,
        per_class=protocol.per_class,
        ways=protocol.ways,
        short_class=protocol.short_class,  # type: ignore[arg-type]
    )


def plan(
    study: Study,
    run: Path,
    *,
    only: Sequence[str] = (),
    limit: int = 0,
    get: Get | None = None,
    known: Mapping[str, Json] | None = None,
) -> Plan:
    """Name every cell, and every fault, before any work; `only` keeps tasks and learners that match a pattern.

    `get` fetches the models that are needed. Where the ids of models are `known`, so is the suite that the run has
    built: both are taken as they are.
    """
    learners, models = _made(study)
    suite, folder = _suite(study, run, known=known is not None)
    tasks = _tasks(study, suite)
    kept, chosen = _only(tasks, learners, only)
    left_out: Counter[str] = Counter()
    parts = _parts(study, suite, chosen, [task for task in kept if _can_draw(suite, study, task, left_out)])
    users = {name: of for name, of in chosen.items() if any(name in part for part in parts.values())}
    ids = known if known is not None else _model_ids(study, models, users, get, left_out)
    ready = {name: identity(of, ids.get(model_of(of))) for name, of in chosen.items() if model_of(of) in ("", *ids)}
    cells = tuple(_cells(study, suite, parts, ready, limit, left_out))
    if not cells:
        raise StudyError("\n  left out: ".join(["nothing to run", *sorted(left_out)]))
    return Plan(
        study=study, suite=suite, folder=folder, learners=learners, models=models, model_ids=dict(ids), cells=cells,
        left_out=dict(left_out),
    )  # fmt: skip


def _made(study: Study) -> tuple[dict[str, Learner], dict[str, Source]]:
    """Make the learners of a study and find their models, or name all that is wrong with them and with its views."""
    faults = StudyFaults(study.places)
    learners = _learners(study, faults)
    models = _models(study, learners, faults)
    _check_views(study, learners, faults)
    faults.settle()
    return learners, models


def _check_views(study: Study, learners: Mapping[str, Learner], faults: StudyFaults) -> None:
    """Note which views can't be drawn, whatever the results; of learners that are themselves at fault, nothing."""
    if len(learners) == len(study.learners):
        known = {name: settings(of) for name, of in learners.items()}
        for at, view in enumerate(study.views):
            for fault in view.faults(known):
                faults.add(study.places.get(("view", str(at)), "views"), fault)


def _tasks(study: Study, suite: Suite) -> list[str]:
    """Give the tasks that a study names, or name all that is wrong with them and with their metrics."""
    faults, wanted, tasks = StudyFaults(study.places), list[str](), list[str]()
    for text in study.tasks:
        with faults.of("tasks"):
            wanted += _of_fold(suite, text)
    with faults.of("tasks"):
        tasks = chosen_tasks(list(suite.tasks), wanted)
    for task in (suite.tasks[name] for name in tasks):
        for metric in task.metrics:
            with faults.of("task", task.id):
                list(parts_of(replace(task, metrics=(metric,))))  # refuses what is none, or none of its output
    faults.settle()
    return tasks


def _of_fold(suite: Suite, text: str) -> list[str]:
    """Put names in the place of `@test`, or of `@FOLD/test`: the tasks that have a role in any fold, or in one."""
    if text in suite.tasks or not text.startswith("@"):
        return [text]
    fold, _, name = text.removeprefix("@").rpartition("/")
    role = next((role for role in ROLES if role == name), None)
    if role is None:
        raise StudyError(f"no such role in a fold: {text!r}; {nearest(f'@{name}', [f'@{role}' for role in ROLES])}")
    if not suite.folds and text == "@test":
        return list(suite.tasks)  # of a suite without folds, every task may be asked about
    names = suite.tasks_with(role, fold) if fold in ("", *suite.folds) else ()
    if not names:
        raise StudyError(f"no fold of the suite has tasks for {text!r}; its folds: {', '.join(suite.folds) or 'none'}")
    return list(names)


def _suite(study: Study, run: Path, *, known: bool) -> tuple[Suite, Path]:
    """Open the study's suite, or build it into the run's folder unless it is there already, or known to be."""
    folder = study.folder / study.suite if study.suite else run / SUITE
    if study.suite or known:
        return store.open_suite(folder), folder
    from ..benchmarks import builder
    from ..suites.build import Reading

    named = study.source if ":" in study.source or not study.source else str(study.folder / study.source)
    built = builder(study.build)(named, (), Reading(), "")
    try:
        there = store.open_suite(folder)
        if there.fingerprint == built.fingerprint:
            return there, folder
    except TaskloomError:
        pass  # there is none, or it is damaged: it is written anew
    return store.write(built, folder, replace=True), folder


def learners_of(study: Study) -> dict[str, Learner]:
    """Make the learners of a study, or name all that is wrong with them."""
    faults = StudyFaults(study.places)
    made = _learners(study, faults)
    faults.settle()
    return made


def models_of(study: Study, learners: Mapping[str, Learner]) -> dict[str, Source]:
    """Say where the models are that learners need, or name all that is wrong with what was said."""
    faults = StudyFaults(study.places)
    made = _models(study, learners, faults)
    faults.settle()
    return made


def _learners(study: Study, faults: StudyFaults) -> dict[str, Learner]:
    made = {}
    for name, chosen in study.learners.items():
        with faults.of("learner", name):
            made[name] = learner(chosen.learner, chosen.options, study.folder)
    return made


def _models(study: Study, learners: Mapping[str, Learner], faults: StudyFaults) -> dict[str, Source]:
    users = {model_of(of): name for name, of in learners.items() if model_of(of)}
    made = {}
    for model in sorted(users):
        with faults.of(*(("model", model) if model in study.models else ("learner", users[model]))):
            made[model] = source(model, study.models.get(model), study.folder)
    return made


def _model_ids(
    study: Study, models: Mapping[str, Source], learners: Mapping[str, Learner], get: Get | None, left_out: Counter[str]
) -> dict[str, Json]:
    """Name models by their content; one that can't be had is left out where all its learners are optional."""
    found: dict[str, Json] = {}
    for name, of in models.items():
        users = [learner for learner, made in learners.items() if model_of(made) == name]
        try:
            if users and get:
                get(name, of)
            if users:
                found[name] = of.identity()
        except TaskloomError as error:
            if not all(study.learners[user].optional for user in users):
                raise
            left_out[f"model {name} can't be had ({error}), and so not {', '.join(users)}"] += 1
    return found


def _only(
    tasks: Sequence[str], learners: Mapping[str, Learner], only: Sequence[str]
) -> tuple[Sequence[str], Mapping[str, Learner]]:
    """Keep the tasks and learners that names or patterns stand for; all tasks where none is named, all learners too."""
    names = dict.fromkeys([*tasks, *learners])
    found = {text: named(names, text) for text in only}
    if unknown := [f"{text!r}, {nearest(text, names)}" for text, some in found.items() if not some]:
        raise StudyError(f"--only names no task and no learner of the study: {'; '.join(unknown)}")
    kept = {name for some in found.values() for name in some}
    some_learners = {name: of for name, of in learners.items() if name in kept}
    return [task for task in tasks if task in kept] or tasks, some_learners or learners


def _can_draw(suite: Suite, study: Study, task: str, left_out: Counter[str]) -> bool:
    """Draw one episode for a trial, so that a task with too few examples is known before any work."""
    try:
        draw(suite, task, sampler(study, max(study.protocol.shots)))
    except EpisodeError as error:
        left_out[str(error)] += 1
        return False
    return True


def _parts(
    study: Study, suite: Suite, learners: Mapping[str, Learner], tasks: Sequence[str]
) -> dict[str, dict[str, Learner]]:
    """Give the learners that take part in each task."""
    where = {name: {t for text in study.learners[name].tasks for t in named(suite.tasks, text)} for name in learners}
    return {task: {name: of for name, of in learners.items() if task in where[name]} for task in tasks}


def _cells(
    study: Study,
    suite: Suite,
    parts: Mapping[str, Mapping[str, Learner]],
    identities: Mapping[str, Json],
    limit: int,
    left_out: Counter[str],
) -> Iterator[Cell]:
    """Name the cells of the learners that have an identity, those of one episode after each other."""
    for task, part in parts.items():
        digest, asked = suite.digest(task), suite.tasks[task]
        able = _able({name: of for name, of in part.items() if name in identities}, asked, left_out)
        more = {name: list(_more(of, asked, limit)) for name, of in able.items()}
        for shots in study.protocol.shots:
            fit, draws = _fit(study, able, asked, shots, left_out), sampler(study, shots)
            for seed, index in product(study.protocol.seeds, range(study.protocol.episodes)):
                drawn = draw_id(suite, task, draws, seed=seed, index=index)
                for name in fit:
                    id_ = fingerprint("cell", VERSION, digest, drawn, identities[name], seed, *more[name])
                    yield Cell(id=id_, task=task, learner=name, shots=shots, seed=seed, index=index, limit=limit)


def _able(learners: Mapping[str, Learner], task: Task, left_out: Counter[str]) -> dict[str, Learner]:
    """Keep the learners that can answer a task from examples, and count the others."""
    able = {name: of for name, of in learners.items() if can_do(of, task)}
    left_out.update(f"learner {name} can't answer {task.output.kind}" for name in learners if name not in able)
    return able


def _fit(
    study: Study, learners: Mapping[str, Learner], task: Task, shots: int, left_out: Counter[str]
) -> Sequence[str]:
    """Keep the learners that can answer with so many shots, and count those that should and can't."""
    here = [name for name in learners if shots in (study.learners[name].shots or study.protocol.shots)]
    fit = [name for name in here if can_do(learners[name], task, shots)]
    told = f"needs examples for {task.output.kind}, 0 shots have none"
    left_out.update(f"learner {name} {told}" for name in here if name not in fit)
    return fit


def _more(of: Learner, task: Task, limit: int) -> Iterator[Json]:
    """Yield what names only some cells, so that it makes no others stale: a trial's limit, and what else is shown."""
    if limit:
        yield limit
    if told := shown(of, task):
        yield {"shown": told}
