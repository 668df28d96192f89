import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from taskloom.core import Example, Folds, Labels, Ranking, Stored, Suite, Task, Text
from taskloom.messages import TEXTS
from taskloom.messages.faults import FAULT_TEXTS, FAULTS
from taskloom.sources.table import Field
from taskloom.suites import columns, contributed, fields, rows
from taskloom.suites import faults as kinds
from taskloom.suites.check import check
from taskloom.suites.documents import Documents, documents
from taskloom.suites.faults import Fault, imbalance

Make = Callable[..., Example]

TEXT = Task(id="t", instruction="Say it.", output=Text(), metrics=("rouge-l",))
CHOICE = replace(TEXT, output=Labels(("yes", "no")))
COLUMNS = (Field("title", "text", "Title"), Field("keywords", "list", "Keywords"), Field("topic", "label", "Topic"))
WORDS = [f"word{n}" for n in range(40)]
SIGNS = [chr(0x4E00 + n) for n in range(80)]


def faults(suite: Suite) -> list[tuple[str, str]]:
    return [(fault.code, fault.place) for fault in check(suite)]


def messages(suite: Suite) -> list[str]:
    return [str(fault.note) for fault in check(suite)]


def suite_of(task: Task, **pools: Sequence[Example] | rows.Rows) -> Suite:
    made = {name: found if isinstance(found, rows.Rows) else rows.pool(task, found) for name, found in pools.items()}
    return Suite(id="s", tasks={task.id: task}, pools={task.id: made})


def papers(**changes: Sequence[Any]) -> fields.Records:
    values: dict[str, Sequence[Any]] = {
        "id": ["1", "2", "3", "4"],
        "title": ["On trees", "On graphs", "On rivers", "On seas"],
        "keywords": [["tree"], ["graph", "tree"], ["river"], ["sea"]],
        "topic": ["maths", "maths", "earth", "earth"],
    }
    values |= changes
    return fields.records(COLUMNS, [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)])


def split_papers(**changes: Sequence[Any]) -> fields.Records:
    return papers(**{":split": ["train", "train", "test", "test"], "topic": ["maths", "earth"] * 2} | changes)


def table_suite(of: fields.Records, folds: Folds | None = None) -> Suite:
    return replace(fields.suite(of, id="papers"), folds=folds or {})


def raw(*gold: Any) -> rows.Rows:
    """Make a pool of answers that no one has looked at."""
    numbers = [str(n) for n in range(len(gold))]
    values = [numbers, numbers, [[f"text {n}"] for n in numbers], [[] for _ in gold], list(map(json.dumps, gold))]
    table = pa.table([*values, [-1] * len(gold)], schema=rows.SCHEMA)
    return rows.from_table(Text(), ("text",), table)


def two_tasks(example: Make, ours: str, theirs: str, **tags: tuple[str, ...]) -> Suite:
    tasks = {id_: replace(TEXT, id=id_, tags=tags) for id_ in ("ours", "theirs")}
    texts = dict(zip(tasks, (ours, theirs), strict=True))
    pools = {id_: {"all": rows.pool(task, [example(id_, texts[id_], "answer")])} for id_, task in tasks.items()}
    return Suite(id="s", tasks=tasks, pools=pools, folds={"f": {"train": ("ours",), "test": ("theirs",)}})


def doubled() -> Documents:
    """Make a store that holds a document twice, and says so in its digests."""
    once = documents("papers", [Stored("a", {"title": "On trees"})]).table
    table = pa.concat_tables([once, once])
    return Documents("papers", table, {name: columns.digest(table[name]) for name in ("id", "members", "title")})


