from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as hf
from safetensors.torch import load_file
from torch import Tensor, nn

from taskloom.errors import ModelError
from taskloom.models.bottleneck import ENDS, Bottlenecks, Place, insert, places
from taskloom.models.causal import Causal
from taskloom.models.seq2seq import Seq2Seq

torch.set_num_threads(1)  # tiny models: more threads than workers only get in each other's way
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")  # as DeBERTa's module is loaded

REFERENCE = Path(__file__).parent / "adapters_reference"
WORDS = 61
SIZES: dict[str, Any] = {
    "vocab_size": WORDS, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
    "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 1,
}  # fmt: skip
GROUPED = {**SIZES, "initializer_range": 0.3, "num_key_value_heads": 1, "head_dim": 8}
T5: dict[str, Any] = {
    "vocab_size": WORDS, "d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2,
    "decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1, "dropout_rate": 0.0,
}  # fmt: skip
BART: dict[str, Any] = {
    "vocab_size": WORDS, "d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32, "encoder_attention_heads": 2, "decoder_attention_heads": 2, "max_position_embeddings": 64,
    "init_std": 0.3, "decoder_start_token_id": 2, "pad_token_id": 0, "eos_token_id": 1, "bos_token_id": None,
    "forced_eos_token_id": None, "dropout": 0.0,
}  # fmt: skip
MARIAN = {**BART, "decoder_vocab_size": WORDS}
GPT2: dict[str, Any] = {
    "vocab_size": WORDS, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64, "bos_token_id": 1,
    "eos_token_id": 1, "initializer_range": 0.3, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0,
}  # fmt: skip
DISTILBERT: dict[str, Any] = {
    "vocab_size": WORDS, "dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32, "max_position_embeddings": 64,
}  # fmt: skip
FAMILIES: dict[str, Callable[[], Any]] = {
    "t5": lambda: hf.T5Config(**T5),
    "mt5": lambda: hf.MT5Config(**T5, feed_forward_proj="gated-gelu"),
    "umt5": lambda: hf.UMT5Config(**T5),
    "longt5": lambda: hf.LongT5Config(**T5, local_radius=4),
    "llama": lambda: hf.LlamaConfig(**GROUPED),
    "mistral": lambda: hf.MistralConfig(**GROUPED),
    "qwen2": lambda: hf.Qwen2Config(**GROUPED),
    "qwen3": lambda: hf.Qwen3Config(**GROUPED),
    "gemma": lambda: hf.GemmaConfig(**GROUPED),
    "gemma2": lambda: hf.Gemma2Config(**GROUPED),
    "gemma3_text": lambda: hf.Gemma3TextConfig(**GROUPED),
    "phi3": lambda: hf.Phi3Config(**GROUPED),
    "smollm3": lambda: hf.SmolLM3Config(**GROUPED),
    "gpt2": lambda: hf.GPT2Config(**GPT2),
    "gpt_neox": lambda: hf.GPTNeoXConfig(**SIZES),
    "pegasus": lambda: hf.PegasusConfig(**BART),
    "mbart": lambda: hf.MBartConfig(**BART),
    "m2m_100": lambda: hf.M2M100Config(**BART),
    "modernbert": lambda: hf.ModernBertConfig(**SIZES, cls_token_id=2, sep_token_id=3),
    "bert": lambda: hf.BertConfig(**SIZES),
    "roberta": lambda: hf.RobertaConfig(**SIZES),
    "xlm-roberta": lambda: hf.XLMRobertaConfig(**SIZES),
    "camembert": lambda: hf.CamembertConfig(**SIZES),
    "electra": lambda: hf.ElectraConfig(**SIZES),
    "mpnet": lambda: hf.MPNetConfig(**SIZES),
    "deberta-v2": lambda: hf.DebertaV2Config(**SIZES),
    "distilbert": lambda: hf.DistilBertConfig(**DISTILBERT),
    "bart": lambda: hf.BartConfig(**BART),
    "marian": lambda: hf.MarianConfig(**MARIAN),
}


