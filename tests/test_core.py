import dataclasses
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskloom.core import (
    OUTPUTS,
    Example,
    Fields,
    Folds,
    Item,
    Labels,
    Number,
    Output,
    Ranking,
    Suite,
    Task,
    Terms,
    Text,
    Words,
    declared,
    output_from_json,
    output_to_json,
    parts_of_pools,
)
from taskloom.errors import SuiteError, UnknownNameError
from taskloom.suites import rows

often = settings(deadline=None, max_examples=50)

words = st.text(min_size=1, max_size=8).filter(lambda text: bool(text.strip()))
names = st.lists(words, min_size=1, max_size=4, unique=True).map(tuple)
single = st.one_of(
    st.builds(Text), st.builds(Terms, words), st.builds(Number), st.builds(Labels, names, many=st.booleans())
)
rankings = st.builds(Ranking, words, st.integers(0, 9))
outputs = st.one_of(
    single, rankings, st.builds(Words, words), st.builds(Fields, st.dictionaries(words, single, max_size=4))
)


def example(number: int, answer: str, text: str = "") -> Example:
    return Example(Item(f"i{number}", {"text": text or f"text {number}"}), (answer,), f"g{number}")


def task(**changes: Any) -> Task:
    declared: dict[str, Any] = {
        "id": "t",
        "instruction": "Is it?",
        "output": Labels(("yes", "no")),
        "metrics": ("acc",),
    }
    return Task(**(declared | changes))


def suite_of(*tasks: Task, **changes: Any) -> Suite:
    pools = {t.id: {"all": rows.pool(t, [example(1, "yes"), example(2, "no")])} for t in tasks}
    return Suite(id="s", tasks={t.id: t for t in tasks}, pools=pools, **changes)


def test_an_item_has_no_place_for_a_gold_answer() -> None:
    item = Item("1", {"text": "x"})
    assert [f.name for f in dataclasses.fields(item)] == ["id", "fields", "candidates", "document"]
    assert not hasattr(item, "gold")
    with pytest.raises((AttributeError, TypeError)):
        item.gold = "yes"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "noun",
    [
        Text(), Labels(("a",)), Terms(), Number(), Ranking(), Words(), Fields({}), Item("1", {}), example(1, "yes"),
        task(), suite_of(task()),
    ],
    ids=lambda noun: type(noun).__name__,
)  # fmt: skip
def test_nouns_are_frozen_and_take_no_new_attribute(noun: Any) -> None:
    for f in dataclasses.fields(noun):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(noun, f.name, None)
    with pytest.raises((AttributeError, TypeError)):
        noun.note = "mine"


@often
@given(outputs)
def test_an_output_written_as_json_is_read_back(output: Output) -> None:
    assert output_from_json(json.loads(json.dumps(output_to_json(output)))) == output


@often
@given(st.dictionaries(words, single, min_size=2, max_size=4))
def test_the_parts_of_several_fields_keep_their_order(parts: dict[str, Any]) -> None:
    read = output_from_json(json.loads(json.dumps(output_to_json(Fields(parts)), sort_keys=True)))
    assert isinstance(read, Fields)
    assert list(read.parts) == list(parts)


def test_every_output_kind_can_be_written_and_read() -> None:
    made: list[Output] = [Text(), Labels(("a",)), Terms(), Number(), Ranking(), Words(" # "), Fields({"t": Text()})]
    assert [output.kind for output in made] == list(OUTPUTS)
    assert [output_from_json(output_to_json(output)) for output in made] == made


def test_an_unknown_output_kind_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown output kind: 'label'; did you mean labels"):
        output_from_json({"kind": "label", "names": ["a"]})


def test_a_narrowed_task_has_fewer_labels_and_is_else_the_same() -> None:
    whole = task(output=Labels(("a", "b", "c"), many=True), tags={"domain": ("x",)})
    narrow = whole.narrowed(["c", "a"])
    assert narrow.output == Labels(("c", "a"), many=True)
    assert replace(narrow, output=whole.output) == whole


