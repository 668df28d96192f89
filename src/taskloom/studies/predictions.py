"""Predictions that were made elsewhere: read in the formats they come in, and scored as a run's answers are."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..core import Answer, Suite, Task, answer_from_json
from ..errors import ScoreError, SourceError
from ..scores import metric, signature
from ..scores.reduce import Array
from ..stats import Estimate, bootstrap, student_interval
from .run import score_task

IDS, ANSWERS = ("item", "id"), ("answer", "prediction", "Prediction")
SHOWN = 5
RESAMPLES = 1000


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
    missing: Mapping[str, int]  # by task: items without a prediction, which count as wrong
    untouched: tuple[str, ...]  # tasks without any, which are left out
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
    asked = {name: suite.pools[name]["test" if "test" in suite.pools[name] else next(iter(suite.pools[name]))]
             for name in suite.tasks}  # fmt: skip
    units: dict[str, dict[str, Array]] = {}
    missing: dict[str, int] = {}
    untouched: list[str] = []
    known: set[str] = set()
    for name, pool in asked.items():
        examples = pool.take(range(len(pool)))
        ids = [example.item.id for example in examples]
        known |= set(ids)
        here = [id_ in given.answers for id_ in ids]
        if not any(here):
            untouched.append(name)
            continue
        missing |= {name: here.count(False)} if not all(here) else {}
        task = replace(suite.tasks[name], metrics=tuple(metrics) or suite.tasks[name].metrics)
        answers = [_answer(task, given.answers.get(id_)) for id_ in ids]
        for typed, scored in score_task(task, [example.gold for example in examples], answers).items():
            units.setdefault(typed, {})[name] = scored.units
    if not units:
        raise ScoreError(f"none of the {len(given.answers):,} predictions is for an item of suite {suite.id!r}")
    return Scored(
        metrics={typed: _scores(suite, typed, found) for typed, found in units.items()},
        instances=sum(len(u) for u in next(iter(units.values())).values()),
        missing=missing,
        untouched=tuple(untouched),
        unknown=len(given.answers.keys() - known),
        doubled=given.doubled,
    )


def _answer(task: Task, value: Any) -> Answer | None:
    """Give an answer its type; what can't have it, and what is missing, is none."""
    if value is None:
        return None
    try:
        return answer_from_json(task.output, value)
    except (TypeError, ValueError, KeyError, IndexError):
        return None


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
    """Average scores that are known, with Student's interval: what others like these would give."""
    return student_interval([e.value for e in scores.values() if not math.isnan(e.value)] or [math.nan])
