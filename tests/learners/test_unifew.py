"""UniFew on models of both kinds: an encoder-decoder and a causal one learn to write a choice, and are read."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers as hf
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from taskloom.core import Example, Item, Labels, Task
from taskloom.learners import Response
from taskloom.learners.in_context import InContext
from taskloom.learners.toolbox import Toolbox
from taskloom.learners.tune import Tune
from taskloom.models.lm import LM

torch.set_num_threads(1)  # tiny models: more threads than workers only get in each other's way

SAME = Task(id="same", instruction="", output=Labels(("equivalent", "not_equivalent")), metrics=())
PAIRS = [("up", "up", "equivalent"), ("up", "on", "not_equivalent"), ("on", "on", "equivalent")]
SUPPORT = [
    Example(Item(f"{n}", {"text1": one, "text2": other}), (label,), f"{n}")
    for n, (one, other, label) in enumerate(PAIRS)
]
WORDS = ["<pad>", "</s>", "<unk>", "up", "on", "Is", "up?", "on?", "(A)", "(B)", "Yes", "No"]
T5: dict[str, Any] = {
    "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 1, "num_heads": 4, "decoder_start_token_id": 0,
    "pad_token_id": 0, "eos_token_id": 1, "dropout_rate": 0.0, "vocab_size": len(WORDS),
}  # fmt: skip
LLAMA: dict[str, Any] = {
    "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4, "eos_token_id": 1,
    "max_position_embeddings": 256, "bos_token_id": None, "pad_token_id": 0, "initializer_range": 0.3,
    "vocab_size": len(WORDS),
}  # fmt: skip


def model(kind: str) -> LM:
    """A tiny model of random weights, whose tokens are words."""
    words = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if kind == "t5":
        words.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    named = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    tokenizer = hf.PreTrainedTokenizerFast(tokenizer_object=words, model_max_length=256, **named)
    torch.manual_seed(0)
    nets = {"t5": lambda: hf.T5ForConditionalGeneration(hf.T5Config(**T5)),
            "llama": lambda: hf.LlamaForCausalLM(hf.LlamaConfig(**LLAMA))}  # fmt: skip
    return LM(nets[kind](), tokenizer)


@pytest.mark.parametrize("kind", ["t5", "llama"])
def test_a_model_is_tuned_on_the_support_and_asked_in_every_way(kind: str) -> None:
    lm = model(kind)
    for answers in ("score", "choose", "generate"):
        tools = Toolbox({}, lambda _: lm)
        how = Tune(model="x", template="choices", answers=answers, lr=1e-2, steps=30, longest=8)
        predictor = how.fit(SAME, SUPPORT, (), seed=0, tools=tools)
        found = predictor.predict([example.item for example in SUPPORT])
        assert [one.answer for one in found] == [label for *_, label in PAIRS]  # type: ignore[union-attr]
        assert found[0].prompt == "up Is up?\n (A) Yes (B) No\n"  # type: ignore[union-attr]
        tools.held.close()


@pytest.mark.parametrize("kind", ["t5", "llama"])
@pytest.mark.parametrize("support", [(), SUPPORT], ids=["zero-shot", "few-shot"])
def test_a_model_is_asked_in_context_with_or_without_examples(kind: str, support: Any) -> None:
    tools = Toolbox({}, lambda _: lm)
    lm = model(kind)
    for answers in ("score", "generate"):
        how = InContext(model="x", template="choices", answers=answers, tokens=4)
        (found,) = how.fit(SAME, support, (), seed=0, tools=tools).predict([SUPPORT[0].item])
        assert isinstance(found, Response)
        assert found.answer in ("equivalent", "not_equivalent", *((None,) if answers == "generate" else ()))
        assert (found.raw is None) == (answers == "score")
