"""The verbs of studies: plan, run, report, compare, ledger."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import console
from ..errors import UsageError
from ..texts import counted
from . import shell_completion as complete

if TYPE_CHECKING:
    from ..models.load import Source
    from ..studies.api import Prepared
    from ..studies.plan import Plan
    from ..studies.results import Outcome, Results

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
    from ..studies.api import LEDGER, Overrides, prepare
    from ..studies.estimate import Spent, expected_seconds
    from ..studies.ledger import Ledger

    prepared = prepare(study, output, overrides=Overrides.of(suite, model), only=only, limit=limit)
    found, folder = prepared.plan, prepared.folder
    states, spent = {}, []
    if (folder / LEDGER).is_file():
        with Ledger(folder / LEDGER) as ledger:
            states, spent = ledger.states(), [Spent(*cost) for cost in ledger.costs()]
    cells = {cell.id: cell for cell in reversed(found.cells)}  # equal learners share theirs
    waiting = [cell for cell in cells.values() if states.get(cell.id) != "done"]
    seconds = expected_seconds(waiting, spent, _items(found))
    told = {
        "study": found.study.name,
        "run": str(folder),
        "suite": found.suite.fingerprint,
        "cells": len(cells),
        "done": len(cells) - len(waiting),
        "to run": len(waiting),
        "seconds": seconds,
        "left_out": dict(found.left_out),
    }
    if as_json:
        rows = [
            {"id": c.id, "task": c.task, "learner": c.learner, "shots": c.shots, "seed": c.seed} for c in found.cells
        ]
        console.as_json(told | {"cells": rows})
        return
    known = f"not known before a run or a trial (`{_trial(prepared, only)}`)"
    shown = {**told, "seconds": known if seconds is None else f"about {seconds:,.1f}, by one worker"}
    del shown["left_out"]
    console.pairs(shown)  # type: ignore[arg-type]
    _tell_left_out(found)


def _items(found: Plan) -> int:
    """Give the number of items that a cell asks about; 0 where that is all there are."""
    query = found.study.protocol.sampler.query
    return query if isinstance(query, int) else 0


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
    from ..studies.api import Overrides, known_models, prepare
    from ..studies.outcomes import results
    from ..studies.plan import plan as make_plan
    from ..studies.run import run as run_cells

    prepared = prepare(study, output, overrides=Overrides.of(suite, model), only=only, limit=limit, get=_get_model)
    found, folder = prepared.plan, prepared.folder
    _tell_left_out(found, briefly=True)
    if prepared.is_changed:
        console.note(f"not the study that was run last in {folder}: cells of that one stay in the ledger, unseen")
    with prepared.opened() as ledger:
        with console.progress(found.study.name) as progress:
            done = run_cells(found, ledger, workers=workers, progress=progress, stopping=_tell_stopping)
        whole = make_plan(found.study, folder, limit=limit, known=known_models(ledger)) if only else found
        gathered = results(whole, ledger, prepared.again(limit))
    cells = len({cell.id for cell in found.cells})
    console.note(f"{counted(done.ran, 'cell')} run, {counted(done.failed, 'failure')}, {cells:,} in all")
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
        reasons = Counter(f"{f.learner}: {f.traceback.strip().splitlines()[-1]}" for f in news)
        for reason, count in reasons.most_common(5):
            console.note(f"{reason} ({counted(count, 'cell')})")
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
        str, typer.Option(help="terminal, md, csv, tex, json or html.", autocompletion=complete.forms)
    ] = "terminal",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A file, overrides of standard output.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="Show the trial that asked about so many items.")] = 0,
) -> None:
    """Show what a run has found so far."""
    from ..reports import render
    from ..studies.api import gather

    gathered = gather(run, limit=limit)
    text = render(gathered, to)
    if output:
        output.write_text(text, encoding="utf-8")
        console.note(str(output))
    else:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
    if not gathered.outcomes and (trials := sorted(run.glob("trial-*.html"))):
        sizes = [trial.stem.removeprefix("trial-") for trial in trials]
        console.note(f"only trials were run, which are kept apart: show one with --limit {' or '.join(sizes)}")


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
    from . import listings_runs

    listings_runs.show_contrasts(compared(_pair(a, b, run), a, b), as_json=as_json)


def _pair(a: str, b: str, run: Path | None) -> Results:
    """Gather two learners, of one run or of two, under the names that they were asked for by."""
    from ..errors import UnknownNameError
    from ..studies.api import gather, only_run

    if a == b:
        raise UsageError(f"a learner does not differ from itself: {a!r}")
    gathered: dict[Path, Results] = {}
    outcomes: list[Outcome] = []
    for name in (a, b):
        place, _, learner = name.rpartition(":")
        folder = Path(place) if place else run or only_run()
        if folder not in gathered:
            gathered[folder] = gather(folder)
        found = gathered[folder]
        if learner not in found.learners:
            raise UnknownNameError(f"learner of {folder}", learner, found.learners)
        outcomes += [replace(outcome, learner=name) for outcome in found.outcomes if outcome.learner == learner]
    first, *others = gathered.values()
    for other in others:
        shared = [task for task in first.suite.tasks if task in other.suite.tasks]
        if not shared or any(first.suite.digest(task) != other.suite.digest(task) for task in shared):
            raise UsageError("the two runs are of different tasks, and can't be paired")
        outcomes = [outcome for outcome in outcomes if outcome.task in shared]
    return replace(first, outcomes=tuple(outcomes), learners={a: a, b: b}, floors=(), failures=())


def merge(
    into: Annotated[Path, typer.Argument(help="The run's folder or ledger that takes over.")],
    others: Annotated[list[Path], typer.Argument(metavar="FROM...", help="Those that it takes from.")],
) -> None:
    """Take over what other ledgers have finished; nothing is counted twice."""
    from ..studies.ledger import Ledger

    with Ledger(_ledger(into)) as ledger:
        for other in others:
            if not _ledger(other).is_file():
                raise UsageError(f"no such ledger: {other}")
            new, differ = ledger.merge(_ledger(other))
            console.line(f"{other}: {counted(new, 'new cell')}")
            if differ:
                console.note(f"{other}: {counted(differ, 'cell')} gave other answers there; ours are kept")


def _ledger(path: Path) -> Path:
    """Give the ledger of a run's folder, or the ledger that was named."""
    from ..studies.api import LEDGER

    return path if path.suffix == ".db" else path / LEDGER


def _tell_left_out(found: Plan, *, briefly: bool = False) -> None:
    """Say what is not run, and why; that learners can't do all tasks is no news, and told in a line."""
    able = {reason: n for reason, n in found.left_out.items() if reason.startswith("learner ")}
    told = {reason: n for reason, n in found.left_out.items() if not briefly or reason not in able}
    for reason, count in sorted(told.items()):
        console.note(f"left out: {reason}" + (f" ({count:,} times)" if count > 1 else ""))
    if briefly and able:
        times = counted(sum(able.values()), "pair")
        console.note(f"left out: {times} of a learner and a task that it can't do; `taskloom plan` tells which")
    if note := found.suite.about.get("note"):
        console.note(str(note))
