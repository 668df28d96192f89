"""Labels beside points: each where it covers no other label, no mark and no error bar, or as little as can be."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

SHIFTS = (0, -14, 14, -27, 27, -40, 40, -54, 54)  # up and down from a point
APART = 9  # pixels from a point to its label
OUTSIDE, OVER_NAMES, NOTHING = 3, 8, 1e-6  # what it costs to leave the frame, or to cover a name, by area


class Box(NamedTuple):
    """A rectangle of a drawing."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def middle(self) -> float:
        """Give the height of its middle."""
        return (self.top + self.bottom) / 2

    def shared(self, other: Box) -> float:
        """Give the area that two have in common.

        >>> Box(0, 0, 10, 10).shared(Box(5, 5, 20, 20)), Box(0, 0, 1, 1).shared(Box(2, 0, 3, 1))
        (25, 0)
        """
        across = min(self.right, other.right) - max(self.left, other.left)
        down = min(self.bottom, other.bottom) - max(self.top, other.top)
        return across * down if across > 0 and down > 0 else 0


def beside(x: float, y: float, size: tuple[float, float]) -> Iterator[Box]:
    """Give places for a label to the right and to the left of a point, the nearest first."""
    width, height = size
    for shift in SHIFTS:
        top = y + shift - height / 2
        yield Box(x + APART, top, x + APART + width, top + height)
        yield Box(x - APART - width, top, x - APART, top + height)
        if abs(shift) >= height:
            yield Box(x - width / 2, top, x + width / 2, top + height)


def along(frame: Box, ys: tuple[float, float], size: tuple[float, float], steps: int = 16) -> Iterator[Box]:
    """Give places for the names of lines that cross a frame: above the upper one and below the lower one.

    They go from the right end to the left, and then further up and down.
    """
    width, height = size
    room = max(0.0, frame.right - frame.left - width)
    for away in (2, 12, 24, 40):
        for step in range(steps + 1):
            left = frame.right - width - room * step / steps
            yield Box(left, ys[0] - height - away, left + width, ys[0] - away)
            yield Box(left, ys[1] + away, left + width, ys[1] + away + height)


def placed(places: Iterable[Box], frame: Box, names: Sequence[Box], marks: Sequence[Box]) -> Box:
    """Choose the first place within a frame that covers nothing, or else the best: names must be read before all."""
    best, least = None, math.inf
    for place in places:
        outside = (place.right - place.left) * (place.bottom - place.top) - frame.shared(place)
        over_names, over_marks = (sum(place.shared(other) for other in taken) for taken in (names, marks))
        cost = OUTSIDE * outside + OVER_NAMES * over_names + over_marks
        if cost <= NOTHING:
            return place
        if cost < least:
            best, least = place, cost
    assert best is not None, "there is always a place"
    return best
