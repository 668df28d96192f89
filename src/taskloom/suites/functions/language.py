"""The functions that tasks are made of: trees, what they are made of, and how they are written.

An atom takes a set of words, and gives the union of what it gives for each. To compose functions is to put one where
the other's input stands, in every place: `union(f,g)` after `h` is `union(f(h(0)),g(h(0)))`. So are `intersection` and
`land`, whose parts may then agree by different outputs of `h`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from ...errors import SuiteError
from ...messages import Note

FACTS = "facts"  # the domain of entities; those of words are languages
WORD, SEQUENCE = "0", "S"  # the input

Operation: TypeAlias = Literal["union", "intersection", "land", "lor"]
OPERATIONS: tuple[Operation, ...] = get_args(Operation)
SETS: tuple[Operation, ...] = ("union", "intersection")
Kind: TypeAlias = Literal["lexical", "factual", "random"]


class FunctionError(SuiteError):
    """A function that can't be read, or whose parts do not fit."""


@dataclass(frozen=True, slots=True)
class Relation:
    """What a word stands in a relation to; lexical relations have languages, factual ones may be inverted."""

    name: str
    source: str = FACTS
    target: str = FACTS
    inverse: bool = False


@dataclass(frozen=True, slots=True)
class Predicate:
    """Whether an attribute of a word has a value."""

    attribute: str
    value: str
    source: str = FACTS


@dataclass(frozen=True, slots=True)
class Random:
    """Another word for each word of a language, by a seed."""

    seed: int
    language: str


@dataclass(frozen=True, slots=True)
class Chain:
    """An atom after a function; `compose` makes these, so that a function has one tree."""

    outer: Atom
    inner: WordFunction


@dataclass(frozen=True, slots=True)
class Combined:
    """Functions of the same input, put together."""

    by: Operation
    parts: tuple[WordFunction, ...]


@dataclass(frozen=True, slots=True)
class Permuted:
    """The outputs of a function, dealt out among its inputs by a seed: what no model can know."""

    seed: int
    of: WordFunction


@dataclass(frozen=True, slots=True)
class Map:
    """A relation of each word of a sequence."""

    each: WordFunction
    over: SequenceFunction | None = None  # none: the input


@dataclass(frozen=True, slots=True)
class Filter:
    """The words of a sequence for which a predicate holds."""

    keep: WordFunction
    over: SequenceFunction | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """Two relations at once: how likely the outputs of each are to a model that has learnt both."""

    first: WordFunction
    second: WordFunction


Atom: TypeAlias = Relation | Predicate | Random
WordFunction: TypeAlias = Relation | Predicate | Random | Chain | Combined | Permuted
SequenceFunction: TypeAlias = Map | Filter
Function: TypeAlias = Relation | Predicate | Random | Chain | Combined | Permuted | Map | Filter | Match


def compose(outer: WordFunction, inner: WordFunction) -> WordFunction:
    """Put a function where another's input stands.

    >>> print(written(compose(Combined("union", (Relation("child"), Relation("father"))), Relation("creator"))))
    wiki{union(child(creator(0)),father(creator(0)))}
    """
    match outer:
        case Chain():
            return Chain(outer.outer, compose(outer.inner, inner))
        case Combined():
            return replace(outer, parts=tuple(compose(part, inner) for part in outer.parts))
        case Permuted():
            raise FunctionError(Note.of("permuted-inside"))
    return Chain(outer, inner)


# --- parts -----------------------------------------------------------------------------------------------------------


def split(of: SequenceFunction) -> tuple[WordFunction | None, WordFunction | None]:
    """Give what a function of sequences maps by, and what it filters by (paper, equations 5 to 7)."""
    each, keep = split(of.over) if of.over else (None, None)
    if isinstance(of, Map):
        return (compose(of.each, each) if each else of.each), keep
    own = compose(of.keep, each) if each else of.keep
    return each, Combined("land", (keep, own)) if keep else own


def parts_of(of: Function) -> tuple[Function, ...]:
    """Give the functions that a function is directly made of; an atom is made of none."""
    match of:
        case Chain():
            return (of.outer, of.inner)
        case Combined():
            return of.parts
        case Permuted():
            return (of.of,)
        case Map() | Filter():
            return tuple(part for part in split(of) if part)
        case Match():
            return (of.first, of.second)
    return ()


def atoms(of: Function) -> Iterator[Atom]:
    """Yield the atoms of a function, each as often as it stands there."""
    if isinstance(of, Relation | Predicate | Random):
        yield of
    for part in parts_of(of):
        yield from atoms(part)


def kind_of(of: Function) -> Kind:
    """Say what a function is made from; what has a random part is random."""
    kinds = {_kind(atom) for atom in atoms(of)}
    return "random" if "random" in kinds else "factual" if "factual" in kinds else "lexical"


def _kind(of: Atom) -> Kind:
    if isinstance(of, Random):
        return "random"
    return "factual" if of.source == FACTS else "lexical"


def composition_of(of: Function) -> str:
    """Name the operation of a function, as the folders of the published files do; none for an atom.

    >>> composition_of(Map(Random(0, "eng"))), composition_of(Relation("mother"))
    ('map', '')
    """
    match of:
        case Chain():
            return "chaining"
        case Combined():
            return of.by
        case Permuted():
            return "permuted"
        case Map() | Filter():
            each, keep = split(of)
            return "mapfilter" if each and keep else "map" if each else "filter"
        case Match():
            return "match"
    return ""


# --- writing ---------------------------------------------------------------------------------------------------------


def written(of: Function) -> str:
    """Write a function in the published syntax.

    >>> written(Map(Relation("synonyms", "eng", "eng"), Filter(Predicate("POS", "adj", "eng"))))
    'map{synonyms[eng](0)}(filter{is{POS=adj}[eng](0)}(S))'
    """
    match of:
        case Map():
            return f"map{{{written(of.each)}}}({written(of.over) if of.over else SEQUENCE})"
        case Filter():
            return f"filter{{{written(of.keep)}}}({written(of.over) if of.over else SEQUENCE})"
        case Permuted():
            return f"permuted{{{of.seed}}}({written(of.of)})"
        case Match():
            return f"match({written(of.first)},{written(of.second)})"
    text = _applied(of, WORD)
    return f"wiki{{{text}}}" if kind_of(of) == "factual" else text


def _applied(of: WordFunction, to: str) -> str:
    match of:
        case Chain():
            return _applied(of.outer, _applied(of.inner, to))
        case Combined():
            return f"{of.by}({','.join(_applied(part, to) for part in of.parts)})"
        case Permuted():
            return written(of)
    return f"{_name(of)}({to})"


def _name(of: Atom) -> str:
    match of:
        case Random():
            return f"random{{{of.seed}}}[{of.language}]"
        case Predicate():
            return f"is{{{of.attribute}={of.value}}}" + (f"[{of.source}]" if of.source != FACTS else "")
    if of.source == FACTS:
        return of.name + ("[inv]" if of.inverse else "")
    return f"{of.name}[{of.source}]" if of.source == of.target else f"{of.name}[{of.source}->{of.target}]"
