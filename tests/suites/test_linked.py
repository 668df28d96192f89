from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from taskloom.core import Example, Item, Labels, Ranking, Stored, Suite, Task
from taskloom.errors import StoreError, SuiteError, UsageError
from taskloom.suites import linked, rows, store
from taskloom.suites.check import check
from taskloom.suites.documents import Documents, documents

PAPERS = [
    Stored("p1", {"title": "On trees", "abstract": "Elms and oaks."}),
    Stored("p2", {"title": "On birds", "abstract": "Owls in elms."}),
    Stored("p3", {"title": "On fish"}),
    Stored("p4", {"title": "On stones"}),
]
NEAR = Task(id="near", instruction="Rank.", output=Ranking(store="papers"), metrics=("ndcg",))
SEARCH = replace(NEAR, id="search")
TOPIC = Task(id="topic", instruction="Name it.", output=Labels(("land", "water")), metrics=("accuracy",))


def example(id_: str, query: str, candidates: Sequence[str], gold: Any) -> Example:
    return Example(Item(id_, {"query": query}, tuple(candidates)), (gold,), query)


NEAR_P1 = example("1", "p1", ["p2", "p3"], (("p2", 1.0),))
ELMS = example("1", "owls and elms", ["p1", "p2", "p3"], (("p2", 2.0), ("p1", 1.0)))


def suite_of(papers: Sequence[Stored] = PAPERS) -> Suite:
    """A document as a query, a text as a query, and a document to label."""
    of = documents("papers", papers)
    topics = [example("1", "p1", (), "land"), example("2", "p3", (), "water")]
    pools = {
        "near": {"test": linked.pool(NEAR, [NEAR_P1], of, by_id=True)},
        "search": {"test": linked.pool(SEARCH, [ELMS], of)},
        "topic": {"all": linked.pool(TOPIC, topics, of, by_id=True)},
    }
    tasks = {task.id: task for task in (NEAR, SEARCH, TOPIC)}
    return Suite(id="linked", tasks=tasks, pools=pools, stores={"papers": of})


def test_a_query_by_id_has_the_fields_of_its_document_and_candidates_stay_ids():
    suite = suite_of()
    (near,) = suite.pools["near"]["test"].take([0])
    assert near.item == Item("1", PAPERS[0].fields, ("p2", "p3"))
    assert (near.gold, near.group) == (((("p2", 1.0),),), "p1")
    assert suite.pools["search"]["test"].take([0]) == [ELMS]
    assert [one.item.fields for one in suite.pools["topic"]["all"].take([1, 0])] == [PAPERS[2].fields, PAPERS[0].fields]
    assert suite.pools["topic"]["all"].labels().tolist() == [0, 1]


def digests(suite: Suite) -> dict[str, str]:
    return {name: suite.digest(name) for name in suite.tasks}


@pytest.mark.parametrize(
    ("id_", "touched"),
    [("p1", ["near", "search", "topic"]), ("p2", ["near", "search"]), ("p3", ["near", "search", "topic"]), ("p4", [])],
)
def test_a_changed_text_changes_the_digests_of_the_tasks_that_name_it(id_: str, touched: list[str]):
    before = digests(suite_of())
    after = digests(suite_of([replace(one, fields={"title": "New"}) if one.id == id_ else one for one in PAPERS]))
    assert [name for name in before if before[name] != after[name]] == touched


def test_rows_are_a_part_of_the_digest():
    of = documents("papers", PAPERS)
    pools = [linked.pool(SEARCH, [one], of) for one in (ELMS, replace(ELMS, gold=((("p2", 1.0),),)))]
    pools += [linked.pool(TOPIC, [example("1", "p1", (), "land")], of, by_id=by_id) for by_id in (True, False)]
    assert len({pool.digest for pool in pools}) == 4


def test_what_was_written_is_read_back(tmp_path: Path):
    suite = suite_of()
    opened = store.write(suite, tmp_path / "s")
    assert (opened.tasks, opened.fingerprint) == (suite.tasks, suite.fingerprint)
    for name, pools in suite.pools.items():
        for pool, kept in pools.items():
            again = opened.pools[name][pool]
            assert again.digest == kept.digest
            assert again.take(range(len(kept))) == kept.take(range(len(kept)))
            assert again.labels().tolist() == kept.labels().tolist()
            assert again.groups().tolist() == kept.groups().tolist()
    assert opened.stores["papers"].take(["p3", "p1"]) == [PAPERS[2], PAPERS[0]]
    assert list(check(opened)) == []
    assert (tmp_path / "s" / "store-papers.arrow").is_file()
    assert store.write(suite, tmp_path / "s", replace=True).fingerprint == suite.fingerprint


