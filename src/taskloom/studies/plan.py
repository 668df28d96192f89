"""A study to cells: each a unit of work, named by the content of all that determines it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from ..core import ABSENT, Labels, Suite, Task
from ..episodes import ALL, DRAWN, Draw, Sampler, Shots, draw
from ..errors import EpisodeError, StudyError, TaskloomError, UnknownNameError, nearest
from ..ids import Json
from ..learners import BASELINES, Learner, can_do, learner
from ..messages import Note
from ..models import LANGUAGE, Ability
from ..models.load import Source, source
from ..models.scratch import Scratch, pretraining
from ..models.trained import Trained, trained
from ..scores.tasks import parts_of
from ..suites import store
from ..suites.linked import refuse_broken
from ..suites.verify import verify
from .cells import Cell, Naming, bases
from .metrics import all_metrics, metric_faults
from .model_settings import settings_of, taught_notes
from .resources import RESOURCES
from .study import Study, StudyProtocol, chosen_tasks, named
from .suites import check_options, suite_in
from .trained_tasks import faults_of, meant, untrainable
from .vector_checks import form_faults, vector_base_faults
from .views import Settings, named_by, view_faults, view_name
from .yaml_reader import StudyFaults

SUITE = "suite"
MOST_CELLS = 1_000_000  # of a plan, which is in memory: each takes about a kilobyte
Get: TypeAlias = "Callable[[str, Source], object]"  # fetches a model by its name in the study
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
    _check_models(study, suite, models, chosen, faults)
    _check_settings(study, suite, chosen, faults)
    faults.settle()
    ids = _model_ids(study, models, _users(parts, some_tasks, some_learners), get, skipped)
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
    """Open or build the suite of a study, and name the tasks that it asks about; learners are not looked at."""
    faults = StudyFaults(study.places)
    if study.build:
        check_options(study, faults)
        faults.settle()
    suite, folder = _suite(study, run, faults)
    tasks = _tasks(study, suite, {}, faults)
    verify(suite, folder, tasks)
    return suite, tasks


def _made(study: Study, faults: StudyFaults) -> tuple[dict[str, Learner], dict[str, Source | Trained]]:
    """Make the learners of a study and find their models; note their faults, and those of views and of its suite."""
    learners = _learners(study, faults)
    models = _models(study, learners, faults)
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


# --- learners and models ---------------------------------------------------------------------------------------------


def learners_of(study: Study) -> dict[str, Learner]:
    """Make the learners of a study, or name all that is wrong with them."""
    faults = StudyFaults(study.places)
    made = _learners(study, faults)
    faults.settle()
    return made


def models_of(study: Study, learners: Mapping[str, Learner]) -> dict[str, Source | Trained]:
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


def _models(study: Study, learners: Mapping[str, Learner], faults: StudyFaults) -> dict[str, Source | Trained]:
    """Find the models of learners, and the bases of those that are trained, which must not come back to themselves."""
    users = {model: name for name, of in learners.items() for model in of.models}
    made: dict[str, Source | Trained] = {}
    for first, user in sorted(users.items()):
        chain, model = list[str](), first
        while model and model not in made:
            named_by = ("model", chain[-1]) if chain else ("learner", user)
            with faults.of(*(("model", model) if model in study.models else named_by)):
                made[model] = _model(study, model)
            chain.append(model)
            found = made.get(model)
            model = found.train if isinstance(found, Trained) else ""
        if model in chain:
            circle = " -> ".join([*chain[chain.index(model) :], model])
            faults.add(study.places.get(("model", model), ""), f"a model is trained from itself: {circle}")
    for name in study.models:
        if name not in made:
            with faults.of("model", name):
                _model(study, name)  # that no learner uses, and may yet be misspelt
    return made


def _model(study: Study, name: str) -> Source | Trained:
    options = {option: value for option, value in study.models.get(name, {}).items() if option != RESOURCES}
    if "train" in options:
        return trained(options)
    return source(name, options, study.folder, others=study.models)


def _check_models(
    study: Study,
    suite: Suite,
    models: Mapping[str, Source | Trained],
    parts: Mapping[str, Mapping[str, Learner]],
    faults: StudyFaults,
) -> None:
    """Note learners whose models can't do what they are needed for, and training that can't be done."""
    for name, of in models.items():
        if isinstance(of, Trained):
            place = study.places.get(("model", name), "")
            of_tasks = (*faults_of(of, suite), *untrainable(of, suite, study, [*parts]))
            for fault in (*of_tasks, *_base_faults(models, name, of)):
                faults.add(place, f"model {name!r}: {fault}")
    if not faults.found:
        _add_shared(study, form_faults(suite, models, parts), faults)
    for task, part in parts.items():
        for name, learner_ in part.items():
            needs = learner_.needs(suite.tasks[task]) if can_do(learner_, suite.tasks[task]) else {}
            for model, needed in needs.items():
                if lacking := needed - _can(models, model):
                    faults.add(study.places.get(("learner", name), ""), f"learner {name!r}: {_unable(model, lacking)}")


def _unable(model: str, lacking: frozenset[Ability]) -> Note:
    """Say what a model can't do, and what to do about it."""
    if lacking == {"chat-score"}:
        return Note.of("chat-score-unable", model=model)
    if "vectors" in lacking:
        return Note.of("vectors-unable", model=model)
    return Note.of("model-unable", model=model, lacking=sorted(lacking))


