"""Settings of a model that can't be: more layers than its weights have tensors, or sizes beyond all its weights.

Whoever builds a network of them first would run without end, or out of memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import ModelError
from ..messages import Note

COUNTS = re.compile(r"(layers?|blocks?|block_count|experts?|expert_count|groups?|depth|stages?)$")
SIZES = re.compile(r"(size|sizes|dim|dims|rank|width|heads?|head_count|head_count_kv|length|d_\w+|n_embd|n_inner)$")
MOST_UNSEEN = 256  # layers, or experts, that a model may have whatever its weights: some are one tensor
MOST_SIZE = 1 << 20  # of anything, whatever the weights: the largest vocabularies and contexts


def refuse_implausible(settings: Any, place: Path, *, tensors: int, parameters: int) -> None:
    """Refuse settings that do not go with so many tensors and parameters."""
    for name, value in _numbers(settings):
        if value > max(MOST_UNSEEN, tensors) and COUNTS.search(name):
            raise ModelError(Note.of("setting-implausible", name=name, value=value, path=place))
        if value > max(MOST_SIZE, parameters) and SIZES.search(name):
            raise ModelError(Note.of("setting-implausible", name=name, value=value, path=place))


def _numbers(settings: Any) -> Iterator[tuple[str, int | float]]:
    """Yield the numbers of settings with their names, those of lists and parts too."""
    pending = [("", settings)]
    while pending:
        name, value = pending.pop()
        if isinstance(value, Mapping):
            pending += [(str(key), one) for key, one in value.items()]
        elif isinstance(value, list):
            pending += [(name, one) for one in value]
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield name, value
