from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import pytest

from taskloom.benchmarks import build as made
from taskloom.episodes import Sampler, draw, episode
from taskloom.errors import SourceError, UsageError
from taskloom.sources.table import Field
from taskloom.studies.api import run
from taskloom.suites import store
from taskloom.suites.build import TableOptions, field_suite
from taskloom.suites.check import check

FIELDS = (Field("title", "text", "title"), Field("category", "label", "category"))


def build(source: Path, **reading: object):
    return field_suite(TableOptions(source=str(source), fields=FIELDS, **reading), id="s")  # type: ignore[arg-type]


def test_labels_can_come_from_a_map_of_venues(tmp_path: Path):
    (tmp_path / "papers.csv").write_text("title,journal\nOn trees,Forest Letters\nOn cod,Sea News\nOn x,Unknown\n")
    (tmp_path / "venues.csv").write_text("journal,category\nForest Letters,Botany\nSea News,Zoology\n")
    suite = build(tmp_path / "papers.csv", venues=str(tmp_path / "venues.csv"))
    gold = [example.gold[0] for example in suite.pools["title->category"]["all"].take([0, 1])]
    assert gold == ["Botany", "Zoology"]
    assert suite.about["dropped"] == [{"code": "row-unmapped", "values": {"column": "journal"}, "count": 1}]


def test_a_map_of_venues_needs_labels(tmp_path: Path):
    (tmp_path / "papers.csv").write_text("title,journal\nOn trees,Forest Letters\n")
    (tmp_path / "venues.csv").write_text("journal\nForest Letters\n")
    with pytest.raises(SourceError, match="venues needs a column of names"):
        build(tmp_path / "papers.csv", venues=str(tmp_path / "venues.csv"))


def test_rows_can_be_chosen_by_a_column_and_the_others_are_counted(tmp_path: Path):
    (tmp_path / "t.csv").write_text("title,category,language\na,x,en\nb,y,zh\nc,x,en\n")
    suite = build(tmp_path / "t.csv", where={"language": "en"})
    assert len(suite.pools["title->category"]["all"]) == 2
    assert suite.about["dropped"] == [{"code": "row-filtered", "values": {"where": ["language=en"]}, "count": 1}]


def test_what_is_skipped_is_counted_and_named(tmp_path: Path):
    (tmp_path / "t.csv").write_text("title,category\na,x\nb,y,z\n")
    with pytest.raises(SourceError, match=r"t\.csv:3: 3 cells, the header has 2"):
        build(tmp_path / "t.csv")
    suite = build(tmp_path / "t.csv", on_error="skip")
    assert suite.about["dropped"] == [{"code": "row-faulty", "values": {}, "count": 1}]
    assert suite.about["faults"] == ["t.csv:3: 3 cells, the header has 2"]


@pytest.mark.parametrize("rows", [500_000, 10_000_000])
def test_short_rows_that_are_packed_to_nothing_are_refused_before_any_is_kept(tmp_path: Path, rows: int):
    """Rows of four bytes take a hundred times that once they are parsed."""
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"title,category\n" + b"a,b\n" * rows))
    tracemalloc.start()
    with pytest.raises(SourceError, match=r"t\.csv\.gz:1: can't be read further \(it unpacks to more than"):
        build(tmp_path / "t.csv.gz")
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


def test_half_characters_are_replaced_and_their_rows_counted(tmp_path: Path):
    rows = [r'{"title": "a\ud83c", "category": "x"}', r'{"title": "\ud83c\udf33", "category": "y"}']
    (tmp_path / "t.jsonl").write_text("\n".join(rows), encoding="utf-8")
    suite = build(tmp_path / "t.jsonl")
    examples = suite.pools["title->category"]["all"].take([0, 1])
    assert [example.item.fields["title"] for example in examples] == ["a\ufffd", "🌳"]
    assert suite.about["dropped"] == [{"code": "row-surrogates", "values": {}, "count": 1}]


def test_one_field_makes_no_suite(tmp_path: Path):
    with pytest.raises(UsageError, match="at least two fields"):
        field_suite(TableOptions(source="x.csv", fields=FIELDS[:1]), id="s")


# --- splits ----------------------------------------------------------------------------------------------------------

ROWS = "title,category,part\n" + "".join(
    f"title {n},{'xy'[n % 2]},{'train' if n < 12 else 'validation' if n < 16 else 'test'}\n" for n in range(24)
)


