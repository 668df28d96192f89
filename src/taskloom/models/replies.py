"""What endpoints answered, kept beside a run's ledger before anything is made of it: no answered request is sent again.

What requests may cost is set aside before they are sent, so that a budget holds whatever happens, and is corrected by
what they did cost. What was under way in a run that was killed stays set aside: it may have been paid for. A request
that is under way is not sent by another process too, and one that a budget has no room for waits until those under way
have said what they did cost.
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

from ..databases import has_tables, reason, tables_of, transaction, write_ahead
from ..errors import ModelError, ModelUnavailableError
from ..folders import make_private
from ..limits import parse_json
from ..messages import Note
from ..processes import is_gone, new_owner

NAME = "replies.db"
CENT = 1e-9  # of a dollar: what adding and taking back many prices may be off
TABLES = (
    "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, model TEXT NOT NULL, status INTEGER NOT NULL, "
    "body TEXT NOT NULL, tokens INTEGER NOT NULL, dollars REAL NOT NULL, at REAL NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS spent (model TEXT PRIMARY KEY, tokens INTEGER NOT NULL, dollars REAL NOT NULL) "
    "WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS under_way (key TEXT PRIMARY KEY, model TEXT NOT NULL, tokens INTEGER NOT NULL, "
    "dollars REAL NOT NULL, owner TEXT NOT NULL, until REAL NOT NULL) WITHOUT ROWID",
)


@dataclass(frozen=True, slots=True)
class Price:
    """What something costs, or may cost at most."""

    tokens: int
    dollars: float


class Replies:
    """The replies of a run; threads and processes may share it."""

    def __init__(self, path: Path) -> None:
        self.path, self.lock, self.owner = path, threading.Lock(), new_owner()
        make_private(path)
        self.db = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
        try:
            write_ahead(self.db)
            self.db.execute("PRAGMA synchronous = FULL")
            with transaction(self.db):
                for statement in TABLES:
                    self.db.execute(statement)
            if not has_tables(self.db, tables_of(*TABLES)):
                raise sqlite3.DatabaseError("it has other tables than taskloom makes")
        except (sqlite3.Error, UnicodeDecodeError) as error:  # the text of an error quotes what is damaged
            self.db.close()
            raise ModelError(Note.of("replies-not-kept", reason=reason(error, path), path=path)) from None

    def find(self, key: str) -> tuple[int, Any] | None:
        """Give the status and the body of a reply, if there was one."""
        with self.lock, self._reading():
            return self._find(key)

    def set_aside(self, key: str, model: str, most: Price, budget: Price, *, seconds: float = 600.0) -> bool:
        """Set aside what a request may cost for as long as it may take, or refuse; a budget of 0 is none.

        Tell whether it may be sent: not while another asks the same, has its reply, or may leave more of the budget.
        """
        with self._writing():
            if self._find(key):
                return False
            self._drop_ended()
            if self._asked_by_another(key) or not self._fits(model, most, budget):
                return False
            row = (key, model, most.tokens, most.dollars, self.owner, time.time() + seconds)
            self.db.execute("INSERT INTO under_way VALUES (?, ?, ?, ?, ?, ?)", row)
            self._add(model, most.tokens, most.dollars)
            return True

    def _asked_by_another(self, key: str) -> bool:
        return self.db.execute("SELECT 1 FROM under_way WHERE key = ?", (key,)).fetchone() is not None

    def _fits(self, model: str, most: Price, budget: Price) -> bool:
        """Tell whether a budget has room for a request; refuse where it has none even if all others cost nothing."""
        spent = self._spent(model)
        ask = "SELECT coalesce(sum(tokens), 0), coalesce(sum(dollars), 0.0) FROM under_way WHERE model = ?"
        aside = Price(*self.db.execute(ask, (model,)).fetchone())
        sure = Price(spent.tokens - aside.tokens, spent.dollars - aside.dollars)
        if budget.dollars and sure.dollars + most.dollars > budget.dollars + CENT:
            told = {"budget": budget.dollars, "spent": sure.dollars, "most": most.dollars}
            raise ModelUnavailableError(Note.of("budget-spent", **told))
        if budget.tokens and sure.tokens + most.tokens > budget.tokens:
            told = {"budget": budget.tokens, "spent": sure.tokens, "most": most.tokens}
            raise ModelUnavailableError(Note.of("token-budget-spent", **told))
        return not (
            (budget.dollars and spent.dollars + most.dollars > budget.dollars + CENT)
            or (budget.tokens and spent.tokens + most.tokens > budget.tokens)
        )

    def _drop_ended(self) -> None:
        """Wait no more for requests of processes that are gone; what they had set aside stays spent."""
        self.db.execute("DELETE FROM under_way WHERE until < ?", (time.time(),))
        for (owner,) in self.db.execute(
            "SELECT DISTINCT owner FROM under_way WHERE owner != ?", (self.owner,)
        ).fetchall():
            if is_gone(owner):
                self.db.execute("DELETE FROM under_way WHERE owner = ?", (owner,))

    def write_off(self, key: str) -> None:
        """Note that a request has ended without a reply, and may have been paid for."""
        with self._writing():
            self._end(key)

    def give_back(self, key: str, model: str, most: Price) -> None:
        """Give back what was set aside for a request that was surely not paid for."""
        with self._writing():
            self._end(key)
            self._add(model, -most.tokens, -most.dollars)

    def keep(self, key: str, model: str, reply: tuple[int, Any], cost: Price, most: Price) -> tuple[int, Any]:
        """Keep a reply, and what it did cost instead of what was set aside; give the one that was kept first."""
        status, body = reply
        row = (key, model, status, json.dumps(body, ensure_ascii=True), cost.tokens, cost.dollars, time.time())
        with self._writing():
            self.db.execute("INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            self._end(key)
            self._add(model, cost.tokens - most.tokens, cost.dollars - most.dollars)
            return self._find(key) or reply

    def _end(self, key: str) -> None:
        self.db.execute("DELETE FROM under_way WHERE key = ? AND owner = ?", (key, self.owner))

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
        return (int(row[0]), parse_json(row[1], parse_int=int)) if row else None

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
            why = reason(error, self.path)
            raise ModelUnavailableError(Note.of("replies-not-kept", reason=why, path=self.path)) from error
