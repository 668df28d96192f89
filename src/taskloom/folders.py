"""Write folders and files aside, and move them to their place in one step."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import glob
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from .errors import StoreError, UsageError
from .messages import Note
from .processes import left_by_the_dead, new_owner
from .texts import LONE_SURROGATE

AT_FDCWD, RENAME_EXCHANGE, RENAME_SWAP = -100, 2, 2  # of Linux; the last one of macOS
STREAM = re.compile(r"/dev/(stdin|stdout|stderr|fd/)|/proc/")  # names of what is open already
LONGEST = 140  # bytes of a name that its scratch folder is named after, beside a host of 64; systems take 255
_open: dict[Path, Path] = {}  # the scratch folders that are in use, each with the folder that it is of
OLD = "old"  # in a scratch folder: what it replaces
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # why nothing more can be written


@contextmanager
def scratch_beside(folder: Path) -> Iterator[Path]:
    """Make a scratch folder beside another, removed at the end, as are those of killed processes."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    for left in _left_by_the_dead(folder):
        _clear(left, folder)
    scratch = folder.parent / f".{_stem(folder)}-{new_owner()}"
    with _named(folder, scratch):
        scratch.mkdir(0o700)
        _open[scratch] = folder
        try:
            yield scratch
        finally:
            _clear(scratch, folder)
            _open.pop(scratch, None)


@contextmanager
def _named(path: Path, scratch: Path) -> Iterator[None]:
    """Name in the error of a full disk what the user knows: systems name no open file, and a scratch folder is ours."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL and (error.filename is None or scratch in (at := Path(error.filename), *at.parents)):
            error.filename = str(path)
        raise


def temporary_folder() -> AbstractContextManager[Path]:
    """Make a scratch folder where the system has room for what is not kept."""
    return scratch_beside(Path(tempfile.gettempdir()) / "taskloom")


def remove_open_scratch() -> None:
    """Remove the scratch folders of this process, which ends without coming to that itself."""
    for scratch, folder in [*_open.items()]:
        _clear(scratch, folder)


def restore(folder: Path) -> None:
    """Put back a folder that a killed process had moved away and not yet replaced."""
    if not os.path.lexists(folder):
        for left in _left_by_the_dead(folder):
            _put_back(left, folder)


def _stem(folder: Path) -> str:
    """Give what the names of its scratch folders begin with: its own name, or a hash where there is no room for it."""
    name = os.fsencode(folder.name)
    return folder.name if len(name) <= LONGEST else hashlib.sha256(name).hexdigest()


def _left_by_the_dead(folder: Path) -> list[Path]:
    """Find the scratch folders of processes that are known to have ended; on a shared disk others may be elsewhere."""
    begin = f".{_stem(folder)}"
    found = sorted(folder.parent.glob(f"{glob.escape(begin)}-*"))
    return [left for left in found if left_by_the_dead(left.name) == begin]


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
    """Remove the scratch folders in a folder whose processes are known to have ended."""
    for left in parent.glob(".*"):
        if name := left_by_the_dead(left.name):
            _clear(left, parent / name.removeprefix("."))


def remove(path: Path) -> None:
    """Remove a folder or a file, if it is there; where something is left, say so, with the reason."""
    try:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    except OSError as error:
        shutil.rmtree(path, ignore_errors=True)  # what else can go
        if os.path.lexists(path):
            raise StoreError(Note.of("not-removed", reason=error.strerror or error, path=path)) from error


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
        _take_place(aside, path)


def _take_place(made: Path, path: Path) -> None:
    """Move a file to its place; what may read the one that it replaces may read it."""
    if path.is_file() and not path.is_symlink():
        shutil.copymode(path, made)
    made.replace(path)


# --- what a user names for output ------------------------------------------------------------------------------------


def is_stream(path: Path) -> bool:
    """Tell a device, a pipe or an open file, which is written to as it is and never replaced."""
    return bool(STREAM.match(str(path.absolute()))) or (path.exists() and not path.is_file() and not path.is_dir())


def check_output(path: Path, inputs: Iterable[Path] = ()) -> None:
    """Refuse a file for output before any work: a folder, one that can't be made, an input, or a file within one."""
    if is_stream(path):
        return
    if path.is_dir():
        raise UsageError(Note.of("output-is-folder", path=path))
    _refuse_unwritable(path)
    for given in inputs:
        if path.exists() and given.exists() and path.samefile(given):
            raise UsageError(Note.of("output-is-input", path=path))
        if given.is_dir() and path.resolve().is_relative_to(given.resolve()):
            raise UsageError(Note.of("output-within-input", folder=given, path=path))


def check_name(path: Path) -> Path:
    """Give a path that databases and tables can hold, or refuse it: names of files may be no UTF-8."""
    if LONE_SURROGATE.search(str(path.absolute())):
        raise UsageError(Note.of("path-not-text", path=ascii(str(path.absolute()))))
    return path


def refuse_file(path: Path) -> None:
    """Refuse a file where files are to be written into a folder."""
    if path.exists() and not path.is_dir():
        raise UsageError(Note.of("output-is-file", path=path))


def check_new_folder(path: Path, inputs: Iterable[Path] = ()) -> None:
    """Refuse a folder that is to be made or replaced whole: a file, one that can't be, or one that holds an input."""
    refuse_file(path)
    _refuse_unwritable(path)
    for given in inputs:
        if path.exists() and given.exists() and given.resolve().is_relative_to(path.resolve()):
            raise UsageError(Note.of("output-around-input", given=given, path=path))


def _refuse_unwritable(path: Path) -> None:
    above = next((parent for parent in path.absolute().parents if parent.exists()), path)
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise UsageError(Note.of("output-unwritable", folder=above, path=path))


@contextmanager
def output_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that a user has named for output; a device, a pipe or an open file is written to as it is."""
    if is_stream(path):
        with _named(path, path), path.open("wb") as file:
            yield file
        return
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    with file_beside(path) as file:
        yield file


@contextmanager
def output_scratch(path: Path) -> Iterator[Path]:
    """Make a scratch folder for what is to become an output: beside it, unless that is a device or a pipe."""
    with temporary_folder() if is_stream(path) else scratch_beside(path) as scratch:
        yield scratch


def put_output(made: Path, path: Path) -> None:
    """Put a file of a scratch folder to where a user has named it for output."""
    if is_stream(path):
        with _named(path, path), made.open("rb") as source, path.open("wb") as target:
            shutil.copyfileobj(source, target)
    else:
        _take_place(made, path)


def write_output(path: Path, text: str) -> None:
    """Write a text to a file that a user has named for output."""
    with output_file(path) as file:
        file.write(text.encode())


def write_outputs(texts: Mapping[Path, str]) -> None:
    """Write files that belong together, each where a user has named it: all are written before one takes its place."""
    with ExitStack() as opened:
        for path, text in texts.items():
            file = opened.enter_context(output_file(path))
            file.write(text.encode())
            file.flush()


def make_private(path: Path) -> None:
    """Make an empty file that its owner alone may read, unless there is one: what models reply may be confidential."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
