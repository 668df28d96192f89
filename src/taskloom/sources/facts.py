"""Facts as a graph that is asked in SPARQL: an embedded store, or an endpoint. Properties are those of Wikidata.

>>> facts = EmbeddedGraph.of(['<urn:x:Bach> <http://www.wikidata.org/prop/direct/P31> <urn:x:human> .'])
>>> list(facts.select(f"SELECT ?who WHERE {{ ?who <{PROPERTIES['instance of']}> <urn:x:human> }}"))
[('urn:x:Bach',)]
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import merge
from itertools import islice
from pathlib import Path
from threading import Event
from typing import Any, Protocol, TypeAlias

import pyoxigraph as ox

from ..errors import SourceError, UnknownNameError, UsageError
from ..messages import Note
from ..processes import answering_signals
from ..progress import Progress
from . import packages

Cells: TypeAlias = "tuple[str | None, ...]"

DIRECT = "http://www.wikidata.org/prop/direct/"
ENTITY = "http://www.wikidata.org/entity/"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
PROPERTIES: Mapping[str, str] = {  # those of the paper, and others that the graph of taskloom has
    name: DIRECT + id_
    for name, id_ in {
        "atomic number": "P1086",
        "capital": "P36",
        "child": "P40",
        "continent": "P30",
        "country": "P17",
        "country of citizenship": "P27",
        "country of origin": "P495",
        "creator": "P170",
        "currency": "P38",
        "date of birth": "P569",
        "date of death": "P570",
        "developer": "P178",
        "diplomatic relation": "P530",
        "director": "P57",
        "element symbol": "P246",
        "employer": "P108",
        "father": "P22",
        "genre": "P136",
        "has part": "P527",
        "head of state": "P35",
        "influenced by": "P737",
        "instance of": "P31",
        "languages spoken written or signed": "P1412",
        "location": "P276",
        "manufacturer": "P176",
        "member of political party": "P102",
        "member of sports team": "P54",
        "mother": "P25",
        "named after": "P138",
        "native language": "P103",
        "occupation": "P106",
        "official language": "P37",
        "original language of film or TV show": "P364",
        "owned by": "P127",
        "parent astronomical body": "P397",
        "parent taxon": "P171",
        "performer": "P175",
        "place of birth": "P19",
        "place of death": "P20",
        "position held": "P39",
        "position played on team": "P413",
        "record label": "P264",
        "sex or gender": "P21",
        "shares border with": "P47",
        "subclass of": "P279",
    }.items()
}
CLASSES: Mapping[str, Mapping[str, str]] = {  # what predicates ask for, by Wikidata's ids
    kind: {name: ENTITY + id_ for name, id_ in ids.items()}
    for kind, ids in {
        "instance": {"human": "Q5", "film": "Q11424", "book": "Q571", "city": "Q515", "taxon": "Q16521"},
        "occupation": {
            "actor": "Q33999", "politician": "Q82955", "writer": "Q36180", "journalist": "Q1930187",
            "teacher": "Q37226", "composer": "Q36834",
        },
        "birthplace": {"london": "Q84", "nyc": "Q60", "la": "Q65", "buenosaires": "Q1486"},
    }.items()
}  # fmt: skip
MOST_ROWS, MOST_TIMES = 1_000_000, 10  # rows of a query: so many, or so many times the facts
SORTED = 1 << 16  # rows that are sorted at once
ORDERED = re.compile(r"\bORDER\s+BY\b[^{}]*$", re.IGNORECASE)  # of a whole query, not of a part in braces


class Graph(Protocol):
    """Facts that can be asked."""

    @property
    def digest(self) -> str:
        """Name what is in it, or where it is."""
        ...

    def select(self, query: str) -> Iterator[Cells]:
        """Yield the rows of a SELECT query: IRIs and literals as texts, None where nothing is bound.

        Rows come in the order that the query asks for, or else sorted: the same on every machine.
        """
        ...


@dataclass(frozen=True, slots=True)
class EmbeddedGraph:
    """A graph in the memory of this process."""

    digest: str
    store: ox.Store = field(repr=False, compare=False)

    @classmethod
    def of(cls, triples: Iterable[str]) -> EmbeddedGraph:
        """Make a graph of lines of N-Triples that are known to be good."""
        lines = sorted(set(triples))
        content = "".join(f"{line}\n" for line in lines).encode()
        store = ox.Store()
        answering_signals(lambda _: store.bulk_load(input=content, format=ox.RdfFormat.N_TRIPLES))
        return cls(hashlib.blake2b(content, digest_size=16).hexdigest(), store)

    def select(self, query: str) -> Iterator[Cells]:
        """Give the rows of a query, unless they are many more than the facts."""
        most = max(MOST_ROWS, MOST_TIMES * len(self.store))
        try:
            rows = answering_signals(lambda stop: self._rows(query, most + 1, stop))
        except SyntaxError as error:
            raise UsageError(Note.of("query-malformed", reason=(error.msg or "").partition("\n")[0])) from None
        if len(rows) > most:
            raise SourceError(Note.of("facts-rows-many", most=most))
        return in_order(query, rows)

    def _rows(self, query: str, most: int, stop: Event) -> list[Cells]:
        """Give so many rows; what pyoxigraph finds may not leave the thread in which it was asked."""
        found = self.store.query(query)
        if not isinstance(found, ox.QuerySolutions):
            raise UsageError(Note.of("select-expected"))
        rows: list[Cells] = []
        texts: dict[str | None, str | None] = {}  # each once
        for solution in found:
            rows.append(tuple(texts.setdefault(text, text) for text in map(_text, solution)))
            if len(rows) == most or stop.is_set():
                break
        return rows


def in_order(query: str, rows: Iterable[Iterable[str | None]]) -> Iterator[Cells]:
    """Yield rows as they come if the query has an order, or else sorted, in steps between which signals are answered.

    >>> list(in_order("SELECT ?x {}", [["b"], [None], ["a"]]))
    [(None,), ('a',), ('b',)]
    """
    cells = (tuple(row) for row in rows)
    if ORDERED.search(query):
        return cells
    return merge(*iter(lambda: sorted(islice(cells, SORTED), key=_place), []), key=_place)


def _place(row: Cells) -> list[tuple[bool, str]]:
    return [(cell is not None, cell or "") for cell in row]


def _text(term: Any) -> str | None:
    return None if term is None else str(term.value) if hasattr(term, "value") else str(term)


def graph(source: str = "data:facts", *, progress: Progress | None = None) -> Graph:
    """Give the graph of a source: `data:facts`, a file of triples, or the address of a SPARQL endpoint.

    Files are N-Triples, Turtle, CSV (subject, property, object) or entities of Wikidata in JSON, plain or compressed.
    """
    if re.match("https?://", source):
        from .endpoint import SparqlEndpoint

        return SparqlEndpoint(url=source)
    from .triples import read

    kind, _, name = source.partition(":")
    if kind == "data":
        if name != "facts":
            raise UnknownNameError("source of facts", source, ("data:facts", "a file", "the address of an endpoint"))
        return EmbeddedGraph.of(read(packages.get(name, progress) / "facts.nt"))
    return EmbeddedGraph.of(read(Path(source)))
