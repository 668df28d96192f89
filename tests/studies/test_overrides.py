"""A study on another suite, or with another model, than it names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import taskloom as package
from taskloom.errors import StudyError, UsageError
from taskloom.reports.views.gain import Gain
from taskloom.studies.api import open_run
from taskloom.studies.overrides import Overrides
from taskloom.studies.study import load, parse


def test_a_named_study_runs_on_another_suite_in_a_folder_of_its_own(
    tmp_path: Path, taskloom: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    taskloom("build", "natural-instructions", "-o", "suites/mine")
    planned = taskloom("plan", "natural-instructions", "--suite", "suites/mine", "--only", "copy-*")
    assert "runs/natural-instructions-mine" in planned.out
    done = taskloom("run", "natural-instructions", "--suite", "suites/mine", "--only", "copy-*")
    assert done.code == 0, done.err
    assert "Beside published figures" in done.out
    assert not Path("runs/natural-instructions-mine/suite").exists()
    report = taskloom("report", "runs/natural-instructions-mine", "--to", "md")
    assert "Beside published figures" in report.out
    assert f"--suite {tmp_path / 'suites/mine'}" in report.out.replace("\\", "")
    missing = taskloom("run", "natural-instructions", "--suite", "nowhere")
    assert missing.code != 0
    assert "nowhere" in missing.err


def test_a_named_study_runs_with_another_model_in_a_folder_of_its_own(
    tmp_path: Path, taskloom: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    done = taskloom(
        "run", "natural-instructions", "--model", "fake:echo", "--only", "definition+2", "--only", "task9007*"
    )
    assert done.code == 0, done.err
    found = open_run(tmp_path / "runs" / "natural-instructions-echo")
    assert found.settings["definition+2"]["model"] == "fake:echo"
    assert found.command.endswith("--model fake:echo")
    assert taskloom("run", "natural-instructions", "--model", "fake:ecko").code != 0


def test_a_learner_that_is_named_after_its_model_is_renamed():
    study = Overrides(model="fake:echo").in_place(load("quickstart")[0])
    assert "smollm2" not in study.learners
    assert study.learners["fake:echo"].options["model"] == "fake:echo"
    assert study.learners["nearest"] == load("quickstart")[0].learners["nearest"]


def test_a_study_without_models_takes_none():
    with pytest.raises(StudyError, match="no learner of the study needs a model: 'smollm2'"):
        Overrides(model="smollm2").in_place(parse("name: a\nsuite: x\nlearners: {nearest: {}}"))


@pytest.mark.parametrize(
    ("suite", "model", "folder", "options"),
    [
        ("", "", "s", ""),
        ("/suites/mine", "", "s-mine", " --suite /suites/mine"),
        ("", "hf:org/name@main", "s-org-name-main", " --model hf:org/name@main"),
        ("/a b/c", "path:/models/d e", "s-c-d-e", " --suite '/a b/c' --model 'path:/models/d e'"),
        ("", "smollm2", "s-smollm2", " --model smollm2"),
    ],
)
def test_a_run_has_a_folder_by_what_was_changed(suite: str, model: str, folder: str, options: str):
    made = Overrides.of(suite, model)
    assert (made.folder("s"), made.options()) == (folder, options)


def test_paths_mean_the_same_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    made = package.Overrides.of("mine", "path:models/mine")
    assert made == Overrides(suite=str(tmp_path / "mine"), model=f"path:{tmp_path / 'models/mine'}")


def test_a_run_goes_on_with_what_it_was_made_with_and_is_not_mixed(
    tmp_path: Path, taskloom: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    taskloom("build", "natural-instructions", "-o", "mine")
    taskloom("build", "natural-instructions", "-o", "other")
    run = ("natural-instructions", "-o", "run", "--only", "copy-*")
    assert taskloom("run", *run, "--suite", "mine").code == 0
    before = open_run(tmp_path / "run").command
    refused = taskloom("run", *run, "--suite", "other")
    assert refused.code == 2
    assert f"the run was made with --suite {tmp_path / 'mine'}" in refused.err
    on = taskloom("run", "run/study.yaml", "-o", "run", "--only", "copy-*")
    assert (on.code, "0 cells run" in on.err) == (0, True)
    assert open_run(tmp_path / "run").command == before


def test_a_plan_leaves_no_trace(tmp_path: Path, taskloom: Callable[..., Any], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    taskloom("build", "natural-instructions", "-o", "mine")
    taskloom("run", "natural-instructions", "-o", "run", "--suite", "mine", "--only", "copy-*")
    kept = open_run(tmp_path / "run")
    assert taskloom("plan", "natural-instructions", "-o", "run", "--only", "copy-*").code == 0
    assert open_run(tmp_path / "run").command == kept.command
    assert taskloom("plan", "natural-instructions", "-o", "new", "--suite", "mine", "--only", "copy-*").code == 0
    assert not Path("new").exists()


def test_no_learner_is_lost_where_names_would_be_the_same():
    learners = "{one: {in-context: {model: one}}, two: {in-context: {model: two}}}"
    text = f"name: a\nsuite: x\nlearners: {learners}\nviews: [gain: {{learner: one}}]"
    study = Overrides(model="fake:echo").in_place(parse(text))
    assert [study.learners[name].options["model"] for name in ("one", "two")] == ["fake:echo"] * 2
    alone = text.replace(", two: {in-context: {model: two}}", "")
    renamed = Overrides(model="fake:echo").in_place(parse(alone))
    assert "one" not in renamed.learners
    assert renamed.views[0] == Gain(learner="fake:echo")


def test_a_named_study_is_built_from_another_source(tmp_path: Path):
    study = load("quickstart")[0]
    assert Overrides.of(None, source="data:papers").in_place(study).source == "data:papers"
    named = Overrides.of(None, source="rows.csv")
    assert named.source == str(Path("rows.csv").absolute())
    assert named.folder("quickstart") == "quickstart-rows"
    assert named.options() == f" --from {Path('rows.csv').absolute()}"


def test_a_suite_that_is_there_is_built_from_nothing(tmp_path: Path):
    with pytest.raises(UsageError, match="name one of --suite and --from"):
        Overrides.of(tmp_path, source="data:papers")
    with pytest.raises(StudyError, match="use --suite instead of --from"):
        Overrides.of(None, source="data:papers").in_place(parse("name: a\nsuite: x\nlearners: {nearest: {}}"))
