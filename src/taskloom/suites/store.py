"""Suites on disk: a folder with a readable manifest, Parquet for rows, Arrow IPC for shared records and documents.

Opening reads the manifest alone. Writing is atomic: the folder is there whole, or not at all.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .. import __version__
from ..answers import answer_from_json
from ..core import Output, Pool, Shown, Store, Suite, Task, output_from_json
from ..errors import StoreError, UnknownNameError, UsageError
from ..folders import check_new_folder, replace_folder, restore, scratch_beside
from ..ids import Json
from ..limits import MOST_TABLE, most_unpacked, parse_json
from ..messages import Note
from ..sources.parquet import LimitedParquet
from ..sources.table import Field
from ..texts import LONE_SURROGATE
from . import linked, mapped
from .documents import NAME, Documents, has_documents, refuse_name
from .fields import FieldPool, Records, schema_of, view_digest
from .functions import tables as schemas
from .functions.pools import SAMPLES as SAMPLE_ROWS
from .functions.pools import Asks, FunctionPool, load_fitting
from .functions.tables import Span, Tables
from .instructions import LEAKING
from .linked import Linked
from .manifest_form import misfits
from .rows import SCHEMA, Rows

FORMAT = 2  # 1: pools have no kind, and there are no stores
MANIFEST, ROWS, RECORDS = "suite.json", "rows.parquet", "records.arrow"
SAMPLES, WORDS, RELATIONS = "samples.parquet", "words.arrow", "relations.arrow"  # of function tasks
STORE = re.compile(rf"store-({NAME.pattern})\.arrow")
POOLS = ("rows", "view", "linked", "function")
MAX_MANIFEST = 1 << 30
OLD_LEAKING = "leaking"
OLD_ROLES = {"meta": "train", "target": "test", OLD_LEAKING: "excluded"}  # as suites of format 1 may name them
KEPT = 8  # tables that were read last
ROW_GROUP = 8192  # a task is read in a few of these; small enough to be quick, large enough to compress


def write(suite: Suite, folder: Path, *, replace: bool = False) -> Suite:
    """Write a suite into a folder and open it from there; pools are asked for one task at a time."""
    refuse_to_clobber(folder, replace=replace)
    linked.refuse_broken(suite, suite.tasks)
    with _built_aside(folder) as aside:
        with _Writer(aside) as writer:
            tasks = [task.declaration() | {"pools": writer.add(suite.pools[id_])} for id_, task in suite.tasks.items()]
        manifest = {
            "format": FORMAT,
            "made_by": f"taskloom {__version__}",
            "id": suite.id,
            "fingerprint": "",
            "about": dict(suite.about),
            "records": _write_records(writer.records, aside / RECORDS),
            "stores": {name: _write_documents(name, of, aside) for name, of in suite.stores.items()},
            **({"functions": _write_tables(writer.tables, aside)} if writer.tables else {}),
            "files": {file.name: file.stat().st_size for file in sorted(aside.iterdir())},
            "folds": suite.folds_json(),
            "tasks": tasks,
        }
        manifest["fingerprint"] = _suite_of(manifest, aside).fingerprint
        text = json.dumps(manifest, ensure_ascii=False, indent=1)
        (aside / MANIFEST).write_text(text + "\n", encoding="utf-8")
    return open_suite(folder)


def open_suite(folder: Path) -> Suite:
    """Open a suite; examples are read when asked for.

    The manifest's own fingerprint and the files' sizes are checked here; `check` reads the rest.
    """
    manifest = _manifest(Path(folder))
    suite = _suite_of(manifest, Path(folder))
    if suite.fingerprint_with(manifest["folds"]) != manifest["fingerprint"]:
        raise StoreError(
            f"the manifest was changed after the build: its fingerprint differs; build the suite again: {folder}"
        )
    return suite


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    restore(folder)
    if not folder.is_dir():
        code = "suite-is-a-file" if folder.exists() else "folder-missing"
        raise UsageError(Note.of(code, path=folder))
    if not path.is_file():
        raise StoreError(Note.of("not-a-suite", file=MANIFEST, path=folder))
    if path.stat().st_size > MAX_MANIFEST:
        raise StoreError(f"a manifest must not be larger than {MAX_MANIFEST:,} bytes: {path}")
    try:
        manifest: dict[str, Any] = parse_json(path.read_bytes())
        version = int(manifest["format"])
        if wrong := next(misfits(manifest), "") if version <= FORMAT else "":
            raise ValueError(wrong)
        if LONE_SURROGATE.search(json.dumps(manifest, ensure_ascii=False, allow_nan=False)):
            raise ValueError("half a character")
        files = {Path(name).name: int(size) for name, size in manifest["files"].items()}
    except OSError as error:
        raise StoreError(f"can't be read ({error.strerror}): {path}") from None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        reason = str(error).strip("'")[:80]
        raise StoreError(f"the manifest is damaged ({reason}); build the suite again: {path}") from None
    if version > FORMAT:
        raise StoreError(
            f"suite format {version} is newer than {FORMAT}, which this release reads; upgrade taskloom: {folder}"
        )
    for name, size in files.items():
        file = folder / name
        if not file.is_file():
            raise StoreError(f"a file of the suite is missing; build the suite again: {file}")
        if file.stat().st_size != size:
            raise StoreError(f"a file of the suite has {file.stat().st_size:,} bytes instead of {size:,}: {file}")
    return manifest


def _suite_of(manifest: Mapping[str, Any], folder: Path) -> Suite:
    try:
        stores = {name: _open_documents(name, folder, kept) for name, kept in manifest.get("stores", {}).items()}
        records = _open_records(folder / RECORDS, manifest["records"])
        shared = _open_tables(folder, manifest.get("functions"))
        parquet = {ROWS: _Parquet(folder / ROWS, SCHEMA), SAMPLES: _Parquet(folder / SAMPLES, SAMPLE_ROWS)}
        open_pool = partial(_pool, parquet, records, stores, shared)
        tasks = {declared["id"]: task_from_json(declared) for declared in manifest["tasks"]}
        pools = {
            declared["id"]: {name: open_pool(tasks[declared["id"]], kept) for name, kept in declared["pools"].items()}
            for declared in manifest["tasks"]
        }
        folds = {fold: _roles(roles) for fold, roles in manifest["folds"].items()}
        about = {**manifest["about"], **_leaking(manifest["folds"])}
        return Suite(id=manifest["id"], tasks=tasks, pools=pools, folds=folds, about=about, stores=stores)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError, UnknownNameError) as error:
        raise StoreError(f"the manifest is invalid ({error}): {folder / MANIFEST}") from None


def _roles(written: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Give roles their names of today; a test task that was also marked as leaking is a test task."""
    roles = {OLD_ROLES.get(role, role): tuple(names) for role, names in written.items()}
    if OLD_LEAKING in written:
        roles["excluded"] = tuple(name for name in roles["excluded"] if name not in roles.get("test", ()))
    return roles


