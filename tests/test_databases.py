from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from taskloom.databases import write_ahead


def test_what_waiting_does_not_mend_is_raised_at_once(tmp_path: Path):
    path = tmp_path / "some.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE some (one)")
    start = time.monotonic()
    read_only = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    with closing(read_only), pytest.raises(sqlite3.OperationalError) as raised:
        write_ahead(read_only)
    assert raised.value.sqlite_errorname == "SQLITE_READONLY"
    assert time.monotonic() - start < 5


def test_what_another_process_has_locked_is_waited_for(tmp_path: Path):
    path = tmp_path / "some.db"
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("CREATE TABLE some (one)")
        other.execute("BEGIN EXCLUSIVE")
        later = threading.Timer(0.3, lambda: other.execute("COMMIT"))
        later.start()
        with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as db:
            write_ahead(db)
            assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        later.join()
