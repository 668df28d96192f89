"""The mean of several metrics: one number for a task that has several, as papers report it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar

import numpy as np

from ..core import Answer
from ..errors import ScoreError
from ..messages import Note
from . import Metric, Scored, signature
from .reduce import Array

MEAN = "mean"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean(Metric):
    """The mean of metrics, each over the same answers.

    A unit has those of its parts, one after the other, behind the width of each: scores that were kept can be read
    without knowing what the parts are.
    """

    name: ClassVar[str] = MEAN
    version: ClassVar[int] = 1
    of: tuple[str, ...]  # signatures of the parts
    parts: tuple[Metric, ...] = field(repr=False)

    def unit(self, gold: tuple[Answer, ...], answer: Answer | None) -> tuple[float, ...]:
        """Score one answer by each part."""
        units = [part.unit(gold, answer) for part in self.parts]
        return (*(float(len(unit)) for unit in units), *(value for unit in units for value in unit))

    def reduce(self, units: Array, weights: Array | None = None) -> Array:
        """Average the scores by each part."""
        scores = [part.reduce(own, weights) for part, own in zip(self.parts, self._split(units), strict=True)]
        found: Array = np.mean(scores, axis=0)
        return found

    def unseen(self, units: Array, level: float) -> tuple[float, float]:
        """Give what no resample shows, where the parts may all err on the same side."""
        found = [part.unseen(own, level) for part, own in zip(self.parts, self._split(units), strict=True)]
        below, above = (float(np.mean([math.sqrt(one) for one in side])) ** 2 for side in zip(*found, strict=True))
        return below, above

    def _split(self, units: Array) -> list[Array]:
        ends = np.cumsum([len(self.parts), *units[0, : len(self.parts)].astype(int)])
        return [units[:, start:end] for start, end in pairwise(ends)]


def mean_of(parts: Sequence[Metric]) -> Mean:
    """Make the mean of metrics; such as have no scale in common, or are better when lower, are refused."""
    unfit = [part.name for part in parts if not (part.points and part.higher_is_better)]
    if unfit or not parts:
        raise ScoreError(Note.of("mean-unfit", metrics=unfit))
    return Mean(of=tuple(signature(part).rpartition("|taskloom:")[0] for part in parts), parts=tuple(parts))


def joined(of: Mean, scored: Sequence[Scored]) -> Scored:
    """Put the scores by each part together; what one of them can't use is counted once."""
    rows = len(scored[0].units)
    widths = np.tile([float(one.units.shape[1]) for one in scored], (rows, 1))
    unusable: Counter[str] = Counter()
    for one in scored:
        unusable |= Counter(one.unusable)
    return Scored(of, np.hstack([widths, *(one.units for one in scored)]), dict(unusable))
