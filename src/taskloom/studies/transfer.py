"""A map of what transfers to what, as a study: one model is trained on each meta task, and adapted to each target.

The budget is a number of training steps, which is the same on every machine. What does not fit is dropped in a fixed
order, and counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from ..core import FoldRole, Suite
from ..episodes import Sampler, Shots, draw
from ..errors import EpisodeError, StudyError, UnknownNameError, UsageError
from ..ids import fingerprint
from ..learners import can_do
from ..learners.tune import Tune
from ..messages import Note
from ..models.recipe import What
from ..options import check_choices, check_integers
from ..scores.mean import MEAN
from .metrics import metric_faults
from .study import Study, StudyLearner, StudyProtocol, chosen_tasks
from .trained_tasks import meant
from .views import View, view_kind

FEW, BASE = "few", "base"  # the learner that starts from no meta task, and the model that all start from
NEW, NEW_RATE = "new:t5-nano", 1e-3  # where no model is named; it learns little at the usual rate of large ones
SHORT = {"objective": "infilling", "length": 64, "batch": 32}  # it learns sooner to copy from what it reads
TEXTS = 1000  # inputs of each task that it is pre-trained on
QUERY = 32  # items of an episode, where there are enough
SETTINGS = {"budget": 1, "seeds": 1, "most": 1, "training": 1, "tuning": 1, "pretraining": 0, "choose": 0, "query": 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferOptions:
    """What a map of transfer is made of, and what it may cost."""

    targets: tuple[str, ...] = ()  # names or patterns; none: tasks with the role test, or all
    meta: tuple[str, ...] = ()  # names or patterns; none: tasks with the role train, or all
    by: str = ""  # a tag: the tasks that share a value of it are one group of meta tasks
    model: str = ""  # to start from; none: a nano model that the study pre-trains on the inputs of its tasks
    what: What = "all"  # is trained
    lr: float | None = None
    shots: Shots = 4
    seeds: int = 3
    query: int = 0  # items of an episode; 0: as many as leave records to train on, at most 32
    most: int = 100  # examples of each meta task
    pretraining: int = 1500  # steps, where no model is named
    training: int = 150  # steps on the meta tasks
    tuning: int = 30  # steps on the shots of a target
    budget: int = 10_000  # steps in all
    choose: int = 2  # meta tasks for each target
    measure: bool = False  # whether models are trained on what is chosen for each target, and on as many at random

    def __post_init__(self) -> None:
        check_choices(self, what=[name for name in get_args(What) if name != "none"])
        check_integers(self, SETTINGS)
        if self.measure and not self.choose:
            raise UsageError(Note.of("transfer-measure-nothing"))

    def steps(self, meta: int, targets: int, pairs: int, seeds: int) -> dict[str, int]:
        """Count the steps of training that a map takes, by what is trained."""
        found = {"pre-training": 0 if self.model else self.pretraining, "meta tasks": meta * self.training}
        found["targets"] = (targets + pairs) * self._tuning
        if self.measure:
            found["chosen sets"] = 2 * targets * (self.training + self._tuning)
        return {name: seeds * count for name, count in found.items() if count}

    @property
    def _tuning(self) -> int:
        return self.tuning if self.shots != 0 else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferMap:
    """Meta tasks, by their own names or by that of their group, targets and seeds that fit a budget."""

    meta: Mapping[str, tuple[str, ...]]
    targets: tuple[str, ...]
    seeds: int
    steps: int  # of all that is trained
    among: tuple[int, int] = (0, 0)  # meta tasks or groups, and targets, that could have been measured
    notes: tuple[Note, ...] = ()

    def asked(self, name: str) -> tuple[str, ...]:
        """Name the targets that a group of meta tasks is measured on: a target is never its own meta task."""
        return tuple(target for target in self.targets if target not in self.meta[name])

    @property
    def pairs(self) -> int:
        """Count the pairs of a meta task and a target."""
        return sum(len(self.asked(name)) for name in self.meta)


# --- what is measured ------------------------------------------------------------------------------------------------


def transfer_map(suite: Suite, how: TransferOptions) -> TransferMap:
    """Choose meta tasks, targets and seeds that fit the budget, or say what would."""
    targets, unasked = _able(suite, how, _named(suite, how.targets, "test"), asked=True)
    if how.by and not how.targets and not suite.folds:
        raise UsageError(Note.of("transfer-by-targets", tag=how.by))
    chosen, untaught = _able(suite, how, _named(suite, how.meta, "train"), asked=False)
    meta = _groups(suite, how.by, chosen, targets) if how.by else {name: (name,) for name in chosen}
    order = sorted(meta, key=_drawn) if how.by else list(meta)
    names, kept, seeds = _fitted(how, order, targets)
    place = {name: at for at, name in enumerate([*meta] if how.by else suite.tasks)}
    made = TransferMap(
        meta={name: meta[name] for name in sorted(names, key=lambda name: place[name])},
        targets=tuple(name for name in suite.tasks if name in {*kept}),
        seeds=seeds,
        steps=0,
        among=(len(meta), len(targets)),
    )
    made = replace(made, steps=sum(how.steps(len(made.meta), len(made.targets), made.pairs, seeds).values()))
    whole = sum(how.steps(len(meta), len(targets), _pairs(how, list(meta), targets), how.seeds).values())
    return replace(made, notes=(*unasked, *untaught, *_notes(how, made, whole)))


def _named(suite: Suite, wanted: Sequence[str], role: FoldRole) -> list[str]:
    """Give the tasks that names, patterns or roles stand for, in the order in which they are kept.

    Without names they are those of a role, or all. Tasks of few fields come first, others in an order that their names
    draw: what fits a budget is a fair sample.
    """
    default = [f"@{role}"] if suite.folds and suite.tasks_with(role) else ["*"]
    found = chosen_tasks(list(suite.tasks), [name for text in wanted or default for name in meant(suite, text)])
    return sorted(found, key=lambda name: (_field_count(suite, name), _drawn(name)))


def _drawn(name: str) -> str:
    """Draw a place in an order by a name."""
    return fingerprint("transfer", name)


def _field_count(suite: Suite, task: str) -> int:
    """Count the fields that a field task reads and writes; other tasks have none."""
    tags = suite.tasks[task].tags
    return len(tags.get("inputs", ())) + len(tags.get("outputs", ()))


def _able(suite: Suite, how: TransferOptions, names: Sequence[str], *, asked: bool) -> tuple[list[str], list[Note]]:
    """Keep the tasks that can be trained on, or asked about, and note the others."""
    kept, odd = list[str](), dict[str, list[str]]()
    for name in names:
        if not can_do(Tune(), suite.tasks[name]):
            odd.setdefault("transfer-unsupported", []).append(name)
        elif not asked and not len(suite.taught_pool(name) or ()):
            odd.setdefault("transfer-untaught", []).append(name)
        elif asked and not _drawable(suite, how, name):
            odd.setdefault("transfer-undrawable", []).append(name)
        else:
            kept.append(name)
    notes = [Note.of(code, tasks=some) for code, some in odd.items()]
    if not kept:
        raise StudyError(Note.of("transfer-nothing", what="target" if asked else "meta task"), list(map(str, notes)))
    return kept, notes


def _drawable(suite: Suite, how: TransferOptions, task: str) -> bool:
    try:
        draw(suite, task, Sampler(shots=how.shots, query=how.query or 1))
    except EpisodeError:
        return False
    return True


def _groups(suite: Suite, tag: str, tasks: Iterable[str], targets: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Group tasks by the values of a tag; targets are in no group."""
    known = dict.fromkeys(name for task in suite.tasks.values() for name in task.tags)
    if tag not in known:
        raise UnknownNameError("tag", tag, known)
    taught = {*tasks} - {*targets}
    found: dict[str, list[str]] = {}
    for name in (name for name in suite.tasks if name in taught):
        for value in suite.tasks[name].tags.get(tag, ()):
            found.setdefault(value, []).append(name)
    if not found:
        raise StudyError(Note.of("transfer-nothing", what="meta task"))
    return {value: tuple(names) for value, names in found.items()}


