"""Files that are sent to other machines: a folder, or a file, named by its content and laid out whole or not at all."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from ..errors import ClusterError
from ..folders import alone, replace_folder, scratch_beside
from ..ids import Json, fingerprint
from ..messages import Note
from ..sources import packages
from ..texts import LONE_SURROGATE

FOLDER, PARCELS, RUNS = "cluster", "parcels", "runs"  # in the cache of each machine
CHUNK = 1 << 26  # bytes that are sent together
File: TypeAlias = tuple[str, int, str]  # its path within the parcel, size and hash


@dataclass(frozen=True, slots=True)
class Parcel:
    """What is sent: files in order, as one stream of bytes."""

    files: tuple[File, ...]

    @property
    def digest(self) -> str:
        """Name it by its content."""
        listed: list[Json] = [list(file) for file in self.files]
        return fingerprint("parcel", listed)


def parcel_of(place: Path, names: Sequence[str] = ("*",)) -> Parcel:
    """List the files of a folder that have these names, at any depth; or a file alone."""
    if place.is_file():
        return Parcel((_file(place, place.name),))
    found = {file for name in names for file in place.rglob(name) if file.is_file()}
    listed = sorted((file.relative_to(place).as_posix(), file) for file in found)
    return Parcel(tuple(_file(file, name) for name, file in listed))


def _file(path: Path, name: str) -> File:
    with path.open("rb") as handle:
        return name, path.stat().st_size, hashlib.file_digest(handle, "blake2b").hexdigest()


def chunks_of(place: Path, parcel: Parcel) -> Iterator[bytes]:
    """Read the files of a parcel as chunks."""
    left = bytearray()
    for name, _, _ in parcel.files:
        with (place if place.is_file() else place / name).open("rb") as handle:
            while read := handle.read(CHUNK - len(left)):
                left += read
                if len(left) == CHUNK:
                    yield bytes(left)
                    left.clear()
    if left:
        yield bytes(left)


def lay_out(folder: Path, parcel: Parcel, chunks: Iterable[bytes]) -> None:
    """Write the files of a parcel into a folder, in the place of what is there; what came damaged is refused."""
    with scratch_beside(folder) as scratch:
        new = scratch / "new"
        new.mkdir()
        stream = _Stream(iter(chunks))
        for name, size, wanted in parcel.files:
            path = new / _within(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as handle:
                made = hashlib.blake2b()
                for part in stream.take(size):
                    handle.write(part)
                    made.update(part)
            if made.hexdigest() != wanted:
                raise ClusterError(Note.of("parcel-damaged", file=name))
        replace_folder(new, folder)


def _within(name: str) -> PurePosixPath:
    """Refuse a path that leads out of a parcel."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name or LONE_SURROGATE.search(name):
        raise ClusterError(Note.of("parcel-damaged", file=name))
    return path


class _Stream:
    """Bytes that come in chunks, and are taken in other portions."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self.chunks, self.rest = chunks, memoryview(b"")

    def take(self, size: int) -> Iterator[memoryview]:
        """Give so many bytes, in parts; fewer where there are no more."""
        while size:
            if not self.rest:
                self.rest = memoryview(next(self.chunks, b""))
            if not self.rest:
                return
            part, self.rest = self.rest[:size], self.rest[size:]
            size -= len(part)
            yield part


# --- on a machine that receives them ---------------------------------------------------------------------------------


def cluster_folder() -> Path:
    """Say where a machine keeps what was sent to it."""
    return packages.cache_folder() / FOLDER


def received(digest: str) -> Path:
    """Say where a parcel is, or would be."""
    return cluster_folder() / PARCELS / digest


def receive(parcel: Parcel, chunks: Iterable[bytes]) -> None:
    """Lay a parcel out, once for all processes of this machine."""
    folder = received(parcel.digest)
    with alone(folder.with_name(f".{folder.name}.lock")):
        if not folder.is_dir():
            lay_out(folder, parcel, chunks)


def run_folder(run: str) -> Path:
    """Say where a machine keeps what a run makes there."""
    return cluster_folder() / RUNS / run


def kept() -> list[Path]:
    """List what was sent to this machine, and what runs have left."""
    return [at for part in (PARCELS, RUNS) for at in sorted((cluster_folder() / part).glob("[!.]*"))]


def drop_run(run: str) -> None:
    """Remove what a run has made on this machine: the driver has it."""
    shutil.rmtree(run_folder(run), ignore_errors=True)
