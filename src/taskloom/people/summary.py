"""Human evaluation to numbers: how good answers and instructions are, and how far raters agree.

Scores, differences and ratings are estimated as those of reports are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean, stdev
from typing import ClassVar

import numpy as np

from ..core import Answer
from ..errors import SourceError, UsageError
from ..reports.contrasts import contrasts_of, corrected
from ..reports.draws import Answered, How, Place, draw
from ..reports.intervals import SHARE, over_tasks, score_means
from ..scores import Metric
from ..scores.reduce import Array, mean, weights_or_ones
from ..stats import Contrast, Estimate, Reduce, correlation
from ..studies.results import Outcome, Results, own_records
from .agreement import RESAMPLES, RaterAgreement, agreement
from .answers import Answers
from .judgements import GOOD, RATERS, SCALE, VERDICTS, Comparison, Pair, Rating, Verdict, verdict

FEWEST = 3  # learners for a correlation
SIDES = 100  # resamples and changes of sides for each contrast, so that what Holm corrects is fine enough
HOW = How(count=RESAMPLES, tasks="drawn")  # people are asked about some tasks, and intervals speak of others like these
ONE_TASK = replace(HOW, tasks="fixed")


@dataclass(frozen=True, slots=True)
class Remark:
    """Something that a person wrote in a column, of a task or of a learner's answer."""

    task: str
    rater: str
    column: str
    text: str
    learner: str = ""
    item: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """How a learner's answers did against the reference."""

    score: Estimate  # how often at least as good; n counts items
    wins: int  # what people said; several may have judged one item
    ties: int
    losses: int
    equal: int  # items whose answer is the reference: ties, without asking
    unusable: int  # items without an answer: losses, without asking
    unanswered: int  # items without a judgement
    tasks: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What comparisons say: of learners, of each two of them (p-values are Holm's), and of raters."""

    learners: Mapping[str, Judged]
    contrasts: tuple[Contrast, ...]
    agreement: RaterAgreement
    raters: Mapping[str, int]  # how much each judged
    blank: int  # rows that were left empty
    remarks: tuple[Remark, ...]


@dataclass(frozen=True, slots=True)
class Rated:
    """What people think of one instruction."""

    mean: float
    deviation: float  # NaN of one rating
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratings:
    """What ratings say of all instructions."""

    mean: Estimate
    good: Estimate  # the share of ratings that are GOOD or above
    tasks: Mapping[str, Rated]
    few: tuple[str, ...]  # tasks with fewer raters than are wanted, or none
    agreement: RaterAgreement
    raters: Mapping[str, int]
    blank: int
    remarks: tuple[Remark, ...]


@dataclass(frozen=True, slots=True)
class Against:
    """A metric beside people: its score of each learner on the same items, each counted as in people's."""

    metric: str
    learners: Mapping[str, Estimate]
    correlation: Estimate


# --- comparisons -----------------------------------------------------------------------------------------------------


def compared(
    key: Mapping[str, Pair], answers: Answers[Comparison], records: Mapping[str, int] | None = None
) -> Compared:
    """Say how learners did, by the key of what was asked; items are their own records where those are not given."""
    said: dict[str, dict[str, Verdict]] = {}
    for one in answers.said:
        if one.choice is not None:
            said.setdefault(one.id, {})[one.rater] = verdict(key[one.id], one.choice)
    if not said:
        raise SourceError(f"no row has a choice yet; empty rows: {answers.blank:,}")
    credits = {id_: credit for id_, pair in key.items() if (credit := _credit(pair, said.get(id_, {}))) is not None}
    learners = sorted({pair.learner for pair in key.values()})
    pairs = {name: [pair for pair in key.values() if pair.learner == name] for name in learners}
    numbers = {id_: {rater: VERDICTS.index(v) for rater, v in by.items()} for id_, by in said.items()}
    return Compared(
        learners={name: _judged(pairs[name], credits, said, records or {}) for name in learners},
        contrasts=tuple(_contrasts(pairs, credits, records or {})),
        agreement=agreement(numbers, len(VERDICTS), "nominal"),
        raters=dict(sorted(Counter(rater for by in said.values() for rater in by).items())),
        blank=answers.blank,
        remarks=tuple(
            Remark(pair.task, one.rater, "comment", one.comment, pair.learner, pair.item)
            for one in answers.said
            if one.comment and (pair := key[one.id])
        ),
    )


def _credit(pair: Pair, said: Mapping[str, Verdict]) -> float | None:
    """Give 1 to what is at least as good, else 0, as published; of several raters the mean, of none nothing."""
    if pair.settled:
        return float(pair.settled == "equal")
    return fmean(float(one != "loss") for one in said.values()) if said else None


def records_in(results: Results, key: Mapping[str, Pair]) -> dict[str, int]:
    """Give the record of each item that was asked about, by the pair's id; of the run that the key was made of."""
    cells = _cells(results, key)
    return {
        pair.id: cells[pair.cell].records[cells[pair.cell].items.index(pair.item)]
        for pair in key.values()
        if cells[pair.cell].records
    }


def _judged(
    pairs: Sequence[Pair],
    credits: Mapping[str, float],
    said: Mapping[str, Mapping[str, Verdict]],
    records: Mapping[str, int],
) -> Judged:
    verdicts = Counter(one for pair in pairs for one in said.get(pair.id, {}).values())
    tasks: dict[str, list[Pair]] = {}
    for pair in sorted(pairs, key=lambda pair: (pair.task, pair.item)):
        tasks.setdefault(pair.task, []).append(pair)
    return Judged(
        score=_share([pair for found in tasks.values() for pair in found], credits, records, HOW),
        wins=verdicts["win"],
        ties=verdicts["tie"],
        losses=verdicts["loss"],
        equal=sum(pair.settled == "equal" for pair in pairs),
        unusable=sum(pair.settled == "unusable" for pair in pairs),
        unanswered=sum(pair.id not in credits for pair in pairs),
        tasks={task: _share(found, credits, records, ONE_TASK) for task, found in tasks.items()},
    )


def _share(pairs: Sequence[Pair], credits: Mapping[str, float], records: Mapping[str, int], how: How) -> Estimate:
    """Average credits over items, with an interval over tasks and items, or over the items of one task."""
    weights = _weights(pairs, credits)
    known = [pair for pair in pairs if pair.id in weights]
    if not known:
        return _no_value(pairs)
    units = np.array([[credits[pair.id], weights[pair.id]] for pair in known])
    return _estimate(_answers(known, _Counted(mean), units, records), how)


def _weights(pairs: Sequence[Pair], judged: Container[str]) -> dict[str, float]:
    """Say how much each item counts that is judged or settled; none does where people were asked, and judged none.

    What is not judged is taken to be like what is: else what needs no asking would count for too much.
    """
    asked = [pair.id for pair in pairs if not pair.settled]
    known = [id_ for id_ in asked if id_ in judged]
    if asked and not known:
        return {}
    return {pair.id: 1.0 for pair in pairs if pair.settled} | {id_: len(asked) / len(known) for id_ in known}


def _no_value(pairs: Iterable[Pair]) -> Estimate:
    return Estimate(math.nan, math.nan, math.nan, sum(pair.settled != "" for pair in pairs))


@dataclass(frozen=True, slots=True)
class _Counted(Metric):
    """A metric by which answers count as much as the last figure of their units says."""

    of: Reduce
    name: ClassVar[str] = "counted"
    version: ClassVar[int] = 1

    def unit(self, gold: tuple[Answer, ...], answer: Answer | None) -> tuple[float, ...]:
        """Count an answer that is a gold one; others need people."""
        return float(answer in gold), 1.0

    def reduce(self, units: Array, weights: Array | None = None) -> Array:
        """Give one number for each resample."""
        return self.of(units[:, :-1], weights_or_ones(units, weights) * units[:, -1])


def _answers(pairs: Sequence[Pair], metric: Metric, units: Array, records: Mapping[str, int]) -> dict[Place, Answered]:
    """Put what was judged in the form of reports: an episode for each task, whose pairs stand together."""
    rows: dict[str, list[int]] = {}
    for at, pair in enumerate(pairs):
        rows.setdefault(pair.task, []).append(at)
    found: dict[Place, Answered] = {}
    for task, own in rows.items():
        items = tuple(pairs[row].item for row in own)
        numbers = zip(own, own_records(task, items), strict=True)
        known = tuple(records.get(pairs[row].id, number) for row, number in numbers)
        found[task, 0, 0, 0] = Answered(metric, units[own], items, known)
    return found


def _estimate(answers: Mapping[Place, Answered], how: How = HOW, bounds: tuple[float, float] = SHARE) -> Estimate:
    """Estimate a mean over what was judged as reports do: tasks weigh as much as is counted in each."""
    sizes = {place[0]: float(answered.units[:, -1].sum()) for place, answered in answers.items()}
    means = score_means(draw({"": answers}, how)[""], how)
    return over_tasks(means, how, sizes).scores(bounds)[0]


def _contrasts(
    pairs: Mapping[str, Sequence[Pair]], credits: Mapping[str, float], records: Mapping[str, int]
) -> list[Contrast]:
    """Compare each two learners that were judged on the same items; p-values are Holm's."""
    how = replace(HOW, count=max(HOW.count, SIDES * math.comb(len(pairs), 2)))
    each = [_contrast(ours, theirs, credits, records, how) for ours, theirs in combinations(pairs.values(), 2)]
    return corrected([contrast for contrast in each if contrast])


def _contrast(
    ours: Sequence[Pair], theirs: Sequence[Pair], credits: Mapping[str, float], records: Mapping[str, int], how: How
) -> Contrast | None:
    """Compare two learners as reports do, on the n items that are known of both.

    Items count as in scores: what is settled for one learner counts for it, though the other's may not be judged.
    """
    a, b = sides = [{(pair.task, pair.item): pair for pair in pairs} for pairs in (ours, theirs)]
    shared = sorted(a.keys() & b.keys())
    both = [place for place in shared if a[place].id in credits and b[place].id in credits]
    weights = [_weights([of[place] for place in shared], {of[place].id for place in both}) for of in sides]
    if not all(weights):
        return None
    places = [place for place in shared if any(of[place].id in by for of, by in zip(sides, weights, strict=True))]
    names = ours[0].learner, theirs[0].learner
    answers = {}
    for name, of, by in zip(names, sides, weights, strict=True):
        pairs = [of[place] for place in places]
        answers[name] = _answers(pairs, _Share(), _linear(pairs, credits, by), records)
    (found,) = contrasts_of([names], answers, how)
    return replace(found, n=len(both))


def _linear(pairs: Sequence[Pair], credits: Mapping[str, float], weights: Mapping[str, float]) -> Array:
    """Give values of items whose plain mean over tasks is the weighted mean of credits: (n, 1).

    They are its Taylor linearisation (Woodruff 1971): the mean, and how far each item moves it.
    """
    total = sum(weights.values())
    score = sum(credits[id_] * weight for id_, weight in weights.items()) / total
    sizes = Counter(pair.task for pair in pairs)
    moved = [(credits[p.id] - score) * weights[p.id] * sizes[p.task] if p.id in weights else 0.0 for p in pairs]
    return score + len(sizes) / total * np.array(moved)[:, None]


@dataclass(frozen=True, slots=True)
class _Share(Metric):
    """A plain mean of what lies between 0 and 1."""

    name: ClassVar[str] = "share"
    version: ClassVar[int] = 1
    reduce = staticmethod(mean)

    def unit(self, gold: tuple[Answer, ...], answer: Answer | None) -> tuple[float, ...]:
        """Count an answer that is a gold one; others need people."""
        return (float(answer in gold),)


# --- ratings ---------------------------------------------------------------------------------------------------------


def rated(answers: Answers[Rating], wanted: int = RATERS) -> Ratings:
    """Say how good instructions are, and which were rated by fewer people than wanted."""
    scores: dict[str, dict[str, int]] = {}
    for one in sorted(answers.said, key=lambda one: (one.task, one.rater)):
        if one.score is not None:
            scores.setdefault(one.task, {})[one.rater] = one.score
    if not scores:
        raise SourceError(f"no row has a rating yet; empty rows: {answers.blank:,}")
    given = [(task, rater, score) for task, by in scores.items() for rater, score in by.items()]
    numbers = {task: {rater: score - SCALE[0] for rater, score in by.items()} for task, by in scores.items()}
    return Ratings(
        mean=_estimate(_ratings(given), bounds=(SCALE[0], SCALE[-1])),
        good=_estimate(_ratings([(task, rater, score >= GOOD) for task, rater, score in given])),
        tasks={task: _rated(list(by.values())) for task, by in scores.items()},
        few=tuple(task for task in answers.about if len(scores.get(task, ())) < wanted),
        agreement=agreement(numbers, len(SCALE), "ordinal"),
        raters=dict(sorted(Counter(rater for by in scores.values() for rater in by).items())),
        blank=answers.blank,
        remarks=tuple(_remarks(answers.said)),
    )


def _ratings(given: Sequence[tuple[str, str, int]]) -> dict[Place, Answered]:
    """Put ratings in the form of reports: an episode for each task, in which each rater is an item."""
    found: dict[Place, Answered] = {}
    for task in dict.fromkeys(task for task, _, _ in given):
        by_rater = {rater: value for of, rater, value in given if of == task}
        items, units = tuple(by_rater), np.array([[value, 1.0] for value in by_rater.values()])
        found[task, 0, 0, 0] = Answered(_Counted(mean), units, items, own_records(task, items))
    return found


def _rated(scores: Sequence[int]) -> Rated:
    return Rated(fmean(scores), stdev(scores) if len(scores) > 1 else math.nan, len(scores))


def _remarks(said: Iterable[Rating]) -> Iterable[Remark]:
    for one in said:
        texts = {"typos": one.typos, "clarity": one.clarity}
        yield from (Remark(one.task, one.rater, kind, text) for kind, text in texts.items() if text)


# --- a metric beside people ------------------------------------------------------------------------------------------


def beside(
    results: Results, key: Mapping[str, Pair], *, answers: Answers[Comparison], people: Mapping[str, Judged]
) -> Against:
    """Score what people judged, and what is settled, by the first metric that all tasks of the key have."""
    cells = _cells(results, key)
    metric = _common_metric(results, {pair.task for pair in key.values()})
    judged = {one.id for one in answers.said if one.choice is not None}
    pairs = {name: [pair for pair in key.values() if pair.learner == name] for name in people}
    records = records_in(results, key)
    scores = {name: _scored(metric, cells, pairs[name], judged, records) for name in people}
    values = {name: estimate.value for name, estimate in scores.items()}
    return Against(metric, scores, against(values, {name: one.score.value for name, one in people.items()}))


def _cells(results: Results, key: Mapping[str, Pair]) -> dict[str, Outcome]:
    """Give the cells of a run by their ids; a key that is of another run is refused."""
    cells = {outcome.cell: outcome for outcome in results.outcomes}
    lost = {pair.cell for pair in key.values() if pair.cell not in cells or pair.item not in cells[pair.cell].items}
    if lost:
        raise UsageError(f"the key is of another run than {results.name!r}, which has no cell {min(lost)}")
    return cells


def _scored(
    metric: str, cells: Mapping[str, Outcome], pairs: Sequence[Pair], judged: Container[str], records: Mapping[str, int]
) -> Estimate:
    weights = _weights(pairs, judged)
    known = sorted((pair for pair in pairs if pair.id in weights), key=lambda pair: (pair.task, pair.item))
    if not known:
        return _no_value(pairs)
    scored = [cells[pair.cell].scores[metric] for pair in known]
    at = [cells[pair.cell].items.index(pair.item) for pair in known]
    units = [[*found.units[n], weights[p.id]] for found, n, p in zip(scored, at, known, strict=True)]
    of = scored[0].metric
    return _estimate(_answers(known, _Counted(of.reduce), np.array(units), records), bounds=of.bounds)


def _common_metric(results: Results, tasks: Iterable[str]) -> str:
    first, *others = (results.metrics_of(task) for task in sorted(tasks))
    shared = [name for name in first if all(name in other for other in others)]
    if not shared:
        raise UsageError(f"the {1 + len(others)} tasks that were asked about have no metric in common")
    return shared[0]


def against(metric: Mapping[str, float], people: Mapping[str, float]) -> Estimate:
    """Correlate a metric's scores of learners with people's; fewer than three have no correlation to speak of.

    >>> against({"a": 0.1, "b": 0.2, "c": 0.3}, {"a": 0.5, "b": 0.6, "c": 0.7}).value
    1.0
    """
    both = [n for n in sorted(metric.keys() & people.keys()) if not math.isnan(metric[n]) and not math.isnan(people[n])]
    if len(both) < FEWEST:
        return Estimate(math.nan, math.nan, math.nan, len(both))
    return correlation([metric[name] for name in both], [people[name] for name in both])
