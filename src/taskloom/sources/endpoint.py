"""Facts behind a SPARQL endpoint: asked in pages, politely, again where it may help, and never twice for the same."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import httpx2 as httpx

from ..errors import SourceError, UsageError
from ..folders import write_whole
from ..http_client import HttpClient
from ..ids import fingerprint
from ..limits import parse_json
from ..messages import Note
from ..options import check_integers, settle_number
from ..retries import TryAgainError, is_passing, pause, told_to_wait
from ..texts import without_surrogates
from . import packages
from .facts import ORDERED, Cells, in_order

RESULTS = "application/sparql-results+json"
AGENT = "taskloom (https://pypi.org/project/taskloom)"
LARGEST = 64 << 20  # bytes of a page
MOST_ROWS, MOST_TEXT = 5_000_000, 1 << 30  # of all pages: rows, and characters
MOST_VARIABLES = 100  # of a query
FEWEST = 1_000  # rows: no endpoint cuts its replies shorter than that
DISTINCT = re.compile(r"^[^{}]*\bSELECT\s+DISTINCT\b", re.IGNORECASE)
LIMITED = re.compile(r"\b(LIMIT|OFFSET)\b[^{}]*$", re.IGNORECASE)


class _Clock:
    """Keeps requests apart, whichever threads send them."""

    def __init__(self) -> None:
        self.lock, self.last = threading.Lock(), float("-inf")

    def wait(self, interval: float) -> None:
        with self.lock:
            time.sleep(max(0.0, self.last + interval - time.monotonic()))
            self.last = time.monotonic()


@dataclass(frozen=True, slots=True, kw_only=True)
class SparqlEndpoint:
    """A graph at an address. What was answered is kept in the cache: another `revision` asks again."""

    url: str
    revision: str = ""
    page: int = 10_000  # rows of a request
    timeout: float = 60.0  # seconds
    tries: int = 5
    backoff: float = 1.0  # seconds before the second try; then twice as long each time
    interval: float = 1.0  # seconds from one request to the next, at least
    cache: Path | None = None  # "sparql" in the user's cache unless it is named
    clock: _Clock = field(default_factory=_Clock, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_integers(self, {"page": 1, "tries": 1})
        for name, least in (("timeout", 0.001), ("backoff", 0.0), ("interval", 0.0)):
            settle_number(self, name, least=least)
        try:
            parsed = httpx.URL(self.url)
        except httpx.InvalidURL:
            parsed = httpx.URL("")
        if parsed.scheme not in ("http", "https") or not parsed.host or parsed.userinfo:
            raise UsageError(Note.of("sparql-address-wrong", url=parsed.copy_with(userinfo=b"") if parsed.host else ""))

    @property
    def digest(self) -> str:
        """Name where it is, and which revision: what is behind an address can't be known."""
        return fingerprint("sparql", self.url, self.revision)

    def select(self, query: str) -> Iterator[Cells]:
        """Yield the rows of a query, a page after another, unless it has a limit of its own."""
        return in_order(query, self._rows(query))

    def _rows(self, query: str) -> Iterator[Cells]:
        if LIMITED.search(query):
            yield from self._asked(query)
            return
        whole = query if ORDERED.search(query) else f"{query}\nORDER BY {' '.join(_selected(query))}"
        offset = size = 0
        seen: set[Cells] = set()
        while rows := self._asked(page := f"{whole}\nLIMIT {self.page} OFFSET {offset}"):
            offset, size = offset + len(rows), size + sum(len(cell or "") for row in rows for cell in row)
            found = set(rows)
            if found <= seen and (len(found) > 1 or DISTINCT.search(query)):
                self._kept(page).unlink(missing_ok=True)  # it may be another one next time
                raise SourceError(Note.of("sparql-page-repeated", url=self.url))
            if offset > MOST_ROWS or size > MOST_TEXT:
                raise SourceError(Note.of("sparql-rows-many", rows=offset, url=self.url))
            seen |= found
            yield from rows
            if len(rows) < min(self.page, FEWEST):  # an endpoint may give less than what was asked for
                return

    def _kept(self, query: str) -> Path:
        return (self.cache or packages.cache_folder() / "sparql") / self.digest / f"{fingerprint(query)}.json"

    def _asked(self, query: str) -> list[Cells]:
        """Give the rows of one request: those that were kept, or else send it."""
        kept = self._kept(query)
        try:
            return _rows_in(kept.read_bytes())
        except (OSError, ValueError):
            rows = self._sent(query)
            write_whole(kept, json.dumps(rows, ensure_ascii=False))
        return [tuple(row) for row in rows]

    def _sent(self, query: str) -> list[list[str | None]]:
        """Try until there is an answer."""
        for attempt in count(1):
            self.clock.wait(self.interval)
            try:
                return self._post(query)
            except TryAgainError as error:
                if attempt >= self.tries:
                    raise SourceError(Note.of("no-reply", url=self.url, tries=attempt, reason=error.note)) from None
                time.sleep(pause(self.backoff, attempt, error.wait))
        raise AssertionError

    def _post(self, query: str) -> list[list[str | None]]:
        headers = {"Accept": RESULTS, "User-Agent": AGENT}
        try:
            with closing(HttpClient(self.timeout, headers)) as client:
                given, content = client.post(self.url, data={"query": query}, most=LARGEST)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise TryAgainError(Note.of("unreachable", reason=error)) from None
        except httpx.HTTPError as error:
            raise TryAgainError(Note.of("connection-broken", kind=type(error).__name__, reason=error)) from None
        said = content[:300].decode("utf-8", "replace").strip()
        if is_passing(given.status_code):
            told = Note.of("http-error", status=given.status_code, said=said)
            raise TryAgainError(told, status=given.status_code, wait=told_to_wait(given))
        if given.status_code != httpx.codes.OK:
            raise SourceError(Note.of("request-refused", url=self.url, status=given.status_code, said=said))
        return self._read(content, given.headers.get("content-type", ""), said)

    def _read(self, content: bytes, kind: str, said: str) -> list[list[str | None]]:
        """Read a table of results; a page of HTML is no answer, however often one asks."""
        if "json" not in kind:
            raise SourceError(Note.of("not-sparql-results", url=self.url, kind=kind or "none", said=said[:100]))
        try:
            found = parse_json(content)
            if len(names := found["head"]["vars"]) > MOST_VARIABLES:
                raise ValueError("more variables than any query has")
            return [[_value(row.get(name)) for name in names] for row in found["results"]["bindings"]]
        except (ValueError, KeyError, TypeError, AttributeError):
            raise TryAgainError(Note.of("sparql-results-broken", said=said[:100])) from None


