"""Data that is what its manifest says, by content: compared before a run, and again once a file was changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeAlias

from ..core import Labels, Pool, Suite
from ..errors import StoreError, SuiteError
from ..ids import canonical, fingerprint
from ..limits import parse_json
from ..messages import Note
from ..sources.splits import SPLIT
from . import columns, linked, rows
from .documents import Documents
from .fields import FieldPool
from .functions.pools import FunctionPool, is_whole
from .linked import Linked
from .rows import Rows

Content: TypeAlias = "tuple[str, Callable[[], bool]]"  # its name, and whether the data is that


def verify(suite: Suite, folder: Path, tasks: Iterable[str], before: str = "") -> str:
    """Refuse tasks whose data is not what names them; give what was found, which need not be read again.

    That is a text for the next time, `before`: it holds as long as no file of the suite has another size or time.
    """
    files = _files(folder)
    known = _known(before, files)
    found = dict.fromkeys(known, True)
    wrong = []
    for task in tasks:
        for name, pool in suite.pools[task].items():
            if not all(_is_same(content, found) for content in _contents(pool)):
                wrong.append(f"{task}/{name}")
    if wrong:
        raise StoreError(Note.of("data-changed", pools=wrong, path=folder))
    return canonical({"files": files, "contents": sorted(found)})


def _files(folder: Path) -> dict[str, list[int]]:
    """Give the sizes and times of a suite's files; the second time is the system's own, which no program can set."""
    seen = {file.name: file.stat() for file in folder.iterdir() if file.is_file()}
    return {name: [of.st_size, of.st_mtime_ns, of.st_ctime_ns] for name, of in seen.items()}


def _known(before: str, files: dict[str, list[int]]) -> list[str]:
    """Read what was found the last time; nothing of it holds where a file was changed since."""
    try:
        kept = parse_json(before or "{}")
    except ValueError:  # damaged: all is read again
        return []
    if not isinstance(kept, dict) or kept.get("files") != files or not isinstance(kept.get("contents"), list):
        return []
    return list(map(str, kept["contents"]))


def _is_same(content: Content, found: dict[str, bool]) -> bool:
    """Compare content once, however many tasks share it."""
    name, is_same = content
    if name not in found:
        found[name] = is_same()
    return found[name]


def _contents(pool: Pool) -> Iterator[Content]:
    """Yield what a pool is made of."""
    match pool:
        case FieldPool():
            own = ("id", pool.records.group, *([SPLIT] if pool.split else []))
            for name in dict.fromkeys((*own, *pool.inputs, *pool.outputs)):
                yield f"column {name} {pool.records.digests[name]}", partial(_is_column_same, pool, name)
        case Rows():
            yield f"rows {pool.digest}", partial(_are_rows_same, pool)
        case FunctionPool():
            yield f"function {pool.digest}", partial(is_whole, pool)
        case Linked():
            yield f"rows {pool.rows.digest}", partial(_are_rows_same, pool.rows)
            stored = fingerprint(pool.store.name, dict(pool.store.digests))
            yield f"store {stored}", partial(_is_store_same, pool.store)
            yield f"linked {pool.digest}", partial(_are_links_same, pool)


def _is_column_same(pool: FieldPool, name: str) -> bool:
    return columns.digest(pool.records.table[name]) == pool.records.digests[name]


def _are_rows_same(pool: Rows) -> bool:
    """Compare rows with what names them, and labels, which are derived, with what they are derived from."""
    table = pool.load(None)
    if table.num_rows != len(pool) or rows.digest(pool.names, table) != pool.digest:
        return False
    has_labels = isinstance(pool.output, Labels) and not pool.output.many
    gold = rows.gold_answers(table) if has_labels else [()] * len(pool)
    return rows.labels_of(pool.output, gold) == list(table["label"].to_pylist())


def _is_store_same(store: Documents) -> bool:
    return not store.changed()


def _are_links_same(pool: Linked) -> bool:
    try:
        return linked.of_rows(pool.rows, pool.store, by_id=pool.by_id).digest == pool.digest
    except SuiteError:  # documents are missing, which `linked.refuse_broken` tells better
        return True
