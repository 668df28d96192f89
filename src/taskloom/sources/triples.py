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

from ..errors import SourceError, UnknownNameError
from ..limits import MOST_NESTED, OPENERS, opened, refuse_no_file
from ..messages import Note
from .facts import DIRECT, ENTITY, LABEL, PROPERTIES
from .files import Layout, Row, RowFaults, unreadable
from .files import read as read_rows

OURS = "urn:taskloom:"  # what entities are named by that have no other name
IRI = re.compile(r"(https?://|urn:)[^\s<>\"{}|^`\\]+")
TOKENS = re.compile(  # of Turtle: triples in triples, and all that could hide them: escapes, texts, IRIs and comments
    rb"""(?s)\\.|\"{3}(?:[^"\\]++|\\.|"(?!""))*+\"{3}|'{3}(?:[^'\\]++|\\.|'(?!''))*+'{3}"""
    rb"""|"(?:[^"\\\n]++|\\.)*+"|'(?:[^'\\\n]++|\\.)*+'|<<\(|\)>>|<[^<>"{}|^`\s]*+>|\#[^\n]*+"""
)
PLACE = re.compile(r"^Parser error at line \d+( between columns \d+ and \d+|,? column \d+)?: ")  # in a message
MAX_RDF = 1 << 30  # bytes of a file once it is unpacked
PART = 1 << 20  # bytes that are read at a time
DATA_TYPES: Mapping[str, str] = {  # where the text of values of Wikidata is that are no entities
    "string": "", "monolingualtext": "text", "time": "time", "quantity": "amount",
}  # fmt: skip
Subject = ox.NamedNode | ox.Literal


def read(path: Path) -> Iterator[str]:
    """Yield the triples of a file as lines of N-Triples, without the end of the line."""
    refuse_no_file(path)
    if path.stat().st_size == 0:
        raise SourceError(Note.of("file-empty", path=path))
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
    if content.count(b"<<(") > MOST_NESTED and _is_deep(content):
        raise SourceError(Note.of("triples-nested", most=MOST_NESTED, path=path))
    try:
        for quad in ox.parse(input=io.BytesIO(content), format=form, rename_blank_nodes=False):
            yield f"{quad.triple} ."
    except MemoryError:  # which the library says of one text, before it takes it
        raise SourceError(Note.of("triple-too-long", path=path)) from None
    except SyntaxError as error:
        reason = PLACE.sub("", error.msg or "")
        raise SourceError(Note.of("triple-malformed", path=path, line=error.lineno, reason=reason)) from None


def _is_deep(content: bytes | bytearray) -> bool:
    """Tell triples within triples, of which the library recurses until the process ends."""
    depth = 0
    for token in TOKENS.finditer(content):
        depth += {b"<<(": 1, b")>>": -1}.get(token[0], 0)
        if depth > MOST_NESTED:
            return True
    return False


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
    subject, object_, language = _entity(cells["subject"]), cells["object"], str(row.get("language") or "")
    value = ox.Literal(object_, language=language) if language else _entity(object_)
    yield line(subject, property_of(cells["property"]), value)
    labels.setdefault(subject, str(row.get("subject label") or cells["subject"]))  # of what could be written
    if not language:
        labels.setdefault(_entity(object_), str(row.get("object label") or object_))


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
