"""Faults of a suite, each with a code, a place and values: E are errors, W are warnings."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..core import Labels, Pool, Store, Suite, Task, parts_of_pools
from ..errors import SuiteError
from ..messages import Note
from ..progress import Progress
from . import columns, linked, rows
from .documents import Documents
from .fields import FieldPool, Records, view
from .leaks import COMPARED_ROLES, find, sides_of
from .linked import Linked
from .rows import Rows, faults_in, from_table

BALANCED, FEW_LABELS = 0.8, 15  # normalised entropy; tasks of more labels are not judged by it
SHOWN = 5  # places named for one fault of one pool
LONGEST = 80  # characters of one of them
BLOCK = 1000  # linked examples that are read at once


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, and where; the note's code is the fault's, with a word where it has several texts."""

    place: str
    note: Note

    @classmethod
    def of(cls, code: str, place: str, **values: Any) -> Fault:
        """Make a fault.

        >>> str(Fault.of("E301", "default/test", task="task1"))
        'E301 default/test: no such task: task1'
        """
        return cls(place, Note.of(code, **values))

    def __str__(self) -> str:
        return f"{self.code} {self.place}: {self.note}"

    @property
    def code(self) -> str:
        """Give the code that `taskloom check --codes` lists."""
        return self.note.code.partition("-")[0]

    @property
    def is_error(self) -> bool:
        """Tell an error from a warning."""
        return self.code.startswith("E")


def check(suite: Suite, progress: Progress | None = None) -> Iterator[Fault]:
    """Read the whole suite and yield its faults; of texts that are none any more, nothing else is said."""
    changed = [*_changed_columns(suite)]
    yield from changed
    if changed and not _are_texts(suite):
        return
    for of in _tables(suite):
        yield from _check_records(of)
    for name, stored in suite.stores.items():
        yield from _check_store(f"store-{name}", stored)
    for done, task in enumerate(suite.tasks.values(), 1):
        yield from _check_task(suite, task)
        if progress:
            progress(done, len(suite.tasks))
    yield from _check_folds(suite)


def _changed_columns(suite: Suite) -> Iterator[Fault]:
    for of in _tables(suite):
        for name in of.table.column_names:
            if columns.digest(of.table[name]) != of.digests[name]:
                yield Fault.of("E001-column", f"records/{name}")
    for store, stored in suite.stores.items():
        for name in stored.changed() if isinstance(stored, Documents) else ():
            yield Fault.of("E001-column", f"store-{store}/{name}")


def _are_texts(suite: Suite) -> bool:
    tables = [of.table for of in _tables(suite)]
    tables += [stored.table for stored in suite.stores.values() if isinstance(stored, Documents)]
    try:
        for table in tables:
            table.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _check_task(suite: Suite, task: Task) -> Iterator[Fault]:
    kept = suite.pools[task.id]
    yield from _check_parts(task.id, kept)
    yield from _check_views(task.id, kept)
    pools = {pool: own for pool, of in kept.items() if (own := _rows_of(of))}
    tables = {pool: own.load(None) for pool, own in pools.items()}
    changed = [pool for pool, table in tables.items() if rows.digest(pools[pool].names, table) != pools[pool].digest]
    yield from (Fault.of("E001-pool", f"{task.id}/{pool}") for pool in changed)
    if changed:
        return
    yield from _check_links(suite, task)
    for pool, table in tables.items():
        yield from _check_rows(task, pools[pool], table, f"{task.id}/{pool}")
    yield from _check_overlap(task.id, tables)


def _tables(suite: Suite) -> Iterable[Records]:
    """Give the tables that the suite's views share, each once."""
    pools = (pool for pools in suite.pools.values() for pool in pools.values())
    return {id(pool.records): pool.records for pool in pools if isinstance(pool, FieldPool)}.values()


