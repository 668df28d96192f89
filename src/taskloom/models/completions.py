"""What an OpenAI-compatible endpoint answers, read with care: it may be anything."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from ..errors import ModelUnavailableError
from ..messages import Note
from ..texts import without_surrogates
from . import Odds, Reply

MANY = 1 << 40  # tokens that no request has
FARTHEST = 1e9  # from 0 that the logarithm of a probability may be
NO_LOGS = Note.of("no-log-probabilities")


def used(body: Any) -> tuple[int | None, int | None]:
    """Read how many tokens were read and written, where the endpoint says so."""
    told = body.get("usage") if isinstance(body, dict) else None
    counts = [told.get(name) if isinstance(told, dict) else None for name in ("prompt_tokens", "completion_tokens")]
    read, written = (n if isinstance(n, int) and 0 <= n < MANY else None for n in counts)
    return read, written


def is_completion(body: Any) -> bool:
    """Tell whether an answer has something in the place of what was written."""
    choices = body.get("choices") if isinstance(body, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    return isinstance(first, dict) and isinstance(first.get("message") or {}, dict)


def reply(body: Any, stops: Sequence[str]) -> Reply | None:
    """Read what a model wrote; None where it, or a filter, refused."""
    if body is None:
        return None
    choice = body["choices"][0]
    given = (choice.get("message") or {}).get("content") if "message" in choice else choice.get("text")
    if not isinstance(given, str):
        return None
    text = without_surrogates(given)
    blank = len(text) - len(text.lstrip())  # not every endpoint heeds stops
    end = min((at for stop in stops if (at := text.find(stop, blank)) >= 0 and text.strip()), default=len(text))
    ended = end < len(text) or choice.get("finish_reason") != "length"
    return Reply(text[:end], used(body)[1] or 0, ended, surrogates=text != given)


def odds(body: Any, prompt: str, option: str) -> tuple[float, int] | None:
    """Add up the log-probabilities of an option's tokens, the one that a prompt's end is part of too included."""
    if body is None:
        return None
    logs = body["choices"][0].get("logprobs")
    tokens, offsets = _all(logs, "tokens", str), _all(logs, "text_offset", int)
    values = _all(logs, "token_logprobs", int | float | None)
    if not 0 < len(tokens) == len(offsets) == len(values) or not all(map(_is_log, values)):
        raise ModelUnavailableError(NO_LOGS)
    begin, end = len(prompt), len(prompt + option)
    spans = _spans(tokens, offsets, prompt + option)
    over = [v for (a, b), v in zip(spans, values, strict=True) if b > begin and a < end and v is not None]
    if not over:
        raise ModelUnavailableError(NO_LOGS)
    return sum(over), len(over)


def _is_log(value: float | None) -> bool:
    """Tell a logarithm of a probability, or none; NaN and what no float holds are neither."""
    return value is None or abs(value) < FARTHEST


def _all(logs: Any, name: str, kind: Any) -> list[Any]:
    """Take a list of one kind of thing, or nothing."""
    found = logs.get(name) if isinstance(logs, dict) else None
    return found if isinstance(found, list) and all(isinstance(one, kind) for one in found) else []


def _spans(tokens: Sequence[str], offsets: Sequence[int], text: str) -> list[tuple[int, int]]:
    """Say where each token begins and ends in a text; the first may stand before it, and yet be counted in offsets."""
    before = "".join(tokens).find(text)
    if before < 0:  # parts of characters can't be put together; those of one begin, and so end, at the same place
        ends = dict(itertools.pairwise([*sorted(set(offsets)), len(text)]))
        return [(offset, ends[offset]) for offset in offsets]
    return list(itertools.pairwise(itertools.accumulate(map(len, tokens), initial=-before)))


def together(found: Sequence[tuple[float, int] | None]) -> Odds | None:
    """Put the odds of a prompt's options together, where all are known."""
    known = [pair for pair in found if pair is not None]
    return Odds(tuple(log for log, _ in known), tuple(n for _, n in known)) if len(known) == len(found) else None
