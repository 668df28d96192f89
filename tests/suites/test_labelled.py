"""Data sets to tasks, by phase."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskloom.core import Labels
from taskloom.errors import SourceError, UnknownNameError
from taskloom.messages import Note
from taskloom.sources.splits import SPLIT
from taskloom.suites import labelled, store
from taskloom.suites.labelled import PHASES, DataSet, dealt, gather, suite


def row(text: str, label: str | None, split: str = "") -> tuple[str, dict[str, Any]]:
    return "a:1", {"text": text, "label": label, SPLIT: split}


PETS = DataSet(name="pets", type=("topic",), labels={"train": ("cat", "dog"), "test": ("hen",)}, licence="MIT")
SHARED = DataSet(
    name="mood",
    labels={"train": ("good", "bad"), "dev": ("good", "bad")},
    splits={"train": ("train",), "dev": ("dev",)},
)


def test_rows_go_where_their_label_is():
    found = gather(PETS, [row("purr", "cat", "test"), row("cluck", "hen", "train"), row("woof", "Dog")])
    assert {phase: [e.gold[0] for e in examples] for phase, examples in found.examples.items()} == {
        "train": ["cat", "dog"], "dev": [], "test": ["hen"],
    }  # fmt: skip
    assert [e.item.id for e in found.examples["train"]] == ["pets-1", "pets-3"]
    assert not found.faults


def test_rows_of_shared_labels_go_by_the_split_of_their_source():
    found = gather(
        SHARED, [row("a b", "good", "train"), row("c d", "good", "dev"), row("e f", "bad", "test"), row("g", "bad")]
    )
    assert [len(found.examples[phase]) for phase in PHASES] == [1, 1, 0]
    assert found.dropped == {Note.of("row-of-split", value="test"): 1, Note.of("row-split-unknown"): 1}


def test_what_is_dropped_is_counted_by_code():
    of = DataSet(name="x", labels={"test": ("a", "b")}, drop=("-",), most=2)
    rows = [row("1", "a"), row("1", "a"), row("1", "b"), row("2", None), row("3", "-"), row("", "b"), row("4", "a")]
    found = gather(of, [*rows, row("5", "a")])
    assert {note.code: count for note, count in found.dropped.items()} == {
        "row-duplicate": 1, "row-unlabelled": 1, "row-of-label": 1, "row-empty": 1, "row-beyond": 1,
    }  # fmt: skip
    assert [e.item.fields["text"] for e in found.examples["test"]] == ["1", "1", "4"]  # two labels of a text are kept


def test_labels_that_do_not_fit_are_named_all_at_once(refused: Any):
    other = DataSet(name="mood", labels={"test": ("good", "bad")})
    sets = [gather(PETS, [row("purr", "cat"), row("moo", "cow"), row("moo", "cow")]), gather(other, [row("x", "good")])]
    codes = [fault.code for one in sets for fault in one.faults]
    assert codes == ["labels-unknown", "labels-without-examples", "labels-without-examples"]
    assert dict(sets[0].faults[0].values)["labels"] == (("cow", 2),)
    assert [dict(one.faults[-1].values)["labels"] for one in sets] == [("dog",), ("bad",)]
    with refused(SourceError, "labels-unfit", count=3):
        suite(sets, id="s", fold="f")


def test_a_label_of_two_phases_whose_rows_have_no_split_is_named_as_that():
    of = DataSet(name="x", labels={"train": ("a", "b"), "test": ("b", "c")})
    found = gather(of, [row("1", "a"), row("2", "b"), row("3", "c"), row("4", "b")])
    assert found.faults == (Note.of("labels-in-two-phases", name="x", labels=[("b", 2)]),)


def test_labels_that_are_not_named_can_be_dropped():
    of = DataSet(name="x", labels={"test": ("a",)}, drop=("*",))
    assert gather(of, [row("1", "a"), row("2", "b")]).dropped == {Note.of("row-of-label"): 1}


def test_a_data_set_is_a_task_for_each_phase_that_has_examples(tmp_path: Any):
    made = suite([gather(PETS, [row("purr", "cat"), row("woof", "dog"), row("cluck", "hen")])], id="s", fold="f")
    assert list(made.tasks) == ["pets@train", "pets@test"]
    task = made.tasks["pets@train"]
    assert task.output == Labels(("cat", "dog"))
    assert task.metrics == ("accuracy", "macro-f1")
    assert task.tags == {"data set": ("pets",), "form": ("single",), "type": ("topic",)}
    assert made.folds == {"f": {"train": ("pets@train",), "test": ("pets@test",)}}
    assert made.about["licences"] == ["pets: MIT"]
    assert store.write(made, tmp_path / "s").fingerprint == made.fingerprint


def test_copies_of_an_input_are_one_group_in_every_task():
    found = gather(PETS, [row("Big  purr", "cat"), row("big purr", "hen")])
    assert found.examples["train"][0].group == found.examples["test"][0].group


@given(st.sets(st.text("abcdef", min_size=1, max_size=4), min_size=4, max_size=12))
def test_labels_are_dealt_out_once_and_the_same_way_each_time(labels: set[str]):
    counts = {"train": 2, "test": len(labels) - 3}
    found = dealt("x", labels, counts)
    assert {phase: len(names) for phase, names in found.items()} == counts
    assert len({*found["train"], *found["test"]}) == sum(counts.values())
    assert found == dealt("x", sorted(labels, reverse=True), counts)


def test_too_few_labels_to_deal_out_are_refused(refused: Any):
    with refused(SourceError, "labels-too-few", found=1, wanted=3):
        dealt("x", ["a"], {"train": 2, "test": 1})


def test_unknown_forms_and_phases_get_the_nearest_names():
    with pytest.raises(UnknownNameError, match="did you mean single"):
        DataSet(name="x", form="singel")
    with pytest.raises(UnknownNameError, match="did you mean train"):
        DataSet(name="x", labels={"trian": ("a",)})


def test_a_suite_without_examples_is_refused(refused: Any):
    with refused(SourceError, "data-sets-empty", names=["pets"]):
        suite([gather(PETS, [])], id="s", fold="f")
    assert labelled.spelling("CDs_and  Vinyl") == "cds and vinyl"
