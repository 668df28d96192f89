"""Linked pools: examples that name documents by id, so that no text is copied into rows, gold or answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from ..core import Answer, Example, Ints, Suite, Task, store_of
from ..errors import SuiteError, nearest
from ..ids import fingerprint
from ..messages import Note
from . import rows
from .documents import Documents
from .rows import Rows


@dataclass(frozen=True, slots=True)
class Linked:
    """The examples of one pool; candidates are ids where the output has a store, and with `by_id` the query is one too.

    With `by_id`, the only field of a row is the id of a document, whose own fields take its place when it is read.
    """

    rows: Rows
    store: Documents
    by_id: bool
    digest: str

    def __len__(self) -> int:
        return len(self.rows)

    def labels(self) -> Ints:
        """Give each row's place in the label names, -1 for none or many."""
        return self.rows.labels()

    def groups(self) -> Ints:
        """Give each row's group as a number."""
        return self.rows.groups()

    def golds(self) -> list[Answer]:
        """Give each row's first gold answer."""
        return self.rows.golds()

    def take(self, rows: Sequence[int]) -> list[Example]:
        """Read these rows, in this order, with the texts of their queries."""
        examples = self.rows.take(rows)
        if not self.by_id:
            return examples
        asked = self.store.take([id_ for example in examples for id_ in example.item.fields.values()])
        return [
            replace(e, item=replace(e.item, fields=one.fields, document=one.id))
            for e, one in zip(examples, asked, strict=True)
        ]

    def named(self) -> list[str]:
        """Give the ids of all documents that the rows name, each once."""
        kept = ["fields"] * self.by_id + ["candidates"] * bool(store_of(self.rows.output))
        if not kept:
            return []
        table = self.rows.load(kept)
        ids = pa.chunked_array([chunk for name in kept for chunk in pc.list_flatten(table[name]).chunks], pa.string())
        return list(pc.unique(ids).to_pylist())


def pool(task: Task, examples: Iterable[Example], store: Documents, *, by_id: bool = False) -> Linked:
    """Check examples against their task and their documents, once, and make a pool of them."""
    made = rows.pool(task, examples)
    if by_id and len(made) and len(made.names) != 1:
        raise SuiteError(f"a query by id must have a single field, the id of its document: {', '.join(made.names)}")
    if (named := store_of(task.output)) not in ("", store.name):
        raise SuiteError(f"the candidates of task {task.id!r} are in store {named!r}, not in {store.name!r}")
    return of_rows(made, store, by_id=by_id)


def of_rows(made: Rows, store: Documents, *, by_id: bool) -> Linked:
    """Make a pool of rows, named by them and by the texts of the documents that they name."""
    linked = Linked(made, store, by_id, "")
    return replace(linked, digest=fingerprint("linked", by_id, made.digest, store.digest(linked.named())))


def faults(suite: Suite, task: Task) -> Iterator[tuple[str, Note]]:
    """Yield what is wrong with the links of a task's pools, each fault with its place; no text is read."""
    wanted = store_of(task.output)
    if wanted and wanted not in suite.stores:
        yield task.id, Note.of("E105-store", store=wanted, hint=nearest(wanted, suite.stores))
        return
    for name, of in suite.pools[task.id].items():
        place = f"{task.id}/{name}"
        if not isinstance(of, Linked):
            if wanted:
                yield place, Note.of("E105-unlinked", store=wanted, kind=type(of).__name__)
        elif suite.stores.get(of.store.name) is not of.store:
            yield place, Note.of("E105-other", store=of.store.name)
        elif lost := of.store.missing(of.named()) or of.store.lost_members():
            yield place, Note.of("E105-documents", store=of.store.name, ids=lost)


def refuse_broken(suite: Suite, tasks: Iterable[str]) -> None:
    """Refuse tasks that name a store or documents which the suite does not have."""
    if found := [f"{place}: {told}" for name in tasks for place, told in faults(suite, suite.task(name))]:
        raise SuiteError("\n  ".join(["missing documents:", *found]))
