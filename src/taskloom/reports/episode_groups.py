"""Episodes put into groups: by a tag of their tasks, or by how their support was drawn."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, TypeAlias

from ..core import Suite
from ..episodes import Shots, shots_order
from ..studies.results import Outcome
from .draws import Place
from .group_scores import EpisodeGroup

Sizes: TypeAlias = tuple[int, ...]  # support examples of each class
DrawPart: TypeAlias = Literal["way", "shots", "support", "balance"]
ALL = "all tasks"


@dataclass(frozen=True, slots=True)
class Group(EpisodeGroup):
    """Episodes of one setting of shots that have something in common: a name, or numbers that are equal or near."""

    name: str = ""
    x: float = math.nan  # about the mean of its numbers
    is_bin: bool = False  # whether they differ


@dataclass(frozen=True, slots=True)
class Grouping:
    """A way to put the episodes of one setting of shots into groups."""

    name: str
    title: str
    groups: Callable[[Sequence[Outcome]], Sequence[Group]]
    is_draw: bool = False  # whether groups are of episodes, not of tasks


def by_setting(outcomes: Iterable[Outcome], metric: str) -> dict[Shots, list[Outcome]]:
    """Put outcomes that have a score together by their shots, the fewest first."""
    found: dict[Shots, list[Outcome]] = {}
    for o in sorted(outcomes, key=lambda o: shots_order(o.shots)):
        if metric in o.scores:
            found.setdefault(o.shots, []).append(o)
    return found


def place_of(o: Outcome) -> Place:
    """Name the episode of an outcome."""
    return o.task, *o.episode


def by_task(suite: Suite) -> Grouping:
    """Group the episodes of each task, in the order of the suite."""

    def groups(outcomes: Sequence[Outcome]) -> list[Group]:
        found = _places(suite, outcomes)
        return [Group(places, name=task) for task, places in found.items()]

    return Grouping("task", "task", groups)


def by_tag(suite: Suite, tag: str) -> Grouping:
    """Group tasks that have a value of a tag; then take all of them, and the mean over values where it is another."""

    def groups(outcomes: Sequence[Outcome]) -> Iterator[Group]:
        found = _places(suite, outcomes)
        values: dict[str, list[str]] = {}
        for task in found:
            for value in suite.tasks[task].tags.get(tag, ()):
                values.setdefault(value, []).append(task)
        for value, tasks in values.items():
            yield Group(_union(found, tasks), name=value)
        if len(values) > 1:
            weights = macro_weights(values)
            yield Group(_union(found, weights), name=ALL)
            if len(set(weights.values())) > 1:
                yield Group(_union(found, weights), weights, name=f"mean over {tag}")

    return Grouping(tag, tag, lambda outcomes: list(groups(outcomes)))


def _places(suite: Suite, outcomes: Iterable[Outcome]) -> dict[str, set[Place]]:
    """Give the episodes of each task, in the order of the suite."""
    found: dict[str, set[Place]] = {}
    for o in outcomes:
        found.setdefault(o.task, set()).add(place_of(o))
    return {task: found[task] for task in suite.tasks if task in found}


def _union(places: Mapping[str, set[Place]], tasks: Iterable[str]) -> frozenset[Place]:
    return frozenset().union(*(places[task] for task in tasks))


def macro_weights(values: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Let values weigh the same, and so the tasks of a value.

    >>> macro_weights({"class": ["a", "b"], "task": ["c"]})
    {'a': 0.5, 'b': 0.5, 'c': 1.0}
    """
    weights: dict[str, float] = {}
    for tasks in values.values():
        weights |= {task: weights.get(task, 0.0) + 1 / len(tasks) for task in tasks}
    return weights


def by_draw(part: DrawPart, bins: int) -> Grouping:
    """Group episodes whose support was drawn alike; numbers that are many are put into bins."""
    name, title, of = PARTS[part]

    def groups(outcomes: Sequence[Outcome]) -> list[Group]:
        found = {place_of(o): of(o.sizes) for o in outcomes if o.sizes}
        texts = sorted({value for value in found.values() if isinstance(value, str) and value})
        numbered = {place: value for place, value in found.items() if not isinstance(value, str)}
        return [
            *(Group([place for place, value in found.items() if value == text], name=text) for text in texts),
            *(_bin(numbered, *ends) for ends in bins_of(list(numbered.values()), bins)),
        ]

    return Grouping(name, title, groups, is_draw=True)


def _bin(numbered: Mapping[Place, float], low: float, high: float) -> Group:
    inside = {place: value for place, value in numbered.items() if low <= value <= high}
    name = f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
    return Group(list(inside), name=name, x=float(f"{fmean(inside.values()):.3g}"), is_bin=low < high)


def bins_of(values: Sequence[float], most: int) -> list[tuple[float, float]]:
    """Put numbers into bins of about as many, given by their least and their largest; equal ones share a bin.

    >>> bins_of([1, 1, 2, 3, 4, 4, 5, 6], 3), bins_of([5, 5, 6], 3), bins_of([], 3)
    ([(1, 2), (3, 4), (5, 6)], [(5, 5), (6, 6)], [])
    """
    counts = sorted(Counter(values).items())
    if len(counts) <= most:
        return [(value, value) for value, _ in counts]
    bins: list[list[float]] = [[]]
    inside, left = 0, len(values)
    for value, count in counts:
        if bins[-1] and inside * (most + 1 - len(bins)) >= left:  # it has its share of what is left
            inside, left = 0, left - inside
            bins.append([])
        bins[-1].append(value)
        inside += count
    return [(found[0], found[-1]) for found in bins]


def balance(sizes: Sizes) -> str:
    """Tell whether classes have as many examples; of an empty support, nothing.

    >>> balance((2, 2)), balance((1, 3)), balance((0, 0))
    ('balanced', 'imbalanced', '')
    """
    return "" if not any(sizes) else "balanced" if len(set(sizes)) == 1 else "imbalanced"


PARTS: Mapping[DrawPart, tuple[str, str, Callable[[Sizes], float | str]]] = {  # a column, what it is, and of sizes
    "way": ("way", "way (classes of an episode)", len),
    "shots": ("shots per class", "mean shots per class", fmean),
    "support": ("support", "support examples in all", sum),
    "balance": ("balance", "balance of shots per class", balance),
}
