"""Models behind an OpenAI-compatible endpoint: chat or completions, and log-probabilities where they are offered."""

from __future__ import annotations

import itertools
import os
import random
import re
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2 as httpx

from ..errors import ModelError, ModelUnavailableError, UsageError
from ..ids import Json, fingerprint
from ..sources.packages import Progress
from . import Decoding, LanguageModel, Odds, Reply, Usage
from .replies import NAME, Price, Replies

AGAIN = frozenset({408, 409, 425, 429})  # and all from 500: worth another try
REFUSED = frozenset({400, 413, 422})  # what is wrong with one prompt, or with all
WAIT = 60.0  # seconds between two tries, at most
LARGEST = 16 << 20  # bytes of a reply
OVERHEAD = 64  # tokens that a chat's frame may add to a prompt
TOO_LONG = re.compile(r"context.{0,3}length|context.{0,3}window|too (long|many tokens)|maximum.{0,20}tokens", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A model at an address: `api:MODEL@https://HOST/v1`. The key is read from the environment, and kept nowhere."""

    load: str
    key: str = "OPENAI_API_KEY"  # the variable's name
    body: Mapping[str, Any] = field(default_factory=dict)  # more of each request's; null leaves a field out
    revision: str = ""  # whatever tells apart what the same address served at another time
    concurrency: int = 8  # requests under way
    timeout: float = 60.0  # seconds
    tries: int = 6
    backoff: float = 0.5  # seconds before the second try; then twice as long each time
    price_in: float = 0.0  # dollars for a million tokens
    price_out: float = 0.0
    budget: float = 0.0  # dollars, of the whole run; 0: none
    token_budget: int = 0

    def __post_init__(self) -> None:
        numbers = (self.concurrency, self.timeout, self.tries, self.backoff, self.price_in, self.price_out, self.budget)
        if any(isinstance(n, bool) or not isinstance(n, int | float) or n < 0 for n in (*numbers, self.token_budget)):
            raise UsageError(f"sizes, prices and budgets are numbers, none below nought: {self.load!r}")
        if min(self.concurrency, self.tries, self.timeout) < 1:
            raise UsageError(f"concurrency, tries and timeout are 1 at least: {self.load!r}")
        if self.budget and not (self.price_in or self.price_out):
            raise UsageError(f"a budget in dollars needs price_in and price_out: {self.load!r}")
        self.address  # noqa: B018 (refuses what is none)

    @property
    def address(self) -> tuple[str, str]:
        """Give the model's name and the endpoint's address."""
        name, _, url = self.load.removeprefix("api:").partition("@http")
        url = f"http{url}" if url else os.environ.get("OPENAI_BASE_URL", "")
        if not name or not url:
            raise UsageError(f"a model at an endpoint is named api:MODEL@https://HOST/v1: {self.load!r}")
        parsed = httpx.URL(url)
        if parsed.userinfo or parsed.query:
            raise UsageError("an endpoint's address must hold no key; keys are read from the environment (`key`)")
        return name, url.rstrip("/")

    def identity(self) -> Json:
        """Name the model by where it is; what is behind an address can't be known."""
        name, url = self.address
        more: dict[str, Json] = {"revision": self.revision} if self.revision else {}
        return {"api": name, "at": url} | more | ({"body": dict(self.body)} if self.body else {})

    def get(self, progress: Progress | None = None) -> None:
        """Fetch nothing."""

    def open(self, run: Path, *, workers: int = 1) -> LanguageModel:
        """Make ready to send, with the replies that a run has already."""
        return Api(self, Replies(run / NAME), workers)


class Api:
    """An endpoint that is asked."""

    def __init__(self, endpoint: Endpoint, replies: Replies, workers: int = 1) -> None:
        self.endpoint, self.replies, self.usage = endpoint, replies, Usage()
        self.name, self.url = endpoint.address
        self.model = fingerprint(endpoint.identity())[:16]
        self.threads = max(1, endpoint.concurrency // workers)
        self.client = httpx.Client(timeout=endpoint.timeout, headers=_headers(endpoint.key))

    def fits(self, prompt: str, decoding: Decoding) -> bool:  # noqa: ARG002 (as all models)
        """Say yes: only the endpoint knows, and says so when it is asked."""
        return True

    def generate(self, prompts: Sequence[str], decoding: Decoding) -> list[Reply | None]:
        """Ask for each prompt's reply; None where the endpoint refuses one."""
        calls = [self._writing(prompt, decoding) for prompt in prompts]
        return [_reply(body) for body in self._asked(calls)]

    def score(self, prompts: Sequence[str], options: Sequence[Sequence[str]], decoding: Decoding) -> list[Odds | None]:
        """Have prompts with their options read back, with the log-probabilities of each token."""
        if decoding.chat:
            raise ModelUnavailableError("chat endpoints don't say how likely an answer is: set `answers: generate`")
        pairs = [(p, option) for p, each in zip(prompts, options, strict=True) for option in each]
        read = {"max_tokens": 0, "temperature": 0, "logprobs": 1, "echo": True}
        bodies = self._asked([("completions", {"model": self.name, "prompt": p + o, **read}) for p, o in pairs])
        found = iter([_odds(body, len(p)) for (p, _), body in zip(pairs, bodies, strict=True)])
        return [_together([next(found) for _ in each]) for each in options]

    def _writing(self, prompt: str, decoding: Decoding) -> tuple[str, dict[str, Json]]:
        asked: dict[str, Json] = {
            "model": self.name,
            "max_tokens": decoding.tokens,
            "temperature": decoding.temperature,
        }
        if decoding.stop:
            asked["stop"] = list(decoding.stop)
        if decoding.temperature:
            asked["seed"] = decoding.seed
        if decoding.chat:
            return "chat/completions", asked | {"messages": [{"role": "user", "content": prompt}]}
        return "completions", asked | {"prompt": prompt}

    def _asked(self, calls: Sequence[tuple[str, dict[str, Json]]]) -> list[Any]:
        """Send what was not answered before, several at once, and give all bodies; None for what was refused."""
        whole = [(path, self._body(body)) for path, body in calls]
        keys = [fingerprint("reply", self.model, path, body) for path, body in whole]
        distinct = dict(zip(keys, whole, strict=True))
        found = {key: self.replies.find(key) for key in distinct}
        missing = [key for key, reply in found.items() if reply is None]
        pool = ThreadPoolExecutor(self.threads)
        try:
            found |= zip(missing, pool.map(lambda key: self._send(key, *distinct[key]), missing), strict=True)
        finally:  # on the way out of an error, what is under way is answered and kept, and nothing more is sent
            pool.shutdown(wait=True, cancel_futures=True)
        answers = [reply for key in keys if (reply := found[key]) is not None]
        for status, body in answers:
            self._note(body if status == httpx.codes.OK else {})
        return [body if status == httpx.codes.OK else None for status, body in answers]

    def _body(self, body: Mapping[str, Json]) -> dict[str, Json]:
        return {name: value for name, value in {**body, **self.endpoint.body}.items() if value is not None}

    def _send(self, key: str, path: str, body: dict[str, Json]) -> tuple[int, Any]:
        """Try until there is a reply worth keeping, and keep it."""
        most = self._most(body)
        for attempt in itertools.count(1):
            self.replies.set_aside(self.model, most, Price(self.endpoint.token_budget, self.endpoint.budget))
            wait, reason, paid = 0.0, "", True
            try:
                self.usage.requests += 1
                reply = self._post(path, body)
                self.replies.keep(key, self.model, reply, self._cost(reply[1]), most)
                return reply
            except _TryAgainError as error:
                wait, reason, paid = error.wait, str(error), error.paid
            except BaseException:
                self.replies.give_back(self.model, most)
                raise
            if not paid:
                self.replies.give_back(self.model, most)
            if attempt >= self.endpoint.tries:
                raise self._given_up(attempt, reason)
            time.sleep(max(wait, self.endpoint.backoff * 2 ** (attempt - 1) * random.uniform(0.5, 1)))  # noqa: S311
        raise AssertionError

    def _given_up(self, tries: int, reason: str) -> ModelError:
        kind = ModelError if reason.startswith("HTTP 5") else ModelUnavailableError
        return kind(f"no answer from {self.url} after {tries} tries; the last: {reason}")

    def _post(self, path: str, body: dict[str, Json]) -> tuple[int, Any]:
        try:
            with self.client.stream("POST", f"{self.url}/{path}", json=body) as given:
                content = _limited(given)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise _TryAgainError(f"can't be reached ({error})", paid=False) from None
        except httpx.HTTPError as error:  # cut, or too slow: it may have been answered, and paid for
            raise _TryAgainError(f"{type(error).__name__} ({error})") from None
        if given.status_code in AGAIN or given.status_code >= httpx.codes.INTERNAL_SERVER_ERROR:
            raise _TryAgainError(f"HTTP {given.status_code} {self._told(content)}", _after(given), paid=False)
        if given.status_code != httpx.codes.OK:
            return given.status_code, self._refused(given.status_code, content)
        try:
            found = httpx.Response(200, content=content).json()
            found["choices"][0]
        except (ValueError, LookupError, TypeError):
            raise _TryAgainError(f"not a completion: {self._told(content)}") from None
        return httpx.codes.OK, found

    def _refused(self, status: int, content: bytes) -> Any:
        """Give a refusal of one prompt, which is an answer too; any other is an error."""
        told = self._told(content)
        if status in REFUSED and TOO_LONG.search(told):
            return {"refused": told}
        if status in (401, 403):
            raise ModelUnavailableError(f"{self.url} refuses the key of ${self.endpoint.key} (HTTP {status}): {told}")
        if status in REFUSED:
            raise ModelError(f"{self.url} refuses the request (HTTP {status}): {told}")
        raise ModelUnavailableError(f"{self.url} answers HTTP {status} for model {self.name!r}: {told}")

    def _told(self, content: bytes) -> str:
        """Give the beginning of what an endpoint said, and never the key, which it may repeat."""
        text = content[:2000].decode("utf-8", "replace")
        key = os.environ.get(self.endpoint.key, "")
        return (text.replace(key, "(key)") if key else text)[:300].strip()

    def _most(self, body: Mapping[str, Any]) -> Price:
        """Say what a request can cost at most: no token is shorter than a byte."""
        texts = [body.get("prompt", ""), *(m["content"] for m in body.get("messages", ()))]
        read = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) + OVERHEAD
        written = max(
            [n for n in (body.get("max_tokens"), body.get("max_completion_tokens")) if isinstance(n, int)] or [0]
        )
        return self._price(read, written)

    def _price(self, read: int, written: int) -> Price:
        dollars = (read * self.endpoint.price_in + written * self.endpoint.price_out) / 1e6
        return Price(read + written, dollars)

    def _cost(self, body: Any) -> Price:
        return self._price(*_used(body))

    def _note(self, body: Any) -> None:
        read, written = _used(body)
        self.usage.read += read
        self.usage.written += written
        self.usage.computed += read + written
        self.usage.dollars += self._price(read, written).dollars


class _TryAgainError(Exception):
    """Something that may go better next time."""

    def __init__(self, reason: str, wait: float = 0.0, *, paid: bool = True) -> None:
        super().__init__(reason)
        self.wait, self.paid = wait, paid


def _headers(variable: str) -> dict[str, str]:
    key = os.environ.get(variable, "").strip()
    if not key.isascii() or any(character.isspace() for character in key):
        raise ModelUnavailableError(f"the key in ${variable} has characters that no key has")
    return {"Authorization": f"Bearer {key}"} if key else {}


def _limited(given: httpx.Response) -> bytes:
    parts, size = [], 0
    for part in given.iter_bytes():
        parts.append(part)
        size += len(part)
        if size > LARGEST:
            raise _TryAgainError(f"a reply of more than {LARGEST:,} bytes")
    return b"".join(parts)


def _after(given: httpx.Response) -> float:
    """Read how long to wait, where the endpoint says so in seconds."""
    told = given.headers.get("retry-after", "")
    return min(float(told), WAIT) if re.fullmatch(r"\d+(\.\d+)?", told) else 0.0


def _used(body: Any) -> tuple[int, int]:
    used = body.get("usage") if isinstance(body, dict) else None
    counts = [(used or {}).get(name) for name in ("prompt_tokens", "completion_tokens")]
    read, written = (n if isinstance(n, int) and n >= 0 else 0 for n in counts)
    return read, written


def _reply(body: Any) -> Reply | None:
    """Read what a model wrote; None where it, or a filter, refused."""
    if body is None:
        return None
    choice = body["choices"][0]
    text = (choice.get("message") or {}).get("content") if "message" in choice else choice.get("text")
    if not isinstance(text, str):
        return None
    return Reply(text, _used(body)[1], choice.get("finish_reason") != "length")


def _odds(body: Any, start: int) -> tuple[float, int] | None:
    """Add up the log-probabilities of the tokens that reach beyond a prompt of so many characters."""
    if body is None:
        return None
    logs = body["choices"][0].get("logprobs") or {}
    tokens, offsets, values = (logs.get(name) for name in ("tokens", "text_offset", "token_logprobs"))
    if not tokens or not offsets or not values:
        raise ModelUnavailableError("the endpoint gives no log-probabilities of what it reads: set `answers: generate`")
    over = [v for t, at, v in zip(tokens, offsets, values, strict=True) if at + len(t) > start and v is not None]
    return sum(over), len(over)


def _together(found: Sequence[tuple[float, int] | None]) -> Odds | None:
    known = [pair for pair in found if pair is not None]
    return Odds(tuple(log for log, _ in known), tuple(n for _, n in known)) if len(known) == len(found) else None
