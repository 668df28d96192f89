from __future__ import annotations

import logging
import os
import threading
import time
from base64 import b64encode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from taskloom.errors import ModelError, ModelUnavailableError, UnknownNameError, UsageError
from taskloom.messages import Note
from taskloom.models import Decoding, Message, Odds, Prompt, Reply, Usage
from taskloom.models import api as apis
from taskloom.models.api import Api, Endpoint
from taskloom.models.load import source

if TYPE_CHECKING:
    from tests.conftest import Refused
    from tests.models.conftest import Server

Make = Callable[..., Api]
PLAIN = Decoding(tokens=8)
MANY = [f"question {n} word{n}" for n in range(40)]
KEY = "sk-secret-0123456789"
GONE = "http://127.0.0.1:9/v1"  # where nobody listens


def said(text: str) -> tuple[Message, ...]:
    return (Message("user", text),)


def texts(replies: list[Reply | None]) -> list[str | None]:
    return [reply.text if reply else None for reply in replies]


# --- what is asked and read ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prompts", [["a b", "c d e"], [said("a b"), said("c d e")]])
def test_prompts_are_answered_in_their_order(api: Make, prompts: list[Prompt]):
    assert api().generate(prompts, PLAIN) == [Reply("b", 1), Reply("e", 1)]


def test_a_request_says_how_to_decode(api: Make, endpoint: Server):
    api().generate(["a b"], Decoding(tokens=3, stop=("\n",), temperature=0.5, seed=7))
    asked = {"model": "tiny", "prompt": "a b", "max_tokens": 3, "temperature": 0.5, "seed": 7, "stop": ["\n"]}
    assert endpoint.received == [asked]
    api().generate([(*said("a"), Message("assistant", "b"), *said("c"))], PLAIN)
    turns = [("user", "a"), ("assistant", "b"), ("user", "c")]
    assert endpoint.received[1]["messages"] == [{"role": role, "content": content} for role, content in turns]
    assert "seed" not in endpoint.received[1]
    assert endpoint.headers[1]["Authorization"] == f"Bearer {KEY}"


def test_more_can_be_put_into_a_request_and_null_leaves_a_field_out(api: Make, endpoint: Server):
    api(body={"temperature": None, "top_p": 0.9, "max_tokens": 2}).generate(["a b"], PLAIN)
    assert endpoint.received == [{"model": "tiny", "prompt": "a b", "max_tokens": 2, "top_p": 0.9}]


def test_a_reply_that_had_no_tokens_left_is_told_apart(api: Make, endpoint: Server):
    endpoint.answer = lambda _: "one two three"
    assert api().generate(["a"], Decoding(tokens=2)) == [Reply("one two", 2, ended=False)]


def test_a_stop_holds_even_where_the_endpoint_does_not_heed_it(api: Make, endpoint: Server):
    endpoint.answer = lambda _: "\n yes\nand more"
    assert texts(api().generate(["a"], Decoding(tokens=9, stop=("\n",)))) == ["\n yes"]
    assert api().generate(["b"], Decoding(tokens=2, stop=("\n",))) == [Reply("\n yes", 2)]
    endpoint.answer = lambda _: "\n"
    assert texts(api().generate(["c"], Decoding(tokens=9, stop=("\n",)))) == ["\n"]


def test_half_a_character_in_a_prompt_or_a_reply_does_no_harm(api: Make, endpoint: Server):
    assert api().generate(["a b\ud800"], PLAIN) == [Reply("b\ufffd", 1, surrogates=True)]
    assert texts(api().generate(["a b\ud800"], PLAIN)) == ["b\ufffd"]
    assert len(endpoint.received) == 1


def test_a_filtered_reply_is_none(api: Make, endpoint: Server):
    endpoint.about = {"bomb": "filtered"}
    assert texts(api().generate([said("a b"), said("a bomb")], PLAIN)) == ["b", None]


def test_a_prompt_that_is_too_long_is_none_and_not_asked_about_again(api: Make, endpoint: Server):
    endpoint.about = {"long": "too long"}
    for _ in range(2):
        assert texts(api().generate(["a b", "a long"], PLAIN)) == ["b", None]
        assert api().score(["a long", "a b"], [[" x"], [" y"]], PLAIN)[0] is None
    assert len(endpoint.received) == 4


