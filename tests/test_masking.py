from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode

import pytest

from taskloom.masking import MASK, key_of, masked, masked_all
from taskloom.studies.finished import packed, unpacked

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


def test_what_is_short_or_a_path_or_of_another_name_is_no_key(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    monkeypatch.setenv("SSL_KEY", "/etc/ssl/own.pem")
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "undecided")
    text = "EMPTY /etc/ssl/own.pem undecided"
    assert masked(text) == text


def test_a_key_that_was_read_is_known_whatever_its_variable(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ACCESS_TO_IT", "only-this-test-has-it")
    assert masked("only-this-test-has-it") == "only-this-test-has-it"
    assert key_of("ACCESS_TO_IT") == "only-this-test-has-it"
    assert masked("only-this-test-has-it") == MASK


def test_what_a_ledger_keeps_has_no_key():
    kept = packed({"sets": {"query": {"answers": [KEY]}}})
    assert KEY not in json.dumps(unpacked(kept))
    assert unpacked(kept) == {"sets": {"query": {"answers": [MASK]}}}


@pytest.mark.parametrize("key", ['pass"word-1', "back\\slash-1", "schlüssel-1", "it's-a-key"])
def test_a_key_is_masked_as_it_stands_in_json_and_in_what_python_shows(monkeypatch: pytest.MonkeyPatch, key: str):
    monkeypatch.setenv("SOME_PASSWORD", key)
    for text in (key, json.dumps(key)[1:-1], json.dumps(key, ensure_ascii=False)[1:-1], repr(key)[1:-1]):
        assert masked(f"a {text} b") == f"a {MASK} b"
    assert masked_all({"a": (key, (1, key))}) == {"a": [MASK, [1, MASK]]}
