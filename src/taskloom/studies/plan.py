"""A study to cells: each a unit of work, named by the content of all that determines it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from ..core import Suite
from ..episodes import Sampler, draw, draw_id
from ..errors import EpisodeError, StudyError, TaskloomError, nearest
from ..ids import fingerprint
from ..learners import FLOORS, Learner, can_do, identity, learner
from ..suites import store
from .study import Study, chosen_tasks

VERSION = 1  # of the way a cell is run: raise it when the same cell gives other answers
SUITE = "suite"


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


def plan(study: Study, run: Path, *, only: Sequence[str] = (), limit: int = 0, build: bool = True) -> Plan:
    """Name every cell, and every fault, before any work; `only` keeps tasks and learners that match a pattern.

    Without `build`, the suite that the run has built is taken as it is.
    """
    suite, folder = _suite(study, run) if build or study.suite else (store.open_suite(run / SUITE), run / SUITE)
    learners = learners_of(study)
    tasks = chosen_tasks(list(suite.tasks), study.tasks)
    known = [*tasks, *learners]
    if unknown := [pattern for pattern in only if not any(fnmatchcase(name, pattern) for name in known)]:
        told = "; ".join(f"{pattern!r}, {nearest(pattern, known)}" for pattern in unknown)
        raise StudyError(f"--only names no task and no learner of the study: {told}")
    kept_tasks, kept_learners = _only(tasks, only), _only(list(learners), only)
    left_out: Counter[str] = Counter()
    able = [task for task in kept_tasks if _can_draw(suite, study, task, left_out)]
    chosen = {name: learners[name] for name in kept_learners}
    cells = tuple(_cells(study, suite, able, chosen, limit, left_out))
    if not cells:
        raise StudyError("\n  left out: ".join(["nothing to run", *sorted(left_out)]))
    return Plan(study=study, suite=suite, folder=folder, learners=learners, cells=cells, left_out=dict(left_out))


def _suite(study: Study, run: Path) -> tuple[Suite, Path]:
    """Open the study's suite, or build it into the run's folder unless it is there already."""
    if study.suite:
        folder = study.folder / study.suite
        return store.open_suite(folder), folder
    from ..benchmarks import builder
    from ..suites.build import Reading

    named = study.source if ":" in study.source or not study.source else str(study.folder / study.source)
    built = builder(study.build)(named, (), Reading(), "")
    folder = run / SUITE
    try:
        there = store.open_suite(folder)
        if there.fingerprint == built.fingerprint:
            return there, folder
    except TaskloomError:
        pass  # there is none, or it is damaged: it is written anew
    return store.write(built, folder, replace=True), folder


def learners_of(study: Study) -> dict[str, Learner]:
    """Make the learners of a study, or name all that is wrong with them."""
    made, faults = {}, []
    for name, chosen in study.learners.items():
        try:
            made[name] = learner(chosen.learner, chosen.options, study.folder)
        except TaskloomError as error:
            faults.append(f"learner {name!r}: {error}")
    if faults:
        raise StudyError("\n  ".join(["the study's learners can't be used:", *faults]))
    return made


def _only(names: Sequence[str], only: Sequence[str]) -> list[str]:
    """Keep the names that a pattern matches; patterns that match none of these names speak of others."""
    kept = [name for name in names if any(fnmatchcase(name, pattern) for pattern in only)]
    return kept or list(names)


def _can_draw(suite: Suite, study: Study, task: str, left_out: Counter[str]) -> bool:
    """Draw one episode for a trial, so that a task with too few examples is known before any work."""
    try:
        draw(suite, task, sampler(study, max(study.protocol.shots)))
    except EpisodeError as error:
        left_out[str(error)] += 1
        return False
    return True


def _cells(
    study: Study,
    suite: Suite,
    tasks: Sequence[str],
    learners: Mapping[str, Learner],
    limit: int,
    left_out: Counter[str],
) -> Iterator[Cell]:
    identities = {name: identity(of) for name, of in learners.items()}
    for task in tasks:
        digest = suite.digest(task)
        able = {name: of for name, of in learners.items() if can_do(of, suite.tasks[task])}
        for name in (name for name in learners if name not in able):
            left_out[f"learner {name} can't answer {suite.tasks[task].output.kind}"] += 1
        for shots in study.protocol.shots:
            fit = [name for name, of in able.items() if can_do(of, suite.tasks[task], shots)]
            for name in (name for name in able if name not in fit):
                left_out[f"learner {name} needs examples for {suite.tasks[task].output.kind}, 0 shots have none"] += 1
            draws = sampler(study, shots)
            for seed in study.protocol.seeds:
                for index in range(study.protocol.episodes):
                    drawn = draw_id(suite, task, draws, seed=seed, index=index)
                    for name in fit:
                        key = ("cell", VERSION, digest, drawn, identities[name], seed, *((limit,) if limit else ()))
                        yield Cell(
                            id=fingerprint(*key),
                            task=task,
                            learner=name,
                            shots=shots,
                            seed=seed,
                            index=index,
                            limit=limit,
                        )
