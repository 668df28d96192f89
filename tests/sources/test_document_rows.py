"""Rows of the released layouts: what each says is told by its keys."""

from __future__ import annotations

from typing import Any

import pytest

from taskloom.messages import Note
from taskloom.sources.document_rows import Columns, Content, read_rows
from taskloom.sources.files import RowFaults


def read(*rows: dict[str, Any], columns: Columns | None = None, pool: str = "", level: float = 1) -> Content:
    content, faults = Content(), RowFaults("skip")
    read_rows(
        [(f"f:{n}", row) for n, row in enumerate(rows)], columns or Columns(), faults, content, pool=pool, level=level
    )
    assert not faults.shown
    return content


def faults_of(*rows: dict[str, Any], columns: Columns | None = None) -> list[str]:
    faults = RowFaults("skip")
    read_rows([(f"f:{n}", row) for n, row in enumerate(rows)], columns or Columns(), faults, Content())
    return faults.shown


def test_documents_and_labels_are_read_from_one_row_or_from_two():
    whole = read({"doc_id": 7, "title": "On elms", "abstract": "Elms.", "label": "trees", "year": 1999})
    apart = read({"doc_id": 7, "title": "On elms", "abstract": "Elms."}, {"paper_id": "7", "label": "trees"})
    assert whole.documents == apart.documents == {"7": {"title": "On elms", "abstract": "Elms."}}
    assert whole.labelled == apart.labelled == {"": {"7": "trees"}}


def test_text_fields_are_those_that_the_task_says():
    row = {"doc_id": "a", "title": "On elms", "abstract": None, "venue": "Trees", "year": 1964.0}
    content = read(row, columns=Columns(fields=("title", "abstract", "venue", "year")))
    assert content.documents == {"a": {"title": "On elms", "venue": "Trees", "year": "1964"}}


def test_a_query_with_candidates_is_a_text_or_a_document():
    candidates = [{"corpus_id": 1, "title": "A", "score": 1}, {"corpus_id": 2, "title": "B", "score": 0}]
    search = read({"doc_id": "q", "query": "elms", "candidates": candidates})
    assert search.queries == {"q": "elms"}
    assert search.judged == {"": {"q": {"1": 1.0, "2": 0.0}}}
    assert read({"query": "elms", "candidates": candidates}).queries == {"elms": "elms"}
    near = read({"query": {"corpus_id": 9, "title": "Q"}, "candidates": candidates}, pool="test")
    assert near.judged == {"test": {"9": {"1": 1.0, "2": 0.0}}}
    assert near.documents["9"] == {"title": "Q"}


def test_rows_that_contradict_each_other_are_counted():
    content = read(
        {"r_id": 1, "papers": [1, 2]}, {"r_id": 1, "papers": [3]}, {"r_id": 1, "papers": [3]},
        {"cluster_id": "a", "signature_ids": [1]}, {"cluster_id": "b", "signature_ids": [1, 2]},
        {"query_id": 1, "cand_id": 2, "score": 0}, {"query_id": 1, "cand_id": 2, "score": 2},
        {"query_id": 1, "cand_id": 2, "score": 2},
    )  # fmt: skip
    assert content.dropped == {Note.of(code): 1 for code in ("members-again", "cluster-again", "judgement-again")}
    assert content.members == {"1": ("3",)}
    assert content.judged == {"": {"1": {"2": 2.0}}}


def test_the_parts_of_a_query_are_put_together_as_in_the_paper():
    query = {"title": "masks", "question": "Do masks help?", "narrative": "Studies."}
    content = read({"doc_id": 1, "query": query, "candidates": []})
    assert content.queries == {"1": "masks [SEP] Do masks help? [SEP] Studies."}


def test_triplets_of_one_query_are_put_together():
    documents = [{"sha": name, "title": name} for name in "qabc"]
    rows = [{"query": documents[0], "pos": documents[1], "neg": one} for one in documents[2:]]
    assert read(*rows).judged == {"": {"q": {"a": 1.0, "b": 0.0, "c": 0.0}}}


def test_judgements_of_reviewers_that_say_yes_or_no_become_grades():
    content = Content()
    for level, score in ((3.0, 1), (2.0, 1)):
        rows = [
            ("f", {"query_id": "q", "cand_id": "r", "score": score}),
            ("f", {"query_id": "q", "cand_id": "s", "score": 3 - level}),
        ]
        read_rows(rows, Columns(), RowFaults(), content, pool="test", level=level)
    read_rows([("f", {"r_id": "r", "papers": [1, 2]})], Columns(), RowFaults(), content)
    assert content.judged == {"test": {"q": {"r": 3.0, "s": 2.0}}}
    assert content.members == {"r": ("1", "2")}


