"""The files of a tokenizer, looked through before they are loaded: a few words in them can ask for any time and memory.

Limits are many times what tokenizers have that are published.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from math import inf, prod
from pathlib import Path
from typing import Any, TypeAlias

from ..errors import ModelError
from ..limits import parse_json
from ..messages import Note
from .plausible import values_in

Check: TypeAlias = "Callable[[Any], Iterator[tuple[str, float]]]"  # what is wrong with a file, and how much

LARGEST = 128 << 20  # bytes of a file: a million words take 60 MB
MOST_ADDED = 100_000  # tokens that are added to a vocabulary one by one
MOST_OBJECTS = 5 * MOST_ADDED  # of JSON, in a file: one for each token that is added
LONGEST_TEXT = 10_000  # characters of a token, a pattern or what one is replaced by
LONGEST_TEMPLATE = 1 << 20  # characters of a chat template
LONGEST_PIECE = 1_000  # characters: each place of a text is compared with pieces of all lengths
LONGEST_WORD = 1_000  # characters of a word that is looked up part by part
MOST_PARTS = 10_000  # values of what is done before and after the vocabulary is looked up
MOST_GROWTH = 200  # times the length of a text that it may have once it is normalised
MOST_AROUND = 1_000  # tokens that are put around a text
TEXTS = (".json", ".txt", ".jinja", ".model", ".spm", ".codes", ".tokenizer")
CHARACTERS = "precompiled_charsmap"  # what characters are replaced by, in base64
MADE = re.compile("extra_ids|offset|madeup")  # how settings are called that so many tokens are made for
TEMPLATES = ("chat_template", "template")


def refuse_costly_tokenizer(folder: Path) -> None:
    """Refuse a folder whose tokenizer would take far more time or memory than any that is of use."""
    for file in sorted(folder.iterdir()):
        if file.is_file() and file.suffix in TEXTS:
            about = file.stat()
            _refuse_costly(file, about.st_size, about.st_mtime_ns)


@lru_cache(maxsize=256)
def _refuse_costly(file: Path, size: int, changed: int) -> None:  # noqa: ARG001 (a changed file is looked at again)
    if size > LARGEST:
        raise _costly("its size", size, file)
    check = _check_of(file.name)
    if check is None:
        return
    try:
        data = file.read_bytes()
        if (objects := data.count(b"{")) > MOST_OBJECTS:  # before they are read
            raise _costly("objects", objects, file)
        found = parse_json(data, parse_int=int)  # 10^30 is what some have for an endless text
    except (OSError, ValueError) as error:  # no library may read what was not checked
        raise ModelError(Note.of("tokenizer-unreadable", reason=str(error)[:200], path=file)) from None
    if fault := next(check(found), None):
        raise _costly(*fault, file)


def _check_of(name: str) -> Check | None:
    if name in CHECKS:
        return CHECKS[name]
    return tokenizer_faults if name.startswith("tokenizer") and name.endswith(".json") else None


def _costly(what: str, value: object, file: Path) -> ModelError:
    return ModelError(Note.of("tokenizer-costly", what=what, value=value, path=file))


# --- settings --------------------------------------------------------------------------------------------------------


def settings_faults(settings: Any) -> Iterator[tuple[str, float]]:
    """Find numbers of tokens, and texts, that no tokenizer has: what they stand for is made one by one."""
    counts: Counter[str] = Counter()
    for name, value in values_in(settings):
        counts[name] += 1
        size = len(value) if isinstance(value, str) else abs(value)
        if size > _most(name, value):
            yield name, size
    yield from ((name, count) for name, count in counts.items() if count > MOST_ADDED)
    if counts.total() > 10 * MOST_ADDED:  # a few things are said of each
        yield "values", counts.total()


def _most(name: str, value: str | float) -> float:
    """Say how long a text of this name may be, or how large a number."""
    if isinstance(value, str):
        return LONGEST_TEMPLATE if name in TEMPLATES else LONGEST_TEXT
    return MOST_ADDED if MADE.search(name) else inf


def added_faults(added: Any) -> Iterator[tuple[str, float]]:
    """Find more tokens, each with its number, than are added."""
    if isinstance(added, Mapping) and len(added) > MOST_ADDED:
        yield "tokens", len(added)


# --- tokenizer.json --------------------------------------------------------------------------------------------------


def tokenizer_faults(found: Any) -> Iterator[tuple[str, float]]:
    """Find what the library tokenizers would take very long for, at once or at every text."""
    if not isinstance(found, Mapping):
        return
    for part in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
        values = list(values_in(found.get(part)))
        if len(values) > MOST_PARTS:
            yield part, len(values)
        yield from _long_texts(part, values)
    for part in ("normalizer", "decoder"):
        if (growth := growth_of(found.get(part))) > MOST_GROWTH:
            yield part, growth
    if (around := tokens_around(found.get("post_processor"))) > MOST_AROUND:
        yield "post_processor", around
    added = found.get("added_tokens")
    if isinstance(added, list) and len(added) > MOST_ADDED:
        yield "added_tokens", len(added)
    yield from _long_texts("added_tokens", values_in(added))
    if isinstance(model := found.get("model"), Mapping):
        yield from _model_faults(model)


def _long_texts(part: str, values: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, float]]:
    texts = (value for name, value in values if isinstance(value, str) and name != CHARACTERS)
    return ((part, len(text)) for text in texts if len(text) > LONGEST_TEXT)


def _model_faults(model: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Find words that are looked up part by part for too long."""
    word, pieces = model.get("max_input_chars_per_word"), model.get("vocab")
    if isinstance(word, int) and word > LONGEST_WORD:
        yield "max_input_chars_per_word", word
    pairs = pieces if isinstance(pieces, list) else []  # of a unigram model: a piece and its score
    longest = max((len(pair[0]) for pair in pairs if isinstance(pair, list) and isinstance(pair[0], str)), default=0)
    if longest > LONGEST_PIECE:
        yield "vocab", longest


