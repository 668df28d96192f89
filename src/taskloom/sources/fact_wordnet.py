"""What WordNet says of single persons, places and taxa: it has about 7,700 of them, and 5,400 taxonomic groups.

Of a gloss only what is in a fixed form is read: the years of a life, which tell persons from figures of legends, and a
nationality at its beginning, which makes a citizen of somebody who was born after the state of today began.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from . import wordnets
from .fact_countries import Countries, Country
from .fact_lines import CITIES, FactLines, entity, slug
from .triples import OURS
from .wordnets import Synset

Cities: TypeAlias = "dict[tuple[str, str], str]"  # a name and the IRI of a country -> the IRI of a city

LIFE = re.compile(r"\((?:born )?(?:circa )?(\d{1,4})-(?:circa )?(\d{1,4})( BC)?\)|\(born in (\d{4})\)")
OCCUPATIONS: Mapping[str, str] = {  # classes that are an occupation by another name
    "actress": "actor", "statesman": "politician", "film maker": "film director", "doctor": "physician",
    "ballplayer": "baseball player", "prizefighter": "boxer", "general": "military officer",
    "field marshal": "military officer", "naval officer": "military officer", "couturier": "fashion designer",
    "soprano": "singer",
} | {name: name for name in (
    "writer", "poet", "composer", "philosopher", "painter", "dramatist", "physicist", "chemist", "actor", "architect",
    "mathematician", "theologian", "inventor", "astronomer", "historian", "explorer", "nuclear physicist", "singer",
    "sculptor", "economist", "dancer", "industrialist", "physiologist", "politician", "educator", "choreographer",
    "biochemist", "navigator", "psychologist", "diplomat", "pianist", "comedian", "tennis player", "engineer",
    "financier", "anthropologist", "conductor", "journalist", "naturalist", "publisher", "businessman", "novelist",
    "literary critic", "songwriter", "botanist", "bacteriologist", "electrical engineer", "violinist",
    "jazz musician", "lexicographer", "linguist", "missionary", "sociologist", "cartoonist", "biologist", "humorist",
    "aviator", "lawyer", "surgeon", "geneticist", "anatomist", "philologist", "golfer", "organist", "photographer",
    "neurologist", "teacher",
)}  # fmt: skip
WIDER: Mapping[str, str] = {  # said of those who are a kind of it, too
    "10794014-n": "writer", "09765278-n": "actor", "10450303-n": "politician", "10451263-n": "politician",
    "10224578-n": "journalist", "10694258-n": "teacher", "09947232-n": "composer",
}  # fmt: skip
POSITIONS: Mapping[str, str] = {
    "King of England": "monarch of England or Great Britain", "Queen of England": "monarch of England or Great Britain",
} | {name: name for name in (
    "President of the United States", "King of France", "pope", "Roman Emperor", "Holy Roman Emperor", "chief justice",
)}  # fmt: skip
REALMS: Mapping[str, tuple[str, ...]] = {  # what tells monarchs of one name apart
    "King of England": ("England", "Great Britain", "the United Kingdom"), "King of France": ("France",),
    "Queen of England": ("England",),
}  # fmt: skip
ABOUT = 2  # years that years of birth may differ by
BEINGS = frozenset({"person", "imaginary being", "spiritual being", "event"})  # which are no places
GONE = frozenset({"Netherlands Antilles", "Yugoslavia", "Soviet Union", "Czechoslovakia"})  # since WordNet was made
CITY = ("city", "national capital", "state capital", "provincial capital")
CITIZENS: Mapping[str, tuple[str, int]] = {  # nationality -> country, and the first year of birth that makes a citizen
    "United States": ("United States", 1740), "English": ("United Kingdom", 1801),
    "British": ("United Kingdom", 1801), "Scottish": ("United Kingdom", 1801), "Welsh": ("United Kingdom", 1801),
    "French": ("France", 1789), "German": ("Germany", 1871), "Italian": ("Italy", 1861), "Spanish": ("Spain", 1812),
    "Dutch": ("Netherlands", 1815), "Swiss": ("Switzerland", 1848), "Swedish": ("Sweden", 1810),
    "Danish": ("Denmark", 1815), "Norwegian": ("Norway", 1905), "Belgian": ("Belgium", 1830),
    "Irish": ("Ireland", 1922), "Canadian": ("Canada", 1867), "Australian": ("Australia", 1901),
    "Mexican": ("Mexico", 1821), "Japanese": ("Japan", 1868), "Polish": ("Poland", 1918),
    "Finnish": ("Finland", 1917), "Chilean": ("Chile", 1818), "Cuban": ("Cuba", 1902), "Indian": ("India", 1947),
}  # fmt: skip


@dataclass(frozen=True)
class Names:
    """The nouns of a WordNet, with what they are an instance or a kind of."""

    nouns: Mapping[str, Synset]
    spanish: Mapping[str, str]  # the first lemma of a synset

    @classmethod
    def of(cls, folder: Path, spanish: Path) -> Names:
        """Read WordNet's files and the Spanish table."""
        nouns = {synset.id: synset for synset in wordnets.synsets(folder) if synset.id.endswith("-n")}
        lemmas: dict[str, str] = {}
        for id_, lemma in wordnets.translations(spanish):
            lemmas.setdefault(id_, lemma)
        return cls(nouns, lemmas)

    def targets(self, id_: str, *symbols: str) -> list[str]:
        """Give the nouns that one points to."""
        return [p.target for p in self.nouns[id_].pointers if p.symbol in symbols and p.target in self.nouns]

    def above(self, id_: str, *symbols: str) -> set[str]:
        """Follow pointers as far as they lead."""
        found: set[str] = set()
        ahead = [id_]
        while ahead:
            new = set(self.targets(ahead.pop(), *symbols)) - found
            found |= new
            ahead.extend(new)
        return found

    def classes(self, id_: str) -> list[str]:
        """Name what something is an instance of."""
        return [self.nouns[target].lemmas[0] for target in self.targets(id_, "@i")]

    @cached_property
    def instances(self) -> tuple[str, ...]:
        """List what is an instance of something."""
        return tuple(id_ for id_ in sorted(self.nouns) if self.targets(id_, "@i"))

    def kinds(self, id_: str) -> set[str]:
        """Name all kinds of things that something is."""
        return {lemma for above in self.above(id_, "@", "@i") for lemma in self.nouns[above].lemmas}

    def called(self, id_: str) -> str:
        """Give the name of somebody in full, where there is one: WordNet has the surname first.

        >>> names = Names({"1-n": Synset("1-n", ("Hardy", "Thomas Hardy"), (), "")}, {})
        >>> names.called("1-n")
        'Thomas Hardy'
        """
        first, *others = self.nouns[id_].lemmas
        whole = re.compile(rf".* {re.escape(first)}|{re.escape(first)} [IVX]+")
        return next((name for name in others if whole.fullmatch(name)), first)


