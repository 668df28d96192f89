"""Our own tables of facts (people, works, films, places, bodies of the sky and others), and the chemical elements."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from pathlib import Path

import pyoxigraph as ox

from .fact_countries import Countries
from .fact_lines import CITIES, FactLines, entity, slug
from .fact_wordnet import Cities

FOLDER = resources.files("taskloom") / "data" / "facts"
TABLES = ("people", "works", "films", "places", "bodies", "relations")
SEPARATOR = ";"


def rows(name: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a table that ships with taskloom."""
    return csv.DictReader((FOLDER / f"{name}.csv").read_text(encoding="utf-8").splitlines())


def born() -> dict[str, int | None]:
    """Give the years of birth of all people of our tables, where they are known."""
    makers = [row["creator"] for row in rows("works")] + [row["director"] for row in rows("films")]
    others = [
        row[side] for row in rows("relations") for side in ("subject", "object") if row[f"{side} kind"] == "person"
    ]
    parents = [row[parent] for row in rows("people") for parent in ("father", "mother") if row[parent]]
    found: dict[str, int | None] = dict.fromkeys(map(slug, (*makers, *others, *parents)))
    return found | {slug(row["name"]): int(row["born"]) if row["born"] else None for row in rows("people")}


def add_people(facts: FactLines, countries: Countries, place: Callable[[str], str]) -> None:
    """Say who people are, and whose children."""
    for row in rows("people"):
        person = _person(facts, row["name"], row["gender"])
        for parent, gender in (("father", "male"), ("mother", "female")):
            if row[parent]:
                facts.say(person, parent, other := _person(facts, row[parent], gender))
                facts.say(other, "child", person)
        for name, column in (("date of birth", "born"), ("date of death", "died")):
            if row[column]:
                facts.year(person, name, int(row[column]))
        if row["place of birth"]:
            facts.say(person, "place of birth", place(row["place of birth"]))
        for name in filter(None, row["citizenship"].split(SEPARATOR)):
            facts.say(person, "country of citizenship", _country(facts, countries, name))
        for name in filter(None, row["occupation"].split(SEPARATOR)):
            facts.say(person, "occupation", facts.of_kind("occupation", name))


def _person(facts: FactLines, name: str, gender: str = "") -> str:
    person = facts.of_kind("person", name)
    facts.instance(person, "human")
    if gender:
        facts.say(person, "sex or gender", facts.of_kind("gender", gender))
    return person


def _country(facts: FactLines, countries: Countries, name: str) -> str:
    found = countries.find(name)
    return found.iri if found else facts.of_kind("country", name)


def add_works(facts: FactLines, countries: Countries) -> None:
    """Say who made works; who wrote a book or a play writes in its language."""
    for row in rows("works"):
        work, maker = facts.of_kind("work", row["title"]), _person(facts, row["creator"])
        facts.instance(work, row["kind"])
        facts.say(work, "creator", maker)
        _add_origin(facts, countries, work, row)
        if row["language"] and row["kind"] in ("book", "play"):
            facts.say(maker, "languages spoken written or signed", facts.of_kind("language", row["language"]))
    for row in rows("films"):
        film, director = facts.of_kind("film", row["title"]), _person(facts, row["director"])
        facts.instance(film, "film")
        facts.say(film, "director", director)
        facts.say(director, "occupation", facts.of_kind("occupation", "film director"))
        _add_origin(facts, countries, film, row)
        if row["language"]:
            language = facts.of_kind("language", row["language"])
            facts.say(film, "original language of film or TV show", language)


def _add_origin(facts: FactLines, countries: Countries, work: str, row: Mapping[str, str]) -> None:
    if row["country of origin"]:
        facts.say(work, "country of origin", _country(facts, countries, row["country of origin"]))


def finder(facts: FactLines, countries: Countries, cities: Cities) -> Callable[[str], str]:
    """Give a function that names the places of our tables, and say in which country each is."""
    found: dict[str, str] = {}
    for row in rows("places"):
        country = _country(facts, countries, row["country"])
        place = CITIES.get((slug(row["name"]), row["country"])) or cities.get((slug(row["name"]), country))
        found[row["name"]] = place or entity("place", f"{row['name']} {row['country']}")
        facts.say(facts.call(found[row["name"]], row["name"]), "country", country)
    return lambda name: found.get(name) or facts.of_kind("place", name)


def add_others(facts: FactLines, countries: Countries, place: Callable[[str], str]) -> None:
    """Say what is in the tables of bodies and of relations."""
    for row in rows("bodies"):
        body = facts.of_kind("body", row["name"])
        facts.instance(body, row["kind"])
        facts.say(body, "parent astronomical body", facts.of_kind("body", row["parent astronomical body"]))
        if row["named after"]:
            facts.say(body, "named after", facts.of_kind("deity", row["named after"]))
    for row in rows("relations"):
        subject, object_ = (
            _named(facts, countries, place, row[f"{side} kind"], row[side]) for side in ("subject", "object")
        )
        facts.say(subject, row["property"], object_)


def _named(facts: FactLines, countries: Countries, place: Callable[[str], str], kind: str, name: str) -> str:
    if kind == "country":
        return _country(facts, countries, name)
    if kind == "place":
        return place(name)
    return _person(facts, name) if kind == "person" else facts.of_kind(kind, name)


def add_elements(facts: FactLines, database: Path) -> None:
    """Say what the chemical elements are called, and their numbers."""
    db = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        found = db.execute(
            "SELECT e.name, e.symbol, e.atomic_number, s.name FROM elements e LEFT JOIN series s ON s.id = e.series_id"
        ).fetchall()
    finally:
        db.close()
    for name, symbol, number, series in found:
        element = facts.of_kind("element", name)
        facts.instance(element, "chemical element")
        facts.say(element, "element symbol", ox.Literal(symbol))
        facts.say(element, "atomic number", ox.Literal(number))
        if series:
            facts.say(element, "subclass of", facts.of_kind("series", series.lower()))
