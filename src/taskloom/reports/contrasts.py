"""Paired differences between learners on the same items, with confidence intervals and p-values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..episodes import Shots
from ..scores.reduce import Array, mean
from ..stats import Contrast, Estimate, holm, sign_ps, swap_p
from ..studies.results import Outcome
from .draws import Answered, Answers, Drawn, Episodes, How, Place, answers_of, draw
from .intervals import SHARE, Parts, Resampled, TaskMean, each_task, instances, over_tasks, task_means, together

ENOUGH = 12  # episodes; where there are as many, and tasks share no records, whole episodes change sides in a test
SIDES = 100  # changes of sides for each contrast of a family, so that what Holm corrects is fine enough


def differs(contrast: Contrast, below: float = 0.05) -> bool:
    """Say whether a difference is significant: the corrected p is below 0.05, and the interval does not include 0."""
    return contrast.p < below and (contrast.low > 0 or contrast.high < 0)


def corrected(contrasts: Sequence[Contrast]) -> list[Contrast]:
    """Correct the p-values of a family of contrasts for their number (Holm 1979); those without p do not count."""
    size = sum(not math.isnan(c.p) for c in contrasts)
    return [replace(c, p=p, family=size) for c, p in zip(contrasts, holm([c.p for c in contrasts]), strict=True)]


def contrast(
    a: str, b: str, metric: str, shots: Shots, outcomes: Iterable[Outcome], *, how: How | None = None
) -> Contrast:
    """Compare two learners on the answers that both have given, as a - b."""
    how = how or How()
    answers = answers_of(metric, shots, [o for o in outcomes if o.learner in (a, b)])
    if len(answers) < 2:
        return Contrast(a, b, math.nan, math.nan, math.nan, math.nan, 0)
    return contrasts_of([(a, b)], answers, how)[0]


def task_contrasts(
    pairs: Mapping[str, tuple[str, str]], metric: str, shots: Shots, outcomes: Iterable[Outcome], how: How | None = None
) -> dict[str, Contrast]:
    """Compare two learners on each task, as a - b; the p-values are corrected for the number of tasks."""
    how = how or How()
    answers = answers_of(metric, shots, [o for o in outcomes if o.learner in pairs.get(o.task, ())])
    by_task: dict[str, dict[str, dict[Place, Answered]]] = {task: {a: {}, b: {}} for task, (a, b) in pairs.items()}
    for learner, found in answers.items():
        for place, answered in found.items():
            by_task[place[0]][learner][place] = answered
    compared = [_paired(pairs[task], found, how) for task, found in by_task.items()]
    means = [_task_mean_of(apart, task, how) for (_, apart), task in zip(compared, pairs, strict=True)]
    contrasts = _contrasts([pair for pair, _ in compared], each_task(means, how), how)
    return dict(zip(pairs, corrected(contrasts), strict=True))


def contrasts_by_task(
    pairs: Sequence[tuple[str, str, str]], answers: Mapping[str, Answers], how: How, drawn: Mapping[str, Drawn]
) -> dict[str, dict[str, Contrast]]:
    """Compare two learners on each of some tasks, given as (task, a, b), as one family of tests: by task and a."""
    compared, means = [], []
    for task, *names in pairs:
        given = {n: {place: answers[n][place] for place in drawn[n][task].answers} for n in names}
        pair, apart = _paired((names[0], names[1]), given, how, {n: {task: drawn[n][task]} for n in names})
        compared.append(pair)
        means.append(_task_mean_of(apart, task, how))
    found = corrected(_contrasts(compared, each_task(means, how), how)) if pairs else []
    by_task: dict[str, dict[str, Contrast]] = {}
    for (task, *_), contrast in zip(pairs, found, strict=True):
        by_task.setdefault(task, {})[contrast.a] = contrast
    return by_task


def contrasts_of(
    pairs: Sequence[tuple[str, str]],
    answers: Mapping[str, Answers],
    how: How,
    drawn: Mapping[str, Drawn] | None = None,
) -> list[Contrast]:
    """Compare each two learners by the mean over tasks; p-values are as they are, and fine enough to be corrected."""
    compared, means = [], []
    for names in pairs:  # one by one, for the episodes of all pairs take much memory
        pair, apart = _paired(names, answers, how, drawn)
        compared.append(pair)
        means.append(over_tasks(task_means(apart, how), how))
    return _contrasts(compared, together(means), how) if pairs else []


def _contrasts(pairs: Sequence[_Pair], values: Resampled, how: How) -> list[Contrast]:
    least, most = next((a.metric.bounds for pair in pairs for a in pair.ours.values()), (0.0, 0.0))
    parts = [_parts(pair) if (least, most) == SHARE else None for pair in pairs]
    found = values.differences((least - most, most - least), parts)
    p_values = _p_values(pairs, max(how.count, SIDES * len(pairs)))
    return [
        Contrast(*pair.names, e.value, e.low, e.high, max(p, by_error), e.n)
        for pair, e, p, by_error in zip(pairs, found, p_values, values.p_values(), strict=True)
    ]


def _parts(pair: _Pair) -> Parts | None:
    """Give by how much answers are better and worse on average; of a metric that is no plain mean, if none differs."""
    places = list(pair.differences)
    if (added := _added(pair, places)) is not None:
        return min(1.0, float(added[added > 0].sum())), min(1.0, float(-added[added < 0].sum()))
    same = all(np.array_equal(pair.ours[place].units, pair.theirs[place].units) for place in places)
    return (0.0, 0.0) if same else None


def combination(
    shares: Mapping[str, float],
    metric: str,
    shots: Shots,
    outcomes: Iterable[Outcome],
    how: How | None = None,
    *,
    over: str = "tasks",
) -> Estimate:
    """Give a sum of learners' scores, each times its share, on the episodes that all have answered."""
    how = how or How()
    answers = answers_of(metric, shots, [o for o in outcomes if o.learner in shares])
    if len(answers) < len(shares):
        return Estimate(math.nan, math.nan, math.nan, 0)
    first, *others = answers.values()
    same = [p for p in first if all(p in found and found[p].items == first[p].items for found in others)]
    drawn = draw({name: {place: found[place] for place in same} for name, found in answers.items()}, how)
    means = task_means(combined(dict.fromkeys(drawn[next(iter(drawn))], shares), drawn), how)
    return over_tasks(means, how, instances(means) if over == "instances" else None).intervals()[0]


