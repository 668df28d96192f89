"""Models behind an OpenAI-compatible endpoint: chat, completions or embeddings, and log-probabilities where offered."""

from __future__ import annotations

import ipaddress
import itertools
import math
import os
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import httpx2 as httpx

from ..errors import ModelError, ModelUnavailableError, UsageError
from ..http_client import HttpClient
from ..ids import Json, canonical, fingerprint
from ..limits import parse_json
from ..masking import key_of, masked, masked_all
from ..messages import Note
from ..progress import Progress
from ..retries import TryAgainError, is_passing, pause, told_to_wait
from . import (
    Ability,
    Decoding,
    Encoder,
    LanguageModel,
    Measure,
    Odds,
    Prompt,
    Reply,
    Unmeasured,
    Usage,
    completions,
    embeddings,
    turns,
)
from .replies import NAME, Price, Replies

REFUSED = frozenset({400, 413, 422})  # what is wrong with one prompt, or with all
KEY = "OPENAI_API_KEY"
JSON = {"Content-Type": "application/json"}
OVERHEAD = 64  # tokens that a chat's frame may add to a prompt
EMBEDDINGS = "embeddings"
POLL = 0.1  # seconds between looks at whether a request may be sent
LEEWAY = 30.0  # seconds after which a request that took all its time is surely ended
OURS = frozenset({"model", "messages", "prompt", "stream", "input"})  # what `body` must leave alone
PLACED = re.compile(r"(?P<name>.*?)@\s*(?P<url>[a-z][a-z0-9+.-]*://.*)", re.IGNORECASE | re.DOTALL)  # MODEL@ADDRESS
TOO_LONG = re.compile(r"context.{0,3}length|context.{0,3}window|too (long|many tokens)|maximum.{0,20}tokens", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A model at an address: `api:MODEL@https://HOST/v1`. The key is read from the environment, and kept nowhere."""

    load: str
    key: str = KEY  # the variable's name; "": the endpoint needs none
    body: Mapping[str, Any] = field(default_factory=dict)  # more of each request's; null leaves a field out
    revision: str = ""  # whatever tells apart what the same address served at another time
    concurrency: int = 8  # requests under way
    timeout: float = 60.0  # seconds that a whole request may take
    tries: int = 6
    backoff: float = 0.5  # seconds before the second try; then twice as long each time
    price_in: float = 0.0  # dollars for a million tokens
    price_out: float = 0.0
    budget: float = 0.0  # dollars, of the whole run; 0: none
    token_budget: int = 0
    vector_dtype: ClassVar[str] = "float32"

    def __post_init__(self) -> None:
        name = self._name
        if PLACED.fullmatch(self.load):  # or else the environment says where it is, when it is needed
            self.address  # noqa: B018 (refuses what is none)
        whole = (self.concurrency, self.tries, self.token_budget)
        numbers = (*whole, self.timeout, self.backoff, self.price_in, self.price_out, self.budget)
        if any(isinstance(n, bool) or not isinstance(n, int | float) or not 0 <= n < math.inf for n in numbers):
            raise UsageError(Note.of("endpoint-numbers-expected", model=name))
        if not all(isinstance(n, int) for n in whole):
            raise UsageError(Note.of("endpoint-whole-numbers-expected", model=name))
        if min(self.concurrency, self.tries, self.timeout) < 1:
            raise UsageError(Note.of("endpoint-numbers-too-small", model=name))
        if self.budget and not (self.price_in or self.price_out):
            raise UsageError(Note.of("price-missing", model=name))
        if not isinstance(self.key, str) or not re.fullmatch(r"\w*", self.key, re.ASCII):
            raise UsageError(Note.of("key-not-a-variable"))
        self._check_body()

    def _check_body(self) -> None:
        name = self._name
        try:
            canonical(dict(self.body))
        except (TypeError, ValueError):
            raise UsageError(Note.of("body-not-json", model=name)) from None
        if ours := sorted(OURS & self.body.keys()):
            raise UsageError(Note.of("body-sets-ours", names=ours, model=name))
        unlimited = self.body.get("max_tokens", 0) is None and not self.body.get("max_completion_tokens")
        if unlimited and (self.budget or self.token_budget):
            raise UsageError(Note.of("budget-without-limit", model=name))

    @property
    def _name(self) -> str:
        """Name the model for errors, without its address, which may hold a password."""
        return self.load.partition("@")[0]

    @property
    def address(self) -> tuple[str, str]:
        """Give the model's name and the endpoint's address."""
        load = self.load.removeprefix("api:")
        placed = PLACED.fullmatch(load)
        name, url = (placed["name"], placed["url"]) if placed else (load, os.environ.get("OPENAI_BASE_URL", ""))
        url = url.strip().rstrip("/")
        try:
            parsed = httpx.URL(url)
        except httpx.InvalidURL:
            parsed = httpx.URL("")
        if parsed.userinfo or parsed.query or parsed.fragment:
            raise UsageError(Note.of("address-with-key"))
        if not name or parsed.scheme not in ("http", "https") or not parsed.host:
            raise UsageError(Note.of("address-missing", model=self._name))
        return name, url

    @property
    def can(self) -> frozenset[Ability]:
        """Say that it can do all that endpoints do: which this one offers, it says when it is asked."""
        return frozenset({"generate", "score", "vectors"})

    def lacks(self) -> Sequence[Note]:
        """Tell of a key that is not set; an endpoint on this machine or network needs none, unless one is named."""
        _, url = self.address
        if not self.key or key_of(self.key) or (self.key == KEY and _is_local(httpx.URL(url).host)):
            return ()
        return (Note.of("key-not-set", key=self.key, url=url),)

    def identity(self) -> Json:
        """Name the model by where it is; what is behind an address can't be known."""
        name, url = self.address
        more: dict[str, Json] = {"revision": self.revision} if self.revision else {}
        return {"api": name, "at": url} | more | ({"body": dict(self.body)} if self.body else {})

    def parameters(self) -> None:
        """Say nothing: what is behind an address can't be known."""

    def get(self, progress: Progress | None = None) -> None:
        """Fetch nothing."""

    def measure(self) -> Measure:
        """Say nothing of what fits: only the endpoint knows."""
        return Unmeasured()

    def open(self, run: Path, *, workers: int = 1) -> LanguageModel:
        """Make ready to send, with the replies that a run has already."""
        return Api(self, Replies(run / NAME), workers)

    def forms(self, added: Sequence[Path] = ()) -> tuple[str, ...]:  # noqa: ARG002 (as all sources)
        """Have none."""
        return ()

    def open_encoder(self, run: Path, added: Sequence[Path] = (), *, workers: int = 1) -> Encoder:  # noqa: ARG002
        """Make ready to ask for vectors, with the replies that a run has already."""
        from .api_encoder import ApiEncoder

        return ApiEncoder(Api(self, Replies(run / NAME), workers))


class Api:
    """An endpoint that is asked."""

    def __init__(self, endpoint: Endpoint, replies: Replies, workers: int = 1) -> None:
        self.endpoint, self.replies, self.usage = endpoint, replies, Usage()
        self.name, self.url = endpoint.address
        self.model = fingerprint(endpoint.identity())[:16]
        self.threads = max(1, endpoint.concurrency // workers)
        self.client = HttpClient(endpoint.timeout, _headers(endpoint.key))
        self.lock = threading.Lock()

    def fits(self, prompt: Prompt, decoding: Decoding) -> bool:  # noqa: ARG002 (as all models)
        """Say yes: only the endpoint knows, and says so when it is asked."""
        return True

    def generate(self, prompts: Sequence[Prompt], decoding: Decoding) -> list[Reply | None]:
        """Ask for each prompt's reply; None where the endpoint refuses one."""
        calls = [self._writing(prompt, decoding) for prompt in prompts]
        return [completions.reply(body, decoding.stop) for body in self.asked(calls)]

    def score(
        self,
        prompts: Sequence[Prompt],
        options: Sequence[Sequence[str]],
        decoding: Decoding,  # noqa: ARG002 (as all models)
    ) -> list[Odds | None]:
        """Have prompts with their options read back, with the log-probabilities of each token."""
        if not all(isinstance(prompt, str) for prompt in prompts):
            raise ModelUnavailableError(Note.of("no-log-probabilities-in-chat"))
        pairs = [(str(p), option) for p, each in zip(prompts, options, strict=True) for option in each]
        read = {"max_tokens": 0, "temperature": 0, "logprobs": 1, "echo": True}
        bodies = self.asked([("completions", {"model": self.name, "prompt": p + o, **read}) for p, o in pairs])
        found = iter([completions.odds(body, *pair) for pair, body in zip(pairs, bodies, strict=True)])
        return [completions.together([next(found) for _ in each]) for each in options]

    def _writing(self, prompt: Prompt, decoding: Decoding) -> tuple[str, dict[str, Json]]:
        asked: dict[str, Json] = {
            "model": self.name,
            "max_tokens": decoding.tokens,
            "temperature": decoding.temperature,
        }
        if decoding.stop:
            asked["stop"] = list(decoding.stop)
        if decoding.temperature:
            asked["seed"] = decoding.seed
        if isinstance(prompt, str):
            return "completions", asked | {"prompt": prompt}
        return "chat/completions", asked | {"messages": turns(prompt)}

    def asked(self, calls: Sequence[tuple[str, dict[str, Json]]]) -> list[Any]:
        """Send what was not answered before, several at once, and give all bodies; None for what was refused."""
        whole = [(path, self._body(body)) for path, body in calls]
        keys = [fingerprint("reply", self.model, path, body) for path, body in whole]
        distinct = dict(zip(keys, whole, strict=True))
        found = {key: self.replies.find(key) for key in distinct}
        found |= self._sent({key: distinct[key] for key, reply in found.items() if reply is None})
        answers = {key: body if status == httpx.codes.OK else None for key, (status, body) in _known(found)}
        asked = [answers[key] for key in keys]
        self._note_asked(asked)
        return asked

    def _sent(self, calls: Mapping[str, tuple[str, dict[str, Json]]]) -> dict[str, tuple[int, Any]]:
        """Send several at once; after an error what is under way is answered and kept, and nothing more is sent."""
        stop, pool = threading.Event(), ThreadPoolExecutor(self.threads)
        try:
            futures = {key: pool.submit(self._send_or_stop, key, *call, stop) for key, call in calls.items()}
            wait(futures.values(), return_when=FIRST_EXCEPTION)
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
        errors = [error for future in futures.values() if not future.cancelled() and (error := future.exception())]
        if errors:
            raise min(errors, key=lambda error: isinstance(error, _StoppedError))
        return {key: future.result() for key, future in futures.items()}

    def _send_or_stop(self, key: str, path: str, body: dict[str, Json], stop: threading.Event) -> tuple[int, Any]:
        try:
            return self._send(key, path, body, stop)
        except BaseException:
            stop.set()  # here, before this thread takes up the next one
            raise

    def _body(self, body: Mapping[str, Json]) -> dict[str, Json]:
        return {name: value for name, value in {**body, **self.endpoint.body}.items() if value is not None}

    def _send(self, key: str, path: str, body: dict[str, Json], stop: threading.Event) -> tuple[int, Any]:
        """Try until there is a reply worth keeping, and keep it."""
        most = self._price(*_most(body))
        for attempt in itertools.count(1):
            if (known := self._set_aside(key, most, stop)) is not None:
                return known
            with self.lock:
                self.usage.requests += 1
            try:
                reply = self._post(path, body)
            except TryAgainError as error:
                failed = error
            except ModelError:  # refused, and so not paid for
                self.replies.give_back(key, self.model, most)
                raise
            else:
                cost = self._cost(reply, body)
                self._note_sent(reply, cost)
                return self.replies.keep(key, self.model, reply, cost, most)
            if failed.paid:
                self.replies.write_off(key)
            else:
                self.replies.give_back(key, self.model, most)
            if attempt >= self.endpoint.tries:
                raise self._given_up(attempt, failed)
            stop.wait(pause(self.endpoint.backoff, attempt, failed.wait))
        raise AssertionError

    def _set_aside(self, key: str, most: Price, stop: threading.Event) -> tuple[int, Any] | None:
        """Wait until a request may be sent; give its reply where another process got one meanwhile."""
        budget = Price(self.endpoint.token_budget, self.endpoint.budget)
        while not stop.is_set():
            if (known := self.replies.find(key)) is not None:
                return known
            if self.replies.set_aside(key, self.model, most, budget, seconds=self.endpoint.timeout + LEEWAY):
                return None
            stop.wait(POLL)
        raise _StoppedError

    def _given_up(self, tries: int, last: TryAgainError) -> ModelError:
        """Take an error of the server for a fault of this request alone; after any other, all can only wait."""
        kind = ModelError if last.status >= httpx.codes.INTERNAL_SERVER_ERROR else ModelUnavailableError
        return kind(Note.of("no-reply", url=self.url, tries=tries, reason=last.note))

    def _post(self, path: str, body: dict[str, Json]) -> tuple[int, Any]:
        try:
            content = canonical(body).encode()  # ASCII: a text may have half a character
            given, content = self.client.post(f"{self.url}/{path}", content=content, headers=JSON)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise TryAgainError(Note.of("unreachable", reason=error), paid=False) from None
        except httpx.HTTPError as error:  # cut, or too slow: it may have been answered, and paid for
            raise TryAgainError(Note.of("connection-broken", kind=type(error).__name__, reason=error)) from None
        status = given.status_code
        if is_passing(status):
            told = Note.of("http-error", status=status, said=self._told(content))
            raise TryAgainError(told, status=status, wait=told_to_wait(given), paid=False)
        if status != httpx.codes.OK:
            return status, self._refused(status, content)
        try:
            found = masked_all(parse_json(content, parse_int=int))  # as it will be read again
        except ValueError:
            found = None
        if not (embeddings.is_embeddings(found) if path == EMBEDDINGS else completions.is_completion(found)):
            raise TryAgainError(Note.of("not-a-completion", said=self._told(content)))
        return httpx.codes.OK, found

    def _refused(self, status: int, content: bytes) -> Any:
        """Give a refusal of one prompt, which is an answer too; any other is an error."""
        said, url, key = self._told(content), self.url, self.endpoint.key
        if httpx.codes.is_redirect(status):
            raise ModelUnavailableError(Note.of("endpoint-moved", url=url, status=status))
        if status in REFUSED and TOO_LONG.search(said):
            return {"refused": said}
        if status in (401, 403) and not key_of(key):
            raise ModelUnavailableError(Note.of("key-missing", url=url, key=key, status=status, said=said))
        if status in (401, 403):
            raise ModelUnavailableError(Note.of("key-refused", url=url, key=key, status=status, said=said))
        if status in REFUSED:
            raise ModelError(Note.of("request-refused", url=url, status=status, said=said))
        raise ModelUnavailableError(Note.of("model-refused", url=url, status=status, model=self.name, said=said))

    def _told(self, content: bytes) -> str:
        """Give the beginning of what an endpoint said, and never a key, which it may repeat."""
        return masked(content.decode("utf-8", "replace"))[:300].strip()

    def _price(self, read: int, written: int) -> Price:
        dollars = (read * self.endpoint.price_in + written * self.endpoint.price_out) / 1e6
        return Price(read + written, dollars)

    def _cost(self, reply: tuple[int, Any], body: Mapping[str, Any]) -> Price:
        """Say what a reply did cost; where the endpoint doesn't, what it can have cost at most."""
        status, given = reply
        if status != httpx.codes.OK:
            return Price(0, 0.0)
        used = zip(completions.used(given), _most(body), strict=True)
        return self._price(*(most if count is None else count for count, most in used))

    def _note_asked(self, bodies: Iterable[Any]) -> None:
        """Count what was asked for, whether it was sent now or kept from before."""
        for body in bodies:
            read, written = completions.used(body)
            self.usage.read += read or 0
            self.usage.written += written or 0

    def _note_sent(self, reply: tuple[int, Any], cost: Price) -> None:
        """Count what a request took that was sent."""
        with self.lock:
            self.usage.computed += sum(count or 0 for count in completions.used(reply[1]))
            self.usage.dollars += cost.dollars


class _StoppedError(Exception):
    """Not sent, or not again, for another request was in vain."""


def _is_local(host: str) -> bool:
    """Tell an address of this machine or of a private network.

    >>> [_is_local(host) for host in ("localhost", "127.0.0.1", "::1", "10.1.2.3", "gpu7", "example.org")]
    [True, True, True, True, True, False]
    """
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".localhost", ".internal", ".lan"))


def _headers(variable: str) -> dict[str, str]:
    key = key_of(variable)
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ModelUnavailableError(Note.of("key-malformed", key=variable))
    return {"Authorization": f"Bearer {key}"} if key else {}


def _most(body: Mapping[str, Any]) -> tuple[int, int]:
    """Say what a request can read and write at most: no token is shorter than a byte."""
    texts = [body.get("prompt", ""), *body.get("input", ()), *(m["content"] for m in body.get("messages", ()))]
    read = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) + OVERHEAD
    written = max(_number(body, "max_tokens"), _number(body, "max_completion_tokens"))
    return read, written * max(1, _number(body, "n"), _number(body, "best_of"))


def _number(body: Mapping[str, Any], name: str) -> int:
    value = body.get(name)
    return value if isinstance(value, int) else 0


def _known(found: Mapping[str, tuple[int, Any] | None]) -> Iterator[tuple[str, tuple[int, Any]]]:
    return ((key, reply) for key, reply in found.items() if reply is not None)
