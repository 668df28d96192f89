from __future__ import annotations

import errno
import shutil
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from taskloom.databases import ROOM, is_full, write_ahead


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


def failed(name: str) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorname = name
    return error


@pytest.mark.parametrize(
    ("error", "free", "full"),
    [
        (failed("SQLITE_IOERR_WRITE"), 0, True),
        (failed("SQLITE_IOERR_SHMSIZE"), ROOM - 1, True),
        (failed("SQLITE_IOERR_WRITE"), ROOM, False),
        (failed("SQLITE_FULL"), ROOM, True),
        (failed("SQLITE_READONLY"), 0, False),
        (sqlite3.OperationalError("Could not decode to UTF-8"), 0, False),
        (OSError(errno.ENOSPC, "No space left on device"), ROOM, True),
        (OSError(errno.EROFS, "Read-only file system"), 0, False),
    ],
)
def test_a_full_disk_is_told_from_other_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, free: int, full: bool
):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=free))
    assert is_full(error, tmp_path / "not" / "made" / "some.db") is full
