"""Tasks over documents: one store, declared tasks, and nothing that is missing is silent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskloom.core import DROPPED, Labels, Number, Ranking, Suite, Terms
from taskloom.errors import SourceError
from taskloom.messages import Note
from taskloom.scores.tasks import is_known
from taskloom.sources.document_rows import Columns, Content, read_rows
from taskloom.sources.files import RowFaults
from taskloom.suites import store
from taskloom.suites.check import check
from taskloom.suites.document_tasks import (
    KINDS,
    DocumentExamples,
    DocumentTask,
    by_part,
    examples_of,
    is_held_out,
    suite,
)

TEXTS = {name: {"title": f"On {name}", "abstract": f"All about {name}."} for name in ("elms", "owls", "cod", "ants")}
TOPIC = DocumentTask(name="topic", kind="classification", training="in-train", few_shot={"2": 10})
NEAR = DocumentTask(name="near", kind="proximity")
FIND = DocumentTask(name="find", kind="search", values=("ndcg",))


def content(**parts: Any) -> Content:
    return Content(documents={id_: dict(fields) for id_, fields in TEXTS.items()}, **parts)


def topics(**more: str) -> Content:
    golds = {"elms": "plant", "owls": "animal", "cod": "animal", **more}
    return content(
        labelled={"train": {"ants": "animal", "elms": "plant"}, "test": {k: v for k, v in golds.items() if k != "elms"}}
    )


def judged(**queries: dict[str, float]) -> Content:
    return content(judged={"test": queries}, queries={name: f"papers on {name}" for name in queries})


def made(*tasks: DocumentExamples) -> Suite:
    return suite(tasks, id="own", fold="own", about={})


def test_a_query_of_a_search_may_have_the_id_of_a_document_that_is_missing():
    of = content(judged={"test": {"1": {"1": 1.0, "elms": 1.0, "cod": 0.0}}}, queries={"1": "trees"})
    kept = examples_of(FIND, of, "drop")
    assert [example.item.candidates for example in kept.pools["test"]] == [("cod", "elms")]
    assert kept.dropped[Note.of("document-missing")] == 1


def test_each_kind_is_a_task_with_its_output_format_and_metrics():
    outputs = {kind: DocumentTask(name="t", kind=kind).task(["a", "b"]) for kind in KINDS}
    assert {kind: type(task.output) for kind, task in outputs.items()} == {
        "classification": Labels, "multi-label": Labels, "regression": Number, "proximity": Ranking,
        "search": Ranking, "reviewers": Ranking, "authors": Terms,
    }  # fmt: skip
    assert [task.tags["format"][0] for task in outputs.values()] == ["CLF", "CLF", "RGN", "PRX", "SRCH", "PRX", "PRX"]
    for task in outputs.values():
        assert {*task.tags["values"]} <= {*task.metrics}
        assert all(is_known(metric) for metric in task.metrics)


def test_tasks_share_one_store_that_holds_each_document_once_and_is_written_whole(tmp_path: Path):
    found = made(
        examples_of(TOPIC, topics()),
        examples_of(NEAR, judged(elms={"owls": 1.0, "cod": 0.0})),
        examples_of(FIND, judged(birds={"owls": 2.0, "ants": 0.0})),
    )
    assert {name: len(of) for name, of in found.stores.items()} == {"documents": 4}
    assert found.folds == {"own": {"train": ("topic",), "test": ("near", "find")}}
    assert found.tasks["topic"].tags == {
        "format": ("CLF",), "values": ("macro-f1",), "training": ("in-train",), "few-shot": ("2 x 10",),
    }  # fmt: skip
    codes = {fault.code for fault in check(found)}
    assert codes == {"E304", "W101"}  # a document is in an in-train and an out-of-train task
    kept = store.write(found, tmp_path / "suite")
    assert kept.fingerprint == found.fingerprint
    (near,) = kept.pools["near"]["test"].take([0])
    assert near.item.fields == TEXTS["elms"]
    assert near.item.candidates == ("cod", "owls")  # by id: their order says nothing
    (find,) = kept.pools["find"]["test"].take([0])
    assert find.item.fields == {"query": "papers on birds"}


def test_a_task_with_other_text_fields_has_a_store_of_its_own():
    other = replace(FIND, name="by-venue", fields=("title", "abstract", "venue"))
    found = made(examples_of(FIND, judged(q={"owls": 1.0})), examples_of(other, judged(q={"owls": 1.0})))
    assert list(found.stores) == ["documents", "documents-venue"]


def test_a_missing_document_is_an_error_with_its_id_or_counted_where_that_is_allowed():
    of = judged(elms={"owls": 1.0, "gone": 0.0}, lost={"owls": 1.0})
    refused = examples_of(NEAR, of)
    assert refused.faults == (Note.of("documents-missing", name="near", count=2, ids=["gone", "lost"]),)
    with pytest.raises(SourceError, match="gone, lost"):
        made(refused)
    kept = made(examples_of(NEAR, of, "drop"))
    (only,) = kept.pools["near"]["test"].take(range(len(kept.pools["near"]["test"])))
    assert (only.item.candidates, only.gold) == (("owls",), ((("owls", 1.0),),))
    dropped: Any = kept.about[DROPPED]
    assert {one["code"]: one["count"] for one in dropped} == {"document-missing": 2, "row-document-missing": 1}


def test_a_label_of_a_missing_document_is_named_too():
    assert examples_of(TOPIC, topics(gone="plant")).faults[0].code == "documents-missing"
    kept = examples_of(TOPIC, topics(gone="plant"), "drop")
    assert [one.item.id for one in kept.pools["test"]] == ["owls", "cod"]


def test_a_search_without_the_text_of_its_query_is_named():
    of = content(judged={"test": {"q": {"owls": 1.0}}})
    assert examples_of(FIND, of).faults == (Note.of("documents-missing", name="find", count=1, ids=["q"]),)


def test_a_query_without_a_relevant_candidate_and_a_label_that_only_test_has_are_named():
    near = examples_of(NEAR, judged(elms={"owls": 0.0}, owls={"elms": 1.0}))
    assert near.notes == (Note.of("queries-without-relevant", name="near", count=1, ids=["elms"]),)
    topic = examples_of(TOPIC, topics(cod="fish"))
    assert topic.notes == (Note.of("labels-in-test-only", name="topic", labels=["fish"]),)
    assert "labels that only test has: fish" in str(made(topic).about["note"])


def test_a_submission_without_a_reviewer_of_a_high_grade_is_named_by_the_level():
    of = replace(judged(elms={"r": 3.0}, owls={"r": 2.0}, cod={"r": 1.0}), members={"r": ("ants",)})
    found = examples_of(DocumentTask(name="match", kind="reviewers"), of)
    assert found.notes == (
        Note.of("queries-below-level", name="match", level=2.0, count=1, ids=["cod"]),
        Note.of("queries-below-level", name="match", level=3.0, count=2, ids=["owls", "cod"]),
    )


def test_a_document_without_a_text_is_named():
    of = topics()
    of.documents["owls"] = {}
    assert examples_of(TOPIC, of).notes == (Note.of("documents-without-text", name="topic", count=1, ids=["owls"]),)


def test_labels_that_are_not_declared_and_a_single_label_are_refused():
    declared = replace(TOPIC, labels=("plant", "animal"))
    assert examples_of(declared, topics(cod="fish")).faults == (
        Note.of("document-labels-unknown", name="topic", labels=["fish"]),
    )
    assert examples_of(declared, topics()).labels() == ["plant", "animal"]
    single = content(labelled={"test": {"elms": "plant"}})
    assert [fault.code for fault in examples_of(TOPIC, single).faults] == ["labels-single"]
    assert [fault.code for fault in examples_of(TOPIC, content()).faults] == ["documents-unasked"]


def test_a_task_whose_files_have_no_rows_is_told_as_such():
    assert examples_of(TOPIC, Content()).faults == (Note.of("documents-no-rows", name="topic"),)


def test_several_labels_may_be_names_marks_or_places():
    of = replace(TOPIC, kind="multi-label", labels=("plant", "animal", "fish"))
    golds = {"elms": ("plant",), "cod": ("0", "1", "1"), "owls": ("1",)}
    found = examples_of(of, content(labelled={"test": golds}))
    assert {one.item.id: one.gold[0] for one in found.pools["test"]} == {
        "elms": ("plant",), "cod": ("animal", "fish"), "owls": ("animal",),
    }  # fmt: skip


def test_reviewers_are_candidates_with_members():
    of = judged(elms={"ann": 3.0, "bob": 0.0})
    of.members = {"ann": ("owls", "cod"), "bob": ("ants",)}
    found = made(examples_of(replace(NEAR, kind="reviewers"), of))
    assert [one.members for one in found.stores["documents"].take(["ann", "bob"])] == [("owls", "cod"), ("ants",)]
    of.members["bob"] = ("ants", "gone")
    assert examples_of(replace(NEAR, kind="reviewers"), of).faults[0].code == "documents-missing"
    kept = examples_of(replace(NEAR, kind="reviewers"), of, "drop")
    assert kept.pools["test"][0].item.candidates == ("ann",)


def test_a_block_of_signatures_is_an_item_whose_answer_is_a_cluster_for_each():
    of = content(blocks={"test": {"a lee": {"s2": "", "s1": "x"}}}, members={"s1": ("elms",), "s2": ("owls",)})
    of.documents |= {"s1": {"author": "Ann Lee"}, "s2": {"author": "A. Lee"}}
    task = DocumentTask(name="who", kind="authors")
    assert examples_of(task, of).faults == (Note.of("signatures-unclustered", name="who", blocks=["a lee"]),)
    of.clusters = {"s2": "y"}
    found = made(examples_of(task, of))
    assert found.tasks["who"].output == Terms(store="documents")
    (block,) = found.pools["who"]["test"].take([0])
    assert (block.item.candidates, block.gold) == (("s1", "s2"), (("x", "y"),))
    assert not [fault for fault in check(found) if fault.code.startswith("E")]


def test_one_id_for_two_texts_is_kept_apart_and_told():
    other = judged(elms={"owls": 1.0})
    other.documents["owls"] = {"title": "Another"}
    found = made(examples_of(NEAR, judged(elms={"owls": 1.0})), examples_of(replace(NEAR, name="too"), other))
    (too,) = found.pools["too"]["test"].take([0])
    assert (too.item.candidates, too.gold) == (("too:owls",), ((("too:owls", 1.0),),))
    assert found.stores["documents"].take(["too:owls"])[0].fields == {"title": "Another"}
    assert "too: 1 document renamed" in str(found.about["note"])


def test_a_task_of_each_field_of_study():
    of, both = judged(), {"cod": {"ants": 1.0}, "elms": {"owls": 1.0}}
    of.parts = {"Political Science": {"test": both}, "Art": {"test": {"elms": {"cod": 1.0}}}}
    parts = by_part(NEAR, of)
    assert [(task.name, task.tags) for task, _ in parts] == [
        ("near-art", {"field": "Art"}), ("near-political-science", {"field": "Political Science"}),
    ]  # fmt: skip
    assert [own.judged["test"] for _, own in parts] == [{"elms": {"cod": 1.0}}, both]


@given(st.dictionaries(st.text("abc", min_size=1), st.sampled_from(["x", "y"]), min_size=4), st.floats(0, 1))
def test_what_has_no_split_is_split_by_its_text_alone(labels: dict[str, Any], share: float):
    whole = Content(documents={id_: {"title": f"On {id_}"} for id_ in labels}, labelled={"": labels})
    sides = examples_of(replace(TOPIC, held_out=share), whole).pools
    few = {id_: labels[id_] for id_ in list(labels)[:3]}
    part = examples_of(replace(TOPIC, held_out=share), replace(whole, labelled={"": few})).pools
    where = {one.item.id: pool for pool, own in sides.items() for one in own}
    assert where.keys() == labels.keys()
    assert all(where[one.item.id] == pool for pool, own in part.items() for one in own)


def test_about_the_share_that_is_asked_for_is_held_out():
    held = sum(is_held_out(str(n), 0.3) for n in range(2000))
    assert 540 < held < 660


def test_rows_without_a_label_or_a_split_and_second_labels_are_counted():
    """A cell that is empty is no class of its own, and nothing is lost without a count."""
    of = Content()
    rows: list[dict[str, Any]] = [
        {"id": "elms", "kind": "plant", "part": "train"}, {"id": "owls", "kind": "animal", "part": "test"},
        {"id": "cod", "kind": " ", "part": "test"}, {"id": "ants", "kind": None, "part": "train"},
        {"id": "elms", "kind": "animal", "part": "train"}, {"id": "hens", "kind": "animal", "part": ""},
        {"id": "oaks", "kind": float("nan"), "part": ""},
    ]  # fmt: skip
    for part in ("train", "test", ""):
        own = [("", {**row, "title": str(row["id"])}) for row in rows if row["part"] == part]
        read_rows(own, Columns(label="kind"), RowFaults(), of, pool=part)
    found = examples_of(replace(TOPIC, few_shot={}), of)
    assert {pool: [one.gold for one in own] for pool, own in found.pools.items()} == {
        "train": [("animal",)], "test": [("animal",)],
    }  # fmt: skip
    assert found.dropped == {
        Note.of("label-again"): 1, Note.of("row-split-unknown"): 1, Note.of("row-unlabelled"): 3,
    }  # fmt: skip
    assert Note.of("row-unlabelled") not in examples_of(replace(NEAR, name="n"), of).dropped
