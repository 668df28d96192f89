"""Headers of GGUF files are read within their bounds, whatever their numbers say."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from taskloom.errors import ModelError
from taskloom.models.gguf import convert
from taskloom.models.gguf_header import gguf_header
from taskloom.models.plausible import refuse_implausible

from ..fuzz.read_models import gguf_file

if TYPE_CHECKING:
    from ..conftest import Refused


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def number(name: str, value: int) -> bytes:
    return text(name) + struct.pack("<II", 4, value)


def gguf(path: Path, *pairs: bytes, tensors: int = 1, count: int | None = None) -> Path:
    shape = text("w") + struct.pack("<IQQIQ", 2, 4, 4, 0, 0)
    head = b"GGUF" + struct.pack("<IQQ", 3, tensors, len(pairs) if count is None else count)
    path.write_bytes(head + b"".join(pairs) + shape + bytes(64))
    return path


def test_settings_and_shapes_are_read(tmp_path: Path):
    words = text("tokens") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("b")
    header = gguf_header(gguf(tmp_path / "m.gguf", number("llama.block_count", 1), words))
    assert header.settings == {"llama.block_count": 1, "tokens": [None]}
    assert (header.shapes, header.parameters) == (((4, 4),), 16)


def test_tokens_that_are_added_one_by_one_are_counted_and_limited(tmp_path: Path, refused: Refused):
    def types(*kinds: int) -> bytes:
        return text("tokenizer.ggml.token_type") + struct.pack(f"<IIQ{len(kinds)}i", 9, 5, len(kinds), *kinds)

    assert gguf_header(gguf(tmp_path / "m.gguf", types(1, 3, 6, 4, 1), number("x", 1))).added == 2
    many = gguf(tmp_path / "many.gguf", types(*[3] * 100_001))
    with refused(ModelError, "tokenizer-costly", what="added tokens", value=100_001, path=many):
        convert(many, tmp_path / "made")


@pytest.mark.parametrize(
    "pair",
    [
        text("x") + struct.pack("<IIQ", 9, 0, 1 << 60),  # a list of more than there is
        text("x") + struct.pack("<IIQ", 9, 8, 1 << 60),
        struct.pack("<Q", 1 << 62) + b"x",
        text("x") + struct.pack("<I", 99),
        text("x") + struct.pack("<IIQ", 9, 9, 1),  # a list of lists
    ],
)
def test_lengths_that_are_forged_end_the_reading(tmp_path: Path, pair: bytes):
    with pytest.raises(ValueError, match=r"the header ends|unknown type"):
        gguf_header(gguf(tmp_path / "m.gguf", pair))


def test_counts_that_are_forged_end_the_reading(tmp_path: Path):
    for tensors, count in ((1 << 62, 0), (1, 1 << 62)):
        with pytest.raises(ValueError, match=r"the header ends|dimensions|unknown type|codec|numbers in"):
            gguf_header(gguf(tmp_path / "m.gguf", tensors=tensors, count=count))


def test_settings_that_do_not_go_with_the_weights_are_refused(tmp_path: Path, refused: Refused):
    sizes = {"tensors": 12, "parameters": 5000}
    refuse_implausible({"num_hidden_layers": 12, "vocab_size": 200_000, "rope_theta": 1e30}, tmp_path, **sizes)
    wrong = {"num_hidden_layers": 10**9, "llama.block_count": 4 * 10**9, "hidden_size": 10**9}
    for name, value in (wrong | {"llama.rope.dimension_count": 4 * 10**8, "inner_group_num": 10**9}).items():
        with refused(ModelError, "setting-implausible", name=name, value=value):
            refuse_implausible({"text_config": {name: value}}, tmp_path, **sizes)


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("llama.attention.head_count", 0, "setting-implausible"),
        ("llama.block_count", 4_000_000_000, "setting-implausible"),
        ("llama.feed_forward_length", 16, "gguf-unreadable"),  # than which the weights are larger
    ],
)
def test_a_file_with_a_forged_setting_is_not_converted(
    tmp_path: Path, name: str, value: int, code: str, refused: Refused
):
    good = gguf_file()
    at = good.index(text(name)) + len(text(name)) + 4
    (tmp_path / "m.gguf").write_bytes(good[:at] + struct.pack("<I", value) + good[at + 4 :])
    with refused(ModelError, code):
        convert(tmp_path / "m.gguf", tmp_path / "made")
    assert not (tmp_path / "made").exists()
