"""How episodes are drawn: how many classes, how many examples of each, and what is asked about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

from .errors import EpisodeError, UnknownNameError, UsageError
from .limits import whole_number
from .messages import Note
from .options import check_choices, settle_number
from .schema import Node, read
from .texts import counted

ShortClass: TypeAlias = Literal["skip", "refuse"]
LabelOrder: TypeAlias = Literal["auto", "shuffled", "task"]
Total: TypeAlias = Literal["", "stratified", "folds"]
NamedShots: TypeAlias = Literal["drawn", "all"]  # drawn for each class, or all that dev and query leave; in their order
Shots: TypeAlias = int | NamedShots
ALL: Literal["all"] = "all"
DRAWN: Literal["drawn"] = "drawn"


def shots_order(shots: Shots) -> tuple[int, int]:
    """Give the key that sorts shots: numbers, then `drawn`, then `all`.

    >>> sorted(["all", 4, "drawn", 0], key=shots_order)
    [0, 4, 'drawn', 'all']
    """
    return (0, shots) if isinstance(shots, int) else (1 + get_args(NamedShots).index(shots), 0)


def shots_text(shots: Shots) -> str:
    """Write shots for people.

    >>> shots_text(1), shots_text(0), shots_text("all")
    ('1 shot', '0 shots', 'all examples')
    """
    return counted(shots, "shot") if isinstance(shots, int) else "all examples" if shots == ALL else f"{shots} shots"


def shots_from(text: str) -> Shots:
    """Read shots as people type them.

    >>> shots_from("4"), shots_from("all")
    (4, 'all')
    """
    named: Mapping[str, NamedShots] = {name: name for name in get_args(NamedShots)}
    if text in named:
        return named[text]
    if (found := whole_number(text)) is None:
        raise UsageError(f"shots must be an integer >= 0, {' or '.join(named)}: {text[:100]}")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """A number of classes that is drawn: all from the least to the most are equally probable.

    A task with fewer classes than the least is refused, as by the sampler of FLEX, unless `all_up_to` is for it. Where
    some classes have too few examples, and are named, all others may be fewer than the least.
    """

    least: int = 2
    most: int = 0  # 0: all
    all_up_to: int = 0  # a task of at most so many classes takes part with all of them

    def __post_init__(self) -> None:
        if self.most and self.least > self.most:
            raise EpisodeError(Note.of("ways-out-of-order", least=self.least, most=self.most))

    def has_room(self, classes: int) -> bool:
        """Tell whether a task with so many classes has as many as are drawn, or takes part with all of them.

        >>> of = Between(least=7, all_up_to=3)
        >>> of.has_room(7), of.has_room(5), of.has_room(2)
        (True, False, True)
        """
        return classes >= self.least or classes <= self.all_up_to


Ways: TypeAlias = int | tuple[int, ...] | Between


def _ways(node: Node, key: str, default: Ways) -> Ways:
    """Read a number of classes, a list of numbers, or a mapping with the least and the most."""
    if isinstance(node.values.get(key), Mapping):
        return read(Between, node.mapping(key)) or default
    found: Ways = node.take(key, int | tuple[int, ...], default)
    if found == ():
        node.fault(key, f"{key} must not be empty: []")
    return found or 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampler:
    """How episodes are drawn; what differs from the defaults is its identity."""

    shots: Shots = 1  # for each class where the task has labels, else in all
    reserve: int = 0  # the most shots of a study: so many are set aside, that dev and query stay when shots change
    dev: int = 0
    query: int | Literal["all"] = 32
    per_class: bool = False  # whether dev and query count for each class
    ways: Ways = field(default=0, metadata={"read": _ways})  # classes of an episode; 0: all
    short_class: ShortClass = "skip"  # what is done with a class that has too few examples
    least: int = 1  # where shots are drawn: the fewest of a class, and the most
    most: int = 5
    version: int = 1
    base: int = 0  # where shots are drawn: only powers of it, and 0; 0: any number
    among: tuple[int, ...] = ()  # where shots are drawn: these numbers alone
    balanced: float = 0.0  # where shots are drawn: the probability that all classes have equally many
    share: float = 0.0  # of a class that is left for support: query is at most so many, equally many of each class
    label_order: LabelOrder = "auto"  # auto: shuffled, but where all classes take part
    total: Total = ""  # whether a number of shots is in all: classes by their frequencies, or SciRepEval's folds
    per_label: bool = False  # where examples have several labels: whether shots are of each label, else in all

    def __post_init__(self) -> None:
        sizes = [*self._sizes()]
        if any(isinstance(size, bool) or not isinstance(size, int) for size in sizes):
            raise EpisodeError(Note.of("sizes-not-whole", sampler=self))
        if any(size < 0 for size in sizes):
            raise EpisodeError(Note.of("sizes-negative", sampler=self))
        if self.least > self.most:
            raise EpisodeError(Note.of("shots-out-of-order", least=self.least, most=self.most))
        if self.short_class not in get_args(ShortClass):
            raise UnknownNameError("way with short classes", self.short_class, get_args(ShortClass))
        check_choices(self, label_order=get_args(LabelOrder), total=get_args(Total))
        settle_number(self, "balanced", least=0, most=1)
        settle_number(self, "share", least=0, most=1)
        if fault := next(self._contradictions(), None):
            raise EpisodeError(fault)

    def _sizes(self) -> Iterator[Any]:
        yield from (self.reserve, self.dev, self.least, self.most, self.base, *self.among)
        yield from () if self.shots in (ALL, DRAWN) else (self.shots,)
        yield from () if self.query == ALL else (self.query,)
        ways = (self.ways.least, self.ways.most, self.ways.all_up_to) if isinstance(self.ways, Between) else self.ways
        yield from ways if isinstance(ways, tuple) else (ways,)

    def _contradictions(self) -> Iterator[Note]:
        if self.share and not self.per_class:
            yield Note.of("share-in-all", share=self.share)
        if self.per_label and (other := [name for name in ("share", "total") if getattr(self, name)]):
            yield Note.of("per-label-with", other=other[0])
        if self.per_label and self.shots == DRAWN:
            yield Note.of("per-label-with", other="shots: drawn")
        if self.share and self.total:
            yield Note.of("share-and-total", share=self.share)
        if self.base and self.among:
            yield Note.of("among-and-base", base=self.base)
        if self.base == 1 or not self.choices:
            yield Note.of("no-powers", base=self.base, least=self.least, most=self.most)

    @property
    def choices(self) -> Sequence[int]:
        """Give the numbers of shots that may be drawn, the fewest first.

        >>> [*Sampler(most=3).choices], [*Sampler(least=0, most=10, base=2).choices], Sampler(among=(5, 1)).choices
        ([1, 2, 3], [0, 1, 2, 4, 8], [1, 5])
        """
        if self.among:
            return sorted({*self.among})
        return powers(self.base, self.least, self.most) if self.base > 1 else range(self.least, self.most + 1)

    def of_classes(self, count: int) -> Sampler:
        """Give the sampler of a task with so many classes; where `all_up_to` changes nothing, names of draws stay.

        >>> Sampler(ways=Between(least=5, all_up_to=6)).of_classes(6).ways
        0
        """
        ways = self.ways
        if not isinstance(ways, Between) or not ways.all_up_to:
            return self
        return replace(self, ways=0 if ways.least < count <= ways.all_up_to else replace(ways, all_up_to=0))

    @property
    def set_aside(self) -> int:
        """Give the shots that are set aside before dev and query are drawn: of each class, or in all."""
        return max(self.shots, self.reserve) if isinstance(self.shots, int) else self.reserve

    @property
    def needed(self) -> int:
        """Give the fewest support examples that a class may have, or a task without classes."""
        if self.shots == DRAWN:
            return self.choices[0]
        if self.total:
            return int(self.set_aside > 0)
        return max(1, self.reserve) if self.share and self.shots == ALL else self.set_aside


def powers(base: int, least: int, most: int) -> list[int]:
    """Give the powers of a number within bounds; 0, where it is one, comes with them.

    >>> powers(2, 3, 9), powers(10, 0, 10), powers(2, 5, 7)
    ([4, 8], [0, 1, 10], [])
    """
    found, power = [0] if least == 0 else [], 1
    while power <= most:
        found += [power] if power >= least else []
        power *= base
    return found
