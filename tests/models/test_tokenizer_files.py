"""Tokenizers that ask for any time and memory are refused before they are loaded; published ones are not."""

from __future__ import annotations

import json
import os
import shutil
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from taskloom.errors import ModelError
from taskloom.models import Decoding, Message
from taskloom.models import tokenizer_files as files
from taskloom.models.guarded import GuardedTokenizer
from taskloom.models.load import Weights
from taskloom.models.tokenizer_files import growth_of, refuse_costly_tokenizer, settings_faults, tokenizer_faults

from .test_encoder import net_of, tokenizer_into

if TYPE_CHECKING:
    from ..conftest import Refused


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("llama")
    net_of("llama").save_pretrained(folder)
    tokenizer_into(folder, marks=False)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "model"))


def edit(folder: Path, file: str, **values: Any) -> None:
    path = folder / file
    path.write_text(json.dumps((json.loads(path.read_text()) if path.exists() else {}) | values))


def replacing(content: str, times: int = 1, **pattern: str) -> dict[str, Any]:
    one = {"type": "Replace", "pattern": pattern or {"String": "a"}, "content": content}
    return {"type": "Sequence", "normalizers": [one] * times}


def around(pieces: int, ids: int = 1) -> dict[str, Any]:
    single = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}] * pieces + [{"Sequence": {"id": "A", "type_id": 0}}]
    special = {"[CLS]": {"id": "[CLS]", "ids": [2] * ids, "tokens": ["[CLS]"] * ids}}
    return {"type": "TemplateProcessing", "single": single, "pair": [], "special_tokens": special}


def charsmap(longest: int) -> dict[str, Any]:
    data = (8).to_bytes(4, "little") + bytes(8) + b"a\0" + b"b" * longest + b"\0"
    return {"type": "Precompiled", "precompiled_charsmap": b64encode(data).decode()}


