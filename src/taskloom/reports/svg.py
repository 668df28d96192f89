"""Small plots as SVG, drawn by hand: scores with intervals, learning curves, and paired differences.

Colours are CSS variables of the page, so that one drawing serves light and dark; shapes are told by dashes as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from ..stats import Estimate

WIDTH, LEFT, RIGHT = 420, 12, 408  # fonts of 13 in a drawing of 420 stay readable on a phone
ROW, FOOT = 40, 34
HUES = 8
DASHES = ("", "7 3", "2 3", "9 3 2 3")

Scale = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a plot: a label, a number with its interval, and how it is written."""

    label: str
    found: Estimate
    text: str
    style: str = ""  # "floor", "best" or "apart"


def dots(rows: Sequence[Row], about: str) -> str:
    """Draw scores as dots with their intervals; those of floors are lines through the whole drawing."""
    at, axis = _axis([v for row in rows for v in _known(row.found)], len(rows))
    floors = [row for row in rows if row.style == "floor" and not math.isnan(row.found.value)]
    lines = [_vertical(at(row.found.value), len(rows), "floor") for row in floors]
    return _drawing(about, len(rows) * ROW + FOOT, [axis, *lines, *_rows(rows, at)])


def forest(rows: Sequence[Row], about: str) -> str:
    """Draw differences as dots with their intervals, beside the line of no difference."""
    at, axis = _axis([0.0, *(v for row in rows for v in _known(row.found))], len(rows))
    return _drawing(about, len(rows) * ROW + FOOT, [axis, _vertical(at(0), len(rows), "zero"), *_rows(rows, at)])


def curves(lines: Mapping[str, Sequence[tuple[int, Estimate]]], about: str, height: int = 240) -> str:
    """Draw scores over shots, with bands for their intervals; shots are spaced by their logarithm, hues go by order."""
    shots = sorted({n for points in lines.values() for n, _ in points})
    across = _scale(math.log1p(shots[0]), math.log1p(shots[-1]), 46, RIGHT - 12)
    values = [v for points in lines.values() for _, e in points for v in _known(e)]
    low, high = _span(values)
    up = _scale(low, high, height - FOOT, 12)
    grid = [_level(up(tick), _tick_text(tick)) for tick in _ticks(low, high)]
    named = _spaced([(across(math.log1p(n)), str(n)) for n in shots])
    labels = [_text(x, height - 14, name, "tick", "middle") for x, name in named]
    drawn = [_curve(name, points, hue, across, up) for hue, (name, points) in enumerate(lines.items())]
    return _drawing(about, height, [*grid, *labels, _text(RIGHT, height - 1, "shots", "tick", "end"), *drawn])


def key(names: Sequence[str]) -> str:
    """Write which line is whose, in the order of the curves: a list in HTML, so that long names can wrap."""
    shown = (
        f'<li><svg class="swatch" viewBox="0 0 28 10" aria-hidden="true">'
        f'<line class="line hue{hue % HUES}" x1="1" x2="27" y1="5" y2="5"{_dash(hue)}/></svg>{escape(name)}</li>'
        for hue, name in enumerate(names)
    )
    return f'<ul class="key">{"".join(shown)}</ul>'


# --- parts -----------------------------------------------------------------------------------------------------------


def _drawing(about: str, height: int, parts: Sequence[str]) -> str:
    box = f'viewBox="0 0 {WIDTH} {height}"'
    return f'<svg class="plot" {box} role="img" aria-label="{escape(about)}">{"".join(parts)}</svg>'


def _rows(rows: Sequence[Row], at: Scale) -> list[str]:
    return [_row(row, number * ROW, at) for number, row in enumerate(rows)]


def _row(row: Row, top: int, at: Scale) -> str:
    middle = top + 28
    shown = _short(row.label, 54 - len(row.text))
    parts = [f"<title>{escape(f'{row.label}: {row.text}')}</title>", _text(LEFT, top + 15, shown, "name")]
    parts.append(_text(RIGHT, top + 15, row.text, "value", "end"))
    e = row.found
    if not math.isnan(e.low + e.high):
        parts.append(f'<line class="bar" x1="{at(e.low):.1f}" x2="{at(e.high):.1f}" y1="{middle}" y2="{middle}"/>')
    if not math.isnan(e.value):
        parts.append(f'<circle class="dot" cx="{at(e.value):.1f}" cy="{middle}" r="5"/>')
    return f'<g class="row {row.style}">{"".join(parts)}</g>'