def combined(shares: Mapping[str, Mapping[str, float]], drawn: Mapping[str, Drawn]) -> dict[str, Episodes]:
    """Sum learners' scores up on each task, each times its share there, in the episodes that all have answered."""
    found = {}
    for task, parts in shares.items():
        first, *others = (drawn[name][task] for name in parts)
        same = [
            p for p, a in first.answers.items() if all(p in o.answers and o.answers[p].items == a.items for o in others)
        ]
        values = sum(
            (share * drawn[name][task].values[:, _places(drawn[name][task], same)] for name, share in parts.items()),
            np.zeros(1),
        )
        found[task] = Episodes({place: first.answers[place] for place in same}, values, first.linked)
    return found


# --- what both have answered -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two learners, the answers to items that both have answered, and the differences that have a value."""

    names: tuple[str, str]
    ours: Answers
    theirs: Answers
    differences: Mapping[Place, float]
    linked: bool  # whether tasks share records


def _paired(
    names: tuple[str, str], answers: Mapping[str, Answers], how: How, drawn: Mapping[str, Drawn] | None = None
) -> tuple[_Pair, Drawn]:
    """Pair two learners, with the differences of their episodes; what was drawn serves where they answered the same."""
    ours, theirs, same = _common(answers[names[0]], answers[names[1]])
    if drawn is None or not same:
        drawn = draw({names[0]: ours, names[1]: theirs}, how)
    apart = dict(_apart(drawn[names[0]], drawn[names[1]]))
    values = ((p, float(v)) for e in apart.values() for p, v in zip(e.answers, e.values[0], strict=True))
    known = {place: value for place, value in values if not math.isnan(value)}
    return _Pair(names, ours, theirs, known, any(e.linked != task for task, e in apart.items())), apart


