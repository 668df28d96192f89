"""One input: made from the name of its reader and its number, read, and judged by how that ends."""

from __future__ import annotations

import errno
import tempfile
import traceback
from functools import cache
from pathlib import Path
from random import Random

from taskloom.errors import TaskloomError

from .mutate import IN_MEMORY, Case, mutated
from .reader import own_cache, written
from .readers import READERS

SYSTEM = (errno.ENAMETOOLONG, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP)  # shown as they are by commands


@cache
def seeds_of(name: str) -> tuple[Case, ...]:
    """Make the good inputs of a reader, once."""
    return tuple(READERS[name].seeds())


def made(name: str, number: int) -> dict[str, bytes]:
    """Make an input; number 0 and those below 0 are the good ones."""
    seeds = seeds_of(name)
    if number <= 0:
        return dict(seeds[-number % len(seeds)])
    random = Random(f"{name}:{number}")
    return mutated(random.choice(seeds), random)


def attempt(name: str, case: Case) -> str:
    """Read an input; nothing where that goes well or is refused, and the traceback of anything else."""
    reader = READERS[name]
    with tempfile.TemporaryDirectory(dir=IN_MEMORY, ignore_cleanup_errors=True) as folder:
        try:
            written(case, Path(folder))
        except (OSError, ValueError):  # a path that no file system takes
            return ""
        try:
            with own_cache(Path(folder) / "cache"):
                reader.call(Path(folder))
        except TaskloomError as error:
            str(error)  # it must be possible to show it
            return ""
        except OSError as error:
            return "" if error.errno in SYSTEM else traceback.format_exc()
        except Exception:
            return traceback.format_exc()
    return ""