@cache
def shared(family: str) -> Any:
    torch.manual_seed(0)
    return hf.AutoModel.from_config(FAMILIES[family]()).eval()


def causal(family: str) -> Any:
    torch.manual_seed(0)
    return hf.AutoModelForCausalLM.from_config(FAMILIES[family]()).eval()


def t5() -> Any:
    torch.manual_seed(0)
    return hf.AutoModelForSeq2SeqLM.from_config(FAMILIES["t5"]()).eval()


def some(*shape: int, seed: int = 1) -> Tensor:
    return torch.randint(4, WORDS, shape, generator=torch.Generator().manual_seed(seed))


def output(net: Any, **inputs: Tensor) -> Tensor:
    inputs = inputs or {"input_ids": some(2, 7)}
    if net.config.is_encoder_decoder and "decoder_input_ids" not in inputs:
        inputs["decoder_input_ids"] = some(2, 4, seed=2)
    given = net(**inputs)
    found: Tensor = given.logits if "logits" in given else given.last_hidden_state
    return found


def loss(given: Tensor) -> Tensor:
    """Give something to lessen; a sum of squares would be the same of all that is normalised."""
    return (given * torch.linspace(-1, 2, given.shape[-1])).square().sum()


def strong(net: Any) -> Bottlenecks:
    """Make adapters that matter."""
    made = Bottlenecks(net, reduction=2)
    draws = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for weight in made.parameters():
            weight.normal_(std=0.3, generator=draws)
    return made


def part(stored: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in stored.items() if name.startswith(prefix)}


# --- against the package `adapters` ----------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["t5", "mt5", "bart", "mbart", "bert", "roberta", "gpt2", "llama"])
@torch.inference_mode()
def test_outputs_are_those_of_the_adapters_package(family: str) -> None:
    about, stored = (
        json.loads((REFERENCE / f"{family}.json").read_text(encoding="utf-8")),
        load_file(REFERENCE / f"{family}.safetensors"),
    )
    kind, inputs = getattr(hf, about["class"]), part(stored, "input/")
    net = kind(kind.config_class(**about["config"])).eval()
    net.load_state_dict(part(stored, "net/"), strict=True)
    before = output(net, **inputs)
    torch.testing.assert_close(before, stored["without"], atol=1e-5, rtol=0)
    adapters = Bottlenecks(net, reduction=about["reduction"])
    adapters.load_state_dict(part(stored, "adapter/"), strict=True)
    adapters.attach()
    torch.testing.assert_close(output(net, **inputs), stored["with"], atol=1e-5, rtol=0)
    assert (stored["with"] - stored["without"]).abs().max() > 1
    adapters.remove()
    assert torch.equal(output(net, **inputs), before)


# --- places ----------------------------------------------------------------------------------------------------------


def test_every_class_of_the_table_is_that_of_a_family_tried_here() -> None:
    classes = {type(module).__name__ for family in FAMILIES for module in shared(family).modules()}
    assert ENDS.keys() <= classes


@pytest.mark.parametrize("family", FAMILIES)
def test_every_block_of_every_family_has_an_adapter_that_matters(family: str) -> None:
    net = shared(family)
    before = output(net)
    adapters = strong(net)
    adapters.attach()
    try:
        after = output(net)
        loss(after).backward()
    finally:
        adapters.remove()
    assert len(places(net)) == (4 if net.config.is_encoder_decoder else 2)
    assert (after - before).abs().max() > 0.01
    assert all(weight.grad is not None and weight.grad.abs().max() > 0 for weight in adapters.parameters())
    assert torch.equal(output(net), before)


@pytest.mark.parametrize("family", ["t5", "bert", "llama", "mbart"])
def test_adapters_that_add_nothing_change_nothing(family: str) -> None:
    net = shared(family)
    adapters = strong(net)
    for name, weight in adapters.named_parameters():
        if ".up." in name:
            nn.init.zeros_(weight)
    before = output(net)
    adapters.attach()
    after = output(net)
    adapters.remove()
    assert torch.equal(after, before)


