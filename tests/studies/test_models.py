from __future__ import annotations

import os
import runpy
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import taskloom as library
from taskloom.errors import LedgerError
from taskloom.studies.api import LEDGER
from taskloom.studies.costs import total
from taskloom.studies.ledger import Ledger
from taskloom.studies.plan import plan
from taskloom.studies.study import load

if TYPE_CHECKING:
    from tests.models.conftest import Server

KEY = "sk-secret-0123456789"
STUDY = """
format: 1
name: small
baselines: false
suite: suite
tasks: [abstract->category, title->category]
protocol: {seeds: 2, shots: [0, 1], query: 3}
models:
  remote:
    load: api:tiny@URL
    concurrency: 2
    timeout: 60
    tries: 2
    backoff: 0.01
    price_in: 10
    price_out: 20
    token_budget: 1000000
    body: {top_p: 0.9, more: {a: [1]}}
learners:
  written: {in-context: {model: remote, answers: generate, tokens: 8, template: [plain, cue]}}
  scored: {in-context: {model: remote}, tasks: "abstract->*", shots: [1]}
  majority: {}
"""
CELLS = {"written": 8, "scored": 2, "majority": 8}
Make = Callable[..., Path]


@pytest.fixture
def start() -> Iterator[Callable[..., Server]]:
    """Start endpoints of the tests of models."""
    made: list[Any] = []

    def make(port: int = 0) -> Any:
        path = Path(__file__).parents[1] / "models" / "conftest.py"
        made.append(runpy.run_path(str(path))["Server"](port))
        return made[-1]

    yield make
    for server in made:
        server.close()


@pytest.fixture
def endpoint(start: Callable[..., Server]) -> Server:
    return start()


@pytest.fixture
def study_of(tmp_path: Path, papers: Path) -> Make:
    """Write a study beside its suite, with some of its text replaced."""

    def make(url: str = "http://127.0.0.1:9/v1", **replaced: str) -> Path:
        if not (tmp_path / "suite").exists():
            (tmp_path / "suite").symlink_to(papers)
        text = STUDY.replace("URL", url)
        for old, new in replaced.items():
            assert f"{old}:" in text
            text = "\n".join(new if line.strip().startswith(f"{old}:") else line for line in text.splitlines())
        path = tmp_path / "study.yaml"
        path.write_text(text)
        return path

    return make


