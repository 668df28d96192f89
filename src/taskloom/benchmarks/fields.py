"""Field tasks of any table: the user names the columns and says what each holds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ..core import Suite
from ..errors import UsageError
from ..suites.build import TableOptions, field_suite


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFields(TableOptions):
    """The suite of a table."""

    version: ClassVar[int] = 1

    def build(self) -> Suite:
        """Build the suite."""
        if not self.source:
            raise UsageError("SOURCE is missing: a file, data:NAME or hub:NAME")
        name = self.source.partition(":")[2] or Path(self.source).name.partition(".")[0]
        return field_suite(self, id=name)
