from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from taskloom.errors import ModelUnavailableError, StudyError, UsageError
from taskloom.messages import Note
from taskloom.scores.tasks import score_task
from taskloom.studies.api import keep_plan
from taskloom.studies.cells import Cell
from taskloom.studies.crews import CellFault, CellOutcome
from taskloom.studies.ledger import Ledger
from taskloom.studies.merging import Merged, merge
from taskloom.studies.plan import Plan, plan
from taskloom.studies.results import Results, read_results
from taskloom.studies.run import _drive, _Stop, run
from taskloom.studies.study import load

KILLS = int(os.environ.get("TASKLOOM_KILLS", "6"))  # fifty were tried; each takes a second
Make = Callable[..., Path]
Until = Callable[[Callable[[], bool]], None]
PROGRAM = """
import sys
from pathlib import Path
from taskloom.studies.api import keep_plan
from taskloom.studies.cells import Cell
from taskloom.studies.ledger import Ledger
from taskloom.studies.plan import plan
from taskloom.studies.run import run
from taskloom.studies.study import load
if __name__ == "__main__":
    made = plan(load(sys.argv[1])[0], Path(sys.argv[2]).parent)
    with Ledger(Path(sys.argv[2])) as ledger:
        done = run(made, ledger, workers=int(sys.argv[3]))
    sys.exit(128 + done.signal if done.interrupted else 0)
"""


def planned(path: Path, **options: object) -> Plan:
    return plan(load(str(path))[0], path.parent, **options)  # type: ignore[arg-type]


def results(made: Plan, ledger: Ledger, trial: int = 0) -> Results:
    keep_plan(made, ledger, trial)
    return read_results(ledger, made.suite, command="x", trial=trial)


def contents(path: Path) -> list[tuple[str, str, bytes]]:
    with Ledger(path) as ledger:
        return list(ledger.contents())


def child(study: Path, ledger: Path, workers: int = 1, cwd: Path | None = None) -> subprocess.Popen[bytes]:
    program = ledger.parent / "program.py"
    program.write_text(PROGRAM)
    return subprocess.Popen([sys.executable, str(program), str(study), str(ledger), str(workers)], cwd=cwd)


def test_every_cell_is_run_once(study: Make, tmp_path: Path):
    made = planned(study())
    with Ledger(tmp_path / "l.db") as ledger:
        assert run(made, ledger).ran == len(made.cells)
        assert run(made, ledger).ran == 0
        found = results(made, ledger)
    assert len(found.outcomes) == len(made.cells)
    assert found.missing == 0
    outcome = next(o for o in found.outcomes if o.learner == "slow" and o.task == "abstract->title")
    assert outcome.answers == ("1",) * 8
    assert outcome.counts == {"fitted": 1}
    assert outcome.scores["rouge-l"].units.shape == (8, 1)


def test_workers_give_the_same_bytes_as_one_process(study: Make, tmp_path: Path):
    made = planned(study())
    for name, workers in (("one.db", 1), ("two.db", 2)):
        with Ledger(tmp_path / name) as ledger:
            run(made, ledger, workers=workers)
    assert contents(tmp_path / "one.db") == contents(tmp_path / "two.db")


@pytest.mark.parametrize("workers", [1, 2])
def test_no_code_of_the_working_folder_is_run(study: Make, tmp_path: Path, workers: int):
    here, runs = tmp_path / "here", tmp_path / "runs"
    here.mkdir()
    runs.mkdir()
    for name in ("pickle", "multiprocessing", "hashlib", "threadpoolctl", "taskloom"):
        (here / f"{name}.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'a').write({name!r})")
    with child(study(), runs / "l.db", workers, cwd=here) as process:
        assert process.wait(60) == 0
    assert not (tmp_path / "mark").exists()
    with Ledger(runs / "l.db") as ledger:
        assert set(ledger.states().values()) == {"done"}  # with the learner beside the study


ENVIRONMENT_LEARNER = """
import os
from dataclasses import dataclass
from typing import ClassVar
from taskloom import Learner

@dataclass(frozen=True)
class Slow(Learner):
    seconds: float = 0.0
    broken: str = ""
    version: ClassVar[int] = 1
    outputs: ClassVar[frozenset] = frozenset({"labels", "text"})
    unaided: ClassVar[frozenset] = frozenset({"labels", "text"})

    def fit(self, task, support, dev, *, seed, tools):
        return self

    def predict(self, items):
        return [os.environ.get("PYTHONSAFEPATH", "not set")] * len(items)
"""


