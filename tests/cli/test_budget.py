"""The command line of budgets."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from taskloom.benchmarks import build
from taskloom.sources.table import Field
from taskloom.suites.store import write

from ..conftest import slow_learner

STUDY = """
name: small
baselines: false
suite: suite
tasks: [abstract->category]
protocol: {seeds: 2, shots: [0, 4], query: 16}
learners: {majority: {}, nearest: {}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    fields = (Field("title", "text"), Field("abstract", "text"), Field("category", "label"))
    write(build("fields", "data:papers", fields=fields, where={"language": "en"}, id_column="id"), tmp_path / "suite")
    (tmp_path / "study.yaml").write_text(STUDY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_pilot_a_plan_and_a_run_follow_each_other(taskloom, folder: Path):
    assert "--pilot" in taskloom("plan", "study.yaml", "--budget", "1m").err
    ran = taskloom("plan", "study.yaml", "--budget", "5s", "--pilot", "--plot", "plan.html")
    assert ran.code == 0
    assert "cells run" in ran.err
    assert "put into the study:\n\nprotocol:\n  shots: {0: " in ran.err
    assert ran.out.startswith("budget\tepisodes\ttest items\ttime\twidth\tcoverage\tdetectable")
    assert "narrowest" in ran.out
    assert "coverage" in (folder / "plan.html").read_text()
    again = taskloom("plan", "study.yaml", "--budget", "5s", "--json")
    told = json.loads(again.out)
    assert (told["seconds"], told["best"]["episodes"] % 2) == (5.0, 0)
    assert told["lines"].splitlines()[0] == "protocol:"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_pilot_with_its_own_code(folder: Path, until, number: int):
    (folder / "slow.py").write_text(slow_learner(0.5))
    (folder / "study.yaml").write_text(STUDY.replace("{majority: {}, nearest: {}}", '{slow: {"slow.py:Slow": {}}}'))
    command = [sys.executable, "-m", "taskloom", "plan", "study.yaml", "--budget", "1m", "--pilot"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as child:
        until((folder / "begun").exists)
        child.send_signal(number)
        told = child.communicate()[1]
    assert (child.returncode, "finished cells are kept" in told) == (128 + number, True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--budget", "2"), "a time must be numbers with the units d, h, m and s, such as 90m, 2h or 1h30m: '2'"),
        (("--budget", "tomorrow"), "'tomorrow'"),
        (("--budget", "0h"), "'0h'"),
        (("--pilot",), "--pilot needs a budget"),
        (("--plot", "x.html"), "--plot needs a budget"),
        (("--budget", "2h", "--limit", "2"), "a trial has no budget"),
        (("--budget", "2h", "--plot", "x.png"), ".html or .svg"),
    ],
)
def test_bad_usage_is_refused_before_any_work(taskloom, folder: Path, options: tuple[str, ...], said: str):
    ran = taskloom("plan", "study.yaml", *options)
    assert ran.code == 2
    assert said in ran.err
    assert not (folder / "runs").exists()
