"""Projected attention layers: as Stickland and Murray (2019) write them, worked out step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
import transformers as hf
from torch import Tensor
from torch.nn.functional import gelu

from taskloom.errors import ModelError
from taskloom.models.pals import Pals, attending
from taskloom.models.telling import Telling

if TYPE_CHECKING:
    from ..conftest import Refused

torch.set_num_threads(1)

HOW = Telling(tell="pals", pal_size=6, pal_heads=2)
TOKENS = torch.tensor([[2, 5, 6, 7, 3], [2, 8, 3, 0, 0]])
MASK = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
SIZES: dict[str, Any] = {"hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 2, "num_attention_heads": 2}


def bert(kind: Any = hf.BertModel, config: Any = hf.BertConfig, **more: Any) -> Any:
    torch.manual_seed(0)
    return kind(config(vocab_size=20, max_position_embeddings=16, **{**SIZES, **more})).eval()


@torch.no_grad()
def strong(net: Any) -> Pals:
    made, draws = Pals(net, HOW), torch.Generator().manual_seed(1)
    for value in made.parameters():
        value.normal_(std=0.5, generator=draws)
    return made


def by_hand(pals: Pals, block: int, given: Tensor, mask: Tensor) -> Tensor:
    """One head and one token at a time: (tokens, width) of a text, of which some tokens are padding."""
    attention: Any = pals.get_submodule(f"encoder.layer.{block}")
    narrow = given @ pals.encode.weight.T + pals.encode.bias  # (tokens, 6)
    made = torch.zeros_like(narrow)
    for head in (slice(0, 3), slice(3, 6)):
        parts = (attention.query, attention.key, attention.value)
        query, key, value = ((narrow @ layer.weight.T + layer.bias)[:, head] for layer in parts)
        for token in range(len(given)):
            scores = key[mask.bool()] @ query[token] / 3**0.5
            made[token, head] = scores.softmax(0) @ value[mask.bool()]
    return gelu(made @ pals.decode.weight.T + pals.decode.bias)


@torch.no_grad()
def test_outputs_are_those_worked_out_by_hand():
    net = bert()
    pals = strong(net)
    with attending(net, pals):
        found = net(input_ids=TOKENS, attention_mask=MASK).last_hidden_state
    for row in range(2):
        real = MASK[row].bool()
        hidden = net.embeddings(TOKENS[row : row + 1, real])[0]
        for number, block in enumerate(net.encoder.layer):
            extra = by_hand(pals, number, hidden, torch.ones(len(hidden)))
            attended = block.attention(hidden[None])[0]
            forward = block.output.dense(block.intermediate(attended))
            hidden = block.output.LayerNorm(forward + attended + extra)[0]
        torch.testing.assert_close(found[row, real], hidden, atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_the_net_is_as_it_was_when_the_context_has_ended():
    net = bert()
    before = net(input_ids=TOKENS, attention_mask=MASK).last_hidden_state
    with attending(net, strong(net)):
        assert not torch.allclose(net(input_ids=TOKENS, attention_mask=MASK).last_hidden_state, before, atol=1e-2)
    assert torch.equal(net(input_ids=TOKENS, attention_mask=MASK).last_hidden_state, before)


@torch.no_grad()
@pytest.mark.parametrize(
    ("kind", "config", "sizes"),
    [
        (hf.RobertaModel, hf.RobertaConfig, {}),
        (hf.MPNetModel, hf.MPNetConfig, {}),
        (hf.DistilBertModel, hf.DistilBertConfig, {"dim": 8, "hidden_dim": 12, "n_layers": 2, "n_heads": 2}),
    ],
)
def test_other_families_are_changed_in_every_block_and_padding_does_not_matter(kind: Any, config: Any, sizes: Any):
    net = bert(kind, config, **sizes)
    pals = strong(net)
    assert len(pals.stand) == 2
    with attending(net, pals):
        found = net(input_ids=TOKENS, attention_mask=MASK).last_hidden_state
        alone = net(input_ids=TOKENS[1:, :3], attention_mask=MASK[1:, :3]).last_hidden_state
    torch.testing.assert_close(found[1, :3], alone[0], atol=1e-5, rtol=1e-4)
    assert not torch.allclose(found, net(input_ids=TOKENS, attention_mask=MASK).last_hidden_state, atol=1e-2)


def test_projections_are_shared_by_all_blocks_and_sizes_are_as_published():
    pals = Pals(bert(), HOW)
    named = {name: tuple(value.shape) for name, value in pals.named_parameters()}
    assert [name for name in named if name.startswith(("encode.", "decode."))] == [
        "encode.weight", "encode.bias", "decode.weight", "decode.bias",
    ]  # fmt: skip
    assert named["encoder.layer.1.key.weight"] == (6, 6)
    base = sum(value.numel() for value in Pals(bert(hidden_size=768, num_attention_heads=12), Telling()).parameters())
    per_block = 3 * (204 * 204 + 204)
    assert base == 2 * per_block + (768 * 204 + 204) + (204 * 768 + 768)  # with 12 blocks 1.8 million


def test_a_family_that_normalises_before_its_blocks_is_refused(refused: Refused):
    net = hf.LlamaModel(hf.LlamaConfig(vocab_size=20, num_key_value_heads=1, **SIZES))
    with refused(ModelError, "pals-unsupported", family="llama"):
        Pals(net, HOW)
