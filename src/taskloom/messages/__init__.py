"""Messages: each is a code with values; their texts are in the modules of this package, by topic, and nowhere else.

Codes are stored, compared and decided by. Rewording a message changes no id and no stored byte.

A text names its values in braces: {task!r}, {names} for a list, {count:row} for "3 rows", and others of `FORMS`.
What follows a bar is written only where the values are known: notes of one code are counted together, without them.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .data import DOCUMENTS, FUNCTIONS, GUESSES, LABELLED, LEXICA, ROWS, TABLES
from .faults import FAULT_TEXTS
from .general import ANSWERS, GENERAL
from .learners import ASKING, COUNTS, LEARNERS, PROMPTS
from .models import ENDPOINTS, MODELS, PRETRAINING, WEIGHTS
from .reports import FINDINGS, REPORTS, SCORES
from .studies import CHALLENGES, CLUSTER, EPISODES, PEOPLE, PLANNING, STUDIES, TRANSFER

TOPICS: tuple[Mapping[str, str], ...] = (
    GENERAL, ANSWERS, ROWS, LABELLED, DOCUMENTS, TABLES, GUESSES, FUNCTIONS, COUNTS, STUDIES, SCORES, TRANSFER, PROMPTS,
    ASKING, REPORTS, FINDINGS, LEARNERS, EPISODES, MODELS, ENDPOINTS, WEIGHTS, PRETRAINING, PEOPLE, CHALLENGES, LEXICA,
    PLANNING, CLUSTER, FAULT_TEXTS,
)  # fmt: skip
TEXTS = {code: text for topic in TOPICS for code, text in topic.items()}
FIELD = "field"  # the value that names the field of an answer that a note is about


@dataclass(frozen=True, slots=True)
class Note:
    """A message: a code, and its values in the order of their names."""

    code: str
    values: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, code: str, **values: Any) -> Note:
        """Make a note; values are texts, numbers, other notes, and lists of these; anything else is kept as its text.

        >>> Note.of("label-unknown", given="'maybe'").values
        (('given', "'maybe'"),)
        """
        return cls(code, tuple((name, _plain(values[name])) for name in sorted(values)))

    def of_field(self, name: str) -> Note:
        """Add the field of an answer that the note is about.

        >>> str(Note.of("empty-output").of_field("title"))
        'title: empty output'
        """
        return replace(self, values=tuple(sorted({**dict(self.values), FIELD: name}.items())))

    @property
    def key(self) -> str:
        """Give what notes are counted by: the code, and the field where there is one."""
        field = dict(self.values).get(FIELD)
        return f"{field}/{self.code}" if field else self.code

    def to_json(self) -> dict[str, Any]:
        """Write a note as JSON; `from_json` reads it back."""
        return {"code": self.code, "values": {name: _to_json(value) for name, value in self.values}}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Note:
        """Read what `to_json` wrote."""
        return cls(kept["code"], tuple((name, _from_json(value)) for name, value in sorted(kept["values"].items())))

    def __str__(self) -> str:
        """Render the text; a code without one, or with the values of another release, is shown as it is."""
        values = dict(self.values)
        text, _, more = TEXTS.get(self.code, "").partition("|")
        template = text + more if values.keys() - {FIELD} else text
        try:
            shown = WORDS.vformat(template, (), values) if template else self._bare()
        except (LookupError, ValueError, TypeError):
            shown = self._bare()
        return f"{values[FIELD]}: {shown}" if FIELD in values and f"{{{FIELD}" not in template else shown

    def _bare(self) -> str:
        values = ", ".join(f"{name}: {value}" for name, value in self.values if name != FIELD)
        return f"{self.code} ({values})" if values else self.code


def text_of(key: str) -> str:
    """Render what was counted by a note's key; a key without a text, such as a learner's own, is shown as it is.

    >>> text_of("title/label-unknown"), text_of("rhymes")
    ('title: label not declared', 'rhymes')
    """
    field, _, code = key.rpartition("/")
    return str(Note(code).of_field(field)) if field and code in TEXTS else str(Note(key))


def counted_notes(notes: Mapping[Note, int]) -> list[dict[str, Any]]:
    """Write counts as JSON.

    >>> counted_notes({Note.of("row-faulty"): 2, Note.of("not-converged"): 0})
    [{'code': 'row-faulty', 'values': {}, 'count': 2}]
    """
    return [note.to_json() | {"count": count} for note, count in notes.items() if count]


def counted_text(kept: Sequence[Mapping[str, Any]]) -> str:
    """Render what `counted_notes` wrote.

    >>> counted_text([{"code": "row-faulty", "values": {}, "count": 2}])
    '2 (rows with errors)'
    """
    return ", ".join(f"{one['count']:,} ({Note.from_json(one)})" for one in kept)


class _Words(string.Formatter):
    """Write values: lists with commas, `{count:row}` as "3 rows", and other named forms."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """Write a value in its form; what is neither a form nor a noun is Python's."""
        form, _, more = format_spec.partition(" ")
        if form in FORMS:
            return FORMS[form](value, more)
        if NOUN.fullmatch(format_spec):
            return f"{value:,} {format_spec}{'' if value == 1 else 's'}"
        return _listed(value) if isinstance(value, tuple) else str(super().format_field(value, format_spec))


