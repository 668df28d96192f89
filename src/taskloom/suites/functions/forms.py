"""The types of functions, which must fit each other, and their normal and canonical forms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...messages import Note
from .language import (
    SETS,
    Chain,
    Combined,
    Filter,
    Function,
    FunctionError,
    Map,
    Match,
    Operation,
    Permuted,
    Predicate,
    Random,
    Relation,
    SequenceFunction,
    WordFunction,
    kind_of,
    split,
    written,
)

MOST_DEPTH = 8


@dataclass(frozen=True, slots=True)
class Type:
    """What a function takes and gives: words of a domain, or for a predicate true or false."""

    source: str
    target: str  # none: a predicate
    sequence: bool = False

    @property
    def is_predicate(self) -> bool:
        """Tell a predicate from a relation."""
        return not self.target


def type_of(of: Function) -> Type:
    """Give what a function takes and gives, or refuse one whose parts do not fit."""
    match of:
        case Relation():
            return Type(of.source, of.target)
        case Predicate():
            return Type(of.source, "")
        case Random():
            return Type(of.language, of.language)
        case Chain():
            return _chained(of)
        case Combined():
            return _combined(of)
        case Permuted():
            return type_of(of.of)
        case Match():
            return _same([of.first, of.second], "match", predicate=False)
    return _of_sequence(of)


def other_expected(given: WordFunction, *, predicate: bool) -> Note:
    """Say that a predicate is expected where a relation is given, or the other way round."""
    if predicate:
        return Note.of("predicate-expected", given=written(given))
    return Note.of("relation-expected", given=written(given))


def _chained(of: Chain) -> Type:
    inner, outer = type_of(of.inner), type_of(of.outer)
    if isinstance(of.inner, Permuted):
        raise FunctionError(Note.of("permuted-inside"))
    if inner.is_predicate:
        raise FunctionError(other_expected(of.inner, predicate=False))
    if inner.target != outer.source:
        raise FunctionError(_misfit(of.outer, outer.source, of.inner, inner.target))
    return Type(inner.source, outer.target)


def _misfit(outer: Function, wanted: str, inner: Function, found: str) -> Note:
    return Note.of("domains-differ", outer=written(outer), wanted=wanted, inner=written(inner), found=found)


def _combined(of: Combined) -> Type:
    if len(of.parts) < 2:
        raise FunctionError(Note.of("parts-missing", by=of.by))
    return _same(of.parts, of.by, predicate=of.by not in SETS)


def _same(parts: Sequence[WordFunction], by: str, *, predicate: bool) -> Type:
    """Give the type that all parts have."""
    types = [type_of(part) for part in parts]
    for part, found in zip(parts, types, strict=True):
        if isinstance(part, Permuted):
            raise FunctionError(Note.of("permuted-inside"))
        if found.is_predicate is not predicate:
            raise FunctionError(other_expected(part, predicate=predicate))
        if found != types[0]:
            raise FunctionError(Note.of("parts-differ", by=by, first=written(parts[0]), other=written(part)))
    return types[0]


def _of_sequence(of: SequenceFunction) -> Type:
    each = of.each if isinstance(of, Map) else of.keep
    own = type_of(each)
    if own.is_predicate is isinstance(of, Map):
        raise FunctionError(other_expected(each, predicate=isinstance(of, Filter)))
    before = type_of(of.over) if of.over else Type(own.source, own.source, sequence=True)
    if of.over and isinstance(each, Permuted):
        raise FunctionError(Note.of("permuted-inside"))
    if before.target != own.source:
        raise FunctionError(_misfit(each, own.source, of.over or of, before.target))
    return Type(before.source, own.target if isinstance(of, Map) else before.target, sequence=True)


def checked(of: Function) -> Function:
    """Give a function back, or refuse one whose parts do not fit or that is too deep."""
    if depth(of) > MOST_DEPTH:
        raise FunctionError(Note.of("function-too-deep", most=MOST_DEPTH, depth=depth(of)))
    type_of(of)
    return of


def depth(of: Function) -> int:
    """Give the number of functions on the longest way from input to output.

    >>> depth(Chain(Relation("mother"), Relation("creator")))
    2
    """
    match of:
        case Chain():
            return depth(of.inner) + 1
        case Combined():
            return 1 + max(map(depth, of.parts), default=0)
        case Permuted():
            return depth(of.of)
        case Match():
            return max(depth(of.first), depth(of.second))
        case Map() | Filter():
            own = depth(of.each if isinstance(of, Map) else of.keep)
            return own + (depth(of.over) if of.over else 0)
    return 1


# --- forms -----------------------------------------------------------------------------------------------------------


def normal(of: Function) -> Function:
    """Give a function of sequences as one map over one filter, or as one of these; others are as they are.

    >>> print(written(normal(Map(Relation("mother"), Map(Relation("creator"))))))
    map{wiki{mother(creator(0))}}(S)
    """
    if not isinstance(of, Map | Filter):
        return of
    each, keep = split(of)
    kept = Filter(keep) if keep else None
    return Map(each, kept) if each else kept or of


def canonical(of: Function) -> Function:
    """Give the one form of equal functions: normal, without nesting of one operation in itself, parts in order.

    >>> print(written(canonical(Combined("union", (Relation("mother"), Relation("father"), Relation("mother"))))))
    wiki{union(father(0),mother(0))}
    """
    match of:
        case Map() | Filter():
            return _canonical_sequence(of)
        case Chain():
            return replace(of, inner=canonical_word(of.inner))
        case Combined():
            return canonical_word(of)
        case Permuted():
            return replace(of, of=canonical_word(of.of))
        case Match():
            return Match(canonical_word(of.first), canonical_word(of.second))
    return of


def _canonical_sequence(of: SequenceFunction) -> Function:
    each, keep = split(of)
    kept = Filter(canonical_word(keep)) if keep else None
    return Map(canonical_word(each), kept) if each else kept or of


def canonical_word(of: WordFunction) -> WordFunction:
    """Give the one form of equal functions of words."""
    if not isinstance(of, Combined):
        found = canonical(of)
        assert not isinstance(found, Map | Filter | Match)
        return found
    parts = sorted({*_flat(of.by, of)}, key=lambda part: (kind_of(part) != "random", written(part)))
    return parts[0] if len(parts) == 1 else Combined(of.by, tuple(parts))


def _flat(by: Operation, of: WordFunction) -> Iterator[WordFunction]:
    if isinstance(of, Combined) and of.by == by:
        for part in of.parts:
            yield from _flat(by, canonical_word(part))
    else:
        yield canonical_word(of)
