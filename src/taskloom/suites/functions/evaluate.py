"""What functions give, by sparse boolean algebra: a row for each input, a column for each word that may come out.

A chain is a product of matrices, a union a sum, an intersection a product of entries, and a predicate a column.
"""

from __future__ import annotations

from functools import reduce
from operator import add, and_, or_
from typing import Any, Protocol, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from ...core import Ints
from ...errors import SuiteError
from ...messages import Note
from .language import Chain, Combined, Permuted, Predicate, Random, Relation, WordFunction

MOST_OUTPUTS = 25_000_000  # of all inputs of a function

Matrix: TypeAlias = Any  # scipy's csr_array of booleans
Grid: TypeAlias = "np.ndarray[tuple[int, int], Any]"
Bits: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.bool_]]"


class TooManyError(SuiteError):
    """A function with too many outputs to be a task."""


class Knowledge(Protocol):
    """What the atoms of functions are: of words by their places in a domain."""

    def size(self, domain: str) -> int:
        """Count the words of a domain."""

    def matrix(self, of: Relation | Random) -> Matrix:
        """Give a relation: words of its source by words of its target."""

    def holds(self, of: Predicate) -> Bits:
        """Tell for each word of a domain whether a predicate holds."""


def rows_of(words: Ints, size: int) -> Matrix:
    """Give words as sets of one: a row for each."""
    return csr_array((np.ones(len(words), bool), words, np.arange(len(words) + 1)), shape=(len(words), size))


def outputs(of: WordFunction, sets: Matrix, known: Knowledge) -> Matrix:
    """Give what a relation makes of sets of words: sets, with their words in any order."""
    match of:
        case Relation() | Random():
            return _product(sets, known.matrix(of))
        case Chain():
            return outputs(of.outer, outputs(of.inner, sets, known), known)
        case Combined(by="union"):
            return reduce(add, (outputs(part, sets, known) for part in of.parts))
        case Combined(by="intersection"):
            return reduce(_both, (outputs(part, sets, known) for part in of.parts))
    raise SuiteError(f"not a relation: {of}")


def _product(sets: Matrix, relation: Matrix) -> Matrix:
    """Follow a relation, unless so many words would come out that almost any answer is right."""
    if (bound := int(np.diff(relation.indptr)[sets.indices].sum())) > MOST_OUTPUTS:
        raise TooManyError(Note.of("function-too-large", count=bound, most=MOST_OUTPUTS))
    return sets @ relation


def _both(one: Matrix, other: Matrix) -> Matrix:
    return one.multiply(other).tocsr()


def set_hashes(sets: Matrix, hashes: Ints) -> tuple[Ints, Ints, Ints]:
    """Name each set by its size and two sums over its words, whatever their order."""
    own = hashes.view("<u8")[sets.indices]
    return np.diff(sets.indptr).astype(np.int64), _sums(own, sets.indptr), _sums(own * own, sets.indptr)


def _sums(values: Ints, ends: Ints) -> Ints:
    return np.diff(np.concatenate([np.zeros(1, "<u8"), np.cumsum(values)])[ends]).view("<i8")


def truths(of: WordFunction, sets: Matrix, known: Knowledge) -> Bits:
    """Tell for each set of words whether a predicate holds for one of them."""
    match of:
        case Predicate():
            return np.asarray(sets @ known.holds(of).astype(np.int64)) > 0
        case Chain():
            return truths(of.outer, outputs(of.inner, sets, known), known)
        case Combined(by=by):
            return reduce(and_ if by == "land" else or_, (truths(part, sets, known) for part in of.parts))
    raise SuiteError(f"not a predicate: {of}")


def is_predicate(of: WordFunction) -> bool:
    """Tell a predicate from a relation, of functions whose parts fit."""
    match of:
        case Predicate():
            return True
        case Chain():
            return isinstance(of.outer, Predicate)
        case Combined():
            return of.by in ("land", "lor")
        case Permuted():
            return is_predicate(of.of)
    return False
