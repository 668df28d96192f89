from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from taskloom.benchmarks import build
from taskloom.core import Example, Pool, Shown, Suite, Task, Text
from taskloom.errors import SuiteError, UnknownNameError
from taskloom.sources.table import Field
from taskloom.suites import fields, rows, store
from taskloom.suites.cards import CardRow, Spread, card, is_tagged, records_of, task_card

COLUMNS = (
    Field("title", "text", "Title"),
    Field("keywords", "list", "Keywords"),
    Field("category", "label", "Category"),
    Field("discipline", "label", "Discipline"),
    Field("year", "number", "Year"),
)
PAPERS: Sequence[tuple[Any, ...]] = [
    ("On trees", ["oak", "elm", "ash"], "nature", "botany", 1999.0),
    ("The long lives of old trees", ["oak"], "nature", "botany", 2001.0),
    ("Rivers", None, "nature", "geology", None),
    ("Two graphs", ["node", "edge"], "maths", "graphs", 1999.0),
    (None, ["set"], "maths", None, 1999.0),
    ("Of no category", ["a", "b", "c"], None, "botany", 1999.0),
]


def suite_of(
    papers: Sequence[tuple[Any, ...]] = PAPERS, columns: Sequence[Field] = COLUMNS, language: str = "en"
) -> Suite:
    names = ["id", *(column.name for column in columns)]
    made = [dict(zip(names, (str(n), *paper), strict=False)) for n, paper in enumerate(papers)]
    return fields.suite(fields.records(columns, made), id="papers", language=language)


def test_a_card_is_that_worked_out_by_hand() -> None:
    assert card(suite_of()) == [
        CardRow("nature", 2, {"title": (2 + 6 + 1) / 3, "keywords": (3 + 1) / 2}, 3),
        CardRow("maths", 1, {"title": 2.0, "keywords": (2 + 1) / 2}, 2),
        CardRow("all", 3, {"title": (2 + 6 + 1 + 2 + 3) / 5, "keywords": (3 + 1 + 2 + 1 + 3) / 5}, 6),
    ]


def test_records_can_be_put_together_by_another_label() -> None:
    found = card(suite_of(), by="discipline", below="category")
    assert [(row.label, row.labels_below, row.records) for row in found] == [
        ("botany", 1, 3), ("geology", 1, 1), ("graphs", 1, 1), ("all", 2, 6),
    ]  # fmt: skip


def test_labels_of_as_many_records_are_in_the_order_of_their_names() -> None:
    papers = [(f"t{n}", [f"k{n}"], label, "d", 1.0) for n, label in enumerate("cabcab")]
    assert [row.label for row in card(suite_of(papers))] == ["a", "b", "c", "all"]


def test_chinese_texts_are_measured_in_characters() -> None:
    papers = [("城市道路绿化", ["城市", "绿化"], "a", "d", 1.0), ("排序 算法", ["排序"], "a", "d", 1.0)]
    assert card(suite_of(papers, language="zh"))[0].means == {"title": (6 + 5) / 2, "keywords": 1.5}
    assert card(suite_of(papers, language="en"))[0].means["title"] == (1 + 2) / 2


def test_a_mean_of_nothing_is_none_and_never_nought() -> None:
    papers = [(None, ["k"], "a", "d", 1.0), ("title", None, "b", "d", 1.0)]
    assert [row.means for row in card(suite_of(papers))[:2]] == [
        {"title": None, "keywords": 1.0},
        {"title": 1.0, "keywords": None},
    ]


def test_a_table_without_labels_has_one_row() -> None:
    assert card(suite_of([("On trees", ["oak"])], COLUMNS[:2])) == [
        CardRow("all", 0, {"title": 2.0, "keywords": 1.0}, 1)
    ]


def test_one_label_field_has_none_below() -> None:
    assert [row.labels_below for row in card(suite_of(columns=COLUMNS[:3]))] == [0, 0, 0]


def test_an_unknown_field_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown field: 'categry'; did you mean category"):
        card(suite_of(), by="categry")


@pytest.mark.parametrize("asked", [{"below": "categry"}, {"by": "title"}, {"by": "year"}])
def test_a_field_that_is_unknown_or_holds_no_labels_is_refused(asked: dict[str, str]) -> None:
    with pytest.raises((UnknownNameError, SuiteError)):
        card(suite_of(), **asked)


def test_a_suite_without_a_table_has_no_card(example: Callable[..., Example]) -> None:
    task = Task(id="t", instruction="", output=Text(), metrics=())
    pools = {"t": {"all": rows.pool(task, [example("1", "x", "y")])}}
    with pytest.raises(SuiteError, match="only for suites that were built from a table: 's'"):
        card(Suite(id="s", tasks={"t": task}, pools=pools))


