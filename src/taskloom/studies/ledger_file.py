"""The file of a ledger: found, made, brought up to date, or refused with a reason."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .. import __version__
from ..databases import broken_pages, connect_read_only, is_filled, is_writable, reason, transaction, write_ahead
from ..errors import LedgerError
from ..folders import make_private
from ..messages import Note
from .ledger_schema import APPLICATION, FORMAT, SCHEMA, TABLES, is_older, refuse_foreign, show_upgraded, upgrade

DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR")  # the last: a table or a column is not there
NAMES = re.findall(r"CREATE TABLE (\w+)", TABLES)
MOMENT = 2.0  # seconds in which a ledger that was made is filled

_checked: set[tuple[int, ...]] = set()  # states of files


def connected(path: Path, *, filling: bool) -> tuple[sqlite3.Connection, bool]:
    """Connect to a ledger, and tell whether it can be written; where it can't, what is there can still be read."""
    if not filling and path.is_file() and not _is_filled_soon(path):
        raise LedgerError(Note.of("not-a-ledger", path=path))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if writable := is_writable(path):
            make_private(path)
            db = sqlite3.connect(path, timeout=30, isolation_level=None)
        else:
            db = connect_read_only(path)
    except (OSError, sqlite3.Error) as error:
        if is_damage(error):
            raise LedgerError(f"{damaged(error)}: {path}") from None
        raise LedgerError(f"the ledger can't be opened ({reason(error, path)}): {path}") from None
    return db, writable


@contextmanager
def closing_where_refused(db: sqlite3.Connection, path: Path) -> Iterator[None]:
    """Close the database if it can't be read or is no ledger, and raise an error that says which."""
    try:
        yield
    except UnicodeError as error:  # of a message of SQLite's, on a schema that is damaged
        db.close()
        raise LedgerError(f"{damaged(error)}: {path}") from None
    except sqlite3.OperationalError as error:
        db.close()
        raise LedgerError(f"the ledger can't be opened ({reason(error, path)}): {path}") from None
    except sqlite3.DatabaseError as error:
        db.close()
        if error.sqlite_errorname.startswith("SQLITE_CORRUPT"):
            raise LedgerError(f"{damaged(error)}: {path}") from None
        raise LedgerError(Note.of("not-a-ledger", path=path)) from None
    except LedgerError:
        db.close()
        raise


def make_or_upgrade(db: sqlite3.Connection, path: Path, *, writable: bool, filling: bool) -> None:
    """Make the tables of a new ledger, or add those that an older one lacks; refuse any other file."""
    if filling and _is_blank(db):
        _create(db)
        write_ahead(db)
    refuse_foreign(db, path)
    if is_older(db):
        (upgrade if writable else show_upgraded)(db)
    if writable:
        db.execute("PRAGMA synchronous = FULL")


def refuse_unreadable(db: sqlite3.Connection, path: Path) -> None:
    """Refuse a ledger whose pages are damaged, or that one reads for ever; each state of a file is checked once."""
    about = path.stat()
    if (state := (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns)) in _checked:
        return
    if problem := broken_pages(db, NAMES):
        raise LedgerError(f"{damaged(problem)}: {path}")
    _checked.add(state)


def is_damage(error: BaseException | None) -> bool:
    """Tell whether an error means a damaged file; for text that is not UTF-8, SQLite has no error name."""
    name = getattr(error, "sqlite_errorname", "")
    return isinstance(error, sqlite3.Error) and (name.startswith(DAMAGED) or "decode to UTF-8" in str(error))


def damaged(problem: object) -> str:
    """Say that a ledger is damaged, and what may save some of it."""
    return f"the ledger is damaged ({problem}); sqlite3's .recover may save some of it"


def _is_filled_soon(path: Path) -> bool:
    """Tell a file that something is written in; a run that has just made it is given a moment."""
    until = time.monotonic() + MOMENT
    while not (found := is_filled(path)) and time.monotonic() < until:
        time.sleep(0.02)
    return found


def _is_blank(db: sqlite3.Connection) -> bool:
    """Tell whether the database is still empty; another process may be about to fill it."""
    (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return not tables


def _create(db: sqlite3.Connection) -> None:
    with transaction(db):
        if not _is_blank(db):
            return  # another process was quicker
        for statement in SCHEMA:
            db.execute(statement)
        db.execute("INSERT INTO about VALUES ('made_by', ?)", (f"taskloom {__version__}",))
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute(f"PRAGMA user_version = {FORMAT}")
