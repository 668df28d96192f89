"""Fusion of adapters: as the package `adapters` computes it, over adapters that stay as they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as hf
from safetensors.torch import load_file
from torch import Tensor

from taskloom.models.bottleneck import Bottlenecks, inserted
from taskloom.models.fusion import Fusion, Fusions

torch.set_num_threads(1)

REFERENCE = Path(__file__).parent / "adapters_reference"
NAMES = ("a", "b", "c")


def under(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def reference(family: str) -> tuple[Any, list[Bottlenecks], dict[str, Tensor], dict[str, Tensor]]:
    """A net, three adapters for it, and the tensors of the files."""
    about = json.loads((REFERENCE / f"{family}.json").read_text())
    stored, fused = (load_file(REFERENCE / f"{family}{part}.safetensors") for part in ("", "_fusion"))
    net = getattr(hf, about["class"])(hf.AutoConfig.for_model(**about["config"])).eval()
    net.load_state_dict(under(stored, "net/"))
    adapters = [Bottlenecks(net, reduction=about["reduction"]) for _ in NAMES]
    for name, made in zip(NAMES, adapters, strict=True):
        made.load_state_dict(under(fused, f"adapter/{name}/"))
    return net, adapters, stored, fused


def output(net: Any, inputs: dict[str, Tensor]) -> Tensor:
    found: Tensor = net(**inputs).last_hidden_state
    return found


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_outputs_are_those_of_the_package(family: str):
    net, adapters, stored, fused = reference(family)
    fusion = Fusions(adapters)
    fusion.load_state_dict(under(fused, "fusion/"))
    inputs = under(stored, "input/")
    with torch.no_grad():
        with inserted(fusion.stand):
            found = output(net, inputs)
        torch.testing.assert_close(found, fused["with"], atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(output(net, inputs), stored["without"], atol=1e-5, rtol=1e-4)
    assert float((fused["with"] - stored["without"]).abs().max()) > 0.1


def test_fusion_attends_over_adapters_by_hand():
    fusion = Fusion(2, 0.0, torch.Generator().manual_seed(0))
    with torch.no_grad():
        fusion.query.weight.copy_(torch.eye(2))
        fusion.key.weight.copy_(torch.eye(2))
    hidden = torch.tensor([[[1.0, 0.0]]])
    added = torch.tensor([[[[2.0, 1.0], [0.0, 3.0]]]])  # two adapters: scores 2 and 0
    share = torch.tensor([2.0, 0.0]).softmax(0)
    wanted = share[0] * torch.tensor([2.0, 1.0]) + share[1] * torch.tensor([0.0, 3.0])
    torch.testing.assert_close(fusion(hidden, added)[0, 0], wanted, atol=1e-5, rtol=0)


def test_fusion_trains_itself_and_leaves_adapters_as_they_are():
    net, adapters, stored, _ = reference("bert")
    net.requires_grad_(False)
    for made in adapters:
        made.requires_grad_(False)
    fusion = Fusions(adapters)
    with inserted(fusion.stand):
        output(net, under(stored, "input/")).square().sum().backward()
    assert all(value.grad is not None for value in fusion.parameters())
    assert not [value for made in adapters for value in made.parameters() if value.grad is not None]
    assert {name.split(".")[-2] for name, _ in fusion.named_parameters()} == {"query", "key", "value"}


def test_fusion_of_one_adapter_starts_as_that_adapter():
    net, adapters, stored, _ = reference("bert")
    inputs = under(stored, "input/")
    with torch.no_grad():
        with inserted(Fusions(adapters[:1]).stand):
            alone = output(net, inputs)
        with inserted(adapters[0].stand):
            torch.testing.assert_close(output(net, inputs), alone, atol=1e-3, rtol=0)


def test_dropout_is_that_of_training():
    net, adapters, stored, _ = reference("bert")
    net.config.hidden_dropout_prob = 0.0
    inputs, fusion = under(stored, "input/"), Fusions(adapters, rate=0.5)
    with torch.no_grad(), inserted(fusion.stand):
        calm = [output(net, inputs) for _ in range(2)]
        net.train()
        noisy = [output(net, inputs) for _ in range(2)]
    assert torch.equal(*calm)
    assert not torch.equal(*noisy)
