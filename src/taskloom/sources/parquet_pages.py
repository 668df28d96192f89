"""The pages of Parquet files, by their headers: how many values they have, and how large they are once unpacked.

Arrow allocates what the header of a page says; what the footer of a file says of its pages may be forged. The footer is
read here, too, as far as it says where pages are: asked for that, pyarrow ends the process where something is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from . import thrift
from .thrift import I32, I64, LIST, STRUCT, Form, Struct

MAGIC = b"PAR1"
PADDING = 100  # bytes that Arrow reads beyond the end that files of old writers say
MOST_HEADER = 16 << 20  # bytes, as for Arrow
BEGINNING = 128  # bytes in which the header of most pages ends
DATA, DICTIONARY, DATA_V2 = 0, 2, 3  # types of pages
OWN = {DATA: (5, 2), DICTIONARY: (7, 2), DATA_V2: (8, 4)}  # which field is the header of a type, and which its encoding
HEADER: Form = {
    **dict.fromkeys([(1, I32), (2, I32), (3, I32)]),  # type, bytes once unpacked, bytes
    **{(field, STRUCT): {(1, I32): None, (encoding, I32): None} for field, encoding in OWN.values()},  # 1: values
}
CHUNK: Form = dict.fromkeys([(5, I64), (7, I64), (9, I64), (11, I64)])  # values, bytes, where data and dictionary begin
FOOTER: Form = {(4, LIST): {(1, LIST): {(3, STRUCT): CHUNK}, (3, I64): None}}  # groups of rows: columns, rows


@dataclass(frozen=True, slots=True)
class Page:
    """What the header of a page says; a dictionary has no values of rows."""

    values: int
    unpacked: int  # bytes
    encoding: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """Where the pages of a column in a group of rows are."""

    start: int
    size: int  # bytes
    values: int


def footer(path: Path) -> list[tuple[int, list[Chunk]]]:
    """Give the number of rows and the columns of each group; what is malformed is a ValueError or a LookupError."""
    with path.open("rb") as file:
        file.seek(-8, 2)
        size, magic = int.from_bytes(file.read(4), "little"), file.read(4)
        if magic != MAGIC:
            raise ValueError("no footer")
        file.seek(-8 - size, 2)
        found, _ = thrift.read(file.read(size), 0, FOOTER)
    return [(group[3], [_chunk(column[3]) for column in group[1]]) for group in found.get(4, [])]


def _chunk(column: Struct) -> Chunk:
    start, dictionary = column[9], column.get(11, 0)
    return Chunk(dictionary if 0 < dictionary < start else start, column[7], column[5])


def pages(file: IO[bytes], of: Chunk) -> Iterator[Page]:
    """Yield the pages of a column that Arrow would read; what is malformed is a ValueError."""
    at, seen = of.start, 0
    while seen < of.values and at < of.start + of.size + PADDING:
        header, at = _header(file, at)
        page = _page(header)
        yield page
        seen += page.values
        at += _size(header, 3)


def _header(file: IO[bytes], at: int) -> tuple[Struct, int]:
    """Read the header at a place, and give where it ends."""
    size = BEGINNING
    while size <= MOST_HEADER:
        file.seek(at)
        data = file.read(size)
        try:
            found, end = thrift.read(data, 0, HEADER)
        except IndexError:
            if len(data) < size:
                break
            size *= 8
        else:
            return found, at + end
    raise ValueError("the header of a page is cut short")


def _page(header: Struct) -> Page:
    unpacked, kind = _size(header, 2), header.get(1)
    if kind not in OWN:
        return Page(0, unpacked, 0)
    field, encoding = OWN[kind]
    own = header.get(field, {})
    if kind != DICTIONARY:
        return Page(_size(own, 1), unpacked, _size(own, encoding))
    if _size(own, 1) > unpacked:  # Arrow makes room for them first
        raise ValueError("a dictionary with more values than bytes")
    return Page(0, unpacked, 0)


def _size(of: Struct, field: int) -> int:
    if (found := of.get(field, -1)) < 0:
        raise ValueError("the header of a page lacks a size, or has a negative one")
    return int(found)
