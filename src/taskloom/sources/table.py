"""Rows to records: the declared fields of a table, each value checked and of its kind."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from ..errors import SourceError, UnknownNameError, UsageError
from ..limits import parse_json
from ..messages import Note
from ..schema import Node
from ..texts import number_text
from .files import Place, Row, RowFaults, refuse_missing
from .splits import SPLIT

Kind: TypeAlias = Literal["text", "list", "label", "number"]
LOOK_AHEAD = 1000  # rows after which a column that never came is taken to be misnamed


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a table: what it is called, what it holds, and what a prompt calls it."""

    name: str
    kind: Kind
    title: str = ""  # the name, where none is given
    separator: str = "; "  # between the terms of a list

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", self.title or self.name)


def parse_field(text: str) -> Field:
    """Read a field as it is typed: `name:kind`, or `name:kind:title`.

    >>> parse_field("keywords:list:Key words")
    Field(name='keywords', kind='list', title='Key words', separator='; ')
    """
    name, _, rest = text.partition(":")
    kind, _, title = rest.partition(":")
    if kind not in get_args(Kind):
        raise UnknownNameError("kind of field", kind, get_args(Kind))
    if not name:
        raise UsageError(f"a field needs a name: {text!r}")
    if name == "id":
        raise UsageError("id is reserved; name the field otherwise, with --column NAME=id")
    return Field(name, kind, title)  # type: ignore[arg-type]


def read_fields(node: Node, key: str, default: tuple[Field, ...]) -> tuple[Field, ...]:
    """Read the option `fields`: a list of what `parse_field` takes."""
    given = node.values.get(key, default)
    found: list[Field] = []
    for text in given if isinstance(given, list | tuple) else [given]:
        try:
            found.append(text if isinstance(text, Field) else parse_field(str(text)))
        except UsageError as error:
            node.fault(key, str(error))
    return tuple(found)


def gather(
    rows: Iterable[tuple[Place, Row]],
    fields: Sequence[Field],
    faults: RowFaults,
    *,
    columns: Mapping[str, str] | None = None,
    id_column: str = "",
) -> list[Row]:
    """Take the records of one table; a value that is not of its kind is a fault, an empty one is None."""
    return settled(take_records(rows, fields, faults, columns=columns, id_column=id_column), fields, faults)


def take_records(
    rows: Iterable[tuple[Place, Row]],
    fields: Sequence[Field],
    faults: RowFaults,
    *,
    columns: Mapping[str, str] | None = None,
    id_column: str = "",
    numbers: Iterator[int] | None = None,
) -> list[Row]:
    """Take each row's fields from their columns, with the pool that it is of; `numbers` name rows that have no id."""
    columns, numbers = {f.name: f.name for f in fields} | dict(columns or {}), numbers or itertools.count(1)
    wanted = {columns[f.name] for f in fields} | ({id_column} if id_column else set())
    kept: list[Row] = []
    unnamed: list[Place] = []  # rows before the first that has the column of ids: it may be misspelt
    seen: Counter[str] = Counter()
    for read, (place, row) in enumerate(rows, 1):
        seen.update(row.keys())
        if read == LOOK_AHEAD:
            refuse_missing(wanted, seen, faults.shown)
        if id_column and id_column not in seen:
            unnamed.append(place)
            continue
        id_ = row.get(id_column) if id_column else next(numbers)
        record: Row = {"id": "" if id_ is None else str(id_)} | ({SPLIT: row[SPLIT]} if SPLIT in row else {})
        wrong = []
        for f in fields:
            try:
                record[f.name] = value_of(f, row.get(columns[f.name]))
            except ValueError as error:
                wrong.append(f"{columns[f.name]}: {error}")
        if not record["id"]:
            wrong.insert(0, "id: empty")
        if wrong:
            faults.add(place, "; ".join(wrong))
        else:
            kept.append(record)
            faults.note_spaces({f.name: row.get(columns[f.name]) for f in fields if f.kind == "label"})
    refuse_missing(wanted, seen, faults.shown)
    for place in unnamed:
        faults.add(place, "id: empty")
    return kept


def settled(records: Sequence[Row], fields: Sequence[Field], faults: RowFaults) -> list[Row]:
    """Drop records of a doubled id, or refuse all faults; refuse a field that is never filled."""
    _note_doubles(records, faults)
    faults.settle()
    return _filled(records, fields)


def joined(
    rows: Iterable[tuple[Place, Row]], by: str, known: Mapping[str, Row], dropped: Counter[Note]
) -> Iterator[tuple[Place, Row]]:
    """Add to each row what is known of its key (a journal's category, say); rows of unknown keys are counted."""
    seen: set[str] = set()
    for place, row in rows:
        seen |= row.keys()
        if found := known.get(str(row.get(by))):
            yield place, row | found
        else:
            dropped[Note.of("row-unmapped", column=by)] += 1
    refuse_missing([by], seen)


def value_of(field: Field, value: Any) -> Any:
    """Give a value the type of its field, or None where it is empty.

    >>> value_of(Field("keywords", "list", "keywords"), "graph; tree;")
    ['graph', 'tree']
    """
    if _is_empty(value):
        return None
    match field.kind:
        case "list":
            return _terms(field, value)
        case "number":
            return _number(value)
        case "text" | "label":
            if isinstance(value, float):
                value = number_text(value)
            if not isinstance(value, str | int):
                raise ValueError(f"must be a {field.kind}, not a {type(value).__name__}")
            return " ".join(str(value).split()) or None


def _is_empty(value: Any) -> bool:
    """Tell what is no value: nothing, blanks, and NaN, which is how a table of floats says it."""
    missing = isinstance(value, float) and math.isnan(value)
    return value is None or missing or (isinstance(value, str) and not value.strip())


def _terms(field: Field, value: Any) -> list[str] | None:
    parts = _split(field, value) if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise ValueError("must be a list of texts")
    return [term for part in parts if (term := " ".join(part.split()))] or None


def _split(field: Field, text: str) -> Any:
    """Split a cell into terms: a JSON list as it is, else at the separator."""
    if text.lstrip().startswith("["):
        try:
            return parse_json(text)
        except ValueError:
            pass
    return text.split(field.separator.strip() or field.separator)


def _number(value: Any) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"must be a finite number: {str(value)[:40]!r}")
    return number


def _note_doubles(records: Sequence[Row], faults: RowFaults) -> None:
    pools: dict[str, list[str]] = {}
    for record in records:
        pools.setdefault(record["id"], []).append(record.get(SPLIT, ""))
    for name, found in pools.items():
        several = sorted({*found})
        where = f", in {' and '.join(several)}" if len(several) > 1 else ""
        for _ in found[1:]:  # each is dropped
            faults.add(f"id {name}", f"duplicate id, {len(found)} times{where}; without --id, rows are numbered")


def _filled(records: Sequence[Row], fields: Sequence[Field]) -> list[Row]:
    """Drop records of a doubled id; refuse a field that is never filled."""
    if not records:
        raise SourceError("the table has no records")
    if empty := [f.name for f in fields if all(record[f.name] is None for record in records)]:
        raise SourceError(f"empty in every record: {', '.join(empty)}")
    first = {record["id"]: record for record in reversed(records)}
    return [record for record in records if first[record["id"]] is record]
