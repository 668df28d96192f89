"""The table of readers: a row for each."""

from __future__ import annotations

from collections.abc import Mapping

from . import read_models, read_names, read_results, read_sources, read_suites, read_trained, read_words
from .reader import Reader

READERS: Mapping[str, Reader] = {
    **read_sources.READERS,
    **read_suites.READERS,
    **read_names.READERS,
    **read_models.READERS,
    **read_words.READERS,
    **read_trained.READERS,
    **read_results.READERS,
}
