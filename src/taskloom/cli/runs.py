"""The verbs of studies: plan, run, report, compare, ledger."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import console
from ..texts import counted
from . import shell_completion as complete

if TYPE_CHECKING:
    from ..messages import Note
    from ..models.load import Source
    from ..studies.api import Prepared
    from ..studies.cells import Cell
    from ..studies.plan import Plan
    from ..studies.results import Results

REPORT = "report.html"


StudyName = Annotated[
    str, typer.Argument(metavar="STUDY", help="A study's file, or its name.", autocompletion=complete.studies)
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Only = Annotated[
    list[str],
    typer.Option(
        help="A task or a learner, or a pattern of them; say it again for more.",
        autocompletion=complete.parts_of_study,
    ),
]
Limit = Annotated[int, typer.Option(min=0, help="Ask about so few items only: a trial, kept apart from the real run.")]
OnSuite = Annotated[
    Path | None, typer.Option("--suite", help="A suite's folder, in the place of the one that the study names.")
]
OnModel = Annotated[
    str,
    typer.Option(
        "--model",
        help="A model in the place of the study's: a short name, hf:ORG/NAME, path:FOLDER ...",
        autocompletion=complete.models,
    ),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="The run's folder, if not runs/NAME, or runs/NAME-SUITE-MODEL.")
]


def plan(
    study: StudyName,
    *,
    output: Output = None,
    suite: OnSuite = None,
    model: OnModel = "",
    only: Only = [],  # noqa: B006
    limit: Limit = 0,
    as_json: AsJson = False,
) -> None:
    """Name the cells of a study, and every fault, before any work; estimate the time from what was measured."""
    from ..studies.api import Overrides, prepare

    prepared = prepare(study, output, overrides=Overrides.of(suite, model), only=only, limit=limit)
    found, ahead = prepared.plan, prepared.forecast()
    told: dict[str, console.Value] = {
        "study": found.study.name,
        "run": str(prepared.folder),
        "suite": found.suite.fingerprint,
        "cells": ahead.cells,
        "done": ahead.cells - ahead.left,
        "to run": ahead.left,
        "seconds": ahead.seconds,
    }
    if as_json:
        console.as_json({**told, "cells": [_row(cell) for cell in found.to_run], "skipped": _noted(found.skipped)})
        return
    known = f"not known before a run or a trial (`{_trial(prepared, only)}`)"
    console.pairs({**told, "seconds": known if ahead.seconds is None else f"about {ahead.seconds:,.1f}, by one worker"})
    _tell_skipped(found)


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
    model: OnModel = "",
    only: Only = [],  # noqa: B006
    limit: Limit = 0,
    workers: Annotated[int, typer.Option("--workers", "-w", min=1, help="Processes that share the cores.")] = 1,
) -> None:
    """Run what is missing of a study, and write its report; the same command goes on where it was stopped."""
    from ..reports import render, summarise
    from ..studies.api import Overrides, prepare

    prepared = prepare(study, output, overrides=Overrides.of(suite, model), only=only, limit=limit, get=_get_model)
    found, folder = prepared.plan, prepared.folder
    _tell_skipped(found, briefly=True)
    if prepared.is_changed:
        console.note(f"not the study that was run last in {folder}: cells of that one stay in the ledger, unseen")
    with console.progress(found.study.name) as progress:
        done, gathered = prepared.run(workers=workers, progress=progress, stopping=_tell_stopping)
    if done.damaged:
        shown = ", ".join(done.damaged[:5]) + (f" and {len(done.damaged) - 5:,} more" if len(done.damaged) > 5 else "")
        console.note(f"damaged in the ledger, and run again: {counted(len(done.damaged), 'cell')}, {shown}")
    console.note(f"{counted(done.ran, 'cell')} run, {counted(done.failed, 'failure')}, {len(found.to_run):,} in all")
    if gathered.outcomes or gathered.failures:
        summary = summarise(gathered)
        sys.stdout.write(render(summary, "terminal"))
        page = folder / (f"trial-{limit}.html" if limit else REPORT)
        page.write_text(render(summary, "html"), encoding="utf-8")
        console.note(f"report: {page}")
    for name, reason in done.waiting.items():
        console.note(f"{name} stopped: {reason}")
    if done.interrupted:
        console.error("interrupted; what was finished is kept, and the same command goes on")
        raise typer.Exit(130)
    if gathered.failures:
        news = (f for f in gathered.failures if f.learner not in done.waiting)
        causes = Counter(f"{f.learner}: {f.traceback.strip().splitlines()[-1]}" for f in news)
        for cause, count in causes.most_common(5):
            console.note(f"{cause} ({counted(count, 'cell')})")
        console.error(
            f"{counted(len(gathered.failures), 'cell')} failed; the report has the tracebacks; run again to retry"
        )
        raise typer.Exit(1)


def _tell_stopping() -> None:
    sys.stderr.write(
        "finishing the cell at hand; press Ctrl-C again to stop at once\n"
    )  # above the bar, if there is one


def _get_model(name: str, model: Source) -> None:
    """Fetch a model unless it is here, and show how far that is."""
    with console.progress(f"making model {name} ready", of_bytes=True) as progress:
        model.get(progress)


def report(
    run: RunFolder,
    *,
    to: Annotated[
        str, typer.Option(help="terminal, md, csv, tex, json, html, or items.", autocompletion=complete.forms)
    ] = "terminal",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A file, instead of standard output.")] = None,
    plots: Annotated[Path | None, typer.Option(metavar="DIR", help="Write each plot to this folder as SVG.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="Show the trial that asked about so many items.")] = 0,
) -> None:
    """Show what a run has found so far."""
    from ..reports import ITEMS, render, summarise
    from ..studies.api import open_run

    gathered = open_run(run, limit=limit)
    if to == ITEMS:
        _write_items(gathered, output)
        return
    summary = summarise(gathered)
    text = render(summary, to)
    if plots:
        from ..reports.plot_files import write_plots

        console.note(f"{plots}: {counted(len(write_plots(summary, plots)), 'plot')}")
    if output:
        output.write_text(text, encoding="utf-8")
        console.note(str(output))
    else:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
    if not gathered.outcomes and (trials := sorted(run.glob("trial-*.html"))):
        sizes = [trial.stem.removeprefix("trial-") for trial in trials]
        console.note(f"only trials were run, which are kept apart: show one with --limit {' or '.join(sizes)}")


def _write_items(gathered: Results, output: Path | None) -> None:
    """Write a row for each answer, in the form of the file's ending, or CSV."""
    from ..reports.items import items_csv, write_items

    if output:
        console.note(f"{output}: {counted(write_items(gathered, output), 'row')}")
    else:
        sys.stdout.write(items_csv(gathered))


