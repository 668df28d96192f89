"""What endpoints answered, kept beside a run's ledger before anything is made of it: no answered request is sent again.

What requests may cost is set aside before they are sent, so that a budget holds whatever happens, and is corrected by
what they did cost. What was under way in a run that was killed stays set aside: it may have been paid for.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ModelError, ModelUnavailableError
from ..limits import parse_json
from ..messages import Note
from ..transactions import transaction, write_ahead

NAME = "replies.db"
SCHEMA = """
CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, model TEXT NOT NULL, status INTEGER NOT NULL,
    body TEXT NOT NULL, tokens INTEGER NOT NULL, dollars REAL NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS spent (model TEXT PRIMARY KEY, tokens INTEGER NOT NULL, dollars REAL NOT NULL) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Price:
    """What something costs, or may cost at most."""

    tokens: int
    dollars: float


class Replies:
    """The replies of a run; threads and processes may share it."""

    def __init__(self, path: Path) -> None:
        self.path, self.lock = path, threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        self.db = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
        try:
            write_ahead(self.db)
            self.db.execute("PRAGMA synchronous = FULL")
            with transaction(self.db):
                for statement in SCHEMA.split(";"):
                    self.db.execute(statement)
        except sqlite3.Error as error:
            self.db.close()
            raise ModelError(Note.of("replies-not-kept", reason=error, path=path)) from None

    def find(self, key: str) -> tuple[int, Any] | None:
        """Give the status and the body of a reply, if there was one."""
        with self.lock, self._reading():
            return self._find(key)

    def set_aside(self, model: str, most: Price, budget: Price) -> None:
        """Set aside what a request may cost, or refuse; a budget of 0 is none."""
        with self._writing():
            spent = self._spent(model)
            if budget.dollars and spent.dollars + most.dollars > budget.dollars:
                raise ModelUnavailableError(
                    Note.of("budget-spent", budget=budget.dollars, spent=spent.dollars, most=most.dollars)
                )
            if budget.tokens and spent.tokens + most.tokens > budget.tokens:
                raise ModelUnavailableError(
                    Note.of("token-budget-spent", budget=budget.tokens, spent=spent.tokens, most=most.tokens)
                )
            self._add(model, most.tokens, most.dollars)

    def give_back(self, model: str, most: Price) -> None:
        """Give back what was set aside for a request that was surely not paid for."""
        with self._writing():
            self._add(model, -most.tokens, -most.dollars)

    def keep(self, key: str, model: str, reply: tuple[int, Any], cost: Price, most: Price) -> tuple[int, Any]:
        """Keep a reply, and what it did cost instead of what was set aside; give the one that was kept first."""
        status, body = reply
        row = (key, model, status, json.dumps(body, ensure_ascii=True), cost.tokens, cost.dollars, time.time())
        with self._writing():
            self.db.execute("INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            self._add(model, cost.tokens - most.tokens, cost.dollars - most.dollars)
            return self._find(key) or reply

    def spent(self, model: str) -> Price:
        """Say what a model has cost so far, with what is set aside."""
        with self.lock, self._reading():
            return self._spent(model)

    def close(self) -> None:
        """Let go of the file."""
        with self.lock:
            self.db.close()

    def _find(self, key: str) -> tuple[int, Any] | None:
        row = self.db.execute("SELECT status, body FROM replies WHERE key = ?", (key,)).fetchone()
        return (int(row[0]), parse_json(row[1])) if row else None

    def _spent(self, model: str) -> Price:
        row = self.db.execute("SELECT tokens, dollars FROM spent WHERE model = ?", (model,)).fetchone()
        return Price(int(row[0]), float(row[1])) if row else Price(0, 0.0)

    def _add(self, model: str, tokens: int, dollars: float) -> None:
        self.db.execute(
            "INSERT INTO spent VALUES (?1, ?2, ?3) ON CONFLICT (model) "
            "DO UPDATE SET tokens = tokens + ?2, dollars = dollars + ?3",
            (model, tokens, dollars),
        )

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Refuse a file that is damaged."""
        try:
            yield
        except (sqlite3.Error, ValueError, TypeError, OverflowError) as error:
            raise ModelError(Note.of("replies-not-kept", reason=error, path=self.path)) from error

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            with self.lock, transaction(self.db):
                yield
        except (ValueError, TypeError, OverflowError) as error:  # rows that hold something else
            raise ModelError(Note.of("replies-not-kept", reason=error, path=self.path)) from error
        except sqlite3.Error as error:
            raise ModelUnavailableError(Note.of("replies-not-kept", reason=error, path=self.path)) from error
