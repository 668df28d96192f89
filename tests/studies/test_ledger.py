from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from taskloom.errors import LearnerError, LedgerError
from taskloom.messages import Note
from taskloom.processes import new_owner
from taskloom.studies import ledger as ledgers
from taskloom.studies.cells import Cell
from taskloom.studies.costs import Cost
from taskloom.studies.finished import Finished, Score, SetAnswers, checksum, packed
from taskloom.studies.ledger import EXPIRES, Ledger
from taskloom.studies.ledger_schema import KEPT
from taskloom.studies.merging import Merged, discard_damaged, merge

from ..endless import make_endless

if TYPE_CHECKING:
    from ..conftest import FilesUpTo

WHY = Note.of("learner-raised", error="ValueError")


def finished(answer: str = "a") -> Finished:
    return Finished(
        sets={
            "query": SetAnswers(
                answers=[answer, None, ("x", "y"), {"title": "标题", "year": 2.0}],
                items=["1", "2", "3", "4"],
                rows=[3, 1, 2, 0],
                pool="all",
            )
        },
        counts={"cut": 2},
        outputs={"query": {"raw": [f"said {answer}", "", None, "x"]}},
        scores={"accuracy|v:1": (np.array([[1.0], [0.0], [0.5], [0.25]]), {"unparsable": 1})},
        cost=Cost(seconds=1.5),
    )


def cell(id_: str, learner: str = "m", shots: int = 0) -> Cell:
    return Cell(id=id_, key=f'{{"name": "{id_}"}}', task="t", learner=learner, shots=shots)


def failed(ledger: Ledger, id_: str, trace: str = "Traceback") -> None:
    ledger.claim([id_], "me")
    ledger.fail(id_, "me", "failed", WHY, trace)


def kept_score(ledger: Ledger, id_: str, signature: str) -> object:
    ledger.keep_plan(0, "all", "{}", [cell(id_)])
    return ledger.scores(0).get(id_, {}).get(signature)


@pytest.fixture
def ledger(tmp_path: Path):
    with Ledger(tmp_path / "ledger.db") as made:
        yield made


def test_what_was_finished_is_read_back(ledger: Ledger):
    ledger.claim(["c"], "me")
    ledger.finish(cell("c", "majority", 4), finished())
    body = ledger.result("c")
    assert body is not None
    assert body["sets"]["query"]["answers"] == ["a", None, ["x", "y"], {"title": "标题", "year": 2.0}]
    assert (body["sets"]["query"]["rows"], body["counts"]) == ([3, 1, 2, 0], {"cut": 2})
    kept: Any = kept_score(ledger, "c", "accuracy|v:1")
    assert (kept[0].tolist(), kept[1]) == ([[1.0], [0.0], [0.5], [0.25]], {"unparsable": 1})
    assert ledger.states() == {"c": "done"}
    assert ledger.costs() == [("majority", "t", 4, Cost(seconds=1.5))]
    assert ledger.costs_of(0) == {"c": Cost(seconds=1.5)}
    assert ledger.outputs("c") == {"query": {"raw": ["said a", "", None, "x"]}}
    assert ledger.key("c") == {"name": "c"}


def test_a_result_is_kept_once_whoever_comes_first(ledger: Ledger):
    ledger.finish(cell("c", "m", 0), finished("first"))
    ledger.finish(cell("c", "m", 0), finished("second"))
    ledger.fail("c", "me", "failed", WHY)
    body = ledger.result("c")
    assert body is not None
    assert body["sets"]["query"]["answers"][0] == "first"
    assert ledger.states() == {"c": "done"}


def test_a_cell_is_claimed_by_one_owner_until_the_claim_expires(ledger: Ledger, monkeypatch: pytest.MonkeyPatch):
    assert ledger.claim(["a", "b"], "one") == ["a", "b"]
    assert ledger.claim(["a", "b", "c"], "two") == ["c"]
    monkeypatch.setattr(ledgers, "EXPIRES", -1.0)
    assert ledger.claim(["a"], "two") == ["a"]


def test_a_heartbeat_keeps_a_claim_and_a_release_gives_it_back(ledger: Ledger):
    ledger.claim(["a"], "one")
    ledger.beat("one")
    assert ledger.claim(["a"], "two") == []
    ledger.release("one")
    assert ledger.claim(["a"], "two") == ["a"]


