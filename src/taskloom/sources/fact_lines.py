"""What the graph of facts is written with: entities that are named by their kind and name, and labels."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

import pyoxigraph as ox

from .facts import CLASSES, LABEL, PROPERTIES
from .triples import OURS, line

CITIES: Mapping[tuple[str, str], str] = {  # that predicates ask for, and so go by Wikidata's ids
    (name, country): CLASSES["birthplace"][asked]
    for name, country, asked in (
        ("london", "United Kingdom", "london"),
        ("new-york-city", "United States", "nyc"),
        ("los-angeles", "United States", "la"),
        ("buenos-aires", "Argentina", "buenosaires"),
    )
}
YEAR = "http://www.w3.org/2001/XMLSchema#gYear"


@dataclass(frozen=True, slots=True)
class FactLines:
    """Triples as lines of N-Triples, each once."""

    lines: set[str] = field(default_factory=set)
    labelled: set[tuple[str, str]] = field(default_factory=set)  # entities, and the languages that they have a name in

    def say(self, subject: str, name: str, object_: str | ox.Literal) -> None:
        """Add a fact, by the name of its property."""
        self.lines.add(line(subject, PROPERTIES[name], object_))

    def call(self, entity: str, name: str, language: str = "en") -> str:
        """Label an entity unless it has a label in the language, and give it back."""
        if (entity, language) not in self.labelled:
            self.labelled.add((entity, language))
            self.lines.add(line(entity, LABEL, ox.Literal(label(name), language=language)))
        return entity

    def of_kind(self, kind: str, name: str) -> str:
        """Name an entity that has nothing but a name, and label it."""
        return self.call(entity(kind, name), name)

    def instance(self, subject: str, kind: str) -> None:
        """Say what an entity is."""
        self.say(subject, "instance of", self.of_kind("class", kind))

    def year(self, subject: str, name: str, year: int) -> None:
        """Add a year; years before our era are those of ISO 8601, which has a year 0."""
        text = f"{year:04d}" if year > 0 else f"{year + 1:05d}"
        self.say(subject, name, ox.Literal(text, datatype=ox.NamedNode(YEAR)))


def entity(kind: str, name: str) -> str:
    """Give the IRI of an entity: Wikidata's where predicates ask for it, else one of our own.

    >>> entity("class", "human"), entity("person", "Anne Boleyn")
    ('http://www.wikidata.org/entity/Q5', 'urn:taskloom:person:anne-boleyn')
    """
    short = slug(name)
    if kind == "class" and short in CLASSES["instance"]:
        return CLASSES["instance"][short]
    if kind == "occupation" and short in CLASSES["occupation"]:
        return CLASSES["occupation"][short]
    return f"{OURS}{kind}:{short}"


def slug(name: str) -> str:
    """Write a name in small letters and digits.

    >>> slug("Irène Joliot-Curie"), slug("Saint-Germain-en-Laye"), slug("Żelazowa Wola (Poland)")
    ('irene-joliot-curie', 'saint-germain-en-laye', 'zelazowa-wola-poland')
    """
    plain = name.replace("ł", "l").replace("Ł", "L").replace("ø", "o").replace("Ø", "O").replace("ß", "ss")
    letters = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", letters).strip("-")


def label(name: str) -> str:
    """Give a name without what tells it apart.

    >>> label("Mercury (planet)"), label("Paris")
    ('Mercury', 'Paris')
    """
    return re.sub(r" \([^()]*\)$", "", name)