@pytest.mark.parametrize(
    ("family", "names"),
    [
        ("t5", ["encoder.block.0", "encoder.block.1", "decoder.block.0", "decoder.block.1"]),
        ("bart", ["encoder.layers.0", "encoder.layers.1", "decoder.layers.0", "decoder.layers.1"]),
        ("bert", ["encoder.layer.0", "encoder.layer.1"]),
        ("gpt2", ["h.0", "h.1"]),
        ("llama", ["layers.0", "layers.1"]),
    ],
)
def test_places_and_parameters_are_named_by_their_block(family: str, names: list[str]) -> None:
    net = shared(family)
    weights = ("down.weight", "down.bias", "up.weight", "up.bias")
    assert [place.name for place in places(net)] == names
    assert {name for name, _ in Bottlenecks(net).named_parameters()} == {f"{n}.{w}" for n in names for w in weights}


def test_adapters_of_a_model_fit_it_with_another_head() -> None:
    heads = (hf.AutoModel, hf.AutoModelForMaskedLM, hf.AutoModelForSequenceClassification)
    names = [[p.name for p in places(head.from_config(FAMILIES["bert"]()))] for head in heads]
    assert names == [["encoder.layer.0", "encoder.layer.1"]] * 3


def test_a_family_without_known_places_is_refused() -> None:
    sizes = {"vocab_size": WORDS, "hidden_size": 16, "num_hidden_layers": 1, "state_size": 4}
    with pytest.raises(ModelError) as refused:
        Bottlenecks(hf.AutoModelForCausalLM.from_config(hf.MambaConfig(**sizes)))
    assert refused.value.note.code == "adapters-unsupported"
    assert dict(refused.value.note.values) == {"family": "mamba"}


class Block(nn.Module):
    """A block that returns what it is told to."""

    def __init__(self, give: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.give = give

    def forward(self, hidden: Tensor) -> Any:
        return self.give(hidden)


@pytest.mark.parametrize(
    ("give", "rest"), [(lambda hidden: hidden, None), (lambda hidden: (hidden, "kept", 3), ("kept", 3))]
)
def test_a_change_is_added_to_a_tensor_or_to_the_first_of_several(give: Callable[[Tensor], Any], rest: Any) -> None:
    hidden, block = torch.tensor([[[1.0, -2.0]]]), Block(give)
    handle = insert(Place("0", block, is_norm=False, like=hidden), lambda h: 10 * h)
    for times in (11, 1):
        found = block(hidden)
        assert torch.equal(found[0] if rest else found, times * hidden)
        assert not rest or found[1:] == rest
        handle.remove()


def test_what_is_normalised_is_the_sum_with_the_change_of_what_was_normalised() -> None:
    norm = nn.LayerNorm(3)
    nn.init.normal_(norm.weight)
    given = torch.tensor([[[1.0, 2.0, 6.0]]])
    expected = norm(given + 5 * norm(given).square())
    insert(Place("0", norm, is_norm=True, like=norm.weight), lambda z: 5 * z.square())
    torch.testing.assert_close(norm(given), expected)


# --- weights ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "reduction", "count"),
    [
        ("t5", 4, 4 * (16 * 4 + 4 + 4 * 16 + 16)),  # blocks x (down and its bias, up and its bias)
        ("bert", 4, 2 * (16 * 4 + 4 + 4 * 16 + 16)),
        ("bert", 16, 2 * (16 + 1 + 16 + 16)),
        ("bert", 99, 2 * (16 + 1 + 16 + 16)),  # never narrower than 1
    ],
)
def test_the_number_of_parameters(family: str, reduction: int, count: int) -> None:
    assert sum(weight.numel() for weight in Bottlenecks(shared(family), reduction=reduction).parameters()) == count


