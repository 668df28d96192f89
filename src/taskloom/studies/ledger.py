"""The ledger of a run: SQLite, so that what was finished stays finished whatever happens next.

A cell is claimed by an owner with a heartbeat that expires, so that several runs can share a ledger. Results are
inserted once and never changed; costs lie apart, for they are measured and no part of what must be equal.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeAlias

import numpy as np

from .. import __version__
from ..episodes import Shots
from ..errors import LedgerError
from ..folders import is_alive
from ..scores.reduce import Array
from ..transactions import transaction, write_ahead
from .costs import Cost

DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB")
FORMAT = 2
APPLICATION = 0x7461736B  # "task", in the file's header
EXPIRES = 60.0  # seconds without a heartbeat after which a claim is free again
State: TypeAlias = Literal["claimed", "done", "failed", "left out"]
SCHEMA = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE cells (
    id TEXT PRIMARY KEY, state TEXT NOT NULL, owner TEXT NOT NULL, beat REAL NOT NULL, note TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE TABLE results (cell TEXT PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE scores (
    cell TEXT NOT NULL, signature TEXT NOT NULL, width INTEGER NOT NULL, units BLOB NOT NULL, unusable TEXT NOT NULL,
    PRIMARY KEY (cell, signature)
);
CREATE TABLE costs (cell TEXT NOT NULL, learner TEXT NOT NULL, seconds REAL NOT NULL, ended REAL NOT NULL,
    {added}, PRIMARY KEY (cell));
CREATE INDEX by_state ON cells (state, owner);
"""


ADDED = ["task TEXT NOT NULL DEFAULT ''", "shots INTEGER NOT NULL DEFAULT 0"] + [
    f"{f.name} {'REAL' if f.type == 'float' else 'INTEGER'} NOT NULL DEFAULT 0" for f in fields(Cost)[1:]
]
COSTS = ", ".join(f.name for f in fields(Cost))


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What a cell gave; the part that must be equal byte for byte, and its cost."""

    answers: Sequence[Any]
    items: Sequence[str]
    rows: Sequence[int]  # of the query set, in its pool
    pool: str
    counts: Mapping[str, int]
    scores: Mapping[str, tuple[Array, Mapping[str, int]]]  # by `score_key`: units, unusable
    cost: Cost

    def body(self) -> bytes:
        """Pack what must be equal byte for byte; an answer that JSON can't write is refused."""
        told = {"answers": list(self.answers), "items": list(self.items), "rows": list(self.rows), "pool": self.pool}
        return _packed(told | {"counts": dict(sorted(self.counts.items()))})