def test_claims_of_processes_that_are_gone_are_free_at_once(ledger: Ledger):
    command = "from taskloom.processes import new_owner; print(new_owner())"
    gone = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True).stdout.strip()
    ledger.claim(["a"], gone)
    ledger.claim(["b"], new_owner())
    ledger.claim(["c"], f"elsewhere-{gone}")
    ledger.free_the_dead()
    assert ledger.claim(["a", "b", "c"], "me") == ["a"]


def test_what_is_done_is_never_claimed_and_what_failed_is(ledger: Ledger):
    ledger.finish(cell("done", "m", 0), finished())
    failed(ledger, "bad")
    assert ledger.claim(["done", "bad"], "me") == ["bad"]


def test_merging_takes_over_what_is_new_and_counts_nothing_twice(tmp_path: Path, ledger: Ledger):
    with Ledger(tmp_path / "other.db") as other:
        other.finish(cell("a", "m", 0), finished("other"))
        other.finish(cell("b", "m", 0), finished("other"))
        failed(other, "f")
    ledger.finish(cell("a", "m", 0), finished("ours"))
    failed(ledger, "b", "here it failed")
    assert merge(ledger, tmp_path / "other.db") == Merged(1, 1)
    assert merge(ledger, tmp_path / "other.db") == Merged(0, 1)
    assert ledger.states() == {"a": "done", "b": "done"}
    body = ledger.result("a")
    assert body is not None
    assert body["sets"]["query"]["answers"][0] == "ours"


def test_equal_work_gives_equal_bytes(tmp_path: Path):
    contents = []
    for name in ("one.db", "two.db"):
        with Ledger(tmp_path / name) as made:
            for name_of in ("b", "a") if name == "one.db" else ("a", "b"):
                made.finish(cell(name_of), finished())
            contents.append(list(made.contents()))
    assert contents[0] == contents[1]


@pytest.mark.parametrize("content", [b"no data base at all, but long enough to be read", b"\x00" * 4096])
def test_what_is_no_ledger_is_refused_and_left_as_it_is(tmp_path: Path, content: bytes):
    path = tmp_path / "x.db"
    path.write_bytes(content)
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger(path)
    assert path.read_bytes() == content


def test_a_damaged_ledger_says_so(tmp_path: Path):
    path = tmp_path / "x.db"
    with Ledger(path) as ledger:
        ledger.claim(map(str, range(500)), "me")
    content = bytearray(path.read_bytes())
    content[2 * 4096 : -4096] = bytes(len(content) - 3 * 4096)
    path.write_bytes(content)
    with pytest.raises(LedgerError, match=r"the ledger is damaged .*: .*x\.db"), Ledger(path) as ledger:
        ledger.states()


def test_a_data_base_of_somebody_else_is_refused_and_left_as_it_is(tmp_path: Path):
    path = tmp_path / "x.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE precious (x)")
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="not a ledger of taskloom"):
        Ledger(path)
    assert path.read_bytes() == before


def test_a_newer_ledger_is_refused(tmp_path: Path):
    path = tmp_path / "x.db"
    with Ledger(path) as made:
        made.db.execute("PRAGMA user_version = 9")
    with pytest.raises(LedgerError, match="format 9 is newer"):
        Ledger(path)


def test_a_full_disk_stops_the_work_and_leaves_the_ledger_whole(tmp_path: Path):
    path = tmp_path / "x.db"
    with Ledger(path) as made:
        made.finish(cell("a", "m", 0), finished())
        (pages,) = made.db.execute("PRAGMA page_count").fetchone()
        made.db.execute(f"PRAGMA max_page_count = {pages}")
        big = finished("".join(chr(0x4E00 + n % 20000) for n in range(100_000)))
        with pytest.raises(LedgerError, match="full"):
            made.finish(cell("b", "m", 0), big)
    with Ledger(path) as again:
        assert again.states() == {"a": "done"}
        assert again.db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_scores_of_other_answers_are_not_taken_over(tmp_path: Path, ledger: Ledger):
    with Ledger(tmp_path / "other.db") as other:
        other.finish(cell("a", "m", 0), finished("other"))
        other.keep_scores([("a", "newer", (np.ones((4, 1)), {}))])
    ledger.finish(cell("a", "m", 0), finished("ours"))
    assert merge(ledger, tmp_path / "other.db") == Merged(0, 1)
    assert kept_score(ledger, "a", "newer") is None


BODY = {"sets": {"query": {"answers": ["a"], "items": ["1"], "rows": [0], "pool": "all"}}, "counts": {}}