def _leaking(folds: Mapping[str, Mapping[str, Sequence[str]]]) -> dict[str, Json]:
    """Give what older folds say of leaks, which had a role of their own."""
    found = {fold: {"train": list(roles[OLD_LEAKING])} for fold, roles in folds.items() if OLD_LEAKING in roles}
    return {LEAKING: found} if found else {}


def task_from_json(declared: Mapping[str, Any]) -> Task:
    """Read what `Task.declaration` wrote."""
    output = output_from_json(declared["output"])
    return Task(
        id=declared["id"],
        instruction=declared["instruction"],
        output=output,
        metrics=tuple(declared["metrics"]),
        tags={name: tuple(values) for name, values in declared["tags"].items()},
        separator=declared["separator"],
        examples=tuple(_shown(output, shown) for shown in declared.get("examples", ())),
        titles=dict(declared.get("titles", {})),
    )


def _shown(output: Output, declared: Mapping[str, Any]) -> Shown:
    return Shown(**{**declared, "answer": answer_from_json(output, declared["answer"])})


def _pool(
    parquet: Mapping[str, _Parquet],
    records: Records | None,
    stores: Mapping[str, Documents],
    shared: Tables | None,
    task: Task,
    kept: Mapping[str, Any],
) -> Pool:
    kind = kept.get("kind", "view" if "view" in kept else "rows")
    if kind not in POOLS:
        raise UnknownNameError("kind of pool", kind, POOLS)
    if kind == "view":
        return _view(records, task, kept)
    if kind == "function":
        if shared is None:
            raise ValueError(f"a pool of a function, and there are no words: {task.id}")
        asks, load = Asks(**kept["asks"]), partial(parquet[SAMPLES].load, range(*kept["row_groups"]))
        if not {asks.source, asks.target or asks.source} <= shared.domains.keys():
            raise ValueError(f"a pool of words that are in no domain: {task.id}")
        fitting = partial(load_fitting, load, task.output, shared.size(asks.source))
        return FunctionPool(task.output, asks, shared, kept["rows"], kept["digest"], fitting)
    link = kept.get("link", {})
    load = partial(parquet[ROWS].load, range(*kept["row_groups"]))
    made = Rows(task.output, tuple(kept["fields"]), kept["rows"], link.get("rows_digest", kept["digest"]), load)
    return Linked(made, stores[link["store"]], bool(link["by_id"]), kept["digest"]) if kind == "linked" else made