def test_what_was_used_is_counted_and_equal_prompts_are_sent_and_paid_for_once(api: Make, endpoint: Server):
    model = api(price_in=1e6, price_out=2e6)
    model.generate(["a b c", "a b c", "d"], PLAIN)
    assert model.usage == Usage(read=7, written=3, computed=6, requests=2, dollars=8.0)
    assert len(endpoint.received) == 2
    before = Usage(**{name: getattr(model.usage, name) for name in Usage.__slots__})
    model.generate(["d", "e"], PLAIN)
    assert model.usage.since(before) == Usage(read=2, written=2, computed=2, requests=1, dollars=3.0)


def test_what_was_kept_from_before_is_not_paid_for_again(api: Make, endpoint: Server):
    paid = api(price_in=1e6, price_out=2e6)
    paid.generate(["a b c"], PLAIN)
    again = api(price_in=1e6, price_out=2e6)
    for _ in range(2):
        again.generate(["a b c"], PLAIN)
    assert again.usage == Usage(read=6, written=2)
    assert paid.usage.dollars == paid.replies.spent(paid.model).dollars == 5.0
    assert len(endpoint.received) == 1


@pytest.mark.parametrize("fault", ["", "no usage", "429", "too long"])
def test_the_dollars_that_are_told_are_those_that_budgets_go_by(api: Make, endpoint: Server, fault: str):
    endpoint.then(*([fault] if fault else []))
    model = api(price_in=1e6, price_out=2e6)
    model.generate(["a b c"], PLAIN)
    assert model.usage.dollars == model.replies.spent(model.model).dollars


# --- log-probabilities -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["", "<s>"])
def test_options_are_scored_by_the_tokens_beyond_the_prompt(api: Make, endpoint: Server, first: str):
    endpoint.first_token = first
    found = api().score(["is it"], [[" so", " quite so"]], PLAIN)
    assert found == [Odds((-3 / 8, -9 / 8), (1, 2))]
    asked = endpoint.received[0]
    assert (asked["max_tokens"], asked["echo"], asked["logprobs"]) == (0, True, 1)


def test_a_token_that_is_part_of_prompt_and_option_counts(api: Make):
    assert api().score(["is i"], [["t", "t so"]], PLAIN) == [Odds((-3 / 8, -6 / 8), (1, 2))]


def test_tokens_that_are_parts_of_characters_are_placed_by_their_offsets(api: Make, endpoint: Server, monkeypatch):
    parts = {"tokens": ["a", "bytes:\\xe7", "bytes:\\xbb\\xbf", " b"], "text_offset": [0, 1, 1, 2]}
    logs = parts | {"token_logprobs": [None, -1.0, -2.0, -4.0]}
    monkeypatch.setattr(endpoint, "_read_back", lambda _: logs)
    assert api().score(["a"], [["绿 b"]], PLAIN) == [Odds((-7.0,), (3,))]
    assert api().score(["a绿"], [[" b"]], PLAIN) == [Odds((-4.0,), (1,))]


@pytest.mark.parametrize(
    "logs",
    [
        None,
        [],
        {"tokens": ["a"], "text_offset": [0]},
        {"tokens": ["a", " b"], "text_offset": [0], "token_logprobs": [None, -1.0]},
        {"tokens": ["a", " b"], "text_offset": [0, "1"], "token_logprobs": [None, -1.0]},
        {"tokens": ["a"], "text_offset": [0], "token_logprobs": [None]},
        {"tokens": ["a", " b"], "text_offset": [0, 1], "token_logprobs": [None, float("nan")]},
        {"tokens": ["a", " b"], "text_offset": [0, 1], "token_logprobs": [None, float("inf")]},
        {"tokens": ["a", " b"], "text_offset": [0, 1], "token_logprobs": [None, -(10**400)]},
    ],
)
def test_without_log_probabilities_the_remedy_is_told(
    api: Make, endpoint: Server, refused: Refused, monkeypatch, logs: object
):
    monkeypatch.setattr(endpoint, "_read_back", lambda _: logs)
    with refused(ModelUnavailableError, "no-log-probabilities"):
        api().score(["a"], [[" b"]], PLAIN)


def test_a_chat_is_not_asked_for_log_probabilities(api: Make, endpoint: Server, refused: Refused):
    with refused(ModelUnavailableError, "no-log-probabilities-in-chat"):
        api().score([said("a")], [[" b"]], PLAIN)
    assert not endpoint.received


