"""What models learn from lessons: to write the answer after its prompt, with a loss on the answer alone."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from torch import Tensor
from torch.nn.functional import cross_entropy

from ..ids import shuffled
from .causal import Ids
from .padding import padded
from .train import Batch

Pair: TypeAlias = tuple[Ids, Ids]  # what is read, and what is written after it
T = TypeVar("T")
IGNORED = -100  # in targets: places that the loss is not over
TOGETHER = 32  # batches within which examples are put by length, so that little is padded


class Order:
    """Which examples are in which step: each once in an epoch, those of like length together."""

    def __init__(self, lengths: Sequence[int], *, batch: int, seed: int) -> None:
        self.lengths, self.batch, self.seed = lengths, batch, seed
        self.made: tuple[int, list[list[int]]] = (-1, [])  # the epoch that was asked for last

    @property
    def epoch(self) -> int:
        """Give the steps of an epoch."""
        return -(-len(self.lengths) // self.batch)

    def rows(self, step: int) -> list[int]:
        """Give the examples of a step."""
        epoch, place = divmod(step, self.epoch)
        if self.made[0] != epoch:
            self.made = epoch, self._batches(epoch)
        return self.made[1][place]

    def _batches(self, epoch: int) -> list[list[int]]:
        """Shuffle, put examples by length within so many batches, and shuffle the batches."""
        drawn = list(shuffled(len(self.lengths), "examples", self.seed, epoch))
        groups = chunks(drawn, self.batch * TOGETHER)
        by_length = [row for group in groups for row in sorted(group, key=lambda row: (self.lengths[row], row))]
        made = [list(rows) for rows in chunks(by_length, self.batch)]
        return [made[place] for place in shuffled(len(made), "batches", self.seed, epoch)]


class AnswerObjective:
    """Answers after their prompts, for causal models: (rows, tokens), the answers at the right edge."""

    def __init__(
        self, net: Any, pairs: Sequence[Pair], *, batch: int, parts: int, seed: int, pad: int, virtual: int = 0
    ) -> None:
        self.pairs, self.count, self.pad, self.virtual = pairs, parts, pad, virtual
        self.order = Order([len(a) + len(b) for a, b in pairs], batch=batch, seed=seed)
        takes = inspect.signature(net.forward).parameters
        self.is_aligned = {"position_ids", "logits_to_keep"} <= takes.keys()  # else all is at the left edge

    @property
    def epoch(self) -> int:
        """Give the steps of an epoch."""
        return self.order.epoch

    def parts(self, step: int) -> list[Batch]:
        """Give the batches of a step."""
        return [self._batch(rows) for rows in _split(self.order.rows(step), self.count)]

    def batches(self, size: int) -> list[Batch]:
        """Give all examples in order, so many at a time."""
        return [self._batch(rows) for rows in chunks(range(len(self.pairs)), size)]

    def _batch(self, rows: Sequence[int]) -> Batch:
        pairs = [self.pairs[row] for row in rows]
        tokens = [[*read, *written] for read, written in pairs]
        targets = [[IGNORED] * len(read) + [*written] for read, written in pairs]
        width = max(map(len, tokens))
        inputs = {
            "input_ids": padded(tokens, width, self.pad, at_right=self.is_aligned),
            "attention_mask": padded([[1] * len(row) for row in tokens], width, 0, at_right=self.is_aligned),
            "targets": padded(targets, width, IGNORED, at_right=self.is_aligned),
        }
        if self.is_aligned:  # logits are computed where there are targets alone
            inputs["position_ids"] = (inputs["attention_mask"].cumsum(1) - 1).clamp(min=0)
            inputs["targets"] = inputs["targets"][:, width - max(len(written) for _, written in pairs) :]
        real = sum(map(len, tokens)) - len(rows) * self.virtual  # a soft prompt is no text
        return Batch(inputs, real, sum(len(written) for _, written in pairs))

    def loss(self, net: Any, batch: Batch) -> Tensor:
        """Give the negative log-probability of all answers, token by token."""
        targets = batch.inputs["targets"]
        more: dict[str, Any] = {"use_cache": False}
        if self.is_aligned:
            more |= {"position_ids": batch.inputs["position_ids"], "logits_to_keep": targets.shape[1] + 1}
        logits = net(batch.inputs["input_ids"], attention_mask=batch.inputs["attention_mask"], **more).logits
        wanted = targets if self.is_aligned else targets[:, 1:]
        return summed(logits[:, :-1], wanted)


class PairObjective(AnswerObjective):
    """Texts to texts, for models with an encoder and a decoder."""

    def __init__(
        self, net: Any, pairs: Sequence[Pair], *, batch: int, parts: int, seed: int, pad: int, start: int,
        virtual: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(net, pairs, batch=batch, parts=parts, seed=seed, pad=pad, virtual=virtual)
        self.start = start

    def _batch(self, rows: Sequence[int]) -> Batch:
        made = pair_batch([self.pairs[row] for row in rows], pad=self.pad, start=self.start)
        return replace(made, tokens=made.tokens - len(rows) * self.virtual)

    def loss(self, net: Any, batch: Batch) -> Tensor:
        """Give the negative log-probability of all answers, token by token."""
        return pair_loss(net, batch)


def pair_batch(pairs: Sequence[Pair], *, pad: int, start: int) -> Batch:
    """Pad texts and what is written for them; the decoder is given what it should have written so far."""
    read, written = [list(a) for a, _ in pairs], [list(b) for _, b in pairs]
    wide, long = max(map(len, read)), max(map(len, written))
    inputs = {
        "input_ids": padded(read, wide, pad),
        "attention_mask": padded([[1] * len(row) for row in read], wide, 0),
        "decoder_input_ids": padded([[start, *row[:-1]] for row in written], long, pad),
        "targets": padded(written, long, IGNORED),
    }
    return Batch(inputs, sum(map(len, read)) + sum(map(len, written)), sum(map(len, written)))


def pair_loss(net: Any, batch: Batch) -> Tensor:
    """Give the negative log-probability of what is written, token by token."""
    given = {name: value for name, value in batch.inputs.items() if name != "targets"}
    return summed(net(**given, use_cache=False).logits, batch.inputs["targets"])


def summed(logits: Tensor, targets: Tensor) -> Tensor:
    """Add up the negative log-probabilities of targets: (rows, tokens, vocabulary), (rows, tokens)."""
    return cross_entropy(logits.flatten(0, 1).float(), targets.flatten(), ignore_index=IGNORED, reduction="sum")


def _split(rows: Sequence[int], parts: int) -> list[Sequence[int]]:
    return list(chunks(rows, -(-len(rows) // parts)))


def chunks(rows: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Cut a sequence into parts of so many."""
    for at in range(0, len(rows), size):
        yield rows[at : at + size]
