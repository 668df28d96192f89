from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from taskloom.benchmarks import build as build_suite
from taskloom.benchmarks import csl
from taskloom.benchmarks.published import card as published_card
from taskloom.core import Labels, Terms
from taskloom.errors import SourceError, UsageError
from taskloom.suites.cards import card
from taskloom.suites.check import check
from taskloom.templates import Prompting, template

ROW = {
    "title": "道路绿化",
    "abstract": "研究了道路。",
    "keywords": ["道路", "绿化"],
    "category": "农学",
    "discipline": "园艺学",
}


def build(source: Path, **options: object):
    return build_suite("csl", str(source), **options)


def write_jsonl(path: Path, *rows: object) -> Path:
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    return path


def test_all_180_tasks_of_the_real_records(real_data: Path):
    suite = build(real_data / "csl" / "records.jsonl")
    assert len(suite.tasks) == 180
    assert all(len(pools["all"]) == 1000 for pools in suite.pools.values())
    assert [len(suite.tasks[f"abstract->{n}"].output.names) for n in ("category", "discipline")] == [13, 67]
    assert not [fault for fault in check(suite) if fault.is_error]


def test_the_real_card_is_near_the_published_one(real_data: Path):
    rows = {row.label: row for row in card(build(real_data / "csl" / "records.jsonl"))}
    found = published_card("csl")
    assert found
    for label, published in found.rows.items():
        assert rows[label].labels_below == published["labels_below"]
        assert rows[label].means["title"] == pytest.approx(published["title"], rel=0.2)
        assert rows[label].means["abstract"] == pytest.approx(published["abstract"], rel=0.25)


def test_the_released_files_agree_with_the_records_joined_from_them(real_data: Path):
    """The records were joined by row from the four tasks' dev files."""
    suite = build(real_data / "csl" / "benchmark")
    records = [json.loads(line) for line in (real_data / "csl" / "records.jsonl").read_text("utf-8").splitlines()]
    assert set(suite.tasks) == set(csl.PROMPTS)
    assert len(suite.pools["to category"]["train"]) == 8000
    for task, field in csl.PROMPTS.items():
        gold = [example.gold[0] for example in suite.pools[task]["dev"].take(range(1000))]
        assert gold == [tuple(r[field]) if field == "keywords" else r[field] for r in records]