def _view(records: Records | None, task: Task, kept: Mapping[str, Any]) -> FieldPool:
    if records is None:
        raise ValueError(f"a view of records, and there are none: {task.id}")
    inputs, outputs = tuple(kept["view"]["inputs"]), tuple(kept["view"]["outputs"])
    split = kept["view"].get("split", "")
    if kept["rows"] > records.table.num_rows:
        raise ValueError(f"more rows than records: {task.id}")
    if view_digest(records, inputs, outputs, split) != kept["digest"]:
        raise ValueError(f"the records are not those of task {task.id}")
    return FieldPool(records, inputs, outputs, kept["rows"], kept["digest"], split)


@dataclass(frozen=True)
class _Parquet:
    """A Parquet file, opened when first read."""

    path: Path
    schema: pa.Schema

    @cached_property
    def recent(self) -> dict[tuple[Any, ...], pa.Table]:
        """Keep what was read last: the sets of an episode come from one pool."""
        return {}

    @cached_property
    def limited(self) -> LimitedParquet:
        limited = LimitedParquet(self.path, memory_map=True)
        if [(f.name, f.type) for f in limited.file.schema_arrow] != [(f.name, f.type) for f in self.schema]:
            raise StoreError(f"not the rows of tasks: {self.path}")
        return limited

    def load(self, groups: range, names: Sequence[str] | None) -> pa.Table:
        key = (groups, tuple(names or ()))
        try:
            if key not in self.recent:
                if groups and groups[-1] >= self.limited.file.num_row_groups:
                    raise LookupError(f"no row group {groups[-1]:,}")
                self.limited.unpacked(groups, names)
                table = self.limited.file.read_row_groups(list(groups), columns=names, use_threads=False)
                _refuse_nulls(table)
                for old in list(self.recent)[: 1 - KEPT]:
                    self.recent.pop(old, None)
                self.recent[key] = table
            return self.recent[key]
        except (pa.ArrowException, OSError, ValueError, LookupError, OverflowError) as error:
            raise StoreError(f"damaged ({error}); build the suite again: {self.path}") from None


def _refuse_nulls(table: pa.Table) -> None:
    """Refuse rows that lack something: none that were written here do."""
    for name, column in zip(table.schema.names, table.columns, strict=True):
        if column.null_count or (pa.types.is_list(column.type) and pc.list_flatten(column).null_count):
            raise ValueError(f"values of {name} are missing")


def _open_records(path: Path, declared: Mapping[str, Any] | None) -> Records | None:
    if declared is None:
        return None
    fields = tuple(Field(**f) for f in declared["fields"])
    what = f"the records of these fields ({', '.join(f.name for f in fields)})"
    table = _mapped(path, declared["rows"], schema_of(fields, more=declared["digests"]).equals, what)
    return Records(fields, table, declared["digests"])


