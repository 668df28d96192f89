from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from taskloom.core import Example, Item, Labels, Number, Output, Ranking, Stored, Suite, Task, Terms, Text
from taskloom.errors import StoreError, UsageError
from taskloom.suites import linked, rows, store
from taskloom.suites.documents import documents
from taskloom.suites.instructions import LEAKING


def mixed_suite() -> Suite:
    """One task of each kind of output, with pools of several sizes."""
    examples: dict[Output, Example] = {
        Text(): Example(Item("1", {"q": "why? 为什么"}), ("because", "so"), "g"),
        Labels(("yes", "no")): Example(Item("1", {"q": "a", "r": "b"}), ("no",), "g"),
        Labels(("x", "y"), many=True): Example(Item("1", {"q": "a"}), (("x", "y"),), "g"),
        Terms(): Example(Item("1", {"q": "a"}), (("k1", "k2"),), "g"),
        Number(): Example(Item("1", {"q": "a"}), (2.5,), "g"),
        Ranking(): Example(Item("1", {"q": "a"}, ("d1", "d2")), ((("d1", 2.0), ("d2", 0.0)),), "g"),
    }
    tasks, pools = {}, {}
    for number, (output, example) in enumerate(examples.items()):
        task = Task(id=f"t{number}", instruction="do", output=output, metrics=("m",), tags={"source": ("s",)})
        tasks[task.id] = task
        pools[task.id] = {"train": rows.pool(task, [example] * 3), "test": rows.pool(task, [example])}
    return Suite(id="mixed", tasks=tasks, pools=pools, folds={"f": {"train": ("t0",), "test": ("t1",)}})


def test_what_was_written_is_read_back(tmp_path: Path, small_suite: Suite):
    for number, suite in enumerate((mixed_suite(), small_suite)):
        opened = store.write(suite, tmp_path / str(number))
        assert opened.fingerprint == suite.fingerprint
        assert opened.tasks == suite.tasks
        assert opened.folds == suite.folds
        for name, pools in suite.pools.items():
            for pool, kept in pools.items():
                again = opened.pools[name][pool]
                assert len(again) == len(kept)
                assert again.take(range(len(kept))) == kept.take(range(len(kept)))
                assert again.labels().tolist() == kept.labels().tolist()
                assert again.groups().tolist() == kept.groups().tolist()


def test_names_by_content_are_what_they_were_before_there_were_stores():
    suite = mixed_suite()
    assert suite.fingerprint == "18413a2382cba7ce133d127885bb31ca"
    assert suite.digest("t5") == "720a5a041c5e3096e2e444f0f014514e"  # a ranking of texts


def test_a_suite_of_format_1_is_read(tmp_path: Path):
    """The manifest is one that taskloom wrote when there was no other format; rows lie as they did."""
    suite = store.write(mixed_suite(), tmp_path / "s")
    old = json.loads((Path(__file__).parent / "format_1.json").read_text(encoding="utf-8"))
    assert old["format"] == 1
    old["files"] = {store.ROWS: (tmp_path / "s" / store.ROWS).stat().st_size}  # Parquet's own header may differ
    (tmp_path / "s" / store.MANIFEST).write_text(json.dumps(old), encoding="utf-8")
    opened = store.open_suite(tmp_path / "s")
    assert (opened.tasks, opened.folds, opened.stores) == (suite.tasks, suite.folds, {})
    for name, pools in suite.pools.items():
        for pool, kept in pools.items():
            assert opened.pools[name][pool].take(range(len(kept))) == kept.take(range(len(kept)))


def test_views_of_format_1_are_read(tmp_path: Path, small_suite: Suite):
    manifest = edit(tmp_path, small_suite, format=1)
    del manifest["stores"]
    for pool in (pool for task in manifest["tasks"] for pool in task["pools"].values()):
        del pool["kind"]
    (tmp_path / "s" / store.MANIFEST).write_text(json.dumps(manifest))
    assert store.open_suite(tmp_path / "s").fingerprint == small_suite.fingerprint


