"""The order of work: a cell is ready when the models that it uses are trained, and what training made is there."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..messages import Note
from . import artifacts
from .cells import Cell
from .ledger import Ledger


class Queue:
    """Cells that are left to run: those that are ready, and those that wait for one that trains a model."""

    def __init__(self, cells: Sequence[Cell], ledger: Ledger, run: Path) -> None:
        self.ledger, self.run = ledger, run
        self.cells = {cell.id: cell for cell in cells}
        self.ready: deque[Cell] = deque()
        self.waiting: dict[str, list[Cell]] = {}  # by the cell that they wait for
        self.there: set[str] = set()  # cells whose models are ready
        self.given_up: dict[str, Note] = {}  # cells that trained nothing, and why: what needs them is skipped
        self.remade: set[str] = set()  # cells that are finished, but what they made is lost
        states = ledger.states()
        unfinished = [cell for cell in cells if states.get(cell.id) != "done"]
        for cell in (*self._lost(unfinished), *unfinished):
            self._add(cell)

    @property
    def left(self) -> int:
        """Count the cells that are left, those that wait included."""
        return len(self.ready) + sum(map(len, self.waiting.values()))

    def claimed(self, cells: Sequence[Cell], owner: str) -> set[str]:
        """Claim cells; what is lost of a finished one may be made again."""
        again = [cell.id for cell in cells if cell.id in self.remade and not self._is_there(cell.id)]
        won = self.ledger.claim([cell.id for cell in cells if cell.id not in self.remade], owner)
        return {*won, *(self.ledger.claim(again, owner, again=True) if again else ())}

    def finished(self, cell: Cell) -> int:
        """Let those go on that waited for a cell; where it made something else than before, they are skipped."""
        self.remade.discard(cell.id)
        if cell.kind == "train" and not self._is_there(cell.id):
            return self._skip(cell, Note.of("artifact-differs", model=cell.learner, cell=cell.id))
        return sum(self._add(other) for other in self.waiting.pop(cell.id, ()))

    def failed(self, cell: Cell) -> int:
        """Skip those that waited for a cell, and those that waited for them; give how many."""
        return self._skip(cell, Note.of("training-failed", model=cell.learner, cell=cell.id))

    def _skip(self, cell: Cell, why: Note) -> int:
        self.given_up[cell.id] = why
        others = self.waiting.pop(cell.id, [])
        if others:
            self.ledger.skip([other.id for other in others], why)
        return len(others) + sum(self._skip(other, why) for other in others)

    def drop(self, learner: str) -> None:
        """Leave the cells of a learner for another time."""
        self.ready = deque(cell for cell in self.ready if cell.kind == "train" or cell.learner != learner)
        for id_, cells in list(self.waiting.items()):
            self.waiting[id_] = [cell for cell in cells if cell.kind == "train" or cell.learner != learner]

    def _add(self, cell: Cell) -> int:
        """Put a cell with the ready ones, or with those that wait for the first model that is not there."""
        missing = next((id_ for _, id_ in cell.uses if not self._is_there(id_)), None)
        if missing is None:
            self.ready.append(cell)
        elif missing in self.given_up:
            self.ledger.skip([cell.id], self.given_up[missing])
            return 1 + self._skip(cell, self.given_up[missing])
        else:
            self.waiting.setdefault(missing, []).append(cell)
        return 0

    def _is_there(self, id_: str) -> bool:
        if id_ not in self.there:
            found = self.ledger.result(id_)
            if found is None or not found.get("artifact") or artifacts.digest(self.run, id_) != found["artifact"]:
                return False
            self.there.add(id_)
        return True

    def _lost(self, unfinished: Sequence[Cell]) -> list[Cell]:
        """Find finished cells whose models are needed and not there, as after a merge."""
        left = {cell.id for cell in unfinished}
        needed = dict.fromkeys(id_ for cell in unfinished for _, id_ in cell.uses if id_ not in left)
        lost = [self.cells[id_] for id_ in needed if not self._is_there(id_)]
        for cell in lost:
            if artifacts.digest(self.run, cell.id):  # made again, on another machine say
                self.given_up[cell.id] = Note.of("artifact-differs", model=cell.learner, cell=cell.id)
        again = [replace(cell, threads=self.ledger.threads(cell.id)) for cell in lost if cell.id not in self.given_up]
        self.remade = {cell.id for cell in again}
        return again
