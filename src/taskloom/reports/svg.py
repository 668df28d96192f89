"""Small plots as SVG, drawn by hand: scores with intervals, learning curves, and paired differences.

Colours are CSS variables of the page, so that one drawing serves light and dark; shapes are told by dashes as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TypeAlias
from unicodedata import east_asian_width

from ..episodes import Shots, shots_order
from ..stats import Estimate

WIDTH, LEFT, RIGHT = 420, 12, 408  # fonts of 13 in a drawing of 420 stay readable on a phone
ROW, FOOT = 40, 34
BAR_ROW, BAR_LEFT, BAR_RIGHT = 20, 204, 372  # names to the left of bars, counts to the right
COUNTS_TO = 10  # what an axis of counts reaches at least
HUES = 10
APART = (0, -6, 6, -3, 3)  # how far dots that would hide each other are moved up or down
DASHES = ("", "7 3", "2 3", "9 3 2 3")

Scale: TypeAlias = Callable[[float], float]
Spot: TypeAlias = tuple[Shots | float, Estimate]  # of a curve


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a plot: a label, a number with its interval, and how it is written."""

    label: str
    found: Estimate
    text: str
    style: str = ""  # "baseline", "best", "apart" or "published"


@dataclass(frozen=True, slots=True)
class Point:
    """A dot of a scatter plot, and what it stands for."""

    x: float
    y: float
    label: str


def dots(rows: Sequence[Row], about: str) -> str:
    """Draw scores as dots with their intervals; those of baselines are lines through the whole drawing."""
    at, axis = _axis([v for row in rows for v in _known(row.found)], len(rows))
    baselines = [row for row in rows if row.style == "baseline" and not math.isnan(row.found.value)]
    lines = [_vertical(at(row.found.value), len(rows), "baseline") for row in baselines]
    return _drawing(about, len(rows) * ROW + FOOT, [axis, *lines, *_rows(rows, at)])


def forest(rows: Sequence[Row], about: str) -> str:
    """Draw differences as dots with their intervals, beside the line of no difference."""
    at, axis = _axis([0.0, *(v for row in rows for v in _known(row.found))], len(rows))
    return _drawing(about, len(rows) * ROW + FOOT, [axis, _vertical(at(0), len(rows), "zero"), *_rows(rows, at)])


def curves(lines: Mapping[str, Sequence[Spot]], about: str, *, over: str = "shots", height: int = 240) -> str:
    """Draw scores over shots, with bands for their intervals; shots are spaced by their logarithm, hues go by order."""
    along = _along({x for points in lines.values() for x, _ in points})
    reach = _scale(min(along.values()), max(along.values()), 46, RIGHT - 12)
    across = {x: reach(place) for x, place in along.items()}
    values = [v for points in lines.values() for _, e in points for v in _known(e)]
    low, high = _span(values)
    up = _scale(low, high, height - FOOT, 12)
    grid = [_level(up(tick), _tick_text(tick)) for tick in _ticks(low, high)]
    named = _spaced([(at, x if isinstance(x, str) else _tick_text(x)) for x, at in across.items()])
    labels = [_text(x, height - 14, name, "tick", "middle") for x, name in named]
    drawn = [_curve(name, points, hue, across, up, over) for hue, (name, points) in enumerate(lines.items())]
    return _drawing(about, height, [*grid, *labels, _text(RIGHT, height - 1, over, "tick", "end"), *drawn])


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


def bars(rows: Sequence[tuple[str, int]], about: str) -> str:
    """Draw counts as bars on a logarithmic axis, which starts at a half, so that a count of one is seen."""
    most, foot = max((count for _, count in rows), default=1), len(rows) * BAR_ROW
    named = [(_bar_end(tick, most), f"{tick:,}") for tick in _log_ticks(max(most, COUNTS_TO))]
    axis = [
        f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="2" y2="{foot + 6}"/>'
        + _text(x, foot + 20, text, "tick", "middle")
        for x, text in _spaced(named)
    ]
    drawn = [_bar(label, count, number * BAR_ROW, most) for number, (label, count) in enumerate(rows)]
    return _drawing(about, foot + FOOT, [*axis, *drawn])


def log_share(count: float, most: float) -> float:
    """Give how far along a logarithmic axis a count is, from a half to the most there is, but at least ten.

    >>> log_share(0, 50), log_share(50, 50), round(log_share(5, 50), 2)
    (0.0, 1.0, 0.5)
    """
    return math.log(2 * count) / math.log(2 * max(most, COUNTS_TO)) if count else 0.0


def key(names: Sequence[str]) -> str:
    """Write which line is whose, in the order of the curves: a list in HTML, so that long names can wrap."""
    return _key(
        {n: f'<line class="line hue{h % HUES}" x1="1" x2="27" y1="5" y2="5"{_dash(h)}/>' for h, n in enumerate(names)}
    )


