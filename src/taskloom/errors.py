"""One small tree of exceptions: catch `TaskloomError` to catch them all.

What an error says is a `Note`: a code with values, put into words when it is shown. Decide by `error.note.code`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

from .messages import Note


class TaskloomError(Exception):
    """Anything taskloom refuses to do, with the reason and, where there is one, the remedy."""

    exit_code = 1  # what the command line ends with: 1 faults found, 2 bad usage

    def __init__(self, said: Note | str = "") -> None:
        super().__init__(said)

    @property
    def note(self) -> Note:
        """Give what is said; one that was given words alone has the code "error"."""
        (said,) = self.args or ("",)
        return said if isinstance(said, Note) else Note.of("error", text=said)


class UsageError(TaskloomError):
    """Something asked for in a way that can't be meant."""

    exit_code = 2


class UnknownNameError(UsageError):
    """A name that is not in the table it was looked up in."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        super().__init__(Note.of("name-unknown", what=what, name=name, hint=nearest(name, known)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Come back from another process with the note as it is."""
        return Exception.__new__, (type(self), *self.args)


class FaultsError(TaskloomError):
    """Something that has faults of its own; `faults` has every one that was found, each with its place."""

    def __init__(self, said: Note | str, faults: Sequence[str] = ()) -> None:
        super().__init__(said)
        self.faults = tuple(faults)

    def __str__(self) -> str:
        """Say what is wrong, and each fault on a line of its own."""
        return "\n".join([str(self.note), *(f"  {fault}" for fault in self.faults)])


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


def nearest(name: str, known: Iterable[str]) -> Note:
    """Note which known names come closest to a mistyped one.

    >>> str(nearest("titel", ["title", "abstract"]))
    'did you mean title?'
    >>> str(nearest("x", ["title", "abstract"]))
    'known: abstract, title'
    """
    names = sorted(set(known))
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    return Note.of("names-near", names=near) if near else Note.of("names-known", names=names)
