"""One small tree of exceptions: catch `TaskloomError` to catch them all.

The message of an error is a `Note`: a code with values, rendered when it is shown. Decide by `error.note.code`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

from .messages import Note

SHOWN = 20  # faults of many, and then how many more there are
LONGEST = 200  # characters of a name that others are compared with: that takes as long as it is long


class TaskloomError(Exception):
    """Anything taskloom refuses to do, with the reason and, where there is one, the remedy."""

    exit_code = 1  # what the command line ends with: 1 faults found, 2 bad usage

    def __init__(self, message: Note | str = "") -> None:
        super().__init__(message)

    @property
    def note(self) -> Note:
        """Give the message as a note; a plain text has the code "error"."""
        (message,) = self.args or ("",)
        return message if isinstance(message, Note) else Note.of("error", text=message)


class UsageError(TaskloomError):
    """A command, argument or option that is not valid."""

    exit_code = 2


class UnknownNameError(UsageError):
    """A name that is not in the table it was looked up in."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        super().__init__(Note.of("name-unknown", what=what, name=name, hint=nearest(name, known)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep the note when the error is sent to another process."""
        return Exception.__new__, (type(self), *self.args)


class FaultsError(TaskloomError):
    """Something with several faults; `faults` has them all, each with its place."""

    def __init__(self, message: Note | str, faults: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.faults = tuple(faults)

    def __str__(self) -> str:
        """Write the message, and each fault on its own line: the first of many, and how many more there are."""
        shown, more = self.faults[:SHOWN], len(self.faults) - SHOWN
        count = [f"  {Note.of('faults-more', count=more)}"] if more > 0 else []
        return "\n".join([str(self.note), *(f"  {fault}" for fault in shown), *count])


class SourceError(FaultsError):
    """Outside data that can't be read."""


class FetchError(TaskloomError):
    """A file of the data catalogue that can't be fetched, or differs from its declaration."""


class SuiteError(TaskloomError):
    """A suite, task or answer that breaks its own declaration."""


class LeakError(FaultsError):
    """A fold whose tasks to learn from give test tasks away."""


class StoreError(TaskloomError):
    """A folder, of a suite or of the cache, that can't be read, written or removed."""


class ScoreError(TaskloomError):
    """Answers, gold answers or a metric that do not fit each other."""


class StatsError(TaskloomError):
    """Numbers for which a statistic is undefined."""


class LearnerError(TaskloomError):
    """A learner that can't be used."""


class ModelError(TaskloomError):
    """A model that can't be fetched, loaded or used."""


class ModelUnavailableError(ModelError):
    """A model that is unavailable for now: cells that need it wait for the next run."""


class StudyError(FaultsError):
    """A study that can't be run."""


class ChallengeError(FaultsError):
    """A challenge that was edited or can't be read, or predictions that do not answer it."""


class StalePlanError(TaskloomError):
    """Planned work that changed after its plan was made."""


class LedgerError(TaskloomError):
    """A ledger that can't be read or written."""


class ClusterError(FaultsError):
    """A cluster that can't be reached or can't run a study."""


class EpisodeError(TaskloomError):
    """An episode that can't be drawn from the examples of its task."""


def nearest(name: str, known: Iterable[str]) -> Note:
    """Note the known names that are nearest to a mistyped one, or all of them.

    >>> str(nearest("titel", ["title", "abstract"]))
    'did you mean title?'
    >>> str(nearest("x", ["title", "abstract"]))
    'known: abstract, title'
    """
    names = sorted(set(map(str, known)))
    near = difflib.get_close_matches(str(name)[:LONGEST], names, n=3, cutoff=0.6)
    return Note.of("names-near", names=near) if near else Note.of("names-known", names=names)
