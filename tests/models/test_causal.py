from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import pytest
import torch
import transformers as hf

from taskloom.models import causal
from taskloom.models.causal import ROOT, Causal, Forest, common_prefix

torch.set_num_threads(1)  # tiny models: more threads than workers only get in each other's way

WORDS = 97
NO_ENDS: dict[str, Any] = {"eos_token_id": None, "bos_token_id": None, "pad_token_id": 0}
SIZES: dict[str, Any] = {"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 32, "vocab_size": WORDS}
WIDE: dict[str, Any] = {"initializer_range": 0.5, "intermediate_size": 48, "max_position_embeddings": 128}
USUAL = {**NO_ENDS, **SIZES, **WIDE}
GROUPED = {**USUAL, "num_key_value_heads": 2}
OLD = {**NO_ENDS, "vocab_size": WORDS, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 128}
FULL = ["full_attention"] * 2

SHARING: dict[str, Callable[[], Any]] = {
    "llama": lambda: hf.LlamaConfig(**GROUPED),
    "gpt2": lambda: hf.GPT2Config(**OLD, initializer_range=0.5),
    "opt": lambda: hf.OPTConfig(**USUAL, ffn_dim=48, word_embed_proj_dim=32, init_std=0.5),
    "gpt_neox": lambda: hf.GPTNeoXConfig(**USUAL),
    "qwen2": lambda: hf.Qwen2Config(**GROUPED),
    "mistral": lambda: hf.MistralConfig(**GROUPED, sliding_window=None),
    "mixtral": lambda: hf.MixtralConfig(**GROUPED, num_local_experts=4),
    "gemma3 without windows": lambda: hf.Gemma3TextConfig(**GROUPED, head_dim=8, layer_types=FULL),
    "falcon": lambda: hf.FalconConfig(**NO_ENDS, **SIZES, initializer_range=0.5),
    "gptj": lambda: hf.GPTJConfig(**OLD, rotary_dim=4, initializer_range=0.5),
}
ALONE: dict[str, Callable[[], Any]] = {
    "mistral with a window": lambda: hf.MistralConfig(**GROUPED, sliding_window=5),
    "gemma2": lambda: hf.Gemma2Config(**GROUPED, head_dim=8, sliding_window=5),
    "gemma3": lambda: hf.Gemma3TextConfig(**GROUPED, head_dim=8, sliding_window=5),
    "gpt_neo": lambda: hf.GPTNeoConfig(
        **NO_ENDS, vocab_size=WORDS, hidden_size=32, num_layers=2, num_heads=4, max_position_embeddings=128,
        attention_types=[[["global", "local"], 1]], window_size=5, initializer_range=0.5,
    ),
    "bloom": lambda: hf.BloomConfig(**NO_ENDS, vocab_size=WORDS, hidden_size=32, n_layer=2, n_head=4),
    "falcon with alibi": lambda: hf.FalconConfig(**NO_ENDS, **SIZES, initializer_range=0.5, alibi=True),
    "bart's decoder": lambda: hf.BartConfig(
        **NO_ENDS, vocab_size=WORDS, d_model=32, decoder_layers=2, decoder_ffn_dim=48, decoder_attention_heads=4,
        max_position_embeddings=128, init_std=0.5, is_decoder=True, is_encoder_decoder=False, forced_eos_token_id=None,
    ),
    "mamba": lambda: hf.MambaConfig(
        **NO_ENDS, vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, state_size=4, initializer_range=0.5
    ),
    "recurrent_gemma": lambda: hf.RecurrentGemmaConfig(
        **USUAL, num_key_value_heads=1, lru_width=32, attention_window_size=5, block_types=["recurrent", "attention"]
    ),
}  # fmt: skip
FAMILIES = SHARING | ALONE


def stretching() -> Any:
    """A model that was made for 16 positions, and turns all of them otherwise when it sees more."""
    rope = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0}
    torch.manual_seed(0)
    config = hf.LlamaConfig(**{**GROUPED, "max_position_embeddings": 16}, rope_parameters=rope)
    return hf.AutoModelForCausalLM.from_config(config).eval()


@cache
def tiny(family: str) -> Any:
    torch.manual_seed(0)
    return hf.AutoModelForCausalLM.from_config(FAMILIES[family]()).eval()


def some(size: int, seed: int) -> list[int]:
    found: list[int] = torch.randint(4, WORDS, (size,), generator=torch.Generator().manual_seed(seed)).tolist()
    return found


