"""Tables whose columns are guessed: the command that is printed builds the same suite."""

from __future__ import annotations

import gzip
import json
import shlex
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from taskloom.benchmarks import build
from taskloom.benchmarks.auto import Auto
from taskloom.errors import SourceError, UsageError
from taskloom.suites.store import open_suite

ROWS = [
    {"id": f"r{n}", "text": f"row number {n} speaks of its own affairs", "label": "xyz"[n % 3], "score": n / 4}
    for n in range(30)
]  # fmt: skip
KINDS = {"text": "text", "label": "label", "score": "number"}


def csv(path: Path, delimiter: str = ",", encoding: str = "utf-8", rows=ROWS) -> Path:
    lines = [delimiter.join(rows[0]), *(delimiter.join(str(value) for value in row.values()) for row in rows)]
    path.write_bytes("\n".join(lines).encode(encoding))
    return path


def kinds(of: Auto) -> dict[str, str]:
    return {f.name: f.kind for f in of.options.fields}


def test_all_kinds_of_files_are_read(tmp_path: Path):
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    (tmp_path / "t.json").write_text(json.dumps(ROWS))
    (tmp_path / "lines.json").write_text("\n".join(map(json.dumps, ROWS)))
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "t.parquet")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(csv(tmp_path / "t.csv").read_bytes()))
    csv(tmp_path / "t.tsv", "\t")
    csv(tmp_path / "semicolons.csv", ";")
    fingerprints = {}
    for path in sorted(tmp_path.iterdir()):
        of = Auto(files=(str(path),))
        assert kinds(of) == KINDS, path
        assert of.options.id_column == "id"
        fingerprints[path.name] = of.build().fingerprint
    assert len(fingerprints) == 8
    assert len(set(fingerprints.values())) == 1


def test_the_encoding_is_guessed(tmp_path: Path):
    rows = [{**row, "text": f"{row['text']} b\u00e4h"} for row in ROWS]
    of = Auto(files=(str(csv(tmp_path / "t.csv", encoding="latin-1", rows=rows)),))
    assert of.options.file_encoding == "latin-1"
    assert "b\u00e4h" in of.build().pools["text->label"]["all"].take([0])[0].item.fields["text"]
    assert "--file-encoding latin-1" in of.command("s")


def test_the_command_builds_the_same_suite(tmp_path: Path, taskloom, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [{"my/id": f"r{n}", "a text": row["text"], "tags": "a|b" if n % 2 else "b|c|d", "label": row["label"],
             "part": "train" if n < 20 else "validation"} for n, row in enumerate(ROWS)]  # fmt: skip
    csv(tmp_path / "my data.csv", rows=rows)
    done = taskloom("build", "auto", "my data.csv", "-o", "guessed")
    assert done.code == 0
    shown = taskloom("build", "auto", "my data.csv", "--dry-run", "-o", "typed")
    (command,) = shown.out.splitlines()
    words = shlex.split(command)
    assert words[:4] == ["taskloom", "build", "fields", "my data.csv"]
    assert not (tmp_path / "typed").exists()
    assert taskloom(*words[1:]).code == 0
    typed = open_suite(tmp_path / "typed")
    assert typed.fingerprint == open_suite(tmp_path / "guessed").fingerprint
    assert {name: len(pool) for name, pool in typed.pools["a text->label"].items()} == {"train": 20, "test": 10}


def test_files_of_a_split_are_known_by_their_names(tmp_path: Path):
    files = [
        csv(tmp_path / f"news_{name}.csv", rows=ROWS[start::3]) for start, name in enumerate(("train", "val", "test"))
    ]
    of = Auto(files=tuple(map(str, reversed(files))))
    assert (of.options.train, of.options.dev, of.options.test) == tuple((str(file),) for file in files)
    assert of.name == "news"
    assert [*of.build().pools["text->label"]] == ["train", "dev", "test"]


def test_files_that_do_not_say_what_they_are_are_refused(tmp_path: Path, refused):
    files = [str(csv(tmp_path / name)) for name in ("a.csv", "b.csv")]
    with refused(UsageError, "guess-files", files=files):
        Auto(files=tuple(files)).build()


def test_a_table_without_two_fields_is_refused_with_what_was_guessed(tmp_path: Path, refused):
    (tmp_path / "t.csv").write_text("id,text\n1,one text of some words\n2,another text of other words\n")
    with pytest.raises(SourceError) as told:
        Auto(files=(str(tmp_path / "t.csv"),)).build()
    assert told.value.note.code == "guess-too-few"
    assert len(told.value.faults) == 2
    with pytest.raises(UsageError):
        Auto().build()


def test_columns_beyond_the_most_useful_are_not_used(tmp_path: Path):
    rows = [{f"n{at}": n + at / 10 for at in range(9)} | {"text": row["text"], "label": row["label"]}
            for n, row in enumerate(ROWS)]  # fmt: skip
    of = Auto(files=(str(csv(tmp_path / "t.csv", rows=rows)),))
    assert sorted(kinds(of)) == ["label", "n0", "n1", "n2", "text"]
    assert sum(one.why.code == "guess-beyond" for one in of.guesses) == 6


def test_it_is_built_from_python_too(tmp_path: Path):
    assert len(build("auto", str(csv(tmp_path / "t.csv"))).tasks) == 12


REAL = {
    "labelled/cr.jsonl": {"text": "text", "label": "label"},
    "labelled/mr.jsonl": {"text": "text", "label": "label"},
    "labelled/reuters_ds31.jsonl": {"text": "text", "label": "label"},
    "labelled/trec_test.jsonl": {"text": "text", "label": "label", "fine": "label"},
    "labelled/conllpp_3720.jsonl": {"tokens": "list", "tags": "list"},
    "pairs/rte_test.jsonl": {"text1": "text", "text2": "text", "label": "label"},
    "pairs/mrpc_test.jsonl": {"text1": "text", "text2": "text", "label": "label"},
    "pairs/scitail_5k.jsonl": {"text1": "text", "text2": "text", "label": "label"},
    "scholarly/citation_intent_test.jsonl": {"text": "text", "label": "label"},
    "scholarly/acl_anthology_1000.jsonl": {"title": "text", "abstract": "text", "volume": "label", "authors": "list"},
    "csl/records.jsonl": {
        "title": "text", "abstract": "text", "keywords": "list", "category": "label", "discipline": "label",
    },
    "zh/csldcp_train_few_all.json": {"content": "text", "label": "label"},
    "zh/packages_zh.jsonl": {"title": "text", "abstract": "text", "keywords": "list", "category": "label"},
}  # fmt: skip


@pytest.mark.parametrize("name", REAL)
def test_real_tables_are_guessed_as_a_person_would(real_data: Path, name: str):
    of = Auto(files=(str(real_data / name),))
    assert kinds(of) == REAL[name]
    assert (of.options.language == "zh") == (name.startswith(("csl/", "zh/")))


def test_a_real_split_in_three_files_is_built(real_data: Path):
    files = [str(real_data / f"scholarly/citation_intent_{pool}.jsonl") for pool in ("dev", "test", "train")]
    suite = build("auto", files)
    assert suite.id == "citation_intent"
    assert {name: len(pool) for name, pool in suite.pools["text->label"].items()} == {
        "train": 1688, "dev": 114, "test": 139,
    }  # fmt: skip


def test_a_file_without_rows_is_named(tmp_path: Path):
    (tmp_path / "t.csv").write_text("text,label\n")
    with pytest.raises(SourceError, match=r"no rows.*t\.csv"):
        Auto(files=(str(tmp_path / "t.csv"),)).build()
