"""The verbs of studies: plan, run, report, compare, ledger merge."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from .. import console
from ..folders import check_output, refuse_file, write_output, write_whole
from ..messages import Note, money
from ..texts import counted
from . import budget
from . import shell_completion as complete
from .arguments import MOST, AsJson, ReportFile, ReportForm, RunFolder, StudyName
from .interrupts import Interrupted, ignore_signals

if TYPE_CHECKING:
    from ..models.load import Source
    from ..reports import Summary
    from ..studies.api import Prepared
    from ..studies.cells import Cell
    from ..studies.plan import Plan
    from ..studies.results import Results
    from ..studies.run import Done
    from ..studies.tokens import TokenEstimate

FEW_NOTES = 3  # notes of dropped classes that a run shows one by one
Only = Annotated[
    list[str],
    typer.Option(
        metavar="NAME",
        help="Only this task or learner, or those that match a pattern such as 'abstract->*'.",
        autocompletion=complete.parts_of_study,
    ),
]
Limit = Annotated[
    int,
    typer.Option(
        metavar="N", min=0, max=MOST, help="A trial: only N items of each episode, kept apart from the real run."
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers", "-w", metavar="N", min=1, max=1024,
        help="The number of processes: 1 unless it is set; with --on, as many as the cluster has room for.",
    ),
]  # fmt: skip
OnCluster = Annotated[
    str,
    typer.Option(
        "--on", metavar="CLUSTER", help="Run on a Ray cluster: ray://HOST:PORT, or ray for one of this machine."
    ),
]
OnSuite = Annotated[
    Path | None, typer.Option("--suite", metavar="SUITE", help="A suite's folder, instead of the study's.")
]
From = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="SOURCE",
        help="What the study's suite is built from, instead of the study's: a file or folder, data:NAME or hub:NAME.",
        autocompletion=complete.sources,
    ),
]
OnModel = Annotated[
    str,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="A model instead of the study's: a name of `list models`, hf:ORG/NAME, path:FOLDER or api:NAME@URL.",
        autocompletion=complete.models,
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="RUN", help="The run's folder, if not runs/NAME (or runs/NAME-SUITE-MODEL)."
    ),
]


def plan(
    study: StudyName,
    *,
    output: Output = None,
    suite: OnSuite = None,
    source: From = "",
    model: OnModel = "",
    only: Only = [],  # noqa: B006
    limit: Limit = 0,
    time: Annotated[
        str,
        typer.Option(
            "--budget",
            metavar="TIME",
            help="Say how many episodes and test items give the narrowest intervals in this time: 90m, 2h, 1h30m, 2d.",
        ),
    ] = "",
    pilot: Annotated[
        bool, typer.Option("--pilot", help="Run a few episodes now, to measure what --budget needs to know.")
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw width and coverage over episodes for --budget: .html or .svg."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a study, estimate the time of a run, or plan a budget."""
    from ..studies.api import prepare
    from ..studies.overrides import Overrides

    budget.check_options(time, limit, pilot=pilot, plot=plot)
    get = get_model if pilot else None
    prepared = prepare(study, output, overrides=Overrides.of(suite, model, source), only=only, limit=limit, get=get)
    if time:
        budget.plan_budget(prepared, time, pilot=pilot, plot=plot, as_json=as_json)
        return
    found, ahead = prepared.plan, prepared.forecast()
    shown: dict[str, console.Value] = {
        "study": found.study.name,
        "run": str(prepared.folder),
        "suite": found.suite.fingerprint,
        "cells": ahead.cells,
        "done": ahead.cells - ahead.left,
        "to run": ahead.left,
        "seconds": ahead.seconds,
    }
    if as_json:
        console.as_json(
            {
                **shown,
                "tokens": [asdict(estimate) for estimate in ahead.tokens],
                "cells": [_row(cell) for cell in found.to_run],
                "skipped": _noted(found.skipped),
                "dropped": [{"code": n.code, "values": dict(n.values), "text": str(n)} for n in found.dropped],
            }
        )
        return
    known = f"unknown until a run or a trial (`{_trial(prepared, only)}`)"
    shown["seconds"] = known if ahead.seconds is None else f"about {ahead.seconds:,.1f}, with one worker"
    console.pairs({**shown, **{f"tokens of {of.model}": _tokens(of) for of in ahead.tokens}})
    note_skipped(found)


def _tokens(of: TokenEstimate) -> str:
    """Write what a model will read and write, and cost."""
    text = f"estimate: about {of.read:,} read, {of.written:,} written at most"
    if of.dollars_in is None or of.dollars_out is None:
        return text
    return f"{text}; about ${money(of.dollars_in)} for input, ${money(of.dollars_out)} at most for output"


def _row(cell: Cell) -> dict[str, Any]:
    names = ("id", "kind", "task", "learner", "shots", "seed", "index", "training")
    return {name: getattr(cell, name) for name in names}


