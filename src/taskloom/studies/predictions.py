"""Predictions that were made elsewhere: read in the formats they come in, and scored as a run's answers are."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..core import (
    Answer,
    Example,
    Fields,
    Labels,
    Number,
    Output,
    Pool,
    Ranking,
    Suite,
    Task,
    Terms,
    answer_from_json,
)
from ..errors import ScoreError, SourceError
from ..scores import metric, signature
from ..scores.reduce import Array
from ..stats import Estimate, bootstrap, student_interval
from ..suites.instructions import kind_of
from .scoring import score_task

IDS, ANSWERS = ("item", "id"), ("answer", "prediction", "Prediction")
SHOWN = 5
RESAMPLES = 1000
FEWEST = 5  # tasks or categories whose mean has an interval: of fewer, Student's says nothing


@dataclass(frozen=True, slots=True)
class Predictions:
    """Answers by the ids of their items, and what was wrong with the file's lines."""

    answers: Mapping[str, Any]
    doubled: int  # lines whose item was answered before: the last counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """What predictions score by one metric: over instances, over tasks and over categories."""

    signature: str
    micro: Estimate  # the mean over all instances
    macro: Estimate  # the mean over tasks
    category_macro: Estimate | None  # the mean over categories, where tasks have them
    categories: Mapping[str, Estimate]  # the mean over the instances of each
    tasks: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """How a file of predictions did."""

    metrics: Mapping[str, Scores]
    instances: int
    missing: Mapping[str, int]  # by task: items without a prediction, or with null; they count as wrong
    unlike: Mapping[str, str]  # by item: predictions of another kind than the answers, which count as wrong
    untouched: tuple[str, ...]  # test tasks without any, which are left out
    aside: tuple[str, ...]  # tasks without any that are no test tasks
    unknown: int  # predictions for items that the suite does not ask about
    doubled: int


def read(path: Path) -> Predictions:
    """Read JSON lines: taskloom's `{item, answer}`, a leaderboard's `{id, prediction}`, or Tk-Instruct's examples."""
    answers: dict[str, Any] = {}
    doubled = 0
    faults: list[str] = []
    for number, line in _lines(path):
        found = _line(line)
        if isinstance(found, str):
            faults.append(f"line {number}: {found}")
        else:
            doubled += found[0] in answers
            answers[found[0]] = found[1]
    if faults:
        more = [f"and {len(faults) - SHOWN:,} more"] if len(faults) > SHOWN else []
        raise SourceError(f"not predictions: {path}", [*faults[:SHOWN], *more])
    if not answers:
        raise SourceError(f"no predictions in {path}")
    return Predictions(answers, doubled)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield number, line
    except UnicodeDecodeError as error:
        raise SourceError(f"not UTF-8 ({error.reason} at byte {error.start}): {path}") from None
    except OSError as error:
        raise SourceError(f"can't be read ({error.strerror}): {path}") from None


def _line(line: str) -> tuple[str, Any] | str:
    """Read a line, or say what is wrong with it."""
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        return f"not JSON ({error.msg}, column {error.pos + 1})"
    except (ValueError, RecursionError) as error:
        return f"not JSON ({error})"
    if not isinstance(row, dict):
        return "not an object"
    instance = row.get("Instance")
    inner = instance if isinstance(instance, dict) else {}
    item = next(
        (value for value in (*(row.get(name) for name in IDS), inner.get("id")) if isinstance(value, str)), None
    )
    if item is None:
        return f"no id of an item ({' or '.join(IDS)})"
    name = next((name for name in ANSWERS if name in row), None)
    return (item, row[name]) if name else f"no answer ({', '.join(ANSWERS)})"


def score_predictions(suite: Suite, given: Predictions, metrics: Sequence[str] = ()) -> Scored:
    """Score predictions by the metrics of their tasks, or by these."""
    for typed in metrics:
        metric(typed, next(iter(suite.tasks.values())).output)  # an unknown one is refused before any work
    units: dict[str, dict[str, Array]] = {}
    missing: dict[str, int] = {}
    unlike: dict[str, str] = {}
    untouched: list[str] = []
    known: set[str] = set()
    for name in suite.tasks:
        examples = _asked(suite.pools[name])
        ids = [example.item.id for example in examples]
        known |= set(ids)
        if given.answers.keys().isdisjoint(ids):
            untouched.append(name)
            continue
        task = replace(suite.tasks[name], metrics=tuple(metrics) or suite.tasks[name].metrics)
        values = {id_: given.answers.get(id_) for id_ in ids}
        lost = [values[id_] for id_ in ids].count(None)
        missing |= {name: lost} if lost else {}
        odd = {id_: told for id_, value in values.items() if (told := unlike_of(task.output, value))}
        unlike |= odd
        answers = [None if id_ in odd else _answer(task, values[id_]) for id_ in ids]
        for typed, scored in score_task(task, [example.gold for example in examples], answers).items():
            units.setdefault(typed, {})[name] = scored.units
    if not units:
        raise ScoreError(f"none of the {len(given.answers):,} predictions is for an item of suite {suite.id!r}")
    tests = _test_tasks(suite)
    return Scored(
        metrics={typed: _scores(suite, typed, found) for typed, found in units.items()},
        instances=sum(len(u) for u in next(iter(units.values())).values()),
        missing=missing,
        unlike=unlike,
        untouched=tuple(name for name in untouched if name in tests),
        aside=tuple(name for name in untouched if name not in tests),
        unknown=len(given.answers.keys() - known),
        doubled=given.doubled,
    )


