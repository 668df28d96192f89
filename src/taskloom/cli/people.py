"""The verbs of human evaluation: compare, rate, sum."""

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
from .arguments import MOST, MOST_SEED, AsJson, RunFolder, SuiteFolder

if TYPE_CHECKING:
    from ..people.agreement import RaterAgreement
    from ..people.questions import Questions
    from ..people.summary import Against, Compared, Ratings, Remark
    from ..stats import Estimate

Sheet = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The sheet to write: .csv or .jsonl.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing sheet.")]

AS_GOOD = "as good, %"
INTERVAL = ("95 % interval", "n")
SHOWN = 10  # comments


def compare(
    run: RunFolder,
    *,
    output: Sheet,
    learner: Annotated[
        list[str],
        typer.Option(
            metavar="LEARNER",
            help="A learner; default: all but baselines.",
            autocompletion=complete.learners_of_run,
        ),
    ] = [],  # noqa: B006
    tasks: Annotated[
        int, typer.Option(metavar="N", min=1, max=MOST, help="The number of tasks, drawn at random.")
    ] = TASKS,
    items: Annotated[
        int, typer.Option(metavar="N", min=1, max=MOST, help="The number of items of each task, drawn at random.")
    ] = ITEMS,
    shots: Annotated[
        str | None,
        typer.Option(metavar="SHOTS", help="Answers with this number of shots, drawn or all; default: the largest."),
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, max=MOST_SEED, help="The seed of tasks, items and orders; default: 0.")
    ] = 0,
    force: Force = False,
) -> None:
    """Write a sheet for judges, to compare answers with the reference."""
    from ..episodes import shots_from
    from ..people import questions, sheets
    from ..studies.api import inputs_of_run, open_run

    asked = None if shots is None else shots_from(shots)
    outputs = (output, sheets.key_path(output))
    sheets.refuse_to_clobber(*outputs, replace=force, inputs=inputs_of_run(run))  # before the work, and at its end
    drawn = questions.draw(open_run(run), learner, tasks=tasks, items=items, shots=asked, seed=seed)
    sheets.write_comparisons(drawn, output, replace=force)
    _note_drawn(drawn, tasks)
    _note_long(output, sheets.too_long(sheets.comparison_rows(drawn)))
    console.note(f"send {output.name} to the judges; do not send {sheets.key_path(output).name}")
    console.line(f"{output}: {counted(len(drawn.asked), 'question')}")


def _note_drawn(drawn: Questions, wanted: int) -> None:
    from ..episodes import shots_text

    for note, count in sorted(drawn.left_out.items(), key=lambda pair: str(pair[0])):
        alone = note.code == "learner-without-texts"  # and so named, not counted
        console.note(f"skipped: {note}" + ("" if alone else f" ({count:,})"))
    tasks = len({pair.task for pair in drawn.key})
    names = sorted({pair.learner for pair in drawn.key})
    fewer = f" (there are only {tasks:,})" if tasks < wanted else ""
    console.note(f"{', '.join(names)} with {shots_text(drawn.shots)} on {counted(tasks, 'task')}{fewer}")
    settled = [pair.settled for pair in drawn.key]
    if equal := settled.count("equal"):
        console.note(f"{equal:,} equal to the reference: counted as ties, not judged")
    if unusable := settled.count("unusable"):
        console.note(f"{unusable:,} unusable: counted as losses, not judged")


def _note_long(output: Path, count: int) -> None:
    if count and output.suffix.lower() == ".csv":
        console.note(f"{counted(count, 'cell')} too long for a spreadsheet; write a .jsonl sheet instead")


def rate(
    suite: SuiteFolder,
    *,
    output: Sheet,
    task: Annotated[
        list[str], typer.Option(metavar="TASK", help="A task, or a pattern such as 'task90*'; default: all.")
    ] = [],  # noqa: B006
    force: Force = False,
) -> None:
    """Write a sheet for judges, to rate the instructions of tasks."""
    from ..people import sheets
    from ..studies.study import chosen_tasks
    from ..suites.store import files_of, open_suite

    sheets.refuse_to_clobber(output, replace=force, inputs=files_of(suite))
    opened = open_suite(suite)
    names = chosen_tasks(list(opened.tasks), task or ["*"])
    tasks = [opened.tasks[name] for name in names]
    sheets.write_ratings(tasks, output, replace=force)
    _note_long(output, sheets.too_long(sheets.rating_rows(tasks)))
    console.note(f"send a copy to each rater; the paper has {RATERS} raters for each task")
    console.line(f"{output}: {counted(len(tasks), 'task')}")


