"""Predictions that were made elsewhere: read in the formats they come in, and scored as a run's answers are."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..answers import answer_from_json, cut
from ..core import Answer, Example, Fields, Labels, Number, Output, Ranking, Suite, Task, Terms
from ..errors import ScoreError, SourceError, UnknownNameError
from ..limits import refuse_no_file
from ..messages import Note
from ..sources.files import FORMATS, Layout, Row, RowFaults
from ..sources.task_files import kind_of
from . import Scored
from .tasks import parts_of, score_task

IDS, ANSWERS = ("item", "id"), ("answer", "prediction", "Prediction")
FEW = 5  # unknown tasks that are named: to find the nearest names among many takes a while


@dataclass(frozen=True, slots=True)
class Prediction:
    """An answer to an item, and the line that it stands in; the task is empty where the line names none."""

    place: str
    item: str
    answer: Any
    task: str = ""
    surrogates: bool = False  # whether half characters of the line were replaced


@dataclass(frozen=True, slots=True)
class Placed:
    """Answers by task and item, and how many lines are for nothing that is asked, or for what was answered before."""

    answers: Mapping[str, Mapping[str, Any]]
    unknown: int
    doubled: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """How the answers to the items of one task did."""

    scored: Mapping[str, Scored]  # by metric
    examples: Sequence[Example]
    answers: Sequence[Answer | None]
    missing: int
    unlike: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Marks:
    """How the answers to a suite's items did, task by task."""

    tasks: Mapping[str, Marked]
    unknown: int  # predictions for items that the suite does not ask about
    doubled: int  # lines whose item was answered before: the last counts


# --- lines -----------------------------------------------------------------------------------------------------------


def read(path: Path) -> tuple[Prediction, ...]:
    """Read JSON lines: taskloom's `{item, answer}`, a leaderboard's `{id, prediction}`, or Tk-Instruct's examples.

    Each may name its `task`, and must where several tasks ask about its item.
    """
    refuse_no_file(path, pipes=True)
    if convert := _jq_filter(path):
        raise SourceError(Note.of("json-lines-expected", filter=convert, path=path))
    faults = RowFaults("skip")
    predictions, before = list[Prediction](), 0
    for place, row in FORMATS["jsonl"](path, faults, Layout()):
        found, replaced = _prediction(place, row), faults.surrogates
        if isinstance(found, Prediction):
            predictions.append(replace(found, surrogates=replaced > before))
        else:
            faults.add(place, found)
        before = replaced
    _settle(f"lines that are not predictions: {path}", faults.shown, faults.count)
    if not predictions:
        raise SourceError(f"the file has no predictions: {path}")
    return tuple(predictions)


def _jq_filter(path: Path) -> str:
    """Give the filter that makes JSON Lines of a JSON array or of pretty-printed objects; "" of another file or a pipe.

    An object that begins on its first line and does not end there is pretty-printed.
    """
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        start = file.read(1024).lstrip()
    if start.startswith(b"["):
        return ".[]"
    return "." if re.match(rb"\{\s*\n", start) else ""


def _prediction(place: str, row: Row) -> Prediction | str:
    """Read a line, or say what is wrong with it."""
    instance = row.get("Instance")
    inner = instance if isinstance(instance, dict) else {}
    ids = (*(row.get(name) for name in IDS), inner.get("id"))
    item = next((value for value in ids if isinstance(value, str)), None)
    if item is None:
        odd = next((value for value in ids if value is not None), None)
        return (
            f"id of the item is missing ({' or '.join(IDS)})" if odd is None else f"the id must be a text: {odd!r:.40}"
        )
    task = row.get("task")
    if not isinstance(task, str | None):
        return f"task must be a text, not {kind_of(task)}"
    name = next((name for name in ANSWERS if name in row), None)
    return Prediction(place, item, row[name], task or "") if name else f"answer is missing ({' or '.join(ANSWERS)})"


def _settle(message: str, shown: Sequence[str], count: int) -> None:
    """Refuse predictions that have faults, of which the first are shown."""
    if count:
        raise SourceError(message, [*shown, f"and {count - len(shown):,} more"] if count > len(shown) else shown)


# --- scores ----------------------------------------------------------------------------------------------------------


