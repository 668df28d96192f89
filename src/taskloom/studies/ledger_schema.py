"""The tables of a ledger, and what their rows are checked by."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

from ..databases import has_tables, tables_of, transaction
from ..errors import LedgerError
from ..messages import Note
from .costs import Cost

FORMAT = 6
ADDED = ("encoded", "encoding")  # columns of costs that format 5 did not have
APPLICATION = 0x7461736B  # "task", in the file's header
CHECKED: Mapping[str, tuple[str, ...]] = {  # tables with a checksum -> what it is of, beside the cell
    "keys": ("key",),
    "results": ("body",),
    "outputs": ("body",),
    "scores": ("signature", "width", "units", "unusable"),
}
COSTS = ", ".join(f.name for f in fields(Cost))
KEPT: Mapping[str, tuple[str, ...]] = {  # tables of what a finished cell gave -> their columns
    **{table: ("cell", *names, "digest") for table, names in CHECKED.items()},
    "costs": ("cell", "kind", "learner", "task", "shots", "ended", *(f.name for f in fields(Cost))),
    "traces": ("cell", "name", "points"),
}
TABLES = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE cells (
    id TEXT PRIMARY KEY, state TEXT NOT NULL, owner TEXT NOT NULL, beat REAL NOT NULL,
    why TEXT NOT NULL DEFAULT '', trace TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE TABLE keys (cell TEXT PRIMARY KEY, key TEXT NOT NULL, digest BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE results (cell TEXT PRIMARY KEY, body BLOB NOT NULL, digest BLOB NOT NULL);
CREATE TABLE outputs (cell TEXT PRIMARY KEY, body BLOB NOT NULL, digest BLOB NOT NULL);
CREATE TABLE scores (
    cell TEXT NOT NULL, signature TEXT NOT NULL, width INTEGER NOT NULL, units BLOB NOT NULL, unusable TEXT NOT NULL,
    digest BLOB NOT NULL, PRIMARY KEY (cell, signature)
);
CREATE TABLE costs (
    cell TEXT PRIMARY KEY, kind TEXT NOT NULL, learner TEXT NOT NULL, task TEXT NOT NULL, shots NOT NULL,
    ended REAL NOT NULL,
    {costs});
CREATE TABLE traces (cell TEXT NOT NULL, name TEXT NOT NULL, points TEXT NOT NULL, PRIMARY KEY (cell, name));
CREATE TABLE plans (trial INTEGER PRIMARY KEY, digest TEXT NOT NULL, about TEXT NOT NULL);
CREATE TABLE planned (
    trial INTEGER NOT NULL, place INTEGER NOT NULL, cell TEXT NOT NULL, kind TEXT NOT NULL, task TEXT NOT NULL,
    learner TEXT NOT NULL, shots NOT NULL, seed INTEGER NOT NULL, episode INTEGER NOT NULL, training INTEGER NOT NULL,
    fold TEXT NOT NULL, PRIMARY KEY (trial, place)
) WITHOUT ROWID;
CREATE INDEX by_state ON cells (state, owner);
CREATE INDEX by_cell ON planned (cell)
"""
COLUMNS = {f.name: f"{f.name} {'REAL' if f.type == 'float' else 'INTEGER'} NOT NULL" for f in fields(Cost)}
SCHEMA = TABLES.replace("{costs}", ", ".join(f"{column} DEFAULT 0" for column in COLUMNS.values())).split(";")
OLDER = TABLES.replace("{costs}", ", ".join(column for name, column in COLUMNS.items() if name not in ADDED)).split(";")
UPGRADE = [f"ALTER TABLE costs ADD COLUMN {name} NOT NULL DEFAULT 0" for name in ADDED]


def sound(table: str, cell: str = "t.cell") -> str:
    """Write in SQL that a row `t` of a table is what was kept of a cell."""
    parts = ", ".join(f"CAST({part} AS BLOB)" for part in (cell, *(f"t.{name}" for name in CHECKED[table])))
    return f"t.digest = checksum({parts})"


def upgrade(db: sqlite3.Connection) -> None:
    """Give a ledger of format 5 the columns that costs have since; nothing that was kept changes."""
    with transaction(db):
        if _version(db) == FORMAT - 1:  # another process may have been quicker
            for statement in UPGRADE:
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {FORMAT}")


def show_upgraded(db: sqlite3.Connection) -> None:
    """Show the columns that costs have since to a reader who can't write the ledger."""
    more = ", ".join(f"0 AS {name}" for name in ADDED)
    db.execute(f"CREATE TEMP VIEW costs AS SELECT *, {more} FROM main.costs")  # noqa: S608 (ours)


def is_older(db: sqlite3.Connection) -> bool:
    """Tell a ledger of the format before this one."""
    (application,) = db.execute("PRAGMA application_id").fetchone()
    return bool(application == APPLICATION) and _version(db) == FORMAT - 1


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def refuse_foreign(db: sqlite3.Connection, path: Path) -> None:
    """Refuse a database that is not a ledger, and a ledger of another format; neither is changed."""
    (application,) = db.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION:
        raise LedgerError(Note.of("not-a-ledger", path=path))
    version = _version(db)
    if version > FORMAT:
        raise LedgerError(
            f"ledger format {version} is newer than {FORMAT}, which this release reads; upgrade taskloom: {path}"
        )
    if version < FORMAT - 1:
        raise LedgerError(
            f"ledger format {version} is of an older release, whose cells have other ids; not changed; "
            f"run into another folder (-o), or move it: {path}"
        )
    known = (SCHEMA, OLDER, [*OLDER, *UPGRADE])
    if not any(has_tables(db, tables_of(*statements)) for statements in known):
        raise LedgerError(Note.of("ledger-tables", path=path))