def test_only_a_task_of_labels_can_be_narrowed() -> None:
    with pytest.raises(SuiteError, match="only a task of labels can be narrowed: 't'"):
        task(output=Text()).narrowed(["a"])


def test_an_unknown_task_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown task: 'tt'; did you mean t"):
        suite_of(task()).task("tt")
    with pytest.raises(UnknownNameError):
        suite_of(task()).digest("tt")


@pytest.mark.parametrize(("names", "asked"), [(("train", "test"), "test"), (("all",), "all"), (("train",), "train")])
def test_the_test_pool_is_asked_about_or_else_the_only_one(names: tuple[str, ...], asked: str) -> None:
    pools = {name: rows.pool(task(), [example(n, "yes")]) for n, name in enumerate(names)}
    made = Suite(id="s", tasks={"t": task()}, pools={"t": pools})
    assert made.asked_pool("t") is pools[asked]
    with pytest.raises(UnknownNameError):
        made.asked_pool("tt")


@pytest.mark.parametrize(
    ("pools", "parts"),
    [
        (("all",), ("all", "all", "all")),
        (("test",), ("test", "test", "test")),
        (("test", "train"), ("train", "train", "test")),
        (("train", "dev", "test"), ("train", "dev", "test")),
    ],
)
def test_each_part_has_its_pool(pools: tuple[str, ...], parts: tuple[str, ...]) -> None:
    assert parts_of_pools(pools) == dict(zip(("support", "dev", "query"), parts, strict=True))


@pytest.mark.parametrize("pools", [(), ("train", "dev"), ("dev", "test"), ("all", "test"), ("train", "test", "more")])
def test_pools_whose_parts_are_not_known_are_refused(pools: tuple[str, ...]) -> None:
    with pytest.raises(SuiteError, match=f"or a single pool: {', '.join(pools)}"):
        parts_of_pools(pools)


@pytest.mark.parametrize(
    ("names", "taught"), [(("train", "test"), "train"), (("all",), "all"), (("test",), None), (("train",), "train")]
)
def test_what_is_scored_is_never_taught(names: tuple[str, ...], taught: str | None) -> None:
    pools = {name: rows.pool(task(), [example(n, "yes")]) for n, name in enumerate(names)}
    made = Suite(id="s", tasks={"t": task()}, pools={"t": pools})
    assert made.taught_pool("t") is (pools[taught] if taught else None)


def test_a_task_is_found_in_the_folds_where_it_has_a_role() -> None:
    one, two, three = (replace(task(), id=name) for name in ("a", "b", "c"))
    folds: Folds = {"1": {"train": ("a",), "test": ("b", "c")}, "2": {"train": ("b", "c"), "test": ("a", "c")}}
    made = replace(suite_of(one, two, three), folds=folds)
    assert made.folds_with("a") == ("2",)
    assert made.folds_with("c") == ("1", "2")
    assert made.folds_with("c", "train") == ("2",)
    assert made.tasks_with("train", "2") == ("b", "c")
    assert made.tasks_with("test") == ("b", "c", "a")
    assert made.tasks_with("dev") == ()
    with pytest.raises(UnknownNameError, match="unknown task: 'd'"):
        made.folds_with("d")
    with pytest.raises(UnknownNameError, match="unknown fold: '3'; known: 1, 2"):
        made.tasks_with("test", "3")


def test_a_role_that_is_none_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown role in fold 'f': 'tset'; did you mean test"):
        replace(suite_of(task()), folds={"f": {"tset": ("t",)}})


@pytest.mark.parametrize(
    "changes",
    [
        {"instruction": "Is it not?"},
        {"output": Labels(("no", "yes"))},
        {"output": Labels(("yes", "no", "maybe"))},
        {"output": Text()},
        {"separator": " | "},
    ],
    ids=lambda changes: str(*changes),
)
def test_a_tasks_digest_changes_with_its_declaration(changes: dict[str, Any]) -> None:
    assert suite_of(task(**changes)).digest("t") != suite_of(task()).digest("t")