def mark(suite: Suite, predictions: Sequence[Prediction], metrics: Sequence[str] = ()) -> Marks:
    """Score predictions by the metrics of their tasks, or by these."""
    placed = _placed(suite, predictions)
    if not placed.answers:
        raise ScoreError(
            f"no prediction is for an item of suite {suite.id!r}; its ids are like {_an_item(suite)!r}, "
            f"and that of the first prediction is {predictions[0].item!r}"
        )
    tasks = [task for name, task in suite.tasks.items() if name in placed.answers]
    for task in tasks:
        list(parts_of(task, metrics))  # what it can't be scored by is refused before any work
    marked = {task.id: _marked(task, _asked(suite, task.id), placed.answers[task.id], metrics) for task in tasks}
    return Marks(marked, placed.unknown, placed.doubled)


def _placed(suite: Suite, predictions: Sequence[Prediction]) -> Placed:
    """Give each prediction to its task; refuse all if that is ambiguous for some."""
    _check_names(suite, predictions)
    asking = _asking(suite, predictions)
    faults = RowFaults("skip")
    answers: dict[str, dict[str, Any]] = {}
    unknown: set[tuple[str, str]] = set()
    for one in predictions:
        tasks = [name for name in asking.get(one.item, ()) if one.task in ("", name)]
        if len(tasks) > 1:
            faults.add(one.place, f"{len(tasks):,} tasks ask about item {one.item!r}, such as {tasks[0]!r}")
        elif tasks:
            answers.setdefault(tasks[0], {})[one.item] = one.answer
        else:
            unknown.add((one.task, one.item))
    _settle('ambiguous items; name the task on each line ("task": ...):', faults.shown, faults.count)
    known = sum(len(found) for found in answers.values())
    return Placed(answers, len(unknown), len(predictions) - known - len(unknown))


def _an_item(suite: Suite) -> str:
    asked = (example.item.id for name in suite.tasks for example in _asked(suite, name))
    return next(asked, "")


def _check_names(suite: Suite, predictions: Iterable[Prediction]) -> None:
    """Refuse tasks that the suite does not have, each once."""
    wrong: dict[str, str] = {}
    for one in predictions:
        if one.task and one.task not in suite.tasks:
            wrong.setdefault(one.task, one.place)
    first = list(wrong.items())[:FEW]
    unknown = [f"{place}: {UnknownNameError('task', name, suite.tasks)}" for name, place in first]
    _settle(f"predictions for tasks that suite {suite.id!r} does not have:", unknown, len(wrong))


def _asking(suite: Suite, predictions: Sequence[Prediction]) -> dict[str, list[str]]:
    """Find the tasks that ask about each item; where all lines name theirs, no others are read."""
    items, named = {one.item for one in predictions}, {one.task for one in predictions}
    found: dict[str, list[str]] = {}
    for name in suite.tasks:
        if name in named or "" in named:
            for item in items.intersection(example.item.id for example in _asked(suite, name)):
                found.setdefault(item, []).append(name)
    return found


def _marked(task: Task, examples: Sequence[Example], predicted: Mapping[str, Any], metrics: Sequence[str]) -> Marked:
    """Score the answers to a task; what is missing or of another kind is none."""
    ids = [example.item.id for example in examples]
    values = {id_: predicted.get(id_) for id_ in ids}
    unlike = {id_: why for id_, value in values.items() if (why := unlike_of(task.output, value))}
    answers = {
        id_: cut(task.output, answer_from_json(task.output, value))
        for id_, value in values.items()
        if value is not None and id_ not in unlike
    }
    return Marked(
        scored=score_task(task, [example.gold for example in examples], [answers.get(id_) for id_ in ids], metrics),
        examples=examples,
        answers=[answers.get(id_) for id_ in ids],
        missing=sum(values[id_] is None for id_ in ids),
        unlike=unlike,
    )


def _asked(suite: Suite, name: str) -> list[Example]:
    """Read the examples of a task that are scored."""
    pool = suite.asked_pool(name)
    return pool.take(range(len(pool)))


def unlike_of(output: Output, value: Any) -> str:
    """Say how a prediction is of another kind than the answers of its task; nothing of one that may be right.

    >>> unlike_of(Terms(), ["graph"]), unlike_of(Terms(), "graph")
    ('', 'a text where a list of texts is expected')
    """
    if value is None:
        return ""
    if isinstance(output, Fields) and isinstance(value, dict):
        if lost := [name for name in output.parts if name not in value]:
            return f"an object without {', '.join(lost)}"
        found = ((name, unlike_of(part, value[name])) for name, part in output.parts.items())
        return next((f"{name}: {why}" for name, why in found if why), "")
    wanted, fits = _wanted(output, value)
    return "" if fits else f"{kind_of(value)} where {wanted} is expected"


def _wanted(output: Output, value: Any) -> tuple[str, bool]:
    """Describe what is expected, and tell whether this is such."""
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