def test_weights_are_those_of_their_seed_and_leave_the_global_random_state_alone() -> None:
    net = shared("t5")  # the first time, its own weights are drawn
    before = torch.get_rng_state()
    one, same, other = (Bottlenecks(net, reduction=2, seed=seed).state_dict() for seed in (3, 3, 4))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not [name for name in one if name.endswith("weight") and torch.equal(one[name], other[name])]


def test_weights_start_small_and_biases_at_zero() -> None:
    made = dict(Bottlenecks(shared("t5"), reduction=1).named_parameters())
    drawn = torch.cat([weight.detach().flatten() for name, weight in made.items() if name.endswith("weight")])
    assert abs(float(drawn.mean())) < 0.002
    assert float(drawn.std()) == pytest.approx(0.02, rel=0.1)
    assert all(bool((weight == 0).all()) for name, weight in made.items() if name.endswith("bias"))


def test_types_are_those_of_the_block() -> None:
    net = causal("llama").to(torch.bfloat16)
    adapters = Bottlenecks(net)
    assert {weight.dtype for weight in adapters.parameters()} == {torch.bfloat16}
    adapters.attach()
    assert output(net).dtype == torch.bfloat16
    adapters.float()  # more precise than the model, which goes on as it did
    assert output(net).dtype == torch.bfloat16


def test_reduced_precision_on_request_leaves_hidden_states_as_they_were() -> None:
    net = causal("llama")
    adapters = strong(net)
    adapters.attach()
    with torch.autocast("cpu", torch.bfloat16):
        hidden = net.model(input_ids=some(2, 7)).last_hidden_state
        loss(output(net)).backward()
    assert hidden.dtype == torch.float32
    assert all(weight.grad is not None for weight in adapters.parameters())


# --- the model -------------------------------------------------------------------------------------------------------


def test_the_model_keeps_its_modules_and_its_weights() -> None:
    net = t5()
    before = [name for name, _ in net.named_modules()], {name: w.clone() for name, w in net.state_dict().items()}
    adapters = strong(net)
    adapters.attach()
    output(net)
    assert [name for name, _ in net.named_modules()] == before[0]
    assert net.state_dict().keys() == before[1].keys()
    assert all(torch.equal(weight, before[1][name]) for name, weight in net.state_dict().items())
    assert not [name for name, _ in adapters.named_modules() if "layer_norm" in name]
    adapters.remove()
    assert not [module for module in net.modules() if module._forward_hooks]


def test_attaching_twice_is_attaching_once() -> None:
    net = t5()
    adapters = strong(net)
    adapters.attach()
    once = output(net)
    adapters.attach()
    assert torch.equal(output(net), once)
    adapters.remove()
    adapters.remove()
    assert not torch.equal(output(net), once)
    adapters.attach()
    assert torch.equal(output(net), once)


@pytest.mark.parametrize("family", ["llama", "bert"])
def test_hidden_states_are_recorded_as_the_next_block_sees_them(family: str) -> None:
    torch.manual_seed(0)
    net = hf.AutoModel.from_config(FAMILIES[family]()).eval()
    net(some(2, 7), output_hidden_states=True)  # from now on transformers has hooks of its own
    adapters = strong(net)
    adapters.attach()
    seen: list[Tensor] = []
    blocks = net.layers if family == "llama" else net.encoder.layer
    blocks[1].register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    recorded = net(some(2, 7), output_hidden_states=True).hidden_states
    assert torch.equal(recorded[1], seen[0])


def test_only_adapters_get_gradients_where_the_model_is_frozen() -> None:
    net = t5().requires_grad_(False)
    adapters = strong(net)
    adapters.attach()
    loss(output(net)).backward()
    assert all(weight.grad is not None and weight.grad.abs().max() > 0 for weight in adapters.parameters())
    assert not [name for name, weight in net.named_parameters() if weight.grad is not None]


