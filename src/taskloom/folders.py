"""Folders and files that are filled aside and take their place in one step."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def scratch_beside(folder: Path) -> Iterator[Path]:
    """Give a folder to work in, beside another and removed in the end; what killed processes left there goes too."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(folder.parent, folder.name)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-{os.getpid()}-") as scratch:
        yield Path(scratch)


def remove_leftovers(parent: Path, name: str = "*") -> None:
    """Remove what processes that are gone were working in, beside a folder or beside any."""
    for left in parent.glob(f".{name}-*"):
        found = re.fullmatch(r"\..+-(\d+)-\w{8}", left.name)
        if found and not is_alive(int(found[1])):
            shutil.rmtree(left, ignore_errors=True)


def is_alive(process: int) -> bool:
    """Tell whether a process of this machine is there."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def replace_folder(new: Path, folder: Path, old: Path) -> None:
    """Put a folder in its place; what stood there goes to `old`, and comes back if anything goes wrong."""
    if folder.exists():
        folder.rename(old)
    try:
        new.rename(folder)
    except BaseException:
        if old.exists() and not folder.exists():
            old.rename(folder)
        raise


def write_whole(path: Path, text: str) -> None:
    """Write a file that is there whole or not at all, whoever else writes it at the same time."""
    with scratch_beside(path) as scratch:
        aside = scratch / path.name
        aside.write_text(text, encoding="utf-8", newline="\n")
        aside.replace(path)
