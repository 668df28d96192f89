"""Prototypes and neighbours: worked out by hand on vectors that are set, and on a fake encoder."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from taskloom.core import Example, Item, Labels, Number, Task, Text
from taskloom.errors import LearnerError, TaskloomError
from taskloom.learners import Learner, can_do, learner
from taskloom.learners.prototype import Neighbours, Prototype
from taskloom.learners.toolbox import Toolbox
from taskloom.models import Usage
from taskloom.models.vectors import VectorCache

POINTS: Mapping[str, tuple[float, float]] = {
    "east": (1, 0), "far east": (3, 0), "north": (0, 1), "north-east": (2, 1), "high": (0, 5), "A": (1, 1), "B": (-1, 0)
}  # fmt: skip


class Points:
    """An encoder of texts that are on a map."""

    width, forms = 2, ()

    def __init__(self) -> None:
        self.usage = Usage()

    def take(self, texts: Sequence[str], form: str = "") -> tuple[Any, list[int]]:
        vectors = np.array([POINTS[text] for text in texts], np.float32).reshape(-1, 2)
        return vectors, [int(text == "high") for text in texts]


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toolbox:
    """Tools with the map for an encoder."""
    monkeypatch.setenv("TASKLOOM_CACHE", str(tmp_path))
    cache = VectorCache("map", "map", "float32", Points)
    return Toolbox({}, encoders=lambda name: cache)


def task(*names: str, many: bool = False) -> Task:
    return Task(id="t", instruction="Which?", output=Labels(names, many), metrics=())


def examples(**golds: Any) -> list[Example]:
    return [Example(Item(text, {"input": text.replace("_", " ")}), (gold,), text) for text, gold in golds.items()]


def asked(of: Learner, about: Task, support: Sequence[Example], tools: Toolbox, *texts: str) -> Any:
    fitted = of.fit(about, support, (), seed=0, tools=tools)
    return fitted.predict([Item(text, {"input": text}) for text in texts])


SUPPORT = examples(east="x", far_east="x", north="y")


def test_a_prototype_is_the_mean_of_its_class_and_the_nearest_answers(tools: Toolbox):
    found = asked(Prototype(measure="euclidean"), task("x", "y", "z"), SUPPORT, tools, "north-east", "high")
    assert [one.answer for one in found] == ["x", "y"]
    # x is at (2, 0) and y at (0, 1): from (2, 1), squared distances are 1 and 4; z has no example
    assert found[0].options == pytest.approx({"x": -math.log1p(math.exp(-3)), "y": -3 - math.log1p(math.exp(-3))})
    assert tools.counts == {"text-cut": 1}


def test_by_cosine_length_does_not_matter(tools: Toolbox):
    found = asked(Prototype(), task("x", "y"), SUPPORT, tools, "high", "far east")
    assert [one.answer for one in found] == ["y", "x"]
    assert math.exp(found[0].options["y"]) == pytest.approx(math.e / (1 + math.e))


def test_without_support_the_names_of_labels_are_the_prototypes(tools: Toolbox):
    found = asked(Prototype(), task("A", "B"), (), tools, "north-east", "east")
    assert [one.answer for one in found] == ["A", "A"]
    assert list(found[0].options) == ["A", "B"]


def test_of_equally_near_prototypes_the_first_label_answers(tools: Toolbox):
    support = examples(east="y", north="x")
    assert [one.answer for one in asked(Prototype(), task("x", "y"), support, tools, "A")] == ["x"]


def test_several_labels_have_no_prototype_and_are_skipped():
    assert can_do(Prototype(), task("x", "y"), unaided=True)
    assert not can_do(Prototype(), task("x", "y", many=True))
    assert can_do(Neighbours(), task("x", "y", many=True))
    assert not can_do(Neighbours(), task("x", "y"), unaided=True)


@pytest.mark.parametrize(("k", "answer", "share"), [(1, "y", 1.5 / 2), (3, "x", 2.5 / 4)])
def test_most_of_the_nearest_answer(tools: Toolbox, k: int, answer: str, share: float):
    (found,) = asked(Neighbours(k=k), task("x", "y"), SUPPORT, tools, "high")
    assert found.answer == answer
    assert math.exp(found.options[answer]) == pytest.approx(share)
    assert sum(map(math.exp, found.options.values())) == pytest.approx(1)


def test_of_a_tie_the_nearest_answers(tools: Toolbox):
    assert asked(Neighbours(k=2), task("x", "y"), SUPPORT, tools, "A")[0].answer == "x"  # east comes before north
    assert asked(Neighbours(k=2), task("x", "y"), SUPPORT[::-1], tools, "A")[0].answer == "y"


def test_numbers_are_averaged_and_texts_are_copied(tools: Toolbox):
    numbers = Task(id="n", instruction="How many?", output=Number(), metrics=())
    support = examples(east=1.0, far_east=4.0, north=9.0)
    assert asked(Neighbours(k=2), numbers, support, tools, "north-east")[0].answer == 2.5
    texts = Task(id="w", instruction="Say.", output=Text(), metrics=())
    assert asked(Neighbours(), texts, examples(east="E", north="N"), tools, "high")[0].answer == "N"


@pytest.mark.parametrize(("k", "labels"), [(1, ("x", "y")), (3, ("x",))])
def test_several_labels_are_those_that_most_of_the_nearest_have(tools: Toolbox, k: int, labels: tuple[str, ...]):
    support = examples(east=("x", "y"), far_east=("x",), north=("z",))
    (found,) = asked(Neighbours(k=k), task("x", "y", "z", many=True), support, tools, "east")
    assert found.answer == labels
    assert set(found.options) == {"x", "y", "z"}


def test_no_item_no_answer_and_no_support_no_neighbour(tools: Toolbox):
    assert asked(Prototype(), task("x", "y"), SUPPORT, tools) == []
    with pytest.raises(LearnerError, match="needs support examples"):
        asked(Neighbours(), task("x", "y"), (), tools, "east")


@pytest.mark.parametrize(
    ("name", "options"),
    [("prototype", {"measure": "manhattan"}), ("neighbours", {"k": 0}), ("neighbours", {"measure": "dot"})],
)
def test_options_that_can_not_be_meant_are_refused(name: str, options: dict[str, Any]):
    with pytest.raises(TaskloomError):
        learner(name, options)


def test_a_learner_without_an_encoder_at_hand_is_told():
    with pytest.raises(LearnerError, match="no model was made ready: 'minilm'"):
        asked(Prototype(), task("x", "y"), SUPPORT, Toolbox({}), "east")


@pytest.mark.parametrize("of", [Prototype(), Neighbours()])
def test_they_need_vectors_and_nothing_else(of: Learner):
    assert of.needs(task("x", "y")) == {"minilm": {"vectors"}}


def test_forms_are_asked_for_by_name(tools: Toolbox):
    asked_of: list[str] = []
    cache = tools.encoders("map")
    take: Callable[..., Any] = cache.take
    tools.encoders = lambda name: cache
    cache.take = lambda texts, form="": (asked_of.append(form), take(texts))[1]  # type: ignore[method-assign,func-returns-value,assignment]
    asked(Prototype(form="CLF"), task("x", "y"), SUPPORT, tools, "east")
    assert asked_of == ["CLF", "CLF"]
