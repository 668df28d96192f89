"""One small tree of exceptions: catch `TaskloomError` to catch them all."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

from .messages import Note


class TaskloomError(Exception):
    """Anything taskloom refuses to do, with the reason and, where there is one, the remedy."""

    exit_code = 1  # what the command line ends with: 1 faults found, 2 bad usage

    @property
    def note(self) -> Note:
        """Give what happened as a code with values."""
        return self.args[0] if self.args and isinstance(self.args[0], Note) else Note.of("error", text=str(self))


class UsageError(TaskloomError):
    """Something asked for in a way that can't be meant."""

    exit_code = 2


class UnknownNameError(UsageError):
    """A name that is not in the table it was looked up in."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        super().__init__(f"unknown {what}: {name!r}; {nearest(name, known)}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Come back from another process with the message as it is."""
        return Exception.__new__, (type(self), *self.args)


class FaultsError(TaskloomError):
    """Something that has faults of its own; `faults` has every one that was found, each with its place."""

    def __init__(self, message: str, faults: Sequence[str] = ()) -> None:
        super().__init__("\n".join([message, *(f"  {fault}" for fault in faults)]))
        self.faults = tuple(faults)


class SourceError(FaultsError):
    """Outside data that can't be read."""


class FetchError(TaskloomError):
    """A file of the data catalogue that can't be had, or is not what was declared."""


class SuiteError(TaskloomError):
    """A suite, task or answer that breaks its own declaration."""


class StoreError(TaskloomError):
    """A suite folder that can't be read or written."""


class ScoreError(TaskloomError):
    """Answers, gold or a metric that can't be scored together."""


class StatsError(TaskloomError):
    """Numbers that no statistic can be made of."""


class LearnerError(TaskloomError):
    """A learner that can't be used as it is."""


class ModelError(TaskloomError):
    """A model that can't be had, loaded or asked as it is."""


class ModelUnavailableError(ModelError):
    """A model that will answer nothing more for now: all that needs it can only wait."""


class StudyError(FaultsError):
    """A study that can't be run as it is written."""


class StalePlanError(TaskloomError):
    """Work that was planned, and is no longer what it was when its plan was made."""


class LedgerError(TaskloomError):
    """A ledger that can't be read or written."""


class EpisodeError(TaskloomError):
    """An episode that can't be drawn from the examples at hand."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Say which known names come closest to a mistyped one.

    >>> nearest("titel", ["title", "abstract"])
    'did you mean title?'
    >>> nearest("x", ["title", "abstract"])
    'known: abstract, title'
    """
    names = sorted(known)
    if close := difflib.get_close_matches(name, names, n=3, cutoff=0.6):
        return f"did you mean {' or '.join(close)}?"
    shown = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    return f"known: {shown}" if names else "none are known"
