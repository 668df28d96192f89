"""The published cross-lingual ROUGE-L, over byte pairs."""

from __future__ import annotations

import pytest
from rouge_score.rouge_scorer import RougeScorer
from tokenizers import ByteLevelBPETokenizer

from taskloom.errors import FetchError
from taskloom.scores import metric, signature
from taskloom.sources import packages

PAIRS = [
    ("the cat sat", "the cat ran"),
    ("1", "(1)"),
    ("北京 是 首都", "首都 是 北京"),
    ("Él vive allí.", "él vivía allí"),
    ("नमस्ते दुनिया", "नमस्ते"),
    ("  two  spaces ", "two spaces"),
    ("same", "same"),
    ("a", "完全不同"),
]


class BytePairs:
    """The reference's tokenizer."""

    def __init__(self) -> None:
        try:
            at = packages.get("gpt2-bpe") / "package"
        except FetchError as error:
            pytest.skip(str(error))
        self.pairs = ByteLevelBPETokenizer(str(at / "encoder.json"), str(at / "vocab.bpe"))

    def tokenize(self, text: str) -> list[str]:
        return [token.lstrip("Ġ") for token in self.pairs.encode(text).tokens]


def test_it_is_the_reference_packages_over_byte_pairs():
    scorer = RougeScorer(["rougeL"], tokenizer=BytePairs())
    of = metric("rouge-l:cross-lingual")
    for gold, answer in PAIRS:
        assert of.unit((gold,), answer)[0] == pytest.approx(scorer.score(gold, answer)["rougeL"].fmeasure, abs=1e-9)
    assert "variant:cross-lingual" in signature(of)


def test_half_a_character_is_read_as_none():
    BytePairs()
    assert metric("rouge-l:cross-lingual").unit(("绿 tree",), "绿 tree \ud800")[0] == pytest.approx(0.8, abs=0.2)
