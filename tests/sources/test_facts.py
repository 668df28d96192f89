from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from taskloom.errors import SourceError, UnknownNameError, UsageError
from taskloom.sources.facts import CLASSES, DIRECT, ENTITY, LABEL, PROPERTIES, EmbeddedGraph, Graph, graph, in_order

Refused = Callable[..., AbstractContextManager[None]]

LABELLED = "SELECT ?a ?b WHERE {{ ?x <{}> ?y . ?x <{}> ?a . ?y <{}> ?b }}"
TRIPLES = f"""<urn:x:elizabeth> <{DIRECT}P25> <urn:x:anne> .
<urn:x:elizabeth> <{LABEL}> "Elizabeth I"@en .
<urn:x:anne> <{LABEL}> "Anne Boleyn"@en .
"""


def pairs(of: Graph, name: str) -> list[tuple[str | None, ...]]:
    return list(of.select(LABELLED.format(PROPERTIES[name], LABEL, LABEL)))


def written(path: Path, text: str) -> Graph:
    path.write_text(text, encoding="utf-8")
    return graph(str(path))


# --- what is in it ---------------------------------------------------------------------------------------------------


def test_all_relations_of_the_paper_have_a_property() -> None:
    of_the_paper = """child; continent; country of citizenship; country of origin; country; creator; developer;
        diplomatic relation; father; genre; has part; head of state; influenced by; languages spoken written or signed;
        location; manufacturer; member of political party; member of sports team; mother; named after; native language;
        occupation; official language; original language of film or TV show; owned by; performer; place of birth;
        place of death; position held; position played on team; record label; sex or gender; subclass of"""
    assert {name.strip() for name in " ".join(of_the_paper.split()).split(";")} <= PROPERTIES.keys()
    assert len(set(PROPERTIES.values())) == len(PROPERTIES)
    assert PROPERTIES["mother"] == "http://www.wikidata.org/prop/direct/P25"
    assert CLASSES["instance"]["human"] == "http://www.wikidata.org/entity/Q5"


# --- queries ---------------------------------------------------------------------------------------------------------


def test_rows_are_sorted_unless_the_query_says_how() -> None:
    of = EmbeddedGraph.of([f'<urn:x:{n}> <urn:x:p> "{n}" .' for n in (3, 1, 2)])
    assert list(of.select("SELECT ?n WHERE { ?x ?p ?n }")) == [("1",), ("2",), ("3",)]
    assert list(of.select("SELECT ?n WHERE { ?x ?p ?n } ORDER BY DESC(?n)")) == [("3",), ("2",), ("1",)]
    inner = "SELECT ?n WHERE { { SELECT ?n WHERE { ?x ?p ?n } ORDER BY DESC(?n) } }"
    assert list(of.select(inner)) == [("1",), ("2",), ("3",)]


def test_many_rows_are_sorted_too() -> None:
    rows = [(str(number * 7919 % 200_003), None if number % 3 else "x") for number in range(200_000)]
    found = list(in_order("SELECT ?a ?b {}", rows))
    assert found == sorted(rows, key=lambda row: (row[0], row[1] or ""))


