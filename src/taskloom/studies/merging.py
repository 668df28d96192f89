"""Ledgers merged and repaired: only what is sound is taken over, and what is damaged is done again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import LedgerError
from .costs import Cost
from .finished import body_of, cost_of, key_of, points_of, score_of, unpacked
from .ledger import UNREADABLE, Ledger
from .ledger_schema import CHECKED, KEPT, sound


@dataclass(frozen=True, slots=True)
class Merged:
    """What came of taking over another ledger, in cells."""

    new: int
    differ: int = 0  # with other answers there; ours are kept
    damaged: int = 0  # there, and not copied


def merge(ledger: Ledger, other: Path) -> Merged:
    """Copy what another ledger has finished; where both have a cell, ours is kept, with its scores."""
    if not other.is_file() or other.samefile(ledger.path):
        raise LedgerError(f"a ledger can't be merged with itself, or is missing: {other}")
    with Ledger(other) as theirs:
        discard_damaged(ledger, [cell for (cell,) in ledger.db.execute("SELECT cell FROM results")])
        with ledger.writing():
            return _taken_over(ledger, theirs)


def _taken_over(ledger: Ledger, theirs: Ledger) -> Merged:
    """Copy row by row: another ledger may be one that can only be read, and an error is of one of the two."""
    cells = _compared(ledger, theirs)
    taken = cells["new"] | cells["same"]  # whose results can be read
    for table in KEPT:
        rows = (row for row in theirs.rows(table) if row[0] in taken)
        ledger.take(table, (row for row in rows if table == "results" or is_readable(table, row)))
    ledger.mark_done(taken | cells["differ"])
    return Merged(*(len(cells[state]) for state in ("new", "differ", "damaged")))


def _compared(ledger: Ledger, theirs: Ledger) -> dict[str, set[str]]:
    """Tell which finished cells of another ledger are new, the same as ours, different, or damaged there."""
    found: dict[str, set[str]] = {"new": set(), "same": set(), "differ": set(), "damaged": set()}
    for cell, body, fits in theirs.db.execute(f"SELECT t.cell, t.body, {sound('results')} FROM results t"):  # noqa: S608 (ours)
        row = ledger.db.execute("SELECT body FROM results WHERE cell = ?", (cell,)).fetchone()
        is_sound = fits and is_readable("results", (cell, body))
        state = "damaged" if not is_sound else "new" if not row else "same" if row[0] == body else "differ"
        found[state].add(cell)
    return found


def is_readable(table: str, row: Sequence[Any]) -> bool:
    """Tell whether readers take a row of another ledger: anyone can compute a checksum that fits."""
    try:
        return READERS[table](*row) is not None
    except UNREADABLE:
        return False


def _read_costs(_: str, kind: str, learner: str, task: str, shots: int | str, ended: float, *cost: Any) -> Cost:
    names = all(isinstance(text, str) for text in (kind, learner, task)) and isinstance(shots, int | str)
    if not (names and isinstance(ended, int | float)):
        raise TypeError("names are texts, and times are numbers")
    return cost_of(cost)


READERS: Mapping[str, Callable[..., object]] = {  # of the columns of a table, the checksum left out or ignored
    "results": lambda _, body, *__: body_of(body),
    "keys": lambda _, key, *__: key_of(key),
    "outputs": lambda _, body, *__: unpacked(body),
    "scores": lambda _, signature, width, units, unusable, *__: (str(signature), score_of(width, units, unusable)),
    "costs": _read_costs,
    "traces": lambda _, name, points: (str(name), points_of(points)),
}


def discard_damaged(ledger: Ledger, cells: Iterable[str]) -> tuple[str, ...]:
    """Drop what some cells gave where it is damaged, so that they are run again, and name them.

    Where the index is damaged alone, it is rebuilt from the rows, and nothing is lost.
    """
    asked = list(cells)
    if not _damaged(ledger, asked):
        return ()
    with ledger.writing():
        ledger.db.execute("REINDEX")
        found = _damaged(ledger, asked)
        for cell in found:
            ledger.forget(cell)
    return found


def _damaged(ledger: Ledger, cells: list[str]) -> tuple[str, ...]:
    """Find cells whose result, key or outputs are not what was kept; scores can be made again of these."""
    found: dict[str, None] = {}
    for table in CHECKED:
        if table != "scores":
            ours = f"FROM json_each(?) c CROSS JOIN {table} t ON t.cell = c.value"
            ask = f"SELECT c.value {ours} WHERE NOT {sound(table, 'c.value')}"
            found |= {cell: None for (cell,) in ledger.db.execute(ask, (json.dumps(cells),))}
    return tuple(found)
