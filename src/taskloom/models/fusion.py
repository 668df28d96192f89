"""Fusion of adapters after Pfeiffer et al. (2021): attention over what frozen adapters would add, at every block.

With h the hidden states that adapters A_1 ... A_n are given, what is added instead is

    softmax_i((Q h) . (K A_i(h))) V A_i(h)

This is `AdapterFusion` of the package `adapters`, of which `tests/models/adapters_reference` holds outputs, but for the
penalty that its trainer puts on V.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout

from .bottleneck import Bottleneck, Bottlenecks, Change, Place, add_module, drawn_linear

OFF_DIAGONAL = 1e-6  # of V at the start, which is 1 on its diagonal


class Fusion(nn.Module):
    """Attention over adapters at one place."""

    def __init__(self, size: int, rate: float, draws: torch.Generator) -> None:
        super().__init__()
        self.query, self.key = drawn_linear(size, size, draws), drawn_linear(size, size, draws)
        self.value = nn.Linear(size, size, bias=False, device="meta").to_empty(device="cpu")
        with torch.no_grad():
            self.value.weight.fill_(OFF_DIAGONAL).fill_diagonal_(1.0)
        self.rate = rate  # of dropout

    def forward(self, hidden: Tensor, added: Tensor) -> Tensor:
        """Weigh what adapters add: (batch, tokens, size) and (batch, tokens, adapters, size) to the first."""
        scores = (self.key(added) @ self.query(hidden)[..., None])[..., 0]  # (batch, tokens, adapters)
        shares = dropout(scores, self.rate, self.training).softmax(-1)
        found: Tensor = (shares[..., None] * self.value(added)).sum(-2)
        return found


class Fusions(nn.Module):
    """Attention over adapters after every block; the adapters are no part of it."""

    def __init__(self, adapters: Sequence[Bottlenecks], *, rate: float = 0.0, seed: int = 0) -> None:
        super().__init__()
        draws = torch.Generator().manual_seed(seed)
        self.stand: list[tuple[Place, Change]] = []  # a plain list, as in Bottlenecks
        for standing in zip(*(one.stand for one in adapters), strict=True):
            place = standing[0][0]
            made = Fusion(len(place.like), rate, draws).to(place.like)
            add_module(self, place.name, made)
            self.stand.append((place, _fused(place, made, [adapter for _, adapter in standing])))


def _fused(place: Place, fusion: Fusion, adapters: Sequence[Bottleneck]) -> Change:
    def change(hidden: Tensor) -> Tensor:
        fusion.train(place.module.training)
        given = hidden.to(place.like.dtype)
        found: Tensor = fusion(given, torch.stack([adapter(given) for adapter in adapters], -2))
        return found.to(hidden.dtype)

    return change
