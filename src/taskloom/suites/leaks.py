"""Training tasks that would give test tasks away: of the same source, or with texts in common; left out, and told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ..core import Pool, Suite
from ..ids import Json
from ..texts import (
    SHINGLE_CHARACTERS,
    SHINGLE_WORDS,
    SHORTEST_CHARACTERS,
    SHORTEST_WORDS,
    comparable,
    counted,
    equals,
    overlaps,
)
from .instructions import LEAKING, taught

COMPARED = 100  # examples of each task whose texts are compared
SHOWN = 80  # characters of a text that is told
LEAKAGE = "leakage"  # in a suite's `about`: the certificate
HOW = (
    f"by source, and by the texts of their first {COMPARED} examples (half of one in another, by runs of "
    f"{SHINGLE_WORDS} words or {SHINGLE_CHARACTERS} characters; texts of less than half a run, from {SHORTEST_WORDS} "
    f"words or {SHORTEST_CHARACTERS} characters on, for being equal)"
)

Roles: TypeAlias = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Leak:
    """A training task, the test task that it shares something with, and what."""

    fold: str
    task: str
    other: str
    why: str

    def __str__(self) -> str:
        return f"{self.fold}: {self.task} is not trained on, for {self.why} {self.other}"


@dataclass(frozen=True, slots=True)
class Side:
    """The training tasks of a fold, or its test tasks, with the texts to compare and the task that each is of."""

    kind: str
    tasks: Sequence[str]
    texts: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def uncompared(self) -> tuple[int, int]:
        """Count the texts that are too short to compare, and the tasks without any other."""
        able = [name for name, text in zip(self.names, self.texts, strict=True) if comparable(text)]
        return len(self.texts) - len(able), len({*self.tasks} - {*able})


def without_leaks(suite: Suite) -> Suite:
    """Give training tasks that would give a test task away a role of their own, and keep a certificate of that."""
    folds: dict[str, Roles] = {}
    told: list[Json] = []
    for fold, roles in suite.folds.items():
        training, test = (*roles.get("meta", ()), *roles.get(LEAKING, ())), roles.get("target", ())
        folds[fold] = roles
        if training and test:
            ours, theirs = sides(suite, training, test)
            leaks = find(suite, fold, ours, theirs)
            folds[fold] = _apart(roles, training, {leak.task for leak in leaks})
            told += [*_certified(fold, ours, theirs, len(leaks)), *map(str, leaks)]
        else:
            told.append(f"{fold}: no {'test' if training else 'training'} tasks at hand, nothing to compare")
    return replace(suite, folds=folds, about={**suite.about, LEAKAGE: told}) if told else suite


def _apart(roles: Roles, training: Sequence[str], bad: set[str]) -> Roles:
    """Part training tasks from those that leak; the role of these is there only where there are any."""
    found = {
        **roles,
        "meta": tuple(n for n in training if n not in bad),
        LEAKING: tuple(n for n in training if n in bad),
    }
    return {role: names for role, names in found.items() if names or role != LEAKING}


def _certified(fold: str, ours: Side, theirs: Side, count: int) -> list[str]:
    compared = " and ".join(counted(len(side.tasks), f"{side.kind} task") for side in (ours, theirs))
    lines = [f"{fold}: {compared} were compared {HOW}: {count or 'none'} left out"]
    (our_texts, our_tasks), (their_texts, their_tasks) = ours.uncompared(), theirs.uncompared()
    if our_texts or their_texts:
        short = f"{our_texts:,} of {counted(len(ours.texts), 'training text')}"
        lines.append(
            f"{fold}: too short to compare: {short} and {their_texts:,} of {counted(len(theirs.texts), 'test text')}"
        )
    if our_tasks or their_tasks:
        tasks = f"{counted(our_tasks, 'training task')} and {counted(their_tasks, 'test task')}"
        lines.append(f"{fold}: compared by source alone, for no text of theirs could be: {tasks}")
    return lines


def sides(suite: Suite, training: Sequence[str], test: Sequence[str]) -> tuple[Side, Side]:
    """Collect what may be taught of training tasks, and what is scored of test tasks."""
    return _side(suite, "training", training, taught), _side(suite, "test", test, _scored)


def _side(suite: Suite, kind: str, tasks: Sequence[str], pool_of: Callable[[Suite, str], Pool | None]) -> Side:
    side = Side(kind, tasks)
    for name in tasks:
        pool = pool_of(suite, name)
        for example in pool.take(range(min(COMPARED, len(pool)))) if pool else ():
            side.names.append(name)
            side.texts.append(" ".join(example.item.fields.values()))
    return side


def _scored(suite: Suite, name: str) -> Pool:
    pools = suite.pools[suite.task(name).id]
    return pools["test"] if "test" in pools else next(iter(pools.values()))


def find(suite: Suite, fold: str, training: Side, test: Side) -> list[Leak]:
    """Find the training tasks that share a source or texts with a test task, or are one; each is named once."""
    found: dict[str, Leak] = {}
    by_source = {source: name for name in test.tasks for source in suite.task(name).tags.get("source", ())}
    for name in training.tasks:
        if name in test.tasks:
            found[name] = Leak(fold, name, name, "it is also the test task")
        for source in suite.task(name).tags.get("source", ()):
            if source in by_source:
                found.setdefault(name, Leak(fold, name, by_source[source], f"source {source!r} is also that of"))
    for our_row, their_row, share in overlaps(test.texts, training.texts):
        name = training.names[their_row]
        found.setdefault(name, Leak(fold, name, test.names[our_row], f"{share:.0%} of a text is in"))
    for our_row, their_row in equals(test.texts, training.texts):
        name = training.names[their_row]
        why = f"a short text ({training.texts[their_row].strip()[:SHOWN]!r}) is equal to one of"
        found.setdefault(name, Leak(fold, name, test.names[our_row], why))
    return [found[name] for name in dict.fromkeys(training.tasks) if name in found]