def _fitted(how: TransferOptions, meta: list[str], targets: list[str]) -> tuple[list[str], list[str], int]:
    """Drop the last of the longer list until it fits, then seeds; what is to be chosen from stays."""
    if not _pairs(how, meta, targets):
        raise StudyError(Note.of("transfer-same", task=meta[0]))
    targets = sorted(targets, key=lambda name: meta == [name])  # the first pair is of two tasks
    meta = sorted(meta, key=lambda name: name == targets[0])
    least = (how.choose + 2, 2) if how.measure and how.choose else (1, 1)
    fewest = (min(least[0], len(meta)), min(least[1], len(targets)))
    m, t, seeds = len(meta), len(targets), how.seeds
    while sum((parts := how.steps(m, t, _pairs(how, meta[:m], targets[:t]), seeds)).values()) > how.budget:
        if (m, t) == fewest and seeds == 1:
            written = ", ".join(f"{count:,} for {name}" for name, count in parts.items())
            needed = sum(parts.values())
            raise UsageError(
                Note.of("transfer-budget", budget=how.budget, meta=m, targets=t, needed=needed, parts=written)
            )
        if (m, t) == fewest:
            seeds -= 1
        elif m > fewest[0] and (m >= t or t == fewest[1]):
            m -= 1
        else:
            t -= 1
    return meta[:m], targets[:t], seeds


def _pairs(how: TransferOptions, meta: Sequence[str], targets: Sequence[str]) -> int:
    return len(meta) * len(targets) - (0 if how.by else len({*meta} & {*targets}))


def _notes(how: TransferOptions, made: TransferMap, whole: int) -> Iterator[Note]:
    """Say what is measured, and what was dropped to fit the budget."""
    sizes = {"meta": len(made.meta), "targets": len(made.targets), "seeds": made.seeds}
    yield Note.of("transfer-size", **sizes, pairs=made.pairs, steps=made.steps, budget=how.budget)
    of = {"meta": made.among[0], "targets": made.among[1], "seeds": how.seeds}
    if of != sizes:
        yield Note.of("transfer-dropped", **{f"dropped_{name}": of[name] - sizes[name] for name in of}, needed=whole)


