"""Documents by id: an Arrow table in the order of its hashed ids, in memory or mapped from a file.

An id is found by bisection of the hashes, so that opening a store reads none of its texts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..core import Ints, Stored
from ..errors import SuiteError
from ..ids import fingerprint
from ..texts import LONE_SURROGATE
from . import columns

HASH, ID, MEMBERS = "id_hash", "id", "members"
OWN = pa.schema(
    [(HASH, pa.int64()), (ID, pa.string()), (MEMBERS, pa.list_(pa.string()))]
)  # then a column for each field
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # a part of a file's name
BATCH = 16_384
SHOWN = 5


@dataclass(frozen=True)
class Documents:
    """A store of documents; a field that a document does not have is null."""

    name: str
    table: pa.Table
    digests: Mapping[str, str]  # of each column

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def fields(self) -> tuple[str, ...]:
        """Name the fields that documents have."""
        return tuple(self.table.column_names[len(OWN) :])

    @cached_property
    def _hashes(self) -> Ints:
        return columns.numbers(self.table[HASH])

    @cached_property
    def _batches(self) -> list[pa.RecordBatch]:
        return list(self.table.to_batches())

    @cached_property
    def _starts(self) -> Ints:
        return np.cumsum([0, *(batch.num_rows for batch in self._batches)])

    def take(self, ids: Sequence[str]) -> list[Stored]:
        """Read these documents, in this order; ids that are missing are named in an error."""
        table = self._read(self._rows(ids))
        with columns.reading_texts():
            members, *texts = (table[name].to_pylist() for name in (MEMBERS, *self.fields))
        return [
            Stored(
                id_, {name: text for name, text in zip(self.fields, own, strict=True) if text is not None}, tuple(of)
            )
            for id_, of, *own in zip(ids, members, *texts, strict=True)
        ]

    def missing(self, ids: Sequence[str]) -> list[str]:
        """Give the ids that the store does not have."""
        return [id_ for id_, row in zip(ids, self._find(ids).tolist(), strict=True) if row < 0]

    def members(self, ids: Sequence[str]) -> list[tuple[str, ...]]:
        """Give the members of each of these documents; no text is read."""
        return [tuple(of) for of in self._read(self._rows(ids), [MEMBERS])[MEMBERS].to_pylist()]

    def lost_members(self) -> list[str]:
        """Give the members of documents that the store does not have."""
        return self.missing(pc.unique(pc.list_flatten(self.table[MEMBERS])).to_pylist())

    def doubled(self) -> list[str]:
        """Give the ids that stand twice."""
        ids = self.table[ID].to_pylist()  # equal ones stand side by side
        return [id_ for id_, before in zip(ids[1:], ids, strict=False) if id_ == before]

    def changed(self) -> list[str]:
        """Give the columns that are not what their digests say."""
        found = _digests(self.table)
        changed = [name for name in {**found, **self.digests} if found.get(name) != self.digests.get(name)]
        if ID in changed:
            return [*changed, HASH]
        hashes = columns.hashes(self.table[ID].to_pylist())
        return changed if np.array_equal(self._hashes, np.sort(hashes)) else [*changed, HASH]

    def digest(self, ids: Iterable[str]) -> str:
        """Name these documents and their members by content, whatever else the store holds."""
        rows = self._with_members(np.unique(self._rows(list(ids))))
        blocks = (self._read(rows[start : start + BATCH]) for start in range(0, len(rows), BATCH))
        return fingerprint("documents", len(rows), [_content(block) for block in blocks])

    def _with_members(self, rows: Ints) -> Ints:
        """Add the members of documents, and theirs in turn."""
        while True:
            named = pc.unique(pc.list_flatten(self._read(rows, [MEMBERS])[MEMBERS])).to_pylist()
            more = np.union1d(rows, self._rows(named))
            if len(more) == len(rows):
                return rows
            rows = more

    def _rows(self, ids: Sequence[str]) -> Ints:
        """Give the row of each id, or refuse those that have none."""
        rows = self._find(ids)
        if (rows < 0).any():
            raise SuiteError(f"missing in store {self.name!r}: {some(self.missing(list(dict.fromkeys(ids))))}")
        return rows

    def _find(self, ids: Sequence[str]) -> Ints:
        """Give the row of each id, -1 where it has none."""
        if not len(self) or not len(ids):
            return np.full(len(ids), -1, dtype=np.int64)
        wanted = columns.hashes(ids)
        rows = np.minimum(np.searchsorted(self._hashes, wanted), len(self) - 1)
        with columns.reading_texts():
            found = self._read(rows, [ID])[ID].to_pylist()
        same = np.fromiter((ours == theirs for ours, theirs in zip(ids, found, strict=True)), bool, len(ids))
        return np.where(same, rows, -1)

    def _read(self, rows: Ints, names: Sequence[str] | None = None) -> pa.Table:
        """Read rows, batch by batch: Arrow's own `take` may first copy columns whole."""
        chosen = self.table.schema.names if names is None else list(names)
        batch_of = np.searchsorted(self._starts, rows, side="right") - 1
        parts, places = [], []
        for batch in np.unique(batch_of).tolist():
            here = np.flatnonzero(batch_of == batch)
            parts.append(self._batches[batch].select(chosen).take(columns.indices(rows[here] - self._starts[batch])))
            places.append(here)
        if len(parts) < 2:
            return pa.Table.from_batches(parts, self.table.select(chosen).schema)
        order = np.argsort(np.concatenate(places))
        return pa.Table.from_batches(parts).take(columns.indices(order))


