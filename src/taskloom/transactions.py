"""Data bases that several processes write: several writes as one, all of them or none."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 30.0  # seconds


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
        except sqlite3.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)
