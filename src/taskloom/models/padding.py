"""Rows of tokens as tensors."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .causal import Ids


def padded(rows: Sequence[Ids], width: int, pad: int, *, at_right: bool = False) -> Tensor:
    """Make rows equally wide, at the left edge or at the right one: (rows, width)."""
    made = torch.full((len(rows), width), pad)
    for number, row in enumerate(rows):
        first = width - len(row) if at_right else 0
        made[number, first : first + len(row)] = torch.tensor(list(row), dtype=torch.long)
    return made
