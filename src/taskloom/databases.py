"""SQLite files: several writes as one, and files from others, whose tables must be ours and nothing else."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from .messages import Note

PATIENCE = 30.0  # seconds
ROOM = 1 << 16  # bytes that a disk must have free, or SQLite can't make its files
LOCKED = ("SQLITE_BUSY", "SQLITE_LOCKED")  # by others, for a while
PLAIN = "CREATE TABLE "  # what may be there besides, such as what sqlite3's .recover adds: nothing reads it


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Begin at once, so that no other process writes meanwhile; on the way out of any error, undo."""
    try:
        db.execute("BEGIN IMMEDIATE")
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def write_ahead(db: sqlite3.Connection) -> None:
    """Let readers and a writer work at once; two processes that ask for it together do not wait for each other."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith(LOCKED) or time.monotonic() > until:
                raise
            time.sleep(0.02)


@cache
def tables_of(*statements: str) -> frozenset[str]:
    """Give the tables and indexes that statements make, as SQLite writes them down."""
    with closing(sqlite3.connect(":memory:")) as db:
        for statement in statements:
            db.execute(statement)
        return _tables(db)


def has_tables(db: sqlite3.Connection, wanted: frozenset[str]) -> bool:
    """Tell whether a file has these tables and no view or trigger, whose SQL would run when a table is read.

    What a file says is a table may be a view: only the statement itself is believed.
    """
    found = _tables(db)
    return wanted <= found and all(statement.startswith(PLAIN) for statement in found - wanted)


def _tables(db: sqlite3.Connection) -> frozenset[str]:
    rows = db.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
    return frozenset(" ".join(str(sql).split()) for (sql,) in rows)


def broken_pages(db: sqlite3.Connection, tables: Iterable[str]) -> str:
    """Say what is wrong with the pages of some tables, in one look at each; nothing where they are sound.

    Pages that are used twice can make a few of them an endless table. Tables of others are not looked at: the
    constraints that they declare would be computed.
    """
    for name in tables:
        (found,) = db.execute(f"PRAGMA quick_check({name})").fetchone()
        if found != "ok":
            return " ".join(str(found).split())
    return ""


# --- files that can't be written -------------------------------------------------------------------------------------


def reason(error: Exception, path: Path) -> Note | str:
    """Say why a database can't be used."""
    return Note.of("disk-full") if is_full(error, path) else str(error)


def is_full(error: Exception, path: Path) -> bool:
    """Tell whether an error of a file, or of a database, comes from a full disk; SQLite may call that an I/O error."""
    name = getattr(error, "sqlite_errorname", "")
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    return name == "SQLITE_FULL" or (name.startswith("SQLITE_IOERR") and not _has_room(path))


def _has_room(path: Path) -> bool:
    there = next(one for one in (path, *path.absolute().parents) if one.exists())
    return shutil.disk_usage(there).free >= ROOM


def log_of(path: Path) -> Path:
    """Name the file in which SQLite keeps what is written until it is in the database."""
    return path.with_name(f"{path.name}-wal")


def is_filled(path: Path) -> bool:
    """Tell a file that something was written in."""
    return path.is_file() and path.stat().st_size > 0


def is_writable(path: Path) -> bool:
    """Tell whether a database can be written, or made, where SQLite keeps its log beside it."""
    return all(os.access(one, os.W_OK) for one in (path.parent, path if path.exists() else path.parent))


def connect_read_only(path: Path) -> sqlite3.Connection:
    """Connect to a database that can't be written; SQLite would write into the file what a killed process left."""
    if is_filled(log_of(path)):
        return _in_memory(path)
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, isolation_level=None)


def _in_memory(path: Path) -> sqlite3.Connection:
    """Read a database with its log into memory."""
    with TemporaryDirectory(prefix="taskloom-") as aside:
        for one in (path, log_of(path)):
            shutil.copy(one, Path(aside) / one.name)
        read = sqlite3.connect(":memory:", isolation_level=None)
        with closing(sqlite3.connect(Path(aside) / path.name)) as whole:
            try:
                whole.backup(read)
            except BaseException:
                read.close()
                raise
    return read
