import os
import subprocess
import sys
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskloom.ids import Json, canonical, fingerprint, ordered, raw_bits, shuffled

NESTED: Json = {"b": [1, 2.5, None, True], "a": {"é": "学科", "z": []}}
FINGERPRINTS: list[tuple[tuple[Json, ...], str]] = [
    ((), "7ebb3c7c2a87b1a2f8a7ed729ecb040d"),
    (("abstract->title", 1), "75cfaa0d7c216027938ba51baae559c0"),
    (("摘要->标题",), "55a6a20e23b63d956ba7d7c55f7ed10c"),
    ((NESTED,), "b32fd192ed6b82bc32ed580a2742e73b"),
]
KEY: tuple[Json, ...] = ("episode", "学科", 7)
FIRST_20 = [5, 251, 834, 679, 842, 520, 145, 559, 515, 758, 245, 878, 382, 657, 637, 462, 456, 919, 164, 723]
FIRST_BITS = [99315135820198233, 4636322162572233862, 15431326423055745659, 12572617683163958067]
BITS_64_65 = [11855398373435219081, 14958403750513401248]

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(
    scalars, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=3), v, max_size=3), max_leaves=5
)
often = settings(deadline=None, max_examples=50)


@pytest.mark.parametrize(("parts", "name"), FINGERPRINTS)
def test_fingerprints_are_those_of_the_first_release(parts: tuple[Json, ...], name: str) -> None:
    assert fingerprint(*parts) == name


def test_canonical_form_is_sorted_ascii_without_spaces() -> None:
    assert canonical(NESTED) == '{"a":{"z":[],"\\u00e9":"\\u5b66\\u79d1"},"b":[1,2.5,null,true]}'


@often
@given(st.dictionaries(st.text(max_size=3), values, min_size=2, max_size=4))
def test_the_order_of_keys_makes_no_difference(value: dict[str, Json]) -> None:
    assert fingerprint(dict(reversed(value.items()))) == fingerprint(value)


def test_values_that_differ_have_names_that_differ() -> None:
    different: list[tuple[Json, ...]] = [
        (1,), (1.0,), ("1",), (True,), ("True",), (None,), ("null",), ([],), ({},), ("",), (),
        ("a", "b"), (["a", "b"],), ("ab",), ("a,b",), ("é",), ("e\u0301",), ("\ud800",),
    ]  # fmt: skip
    assert len({fingerprint(*parts) for parts in different}) == len(different)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [1, {"a": float("-inf")}]])
def test_what_is_no_finite_number_has_no_canonical_form(value: Json) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical(value)


def test_raw_bits_are_those_of_the_first_release() -> None:
    bits = list(islice(raw_bits(*KEY), 66))
    assert bits[:4] == FIRST_BITS
    assert bits[64:] == BITS_64_65  # past the first block that is read at once


def test_shuffled_is_that_of_the_first_release() -> None:
    assert list(islice(shuffled(1000, *KEY), 20)) == FIRST_20


@pytest.mark.parametrize("hash_seed", ["0", "1", "random"])
def test_names_and_orders_do_not_depend_on_the_hash_seed(hash_seed: str) -> None:
    code = (
        "from itertools import islice; from taskloom.ids import *; import ast, sys;"
        "nested, key = ast.literal_eval(sys.argv[1]);"
        "print([fingerprint(nested), list(islice(shuffled(1000, *key), 20)), list(islice(raw_bits(*key), 4))])"
    )
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", code, repr((NESTED, KEY))], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str([FINGERPRINTS[-1][1], FIRST_20, FIRST_BITS])


@often
@given(st.integers(0, 300), st.lists(scalars, max_size=3))
def test_shuffled_is_a_permutation(n: int, key: list[Json]) -> None:
    assert sorted(shuffled(n, *key)) == list(range(n))


@often
@given(st.integers(2, 60), st.integers())
def test_shuffled_is_the_same_for_the_same_key(n: int, seed: int) -> None:
    assert list(shuffled(n, seed)) == list(shuffled(n, seed))


def test_shuffled_differs_for_other_keys() -> None:
    assert len({tuple(shuffled(20, "seed", seed)) for seed in range(200)}) == 200


def test_every_order_of_four_comes_equally_often() -> None:
    counts: dict[tuple[int, ...], int] = {}
    for seed in range(4800):
        order = tuple(shuffled(4, "uniform", seed))
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 24
    assert sum((n - 200) ** 2 / 200 for n in counts.values()) < 49.73  # chi-square, 23 degrees of freedom, p = 0.001


def test_each_place_of_seven_is_equally_likely_to_come_third() -> None:
    counts = [0] * 7
    for seed in range(3500):
        counts[list(islice(shuffled(7, "third", seed), 3))[2]] += 1
    assert sum((n - 500) ** 2 / 500 for n in counts) < 22.46  # 6 degrees of freedom, p = 0.001


def test_the_first_of_a_billion_are_had_at_once() -> None:
    first = list(islice(shuffled(10**9, "lazy"), 5))
    assert len(set(first)) == 5
    assert all(0 <= number < 10**9 for number in first)


@often
@given(st.integers(0, 200), st.integers(0, 250), st.integers(0, 9))
def test_an_order_by_bits_has_every_number_once_however_many_are_found_first(n: int, first: int, key: int) -> None:
    found = list(ordered(n, first, "key", key))
    assert sorted(found) == list(range(n))
    assert found == list(ordered(n, n, "key", key))


def test_orders_by_bits_are_those_of_the_first_release() -> None:
    assert list(islice(ordered(1000, 5, *KEY), 8)) == [722, 430, 0, 240, 248, 90, 981, 747]


def test_every_number_is_as_likely_to_come_first_by_bits() -> None:
    firsts = [next(ordered(5, 1, "first", n)) for n in range(2000)]
    assert sum((firsts.count(n) - 400) ** 2 / 400 for n in range(5)) < 18.47  # chi-square, 4 degrees, p = 0.001
