"""Outcomes to numbers: a board has scores by one metric at one number of shots, and how sure they are.

An episode's score is the metric of its answers, a task's the mean over its episodes, a learner's that over its tasks.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from ..scores.reduce import Array, mean, weights_or_ones
from ..stats import Contrast, Estimate, holm, permutation_p, ranks, sign_p, tie_groups
from ..studies.results import Outcome
from .intervals import (
    Answered,
    Answers,
    Columns,
    How,
    Place,
    bounds_of,
    by_task,
    draw,
    instances,
    resampled,
)

ENOUGH = 12  # episodes; where there are as many, whole episodes change sides in a test, else single answers
SIDES = 100  # changes of sides for each contrast of a family, so that what Holm corrects is fine enough
RAW = ("mse",)  # metrics that are no shares of one, and are shown as they are


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What one learner reached on a board; `rank` is 0 for floors and for learners without a value."""

    learner: str
    score: Estimate
    by_instance: Estimate  # where each task weighs as many instances as it has
    tasks: int
    episodes: int
    without: int  # episodes that have no score, such as a correlation of equal answers
    rank: int = 0
    groups: str = ""  # learners that share a letter can't be told apart
    floor: bool = False
    best: bool = False  # whether it can't be told from the best

    def over(self, what: str) -> Estimate:
        """Give the mean over tasks, or over instances."""
        return self.by_instance if what == "instances" else self.score


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """The scores of all learners by one metric at one number of shots, the best first."""

    metric: str
    shots: int
    higher: bool  # whether more is better
    points: bool  # whether shown from 0 to 100
    standings: tuple[Standing, ...]
    pairs: tuple[Contrast, ...]  # p-values are Holm's
    tasks: Mapping[str, Mapping[str, Estimate]]  # task -> learner

    @property
    def sign(self) -> int:
        """Give what makes a better score the larger one."""
        return 1 if self.higher else -1


@dataclass(frozen=True, slots=True)
class Category:
    """The scores on the tasks of one category that have the same first metric."""

    name: str
    board: Board


def board(
    metric: str, shots: int, outcomes: Sequence[Outcome], floors: Sequence[str] = (), how: How | None = None
) -> Board:
    """Score all learners that have outcomes at these shots, and compare each two of them."""
    how = how or How()
    answers = answers_of(metric, shots, outcomes)
    kind = next(a.metric for found in answers.values() for a in found.values())
    higher = bool(getattr(kind, "higher_is_better", True))
    drawn = draw(answers, how)
    bounds = bounds_of(kind)
    scores = {name: resampled(drawn[name], found, how).interval(bounds) for name, found in answers.items()}
    order = sorted(answers, key=lambda name: _order(scores[name].value, higher, name))
    contested = [name for name in order if name not in floors] or order
    pairs = [(a, b) for a, b in itertools.combinations(order, 2) if a in contested or b in contested]
    contrasts = corrected([_contrast((a, b), answers, drawn, how, len(pairs)) for a, b in pairs])
    told = {frozenset((c.a, c.b)) for c in contrasts if differs(c)}
    ranked = _ranked({n: scores[n].value for n in contested}, higher, lambda a, b: frozenset((a, b)) in told)
    weighed = {name: resampled(drawn[name], found, how, instances(found)) for name, found in answers.items()}
    by_instance = {name: found.interval(bounds) for name, found in weighed.items()}
    standings = tuple(
        _standing(name, (scores[name], by_instance[name]), drawn[name], name in floors, ranked) for name in order
    )
    return Board(
        metric=metric, shots=shots, higher=higher, points=kind.name not in RAW, standings=standings,
        pairs=tuple(contrasts), tasks=_by_task(answers, drawn, how, bounds),
    )  # fmt: skip


def answers_of(metric: str, shots: int, outcomes: Iterable[Outcome]) -> dict[str, dict[Place, Answered]]:
    """Gather the scored answers by learner and episode, in an order that does not depend on that of the run."""
    found: dict[str, dict[Place, Answered]] = {}
    for o in sorted(outcomes, key=lambda o: (o.learner, o.task, o.seed, o.index)):
        if o.shots == shots and metric in o.scores:
            scored = o.scores[metric]
            found.setdefault(o.learner, {})[o.task, o.seed, o.index] = Answered(scored.metric, scored.units, o.items)
    return found