@pytest.mark.parametrize("body", [
    b"no JSON", packed({"sets": 5, "counts": {}}), packed({"sets": {}}), packed(BODY | {"counts": {"x": "y"}}),
    packed(BODY | {"sets": {"query": {"answers": [], "items": ["1"], "rows": [0], "pool": "all"}}}),
    packed(BODY | {"sets": {"query": {"answers": ["a"], "items": ["1"], "rows": ["0"], "pool": "all"}}}),
    packed(BODY | {"sizes": 7}), packed(BODY | {"chance": "x"}),
])  # fmt: skip
def test_cells_that_no_report_could_read_are_not_merged_though_their_checksums_fit(
    tmp_path: Path, ledger: Ledger, body: bytes
):
    with Ledger(tmp_path / "other.db") as other:
        other.finish(cell("a"), finished())
        other.finish(cell("b"), finished())
        other.db.execute("UPDATE results SET body = ?, digest = ? WHERE cell = 'a'", (body, checksum("a", body)))
    assert merge(ledger, tmp_path / "other.db") == Merged(1, damaged=1)
    assert ledger.states() == {"b": "done"}


@pytest.mark.parametrize(("table", "change"), [
    ("keys", "key = 'no JSON', digest = checksum(cell, 'no JSON')"),
    ("keys", "key = '[]', digest = checksum(cell, '[]')"),
    ("outputs", "body = 'x', digest = checksum(cell, 'x')"),
    ("scores", "width = 0, digest = checksum(cell, signature, 0, units, unusable)"),
    ("scores", "unusable = '[', digest = checksum(cell, signature, width, units, '[')"),
    ("costs", "seconds = 'x'"), ("costs", "learner = x'ff'"), ("costs", "ended = 'x'"), ("traces", "points = '[[['"),
])  # fmt: skip
def test_rows_that_no_report_could_read_are_not_merged(tmp_path: Path, ledger: Ledger, table: str, change: str):
    with Ledger(tmp_path / "other.db") as other:
        other.finish(cell("a"), replace(finished(), traces={"loss": [(1, 0.5)]}))
        other.db.execute(f"UPDATE {table} SET {change}")
    assert merge(ledger, tmp_path / "other.db") == Merged(1)
    counts = {name: len(ledger.db.execute(f"SELECT * FROM {name}").fetchall()) for name in KEPT}
    assert counts == {name: int(name != table) for name in KEPT}


def test_a_ledger_is_not_merged_with_itself_or_with_nothing(tmp_path: Path, ledger: Ledger):
    for path in (ledger.path, tmp_path / "typo.db"):
        with pytest.raises(LedgerError, match="can't be merged with itself"):
            merge(ledger, path)
    assert not (tmp_path / "typo.db").exists()


def test_scores_and_costs_are_those_of_the_answers_that_are_kept(ledger: Ledger):
    ledger.finish(cell("c", "m", 0), finished("first"))
    late = replace(finished("second"), cost=Cost(seconds=9), scores={"newer": (np.zeros((4, 1)), {})})
    with ledger.writing():
        ledger.db.execute("DELETE FROM costs")
    ledger.finish(cell("c", "m", 0), late)
    assert kept_score(ledger, "c", "newer") is None
    assert ledger.costs() == []


def test_a_late_failure_leaves_the_claim_of_another_alone(ledger: Ledger, monkeypatch: pytest.MonkeyPatch):
    ledger.claim(["c"], "slow")
    with monkeypatch.context() as expired:
        expired.setattr(ledgers, "EXPIRES", -1.0)
        assert ledger.claim(["c"], "other") == ["c"]
    ledger.fail("c", "slow", "failed", WHY, "late")
    assert ledger.states() == {"c": "claimed"}
    assert ledger.claim(["c"], "third") == []
    ledger.fail("c", "other", "failed", WHY, "in time")
    assert ledger.ended("failed") == {"c": (WHY, "in time")}


def test_a_note_of_any_text_is_kept(ledger: Ledger):
    failed(ledger, "c", "half of a character: \ud800, and a whole one: 标")
    assert ledger.ended("failed") == {"c": (WHY, r"half of a character: \ud800, and a whole one: 标")}


def beat_at(ledger: Ledger, seconds: float) -> None:
    ledger.claim(["a"], "one")
    with ledger.writing():
        ledger.db.execute("UPDATE cells SET beat = ?", (time.time() + seconds,))


