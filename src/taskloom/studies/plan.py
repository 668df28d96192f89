"""A study to cells: each a unit of work, named by the content of all that determines it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from ..core import ABSENT, Labels, Suite, Task
from ..episodes import ALL, DRAWN, Draw, Sampler, Shots, draw
from ..errors import EpisodeError, StudyError, TaskloomError, UnknownNameError, UsageError, nearest
from ..ids import Json
from ..learners import BASELINES, Learner, can_do
from ..messages import Note
from ..models.load import Source
from ..models.trained import Trained
from ..scores.tasks import parts_of
from ..suites import store
from ..suites.linked import refuse_broken
from ..suites.verify import verify
from .cells import Cell, Naming
from .metrics import all_metrics, metric_faults
from .model_settings import settings_of, taught_notes
from .study import Study, StudyProtocol, chosen_tasks, named
from .study_learners import Get, check_models, check_settings, found_models, made_learners, model_ids
from .suites import check_options, suite_in
from .trained_tasks import meant
from .views import Settings, named_by, view_faults, view_name
from .yaml_reader import StudyFaults

SUITE = "suite"
MOST_CELLS = 1_000_000  # of a plan, which is in memory: each takes about a kilobyte
Skipped: TypeAlias = Mapping[Note, int]  # why cells or tasks are not run, and how many


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All cells of a study that can be named, which of them are to be run, and what is skipped."""

    study: Study
    suite: Suite
    folder: Path  # of the suite
    learners: Mapping[str, Learner]
    models: Mapping[str, Source | Trained]
    model_ids: Mapping[str, Json]  # what each is named by
    cells: tuple[Cell, ...]
    to_run: tuple[Cell, ...]  # those that were chosen, each once: equal learners share theirs
    skipped: Skipped
    dropped: tuple[Note, ...]  # classes that the sampler drops, task by task
    verified: str  # what of the suite's data was compared with its names, see `suites.verify`
    questions: Mapping[tuple[str, Shots], int] = field(
        default_factory=dict
    )  # by task and shots: items of its first episode
    settings: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)  # of learners and of their models
    taught: tuple[Note, ...] = ()  # what is known of leaks, model by model

    @property
    def baselines(self) -> tuple[str, ...]:
        """Name the learners that are baselines, whatever they are called in the study."""
        return tuple(name for name, chosen in self.study.learners.items() if chosen.learner in BASELINES)


def sampler(study: Study, task: str, shots: Shots) -> Sampler:
    """Say how a study draws the episodes of a task."""
    return study.protocol.of(task).drawing(shots)


def plan(
    study: Study,
    run: Path,
    *,
    only: Sequence[str] = (),
    limit: int = 0,
    get: Get | None = None,
    known: Mapping[str, Json] | None = None,
    verified: str = "",
) -> Plan:
    """Name every cell, and every fault, before any work; `only` chooses tasks and learners that match a pattern.

    `get` fetches the models that are needed. Models of learners that are not chosen are named as they are `known`.
    Data that an earlier plan has `verified` is not read again for that.
    """
    declared, study = study, study.with_baselines()
    faults = StudyFaults(study.places)
    learners, models = _made(study, faults)
    if study.build:
        faults.settle()  # before the work of building
    suite, folder = _suite(study, run, faults)
    tasks = _tasks(study, suite, learners, faults)
    learners = _applicable(declared, suite, tasks, learners)
    study = replace(study, learners={name: study.learners[name] for name in learners})
    some_tasks, some_learners = _only(tasks, learners, only)
    taught = any(isinstance(models[name], Trained) for of in some_learners.values() for name in of.models)
    verified = verify(suite, folder, suite.tasks if taught else some_tasks, verified)
    refuse_broken(suite, some_tasks)
    skipped: Counter[Note] = Counter()
    dropped: list[Note] = []
    questions: dict[tuple[str, Shots], int] = {}
    drawable = {task: _drawable(suite, study, task, skipped, dropped, questions) for task in tasks}
    parts = _parts(study, suite, learners, [task for task in tasks if drawable[task]])
    refuse_large(study.protocol, {task: len(part) for task, part in parts.items()})
    chosen = {
        task: {n: of for n, of in parts[task].items() if n in some_learners} for task in some_tasks if task in parts
    }
    check_models(study, suite, models, chosen, faults)
    check_settings(study, suite, chosen, faults)
    faults.settle()
    ids = model_ids(study, models, _users(parts, some_tasks, some_learners), get, skipped)
    naming = Naming(
        study=study, suite=suite, models=models, ids={**(known or {}), **ids}, drawable=drawable, limit=limit,
        skipped=skipped,
    )  # fmt: skip
    cells = tuple(naming.cells(parts))
    to_run = _chosen(cells, some_tasks, some_learners)
    if not to_run:
        raise StudyError("\n  skipped: ".join(["nothing to run", *sorted(map(str, skipped))]))
    return Plan(
        study=study, suite=suite, folder=folder, learners=learners, models=models, model_ids=ids, cells=cells,
        to_run=to_run, skipped=dict(skipped), dropped=tuple(dropped), verified=verified, questions=questions,
        settings=settings_of(learners, models, naming.training.known),
        taught=taught_notes(suite, models, naming.training.known),
    )  # fmt: skip


