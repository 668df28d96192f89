"""Checks of options, shared by all that is declared by a frozen dataclass: learners, models, ways to train."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .errors import UnknownNameError, UsageError
from .messages import Note


def check_choices(of: object, **known: Iterable[str]) -> None:
    """Refuse a value that is not one of those that an option can have, and name the nearest."""
    for name, values in known.items():
        if (value := getattr(of, name)) not in (choices := tuple(values)):
            raise UnknownNameError(f"value of `{name}`", str(value), choices)


def check_integers(of: object, least: Mapping[str, int]) -> None:
    """Refuse options that are not integers, or less than they may be."""
    for name, lowest in least.items():
        if isinstance(value := getattr(of, name), bool) or not isinstance(value, int) or value < lowest:
            raise UsageError(Note.of("whole-number-expected", name=name, least=lowest, given=repr(value)))


def check_most(of: object, most: Mapping[str, int]) -> None:
    """Refuse options that are larger than they may be: what they count is made in memory."""
    for name, highest in most.items():
        if (value := getattr(of, name)) > highest:
            raise UsageError(Note.of("option-too-large", name=name, most=highest, given=value))


def check_booleans(of: object, *names: str) -> None:
    """Refuse options that are not true or false: YAML's no is a text, and a text is true."""
    for name in names:
        if not isinstance(value := getattr(of, name), bool):
            raise UsageError(Note.of("true-or-false-expected", name=name, given=repr(value)))


def settle_number(of: object, name: str, *, least: float, most: float = 1e6) -> None:
    """Make an option a float, so that 2 and 2.0 are the same setting, or refuse it."""
    value = getattr(of, name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise UsageError(Note.of("number-expected", name=name, least=least, most=most, given=repr(value)))
    object.__setattr__(of, name, float(value))
