"""Ctrl-C and other signals that end a command: one is answered, and nothing interrupts the cleaning up."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from ..folders import remove_open_scratch
from ..processes import ending_signals, leave_terminal

SIGNALS = ending_signals()
NOTHING_KEPT = "interrupted; no partial files were kept"
IMPORTS = "<frozen importlib."  # how the files of Python's own import system are called

_message = NOTHING_KEPT


class Interrupted(BaseException):
    """Ctrl-C, which typer would turn into an ending of its own; with what to say."""


class Terminated(SystemExit):
    """A signal that asks to end, with the exit code that shells expect."""


def handle_signals() -> None:
    """Turn a signal into an exception, so that what is half done is cleaned up."""
    for number in SIGNALS:
        signal.signal(number, _answer)


@contextmanager
def interrupted_message(text: str) -> Iterator[None]:
    """Say this when Ctrl-C comes meanwhile, such as how to resume."""
    global _message  # noqa: PLW0603 (a handler of signals takes no more arguments)
    before, _message = _message, text
    try:
        yield
    finally:
        _message = before


def ignore_signals() -> None:
    """Let nothing interrupt the cleaning up: a second Ctrl-C would be a traceback."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def end_quietly() -> None:
    """Ignore Ctrl-C while Python ends, which would be a traceback too; other signals end the process at once."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)


def _answer(number: int, frame: FrameType | None) -> None:
    """Raise the exception of a signal, unless it is on its way; while a module is loaded, end at once.

    Libraries catch all that is raised while they are loaded, or crash.
    """
    if _is_on_its_way(sys.exception()):
        return
    if number == signal.SIGHUP:
        leave_terminal()
    if _is_loading(frame):
        remove_open_scratch()
        with suppress(OSError):  # a full disk behind it, or no reader
            os.write(2, f"error: {_message}\n".encode() if number == signal.SIGINT else b"")
        os._exit(128 + number)
    raise Interrupted(_message) if number == signal.SIGINT else Terminated(128 + number)


def _is_on_its_way(error: BaseException | None) -> bool:
    """Tell whether what is cleaned up after is a signal; another one would leave that half done."""
    while error and not isinstance(error, Interrupted | Terminated):
        error = error.__context__
    return error is not None


def _is_loading(frame: FrameType | None) -> bool:
    while frame and not frame.f_code.co_filename.startswith(IMPORTS):
        frame = frame.f_back
    return frame is not None
