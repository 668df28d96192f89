"""A source and a declaration of its fields to a field suite, with a count of all that was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from .. import sources
from ..core import DROPPED, Suite
from ..errors import SourceError, UnknownNameError, UsageError
from ..ids import Json
from ..messages import Note, counted_notes
from ..schema import key
from ..sources.files import Layout, OnError, Place, Row, RowFaults
from ..sources.table import Field, gather, joined, read_fields, refuse_missing
from . import fields


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
    on_error: OnError = "stop"
    file_encoding: str = "utf-8-sig"  # UTF-8, with or without its mark
    delimiter: str = ","

    def sources(self) -> tuple[str, ...]:
        """Name the tables that are read."""
        return tuple(filter(None, (self.source, self.venues)))


def field_suite(
    options: TableOptions, *, id: str, header: tuple[str, ...] = (), about: Mapping[str, Json] | None = None
) -> Suite:
    """Read a table and make the suite of all its field tasks; `header` names columns of a file that does not."""
    of = _separated(options)
    if len(of) < 2:
        raise UsageError("a field suite needs at least two fields, such as --field title:text --field category:label")
    for name in options.columns:
        if name not in {f.name for f in of}:
            raise UnknownNameError("field", name, [f.name for f in of])
    faults, dropped = RowFaults(options.on_error), Counter[Note]()
    layout = Layout(encoding=options.file_encoding, delimiter=options.delimiter, header=header)
    rows = sources.rows(options.source, faults, layout)
    rows = _where(rows, options.where, dropped)
    if options.venues:
        by, known = _venues(options.venues, dropped)
        rows = joined(rows, by, known, dropped)
    try:
        kept = gather(rows, of, faults, columns=options.columns, id_column=options.id_column)
    except SourceError as error:
        if not dropped:
            raise
        before = ", ".join(f"{count:,} ({note})" for note, count in dropped.items())
        raise SourceError(f"{error}; dropped before: {before}") from None
    dropped[Note.of("row-faulty")] += faults.count
    dropped[Note.of("row-surrogates")] += faults.surrogates
    kept_about: dict[str, Json] = {
        "source": Path(options.source).name,
        "records": len(kept),
        DROPPED: counted_notes(dropped),
        "faults": faults.shown,
    }
    return fields.suite(
        fields.records(of, kept), id=id, language=options.language, about=kept_about | dict(about or {})
    )


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