def _asked(pools: Mapping[str, Pool]) -> list[Example]:
    """Read the examples of a task that are scored."""
    pool = pools["test" if "test" in pools else next(iter(pools))]
    return pool.take(range(len(pool)))


def _test_tasks(suite: Suite) -> set[str]:
    """Give the tasks that the folds ask about; all, where they ask about none."""
    return {name for roles in suite.folds.values() for name in roles.get("target", ())} or set(suite.tasks)


def unlike_of(output: Output, value: Any) -> str:
    """Say how a prediction is of another kind than the answers of its task; nothing of one that may be right.

    >>> unlike_of(Terms(), ["graph"]), unlike_of(Terms(), "graph")
    ('', 'a text where a list of texts is wanted')
    """
    if value is None:
        return ""
    if isinstance(output, Fields) and isinstance(value, dict):
        if lost := [name for name in output.parts if name not in value]:
            return f"an object without {', '.join(lost)}"
        found = ((name, unlike_of(part, value[name])) for name, part in output.parts.items())
        return next((f"{name}: {told}" for name, told in found if told), "")
    wanted, fits = _wanted(output, value)
    return "" if fits else f"{kind_of(value)} where {wanted} is wanted"


def _wanted(output: Output, value: Any) -> tuple[str, bool]:
    """Say what is wanted, and whether this is such."""
    listed = value if isinstance(value, list) else [None]
    match output:
        case Fields(parts=parts):
            return f"an object of {', '.join(parts)}", False
        case Number():
            return "a finite number", _is_number(value)
        case Ranking():
            pairs = [isinstance(p, list) and len(p) == 2 and isinstance(p[0], str) and _is_number(p[1]) for p in listed]
            return "a list of pairs (candidate, grade)", all(pairs)
        case Terms() | Labels(many=True):
            return "a list of texts", all(isinstance(text, str) for text in listed)
    return "a text", isinstance(value, str)


def _is_number(value: Any) -> bool:
    """Tell a finite number, or a text that reads as one."""
    try:
        return not isinstance(value, bool) and math.isfinite(float(value))
    except (TypeError, ValueError, OverflowError):
        return False


def _answer(task: Task, value: Any) -> Answer | None:
    """Give an answer its type; what is missing is none."""
    return None if value is None else answer_from_json(task.output, value)


def _scores(suite: Suite, typed: str, units: Mapping[str, Array]) -> Scores:
    of = metric(typed, next(iter(suite.tasks.values())).output)
    by_category: dict[str, list[Array]] = {}
    for name, found in units.items():
        for category in suite.tasks[name].tags.get("category", ()):
            by_category.setdefault(category, []).append(found)
    tasks = {name: bootstrap(found, of.reduce, count=RESAMPLES, key=name) for name, found in units.items()}
    categories = {
        category: bootstrap(np.concatenate(found), of.reduce, count=RESAMPLES, key=category)
        for category, found in sorted(by_category.items())
    }
    return Scores(
        signature=signature(of),
        micro=bootstrap(np.concatenate(list(units.values())), of.reduce, count=RESAMPLES, key="micro"),
        macro=_mean_of(tasks),
        category_macro=_mean_of(categories) if categories else None,
        categories=categories,
        tasks=tasks,
    )


def _mean_of(scores: Mapping[str, Estimate]) -> Estimate:
    """Average scores that are known, with Student's interval: what others like these would give.

    Where all lie between 0 and 1 the interval does too, and of few there is none.
    """
    values = [e.value for e in scores.values() if not math.isnan(e.value)] or [math.nan]
    found = student_interval(values)
    if found.n < FEWEST:
        return replace(found, low=math.nan, high=math.nan)
    if min(values) < 0 or max(values) > 1:
        return found
    return replace(found, low=max(found.low, 0.0), high=min(found.high, 1.0))
