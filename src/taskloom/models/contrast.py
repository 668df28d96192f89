"""What an encoder learns from pairs of texts: vectors as alike as the pairs say (Reimers and Gurevych, 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

from . import TextPair
from .objectives import Order
from .train import Batch

if TYPE_CHECKING:
    from .encoder import TransformerEncoder


class ContrastObjective:
    """Pairs of texts whose cosine should be their target: the squared difference is the loss.

    A text that comes in several pairs of a batch is computed once.
    """

    def __init__(self, encoder: TransformerEncoder, pairs: Sequence[TextPair], *, batch: int, seed: int) -> None:
        self.encoder, self.pairs = encoder, pairs
        texts = list(dict.fromkeys(text for pair in pairs for text in (pair.first, pair.second)))
        self.rows = dict(zip(texts, encoder.tokens(texts)[0], strict=True))
        self.order = Order([self._length(pair) for pair in pairs], batch=batch, seed=seed)

    def _length(self, pair: TextPair) -> int:
        return max(len(self.rows[pair.first]), len(self.rows[pair.second]))

    @property
    def epoch(self) -> int:
        """Give the steps of an epoch."""
        return self.order.epoch

    def parts(self, step: int) -> list[Batch]:
        """Give the batch of a step: its distinct texts, and the places of each pair's texts among them."""
        pairs = [self.pairs[row] for row in self.order.rows(step)]
        texts = list(dict.fromkeys(text for pair in pairs for text in (pair.first, pair.second)))
        places = {text: place for place, text in enumerate(texts)}
        rows = [self.rows[text] for text in texts]
        inputs = self.encoder.inputs(rows) | {
            "first": torch.tensor([places[pair.first] for pair in pairs]),
            "second": torch.tensor([places[pair.second] for pair in pairs]),
            "targets": torch.tensor([pair.target for pair in pairs], dtype=torch.float32),
        }
        return [Batch(inputs, sum(map(len, rows)), len(pairs))]

    def loss(self, net: Any, batch: Batch) -> Tensor:  # noqa: ARG002 (the encoder has it)
        """Give the squared differences between cosines and targets, summed over the pairs."""
        given = batch.inputs
        found = self.encoder.vectors({name: given[name] for name in ("input_ids", "attention_mask")})
        cosines = cosine_similarity(found[given["first"]], found[given["second"]])
        return (cosines - given["targets"]).square().sum()
