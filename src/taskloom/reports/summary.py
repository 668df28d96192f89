"""Results to a summary: the leaderboards, what was counted on the way, and a few predictions to look at."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING

from .. import prompts
from ..core import Answer, Task
from ..episodes import Shots, shots_order
from ..ids import Json, fingerprint, shuffled
from ..messages import Note
from ..scores import Metric, signature
from ..scores.tasks import split_name
from ..stats import Contrast, Estimate
from ..studies.costs import Cost, total
from ..studies.items import as_frame
from ..studies.results import Failure, Outcome, Results
from ..texts import counted
from .classes import main_shots
from .contrasts import contrast, task_contrasts
from .draws import How
from .figures import Figure, ReportData, figures
from .findings import findings
from .leaderboards import Category, Leaderboard, Standing, leaderboards
from .training import TrainingSummary, training

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

SAMPLES, SAMPLES_IN_ALL = 3, 60
GOLDS = 5  # acceptable answers that are shown


@dataclass(frozen=True, slots=True)
class Mark:
    """How one answer was scored by one metric: right or wrong where the metric says so, else a number if it has one."""

    metric: str
    value: float | None
    right: bool | None
    points: bool


@dataclass(frozen=True, slots=True)
class LearnerAnswer:
    """What one learner answered; None is what could not be parsed."""

    learner: str
    text: str | None
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """An item, its acceptable answers, and what learners gave."""

    item: str
    shots: Shots
    fields: Mapping[str, str]
    gold: tuple[str, ...]
    answers: tuple[LearnerAnswer, ...]


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
    dropped: tuple[Note, ...]  # classes that take no part, task by task
    unusable: tuple[Tally, ...]
    noted: tuple[Tally, ...]  # what learners counted themselves: cut prompts and the like
    costs: Mapping[str, Cost]  # of each learner in all; the memory is the most of any cell
    cells: Mapping[str, int]
    training: Mapping[str, tuple[int, Cost]]  # by model: how many cells have trained it, and what they cost in all


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """All that a report shows."""

    name: str
    command: str
    suite: str
    fingerprint: str
    about: Mapping[str, Json]
    learners: Mapping[str, str]
    baselines: tuple[str, ...]
    smoke: bool
    how: How
    leaderboards: tuple[Leaderboard, ...]
    categories: tuple[Category, ...]  # each by its tasks' first metric, at the most shots of a learner
    findings: tuple[Note, ...]  # the most important first
    figures: tuple[Figure, ...]  # what the study wants to see beside scores
    tasks: Mapping[str, str]  # those that were run -> what they ask
    samples: Mapping[str, tuple[Sample, ...]]
    counts: Counts
    training: TrainingSummary  # what was trained, if anything was
    failures: tuple[Failure, ...]
    signatures: Mapping[str, tuple[str, ...]]  # by metric; those over labels have one for each set of labels
    results: Results = field(repr=False, metadata={"drawn": True})  # that it sums up: pages show single answers

    @property
    def seeds(self) -> tuple[int, ...]:
        """Give the seeds that episodes were drawn by."""
        return tuple(sorted({o.seed for o in self.results.outcomes}))

    @property
    def order(self) -> tuple[str, ...]:
        """Name learners in the order of the study, baselines last."""
        return tuple(sorted(self.learners, key=lambda name: name in self.baselines))

    @property
    def metrics(self) -> tuple[str, ...]:
        """Name the metrics, in the order in which tasks name them."""
        return tuple(dict.fromkeys(b.metric for b in self.leaderboards))

    def of(self, metric: str) -> tuple[Leaderboard, ...]:
        """Give the leaderboards of one metric, the fewest shots first."""
        return tuple(b for b in self.leaderboards if b.metric == metric)

    def to_arrow(self) -> pa.Table:
        """Give the scores as a table: a row for each learner, setting and metric, over all tasks and on each."""
        from .score_table import score_table

        return score_table(self)

    def to_pandas(self) -> pd.DataFrame:
        """Give the rows of `to_arrow` as a data frame."""
        return as_frame(self.to_arrow())

    def _repr_html_(self) -> str:
        """Show the report in a notebook, in a frame of its own so that no style leaks."""
        from .html import frame

        return frame(self)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two learners by one metric at one setting of shots: over all tasks, and task by task (Holm's p-values)."""

    metric: str
    shots: Shots
    points: bool
    overall: Contrast
    tasks: Mapping[str, Contrast]