@pytest.mark.parametrize(("part", "what"), [
    ({"normalizer": replacing("a" * 201)}, "normalizer"),
    ({"normalizer": replacing("a", 20, String="")}, "normalizer"),
    ({"normalizer": replacing("a", 20, Regex="(?=.)")}, "normalizer"),
    ({"normalizer": replacing("aa", 25)}, "normalizer"),
    ({"normalizer": charsmap(1000)}, "normalizer"),
    ({"normalizer": {"type": "Sequence", "normalizers": [{"type": "ByteLevel"}] * 25}}, "normalizer"),
    ({"normalizer": {"type": "Prepend", "prepend": "x" * 20_000}}, "normalizer"),
    ({"decoder": {"type": "Sequence", "decoders": [replacing("aa")["normalizers"][0]] * 25}}, "decoder"),
    ({"post_processor": around(2000)}, "post_processor"),
    ({"post_processor": around(100, 100)}, "post_processor"),
    ({"post_processor": {"type": "Sequence", "processors": [around(30, 30), around(30, 30)]}}, "post_processor"),
    ({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(" * 20_000}}}, "pre_tokenizer"),
    ({"added_tokens": [{"content": "x"}] * 100_001}, "added_tokens"),
    ({"added_tokens": [{"content": "x" * 20_000}]}, "added_tokens"),
    ({"model": {"type": "Unigram", "vocab": [["a" * 1001, 0.0]]}}, "vocab"),
    ({"model": {"type": "WordPiece", "max_input_chars_per_word": 10_000_000}}, "max_input_chars_per_word"),
])  # fmt: skip
def test_a_tokenizer_that_takes_without_end_is_refused(folder: Path, refused: Refused, part: Any, what: str):
    edit(folder, "tokenizer.json", **part)
    for use in (lambda of: of.open(folder), lambda of: of.open_encoder(folder), lambda of: of.measure()):
        with refused(ModelError, "tokenizer-costly", what=what, path=folder / "tokenizer.json"):
            use(Weights(load=f"path:{folder}"))


@pytest.mark.parametrize(("file", "values", "what"), [
    ("tokenizer_config.json", {"extra_ids": 200_000, "tokenizer_class": "T5Tokenizer"}, "extra_ids"),
    ("tokenizer_config.json", {"eos_token": "x" * 20_000}, "eos_token"),
    ("tokenizer_config.json", {"extra_special_tokens": ["x"] * 100_001}, "extra_special_tokens"),
    ("tokenizer_config.json", {"chat_template": "x" * 2_000_000}, "chat_template"),
    ("special_tokens_map.json", {"bos_token": {"content": "x" * 20_000}}, "content"),
    ("added_tokens.json", {f"<{n}>": n for n in range(100_001)}, "tokens"),
])  # fmt: skip
def test_settings_that_make_tokens_without_end_are_refused(
    folder: Path, refused: Refused, file: str, values: Any, what: str
):
    edit(folder, file, **values)
    with refused(ModelError, "tokenizer-costly", what=what, path=folder / file):
        Weights(load=f"path:{folder}").measure()


def test_what_was_not_looked_through_is_not_loaded(folder: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch):
    edit(folder, "tokenizer.json", normalizer=replacing("a" * 101), more=json.loads("[" * 150 + "]" * 150))
    with refused(ModelError, "tokenizer-unreadable", path=folder / "tokenizer.json"):
        refuse_costly_tokenizer(folder)
    monkeypatch.setattr(files, "LARGEST", 1000)
    (folder / "tokenizer.json").write_text(" " * 1001)
    with refused(ModelError, "tokenizer-costly", what="its size", value=1001):
        refuse_costly_tokenizer(folder)
    (folder / "tokenizer.json").unlink()
    os.mkfifo(folder / "tokenizer.json")  # which nobody writes to
    refuse_costly_tokenizer(folder)


def test_tokenizers_as_they_are_published_are_let_pass(made: Path):
    """What Gemma, T5, Albert and Llama have in these places."""
    refuse_costly_tokenizer(made)
    nfkc, spaces = charsmap(18), {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"}
    quotes = {"type": "Replace", "pattern": {"String": "``"}, "content": '"'}
    albert = [quotes, quotes, {"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}, nfkc, spaces]
    llama = [{"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]
    assert [growth_of({"type": "Sequence", "normalizers": some}) for some in (albert, llama)] == [36, 1]
    unused = [{"id": n, "content": f"<unused{n}>"} for n in range(6_415)]
    words = {"type": "Unigram", "vocab": [["▁" * 16, -1.0]] * 1000}
    whole = {"normalizer": {"type": "Sequence", "normalizers": albert}, "added_tokens": unused, "model": words}
    assert list(tokenizer_faults(whole | {"post_processor": around(2)})) == []
    config = {"model_max_length": 10**30, "vocab_size": 262_144, "extra_ids": 300, "chat_template": "x" * 20_000}
    assert list(settings_faults(config | {"added_tokens_decoder": {str(of["id"]): of for of in unused}})) == []


# --- what is loaded, and yet can't be used ---------------------------------------------------------------------------


def test_a_pattern_without_end_is_an_error_and_no_panic(folder: Path, refused: Refused):
    pattern = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
    edit(folder, "tokenizer.json", pre_tokenizer=pattern)
    of = Weights(load=f"path:{folder}")
    uses: list[Callable[[str], Any]] = [
        lambda text: of.open(folder).generate([text], Decoding(tokens=1)),
        lambda text: of.open_encoder(folder).take([text]),
        lambda text: of.measure().count(text),
    ]
    for use in uses:
        with refused(ModelError, "tokenizer-broken"):
            use("a" * 60 + "b")


def test_tokens_that_the_model_lacks_are_an_error(folder: Path, refused: Refused):
    words = json.loads((folder / "tokenizer.json").read_text())["model"]
    edit(folder, "tokenizer.json", model=words | {"vocab": words["vocab"] | {"zebra": 70}})
    of = Weights(load=f"path:{folder}")
    with refused(ModelError, "tokenizer-beyond", token=70, size=20):
        of.open(folder).generate(["a zebra"], Decoding(tokens=1))
    with refused(ModelError, "tokenizer-beyond", token=70, size=20):
        of.open_encoder(folder).take(["a zebra"])
    assert of.open_encoder(folder).take(["a b"])[0].shape == (1, 16)


@pytest.mark.parametrize("most", [-5, 0, float("inf"), float("nan")])
def test_a_longest_text_that_can_not_be_is_refused(folder: Path, refused: Refused, most: float):
    edit(folder, "tokenizer_config.json", model_max_length=most)
    with refused(ModelError, "encoder-unreadable", path=folder):
        Weights(load=f"path:{folder}").open_encoder(folder)


def test_a_guarded_tokenizer_is_the_tokenizer_in_all_else(folder: Path):
    found = Weights(load=f"path:{folder}").measure()
    tokenizer: Any = found.tokenizer  # type: ignore[attr-defined]
    assert isinstance(tokenizer, GuardedTokenizer)
    assert (len(tokenizer), tokenizer.pad_token, tokenizer.decode([4, 5])) == (20, "[PAD]", "a b")
    assert found.count("a b c") == 3
    with pytest.raises(ModelError):
        found.count((Message("user", "a"),))  # it has no chat template
