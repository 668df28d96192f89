"""Texts as batches of pre-training: pieces of text, corrupted differently in each epoch, in batches of like length."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from ..ids import Json
from . import corruption
from .corruption import Pair
from .new import Goal, SpecialTokens
from .objectives import IGNORED, Order, chunks, pair_batch, pair_loss
from .padding import padded
from .train import Batch

Array: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int32]]"
Keyed: TypeAlias = "tuple[int, tuple[Json, ...]]"  # the number of a piece, and the key by which it is corrupted
LEAST = 4  # tokens of a piece: of fewer there is nothing to be learnt
ENCODED = 256  # texts that are tokenised at once
GAP_NOISE = 0.2  # of what sentences are worth: other gaps in each epoch, as for the largest PEGASUS


@dataclass(frozen=True, slots=True)
class Piece:
    """A text, or a part of a long one, with the places where its sentences end and what each is worth."""

    ids: Array
    cuts: tuple[int, ...] = ()
    worth: tuple[float, ...] = ()

    @property
    def parts(self) -> list[list[int]]:
        """Give the tokens of each sentence."""
        return [self.ids[start:end].tolist() for start, end in itertools.pairwise((0, *self.cuts))]


@dataclass(frozen=True, slots=True)
class Marks:
    """The ids of special tokens that pre-training writes."""

    pad: int
    begin: tuple[int, ...]
    end: tuple[int, ...]  # of what an encoder reads and a decoder writes
    start: int  # what a decoder begins with
    close: int  # what ends a text
    mask: int
    sentinels: tuple[int, ...]

    @classmethod
    def of(cls, special: SpecialTokens, tokenizer: Any) -> Marks:
        """Look the ids up."""

        def ids(*names: str) -> tuple[int, ...]:
            return tuple(tokenizer.convert_tokens_to_ids(name) for name in names if name)

        sentinels = [name for name in reversed(special.last) if name.startswith("<extra_id_")]
        (pad,), (close,) = ids(special.roles["pad_token"]), ids(special.roles["eos_token"])
        (start,), (mask,) = ids(special.start) or (close,), ids(special.mask) or (pad,)
        return cls(pad, ids(special.begin), ids(special.end), start, close, mask, ids(*sentinels))


def pieces(texts: Sequence[str], tokenizer: Any, goal: Goal, marks: Marks, length: int) -> tuple[list[Piece], int]:
    """Cut texts into pieces of so many tokens at most, and count the texts that were too short for one."""
    made = [_pieces_of(ids, goal, length, text, starts) for text, ids, starts in _encoded(texts, tokenizer, goal)]
    short = sum(not each for each in made)
    found = [piece for each in made for piece in each]
    if goal != "causal":
        return found, short
    whole = ([*marks.begin, *piece.ids.tolist()] for piece in found)
    return [Piece(np.array(chunk, np.int32)) for chunk in corruption.chunks(whole, length, marks.close)], short


def _encoded(texts: Sequence[str], tokenizer: Any, goal: Goal) -> Iterator[tuple[str, Array, Array]]:
    """Yield each text with its tokens and, where sentences matter, the places in it at which they begin."""
    placed = goal in ("infilling", "gaps")
    for at in range(0, len(texts), ENCODED):
        some = texts[at : at + ENCODED]
        found = tokenizer(
            list(some), add_special_tokens=False, return_attention_mask=False, return_offsets_mapping=placed,
            verbose=False,
        )  # fmt: skip
        for number, text in enumerate(some):
            starts = [start for start, _ in found["offset_mapping"][number]] if placed else []
            yield text, np.array(found["input_ids"][number], np.int32), np.array(starts, np.int32)


def _pieces_of(ids: Array, goal: Goal, length: int, text: str, starts: Array) -> list[Piece]:
    if goal == "causal":
        return [Piece(ids)] if len(ids) else []  # short ones too: they stand one after the other
    if goal == "spans":
        return [
            Piece(np.array(part, np.int32)) for part in corruption.windows(ids.tolist(), length) if len(part) >= LEAST
        ]
    said = corruption.sentences(text)
    ends = [*np.searchsorted(starts, _ends(said)).tolist(), len(ids)]
    worth = corruption.importance(said) if goal == "gaps" else [0.0] * len(said)
    whole = [*_packed(_cut(ends, worth, length), length)]
    least = 2 if goal == "gaps" else 1  # sentences
    return [
        Piece(ids[first : cuts[-1]], tuple(cut - first for cut in cuts), values)
        for first, cuts, values in whole
        if cuts[-1] - first >= LEAST and len(cuts) >= least
    ]


def _ends(said: Sequence[str]) -> list[int]:
    """Say where all sentences but the last end; the space after one is of the next, as tokens begin with a space."""
    begins = itertools.accumulate(map(len, said), initial=0)
    return [begin + len(text.rstrip()) for begin, text in zip(begins, said[:-1], strict=False)]


def _cut(ends: Sequence[int], worth: Sequence[float], length: int) -> Iterator[tuple[int, int, float]]:
    """Yield where sentences begin and end, those longer than a piece cut, and what each is worth."""
    for (start, end), value in zip(itertools.pairwise((0, *ends)), worth, strict=True):
        for first in range(start, end, length):
            yield first, min(first + length, end), value


def _packed(
    sentences: Iterator[tuple[int, int, float]], length: int
) -> Iterator[tuple[int, tuple[int, ...], tuple[float, ...]]]:
    """Put sentences together as long as they fit: where each piece begins, its cuts, and what its parts are worth."""
    kept: list[tuple[int, int, float]] = []
    for sentence in itertools.chain(sentences, [None]):
        if kept and (sentence is None or sentence[1] - kept[0][0] > length):
            yield kept[0][0], tuple(end for _, end, _ in kept), tuple(value for *_, value in kept)
            kept = []
        kept += [sentence] if sentence else []


# --- batches ---------------------------------------------------------------------------------------------------------


class TextObjective:
    """Pre-training on pieces of text: an `Objective`."""

    def __init__(
        self, found: Sequence[Piece], goal: Goal, marks: Marks, *, batch: int, accumulate: int = 1, seed: int = 0
    ) -> None:
        self.pieces, self.goal, self.marks, self.count = found, goal, marks, accumulate
        self.order = Order(lengths=tuple(len(piece.ids) for piece in found), batch=batch, seed=seed)

    @property
    def epoch(self) -> int:
        """Give the steps of an epoch."""
        return self.order.epoch

    def parts(self, step: int) -> list[Batch]:
        """Give the batches of a step, corrupted in another way in each epoch."""
        epoch, rows = step // self.epoch, self.order.rows(step)
        keyed = [(row, (self.order.seed, epoch, row)) for row in rows]
        return [self._batch(some) for some in chunks(keyed, -(-len(rows) // self.count))]

    def fixed(self) -> list[Batch]:
        """Give all pieces once, always corrupted in the same way: to measure the loss on."""
        order = sorted(range(len(self.pieces)), key=lambda row: len(self.pieces[row].ids))
        return [self._batch(some) for some in chunks([(row, ("held-out", row)) for row in order], self.order.batch)]

    def _batch(self, rows: Sequence[Keyed]) -> Batch:
        pairs = [self.pair(self.pieces[row], *key) for row, key in rows]
        if self.goal == "causal":
            return _causal_batch(pairs, self.marks)
        begin, end = self.marks.begin, self.marks.end
        around = [([*begin, *read, *end], [*begin, *written, *end]) for read, written in pairs]
        return pair_batch(around, pad=self.marks.pad, start=self.marks.start)

    def pair(self, piece: Piece, *key: Json) -> Pair:
        """Spoil a piece: what is read, and what is to be written."""
        marks = self.marks
        match self.goal:
            case "spans":
                return corruption.masked_spans(piece.ids.tolist(), marks.sentinels, *key, roll=True)
            case "infilling":
                return corruption.infilled(piece.parts, marks.mask, *key)
            case "gaps":
                return corruption.gap_sentences(piece.parts, piece.worth, marks.mask, *key, noise=GAP_NOISE)
            case "causal":
                ids = piece.ids.tolist()
                return ids[:-1], ids[1:]

    def loss(self, net: Any, batch: Batch) -> Tensor:
        """Give the negative log-probability of what is to be written, token by token."""
        return pair_loss(net, batch)


def _causal_batch(pairs: Sequence[Pair], marks: Marks) -> Batch:
    """Take each token for the target of those before it."""
    reads, width = [read for read, _ in pairs], max(len(read) for read, _ in pairs)
    inputs = {
        "input_ids": padded(reads, width, marks.pad),
        "attention_mask": padded([[1] * len(row) for row in reads], width, 0),
        "targets": padded([written for _, written in pairs], width, IGNORED),
    }
    tokens = sum(map(len, reads))
    return Batch(inputs, tokens, tokens)


@torch.no_grad()
def mean_loss(net: Any, objective: TextObjective) -> float:
    """Give the mean loss over the targets of all pieces."""
    net.eval()
    total, targets = 0.0, 0
    for batch in objective.fixed():
        inputs = {name: value.to(net.device) for name, value in batch.inputs.items()}
        total += objective.loss(net, Batch(inputs, batch.tokens, batch.targets)).item()
        targets += batch.targets
    return total / targets
