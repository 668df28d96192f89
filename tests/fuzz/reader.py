"""What a row of the table of readers is."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .mutate import Case

OFFLINE: Mapping[str, str] = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "HF_HUB_OFFLINE": "1"}


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader: good inputs that are mutated, and the call that reads one; it may refuse, and nothing else."""

    seeds: Callable[[], Sequence[Case]]
    call: Callable[[Path], object]  # given the folder of an input
    tests: int = 200  # inputs in `make test`; fewer where one takes long
    seconds: float = 2.0  # of the processor that an input may take in the long run


def written(case: Case, folder: Path) -> None:
    """Write the files of an input."""
    for name, data in case.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


@contextmanager
def own_cache(folder: Path) -> Iterator[None]:
    """Keep what is made in a folder, and not in the user's cache; nothing is fetched from anywhere."""
    before = dict(os.environ)
    os.environ.update(OFFLINE, TASKLOOM_CACHE=str(folder))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ |= before


def lasting_folder(name: str) -> Path:
    """Make a folder for what inputs share, which goes with the process."""
    made = Path(tempfile.mkdtemp(prefix=f"fuzz-{name}-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def files_in(folder: Path) -> dict[str, bytes]:
    """Read the files of a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def text_in(folder: Path) -> str:
    """Read the only file of an input that is a text."""
    (path,) = folder.iterdir()
    return path.read_text(encoding="utf-8", errors="surrogateescape")
