"""RowFaults of a suite, each with a code and a place: E are errors, W are warnings."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from ..core import Labels, Pool, Store, Suite, Task
from ..progress import Progress
from ..texts import counted, overlaps
from . import columns, linked, rows
from .documents import Documents
from .fields import FieldPool, Records, view
from .instructions import LEAKING
from .leaks import sources_of
from .linked import Linked
from .rows import Rows, faults_in, from_table

CODES = {
    "E001": "the data is not what its digest says",
    "E101": "an example stands twice in a pool",
    "E102": "an id stands twice in a pool",
    "E103": "an answer is empty, or not of its task's form",
    "E104": "an input is empty",
    "E105": "a document is in no store of the suite, or its store is not there",
    "E106": "an id stands twice in a store",
    "E201": "an input is in two pools of its task",
    "E202": "a group is in two pools of its task",
    "E301": "a fold names a task that is not in the suite",
    "E302": "a task has two roles in a fold",
    "E303": "tasks of two roles share a source",
    "E304": "texts of two roles overlap",
    "E401": "a task file or split list can't be read, or a field is missing, of the wrong type or not UTF-8",
    "E402": "a task file has too few or too many instances",
    "E403": "two instances of a task file have the same input or id",
    "E404": "an input or output of a task file is empty",
    "E405": "a positive example of a task file is among its instances",
    "E406": "a task is in two splits, or twice in one",
    "E407": "a key stands twice in an object of a task file",
    "E408": "instances of two task files have the same id",
    "W101": "labels are imbalanced",
    "W102": "a field is not filled in every record",
    "W103": "a term holds the separator of its list",
    "W105": "a list has one term nearly everywhere",
    "W104": "an input has several answers in a pool",
    "W401": "labels of a task file are imbalanced",
    "W402": "a task is in no split of any track",
    "W403": "a category, language or domain is not known",
    "W404": "instances of a task file have no id",
    "W405": "the output of an example is a list, of which only the first is shown",
    "W406": "a task file has no positive, or no negative example",
    "W407": "a field of a task file is empty, or its licence is missing",
}
BALANCED, FEW_LABELS = 0.8, 15  # normalised entropy; tasks of more labels are not judged by it
COMPARED = 1000  # examples of each task whose texts are compared between folds
BLOCK = 1000  # linked examples that are read at once
SHOWN = 5  # places named for one fault of one pool


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, and where."""

    code: str
    place: str
    message: str

    @property
    def is_error(self) -> bool:
        """Tell an error from a warning."""
        return self.code.startswith("E")


def check(suite: Suite, progress: Progress | None = None) -> Iterator[Fault]:
    """Read the whole suite and yield its faults."""
    for of in _tables(suite):
        yield from _check_records(of)
    for name, stored in suite.stores.items():
        yield from _check_store(f"store-{name}", stored)
    for done, (name, task) in enumerate(suite.tasks.items(), 1):
        yield from _check_views(name, suite.pools[name])
        yield from _check_links(suite, task)
        pools = {pool: kept for pool, of in suite.pools[name].items() if (kept := _rows_of(of))}
        tables = {pool: kept.load(None) for pool, kept in pools.items()}
        for pool, table in tables.items():
            yield from _check_rows(task, pools[pool], table, f"{name}/{pool}")
        yield from _check_overlap(name, tables)
        if progress:
            progress(done, len(suite.tasks))
    yield from _check_folds(suite)


def _tables(suite: Suite) -> Iterable[Records]:
    """Give the tables that the suite's views share, each once."""
    pools = (pool for pools in suite.pools.values() for pool in pools.values())
    return {id(pool.records): pool.records for pool in pools if isinstance(pool, FieldPool)}.values()


def _check_records(of: Records) -> Iterator[Fault]:
    table = of.table
    for name in table.column_names:
        if columns.digest(table[name]) != of.digests[name]:
            yield Fault("E001", f"records/{name}", "the column's digest differs from the manifest's")
    shown = [list(map(str, row.values())) for row in table.drop_columns(["id"]).to_pylist()]
    yield from _doubles("E101", "records", "the same record", ["\x1f".join(cells) for cells in shown], table["id"])
    yield from _doubles("E102", "records", "the same id", table["id"].to_pylist(), table["id"])
    for f in of.fields:
        if empty := table[f.name].null_count:
            left = f"{empty:,} of {table.num_rows:,} records have none and are left out of the tasks that use it"
            yield Fault("W102", f"records/{f.name}", left)
        if f.kind == "label":
            found = table[f.name].drop_null().to_pylist()
            yield from imbalance("W101", f"records/{f.name}", found, of.label_names[f.name])
        if f.kind == "list":
            yield from _single_terms(f.name, table[f.name].drop_null().to_pylist())
            terms = set(pc.list_flatten(table[f.name]).to_pylist())
            if held := sorted(term for term in terms if (f.separator.strip() or f.separator) in term):
                yield Fault(
                    "W103", f"records/{f.name}", f"{f.separator!r} is in {counted(len(held), 'term')}: {_some(held)}"
                )


