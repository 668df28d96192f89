"""Pools of materialised examples: an Arrow table, in memory or read from disk when asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from ..answers import answer_from_json, as_given, faults_of
from ..core import Answer, Example, Ints, Item, Labels, Output, Task
from ..errors import SuiteError
from ..ids import fingerprint
from ..limits import parse_json
from ..messages import Note
from ..texts import LONE_SURROGATE
from . import columns

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("group", pa.string()),
        ("fields", pa.list_(pa.string())),
        ("candidates", pa.list_(pa.string())),
        ("gold", pa.string()),  # JSON: a list of acceptable answers
        ("label", pa.int32()),  # derived from gold, for drawing without reading it
    ]
)
SHOWN_FAULTS = 20
AS_IS: dict[str, Any] = {"ensure_ascii": False, "separators": (",", ":")}


@dataclass(frozen=True, slots=True)
class Rows:
    """The examples of one pool; `load` reads the named columns each time it is called."""

    output: Output
    names: tuple[str, ...]
    size: int
    digest: str
    load: Callable[[Sequence[str] | None], pa.Table]

    def __len__(self) -> int:
        return self.size

    def labels(self) -> Ints:
        """Give each row's place in the label names, -1 for none or many."""
        return columns.numbers(self.load(["label"])["label"])

    def groups(self) -> Ints:
        """Give each row's group as a number."""
        return columns.keys(self.load(["group"])["group"])

    def golds(self) -> list[Answer]:
        """Give each row's first gold answer."""
        try:
            firsts = [answers[0] for answers in gold_answers(self.load(["gold"]))]
            return [as_given(self.output, answer_from_json(self.output, first)) for first in firsts]
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise SuiteError(Note.of("gold-unreadable", reason=repr(error))) from None

    def take(self, rows: Sequence[int]) -> list[Example]:
        """Read these rows, in this order."""
        loaded = self.load(None)
        refuse_outside(rows, loaded.num_rows)
        table = loaded.take(columns.indices(rows))
        shown = ("id", "group", "fields", "candidates")
        with columns.reading_texts():
            ids, groups, fields, candidates = (table[name].to_pylist() for name in shown)
        gold = gold_answers(table)
        try:
            return [self._example(*values) for values in zip(ids, groups, fields, candidates, gold, strict=True)]
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise SuiteError(Note.of("gold-unreadable", reason=repr(error))) from None

    def _example(self, id_: str, group: str, values: list[str], candidates: list[str], gold: list[Any]) -> Example:
        item = Item(id_, dict(zip(self.names, values, strict=True)), tuple(candidates))
        return Example(item, tuple(answer_from_json(self.output, answer) for answer in gold), group)


def refuse_outside(rows: Sequence[int], size: int) -> None:
    """Refuse rows that a pool does not have."""
    if len(rows) and not 0 <= min(rows) <= max(rows) < size:
        raise SuiteError(f"rows must be below {size}: {min(rows)} to {max(rows)}")


def gold_answers(table: pa.Table) -> list[list[Any]]:
    """Read the gold answers of all rows, at once: ten times faster than one by one."""
    try:
        found: list[list[Any]] = parse_json(f"[{','.join(table['gold'].to_pylist())}]")
    except (ValueError, TypeError) as error:  # TypeError: no text at all
        raise SuiteError(Note.of("gold-unreadable", reason=str(error))) from None
    return found


def pool(task: Task, examples: Iterable[Example], *, but: Collection[str] = ()) -> Rows:
    """Check examples against their task, once, and make a pool of them; `but` has codes of faults that are let pass."""
    kept = list(examples)
    found = ((n, e, f) for n, e in enumerate(kept) for f in faults_in(task.output, e, kept[0]))
    if faults := [f"row {n} ({e.item.id}): {f}" for n, e, f in found if f.code not in but]:
        more = [f"and {len(faults) - SHOWN_FAULTS} more"] if len(faults) > SHOWN_FAULTS else []
        raise SuiteError("\n  ".join([f"invalid examples in task {task.id!r}:", *faults[:SHOWN_FAULTS], *more]))
    names = tuple(kept[0].item.fields) if kept else ()
    return from_table(task.output, names, _table(task.output, kept))


def from_table(output: Output, names: Sequence[str], table: pa.Table) -> Rows:
    """Make a pool of a table that is in memory and of `SCHEMA`."""
    return Rows(output, tuple(names), table.num_rows, digest(names, table), partial(_select, table))


def _select(table: pa.Table, names: Sequence[str] | None) -> pa.Table:
    return table if names is None else table.select(names)


def digest(names: Sequence[str], table: pa.Table) -> str:
    """Name the rows by their content; the label column is derived, and so left out."""
    parts = {name: columns.digest(table[name]) for name in SCHEMA.names if name != "label"}
    return fingerprint("rows", list(names), parts)


def faults_in(output: Output, example: Example, first: Example) -> Iterable[Note]:
    """Say what is wrong with an example; all examples of a pool have the fields of the first."""
    if list(example.item.fields) != list(first.item.fields):
        yield Note.of("row-fields-differ", fields=list(example.item.fields), first=list(first.item.fields))
    if not example.gold:
        yield Note.of("gold-missing")
    texts = [example.item.id, example.group, *example.item.fields.values(), *example.item.candidates, example.gold]
    if LONE_SURROGATE.search(json.dumps(texts, **AS_IS)):
        yield Note.of("half-character")
    for answer in example.gold:
        yield from faults_of(output, answer, example.item.candidates)


def _table(output: Output, examples: Sequence[Example]) -> pa.Table:
    gold = [[answer_from_json(output, answer) for answer in e.gold] for e in examples]  # so that 3 and 3.0 are one
    values: Mapping[str, list[Any]] = {
        "id": [e.item.id for e in examples],
        "group": [e.group for e in examples],
        "fields": [list(e.item.fields.values()) for e in examples],
        "candidates": [list(e.item.candidates) for e in examples],
        "gold": [json.dumps(answers, **AS_IS) for answers in gold],
        "label": labels_of(output, gold),
    }
    return pa.table(values, schema=SCHEMA)


def labels_of(output: Output, gold: Sequence[Sequence[Any]]) -> list[int]:
    """Give each row's label, which is its first acceptable answer, as a place in the names; -1 for none or many."""
    if not isinstance(output, Labels) or output.many:
        return [-1] * len(gold)
    places = {name: place for place, name in enumerate(output.names)}
    return [places.get(answers[0], -1) if answers else -1 for answers in gold]
