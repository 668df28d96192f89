"""What a study wants to see beside its scores: declared here, and drawn by reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..benchmarks import published
from ..errors import UnknownNameError
from ..ids import Json
from ..scores import METRICS
from ..scores.tasks import split_name

Settings: TypeAlias = Mapping[str, Mapping[str, Json]]  # of each learner


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """Scores beside the figures of a paper, over all tasks and by category."""

    paper: str  # the benchmark whose paper it is

    def faults(self, settings: Settings) -> Iterator[str]:  # noqa: ARG002 (as all views)
        """Name an unknown paper."""
        yield from _unknown("paper", [self.paper], published.names())


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """What a learner adds, task by task, to the better of some others."""

    learner: str = ""  # none: the one in front
    over: tuple[str, ...] = ()  # none: the floors

    def faults(self, settings: Settings) -> Iterator[str]:
        """Name unknown learners, and one that is to be above itself."""
        yield from _unknown("learner", [*filter(None, [self.learner]), *self.over], settings)
        if self.over == (self.learner,):
            yield f"a learner has no gain over itself: {self.learner!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How two metrics go together over tasks and learners."""

    x: str
    y: str
    categories: tuple[str, ...] = ()  # none: all tasks
    paper: str = ""

    def faults(self, settings: Settings) -> Iterator[str]:  # noqa: ARG002
        """Name an unknown paper, and unknown metrics."""
        yield from _unknown("paper", [self.paper] if self.paper else [], published.names())
        yield from _unknown("metric", [split_name(m)[1].partition(":")[0] for m in (self.x, self.y)], METRICS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Scores laid out by two settings of learners."""

    rows: str
    columns: str
    paper: str = ""

    def faults(self, settings: Settings) -> Iterator[str]:
        """Name an unknown paper, unknown settings, and learners that would lie on each other."""
        yield from _unknown("paper", [self.paper] if self.paper else [], published.names())
        yield from _unknown("setting of learners", [self.rows, self.columns], _names(settings))
        taken: dict[tuple[str, str], str] = {}
        for name, found in settings.items():
            if self.rows in found and self.columns in found:
                other = taken.setdefault((str(found[self.rows]), str(found[self.columns])), name)
                if other != name:
                    yield f"{other!r} and {name!r} share a cell of the matrix of {self.rows} and {self.columns}"
        if not taken:
            yield f"no learner has both settings of the matrix: {self.rows!r} and {self.columns!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """Scores over a setting of learners that is a number, with a straight line over its logarithm."""

    over: str

    def faults(self, settings: Settings) -> Iterator[str]:
        """Name an unknown setting, and one that is no number from nought on."""
        yield from _unknown("setting of learners", [self.over], _names(settings))
        values = [found[self.over] for found in settings.values() if self.over in found]
        numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
        if values and (not numbers or min(numbers) < 0):
            yield f"scores can only go over numbers from nought on, and these are none: {self.over!r}"


View: TypeAlias = Beside | Gain | Agreement | Matrix | Scaling
VIEWS: Mapping[str, type[View]] = {
    "published": Beside,
    "gain": Gain,
    "agreement": Agreement,
    "matrix": Matrix,
    "scaling": Scaling,
}


def _unknown(what: str, names: Sequence[str], known: Mapping[str, object] | Sequence[str]) -> Iterator[str]:
    yield from (str(UnknownNameError(what, name, known)) for name in names if name not in known)


def _names(settings: Settings) -> list[str]:
    return sorted({name for found in settings.values() for name in found})
