"""Outcomes to numbers: a board has scores by one metric at one number of shots, and how sure they are.

An episode's score is the metric of its answers, a task's the mean over its episodes, a learner's that over its tasks.

Intervals allow for what varies between episodes and for what varies between items, whether episodes have items of their
own or share them, as several seeds on one test set do. Episodes and items are drawn with replacement, apart from each
other, and an answer counts as often as both were drawn. That counts the noise of single answers three times (Owen 2007,
"The pigeonhole bootstrap"), and drawing either alone counts it once: so the variance is twice the sum of that over
episodes and that over items, less that over both, and never less than either; resamples are drawn in to it. What varies
between few episodes is known badly, and made more of, as Student does. The tasks stay as they are, unless they are said
to be `drawn` too: then intervals speak of other tasks like these.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import stdtrit

from ..ids import bit_stream
from ..scores import Metric
from ..scores.reduce import Array, ratio, weights_or_ones
from ..stats import Contrast, Estimate, holm, permutation_p, ranks, resamples, tie_groups
from ..studies.results import Outcome

Place: TypeAlias = tuple[str, int, int]  # a task, and the seed and index of an episode
Columns: TypeAlias = Mapping[Place, Array]  # a score for the data itself, then one for each resample: (1 + r,)
ENOUGH = 12  # episodes; where there are as many, whole episodes change sides in a test, else single answers
SIDES = 100  # changes of sides for each contrast of a family, so that what Holm corrects is fine enough
RAW = ("mse",)  # metrics that are no shares of one, and are shown as they are


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How sure one wants to be, and of what."""

    count: int = 1000
    level: float = 0.95
    tasks: Literal["fixed", "drawn"] = "fixed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What one learner reached on a board; `rank` is 0 for floors and for learners without a value."""

    learner: str
    score: Estimate
    tasks: int
    episodes: int
    without: int  # episodes that have no score, such as a correlation of equal answers
    rank: int = 0
    groups: str = ""  # learners that share a letter can't be told apart
    floor: bool = False
    best: bool = False  # whether it can't be told from the best


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


@dataclass(frozen=True, slots=True)
class Answered:
    """The scored answers of one learner in one episode."""

    metric: Metric
    units: Array
    items: tuple[str, ...]

    def only(self, ids: Iterable[str]) -> Answered:
        """Leave out other items."""
        wanted = set(ids)
        kept = [at for at, item in enumerate(self.items) if item in wanted]
        return replace(self, units=self.units[kept], items=tuple(self.items[at] for at in kept))


Answers: TypeAlias = Mapping[Place, Answered]


def board(
    metric: str, shots: int, outcomes: Sequence[Outcome], floors: Sequence[str] = (), how: How | None = None
) -> Board:
    """Score all learners that have outcomes at these shots, and compare each two of them."""
    how = how or How()
    answers = answers_of(metric, shots, outcomes)
    kind = next(a.metric for found in answers.values() for a in found.values())
    higher = bool(getattr(kind, "higher_is_better", True))
    drawn = _draw(answers, how)
    scores = {name: estimate(drawn[name], _size(answers[name]), how) for name in answers}
    order = sorted(answers, key=lambda name: _order(scores[name].value, higher, name))
    contested = [name for name in order if name not in floors] or order
    pairs = [(a, b) for a, b in itertools.combinations(order, 2) if a in contested or b in contested]
    contrasts = corrected([_contrast((a, b), answers, drawn, how, len(pairs)) for a, b in pairs])
    told = {frozenset((c.a, c.b)) for c in contrasts if differs(c)}
    ranked = _ranked({n: scores[n].value for n in contested}, higher, lambda a, b: frozenset((a, b)) in told)
    standings = tuple(_standing(name, scores[name], drawn[name], name in floors, ranked) for name in order)
    return Board(
        metric=metric, shots=shots, higher=higher, points=kind.name not in RAW, standings=standings,
        pairs=tuple(contrasts), tasks=_by_task(answers, drawn, how),
    )  # fmt: skip


def answers_of(metric: str, shots: int, outcomes: Iterable[Outcome]) -> dict[str, dict[Place, Answered]]:
    """Gather the scored answers by learner and episode, in an order that does not depend on that of the run."""
    found: dict[str, dict[Place, Answered]] = {}
    for o in sorted(outcomes, key=lambda o: (o.learner, o.task, o.seed, o.index)):
        if o.shots == shots and metric in o.scores:
            scored = o.scores[metric]
            found.setdefault(o.learner, {})[o.task, o.seed, o.index] = Answered(scored.metric, scored.units, o.items)
    return found


