"""The verb transfer: a map within a budget, drawn; what is run again is nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
import typer

from taskloom.cli import app
from taskloom.sources.table import Field
from taskloom.studies.study import parse
from taskloom.studies.transfer import TransferOptions
from taskloom.suites import fields as field_tasks
from taskloom.suites.store import write

TARGETS = ("--targets", "text->label", "--targets", "text->kind", "--query", "4")
PUPIL = ("--model", "fake:pupil", "--seeds", "2", *TARGETS)


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write a suite of three fields, and go where it is."""
    kinds = (Field("text", "text"), Field("label", "label"), Field("kind", "label"))
    rows = [
        {"id": f"r{n}", "text": f"thing {n} is {('new', 'old')[n % 2]}", "label": f"l{n % 2}", "kind": f"k{n % 3}"}
        for n in range(60)
    ]
    write(field_tasks.suite(field_tasks.records(kinds, rows), id="things"), tmp_path / "suites" / "things")
    monkeypatch.chdir(tmp_path)
    return "suites/things"


def test_a_map_is_run_within_its_budget_drawn_and_resumed(taskloom, suite: str):
    ran = taskloom("transfer", suite, *PUPIL, "--budget", "1500")
    assert ran.code == 0, ran.err
    assert "3 meta tasks x 2 targets (5 pairs), 2 seeds: 1,320 steps of training, of 1,500 in the budget" in ran.err
    assert "dropped to fit the budget: 9 meta tasks, 0 targets, 0 seeds; all would take" in ran.err
    assert "Gain of each meta task on each target" in ran.out
    page = Path("runs/transfer-things/report.html").read_text(encoding="utf-8")
    assert page.count('aria-label="Gain of each meta task') == 2  # for a screen and for a phone
    again = taskloom("transfer", suite, *PUPIL, "--budget", "1500")
    assert "0 cells run, 0 failures" in again.err
    resumed = taskloom("run", "runs/transfer-things/study.yaml")
    assert (resumed.code, "0 cells run" in resumed.err) == (0, True)


def test_what_is_chosen_is_trained_together_and_the_same_command_does_nothing_more(taskloom, suite: str):
    command = ("transfer", suite, *PUPIL, "--meta", "label->*", "--meta", "kind->text", "--budget", "9999", "--measure")
    ran = taskloom(*command)
    assert ran.code == 0, ran.err
    assert "chosen, trained together" in ran.out
    assert "nothing is chosen" in taskloom(*command, "--choose", "4", "-o", "runs/other").err
    again = taskloom(*command)
    assert again.err.count("cells run") == 1
    assert "0 cells run, 0 failures" in again.err
    assert "has changed" not in again.err


def test_a_dry_run_prints_a_study_that_can_be_run(taskloom, suite: str):
    ran = taskloom("transfer", suite, *TARGETS, "--dry-run", "--shots", "2")
    assert ran.code == 0
    study = parse(ran.out)
    assert (study.suite, study.protocol.shots) == (suite, {2: 1})
    assert study.models["base"]["train"] == "new:t5-nano"
    Path("map.yaml").write_text(ran.out, encoding="utf-8")
    assert taskloom("plan", "map.yaml").code == 0
    assert not Path("runs").exists()


def test_bad_input_says_what_to_do(taskloom, suite: str):
    small = taskloom("transfer", suite, *PUPIL, "--budget", "100")
    assert small.code == 2
    assert "100 steps is too small for 1 meta task, 1 target and one seed, which take 210 steps" in small.err
    assert "give --budget 210 or more" in small.err
    assert "did you mean text->label" in taskloom("transfer", suite, "--targets", "text->labl").err
    assert "can't be trained" in taskloom("transfer", suite, *TARGETS, "--model", "fake:echo").err
    assert "--targets" in taskloom("transfer", suite, "--by", "outputs").err
    assert "no such folder" in taskloom("transfer", "nowhere").err


def test_tasks_tags_and_what_is_trained_are_completed(suite: str):
    def found(words: str) -> list[str]:
        asked = {"_TASKLOOM_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
        script = Path(sys.executable).with_name("taskloom")
        return subprocess.run([script], env={**os.environ, **asked}, capture_output=True, text=True).stdout.split()

    assert found(f"taskloom transfer {suite} --targets text->l") == ["text->label", "text->label+kind"]
    assert found(f"taskloom transfer {suite} --by in") == ["inputs"]
    assert found(f"taskloom transfer {suite} --what l") == ["lora"]


def test_defaults_of_the_command_are_those_of_the_map():
    command = typer.main.get_command(app).commands["transfer"]  # type: ignore[attr-defined]
    given = {param.name: param.default for param in command.params}
    named = {"steps": "training"}
    own = {f.name: f.default for f in fields(TransferOptions)}
    shared = {name: value for name, value in given.items() if named.get(name, name) in own}
    assert {"budget", "seeds", "shots", "choose", "tuning", "pretraining", "steps", "what"} <= {*shared}
    assert {name: own[named.get(name, name)] or None for name in shared} == {n: v or None for n, v in shared.items()}
