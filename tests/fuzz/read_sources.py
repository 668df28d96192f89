"""Readers of data: tables, task files, splits, labelled and document layouts, judgements, vectors, facts, archives."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import os
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from taskloom.benchmarks import scirepeval
from taskloom.benchmarks.auto import Auto
from taskloom.benchmarks.data_sets import own_declaration
from taskloom.benchmarks.document_sets import DeclaredTask, TaskReader, declarations, own_declarations
from taskloom.benchmarks.labelled import LabelledSets, known_sets
from taskloom.errors import TaskloomError
from taskloom.sources import archives, files, labelled, task_files, trec, triples
from taskloom.sources.embeddings import read_embeddings
from taskloom.sources.files import RowFaults
from taskloom.sources.guess import guess
from taskloom.sources.parquet import LimitedParquet
from taskloom.sources.splits import Split
from taskloom.sources.table import Field, gather, parse_field
from taskloom.suites import contributed
from taskloom.suites.functions import layout as function_files

from .mutate import Case
from .reader import Reader, text_in

DATA = Path(os.environ.get("TASKLOOM_TEST_DATA") or Path(__file__).parents[3] / "shared" / "data")
REAL_BYTES = 6000  # of the beginning of a real file
MOST_TAKEN = 200  # rows of each of up to 180 pools
FIELDS = (
    Field("title", "text"),
    Field("text", "text"),
    Field("kind", "label"),
    Field("terms", "list"),
    Field("year", "number"),
)
ROWS = [
    {"id": "a", "title": "On trees", "kind": "wood", "terms": "oak; elm", "year": "2001", "split": "train"},
    {"id": "b", "title": 'On "owls"', "kind": "wing", "terms": '["owl", "kite"]', "year": "2002", "split": "test"},
    {"id": "c", "title": "关于鱼", "kind": "fin", "terms": "", "year": "", "split": "dev"},
]  # fmt: skip
CSV = 'id,title,kind,terms,year,split\na,On trees,wood,"oak; elm",2001,train\nb,"On ""owls""",wing,"[""owl""]",2,test\n'


def real(*patterns: str) -> list[Case]:
    """Give the beginnings of real files, where they are found."""
    found = [path for pattern in patterns for path in sorted(DATA.glob(pattern))[:2]]
    return [{path.name: path.read_bytes()[:REAL_BYTES].rpartition(b"\n")[0] + b"\n"} for path in found]


def lines(*rows: Any) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


# --- tables ----------------------------------------------------------------------------------------------------------


def _table(folder: Path) -> None:
    """Read a table in all ways: as guessed, by fields, by a split, and as a build does."""
    (path,) = folder.iterdir()
    layout = files.likely_layout(path)
    rows = list(files.read(path, RowFaults("skip"), layout))
    guess(row for _, row in rows)
    seen = {name for _, row in rows for name in row}
    of = [field for field in FIELDS if field.name in seen] or FIELDS[:1]
    gather(files.read(path, RowFaults("skip"), layout), of, RowFaults("skip"), id_column="id" if "id" in seen else "")
    gather(files.read(path, RowFaults("skip")), of, RowFaults("skip"))


def _built(folder: Path) -> None:
    (path,) = folder.iterdir()
    suite = Auto(files=(str(path),), on_error="skip").build()
    for pools in suite.pools.values():
        for pool in pools.values():
            pool.take(range(min(len(pool), MOST_TAKEN)))


def _csv_seeds() -> Sequence[Case]:
    odd = "id;title\n1;x\n"
    return [{"t.csv": CSV.encode()}, {"t.csv": odd.encode()}, *real("pairs/**/*.csv")]


