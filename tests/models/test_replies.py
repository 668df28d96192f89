from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from taskloom.errors import ModelError, ModelUnavailableError
from taskloom.messages import Note
from taskloom.models import Decoding
from taskloom.models.api import Api
from taskloom.models.replies import NAME, Price, Replies

if TYPE_CHECKING:
    from tests.conftest import Refused
    from tests.models.conftest import Server

NONE, MOST, COST = Price(0, 0.0), Price(10, 0.5), Price(3, 0.25)
GOOD = (200, {"choices": [{"text": "绿\ud800"}]})
SPENDER = """
import sys
from pathlib import Path
from taskloom.errors import ModelUnavailableError
from taskloom.models.replies import Price, Replies
replies, won = Replies(Path(sys.argv[1])), 0
try:
    while True:
        key = f"{sys.argv[2]}-{won}"
        if replies.set_aside(key, "m", Price(1, 0.0), Price(200, 0.0)):
            replies.keep(key, "m", (200, {}), Price(1, 0.0), Price(1, 0.0))
            won += 1
except ModelUnavailableError:
    print(won)
"""
ASKER = """
import sys
from pathlib import Path
from taskloom.models import Decoding
from taskloom.models.api import Endpoint
model = Endpoint(load=sys.argv[1], token_budget=10_000, concurrency=4).open(Path(sys.argv[2]))
model.generate([f"question {n}" for n in range(40)], Decoding(tokens=8))
"""


@pytest.fixture
def replies(tmp_path: Path) -> Iterator[Replies]:
    made = Replies(tmp_path / NAME)
    yield made
    made.close()


def test_a_reply_is_found_again_and_costs_what_it_did(replies: Replies):
    assert replies.find("k") is None
    assert replies.set_aside("k", "m", MOST, NONE)
    assert replies.spent("m") == MOST
    assert replies.keep("k", "m", GOOD, COST, MOST) == GOOD
    assert replies.find("k") == GOOD
    assert replies.spent("m") == COST
    assert replies.spent("other") == NONE


def test_what_another_process_has_under_way_is_waited_for(replies: Replies, tmp_path: Path):
    other = Replies(tmp_path / NAME)
    assert replies.set_aside("k", "m", MOST, NONE)
    assert not other.set_aside("k", "m", MOST, NONE)
    assert other.set_aside("another", "m", MOST, NONE)
    replies.keep("k", "m", GOOD, COST, MOST)
    assert not other.set_aside("k", "m", MOST, NONE)
    assert other.find("k") == GOOD
    other.close()


@pytest.mark.parametrize("end", ["given back", "written off", "gone", "late"])
def test_what_ended_without_a_reply_is_asked_again(replies: Replies, tmp_path: Path, end: str):
    other = Replies(tmp_path / NAME)
    assert replies.set_aside("k", "m", MOST, NONE, seconds=-1 if end == "late" else 600)
    if end == "gone":
        place = replies.owner.rsplit("-", 2)[0]
        replies.db.execute("UPDATE under_way SET owner = ?", (f"{place}-{2**22 + 1}-abcdefgh",))
    elif end == "given back":
        replies.give_back("k", "m", MOST)
    elif end == "written off":
        replies.write_off("k")
    assert other.set_aside("k", "m", MOST, NONE)
    assert other.spent("m") == (MOST if end == "given back" else Price(20, 1.0))  # it may have been paid for
    other.close()


def test_a_budget_waits_for_what_is_under_way_and_may_cost_less(replies: Replies, refused: Refused):
    budget = Price(12, 0.0)
    assert replies.set_aside("a", "m", MOST, budget)
    assert not replies.set_aside("b", "m", MOST, budget)
    replies.keep("a", "m", GOOD, Price(1, 0.0), MOST)
    assert replies.set_aside("b", "m", MOST, budget)
    assert not replies.set_aside("c", "m", MOST, budget)
    replies.keep("b", "m", GOOD, Price(2, 0.0), MOST)
    with refused(ModelUnavailableError, "token-budget-spent", budget=12, spent=3, most=10):
        replies.set_aside("c", "m", MOST, budget)


def test_replies_are_for_their_owner_alone(replies: Replies, tmp_path: Path):
    replies.set_aside("k", "m", MOST, NONE)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert set(modes) >= {NAME, f"{NAME}-wal"}
    assert set(modes.values()) == {0o600}


def test_a_file_that_its_owner_shares_stays_shared(tmp_path: Path):
    (tmp_path / NAME).touch()
    (tmp_path / NAME).chmod(0o640)
    Replies(tmp_path / NAME).close()
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o640


def test_what_is_given_back_was_not_spent(replies: Replies):
    replies.set_aside("k", "m", MOST, NONE)
    replies.give_back("k", "m", MOST)
    assert replies.spent("m") == NONE