def one_suite_per_code(example: Make) -> dict[str, tuple[Suite, str]]:
    """Give for each code a suite that has this one fault, and its place."""
    good = rows.pool(TEXT, [example("1", "x", "a")])
    twice = [example("1", "x", "a"), example("2", "x", "a")]
    of = papers()
    shared: Folds = {"f": {"train": ("title->topic",), "test": ("topic->title", "title->topic")}}
    return {
        "E001": (suite_of(TEXT, all=replace(good, digest="0" * 32)), "t/all"),
        "E101": (suite_of(TEXT, all=twice), "t/all"),
        "E102": (suite_of(TEXT, all=[example("1", "x", "a"), example("1", "y", "b")]), "t/all"),
        "E103": (suite_of(TEXT, all=raw(["a"], [""])), "t/all"),
        "E104": (suite_of(TEXT, all=[example("1", " \n", "a")]), "t/all"),
        "E105": (suite_of(replace(TEXT, output=Ranking(store="papers")), all=[]), "t"),
        "E106": (Suite(id="s", tasks={}, pools={}, stores={"papers": doubled()}), "store-papers"),
        "E201": (suite_of(TEXT, train=twice[:1], test=twice[1:]), "t/train+test"),
        "E202": (
            suite_of(TEXT, train=twice[:1], test=[example("2", "y", "b", group="1")]),
            "t/train+test",
        ),
        "E203": (suite_of(TEXT, one=twice[:1], other=[example("3", "y", "b")]), "t"),
        "E301": (table_suite(of, {"f": {"train": ("title->titel",)}}), "f/train"),
        "E302": (table_suite(of, shared), "f/train+test"),
        "E303": (two_tasks(example, "one text", "another", source=("wiki",)), "f/train+test"),
        "E304": (
            two_tasks(example, "a text of seven words or more words", "A text of seven words, or more words!"),
            "f/train+test",
        ),
        "W101": (
            suite_of(CHOICE, all=[example(str(n), f"x{n}", "no" if n else "yes") for n in range(9)]),
            "t/all",
        ),
        "W102": (table_suite(papers(title=["On trees", None, "On rivers", "On seas"])), "records/title"),
        "W103": (table_suite(papers(keywords=[["a;b"], ["c"], ["d"], ["e"]])), "records/keywords"),
        "W105": (table_suite(papers(keywords=[["a, b"], ["c, d"], ["e, f"], ["g, h"]])), "records/keywords"),
        "W104": (suite_of(TEXT, all=[example("1", "x", "a"), example("2", "x", "b")]), "t/all"),
        "W106": (table_suite(papers(topic=["maths", "Maths", "earth", "earth"])), "records/topic"),
        "W107": (table_suite(split_papers(title=["On trees and on graphs", "x", "On trees, and on graphs!", "y"])),
                 "records/train+test"),
        "W108": (table_suite(split_papers(topic=["maths", "earth", "maths", "sea"])), "records/topic"),
    }  # fmt: skip


@pytest.mark.parametrize("code", [code for code in FAULTS if code[1] != "4"])  # those are of task files
def test_each_code_is_told_of_its_fault_alone_and_of_its_place(example: Make, code: str) -> None:
    suite, place = one_suite_per_code(example)[code]
    (fault,) = check(suite)
    assert (fault.code, fault.place) == (code, place)
    assert fault.is_error == (code[0] == "E")
    assert fault.note.code in TEXTS
    assert str(fault.note)


def test_a_clean_suite_of_rows_has_no_fault(example: Make) -> None:
    pools = {
        name: [example(f"{name}{n}", f"{name} {n}", ("yes", "no")[n % 2]) for n in range(6)]
        for name in ("train", "dev", "test")
    }
    assert faults(suite_of(CHOICE, **pools)) == []


def test_a_clean_table_has_no_fault_and_its_views_share_records_rightly() -> None:
    folds = {"f": {"train": ("title->topic",), "test": ("title->keywords",)}}
    assert faults(table_suite(papers(), folds)) == []


def test_an_empty_suite_and_an_empty_pool_have_no_fault() -> None:
    assert faults(Suite(id="s", tasks={}, pools={})) == []
    assert faults(suite_of(CHOICE, train=[], test=[])) == []


def test_a_changed_column_of_records_is_found() -> None:
    of = papers()
    changed = of.table.set_column(1, "title", pa.array(["On trees", "On graphs", "On rivers", "On lakes"]))
    assert faults(table_suite(replace(of, table=changed))) == [("E001", "records/title")]


