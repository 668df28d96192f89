"""Faults of a suite, each with a code, a place and values: E are errors, W are warnings."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import pyarrow as pa

from ..core import Labels, Pool, Store, Suite, Task, parts_of_pools
from ..errors import SuiteError
from ..progress import Progress
from . import columns, linked, rows
from .documents import Documents
from .faults import Fault, doubles, imbalance, some
from .fields import FieldPool, view
from .functions.pools import FunctionPool, is_whole
from .leaks import COMPARED_ROLES, find, sides_of
from .linked import Linked
from .rows import Rows, faults_in, from_table
from .table_faults import table_faults, tables_of

BLOCK = 1000  # linked examples that are read at once


def check(suite: Suite, progress: Progress | None = None) -> Iterator[Fault]:
    """Read the whole suite and yield its faults; of texts that are none any more, nothing else is said."""
    changed = [*_changed_columns(suite)]
    yield from changed
    if changed and not _are_texts(suite):
        return
    yield from table_faults(suite)
    for name, stored in suite.stores.items():
        yield from _check_store(f"store-{name}", stored)
    for done, task in enumerate(suite.tasks.values(), 1):
        yield from _check_task(suite, task)
        if progress:
            progress(done, len(suite.tasks))
    yield from _check_folds(suite)


def _changed_columns(suite: Suite) -> Iterator[Fault]:
    for of in tables_of(suite):
        for name in of.table.column_names:
            if columns.digest(of.table[name]) != of.digests[name]:
                yield Fault.of("E001-column", f"records/{name}")
    for store, stored in suite.stores.items():
        for name in stored.changed() if isinstance(stored, Documents) else ():
            yield Fault.of("E001-column", f"store-{store}/{name}")


def _are_texts(suite: Suite) -> bool:
    tables = [of.table for of in tables_of(suite)]
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
    yield from _check_functions(task.id, kept)
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
        if isinstance(pool, FieldPool) and pool != view(pool.records, pool.inputs, pool.outputs, pool.split):
            yield Fault.of("E001-view", f"{task}/{name}")


def _check_functions(task: str, pools: Mapping[str, Pool]) -> Iterator[Fault]:
    """Compare the rows of functions with what names them, and look for words that are in two pools."""
    own = {name: pool for name, pool in pools.items() if isinstance(pool, FunctionPool)}
    for name, pool in own.items():
        if not is_whole(pool):
            yield Fault.of("E001-pool", f"{task}/{name}")
            return
    for ours, theirs in itertools.combinations(own, 2):
        if both := sorted(own[ours].shown_words() & own[theirs].shown_words()):
            yield Fault.of("E202", f"{task}/{ours}+{theirs}", **some(both))


def _rows_of(pool: Pool) -> Rows | None:
    """Give the rows of a pool that has its own."""
    return pool.rows if isinstance(pool, Linked) else pool if isinstance(pool, Rows) else None


def _check_store(place: str, of: Store) -> Iterator[Fault]:
    if not isinstance(of, Documents):
        return
    if again := of.doubled():
        yield Fault.of("E106", place, **some(again))
    if lost := of.lost_members():
        yield Fault.of("E105-members", place, **some(lost))


def _check_links(suite: Suite, task: Task) -> Iterator[Fault]:
    """Look for documents that are missing, and for pools whose documents are not those that they were named by."""
    broken = list(linked.faults(suite, task))
    yield from (Fault(place, note) for place, note in broken)
    for name, pool in suite.pools[task.id].items():
        if isinstance(pool, Linked) and not broken:
            if pool.digest != linked.of_rows(pool.rows, pool.store, by_id=pool.by_id).digest:
                yield Fault.of("E001-linked", f"{task.id}/{name}")
            if pool.by_id and (empty := _empty_queries(pool)):
                yield Fault.of("E104", f"{task.id}/{name}", **some(empty))


def _empty_queries(pool: Linked) -> list[str]:
    blocks = (range(start, min(start + BLOCK, len(pool))) for start in range(0, len(pool), BLOCK))
    items = (example.item for block in blocks for example in pool.take(block))
    return [item.id for item in items if not "".join(item.fields.values()).strip()]


def _check_rows(task: Task, pool: Rows, table: pa.Table, place: str) -> Iterator[Fault]:
    gold, ids = table["gold"].to_pylist(), table["id"].to_pylist()
    if table.num_rows != len(pool):
        yield Fault.of("E001-rows", place, rows=table.num_rows, declared=len(pool))
    examples = from_table(task.output, pool.names, table).take(range(table.num_rows))
    answers = [example.gold for example in examples]
    if rows.labels_of(task.output, answers) != table["label"].to_pylist():
        yield Fault.of("E001-labels", place)
    inputs = ["\x1f".join(values) for values in table["fields"].to_pylist()]
    candidates = table["candidates"].to_pylist()
    both = [f"{asked}\x1e{answer}\x1e{those}" for asked, answer, those in zip(inputs, gold, candidates, strict=True)]
    yield from doubles("E101", place, both, ids)
    yield from doubles("E102", place, ids, ids)
    if several := len(set(both)) - len(set(inputs)):
        yield Fault.of("W104", place, count=several)
    if wrong := [f"{e.item.id} ({what})" for e in examples for what in faults_in(task.output, e, examples[0])]:
        yield Fault.of("E103", place, **some(wrong))
    if empty := [e.item.id for e in examples if not "".join(e.item.fields.values()).strip()]:
        yield Fault.of("E104", place, **some(empty))
    if isinstance(task.output, Labels):
        names = task.output.names
        labels = [label for label in table["label"].to_pylist() if label is not None and label >= 0]
        if any(label >= len(names) for label in labels):
            yield Fault.of("E001-pool", place)
        found = [names[label] for label in labels if label < len(names)]
        yield from imbalance("W101", place, found, names)


def _check_overlap(task: str, tables: Mapping[str, pa.Table]) -> Iterator[Fault]:
    """Look for the same input, or the same group, in two pools of a task."""
    for ours, theirs in itertools.combinations(tables, 2):
        place = f"{task}/{ours}+{theirs}"
        for code, column in (("E201", "fields"), ("E202", "group")):
            seen = [{str(value) for value in tables[pool][column].to_pylist()} for pool in (ours, theirs)]
            if both := sorted(seen[0] & seen[1]):
                yield Fault.of(code, place, **some(both))


def _check_folds(suite: Suite) -> Iterator[Fault]:
    for fold, roles in suite.folds.items():
        for role, names in roles.items():
            yield from (Fault.of("E301", f"{fold}/{role}", task=name) for name in names if name not in suite.tasks)
        for ours, theirs in itertools.combinations(roles, 2):
            if both := sorted(set(roles[ours]) & set(roles[theirs])):
                yield Fault.of("E302", f"{fold}/{ours}+{theirs}", **some(both))
        for ours, theirs in COMPARED_ROLES:
            yield from _check_leaks(suite, fold, ours, theirs)


def _check_leaks(suite: Suite, fold: str, ours: str, theirs: str) -> Iterator[Fault]:
    """Look for what two roles share; of tasks that are in both, or have no known parts, report that alone."""
    roles = suite.folds[fold]
    both = {*roles.get(ours, ())} & {*roles.get(theirs, ())}
    kept = {
        role: [n for n in roles.get(role, ()) if n in suite.tasks and n not in both and _has_parts(suite.pools[n])]
        for role in (ours, theirs)
    }
    if all(kept.values()):
        for leak in find(*sides_of(suite, (ours, kept[ours]), (theirs, kept[theirs]))):
            yield Fault(f"{fold}/{ours}+{theirs}", leak.note)
