"""Vectors from an endpoint on this machine: in order, kept, paid for once, and refused where they are none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from taskloom.errors import ModelError, ModelUnavailableError
from taskloom.models.api import Api, Endpoint
from taskloom.models.api_encoder import TOGETHER, ApiEncoder, batched
from taskloom.models.vectors import VectorCache

if TYPE_CHECKING:
    from tests.conftest import Refused
    from tests.models.conftest import Server

Make = Callable[..., Api]
TEXTS = ["a", "banana", "", "kiwi \ud800"]
VECTORS = [[1, 1], [6, 3], [1, 0], [6, 0]]


def test_texts_get_their_vectors_in_their_order_whatever_the_order_of_the_reply(api: Make, endpoint: Server):
    encoder = ApiEncoder(api())
    found = encoder.encode(TEXTS)
    assert (found.tolist(), found.dtype, encoder.width) == (VECTORS, np.float32, 2)
    asked = {"model": "tiny", "input": ["a", "banana", " ", "kiwi \ufffd"], "encoding_format": "float"}
    assert endpoint.received == [asked]
    assert encoder.encode([]).shape == (0, 2)
    assert encoder.take(TEXTS)[1] == [0] * 4


def test_many_texts_are_sent_in_several_requests_and_kept(api: Make, endpoint: Server):
    texts = [f"text {n}" for n in range(TOGETHER + 5)]
    encoder = ApiEncoder(api(price_in=1e6))
    assert len(encoder.encode(texts)) == len(texts)
    assert len(endpoint.received) == 2
    assert encoder.usage.requests == 2
    assert encoder.usage.read == encoder.usage.dollars == 2 * len(texts)
    ApiEncoder(api(price_in=1e6)).encode(texts)
    assert len(endpoint.received) == 2
    assert [len(batch) for batch in batched(["x" * 40_000] * 3)] == [1, 1, 1]


def test_the_endpoint_is_asked_once_for_each_text_of_a_study(
    api: Make, endpoint: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TASKLOOM_CACHE", str(tmp_path))
    for _ in range(2):
        cache = VectorCache("tiny", "tiny", "float32", lambda: ApiEncoder(api()))
        assert cache.take(["a", "banana"])[0].tolist() == VECTORS[:2]
    assert len(endpoint.received) == 1
    assert cache.usage.encoded == 0


def test_a_budget_holds_for_vectors_too(api: Make):
    with pytest.raises(ModelUnavailableError, match="budget"):
        ApiEncoder(api(token_budget=80)).encode(["word " * 100])


@pytest.mark.parametrize("fault", ["429", "500", "no JSON", "no choices"])
def test_what_passes_is_tried_again(api: Make, endpoint: Server, fault: str):
    endpoint.then(fault)
    assert ApiEncoder(api()).encode(["a"]).tolist() == [[1, 1]]
    assert len(endpoint.received) == 2


def test_one_text_that_is_too_long_is_named_and_does_not_fail_for_others(api: Make, endpoint: Server, refused: Refused):
    endpoint.about = {"long": "too long"}
    with refused(ModelError, "text-refused", text="a long one"):
        ApiEncoder(api()).encode(["a", "a long one"])
    assert [body["input"] for body in endpoint.answered] == [["a"]]


@pytest.mark.parametrize(
    ("embed", "code"),
    [
        (lambda text: [1.0] * len(text), "vectors-vary"),
        (lambda text: ["x"], "no-reply"),
        (lambda text: [], "no-reply"),
        (lambda text: [float("nan")], "no-reply"),
        (lambda text: [10**400], "no-reply"),
        (lambda text: [1e39], "no-reply"),
    ],
)
def test_what_are_no_vectors_is_refused(api: Make, endpoint: Server, embed: Any, code: str):
    endpoint.embed = embed
    with pytest.raises(ModelUnavailableError) as told:
        ApiEncoder(api(tries=2, backoff=0.01)).encode(["a", "bcd"])
    assert told.value.note.code == code


def test_a_reply_with_too_few_vectors_is_refused(api: Make, endpoint: Server, refused: Refused):
    reply = endpoint.reply
    endpoint.reply = lambda path, body: {"data": reply(path, body)["data"][:1]}  # type: ignore[method-assign]
    with refused(ModelUnavailableError, "vectors-not-each", texts=2):
        ApiEncoder(api()).encode(["a", "b"])


def test_an_endpoint_is_opened_as_an_encoder(endpoint: Server, tmp_path: Path):
    source = Endpoint(load=f"api:tiny@{endpoint.url}", key="")
    assert "vectors" in source.can
    assert source.forms() == ()
    encoder = source.open_encoder(tmp_path)
    assert isinstance(encoder, ApiEncoder)
    assert encoder.encode(["a"]).tolist() == [[1, 1]]
    encoder.api.client.close()
    encoder.api.replies.close()