LONG = some(20, seed=1)
PROMPTS = {
    "a long shared beginning": [[*LONG, *some(n, n)] for n in (1, 4, 7, 12)],
    "no shared beginning": [some(n, 100 + n) for n in (9, 3, 15)],
    "prefixes of each other": [LONG[:9], LONG, LONG[:3], [*LONG, 5, 6]],
    "equal prompts": [LONG, LONG, LONG],
    "a single prompt": [LONG],
    "one token each": [[5], [6], [5]],
    "one token and more": [[5], [5, 6, 7], [6]],
}
MIXED = [[*LONG, 5], LONG[:9], [*LONG, *some(7, 7)], some(3, 8), LONG, LONG, [5]]
START = some(3, seed=5)
OPTIONS = [START, [*START[:2], *some(2, 9)], START[:1], some(1, 7), START]


def naive_score(net: Any, context: Sequence[int], option: Sequence[int]) -> float:
    with torch.inference_mode():
        logs = net(torch.tensor([[*context, *option]]), use_cache=False).logits[0].log_softmax(-1)
    return sum(float(logs[len(context) - 1 + place, token]) for place, token in enumerate(option))


def naive_generate(net: Any, prompt: Sequence[int], limit: int) -> list[int]:
    ids = torch.tensor([list(prompt)])
    made = net.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=limit)
    found: list[int] = made[0, len(prompt) :].tolist()
    return found


def generate(
    engine: Causal, prompts: Sequence[Sequence[int]], limit: int, ends: Sequence[int] = ()
) -> tuple[list[list[int]], int]:
    written: list[list[int]] = [[] for _ in prompts]

    def step(rows: Sequence[int], logits: torch.Tensor) -> tuple[torch.Tensor, list[int]]:
        chosen = logits.argmax(-1)
        for row, token in zip(rows, chosen.tolist(), strict=True):
            written[row].append(token)
        return chosen, [place for place, token in enumerate(chosen.tolist()) if token not in ends]

    return written, engine.generate(prompts, limit, step)


def assert_scored_as_one_by_one(family: str, prompts: Sequence[Sequence[int]]) -> None:
    net = tiny(family)
    found, _ = Causal(net, 0).score([(prompt, OPTIONS) for prompt in prompts])
    for prompt, logs in zip(prompts, found, strict=True):
        assert logs == pytest.approx([naive_score(net, prompt, option) for option in OPTIONS], abs=1e-4)


def assert_written_as_one_by_one(family: str, prompts: Sequence[Sequence[int]], limit: int = 4) -> None:
    net = tiny(family)
    assert generate(Causal(net, 0), prompts, limit)[0] == [naive_generate(net, prompt, limit) for prompt in prompts]


