"""The items of a run as a file: one row for each answer, as CSV, TSV, JSON lines or Parquet.

`item_rows` gives the same rows as objects, task by task; `Results.to_arrow` and `to_pandas` as a table.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from ..errors import UnknownNameError
from ..folders import output_file
from ..studies.items import ItemRow, item_batches, item_rows, item_schema
from ..studies.results import Results
from ..texts import inert

__all__ = ["WRITERS", "ItemRow", "item_rows", "items_csv", "write_items"]
RISKY = r"""(^|[,;|\t\r\n])[ "]*'*[=+\-@＝＋－＠]|^'*[\t\r\n]"""  # as `inert` has it, which then looks closer
NUMBER = r"^[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?$"  # what a spreadsheet may take for a number, for it is one

Batches: TypeAlias = Iterator[pa.RecordBatch]


def write_items(results: Results, path: Path, tasks: Collection[str] = ()) -> int:
    """Write a row for each answer in the form of the file's ending, and say how many."""
    ending = check_ending(path)
    schema, written = item_schema(results, tasks), 0

    def counted() -> Batches:
        nonlocal written
        for batch in item_batches(results, tasks):
            written += batch.num_rows
            yield batch

    with output_file(path) as file:
        WRITERS[ending](counted(), schema, file)
    return written


def check_ending(path: Path) -> str:
    """Give the ending of a file of items, or name those that there are."""
    ending = path.suffix.removeprefix(".").lower()
    if ending not in WRITERS:
        raise UnknownNameError("ending of a file of items", ending, WRITERS)
    return ending


def items_csv(results: Results, tasks: Collection[str] = ()) -> str:
    """Write the rows as CSV, in memory."""
    file = io.BytesIO()
    _separated(item_batches(results, tasks), item_schema(results, tasks), file)
    return file.getvalue().decode()


def _separated(batches: Batches, schema: pa.Schema, file: IO[bytes], *, delimiter: str = ",") -> None:
    """Write texts in quotes, so that lines and separators within them are kept; no value is an empty cell."""
    schema = pa.schema([pa.field(inert(column.name), column.type) for column in schema])
    options = pyarrow.csv.WriteOptions(delimiter=delimiter)
    with pyarrow.csv.CSVWriter(file, schema, write_options=options) as writer:
        for batch in batches:
            writer.write_batch(pa.record_batch([_inert(column) for column in batch.columns], schema=schema))


def _inert(column: pa.Array) -> pa.Array:
    """Keep a spreadsheet from taking texts for formulas, as `texts.inert` does; numbers stay as they are."""
    if not pa.types.is_string(column.type):
        return column
    risky = pc.and_(
        pc.match_substring_regex(column, RISKY), pc.invert(pc.match_substring_regex(column, NUMBER))
    ).to_pylist()
    if not any(risky):
        return column
    texts = zip(column.to_pylist(), risky, strict=True)
    return pa.array([inert(text) if is_risky else text for text, is_risky in texts], column.type)


def _lines(batches: Batches, _: pa.Schema, file: IO[bytes]) -> None:
    for batch in batches:
        for row in batch.to_pylist():
            file.write(json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n")


def _parquet(batches: Batches, schema: pa.Schema, file: IO[bytes]) -> None:
    with pyarrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)


WRITERS: Mapping[str, Callable[[Batches, pa.Schema, IO[bytes]], Any]] = {  # by the file's ending
    "csv": _separated,
    "tsv": partial(_separated, delimiter="\t"),
    "jsonl": _lines,
    "parquet": _parquet,
}
