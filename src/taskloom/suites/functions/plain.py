"""Functions in plain words: `wiki{mother(creator(0))}` is "the mother of the creator of x"."""

from __future__ import annotations

from collections.abc import Mapping

from .evaluate import is_predicate
from .language import FACTS, Chain, Combined, Filter, Function, Map, Match, Permuted, Predicate, Random, Relation, split

LANGUAGES: Mapping[str, str] = {"eng": "English", "spa": "Spanish", FACTS: "English"}  # labels of entities are English
LEXICAL: Mapping[str, str] = {
    "synonyms": "a synonym of {}", "antonyms": "an antonym of {}", "hyponyms": "a kind of {}",
    "hypernyms": "a more general word for {}", "entailments": "what follows from {}",
}  # fmt: skip
FACTUAL: Mapping[str, str] = {  # where "the NAME of x" is not said
    "child": "a child of {}", "child[inv]": "a parent of {}", "mother[inv]": "a child of {}",
    "father[inv]": "a child of {}", "creator[inv]": "a work of {}", "head of state[inv]": "a state headed by {}",
    "location[inv]": "something located in {}",
    "diplomatic relation": "a country that has diplomatic relations with {}", "has part": "a part of {}",
    "influenced by": "an influence on {}", "languages spoken written or signed": "a language of {}",
    "member of political party": "the political party of {}", "member of sports team": "a sports team of {}",
    "named after": "what {} is named after", "occupation": "an occupation of {}", "owned by": "the owner of {}",
    "position held": "a position held by {}", "position played on team": "the position played by {}",
    "subclass of": "a class that {} is a kind of", "instance of": "a class of {}", "genre": "a genre of {}",
}  # fmt: skip
VALUES: Mapping[tuple[str, str], str] = {
    ("POS", "noun"): "a noun", ("POS", "verb"): "a verb", ("POS", "adj"): "an adjective", ("POS", "adv"): "an adverb",
    ("sentiment", "pos"): "positive", ("sentiment", "neg"): "negative", ("sentiment", "none"): "neutral",
}  # fmt: skip


def language(domain: str) -> str:
    """Name the language of a domain's words."""
    return LANGUAGES.get(domain, domain)


def plain(of: Function) -> str:
    """Name a function in plain words.

    >>> plain(Chain(Relation("mother"), Relation("creator")))
    'the mother of the creator of x'
    >>> plain(Map(Relation("antonyms", "eng", "eng"), Filter(Predicate("POS", "noun", "eng"))))
    'for each x of the list if x is a noun: an antonym of x'
    """
    match of:
        case Map() | Filter():
            return _sequence(of)
        case Match():
            return f"{_said(of.first, 'x')} or {_said(of.second, 'x')}"
        case Permuted():
            return f"{plain(of.of)}, with answers dealt out at random ({of.seed})"
    return f"whether {_said(of, 'x')}" if is_predicate(of) else _said(of, "x")


def _sequence(of: Map | Filter) -> str:
    each, keep = split(of)
    kept = f" if {_said(keep, 'x')}" if keep else ""
    if isinstance(each, Permuted):
        return f"for each x of the list{kept}: {plain(each)}"
    return f"for each x of the list{kept}: {_said(each, 'x') if each else 'x'}"


def _said(of: Function, x: str) -> str:
    match of:
        case Chain():
            return _said(of.outer, _said(of.inner, x))
        case Combined():
            said = [_said(part, x) for part in of.parts]
            joined = " or ".join(said) if of.by in ("union", "lor") else " and ".join(said)
            return f"both {joined}" if of.by == "intersection" else joined
        case Random():
            return f"the word that is paired with {x} at random ({of.seed})"
        case Predicate():
            return _predicate(of, x)
        case Relation():
            return _relation(of, x)
    return plain(of)


def _predicate(of: Predicate, x: str) -> str:
    value = VALUES.get((of.attribute, of.value), of.value)
    return f"{x} is {value}" if of.attribute in ("POS", "sentiment") else f"the {of.attribute} of {x} is {value}"


def _relation(of: Relation, x: str) -> str:
    if of.name == "translate":
        return f"{x} in {language(of.target)}"
    if of.name in LEXICAL:
        return LEXICAL[of.name].format(x)
    name = of.name + ("[inv]" if of.inverse else "")
    if name in FACTUAL:
        return FACTUAL[name].format(x)
    return f"what has {x} as its {of.name}" if of.inverse else f"the {of.name} of {x}"
