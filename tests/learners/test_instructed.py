"""A language model that is told what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from taskloom.core import Item, Labels, Shown, Task, Text
from taskloom.encodings import encode, encoding
from taskloom.errors import UsageError
from taskloom.learners import can_do, learner, shown
from taskloom.learners.baselines import CopyDemonstration
from taskloom.learners.instructed import Instructed
from taskloom.learners.toolbox import Toolbox
from taskloom.models import Decoding, Odds, Prompt, Reply, Usage, prompt_text

TASK = Task(
    id="t",
    instruction="Say how the speaker feels.",
    output=Text(),
    metrics=(),
    examples=(Shown({"input": "Hooray!"}, "glad"), Shown({"input": "Alas."}, "sad")),
)
ITEMS = [Item("1", {"input": "What now?"}), Item("2", {"input": "Oh well."})]


class Recorder:
    """A model that keeps what it was asked, and can see so many characters."""

    def __init__(self, reply: Reply | None = None, room: int = 10_000) -> None:
        self.usage, self.reply, self.room = Usage(), reply or Reply(" calm", 1), room
        self.asked: list[str] = []
        self.how = Decoding()

    def fits(self, prompt: Prompt, decoding: Decoding) -> bool:
        return len(prompt_text(prompt)) <= self.room

    def generate(self, prompts: Sequence[Prompt], decoding: Decoding) -> list[Reply | None]:
        self.asked, self.how = [prompt_text(prompt) for prompt in prompts], decoding
        return [self.reply] * len(prompts)

    def score(
        self, prompts: Sequence[Prompt], options: Sequence[Sequence[str]], decoding: Decoding
    ) -> list[Odds | None]:
        raise AssertionError


def said(found: Any) -> list[Any]:
    return [response.answer for response in found]


def answers(of: Instructed, model: Recorder, task: Task = TASK, items: Sequence[Item] = ITEMS):
    tools = Toolbox({}, lambda name: model)
    found = of.fit(task, [], [], seed=0, tools=tools).predict(items)
    return said(found), tools.counts


def test_a_model_is_asked_in_the_encoding_and_answers_are_read():
    model = Recorder()
    found, counts = answers(Instructed(), model)
    assert found == ["calm", "calm"]
    assert counts == {}
    assert model.asked == [encode(TASK, item, encoding("def+pos2")).rstrip(" ") for item in ITEMS]
    assert (model.how.stop, model.how.tokens) == (("\n",), 128)


def test_what_does_not_fit_is_dropped_shortened_and_counted():
    model = Recorder(room=170)
    long = Item("3", {"input": "word " * 100})
    _, counts = answers(Instructed(), model, items=[ITEMS[0], long])
    assert counts == {
        "demonstration-dropped": 3,
        "input-cut": 1,
    }
    assert all(len(text) <= 170 and text.endswith("Output:") for text in model.asked)


def test_the_item_itself_is_never_shown():
    model = Recorder()
    _, counts = answers(Instructed(encoding="pos2"), model, items=[Item("9", {"input": "Alas."})])
    assert counts == {"demonstration-is-item": 1}
    assert "Output: sad" not in model.asked[0]


def test_answers_of_several_lines_end_with_a_paragraph():
    model = Recorder()
    task = Task(id="t", instruction="", output=Text(), metrics=(), examples=(Shown({"input": "x"}, "a\nb"),))
    answers(Instructed(), model, task)
    assert model.how.stop == ("\n\n",)


def test_labels_are_picked_out_of_what_was_written():
    task = Task(id="t", instruction="", output=Labels(("yes", "no")), metrics=())
    found, counts = answers(Instructed(encoding="def"), Recorder(Reply("The answer is no.", 5)), task)
    assert found == ["no", "no"]
    assert counts == {"answer-picked": 2}


@pytest.mark.parametrize(("right", "answer"), [(True, ()), (False, None)])
def test_an_empty_reply_is_no_answer_unless_an_example_of_the_task_is_as_empty(right, answer):
    none = Shown({"input": "x"}, (), right=right)
    many = Task(id="t", instruction="", output=Labels(("a",), many=True), metrics=(), examples=(none,))
    assert answers(Instructed(), Recorder(Reply("\n", 1)), many)[0] == [answer, answer]


@pytest.mark.parametrize(
    ("name", "tags", "told"),
    [
        ("id+def", {"category": ("Wit",), "source": ("squad",), "domain": ("News",)}, "squad Wit"),
        ("id", {"domain": ("News",)}, ""),
        ("def+pos2", {"category": ("Wit",)}, ""),
    ],
)
def test_the_tags_that_an_encoding_shows_are_told(name, tags, told):
    of = Instructed(encoding=name)
    task = Task(id="t", instruction="", output=Text(), metrics=(), tags=tags)
    assert shown(of, task) == told
    assert shown(CopyDemonstration(), task) is None
    assert encode(task, ITEMS[0], encoding(name)).startswith(f"{told or 't'}. " if "id" in name else "Definition: ")


@pytest.mark.parametrize("options", [{"tokens": 0}, {"tokens": True}, {"chat": "no"}, {"temperature": -1}])
def test_bad_settings_are_refused(options):
    with pytest.raises(UsageError):
        learner("instructed", options)


def test_an_unknown_encoding_is_refused():
    with pytest.raises(UsageError, match="an encoding joins"):
        learner("instructed", {"encoding": "definition"})


def test_a_demonstration_may_be_copied_of_the_tasks_own_examples():
    of = CopyDemonstration()
    assert can_do(of, TASK, unaided=True)
    assert not can_do(of, Task(id="t", instruction="", output=Text(), metrics=()), unaided=True)
    found = of.fit(TASK, [], [], seed=0, tools=Toolbox({})).predict(ITEMS)
    assert set(found) <= {"glad", "sad"}


def test_examples_that_the_task_has_not_are_counted():
    _, counts = answers(Instructed(encoding="def+pos4+neg1"), Recorder())
    assert counts == {"example-missing": 3}
