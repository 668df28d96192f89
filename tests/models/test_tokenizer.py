"""Tokenizers that are trained here: golden tokens, texts that come back, and the same files from the same texts."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from taskloom.errors import UsageError
from taskloom.models import tokenizer
from taskloom.models.new import FAMILIES, KINDS, SENTINELS, Kind

CHINESE = ["本文研究了神经网络的方法.", "研究方法是网络,结果很好。", "结果表明,方法很好"]
ENGLISH = [
    "we study the networks of the brain",
    "the method works on the brain",
    "networks work: the results show it",
] * 3
T5, BART, LLAMA = (FAMILIES[name].special for name in ("t5", "bart", "llama"))
TEXTS = ["the brain works", "a\nb  c\n\nd", "naïve ☃ 𝄞", "本文很好。", "The networks 12"]


def trained(kind: Kind, texts: list[str] = ENGLISH, size: int = 500, special: Any = T5) -> Any:
    return tokenizer.train(kind, texts, size, special)


def tokens(of: Any, text: str) -> list[str]:
    found: list[str] = of.convert_ids_to_tokens(of(text)["input_ids"])
    return found


def test_every_chinese_character_is_a_token():
    made = trained("characters", CHINESE)
    assert tokens(made, "研究网") == ["研", "究", "网", "</s>"]
    assert tokens(made, "的猫") == ["的", "<0xE7>", "<0x8C>", "<0xAB>", "</s>"]  # U+732B is in no text
    assert made.decode(made("的猫")["input_ids"], skip_special_tokens=True) == "的猫"


def test_frequent_characters_come_first_and_rare_ones_have_bytes():
    """Four characters come three times, 方法 and 结果 among the next; with room for 4, the others are bytes."""
    counts = {c: "".join(CHINESE).count(c) for c in "".join(CHINESE)}
    first = sorted(counts, key=lambda c: (-counts[c], c))[:4]
    made = trained("characters", CHINESE, T5.count + 256 + 4)
    assert made.convert_ids_to_tokens(range(3 + 256, 3 + 256 + 4)) == first
    assert len(made) == T5.count + 256 + 4
    rare = next(c for c in counts if c not in first)
    assert len(tokens(made, rare)) == len(rare.encode()) + 1


def test_unigram_finds_frequent_words():
    made = trained("unigram", [*ENGLISH, "then the brains", "their brain, these brains"])
    assert tokens(made, "the brain") == ["▁the", "▁brain", "</s>"]
    assert tokens(made, "brain\nX") == ["▁brain", "<0x0A>", "<0x58>", "</s>"]


def test_byte_level_bpe_merges_what_is_frequent():
    made = trained("bpe")
    assert tokens(made, "the brain") == ["the", "Ġbrain", "</s>"]


def test_special_tokens_have_the_ids_of_their_family():
    t5, bart, llama = trained("bpe"), trained("bpe", special=BART), trained("bpe", special=LLAMA)
    assert t5.convert_ids_to_tokens([0, 1, 2]) == ["<pad>", "</s>", "<unk>"]
    assert t5.convert_tokens_to_ids([SENTINELS[0], SENTINELS[99]]) == [len(t5) - 1, len(t5) - 100]
    assert tokens(t5, "the<extra_id_7>") == ["the", "<extra_id_7>", "</s>"]
    assert bart.convert_ids_to_tokens([0, 1, 2, 3, len(bart) - 1]) == ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    assert (tokens(bart, "the")[0], tokens(bart, "the")[-1]) == ("<s>", "</s>")
    assert tokens(llama, "the") == ["<s>", "the"]
    assert (bart.mask_token, llama.bos_token, t5.pad_token_id) == ("<mask>", "<s>", 0)


@pytest.mark.parametrize("kind", KINDS)
def test_texts_come_back_and_files_are_loaded_as_they_were_saved(kind: Kind, tmp_path: Path):
    made = trained(kind)
    made.save_pretrained(tmp_path)
    again = AutoTokenizer.from_pretrained(tmp_path, local_files_only=True, trust_remote_code=False)
    assert {file.name for file in tmp_path.iterdir()} == {"tokenizer.json", "tokenizer_config.json"}
    for text in TEXTS:
        ids = made(text)["input_ids"]
        assert again(text)["input_ids"] == ids
        assert again.unk_token_id not in ids
        assert again.decode(ids, skip_special_tokens=True) == text


READ_BACK = {kind: trained(kind) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.text(alphabet="the brain\nworks, é☃字", max_size=40))
def test_any_text_comes_back(kind: Kind, text: str):
    made = READ_BACK[kind]
    wanted = text[1:] if kind == "unigram" and text.startswith(" ") else text  # as SentencePiece
    assert made.decode(made(text)["input_ids"], skip_special_tokens=True) == wanted


def test_a_vocabulary_has_at_most_its_size_and_room_for_what_it_must_have(refused):
    assert len(trained("unigram", size=T5.count + 256 + 20)) <= T5.count + 256 + 20
    assert len(trained("unigram", CHINESE, T5.count + 256 + 5)) <= T5.count + 256 + 5  # fewer than characters
    with refused(UsageError, "vocabulary-too-small", least=T5.count + 257, given=100):
        trained("bpe", size=100)


PROGRAM = """
import sys
from pathlib import Path
from taskloom.models.new import FAMILIES, KINDS
from taskloom.models.tokenizer import train
texts = Path(sys.argv[1]).read_text(encoding="utf-8").split("\\n")
for kind in KINDS:
    train(kind, texts, 1200, FAMILIES["t5"].special).save_pretrained(Path(sys.argv[2]) / kind)
"""


def test_the_same_texts_give_the_same_files_in_every_process(tmp_path: Path):
    source = Path(tokenizer.__file__).parents[1]
    (tmp_path / "texts").write_text("\n".join(p.read_text(encoding="utf-8") for p in sorted(source.glob("*.py"))))
    found = set()
    for seed in ("1", "2"):
        folder = tmp_path / seed
        environment = os.environ | {"PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", PROGRAM, tmp_path / "texts", folder], env=environment, check=True)
        files = sorted(file for file in folder.rglob("*") if file.is_file())
        found.add(tuple((str(f.relative_to(folder)), hashlib.sha256(f.read_bytes()).hexdigest()) for f in files))
    assert len(found) == 1
    assert len(found.pop()) == 6
