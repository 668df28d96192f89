"""Processes: names for what they claim, signals, and children that import nothing from the working folder."""

from __future__ import annotations

import errno
import os
import re
import signal
import termios
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TypeVar

from .errors import UsageError
from .messages import Note

T = TypeVar("T")
SAFE_PATH = "PYTHONSAFEPATH"
AWAKE = 0.1  # seconds after which a thread that waits looks for signals
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # signals that end a command; workers leave them to its process


def new_owner() -> str:
    """Make a name for what this process claims, which says where it runs; it can be part of a file's name."""
    return f"{_place()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"


def is_gone(owner: object) -> bool:
    """Tell an owner whose process is no longer there; of one that may run elsewhere, or is damaged, it isn't known."""
    return isinstance(owner, str) and left_by_the_dead(owner) == ""


def left_by_the_dead(name: str) -> str | None:
    """Give what stands before the owner that a name ends with, where that is known to be gone."""
    found = re.fullmatch(rf"(.*?)-?{re.escape(_place())}-([0-9]{{1,40}})-\w{{8}}", name)
    return found[1] if found and not _is_alive(int(found[2])) else None


@cache
def _place() -> str:
    """Name where processes have numbers of their own: a machine, and a container of it."""
    host, container = re.sub(r"[^\w.-]", "_", os.uname().nodename), 0
    with suppress(OSError):  # a system without containers
        container = Path("/proc/self/ns/pid").stat().st_ino
    return f"{host}-{container}"


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):  # none has such a number
        return False
    except OSError:
        return True
    return True


def number_in_environment(variable: str, default: int, *, least: int = 0) -> int:
    """Read an integer that a launcher such as torchrun has set, or refuse what is not one."""
    if not (given := os.environ.get(variable, "").strip()):
        return default
    if not re.fullmatch("[0-9]{1,9}", given) or int(given) < least:
        raise UsageError(Note.of("variable-not-a-number", variable=variable, least=least, given=given[:40]))
    return int(given)


def rank_among_several() -> int:
    """Number this process among those that a launcher has started to work together; alone it is 0."""
    size = number_in_environment("WORLD_SIZE", 1, least=1)
    rank = number_in_environment("RANK", 0) if size > 1 else 0
    if rank >= size:
        raise UsageError(Note.of("rank-too-large", rank=rank, size=size))
    return rank


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let signals end the process at once, while it waits in compiled code that would not look at them."""
    is_main = threading.current_thread() is threading.main_thread()  # which alone may say what signals do
    before = {number: signal.signal(number, signal.SIG_DFL) for number in ENDING if is_main}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def safe_path() -> Iterator[None]:
    """Start Python without the working folder on its path in what is done meanwhile; it is started with `-c` else."""
    before = own_safe_path()
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        restore(before)


@contextmanager
def signals_held() -> Iterator[None]:
    """Hold signals back while workers are started: they hold them too, until they say that they ignore them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def leave_signals() -> None:
    """Leave signals to the process that started this one."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


def ending_signals() -> list[signal.Signals]:
    """Give the signals that end this process: under nohup, the end of a terminal does not."""
    return [number for number in ENDING if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN]


def leave_terminal() -> None:
    """Write to nothing where the terminal is gone: each message would be an error, and end what is being cleaned up."""
    for stream in (1, 2):
        if _is_hung_up(stream):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)


def _is_hung_up(stream: int) -> bool:
    try:
        termios.tcgetattr(stream)
    except termios.error as error:
        return bool(error.args[0] == errno.EIO)
    return False


def answering_signals(work: Callable[[threading.Event], T]) -> T:
    """Do what may be long in compiled code in a thread, so that signals are answered meanwhile.

    Where one ends the wait, the work is asked to stop; it does so when it is back in Python, or ends with the process.
    """
    stop, done = threading.Event(), Future[T]()

    def run() -> None:
        try:
            done.set_result(work(stop))
        except BaseException as error:
            done.set_exception(error)

    if threading.current_thread() is not threading.main_thread():  # to which no signal comes
        return work(stop)
    try:
        threading.Thread(target=run, daemon=True).start()
        while not wait([done], AWAKE).done:
            pass  # the system may give a signal to any thread, and Python answers in this one
        return done.result()
    finally:
        stop.set()


def own_safe_path() -> str:
    """Give what the user has set for this; nothing where it is not set."""
    return os.environ.get(SAFE_PATH, "")


def restore(before: str) -> None:
    """Set what the user has set, so that programs which a learner starts are started as ever."""
    if before:
        os.environ[SAFE_PATH] = before
    else:
        os.environ.pop(SAFE_PATH, None)