def score(
    suite: Annotated[Path, typer.Argument(metavar="SUITE", help="A suite's folder.")],
    predictions: Annotated[Path, typer.Argument(help="JSON lines: {item, answer}, {id, prediction} or Tk-Instruct's.")],
    *,
    metric: Annotated[list[str], typer.Option(help="A metric instead of the tasks' own; say it again for more.")] = [],  # noqa: B006
    as_json: AsJson = False,
) -> None:
    """Score predictions that were made elsewhere: over instances, tasks and categories, with intervals."""
    from ..reports.predictions import score_predictions
    from ..scores.predictions import read
    from ..suites.store import open_suite
    from . import listings_runs

    listings_runs.show_scored(score_predictions(open_suite(suite), read(predictions), metric), as_json=as_json)


def compare(
    a: Annotated[
        str,
        typer.Argument(help="A learner: its name in the run, or RUN:NAME.", autocompletion=complete.learners_of_run),
    ],
    b: Annotated[str, typer.Argument(help="Another one.", autocompletion=complete.learners_of_run)],
    *,
    run: Annotated[Path | None, typer.Option(help="The run's folder; needed where runs/ has several.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare two learners on the same items, task by task and overall: a - b, with intervals."""
    from ..reports import compare as compared
    from ..studies.api import paired
    from . import listings_runs

    listings_runs.show_contrasts(compared(paired(a, b, run), a, b), as_json=as_json)


def merge(
    into: Annotated[Path, typer.Argument(help="The run's folder or ledger that takes over.")],
    others: Annotated[list[Path], typer.Argument(metavar="FROM...", help="Those that it takes from.")],
) -> None:
    """Take over what other ledgers have finished; nothing is counted twice."""
    from ..studies.api import merge_runs

    for other in others:
        found = merge_runs(into, other)
        console.line(f"{other}: {counted(found.new, 'new cell')}")
        if found.differ:
            console.note(f"{other}: {counted(found.differ, 'cell')} gave other answers there; ours are kept")
        if found.damaged:
            console.note(f"{other}: {counted(found.damaged, 'cell')} damaged there and not taken over")


UNSUPPORTED = ("output-unsupported", "examples-needed")  # codes that say what a learner can't do


def _tell_skipped(found: Plan, *, briefly: bool = False) -> None:
    """Say what is not run, and why; that learners can't do all tasks is no news, and told in a line."""
    able = {note: n for note, n in found.skipped.items() if note.code in UNSUPPORTED}
    told = {str(note): n for note, n in found.skipped.items() if not briefly or note not in able}
    for text, count in sorted(told.items()):
        console.note(f"skipped: {text}" + (f" ({count:,} times)" if count > 1 else ""))
    if briefly and able:
        console.note(f"skipped {counted(sum(able.values()), 'unsupported learner-task pair')} (see: taskloom plan)")
    if note := found.suite.about.get("note"):
        console.note(str(note))
