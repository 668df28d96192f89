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

COUNTS = re.compile(  # what networks are built of, one by one
    r"(layers?|blocks?|block_count|experts?|expert_count|groups?|group_num|depth|stages?|networks|repeats|ngram|"
    r"num_inputs|codebooks|bins|per_stack|global_tokens|with_embedding|conv_pos_embeddings|speakers|cycles)$"
)
POSITIONS = re.compile(r"(positions?|position_embeddings|n_ctx|seq_len)$")
SIZES = re.compile(
    r"(size|sizes|dim|dims|rank|width|heads?|head_count|head_count_kv|length|d_\w+|n_embd|n_inner|buckets?|dimension_count)$|"
    + POSITIONS.pattern
)
SQUARES = ("gpt_neo", "gpt_bigcode", "openai-gpt")  # families with a table of all positions by all positions
LABELS = re.compile(r"num_labels$")
MOST_UNSEEN = 256  # layers, or experts, that a model may have whatever its weights: some are one tensor
MOST_LABELS = 100_000  # whatever the weights: each is named, one by one
MOST_VALUES = 100_000  # of a configuration
MOST_SIZE = 1 << 20  # of anything, whatever the weights: the largest vocabularies and contexts
MOST_SQUARED = 1 << 14  # positions, where there is a table of all by all


def refuse_implausible(settings: Any, place: Path, *, tensors: int, parameters: int) -> None:
    """Refuse settings that do not go with so many tensors and parameters."""
    most = {COUNTS: max(MOST_UNSEEN, tensors), SIZES: max(MOST_SIZE, parameters), LABELS: MOST_LABELS}
    if isinstance(settings, Mapping) and settings.get("model_type") in SQUARES:
        most[POSITIONS] = MOST_SQUARED
    for name, value in values_in(settings):
        if isinstance(value, str):
            continue
        if any(value > limit and names.search(name) for names, limit in most.items()):
            raise ModelError(Note.of("setting-implausible", name=name, value=value, path=place))


def refuse_code(settings: Any, place: Path) -> None:
    """Refuse settings that are long lists, which take long to read, or name a program of the hub to compute with."""
    for count, (name, value) in enumerate(values_in(settings)):
        if isinstance(value, str) and name.endswith("_implementation") and "/" in value:
            raise ModelError(Note.of("setting-names-code", name=name, value=value, path=place))
        if count >= MOST_VALUES:
            raise ModelError(Note.of("settings-too-many", most=MOST_VALUES, path=place))


def values_in(settings: Any) -> Iterator[tuple[str, Any]]:
    """Yield texts and numbers of settings with their names, those of lists and parts too."""
    pending = [("", settings)]
    while pending:
        name, value = pending.pop()
        if isinstance(value, Mapping):
            pending += [(str(key), one) for key, one in value.items()]
        elif isinstance(value, list):
            pending += [(name, one) for one in value]
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            yield name, value