def documents(name: str, of: Iterable[Stored]) -> Documents:
    """Make a store of documents, or name all that is wrong with them.

    >>> papers = documents("papers", [Stored("a", {"title": "On trees"}), Stored("b", {"title": "On birds"})])
    >>> papers.take(["b"])
    [Stored(id='b', fields={'title': 'On birds'}, members=())]
    """
    refuse_name(name)
    kept = list(of)
    if faults := list(_faults(kept)):
        raise SuiteError("\n  ".join([f"invalid documents in store {name!r}:", *faults]))
    hashes = columns.hashes([one.id for one in kept])
    order = np.argsort(hashes, kind="stable").tolist()
    fields = list(dict.fromkeys(name for one in kept for name in one.fields))
    schema = pa.schema([*OWN, *((name, pa.string()) for name in fields)])
    blocks = (order[start : start + BATCH] for start in range(0, len(order), BATCH))
    batches = [_batch(schema, hashes[block], [kept[row] for row in block]) for block in blocks]
    table = pa.Table.from_batches(batches, schema)
    made = Documents(name, table, _digests(table))
    if lost := made.lost_members():
        raise SuiteError(f"members that are missing in store {name!r}: {some(lost)}")
    return made


def has_documents(schema: pa.Schema) -> bool:
    """Tell whether a table can be a store of documents: its own columns, then fields, which are texts."""
    own, fields = list(schema)[: len(OWN)], list(schema)[len(OWN) :]
    return own == list(OWN) and all(field.type == pa.string() for field in fields)


def refuse_name(name: str) -> None:
    """Refuse a store's name that can't be a part of a file's."""
    if not NAME.fullmatch(name):
        raise SuiteError(f"a store's name must be letters, digits, - or _, at most 64: {name!r}")


def listed(ids: Sequence[str]) -> str:
    """Name documents, the first few of many."""
    return f"{'this document' if len(ids) == 1 else 'these documents'}: {some(ids)}"


def some(values: Sequence[str]) -> str:
    """Name the first few of many values."""
    more = f" and {len(values) - SHOWN:,} more" if len(values) > SHOWN else ""
    return ", ".join(map(repr, values[:SHOWN])) + more


def _texts(one: Stored) -> Iterator[str]:
    yield from (one.id, *one.members, *one.fields, *one.fields.values())


def _faults(of: Sequence[Stored]) -> Iterator[str]:
    if odd := [repr(one.id) for one in of if not all(isinstance(n, str) for n in (one.id, *one.members, *one.fields))]:
        yield f"an id, a member or a field's name is not a text in {listed(odd)}"
        return
    if twice := [id_ for id_, count in Counter(one.id for one in of).items() if count > 1]:
        yield f"duplicate ids: {some(twice)}"
    if taken := sorted({name for one in of for name in one.fields if name in OWN.names}):
        yield f"a field can't have the name of a column of the store: {some(taken)}"
    if strange := [one.id for one in of if not all(isinstance(text, str) for text in one.fields.values())]:
        yield f"a field is not a text in {listed(strange)}"
    elif halves := [
        one.id
        for one in of
        if any(map(LONE_SURROGATE.search, (one.id, *one.members, *one.fields, *one.fields.values())))
    ]:
        yield f"invalid Unicode (a lone surrogate) in {listed(halves)}"


def _digests(table: pa.Table) -> dict[str, str]:
    """Name columns by their values; hashes are derived, and so left out."""
    return {name: columns.digest(table[name]) for name in table.column_names if name != HASH}


def _content(table: pa.Table) -> list[list[str]]:
    """Name the columns that hold something, in their order: a field of other documents alone makes no difference."""
    filled = [name for name in table.column_names if table[name].null_count < table.num_rows]
    return [[name, digest] for name, digest in _digests(table.select(filled)).items()]


def _batch(schema: pa.Schema, hashes: Ints, of: Sequence[Stored]) -> pa.RecordBatch:
    values: dict[str, list[Any]] = {HASH: hashes.tolist(), ID: [one.id for one in of]}
    values[MEMBERS] = [list(one.members) for one in of]
    texts = {name: [one.fields.get(name) for one in of] for name in schema.names[len(OWN) :]}
    return pa.RecordBatch.from_pydict(values | texts, schema=schema)