def refuse_large(protocol: StudyProtocol, learners: Mapping[str, int]) -> None:
    """Refuse a grid of more cells than can be planned, by the learners of each task."""
    sizes = {task: protocol.of(task) for task in learners}
    cells = sum(
        sum(of.shots.values()) * len(of.seeds) * max(1, len(of.training)) * learners[task] for task, of in sizes.items()
    )
    if cells > MOST_CELLS:
        raise StudyError(Note.of("grid-too-large", cells=cells, most=MOST_CELLS))


def asked(study: Study, run: Path) -> tuple[Suite, list[str]]:
    """Open or build the suite of a study, and name the tasks that it asks about; learners are not looked at.

    A run has its suite: what that was built from, such as an endpoint, is not asked again.
    """
    faults = StudyFaults(study.places)
    if study.build:
        check_options(study, faults)
        faults.settle()
    if study.build and study.of_run:
        suite, folder = store.open_suite(run / SUITE), run / SUITE
    else:
        suite, folder = _suite(study, run, faults)
    tasks = _tasks(study, suite, {}, faults)
    verify(suite, folder, tasks)
    return suite, tasks


def _made(study: Study, faults: StudyFaults) -> tuple[dict[str, Learner], dict[str, Source | Trained]]:
    """Make the learners of a study and find their models; note their faults, and those of views and of its suite."""
    learners = made_learners(study, faults)
    models = found_models(study, learners, faults)
    if len(learners) == len(study.learners):  # of those that are themselves at fault, nothing is said
        _check_views(study, settings_of(learners, models, {}), faults)
    if study.build:
        check_options(study, faults)
    return learners, models


def _check_views(study: Study, known: Settings, faults: StudyFaults) -> None:
    """Note which views can't be drawn, whatever the results."""
    for at, view in enumerate(study.views):
        for option, fault in view_faults(view, known):
            place = study.places.get(("view", f"{at} {option}")) or study.places.get(("view", str(at)), "")
            faults.add(place, f"view {view_name(view)!r}: {fault}")


def _tasks(study: Study, suite: Suite, learners: Mapping[str, Learner], faults: StudyFaults) -> list[str]:
    """Give the tasks that a study names, or list the faults of the study, its tasks and their metrics."""
    wanted = set[str]()
    for text in study.tasks:
        with faults.at(("tasks", text)):
            wanted |= {*chosen_tasks(list(suite.tasks), meant(suite, text))}
    tasks = [name for name in suite.tasks if name in wanted]
    _check_patterns(study, suite, learners, faults)
    _check_metrics(study, [suite.tasks[name] for name in tasks], faults)
    _check_names_of_views(study, [suite.tasks[name] for name in tasks], faults)
    faults.settle()
    return tasks


def _check_metrics(study: Study, tasks: Sequence[Task], faults: StudyFaults) -> None:
    """Note metrics that are none, or none of what they should score."""
    for task in () if study.metrics else tasks:
        for metric in task.metrics:
            with faults.of("task", task.id):
                list(parts_of(task, (metric,)))
    for fault in metric_faults(tasks, study.metrics) if tasks else ():
        faults.add(study.places.get(("metrics", ""), ""), str(fault))


def _check_names_of_views(study: Study, tasks: Sequence[Task], faults: StudyFaults) -> None:
    """Note metrics and tags of views that no task has."""
    metrics, tags = all_metrics(tasks, study.metrics), {tag for task in tasks for tag in task.tags}
    for at, view in enumerate(study.views if tasks else ()):
        name, place = view_name(view), study.places.get(("view", str(at)), "views")
        for metric in named_by(view, "metric"):
            if metric not in metrics:
                hint = nearest(metric, metrics)
                faults.add(place, str(Note.of("view-metric-missing", view=name, metric=metric, hint=hint)))
        for tag in named_by(view, "tag of tasks"):
            if tag not in tags:
                faults.add(place, str(Note.of("view-tag-missing", view=name, tag=tag, hint=nearest(tag, tags))))


def _check_patterns(study: Study, suite: Suite, learners: Mapping[str, Learner], faults: StudyFaults) -> None:
    """Note names and patterns of tasks, beside and in learners and in protocols, that no task of the suite has.

    A protocol may be of a task that the suite's benchmark has and that was not found: the suite's note says so.
    """
    used = [
        (f"learner {name!r}", f"tasks of learner {name}", text)
        for name, chosen in study.learners.items()
        for text in chosen.tasks
    ]
    absent: Any = suite.about.get(ABSENT, ())
    used += [("protocol", "protocol", text) for text in study.protocol.tasks if not named(absent, text)]
    used += [(f"learner {name!r}", f"learner {name}", text) for name, of in learners.items() for text in of.patterns]
    for of, kind, text in used:
        if not named(suite.tasks, text):
            place = study.places.get((kind, text), "")
            faults.add(place, f"{of}: {UnknownNameError('task', text, suite.tasks)}")


