"""How many episodes, and test items in each, a budget is best spent on: by simulation of confidence intervals.

The simulation is that of FLEX (Bragg et al. 2021, appendix B). An episode has an accuracy of its own, drawn from a
normal distribution; its answers are right with that chance; the mean over episodes has a bootstrap interval. Repeated,
that gives the width of the interval, and how often it holds the true mean (its coverage).

All random numbers are of a key, all sums are of whole numbers, and the truth is rounded: the same input gives the same
output everywhere.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from .errors import UsageError
from .ids import bit_stream
from .messages import Note
from .scores.reduce import Array, wilson
from .stats import Estimate, resamples
from .texts import seconds_of, time_text

EPISODES = (5, *range(15, 151, 15))  # of the paper
ACCURACIES = tuple(percent / 100 for percent in range(30, 96, 5))  # from 0.30 to 0.95, as in the paper
MOST_ITEMS = 10**6
ROUNDING = 1e-12
DEVIATION = 0.05  # of the accuracies of episodes, as in the paper
CORRELATION = 0.5  # assumed between the accuracies of two models over the same episodes
LEVEL, POWER = 0.95, 0.8
LEAST_COVERAGE = LEVEL - 0.01  # an interval that holds the truth less often is not chosen, however narrow it is
RESAMPLES = 999  # so that the limits of 95 % are the 25th and the 975th (Davison and Hinkley 1997, 5.2)
SETS, SHARING = 20, 50  # sets of resamples at most, and repetitions that share one, and so its errors, at least
FINEST = 4096  # distinct steps of accuracy; with more items, they are taken as normal
REACH = 6.0  # standard deviations on either side beyond which nothing is drawn
ALMOST = 1e-12  # how near to 0 and 1 a chance can be
DIGITS = 6  # of the true mean, after the point: an interval that ends there holds it, whatever a processor's rounding


# --- costs -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EpisodeCosts:
    """What an episode takes: seconds to set up and adapt a model, and seconds for each test item."""

    fit: float
    item: float
    most: int = MOST_ITEMS  # that there are for an episode, however many are asked for

    def __post_init__(self) -> None:
        for name in ("fit", "item"):
            if not 0 <= getattr(self, name) < math.inf:
                raise UsageError(Note.of("cost-invalid", name=name, given=repr(getattr(self, name))))

    def seconds(self, episodes: int, items: int) -> float:
        """Give what episodes with so many items each take.

        >>> EpisodeCosts(98.5, 0.18).seconds(90, 300)
        13725.0
        """
        return episodes * (self.fit + min(items, self.most) * self.item)


def total_seconds(costs: Sequence[EpisodeCosts], episodes: int, items: int) -> float:
    """Add up what is run on an episode, few-shot and zero-shot, task by task."""
    return sum(cost.seconds(episodes, items) for cost in costs)


def items_within(seconds: float, costs: Sequence[EpisodeCosts], episodes: int, most: int = MOST_ITEMS) -> int:
    """Give the items of each episode that there is time for, at most so many; 0 where there is none for one.

    >>> items_within(4 * 3600, [EpisodeCosts(96.5, 0.09), EpisodeCosts(2.0, 0.09)], 90)
    341
    """
    enough, too_many = 0, most + 1
    while too_many - enough > 1:
        middle = (enough + too_many) // 2
        fits = total_seconds(costs, episodes, middle) <= seconds * (1 + ROUNDING)
        enough, too_many = (middle, too_many) if fits else (enough, middle)
    return enough


# --- what is assumed -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """How a model's answers vary: by episode, and by item within one."""

    accuracy: float = 0.5
    deviation: float = DEVIATION  # of the accuracies of episodes
    times: int = 1  # items of an episode for each that is counted: its classes, where they are counted by class
    most: int = MOST_ITEMS  # that can be counted
    apart: tuple[float, float] | None = None  # measured variances of a difference of two models: of episodes, of items

    def __post_init__(self) -> None:
        for name, value in (("accuracy", self.accuracy), ("deviation", self.deviation)):
            if not 0 <= value <= 1:
                raise UsageError(Note.of("share-expected", name=name, given=repr(value)))

    def items(self, counted: int) -> int:
        """Give the items of an episode, where so many are asked for."""
        return self.times * min(counted, self.most)

    @property
    def within(self) -> float:
        """Give the variance of single answers within an episode: that of right and wrong ones."""
        return max(0.0, self.accuracy * (1 - self.accuracy) - self.deviation**2)

    def paired_variance(self, items: int) -> float:
        """Give the variance of the difference between two models' scores on the same episode.

        Where it was not measured, accuracies have a correlation of 0.5, and answers to an item none beyond that.
        """
        of_episodes, of_items = self.apart or (2 * (1 - CORRELATION) * self.deviation**2, 2 * self.within)
        return of_episodes + of_items / self.items(items)