@pytest.mark.parametrize("changes", [{"metrics": ("acc", "f1")}, {"tags": {"source": ("wiki",)}}])
def test_what_changes_no_answer_changes_no_digest_but_the_suites_fingerprint(changes: dict[str, Any]) -> None:
    ours, theirs = suite_of(task()), suite_of(task(**changes))
    assert ours.digest("t") == theirs.digest("t")
    assert ours.fingerprint != theirs.fingerprint


@pytest.mark.parametrize(
    "change",
    [
        lambda first, second: [second, first],
        lambda first, _: [first],
        lambda first, second: [first, second, second],
        lambda first, second: [replace(first, gold=("no",)), second],
        lambda first, second: [replace(first, gold=("yes", "no")), second],
        lambda first, second: [replace(first, group="h"), second],
        lambda first, second: [replace(first, item=replace(first.item, id="j")), second],
        lambda first, second: [replace(first, item=replace(first.item, candidates=("a",))), second],
        lambda first, second: [replace(first, item=replace(first.item, fields={"text": "text 1."})), second],
        lambda first, second: [replace(e, item=replace(e.item, fields={"t": "x"})) for e in (first, second)],
    ],
    ids=["order", "fewer", "more", "gold", "more-gold", "group", "id", "candidates", "text", "field-name"],
)
def test_a_tasks_digest_changes_with_its_examples(change: Callable[[Example, Example], list[Example]]) -> None:
    whole = suite_of(task())
    pool = rows.pool(task(), change(example(1, "yes"), example(2, "no")))
    assert replace(whole, pools={"t": {"all": pool}}).digest("t") != whole.digest("t")


def test_a_tasks_digest_changes_with_the_names_of_its_pools() -> None:
    whole = suite_of(task())
    assert replace(whole, pools={"t": {"train": whole.pools["t"]["all"]}}).digest("t") != whole.digest("t")


def test_a_tasks_digest_does_not_change_with_other_tasks_the_suites_name_or_what_is_said_about_it() -> None:
    whole = suite_of(task())
    others = [
        suite_of(task(), task(id="u")), suite_of(task(id="u"), task()), replace(whole, id="renamed"),
        replace(whole, about={"language": "zh"}), replace(whole, folds={"f": {"train": ("t",)}}),
    ]  # fmt: skip
    assert {other.digest("t") for other in others} == {whole.digest("t")}


def test_a_fingerprint_does_not_change_with_the_order_of_tasks_or_what_is_said_about_them() -> None:
    whole = suite_of(task(), task(id="u"))
    assert suite_of(task(id="u"), task()).fingerprint == whole.fingerprint
    assert replace(whole, about={"licence": "none"}).fingerprint == whole.fingerprint


def test_a_fingerprint_changes_with_tasks_pools_and_folds() -> None:
    whole = suite_of(task(), task(id="u"))
    fewer = rows.pool(task(), [example(1, "yes")])
    different = [
        whole, suite_of(task()), suite_of(task(instruction="?"), task(id="u")),
        replace(whole, pools={**whole.pools, "t": {"all": fewer}}),
        replace(whole, folds={"f": {"train": ("t",), "test": ("u",)}}),
        replace(whole, folds={"f": {"train": ("u",), "test": ("t",)}}),
        replace(whole, folds={"g": {"train": ("t",), "test": ("u",)}}),
    ]  # fmt: skip
    assert len({suite.fingerprint for suite in different}) == len(different)


@pytest.mark.parametrize("depth", [-1, 1.0, True, "1"])
def test_a_depth_that_is_none_is_refused(depth: Any) -> None:
    with pytest.raises(SuiteError, match="the depth of a ranking must be an integer >= 0"):
        Ranking(depth=depth)


def test_what_a_ranking_says_of_stores_is_no_part_of_older_names() -> None:
    assert declared(Ranking()) == {"kind": "ranking"}
    assert declared(Ranking("papers", 10)) == {"kind": "ranking", "store": "papers", "depth": 10}
    assert output_from_json({"kind": "ranking"}) == Ranking()
