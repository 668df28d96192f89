"""Copies of a record are one: none is learnt from where another is asked about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from taskloom.core import Suite
from taskloom.episodes import Deck, Sampler
from taskloom.models.trained import trained
from taskloom.sources.splits import SPLIT
from taskloom.sources.table import Field
from taskloom.studies.study import parse
from taskloom.studies.training import Training
from taskloom.suites import fields, store
from taskloom.suites.fields import GROUP

FIELDS = (Field("title", "text"), Field("abstract", "text"), Field("label", "label"))
STUDY = """
name: copies
suite: suite
tasks: ["abstract->label"]
protocol: {seeds: 4, shots: [0, 1], query: 12}
learners: {nearest: {}}
"""


def record(n: int, **other: Any) -> dict[str, Any]:
    return {"id": f"r{n}", "title": f"title {n}", "abstract": f"abstract {n}", "label": "ab"[n % 2]} | other


@pytest.fixture
def suite() -> Suite:
    """Twenty records, of which each has a copy under another id and with another label."""
    copies = [record(n, id=f"copy{n}", label="a") for n in range(20)]
    return fields.suite(fields.records(FIELDS, [*map(record, range(20)), *copies]), id="copies")


def texts(suite: Suite, task: str, rows: Any) -> set[str]:
    return {example.item.fields["abstract"] for example in suite.pools[task]["all"].take(rows)}


def test_no_copy_of_what_is_asked_about_is_trained_on(suite: Suite):
    training = Training(suite, parse(STUDY))
    for seed in range(4):
        meta = trained({"train": "base", "tasks": ["abstract->title"], "most": "all"})
        taught = training.taught("meta", meta, "abstract->label", seed)
        drawn = Deck(suite, "abstract->label").draw(Sampler(shots=1, query=12), seed=seed)
        asked = texts(suite, "abstract->label", drawn.rows["query"])
        learnt = texts(suite, "abstract->title", taught.rows["abstract->title"])
        assert asked
        assert learnt
        assert not asked & learnt


def test_no_copy_of_a_query_item_is_in_the_support(suite: Suite):
    for seed in range(8):
        drawn = Deck(suite, "abstract->label").draw(Sampler(shots=2, query=12), seed=seed)
        query, support = (texts(suite, "abstract->label", drawn.rows[part]) for part in ("query", "support"))
        assert not query & support


def test_copies_are_known_after_a_suite_was_written(suite: Suite, tmp_path: Path):
    written = store.write(suite, tmp_path / "suite")
    opened = store.open_suite(tmp_path / "suite")
    for task in suite.tasks:
        assert opened.pools[task]["all"].groups().tolist() == suite.pools[task]["all"].groups().tolist()
    assert opened.fingerprint == written.fingerprint == suite.fingerprint
    (example,) = opened.pools["abstract->label"]["all"].take([20])
    assert (example.item.id, example.group) == ("copy0", "r0")


def test_without_copies_records_have_the_names_that_they_had():
    plain = fields.records(FIELDS, [record(n) for n in range(4)])
    assert GROUP not in plain.table.column_names
    assert plain.group == "id"


def test_records_without_texts_are_no_copies_of_each_other():
    empty = [record(n, title=None, abstract=None) for n in range(4)]
    assert GROUP not in fields.records(FIELDS, empty).table.column_names


def test_a_split_of_the_tables_own_is_left_as_it_is():
    rows = [record(0, **{SPLIT: "train"}), record(0, id="copy", **{SPLIT: "test"})]
    assert GROUP not in fields.records(FIELDS, rows).table.column_names


LONG_TEXT = "a long sentence that no two records would have in common by chance"


@pytest.mark.parametrize(
    "copy",
    [
        {"title": "another title", "abstract": LONG_TEXT},
        {"title": None, "abstract": LONG_TEXT},
        {"title": "TITLE 0", "abstract": LONG_TEXT.upper()},
    ],
)
def test_a_long_text_in_common_makes_a_copy(copy: dict[str, Any]):
    rows = [record(0, abstract=LONG_TEXT), record(1), record(2, **copy)]
    groups = fields.records(FIELDS, rows).table[GROUP].to_pylist()
    assert groups == ["r0", "r1", "r0"]


def test_a_short_text_in_common_does_not():
    rows = [record(0, title="Editorial"), record(1, title="Editorial")]
    assert GROUP not in fields.records(FIELDS, rows).table.column_names


def test_lists_count_as_texts():
    of = (Field("terms", "list"), Field("label", "label"))
    rows = [{"id": f"{n}", "terms": ["oak", "elm"], "label": "a"} for n in range(2)]
    assert fields.records(of, rows).table[GROUP].to_pylist() == ["0", "0"]


def test_a_trial_holds_out_no_more_than_half_of_what_it_is_taught(suite: Suite):
    meta = trained({"train": "base", "tasks": ["abstract->title"], "most": 10, "dev": 4, "patience": 1})
    training = Training(suite, parse(STUDY), limit=2)
    taught, held_out = training.lessons(meta, training.taught("meta", meta, "abstract->label", 0), 0)
    assert taught
    assert len(held_out) <= 1
