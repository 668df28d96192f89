"""Plots of what transfers to what: a matrix of gains, and a graph of those that are sure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from statistics import fmean
from typing import Literal, TypeAlias

from .drawing import drawing, fitted, text_at, text_width
from .plots import GUTTER, STACKED
from .svg import upright

Sure: TypeAlias = Literal["significant", "interval", "no"]  # p and interval; the interval alone, uncorrected; neither
Place: TypeAlias = tuple[float, float]
CELL, HEAD = 26, 150  # pixels: the height of a row, and the most that names of columns may take
STRONGEST = 0.75  # the opacity of the largest gain
NODE, THICK, THIN = 26, 9.0, 2.0  # the height of a node, and the widths of arrows
SWEEPS = 4  # in which nodes are moved to where their arrows lead


@dataclass(frozen=True, slots=True)
class Arrow:
    """A gain, or a loss, from meta tasks to a target."""

    start: str
    end: str
    gain: float  # in the unit that is shown
    text: str  # the gain with its interval
    sure: Sure

    @property
    def style(self) -> str:
        """Give the colour: one for gains, another for losses."""
        return "hue0" if self.gain >= 0 else "hue1"


STYLES: Mapping[str, str] = {"gain": "hue0", "loss": "hue1"}


# --- the matrix ------------------------------------------------------------------------------------------------------


def gain_matrix(arrows: Sequence[Arrow], rows: Sequence[str], columns: Sequence[str], about: str, *, width: int) -> str:
    """Draw gains in cells that are the darker the larger they are; a star marks those that are significant."""
    narrow = width < STACKED
    left = min(GUTTER * width, max(map(text_width, rows), default=0.0) + 8) + 4
    step = (width - left) / max(1, len(columns))
    names = [fitted(name, HEAD) for name in columns]
    top = 10 + max((text_width(name, 12) for name in names), default=0.0)
    heads = [upright(left + (n + 0.5) * step + 4, round(top - 6), name) for n, name in enumerate(names)]
    most = max((abs(arrow.gain) for arrow in arrows), default=0.0) or 1.0
    labels = [
        text_at(left - 6, top + n * CELL + 17, fitted(name, left - 8), "tick", "end") for n, name in enumerate(rows)
    ]
    drawn = []
    for arrow in arrows:
        x, y = left + columns.index(arrow.end) * step, top + rows.index(arrow.start) * CELL
        shown = _signed(arrow.gain, 0 if narrow or step < 44 else 1) + ("*" if arrow.sure == "significant" else "")
        drawn.append(_cell(arrow, (x, y, step), STRONGEST * abs(arrow.gain) / most, shown if step >= 26 else ""))
    return drawing(about, (width, top + len(rows) * CELL + 6), [*heads, *labels, *drawn], _said(arrows))


def _signed(value: float, digits: int) -> str:
    """Write a gain with its sign, and nothing as nothing.

    >>> _signed(3.14, 1), _signed(-0.6, 0), _signed(-0.04, 1)
    ('+3.1', '−1', '0.0')
    """
    shown = f"{value:+.{digits}f}"
    return shown.replace("-", "−") if float(shown) else shown[1:]


def _cell(arrow: Arrow, place: tuple[float, float, float], share: float, text: str) -> str:
    x, y, width = place
    box = f'x="{x:.1f}" y="{y:.1f}" width="{width - 1:.1f}" height="{CELL - 1}" fill-opacity="{share:.2f}"'
    number = text_at(x + width / 2, y + 17, text, "inside", "middle") if text else ""
    title = f"<title>{escape(f'{arrow.start} to {arrow.end}: {arrow.text}')}</title>"
    return f'<g class="{arrow.style}">{title}<rect class="heat" {box}/>{number}</g>'


def _said(arrows: Sequence[Arrow]) -> str:
    return "; ".join(f"{arrow.start} to {arrow.end}: {arrow.text}" for arrow in arrows)


# --- the graph -------------------------------------------------------------------------------------------------------


def gain_graph(arrows: Sequence[Arrow], starts: Sequence[str], ends: Sequence[str], about: str, *, width: int) -> str:
    """Draw meta tasks to the left, targets to the right, and an arrow for each gain or loss that is sure enough.

    Those that are significant are bands, as wide as they are large; those of which only the uncorrected interval
    leaves out 0 are thin broken lines.
    """
    shown = [arrow for arrow in arrows if arrow.sure != "no"]
    left, right = _ordered(shown, starts, ends)
    used = {arrow.start for arrow in shown} | {f"{arrow.end} " for arrow in shown}
    height = 24 + NODE * max(len(left), len(right), 1)
    names = [max(map(text_width, side), default=0.0) + 16 for side in (left, right)]
    start, end = min(GUTTER * width, names[0]), width - min(GUTTER * width, names[1])
    at = {name: _middle(n, len(left), height) for n, name in enumerate(left)}
    to = {name: _middle(n, len(right), height) for n, name in enumerate(right)}
    sides = [text_at(start - 2, 12, "meta task", "axis", "end"), text_at(end + 2, 12, "target", "axis")]
    nodes = [_node(start, y, name, start - 12, "end", name in used) for name, y in at.items()]
    nodes += [_node(end, y, name, width - end - 12, "start", f"{name} " in used) for name, y in to.items()]
    most = max((abs(arrow.gain) for arrow in shown), default=0.0) or 1.0
    drawn = []
    for arrow in sorted(shown, key=lambda arrow: -abs(arrow.gain)):
        others = sorted((a for a in shown if a.end == arrow.end), key=lambda a: at[a.start])
        aim = to[arrow.end] + (others.index(arrow) - (len(others) - 1) / 2) * min(5.0, 16 / len(others))
        drawn.append(_arrow(arrow, (start + 6, at[arrow.start]), (end - 6, aim), THICK * abs(arrow.gain) / most))
    return drawing(about, (width, height), [*sides, *drawn, *nodes], _said(shown))


def _middle(place: int, count: int, height: float) -> float:
    """Place a node; the shorter side is spread over the whole height."""
    step = (height - 24) / max(1, count)
    return 24 + step * (place + 0.5)


def _ordered(arrows: Sequence[Arrow], starts: Sequence[str], ends: Sequence[str]) -> tuple[list[str], list[str]]:
    """Order nodes so that few arrows cross: each goes to the middle of where its arrows lead; lone ones come last.

    It is the barycentre heuristic (Sugiyama, Tagawa and Toda 1981).
    """
    left, right = list(starts), list(ends)
    for _ in range(SWEEPS):
        right = _by_middle(right, {(arrow.end, arrow.start) for arrow in arrows}, left)
        left = _by_middle(left, {(arrow.start, arrow.end) for arrow in arrows}, right)
    return left, right


def _by_middle(names: Sequence[str], edges: set[tuple[str, str]], others: Sequence[str]) -> list[str]:
    found = {name: [others.index(b) for a, b in edges if a == name] for name in names}
    return sorted(names, key=lambda name: fmean(found[name]) if found[name] else math.inf)


def _node(x: float, y: float, name: str, room: float, anchor: Literal["start", "end"], used: bool) -> str:
    dot = f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="{4 if used else 2}"/>'
    beside = x - 8 if anchor == "end" else x + 8
    label = text_at(beside, y + 4, fitted(name, room), "name" if used else "tick", anchor)
    return f'<g class="baseline"><title>{escape(name)}</title>{dot}{label}</g>'


def _arrow(arrow: Arrow, start: Place, end: Place, thick: float) -> str:
    """Draw a band or a broken line that ends in a head."""
    is_band = arrow.sure == "significant"
    half = max(THIN, thick) / 2
    head, wing = (8.0, half + 3) if is_band else (6.0, 3.0)
    x, y = end
    neck = (x - head, y)
    tip = f'<path class="mark" d="M{neck[0]:.1f},{y - wing:.1f} L{x:.1f},{y:.1f} L{neck[0]:.1f},{y + wing:.1f} Z"/>'
    there = _curve(start, neck, -half if is_band else 0)
    if is_band:
        body = f'<path class="mark" fill-opacity="0.75" d="M{there} L{_curve(neck, start, half)} Z"/>'
    else:
        body = f'<path class="error" fill="none" stroke-dasharray="4 4" d="M{there}"/>'
    title = f"<title>{escape(f'{arrow.start} to {arrow.end}: {arrow.text}')}</title>"
    return f'<g class="{arrow.style}">{title}{body}{tip}</g>'


def _curve(start: Place, end: Place, shift: float) -> str:
    """Write a curve that leaves and arrives level, so far below the places."""
    (x0, y0), (x1, y1) = start, end
    middle, y0, y1 = (x0 + x1) / 2, y0 + shift, y1 + shift
    return f"{x0:.1f},{y0:.1f} C{middle:.1f},{y0:.1f} {middle:.1f},{y1:.1f} {x1:.1f},{y1:.1f}"
