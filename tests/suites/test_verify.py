from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from taskloom.core import Example, Item, Labels, Stored, Suite, Task, Text
from taskloom.errors import StoreError
from taskloom.suites import linked, rows, store
from taskloom.suites.check import check
from taskloom.suites.documents import documents
from taskloom.suites.verify import verify

if TYPE_CHECKING:
    from ..conftest import Refused

TOPIC = Task(id="topic", instruction="Name it.", output=Labels(("land", "water")), metrics=("accuracy",))
PAPERS = [Stored("p1", {"title": "On trees"}), Stored("p2", {"title": "On fish"}), Stored("p3", {"title": "On owls"})]
EXAMPLES = [Example(Item("1", {"query": "p1"}), ("land",), "p1"), Example(Item("2", {"query": "p2"}), ("water",), "p2")]


@pytest.mark.parametrize("before", ["{", "[" * 5000, "[]", '{"files": 1e'])
def test_what_was_found_before_is_found_again_where_it_is_damaged(tmp_path: Path, before: str):
    of = store.write(rows_suite(), tmp_path / "s")
    assert verify(of, tmp_path / "s", of.tasks, before) == verify(of, tmp_path / "s", of.tasks)


def linked_suite() -> Suite:
    """Documents to label, and one that no row names."""
    of = documents("papers", PAPERS)
    pools = {"topic": {"all": linked.pool(TOPIC, EXAMPLES, of, by_id=True)}}
    return Suite(id="linked", tasks={"topic": TOPIC}, pools=pools, stores={"papers": of})


def rows_suite() -> Suite:
    """Texts to label, and to answer freely."""
    free = replace(TOPIC, id="free", output=Text())
    pools = {task.id: {"all": rows.pool(task, EXAMPLES)} for task in (TOPIC, free)}
    return Suite(id="rows", tasks={"topic": TOPIC, "free": free}, pools=pools)


def swap(file: Path, one: bytes, other: bytes) -> None:
    """Change letters of a file, and not its size."""
    content = file.read_bytes()
    assert content.count(one) == 1
    file.write_bytes(content.replace(one, other))


def rewrite(folder: Path, column: str, change: Callable[[list[object]], list[object]]) -> None:
    """Change a column of a suite's rows, and say how large their file is then."""
    file = folder / store.ROWS
    with pq.ParquetFile(file) as old:
        groups = [old.read_row_group(n) for n in range(old.num_row_groups)]
    with pq.ParquetWriter(file, rows.SCHEMA, compression="zstd") as new:
        for table in groups:
            at = table.schema.get_field_index(column)
            of = rows.SCHEMA.field(column)
            values = pa.array(change(table[column].to_pylist()), of.type)
            new.write_table(table.cast(rows.SCHEMA).set_column(at, of, values))
    manifest = json.loads((folder / store.MANIFEST).read_text(encoding="utf-8"))
    manifest["files"][store.ROWS] = file.stat().st_size
    (folder / store.MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")


def verified(folder: Path, *tasks: str, before: str = "") -> str:
    opened = store.open_suite(folder)
    return verify(opened, folder, tasks or opened.tasks, before)


def test_data_as_it_was_written_is_verified(tmp_path: Path, small_suite: Suite):
    for number, made in enumerate((small_suite, linked_suite(), rows_suite())):
        folder = tmp_path / str(number)
        store.write(made, folder)
        files = {file.name: file.read_bytes() for file in folder.iterdir()}
        assert verified(folder) == verified(folder)
        assert {file.name: file.read_bytes() for file in folder.iterdir()} == files


def test_changed_letters_of_records_are_found_where_a_task_has_their_column(
    tmp_path: Path, small_suite: Suite, refused: Refused
):
    store.write(small_suite, tmp_path)
    swap(tmp_path / store.RECORDS, b"On trees", b"On bushe")
    assert verified(tmp_path, "keywords->year")
    with refused(StoreError, "data-changed", pools=["title->year/all"], path=str(tmp_path)):
        verified(tmp_path, "keywords->year", "title->year")


@pytest.mark.parametrize(("one", "other"), [(b"On trees", b"On bushe"), (b"On owls", b"In owls")])
def test_changed_letters_of_documents_are_found(tmp_path: Path, refused: Refused, one: bytes, other: bytes):
    store.write(linked_suite(), tmp_path)
    swap(tmp_path / "store-papers.arrow", one, other)
    with refused(StoreError, "data-changed", pools=["topic/all"]):
        verified(tmp_path)


def test_documents_that_fit_their_store_but_not_the_task_are_found(tmp_path: Path, refused: Refused):
    store.write(linked_suite(), tmp_path / "s")
    changed = [replace(PAPERS[0], fields={"title": "On bushe"}), *PAPERS[1:]]
    other = replace(linked_suite(), tasks={}, pools={}, stores={"papers": documents("papers", changed)})
    store.write(other, tmp_path / "other")
    (tmp_path / "other/store-papers.arrow").replace(tmp_path / "s/store-papers.arrow")
    ours, theirs = (json.loads((tmp_path / name / store.MANIFEST).read_text()) for name in ("s", "other"))
    (tmp_path / "s" / store.MANIFEST).write_text(json.dumps(ours | {"stores": theirs["stores"]}))
    with refused(StoreError, "data-changed", pools=["topic/all"]):
        verified(tmp_path / "s")


@pytest.mark.parametrize("made", [linked_suite, rows_suite])
@pytest.mark.parametrize(
    ("column", "change"),
    [
        ("fields", lambda values: [["p3"], *values[1:]]),
        ("gold", lambda values: ['["water"]', *values[1:]]),
        ("gold", lambda values: ["no JSON", *values[1:]]),
        ("group", lambda values: ["p9", *values[1:]]),
        ("label", lambda values: [1 - values[0], *values[1:]]),  # which is derived, and no part of the digest
    ],
    ids=["fields", "gold", "no JSON", "group", "label"],
)
def test_changed_rows_are_found(
    tmp_path: Path,
    refused: Refused,
    made: Callable[[], Suite],
    column: str,
    change: Callable[[list[object]], list[object]],
):
    store.write(made(), tmp_path)
    rewrite(tmp_path, column, change)
    with refused(StoreError, "data-changed"):
        verified(tmp_path)
    assert "E001" in {fault.code for fault in check(store.open_suite(tmp_path))}


def test_what_was_verified_is_read_again_only_once_a_file_was_changed(
    tmp_path: Path, small_suite: Suite, refused: Refused
):
    store.write(small_suite, tmp_path)
    first = verified(tmp_path, "keywords->year")
    both = verified(tmp_path, "title->year", before=first)
    assert verified(tmp_path, "keywords->year", before=both) == both
    assert set(json.loads(first)["contents"]) < set(json.loads(both)["contents"])
    file = tmp_path / store.RECORDS
    times = file.stat()
    swap(file, b"On trees", b"On bushe")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    with refused(StoreError, "data-changed"):
        verified(tmp_path, before=both)
    seen = file.stat()  # as if it had been so before, to show that it is not read again
    kept = json.loads(both)
    kept["files"][file.name] = [seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns]
    assert json.loads(verified(tmp_path, "title->year", before=json.dumps(kept))) == kept