def _single_terms(name: str, lists: Sequence[Sequence[str]]) -> Iterator[Fault]:
    """Look for lists that were not split, for want of the right separator."""
    single = [terms[0] for terms in lists if len(terms) == 1]
    hinted = [term for term in single if "," in term or "|" in term]
    if len(single) > 0.9 * len(lists) and len(hinted) > len(lists) / 2:
        yield Fault("W105", f"records/{name}", f"try --separator {name}=',' or another: {_some(hinted)}")


def _check_views(task: str, pools: Mapping[str, Pool]) -> Iterator[Fault]:
    for name, pool in pools.items():
        if isinstance(pool, FieldPool) and pool != view(pool.records, pool.inputs, pool.outputs):
            yield Fault("E001", f"{task}/{name}", "the view's digest or size differs from the manifest's")


def _rows_of(pool: Pool) -> Rows | None:
    """Give the rows of a pool that has its own."""
    return pool.rows if isinstance(pool, Linked) else pool if isinstance(pool, Rows) else None


def _check_store(place: str, of: Store) -> Iterator[Fault]:
    if not isinstance(of, Documents):
        return
    for name in of.changed():
        yield Fault("E001", f"{place}/{name}", "the column's digest differs from the manifest's")
    if again := of.doubled():
        yield Fault("E106", place, f"the same id in {counted(len(again), 'more document')}: {_some(again)}")
    if lost := of.lost_members():
        yield Fault("E105", place, f"{counted(len(lost), 'member')} that the store does not have: {_some(lost)}")


def _check_links(suite: Suite, task: Task) -> Iterator[Fault]:
    """Look for documents that are missing, and for pools whose documents are not those that they were named by."""
    broken = list(linked.faults(suite, task))
    yield from (Fault("E105", place, told) for place, told in broken)
    for name, pool in suite.pools[task.id].items():
        if isinstance(pool, Linked) and not broken:
            if pool.digest != linked.of_rows(pool.rows, pool.store, by_id=pool.by_id).digest:
                yield Fault(
                    "E001", f"{task.id}/{name}", "the pool's digest, or its documents', differs from the manifest's"
                )
            if pool.by_id and (empty := _empty_queries(pool)):
                yield Fault(
                    "E104", f"{task.id}/{name}", f"empty document in {counted(len(empty), 'row')}: {_some(empty)}"
                )


def _empty_queries(pool: Linked) -> list[str]:
    blocks = (range(start, min(start + BLOCK, len(pool))) for start in range(0, len(pool), BLOCK))
    items = (example.item for block in blocks for example in pool.take(block))
    return [item.id for item in items if not "".join(item.fields.values()).strip()]


def _check_rows(task: Task, pool: Rows, table: pa.Table, place: str) -> Iterator[Fault]:
    if rows.digest(pool.names, table) != pool.digest:
        yield Fault("E001", place, "the pool's digest differs from the manifest's")
    gold = table["gold"].to_pylist()
    if table.num_rows != len(pool):
        yield Fault("E001", place, f"{table.num_rows:,} rows, and the manifest says {len(pool):,}")
    examples = from_table(task.output, pool.names, table).take(range(table.num_rows))
    answers = [example.gold for example in examples]
    if rows.labels_of(task.output, answers) != table["label"].to_pylist():
        yield Fault("E001", place, "the labels that draws go by are not those of the answers")
    inputs = ["\x1f".join(values) for values in table["fields"].to_pylist()]
    candidates = table["candidates"].to_pylist()
    both = [f"{asked}\x1e{answer}\x1e{those}" for asked, answer, those in zip(inputs, gold, candidates, strict=True)]
    yield from _doubles("E101", place, "the same example", both, table["id"])
    yield from _doubles("E102", place, "the same id", table["id"].to_pylist(), table["id"])
    if several := len(set(both)) - len(set(inputs)):
        yield Fault("W104", place, f"an input with another answer in {counted(several, 'more row')}")
    if wrong := [f"{e.item.id} ({what})" for e in examples for what in faults_in(task.output, e, examples[0])]:
        yield Fault("E103", place, f"{counted(len(wrong), 'bad answer')}: {_some(wrong)}")
    if empty := [e.item.id for e in examples if not "".join(e.item.fields.values()).strip()]:
        yield Fault("E104", place, f"empty input in {counted(len(empty), 'row')}: {_some(empty)}")
    if isinstance(task.output, Labels):
        names = task.output.names
        found = [names[label] for label in table["label"].to_pylist() if label >= 0]
        yield from imbalance("W101", place, found, names)


