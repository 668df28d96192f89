"""Who runs cells: a crew takes them, and gives what they gave. One works in this process, one in several."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import traceback
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from ..errors import EpisodeError, ModelUnavailableError, TaskloomError
from ..ids import fingerprint
from ..learners import Learner, identity
from ..masking import masked, masked_all
from ..messages import Note
from ..models import WORKER
from ..processes import leave_signals, own_safe_path, restore, safe_path, signals_held
from ..suites import store
from .cells import Cell
from .finished import Finished
from .plan import Plan
from .study import Study
from .study_learners import learners_of, models_of
from .work import Bench, work

AHEAD = 2  # cells for each worker, the one at hand included
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class CellFault:
    """Why a cell gave nothing; of an exception itself, it is not known whether it comes back from a worker whole."""

    why: Note
    trace: str
    is_unavailable: bool = False  # a model that answers nothing more for now
    is_undrawn: bool = False  # an episode that can't be drawn

    @classmethod
    def of(cls, error: BaseException) -> CellFault:
        """Tell what went wrong; what others' exceptions do when they are asked for their text is not known."""
        trace = "".join(traceback.format_exception(error))
        note = error.note if isinstance(error, TaskloomError) else Note.of("learner-raised", error=type(error).__name__)
        return cls(note, trace, isinstance(error, ModelUnavailableError), isinstance(error, EpisodeError))

    def masked(self) -> CellFault:
        """Leave keys out: those of a worker are not known where this is written."""
        return replace(self, why=Note.from_json(masked_all(self.why.to_json())), trace=masked(self.trace))


CellOutcome: TypeAlias = Finished | CellFault


class Crew(Protocol):
    """Takes cells, and gives what they gave; only the driver that asks it writes the ledger."""

    @property
    def room(self) -> int:
        """Say how many cells it takes at most, those at hand included."""

    def submit(self, cell: Cell) -> None:
        """Take a cell to run."""

    def finished(self, timeout: float) -> list[tuple[Cell, CellOutcome]]:
        """Wait for a cell to finish, for so many seconds, and give those that did."""

    def recall(self) -> list[Cell]:
        """Give back the cells that were not begun."""

    def status(self) -> str:
        """Say who is at work, for people; nothing where that is known."""

    def shutdown(self, *, now: bool = False) -> None:
        """End all that was started: once what is at hand is finished, or at once."""


# --- workers ---------------------------------------------------------------------------------------------------------

_bench: Bench | None = None  # of this worker process


