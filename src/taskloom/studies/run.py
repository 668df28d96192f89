"""Run what is missing of a plan: in this process, or by several workers; only the driver writes the ledger."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Literal

from ..errors import LedgerError
from ..folders import remove_leftovers
from ..messages import Note
from ..processes import ending_signals, leave_terminal, new_owner
from ..progress import Progress
from . import artifacts
from .cells import Cell
from .crews import CellFault, CellOutcome, Crew, Here, Pool
from .finished import Finished
from .ledger import Ledger
from .merging import discard_damaged
from .plan import Plan
from .queue import Queue

BEAT = 10.0  # seconds between heartbeats
POLL = 1.0  # seconds between looks at what other runs have finished


@dataclass(frozen=True, slots=True)
class Done:
    """How a run ended."""

    ran: int
    failed: int
    skipped: int
    signal: int = 0  # what asked it to end before all was done; 0 if nothing did
    waiting: Mapping[str, Note] = field(default_factory=dict)  # learners whose model answers nothing for now, and why
    damaged: tuple[str, ...] = ()  # cells whose results were, and that are run again

    @property
    def interrupted(self) -> bool:
        """Tell whether it was asked to end before all was done."""
        return self.signal != 0


class StoppedAtOnce(KeyboardInterrupt):
    """A second signal, which does not wait for the cells at hand."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = number


class _Stop(threading.Event):
    """What asks a run to end, and the signal that it was."""

    signal = 0


# --- the driver ------------------------------------------------------------------------------------------------------


def run(
    plan: Plan,
    ledger: Ledger,
    *,
    workers: int = 0,
    crew: Crew | None = None,
    progress: Progress | None = None,
    stopping: Callable[[], None] | None = None,
    status: Callable[[str], None] | None = None,
) -> Done:
    """Run all cells that are not finished; a signal to end finishes the cells at hand and gives the others back.

    A crew is shut down at the end; without one, so many workers here are. `stopping` is called as soon as that is asked
    for, and `status` with who is at work.
    """
    owner, folder = new_owner(), ledger.path.parent
    crew = crew or crew_of(plan, folder, workers)

    def show(done: int, total: int) -> None:
        if progress:
            progress(done, total)
        if status:
            status(crew.status())

    with _stopping(stopping) as stop, _beating(ledger.path, owner):
        try:
            damaged = discard_damaged(ledger, [cell.id for cell in plan.to_run])
            return replace(_drive(plan, ledger, crew, owner, stop, show), damaged=damaged)
        except BaseException:  # a second Ctrl-C, or a ledger that can't be written
            crew.shutdown(now=True)
            raise
        finally:
            crew.shutdown()
            ledger.release(owner)
            remove_leftovers(folder / artifacts.FOLDER)


def crew_of(plan: Plan, folder: Path, workers: int, on: str = "") -> Crew:
    """Choose who runs the cells; Ray is loaded only where it is asked for.

    `on` names a cluster; 0 workers are as many as it has room for, or one here.
    """
    if on:
        from .cluster_nodes import check_reachable

        check_reachable(on)
        from .cluster import RayCrew

        return RayCrew(plan, folder, on, workers)
    return Here(plan, folder) if workers <= 1 else Pool(plan, folder, workers)


def _drive(plan: Plan, ledger: Ledger, crew: Crew, owner: str, stop: _Stop, progress: Progress | None) -> Done:
    ledger.free_the_dead()
    queue = Queue(plan.to_run, ledger, ledger.path.parent)
    total, tally = len(plan.to_run), {"done": 0, "failed": 0, "skipped": 0, "not tried": 0}
    running: set[str] = set()
    stuck: dict[str, Note] = {}
    if progress:
        progress(total - queue.left, total)
    while (queue.left and not stop.is_set()) or running:
        if not stop.is_set():
            tally["not tried"] += _hand_out(ledger, crew, owner, queue, running)
        else:
            running -= {cell.id for cell in crew.recall()}
        for cell, found in crew.finished(POLL):
            running.discard(cell.id)
            state = _keep(ledger, owner, cell, found, optional=_is_optional(plan, cell))
            tally[state] += 1
            tally["not tried"] += queue.finished(cell) if state == "done" else queue.failed(cell)
            gone = isinstance(found, CellFault) and found.is_unavailable and cell.kind == "adapt"
            if isinstance(found, CellFault) and gone and cell.learner not in stuck:
                stuck[cell.learner] = found.why  # there is nothing to be had by trying its other cells now
                queue.drop(cell.learner)
        if progress:
            progress(total - queue.left - len(running), total)
    skipped = tally["skipped"] + tally.pop("not tried")
    return Done(sum(tally.values()), tally["failed"], skipped, stop.signal, stuck)


def _is_optional(plan: Plan, cell: Cell) -> bool:
    return cell.kind == "adapt" and plan.study.learners[cell.learner].optional


def _hand_out(ledger: Ledger, crew: Crew, owner: str, queue: Queue, running: set[str]) -> int:
    """Claim as many cells as there is room for; what another run has claimed goes to the end, until it is finished.

    Give how many are skipped, for what another run has made is not what it was.
    """
    lost: list[Cell] = []
    room = crew.room
    while queue.ready and len(running) < room:
        wanted = [queue.ready.popleft() for _ in range(min(len(queue.ready), room - len(running)))]
        won = queue.claimed(wanted, owner)
        for cell in wanted:
            if cell.id in won:
                crew.submit(cell)
                running.add(cell.id)
        lost += [cell for cell in wanted if cell.id not in won]
    done = ledger.done(cell.id for cell in lost)
    queue.ready.extend(cell for cell in lost if cell.id not in done)
    skipped = sum(queue.finished(cell) for cell in lost if cell.id in done)
    if queue.left and not running:
        time.sleep(POLL)  # only what other runs have at hand is left
    return skipped


def _keep(
    ledger: Ledger, owner: str, cell: Cell, found: CellOutcome, *, optional: bool
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
def _stopping(notify: Callable[[], None] | None) -> Iterator[_Stop]:
    """Turn Ctrl-C, SIGTERM and SIGHUP into an event; a second one stops at once, and more are ignored meanwhile."""
    stop, at_once = _Stop(), threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def ask(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 (as all signal handlers)
        if at_once.is_set():
            return  # what is being cleaned up would be left half done
        if number == signal.SIGHUP:
            leave_terminal()
        if stop.is_set():
            at_once.set()
            raise StoppedAtOnce(number)
        stop.signal = number
        stop.set()
        if notify:  # by another thread: this one may hold what printing needs
            threading.Thread(target=notify, daemon=True).start()

    before = {number: signal.signal(number, ask) for number in ending_signals()}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