def sum_(
    sheet: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Sheets that judges filled in.")],
    *,
    key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The key of comparisons, if not beside the first sheet.")
    ] = None,
    run: Annotated[
        Path | None, typer.Option(metavar="RUN", help="The run that was judged: show its metric beside the judgements.")
    ] = None,
    by_task: Annotated[bool, typer.Option("--by-task", help="Show comparisons by task.")] = False,
    comments: Annotated[bool, typer.Option("--comments", help="Show all comments on a terminal.")] = False,
    file_encoding: Annotated[str, typer.Option(metavar="NAME", help="The encoding of the sheets.")] = "utf-8-sig",
    as_json: AsJson = False,
) -> None:
    """Summarise filled sheets: scores, intervals, agreement and comments."""
    from ..errors import UsageError
    from ..people import answers, summary
    from ..studies.api import open_run

    read = answers.read_sheets(sheet, file_encoding)
    if read.kind == "ratings":
        if key or run or by_task:
            raise UsageError("--key, --run and --by-task are for comparisons; these sheets are ratings")
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
    scores = [(name, *_estimate(one.score)) for name, one in found.learners.items()]
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
    _note_compared(found)


def _show_tasks(found: Compared) -> None:
    rows = [(task, name, *_estimate(e)) for name, one in found.learners.items() for task, e in one.tasks.items()]
    console.line()
    console.table(["task", "learner", AS_GOOD, *INTERVAL], sorted(rows), figures=[AS_GOOD, INTERVAL[0]])


def _show_contrasts(found: Compared) -> None:
    from ..reports.numbers import interval, number, p_value

    if found.contrasts:
        rows = [
            (c.a, c.b, number(c.difference, True), interval(c, True), p_value(c.p), c.family, c.n)
            for c in found.contrasts
        ]
        console.line()
        columns = ["a", "b", "a - b", INTERVAL[0], "p (Holm)", "of pairs", "n"]
        console.table(columns, rows, figures=["a - b", "p (Holm)"])


def _show_agreement(found: RaterAgreement, of: str) -> None:
    console.line()
    columns = ["agreement on", "Krippendorff's alpha", INTERVAL[0], "judged by two", "raters"]
    console.table(columns, [(of, *_estimate(found.alpha, points=False), found.raters)], figures=columns[1:2])


def _show_beside(found: Compared, beside: Against) -> None:
    rows = [(name, _estimate(found.learners[name].score)[0], *_estimate(e)) for name, e in beside.learners.items()]
    console.line()
    console.table(["learner", "people", beside.metric, *INTERVAL], rows, figures=["people", beside.metric])
    console.line()
    columns = ["people and", "Pearson's r", INTERVAL[0], "learners"]
    console.table(columns, [(beside.metric, *_estimate(beside.correlation, points=False))], figures=columns[1:2])


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


def _note_compared(found: Compared) -> None:
    judged = found.learners.values()
    if equal := sum(one.equal for one in judged):
        console.note(f"{equal:,} equal to the reference: counted as ties, not judged")
    if unusable := sum(one.unusable for one in judged):
        console.note(f"{unusable:,} unusable: counted as losses, not judged")
    if unanswered := sum(one.unanswered for one in judged):
        console.note(f"{unanswered:,} without a judgement: taken to be like the others")
    console.note("as good: at least as good as the reference, as in the paper; intervals are over tasks and items")
    _note_raters(found.raters, found.blank)


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
    overall = [("mean rating", *_estimate(found.mean, points=False)), (f"{GOOD} or above, %", *_estimate(found.good))]
    console.table(["all tasks", "value", *INTERVAL], overall, figures=["value"])
    _show_agreement(found.agreement, "ratings, ordinal")
    _show_remarks(found.remarks, everything=comments)
    if found.few:
        console.note(f"rated by fewer than {RATERS} people: {counted(len(found.few), 'task')}")
    _note_raters(found.raters, found.blank)


def _note_raters(raters: Mapping[str, int], blank: int) -> None:
    names = ", ".join(f"{name} ({count:,})" for name, count in raters.items())
    console.note(f"{counted(len(raters), 'rater')}: {names}; empty rows: {blank:,}")


def _estimate(of: Estimate, *, points: bool = True) -> tuple[str, str, int]:
    """Write a number, its interval and its n; what has no value says so."""
    from ..reports.numbers import interval, number

    return number(of.value, points), interval(of, points), of.n
