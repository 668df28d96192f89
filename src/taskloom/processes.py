"""Child processes that import nothing from the working folder, whatever lies there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

SAFE_PATH = "PYTHONSAFEPATH"


@contextmanager
def safe_path() -> Iterator[None]:
    """Start Python without the working folder on its path in what is done meanwhile; it is started with `-c` else."""
    before = own_safe_path()
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        restore(before)


def own_safe_path() -> str:
    """Give what the user has set for this; nothing where it is not set."""
    return os.environ.get(SAFE_PATH, "")


def restore(before: str) -> None:
    """Set what the user has set, so that programs which a learner starts are started as ever."""
    if before:
        os.environ[SAFE_PATH] = before
    else:
        os.environ.pop(SAFE_PATH, None)
