from __future__ import annotations

import pytest

from taskloom.core import Fields, Labels, Number, Suite, Terms
from taskloom.errors import SuiteError, UnknownNameError
from taskloom.sources.table import Field
from taskloom.suites import fields


@pytest.mark.parametrize(("count", "tasks"), [(2, 2), (3, 12), (4, 50), (5, 180)])
def test_every_pair_of_disjoint_sets_is_a_task(count, tasks):
    names = "abcde"[:count]
    pairs = list(fields.pairs_of(names))
    assert len(pairs) == len(set(pairs)) == tasks == 3**count - 2 ** (count + 1) + 1
    assert all(inputs and outputs and not set(inputs) & set(outputs) for inputs, outputs in pairs)


def test_a_task_is_a_view_of_the_records(small_suite: Suite):
    pools = {name: pools["all"] for name, pools in small_suite.pools.items()}
    assert len({id(pool.records) for pool in pools.values() if isinstance(pool, fields.FieldPool)}) == 1
    (example,) = pools["title+year->keywords"].take([1])
    assert dict(example.item.fields) == {"title": "On birds", "year": "2002"}
    assert example.gold == (("owl",),)
    assert (example.item.id, example.group) == ("b", "b")


def test_a_record_counts_for_the_tasks_whose_fields_it_fills(small_suite: Suite):
    sizes = {name: len(pools["all"]) for name, pools in small_suite.pools.items()}
    assert sizes["title->keywords"] == 3
    assert sizes["title->year"] == sizes["keywords->title+year"] == 2


def test_several_outputs_are_answered_apart(small_suite: Suite):
    task = small_suite.tasks["title->keywords+year"]
    assert task.output == Fields({"keywords": Terms(), "year": Number()})
    assert task.metrics == ("keywords/list-f1", "keywords/bpref", "year/tau-b", "year/mse")
    (example,) = small_suite.pools[task.id]["all"].take([0])
    assert example.gold == ({"keywords": ("oak", "elm"), "year": 2001.0},)


def test_prompts_call_fields_by_their_titles(small_suite: Suite):
    task = small_suite.tasks["title+year->keywords"]
    assert task.instruction == "根据标题和年写出关键词（用“;”分隔）。"
    assert task.titles == {"title": "标题", "year": "年", "keywords": "关键词"}


def test_a_prompt_outside_the_suite_can_be_made(small_suite: Suite):
    view = small_suite.pools["title->keywords"]["all"]
    assert isinstance(view, fields.FieldPool)
    rewrite = fields.task(view.records, ["title"], ["title"])
    (example,) = fields.view(view.records, ["title"], ["title"]).take([0])
    assert rewrite.instruction == "改写标题。"
    assert example.gold == ("On trees",)


def test_labels_are_sorted_and_coded():
    of = fields.records(
        (Field("t", "text", "t"), Field("c", "label", "c")),
        [{"id": str(n), "t": "x", "c": label} for n, label in enumerate(["b", "a", None, "b"])],
    )
    made = fields.suite(of, id="s")
    assert made.tasks["t->c"].output == Labels(("a", "b"))
    assert made.pools["t->c"]["all"].labels().tolist() == [1, 0, 1]
    assert made.pools["c->t"]["all"].labels().tolist() == [-1, -1, -1]


def test_the_digest_of_a_task_depends_on_its_own_columns_alone():
    def digests(year: float, title: str) -> dict[str, str]:
        rows = [{"id": "1", "title": title, "keywords": ["k"], "year": year}]
        kinds = (
            Field("title", "text", "title"),
            Field("keywords", "list", "keywords"),
            Field("year", "number", "year"),
        )
        made = fields.suite(fields.records(kinds, rows), id="s")
        return {name: made.digest(name) for name in made.tasks}

    base, other_year, other_title = digests(1, "x"), digests(2, "x"), digests(1, "y")
    changed = {name for name in base if base[name] != other_year[name]}
    assert changed == {name for name in base if "year" in name}
    assert {name for name in base if base[name] != other_title[name]} == {name for name in base if "title" in name}


def test_an_unknown_field_gets_the_nearest_names(small_suite: Suite):
    view = small_suite.pools["title->keywords"]["all"]
    assert isinstance(view, fields.FieldPool)
    with pytest.raises(UnknownNameError, match="did you mean title"):
        fields.task(view.records, ["titel"], ["keywords"])


@pytest.mark.parametrize("text", ["title", "->title", "a->b->c", "a+->b"])
def test_what_is_no_task_is_refused(text):
    with pytest.raises(SuiteError, match="not a field task"):
        fields.parse_task_id(text)


def test_no_records_and_one_field_are_refused():
    with pytest.raises(SuiteError, match="no records"):
        fields.records((Field("a", "text", "a"), Field("b", "text", "b")), [])
    with pytest.raises(SuiteError, match="two fields"):
        fields.records((Field("a", "text", "a"),), [{"id": "1", "a": "x"}])
