"""Small Parquet files that unpack to much are refused before they do; honest ones are read, however well they pack."""

from __future__ import annotations

import struct
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from taskloom import limits
from taskloom.errors import SourceError
from taskloom.sources.files import RowFaults, read
from taskloom.sources.parquet import RECORD, LimitedParquet

LONG = "x" * 1_000_000
MUCH = limits.MOST_TABLE + 8


def repeated(value: Any, kind: pa.DataType, count: int) -> pa.Array:
    return pa.array([value], kind).take(pa.array([0] * count, pa.int32()))


def numbers_in_a_list() -> pa.Table:
    return pa.table({"a": pa.ListArray.from_arrays([0, MUCH // 8], repeated(0.0, pa.float64(), MUCH // 8))})


def structs_in_a_list() -> pa.Table:
    values = repeated(0, pa.int32(), 100_000)
    for _ in range(20):
        values = pa.StructArray.from_arrays([values], ["a"])
    return pa.table({"a": pa.ListArray.from_arrays([0, len(values)], values)})


PLAIN: dict[str, Any] = {"use_dictionary": False, "write_statistics": False}
BOMBS: dict[str, tuple[Callable[[], pa.Table], dict[str, Any]]] = {
    "a text of many rows": (lambda: pa.table({"a": [LONG] * 80}), {}),
    "texts that begin alike": (
        lambda: pa.table({"a": [LONG] * 80}),
        {**PLAIN, "column_encoding": {"a": "DELTA_BYTE_ARRAY"}},
    ),
    "texts of a list that begin alike": (
        lambda: pa.table({"a": [[LONG] * 80]}),
        {**PLAIN, "column_encoding": {"a.list.element": "DELTA_BYTE_ARRAY"}},
    ),
    "a text of many items": (lambda: pa.table({"a": [[LONG] * 80]}), {}),
    "a text of many structs": (lambda: pa.table({"a": [{"b": {"c": [LONG]}}] * 80}), {}),
    "bytes of a fixed size": (lambda: pa.table({"a": repeated(LONG.encode(), pa.binary(len(LONG)), 80)}), {}),
    "a page": (lambda: pa.table({"a": ["x" * MUCH]}), PLAIN),
    "numbers of a list": (numbers_in_a_list, {}),
    "structs within structs": (structs_in_a_list, {}),
    "numbers": (lambda: pa.table({name: repeated(7, pa.int64(), 1_900_000) for name in "abcde"}), {}),
    "rows of nothing": (lambda: pa.table({"a": pa.nulls(3_000_000)}), {}),
}


@contextmanager
def most_memory(most: int) -> Iterator[None]:
    """See that Arrow takes no more than that."""
    usual, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.system_memory_pool())
    pa.set_memory_pool(pool)
    try:
        yield
    finally:
        pa.set_memory_pool(usual)
    assert (pool.max_memory() or 0) < most


@pytest.mark.parametrize("kind", BOMBS)
def test_a_small_file_that_unpacks_to_much_is_refused(tmp_path: Path, kind: str):
    make, options = BOMBS[kind]
    path = tmp_path / "bomb.parquet"
    pq.write_table(make(), path, compression="zstd", row_group_size=10_000_000, **options)
    assert path.stat().st_size < limits.MOST_TABLE / limits.MOST_RATIO
    said = r"bomb.parquet: it (may unpack to|has) more than (67,108,864 bytes|2,000,000 rows); write it as CSV or JSON"
    with most_memory(160 << 20), pytest.raises(SourceError, match=said):
        next(read(path, RowFaults()))


@pytest.mark.skipif(not hasattr(pa, "json_"), reason="this pyarrow has no type for JSON")
@pytest.mark.parametrize("around", [lambda of: of, lambda of: pa.struct({"s": of}), pa.list_])
def test_missing_lists_of_a_fixed_size_are_counted_as_arrow_fills_them(tmp_path: Path, around: Any):
    """The type of Arrow that a file notes has the size, and no page does."""
    path, rows = tmp_path / "bomb.parquet", 1000
    made = pa.table({"a": pa.array([None] * rows, around(pa.list_(pa.int32())))})
    noted = pa.schema({"a": around(pa.list_(pa.int32(), 1_000_000))}).serialize().to_pybytes()
    with pq.ParquetWriter(path, made.schema, store_schema=False) as writer:
        writer.write_table(made)
        writer.add_key_value_metadata({"ARROW:schema": b64encode(noted).decode()})
    with most_memory(160 << 20), pytest.raises(SourceError, match=r"may unpack to more than 67,108,864 bytes"):
        next(read(path, RowFaults()))


def test_vectors_and_structs_are_read(tmp_path: Path):
    vectors = pa.FixedSizeListArray.from_arrays(pa.array([n / 7 for n in range(384 * 4000)], pa.float32()), 384)
    spans = pa.array([[{"start": n, "end": n + 1, "label": "x"} for n in range(8)]] * 4000)
    pq.write_table(pa.table({"vector": vectors, "spans": spans}), tmp_path / "t.parquet")
    (_, first), *others = read(tmp_path / "t.parquet", RowFaults())
    assert (len(first["vector"]), first["spans"][7]["end"], len(others)) == (384, 8, 3999)


def test_a_text_that_arrow_writes_out_for_each_row_is_counted_a_few_at_a_time(tmp_path: Path):
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({"a": pa.array([f'"{LONG}"'] * 80).cast(pa.json_())}), path, compression="zstd")
    with most_memory(160 << 20), pytest.raises(SourceError, match="more than 67,108,864 bytes"):
        next(read(path, RowFaults()))


# --- what headers and footers say ------------------------------------------------------------------------------------


def varint(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)


def integer(value: int) -> bytes:
    return varint(value << 1)


def fields(*given: tuple[int, int, bytes]) -> bytes:
    """Write a struct of compact Thrift: numbers, types and values; each field says its number in full."""
    return b"".join(bytes([kind]) + integer(number) + value for number, kind, value in given) + b"\0"


def listed(*structs: bytes) -> bytes:
    return bytes([len(structs) << 4 | 12]) + b"".join(structs)


def forged(path: Path, header: bytes, *, values: int = 1, groups: int = 1, size: int | None = None) -> Path:
    """Write a file of one column of integers, whose only page has this header."""
    page = b"PAR1" + header + bytes(4)
    text = varint(1) + b"a"
    schema = listed(
        fields((4, 8, text), (5, 5, integer(1))), fields((1, 5, integer(1)), (3, 5, integer(0)), (4, 8, text))
    )
    said = (5, 6, integer(values)), (6, 6, integer(8)), (7, 6, integer(len(page) - 4 if size is None else size))
    column = fields(
        (1, 5, integer(1)), (2, 9, bytes([0x15, 0])), (3, 9, bytes([0x18]) + text), (4, 5, integer(0)), *said,
        (9, 6, integer(4)),
    )  # fmt: skip
    group = fields(
        (1, 9, listed(fields((2, 6, integer(4)), (3, 12, column)))), (2, 6, integer(8)), (3, 6, integer(values))
    )
    footer = fields(
        (1, 5, integer(1)), (2, 9, schema), (3, 6, integer(values * groups)), (4, 9, listed(*[group] * groups))
    )
    path.write_bytes(page + footer + struct.pack("<I", len(footer)) + b"PAR1")
    return path


def header(
    *, unpacked: int = 4, packed: int = 4, values: int = 1, more: tuple[tuple[int, int, bytes], ...] = ()
) -> bytes:
    own = fields(*((number, 5, integer(value)) for number, value in ((1, values), (2, 0), (3, 3), (4, 3))))
    sizes = (1, 5, integer(0)), (2, 5, integer(unpacked)), (3, 5, integer(packed))
    return fields(*sizes, *more, (5, 12, own))


def test_a_file_that_is_written_by_hand_is_read(tmp_path: Path):
    assert [row for _, row in read(forged(tmp_path / "p.parquet", header()), RowFaults())] == [{"a": 0}]


@pytest.mark.parametrize(
    ("said", "of"),
    [
        ("more than 67,108,864 bytes", {"unpacked": 2**31 - 1}),
        ("more than 67,108,864 bytes", {"unpacked": 2**31 - 1, "more": ((2, 6, integer(4)),)}),  # of another type
        ("more than 67,108,864 bytes", {"unpacked": 4, "more": ((2, 5, integer(2**31 - 1)),)}),  # the last one counts
        ("more than 67,108,864 bytes", {"unpacked": 4, "more": ((65538, 5, integer(2**31 - 1)),)}),  # field 2, wrapped
        ("more than 67,108,864 bytes", {"values": 2**31 - 1}),
        ("lacks a size", {"more": ((3, 5, varint(1)),)}),  # -1
        ("cut short", {"more": ((9, 8, varint(2**40)),)}),
    ],
)
def test_pages_are_measured_by_their_headers_whatever_the_footer_says(tmp_path: Path, said: str, of: dict[str, Any]):
    path = forged(tmp_path / "p.parquet", header(**of))
    with most_memory(32 << 20), pytest.raises(SourceError, match=said):
        next(read(path, RowFaults()))


def test_a_footer_that_says_too_many_rows_or_bytes_is_refused(tmp_path: Path):
    with pytest.raises(SourceError, match="more than 2,000,000 rows"):
        next(read(forged(tmp_path / "p.parquet", header(), values=2**50), RowFaults()))
    with pytest.raises(SourceError, match="columns with more bytes than the file"):
        next(read(forged(tmp_path / "p.parquet", header(), size=10_000), RowFaults()))


# --- honest files ----------------------------------------------------------------------------------------------------

WORDS = [f"w{number * 7919 % 1000}" for number in range(3000)]
HONEST = pa.table(
    {
        "id": [str(number) for number in range(3000)],
        "text": [" ".join(WORDS[at : at + 20]) for at in range(3000)],
        "same": ["hello"] * 3000,
        "none": pa.nulls(3000),
        "terms": [WORDS[at : at + at % 4] for at in range(3000)],
        "inner": [{"k": word, "n": [1.5, 2.5]} if at % 3 else None for at, word in enumerate(WORDS)],
        "flag": [at % 2 == 0 for at in range(3000)],
    }
)


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("encoding", ["", "PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
def test_what_files_unpack_to_is_measured(tmp_path: Path, codec: str, version: str, encoding: str):
    path = tmp_path / "p.parquet"
    options: dict[str, Any] = {"column_encoding": dict.fromkeys(["id", "text"], encoding)} if encoding else {}
    pq.write_table(
        HONEST, path, compression=codec, data_page_version=version, use_dictionary=not encoding,
        row_group_size=1300, data_page_size=5000, write_page_checksum=True, write_page_index=True, **options,
    )  # fmt: skip
    limited = LimitedParquet(path)
    limited.most = 5 * HONEST.nbytes
    structs = RECORD * 3 * HONEST.num_rows  # one of two columns, of which one has two values
    found = limited.unpacked(range(limited.file.num_row_groups)) - structs
    assert HONEST.nbytes * 0.9 < found < 2.5 * HONEST.nbytes
    assert pa.Table.from_batches(limited.batches()).to_pylist() == HONEST.to_pylist()


def test_a_million_equal_rows_are_read(tmp_path: Path):
    table = pa.table({"a": repeated("a label", pa.string(), 1_000_000), "b": repeated(1.5, pa.float64(), 1_000_000)})
    pq.write_table(table, tmp_path / "p.parquet", compression="zstd")
    assert (tmp_path / "p.parquet").stat().st_size < 10_000
    assert sum(batch.num_rows for batch in LimitedParquet(tmp_path / "p.parquet").batches()) == 1_000_000


def test_long_texts_are_read_a_few_at_a_time(tmp_path: Path):
    texts = [f"{number:09}" * 100_000 for number in range(60)]
    pq.write_table(pa.table({"a": texts}), tmp_path / "p.parquet", compression="none")
    with most_memory(150 << 20):
        assert max(batch.num_rows for batch in LimitedParquet(tmp_path / "p.parquet").batches()) < 60