def _parquet_seeds() -> Sequence[Case]:
    day = date(2024, 1, 2)
    zone = pa.timestamp("us", tz="Europe/Berlin")
    tables = [
        pa.Table.from_pylist(ROWS),
        pa.table(
            {"id": ["a", "b"], "title": ["x", "y"], "kind": ["p", "q"], "terms": [["m"], []], "year": [1.5, None]}
        ),
        pa.table({"id": [1, 2], "day": pa.array([2932897, 0], pa.date32()), "title": ["x", "y"]}),
        pa.table({"id": [1], "at": pa.array([1 << 62], pa.timestamp("us")), "kind": ["x"]}),
        pa.table({"id": [1], "at": pa.array([0], pa.timestamp("us", tz="Mars/Olympus")), "kind": ["x"]}),
        pa.table({"id": [1], "at": pa.array([datetime(2024, 1, 1, tzinfo=UTC)], zone), "day": [day], "raw": [b"\xff"]}),
        pa.table({"id": [1], "nested": [{"a": [1, 2], "b": {"c": None}}], "d": pa.array([1 << 40], pa.duration("s"))}),
        pa.table({"id": pa.array(["a"]).dictionary_encode(), "title": pa.array([10**30], pa.decimal128(38, 0))}),
    ]
    return [{"t.parquet": _parquet(table)} for table in tables]


def _parquet(table: pa.Table, **options: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out, **options)
    return out.getvalue()


def _packed_seeds() -> Sequence[Case]:
    """Columns in every encoding, with dictionaries and without, in lists and structs."""
    words = [f"w{number % 7}" for number in range(400)]
    inner = [{"k": word, "n": [1.5]} if at % 3 else None for at, word in enumerate(words)]
    table = pa.table({"a": words, "l": [words[: at % 4] for at in range(400)], "s": inner, "n": range(400)})
    options: Sequence[dict[str, Any]] = [
        {"compression": "zstd"}, {"compression": "none", "data_page_version": "2.0"},
        {"use_dictionary": False, "column_encoding": {"a": "DELTA_BYTE_ARRAY", "l.list.element": "DELTA_BYTE_ARRAY"}},
        {"use_dictionary": False, "column_encoding": {"a": "DELTA_LENGTH_BYTE_ARRAY"}, "row_group_size": 150},
    ]  # fmt: skip
    return [{"t.parquet": _parquet(table, **one)} for one in options]


def _measured(folder: Path) -> None:
    """Count what a file unpacks to, text by text, as if it could be much."""
    (path,) = folder.iterdir()
    with suppress(pa.ArrowException, OSError, ValueError, LookupError):
        limited = LimitedParquet(path)
        limited.most = 40_000
        limited.unpacked(range(limited.file.num_row_groups))


def _split(folder: Path) -> None:
    (path,) = folder.iterdir()
    split, dropped = Split("split", {"fold 1": "train"}), Counter[Any]()
    list(split.rows(files.read(path, RowFaults("skip")), "", dropped))


# --- task files and declarations -------------------------------------------------------------------------------------

TASK = {
    "Contributors": ["x"], "Source": ["made"], "URL": [], "Categories": ["Title Generation"], "Reasoning": [],
    "Definition": ["Say it."], "Input_language": ["English"], "Output_language": ["English"],
    "Instruction_language": ["English"], "Domains": ["Books"],
    "Positive Examples": [{"input": "a", "output": "b", "explanation": "c"}],
    "Negative Examples": [{"input": "a", "output": ["d"], "explanation": "c"}],
    "Instances": [{"id": "task1-1", "input": "x", "output": ["y"]}, {"id": "task1-2", "input": "z", "output": "y"}],
    "Instance License": ["CC0"],
}  # fmt: skip


def _task_seeds() -> Sequence[Case]:
    task = json.dumps(TASK).encode()
    whole = {
        "tasks/task1.json": task,
        "splits/default/train_tasks.txt": b"task1\n",
        "splits/default/test_tasks.txt": b"task2",
    }
    return [{"task1.json": task}, whole, *real("superni/**/task*.json")[:2]]


def _tasks(folder: Path) -> None:
    list(contributed.check(folder))
    task_files.read(folder)


def _functions_seeds() -> Sequence[Case]:
    words = {"inputs": ["hot"], "all_tgts": ["cold", "cool"], "train_tgts": "cold"}
    row = lines(words, {"inputs": ["big"], "all_tgts": ["small"]})
    facts = lines({"inputs": [{"Qid": "Q1", "ent_name": "Bach"}], "all_tgts": [{"Qid": "Q2", "ent_name": "x"}]})
    listed = lines({"inputs": [["hot", "big"]], "all_tgts": [["cold"], ["small"]], "train_tgts": [["cold", "small"]]})
    return [
        {"antonyms[eng](0)/train.jsonl": row, "antonyms[eng](0)/test.jsonl": row},
        {"mother(0)/train.jsonl": facts, "mother(0)/dev.jsonl": facts},
        {"map{antonyms[eng](0)}(S)/train.jsonl": listed, "map{antonyms[eng](0)}(S)/test.jsonl": listed},
    ]


