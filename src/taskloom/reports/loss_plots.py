"""Losses over steps as small multiples: a panel for each model or learner, all with one axis of losses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from .drawing import Scale, drawing, fitted, log_ticks, scale, spaced, text_at, tick_text, ticks
from .svg import line_key
from .training import LossCurve, LossPoint

WIDTH, HEIGHT = 300, 190
LEFT, RIGHT, TOP, FOOT = 44, 292, 28, 150  # of the frame
DECADES = 4  # that a logarithmic axis goes down at most: a loss of almost nothing is drawn at its foot
LOGARITHMIC = 8  # an axis is, where the largest loss is so many times the smallest
STYLES = {"training": "hue0", "validation": "hue1"}


@dataclass(frozen=True, slots=True)
class _LossAxis:
    """Where losses are drawn: the same in all panels."""

    place: Scale
    marks: Sequence[float]
    is_log: bool

    @classmethod
    def of(cls, values: Sequence[float]) -> _LossAxis:
        low, high = min(values), max(values)
        floor = max(low, high / 10**DECADES)
        if floor > 0 and high / floor >= LOGARITHMIC:
            at = scale(math.log10(floor / 1.1), math.log10(high * 1.1), FOOT, TOP)
            marks = log_ticks(floor / 1.1, high * 1.1)
            return cls(lambda value: at(math.log10(max(value, floor))), marks, True)
        reach = 0.05 * ((high - low) or abs(high) or 1.0)
        low, high = min(0.0, low), high + reach
        return cls(scale(low, high, FOOT, TOP), ticks(low, high), False)


def losses(curves: Sequence[LossCurve]) -> Iterator[tuple[str, str]]:
    """Draw a panel for each model or learner, with its name."""
    if not curves:
        return
    axis = _LossAxis.of([v for curve in curves for _, mean, least, most in curve.points for v in (mean, least, most)])
    for label in dict.fromkeys(curve.label for curve in curves):
        yield label, _panel(label, [curve for curve in curves if curve.label == label], axis)


def key(curves: Sequence[LossCurve]) -> str:
    """Write which line is which, where there are two."""
    sets = dict.fromkeys(curve.set for curve in curves)
    return line_key({name: STYLES[name] for name in STYLES if name in sets}) if len(sets) > 1 else ""


def is_logarithmic(curves: Sequence[LossCurve]) -> bool:
    """Tell whether the axis of losses is."""
    return bool(curves) and _LossAxis.of([v for c in curves for point in c.points for v in point[1:]]).is_log


def _panel(label: str, curves: Sequence[LossCurve], axis: _LossAxis) -> str:
    last = max(point[0] for curve in curves for point in curve.points)
    across = scale(0, last or 1, LEFT + 4, RIGHT - 4)
    levels = [_level(axis.place(mark), tick_text(mark)) for mark in axis.marks]
    steps = [(across(step), tick_text(step)) for step in ticks(0, max(last, 1)) if step == round(step)]
    named = [text_at(x, FOOT + 17, text, "tick", "middle") for x, text in spaced(steps)]
    title = text_at(4, 14, fitted(label, WIDTH - 8), "name")
    drawn = [f'<g class="{STYLES[curve.set]}">{_curve(curve, across, axis.place)}</g>' for curve in curves]
    said = "; ".join(_spoken(curve) for curve in curves)
    axes = [title, text_at((LEFT + RIGHT) / 2, FOOT + 35, "step", "axis", "middle")]
    return drawing(f"loss of {label} over steps", (WIDTH, HEIGHT), [*levels, *named, *axes, *drawn], said)


def _curve(curve: LossCurve, across: Scale, up: Scale) -> str:
    """Draw the mean over cells, and a band from the least to the most; of one step alone, a dot and a bar."""
    title = f"<title>{escape(_spoken(curve))}</title>"
    if len(curve.points) == 1:
        ((step, mean, least, most),) = curve.points
        x = f"{across(step):.1f}"
        bar = f'<line class="error" x1="{x}" x2="{x}" y1="{up(least):.1f}" y2="{up(most):.1f}"/>'
        return f'{title}{bar}<circle class="mark" cx="{x}" cy="{up(mean):.1f}" r="3.5"/>'
    upper = _path([(across(step), up(most)) for step, _, _, most in curve.points])
    lower = _path([(across(step), up(least)) for step, _, least, _ in reversed(curve.points)])
    line = _path([(across(step), up(mean)) for step, mean, _, _ in curve.points])
    return f'{title}<polygon class="band" points="{upper} {lower}"/><polyline class="line thin" points="{line}"/>'


def _path(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _spoken(curve: LossCurve) -> str:
    first, last = curve.points[0], curve.points[-1]
    return f"{curve.set} loss: {_at(first)}, {_at(last)}"


def _at(point: LossPoint) -> str:
    return f"{tick_text(point[1])} at step {point[0]:,.0f}"


def _level(y: float, text: str) -> str:
    line = f'<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
    return line + text_at(LEFT - 6, y + 4, text, "tick", "end")
