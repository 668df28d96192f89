"""How alike tasks order learners: a clustered heat map of correlations, and tasks that are near-duplicates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeAlias, get_args

import numpy as np

from ...errors import UnknownNameError
from ...stats import Estimate, correlation
from ...studies.views import Settings, naming
from ...texts import counted
from .. import svg
from ..figures import Figure, ReportData
from .values import values_of, wanted_values

By: TypeAlias = Literal["spearman", "pearson"]
NEAR = 0.95  # correlations from which tasks say nearly the same of learners
LEAST = 3  # learners that a correlation is worked out from
FEW = 6  # learners below which high correlations are often chance
CELL = 26  # pixels of a column
SHOWN = 10  # pairs that are named
Pairs: TypeAlias = Mapping[tuple[str, str], Estimate]


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlation:
    """Correlations between tasks over learners: of ranks (Spearman's), or of scores (Pearson's, as in SciRepEval)."""

    by: By = "spearman"
    learners: tuple[str, ...] = naming("learner", default=())  # none: all but baselines
    near: float = NEAR  # correlations from which tasks are named as near-duplicates

    def faults(self, settings: Settings) -> Iterator[str]:
        """Name an unknown measure, and learners that are too few."""
        if self.by not in get_args(By):
            yield str(UnknownNameError("correlation", self.by, get_args(By)))
        chosen = len(self.learners or settings)
        if chosen < LEAST:
            yield f"correlations of tasks need {LEAST} learners or more, and there are {chosen}"

    def figures(self, data: ReportData) -> Iterator[Figure]:
        """Correlate the values of each two tasks over the learners that have all of them."""
        scores, missing = self._scores(data)
        names = [name for name, values in scores.items() if len({*values}) > 1]
        count = len(next(iter(scores.values()), ()))
        if len(names) < 2 or count < LEAST:
            return
        pairs = {(a, b): self._correlation(scores[a], scores[b]) for a, b in combinations(names, 2)}
        order = clustered(names, pairs)
        yield Figure(
            title=f"Correlation of tasks over learners ({self.by.title()}'s)",
            columns=("task", "nearest task", "correlation", "mean of all others"),
            rows=tuple(_row(name, names, pairs) for name in order),
            notes=(*self._notes(pairs, count), *_left_out(scores, names), *missing),
            points=False,
            plot=_plot(order, pairs, f"correlation of tasks over {counted(count, 'learner')}"),
        )

    def _scores(self, data: ReportData) -> tuple[dict[str, list[float]], list[str]]:
        """Give the score of each learner by each value, and say which learners lack some."""
        wanted = wanted_values(data)
        baselines = () if self.learners else data.results.baselines
        asked = [n for n in self.learners or data.results.learners if n not in baselines]
        found = {learner: values_of(data, learner, wanted) for learner in asked}
        complete = {n: of for n, of in found.items() if all({*of.get(t, {})} == {*own} for t, own in wanted.items())}
        lacking = [name for name in found if name not in complete]
        told = [f"left out, as they lack values: {', '.join(lacking)}"] if lacking else []
        scores = {
            task if len(metrics) == 1 else f"{task} {metric}": [of[task][metric].value for of in complete.values()]
            for task, metrics in wanted.items()
            for metric in metrics
        }
        return scores, told

    def _correlation(self, ours: Sequence[float], theirs: Sequence[float]) -> Estimate:
        if self.by == "pearson":
            return correlation(ours, theirs)
        from scipy.stats import rankdata

        return correlation(rankdata(ours), rankdata(theirs))

    def _notes(self, pairs: Pairs, count: int) -> Iterator[str]:
        told = "cells are correlations times 100; tasks that order learners alike stand together"
        yield f"over {counted(count, 'learner')}; {told}"
        if count < FEW:
            yield f"with fewer than {FEW} learners, high correlations are often due to chance"
        same = sorted(((e.value, a, b) for (a, b), e in pairs.items() if e.value >= self.near), reverse=True)
        if same:
            named = "; ".join(f"{a} and {b} ({value:.2f})" for value, a, b in same[:SHOWN])
            more = f" and {len(same) - SHOWN:,} more" if len(same) > SHOWN else ""
            yield f"near-duplicates (correlation >= {self.near:g}): {named}{more}"
        else:
            yield f"no two tasks are near-duplicates (correlation >= {self.near:g})"


def clustered(names: Sequence[str], pairs: Pairs) -> list[str]:
    """Order tasks by average linkage of 1 - correlation, so that those that are alike stand together."""
    from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering

    if len(names) < 3:
        return list(names)
    apart = np.array([1 - (0.0 if math.isnan(e.value) else e.value) for e in pairs.values()])
    joined = optimal_leaf_ordering(linkage(apart, "average"), apart)
    return [names[place] for place in leaves_list(joined)]


def _of(a: str, b: str, pairs: Pairs) -> Estimate | None:
    return pairs.get((a, b)) or pairs.get((b, a))


def _row(name: str, names: Sequence[str], pairs: Pairs) -> tuple[str | Estimate | None, ...]:
    others = {other: e for other in names if other != name and (e := _of(name, other, pairs))}
    nearest = max(others, key=lambda other: others[other].value)
    mean = sum(e.value for e in others.values()) / len(others)
    return name, nearest, others[nearest], f"{mean:.2f}"


def _left_out(scores: Mapping[str, Sequence[float]], names: Sequence[str]) -> Iterator[str]:
    if same := [name for name in scores if name not in names]:
        yield f"left out, as all learners have one score: {', '.join(same[:SHOWN])}"


def _plot(order: Sequence[str], pairs: Pairs, about: str) -> str:
    rows = [
        (a, [100.0 if a == b else 100 * e.value if (e := _of(a, b, pairs)) else None for b in order], "hue0")
        for a in order
    ]
    return svg.heat(rows, order, about, cell=CELL)
