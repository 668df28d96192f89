"""Field tasks of any table: the user names the columns and says what each holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..core import Suite
from ..errors import UsageError
from ..sources.table import Field
from ..suites.build import Reading, field_suite


def build(source: str, fields: Sequence[Field], reading: Reading, language: str) -> Suite:
    """Build the suite of a table."""
    if not source:
        raise UsageError("name a table to build from: a file, data:NAME or hub:NAME")
    name = source.partition(":")[2] or Path(source).name.partition(".")[0]
    return field_suite(source, fields, reading, id=name, language=language or "en")
