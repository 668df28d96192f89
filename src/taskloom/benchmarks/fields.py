"""Field tasks of any table: the user names the columns and says what each holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from ..core import Suite
from ..errors import UsageError
from ..schema import key
from ..sources.splits import DEV, TEST, TRAIN, Split
from ..suites.build import TableOptions, field_suite


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFields(TableOptions):
    """The suite of a table."""

    version: ClassVar[int] = 2
    split: str = ""  # the column that says which rows are for training, development and testing
    pools: Mapping[str, str] = field(default_factory=dict)  # value of that column -> train, dev, test or drop
    train: tuple[str, ...] = key((), path=True)  # files of each pool, instead of a source with a split column
    dev: tuple[str, ...] = key((), path=True)
    test: tuple[str, ...] = key((), path=True)

    def build(self) -> Suite:
        """Build the suite."""
        named = self.source or next(iter((*self.train, *self.dev, *self.test)), "")
        if not named:
            raise UsageError("SOURCE is missing: a file, data:NAME or hub:NAME; or use --train FILE --test FILE")
        name = named.partition(":")[2] or Path(named).name.partition(".")[0]
        files = {pool: paths for pool, paths in ((TRAIN, self.train), (DEV, self.dev), (TEST, self.test)) if paths}
        return field_suite(self, id=name, split=Split(self.split, self.pools, files))

    def sources(self) -> tuple[str, ...]:
        """Name the tables that are read."""
        return tuple(filter(None, (self.source, *self.train, *self.dev, *self.test, self.venues)))