# --- the study -------------------------------------------------------------------------------------------------------


def transfer_study(suite: Suite, folder: Path | str, how: TransferOptions) -> tuple[Study, TransferMap]:
    """Make the study that measures a map of transfer, of a suite in a folder."""
    made = transfer_map(suite, how)
    base = how.model or BASE
    taught = {name: _trained(how, base, tasks) for name, tasks in made.meta.items()}
    learners = {FEW: StudyLearner(learner="tune", options=_tuned(how, base))}
    for name in made.meta:
        asked = made.asked(name)
        where = ("*",) if asked == made.targets else asked
        learners[_plus(name)] = StudyLearner(learner="tune", options=_tuned(how, _plus(name)), tasks=where)
    new = {} if how.model else {BASE: _pretrained(how, {*made.targets, *(t for of in made.meta.values() for t in of)})}
    view: Any = view_kind("transfer")
    study = Study(
        name=re.sub(r"[^\w. -]+", "-", f"transfer-{Path(folder).absolute().name}"),
        suite=str(folder),
        tasks=made.targets,
        protocol=StudyProtocol(
            shots={how.shots: 1}, seeds=tuple(range(made.seeds)), sampler=Sampler(query=_query(suite, how, made))
        ),
        learners=learners,
        models=new | {_plus(name): options for name, options in taught.items()},
        views=(view(few=FEW, meta={_plus(n): t for n, t in made.meta.items()}, choose=how.choose, among=made.among),),
        metrics=_metrics(suite, made.targets),
    )
    return study, made


def _plus(name: str) -> str:
    """Name the learner that starts from meta tasks, and its model."""
    return f"+{name}"


def _trained(how: TransferOptions, base: str, tasks: Sequence[str]) -> dict[str, Any]:
    return {
        "train": base, "tasks": list(tasks), "apart": "study", "most": how.most, "steps": how.training, **_recipe(how)
    }  # fmt: skip


def _tuned(how: TransferOptions, model: str) -> dict[str, Any]:
    return {"model": model, "steps": how.tuning, **_recipe(how)}


def _recipe(how: TransferOptions) -> dict[str, Any]:
    rate = how.lr if how.lr is not None or how.model or how.what != "all" else NEW_RATE
    return ({"what": how.what} if how.what != "all" else {}) | ({"lr": rate} if rate is not None else {})


def _pretrained(how: TransferOptions, tasks: set[str]) -> dict[str, Any]:
    return {
        "train": NEW, "goal": "texts", "tasks": sorted(tasks), "apart": "study", "most": TEXTS,
        "steps": how.pretraining, **SHORT,
    }  # fmt: skip


def _query(suite: Suite, how: TransferOptions, made: TransferMap) -> int:
    """Say how many items each target is asked about: of a single pool, half of the records are left to train on."""
    if how.query:
        return how.query
    shares = {name: 1 if len(suite.pools[name]) > 1 else 2 * len(made.targets) for name in made.targets}
    query = max(1, min(QUERY, *(len(suite.asked_pool(name)) // share for name, share in shares.items())))
    while query > 1 and not all(_drawable(suite, replace(how, query=query), name) for name in made.targets):
        query = query * 3 // 4  # the shots of many classes leave fewer
    return query


def _metrics(suite: Suite, targets: Sequence[str]) -> tuple[str, ...]:
    """Score by the mean of a task's metrics where all targets have one, else by each task's own."""
    return () if any(metric_faults([suite.tasks[name] for name in targets], [MEAN])) else (MEAN,)


# --- sets of meta tasks ----------------------------------------------------------------------------------------------


def with_sets(study: Study, sets: Mapping[str, Sequence[tuple[str, ...]]]) -> Study:
    """Add a learner for each set of others, by target, whose model is trained on the meta tasks of all of them.

    It is trained for as many steps as each of them: what is chosen differs, and not what it costs.
    """
    targets: dict[tuple[str, ...], list[str]] = {}
    for target, chosen in sets.items():
        for members in dict.fromkeys(chosen):
            targets.setdefault(members, []).append(target)
    learners, models, named = dict(study.learners), dict(study.models), dict[str, tuple[str, ...]]()
    for members, asked in targets.items():
        name = " & ".join([members[0], *(member.removeprefix("+") for member in members[1:])])
        named[name] = members
        if name in study.learners:  # one alone
            continue
        first = study.models[members[0]]
        tasks = dict.fromkeys(task for member in members for task in study.models[member]["tasks"])
        models[name] = {**first, "tasks": list(tasks)}
        options = {**study.learners[members[0]].options, "model": name}
        learners[name] = StudyLearner(learner="tune", options=options, tasks=tuple(asked))
    views = tuple(_with_sets(view, named) for view in study.views)
    return replace(study, learners=learners, models=models, views=views)


def _with_sets(view: View, named: Mapping[str, tuple[str, ...]]) -> View:
    kind: Any = view_kind("transfer")
    return replace(view, sets=named) if isinstance(view, kind) else view
