"""Bottleneck adapters after Pfeiffer et al. (2021): a small layer after every block, the model itself left as it is.

They stand in the model as forward hooks: its modules, their names and its state dict do not change, and removing the
hooks undoes it all. With x the input of a block's feed-forward layer, f its output and A the adapter:

    blocks that normalise before (T5, Llama, GPT-2, ...)   out = x + f + A(x + f)
    blocks that normalise after (BERT, BART, ...)          out = LN(x + f + A(LN(x + f)))

This is `seq_bn` of the package `adapters`; `tests/models/adapters_reference` compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from ..errors import ModelError
from ..messages import Note

SPREAD = 0.02  # standard deviation of what weights start with, as in BERT
# Takes hidden states (batch, tokens, size), and gives what is added to them.
Change: TypeAlias = "Callable[[Tensor], Tensor]"

# What a block ends with, by class: itself, if its output is the sum of x and f, or else the LayerNorm of that sum.
WHOLE = ""
ENDS = {
    **dict.fromkeys(("T5LayerFF", "MT5LayerFF", "UMT5LayerFF", "LongT5LayerFF"), WHOLE),
    **dict.fromkeys(("LlamaDecoderLayer", "MistralDecoderLayer", "Qwen2DecoderLayer", "Qwen3DecoderLayer"), WHOLE),
    **dict.fromkeys(("GemmaDecoderLayer", "Gemma2DecoderLayer", "Gemma3DecoderLayer"), WHOLE),
    **dict.fromkeys(("Phi3DecoderLayer", "SmolLM3DecoderLayer", "GPT2Block", "GPTNeoXLayer"), WHOLE),
    **dict.fromkeys(("PegasusEncoderLayer", "PegasusDecoderLayer", "MBartEncoderLayer", "MBartDecoderLayer"), WHOLE),
    **dict.fromkeys(("M2M100EncoderLayer", "M2M100DecoderLayer", "ModernBertEncoderLayer"), WHOLE),
    **dict.fromkeys(("BertOutput", "RobertaOutput", "XLMRobertaOutput", "CamembertOutput"), "LayerNorm"),
    **dict.fromkeys(("ElectraOutput", "MPNetOutput", "DebertaV2Output"), "LayerNorm"),
    **dict.fromkeys(("BartEncoderLayer", "BartDecoderLayer"), "final_layer_norm"),
    **dict.fromkeys(("MarianEncoderLayer", "MarianDecoderLayer"), "final_layer_norm"),
    "TransformerBlock": "output_layer_norm",  # DistilBERT's
}


@dataclass(frozen=True, slots=True)
class Place:
    """The end of a block, where something may be inserted."""

    name: str  # of the block, within the model without its head
    module: nn.Module  # whose output is changed
    is_norm: bool
    like: Tensor  # (size,), a weight with the type and the device of the block


def places(net: Any) -> list[Place]:
    """Find the end of every block, in the order of the model."""
    found = [_place(name, module) for name, module in net.base_model.named_modules() if type(module).__name__ in ENDS]
    if not found:
        raise ModelError(Note.of("adapters-unsupported", family=net.config.model_type))
    return found


def insert(place: Place, change: Change) -> RemovableHandle:
    """Let what is computed here be changed, until the handle is removed.

    It comes before other hooks, so that transformers records hidden states as the next block sees them. Of several
    changes at a place, the last inserted is the first made.
    """
    return place.module.register_forward_hook(_at_norm(change) if place.is_norm else _at_block(change), prepend=True)


@contextmanager
def inserted(changes: Iterable[tuple[Place, Change]]) -> Iterator[None]:
    """Let what is computed at some places be changed, for the time of a context."""
    handles = [insert(place, change) for place, change in changes]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def drawn_linear(size: int, width: int, draws: torch.Generator) -> nn.Linear:
    """Make a linear layer as BERT starts, made without values: those of Linear come from the global random state."""
    made: nn.Linear = nn.Linear(size, width, device="meta").to_empty(device="cpu")
    nn.init.normal_(made.weight, std=SPREAD, generator=draws)
    nn.init.zeros_(made.bias)
    return made


class Bottleneck(nn.Module):
    """An adapter: hidden states through a narrow layer and back."""

    def __init__(self, size: int, width: int, draws: torch.Generator) -> None:
        super().__init__()
        self.down = drawn_linear(size, width, draws)
        self.up = drawn_linear(width, size, draws)

    def forward(self, hidden: Tensor) -> Tensor:
        """Give what is added to hidden states: (batch, tokens, size) to the same, of the same type."""
        narrow = torch.relu(self.down(hidden.to(self.down.weight.dtype)))  # (batch, tokens, width)
        added: Tensor = self.up(narrow)
        return added.to(hidden.dtype)


class Bottlenecks(nn.Module):
    """Small layers after every block, which are all that is trained; parameters are named by their block.

    Keys and values that were kept before `attach` or `remove` are of another model: forget them.
    """

    def __init__(self, net: Any, *, reduction: int = 16, seed: int = 0) -> None:
        super().__init__()
        draws = torch.Generator().manual_seed(seed)
        self.stand: list[tuple[Place, Bottleneck]] = []  # a plain list, so that the model is no part of this module
        self._handles: list[RemovableHandle] = []
        for place in places(net):
            size = len(place.like)
            made = Bottleneck(size, max(1, size // reduction), draws).to(place.like)
            add_module(self, place.name, made)
            self.stand.append((place, made))

    def attach(self) -> None:
        """Insert the layers into the model; once, however often it is called."""
        if not self._handles:
            self._handles = [insert(place, made) for place, made in self.stand]

    def remove(self) -> None:
        """Leave the model as it was."""
        for handle in self._handles:
            handle.remove()
        self._handles = []


def _place(path: str, module: nn.Module) -> Place:
    ends = ENDS[type(module).__name__]
    norm = module.get_submodule(ends) if ends else _norm(module)
    name = re.sub(r"(?<=\d)\.(layer\.\d+|output)$", "", path)  # of the block, where it ends with one of its parts
    like = norm.weight
    assert isinstance(like, Tensor)
    return Place(name, norm if ends else module, bool(ends), like)


def _norm(block: nn.Module) -> nn.Module:
    """Give a normalisation of a block: its weight is as long as hidden states are."""
    return next(part for part in block.children() if [w.dim() for w in part.parameters(recurse=False)][:1] == [1])


def _at_block(change: Change) -> Callable[[nn.Module, Any, Any], Any]:
    def hook(_: nn.Module, __: Any, output: Any) -> Any:
        if isinstance(output, tuple):
            return (output[0] + change(output[0]), *output[1:])
        return output + change(output)

    return hook


def _at_norm(change: Change) -> Callable[[nn.Module, Any, Any], Any]:
    def hook(norm: nn.Module, given: Any, output: Tensor) -> Tensor:
        changed: Tensor = norm.forward(given[0] + change(output))  # not by a call, which would come here again
        return changed

    return hook


def add_module(tree: nn.Module, path: str, module: nn.Module) -> None:
    """Add a module under a path of names, with what is missing on the way."""
    *way, last = path.split(".")
    for name in way:
        if name not in dict(tree.named_children()):
            tree.add_module(name, nn.Module())
        tree = tree.get_submodule(name)
    tree.add_module(last, module)