class Ledger:
    """An open ledger; use it in a `with`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self.db = sqlite3.connect(path, timeout=30, isolation_level=None)
        try:
            if self._is_blank():
                write_ahead(self.db)
                self._create()
            self._refuse_foreign()
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
            self._upgrade()

    def _upgrade(self) -> None:
        """Give a ledger of format 1 the costs that it lacks."""
        with self.writing():
            if self.db.execute("PRAGMA user_version").fetchone()[0] < FORMAT:  # no other process was quicker
                for column in ADDED:
                    self.db.execute(f"ALTER TABLE costs ADD COLUMN {column}")
                self.db.execute(f"PRAGMA user_version = {FORMAT}")

    def _create(self) -> None:
        with self.writing():
            if not self._is_blank():
                return  # another process was quicker
            for statement in SCHEMA.format(added=", ".join(ADDED)).split(";"):
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

    # --- claims ------------------------------------------------------------------------------------------------------

    def states(self) -> dict[str, State]:
        """Give the state of every cell that was ever claimed; one whose claim expired is left out."""
        now = time.time()
        rows = self.db.execute("SELECT id, state FROM cells WHERE state != 'claimed' OR beat >= ?", (now - EXPIRES,))
        return dict(rows.fetchall())

    def done(self, cells: Iterable[str]) -> set[str]:
        """Tell which of some cells are finished."""
        ask = "SELECT 1 FROM cells WHERE id = ? AND state = 'done'"
        return {cell for cell in cells if self.db.execute(ask, (cell,)).fetchone()}

    def claim(self, cells: Iterable[str], owner: str) -> list[str]:
        """Claim cells that nobody has, and give those that are ours now; failed ones are tried again."""
        now = time.time()
        won = []
        with self.writing():
            for cell in cells:
                done = self.db.execute(
                    "INSERT INTO cells (id, state, owner, beat) VALUES (?1, 'claimed', ?2, ?3) "
                    "ON CONFLICT (id) DO UPDATE SET state = 'claimed', owner = ?2, beat = ?3 "
                    "WHERE state IN ('failed', 'left out') OR (state = 'claimed' AND beat < ?4)",
                    (cell, owner, now, now - EXPIRES),
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
            self.db.execute("DELETE FROM cells WHERE owner = ? AND state = 'claimed'", (owner,))

    # --- results -----------------------------------------------------------------------------------------------------

    def finish(self, cell: str, kind: tuple[str, str, Shots], found: Finished) -> None:
        """Keep what a cell gave: once, whoever comes first. Its kind (learner, task, shots) is kept with its cost."""
        body = found.body()
        with self.writing():
            first = self.db.execute("INSERT OR IGNORE INTO results VALUES (?, ?)", (cell, body)).rowcount
            if first:  # scores and costs are those of the answers that are kept
                for signature, (units, unusable) in sorted(found.scores.items()):
                    self._keep_score(cell, signature, units, unusable)
                self._keep_cost(cell, kind, found.cost)
            self.db.execute(
                "INSERT INTO cells (id, state, owner, beat) VALUES (?, 'done', '', 0) "
                "ON CONFLICT (id) DO UPDATE SET state = 'done', owner = '', beat = 0, note = ''",
                (cell,),
            )

    def keep_score(self, cell: str, signature: str, units: Array, unusable: Mapping[str, int]) -> None:
        """Keep a score that was made later, of answers that are there."""
        with self.writing():
            self._keep_score(cell, signature, units, unusable)

    def _keep_score(self, cell: str, signature: str, units: Array, unusable: Mapping[str, int]) -> None:
        packed = zlib.compress(np.ascontiguousarray(units, dtype="<f8").tobytes(), 6)
        reasons = json.dumps(dict(sorted(unusable.items())))
        values = (cell, signature, units.shape[1], packed, reasons)
        self.db.execute("INSERT OR IGNORE INTO scores VALUES (?, ?, ?, ?, ?)", values)

    def _keep_cost(self, cell: str, kind: tuple[str, str, Shots], cost: Cost) -> None:
        (learner, *where), (seconds, *more) = kind, astuple(cost)
        values = (cell, learner, seconds, time.time(), *where, *more)
        self.db.execute(f"INSERT OR IGNORE INTO costs VALUES ({', '.join('?' * len(values))})", values)  # noqa: S608

    def fail(self, cell: str, owner: str, state: Literal["failed", "left out"], note: str) -> None:
        """Keep why a cell gave nothing, unless its owner lost it to another meanwhile."""
        text = note.encode("utf-8", "backslashreplace").decode()  # SQLite takes no half of a character
        with self.writing():
            self.db.execute(
                "UPDATE cells SET state = ?, owner = '', beat = 0, note = ? "
                "WHERE id = ? AND owner = ? AND state = 'claimed'",
                (state, text, cell, owner),
            )

    def result(self, cell: str) -> dict[str, Any] | None:
        """Read what a cell gave, if it did."""
        row = self.db.execute("SELECT body FROM results WHERE cell = ?", (cell,)).fetchone()
        return _unpacked(row[0]) if row else None

    def score(self, cell: str, signature: str) -> tuple[Array, dict[str, int]] | None:
        """Read a score, if it was kept."""
        row = self.db.execute(
            "SELECT width, units, unusable FROM scores WHERE cell = ? AND signature = ?", (cell, signature)
        ).fetchone()
        if row is None:
            return None
        width, units, unusable = row
        return np.frombuffer(zlib.decompress(units), "<f8").reshape(-1, width), json.loads(unusable)

    def notes(self, state: State) -> dict[str, str]:
        """Give the notes of all cells of a state: tracebacks, or reasons."""
        return dict(self.db.execute("SELECT id, note FROM cells WHERE state = ?", (state,)).fetchall())

    def cost(self, cell: str) -> Cost:
        """Give what a cell cost."""
        row = self.db.execute(f"SELECT {COSTS} FROM costs WHERE cell = ?", (cell,)).fetchone()  # noqa: S608 (ours)
        return _cost(row) if row else Cost()

    def costs(self) -> list[tuple[str, str, Shots, Cost]]:
        """Give what every finished cell cost, those of trials too: learner, task, shots and cost."""
        rows = self.db.execute(f"SELECT learner, task, shots, {COSTS} FROM costs")  # noqa: S608 (ours)
        return [(learner, task, shots, _cost(more)) for learner, task, shots, *more in rows]

    def contents(self) -> Iterator[tuple[str, str, bytes]]:
        """Yield all that must be equal between two ledgers of the same study: results, then scores, in order."""
        yield from self.db.execute("SELECT cell, '', body FROM results ORDER BY cell")
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
        for table in ("scores", "costs"):
            self.db.execute(f"INSERT OR IGNORE INTO {table} SELECT t.* FROM other.{table} t {same}")  # noqa: S608 (ours)
        self.db.execute(
            "INSERT INTO cells SELECT * FROM other.cells WHERE state = 'done' "
            "ON CONFLICT (id) DO UPDATE SET state = 'done', owner = '', beat = 0, note = ''"
        )
        return new, differ

    def keep_about(self, name: str, value: str) -> None:
        """Keep something about the run, such as where its study lay."""
        with self.writing():
            self.db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (name, value))

    def about(self, name: str) -> str:
        """Give what was kept about the run, or nothing."""
        row = self.db.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else ""


def _cost(row: Sequence[Any]) -> Cost:
    return Cost(**dict(zip((f.name for f in fields(Cost)), row, strict=True)))


def _packed(body: Mapping[str, Any]) -> bytes:
    text = json.dumps(body, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 6)


def _unpacked(body: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(zlib.decompress(body).decode("utf-8", "surrogatepass"))
    return found