def test_a_pool_of_an_unknown_kind_is_refused(tmp_path: Path, small_suite: Suite):
    manifest = edit(tmp_path, small_suite)
    manifest["tasks"][0]["pools"]["all"]["kind"] = "graph"
    (tmp_path / "s" / store.MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(StoreError, match=r"unknown kind of pool: 'graph'; known: function, linked, rows, view"):
        store.open_suite(tmp_path / "s")


def of_old_roles(folder: Path, roles: dict[str, list[str]], fingerprint: str) -> Path:
    """Write four tasks as a taskloom did that had other names for roles."""
    tasks = {name: Task(id=name, instruction="Say it.", output=Text(), metrics=("rouge-l",)) for name in "abcd"}
    one = Example(Item("1", {"text": "x"}), ("y",), "1")
    made = Suite(id="old", tasks=tasks, pools={name: {"all": rows.pool(of, [one])} for name, of in tasks.items()})
    store.write(made, folder)
    manifest = json.loads((folder / store.MANIFEST).read_text(encoding="utf-8"))
    manifest |= {"format": 1, "folds": {"f": roles}, "fingerprint": fingerprint}
    (folder / store.MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    return folder


OLD = "e4434a327267b4c95fc829c4598d7d17"  # as version 0.1.0 named it before roles were train, dev, test and excluded


def test_roles_of_older_suites_are_read_by_their_names_of_today(tmp_path: Path):
    roles = {"meta": ["a"], "target": ["b", "c"], "leaking": ["d", "c"]}
    opened = store.open_suite(of_old_roles(tmp_path / "s", roles, OLD))
    assert opened.folds == {"f": {"train": ("a",), "test": ("b", "c"), "excluded": ("d",)}}
    assert opened.about[LEAKING] == {"f": {"train": ["d", "c"]}}
    again = store.write(opened, tmp_path / "again")
    assert (again.folds, again.about, again.fingerprint) == (opened.folds, opened.about, opened.fingerprint)


def test_older_folds_that_were_edited_and_roles_that_never_were_are_refused(tmp_path: Path):
    edited = {"meta": ["a"], "target": ["b"], "leaking": ["d", "c"]}
    with pytest.raises(StoreError, match="its fingerprint differs"):
        store.open_suite(of_old_roles(tmp_path / "edited", edited, OLD))
    with pytest.raises(StoreError, match="unknown role in fold 'f': 'tests'; did you mean test"):
        store.open_suite(of_old_roles(tmp_path / "odd", {"tests": ["a"]}, OLD))


def test_a_pool_larger_than_a_row_group_is_read_whole(tmp_path: Path):
    task = Task(id="t", instruction="", output=Text(), metrics=())
    examples = [Example(Item(str(n), {"q": f"q{n}"}), (f"a{n}",), str(n)) for n in range(store.ROW_GROUP * 2 + 5)]
    suite = Suite(id="s", tasks={"t": task}, pools={"t": {"all": rows.pool(task, examples)}})
    pool = store.write(suite, tmp_path / "s").pools["t"]["all"]
    at = [0, store.ROW_GROUP, len(examples) - 1, 5]
    assert pool.take(at) == [examples[n] for n in at]


def test_an_empty_pool_is_kept(tmp_path: Path):
    task = Task(id="t", instruction="", output=Text(), metrics=())
    suite = Suite(id="s", tasks={"t": task}, pools={"t": {"all": rows.pool(task, [])}})
    pool = store.write(suite, tmp_path / "s").pools["t"]["all"]
    assert (len(pool), pool.take([]), pool.labels().tolist()) == (0, [], [])


def test_the_manifest_can_be_read_by_people(tmp_path: Path, small_suite: Suite):
    store.write(small_suite, tmp_path / "s")
    text = (tmp_path / "s" / store.MANIFEST).read_text(encoding="utf-8")
    assert '"instruction": "根据标题写出关键词（用“;”分隔）。"' in text
    assert json.loads(text)["records"]["rows"] == 3


def test_a_suite_that_is_there_is_replaced_only_when_told(tmp_path: Path, small_suite: Suite):
    store.write(small_suite, tmp_path / "s")
    with pytest.raises(UsageError, match="--force"):
        store.write(mixed_suite(), tmp_path / "s")
    assert store.open_suite(tmp_path / "s").id == "small"
    assert store.write(mixed_suite(), tmp_path / "s", replace=True).id == "mixed"
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


KILLED_BETWEEN_RENAMES = """
import ctypes, os, sys
from pathlib import Path
from taskloom.suites import store
suite, folder = store.open_suite(Path(sys.argv[1])), Path(sys.argv[2])
ctypes.CDLL = lambda *_: object()  # a system that can't exchange two folders
rename = Path.rename
def last(path, target):
    rename(path, target)
    os._exit(9)
Path.rename = last
store.write(suite, folder, replace=True)
"""


@pytest.mark.parametrize("then", ["open", "build", "force"])
def test_a_suite_whose_replacement_was_killed_is_there_when_it_is_asked_for(
    tmp_path: Path, small_suite: Suite, then: str
):
    store.write(small_suite, tmp_path / "s")
    store.write(mixed_suite(), tmp_path / "other")
    call = [sys.executable, "-c", KILLED_BETWEEN_RENAMES, str(tmp_path / "other"), str(tmp_path / "s")]
    assert subprocess.run(call, check=False).returncode == 9
    assert not (tmp_path / "s").exists()
    if then == "open":
        assert store.open_suite(tmp_path / "s").id == "small"
    elif then == "build":
        with pytest.raises(UsageError, match="--force"):
            store.refuse_to_clobber(tmp_path / "s", replace=False)
        assert store.open_suite(tmp_path / "s").id == "small"
    else:
        assert store.write(mixed_suite(), tmp_path / "s", replace=True).id == "mixed"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "s"]


def test_a_folder_that_is_no_suite_is_never_replaced(tmp_path: Path, small_suite: Suite):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.txt").write_text("all of it")
    with pytest.raises(UsageError, match="not overwritten"):
        store.write(small_suite, tmp_path / "precious", replace=True)
    assert (tmp_path / "precious" / "thesis.txt").read_text() == "all of it"


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path, small_suite: Suite):
    class Broken(dict[str, object]):
        def __getitem__(self, name: str) -> object:
            if name == "keywords->title":
                raise RuntimeError("stop")
            return super().__getitem__(name)

    broken = Suite(id="s", tasks=small_suite.tasks, pools=Broken(small_suite.pools))  # type: ignore[arg-type]
    with pytest.raises(RuntimeError):
        store.write(broken, tmp_path / "s")
    assert list(tmp_path.iterdir()) == []


