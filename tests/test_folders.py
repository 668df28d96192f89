from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from taskloom.folders import OLD, exchange, replace_folder, restore, scratch_beside, write_whole


def test_a_file_that_several_write_at_once_is_whole(tmp_path: Path):
    path = tmp_path / "new" / "file.txt"
    texts = [str(n) * 10_000 for n in range(8)]
    with ThreadPoolExecutor(8) as writers:
        list(writers.map(write_whole, [path] * 160, texts * 20))
    assert path.read_text() in texts
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path):
    path = tmp_path / "file.txt"
    write_whole(path, "old: 标\n")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "\ud800")
    assert path.read_bytes() == "old: 标\n".encode()
    assert list(tmp_path.iterdir()) == [path]


# --- folders that are replaced ---------------------------------------------------------------------------------------

KILLED_BETWEEN_RENAMES = """
import ctypes, os, sys
from pathlib import Path
from taskloom.folders import replace_folder, scratch_beside
ctypes.CDLL = lambda *_: object()  # a system that can't exchange two folders
rename = Path.rename
def last(path, target):
    rename(path, target)
    os._exit(9)
with scratch_beside(Path(sys.argv[1])) as scratch:
    (scratch / "new").mkdir()
    (scratch / "new" / "file").write_text("new")
    Path.rename = last
    replace_folder(scratch / "new", Path(sys.argv[1]))
"""


def made(folder: Path, text: str = "old") -> Path:
    folder.mkdir(parents=True)
    (folder / "file").write_text(text)
    return folder


def killed_between_renames(folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED_BETWEEN_RENAMES, str(folder)], check=False)
    assert done.returncode == 9
    assert not folder.exists()


def replaced(folder: Path) -> None:
    with scratch_beside(folder) as scratch:
        replace_folder(made(scratch / "new", "new"), folder)


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_folder_is_replaced_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, can_exchange: bool
):
    if not can_exchange:
        monkeypatch.setattr("ctypes.CDLL", lambda *_: object())
    folder = made(tmp_path / "s")
    replaced(folder)
    assert (folder / "file").read_text() == "new"
    assert list(tmp_path.iterdir()) == [folder]


def test_a_folder_is_there_at_every_moment_of_its_replacement(tmp_path: Path):
    if not exchange(made(tmp_path / "a"), made(tmp_path / "b")):
        pytest.skip("this file system can't exchange two folders")
    folder, ended, seen = made(tmp_path / "s"), threading.Event(), set[bool]()

    def look() -> None:
        while not ended.is_set():
            seen.add((folder / "file").exists())

    looking = threading.Thread(target=look)
    looking.start()
    for _ in range(300):
        replaced(folder)
    ended.set()
    looking.join()
    assert seen == {True}


@pytest.mark.parametrize("name", ["s", "odd [1]* name"])
def test_a_process_killed_between_two_renames_loses_nothing(tmp_path: Path, name: str):
    folder = made(tmp_path / name)
    killed_between_renames(folder)
    restore(folder)
    assert (folder / "file").read_text() == "old"
    killed_between_renames(folder)
    with pytest.raises(KeyError), scratch_beside(folder):
        raise KeyError
    assert (folder / "file").read_text() == "old"
    assert list(tmp_path.iterdir()) == [folder]


def test_what_can_not_be_put_back_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = made(tmp_path / "s")
    killed_between_renames(folder)

    def refuse(*_: object) -> None:
        raise PermissionError

    with monkeypatch.context() as no_renames:
        no_renames.setattr(Path, "rename", refuse)
        restore(folder)
        with scratch_beside(folder):
            pass
    (left,) = tmp_path.glob(f".s-*/{OLD}/file")
    assert left.read_text() == "old"
    restore(folder)
    assert (folder / "file").read_text() == "old"


def test_a_folder_that_a_living_process_has_at_hand_is_left_to_it(tmp_path: Path):
    made(tmp_path / f".s-{os.getpid()}-abcdefgh" / OLD)
    restore(tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_a_folder_that_can_not_take_its_place_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ctypes.CDLL", lambda *_: object())
    folder = made(tmp_path / "s")
    with scratch_beside(folder) as scratch, pytest.raises(FileNotFoundError):
        replace_folder(scratch / "none", folder)
    assert (folder / "file").read_text() == "old"
    assert list(tmp_path.iterdir()) == [folder]