def test_the_records_are_those_that_the_suite_was_made_from() -> None:
    assert records_of(suite_of()).table.num_rows == 6


class Closed:
    """A pool that tells its size, and must not be read."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size


def told(name: str, instruction: str, right: int, wrong: int, **tags: tuple[str, ...]) -> Task:
    examples = (Shown({"input": "x"}, "y"),) * right + (Shown({"input": "x"}, "z", right=False),) * wrong
    return Task(id=name, instruction=instruction, output=Text(), metrics=(), tags=tags, examples=examples)


def tagged() -> Suite:
    tasks = [
        told(
            "a", "Say it in French, please.", 2, 1, category=("Translation",), domain=("News", "Law"), source=("x",),
            input_language=("English",), output_language=("French",), instruction_language=("English",),
        ),
        told(
            "b", "Repeat.", 3, 0, category=("Copying",), domain=("News", "News", " "), source=("x", "y"),
            input_language=("English",), output_language=("English",), instruction_language=("English",),
        ),
        told("c", "Copy it.", 0, 1, category=("Copying",)),
    ]  # fmt: skip
    pools = {"a": {"train": Closed(30), "test": Closed(10)}, "b": {"all": Closed(5)}, "c": {"all": Closed(0)}}
    return Suite(id="s", tasks={task.id: task for task in tasks}, pools=cast(dict[str, dict[str, Pool]], pools))


def test_the_card_of_tags_is_that_worked_out_by_hand_and_reads_nothing() -> None:
    found = task_card(tagged())
    assert (found.tasks, found.types, found.languages, found.instruction_languages) == (3, 2, 2, 1)
    assert (found.domains, found.sources, found.non_english, found.instances) == (2, 2, 1, 45)
    assert (found.words, found.positive, found.negative) == ((5 + 1 + 2) / 3, 5 / 3, 2 / 3)
    assert found.instances_per_task == 15.0


def test_a_task_counts_once_for_each_name_and_names_are_in_order() -> None:
    spreads = task_card(tagged()).spreads
    assert spreads == {
        "types": Spread({"Copying": 2, "Translation": 1}),
        "languages": Spread({"English": 2, "French": 1}, without=1),
        "domains": Spread({"News": 2, "Law": 1}, without=1),
    }
    assert list(spreads["types"].counts) == ["Copying", "Translation"]


def test_what_no_task_is_tagged_with_is_none_and_never_nought() -> None:
    task = told("t", "Do.", 0, 0, category=("Doing",))
    found = task_card(Suite(id="s", tasks={"t": task}, pools={"t": {"all": cast(Pool, Closed(1))}}))
    assert (found.types, found.languages, found.domains, found.sources, found.non_english) == (1, *[None] * 4)


def test_codes_of_languages_are_languages() -> None:
    tasks = {name: told(name, "Do.", 0, 0, language=(name,)) for name in ("en", "zh")}
    found = task_card(Suite(id="s", tasks=tasks, pools={name: {} for name in tasks}))
    assert (found.languages, found.non_english) == (2, 1)


def test_a_table_is_described_before_tags_and_without_either_there_is_no_card() -> None:
    assert is_tagged(tagged())
    assert not is_tagged(suite_of())
    with pytest.raises(SuiteError, match="a card needs tasks with tags, such as category or domain: 'papers'"):
        task_card(suite_of())


def test_the_card_of_real_task_files(real_data: Path) -> None:
    found = task_card(build("natural-instructions", str(real_data / "superni")))
    assert (found.tasks, found.types, found.languages, found.domains, found.non_english) == (88, 25, 1, 42, 0)
    assert (found.instances, round(found.words, 1)) == (9_001, 64.3)
    assert next(iter(found.spreads["types"].counts.items())) == ("Textual Entailment", 14)
    crossed = task_card(build("natural-instructions", str(real_data / "superni_xlingual")))
    assert (crossed.tasks, crossed.languages, crossed.non_english) == (17, 17, 17)
    assert crossed.spreads["languages"].counts["Croatian"] == 2


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    store.write(suite_of(), tmp_path / "s")
    file = tmp_path / "s" / store.RECORDS
    file.write_bytes(file.read_bytes().replace(b"Rivers", b"\xffivers"))
    with pytest.raises(SuiteError) as refused:
        card(store.open_suite(tmp_path / "s"))
    assert refused.value.note.code == "text-unreadable"
