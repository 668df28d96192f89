"""Ctrl-C and other signals that end a command: one is answered, and nothing interrupts the cleaning up."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """Ctrl-C, which typer would turn into an ending of its own; with a message where there is more to say."""


def handle_signals() -> None:
    """Turn a signal into an exception, so that what is half done is cleaned up."""
    for number in SIGNALS:
        signal.signal(number, _interrupted if number == signal.SIGINT else _terminated)


def ignore_signals() -> None:
    """Let nothing interrupt the cleaning up: a second Ctrl-C would be a traceback."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def end_quietly() -> None:
    """Ignore Ctrl-C while Python ends, which would be a traceback too; other signals end the process at once."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)


def _interrupted(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001 (a signal handler's arguments)
    ignore_signals()
    raise Interrupted


def _terminated(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001
    ignore_signals()
    sys.exit(128 + number)
