"""Episodes whose ways, shots and query are drawn: every knob, and what is promised of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from taskloom.core import Example, Item, Labels, Suite, Task, Text
from taskloom.episodes import Between, Deck, Draw, Sampler, draw, draws, episode
from taskloom.errors import EpisodeError, TaskloomError, UnknownNameError
from taskloom.messages import Note
from taskloom.sampler import powers
from taskloom.suites import rows

often = settings(deadline=None, max_examples=40)
NAMES = ("a", "b", "c", "d", "e", "f")
CHOICE = Task(id="t", instruction="Which?", output=Labels(NAMES), metrics=("accuracy",))
FREE = Task(id="t", instruction="Say it.", output=Text(), metrics=("rouge-l",))
SHARED = Sampler(shots="drawn", per_class=True, share=0.5, query=4)

Row = tuple[str, int]  # a label and the number of a record


def suite_of(task: Task = CHOICE, **pools: Sequence[Row]) -> Suite:
    def example(number: int, label: str, record: int) -> Example:
        return Example(Item(f"i{number}", {"text": f"text of {record}"}), (label,), f"g{record}")

    made = {name: rows.pool(task, [example(n, *row) for n, row in enumerate(found)]) for name, found in pools.items()}
    return Suite(id="s", tasks={"t": task}, pools={"t": made})


def sized(**sizes: int) -> list[Row]:
    """Give rows of records of their own: so many of each class."""
    labels = [label for label, size in sizes.items() for _ in range(size)]
    return [(label, number) for number, label in enumerate(labels)]


def found_in(suite: Suite, sampler: Sampler, count: int = 1, seed: int = 0) -> list[Draw]:
    return list(draws(suite, "t", sampler, seed=seed, count=count))


def drawn_or_refused(suite: Suite, sampler: Sampler, seed: int) -> Draw:
    try:
        return draw(suite, "t", sampler, seed=seed)
    except EpisodeError:
        assume(False)
        raise


@contextmanager
def refused(code: str, **values: Any) -> Iterator[None]:
    """Expect an error of a code, with these among its values."""
    with pytest.raises(TaskloomError) as told:
        yield
    assert told.value.note.code == code
    assert set(Note.of(code, **values).values) <= set(told.value.note.values)


def records(cells: Sequence[Row], taken: Iterable[int]) -> list[int]:
    return [cells[row][1] for row in taken]


def by_class(cells: Sequence[Row], taken: Iterable[int]) -> Counter[str]:
    return Counter(cells[row][0] for row in taken)


counts = st.lists(st.integers(0, 12), min_size=6, max_size=6)
pure = counts.map(lambda sizes: sized(**dict(zip(NAMES, sizes, strict=True))))
several = st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 30)), min_size=10, max_size=60)
ways = st.one_of(
    st.integers(0, 3),
    st.lists(st.integers(2, 6), min_size=1, max_size=3).map(tuple),
    st.builds(Between, least=st.integers(2, 4)),
    st.builds(Between, least=st.integers(2, 3), most=st.integers(3, 6)),
)
drawn_sizes = st.sampled_from(
    [
        {"least": 1, "most": 5}, {"least": 0, "most": 2}, {"least": 2, "most": 3}, {"most": 6, "base": 2},
        {"least": 0, "most": 9, "base": 3}, {"among": (4, 1)}, {"among": (2, 3, 5)},
    ]
)  # fmt: skip
samplers = st.builds(
    lambda sizes, **knobs: replace(SHARED, **sizes, **knobs),
    drawn_sizes,
    shots=st.sampled_from(["drawn", "drawn", "all", 0, 1, 2]),
    ways=ways,
    dev=st.integers(0, 2),
    query=st.sampled_from([1, 3, 5, "all"]),
    share=st.sampled_from([0.1, 0.5, 0.8, 1.0]),
    balanced=st.sampled_from([0.0, 0.3, 1.0]),
    label_order=st.sampled_from(["auto", "shuffled", "task"]),
)


# --- what is drawn ---------------------------------------------------------------------------------------------------


def expect_as_said(found: Draw, cells: Sequence[Row], sampler: Sampler) -> None:
    shown, asked, dev = (by_class(cells, found.rows[role]) for role in ("support", "query", "dev"))
    assert found.sizes == tuple(shown[label] for label in found.labels)
    assert len({asked[label] for label in found.labels}) == 1  # equally many of each class
    assert sum(asked.values()) == asked[found.labels[0]] * len(found.labels) > 0
    assert all(dev[label] == sampler.dev for label in found.labels)
    if sampler.shots == "drawn":
        assert {*found.sizes} <= {*sampler.choices}
    elif sampler.shots != "all":
        assert {*found.sizes} == {sampler.shots}


@often
@given(pure, samplers, st.integers(0, 99))
def test_sets_are_disjoint_and_of_the_sizes_that_are_said(cells: list[Row], sampler: Sampler, seed: int):
    found = drawn_or_refused(suite_of(all=cells), sampler, seed)
    used = records(cells, chain(*found.rows.values()))
    assert len({*used}) == len(used)
    expect_as_said(found, cells, sampler)
    per_class = len(found.rows["query"]) // len(found.labels)
    sizes = Counter(label for label, _ in cells)
    share = sampler.share if sampler.shots else 0.0
    formula = min(math.floor((1 - share) * sizes[label]) for label in found.labels)
    if sampler.query != "all":
        formula = min(formula, sampler.query)
    spare = min(sizes[label] - sampler.needed - sampler.dev for label in found.labels)
    assert per_class == max(1, min(formula, spare))
    if sampler.shots == "all":
        assert all(
            sizes[label] == n + per_class + sampler.dev for label, n in zip(found.labels, found.sizes, strict=True)
        )


@often
@given(several, samplers, st.integers(0, 99))
def test_sets_are_disjoint_where_a_record_has_rows_of_several_classes(cells: list[Row], sampler: Sampler, seed: int):
    found = drawn_or_refused(suite_of(all=cells), sampler, seed)
    used = records(cells, chain(*found.rows.values()))
    assert len({*used}) == len(used)
    expect_as_said(found, cells, sampler)


@often
@given(st.tuples(pure, pure, pure), st.booleans(), samplers, st.integers(0, 99))
def test_pools_of_their_own_share_no_record(cells: tuple[list[Row], ...], has_dev: bool, sampler: Sampler, seed: int):
    names = ("train", "test", "dev")[: 2 + has_dev]
    pools = dict(zip(names, cells, strict=False))  # their records have the same names
    found = drawn_or_refused(suite_of(CHOICE, **pools), sampler, seed)
    used = [pools[found.pools[role]][row][1] for role, taken in found.rows.items() for row in taken]
    assert len({*used}) == len(used)
    assert found.pools == {"support": "train", "query": "test", "dev": "dev" if has_dev else "train"}


@often
@given(pure, samplers, st.integers(0, 99))
def test_classes_are_as_many_as_the_sampler_says(cells: list[Row], sampler: Sampler, seed: int):
    found = drawn_or_refused(suite_of(all=cells), sampler, seed)
    sizes = Counter(label for label, _ in cells)
    able = [name for name in NAMES if sizes[name] >= found.least]
    assert found.least == sampler.needed + sampler.dev + 1
    assert found.short == {name: sizes[name] for name in NAMES if name not in able}
    assert {*found.labels} <= {*able}
    assert len({*found.labels}) == len(found.labels)
    if isinstance(sampler.ways, Between):
        most = min(sampler.ways.most or len(able), len(able))
        assert min(sampler.ways.least, len(able)) <= len(found.labels) <= most
    elif isinstance(sampler.ways, tuple):
        assert len(found.labels) in sampler.ways
    else:
        assert len(found.labels) == (sampler.ways or len(able))
    if sampler.label_order == "task" or (sampler.label_order == "auto" and not sampler.ways):
        assert list(found.labels) == sorted(found.labels)


@often
@given(pure, samplers, st.integers(0, 99), st.integers(0, 5))
def test_an_episode_depends_on_its_number_and_not_on_those_before_it(
    cells: list[Row], sampler: Sampler, seed: int, index: int
):
    suite = suite_of(all=cells)
    drawn_or_refused(suite, sampler, seed)
    deck = Deck(suite, "t")
    forwards = [deck.draw(sampler, seed=seed, index=n) for n in range(6)]
    backwards = [Deck(suite, "t").draw(sampler, seed=seed, index=n) for n in reversed(range(6))]
    assert forwards == backwards[::-1]
    assert draw(suite, "t", replace(sampler), seed=seed, index=index) == forwards[index]


def test_the_query_is_the_cap_or_what_leaves_a_share_of_the_smallest_class():
    def query(share: float, cap: Any = 10, shots: Any = "drawn", **sizes: int) -> int:
        sampler = replace(SHARED, share=share, query=cap, shots=shots)
        found = draw(suite_of(all=sized(**sizes)), "t", sampler)
        return len(found.rows["query"]) // len(found.labels)

    assert query(0.5, a=70, b=20) == 10
    assert query(0.5, a=70, b=19) == 9
    assert query(0.5, a=70, b=2) == 1
    assert query(0.5, a=70, b=30, cap="all") == 15
    assert query(0.7, a=70, b=20) == 6
    assert query(0.5, a=70, b=19, cap=110, shots=0) == 19  # nothing is left where nothing is shown
    assert query(0.5, a=40, b=20, cap=40, shots=16) == 4  # the fixed shots come first
    assert query(1.0, a=9, b=9) == 1


def test_a_task_without_classes_has_one_query_size_and_one_support_size():
    suite = suite_of(FREE, all=sized(a=9, b=8))
    found = draw(suite, "t", replace(SHARED, query=110, most=3))
    assert (len(found.rows["query"]), found.labels, found.sizes) == (8, (), ())
    assert 1 <= len(found.rows["support"]) <= 3
    assert found.chance == 1 / 3


def test_a_test_pool_is_asked_about_whole_and_leaves_support_alone():
    suite = suite_of(train=sized(a=5, b=3), test=[(label, n + 50) for label, n in sized(a=9, b=7)])
    found = draw(suite, "t", replace(SHARED, shots="all", query=110))
    assert (len(found.rows["query"]), found.sizes) == (14, (5, 3))


def test_records_to_avoid_are_not_drawn():
    cells = sized(a=8, b=8, c=8)
    groups = suite_of(all=cells).pools["t"]["all"].groups()
    avoid = {int(groups[row]) for row in range(0, 24, 2)}
    found = draw(suite_of(all=cells), "t", replace(SHARED, shots="all"), avoid=avoid)
    assert not {int(groups[row]) for rows_ in found.rows.values() for row in rows_} & avoid
    assert found.sizes == (2, 2, 2)


def test_the_order_of_questions_says_nothing_of_their_classes():
    cells = sized(a=40, b=40)
    found = found_in(suite_of(all=cells), replace(SHARED, query=10), count=200)
    asked = [[cells[row][0] for row in one.rows["query"]] for one in found]
    for place in range(20):
        assert 70 <= sum(labels[place] == "a" for labels in asked) <= 130  # 4 standard deviations


def test_an_episode_reads_what_was_dealt():
    suite = suite_of(all=sized(a=9, b=9, c=9))
    found = draw(suite, "t", replace(SHARED, ways=2))
    read = episode(suite, found)
    assert read.task.output == Labels(found.labels)
    assert [int(example.item.id[1:]) for example in read.query] == list(found.rows["query"])


def test_drawn_episodes_stay_as_they_were_first_drawn():
    sampler = replace(SHARED, ways=Between(least=2), query=3, dev=1, balanced=0.5)
    found = found_in(suite_of(all=sized(a=20, b=9, c=12, d=1, e=8)), sampler, count=2, seed=3)
    assert [(one.labels, one.sizes, one.rows["query"]) for one in found] == [
        (("a", "c", "e", "b"), (5, 1, 3, 5), (27, 7, 45, 47, 14, 44, 8, 39, 33, 38, 25, 26)),
        (("a", "e", "c"), (5, 3, 2), (0, 45, 6, 44, 31, 35, 30, 47, 14)),
    ]
    assert found[0].id == "f1a1078b51842f38801a8315b6fdb8da"


# --- shots nest ------------------------------------------------------------------------------------------------------


@often
@given(
    pure | several, st.integers(0, 3), st.integers(1, 3), st.sampled_from([0, 2, Between(least=2)]), st.integers(0, 99)
)
def test_fewer_shots_are_a_part_of_more_and_dev_and_query_are_the_same(
    cells: list[Row], few: int, more: int, ways: Any, seed: int
):
    suite = suite_of(all=cells)
    sampler = replace(SHARED, ways=ways, dev=1, reserve=few + more)
    full = drawn_or_refused(suite, replace(sampler, shots=few + more), seed)
    less = draw(suite, "t", replace(sampler, shots=few), seed=seed)
    assert less.labels == full.labels
    assert (less.rows["dev"], less.rows["query"]) == (full.rows["dev"], full.rows["query"])
    assert {*less.rows["support"]} <= {*full.rows["support"]}


@often
@given(pure, st.integers(0, 99))
def test_zero_shot_asks_about_what_few_shot_does_and_more(cells: list[Row], seed: int):
    few = drawn_or_refused(suite_of(all=cells), SHARED, seed)
    none = draw(suite_of(all=cells), "t", replace(SHARED, shots=0), seed=seed)
    assume(none.labels == few.labels)
    if len(none.rows["query"]) >= len(few.rows["query"]):
        assert {*few.rows["query"]} <= {*none.rows["query"]}
    assert none.sizes == (0,) * len(none.labels)


# --- probabilities ---------------------------------------------------------------------------------------------------

KNOBS: Mapping[str, Mapping[str, Any]] = {
    "uniform": {"most": 3},
    "within what a class has": {"most": 5},
    "from nothing": {"least": 0, "most": 2},
    "sometimes balanced": {"most": 3, "balanced": 0.4},
    "always balanced": {"most": 4, "balanced": 1.0},
    "powers": {"most": 9, "base": 2},
    "powers from nothing": {"least": 0, "most": 4, "base": 2},
    "a list": {"among": (4, 1, 2)},
    "a balanced list": {"among": (1, 4), "balanced": 0.5},
}


@pytest.mark.parametrize("knobs", KNOBS.values(), ids=KNOBS)
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_chances_of_all_sizes_sum_to_one_and_are_how_often_they_come(knobs: Mapping[str, Any], share: float):
    sampler = replace(SHARED, share=share, query=1, **knobs)
    found = found_in(suite_of(all=sized(a=20, b=5)), sampler, count=1500)
    chances = {one.sizes: one.chance for one in found}
    assert len({(one.sizes, one.chance) for one in found}) == len(chances)
    assert sum(chances.values()) == pytest.approx(1)
    seen = Counter(one.sizes for one in found)
    distance = sum((seen[sizes] - 1500 * p) ** 2 / (1500 * p) for sizes, p in chances.items())
    assert distance < len(chances) + 4 * math.sqrt(2 * len(chances)) + 5  # chi-square, far out


def test_chances_worked_out_by_hand():
    def chances(**knobs: Any) -> dict[tuple[int, ...], float]:
        suite = suite_of(all=sized(a=20, b=4))  # query takes 1: b has room for 3
        return {one.sizes: one.chance for one in found_in(suite, replace(SHARED, query=1, **knobs), count=400)}

    assert chances(most=5)[5, 3] == pytest.approx(1 / 15)
    some = chances(most=4, balanced=0.25)  # apart: 1 of 4 x 3; together: 1 of the 3 that both have room for
    assert some[4, 1] == pytest.approx(0.75 / 12)
    assert some[2, 2] == pytest.approx(0.75 / 12 + 0.25 / 3)
    assert (4, 4) not in some
    assert chances(most=5, balanced=1.0) == pytest.approx({(n, n): 1 / 3 for n in (1, 2, 3)})
    assert chances(among=(1, 2, 16))[16, 2] == pytest.approx(1 / 6)


@often
@given(pure, samplers, st.integers(0, 99))
def test_what_is_drawn_was_probable(cells: list[Row], sampler: Sampler, seed: int):
    found = drawn_or_refused(suite_of(all=cells), sampler, seed)
    assert 0 < found.chance <= 1
    assert found.chance == 1 or sampler.shots == "drawn"


@pytest.mark.parametrize(
    ("ways", "able"), [(Between(least=3), {3, 4, 5, 6}), (Between(least=2, most=4), {2, 3, 4}), ((2, 5, 9), {2, 5})]
)
def test_ways_are_equally_probable(ways: Any, able: set[int]):
    found = found_in(suite_of(all=sized(a=9, b=9, c=9, d=9, e=9, f=9)), replace(SHARED, ways=ways), count=600)
    seen = Counter(len(one.labels) for one in found)
    assert {*seen} == able
    assert all(abs(n - 600 / len(able)) < 5 * math.sqrt(600 / len(able)) for n in seen.values())


def test_classes_are_equally_probable_and_come_in_any_order():
    suite = suite_of(all=sized(a=9, b=9, c=9))
    shuffled = found_in(suite, replace(SHARED, label_order="shuffled"), count=120)
    assert len({one.labels for one in shuffled}) == 6
    some = Counter(label for one in found_in(suite, replace(SHARED, ways=2), count=300) for label in one.labels)
    assert all(150 < n < 250 for n in some.values())
    assert {one.labels for one in found_in(suite, replace(SHARED, ways=2, label_order="task"), count=60)} == {
        ("a", "b"), ("a", "c"), ("b", "c"),
    }  # fmt: skip


# --- refusals --------------------------------------------------------------------------------------------------------


def test_a_class_needs_the_fewest_shots_and_one_to_ask_about():
    suite = suite_of(all=sized(a=4, b=4, c=3))
    assert draw(suite, "t", replace(SHARED, least=3)).short == {"c": 3, "d": 0, "e": 0, "f": 0}
    with refused("class-too-small", least=4, classes=[("c", 3), ("d", 0), ("e", 0), ("f", 0)]):
        draw(suite, "t", replace(SHARED, least=3, short_class="refuse"))
    with refused("too-few-classes", least=5, support=4, enough=0):
        draw(suite, "t", replace(SHARED, least=4))
    with refused("too-few-classes", least=5, support=4):
        draw(suite, "t", replace(SHARED, among=(9, 4)))
    with refused("too-few-classes", least=9, support=8):  # 5 is no power of 2
        draw(suite, "t", replace(SHARED, least=5, most=9, base=2))


def test_too_few_classes_for_the_least_of_listed_ways_are_refused():
    suite = suite_of(all=sized(a=4, b=4, c=4))
    with refused("too-few-ways", ways=4, able=3, least=2):
        draw(suite, "t", replace(SHARED, ways=(5, 4)))
    with refused("too-few-ways", ways=4, able=3):
        draw(suite, "t", replace(SHARED, ways=4))
    assert len(draw(suite, "t", replace(SHARED, ways=Between(least=5))).labels) == 3  # all that there are


def test_a_task_with_fewer_classes_than_the_least_of_ways_is_refused_by_name():
    suite = suite_of(all=sized(a=4, b=4, c=4, d=4, e=4, f=4))
    with refused("ways-of-few", task="t", classes=6, least=7):
        draw(suite, "t", replace(SHARED, ways=Between(least=7, most=9)))
    assert str(Note.of("ways-of-few", task="t", classes=6, least=7)).startswith("task 't' has 6 classes, and")
    assert len(draw(suite, "t", replace(SHARED, ways=Between(least=7, most=9, all_up_to=6))).labels) == 6


def test_a_test_pool_without_one_of_the_classes_is_refused():
    with refused("too-few-examples", role="query", wanted=2, found=1):
        draw(suite_of(train=sized(a=4, b=4), test=[("a", 90), ("c", 91)]), "t", SHARED)


@pytest.mark.parametrize(
    ("knobs", "code", "values"),
    [
        ({"share": 0.5}, "share-in-all", {"share": 0.5}),
        ({"share": 1.5}, "number-expected", {"name": "share", "most": 1}),
        ({"balanced": -0.1}, "number-expected", {"name": "balanced", "least": 0}),
        ({"balanced": True}, "number-expected", {"name": "balanced"}),
        ({"base": 2, "among": (1, 2)}, "among-and-base", {"base": 2}),
        ({"base": 2, "least": 5, "most": 7}, "no-powers", {"base": 2, "least": 5, "most": 7}),
        ({"base": 1}, "no-powers", {"base": 1}),
        ({"among": (1, -2)}, "sizes-negative", {}),
        ({"ways": (2, 2.5)}, "sizes-not-whole", {}),
    ],
)
def test_knobs_that_contradict_each_other_are_refused(knobs: dict[str, Any], code: str, values: dict[str, Any]):
    with refused(code, **values):
        Sampler(**knobs)


def test_ways_and_orders_that_are_none_are_refused():
    with refused("ways-out-of-order", least=5, most=4):
        Between(least=5, most=4)
    with pytest.raises(UnknownNameError, match="did you mean shuffled"):
        Sampler(label_order="shufled")  # type: ignore[arg-type]


@given(st.integers(2, 5), st.integers(0, 40), st.integers(0, 200))
def test_powers_are_all_within_bounds(base: int, least: int, most: int):
    wanted = [n for n in range(least, most + 1) if n == 0 or n in {base**k for k in range(9)}]
    assert powers(base, least, most) == wanted
