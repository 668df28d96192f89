"""Scores of learners on groups of episodes, drawn as strips: a row for each group and setting of shots."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from typing import TypeAlias

from ..episodes import Shots, shots_text
from ..stats import Estimate
from . import numbers, svg

GroupSpot: TypeAlias = tuple[str, Shots, str, Estimate]  # a group, shots, a learner and its score
MOST = 40  # rows; the table beside the plot has all


def group_strips(
    found: Sequence[GroupSpot], about: str, *, points: bool, baselines: Collection[str] = (),
    published: Collection[str] = (),
) -> str:  # fmt: skip
    """Draw the scores of each group below each other, its settings side by side; of many groups, the first.

    Baselines have no colour, and what is published is hollow.
    """
    several = len({shots for _, shots, _, _ in found}) > 1
    order = list(dict.fromkeys(group for group, _, _, _ in found))
    rows: dict[str, dict[str, Estimate]] = {}
    for group, shots, learner, score in sorted(found, key=lambda spot: order.index(spot[0])):
        named = f"{group}, {shots_text(shots)}" if several else group
        rows.setdefault(named, {})[learner] = numbers.shown(score, points)
    names = list(dict.fromkeys(learner for _, _, learner, _ in found))
    solid = [name for name in names if name not in baselines and name not in published]
    styles = svg.dot_styles(solid, {name: name for name in names if name in published})
    styles |= {name: "baseline" for name in names if name in baselines}
    return svg.strips(dict(itertools.islice(rows.items(), MOST)), styles, about) + svg.dot_key(styles)


def cut_note(rows: int) -> tuple[str, ...]:
    """Say that not all rows are drawn, if so."""
    return (f"drawn: the first {MOST} of {rows} groups; the table has all",) if rows > MOST else ()