def _open_documents(name: str, folder: Path, kept: Mapping[str, Any]) -> Documents:
    refuse_name(name)  # it becomes a part of a path
    path = folder / f"store-{name}.arrow"
    return Documents(name, _mapped(path, kept["documents"], has_documents, "a store of documents"), kept["digests"])


def _mapped(path: Path, size: int, fits: Callable[[pa.Schema], bool], what: str) -> pa.Table:
    """Map a table of so many rows into memory, or say what it is not."""
    try:
        table = mapped.table(path, fits)
    except (pa.ArrowException, OSError) as error:
        raise StoreError(f"damaged ({error}); build the suite again: {path}") from None
    if table is None:
        raise StoreError(f"not {what}: {path}")
    if table.num_rows != size:
        raise StoreError(f"damaged ({table.num_rows:,} rows instead of {size:,}): {path}")
    return table


class _Writer:
    """Takes the pools of a suite, one task after the other: rows go to the Parquet file, views name their records."""

    def __init__(self, aside: Path) -> None:
        self.folder = aside
        self.groups: Counter[str] = Counter()  # by file
        self.unpacked: Counter[str] = Counter()  # bytes
        self.parquet: dict[str, pq.ParquetWriter] = {}  # no file where there are no rows
        self.records: list[Records] = []
        self.tables: list[Tables] = []

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *_: object) -> None:
        for name, parquet in self.parquet.items():
            parquet.close()
            if 2 * self.unpacked[name] > most_unpacked((self.folder / name).stat().st_size, MOST_TABLE):
                _write_plain(self.folder / name)  # whoever reads it would refuse it as a bomb

    def add(self, pools: Mapping[str, Pool]) -> dict[str, Any]:
        """Write a task's pools and give the manifest's entries of them."""
        return {name: {"rows": len(pool), "digest": pool.digest} | self._entry(pool) for name, pool in pools.items()}

    def _entry(self, pool: Pool) -> dict[str, Any]:
        match pool:
            case FieldPool():
                if all(pool.records is not known for known in self.records):
                    self.records.append(pool.records)
                split = {"split": pool.split} if pool.split else {}
                return {"kind": "view", "view": {"inputs": list(pool.inputs), "outputs": list(pool.outputs)} | split}
            case Rows():
                groups = self._append(ROWS, pool.load(None), SCHEMA)
                return {"kind": "rows", "fields": list(pool.names), "row_groups": groups}
            case FunctionPool():
                if all(pool.tables is not known for known in self.tables):
                    self.tables.append(pool.tables)
                groups = self._append(SAMPLES, pool.load(None), SAMPLE_ROWS)
                return {"kind": "function", "asks": asdict(pool.asks), "row_groups": groups}
            case Linked():
                link = {"store": pool.store.name, "by_id": pool.by_id, "rows_digest": pool.rows.digest}
                return self._entry(pool.rows) | {"kind": "linked", "link": link}
        raise StoreError(f"a pool of this type can't be stored: {type(pool).__name__}")

    def _append(self, name: str, table: pa.Table, schema: pa.Schema) -> list[int]:
        """Write a table to a file and give the range of its row groups: the first, and one past the last."""
        if name not in self.parquet:
            self.parquet[name] = pq.ParquetWriter(self.folder / name, schema, compression="zstd")
        if table.num_rows:  # of none, a row group would be written that is not counted
            self.parquet[name].write_table(table, row_group_size=ROW_GROUP)
        self.unpacked[name] += table.nbytes
        first = self.groups[name]
        self.groups[name] += -(-table.num_rows // ROW_GROUP)
        return [first, self.groups[name]]


def _write_plain(path: Path) -> None:
    """Write the rows of a file as they are, not packed."""
    aside = path.with_name(f"{path.name}.plain")
    options: dict[str, Any] = {"compression": "none", "use_dictionary": False}
    with pq.ParquetFile(path) as packed, pq.ParquetWriter(aside, packed.schema_arrow, **options) as plain:
        for group in range(packed.num_row_groups):
            plain.write_table(packed.read_row_group(group, use_threads=False), row_group_size=ROW_GROUP)
    aside.replace(path)


def _write_records(found: Sequence[Records], path: Path) -> dict[str, Any] | None:
    """Write the records that the suite's views share, and give the manifest's entry of them."""
    if not found:
        return None
    if len(found) > 1:
        raise StoreError(f"a suite can hold one table of records, not {len(found)}")
    (records,) = found
    _write_arrow(records.table, path)
    return {
        "rows": records.table.num_rows,
        "fields": [asdict(f) for f in records.fields],
        "digests": dict(records.digests),
    }


def _write_tables(found: Sequence[Tables], aside: Path) -> dict[str, Any]:
    """Write the words and relations that function tasks share, and give the manifest's entry of them."""
    if len(found) > 1:
        raise StoreError(f"a suite can hold the words of one set of function tasks, not {len(found)}")
    (of,) = found
    _write_arrow(of.words, aside / WORDS)
    _write_arrow(of.relations, aside / RELATIONS)
    return {
        "words": of.words.num_rows,
        "relations": of.relations.num_rows,
        "domains": {name: asdict(span) for name, span in of.domains.items()},
        "spans": {name: asdict(span) for name, span in of.spans.items()},
    }


def _open_tables(folder: Path, declared: Mapping[str, Any] | None) -> Tables | None:
    if declared is None:
        return None
    what = "the words and relations of function tasks"
    words = _mapped(folder / WORDS, declared["words"], schemas.WORDS.equals, what)
    relations = _mapped(folder / RELATIONS, declared["relations"], schemas.RELATIONS.equals, what)
    domains, spans = ({n: Span(**span) for n, span in declared[key].items()} for key in ("domains", "spans"))
    made = Tables(words, relations, domains, spans)
    made.refuse_unfit()
    return made


def _write_documents(name: str, of: Store, aside: Path) -> dict[str, Any]:
    """Write a store, and give the manifest's entry of it."""
    if not isinstance(of, Documents) or of.name != name:
        raise StoreError(f"documents of this type or name can't be stored: {name!r}")
    _write_arrow(of.table, aside / f"store-{name}.arrow")
    return {"documents": len(of), "digests": dict(of.digests)}


def _write_arrow(table: pa.Table, path: Path) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as out:
        out.write_table(table, max_chunksize=65536)


def refuse_to_clobber(folder: Path, inputs: Iterable[Path] = (), *, replace: bool) -> None:
    """Refuse a folder that can't be written, or where something stands, unless it is a suite that is to be replaced."""
    restore(folder)
    check_new_folder(folder, inputs)
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not (folder / MANIFEST).is_file():
        raise UsageError(f"exists and is not a suite; not overwritten: {folder}")
    if not replace:
        raise UsageError(f"a suite exists; use --force to replace it: {folder}")
    if strange := sorted(file.name for file in {*folder.iterdir()} - {*files_of(folder)}):
        raise UsageError(f"the suite's folder has other files; not overwritten: {', '.join(strange)}")


def files_of(folder: Path) -> list[Path]:
    """Name the files of a folder that a suite consists of."""
    ours = (MANIFEST, ROWS, RECORDS, SAMPLES, WORDS, RELATIONS)
    there = folder.iterdir() if folder.is_dir() else ()
    return [file for file in there if file.name in ours or STORE.fullmatch(file.name)]


@contextmanager
def _built_aside(folder: Path) -> Iterator[Path]:
    """Give a folder to fill, which takes its place in one step when all went well and is removed otherwise."""
    try:
        with scratch_beside(folder) as scratch:
            aside = scratch / "new"
            aside.mkdir()
            yield aside
            for file in aside.iterdir():
                with file.open("rb") as handle:
                    os.fsync(handle.fileno())
            replace_folder(aside, folder)
    except OSError as error:
        raise StoreError(f"can't write the suite ({error.strerror or error}): {folder}") from error
