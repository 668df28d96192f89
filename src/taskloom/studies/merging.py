"""Ledgers merged and repaired: only what is sound is taken over, and what is damaged is done again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..errors import LedgerError
from ..messages import Note
from .ledger import Ledger
from .ledger_schema import CHECKED, sound

_SOUND = sound("results")


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
    with Ledger(other) as theirs:  # refuses what is none
        theirs.refuse_damaged()  # or what it lacks would be blamed on ours
    discard_damaged(ledger, [cell for (cell,) in ledger.db.execute("SELECT cell FROM results")])
    ledger.db.execute("ATTACH DATABASE ? AS other", (str(other),))
    try:
        _refuse_other_tables(ledger, other)
        with ledger.writing():
            return _taken_over(ledger)
    finally:
        ledger.db.execute("DETACH DATABASE other")


def _refuse_other_tables(ledger: Ledger, other: Path) -> None:
    """Refuse a ledger with columns that ours does not have: their names would be taken for SQL."""
    for table in (*CHECKED, "costs"):
        theirs, ours = (
            {row[1] for row in ledger.db.execute(f"PRAGMA {of}.table_info({table})")} for of in ("other", "main")
        )
        if not theirs <= ours:
            raise LedgerError(Note.of("not-a-ledger", path=other))


def _taken_over(ledger: Ledger) -> Merged:
    both = "JOIN other.results o USING (cell) JOIN main.results r USING (cell)"
    (differ,) = ledger.db.execute(
        f"SELECT count(*) FROM main.results r JOIN other.results t USING (cell) WHERE r.body != t.body AND {_SOUND}"  # noqa: S608 (ours)
    ).fetchone()
    (damaged,) = ledger.db.execute(f"SELECT count(*) FROM other.results t WHERE NOT {_SOUND}").fetchone()  # noqa: S608
    take = f"INSERT OR IGNORE INTO results SELECT * FROM other.results t WHERE {_SOUND}"  # noqa: S608 (ours)
    new = ledger.db.execute(take).rowcount
    for table in ("keys", "outputs", "scores", "costs"):
        names = [row[1] for row in ledger.db.execute(f"PRAGMA other.table_info({table})")]  # an older one has fewer
        columns, asked = ", ".join(names), ", ".join(f"t.{name}" for name in names)
        same = f"SELECT {asked} FROM other.{table} t {both} WHERE r.body = o.body"  # noqa: S608 (ours)
        ledger.db.execute(f"INSERT OR IGNORE INTO {table} ({columns}) {same}")
    ledger.db.execute(
        "INSERT INTO cells (id, state, owner, beat) "
        "SELECT r.cell, 'done', '', 0 FROM main.results r JOIN other.results o USING (cell) WHERE true "
        "ON CONFLICT (id) DO UPDATE SET state = 'done', owner = '', beat = 0, why = '', trace = ''"
    )
    return Merged(new, differ, damaged)


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
