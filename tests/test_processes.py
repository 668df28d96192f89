from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from taskloom.errors import UsageError
from taskloom.processes import (
    answering_signals,
    is_gone,
    left_by_the_dead,
    new_owner,
    number_in_environment,
    rank_among_several,
)


@pytest.fixture(scope="module")
def gone() -> str:
    command = "from taskloom.processes import new_owner; print(new_owner())"
    return subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True).stdout.strip()


def test_an_owner_is_gone_when_its_process_has_ended(gone: str):
    assert is_gone(gone)
    assert not is_gone(new_owner())
    assert left_by_the_dead(f".my-suite-{gone}") == ".my-suite"
    assert left_by_the_dead(f".my-suite-{new_owner()}") is None


def test_an_owner_of_another_machine_or_container_is_not_known_to_be_gone(gone: str):
    host, container, process, rest = gone.rsplit("-", 3)
    assert host == "".join(sign if sign.isalnum() or sign in "._-" else "_" for sign in os.uname().nodename)
    others = [f"elsewhere-{container}-{process}-{rest}", f"{host}-1{container}-{process}-{rest}", f"x{gone}"]
    old = [f"{host}-{process}-{rest}", f"{process}-{rest}", "", "--", "a-b-c-d"]  # of earlier versions, or damaged
    assert not any(map(is_gone, [*others, *old]))


@pytest.mark.parametrize("number", ["9" * 30, "9" * 5000, "²", "-1"])
def test_numbers_that_no_process_has_are_no_errors(gone: str, number: str):
    place = gone.rsplit("-", 2)[0]
    assert is_gone(f"{place}-{number}-abcdefgh") == (number == "9" * 30)


class Told(BaseException):
    """A signal came."""


def test_what_is_done_in_a_thread_is_given_back_or_raised() -> None:
    assert answering_signals(lambda _: threading.current_thread() is threading.main_thread()) is False
    with pytest.raises(ZeroDivisionError):
        answering_signals(lambda _: 1 // 0)


def test_in_a_thread_nothing_more_is_started() -> None:
    found: list[bool] = []

    def work() -> None:
        own = threading.current_thread()
        found.append(answering_signals(lambda _: threading.current_thread() is own))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [True]


def test_a_signal_is_answered_at_once_and_the_work_is_told_to_stop() -> None:
    def tell(*_: object) -> None:
        raise Told

    begun, stopped = threading.Event(), threading.Event()

    def work(stop: threading.Event) -> None:
        begun.set()
        stop.wait(60)
        stopped.set()

    def send() -> None:
        begun.wait(60)
        os.kill(os.getpid(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, tell)
    threading.Thread(target=send).start()
    start = time.monotonic()
    try:
        with pytest.raises(Told):
            answering_signals(work)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert stopped.wait(60)
    assert time.monotonic() - start < 30


@pytest.mark.parametrize("given", ["abc", "-1", "1.5", "9" * 30, "٣", "0"])
def test_a_variable_that_is_no_such_number_is_refused_by_its_name(monkeypatch, refused, given: str):
    monkeypatch.setenv("WORLD_SIZE", given)
    with refused(UsageError, "variable-not-a-number", variable="WORLD_SIZE", least=1):
        number_in_environment("WORLD_SIZE", 1, least=1)


def test_a_variable_that_is_empty_is_not_set(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", " ")
    assert number_in_environment("WORLD_SIZE", 1, least=1) == 1


def test_the_rank_counts_among_several_processes_alone(monkeypatch, refused):
    monkeypatch.setenv("RANK", "abc")  # whatever has set it, this process is alone
    assert rank_among_several() == 0
    monkeypatch.setenv("WORLD_SIZE", "2")
    with refused(UsageError, "variable-not-a-number", variable="RANK"):
        rank_among_several()
    monkeypatch.setenv("RANK", "2")
    with refused(UsageError, "rank-too-large", rank=2, size=2):
        rank_among_several()
    monkeypatch.setenv("RANK", "1")
    assert rank_among_several() == 1
