"""Vectors that were made elsewhere, by the ids of documents."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from taskloom.core import Example, Item, Labels, Ranking, Stored, Suite, Task
from taskloom.errors import LearnerError, ModelError, SourceError
from taskloom.learners.prototype import Prototype
from taskloom.learners.represent import Represent
from taskloom.learners.toolbox import Toolbox
from taskloom.models.load import source
from taskloom.models.precomputed import Precomputed
from taskloom.suites import linked
from taskloom.suites.documents import documents

VECTORS = {"a": [0.0, 1.0], "b": [0.0, 2.0], "q": [0.0, 1.1], "query": [5.0, 2.0]}
PAPERS = documents("papers", [Stored(name, {"title": f"paper {name}"}) for name in "abq"])
NEAR = Task(id="near", instruction="", output=Ranking(store="papers"), metrics=("map",))


@pytest.fixture
def given(tmp_path: Path) -> Precomputed:
    lines = [json.dumps({"doc_id": id_, "embedding": vector}) for id_, vector in VECTORS.items()]
    (tmp_path / "v.jsonl").write_text("\n".join(lines))
    found = source("given", {"load": "vectors:v.jsonl"}, tmp_path)
    assert isinstance(found, Precomputed)
    return found


def tools(of: Precomputed) -> Toolbox:
    vectors = of.vectors()
    return Toolbox({}, encoders=lambda name: vectors, stores={"papers": PAPERS})


def suite() -> Suite:
    gold = (("a", 1.0), ("b", 0.0))
    asked = Example(Item("item", {"paper": "q"}, ("a", "b")), (gold,), "q")
    pools = {"near": {"test": linked.pool(NEAR, [asked], PAPERS, by_id=True)}}
    return Suite(id="s", tasks={"near": NEAR}, pools=pools, stores={"papers": PAPERS})


def test_a_query_is_found_by_its_document_or_by_its_item(given: Precomputed):
    (example,) = suite().pools["near"]["test"].take([0])
    fitted = Represent(model="given").fit(NEAR, (), (), seed=0, tools=tools(given))
    (found,) = fitted.predict([example.item])
    assert dict(found) == pytest.approx({"a": -0.1, "b": -0.9})  # type: ignore[arg-type]
    (text,) = fitted.predict([Item("query", {"query": "owls"}, ("a", "b"))])
    assert dict(text) == pytest.approx({"a": -(26**0.5), "b": -5.0})  # type: ignore[arg-type]


def test_all_documents_without_a_vector_are_named(given: Precomputed):
    fitted = Represent(model="given").fit(NEAR, (), (), seed=0, tools=tools(given))
    with pytest.raises(ModelError) as told:
        fitted.predict([Item("query", {"query": "owls"}, ("a",)), Item("other", {"query": "x"}, ("b",))])
    assert (told.value.note.code, dict(told.value.note.values)["ids"]) == ("vectors-missing", ("other",))


def test_other_learners_find_them_by_item(given: Precomputed):
    task = Task(id="t", instruction="", output=Labels(("x", "y")), metrics=())
    support = [Example(Item(id_, {"title": id_}), (gold,), id_) for id_, gold in (("a", "x"), ("query", "y"))]
    (found,) = (
        Prototype(model="given").fit(task, support, (), seed=0, tools=tools(given)).predict([Item("b", {"t": ""})])
    )
    assert found.answer == "x"  # type: ignore[union-attr]


def test_texts_that_are_no_documents_have_none(given: Precomputed):
    with pytest.raises(LearnerError, match="found by document"):
        tools(given).vectors("given", ["some text"])


def test_parquet_is_read_too(given: Precomputed, tmp_path: Path):
    table = pa.table({"doc_id": list(VECTORS), "embedding": pa.array(VECTORS.values(), pa.list_(pa.float32()))})
    pq.write_table(table, tmp_path / "v.parquet")
    other = Precomputed(load=f"vectors:{tmp_path / 'v.parquet'}")
    assert other.vectors().take(["b", "a"])[0].tolist() == given.vectors().take(["b", "a"])[0].tolist()
    pq.write_table(pa.table({"doc_id": ["a", "a"], "embedding": [[1.0], [1.0, 2.0]]}), tmp_path / "v.parquet")
    with pytest.raises(SourceError) as told:
        other.vectors().take(["a"])
    assert "duplicate" in str(told.value)


def test_they_are_named_by_content_and_are_no_model(given: Precomputed, tmp_path: Path):
    before = given.identity()
    (tmp_path / "w.jsonl").write_bytes((tmp_path / "v.jsonl").read_bytes())
    assert Precomputed(load=f"vectors:{tmp_path / 'w.jsonl'}").identity() == before
    assert given.lacks() == ()
    for opened in (lambda: given.open(tmp_path), lambda: given.open_encoder(tmp_path), lambda: given.vectors().encoder):
        with pytest.raises(ModelError, match="only vectors of documents"):
            opened()
    missing = Precomputed(load="vectors:none.jsonl")
    assert [note.code for note in missing.lacks()] == ["vectors-file-missing"]
    with pytest.raises(ModelError, match="no such file of vectors"):
        missing.identity()