def _check_settings(
    study: Study, suite: Suite, parts: Mapping[str, Mapping[str, Learner]], faults: StudyFaults
) -> None:
    """Note settings of learners that do not fit their tasks."""
    found = []
    for task, part in parts.items():
        fields = cache(lambda task=task: input_names(suite, task))
        found += [(name, task, fault) for name, of in part.items() for fault in of.faults(suite.tasks[task], fields)]
    _add_shared(study, found, faults)


def _add_shared(study: Study, found: Iterable[tuple[str, str, Note]], faults: StudyFaults) -> None:
    """Note faults of learners at tasks; one that tasks share is named once."""
    shared: dict[tuple[str, Note], list[str]] = {}
    for name, task, fault in found:
        shared.setdefault((name, fault), []).append(task)
    for (name, fault), tasks in shared.items():
        others = f" and {len(tasks) - 1:,} more" if len(tasks) > 1 else ""
        faults.add(study.places.get(("learner", name), ""), f"learner {name!r}, task {tasks[0]!r}{others}: {fault}")


def input_names(suite: Suite, task: str) -> tuple[str, ...]:
    """Name the fields of a task's items, as its first one has them."""
    pool = suite.asked_pool(task)
    return tuple(pool.take([0])[0].item.fields) if len(pool) else ()


def _base_faults(models: Mapping[str, Source | Trained], name: str, of: Trained) -> Iterator[str]:
    """Say why a model can't be trained from its base."""
    base = models[of.train]
    if of.goal == "vectors":
        yield from vector_base_faults(models, name, of)
    elif not ({"train"} if isinstance(base, Scratch) else {"train", "score"}) <= _can(models, name):  # one that writes
        yield f"its base can't be trained: {bases(models, name)[0]!r}"
    elif isinstance(base, Scratch) != (of.goal == "texts"):
        yield str(Note.of("new-needs-texts" if isinstance(base, Scratch) else "goal-needs-new", base=of.train))
    elif isinstance(base, Scratch):
        try:
            pretraining(base.load, of)
        except TaskloomError as error:
            yield str(error)


def _can(models: Mapping[str, Source | Trained], name: str) -> frozenset[Any]:
    """Say what a model can do: what its base can, and what pre-training has made of it."""
    chain = [models[model] for model in bases(models, name)]
    if isinstance(last := chain[-1], Trained) and last.goal == "vectors":
        return frozenset({"vectors"})
    pretrained = any(isinstance(of, Trained) and of.goal == "texts" for of in chain)
    made = LANGUAGE | {"vectors"} if pretrained else frozenset()
    return frozenset() if isinstance(chain[0], Trained) else chain[0].can | made


def _users(
    parts: Mapping[str, Mapping[str, Learner]], tasks: Sequence[str], learners: Mapping[str, Learner]
) -> dict[str, Learner]:
    """Give the learners that take part in some task."""
    return {name: of for name, of in learners.items() if any(name in parts.get(task, ()) for task in tasks)}


def _model_ids(
    study: Study,
    models: Mapping[str, Source | Trained],
    learners: Mapping[str, Learner],
    get: Get | None,
    skipped: Counter[Note],
) -> dict[str, Json]:
    """Name models by their content; one that is unavailable is skipped where all its learners are optional."""
    found: dict[str, Json] = {}
    for name, of in models.items():
        users = [user for user, made in learners.items() if any(name in bases(models, m) for m in made.models)]
        if isinstance(of, Trained) or not users:
            continue
        try:
            if get:
                get(name, of)
            found[name] = of.identity()
        except TaskloomError as error:
            if not all(study.learners[user].optional for user in users):
                raise
            skipped[Note.of("model-unavailable", model=name, learners=", ".join(users), reason=error.note)] += 1
    return found


def _only(
    tasks: Sequence[str], learners: Mapping[str, Learner], only: Sequence[str]
) -> tuple[Sequence[str], Mapping[str, Learner]]:
    """Keep the tasks and learners that names or patterns stand for; all tasks where none is named, all learners too."""
    names = dict.fromkeys([*tasks, *learners])
    found = {text: named(names, text) for text in only}
    if unknown := [f"{text!r} ({nearest(text, names)})" for text, some in found.items() if not some]:
        raise StudyError(f"--only matches no task and no learner of the study: {'; '.join(unknown)}")
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
