"""The table of readers: a row for each."""

from __future__ import annotations

from collections.abc import Mapping

from . import read_sources
from .reader import Reader

READERS: Mapping[str, Reader] = {
    **read_sources.READERS,
}