def _rows_in(kept: bytes) -> list[Cells]:
    """Read rows that were kept, or refuse what is none."""
    found = parse_json(kept)
    if not isinstance(found, list) or not all(isinstance(row, list) for row in found):
        raise ValueError("no rows")
    if not all(cell is None or isinstance(cell, str) for row in found for cell in row):
        raise ValueError("no texts")
    return [tuple(cell and without_surrogates(cell) for cell in row) for row in found]


def _value(cell: Any) -> str | None:
    return None if cell is None else without_surrogates(str(cell["value"]))


def _selected(query: str) -> list[str]:
    """Give the variables that a query selects.

    >>> _selected("PREFIX a: <b> SELECT DISTINCT ?x (COUNT(?y) AS ?n) WHERE { ?x a:p ?y } GROUP BY ?x")
    ['?x', '?n']
    """
    found = re.search(r"\bSELECT\b(.*?)(\bWHERE\b|\bFROM\b|\{)", query, re.IGNORECASE | re.DOTALL)
    names = re.sub(
        r"\((?:[^()]|\([^()]*\))*\bAS\s+([?$]\w+)\s*\)", r" \1 ", found[1] if found else "", flags=re.IGNORECASE
    )
    if not (variables := re.findall(r"[?$]\w+", names)):
        raise UsageError(Note.of("variables-expected"))
    return variables
