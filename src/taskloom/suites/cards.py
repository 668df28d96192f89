"""The card of a table: what is in it, label by label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import fmean

import pyarrow as pa
import pyarrow.compute as pc

from ..core import Suite
from ..errors import SuiteError
from ..texts import length
from .fields import Records, View


@dataclass(frozen=True, slots=True)
class CardRow:
    """What is known of the records of one label; `means` has a length for each text and a size for each list."""

    label: str
    labels_below: int
    means: dict[str, float | None] = field(default_factory=dict)
    records: int = 0


def records_of(suite: Suite) -> Records:
    """Give the table that a field suite was made from."""
    for pools in suite.pools.values():
        for pool in pools.values():
            if isinstance(pool, View):
                return pool.records
    raise SuiteError(f"a card needs a table, and the tasks of {suite.id!r} were not made from one")


def card(suite: Suite, by: str = "", below: str = "") -> list[CardRow]:
    """Describe the table of a field suite, the largest label first, all records last.

    Records are put together by the first label field, and the labels of the second are counted below it.
    """
    of = records_of(suite)
    for name in filter(None, (by, below)):
        if of.field(name).kind != "label":
            raise SuiteError(f"records are put together by a field of labels, and this is none: {name!r}")
    labelled = [f.name for f in of.fields if f.kind == "label"]
    by = by or (labelled[0] if labelled else "")
    below = below or next((name for name in labelled if name != by), "")
    language = str(suite.about.get("language", "en"))
    rows = [_row(of, language, below, label, part) for label, part in _parts(of, by)]
    return [*sorted(rows, key=lambda row: (-row.records, row.label)), _row(of, language, below, "all", of.table)]


def _parts(of: Records, by: str) -> Iterator[tuple[str, pa.Table]]:
    if by:
        for label in of.label_names[by]:
            yield label, of.table.filter(pc.equal(of.table[by], label))


def _row(of: Records, language: str, below: str, label: str, part: pa.Table) -> CardRow:
    means: dict[str, float | None] = {}
    for f in (f for f in of.fields if f.kind in ("text", "list")):
        values = part[f.name].drop_null().to_pylist()
        means[f.name] = fmean([_size(value, language) for value in values]) if values else None
    return CardRow(label, len(pc.unique(part[below].drop_null())) if below else 0, means, part.num_rows)


def _size(value: str | Sequence[str], language: str) -> int:
    return length(value, language) if isinstance(value, str) else len(value)
