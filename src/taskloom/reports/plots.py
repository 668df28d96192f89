"""Plots that compare learners: scores with intervals, learning curves, and paired differences.

A plot is drawn for a width in pixels, so that its labels can be placed without overlap: `responsive` draws it twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

from ..episodes import Shots, shots_order
from ..stats import Estimate
from .drawing import HUES, Scale, drawing, fitted, known, scale, spaced, span, text_at, text_width, tick_text, ticks

WIDE, HALF, NARROW = 760, 580, 358  # pixels: a screen, half of one, and a phone without its margins
SIDES = 832  # as wide as a figure is, for plots side by side
STACKED = 500  # a narrower plot has labels above its rows
ROW, STACKED_ROW = 30, 42
FLAG = 18  # the height of a baseline's name
FOOT = 42  # ticks and the name of an axis
LINE = 16  # between the labels of curves
GUTTER = 0.36  # the part of a plot that labels may take
BOLD = 1.07  # how much wider a bold text is
DODGE = 5  # pixels between curves at the same place, so that their error bars are seen

Spot: TypeAlias = tuple[Shots | float, Estimate]  # of a curve


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a plot: a label, a number with its interval, and how it is written."""

    label: str
    found: Estimate
    text: str
    style: str = ""  # "baseline", "best", "apart" or "published"


@dataclass(frozen=True, slots=True)
class Curve:
    """The scores of one learner over shots or another setting."""

    label: str
    spots: Sequence[Spot]
    baseline: bool = False  # a thin line without a colour


def responsive(draw: Callable[[int], str], wide: int = WIDE) -> str:
    """Draw for a screen and for a phone; a page shows the one that fits."""
    return f'<div class="wide">{draw(wide)}</div><div class="narrow">{draw(NARROW)}</div>'


# --- rows ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Rows:
    """Where the rows of a plot stand."""

    width: int
    left: float
    right: float
    top: float
    step: int
    count: int

    @classmethod
    def of(cls, rows: Sequence[Row], width: int, top: float) -> _Rows:
        """Leave room for labels to the left and numbers to the right, or above where it is narrow."""
        if width < STACKED:
            return cls(width, 10, width - 10, top, STACKED_ROW, len(rows))
        labels = BOLD * max((text_width(row.label) for row in rows), default=0)
        texts = max((text_width(row.text) for row in rows), default=0)
        return cls(width, min(labels, GUTTER * width) + 20, width - texts - 14, top, ROW, len(rows))

    @property
    def stacked(self) -> bool:
        return self.step == STACKED_ROW

    @property
    def foot(self) -> float:
        return self.top + self.count * self.step + 4

    def scale(self, values: Sequence[float]) -> tuple[Scale, str]:
        """Place values, with lines and numbers at round ones."""
        low, high = span(values)
        at = scale(low, high, self.left + 6, self.right - 6)
        marks = spaced([(at(tick), tick_text(tick)) for tick in ticks(low, high)])
        drawn = (self.vertical(x, "grid") + text_at(x, self.foot + 15, text, "tick", "middle") for x, text in marks)
        return at, "".join(drawn)

    def vertical(self, x: float, style: str, top: float | None = None) -> str:
        top = self.top - 2 if top is None else top
        return f'<line class="{style}" x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" y2="{self.foot:.1f}"/>'

    def row(self, row: Row, number: int, at: Scale) -> str:
        """Draw a row: its label, its interval and its dot, and its number."""
        top = self.top + number * self.step
        middle = top + (30 if self.stacked else ROW / 2)
        e = row.found
        parts = [f"<title>{escape(f'{row.label}: {row.text}')}</title>", *self._labels(row, top)]
        if not math.isnan(e.low + e.high):
            parts.append(
                f'<line class="bar" x1="{at(e.low):.1f}" x2="{at(e.high):.1f}" y1="{middle:.1f}" y2="{middle:.1f}"/>'
            )
        if not math.isnan(e.value):
            parts.append(f'<circle class="dot" cx="{at(e.value):.1f}" cy="{middle:.1f}" r="5"/>')
        return f'<g class="row {row.style}">{"".join(parts)}</g>'

    def _labels(self, row: Row, top: float) -> tuple[str, str]:
        if self.stacked:
            room = self.width - 34 - text_width(row.text)
            name = text_at(self.left - 4, top + 14, fitted(row.label, room), "name")
            return name, text_at(self.right + 4, top + 14, row.text, "value", "end")
        name = text_at(self.left - 14, top + 20, fitted(row.label, self.left - 16), "name", "end")
        return name, text_at(self.width - 2, top + 20, row.text, "value", "end")

    def drawn(self, about: str, parts: Sequence[str], axis: str, rows: Sequence[Row]) -> str:
        """Finish a drawing, with the name of its axis."""
        middle = (self.left + self.right) / 2
        named = text_at(middle, self.foot + 34, fitted(axis, self.width - 10), "axis", "middle") if axis else ""
        return drawing(about, (self.width, self.foot + (FOOT if axis else FOOT - 18)), [*parts, named], _said(rows))