def money(dollars: float) -> str:
    """Write an amount with two decimals, or with two digits that are not 0 where it is small.

    >>> money(1234.5), money(0.25), money(0.0004), money(0.00001234), money(0)
    ('1,234.50', '0.25', '0.00040', '0.000012', '0.00')
    """
    decimals = 2 if abs(dollars) >= 0.1 or not dollars else 1 - math.floor(math.log10(abs(dollars)))
    return f"{dollars:,.{decimals}f}"


def _listed(values: Sequence[object], most: str = "") -> str:
    """Write a list, or its first items and the number of others."""
    shown = values[: int(most)] if most else values
    texts = [text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..." for text in map(str, shown)]
    return ", ".join(texts) + FORMS["and"](len(values) - len(shown), "more") if values else "none"


def _settings(shots: Sequence[int | str]) -> str:
    """Write settings of shots.

    >>> _settings([0, 4]), _settings([1]), _settings([4, "all"]), _settings(["drawn"])
    ('0 and 4 shots', '1 shot', '4 shots and all examples', 'drawn shots')
    """
    counted = [str(n) for n in shots if n != "all"]
    noun = "shot" if counted == ["1"] else "shots"
    parts = [f"{FORMS['all'](counted, '')} {noun}"] if counted else []
    return " and ".join([*parts, *("all examples" for n in shots if n == "all")])


NOUN = re.compile("[a-z][a-z ]+")
LONGEST = 80  # characters of one thing in a list
FORMS: Mapping[str, Callable[[Any, str], str]] = {  # given the value, and what stands after the form's name
    "first": _listed,
    "all": lambda values, _: " and ".join([", ".join(values[:-1]), values[-1]] if len(values) > 1 else values),
    "or": lambda values, _: " or ".join(map(str, values)),
    "and": lambda number, what: f" and {number:,} {what}" if number else "",
    "money": lambda dollars, _: money(dollars),
    "settings": lambda shots, _: _settings(shots),
    "sizes": lambda pairs, most: _listed([f"{name} ({size:,})" for name, size in pairs], most),
}
WORDS = _Words()


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_plain(part) for part in value)
    return value if value is None or isinstance(value, str | int | float | Note) else str(value)


def _to_json(value: Any) -> Any:
    if isinstance(value, Note):
        return value.to_json()
    return [_to_json(part) for part in value] if isinstance(value, tuple) else value


def _from_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return Note.from_json(value)
    return tuple(_from_json(part) for part in value) if isinstance(value, list) else value