def growth_of(steps: Any) -> int:
    """Say how many times its length a text may have once it is normalised, or decoded, by what parts are replaced by.

    >>> growth_of({"type": "Replace", "pattern": {"String": " "}, "content": "▁"})
    1
    >>> doubled = {"type": "Replace", "pattern": {"Regex": ""}, "content": "a"}
    >>> growth_of({"type": "Sequence", "normalizers": [doubled] * 10})
    1024
    """
    if not isinstance(steps, Mapping):
        return 1
    found = {
        "Replace": len(str(steps.get("content", ""))) + _matches_nothing(steps.get("pattern")),
        "ByteLevel": 2,  # a letter may be two bytes
        "Precompiled": _longest_replacement(str(steps.get(CHARACTERS) or "")),
    }.get(str(steps.get("type")), 1)
    inner = steps.get("normalizers") or steps.get("decoders")
    return max(1, found) * prod(map(growth_of, inner if isinstance(inner, list) else ()))


def _matches_nothing(pattern: Any) -> bool:
    """Tell a pattern that may match between two characters, so that what is put there stands beside them."""
    return not (isinstance(pattern, Mapping) and isinstance(text := pattern.get("String"), str) and text)


def _longest_replacement(packed: str) -> int:
    """Count the characters of the longest text that one is replaced by: after a tree, these lie one after the other."""
    try:
        data = b64decode(packed)
    except ValueError:
        return 1
    texts = data[4 + int.from_bytes(data[:4], "little") :].split(b"\0")
    return max(len(text.decode("utf-8", "replace")) for text in texts)


def tokens_around(steps: Any) -> int:
    """Count the tokens that are put around each text."""
    if not isinstance(steps, Mapping):
        return 0
    inner = steps.get("processors")
    found = sum(map(tokens_around, inner)) if isinstance(inner, list) else 0
    special = steps.get("special_tokens")
    sizes = {
        str(name): len(ids)
        for name, of in (special.items() if isinstance(special, Mapping) else ())
        if isinstance(of, Mapping) and isinstance(ids := of.get("ids"), list)
    }
    named = [value for part in ("single", "pair") for name, value in values_in(steps.get(part)) if name == "id"]
    return found + sum(sizes.get(str(name), 1) for name in named)


CHECKS: Mapping[str, Check] = {
    "tokenizer_config.json": settings_faults,
    "special_tokens_map.json": settings_faults,
    "added_tokens.json": added_faults,
}
