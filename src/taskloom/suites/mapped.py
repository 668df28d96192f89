"""Arrow files that are mapped into memory: tables as taskloom writes them, which hold no more than their file does.

Messages are read one after the other, whatever the footer says of them, and one that would be unpacked is refused
before it is: a few bytes may stand for gigabytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from ..limits import regular
from . import columns

MAGIC = b"ARROW1\0\0"
HEADER, COMPRESSION = 2, 3  # numbers of fields: of a message, and of a record batch


def table(path: Path, fits: Callable[[pa.Schema], bool]) -> pa.Table | None:
    """Map a table whose schema fits, or give none; what is damaged is an `ArrowException` or an OSError.

    Offsets are validated; texts that are not asked for are not read.
    """
    source = pa.memory_map(str(regular(path)))
    if source.read(len(MAGIC)) != MAGIC:
        raise pa.ArrowInvalid("not an Arrow file")
    messages = pa.ipc.MessageReader.open_stream(source)
    if (first := next(messages, None)) is None:
        raise pa.ArrowInvalid("no schema")
    schema = pa.ipc.read_schema(first)
    if not fits(schema):
        return None
    found = pa.Table.from_batches(_batches(messages, schema), schema)
    columns.refuse_wrong_offsets(found)
    if found.nbytes > source.size():
        raise pa.ArrowInvalid(f"{found.nbytes:,} bytes in a file of {source.size():,}")
    return found


def _batches(messages: pa.ipc.MessageReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for message in messages:
        if message.type != "record batch" or _is_compressed(memoryview(message.metadata)):
            raise pa.ArrowInvalid(f"compressed, or not rows ({message.type})")
        yield pa.ipc.read_record_batch(message, schema)


def _is_compressed(message: memoryview) -> bool:
    """Tell it by the message, a flatbuffer that Arrow has verified."""
    (root,) = struct.unpack_from("<I", message)
    at = _field(message, root, HEADER)
    (batch,) = struct.unpack_from("<I", message, at)
    return _field(message, at + batch, COMPRESSION) > 0


def _field(message: memoryview, table: int, number: int) -> int:
    """Give the place of a field of a table, 0 where it has none; the table says where its places are."""
    (back,) = struct.unpack_from("<i", message, table)
    (size,) = struct.unpack_from("<H", message, table - back)
    if 4 + 2 * number >= size:
        return 0
    (offset,) = struct.unpack_from("<H", message, table - back + 4 + 2 * number)
    return table + offset if offset else 0
