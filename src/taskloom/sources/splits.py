"""Splits of a table: which rows are for training, for development and for testing, by a column or by files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..core import POOLS
from ..errors import SourceError, UnknownNameError, UsageError
from ..messages import Note
from .files import Place, Row, refuse_missing

SPLIT = ":split"  # the column of records that has the pool of each; no field can have this name
TRAIN, DEV, TEST = POOLS["support"], POOLS["dev"], POOLS["query"]
DROP = "drop"  # in the place of a pool: rows that are not used
VALUES: Mapping[str, str] = {
    "train": TRAIN, "training": TRAIN,
    "dev": DEV, "development": DEV, "valid": DEV, "validation": DEV, "val": DEV,
    "test": TEST, "testing": TEST,
}  # fmt: skip
MOST_SHOWN = 12  # values of a split column that are named in an error


def pool_of(value: str, own: Mapping[str, str] | None = None) -> str:
    """Give the pool that a value of a split column stands for; nothing where it stands for none.

    >>> pool_of(" Validation"), pool_of("fold 3", {"fold 3": "test"}), pool_of("fold 4")
    ('dev', 'test', '')
    """
    return (own or {}).get(value.strip()) or VALUES.get(value.strip().lower(), "")


def pool_in_name(path: str) -> str:
    """Give the pool that a file's name has as a word; nothing where it has none, or two.

    >>> pool_in_name("trec_train.jsonl"), pool_in_name("validation-00000-of-00001.parquet"), pool_in_name("a.csv")
    ('train', 'dev', '')
    """
    words = re.split(r"[^a-z]+", Path(path).name.partition(".")[0].lower())
    found = {VALUES[word] for word in words if word in VALUES}
    return found.pop() if len(found) == 1 else ""


@dataclass(frozen=True, slots=True)
class Split:
    """How a table is split: by a column, or by the files of each pool; by neither, it is not."""

    column: str = ""
    pools: Mapping[str, str] = field(default_factory=dict)  # value of the column -> train, dev, test or drop
    files: Mapping[str, Sequence[str]] = field(default_factory=dict)  # pool -> its files

    def __post_init__(self) -> None:
        if self.pools and not self.column:
            raise UsageError(Note.of("pools-without-split"))
        for pool in self.pools.values():
            if pool not in (*POOLS.values(), DROP):
                raise UnknownNameError("pool", pool, (*POOLS.values(), DROP))

    def tables(self, source: str) -> list[tuple[str, str]]:
        """Give each table of records, with its pool where the tables are a split."""
        files = [(file, pool) for pool in (TRAIN, DEV, TEST) for file in self.files.get(pool, ())]
        if files and (source or self.column):
            raise UsageError(Note.of("split-twice", given=source or self.column))
        return files or [(source, "")]

    def rows(self, rows: Iterator[tuple[Place, Row]], pool: str, dropped: Counter[Note]) -> Iterator[tuple[Place, Row]]:
        """Add to each row the pool that it is of; values that stand for none are refused, all at once."""
        if pool:
            return ((place, {**row, SPLIT: pool}) for place, row in rows)
        return self._by_column(rows, dropped) if self.column else rows

    def _by_column(self, rows: Iterator[tuple[Place, Row]], dropped: Counter[Note]) -> Iterator[tuple[Place, Row]]:
        unknown, seen = Counter[str](), set[str]()
        for place, row in rows:
            seen |= row.keys()
            value = "" if row.get(self.column) is None else str(row[self.column])
            pool = pool_of(value, self.pools)
            if pool == DROP:
                dropped[Note.of("row-of-split", value=value)] += 1
            elif pool:
                yield place, {**row, SPLIT: pool}
            else:
                unknown[value] += 1
        refuse_missing([self.column], seen)
        if unknown:
            values = [(repr(value), count) for value, count in unknown.most_common(MOST_SHOWN)]
            more = len(unknown) - len(values)
            raise SourceError(
                Note.of("split-unknown", column=self.column, values=values, more=more, known=list(VALUES))
            )

    def refuse_unfit(self, found: Mapping[str, int]) -> None:
        """Refuse splits that lack training or test rows."""
        missing = [pool for pool in (TRAIN, TEST) if not found.get(pool)]
        if missing and (self.column or self.files):
            raise SourceError(Note.of("split-incomplete", missing=missing, found=[*found.items()]))


NO_SPLIT = Split()