def test_a_query_with_many_more_rows_than_facts_is_refused(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("taskloom.sources.facts.MOST_ROWS", 100)
    of = EmbeddedGraph.of(f"<urn:x:{n}> <urn:x:p> <urn:x:hub> ." for n in range(30))
    assert len(list(of.select("SELECT ?a WHERE { ?a ?p ?b }"))) == 30
    with refused(SourceError, "facts-rows-many", most=300):
        of.select("SELECT ?a ?c WHERE { ?a ?p ?b . ?c ?p ?b }")


def test_what_is_not_bound_is_none() -> None:
    of = EmbeddedGraph.of(["<urn:x:1> <urn:x:p> <urn:x:2> ."])
    assert list(of.select("SELECT ?a ?b WHERE { ?a ?p ?o OPTIONAL { ?o ?q ?b } }")) == [("urn:x:1", None)]


def test_a_digest_names_the_facts_and_not_their_order() -> None:
    lines = ["<urn:x:1> <urn:x:p> <urn:x:2> .", "<urn:x:1> <urn:x:p> <urn:x:3> ."]
    assert EmbeddedGraph.of(lines).digest == EmbeddedGraph.of([*reversed(lines), lines[0]]).digest
    assert EmbeddedGraph.of(lines).digest != EmbeddedGraph.of(lines[:1]).digest


def test_what_is_no_select_query_is_refused(refused: Refused) -> None:
    of = EmbeddedGraph.of([])
    with refused(UsageError, "query-malformed"):
        of.select("SELECT ?x WHERE {")
    with refused(UsageError, "select-expected"):
        of.select("ASK { ?s ?p ?o }")


@pytest.mark.parametrize("hidden", ["", " # )>>\n", "\n", " :x\\# :y , "])
@pytest.mark.parametrize("name", ["f.nt", "f.ttl"])
def test_triples_within_triples_do_not_end_the_process(
    tmp_path: Path, name: str, hidden: str, refused: Refused
) -> None:
    deep = f"<urn:a> <urn:b> <<( {hidden}" * 100_000 + "<urn:a> <urn:b> <urn:c> " + ")>> " * 100_000 + "."
    (tmp_path / name).write_text(f"@prefix : <urn:x:> .\n{deep}" if name == "f.ttl" else deep)
    with refused(SourceError, "triples-nested", most=100):
        graph(str(tmp_path / name))


def test_many_triples_of_triples_are_read_and_texts_that_look_like_them(tmp_path: Path) -> None:
    lines = [f"<urn:a> <urn:b{n}> <<( <urn:a> <urn:b> <urn:c> )>> ." for n in range(200)]
    lines += [f'<urn:a> <urn:t{n}> "1<<(n \\" # <<(" .' for n in range(200)]
    (tmp_path / "f.nt").write_text("\n".join(lines))
    assert len(list(graph(str(tmp_path / "f.nt")).select("SELECT ?p WHERE { ?s ?p ?o }"))) == 400


def test_a_text_that_the_library_has_no_room_for_is_told(tmp_path: Path, refused: Refused) -> None:
    (tmp_path / "f.nt").write_text(f'<urn:a> <urn:b> "{"x" * 20_000_000}" .')
    with refused(SourceError, "triple-too-long"):
        graph(str(tmp_path / "f.nt"))


@pytest.mark.parametrize("row", ["urn:x[y,mother,b", "a,mother,urn:x%zz", "urn:x\x80,mother,b"])
def test_a_name_that_can_not_be_is_told_by_its_row(tmp_path: Path, row: str) -> None:
    (tmp_path / "f.csv").write_text(f"subject,property,object\n{row}\n", encoding="utf-8")
    with pytest.raises(SourceError, match=r"f\.csv:2: not a fact"):
        graph(str(tmp_path / "f.csv"))


def test_an_empty_file_of_facts_is_refused(tmp_path: Path, refused: Refused) -> None:
    for name in ("f.nt", "f.csv", "f.jsonl"):
        (tmp_path / name).touch()
        with refused(SourceError, "file-empty"):
            graph(str(tmp_path / name))


# --- files -----------------------------------------------------------------------------------------------------------


def test_triples_and_turtle_are_read_compressed_too(tmp_path: Path) -> None:
    turtle = (
        f"@prefix wdt: <{DIRECT}> . @prefix x: <urn:x:> . @prefix r: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        'x:elizabeth wdt:P25 x:anne ; r:label "Elizabeth I"@en . x:anne r:label "Anne Boleyn"@en .'
    )
    of = written(tmp_path / "f.nt", TRIPLES)
    assert pairs(of, "mother") == [("Elizabeth I", "Anne Boleyn")]
    assert written(tmp_path / "f.ttl", turtle).digest == of.digest
    (tmp_path / "f.nt.gz").write_bytes(gzip.compress(TRIPLES.encode()))
    (tmp_path / "f.ttl.bz2").write_bytes(bz2.compress(turtle.encode()))
    assert graph(str(tmp_path / "f.nt.gz")).digest == graph(str(tmp_path / "f.ttl.bz2")).digest == of.digest


@pytest.mark.parametrize("name", ["f.nt", "f.ttl"])
def test_a_malformed_triple_is_told_with_its_line(tmp_path: Path, name: str, refused: Refused) -> None:
    with refused(SourceError, "triple-malformed", line=4):
        written(tmp_path / name, TRIPLES + "<urn:x:1> no triple .\n")


def test_a_table_of_facts_is_read(tmp_path: Path) -> None:
    of = written(
        tmp_path / "f.csv",
        "subject,property,object,language,object label\n"
        "Elizabeth I,mother,Anne Boleyn,,\n"
        "Elizabeth I,P22,urn:x:henry,,Henry VIII\n"
        f"Elizabeth I,{LABEL},Isabel I,es,\n",
    )
    assert pairs(of, "mother") == [("Elizabeth I", "Anne Boleyn"), ("Isabel I", "Anne Boleyn")]
    assert ("Elizabeth I", "Henry VIII") in pairs(of, "father")
    where = f'SELECT ?x WHERE {{ ?x <{LABEL}> "Anne Boleyn"@en }}'
    assert list(of.select(where)) == [("urn:taskloom:Anne%20Boleyn",)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("subject,property,object\na,mother,b\na,muther,b\n", "f.csv:3: not a fact: unknown property: 'muther'"),
        ("subject,object\na,b\n", "column 'property' is missing"),
        ("subject,property,object\na,mother,\n", "f.csv:2: not a fact: empty"),
    ],
)
def test_rows_that_are_no_facts_are_told_with_their_lines(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(SourceError) as error:
        written(tmp_path / "f.csv", text)
    assert told in str(error.value)


def statement(kind: str, value: object, rank: str = "normal") -> dict[str, object]:
    return {"mainsnak": {"snaktype": "value", "datavalue": {"type": kind, "value": value}}, "rank": rank}


WIKIDATA = {
    "id": "Q7207",
    "labels": {"en": {"language": "en", "value": "Elizabeth I"}},
    "claims": {
        "P25": [statement("wikibase-entityid", {"id": "Q80823"})],
        "P27": [
            statement("wikibase-entityid", {"id": "Q179876"}, "preferred"),
            statement("wikibase-entityid", {"id": "Q21"}),
            statement("wikibase-entityid", {"id": "Q22"}, "deprecated"),
        ],
        "P22": [{"mainsnak": {"snaktype": "somevalue"}}],
        "P569": [statement("time", {"time": "+1533-09-07T00:00:00Z"})],
        "P625": [statement("globecoordinate", {"latitude": 1})],
    },
}


@pytest.mark.parametrize("whole", [True, False])
def test_entities_of_wikidata_are_read_with_the_best_statements(tmp_path: Path, whole: bool) -> None:
    text = f"[\n{json.dumps(WIKIDATA)}\n]\n" if whole else f"{json.dumps(WIKIDATA)}\n"
    of = written(tmp_path / ("f.json" if whole else "f.jsonl"), text)
    found = set(of.select("SELECT ?p ?o WHERE { ?s ?p ?o }"))
    assert found == {
        (LABEL, "Elizabeth I"),
        (f"{DIRECT}P25", f"{ENTITY}Q80823"),
        (f"{DIRECT}P27", f"{ENTITY}Q179876"),
        (f"{DIRECT}P569", "+1533-09-07T00:00:00Z"),
    }


def test_what_is_no_entity_is_told_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"f\.jsonl:2: not an entity of Wikidata"):
        written(tmp_path / "f.jsonl", f'{json.dumps(WIKIDATA)}\n{{"name": "x"}}\n')


def test_other_sources_are_refused(tmp_path: Path, refused: Refused) -> None:
    with refused(UsageError, "file-missing"):
        graph(str(tmp_path / "none.nt"))
    (tmp_path / "f.rdf").write_text("<rdf/>")
    with refused(UnknownNameError, "name-unknown", name=".rdf"):
        graph(str(tmp_path / "f.rdf"))
    with refused(UnknownNameError, "name-unknown", name="data:papers"):
        graph("data:papers")


def test_pairs_of_real_facts_are_read(real_data: Path, tmp_path: Path) -> None:
    found = json.loads((real_data / "facts/lre/factual/person_father.json").read_text(encoding="utf-8"))["samples"]
    rows = [f'"{one["subject"]}",father,"{one["object"]}"' for one in found if '"' not in "".join(one.values())]
    of = written(tmp_path / "f.csv", "\n".join(["subject,property,object", *rows, ""]))
    assert len(set(pairs(of, "father"))) == len(set(rows)) > 900
