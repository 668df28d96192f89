"""The verb encode: documents in, vectors out, by pipes or files."""

from __future__ import annotations

import io
import json
import os
import threading
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


def test_vectors_replace_nothing_that_they_are_made_of(taskloom, tmp_path: Path):
    path, ids = tmp_path / "documents.jsonl", tmp_path / "v.ids.json"
    path.write_text(LINES)
    ids.write_text(LINES)
    (tmp_path / "link.jsonl").symlink_to(path)
    assert taskloom("encode", "fake:bag", path, "-o", tmp_path / "v.jsonl").code == 0
    for model, given, into in [
        ("fake:bag", path, path),
        ("fake:bag", path, tmp_path / "link.jsonl"),
        ("fake:bag", ids, tmp_path / "v.npy"),
        (f"vectors:{tmp_path / 'v.jsonl'}", path, tmp_path / "v.jsonl"),
    ]:
        ran = taskloom("encode", model, given, "-o", into)
        assert (ran.code, "must not replace an input" in ran.err) == (2, True)
    assert path.read_text() == ids.read_text() == LINES


def test_vectors_are_written_to_a_pipe_as_it_is(taskloom, tmp_path: Path):
    path = tmp_path / "documents.jsonl"
    path.write_text(LINES)
    os.mkfifo(tmp_path / "pipe.jsonl")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe.jsonl").read_text()))
    reader.start()
    assert taskloom("encode", "fake:bag", path, "-o", tmp_path / "pipe.jsonl").code == 0
    reader.join()
    assert [json.loads(line)["doc_id"] for line in read[0].splitlines()] == ["a", "b"]
    assert (tmp_path / "pipe.jsonl").is_fifo()


@pytest.mark.parametrize(("device", "told"), [("/dev/zero", "not a regular file"), ("/dev/null", "the file is empty")])
def test_a_device_on_standard_input_does_not_fill_the_disk(
    taskloom, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, device: str, told: str
):
    with Path(device).open(encoding="utf-8") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        done = taskloom("encode", "fake:bag", "-o", tmp_path / "v.jsonl")
    assert (done.code > 0, told in done.err) == (True, True)
