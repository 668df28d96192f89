"""Parquet files within a limit: what they unpack to is found out before they are read.

A few bytes may stand for a text in a million rows, or for a page of gigabytes. Page headers say how many values there
are, and how large pages are; texts that are kept by a dictionary are counted with the dictionary in place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..limits import MOST_ROWS, MOST_TABLE, UnpackedError, most_unpacked, regular
from .parquet_pages import Chunk, Page, footer, pages

WIDTHS: Mapping[str, int] = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}  # bytes
OFFSET = 4  # bytes that Arrow takes for a text or a list beside what is in it
RECORD = 64  # bytes, at least, that Python takes for each struct around a value
BY_DICTIONARY, BY_PREFIX = (2, 8), 7  # encodings: by places, and by what texts share with the one before them
ROWS, COUNTED = 1 << 13, 1 << 16  # that are read, and counted, at once
STEP = 32 << 20  # bytes that are unpacked at once


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A column of values, which may be a part of another."""

    number: int
    path: str
    width: int  # bytes of a value, without what is in a text
    is_text: bool
    is_nested: bool  # a row may have many values
    fixed: int = 1  # values that Arrow makes for a list which is missing, where lists have a fixed size
    by_row: bool = True  # whether a row has one such list at most

    def least(self, chunk: _Measure, rows: int) -> int:
        """Give the bytes that a group of rows takes at least, texts left out."""
        lists = rows if self.by_row else chunk.values
        return max(chunk.unpacked, self.width * max(chunk.values, self.fixed * lists))


@dataclass(frozen=True, slots=True)
class _Measure:
    """What the pages of a column in a group of rows come to."""

    values: int
    unpacked: int
    longest: int  # bytes that no text exceeds which is kept once for many rows; 0 where none is
    prefixed: bool  # texts begin like those before them, and say only how they end


