"""What is behind the score of a label task: scores of classes, confusions, and errors that learners share.

Answers of all episodes at a setting are pooled. Precision and recall are shares, and F1 is 2 J / (1 + J), where J is
the share of right answers among those that have the label, as gold or as answer: so all three have Wilson's interval.
An item that several seeds ask about counts once in it, for its answers are not independent.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ..core import Answer, Fields, Labels, Task
from ..episodes import Shots, shots_order
from ..scores.reduce import Array, wilson
from ..stats import Estimate
from ..studies.items import rights
from ..studies.results import Outcome, Results, own_records

UNUSABLE = "(unusable)"  # the column of answers that are no label
OTHER = "(other)"
Key: TypeAlias = tuple[str, int]  # of an item: its pool, and its row there


# --- classes ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClassScore:
    """How well one class is found; what has no answer to go by is NaN."""

    label: str
    precision: Estimate  # of the answers that are this label, those that are right
    recall: Estimate  # of the items of this class, those that are found
    f1: Estimate
    support: int  # answers to items of this class
    predicted: int  # answers that are this label


@dataclass(frozen=True, slots=True)
class Confusion:
    """How often items of each class (rows) were answered with each label (columns; the last is for unusable ones)."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]

    def cut(self, most: int) -> Confusion:
        """Keep the classes that are asked about or confused most, in their order, and put the others together."""
        if len(self.rows) <= most:
            return self
        counts = np.array(self.counts)
        square = counts[:, :-1]
        errors = counts.sum(1) + square.sum(0) - 2 * np.diag(square)
        order = np.lexsort((-counts.sum(1), -errors))  # by errors, then by support
        kept = sorted(order[: most - 1].tolist())
        rest = sorted(order[most - 1 :].tolist())
        by_row = np.vstack([counts[kept], counts[rest].sum(0)])
        both = np.column_stack([by_row[:, kept], by_row[:, rest].sum(1), by_row[:, -1]])
        names = (*(self.rows[at] for at in kept), OTHER)
        return Confusion(names, (*names, UNUSABLE), tuple(tuple(row) for row in both.tolist()))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassReport:
    """The classes of a label task, or of a field of one, as one learner answered them at one setting."""

    task: str
    field: str  # empty where the task has a single output
    learner: str
    shots: Shots
    answers: int
    unusable: int
    classes: tuple[ClassScore, ...]  # in the order of the task's labels
    confusion: Confusion | None  # none where an item may have many labels

    def support(self, label: str) -> int:
        """Give how many answers are to items of a class."""
        return next(one.support for one in self.classes if one.label == label)

    def most_frequent(self, most: int) -> tuple[ClassScore, ...]:
        """Give the classes with the most items, no more than so many, in their order; those without any are dropped."""
        asked = [at for at, one in enumerate(self.classes) if one.support]
        order = sorted(asked, key=lambda at: -self.classes[at].support)
        return tuple(self.classes[at] for at in sorted(order[:most]))


def class_reports(
    results: Results, task: str, shots: Shots | None = None, *, level: float = 0.95
) -> tuple[ClassReport, ...]:
    """Report the classes of a task for each learner, at one setting or at each; nothing where it asks for no labels."""
    declared = results.suite.task(task)
    found = [
        _report(declared, field, output, outcomes, level)
        for field, output in _label_outputs(declared)
        for outcomes in _settings(results, task, shots).values()
    ]
    return tuple(found)


def _label_outputs(task: Task) -> Iterator[tuple[str, Labels]]:
    parts: Mapping[str, Any] = task.output.parts if isinstance(task.output, Fields) else {"": task.output}
    yield from ((name, output) for name, output in parts.items() if isinstance(output, Labels))


def _settings(results: Results, task: str, shots: Shots | None) -> dict[tuple[str, Shots], list[Outcome]]:
    """Put the episodes of each learner at each setting together, learners in the order of the study."""
    found: dict[tuple[str, Shots], list[Outcome]] = {}
    for o in results.outcomes:
        if o.task == task and (shots is None or o.shots == shots):
            found.setdefault((o.learner, o.shots), []).append(o)
    names = list(results.learners)
    return {at: found[at] for at in sorted(found, key=lambda at: (shots_order(at[1]), names.index(at[0])))}