def life(gloss: str) -> tuple[int, int | None] | None:
    """Read the years of a life; those before our era are negative.

    >>> life("English novelist (1840-1928)"), life("Greek (circa 495-430 BC)"), life("(born in 1926)"), life("king")
    ((1840, 1928), (-495, -430), (1926, None), None)
    """
    if not (found := LIFE.search(gloss)):
        return None
    born, died, before, living = found.groups()
    if living:
        return int(living), None
    years = (-int(born), -int(died)) if before else (int(born), int(died))
    return years if 0 < years[1] - years[0] < 111 else None


def add_persons(facts: FactLines, names: Names, countries: Countries, ours: Mapping[str, int | None]) -> None:
    """Say what persons were; those of our own tables go by their names there. Years of lives are often a bit off."""
    lives = {id_: years[0] for id_ in names.instances if (years := life(names.nouns[id_].gloss))}
    lives = {id_: born for id_, born in lives.items() if "person" in names.kinds(id_)}
    same = _same(names, lives, ours)
    for id_, born in lives.items():
        person = facts.call(same.get(id_, f"{OURS}wordnet:{id_}"), names.called(id_))
        facts.instance(person, "human")
        _spanish(facts, names, id_, person)
        for occupation in _occupations(names, id_):
            facts.say(person, "occupation", facts.of_kind("occupation", occupation))
        for name in names.classes(id_):
            if name in POSITIONS:
                facts.say(person, "position held", facts.of_kind("position", POSITIONS[name]))
        if citizen := _country(names.nouns[id_].gloss, born, countries):
            facts.say(person, "country of citizenship", citizen.iri)


def _same(names: Names, born: Mapping[str, int], ours: Mapping[str, int | None]) -> dict[str, str]:
    """Find the people of our own tables in WordNet: the only one of that name who was, if known, born about then."""
    called: dict[str, list[str]] = {}
    for id_ in born:
        for name in {slug(name) for name in _whole_names(names, id_)}:
            called.setdefault(name, []).append(id_)
    found: dict[str, str] = {}
    for name, year in sorted(ours.items()):
        those = [id_ for id_ in called.get(name, ()) if year is None or abs(year - born[id_]) <= ABOUT]
        if len(those) == 1:
            found[those[0]] = entity("person", name)
    return found


def _whole_names(names: Names, id_: str) -> Iterator[str]:
    """Yield the names that are no mere surnames, and those of monarchs with their realm."""
    yield from (lemma for lemma in names.nouns[id_].lemmas if " " in lemma)
    yield (called := names.called(id_))
    yield from (f"{called} of {realm}" for name in names.classes(id_) for realm in REALMS.get(name, ()))


