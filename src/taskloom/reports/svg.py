"""Small charts as SVG, drawn by hand: bars, scatter plots, strips of dots, and heat maps."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from ..stats import Estimate
from .drawing import HUES, Scale, drawing, fitted, known, scale, short, spaced, span, text_at, tick_text, ticks

WIDTH, LEFT, RIGHT = 420, 12, 408  # fonts of 13 in a drawing of 420 stay readable on a phone
ROW, FOOT = 40, 34
LANES_TOP, LANE = 26, 11  # dots with bars: below the name of their row, and below each other
BAR_ROW, BAR_LEFT, BAR_RIGHT = 20, 204, 372  # names to the left of bars, counts to the right
COUNTS_TO = 10  # what an axis of counts reaches at least
COLUMNS_FOOT, MOST_COLUMNS = 160, 30  # of a histogram: where its columns stand, and how many there are
APART = (0, -6, 6, -3, 3)  # how far dots that would hide each other are moved up or down


@dataclass(frozen=True, slots=True)
class Point:
    """A dot of a scatter plot, what it stands for, and the ends of its bar where it has one."""

    x: float
    y: float
    label: str
    low: float = math.nan
    high: float = math.nan


def bars(rows: Sequence[tuple[str, int]], about: str) -> str:
    """Draw counts as bars on a logarithmic axis, which starts at a half, so that a count of one is seen."""
    most, foot = max((count for _, count in rows), default=1), len(rows) * BAR_ROW
    named = [(_bar_end(tick, most), f"{tick:,}") for tick in _log_ticks(max(most, COUNTS_TO))]
    axis = [
        f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="2" y2="{foot + 6}"/>'
        + text_at(x, foot + 20, text, "tick", "middle")
        for x, text in spaced(named)
    ]
    drawn = [_bar(label, count, number * BAR_ROW, most) for number, (label, count) in enumerate(rows)]
    return drawing(about, (WIDTH, foot + FOOT), [*axis, *drawn])


def histogram(values: Sequence[int], about: str, *, axis: str) -> str:
    """Draw how often whole numbers occur, in at most about thirty columns of equal width."""
    width = _column(max(values, default=1))
    counts = Counter(value // width for value in values)
    most, last = max(counts.values(), default=1), max(counts, default=0) + 1
    across, up = scale(0, last * width, 46, RIGHT - 8), scale(0, most, COLUMNS_FOOT, 12)
    grid = [_level(up(tick), tick_text(tick)) for tick in ticks(0, most * 1.02)]
    drawn = [_histogram_column(at * width, width, counts[at], across, up) for at in sorted(counts)]
    marks = spaced([(across(tick), tick_text(tick)) for tick in ticks(0, last * width)])
    labels = [text_at(x, COLUMNS_FOOT + 16, text, "tick", "middle") for x, text in marks]
    named = text_at(RIGHT, COLUMNS_FOOT + 32, axis, "tick", "end")
    return drawing(about, (WIDTH, COLUMNS_FOOT + 38), [*grid, *drawn, *labels, named])


def _column(most: int) -> int:
    """Give a round width of columns.

    >>> [_column(most) for most in (8, 40, 300, 1500)]
    [1, 2, 10, 50]
    """
    widths = (times * int(10**power) for power in range(12) for times in (1, 2, 5))
    return next(width for width in widths if most / width <= MOST_COLUMNS)


def _histogram_column(first: int, width: int, count: int, across: Scale, up: Scale) -> str:
    left, right, top = across(first), across(first + width), up(count)
    said = f"{first:,}" if width == 1 else f"{first:,} to {first + width - 1:,}"
    box = f'x="{left + 0.5:.1f}" y="{top:.1f}" width="{max(0.5, right - left - 1):.1f}"'
    column = f'<rect class="count" {box} height="{COLUMNS_FOOT - top:.1f}"/>'
    return f'<g class="row"><title>{escape(f"{said}: {count:,}")}</title>{column}</g>'


def log_share(count: float, most: float) -> float:
    """Give how far along a logarithmic axis a count is, from a half to the most there is, but at least ten.

    >>> log_share(0, 50), log_share(50, 50), round(log_share(5, 50), 2)
    (0.0, 1.0, 0.5)
    """
    return math.log(2 * count) / math.log(2 * max(most, COUNTS_TO)) if count else 0.0


def dot_styles(solid: Sequence[str], hollow: Mapping[str, str] | None = None) -> dict[str, str]:
    """Give each series of dots a colour; a hollow one has that of the solid one that it belongs to."""
    own = {name: f"hue{hue % HUES}" for hue, name in enumerate([*solid, *(n for n in hollow or {} if n not in solid)])}
    return {name: own[name] for name in solid} | {other: f"hollow {own[n]}" for n, other in (hollow or {}).items()}


def dot_key(styles: Mapping[str, str]) -> str:
    """Write which dots are whose."""
    drawn = {n: f'<g class="{style}"><circle class="mark" cx="14" cy="5" r="4"/></g>' for n, style in styles.items()}
    return _key(drawn)


def line_key(styles: Mapping[str, str]) -> str:
    """Write which lines are whose."""
    line = '<polyline class="line" points="2,5 26,5"/>'
    return _key({name: f'<g class="{style}">{line}</g>' for name, style in styles.items()})


def _key(swatches: Mapping[str, str]) -> str:
    shown = (
        f'<li><svg class="swatch" viewBox="0 0 28 10" aria-hidden="true">{drawn}</svg>{escape(name)}</li>'
        for name, drawn in swatches.items()
    )
    return f'<ul class="key">{"".join(shown)}</ul>'


def scatter(
    series: Mapping[str, Sequence[Point]], about: str, *, x: str, y: str, size: int = 420,
    lines: Mapping[str, tuple[float, float]] | None = None, ends: tuple[float, float] | None = None,
) -> str:  # fmt: skip
    """Draw points of several series in a square, where both sides have one scale, beside the line on which x is y.

    A series may have a line of its own: its slope and intercept. The scale reaches as far as points do, or to its ends.
    """
    fits = {name: _ends(points, lines[name]) for name, points in series.items() if lines and name in lines}
    placed = [point for points in (*series.values(), *fits.values()) for point in points]
    low, high = ends or span([v for p in placed for v in (p.x, p.y, p.low, p.high) if not math.isnan(v)])
    across, up = scale(low, high, 46, RIGHT - 8), scale(low, high, size - FOOT, 12)
    marks = ticks(low, high)
    grid = [_level(up(tick), tick_text(tick)) for tick in marks]
    labels = [
        text_at(at, size - 16, text, "tick", "middle")
        for at, text in spaced([(across(t), tick_text(t)) for t in marks])
    ]
    even = f'<line class="even" x1="{across(low):.1f}" y1="{up(low):.1f}" x2="{across(high):.1f}" y2="{up(high):.1f}"/>'
    drawn = [_points(points, hue, across, up) for hue, points in enumerate(series.values())]
    drawn += [_line(fits[name], hue, across, up) for hue, name in enumerate(series) if name in fits]
    named = [text_at(RIGHT, size - 1, x, "tick", "end"), text_at(50, 12, y, "tick")]
    return drawing(about, (WIDTH, size), [*grid, even, *labels, *named, *drawn])


def strips(rows: Mapping[str, Mapping[str, Estimate]], styles: Mapping[str, str], about: str) -> str:
    """Draw the scores of several series as dots: in one line for each row, or below each other where some have bars."""
    found = [e for row in rows.values() for e in row.values() if not math.isnan(e.value)]
    barred = any(not math.isnan(e.low + e.high) for e in found)
    heights = [LANES_TOP + LANE * len(row) if barred else ROW for row in rows.values()]
    *tops, foot = itertools.accumulate([0, *heights])
    at, axis = _axis([v for e in found for v in (known(e) if barred else [e.value])], foot)
    draw = _lanes if barred else _strip
    lines = [draw(row, of, styles, top, at) for top, (row, of) in zip(tops, rows.items(), strict=True)]
    return drawing(about, (WIDTH, foot + FOOT), [axis, *lines])


def heat(
    rows: Sequence[tuple[str, Sequence[float | None], str]], columns: Sequence[str], about: str, *, cell: float = 0
) -> str:
    """Draw rows of numbers in cells that are the darker the larger they are; each has a name and a style.

    Columns share the usual width, or are wide enough for cells of so many pixels.
    """
    cells = [value for _, values, _ in rows for value in values if value is not None]
    share = scale(min(cells, default=0), max(cells, default=1), 0.08, 0.6)
    top = 14 + round(7.2 * max(map(len, columns), default=0))
    left = LEFT + min(200, round(6.8 * max((len(name) for name, _, _ in rows), default=0))) + 8
    step = max(cell, (RIGHT - left) / max(1, len(columns)))
    heads = [upright(left + (n + 0.5) * step + 4, top - 6, name) for n, name in enumerate(columns)]
    drawn = []
    for number, (name, values, style) in enumerate(rows):
        y = top + number * 24
        boxes = [
            _heat_cell(left + n * step, y, step, value, share(value), f"{name}, {columns[n]}")
            for n, value in enumerate(values)
            if value is not None
        ]
        drawn.append(f'<g class="{style}">{text_at(LEFT, y + 16, short(name, 30), "tick")}{"".join(boxes)}</g>')
    width = max(WIDTH, left + step * len(columns) + WIDTH - RIGHT)
    return drawing(about, (width, top + len(rows) * 24 + 6), [*heads, *drawn])


# --- parts -----------------------------------------------------------------------------------------------------------


def _bar(label: str, count: int, top: int, most: int) -> str:
    said, end = f"{count:,}", _bar_end(count, most)
    return (
        f'<g class="row"><title>{escape(f"{label}: {said}")}</title>'
        f"{text_at(BAR_LEFT - 6, top + 15, fitted(label, BAR_LEFT - 8), 'name', 'end')}"
        f'<rect class="count" x="{BAR_LEFT}" y="{top + 4}" width="{end - BAR_LEFT:.1f}" height="{BAR_ROW - 6}"/>'
        f"{text_at(end + 5, top + 15, said, 'value')}</g>"
    )


def _bar_end(count: int, most: int) -> float:
    return BAR_LEFT + log_share(count, most) * (BAR_RIGHT - BAR_LEFT)


def _points(points: Sequence[Point], hue: int, across: Scale, up: Scale) -> str:
    bars = (
        f'<line class="error" x1="{x:.1f}" x2="{x:.1f}" y1="{up(p.low):.1f}" y2="{up(p.high):.1f}"/>'
        for p in points
        if not math.isnan(p.low + p.high)
        for x in [across(p.x)]
    )
    shown = (
        f'<circle class="mark" cx="{across(p.x):.1f}" cy="{up(p.y):.1f}" r="4"><title>'
        f"{escape(f'{p.label}: {tick_text(p.x)}, {tick_text(p.y)}')}</title></circle>"
        for p in points
    )
    return f'<g class="hue{hue % HUES}">{"".join(bars)}{"".join(shown)}</g>'


def _ends(points: Sequence[Point], line: tuple[float, float]) -> list[Point]:
    """Give the ends of a line that goes as far as its points do."""
    slope, intercept = line
    ends = (min(p.x for p in points), max(p.x for p in points))
    return [Point(x, slope * x + intercept, "") for x in ends]


def _line(points: Sequence[Point], hue: int, across: Scale, up: Scale) -> str:
    places = " ".join(f"{across(p.x):.1f},{up(p.y):.1f}" for p in points)
    return f'<g class="hue{hue % HUES}"><polyline class="line" points="{places}"/></g>'


def _lanes(name: str, found: Mapping[str, Estimate], styles: Mapping[str, str], top: int, at: Scale) -> str:
    """Draw each series in a line of its own, with its interval."""
    marks = []
    for number, (one, e) in enumerate(found.items()):
        y = top + LANES_TOP + LANE * number
        ends = f" [{tick_text(e.low)}, {tick_text(e.high)}]" if not math.isnan(e.low + e.high) else ""
        bar = f'<line class="error" x1="{at(e.low):.1f}" x2="{at(e.high):.1f}" y1="{y}" y2="{y}"/>' if ends else ""
        if not math.isnan(e.value):
            title = f"<title>{escape(f'{name}, {one}: {tick_text(e.value)}{ends}')}</title>"
            dot = f'<circle class="mark" cx="{at(e.value):.1f}" cy="{y}" r="4"/>'
            marks.append(f'<g class="{styles[one]}">{title}{bar}{dot}</g>')
    return text_at(LEFT, top + 15, name, "name") + "".join(marks)


def _strip(name: str, found: Mapping[str, Estimate], styles: Mapping[str, str], top: int, at: Scale) -> str:
    placed = sorted((at(e.value), one, e) for one, e in found.items() if not math.isnan(e.value))
    marks, before, shift = [], -math.inf, 0
    for x, one, e in placed:
        shift = (shift + 1) % len(APART) if x - before < 9 else 0  # dots that would hide each other
        title = f"<title>{escape(f'{name}, {one}: {tick_text(e.value)}')}</title>"
        dot = f'<circle class="mark" cx="{x:.1f}" cy="{top + 28 + APART[shift]}" r="4.5"/>'
        marks.append(f'<g class="{styles[one]}">{title}{dot}</g>')
        before = x
    return text_at(LEFT, top + 15, name, "name") + "".join(marks)


def upright(x: float, y: float, text: str) -> str:
    """Write a text that is read from below."""
    return f'<text class="tick" transform="translate({x:.1f} {y}) rotate(-90)">{escape(text)}</text>'


def _heat_cell(x: float, y: float, width: float, value: float, share: float, label: str) -> str:
    title, box = f"{label}: {tick_text(value)}", f'x="{x:.1f}" y="{y}" width="{width - 1:.1f}" height="23"'
    drawn = f'<rect class="heat" {box} fill-opacity="{share:.2f}"/>'
    number = text_at(x + width / 2, y + 16, f"{value:.0f}", "inside", "middle")
    return f"<g><title>{escape(title)}</title>{drawn}{number}</g>"


def _axis(values: Sequence[float], foot: int) -> tuple[Scale, str]:
    low, high = span(values)
    at = scale(low, high, LEFT + 8, RIGHT - 8)
    marks = spaced([(at(tick), tick_text(tick)) for tick in ticks(low, high)])
    drawn = (_vertical(x, foot, "grid") + text_at(x, foot + 22, text, "tick", "middle") for x, text in marks)
    return at, "".join(drawn)


def _vertical(x: float, foot: int, style: str) -> str:
    return f'<line class="{style}" x1="{x:.1f}" x2="{x:.1f}" y1="4" y2="{foot + 6}"/>'


def _level(y: float, text: str) -> str:
    return f'<line class="grid" x1="40" x2="{RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>' + text_at(
        36, y + 4, text, "tick", "end"
    )


def _log_ticks(most: int) -> list[int]:
    """Give powers of ten, and where there are few also twos and fives.

    >>> _log_ticks(1040), _log_ticks(30)
    ([1, 10, 100, 1000], [1, 2, 5, 10, 20])
    """
    powers = [10**n for n in range(len(str(most)))]
    return powers if len(powers) > 2 else [tick for n in powers for tick in (n, 2 * n, 5 * n) if tick <= most]
