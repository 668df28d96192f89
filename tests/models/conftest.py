"""An endpoint on this machine that answers as OpenAI's do, keeps a log, and misbehaves on command."""

from __future__ import annotations

import gzip
import json
import re
import threading
import time
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

import pytest

from taskloom.models.api import Api, Endpoint

collect_ignore = ["adapters_reference/make.py"]  # it runs in an environment of its own

KEY = "sk-secret-0123456789"
BOMB = gzip.compress(gzip.compress(bytes(256 << 20), 1))  # a few kilobytes


@dataclass(frozen=True)
class Fault:
    """What is done instead of answering well; a body of None is a good one."""

    status: int = 200
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    wait: float = 0.0
    cut: bool = False
    drip: Literal["", "head", "body"] = ""  # what is sent byte by byte


FAULTS = {
    "429": Fault(429, b'{"error": {"message": "slow down"}}'),
    "429 in a second": Fault(429, b'{"error": {"message": "slow down"}}', {"Retry-After": "1"}),
    "429 on a date": Fault(429, b"{}", {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}),
    "500": Fault(500, b"oh no"),
    "401": Fault(401, f'{{"error": {{"message": "Incorrect API key provided: {KEY}."}}}}'.encode()),
    "404": Fault(404, b'{"error": {"message": "The model `none` does not exist"}}'),
    "400": Fault(400, b'{"error": {"message": "Unsupported parameter: stop"}}'),
    "too long": Fault(400, b'{"error": {"code": "context_length_exceeded", "message": "maximum context length"}}'),
    "moved": Fault(307, b"", {"Location": "http://127.0.0.1:9/v1/completions"}),
    "slow": Fault(wait=1.5),
    "cut": Fault(cut=True),
    "drip": Fault(drip="body"),
    "drip from the first line": Fault(drip="head"),
    "repeats the key": Fault(
        body=json.dumps({"choices": [{"text": f"well, {KEY} it is", "finish_reason": "stop"}]}).encode()
    ),
    "repeats the key escaped": Fault(
        body=b'{"choices": [{"text": "%s"}]}' % "".join(f"\\u{ord(c):04x}" for c in KEY).encode()
    ),
    "repeats the key in base64": Fault(
        body=json.dumps({"choices": [{"text": b64encode(f"Bearer {KEY}".encode()).decode()}], KEY: KEY}).encode()
    ),
    "bomb": Fault(body=BOMB, headers={"Content-Encoding": "gzip, gzip"}),
    "many headers": Fault(headers={f"X-{n}": "x" * 100 for n in range(10_000)}),
    "huge": Fault(body=b'{"choices": [' + b" " * (17 << 20) + b"]}"),
    "no JSON": Fault(body=b"<html>gateway</html>"),
    "deep JSON": Fault(body=b"[" * 200_000),
    "deep choice": Fault(body=b'{"choices": [{"text": ' + b"[" * 900 + b"]" * 900 + b"}]}"),
    "deep beside": Fault(body=b'{"choices": [{"text": "well"}], "more": ' + b"[" * 150 + b"]" * 150 + b"}"),
    "no choices": Fault(body=b'{"id": "x"}'),
    "odd choices": Fault(body=b'{"choices": ["text"]}'),
    "filtered": Fault(body=b'{"choices": [{"message": {"content": null}, "finish_reason": "content_filter"}]}'),
    "no usage": Fault(body=b'{"choices": [{"text": "well", "finish_reason": "stop"}]}'),
    "odd usage": Fault(body=b'{"choices": [{"text": "well"}], "usage": {"prompt_tokens": 1%s}}' % (b"0" * 40)),
}


