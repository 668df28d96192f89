"""What `plan --budget` does and shows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

from .. import console
from ..errors import UsageError
from ..folders import check_output
from ..messages import Note
from ..texts import counted, seconds_of, time_text
from .interrupts import ignore_signals

if TYPE_CHECKING:
    from ..reports.budget import Table
    from ..studies.api import Prepared
    from ..studies.budget import StudyBudget


def check_options(budget: str, limit: int, *, pilot: bool, plot: Path | None) -> None:
    """Refuse options that do not go together, before any work."""
    from ..reports.budget import check_plot_file

    if not budget and (pilot or plot):
        raise UsageError(Note.of("budget-missing", option="--pilot" if pilot else "--plot"))
    if budget and limit:
        raise UsageError(Note.of("budget-of-trial", limit=limit))
    if budget:
        seconds_of(budget)
    if plot:
        check_plot_file(plot)


def plan_budget(prepared: Prepared, budget: str, *, pilot: bool, plot: Path | None, as_json: bool) -> None:
    """Say what a budget is best spent on, by costs that are known or measured now."""
    from ..reports.budget import plot_files, write_plots
    from ..studies.budget import study_budget

    if plot:
        for path in plot_files(plot):
            check_output(path, prepared.inputs())
    if pilot:
        _run_pilot(prepared)
    found = study_budget(prepared, seconds_of(budget))
    show(found, as_json=as_json)
    for path in write_plots(found, plot) if plot else ():
        console.note(str(path))


def _run_pilot(prepared: Prepared) -> None:
    from ..studies.pilot import run_pilot
    from ..studies.run import StoppedAtOnce

    try:
        with console.progress(f"{prepared.plan.study.name}: pilot") as progress:
            done = run_pilot(prepared, progress=progress)
    except StoppedAtOnce as stopped:
        _end_interrupted(stopped.signal)
    console.note(f"pilot: {counted(done.ran, 'cell')} run; they count for the real run where `query` stays as it is")
    if done.interrupted:
        _end_interrupted(done.signal)


def _end_interrupted(number: int) -> NoReturn:
    """Say that nothing is lost, and end as shells expect it."""
    ignore_signals()
    console.error("interrupted; finished cells are kept; the same command goes on")
    raise typer.Exit(128 + number)


def show(found: StudyBudget, *, as_json: bool) -> None:
    """Show what is recommended, the other sizes there are, and what learners and tasks take."""
    from ..reports.budget import as_data, choices_table, detectable, recommended, shares_table

    if as_json:
        console.as_json(as_data(found))
        return
    console.note(f"{time_text(found.seconds)} with one worker: {recommended(found)}")
    if found.fixed:
        console.note(f"taken off: {time_text(found.training)} to train models, {time_text(found.loading)} to load them")
    console.note(detectable(found))
    console.note(f"put into the study:\n\n{found.lines}\n")
    tables: dict[str, Table] = {
        "sizes (in points; detectable: with a power of 80 %)": choices_table(found),
        "learners": shares_table("learner", found.learners),
        "tasks": shares_table("task", found.tasks),
    }
    for title, (columns, rows) in tables.items():
        console.table(columns, rows, title=title, figures=columns[1:-1])
    for note in found.notes:
        console.note(str(note))
