"""Results to a summary: the boards, what was counted on the way, and a few predictions to look at."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from .. import prompts
from ..core import Answer, Task
from ..ids import Json, fingerprint, shuffled
from ..messages import Note
from ..scores import Metric, signature
from ..scores.tasks import split_name
from ..stats import Contrast, Estimate
from ..studies.costs import Cost, total
from ..studies.results import Failure, Outcome, Results
from .boards import RAW, Board, Category, Standing, board, contrast, corrected
from .exhibits import Exhibit, Seen, exhibits
from .intervals import How

RIGHT_OR_WRONG = ("accuracy", "exact-match")  # metrics whose unit says whether an answer is right
SAMPLES, SAMPLES_IN_ALL = 3, 60


@dataclass(frozen=True, slots=True)
class Mark:
    """How one answer was scored by one metric: right or wrong where the metric says so, else a number if it has one."""

    metric: str
    value: float | None
    right: bool | None
    points: bool


@dataclass(frozen=True, slots=True)
class Given:
    """What one learner answered; None is what could not be parsed."""

    learner: str
    text: str | None
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """An item, its acceptable answers, and what learners gave."""

    item: str
    shots: int
    fields: Mapping[str, str]
    gold: tuple[str, ...]
    given: tuple[Given, ...]


@dataclass(frozen=True, slots=True)
class Tally:
    """How often something was counted with one learner, and out of how many where that is known."""

    learner: str
    what: str  # the key of a note; `messages.text_of` has the words
    count: int
    of: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What was done, what was not, and what went wrong on the way."""

    done: int
    failed: int
    missing: int
    skipped: Mapping[Note, int]
    unusable: tuple[Tally, ...]
    noted: tuple[Tally, ...]  # what learners counted themselves: cut prompts and the like
    costs: Mapping[str, Cost]  # of each learner in all; the memory is the most of any cell
    cells: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """All that a report shows."""

    name: str
    command: str
    suite: str
    fingerprint: str
    about: Mapping[str, Json]
    learners: Mapping[str, str]
    floors: tuple[str, ...]
    smoke: bool
    how: How
    boards: tuple[Board, ...]
    categories: tuple[Category, ...]  # each by its tasks' first metric, at the most shots of a learner
    exhibits: tuple[Exhibit, ...]  # what the study wants to see beside scores
    tasks: Mapping[str, str]  # those that were run -> what they ask
    samples: Mapping[str, tuple[Sample, ...]]
    counts: Counts
    failures: tuple[Failure, ...]
    signatures: Mapping[str, tuple[str, ...]]  # by metric; those over labels have one for each set of labels

    @property
    def metrics(self) -> tuple[str, ...]:
        """Name the metrics, in the order in which tasks name them."""
        return tuple(dict.fromkeys(b.metric for b in self.boards))

    def of(self, metric: str) -> tuple[Board, ...]:
        """Give the boards of one metric, the fewest shots first."""
        return tuple(b for b in self.boards if b.metric == metric)

    def _repr_html_(self) -> str:
        """Show the report in a notebook, in a frame of its own so that no style leaks."""
        from .html import frame

        return frame(self)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two learners by one metric at one number of shots: over all tasks, and task by task (Holm's p-values)."""

    metric: str
    shots: int
    points: bool
    overall: Contrast
    tasks: Mapping[str, Contrast]


def summarise(results: Results, how: How | None = None) -> Summary:
    """Sum up all that a run has found so far."""
    how = how or How()
    ran = sorted({o.task for o in results.outcomes} | {f.task for f in results.failures})
    boards = tuple(_board(results, *at, how) for at in _boards(results))
    categories = _categories(results, how)
    return Summary(
        name=results.name, command=results.command, suite=results.suite.id, fingerprint=results.suite.fingerprint,
        about=results.suite.about, learners=results.learners, floors=results.floors, smoke=results.smoke, how=how,
        boards=boards, categories=categories,
        exhibits=exhibits(Seen(results=results, how=how, boards=boards, categories=categories)),
        tasks={name: results.suite.task(name).instruction for name in ran},
        samples=_samples(results), counts=_counts(results), failures=results.failures,
        signatures=_signatures(results.outcomes),
    )  # fmt: skip


def curve(summary: Summary, metric: str) -> dict[str, list[tuple[int, Estimate]]]:
    """Give each learner's scores by one metric over shots."""
    lines: dict[str, list[tuple[int, Estimate]]] = {}
    for found in summary.of(metric):
        for s in found.standings:
            lines.setdefault(s.learner, []).append((found.shots, s.score))
    return lines


def comparisons(results: Results, a: str, b: str, how: How | None = None) -> tuple[Comparison, ...]:
    """Compare two learners by every metric at every number of shots: a - b."""
    found = []
    for metric, shots in _boards(results):
        both = [o for o in results.outcomes if o.learner in (a, b) and o.shots == shots and metric in o.scores]
        names = sorted({o.task for o in both})
        by_task = {name: [o for o in both if o.task == name] for name in names}
        each = [contrast(a, b, metric, shots, by_task[name], how=how, family=len(names)) for name in names]
        points = all(o.scores[metric].metric.name not in RAW for o in both)
        overall = contrast(a, b, metric, shots, both, how=how)
        found.append(Comparison(metric, shots, points, overall, dict(zip(names, corrected(each), strict=True))))
    return tuple(found)


def _boards(results: Results) -> Iterator[tuple[str, int]]:
    """Yield the metrics and shots that there are answers for, in the order in which tasks name metrics."""
    ran = sorted({o.task for o in results.outcomes})
    named = dict.fromkeys(metric for task in ran for metric in results.suite.task(task).metrics)
    other = dict.fromkeys(metric for o in results.outcomes for metric in sorted(o.scores))
    for metric in named | other:
        yield from ((metric, n) for n in sorted({o.shots for o in results.outcomes if metric in o.scores}))


def _board(results: Results, metric: str, shots: int, how: How) -> Board:
    """Make a board that has every learner of the study, those without a score too."""
    made = board(metric, shots, results.outcomes, results.floors, how)
    absent = results.learners.keys() - {s.learner for s in made.standings}
    none = Estimate(math.nan, math.nan, math.nan, 0)
    empty = (
        Standing(
            learner=name, score=none, by_instance=none, tasks=0, episodes=0, without=0, floor=name in results.floors
        )
        for name in results.learners
        if name in absent
    )
    return replace(made, standings=(*made.standings, *empty))


def _categories(results: Results, how: How) -> tuple[Category, ...]:
    """Make boards of the tasks of each category that have one first metric, at the most shots of every learner.

    Where a tag of tasks names another metric that suits them better, there is one by that, too.
    """
    by_category: dict[tuple[str, str], list[Outcome]] = {}
    for o in results.outcomes:
        task = results.suite.task(o.task)
        metrics = [metric for metric in (*task.metrics[:1], *task.tags.get("metric", ())) if metric in o.scores]
        for name, metric in itertools.product(task.tags.get("category", ()), metrics):
            by_category.setdefault((name, metric), []).append(o)
    found = []
    for (name, metric), scored in sorted(by_category.items()):
        most: dict[str, int] = {}
        for o in scored:
            most[o.learner] = max(o.shots, most.get(o.learner, 0))
        found += [Category(name, board(metric, n, scored, results.floors, how)) for n in sorted({*most.values()})]
    return tuple(found)


def _signatures(outcomes: Iterable[Outcome]) -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    seen: dict[Metric, str] = {}
    for outcome in outcomes:
        for name, scored in outcome.scores.items():
            seen[scored.metric] = seen.get(scored.metric) or signature(scored.metric)
            found.setdefault(name, set()).add(seen[scored.metric])
    return {name: tuple(sorted(signatures)) for name, signatures in sorted(found.items())}


# --- counts ----------------------------------------------------------------------------------------------------------


def _counts(results: Results) -> Counts:
    noted: Counter[tuple[str, str]] = Counter()
    costs: dict[str, list[Cost]] = {name: [] for name in results.learners}
    for o in results.outcomes:
        noted.update({(o.learner, what): count for what, count in o.counts.items()})
        costs.setdefault(o.learner, []).append(o.cost)
    return Counts(
        done=len(results.outcomes), failed=len(results.failures), missing=results.missing,
        skipped=results.skipped, unusable=_unusable(results.outcomes),
        noted=tuple(Tally(*key, count) for key, count in sorted(noted.items()) if count),
        costs={name: total(found) for name, found in costs.items()},
        cells={name: len(found) for name, found in costs.items()},
    )  # fmt: skip


def _unusable(outcomes: Iterable[Outcome]) -> tuple[Tally, ...]:
    """Count unusable answers by learner and reason, once for each part, however many metrics score it."""
    found: Counter[tuple[str, str, str]] = Counter()
    answers: Counter[tuple[str, str]] = Counter()
    for o in outcomes:
        parts = {split_name(name)[0] for name in o.scores}
        answers.update({(o.learner, part): len(o.answers) for part in parts})
        reasons: dict[tuple[str, str], int] = {}
        for name, scored in o.scores.items():
            for reason, count in scored.unusable.items():
                at = split_name(name)[0], reason
                reasons[at] = max(reasons.get(at, 0), count)
        found.update({(o.learner, *at): count for at, count in reasons.items()})
    return tuple(
        Tally(learner, f"{part}/{reason}" if part else reason, count, answers[learner, part])
        for (learner, part, reason), count in sorted(found.items())
        if count
    )


# --- samples ---------------------------------------------------------------------------------------------------------


def _samples(results: Results) -> dict[str, tuple[Sample, ...]]:
    """Pick a few items of each task, by their content alone, with what all learners answered at the most shots."""
    by_task: dict[str, list[Outcome]] = {}
    for o in sorted(results.outcomes, key=lambda o: (o.task, -o.shots, o.seed, o.index)):
        by_task.setdefault(o.task, []).append(o)
    each = max(1, min(SAMPLES, SAMPLES_IN_ALL // max(1, len(by_task))))
    return {name: _of_task(results, name, found, each) for name, found in by_task.items()}


def _of_task(results: Results, name: str, found: Sequence[Outcome], count: int) -> tuple[Sample, ...]:
    first = found[0]
    episode = {o.learner: o for o in found if (o.shots, o.seed, o.index) == (first.shots, first.seed, first.index)}
    order = shuffled(len(first.items), "samples", name, fingerprint(list(first.items)))
    rows = [first.rows[at] for _, at in zip(range(count), order, strict=False)]
    task = results.suite.task(name)
    shown = [episode[learner] for learner in results.learners if learner in episode]
    return tuple(
        Sample(
            example.item.id, first.shots, example.item.fields, tuple(written(task, gold) for gold in example.gold),
            tuple(_given(task, o, o.rows.index(row)) for o in shown if row in o.rows),
        )
        for row, example in zip(rows, results.suite.pools[name][first.pool].take(rows), strict=True)
    )  # fmt: skip


def _given(task: Task, outcome: Outcome, at: int) -> Given:
    answer = outcome.answers[at]
    marks = tuple(_mark(name, outcome, at) for name in _headline(task.metrics) if name in outcome.scores)
    return Given(outcome.learner, None if answer is None else written(task, answer), marks)


def _headline(metrics: Sequence[str]) -> Iterable[str]:
    """Give the first metric, or the first of each part."""
    first: dict[str, str] = {}
    for name in metrics:
        first.setdefault(split_name(name)[0], name)
    return first.values()


def _mark(name: str, outcome: Outcome, at: int) -> Mark:
    scored = outcome.scores[name]
    value = float(scored.metric.reduce(scored.units[at : at + 1])[0])
    right = value == 1 if scored.metric.name in RIGHT_OR_WRONG else None
    return Mark(name, None if math.isnan(value) else value, right, scored.metric.name not in RAW)


def written(task: Task, answer: Answer) -> str:
    """Write an answer for people; parts that are missing are named."""
    if not isinstance(answer, Mapping):
        return prompts.excerpt(task, answer)
    parts = ((name, "(no answer)" if part is None else _part(part)) for name, part in answer.items())
    return "\n".join(f"{name}: {text}" for name, text in parts)


def _part(answer: Answer) -> str:
    return "; ".join(map(str, answer)) if isinstance(answer, tuple) else str(answer)
