"""Field tasks: every ordered pair of disjoint, non-empty sets of a table's fields is a task.

A task is a view of the shared records and copies nothing. A record counts for the tasks whose fields it fills.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..core import POOLS, Answer, Example, Fields, Folds, Ints, Item, Labels, Number, Suite, Task, Terms, Text, declared
from ..errors import SuiteError, UnknownNameError
from ..ids import fingerprint
from ..sources.splits import SPLIT
from ..sources.table import Field, Kind
from ..texts import number_text
from . import columns
from .field_instructions import ARROW, PLUS, check_instruction
from .field_instructions import instruction as instruction_of
from .rows import refuse_outside

VERSION = 1  # of the maker: raise it when a view of the same columns gives other examples
POOL = "all"
MOST_FIELDS = 8  # 6,050 tasks
GROUP = ":group"  # the column of records that names the first of its copies, where there are any
LONG = 40  # bytes of a text that no two records share by chance: as many letters, or 14 Chinese characters
TAKEN = re.compile(r"[+/:→]|->|^\s|\s$|^$")  # what names of fields may not hold

FieldOutput: TypeAlias = Text | Labels | Terms | Number
KINDS: Mapping[Kind, pa.DataType] = {
    "text": pa.string(),
    "list": pa.list_(pa.string()),
    "label": pa.string(),
    "number": pa.float64(),
}
METRICS: Mapping[Kind, tuple[str, ...]] = {
    "text": ("rouge-l", "bleu-4"),
    "list": ("list-f1", "bpref"),
    "label": ("accuracy", "macro-f1"),
    "number": ("tau-b", "mse"),
}


@dataclass(frozen=True)
class Records:
    """The rows that all tasks of a field suite are views of: a column `id`, one for each field, and one of splits."""

    fields: tuple[Field, ...]
    table: pa.Table
    digests: Mapping[str, str]  # of each column

    def field(self, name: str) -> Field:
        """Look a field up, or say which names come nearest."""
        for candidate in self.fields:
            if candidate.name == name:
                return candidate
        raise UnknownNameError("field", name, [f.name for f in self.fields])

    @cached_property
    def label_names(self) -> Mapping[str, tuple[str, ...]]:
        """Give the labels of each label field, sorted."""
        named = (f.name for f in self.fields if f.kind == "label")
        with columns.reading_texts():
            return {name: tuple(sorted(pc.unique(self.table[name]).drop_null().to_pylist())) for name in named}

    @property
    def group(self) -> str:
        """Name the column that tells which records are one: their ids, unless some are copies."""
        return GROUP if GROUP in self.digests else "id"

    @cached_property
    def keys(self) -> Ints:
        """Give each record's group as a number."""
        return columns.keys(self.table[self.group])

    @cached_property
    def splits(self) -> tuple[str, ...]:
        """Name the pools that the rows are split into, in their usual order; none where there is no split."""
        if SPLIT not in self.table.column_names:
            return ()
        found = {*pc.unique(self.table[SPLIT]).to_pylist()}
        return tuple(pool for pool in POOLS.values() if pool in found)

    def filled(self, names: Iterable[str], split: str = "") -> Ints:
        """Give the numbers of the rows, of one split or of all, in which all these fields are filled."""
        kept = [columns.valid(self.table[name]) for name in names if self.table[name].null_count]
        if split:
            kept.append(columns.numbers(pc.cast(pc.equal(self.table[SPLIT], split), pa.uint8())).astype(bool))
        return np.flatnonzero(np.logical_and.reduce(kept)) if kept else np.arange(self.table.num_rows)


@dataclass(frozen=True)
class FieldPool:
    """The examples of one field task, read from the records when asked."""

    records: Records
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    size: int
    digest: str
    split: str = ""  # none: of all records

    def __len__(self) -> int:
        return self.size

    @cached_property
    def rows(self) -> Ints:
        """Give the numbers of the records that fill all fields of the task."""
        return self.records.filled(dict.fromkeys(self.inputs + self.outputs), self.split)

    def labels(self) -> Ints:
        """Give each row's place in the label names, -1 where the task's output is no single label."""
        names = self.records.label_names.get(self.outputs[0]) if len(self.outputs) == 1 else None
        if names is None:
            return np.full(len(self), -1, dtype=np.int32)
        codes = pc.index_in(self.records.table[self.outputs[0]], pa.array(names)).fill_null(-1)
        return columns.numbers(codes)[self.rows]

    def groups(self) -> Ints:
        """Give each row's group: its record, or the first of its copies."""
        return self.records.keys[self.rows]

    def golds(self) -> list[Answer]:
        """Give each row's gold answer."""
        table = self.records.table.select(list(dict.fromkeys(self.outputs))).take(columns.indices(self.rows))
        with columns.reading_texts():
            return [self._gold(record) for record in table.to_pylist()]

    def take(self, rows: Sequence[int]) -> list[Example]:
        """Read these rows, in this order."""
        refuse_outside(rows, len(self.rows))
        at = columns.indices(self.rows[np.asarray(rows, dtype=np.int64)])
        names = dict.fromkeys(["id", self.records.group, *self.inputs, *self.outputs])
        table = self.records.table.select(list(names)).take(at)
        with columns.reading_texts():
            return [self._example(record) for record in table.to_pylist()]

    def _example(self, record: Mapping[str, Any]) -> Example:
        fields = [self.records.field(name) for name in self.inputs]
        item = Item(record["id"], {f.name: written(f, record[f.name]) for f in fields})
        return Example(item, (self._gold(record),), record[self.records.group])

    def _gold(self, record: Mapping[str, Any]) -> Answer:
        answers = {name: _answer(record[name]) for name in self.outputs}
        return answers if len(answers) > 1 else answers[self.outputs[0]]


