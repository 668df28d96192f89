"""What people are told: everything that can be said is a code with values, and the words for it are here alone.

Codes are what is stored, compared and decided by. Rewording a message changes no id and no stored byte.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any

from .texts import counted

TEXTS: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Note:
    """Something that a person may be told: a code, and its values in the order of their names."""

    code: str
    values: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, code: str, **values: Any) -> Note:
        """Note something.

        >>> Note.of("draw-differs", task="a->b").values
        (('task', 'a->b'),)
        """
        return cls(code, tuple(sorted(values.items())))

    def __str__(self) -> str:
        """Put it into words; a code of somebody's own stands for itself."""
        template = TEXTS.get(self.code)
        if template is None:
            return self.code
        return _Words().vformat(template, (), dict(self.values))


class _Words(Formatter):
    """Write values for people: lists with commas, and `{count:row}` as "3 rows"."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """Write a value in its form."""
        if re.fullmatch("[a-z][a-z ]+", format_spec):
            return counted(value, format_spec)
        if isinstance(value, tuple):
            return ", ".join(map(str, value))
        return format(value, format_spec)


# --- faults of suites and task files ---------------------------------------------------------------------------------

FAULTS: Mapping[str, str] = {  # what `taskloom check` looks for: E are errors, W are warnings
    "E001": "the data is not what its digest says",
    "E101": "an example stands twice in a pool",
    "E102": "an id stands twice in a pool",
    "E103": "an answer is empty, or not of its task's form",
    "E104": "an input is empty",
    "E201": "an input is in two pools of its task",
    "E202": "a group is in two pools of its task",
    "E203": "pools of a task are neither train and test, with or without dev, nor a single one",
    "E301": "a fold names a task that is not in the suite",
    "E302": "a task has two roles in a fold",
    "E303": "tasks of two roles share a source",
    "E304": "texts of two roles overlap",
    "E401": "a task file or split list can't be read, or a field is missing, of the wrong type or not UTF-8",
    "E402": "a task file has too few or too many instances",
    "E403": "two instances of a task file have the same input or id",
    "E404": "an input or output of a task file is empty",
    "E405": "a positive example of a task file is among its instances",
    "E406": "a task is in two splits, or twice in one",
    "E407": "a key stands twice in an object of a task file",
    "E408": "instances of two task files have the same id",
    "W101": "labels are imbalanced",
    "W102": "a field is not filled in every record",
    "W103": "a term holds the separator of its list",
    "W105": "a list has one term nearly everywhere",
    "W104": "an input has several answers in a pool",
    "W401": "labels of a task file are imbalanced",
    "W402": "a task is in no split of any track",
    "W403": "a category, language or domain is not known",
    "W404": "instances of a task file have no id",
    "W405": "the output of an example is a list, of which only the first is shown",
    "W406": "a task file has no positive, or no negative example",
    "W407": "a field of a task file is empty, or its licence is missing",
}
_UNBALANCED = "normalised entropy {entropy:.2f}, above {wanted} is wanted; {label!r} has {most:,} of {of:,}"
FAULT_TEXTS = {  # by the fault's code, with a word where it has several texts
    "E001-column": "the column's digest differs from the manifest's",
    "E001-view": "the view's digest or size differs from the manifest's",
    "E001-pool": "the pool's digest differs from the manifest's",
    "E001-rows": "{rows:,} rows, and the manifest says {declared:,}",
    "E001-labels": "the labels that draws go by are not those of the answers",
    "E101": "the same content in {count:more row}: {shown}",
    "E102": "the same id in {count:more row}: {shown}",
    "E103": "{count:bad answer}: {shown}",
    "E104": "empty input in {count:row}: {shown}",
    "E201": "{count:input} in both: {shown}",
    "E202": "{count:group} in both: {shown}",
    "E203": "pools must be train and test, with or without dev, or a single one: {pools}",
    "E301": "no such task: {task}",
    "E302": "{count:task} in both: {shown}",
    "E302-held-out": "{task} is a {kind} task too",
    "E303": "{task} and {other} share a source: {sources}",
    "E304-overlap": "{task} and {other} share {share:.0%} of a text ({place} ~ {other_place})",
    "E304-equal": "{task} and {other} share a short text ({text!r}; {place} ~ {other_place})",
    "E401-name": "its name is not UTF-8: rename it",
    "E401-json": "not JSON ({reason})",
    "E401-object": "a task file is an object, not {kind}",
    "E401-half": "holds half a character (a lone surrogate)",
    "E401-size": "{bytes:,} bytes, and a file may have {most:,}",
    "E401-unreadable": "can't be read ({reason})",
    "E401-encoding": "not UTF-8 ({reason} at byte {byte}, line {line})",
    "E401-missing": "missing",
    "E401-definition": "must be a text, or a list of texts, and not empty",
    "E401-kind": "must be {wanted}, not {kind}",
    "E401-part": "must be {wanted}, not {kind} with {part}",
    "E401-no-text": "an empty list: give at least one text",
    "E402": "{count:instance}; there must be {fewest} to {most:,}",
    "E403": "the same as {other}",
    "E404": "empty",
    "E405": "stands in {other} too",
    "E406-lists": "{task} is in {one} and in {other}",
    "E406-twice": "{task} again, after [{first}]",
    "E407": "stands twice, and only the last counts",
    "E408": "the same as {other}",
    "E408-more": "the same as {other}; {more:more id} of that file too",
    "W101": _UNBALANCED,
    "W102": "{empty:,} of {of:,} records have none and are left out of the tasks that use it",
    "W103": "{separator!r} is in {count:term}: {shown}",
    "W104": "an input with another answer in {count:more row}",
    "W105": "try --separator {column}=',' or another: {shown}",
    "W401": _UNBALANCED,
    "W402": "{task} is in no split of any track",
    "W403": "not known: {name!r}; {hint}",
    "W404": "{count:instance} without an id: one is made; the first: {first}",
    "W405": "a list of {count:text} where a text is wanted: only the first is shown",
    "W406": "empty",
    "W407-missing": "missing",
    "W407-empty": "empty",
    "more": "and {count:,} more",  # in a list, after the first
}
TEXTS |= FAULT_TEXTS | {"surrogates-replaced": "answers or replies with half a character, replaced by U+FFFD"}
