from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from taskloom.benchmarks import build
from taskloom.core import Example, Fields, Item, Labels, Number, Output, Suite, Task, Terms, Text
from taskloom.episodes import Deck, Draw, Sampler
from taskloom.errors import EpisodeError, UnknownNameError
from taskloom.priors import Prior, Priors
from taskloom.sources.table import Field
from taskloom.suites.rows import pool

FIELDS = (Field("title", "text"), Field("keywords", "list"), Field("category", "label"))
LETTERS = Labels(("a", "b", "c"))


def suite(output: Output, **pools: Sequence[Any]) -> Suite:
    """Make a suite of one task; each gold answer is an example and a record of its own."""
    task = Task(id="t", instruction="Do it.", output=output, metrics=())
    made = {name: pool(task, [example(name, n, gold) for n, gold in enumerate(golds)]) for name, golds in pools.items()}
    return Suite(id="s", tasks={"t": task}, pools={"t": made})


def example(name: str, n: int, gold: Any) -> Example:
    return Example(Item(f"{name}{n}", {"text": f"{name} {n}"}), (gold,), f"{name}{n}")


def prior(of: Suite, sampler: Sampler, field: str = "", seed: int = 0) -> tuple[Draw, Prior]:
    deck = Deck(of, "t")
    drawn = deck.draw(sampler, seed=seed)
    return drawn, Priors(deck).of(drawn, field)


def test_the_prior_is_that_of_the_train_pool_whatever_the_support():
    golds = ["c"] * 7 + ["a"] * 2 + ["b"]
    for shots in (0, 1):
        _, found = prior(suite(LETTERS, train=golds, test=["a"] * 5), Sampler(shots=shots, query=5))
        assert list(found.items()) == [("a", 2), ("b", 1), ("c", 7)]


def test_labels_are_counted_over_the_whole_pool_so_that_no_draw_turns_the_majority_around():
    golds = ["c"] * 10 + ["a"] * 5 + ["b"] * 5
    for seed in range(5):
        _, found = prior(suite(LETTERS, all=golds), Sampler(shots=1, query=8), seed=seed)
        assert found == {"a": 5, "b": 5, "c": 10}


def test_other_answers_of_the_query_set_are_not_counted_where_there_is_one_pool():
    golds = [float(n) for n in range(20)]
    drawn, found = prior(suite(Number(), all=golds), Sampler(shots=1, query=8))
    assert set(found) == set(golds) - {golds[row] for row in drawn.rows["query"]}


def test_other_answers_of_query_records_are_not_counted_in_another_pool_either():
    of = suite(Number(), train=[1.0, 2.0, 3.0, 4.0], test=[5.0, 6.0])
    shared = [Example(Item("other", {"text": "x"}), (5.0,), "train0"), example("test", 1, 6.0)]
    pools = {"train": of.pools["t"]["train"], "test": pool(of.tasks["t"], shared)}
    _, found = prior(Suite(id="s", tasks=of.tasks, pools={"t": pools}), Sampler(shots=0, query=2))
    assert found == {2.0: 1, 3.0: 1, 4.0: 1}


def test_classes_that_are_dropped_have_no_part_in_the_prior():
    _, found = prior(suite(LETTERS, train=["a"] * 4 + ["b"] * 3 + ["c"], test=["a", "b"]), Sampler(shots=2, query=2))
    assert found == {"a": 4, "b": 3}


def test_other_answers_are_counted_too_sets_of_labels_in_whichever_order_they_were_written():
    many = Labels(("a", "b"), many=True)
    golds: list[tuple[Output, list[Any], Prior]] = [
        (Text(), ["y", "x", "y"], {"y": 2, "x": 1}),
        (Terms(), [("x", "y"), ("y",), ("y",)], {("x", "y"): 1, ("y",): 2}),
        (Number(), [1.0, 2.0, 1.0], {1.0: 2, 2.0: 1}),
        (many, [("b", "a"), ("a", "b"), ()], {("a", "b"): 2, (): 1}),
    ]
    for output, train, wanted in golds:
        assert prior(suite(output, train=train, test=train[:1]), Sampler(shots=0, query=1))[1] == wanted


def test_each_field_has_a_prior_and_a_field_that_there_is_not_is_refused():
    golds = [{"kind": "b", "year": 1.0}, {"kind": "b", "year": 2.0}, {"kind": "a", "year": 1.0}]
    of = suite(Fields({"kind": LETTERS, "year": Number()}), train=golds, test=golds[:1])
    assert prior(of, Sampler(shots=0, query=1), "kind")[1] == {"a": 1, "b": 2}
    assert prior(of, Sampler(shots=0, query=1), "year")[1] == {1.0: 2, 2.0: 1}
    for field in ("", "yaer"):
        with pytest.raises(UnknownNameError):
            prior(of, Sampler(shots=0, query=1), field)


def test_an_episode_that_asks_about_all_examples_has_no_prior():
    with pytest.raises(EpisodeError) as caught:
        prior(suite(Number(), all=[1.0, 2.0, 3.0]), Sampler(shots=0, query="all"))
    assert (caught.value.note.code, dict(caught.value.note.values)) == ("prior-empty", {"task": "t", "query": 3})


def test_gold_answers_are_read_without_inputs_as_examples_have_them():
    for output, golds in ((LETTERS, ["b", "a"]), (Terms(), [("x",), ("y", "z")]), (Number(), [1.0, 2.0])):
        made = suite(output, all=golds).pools["t"]["all"]
        assert made.golds() == [one.gold[0] for one in made.take(range(2))] == golds
    views = build("fields", "data:papers", fields=FIELDS, where={"language": "en"}, id_column="id")
    for name, pools in views.pools.items():
        (made,) = pools.values()
        assert made.golds() == [one.gold[0] for one in made.take(range(len(made)))], name
