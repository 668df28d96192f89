"""Keys and passwords, which are kept nowhere: they are masked in whatever is stored, plain, escaped and in base64."""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from functools import cache
from typing import Any

MASK = "(key)"
SECRET = re.compile(r"(^|_)(API_?KEY|KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)  # how variables end that hold one
SHORTEST = 8  # characters: whatever is shorter may be a word of any text

_read: set[str] = set()  # keys that were read in this process, whatever their variables are called


def key_of(variable: str) -> str:
    """Read a key from the environment; from now on it is masked."""
    key = os.environ.get(variable, "").strip()
    if len(key) >= SHORTEST:
        _read.add(key)
    return key


def masked(text: str) -> str:
    """Write a text without the keys that this process knows: those it has read, and those of the environment."""
    pattern = _pattern(_known())
    return pattern.sub(MASK, text) if pattern else text


def masked_all(value: Any) -> Any:
    """Mask the texts of a JSON value, names included, however they were escaped where it came from.

    Mask values, and write them after that: in JSON, a key with a quote is another text, and a number may be a key.
    """
    pattern = _pattern(_known())
    return _masked(value, pattern) if pattern else value


def _masked(value: Any, pattern: re.Pattern[str]) -> Any:
    if isinstance(value, str):
        return pattern.sub(MASK, value)
    if isinstance(value, list | tuple):
        return [_masked(one, pattern) if isinstance(one, str | list | tuple | dict) else one for one in value]
    if isinstance(value, dict):
        return {_masked(name, pattern): _masked(one, pattern) for name, one in value.items()}
    return value


def _known() -> frozenset[str]:
    named = {value.strip() for name, value in os.environ.items() if SECRET.search(name)}
    return frozenset(_read | {value for value in named if len(value) >= SHORTEST and not value.startswith("/")})


@cache
def _pattern(keys: frozenset[str]) -> re.Pattern[str] | None:
    """Make a pattern of all forms of some keys, the longest first; None where there are none."""
    forms = {form for key in keys for form in (key, *escaped(key), *in_base64(key))}
    return re.compile("|".join(map(re.escape, sorted(forms, key=lambda form: (-len(form), form))))) if forms else None


def escaped(key: str) -> list[str]:
    r"""Write a key as it stands in JSON, and in what Python shows of a text.

    >>> escaped('a"b')
    ['a\\"b', 'a\\"b', 'a"b']
    """
    return [json.dumps(key)[1:-1], json.dumps(key, ensure_ascii=False)[1:-1], repr(key)[1:-1]]


def in_base64(key: str) -> list[str]:
    """Write a key in base64 wherever it begins in what was encoded, such as after `user:`; in both alphabets.

    >>> in_base64("sk-secret")
    ['c2stc2VjcmV0', 'NrLXNlY3Jld', 'zay1zZWNyZX']
    """
    found = []
    for before in range(3):
        data = b"\0" * before + key.encode()
        begin, end = -(-8 * before // 6), 8 * len(data) // 6  # only letters that are of the key alone
        found.append(b64encode(data).decode()[begin:end])
    return list(dict.fromkeys([*found, *(form.replace("+", "-").replace("/", "_") for form in found)]))
