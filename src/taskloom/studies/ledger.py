"""The ledger of a run: SQLite, so that what was finished stays finished whatever happens next.

A cell is claimed by an owner with a heartbeat that expires, so that several runs can share a ledger. Results are
inserted once and never changed, each with a checksum: a row that is damaged never passes for an answer. What was
planned is kept too, so that a report needs the ledger and the suite alone. Costs lie apart, for they are measured and
no part of what must be equal.
"""

from __future__ import annotations

import json
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from stat import S_ISDIR
from types import TracebackType
from typing import Any, Literal, TypeAlias

import numpy as np

from ..databases import reason, transaction
from ..errors import LedgerError
from ..ids import Json
from ..limits import deflated, parse_json
from ..masking import masked, masked_all
from ..messages import Note
from ..processes import is_gone
from ..scores.reduce import Array
from .cells import Cell
from .costs import Cost
from .finished import Finished, Score, checksum, cost_of, key_of, points_of, score_of, unpacked
from .ledger_file import (
    closing_where_refused,
    connected,
    damaged,
    is_damage,
    make_or_upgrade,
    refuse_unreadable,
)
from .ledger_schema import CHECKED, COSTS, KEPT, sound

EXPIRES = 60.0  # seconds without a heartbeat after which a claim is free again; so is one as far in the future
State: TypeAlias = Literal["claimed", "done", "failed", "skipped"]
UNREADABLE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, zlib.error)  # of what is damaged
HAS_RESULT = "EXISTS (SELECT 1 FROM results r WHERE r.cell = cells.id)"
UNFINISHED = f"(state IN ('failed', 'skipped') OR (state = 'done' AND NOT {HAS_RESULT}))"


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A cell as it was planned."""

    cell: str
    kind: str
    task: str
    learner: str
    shots: Any
    seed: int
    episode: int
    training: int
    fold: str


class Ledger:
    """An open ledger; use it in a `with`.

    Where there is no file, a new ledger is made. An empty file is refused, unless a run is about to fill it.
    """

    def __init__(self, path: Path, *, filling: bool = False) -> None:
        self.path = path
        filling = filling or not path.exists()
        self.db, self.writable = connected(path, filling=filling)
        with closing_where_refused(self.db, path):
            self.db.create_function("checksum", -1, checksum, deterministic=True)
            make_or_upgrade(self.db, path, writable=self.writable, filling=filling)
            refuse_unreadable(self.db, path)

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.db.close()
        if isinstance(error, zlib.error) or is_damage(error):
            raise LedgerError(f"{damaged(error)}: {self.path}") from None

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Do several things in one transaction."""
        try:
            with transaction(self.db):
                yield
        except sqlite3.DatabaseError as error:
            if is_damage(error):
                raise LedgerError(f"{damaged(error)}: {self.path}") from None
            why = reason(error, self.path)
            raise LedgerError(f"can't write the ledger ({why}); finished cells are kept: {self.path}") from error

    # --- plans -------------------------------------------------------------------------------------------------------

    def keep_plan(self, trial: int, digest: str, about: str, cells: Sequence[Cell]) -> None:
        """Keep what was planned, in the place of an earlier plan; what is the same is not written again."""
        row = self.db.execute("SELECT digest FROM plans WHERE trial = ?", (trial,)).fetchone()
        if row and row[0] == digest:
            return
        values = (
            (trial, at, c.id, c.kind, c.task, c.learner, c.shots, c.seed, c.index, c.training, c.fold)
            for at, c in enumerate(cells)
        )
        with self.writing():
            self.db.execute("DELETE FROM planned WHERE trial = ?", (trial,))
            self.db.executemany("INSERT INTO planned VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
            self.db.execute("INSERT OR REPLACE INTO plans VALUES (?, ?, ?)", (trial, digest, about))

    def plan_about(self, trial: int) -> str:
        """Give what was kept about a plan, or nothing."""
        row = self.db.execute("SELECT about FROM plans WHERE trial = ?", (trial,)).fetchone()
        return str(row[0]) if row else ""

    def trials(self) -> list[int]:
        """Give the limits of all trials that were planned, the smallest first."""
        return [int(row[0]) for row in self.db.execute("SELECT trial FROM plans WHERE trial > 0 ORDER BY trial")]

    def planned(self, trial: int) -> list[Planned]:
        """Give the cells that were planned, in their order."""
        names = [f.name for f in fields(Planned)]
        ask = f"SELECT {', '.join(names)} FROM planned WHERE trial = ? ORDER BY place"  # noqa: S608 (ours)
        found = [Planned(**dict(zip(names, row, strict=True))) for row in self.db.execute(ask, (trial,))]
        with self.naming_damage("planned cells"):
            if not all(isinstance(n, int) for of in found for n in (of.seed, of.episode, of.training)):
                raise TypeError("an integer was expected")
        return found

    # --- claims ------------------------------------------------------------------------------------------------------

    def states(self) -> dict[str, State]:
        """Give the state of every cell that was ever claimed, but for those whose claim expired or result is lost."""
        rows = self.db.execute(
            "SELECT id, state FROM cells WHERE state IN ('failed', 'skipped') "  # noqa: S608 (ours)
            f"OR (state = 'claimed' AND beat BETWEEN ? AND ?) OR (state = 'done' AND {HAS_RESULT})",
            _beats(),
        )
        return dict(rows.fetchall())

    def done(self, cells: Iterable[str]) -> set[str]:
        """Tell which of some cells are finished, and have a result."""
        ask = f"SELECT 1 FROM cells WHERE id = ? AND state = 'done' AND {HAS_RESULT}"  # noqa: S608 (ours)
        return {cell for cell in cells if self.db.execute(ask, (cell,)).fetchone()}

    def claim(self, cells: Iterable[str], owner: str, *, again: bool = False) -> list[str]:
        """Claim cells that are free, and give those that are ours now; those that failed or lost their result too.

        Where what a finished cell made is lost, it can be claimed `again`.
        """
        won = []
        with self.writing():
            for cell in cells:
                done = self.db.execute(
                    "INSERT INTO cells (id, state, owner, beat) VALUES (?1, 'claimed', ?2, ?3) "  # noqa: S608 (ours)
                    "ON CONFLICT (id) DO UPDATE SET state = 'claimed', owner = ?2, beat = ?3 "
                    f"WHERE {UNFINISHED} OR (state = 'claimed' AND beat NOT BETWEEN ?4 AND ?5) "
                    "OR (state = 'done' AND ?6)",
                    (cell, owner, time.time(), *_beats(), again),
                )
                won += [cell] * done.rowcount
        return won

    def free_the_dead(self) -> None:
        """Give back what processes of this machine had claimed that are no longer there."""
        owners = self.db.execute("SELECT DISTINCT owner FROM cells WHERE state = 'claimed'").fetchall()
        for (owner,) in owners:
            if is_gone(owner):
                self.release(owner)

    def beat(self, owner: str) -> None:
        """Say that an owner is alive."""
        with self.writing():
            self.db.execute("UPDATE cells SET beat = ? WHERE owner = ? AND state = 'claimed'", (time.time(), owner))

    def release(self, owner: str) -> None:
        """Give back what was claimed and not finished."""
        with self.writing():
            ours = "owner = ? AND state = 'claimed'"
            self.db.execute(
                f"UPDATE cells SET state = 'done', owner = '', beat = 0 WHERE {ours} "  # noqa: S608 (ours)
                "AND id IN (SELECT cell FROM results)",
                (owner,),
            )
            self.db.execute(f"DELETE FROM cells WHERE {ours}", (owner,))  # noqa: S608 (ours)

    # --- results -----------------------------------------------------------------------------------------------------

    def finish(self, cell: Cell, found: Finished) -> None:
        """Keep what a cell gave, without keys: once, whoever comes first; its name, and what it was, with it."""
        kept = found.masked()
        body, said = kept.body(), kept.said()
        with self.writing():
            if not self.db.execute("SELECT 1 FROM results WHERE cell = ?", (cell.id,)).fetchone():
                self.forget(cell.id)  # all else is of the answers that are kept
                self._insert("results", cell.id, body)
                self._insert("keys", cell.id, cell.key)
                if said:
                    self._insert("outputs", cell.id, said)
                for signature, (units, unusable) in sorted(found.scores.items()):
                    self._keep_score(cell.id, signature, units, unusable)
                costs = (cell.id, cell.kind, cell.learner, cell.task, cell.shots, time.time(), *astuple(found.cost))
                self.db.execute(f"INSERT INTO costs VALUES ({', '.join('?' * len(costs))})", costs)  # noqa: S608
                traces = [(cell.id, name, json.dumps(list(points))) for name, points in found.traces.items()]
                self.db.executemany("INSERT INTO traces VALUES (?, ?, ?)", traces)
            self.mark_done([cell.id])

    def mark_done(self, cells: Iterable[str]) -> None:
        """Note that cells are finished, within a transaction."""
        self.db.executemany(
            "INSERT INTO cells (id, state, owner, beat) VALUES (?, 'done', '', 0) "
            "ON CONFLICT (id) DO UPDATE SET state = 'done', owner = '', beat = 0, why = '', trace = ''",
            [(cell,) for cell in cells],
        )

    def forget(self, cell: str) -> None:
        """Drop all that was kept of what a cell gave, within a transaction: it is not finished then."""
        for table in KEPT:
            self.db.execute(f"DELETE FROM {table} WHERE cell = ?", (cell,))  # noqa: S608 (ours)

    def rows(self, table: str) -> Iterator[Any]:
        """Read what a table keeps of finished cells, as it is; what is damaged is dropped."""
        asked = ", ".join(f"t.{name}" for name in KEPT[table])
        only = f" WHERE {sound(table)}" if table in CHECKED else ""
        return self.db.execute(f"SELECT {asked} FROM {table} t{only}")  # noqa: S608 (ours)

    def take(self, table: str, rows: Iterable[Any]) -> None:
        """Keep rows of another ledger, within a transaction; where there are some, those stay."""
        names = KEPT[table]
        columns, marks = ", ".join(names), ", ".join("?" * len(names))
        self.db.executemany(f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({marks})", rows)  # noqa: S608 (ours)

    def _insert(self, table: str, cell: str, *values: bytes | str | int) -> None:
        row = (cell, *values, checksum(cell, *values))
        self.db.execute(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608

    def keep_scores(self, scores: Iterable[tuple[str, str, Score]]) -> None:
        """Keep scores that were made later, of answers that are there: all at once, where the ledger can be written."""
        kept = list(scores)
        if kept and self.writable:
            with self.writing():
                for cell, signature, (units, unusable) in kept:
                    self._keep_score(cell, signature, units, unusable)

    def _keep_score(self, cell: str, signature: str, units: Array, unusable: Mapping[str, int]) -> None:
        body = deflated(np.ascontiguousarray(units, dtype="<f8").tobytes())
        self._insert("scores", cell, signature, units.shape[1], body, json.dumps(dict(sorted(unusable.items()))))

    def fail(self, cell: str, owner: str, state: Literal["failed", "skipped"], why: Note, trace: str = "") -> None:
        """Keep why a cell gave nothing, unless its owner lost it to another meanwhile."""
        with self.writing():
            self.db.execute(
                "UPDATE cells SET state = ?, owner = '', beat = 0, why = ?, trace = ? "
                "WHERE id = ? AND owner = ? AND state = 'claimed'",
                (state, _written(why), _encodable(trace), cell, owner),
            )

    def skip(self, cells: Iterable[str], why: Note) -> None:
        """Keep why cells were not even tried; those that are finished, or that somebody works at, stay as they are."""
        with self.writing():
            self.db.executemany(
                "INSERT INTO cells (id, state, owner, beat, why) VALUES (?1, 'skipped', '', 0, ?2) "  # noqa: S608 (ours)
                f"ON CONFLICT (id) DO UPDATE SET state = 'skipped', why = ?2 WHERE {UNFINISHED}",
                [(cell, _written(why)) for cell in cells],
            )

    def result(self, cell: str) -> dict[str, Any] | None:
        """Read what a cell gave, if it did."""
        body = self._read("results", cell)
        return unpacked(body) if body else None

    def outputs(self, cell: str) -> dict[str, Any]:
        """Read what the answers of a cell were read from: by set, what was written, options and hashes of prompts."""
        body = self._read("outputs", cell)
        return unpacked(body) if body else {}

    def key(self, cell: str) -> dict[str, Any]:
        """Read what a finished cell is named by."""
        with self.naming_damage(f"the key of cell {cell}"):
            return key_of(self._read("keys", cell) or "{}")

    def _read(self, table: str, cell: str) -> bytes | None:
        """Read what a table keeps of a cell; what is damaged, or another cell's, is refused."""
        (name,) = CHECKED[table]
        ask = f"SELECT CAST(t.{name} AS BLOB), {sound(table, '?1')} FROM {table} t WHERE t.cell = ?1"  # noqa: S608 (ours)
        row = self.db.execute(ask, (cell,)).fetchone()
        if row and not row[1]:
            raise LedgerError(f"damaged cell in {self.path}; run the study again to repair it: {cell}")
        return row[0] if row else None

    def bodies(self, trial: int) -> Iterator[tuple[str, bytes]]:
        """Yield what the cells of a plan gave, packed, but for what is damaged."""
        yield from self._of_plan("results", trial, "body")

    def scores(self, trial: int) -> dict[str, dict[str, Score]]:
        """Give the scores of the cells of a plan, by cell and signature, but for those that are damaged."""
        found: dict[str, dict[str, Score]] = {}
        for cell, signature, width, units, unusable in self._of_plan("scores", trial, *CHECKED["scores"]):
            found.setdefault(cell, {})[signature] = score_of(width, units, unusable)
        return found

    def costs_of(self, trial: int) -> dict[str, Cost]:
        """Give what the finished cells of a plan cost."""
        return {cell: self._cost(row) for cell, *row in self._of_plan("costs", trial, *(f.name for f in fields(Cost)))}

    def traces(self, trial: int) -> dict[str, dict[str, list[tuple[int, float]]]]:
        """Give what was traced while the cells of a plan learnt: by cell and name, values at steps."""
        found: dict[str, dict[str, list[tuple[int, float]]]] = {}
        for cell, name, points in self._of_plan("traces", trial, "name", "points"):
            with self.naming_damage("traces"):
                found.setdefault(cell, {})[name] = points_of(points)
        return found

    def threads(self, cell: str) -> int:
        """Give the number of threads that a cell was trained with; 0 where that is unknown."""
        row = self.db.execute("SELECT threads FROM costs WHERE cell = ?", (cell,)).fetchone()
        with self.naming_damage("costs"):
            return int(row[0]) if row else 0

    def times(self, trial: int) -> tuple[float, float] | None:
        """Give when the first cell of a plan was begun, and when the last was done."""
        rows = self._of_plan("costs", trial, "ended", "seconds")
        with self.naming_damage("costs"):
            found = [(ended - seconds, ended) for _, ended, seconds in rows]
        return (min(began for began, _ in found), max(ended for _, ended in found)) if found else None

    def _of_plan(self, table: str, trial: int, *names: str) -> Iterator[Any]:
        """Read rows of the cells of a plan; those that are damaged, or another cell's, are dropped."""
        asked = ", ".join(f"t.{name}" for name in names)
        ours = "FROM (SELECT DISTINCT cell FROM planned WHERE trial = ?) p"
        only = f"WHERE {sound(table, 'p.cell')}" if table in CHECKED else ""
        ask = f"SELECT p.cell, {asked} {ours} CROSS JOIN {table} t ON t.cell = p.cell {only}"
        return self.db.execute(ask, (trial,))

    def ended(self, state: Literal["failed", "skipped"]) -> dict[str, tuple[Note, str]]:
        """Give why cells of a state gave nothing, with the trace where there is one."""
        rows = self.db.execute("SELECT id, why, trace FROM cells WHERE state = ?", (state,))
        with self.naming_damage(f"{state} cells"):
            return {cell: (Note.from_json(parse_json(why)), trace) for cell, why, trace in rows}

    def costs(self, kind: str = "adapt", *, trials: bool = True) -> list[tuple[str, str, Any, Cost]]:
        """Give what every finished cell of a kind cost: learner, task, shots and cost, the first to end first."""
        full = "" if trials else " AND cell NOT IN (SELECT cell FROM keys WHERE json_extract(key, '$.limit') > 0)"
        ask = f"SELECT learner, task, shots, {COSTS} FROM costs WHERE kind = ?{full} ORDER BY ended"  # noqa: S608
        rows = self.db.execute(ask, (kind,))
        return [(learner, task, shots, self._cost(more)) for learner, task, shots, *more in rows]

    def _cost(self, row: Sequence[Any]) -> Cost:
        with self.naming_damage("costs"):
            return cost_of(row)

    def contents(self) -> Iterator[tuple[str, str, bytes]]:
        """Yield all that must be equal between two ledgers of a study: keys, results, outputs, scores, in order."""
        yield from self.db.execute("SELECT cell, 'key', CAST(key AS BLOB) FROM keys ORDER BY cell")
        yield from self.db.execute("SELECT cell, '', body FROM results ORDER BY cell")
        yield from self.db.execute("SELECT cell, 'outputs', body FROM outputs ORDER BY cell")
        yield from self.db.execute(
            "SELECT cell, signature || ' ' || width || ' ' || unusable, units FROM scores ORDER BY cell, signature"
        )

    def keep_about(self, **values: str) -> None:
        """Keep things about the run, such as where its study lay; what is the same is not written again."""
        new = {name: value for name, value in values.items() if self.about(name) != value}
        if new:
            with self.writing():
                self.db.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", new.items())

    def about_json(self, name: str, default: Json) -> Any:
        """Give what was kept about the run as JSON, or the default; what is of another type is damaged."""
        with self.naming_damage(name):
            found = parse_json(text) if (text := self.about(name)) else default
            if type(found) is not type(default):
                raise TypeError(type(found).__name__)
        return found

    @contextmanager
    def naming_damage(self, what: str) -> Iterator[None]:
        """Refuse a ledger whose rows are sound, but do not hold what was written: it was edited, or badly merged."""
        try:
            yield
        except UNREADABLE as error:
            raise LedgerError(Note.of("ledger-damaged", what=what, reason=repr(error), path=self.path)) from error

    def about_folder(self, name: str, *, must_exist: bool) -> str:
        """Give the name of a folder that was kept, or nothing; one that no system takes is damaged."""
        found = self.about(name)
        try:
            is_there = S_ISDIR((self.path.parent / found).stat().st_mode)
        except (FileNotFoundError, NotADirectoryError):
            is_there = not must_exist and Path(found).is_absolute()
        except (OSError, ValueError):
            is_there = False
        if not is_there:
            raise LedgerError(Note.of("ledger-folder-missing", name=name, folder=repr(found)[:200], path=self.path))
        return found

    def about(self, name: str) -> str:
        """Give what was kept about the run, or nothing."""
        row = self.db.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else ""


def _beats() -> tuple[float, float]:
    """Give the first and the last heartbeat that keeps a claim; of a later one, the clock was set back since."""
    now = time.time()
    return now - EXPIRES, now + EXPIRES


def _written(why: Note) -> str:
    return json.dumps(masked_all(why.to_json()))


def _encodable(text: str) -> str:
    """Write half characters out, for SQLite takes none, and mask keys."""
    return masked(text).encode("utf-8", "backslashreplace").decode()
