"""Plain values to dataclasses: by type, all faults at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from taskloom.errors import UsageError
from taskloom.schema import Node, converted, key, read


@dataclass(frozen=True, kw_only=True)
class Inner:
    width: int = 1
    height: int = 2
    hidden: int = 3


@dataclass(frozen=True, kw_only=True)
class Outer:
    name: str
    words: tuple[str, ...] = ("a",)
    to: Mapping[str, str] = key(default_factory=dict, name="into")
    inner: Inner = field(default_factory=Inner, metadata={"beside": ("hidden",)})
    place: str = key("", outside=True)


def faults(values: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    read(Outer, Node(values, lambda _, what: found.append(what), of=" of it"))
    return found


def test_fields_are_read_by_type_and_name_and_those_of_a_part_beside_them():
    node = Node({"name": "n", "words": "b", "into": {"x": "y"}, "width": 7}, lambda *_: None)
    assert read(Outer, node) == Outer(name="n", words=("b",), to={"x": "y"}, inner=Inner(width=7))


def test_what_a_reader_refuses_is_one_fault_and_the_keys_after_it_are_known():
    def refusing(*_: Any) -> str:
        raise UsageError("no")

    @dataclass(frozen=True, kw_only=True)
    class Read:
        first: str = key("", read=refusing)
        second: int = 0

    found: list[str] = []
    read(Read, Node({"first": "x", "second": "y", "third": 3}, lambda _, what: found.append(what)))
    assert found == ["no", "second must be an integer >= 0: 'y'", "unknown key 'third'; known: first, second"]


def test_what_is_not_said_is_taken_from_another():
    base = Outer(name="n", words=("b", "c"), inner=Inner(height=9))
    assert read(Outer, Node({"width": 7}, lambda *_: None), base) == Outer(
        name="n", words=("b", "c"), inner=Inner(width=7, height=9)
    )


def test_all_faults_are_told_at_once_with_the_nearest_keys():
    told = faults({"words": 7, "into": {"x": 1}, "width": -1, "heigth": 1, "hidden": 1, "place": "x"})
    assert told == [
        "missing key 'name' of it",
        "words must be a text or a list of texts: 7",
        "into must be a mapping to texts: \"{'x': 1}\"",
        "width must be an integer >= 0: -1",
        "unknown key 'heigth' of it; did you mean height?",
        "unknown key 'hidden' of it; known: height, into, name, width, words",
        "unknown key 'place' of it; known: height, into, name, width, words",
    ]


def test_a_key_that_is_read_twice_is_listed_once():
    found: list[str] = []
    node = Node({"widht": 1, "zz": 1}, lambda _, what: found.append(what))
    read(Inner, node, read(Inner, node))
    assert "unknown key 'widht'; did you mean width?" in found
    assert "unknown key 'zz'; known: height, hidden, width" in found


def test_the_item_of_a_list_that_is_wrong_is_found():
    found: list[tuple[str, str]] = []

    def place(values: Any, key: str | int, *, of_key: bool = False) -> str:
        return str(key)

    node = Node({"seeds": [1, 2, -3]}, lambda *fault: found.append(fault), place)
    node.take("seeds", int | tuple[int, ...], 0)
    assert found == [("2", "seeds must be an integer >= 0 or a list of integers >= 0: -3")]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, int), (1, bool), (1, str), (-1, int), ("1", int), (1.5, int), ("x", Literal["a", "b"]), ([1], str),
        ("1", Literal[1]), ({"a": 1}, tuple[str, ...]), ([1, "a"], tuple[int, ...]), ("all", int | Literal["none"]),
        ([], Mapping[str, Any]), (None, str), ({1: "a"}, Mapping[str, str]),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_refused(value: Any, kind: Any):
    with pytest.raises(ValueError, match=r"^$"):
        converted(value, kind)


@pytest.mark.parametrize(
    ("value", "kind"), [(1, float), (0, int), (True, bool), ("all", int | Literal["all"]), ({}, Mapping[str, Any])]
)
def test_a_value_of_the_type_is_taken_as_it_is(value: Any, kind: Any):
    assert converted(value, kind) is value or converted(value, kind) == value