def test_an_opened_suite_is_written_again_as_it_is(tmp_path: Path):
    opened = store.write(suite_of(), tmp_path / "one")
    store.write(opened, tmp_path / "two")
    assert (tmp_path / "one" / "suite.json").read_bytes() == (tmp_path / "two" / "suite.json").read_bytes()


def test_an_empty_pool_is_kept(tmp_path: Path):
    of = documents("papers", [])
    pools = {"search": {"test": linked.pool(SEARCH, [], of)}}
    opened = store.write(Suite(id="s", tasks={"search": SEARCH}, pools=pools, stores={"papers": of}), tmp_path / "s")
    assert (len(opened.pools["search"]["test"]), len(opened.stores["papers"])) == (0, 0)
    assert list(check(opened)) == []


@pytest.mark.parametrize(
    ("bad", "by_id", "named"),
    [
        (example("1", "p9", ["p2"], (("p2", 1.0),)), True, "'p9'"),
        (example("1", "p1", ["p2", "x", "y"], (("p2", 1.0),)), True, "'x', 'y'"),
        (example("1", "a query", ["x"], (("x", 1.0),)), False, "'x'"),
    ],
)
def test_a_document_that_the_store_does_not_have_is_named_when_a_pool_is_made(bad: Example, by_id: bool, named: str):
    with pytest.raises(SuiteError, match=f"missing in store 'papers': {named}"):
        linked.pool(NEAR, [bad], documents("papers", PAPERS), by_id=by_id)


def test_a_pool_that_names_no_document_is_read_as_it_is(tmp_path: Path):
    of, said = documents("papers", PAPERS), [example("1", "said", (), "land")]
    pools = {"topic": {"all": linked.pool(TOPIC, said, of)}}
    opened = store.write(Suite(id="s", tasks={"topic": TOPIC}, pools=pools, stores={"papers": of}), tmp_path / "s")
    linked.refuse_broken(opened, opened.tasks)
    assert opened.pools["topic"]["all"].take([0]) == said


def test_a_query_by_id_is_one_id():
    two = Example(Item("1", {"a": "p1", "b": "p2"}), ("land",), "g")
    with pytest.raises(SuiteError, match="single field, the id of its document: a, b"):
        linked.pool(TOPIC, [two], documents("papers", PAPERS), by_id=True)


def test_the_store_of_a_pool_is_that_of_its_candidates():
    with pytest.raises(SuiteError, match="in store 'papers', not in 'others'"):
        linked.pool(NEAR, [NEAR_P1], documents("others", PAPERS), by_id=True)


def broken(kind: str) -> Suite:
    suite = suite_of()
    of = documents("papers", PAPERS[1:])
    if kind == "no store":
        return replace(suite, stores={"paper": of})
    if kind == "another store":
        return replace(suite, stores={"papers": of})
    if kind == "not linked":
        return replace(suite, pools={**suite.pools, "near": {"test": rows.pool(NEAR, [NEAR_P1])}})
    moved = {
        task: {name: replace(pool, store=of) for name, pool in pools.items()}  # type: ignore[type-var]
        for task, pools in suite.pools.items()
    }
    return replace(suite, pools=moved, stores={"papers": of})


BROKEN = [
    ("no store", "near", r"unknown store: 'papers'; did you mean paper\?"),
    ("another store", "near/test", "the pool is linked to a store of another suite: 'papers'"),
    ("not linked", "near/test", "candidates are in store 'papers', but the pool is not linked to it: Rows"),
    ("missing document", "near/test", "missing in store 'papers': p1"),
]


@pytest.mark.parametrize(("kind", "place", "told"), BROKEN)
def test_broken_links_are_refused_before_anything_is_written_and_told_by_check(
    tmp_path: Path, kind: str, place: str, told: str
):
    suite = broken(kind)
    with pytest.raises(SuiteError, match=f"{place}: {told}"):
        store.write(suite, tmp_path / "s")
    assert list(tmp_path.iterdir()) == []
    assert ("E105", place) in [(fault.code, fault.place) for fault in check(suite)]


