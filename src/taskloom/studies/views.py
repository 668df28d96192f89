"""What a study wants to see beside its scores: declared here, and drawn by reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..benchmarks import published
from ..errors import UnknownNameError
from ..ids import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """Scores beside the figures of a paper, over all tasks and by category."""

    paper: str  # the benchmark whose paper it is


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """What a learner adds, task by task, to the better of some others."""

    learner: str = ""  # none: the one in front
    over: tuple[str, ...] = ()  # none: the floors


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How two metrics go together over tasks and learners."""

    x: str
    y: str
    categories: tuple[str, ...] = ()  # none: all tasks
    paper: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Scores laid out by two settings of learners."""

    rows: str
    columns: str
    paper: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """Scores over a setting of learners that is a number, with a straight line over its logarithm."""

    over: str


View: TypeAlias = Beside | Gain | Agreement | Matrix | Scaling
VIEWS: Mapping[str, type[View]] = {
    "published": Beside,
    "gain": Gain,
    "agreement": Agreement,
    "matrix": Matrix,
    "scaling": Scaling,
}


def faults(views: Sequence[View], settings: Mapping[str, Mapping[str, Json]], metrics: Sequence[str]) -> list[str]:
    """Say which views can't be drawn: they name a paper, a learner, a setting or a metric that is not there."""
    return [str(fault) for view in views for fault in _unknown(view, settings, metrics)]


def _unknown(
    view: View, settings: Mapping[str, Mapping[str, Json]], metrics: Sequence[str]
) -> Iterator[UnknownNameError]:
    named: dict[str, tuple[Sequence[str], Sequence[str]]] = {}  # what -> names, and those that are known
    if isinstance(view, Beside | Agreement | Matrix):
        named["paper"] = ([view.paper] if view.paper else [], published.names())
    if isinstance(view, Gain):
        named["learner"] = ([*filter(None, [view.learner]), *view.over], list(settings))
    if isinstance(view, Agreement):
        named["metric of the study's tasks"] = ([view.x, view.y], metrics)
    if isinstance(view, Matrix | Scaling):
        wanted = [view.over] if isinstance(view, Scaling) else [view.rows, view.columns]
        known = {name for found in settings.values() for name in found}
        named["setting of the study's learners"] = (wanted, sorted(known))
    for what, (names, there) in named.items():
        yield from (UnknownNameError(what, name, there) for name in names if name not in there)
