from __future__ import annotations

from pathlib import Path

import pytest

from taskloom.benchmarks import build
from taskloom.errors import UsageError
from taskloom.sources.table import Field
from taskloom.suites.field_instructions import check_instruction, instruction, made

TEXT, LABEL = Field("text", "text"), Field("label", "label")
TITLE, YEAR = Field("title", "text"), Field("pub_year", "number")
WORDS = Field("keywords", "list", separator="_")


@pytest.mark.parametrize(
    ("inputs", "outputs", "text"),
    [
        ([TEXT], [TITLE], "Read the text and write the title."),
        ([TEXT], [LABEL], "Classify the text."),
        ([TEXT], [Field("topic", "label")], "Read the text and choose the topic."),
        ([TITLE], [YEAR], "Read the title and write the pub year (a number)."),
        ([TEXT], [WORDS], 'Read the text and write the keywords (separated by "_").'),
        (
            [Field("text1", "text"), Field("text2", "text")],
            [LABEL],
            "Classify text1 and text2.",
        ),
        (
            [TITLE, TEXT, YEAR],
            [Field("topic", "label"), Field("tone", "label")],
            "Read the title, the text and the pub year, and choose the topic and the tone, one per line.",
        ),
        ([TITLE], [TITLE], "Rewrite the title."),
        ([Field("texte", "text", "Résumé")], [Field("t", "text", "Titre")], "Read the Résumé and write the Titre."),
        ([Field("a", "text", "摘要")], [Field("c", "label", "门类")], "根据摘要选出门类。"),
    ],
)
def test_an_instruction_is_made_from_names_and_kinds(inputs: list[Field], outputs: list[Field], text: str):
    assert made(inputs, outputs) == text


def test_an_instruction_can_be_given_for_all_tasks_or_for_some():
    assert instruction("{outputs} of {inputs}? ({task})", "n", [TITLE, TEXT], [YEAR]) == (
        "pub year of title and text? (title+text->pub_year)"
    )
    by_task = {"text->*": "Do {outputs}.", "*": "Else."}
    assert instruction(by_task, "text->title", [TEXT], [TITLE]) == "Do title."
    assert instruction(by_task, "title->text", [TITLE], [TEXT]) == "Else."
    assert instruction({"x": "y"}, "text->title", [TEXT], [TITLE]) == made([TEXT], [TITLE])


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("Give {outputs} for {input}", "unknown slot {input} in the instruction; did you mean inputs?"),
        ({"text->titel": "x"}, "unknown tasks: 'text->titel'; did you mean text->title?"),
    ],
)
def test_unknown_slots_and_tasks_are_refused_with_the_nearest(given, told: str):
    with pytest.raises(UsageError) as refused:
        check_instruction(given, ["text->title", "title->text"])
    assert told in str(refused.value)


def test_a_benchmark_takes_instructions(tmp_path: Path):
    (tmp_path / "t.csv").write_text("text,label\na,x\nb,y\n")
    options = {"fields": ["text:text", "label:label"]}
    asked = build("fields", str(tmp_path / "t.csv"), **options, instruction={"text->label": "Which one?"})
    assert {name: task.instruction for name, task in asked.tasks.items()} == {
        "text->label": "Which one?",
        "label->text": "Read the label and write the text.",
    }
    usual = build("fields", str(tmp_path / "t.csv"), **options)
    assert usual.digest("text->label") != asked.digest("text->label")
    assert usual.digest("label->text") == asked.digest("label->text")
