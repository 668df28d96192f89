"""Templates: what a model is sent, as text and as a conversation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskloom.core import Example, Fields, Item, Labels, Output, Task, Terms, Text
from taskloom.errors import UsageError
from taskloom.models import Message
from taskloom.sources.table import Field
from taskloom.suites import fields
from taskloom.suites.field_instructions import ARROWS
from taskloom.templates import DEFAULT, MOST_LABELS, TEMPLATES, Prompting, Template, template, words_of

CSL = (
    Field("abstract", "text", "摘要"),
    Field("discipline", "label", "学科"),
    Field("keywords", "list", "关键词", separator="_"),
)
PAPERS = [
    {"id": "1", "abstract": "研究了城市道路绿化。", "discipline": "园林", "keywords": ["城市道路", "绿化"]},
    {"id": "2", "abstract": "提出一种排序算法。", "discipline": "计算机", "keywords": ["排序"]},
]
YES_NO = Labels(("yes", "no"))
ITEM = Item("2", {"text": "b"})
SUPPORT = [Example(Item("1", {"text": "a"}), ("yes", "yes!"), "1")]


def task(output: Output = YES_NO, **more: Any) -> Task:
    return Task(**{"id": "t", "instruction": "Is it?", "output": output, "metrics": (), **more})


def text(of: str, item: Item = ITEM, asked: Task | None = None, support: Any = ()) -> str:
    return Prompting(asked or task(), template(of)).text(item, support)


# --- read ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("{text}\n{answer}", Template("", "{text}", "\n")),
        ("{text} {answer}\n", Template("", "{text}", " ")),
        ("{text}\n\n{answer}", Template("", "{text}", "\n\n")),
        ("{text}{answer}", Template("", "{text}", "")),
        ("Q: {text}\nA:", Template("", "Q: {text}\nA:", " ")),
        ("{text}\n答案：", Template("", "{text}\n答案：", "")),
        ("{text}", Template("", "{text}", "\n")),
        ("Do it.\n\n{labels}\n\n{text}\n\nNow:", Template("Do it.\n\n{labels}", "{text}\n\nNow:", " ")),
        ("\n{title} {text}\n", Template("", "{title} {text}", "\n")),
    ],
)
def test_what_is_said_once_comes_before_what_shows_the_item(written: str, found: Template) -> None:
    assert template(written) == found


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_name_stands_for_a_template_of_the_table(name: str) -> None:
    assert replace(template(name), forms=()) == template(TEMPLATES[name])
    assert not list(template(name).faults(["title", "abstract"]))


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("plane", "template-unknown"),
        ("", "template-unknown"),
        ("{instruction} {labels}", "input-slot-missing"),
        ("{text} {answer} {answer}", "answer-not-last"),
        ("{answer} {text}", "answer-not-last"),
        ("{text} {", "brace-unpaired"),
        ("{text} }", "brace-unpaired"),
        ("{} {text}", "brace-unpaired"),
    ],
)
def test_what_is_no_template_is_refused(written: str, code: str) -> None:
    with pytest.raises(UsageError) as refused:
        template(written)
    assert refused.value.note.code == code


@pytest.mark.parametrize(
    ("written", "codes"),
    [
        ("{text}", []),
        ("{input}", []),
        ("{title} {abstract}", []),
        ("{title}", [("input-not-shown", {"fields": ("abstract",)})]),
        ("{titel} {abstract}", ["slot-unknown", ("input-not-shown", {"fields": ("title",)})]),
    ],
)
def test_slots_are_checked_against_the_fields_of_items(written: str, codes: list[Any]) -> None:
    found = list(template(written).faults(["title", "abstract"]))
    assert [note.code for note in found] == [code if isinstance(code, str) else code[0] for code in codes]
    for note, code in zip(found, codes, strict=True):
        assert isinstance(code, str) or dict(note.values) == code[1]


def test_an_unknown_slot_is_named_with_the_nearest() -> None:
    (fault, _) = template("{titel}").faults(["title"])
    assert "did you mean title?" in str(fault)


def test_a_field_that_is_called_text_is_only_that_field_where_others_are_named() -> None:
    assert not list(template("{text}").faults(["text", "title"]))
    (fault,) = template("{title} {text}").faults(["text", "title", "more"])
    assert (fault.code, dict(fault.values)["fields"]) == ("input-not-shown", ("more",))


# --- filled ----------------------------------------------------------------------------------------------------------


def test_the_default_is_what_a_person_would_write() -> None:
    review = task(Labels(("bad", "good")), instruction="Classify the text.")
    shown = Prompting(review, template(DEFAULT)).text(ITEM, [Example(Item("1", {"text": "a"}), ("good",), "1")])
    assert shown.startswith("Classify the text.\n")
    assert shown.count("Classify the text.") == 1
    assert "bad, good" in shown
    assert shown.index("good\n\n") < shown.rindex("b\n")


def test_demonstrations_come_before_the_item_and_the_head_once() -> None:
    assert text("{instruction}\n\nText: {text}\nAnswer: {answer}", support=SUPPORT) == (
        "Is it?\n\nText: a\nAnswer: yes\n\nText: b\nAnswer:"
    )
    assert text("plain", support=SUPPORT) == "Is it?\na\nyes\n\nIs it?\nb\n"
    assert text("cue", support=SUPPORT) == "Is it?\n\nInput: a\nOutput: yes\n\nInput: b\nOutput:"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("{text}", "Title: On owls\nText: Owls hunt.\nInstruction: odd"),
        ("{input}", "On owls\nOwls hunt.\nodd"),
        ("{title}: {text}", "On owls: Owls hunt."),
        ("{instruction} {input}", "Classify. On owls\nOwls hunt.\nodd"),
    ],
)
def test_a_field_that_is_called_as_a_slot_hides_no_other_input(written: str, shown: str) -> None:
    task = Task(id="t", instruction="Classify.", output=Labels(("a", "b")), metrics=())
    item = Item("1", {"title": "On owls", "text": "Owls hunt.", "instruction": "odd"})
    assert Prompting(task, template(written)).question(item) == shown


def test_several_fields_are_named_and_a_single_one_is_not() -> None:
    both = Item("1", {"head_line": "On trees", "摘要": "绿化"})
    assert text("{text}", both) == "Head line: On trees\n摘要: 绿化\n"
    assert text("{text}", both, task(titles={"head_line": "标题"})) == "标题: On trees\n摘要: 绿化\n"
    assert text("{input}", both, task(separator=" | ")) == "On trees | 绿化\n"
    assert text("{摘要} / {head_line}", both) == "绿化 / On trees\n"
    assert text("{text}") == "b\n"


def test_labels_stand_in_a_line_and_options_in_a_list() -> None:
    assert text("({labels}) {text}") == "(yes, no) b\n"
    assert text("{options}\n{text}") == "- yes\n- no\nb\n"
    parts = task(Fields({"title": Text(), "sub_ject": Labels(("Art", "Law"))}))
    assert text("{labels}\n{text}", asked=parts) == "Sub ject: Art, Law\nb\n"
    assert text("{options}\n{text}", asked=parts) == "Sub ject:\n- Art\n- Law\nb\n"


def test_a_line_that_would_be_empty_is_dropped_with_its_paragraph() -> None:
    assert text("{instruction}\nOne of: {labels}\n\n{text}", asked=task(Text())) == "Is it?\n\nb\n"
    assert text("One of: {labels}\n\n{text}", asked=task(Text())) == "b\n"
    assert text("{text}\n\n{options}\n\nAnswer:", asked=task(Text())) == "b\n\nAnswer:"
    assert text("Text: {text}\nA:", Item("1", {"text": ""})) == "Text: \nA:"


def test_too_many_labels_are_not_shown() -> None:
    many = task(Labels(tuple(f"l{n}" for n in range(MOST_LABELS + 1))))
    how = Prompting(many, template("{labels}\n{text}"))
    assert (how.text(ITEM), how.hides_labels) == ("b\n", True)
    assert Prompting(many, template("{labels}\n{text}"), MOST_LABELS + 1).text(ITEM).startswith("l0, l1")
    assert not Prompting(many, template("{text}")).hides_labels


def test_braces_of_texts_are_left_alone_and_those_of_templates_are_doubled() -> None:
    assert text("{{{text}}} {{labels}}", Item("1", {"text": "{labels} {answer}"})) == "{{labels} {answer}} {labels}\n"


def test_a_conversation_has_the_head_in_its_first_turn_and_answers_without_the_gap() -> None:
    how = Prompting(task(Terms()), template("{instruction}\n\n{text}\nTerms: {answer}"))
    support = [Example(Item("1", {"text": "a"}), (("oak", "elm"),), "1")]
    assert how.messages(ITEM, support) == (
        Message("user", "Is it?\n\na\nTerms:"),
        Message("assistant", "oak; elm"),
        Message("user", "b\nTerms:"),
    )
    assert how.messages(ITEM) == (Message("user", "Is it?\n\nb\nTerms:"),)


# --- lettered choices ------------------------------------------------------------------------------------------------

TOPICS = Labels(("sports", "law"))
NLI = Labels(("entailment", "neutral", "contradiction"))
SINGLE = Item("1", {"text": "The judge ruled."})
TWO = Item("1", {"text1": "A man sleeps.", "text2": "A man is awake."})
RELATION = Item("1", {"text": "#Ada# was born in *London*.", "mention1": "Ada", "mention2": "London"})
ENTITY = Item("1", {"text": "#Ada# was born in London.", "mention": "Ada"})
OTHER = Item("1", {"title": "On owls", "abstract": "Owls hunt."})
WORDED: dict[str, tuple[Item, Output, str]] = {
    "single": (SINGLE, TOPICS, "Topic?\n (A) sports (B) law\n The judge ruled.\n"),
    "pair": (TWO, NLI, "A man sleeps. Is A man is awake.?\n (A) Yes (B) Maybe (C) No\n"),
    "two classes": (
        TWO,
        Labels(("not_duplicate", "duplicate")),
        "A man sleeps. Is A man is awake.?\n (A) No (B) Yes\n",
    ),
    "other labels": (TWO, TOPICS, "A man sleeps. Is A man is awake.?\n (A) sports (B) law\n"),
    "relation": (
        RELATION,
        Labels(("birthplace", "employer")),
        "Ada to London?\n (A) birthplace (B) employer\n #Ada# was born in *London*.\n",
    ),
    "entity": (
        ENTITY,
        Labels(("person", "place")),
        "What is the type of the entity between the # marks?\n (A) person (B) place\n #Ada# was born in London.\n",
    ),
    "any other": (OTHER, YES_NO, "Is it?\n (A) yes (B) no\n Title: On owls\nAbstract: Owls hunt.\n"),
    "any other of a pair": (
        OTHER,
        NLI,
        "Is it?\n (A) entailment (B) neutral (C) contradiction\n Title: On owls\nAbstract: Owls hunt.\n",
    ),
    "no labels": (OTHER, Text(), "Is it?\n Title: On owls\nAbstract: Owls hunt.\n"),
}


@pytest.mark.parametrize("form", WORDED)
def test_choices_are_worded_by_the_fields_of_an_item(form: str) -> None:
    item, labels, shown = WORDED[form]
    assert text("choices", item, task(labels)) == shown


def test_the_released_wording_has_line_ends_as_two_characters() -> None:
    assert text("unifiedqa", SINGLE, task(TOPICS)) == r"Topic? \n (A) sports (B) law \n The judge ruled."
    assert text("unifiedqa", TWO, task(NLI)) == r"A man sleeps. Is A man is awake.? \n (A) Yes (B) Maybe (C) No"


def test_demonstrations_of_choices_show_what_is_written_for_a_label() -> None:
    shown = [Example(TWO, ("contradiction",), "1")]
    assert text("choices", TWO, task(NLI), shown) == (
        "A man sleeps. Is A man is awake.?\n (A) Yes (B) Maybe (C) No\nNo\n\n"
        "A man sleeps. Is A man is awake.?\n (A) Yes (B) Maybe (C) No\n"
    )


@pytest.mark.parametrize(
    ("item", "labels", "written", "label"),
    [
        (SINGLE, TOPICS, "law", "law"),
        (SINGLE, TOPICS, " (B)", "law"),
        (SINGLE, TOPICS, "B", "law"),
        (SINGLE, TOPICS, "B.", "law"),
        (SINGLE, TOPICS, "(B) law", "law"),
        (SINGLE, TOPICS, "B) law", "law"),
        (SINGLE, TOPICS, "(A) law", None),  # letter and text differ
        (SINGLE, TOPICS, "(C)", None),
        (SINGLE, TOPICS, "Law", None),
        (SINGLE, TOPICS, "", None),
        (SINGLE, Labels(("B", "A")), "A", "A"),  # a label is read before a letter
        (TWO, NLI, "Maybe", "neutral"),
        (TWO, NLI, "(C) No", "contradiction"),
        (TWO, NLI, "neutral", None),  # which the model was not shown
        (OTHER, NLI, "neutral", "neutral"),
    ],
)
def test_a_choice_is_read_by_its_text_or_its_letter(
    item: Item, labels: Labels, written: str, label: str | None
) -> None:
    assert Prompting(task(labels), template("choices")).read(written, item) == label


@pytest.mark.parametrize(
    ("written", "label"),
    [
        ("the answer is maybe", "neutral"),
        ("I choose (C).", "contradiction"),
        ("(A) or (B)", None),
        ("Yes and No", None),
    ],
)
def test_a_choice_is_found_in_a_longer_text_if_it_is_the_only_one(written: str, label: str | None) -> None:
    how = Prompting(task(NLI), template("choices"))
    assert (how.read(written, TWO), how.pick(written, TWO)) == (None, label)


@given(st.lists(st.text(min_size=1).filter(lambda name: name.strip() == name), min_size=1, max_size=30, unique=True))
def test_what_is_written_for_a_label_is_read_back(names: list[str]) -> None:
    how = Prompting(task(Labels(tuple(names))), template("choices"))
    for item in (SINGLE, TWO, OTHER):
        assert [how.read(how.write(name, item), item) for name in names] == names


def test_more_choices_than_letters_go_on_with_two_and_too_many_are_not_shown() -> None:
    many = task(Labels(tuple(f"l{n}" for n in range(MOST_LABELS + 1))))
    how = Prompting(many, template("choices"), MOST_LABELS + 1)
    assert "(Z) l25 (AA) l26 (AB) l27" in how.text(SINGLE)
    assert how.read("(AB)", SINGLE) == "l27"
    hidden = Prompting(many, template("choices"))
    assert (hidden.hides_labels, hidden.text(SINGLE), hidden.read("(A)", SINGLE)) == (
        True,
        "Topic?\n The judge ruled.\n",
        None,
    )
    assert hidden.read("l7", SINGLE) == "l7"


def test_forms_of_a_template_have_one_gap_and_nothing_that_is_said_once() -> None:
    for name in ("choices", "unifiedqa"):
        whole = template(name)
        assert {(form.head, form.gap) for form in whole.forms} == {("", whole.gap)}


@pytest.mark.parametrize(("item", "side"), [(SINGLE, "start"), (TWO, "end"), (RELATION, "start"), (OTHER, "start")])
def test_of_a_prompt_that_is_too_long_the_end_with_the_choices_is_kept(item: Item, side: str) -> None:
    assert Prompting(task(), template("choices")).keeps(item) == side
    assert Prompting(task(), template(DEFAULT)).keeps(item) == "end"


def test_the_words_of_a_template_name_it() -> None:
    assert words_of("default") == TEMPLATES["default"]
    assert words_of("{text} {answer}") == "{text} {answer}"
    assert "Topic?" in str(words_of("choices"))
    assert "Maybe" in str(words_of("choices"))


# --- field tasks -----------------------------------------------------------------------------------------------------


def test_the_published_prompt_of_csl_is_the_arrow_and_the_plain_template() -> None:
    suite = fields.suite(fields.records(CSL, PAPERS), id="csl", language="zh", instruction=ARROWS)
    name = "abstract+discipline->keywords"
    shown, asked = suite.pools[name]["all"].take([0, 1])
    arrow = "摘要+学科->关键词"
    assert suite.tasks[name].instruction == arrow
    assert text("plain", asked.item, suite.tasks[name], [shown]) == (
        f"{arrow}\n研究了城市道路绿化。\n园林\n城市道路_绿化\n\n{arrow}\n提出一种排序算法。\n计算机\n"
    )


def test_a_prompt_has_nothing_of_the_gold_answer_it_asks_for() -> None:
    suite = fields.suite(fields.records(CSL, PAPERS), id="csl", language="zh")
    (asked,) = suite.pools["abstract->keywords"]["all"].take([1])
    assert "排序\n" not in text(DEFAULT, asked.item, suite.tasks["abstract->keywords"])