def test_a_budget_is_used_up_to_the_last_token_and_cent(replies: Replies, refused: Refused):
    budget = Price(20, 1.0)
    for key in ("a", "b"):
        assert replies.set_aside(key, "m", MOST, budget)
        replies.keep(key, "m", GOOD, MOST, MOST)
    with refused(ModelUnavailableError, "budget-spent", budget=1.0, spent=1.0, most=0.001):
        replies.set_aside("c", "m", Price(0, 0.001), budget)
    with refused(ModelUnavailableError, "token-budget-spent", budget=20, spent=20, most=1):
        replies.set_aside("c", "m", Price(1, 0.0), budget)
    assert replies.spent("m") == Price(20, 1.0)


def test_threads_share_a_budget(replies: Replies):
    def spend(number: int) -> int:
        return replies.set_aside(str(number), "m", Price(1, 0.0), Price(20, 0.0))

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(spend, range(60))) == 20


def test_processes_share_a_budget_and_lose_nothing(tmp_path: Path):
    command = [sys.executable, "-c", SPENDER, str(tmp_path / NAME)]
    children = [subprocess.Popen([*command, str(n)], stdout=subprocess.PIPE, text=True) for n in range(2)]
    won = [int(child.communicate(timeout=60)[0]) for child in children]
    assert [child.returncode for child in children] == [0, 0]
    assert sum(won) == 200
    again = Replies(tmp_path / NAME)
    assert again.spent("m") == Price(200, 0.0)
    assert all(again.find(f"{n}-{k}") for n in range(2) for k in range(won[n]))
    again.close()


def test_what_was_under_way_when_a_run_was_killed_stays_set_aside(
    endpoint: Server, api: Callable[..., Api], tmp_path: Path, until: Callable[[Callable[[], bool]], None]
):
    endpoint.hold_after = 6
    command = [sys.executable, "-c", ASKER, f"api:tiny@{endpoint.url}", str(tmp_path)]
    with subprocess.Popen(command) as child:
        try:
            until(lambda: len(endpoint.received) >= 10 and kept(tmp_path) == 6)
        finally:
            child.send_signal(signal.SIGKILL)
    endpoint.release()
    model = api(token_budget=10_000)
    under_way = model.replies.spent(model.model).tokens - 3 * 6
    most = len("question 0") + 64 + 8
    assert under_way >= 4 * most
    assert under_way % most == 0
    answers = model.generate([f"question {n}" for n in range(40)], Decoding(tokens=8))
    assert [answer.text for answer in answers if answer] == [str(n) for n in range(40)]
    assert len(endpoint.prompts()) == len(set(endpoint.prompts())) == 40


def kept(folder: Path) -> int:
    if not (folder / NAME).exists():
        return 0
    db = sqlite3.connect(folder / NAME)
    try:
        return int(db.execute("SELECT count(*) FROM replies").fetchone()[0])
    except sqlite3.OperationalError:  # not made yet
        return 0
    finally:
        db.close()


def fill(replies: Replies) -> None:
    (pages,) = replies.db.execute("PRAGMA page_count").fetchone()
    replies.db.execute(f"PRAGMA max_page_count = {pages}")


def test_a_full_disk_is_told_and_leaves_what_was_kept(replies: Replies, refused: Refused):
    replies.set_aside("k", "m", MOST, NONE)
    fill(replies)
    with refused(ModelUnavailableError, "replies-not-kept", reason=Note.of("disk-full")):
        replies.keep("k", "m", (200, {"text": "x" * 100_000}), COST, MOST)
    assert replies.find("k") is None
    assert replies.spent("m") == MOST
    assert replies.db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_reply_that_can_not_be_kept_was_paid_for_all_the_same(api: Callable[..., Api], endpoint: Server):
    endpoint.answer = lambda _: "x" * 100_000
    model = api(token_budget=1000)
    model.replies.set_aside("k", model.model, Price(1, 0.0), NONE)
    fill(model.replies)
    with pytest.raises(ModelUnavailableError, match="disk is full"):
        model.generate(["a"], Decoding(tokens=8))
    assert model.replies.spent(model.model).tokens == 1 + len("a") + 64 + 8


@pytest.mark.parametrize("content", [b"no data base at all, but long enough to be read", b"\x01" * 4096])
def test_what_is_no_data_base_is_refused_and_left_as_it_is(tmp_path: Path, content: bytes):
    (tmp_path / NAME).write_bytes(content)
    with pytest.raises(ModelError, match="replies can't be stored"):
        Replies(tmp_path / NAME)
    assert (tmp_path / NAME).read_bytes() == content


def test_a_file_with_a_view_that_never_ends_is_refused(tmp_path: Path):
    Replies(tmp_path / NAME).close()
    with closing(sqlite3.connect(tmp_path / NAME)) as db:
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS key, i AS status FROM n"
        db.executescript(f"DROP TABLE replies; CREATE VIEW replies AS {endless}")
    with pytest.raises(ModelError, match="other tables"):
        Replies(tmp_path / NAME)


def test_a_folder_is_made_where_there_is_none(tmp_path: Path):
    Replies(tmp_path / "a" / "b" / NAME).close()
    assert (tmp_path / "a" / "b" / NAME).is_file()
