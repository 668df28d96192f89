"""Keys and passwords, which are kept nowhere: they are masked in whatever is stored, however they are written."""

from __future__ import annotations

import html
import json
import math
import os
import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus, unquote

MASK = "(key)"
SECRET = re.compile(  # how variables end that hold one
    r"(^|_)(API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)$", re.IGNORECASE
)
ADDRESS = re.compile(r"(//|^)([^\s/]+)@(?=[^\s/@])")  # with who asks before the host: `//user:password@host`
PATH = re.compile(r"~?/|\.\.?/")  # how a path begins
NUMBER = re.compile(r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?")
SHORTEST = 8  # characters: whatever is shorter may be a word of any text
SHORTEST_LINE = 16  # of a key of several lines, such as a certificate's
LONGEST_NUMBER = 400  # digits
LONGEST_WORD = 15  # letters of what may be a word, a label say, and not a key
LOST = "\ufffd"  # what stands for a byte that is no text

_read: set[str] = set()  # keys that were read in this process, whatever their variables are called


def key_of(variable: str) -> str:
    """Read a key from the environment; from now on it is masked."""
    key = os.environ.get(variable, "").strip()
    if len(key) >= SHORTEST:
        _read.add(key)
    return key


def masked(text: str) -> str:
    """Write a text without the keys that this process knows: those it has read, and those of the environment."""
    return _keys(_known()).masked(text)


def masked_all(value: Any) -> Any:
    """Mask the texts and numbers of a JSON value, names included, however they were escaped where it came from.

    Mask values, and write them after that: in JSON, a key with a quote is another text, and a number may be a key.
    """
    keys = _keys(_known())
    return keys.masked_all(value) if keys.forms else value


# --- which keys there are --------------------------------------------------------------------------------------------


def _known() -> frozenset[str]:
    """Give the keys that were read, and those of variables that are named as such, or hold an address with one."""
    found = set(_read)
    for name, value in os.environ.items():
        if SECRET.search(name) and not _is_path(value.strip()) and not is_word(value.strip()):
            found.add(value.strip())
        if "@" in value:
            found |= {*_in_address(value)}
    return frozenset(key for key in found if len(key) >= SHORTEST)


def _is_path(value: str) -> bool:
    """Tell the path of something that is there, which is no key, whatever its variable is called."""
    try:
        return bool(PATH.match(value)) and Path(value).expanduser().exists()
    except (OSError, RuntimeError):  # too long a name, or no home
        return False


def is_word(value: str) -> bool:
    """Tell a value that may be a word of any text, such as a label: masked, it would be an answer that is lost.

    >>> [is_word(value) for value in ("positive", "POSITIVE", "correcthorsebattery", "h7ksq0vw", "sEcReTiVe")]
    [True, True, False, False, False]
    """
    is_plain = value in (value.lower(), value.upper(), value.capitalize())
    return value.isalpha() and is_plain and len(value) <= LONGEST_WORD


def _in_address(value: str) -> Iterator[str]:
    """Find who asks, and with which password, in an address, such as that of a proxy.

    >>> [*_in_address("http://me:geheim-123@proxy:3128")], [*_in_address("me@example.org")]
    (['//me:geheim-123@', 'me:geheim-123', 'geheim-123'], [])
    """
    for slashes, who in ADDRESS.findall(value):
        user, _, password = who.partition(":")
        if slashes:
            yield f"//{who}@"
        if password:
            parts = dict.fromkeys([who, password, unquote(password)])
            yield from (part for part in parts if part not in (user, unquote(user)))


# --- how they are written --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Keys:
    """Keys in all their forms."""

    forms: tuple[str, ...]  # the longest first
    numbers: frozenset[float]  # keys that are numbers too

    def masked(self, text: str) -> str:
        for form in self.forms:
            if form in text:  # far quicker than a pattern of all of them
                text = text.replace(form, MASK)
        return text

    def masked_all(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.masked(value)
        if isinstance(value, list | tuple):
            kinds = str | list | tuple | dict | float | int if self.numbers else str | list | tuple | dict
            return [self.masked_all(one) if isinstance(one, kinds) else one for one in value]
        if isinstance(value, dict):
            return {self.masked_all(name): self.masked_all(one) for name, one in value.items()}
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return MASK if is_number and value in self.numbers else value


@cache
def _keys(keys: frozenset[str]) -> _Keys:
    """Write some keys in all their forms."""
    parts = {part for key in keys for part in (key, *_lines(key))}
    forms = {form for part in parts for form in _forms(part) if len(form.replace(LOST, "")) >= SHORTEST}
    as_numbers = {key for key in keys if len(key) <= LONGEST_NUMBER and _is_long_number(key)}
    numbers = {float(key) for key in as_numbers} | {int(key) for key in as_numbers if key.isdecimal()}
    longest_first = tuple(sorted(forms, key=lambda form: (-len(form), form)))
    return _Keys(longest_first, frozenset(filter(math.isfinite, numbers)))


def _is_long_number(key: str) -> bool:
    """Tell a number of many digits that count: 0, 1 and 1,000,000 are numbers of any answer, however they are written.

    >>> [_is_long_number(key) for key in ("12345678", "-1234.5678", "00000001", "1e000000", "1000000000", "١٢٣٤٥٦٧٨")]
    [True, True, False, False, False, False]
    """
    digits = re.sub(r"[eE].*|\D", "", key).strip("0")
    return key.isascii() and bool(NUMBER.fullmatch(key)) and len(digits) >= SHORTEST


def _lines(key: str) -> list[str]:
    """Give the lines of a key that has several, but for words and for the marks where certificates begin and end."""
    lines = [line.strip() for line in key.splitlines()]
    return [ln for ln in lines if len(ln) >= SHORTEST_LINE and not ln.startswith("-----") and len(ln.split()) == 1]


def _forms(key: str) -> list[str]:
    """Write a key in all ways in which it is masked."""
    data = key.encode("utf-8", "surrogateescape")  # a variable need not be UTF-8
    others = [html.escape(key), data.decode("utf-8", "replace"), data.decode("latin-1"), data.hex(), data.hex().upper()]
    return [key, *escaped(key), *quoted(data), *in_base64(data), *others]


def escaped(key: str) -> list[str]:
    r"""Write a key as it stands in JSON, and in what Python shows of a text.

    >>> escaped('a"b/c')
    ['a\\"b/c', 'a\\"b\\/c', 'a\\"b/c', 'a"b/c', 'a"b/c']
    """
    data = key.encode("utf-8", "surrogateescape")
    ascii_json = json.dumps(key)[1:-1]
    shown = [repr(key)[1:-1], repr(data)[2:-1]]
    return [ascii_json, ascii_json.replace("/", "\\/"), json.dumps(key, ensure_ascii=False)[1:-1], *shown]


def quoted(data: bytes) -> list[str]:
    """Write a key as it stands in an address, with digits of either case.

    >>> quoted(b"a/b c")
    ['a%2Fb%20c', 'a/b%20c', 'a%2Fb+c', 'a%2fb%20c', 'a/b%20c', 'a%2fb+c']
    """
    found = [quote(data, safe=""), quote(data), quote_plus(data)]
    return [*found, *(re.sub("%..", lambda digits: digits[0].lower(), form) for form in found)]


def in_base64(key: bytes) -> list[str]:
    """Write a key in base64 wherever it begins in what was encoded, such as after `user:`; in both alphabets.

    >>> in_base64(b"sk-secret")
    ['c2stc2VjcmV0', 'NrLXNlY3Jld', 'zay1zZWNyZX']
    """
    found = []
    for before in range(3):
        data = b"\0" * before + key
        begin, end = -(-8 * before // 6), 8 * len(data) // 6  # only letters that are of the key alone
        found.append(b64encode(data).decode()[begin:end])
    return list(dict.fromkeys([*found, *(form.replace("+", "-").replace("/", "_") for form in found)]))
