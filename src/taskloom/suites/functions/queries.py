"""A function of facts as one SPARQL query: inputs and outputs, each with its label (paper, table 2)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...errors import SuiteError
from .evaluate import is_predicate
from .language import Chain, Combined, Predicate, Relation, WordFunction
from .parse import FactNames

LABEL = "http://www.w3.org/2000/01/rdf-schema#label"


@dataclass(frozen=True, slots=True)
class _Writer:
    names: FactNames
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def fresh(self) -> str:
        return f"?v{next(self.numbers)}"

    def relation(self, of: WordFunction, x: str, y: str) -> str:
        """Write that y is an output of x."""
        match of:
            case Relation():
                ends = (y, x) if of.inverse else (x, y)
                return f"{ends[0]} {self.names.relation(of.name)} {ends[1]} ."
            case Chain():
                between = self.fresh()
                return f"{self.pairs(of.inner, x, between)} {self.relation(of.outer, between, y)}"
            case Combined(by="union"):
                return " UNION ".join(f"{{ {self.relation(part, x, y)} }}" for part in of.parts)
            case Combined(by="intersection"):
                return " ".join(f"{{ {self.pairs(part, x, y)} }}" for part in of.parts)
        raise SuiteError(f"not a relation of facts: {of}")

    def pairs(self, of: WordFunction, x: str, y: str) -> str:
        """Write the same, each pair once: there may be as many paths between them as a power of all entities."""
        written = self.relation(of, x, y)
        return written if isinstance(of, Relation) else f"{{ SELECT DISTINCT {x} {y} WHERE {{ {written} }} }}"

    def predicate(self, of: WordFunction, x: str, y: str) -> str:
        """Write that y is the truth of x; x must have all attributes that are asked for, else nothing is known."""
        if isinstance(of, Combined):
            truths = [self.fresh() for _ in of.parts]
            known = " ".join(self.predicate(part, x, truth) for part, truth in zip(of.parts, truths, strict=True))
            sign = " && " if of.by == "land" else " || "
            return f"{known} BIND(({sign.join(truths)}) AS {y})"
        path, atom, end = self._attribute(of, x)
        attribute, other = self.names.relation(atom.attribute), self.fresh()
        known = f"{{ SELECT DISTINCT {x} WHERE {{ {path} {end} {attribute} {other} . }} }}"
        holds = f"{path} {end} {attribute} {self.names.value(atom.value)} ."
        if "SELECT" not in path:
            return f"{known} BIND(EXISTS {{ {holds} }} AS {y})"
        true = self.fresh()  # EXISTS would go through all pairs for each entity
        holding = f"SELECT DISTINCT {x} (true AS {true}) WHERE {{ {holds} }}"
        return f"{known} OPTIONAL {{ {holding} }} BIND(BOUND({true}) AS {y})"

    def _attribute(self, of: WordFunction, x: str) -> tuple[str, Predicate, str]:
        if isinstance(of, Predicate):
            return "", of, x
        if isinstance(of, Chain) and isinstance(of.outer, Predicate):
            end = self.fresh()
            return self.pairs(of.inner, x, end), of.outer, end
        raise SuiteError(f"not a predicate of facts: {of}")


def query(of: WordFunction, names: FactNames, language: str = "en") -> str:
    """Write the one query whose rows are an input, its label, an output and its label; of predicates, the truth.

    >>> names = FactNames({"mother": "http://x/mother", "creator": "http://x/creator"})
    >>> print(query(Chain(Relation("mother"), Relation("creator")), names))  # doctest: +NORMALIZE_WHITESPACE
    SELECT DISTINCT ?x ?xLabel ?y ?yLabel WHERE {
      { ?x <http://x/creator> ?v0 . ?v0 <http://x/mother> ?y . }
      ?x <http://www.w3.org/2000/01/rdf-schema#label> ?xLabel . FILTER(LANG(?xLabel) = "en")
      ?y <http://www.w3.org/2000/01/rdf-schema#label> ?yLabel . FILTER(LANG(?yLabel) = "en")
    }
    """
    writer = _Writer(names)
    if is_predicate(of):
        lines = [f"{{ {writer.predicate(of, '?x', '?y')} }}", _labelled("?x", language)]
        return "\n  ".join(["SELECT DISTINCT ?x ?xLabel ?y WHERE {", *lines]) + "\n}"
    lines = [f"{{ {writer.relation(of, '?x', '?y')} }}", _labelled("?x", language), _labelled("?y", language)]
    return "\n  ".join(["SELECT DISTINCT ?x ?xLabel ?y ?yLabel WHERE {", *lines]) + "\n}"


def _labelled(of: str, language: str) -> str:
    return f'{of} <{LABEL}> {of}Label . FILTER(LANG({of}Label) = "{language}")'