def _check_records(of: Records) -> Iterator[Fault]:
    table = of.table
    shown = [list(map(str, row.values())) for row in table.drop_columns(["id"]).to_pylist()]
    yield from _doubles("E101", "records", ["\x1f".join(cells) for cells in shown], table["id"])
    yield from _doubles("E102", "records", table["id"].to_pylist(), table["id"])
    for f in of.fields:
        if empty := table[f.name].null_count:
            yield Fault.of("W102", f"records/{f.name}", empty=empty, of=table.num_rows)
        if f.kind == "label":
            found = table[f.name].drop_null().to_pylist()
            yield from imbalance("W101", f"records/{f.name}", found, of.label_names[f.name])
        if f.kind == "list":
            yield from _single_terms(f.name, table[f.name].drop_null().to_pylist())
            terms = set(pc.list_flatten(table[f.name]).to_pylist())
            if held := sorted(term for term in terms if (f.separator.strip() or f.separator) in term):
                yield Fault.of("W103", f"records/{f.name}", separator=f.separator, **_some(held))


def _single_terms(name: str, lists: Sequence[Sequence[str]]) -> Iterator[Fault]:
    """Look for lists that were not split, for want of the right separator."""
    single = [terms[0] for terms in lists if len(terms) == 1]
    hinted = [term for term in single if "," in term or "|" in term]
    if len(single) > 0.9 * len(lists) and len(hinted) > len(lists) / 2:
        yield Fault.of("W105", f"records/{name}", column=name, **_some(hinted))


def _check_parts(task: str, pools: Mapping[str, Pool]) -> Iterator[Fault]:
    if not _has_parts(pools):
        yield Fault.of("E203", task, pools=tuple(pools))


def _has_parts(pools: Mapping[str, Pool]) -> bool:
    """Tell pools whose parts are known."""
    try:
        parts_of_pools(pools)
    except SuiteError:
        return False
    return True


def _check_views(task: str, pools: Mapping[str, Pool]) -> Iterator[Fault]:
    for name, pool in pools.items():
        if isinstance(pool, FieldPool) and pool != view(pool.records, pool.inputs, pool.outputs):
            yield Fault.of("E001-view", f"{task}/{name}")


def _rows_of(pool: Pool) -> Rows | None:
    """Give the rows of a pool that has its own."""
    return pool.rows if isinstance(pool, Linked) else pool if isinstance(pool, Rows) else None


def _check_store(place: str, of: Store) -> Iterator[Fault]:
    if not isinstance(of, Documents):
        return
    if again := of.doubled():
        yield Fault.of("E106", place, **_some(again))
    if lost := of.lost_members():
        yield Fault.of("E105-members", place, **_some(lost))


def _check_links(suite: Suite, task: Task) -> Iterator[Fault]:
    """Look for documents that are missing, and for pools whose documents are not those that they were named by."""
    broken = list(linked.faults(suite, task))
    yield from (Fault(place, note) for place, note in broken)
    for name, pool in suite.pools[task.id].items():
        if isinstance(pool, Linked) and not broken:
            if pool.digest != linked.of_rows(pool.rows, pool.store, by_id=pool.by_id).digest:
                yield Fault.of("E001-linked", f"{task.id}/{name}")
            if pool.by_id and (empty := _empty_queries(pool)):
                yield Fault.of("E104", f"{task.id}/{name}", **_some(empty))


def _empty_queries(pool: Linked) -> list[str]:
    blocks = (range(start, min(start + BLOCK, len(pool))) for start in range(0, len(pool), BLOCK))
    items = (example.item for block in blocks for example in pool.take(block))
    return [item.id for item in items if not "".join(item.fields.values()).strip()]


def _check_rows(task: Task, pool: Rows, table: pa.Table, place: str) -> Iterator[Fault]:
    gold = table["gold"].to_pylist()
    if table.num_rows != len(pool):
        yield Fault.of("E001-rows", place, rows=table.num_rows, declared=len(pool))
    examples = from_table(task.output, pool.names, table).take(range(table.num_rows))
    answers = [example.gold for example in examples]
    if rows.labels_of(task.output, answers) != table["label"].to_pylist():
        yield Fault.of("E001-labels", place)
    inputs = ["\x1f".join(values) for values in table["fields"].to_pylist()]
    candidates = table["candidates"].to_pylist()
    both = [f"{asked}\x1e{answer}\x1e{those}" for asked, answer, those in zip(inputs, gold, candidates, strict=True)]
    yield from _doubles("E101", place, both, table["id"])
    yield from _doubles("E102", place, table["id"].to_pylist(), table["id"])
    if several := len(set(both)) - len(set(inputs)):
        yield Fault.of("W104", place, count=several)
    if wrong := [f"{e.item.id} ({what})" for e in examples for what in faults_in(task.output, e, examples[0])]:
        yield Fault.of("E103", place, **_some(wrong))
    if empty := [e.item.id for e in examples if not "".join(e.item.fields.values()).strip()]:
        yield Fault.of("E104", place, **_some(empty))
    if isinstance(task.output, Labels):
        names = task.output.names
        found = [names[label] for label in table["label"].to_pylist() if label >= 0]
        yield from imbalance("W101", place, found, names)


