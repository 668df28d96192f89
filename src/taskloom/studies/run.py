"""Run what is missing of a plan: in this process, or by several workers; only the driver writes the ledger."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import traceback
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import TypeAlias

from ..core import Suite
from ..episodes import Deck, episode
from ..errors import EpisodeError, LearnerError, LedgerError, ModelUnavailableError
from ..ids import fingerprint
from ..learners import Learner, Toolbox, answer, identity, model_of
from ..models import LanguageModel, Usage
from ..models.load import Source
from ..progress import Progress
from ..scores.tasks import score_key, score_task
from ..suites import store
from .costs import Cost, forget_peak, peak_memory
from .ledger import Finished, Ledger
from .plan import Cell, Plan, learners_of, models_of, sampler
from .study import Study

BEAT = 10.0  # seconds between heartbeats
POLL = 1.0  # seconds between looks at what other runs have finished
AHEAD = 2  # cells claimed for each worker beyond the one at hand
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Done:
    """How a run ended."""

    ran: int
    failed: int
    left_out: int
    interrupted: bool
    waiting: Mapping[str, str] = field(default_factory=dict)  # learners whose model answers nothing for now, and why


@dataclass(frozen=True, slots=True)
class _Fault:
    """Why a cell gave nothing, in words: of an exception, nobody knows whether it comes back from a worker whole."""

    kind: type[BaseException]  # as far as the driver cares
    message: str
    trace: str

    @classmethod
    def of(cls, error: BaseException) -> _Fault:
        """Tell what went wrong."""
        kind = next(k for k in (ModelUnavailableError, EpisodeError, BaseException) if isinstance(error, k))
        message = str(error) if kind is not BaseException else ""  # what others do when asked, nobody knows either
        return cls(kind, message, "".join(traceback.format_exception(error)))


_Outcome: TypeAlias = Finished | _Fault


@dataclass(frozen=True, slots=True)
class _Bench:
    """What a worker keeps at hand."""

    study: Study
    suite: Suite
    learners: Mapping[str, Learner]
    models: Mapping[str, Source]
    run: Path  # its folder
    workers: int = 1
    decks: dict[str, Deck] = field(default_factory=dict)
    opened: dict[str, LanguageModel] = field(default_factory=dict)

    def model(self, name: str) -> LanguageModel:
        """Open a model once."""
        if name not in self.models:
            raise LearnerError(
                f"a learner names its model in a field `model`, so that it is part of its name: {name!r}"
            )
        if name not in self.opened:
            self.opened[name] = self.models[name].open(self.run, workers=self.workers)
        return self.opened[name]


def work(bench: _Bench, cell: Cell) -> Finished:
    """Run one cell: draw, adapt, answer, score."""
    if cell.learner not in bench.learners:
        raise LearnerError(f"its file was changed after the run had begun; run again: {cell.learner!r}")
    of = bench.learners[cell.learner]
    if model_of(of):
        bench.model(model_of(of))  # loading it is no part of what a cell costs
    forget_peak()
    before = {name: replace(model.usage) for name, model in bench.opened.items()}
    start = time.perf_counter()
    if cell.task not in bench.decks:
        bench.decks[cell.task] = Deck(bench.suite, cell.task)
    drawn = bench.decks[cell.task].draw(sampler(bench.study, cell.shots), seed=cell.seed, index=cell.index)
    if cell.limit:
        drawn = replace(drawn, rows={**drawn.rows, "query": drawn.rows["query"][: cell.limit]})
    trial = episode(bench.suite, drawn)
    tools = Toolbox({"classes left out": len(drawn.short)} if drawn.short else {}, bench.model, bench.suite.stores)
    answers = answer(of, trial, seed=cell.seed, tools=tools)
    gold = [example.gold for example in trial.query]
    scored = score_task(bench.suite.tasks[cell.task], gold, answers)
    found = Finished(
        answers=answers,
        items=[example.item.id for example in trial.query],
        rows=drawn.rows["query"],
        pool=drawn.pools["query"],
        counts=tools.counts,
        scores={score_key(name, given.metric): (given.units, given.unusable) for name, given in scored.items()},
        cost=_cost(bench, before, time.perf_counter() - start, len(trial.query)),
    )
    found.body()  # what can't be kept is a fault of this cell, not of the run
    return found


def _try(bench: _Bench, cell: Cell) -> _Outcome:
    """Run one cell, and take whatever is raised for a fault of this cell, a panic in compiled code too."""
    try:
        return work(bench, cell)
    except KeyboardInterrupt:  # the user's
        raise
    except BaseException as error:
        return _Fault.of(error)


def _cost(bench: _Bench, before: Mapping[str, Usage], seconds: float, items: int) -> Cost:
    used = [model.usage.since(before.get(name, Usage())) for name, model in bench.opened.items()]
    return Cost(
        seconds=seconds,
        items=items,
        read=sum(u.read for u in used),
        written=sum(u.written for u in used),
        computed=sum(u.computed for u in used),
        requests=sum(u.requests for u in used),
        dollars=sum(u.dollars for u in used),
        memory=peak_memory(),
    )


# --- workers ---------------------------------------------------------------------------------------------------------

_bench: _Bench | None = None  # of this worker process


def _start_worker(study: Study, folder: str, run: str, known: Mapping[str, str], workers: int) -> None:
    """Open the suite once, share the cores, leave signals to the driver, and end when the driver is gone."""
    global _bench  # noqa: PLW0603 (a worker process has one bench)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    _limit_threads(max(1, (os.cpu_count() or 1) // workers))
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    learners = {name: of for name, of in learners_of(study).items() if known.get(name) == _content(of)}
    models = models_of(study, learners)
    _bench = _Bench(study, store.open_suite(Path(folder)), learners, models, Path(run), workers)


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


def _content(of: Learner) -> str:
    """Name a learner by its content, that of its file included."""
    return fingerprint(identity(of))


class _Here:
    """Runs cells in this process, one when its turn comes."""

    def __init__(self, plan: Plan, run: Path) -> None:
        self.bench = _Bench(plan.study, plan.suite, plan.learners, plan.models, run)

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
        self.arguments = (plan.study, str(plan.folder), str(run), known, workers)
        self.pool = self._made()

    def _made(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self.workers, context, initializer=_start_worker, initargs=self.arguments)

    def submit(self, cell: Cell) -> Future[_Outcome]:
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
    owner = f"{os.uname().nodename}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    folder = ledger.path.parent
    crew = _Here(plan, folder) if workers == 1 else _Pool(plan, folder, workers)
    with _stopping(stopping) as stop, _beating(ledger.path, owner):
        try:
            return _drive(plan, ledger, crew, owner, workers, stop, progress)
        except BaseException:  # a second Ctrl-C, or a ledger that can't be written
            crew.shutdown(now=True)
            raise
        finally:
            crew.shutdown()
            ledger.release(owner)


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
    states = ledger.states()
    cells: dict[str, Cell] = {}
    for cell in plan.cells:  # equal learners under two names share theirs
        cells.setdefault(cell.id, cell)
    waiting = deque(cell for cell in cells.values() if states.get(cell.id) != "done")
    total, tally = len(cells), {"done": 0, "failed": 0, "left out": 0}
    running: dict[Future[_Outcome], Cell] = {}
    stuck: dict[str, str] = {}
    if progress:
        progress(total - len(waiting), total)
    while (waiting and not stop.is_set()) or running:
        if not stop.is_set():
            _hand_out(ledger, crew, owner, waiting, running, 1 if workers == 1 else workers * AHEAD)
        finished, _ = wait(running, timeout=POLL, return_when=FIRST_COMPLETED)
        for future in finished:
            cell, found = running.pop(future), _outcome(future)
            tally[_keep(ledger, owner, cell, found, optional=plan.study.learners[cell.learner].optional)] += 1
            if isinstance(found, _Fault) and found.kind is ModelUnavailableError and cell.learner not in stuck:
                stuck[cell.learner] = found.message  # there is nothing to be had by trying its other cells now
                waiting = deque(other for other in waiting if other.learner != cell.learner)
        if progress:
            progress(total - len(waiting) - len(running), total)
    return Done(sum(tally.values()), tally["failed"], tally["left out"], stop.is_set(), stuck)


def _hand_out(
    ledger: Ledger,
    crew: _Here | _Pool,
    owner: str,
    waiting: deque[Cell],
    running: dict[Future[_Outcome], Cell],
    room: int,
) -> None:
    """Claim as many cells as there is room for; what another run has claimed goes to the end, until it is finished."""
    lost: list[Cell] = []
    while waiting and len(running) < room:
        wanted = [waiting.popleft() for _ in range(min(len(waiting), room - len(running)))]
        won = set(ledger.claim([cell.id for cell in wanted], owner))
        running |= {crew.submit(cell): cell for cell in wanted if cell.id in won}
        lost += [cell for cell in wanted if cell.id not in won]
    done = ledger.done(cell.id for cell in lost)
    waiting.extend(cell for cell in lost if cell.id not in done)
    if waiting and not running:
        time.sleep(POLL)  # only what other runs have at hand is left


def _outcome(future: Future[_Outcome]) -> _Outcome:
    """Give what a worker brought back; where it died, nothing did."""
    error = future.exception()
    return future.result() if error is None else _Fault.of(error)


def _keep(ledger: Ledger, owner: str, cell: Cell, found: _Outcome, *, optional: bool) -> str:
    if isinstance(found, Finished):
        ledger.finish(cell.id, (cell.learner, cell.task, cell.shots), found)
        return "done"
    if found.kind is EpisodeError or (optional and found.kind is ModelUnavailableError):
        ledger.fail(cell.id, owner, "left out", found.message)
        return "left out"
    ledger.fail(cell.id, owner, "failed", found.trace)
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
def _stopping(told: Callable[[], None] | None) -> Iterator[threading.Event]:
    """Turn Ctrl-C and SIGTERM into an event; a second Ctrl-C is not waited for."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def ask(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 (a signal handler's arguments)
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        if told:  # by another thread: this one may hold what printing needs
            threading.Thread(target=told, daemon=True).start()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