# --- what goes wrong -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault", ["429", "429 on a date", "500", "cut", "no JSON", "deep JSON", "no choices", "odd choices"]
)
def test_what_may_go_better_is_tried_again(api: Make, endpoint: Server, fault: str):
    endpoint.then(fault, fault)
    model = api()
    assert texts(model.generate(["a b"], PLAIN)) == ["b"]
    assert model.usage.requests == len(endpoint.received) == 3


@pytest.mark.parametrize(
    ("fault", "code", "told"),
    [
        ("429", "http-error", "slow down"),
        ("cut", "connection-broken", "RemoteProtocolError"),
        ("no JSON", "not-a-completion", "<html>gateway"),
        ("no choices", "not-a-completion", ""),
        ("huge", "reply-too-large", "16,777,216 bytes"),
        ("bomb", "reply-too-large", "16,777,216 bytes"),
        ("many headers", "connection-broken", "Receive buffer too long"),
    ],
)
def test_tries_come_to_an_end(api: Make, endpoint: Server, fault: str, code: str, told: str):
    endpoint.always = fault
    with pytest.raises(ModelUnavailableError) as error:
        api(tries=2).generate(["a b"], PLAIN)
    values = dict(error.value.note.values)
    assert (error.value.note.code, values["url"], values["tries"]) == ("no-reply", endpoint.url, 2)
    assert values["reason"].code == code
    assert told in str(values["reason"])
    assert len(endpoint.received) == 2


def test_an_endpoint_that_fails_at_a_prompt_may_answer_others(api: Make, endpoint: Server, refused: Refused):
    endpoint.about = {"bad": "500"}
    with refused(ModelError, "no-reply", reason=Note.of("http-error", status=500, said="oh no")):
        api(tries=2).generate(["a bad"], PLAIN)
    assert texts(api().generate(["a b"], PLAIN)) == ["b"]


def test_a_reply_that_takes_too_long_is_tried_again(api: Make, endpoint: Server):
    endpoint.then("slow")
    assert texts(api(timeout=1).generate(["a b"], PLAIN)) == ["b"]
    assert len(endpoint.received) == 2


@pytest.mark.parametrize("fault", ["deep choice", "deep beside"])
def test_a_reply_that_could_not_be_read_again_is_tried_again(api: Make, endpoint: Server, fault: str):
    endpoint.then(fault)
    assert texts(api().generate(["a b"], PLAIN)) == ["b"]
    assert len(endpoint.received) == 2


@pytest.mark.parametrize("fault", ["drip", "drip from the first line"])
def test_the_time_limit_is_for_the_whole_request(api: Make, endpoint: Server, fault: str):
    endpoint.then(fault)
    assert texts(api(timeout=1).generate(["a b"], PLAIN)) == ["b"]
    assert len(endpoint.received) == 2


def test_a_reply_that_drips_in_is_told(api: Make, endpoint: Server):
    endpoint.always = "drip"
    with pytest.raises(ModelUnavailableError, match="no whole reply within 1 s") as error:
        api(timeout=1, tries=1).generate(["a b"], PLAIN)
    assert dict(error.value.note.values)["reason"].code == "connection-broken"


def test_an_endpoint_says_how_long_to_wait(api: Make, endpoint: Server):
    endpoint.then("429 in a second")
    start = time.monotonic()
    assert texts(api().generate(["a b"], PLAIN)) == ["b"]
    assert time.monotonic() - start >= 1


def test_an_endpoint_that_can_not_be_reached_is_told(api: Make):
    with pytest.raises(ModelUnavailableError, match="unreachable") as error:
        api(load=f"api:tiny@{GONE}", tries=2).generate(["a"], PLAIN)
    assert dict(error.value.note.values)["reason"].code == "unreachable"


@pytest.mark.parametrize(
    ("fault", "kind", "told"),
    [
        ("401", ModelUnavailableError, Note.of("key-refused", key="OPENAI_API_KEY", status=401)),
        ("404", ModelUnavailableError, Note.of("model-refused", model="tiny", status=404)),
        ("400", ModelError, Note.of("request-refused", status=400)),
        ("moved", ModelUnavailableError, Note.of("endpoint-moved", status=307)),
    ],
)
def test_what_will_not_go_better_is_told_at_once(
    api: Make, endpoint: Server, refused: Refused, fault: str, kind: type, told: Note
):
    endpoint.always = fault
    with refused(kind, told.code, **dict(told.values)):
        api(concurrency=1).generate(MANY, PLAIN)
    assert len(endpoint.received) == 1