def _by_task(
    answers: Mapping[str, Answers], drawn: Mapping[str, Columns], how: How, bounds: tuple[float, float]
) -> Mapping[str, Mapping[str, Estimate]]:
    tasks: dict[str, dict[str, Estimate]] = {}
    fixed = replace(how, tasks="fixed")
    for name, found in answers.items():
        for task, part in by_task(found).items():
            values = resampled({place: drawn[name][place] for place in part}, part, fixed)
            tasks.setdefault(task, {})[name] = values.interval(bounds)
    return dict(sorted(tasks.items()))


# --- comparisons -----------------------------------------------------------------------------------------------------


def differs(contrast: Contrast, below: float = 0.05) -> bool:
    """Say whether two learners are told apart: by the corrected test, and by an interval without zero."""
    return contrast.p < below and (contrast.low > 0 or contrast.high < 0)


def corrected(contrasts: Sequence[Contrast]) -> list[Contrast]:
    """Correct the p-values of a family of contrasts for their number."""
    return [replace(c, p=p) for c, p in zip(contrasts, holm([c.p for c in contrasts]), strict=True)]


def contrast(
    a: str, b: str, metric: str, shots: int, outcomes: Iterable[Outcome], *, how: How | None = None, family: int = 1
) -> Contrast:
    """Compare two learners on the answers that both have given, as a - b.

    The p-value is as it is, and fine enough to be corrected in a family of so many.
    """
    answers = answers_of(metric, shots, [o for o in outcomes if o.learner in (a, b)])
    if len(answers) < 2:
        return Contrast(a, b, math.nan, math.nan, math.nan, math.nan, 0)
    return _contrast((a, b), answers, None, how or How(), family)


def combination(
    shares: Mapping[str, float], metric: str, shots: int, outcomes: Iterable[Outcome], how: How | None = None
) -> Estimate:
    """Give a sum of learners' scores, each times its share, on the episodes that all have answered."""
    how = how or How()
    answers = answers_of(metric, shots, [o for o in outcomes if o.learner in shares])
    if len(answers) < len(shares):
        return Estimate(math.nan, math.nan, math.nan, 0)
    first, *others = answers.values()
    same = [p for p in first if all(p in found and found[p].items == first[p].items for found in others)]
    kept = {name: {place: found[place] for place in same} for name, found in answers.items()}
    drawn = draw(kept, how)
    summed = {p: sum((shares[name] * drawn[name][p] for name in kept), np.zeros(1)) for p in same}
    return resampled(summed, first, how).interval()


def _contrast(
    names: tuple[str, str], answers: Mapping[str, Answers], drawn: Mapping[str, Columns] | None, how: How, family: int
) -> Contrast:
    ours, theirs, same = _common(answers[names[0]], answers[names[1]])
    if drawn is None or not same:
        drawn = draw({names[0]: ours, names[1]: theirs}, how)
    apart = {place: drawn[names[0]][place] - drawn[names[1]][place] for place in ours}
    values = resampled(apart, ours, how)
    least, most = bounds_of(next(iter(ours.values())).metric) if ours else (0.0, 0.0)
    found = values.interval((least - most, most - least))
    p = _p(ours, theirs, {place: float(d[0]) for place, d in apart.items()}, max(how.count, SIDES * family))
    return Contrast(*names, found.value, found.low, found.high, max(p, values.chance()), found.n)


def _common(ours: Answers, theirs: Answers) -> tuple[Answers, Answers, bool]:
    """Keep the items that both have answered, in one order, and say whether that is all of them."""
    places = [place for place in ours if place in theirs]
    if all(ours[place].items == theirs[place].items for place in places):
        return {p: ours[p] for p in places}, {p: theirs[p] for p in places}, True
    both = {p: (ours[p].only(theirs[p].items), theirs[p].only(ours[p].items)) for p in places}
    both = {p: pair for p, pair in both.items() if pair[0].items}
    return {p: a for p, (a, _) in both.items()}, {p: _in_order(b, a.items) for p, (a, b) in both.items()}, False


