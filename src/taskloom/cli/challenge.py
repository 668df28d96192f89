"""The verbs of challenges: make, validate, merge, score, board, export."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import console
from ..folders import check_output, refuse_file, write_output
from ..texts import counted
from . import shell_completion as complete
from .arguments import AsJson, ReportFile, ReportForm, RunFolder, StudyName
from .runs import From, OnSuite

if TYPE_CHECKING:
    from ..studies.submissions import Checked

ChallengeFolder = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="A challenge's folder.", autocompletion=complete.challenges)
]
Answers = Annotated[Path, typer.Option(metavar="FILE", help="The gold answers, which `challenge make` wrote apart.")]
Force = Annotated[bool, typer.Option("--force", help="Replace what exists.")]
Partial = Annotated[bool, typer.Option("--partial", help="Score files that do not answer all questions.")]
SaidProtocol = Annotated[
    str,
    typer.Option(
        metavar="PROTOCOL",
        help="The protocol of what does not say its own: pretraining-only or meta-trained.",
        autocompletion=complete.protocols,
    ),
]


def make(
    study: StudyName,
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="The participant's folder to write.")
    ],
    answers: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write the gold answers, if not FOLDER-answers.jsonl.")
    ] = None,
    suite: OnSuite = None,
    source: From = "",
    force: Force = False,
) -> None:
    """Freeze the episodes of a study, to be answered by any program."""
    from ..studies.challenge_make import make_challenge
    from ..studies.overrides import Overrides

    made = make_challenge(study, output, answers=answers, overrides=Overrides.of(suite, source=source), replace=force)
    for note in made.notes:
        console.note(str(note))
    console.note(f"{made.answers}: keep it; participants must not have it")
    found = made.challenge
    sizes = f"{counted(len(found), 'episode')}, {counted(found.questions, 'question')}"
    console.line(f"{output}: {counted(len(found.tasks), 'task')}, {sizes}, hash {found.hash}")


def validate(
    challenge: ChallengeFolder,
    predictions: Annotated[Path, typer.Argument(metavar="FILE", help="A file of predictions.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Check that predictions answer every question with a label of its episode."""
    from ..studies.challenge import open_challenge
    from ..studies.submissions import check, read_predictions

    opened = open_challenge(challenge)
    checked = check(opened.rows(), read_predictions(predictions))
    if as_json:
        console.as_json(_checked_json(checked))
    else:
        names = {"questions": "questions", "answered": "answered", "without_label": "null", "scored": "with a score"}
        console.table(["what", "count"], [(text, getattr(checked, name)) for name, text in names.items()])
        for note in checked.notes:
            console.error(str(note))
    if checked.faults:
        raise typer.Exit(1)


def _checked_json(checked: Checked) -> dict[str, object]:
    notes = [note.to_json() | {"text": str(note)} for note in checked.notes]
    return {**asdict(checked), "faults": notes}


def merge(
    predictions: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files with parts of the predictions.")],
    *,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write.")],
    force: Force = False,
) -> None:
    """Join predictions for parts of a challenge."""
    from ..studies.submissions import merged, read_predictions, refuse_to_clobber, write_predictions

    refuse_to_clobber(output, predictions, replace=force)
    answers, about = merged([read_predictions(path) for path in predictions])
    write_predictions(output, answers, about, replace=force)
    console.line(f"{output}: {counted(len(answers), 'answer')}")


def score(
    challenge: ChallengeFolder,
    predictions: Annotated[
        list[str], typer.Argument(metavar="[NAME=]FILE...", help="Files of predictions, with names for them.")
    ],
    *,
    answers: Answers,
    partial: Partial = False,
    to: ReportForm = "terminal",
    output: ReportFile = None,
) -> None:
    """Score predictions, with the report of a run."""
    from ..reports import ITEMS, check_form, summarise
    from ..studies.challenge_score import score_challenge
    from .runs import show_items, show_report

    check_form(to, output)
    named = _named(predictions)
    if output:
        check_output(output, [challenge, answers, *(path for _, path in named)])
    found = score_challenge(challenge, answers, named, partial=partial)
    if to == ITEMS:
        show_items(found, output)
    else:
        show_report(summarise(found), to, output, None)


def _named(texts: list[str]) -> list[tuple[str, Path]]:
    """Split NAME=FILE, but for a file whose own name has such a sign."""
    parts = [("", "", text) if Path(text).is_file() else text.partition("=") for text in texts]
    return [(name, Path(path)) if path else ("", Path(name)) for name, _, path in parts]


def board(
    challenge: ChallengeFolder,
    predictions: Annotated[list[str], typer.Argument(metavar="[NAME=]FILE...", help="Submitted files of predictions.")],
    *,
    answers: Answers,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The HTML page to write.")
    ] = None,
    protocol: SaidProtocol = "",
    partial: Partial = False,
    as_json: AsJson = False,
) -> None:
    """Rank submissions, protocol by protocol, and write the board as a page."""
    from ..reports.challenge_board import COLUMNS, board_page, board_rows, challenge_boards
    from ..studies.challenge_score import score_challenge
    from ..studies.submissions import check_protocol

    said, named = check_protocol(protocol), _named(predictions)
    if output:
        check_output(output, [challenge, answers, *(path for _, path in named)])
    found = score_challenge(challenge, answers, named, partial=partial, protocol=said)
    boards = challenge_boards(found)
    rows = list(board_rows(boards))
    if output:
        write_output(output, board_page(found, boards))
        console.note(f"board: {output}")
    if as_json:
        console.as_json(rows)
    else:
        console.table(COLUMNS, [[row[name] for name in COLUMNS] for row in rows])


def export(
    challenge: ChallengeFolder,
    run: RunFolder,
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="The folder to write a file for each learner to.")
    ],
    learner: Annotated[
        list[str],
        typer.Option(metavar="LEARNER", help="A learner; default: all.", autocompletion=complete.learners_of_run),
    ] = [],  # noqa: B006
    protocol: SaidProtocol = "",
    force: Force = False,
) -> None:
    """Write the answers of a run as predictions, to place its learners on the board."""
    from ..studies.api import inputs_of_run
    from ..studies.challenge import open_challenge
    from ..studies.challenge_export import export_predictions, files_named, write_exported
    from ..studies.submissions import check_protocol, refuse_to_clobber

    said, inputs = check_protocol(protocol), [challenge, *inputs_of_run(run)]
    refuse_file(output)
    opened = open_challenge(challenge)
    exported = files_named(export_predictions(opened, run, learner, protocol=said))
    for name in exported:
        refuse_to_clobber(output / name, inputs, replace=force)
    write_exported(exported, output)
    for name, found in exported.items():
        path = output / name
        if found.outside:
            console.note(f"{path}: {counted(found.outside, 'answer')} to other episodes left out")
        of = "" if len(found.answers) == opened.questions else f" of {opened.questions:,}"
        console.line(f"{path}: {counted(len(found.answers), 'answer')}{of}")