def _suite(study: Study, run: Path, faults: StudyFaults) -> tuple[Suite, Path]:
    """Open the study's suite, or build it into the run's folder unless it is there, built from the same."""
    if not study.suite:
        return suite_in(run / SUITE, study), run / SUITE
    folder = study.folder / study.suite
    try:
        return store.open_suite(folder), folder
    except TaskloomError as error:
        if faults.found:
            faults.add(study.places.get(("suite", ""), ""), str(error))
            faults.settle()
        raise


def _users(
    parts: Mapping[str, Mapping[str, Learner]], tasks: Sequence[str], learners: Mapping[str, Learner]
) -> dict[str, Learner]:
    """Give the learners that take part in some task."""
    return {name: of for name, of in learners.items() if any(name in parts.get(task, ()) for task in tasks)}


def _only(
    tasks: Sequence[str], learners: Mapping[str, Learner], only: Sequence[str]
) -> tuple[Sequence[str], Mapping[str, Learner]]:
    """Keep the tasks and learners that names or patterns stand for; all tasks where none is named, all learners too."""
    names = dict.fromkeys([*tasks, *learners])
    found = {text: named(names, text) for text in only}
    if unknown := [f"{text!r} ({nearest(text, names)})" for text, some in found.items() if not some]:
        raise UsageError(Note.of("only-unmatched", names="; ".join(unknown)))
    kept = {name for some in found.values() for name in some}
    some_learners = {name: of for name, of in learners.items() if name in kept}
    return [task for task in tasks if task in kept] or tasks, some_learners or learners


def _chosen(cells: Sequence[Cell], tasks: Sequence[str], learners: Mapping[str, Learner]) -> tuple[Cell, ...]:
    """Keep the cells of some tasks and learners, with those that train their models; each once."""
    wanted = {*tasks}
    adapting = [c for c in cells if c.kind == "adapt" and c.task in wanted and c.learner in learners]
    used = {id_ for cell in adapting for _, id_ in cell.uses}
    found: dict[str, Cell] = {}
    for cell in cells:
        if cell.id in used or (cell.kind == "adapt" and cell.task in wanted and cell.learner in learners):
            found.setdefault(cell.id, cell)
    return tuple(found.values())


def _applicable(
    study: Study, suite: Suite, tasks: Sequence[str], learners: Mapping[str, Learner]
) -> dict[str, Learner]:
    """Drop baselines that were neither named nor can answer any of the tasks."""

    def is_kept(name: str, of: Learner) -> bool:
        return name in study.learners or study.baselines is not True or any(can_do(of, suite.tasks[t]) for t in tasks)

    return {name: of for name, of in learners.items() if is_kept(name, of)}


def _drawable(
    suite: Suite,
    study: Study,
    task: str,
    skipped: Counter[Note],
    dropped: list[Note],
    questions: dict[tuple[str, Shots], int],
) -> frozenset[Shots]:
    """Draw an episode of each kind of setting for a trial, to know what can't be drawn, is dropped and is asked."""
    found: set[Shots] = set()
    for together, how in _trials(study.protocol.of(task)):
        try:
            drawn = draw(suite, task, how, seed=study.protocol.of(task).seeds[0])
            found |= {*together}
            questions |= {(task, shots): len(drawn.rows["query"]) for shots in together}
            dropped += _dropped(suite.tasks[task], drawn, together)
        except EpisodeError as error:
            skipped[error.note] += 1
    return frozenset(found)


def _dropped(task: Task, drawn: Draw, shots: Sequence[Shots]) -> Iterator[Note]:
    """Name the classes that take no part in the episodes of a task, or with few shots, with their examples."""
    if drawn.short and isinstance(task.output, Labels):
        of, count = len(task.output.names), len(drawn.short)
        yield Note.of(
            "classes-dropped", task=task.id, shots=list(shots), least=drawn.least, count=count, of=of,
            remain=of - count, classes=list(drawn.short.items()),
        )  # fmt: skip
    if drawn.few and isinstance(task.output, Labels):
        of, count = len(task.output.names), len(drawn.few)
        few = list(drawn.few.items())
        yield Note.of("labels-few", task=task.id, shots=list(shots), least=drawn.least, count=count, of=of, classes=few)


def _trials(protocol: StudyProtocol) -> Iterator[tuple[list[Shots], Sampler]]:
    """Give the settings that can be drawn or can't be together, and how that is tried."""
    if numbers := [shots for shots in protocol.shots if isinstance(shots, int)]:
        yield [*numbers], protocol.drawing(max(numbers))
    if DRAWN in protocol.shots:
        how = protocol.drawing(DRAWN)
        yield [DRAWN], replace(how, among=(how.needed,), base=0)
    if ALL in protocol.shots:
        yield [ALL], protocol.drawing(ALL)


def _parts(
    study: Study, suite: Suite, learners: Mapping[str, Learner], tasks: Sequence[str]
) -> dict[str, dict[str, Learner]]:
    """Give the learners that take part in each task."""
    where = {name: {t for text in study.learners[name].tasks for t in named(suite.tasks, text)} for name in learners}
    return {task: {name: of for name, of in learners.items() if task in where[name]} for task in tasks}
