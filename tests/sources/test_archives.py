"""Archives that take time or memory for a few bytes are refused; for their names and links, see test_packages."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from taskloom.errors import FetchError
from taskloom.sources import archives
from taskloom.sources.archives import unpack

MUCH = 40_000_000


def zip_of_method(method: int) -> bytes:
    """A member that says that it is small, and is not."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as made:
        made.writestr("a.csv", bytes(MUCH))
    return out.getvalue().replace(struct.pack("<I", MUCH), struct.pack("<I", 10))


def header(kind: bytes, content: bytes, size: int = 0) -> bytes:
    """A tar with a header of this type, and so many bytes in it."""
    info = tarfile.TarInfo("x")
    info.type, info.size = kind, size or len(content)
    whole = content + bytes(-len(content) % 512)
    return gzip.compress(info.tobuf(tarfile.USTAR_FORMAT) + whole + tarfile.TarInfo("a.csv").tobuf() + bytes(1024))


def zip_of_members(count: int) -> bytes:
    """Only a list of members, which is what is read first."""
    one = struct.pack("<4s4B4HL2L5H2L", b"PK\1\2", 20, 3, 20, 0, 0, 0, 0, 33, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0)
    listed = b"".join(one + b"%08d" % number for number in range(count))
    there = struct.pack("<4sQHHLLQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, count, count, len(listed), 0)
    place = struct.pack("<4sLQL", b"PK\6\7", 0, len(listed), 1)
    return listed + there + place + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 65535, 65535, 2**32 - 1, 2**32 - 1, 0)


def tar_of_members(count: int) -> bytes:
    empty = tarfile.TarInfo("d")
    empty.type = tarfile.DIRTYPE
    return gzip.compress(empty.tobuf() * count + bytes(1024), 1)


def overlapping() -> bytes:
    """A zip whose members are all the same bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("0.txt", bytes(500_000))
        (first,) = made.filelist
        made.filelist += [first] * 9
    return out.getvalue()


def sparse(*sizes: int) -> bytes:
    """A tar of members that say how large they are once their holes are filled."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as made:
        for number, size in enumerate(sizes):
            info = tarfile.TarInfo(f"{number}.csv")
            about = {"major": "1", "minor": "0", "realsize": str(size), "name": info.name}
            info.pax_headers = {f"GNU.sparse.{name}": value for name, value in about.items()}
            info.size = 512
            made.addfile(info, io.BytesIO(b"1\n0\n1\n".ljust(512, b"\0")))
    return out.getvalue()


BOMBS: dict[str, tuple[Callable[[], bytes], str]] = {
    "zip by LZMA": (lambda: zip_of_method(zipfile.ZIP_LZMA), "compression method 14"),
    "zip by bzip2": (lambda: zip_of_method(zipfile.ZIP_BZIP2), "compression method 12"),
    "zip by deflate": (lambda: zip_of_method(zipfile.ZIP_DEFLATED), "can't be read"),
    "zip of many": (lambda: zip_of_members(320_000), "a header of more than"),
    "zip of overlapping members": (overlapping, "unpacks to more than"),
    "pax header": (lambda: header(tarfile.XHDTYPE, bytes(MUCH)), "a header of more than|unpacks to more"),
    "global pax header": (lambda: header(tarfile.XGLTYPE, bytes(MUCH)), "a header of more than|unpacks to more"),
    "long name": (lambda: header(tarfile.GNUTYPE_LONGNAME, b"a" * MUCH), "a header of more than|unpacks to more"),
    "header of digits": (lambda: header(tarfile.XHDTYPE, b"1" * 500_000), "a number that can't be"),
    "member that is passed over": (lambda: header(tarfile.CHRTYPE, bytes(MUCH)), "missing in the archive"),
    "holes": (lambda: sparse(MUCH), "unpacks to more than"),
    "holes of less than nothing": (lambda: sparse(-(10**15), MUCH), "unpacks to more than|can't be read"),
    "huge member": (lambda: header(tarfile.REGTYPE, b"", 8**11 - 1), "unpacks to more than"),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_a_bomb_is_refused_in_little_memory(tmp_path: Path, kind: str):
    make, said = BOMBS[kind]
    (tmp_path / "archive").write_bytes(make())
    tracemalloc.start()
    try:
        with pytest.raises(FetchError, match=said):
            unpack(tmp_path / "archive", ("*.csv",), tmp_path / "out")
        assert tracemalloc.get_traced_memory()[1] < 60 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("make", [zip_of_members, tar_of_members])
def test_an_archive_of_too_many_members_is_refused(
    tmp_path: Path, make: Callable[[int], bytes], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(archives, "MOST_MEMBERS", 1000)
    (tmp_path / "archive").write_bytes(make(1001))
    with pytest.raises(FetchError, match="more than 1,000 members"):
        unpack(tmp_path / "archive", ("*.csv",), tmp_path / "out")
    (tmp_path / "archive").write_bytes(make(1000))
    with pytest.raises(FetchError, match="missing in the archive"):
        unpack(tmp_path / "archive", ("*.csv",), tmp_path / "out2")


@pytest.mark.parametrize("mode", ["w:", "w:gz", "w:bz2", "w:xz"])
def test_tars_are_read_however_they_are_packed(tmp_path: Path, mode: Any):
    content = {f"d/{'long' * 40}/{n}.csv": b"1234567890" * 20_000 for n in range(3)}
    with tarfile.open(tmp_path / "archive", mode, format=tarfile.PAX_FORMAT) as tar:
        for name, data in content.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    (tmp_path / "archive").write_bytes((tmp_path / "archive").read_bytes() + bytes(1 << 16))
    unpack(tmp_path / "archive", ("*.csv",), tmp_path / "out")
    assert {str(p.relative_to(tmp_path / "out")): p.read_bytes() for p in (tmp_path / "out").rglob("*.csv")} == content