def summarise(results: Results, how: How | None = None) -> Summary:
    """Sum up all that a run has found so far."""
    how = how or How()
    ran = sorted({o.task for o in results.outcomes} | {f.task for f in results.failures})
    made, categories = _leaderboards(results, how)
    return Summary(
        name=results.name, command=results.command, suite=results.suite.id, fingerprint=results.suite.fingerprint,
        about=results.suite.about, learners=results.learners, baselines=results.baselines, smoke=results.smoke, how=how,
        leaderboards=made, categories=categories, findings=findings(results, made, how),
        figures=figures(ReportData(results=results, how=how, leaderboards=made, categories=categories)),
        tasks={name: results.suite.task(name).instruction for name in ran},
        samples=_samples(results), counts=_counts(results), training=training(results), failures=results.failures,
        signatures=_signatures(results.outcomes), results=results,
    )  # fmt: skip


def curve(summary: Summary, metric: str) -> dict[str, list[tuple[Shots, Estimate]]]:
    """Give each learner's scores by one metric over shots."""
    lines: dict[str, list[tuple[Shots, Estimate]]] = {}
    for found in summary.of(metric):
        for s in found.standings:
            lines.setdefault(s.learner, []).append((found.shots, s.score))
    return lines


def comparisons(results: Results, a: str, b: str, how: How | None = None) -> tuple[Comparison, ...]:
    """Compare two learners by every metric at every setting of shots: a - b."""
    found = []
    for metric, shots in _settings(results):
        both = [o for o in results.outcomes if o.learner in (a, b) and o.shots == shots and metric in o.scores]
        points = all(o.scores[metric].metric.points for o in both)
        overall = contrast(a, b, metric, shots, both, how=how)
        tasks = task_contrasts(dict.fromkeys(sorted({o.task for o in both}), (a, b)), metric, shots, both, how)
        found.append(Comparison(metric, shots, points, overall, tasks))
    return tuple(found)


def _settings(results: Results) -> list[tuple[str, Shots]]:
    """Give the metrics and shots that there are answers for, in the order in which tasks name metrics."""
    ran = sorted({o.task for o in results.outcomes})
    named = dict.fromkeys(metric for task in ran for metric in results.metrics_of(task))
    shots: dict[str, set[Shots]] = {metric: set() for metric in named}
    for o in results.outcomes:
        for metric in sorted(o.scores):
            shots.setdefault(metric, set()).add(o.shots)
    return [(metric, n) for metric, found in shots.items() for n in sorted(found, key=shots_order)]


def _leaderboards(results: Results, how: How) -> tuple[tuple[Leaderboard, ...], tuple[Category, ...]]:
    """Make the leaderboards of all tasks and those of categories; both are of the same resamples."""
    wanted = _categories(results)
    outcomes: dict[tuple[str, Shots], list[Outcome]] = {at: [] for at in _settings(results)}
    for o in results.outcomes:
        for metric in o.scores:
            outcomes[metric, o.shots].append(o)
    found: list[Leaderboard] = []
    categories: list[Category] = []
    for (metric, shots), scored in outcomes.items():
        whole, *parts = leaderboards(metric, shots, scored, results.baselines, how, wanted.get((metric, shots), {}))
        found.append(_with_absent(results, whole[1]))
        categories += [Category(*part) for part in parts]
    categories.sort(key=lambda of: (of.name, of.leaderboard.metric, shots_order(of.leaderboard.shots)))
    return tuple(found), tuple(categories)


def _with_absent(results: Results, made: Leaderboard) -> Leaderboard:
    """Put every learner of the study on a leaderboard, those without a score too."""
    absent = results.learners.keys() - {s.learner for s in made.standings}
    none = Estimate(math.nan, math.nan, math.nan, 0)
    empty = (
        Standing(
            learner=name,
            score=none,
            by_instance=none,
            tasks=0,
            episodes=0,
            without=0,
            baseline=name in results.baselines,
            comparable=False,
        )
        for name in results.learners
        if name in absent
    )
    return replace(made, standings=(*made.standings, *empty))


