"""What the verbs of runs show: paired differences, and what predictions scored."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .. import console
from ..errors import StudyError
from ..messages import text_of
from ..reports import Comparison, differs, numbers
from ..reports.predictions import PredictionScores, Scores
from ..reports.tables import plain
from ..stats import Contrast, Estimate
from ..texts import counted

FEW = 5  # tasks and items that a note names


def show_contrasts(found: Sequence[Comparison], *, as_json: bool) -> None:
    """Show paired differences, task by task and overall."""
    if as_json:
        console.as_json(plain(found))
        return
    rows = [
        (c.metric, c.shots, task, *_contrast(contrast, 100 if c.points else 1), "yes" if differs(contrast) else "no")
        for c in found
        for task, contrast in [*c.tasks.items(), ("all tasks", c.overall)]
        if contrast.n
    ]
    if not rows:
        raise StudyError(
            "the two have no answers in common: no task that both have answered at the same setting of shots"
        )
    title = f"{found[0].overall.a} - {found[0].overall.b}" if found else ""
    columns = ["metric", "shots", "task", "a - b", "95 % interval", "p", "items", "apart"]
    console.table(columns, rows, title=title, whole=["task"])
    console.note("in points; apart: p below 0.05, and the interval has no zero; p of single tasks are Holm's")


def show_scored(found: PredictionScores, *, as_json: bool) -> None:
    """Show what predictions scored, and what was missing or unknown."""
    if as_json:
        console.as_json(plain(found))
        return
    for typed, scores in found.metrics.items():
        _show_scores(typed, scores)
    console.note(
        "intervals are for these tasks, as those of a report are; over all instances and in a category, a task weighs "
        "as many instances as it has; n counts instances"
    )
    _note_faults(found)


def _show_scores(typed: str, scores: Scores) -> None:
    """Show what predictions scored by one metric."""
    over = [("all instances", scores.micro), *scores.categories.items()]
    means = [("mean over tasks", scores.macro), ("mean over categories", scores.category_macro)]
    points = scores.points
    rows = [(name, *_points(e, points)) for name, e in [over[0], *means, *over[1:]] if e]
    console.table([typed, "score", "95 % interval", "n"], rows, figures=["score"], whole=[typed])


def _note_faults(found: PredictionScores) -> None:
    """Tell what was wrong with predictions, and what was left out."""
    if found.missing:
        lost = sum(found.missing.values())
        of = counted(len(found.missing), "task")
        console.note(f"{counted(lost, 'item')} of {of} without a prediction: they count as wrong")
    if found.unlike:
        items = [pair for unlike in found.unlike.values() for pair in unlike.items()]
        told = f"{counted(len(items), 'prediction')} of another kind than the task's answers ({items[0][1]})"
        console.note(f"{told}: they count as wrong; the first: {_first_few([item for item, _ in items])}")
    for code, answers in found.unusable.items():
        item, answer = next(iter(answers.items()))
        said = f"{counted(len(answers), 'prediction')} can't be used ({text_of(code)})"
        console.note(f"{said}: they count as wrong, but for metrics `published`; the first: {answer!r:.60} for {item}")
    if found.untouched:
        told = f"left out, for they have no prediction at all: {counted(len(found.untouched), 'test task')}"
        console.note(f"{told} ({_first_few(found.untouched)}); means are over the others")
    if found.aside:
        kind = "is not a test task" if len(found.aside) == 1 else "are not test tasks"
        console.note(f"left out, without any prediction: {counted(len(found.aside), 'task')} that {kind}")
    if found.unknown:
        console.note(f"{counted(found.unknown, 'prediction')} for items that the suite does not ask about")
    if found.doubled:
        console.note(f"{counted(found.doubled, 'line')} for an item that was answered before: the last counts")
    if found.surrogates:
        told = "with half a character (a lone surrogate), replaced by U+FFFD"
        console.note(f"{counted(found.surrogates, 'line')} {told}")


def _first_few(names: Sequence[str]) -> str:
    more = f" and {len(names) - FEW:,} more" if len(names) > FEW else ""
    return f"{', '.join(names[:FEW])}{more}"


def _points(of: Estimate, points: bool) -> tuple[console.Value, ...]:
    """Write a score, its interval and what it rests on; in points where it is a share of one."""
    value, low, high = (
        f"{100 * each:.2f}" if points and not math.isnan(each) else numbers.number(each, points)
        for each in (of.value, of.low, of.high)
    )
    return value, "none" if math.isnan(of.low) else f"{low} to {high}", of.n


def _contrast(of: Contrast, times: int) -> tuple[console.Value, ...]:
    difference, low, high = (f"{times * value:+.3g}" for value in (of.difference, of.low, of.high))
    return difference, f"{low} to {high}", f"{of.p:.3f}", of.n
