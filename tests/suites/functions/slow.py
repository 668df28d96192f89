"""What functions give, worked out word by word with sets: slow, and plain to see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from taskloom.suites.functions.language import (
    Chain,
    Combined,
    Filter,
    Map,
    Predicate,
    Random,
    Relation,
    SequenceFunction,
    WordFunction,
    written,
)

Relations: TypeAlias = Mapping[str, Mapping[str, frozenset[str]]]


class Slow:
    """Relations as mappings from a word to words, and predicates as sets of the words for which they hold."""

    def __init__(
        self, relations: Mapping[str, Mapping[str, frozenset[str]]], holds: Mapping[str, frozenset[str]]
    ) -> None:
        self.relations, self.holds = relations, holds

    def outputs(self, of: WordFunction, words: frozenset[str]) -> frozenset[str]:
        match of:
            case Relation() | Random():
                return frozenset().union(*(self.relations[written(of)].get(word, frozenset()) for word in words))
            case Chain():
                return self.outputs(of.outer, self.outputs(of.inner, words))
            case Combined():
                found = [self.outputs(part, words) for part in of.parts]
                return found[0].union(*found) if of.by == "union" else found[0].intersection(*found)
        raise AssertionError(of)

    def truth(self, of: WordFunction, words: frozenset[str]) -> bool:
        match of:
            case Predicate():
                return bool(words & self.holds[written(of)])
            case Chain():
                return self.truth(of.outer, self.outputs(of.inner, words))
            case Combined():
                found = [self.truth(part, words) for part in of.parts]
                return all(found) if of.by == "land" else any(found)
        raise AssertionError(of)

    def sequence(self, of: SequenceFunction | None, words: list[frozenset[str]]) -> list[frozenset[str]]:
        """Apply maps and filters one after the other, as they are nested."""
        if of is None:
            return words
        before = self.sequence(of.over, words)
        if isinstance(of, Map):
            return [self.outputs(of.each, one) for one in before]
        assert isinstance(of, Filter)
        return [one for one in before if self.truth(of.keep, one)]
