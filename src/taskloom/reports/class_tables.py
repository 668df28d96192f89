"""Classes of label tasks, and errors that learners share, as tables."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from ..episodes import shots_text
from .classes import ClassReport, SharedErrors, class_reports, main_shots, shared_errors
from .numbers import score
from .summary import Summary

Table: TypeAlias = tuple[list[str], list[list[str]]]
Rows: TypeAlias = list[list[str]]
CLASSES, TASKS = 15, 20  # classes of a task, and tasks whose classes are shown; the JSON report has all
ERROR_COLUMNS = ["task", "shots", "items", "all wrong", "if independent", "learners disagree", "all wrong, such as"]


def class_tables(summary: Summary) -> Iterator[tuple[str, Table]]:
    """Give a title and a table for the classes of each label task, and one for the errors that learners share."""
    yield from _classes(summary)
    if found := _errors(summary):
        yield "Errors that learners share", (ERROR_COLUMNS, found)


def _f1_table(reports: Sequence[ClassReport]) -> Table:
    """Lay out the F1 of classes: a row for each of the most frequent, a column for each learner."""
    by_learner = {report.learner: {one.label: one for one in report.classes} for report in reports}
    labels = [one.label for one in reports[0].most_frequent(CLASSES)]
    rows = [
        [label, f"{reports[0].support(label):,}", *(score(found[label].f1, True) for found in by_learner.values())]
        for label in labels
    ]
    unusable = ["(unusable answers)", "", *(f"{report.unusable:,} of {report.answers:,}" for report in reports)]
    return ["class", "support", *by_learner], [*rows, unusable]


def _classes(summary: Summary) -> Iterator[tuple[str, Table]]:
    """Give a title and a table for the classes of each label task, or field of one, where the most answered."""
    for task in itertools.islice(summary.tasks, TASKS):
        shots = main_shots(summary.results, task)
        reports = class_reports(summary.results, task, shots, level=summary.how.level)
        for field in dict.fromkeys(report.field for report in reports):
            found = [report for report in reports if report.field == field]
            more = len(found[0].classes) - CLASSES
            cut = f"; the {CLASSES} most frequent of {len(found[0].classes):,} classes" if more > 0 else ""
            named = f"{task}, {field}" if field else task
            yield f"{named}: F1 of classes, {shots_text(found[0].shots)}{cut}", _f1_table(found)


def _errors(summary: Summary) -> Rows:
    """Give a row for each task on which two learners or more were right or wrong about the same items."""
    found = (shared_errors(summary.results, task) for task in summary.tasks)
    return [_errors_row(of) for of in found if of and of.items]


def _errors_row(of: SharedErrors) -> list[str]:
    few = ", ".join(verdict.item for verdict in of.all_wrong[:3])
    counts = [f"{of.items:,}", f"{len(of.all_wrong):,}", f"{of.expected:.1f}", f"{len(of.disagree):,}"]
    return [of.task, str(of.shots), *counts, few]
