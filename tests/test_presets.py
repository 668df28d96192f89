"""Presets draw what the papers' tables say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from taskloom.core import Example, Item, Labels, Suite, Task
from taskloom.episodes import Between, Draw, Sampler, draw_id, draws
from taskloom.presets import PRESETS
from taskloom.studies.study import StudyProtocol, parse
from taskloom.suites import rows

STUDY = "name: s\nsuite: s\nlearners: {majority: {}}\nprotocol: {preset: %s}\n"


def suite(classes: int, each: int) -> Suite:
    names = tuple(f"c{n}" for n in range(classes))
    task = Task(id="t", instruction="Which?", output=Labels(names), metrics=("accuracy",))
    examples = [Example(Item(str(n), {"text": str(n)}), (names[n % classes],), str(n)) for n in range(classes * each)]
    return Suite(id="s", tasks={"t": task}, pools={"t": {"all": rows.pool(task, examples)}})


def protocol(preset: str) -> StudyProtocol:
    return parse(STUDY % preset).protocol


def drawn(name: str, classes: int, each: int, count: int = 60) -> list[Draw]:
    """Draw episodes of each setting of a preset."""
    how, of = protocol(name), suite(classes, each)
    return [one for shots in how.shots for one in draws(of, "t", how.drawing(shots), count=count)]


@pytest.mark.parametrize(
    ("name", "shots"),
    [
        ("flex", {"drawn": 90, 0: 90}),
        ("gao", {16: 90}),
        ("bansal", {4: 90, 8: 90, 16: 90}),
        ("bao", {1: 90, 5: 90}),
    ],
)
def test_a_preset_has_ninety_episodes_of_each_setting_and_one_seed(name: str, shots: Mapping[int | str, int]):
    assert (dict(protocol(name).shots), protocol(name).seeds) == (shots, (0,))
    assert PRESETS.keys() == {"flex", "gao", "bansal", "bao"}


def test_flex_draws_five_classes_or_more_and_one_to_five_shots_of_each():
    found = drawn("flex", classes=8, each=300)
    few, none = found[:60], found[60:]
    assert {len(one.labels) for one in few} == {len(one.labels) for one in none} == {5, 6, 7, 8}
    assert {n for one in few for n in one.sizes} == {1, 2, 3, 4, 5}
    assert sum(len({*one.sizes}) > 1 for one in few) > 50  # imbalanced
    assert {n for one in none for n in one.sizes} == {0}
    assert all(len(one.rows["query"]) == 110 * len(one.labels) for one in found)


@pytest.mark.parametrize("classes", [2, 5, 6])
def test_flex_takes_all_classes_of_a_task_that_has_six_or_fewer(classes: int):
    """As the paper's table 4 has it: {6} for TREC, which has too many for all to take part because there are fewer."""
    assert {len(one.labels) for one in drawn("flex", classes=classes, each=20, count=20)} == {classes}


@pytest.mark.parametrize("classes", [5, 7])
def test_where_all_up_to_changes_nothing_draws_keep_their_names(classes: int):
    of, sampler = suite(classes, each=20), PRESETS["flex"].sampler
    plain = replace(sampler, ways=Between(least=5))
    assert next(draws(of, "t", sampler)) == next(draws(of, "t", plain))
    assert draw_id(of, "t", sampler) == draw_id(of, "t", plain) == next(draws(of, "t", plain)).id


def test_flex_leaves_half_of_a_small_class_for_support_and_nothing_where_nothing_is_shown():
    found = drawn("flex", classes=6, each=20, count=5)
    assert [len(one.rows["query"]) // len(one.labels) for one in found] == [10] * 5 + [20] * 5


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_flex_takes_all_classes_where_there_are_fewer_than_five(classes: int):
    found = drawn("flex", classes=classes, each=30)
    assert {frozenset(one.labels) for one in found} == {frozenset(f"c{n}" for n in range(classes))}
    assert len({one.labels for one in found}) > 1  # in any order


@pytest.mark.parametrize(
    ("name", "shots", "classes", "way"),
    [("gao", [16], 3, 3), ("bansal", [4, 8, 16], 4, 4), ("bao", [1, 5], 9, 5)],
)
def test_the_others_are_balanced_and_ask_about_forty_of_each_class(name: str, shots: list[int], classes: int, way: int):
    found = drawn(name, classes=classes, each=100, count=4)
    assert [one.sizes for one in found] == [(n,) * way for n in shots for _ in range(4)]
    assert {len(one.rows["query"]) for one in found} == {40 * way}
    assert {one.chance for one in found} == {1.0}


def test_shots_of_a_preset_can_be_drawn_too():
    found = list(draws(suite(6, 60), "t", PRESETS["bao"].sampler, count=40))
    assert {one.sizes for one in found} == {(1,) * 5, (5,) * 5}
    assert {one.chance for one in found} == {0.5}


def test_numbers_of_shots_of_a_preset_nest_and_share_their_query():
    found = drawn("bansal", classes=3, each=60, count=2)
    for few, more in ((found[0], found[2]), (found[3], found[5])):
        assert {*few.rows["support"]} < {*more.rows["support"]}
        assert few.rows["query"] == more.rows["query"]


def test_few_shot_and_zero_shot_episodes_of_flex_are_not_the_same_ones():
    how = protocol("flex")
    assert (how.episodes("drawn"), how.episodes(0)) == (range(90), range(90, 180))
    assert protocol("bao").episodes(5) == range(90)


def test_presets_are_listed_with_what_they_draw(taskloom):
    told = {row["name"]: row for row in json.loads(taskloom("list", "presets", "--json").out)}
    assert told.keys() == PRESETS.keys()
    assert [told["flex"][name] for name in ("classes", "shots", "query", "episodes")] == [
        "5 to all, or all of 6 or fewer", "1 to 5", 110, "drawn: 90, 0: 90",
    ]  # fmt: skip
    assert told["bansal"]["shots"] == "4, 8 or 16, balanced"


def test_the_sampler_of_a_preset_is_a_sampler_like_any_other():
    assert all(isinstance(of.sampler, Sampler) and of.sampler.share == 0.5 for of in PRESETS.values())
