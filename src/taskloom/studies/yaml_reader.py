"""YAML with its lines and columns, and what was found to be wrong with a study: all faults at once, each by place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..errors import StudyError, TaskloomError

Places: TypeAlias = Mapping[tuple[str, str], str]  # of what is written: its kind and name -> file, line and column


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


def read_yaml(text: str, file: str) -> Any:
    """Read YAML whose mappings and lists know their lines and columns."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        return YAML(typ="rt", pure=True).load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{file}:{mark.line + 1}:{mark.column + 1}" if mark else file
        raise StudyError(f"{place}: not YAML ({error.problem})") from None
    except YAMLError as error:  # a character that no file may hold
        raise StudyError(f"{file}: not YAML ({str(error).splitlines()[0]})") from None


def places_in(file: str) -> Callable[[Any, str | int | None], str]:
    """Give the function that finds the line and column of a key, or of an item of a list; "" where none is known."""

    def find(values: Any, key: str | int | None) -> str:
        marks = getattr(values, "lc", None)
        if marks is None or key is None:
            return ""
        try:
            line, column = marks.item(key) if isinstance(key, int) and isinstance(values, list) else marks.key(key)
        except (KeyError, TypeError, AttributeError):
            line, column = marks.line, marks.col
        return f"{file}:{line + 1}:{column + 1}"

    return find
