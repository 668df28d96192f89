"""Examples of function tasks: words split by how they are written, and sequences with as many words as must pass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core import Ints
from ...ids import bit_stream, mixed
from .evaluate import Grid

WHOLE = 1 << 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How examples are drawn."""

    seed: int = 0
    test_share: float = 0.2  # of words
    least: int = 100  # samples that a task must have
    sequences: int = 2000
    length: int = 8  # words of a sequence
    passing: int = 4  # of them, where there is a filter


def is_test(hashes: Ints, how: Sampling) -> Ints:
    """Tell the words that are asked about; they are the same in every task."""
    return mixed(hashes, "split", how.seed) < np.uint64(how.test_share * WHOLE)


def in_random_order(hashes: Ints, *key: str | int) -> Ints:
    """Give the places of words in an order in which no two words change places when others are added."""
    return np.argsort(mixed(hashes, "order", *key), kind="stable")


def sequences(passing: Ints, failing: Ints, sizes: tuple[int, int, int], *key: str | int) -> tuple[Grid, Grid]:
    """Draw sequences in which some words pass a filter and the others fail it, in any order (paper, algorithm 1).

    `sizes` has the number of sequences, the words of each, and those that pass. Given back are the sequences, each
    once, and of each the words that pass, in their order.
    """
    count, length, kept = sizes
    bits = bit_stream("sequences", *key)
    wanted = ((passing, kept), (failing, length - kept))
    chosen = [_drawn(words, bits(count * n).reshape(count, n)) for words, n in wanted]
    order = np.argsort(bits(count * length).reshape(count, length), axis=1, kind="stable")
    rows: Grid = np.take_along_axis(np.concatenate(chosen, axis=1), order, axis=1)
    _, first = np.unique(rows, axis=0, return_index=True)
    own = np.sort(first)
    return rows[own], rows[own][order[own] < kept].reshape(len(own), kept)


def _drawn(words: Ints, bits: Grid) -> Grid:
    return words[(bits.astype(np.uint64) * np.uint64(len(words)) >> np.uint64(32)).astype(np.int64)]


def permutation(count: int, *key: str | int) -> Ints:
    """Give places in a random order."""
    return np.argsort(bit_stream("permuted", *key)(count), kind="stable")