@pytest.mark.parametrize(("ahead", "won"), [(2 * EXPIRES, ["a"]), (EXPIRES / 2, []), (-EXPIRES / 2, [])])
def test_a_heartbeat_far_in_the_future_keeps_no_claim(ledger: Ledger, ahead: float, won: list[str]):
    beat_at(ledger, ahead)  # as after the clock was set back
    assert ledger.states() == ({} if won else {"a": "claimed"})
    assert ledger.claim(["a"], "two") == won


def lose_result(ledger: Ledger, id_: str) -> None:
    with ledger.writing():
        ledger.db.execute("DELETE FROM results WHERE cell = ?", (id_,))


def test_a_cell_that_is_done_without_a_result_is_done_again(ledger: Ledger):
    ledger.finish(cell("a"), finished("lost"))
    ledger.keep_scores([("a", "newer", (np.ones((4, 1)), {}))])
    lose_result(ledger, "a")
    assert (ledger.states(), ledger.done(["a"])) == ({}, set())
    assert ledger.claim(["a"], "me") == ["a"]
    ledger.finish(cell("a"), finished("new"))
    body: Any = ledger.result("a")
    assert body["sets"]["query"]["answers"][0] == "new"
    assert kept_score(ledger, "a", "newer") is None  # it was of the answers that are lost


def test_a_cell_that_is_done_without_a_result_can_be_skipped(ledger: Ledger):
    ledger.finish(cell("a"), finished())
    lose_result(ledger, "a")
    ledger.skip(["a"], WHY)
    assert ledger.states() == {"a": "skipped"}


def spoil(path: Path, table: str) -> None:
    """Overwrite the first page of a table."""
    with closing(sqlite3.connect(path)) as db:
        (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    content = bytearray(path.read_bytes())
    content[(page - 1) * size : page * size] = b"\xff" * size
    path.write_bytes(content)


def test_of_two_ledgers_the_damaged_one_is_blamed(tmp_path: Path, ledger: Ledger):
    with Ledger(tmp_path / "other.db") as other:
        other.finish(cell("a"), finished())
    spoil(tmp_path / "other.db", "results")
    with pytest.raises(LedgerError, match=r"damaged .*other\.db"):
        merge(ledger, tmp_path / "other.db")
    assert ledger.states() == {}


def test_a_ledger_is_for_its_owner_alone(tmp_path: Path):
    with Ledger(tmp_path / "new" / "ledger.db") as made:
        made.finish(cell("a"), finished())
        modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "new").iterdir()}
    assert {"ledger.db", "ledger.db-wal"} <= set(modes)
    assert set(modes.values()) == {0o600}


def test_what_a_killed_run_left_in_its_log_is_read_where_nothing_can_be_written(tmp_path: Path, monkeypatch):
    with Ledger(tmp_path / "ledger.db") as killed:
        killed.finish(cell("a"), finished())
        (tmp_path / "received").mkdir()
        for name in ("ledger.db", "ledger.db-wal"):
            shutil.copy(tmp_path / name, tmp_path / "received" / name)
    before = {path.name: path.read_bytes() for path in (tmp_path / "received").iterdir()}
    monkeypatch.setattr(os, "access", lambda *_: False)
    with Ledger(tmp_path / "received" / "ledger.db") as read:
        assert not read.writable
        assert read.states() == {"a": "done"}
    assert {path.name: path.read_bytes() for path in (tmp_path / "received").iterdir()} == before


def test_an_empty_file_is_no_ledger_and_stays_as_it_is_unless_a_run_is_about_to_fill_it(tmp_path: Path):
    path = tmp_path / "ledger.db"
    path.touch()
    with pytest.raises(LedgerError, match="not a ledger of taskloom"):
        Ledger(path)
    assert [(one.name, one.stat().st_size) for one in tmp_path.iterdir()] == [("ledger.db", 0)]
    with Ledger(path, filling=True) as ledger:
        assert ledger.states() == {}
    with Ledger(path) as ledger:
        assert ledger.about("made_by")


@pytest.mark.parametrize("kept", ["a\0b", "x" * 5000, "nowhere"])
def test_a_folder_that_can_not_be_is_blamed_on_the_ledger(ledger: Ledger, kept: str):
    ledger.keep_about(study_folder=kept, suite_folder=kept)
    for name, must_exist in (("study_folder", False), ("suite_folder", True)):
        with pytest.raises(LedgerError) as error:
            ledger.about_folder(name, must_exist=must_exist)
        assert error.value.note.code == "ledger-folder-missing"
        assert str(ledger.path) in str(error.value)
    ledger.keep_about(study_folder="/no/longer/there", suite_folder=".")
    assert ledger.about_folder("study_folder", must_exist=False) == "/no/longer/there"
    assert ledger.about_folder("suite_folder", must_exist=True) == "."


