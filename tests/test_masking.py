from __future__ import annotations

import html
import json
import os
from base64 import b64encode, urlsafe_b64encode
from pathlib import Path
from urllib.parse import quote

import pytest

from taskloom.masking import MASK, key_of, masked, masked_all
from taskloom.studies.costs import Cost
from taskloom.studies.finished import Finished, SetAnswers, unpacked

KEY = "sk-~~secret~~?>0123456789"  # with letters that differ between the alphabets of base64


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", KEY)


@pytest.mark.parametrize("encode", [b64encode, urlsafe_b64encode])
@pytest.mark.parametrize("before", ["", "u:", "me:", "Bearer "])
@pytest.mark.parametrize("after", ["", "!", "!!"])
def test_a_key_is_masked_plain_and_in_base64_wherever_it_begins(encode, before: str, after: str):
    assert masked(f"a {before}{KEY}{after} b") == f"a {before}{MASK}{after} b"
    found = masked(f"a {encode(f'{before}{KEY}{after}'.encode()).decode()} b")
    assert MASK in found
    assert len(found) < len(f"a {before}{after} b") + 16


def test_texts_and_names_of_a_value_are_masked():
    assert masked_all({KEY: [KEY, 1, None, {"a": f"x{KEY}"}]}) == {MASK: [MASK, 1, None, {"a": f"x{MASK}"}]}


def test_what_is_short_or_the_path_of_a_file_or_of_another_name_is_no_key(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / "own.pem").touch()
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    monkeypatch.setenv("SSL_KEY", f"{tmp_path}/own.pem")
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "undecided")
    text = f"EMPTY {tmp_path}/own.pem undecided"
    assert masked(text) == text
    monkeypatch.setenv("SSL_KEY", "/no/such/file+but=base64")
    assert masked("a /no/such/file+but=base64 b") == f"a {MASK} b"


