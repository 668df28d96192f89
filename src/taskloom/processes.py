"""Processes: names for what they claim, and children that import nothing from the working folder."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from .folders import is_alive

SAFE_PATH = "PYTHONSAFEPATH"
DRIVERS = (signal.SIGINT, signal.SIGTERM)  # signals that workers leave to the process that started them


def new_owner() -> str:
    """Make a name for what this process claims, which says where it runs."""
    return f"{os.uname().nodename}-{os.getpid()}-{uuid.uuid4().hex[:8]}"


def is_gone(owner: str) -> bool:
    """Tell an owner of this machine whose process is no longer there."""
    host, pid, _ = owner.rsplit("-", 2) if owner.count("-") >= 2 else ("", "0", "")
    return host == os.uname().nodename and not is_alive(int(pid))


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
    before = signal.pthread_sigmask(signal.SIG_BLOCK, DRIVERS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def leave_signals() -> None:
    """Leave signals to the process that started this one."""
    for number in DRIVERS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, DRIVERS)


def own_safe_path() -> str:
    """Give what the user has set for this; nothing where it is not set."""
    return os.environ.get(SAFE_PATH, "")


def restore(before: str) -> None:
    """Set what the user has set, so that programs which a learner starts are started as ever."""
    if before:
        os.environ[SAFE_PATH] = before
    else:
        os.environ.pop(SAFE_PATH, None)
