from __future__ import annotations

from taskloom.suites.manifest_form import OUTPUT, SHOWN, misfits


def test_places_of_wrong_types_are_named():
    form = {"a": [str], "b?": {str: int}, "c": {"d": bool}}
    assert list(misfits({"a": [], "c": {"d": True}}, form, "m")) == []
    assert list(misfits({"a": ["x", None], "b": {"y": -1, "z": True}, "c": 3}, form, "m")) == [
        "m.a[1]", "m.b.y", "m.b.z", "m.c",
    ]  # fmt: skip
    assert list(misfits([], form, "m")) == ["m"]
    assert list(misfits({}, form, "m")) == ["m.a", "m.c"]


def test_outputs_and_examples_of_wrong_types_are_named():
    output = {"kind": "labels", "names": {"0": "yes"}, "many": "no", "store": ["s"]}
    assert list(misfits(output, OUTPUT, "o")) == ["o.names", "o.many", "o.store"]
    assert list(misfits({"fields": {"text": "x"}, "answer": "y", "right": "yes"}, SHOWN, "e")) == ["e.right"]