class Server:
    """An endpoint; what it does next is set by its attributes and by `then`."""

    def __init__(self, port: int = 0) -> None:
        self.received: list[dict[str, Any]] = []
        self.answered: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.under_way = self.most_under_way = 0
        self.always = ""  # a fault, until it is taken back
        self.about: dict[str, str] = {}  # faults, by what a prompt contains
        self.answer: Callable[[str], str] = lambda prompt: prompt.split()[-1]
        self.embed: Callable[[str], list[Any]] = lambda text: [len(text), text.count("a")]  # in any order
        self.pause = 0.0  # seconds that every answer takes
        self.logs = True  # whether it tells log-probabilities
        self.first_token = ""  # before the text, as some have it
        self.hold_after: int | None = None  # answers; what comes then is never answered
        self._begun = 0  # answers that are under way or given
        self._next: deque[str] = deque()
        self._lock, self._released = threading.Lock(), threading.Event()
        self._http = _Http(("127.0.0.1", port), _handler(self))
        self._http.handle_error = lambda *_: None  # type: ignore[method-assign]
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return self._http.server_port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def then(self, *faults: str) -> None:
        """Misbehave so in the next requests, one after the other."""
        assert FAULTS.keys() >= set(faults)
        self._next.extend(faults)

    def release(self) -> None:
        """Let go of what is held, unanswered, and hold no more."""
        self.hold_after = None
        self._released.set()

    def close(self) -> None:
        self.release()
        self._http.shutdown()
        self._http.server_close()

    def prompts(self) -> list[str]:
        """Give what was answered about."""
        return [_prompt(body) for body in self.answered]

    def take(self, body: dict[str, Any], headers: dict[str, str]) -> Fault | None:
        """Note a request; None where it is to be held and dropped."""
        with self._lock:
            self.received.append(body)
            self.headers.append(headers)
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
            held = self.hold_after is not None and self._begun >= self.hold_after
            self._begun += not held
            fault = self.always or (self._next.popleft() if self._next else "")
        if held:
            self._released.wait(60)
            return None
        about = next((name for text, name in self.about.items() if text in _prompt(body)), "")
        found = FAULTS[fault or about] if fault or about else Fault()
        time.sleep(found.wait or self.pause)
        return found

    def leave(self) -> None:
        """Note that a request is about to be answered: the next may come before this one knows that it was."""
        with self._lock:
            self.under_way -= 1

    def done(self, body: dict[str, Any], *, answered: bool, held: bool) -> None:
        with self._lock:
            self._begun -= not answered and not held
            self.answered += [body] if answered else []

    def reply(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        prompt = _prompt(body)
        if path.endswith("/embeddings"):
            given = [{"index": n, "embedding": self.embed(text)} for n, text in enumerate(body["input"])]
            return {"data": given[::-1], "usage": {"prompt_tokens": len(prompt.split()), "total_tokens": 0}}
        written = "" if body.get("echo") else self.answer(prompt)
        words = written.split(" ")[: body.get("max_tokens") or 0]
        ended = "stop" if len(words) == len(written.split(" ")) else "length"
        choice: dict[str, Any] = {"index": 0, "finish_reason": ended, "text": " ".join(words)}
        if path.endswith("/chat/completions"):
            choice["message"] = {"role": "assistant", "content": choice.pop("text")}
        if body.get("echo"):
            choice["text"] = prompt
            choice["logprobs"] = self._read_back(prompt) if self.logs else None
        usage = {"prompt_tokens": len(prompt.split()), "completion_tokens": len(words) if written else 0}
        return {"id": "x", "choices": [choice], "usage": usage}

    def _read_back(self, prompt: str) -> dict[str, Any]:
        """Take words for tokens, each as likely as it is short."""
        tokens = [self.first_token] * bool(self.first_token) + re.findall(r"\s*\S+|\s+$", prompt)
        offsets = [sum(map(len, tokens[:place])) for place in range(len(tokens))]
        logs = [None, *(-len(token) / 8 for token in tokens[1:])]
        return {"tokens": tokens, "text_offset": offsets, "token_logprobs": logs, "top_logprobs": None}


def _prompt(body: Mapping[str, Any]) -> str:
    if "input" in body:
        return " ".join(body["input"])
    return str(body["prompt"] if "prompt" in body else body["messages"][0]["content"])


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # of five, a busy machine loses some


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            fault = server.take(body, dict(self.headers.items()))
            answered = False
            try:
                content = fault.body if fault and fault.body is not None else self._good(body)
                server.leave()
                if fault is None:
                    self.close_connection = True
                else:
                    self._send(fault, content)
                    answered = fault.status == 200 and not fault.cut
            finally:
                server.done(body, answered=answered, held=fault is None)

        def _good(self, body: dict[str, Any]) -> bytes:
            return json.dumps(server.reply(self.path, body)).encode()

        def _send(self, fault: Fault, content: bytes) -> None:
            if fault.drip == "head":
                self._drip(b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 100)
                return
            self.send_response(fault.status)
            for name, value in fault.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if fault.drip:
                self._drip(content)
                return
            self.wfile.write(content[: len(content) // 2] if fault.cut else content)
            self.close_connection = fault.cut

        def _drip(self, content: bytes) -> None:
            """Send a byte often enough for a limit on the time between two."""
            self.close_connection = True
            with suppress(OSError):  # once the other side has hung up
                for byte in content:
                    self.wfile.write(bytes([byte]))
                    time.sleep(0.05)

        def log_message(self, format: str, *args: Any) -> None:
            """Keep quiet."""

    return Handler


@pytest.fixture
def endpoint() -> Iterator[Server]:
    """An endpoint with a port of its own."""
    made = Server()
    yield made
    made.close()


@pytest.fixture
def api(endpoint: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Api]]:
    """Open the endpoint for a run in this test's folder; options are those of `Endpoint`."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    opened: list[Api] = []

    def make(workers: int = 1, **options: Any) -> Api:
        described = Endpoint(**{"load": f"api:tiny@{endpoint.url}", "backoff": 0.01, "timeout": 30, **options})
        made = described.open(tmp_path, workers=workers)
        assert isinstance(made, Api)
        opened.append(made)
        return made

    yield make
    for one in opened:
        one.client.close()
        one.replies.close()