def _declaration_seeds() -> Sequence[Case]:
    table = lines({"text": "a b", "label": "x"}, {"text": "c", "label": "y"})
    yaml = b"name: mine\nfrom: [rows.jsonl]\nform: single\nlabels: 1/0/1\ncolumns: {text: text}\nnames: {x: good}\n"
    toml = b'name = "mine"\nfrom = ["rows.jsonl"]\nform = "single"\n'
    like = b"like: trec\nfrom: rows.jsonl\n"
    return [{"d.yaml": yaml, "rows.jsonl": table}, {"d.toml": toml, "rows.jsonl": table}, {"d.yaml": like}]


def _declaration(folder: Path) -> None:
    for path in sorted(folder.glob("d.*")):
        own_declaration(path, known_sets())
        LabelledSets(files=(str(path),), on_error="skip").build()


# --- labelled layouts ------------------------------------------------------------------------------------------------

RELATION = {"tokens": ["A", "of", "B"], "h": ["A", "Q", [[0]]], "t": ["B", "Q", [[2]]]}
LAYOUTS: Sequence[tuple[str, str, str, bytes]] = [  # reader, form, file, content
    ("table", "pair", "train.tsv", b"sentence1\tsentence2\tlabel\na b\tc d\tyes\n"),
    ("table", "entity", "train.jsonl", lines({"tokens": ["EU", "rejects"], "ner_tags": [3, 0]})),
    ("table", "relation", "t.jsonl", lines(RELATION)),
    ("lines", "single", "pos.txt", "好 film\nbad film\n".encode()),
    ("labelled-lines", "single", "TREC_10.label", b"DESC:manner How did it ?\nNUM:date When ?\n"),
    ("document", "document", "59225", b"From: x\n\nA text.\n"),
    ("conll", "entity", "eng.testa", b"-DOCSTART- O\n\nEU NNP B-ORG\nsays VB O\n\nBonn NNP B-LOC\n"),
    ("fewrel", "relation", "fewrel.json", json.dumps({"P1": [RELATION]}).encode()),
    ("opinions", "single", "camera.txt", b"size[+2], price[-1]##It is small.\n##none\n"),
]  # fmt: skip


def _layout_seeds() -> Sequence[Case]:
    own = [{f"{reader}~{form}/{name}": data} for reader, form, name, data in LAYOUTS]
    names = json.dumps({"P1": ["mother", "of"]}).encode()
    return [*own, {**own[7], "fewrel~relation/pid2name.json": names}]


def _layout(folder: Path) -> None:
    for place in sorted(folder.iterdir()):
        reader, _, form = place.name.partition("~")
        paths = {path: name for path, name in labelled.paths_in(place).items() if path.name != labelled.RELATION_NAMES}
        found = labelled.Found(labelled.Files(match=("*",), reader=reader), paths)
        for _, row in labelled.rows_of_files(found, form, RowFaults("skip")):
            labelled.guessed_form(row)


# --- documents -------------------------------------------------------------------------------------------------------


def _document_seeds() -> Sequence[Case]:
    document = {"doc_id": "d1", "title": "On elms", "abstract": "Elms.", "label": "trees", "year": "2024-01-02"}
    candidates = [{"corpus_id": 1, "title": "A", "score": 1}, {"corpus_id": 2, "title": "B", "score": 0}]
    author = {"first": "Ann", "last": "Lee", "given_block": "a lee", "affiliations": ["X"], "coauthors": "y; z"}
    signature = {"signature_id": 1, "paper_id": 7, "author_info": author, "cluster_id": "c"}
    mdcr = {"Biology": {"q1": {"true": [1, 2], "bm25": [3]}}}
    qrels = b"q1 0 d1 1\nq1 0 d2 0\n"
    return [
        {"train.jsonl": lines(document, {"paper_id": "d2", "label": '["a", "b"]'}), "test.qrels": qrels},
        {"search.jsonl": lines({"doc_id": "q", "query": "elms", "candidates": candidates})},
        {"near.jsonl": lines({"query": {"corpus_id": 9, "title": "Q"}, "candidates": candidates})},
        {"triplets.jsonl": lines({"query": candidates[0], "pos": candidates[1], "neg": {"sha": "x", "title": "y"}})},
        {"hard.jsonl": lines({"r_id": "r", "papers": [1, 2]}, {"query_id": "q", "cand_id": "r", "score": 1})},
        {"aminer_signatures.json": json.dumps({"1": signature, "2": signature | {"signature_id": 2}}).encode()},
        {"clusters.json": json.dumps({"c": {"cluster_id": "c", "signature_ids": ["1", "2"]}}).encode()},
        {"mdcr.json": json.dumps(mdcr).encode()},
        *real("scirepeval/**/*.jsonl", "scirepeval/**/*.json"),
    ]


