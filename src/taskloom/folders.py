"""Folders and files that are filled aside and take their place in one step."""

from __future__ import annotations

import ctypes
import glob
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

AT_FDCWD, RENAME_EXCHANGE, RENAME_SWAP = -100, 2, 2  # of Linux; the last one of macOS
OLD = "old"  # in a scratch folder: what stood in the place of what was made there


@contextmanager
def scratch_beside(folder: Path) -> Iterator[Path]:
    """Give a folder to work in, beside another and removed in the end; what killed processes left there goes too."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    for left in _left_by_the_dead(folder):
        _clear(left, folder)
    scratch = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-{os.getpid()}-"))
    try:
        yield scratch
    finally:
        _clear(scratch, folder)


def restore(folder: Path) -> None:
    """Put a folder back that a killed process has taken from its place, and not yet put another there."""
    if not os.path.lexists(folder):
        for left in _left_by_the_dead(folder):
            _put_back(left, folder)


def _left_by_the_dead(folder: Path) -> list[Path]:
    """Find the scratch folders of processes that are gone."""
    found = []
    for left in sorted(folder.parent.glob(f".{glob.escape(folder.name)}-*")):
        named = re.fullmatch(r"(\d+)-\w{8}", left.name.removeprefix(f".{folder.name}-"))
        if named and not is_alive(int(named[1])):
            found.append(left)
    return found


def _clear(scratch: Path, folder: Path) -> None:
    """Remove a scratch folder, but never with the only copy of what it was made beside."""
    if _put_back(scratch, folder):
        shutil.rmtree(scratch, ignore_errors=True)


def _put_back(scratch: Path, folder: Path) -> bool:
    """Put what stood in a place back where nothing stands now; tell whether nothing is lost without the scratch."""
    old = scratch / OLD
    if os.path.lexists(folder) or not os.path.lexists(old):
        return True
    try:
        old.rename(folder)
    except OSError:  # where nothing can be written; or another process was quicker
        return os.path.lexists(folder)
    return True


def remove_leftovers(parent: Path) -> None:
    """Remove what processes that are gone were working in, beside any folder of a place."""
    for left in parent.glob(".*"):
        named = re.fullmatch(r"\.(.+)-(\d+)-\w{8}", left.name)
        if named and not is_alive(int(named[2])):
            _clear(left, parent / named[1])


def is_alive(process: int) -> bool:
    """Tell whether a process of this machine is there."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def replace_folder(new: Path, folder: Path) -> None:
    """Put a folder of a scratch folder in its place; what stood there goes with the scratch.

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
    """Exchange two folders by one system call; tell whether that was done, as not every file system can."""
    libc = ctypes.CDLL(None)
    ours, theirs = os.fsencode(one), os.fsencode(other)
    if hasattr(libc, "renameat2"):
        return bool(libc.renameat2(AT_FDCWD, ours, AT_FDCWD, theirs, RENAME_EXCHANGE) == 0)
    return hasattr(libc, "renamex_np") and bool(libc.renamex_np(ours, theirs, RENAME_SWAP) == 0)


def write_whole(path: Path, text: str) -> None:
    """Write a file that is there whole or not at all, whoever else writes it at the same time."""
    with scratch_beside(path) as scratch:
        aside = scratch / path.name
        aside.write_text(text, encoding="utf-8", newline="\n")
        aside.replace(path)
