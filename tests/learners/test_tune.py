"""Tuning as a learner: lessons of the support set, the model asked as in context, nothing changed without support."""

from __future__ import annotations

from typing import Any

import pytest

from taskloom.core import Example, Item, Labels, Task, Terms, Text
from taskloom.errors import TaskloomError
from taskloom.learners import learner
from taskloom.learners.toolbox import Toolbox
from taskloom.learners.tune import Tune
from taskloom.models import Lesson
from taskloom.models.fake import FakeModel
from taskloom.models.recipe import Watch

TASK = Task(id="t", instruction="What colour is it?", output=Labels(("red", "blue")), metrics=("accuracy",))
SUPPORT = [Example(Item(n, {"input": f"the {n}"}), (gold,), n) for n, gold in (("rose", "red"), ("sky", "blue"))]
ITEMS = [Item("1", {"input": "a rose"}), Item("2", {"input": "a sky"})]


class Watched(FakeModel):
    """A fake that notes how it was trained."""

    def __init__(self) -> None:
        super().__init__("pupil")
        self.trained: list[tuple[list[Lesson], Any, dict[str, Any]]] = []

    def tuned(self, lessons: Any, how: Any, **more: Any) -> Any:
        self.trained.append((list(lessons), how, more))
        return super().tuned(lessons, how, **more)


def fitted(of: Tune, support: Any = SUPPORT, task: Task = TASK, **more: Any) -> tuple[Any, Watched, Toolbox]:
    model = Watched()
    tools = Toolbox({}, lambda name: model, **more)
    return of.fit(task, support, SUPPORT[:1], seed=3, tools=tools), model, tools


def test_the_support_is_taught_in_the_words_that_the_model_is_asked_in():
    predictor, model, tools = fitted(Tune(model="x"))
    ((lessons, _, more),) = model.trained
    assert lessons == [
        Lesson("t", "rose", "What colour is it?\nLabels: red, blue\n\nthe rose\nAnswer:", " red"),
        Lesson("t", "sky", "What colour is it?\nLabels: red, blue\n\nthe sky\nAnswer:", " blue"),
    ]
    assert (more["seed"], more["words"], more["dev"]) == (3, "What colour is it?", [])
    found = predictor.predict(ITEMS)
    assert [one.answer for one in found] == ["red", "blue"]
    assert found[0].prompt == "What colour is it?\nLabels: red, blue\n\na rose\nAnswer:"
    tools.held.close()
    assert model.lessons == []  # at the end of the cell the model is what it was before
    assert tools.learnt[0].steps == 2


def test_lessons_of_choices_are_what_the_model_is_asked():
    task = Task(id="p", instruction="", output=Labels(("entailment", "not_entailment")), metrics=())
    support = [Example(Item("1", {"text1": "It rains.", "text2": "It is wet."}), ("entailment",), "1")]
    predictor, model, _ = fitted(Tune(model="x", template="choices"), support, task)
    prompt = "It rains. Is It is wet.?\n (A) Yes (B) No\n"
    assert model.trained[0][0] == [Lesson("p", "1", prompt, "Yes")]
    (found,) = predictor.predict([support[0].item])
    assert (found.answer, found.prompt) == ("entailment", prompt)


def test_without_support_or_with_nothing_to_train_the_model_is_asked_as_it_is():
    for of, support in ((Tune(model="x"), ()), (Tune(model="x", what="none"), SUPPORT)):
        predictor, model, tools = fitted(of, support)
        assert not model.trained
        assert not tools.learnt
        assert len(predictor.predict(ITEMS)) == 2


def test_the_dev_set_is_for_early_stopping_alone():
    _, model, tools = fitted(Tune(model="x", patience=2))
    assert [lesson.item for lesson in model.trained[0][2]["dev"]] == ["rose"]
    assert not tools.counts
    tools = Toolbox({}, lambda name: Watched())
    Tune(model="x", patience=2).fit(TASK, SUPPORT, (), seed=0, tools=tools)
    assert tools.counts == {"no-early-stopping": 1}


@pytest.mark.parametrize("answers", ["score", "choose", "generate"])
def test_labels_are_scored_chosen_or_written(answers: str):
    predictor, _, _ = fitted(learner("tune", {"model": "x", "answers": answers}))  # type: ignore[arg-type]
    assert [one.answer for one in predictor.predict(ITEMS)] == ["red", "blue"]


def test_an_example_without_an_answer_is_not_taught_and_counted():
    task = Task(id="k", instruction="Name them.", output=Terms(), metrics=())
    support = [Example(Item("a", {"input": "x"}), ((),), "a"), Example(Item("b", {"input": "y"}), (("p", "q"),), "b")]
    _, model, tools = fitted(Tune(model="x"), support, task)
    assert [lesson.answer for lesson in model.trained[0][0]] == [" p; q"]
    assert tools.counts == {"lesson-without-answer": 1}


def test_answers_of_several_lines_are_not_cut_at_the_first():
    task = Task(id="p", instruction="Write.", output=Text(), metrics=())
    support = [Example(Item("a", {"input": "rose"}), ("one\ntwo",), "a")]
    predictor, _, _ = fitted(Tune(model="x"), support, task)
    assert predictor._decoding.stop == ("\n\n",)


def test_looks_ask_about_support_and_query_and_leave_counts_alone():
    model, tools = Watched(), Toolbox({}, watch=Watch(looks=frozenset({0, 2, 9})))
    tools.models = lambda name: model
    tools.asked = {"support": [e.item for e in SUPPORT], "query": ITEMS}
    tools.answers = lambda fitted, items: list(fitted.predict(items))  # type: ignore[arg-type]
    Tune(model="x").fit(TASK, SUPPORT, (), seed=0, tools=tools)
    assert sorted(tools.looked) == ["query@0", "query@2", "support@0", "support@2"]
    assert [one.answer for one in tools.looked["support@2"]] == ["red", "blue"]
    assert tools.counts == {"look-not-reached": 1}


def test_a_trial_trains_for_few_steps():
    _, model, _ = fitted(Tune(model="x", epochs=3), watch=Watch(limit=2))
    assert model.trained[0][2]["watch"].limit == 2


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"what": "loar"}, "name-unknown"),
        ({"lr": 0}, "number-expected"),
        ({"longest": 0}, "whole-number-expected"),
        ({"answers": "guess"}, "name-unknown"),
        ({"template": "no slot"}, "template-unknown"),
        ({"steps": 1, "tokens": 5}, "budgets-several"),
    ],
)
def test_options_that_can_not_be_meant_are_refused(options: dict[str, Any], code: str):
    with pytest.raises(TaskloomError) as caught:
        learner("tune", options)
    assert caught.value.note.code == code


def test_what_it_needs_follows_how_it_answers():
    assert Tune(model="x").needs(TASK) == {"x": {"score", "train"}}
    assert Tune(model="x", answers="choose", what="none").needs(TASK) == {"x": {"choose"}}
    text = Task(id="w", instruction="Write.", output=Text(), metrics=())
    assert Tune(model="x").needs(text) == {"x": {"generate", "train"}}