def test_nothing_more_is_sent_after_an_error_and_what_was_answered_is_kept(api: Make, endpoint: Server):
    endpoint.about = {"word5": "401"}
    with pytest.raises(ModelUnavailableError):
        api(concurrency=2).generate(MANY, PLAIN)
    assert len(endpoint.received) <= 9
    endpoint.about = {}
    assert texts(api().generate(MANY, PLAIN)) == [f"word{n}" for n in range(40)]
    assert sorted(endpoint.prompts()) == sorted(MANY)


def test_an_error_does_not_wait_for_the_tries_of_others(api: Make, endpoint: Server, refused: Refused):
    endpoint.about = {"word0": "401", "word1": "500"}
    start = time.monotonic()
    with refused(ModelUnavailableError, "key-refused", status=401):
        api(concurrency=2, backoff=60).generate(MANY[:2], PLAIN)
    assert time.monotonic() - start < 30  # that one alone waits for longer


# --- how many at once ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("concurrency", "workers", "most"), [(4, 1, 4), (4, 2, 2), (1, 1, 1), (1, 3, 1)])
def test_no_more_requests_are_under_way_than_allowed(
    api: Make, endpoint: Server, concurrency: int, workers: int, most: int
):
    together = threading.Barrier(most)

    def answer(prompt: str) -> str:
        together.wait(30)
        return prompt.split()[-1]

    endpoint.answer = answer
    assert texts(api(workers, concurrency=concurrency).generate(MANY[:16], PLAIN))[3] == "word3"
    assert endpoint.most_under_way == most


# --- the key ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("space", ["", "\n"])
def test_the_key_is_shown_nowhere(api: Make, endpoint: Server, tmp_path: Path, monkeypatch, caplog, space: str):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("OPENAI_API_KEY", KEY + space)
    model = api(tries=1)
    endpoint.then("401")
    told = []
    for _ in range(2):
        try:
            model.generate(["a b"], PLAIN)
        except ModelError as error:
            told.append(f"{error!r} {error} {error.__context__!r} {error.__cause__!r}")
    assert "provided: (key)." in told[0]
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    seen = [*told, caplog.text, repr(model), repr(model.endpoint), repr(model.client.headers), str(vars(model))]
    assert b"tiny" not in kept
    assert KEY.encode() not in kept
    assert not [text for text in seen if KEY in text]
    assert endpoint.headers[-1]["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("fault", ["repeats the key", "repeats the key escaped", "repeats the key in base64"])
def test_a_key_that_a_reply_repeats_is_not_kept(api: Make, endpoint: Server, tmp_path: Path, fault: str):
    endpoint.then(fault)
    for _ in range(2):  # sent, and then kept
        assert "(key)" in str(texts(api().generate(["a b"], PLAIN)))
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    forms = [KEY.encode(), *(b64encode(b"x" * n + KEY.encode())[2:-4] for n in range(3))]
    assert b"(key)" in kept
    assert not [form for form in forms if form in kept]
    assert len(endpoint.received) == 1


@pytest.mark.parametrize("key", ["sk secret", "sk\x01secret", "sk-ſecret"])
def test_a_key_that_can_be_none_is_refused_and_not_repeated(api: Make, refused: Refused, monkeypatch, key: str):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with refused(ModelUnavailableError, "key-malformed", key="OPENAI_API_KEY"):
        api()


def test_without_a_key_none_is_sent_and_that_is_told_where_one_is_wanted(
    api: Make, endpoint: Server, refused: Refused, monkeypatch
):
    monkeypatch.delenv("OPENAI_API_KEY")
    assert texts(api().generate(["a b"], PLAIN)) == ["b"]
    assert "Authorization" not in endpoint.headers[0]
    endpoint.always = "401"
    with refused(ModelUnavailableError, "key-missing", key="OPENAI_API_KEY", status=401):
        api().generate(["c d"], PLAIN)


def test_another_variable_can_hold_the_key(api: Make, endpoint: Server, monkeypatch):
    monkeypatch.setenv("MY_KEY", "mine")
    api(key="MY_KEY").generate(["a b"], PLAIN)
    assert endpoint.headers[0]["Authorization"] == "Bearer mine"


# --- budgets ---------------------------------------------------------------------------------------------------------


def cost(prompt: str, tokens: int = 8) -> int:
    return len(prompt) + apis.OVERHEAD + tokens


@pytest.mark.parametrize("budget", [{"token_budget": 260}, {"budget": 2.6e-4, "price_in": 1, "price_out": 1}])
def test_a_budget_is_used_up_and_never_passed_however_many_ask_at_once(
    api: Make, endpoint: Server, refused: Refused, budget: dict[str, Any]
):
    models = [api(**budget) for _ in range(3)]
    highest: list[int] = []
    endpoint.pause = 0.01

    def ask(model: Api) -> None:
        with refused(ModelUnavailableError, "budget-spent" if "budget" in budget else "token-budget-spent"):
            model.generate(MANY * 3, Decoding(tokens=40))
        highest.append(model.replies.spent(model.model).tokens)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(ask, models))
    assert endpoint.most_under_way <= 260 // cost(MANY[0], 40)
    assert len(endpoint.answered) == len(set(endpoint.prompts()))  # none is paid for twice
    assert len(endpoint.answered) in (35, 36)  # of 4 tokens: as long as there is room for 120, or 122 with two digits
    assert max(highest) <= 260


