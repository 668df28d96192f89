"""Write folders and files aside, and move them to their place in one step."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import glob
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

AT_FDCWD, RENAME_EXCHANGE, RENAME_SWAP = -100, 2, 2  # of Linux; the last one of macOS
STREAM = re.compile(r"/dev/(stdin|stdout|stderr|fd/)|/proc/")  # names of what is open already
OLD = "old"  # in a scratch folder: what it replaces


@contextmanager
def scratch_beside(folder: Path) -> Iterator[Path]:
    """Make a scratch folder beside another, removed at the end, as are those of killed processes."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    for left in _left_by_the_dead(folder):
        _clear(left, folder)
    scratch = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-{os.getpid()}-"))
    try:
        yield scratch
    finally:
        _clear(scratch, folder)


def restore(folder: Path) -> None:
    """Put back a folder that a killed process had moved away and not yet replaced."""
    if not os.path.lexists(folder):
        for left in _left_by_the_dead(folder):
            _put_back(left, folder)


def _left_by_the_dead(folder: Path) -> list[Path]:
    """Find the scratch folders of ended processes."""
    found = []
    for left in sorted(folder.parent.glob(f".{glob.escape(folder.name)}-*")):
        named = re.fullmatch(r"(\d+)-\w{8}", left.name.removeprefix(f".{folder.name}-"))
        if named and not is_alive(int(named[1])):
            found.append(left)
    return found


def _clear(scratch: Path, folder: Path) -> None:
    """Remove a scratch folder, unless it holds the only copy of the folder beside it."""
    if _put_back(scratch, folder):
        shutil.rmtree(scratch, ignore_errors=True)


def _put_back(scratch: Path, folder: Path) -> bool:
    """Put the old folder back if nothing has replaced it; tell whether the scratch folder can be removed."""
    old = scratch / OLD
    if os.path.lexists(folder) or not os.path.lexists(old):
        return True
    try:
        old.rename(folder)
    except OSError:  # where nothing can be written; or another process was quicker
        return os.path.lexists(folder)
    return True


def remove_leftovers(parent: Path) -> None:
    """Remove the scratch folders of ended processes in a folder."""
    for left in parent.glob(".*"):
        named = re.fullmatch(r"\.(.+)-(\d+)-\w{8}", left.name)
        if named and not is_alive(int(named[2])):
            _clear(left, parent / named[1])


def is_alive(process: int) -> bool:
    """Tell whether a process of this machine is running."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):  # none has such a number
        return False
    except OSError:
        return True
    return True


def replace_folder(new: Path, folder: Path) -> None:
    """Move a folder from a scratch folder to its place; what it replaces is removed with the scratch folder.

    Where two folders can't be exchanged in one step, there is a moment without any: `restore` undoes what ends there.
    """
    if os.path.lexists(folder):
        if exchange(new, folder):
            return
        folder.rename(new.parent / OLD)
    try:
        new.rename(folder)
    except BaseException:
        _put_back(new.parent, folder)
        raise


def exchange(one: Path, other: Path) -> bool:
    """Exchange two folders by one system call; tell whether it worked, as not every file system can."""
    libc = ctypes.CDLL(None)
    ours, theirs = os.fsencode(one), os.fsencode(other)
    if hasattr(libc, "renameat2"):
        return bool(libc.renameat2(AT_FDCWD, ours, AT_FDCWD, theirs, RENAME_EXCHANGE) == 0)
    return hasattr(libc, "renamex_np") and bool(libc.renamex_np(ours, theirs, RENAME_SWAP) == 0)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Keep other processes of this machine from doing the same meanwhile, by a lock file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def write_whole(path: Path, text: str) -> None:
    """Write a file atomically, whoever else writes it at the same time; a link in its place is replaced, not followed.

    What may read the old file may read the new one.
    """
    with file_beside(path) as file:
        file.write(text.encode())


@contextmanager
def file_beside(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that takes its place atomically when it is complete; after an error, what was there stays."""
    with scratch_beside(path) as scratch:
        aside = scratch / "new"
        with aside.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if path.is_file() and not path.is_symlink():
            shutil.copymode(path, aside)
        aside.replace(path)


@contextmanager
def output_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that a user has named for output; a device, a pipe or an open file is written to as it is."""
    if STREAM.match(str(path.absolute())) or (path.exists() and not path.is_file() and not path.is_dir()):
        with path.open("wb") as file:
            yield file
        return
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    with file_beside(path) as file:
        yield file


def write_output(path: Path, text: str) -> None:
    """Write a text to a file that a user has named for output."""
    with output_file(path) as file:
        file.write(text.encode())


def make_private(path: Path) -> None:
    """Make an empty file that its owner alone may read, unless there is one: what models reply may be confidential."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
