"""Rows of tokens as tensors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
import torch
from torch import Tensor

from .causal import Ids


def padded(rows: Sequence[Ids], width: int, pad: int, *, at_right: bool = False) -> Tensor:
    """Make rows equally wide, at the left edge or at the right one: (rows, width)."""
    sizes, places = np.array([*map(len, rows)], dtype=np.int64)[:, None], np.arange(width)
    made = np.full((len(rows), width), pad)
    own = places >= width - sizes if at_right else places < sizes
    made[own] = np.fromiter(chain.from_iterable(rows), np.int64, int(sizes.sum()))
    return torch.from_numpy(made)
