"""Shots in all: shared by frequency, or the unshuffled folds of scikit-learn."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedKFold

from taskloom.core import Example, Item, Labels, Suite, Task
from taskloom.episodes import Sampler, draw, draws
from taskloom.errors import EpisodeError
from taskloom.prevalence import shared_sizes, unshuffled_fold
from taskloom.suites import rows

COUNTS = {"rare": 6, "often": 54}


@pytest.fixture(scope="module")
def suite() -> Suite:
    task = Task(id="t", instruction="", output=Labels(tuple(COUNTS)), metrics=("f1",))
    golds = [name for n in range(54) for name, count in COUNTS.items() if n < count]
    train = [Example(Item(f"d{n}", {"x": str(n)}), (gold,), f"d{n}") for n, gold in enumerate(golds)]
    test = [Example(Item(f"q{n}", {"x": f"q{n}"}), (name,), f"q{n}") for n, name in enumerate([*COUNTS] * 4)]
    pools = {"train": rows.pool(task, train), "test": rows.pool(task, test)}
    return Suite(id="s", tasks={"t": task}, pools={"t": pools})


@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.integers(0, 60))
def test_more_in_all_is_never_less_of_a_class(counts: list[int], total: int):
    sizes, more = shared_sizes(counts, total), shared_sizes(counts, total + 1)
    assert sum(sizes) == min(total, sum(counts))
    assert all(size <= larger <= count for size, larger, count in zip(sizes, more, counts, strict=True))
    assert all(sizes) or total < len(counts)


@given(st.lists(st.integers(0, 3), min_size=12, max_size=60), st.integers(2, 5))
def test_folds_are_those_of_scikit_learn(labels: list[int], folds: int):
    given_ = np.array(labels)
    if np.bincount(given_).max() < folds:
        return
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reference = [test.tolist() for _, test in StratifiedKFold(folds).split(given_, given_)]
    assert [unshuffled_fold(given_, folds, index).tolist() for index in range(folds)] == reference


def test_shots_in_all_are_stratified_by_the_seed_and_nest(suite: Suite):
    sampler = Sampler(shots=20, reserve=20, total="stratified", query="all")
    first, second = draws(suite, "t", sampler, count=2)
    assert first.sizes == (2, 18)
    assert first.rows["support"] != second.rows["support"]
    assert draw(suite, "t", sampler) == first
    fewer = draw(suite, "t", Sampler(shots=10, reserve=20, total="stratified", query="all"))
    assert fewer.sizes == (1, 9)
    assert {*fewer.rows["support"]} < {*first.rows["support"]}
    assert fewer.rows["query"] == first.rows["query"]
    assert draw(suite, "t", Sampler(shots="all", reserve=20, total="stratified", query="all")).sizes == (6, 54)


def test_as_published_a_draw_is_a_fold_whatever_the_seed(suite: Suite):
    sampler = Sampler(shots=16, total="folds", query="all")
    labels = suite.pools["t"]["train"].labels()
    reference = [test.tolist() for _, test in StratifiedKFold(4).split(labels, labels)]
    for seed in (0, 1):
        found = list(draws(suite, "t", sampler, seed=seed, count=4))  # ceil(60 / 16) folds
        assert [sorted(one.rows["support"]) for one in found] == reference
    assert [one.sizes for one in found] == [
        tuple(Counter(labels[test].tolist())[n] for n in (0, 1)) for test in reference
    ]
    with pytest.raises(EpisodeError, match="too few folds"):
        draw(suite, "t", sampler, index=4)


def test_a_share_of_each_class_and_a_total_contradict_each_other():
    with pytest.raises(EpisodeError, match="set one of them"):
        Sampler(total="stratified", share=0.5, per_class=True)
