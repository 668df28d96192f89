"""Zip and tar archives of others: the named members are unpacked, within limits of size, number and memory."""

from __future__ import annotations

import bz2
import errno
import fnmatch
import gzip
import lzma
import re
import shutil
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeAlias, TypeVar, cast

from ..errors import FetchError
from ..limits import most_unpacked

T = TypeVar("T")
Member: TypeAlias = "tuple[str, int, Callable[[], IO[bytes]]]"  # name, size, and how it is opened

MOST_MEMBERS = 100_000
MOST_AT_ONCE = 16 << 20  # bytes that a header may make one read: a list of members, or one long name
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others are unpacked to any size at once
PACKED: Mapping[bytes, Callable[[Path], Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
DIGITS = re.compile(rb"\d{100}")  # in a header: older versions of tarfile take the square of their number to read them
UNREADABLE = (  # what reading an archive may end in: encrypted members, unknown methods, wrong sizes and names too
    zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, RuntimeError,
    ValueError, OverflowError, LookupError, struct.error,
)  # fmt: skip
UNFIT = (errno.EINVAL, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG)  # what wrong members end in


def unpack(archive: Path, members: tuple[str, ...], dest: Path, *, all_of_them: bool = True) -> None:
    """Unpack the named members, and no others, of a zip or tar archive; refuse a name that leads outside."""
    dest.mkdir()
    found: set[str] = set()
    name = ""
    left = most = most_unpacked(archive.stat().st_size)
    try:
        with _contents(archive, most) as contents:
            for name, size, opener in contents:
                left -= size
                if size < 0 or left < 0:
                    raise FetchError(f"the archive unpacks to more than {most:,} bytes")
                patterns = {p for p in members if name == p or fnmatch.fnmatchcase(name, p)}
                if not patterns:
                    continue
                found |= patterns
                target = dest / safe_path(name)
                target.parent.mkdir(parents=True, exist_ok=True)
                with opener() as source, target.open("xb") as out:
                    shutil.copyfileobj(source, out, 1 << 20)
    except UNREADABLE as error:
        first = next(iter(str(error).splitlines()), "")  # in further lines, tarfile lists what it tried
        reason = first.rstrip(":") or type(error).__name__
        raise FetchError(f"the archive can't be read ({reason})") from None
    except OSError as error:
        if error.errno not in UNFIT:
            raise
        raise FetchError(f"the archive can't be unpacked ({error.strerror}): {name[:100]!r}") from None
    missing = sorted(set(members) - found)
    if missing and (all_of_them or not found):
        raise FetchError(f"missing in the archive: {', '.join(missing)}")


def safe_path(name: str) -> PurePosixPath:
    """Refuse a member's name that would be written outside the folder.

    >>> str(safe_path("data/papers.csv"))
    'data/papers.csv'
    """
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name or not path.parts:
        raise FetchError(f"the archive has a path outside of its folder; nothing was unpacked: {name!r}")
    return path


@contextmanager
def _contents(archive: Path, most: int) -> Iterator[Iterator[Member]]:
    """List the plain files of an archive, each with its size and a way to open it; others are passed over."""
    if zipfile.is_zipfile(archive):
        with _Limited(archive.open("rb"), archive.stat().st_size) as file, zipfile.ZipFile(file) as zipped:
            plain = (i for i in _counted(zipped.infolist()) if not i.is_dir())
            yield ((i.filename, i.file_size, partial(_opened, zipped, i)) for i in plain)
    else:
        with _Limited(_tar_in(archive), most, is_header=True) as file, tarfile.open(fileobj=file, mode="r:") as tar:  # type: ignore[call-overload]
            yield _in_tar(tar, file)


def _in_tar(tar: tarfile.TarFile, file: _Limited) -> Iterator[Member]:
    for member in _counted(tar):
        if member.isfile():
            file.is_header = False
            yield member.name, member.size, partial(_opened_tar, tar, member)
            file.is_header = True


def _tar_in(archive: Path) -> IO[bytes]:
    """Open an archive, and unpack it on the way where it begins as if it were compressed."""
    with archive.open("rb") as file:
        begin = file.read(6)
    opener = next((opener for mark, opener in PACKED.items() if begin.startswith(mark)), partial(open, mode="rb"))
    return cast("IO[bytes]", opener(archive))


def _opened_tar(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    if (found := tar.extractfile(member)) is None:
        raise tarfile.ReadError(f"not a file: {member.name[:100]!r}")
    return found


def _opened(zipped: zipfile.ZipFile, member: zipfile.ZipInfo) -> IO[bytes]:
    if member.compress_type not in METHODS:
        raise zipfile.BadZipFile(f"compression method {member.compress_type}")
    return zipped.open(member)


def _counted(members: Iterable[T]) -> Iterator[T]:
    for number, member in enumerate(members):
        if number == MOST_MEMBERS:
            raise FetchError(f"the archive has more than {MOST_MEMBERS:,} members")
        yield member


class _Limited:
    """A file of so many bytes at most, of which not many are read at once, whatever a header says."""

    def __init__(self, file: IO[bytes], most: int, *, is_header: bool = False) -> None:
        self.file, self.most = file, most
        self.is_header = is_header  # of a tar: what is read next

    def __enter__(self) -> _Limited:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def read(self, size: int = -1) -> bytes:
        found = self.file.read(min(size, MOST_AT_ONCE + 1) if size >= 0 else MOST_AT_ONCE + 1)
        if len(found) > MOST_AT_ONCE:
            raise FetchError(f"the archive has a header of more than {MOST_AT_ONCE:,} bytes")
        if self.is_header and DIGITS.search(found):
            raise FetchError("the archive has a header with a number that can't be")
        self._refuse(self.file.tell())
        return found

    def seek(self, place: int, whence: int = 0) -> int:
        self._refuse(place if whence == 0 else 0)
        return self.file.seek(place, whence)

    def tell(self) -> int:
        return self.file.tell()

    def seekable(self) -> bool:
        return True

    def _refuse(self, place: int) -> None:
        if place > self.most:
            raise FetchError(f"the archive unpacks to more than {self.most:,} bytes")
