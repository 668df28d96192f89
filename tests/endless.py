"""Forge databases that have no end: six levels of pages, each of which names one page many times."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

LEVELS = 6


def make_endless(path: Path, table: str) -> None:
    """Make the rows of a table without rowids, or of an index, which are on one page, far too many to be read."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    content = path.read_bytes()
    size = int.from_bytes(content[16:18], "big")
    pages = [content[at : at + size] for at in range(0, len(content), size)]
    leaf = pages[root - 1]
    begin = int.from_bytes(leaf[8:10], "big")
    row = leaf[begin : begin + 1 + leaf[begin]]
    pages.append(leaf)
    for _ in range(LEVELS - 1):
        pages.append(_naming(len(pages), row, size))
    pages[root - 1] = _naming(len(pages), row, size)
    whole = bytearray(b"".join(pages))
    whole[28:32] = len(pages).to_bytes(4, "big")
    path.write_bytes(whole)


def _naming(page: int, row: bytes, size: int) -> bytes:
    """Write a page whose children are all the same page."""
    cell = page.to_bytes(4, "big") + row
    places = [size - len(cell) * (n + 1) for n in range(size // (len(cell) + 2) - 1)]
    head = bytes([2, 0, 0]) + len(places).to_bytes(2, "big") + places[-1].to_bytes(2, "big") + b"\0"
    head += page.to_bytes(4, "big") + b"".join(at.to_bytes(2, "big") for at in places)
    return head.ljust(places[-1], b"\0") + cell * len(places)