def _report(task: Task, field: str, output: Labels, outcomes: Sequence[Outcome], level: float) -> ClassReport:
    answers = [_part(answer, field) for o in outcomes for answer in o.answers]
    golds = [tuple(_part(gold, field) for gold in each) for o in outcomes for each in o.gold]
    usable = [_is_usable(answer, output) for answer in answers]
    chosen = [_labels_of(answer) if ok else () for answer, ok in zip(answers, usable, strict=True)]
    right = [_nearest(gold, answer) for gold, answer in zip(golds, chosen, strict=True)]
    records = np.array([record for o in outcomes for record in (o.records or own_records(o.task, o.items))])
    gold, given = _marks(right, output.names), _marks(chosen, output.names)
    return ClassReport(
        task=task.id,
        field=field,
        learner=outcomes[0].learner,
        shots=outcomes[0].shots,
        answers=len(answers),
        unusable=usable.count(False),
        classes=tuple(_class(name, gold[:, at], given[:, at], records, level) for at, name in enumerate(output.names)),
        confusion=None if output.many else _confusion(output.names, gold, given),
    )


def _part(answer: Any, field: str) -> Any:
    if not field:
        return answer
    return answer.get(field) if isinstance(answer, Mapping) else None


def _is_usable(answer: Any, output: Labels) -> bool:
    if output.many:
        return isinstance(answer, tuple) and all(label in output.names for label in answer)
    return answer in output.names


def _labels_of(answer: Any) -> tuple[str, ...]:
    return answer if isinstance(answer, tuple) else (answer,)


def _nearest(gold: Sequence[Any], answer: tuple[str, ...]) -> tuple[str, ...]:
    """Give the acceptable answer that was given, or else the first."""
    found = [_labels_of(right) for right in gold]
    return next((right for right in found if set(right) == set(answer)), found[0])


def _marks(labels: Sequence[tuple[str, ...]], names: Sequence[str]) -> Array:
    """Mark the labels of each answer: (n, labels)."""
    places = {name: at for at, name in enumerate(names)}
    marks = np.zeros((len(labels), len(names)), dtype=bool)
    found = [(at, places[name]) for at, each in enumerate(labels) for name in each if name in places]
    if found:
        marks[tuple(np.array(found).T)] = True
    return marks


def _class(label: str, gold: Array, chosen: Array, records: Array, level: float) -> ClassScore:
    hits = gold & chosen
    union = _share(hits, gold | chosen, records, level)
    value, low, high = (2 * j / (1 + j) for j in (union.value, union.low, union.high))
    precision, recall = (_share(hits, of, records, level) for of in (chosen, gold))
    return ClassScore(label, precision, recall, Estimate(value, low, high, union.n), int(gold.sum()), int(chosen.sum()))


def _share(hits: Array, of: Array, records: Array, level: float) -> Estimate:
    """Give the share of answers that are hits, with Wilson's interval over the records that they are about."""
    if not of.any():
        return Estimate(math.nan, math.nan, math.nan, 0)
    share = float(hits.sum() / of.sum())
    return Estimate(share, *wilson(share, len(np.unique(records[of])), level), int(of.sum()))


def _confusion(names: Sequence[str], gold: Array, chosen: Array) -> Confusion:
    columns = np.column_stack([chosen, ~chosen.any(1)])
    counts = gold.astype(np.int64).T @ columns.astype(np.int64)
    return Confusion(tuple(names), (*names, UNUSABLE), tuple(tuple(row) for row in counts.tolist()))


def main_shots(results: Results, task: str) -> Shots:
    """Give the setting at which the most learners answered a task, with the most shots; baselines count last."""
    found: dict[Shots, set[str]] = {}
    for o in results.outcomes:
        if o.task == task:
            found.setdefault(o.shots, set()).add(o.learner)
    ours = {shots: len(names.difference(results.baselines)) for shots, names in found.items()}
    return max(found, key=lambda shots: (ours[shots], len(found[shots]), shots_order(shots)), default=0)