def test_labels_that_are_not_those_of_the_answers_are_found(example: Make) -> None:
    pool = rows.pool(CHOICE, [example("1", "x", "yes"), example("2", "y", "no")])
    turned = pool.load(None).set_column(5, "label", pa.array([1, 0], pa.int32()))
    assert faults(suite_of(CHOICE, all=rows.from_table(pool.output, pool.names, turned))) == [("E001", "t/all")]


def test_doubles_among_records_are_found_by_content_and_by_id() -> None:
    same = papers(title=["On trees"] * 2 + ["On rivers", "On seas"], keywords=[["tree"]] * 2 + [["river"], ["sea"]])
    assert faults(table_suite(same)) == [("E101", "records")]
    assert "1 = 2" in messages(table_suite(same))[0]
    assert faults(table_suite(papers(id=["1", "2", "3", "1"]))) == [("E102", "records")]


def test_an_imbalanced_label_field_is_found() -> None:
    of = papers(topic=["maths", "maths", "maths", "earth"])
    assert faults(table_suite(of)) == []  # entropy 0.81
    many = fields.records(
        COLUMNS, [{"id": str(n), "title": f"t{n}", "keywords": [f"k{n}"], "topic": "ab"[n == 0]} for n in range(9)]
    )
    assert faults(table_suite(many)) == [("W101", "records/topic")]
    assert messages(table_suite(many)) == ["normalised entropy 0.50, below 0.8; 'a' has 8 of 9"]


def test_labels_must_be_above_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "BALANCED", 1.0)
    assert [fault.code for fault in imbalance("W101", "p", ["a", "b"], ("a", "b"))] == ["W101"]
    assert [fault.code for fault in imbalance("W401", "p", ["a", "b"])] == ["W401"]


@pytest.mark.parametrize("yes", [1, 5, 7, 8, 15])
def test_labels_of_a_suite_and_of_a_task_file_are_judged_alike(example: Make, tmp_path: Path, yes: int) -> None:
    chosen = ["yes" if n < yes else "no" for n in range(30)]
    instances = [{"id": str(n), "input": f"x{n}", "output": [label]} for n, label in enumerate(chosen)]
    (tmp_path / "t.json").write_text(json.dumps({"Instances": instances}), encoding="utf-8")
    of_file = [str(fault.note) for fault in contributed.check(tmp_path / "t.json") if fault.code == "W401"]
    assert of_file == messages(suite_of(CHOICE, all=[example(str(n), f"x{n}", c) for n, c in enumerate(chosen)]))
    assert bool(of_file) == (yes < 8)  # 8 of 30 have an entropy of 0.84


def test_a_pool_of_one_label_alone_is_imbalanced(example: Make) -> None:
    alone = [example(str(n), f"x{n}", "no") for n in range(9)]
    assert faults(suite_of(CHOICE, all=alone)) == [("W101", "t/all")]
    assert messages(suite_of(CHOICE, all=alone)) == ["normalised entropy 0.00, below 0.8; 'no' has 9 of 9"]


def test_no_label_at_all_is_an_answer_where_many_may_be_given(example: Make) -> None:
    many = replace(TEXT, output=Labels(("a", "b"), many=True))
    assert faults(suite_of(many, all=[example("1", "x", ()), example("2", "y", ("a",))])) == []


def test_a_separator_of_spaces_is_looked_for_as_it_is() -> None:
    spaced = (COLUMNS[0], replace(COLUMNS[1], separator=" "), COLUMNS[2])
    assert faults(table_suite(fields.of_table(spaced, papers().table))) == []


def test_terms_are_searched_for_the_separator_without_its_spaces() -> None:
    assert messages(table_suite(papers(keywords=[["a;b"], ["c;"], ["d"], ["e"]])))[0].endswith("2 terms: a;b, c;")


