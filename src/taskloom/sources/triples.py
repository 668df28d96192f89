"""Files of facts to lines of N-Triples: N-Triples, Turtle, CSV, and entities of Wikidata in JSON.

A CSV file has the columns `subject`, `property` and `object`, and may have `language` for an object that is a text in
a language, and `subject label` and `object label`. A property is an IRI, or a name such as "mother". What is no IRI is
the name of an entity of the file, which is its label, too, unless it has another.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyoxigraph as ox

from ..errors import SourceError, UnknownNameError, UsageError
from ..limits import OPENERS, opened
from ..messages import Note
from .facts import DIRECT, ENTITY, LABEL, PROPERTIES
from .files import Layout, Row, RowFaults, unreadable
from .files import read as read_rows

OURS = "urn:taskloom:"  # what entities are named by that have no other name
IRI = re.compile(r"(https?://|urn:)[^\s<>\"{}|^`\\]+")
MAX_RDF = 1 << 30  # bytes of a file once it is unpacked
PART = 1 << 20  # bytes that are read at a time
DATA_TYPES: Mapping[str, str] = {  # how values of Wikidata that are no entities are told, by where their text is
    "string": "", "monolingualtext": "text", "time": "time", "quantity": "amount",
}  # fmt: skip
Subject = ox.NamedNode | ox.Literal


def read(path: Path) -> Iterator[str]:
    """Yield the triples of a file as lines of N-Triples, without the end of the line."""
    if not path.is_file():
        raise UsageError(Note.of("no-such-list", path=path))
    name = path.name.lower()
    for ending in OPENERS:
        name = name.removesuffix(ending)
    ending = Path(name).suffix
    if ending not in READERS:
        raise UnknownNameError("kind of file with facts", ending, READERS)
    return READERS[ending](path)


def line(subject: str, predicate: str, object_: str | ox.Literal) -> str:
    """Write a triple; an object that is a text is an IRI.

    >>> line("urn:x:1", LABEL, ox.Literal("Bach", language="en"))
    '<urn:x:1> <http://www.w3.org/2000/01/rdf-schema#label> "Bach"@en .'
    """
    node = ox.NamedNode(object_) if isinstance(object_, str) else object_
    return f"{ox.Triple(ox.NamedNode(subject), ox.NamedNode(predicate), node)} ."


def _rdf(path: Path, form: ox.RdfFormat) -> Iterator[str]:
    """Read N-Triples or Turtle; blank nodes go by the place that they have in the file."""
    with unreadable(path), opened(path) as file:
        content = bytearray()
        while part := file.read(PART):
            content += part
            if len(content) > MAX_RDF:
                raise SourceError(Note.of("facts-too-large", path=path, most=MAX_RDF))
    try:
        for quad in ox.parse(input=io.BytesIO(content), format=form, rename_blank_nodes=False):
            yield f"{quad.triple} ."
    except SyntaxError as error:
        reason = re.sub(r"^Parser error at line \d+( between columns \d+ and \d+|, column \d+)?: ", "", error.msg or "")
        raise SourceError(Note.of("triple-malformed", path=path, line=error.lineno, reason=reason)) from None


def _csv(path: Path, layout: Layout | None = None) -> Iterator[str]:
    faults = RowFaults()
    labels: dict[str, str] = {}
    for place, row in read_rows(path, faults, layout):
        try:
            yield from _row(row, labels)
        except (KeyError, ValueError) as error:
            faults.add(place, str(_row_fault(error)))
    yield from (line(entity, LABEL, ox.Literal(label, language="en")) for entity, label in sorted(labels.items()))
    faults.settle()


def _row(row: Row, labels: dict[str, str]) -> Iterator[str]:
    """Write a row, and note what its entities are called."""
    cells = {name: str(row[name] or "").strip() for name in ("subject", "property", "object")}
    if not all(cells.values()):
        raise ValueError("empty")
    subject, object_ = _entity(cells["subject"]), cells["object"]
    labels.setdefault(subject, str(row.get("subject label") or cells["subject"]))
    if language := str(row.get("language") or ""):
        yield line(subject, property_of(cells["property"]), ox.Literal(object_, language=language))
        return
    labels.setdefault(_entity(object_), str(row.get("object label") or object_))
    yield line(subject, property_of(cells["property"]), _entity(object_))


def _row_fault(error: Exception) -> Note:
    if isinstance(error, KeyError):
        return Note.of("triple-column-missing", name=error.args[0])
    return Note.of("triple-cell-wrong", reason=error)


def property_of(name: str) -> str:
    """Give the IRI of a property.

    >>> property_of("mother")
    'http://www.wikidata.org/prop/direct/P25'
    """
    if name in PROPERTIES:
        return PROPERTIES[name]
    if re.fullmatch(r"P\d+", name):
        return DIRECT + name
    if IRI.fullmatch(name):
        return name
    raise ValueError(str(UnknownNameError("property", name, PROPERTIES)))


def _entity(name: str) -> str:
    """Give the IRI of an entity.

    >>> _entity("Q5"), _entity("Anne Boleyn"), _entity("urn:x:1")
    ('http://www.wikidata.org/entity/Q5', 'urn:taskloom:Anne%20Boleyn', 'urn:x:1')
    """
    if re.fullmatch(r"Q\d+", name):
        return ENTITY + name
    return name if IRI.fullmatch(name) else OURS + quote(name, safe=":")


def _wikidata(path: Path) -> Iterator[str]:
    """Read entities as Wikidata gives them: a list of them, such as a dump, or one on each line."""
    faults = RowFaults()
    for place, entity in read_rows(path, faults, Layout(format="json")):
        try:
            yield from _of_wikidata(entity)
        except (KeyError, TypeError, AttributeError, ValueError):
            faults.add(place, "not an entity of Wikidata")
    faults.settle()


def _of_wikidata(entity: Row) -> Iterator[str]:
    """Write the labels of an entity, and of each property the statements of the best rank."""
    subject = ENTITY + re.fullmatch(r"[QP]\d+", entity["id"])[0]  # type: ignore[index]
    for label in entity.get("labels", {}).values():
        yield line(subject, LABEL, ox.Literal(label["value"], language=label["language"]))
    for name, statements in entity.get("claims", {}).items():
        ranks = {statement.get("rank", "normal") for statement in statements}
        best = "preferred" if "preferred" in ranks else "normal"
        for statement in statements:
            if statement.get("rank", "normal") == best and (value := _value(statement["mainsnak"])):
                yield line(subject, DIRECT + name, value)


def _value(snak: Mapping[str, Any]) -> str | ox.Literal | None:
    """Give what a statement says, unless it is that nothing is known."""
    if snak["snaktype"] != "value":
        return None
    kind, value = snak["datavalue"]["type"], snak["datavalue"]["value"]
    if kind == "wikibase-entityid":
        return ENTITY + str(value["id"])
    if kind not in DATA_TYPES:
        return None
    at = DATA_TYPES[kind]
    return ox.Literal(str(value[at] if at else value), language=value.get("language") if at == "text" else None)


READERS: Mapping[str, Callable[[Path], Iterator[str]]] = {
    ".nt": lambda path: _rdf(path, ox.RdfFormat.N_TRIPLES),
    ".ttl": lambda path: _rdf(path, ox.RdfFormat.TURTLE),
    ".csv": _csv,
    ".tsv": _csv,
    ".json": _wikidata,
    ".jsonl": _wikidata,
}