def start_run(study: Path, folder: str = "run", *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from taskloom.cli import main; main()", "run", str(study)]
    return subprocess.Popen(
        [*command, "-o", str(study.parent / folder), *more],
        env={**os.environ, "OPENAI_API_KEY": KEY},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ran(study: Path, folder: str = "run", *more: str) -> tuple[int, str]:
    with start_run(study, folder, *more) as child:
        out, _ = child.communicate(timeout=120)
    return child.returncode, " ".join(out.split())


def contents(folder: Path) -> list[tuple[str, str, bytes]]:
    with Ledger(folder / LEDGER) as ledger:
        return list(ledger.contents())


def done(folder: Path) -> Counter[str]:
    with Ledger(folder / LEDGER) as ledger:
        return Counter(learner for learner, *_ in ledger.costs())


def kept(folder: Path) -> int:
    if not (folder / "replies.db").exists():
        return 0
    db = sqlite3.connect(folder / "replies.db")
    try:
        return int(db.execute("SELECT count(*) FROM replies").fetchone()[0])
    except sqlite3.OperationalError:  # not made yet
        return 0
    finally:
        db.close()


def sent_twice(endpoint: Server) -> list[str]:
    """Give what was answered more than once, chats and log-probabilities told apart."""
    counts = Counter(str(sorted(body.items(), key=str)) for body in endpoint.answered)
    return [body for body, count in counts.items() if count > 1]


def test_a_run_that_was_killed_goes_on_and_sends_nothing_twice_that_was_answered(
    endpoint: Server, study_of: Make, tmp_path: Path, taskloom, until: Callable[[Callable[[], bool]], None]
):
    study = study_of(endpoint.url)
    endpoint.hold_after = 8
    with start_run(study) as child:
        until(lambda: kept(tmp_path / "run") == 8 and len(endpoint.received) == 9)  # one of the third cell is held
        child.send_signal(signal.SIGKILL)
    endpoint.release()
    code, out = ran(study)
    assert code == 0, out
    assert not sent_twice(endpoint)
    assert done(tmp_path / "run") == CELLS

    asked = len(endpoint.answered)
    assert ran(study, "whole", "--workers", "2")[0] == 0
    assert contents(tmp_path / "whole") == contents(tmp_path / "run")

    assert len(endpoint.answered) >= 2 * asked
    with Ledger(tmp_path / "whole" / LEDGER) as ledger:
        costs = {name: total([cost for of, *_, cost in ledger.costs() if of == name]) for name in CELLS}
    assert costs["written"].requests + costs["scored"].requests == len(endpoint.answered) - asked
    assert (costs["majority"].requests, costs["majority"].read, costs["majority"].dollars) == (0, 0, 0.0)
    assert 0 < costs["written"].written < costs["written"].read
    for name in ("written", "scored"):
        spent = (10 * costs[name].read + 20 * costs[name].written) / 1e6
        assert costs[name].dollars == pytest.approx(spent)

    endpoint.close()
    shown = taskloom("report", tmp_path / "run", "--to", "md")
    assert shown.code == 0
    assert "requests" in shown.out
    assert "dollars" in shown.out


@pytest.mark.parametrize("trouble", ["key", "unreachable", "budget"])
def test_an_endpoint_that_answers_nothing_stops_its_learners_alone_and_the_run_goes_on_later(
    start: Callable[..., Server], study_of: Make, tmp_path: Path, trouble: str
):
    endpoint = start()
    study = study_of(endpoint.url)
    told = {
        "key": "rejected the API key in $OPENAI_API_KEY (HTTP 401)",
        "unreachable": f"no reply from {endpoint.url} after 2 tries; last error: unreachable",
        "budget": "raise `token_budget` to continue",
    }[trouble]
    if trouble == "key":
        endpoint.always = "401"
    elif trouble == "unreachable":
        endpoint.close()
    else:
        study_of(endpoint.url, token_budget="    token_budget: 6000")
    code, out = ran(study)
    assert code == 1, out
    assert told in out
    assert "written stopped: " in out
    assert done(tmp_path / "run")["majority"] == CELLS["majority"]
    assert done(tmp_path / "run")["written"] < CELLS["written"]
    assert KEY not in out
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]

    if trouble == "unreachable":
        endpoint = start(endpoint.port)
    endpoint.always = ""
    before = len(endpoint.answered)
    code, out = ran(study_of(endpoint.url))
    assert code == 0, out
    assert done(tmp_path / "run") == CELLS
    assert (before > 0) == (trouble == "budget")
    assert not sent_twice(endpoint)


@pytest.mark.parametrize("where", ["path:nowhere", "api:tiny"])
def test_a_model_that_can_not_be_had_leaves_out_an_optional_learner_and_stops_any_other(
    study_of: Make, taskloom, monkeypatch: pytest.MonkeyPatch, where: str
):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    gone = {"load": f"    load: {where}", "scored": "", "concurrency": "", "timeout": "", "tries": "", "backoff": ""}
    gone |= dict.fromkeys(("price_in", "price_out", "token_budget", "body"), "")
    written = "  written: {in-context: {model: remote}, optional: true}"
    study = study_of(**gone, written=written)
    ran = taskloom("run", study, "-o", study.parent / "run")
    assert ran.code == 0
    assert "skipped: model remote is unavailable" in " ".join(ran.err.split())
    assert "skipped learners: written" in " ".join(ran.err.split())
    assert done(study.parent / "run") == {"majority": CELLS["majority"]}
    assert taskloom("report", study.parent / "run").code == 0
    study = study_of(**gone, written=written.replace(", optional: true", ""))
    assert taskloom("run", study, "-o", study.parent / "other").code in (1, 2)
    assert not (study.parent / "other" / LEDGER).exists()


def test_an_endpoint_that_answers_nothing_leaves_out_an_optional_learner(study_of: Make, tmp_path: Path):
    study = study_of(written="  written: {in-context: {model: remote, answers: generate}, optional: true}", scored="")
    code, out = ran(study)
    assert code == 0, out
    assert "written stopped: no reply from" in out
    assert done(tmp_path / "run") == {"majority": CELLS["majority"]}
    assert ran(study_of(scored=""))[0] == 1


def test_a_report_needs_no_address_that_the_environment_had(
    endpoint: Server, study_of: Make, taskloom, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    study = study_of(load="    load: api:tiny", scored="")
    assert ran(study, "run", "--only", "written", "--only", "title->category")[0] == 0
    endpoint.close()
    monkeypatch.delenv("OPENAI_BASE_URL")
    shown = taskloom("report", study.parent / "run")
    assert shown.code == 0
    assert "written" in shown.out


def test_a_learner_takes_part_in_the_tasks_and_shots_beside_it(study_of: Make):
    made = plan(load(str(study := study_of()))[0], study.parent)
    parts = {(cell.task, cell.shots) for cell in made.cells if cell.learner == "scored"}
    assert parts == {("abstract->category", 1)}
    assert Counter(cell.learner for cell in made.cells) == CELLS


def test_cells_are_named_by_where_the_model_is_and_not_by_its_price(study_of: Make):
    def cells(**replaced: str) -> set[str]:
        study = study_of(**replaced)
        return {cell.id for cell in plan(load(str(study))[0], study.parent).cells}

    assert cells() == cells(price_in="    price_in: 3", token_budget="    token_budget: 5")
    assert len(cells() & cells(load="    load: api:large@http://127.0.0.1:9/v1")) == CELLS["majority"]


def test_a_ledger_of_an_older_format_is_refused_with_what_to_do_and_left_as_it_is(study_of: Make, tmp_path: Path):
    gone = dict.fromkeys(("concurrency", "timeout", "tries", "backoff", "price_in", "price_out", "token_budget"), "")
    study = study_of(load="    load: fake:echo", body="", **gone)
    library.run(study, tmp_path / "run")
    old = sqlite3.connect(tmp_path / "run" / LEDGER)
    old.execute("PRAGMA user_version = 2")
    old.close()
    before = (tmp_path / "run" / LEDGER).read_bytes()
    for verb in (library.run, lambda _, folder: library.open_run(folder)):
        with pytest.raises(LedgerError, match=r"format 2 is of an older release.* run into another folder \(-o\)"):
            verb(study, tmp_path / "run")
    assert (tmp_path / "run" / LEDGER).read_bytes() == before