def test_a_forest_keeps_each_beginning_once() -> None:
    forest = Forest()
    assert [forest.add([1, 2, 3]), forest.add([1, 2]), forest.add([1, 4]), forest.add([4])] == [2, 1, 3, 4]
    assert (forest.tokens, forest.parents) == ([1, 2, 3, 4, 4], [ROOT, 0, 1, 0, ROOT])
    assert forest.depths() == [0, 1, 2, 1, 0]
    assert forest.sees().astype(int).tolist() == [
        [1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [1, 0, 0, 1, 0], [0, 0, 0, 0, 1],
    ]  # fmt: skip


def test_a_forest_of_one_text_is_a_chain() -> None:
    forest = Forest()
    forest.add([1, 2, 3])
    assert forest.is_chain
    forest.add([1, 5])
    assert not forest.is_chain


def test_the_last_token_of_an_option_is_foretold_but_not_read() -> None:
    forest = Forest()
    at = forest.add([1, 2])
    assert forest.ways([7, 8], at) == [(1, 7), (2, 8)]
    assert forest.ways([7, 9], at) == [(1, 7), (2, 9)]
    assert forest.ways([6], at) == [(1, 6)]
    assert forest.tokens == [1, 2, 7]


@pytest.mark.parametrize(
    ("rows", "size"),
    [([], 0), ([[]], 0), ([[1, 2]], 2), ([[1, 2], [1]], 1), ([[2], [1]], 0), ([[1, 2], [1, 2]], 2), ([[1], []], 0)],
)
def test_the_common_prefix_is_as_long_as_all_agree(rows: list[list[int]], size: int) -> None:
    assert common_prefix(rows) == size


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_scores_as_one_by_one(family: str) -> None:
    assert_scored_as_one_by_one(family, MIXED)
    assert_scored_as_one_by_one(family, PROMPTS["a long shared beginning"])


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_writes_as_one_by_one(family: str) -> None:
    assert_written_as_one_by_one(family, MIXED)
    assert_written_as_one_by_one(family, PROMPTS["a long shared beginning"])


@pytest.mark.parametrize("case", PROMPTS)
@pytest.mark.parametrize("family", ["llama", "mistral with a window"])
def test_prompts_of_every_shape_are_read_as_one_by_one(family: str, case: str) -> None:
    assert_scored_as_one_by_one(family, PROMPTS[case])
    assert_written_as_one_by_one(family, PROMPTS[case])


@pytest.mark.parametrize("family", FAMILIES)
def test_it_is_known_which_families_can_share(family: str) -> None:
    assert Causal(tiny(family), 0).can_share == (family in SHARING)


def test_a_model_of_half_precision_shares_too() -> None:
    torch.manual_seed(0)
    net = hf.AutoModelForCausalLM.from_config(hf.LlamaConfig(**GROUPED)).eval().to(torch.bfloat16)
    assert Causal(net, 0).can_share


def test_a_long_prompt_does_not_stretch_the_positions_of_a_short_one() -> None:
    net, short = stretching(), LONG[:5]
    engine = Causal(net, 0)
    alone = naive_score(net, short, [7, 8])
    assert not engine.can_share
    assert engine.score([(LONG, [[7]]), (short, [[7, 8]])])[0][1] == pytest.approx([alone], abs=1e-4)


@pytest.mark.parametrize(("chunk", "rows", "keys"), [(5, 2, 9999), (1, 3, 9999), (30, 99, 25), (512, 99, 1)])
def test_chunks_and_groups_change_nothing(monkeypatch: pytest.MonkeyPatch, chunk: int, rows: int, keys: int) -> None:
    monkeypatch.setattr(causal, "CHUNK", chunk)
    monkeypatch.setattr(causal, "ROWS", rows)
    monkeypatch.setattr(causal, "KEYS", keys)
    for prompts in (MIXED, PROMPTS["a long shared beginning"]):
        assert_scored_as_one_by_one("llama", prompts)
        assert_written_as_one_by_one("llama", prompts)


@pytest.mark.parametrize("family", ["llama", "gpt2", "mamba", "bloom", "recurrent_gemma"])
def test_rows_that_end_early_leave_the_others_as_they_were(family: str) -> None:
    whole = [naive_generate(tiny(family), prompt, 6) for prompt in MIXED]
    ends = {whole[0][2], whole[3][0], whole[6][1]}
    until = [next((n for n, token in enumerate(row) if token in ends), 5) + 1 for row in whole]
    assert min(until) < max(until)
    found, _ = generate(Causal(tiny(family), 0), MIXED, 6, sorted(ends))
    assert found == [row[:size] for row, size in zip(whole, until, strict=True)]


def test_a_limit_of_one_token_writes_one() -> None:
    assert [len(row) for row in generate(Causal(tiny("llama"), 0), MIXED, 1)[0]] == [1] * len(MIXED)


def test_what_is_shared_is_computed_once_and_kept_for_the_next_call() -> None:
    engine = Causal(tiny("llama"), 0)
    asked = [([*LONG, 5, 6], [[7, 8], [9]]), ([*LONG, 7], [[8]])]
    logs, computed = engine.score(asked)
    assert computed == 20 + 3 + 1  # the beginning, 5 6 7, and 7
    again, computed = engine.score(asked)
    assert computed == 4
    assert again[0] == pytest.approx(logs[0], abs=1e-5)
    assert generate(engine, [[*LONG, 5], [*LONG, 6, 7]], 3)[1] == 3 + 2 * 2  # a token that is written last is not read


def test_a_beginning_that_was_kept_is_not_taken_for_another() -> None:
    engine = Causal(tiny("llama"), 0)
    for beginning in (LONG, LONG[:7], [*LONG[:7], 5, 6, 7], some(9, 3), [*some(9, 3), 8], LONG):
        prompts = [[*beginning, 5], [*beginning, 6, 7]]
        asked = [(prompt, OPTIONS) for prompt in prompts]
        found, _ = engine.score(asked)
        assert found == Causal(engine.net, 0).score(asked)[0]  # whatever was asked before, to the last bit
        for prompt, logs in zip(prompts, found, strict=True):
            assert logs == pytest.approx([naive_score(engine.net, prompt, o) for o in OPTIONS], abs=1e-4)
        assert generate(engine, prompts, 4)[0] == [naive_generate(engine.net, prompt, 4) for prompt in prompts]
