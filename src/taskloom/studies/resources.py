"""What cells take of a machine of a cluster: declared beside models and learners, and no part of a cell's name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from ..errors import UsageError
from ..messages import Note
from ..options import settle_number
from ..schema import Node, key, read, short

RESOURCES = "resources"  # the key in a study's file
UNITS: Mapping[str, int] = {"": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "MiB": 1 << 20, "GiB": 1 << 30}
MOST_MEMORY = 1 << 50


def bytes_of(text: str | int) -> int:
    """Read a size: a number of bytes, or one with a unit.

    >>> bytes_of("2GB"), bytes_of("1.5 GiB"), bytes_of(512)
    (2000000000, 1610612736, 512)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?) *([kMGT]?i?B?)", str(text))
    if isinstance(text, bool) or not found or found[2] not in UNITS:
        raise UsageError(Note.of("memory-expected", given=repr(text)))
    return int(float(found[1]) * UNITS[found[2]])


def _memory(node: Node, name: str, default: int) -> int:
    try:
        return bytes_of(node.values.get(name, default))
    except UsageError as error:
        node.fault(name, str(error))
        return default


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Resources:
    """What a cell takes while it runs."""

    gpu: float = 0.0  # less than one: several cells share it
    memory: int = key(0, read=_memory)  # bytes
    cpu: float = 1.0

    def __post_init__(self) -> None:
        settle_number(self, "cpu", least=0.01)
        settle_number(self, "gpu", least=0.0)
        object.__setattr__(self, "memory", bytes_of(self.memory))
        if self.memory > MOST_MEMORY:
            raise UsageError(Note.of("memory-expected", given=repr(self.memory)))
        if self.gpu > 1 and self.gpu != int(self.gpu):
            raise UsageError(Note.of("gpu-expected", given=self.gpu))

    @property
    def threads(self) -> int:
        """Give the number of threads that numbers are crunched with."""
        return max(1, int(self.cpu))

    def declared(self) -> dict[str, float | int]:
        """Give what is not usual, as a file has it."""
        usual = asdict(Resources())
        return {name: value for name, value in asdict(self).items() if value != usual[name]}

    def fits(self, has: Mapping[str, float]) -> bool:
        """Tell whether a machine has as much."""
        return all(has.get(name, 0.0) + 1e-9 >= wanted for name, wanted in asdict(self).items())

    def covers(self, other: Resources) -> bool:
        """Tell whether a worker that has this computes the same as one that has the other, and has the memory."""
        return (self.cpu, self.gpu) == (other.cpu, other.gpu) and self.memory >= other.memory

    def together(self, other: Resources) -> Resources:
        """Give the greater of each."""
        return Resources(**{f.name: max(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)})

    def __str__(self) -> str:
        """Write it for people."""
        parts = [f"{self.cpu:g} CPU", f"{self.gpu:g} GPU" if self.gpu else ""]
        return ", ".join(filter(None, [*parts, f"{_size(self.memory)} memory" if self.memory else ""]))


def _size(memory: int) -> str:
    """Write a number of bytes with three digits.

    >>> _size(9 * 10**12), _size(1_500_000_000), _size(999_600_000_000), _size(2_000_000)
    ('9 TB', '1.5 GB', '1 TB', '0.002 GB')
    """
    return f"{memory / 1e12:.3g} TB" if memory >= 999.5e9 else f"{memory / 1e9:.3g} GB"


def read_resources(node: Node, name: str, default: Resources | None = None) -> Resources | None:
    """Read what is declared in a file: {gpu: 1, cpu: 4, memory: 16GB}."""
    if name not in node.values:
        return default
    if not isinstance(value := node.values[name], Mapping) or not value:
        node.fault(name, str(Note.of("resources-expected", given=short(value))))
        return default
    return read(Resources, node.below(value, f" of {name}", node.place(name)))


def resources_of(options: Mapping[str, Any]) -> Resources | None:
    """Give what the options of a model declare."""
    return Resources(**options[RESOURCES]) if RESOURCES in options else None
