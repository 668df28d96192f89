"""Readers of runs with trained models, of boards, and of suites as they are shown: all that is made of them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from taskloom.core import Suite
from taskloom.errors import TaskloomError
from taskloom.reports import FORMS, card, render, summarise
from taskloom.reports.challenge_board import board_page, board_rows, challenge_boards
from taskloom.reports.items import write_items
from taskloom.sources import task_files
from taskloom.studies import api
from taskloom.studies.asking import asking
from taskloom.studies.challenge import open_challenge
from taskloom.studies.challenge_export import export_predictions
from taskloom.studies.challenge_make import make_challenge
from taskloom.studies.challenge_score import score_challenge
from taskloom.studies.curves import curve_table
from taskloom.studies.export import trained_encoder
from taskloom.studies.kinds import KnownKinds
from taskloom.studies.ledger import Ledger
from taskloom.studies.prompting import show_prompt
from taskloom.studies.submissions import write_predictions
from taskloom.studies.transfer import TransferOptions, transfer_study
from taskloom.suites import instructions, store
from taskloom.suites.leaks import without_leaks
from taskloom.suites.verify import verify

from .mutate import Case
from .read_sources import TASK
from .read_suites import forged, labelled_suite, made_folder, refusing, suite_seeds, written_suite
from .reader import Reader, files_in, lasting_folder, written

STUDY = """
name: trained
suite: suite
tasks: [topic]
protocol: {seeds: 1, episodes: 2, shots: [0, 1], query: 2, per_class: true}
models: {tuned: {train: "fake:pupil", tasks: [other], steps: 2}}
learners: {nearest: {}, few: {in-context: {model: "fake:echo"}}, meta: {in-context: {model: tuned}}}
views: [gain, learning, episodes, calibration, values, efficiency]
"""


# --- runs ------------------------------------------------------------------------------------------------------------


@cache
def trained_folder() -> Path:
    """Make a suite of two tasks, a challenge, and a run that trains a model on one task, once."""
    folder = lasting_folder("trained")
    suite = labelled_suite()
    (task,), (pools,) = suite.tasks.values(), suite.pools.values()
    both = {"topic": task, "other": replace(task, id="other")}
    store.write(Suite(id="two", tasks=both, pools={"topic": pools, "other": pools}), folder / "suite")
    (folder / "study.yaml").write_text(STUDY)
    make_challenge(folder / "study.yaml", folder / "challenge")
    api.run(folder / "study.yaml", folder / "run")
    return folder


def _run_seeds() -> Sequence[Case]:
    found = files_in(trained_folder() / "run")
    return [{f"run/{name}": data for name, data in found.items() if name != "report.html" and "-" not in name}]


def _run(folder: Path) -> None:
    """Make of a run all that can be made of it; its suite is whole."""
    made, run = trained_folder(), folder / "run"
    with suppress(TaskloomError), Ledger(run / "ledger.db") as ledger:
        ledger.keep_about(suite_folder=str(made / "suite"), study_folder=str(made))
    refusing(
        lambda: write_items(api.open_run(run), folder / "items.parquet"),
        lambda: curve_table(api.open_run(run)),
        lambda: asking("tuned", "topic", run=run).answers([{"text": "paint"}]),
        lambda: list(map(str, show_prompt(run, "topic", learner="few").notes())),
        lambda: KnownKinds(api.prepare(run / "study.yaml", run)).kinds(),
        lambda: trained_encoder(run, "tuned"),
        lambda: list(export_predictions(open_challenge(made / "challenge"), run)),
    )


def _reported(folder: Path) -> None:
    """Write a run's report in each form."""
    made, run = trained_folder(), folder / "run"
    with suppress(TaskloomError), Ledger(run / "ledger.db") as ledger:
        ledger.keep_about(suite_folder=str(made / "suite"), study_folder=str(made))
    summary = summarise(api.open_run(run))
    for form in FORMS:
        render(summary, form).encode()


# --- boards ----------------------------------------------------------------------------------------------------------


def _board_seeds() -> Sequence[Case]:
    made = made_folder()
    with tempfile.TemporaryDirectory() as folder:
        for found in export_predictions(open_challenge(made / "challenge"), made / "run"):
            write_predictions(Path(folder) / f"{found.about.name}.json", found.answers, found.about)
        return [files_in(Path(folder))]


def _board(folder: Path) -> None:
    made = made_folder()
    given = [("", path) for path in sorted(folder.iterdir())]
    answers = made / "challenge-answers.jsonl"
    found = score_challenge(made / "challenge", answers, given, partial=True, protocol="meta-trained")
    boards = challenge_boards(found)
    list(board_rows(boards))
    board_page(found, boards).encode()


# --- suites ----------------------------------------------------------------------------------------------------------


def _instruction_suite() -> Suite:
    """Make a suite of task files, with what would not come back as it was."""
    odd = TASK | {"More": 1, "Instances": [{"id": "task1-1", "output": "y", "input": "x"}]}
    files = {f"tasks/task{n}_x.json": json.dumps(task).encode() for n, task in enumerate((odd, TASK), 1)}
    with tempfile.TemporaryDirectory() as folder:
        written(files, Path(folder))
        return instructions.suite(*task_files.read(Path(folder)), id="files")


def _shown_seeds() -> Sequence[Case]:
    return [*suite_seeds(), written_suite(_instruction_suite())]


def _shown(folder: Path) -> None:
    """Describe a suite that was forged, write its files again, and plan what is trained on it."""
    suite = forged(folder)
    refusing(
        lambda: card.page(card.sheet(suite)).encode(),
        lambda: verify(suite, folder, suite.tasks),
        lambda: instructions.write(suite, folder / "files"),
        lambda: without_leaks(suite),
        lambda: transfer_study(suite, folder, TransferOptions(model="fake:pupil")),
        *(partial(instructions.content_of, suite, name) for name in suite.tasks),
    )


READERS = {
    "runs used": Reader(_run_seeds, _run, tests=5, seconds=6),
    "runs reported": Reader(_run_seeds, _reported, tests=3, seconds=6),
    "boards": Reader(_board_seeds, _board, seconds=4),
    "suites shown": Reader(_shown_seeds, _shown),
}