def _short(text: str, size: int) -> str:
    """Leave out the middle of a long name, for names differ most at their ends.

    >>> _short("hf:organisation/model-small-1b", 16)
    'hf:or…l-small-1b'
    """
    return text if len(text) <= size else f"{text[: size // 3]}…{text[-(size - size // 3 - 1) :]}"


def _curve(name: str, points: Sequence[tuple[int, Estimate]], hue: int, across: Scale, up: Scale) -> str:
    known = [(across(math.log1p(n)), e, n) for n, e in points if not math.isnan(e.value)]
    band = [(x, e) for x, e, _ in known if not math.isnan(e.low + e.high)]
    around = [(x, up(e.high)) for x, e in band] + [(x, up(e.low)) for x, e in reversed(band)]
    line = " ".join(f"{x:.1f},{up(e.value):.1f}" for x, e, _ in known)
    dot = "".join(f'<circle class="mark" cx="{x:.1f}" cy="{up(e.value):.1f}" r="3.5"/>' for x, e, _ in known)
    said = "; ".join(f"{n} shots: {_tick_text(e.value)}" for _, e, n in known)
    return (
        f'<g class="hue{hue % HUES}"><title>{escape(f"{name}: {said}")}</title>'
        f'<polygon class="band" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in around)}"/>'
        f'<polyline class="line" points="{line}"{_dash(hue)}/>{dot}</g>'
    )


def _dash(hue: int) -> str:
    dash = DASHES[(hue // 2) % len(DASHES)]
    return f' stroke-dasharray="{dash}"' if dash else ""


def _axis(values: Sequence[float], rows: int) -> tuple[Scale, str]:
    low, high = _span(values)
    at = _scale(low, high, LEFT + 8, RIGHT - 8)
    ticks = _spaced([(at(tick), _tick_text(tick)) for tick in _ticks(low, high)])
    drawn = (_vertical(x, rows, "grid") + _text(x, rows * ROW + 22, text, "tick", "middle") for x, text in ticks)
    return at, "".join(drawn)


def _vertical(x: float, rows: int, style: str) -> str:
    return f'<line class="{style}" x1="{x:.1f}" x2="{x:.1f}" y1="4" y2="{rows * ROW + 6}"/>'


def _level(y: float, text: str) -> str:
    return f'<line class="grid" x1="40" x2="{RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>' + _text(
        36, y + 4, text, "tick", "end"
    )


def _text(x: float, y: float, text: str, style: str, anchor: str = "start") -> str:
    return f'<text class="{style}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


# --- scales ----------------------------------------------------------------------------------------------------------


def _known(e: Estimate) -> list[float]:
    return [v for v in (e.value, e.low, e.high) if not math.isnan(v)]


def _span(values: Sequence[float]) -> tuple[float, float]:
    """Give the ends of an axis, a little wider than the values."""
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    reach = (high - low) or abs(high) or 1.0
    return low - 0.04 * reach, high + 0.04 * reach


def _scale(low: float, high: float, first: float, last: float) -> Scale:
    width = (high - low) or 1.0
    return lambda value: first + (value - low) / width * (last - first)


def _ticks(low: float, high: float) -> list[float]:
    """Give round numbers within a span, three to eight of them.

    >>> _ticks(0.3, 9.2)
    [2.0, 4.0, 6.0, 8.0]
    """
    rough = (high - low) / 4
    base = 10.0 ** math.floor(math.log10(rough))
    step = base * next(n for n in (1, 2, 5, 10) if base * n >= rough * 0.75)
    return [round(n * step, 10) for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _tick_text(value: float) -> str:
    return f"{float(f'{value:.4g}'):,.10g}".replace("-", "−")


def _spaced(labels: Sequence[tuple[float, str]]) -> list[tuple[float, str]]:
    """Leave out labels that would run into the one before."""
    kept: list[tuple[float, str]] = []
    for x, text in labels:
        if not kept or x - kept[-1][0] >= 8 * max(len(text), len(kept[-1][1])) / 2 + 14:
            kept.append((x, text))
    return kept
