"""The header of a GGUF file, read within its bounds: other readers run without end where a length is forged.

https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAGIC, VERSIONS = b"GGUF", (2, 3)
PLAIN: Mapping[int, str] = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip
TEXT, LIST = 8, 9  # types of values
TOKEN_TYPES, WORDS = "ggml.token_type", (1, 6)
LIST_HEAD = 16  # bytes of the types and the length before a list
MOST_DIMENSIONS = 8
LARGEST = 256 << 20  # bytes of a header: vocabularies of millions of words


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """What a file says of its model: numbers and texts by name, and the shapes of its tensors."""

    settings: Mapping[str, Any]
    shapes: tuple[tuple[int, ...], ...]
    added: int = 0  # tokens that are neither words nor bytes, and are added to a vocabulary one by one

    @property
    def parameters(self) -> int:
        """Count the numbers of all tensors."""
        return sum(map(math.prod, self.shapes))


def gguf_header(path: Path) -> GgufHeader:
    """Read the header of a file, or raise ValueError."""
    with path.open("rb") as file:
        reader = _Reader(file.read(LARGEST), path.stat().st_size)
    if reader.take(4) != MAGIC or (version := reader.number("I")) not in VERSIONS:
        raise ValueError("not a GGUF file of version 2 or 3")
    tensors, pairs = reader.number("Q"), reader.number("Q")
    settings, added = {}, 0
    for _ in range(pairs):
        name, begin = reader.text(), reader.at
        settings[name] = reader.value(reader.number("I"))
        if name.endswith(TOKEN_TYPES):
            added = _added(reader.data[begin + LIST_HEAD : reader.at])
    shapes = tuple(reader.shape() for _ in range(tensors))
    header = GgufHeader(settings, shapes, added)
    if header.parameters > 32 * reader.size:  # no type takes less than a quarter of a bit
        raise ValueError(f"tensors of {header.parameters:,} numbers in {reader.size:,} bytes (version {version})")
    return header


def _added(types: bytes) -> int:
    """Count the tokens of other types than words and bytes; types are integers of 32 bits."""
    whole = types[: len(types) // 4 * 4]
    return sum(kind not in WORDS for (kind,) in struct.iter_unpack("<i", whole))


class _Reader:
    """Takes bytes one after the other; each step takes some, so that no forged number makes it run without end."""

    def __init__(self, data: bytes, size: int) -> None:
        self.data, self.size, self.at = data, size, 0

    def take(self, count: int) -> bytes:
        end = self.at + count
        if end > len(self.data):
            raise ValueError(f"the header ends after {len(self.data):,} bytes, within a value")
        self.at, found = end, self.data[self.at : end]
        return found

    def number(self, form: str) -> Any:
        return struct.unpack(f"<{form}", self.take(struct.calcsize(f"<{form}")))[0]

    def text(self) -> str:
        return self.take(self.number("Q")).decode("utf-8")

    def value(self, kind: int) -> Any:
        """Read a value; of a list, its length alone is kept."""
        if kind == TEXT:
            return self.text()
        if kind != LIST:
            return self.number(self._form(kind))
        inner, count = self.number("I"), self.number("Q")
        if inner == TEXT:
            for _ in range(count):
                self.text()
        else:
            self.take(count * struct.calcsize(f"<{self._form(inner)}"))
        return [None] * min(count, 1)

    def _form(self, kind: int) -> str:
        if kind not in PLAIN:
            raise ValueError(f"a value of unknown type: {kind}")
        return PLAIN[kind]

    def shape(self) -> tuple[int, ...]:
        self.text()
        if (count := self.number("I")) > MOST_DIMENSIONS:
            raise ValueError(f"a tensor of {count:,} dimensions")
        found = tuple(self.number("Q") for _ in range(count))
        self.number("I"), self.number("Q")  # its type, and where it begins
        return found
