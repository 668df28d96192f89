"""Training tasks that would give test tasks away: of the same source, or with texts in common; left out, and told."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import TypeAlias

from ..core import Pool, Suite, Task
from ..ids import Json
from ..sources.task_files import NEGATIVE, POSITIVE
from ..texts import (
    SHINGLE_CHARACTERS,
    SHINGLE_WORDS,
    SHORTEST_CHARACTERS,
    SHORTEST_WORDS,
    comparable,
    counted,
    equals,
    overlaps,
    tokens,
)
from .instructions import LEAKING, taught

COMPARED = 100  # instances of each task whose texts are compared
SHOWN = 80  # characters of a text that is told
LEAKAGE = "leakage"  # in a suite's `about`: the certificate
HOW = (
    f"by source, and by the texts of their first {COMPARED} instances and of the examples shown in training (half of "
    f"one in another, by runs of {SHINGLE_WORDS} words or {SHINGLE_CHARACTERS} characters; texts of less than half a "
    f"run, from {SHORTEST_WORDS} words or {SHORTEST_CHARACTERS} characters on, for being equal)"
)
SOURCE, TEXTS = "source", "texts"  # what tasks are compared by
PARTLY: Mapping[frozenset[str], str] = {
    frozenset({SOURCE}): "compared by source alone, for no text of theirs could be",
    frozenset({TEXTS}): "compared by texts alone, for they name no source",
    frozenset(): "not compared, for they name no source and no text of theirs could be",
}

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
    """The training tasks of a fold, or its test tasks, with the texts to compare."""

    kind: str
    sources: Mapping[str, Mapping[str, str]]  # by task: as they are compared -> as they are written
    texts: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)  # the task of each text
    places: list[str] = field(default_factory=list)  # where it stands in its task
    able: list[bool] = field(default_factory=list)  # whether it is long enough

    def add(self, name: str, place: str, fields: Mapping[str, str]) -> None:
        """Add a text."""
        self.texts.append(" ".join(fields.values()))
        self.names.append(name)
        self.places.append(place)
        self.able.append(comparable(self.texts[-1]))

    def ways(self) -> list[frozenset[str]]:
        """Say of each task what it can be compared by."""
        by_text = {*compress(self.names, self.able)}
        return [
            frozenset(way for way, can in ((SOURCE, sources), (TEXTS, name in by_text)) if can)
            for name, sources in self.sources.items()
        ]


def without_leaks(suite: Suite) -> Suite:
    """Give training tasks that would give a test task away a role of their own, and keep a certificate of that."""
    folds: dict[str, Roles] = {}
    told: list[Json] = []
    for fold, roles in suite.folds.items():
        training = list(dict.fromkeys((*roles.get("meta", ()), *roles.get(LEAKING, ()))))
        test = roles.get("target", ())
        folds[fold] = roles
        if training and test:
            ours, theirs = sides(suite, training, test)
            leaks = find(fold, ours, theirs)
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


def _certified(fold: str, ours: Side, theirs: Side, count: int) -> Iterator[str]:
    """Say what was compared, and what could not be."""
    ways, other_ways = ours.ways(), theirs.ways()
    compared = _tasks(len(ways) - ways.count(frozenset()), len(other_ways) - other_ways.count(frozenset()))
    yield f"{fold}: {count or 'none'} left out; {compared} were compared {HOW}"
    if not all((*ours.able, *theirs.able)):
        short = [f"{s.able.count(False):,} of {counted(len(s.texts), f'{s.kind} text')}" for s in (ours, theirs)]
        yield f"{fold}: too short to compare: {' and '.join(short)}"
    for way, told in PARTLY.items():
        if way in (*ways, *other_ways):
            yield f"{fold}: {told}: {_tasks(ways.count(way), other_ways.count(way))}"
    if apart := sum(not way & other for way in ways for other in other_ways):
        yield f"{fold}: compared in neither way: {apart:,} of {counted(len(ways) * len(other_ways), 'pair')} of tasks"


def _tasks(training: int, test: int) -> str:
    return f"{counted(training, 'training task')} and {counted(test, 'test task')}"


def sides(suite: Suite, training: Sequence[str], test: Sequence[str]) -> tuple[Side, Side]:
    """Collect what training tasks may teach, the examples in their prompts too, and what is scored of test tasks."""
    ours, theirs = _side(suite, "training", training, taught), _side(suite, "test", test, Suite.asked_pool)
    for name in training:
        shown = suite.task(name).examples
        for key, right in ((POSITIVE, True), (NEGATIVE, False)):
            for number, one in enumerate(one for one in shown if one.right is right):
                ours.add(name, f"{key}[{number}]", one.fields)
    return ours, theirs


def _side(suite: Suite, kind: str, tasks: Sequence[str], pool_of: Callable[[Suite, str], Pool | None]) -> Side:
    side = Side(kind, {name: sources_of(suite.task(name)) for name in tasks})
    for name in side.sources:
        pool = pool_of(suite, name)
        for example in pool.take(range(min(COMPARED, len(pool)))) if pool else ():
            side.add(name, example.item.id, example.item.fields)
    return side


def sources_of(task: Task) -> dict[str, str]:
    """Give the sources of a task: as they are compared -> as they are written."""
    return {key: source for source in task.tags.get("source", ()) if (key := source_key(source))}


def source_key(source: str) -> str:
    """Give what sources are compared by: letters and digits, in either case.

    >>> source_key(" e-SNLI"), source_key("E_snli "), source_key("-")
    ('e snli', 'e snli', '')
    """
    return " ".join(tokens(source)).casefold()


def find(fold: str, training: Side, test: Side) -> list[Leak]:
    """Find the training tasks that are a test task, or share a source or texts with one; each is named once."""
    both = [name for name in training.sources if name in test.sources]
    same = {name: Leak(fold, name, name, "it is also the test task") for name in both}
    found = _equal(fold, training, test) | _overlapping(fold, training, test) | _related(fold, training, test) | same
    return [found[name] for name in training.sources if name in found]


def _related(fold: str, training: Side, test: Side) -> dict[str, Leak]:
    """Find tasks of the same source."""
    first: dict[str, str] = {}
    for name, sources in test.sources.items():
        first |= {source: name for source in sources if source not in first}
    return {
        name: Leak(fold, name, first[source], f"source {written!r} is also that of")
        for name, sources in training.sources.items()
        for source, written in sources.items()
        if source in first
    }


def _overlapping(fold: str, training: Side, test: Side) -> dict[str, Leak]:
    """Find tasks with half of a text in common: of the pairs of texts the one with most, the first of equals."""
    best: dict[str, tuple[float, int, int]] = {}
    for theirs, ours, share in overlaps(test.texts, training.texts):
        name = training.names[ours]
        if name not in best or share > best[name][0]:
            best[name] = (share, ours, theirs)
    return {
        name: Leak(
            fold,
            name,
            test.names[theirs],
            f"{share:.0%} of a text is shared ({training.places[ours]} ~ {test.places[theirs]}) with",
        )
        for name, (share, ours, theirs) in best.items()
    }


def _equal(fold: str, training: Side, test: Side) -> dict[str, Leak]:
    """Find tasks with a text in common that is too short for runs of words."""
    found: dict[str, Leak] = {}
    for theirs, ours in equals(test.texts, training.texts):
        name, text = training.names[ours], training.texts[ours].strip()[:SHOWN]
        why = f"a short text ({text!r}; {training.places[ours]} ~ {test.places[theirs]}) is equal to one of"
        found.setdefault(name, Leak(fold, name, test.names[theirs], why))
    return found
