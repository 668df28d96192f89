from __future__ import annotations

import json
import os
import pty
import shlex
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

import taskloom as library
from taskloom.benchmarks import build
from taskloom.sources.table import Field
from taskloom.studies.ledger import Ledger
from taskloom.suites.store import write

from ..conftest import slow_learner

Until = Callable[[Callable[[], bool]], None]
TASKLOOM = str(Path(sys.executable).with_name("taskloom"))
STUDY = """
format: 1
name: small
baselines: false
suite: suite
tasks: [abstract->category, title->category]
protocol: {seeds: 2, shots: [0, 4], query: 16}
learners:
  majority: {}
  nearest: {}
  again: {nearest: {}}
  tfidf-linear: {}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a study and its suite."""
    fields = (Field("title", "text"), Field("abstract", "text"), Field("category", "label"))
    write(build("fields", "data:papers", fields=fields, where={"language": "en"}, id_column="id"), tmp_path / "suite")
    (tmp_path / "study.yaml").write_text(STUDY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_study_is_planned_run_reported_and_run_again_for_nothing(taskloom, folder: Path):
    planned = json.loads(taskloom("plan", "study.yaml", "--json").out)
    assert (len(planned["cells"]), planned["to run"]) == (16, 16)  # two learners are equal, and share theirs
    assert planned["seconds"] is None
    ran = taskloom("run", "study.yaml")
    assert ran.code == 0
    assert "16 cells run, 0 failures" in ran.err
    assert (folder / "runs" / "small" / "report.html").is_file()
    assert "0 cells run, 0 failures" in taskloom("run", "study.yaml").err
    again = json.loads(taskloom("plan", "study.yaml", "--json").out)
    assert (again["done"], again["seconds"]) == (16, 0)
    for form in ("terminal", "md", "csv", "tex", "json", "html"):
        shown = taskloom("report", "runs/small", "--to", form)
        assert shown.code == 0
        assert "tfidf" in shown.out
    items = taskloom("report", "runs/small", "--to", "items").out
    assert items.startswith('"learner","task","shots"')
    assert "320 rows" in taskloom("report", "runs/small", "--to", "items", "-o", "items.parquet").err
    assert taskloom("report", "runs/small", "--to", "items", "-o", "items.xls").code == 2
    plots = taskloom("report", "runs/small", "--plots", "plots")
    assert (plots.code, "tfidf" in plots.out) == (0, True)
    assert (folder / "plots" / "accuracy-over-shots.svg").is_file()


def test_a_trial_is_named_where_nothing_else_is_known(taskloom, folder: Path):
    planned = taskloom("plan", "study.yaml", "-o", "my run", "--only", "tfidf*").out
    command = "taskloom run study.yaml -o 'my run' --only 'tfidf*' --limit 2"
    assert f"until a run or a trial (`{command}`)" in planned
    assert taskloom(*shlex.split(command)[1:]).code == 0
    assert "about" in taskloom("plan", "study.yaml", "-o", "my run", "--only", "tfidf*").out
    shown = taskloom("report", "my run")
    assert (shown.code, "0 cells done" in shown.out) == (0, True)
    assert "only trials have results; show one with --limit 2" in shown.err
    assert shown.out.startswith("small: 0 cells done")  # the study's name
    trial = taskloom("report", "my run", "--limit", "2")
    assert (trial.code, "0 cells done" in trial.out, "tfidf" in trial.out) == (0, False, True)
    taskloom("run", "study.yaml", "-o", "my run")
    assert "trial" not in taskloom("report", "my run").err


def test_learners_and_tasks_of_a_run_are_completed(taskloom, folder: Path):
    def found(words: str) -> list[str]:
        asked = {"_TASKLOOM_COMPLETE": "complete_bash", "COMP_WORDS": words}
        environment = {**os.environ, **asked, "COMP_CWORD": str(len(words.split()) - 1)}
        script = Path(sys.executable).with_name("taskloom")
        return subprocess.run([script], env=environment, capture_output=True, text=True).stdout.split()

    taskloom("run", "study.yaml", "--only", "nearest")
    assert found("taskloom run study.yaml --only a") == ["again", "abstract->category"]
    assert found("taskloom compare nearest a") == ["again"]
    assert found("taskloom compare --run runs/small n") == ["nearest"]
    assert found("taskloom people compare runs/small --learner tf") == ["tfidf-linear"]
    taskloom("run", "study.yaml", "-o", "runs/other", "--only", "nearest")
    assert found("taskloom compare nearest a") == []


def test_a_name_mistyped_in_an_argument_is_bad_usage(taskloom, folder: Path):
    only = taskloom("plan", "study.yaml", "--only", "neerest")
    assert (only.code, "did you mean nearest?" in only.err) == (2, True)
    assert taskloom("run", "study.yaml", "--only", "majority").code == 0
    metric = taskloom("report", "runs/small", "--metric", "acuracy")
    assert (metric.code, "did you mean accuracy" in metric.err) == (2, True)
    assert taskloom("report", "runs/small", "--metric", "mse").code == 1  # known, and not for these tasks
    for options in (("--learner", "neerest"), ("--model", "smolm2"), ("--encoding", "dfe")):
        shown = taskloom("show", "suite", "title->category", "--prompt", *options)
        assert (shown.code, options[1] in shown.err, "the study" in shown.err) == (2, True, False)
    (folder / "study.yaml").write_text(STUDY.replace("nearest: {}", "neerest: {}", 1))
    assert taskloom("plan", "study.yaml").code == 1  # a fault of the file


def test_ctrl_c_is_answered_at_once_and_the_number_of_cells_is_told_from_the_start(folder: Path):
    (folder / "slow.py").write_text(slow_learner(1))
    (folder / "study.yaml").write_text(STUDY[: STUDY.index("  majority")] + '  slow: {"slow.py:Slow": {}}\n')
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [TASKLOOM, "run", "study.yaml"], stdout=subprocess.PIPE, stderr=theirs, env={**os.environ, "TERM": "xterm"}
    ) as process:
        os.close(theirs)
        printed = ""
        with suppress(OSError):  # how a terminal says that it is closed
            while block := os.read(ours, 65536):
                printed += block.decode()
                if process.poll() is None and (folder / "begun").exists() and "0/8" in printed:
                    (folder / "begun").unlink()
                    process.send_signal(signal.SIGINT)
    os.close(ours)
    assert process.returncode == 130
    at_once, later = (printed.index(told) for told in ("finishing the current cell", "1 cell run"))
    assert at_once < later
    assert "1/8" not in printed[:at_once]
    assert "interrupted; finished cells" in printed
    assert not (folder / "runs" / "small" / "report.html").exists()  # which takes long where many cells are done


