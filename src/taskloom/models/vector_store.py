"""Vectors in files: an index of texts by digest, and segments of rows that are read by memory map.

Whoever writes has the index to itself: rows are appended to the last segment, and then added to the index. So
what a killed process has written is either known whole or written over.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import numpy as np

from ..databases import (
    broken_pages,
    connect_read_only,
    has_tables,
    is_full,
    is_writable,
    tables_of,
    transaction,
    write_ahead,
)
from ..errors import ModelUnavailableError
from ..folders import alone
from ..limits import parse_json
from ..messages import Note
from ..processes import is_gone, new_owner
from ..texts import counted
from . import Array

INDEX, LOCK = "index.db", "lock"
APPLICATION, FORMAT = 0x76656373, 1  # "vecs", in the header of the index
ROWS = 1 << 18  # of a segment
MOST_WIDTH, MOST_ROWS = 1 << 20, 1 << 40  # of vectors, and of a store: an index that says more is damaged
EXPIRES = 600.0  # seconds after which a claim is free again, whoever made it
ASKED = 500  # digests in one question to the index
TOGETHER, NUMBERS = 1 << 14, 1 << 24  # vectors that are copied at once, and numbers in them
TABLES = (
    "CREATE TABLE about (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID",
    "CREATE TABLE texts (digest BLOB PRIMARY KEY, place INTEGER NOT NULL, cut INTEGER NOT NULL, "
    "checksum BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE claims (digest BLOB PRIMARY KEY, owner TEXT NOT NULL, until REAL NOT NULL) WITHOUT ROWID",
    "INSERT INTO about VALUES ('rows', 0), ('remade', 0)",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {FORMAT}",
)
DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_IOERR_SHORT_READ", "SQLITE_READONLY_DBMOVED")
NOT_KEPT = ("vectors-disk-full", "vectors-not-kept")  # codes
T = TypeVar("T")


class VectorStore:
    """The vectors of one model in one form; those of another cache are read alone, and left as they are."""

    def __init__(self, folder: Path, dtype: str = "float32", *, is_ours: bool = True) -> None:
        self.folder, self.owner, self.is_ours = folder, new_owner(), is_ours
        self.dtype = np.dtype(dtype).newbyteorder("<")
        self.maps: dict[int, Array] = {}
        self.db = self.guarded(self._opened)

    # --- reading -----------------------------------------------------------------------------------------------------

    def find(self, digests: Sequence[bytes]) -> tuple[Array, list[int], list[bytes]]:
        """Give the vectors of texts, float32, the tokens of each that were cut, and the texts that have none.

        What is damaged is forgotten, and counted.
        """
        known = {row[0]: row for row in self._known(digests)}
        rows = np.zeros((len(digests), self.guarded(lambda: self.width)), np.float32)
        cut, missing = [0] * len(digests), []
        for at, digest in enumerate(digests):
            row = self._sound(*known[digest]) if digest in known else None
            if row is None:
                missing.append(digest)
            else:
                rows[at], cut[at] = row, known[digest][2]
        damaged = [digest for digest in missing if digest in known]
        if damaged and self.is_ours:
            self._forget(damaged)
        return rows, cut, missing

    def _known(self, digests: Sequence[bytes]) -> list[tuple[bytes, int, int, bytes]]:
        """Ask the index; one that turns out to be damaged is made anew, and knows nothing."""
        parts = [digests[at : at + ASKED] for at in range(0, len(digests), ASKED)]
        return self.guarded(lambda: [row for part in parts for row in self._asked(part)])

    def _asked(self, digests: Sequence[bytes]) -> list[tuple[bytes, int, int, bytes]]:
        marks = ", ".join("?" * len(digests))
        ask = f"SELECT digest, place, cut, checksum FROM texts WHERE digest IN ({marks})"  # noqa: S608 (ours)
        return self.db.execute(ask, digests).fetchall()

    def _sound(self, digest: bytes, place: int, cut: int, checksum: bytes) -> Array | None:
        """Read a row where it lies, unless it is not what was kept of a text."""
        try:
            row = self._row(place)
            return row if row is not None and checksum == _checksum(digest, cut, row) else None
        except (TypeError, AttributeError, OverflowError, IndexError):  # no integers: the index is damaged
            return None

    def _row(self, place: int) -> Array | None:
        """Read a row where it lies; None where there is none."""
        segment, row = divmod(place, ROWS)
        if segment not in self.maps or row >= len(self.maps[segment]):
            self.maps[segment] = self._mapped(segment)
        found = self.maps[segment]
        return found[row] if 0 <= row < len(found) else None

    def _mapped(self, segment: int) -> Array:
        """Map a segment, as long as it is now; what is not there has no rows."""
        width = self.width
        try:
            count = self._segment(segment).stat().st_size // (width * self.dtype.itemsize) if width else 0
            if count:
                return np.asarray(np.memmap(self._segment(segment), self.dtype, "r", shape=(count, width)))
        except OSError:
            pass
        return np.empty((0, width), self.dtype)

    def _segment(self, number: int) -> Path:
        return self.folder / f"{number}.{self.dtype.name}"

    @property
    def width(self) -> int:
        """Say how many numbers a vector has; 0 where none is kept."""
        return self._number("width", MOST_WIDTH)

    def _number(self, name: str, most: int) -> int:
        """Read a number of the index; one that can't be has been damaged."""
        row = self.db.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
        found = row[0] if row else 0
        if not isinstance(found, int) or not 0 <= found <= most:
            raise _foreign()
        return found

    def merge(self, other: VectorStore) -> int:
        """Copy the vectors of another store that this one lacks, and give how many; what is damaged there is not."""
        listed = other.guarded(lambda: other.db.execute("SELECT digest FROM texts ORDER BY place").fetchall())
        digests, copied = [digest for (digest,) in listed], 0
        step = max(1, min(TOGETHER, NUMBERS // max(1, other.guarded(lambda: other.width))))
        for at in range(0, len(digests), step):
            part = digests[at : at + step]
            known = {row[0] for row in self._known(part)}
            rows, cut, damaged = other.find(part)
            new = [place for place, digest in enumerate(part) if digest not in known and digest not in {*damaged}]
            if new:
                self.keep([part[place] for place in new], rows[new], [cut[place] for place in new])
            copied += len(new)
        return copied

    # --- writing -----------------------------------------------------------------------------------------------------

    def claim(self, digests: Iterable[bytes], most: int) -> tuple[list[bytes], list[bytes]]:
        """Claim so many texts that are free, in this order; give them, and those that are there meanwhile."""
        return self.guarded(lambda: self._claim(digests, most))

    def _claim(self, digests: Iterable[bytes], most: int) -> tuple[list[bytes], list[bytes]]:
        ours: list[bytes] = []
        there: list[bytes] = []
        with transaction(self.db):
            self._free_the_dead()
            for digest in digests:
                if len(ours) == most:
                    break
                if self.db.execute("SELECT 1 FROM texts WHERE digest = ?", (digest,)).fetchone():
                    there.append(digest)
                elif self.db.execute(
                    "INSERT INTO claims VALUES (?1, ?2, ?3) "
                    "ON CONFLICT (digest) DO UPDATE SET until = ?3 WHERE owner = ?2",
                    (digest, self.owner, time.time() + EXPIRES),
                ).rowcount:
                    ours.append(digest)
        return ours, there

    def _free_the_dead(self) -> None:
        """Free what processes have claimed that are gone, and what was claimed too long ago, or by another clock."""
        now = time.time()
        self.db.execute("DELETE FROM claims WHERE until NOT BETWEEN ? AND ?", (now, now + 2 * EXPIRES))
        for (owner,) in self.db.execute("SELECT DISTINCT owner FROM claims").fetchall():
            if is_gone(owner):
                self.db.execute("DELETE FROM claims WHERE owner = ?", (owner,))

    def release(self) -> None:
        """Give back what was claimed and is not kept."""
        with suppress(sqlite3.Error):  # on a full disk it expires, or goes with this process
            self.db.execute("DELETE FROM claims WHERE owner = ?", (self.owner,))

    def keep(self, digests: Sequence[bytes], vectors: Array, cut: Sequence[int]) -> None:
        """Keep vectors, all or none; where a text has one already, that one stays."""
        rows = np.ascontiguousarray(vectors, dtype=self.dtype)
        self.guarded(lambda: self._append(digests, rows, cut))

    def _append(self, digests: Sequence[bytes], rows: Array, cut: Sequence[int]) -> None:
        with transaction(self.db):
            self._settle_width(rows.shape[1])
            first = self._number("rows", MOST_ROWS)
            self._write(first, rows)
            kept = (
                (digest, first + at, cut[at], _checksum(digest, cut[at], rows[at])) for at, digest in enumerate(digests)
            )
            self.db.executemany("INSERT OR IGNORE INTO texts VALUES (?, ?, ?, ?)", kept)
            self.db.execute("UPDATE about SET value = ? WHERE name = 'rows'", (first + len(rows),))
            self.db.executemany("DELETE FROM claims WHERE digest = ?", [(digest,) for digest in digests])

    def _settle_width(self, width: int) -> None:
        """Note the width of the first vectors; an index that has another one is damaged, with all that it knows."""
        if self.width == width:
            return
        if self.width:
            self.maps.clear()
            self.db.execute("DELETE FROM texts")
            self.db.execute("UPDATE about SET value = value + 1 WHERE name = 'remade'")
        self.db.execute("INSERT OR REPLACE INTO about VALUES ('width', ?), ('rows', 0)", (width,))

    def _write(self, first: int, rows: Array) -> None:
        """Write rows at their places, over whatever a killed process has left there."""
        while len(rows):
            segment, at = divmod(first, ROWS)
            part, rows = rows[: ROWS - at], rows[ROWS - at :]
            with os.fdopen(os.open(self._segment(segment), os.O_WRONLY | os.O_CREAT, 0o644), "wb") as file:
                file.seek(at * part.strides[0])
                file.write(part.tobytes())
            first += len(part)

    def _forget(self, digests: Sequence[bytes]) -> None:
        """Forget texts whose vectors are damaged, and count them."""
        self.maps.clear()

        def forget() -> None:
            with transaction(self.db):
                gone = self.db.executemany("DELETE FROM texts WHERE digest = ?", [(one,) for one in digests]).rowcount
                self.db.execute("UPDATE about SET value = value + ? WHERE name = 'remade'", (gone,))

        self.guarded(forget)

    def guarded(self, work: Callable[[], T]) -> T:
        """Run `work`. If our own index is damaged or missing, make it again; report other failures in one line."""
        try:
            try:
                return work()
            except (sqlite3.DatabaseError, FileNotFoundError) as error:
                if not (self.is_ours and _is_damage(error)):
                    raise
                self.db = self._made_anew()
                return work()
        except (OSError, sqlite3.Error) as error:
            raise ModelUnavailableError(self._refused(error)) from error

    def _refused(self, error: Exception) -> Note:
        if not self.is_ours:
            return Note.of("vectors-unreadable", reason=error, path=self.folder)
        if is_full(error, self.folder):
            return Note.of("vectors-disk-full", path=self.folder)
        return Note.of("vectors-not-kept", reason=error, path=self.folder)

    def refuse_lost(self, count: int) -> None:
        """Refuse to go on where what is written is not what is read."""
        if count:
            raise ModelUnavailableError(Note.of("vectors-lost", count=count, path=self.folder))

    def close(self) -> None:
        """Let go of the files."""
        self.maps.clear()
        self.db.close()

    # --- the index ---------------------------------------------------------------------------------------------------

    def _opened(self) -> sqlite3.Connection:
        if not self.is_ours:
            return _read_only(self.folder / INDEX)
        self.folder.mkdir(parents=True, exist_ok=True)
        with alone(self.folder / LOCK):
            return _connected(self.folder / INDEX)

    def _made_anew(self) -> sqlite3.Connection:
        """Make an index in the place of one that is damaged, or not ours: what it knew is encoded again."""
        self.maps.clear()
        self.folder.mkdir(parents=True, exist_ok=True)  # somebody may have cleared the cache
        with alone(self.folder / LOCK):
            with suppress(sqlite3.DatabaseError):  # another process may have been quicker
                db = _connected(self.folder / INDEX)
                if db.execute("PRAGMA quick_check(1)").fetchone() == ("ok",):
                    return db
            for file in self.folder.iterdir():
                if file.name != LOCK:
                    file.unlink()
            db = _connected(self.folder / INDEX)
            db.execute("UPDATE about SET value = value + 1 WHERE name = 'remade'")
            return db

    @staticmethod
    def described(folder: Path, about: Path) -> str:
        """Say what is in a folder, for people."""
        try:
            model = parse_json(about.read_bytes())["model"]
            db = _read_only(folder / INDEX)
            (count,) = db.execute("SELECT count(*) FROM texts").fetchone()
            (remade,) = map(int, db.execute("SELECT value FROM about WHERE name = 'remade'").fetchone())
            db.close()
        except (OSError, ValueError, KeyError, TypeError, OverflowError, sqlite3.Error):
            return "vectors that can't be read, and are encoded again when they are asked for"
        damaged = f"; {counted(remade, 'time')} something was damaged and encoded again" if remade else ""
        return f"{counted(count, 'vector')} of {model}, {folder.name}{damaged}"


def _connected(path: Path) -> sqlite3.Connection:
    """Connect to an index, which is made where there is none; what is no index of ours raises."""
    db, tables = _checked(sqlite3.connect(path, timeout=60, isolation_level=None))
    try:
        write_ahead(db)
        db.execute("PRAGMA synchronous = NORMAL")  # what a power cut takes is noticed by its checksum
        if not tables:
            with transaction(db):
                for statement in TABLES:
                    db.execute(statement)
    except BaseException:
        db.close()
        raise
    return db


def _checked(db: sqlite3.Connection) -> tuple[sqlite3.Connection, int]:
    """Count the tables of an index; what is no index of ours raises."""
    try:
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
        (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables and not ((application, version) == (APPLICATION, FORMAT) and has_tables(db, tables_of(*TABLES))):
            raise _foreign()
    except UnicodeDecodeError:  # of what is damaged, in the text of an error
        db.close()
        raise _foreign() from None
    except BaseException:
        db.close()
        raise
    return db, tables


def _read_only(path: Path) -> sqlite3.Connection:
    """Connect to an index to read it, with what others write meanwhile; one that is not ours, or damaged, raises."""
    if is_writable(path):
        db, _ = _checked(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None))
    else:
        db, _ = _checked(connect_read_only(path))
    if broken_pages(db, ("about", "texts", "claims")):
        db.close()
        raise _foreign()
    return db


def _foreign() -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError("not an index of vectors")
    error.sqlite_errorname = "SQLITE_NOTADB"
    return error


def _is_damage(error: Exception) -> bool:
    """Tell what an index is made anew for: it is damaged, not ours, or gone."""
    return isinstance(error, FileNotFoundError) or getattr(error, "sqlite_errorname", "").startswith(DAMAGED)


def _checksum(digest: bytes, cut: int, row: Array) -> bytes:
    """Give what a row is checked by when it is read: of its text, too."""
    return hashlib.blake2b(digest + cut.to_bytes(8, "little") + row.tobytes(), digest_size=8).digest()