PAPER = tuple(Variation(accuracy=accuracy) for accuracy in ACCURACIES)


def best_items(fit: float, item: float, variation: Variation) -> float:
    """Give the items that make the variance of a mean smallest at a given cost in seconds (Cochran 1977, 10.6).

    >>> round(best_items(98.5, 0.18, Variation(accuracy=0.7)))
    213
    """
    if not item or not variation.deviation:
        return math.inf
    return math.sqrt(fit / item * variation.within / variation.times) / variation.deviation


def detectable_difference(variance: float, episodes: int, *, tasks: int = 1) -> float:
    """Give the smallest difference of two models that a paired t-test finds in 80 of 100 studies (Cohen 1988, 2.3).

    The variance is that of the difference on one episode; over several tasks, the mean of theirs.

    >>> round(detectable_difference(0.01, 30), 4)
    0.0529
    """
    from scipy.special import stdtrit

    freedom = tasks * (episodes - 1)
    if not freedom:
        return math.nan
    quantiles = float(stdtrit(freedom, (1 + LEVEL) / 2) + stdtrit(freedom, POWER))
    return quantiles * math.sqrt(variance / (tasks * episodes))


# --- simulation ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Design:
    """What is simulated: a number of episodes with so many items each, and how accuracies vary."""

    episodes: int
    items: int
    accuracy: float
    deviation: float = DEVIATION


@dataclass(frozen=True, slots=True)
class Simulated:
    """The mean width of the intervals of a design, and how often they hold the truth."""

    width: float
    coverage: Estimate


