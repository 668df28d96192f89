"""The verbs of people's judgements: compare, rate, sum."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import console
from ..people.judgements import GOOD, ITEMS, RATERS, TASKS
from ..texts import counted
from . import shell_completion as complete

if TYPE_CHECKING:
    from ..people.agreement import RaterAgreement
    from ..people.questions import Questions
    from ..people.summary import Against, Compared, Ratings, Remark
    from ..stats import Estimate

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Sheet = Annotated[Path, typer.Option("--output", "-o", help="The sheet to write: .csv or .jsonl.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a sheet that is there.")]

AS_GOOD = "as good, %"
INTERVAL = ("95 % interval", "n")
SHOWN = 10  # comments


def compare(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.")],
    *,
    output: Sheet,
    learner: Annotated[
        list[str],
        typer.Option(
            help="A learner; say it again for more. Else all but baselines.",
            autocompletion=complete.learners_of_run,
        ),
    ] = [],  # noqa: B006
    tasks: Annotated[int, typer.Option(min=1, help="How many tasks, at random.")] = TASKS,
    items: Annotated[int, typer.Option(min=1, help="How many items of each, at random.")] = ITEMS,
    shots: Annotated[
        str | None, typer.Option(metavar="SHOTS", help="With so many examples, drawn or all; else the most of the run.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Another one gives other tasks, items and orders.")] = 0,
    force: Force = False,
) -> None:
    """Write a sheet on which people say whether an answer or the reference is better, and the key to it."""
    from ..episodes import shots_from
    from ..people import questions, sheets
    from ..studies.api import open_run

    asked = None if shots is None else shots_from(shots)
    sheets.refuse_to_clobber(output, sheets.key_path(output), replace=force)  # before the work, and when it is written
    drawn = questions.draw(open_run(run), learner, tasks=tasks, items=items, shots=asked, seed=seed)
    sheets.write_comparisons(drawn, output, replace=force)
    _tell_drawn(drawn, tasks)
    _tell_long(output, sheets.too_long(sheets.comparison_rows(drawn)))
    console.note(f"send {output.name} to those who judge, and keep {sheets.key_path(output).name} from them")
    console.line(f"{output}: {counted(len(drawn.asked), 'question')}")


def _tell_drawn(drawn: Questions, wanted: int) -> None:
    from ..episodes import shots_text

    for note, count in sorted(drawn.left_out.items(), key=lambda told: str(told[0])):
        alone = note.code == "learner-without-texts"  # and so named, not counted
        console.note(f"left out: {note}" + ("" if alone else f" ({count:,})"))
    tasks = len({pair.task for pair in drawn.key})
    names = sorted({pair.learner for pair in drawn.key})
    fewer = f", for there are no more than {tasks:,}" if tasks < wanted else ""
    console.note(f"{', '.join(names)} with {shots_text(drawn.shots)} on {counted(tasks, 'task')}{fewer}")
    settled = [pair.settled for pair in drawn.key]
    if equal := settled.count("equal"):
        console.note(f"{equal:,} equal to the reference, counted as ties without asking")
    if unusable := settled.count("unusable"):
        console.note(f"{unusable:,} unusable, counted as losses without asking")


def _tell_long(output: Path, count: int) -> None:
    if count and output.suffix.lower() == ".csv":
        console.note(f"{counted(count, 'cell')} longer than a spreadsheet can hold: use a .jsonl sheet")


def rate(
    suite: Annotated[Path, typer.Argument(metavar="SUITE", help="A suite's folder.")],
    *,
    output: Sheet,
    task: Annotated[list[str], typer.Option(help="A task, or a pattern of them; say it again for more.")] = [],  # noqa: B006
    force: Force = False,
) -> None:
    """Write a sheet on which people rate the instructions of tasks."""
    from ..people import sheets
    from ..studies.study import chosen_tasks
    from ..suites.store import open_suite

    opened = open_suite(suite)
    names = chosen_tasks(list(opened.tasks), task or ["*"])
    tasks = [opened.tasks[name] for name in names]
    sheets.write_ratings(tasks, output, replace=force)
    _tell_long(output, sheets.too_long(sheets.rating_rows(tasks)))
    console.note(f"send a copy to each of those who rate; {RATERS} for each task, as published")
    console.line(f"{output}: {counted(len(tasks), 'task')}")


def sum_(
    sheet: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Sheets that came back; each may be a copy.")],
    *,
    key: Annotated[Path | None, typer.Option(help="The key to comparisons, if not beside the first file.")] = None,
    run: Annotated[Path | None, typer.Option(help="The run that was asked about: its metric beside people.")] = None,
    by_task: Annotated[bool, typer.Option("--by-task", help="Show comparisons task by task, too.")] = False,
    comments: Annotated[bool, typer.Option("--comments", help="Show all comments on a terminal, too.")] = False,
    file_encoding: Annotated[str, typer.Option(help="The files' encoding.")] = "utf-8-sig",
    as_json: AsJson = False,
) -> None:
    """Sum up what people said: scores with intervals, agreement between raters, and all that they wrote."""
    from ..errors import UsageError
    from ..people import answers, summary
    from ..studies.api import open_run

    read = answers.read_sheets(sheet, file_encoding)
    if read.kind == "ratings":
        if key or run or by_task:
            raise UsageError("--key, --run and --by-task are for comparisons, and these are ratings")
        show_ratings(summary.rated(answers.ratings(read)), comments=comments, as_json=as_json)
        return
    pairs = answers.read_key(key or answers.find_key(sheet))
    said = answers.comparisons(read, pairs)
    results = open_run(run) if run else None
    found = summary.compared(pairs, said, summary.records_in(results, pairs) if results else None)
    beside = summary.beside(results, pairs, answers=said, people=found.learners) if results else None
    show_compared(found, beside, by_task=by_task, comments=comments, as_json=as_json)


# --- what is shown ---------------------------------------------------------------------------------------------------


def show_compared(
    found: Compared, beside: Against | None, *, by_task: bool = False, comments: bool = False, as_json: bool = False
) -> None:
    """Show how learners did against the reference."""
    if as_json:
        from ..reports.tables import plain

        console.as_json(plain(found) | {"metric": plain(beside)})
        return
    scores = [(name, *_told(one.score)) for name, one in found.learners.items()]
    console.table(["learner", AS_GOOD, *INTERVAL], scores, figures=[AS_GOOD, INTERVAL[0]], whole=["learner"])
    counts = [
        (name, one.wins, one.ties, one.losses, one.equal, one.unusable, one.unanswered)
        for name, one in found.learners.items()
    ]
    console.line()
    judgements = [f"judged: {name}" for name in ("wins", "ties", "losses")]  # there may be several of one item
    items = [f"items: {name}" for name in ("equal", "unusable", "not answered")]
    console.table(["learner", *judgements, *items], counts, whole=["learner"])
    if by_task:
        _show_tasks(found)
    _show_contrasts(found)
    _show_agreement(found.agreement, "win, tie or loss")
    if beside:
        _show_beside(found, beside)
    _show_remarks(found.remarks, everything=comments)
    _tell_compared(found)


def _show_tasks(found: Compared) -> None:
    rows = [(task, name, *_told(e)) for name, one in found.learners.items() for task, e in one.tasks.items()]
    console.line()
    console.table(["task", "learner", AS_GOOD, *INTERVAL], sorted(rows), figures=[AS_GOOD, INTERVAL[0]])


def _show_contrasts(found: Compared) -> None:
    from ..reports.numbers import interval, number, p_value

    if found.contrasts:
        rows = [(c.a, c.b, number(c.difference, True), interval(c, True), p_value(c.p), c.n) for c in found.contrasts]
        console.line()
        console.table(["a", "b", "a - b", INTERVAL[0], "p (Holm)", "n"], rows, figures=["a - b", "p (Holm)"])


def _show_agreement(found: RaterAgreement, of: str) -> None:
    console.line()
    columns = ["agreement on", "Krippendorff's alpha", INTERVAL[0], "judged by two", "raters"]
    console.table(columns, [(of, *_told(found.alpha, points=False), found.raters)], figures=columns[1:2])


def _show_beside(found: Compared, beside: Against) -> None:
    rows = [(name, _told(found.learners[name].score)[0], *_told(e)) for name, e in beside.learners.items()]
    console.line()
    console.table(["learner", "people", beside.metric, *INTERVAL], rows, figures=["people", beside.metric])
    console.line()
    columns = ["people and", "Pearson's r", INTERVAL[0], "learners"]
    console.table(columns, [(beside.metric, *_told(beside.correlation, points=False))], figures=columns[1:2])


def _show_remarks(remarks: tuple[Remark, ...], *, everything: bool) -> None:
    """Show what people wrote; on a terminal only the first, unless all is asked for."""
    if not remarks:
        return
    few = remarks if everything or not sys.stdout.isatty() else remarks[:SHOWN]
    of = [name for name in ("learner", "task", "item", "rater", "column") if any(getattr(r, name) for r in few)]
    console.line()
    console.table([*of, "text"], [[*(getattr(r, name) for name in of), r.text] for r in few])
    if len(few) < len(remarks):
        console.note(f"{len(remarks) - len(few):,} more: --comments shows all")


def _tell_compared(found: Compared) -> None:
    judged = found.learners.values()
    if equal := sum(one.equal for one in judged):
        console.note(f"{equal:,} equal to the reference, counted as ties without asking")
    if unusable := sum(one.unusable for one in judged):
        console.note(f"{unusable:,} unusable, counted as losses without asking")
    if unanswered := sum(one.unanswered for one in judged):
        console.note(f"{unanswered:,} not answered by anybody, taken to be like those that were")
    console.note("as good: at least as good as the reference, as published; intervals are over tasks and items")
    _tell_raters(found.raters, found.blank)


def show_ratings(found: Ratings, *, comments: bool = False, as_json: bool = False) -> None:
    """Show what people think of instructions."""
    from ..reports.numbers import number

    if as_json:
        from ..reports.tables import plain

        console.as_json(plain(found))
        return
    rows = [(task, number(one.mean, False), number(one.deviation, False), one.n) for task, one in found.tasks.items()]
    console.table(["task", "mean rating", "deviation", "n"], rows, figures=["mean rating", "deviation"], whole=["task"])
    console.line()
    overall = [("mean rating", *_told(found.mean, points=False)), (f"{GOOD} or above, %", *_told(found.good))]
    console.table(["all tasks", "value", *INTERVAL], overall, figures=["value"])
    _show_agreement(found.agreement, "ratings, ordinal")
    _show_remarks(found.remarks, everything=comments)
    if found.few:
        console.note(f"rated by fewer than {RATERS} people: {counted(len(found.few), 'task')}")
    _tell_raters(found.raters, found.blank)


def _tell_raters(raters: Mapping[str, int], blank: int) -> None:
    told = ", ".join(f"{name} ({count:,})" for name, count in raters.items())
    console.note(f"{counted(len(raters), 'rater')}: {told}; rows left empty: {blank:,}")


def _told(of: Estimate, *, points: bool = True) -> tuple[str, str, int]:
    """Write a number, its interval and its n; what has no value says so."""
    from ..reports.numbers import interval, number

    return number(of.value, points), interval(of, points), of.n
