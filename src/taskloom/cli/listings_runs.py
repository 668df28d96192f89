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
        raise StudyError("no common answers: the learners share no task with the same number of shots")
    title = f"{found[0].overall.a} - {found[0].overall.b}" if found else ""
    columns = ["metric", "shots", "task", "a - b", "95 % interval", "p", "of tests", "items", "significant"]
    console.table(columns, rows, title=title, whole=["task"])
    console.note("in points; significant: p < 0.05, and the confidence interval of the difference does not include 0")
    console.note(
        "p of single tasks is corrected for their number (Holm; see `of tests`); p of all tasks is that of this pair "
        "alone, and a report corrects it for all its pairs of learners, so that it may be larger there"
    )


def show_scored(found: PredictionScores, *, as_json: bool) -> None:
    """Show what predictions scored, and what was missing or unknown."""
    if as_json:
        console.as_json(plain(found))
        return
    for typed, scores in found.metrics.items():
        _show_scores(typed, scores)
    console.note(
        "intervals are for these tasks, as in a report; all instances and categories are weighted by instance; "
        "n is the number of instances, of which those without a score are not in the mean"
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
    """Print what was wrong with predictions, and what was skipped."""
    if found.missing:
        lost = sum(found.missing.values())
        of = counted(len(found.missing), "task")
        console.note(f"{counted(lost, 'item')} of {of} without a prediction, counted as wrong")
    if found.unlike:
        items = [pair for unlike in found.unlike.values() for pair in unlike.items()]
        invalid = f"{counted(len(items), 'prediction')} of the wrong type, counted as wrong ({items[0][1]})"
        console.note(f"{invalid}: {_first_few([item for item, _ in items])}")
    for code, answers in found.unusable.items():
        item, answer = next(iter(answers.items()))
        unusable = f"{counted(len(answers), 'prediction')} unusable ({text_of(code)}), counted as wrong"
        console.note(f"{unusable} except by `published` metrics; the first: {answer!r:.60} for item {item}")
    if found.untouched:
        skipped = f"skipped {counted(len(found.untouched), 'test task')} without any prediction"
        console.note(f"{skipped}; means are over the others: {_first_few(found.untouched)}")
    if found.aside:
        kind = "is not a test task" if len(found.aside) == 1 else "are not test tasks"
        console.note(f"skipped {counted(len(found.aside), 'task')} that {kind}, without any prediction")
    for name, queries in found.nothing_relevant.items():
        without = f"{name}: {counted(len(queries), 'query')} without a relevant candidate"
        console.note(f"{without}, left out except by `published` metrics: {_first_few(queries)}")
    if found.unknown:
        console.note(f"{counted(found.unknown, 'prediction')} for items that the suite does not have, ignored")
    if found.doubled:
        console.note(f"{counted(found.doubled, 'line')} with a duplicate item: the last is used")
    if found.surrogates:
        console.note(f"{counted(found.surrogates, 'line')} with invalid Unicode (a lone surrogate), replaced by U+FFFD")


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
    difference, low, high = (f"{round(times * value, 9):+.3g}" for value in (of.difference, of.low, of.high))
    return difference, f"{low} to {high}", numbers.p_value(of.p), of.family, of.n