def dot_styles(solid: Sequence[str], hollow: Mapping[str, str] | None = None) -> dict[str, str]:
    """Give each series of dots a colour; a hollow one has that of the solid one that it belongs to."""
    own = {name: f"hue{hue % HUES}" for hue, name in enumerate([*solid, *(n for n in hollow or {} if n not in solid)])}
    return {name: own[name] for name in solid} | {told: f"hollow {own[n]}" for n, told in (hollow or {}).items()}


def dot_key(styles: Mapping[str, str]) -> str:
    """Write which dots are whose."""
    drawn = {n: f'<g class="{style}"><circle class="mark" cx="14" cy="5" r="4"/></g>' for n, style in styles.items()}
    return _key(drawn)


def _key(swatches: Mapping[str, str]) -> str:
    shown = (
        f'<li><svg class="swatch" viewBox="0 0 28 10" aria-hidden="true">{drawn}</svg>{escape(name)}</li>'
        for name, drawn in swatches.items()
    )
    return f'<ul class="key">{"".join(shown)}</ul>'


def scatter(series: Mapping[str, Sequence[Point]], about: str, *, x: str, y: str, size: int = 420) -> str:
    """Draw points of several series in a square, where both sides have one scale, beside the line on which x is y."""
    values = [v for points in series.values() for point in points for v in (point.x, point.y)]
    low, high = _span(values)
    across, up = _scale(low, high, 46, RIGHT - 8), _scale(low, high, size - FOOT, 12)
    ticks = _ticks(low, high)
    grid = [_level(up(tick), _tick_text(tick)) for tick in ticks]
    labels = [
        _text(at, size - 16, text, "tick", "middle")
        for at, text in _spaced([(across(t), _tick_text(t)) for t in ticks])
    ]
    even = f'<line class="even" x1="{across(low):.1f}" y1="{up(low):.1f}" x2="{across(high):.1f}" y2="{up(high):.1f}"/>'
    drawn = [_points(points, hue, across, up) for hue, points in enumerate(series.values())]
    named = [_text(RIGHT, size - 1, x, "tick", "end"), _text(50, 12, y, "tick")]
    return _drawing(about, size, [*grid, even, *labels, *named, *drawn])


def strips(rows: Mapping[str, Mapping[str, Estimate]], styles: Mapping[str, str], about: str) -> str:
    """Draw the scores of several series as dots in one line for each row."""
    at, axis = _axis([e.value for found in rows.values() for e in found.values() if not math.isnan(e.value)], len(rows))
    lines = [_strip(row, found, styles, number * ROW, at) for number, (row, found) in enumerate(rows.items())]
    return _drawing(about, len(rows) * ROW + FOOT, [axis, *lines])


def heat(rows: Sequence[tuple[str, Sequence[float | None], str]], columns: Sequence[str], about: str) -> str:
    """Draw rows of numbers in cells that are the darker the larger they are; each has a name and a style."""
    known = [value for _, values, _ in rows for value in values if value is not None]
    share = _scale(min(known, default=0), max(known, default=1), 0.08, 0.6)
    top = 14 + round(7.2 * max(map(len, columns), default=0))
    left = LEFT + min(200, round(6.8 * max((len(name) for name, _, _ in rows), default=0))) + 8
    step = (RIGHT - left) / max(1, len(columns))
    heads = [_upright(left + (n + 0.5) * step + 4, top - 6, name) for n, name in enumerate(columns)]
    drawn = []
    for number, (name, values, style) in enumerate(rows):
        y = top + number * 24
        boxes = [
            _heat_cell(left + n * step, y, step, value, share(value), f"{name}, {columns[n]}")
            for n, value in enumerate(values)
            if value is not None
        ]
        drawn.append(f'<g class="{style}">{_text(LEFT, y + 16, _short(name, 30), "tick")}{"".join(boxes)}</g>')
    return _drawing(about, top + len(rows) * 24 + 6, [*heads, *drawn])


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


def _bar(label: str, count: int, top: int, most: int) -> str:
    said, end = f"{count:,}", _bar_end(count, most)
    return (
        f'<g class="row"><title>{escape(f"{label}: {said}")}</title>'
        f"{_text(BAR_LEFT - 6, top + 15, _fitted(label, BAR_LEFT - 8), 'name', 'end')}"
        f'<rect class="count" x="{BAR_LEFT}" y="{top + 4}" width="{end - BAR_LEFT:.1f}" height="{BAR_ROW - 6}"/>'
        f"{_text(end + 5, top + 15, said, 'value')}</g>"
    )


def _bar_end(count: int, most: int) -> float:
    return BAR_LEFT + log_share(count, most) * (BAR_RIGHT - BAR_LEFT)


def _short(text: str, size: int) -> str:
    """Leave out the middle of a long name, for names differ most at their ends.

    >>> _short("hf:organisation/model-small-1b", 16)
    'hf:or…l-small-1b'
    """
    return text if len(text) <= size else f"{text[: size // 3]}…{text[-(size - size // 3 - 1) :]}"