@cache
def _known_tasks() -> dict[str, DeclaredTask]:
    return declarations(Path(scirepeval.__file__).with_name("tasks.toml"))


def _each_kind(folder: Path) -> None:
    """Read documents as tasks of each kind do."""
    by_kind = {of.kind: of for of in _known_tasks().values()}
    for kind in sorted(by_kind):
        _quietly(partial(TaskReader("skip").content_of, by_kind[kind], [str(folder)]))


def _quietly(call: Callable[[], object]) -> None:
    with suppress(TaskloomError):
        call()


def _document_declaration_seeds() -> Sequence[Case]:
    config = {
        "name": "Mine", "type": "classification",
        "data": {"meta": "docs.jsonl", "test": {"name": "a/b", "config": "c"}},
        "metrics": ["f1_macro", "ndcg_cut_10"], "few_shot": [{"sample_size": 8, "iterations": 2}], "multi_label": False,
    }  # fmt: skip
    yaml = b"kind: classification\nfrom: [docs.jsonl]\nlabel: label\nfew_shot: {8: 2}\nfields: [title]\n"
    many = b"kind: classification\nfrom: [docs.jsonl]\ntasks: {a: {label: x}, b: {label: y, where: {k: 1}}}\n"
    return [{"t.yaml": yaml}, {"t.yaml": many}, {"t.jsonl": lines(config)}, {"t.json": json.dumps([config]).encode()}]


def _document_declaration(folder: Path) -> None:
    (path,) = folder.iterdir()
    own_declarations(path, _known_tasks())


# --- judgements, vectors, facts --------------------------------------------------------------------------------------

NT = b'<urn:x:1> <http://www.w3.org/2000/01/rdf-schema#label> "Bach"@en .\n<urn:x:1> <urn:p:2> <urn:x:2> .\n'
TTL = b'@prefix x: <urn:x:> .\nx:1 x:p "a"@en ; x:q [ x:r 1, 2.5, true ] .\n'
FACTS = b"subject,property,object,language,subject label\nAnne Boleyn,mother,Elizabeth,,Anne\nQ5,P25,urn:x:1,en,\n"


def _snak(kind: str, value: Any) -> dict[str, Any]:
    return {"snaktype": "value", "datavalue": {"type": kind, "value": value}}


ENTITY: dict[str, Any] = {
    "id": "Q1", "labels": {"en": {"language": "en", "value": "Bach"}},
    "claims": {"P25": [
        {"rank": "normal", "mainsnak": _snak("wikibase-entityid", {"id": "Q2"})},
        {"mainsnak": _snak("monolingualtext", {"text": "x", "language": "en"})},
        {"mainsnak": _snak("quantity", {"amount": "+1"})},
        {"mainsnak": {"snaktype": "novalue"}},
    ]},
}  # fmt: skip


def _triple_seeds() -> Sequence[Case]:
    return [
        {"f.nt": NT}, {"f.ttl": TTL}, {"f.csv": FACTS}, {"f.jsonl": lines(ENTITY)},
        {"f.json": json.dumps([ENTITY]).encode()}, {"f.nt.gz": gzip.compress(NT, mtime=0)},
        {"f.ttl": b"@prefix : <urn:x:> . :a :b <<( :a :b <<( :a :b (:c [ :d 'e' ]) )>> )>> . << :a :b :c >> :d 'e' ."},
    ]  # fmt: skip


