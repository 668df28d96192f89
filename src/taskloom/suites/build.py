"""Tables and a declaration of their fields to a field suite, with a count of all that was dropped."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from .. import sources
from ..core import DROPPED, Folds, Suite
from ..errors import SourceError, TaskloomError, UnknownNameError, UsageError
from ..ids import Json
from ..messages import Note, counted_notes
from ..schema import key
from ..sources.files import BY_OPTION, Layout, OnError, Place, Row, RowFaults, refuse_missing
from ..sources.splits import NO_SPLIT, SPLIT, Split
from ..sources.table import Field, joined, read_fields, settled, take_records
from . import fields
from .bridges import partition_of
from .table_faults import WARNINGS, folded_labels


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions:
    """A table, which columns of it are what, and what is done with rows that are not as they should be.

    Benchmarks that are made from a table have these options.
    """

    source: str = key("", name="from", path=True)  # a file, data:NAME or hub:NAME
    fields: tuple[Field, ...] = key((), read=read_fields)
    separators: Mapping[str, str] = field(default_factory=dict)  # field -> what stands between the terms of a list
    columns: Mapping[str, str] = field(default_factory=dict)  # field -> column, where their names differ
    id_column: str = ""
    where: Mapping[str, str] = field(default_factory=dict)  # column -> the value that rows must have
    venues: str = key("", path=True)  # a table that adds columns to each row by the value of its own first column
    language: str = "en"
    instruction: str | Mapping[str, str] = ""  # of all tasks, or by task; none: made from the fields
    partitions: Mapping[str, str] = field(default_factory=dict)  # fold -> "META, META => TARGET"
    on_error: OnError = "stop"
    file_encoding: str = "utf-8-sig"  # UTF-8, with or without its mark
    delimiter: str = ","

    def sources(self) -> tuple[str, ...]:
        """Name the tables that are read."""
        return tuple(filter(None, (self.source, self.venues)))


def field_suite(
    options: TableOptions,
    *,
    id: str,
    header: tuple[str, ...] = (),
    about: Mapping[str, Json] | None = None,
    split: Split = NO_SPLIT,
) -> Suite:
    """Read a table and make the suite of all its field tasks; `header` names columns of a file that does not."""
    of = _separated(options)
    if len(of) < 2:
        raise UsageError("a field suite needs at least two fields, such as --field title:text --field category:label")
    names = [f.name for f in of]
    for name in options.columns:
        if name not in names:
            raise UnknownNameError("field", name, names)
    folds = _folds(options.partitions, names)
    faults, dropped = RowFaults(options.on_error, other_encoding=BY_OPTION, has_delimiter=True), Counter[Note]()
    layout = Layout(encoding=options.file_encoding, delimiter=options.delimiter, header=header)
    tables = split.tables(options.source)
    read = _Reading(options, of, layout, split, faults, dropped)
    kept = settled([record for table in tables for record in read.records(*table)], of, faults)
    split.refuse_unfit(Counter(record.get(SPLIT, "") for record in kept))
    dropped[Note.of("row-faulty")] += faults.count
    dropped[Note.of("row-surrogates")] += faults.surrogates
    kept_about: dict[str, Json] = {
        "source": ", ".join(Path(source).name for source, _ in tables),
        "records": len(kept),
        DROPPED: counted_notes(dropped),
        "faults": faults.shown,
        WARNINGS: [fault.to_json() for fault in folded_labels(faults.spaces, kept)],
    }
    return fields.suite(
        fields.records(of, kept),
        id=id,
        language=options.language,
        instruction=options.instruction,
        folds=folds,
        about=kept_about | dict(about or {}),
    )


def _folds(partitions: Mapping[str, str], fields: Sequence[str]) -> Folds:
    """Make a fold of each partition: its meta tasks are to train on, its target is asked about."""
    found: dict[str, Mapping[str, tuple[str, ...]]] = {}
    for name, text in partitions.items():
        if not name.strip() or "->" in name:
            raise UsageError(f"a partition needs a name, as in NAME=META, META => TARGET: {name!r}")
        try:
            of = partition_of(text, fields)
        except TaskloomError as error:
            raise UsageError(f"partition {name!r}: {error}") from None
        found[name] = {"train": of.meta, "test": (of.target,)}
    return found


@dataclass(frozen=True)
class _Reading:
    """How tables are read into records of one kind."""

    options: TableOptions
    fields: Sequence[Field]
    layout: Layout
    split: Split
    faults: RowFaults
    dropped: Counter[Note]
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @cached_property
    def known(self) -> tuple[str, dict[str, Row]] | None:
        return _venues(self.options.venues, self.dropped) if self.options.venues else None

    def records(self, source: str, pool: str) -> list[Row]:
        """Read the records of a table; errors name it."""
        read: Counter[str] = Counter()
        rows = _counted(sources.rows(source, self.faults, self.layout), read)
        rows = self.split.rows(_where(rows, self.options.where, self.dropped), pool, self.dropped)
        rows = joined(rows, *self.known, self.dropped) if self.known else rows
        how: dict[str, Any] = {"columns": self.options.columns, "id_column": self.options.id_column}
        with _naming(source, self.dropped):
            found = take_records(rows, self.fields, self.faults, **how, numbers=self.numbers)
            if not found:
                self.faults.settle()
                raise SourceError(Note.of("no-records-left" if read.total() or self.faults.count else "no-rows"))
        return found


def _counted(rows: Iterator[tuple[Place, Row]], read: Counter[str]) -> Iterator[tuple[Place, Row]]:
    for row in rows:
        read["rows"] += 1
        yield row


@contextmanager
def _naming(source: str, dropped: Mapping[Note, int]) -> Iterator[None]:
    """Name the table in errors that do not, and what was dropped before them."""
    try:
        yield
    except SourceError as error:
        before = ", ".join(f"{count:,} ({note})" for note, count in dropped.items() if count)
        if not before and Path(source).name in str(error):
            raise
        told = Note.of(
            "of-source", reason=error.note, source=source, dropped=f"; dropped before: {before}" if before else ""
        )
        raise SourceError(told, error.faults) from None


def _separated(options: TableOptions) -> list[Field]:
    """Give the fields, with what stands between the terms of lists."""
    for name in options.separators:
        if name not in [f.name for f in options.fields if f.kind == "list"]:
            raise UsageError(f"a separator needs a field of kind list: {name!r}")
    return [replace(f, separator=options.separators.get(f.name, f.separator)) for f in options.fields]


def _where(
    rows: Iterator[tuple[Place, Row]], where: Mapping[str, str], dropped: Counter[Note]
) -> Iterator[tuple[Place, Row]]:
    seen: set[str] = set()
    for place, row in rows:
        seen |= row.keys()
        if all(str(row.get(column)) == value for column, value in where.items()):
            yield place, row
        else:
            dropped[Note.of("row-filtered", where=[f"{column}={value}" for column, value in where.items()])] += 1
    refuse_missing(where, seen)


def _venues(path: str, dropped: Counter[Note]) -> tuple[str, dict[str, Row]]:
    faults = RowFaults()
    rows = [row for _, row in sources.rows(path, faults)]
    faults.settle()
    dropped[Note.of("row-surrogates")] += faults.surrogates
    if not rows or len(rows[0]) < 2:
        raise SourceError(f"a table of venues needs a column of names and at least one of labels: {path}")
    by, *_ = rows[0]
    if doubles := [name for name, n in Counter(str(row.get(by)) for row in rows).items() if n > 1]:
        raise SourceError(f"duplicate or empty venues in {path}: {', '.join(doubles[:5])}")
    return by, {str(row[by]): {name: value for name, value in row.items() if name != by} for row in rows}
