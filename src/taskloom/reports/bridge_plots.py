"""Bridges between tasks, drawn: fields in a row, meta tasks as arrows between them, and the target dashed below."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import product

from ..suites.bridges import Bridge, Partition, bridge
from ..suites.fields import parse_task_id
from .drawing import HUES, drawing, text_at, text_width

WIDTH, MARGIN, FIELD_HEIGHT, PADDING = 420, 8, 26, 9
TOP, RISE, FALL = 34, 20, 26  # below the title; of an arc, for each field that it passes; of the target's arc
HEAD = 7  # the length of an arrow's head


def bridge_plot(name: str, of: Partition, titles: Mapping[str, str]) -> str:
    """Draw a partition: each field once, in the order in which a walk from the target's inputs comes to it."""
    found, order = bridge(of), fields_in_order(of)
    places = _places([titles.get(field, field) for field in order])
    at = dict(zip(order, places, strict=True))
    arcs = [_passed(order, edge) for task in of.meta for edge in _edges(task)]
    middle = TOP + RISE * max([0, *arcs]) + FIELD_HEIGHT / 2 + 10
    parts = [text_at(MARGIN, 16, f"{name}: {bridge_text(found)}", "name")]
    for number, task in enumerate(of.meta):
        hue = f"hue{number % HUES}"
        parts += [_arrow(at, order, edge, middle, hue, task, up=True) for edge in _edges(task)]
    parts += [_arrow(at, order, edge, middle, "target", of.target, up=False) for edge in _edges(of.target)]
    parts += [_field(titles.get(field, field), x, middle) for field, x in at.items()]
    falls = max(_passed(order, edge) for edge in _edges(of.target))
    foot = middle + FIELD_HEIGHT / 2 + FALL + RISE * falls
    return drawing(f"{name}: {of}", (WIDTH, foot), parts, bridge_text(found))


def bridge_text(found: Bridge) -> str:
    """Say in words how a target stands to its meta tasks.

    >>> bridge_text(bridge(Partition(("a->b", "b->c"), "a->c")))
    'single leap over b'
    """
    if found.shape == "broken":
        return "broken bridge"
    used = {field for task in found.path for field in parse_task_id(task)[0]}
    over = dict.fromkeys(field for task in found.path for field in parse_task_id(task)[1] if field in used)
    passed = f" over {' and '.join(over)}" if over else ""
    leaps = {0: "direct", 1: "single leap", 2: "two leaps"}.get(found.leaps, f"{found.leaps} leaps")
    return f"{leaps}{passed}{'' if found.whole else ', in part'}"


def fields_in_order(of: Partition) -> list[str]:
    """Order fields: the target's inputs, what is reached from them, what is not, and the target's outputs.

    >>> fields_in_order(Partition(("abstract->keywords", "keywords->title"), "abstract->title"))
    ['abstract', 'keywords', 'title']
    """
    inputs, outputs = parse_task_id(of.target)
    edges = [edge for task in of.meta for edge in _edges(task)]
    found, waiting = [*inputs], [*edges]
    while following := [end for start, end in waiting if start in found and end not in (*found, *outputs)]:
        found += dict.fromkeys(following)
    rest = [field for edge in edges for field in edge if field not in (*found, *outputs)]
    return [*found, *dict.fromkeys(rest), *outputs]


def _edges(task: str) -> list[tuple[str, str]]:
    return list(product(*parse_task_id(task)))


def _places(names: Sequence[str]) -> list[float]:
    """Give the middle of each field, with equal gaps between them."""
    widths = [text_width(name) + 2 * PADDING for name in names]
    gap = (WIDTH - 2 * MARGIN - sum(widths)) / max(1, len(names) - 1)
    left, found = float(MARGIN), list[float]()
    for width in widths:
        found.append(left + width / 2)
        left += width + gap
    return found


def _passed(order: Sequence[str], edge: tuple[str, str]) -> int:
    """Count the fields that an arrow passes; one that leads back rises as if it passed one more."""
    start, end = order.index(edge[0]), order.index(edge[1])
    return abs(end - start) - 1 + (end < start)


def _field(name: str, x: float, y: float) -> str:
    width = text_width(name) + 2 * PADDING
    box = f'x="{x - width / 2:.1f}" y="{y - FIELD_HEIGHT / 2:.1f}" width="{width:.1f}" height="{FIELD_HEIGHT}" rx="5"'
    return f'<rect class="field" {box}/>' + text_at(x, y + 4.5, name, "name", "middle")


def _arrow(
    at: Mapping[str, float], order: Sequence[str], edge: tuple[str, str], y: float, style: str, task: str, *, up: bool
) -> str:
    """Draw an arrow from the edge of one field to that of another, as an arc above or below those between them."""
    (x1, x2), side = (at[edge[0]], at[edge[1]]), -1 if up else 1
    edge_y = y + side * FIELD_HEIGHT / 2
    bow = RISE * _passed(order, edge) + (14 if up else FALL - 4)
    towards = 1 if x2 > x1 else -1
    start, end = x1 + towards * 8, x2 - towards * 12
    path = f"M{start:.1f} {edge_y:.1f} C{start:.1f} {edge_y + side * bow:.1f} {end:.1f} {edge_y + side * bow:.1f} "
    head = " ".join(f"{x:.1f},{h:.1f}" for x, h in _head(end, edge_y, side))
    line = f'<path class="line" d="{path}{end:.1f} {edge_y + side * HEAD:.1f}"/>'
    return f'<g class="{style}"><title>{escape(task)}</title>{line}<polygon class="mark" points="{head}"/></g>'


def _head(x: float, y: float, side: int) -> Iterator[tuple[float, float]]:
    yield x, y
    yield from ((x + HEAD / 2 * way, y + side * HEAD) for way in (-1, 1))
