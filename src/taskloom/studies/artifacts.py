"""What training makes: a folder for each cell, `artifacts/CELL`, there whole or not at all, with what is in it."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import ModelError
from ..folders import replace_folder, scratch_beside
from ..ids import canonical, fingerprint
from ..limits import parse_json
from ..messages import Note

FOLDER, ABOUT = "artifacts", "about.json"


def place(run: Path, cell: str) -> Path:
    """Say where a cell of a run keeps what it makes."""
    return run / FOLDER / cell


@contextmanager
def made(run: Path, cell: str) -> Iterator[Path]:
    """Give a folder to fill, which takes its place when all went well; what a killed run left is removed."""
    folder = place(run, cell)
    with scratch_beside(folder) as scratch:
        aside = scratch / "new"
        aside.mkdir()
        yield aside
        files = {file.name: _file(file) for file in sorted(aside.iterdir())}
        (aside / ABOUT).write_text(canonical({"cell": cell, "files": files}), encoding="utf-8")
        replace_folder(aside, folder)


def partial(run: Path, cell: str) -> Path:
    """Say where a cell keeps what it needs to go on with a training that was ended."""
    return run / FOLDER / f"{cell}.part"


def drop_partial(run: Path, cell: str) -> None:
    """Remove what a cell that is done has kept to go on with."""
    shutil.rmtree(partial(run, cell), ignore_errors=True)


def digest(run: Path, cell: str) -> str:
    """Name what a cell has made by its content; nothing where it is not there, or not whole."""
    folder = place(run, cell)
    try:
        about: dict[str, Any] = parse_json((folder / ABOUT).read_bytes())
        files = about["files"]
        if any((folder / Path(name).name).stat().st_size != size for name, (size, _) in files.items()):
            return ""
        return fingerprint("artifact", files)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ""


def opened(run: Path, cell: str) -> Path:
    """Give the folder of what a cell has made, or refuse one that is not whole or was changed since."""
    folder = place(run, cell)
    if not digest(run, cell):
        raise ModelError(Note.of("artifact-missing", folder=folder))
    about = parse_json((folder / ABOUT).read_bytes())
    if wrong := [name for name, was in about["files"].items() if _file(folder / Path(name).name) != was]:
        raise ModelError(Note.of("artifact-changed", file=wrong[0], folder=folder))
    return folder


def copy_missing(source: Path, target: Path, recorded: Callable[[str], str]) -> None:
    """Copy what another run has made where this one lacks it: what a ledger has recorded of a cell, and no other."""
    for folder in sorted((source / FOLDER).glob("[!.]*")):
        wanted = recorded(folder.name)
        if wanted and digest(source, folder.name) == wanted != digest(target, folder.name):
            with scratch_beside(place(target, folder.name)) as scratch:
                shutil.copytree(folder, scratch / "new", ignore=_links)  # which may lead to whatever is read here
                replace_folder(scratch / "new", place(target, folder.name))


def _links(folder: str, names: list[str]) -> list[str]:
    """Name what of a folder is a link: no artifact has any."""
    return [name for name in names if (Path(folder) / name).is_symlink()]


def _file(path: Path) -> list[Any]:
    """Give the size and the hash of a file."""
    with path.open("rb") as handle:
        return [path.stat().st_size, hashlib.file_digest(handle, "sha256").hexdigest()]