@pytest.mark.parametrize("name", ["study.yaml", "report.html"])
def test_a_new_run_replaces_no_file_of_the_user(taskloom, folder: Path, name: str):
    (folder / "mine").mkdir()
    (folder / "mine" / name).write_text("mine")
    refused = taskloom("run", "study.yaml", "-o", "mine")
    assert (refused.code, f"not overwritten; choose another folder (-o): mine/{name}" in refused.err) == (2, True)
    assert [(path.name, path.read_text()) for path in (folder / "mine").iterdir()] == [(name, "mine")]


def test_a_study_may_lie_in_the_folder_of_its_run(taskloom, folder: Path):
    assert taskloom("run", "study.yaml", "-o", ".", "--only", "majority").code == 0
    assert "0 cells run" in taskloom("run", "study.yaml", "--only", "majority").err


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_terminal_that_is_closed_ends_a_run_with_nothing_failed(folder: Path, workers: str, until: Until):
    (folder / "slow.py").write_text(slow_learner(1))
    (folder / "study.yaml").write_text(STUDY[: STUDY.index("  majority")] + '  slow: {"slow.py:Slow": {}}\n')
    child, terminal = pty.fork()
    if not child:  # its terminal is closed with our end, which sends it and its workers SIGHUP
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        os.execv(TASKLOOM, [TASKLOOM, "run", "study.yaml", "--workers", workers])
    os.set_blocking(terminal, False)
    until(lambda: _read(terminal) and (folder / "begun").exists())
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 129
    with Ledger(folder / "runs" / "small" / "ledger.db") as ledger:
        assert set(ledger.states().values()) == {"done"}