def _noted(notes: Mapping[Note, int]) -> list[dict[str, Any]]:
    return [
        {"code": note.code, "values": dict(note.values), "text": str(note), "count": n} for note, n in notes.items()
    ]


def _trial(prepared: Prepared, only: Sequence[str]) -> str:
    """Write the command that tries the same on a few items."""
    options = [*(word for name in only for word in ("--only", name)), "--limit", "2"]
    return f"{prepared.again()} {shlex.join(options)}"


def run(
    study: StudyName,
    *,
    output: Output = None,
    suite: OnSuite = None,
    source: From = "",
    model: OnModel = "",
    only: Only = [],  # noqa: B006
    limit: Limit = 0,
    workers: Workers = None,
    on: OnCluster = "",
) -> None:
    """Run a study, or resume it, and write its report."""
    from ..studies.api import prepare
    from ..studies.overrides import Overrides

    refuse_unreachable(on)
    prepared = prepare(
        study, output, overrides=Overrides.of(suite, model, source), only=only, limit=limit, get=get_model
    )
    note_skipped(prepared.plan, briefly=True)
    note_changed(prepared)
    carry_out(prepared, workers, on)


def refuse_unreachable(on: str) -> None:
    """Refuse a cluster that is not there before anything is planned or fetched."""
    if on:
        from ..studies.cluster_nodes import check_reachable

        check_reachable(on)


def note_changed(prepared: Prepared) -> None:
    """Say that the folder has a run of another study, if so."""
    if prepared.is_changed:
        console.note(
            "the study has changed since the last run; cells of the old one stay in the ledger, not shown: "
            f"{prepared.folder}"
        )


def carry_out(prepared: Prepared, workers: int | None, on: str = "") -> Results:
    """Run what is missing, print the scores and write the report; end where something failed."""
    from ..studies.run import StoppedAtOnce

    found, folder = prepared.plan, prepared.folder
    crew = [""]  # who is at work, the last time that was asked
    try:
        with console.progress(found.study.name, detail=lambda: crew[0] or _training(folder)) as progress:
            done = prepared.work(
                workers=workers or 0, on=on, progress=progress, stopping=_note_stopping,
                status=lambda text: crew.__setitem__(0, text),
            )  # fmt: skip
    except StoppedAtOnce as stopped:
        _end_interrupted(folder, stopped.signal)
    except (KeyboardInterrupt, Interrupted):
        _end_interrupted(folder, signal.SIGINT)
    _note_done(done, len(found.to_run), crew[0])
    if done.interrupted:  # whoever ends a large run does not wait for a report of it
        _end_interrupted(folder, done.signal)
    gathered = prepared.results()
    if gathered.outcomes or gathered.failures:
        from ..studies.api import REPORT

        _write_report(gathered, folder / (f"trial-{prepared.limit}.html" if prepared.limit else REPORT))
    for name, reason in done.waiting.items():
        console.note(f"{name} stopped: {reason}")
    if gathered.failures:
        console.error(
            f"{counted(len(gathered.failures), 'cell')} failed; see the report for tracebacks; the same command retries"
        )
        raise typer.Exit(1)
    return gathered


def _note_done(done: Done, total: int, crew: str) -> None:
    if done.damaged:
        shown = ", ".join(done.damaged[:5]) + (f" and {len(done.damaged) - 5:,} more" if len(done.damaged) > 5 else "")
        console.note(f"ran {counted(len(done.damaged), 'cell')} again, damaged in the ledger: {shown}")
    by = f" ({crew})" if crew else ""
    console.note(f"{counted(done.ran, 'cell')} run, {counted(done.failed, 'failure')}, {total:,} in all{by}")


def _write_report(gathered: Results, page: Path) -> None:
    """Write the page, and then print the scores: where they can't be printed, the page is there."""
    from ..reports import render, summarise

    summary = summarise(gathered)
    told = _write_page(page, render(summary, "html"))
    sys.stdout.write(render(summary, "terminal"))
    console.note(told)


def _write_page(page: Path, text: str) -> str:
    """Write a page, and say where it is or why it isn't: on a full disk, the scores stand all the same."""
    try:
        write_whole(page, text)
    except OSError as error:
        return str(Note.of("report-unwritten", reason=error.strerror or error, path=page))
    return f"report: {page}"


def _end_interrupted(folder: Path, number: int) -> NoReturn:
    """Say that nothing is lost, and end as shells expect it."""
    ignore_signals()
    console.error(
        "interrupted; finished cells and checkpoints are kept; the same command resumes the run, and "
        f"`taskloom report {shlex.quote(str(folder))}` shows it so far"
    )
    raise typer.Exit(128 + number)


def _training(folder: Path) -> str:
    """Say how far the trainings of a run are that are under way."""
    from ..studies.artifacts import FOLDER
    from ..studies.training_notes import progressing

    return "; ".join(map(str, progressing(folder / FOLDER)))


