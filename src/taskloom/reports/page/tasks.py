"""The tasks of a report: each folded, with its scores, its classes and confusions, and its items."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from ...episodes import Shots, shots_order, shots_text
from ...texts import counted
from .. import numbers
from ..classes import ClassReport, Confusion, class_reports, main_shots, shared_errors
from ..drawing import scale
from ..leaderboards import Leaderboard
from ..pages import box, folded, score
from ..summary import LearnerAnswer, Mark, Sample, Summary
from .items import Packed, packed
from .matrix import NOT_APPLICABLE, STEPS

SINGLE = 60  # tasks whose scores and classes are shown; of more, the matrix has the scores
EVERY_SETTING = 12  # tasks whose classes are shown at every setting; of more, at one
CLASSES, CONFUSED = 30, 10  # classes of a table, and of a confusion matrix
CONFUSIONS = 6  # learners whose confusions are shown
LONGEST = {"input": 300, "answer": 200}  # characters of a sample


def links(summary: Summary) -> dict[str, str]:
    """Give where each task is shown in the page."""
    return {task: f"t{number}" for number, task in enumerate(summary.tasks)}


def tasks(summary: Summary, *, with_items: bool) -> str:
    """Write what is known of single tasks; items are for pages with a script."""
    answers = packed(summary.results) if with_items else {}
    names = links(summary)
    shown = "".join(_task(summary, task, names[task], answers.get(task)) for task in summary.tasks)
    less = _left_out(summary, answers) if with_items else ""
    return f'<section id="tasks"><h2>Tasks</h2>{less}{shown or "<p>None was run.</p>"}</section>'


def _left_out(summary: Summary, answers: Mapping[str, Packed]) -> str:
    """Say how to get the answers that are not in the page."""
    held = sum(of.answers for of in answers.values())
    total = sum(len(o.answers) for o in summary.results.outcomes)
    if held == total:
        return ""
    return (
        f'<p class="legend">{held:,} of {total:,} answers are in this file, the first of each task '
        "where the most learners answered. For all: <code>taskloom report RUN --to items</code></p>"
    )


def _task(summary: Summary, task: str, link: str, answers: Packed | None) -> str:
    return (
        f'<details class="task" id="{link}"><summary>{escape(task)} <small>{_size(answers)}</small></summary>'
        f"{''.join(_parts(summary, task))}{_items(summary, task, answers)}</details>"
    )


def _size(answers: Packed | None) -> str:
    return f"{answers.answers:,} answers" if answers else ""


def _parts(summary: Summary, task: str) -> Iterator[str]:
    asked = summary.tasks[task]
    if asked != task:
        yield f'<p class="asked">{escape(asked)}</p>'
    if len(summary.tasks) <= SINGLE:
        yield _scores(summary, task)
        yield _shared(summary, task)
        yield _classes(summary, task)


def _scores(summary: Summary, task: str) -> str:
    found = [leaderboard for leaderboard in summary.leaderboards if task in leaderboard.tasks]
    if not found:
        return f"<p>{numbers.NONE}: nothing was scored.</p>"
    names = [name for name in summary.order if any(name in leaderboard.tasks[task] for leaderboard in found)]
    rows = "".join(f"<tr>{_row(leaderboard, task, names)}</tr>" for leaderboard in found)
    return folded("<h3>Scores</h3>", box(["metric", "shots", *names], rows, "n figures"))


def _row(leaderboard: Leaderboard, task: str, names: Sequence[str]) -> str:
    found = [leaderboard.tasks[task].get(name) for name in names]
    cells = (f"<td>{score(e, leaderboard.points) if e else NOT_APPLICABLE}</td>" for e in found)
    return f'<th scope="row">{escape(leaderboard.metric)}</th><td>{leaderboard.shots}</td>{"".join(cells)}'


def _shared(summary: Summary, task: str) -> str:
    """Say how many items all learners get wrong, and how many that would be by chance."""
    found = shared_errors(summary.results, task)
    if found is None or not found.items:
        return ""
    return (
        f'<p class="shared">{_all_of(len(found.learners))} learners are wrong on {len(found.all_wrong):,} of '
        f"{counted(found.items, 'item')} at {shots_text(found.shots)} ({found.expected:.1f} expected if errors were "
        f"independent); they disagree on {len(found.disagree):,}.</p>"
    )


def _all_of(count: int) -> str:
    return "Both" if count == 2 else f"All {count}"


# --- classes ---------------------------------------------------------------------------------------------------------


def _classes(summary: Summary, task: str) -> str:
    """Write the classes at the setting where the most learners answered, then, of few tasks, at the others."""
    main = main_shots(summary.results, task)
    every = {o.shots for o in summary.results.outcomes if o.task == task}
    others = sorted(every - {main}, key=shots_order) if len(summary.tasks) <= EVERY_SETTING else []
    return "".join(_classes_at(summary, task, shots) for shots in (main, *others))


def _classes_at(summary: Summary, task: str, shots: Shots) -> str:
    found = class_reports(summary.results, task, shots, level=summary.how.level)
    parts = []
    for field in dict.fromkeys(of.field for of in found):
        reports = [of for of in found if of.field == field]
        reports.sort(key=lambda of: summary.order.index(of.learner))
        named = f" of {field}" if field else ""
        title = f"<h3>Classes{escape(named)}, {shots_text(shots)}</h3>"
        parts.append(folded(title, f"{_class_table(reports)}{_confusions(summary, reports)}"))
    return "".join(parts)


def _class_table(reports: Sequence[ClassReport]) -> str:
    """Write a row for each class that has items; of many, for the most frequent."""
    first = reports[0]
    kept = {of.label for of in first.most_frequent(CLASSES) if of.support}
    rows = [
        f'<tr><th scope="row">{escape(of.label)}</th><td>{of.support:,}</td>'
        f"{''.join(_class(report, at) for report in reports)}</tr>"
        for at, of in enumerate(first.classes)
        if of.label in kept
    ]
    all_ = len(first.classes)
    more = f" {len(kept)} of {all_} classes: the most frequent, of those with items." if len(kept) < all_ else ""
    table = box(["F1 by class", "answers", *(report.learner for report in reports)], "".join(rows), "n figures")
    return f'{table}<p class="legend">F1 with its interval; hover for precision and recall.{more}</p>'


def _class(report: ClassReport, at: int) -> str:
    of = report.classes[at]
    if math.isnan(of.f1.value):
        return f'<td class="none">{NOT_APPLICABLE}</td>'
    said = f"precision {numbers.score(of.precision, True)}, recall {numbers.score(of.recall, True)}"
    return f'<td title="{escape(said)}">{score(of.f1, points=True)}</td>'


def _confusions(summary: Summary, reports: Sequence[ClassReport]) -> str:
    ours = [of for of in reports if of.learner not in summary.baselines] or list(reports)
    shown = "".join(_confusion(of, of.confusion.cut(CONFUSED)) for of in ours[:CONFUSIONS] if of.confusion)
    return f'<div class="confusions">{shown}</div>' if shown else ""


def _confusion(of: ClassReport, confusion: Confusion) -> str:
    """Write how often each class was answered with each label; labels without an item or an answer are dropped."""
    used = [n for n in range(len(confusion.columns)) if _is_used(confusion, n)]
    heads = "".join(f'<th scope="col"><span>{escape(confusion.columns[n])}</span></th>' for n in used)
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th>{"".join(_count(row, n, right=n == at) for n in used)}</tr>'
        for at, (name, row) in enumerate(zip(confusion.rows, confusion.counts, strict=True))
        if at in used
    )
    return (
        f'<figure class="confusion"><figcaption><b>{escape(of.learner)}</b> gold in rows, answers in columns'
        f'</figcaption><div class="box"><table><thead><tr><th scope="col">gold</th>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div></figure>"
    )


def _is_used(confusion: Confusion, at: int) -> bool:
    """Tell whether any item is of a label, or any answer."""
    is_asked = at < len(confusion.rows) and any(confusion.counts[at])
    return is_asked or any(row[at] for row in confusion.counts)


def _count(row: Sequence[int], at: int, *, right: bool) -> str:
    if not row[at]:
        return '<td class="zero">0</td>'
    step = round(scale(0, sum(row), 0, STEPS - 1)(row[at]))
    return f'<td class="{"r" if right else "w"}{step}">{row[at]:,}</td>'


# --- items -----------------------------------------------------------------------------------------------------------


def _items(summary: Summary, task: str, answers: Packed | None) -> str:
    """Write the packed answers, and a few samples for those who run no script."""
    samples = "".join(map(_sample, summary.samples.get(task, ())))
    held = f'<script type="application/octet-stream">{answers.text}</script>' if answers else ""
    shown = f'<div class="samples">{samples}</div>' if samples else ""
    return f'<div class="items"><h3>Items</h3>{shown}{held}</div>' if shown or held else ""


def _sample(sample: Sample) -> str:
    inputs = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(_cut(text, 'input'))}</dd>" for name, text in sample.fields.items()
    )
    gold = " <i>or</i> ".join(escape(_cut(text, "answer")) for text in sample.gold)
    rows = "".join(map(_given, sample.answers))
    return (
        f"<h4>Item {escape(sample.item)}, {shots_text(sample.shots)}</h4>"
        f"<dl>{inputs}<dt>gold</dt><dd>{gold}</dd></dl>{box(['learner', 'answer', 'score'], rows)}"
    )


def _given(given: LearnerAnswer) -> str:
    text = "<i>no usable answer</i>" if given.text is None else escape(_cut(given.text, "answer"))
    marks = "<br>".join(_mark(mark, named=len(given.marks) > 1) for mark in given.marks)
    return (
        f'<tr><th scope="row">{escape(given.learner)}</th><td class="given">{text}</td><td class="n">{marks}</td></tr>'
    )


def _mark(mark: Mark, *, named: bool) -> str:
    name = f" <i>{escape(mark.metric)}</i>" if named or mark.right is None else ""
    if mark.right is not None:
        words = '<span class="right">✓ right</span>' if mark.right else '<span class="wrong">✗ wrong</span>'
        return words + name
    return "" if mark.value is None else numbers.number(mark.value, mark.points) + name


def _cut(text: str, what: str) -> str:
    longest = LONGEST[what]
    return text if len(text) <= longest else f"{text[:longest].rstrip()} … ({len(text):,} characters)"