# --- resamples -------------------------------------------------------------------------------------------------------


def _draw(answers: Mapping[str, Answers], how: How) -> dict[str, dict[Place, Array]]:
    """Score every episode of every learner in every resample of the items of its task."""
    columns: dict[str, dict[Place, Array]] = {name: {} for name in answers}
    for task in sorted({place[0] for found in answers.values() for place in found}):
        parts = {(n, p): a for n, found in answers.items() for p, a in found.items() if p[0] == task}
        for (name, place), column in _rescored(task, parts, how).items():
            columns[name][place] = column
    return columns


def _rescored(task: str, parts: Mapping[tuple[str, Place], Answered], how: How) -> dict[tuple[str, Place], Array]:
    number = {item: at for at, item in enumerate(sorted({item for a in parts.values() for item in a.items}))}
    at = {key: np.array([number[item] for item in a.items], dtype=np.int64) for key, a in parts.items()}
    scored: dict[tuple[str, Place], list[Array]] = {key: [] for key in parts}
    blocks = itertools.chain([np.ones((1, len(number)))], resamples(len(number), how.count, "items", task))
    for weights in blocks:  # the first is the data itself
        for key, a in parts.items():
            scored[key].append(a.metric.reduce(a.units, weights[:, at[key]]))
    return {key: np.concatenate(found) for key, found in scored.items()}


@lru_cache(maxsize=4096)
def _fewer(n: int, count: int, *key: str) -> Array:
    """Draw n - 1 of n, so that the variance of a mean of few is right; row 0 is the data itself: (1 + r, n)."""
    if n < 2:
        return np.ones((1 + count, n))
    bits = bit_stream("report", n, *key)(count * (n - 1)).astype(np.uint64)
    drawn = ((bits * np.uint64(n)) >> np.uint64(32)).astype(np.int64).reshape(count, n - 1)
    flat = np.bincount((drawn + n * np.arange(count)[:, None]).ravel(), minlength=count * n)
    return np.concatenate([np.ones((1, n)), flat.reshape(count, n)])


def _task_means(columns: Columns, how: How, *, episodes: bool) -> dict[str, Array]:
    """Average the episodes of each task, each once or as often as it was drawn; those without a score are left out."""
    tasks: dict[str, list[Array]] = {}
    for place, column in columns.items():
        tasks.setdefault(place[0], []).append(column)
    means = {}
    for task, found in tasks.items():
        values = np.stack(found, axis=1)  # (1 + r, k)
        values = values[:, ~np.isnan(values[0])]
        weights = _fewer(values.shape[1], how.count, "episodes", task) if episodes else np.ones(values.shape)
        means[task] = _mean(values, weights)
    return means


def _mean(values: Array, weights: Array) -> Array:
    known = ~np.isnan(values)
    return ratio(np.where(known, values * weights, 0).sum(1), (known * weights).sum(1))


def _macro(columns: Columns, how: How, *, episodes: bool = False, tasks: bool = False) -> Array:
    """Average over tasks the means over their episodes, for the data and for each resample: (1 + r,)."""
    means = [mean for mean in _task_means(columns, how, episodes=episodes).values() if not math.isnan(mean[0])]
    if not means:
        return np.full(1 + how.count, np.nan)
    values = np.stack(means, axis=1)
    return _mean(values, _fewer(len(means), how.count, "tasks") if tasks else np.ones(values.shape))


def estimate(columns: Columns, n: int, how: How) -> Estimate:
    """Give the mean over tasks with its interval; it has none where a tenth of the resamples have no score."""
    tasks = how.tasks == "drawn"
    values = _macro(columns, how, episodes=True, tasks=tasks)
    value, known = float(values[0]), values[1:][~np.isnan(values[1:])]
    if n < 2 or math.isnan(value) or len(known) <= 0.9 * how.count:
        return Estimate(value, math.nan, math.nan, n)
    spread = float(np.var(known))
    pulled = math.sqrt(_variance(columns, how, None if tasks else spread) / spread) if spread else 0.0
    ends = np.quantile(known, [(1 - how.level) / 2, (1 + how.level) / 2])
    shares = all(np.nanmin(column) >= 0 and np.nanmax(column) <= 1 for column in columns.values())
    low, high = (float(np.clip(end, 0, 1) if shares else end) for end in value + pulled * (ends - value))
    return Estimate(value, low, high, n)


