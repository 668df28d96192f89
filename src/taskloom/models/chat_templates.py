"""Chat templates of models, which are programs: what they may raise is refused, and so is one that does not end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from jinja2 import TemplateError

from ..errors import ModelError
from ..ids import Json
from ..messages import Note

MOST_LINES = 200_000  # that a template may run for a prompt: those of published models run some hundreds
MOST_CHARACTERS = 16 << 20  # that it may write
BROKEN = (TemplateError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError)
OWN = "<template>"  # the file that Jinja says its code is of


class _EndlessError(Exception):
    """A template that runs too long."""


def rendered(tokenizer: Any, turns: list[Json]) -> str:
    """Write a conversation by the template of a tokenizer."""
    try:
        with _budget(MOST_LINES):
            text = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    except _EndlessError:
        raise ModelError(Note.of("chat-template-endless", most=MOST_LINES)) from None
    except BROKEN as error:
        reason = f"{type(error).__name__}: {error}"[:200]
        raise ModelError(Note.of("chat-template-broken", reason=reason)) from None
    if not isinstance(text, str) or len(text) > MOST_CHARACTERS:
        raise ModelError(Note.of("chat-template-endless", most=MOST_LINES))
    return text


@contextmanager
def _budget(most: int) -> Iterator[None]:
    """Count the lines of templates that are run, and raise when there are too many; nothing else is traced."""
    left, before = most, sys.gettrace()

    def inside(frame: FrameType, event: str, arg: object) -> Callable[..., Any] | None:  # noqa: ARG001 (a tracer)
        nonlocal left
        left -= 1
        if left < 0:
            raise _EndlessError
        return inside

    def outside(frame: FrameType, event: str, arg: object) -> Callable[..., Any] | None:
        return inside(frame, event, arg) if frame.f_code.co_filename == OWN else None

    sys.settrace(outside)
    try:
        yield
    finally:
        sys.settrace(before)