def _categories(results: Results) -> dict[tuple[str, Shots], dict[str, set[str]]]:
    """Give the tasks of each category that have one first metric, for leaderboards at the most shots of every learner.

    Where a tag of tasks names another metric that suits them better, there is one by that, too.
    """
    tasks: dict[tuple[str, str], set[str]] = {}
    most: dict[tuple[str, str], dict[str, Shots]] = {}  # category and metric -> learner
    metrics_of = cache(results.metrics_of)
    for o in results.outcomes:
        task = results.suite.task(o.task)
        named = (*metrics_of(o.task)[:1], *task.tags.get("metric", ()))
        metrics = [metric for metric in named if metric in o.scores]
        for at in itertools.product(task.tags.get("category", ()), metrics):
            tasks.setdefault(at, set()).add(o.task)
            before = most.setdefault(at, {}).get(o.learner, o.shots)
            most[at][o.learner] = max(before, o.shots, key=shots_order)
    found: dict[tuple[str, Shots], dict[str, set[str]]] = {}
    for (name, metric), by_learner in most.items():
        for shots in set(by_learner.values()):
            found.setdefault((metric, shots), {})[name] = tasks[name, metric]
    return found


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
    for model, counts in results.training_counts.items():
        noted.update({(f"model {model}", what): count for what, count in counts.items()})
    return Counts(
        done=len(results.outcomes), failed=len(results.failures), missing=results.missing,
        skipped=results.skipped, dropped=results.dropped, unusable=_unusable(results.outcomes),
        noted=tuple(Tally(*key, count) for key, count in sorted(noted.items()) if count),
        costs={name: total(found) for name, found in costs.items()},
        cells={name: len(found) for name, found in costs.items()},
        training={name: (len(found), total(found)) for name, found in results.training.items()},
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
    """Pick a few items, by their content alone, with what all learners answered: of each task, or of some of many."""
    by_task: dict[str, list[Outcome]] = {}
    for o in results.outcomes:
        by_task.setdefault(o.task, []).append(o)
    step = max(1, math.ceil(len(by_task) / SAMPLES_IN_ALL))
    each = max(1, min(SAMPLES, SAMPLES_IN_ALL // max(1, len(by_task))))
    return {name: _of_task(results, name, by_task[name], each) for name in sorted(by_task)[::step]}


def _of_task(results: Results, name: str, found: Sequence[Outcome], count: int) -> tuple[Sample, ...]:
    main = main_shots(results, name)
    first = min((o for o in found if o.shots == main), key=lambda o: o.episode)
    episode = {o.learner: o for o in found if (o.shots, o.episode) == (first.shots, first.episode)}
    order = shuffled(len(first.items), "samples", name, fingerprint(list(first.items)))
    rows = [first.rows[at] for _, at in zip(range(count), order, strict=False)]
    task, metrics = results.suite.task(name), results.metrics_of(name)
    shown = [episode[learner] for learner in results.learners if learner in episode]
    return tuple(
        Sample(
            example.item.id, first.shots, example.item.fields, written_golds(task, example.gold),
            tuple(_given(task, o, o.rows.index(row), metrics) for o in shown if row in o.rows),
        )
        for row, example in zip(rows, results.suite.pools[name][first.pool].take(rows), strict=True)
    )  # fmt: skip


def _given(task: Task, outcome: Outcome, at: int, metrics: Sequence[str]) -> LearnerAnswer:
    answer = outcome.answers[at]
    marks = tuple(_mark(name, outcome, at) for name in _headline(metrics) if name in outcome.scores)
    return LearnerAnswer(outcome.learner, None if answer is None else written(task, answer), marks)


def _headline(metrics: Sequence[str]) -> Iterable[str]:
    """Give the first metric, or the first of each part."""
    first: dict[str, str] = {}
    for name in metrics:
        first.setdefault(split_name(name)[0], name)
    return first.values()


def _mark(name: str, outcome: Outcome, at: int) -> Mark:
    scored = outcome.scores[name]
    value = float(scored.metric.reduce(scored.units[at : at + 1])[0])
    right = value == 1 if scored.metric.says_right else None
    return Mark(name, None if math.isnan(value) else value, right, scored.metric.points)


def written_golds(task: Task, golds: Sequence[Answer]) -> tuple[str, ...]:
    """Write the acceptable answers for people: of many, the first few."""
    more = (f"... {counted(len(golds) - GOLDS, 'other')}",) if len(golds) > GOLDS else ()
    return (*(written(task, gold) for gold in golds[:GOLDS]), *more)


def written(task: Task, answer: Answer) -> str:
    """Write an answer for people; parts that are missing are named."""
    if not isinstance(answer, Mapping):
        return prompts.excerpt(task, answer)
    parts = ((name, "(no answer)" if part is None else _part(part)) for name, part in answer.items())
    return "\n".join(f"{name}: {text}" for name, text in parts)


def _part(answer: Answer) -> str:
    return "; ".join(map(str, answer)) if isinstance(answer, tuple) else str(answer)