def test_a_ledger_that_another_process_is_about_to_fill_is_waited_for(tmp_path: Path):
    path = tmp_path / "ledger.db"
    path.touch()

    def fill() -> None:
        with Ledger(path, filling=True):
            pass

    filler = threading.Timer(0.3, fill)
    filler.start()
    with Ledger(path) as ledger:
        assert ledger.states() == {}
    filler.join()


def test_keys_in_errors_are_masked(ledger: Ledger, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "sk-0123456789")
    ledger.claim(["a"], "me")
    ledger.fail("a", "me", "failed", Note.of("error", text="no: sk-0123456789"), "Traceback: sk-0123456789")
    ((why, trace),) = ledger.ended("failed").values()
    assert (str(why), trace) == ("no: (key)", "Traceback: (key)")


@pytest.mark.parametrize("key", ['pass"word-1', "back\\slash-1", "1234567890"])
def test_keys_are_masked_in_answers_outputs_and_errors_before_they_are_written_as_json(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, key: str
):
    monkeypatch.setenv("SOME_PASSWORD", key)
    number = "(key)" if key == "1234567890" else 1234567890
    told = SetAnswers(answers=[key, (f"x {key}",), 1234567890], items=["i", "j", "k"], rows=[0, 1, 2], pool="all")
    found = Finished(sets={"query": told}, outputs={"query": {"raw": [key]}}, cost=Cost())
    ledger.finish(cell("a"), found)
    assert (ledger.result("a") or {})["sets"]["query"]["answers"] == ["(key)", ["x (key)"], number]
    assert ledger.outputs("a") == {"query": {"raw": ["(key)"]}}
    ledger.claim(["b"], "me")
    ledger.fail("b", "me", "failed", Note.of("error", text=f"no: {key}"), f"Traceback: {key!r}")
    ((why, trace),) = ledger.ended("failed").values()
    assert str(why) == "no: (key)"
    assert key not in trace
    assert "(key)" in trace


@pytest.mark.parametrize("answer", ["a" * 20_000_000, "ab" * 10_000_000])
def test_what_packs_to_next_to_nothing_is_read_again(ledger: Ledger, answer: str):
    scores: dict[str, Score] = {"accuracy|v:1": (np.zeros((3_000_000, 1)), {})}
    told = SetAnswers(answers=[answer], items=["i"], rows=[0], pool="all")
    found = Finished(sets={"query": told}, outputs={"query": {"raw": [answer]}}, scores=scores, cost=Cost())
    assert found.body() == found.body()
    ledger.finish(cell("a"), found)
    assert (ledger.result("a") or {})["sets"]["query"]["answers"] == [answer]
    assert ledger.outputs("a") == {"query": {"raw": [answer]}}
    kept: Any = kept_score(ledger, "a", "accuracy|v:1")
    assert kept[0].shape == (3_000_000, 1)


def test_an_answer_that_could_not_be_read_again_is_refused(refused):
    answer: Any = "a"
    for _ in range(95):
        answer = (answer,)
    of = SetAnswers(answers=[answer], items=["i"], rows=[0], pool="all")
    Finished(sets={"query": of}, cost=Cost()).body()
    with refused(LearnerError, "answer-too-deep", most=100):
        Finished(sets={"query": replace(of, answers=[(((((answer,),),),),)])}, cost=Cost()).body()


def test_a_state_without_a_result_is_not_taken_over(tmp_path: Path, ledger: Ledger):
    with Ledger(tmp_path / "other.db") as other:
        for id_ in ("a", "b"):
            other.finish(cell(id_), finished())
        lose_result(other, "a")
    assert merge(ledger, tmp_path / "other.db") == Merged(1)
    assert ledger.states() == {"b": "done"}
    assert ledger.claim(["a"], "me") == ["a"]


