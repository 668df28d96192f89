"""What comes from outside stays within limits, and whatever is wrong with it is one kind of error."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import threading
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from taskloom import limits
from taskloom.errors import UsageError
from taskloom.limits import UnpackedError, deflated, expanded, inflated, opened, parse_json, refuse_no_file


@pytest.mark.parametrize("depth", [limits.MOST_NESTED + 1, 800, 100_000])
@pytest.mark.parametrize(("begin", "end"), [("[", "]"), ('{"a":', "}")])
def test_json_that_is_nested_too_deep_is_a_value_error(depth: int, begin: str, end: str):
    with pytest.raises(ValueError, match=r"levels"):
        parse_json(begin * depth + "1" + end * depth)


def test_json_of_many_brackets_that_is_not_deep_is_read():
    wide = [[1]] * 10_000
    assert parse_json(str(wide)) == wide
    deep = "[" * limits.MOST_NESTED + "]" * limits.MOST_NESTED
    assert parse_json(deep) == json.loads(deep)


@pytest.mark.parametrize("text", ["9" * 5000, f"[{2**64}]", f'{{"a": -{2**70}}}'])
def test_integers_that_nothing_can_hold_are_a_value_error(text: str):
    with pytest.raises(ValueError, match="64 bits"):
        parse_json(text)
    assert parse_json(f"[{2**64 - 1}, -1, 1e400]") == [2**64 - 1, -1, float("inf")]


def test_bytes_are_read_in_the_encoding_that_they_have():
    assert parse_json('{"a": "é"}'.encode("utf-16")) == {"a": "é"}
    with pytest.raises(ValueError, match="codec"):
        parse_json(b'"\xff"')


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_a_small_file_that_unpacks_to_much_is_refused(tmp_path: Path, ending: str, pack):
    path = tmp_path / f"x.csv{ending}"
    path.write_bytes(pack(b"0" * (limits.MOST_FREE + 1)))
    with pytest.raises(UnpackedError, match=r"more than 1,048,576 bytes"):
        opened(path)


def test_a_pipe_is_read_once_and_within_the_limit(tmp_path: Path):
    os.mkfifo(path := tmp_path / "x.gz")
    bomb = gzip.compress(b"0" * (limits.MOST_FREE + 1))
    writer = threading.Thread(target=path.write_bytes, args=[bomb])
    writer.start()
    with opened(path) as file, pytest.raises(UnpackedError, match=r"more than 1,048,576 bytes"):
        file.read()
    writer.join()


def test_a_file_that_was_changed_is_measured_again(tmp_path: Path):
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(b"ab"))
    with opened(path) as file:
        assert file.read() == b"ab"
    path.write_bytes(gzip.compress(b"0" * (limits.MOST_FREE + 1)))
    with pytest.raises(UnpackedError):
        opened(path)


def test_a_file_that_unpacks_to_what_it_may_is_read_whole(tmp_path: Path):
    (tmp_path / "x.gz").write_bytes(gzip.compress(b"0" * limits.MOST_FREE))
    with opened(tmp_path / "x.gz") as file:
        assert len(file.read()) == limits.MOST_FREE
    (tmp_path / "plain").write_bytes(b"ab")
    with opened(tmp_path / "plain") as file:
        assert file.read() == b"ab"


def test_what_zlib_packed_is_unpacked_within_the_limit():
    assert inflated(zlib.compress(b"abc")) == inflated(deflated(b"abc")) == b"abc"
    assert deflated(b"abc" * 1000) == zlib.compress(b"abc" * 1000, 6)  # as ledgers before had it
    for data in (bytes(limits.MOST_STORED), bytes(limits.MOST_STORED + 1), bytes(3 * limits.MOST_STORED)):
        assert inflated(deflated(data)) == data
    with pytest.raises(zlib.error, match="more than"):
        inflated(zlib.compress(bytes(limits.MOST_STORED + 1)))
    assert len(inflated(zlib.compress(bytes(limits.MOST_STORED)))) == limits.MOST_STORED
    with pytest.raises(zlib.error):
        inflated(zlib.compress(b"abc" * 100)[:-5])


def test_a_home_that_nobody_has_is_refused():
    assert expanded("a/b") == Path("a/b")
    for path in ("~nouser/x", "~a\0b/x"):
        with pytest.raises(UsageError, match="no home folder is known"):
            expanded(path)


# --- files that are none ---------------------------------------------------------------------------------------------


def test_what_is_no_file_is_refused_for_what_it_is(
    tmp_path: Path, refused: Callable[..., AbstractContextManager[None]]
):
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    refuse_no_file(tmp_path / "file")
    refuse_no_file(tmp_path / "pipe", pipes=True)
    codes = {"none": "file-missing", ".": "file-is-folder", "link": "file-not-regular", "pipe": "file-not-regular"}
    for name, code in codes.items():
        with refused(UsageError, code):
            refuse_no_file(tmp_path / name)
    for device in ("/dev/zero", "/dev/null"):
        with refused(UsageError, "file-not-regular"):
            refuse_no_file(Path(device), pipes=True)


def test_a_device_is_not_read_and_a_terminal_is(tmp_path: Path):
    with pytest.raises(OSError, match="a device, which has no end"):
        opened(Path("/dev/zero"))
    ours, theirs = os.openpty()
    terminal = Path(os.ttyname(theirs))
    refuse_no_file(terminal, pipes=True)
    with opened(terminal) as file:
        assert file.isatty()
    os.close(ours)
    os.close(theirs)
