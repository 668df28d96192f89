"""Requests over HTTP that may go better next time: which, after how long, and how large a reply may be."""

from __future__ import annotations

import random
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from .messages import Note

if TYPE_CHECKING:
    import httpx2 as httpx

AGAIN = frozenset({408, 409, 425, 429})  # and all from 500: worth another try
SERVER_ERROR = 500
WAIT = 60.0  # seconds between two tries, at most
LARGEST = 16 << 20  # bytes of a reply


class TryAgainError(Exception):
    """Something that may go better next time."""

    def __init__(self, note: Note, *, status: int = 0, wait: float = 0.0, paid: bool = True) -> None:
        super().__init__(note)
        self.note, self.status, self.wait, self.paid = note, status, wait, paid


def is_passing(status: int) -> bool:
    """Tell a status of HTTP that may be another one next time.

    >>> is_passing(429), is_passing(503), is_passing(404)
    (True, True, False)
    """
    return status in AGAIN or status >= SERVER_ERROR


def limited(given: httpx.Response, most: int = LARGEST) -> bytes:
    """Read a reply that is not too large."""
    parts, size = [], 0
    for part in given.iter_bytes():
        parts.append(part)
        size += len(part)
        if size > most:
            raise TryAgainError(Note.of("reply-too-large", most=most))
    return b"".join(parts)


def told_to_wait(given: httpx.Response) -> float:
    """Read how long to wait, where the endpoint says so: in seconds, or until a date by its own clock."""
    told = given.headers.get("retry-after", "")
    if re.fullmatch(r"\d+(\.\d+)?", told):
        return min(float(told), WAIT)
    until, now = _date(told), _date(given.headers.get("date", "")) or datetime.now(UTC)
    return min(max(0.0, (until - now).total_seconds()), WAIT) if until else 0.0


def _date(text: str) -> datetime | None:
    """Read a date of HTTP; whatever is none says nothing."""
    try:
        found = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def pause(backoff: float, attempt: int, wait: float) -> float:
    """Wait twice as long each time, not all at the same moment, and no less than the endpoint says."""
    longest = backoff * 2.0 ** min(attempt - 1, 30)
    return min(WAIT, max(wait, longest * random.uniform(0.5, 1)))  # noqa: S311
