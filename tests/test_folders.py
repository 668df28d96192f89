from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from taskloom.errors import StoreError, UsageError
from taskloom.folders import (
    OLD,
    check_new_folder,
    check_output,
    exchange,
    make_private,
    output_file,
    output_scratch,
    put_output,
    remove,
    remove_leftovers,
    replace_folder,
    restore,
    scratch_beside,
    write_output,
    write_outputs,
    write_whole,
)
from taskloom.processes import new_owner

if TYPE_CHECKING:
    from .conftest import FilesUpTo


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


def test_a_folder_or_a_file_is_removed_if_it_is_there(tmp_path: Path):
    (tmp_path / "folder/within").mkdir(parents=True)
    (tmp_path / "folder/within/file").touch()
    (tmp_path / "file").touch()
    (tmp_path / "dangling").symlink_to("nowhere")
    for name in ("folder", "file", "dangling", "nothing"):
        remove(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_what_can_not_be_removed_is_told_with_the_reason(tmp_path: Path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to("elsewhere")
    with pytest.raises(StoreError) as told:
        remove(tmp_path / "link")
    assert told.value.note.code == "not-removed"
    assert ("path", str(tmp_path / "link")) in told.value.note.values
    assert (tmp_path / "elsewhere").is_dir()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_what_lies_in_a_folder_that_can_only_be_read_is_not_said_to_be_removed(tmp_path: Path):
    (tmp_path / "cache/vectors").mkdir(parents=True)
    (tmp_path / "cache").chmod(0o500)
    with pytest.raises(StoreError) as told:
        remove(tmp_path / "cache/vectors")
    (tmp_path / "cache").chmod(0o700)
    assert ("reason", "Permission denied") in told.value.note.values


def test_of_files_that_belong_together_none_is_left_where_one_can_not_be_written(
    tmp_path: Path, files_up_to: FilesUpTo
):
    texts = {tmp_path / "one": "a", tmp_path / "two": "b" * 5_000, tmp_path / "three": "c"}
    with files_up_to(4_000), pytest.raises(OSError, match="File too large"):
        write_outputs(texts)
    assert list(tmp_path.iterdir()) == []
    write_outputs(texts)
    assert {path: path.read_text() for path in tmp_path.iterdir()} == texts


@pytest.mark.parametrize("write", [write_whole, write_output])
def test_a_link_is_replaced_and_what_it_leads_to_stays(tmp_path: Path, write: Callable[[Path, str], None]):
    (tmp_path / "mine.txt").write_text("mine")
    for name, target in (("report.html", "mine.txt"), ("dangling.html", "nowhere")):
        (tmp_path / name).symlink_to(target)
        write(tmp_path / name, "new")
        assert not (tmp_path / name).is_symlink()
        assert (tmp_path / name).read_text() == "new"
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()


def test_who_may_read_a_file_may_read_the_one_that_replaces_it(tmp_path: Path):
    (tmp_path / "report.html").touch(0o600)
    write_whole(tmp_path / "report.html", "new")
    write_whole(tmp_path / "other.html", "new")
    (tmp_path / "plain").touch()
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("report.html", "other.html", "plain")]
    assert modes == [0o600, modes[2], modes[2]]


def test_an_output_that_can_not_be_finished_leaves_the_old_one(tmp_path: Path):
    (tmp_path / "items.csv").write_text("old")

    def write_half() -> None:
        with output_file(tmp_path / "items.csv") as file:
            file.write(b"half of the new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_half()
    assert (tmp_path / "items.csv").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["items.csv"]


def test_devices_and_pipes_are_written_to_and_not_replaced(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()))
    read: list[str] = []
    reader.start()
    write_output(tmp_path / "pipe", "through")
    reader.join()
    assert read == ["through"]
    (tmp_path / "null").symlink_to(os.devnull)
    write_output(tmp_path / "null", "gone")
    assert (tmp_path / "null").is_symlink()
    command = (
        "from pathlib import Path; from taskloom.folders import write_output; write_output(Path('/dev/stdout'), 'x')"
    )
    with (tmp_path / "out").open("w") as out:
        subprocess.run([sys.executable, "-c", command], stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "x"
    assert Path("/dev/stdout").is_symlink()


def test_a_folder_is_no_output(tmp_path: Path, refused):
    with pytest.raises(IsADirectoryError):
        write_output(tmp_path, "x")
    with refused(UsageError, "output-is-folder", path=tmp_path):
        check_output(tmp_path)
    (tmp_path / "file").touch()
    with refused(UsageError, "output-unwritable", folder=tmp_path / "file", path=tmp_path / "file" / "x" / "y"):
        check_output(tmp_path / "file" / "x" / "y")
    with refused(UsageError, "output-is-file", path=tmp_path / "file"):
        check_new_folder(tmp_path / "file")


def test_an_output_that_is_an_input_by_any_name_is_refused(tmp_path: Path, refused):
    given = tmp_path / "gold.jsonl"
    given.write_text("gold")
    (tmp_path / "hard").hardlink_to(given)
    (tmp_path / "soft").symlink_to(given)
    (tmp_path / "here").symlink_to(tmp_path)
    for name in ("gold.jsonl", "hard", "soft", "here/gold.jsonl"):
        with refused(UsageError, "output-is-input", path=tmp_path / name):
            check_output(tmp_path / name, [tmp_path / "other", given])
    check_output(tmp_path / "new", [tmp_path / "other", given])


def test_an_output_within_or_around_an_input_is_refused(tmp_path: Path, refused):
    made(tmp_path / "data")
    (tmp_path / "link").symlink_to(tmp_path / "data")
    for path in (tmp_path / "data" / "file", tmp_path / "link" / "new"):
        with refused(UsageError, "output-within-input", folder=tmp_path / "data", path=path):
            check_output(path, [tmp_path / "data"])
    for folder in (tmp_path / "data", tmp_path / "link", tmp_path):
        with refused(UsageError, "output-around-input", path=folder):
            check_new_folder(folder, [tmp_path / "data" / "file"])
    check_new_folder(tmp_path / "new", [tmp_path / "data" / "file", Path("data:papers")])


def test_a_device_may_be_input_and_output(tmp_path: Path):
    (tmp_path / "null").symlink_to(os.devnull)
    check_output(tmp_path / "null", [tmp_path / "null"])
    with output_scratch(tmp_path / "null") as scratch:
        (scratch / "made").write_text("x")
        put_output(scratch / "made", tmp_path / "null")
    assert (tmp_path / "null").is_symlink()
    assert list(tmp_path.iterdir()) == [tmp_path / "null"]


def test_a_private_file_is_its_owners_and_one_that_is_there_stays(tmp_path: Path):
    make_private(tmp_path / "new" / "ledger.db")
    assert (tmp_path / "new" / "ledger.db").stat().st_mode & 0o777 == 0o600
    (tmp_path / "shared.db").write_text("x")
    (tmp_path / "shared.db").chmod(0o664)
    make_private(tmp_path / "shared.db")
    assert ((tmp_path / "shared.db").stat().st_mode & 0o777, (tmp_path / "shared.db").read_text()) == (0o664, "x")


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


def gone() -> str:
    """Name a process of this machine that has ended."""
    command = "from taskloom.processes import new_owner; print(new_owner())"
    return subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True).stdout.strip()


def test_a_folder_that_a_process_has_at_hand_which_may_live_is_left_to_it(tmp_path: Path):
    host, container, *process = gone().rsplit("-", 3)
    for owner in (
        new_owner(),
        "-".join(["elsewhere", container, *process]),  # a machine that shares the disk
        "-".join([host, "1", *process]),  # a container of this one, where processes have numbers of their own
        f"{process[0]}-abcdefgh",  # of an earlier version, which did not say where it ran
    ):
        left = made(tmp_path / f".s-{owner}" / OLD).parent
        restore(tmp_path / "s")
        with scratch_beside(tmp_path / "s"):
            pass
        remove_leftovers(tmp_path)
        assert not (tmp_path / "s").exists()
        assert (left / OLD / "file").is_file()


def test_leftovers_of_processes_that_are_gone_are_removed(tmp_path: Path):
    owner, folder = gone(), made(tmp_path / "s")
    for clean in (replaced, lambda folder: remove_leftovers(folder.parent)):
        (tmp_path / f".s-{owner}" / OLD).mkdir(parents=True)
        (tmp_path / f".s-{owner.rsplit('-', 2)[0]}-{10**30}-abcdefgh").mkdir()  # no system has such a number
        clean(folder)
        assert list(tmp_path.iterdir()) == [folder]


def test_a_name_that_leaves_no_room_for_more_is_no_hindrance(tmp_path: Path):
    for name in ("x" * 255, "森" * 85):
        write_whole(tmp_path / name, "new")
        assert (tmp_path / name).read_text() == "new"
    folder = made(tmp_path / ("y" * 255))
    killed_between_renames(folder)
    restore(folder)
    assert (folder / "file").read_text() == "old"


def test_a_folder_that_can_not_take_its_place_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ctypes.CDLL", lambda *_: object())
    folder = made(tmp_path / "s")
    with scratch_beside(folder) as scratch, pytest.raises(FileNotFoundError):
        replace_folder(scratch / "none", folder)
    assert (folder / "file").read_text() == "old"
    assert list(tmp_path.iterdir()) == [folder]


def test_the_error_of_a_full_disk_names_what_the_user_did(tmp_path: Path, small_files):
    path, folder = tmp_path / "out.txt", tmp_path / "made"
    for write in (write_output, write_whole):
        with small_files(), pytest.raises(OSError, match="out") as told:
            write(path, "x" * 10_000)
        assert (told.value.errno, told.value.filename) == (errno.EFBIG, str(path))
    with small_files(), pytest.raises(OSError, match="made") as told, scratch_beside(folder) as scratch:
        (scratch / "part").write_text("x" * 10_000)
    assert told.value.filename == str(folder)
    assert not list(tmp_path.iterdir())


def test_the_error_of_a_full_device_names_it(tmp_path: Path):
    (tmp_path / "made").write_text("x")
    for write in (lambda path: write_output(path, "x"), lambda path: put_output(tmp_path / "made", path)):
        with pytest.raises(OSError, match="/dev/full") as told:
            write(Path("/dev/full"))
        assert (told.value.errno, told.value.filename) == (errno.ENOSPC, "/dev/full")


def test_a_full_disk_elsewhere_keeps_its_name_and_other_errors_stay_as_they_are(tmp_path: Path):
    elsewhere = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/elsewhere/file")
    for error, name in ((elsewhere, "/elsewhere/file"), (TimeoutError("no reply"), None)):
        with pytest.raises(type(error)) as told, output_file(tmp_path / "out.txt"):
            raise error
        assert told.value.filename == name