# --- errors in common ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ItemVerdict:
    """Which learners get an item right and which wrong, by most of their answers to it, and their first answers."""

    item: str  # its id
    pool: str
    row: int  # in the pool
    gold: tuple[Answer, ...]
    right: tuple[str, ...]
    wrong: tuple[str, ...]
    answers: Mapping[str, Answer | None]  # by learner


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedErrors:
    """What learners get wrong together on the items that all of them answered; baselines do not count."""

    task: str
    shots: Shots
    learners: tuple[str, ...]
    items: int
    all_wrong: tuple[ItemVerdict, ...]
    most_wrong: tuple[ItemVerdict, ...]  # by more than half, but not all
    disagree: tuple[ItemVerdict, ...]  # right by some and wrong by others, the most even first
    expected: float  # items that all would get wrong if their errors were independent


def shared_errors(results: Results, task: str, shots: Shots | None = None) -> SharedErrors | None:
    """Find the items of a task that learners get wrong together, at one setting or where the most learners answered.

    There are none with fewer than two learners, or where no metric of the task tells right from wrong.
    """
    found = [o for o in results.outcomes if o.task == task and o.learner not in results.baselines]
    at = main_shots(results, task) if shots is None else shots
    marks = {name: _Marks.of([o for o in found if (o.learner, o.shots) == (name, at)]) for name in results.learners}
    known = {name: of for name, of in marks.items() if of.counts}
    if len(known) < 2:
        return None
    verdicts = list(_verdicts(known))
    rates = [sum(name in v.wrong for v in verdicts) / max(1, len(verdicts)) for name in known]
    mixed = [v for v in verdicts if v.wrong and v.right]
    return SharedErrors(
        task=task,
        shots=at,
        learners=tuple(known),
        items=len(verdicts),
        all_wrong=tuple(v for v in verdicts if not v.right),
        most_wrong=tuple(v for v in mixed if len(v.wrong) > len(v.right)),
        disagree=tuple(sorted(mixed, key=lambda v: abs(len(v.wrong) - len(v.right)))),
        expected=len(verdicts) * math.prod(rates),
    )


@dataclass(frozen=True, slots=True)
class _Marks:
    """How often one learner was right about each item, and its first answer."""

    counts: Mapping[Key, tuple[int, int]]  # right answers, and all
    first: Mapping[Key, tuple[str, tuple[Answer, ...], Answer | None]]  # id, gold, answer

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> _Marks:
        counts: dict[Key, tuple[int, int]] = {}
        first: dict[Key, tuple[str, tuple[Answer, ...], Answer | None]] = {}
        for o in sorted(outcomes, key=lambda o: o.episode):
            answered = zip(o.rows, rights(o) or (), o.items, o.gold, o.answers, strict=False)
            for row, right, item, gold, answer in answered:
                hits, asked = counts.get((o.pool, row), (0, 0))
                counts[o.pool, row] = hits + right, asked + 1
                first.setdefault((o.pool, row), (item, gold, answer))
        return cls(counts, first)

    def is_right(self, key: Key) -> bool:
        """Tell whether at least half of the answers are right."""
        hits, asked = self.counts[key]
        return 2 * hits >= asked


def _verdicts(marks: Mapping[str, _Marks]) -> Iterator[ItemVerdict]:
    """Judge the items that all learners have answered, in the order of their pool."""
    common = set.intersection(*(set(of.counts) for of in marks.values()))
    one = next(iter(marks.values()))
    for key in sorted(common):
        right = {name: of.is_right(key) for name, of in marks.items()}
        item, gold, _ = one.first[key]
        answers = {name: of.first[key][2] for name, of in marks.items()}
        names = list(marks)
        yield ItemVerdict(
            item,
            *key,
            gold,
            tuple(itertools.compress(names, right.values())),
            tuple(name for name in names if not right[name]),
            answers,
        )
