"""Projected attention layers after Stickland and Murray (2019): narrow attention beside every block of a net.

With h what a block is given, and x + f what it would normalise at its end, its output becomes

    LN(x + f + GELU(D attention(E h)))

where attention has no layer after its heads. E and D are shared by all blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention

from ..errors import ModelError
from ..messages import Note
from .bottleneck import Place, add_module, drawn_linear, places
from .telling import Telling


class NarrowAttention(nn.Module):
    """Attention of several heads, without a layer after them."""

    def __init__(self, size: int, heads: int, draws: torch.Generator) -> None:
        super().__init__()
        self.query, self.key, self.value = (drawn_linear(size, size, draws) for _ in range(3))
        self.heads = heads

    def forward(self, given: Tensor, mask: Tensor | None, rate: float) -> Tensor:
        """Attend: (batch, tokens, size) and (batch, 1, 1, tokens) to the first."""
        layers = (self.query, self.key, self.value)
        query, key, value = (layer(given).unflatten(-1, (self.heads, -1)).transpose(1, 2) for layer in layers)
        found = scaled_dot_product_attention(query, key, value, mask, rate)  # (batch, heads, tokens, size)
        return found.transpose(1, 2).flatten(2)


class Pals(nn.Module):
    """The layers of one form; those of a block are named by it."""

    def __init__(self, net: Any, telling: Telling, *, seed: int = 0) -> None:
        super().__init__()
        found = places(net)
        if not all(place.is_norm for place in found):
            raise ModelError(Note.of("pals-unsupported", family=net.config.model_type))
        draws, width = torch.Generator().manual_seed(seed), len(found[0].like)
        size = telling.size_of_pals(width)
        self.encode = drawn_linear(width, size, draws).to(found[0].like)
        self.decode = drawn_linear(size, width, draws).to(found[0].like)
        self.rate = float(getattr(net.config, "attention_probs_dropout_prob", 0.0))  # of dropout
        self.stand: list[tuple[Place, NarrowAttention]] = []  # a plain list, as in Bottlenecks
        for place in found:
            made = NarrowAttention(size, telling.pal_heads, draws).to(place.like)
            add_module(self, place.name, made)
            self.stand.append((place, made))

    def added(self, attention: NarrowAttention, hidden: Tensor, mask: Tensor | None, *, is_training: bool) -> Tensor:
        """Give what is added to a block, from what it is given: (batch, tokens, width) to the same."""
        narrow = attention(self.encode(hidden), mask, self.rate if is_training else 0.0)
        return gelu(self.decode(narrow))


@contextmanager
def attending(net: Any, pals: Pals) -> Iterator[None]:
    """Let layers attend beside those of a net, for the time of a context."""
    at = _Attending(pals)
    handles = [net.register_forward_pre_hook(at.take_mask, with_kwargs=True)]
    for place, attention in pals.stand:
        block = net.base_model.get_submodule(place.name)
        handles.append(block.register_forward_pre_hook(at.taking(attention), with_kwargs=True))
        handles.append(place.module.register_forward_pre_hook(at.add))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


class _Attending:
    """What hooks of a net have seen: the mask of its tokens, and what its blocks are given, one after the other."""

    def __init__(self, pals: Pals) -> None:
        self.pals = pals
        self.mask: Tensor | None = None
        self.extra: Tensor | None = None

    def take_mask(self, net: nn.Module, _: Any, named: dict[str, Any]) -> None:  # noqa: ARG002 (a hook)
        """Note which tokens are there: (batch, 1, 1, tokens)."""
        given = named.get("attention_mask")
        self.mask = None if given is None else given[:, None, None, :].bool()

    def taking(self, attention: NarrowAttention) -> Callable[[nn.Module, Any, dict[str, Any]], None]:
        """Make a hook that computes what is added to a block from what it is given."""

        def take(block: nn.Module, given: Any, named: dict[str, Any]) -> None:
            hidden = given[0] if given else named["hidden_states"]
            self.extra = self.pals.added(attention, hidden, self.mask, is_training=block.training)

        return take

    def add(self, norm: nn.Module, given: tuple[Tensor]) -> tuple[Tensor]:  # noqa: ARG002
        """Add it to what the block normalises at its end."""
        assert self.extra is not None
        return (given[0] + self.extra.to(given[0].dtype),)
