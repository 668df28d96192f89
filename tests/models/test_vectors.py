"""The cache of vectors: each text once, whoever asks, whatever happens; nothing that is damaged is believed."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskloom.errors import FaultsError, ModelError, ModelUnavailableError, StoreError, UnknownNameError, UsageError
from taskloom.messages import Note
from taskloom.models import vector_store
from taskloom.models.fake import FakeEncoder
from taskloom.models.vector_store import INDEX, VectorStore
from taskloom.models.vectors import FOLDER, VectorCache, cached, merge, text_digest

from ..endless import make_endless

if TYPE_CHECKING:
    from ..conftest import Ran, Refused

TEXTS = [f"text {n} of the {'red' if n % 2 else 'blue'} owl" for n in range(40)]


class Counting(FakeEncoder):
    """A fake that notes what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def encode(self, texts: Sequence[str], form: str = "") -> Any:
        self.asked += texts
        return super().encode(texts, form)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("TASKLOOM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / FOLDER


def opened(encoder: Any = None, *, dtype: str = "float32", identity: str = "fake") -> tuple[VectorCache, Any]:
    """The vectors of an encoder, which is opened now."""
    made = encoder or Counting()
    cache = VectorCache("bag", identity, dtype, lambda: made)
    return cache, made


def store_of(folder: Path) -> Path:
    (found,) = folder.glob("*/plain")
    return found


def test_each_distinct_text_is_encoded_once_and_read_from_then_on():
    cache, encoder = opened()
    found, cut = cache.take(["a b", "c", "a b"])
    assert np.array_equal(found, FakeEncoder().encode(["a b", "c", "a b"]))
    assert (found.dtype, found.shape, cut) == (np.float32, (3, 32), [0, 0, 0])
    again, other = opened()  # as another task, run or process would
    assert np.array_equal(again.take(["c", "d", "a b"])[0], FakeEncoder().encode(["c", "d", "a b"]))
    assert sorted(encoder.asked) == ["a b", "c"]
    assert other.asked == ["d"]


def test_an_encoder_is_not_opened_where_all_is_kept():
    opened()[0].take(TEXTS)
    closed = VectorCache("bag", "fake", "float32", lambda: pytest.fail("opened"))
    assert len(closed.take(TEXTS)[0]) == len(TEXTS)
    assert closed.usage.encoding == 0
    assert closed.take([])[0].shape[0] == 0


def test_models_and_forms_have_vectors_of_their_own(folder: Path):
    cache, encoder = opened()
    plain, formed = cache.take(["a"])[0], cache.take(["a"], "CLF")[0]
    assert not np.array_equal(plain, formed)
    opened(encoder, identity="another")[0].take(["a"])
    assert len(encoder.asked) == 3
    assert sorted(at.name for at in folder.glob("*/*/")) == ["CLF", "plain", "plain"]
    with pytest.raises(UnknownNameError, match="unknown form: 'CLFF'; did you mean CLF"):
        cache.take(["a"], "CLFF")


def test_what_is_encoded_for_all_counts_apart_from_other_use():
    cache, encoder = opened()
    cache.take(["a b", "c"])
    assert (cache.usage.read, cache.usage.computed, cache.usage.encoded) == (0, 0, 3)
    assert cache.usage.encoding > 0
    encoder.encode(["x y"])
    assert (cache.usage.read, cache.usage.encoded) == (2, 3)


def test_texts_that_were_cut_are_known_from_the_cache_too():
    long = "word " * 5000
    assert opened()[0].take(["short", long])[1] == [0, 904]
    closed = VectorCache("bag", "fake", "float32", lambda: pytest.fail("opened"))
    assert closed.take([long, "short"])[1] == [904, 0]


def test_half_precision_takes_half_the_space_and_is_what_all_see(folder: Path):
    found = opened(dtype="float16")[0].take(["a b"])[0]
    assert found.dtype == np.float32
    assert np.array_equal(found, FakeEncoder().encode(["a b"]).astype(np.float16).astype(np.float32))
    assert (store_of(folder) / "0.float16").stat().st_size == 64


def test_what_is_kept_first_is_what_all_see(folder: Path):
    opened()[0].take(["a"])
    store = VectorStore(store_of(folder))
    store.keep([text_digest("a")], np.zeros((1, 32)), [0])
    assert np.array_equal(opened()[0].take(["a"])[0], FakeEncoder().encode(["a"]))


# --- damage ----------------------------------------------------------------------------------------------------------


def flipped(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def swapped(path: Path) -> None:
    """The vectors of two texts change places."""
    content = path.read_bytes()
    path.write_bytes(content[128:256] + content[:128] + content[256:])


DAMAGE: dict[str, Callable[[Path], object]] = {
    "a bit of a vector": lambda at: flipped(at / "0.float32", 130),
    "two vectors": lambda at: swapped(at / "0.float32"),
    "a segment that is cut": lambda at: os.truncate(at / "0.float32", 200),
    "no segment": lambda at: (at / "0.float32").unlink(),
    "another's segment": lambda at: (at / "0.float32").write_bytes(b"x" * 9999),
    "another's index": lambda at: (at / INDEX).write_bytes(b"not a data base" * 999),
    "an empty index": lambda at: (at / INDEX).write_bytes(b""),
    "an index with a hole": lambda at: (at / INDEX).write_bytes(
        (content := (at / INDEX).read_bytes())[:4096] + bytes(len(content) - 4096)
    ),
    "a data base of somebody else": lambda at: foreign(at / INDEX),
    "other numbers in the index": lambda at: changed(at / INDEX, "UPDATE texts SET place = 'x', cut = -1"),
    "other rows in the index": lambda at: changed(at / INDEX, "UPDATE texts SET place = place + 1"),
    "another width": lambda at: changed(at / INDEX, "UPDATE about SET value = 8 WHERE name = 'width'"),
}


def foreign(path: Path) -> None:
    path.unlink()
    changed(path, "CREATE TABLE precious (x)")


def changed(path: Path, statement: str) -> None:
    db = sqlite3.connect(path)
    db.executescript(statement)
    db.close()


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_damaged_or_foreign_is_noticed_and_encoded_again(folder: Path, damage: str):
    cache, _ = opened()
    cache.take(TEXTS)
    cache.close()
    DAMAGE[damage](store_of(folder))
    again, encoder = opened()
    assert np.array_equal(again.take(TEXTS)[0], FakeEncoder().encode(TEXTS))
    assert encoder.asked
    assert "damaged" in cached()[0][1] or damage == "an empty index"
    again.close()
    other, encoder = opened()
    assert np.array_equal(other.take(TEXTS)[0], FakeEncoder().encode(TEXTS))
    assert not encoder.asked


def test_an_index_that_breaks_while_it_is_used_is_made_anew(folder: Path):
    cache, _ = opened()
    cache.take(TEXTS)
    at = store_of(folder) / INDEX
    cache.stores[""].db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = at.read_bytes()
    at.write_bytes(content[:100] + b"\xff" * (len(content) - 100))
    assert np.array_equal(cache.take([*TEXTS, "new"])[0], FakeEncoder().encode([*TEXTS, "new"]))


def test_a_cache_that_is_cleared_meanwhile_is_filled_again(folder: Path):
    cache, _ = opened()
    cache.take(TEXTS[:20])
    shutil.rmtree(folder)
    assert np.array_equal(cache.take(TEXTS)[0], FakeEncoder().encode(TEXTS))
    again, other = opened()
    assert np.array_equal(again.take(TEXTS[20:])[0], FakeEncoder().encode(TEXTS[20:]))
    assert not other.asked
    assert cached()[0][1].endswith("vectors of bag, plain")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_vector_that_is_not_finite_is_refused_and_not_kept(bad: float, refused: Refused):
    class Broken(FakeEncoder):
        def encode(self, texts: Sequence[str], form: str = "") -> Any:
            found = super().encode(texts, form)
            found[["owl" in text for text in texts], 3] = bad
            return found

    with refused(ModelError, "vectors-not-finite", text="an owl"):
        opened(Broken())[0].take(["a", "an owl"])
    assert len(opened()[0].take(["an owl"])[0]) == 1


def test_vectors_of_another_shape_are_refused(refused: Refused):
    class Odd(FakeEncoder):
        def encode(self, texts: Sequence[str], form: str = "") -> Any:
            return np.zeros((len(texts), 7), np.float32)

    with refused(ModelError, "vectors-unfit", found=[1, 7], wanted=[1, 32]):
        opened(Odd())[0].take(["a"])


# --- a full disk -----------------------------------------------------------------------------------------------------


def test_a_full_disk_is_told_and_loses_nothing(monkeypatch: pytest.MonkeyPatch, refused: Refused):
    cache, encoder = opened()
    cache.take(TEXTS[:20])
    write = VectorStore._write

    def full(self: VectorStore, first: int, rows: Any) -> None:
        write(self, first, rows[: len(rows) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(VectorStore, "_write", full)
    with refused(ModelUnavailableError, "vectors-disk-full"):
        cache.take(TEXTS)
    monkeypatch.undo()
    asked = len(encoder.asked)
    assert np.array_equal(cache.take(TEXTS)[0], FakeEncoder().encode(TEXTS))
    assert len(encoder.asked) - asked == 20


def test_an_index_that_can_not_grow_is_told_and_loses_nothing(refused: Refused):
    cache, _ = opened()
    cache.take(TEXTS[:20])
    db = cache.stores[""].db
    (pages,) = db.execute("PRAGMA page_count").fetchone()
    db.execute(f"PRAGMA max_page_count = {pages}")
    with refused(ModelUnavailableError, "vectors-disk-full"):
        cache.take([f"{text} {n}" for text in TEXTS for n in range(50)])
    db.execute("PRAGMA max_page_count = 1073741823")
    assert np.array_equal(cache.take(TEXTS)[0], FakeEncoder().encode(TEXTS))


def test_a_cache_that_can_not_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Refused):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TASKLOOM_CACHE", str(tmp_path / "file"))
    with refused(ModelUnavailableError, "vectors-not-kept"):
        opened()[0].take(["a"])


# --- several processes -----------------------------------------------------------------------------------------------

PROCESS = """
import sys
from pathlib import Path
from taskloom.models.fake import FakeEncoder
from taskloom.models.vectors import VectorCache

class Noting(FakeEncoder):
    def encode(self, texts, form=""):
        found = super().encode(texts, form)
        with Path(sys.argv[1]).open("a") as log:
            log.writelines(f"{text.split()[0]}\\n" for text in texts)
        return found

texts = [f"text{n} {'x' * 4000}" for n in range(int(sys.argv[2]))]  # a claim has eight at first
VectorCache("bag", "shared", "float32", lambda: Noting(float(sys.argv[3]))).take(texts)
"""


def started(log: Path, texts: int, seconds: float) -> subprocess.Popen[bytes]:
    arguments = [sys.executable, "-c", PROCESS, str(log), str(texts), str(seconds)]
    return subprocess.Popen(arguments)


def test_two_processes_that_ask_at_once_encode_each_text_once(tmp_path: Path):
    logs = [tmp_path / "one", tmp_path / "two"]
    running = [started(log, 120, 0.002) for log in logs]
    assert [process.wait(120) for process in running] == [0, 0]
    texts = [line for log in logs if log.exists() for line in log.read_text().splitlines()]
    assert sorted(texts) == sorted(f"text{n}" for n in range(120))


def test_what_a_killed_process_had_claimed_is_encoded_by_others(tmp_path: Path, until: Callable[..., None]):
    log = tmp_path / "one"
    first = started(log, 60, 0.25)
    until(lambda: any(said.startswith("8 vectors") for _, said in cached()))  # and the others are claimed
    second = started(tmp_path / "two", 60, 0)  # it waits for what the first has claimed
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert second.wait(120) == 0
    once = log.read_text().splitlines() + (tmp_path / "two").read_text().splitlines()
    assert set(once) == {f"text{n}" for n in range(60)}
    assert len(once) == 60  # what it had kept is not encoded again, and what it had not was not noted


def test_a_claim_of_another_machine_is_free_when_it_expires(folder: Path, monkeypatch: pytest.MonkeyPatch):
    cache, encoder = opened()
    cache.take(["a"])
    store = VectorStore(store_of(folder))
    store.owner = "elsewhere-1-00000000"
    assert store.claim([text_digest("b")], 9) == ([text_digest("b")], [])
    monkeypatch.setattr(vector_store, "EXPIRES", 0.05)
    changed(store_of(folder) / INDEX, "UPDATE claims SET until = until - 599.9")
    cache.take(["b"])
    assert encoder.asked == ["a", "b"]


def test_threads_with_a_cache_each_share_the_texts():
    encoders = [Counting(), Counting()]
    threads = [threading.Thread(target=lambda e=e: opened(e)[0].take(TEXTS)) for e in encoders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(encoders[0].asked + encoders[1].asked) == sorted(TEXTS)


@settings(max_examples=20)
@given(st.lists(st.text(max_size=20), max_size=12), st.lists(st.text(max_size=20), max_size=12))
def test_any_texts_get_their_own_vectors_in_their_own_order(first: list[str], second: list[str]):
    cache, encoder = opened(identity="any")
    for texts in (first, second, first + second):
        found, cut = cache.take(texts)
        assert len(cut) == len(texts)
        assert np.array_equal(found, FakeEncoder().encode(texts)) or not texts
    assert len(encoder.asked) == len(set(encoder.asked))
    cache.close()


# --- what people see -------------------------------------------------------------------------------------------------


def test_the_cache_lists_vectors_and_removes_them_on_request(folder: Path, taskloom: Callable[..., Ran]):
    opened()[0].take(TEXTS)
    (row,) = cached()
    assert row == (store_of(folder), "40 vectors of bag, plain")
    assert "40 vectors of bag, plain" in taskloom("cache").out
    assert folder.exists()
    done = taskloom("cache", "--clear-vectors")
    assert done.code == 0
    assert not folder.exists()
    assert "vectors" not in taskloom("cache").out


def test_vectors_that_can_not_be_removed_are_not_said_to_be(folder: Path, tmp_path: Path, taskloom: Callable[..., Ran]):
    opened()[0].take(TEXTS)
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    done = taskloom("cache", "--clear-vectors")
    assert done.code == StoreError.exit_code
    assert str(Note.of("not-removed", reason="Cannot call rmtree on a symbolic link", path=folder)) in done.err
    assert "40 vectors of bag, plain" in taskloom("cache").out


def test_what_is_not_used_and_can_not_be_removed_is_not_said_to_be(tmp_path: Path, taskloom: Callable[..., Ran]):
    (tmp_path / "elsewhere").mkdir()
    unused = tmp_path / "cache/data/unused"
    unused.parent.mkdir(parents=True)
    unused.symlink_to(tmp_path / "elsewhere")
    done = taskloom("cache", "--prune")
    assert done.code == StoreError.exit_code
    assert f"removed {unused}" not in done.err
    assert str(unused) in done.err


def test_the_vectors_of_two_machines_are_merged_and_none_is_encoded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Path
):
    ours, _ = opened()
    before, _ = ours.take(TEXTS[:30])
    monkeypatch.setenv("TASKLOOM_CACHE", str(tmp_path / "node"))
    theirs, _ = opened()
    theirs.take(TEXTS[20:])
    theirs.take(TEXTS[:3], "CLF")
    theirs.close()
    monkeypatch.setenv("TASKLOOM_CACHE", str(tmp_path / "cache"))
    assert list(merge(tmp_path / "node")) == [("bag, CLF", 3), ("bag, plain", 10)]
    assert list(merge(tmp_path / "node")) == [("bag, CLF", 0), ("bag, plain", 0)]
    again, encoder = opened()
    found, _ = again.take(TEXTS)
    again.take(TEXTS[:3], "CLF")
    assert encoder.asked == []
    assert np.array_equal(found[:30], before)


def test_what_is_damaged_on_another_machine_is_not_merged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Path
):
    cache, _ = opened()
    cache.take(TEXTS)
    cache.close()
    folder.parent.rename(tmp_path / "node")
    segment = store_of(tmp_path / "node" / FOLDER) / "0.float32"
    segment.write_bytes(b"\xff" * 8 + segment.read_bytes()[8:])
    assert list(merge(tmp_path / "node")) == [("bag, plain", len(TEXTS) - 1)]


def test_what_is_no_cache_is_not_merged(tmp_path: Path, refused: Refused):
    with refused(UsageError, "no-vectors", path=tmp_path):
        list(merge(tmp_path))
    (tmp_path / FOLDER / "model" / "plain").mkdir(parents=True)
    with refused(UsageError, "vectors-unnamed", path=tmp_path / FOLDER / "model" / "about.json"):
        list(merge(tmp_path))


@pytest.mark.parametrize("about", [b"[" * 5000, b'{"model": "m", "dtype": "float32", "x": NaN}', b"[]"])
def test_a_cache_that_does_not_say_what_it_holds_is_not_merged(tmp_path: Path, refused: Refused, about: bytes):
    (tmp_path / FOLDER / "model" / "plain").mkdir(parents=True)
    (tmp_path / FOLDER / "model" / "about.json").write_bytes(about)
    with refused(UsageError, "vectors-unnamed"):
        list(merge(tmp_path))


@pytest.mark.parametrize("change", ["UPDATE about SET value = 'x'", "UPDATE texts SET place = 0.5", "DROP TABLE about"])
def test_a_forged_index_gives_no_vectors_when_it_is_merged(tmp_path: Path, folder: Path, change: str, refused: Refused):
    cache, _ = opened()
    cache.take(TEXTS)
    cache.close()
    folder.parent.rename(tmp_path / "node")
    changed(store_of(tmp_path / "node" / FOLDER) / "index.db", change)
    if "about" in change:
        with refused(ModelUnavailableError, "vectors-unreadable"):
            list(merge(tmp_path / "node"))
    else:
        assert list(merge(tmp_path / "node")) == [("bag, plain", 0)]


def test_an_index_without_an_end_is_not_merged(tmp_path: Path, folder: Path, refused: Refused):
    cache, _ = opened()
    cache.take(TEXTS)
    cache.close()
    folder.parent.rename(tmp_path / "node")
    make_endless(store_of(tmp_path / "node" / FOLDER) / "index.db", "texts")
    with refused(ModelUnavailableError, "vectors-unreadable"):
        list(merge(tmp_path / "node"))


def test_an_index_that_says_that_vectors_are_huge_takes_little_memory(tmp_path: Path, folder: Path):
    cache, _ = opened()
    cache.take(TEXTS)
    cache.close()
    folder.parent.rename(tmp_path / "node")
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 16384) "
    index = store_of(tmp_path / "node" / FOLDER) / "index.db"
    changed(index, f"INSERT INTO texts {many} SELECT CAST(i AS BLOB), i, 0, x'00' FROM n")
    changed(index, "UPDATE about SET value = 1048576 WHERE name = 'width'")
    tracemalloc.start()
    try:
        assert list(merge(tmp_path / "node")) == [("bag, plain", 0)]
        assert tracemalloc.get_traced_memory()[1] < 300 << 20
    finally:
        tracemalloc.stop()


def test_an_index_whose_schema_is_no_text_is_made_anew(folder: Path):
    cache, _ = opened()
    cache.take(TEXTS)
    cache.close()
    index = store_of(folder) / "index.db"
    index.write_bytes(index.read_bytes().replace(b"CREATE TABLE texts", b"CREATE\xff\xfeTABLE texts"[:18]))
    again, encoder = opened()
    again.take(TEXTS)
    assert encoder.asked


@pytest.mark.parametrize("damage", ["index.db", "0.float32"])
def test_another_cache_is_left_as_it_is_when_it_is_merged(tmp_path: Path, folder: Path, damage: str, refused: Refused):
    cache, _ = opened()
    cache.take(TEXTS)
    cache.close()
    folder.parent.rename(tmp_path / "node")
    theirs = store_of(tmp_path / "node" / FOLDER)
    (theirs / damage).write_bytes(b"mine")
    before = {path.name: path.read_bytes() for path in theirs.iterdir()}
    if damage == "index.db":
        with refused(ModelUnavailableError, "vectors-unreadable"):
            list(merge(tmp_path / "node"))
    else:
        assert list(merge(tmp_path / "node")) == [("bag, plain", 0)]
    after = {path.name: path.read_bytes() for path in theirs.iterdir()}
    assert {name: after[name] for name in before} == before


VIEW = "CREATE VIEW texts AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT * FROM n"


def test_an_index_with_a_view_that_never_ends_is_not_read(tmp_path: Path, folder: Path, refused: Refused):
    opened()[0].take(TEXTS)
    changed(store_of(folder) / INDEX, f"DROP TABLE texts; {VIEW}")
    ((_, told),) = cached()
    assert "can't be read" in told
    folder.parent.rename(tmp_path / "node")
    with refused(ModelUnavailableError, "vectors-unreadable"):
        list(merge(tmp_path / "node"))


def test_vectors_that_can_not_be_read_keep_no_others_from_being_merged(tmp_path: Path, folder: Path, refused: Refused):
    cache, _ = opened()
    cache.take(TEXTS)
    for form in ("CLF", "QRY"):
        cache.take(TEXTS, form)
    cache.close()
    folder.parent.rename(tmp_path / "node")
    for form in ("CLF", "QRY"):
        changed(next((tmp_path / "node" / FOLDER).glob(f"*/{form}")) / INDEX, "DROP TABLE about")
    merged = merge(tmp_path / "node")
    assert next(merged) == ("bag, plain", len(TEXTS))
    with refused(FaultsError, "vectors-not-merged", count=2, path=tmp_path / "node"):
        next(merged)


def test_where_ours_can_not_be_written_merging_ends_and_says_so(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, refused: Refused
):
    cache, _ = opened()
    for form in ("", "CLF", "QRY"):
        cache.take(TEXTS, form)
    cache.close()
    folder.parent.rename(tmp_path / "node")
    (tmp_path / "file").touch()
    monkeypatch.setenv("TASKLOOM_CACHE", str(tmp_path / "file"))
    with refused(ModelUnavailableError, "vectors-not-kept"):
        list(merge(tmp_path / "node"))


def test_a_text_that_can_not_be_encoded_leaves_a_cache_that_can_be_merged(tmp_path: Path, folder: Path):
    class Broken(FakeEncoder):
        def encode(self, texts: Sequence[str], form: str = "") -> Any:
            return super().encode(texts, form) * np.nan

    cache, _ = opened(Broken())
    with pytest.raises(ModelError):
        cache.take(TEXTS)
    cache.close()
    folder.parent.rename(tmp_path / "node")
    assert list(merge(tmp_path / "node")) == [("bag, plain", 0)]


@pytest.mark.parametrize("value", ["'x'", "9e999"])
def test_an_index_whose_counts_are_none_is_told_as_unreadable(folder: Path, value: str):
    opened()[0].take(TEXTS)
    changed(store_of(folder) / INDEX, f"UPDATE about SET value = {value} WHERE name = 'remade'")
    ((_, told),) = cached()
    assert "can't be read" in told
