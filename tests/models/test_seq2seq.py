from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import pytest
import torch
import transformers as hf

from taskloom.models import seq2seq
from taskloom.models.seq2seq import Seq2Seq

torch.set_num_threads(1)  # tiny models: more threads than workers only get in each other's way

WORDS = 61
T5: dict[str, Any] = {
    "vocab_size": WORDS, "d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2,
    "decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": None, "initializer_factor": 1.0,
}  # fmt: skip
BART: dict[str, Any] = {
    "vocab_size": WORDS, "d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32, "encoder_attention_heads": 2, "decoder_attention_heads": 2, "max_position_embeddings": 64,
    "init_std": 0.5, "decoder_start_token_id": 2, "pad_token_id": 1, "eos_token_id": None, "bos_token_id": None,
    "forced_eos_token_id": None,
}  # fmt: skip
FAMILIES: dict[str, Callable[[], Any]] = {
    "t5": lambda: hf.T5Config(**T5),
    "mt5": lambda: hf.MT5Config(**T5, tie_word_embeddings=False, feed_forward_proj="gated-gelu"),
    "bart": lambda: hf.BartConfig(**BART),
}


@cache
def tiny(family: str) -> Any:
    torch.manual_seed(0)
    return hf.AutoModelForSeq2SeqLM.from_config(FAMILIES[family]()).eval()


def engine(family: str) -> Seq2Seq:
    net = tiny(family)
    return Seq2Seq(net, net.config.pad_token_id)


def some(size: int, seed: int) -> list[int]:
    found: list[int] = torch.randint(4, WORDS, (size,), generator=torch.Generator().manual_seed(seed)).tolist()
    return found


PROMPTS = [some(9, 1), some(3, 2), [5], some(14, 3), some(3, 2), some(9, 4)]
OPTIONS = [some(3, 5), some(1, 6), some(5, 7), some(3, 5)]


def naive_score(net: Any, prompt: Sequence[int], option: Sequence[int]) -> float:
    given = torch.tensor([[net.config.decoder_start_token_id, *option[:-1]]])
    with torch.inference_mode():
        logs = net(input_ids=torch.tensor([list(prompt)]), decoder_input_ids=given).logits[0].log_softmax(-1)
    return sum(float(logs[place, token]) for place, token in enumerate(option))


def naive_generate(net: Any, prompt: Sequence[int], limit: int) -> list[int]:
    ids = torch.tensor([list(prompt)])
    made = net.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, num_beams=1, max_new_tokens=limit)
    found: list[int] = made[0, 1:].tolist()
    return found


def generate(family: str, limit: int, ends: Sequence[int] = ()) -> list[list[int]]:
    written: list[list[int]] = [[] for _ in PROMPTS]

    def step(rows: Sequence[int], logits: torch.Tensor) -> tuple[torch.Tensor, list[int]]:
        chosen = logits.argmax(-1)
        for row, token in zip(rows, chosen.tolist(), strict=True):
            written[row].append(token)
        return chosen, [place for place, token in enumerate(chosen.tolist()) if token not in ends]

    engine(family).generate(PROMPTS, limit, step)
    return written


def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seq2seq, "TOKENS", 20)
    monkeypatch.setattr(seq2seq, "ROWS", 3)


@pytest.mark.parametrize("small", [False, True], ids=["one batch", "small batches"])
@pytest.mark.parametrize("family", FAMILIES)
def test_options_are_scored_as_one_by_one(family: str, small: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if small:
        small_batches(monkeypatch)
    found, _ = engine(family).score([(prompt, OPTIONS) for prompt in PROMPTS])
    for prompt, logs in zip(PROMPTS, found, strict=True):
        assert logs == pytest.approx([naive_score(tiny(family), prompt, option) for option in OPTIONS], abs=1e-4)


@pytest.mark.parametrize("small", [False, True], ids=["one batch", "small batches"])
@pytest.mark.parametrize("family", FAMILIES)
def test_answers_are_written_as_one_by_one(family: str, small: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if small:
        small_batches(monkeypatch)
    assert generate(family, 8) == [naive_generate(tiny(family), prompt, 8) for prompt in PROMPTS]


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_that_end_early_leave_the_others_as_they_were(family: str) -> None:
    whole = [naive_generate(tiny(family), prompt, 8) for prompt in PROMPTS]
    ends = [whole[0][2]]
    until = [next((n for n, token in enumerate(row) if token in ends), 7) + 1 for row in whole]
    assert generate(family, 8, ends) == [row[:size] for row, size in zip(whole, until, strict=True)]


def test_prompts_may_have_different_options() -> None:
    asked = [(PROMPTS[0], OPTIONS[:1]), (PROMPTS[1], OPTIONS[1:3])]
    found, computed = engine("t5").score(asked)
    assert [len(logs) for logs in found] == [1, 2]
    assert found[1][1] == pytest.approx(naive_score(tiny("t5"), PROMPTS[1], OPTIONS[2]), abs=1e-4)
    assert computed == 2 * 9 + 3 + 1 + 5  # prompts with their padding, and options