def test_what_a_reply_did_cost_takes_the_place_of_what_was_set_aside(api: Make, refused: Refused):
    model = api(token_budget=cost("a b"))
    model.generate(["a b"], PLAIN)
    assert model.replies.spent(model.model).tokens == 3
    with refused(ModelUnavailableError, "token-budget-spent", budget=75, spent=3, most=76):
        model.generate(["c de"], PLAIN)


def test_a_budget_that_was_raised_goes_on_where_it_was_spent(api: Make, endpoint: Server):
    with pytest.raises(ModelUnavailableError):
        api(token_budget=150, concurrency=1).generate(MANY, PLAIN)
    before = list(endpoint.prompts())
    assert 0 < len(before) < len(MANY)
    assert texts(api(token_budget=9999).generate(MANY, PLAIN)) == [f"word{n}" for n in range(40)]
    assert sorted(endpoint.prompts()) == sorted(MANY)


def test_what_is_known_costs_nothing_even_if_the_budget_is_spent(api: Make, endpoint: Server):
    api().generate(["a b"], PLAIN)
    assert texts(api(token_budget=1).generate(["a b"], PLAIN)) == ["b"]
    assert len(endpoint.received) == 1


@pytest.mark.parametrize(
    ("fault", "left"),
    [("429", 0), ("500", 0), ("401", 0), ("400", 0), ("404", 0), ("cut", 150), ("no JSON", 150), ("huge", 150)],
)
def test_what_may_have_been_paid_for_stays_set_aside(api: Make, endpoint: Server, fault: str, left: int):
    endpoint.always = fault
    model = api(tries=2, token_budget=1000)
    with pytest.raises(ModelError):
        model.generate(["a b"], PLAIN)
    assert model.replies.spent(model.model).tokens == left


@pytest.mark.parametrize("fault", ["no usage", "odd usage"])
def test_where_an_endpoint_does_not_say_what_it_took_the_most_is_taken(api: Make, endpoint: Server, fault: str):
    endpoint.always = fault
    model = api(token_budget=1000)
    assert model.generate(["a b"], PLAIN) == [Reply("well", 0)]
    assert model.replies.spent(model.model).tokens == cost("a b") == 75


def test_every_choice_that_is_asked_for_counts(api: Make, refused: Refused):
    with refused(ModelUnavailableError, "token-budget-spent", most=107):
        api(token_budget=100, body={"n": 5}).generate(["a b"], PLAIN)


def test_models_at_one_address_have_budgets_of_their_own(api: Make):
    one, other = api(token_budget=100), api(token_budget=100, revision="2")
    one.generate(["a b"], PLAIN)
    assert other.replies.spent(other.model).tokens == 0


# --- what was said about an endpoint ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "load",
    [
        "api:m@http://user:hunter2@host/v1",
        "api:m@https://hunter2@host/v1",
        "api:m@http://host/v1?key=hunter2",
        "api:m@http://host/v1#hunter2",
        "api:m@http://user:hunter2@host:port/v1",
        "api:m@ftp://user:hunter2@host/v1",
        "api:m@HTTPS://user:hunter2@host/v1",
        "api:m@ https://user:hunter2@host/v1",
        "api:@http://host/hunter2",
        "api:m@http://",
        "api:m@httpx",
    ],
)
@pytest.mark.parametrize("more", [{}, {"tries": 0}, {"concurrency": "x"}])
def test_an_address_that_is_none_or_holds_a_key_is_refused_and_not_repeated(
    load: str, more: dict[str, Any], monkeypatch
):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(UsageError) as error:
        Endpoint(load=load, **more).identity()
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize("load", ["api:m@HTTPS://u:hunter2@host", "api:m@ http://u:hunter2@host", "api:m@ftp://host"])
def test_an_address_is_refused_before_a_plan_is_made_of_it(load: str):
    with pytest.raises(UsageError):
        Endpoint(load=load)
    assert Endpoint(load="api:m@v2@HTTPS://host/v1/").address == ("m@v2", "HTTPS://host/v1")