def _read(terminal: int) -> bool:
    """Read what is shown, so that there is room for more."""
    with suppress(BlockingIOError):
        os.read(terminal, 65536)
    return True


def test_a_run_under_nohup_goes_on_without_its_terminal_and_answers_other_signals(folder: Path, until: Until):
    (folder / "slow.py").write_text(slow_learner(1))
    (folder / "study.yaml").write_text(STUDY[: STUDY.index("  majority")] + '  slow: {"slow.py:Slow": {}}\n')
    command = ["nohup", TASKLOOM, "run", "study.yaml"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        until((folder / "begun").exists)
        process.send_signal(signal.SIGHUP)
        (folder / "begun").unlink()
        until((folder / "begun").exists)  # the next cell
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143
    with Ledger(folder / "runs" / "small" / "ledger.db") as ledger:
        assert set(ledger.states().values()) == {"done"}


def test_compare_finds_what_differs_and_not_what_does_not(taskloom, folder: Path):
    (folder / "study.yaml").write_text(STUDY.replace("seeds: 2", "seeds: 5"))
    taskloom("run", "study.yaml")
    differ = json.loads(taskloom("compare", "tfidf-linear", "majority", "--json").out)
    same = json.loads(taskloom("compare", "nearest", "again", "--run", "runs/small", "--json").out)

    def overall(found: list[dict[str, object]]) -> dict[str, float]:
        (one,) = [c for c in found if c["metric"] == "accuracy" and c["shots"] == 4]
        return one["overall"]  # type: ignore[return-value]

    assert overall(differ)["low"] > 0
    assert overall(differ)["p"] < 0.05
    assert overall(same)["low"] <= 0 <= overall(same)["high"]
    assert overall(same)["p"] > 0.5
    assert "accuracy" in taskloom("compare", "runs/small:nearest", "runs/small:again").out


def test_compare_says_for_how_many_tests_p_is_corrected_and_compares_trials(taskloom, folder: Path):
    taskloom("run", "study.yaml", "--limit", 8)
    refused = taskloom("compare", "nearest", "majority")
    assert (refused.code, "only trials have results; compare one with --limit 8" in refused.err) == (2, True)
    found = json.loads(taskloom("compare", "nearest", "majority", "--limit", 8, "--json").out)
    assert all(of["overall"]["family"] <= 1 for of in found)
    assert {one["family"] for of in found for one in of["tasks"].values() if one["n"]} == {2}
    shown = taskloom("compare", "nearest", "majority", "--limit", 8)
    assert "of tests" in shown.out
    assert "corrects it for all its pairs of learners" in " ".join(shown.err.split())


def test_learners_without_answers_in_common_can_not_be_compared(taskloom, folder: Path):
    taskloom("run", "study.yaml", "--only", "majority")
    found = taskloom("compare", "nearest", "majority", "--run", "runs/small")
    assert (found.code, "no common answers" in found.err) == (1, True)
    assert "NaN" not in taskloom("compare", "nearest", "majority", "--run", "runs/small", "--json").out


def test_python_does_what_the_command_line_does(taskloom, folder: Path):
    found = library.run("study.yaml", limit=2)
    assert found.smoke
    assert len(found.outcomes) == 20
    assert "<" in library.summarise(found)._repr_html_()
    assert "16 cells run" in taskloom("run", "study.yaml").err  # the trial was kept apart


def test_ledgers_are_merged(taskloom, folder: Path):
    taskloom("run", "study.yaml", "-o", "one", "--only", "majority")
    taskloom("run", "study.yaml", "-o", "two", "--only", "nearest", "--only", "again", "--only", "tfidf-linear")
    assert "8 new cells" in taskloom("ledger", "merge", "one", "two").out
    assert "0 cells run" in taskloom("run", "study.yaml", "-o", "one").err


def test_results_are_not_merged_into_a_run_that_is_not_there(taskloom, folder: Path):
    taskloom("run", "study.yaml", "-o", "one", "--only", "majority")
    for into in ("oen", "oen/ledger.db", "suite"):
        ran = taskloom("ledger", "merge", into, "one")
        assert (ran.code, "no such run; copy one of the others" in ran.err) == (2, True)
    assert not (folder / "oen").exists()
    assert not (folder / "suite" / "ledger.db").exists()


def test_a_finished_run_is_reported_where_nothing_can_be_written(taskloom, folder: Path, monkeypatch):
    taskloom("run", "study.yaml", "-o", "one", "--only", "majority")
    (folder / "one" / "report.html").unlink()
    (folder / "one" / "report.html").mkdir()  # as good as read-only, for those who may write anywhere
    (folder / "one" / "report.html" / "x").touch()
    may = os.access
    closed = {folder / "one", folder / "one" / "ledger.db"}

    def access(path: Path | str, mode: int) -> bool:
        return may(path, mode) and not (mode & os.W_OK and Path(path).absolute() in closed)

    monkeypatch.setattr(os, "access", access)
    ran = taskloom("run", "study.yaml", "-o", "one", "--only", "majority")
    assert (ran.code, "majority" in ran.out) == (0, True)
    assert "0 cells run" in ran.err
    assert "no report written" in ran.err
    assert taskloom("report", "one").code == 0
    refused = taskloom("run", "study.yaml", "-o", "one")
    assert (refused.code, "can't write the ledger" in refused.err) == (1, True)


def test_a_report_replaces_a_link_and_is_whole_or_not_there(taskloom, folder: Path):
    taskloom("run", "study.yaml", "-o", "one", "--only", "majority")
    (folder / "mine.txt").write_text("mine")
    for name in ("one/report.html", "out.html", "items.csv"):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(folder / "mine.txt")
    taskloom("run", "study.yaml", "-o", "one", "--only", "majority")
    taskloom("report", "one", "--to", "html", "-o", "out.html")
    taskloom("report", "one", "--to", "items", "-o", "items.csv")
    assert (folder / "mine.txt").read_text() == "mine"
    assert not any((folder / name).is_symlink() for name in ("one/report.html", "out.html", "items.csv"))


def test_a_report_replaces_nothing_that_the_run_is_made_of(taskloom, folder: Path):
    taskloom("run", "study.yaml", "-o", "one", "--only", "majority")
    (folder / "ledger.md").hardlink_to(folder / "one" / "ledger.db")
    for name in ("one/ledger.db", "ledger.md", "one/study.yaml", "suite/suite.json", "suite/records.arrow"):
        before = (folder / name).read_bytes()
        ran = taskloom("report", "one", "--to", "md", "-o", name)
        assert (ran.code, "an output must not replace an input" in ran.err) == (2, True)
        assert (folder / name).read_bytes() == before
    assert taskloom("report", "one", "--to", "md", "-o", "one/report.md").code == 0
    assert "a file, not a folder to write" in taskloom("report", "one", "--plots", "study.yaml").err
    assert "unknown ending" in taskloom("report", "one", "--to", "items", "-o", "items.txt").err
    card = taskloom("show", "suite", "--card", "-o", "suite/suite.json")
    assert (card.code, "an output must not replace an input" in card.err) == (2, True)


def test_a_run_takes_no_folder_of_something_else(taskloom, folder: Path):
    (folder / "mine").mkdir()
    (folder / "mine" / "study.yaml").write_text("name: mine\n")
    for place, told in (
        ("mine", "not part of a run; not overwritten"),
        ("suite", "a suite's folder, not a run's"),
        ("study.yaml", "a file"),
    ):
        before = sorted(path.name for path in (folder / place).iterdir()) if (folder / place).is_dir() else None
        for verb in ("plan", "run"):
            ran = taskloom(verb, "study.yaml", "-o", place)
            assert (ran.code, told in ran.err) == (2, True), ran.err
        assert before is None or sorted(path.name for path in (folder / place).iterdir()) == before
    assert (folder / "mine" / "study.yaml").read_text() == "name: mine\n"


def test_damaged_results_are_told_and_run_again(taskloom, folder: Path):
    taskloom("run", "study.yaml", "-o", "one", "--only", "majority")
    taskloom("run", "study.yaml", "-o", "two", "--only", "nearest")
    with closing(sqlite3.connect(folder / "two" / "ledger.db")) as db:
        cells = [cell for (cell,) in db.execute("SELECT cell FROM results")]
        db.execute("UPDATE results SET body = x'00' WHERE cell = ?", (cells[0],))
        db.commit()
    assert "1 cell damaged there; skipped" in taskloom("ledger", "merge", "one", "two").err
    assert f"result of cell {cells[0]} is damaged" in taskloom("report", "two", "--to", "md").out
    told = taskloom("run", "study.yaml", "-o", "two", "--only", "nearest").err
    assert f"ran 1 cell again, damaged in the ledger: {cells[0]}" in told
    assert "1 cell run" in told


def test_a_failing_learner_ends_with_1_and_the_others_go_on(taskloom, folder: Path):
    (folder / "bad.py").write_text(
        "from dataclasses import dataclass\nfrom taskloom import Learner\n"
        "@dataclass(frozen=True)\nclass Bad(Learner):\n"
        "    version = 1\n    outputs = frozenset({'labels'})\n    unaided = outputs\n"
        "    def fit(self, task, support, dev, *, seed, tools):\n        raise ValueError('no')\n"
    )
    (folder / "study.yaml").write_text(STUDY.replace("again: {nearest: {}}", 'bad: {"bad.py:Bad": {}}'))
    ran = taskloom("run", "study.yaml")
    assert ran.code == 1
    assert "8 cells failed" in ran.err
    assert "ValueError: no" in (folder / "runs" / "small" / "report.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("run", "quickstrat"), 2, "did you mean quickstart"),
        (("run", "gone.yaml"), 2, "no such file"),
        (("report", "nowhere"), 2, "not a run"),
        (("compare", "nowhere:a", "b"), 2, "not a run"),
        (("compare", "a", "b"), 2, "name the run, with --run RUN"),
        (("ledger", "merge", "x", "y"), 2, "not a run (it has no ledger.db): y"),
        (("ledger", "merge", "x", "study.yaml"), 1, "not a ledger of taskloom: study.yaml"),
        (("show", "study.yaml"), 2, "a file, not a suite's folder"),
        (("check", "study.yaml"), 2, "a file, not a suite's folder"),
        (("run", "study.yaml", "--only", "nothing"), 2, "matches no task and no learner"),
    ],
)
def test_bad_usage_says_what_to_do(taskloom, folder: Path, arguments, code, told):
    ran = taskloom(*arguments)
    assert ran.code == code
    assert told in ran.err