@pytest.mark.parametrize("own", ["", "yes"])
def test_what_learners_start_is_started_as_the_user_has_it(
    study: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str
):
    path = study()
    (tmp_path / "slow.py").write_text(ENVIRONMENT_LEARNER)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    if own:
        monkeypatch.setenv("PYTHONSAFEPATH", own)
    made = planned(path, only=["slow"])
    with Ledger(tmp_path / "l.db") as ledger:
        run(made, ledger, workers=2)
        found = results(made, ledger)
    told = {answer for outcome in found.outcomes for answer in outcome.answers if outcome.task == "abstract->title"}
    assert told == {own or "not set"}
    assert os.environ.get("PYTHONSAFEPATH", "") == own


def test_a_run_that_is_killed_again_and_again_ends_like_one_that_was_not(study: Make, tmp_path: Path):
    path = study(seconds=0.05)
    chance = random.Random(0)
    killed = 0
    while killed < KILLS:
        with child(path, tmp_path / "killed.db", workers=1 + killed % 2) as process:
            try:
                process.wait(0.5 + chance.random())
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
            killed += 1
    with Ledger(tmp_path / "killed.db") as ledger:
        run(planned(path), ledger)
    with Ledger(tmp_path / "whole.db") as ledger:
        run(planned(path), ledger)
    assert contents(tmp_path / "killed.db") == contents(tmp_path / "whole.db")


def test_workers_die_with_their_driver(study: Make, tmp_path: Path, until: Until):
    with child(study(seconds=30), tmp_path / "l.db", workers=2) as process:
        until(lambda: len(children(process.pid)) >= 3)  # two, and the one that keeps count of what they share
        workers = children(process.pid)
        process.send_signal(signal.SIGKILL)
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))