def test_a_flipped_byte_of_the_index_never_gives_the_answers_of_another_cell(tmp_path: Path):
    path = tmp_path / "x.db"
    with Ledger(path) as ledger:
        ledger.keep_plan(0, "all", "{}", [cell("cell-1"), cell("cell-2")])
        for id_ in ("cell-1", "cell-2"):
            ledger.finish(cell(id_), finished(id_))
        (page,) = ledger.db.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_results_1'"
        ).fetchone()
    content = bytearray(path.read_bytes())
    at = content.index(b"cell-2", 4096 * (page - 1))
    content[at + 5 : at + 6] = b"3"  # cell-2 has no entry now, and what is no cell has its row
    path.write_bytes(content)
    with Ledger(path) as ledger:
        with pytest.raises(LedgerError, match=r"damaged cell in .*run the study again.*: cell-3"):
            ledger.result("cell-3")
        assert [id_ for id_, _ in ledger.bodies(0)] == ["cell-1"]
        assert discard_damaged(ledger, ["cell-1", "cell-2", "cell-3"]) == ()  # the index is made anew of the rows
        assert [id_ for id_, _ in ledger.bodies(0)] == ["cell-1", "cell-2"]
        body: Any = ledger.result("cell-2")
        assert body["sets"]["query"]["answers"][0] == "cell-2"


@pytest.mark.parametrize("table", ["results", "outputs", "keys"])
def test_what_is_damaged_is_told_by_its_cell_and_dropped_to_be_run_again(ledger: Ledger, table: str):
    for id_ in ("a", "b"):
        ledger.finish(cell(id_), finished(id_))
    name = "key" if table == "keys" else "body"
    ledger.db.execute(f"UPDATE {table} SET {name} = (SELECT {name} FROM {table} WHERE cell = 'b') WHERE cell = 'a'")
    read = {"results": ledger.result, "outputs": ledger.outputs, "keys": ledger.key}[table]
    with pytest.raises(LedgerError, match=r": a$"):
        read("a")
    assert read("b")
    assert discard_damaged(ledger, ["a", "b"]) == ("a",)
    assert ledger.states() == {"b": "done"}
    assert ledger.claim(["a", "b"], "me") == ["a"]


def test_a_damaged_score_is_not_read_and_can_be_made_again(ledger: Ledger):
    ledger.finish(cell("a"), finished())
    right = (np.array([[1.0], [0.0], [0.5], [0.25]]), {"unparsable": 1})
    ledger.db.execute("UPDATE scores SET unusable = '{}'")
    assert kept_score(ledger, "a", "accuracy|v:1") is None
    ledger.keep_scores([("a", "accuracy|v:1", right)])
    kept: Any = kept_score(ledger, "a", "accuracy|v:1")
    assert (kept[0].tolist(), kept[1]) == (right[0].tolist(), right[1])


def test_what_is_damaged_is_not_taken_over_and_gives_way(tmp_path: Path, ledger: Ledger):
    with Ledger(tmp_path / "other.db") as other:
        for id_ in ("a", "b"):
            other.finish(cell(id_), finished(f"{id_} of other"))
            ledger.finish(cell(id_), finished(f"{id_} of ours"))
        other.finish(cell("c"), finished())
        other.db.execute("UPDATE results SET body = x'00' WHERE cell IN ('b', 'c')")
    ledger.db.execute("UPDATE results SET body = x'00' WHERE cell = 'a'")
    assert merge(ledger, tmp_path / "other.db") == Merged(new=1, differ=0, damaged=2)
    assert ledger.states() == {"a": "done", "b": "done"}
    answers: Any = [ledger.result(id_) for id_ in ("a", "b")]
    assert [body["sets"]["query"]["answers"][0] for body in answers] == ["a of other", "b of ours"]


KILLED = """
import os, sys
from pathlib import Path
from taskloom.processes import new_owner
from taskloom.studies.ledger import EXPIRES, Ledger
ledger = Ledger(Path(sys.argv[1]))
ledger.claim(map(str, range(3000)), new_owner())
ledger.db.execute("PRAGMA wal_checkpoint")
ledger.claim(["one more"], new_owner())
os._exit(9)
"""


def test_a_ledger_is_looked_through_before_it_is_read(tmp_path: Path):
    path = tmp_path / "x.db"
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    Ledger(path).db.close()
    content = bytearray(path.read_bytes())
    content[-2048:] = b"\x07" * 2048  # of a page that opening does not read
    path.write_bytes(content)
    with pytest.raises(LedgerError, match=r"the ledger is damaged .*\.recover may save .*: .*x\.db"):
        Ledger(path)


@pytest.mark.parametrize("table", ["planned", "by_state"])
def test_pages_that_are_used_many_times_are_refused(ledger: Ledger, table: str):
    ledger.keep_plan(0, "d", "a", [cell(str(n), "m", n) for n in range(9)])
    ledger.claim([str(n) for n in range(9)], "me")
    ledger.db.close()
    make_endless(ledger.path, table)
    with pytest.raises(LedgerError, match=r"the ledger is damaged .*2nd reference to page"):
        Ledger(ledger.path)