def test_a_split_column_makes_the_pools_that_studies_draw_from(tmp_path: Path):
    (tmp_path / "t.csv").write_text(ROWS)
    suite = made("fields", str(tmp_path / "t.csv"), fields=["title:text", "category:label"], split="part")
    pools = suite.pools["title->category"]
    assert {name: len(pool) for name, pool in pools.items()} == {"train": 12, "dev": 4, "test": 8}
    drawn = draw(suite, "title->category", Sampler(shots=2, dev=4, query=8))
    assert drawn.pools == {"support": "train", "dev": "dev", "query": "test"}
    trial = episode(suite, drawn)
    assert {int(e.item.id) for e in trial.support} <= {*range(1, 13)}
    assert {int(e.item.id) for e in trial.dev} == {13, 14, 15, 16}
    assert {int(e.item.id) for e in trial.query} == {*range(17, 25)}


def test_files_make_the_same_suite_as_a_column(tmp_path: Path):
    (tmp_path / "t.csv").write_text(ROWS)
    header, *lines = ROWS.splitlines()
    for name, start, end in (("train", 0, 12), ("dev", 12, 16), ("test", 16, 24)):
        (tmp_path / f"{name}.csv").write_text("\n".join([header, *lines[start:end]]))
    fields = ["title:text", "category:label"]
    by_column = made("fields", str(tmp_path / "t.csv"), fields=fields, split="part")
    files = {name: str(tmp_path / f"{name}.csv") for name in ("train", "dev", "test")}
    assert made("fields", fields=fields, **files).fingerprint == by_column.fingerprint


def test_a_suite_with_splits_is_written_opened_and_checked(tmp_path: Path):
    (tmp_path / "t.csv").write_text(ROWS)
    suite = made("fields", str(tmp_path / "t.csv"), fields=["title:text", "category:label"], split="part")
    opened = store.write(suite, tmp_path / "s")
    assert opened.fingerprint == suite.fingerprint
    assert not list(check(opened))
    taken = opened.pools["title->category"]["dev"].take([0, 3])
    assert [example.item.fields["title"] for example in taken] == ["title 12", "title 15"]


def test_another_split_of_the_same_rows_is_another_suite(tmp_path: Path):
    (tmp_path / "a.csv").write_text(ROWS)
    (tmp_path / "b.csv").write_text(ROWS.replace("validation", "train"))
    fields = ["title:text", "category:label"]
    suites = [made("fields", str(tmp_path / name), fields=fields, split="part") for name in ("a.csv", "b.csv")]
    plain = [made("fields", str(tmp_path / name), fields=fields) for name in ("a.csv", "b.csv")]
    assert suites[0].digest("title->category") != suites[1].digest("title->category")
    assert plain[0].fingerprint == plain[1].fingerprint
    assert [*plain[0].pools["title->category"]] == ["all"]


def test_an_id_in_two_files_is_named_with_their_pools(tmp_path: Path):
    for name in ("train", "test"):
        (tmp_path / f"{name}.csv").write_text("id,title,category\n0,a,x\n1,b,y\n")
    files = {name: str(tmp_path / f"{name}.csv") for name in ("train", "test")}
    with pytest.raises(SourceError) as told:
        made("fields", fields=["title:text", "category:label"], id_column="id", **files)
    assert told.value.faults[0].startswith("id 0: duplicate id, 2 times, in test and train")


def test_a_study_can_build_with_a_split(tmp_path: Path):
    (tmp_path / "t.csv").write_text(ROWS)
    text = "name: s\nsuite: {build: fields, from: t.csv, fields: [title:text, category:label], split: part}\n"
    text += "protocol: {shots: [2], seeds: 1, query: all}\nlearners: {majority: {}}\n"
    (tmp_path / "study.yaml").write_text(text)
    results = run(tmp_path / "study.yaml", tmp_path / "run", only=["title->category"])
    assert {len(outcome.items) for outcome in results.outcomes if outcome.learner == "majority"} == {8}


# --- files that can't be read ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [("t.csv", b"title,category\n", "no-rows"), ("t.tsv", b"title\tcategory\n", "no-rows"),
     ("t.jsonl", b"\n\n", "no-rows"), ("t.csv", b"title,categroy\na,x\n", "error"), ("t.csv", b"", "file-empty"),
     ("t.csv", "title,category\nb\u00e4h,x\n".encode("latin-1"), "error")],
)  # fmt: skip
def test_every_error_names_the_file(tmp_path: Path, name: str, content: bytes, code: str):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SourceError) as told:
        build(tmp_path / name)
    assert name in str(told.value)
    reason = dict(told.value.note.values).get("reason", told.value.note)
    assert reason.code == code


def test_of_several_files_the_one_at_fault_is_named(tmp_path: Path):
    (tmp_path / "a.csv").write_text("title,category\na,x\nb,y\n")
    (tmp_path / "b.csv").write_text("title\na\n")
    with pytest.raises(SourceError, match=r"unknown column: 'category'.*b\.csv"):
        made(
            "fields",
            fields=["title:text", "category:label"],
            train=str(tmp_path / "a.csv"),
            test=str(tmp_path / "b.csv"),
        )
