"""Arrow files hold what they hold: nothing is unpacked, and nothing is read twice for a few bytes of a footer."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pyarrow as pa
import pytest

from taskloom.suites import mapped

SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.string())])
TABLE = pa.table({"id": [1, 2, 3], "text": ["a", None, "c"]}, schema=SCHEMA)


def write(path: Path, table: pa.Table, compression: str | None = None, rows: int = 65536) -> Path:
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema, options=options) as out:
        out.write_table(table, max_chunksize=rows)
    return path


def read(path: Path) -> pa.Table | None:
    return mapped.table(path, SCHEMA.equals)


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_table_is_mapped_and_takes_no_memory(tmp_path: Path, rows: int):
    path = write(tmp_path / "t.arrow", pa.concat_tables([TABLE] * 100_000).combine_chunks(), rows=rows * 1000)
    before = pa.total_allocated_bytes()
    found = read(path)
    assert found is not None
    assert found.num_rows == 300_000
    assert found.slice(299_997).to_pylist() == TABLE.to_pylist()
    assert pa.total_allocated_bytes() - before < 1 << 16


def test_a_table_without_rows_is_mapped(tmp_path: Path):
    assert read(write(tmp_path / "t.arrow", SCHEMA.empty_table())) == SCHEMA.empty_table()


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_what_would_be_unpacked_is_refused_first(tmp_path: Path, compression: str):
    zeros = pa.Array.from_buffers(pa.int64(), 8_000_000, [None, pa.py_buffer(bytes(64_000_000))])
    table = pa.table([zeros, pa.nulls(8_000_000, pa.string())], schema=SCHEMA)
    path = write(tmp_path / "t.arrow", table, compression, rows=8_000_000)
    assert path.stat().st_size < 1_000_000
    before = pa.total_allocated_bytes()
    with pytest.raises(pa.ArrowInvalid, match="compressed"):
        read(path)
    assert pa.total_allocated_bytes() == before


def test_columns_that_share_the_bytes_of_the_file_are_refused(tmp_path: Path):
    size, count = 80_000, 64
    path = write(tmp_path / "t.arrow", pa.table({f"c{n}": range(size // 8) for n in range(count)}))
    content = path.read_bytes()
    for number in range(count):
        own = (size * number, 0, size * number, size)  # where its nulls and its numbers are
        content = content.replace(struct.pack("<4q", *own), struct.pack("<4q", 0, 0, 0, size), 1)
    first = content.index(struct.pack("<qqq", 0, 1, 2))
    short = content[:first].replace(struct.pack("<q", size * count), struct.pack("<q", size))
    path.write_bytes(short + content[first : first + size] + content[first + size * count :])
    with pytest.raises(pa.ArrowInvalid, match=r"5,120,000 bytes in a file of"):
        mapped.table(path, lambda _: True)


def test_the_footer_is_not_asked_how_often_a_batch_is_there(tmp_path: Path):
    path = write(tmp_path / "t.arrow", pa.concat_tables([TABLE] * 4), rows=3)
    content = path.read_bytes()
    path.write_bytes(content[: content.rindex(b"\xff\xff\xff\xff\0\0\0\0") + 8] + b"no footer")
    found = read(path)
    assert found is not None
    assert found.num_rows == 12


@pytest.mark.parametrize("table", [pa.table({"id": pa.nulls(1 << 30)}), TABLE.rename_columns(["id", "x"])])
def test_a_table_of_another_schema_is_none(tmp_path: Path, table: pa.Table):
    assert read(write(tmp_path / "t.arrow", table)) is None


def test_dictionaries_are_no_rows(tmp_path: Path):
    table = TABLE.set_column(1, "text", TABLE["text"].dictionary_encode())
    with pytest.raises(pa.ArrowInvalid, match=r"not rows \(dictionary\)"):
        mapped.table(write(tmp_path / "t.arrow", table), lambda _: True)


@pytest.mark.parametrize("content", [b"", b"ARROW1", b"ARROW1\0\0", b"ARROW1\0\0\xff\xff\xff\xff\0\0\0\0", b"PAR1" * 9])
def test_what_is_no_arrow_file_is_an_error_of_arrow(tmp_path: Path, content: bytes):
    (tmp_path / "t.arrow").write_bytes(content)
    with pytest.raises((pa.ArrowException, OSError)):
        read(tmp_path / "t.arrow")


def test_a_pipe_is_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "t.arrow")
    with pytest.raises(OSError, match="not a regular file"):
        read(tmp_path / "t.arrow")
