"""Tasks that would give held-out tasks away: of the same source, or with texts in common.

One set of rules serves the certificate of a suite that was built without leaks, and the check of any suite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import TypeAlias

from ..core import FoldRole, Pool, Suite, Task
from ..ids import Json
from ..messages import Note
from ..sources.task_files import NEGATIVE, POSITIVE
from ..texts import (
    SHINGLE_CHARACTERS,
    SHINGLE_WORDS,
    SHORTEST_CHARACTERS,
    SHORTEST_WORDS,
    comparable,
    counted,
    equals,
    overlaps_of_many,
    tokens,
)
from .fields import FieldPool
from .instructions import LEAKING, roles_with_leaks

COMPARED_ROLES: tuple[tuple[FoldRole, FoldRole], ...] = (  # learnt from -> held out
    ("train", "test"), ("dev", "test"), ("train", "dev"),
)  # fmt: skip
NAMES: Mapping[str, str] = {"train": "training", "dev": "dev", "test": "test"}
COMPARED = 100  # instances of each task whose texts are compared, where nothing else is said
SHOWN = 80  # characters of a text that is shown
LEAKAGE = "leakage"  # in a suite's `about`: the certificate
HOW = (
    f"by source, and by the texts of their first {COMPARED} instances and of the examples shown in training (half of "
    f"one in another, by runs of {SHINGLE_WORDS} words or {SHINGLE_CHARACTERS} characters; texts of half a run and "
    f"more as a whole; shorter ones, from {SHORTEST_WORDS} words or {SHORTEST_CHARACTERS} characters on, for "
    "being equal)"
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
    """A task that is learnt from, and what it shares with which task that is held out."""

    task: str
    note: Note


@dataclass(frozen=True, slots=True)
class Side:
    """The tasks of a role, with the texts to compare."""

    kind: str  # training, dev or test
    sources: Mapping[str, Mapping[str, str]]  # by task: as they are compared -> as they are written
    texts: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)  # the task of each text
    places: list[str] = field(default_factory=list)  # where it stands in its task

    def add(self, name: str, place: str, fields: Mapping[str, str]) -> None:
        """Add a text."""
        self.texts.append(" ".join(fields.values()))
        self.names.append(name)
        self.places.append(place)

    def able(self) -> list[bool]:
        """Say of each text whether it is long enough."""
        return [*map(comparable, self.texts)]

    def ways(self, able: Sequence[bool]) -> list[frozenset[str]]:
        """Say of each task what it can be compared by."""
        by_text = {*compress(self.names, able)}
        return [
            frozenset(way for way, can in ((SOURCE, sources), (TEXTS, name in by_text)) if can)
            for name, sources in self.sources.items()
        ]


def without_leaks(suite: Suite) -> Suite:
    """Exclude tasks that would give a held-out task away, and keep a certificate of that."""
    folds: dict[str, Roles] = {}
    leaking: dict[str, Json] = {}
    certificate: list[Json] = []
    for fold in suite.folds:
        before = {role: tuple(dict.fromkeys(names)) for role, names in roles_with_leaks(suite, fold).items()}
        kept, lines = _parted(suite, before)
        folds[fold] = _with_excluded(kept, before)
        gone = {role: [n for n in names if n not in kept[role]] for role, names in before.items()}
        leaking |= {fold: {role: names for role, names in gone.items() if names}} if any(gone.values()) else {}
        certificate += [f"{fold}: {line}" for line in lines]
    about = {name: value for name, value in suite.about.items() if name != LEAKING}
    about |= {LEAKAGE: certificate} | ({LEAKING: leaking} if leaking else {})
    return replace(suite, folds=folds, about=about) if folds else suite


def _parted(suite: Suite, roles: Roles) -> tuple[Roles, list[str]]:
    """Give the roles of a fold without the tasks that leak, and the lines of the certificate."""
    kept, certificate = dict(roles), list[str]()
    for ours, theirs in COMPARED_ROLES:
        learnt, held_out = kept.get(ours, ()), kept.get(theirs, ())
        if learnt and held_out:
            sides = sides_of(suite, (ours, learnt), (theirs, held_out))
            leaks = {leak.task: leak for leak in reversed(find(*sides))}  # of several, the first is shown
            kept[ours] = tuple(name for name in learnt if name not in leaks)
            certificate += _certified(*sides, len(leaks))
            certificate += [f"dropped: {leaks[name].note}" for name in learnt if name in leaks]
        elif (ours, theirs) == COMPARED_ROLES[0]:
            certificate.append(f"no {NAMES[theirs] if learnt else NAMES[ours]} tasks: nothing to compare")
    return kept, certificate


def _with_excluded(kept: Roles, before: Roles) -> Roles:
    """Exclude the tasks that have no role left; the role is there only where there are such tasks."""
    placed = {name for names in kept.values() for name in names}
    gone = dict.fromkeys(name for names in before.values() for name in names if name not in placed)
    excluded = (*kept.get("excluded", ()), *gone)
    others = {role: names for role, names in kept.items() if role != "excluded"}
    return others | ({"excluded": excluded} if excluded else {})


def _certified(ours: Side, theirs: Side, count: int) -> Iterator[str]:
    """Yield what was compared, and what could not be."""
    able, other_able = ours.able(), theirs.able()
    ways, other_ways = ours.ways(able), theirs.ways(other_able)

    def tasks(number: int, other: int) -> str:
        return f"{counted(number, f'{ours.kind} task')} and {counted(other, f'{theirs.kind} task')}"

    compared = tasks(len(ways) - ways.count(frozenset()), len(other_ways) - other_ways.count(frozenset()))
    yield f"{count or 'none'} dropped; {compared} were compared {HOW}"
    if not all((*able, *other_able)):
        both = ((ours, able), (theirs, other_able))
        short = [f"{of.count(False):,} of {counted(len(of), f'{side.kind} text')}" for side, of in both]
        yield f"too short to compare: {' and '.join(short)}"
    for way, what in PARTLY.items():
        if way in (*ways, *other_ways):
            yield f"{what}: {tasks(ways.count(way), other_ways.count(way))}"
    if apart := sum(not way & other for way in ways for other in other_ways):
        yield f"compared in neither way: {apart:,} of {counted(len(ways) * len(other_ways), 'pair')} of tasks"


def sides_of(
    suite: Suite, learnt: tuple[str, Sequence[str]], held_out: tuple[str, Sequence[str]], *, compared: int = COMPARED
) -> tuple[Side, Side]:
    """Collect what tasks of one role may teach, the examples in their prompts too, and what is scored of another's."""
    ours = _side(suite, *learnt, Suite.taught_pool, compared)
    theirs = _side(suite, *held_out, Suite.asked_pool, compared)
    for name in ours.sources:
        shown = suite.task(name).examples
        for key, right in ((POSITIVE, True), (NEGATIVE, False)):
            for number, one in enumerate(one for one in shown if one.right is right):
                ours.add(name, f"{key}[{number}]", one.fields)
    return ours, theirs


