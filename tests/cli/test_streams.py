"""Standard streams that are closed, full or know few characters, and signals that come in bursts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from taskloom.sources.table import Field
from taskloom.suites import fields
from taskloom.suites.store import write

from ..conftest import slow_learner

TASKLOOM = f"{sys.executable} -m taskloom"
FEW = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}  # a locale that knows ASCII alone


def ran(command: str, *, cwd: Path | str | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command whose streams are buffered, as they are for users, whatever the tests were started with."""
    env = {**os.environ, "PYTHONUNBUFFERED": "", **more}
    return subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, encoding="utf-8", cwd=cwd, env=env
    )  # fmt: skip


def study_in(folder: Path, made_topics, learners: str = "{nearest: {}, majority: {}}") -> Path:
    """Write the study of topics into a folder, with learners of its own."""
    text = made_topics.study.read_text().replace("suite: suite", f"suite: {made_topics.study.parent}/suite")
    (folder / "study.yaml").write_text(text.replace("{nearest: {}, majority: {}}", learners))
    return folder / "runs" / "topics"


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-", "<&- >&-"])
def test_a_closed_standard_output_is_an_output_that_is_discarded(closed: str):
    done = ran(f"{TASKLOOM} list benchmarks {closed}")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_no_file_takes_the_place_of_a_closed_output(tmp_path: Path, made_topics):
    """What a learner prints must not land in the ledger."""
    study_in(tmp_path, made_topics)
    done = ran(f"cd {tmp_path} && {TASKLOOM} run study.yaml >&- 2>&- && {TASKLOOM} report runs/topics --to json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["leaderboards"]


FULL = "error: can't go on: no space left on device: standard output\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_output_is_an_error_in_one_line(unbuffered: str):
    done = ran(f"{TASKLOOM} list benchmarks > /dev/full", PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stderr) == (1, FULL)


def test_an_error_keeps_its_code_where_the_output_is_full_too(tmp_path: Path):
    printed = (
        "import sys; print('half'); sys.argv = ['taskloom', 'list', 'none']; from taskloom.cli import main; main()"
    )
    done = ran(f'{sys.executable} -c "{printed}" > /dev/full', cwd=tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(("verb", "code"), [("list", 0), ("list none", 2), ("list --none", 2), ("", 2)])
def test_messages_that_cannot_be_shown_leave_the_exit_code(verb: str, code: int, unbuffered: str):
    assert ran(f"{TASKLOOM} {verb} 2> /dev/full", PYTHONUNBUFFERED=unbuffered).returncode == code


PRINTING = """
from dataclasses import dataclass
from taskloom import Learner
@dataclass(frozen=True)
class Printing(Learner):
    version = 1
    outputs = frozenset({'labels'})
    unaided = outputs
    def fit(self, task, support, dev, *, seed, tools):
        print("a line")
        return self
    def predict(self, items):
        return [None for _ in items]
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_whose_messages_cannot_be_shown_is_done_all_the_same(tmp_path: Path, made_topics, workers: int):
    run = study_in(tmp_path, made_topics, '{printing: {"printing.py:Printing": {}}}')
    (tmp_path / "printing.py").write_text(PRINTING)
    done = ran(f"{TASKLOOM} run study.yaml -w {workers} 2> /dev/full", cwd=tmp_path)
    assert (done.returncode, "printing" in done.stdout) == (0, True)
    assert (run / "report.html").is_file()


@pytest.mark.parametrize(("output", "code"), [("> /dev/full", 1), ("| true; exit ${PIPESTATUS[0]}", 0)])
def test_a_run_writes_its_report_where_the_scores_cannot_be_printed(
    tmp_path: Path, made_topics, output: str, code: int
):
    run = study_in(tmp_path, made_topics)
    assert ran(f"{TASKLOOM} run study.yaml {output}", cwd=tmp_path, PYTHONUNBUFFERED="1").returncode == code
    assert (run / "report.html").is_file()


def test_a_reader_that_is_gone_is_no_error_however_much_is_written(tmp_path: Path, made_topics):
    study_in(tmp_path, made_topics)
    command = f"{TASKLOOM} run study.yaml && {TASKLOOM} report runs/topics --to json"
    whole = ran(command, cwd=tmp_path)
    assert len(whole.stdout) > 8192  # more than a buffer
    for verb in ("list", "report runs/topics --to json"):
        done = ran(f"{TASKLOOM} {verb} | true; exit ${{PIPESTATUS[0]}}", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")


def test_a_reader_that_is_gone_hides_no_failure(tmp_path: Path):
    (tmp_path / "task.json").write_text("{}")
    command = f"{TASKLOOM} check task.json"
    assert ran(command, cwd=tmp_path).returncode == 1
    gone = ran(f"{command} | true; exit ${{PIPESTATUS[0]}}", cwd=tmp_path, PYTHONUNBUFFERED="1")
    assert gone.returncode == 1


def test_a_working_folder_that_is_gone_is_told(tmp_path: Path):
    done = ran(f"mkdir gone && cd gone && rmdir ../gone && {TASKLOOM} plan quickstart", cwd=tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "the working folder is not there any more" in done.stderr


def test_a_run_in_a_folder_that_is_not_utf8_is_refused_and_leaves_nothing(tmp_path: Path, made_topics):
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    folder.mkdir()
    done = ran(f"{TASKLOOM} run {made_topics.study}", cwd=folder)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "the names of folders must be UTF-8" in done.stderr
    assert not any(folder.iterdir())


def test_chinese_is_printed_where_the_locale_knows_ascii_alone(tmp_path: Path):
    made = [{"id": "a", "标题": "道路绿化 🌲", "年": 1.0}, {"id": "b", "标题": "森林", "年": 2.0}]
    write(fields.suite(fields.records((Field("标题", "text"), Field("年", "number")), made), id="中文"), tmp_path / "s")
    piped = ran(f"{TASKLOOM} show {tmp_path}/s --json", **FEW)
    assert (piped.returncode, piped.stderr) == (0, "")
    assert [task["id"] for task in json.loads(piped.stdout)["tasks"]] == ["标题->年", "年->标题"]
    told = ran(f"{TASKLOOM} show {tmp_path}/s none", **FEW)
    assert (told.returncode, "标题->年" in told.stderr) == (2, True)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_burst_of_ctrl_c_ends_without_a_traceback(tmp_path: Path, made_topics, until, workers: int):
    study_in(tmp_path, made_topics, '{slow: {"slow.py:Slow": {}}}')
    (tmp_path / "slow.py").write_text(slow_learner(0.3))
    command = [sys.executable, "-m", "taskloom", "run", "study.yaml", "-w", str(workers)]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True) as child:
        until((tmp_path / "begun").exists)
        while child.poll() is None:
            os.killpg(child.pid, signal.SIGINT)
            time.sleep(0.005)
        assert child.stderr is not None
        told = child.stderr.read()
    assert child.returncode == 130
    assert told.splitlines()[0].startswith("finishing the current cell")
    assert told.splitlines()[1:] == [
        "error: interrupted; finished cells and checkpoints are kept; the same command resumes the run, and "
        "`taskloom report runs/topics` shows it so far"
    ]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_second_signal_ends_a_run_at_once_with_its_own_code(tmp_path: Path, made_topics, until, number: int):
    run = study_in(tmp_path, made_topics, '{slow: {"slow.py:Slow": {}}}')
    (tmp_path / "slow.py").write_text(slow_learner(60))
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whatever the tests were started by
    command = [sys.executable, "-m", "taskloom", "run", "study.yaml"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as child:
        signal.signal(signal.SIGHUP, before)
        until((tmp_path / "begun").exists)
        child.send_signal(number)
        assert child.stderr is not None
        assert child.stderr.readline().startswith("finishing the current cell")
        child.send_signal(number)
        assert f"taskloom report {run.relative_to(tmp_path)}" in child.stderr.read()
    assert child.returncode == 128 + number