def _said(rows: Sequence[Row]) -> str:
    return "; ".join(f"{row.label}: {row.text}" for row in rows)


def dots(rows: Sequence[Row], about: str, *, axis: str = "", width: int = WIDE) -> str:
    """Draw scores as dots with their intervals; those of baselines are thin lines with their names above."""
    shown = [row for row in rows if row.style != "baseline"] or list(rows)
    lines = [row for row in rows if row not in shown and not math.isnan(row.found.value)]
    lines.sort(key=lambda row: row.found.value)
    frame = _Rows.of(shown, width, top=6 + FLAG * len(lines) + (6 if lines else 0))
    at, grid = frame.scale([v for row in rows for v in known(row.found)])
    flags = [_flag(row, number, at(row.found.value), frame) for number, row in enumerate(lines)]
    drawn = [frame.row(row, number, at) for number, row in enumerate(shown)]
    return frame.drawn(about, [grid, *flags, *drawn], axis, rows)


def _flag(row: Row, number: int, x: float, frame: _Rows) -> str:
    """Draw a baseline as a line with its name at the top, on the side where there is room."""
    top = 6 + FLAG * number
    end = x > (frame.left + frame.right) / 2
    named = f"{row.label} {row.text}"
    shown = fitted(named, (x - 6) if end else frame.width - x - 6)
    title = f"<title>{escape(f'{row.label}: {row.text}')}</title>"
    label = text_at(x - 5 if end else x + 5, top + 10, shown, "tick", "end" if end else "start")
    return f'<g class="flag">{title}{frame.vertical(x, "baseline", top)}{label}</g>'


def forest(rows: Sequence[Row], about: str, *, axis: str = "", width: int = WIDE) -> str:
    """Draw differences as dots with their intervals, beside the line of no difference."""
    frame = _Rows.of(rows, width, top=6)
    at, grid = frame.scale([0.0, *(v for row in rows for v in known(row.found))])
    drawn = [frame.row(row, number, at) for number, row in enumerate(rows)]
    return frame.drawn(about, [grid, frame.vertical(at(0), "zero"), *drawn], axis, rows)


# --- curves ----------------------------------------------------------------------------------------------------------


def curves(lines: Sequence[Curve], about: str, *, over: str = "shots", up: str = "", width: int = WIDE) -> str:
    """Draw scores over shots with error bars, each line named where it ends; shots are spaced by their logarithm."""
    height = 340 if width >= STACKED else 300
    labels = BOLD * max((text_width(line.label, 12) for line in lines), default=0)
    left, right = 48, width - min(labels + 26, GUTTER * width)
    values = [v for line in lines for _, e in line.spots for v in known(e)]
    low, high = span(values)
    rise = scale(low, high, height - FOOT, 26)
    across = _across({x for line in lines for x, _ in line.spots}, left + 14, right - 14)
    grid = [_level(rise(tick), tick_text(tick), left, right) for tick in ticks(low, high)]
    named = spaced([(at, x if isinstance(x, str) else tick_text(x)) for x, at in across.items()])
    marks = [text_at(x, height - 24, name, "tick", "middle") for x, name in named]
    axes = [text_at((left + right) / 2, height - 6, over, "axis", "middle"), text_at(4, 12, up, "axis")]
    found = _dodged(lines, across, rise)
    ends = spread([points[-1].y if points else math.nan for points in found], height - FOOT, 20)
    drawn = [
        f'<g class="{hue}">{_curve(line, points, over)}{_label(line, points, y, right, width)}</g>'
        for hue, line, points, y in zip(_hues(lines), lines, found, ends, strict=True)
        if points
    ]
    said = "; ".join(f"{line.label}: {_spoken(points, over)}" for line, points in zip(lines, found, strict=True))
    return drawing(about, (width, height), [*grid, *marks, *axes, *drawn], said)


@dataclass(frozen=True, slots=True)
class _Place:
    """A measured point of a curve, where it is drawn."""

    x: float
    y: float
    low: float
    high: float
    at: Shots | float
    value: float