def test_the_fingerprint_is_the_same_under_any_hash_seed(tmp_path: Path):
    source = write_jsonl(
        tmp_path / "r.jsonl", *({**ROW, "title": f"题{n}", "category": f"类{n % 3}"} for n in range(9))
    )
    program = f"from taskloom import build;print(build('csl', {str(source)!r}).fingerprint)"
    found = {
        subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert found == {"fba0696a94be9d821d3b2a595759fd58\n"}


def test_prompts_are_in_the_suites_own_words(tmp_path: Path):
    suite = build(write_jsonl(tmp_path / "r.jsonl", ROW))
    (example,) = suite.pools["abstract+discipline->keywords"]["all"].take([0])
    asked = Prompting(suite.tasks["abstract+discipline->keywords"], template("plain")).text(example.item)
    assert asked == "摘要+学科->关键词\n研究了道路。\n园艺学\n"


def test_the_corpus_layout_has_no_header(tmp_path: Path):
    corpus = tmp_path / "corpus.tsv"
    corpus.write_text("道路绿化\t研究了道路。\t道路_绿化\t园艺学\t农学\n", encoding="utf-8")
    assert build(corpus).fingerprint == build(write_jsonl(tmp_path / "r.jsonl", ROW)).fingerprint


def test_a_tsv_with_a_header_is_read_by_it(tmp_path: Path):
    table = tmp_path / "table.tsv"
    table.write_text(
        "discipline\ttitle\tabstract\tkeywords\tcategory\n园艺学\t道路绿化\t研究了道路。\t道路_绿化\t农学\n",
        encoding="utf-8",
    )
    assert build(table).fingerprint == build(write_jsonl(tmp_path / "r.jsonl", ROW)).fingerprint


def test_a_released_file_becomes_a_task_a_prompt(tmp_path: Path):
    (tmp_path / "dev.tsv").write_text("to keywords\t文\ta_b\nto category\t文\t工学\n", encoding="utf-8")
    suite = build(tmp_path / "dev.tsv")
    assert suite.tasks["to keywords"].output == Terms("_")
    assert suite.tasks["to category"].output == Labels(("工学",))
    assert suite.pools["to keywords"]["dev"].take([0])[0].gold == (("a", "b"),)


def test_faults_of_released_files_are_named_at_once(tmp_path: Path):
    (tmp_path / "dev.tsv").write_text(
        "to title\t文\t题\nto poem\t文\tx\nto title\t\tx\nto title\tx\n", encoding="utf-8"
    )
    with pytest.raises(SourceError) as refused:
        build(tmp_path)
    assert [fault.partition(": ")[0] for fault in refused.value.faults] == ["dev.tsv:2", "dev.tsv:3", "dev.tsv:4"]
    suite = build(tmp_path, on_error="skip")
    assert suite.about["dropped"] == [{"code": "row-faulty", "values": {}, "count": 3}]


def test_nothing_to_build_from_is_refused(tmp_path: Path):
    with pytest.raises(UsageError, match="SOURCE is missing"):
        build_suite("csl", where={"language": "zh"})
    with pytest.raises(SourceError, match="no TSV files"):
        build(tmp_path)


def test_without_records_other_papers_stand_in(offline_cache: dict[str, str], monkeypatch: pytest.MonkeyPatch):
    for name, value in offline_cache.items():
        monkeypatch.setenv(name, value)
    suite = build_suite("csl")
    assert "made-up papers" in str(suite.about["note"])
    assert len(suite.tasks) == 180
    assert suite.tasks["abstract->title"].instruction == "abstract->title"
    assert [*suite.folds] == [*csl.PARTITIONS]


def test_the_published_partitions_are_folds(tmp_path: Path):
    suite = build(write_jsonl(tmp_path / "r.jsonl", ROW))
    assert suite.folds["1-3"] == {
        "train": ("abstract->title+category", "title->keywords"),
        "test": ("abstract+discipline->keywords",),
    }
    assert suite.folds_with("abstract->category") == ("2-1", "3-2")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("abstract->keyword => abstract->title", "partition 'mine': unknown field: 'keyword'; did you mean keywords?"),
        ("abstract->keywords", "partition 'mine': a partition must be META, META => TARGET"),
        ("=> abstract->title", "a partition must be META, META => TARGET"),
        ("abstract->title => abstract->title", "the tasks of a partition must differ"),
        ("title->title => abstract->title", "a task of a partition must not ask for its inputs"),
        ("title => abstract->title", "not a field task"),
    ],
)
def test_a_partition_that_is_none_is_refused(tmp_path: Path, text: str, message: str):
    with pytest.raises(UsageError) as refused:
        build(write_jsonl(tmp_path / "r.jsonl", ROW), partitions={"mine": text})
    assert message in str(refused.value)


def test_partitions_of_ones_own_take_the_place_of_the_published(tmp_path: Path):
    own = {"mine": "discipline + abstract -> keywords => title->category"}
    suite = build(write_jsonl(tmp_path / "r.jsonl", ROW), partitions=own)
    assert suite.folds == {"mine": {"train": ("abstract+discipline->keywords",), "test": ("title->category",)}}


def test_partitions_have_names_each_its_own(tmp_path: Path, taskloom):
    source = str(write_jsonl(tmp_path / "r.jsonl", ROW))
    for given in (["=title->category => abstract->title"], ["abstract->keywords => abstract->title"], ["a=x", "a=y"]):
        options = [word for text in given for word in ("--partition", text)]
        assert taskloom("build", "csl", source, *options, "-o", tmp_path / "suite").code == 2
