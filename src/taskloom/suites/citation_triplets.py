"""Candidates to learn from citations, as SPECTER2 was trained: cited papers, and negatives that are easy or hard.

Of a query, papers that it cites are positive. Easy negatives are drawn by field of study: some of the query's, some of
another. Hard negatives are cited by a cited paper, but not by the query itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from ..ids import Json, shuffled
from ..sources.trec import Graded

POSITIVE, NEGATIVE = 1.0, 0.0  # grades


@dataclass(frozen=True, slots=True)
class Negatives:
    """How many negatives a query has at most, of each kind."""

    same: int = 4  # easy: of the query's field of study
    other: int = 2  # easy: of another one
    hard: int = 4  # cited by a cited paper


@dataclass(frozen=True, slots=True)
class _Apart:
    """Tells papers of another field of study, which are neither cited nor near to it."""

    refused: set[str]
    here: set[str]
    fields: Mapping[str, Sequence[str]]

    def is_fit(self, one: str) -> bool:
        """Tell whether a paper may be an easy negative of another field."""
        return one not in self.refused and self.here.isdisjoint(self.fields.get(one, ()))


def citation_candidates(
    cites: Mapping[str, Sequence[str]], fields: Mapping[str, Sequence[str]], *, key: Json, of: Negatives | None = None
) -> Graded:
    """Grade the candidates of each paper that cites some and has some negatives; papers that are not here don't count.

    >>> cites, fields = {"a": ["b"], "b": ["c"], "c": [], "d": []}, {name: ["x"] for name in "abcd"}
    >>> citation_candidates(cites, fields, key="k")["a"]
    {'b': 1.0, 'c': 0.0, 'd': 0.0}
    """
    of, by_field, every = of or Negatives(), _by_field(fields), sorted(cites)
    graded: Graded = {}
    for query in every:
        own = {query, *cites[query]}
        cited = [one for one in dict.fromkeys(cites[query]) if one in cites and one != query]
        far = {third for one in cited for third in cites[one] if third in cites} - own
        hard = _some(sorted(far), of.hard, lambda _: True, key, query, "hard")
        here = {*fields.get(query, ())}
        alike = sorted({one for name in here for one in by_field[name]} - own - far)
        same = _some([one for one in alike if one in cites], of.same, lambda _: True, key, query, "same")
        apart = _Apart(own | far, here, fields)
        other = _some(every, of.other, apart.is_fit, key, query, "other")
        if cited and (drawn := [*hard, *same, *other]):
            graded[query] = {**dict.fromkeys(cited, POSITIVE), **dict.fromkeys(drawn, NEGATIVE)}
    return graded


def _by_field(fields: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for one, names in fields.items():
        for name in names:
            found[name].append(one)
    return found


def _some(ids: Sequence[str], most: int, is_fit: Callable[[str], bool], *key: Json) -> list[str]:
    """Draw so many ids that are fit; no more are looked at than that takes."""
    drawn = (ids[place] for place in shuffled(len(ids), "negatives", *key))
    return list(islice(filter(is_fit, drawn), most))