def _in_order(answered: Answered, items: Sequence[str]) -> Answered:
    at = {item: row for row, item in enumerate(answered.items)}
    return replace(answered, units=answered.units[[at[item] for item in items]], items=tuple(items))


def _p(ours: Answers, theirs: Answers, differences: Mapping[Place, float], count: int) -> float:
    """Test by changing sides: of whole episodes where there are enough, else of single answers.

    That takes episodes, or answers, to be apart from each other, which they are not where episodes share items.
    """
    known = [place for place, difference in differences.items() if not math.isnan(difference)]
    if not known:
        return math.nan
    share = _shares(known)
    if len(known) >= ENOUGH:
        return sign_p(np.array([differences[place] * share[place] for place in known]), count=count, key="episodes")
    apart = {place: ours[place].units - theirs[place].units for place in known}
    if all(ours[p].metric.reduce is mean and not np.isnan(apart[p]).any() for p in known):
        weighed = [share[place] * apart[place][:, 0] / len(apart[place]) for place in known]
        return sign_p(np.concatenate(weighed), count=count, key="answers")
    rows = np.arange(sum(map(len, apart.values())), dtype=np.float64)
    return permutation_p(rows, rows + len(rows), _pooled(ours, theirs, known), count=count, key="answers")


def _shares(places: Sequence[Place]) -> dict[Place, float]:
    """Give the part that each episode has in a mean over tasks."""
    episodes = Counter(place[0] for place in places)
    return {place: 1 / len(episodes) / episodes[place[0]] for place in places}


def _pooled(ours: Answers, theirs: Answers, places: Sequence[Place]) -> Callable[[Array, Array | None], Array]:
    """Make the mean over tasks a function of numbered answers, so that they can change sides one by one."""
    share = _shares(places)
    starts = np.cumsum([0, *(len(ours[place].items) for place in places)])

    def reduce(rows: Array, weights: Array | None) -> Array:
        weighed = weights_or_ones(rows, weights)
        number = rows[:, 0].astype(np.int64)
        total = np.zeros(len(weighed))
        for at, place in enumerate(places):
            units = np.concatenate([ours[place].units, theirs[place].units])
            inside = (number % starts[-1] >= starts[at]) & (number % starts[-1] < starts[at + 1])
            side = np.where(number[inside] >= starts[-1], starts[at + 1] - starts[at], 0)
            rows_of = number[inside] % starts[-1] - starts[at] + side
            total += share[place] * ours[place].metric.reduce(units[rows_of], weighed[:, inside])
        return total

    return reduce


# --- order -----------------------------------------------------------------------------------------------------------


def _order(value: float, higher: bool, name: str) -> tuple[bool, float, str]:
    return math.isnan(value), -value if higher else value, name


Ranked: TypeAlias = Mapping[str, tuple[int, str, bool]]


def _ranked(values: Mapping[str, float], higher: bool, differ: Callable[[str, str], bool]) -> Ranked:
    """Give each learner that has a value its rank, the letters of its groups, and whether it may be the best."""
    known = {name: value if higher else -value for name, value in values.items() if not math.isnan(value)}
    places, groups = ranks(known, differ), tie_groups(known, differ)
    top = max(known, key=lambda name: known[name], default="")
    return {
        name: (
            places[name],
            "".join(_letter(at) for at, group in enumerate(groups) if name in group),
            name == top or not differ(top, name),
        )
        for name in known
    }


def _letter(number: int) -> str:
    return chr(ord("a") + number) if number < 26 else f"({number + 1})"


def _standing(name: str, scores: tuple[Estimate, Estimate], columns: Columns, floor: bool, ranked: Ranked) -> Standing:
    rank, groups, best = ranked.get(name, (0, "", False))
    valued = [place for place, column in columns.items() if not math.isnan(column[0])]
    return Standing(
        learner=name, score=scores[0], by_instance=scores[1], tasks=len({place[0] for place in valued}),
        episodes=len(columns), without=len(columns) - len(valued), rank=rank, groups=groups, floor=floor, best=best,
    )  # fmt: skip
