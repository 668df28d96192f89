"""YAML with its lines and columns, and the faults of a study: all at once, each with its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..errors import StudyError, TaskloomError
from ..messages import Note
from ..schema import FindPlace

Places: TypeAlias = Mapping[tuple[str, str], str]  # of what is written: its kind and name -> file, line and column


@dataclass(slots=True)
class StudyFaults:
    """The faults of a study, each with its place where that is known."""

    places: Places = field(default_factory=dict)
    found: list[tuple[str, str]] = field(default_factory=list)  # places and texts

    def add(self, place: str, what: str) -> None:
        """Note a fault."""
        self.found.append((place, what))

    @contextmanager
    def of(self, kind: str, name: str = "") -> Iterator[None]:
        """Note an error that is raised within, as a fault of something that is written in the study."""
        try:
            yield
        except TaskloomError as error:
            self.add(self.places.get((kind, name), ""), f"{kind} {name!r}: {error}" if name else str(error))

    @contextmanager
    def at(self, written: tuple[str, str]) -> Iterator[None]:
        """Note an error that is raised within, at the place where something is written."""
        try:
            yield
        except TaskloomError as error:
            self.add(self.places.get(written, ""), str(error))

    def settle(self) -> None:
        """Refuse the study if it has faults; they are listed by line and column."""
        if self.found:
            ordered = sorted(dict.fromkeys(self.found), key=lambda fault: _line_and_column(fault[0]))
            raise StudyError(
                Note.of("study-faults", count=len(ordered)),
                [f"{place}: {what}" if place else what for place, what in ordered],
            )


def _line_and_column(place: str) -> tuple[int, ...]:
    """Give what faults are ordered by; those without a line come last."""
    *_, line, column = ["", "", *place.split(":")]
    return (0, int(line), int(column)) if line.isdecimal() and column.isdecimal() else (1,)


def read_yaml(text: str, file: str) -> Any:
    """Read YAML whose mappings and lists know their lines and columns."""
    from ..yaml_files import YamlError, load_yaml

    try:
        return load_yaml(text)
    except YamlError as error:
        place = f"{file}:{error.line}:{error.column}" if error.line else file
        raise StudyError(f"{place}: {error}") from None


def places_in(file: str) -> FindPlace:
    """Give the function that finds lines and columns in a file."""

    def find(values: Any, key: str | int, *, of_key: bool = False) -> str:
        marks = getattr(values, "lc", None)
        if marks is None:
            return ""
        try:
            line, column = _mark(marks, values, key, of_key=of_key)
        except (KeyError, TypeError, AttributeError):
            line, column = marks.line, marks.col
        return f"{file}:{line + 1}:{column + 1}"

    return find


def _mark(marks: Any, values: Any, key: str | int, *, of_key: bool) -> tuple[int, int]:
    """Give line and column, from 0; a key without a value stands for it, which YAML places on the line after."""
    if isinstance(values, list):
        found: tuple[int, int] = marks.item(key)
    else:
        found = marks.key(key) if of_key or values.get(key) is None else marks.value(key)
    return found
