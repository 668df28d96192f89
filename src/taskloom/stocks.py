"""What drawing episodes needs to know of a pool, read once for many of them, and the random orders of its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .core import Ints, Pool
from .errors import SuiteError
from .ids import ordered, raw_bits, shuffled
from .messages import Note

NO_CLASS = -1  # stands for all rows, where a task has no classes


@dataclass(frozen=True)
class Stock:
    """A pool to draw from, without the records that are to be avoided."""

    pool: Pool
    avoid: frozenset[int]

    @cached_property
    def labels(self) -> Ints:
        """Give each row's label."""
        return self.pool.labels()

    @cached_property
    def groups(self) -> Ints:
        """Give each row's record."""
        found = self.pool.groups()
        if len(found) != len(self.pool):
            raise SuiteError(Note.of("text-unreadable", reason=f"{len(found):,} of {len(self.pool):,} rows"))
        return found

    @cached_property
    def every(self) -> Ints:
        """Give all rows that may be drawn."""
        rows = np.arange(len(self.pool))
        return rows[~np.isin(self.groups, list(self.avoid))] if self.avoid else rows

    @cached_property
    def by_class(self) -> Mapping[int, Ints]:
        """Give the rows of each class."""
        order = np.argsort(self.labels, kind="stable")
        if self.avoid:
            order = order[~np.isin(self.groups[order], list(self.avoid))]
        codes, starts = np.unique(self.labels[order], return_index=True)
        parts = np.split(order, starts[1:])  # of nothing, one empty part
        return dict(zip(codes.tolist(), parts, strict=False))

    @cached_property
    def named(self) -> list[tuple[str, ...]]:
        """Give the labels of each row, where a row may have several."""
        return [answer if isinstance(answer, tuple) else () for answer in self.pool.golds()]  # type: ignore[misc]

    @cached_property
    def by_name(self) -> Mapping[str, Ints]:
        """Give the rows that have each label, where a row may have several."""
        found: dict[str, list[int]] = {}
        for row in self.every.tolist():
            for name in self.named[row]:
                found.setdefault(name, []).append(row)
        return {name: np.array(rows, dtype=np.int64) for name, rows in found.items()}

    @property
    def none(self) -> Ints:
        """Give no rows."""
        return np.empty(0, np.int64)

    def count_named(self, name: str) -> int:
        """Count the records that have a label, where a row may have several."""
        return len(np.unique(self.groups[self.by_name.get(name, self.none)]))

    @cached_property
    def counts(self) -> Mapping[int, int]:
        """Count the records of each class: two examples of one record are one."""
        return {label: len(np.unique(self.groups[rows])) for label, rows in self.by_class.items()}

    @cached_property
    def records(self) -> int:
        """Count all records."""
        return len(np.unique(self.groups[self.every]))

    def count(self, label: int) -> int:
        """Count the records of a class, or of all rows."""
        return self.records if label == NO_CLASS else self.counts.get(label, 0)

    def unused(self, used: set[int], order: Iterator[int], size: int) -> Iterator[int]:
        """Yield so many rows whose records are not used yet, and use them up."""
        while size and (row := next(order, None)) is not None:
            if (group := int(self.groups[row])) not in used:
                used.add(group)
                size -= 1
                yield row


@dataclass(frozen=True, slots=True)
class Key:
    """What the random streams of one episode are named by; the shots are no part of it, so that they nest."""

    seed: int
    index: int

    def order(self, stock: Stock, rows: Ints | None, role: str, label: int = NO_CLASS) -> Iterator[int]:
        """Give rows, or all there are, in the random order of a role and a class."""
        size = len(stock.pool) if rows is None else len(rows)
        places = shuffled(size, "episode", stock.pool.digest, self.seed, self.index, role, label)
        return places if rows is None else (int(rows[place]) for place in places)

    def dealt(self, stock: Stock, label: int, first: int) -> Iterator[int]:
        """Give the rows of a class, or all, in random order; that of the first so many is found fast."""
        rows = stock.every if label == NO_CLASS else stock.by_class.get(label, np.empty(0, np.int64))
        return (int(rows[place]) for place in ordered(len(rows), first, *self._name(stock, "deal"), label))

    def mixed(self, stock: Stock, rows: Sequence[int], role: str) -> list[int]:
        """Give rows in random order."""
        return [rows[place] for place in ordered(len(rows), len(rows), *self._name(stock, "mix"), role)]

    def bits(self, stock: Stock, what: str, *more: int) -> Iterator[int]:
        """Yield 64 random bits after each other, to choose something by."""
        return raw_bits(what, stock.pool.digest, self.seed, self.index, *more)

    def _name(self, stock: Stock, what: str) -> tuple[str, str, int, int]:
        return what, stock.pool.digest, self.seed, self.index