def _check_overlap(task: str, tables: Mapping[str, pa.Table]) -> Iterator[Fault]:
    """Look for the same input, or the same group, in two pools of a task."""
    for ours, theirs in itertools.combinations(tables, 2):
        place = f"{task}/{ours}+{theirs}"
        for code, column in (("E201", "fields"), ("E202", "group")):
            seen = [{str(value) for value in tables[pool][column].to_pylist()} for pool in (ours, theirs)]
            if both := sorted(seen[0] & seen[1]):
                yield Fault.of(code, place, **_some(both))


def _check_folds(suite: Suite) -> Iterator[Fault]:
    for fold, roles in suite.folds.items():
        for role, names in roles.items():
            yield from (Fault.of("E301", f"{fold}/{role}", task=name) for name in names if name not in suite.tasks)
        for ours, theirs in itertools.combinations(roles, 2):
            if both := sorted(set(roles[ours]) & set(roles[theirs])):
                yield Fault.of("E302", f"{fold}/{ours}+{theirs}", **_some(both))
        for ours, theirs in COMPARED_ROLES:
            yield from _check_leaks(suite, fold, ours, theirs)


def _check_leaks(suite: Suite, fold: str, ours: str, theirs: str) -> Iterator[Fault]:
    """Look for what two roles share; of tasks that are in both, or have no known parts, that alone is told."""
    roles = suite.folds[fold]
    both = {*roles.get(ours, ())} & {*roles.get(theirs, ())}
    kept = {
        role: [n for n in roles.get(role, ()) if n in suite.tasks and n not in both and _has_parts(suite.pools[n])]
        for role in (ours, theirs)
    }
    if all(kept.values()):
        for leak in find(*sides_of(suite, (ours, kept[ours]), (theirs, kept[theirs]))):
            yield Fault(f"{fold}/{ours}+{theirs}", leak.note)


def _doubles(code: str, place: str, values: Sequence[str], ids: pa.ChunkedArray) -> Iterator[Fault]:
    first: dict[str, int] = {}
    again = [(first[value], n) for n, value in enumerate(values) if first.setdefault(value, n) != n]
    if again:
        shown = [f"{ids[a].as_py()} = {ids[b].as_py()}" for a, b in again[:SHOWN]]
        yield Fault.of(code, place, **_some(shown, len(again)))


def imbalance(code: str, place: str, found: Sequence[str], labels: Sequence[str] = ()) -> Iterator[Fault]:
    """Judge the balance of a task's labels: those that it declares, or else those that are found, if there are few."""
    counts, total = Counter(found), len(found)
    many = len(labels or counts)
    if total > 1 and many < FEW_LABELS:
        entropy = sum(n / total * math.log(total / n) for n in counts.values()) / math.log(max(many, 2))
        if entropy <= BALANCED:
            (label, most), *_ = counts.most_common(1)
            yield Fault.of(code, place, entropy=entropy, wanted=BALANCED, label=label, most=most, of=total)


def _some(values: Sequence[str], count: int | None = None) -> dict[str, Any]:
    """Give how many there are, and the first of them."""
    total = len(values) if count is None else count
    shown = (value if len(value) <= LONGEST else value[: LONGEST - 3] + "..." for value in values[:SHOWN])
    more = [Note.of("more", count=total - SHOWN)] if total > SHOWN else []
    return {"count": total, "shown": (*shown, *more)}
