"""What the columns of a table hold, guessed from its rows: texts, labels, lists, numbers, ids or a split; and why."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from ..limits import parse_json
from ..messages import Note
from ..texts import CJK, number_text
from .files import Row
from .splits import TEST, TRAIN, pool_of
from .table import Kind

Holds: TypeAlias = Kind | Literal["id", "split", "unused"]
LOOKED_AT = 50_000  # rows of each file
MOST_LABELS = 1000
MOST_NUMBERED = 200  # labels that are integers
LABEL_CHARACTERS, LABEL_WORDS = 100, 6  # a label has no more, the words on average
RARE = 0.05  # share of rows under which a column is not used
SEPARATORS = {"; ": 4.0, "|": 4.0, ",": 2.5}  # between the terms of a list -> words that these have on average at most
IDS = re.compile(r"(?i)(.*[\W_])?(id|ids|uid|uuid|guid|idx|index|key|doi|pmid)|[a-z]+(Id|ID)")
LABELS = re.compile(
    r"(?i)(.*[\W_])?(labels?|class(es)?|category|target|y|gold|answer|rating|stars?|score|sentiment|intent|tag|topic|type)"
)
DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ].*)?|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}")
CHINESE, KANA = re.compile(f"[{CJK}]"), re.compile("[\u3040-\u30ff]")


@dataclass(frozen=True, slots=True)
class Guess:
    """What a column is taken for, and why."""

    column: str
    holds: Holds
    why: Note
    separator: str = ""  # of a list that is written as one text
    language: str = ""  # of texts, where it is known by its script
    pools: Mapping[str, str] = field(default_factory=dict)  # of a split, where its own values do not say it


@dataclass(slots=True)
class _Column:
    """What is seen of a column."""

    name: str
    rows: int
    values: list[Any]  # that are filled

    @property
    def texts(self) -> list[str]:
        return [value if isinstance(value, str) else _written(value) for value in self.values]

    def are(self, *kinds: type) -> bool:
        return all(isinstance(value, kinds) for value in self.values)


def guess(rows: Iterable[Row]) -> list[Guess]:
    """Guess what each column of a table holds; of several ids or splits, the first is one."""
    listed = list(rows)
    names = dict.fromkeys(name for row in listed for name in row)
    found: list[Guess] = []
    for name in names:
        values = [value for row in listed if not _is_empty(value := row.get(name))]
        one = _guess(_Column(name, len(listed), values))
        if one.holds in ("id", "split") and any(one.holds == other.holds for other in found):
            one = Guess(name, "unused", Note.of("guess-second", kind=one.holds))
        found.append(one)
    return found


def _guess(of: _Column) -> Guess:
    for look in (_unusable, _split, _id, _list, _number, _label, _text):
        if one := look(of):
            return one
    raise AssertionError


def _unusable(of: _Column) -> Guess | None:
    """Find columns that no task can use."""
    if len(of.values) < max(1.0, RARE * of.rows):
        return Guess(of.name, "unused", Note.of("guess-empty", filled=len(of.values), of=of.rows))
    plain = (str, int, float)
    if not all(isinstance(v, plain) or (isinstance(v, list) and all(isinstance(t, str) for t in v)) for v in of.values):
        kinds = sorted({type(value).__name__ for value in of.values})
        return Guess(of.name, "unused", Note.of("guess-nested", kinds=kinds))
    if not of.are(list) and any(isinstance(value, list) for value in of.values):
        return Guess(of.name, "unused", Note.of("guess-mixed"))
    distinct = Counter(map(str, of.values))
    if len(distinct) == 1 and of.rows > 1:
        return Guess(of.name, "unused", Note.of("guess-constant", value=_short(next(iter(distinct)))))
    for code, pattern in (("guess-addresses", re.compile(r"https?://\S+")), ("guess-dates", DATE)):
        if of.are(str) and all(pattern.fullmatch(value.strip()) for value in of.values):
            return Guess(of.name, "unused", Note.of(code))
    return None


def _split(of: _Column) -> Guess | None:
    """Find the column whose values are names of splits, training rows among them and others."""
    values = {value: pool_of(value) for value in dict.fromkeys(of.texts)}
    if len(of.values) < of.rows or not all(values.values()) or TRAIN not in values.values() or len(values) < 2:
        return None
    why = Note.of("guess-split", values=list(values))
    if TEST in values.values():
        return Guess(of.name, "split", why)
    return Guess(of.name, "split", why, pools={value: TEST for value, pool in values.items() if pool != TRAIN})


def _id(of: _Column) -> Guess | None:
    texts = of.texts
    if of.are(list) or len(texts) < of.rows or len(set(texts)) < len(texts) or not of.name.strip():
        numbers = of.are(int, str) and texts == [str(n + int(texts[0] == "1")) for n in range(len(texts))]
        return Guess(of.name, "unused", Note.of("guess-row-numbers")) if numbers and not of.name.strip() else None
    if IDS.fullmatch(of.name):
        return Guess(of.name, "id", Note.of("guess-id-name", count=len(texts)))
    is_code = all(len(text) <= 64 and re.fullmatch(r"[\w.:/-]*\d[\w.:/-]*", text) for text in texts)
    is_number = all(_as_number(value) is not None for value in of.values)
    if is_code and len(texts) > 1 and not is_number:
        return Guess(of.name, "id", Note.of("guess-id-values", count=len(texts)))
    return None


def _list(of: _Column) -> Guess | None:
    if of.are(list):
        return Guess(of.name, "list", Note.of("guess-list", terms=sum(map(len, of.values)) / len(of.values)))
    if not of.are(str):
        return None
    if all(value.lstrip().startswith("[") and _is_terms(value) for value in of.values):
        return Guess(of.name, "list", Note.of("guess-list-json"))
    for separator, most in SEPARATORS.items():
        parts = [[part for part in value.split(separator.strip()) if part.strip()] for value in of.values]
        several = sum(len(terms) > 1 for terms in parts)
        words = [_words(part) for terms in parts for part in terms]
        distinct = len({part.strip() for terms in parts for part in terms})
        dense = several >= 0.6 * len(parts) and len(words) >= 2 * len(parts) and distinct < len(words)
        if dense and sum(words) <= most * len(words) and max(words) <= 2 * LABEL_WORDS:
            why = Note.of("guess-list-separator", separator=separator, several=several, of=len(parts))
            return Guess(of.name, "list", why, separator=separator)
    return None


def _number(of: _Column) -> Guess | None:
    numbers = [_as_number(value) for value in of.values]
    if any(number is None for number in numbers):
        return None
    distinct = len({*numbers})
    few = distinct <= 2 or (distinct <= MOST_NUMBERED and LABELS.fullmatch(of.name))
    if few and 2 * distinct <= len(numbers) and all(number == int(number) for number in numbers if number is not None):
        return Guess(of.name, "label", Note.of("guess-label-numbers", labels=distinct))
    known = [number for number in numbers if number is not None]
    return Guess(
        of.name, "number", Note.of("guess-number", least=number_text(min(known)), most=number_text(max(known)))
    )


def _label(of: _Column) -> Guess | None:
    texts = [" ".join(text.split()) for text in of.texts]
    counts = Counter(texts)
    repeats = 1.5 if LABELS.fullmatch(of.name) else 2.0 if len(texts) < 100 else 3.0
    short = max(map(len, counts)) <= LABEL_CHARACTERS and sum(map(_words, counts)) <= LABEL_WORDS * len(counts)
    if short and len(counts) <= MOST_LABELS and len(texts) >= repeats * len(counts):
        (most, count), *_ = counts.most_common(1)
        return Guess(of.name, "label", Note.of("guess-label", labels=len(counts), most=_short(most), count=count))
    return None


def _text(of: _Column) -> Guess:
    words = sum(map(_words, of.texts)) / len(of.values)
    return Guess(of.name, "text", Note.of("guess-text", words=words), language=_language(of.texts))


def _language(texts: Sequence[str]) -> str:
    """Tell Chinese and Japanese by their script; of other languages, nothing."""
    sample = "".join(texts[:500])
    if len(CHINESE.findall(sample)) < 0.3 * len(sample):
        return ""
    return "ja" if len(KANA.findall(sample)) > 0.05 * len(sample) else "zh"


def _words(text: str) -> int:
    """Count words, and two characters of writing without spaces as one."""
    return len(text.split()) + len(CHINESE.findall(text)) // 2


def _is_empty(value: Any) -> bool:
    return value is None or value == [] or value != value or (isinstance(value, str) and not value.strip())


def _as_number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = str(value).strip()
    number = float(text) if re.fullmatch(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", text, re.ASCII) else math.inf
    return number if math.isfinite(number) else None


def _written(value: Any) -> str:
    return number_text(value) if isinstance(value, float) else str(value)


def _is_terms(text: str) -> bool:
    try:
        found = parse_json(text)
    except ValueError:
        return False
    return isinstance(found, list) and all(isinstance(term, str) for term in found)


def _short(text: str) -> str:
    return text if len(text) <= 30 else f"{text[:27]}..."
