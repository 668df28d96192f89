"""The ledger of a run: SQLite, so that what was finished stays finished whatever happens next.

A cell is claimed by an owner with a heartbeat that expires, so that several runs can share a ledger. Results are
inserted once and never changed. What was planned is kept too, so that a report needs the ledger and the suite alone.
Costs lie apart, for they are measured and no part of what must be equal.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field, fields
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeAlias

import numpy as np

from .. import __version__
from ..errors import LedgerError
from ..folders import is_alive
from ..messages import Note
from ..scores.reduce import Array
from ..transactions import transaction, write_ahead
from .cells import Cell
from .costs import Cost

DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB")
FORMAT = 3
APPLICATION = 0x7461736B  # "task", in the file's header
EXPIRES = 60.0  # seconds without a heartbeat after which a claim is free again
State: TypeAlias = Literal["claimed", "done", "failed", "skipped"]
Score: TypeAlias = tuple[Array, Mapping[str, int]]  # units, and how many answers were unusable, by code
COSTS = ", ".join(f.name for f in fields(Cost))
SCHEMA = f"""
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE cells (
    id TEXT PRIMARY KEY, state TEXT NOT NULL, owner TEXT NOT NULL, beat REAL NOT NULL,
    why TEXT NOT NULL DEFAULT '', trace TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE TABLE keys (cell TEXT PRIMARY KEY, key TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE results (cell TEXT PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE outputs (cell TEXT PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE scores (
    cell TEXT NOT NULL, signature TEXT NOT NULL, width INTEGER NOT NULL, units BLOB NOT NULL, unusable TEXT NOT NULL,
    PRIMARY KEY (cell, signature)
);
CREATE TABLE costs (
    cell TEXT PRIMARY KEY, kind TEXT NOT NULL, learner TEXT NOT NULL, task TEXT NOT NULL, shots NOT NULL,
    ended REAL NOT NULL,
    {", ".join(f"{f.name} {'REAL' if f.type == 'float' else 'INTEGER'} NOT NULL" for f in fields(Cost))});
CREATE TABLE plans (trial INTEGER PRIMARY KEY, digest TEXT NOT NULL, about TEXT NOT NULL);
CREATE TABLE planned (
    trial INTEGER NOT NULL, place INTEGER NOT NULL, cell TEXT NOT NULL, kind TEXT NOT NULL, task TEXT NOT NULL,
    learner TEXT NOT NULL, shots NOT NULL, seed INTEGER NOT NULL, episode INTEGER NOT NULL, training INTEGER NOT NULL,
    fold TEXT NOT NULL, PRIMARY KEY (trial, place)
) WITHOUT ROWID;
CREATE INDEX by_state ON cells (state, owner);
CREATE INDEX by_cell ON planned (cell);
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What was answered about one set of an episode."""

    answers: Sequence[Any]
    items: Sequence[str]
    rows: Sequence[int]  # in their pool
    pool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What a cell gave; the part that must be equal byte for byte, and its cost."""

    sets: Mapping[str, Answered] = field(default_factory=dict)  # "query", and others that are asked about
    counts: Mapping[str, int] = field(default_factory=dict)  # by code
    outputs: Mapping[str, Any] = field(default_factory=dict)  # by set: what answers were read from
    artifact: str = ""  # of a cell that trains a model: the digest of what it made
    scores: Mapping[str, Score] = field(default_factory=dict)  # by `score_key`
    cost: Cost

    def body(self) -> bytes:
        """Pack what must be equal byte for byte; an answer that JSON can't write is refused."""
        sets = {
            name: {part: list(v) if part != "pool" else v for part, v in _parts(of)} for name, of in self.sets.items()
        }
        told: dict[str, Any] = {"sets": sets, "counts": dict(sorted(self.counts.items()))}
        return _packed(told | ({"artifact": self.artifact} if self.artifact else {}))

    def said(self) -> bytes:
        """Pack what answers were read from, which must be equal too; nothing where there is no more to say."""
        return _packed(self.outputs) if self.outputs else b""


def _parts(of: Answered) -> list[tuple[str, Any]]:
    return [(f.name, getattr(of, f.name)) for f in fields(of)]


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
    """An open ledger; use it in a `with`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.db = self._connected()
        try:
            if self._is_blank():
                write_ahead(self.db)
                self._create()
            self._refuse_foreign()
            if self.writable:
                self.db.execute("PRAGMA synchronous = FULL")
        except sqlite3.OperationalError as error:
            self.db.close()
            raise LedgerError(f"the ledger can't be opened ({error}): {path}") from None
        except sqlite3.DatabaseError as error:
            self.db.close()
            raise LedgerError(f"not a ledger ({error}): {path}") from None
        except LedgerError:
            self.db.close()
            raise

    def _connected(self) -> sqlite3.Connection:
        """Connect; where the folder can't be written, what is there can still be read."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.writable = os.access(self.path if self.path.exists() else self.path.parent, os.W_OK) and os.access(
            self.path.parent, os.W_OK
        )
        if self.writable:
            return sqlite3.connect(self.path, timeout=30, isolation_level=None)
        where = f"{self.path.absolute().as_uri()}?mode=ro&immutable=1"
        return sqlite3.connect(where, uri=True, isolation_level=None)

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.db.close()
        if isinstance(error, zlib.error) or getattr(error, "sqlite_errorname", "").startswith(DAMAGED):
            told = f"the ledger is damaged ({error}); sqlite3's .recover may save what is left of it"
            raise LedgerError(f"{told}: {self.path}") from None

    def _is_blank(self) -> bool:
        """Tell a file that nobody has written in; another process may be about to."""
        (tables,) = self.db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return not tables

    def _refuse_foreign(self) -> None:
        (application,) = self.db.execute("PRAGMA application_id").fetchone()
        if application != APPLICATION:
            raise LedgerError(f"a data base, but not a ledger of taskloom; it is left as it is: {self.path}")
        (version,) = self.db.execute("PRAGMA user_version").fetchone()
        if version > FORMAT:
            raise LedgerError(
                f"ledger format {version} is newer than the {FORMAT} known here; upgrade taskloom: {self.path}"
            )
        if version < FORMAT:
            raise LedgerError(
                f"ledger format {version} is of an older taskloom, whose cells have other names, and is left as it is; "
                f"run into another folder (-o), or move it away: {self.path}"
            )

    def _create(self) -> None:
        with self.writing():
            if not self._is_blank():
                return  # another process was quicker
            for statement in SCHEMA.split(";"):
                self.db.execute(statement)
            self.db.execute("INSERT INTO about VALUES ('made_by', ?)", (f"taskloom {__version__}",))
            self.db.execute(f"PRAGMA application_id = {APPLICATION}")
            self.db.execute(f"PRAGMA user_version = {FORMAT}")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Do several things in one transaction."""
        try:
            with transaction(self.db):
                yield
        except sqlite3.OperationalError as error:
            raise LedgerError(f"can't write the ledger ({error}); what was finished is kept: {self.path}") from error

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

    def planned(self, trial: int) -> list[Planned]:
        """Give the cells that were planned, in their order."""
        names = [f.name for f in fields(Planned)]
        ask = f"SELECT {', '.join(names)} FROM planned WHERE trial = ? ORDER BY place"  # noqa: S608 (ours)
        return [Planned(**dict(zip(names, row, strict=True))) for row in self.db.execute(ask, (trial,))]

    # --- claims ------------------------------------------------------------------------------------------------------

    def states(self) -> dict[str, State]:
        """Give the state of every cell that was ever claimed, but for those whose claim expired."""
        now = time.time()
        rows = self.db.execute("SELECT id, state FROM cells WHERE state != 'claimed' OR beat >= ?", (now - EXPIRES,))
        return dict(rows.fetchall())

    def done(self, cells: Iterable[str]) -> set[str]:
        """Tell which of some cells are finished."""
        ask = "SELECT 1 FROM cells WHERE id = ? AND state = 'done'"
        return {cell for cell in cells if self.db.execute(ask, (cell,)).fetchone()}

    def claim(self, cells: Iterable[str], owner: str, *, again: bool = False) -> list[str]:
        """Claim cells that nobody has, and give those that are ours now; failed ones are tried again.

        Where what a finished cell made is lost, it can be claimed `again`.
        """
        now = time.time()
        won = []
        with self.writing():
            for cell in cells:
                done = self.db.execute(
                    "INSERT INTO cells (id, state, owner, beat) VALUES (?1, 'claimed', ?2, ?3) "
                    "ON CONFLICT (id) DO UPDATE SET state = 'claimed', owner = ?2, beat = ?3 "
                    "WHERE state IN ('failed', 'skipped') OR (state = 'claimed' AND beat < ?4) "
                    "OR (state = 'done' AND ?5)",
                    (cell, owner, now, now - EXPIRES, again),
                )
                won += [cell] * done.rowcount
        return won

    def free_the_dead(self) -> None:
        """Give back what processes of this machine had claimed that are no longer there."""
        owners = self.db.execute("SELECT DISTINCT owner FROM cells WHERE state = 'claimed'").fetchall()
        for (owner,) in owners:
            host, pid, _ = owner.rsplit("-", 2) if owner.count("-") >= 2 else ("", "0", "")
            if host == os.uname().nodename and not is_alive(int(pid)):
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
        """Keep what a cell gave: once, whoever comes first; its name, and what it was, with it."""
        body, said = found.body(), found.said()
        with self.writing():
            first = self.db.execute("INSERT OR IGNORE INTO results VALUES (?, ?)", (cell.id, body)).rowcount
            if first:  # all else is of the answers that are kept
                self.db.execute("INSERT OR IGNORE INTO keys VALUES (?, ?)", (cell.id, cell.key))
                if said:
                    self.db.execute("INSERT OR IGNORE INTO outputs VALUES (?, ?)", (cell.id, said))
                for signature, (units, unusable) in sorted(found.scores.items()):
                    self._keep_score(cell.id, signature, units, unusable)
                costs = (cell.id, cell.kind, cell.learner, cell.task, cell.shots, time.time(), *astuple(found.cost))
                self.db.execute(f"INSERT OR IGNORE INTO costs VALUES ({', '.join('?' * len(costs))})", costs)  # noqa: S608
            self.db.execute(
                "INSERT INTO cells (id, state, owner, beat) VALUES (?, 'done', '', 0) "
                "ON CONFLICT (id) DO UPDATE SET state = 'done', owner = '', beat = 0, why = '', trace = ''",
                (cell.id,),
            )

    def keep_scores(self, scores: Iterable[tuple[str, str, Score]]) -> None:
        """Keep scores that were made later, of answers that are there: all at once, where the ledger can be written."""
        kept = list(scores)
        if kept and self.writable:
            with self.writing():
                for cell, signature, (units, unusable) in kept:
                    self._keep_score(cell, signature, units, unusable)

    def _keep_score(self, cell: str, signature: str, units: Array, unusable: Mapping[str, int]) -> None:
        packed = zlib.compress(np.ascontiguousarray(units, dtype="<f8").tobytes(), 6)
        reasons = json.dumps(dict(sorted(unusable.items())))
        values = (cell, signature, units.shape[1], packed, reasons)
        self.db.execute("INSERT OR IGNORE INTO scores VALUES (?, ?, ?, ?, ?)", values)

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
                "INSERT INTO cells (id, state, owner, beat, why) VALUES (?1, 'skipped', '', 0, ?2) "
                "ON CONFLICT (id) DO UPDATE SET state = 'skipped', why = ?2 WHERE state IN ('failed', 'skipped')",
                [(cell, _written(why)) for cell in cells],
            )

    def result(self, cell: str) -> dict[str, Any] | None:
        """Read what a cell gave, if it did."""
        row = self.db.execute("SELECT body FROM results WHERE cell = ?", (cell,)).fetchone()
        return unpacked(row[0]) if row else None

    def outputs(self, cell: str) -> dict[str, Any]:
        """Read what the answers of a cell were read from: by set, what was written, options and hashes of prompts."""
        row = self.db.execute("SELECT body FROM outputs WHERE cell = ?", (cell,)).fetchone()
        return unpacked(row[0]) if row else {}

    def key(self, cell: str) -> dict[str, Any]:
        """Read what a finished cell is named by."""
        row = self.db.execute("SELECT key FROM keys WHERE cell = ?", (cell,)).fetchone()
        found: dict[str, Any] = json.loads(row[0]) if row else {}
        return found

    def bodies(self, trial: int) -> Iterator[tuple[str, bytes]]:
        """Yield what the cells of a plan gave, packed."""
        yield from self._of_plan("SELECT cell, body FROM results", trial)

    def scores(self, trial: int) -> dict[str, dict[str, Score]]:
        """Give the scores of the cells of a plan, by cell and signature."""
        found: dict[str, dict[str, Score]] = {}
        for cell, signature, width, units, unusable in self._of_plan(
            "SELECT cell, signature, width, units, unusable FROM scores", trial
        ):
            array = np.frombuffer(zlib.decompress(units), "<f8").reshape(-1, width)
            found.setdefault(cell, {})[signature] = (array, json.loads(unusable))
        return found

    def costs_of(self, trial: int) -> dict[str, Cost]:
        """Give what the finished cells of a plan cost."""
        return {cell: _cost(row) for cell, *row in self._of_plan(f"SELECT cell, {COSTS} FROM costs", trial)}  # noqa: S608

    def _of_plan(self, ask: str, trial: int) -> Iterator[Any]:
        return self.db.execute(f"{ask} WHERE cell IN (SELECT cell FROM planned WHERE trial = ?)", (trial,))  # noqa: S608

    def ended(self, state: Literal["failed", "skipped"]) -> dict[str, tuple[Note, str]]:
        """Give why cells of a state gave nothing, with the trace where there is one."""
        rows = self.db.execute("SELECT id, why, trace FROM cells WHERE state = ?", (state,))
        return {cell: (Note.from_json(json.loads(why)), trace) for cell, why, trace in rows}

    def costs(self, kind: str = "adapt") -> list[tuple[str, str, Any, Cost]]:
        """Give what every finished cell of a kind cost, those of trials too: learner, task, shots and cost."""
        rows = self.db.execute(f"SELECT learner, task, shots, {COSTS} FROM costs WHERE kind = ?", (kind,))  # noqa: S608
        return [(learner, task, shots, _cost(more)) for learner, task, shots, *more in rows]

    def contents(self) -> Iterator[tuple[str, str, bytes]]:
        """Yield all that must be equal between two ledgers of a study: keys, results, outputs, scores, in order."""
        yield from self.db.execute("SELECT cell, 'key', CAST(key AS BLOB) FROM keys ORDER BY cell")
        yield from self.db.execute("SELECT cell, '', body FROM results ORDER BY cell")
        yield from self.db.execute("SELECT cell, 'outputs', body FROM outputs ORDER BY cell")
        yield from self.db.execute(
            "SELECT cell, signature || ' ' || width || ' ' || unusable, units FROM scores ORDER BY cell, signature"
        )

    def merge(self, other: Path) -> tuple[int, int]:
        """Take over what another ledger has finished; give how many cells are new here, and how many differ there.

        Where both have a cell, ours stays, and so do its scores.
        """
        if not other.is_file() or other.samefile(self.path):
            raise LedgerError(f"no other ledger to merge: {other}")
        with Ledger(other):  # refuses what is none
            pass
        self.db.execute("ATTACH DATABASE ? AS other", (str(other),))
        try:
            with self.writing():
                return self._take_over()
        finally:
            self.db.execute("DETACH DATABASE other")

    def _take_over(self) -> tuple[int, int]:
        same = "JOIN other.results o USING (cell) JOIN main.results r USING (cell) WHERE r.body = o.body"
        (differ,) = self.db.execute(
            "SELECT count(*) FROM main.results r JOIN other.results o USING (cell) WHERE r.body != o.body"
        ).fetchone()
        new = self.db.execute("INSERT OR IGNORE INTO results SELECT * FROM other.results").rowcount
        for table in ("keys", "outputs", "scores", "costs"):
            self.db.execute(f"INSERT OR IGNORE INTO {table} SELECT t.* FROM other.{table} t {same}")  # noqa: S608 (ours)
        self.db.execute(
            "INSERT INTO cells SELECT * FROM other.cells WHERE state = 'done' "
            "ON CONFLICT (id) DO UPDATE SET state = 'done', owner = '', beat = 0, why = '', trace = ''"
        )
        return new, differ

    def keep_about(self, **values: str) -> None:
        """Keep things about the run, such as where its study lay; what is the same is not written again."""
        new = {name: value for name, value in values.items() if self.about(name) != value}
        if new:
            with self.writing():
                self.db.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", new.items())

    def about(self, name: str) -> str:
        """Give what was kept about the run, or nothing."""
        row = self.db.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else ""


def _cost(row: Sequence[Any]) -> Cost:
    return Cost(**dict(zip((f.name for f in fields(Cost)), row, strict=True)))


def _written(why: Note) -> str:
    return _encodable(json.dumps(why.to_json()))


def _encodable(text: str) -> str:
    """Write half characters out: SQLite takes none."""
    return text.encode("utf-8", "backslashreplace").decode()


def _packed(body: Mapping[str, Any]) -> bytes:
    text = json.dumps(body, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 6)


def unpacked(body: bytes) -> dict[str, Any]:
    """Read what was packed."""
    found: dict[str, Any] = json.loads(zlib.decompress(body).decode("utf-8", "surrogatepass"))
    return found