def test_signatures_and_clusters_are_read_from_objects_by_id_without_addresses():
    about = {
        "first": "Ann",
        "last": "Lee",
        "block": "a lee",
        "affiliations": ["Elm College"],
        "email": "ann@example.org",
    }
    signatures = {n: {"signature_id": n, "paper_id": int(n) + 10, "author_info": about} for n in ("1", "2")}
    clusters = {"c": {"cluster_id": "c", "signature_ids": ["1", "2"]}}
    papers = {"11": {"paper_id": 11, "title": "On elms"}, "12": {"paper_id": 12, "title": "On owls"}}
    content = read(signatures, clusters, papers)
    assert content.documents["signature-1"] == {"author": "Ann Lee", "affiliations": "Elm College"}
    assert content.documents["11"] == {"title": "On elms"}
    assert content.members["signature-2"] == ("12",)
    assert content.blocks == {"": {"a lee": {"signature-1": "", "signature-2": ""}}}
    assert content.clusters == {"signature-1": "c", "signature-2": "c"}


def test_candidates_by_field_of_study_keep_the_field_also_of_a_query_that_is_in_two():
    sets = {"r": {"true": ["c"], "bm25": []}, "q": {"true": ["b"], "bm25": []}}
    content = read({"Art": {"q": {"true": ["a"], "bm25": ["b"]}}, "Biology": sets})
    assert content.parts == {
        "Art": {"": {"q": {"a": 1.0, "b": 0.0}}},
        "Biology": {"": {"r": {"c": 1.0}, "q": {"b": 1.0}}},
    }
    assert content.judged == {}


def test_of_a_document_that_comes_again_with_another_text_the_first_counts_and_is_counted():
    rows = [{"id": "a", "title": title} for title in ("One", "One", "Other")]
    content = read(*rows)
    assert content.documents == {"a": {"title": "One"}}
    assert content.dropped == {Note.of("document-again"): 1}


@pytest.mark.parametrize(
    ("value", "columns", "gold"),
    [
        ("a; b", Columns(many=True), ("a", "b")),
        (["a", "b"], Columns(many=True), ("a", "b")),
        ("[0, 1]", Columns(many=True), ("0", "1")),
        (3, Columns(), "3"),
        ("3", Columns(number=True), 3.0),
        (0, Columns(number=True, scale="log"), 0.0),
        ("2023-01-01", Columns(number=True, scale="date"), 2023.0),
    ],
)
def test_labels_and_numbers_are_read_as_the_task_has_them(value: Any, columns: Columns, gold: Any):
    assert read({"id": "a", "title": "A", "label": value}, columns=columns).labelled == {"": {"a": gold}}


@pytest.mark.parametrize(
    ("row", "columns", "said"),
    [
        ({"title": "A"}, Columns(), "no id"),
        ({"id": "a", "text": "A"}, Columns(), "neither a document (title, abstract) nor a label"),
        ({"id": "a", "title": "A", "label": "x"}, Columns(number=True), "not a finite number: 'x'"),
        ({"id": "a", "title": "A", "label": "nan"}, Columns(number=True), "not a finite number: 'nan'"),
        ({"id": "a", "title": "A", "label": -2}, Columns(number=True, scale="log"), "no logarithm"),
        ({"id": "a", "title": "A", "label": "May"}, Columns(number=True, scale="date"), "not a date"),
        ({"query_id": "q", "cand_id": True, "score": 1}, Columns(), "not an id: 'True'"),
        ({"query_id": "q", "cand_id": "a"}, Columns(), "not a finite number: 'None'"),
        ({"r_id": "r"}, Columns(), "papers must be a list"),
        ({"query": " ", "candidates": []}, Columns(), "the query is empty"),
        ({"query": "q", "candidates": ["a"]}, Columns(), "a candidate must be a document: 'a'"),
        ({"query": "q", "pos": {}, "neg": {}}, Columns(), "must be a document: 'q'"),
        ({"signature_id": 1, "paper_id": 2}, Columns(), "a signature without a block"),
        ({"id": "a", "title": "A", "label": "[1,"}, Columns(many=True), "not a list in JSON"),
    ],
)
def test_a_row_that_can_not_be_read_is_named_with_its_place(row: dict[str, Any], columns: Columns, said: str):
    (fault,) = faults_of(row, columns=columns)
    assert fault.startswith("f:0: ")
    assert said in fault
