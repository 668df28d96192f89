from __future__ import annotations

from taskloom.suites.manifest_form import misfits


def test_places_of_wrong_types_are_named():
    form = {"a": [str], "b?": {str: int}, "c": {"d": bool}}
    assert list(misfits({"a": [], "c": {"d": True}}, form, "m")) == []
    assert list(misfits({"a": ["x", None], "b": {"y": -1, "z": True}, "c": 3}, form, "m")) == [
        "m.a[1]", "m.b.y", "m.b.z", "m.c",
    ]  # fmt: skip
    assert list(misfits([], form, "m")) == ["m"]
    assert list(misfits({}, form, "m")) == ["m.a", "m.c"]
