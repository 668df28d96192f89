"""Limits on what comes from outside, in one place: how deep JSON may be, and how much compressed data may unpack to."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import json
import os
import zlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, cast

from .errors import UsageError
from .messages import Note

MOST_NESTED = 100  # levels of JSON or YAML: readers recurse, and Python stops at about 1,000 calls
MOST_BITS = 64  # of an integer: no table, database or array holds more
MOST_DIGITS = 18  # of an integer that is typed: Python reads no more than 4,300, and none that counts anything has more
MOST_FREE = 1 << 20  # bytes that may be unpacked whatever the size of what was packed
MOST_STORED = 16 << 20  # the same, of what taskloom has packed itself: a million equal scores pack to next to nothing
MOST_TABLE = 64 << 20  # the same, of a Parquet file: a column of equal values packs to next to nothing
MOST_ROWS = 2_000_000  # that a table may have whatever the size of its file
MOST_READ = 1 << 20  # bytes that are unpacked at a time
MOST_RATIO = 100  # times its size that anything may unpack to: texts and tables reach 30, bombs 1,000 and more
OPENERS: Mapping[str, Callable[..., IO[bytes]]] = {
    ".gz": cast("Callable[..., IO[bytes]]", gzip.open),
    ".bz2": cast("Callable[..., IO[bytes]]", bz2.open),
}


# --- JSON ------------------------------------------------------------------------------------------------------------


def parse_json(text: str | bytes, **hooks: Any) -> Any:
    """Read JSON; all that can be wrong with it is a ValueError, too many levels and digits among them.

    What a model answered is kept as it is: `parse_int=int` takes integers of any size there.

    >>> parse_json('{"a": [1]}')
    {'a': [1]}
    """
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text))
    try:
        found = (json.JSONDecoder(**{"parse_int": _integer, **hooks}) if hooks else _DECODER).decode(text)
    except RecursionError:
        raise ValueError(f"more than {MOST_NESTED} levels") from None
    if is_deep(text, found):
        raise ValueError(f"more than {MOST_NESTED} levels")
    return found


def _integer(digits: str) -> int:
    if len(digits) > MOST_BITS or (found := int(digits)).bit_length() > MOST_BITS:
        raise ValueError(f"an integer of more than {MOST_BITS} bits: {digits[:20]}...")
    return found


def whole_number(text: str) -> int | None:
    """Read an integer that is written in digits alone; None of anything else, and of more than a count can have.

    >>> whole_number("0017"), whole_number("-1"), whole_number("9" * 5000)
    (17, None, None)
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else None


_DECODER = json.JSONDecoder(parse_int=_integer)


def is_deep(text: str, value: Any) -> bool:
    """Tell whether lists and objects, of which this is the JSON, are nested deeper than is read: level by level."""
    level = [value] if text.count("[") + text.count("{") > MOST_NESTED else []
    for _ in range(MOST_NESTED + 1):
        inner = [one for one in level if isinstance(one, dict | list | tuple)]
        level = [part for one in inner for part in (one.values() if isinstance(one, dict) else one)]
        if not level:
            return False
    return True


# --- compressed data -------------------------------------------------------------------------------------------------


class UnpackedError(OSError):
    """Compressed data that unpacks to more than it may."""


def most_unpacked(packed: int, free: int = MOST_FREE) -> int:
    """Say how many bytes may come of so many that are compressed.

    >>> most_unpacked(1_000), most_unpacked(1_000_000)
    (1048576, 100000000)
    """
    return max(free, MOST_RATIO * packed)


def deflated(data: bytes) -> bytes:
    """Pack what a ledger keeps: equal bytes for equal data, and never more than `inflated` takes.

    >>> len(inflated(deflated(bytes(50_000_000))))
    50000000
    """
    packed = zlib.compress(data, 6)
    if len(data) <= most_unpacked(len(packed), MOST_STORED):
        return packed
    weaker = zlib.compressobj(6, strategy=zlib.Z_HUFFMAN_ONLY)  # a bit for each byte at least
    return weaker.compress(data) + weaker.flush()


def inflated(packed: bytes) -> bytes:
    """Unpack what `deflated` has packed, within the limit."""
    most, made = most_unpacked(len(packed), MOST_STORED), zlib.decompressobj()
    found = made.decompress(packed, most + 1)
    if len(found) > most:
        raise zlib.error(f"more than {most:,} bytes of {len(packed):,}")
    if not made.eof:
        raise zlib.error("cut short")
    return found


class Bounded(io.RawIOBase):
    """A stream that ends in an error after so many bytes."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        super().__init__()
        self.stream, self.most, self.left = stream, most, most

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer, or refuse."""
        found = self.stream.read(min(len(buffer), MOST_READ))
        self.left -= len(found)
        if self.left < 0:
            raise UnpackedError(f"it unpacks to more than {self.most:,} bytes; unpack it first if that is meant")
        buffer[: len(found)] = found
        return len(found)

    def close(self) -> None:
        """Close what it reads, too."""
        self.stream.close()
        super().close()


def opened(path: Path) -> IO[bytes]:
    """Open a file to be read, and unpack it on the way where its ending says so; refuse what unpacks to too much.

    That is found out first: rows take a hundred times the memory of their bytes. A pipe is read once, within the limit.
    """
    if path.is_block_device() or (path.is_char_device() and not _is_terminal(path)):
        raise OSError(errno.EINVAL, "a device, which has no end", str(path))
    if path.suffix.lower() not in OPENERS:
        return path.open("rb")
    about = path.stat()
    if path.is_file():
        _read_through(path, about.st_size, about.st_mtime_ns)
    return _unpacking(path, about.st_size)


def _unpacking(path: Path, size: int) -> IO[bytes]:
    opener = OPENERS[path.suffix.lower()]
    return io.BufferedReader(Bounded(opener(path, "rb"), most_unpacked(size)), 1 << 16)


@lru_cache(maxsize=64)
def _read_through(path: Path, size: int, modified: int) -> None:  # noqa: ARG001 (a file that was changed is read again)
    """Unpack a file, and keep nothing; of what is damaged, a reader can say where."""
    with _unpacking(path, size) as file:
        try:
            while file.read(MOST_READ):
                pass
        except UnpackedError:
            raise
        except (OSError, EOFError, zlib.error):
            return


# --- paths -----------------------------------------------------------------------------------------------------------


def regular(path: Path) -> Path:
    """Give the path of a regular file: a pipe would be waited for, and a device may have no end."""
    if path.is_dir():
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not path.is_file() and path.exists():
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return path


def refuse_no_file(path: Path, *, pipes: bool = False) -> None:
    """Refuse what is no file that can be read, and say what it is; a reader that reads once takes pipes, too."""
    if path.is_file() or (pipes and (path.is_fifo() or path.is_socket() or _is_terminal(path))):
        return
    code = "file-is-folder" if path.is_dir() else "file-not-regular" if path.exists() else "file-missing"
    raise UsageError(Note.of(code, path=path))


def refuse_no_folder(*paths: Path) -> None:
    """Refuse what is no folder, and say what it is."""
    for path in paths:
        if not path.is_dir():
            raise UsageError(Note.of("folder-is-file" if path.exists() else "folder-missing", path=path))


def _is_terminal(path: Path) -> bool:
    if not path.is_char_device():
        return False
    with path.open("rb", buffering=0) as file:
        return file.isatty()


def expanded(path: str) -> Path:
    """Give a path that was typed; `~` is the home of a user, who must be known."""
    try:
        return Path(path).expanduser()
    except (RuntimeError, ValueError):  # a user's name with a NUL
        raise UsageError(f"no home folder is known: {path!r}") from None
