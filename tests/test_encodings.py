"""Instructions to text."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from taskloom.core import Example, Item, Shown, Suite, Task, Text
from taskloom.encodings import TABLE_4, Encoding, encode, encoding, fitted, lacking, without_item
from taskloom.errors import UsageError
from taskloom.lessons import lessons
from taskloom.suites import rows

TASK = Task(
    id="task1_moods",
    instruction="Say how the speaker feels",
    output=Text(),
    metrics=(),
    tags={"source": ("moods",), "category": ("Sentiment Analysis",)},
    examples=(
        Shown({"input": "Hooray!"}, "glad", "It is a shout of joy."),
        Shown({"input": "So it goes"}, "calm", "Nothing moves them"),
        Shown({"input": "Alas."}, "glad", "They are sad.", right=False),
    ),
)
ITEM = Item("1", {"input": "What now"})


def test_the_default_is_word_for_word_the_released_one():
    assert encode(TASK, ITEM, encoding("def+pos2")) == (
        "Definition: Say how the speaker feels.\n\n"
        " Positive Example 1 -\nInput: Hooray!\n Output: glad.\n\n"
        " Positive Example 2 -\nInput: So it goes.\n Output: calm.\n\n"
        "Now complete the following example -\nInput: What now.\nOutput: "
    )


def test_all_parts_come_in_their_order():
    assert encode(TASK, ITEM, encoding("expl+neg2+pos1+def+id")) == (
        "moods Sentiment Analysis. Definition: Say how the speaker feels.\n\n"
        " Positive Example 1 -\nInput: Hooray!\n Output: glad.\n Explanation: It is a shout of joy.\n\n"
        " Negative Example 1 -\nInput: Alas.\n Output: glad.\n Explanation: They are sad.\n\n"
        "Now complete the following example -\nInput: What now.\nOutput: "
    )


def test_no_instruction_is_the_item_alone():
    assert encode(TASK, ITEM, encoding("none")) == "Now complete the following example -\nInput: What now.\nOutput: "


def test_a_task_without_source_and_category_goes_by_its_name():
    assert encode(replace(TASK, tags={}), ITEM, encoding("id")).startswith("task1_moods. Now")


def test_the_ten_of_table_4_are_ten_encodings():
    assert len({encoding(name) for name in TABLE_4}) == 10
    assert encoding("def+pos2+neg2+expl") == Encoding(definition=True, positive=2, negative=2, explanations=True)


@pytest.mark.parametrize(
    "name",
    ["", "def+", "pos", "pos0", "definition", "def+def", "pos2+pos4", "def pos2", "none+def", "expl", "def+expl"],
)
def test_what_is_no_encoding_is_refused(name: str):
    with pytest.raises(UsageError, match=r"an encoding joins id, def, posN, negN and expl"):
        encoding(name)


def test_examples_that_a_task_has_not_are_counted():
    assert [lacking(TASK, encoding(name)) for name in ("def", "pos2+neg1", "pos4", "pos4+neg2")] == [0, 0, 2, 3]


def test_examples_that_do_not_fit_are_dropped_last_first():
    how = encoding("def+pos2+neg1")
    room = len(encode(TASK, ITEM, how)) - 2
    found = fitted(TASK, ITEM, how, lambda text: len(text) <= room)
    assert found.dropped == 1
    assert "Negative" not in found.text
    assert "Positive Example 2" in found.text
    assert found.cut == 0


def test_an_input_that_does_not_fit_loses_its_middle_and_output_is_never_cut():
    long = Item("1", {"input": "BEGIN " + "word " * 500 + "END"})
    found = fitted(TASK, long, encoding("def+pos2"), lambda text: len(text) <= 300)
    assert found.dropped == 2
    assert found.text.endswith("Output:")
    assert "BEGIN" in found.text
    assert "END." in found.text
    assert len(found.text) == 300
    assert found.cut > 2000


def test_a_definition_that_leaves_no_room_for_an_input_loses_its_middle_too():
    long = Item("1", {"input": "BEGIN " + "word " * 100 + "END"})
    task = replace(TASK, instruction="Do this: " + "and that, " * 200 + "then stop.")
    found = fitted(task, long, encoding("def+pos2"), lambda text: len(text) <= 600)
    assert 590 <= len(found.text) <= 600
    for part in ("Definition: Do this", "then stop.", "Input: BEGIN", "END.", "\nOutput:"):
        assert part in found.text
    assert found.dropped == 2
    assert found.untold / len(task.instruction) == pytest.approx(found.cut / len(long.fields["input"]), abs=0.01)


def test_the_item_itself_is_not_shown_as_an_example():
    own = Item("9", dict(TASK.examples[0].fields))
    found = fitted(TASK, own, encoding("def+pos1"), lambda text: True)
    assert found.own == 1
    assert found.text == encode(without_item(TASK, own), own, encoding("def+pos1")).rstrip()


def test_where_nothing_fits_the_question_stays():
    found = fitted(TASK, ITEM, encoding("def+pos2"), lambda text: False)
    assert found.dropped == 2
    assert found.cut == len("What now")
    assert found.untold == len(TASK.instruction)
    assert found.text.endswith("Output:")


def lesson_suite(**pools: int) -> Suite:
    made = {
        name: rows.pool(TASK, [Example(Item(f"{name}{n}", {"input": str(n)}), ("a", "b"), str(n)) for n in range(size)])
        for name, size in pools.items()
    }
    return Suite(id="s", tasks={TASK.id: TASK}, pools={TASK.id: made}, about={"leakage": ["compared"]})


def test_lessons_are_some_instances_each_in_an_encoding_of_its_own():
    made = lesson_suite(train=400, test=10)
    found = list(lessons(made, [TASK.id], how="random", seed=1))
    assert found == list(lessons(made, [TASK.id], how="random", seed=1))
    assert found != list(lessons(made, [TASK.id], how="random", seed=2))
    assert len({lesson.item for lesson in found}) == len(found) == 100
    assert not [lesson for lesson in found if lesson.item.startswith("test")]
    kinds = Counter(("Definition" in one.prompt, "Positive" in one.prompt, "Negative" in one.prompt) for one in found)
    assert set(kinds) == {(True, False, False), (False, True, False), (True, True, False), (True, True, True)}
    assert sum("Explanation" in one.prompt for one in found) > 5
    assert {lesson.answer for lesson in found} == {"a", "b"}


def test_lessons_may_have_one_encoding():
    (first, *_), (second, *_) = (list(lessons(lesson_suite(all=3), [TASK.id], how=how)) for how in ("def", "def+pos2"))
    assert "Positive" not in first.prompt
    assert " Positive Example 2 -" in second.prompt
    assert first.prompt.endswith("Output: ")


def test_what_is_scored_is_never_trained_on():
    with pytest.raises(UsageError, match="no examples to train on, all are scored: 'task1_moods'"):
        list(lessons(lesson_suite(test=5), [TASK.id]))


@pytest.mark.parametrize(("most", "first"), [(64, 100), (100, 100), (150, 150)])
def test_lessons_are_drawn_from_the_first_instances_which_were_compared(most: int, first: int):
    found = list(lessons(lesson_suite(all=400), [TASK.id], most=most))
    numbers = {int(lesson.item.removeprefix("all")) for lesson in found}
    assert len(numbers) == most
    assert max(numbers) in range(first // 2, first)


def taught_suite(*examples: Example) -> Suite:
    pools = {"all": rows.pool(TASK, examples, but=("empty-output",))}
    return Suite(id="s", tasks={TASK.id: TASK}, pools={TASK.id: pools})


def test_empty_answers_are_not_taught():
    none = Example(Item("none", {"input": "a"}), ("", " "), "")
    some = [Example(Item(f"some{n}", {"input": f"b{n}"}), ("", "glad", ""), "") for n in range(9)]
    found = list(lessons(taught_suite(none, *some), [TASK.id], most=9))
    assert [(lesson.item, lesson.answer) for lesson in found] == [(f"some{n}", "glad") for n in range(9)]


def test_the_item_itself_is_not_shown_in_its_own_lesson():
    own, other = (Example(Item(text, {"input": text}), ("glad",), "") for text in ("Hooray!", "Hooray"))
    first, second = lessons(taught_suite(own, other), [TASK.id])
    assert first.prompt.count("Hooray!") == 1
    assert " Positive Example 1 -\nInput: So it goes.\n" in first.prompt
    assert second.prompt.count("Hooray!") == 1  # another item: the example is shown


def test_a_task_without_the_item_keeps_its_other_examples():
    assert without_item(TASK, ITEM) is TASK
    assert without_item(TASK, Item("9", {"input": "Alas."})).examples == TASK.examples[:2]