def _occupations(names: Names, id_: str) -> Iterator[str]:
    """Yield occupations, and wider ones: a poet is a writer, too."""
    for target in names.targets(id_, "@i"):
        if name := OCCUPATIONS.get(names.nouns[target].lemmas[0]):
            yield name
            yield from (WIDER[above] for above in names.above(target, "@") if above in WIDER)


def _country(gloss: str, born: int, countries: Countries) -> Country | None:
    if re.search("born in [A-Z]", gloss):  # who came from elsewhere may not have become a citizen
        return None
    for nationality, (country, since) in CITIZENS.items():
        if gloss.startswith(f"{nationality} ") and born >= since:
            return countries.find(country)
    return None


def _spanish(facts: FactLines, names: Names, id_: str, of: str) -> None:
    if lemma := names.spanish.get(id_):
        facts.call(of, lemma, "es")


def add_taxa(facts: FactLines, names: Names) -> None:
    """Say what taxonomic groups belong to."""
    (group,) = (id_ for id_, synset in names.nouns.items() if "taxonomic group" in synset.lemmas)
    taxa = {
        id_ for id_, synset in names.nouns.items() if synset.lemmas[0][:1].isupper() and group in names.above(id_, "@")
    }
    for id_ in sorted(taxa):
        taxon = facts.call(f"{OURS}wordnet:{id_}", names.nouns[id_].lemmas[0])
        facts.instance(taxon, "taxon")
        _spanish(facts, names, id_, taxon)
        for parent in set(names.targets(id_, "#m")) & taxa:
            facts.say(taxon, "parent taxon", f"{OURS}wordnet:{parent}")


def places(names: Names, countries: Countries) -> dict[str, str]:
    """Give the IRIs of places: WordNet's own, but those of countries where a place is one."""
    found = {
        id_: f"{OURS}wordnet:{id_}"
        for id_ in names.instances
        if names.targets(id_, "#p") and not BEINGS & names.kinds(id_) and not GONE & set(names.nouns[id_].lemmas)
    }
    for id_ in names.instances:
        if {"country", "principality", "commonwealth"} & names.kinds(id_) or "country" in " ".join(names.classes(id_)):
            for lemma in names.nouns[id_].lemmas:
                if (country := countries.find(lemma)) and not {"American state", "city"} & set(names.classes(id_)):
                    found[id_] = country.iri
    return found


def countries_of(names: Names, at: Mapping[str, str]) -> dict[str, str]:
    """Say in which country each place is, where it is in one alone."""
    found: dict[str, str] = {}
    for id_ in at:
        within = {at[one] for one in names.above(id_, "#p") if at.get(one, "").startswith(f"{OURS}country:")}
        if len(within) == 1 and not at[id_].startswith(f"{OURS}country:"):
            found[id_] = within.pop()
    return found


def cities(names: Names, at: dict[str, str], within: Mapping[str, str], countries: Countries) -> Cities:
    """Find the city that is meant by a name and a country, unless WordNet has two: then the national capital.

    Those that predicates ask for get Wikidata's ids.
    """
    known = [id_ for id_ in at if {*CITY, "town", "port"} & set(names.classes(id_)) and id_ in within]
    keys = {id_: sorted({(slug(lemma), within[id_]) for lemma in names.nouns[id_].lemmas}) for id_ in known}
    counts = Counter(key for each in keys.values() for key in each)
    found = {key: id_ for id_ in known for key in keys[id_] if counts[key] == 1}
    found |= {key: id_ for id_ in known if "national capital" in names.classes(id_) for key in keys[id_]}
    for (name, country), iri in CITIES.items():
        if (home := countries.find(country)) and (name, home.iri) in found:
            at[found[name, home.iri]] = iri
    return {key: at[id_] for key, id_ in found.items()}


def add_places(facts: FactLines, names: Names, at: Mapping[str, str], within: Mapping[str, str]) -> None:
    """Say what places are, where they are and what they are part of."""
    for id_, place in at.items():
        facts.call(place, names.nouns[id_].lemmas[0])
        _spanish(facts, names, id_, place)
        is_city = bool(set(CITY) & set(names.classes(id_)))
        for kind in ["city"] if is_city else names.classes(id_):
            facts.instance(place, kind)
        if id_ in within:
            facts.say(place, "country", within[id_])
        for whole in names.targets(id_, "#p"):
            if whole in at and at[whole] != place:
                facts.say(at[whole], "has part", place)
                if not is_city:
                    facts.say(place, "location", at[whole])


def add_capitals(facts: FactLines, countries: Sequence[Country], known: Cities) -> None:
    """Say what the capitals of countries are."""
    for country in countries:
        if country.capital:
            own = entity("place", f"{country.capital} {country.names[0]}")
            city = facts.call(known.get((slug(country.capital), country.iri), own), country.capital)
            facts.instance(city, "city")
            facts.say(city, "country", country.iri)
            facts.say(country.iri, "capital", city)
