"""Run what is missing of a plan: in this process, or by several workers; only the driver writes the ledger."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Any, Literal, TypeAlias

from ..errors import EpisodeError, LedgerError, ModelUnavailableError, TaskloomError
from ..folders import remove_leftovers
from ..ids import fingerprint
from ..learners import Learner, identity
from ..messages import Note
from ..models import WORKER
from ..processes import leave_signals, new_owner, own_safe_path, restore, safe_path, signals_held
from ..progress import Progress
from ..suites import store
from . import artifacts
from .cells import Cell
from .finished import Finished
from .ledger import Ledger
from .merging import discard_damaged
from .plan import Plan, learners_of, models_of
from .queue import Queue
from .study import Study
from .work import Bench, work

BEAT = 10.0  # seconds between heartbeats
POLL = 1.0  # seconds between looks at what other runs have finished
AHEAD = 2  # cells claimed for each worker beyond the one at hand
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Done:
    """How a run ended."""

    ran: int
    failed: int
    skipped: int
    interrupted: bool
    waiting: Mapping[str, Note] = field(default_factory=dict)  # learners whose model answers nothing for now, and why
    damaged: tuple[str, ...] = ()  # cells whose results were, and that are run again


@dataclass(frozen=True, slots=True)
class _Fault:
    """Why a cell gave nothing; of an exception itself, it is not known whether it comes back from a worker whole."""

    why: Note
    trace: str
    is_unavailable: bool = False  # a model that answers nothing more for now
    is_undrawn: bool = False  # an episode that can't be drawn

    @classmethod
    def of(cls, error: BaseException) -> _Fault:
        """Tell what went wrong; what others' exceptions do when they are asked for their text is not known."""
        trace = "".join(traceback.format_exception(error))
        note = error.note if isinstance(error, TaskloomError) else Note.of("learner-raised", error=type(error).__name__)
        return cls(note, trace, isinstance(error, ModelUnavailableError), isinstance(error, EpisodeError))


_Outcome: TypeAlias = Finished | _Fault


# --- workers ---------------------------------------------------------------------------------------------------------

_bench: Bench | None = None  # of this worker process


