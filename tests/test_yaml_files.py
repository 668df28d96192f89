"""YAML of plain values alone; a few bytes never become gigabytes, and each fault has its line and column."""

from __future__ import annotations

import tracemalloc

import pytest

from taskloom.yaml_files import MOST_VALUES, YamlError, load_yaml

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10)
)


def refused(text: str) -> tuple[str, int, int]:
    with pytest.raises(YamlError) as told:
        load_yaml(text)
    with pytest.raises(YamlError):
        load_yaml(text, "safe")
    return str(told.value), told.value.line, told.value.column


def test_a_bomb_of_aliases_is_refused_before_it_grows():
    tracemalloc.start()
    assert refused(BOMB)[0] == f"invalid YAML (more than {MOST_VALUES:,} values)"
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("text", "problem", "place"),
    [
        ("[" * 300 + "]" * 300, "more than 100 levels", (1, 101)),
        ("{" * 1500, "more than 100 levels", (1, 101)),  # which took seconds to read ahead
        ("a: 1\nb: [2024-02-30]", "day is out of range for month: '2024-02-30'", (2, 5)),
        ("a: !!int abc", "tags are not supported: 'tag:yaml.org,2002:int'", (1, 4)),
        ("a: !!bool abc", "tags are not supported: 'tag:yaml.org,2002:bool'", (1, 4)),
        (
            "a: !!python/object:os.system x",
            "tags are not supported: 'tag:yaml.org,2002:python/object:os.syste'",
            (1, 4),
        ),
        ("a: 0x" + "f" * 5000, f"an integer of more than 63 bits: {'0x' + 'f' * 38!r}", (1, 4)),
        ("a: &a [*a]", "'a' refers to itself", (1, 8)),
        ("? [1, 2]\n: 3", "a key must be a text or a number", (1, 3)),
    ],
)
def test_what_is_no_plain_value_is_refused_with_its_place(text: str, problem: str, place: tuple[int, int]):
    assert refused(text) == (f"invalid YAML ({problem})", *place)


@pytest.mark.parametrize(
    "digits",
    [
        "9" * 5000,
        "-" + "9" * 4200,
        "1_" * 3000 + "1",
        "9" * 1300,
        "9" * 99,
        "-18446744073709551616",
        "9223372036854775808",
    ],
)
def test_an_integer_that_no_ledger_holds_is_refused(digits: str):
    assert refused(f"a: {digits}") == (f"invalid YAML (an integer of more than 63 bits: {digits[:40]!r})", 1, 4)


def test_integers_of_as_many_bits_as_may_be_are_read():
    assert load_yaml("a: -0b" + "1" * 63, "safe") == {"a": 1 - (1 << 63)}


def test_aliases_that_stay_small_are_read():
    text = "base: &b {steps: 3}\none: {<<: *b, x: 1}\ntwo: *b\nbase2: &b [1]\nthree: *b\n"
    found = load_yaml(text, "safe")
    assert (found["one"], found["two"], found["three"]) == ({"steps": 3, "x": 1}, {"steps": 3}, [1])
    assert load_yaml("a: !!str 5", "safe") == {"a": "5"}
    assert refused("{a: 1, a: 2}")[0] == "duplicate key: 'a'"
