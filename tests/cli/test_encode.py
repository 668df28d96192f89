"""The verb encode: documents in, vectors out, by pipes or files."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest

from taskloom.models.load import source
from taskloom.sources.embeddings import read_embeddings

ROWS = [{"doc_id": "a", "title": "On elms"}, {"doc_id": "b", "title": "On owls", "abstract": "Owls fly."}]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TASKLOOM_CACHE", str(tmp_path / "cache"))


def give(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_documents_are_piped_in_and_vectors_out(taskloom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    give(monkeypatch, LINES)
    sent = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(sent, write_through=True))
    ran = taskloom("encode", "fake:bag", "--format", "CLF")
    assert ran.code == 0
    assert "2 documents" in ran.err
    (tmp_path / "v.parquet").write_bytes(sent.getvalue())
    found = read_embeddings(tmp_path / "v.parquet")
    wanted = source("fake:bag").open_encoder(tmp_path).encode(["On elms", "On owls\nOwls fly."], "CLF")  # type: ignore[attr-defined]
    assert [*found.places] == ["a", "b"]
    assert np.array_equal(found.vectors, wanted)


def test_a_table_is_piped_in_and_a_file_is_written(taskloom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    give(monkeypatch, "doc_id,title\na,On elms\nb,On owls\n")
    ran = taskloom("encode", "fake:bag", "-o", tmp_path / "v.jsonl", "--separator", " ")
    assert (ran.code, ran.out) == (0, "")
    assert len(read_embeddings(tmp_path / "v.jsonl")) == 2


def test_a_list_is_piped_in(taskloom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    give(monkeypatch, json.dumps(ROWS))
    assert taskloom("encode", "fake:bag", "-o", tmp_path / "v.jsonl").code == 0
    assert len(read_embeddings(tmp_path / "v.jsonl")) == 2


def test_files_in_another_encoding_or_with_another_delimiter_are_read(taskloom, tmp_path: Path):
    path, into = tmp_path / "d.csv", tmp_path / "v.jsonl"
    path.write_text("doc_id;title\na;Über Ulmen\n", encoding="latin-1")
    assert "try --delimiter ';'" in taskloom("encode", "fake:bag", path, "-o", into).err
    assert "try --file-encoding" in taskloom("encode", "fake:bag", path, "--delimiter", ";", "-o", into).err
    assert "one character" in taskloom("encode", "fake:bag", path, "--delimiter", "", "-o", into).err
    ran = taskloom("encode", "fake:bag", path, "--file-encoding", "latin-1", "--delimiter", ";", "-o", into)
    assert (ran.code, len(read_embeddings(into))) == (0, 1)


def test_bad_usage_is_told(taskloom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "documents.jsonl"
    path.write_text(LINES)
    into = ("-o", tmp_path / "v.npy")
    assert "unknown form: 'PRXX'" in taskloom("encode", "fake:bag", path, "--format", "PRXX", *into).err
    assert "--adapter must be FORM=FOLDER" in taskloom("encode", "minilm", path, "--adapter", "PRX", *into).err
    assert "--on-error must be stop or skip" in taskloom("encode", "fake:bag", path, "--on-error", "go", *into).err
    assert ".parquet or .jsonl or .npy" in taskloom("encode", "fake:bag", path, "-o", tmp_path / "v.bin").err
    ran = taskloom("encode", "fake:bag", path, "--field", "text", *into)
    assert ran.code == 1
    assert "document 'a' has no text (text); found: doc_id, title" in ran.err
    ran = taskloom("encode", "fake:bag", path, "--field", "title", "--field", "abstrct", *into)
    assert "no document has abstrct" in ran.err
    assert not (tmp_path / "v.npy").exists()
    for stream in ("stdin", "stdout"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True, raising=False)
    assert "Parquet can't be shown on a terminal" in taskloom("encode", "fake:bag", path).err
