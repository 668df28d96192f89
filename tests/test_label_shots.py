"""Shots of each label where an example may have several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskloom.core import Example, Item, Labels, Suite, Task
from taskloom.episodes import Draw, Sampler, draw, draw_id
from taskloom.errors import EpisodeError
from taskloom.messages import Note
from taskloom.suites import rows

NAMES = ("a", "b", "c")
MANY = Task(id="t", instruction="Which?", output=Labels(NAMES, many=True), metrics=("macro-f1",))
Labelled = Sequence[tuple[str, ...]]
OLD = "752d25809dab029a7d5e5263b97026e8"  # the id of a draw before there was `per_label`

label_sets = st.lists(
    st.sets(st.sampled_from("aaabbc"), max_size=3).map(lambda found: tuple(sorted(found))), min_size=6
)
often = settings(deadline=None, max_examples=60)


def suite_of(pools: Mapping[str, Labelled]) -> Suite:
    made = {
        name: rows.pool(MANY, [Example(Item(f"{name}{n}", {"text": f"{name} {n}"}), (own,), f"{name}{n}")
                               for n, own in enumerate(found)])
        for name, found in pools.items()
    }  # fmt: skip
    return Suite(id="s", tasks={"t": MANY}, pools={"t": made})


def drawn(train: Labelled, shots: int, *, reserve: int = 0, seed: int = 0, **more: object) -> Draw:
    suite = suite_of({"train": train, "test": [("a",), ("b",)]})
    sampler = Sampler(shots=shots, reserve=reserve, query="all", per_label=True, **more)  # type: ignore[arg-type]
    return draw(suite, "t", sampler, seed=seed)


def counted(train: Labelled, found: Draw) -> Counter[str]:
    return Counter(name for row in found.rows["support"] for name in train[row])


@often
@given(label_sets, st.integers(0, 4), st.integers(0, 99))
def test_each_label_has_its_shots_or_all_that_there_are(train, shots, seed):
    found, there = drawn(train, shots, seed=seed), Counter(name for own in train for name in own)
    support = found.rows["support"]
    assert len(set(support)) == len(support) <= shots * len(NAMES)
    assert all(counted(train, found)[name] >= min(shots, there[name]) for name in NAMES)
    assert dict(found.few) == {name: there[name] for name in NAMES if there[name] < shots}


@often
@given(label_sets, st.integers(0, 3), st.integers(0, 99))
def test_fewer_shots_are_a_part_of_more_and_each_is_needed(train, shots, seed):
    few, more = (drawn(train, n, reserve=4, seed=seed).rows["support"] for n in (shots, shots + 1))
    assert few == more[: len(few)]
    before: Counter[str] = Counter()
    for row in few:  # each brings a label that lacked a shot when it was picked
        assert any(before[name] < shots for name in train[row])
        before.update(train[row])


@often
@given(label_sets, st.integers(1, 3), st.integers(0, 99))
def test_from_one_pool_no_record_is_shown_and_asked_about(train, shots, seed):
    suite = suite_of({"test": [*train, ("a",), ("a",), ("b",), ()]})
    found = draw(suite, "t", Sampler(shots=shots, query="all", per_label=True), seed=seed)
    assert not {*found.rows["support"]} & {*found.rows["query"]}
    assert len(found.rows["support"]) + len(found.rows["query"]) == len(train) + 4


def test_where_labels_come_together_a_few_examples_are_enough():
    assert len(drawn([NAMES] * 9, 2).rows["support"]) == 2
    assert len(drawn([("a",), ("b",), ("c",)] * 9, 2).rows["support"]) == 6


def test_all_examples_are_shown_where_all_are_asked_for():
    suite = suite_of({"train": [("a",), ("b",), ("c",), ()], "test": [("a",)]})
    found = draw(suite, "t", Sampler(shots="all", query="all", per_label=True))
    assert sorted(found.rows["support"]) == [0, 1, 2, 3]


def test_labels_with_few_examples_may_be_refused():
    with pytest.raises(EpisodeError) as told:
        drawn([("a", "b"), ("a",), ("b",)], 2, short_class="refuse")
    assert told.value.note == Note.of("class-too-small", least=2, classes=[("c", 0)])


def test_without_the_setting_shots_are_in_all_and_draws_have_the_names_they_had():
    suite = suite_of({"train": [("a",), ("b",), ("a", "c"), ("b",)], "test": [("a",)]})
    found = draw(suite, "t", Sampler(shots=2, query="all"))
    assert len(found.rows["support"]) == 2
    assert found.id == draw_id(suite, "t", Sampler(shots=2, query="all")) == OLD
    assert found.id != draw(suite, "t", Sampler(shots=2, query="all", per_label=True)).id


@pytest.mark.parametrize(
    ("more", "other"), [({"total": "stratified"}, "total"), ({"shots": "drawn"}, "shots: drawn"),
                        ({"share": 0.5, "per_class": True}, "share")],
)  # fmt: skip
def test_settings_that_contradict_it_are_refused(more, other):
    with pytest.raises(EpisodeError) as told:
        Sampler(per_label=True, **more)
    assert told.value.note == Note.of("per-label-with", other=other)
