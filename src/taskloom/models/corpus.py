"""Texts to pre-train on: from files, the catalogue, the hub or a suite, each text once."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core import Suite
from ..errors import SourceError, UnknownNameError
from ..ids import shuffled
from ..messages import Note
from ..sources import rows
from ..sources.files import RowFaults, format_of, refuse_missing
from ..texts import without_surrogates

FIELD = "text"  # of a table, where none is named
BETWEEN = "\n"  # the fields of a row
TERMS = "; "
LOOK_AHEAD = 1000  # rows after which a field that never came is taken to be misnamed
BLOCK = 1000  # examples of a suite that are read at once
HELD_OUT, MOST_HELD_OUT = 20, 256  # one text of so many is held out, and no more than these


@dataclass(frozen=True, slots=True)
class Corpus:
    """Texts, each of them once, and what was dropped or is to be known of them, by code."""

    texts: tuple[str, ...]
    counts: Mapping[str, int]

    @property
    def digest(self) -> str:
        """Name the texts by their content."""
        made = hashlib.blake2b(digest_size=16)
        for text in self.texts:
            raw = text.encode()
            made.update(len(raw).to_bytes(8, "little") + raw)
        return made.hexdigest()

    def split(self, held_out: int | None, seed: int) -> tuple[list[str], list[str]]:
        """Give the texts to learn from, and those that are held out: so many, or a twentieth."""
        usual = min(MOST_HELD_OUT, -(-len(self.texts) // HELD_OUT))
        count = usual if held_out is None else held_out
        if count >= len(self.texts):
            raise SourceError(Note.of("texts-all-held-out", texts=len(self.texts), held_out=count))
        order = list(shuffled(len(self.texts), "held-out", seed))
        apart = {*order[:count]}
        kept = [text for number, text in enumerate(self.texts) if number not in apart]
        return kept, [self.texts[number] for number in sorted(apart)]


def read(sources: Sequence[str], fields: Sequence[str] = ()) -> Corpus:
    """Read the texts of files (.txt, or tables with these fields), `data:NAME`, `hub:NAME`, or folders of suites."""
    counts: Counter[str] = Counter()
    found = gathered((text for source in sources for text in _texts(source, tuple(fields), counts)), counts)
    if not found.texts:
        raise SourceError(Note.of("texts-missing", sources=list(sources)))
    return found


def gathered(texts: Iterable[str], counts: Counter[str] | None = None) -> Corpus:
    """Keep each text once; empty ones and duplicates are counted, beside what was counted before."""
    counts = Counter() if counts is None else counts
    found: dict[str, None] = {}
    for given in texts:
        text = without_surrogates(given).strip()
        counts["text-empty"] += not text
        counts["text-duplicate"] += text in found
        found |= {text: None} if text else {}
    return Corpus(tuple(found), {code: count for code, count in counts.items() if count})


def _texts(source: str, fields: tuple[str, ...], counts: Counter[str]) -> Iterable[str]:
    is_named = source.startswith(("data:", "hub:"))
    if not is_named and Path(source).is_dir():
        from ..suites.store import open_suite

        return _of_suite(open_suite(Path(source)), fields, counts)
    is_plain = not is_named and Path(source).is_file() and format_of(Path(source)) == "txt"
    return _of_table(source, (FIELD,) if is_plain else fields or (FIELD,))


def _of_table(source: str, fields: tuple[str, ...]) -> Iterator[str]:
    """Yield a text a row: its fields, one below the other."""
    faults, seen = RowFaults(), set[str]()
    for number, (_, row) in enumerate(rows(source, faults), 1):
        seen |= row.keys()
        if number == LOOK_AHEAD:
            refuse_missing(fields, seen, faults.shown)
        yield BETWEEN.join(text for field in fields if (text := _written(row.get(field))))
    refuse_missing(fields, seen, faults.shown)
    faults.settle()


def _written(value: Any) -> str:
    """Write a value of a table; a list as its terms."""
    if value is None or value != value:  # a number that is missing is NaN
        return ""
    return TERMS.join(map(_written, value)) if isinstance(value, list | tuple) else str(value).strip()


def _of_suite(suite: Suite, fields: tuple[str, ...], counts: Counter[str]) -> Iterator[str]:
    """Yield the inputs of every task, from the pool that it may be learnt from; of a single pool, test items too."""
    seen: set[str] = set()
    for task in suite.tasks:
        parts = suite.parts(task)
        pool = suite.pools[task][parts["support"]]
        counts["texts-of-test-items"] += len(pool) if parts["support"] == parts["query"] else 0
        for at in range(0, len(pool), BLOCK):
            for example in pool.take(range(at, min(at + BLOCK, len(pool)))):
                seen |= example.item.fields.keys()
                yield from (text for name, text in example.item.fields.items() if not fields or name in fields)
    for field in fields:
        if seen and field not in seen:
            raise UnknownNameError("field", field, seen)