def records(fields: Sequence[Field], rows: Iterable[Mapping[str, Any]]) -> Records:
    """Gather rows of checked values (None where empty) under `id`, the fields' names, and `SPLIT` if they are split."""
    kept = list(rows)
    if not kept:
        raise SuiteError("no records to make tasks of")
    kept = _grouped(fields, kept)
    return of_table(fields, pa.Table.from_pylist(kept, schema=schema_of(fields, more={*kept[0]})))


def _grouped(fields: Sequence[Field], rows: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Put copies of a record into one group, so that no copy of what is asked about is learnt from.

    Records are copies if they have a long text or list in common, or all of them, whatever its case. Where a table has
    splits of its own, these are left as they are.
    """
    texts = [f for f in fields if f.kind in ("text", "list")]
    if not texts or SPLIT in rows[0]:
        return rows
    first: dict[tuple[str, ...], int] = {}
    parents = list(range(len(rows)))
    for at, row in enumerate(rows):
        for key in _likenesses([(f.name, written(f, row[f.name]).casefold()) for f in texts if row[f.name]]):
            other, own = _root(parents, first.setdefault(key, at)), _root(parents, at)
            parents[max(other, own)] = min(other, own)
    groups = [rows[_root(parents, at)]["id"] for at in range(len(rows))]
    if all(group == row["id"] for group, row in zip(groups, rows, strict=True)):
        return rows
    return [{**row, GROUP: group} for row, group in zip(rows, groups, strict=True)]


def _likenesses(texts: Sequence[tuple[str, str]]) -> Iterator[tuple[str, ...]]:
    """Yield what makes a record a copy of another that has it too."""
    if texts:
        yield tuple(part for pair in texts for part in pair)
    yield from (pair for pair in texts if len(pair[1].encode()) >= LONG)


def _root(parents: list[int], at: int) -> int:
    """Find the first of a group, and shorten the way to it."""
    while parents[at] != at:
        parents[at] = parents[parents[at]]
        at = parents[at]
    return at


def of_table(fields: Sequence[Field], table: pa.Table) -> Records:
    """Make records of an Arrow table that has the fields' columns."""
    if len(fields) < 2:
        raise SuiteError(f"a field suite needs at least two fields: {[f.name for f in fields]}")
    if len(fields) > MOST_FIELDS:
        count = 3 ** len(fields) - 2 ** (len(fields) + 1) + 1
        raise SuiteError(f"{len(fields)} fields make {count:,} tasks; name {MOST_FIELDS} or fewer")
    if taken := [f.name for f in fields if TAKEN.search(f.name) or f.name == "id"]:
        raise SuiteError(f"names of fields must not be id, nor contain + -> / or :, as task ids do: {', '.join(taken)}")
    for what, names in (("names", [f.name for f in fields]), ("titles", [f.title for f in fields])):
        if len(set(names)) < len(names):
            raise SuiteError(f"the {what} of fields must differ: {', '.join(names)}")
    schema = schema_of(fields, more=table.column_names)
    try:
        typed = table.select(schema.names).cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, KeyError) as error:
        raise SuiteError(f"the columns of the table differ from the fields ({error})") from None
    return Records(tuple(fields), typed, {name: columns.digest(typed[name]) for name in typed.column_names})


def schema_of(fields: Sequence[Field], *, more: Collection[str] = ()) -> pa.Schema:
    """Give the columns of records that have these fields, and those of splits and groups if there are any."""
    own = [(name, pa.string()) for name in (SPLIT, GROUP) if name in more]
    return pa.schema([("id", pa.string()), *((f.name, KINDS[f.kind]) for f in fields), *own])


