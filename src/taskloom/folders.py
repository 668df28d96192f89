"""Folders that take their place in one step."""

from __future__ import annotations

from pathlib import Path


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