def test_each_state_of_a_file_is_looked_through_once(ledger: Ledger):
    asked: list[object] = []

    def look(*given: object) -> str:
        asked.append(given)
        return ""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("taskloom.studies.ledger_file.broken_pages", look)
        os.utime(ledger.path, ns=(1, 1))
        Ledger(ledger.path).db.close()
        Ledger(ledger.path).db.close()
    assert len(asked) == 1


def test_some_cells_are_asked_about_without_reading_all(ledger: Ledger):
    ledger.finish(cell("a", "m", 0), finished())
    failed(ledger, "b")
    ledger.claim(["c"], "me")
    assert ledger.done(["a", "b", "c", "unknown"]) == {"a"}
    assert ledger.done([]) == set()


@pytest.mark.parametrize("kind", ["a folder", "a dangling link"])
def test_what_can_not_be_opened_is_refused(tmp_path: Path, kind: str):
    path = tmp_path / "ledger.db"
    path.mkdir() if kind == "a folder" else path.symlink_to(tmp_path / "missing" / "x")
    with pytest.raises(LedgerError, match="the ledger can't be opened"):
        Ledger(path)


def test_a_ledger_that_a_full_disk_has_no_room_for_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files_up_to: FilesUpTo
):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=0))
    with files_up_to(0), pytest.raises(LedgerError) as told:
        Ledger(tmp_path / "ledger.db")
    assert str(Note.of("disk-full")) in str(told.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_a_ledger_that_may_not_be_read_is_refused(tmp_path: Path):
    Ledger(tmp_path / "ledger.db").__exit__(None, None, None)
    (tmp_path / "ledger.db").chmod(0)
    with pytest.raises(LedgerError, match="the ledger can't be opened"):
        Ledger(tmp_path / "ledger.db")


@pytest.mark.parametrize("column", ["nope", "cell) SELECT cell FROM main.scores --"])
@pytest.mark.parametrize("table", ["keys", "results", "outputs", "scores", "costs"])
def test_a_ledger_with_other_columns_is_refused_by_its_own_name(
    tmp_path: Path, ledger: Ledger, table: str, column: str
):
    with Ledger(tmp_path / "theirs.db") as theirs:
        theirs.db.execute(f'ALTER TABLE {table} ADD COLUMN "{column}" TEXT')
    with pytest.raises(LedgerError, match=r"theirs\.db"):
        merge(ledger, tmp_path / "theirs.db")


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS cell, i AS trial FROM n"
FORGED = {
    "a view": f"DROP TABLE planned; CREATE VIEW planned AS {ENDLESS}",
    "a view beside the tables": f"CREATE VIEW mine AS {ENDLESS}",
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON about BEGIN DELETE FROM results; END",
    "a computed column": "ALTER TABLE about ADD COLUMN more AS (printf('%.*c', 1000000000, 'x'))",
    "no table": "DROP TABLE traces",
}


@pytest.mark.parametrize("change", FORGED)
def test_a_ledger_whose_tables_would_run_sql_of_others_is_refused(tmp_path: Path, ledger: Ledger, change: str):
    Ledger(tmp_path / "theirs.db").__exit__(None, None, None)
    with closing(sqlite3.connect(tmp_path / "theirs.db")) as db:
        db.executescript(FORGED[change])
    for use in (Ledger, lambda path: merge(ledger, path)):
        with pytest.raises(LedgerError) as refused:
            use(tmp_path / "theirs.db")
        assert refused.value.note == Note.of("ledger-tables", path=tmp_path / "theirs.db")


@pytest.mark.parametrize("owner", ["x'ff'", "7", "'host-abc-12345678'", "'host-9-'"])
def test_a_claim_whose_owner_is_damaged_is_free_when_it_expires(ledger: Ledger, owner: str):
    ledger.claim(["a"], "one")
    ledger.db.execute(f"UPDATE cells SET owner = {owner}")
    ledger.free_the_dead()
    assert (ledger.states(), ledger.claim(["a"], "two")) == ({"a": "claimed"}, [])
    with ledger.writing():
        ledger.db.execute("UPDATE cells SET beat = 0")
    assert ledger.claim(["a"], "two") == ["a"]


def test_what_sqlite_recovers_is_a_ledger(tmp_path: Path):
    with Ledger(tmp_path / "ledger.db") as made:
        made.finish(cell("a"), finished())
        made.db.execute("CREATE TABLE lost_and_found (page INTEGER, field)")
    with Ledger(tmp_path / "ledger.db") as again:
        assert again.states() == {"a": "done"}


@pytest.mark.parametrize("killed", [True, False])
def test_a_ledger_that_can_only_be_read_is_merged(tmp_path: Path, ledger: Ledger, killed: bool, monkeypatch):
    theirs = tmp_path / "theirs"
    with Ledger(tmp_path / "their.db") as made:
        made.finish(cell("a"), replace(finished(), traces={"loss": [(1, 0.5)]}))
        theirs.mkdir()
        if killed:
            for name in ("their.db", "their.db-wal"):
                shutil.copy(tmp_path / name, theirs / name)
    if not killed:
        shutil.copy(tmp_path / "their.db", theirs / "their.db")
    before = {path.name: path.read_bytes() for path in theirs.iterdir()}
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: may(path, mode) and theirs not in (path, Path(path).parent))
    assert merge(ledger, theirs / "their.db") == Merged(1)
    assert {path.name: path.read_bytes() for path in theirs.iterdir()} == before
    ledger.keep_plan(0, "all", "{}", [cell("a")])
    assert (ledger.states(), ledger.traces(0)) == ({"a": "done"}, {"a": {"loss": [(1, 0.5)]}})


