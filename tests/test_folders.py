from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from taskloom.folders import write_whole


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
