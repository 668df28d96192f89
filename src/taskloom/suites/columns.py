"""Digests of Arrow columns: of the values they hold, whatever their chunks, offsets and buffers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..core import Ints
from ..errors import SuiteError
from ..ids import fingerprint
from ..messages import Note


def digest(column: pa.ChunkedArray) -> str:
    """Name a column of strings, lists of strings, or numbers by its values.

    >>> digest(pa.chunked_array([["a", None], ["bc"]])) == digest(pa.chunked_array([["a", None, "bc"]]))
    True
    >>> digest(pa.chunked_array([["a", None]])) == digest(pa.chunked_array([["a", ""]]))
    False
    """
    lengths, content = (hashlib.blake2b(digest_size=16) for _ in range(2))
    chunks = column.chunks
    if pa.types.is_list(column.type):
        for chunk in chunks:
            lengths.update(_lengths(pc.list_value_length(chunk)))
        chunks = [chunk.flatten() for chunk in chunks]
    for chunk in chunks:
        _add(chunk, lengths, content)
    return fingerprint("column", _kind(column.type), len(column), lengths.hexdigest(), content.hexdigest())


def refuse_wrong_offsets(table: pa.Table) -> None:
    """Refuse what would lead outside of the table and end the process; texts are not read for that."""
    for column in table.columns:
        for chunk in column.chunks:
            chunk.view(_as_bytes(chunk.type)).validate(full=True)


def _as_bytes(of: pa.DataType) -> pa.DataType:
    """Give the type of the same layout that holds bytes where the other holds texts."""
    if pa.types.is_list(of):
        return pa.list_(_as_bytes(of.value_type))
    return pa.binary() if pa.types.is_string(of) else of


@contextmanager
def reading_texts() -> Iterator[None]:
    """Tell of bytes that are no text: the file that they stand in was changed."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise SuiteError(Note.of("text-unreadable", reason=str(error))) from None


def texts(column: pa.ChunkedArray) -> list[Any]:
    """Give the texts, or lists of texts, of a column; refuse bytes that are none."""
    with reading_texts():
        return column.to_pylist()  # type: ignore[no-any-return]


# Arrow's own `to_numpy` and `array` first import pandas wherever it is installed, which takes longer than the work.


def numbers(column: pa.ChunkedArray | pa.Array) -> Ints:
    """Give a column of numbers without nulls as an array."""
    values = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    kind = np.dtype(values.type.to_pandas_dtype())
    if not len(values):
        return np.empty(0, kind)
    return np.frombuffer(values.buffers()[1], kind, count=len(values), offset=kind.itemsize * values.offset)


def valid(column: pa.ChunkedArray) -> Ints:
    """Tell for each row whether it has a value."""
    return numbers(pc.cast(pc.is_valid(column), pa.uint8())).astype(bool)


def keys(column: pa.ChunkedArray) -> Ints:
    """Give strings as 64-bit numbers: equal strings, and practically no others, have the same."""
    encoded = column.combine_chunks().dictionary_encode()
    with reading_texts():
        return hashes(encoded.dictionary.to_pylist())[numbers(encoded.indices)]


def hashes(texts: Iterable[str]) -> Ints:
    """Give texts as 64-bit numbers, which are the same on every machine."""
    digests = (hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return np.frombuffer(b"".join(digests), dtype="<i8")


def indices(rows: Sequence[int] | Ints) -> pa.Array:
    """Make row numbers that `take` accepts."""
    numbers = np.asarray(rows, dtype=np.int64)
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])


def _kind(of: pa.DataType) -> str:
    """Name a type by what it holds: Parquet and Arrow call the items of a list by different names."""
    return "list" if pa.types.is_list(of) else str(of)


def _add(chunk: pa.Array, lengths: hashlib.blake2b, content: hashlib.blake2b) -> None:
    if pa.types.is_string(chunk.type):
        lengths.update(_lengths(pc.binary_length(chunk)))
        content.update(_text(chunk))
    else:
        lengths.update(_lengths(pc.cast(chunk.is_valid(), pa.int32())))
        content.update(numbers(pc.cast(chunk.fill_null(0), pa.float64())).astype("<f8").tobytes())


def _lengths(values: pa.Array) -> bytes:
    return bytes(numbers(values.fill_null(-1)).astype("<i8").tobytes())


def _text(strings: pa.Array) -> memoryview:
    """Give the bytes of all strings, one after the other, without copying them."""
    strings = strings.fill_null("") if strings.null_count else strings
    _, offsets, data = strings.buffers()
    if data is None or not len(strings):
        return memoryview(b"")
    ends = np.frombuffer(offsets, dtype=np.int32, count=len(strings) + 1, offset=4 * strings.offset)
    return memoryview(data)[ends[0] : ends[-1]]