def _check_overlap(task: str, tables: Mapping[str, pa.Table]) -> Iterator[Fault]:
    """Look for the same input, or the same group, in two pools of a task."""
    for ours, theirs in itertools.combinations(tables, 2):
        place = f"{task}/{ours}+{theirs}"
        for code, column, what in (("E201", "fields", "input"), ("E202", "group", "group")):
            seen = [{str(value) for value in tables[pool][column].to_pylist()} for pool in (ours, theirs)]
            if both := sorted(seen[0] & seen[1]):
                yield Fault(code, place, f"{counted(len(both), what)} in both: {_some(both)}")


def _check_folds(suite: Suite) -> Iterator[Fault]:
    for fold, roles in suite.folds.items():
        for role, names in roles.items():
            for name in names:
                if name not in suite.tasks:
                    yield Fault("E301", f"{fold}/{role}", f"no such task: {name}")
        for ours, theirs in itertools.combinations(roles, 2):
            if LEAKING in (ours, theirs) and "meta" not in (ours, theirs):
                continue  # that they share something with test tasks is why they are not trained on
            place = f"{fold}/{ours}+{theirs}"
            pairs = [[suite.tasks[n] for n in roles[role] if n in suite.tasks] for role in (ours, theirs)]
            if both := sorted(set(roles[ours]) & set(roles[theirs])):
                yield Fault("E302", place, f"{counted(len(both), 'task')} in both: {_some(both)}")
            apart = [[task for task in side if task.id not in both] for side in pairs]  # one that is in both is told
            if LEAKING not in (ours, theirs):
                yield from _shared_sources(place, *apart)
                yield from _shared_texts(suite, place, *apart)


def _shared_sources(place: str, ours: Sequence[Task], theirs: Sequence[Task]) -> Iterator[Fault]:
    found = [{task.id: sources_of(task) for task in side} for side in (ours, theirs)]
    written = [{key: source for of in side.values() for key, source in of.items()} for side in found]
    for key in sorted(written[0].keys() & written[1].keys()):
        tasks = [name for side in found for name, of in side.items() if key in of]
        yield Fault("E303", place, f"source {written[0][key]!r} is shared by {_some(tasks)}")


def _shared_texts(suite: Suite, place: str, ours: Sequence[Task], theirs: Sequence[Task]) -> Iterator[Fault]:
    """Compare the texts of tasks made of rows; views of one table share their records, and are split by record."""
    (our_places, our_texts), (their_places, their_texts) = (_texts(suite, side) for side in (ours, theirs))
    shown, count = [], 0
    for ours_at, theirs_at, share in overlaps(our_texts, their_texts):
        count += 1
        if count <= SHOWN:
            shown.append(f"{our_places[ours_at]} ~ {their_places[theirs_at]} ({share:.0%})")
    if count:
        limit = f"; the first {COMPARED:,} examples of each task were compared"
        yield Fault("E304", place, f"{counted(count, 'pair')} of half or more: {_some(shown, count)}{limit}")


def _texts(suite: Suite, tasks: Sequence[Task]) -> tuple[list[str], list[str]]:
    places, texts = [], []
    for task in tasks:
        for name, pool in suite.pools[task.id].items():
            if isinstance(pool, Linked) and any(linked.faults(suite, task)):
                continue  # told already
            if isinstance(pool, Linked):
                examples = pool.take(range(min(COMPARED, len(pool))))
                places += [f"{task.id}/{name}/{example.item.id}" for example in examples]
                texts += [" ".join(example.item.fields.values()) for example in examples]
            elif isinstance(pool, Rows):
                table = pool.load(["id", "fields"]).slice(0, COMPARED)
                places += [f"{task.id}/{name}/{id_}" for id_ in table["id"].to_pylist()]
                texts += [" ".join(values) for values in table["fields"].to_pylist()]
    return places, texts


def _doubles(code: str, place: str, what: str, values: Sequence[str], ids: pa.ChunkedArray) -> Iterator[Fault]:
    first: dict[str, int] = {}
    again = [(first[value], n) for n, value in enumerate(values) if first.setdefault(value, n) != n]
    if again:
        shown = [f"{ids[a].as_py()} = {ids[b].as_py()}" for a, b in again[:SHOWN]]
        yield Fault(code, place, f"{what} in {counted(len(again), 'more row')}: {_some(shown, len(again))}")


def imbalance(code: str, place: str, found: Sequence[str], labels: Sequence[str] = ()) -> Iterator[Fault]:
    """Judge the balance of a task's labels: those that it declares, or else those that are found, if there are few."""
    counts, total = Counter(found), len(found)
    many = len(labels or counts)
    if total > 1 and many < FEW_LABELS:
        entropy = sum(n / total * math.log(total / n) for n in counts.values()) / math.log(max(many, 2))
        if entropy <= BALANCED:
            (label, most), *_ = counts.most_common(1)
            told = f"normalised entropy {entropy:.2f}, above {BALANCED} is wanted; {label!r} has {most:,} of {total:,}"
            yield Fault(code, place, told)


def _some(values: Sequence[str], count: int | None = None) -> str:
    shown = ", ".join(value if len(value) <= 80 else value[:77] + "..." for value in values[:SHOWN])
    more = (count or len(values)) - SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