def test_check_finds_a_text_that_was_changed_on_disk(tmp_path: Path):
    suite = suite_of()
    store.write(suite, tmp_path / "s")
    file = tmp_path / "s" / "store-papers.arrow"
    data = file.read_bytes()
    assert data.count(b"Owls in elms.") == 1
    file.write_bytes(data.replace(b"Owls in elms.", b"Owls in oaks."))
    found = [(fault.code, fault.place) for fault in check(store.open_suite(tmp_path / "s"))]
    assert found == [("E001", "store-papers/abstract"), ("E001", "near/test"), ("E001", "search/test")]


def test_check_finds_an_id_that_was_changed_on_disk(tmp_path: Path):
    store.write(suite_of(), tmp_path / "s")
    file = tmp_path / "s" / "store-papers.arrow"
    file.write_bytes(file.read_bytes().replace(b"p1", b"p9"))
    found = [(fault.code, fault.place) for fault in check(store.open_suite(tmp_path / "s"))]
    assert ("E001", "store-papers/id") in found
    assert ("E001", "store-papers/id_hash") in found
    assert ("E105", "near/test") in found


def test_check_finds_an_empty_query_document():
    papers = [replace(one, fields={"title": " "}) if one.id == "p1" else one for one in PAPERS]
    assert [(f.code, f.place) for f in check(suite_of(papers))] == [("E104", "near/test"), ("E104", "topic/all")]


def test_check_compares_the_texts_of_documents_between_roles():
    long = " ".join(f"word{n}" for n in range(30))
    papers = [replace(one, fields={"title": long}) if one.id in ("p1", "p3") else one for one in PAPERS]
    near = {"near": {"all": linked.pool(NEAR, [NEAR_P1], (of := documents("papers", papers)), by_id=True)}}
    topic = {"topic": {"all": linked.pool(TOPIC, [example("1", "p3", (), "water")], of, by_id=True)}}
    folds = {"f": {"train": ("near",), "test": ("topic",)}}
    tasks = {"near": NEAR, "topic": TOPIC}
    suite = Suite(id="s", tasks=tasks, pools=near | topic, stores={"papers": of}, folds=folds)
    assert [fault.code for fault in check(suite)] == ["E304"]


def test_a_store_of_another_name_or_kind_is_not_written(tmp_path: Path):
    suite = Suite(id="s", tasks={}, pools={}, stores={"b": documents("a", PAPERS)})
    with pytest.raises(StoreError, match="can't be stored: 'b'"):
        store.write(suite, tmp_path / "s")


def edit(folder: Path, **changes: Any) -> None:
    path = folder / store.MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_manifest_can_not_name_a_store_outside_the_folder(tmp_path: Path):
    store.write(suite_of(), tmp_path / "s")
    edit(tmp_path / "s", stores={"../../other": {"documents": 0, "digests": {}}})
    with pytest.raises(SuiteError, match="a store's name must be"):
        store.open_suite(tmp_path / "s")


def test_a_file_that_is_no_store_is_refused_by_name(tmp_path: Path):
    store.write(suite_of(), tmp_path / "s")
    file = tmp_path / "s" / "store-papers.arrow"
    table = pa.table({"id": ["p1", "p2", "p3", "p4"]})
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, table.schema) as out:
        out.write_table(table)
    edit(tmp_path / "s", files={})
    with pytest.raises(StoreError, match=r"not a store of documents: .*store-papers.arrow"):
        store.open_suite(tmp_path / "s")


def test_files_of_somebodys_own_are_left_alone_beside_a_store(tmp_path: Path):
    store.write(suite_of(), tmp_path / "s")
    (tmp_path / "s" / "store-notes.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"not overwritten: store-notes.txt"):
        store.write(suite_of(), tmp_path / "s", replace=True)


def test_opening_reads_no_text(tmp_path: Path):
    """Damage the texts, not the ids: a suite that is opened, and looked up in, does not notice."""
    store.write(suite_of(), tmp_path / "s")
    file = tmp_path / "s" / "store-papers.arrow"
    file.write_bytes(file.read_bytes().replace(b"On birds", b"\xff" * 8))
    opened = store.open_suite(tmp_path / "s")
    papers = opened.stores["papers"]
    assert isinstance(papers, Documents)
    assert papers.missing(["p1", "p2", "x"]) == ["x"]
    linked.refuse_broken(opened, opened.tasks)
    with pytest.raises(SuiteError, match="texts can't be read: the file is damaged"):
        papers.take(["p2"])
    assert [str(fault.place) for fault in check(opened)] == ["store-papers/title"]
