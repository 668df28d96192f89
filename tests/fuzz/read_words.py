"""Readers of words and facts: suites of functions, wordnets, lexicons that are kept, word lists, SPARQL replies."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from taskloom.errors import TaskloomError
from taskloom.ids import fingerprint
from taskloom.retries import TryAgainError
from taskloom.sources import words
from taskloom.sources.endpoint import RESULTS, SparqlEndpoint
from taskloom.sources.facts import in_order
from taskloom.sources.lexical import RELATIONS
from taskloom.sources.sentiment import scores
from taskloom.sources.word_lists import words as words_of
from taskloom.suites.functions.build import Collected, suite, wanted_of
from taskloom.suites.functions.knowledge import Asking, Lexical
from taskloom.suites.functions.parse import parse
from taskloom.suites.functions.sample import Sampling
from taskloom.suites.functions.workshop import Workshop

from ..sources.wordnet_files import SMALL
from ..suites.functions.conftest import NAMES, SmallLexicon, graph_of
from .mutate import Case
from .read_suites import read_suite, written_suite
from .reader import Reader, files_in, own_cache

LEXICAL = ("antonyms[eng](0)", "is{POS=noun}[eng](0)", "map{synonyms[eng](0)}(S)", "translate[eng->spa](0)")
FACTUAL = ("wiki{mother(0)}", "wiki{is{occupation=actor}(0)}")
SCORES = b"# POS\tID\nn\t00000002\t0.5\t0\tdog#1\ta thing\na\t00000022\t0\t0.625\tbad#1\tnot fine\n"
LISTED = b"dog\nanimal\t5\nperro\t12\n"


# --- suites of functions ---------------------------------------------------------------------------------------------


def _function_seeds() -> Sequence[Case]:
    graph, _ = graph_of(0, 30, 0.1)
    asked: list[Any] = [parse(text.removeprefix("wiki{").removesuffix("}"), NAMES) for text in FACTUAL]
    facts = Asking(graph, NAMES).add(asked).facts()
    sizes = SmallLexicon(sizes={"eng": 40, "spa": 20})
    shop = Workshop(Lexical(sizes), facts, Sampling(least=2, sequences=10))
    found = Collected()
    found.add(wanted_of(parse(text, NAMES) for text in (*LEXICAL, *FACTUAL)), shop)
    return [written_suite(suite(found, shop, id="small", about={}))]


# --- lexicons --------------------------------------------------------------------------------------------------------


def _wordnet_files() -> Case:
    with tempfile.TemporaryDirectory() as folder:
        return {f"net/{name}": data for name, data in files_in(SMALL.write(Path(folder))).items() if data}


def _wordnet_seeds() -> Sequence[Case]:
    return [{**_wordnet_files(), "list.txt": LISTED, "scores.txt": SCORES}]


def _made_lexicon(folder: Path) -> words.Lexicon:
    lists = {language: str(folder / "list.txt") for language in (words.ENGLISH, words.SPANISH)}
    with own_cache(folder / "cache"):
        return words.lexicon(str(folder / "net"), inputs=lists, sentiment=str(folder / "scores.txt"))


def _wordnet(folder: Path) -> None:
    _use(_made_lexicon(folder))


def _use(of: words.Lexicon) -> None:
    """Ask a lexicon all that suites of functions ask it."""
    for source in of.vocabularies:
        known = Lexical(of)
        asked = [f"{name}[{source}](0)" for name in RELATIONS] + [f"is{{POS=noun}}[{source}](0)"]
        asked += [f"translate[{source}->{other}](0)" for other in of.vocabularies if other != source]
        for text in asked:
            with suppress(TaskloomError):
                known.answers(parse(text))  # type: ignore[arg-type]


@cache
def _lexicon_files() -> Case:
    with tempfile.TemporaryDirectory() as folder:
        for name, data in _wordnet_seeds()[0].items():
            (Path(folder) / name).parent.mkdir(exist_ok=True)
            (Path(folder) / name).write_bytes(data)
        _made_lexicon(Path(folder))
        (kept,) = (Path(folder) / "cache" / "words").glob("[!.]*/")
        return files_in(kept)


def _lexicon(folder: Path) -> None:
    """Open what the cache has as it is, and as a forger would write it: with sizes that fit."""
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        manifest = json.loads((folder / words.MANIFEST).read_bytes())
        manifest["files"] = {name: (folder / Path(name).name).stat().st_size for name in manifest["files"]}
        (folder / words.MANIFEST).write_text(json.dumps(manifest))
    if found := words._opened(folder, ()):
        _use(found)


def _list_seeds() -> Sequence[Case]:
    return [{"list.txt": LISTED}, {"scores.txt": SCORES}]


def _list(folder: Path) -> None:
    (path,) = folder.iterdir()
    for read in (lambda: words_of(str(path), "eng"), lambda: scores(str(path))):
        with suppress(TaskloomError):
            read()


# --- SPARQL ----------------------------------------------------------------------------------------------------------

QUERY = "SELECT ?x ?xLabel ?y ?yLabel WHERE { ?x <urn:p> ?y }"
URL = "http://127.0.0.1:9/sparql"  # where nothing answers


class _Answered:
    """A graph that gives the same rows to all queries."""

    digest = "answered"

    def __init__(self, rows: Sequence[Sequence[str | None]]) -> None:
        self.rows = rows

    def select(self, query: str) -> Iterator[tuple[str | None, ...]]:
        "".join(cell or "" for row in self.rows for cell in row).encode()  # as they are kept
        return in_order(query, self.rows)


def _reply_seeds() -> Sequence[Case]:
    def cell(value: str, kind: str = "uri") -> Mapping[str, str]:
        return {"type": kind, "value": value}

    row = {"x": cell("urn:1"), "xLabel": cell("One", "literal"), "y": cell("true"), "yLabel": cell("Two", "literal")}
    names = ["x", "xLabel", "y", "yLabel"]
    found = {"head": {"vars": names}, "results": {"bindings": [row, {"x": cell("urn:2")}, row | {"y": cell("urn:3")}]}}
    return [{"r.json": json.dumps(found).encode()}]


def _sparql_reply(folder: Path) -> None:
    endpoint = SparqlEndpoint(url=URL)
    try:
        rows = endpoint._read((folder / "r.json").read_bytes(), RESULTS, "")
    except TryAgainError:
        return
    _ask(_Answered(rows))


def _ask(graph: Any) -> None:
    for text in ("mother(0)", "is{occupation=actor}(0)"):
        with suppress(TaskloomError):
            Asking(graph, NAMES).add([parse(text, NAMES)]).facts().answers(parse(text, NAMES))  # type: ignore[list-item, arg-type]


def _sparql_kept_seeds() -> Sequence[Case]:
    return [{"rows.json": b'[["urn:1", "One", "urn:2", "Two"], ["urn:1", null, "urn:3", "Three"]]'}]


def _sparql_kept(folder: Path) -> None:
    """Read rows that the cache has for a query; what is damaged is asked for again, where nobody answers."""
    endpoint = SparqlEndpoint(url=URL, cache=folder / "cache", tries=1, interval=0, backoff=0)
    query = f"{QUERY}\nLIMIT 5"
    place = folder / "cache" / endpoint.digest / f"{fingerprint(query)}.json"
    place.parent.mkdir(parents=True)
    (folder / "rows.json").rename(place)
    _ask(_Answered(list(endpoint.select(query))))


READERS = {
    "suites of functions": Reader(_function_seeds, read_suite, tests=25),
    "wordnets": Reader(_wordnet_seeds, _wordnet, tests=15),
    "lexicons kept": Reader(lambda: [_lexicon_files()], _lexicon, tests=40),
    "word lists": Reader(_list_seeds, _list),
    "SPARQL replies": Reader(_reply_seeds, _sparql_reply),
    "SPARQL cache": Reader(_sparql_kept_seeds, _sparql_kept, tests=20),
}
