from __future__ import annotations

from pathlib import Path

import pytest

from taskloom.errors import ClusterError
from taskloom.studies import parcels
from taskloom.studies.parcels import Parcel, chunks_of, lay_out, parcel_of, receive, received

FILES = {"a.txt": b"first", "deep/b.bin": bytes(range(256)) * 3, "empty": b""}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TASKLOOM_CACHE", str(tmp_path / "cache"))
    for name, content in FILES.items():
        path = tmp_path / "sent" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path / "sent"


@pytest.mark.parametrize("size", [1, 7, 256, 1 << 20])
def test_files_come_as_they_were_whatever_the_size_of_chunks(folder: Path, monkeypatch: pytest.MonkeyPatch, size: int):
    monkeypatch.setattr(parcels, "CHUNK", size)
    parcel = parcel_of(folder)
    chunks = list(chunks_of(folder, parcel))
    assert {len(chunk) for chunk in chunks[:-1]} <= {size}
    receive(parcel, chunks)
    at = received(parcel.digest)
    assert {name: (at / name).read_bytes() for name, _, _ in parcel.files} == FILES
    assert parcel_of(at) == parcel


def test_a_parcel_is_named_by_its_content_and_laid_out_once(folder: Path):
    parcel = parcel_of(folder)
    receive(parcel, chunks_of(folder, parcel))
    receive(parcel, iter([b"not looked at"]))
    (folder / "a.txt").write_bytes(b"other")
    assert parcel_of(folder).digest != parcel.digest
    assert parcels.kept() == [received(parcel.digest)]


def test_a_file_alone_keeps_its_name_and_folders_can_be_sent_in_part(folder: Path):
    parcel = parcel_of(folder / "deep" / "b.bin")
    receive(parcel, chunks_of(folder / "deep" / "b.bin", parcel))
    assert (received(parcel.digest) / "b.bin").read_bytes() == FILES["deep/b.bin"]
    assert [name for name, _, _ in parcel_of(folder, ("*.bin", "*.txt")).files] == ["a.txt", "deep/b.bin"]


@pytest.mark.parametrize("chunks", [[b"firs"], [], [b"FIRST" + FILES["deep/b.bin"]]])
def test_what_comes_damaged_is_refused_and_leaves_nothing(folder: Path, chunks: list[bytes]):
    with pytest.raises(ClusterError) as error:
        receive(parcel_of(folder), chunks)
    assert error.value.note.code == "parcel-damaged"
    assert parcels.kept() == []


@pytest.mark.parametrize("name", ["../out", "/out", "a/../../out", "out\0", "out\ud800"])
def test_no_file_is_written_outside_of_its_folder(tmp_path: Path, name: str):
    with pytest.raises(ClusterError):
        lay_out(tmp_path / "in" / "parcel", Parcel(((name, 1, ""),)), [b"x"])
    assert not list(tmp_path.rglob("out"))
