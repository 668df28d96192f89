from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from taskloom.core import Stored
from taskloom.errors import SuiteError
from taskloom.suites.documents import BATCH, Documents, documents

PAPERS = [
    Stored("a", {"title": "On trees", "abstract": "Elms 榆树."}),
    Stored("b", {"title": "On birds"}),
    Stored("c", {"title": "", "abstract": "Cod."}),
    Stored("r", {}, ("b", "a")),
]


def changed(id_: str, **fields: str) -> Documents:
    return documents("papers", [replace(one, fields=fields) if one.id == id_ else one for one in PAPERS])


def test_documents_are_read_in_the_order_asked_for_and_as_often():
    store = documents("papers", PAPERS)
    assert store.take(["c", "a", "r", "c"]) == [PAPERS[2], PAPERS[0], PAPERS[3], PAPERS[2]]
    assert store.take([]) == []
    assert (len(store), store.fields) == (4, ("title", "abstract"))


def test_documents_of_several_batches_are_found():
    many = [Stored(f"d{n}", {"text": f"text {n}"}) for n in range(2 * BATCH + 7)]
    store = documents("many", many)
    chosen = random.Random(0).sample(many, 500)
    assert store.take([one.id for one in chosen]) == chosen
    assert store.missing([one.id for one in many]) == []


@pytest.mark.parametrize("papers", [PAPERS, []])
def test_missing_documents_are_named_with_their_store(papers: Sequence[Stored]):
    store = documents("papers", papers)
    with pytest.raises(SuiteError, match=r"missing in store 'papers': 'x'$"):
        store.take([*(one.id for one in papers), "x", "x"])
    with pytest.raises(SuiteError, match=r"'papers': '0', '1', '2', '3', '4' and 5 more$"):
        store.take([str(n) for n in range(10)])


def test_the_order_of_documents_does_not_matter():
    assert documents("papers", PAPERS[::-1]).table["id"] == documents("papers", PAPERS).table["id"]


def test_a_digest_is_of_the_documents_named_and_of_no_others():
    first = documents("papers", PAPERS).digest(["a", "c"])
    assert documents("papers", PAPERS).digest(["c", "a", "c"]) == first
    assert changed("b", title="On other birds", isbn="1").digest(["a", "c"]) == first
    assert changed("c", title="", abstract="Code.").digest(["a", "c"]) != first
    assert changed("c", abstract="Cod.").digest(["a", "c"]) != first  # no title is not an empty one
    assert documents("papers", PAPERS).digest(["a"]) != first


def test_a_digest_covers_members_and_theirs():
    whole = [*PAPERS, Stored("s", {}, ("r",))]
    first = documents("papers", whole).digest(["s"])
    other = [replace(one, fields={"title": "On owls"}) if one.id == "b" else one for one in whole]
    assert documents("papers", other).digest(["s"]) != first
    other = [replace(one, fields={"title": "On owls"}) if one.id == "c" else one for one in whole]
    assert documents("papers", other).digest(["s"]) == first


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ([Stored("a", {}), Stored("b", {}), Stored("a", {})], "duplicate ids: 'a'"),
        ([Stored("a", {"id": "1"})], "the name of a column of the store: 'id'"),
        ([Stored("a", {"title": None})], "a field is not a text in this document: 'a'"),  # type: ignore[dict-item]
        ([Stored("a", {"title": "\ud800"})], "invalid Unicode .* in this document: 'a'"),
        ([Stored("a", {}, ("x",))], "members that are missing in store 'papers': 'x'"),
    ],
)
def test_bad_documents_are_refused_by_id(bad: Sequence[Stored], told: str):
    with pytest.raises(SuiteError, match=told):
        documents("papers", bad)


@pytest.mark.parametrize("name", ["", "../up", "a b", "x" * 65])
def test_a_name_that_no_file_can_have_is_refused(name: str):
    with pytest.raises(SuiteError, match="a store's name must be"):
        documents(name, PAPERS)


@pytest.mark.parametrize("odd", [Stored(1, {"title": "x"}), Stored("a", {"title": "x"}, (2,)), Stored("a", {3: "x"})])  # type: ignore[arg-type, dict-item]
def test_names_that_are_no_texts_are_refused(odd: Stored):
    with pytest.raises(SuiteError, match="an id, a member or a field's name is not a text"):
        documents("papers", [odd])
