"""A crew on a Ray cluster: actors that hold models, with a few cells each; what is lost with one is run again.

The driver alone writes the ledger. Nodes need no file of the driver's: all is sent to them, by content. Cells that ask
an endpoint stay beside the driver, where the key, the replies and the budget of a run are.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import ray
from ray.exceptions import RayError, RayTaskError

from ..errors import ClusterError
from ..messages import Note
from ..models.api import Endpoint
from ..processes import new_owner
from ..texts import counted
from . import artifacts, parcels
from .backlog import Backlog, Holding, Models, Needs
from .cells import Cell
from .cluster_nodes import ClusterNode, alive, differences, join, last_line, on_node, refuse_unfit
from .cluster_worker import Found, Worker
from .crews import CellFault, CellOutcome, Pool
from .freight import Freight, is_asking
from .plan import Plan
from .resources import Resources

IN_FLIGHT = 2  # calls of an actor, the one at hand included
TOGETHER = 0.05  # seconds that cells of one call take: what a call costs is little beside it
SHORTEST = 0.001  # seconds that a cell is taken to take, at least
WAITING = 6  # cells claimed for each actor beyond these, so that it can be given one whose model it holds
TRIES = 3  # of a cell whose actor is lost each time, and to start an actor
LOOK = 2.0  # seconds between looks at the nodes
PATIENCE = 60.0  # seconds to wait for a node, once all are lost
RATE_OVER = 60.0  # seconds over which the rate is measured
MOST_ENDS = 10_000  # cells by which it is measured
ASKING = 4  # processes, at most, for cells that ask endpoints
POLL = 0.05  # seconds between looks at these processes, while actors work too
HEARD = 0.2  # seconds after which Ctrl-C is heard: two are one to a program that waits in Ray meanwhile
LEAVE = 10.0  # seconds in which nodes must clear up
Given: TypeAlias = list[tuple[Cell, Models]]  # cells of one call, with the models that they open


@dataclass(slots=True, eq=False)
class Member:
    """An actor on a node."""

    actor: Any
    node: str
    takes: Resources
    starting: list[Any]  # references to what must be done before it is ready; the last one is done last
    is_greeted: bool = False  # whether it has said what runs there
    running: dict[Any, tuple[Given, list[Any]]] = field(default_factory=dict)  # calls by reference, in order
    holding: Holding = field(default_factory=Holding)

    @property
    def is_ready(self) -> bool:
        """Tell whether it can be given cells."""
        return not self.starting


class RayCrew:
    """Runs cells on the nodes of a Ray cluster."""

    def __init__(self, plan: Plan, run: Path, on: str, workers: int) -> None:
        self.plan, self.run, self.limit = plan, run, workers
        self.needs = Needs(plan.study, plan.learners, plan.models)
        self.backlog, self.members = Backlog(), list[Member]()
        self.there: set[tuple[str, str]] = set()  # nodes, and trained models that they have
        self.tries: Counter[str] = Counter()  # of cells, and of starts since the last that went well
        self.pace: dict[str, float] = {}  # by learner: seconds that a cell of it may take
        self.refused: set[str] = set()  # nodes that run other versions
        self.ends: deque[float] = deque(maxlen=MOST_ENDS)
        self.begun = 0.0  # when the first cell was given
        self.name, self.looked, self.stranded = f"run-{new_owner()}", 0.0, 0.0
        self.desk: Pool | None = None
        self.joined = join(on, workers)
        try:
            self.nodes = alive()
            refuse_unfit(self.nodes, self._wanted(), self.joined)
            self.freight = Freight(plan, run, self.name)
        except BaseException:
            self.shutdown(now=True)
            raise

    def _wanted(self) -> dict[Resources, list[str]]:
        """Give what cells take, with the learners and models that declare it."""
        found: dict[Resources, dict[str, None]] = {}
        seen: set[tuple[str, str]] = set()
        for cell in self.plan.to_run:
            if (cell.kind, cell.learner) not in seen and not self._is_asking(cell):
                seen.add((cell.kind, cell.learner))
                found.setdefault(self.needs.resources(cell), {})[cell.learner] = None
        return {takes: list(names) for takes, names in found.items()}

    def _is_asking(self, cell: Cell) -> bool:
        return any(is_asking(self.plan.models, name) for name in self.needs.chain(cell))

    # --- what a driver asks for --------------------------------------------------------------------------------------

    @property
    def room(self) -> int:
        """Say how many cells are taken at most: those at hand, and some to choose from for each actor."""
        cores = sum(int(node.has["cpu"]) for node in self.nodes.values())
        slots = min(cores, self.limit) if self.limit else cores
        calls = [given for member in self.members for given, _ in member.running.values()]
        beyond = sum(map(len, calls)) - len(calls)  # as many wait for the next calls
        return max(1, slots) * (IN_FLIGHT + WAITING) + 2 * beyond + (self.desk.room if self.desk else 0)

    def submit(self, cell: Cell) -> None:
        """Take a cell to run."""
        if self._is_asking(cell):
            self.begun = self.begun or time.monotonic()
            self._asking_pool().submit(cell)
        else:
            self.backlog.add(cell, self.needs.resources(cell), self.needs.opened(cell))

    def finished(self, timeout: float) -> list[tuple[Cell, CellOutcome]]:
        """Give actors their cells, wait for one to finish, and give those that did."""
        self._look()
        self._hand_out()
        self._staff()
        found = self._asked(0.0 if self._references() else timeout)
        both = self.desk is not None and self.desk.running
        for member, reference in self._ready(0.0 if found else POLL if both else timeout):
            found += self._collected(member, reference)
        now = time.monotonic()
        self.ends.extend([now] * len(found))
        return found

    def recall(self) -> list[Cell]:
        """Give back the cells that no actor was given."""
        return [*self.backlog.clear(), *(self.desk.recall() if self.desk else ())]

    def status(self) -> str:
        """Say how many nodes and actors there are, and how fast they are."""
        ready = [member for member in self.members if member.is_ready]
        rate = f"{rate_of(self.ends, self.begun, time.monotonic()):.1f} cells/s" if self.ends else "starting"
        nodes = len({member.node for member in ready})
        return f"{counted(nodes, 'node')}, {counted(len(ready), 'actor')}, {rate}"

    def shutdown(self, *, now: bool = False) -> None:
        """End all actors; nodes clear up what the run has left there, unless there is no time for that."""
        if self.desk:
            self.desk.shutdown(now=now)
        each = {member.node: member for member in self.members if member.is_ready and not now}
        with suppress(RayError):
            if leaving := [member.actor.leave.remote() for member in each.values()]:
                ray.wait(leaving, num_returns=len(leaving), timeout=LEAVE)
        for member in list(self.members):
            self._end(member)
        if self.joined != "before":
            ray.shutdown()
        self.joined = "before"

    # --- cells that ask an endpoint ----------------------------------------------------------------------------------

    def _asking_pool(self) -> Pool:
        """Start processes beside the driver, which share the limits of endpoints between them."""
        if self.desk is None:
            limits = [of.concurrency for of in self.plan.models.values() if isinstance(of, Endpoint)]
            self.desk = Pool(self.plan, self.run, min(ASKING, *limits))
        return self.desk

    def _asked(self, timeout: float) -> list[tuple[Cell, CellOutcome]]:
        return self.desk.finished(timeout) if self.desk and self.desk.running else []

    # --- actors ------------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Look at the nodes now and then: some are lost, and others join; without any, give up after a while."""
        if time.monotonic() - self.looked < LOOK:
            return
        self.looked = time.monotonic()
        self.nodes = {id_: node for id_, node in alive().items() if id_ not in self.refused}
        able = self.members or any(
            takes.fits(node.has) for takes in self.backlog.counts() for node in self.nodes.values()
        )
        if able or not len(self.backlog):
            self.stranded = 0.0
        elif not self.stranded:
            self.stranded = self.looked
        elif self.looked - self.stranded > PATIENCE:
            raise ClusterError(Note.of("nodes-lost", nodes=[str(node) for node in self.nodes.values()]))

    def _staff(self) -> None:
        """Start actors for cells that wait, those with accelerators first; end some that have no more to do."""
        counts = self.backlog.counts()
        for takes in sorted(counts, reverse=True):
            starting = sum(member.takes == takes and not member.is_ready for member in self.members)
            while starting < counts[takes] and (node := self._free_node(takes)):
                self.members.append(self._started(takes, node))
                starting += 1
            if starting < counts[takes]:
                self._retire(counts)

    def _free_node(self, takes: Resources) -> ClusterNode | None:
        """Choose the node that has most left, if one has enough."""
        if self.limit and len(self.members) >= self.limit:
            return None
        left = {id_: dict(node.has) for id_, node in self.nodes.items()}
        for member in self.members:
            for name, taken in asdict(member.takes).items():
                if member.node in left:
                    left[member.node][name] -= taken
        able = [id_ for id_, has in left.items() if takes.fits(has)]
        return self.nodes[max(able, key=lambda id_: (left[id_]["cpu"], id_))] if able else None

    def _started(self, takes: Resources, node: ClusterNode) -> Member:
        options: dict[str, Any] = {"num_cpus": takes.cpu, "num_gpus": takes.gpu, "memory": takes.memory or None}
        made = ray.remote(Worker).options(**options, scheduling_strategy=on_node(node.id), max_restarts=0)
        actor: Any = made.remote(self.name, takes.threads, has_gpu=takes.gpu > 0)
        return Member(actor, node.id, takes, [actor.hello.remote(list(self.freight.places))])

    def _retire(self, counts: dict[Resources, int]) -> None:
        """End an actor that nothing waits for: others wait for its place."""
        for member in self.members:
            if member.is_ready and not member.running and not counts.get(member.takes):
                self._end(member)
                return

    def _end(self, member: Member) -> None:
        self.members.remove(member)
        with suppress(RayError):
            ray.kill(member.actor)

    def _hand_out(self) -> None:
        """Give each actor a few calls, first with cells whose models it holds."""
        for _ in range(IN_FLIGHT):
            for member in self.members:
                if member.is_ready and len(member.running) < IN_FLIGHT and (given := self._chosen(member)):
                    self._give(member, given)

    def _chosen(self, member: Member) -> Given:
        """Choose a cell for an actor, or several short ones, which would take longer to send than to run."""
        others = [other.holding for other in self.members if other is not member]
        found: Given = []
        left = TOGETHER
        idle = not member.running
        while left > 0 and (taken := self.backlog.take(member.takes, member.holding, others, idle=idle)):
            seconds = self._expected(taken[0])
            if found and seconds > left:
                self._put_back(taken)
                break
            found.append(taken)
            member.holding.add(taken[1])
            left, idle = left - seconds, False
        return found

    def _expected(self, cell: Cell) -> float:
        """Say how long a cell may take; one that trains, or was lost with others, is run alone."""
        alone = cell.kind == "train" or cell.id in self.tries
        return TOGETHER if alone else max(SHORTEST, self.pace.get(cell.learner, TOGETHER))

    def _put_back(self, *given: tuple[Cell, Models]) -> None:
        for cell, models in reversed(given):
            self.backlog.add(cell, self.needs.resources(cell), models, first=True)

    def _give(self, member: Member, given: Given) -> None:
        """Have an actor run cells, once its node has the models that were trained for them."""
        self.begun = self.begun or time.monotonic()
        before = []
        for id_ in dict.fromkeys(id_ for cell, _ in given for _, id_ in cell.uses):
            if (member.node, id_) not in self.there:
                before.append(member.actor.receive_artifact.remote(id_, *self.freight.artifact(id_)))
                self.there.add((member.node, id_))
        member.running[member.actor.work.remote([cell for cell, _ in given])] = given, before

    # --- what comes back ---------------------------------------------------------------------------------------------

    def _references(self) -> dict[Any, Member]:
        """Give all that is waited for, and of which actor."""
        found = {member.starting[-1]: member for member in self.members if member.starting}
        return found | {reference: member for member in self.members for reference in member.running}

    def _ready(self, timeout: float) -> list[tuple[Member, Any]]:
        """Wait for anything to come back, and give all that did."""
        waited = self._references()
        if not waited:
            time.sleep(timeout if len(self.backlog) else 0.0)  # for a node
            return []
        first, _ = ray.wait(list(waited), timeout=min(timeout, HEARD))
        ready, _ = ray.wait(list(waited), num_returns=len(waited), timeout=0) if first else ([], [])
        return [(waited[reference], reference) for reference in ready]

    def _collected(self, member: Member, reference: Any) -> list[tuple[Cell, CellOutcome]]:
        """Take what came back from an actor, which may be that it is lost."""
        if member not in self.members:  # lost, and told with what came before
            return []
        try:
            if reference in member.running:
                return self._cells_done(member, reference)
            self._go_on(member)
        except RayTaskError as error:  # of our own doing on the node: a full disk, say
            if reference in member.running:
                given, _ = member.running.pop(reference)
                return self._tried(given, error.cause if isinstance(error.cause, Exception) else error, tries=1)
            self._not_started(member, error)
        except RayError as error:
            return self._lost(member, error)
        return []

    def _cells_done(self, member: Member, reference: Any) -> list[tuple[Cell, CellOutcome]]:
        """Take what cells gave, with the files that they made."""
        given, before = member.running[reference]
        ray.get(before)
        gave: list[Found] = ray.get(reference)
        for (cell, _), found in zip(given, gave, strict=True):
            if found.parcel:
                chunks = (ray.get(chunk) for chunk in found.chunks)
                parcels.lay_out(artifacts.place(self.run, cell.id), found.parcel, chunks)
                self.there.add((member.node, cell.id))
            self.tries.pop(cell.id, None)
            self.pace[cell.learner] = max(found.seconds, self.pace.get(cell.learner, 0.0) / 2)  # the first is slow
        del member.running[reference]
        return [(cell, found.outcome) for (cell, _), found in zip(given, gave, strict=True)]

    def _go_on(self, member: Member) -> None:
        """Send a new actor what its node lacks; once that is done, it is ready."""
        if member.is_greeted:
            ray.get(member.starting)
            member.starting = []
            self.tries.pop("", None)
            return
        versions, lacking = ray.get(member.starting[-1])
        if differ := differences(versions):  # a node that joined after the others were checked
            self.refused.add(member.node)
            self._end(member)
            self._count_start(Note.of("versions-differ", versions=differ, node=member.node))
            return
        sending = [member.actor.receive.remote(*self.freight.load(digest)) for digest in lacking]
        member.is_greeted, member.starting = True, [*sending, member.actor.prepare.remote(self.freight.job)]

    def _lost(self, member: Member, error: RayError) -> list[tuple[Cell, CellOutcome]]:
        """Have the cells of a lost actor run by others; one that loses each actor is at fault."""
        saved = self._saved(member)
        self._end(member)
        self.there = {(node, id_) for node, id_ in self.there if node != member.node}
        if not member.is_ready:
            self._count_start(Note.of("actor-lost", reason=last_line(error)))
        at_hand, *others = [given for given, _ in member.running.values()] or [[]]
        self._put_back(*(pair for given in others for pair in given))  # which had not begun
        return saved + self._tried(at_hand, error, tries=TRIES)

    def _tried(self, given: Given, error: Exception, tries: int) -> list[tuple[Cell, CellOutcome]]:
        """Have cells that gave nothing run again; of several, each alone, which shows the one that is at fault."""
        failed: list[tuple[Cell, CellOutcome]] = []
        for cell, models in reversed(given):
            self.tries[cell.id] += len(given) == 1
            if self.tries[cell.id] < tries:
                self._put_back((cell, models))
            elif tries == 1:
                failed.append((cell, CellFault.of(error)))
            else:
                failed.append((cell, CellFault(Note.of("actor-lost", reason=_first_line(error)), str(error))))
        return failed

    def _saved(self, member: Member) -> list[tuple[Cell, CellOutcome]]:
        """Take what a lost actor had finished, or it would be taken for the cell that ended the actor."""
        found: list[tuple[Cell, CellOutcome]] = []
        for reference in list(member.running):
            with suppress(RayError):
                if ray.wait([reference], timeout=0)[0]:
                    found += self._cells_done(member, reference)
        return found

    def _not_started(self, member: Member, error: RayTaskError) -> None:
        self._end(member)
        self._count_start(Note.of("actor-lost", reason=last_line(error)))

    def _count_start(self, why: Note) -> None:
        """Give up where one actor after the other can't be started."""
        self.tries[""] += 1
        if self.tries[""] >= TRIES and not any(member.is_ready for member in self.members):
            raise ClusterError(Note.of("actors-not-started", count=self.tries[""], reason=why))


def rate_of(ends: Sequence[float], begun: float, now: float) -> float:
    """Say how many cells end in a second: of those that ended lately, and since the first was given at the earliest.

    >>> rate_of([10.0, 10.5, 11.0], begun=5.0, now=11.0), rate_of([1.0, 90.0], begun=0.0, now=100.0) * 60
    (0.5, 1.0)
    """
    since = max(begun, now - RATE_OVER, ends[0] if len(ends) == MOST_ENDS else begun)
    return sum(end > since for end in ends) / max(1.0, now - since)


def _first_line(error: BaseException) -> str:
    lines: Sequence[str] = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].strip()
