"""SetFit: pairs of the support set, an encoder that is trained while a cell lasts, a linear model on its vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from taskloom.core import Example, Item, Labels, Task
from taskloom.errors import TaskloomError
from taskloom.learners import learner
from taskloom.learners.setfit import SetFit, drawn_pairs
from taskloom.learners.toolbox import Toolbox
from taskloom.models import TextPair
from taskloom.models.fake import FakeEncoder
from taskloom.models.recipe import Watch
from taskloom.models.vectors import VectorCache

TASK = Task(id="t", instruction="What is it?", output=Labels(("bird", "tree", "fish")), metrics=())
MANY = Task(id="m", instruction="What is it?", output=Labels(("bird", "tree", "old"), many=True), metrics=())
TEXTS = {"red owl": "bird", "grey crow": "bird", "old oak": "tree", "young elm": "tree"}


class Watched(FakeEncoder):
    """A fake that notes how it was trained."""

    def __init__(self) -> None:
        super().__init__()
        self.trained: list[tuple[list[TextPair], Any, dict[str, Any]]] = []

    def tuned(self, pairs: Any, how: Any, **more: Any) -> Any:
        self.trained.append((list(pairs), how, more))
        return super().tuned(pairs, how, **more)


@pytest.fixture
def encoder() -> Watched:
    return Watched()


@pytest.fixture
def tools(encoder: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toolbox:
    monkeypatch.setenv("TASKLOOM_CACHE", str(tmp_path))
    cache = VectorCache("bag", "bag", "float32", lambda: encoder)
    return Toolbox({}, encoders=lambda name: cache, watch=Watch(limit=3, looks=frozenset({1})))


def examples(golds: dict[str, Any]) -> list[Example]:
    return [Example(Item(text, {"input": text}), (gold,), text) for text, gold in golds.items()]


def asked(of: SetFit, support: Sequence[Example], tools: Toolbox, *texts: str, task: Task = TASK) -> Any:
    fitted = of.fit(task, support, (), seed=3, tools=tools)
    return fitted.predict([Item(text, {"input": text}) for text in texts])


def test_the_encoder_is_trained_on_pairs_and_is_what_it_was_before_at_the_end(encoder: Watched, tools: Toolbox):
    before = encoder.encode(["red owl"])
    found = asked(SetFit(model="x", pairs=2), examples(TEXTS), tools, "an owl", "an elm")
    ((pairs, how, more),) = encoder.trained
    assert len(pairs) == 4 * 2 * 2
    assert (how.budget, how.rate, how.batch, more["seed"]) == (("epochs", 1), 2e-5, 16, 3)
    assert (more["watch"].limit, more["watch"].looks) == (3, frozenset())
    assert [one.answer for one in found] == ["bird", "tree"]
    assert sum(map(math.exp, found[0].options.values())) == pytest.approx(1)
    assert list(found[0].options) == ["bird", "tree"]  # a label without an example has none
    assert not np.array_equal(encoder.encode(["red owl"]), before)
    tools.let_go()
    assert np.array_equal(encoder.encode(["red owl"]), before)
    assert tools.learnt[0].steps == len(pairs)


def test_vectors_of_a_trained_encoder_are_not_kept(encoder: Watched, tools: Toolbox):
    asked(SetFit(model="x", pairs=2), examples(TEXTS), tools, "an owl")
    trained = tools.vectors("x", ["an owl"])
    assert tools.encoding == 0
    tools.let_go()
    plain = tools.vectors("x", ["an owl"])
    assert not np.array_equal(trained, plain)
    assert np.array_equal(plain, FakeEncoder().encode(["an owl"]))


def test_without_training_the_vectors_are_those_that_are_kept(encoder: Watched, tools: Toolbox):
    asked(SetFit(model="x", what="none"), examples(TEXTS), tools, "an owl")
    assert not encoder.trained
    assert tools.encoding > 0
    assert SetFit(model="x", what="none").needs(TASK) == {"x": {"vectors"}}
    assert SetFit(model="x").needs(TASK) == {"x": {"vectors", "train"}}


def test_one_class_alone_can_not_be_told_from_others_but_one_example_can(encoder: Watched, tools: Toolbox):
    (found,) = asked(SetFit(model="x"), examples({"red owl": "bird"}), tools, "an elm")
    assert found.answer == "bird"
    assert tools.counts == {"nothing-to-contrast": 1}
    (found,) = asked(SetFit(model="x", pairs=1), examples({"red owl": "bird", "old oak": "tree"}), tools, "an oak")
    assert [pair.target for pair in encoder.trained[0][0]] == [0.0, 0.0]
    assert found.answer == "tree"


def test_several_labels_are_trained_by_their_overlap(encoder: Watched, tools: Toolbox):
    support = examples({"red owl": ("bird",), "old oak": ("tree", "old"), "young elm": ("tree",)})
    found = asked(SetFit(model="x", pairs=1), support, tools, "old oak", "red owl", task=MANY)
    targets = {(pair.first, pair.second): pair.target for pair in encoder.trained[0][0]}
    assert targets["old oak", "young elm"] == 0.5
    assert {target for _, target in targets.items()} == {0.0, 0.5}
    assert found[1].answer == ("bird",)
    assert set(found[0].options) == {"bird", "tree", "old"}


def test_pairs_are_drawn_by_the_seed_and_each_partner_as_often_as_any_other():
    texts, labels = [*TEXTS, "a gull"], [frozenset({gold}) for gold in [*TEXTS.values(), "bird"]]
    pairs = list(drawn_pairs(texts, labels, 4, 0))
    assert pairs == list(drawn_pairs(texts, labels, 4, 0))
    assert pairs != list(drawn_pairs(texts, labels, 4, 1))
    own = [pair.second for pair in pairs if pair.first == "red owl" and pair.target == 1]
    assert sorted(own) == ["a gull", "a gull", "grey crow", "grey crow"]
    assert all(pair.first != pair.second for pair in pairs)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"what": "prompt"}, "name-unknown"),
        ({"pairs": 0}, "whole-number-expected"),
        ({"C": 0}, "number-expected"),
        ({"steps": 1, "epochs": 2}, "budgets-several"),
    ],
)
def test_options_that_can_not_be_meant_are_refused(options: dict[str, Any], code: str):
    with pytest.raises(TaskloomError) as told:
        learner("setfit", options)
    assert told.value.note.code == code


def test_another_budget_takes_the_place_of_the_epoch():
    assert SetFit(steps=30).budget == ("steps", 30)
    assert SetFit(epochs=2).budget == ("epochs", 2)