def _note_stopping() -> None:
    sys.stderr.write(
        "finishing the current cell; press Ctrl-C again to stop at once\n"
    )  # above the bar, if there is one


def get_model(name: str, model: Source) -> None:
    """Fetch a model unless it is in the cache, and show the progress."""
    with console.progress(f"fetching model {name}", of_bytes=True) as progress:
        model.get(progress)


def report(
    run: RunFolder,
    *,
    to: ReportForm = "terminal",
    output: ReportFile = None,
    plots: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Write each plot to this folder as SVG.")] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=0, max=MOST, help="Show the trial with this --limit.")] = 0,
    metric: Annotated[list[str], typer.Option(metavar="METRIC", help="A metric, instead of the study's.")] = [],  # noqa: B006
) -> None:
    """Show the results of a run, or export them."""
    from ..reports import ITEMS, check_form, summarise
    from ..studies.api import inputs_of_run, open_run, trials_of

    check_form(to, output)
    if output:
        check_output(output, inputs_of_run(run))
    if plots:
        refuse_file(plots)
    gathered = open_run(run, limit=limit, metrics=metric)
    if to == ITEMS:
        show_items(gathered, output)
    if plots or to != ITEMS:
        show_report(summarise(gathered), to, output, plots)
    if not gathered.outcomes and (trials := [n for n in trials_of(run) if n != limit]):
        console.note(f"only trials have results; show one with --limit {' or '.join(map(str, trials))}")


def show_report(summary: Summary, to: str, output: Path | None, plots: Path | None) -> None:
    """Write a report, and its plots where a folder for them is named."""
    from ..reports import FORMS, TERMINAL, render
    from ..reports.plot_files import write_plots

    if plots:
        console.note(f"{plots}: {counted(len(write_plots(summary, plots)), 'plot')}")
    text = render(summary, to) if to in FORMS else ""
    if output and text:
        write_output(output, text)
        console.note(str(output))
    elif text:
        (sys.stdout.write if to == TERMINAL else console.write)(text if text.endswith("\n") else text + "\n")


def show_items(gathered: Results, output: Path | None) -> None:
    """Write a row for each answer, in the form of the file's ending, or CSV."""
    from ..reports.items import items_csv, write_items

    if output:
        console.note(f"{output}: {counted(write_items(gathered, output), 'row')}")
    else:
        console.write(items_csv(gathered))


def compare(
    a: Annotated[
        str,
        typer.Argument(
            metavar="A", help="A learner: its name in the run, or RUN:NAME.", autocompletion=complete.learners_of_run
        ),
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="Another learner.", autocompletion=complete.learners_of_run)],
    *,
    run: Annotated[Path | None, typer.Option(metavar="RUN", help="A run's folder, if runs/ has several.")] = None,
    limit: Annotated[
        int, typer.Option(metavar="N", min=0, max=MOST, help="Compare in the trial with this --limit.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Compare two learners on the same items, paired, with intervals."""
    from ..reports import compare as compared
    from ..studies.api import paired
    from . import listings_runs

    listings_runs.show_contrasts(compared(paired(a, b, run, limit=limit), a, b), as_json=as_json)


def merge(
    into: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder, or a ledger: results are added to it.")],
    others: Annotated[list[Path], typer.Argument(metavar="OTHER...", help="Runs or ledgers whose results are copied.")],
) -> None:
    """Copy the results of other runs into a run; duplicates are skipped."""
    from ..studies.api import merge_runs

    for other in others:
        found = merge_runs(into, other)
        console.line(f"{other}: {counted(found.new, 'new cell')}")
        if found.differ:
            console.note(f"{other}: {counted(found.differ, 'cell')} with other answers there; those of {into} are kept")
        if found.damaged:
            console.note(f"{other}: {counted(found.damaged, 'cell')} damaged there; skipped")


UNSUPPORTED = ("output-unsupported", "examples-needed")  # what a learner can't do


def note_skipped(found: Plan, *, briefly: bool = False) -> None:
    """Print what is skipped, and why; briefly, learners that do not support a task are counted in one line."""
    able = {note: n for note, n in found.skipped.items() if note.code in UNSUPPORTED}
    texts = {str(note): n for note, n in found.skipped.items() if not briefly or note not in able}
    for text, count in sorted(texts.items()):
        console.note(f"skipped: {text}" + (f" ({count:,} times)" if count > 1 else ""))
    if briefly and able:
        console.note(f"skipped {counted(sum(able.values()), 'unsupported learner-task pair')} (see: taskloom plan)")
    if briefly and len(found.dropped) > FEW_NOTES:
        tasks = {dict(note.values)["task"] for note in found.dropped}
        console.note(f"classes with too few examples dropped in {counted(len(tasks), 'task')} (see: taskloom plan)")
    else:
        for dropped in found.dropped:
            console.note(str(dropped))
    if note := found.suite.about.get("note"):
        console.note(str(note))