def _variance(columns: Columns, how: How, both: float | None) -> float:
    """Give the variance of a mean over tasks; that over episodes and items together may be known."""
    still = {place: np.broadcast_to(column[0], len(column)) for place, column in columns.items()}
    by_episode, by_item = _spread(_macro(still, how, episodes=True)), _spread(_macro(columns, how))
    by_both = _spread(_macro(columns, how, episodes=True)) if both is None else both
    by_task = _spread(_macro(still, how, tasks=True)) if how.tasks == "drawn" else 0.0
    wanted = max(by_episode, by_item, 2 * (by_episode + by_item) - by_both)
    return max(by_item + (wanted - by_item) * _few(columns, how.level), by_task)


def _few(columns: Columns, level: float) -> float:
    """Say how much more a variance between few episodes must be to keep its promise: Student's quantile, squared."""
    episodes = Counter(place[0] for place, column in columns.items() if not math.isnan(column[0]))
    freedom = episodes.total() - len(episodes)
    return float(stdtrit(freedom, (1 + level) / 2) / NormalDist().inv_cdf((1 + level) / 2)) ** 2 if freedom else 1.0


def _spread(values: Array) -> float:
    return float(np.nanvar(values[1:]))


def _by_task(
    answers: Mapping[str, Answers], drawn: Mapping[str, Columns], how: How
) -> Mapping[str, Mapping[str, Estimate]]:
    tasks: dict[str, dict[str, Estimate]] = {}
    fixed = replace(how, tasks="fixed")
    for name, found in answers.items():
        for task in dict.fromkeys(place[0] for place in found):
            part = {place: a for place, a in found.items() if place[0] == task}
            tasks.setdefault(task, {})[name] = estimate({p: drawn[name][p] for p in part}, _size(part), fixed)
    return dict(sorted(tasks.items()))


def _size(answers: Answers) -> int:
    return sum(len(a.items) for a in answers.values())


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
    drawn = _draw(kept, how)
    summed = {p: sum((shares[name] * drawn[name][p] for name in kept), np.zeros(1)) for p in same}
    return estimate(summed, _size({p: first[p] for p in same}), how)


def _contrast(
    names: tuple[str, str], answers: Mapping[str, Answers], drawn: Mapping[str, Columns] | None, how: How, family: int
) -> Contrast:
    ours, theirs, same = _common(answers[names[0]], answers[names[1]])
    if drawn is None or not same:
        drawn = _draw({names[0]: ours, names[1]: theirs}, how)
    apart = {place: drawn[names[0]][place] - drawn[names[1]][place] for place in ours}
    found = estimate(apart, _size(ours), how)
    p = _p(ours, theirs, {place: float(d[0]) for place, d in apart.items()}, max(how.count, SIDES * family))
    return Contrast(*names, found.value, found.low, found.high, p, found.n)


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
    """Test by changing sides: of whole episodes where there are enough, else of single answers."""
    known = [place for place, difference in differences.items() if not math.isnan(difference)]
    if not known:
        return math.nan
    share = _shares(known)
    if len(known) >= ENOUGH:
        weighed = np.array([[differences[place] * share[place]] for place in known])
        return permutation_p(weighed, np.zeros_like(weighed), _total, count=count, key="episodes")
    sizes = [len(ours[place].items) for place in known]
    rows = np.arange(sum(sizes), dtype=np.float64)
    return permutation_p(rows, rows + len(rows), _pooled(ours, theirs, known), count=count, key="answers")


def _shares(places: Sequence[Place]) -> dict[Place, float]:
    """Give the part that each episode has in a mean over tasks."""
    episodes = Counter(place[0] for place in places)
    return {place: 1 / len(episodes) / episodes[place[0]] for place in places}


def _total(units: Array, weights: Array | None) -> Array:
    return np.asarray(weights_or_ones(units, weights) @ units[:, 0])


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


def _standing(name: str, score: Estimate, columns: Columns, floor: bool, ranked: Ranked) -> Standing:
    rank, groups, best = ranked.get(name, (0, "", False))
    valued = [place for place, column in columns.items() if not math.isnan(column[0])]
    return Standing(
        learner=name, score=score, tasks=len({place[0] for place in valued}), episodes=len(columns),
        without=len(columns) - len(valued), rank=rank, groups=groups, floor=floor, best=best,
    )  # fmt: skip
