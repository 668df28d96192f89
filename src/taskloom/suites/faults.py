"""A fault of a suite or a task file: a code, a place and values; and how many of a kind are shown."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..messages import Note

BALANCED, FEW_LABELS = 0.8, 15  # normalised entropy; tasks of more labels are not judged by it
SHOWN = 5  # places named for one fault of one pool
LONGEST = 80  # characters of one of them


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, and where; the note's code is the fault's, with a word where it has several texts."""

    place: str
    note: Note

    @classmethod
    def of(cls, code: str, place: str, **values: Any) -> Fault:
        """Make a fault.

        >>> str(Fault.of("E301", "default/test", task="task1"))
        'E301 default/test: unknown task: task1'
        """
        return cls(place, Note.of(code, **values))

    def __str__(self) -> str:
        return f"{self.code} {self.place}: {self.note}"

    @property
    def code(self) -> str:
        """Give the code that `taskloom check --codes` lists."""
        return self.note.code.partition("-")[0]

    @property
    def is_error(self) -> bool:
        """Tell an error from a warning."""
        return self.code.startswith("E")

    def to_json(self) -> dict[str, Any]:
        """Write a fault down; `from_json` reads it back."""
        return {"place": self.place, **self.note.to_json()}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Fault:
        """Read what `to_json` wrote."""
        return cls(kept["place"], Note.from_json(kept))


def some(values: Sequence[str], count: int | None = None) -> dict[str, Any]:
    """Give how many there are, and the first of them."""
    total = len(values) if count is None else count
    shown = (value if len(value) <= LONGEST else value[: LONGEST - 3] + "..." for value in values[:SHOWN])
    more = [Note.of("more", count=total - SHOWN)] if total > SHOWN else []
    return {"count": total, "shown": (*shown, *more)}


def doubles(code: str, place: str, values: Iterable[str], ids: Sequence[str]) -> Iterator[Fault]:
    """Look for values that occur again, and name the ids of both."""
    first: dict[str, int] = {}
    again = [(first[value], n) for n, value in enumerate(values) if first.setdefault(value, n) != n]
    if again:
        yield Fault.of(code, place, **some([f"{ids[a]} = {ids[b]}" for a, b in again[:SHOWN]], len(again)))


def imbalance(code: str, place: str, found: Sequence[str], labels: Sequence[str] = ()) -> Iterator[Fault]:
    """Judge the balance of a task's labels: those that it declares, or else those that are found, if there are few."""
    counts, total = Counter(found), len(found)
    many = len(labels or counts)
    if total > 1 and many < FEW_LABELS:
        entropy = sum(n / total * math.log(total / n) for n in counts.values()) / math.log(max(many, 2))
        if entropy <= BALANCED:
            (label, most), *_ = counts.most_common(1)
            yield Fault.of(code, place, entropy=entropy, wanted=BALANCED, label=label, most=most, of=total)