def children(pid: int) -> list[int]:
    try:
        return [int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def test_two_runs_at_once_share_the_work_and_do_nothing_twice(study: Make, tmp_path: Path):
    path = study(seconds=0.05)
    with child(path, tmp_path / "l.db") as one, child(path, tmp_path / "l.db") as two:
        assert (one.wait(60), two.wait(60)) == (0, 0)
    with Ledger(tmp_path / "whole.db") as ledger:
        run(planned(path), ledger)
    assert contents(tmp_path / "l.db") == contents(tmp_path / "whole.db")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_keeps_what_is_finished_and_gives_back_the_rest(
    study: Make, tmp_path: Path, until: Until, number: int
):
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whatever the tests were started by
    with child(study(seconds=1), tmp_path / "l.db") as process:
        until(lambda: (tmp_path / "l.db").exists() and bool(contents(tmp_path / "l.db")))
        signal.signal(signal.SIGHUP, before)
        process.send_signal(number)
        assert process.wait(60) == 128 + number
    with Ledger(tmp_path / "l.db") as ledger:
        assert set(ledger.states().values()) == {"done"}


def test_ledgers_of_two_machines_are_merged(study: Make, tmp_path: Path):
    path = study()
    halves = [planned(path, only=["majority"]), planned(path, only=["slow"])]
    for number, half in enumerate(halves):
        with Ledger(tmp_path / f"{number}.db") as ledger:
            run(half, ledger)
    with Ledger(tmp_path / "0.db") as ledger:
        assert merge(ledger, tmp_path / "1.db") == Merged(len(halves[1].to_run))
        assert run(planned(path), ledger).ran == 0


def test_a_damaged_result_is_told_left_out_of_the_report_and_run_again(study: Make, tmp_path: Path):
    made = planned(study())
    with Ledger(tmp_path / "l.db") as ledger:
        run(made, ledger)
        whole = list(ledger.contents())
        one, other = (cell.id for cell in made.cells[:2])
        swapped = "UPDATE results SET body = (SELECT body FROM results WHERE cell = ?) WHERE cell = ?"
        ledger.db.execute(swapped, (other, one))
        found = results(made, ledger)
        assert one not in {outcome.cell for outcome in found.outcomes}
        assert (found.missing, found.skipped[Note.of("result-damaged", cell=one)]) == (1, 1)
        done = run(made, ledger)
        assert (done.ran, done.damaged) == (1, (one,))
        assert run(made, ledger).damaged == ()
        assert list(ledger.contents()) == whole


def test_a_cell_marked_done_without_a_result_is_run(study: Make, tmp_path: Path):
    made = planned(study())
    with Ledger(tmp_path / "l.db") as ledger:
        run(made, ledger)
        whole = list(ledger.contents())
        ledger.db.execute("DELETE FROM results WHERE cell = ?", (made.cells[0].id,))
        assert results(made, ledger).missing == 1
        assert run(made, ledger).ran == 1
        assert list(ledger.contents()) == whole


def test_a_learner_that_raises_fails_its_cell_alone_and_is_tried_again(study: Make, tmp_path: Path):
    made = planned(study(broken="category"))
    with Ledger(tmp_path / "l.db") as ledger:
        done = run(made, ledger)
        assert 0 < done.failed < done.ran == len(made.cells)
        found = results(made, ledger)
        assert {failure.learner for failure in found.failures} == {"slow"}
        assert "RuntimeError: on purpose" in found.failures[0].traceback
        assert run(made, ledger).ran == done.failed
        assert run(planned(study()), ledger).failed == 0


def test_a_trial_is_kept_apart_from_the_real_run(study: Make, tmp_path: Path):
    path = study()
    trial, real = planned(path, limit=2), planned(path)
    assert not {cell.id for cell in trial.cells} & {cell.id for cell in real.cells}
    with Ledger(tmp_path / "l.db") as ledger:
        run(trial, ledger)
        assert results(real, ledger).missing == len(real.cells)
        found = results(trial, ledger, 2)
    assert found.smoke
    assert {len(outcome.answers) for outcome in found.outcomes} == {2}


def test_cells_are_named_by_content(study: Make, tmp_path: Path):
    first = {cell.id for cell in planned(study()).cells}
    assert {cell.id for cell in planned(study()).cells} == first
    other = planned(study(seconds=0.001))
    changed = {cell.learner for cell in other.cells if cell.id not in first}
    assert changed == {"slow"}


def test_only_keeps_some_tasks_or_learners(study: Make):
    path = study()
    assert {cell.learner for cell in planned(path, only=["majority"]).to_run} == {"majority"}
    assert {cell.task for cell in planned(path, only=["*->title"]).to_run} == {"abstract->title"}
    with pytest.raises(UsageError, match="matches no task and no learner"):
        planned(path, only=["nothing"])


def test_faults_are_named_before_any_work(study: Make):
    path = study()
    path.write_text(path.read_text().replace("majority", "majorty"))
    with pytest.raises(StudyError, match="did you mean majority"):
        planned(path)
    path.write_text(path.read_text().replace("majorty", "majority").replace("abstract->*", "abstrakt->title"))
    with pytest.raises(StudyError, match=r"study.yaml:6:9: unknown task: .* did you mean abstract->title"):
        planned(path)


def test_a_task_with_too_few_examples_is_left_out_and_told(study: Make):
    path = study()
    path.write_text(path.read_text().replace("query: 8", "query: 58"))
    made = planned(path)
    assert any("too few examples" in str(reason) for reason in made.skipped)
    path.write_text(path.read_text().replace("query: 58", "query: 999"))
    with pytest.raises(StudyError, match="nothing to run"):
        planned(path)


def test_a_claim_lives_as_long_as_its_cell_however_long_that_takes(
    study: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("taskloom.studies.run.BEAT", 0.05)
    made = planned(study(seconds=0.6), only=["slow", "abstract->title"])
    beats = []
    with Ledger(tmp_path / "l.db") as ledger, Ledger(tmp_path / "l.db"):
        running = threading.Thread(target=lambda: run(made, ledger_of(tmp_path)), daemon=True)
        running.start()
        while running.is_alive():
            beats += [beat for (beat,) in ledger.db.execute("SELECT beat FROM cells WHERE state = 'claimed'")]
            time.sleep(0.02)
    assert len(set(beats)) > 2 * len(made.to_run)


def ledger_of(folder: Path) -> Ledger:
    return Ledger(folder / "l.db")


def test_scores_of_several_fields_are_kept_apart(study: Make, tmp_path: Path):
    path = study()
    path.write_text(path.read_text().replace("abstract->*", "category->title+abstract").replace("slow: ", "# slow: "))
    made = planned(path)
    with Ledger(tmp_path / "l.db") as ledger:
        run(made, ledger)
        for outcome in results(made, ledger).outcomes:
            fresh = score_task(made.suite.tasks[outcome.task], outcome.gold, outcome.answers)
            assert {n: s.units.tolist() for n, s in outcome.scores.items()} == {
                n: s.units.tolist() for n, s in fresh.items()
            }
            assert len(fresh) == 4


@pytest.mark.parametrize("answer", ["{1}", "b'1'", "__import__('sys').exit(0)"])
@pytest.mark.parametrize("workers", [1, 2])
def test_an_answer_that_cannot_be_kept_fails_its_cell_alone(study: Make, tmp_path: Path, answer: str, workers: int):
    path = study()
    learner = path.with_name("slow.py")
    learner.write_text(learner.read_text().replace("str(len(item.fields))", answer))
    made = planned(path, only=["abstract->title"])
    with Ledger(tmp_path / "l.db") as ledger:
        done = run(made, ledger, workers=workers)
        assert done.failed == sum(cell.learner == "slow" for cell in made.to_run)
        assert done.ran == len(made.to_run)


def test_a_worker_that_dies_takes_no_other_cell_with_it_for_good(study: Make, tmp_path: Path):
    path = study()
    learner = path.with_name("slow.py")
    learner.write_text(learner.read_text().replace("time.sleep(self.seconds)", "__import__('os')._exit(9)"))
    made = planned(path)
    with Ledger(tmp_path / "l.db") as ledger:
        run(made, ledger, workers=2)
        run(planned(path, only=["majority"]), ledger)
        found = results(made, ledger)
    assert {failure.learner for failure in found.failures} == {"slow"}


def test_a_learner_that_changes_after_the_plan_is_not_run_under_the_old_name(study: Make, tmp_path: Path):
    path = study()
    made = planned(path, only=["abstract->title"])
    learner = path.with_name("slow.py")
    learner.write_text(learner.read_text().replace("str(len(item.fields))", "'another'"))
    with Ledger(tmp_path / "l.db") as ledger:
        run(made, ledger, workers=2)
        found = results(made, ledger)
    assert {outcome.learner for outcome in found.outcomes} == {"majority"}
    assert {failure.why.code for failure in found.failures} == {"learner-changed"}
    assert {failure.learner for failure in found.failures} == {"slow"}


def test_what_is_left_out_is_told_in_the_same_order_under_any_hash_seed(study: Make, tmp_path: Path):
    program = (
        "from pathlib import Path; from taskloom.studies.plan import plan; from taskloom.studies.study import load; "
        f"print(plan(load({str(study())!r})[0], Path({str(tmp_path)!r})).skipped)"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True
        ).stdout
        for seed in "123"
    }
    assert len(told) == 1


def raising(study: Make, error: str, **options: object) -> Path:
    """A study whose learner raises on some tasks."""
    path = study(**{"broken": "category", **options})
    learner = path.with_name("slow.py")
    learner.write_text(ERRORS + learner.read_text().replace('RuntimeError("on purpose")', error))
    return path


ERRORS = """
from taskloom.errors import ModelUnavailableError

class Odd(Exception):
    def __init__(self, message, *, response):
        super().__init__(message)

class Panic(BaseException):
    pass
"""


@pytest.mark.parametrize(
    "error", ['Odd("on purpose", response=1)', 'Panic("on purpose")', 'ValueError("\\ud800 on purpose")']
)
def test_whatever_is_raised_fails_its_cell_alone_by_any_number_of_workers(study: Make, tmp_path: Path, error: str):
    made = planned(raising(study, error), only=["abstract->title", "abstract->category"])
    told = []
    for workers in (1, 2):
        with Ledger(tmp_path / f"{workers}.db") as ledger:
            assert run(made, ledger, workers=workers).ran == len(made.to_run)
            failures = results(made, ledger).failures
        told.append({failure.cell: failure.traceback.splitlines()[-1] for failure in failures})
        assert {(failure.learner, failure.task) for failure in failures} == {("slow", "abstract->category")}
    assert told[0] == told[1]
    assert all(line.endswith("on purpose") for line in told[0].values())


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("optional", [False, True])
def test_a_model_that_answers_nothing_is_told_by_any_number_of_workers(
    study: Make, tmp_path: Path, workers: int, optional: bool
):
    path = raising(study, 'ModelUnavailableError("gone")')
    path.write_text(path.read_text().replace("slow: {", f"slow: {{optional: {str(optional).lower()}, "))
    made = planned(path, only=["abstract->category"])
    with Ledger(tmp_path / "l.db") as ledger:
        done = run(made, ledger, workers=workers)
        ended = ledger.ended("skipped" if optional else "failed")
    assert {name: str(why) for name, why in done.waiting.items()} == {"slow": "gone"}
    assert {str(why) for why, _ in ended.values()} == {"gone"}
    assert all(trace.strip().endswith("ModelUnavailableError: gone") != optional for _, trace in ended.values())


def test_workers_share_the_cores_for_what_is_loaded_already(study: Make, tmp_path: Path):
    path = study()
    learner = path.with_name("slow.py")
    count = "[tools.count(str(p['num_threads'])) for p in __import__('threadpoolctl').threadpool_info()]"
    learner.write_text(learner.read_text().replace('tools.count("fitted")', count))
    made = planned(path, only=["slow"])
    with Ledger(tmp_path / "l.db") as ledger:
        run(made, ledger, workers=2)
        found = results(made, ledger).outcomes
    assert {int(name) for outcome in found for name in outcome.counts} == {max(1, (os.cpu_count() or 1) // 2)}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_cell_that_equal_learners_share_is_run_once(study: Make, tmp_path: Path, workers: int):
    path = study()
    learner = path.with_name("slow.py")
    (tmp_path / "fitted").mkdir()
    mark = f"__import__('tempfile').mkdtemp(dir={str(tmp_path / 'fitted')!r})"
    learner.write_text(learner.read_text().replace("time.sleep(self.seconds)", mark))
    path.write_text(path.read_text() + '  twin: {"slow.py:Slow": {seconds: 0.0, broken: ""}}\n')
    made = planned(path, only=["slow", "twin", "abstract->title"])
    shown: list[tuple[int, int]] = []
    with Ledger(tmp_path / "l.db") as ledger:
        done = run(made, ledger, workers=workers, progress=lambda *told: shown.append(told))
        assert len(results(made, ledger).outcomes) == 2 * done.ran == 2 * len(made.to_run)
    assert len(list((tmp_path / "fitted").iterdir())) == done.ran
    assert shown[-1] == (done.ran, done.ran)


class Crew:
    """Runs nothing: of one learner the model is gone, and others fail."""

    room = 1

    def __init__(self) -> None:
        self.taken: list[Cell] = []

    def submit(self, cell: Cell) -> None:
        self.taken.append(cell)

    def finished(self, timeout: float) -> list[tuple[Cell, CellOutcome]]:
        cell = self.taken.pop()
        return [(cell, CellFault.of(ModelUnavailableError("gone") if cell.learner == "stuck" else ValueError()))]


class Open:
    """A ledger that gives and forgets everything."""

    path = Path("nowhere/ledger.db")

    def states(self) -> dict[str, str]:
        return {}

    def done(self, cells: Iterable[str]) -> set[str]:
        return set(cells)

    def claim(self, cells: list[str], owner: str, *, again: bool = False) -> list[str]:
        return cells

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_: None


def test_the_cost_of_a_cell_does_not_grow_with_their_number():
    size = 40_000
    cells = tuple(
        Cell(id=str(n), key="", task="t", learner="other" if n else "stuck", shots=0, seed=0, index=n)
        for n in range(size)
    )
    learners = dict.fromkeys(("other", "stuck"), SimpleNamespace(optional=False))
    made: Any = SimpleNamespace(to_run=cells, study=SimpleNamespace(learners=learners))
    ledger: Any = Open()
    crew: Any = Crew()
    start = time.process_time()
    done = _drive(made, ledger, crew, "me", _Stop(), None)
    assert (done.failed, str(done.waiting["stuck"])) == (size, "gone")
    assert time.process_time() - start < 15  # two; it was fifty


class Counting(Ledger):
    """Counts how often cells are claimed."""

    claims = 0

    def claim(self, cells: Iterable[str], owner: str, *, again: bool = False) -> list[str]:
        self.claims += 1
        return super().claim(cells, owner, again=again)


def test_what_other_runs_have_at_hand_is_waited_for_and_not_asked_for_all_the_time(
    study: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("taskloom.studies.run.POLL", 0.2)
    made = planned(study(), only=["majority"])
    with (ledger := Counting(tmp_path / "l.db")):
        Ledger.claim(ledger, [cell.id for cell in made.to_run], "other")
        threading.Timer(1, lambda: ledger_of(tmp_path).release("other")).start()
        assert run(made, ledger).ran == len(made.to_run)
        assert ledger.claims < 20 * len(made.to_run)
