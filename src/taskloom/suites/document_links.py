"""Judgements that a table of documents holds: by what found them, by what they share, and by what they cite."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from ..ids import Json, shuffled
from ..sources.trec import Graded

Link: TypeAlias = Literal["found_by", "same", "cites"]
CITED, NEAR = 2.0, 1.0  # grades of what is cited or cites, and of what is two citations away


def judgements(link: Link, values: Mapping[str, Sequence[str]]) -> Graded:
    """Grade documents by the values that each has: queries that found it, things it shares, ids that it cites.

    >>> judgements("found_by", {"a": ["trees"], "b": ["trees", "birds"]})
    {'trees': {'a': 1.0, 'b': 1.0}, 'birds': {'b': 1.0}}
    >>> judgements("same", {"a": ["trees"], "b": ["trees", "birds"], "c": ["fish"]})
    {'a': {'b': 1.0}, 'b': {'a': 1.0}}
    >>> judgements("cites", {"a": ["b"], "b": ["c"], "c": [], "d": []})
    {'a': {'b': 2.0, 'c': 1.0}, 'b': {'a': 2.0, 'c': 2.0}, 'c': {'a': 1.0, 'b': 2.0}}
    """
    found = _having(values)
    if link == "found_by":
        return {value: dict.fromkeys(own, 1.0) for value, own in found.items()}
    if link == "cites":
        return _by_citation(values)
    near = {one: {other for value in own for other in found[value] if other != one} for one, own in values.items()}
    return {one: dict.fromkeys(sorted(others), 1.0) for one, others in near.items() if others}


def _having(values: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for document, own in values.items():
        for value in dict.fromkeys(own):
            found[value].append(document)
    return found


def _by_citation(cited: Mapping[str, Sequence[str]]) -> Graded:
    """Grade what is cited or cites, and what is two citations away: of documents that are here alone."""
    linked: dict[str, set[str]] = {one: set() for one in cited}
    for one, others in cited.items():
        for other in others:
            if other in linked and other != one:
                linked[one].add(other)
                linked[other].add(one)
    graded: Graded = {}
    for one, direct in linked.items():
        far = {third for other in direct for third in linked[other]} - direct - {one}
        grades = {**dict.fromkeys(far, NEAR), **dict.fromkeys(direct, CITED)}
        if grades:
            graded[one] = {other: grades[other] for other in sorted(grades)}
    return graded


def drawn(
    judged: Graded, documents: Sequence[str], *, queries: int, positives: int, negatives: int, key: Json
) -> Graded:
    """Draw queries, relevant candidates of each and others at random, by a key; 0 keeps all queries and all relevant.

    >>> drawn({"q": {"a": 1.0}}, ["a", "b"], queries=0, positives=0, negatives=5, key="k")
    {'q': {'a': 1.0, 'b': 0.0}}
    """
    asked = _some(sorted(judged), queries, "queries", key)
    return {query: _candidates(query, judged[query], documents, positives, negatives, key) for query in asked}


def _candidates(
    query: str, grades: Mapping[str, float], documents: Sequence[str], positives: int, negatives: int, key: Json
) -> dict[str, float]:
    relevant = _some(sorted(grades), positives, "positives", key, query)
    others = [one for one in sorted(documents) if one not in grades and one != query] if negatives else []
    return {
        **{one: grades[one] for one in relevant},
        **dict.fromkeys(_some(others, negatives, "negatives", key, query), 0.0),
    }


def _some(values: Sequence[str], most: int, *key: Json) -> list[str]:
    """Draw so many of these, in their order; 0: all."""
    if not most or most >= len(values):
        return list(values)
    order = shuffled(len(values), *key)
    return [values[at] for at in sorted(next(order) for _ in range(most))]