def test_unknown_learners_of_a_run_get_the_nearest_names(taskloom, folder: Path):
    taskloom("run", "study.yaml", "--only", "nearest")
    assert "did you mean nearest" in taskloom("compare", "nearst", "again").err
    assert "did you mean html" in taskloom("report", "runs/small", "--to", "htm").err


def test_a_run_knows_where_its_study_lay(taskloom, folder: Path, monkeypatch: pytest.MonkeyPatch):
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    taskloom("run", "../study.yaml", "--only", "majority")
    assert taskloom("report", "runs/small").code == 0
    assert "8 cells not run yet" in taskloom("report", "runs/small", "--to", "html").out
    library.run(library.Study(**vars_of(folder)), folder / "object")


def vars_of(folder: Path) -> dict[str, object]:
    from taskloom.studies.study import load

    study, _ = load(str(folder / "study.yaml"))
    return {name: getattr(study, name) for name in study.__dataclass_fields__}


def test_runs_of_different_tasks_are_not_paired(taskloom, folder: Path):
    taskloom("run", "study.yaml", "-o", "one")
    fields = (Field("title", "text"), Field("abstract", "text"), Field("category", "label"))
    write(build("fields", "data:papers", fields=fields, where={"language": "zh"}, id_column="id"), folder / "other")
    (folder / "study.yaml").write_text(STUDY.replace("suite: suite", "suite: other").replace("query: 16", "query: 4"))
    (folder / "study.yaml").write_text((folder / "study.yaml").read_text().replace("[0, 4]", "[0, 1]"))
    taskloom("run", "study.yaml", "-o", "two")
    assert "can't be paired" in taskloom("compare", "one:nearest", "two:nearest").err
    assert "can't be compared with itself" in taskloom("compare", "nearest", "nearest", "--run", "one").err
