"""Distributional signatures: the weights of words by hand, and answers from words that tell."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from taskloom.core import Example, Item, Labels, Task
from taskloom.errors import LearnerError, TaskloomError
from taskloom.learners import can_do, learner
from taskloom.learners.signatures import Signatures, WordReader, ridge_weights, specific
from taskloom.learners.toolbox import Toolbox
from taskloom.models.fake import FakeEncoder
from taskloom.models.vectors import VectorCache

TASK = Task(id="t", instruction="Which?", output=Labels(("bird", "tree")), metrics=())
COUNTS = {"the": 600, "of": 390, "owl": 5, "oak": 5}


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toolbox:
    monkeypatch.setenv("TASKLOOM_CACHE", str(tmp_path))
    cache = VectorCache("bag", "bag", "float32", FakeEncoder)
    return Toolbox({}, encoders=lambda name: cache, words=lambda: COUNTS)


def item(text: str) -> Item:
    return Item(text, {"input": text})


SUPPORT = [Example(item(f"the {word}"), (label,), word) for word, label in (("owl", "bird"), ("oak", "tree"))]


def test_rare_words_weigh_more(tools: Toolbox):
    reader = WordReader(TASK, "x", tools, 1e-3, COUNTS)
    found = reader._general(["the", "owl", "unknown"])
    assert found.tolist() == pytest.approx([0.001 / 0.601, 0.001 / 0.006, 1.0])


def test_words_that_tell_classes_apart_weigh_more():
    vectors, by_word = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[3.0, 0.0], [0.5, 0.5]])
    p = 1 / (1 + math.exp(-3))
    entropy = -(p * math.log(p) + (1 - p) * math.log(1 - p))
    assert specific(vectors, by_word).tolist() == pytest.approx([1 / entropy, 1 / math.log(2)])


def test_the_ridge_regression_is_the_textbook_one():
    rng = np.random.default_rng(0)
    rows, targets = rng.normal(size=(5, 3)), rng.normal(size=(5, 2))
    wanted = np.linalg.solve(rows.T @ rows + 0.7 * np.eye(3), rows.T @ targets)
    assert np.allclose(ridge_weights(rows, targets, 0.7), wanted)


def test_a_text_is_the_weighted_mean_of_its_words(tools: Toolbox):
    reader = WordReader(TASK, "x", tools, 1e-3, COUNTS)
    rows = reader.rows([item("the owl the"), item("...")], None)
    the, owl = FakeEncoder().encode(["the", "owl"])
    assert np.allclose(rows[0], (2 * the + owl) / 3, atol=1e-6)
    assert not rows[1].any()


def test_answers_go_by_the_words_that_tell(tools: Toolbox):
    fitted = Signatures(model="x").fit(TASK, SUPPORT, (), seed=0, tools=tools)
    found: Any = fitted.predict([item("of the oak"), item("of the owl"), item("")])
    assert [one.answer for one in found[:2]] == ["tree", "bird"]
    assert sum(map(math.exp, found[0].options.values())) == pytest.approx(1)
    assert tools.counts == {"text-without-words": 1}
    assert found[2].answer in TASK.output.names  # type: ignore[union-attr]
    assert list(fitted.predict([])) == []


def test_it_needs_examples_one_label_and_a_pool_to_count_words_in(tools: Toolbox):
    many = Task(id="m", instruction="Which?", output=Labels(("a", "b"), many=True), metrics=())
    assert not can_do(Signatures(), many)
    assert not can_do(Signatures(), TASK, unaided=True)
    with pytest.raises(LearnerError) as told:
        Signatures(model="x").fit(TASK, SUPPORT, (), seed=0, tools=Toolbox({}, encoders=tools.encoders))
    assert told.value.note.code == "words-missing"


@pytest.mark.parametrize("options", [{"eps": 0}, {"eps": 2}, {"ridge": 0}])
def test_options_that_can_not_be_meant_are_refused(options: dict[str, Any]):
    with pytest.raises(TaskloomError):
        learner("signatures", options)
