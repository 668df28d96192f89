"""Predictions that were made elsewhere: read in the formats they come in, and scored as a run's answers are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..core import Example, Fields, Labels, Number, Output, Ranking, Suite, Task, Terms, answer_from_json
from ..errors import ScoreError, SourceError, UnknownNameError, UsageError
from ..scores import Metric, signature
from ..scores import Scored as ScoredTask
from ..scores.reduce import Array
from ..sources.files import FORMATS, Faults, Layout, Row
from ..stats import Estimate, bootstrap, student_interval
from ..suites.rows import LONE_SURROGATE
from ..suites.task_files import kind_of
from .scoring import parts_of, score_task

IDS, ANSWERS = ("item", "id"), ("answer", "prediction", "Prediction")
FEW = 5  # unknown tasks that are named: to find the nearest names among many takes a while
RESAMPLES = 1000
FEWEST = 5  # tasks or categories whose mean has an interval: of fewer, Student's says nothing


@dataclass(frozen=True, slots=True)
class Prediction:
    """An answer to an item, and the line that it stands in; the task is empty where the line names none."""

    place: str
    item: str
    answer: Any
    task: str = ""


@dataclass(frozen=True, slots=True)
class Placed:
    """Answers by task and item, and how many lines are for nothing that is asked, or for what was answered before."""

    answers: Mapping[str, Mapping[str, Any]]
    unknown: int
    doubled: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """How the answers to the items of one task did."""

    scored: Mapping[str, ScoredTask]  # by metric
    items: int
    missing: int
    unlike: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """What predictions score by one metric: over instances, over tasks and over categories.

    Tasks with labels of their own may have answers that can't be pooled; over their instances there is no score.
    """

    signatures: tuple[str, ...]  # metrics over labels have one for each set of labels
    micro: Estimate | None  # over all instances
    macro: Estimate  # the mean over tasks
    category_macro: Estimate | None  # the mean over categories, where tasks have them
    categories: Mapping[str, Estimate | None]  # over the instances of each
    tasks: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """How a file of predictions did."""

    metrics: Mapping[str, Scores]
    instances: int
    missing: Mapping[str, int]  # by task: items without a prediction, or with null; they count as wrong
    unlike: Mapping[str, Mapping[str, str]]  # by task and item: of another kind than the answers; they count as wrong
    untouched: tuple[str, ...]  # test tasks without any, which are left out
    aside: tuple[str, ...]  # tasks without any that are no test tasks
    unknown: int  # predictions for items that the suite does not ask about
    doubled: int  # lines whose item was answered before: the last counts


# --- lines -----------------------------------------------------------------------------------------------------------


def read(path: Path) -> tuple[Prediction, ...]:
    """Read JSON lines: taskloom's `{item, answer}`, a leaderboard's `{id, prediction}`, or Tk-Instruct's examples.

    Each may name its `task`, and must where several tasks ask about its item.
    """
    if not path.exists() or path.is_dir():
        raise UsageError(f"no such file: {path}")
    if _is_array(path):
        raise SourceError(f"a JSON array, and one object on each line is wanted (jq -c '.[]' makes it so): {path}")
    faults = Faults("skip", other_encoding="save it as UTF-8; it may be")
    given = []
    for place, row in FORMATS["jsonl"](path, faults, Layout(half_characters=True)):
        found = _prediction(place, row)
        if isinstance(found, Prediction):
            given.append(found)
        else:
            faults.add(place, found)
    _settle(f"not predictions, one JSON object on each line: {path}", faults.shown, faults.count)
    if not given:
        raise SourceError(f"no predictions in {path}")
    return tuple(given)


def _is_array(path: Path) -> bool:
    """Tell whether a file, and not a pipe, begins as a list does."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(1024).lstrip().startswith(b"[")


def _prediction(place: str, row: Row) -> Prediction | str:
    """Read a line, or say what is wrong with it."""
    instance = row.get("Instance")
    inner = instance if isinstance(instance, dict) else {}
    ids = (*(row.get(name) for name in IDS), inner.get("id"))
    item = next((value for value in ids if isinstance(value, str)), None)
    if item is None:
        odd = next((value for value in ids if value is not None), None)
        return f"no id of an item ({' or '.join(IDS)})" if odd is None else f"the id must be a text: {odd!r:.40}"
    if LONE_SURROGATE.search(item):
        return f"the id of an item holds half a character (a lone surrogate): {item!r}"
    task = row.get("task")
    if not isinstance(task, str | None):
        return f"the task is {kind_of(task)}, and its name is wanted"
    name = next((name for name in ANSWERS if name in row), None)
    return Prediction(place, item, row[name], task or "") if name else f"no answer ({', '.join(ANSWERS)})"


def _settle(message: str, shown: Sequence[str], count: int) -> None:
    """Refuse predictions that have faults, of which the first are shown."""
    if count:
        raise SourceError(message, [*shown, f"and {count - len(shown):,} more"] if count > len(shown) else shown)


# --- scores ----------------------------------------------------------------------------------------------------------


def score_predictions(suite: Suite, given: Sequence[Prediction], metrics: Sequence[str] = ()) -> Scored:
    """Score predictions by the metrics of their tasks, or by these."""
    placed = _placed(suite, given)
    if not placed.answers:
        raise ScoreError(
            f"no prediction is for an item of suite {suite.id!r}, whose items are named as {_an_item(suite)!r}; "
            f"the first of {len(given):,} is for {given[0].item!r}"
        )
    tasks = [_measured(task, metrics) for name, task in suite.tasks.items() if name in placed.answers]
    marked = {task.id: _marked(task, _asked(suite, task.id), placed.answers[task.id]) for task in tasks}
    tests = _test_tasks(suite)
    untouched = [name for name in suite.tasks if name not in marked]
    names = dict.fromkeys(typed for found in marked.values() for typed in found.scored)
    return Scored(
        metrics={
            typed: _scores(suite, {name: of.scored[typed] for name, of in marked.items() if typed in of.scored})
            for typed in names
        },
        instances=sum(found.items for found in marked.values()),
        missing={name: found.missing for name, found in marked.items() if found.missing},
        unlike={name: found.unlike for name, found in marked.items() if found.unlike},
        untouched=tuple(name for name in untouched if name in tests),
        aside=tuple(name for name in untouched if name not in tests),
        unknown=placed.unknown,
        doubled=placed.doubled,
    )


def _placed(suite: Suite, given: Sequence[Prediction]) -> Placed:
    """Give each prediction to its task; where nobody can tell which one is meant, all are refused."""
    _check_names(suite, given)
    asking = _asking(suite, given)
    faults = Faults("skip")
    answers: dict[str, dict[str, Any]] = {}
    unknown: set[tuple[str, str]] = set()
    for one in given:
        tasks = [name for name in asking.get(one.item, ()) if one.task in ("", name)]
        if len(tasks) > 1:
            faults.add(one.place, f"{len(tasks):,} tasks ask about item {one.item!r}, such as {tasks[0]!r}")
        elif tasks:
            answers.setdefault(tasks[0], {})[one.item] = one.answer
        else:
            unknown.add((one.task, one.item))
    _settle('which task is meant can\'t be told; name it on each line ("task": ...):', faults.shown, faults.count)
    known = sum(len(found) for found in answers.values())
    return Placed(answers, len(unknown), len(given) - known - len(unknown))


def _an_item(suite: Suite) -> str:
    asked = (example.item.id for name in suite.tasks for example in _asked(suite, name))
    return next(asked, "")


def _check_names(suite: Suite, given: Iterable[Prediction]) -> None:
    """Refuse tasks that the suite does not have, each once."""
    wrong: dict[str, str] = {}
    for one in given:
        if one.task and one.task not in suite.tasks:
            wrong.setdefault(one.task, one.place)
    first = list(wrong.items())[:FEW]
    told = [f"{place}: {UnknownNameError('task', name, suite.tasks)}" for name, place in first]
    _settle(f"predictions for tasks that suite {suite.id!r} does not have:", told, len(wrong))


def _asking(suite: Suite, given: Sequence[Prediction]) -> dict[str, list[str]]:
    """Find the tasks that ask about each item; where all lines name theirs, no others are read."""
    items, named = {one.item for one in given}, {one.task for one in given}
    found: dict[str, list[str]] = {}
    for name in suite.tasks:
        if name in named or "" in named:
            for item in items.intersection(example.item.id for example in _asked(suite, name)):
                found.setdefault(item, []).append(name)
    return found


def _measured(task: Task, metrics: Sequence[str]) -> Task:
    """Give a task the metrics that are asked for, if any; what it can't be scored by is refused before any work."""
    measured = replace(task, metrics=tuple(metrics) or task.metrics)
    list(parts_of(measured))
    return measured


def _marked(task: Task, examples: Sequence[Example], given: Mapping[str, Any]) -> Marked:
    """Score the answers to a task; what is missing or of another kind is none."""
    ids = [example.item.id for example in examples]
    values = {id_: given.get(id_) for id_ in ids}
    unlike = {id_: told for id_, value in values.items() if (told := unlike_of(task.output, value))}
    answers = {
        id_: answer_from_json(task.output, value)
        for id_, value in values.items()
        if value is not None and id_ not in unlike
    }
    return Marked(
        scored=score_task(task, [example.gold for example in examples], [answers.get(id_) for id_ in ids]),
        items=len(ids),
        missing=sum(values[id_] is None for id_ in ids),
        unlike=unlike,
    )


def _asked(suite: Suite, name: str) -> list[Example]:
    """Read the examples of a task that are scored."""
    pool = suite.asked_pool(name)
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


def _scores(suite: Suite, found: Mapping[str, ScoredTask]) -> Scores:
    """Sum up what one metric gave, each task's answers by its own settings."""
    by_category: dict[str, list[ScoredTask]] = {}
    for name, scored in found.items():
        for category in suite.tasks[name].tags.get("category", ()):
            by_category.setdefault(category, []).append(scored)
    tasks = {name: _estimate(scored.metric, scored.units, name) for name, scored in found.items()}
    categories = {category: _pooled(by_category[category], category) for category in sorted(by_category)}
    known = [estimate for estimate in categories.values() if estimate]
    return Scores(
        signatures=tuple(sorted({signature(scored.metric) for scored in found.values()})),
        micro=_pooled(list(found.values()), "micro"),
        macro=_mean_of(tasks.values()),
        category_macro=_mean_of(known) if known else None,
        categories=categories,
        tasks=tasks,
    )


def _pooled(found: Sequence[ScoredTask], key: str) -> Estimate | None:
    """Score the answers to several tasks together, where their units say the same."""
    of = found[0].metric
    # A metric that is a plain mean has the same function for all labels: right is right.
    if any(other.metric != of and other.metric.reduce is not of.reduce for other in found):
        return None
    return _estimate(of, np.concatenate([scored.units for scored in found]), key)


def _estimate(of: Metric, units: Array, key: str) -> Estimate:
    """Give a score with its interval; of one unit there is none."""
    found = bootstrap(units, of.reduce, count=RESAMPLES, key=key)
    return found if found.n > 1 else replace(found, low=math.nan, high=math.nan)


def _mean_of(scores: Iterable[Estimate]) -> Estimate:
    """Average scores that are known, with Student's interval: what others like these would give.

    Where all lie between 0 and 1 the interval does too, and of few there is none.
    """
    values = [e.value for e in scores if not math.isnan(e.value)] or [math.nan]
    found = student_interval(values)
    if found.n < FEWEST:
        return replace(found, low=math.nan, high=math.nan)
    if min(values) < 0 or max(values) > 1:
        return found
    return replace(found, low=max(found.low, 0.0), high=min(found.high, 1.0))
