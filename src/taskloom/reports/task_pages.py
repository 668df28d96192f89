"""The tasks of a report: each folded, with its scores and samples; of many, folded tables of their scores."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from ..episodes import shots_text
from ..stats import Estimate
from ..texts import counted
from . import numbers
from .leaderboards import Leaderboard
from .pages import box, folded, score
from .summary import LearnerAnswer, Mark, Sample, Summary

LONGEST = {"input": 300, "answer": 200}  # characters that are shown
SINGLE = 60  # tasks that have a section each; of more there are tables
PAGE = 100  # tasks of a table
CELLS = 30_000  # scores of single tasks on a page; the other forms of report have all


def tasks(summary: Summary) -> str:
    """Write what is known of single tasks."""
    if len(summary.tasks) <= SINGLE:
        parts = "".join(_task(summary, task, asked) for task, asked in summary.tasks.items())
    else:
        parts = _many(summary)
    return f'<section id="tasks"><h2>Tasks</h2>{parts or "<p>None was run.</p>"}</section>'


# --- each ------------------------------------------------------------------------------------------------------------


def _task(summary: Summary, task: str, asked: str) -> str:
    found = _leaderboards_of(summary, task)
    names = [name for name in summary.learners if any(name in leaderboard.tasks[task] for leaderboard in found)]
    rows = "".join(f"<tr>{_row(leaderboard, task, names)}</tr>" for leaderboard in found)
    table = box(["metric", "shots", *names], rows, "n") if found else f"<p>{numbers.NONE}: nothing was scored.</p>"
    said = "" if asked == task else f'<p class="small soft">{escape(_cut(asked, "input"))}</p>'
    samples = "".join(map(_sample, summary.samples.get(task, ())))
    return folded(escape(task), f"{said}{table}{samples}")


def _leaderboards_of(summary: Summary, task: str) -> list[Leaderboard]:
    return [leaderboard for leaderboard in summary.leaderboards if task in leaderboard.tasks]


def _row(leaderboard: Leaderboard, task: str, names: Sequence[str]) -> str:
    found: list[Estimate | None] = [leaderboard.tasks[task].get(name) for name in names]
    cells = (f"<td>{score(e, leaderboard.points) if e else ''}</td>" for e in found)
    return f"<th>{escape(leaderboard.metric)}</th><td>{leaderboard.shots}</td>{''.join(cells)}"


# --- many ------------------------------------------------------------------------------------------------------------


def _many(summary: Summary) -> str:
    """Write a folded table for each so many tasks of a category, and samples of some."""
    found = {task: _leaderboards_of(summary, task) for task in summary.tasks}
    shown = _fewer(found, len(summary.learners))
    rows, all_rows = (sum(map(len, of.values())) for of in (shown, found))
    less = f"{rows:,} of {all_rows:,} rows are shown; the CSV and JSON reports have all. " if rows < all_rows else ""
    silent = sum(not leaderboards for leaderboards in found.values())
    less += f"Without a score: {counted(silent, 'task')}. " if silent else ""
    tables = "".join(
        _page(summary, title, {task: shown[task] for task in names}) for title, names in _pages(summary, shown)
    )
    sampled = "".join(_samples(summary, task) for task in summary.samples)
    return (
        f'<p class="small soft">{less}Intervals are of single tasks.</p>{tables}'
        f"<h3>Samples of {counted(len(summary.samples), 'task')}</h3>{sampled}"
    )


def _fewer(found: Mapping[str, Sequence[Leaderboard]], learners: int) -> Mapping[str, Sequence[Leaderboard]]:
    """Keep all rows, or the first metric of each task at its most shots, or those of the first tasks."""
    most = CELLS // max(1, learners)
    if sum(map(len, found.values())) <= most:
        return found
    first = {
        task: [b for b in leaderboards if b.metric == leaderboards[0].metric][-1:]
        for task, leaderboards in found.items()
    }
    return dict(itertools.islice(first.items(), most))


def _pages(summary: Summary, shown: Mapping[str, object]) -> Iterator[tuple[str, Sequence[str]]]:
    """Part tasks by category, those without one last, and each part into pages."""
    groups: dict[str, dict[str, None]] = {of.name: {} for of in summary.categories}
    for of in summary.categories:
        groups[of.name] |= dict.fromkeys(task for task in of.leaderboard.tasks if task in shown)
    placed = {task for names in groups.values() for task in names}
    groups["other tasks" if placed else "tasks"] = dict.fromkeys(task for task in shown if task not in placed)
    for title, names in groups.items():
        for first in range(0, len(names), PAGE):
            page = sorted(names)[first : first + PAGE]
            part = f", {first + 1:,} to {first + len(page):,}" if len(names) > PAGE else ""
            yield f"{title}: {counted(len(names), 'task')}{part}", page


def _page(summary: Summary, title: str, rows: Mapping[str, Sequence[Leaderboard]]) -> str:
    lines = "".join(
        f"<tr>{_name(task, len(leaderboards)) if not at else ''}{_row(leaderboard, task, list(summary.learners))}</tr>"
        for task, leaderboards in rows.items()
        for at, leaderboard in enumerate(leaderboards)
    )
    return folded(escape(title), box(["task", "metric", "shots", *summary.learners], lines, "n"))


def _name(task: str, rows: int) -> str:
    return f'<th rowspan="{rows}">{escape(task)}</th>'


def _samples(summary: Summary, task: str) -> str:
    asked = f'<p class="small soft">{escape(_cut(summary.tasks[task], "input"))}</p>'
    return folded(escape(task), asked + "".join(map(_sample, summary.samples[task])))


# --- samples ---------------------------------------------------------------------------------------------------------


def _sample(sample: Sample) -> str:
    inputs = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(_cut(text, 'input'))}</dd>" for name, text in sample.fields.items()
    )
    gold = " <i>or</i> ".join(escape(_cut(text, "answer")) for text in sample.gold)
    rows = "".join(map(_given, sample.answers))
    return (
        f"<h3>Item {escape(sample.item)}, {shots_text(sample.shots)}</h3>"
        f"<dl>{inputs}<dt>acceptable</dt><dd>{gold}</dd></dl>{box(['learner', 'answer', 'score'], rows)}"
    )


def _given(given: LearnerAnswer) -> str:
    text = "<i>no usable answer</i>" if given.text is None else escape(_cut(given.text, "answer"))
    marks = "<br>".join(_mark(mark, named=len(given.marks) > 1) for mark in given.marks)
    return f'<tr><th>{escape(given.learner)}</th><td class="given">{text}</td><td class="n">{marks}</td></tr>'


def _mark(mark: Mark, *, named: bool) -> str:
    name = f" <i>{escape(mark.metric)}</i>" if named or mark.right is None else ""
    if mark.right is not None:
        words = '<span class="right">✓ right</span>' if mark.right else '<span class="wrong">✗ wrong</span>'
        return words + name
    return "" if mark.value is None else numbers.number(mark.value, mark.points) + name


def _cut(text: str, what: str) -> str:
    longest = LONGEST[what]
    return text if len(text) <= longest else f"{text[:longest].rstrip()} … ({len(text):,} characters)"