class LimitedParquet:
    """A Parquet file, and how much may be read of it."""

    def __init__(self, path: Path, *, memory_map: bool = False) -> None:
        self.path, self.size, self.memory_map = path, regular(path).stat().st_size, memory_map
        self.most = most_unpacked(self.size, MOST_TABLE)
        self.file = pq.ParquetFile(path, memory_map=memory_map, pre_buffer=False)
        self.measures: dict[tuple[int, int], _Measure] = {}  # by group and column

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows, as many at once as unpack to some megabytes; refuse first what is beyond the limit."""
        groups = range(self.file.num_row_groups)
        each = self.unpacked(groups) // max(1, self.file.metadata.num_rows)
        yield from self.file.iter_batches(max(1, min(ROWS, STEP // max(1, each))))

    def unpacked(self, groups: Sequence[int], names: Sequence[str] | None = None) -> int:
        """Say how many bytes these row groups unpack to, of these columns; refuse what is beyond the limit."""
        leaves = [leaf for leaf in self._leaves if names is None or leaf.path.partition(".")[0] in names]
        self._refuse_rows(groups, leaves)
        found = {leaf: self._measured(groups, leaf) for leaf in leaves}
        total = 0
        for leaf, chunks in found.items():
            rows = [self._footer[group][0] for group in groups]
            total += sum(map(leaf.least, chunks, rows))
            self._refuse(total)
        texts = [(leaf, *one) for leaf in leaves if leaf.is_text for one in zip(groups, found[leaf], strict=True)]
        if (upper := total + sum(chunk.values * chunk.longest for _, _, chunk in texts)) <= self.most:
            return upper
        for leaf, group, chunk in texts:
            total = self._with_texts(leaf, group, chunk, total)
        return total

    def _refuse(self, total: int) -> None:
        if total > self.most:
            raise UnpackedError(f"it may unpack to more than {self.most:,} bytes")

    def _refuse_rows(self, groups: Sequence[int], leaves: Sequence[_Leaf]) -> None:
        """Refuse more rows than a file of this size may have, and columns that share their bytes."""
        most = most_unpacked(self.size, MOST_ROWS)
        if max(self.file.metadata.num_rows, sum(self._footer[group][0] for group in groups)) > most:
            raise UnpackedError(f"it has more than {most:,} rows")
        if sum(self._footer[group][1][leaf.number].size for group in groups for leaf in leaves) > self.size:
            raise ValueError("columns with more bytes than the file")

    @cached_property
    def _leaves(self) -> list[_Leaf]:
        schema, arrow = self.file.metadata.schema, self.file.schema_arrow
        lists = [found for field in arrow for found in _fixed_lists(field.type)]
        if len(lists) != len(schema):  # which is whose is not known
            lists = [(prod(size for size, _ in lists), False)] * len(schema)
        return [_leaf(number, schema.column(number), *of) for number, of in enumerate(lists)]

    @cached_property
    def _footer(self) -> list[tuple[int, list[Chunk]]]:
        return footer(self.path)

    def _measured(self, groups: Sequence[int], leaf: _Leaf) -> list[_Measure]:
        """Read the headers of a column's pages, once."""
        if missing := [group for group in groups if (group, leaf.number) not in self.measures]:
            with self.path.open("rb") as file:
                for group in missing:
                    found = list(pages(file, self._footer[group][1][leaf.number]))
                    self.measures[group, leaf.number] = _measure(found)
        return [self.measures[group, leaf.number] for group in groups]

    # --- texts -------------------------------------------------------------------------------------------------------

    @cached_property
    def _by_dictionary(self) -> pq.ParquetFile:
        """Open the file once more, with dictionaries left as they are."""
        paths = [leaf.path for leaf in self._leaves if leaf.is_text]
        return pq.ParquetFile(self.path, metadata=self.file.metadata, read_dictionary=paths, memory_map=self.memory_map)

    @cached_property
    def _left(self) -> list[bool]:
        """Tell for each column whether Arrow leaves its dictionary as it is, which it can't with every type."""
        schema = self._by_dictionary.schema_arrow
        found = [pa.types.is_dictionary(of) for field in schema for of in _value_types(field.type)]
        return found if len(found) == len(self._leaves) else [False] * len(self._leaves)

    def _with_texts(self, leaf: _Leaf, group: int, chunk: _Measure, total: int) -> int:
        """Add what is in texts that are kept once for many rows."""
        if not chunk.longest:
            return total
        is_left = self._left[leaf.number] and not chunk.prefixed
        written_out = 1 if is_left else chunk.longest  # bytes of a text, at most, that Arrow writes out for a row
        if leaf.is_nested and not is_left:  # a row may have any number of them
            self._refuse(total + written_out * chunk.values)
            return total + written_out * chunk.values
        together = max(1, min(COUNTED, STEP // written_out))
        file = self._by_dictionary if is_left else self.file
        for batch in file.iter_batches(together, [group], [leaf.path], use_threads=False):
            if not batch.num_columns:
                raise ValueError(f"a column that can't be found by its name: {leaf.path!r}")
            total += sum(_text_bytes(array) for column in batch.columns for array in _parts(column))
            self._refuse(total)
        return total


def _measure(found: Sequence[Page]) -> _Measure:
    prefixed = [page.unpacked for page in found if page.encoding == BY_PREFIX]
    by_place = any(page.values and page.encoding in BY_DICTIONARY for page in found)
    dictionaries = [page.unpacked for page in found if not page.values] if by_place else []
    return _Measure(
        values=sum(page.values for page in found),
        unpacked=sum(page.unpacked for page in found),
        longest=max([0, *prefixed, *dictionaries]),
        prefixed=bool(prefixed),
    )


def _leaf(number: int, about: Any, fixed: int, by_row: bool) -> _Leaf:
    """Say what a column of a schema takes; of lists and structs, what says where they begin and which are there."""
    is_text = about.physical_type == "BYTE_ARRAY"
    width = OFFSET if is_text else WIDTHS.get(about.physical_type, max(16, about.length or 0))
    structs = max(0, about.path.count(".") - 2 * about.max_repetition_level)  # a list has two names
    return _Leaf(
        number, about.path,
        width + 2 * OFFSET * about.max_repetition_level + about.max_definition_level // 8 + RECORD * structs,
        is_text, about.max_repetition_level > 0, fixed, by_row,
    )  # fmt: skip


def _fixed_lists(of: pa.DataType, size: int = 1, *, by_row: bool = True) -> Iterator[tuple[int, bool]]:
    """Yield for each column of a type how many values a row's list of a fixed size has, and whether a row has one.

    >>> [*_fixed_lists(pa.struct({"a": pa.list_(pa.int8(), 3), "b": pa.list_(pa.list_(pa.int8(), 4)), "c": pa.int8()}))]
    [(3, True), (4, False), (1, True)]
    """
    if isinstance(of, pa.ExtensionType):
        yield from _fixed_lists(of.storage_type, size, by_row=by_row)
    elif pa.types.is_nested(of):
        if pa.types.is_fixed_size_list(of):
            size *= max(1, of.list_size)
        elif not pa.types.is_struct(of):
            by_row = False
        for number in range(of.num_fields):
            yield from _fixed_lists(of.field(number).type, size, by_row=by_row)
    else:
        yield size, by_row


def _value_types(of: pa.DataType) -> Iterator[pa.DataType]:
    """Yield the types of the values in a type, in the order of their columns."""
    if isinstance(of, pa.ExtensionType):
        yield from _value_types(of.storage_type)
    elif pa.types.is_nested(of):
        for number in range(of.num_fields):
            yield from _value_types(of.field(number).type)
    else:
        yield of


def _parts(array: pa.Array) -> Iterator[pa.Array]:
    """Yield the values in lists and structs."""
    if isinstance(array, pa.ExtensionArray):
        yield from _parts(array.storage)
    elif pa.types.is_struct(array.type):
        for part in array.flatten():
            yield from _parts(part)
    elif pa.types.is_nested(array.type):
        yield from _parts(array.flatten())
    else:
        yield array


def _text_bytes(array: pa.Array) -> int:
    """Count the bytes of texts, each as often as it stands."""
    if not pa.types.is_dictionary(array.type):
        return int(array.nbytes)
    return pc.sum(pc.binary_length(array.dictionary).take(array.indices)).as_py() or 0