def test_a_newer_format_says_so(tmp_path: Path, small_suite: Suite):
    edit(tmp_path, small_suite, format=99)
    with pytest.raises(StoreError, match=r"format 99 is newer.*upgrade taskloom"):
        store.open_suite(tmp_path / "s")


def test_a_changed_manifest_is_noticed(tmp_path: Path, small_suite: Suite):
    manifest = edit(tmp_path, small_suite)
    manifest["tasks"][0]["instruction"] = "another"
    (tmp_path / "s" / store.MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(StoreError, match="changed after the build"):
        store.open_suite(tmp_path / "s")


@pytest.mark.parametrize("name", [store.MANIFEST, store.RECORDS, store.ROWS])
def test_a_file_cut_short_is_refused_by_name(tmp_path: Path, small_suite: Suite, name: str):
    store.write(mixed_suite() if name == store.ROWS else small_suite, tmp_path / "s")
    file = tmp_path / "s" / name
    os.truncate(file, file.stat().st_size // 2)
    with pytest.raises(StoreError, match=name):
        store.open_suite(tmp_path / "s")


def test_a_missing_file_is_named(tmp_path: Path, small_suite: Suite):
    store.write(small_suite, tmp_path / "s")
    (tmp_path / "s" / store.RECORDS).unlink()
    with pytest.raises(StoreError, match=store.RECORDS):
        store.open_suite(tmp_path / "s")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1, "files": {}}', '{"format": "x", "files": {}}'])
def test_what_is_no_manifest_is_refused(tmp_path: Path, text: str):
    (tmp_path / store.MANIFEST).write_text(text)
    with pytest.raises(StoreError, match=store.MANIFEST):
        store.open_suite(tmp_path)


def test_a_folder_without_a_manifest_is_no_suite(tmp_path: Path):
    with pytest.raises(StoreError, match="not a suite"):
        store.open_suite(tmp_path)


def test_files_named_outside_the_folder_are_not_looked_at(tmp_path: Path, small_suite: Suite):
    manifest = edit(tmp_path, small_suite)
    manifest["files"] = {"../../etc/passwd": 1}
    (tmp_path / "s" / store.MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(StoreError, match=r"missing; .*s/passwd"):
        store.open_suite(tmp_path / "s")


def test_a_full_disk_leaves_nothing_half_done(tmp_path: Path):
    """A limit on the size of files is the nearest thing to a full disk that a test can make."""
    program = f"""
import resource, signal
from pathlib import Path
from typing import Any
from taskloom.errors import StoreError, UsageError
from taskloom.sources.table import Field
from taskloom.suites import fields, store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
records = [{{"id": str(n), "a": "x" * 1000, "b": "y"}} for n in range(1000)]
suite = fields.suite(fields.records((Field("a", "text", "a"), Field("b", "text", "b")), records), id="s")
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    store.write(suite, Path({str(tmp_path / "s")!r}))
except StoreError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "can't write the suite" in done.stdout, done.stderr
    assert list(tmp_path.iterdir()) == []


# --- data that was changed after the build ----------------------------------------------------------------------


def with_wrong_offset(file: Path, column: str) -> None:
    """Write an offset into a column of texts that leads far beyond the file."""
    whole = pa.memory_map(str(file)).read_buffer()
    offsets = pa.ipc.open_file(whole).read_all()[column].chunk(0).buffers()[1]
    with file.open("r+b") as handle:
        handle.seek(offsets.address - whole.address + 4)
        handle.write((1 << 30).to_bytes(4, "little"))


@pytest.mark.parametrize(
    "command", [["check"], ["show"], ["show", "{task}"], ["show", "{task}", "--prompt"], ["show", "--card"]]
)
@pytest.mark.parametrize("kind", ["records", "store-papers"])
def test_a_wrong_offset_is_told_and_does_not_end_the_process(
    tmp_path: Path, small_suite: Suite, kind: str, command: list[str]
):
    made = small_suite if kind == "records" else linked_suite()
    store.write(made, tmp_path / "s")
    with_wrong_offset(tmp_path / "s" / f"{kind}.arrow", "title")
    verb, *options = [word.format(task=next(iter(made.tasks))) for word in command]
    program = ["-c", "from taskloom.cli import main; main()", verb, str(tmp_path / "s"), *options]
    done = subprocess.run([sys.executable, *program], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "damaged (" in done.stderr
    assert f"{kind}.arrow" in done.stderr.replace("\n", "")


def linked_suite() -> Suite:
    """Documents to label."""
    of = documents("papers", [Stored("p1", {"title": "On trees"}), Stored("p2", {"title": "On fish"})])
    task = Task(id="topic", instruction="Name it.", output=Labels(("land", "water")), metrics=("accuracy",))
    examples = [
        Example(Item("1", {"query": "p1"}), ("land",), "p1"),
        Example(Item("2", {"query": "p2"}), ("water",), ""),
    ]
    pools = {"topic": {"all": linked.pool(task, examples, of, by_id=True)}}
    return Suite(id="linked", tasks={"topic": task}, pools=pools, stores={"papers": of})


def test_records_of_other_columns_are_refused(tmp_path: Path, small_suite: Suite):
    store.write(small_suite, tmp_path / "s")
    file = tmp_path / "s" / store.RECORDS
    file.write_bytes(file.read_bytes().replace(b"keywords", b"ceywords"))
    with pytest.raises(StoreError, match=r"not the records of these fields \(title, keywords, year\): .*records.arrow"):
        store.open_suite(tmp_path / "s")


def edit(tmp_path: Path, suite: Suite, **changes: object) -> dict[str, Any]:
    store.write(suite, tmp_path / "s")
    path = tmp_path / "s" / store.MANIFEST
    manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) | changes
    path.write_text(json.dumps(manifest))
    return manifest


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"folds": {"f": {"train": "abc"}}}, "manifest.folds.f.train"),
        ({"about": []}, "manifest.about"),
        ({"files": {"records.arrow": "9"}}, "manifest.files.records.arrow"),
        ({"tasks": [{"id": 7}]}, "manifest.tasks[0].id"),
        ({"fingerprint": None}, "manifest.fingerprint"),
        ({"files": {"records.arrow": 2**63}}, "manifest.files.records.arrow"),
        ({"about": {"source": float("inf")}}, "Out of range float values are not JSON compliant"),
        ({"about": {"source": "\ud800"}}, "half a character"),
    ],
)
def test_a_manifest_with_wrong_types_is_refused_by_its_place(
    tmp_path: Path, small_suite: Suite, change: Any, place: str
):
    manifest = edit(tmp_path, small_suite, **change)
    (tmp_path / "s" / store.MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(StoreError, match=re.escape(f"the manifest is damaged ({place}); build the suite again")):
        store.open_suite(tmp_path / "s")


def test_rows_that_are_in_no_file_are_refused(tmp_path: Path):
    store.write(mixed_suite(), tmp_path / "s")
    kept = store._Parquet(tmp_path / "s" / store.ROWS, rows.SCHEMA)
    with pytest.raises(StoreError, match="no row group 9,999,999,999"):
        kept.load(range(10**10), None)


def with_other_file(folder: Path, name: str, write: Callable[[Path], None]) -> None:
    """Replace a file of a suite, as a forger would: its size fits the manifest."""
    write(folder / name)
    path = folder / store.MANIFEST
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["files"][name] = (folder / name).stat().st_size
    path.write_text(json.dumps(manifest), encoding="utf-8")


def test_rows_that_unpack_to_much_are_refused_when_they_are_read(tmp_path: Path):
    store.write(mixed_suite(), tmp_path / "s")
    long = pa.table({"id": ["1"] * 80, "group": ["g"] * 80, "fields": [["x" * 1_000_000]] * 80, "candidates": [[]] * 80,
                     "gold": ["[]"] * 80, "label": [-1] * 80}, schema=rows.SCHEMA)  # fmt: skip
    with_other_file(tmp_path / "s", store.ROWS, lambda path: pq.write_table(long, path))
    assert (tmp_path / "s" / store.ROWS).stat().st_size < 200_000
    pool = store.open_suite(tmp_path / "s").pools["t0"]["train"]
    with pytest.raises(StoreError, match=r"damaged \(it may unpack to more than .* bytes\); build the suite again"):
        pool.take([0])


@pytest.mark.parametrize("name", rows.SCHEMA.names)
def test_rows_that_lack_something_are_refused_when_they_are_read(tmp_path: Path, name: str):
    store.write(mixed_suite(), tmp_path / "s")

    def without(path: Path) -> None:
        table = pq.read_table(path)
        kind = rows.SCHEMA.field(name).type
        lacking = pa.array([[None] if pa.types.is_list(kind) else None] * table.num_rows, kind)
        made = table.set_column(table.schema.get_field_index(name), rows.SCHEMA.field(name), lacking)
        pq.write_table(made, path, row_group_size=1)

    with_other_file(tmp_path / "s", store.ROWS, without)
    pool = store.open_suite(tmp_path / "s").pools["t0"]["train"]
    with pytest.raises(StoreError, match=f"damaged .values of {name} are missing"):
        pool.take([0])


def test_what_packs_to_next_to_nothing_is_written_as_it_is_and_read(tmp_path: Path):
    task = Task(id="t", instruction="do", output=Text(), metrics=("m",))
    pool = rows.pool(task, [Example(Item("1", {"q": "x" * 40_000}), ("y",), "g")] * 2000)
    kept = store.write(Suite(id="s", tasks={"t": task}, pools={"t": {"all": pool}}), tmp_path / "s").pools["t"]["all"]
    assert kept.take([1999]) == pool.take([1999])
    assert (tmp_path / "s" / store.ROWS).stat().st_size > 2000 * 40_000
    assert sorted(path.name for path in (tmp_path / "s").iterdir()) == [store.ROWS, store.MANIFEST]


@pytest.mark.parametrize("place", ["all", "data", "footer", "end"])
def test_rows_that_are_damaged_and_have_their_size_are_refused(tmp_path: Path, place: str):
    store.write(mixed_suite(), tmp_path / "s")
    path = tmp_path / "s" / store.ROWS
    content = bytearray(path.read_bytes())
    begin, end = {"all": (0, len(content)), "data": (8, 60), "footer": (-60, -20), "end": (-8, -4)}[place]
    content[begin:end] = b"\xff" * len(content[begin:end])
    path.write_bytes(content)
    opened = [pool for pools in store.open_suite(tmp_path / "s").pools.values() for pool in pools.values()]
    for pool in opened[:1] if place == "data" else opened:
        with pytest.raises(StoreError, match=r"rows\.parquet"):
            pool.take(range(len(pool)))
