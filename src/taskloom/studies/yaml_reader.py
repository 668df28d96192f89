"""A YAML file whose values are taken one by one: all that is wrong with it at once, each fault by line and column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..errors import StudyError, TaskloomError, nearest

MOST = 100_000  # numbers that one can stand for
Places: TypeAlias = Mapping[tuple[str, str], str]  # of what is written: its kind and name -> file, line and column
_NAMES = {str: "text", int: "a whole number", list: "a list", dict: "a mapping", bool: "true or false"}


@dataclass(slots=True)
class StudyFaults:
    """What was found to be wrong with a study, each with its place where that is known."""

    places: Places = field(default_factory=dict)
    found: list[str] = field(default_factory=list)

    def add(self, place: str, what: str) -> None:
        """Note a fault."""
        self.found.append(f"{place}: {what}" if place else what)

    @contextmanager
    def of(self, kind: str, name: str = "") -> Iterator[None]:
        """Note what is refused within, as a fault of something that is written in the study."""
        try:
            yield
        except TaskloomError as error:
            self.add(self.places.get((kind, name), ""), f"{kind} {name!r}: {error}" if name else str(error))

    def settle(self) -> None:
        """Refuse the study if anything is wrong with it."""
        if self.found:
            raise StudyError("the study can't be run as it is written:", list(dict.fromkeys(self.found)))


@dataclass(slots=True)
class Node:
    """A mapping of the file, whose values are taken one by one; what is not taken is a fault."""

    values: Mapping[str, Any]
    faults: StudyFaults
    file: str
    name: str = ""
    known: list[str] = field(default_factory=list)

    def below(self, values: Mapping[str, Any], name: str) -> Node:
        """Go on with a mapping that is a part of this one."""
        return Node(values, self.faults, self.file, name)

    def place(self, key: str | int | None = None, within: Any = None) -> str:
        """Say where a key is written, or an item of a list."""
        line, column = _place(self.values if within is None else within, key)
        return f"{self.file}:{line}:{column}"

    def fault(self, key: str | int | None, what: str, within: Any = None) -> None:
        """Note what is wrong with the value of a key, or an item of a list."""
        self.faults.add(self.place(key, within), what)

    def take(self, key: str, kinds: type | tuple[type, ...], default: Any) -> Any:
        """Take a value of some type, or the default."""
        self.known.append(key)
        value = self.values.get(key, default)
        wrong_bool = isinstance(value, bool) and kinds is not bool
        if key in self.values and (wrong_bool or not isinstance(value, kinds)):
            wanted = " or ".join(_NAMES[kind] for kind in (kinds if isinstance(kinds, tuple) else (kinds,)))
            self.fault(key, f"{key} must be {wanted}: {str(value)[:40]!r}")
            return default
        return value

    def numbers(self, key: str, default: tuple[int, ...]) -> tuple[int, ...]:
        """Take a list of whole numbers, or one that stands for so many, from 0."""
        value = self.take(key, (int, list), default)
        if isinstance(value, int) and value > MOST:
            self.fault(key, f"{key} can be {MOST:,} at most: {value}")
            return default
        if isinstance(value, int):
            value = range(value) if key == "seeds" else [value]
        if not value:
            self.fault(key, f"{key} must be one or more: {self.values.get(key)}")
            return default
        if any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in value):
            self.fault(key, f"{key} must be whole numbers, none below nought: {list(value)}")
            return default
        return tuple(dict.fromkeys(value))

    def size(self, key: str, default: int) -> int:
        """Take a number that is not below nought."""
        value = self.take(key, int, default)
        if value < 0:
            self.fault(key, f"{key} can't be below nought: {value}")
        return int(value)

    def texts(self, key: str, default: tuple[str, ...]) -> tuple[str, ...]:
        """Take a text, or a list of them."""
        value = self.take(key, (str, list), default)
        found = [value] if isinstance(value, str) else value
        if not found or not all(isinstance(text, str) for text in found):
            self.fault(key, f"{key} must be a list of texts: {str(value)[:40]!r}")
            return default
        return tuple(found)

    def finish(self) -> None:
        """Note every key that was not taken."""
        for key in self.values:
            if key not in self.known:
                self.fault(key, f"unknown key {key!r}{self.name}; {nearest(str(key), self.known)}")


def _place(node: Any, key: str | int | None) -> tuple[int, int]:
    marks = getattr(node, "lc", None)
    if marks is None:
        return 1, 1
    try:
        line, column = (
            (marks.line, marks.col) if key is None else marks.item(key) if isinstance(key, int) else marks.key(key)
        )
    except (KeyError, TypeError, AttributeError):
        line, column = marks.line, marks.col
    return line + 1, column + 1