def _dodged(lines: Sequence[Curve], across: Mapping[Shots | float, float], up: Scale) -> list[list[_Place]]:
    """Place measured points; those of several learners stand a little beside each other."""
    contested = [number for number, line in enumerate(lines) if not line.baseline]
    shift = {number: DODGE * (place - (len(contested) - 1) / 2) for place, number in enumerate(contested)}
    return [
        [
            _Place(across[n] + shift.get(number, 0), up(e.value), up(e.low), up(e.high), n, e.value)
            for n, e in line.spots
            if not math.isnan(e.value)
        ]
        for number, line in enumerate(lines)
    ]


def _curve(line: Curve, points: Sequence[_Place], over: str) -> str:
    path = " ".join(f"{p.x:.1f},{p.y:.1f}" for p in points)
    bars = "".join(
        f'<line class="error" x1="{p.x:.1f}" x2="{p.x:.1f}" y1="{p.low:.1f}" y2="{p.high:.1f}"/>'
        for p in points
        if not line.baseline and not math.isnan(p.low + p.high)
    )
    dot = "".join(f'<circle class="mark" cx="{p.x:.1f}" cy="{p.y:.1f}" r="3.5"/>' for p in points)
    title = f"<title>{escape(f'{line.label}: {_spoken(points, over)}')}</title>"
    return f'{title}{bars}<polyline class="line" points="{path}"/>{dot}'


def _spoken(points: Sequence[_Place], over: str) -> str:
    return "; ".join(f"{p.at if isinstance(p.at, str) else f'{p.at:g}'} {over}: {tick_text(p.value)}" for p in points)


def _label(line: Curve, points: Sequence[_Place], y: float, right: float, width: int) -> str:
    """Name a line to the right of the plot, with a thin line to where it ends."""
    last = points[-1]
    leader = f'<line class="leader" x1="{last.x + 5:.1f}" y1="{last.y:.1f}" x2="{right + 8:.1f}" y2="{y:.1f}"/>'
    name = text_at(right + 11, y + 4, fitted(line.label, (width - right - 10) * 13 / 12), "end")
    return leader + name


def _hues(lines: Sequence[Curve]) -> list[str]:
    """Give each learner a colour by its place; baselines have none."""
    order = iter(range(len(lines)))
    return ["baseline" if line.baseline else f"hue{next(order) % HUES}" for line in lines]


def spread(ys: Sequence[float], lowest: float, highest: float, step: float = LINE) -> list[float]:
    """Move labels as little as needed for each to have a line of its own; or points, which are a step apart then.

    >>> spread([100, 104, 200], 300, 0)
    [94.0, 110.0, 200.0]
    """
    order = sorted((y, n) for n, y in enumerate(ys) if not math.isnan(y))
    groups: list[list[int]] = []
    middles: list[float] = []
    for y, n in order:
        groups.append([n])
        middles.append(y)
        while len(groups) > 1 and middles[-1] - middles[-2] < step * (len(groups[-1]) + len(groups[-2])) / 2:
            group, middle = groups.pop(), middles.pop()
            whole = len(group) + len(groups[-1])
            middles[-1] = (middle * len(group) + middles[-1] * len(groups[-1])) / whole
            groups[-1] += group
    placed = list(ys)
    for group, middle in zip(groups, middles, strict=True):
        half = step * (len(group) - 1) / 2
        first = min(max(middle - half, highest), lowest - 2 * half)
        for k, n in enumerate(group):
            placed[n] = first + step * k
    return placed


def _across(xs: Collection[Shots | float], first: float, last: float) -> dict[Shots | float, float]:
    along = _along(xs)
    reach = scale(min(along.values(), default=0), max(along.values(), default=1), first, last)
    return {x: reach(place) for x, place in along.items()} if len(along) > 1 else dict.fromkeys(xs, (first + last) / 2)


def _along(xs: Collection[Shots | float]) -> dict[Shots | float, float]:
    """Place numbers by their logarithm, and names to the right of them, as far apart as numbers are on average.

    >>> {x: round(place, 2) for x, place in _along({"all", 0, 7, 1}).items()}
    {0: 0.0, 1: 0.69, 7: 2.08, 'all': 3.12}
    """
    found: dict[Shots | float, float] = {x: math.log1p(x) for x in sorted(x for x in xs if not isinstance(x, str))}
    first, last = min(found.values(), default=0.0), max(found.values(), default=0.0)
    step = (last - first) / max(1, len(found) - 1) or 1.0
    names = sorted((x for x in xs if isinstance(x, str)), key=shots_order)
    return found | {name: last + step * at for at, name in enumerate(names, start=1)}


def _level(y: float, text: str, left: float, right: float) -> str:
    line = f'<line class="grid" x1="{left}" x2="{right:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
    return line + text_at(left - 6, y + 4, text, "tick", "end")
