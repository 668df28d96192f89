"""Outside data to rows and records: files, the hub, and data inside packages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .files import Layout, Place, Row, RowFaults


def rows(spec: str, faults: RowFaults, layout: Layout | None = None) -> Iterator[tuple[Place, Row]]:
    """Yield the rows of a file, of `data:NAME` (the catalogue), or of `hub:NAME` (Hugging Face), with their places."""
    kind, _, name = spec.partition(":")
    if kind == "data":
        from . import packages

        return packages.rows(name, faults)
    if kind == "hub":
        from . import hub

        return hub.rows(name)
    from .files import read

    return read(Path(spec), faults, layout)