def _start_worker(
    study: Study, folder: str, run: str, known: Mapping[str, str], workers: int, path: str, numbers: Any
) -> None:
    """Open the suite once, share cores and accelerators, leave signals to the driver, and end when that is gone."""
    global _bench  # noqa: PLW0603 (a worker process has one bench)
    restore(path)
    os.dup2(2, 1)  # what learners print is no result, nor what libraries of theirs do
    leave_signals()
    _limit_threads(max(1, (os.cpu_count() or 1) // workers))
    with numbers.get_lock():
        os.environ[WORKER] = str(numbers.value)
        numbers.value += 1
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    learners = {name: of for name, of in learners_of(study).items() if known.get(name) == _content(of)}
    models = models_of(study, learners)
    _bench = Bench(study, store.open_suite(Path(folder)), learners, models, Path(run), workers)


def _limit_threads(most: int) -> None:
    """Limit what is loaded already, numpy among it, and what will be."""
    from threadpoolctl import threadpool_limits

    os.environ.update(dict.fromkeys(THREADS, str(most)))
    threadpool_limits(most)


def _end_with(parent: multiprocessing.process.BaseProcess) -> None:
    """Wait for the driver to be gone, which a kill -9 gives no notice of, and go too."""
    parent.join()
    os._exit(1)


def _work_here(cell: Cell) -> _Outcome:
    assert _bench is not None
    return _try(_bench, cell)


def _try(bench: Bench, cell: Cell) -> _Outcome:
    """Run one cell, and take whatever is raised for a fault of this cell, a panic in compiled code too."""
    try:
        with redirect_stdout(sys.stderr):  # what learners print is no result
            return work(bench, cell)
    except KeyboardInterrupt:  # the user's
        raise
    except BaseException as error:
        return _Fault.of(error)


def _content(of: Learner) -> str:
    """Name a learner by its content, that of its file included."""
    return fingerprint(identity(of))


class _Here:
    """Runs cells in this process, one when its turn comes."""

    def __init__(self, plan: Plan, run: Path) -> None:
        self.bench = Bench(plan.study, plan.suite, plan.learners, plan.models, run)

    def submit(self, cell: Cell) -> Future[_Outcome]:
        future: Future[_Outcome] = Future()
        future.set_result(_try(self.bench, cell))
        return future

    def shutdown(self, *, now: bool = False) -> None:
        """Stop; there is nothing that runs."""


class _Pool:
    """Runs cells in several processes, which share the cores between them."""

    def __init__(self, plan: Plan, run: Path, workers: int) -> None:
        self.workers = workers
        known = {name: _content(of) for name, of in plan.learners.items()}
        self.context = multiprocessing.get_context("spawn")
        with safe_path():  # of the process that keeps count of what they share
            numbers = self.context.Value("i", 0)  # of workers
        self.arguments = (plan.study, str(plan.folder), str(run), known, workers, own_safe_path(), numbers)
        self.pool = self._made()

    def _made(self) -> ProcessPoolExecutor:
        with safe_path():  # of that process again, where it was ended
            return ProcessPoolExecutor(self.workers, self.context, initializer=_start_worker, initargs=self.arguments)

    def submit(self, cell: Cell) -> Future[_Outcome]:
        with safe_path(), signals_held():  # of workers, which are started when there is work for them
            try:
                return self.pool.submit(_work_here, cell)
            except BrokenProcessPool:  # a worker died, for want of memory say: its cells failed, the others go on
                self.pool = self._made()
                return self.pool.submit(_work_here, cell)

    def shutdown(self, *, now: bool = False) -> None:
        """Let what is at hand finish, or end it at once."""
        if now:
            for process in list(self.pool._processes.values()):
                process.kill()
        self.pool.shutdown(wait=True, cancel_futures=True)


# --- the driver ------------------------------------------------------------------------------------------------------


def run(
    plan: Plan,
    ledger: Ledger,
    *,
    workers: int = 1,
    progress: Progress | None = None,
    stopping: Callable[[], None] | None = None,
) -> Done:
    """Run all cells that are not finished; Ctrl-C and SIGTERM finish the cells at hand and give the others back.

    `stopping` is called as soon as that is asked for.
    """
    owner = new_owner()
    folder = ledger.path.parent
    crew = _Here(plan, folder) if workers == 1 else _Pool(plan, folder, workers)
    with _stopping(stopping) as stop, _beating(ledger.path, owner):
        try:
            damaged = discard_damaged(ledger, [cell.id for cell in plan.to_run])
            return replace(_drive(plan, ledger, crew, owner, workers, stop, progress), damaged=damaged)
        except BaseException:  # a second Ctrl-C, or a ledger that can't be written
            crew.shutdown(now=True)
            raise
        finally:
            crew.shutdown()
            ledger.release(owner)
            remove_leftovers(folder / artifacts.FOLDER)


def _drive(
    plan: Plan,
    ledger: Ledger,
    crew: _Here | _Pool,
    owner: str,
    workers: int,
    stop: threading.Event,
    progress: Progress | None,
) -> Done:
    ledger.free_the_dead()
    queue = Queue(plan.to_run, ledger, ledger.path.parent)
    total, tally = len(plan.to_run), {"done": 0, "failed": 0, "skipped": 0, "not tried": 0}
    running: dict[Future[_Outcome], Cell] = {}
    stuck: dict[str, Note] = {}
    if progress:
        progress(total - queue.left, total)
    while (queue.left and not stop.is_set()) or running:
        if not stop.is_set():
            tally["not tried"] += _hand_out(ledger, crew, owner, queue, running, 1 if workers == 1 else workers * AHEAD)
        finished, _ = wait(running, timeout=POLL, return_when=FIRST_COMPLETED)
        for future in finished:
            cell, found = running.pop(future), _outcome(future)
            state = _keep(ledger, owner, cell, found, optional=_is_optional(plan, cell))
            tally[state] += 1
            tally["not tried"] += queue.finished(cell) if state == "done" else queue.failed(cell)
            gone = isinstance(found, _Fault) and found.is_unavailable and cell.kind == "adapt"
            if isinstance(found, _Fault) and gone and cell.learner not in stuck:
                stuck[cell.learner] = found.why  # there is nothing to be had by trying its other cells now
                queue.drop(cell.learner)
        if progress:
            progress(total - queue.left - len(running), total)
    skipped = tally["skipped"] + tally.pop("not tried")
    return Done(sum(tally.values()), tally["failed"], skipped, stop.is_set(), stuck)


def _is_optional(plan: Plan, cell: Cell) -> bool:
    return cell.kind == "adapt" and plan.study.learners[cell.learner].optional


def _hand_out(
    ledger: Ledger,
    crew: _Here | _Pool,
    owner: str,
    queue: Queue,
    running: dict[Future[_Outcome], Cell],
    room: int,
) -> int:
    """Claim as many cells as there is room for; what another run has claimed goes to the end, until it is finished.

    Give how many are skipped, for what another run has made is not what it was.
    """
    lost: list[Cell] = []
    while queue.ready and len(running) < room:
        wanted = [queue.ready.popleft() for _ in range(min(len(queue.ready), room - len(running)))]
        won = queue.claimed(wanted, owner)
        running |= {crew.submit(cell): cell for cell in wanted if cell.id in won}
        lost += [cell for cell in wanted if cell.id not in won]
    done = ledger.done(cell.id for cell in lost)
    queue.ready.extend(cell for cell in lost if cell.id not in done)
    skipped = sum(queue.finished(cell) for cell in lost if cell.id in done)
    if queue.left and not running:
        time.sleep(POLL)  # only what other runs have at hand is left
    return skipped


def _outcome(future: Future[_Outcome]) -> _Outcome:
    """Give what a worker brought back; where it died, nothing did."""
    error = future.exception()
    return future.result() if error is None else _Fault.of(error)


def _keep(
    ledger: Ledger, owner: str, cell: Cell, found: _Outcome, *, optional: bool
) -> Literal["done", "failed", "skipped"]:
    if isinstance(found, Finished):
        ledger.finish(cell, found)
        artifacts.drop_partial(ledger.path.parent, cell.id)
        return "done"
    if found.is_undrawn or (optional and found.is_unavailable):
        ledger.fail(cell.id, owner, "skipped", found.why)
        return "skipped"
    ledger.fail(cell.id, owner, "failed", found.why, found.trace)
    return "failed"


@contextmanager
def _beating(path: Path, owner: str) -> Iterator[None]:
    """Keep our claims alive from a thread of its own, however long a cell takes."""
    ended = threading.Event()

    def beat() -> None:
        with Ledger(path) as ledger:
            while not ended.wait(BEAT):
                with suppress(LedgerError):  # busy, or full: the next beat tries again
                    ledger.beat(owner)

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def _stopping(notify: Callable[[], None] | None) -> Iterator[threading.Event]:
    """Turn Ctrl-C and SIGTERM into an event; a second one stops at once, and more are ignored meanwhile."""
    stop, at_once = threading.Event(), threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def ask(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 (a signal handler's arguments)
        if at_once.is_set():
            return  # what is being cleaned up would be left half done
        if stop.is_set():
            at_once.set()
            raise KeyboardInterrupt
        stop.set()
        if notify:  # by another thread: this one may hold what printing needs
            threading.Thread(target=notify, daemon=True).start()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