@pytest.mark.parametrize("proxy", ["http://me:hunter2-hunter2@h:port", "ftp://me:hunter2-hunter2@h", "socks9://me@h"])
def test_a_proxy_that_is_none_is_refused_without_its_password(
    api: Make, monkeypatch: pytest.MonkeyPatch, refused: Refused, proxy: str
):
    monkeypatch.setenv("all_proxy", proxy)
    with refused(UsageError, "proxy-unusable"):
        api()
    with pytest.raises(UsageError) as error:
        api()
    assert "hunter2" not in str(error.value)


def test_the_environment_can_say_where_the_endpoint_is(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://here:1/v1/")
    assert Endpoint(load="api:org/m").address == ("org/m", "http://here:1/v1")
    assert Endpoint(load="api:org/m").identity() == Endpoint(load="api:org/m@http://here:1/v1").identity()
    monkeypatch.delenv("OPENAI_BASE_URL")
    gone = Endpoint(load="api:org/m")  # a report needs no more
    with pytest.raises(UsageError, match="if OPENAI_BASE_URL is set: 'api:org/m'"):
        gone.identity()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"concurrency": 0}, "endpoint-numbers-too-small"),
        ({"concurrency": 1.5}, "endpoint-whole-numbers-expected"),
        ({"tries": True}, "endpoint-numbers-expected"),
        ({"timeout": 0.5}, "endpoint-numbers-too-small"),
        ({"timeout": float("nan")}, "endpoint-numbers-expected"),
        ({"backoff": -1}, "endpoint-numbers-expected"),
        ({"price_in": "1"}, "endpoint-numbers-expected"),
        ({"token_budget": -1}, "endpoint-numbers-expected"),
        ({"token_budget": None}, "endpoint-numbers-expected"),
        ({"budget": 1}, "price-missing"),
        ({"key": KEY}, "key-not-a-variable"),
        ({"key": None}, "key-not-a-variable"),
        ({"body": "x"}, "body-not-json"),
        ({"body": {"x": b"1"}}, "body-not-json"),
        ({"body": {"x": float("nan")}}, "body-not-json"),
        ({"body": {"stream": True, "model": "x"}}, "body-sets-ours"),
        ({"body": {"max_tokens": None}, "token_budget": 9}, "budget-without-limit"),
    ],
)
def test_options_that_can_not_be_meant_are_refused(options: dict[str, Any], code: str):
    with pytest.raises(UsageError) as error:
        source("mine", {"load": f"api:m@{GONE}", **options})
    assert error.value.note.code == code
    assert KEY not in str(error.value)
    assert KEY not in str(error.value.note.to_json())


def test_an_unknown_option_is_told_with_the_nearest():
    with pytest.raises(UnknownNameError, match="unknown option: 'tires'; did you mean tries"):
        source("mine", {"load": f"api:m@{GONE}", "tires": 3})


def test_a_model_is_named_by_what_can_change_its_answers():
    one = Endpoint(load=f"api:m@{GONE}")
    same = Endpoint(load=f"api:m@{GONE}/", concurrency=2, price_in=1, budget=5, key="OTHER", timeout=5)
    assert one.identity() == same.identity()
    others = [
        Endpoint(load=f"api:n@{GONE}"),
        Endpoint(load="api:m@http://127.0.0.1:10/v1"),
        Endpoint(load=f"api:m@{GONE}", revision="may"),
        Endpoint(load=f"api:m@{GONE}", body={"top_p": 0.5}),
    ]
    assert len({str(each.identity()) for each in [one, *others]}) == 5


def test_an_endpoint_has_nothing_to_fetch_and_never_says_that_a_prompt_is_too_long(api: Make):
    model = api()
    model.endpoint.get()
    assert model.fits("x" * 10_000, PLAIN)
    assert os.environ["OPENAI_API_KEY"] == KEY