def _fitted(text: str, room: float) -> str:
    """Leave out the beginning of a name that is wider than there is room, by a guess at the widths of wide fonts.

    >>> _fitted("Social Media -> Twitter", 200), _fitted("城市道路绿化", 70)
    ('Social Media -> Twitter', '…道路绿化')
    """
    cut = (text if not at else f"…{text[at:].lstrip(' ->')}" for at in range(len(text)))
    return next((one for one in cut if 13 * sum(map(_em, one)) <= room), text[-1:])


def _em(character: str) -> float:
    if east_asian_width(character) in "WF":
        return 1.0
    return 0.36 if character in " fijlrt.,:;-'()" else 0.95 if character in "mwMW@%>…" else 0.62


def _curve(
    name: str, points: Sequence[Spot], hue: int, across: Mapping[Shots | float, float], up: Scale, over: str
) -> str:
    known = [(across[n], e, n) for n, e in points if not math.isnan(e.value)]
    band = [(x, e) for x, e, _ in known if not math.isnan(e.low + e.high)]
    around = [(x, up(e.high)) for x, e in band] + [(x, up(e.low)) for x, e in reversed(band)]
    line = " ".join(f"{x:.1f},{up(e.value):.1f}" for x, e, _ in known)
    dot = "".join(f'<circle class="mark" cx="{x:.1f}" cy="{up(e.value):.1f}" r="3.5"/>' for x, e, _ in known)
    said = "; ".join(f"{n if isinstance(n, str) else f'{n:g}'} {over}: {_tick_text(e.value)}" for _, e, n in known)
    return (
        f'<g class="hue{hue % HUES}"><title>{escape(f"{name}: {said}")}</title>'
        f'<polygon class="band" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in around)}"/>'
        f'<polyline class="line" points="{line}"{_dash(hue)}/>{dot}</g>'
    )


def _points(points: Sequence[Point], hue: int, across: Scale, up: Scale) -> str:
    shown = (
        f'<circle class="mark" cx="{across(p.x):.1f}" cy="{up(p.y):.1f}" r="4"><title>'
        f"{escape(f'{p.label}: {_tick_text(p.x)}, {_tick_text(p.y)}')}</title></circle>"
        for p in points
    )
    return f'<g class="hue{hue % HUES}">{"".join(shown)}</g>'


def _strip(name: str, found: Mapping[str, Estimate], styles: Mapping[str, str], top: int, at: Scale) -> str:
    known = sorted((at(e.value), one, e) for one, e in found.items() if not math.isnan(e.value))
    marks, before, shift = [], -math.inf, 0
    for x, one, e in known:
        shift = (shift + 1) % len(APART) if x - before < 9 else 0  # dots that would hide each other
        title = f"<title>{escape(f'{name}, {one}: {_tick_text(e.value)}')}</title>"
        dot = f'<circle class="mark" cx="{x:.1f}" cy="{top + 28 + APART[shift]}" r="4.5"/>'
        marks.append(f'<g class="{styles[one]}">{title}{dot}</g>')
        before = x
    return _text(LEFT, top + 15, name, "name") + "".join(marks)


def _upright(x: float, y: float, text: str) -> str:
    return f'<text class="tick" transform="translate({x:.1f} {y}) rotate(-90)">{escape(text)}</text>'


def _heat_cell(x: float, y: float, width: float, value: float, share: float, label: str) -> str:
    title, box = f"{label}: {_tick_text(value)}", f'x="{x:.1f}" y="{y}" width="{width - 1:.1f}" height="23"'
    drawn = f'<rect class="heat" {box} fill-opacity="{share:.2f}"/>'
    number = _text(x + width / 2, y + 16, f"{value:.0f}", "inside", "middle")
    return f"<g><title>{escape(title)}</title>{drawn}{number}</g>"


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


def _log_ticks(most: int) -> list[int]:
    """Give powers of ten, and where there are few also twos and fives.

    >>> _log_ticks(1040), _log_ticks(30)
    ([1, 10, 100, 1000], [1, 2, 5, 10, 20])
    """
    powers = [10**n for n in range(len(str(most)))]
    return powers if len(powers) > 2 else [tick for n in powers for tick in (n, 2 * n, 5 * n) if tick <= most]


def _tick_text(value: float) -> str:
    return f"{float(f'{value:.4g}'):,.10g}".replace("-", "−")


def _spaced(labels: Sequence[tuple[float, str]]) -> list[tuple[float, str]]:
    """Leave out labels that would run into the one before."""
    kept: list[tuple[float, str]] = []
    for x, text in labels:
        if not kept or x - kept[-1][0] >= 8 * max(len(text), len(kept[-1][1])) / 2 + 14:
            kept.append((x, text))
    return kept
