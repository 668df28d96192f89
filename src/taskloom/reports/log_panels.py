"""Scores over numbers that span orders of magnitude: panels with logarithmic axes that share the axis of scores.

Each point is named beside it. What is nothing, or too little to matter, stands apart at the left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from ..stats import Estimate
from .drawing import HUES, Scale, drawing, fitted, known, log_ticks, scale, spaced, span, text_at, text_width, tick_text
from .drawing import ticks as round_ticks
from .placing import Box, along, beside, placed
from .plots import BOLD, FOOT, STACKED, Row, spread

LEFT, GAP, TOP, HEIGHT = 48, 28, 26, 320  # of the frames of panels
DODGE = 11  # pixels between points at the same place
NAME = 0.62  # the part of a panel that a name may take
TEXT = 13.0  # the height of a label


@dataclass(frozen=True, slots=True)
class LogPoint:
    """A score at a number, and what it is of."""

    label: str
    x: float
    found: Estimate
    text: str


@dataclass(frozen=True, slots=True)
class LogPanel:
    """Points over one kind of number."""

    axis: str
    points: Sequence[LogPoint]
    none: str  # what stands at the left of the axis, for what is nothing
    least: float = 0.0  # what is less, or nothing, stands there
    counts: bool = False  # whether numbers are large, and written short

    def is_none(self, point: LogPoint) -> bool:
        """Tell a point that stands apart."""
        return point.x <= 0 or point.x < self.least


def log_panels(panels: Sequence[LogPanel], lines: Sequence[Row], about: str, *, up: str, width: int) -> str:
    """Draw panels side by side, or below each other where it is narrow; lines are baselines."""
    scores = [point.found for panel in panels for point in panel.points] + [row.found for row in lines]
    low, high = span([v for e in scores for v in known(e)])
    stacked = width < STACKED
    each = (width - LEFT - 8 - (0 if stacked else GAP * (len(panels) - 1))) / (1 if stacked else len(panels))
    parts = [text_at(4, 12, up, "axis")]
    for number, panel in enumerate(panels):
        left, top = (LEFT, TOP + number * HEIGHT) if stacked else (LEFT + number * (each + GAP), TOP)
        frame = Box(left, top, left + each, top + HEIGHT - TOP - FOOT)
        rise = scale(low, high, frame.bottom, frame.top)
        parts += _levels(low, high, frame, rise, named=stacked or number == 0)
        parts += _panel(panel, lines, frame, rise)
    size = (width, HEIGHT * (len(panels) if stacked else 1))
    said = "; ".join(f"{point.label}: {point.text}" for point in panels[0].points)
    return drawing(about, size, parts, said)


def short_count(number: float) -> str:
    """Write a large number short.

    >>> short_count(500), short_count(20_000), short_count(1e6), short_count(2e9)
    ('500', '20k', '1M', '2B')
    """
    for size, letter in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:g}{letter}"
    return f"{number:g}"


# --- parts -----------------------------------------------------------------------------------------------------------


def _levels(low: float, high: float, frame: Box, rise: Scale, *, named: bool) -> Iterator[str]:
    for tick in round_ticks(low, high):
        y = rise(tick)
        yield f'<line class="grid" x1="{frame.left:.1f}" x2="{frame.right:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
        if named:
            yield text_at(frame.left - 6, y + 4, tick_text(tick), "tick", "end")


def _panel(panel: LogPanel, lines: Sequence[Row], frame: Box, rise: Scale) -> Iterator[str]:
    xs, ticks, edge = _across(panel, frame)
    if edge > frame.left:
        ends = f'y1="{frame.top:.1f}" y2="{frame.bottom:.1f}"'
        yield f'<line class="grid" x1="{edge:.1f}" x2="{edge:.1f}" {ends}/>'
    yield from (text_at(x, frame.bottom + 18, text, "tick", "middle") for x, text in ticks)
    middle = (frame.left + frame.right) / 2
    yield text_at(middle, frame.bottom + 36, fitted(panel.axis, frame.right - frame.left), "axis", "middle")
    shown = [point for point in panel.points if not math.isnan(point.found.value)]
    baselines = [row for row in lines if not math.isnan(row.found.value)]
    covered = [box for point in shown for box in _covered(xs[point.label], point.found, rise)]
    covered += [Box(frame.left, (y := rise(row.found.value)) - 1, frame.right, y + 1) for row in baselines]
    labels = _Labels(frame, covered, [])
    marks, names = [], []
    for number, point in enumerate(shown):
        hue, at = f"hue{number % HUES}", (xs[point.label], rise(point.found.value))
        marks.append(f'<g class="{hue}">{_mark(point, at[0], rise)}</g>')
        names.append(f'<g class="{hue}">{_name(point.label, at, labels)}</g>')
    flags = [_flags(rows, labels, rise) for rows in _close(baselines, rise)]
    yield from (*flags, *marks, *names)


@dataclass(frozen=True, slots=True)
class _Labels:
    """What the names in a panel must not cover."""

    frame: Box
    marks: Sequence[Box]
    names: list[Box]

    @property
    def most(self) -> float:
        """Give how wide a name may be."""
        return NAME * (self.frame.right - self.frame.left)

    def put(self, places: Iterable[Box]) -> Box:
        """Choose a place, and keep it free."""
        box = placed(places, self.frame, self.names, self.marks)
        self.names.append(box)
        return box


def _across(panel: LogPanel, frame: Box) -> tuple[dict[str, float], list[tuple[float, str]], float]:
    """Place points by their logarithms, with ticks, and where the axis begins.

    What is nothing stands before that, and points at the same place beside each other.
    """
    some = [point.x for point in panel.points if not panel.is_none(point)]
    none = [point for point in panel.points if panel.is_none(point)]
    slot = max(50, DODGE * len(none) + 26) if none else 0
    low, high = (min(some), max(some)) if some else (1.0, 10.0)
    low, high = (low / 1.3, high * 1.3) if high / low > 3 else (low / 2, high * 2)
    at = scale(math.log10(low), math.log10(high), frame.left + slot + (18 if none else 12), frame.right - 12)
    apart = frame.left + slot / 2
    placed_at = {p.label: apart if panel.is_none(p) else at(math.log10(p.x)) for p in panel.points}
    written: Callable[[float], str] = short_count if panel.counts else tick_text
    named = [(apart, panel.none)] if none else []
    named += [(at(math.log10(tick)), written(tick)) for tick in log_ticks(low, high)]
    dodged = spread(list(placed_at.values()), frame.right - 6, frame.left + 6, DODGE)
    return dict(zip(placed_at, dodged, strict=True)), spaced(named), frame.left + slot


def _covered(x: float, e: Estimate, rise: Scale) -> Iterator[Box]:
    """Give what a point and its error bar cover."""
    y = rise(e.value)
    yield Box(x - 5, y - 5, x + 5, y + 5)
    if not math.isnan(e.low + e.high):
        yield Box(x - 1.5, rise(e.high), x + 1.5, rise(e.low))


def _mark(point: LogPoint, x: float, rise: Scale) -> str:
    e, bar = point.found, ""
    if not math.isnan(e.low + e.high):
        bar = f'<line class="error" x1="{x:.1f}" x2="{x:.1f}" y1="{rise(e.low):.1f}" y2="{rise(e.high):.1f}"/>'
    title = f"<title>{escape(f'{point.label}: {point.text}')}</title>"
    return f'{title}{bar}<circle class="mark" cx="{x:.1f}" cy="{rise(e.value):.1f}" r="4.5"/>'


def _name(label: str, at: tuple[float, float], labels: _Labels) -> str:
    """Name a point; where its name is not right beside it, a thin line leads there."""
    shown = fitted(label, labels.most)
    box = labels.put(beside(*at, (BOLD * text_width(shown, 12), TEXT)))
    x, y = at
    anchored = (box.right, "end") if box.right < x else (box.left, "start")
    text = text_at(anchored[0], box.bottom - 3, shown, "end", anchored[1])
    if abs(box.middle - y) < TEXT:
        return text
    near = min(max(x, box.left), box.right)
    return f'<line class="leader" x1="{x:.1f}" y1="{y:.1f}" x2="{near:.1f}" y2="{box.middle:.1f}"/>{text}'


def _flags(rows: Sequence[Row], labels: _Labels, rise: Scale) -> str:
    """Draw baselines as lines; the names of those that are close together stand below each other, in their order."""
    shown = [fitted(f"{row.label} {row.text}", labels.most) for row in rows]
    ys, frame = [rise(row.found.value) for row in rows], labels.frame
    size = (max(text_width(name, 12) for name in shown), TEXT * len(rows))
    box = labels.put(along(frame, (ys[0], ys[-1]), size))
    at_end = box.right > (frame.left + frame.right) / 2
    x, anchor = (box.right, "end") if at_end else (box.left, "start")
    drawn = []
    for number, (row, name, y) in enumerate(zip(rows, shown, ys, strict=True)):
        line = f'<line class="baseline" x1="{frame.left:.1f}" x2="{frame.right:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
        title = f"<title>{escape(f'{row.label}: {row.text}')}</title>"
        text = text_at(x, box.top + TEXT * (number + 1) - 3, name, "tick", anchor)
        drawn.append(f'<g class="flag">{title}{line}{text}</g>')
    return "".join(drawn)


def _close(rows: Sequence[Row], rise: Scale) -> Iterator[list[Row]]:
    """Put baselines together whose names would not fit between their lines, the highest first."""
    group: list[Row] = []
    for row in sorted(rows, key=lambda row: rise(row.found.value)):
        if group and rise(row.found.value) - rise(group[-1].found.value) > TEXT + 4:
            yield group
            group = []
        group.append(row)
    if group:
        yield group