@pytest.mark.parametrize("column", ["seed", "episode", "training"])
def test_planned_cells_whose_numbers_are_none_are_refused(tmp_path: Path, column: str):
    with Ledger(tmp_path / "ledger.db") as ledger:
        numbers = {"seed": 0, "episode": 0, "training": 0, column: 9e999}
        row = (0, 0, "c", "adapt", "t", "l", 1, numbers["seed"], numbers["episode"], numbers["training"], "")
        ledger.db.execute(f"INSERT INTO planned VALUES ({', '.join('?' * len(row))})", row)
        with pytest.raises(LedgerError) as refused:
            ledger.planned(0)
    assert refused.value.note.code == "ledger-damaged"


@pytest.mark.parametrize("value", ["{", "[]", "[" * 5000, '{"a": 1e', ""])
def test_what_was_kept_about_a_run_is_refused_where_it_is_damaged(tmp_path: Path, value: str):
    with Ledger(tmp_path / "ledger.db") as ledger:
        ledger.keep_about(overrides=value)
        if not value:
            assert ledger.about_json("overrides", {}) == {}
            return
        with pytest.raises(LedgerError) as refused:
            ledger.about_json("overrides", {})
    assert refused.value.note.code == "ledger-damaged"


@pytest.mark.parametrize("table", ["planned", "results", "about", "costs", "traces"])
def test_a_table_that_is_gone_is_damage(tmp_path: Path, ledger: Ledger, table: str):
    ledger.db.execute(f"DROP TABLE {table}")
    reads = {
        "planned": lambda: ledger.planned(0), "results": lambda: list(ledger.bodies(0)),
        "about": lambda: ledger.about("x"), "costs": lambda: ledger.costs_of(0), "traces": lambda: ledger.traces(0),
    }  # fmt: skip
    with pytest.raises(LedgerError, match=f"the ledger is damaged .no such table: {table}"), ledger:
        reads[table]()


@pytest.mark.parametrize(
    ("change", "read"),
    [
        ("UPDATE traces SET points = '[[1, null]]'", lambda ledger: ledger.traces(0)),
        ("UPDATE costs SET ended = 'x'", lambda ledger: ledger.times(0)),
        ("UPDATE costs SET threads = 'x'", lambda ledger: ledger.threads("a")),
        ("UPDATE cells SET state = 'failed', why = '[]'", lambda ledger: ledger.ended("failed")),
        ("UPDATE keys SET key = '[]', digest = checksum(cell, '[]')", lambda ledger: ledger.key("a")),
    ],
)
def test_rows_that_do_not_hold_what_was_written_are_refused(ledger: Ledger, change: str, read: Callable[[Ledger], Any]):
    ledger.keep_plan(0, "digest", "{}", [cell("a")])
    ledger.finish(cell("a"), replace(finished(), traces={"loss": [(1, 2.0)]}))
    ledger.db.execute(change)
    with pytest.raises(LedgerError) as refused:
        read(ledger)
    assert refused.value.note.code == "ledger-damaged"


def test_a_text_that_is_not_utf8_is_damage(ledger: Ledger):
    ledger.keep_about(suite_folder="x")
    ledger.db.execute("UPDATE about SET value = CAST(x'ff41' AS TEXT)")
    with pytest.raises(LedgerError, match="the ledger is damaged"), ledger:
        ledger.about("suite_folder")
