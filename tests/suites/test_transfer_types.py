"""Kinds of transfer, and what a fold must not train on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from taskloom.core import Suite
from taskloom.errors import LeakError, UnknownNameError
from taskloom.sources.splits import SPLIT
from taskloom.suites.labelled import DataSet, Gathered, gather, suite
from taskloom.suites.transfer_types import apart, certified, leaks_of, transfer

LONG = "the quick brown fox jumps over the lazy dog while seven small birds look on from the old oak"


def data_set(name: str, type_: str, texts: str = "", **labels: tuple[str, ...]) -> Gathered:
    """A data set with a text of its own for each label."""
    rows: list[tuple[str, Any]] = [
        ("x", {"text": texts or f"{name} {label} {phase} text of its own", "label": label, SPLIT: phase})
        for phase, names in labels.items()
        for label in names
    ]
    splits = {phase: (phase,) for phase in labels}
    return gather(DataSet(name=name, type=(type_,), labels=labels, splits=splits), rows)


def made(*sets: Gathered) -> Suite:
    return suite(sets, id="s", fold="flex")


def kinds(of: Suite) -> dict[str, str]:
    return {name: task.tags["transfer"][0] for name, task in of.tasks.items() if "transfer" in task.tags}


NEWS = data_set("news", "topic", train=("a", "b"), dev=("c",), test=("d",))
FILMS = data_set("films", "sentiment", train=("good", "bad"), dev=("good", "bad"))
SHOPS = data_set("shops", "sentiment", test=("good", "bad"))
ASKED = data_set("asked", "question", test=("who", "where"))


def test_what_is_trained_on_decides_on_the_kind_of_transfer():
    assert kinds(transfer(made(NEWS, FILMS, SHOPS, ASKED), "flex")) == {
        "news@test": "class", "news@dev": "class", "shops@test": "domain", "asked@test": "task",
    }  # fmt: skip
    assert kinds(transfer(made(NEWS, SHOPS), "flex"))["shops@test"] == "task"
    assert kinds(transfer(made(SHOPS, ASKED), "flex")) == {"shops@test": "pretraining", "asked@test": "pretraining"}


def test_the_tag_changes_no_digest():
    before = made(NEWS, SHOPS)
    after = transfer(before, "flex")
    assert [after.digest(name) for name in after.tasks] == [before.digest(name) for name in before.tasks]


@pytest.mark.parametrize(("labels", "code"), [(("good", "bad"), "leak-data-set"), (("bad", "odd"), "leak-label")])
def test_classes_of_a_data_set_that_are_trained_on_and_tested_are_refused(labels: tuple[str, ...], code: str):
    both = made(data_set("films", "sentiment", train=("good", "bad"), test=labels))
    (leak,) = leaks_of(both, "flex")
    assert (leak.task, leak.note.code, dict(leak.note.values)["name"]) == ("films@train", code, "films")
    with pytest.raises(LeakError, match=rf"fold 'flex' trains on what it tests(?s:.*){code}") as told:
        transfer(both, "flex")
    assert told.value.note.code == "leaks-found"


def test_a_test_task_that_is_trained_on_is_refused():
    of = made(SHOPS)
    both = replace(of, folds={"flex": {"train": ("shops@test",), "test": ("shops@test",)}})
    assert next(iter(leaks_of(both, "flex"))).note.code == "E302-held-out"


def test_texts_that_are_trained_on_and_tested_are_refused_by_name():
    first = data_set("first", "topic", texts=LONG, train=("a",))
    same = data_set("second", "topic", texts=LONG.upper(), test=("b",))
    half = data_set("second", "topic", texts=f"as told: {LONG} and more", test=("b",))
    assert [leak.note.code for leak in leaks_of(made(first, same), "flex")] == ["leak-text", "E304-overlap"]
    assert [leak.note.code for leak in leaks_of(made(first, half), "flex")] == ["E304-overlap"]
    assert not leaks_of(made(first, half), "flex", by_text=False)
    with pytest.raises(LeakError, match="first@train and second@test share"):
        transfer(made(first, same), "flex")


def test_texts_that_leak_are_dropped_from_what_is_learnt_and_counted():
    first = data_set("first", "topic", train=("a", "b"))
    copied = data_set("second", "topic", texts=LONG, train=("a",))
    held_out = data_set("third", "topic", texts=f"so {LONG}", test=("x",))
    kept, told = apart([first, copied, held_out])
    assert [len(one.examples["train"]) for one in kept] == [2, 0, 0]
    assert {note.code: count for note, count in kept[1].dropped.items() if count} == {"row-leaking": 1}
    assert told[0].startswith("train and dev beside test: 1 of 3 examples dropped (second@train 1); compared for equal")
    assert kinds(transfer(made(*kept), "flex")) == {"third@test": "domain"}


def test_near_texts_are_refused_where_they_would_be_dropped_however_late_they_come():
    own = [(f"line {number} of a file with words that no other one has", "a") for number in range(150)]
    rows = [("x", {"text": text, "label": label}) for text, label in [*own, (LONG, "a")]]
    learnt = gather(DataSet(name="first", type=("topic",), labels={"train": ("a",)}), rows)
    sets = [learnt, data_set("second", "topic", texts=f"so {LONG}", test=("x",))]
    assert "1 of 151 examples dropped" in apart(sets)[1][0]
    (leak,) = leaks_of(made(*sets), "flex")
    assert (leak.note.code, dict(leak.note.values)["place"]) == ("E304-overlap", "first-151")


def test_the_certificate_says_how_many_texts_were_compared():
    told = certified(made(NEWS, FILMS), "flex")
    assert told.startswith("8 examples compared for equal texts, and the first 10,000 of each task (8 examples)")
    assert certified(made(SHOPS), "flex").endswith("nothing to compare")


def test_what_is_held_out_is_never_dropped():
    held_out = data_set("third", "topic", texts=LONG, train=("y",), dev=("z",), test=("x",))
    kept, told = apart([held_out])
    assert [len(kept[0].examples[phase]) for phase in ("train", "dev", "test")] == [0, 0, 1]
    assert len(told) == 1  # nothing is left to compare with dev


def test_an_unknown_fold_gets_the_nearest_name():
    with pytest.raises(UnknownNameError, match="did you mean flex"):
        transfer(made(NEWS), "flx")
