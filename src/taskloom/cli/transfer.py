"""The verb of maps: transfer, which measures what each meta task adds on each target."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import console
from ..messages import Note
from . import shell_completion as complete
from .arguments import MOST, MOST_STEPS, SuiteFolder
from .runs import Limit, OnCluster, Workers, carry_out, get_model, note_changed, note_skipped


def transfer(
    suite: SuiteFolder,
    *,
    targets: Annotated[
        list[str],
        typer.Option(
            metavar="TASK",
            help="A target, or those that match a pattern; else tasks with the role test, or all.",
            autocompletion=complete.tasks,
        ),
    ] = [],  # noqa: B006
    meta: Annotated[
        list[str],
        typer.Option(
            metavar="TASK",
            help="A meta task, or those that match a pattern; else tasks with the role train, or all.",
            autocompletion=complete.tasks,
        ),
    ] = [],  # noqa: B006
    by: Annotated[
        str,
        typer.Option(
            metavar="TAG",
            help="Train on groups of tasks that share a tag, such as category.",
            autocompletion=complete.tags,
        ),
    ] = "",
    model: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="The model to start from, if not a nano model that is pre-trained on the inputs of the tasks.",
            autocompletion=complete.models,
        ),
    ] = "",
    what: Annotated[
        str,
        typer.Option(
            metavar="WHAT",
            help="What is trained: all, lora, prompt or adapters.",
            autocompletion=complete.trained_parts,
        ),
    ] = "all",
    lr: Annotated[
        float | None, typer.Option(metavar="RATE", min=0, max=MOST, help="The learning rate, if not the usual one.")
    ] = None,
    shots: Annotated[
        int, typer.Option(metavar="N", min=0, max=MOST, help="Examples of a target, or of each of its labels.")
    ] = 4,
    seeds: Annotated[int, typer.Option(metavar="N", min=1, max=1000, help="The number of seeds.")] = 3,
    steps: Annotated[
        int, typer.Option(metavar="N", min=1, max=MOST_STEPS, help="Steps of training on a meta task.")
    ] = 150,
    tuning: Annotated[
        int, typer.Option(metavar="N", min=1, max=MOST_STEPS, help="Steps of training on the shots of a target.")
    ] = 30,
    pretraining: Annotated[
        int, typer.Option(metavar="N", min=0, max=MOST_STEPS, help="Steps of pre-training, where no model is named.")
    ] = 1500,
    query: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, max=MOST, help="Items of a target that are asked about; at most 32 by default."
        ),
    ] = 0,
    budget: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, max=MOST_STEPS, help="Steps of training in all; what does not fit is dropped."
        ),
    ] = 10_000,
    choose: Annotated[
        int, typer.Option(metavar="K", min=0, max=MOST, help="How many meta tasks to choose for a target.")
    ] = 2,
    measure: Annotated[
        bool, typer.Option("--measure", help="Train on what is chosen, and on as many at random, and measure both.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="RUN", help="The run's folder, if not runs/transfer-SUITE.")
    ] = None,
    limit: Limit = 0,
    workers: Workers = None,
    on: OnCluster = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the study and what fits the budget; run nothing.")
    ] = False,
) -> None:
    """Map what training on each task adds on each other task."""
    from ..reports.transfer_runs import with_chosen
    from ..studies.api import open_run, prepare
    from ..studies.overrides import Overrides
    from ..studies.transfer import TransferOptions, transfer_study
    from ..studies.yaml_writer import written
    from ..suites.store import open_suite

    how = TransferOptions(
        targets=tuple(targets), meta=tuple(meta), by=by, model=Overrides.of(None, model).model, what=what,  # type: ignore[arg-type]
        lr=lr,
        shots=shots, seeds=seeds, query=query, training=steps, tuning=tuning, pretraining=pretraining, budget=budget,
        choose=choose, measure=measure,
    )  # fmt: skip
    study, fitted = transfer_study(open_suite(suite), suite, how)
    for note in fitted.notes:
        console.note(str(note))
    if dry_run:
        console.write(written(study))
        return
    prepared = prepare(study, output, limit=limit, get=get_model)
    note_skipped(prepared.plan, briefly=True)
    if prepared.left() or not measure:  # what is chosen is run already, where all that it is chosen by is
        note_changed(prepared)
        carry_out(prepared, workers, on)
    if measure:
        found = open_run(prepared.folder, limit=limit)
        if chosen := with_chosen(study, found):
            carry_out(prepare(chosen, prepared.folder, limit=limit, get=get_model), workers, on)
        else:
            console.note(str(Note.of("transfer-unchosen", count=choose)))