def _side(
    suite: Suite, role: str, tasks: Sequence[str], pool_of: Callable[[Suite, str], Pool | None], most: int
) -> Side:
    """Collect the texts of tasks; views of one table share its records by design, and are drawn apart by record."""
    side = Side(NAMES[role], {name: sources_of(suite.task(name)) for name in tasks})
    for name in side.sources:
        pool = pool_of(suite, name)
        compared = None if isinstance(pool, FieldPool) else pool
        for example in compared.take(range(min(most, len(compared)))) if compared else ():
            side.add(name, example.item.id, example.item.fields)
    return side


def sources_of(task: Task) -> dict[str, str]:
    """Give the sources of a task: as they are compared -> as they are written."""
    return {key: source for source in task.tags.get("source", ()) if (key := source_key(source))}


def source_key(source: str) -> str:
    """Give what sources are compared by: letters and digits, in either case, whatever stands between them.

    >>> source_key(" e-SNLI"), source_key("E_snli "), source_key("eSNLI"), source_key("-")
    ('esnli', 'esnli', 'esnli', '')
    """
    return "".join(tokens(source)).casefold()


def find(ours: Side, theirs: Side) -> list[Leak]:
    """Find the tasks that are a held-out task, or share a source or texts with one: by task, in this order."""
    both = [name for name in ours.sources if name in theirs.sources]
    same = {name: Note.of("E302-held-out", task=name, kind=theirs.kind) for name in both}
    found = (same, _related(ours, theirs), _overlapping(ours, theirs), _equal(ours, theirs))
    return [Leak(name, notes[name]) for name in ours.sources for notes in found if name in notes]


def _related(ours: Side, theirs: Side) -> dict[str, Note]:
    """Find tasks of the same source."""
    first: dict[str, str] = {}
    for name, sources in theirs.sources.items():
        first |= {source: name for source in sources if source not in first}
    found: dict[str, Note] = {}
    for name, sources in ours.sources.items():
        if other := next((first[source] for source in sources if source in first), ""):
            shared = tuple(written for source, written in sources.items() if source in theirs.sources[other])
            found[name] = Note.of("E303", task=name, other=other, sources=shared)
    return found


def _overlapping(ours: Side, theirs: Side) -> dict[str, Note]:
    """Find tasks with half of a text in common: of the pairs of texts the one with most, the first of equals."""
    best: dict[str, tuple[float, int, int]] = {}
    for their_at, our_at, share in overlaps_of_many(theirs.texts, ours.texts):
        name = ours.names[our_at]
        if name not in best or share > best[name][0]:
            best[name] = (share, our_at, their_at)
    return {
        name: Note.of("E304-overlap", share=share, **_pair(ours, our_at, theirs, their_at))
        for name, (share, our_at, their_at) in best.items()
    }


def _equal(ours: Side, theirs: Side) -> dict[str, Note]:
    """Find tasks with a text in common that is too short for runs of words."""
    found: dict[str, Note] = {}
    for their_at, our_at in equals(theirs.texts, ours.texts):
        text = ours.texts[our_at].strip()[:SHOWN]
        note = Note.of("E304-equal", text=text, **_pair(ours, our_at, theirs, their_at))
        found.setdefault(ours.names[our_at], note)
    return found


def _pair(ours: Side, our_at: int, theirs: Side, their_at: int) -> dict[str, str]:
    """Say which texts of which tasks are alike."""
    other = {"other": theirs.names[their_at], "other_place": theirs.places[their_at]}
    return {"task": ours.names[our_at], "place": ours.places[our_at]} | other
