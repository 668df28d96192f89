"""A real SPARQL server on loopback: pyoxigraph behind the SPARQL protocol."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pyoxigraph as ox
import pytest

from taskloom.errors import SourceError, UsageError
from taskloom.sources.endpoint import SparqlEndpoint
from taskloom.sources.facts import EmbeddedGraph, graph

Refused = Callable[..., AbstractContextManager[None]]

MANY = [f"<urn:x:{n:04}> <urn:x:next> <urn:x:{n + 1:04}> ." for n in range(2500)]
ALL = "SELECT ?a ?b WHERE { ?a <urn:x:next> ?b }"
GONE = "http://127.0.0.1:9/sparql"


@dataclass
class Server:
    """What the server does, and what it was asked."""

    url: str = ""
    facts: EmbeddedGraph = field(default_factory=lambda: EmbeddedGraph.of(MANY))
    most: int = 10_000  # rows of a reply, whatever is asked for
    moods: list[str] = field(default_factory=list)  # what to do with the next requests instead of answering
    ignores: str = ""  # a part of queries that it does not see
    asked: list[str] = field(default_factory=list)


def answering(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            (query,) = parse_qs(body)["query"]
            server.asked.append(query)
            assert self.headers["Accept"] == "application/sparql-results+json"
            mood = server.moods.pop(0) if server.moods else ""
            if mood == "slow":
                time.sleep(0.5)
            if mood == "html":
                self.reply(200, "text/html", b"<!DOCTYPE html><title>Welcome</title>")
            elif mood == "broken":
                self.reply(200, "application/sparql-results+json", b'{"head": {"vars"')
            elif mood == "wide":
                told = {"head": {"vars": ["a"] * 12_000}, "results": {"bindings": [{}] * 20_000}}
                self.reply(200, "application/sparql-results+json", json.dumps(told).encode())
            elif mood == "busy":
                self.reply(503, "text/plain", b"try later")
            else:
                self.answer(query)

        def answer(self, query: str) -> None:
            try:
                found = server.facts.store.query(re.sub(server.ignores, "", query) if server.ignores else query)
            except SyntaxError as error:
                self.reply(400, "text/plain", str(error).encode())
                return
            assert isinstance(found, ox.QuerySolutions)
            told: dict[str, Any] = json.loads(found.serialize(format=ox.QueryResultsFormat.JSON) or b"")
            told["results"]["bindings"] = told["results"]["bindings"][: server.most]
            self.reply(200, "application/sparql-results+json; charset=utf-8", json.dumps(told).encode())

        def reply(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(BrokenPipeError):  # who asked has gone
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("TASKLOOM_CACHE", str(tmp_path / "cache"))
    state = Server()
    with ThreadingHTTPServer(("127.0.0.1", 0), answering(state)) as http:
        threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
        state.url = f"http://127.0.0.1:{http.server_port}/sparql"
        yield state
        http.shutdown()


def at(server: Server, **more: Any) -> SparqlEndpoint:
    settings: dict[str, Any] = {"url": server.url, "interval": 0, "backoff": 0.01, "tries": 3}
    return SparqlEndpoint(**settings | more)


def test_an_endpoint_answers_as_the_embedded_store_does(server: Server) -> None:
    for query in (ALL, "SELECT ?b WHERE { <urn:x:0007> <urn:x:next>/<urn:x:next> ?b }", f"{ALL} ORDER BY DESC(?b)"):
        assert list(at(server).select(query)) == list(server.facts.select(query))
    assert list(at(server).select("SELECT (COUNT(?a) AS ?n) WHERE { ?a ?p ?b }")) == [("2500",)]


def test_an_address_is_a_source(server: Server) -> None:
    of = graph(server.url)
    assert of == SparqlEndpoint(url=server.url)
    assert of.digest != SparqlEndpoint(url=server.url, revision="2").digest


def test_large_results_come_in_pages_that_have_an_order(server: Server) -> None:
    assert len(list(at(server, page=1000).select(ALL))) == 2500
    assert [query.splitlines()[1:] for query in server.asked] == [
        ["ORDER BY ?a ?b", f"LIMIT 1000 OFFSET {offset}"] for offset in (0, 1000, 2000)
    ]


def test_an_endpoint_that_gives_less_than_asked_for_is_asked_on(server: Server) -> None:
    server.most = 1200
    assert len(set(at(server).select(ALL))) == 2500


@pytest.mark.parametrize("ignored", [r"OFFSET \d+", r"LIMIT \d+ OFFSET \d+", r"(ORDER BY .*\n)?LIMIT \d+ OFFSET \d+"])
@pytest.mark.parametrize("how", ["", "DISTINCT "])
def test_an_endpoint_that_gives_the_same_page_for_ever_is_refused(
    server: Server, refused: Refused, tmp_path: Path, ignored: str, how: str
) -> None:
    server.ignores = ignored
    query = ALL.replace("?a", f"{how}?a", 1)
    with refused(SourceError, "sparql-page-repeated", url=server.url):
        list(at(server, page=1000).select(query))
    assert len(server.asked) == 2
    server.ignores = ""  # what was wrong is not kept
    if "LIMIT" not in ignored:
        assert len(list(at(server, page=1000).select(query))) == 2500


def test_equal_rows_of_a_query_that_asks_for_them_are_no_repeated_page(server: Server) -> None:
    query = "SELECT ?p WHERE { ?a ?p ?b }"
    assert list(at(server, page=1000).select(query)) == [("urn:x:next",)] * 2500


def test_an_endpoint_without_an_end_is_refused(
    server: Server, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("taskloom.sources.endpoint.MOST_ROWS", 1500)
    with refused(SourceError, "sparql-rows-many", rows=2000):
        list(at(server, page=1000).select(ALL))


def test_a_limit_of_the_query_is_kept(server: Server) -> None:
    assert len(list(at(server, page=2).select(f"{ALL} LIMIT 5"))) == 5
    assert server.asked == [f"{ALL} LIMIT 5"]


@pytest.mark.parametrize("kept", [b"[" * 5000, b"3", b"[1]", b'[["a", 0.5]]', b'[["a", {"b": 1}]]', b"\xff", b"{}"])
def test_rows_that_are_damaged_in_the_cache_are_asked_for_again(server: Server, tmp_path: Path, kept: bytes) -> None:
    query = f"{ALL} LIMIT 2"
    rows = list(at(server).select(query))
    (file,) = (tmp_path / "cache").rglob("*.json")
    file.write_bytes(kept)
    assert list(at(server).select(query)) == rows
    assert server.asked == [query] * 2


def test_half_a_character_is_replaced(server: Server) -> None:
    reply = json.dumps({"head": {"vars": ["x"]}, "results": {"bindings": [{"x": {"value": "a\ud800"}}]}})
    assert at(server)._read(reply.encode(), "application/json", "") == [["a\ufffd"]]


def test_variables_must_be_named(server: Server, refused: Refused) -> None:
    with refused(UsageError, "variables-expected"):
        list(at(server).select("SELECT * WHERE { ?a ?p ?b }"))


def test_what_was_answered_is_not_asked_again(server: Server) -> None:
    first = list(at(server).select(ALL))
    asked = len(server.asked)
    assert list(at(server).select(ALL)) == first
    assert len(server.asked) == asked
    list(at(server, revision="2").select(ALL))
    assert len(server.asked) == 2 * asked


@pytest.mark.parametrize("mood", ["busy", "broken", "wide", "slow"])
def test_what_may_pass_is_tried_again(server: Server, mood: str) -> None:
    server.moods = [mood]
    assert len(list(at(server, timeout=0.2).select(f"{ALL} LIMIT 2"))) == 2
    assert len(server.asked) == 2


def test_an_endpoint_that_stays_busy_is_given_up(server: Server, refused: Refused) -> None:
    server.moods = ["busy"] * 9
    with refused(SourceError, "no-reply", tries=3):
        list(at(server).select(ALL))
    assert len(server.asked) == 3


def test_an_endpoint_that_times_out_is_told(server: Server, refused: Refused) -> None:
    server.moods = ["slow"] * 9
    with pytest.raises(SourceError, match="ReadTimeout"):
        list(at(server, timeout=0.1, tries=2).select(ALL))


def test_a_page_of_html_is_no_answer_and_not_asked_again(server: Server, refused: Refused) -> None:
    server.moods = ["html"]
    with refused(SourceError, "not-sparql-results", url=server.url):
        list(at(server).select(ALL))
    assert len(server.asked) == 1


def test_a_refused_query_is_told_at_once(server: Server, refused: Refused) -> None:
    with refused(SourceError, "request-refused", status=400):
        list(at(server).select("SELECT ?a WHERE { ?a ?p }"))
    assert len(server.asked) == 1


def test_an_address_where_nothing_is_is_told() -> None:
    with pytest.raises(SourceError, match="unreachable"):
        list(SparqlEndpoint(url=GONE, interval=0, backoff=0.01, tries=2).select(ALL))


def test_requests_are_kept_apart(server: Server) -> None:
    start = time.monotonic()
    list(at(server, page=1000, interval=0.2).select(ALL))
    assert time.monotonic() - start >= 0.4
    assert len(server.asked) == 3


@pytest.mark.parametrize("url", ["ftp://x/sparql", "sparql", "https://me:secret@x/sparql"])
def test_other_addresses_are_refused_and_no_password_is_shown(url: str, refused: Refused) -> None:
    with pytest.raises(UsageError) as error:
        SparqlEndpoint(url=url)
    assert error.value.note.code == "sparql-address-wrong"
    assert "secret" not in str(error.value)


def test_settings_are_checked() -> None:
    with pytest.raises(UsageError):
        SparqlEndpoint(url=GONE, page=0)
    with pytest.raises(UsageError):
        SparqlEndpoint(url=GONE, timeout=-1)
