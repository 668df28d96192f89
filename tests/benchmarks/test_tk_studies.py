"""The studies of Tk-Instruct: each is planned and tried with a fake that can be trained."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from taskloom import benchmarks
from taskloom.models.trained import Trained
from taskloom.reports import How, render
from taskloom.reports.summary import summarise
from taskloom.studies.api import prepare
from taskloom.studies.overrides import Overrides
from taskloom.studies.plan import plan
from taskloom.studies.results import Results
from taskloom.studies.study import load, names
from taskloom.suites import store

STUDIES = [name for name in names() if name.startswith("tk-")]
FROM_SCRATCH = "tk-scaling-size"
PUPIL = Overrides(model="fake:pupil")


def tried(study: str, folder: Path, only: tuple[str, ...] = ()) -> Results:
    done, found = prepare(study, folder / study, overrides=PUPIL, limit=2, only=only).run()
    assert not done.failed
    return found


def test_every_study_of_the_paper_is_there():
    assert STUDIES == [
        "tk-demo", "tk-encodings", "tk-examples", "tk-instruct", "tk-instruct-xlingual", "tk-scaling-instances",
        "tk-scaling-size", "tk-scaling-tasks",
    ]  # fmt: skip


@pytest.mark.parametrize("study", STUDIES)
def test_a_study_can_be_planned_on_our_own_tasks(study: str, tmp_path: Path):
    written = load(study)[0]
    made = plan(written if study == FROM_SCRATCH else PUPIL.in_place(written), tmp_path)
    trained = {name for name, of in made.models.items() if isinstance(of, Trained)}
    cells = {cell.learner for cell in made.cells if cell.kind == "train"}
    assert cells
    assert cells <= trained
    assert {note.code for note in made.skipped} <= {"sample-too-large"}
    taught = {note.code for note in made.taught}
    assert taught == {"taught-certified"} | ({"taught-asked"} if "tk-instruct" in study else set())


def test_the_demo_compares_trained_and_untrained_and_shows_the_certificate(tmp_path: Path):
    found = tried("tk-demo", tmp_path)
    summary = summarise(found, How(count=50))
    pairs = {(pair.a, pair.b) for board in summary.leaderboards for pair in board.pairs}
    assert pairs & {("trained", "untrained"), ("untrained", "trained")}
    for form in ("terminal", "md", "html"):
        text = render(summary, form)
        assert "no leak was found" in text
        assert "leakage certificate, default: none dropped; 16 training tasks" in text


def test_encodings_are_a_matrix_of_trained_and_tested_above_the_published_one(tmp_path: Path):
    found = tried("tk-encodings", tmp_path, only=("def on def", "def on pos2", "untrained on def"))
    matrix, *_ = summarise(found, How(count=50)).figures
    assert matrix.columns == ("training encoding", "def", "pos2")
    assert [row[0] for row in matrix.rows[:3]] == ["def", "untrained", "trained on id, published"]
    assert matrix.rows[3] == ("trained on def, published", 45.0, 36.4)


def test_scores_over_training_tasks_are_one_series_with_a_trend(tmp_path: Path):
    (scaling,) = summarise(tried("tk-scaling-tasks", tmp_path), How(count=50)).figures
    ours, untrained, theirs = scaling.rows
    assert scaling.columns[1:7] == ("0", "1", "2", "4", "8", "16")
    assert None not in ours[2:7]
    assert untrained[2:] == (None,) * (len(untrained) - 2)
    assert (ours[0], untrained[0], theirs[0]) == ("trained", "untrained", "Tk-Instruct 3B, published")
    assert sum("for each doubling of 1 + x" in note for note in scaling.notes) == 2


def test_numbers_of_instances_that_tasks_do_not_have_are_shown_once(tmp_path: Path):
    done, found = prepare("tk-scaling-instances", tmp_path / "run", overrides=PUPIL).run()
    assert not done.failed
    (scaling,) = summarise(replace(found, skipped={}), How(count=20)).figures
    assert sum("is not drawn: its cells are those of 64" in note for note in scaling.notes) == 3


def test_the_real_tasks_are_planned_too_without_an_upper_bound(real_data: Path, tmp_path: Path):
    store.write(benchmarks.build("natural-instructions", str(real_data / "superni")), tmp_path / "superni")
    made = plan(
        Overrides(suite=str(tmp_path / "superni"), model="fake:pupil").in_place(load("tk-instruct")[0]), tmp_path
    )
    assert {note.code for note in made.skipped} == {"all-are-scored"}
    assert {(note.code, dict(note.values)["tasks"]) for note in made.taught} == {("taught-certified", 21)}
    assert len({cell.task for cell in made.cells}) == 63