@pytest.mark.parametrize("gold", [[], [""], [[]]])
def test_empty_outputs_are_found(gold: list[Any]) -> None:
    assert faults(suite_of(TEXT, all=raw(gold))) == [("E103", "t/all")]


def test_tasks_of_two_roles_that_share_a_source_are_named(example: Make) -> None:
    assert messages(two_tasks(example, "one", "two", source=("wiki", "news"))) == [
        "ours and theirs share a source: wiki, news"
    ]
    assert faults(two_tasks(example, "one", "two", domain=("wiki",))) == []


@pytest.mark.parametrize(
    ("ours", "theirs", "leaks"),
    [
        (WORDS[:14], [*WORDS[:13], "else"], True),  # one of two runs of 13 words
        (WORDS[:14], [*WORDS[:12], "else", "where"], False),  # no run of 13
        (WORDS[:15], [*WORDS[:13], "else", "where"], False),  # one of three
        (WORDS[:13], WORDS[:40], True),  # held by a longer one
        (WORDS[:12], WORDS[:13], True),  # shorter than a run, and a whole part of the other
        (WORDS[:12], [*WORDS[:11], "else", "where"], False),
        (WORDS[:6], WORDS[:13], False),  # less than half a run
    ],
)
def test_english_texts_of_two_roles_are_compared_by_13_words(
    example: Make, ours: list[str], theirs: list[str], leaks: bool
) -> None:
    found = faults(two_tasks(example, " ".join(ours), " ".join(theirs)))
    assert found == ([("E304", "f/train+test")] if leaks else [])


@pytest.mark.parametrize(
    ("ours", "theirs", "leaks"),
    [
        (SIGNS[:31], [*SIGNS[:30], SIGNS[70]], True),
        (SIGNS[:31], [*SIGNS[:29], *SIGNS[70:72]], False),
        (SIGNS[:32], [*SIGNS[:30], *SIGNS[70:72]], False),
        (SIGNS[:30], [*SIGNS[:29], "，", *SIGNS[29:60]], True),  # punctuation does not count
    ],
)
def test_chinese_texts_of_two_roles_are_compared_by_30_characters(
    example: Make, ours: list[str], theirs: list[str], leaks: bool
) -> None:
    found = faults(two_tasks(example, "".join(ours), "".join(theirs)))
    assert found == ([("E304", "f/train+test")] if leaks else [])


def test_overlapping_texts_are_named_with_their_share(example: Make) -> None:
    suite = two_tasks(example, " ".join(WORDS[:14]), " ".join([*WORDS[:13], "else"]))
    assert messages(suite) == ["ours and theirs share 50% of a text (ours ~ theirs)"]


def test_many_faults_of_a_kind_are_one_with_a_few_places(example: Make) -> None:
    (fault,) = check(suite_of(TEXT, all=[example(f"i{n}", "x", "a") for n in range(12)]))
    assert "i0 = i5, and 6 more" in str(fault.note)


def test_progress_is_told_task_by_task(example: Make) -> None:
    told: list[tuple[int, int]] = []
    list(check(two_tasks(example, "one", "two"), lambda done, of: told.append((done, of))))
    assert told == [(1, 2), (2, 2)]


def test_every_code_has_a_meaning_and_a_text() -> None:
    assert {code.partition("-")[0] for code in FAULT_TEXTS} - {"more"} == FAULTS.keys()


def test_faults_are_values_and_rewording_them_changes_nothing_but_words(
    example: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = suite_of(TEXT, all=[example("1", "x", "a"), example("2", "x", "a")])
    before = list(check(suite))
    assert before == [Fault.of("E101", "t/all", count=1, shown=("1 = 2",))]
    assert str(before[0]) == "E101 t/all: 1 duplicate row: 1 = 2"
    monkeypatch.setitem(TEXTS, "E101", "doppelt: {shown}")
    assert list(check(suite)) == before
    assert str(before[0]) == "E101 t/all: doppelt: 1 = 2"


def test_an_error_is_told_from_a_warning() -> None:
    assert Fault.of("E101", "p").is_error
    assert not Fault.of("W101", "p").is_error