def simulate(designs: Sequence[Design], *, repetitions: int = 1000, seed: int = 0) -> list[Simulated]:
    """Simulate each design so many times; those with as many episodes share their random numbers."""
    if wrong := [one for one in designs if one.episodes < 2 or one.items < 1]:
        raise UsageError(Note.of("design-too-small", design=wrong[0]))
    if repetitions < 1:
        raise UsageError(Note.of("whole-number-expected", name="repetitions", least=1, given=repr(repetitions)))
    from threadpoolctl import threadpool_limits

    found: dict[Design, Simulated] = {}
    with threadpool_limits(1), ThreadPoolExecutor(os.cpu_count()) as threads:  # a design is one thread's
        for episodes in dict.fromkeys(one.episodes for one in designs):
            alike = list(dict.fromkeys(one for one in designs if one.episodes == episodes))
            drawn = _Drawn.of(episodes, repetitions, seed, alike)
            found |= zip(alike, threads.map(drawn.simulated, alike), strict=True)
    return [found[one] for one in designs]


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The random numbers of designs with as many episodes: resamples, and chances in their order, by accuracy."""

    weights: Sequence[Array]  # (episodes, resamples), for each set of repetitions
    ordered: dict[float, tuple[Array, Array]]  # the places of chances from the least to the most, and the chances
    shape: tuple[int, int]  # repetitions, episodes

    @classmethod
    def of(cls, episodes: int, repetitions: int, seed: int, designs: Sequence[Design]) -> _Drawn:
        exact = np.float32 if episodes * FINEST < 1 << 24 else np.float64  # in which sums of whole numbers are whole
        keys = [
            ("sample-size", seed, episodes, number) for number in range(min(SETS, math.ceil(repetitions / SHARING)))
        ]
        weights = [np.concatenate([*resamples(episodes, RESAMPLES, *key)]).T.astype(exact, order="C") for key in keys]
        ordered = {}
        for accuracy in dict.fromkeys(one.accuracy for one in designs):
            bits = bit_stream("sample-size", seed, episodes, accuracy)(repetitions * episodes)
            places = np.argsort(bits)  # of equal ones, the order does not matter
            ordered[accuracy] = places, (bits[places] + 0.5) / 2**32
        return cls(weights, ordered, (repetitions, episodes))

    def simulated(self, of: Design) -> Simulated:
        """Draw the right answers of each episode, and take the percentile interval of their sums."""
        shares = _shares(of)
        steps = len(shares) - 1
        truth = round(of.episodes * float(np.diff(shares, prepend=0.0) @ np.arange(steps + 1)), DIGITS)
        right = self._right(of.accuracy, shares)
        first = round((RESAMPLES + 1) * (1 - LEVEL) / 2) - 1
        widths, held = [], 0
        for rows, weights in zip(np.array_split(right, len(self.weights)), self.weights, strict=True):
            low, high = _limits(rows @ weights, first)
            widths.append(float((high - low).sum()))
            held += int(np.sum((low <= truth) & (truth <= high)))
        repetitions = len(right)
        share = held / repetitions
        return Simulated(
            sum(widths) / repetitions / (of.episodes * steps),
            Estimate(share, *wilson(share, repetitions, LEVEL), repetitions),
        )

    def _right(self, accuracy: float, shares: Array) -> Array:
        """Turn chances into right answers, (repetitions, episodes): as many as have a lower share."""
        places, chances = self.ordered[accuracy]
        ends = np.searchsorted(chances, shares[:-1])
        right = np.empty(len(places), self.weights[0].dtype)
        right[places] = np.repeat(np.arange(len(shares)), np.diff(ends, prepend=0, append=len(places)))
        return right.reshape(self.shape)


def _limits(sums: Array, first: int) -> tuple[Array, Array]:
    """Give the value at a place from below in each row, and that at the same place from above."""
    lower = np.partition(sums, first, axis=1)  # two steps are three times as fast as both places in one
    upper = np.partition(lower[:, first + 1 :], -1 - first, axis=1)
    return lower[:, first].astype(np.float64), upper[:, -1 - first].astype(np.float64)


def _shares(of: Design) -> Array:
    """Give the chance of at most so many right answers in an episode, from none to all: (items + 1,).

    Accuracies of episodes are normal, cut off at 0 and 1; the sum over them is by the trapezoidal rule. Of very many
    items, the share of right ones is taken as normal, too, in steps.
    """
    from scipy.special import gammaln, ndtr

    if of.items > FINEST:
        within = max(0.0, of.accuracy * (1 - of.accuracy) - of.deviation**2)
        deviation = max(ALMOST, math.sqrt(of.deviation**2 + within / of.items))
        found: Array = ndtr(((np.arange(FINEST + 1) + 0.5) / FINEST - of.accuracy) / deviation)
        return np.append(found[:-1], 1.0)
    places = _places(of)
    chances = np.clip(of.accuracy + of.deviation * places, ALMOST, 1 - ALMOST)
    weights = np.exp(-(places**2) / 2)
    right = np.arange(of.items + 1)
    ways = gammaln(of.items + 1) - gammaln(right + 1) - gammaln(of.items - right + 1)
    log_odds = ways + np.outer(np.log(chances), right) + np.outer(np.log1p(-chances), of.items - right)
    found = np.cumsum((weights / weights.sum()) @ np.exp(log_odds))
    found /= found[-1]
    return found


def _places(of: Design) -> Array:
    """Give standard normal places that lie closer than answers vary within an episode."""
    if not of.deviation:
        return np.zeros(1)
    step = min(0.25, 0.2 / (of.deviation * math.sqrt(of.items)))
    count = math.ceil(REACH / step)
    return step * np.arange(-count, count + 1)


# --- the choice ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSize:
    """A number of episodes, the items that there is time for, and what to expect of them."""

    episodes: int
    items: int
    seconds: float
    width: float  # of the interval of one task
    coverage: Estimate  # how often it holds the truth
    detectable: float  # the smallest difference of two models on one task that is found with a power of 80 %
    overall_width: float  # of the mean over tasks
    overall_detectable: float

    @property
    def is_covered(self) -> bool:
        """Tell whether the interval may hold the truth about as often as it says, for all that was simulated."""
        return self.coverage.high >= LEAST_COVERAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSizes:
    """The sizes that a budget leaves to choose from, and which of them has the narrowest interval."""

    seconds: float
    choices: tuple[SampleSize, ...]

    @property
    def best(self) -> SampleSize:
        """Give the size with the narrowest interval of those that are covered, or else the best covered one."""
        covered = [choice for choice in self.choices if choice.is_covered]
        if covered:
            return min(covered, key=lambda choice: choice.width)
        return max(self.choices, key=lambda choice: choice.coverage.value)


def sample_size(
    budget: str | float,
    costs: Sequence[EpisodeCosts],
    *,
    variations: Sequence[Variation] = PAPER,
    episodes: Sequence[int] = EPISODES,
    tasks: int = 1,
    most_items: int = MOST_ITEMS,
    repetitions: int = 1000,
) -> SampleSizes:
    """Say how many episodes, and items in each, give the narrowest interval for a budget: seconds, or a text as "48h".

    `costs` are all that is run on an episode: learners, tasks, few-shot and zero-shot. Widths and coverages are means
    over variations.
    """
    seconds = seconds_of(budget) if isinstance(budget, str) else budget
    sizes = {count: items for count in episodes if (items := items_within(seconds, costs, count, most_items))}
    if not sizes:
        least = min(episodes, default=2)
        needed = time_text(total_seconds(costs, least, 1))
        raise UsageError(Note.of("budget-short", budget=time_text(seconds), episodes=least, needed=needed))
    designs = [design(count, items, one) for count, items in sizes.items() for one in variations]
    found = iter(simulate(designs, repetitions=repetitions))
    choices = []
    for count, items in sizes.items():
        simulated = [(one, next(found)) for one in variations]
        choices.append(_size(count, items, total_seconds(costs, count, items), simulated, tasks))
    return SampleSizes(seconds=seconds, choices=tuple(choices))


def design(episodes: int, items: int, variation: Variation) -> Design:
    """Say what is simulated where so many items are asked for in each of so many episodes."""
    return Design(episodes, variation.items(items), variation.accuracy, variation.deviation)


def _size(
    episodes: int, items: int, seconds: float, found: Sequence[tuple[Variation, Simulated]], tasks: int
) -> SampleSize:
    """Sum up what was simulated of a number of episodes."""
    share = fmean(one.coverage.value for _, one in found)
    repetitions = found[0][1].coverage.n * len({variation.accuracy for variation, _ in found})  # that differ
    paired = [variation.paired_variance(items) for variation, _ in found]
    return SampleSize(
        episodes=episodes, items=items, seconds=seconds,
        width=fmean(one.width for _, one in found),
        coverage=Estimate(share, *wilson(share, repetitions, LEVEL), repetitions),
        detectable=fmean(detectable_difference(variance, episodes) for variance in paired),
        overall_width=math.sqrt(fmean(one.width**2 for _, one in found) / tasks),
        overall_detectable=detectable_difference(fmean(paired), episodes, tasks=tasks),
    )  # fmt: skip
