"""How far the probabilities that models give their answers are from how often these are right.

The expected calibration error (Naeini et al. 2015; Guo et al. 2017) and the Brier score (1950) are of all answers of a
learner together: a bin of one episode has too few. Their variances are those of scores (`intervals.py`): that where
episodes are resampled, and that where records are, less what single answers add to both (Cameron et al. 2011).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from ..core import Answer
from ..scores.reduce import Array, ratio
from ..stats import Estimate, resamples
from .draws import How, Place, linked
from .intervals import SHARE, Component, Resampled, variances

ROUNDING = 1e-5  # of scores that a ledger keeps
BRIER = (0.0, 2.0)  # its bounds
Options: TypeAlias = tuple[Sequence[str], Sequence[float]]  # of an answer: names and scores, or neither


@dataclass(frozen=True, slots=True)
class Beliefs:
    """What was thought of the answers of one episode; answers without probabilities are not here."""

    place: Place
    records: Array  # (n,)
    confidence: Array  # the probability of the answer that was given
    right: Array  # 1 or 0
    brier: Array  # the squared distance of all probabilities from the truth
    without: int  # answers that have no probabilities


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Answers whose confidence lies between two ends."""

    low: float
    high: float
    confidence: float  # their mean; NaN without answers
    accuracy: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationOf:
    """How well one learner knows when it is right."""

    error: Estimate  # the expected calibration error
    brier: Estimate
    accuracy: Estimate
    confidence: Estimate
    bins: tuple[ReliabilityBin, ...]
    without: int  # answers that have no probabilities


# --- probabilities ---------------------------------------------------------------------------------------------------


def beliefs(
    place: Place, records: Sequence[int], options: Sequence[Options], given: Sequence[Answer | None],
    gold: Sequence[tuple[Answer, ...]],
) -> Beliefs:  # fmt: skip
    """Find what was thought of each answer; one without scores, or that is none of the options, has nothing."""
    rows: dict[tuple[str, ...], list[int]] = {}  # answers that have the same options
    for at, (names, _) in enumerate(options):
        rows.setdefault(tuple(names), []).append(at)
    rows.pop((), None)
    chances = probabilities([np.array([options[at][1] for at in some], dtype=np.float64) for some in rows.values()])
    found = [_thought(some, names, own, given, gold) for (names, some), own in zip(rows.items(), chances, strict=True)]
    at, confidence, right, brier = np.hstack([np.empty((4, 0)), *found])
    order = at.astype(np.int64)
    asked = np.array(records, dtype=np.int64)[order]
    return Beliefs(place, asked, confidence, right, brier, len(given) - len(order))


def _thought(
    rows: Sequence[int], names: Sequence[str], chances: Array, given: Sequence[Answer | None],
    gold: Sequence[tuple[Answer, ...]],
) -> Array:  # fmt: skip
    """Give answers that have a probability: their place, it, whether they are right, and the Brier score: (4, n)."""
    column: dict[Any, int] = {name: at for at, name in enumerate(names)}
    chosen = [column.get(given[at], -1) if isinstance(given[at], str) else -1 for at in rows]
    padded = np.hstack([chances, np.zeros((len(rows), 1))])  # the last column is of what is no option
    each = np.arange(len(rows))
    several = range(max(len(gold[at]) for at in rows))
    acceptable = [[column.get(gold[at][n], -1) if n < len(gold[at]) else -1 for at in rows] for n in several]
    true = np.max([padded[each, some] for some in acceptable], axis=0, initial=0.0)
    right = np.array([given[at] in gold[at] for at in rows], dtype=np.float64)
    found = np.stack([np.array(rows), padded[each, chosen], right, 1 + (chances**2).sum(1) - 2 * true])
    known: Array = found[:, (np.array(chosen) >= 0) & ~np.isnan(chances).any(1)]
    return known


