"""Chat templates of models, which are programs: what they may raise is refused, and so is one that does not end."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

from jinja2 import TemplateError
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from ..errors import ModelError
from ..ids import Json
from ..messages import Note

MOST_LINES = 200_000  # that a template may run for a prompt: those of published models run some hundreds
MOST_CHARACTERS = 16 << 20  # that it may write
MOST_MEMORY = 1 << 29  # bytes that it may take, beside what the process has
MOST_BITS = 4096  # of an integer: what is larger takes for ever to multiply
SIZE = Path("/proc/self/statm")
BROKEN = (
    TemplateError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError, MemoryError,
)  # fmt: skip
OWN = "<template>"  # the file that Jinja says its code is of


class _EndlessError(Exception):
    """A template that runs too long."""


class _Sandbox(ImmutableSandboxedEnvironment):
    """Refuses to make integers that are out of all proportion; no line is run meanwhile that could be counted."""

    intercepted_binops = frozenset({"*", "**"})

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Multiply, or raise to a power."""
        if isinstance(left, int) and isinstance(right, int):
            bits = left.bit_length() * max(right, 1) if operator == "**" else left.bit_length() + right.bit_length()
            if bits > MOST_BITS:
                raise SecurityError(f"an integer of more than {MOST_BITS:,} bits")
        return super().call_binop(context, operator, left, right)


@cache
def _settle_sandbox() -> None:
    """Have transformers run templates in our sandbox: it makes one by this name, which it can't be given."""
    from transformers.utils import chat_template_utils

    vars(chat_template_utils)["ImmutableSandboxedEnvironment"] = _Sandbox


def rendered(tokenizer: Any, turns: list[Json]) -> str:
    """Write a conversation by the template of a tokenizer."""
    _settle_sandbox()
    try:
        with _budget(MOST_LINES), _room(MOST_MEMORY):
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


@contextmanager
def _room(most: int) -> Iterator[None]:
    """Limit the memory that the process may take meanwhile, where the system says how much it has."""
    before = soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limits = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
    if SIZE.exists():
        limits.append(int(SIZE.read_text().split()[0]) * resource.getpagesize() + most)
    resource.setrlimit(resource.RLIMIT_AS, (min(limits, default=soft), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