@pytest.mark.parametrize("family", ["t5", "bart", "bert", "gpt2", "llama"])
def test_gradients_are_the_same_with_checkpointing(family: str) -> None:
    torch.manual_seed(0)
    config = FAMILIES[family]()
    for name in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
        if hasattr(config, name):
            setattr(config, name, 0.0)
    net = hf.AutoModel.from_config(config).train().requires_grad_(False)
    found: list[list[Tensor]] = []
    for checkpointed in (False, True):
        if checkpointed:
            net.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        adapters = strong(net)
        adapters.attach()
        loss(output(net)).backward()
        adapters.remove()
        found.append([weight.grad for weight in adapters.parameters() if weight.grad is not None])
    assert len(found[0]) == len(found[1]) == 4 * len(places(net))
    torch.testing.assert_close(found[0], found[1])


# --- engines ---------------------------------------------------------------------------------------------------------


def naive_score(net: Any, context: Sequence[int], option: Sequence[int]) -> float:
    with torch.inference_mode():
        logs = net(torch.tensor([[*context, *option]]), use_cache=False).logits[0].log_softmax(-1)
    return sum(float(logs[len(context) - 1 + place, token]) for place, token in enumerate(option))


def greedy(rows: list[list[int]]) -> Callable[[Sequence[int], Tensor], tuple[Tensor, list[int]]]:
    def step(numbers: Sequence[int], logits: Tensor) -> tuple[Tensor, list[int]]:
        chosen = logits.argmax(-1)
        for row, token in zip(numbers, chosen.tolist(), strict=True):
            rows[row].append(token)
        return chosen, list(range(len(numbers)))

    return step


BEGINNING = some(12, seed=3).tolist()
PROMPTS = [[*BEGINNING, 5, 6], [*BEGINNING, 7], BEGINNING, some(4, seed=4).tolist()]
OPTIONS = [[8, 9, 10], [8, 11], [12]]


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_prompts_that_share_a_beginning_are_scored_as_one_by_one(family: str) -> None:
    net = causal(family)
    engine, adapters = Causal(net, 0), strong(net)
    asked = [(prompt, OPTIONS) for prompt in PROMPTS]
    plain, _ = engine.score(asked)
    adapters.attach()
    engine.forget()
    found, _ = engine.score(asked)
    assert engine.can_share
    for prompt, logs in zip(PROMPTS, found, strict=True):
        assert logs == pytest.approx([naive_score(net, prompt, option) for option in OPTIONS], abs=1e-4)
    assert abs(found[0][0] - plain[0][0]) > 0.05
    adapters.remove()
    engine.forget()
    assert engine.score(asked)[0] == plain


def test_a_causal_model_writes_as_without_a_cache() -> None:
    net = causal("llama")
    strong(net).attach()
    written: list[list[int]] = [[] for _ in PROMPTS]
    Causal(net, 0).generate(PROMPTS, 5, greedy(written))
    for prompt, row in zip(PROMPTS, written, strict=True):
        assert [int(output(net, input_ids=torch.tensor([prompt + row[:n]]))[0, -1].argmax()) for n in range(5)] == row


def test_a_text_to_text_model_writes_as_without_a_cache() -> None:
    net = t5()
    strong(net).attach()
    written: list[list[int]] = [[] for _ in PROMPTS]
    Seq2Seq(net, 0).generate(PROMPTS, 5, greedy(written))
    for prompt, row in zip(PROMPTS, written, strict=True):
        for n in range(5):
            inputs = {"input_ids": torch.tensor([prompt]), "decoder_input_ids": torch.tensor([[0, *row[:n]]])}
            assert int(output(net, **inputs)[0, -1].argmax()) == row[n]


@pytest.mark.parametrize("family", ["llama", "bert", "t5"])
def test_adapters_can_be_trained_after_use_without_gradients(family: str) -> None:
    net = shared(family)
    adapters = strong(net)
    adapters.attach()
    try:
        with torch.inference_mode():
            asked = output(net)
        trained = output(net)
        loss(trained).backward()
    finally:
        adapters.remove()
    torch.testing.assert_close(asked.clone(), trained)
    assert all(weight.grad is not None for weight in adapters.parameters())