def _apart(ours: Drawn, theirs: Drawn) -> Iterator[tuple[str, Episodes]]:
    for task in (task for task in ours if task in theirs):
        a, b = ours[task], theirs[task]
        if list(a.answers) == list(b.answers):
            yield task, replace(a, values=a.values - b.values)
        elif both := [place for place in a.answers if place in b.answers]:
            values = a.values[:, _places(a, both)] - b.values[:, _places(b, both)]
            yield task, Episodes({place: a.answers[place] for place in both}, values, a.linked)


def _task_mean_of(apart: Drawn, task: str, how: How) -> TaskMean:
    """Average the episodes of a task, also where there are none."""
    return task_means({task: apart.get(task) or Episodes({}, np.empty((1 + how.count, 0)), task)}, how)[task]


def _places(of: Episodes, wanted: Iterable[Place]) -> list[int]:
    at = {place: column for column, place in enumerate(of.answers)}
    return [at[place] for place in wanted]


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
    return answered.at([at[item] for item in items])


# --- tests -----------------------------------------------------------------------------------------------------------


def _p_values(pairs: Sequence[_Pair], count: int) -> list[float]:
    """Give p of paired permutation tests: whole episodes change sides where there are enough, else records in them.

    That takes episodes to be independent, which they are not where they share items. Where tasks share records, all
    answers to a record change sides at once, however many episodes there are.
    """
    found = [math.nan] * len(pairs)
    sums: dict[str, dict[int, Array]] = {"episodes": {}, "answers": {}}
    for at, pair in enumerate(pairs):
        differences = pair.differences
        if len(differences) >= ENOUGH and not pair.linked:
            share = _shares(list(differences))
            sums["episodes"][at] = np.array([value * share[place] for place, value in differences.items()])
        elif (by_record := _by_record(pair, list(differences))) is not None:
            sums["answers"][at] = by_record
        elif differences:
            found[at] = _permuted(pair, list(differences), count)
    for key, values in sums.items():
        for at, p in zip(values, sign_ps(list(values.values()), count=count, key=key), strict=True):
            found[at] = p
    return found


def _added(pair: _Pair, places: Sequence[Place]) -> Array | None:
    """Give what each answer adds to the difference, where the metric is a plain mean of what is known: (n,)."""
    if not places or not all(pair.ours[place].metric.reduce is mean for place in places):
        return None
    ours, theirs = (np.concatenate([of[place].units[:, 0] for place in places]) for of in (pair.ours, pair.theirs))
    if np.isnan(ours).any() or np.isnan(theirs).any():
        return None
    share, sizes = _shares(places), [len(pair.ours[place].items) for place in places]
    added: Array = (ours - theirs) * np.repeat([share[p] / n for p, n in zip(places, sizes, strict=True)], sizes)
    return added


def _by_record(pair: _Pair, places: Sequence[Place]) -> Array | None:
    """Give what each record adds to the difference, where the metric is a plain mean of what is known."""
    added = _added(pair, places)
    return None if added is None else np.bincount(np.concatenate(_records(pair, places)), weights=added)


def _records(pair: _Pair, places: Sequence[Place]) -> list[list[int]]:
    """Number the records of each episode, in the order in which they come; where tasks share some, across episodes."""
    number: dict[tuple[Place | None, int], int] = {}
    return [
        [
            number.setdefault((None if pair.linked else place, record), len(number))
            for record in pair.ours[place].records
        ]
        for place in places
    ]


def _permuted(pair: _Pair, places: Sequence[Place], count: int) -> float:
    """Test by a metric that is no plain mean: every episode is scored again by who gave which of its answers."""
    share, records = _shares(places), _records(pair, places)

    def apart(sides: Array) -> Array:
        total = np.zeros(len(sides))
        for place, numbers in zip(places, records, strict=True):
            ours, kept = pair.ours[place], sides[:, numbers]
            units, swapped = np.concatenate([ours.units, pair.theirs[place].units]), np.hstack([kept, 1 - kept])
            total += share[place] * (ours.metric.reduce(units, swapped) - ours.metric.reduce(units, 1 - swapped))
        return total

    return swap_p(apart, 1 + max(map(max, records)), count=count, key="answers")


def _shares(places: Sequence[Place]) -> dict[Place, float]:
    """Give the part that each episode has in a mean over tasks."""
    episodes = Counter(place[0] for place in places)
    return {place: 1 / len(episodes) / episodes[place[0]] for place in places}