@pytest.mark.parametrize("name", ["DB_PASSWD", "GPG_PASSPHRASE", "AWS_SECRET_ACCESS_KEY", "GIT_CREDENTIALS", "token"])
def test_variables_that_hold_keys_are_known_by_how_they_end(monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.setenv(name, " of-one-test \n")
    assert masked("a of-one-test b") == f"a {MASK} b"


def test_a_key_that_is_no_text_is_masked_as_well_as_it_can_be(monkeypatch: pytest.MonkeyPatch):
    data = b"gr\xfc\xdfe-secret"  # Latin-1
    monkeypatch.setitem(os.environb, b"OLD_PASSWORD", data)
    assert masked("nothing") == "nothing"
    texts = [os.environ["OLD_PASSWORD"], data.decode("latin-1"), data.decode("utf-8", "replace"), repr(data)]
    for text in (*texts, b64encode(data).decode(), data.hex(), json.dumps(os.environ["OLD_PASSWORD"])):
        assert "secret" not in masked(text)
        assert MASK in masked(text)
    monkeypatch.setitem(os.environb, b"OLD_PASSWORD", b"\xff" * 20)  # of which nothing is left as UTF-8
    assert masked("\ufffd" * 30) == "\ufffd" * 30


def test_a_key_that_is_a_number_is_masked_as_a_number(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DOOR_KEY", "0123456789")
    given = {"a": [123456789, 123456789.0, 1234567890, True, None], "b": 123456789, "c": "at 0123456789."}
    assert masked_all(given) == {"a": [MASK, MASK, 1234567890, True, None], "b": MASK, "c": f"at {MASK}."}
    for number in ("9" * 5000, "1.0000e+999", "-1.5e+10"):  # none that Python or JSON has
        monkeypatch.setenv("DOOR_KEY", number)
        assert masked_all([1.5, float("inf"), number]) == [1.5, float("inf"), MASK]
    monkeypatch.setenv("DOOR_KEY", "-1.2345678e+10")
    assert masked_all([-1.2345678e10]) == [MASK]


@pytest.mark.parametrize("number", ["00000000", "00000001", "0.000000", "1e000000", "10000000"])
def test_numbers_of_few_digits_stay_however_a_key_writes_them(monkeypatch: pytest.MonkeyPatch, number: str):
    monkeypatch.setenv("DEV_TOKEN", number)
    assert masked_all([0, 1, 0.0, 1.0, False, True, 10_000_000]) == [0, 1, 0.0, 1.0, False, True, 10_000_000]
    assert masked_all([False, True])[0] is False
    assert masked(f"at {number}") == f"at {MASK}"


def test_a_word_is_no_key_unless_it_was_read_as_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("taskloom.masking._read", set())
    monkeypatch.setenv("SORT_KEY", "positive")
    assert masked_all(["positive", "Positive"]) == ["positive", "Positive"]
    key_of("SORT_KEY")
    assert masked("positive") == MASK


def test_the_lines_of_a_key_are_masked_one_by_one(monkeypatch: pytest.MonkeyPatch):
    first, second = "MIIEvQIBADANBgkqhkiG9w0BAQ", "EFAASCBKcwggSjAgEAAoIBAQC7"
    pem = f"-----BEGIN PRIVATE KEY-----\n{first}\n{second}\n-----END PRIVATE KEY-----\n"
    monkeypatch.setenv("SSH_KEY", pem)
    for text in (pem, pem.replace("\n", "\r\n"), f"> {first}\n> {second}", json.dumps(pem)):
        found = masked(text)
        assert first not in found
        assert second not in found
    assert masked("-----BEGIN PRIVATE KEY----- of whom?") == "-----BEGIN PRIVATE KEY----- of whom?"


@pytest.mark.parametrize("name", ["http_proxy", "DATABASE_URL", "PIP_INDEX_URL"])
def test_passwords_in_addresses_are_masked_with_who_has_them(monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.setenv(name, "http://me:p%40ss-word@proxy:3128")
    assert masked("can't reach http://me:p%40ss-word@proxy:3128") == f"can't reach http:{MASK}proxy:3128"
    assert masked("p%40ss-word, p@ss-word") == f"{MASK}, {MASK}"
    assert "bWU6c" not in masked(f"Basic {b64encode(b'me:p%40ss-word').decode()}")
    monkeypatch.setenv(name, "me:pw@proxy:3128 and https://token0123456789@host, postgres://postgres:postgres@db")
    assert masked("https://token0123456789@host") == f"https:{MASK}host"
    assert masked("me, postgres and token0123456789") == "me, postgres and token0123456789"


@pytest.mark.parametrize("write", [
    lambda key: quote(key, safe=""), lambda key: quote(key, safe="").lower(), html.escape,
    lambda key: key.encode().hex(), lambda key: key.encode().hex().upper(),
    lambda key: json.dumps(key).replace("/", "\\/"),
])  # fmt: skip
def test_a_key_is_masked_in_addresses_pages_and_hex(monkeypatch: pytest.MonkeyPatch, write):
    key = "<a/b&c>'d' ?=e"
    monkeypatch.setenv("ODD_KEY", key)
    assert masked(f"a {write(key)} b").replace('"', "") == f"a {MASK} b"


def test_a_key_that_was_read_is_known_whatever_its_variable(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ACCESS_TO_IT", "only-this-test-has-it")
    assert masked("only-this-test-has-it") == "only-this-test-has-it"
    assert key_of("ACCESS_TO_IT") == "only-this-test-has-it"
    assert masked("only-this-test-has-it") == MASK


def test_what_a_ledger_keeps_has_no_key_and_all_else(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PIN_KEY", "12345678")
    asked = SetAnswers(answers=[KEY, 12345678, "b"], items=["1", "2", "3"], rows=[12345678, 0, 1], pool="test")
    made = Finished(sets={"query": asked}, counts={KEY: 2}, outputs={"query": [KEY]}, sizes=[12345678], cost=Cost())
    made = made.masked()
    kept = unpacked(made.body())
    assert kept["sets"]["query"] == {
        "answers": [MASK, MASK, "b"], "items": ["1", "2", "3"], "rows": [12345678, 0, 1], "pool": "test",
    }  # fmt: skip
    assert (kept["counts"], kept["sizes"], unpacked(made.said())) == ({MASK: 2}, [12345678], {"query": [MASK]})


@pytest.mark.parametrize("key", ['pass"word-1', "back\\slash-1", "schlüssel-1", "it's-a-key"])
def test_a_key_is_masked_as_it_stands_in_json_and_in_what_python_shows(monkeypatch: pytest.MonkeyPatch, key: str):
    monkeypatch.setenv("SOME_PASSWORD", key)
    for text in (key, json.dumps(key)[1:-1], json.dumps(key, ensure_ascii=False)[1:-1], repr(key)[1:-1]):
        assert masked(f"a {text} b") == f"a {MASK} b"
    assert masked_all({"a": (key, (1, key))}) == {"a": [MASK, [1, MASK]]}
