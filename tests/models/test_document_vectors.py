"""Vectors of a file of documents: ids kept, texts as `represent` joins them, nothing dropped in silence."""

from __future__ import annotations

import errno
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from taskloom.errors import ModelError, SourceError, UnknownNameError, UsageError
from taskloom.folders import output_scratch
from taskloom.models.document_vectors import DocumentFile, encode_file, writer_for
from taskloom.models.load import source
from taskloom.sources.document_rows import Columns
from taskloom.sources.embeddings import read_embeddings

if TYPE_CHECKING:
    from ..conftest import Refused

DOCUMENTS: list[dict[str, Any]] = [
    {"doc_id": 7, "title": "On elms", "abstract": "Elms are trees."},
    {"doc_id": "b", "title": "On owls", "abstract": None, "year": 1999},
    {"doc_id": "ü", "title": "On elms", "abstract": "Elms are trees."},
]
TEXTS = ["On elms\nElms are trees.", "On owls", "On elms\nElms are trees."]
BAG = source("fake:bag")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TASKLOOM_CACHE", str(tmp_path / "cache"))


def lines(folder: Path, rows: list[dict[str, Any]]) -> DocumentFile:
    path = folder / "documents.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return DocumentFile(path=path, columns=Columns())


def read(path: Path) -> tuple[list[str], Any]:
    if path.suffix == ".npy":
        return json.loads(path.with_suffix(".ids.json").read_text()), np.load(path)
    found = read_embeddings(path)
    return [*found.places], found.vectors


@pytest.mark.parametrize("ending", [".parquet", ".jsonl", ".npy"])
def test_each_document_has_its_vector_under_its_id(tmp_path: Path, ending: str):
    shown: list[tuple[int, int]] = []
    into = tmp_path / f"vectors{ending}"
    found = encode_file("bag", BAG, lines(tmp_path, DOCUMENTS), into, progress=lambda *at: shown.append(at))
    ids, vectors = read(into)
    wanted = BAG.open_encoder(tmp_path).encode(TEXTS)  # type: ignore[attr-defined]
    assert ids == ["7", "b", "ü"]
    assert vectors.dtype == np.float32
    assert np.array_equal(vectors, wanted)
    assert (found.documents, found.width, found.skipped, found.cut) == (3, wanted.shape[1], 0, 0)
    assert shown == [(3, 3)]
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_fields_id_and_separator_can_be_named_and_files_be_tables(tmp_path: Path):
    path = tmp_path / "notes.csv"
    path.write_text("key,text,place\nk1,owls,north\nk2,elms,\n")
    columns = Columns(fields=("place", "text"), id="key")
    encode_file("bag", BAG, DocumentFile(path=path, columns=columns, separator=" | "), tmp_path / "v.npy")
    ids, vectors = read(tmp_path / "v.npy")
    assert ids == ["k1", "k2"]
    assert np.array_equal(vectors, BAG.open_encoder(tmp_path).encode(["north | owls", "elms"]))  # type: ignore[attr-defined]


def test_forms_are_those_of_the_encoder(tmp_path: Path):
    given = lines(tmp_path, DOCUMENTS)
    encode_file("bag", BAG, given, tmp_path / "v.npy", form="CLF")
    wanted = BAG.open_encoder(tmp_path).encode(TEXTS, "CLF")  # type: ignore[attr-defined]
    assert np.array_equal(read(tmp_path / "v.npy")[1], wanted)
    with pytest.raises(UnknownNameError, match="unknown form: 'CLFF'; did you mean CLF"):
        encode_file("bag", BAG, given, tmp_path / "v.npy", form="CLFF")


def test_rows_with_errors_are_all_named_before_any_work_or_skipped_and_counted(tmp_path: Path):
    wrong = [{"title": "no id"}, {"doc_id": "c"}, {"doc_id": "b", "title": "again"}, {"doc_id": "d", "title": " "}]
    given = lines(tmp_path, [*DOCUMENTS, *wrong])
    with pytest.raises(SourceError) as told:
        encode_file("bag", BAG, given, tmp_path / "v.npy")
    for part in (
        "documents.jsonl:4: no id",
        ":5: document 'c' has no text",
        "is a duplicate of documents.jsonl:2",
        ":7:",
    ):
        assert part in str(told.value)
    assert not (tmp_path / "v.npy").exists()
    found = encode_file(
        "bag", BAG, DocumentFile(path=given.path, columns=Columns(), on_error="skip"), tmp_path / "v.npy"
    )
    assert (found.documents, found.skipped) == (3, 4)


def test_what_can_not_be_done_is_refused(tmp_path: Path, refused: Refused):
    given = lines(tmp_path, DOCUMENTS)
    with refused(UsageError, "vectors-ending"):
        encode_file("bag", BAG, given, tmp_path / "v.bin")
    with refused(UsageError, "not-an-encoder"):
        encode_file("echo", source("fake:echo"), given, tmp_path / "v.npy")
    given.path.write_text("\n")
    with refused(SourceError, "file-without-documents"):
        encode_file("bag", BAG, given, tmp_path / "v.npy")
    (tmp_path / "v.jsonl").write_text('{"doc_id": "7", "embedding": [1.0]}\n')
    with refused(ModelError, "vectors-alone"):
        encode_file("v", source(f"vectors:{tmp_path / 'v.jsonl'}"), lines(tmp_path, DOCUMENTS), tmp_path / "w.npy")


@pytest.mark.parametrize("ending", [".jsonl", ".npy"])
def test_a_full_disk_is_told_with_the_name_of_the_output(tmp_path: Path, small_files, ending: str):
    into = tmp_path / f"vectors{ending}"
    ids, vectors = [*map(str, range(100))], np.ones((100, 32), np.float32)
    with (
        small_files(),
        pytest.raises(OSError, match="vectors") as told,
        output_scratch(into) as scratch,
        writer_for(into)(scratch / into.name) as writer,
    ):
        writer.write(ids, vectors)
    assert (told.value.errno, told.value.filename) == (errno.EFBIG, str(into))


def test_a_numpy_file_is_what_numpy_writes(tmp_path: Path):
    into, wanted = tmp_path / "vectors.npy", io.BytesIO()
    encode_file("bag", BAG, lines(tmp_path, DOCUMENTS), into)
    np.save(wanted, np.load(into))
    assert into.read_bytes() == wanted.getvalue()