def probabilities(tables: Sequence[Array]) -> list[Array]:
    """Turn the scores of options, (n, k) each, into probabilities: as they are where all rows sum up to 1.

    Else they are taken for logarithms, up to a constant, and are put through softmax. A row without finite scores has
    no probabilities.

    >>> [table.tolist() for table in probabilities([np.array([[0.25, 0.75]]), np.array([[0.0, 1.0, 0.0]])])]
    [[[0.25, 0.75]], [[0.0, 1.0, 0.0]]]
    >>> probabilities([np.array([[-9.0, -9.0], [-700.0, -np.inf]])])[0].tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    known = [np.where(np.isfinite(table.max(1, keepdims=True)), table, np.nan) for table in tables]
    if all(_sums_up_to_1(table[~np.isnan(table).any(1)]) for table in known):
        return [table / table.sum(1, keepdims=True) for table in known]
    weights = [np.exp(table - table.max(1, keepdims=True)) for table in known]
    return [table / table.sum(1, keepdims=True) for table in weights]


def _sums_up_to_1(table: Array) -> bool:
    return bool((table >= 0).all() and (np.abs(table.sum(1) - 1) <= ROUNDING * table.shape[1]).all())


# --- estimates -------------------------------------------------------------------------------------------------------


def calibration(found: Mapping[str, Sequence[Beliefs]], how: How, bins: int = 10) -> dict[str, CalibrationOf]:
    """Say how well learners know when they are right; those without any probabilities are not there."""
    tallies = {name: _Tally.of(some, bins) for name, some in found.items() if any(len(b.records) for b in some)}
    by_record = _by_record(tallies, how)
    return {name: tally.estimated(by_record[name], tally.by_episode(how), how) for name, tally in tallies.items()}


@dataclass(frozen=True, slots=True)
class _Tally:
    """The answers of one learner that have probabilities, side by side: (n,)."""

    bins: int
    tasks: tuple[str, ...]  # of its episodes
    episode: Array  # of each answer, by number
    record: Array
    bin: Array
    right: Array
    confidence: Array
    brier: Array
    without: int

    @classmethod
    def of(cls, found: Sequence[Beliefs], bins: int) -> _Tally:
        """Put episodes together; a confidence of 1 lies in the last bin, others in that which begins at or below."""
        known = sorted((b for b in found if len(b.records)), key=lambda b: b.place)
        confidence = np.concatenate([b.confidence for b in known])
        return cls(
            bins, tuple(b.place[0] for b in known),
            np.repeat(np.arange(len(known)), [len(b.records) for b in known]),
            np.concatenate([b.records for b in known]),
            np.minimum(bins - 1, (confidence * bins).astype(np.int64)),
            np.concatenate([b.right for b in known]), confidence,
            np.concatenate([b.brier for b in known]), sum(b.without for b in found),
        )  # fmt: skip

    def sums(self, cluster: Array, count: int) -> Array:
        """Sum up the answers of each cluster: number, right ones and confidence by bin, and Brier: (c, 3 b + 1)."""
        at = cluster * self.bins + self.bin
        by_bin = [
            np.bincount(at, weights=values, minlength=count * self.bins).reshape(count, self.bins)
            for values in (None, self.right, self.confidence)
        ]
        return np.hstack([*by_bin, np.bincount(cluster, weights=self.brier, minlength=count)[:, None]])

    def by_episode(self, how: How) -> Array:
        """Sum all answers up in every resample of the episodes of each task: (1 + r, 3 b + 1)."""
        units, tasks = self.sums(self.episode, len(self.tasks)), np.array(self.tasks)
        drawn = [_weighed(units[tasks == task], how, "episodes", task) for task in dict.fromkeys(self.tasks)]
        total: Array = np.sum(drawn, axis=0)
        return total

    def estimated(self, by_record: Array, by_episode: Array, how: How) -> CalibrationOf:
        """Estimate all that is said of the learner."""
        made = self._resampled(self._statistics(by_record), self._statistics(by_episode), how)
        error, _, _, confidence, *_ = made.intervals(SHARE)
        _, _, accuracy, _, *bins = made.scores(SHARE)
        return CalibrationOf(
            error=error, brier=made.intervals(BRIER)[1], accuracy=accuracy, confidence=confidence,
            bins=tuple(self._bins(bins)), without=self.without,
        )  # fmt: skip

    def _resampled(self, by_record: Array, by_episode: Array, how: How) -> Resampled:
        """Give each statistic the variance that records and episodes make; its shape is that of the larger one."""
        of_record, of_episode = (np.array(variances(rows)) for rows in (by_record, by_episode))
        single = of_record + of_episode - self._single(by_record[:, 0])
        wanted = np.maximum(np.maximum(of_record, of_episode), single)
        sizes = [self._sizes(some) for some in [slice(None)] * 4 + [self.bin == at for at in range(self.bins)]]
        components = [
            (Component(by_item, max(1, size[1] - 1)), Component(all_ - by_item, size[2])) if size[1] > 1 else ()
            for by_item, all_, size in zip(of_record.tolist(), wanted.tolist(), sizes, strict=True)
        ]
        return Resampled(
            np.where((of_record >= of_episode)[:, None], by_record, by_episode), components,
            [size[0] for size in sizes], how.level, [(0.0, 0.0)] * len(sizes), [float(size[1]) for size in sizes],
        )  # fmt: skip

    def _sizes(self, some: Any) -> tuple[int, int, int]:
        """Count some answers, their records, and the episodes beyond one of each task."""
        episodes = np.unique(self.episode[some])
        tasks = {self.tasks[at] for at in episodes}
        return len(self.bin[some]), len(np.unique(self.record[some])), len(episodes) - len(tasks)

    def _bins(self, found: Sequence[Estimate]) -> Iterator[ReliabilityBin]:
        n, total = (np.bincount(self.bin, of, self.bins) for of in (None, self.confidence))
        for at, (e, confidence) in enumerate(zip(found, ratio(total, n).tolist(), strict=True)):
            yield ReliabilityBin(at / self.bins, (at + 1) / self.bins, confidence, e)

    def _statistics(self, sums: Array) -> Array:
        """Give the error, the Brier score, accuracy, confidence, and the accuracy of each bin: (4 + b, 1 + r)."""
        n, right, confidence = (sums[:, at * self.bins : (at + 1) * self.bins] for at in range(3))
        total = n.sum(1)
        apart = np.abs(right - confidence).sum(1)
        over_all = [ratio(part, total) for part in (apart, sums[:, -1], right.sum(1), confidence.sum(1))]
        return np.stack([*over_all, *ratio(right, n).T])

    def _single(self, values: Array) -> Array:
        """Give the variance of means of single answers; of the error, where bins stay above or below their accuracy."""
        n, each = len(self.bin), np.maximum(1, np.bincount(self.bin, minlength=self.bins))
        apart = ((self.right - self.confidence) ** 2).mean() - values[0] ** 2
        parts = [apart, self.brier.var(), self.right.var(), self.confidence.var()]
        return np.array([*(part / n for part in parts), *np.nan_to_num(values[4:] * (1 - values[4:])) / each])


def _by_record(tallies: Mapping[str, _Tally], how: How) -> dict[str, Array]:
    """Sum all answers up in every resample of the records; learners, and tasks that share records, share these."""
    asked: dict[str, set[int]] = {}
    for tally in tallies.values():
        of_answer = np.array(tally.tasks)[tally.episode]
        for task in dict.fromkeys(tally.tasks):
            asked.setdefault(task, set()).update(tally.record[of_answer == task].tolist())
    drawn = []
    for tasks in linked(asked):
        records = np.array(sorted(set().union(*(asked[task] for task in tasks))))
        units = [_within(tally, records) for tally in tallies.values()]
        drawn.append(_weighed(np.hstack(units), how, "items", tasks[0]))
    totals = np.split(np.sum(drawn, axis=0), len(tallies), axis=1) if tallies else []
    return dict(zip(tallies, totals, strict=True))


def _within(tally: _Tally, records: Array) -> Array:
    """Sum up the answers of one learner to each of some records."""
    some = np.isin(tally.record, records)
    part = replace(
        tally, bin=tally.bin[some], right=tally.right[some], confidence=tally.confidence[some], brier=tally.brier[some]
    )
    return part.sums(np.searchsorted(records, tally.record[some]), len(records))


def _weighed(units: Array, how: How, *key: str) -> Array:
    """Sum units up as they are and in every resample, n - 1 of n and scaled to n, so that its variance is right."""
    n, whole = len(units), units.sum(0, keepdims=True)
    if n < 2:
        return np.repeat(whole, 1 + how.count, axis=0)
    drawn = [weights @ units * (n / (n - 1)) for weights in resamples(n, how.count, *key, size=n - 1)]
    return np.concatenate([whole, *drawn])