def _only(call: Callable[[Path], Any]) -> Callable[[Path], object]:
    """Read the only file of an input to its end."""

    def reading(folder: Path) -> object:
        (path,) = folder.iterdir()
        found = call(path)
        return list(found) if hasattr(found, "__iter__") else found

    return reading


def _vector_seeds() -> Sequence[Case]:
    rows = [{"doc_id": "a", "embedding": [0.1, 0.2]}, {"doc_id": "b", "embedding": [1, -2.5]}]
    table = pa.table({"doc_id": ["a", "b"], "embedding": [[0.5, 1.0], [2.0, 3.0]]})
    return [
        {"v.jsonl": lines(*rows)},
        {"v.parquet": _parquet(table)},
        {"v.jsonl.gz": gzip.compress(lines(*rows), mtime=0)},
    ]


# --- archives --------------------------------------------------------------------------------------------------------


def _archive_seeds() -> Sequence[Case]:
    zipped, tarred = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("data/papers.csv", "data/b.csv"):
            archive.writestr(zipfile.ZipInfo(name), CSV * 20, zipfile.ZIP_DEFLATED)
    with tarfile.open(fileobj=tarred, mode="w") as tar:
        for name in ("data/papers.csv", "data/b.csv"):
            info = tarfile.TarInfo(name)
            info.size = len(CSV)
            tar.addfile(info, io.BytesIO(CSV.encode()))
    return [
        {"archive": zipped.getvalue()},
        {"archive": tarred.getvalue()},
        {"archive": gzip.compress(tarred.getvalue(), mtime=0)},
    ]


def _archive(folder: Path) -> None:
    archives.unpack(folder / "archive", ("data/*.csv",), folder / "unpacked")


READERS = {
    "csv": Reader(_csv_seeds, _table),
    "csv built": Reader(_csv_seeds, _built, tests=40),
    "tsv": Reader(lambda: [{"t.tsv": CSV.replace(",", "\t").encode()}, *real("csl/benchmark/*/dev.tsv")], _table),
    "jsonl": Reader(lambda: [{"t.jsonl": lines(*ROWS)}, *real("csl/records.jsonl", "fewrel/*.jsonl")], _table),
    "json": Reader(lambda: [{"t.json": json.dumps(ROWS).encode()}, {"t.json": lines(*ROWS)}], _table),
    "text": Reader(lambda: [{"t.txt": "One.\n\nTwo\nthree. 标题\n".encode()}], _table),
    "parquet": Reader(_parquet_seeds, _table),
    "parquet measured": Reader(_packed_seeds, _measured),
    "compressed": Reader(
        lambda: [{"t.csv.gz": gzip.compress(CSV.encode(), mtime=0)}, {"t.jsonl.bz2": bz2.compress(lines(*ROWS))}],
        _table,
    ),
    "split column": Reader(lambda: [{"t.jsonl": lines(*ROWS)}, {"t.csv": CSV.encode()}], _split),
    "task files": Reader(_task_seeds, _tasks),
    "function files": Reader(_functions_seeds, function_files.read),
    "declared data sets": Reader(_declaration_seeds, _declaration),
    "labelled layouts": Reader(_layout_seeds, _layout),
    "document layouts": Reader(_document_seeds, _each_kind),
    "declared documents": Reader(_document_declaration_seeds, _document_declaration),
    "qrels": Reader(
        lambda: [
            {"a.qrels": b"q1 0 d1 1\nq1 0 d2 0\n"},
            {"a.jsonl": lines({"query_id": 1, "cand_id": "d", "score": 2})},
        ],
        _only(trec.read_qrels),
    ),
    "runs": Reader(lambda: [{"a.run": b"q1 Q0 d1 1 2.5 me\nq1 Q0 d2 2 1.5 me\n"}], _only(trec.read_run)),
    "embeddings": Reader(_vector_seeds, _only(read_embeddings)),
    "triples": Reader(_triple_seeds, _only(triples.read)),
    "archives": Reader(_archive_seeds, _archive),
    "fields": Reader(
        lambda: [{"x": b"keywords:list:Key words"}, {"x": b"id:text"}], lambda folder: parse_field(text_in(folder))
    ),
}