def suite(
    of: Records,
    *,
    id: str,
    language: str = "en",
    instruction: str | Mapping[str, str] = "",
    folds: Folds | None = None,
    about: Mapping[str, Any] | None = None,
) -> Suite:
    """Make the suite of all field tasks of a table: 180 for five fields, 50 for four, 12 for three.

    `instruction` is a text for all tasks, or for those that a name or pattern stands for; the others have one made.
    """
    pairs = [(pair, task_id(*pair)) for pair in pairs_of([f.name for f in of.fields])]
    check_instruction(instruction, [name for _, name in pairs])
    tasks = {name: task(of, *pair, language=language, instruction=instruction) for pair, name in pairs}
    splits = {split: split for split in of.splits} or {POOL: ""}
    pools = {name: {pool: view(of, *pair, split) for pool, split in splits.items()} for pair, name in pairs}
    return Suite(id=id, tasks=tasks, pools=pools, folds=folds or {}, about={"language": language} | dict(about or {}))


def pairs_of(names: Sequence[str]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield every ordered pair of disjoint, non-empty subsets, small ones first.

    >>> [task_id(*pair) for pair in pairs_of(["a", "b"])]
    ['a->b', 'b->a']
    >>> [len(list(pairs_of("abcde"[:n]))) for n in (3, 4, 5)]
    [12, 50, 180]
    """
    subsets = [c for size in range(1, len(names)) for c in itertools.combinations(names, size)]
    for inputs, outputs in itertools.product(subsets, subsets):
        if not set(inputs) & set(outputs):
            yield inputs, outputs


def task_id(inputs: Sequence[str], outputs: Sequence[str]) -> str:
    """Name a task: `abstract+discipline->keywords`."""
    return f"{PLUS.join(inputs)}{ARROW}{PLUS.join(outputs)}"


def parse_task_id(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Read the name of a task; spaces and the arrow `→` are allowed.

    >>> parse_task_id("abstract + discipline → keywords")
    (('abstract', 'discipline'), ('keywords',))
    """
    sides = text.replace("→", ARROW).split(ARROW)
    named = [tuple(name.strip() for name in side.split(PLUS)) for side in sides]
    if len(named) != 2 or not all(all(side) for side in named):
        raise SuiteError(f"not a field task such as abstract+category->title: {text!r}")
    return named[0], named[1]


def task(
    of: Records,
    inputs: Sequence[str],
    outputs: Sequence[str],
    *,
    language: str = "en",
    instruction: str | Mapping[str, str] = "",
) -> Task:
    """Declare one field task; inputs and outputs may overlap here (`abstract->abstract` asks for a rewrite)."""
    ins, outs = [of.field(name) for name in inputs], [of.field(name) for name in outputs]
    parts = {f.name: part(of, f) for f in outs}
    name = task_id(inputs, outputs)
    return Task(
        id=name,
        instruction=instruction_of(instruction, name, ins, outs),
        output=Fields(parts) if len(parts) > 1 else parts[outs[0].name],
        metrics=_metrics(outs),
        tags={"inputs": tuple(inputs), "outputs": tuple(outputs), "language": (language,)},
        titles={f.name: f.title for f in (*ins, *outs) if f.title != f.name},
    )


def part(of: Records, field: Field) -> FieldOutput:
    """Say in which form a field is answered."""
    match field.kind:
        case "text":
            return Text()
        case "list":
            return Terms(field.separator)
        case "label":
            return Labels(of.label_names[field.name])
        case "number":
            return Number()


def view(of: Records, inputs: Sequence[str], outputs: Sequence[str], split: str = "") -> FieldPool:
    """Make a pool of one field task."""
    size = len(of.filled(dict.fromkeys([*inputs, *outputs]), split))
    return FieldPool(of, tuple(inputs), tuple(outputs), size, view_digest(of, inputs, outputs, split), split)


def view_digest(of: Records, inputs: Sequence[str], outputs: Sequence[str], split: str = "") -> str:
    """Name a view by its maker's version, its fields and their columns, and its split if there is one."""
    names = dict.fromkeys([*inputs, *outputs])
    kinds = [declared(of.field(name)) for name in names]
    digests = [of.digests[name] for name in ("id", *names)]
    part = [split, of.digests[SPLIT]] if split else []
    part += [of.digests[GROUP]] if of.group == GROUP else []
    return fingerprint("view", VERSION, list(inputs), list(outputs), kinds, digests, *part)


def written(field: Field, value: Any) -> str:
    """Write a value as it stands in an input."""
    if field.kind == "list":
        return field.separator.join(value)
    return number_text(value) if field.kind == "number" else value


def _metrics(outputs: Sequence[Field]) -> tuple[str, ...]:
    if len(outputs) == 1:
        return METRICS[outputs[0].kind]
    return tuple(f"{f.name}/{metric}" for f in outputs for metric in METRICS[f.kind])


def _answer(value: Any) -> Answer:
    return tuple(value) if isinstance(value, list) else value