def _start_worker(
    study: Study, folder: str, run: str, known: Mapping[str, str], workers: int, path: str, numbers: Any
) -> None:
    """Open the suite once, share cores and accelerators, leave signals to the driver, and end when that is gone."""
    global _bench  # noqa: PLW0603 (a worker process has one bench)
    from .. import console

    restore(path)
    console.open_streams()
    os.dup2(2, 1)  # what learners print is no result, nor what libraries of theirs do
    leave_signals()
    limit_threads(max(1, (os.cpu_count() or 1) // workers))
    with numbers.get_lock():
        os.environ[WORKER] = str(numbers.value)
        numbers.value += 1
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    learners = {name: of for name, of in learners_of(study).items() if known.get(name) == learner_content(of)}
    models = models_of(study, learners)
    _bench = Bench(study, store.open_suite(Path(folder)), learners, models, Path(run), workers)


def limit_threads(most: int) -> None:
    """Limit what is loaded already, numpy among it, and what will be."""
    from threadpoolctl import threadpool_limits

    os.environ.update(dict.fromkeys(THREADS, str(most)))
    threadpool_limits(most)


def _end_with(parent: multiprocessing.process.BaseProcess) -> None:
    """Wait for the driver to be gone, which a kill -9 gives no notice of, and go too."""
    parent.join()
    os._exit(1)


def _work_here(cell: Cell) -> CellOutcome:
    assert _bench is not None
    return attempt(_bench, cell)


def attempt(bench: Bench, cell: Cell) -> CellOutcome:
    """Run one cell, and take whatever is raised for a fault of this cell, a panic in compiled code too.

    Keys are masked here, before anything is sent: nodes of a cluster have some of their own.
    """
    try:
        with redirect_stdout(sys.stderr):  # what learners print is no result
            return work(bench, cell).masked()
    except KeyboardInterrupt:  # the user's
        raise
    except BaseException as error:
        return CellFault.of(error).masked()


def learner_content(of: Learner) -> str:
    """Name a learner by its content, that of its file included."""
    return fingerprint(identity(of))


class Here:
    """Runs cells in this process, one when its turn comes."""

    room = 1

    def __init__(self, plan: Plan, run: Path) -> None:
        self.bench = Bench(plan.study, plan.suite, plan.learners, plan.models, run)
        self.taken: list[Cell] = []

    def submit(self, cell: Cell) -> None:
        """Take a cell to run."""
        self.taken.append(cell)

    def finished(self, timeout: float) -> list[tuple[Cell, CellOutcome]]:  # noqa: ARG002 (as all crews)
        """Run the cell that was taken."""
        return [(cell, attempt(self.bench, cell)) for cell in self.recall()]

    def recall(self) -> list[Cell]:
        """Give back the cell that was taken, if there is one."""
        taken, self.taken = self.taken, []
        return taken

    def status(self) -> str:
        """Say nothing: there is this process."""
        return ""

    def shutdown(self, *, now: bool = False) -> None:
        """Stop; there is nothing that runs."""


class Pool:
    """Runs cells in several processes, which share the cores between them."""

    def __init__(self, plan: Plan, run: Path, workers: int) -> None:
        self.workers, self.room = workers, workers * AHEAD
        self.running: dict[Future[CellOutcome], Cell] = {}
        known = {name: learner_content(of) for name, of in plan.learners.items()}
        self.context = multiprocessing.get_context("spawn")
        with safe_path():  # of the process that keeps count of what they share
            numbers = self.context.Value("i", 0)  # of workers
        self.arguments = (plan.study, str(plan.folder), str(run), known, workers, own_safe_path(), numbers)
        self.pool = self._made()

    def _made(self) -> ProcessPoolExecutor:
        with safe_path():  # of that process again, where it was ended
            return ProcessPoolExecutor(self.workers, self.context, initializer=_start_worker, initargs=self.arguments)

    def submit(self, cell: Cell) -> None:
        """Take a cell to run."""
        with safe_path(), signals_held():  # of workers, which are started when there is work for them
            try:
                future = self.pool.submit(_work_here, cell)
            except BrokenProcessPool:  # a worker died, for want of memory say: its cells failed, the others go on
                self.pool = self._made()
                future = self.pool.submit(_work_here, cell)
        self.running[future] = cell

    def finished(self, timeout: float) -> list[tuple[Cell, CellOutcome]]:
        """Wait for a cell to finish, and give those that did."""
        ended, _ = wait(self.running, timeout=timeout, return_when=FIRST_COMPLETED)
        return [(self.running.pop(future), _outcome(future)) for future in ended]

    def recall(self) -> list[Cell]:
        """Give back the cells that no process has begun."""
        return [self.running.pop(future) for future in list(self.running) if future.cancel()]

    def status(self) -> str:
        """Say nothing: the user knows how many there are."""
        return ""

    def shutdown(self, *, now: bool = False) -> None:
        """Let what is at hand finish, or end it at once."""
        if now:
            for process in list((self.pool._processes or {}).values()):  # None once it was shut down
                process.kill()
        self.pool.shutdown(wait=True, cancel_futures=True)


def _outcome(future: Future[CellOutcome]) -> CellOutcome:
    """Give what a worker brought back; where it died, nothing did."""
    error = future.exception()
    return future.result() if error is None else CellFault.of(error)
