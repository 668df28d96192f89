"""What of a net is trained: all weights, LoRA, a soft prompt, adapters, or nothing. Each can be removed again.

An adaptation is attached to a net in place: the net keeps its modules and their names, and all that uses it, scoring
with shared beginnings among them, works as before.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import Parameter

from ..errors import ModelError
from ..ids import canonical
from ..limits import parse_json
from ..messages import Note
from .bottleneck import Bottlenecks
from .new import drawn_from
from .recipe import Recipe, recipe_of

CHANGED = "changed.safetensors"  # in the folder of a trained model
SAMPLED = 1000  # words whose spread is that of a soft prompt that starts at random
LORA = "default"  # the name of what peft adds


class Adaptation(Protocol):
    """What was attached to a net."""

    parameters: Mapping[str, Parameter]  # that are trained
    virtual: tuple[int, ...]  # ids of the tokens that stand before every text

    def remove(self) -> None:
        """Make the net what it was before."""

    def settle(self) -> None:
        """Leave it in the net for good, where more can be attached to it."""


def attach(net: Any, how: Recipe, *, seed: int, words: Sequence[int] = (), restore: bool = True) -> Adaptation:
    """Attach what a recipe trains; a soft prompt can start from words, given as token ids.

    Without `restore`, nothing is kept for the sake of removing it again.
    """
    match how.what:
        case "lora":
            return Lora(net, how, seed)
        case "prompt":
            return SoftPrompt(net, how.virtual, seed, words if how.start == "words" else ())
        case "adapters":
            return Adapters(net, how.reduction, seed)
        case "none":
            return AllWeights(net, {})
    return AllWeights(net, dict(net.named_parameters()), restore=restore)


class AllWeights:
    """The weights themselves; those that are trained are put back when it is removed."""

    virtual: tuple[int, ...] = ()

    def __init__(self, net: Any, parameters: Mapping[str, Parameter], *, restore: bool = True) -> None:
        self.parameters = parameters
        self.before = {name: value.detach().clone() for name, value in parameters.items()} if restore else {}
        self.net = net

    @torch.no_grad()
    def remove(self) -> None:
        """Put the weights back."""
        for name, value in self.before.items():
            self.parameters[name].copy_(value)

    def settle(self) -> None:
        """Keep them."""
        self.before = {}


class Lora:
    """Low-rank additions to the projections of attention (Hu et al., 2021), by peft."""

    virtual: tuple[int, ...] = ()

    def __init__(self, net: Any, how: Recipe, seed: int) -> None:
        from peft import LoraConfig
        from peft.tuners.lora import LoraModel

        self.net = net
        with drawn_from(seed), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of layers that are stored transposed, which peft sees to
            made: dict[str, Any] = {"r": how.rank, "lora_alpha": how.alpha}
            try:
                self.tuner: Any = LoraModel(net, LoraConfig(**made), LORA)
            except ValueError:  # a family that peft has no usual places for
                self.tuner = LoraModel(net, LoraConfig(**made, target_modules="all-linear"), LORA)
        self.parameters: Mapping[str, Parameter] = {n: p for n, p in net.named_parameters() if ".lora_" in n}

    def remove(self) -> None:
        """Take the additions out."""
        self.tuner.unload()

    def settle(self) -> None:
        """Add them to the weights."""
        self.tuner.merge_and_unload()


class SoftPrompt:
    """Embeddings before every text (Lester et al., 2021), which stand for tokens that the vocabulary does not have.

    So a prompt with them is a row of ids like any other.
    """

    def __init__(self, net: Any, size: int, seed: int, words: Sequence[int] = ()) -> None:
        self.embedding = _embedding(net)
        taken = getattr(net, "virtual_tokens", 0)
        table = self.embedding.weight
        self.first = len(table) + taken
        self.virtual = tuple(range(self.first, self.first + size))
        self.net, net.virtual_tokens = net, taken + size
        self.weight = Parameter(_start(self.embedding, size, seed, words))
        self.parameters: Mapping[str, Parameter] = {"prompt": self.weight}
        self.hooks = [  # a later prompt takes its tokens out before an earlier one looks
            self.embedding.register_forward_pre_hook(self._before, prepend=True),
            self.embedding.register_forward_hook(self._after),
        ]

    def _before(self, module: nn.Module, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:  # noqa: ARG002 (a hook)
        self.places = given[0] - self.first
        self.is_ours = (self.places >= 0) & (self.places < len(self.weight))
        return (given[0].masked_fill(self.is_ours, 0), *given[1:])

    def _after(self, module: nn.Module, given: object, found: Tensor) -> Tensor:  # noqa: ARG002
        """Put the embeddings in: (rows, tokens, width)."""
        if not self.is_ours.any():
            return found
        rows = self.weight[self.places.clamp(0, len(self.weight) - 1)].to(found.dtype)
        return torch.where(self.is_ours[..., None], rows, found)

    def remove(self) -> None:
        """Take the hooks out."""
        self.net.virtual_tokens -= len(self.weight)
        for hook in self.hooks:
            hook.remove()

    def settle(self) -> None:
        """Stay as it is: there is nothing that it could be added to."""
        self.weight.requires_grad_(False)


class Adapters:
    """Bottleneck adapters (Pfeiffer et al., 2021)."""

    virtual: tuple[int, ...] = ()

    def __init__(self, net: Any, reduction: int, seed: int) -> None:
        self.layers = Bottlenecks(net, reduction=reduction, seed=seed)
        self.layers.attach()
        self.parameters: Mapping[str, Parameter] = dict(self.layers.named_parameters())

    def remove(self) -> None:
        """Take the hooks out."""
        self.layers.remove()

    def settle(self) -> None:
        """Stay as they are."""
        self.layers.requires_grad_(False)


def _embedding(net: Any) -> Any:
    """Find what a net reads texts with."""
    reader = net.get_encoder() if net.config.is_encoder_decoder else net
    return reader.get_input_embeddings()


@torch.no_grad()
def _start(embedding: Any, size: int, seed: int, words: Sequence[int]) -> Tensor:
    """Give the first embeddings of a soft prompt: those of words, over and over, or as words are at random.

    They are what the layer gives, not its weights: some families scale these.
    """
    device = embedding.weight.device
    ids = [words[place % len(words)] for place in range(size)] if words else range(min(len(embedding.weight), SAMPLED))
    found: Tensor = embedding(torch.tensor(list(ids), device=device)).float()
    if words:
        return found
    drawn = torch.randn(size, found.shape[1], generator=torch.Generator().manual_seed(seed))
    return drawn.to(device) * found.std()


# --- what is kept ----------------------------------------------------------------------------------------------------


def save(of: Adaptation, how: Recipe, folder: Path) -> None:
    """Write what was trained, and nothing else, with how it is attached."""
    about = {"recipe": canonical(asdict(recipe_of(how)))}  # all of it: defaults may change
    try:
        save_file({name: value.detach().contiguous() for name, value in of.parameters.items()}, folder / CHANGED, about)
    except (OSError, SafetensorError) as error:
        raise ModelError(Note.of("weights-unwritten", reason=str(error), path=folder)) from None


def _added_size(how: Recipe) -> int:
    """Give the size of what is added to a net: the rank of LoRA, or the tokens of a soft prompt."""
    return {"lora": how.rank, "prompt": how.virtual}.get(how.what, 0)


def apply(net: Any, folder: Path) -> Adaptation:
    """Attach what was saved, for good."""
    try:
        with safe_open(folder / CHANGED, "pt") as file:
            how = Recipe(**parse_json(file.metadata()["recipe"]))
            shapes = [file.get_slice(name).get_shape() for name in file.keys()]  # noqa: SIM118 (no mapping)
            if _added_size(how) > max((size for shape in shapes for size in shape), default=0):
                raise ValueError(f"no weights for a {how.what} of size {_added_size(how)}")  # before any are made
            found = attach(net, how, seed=0, restore=False)
            with torch.no_grad():
                for name, parameter in found.parameters.items():
                    parameter.copy_(file.get_tensor(name))
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ModelError(Note.of("weights-unreadable", reason=str(error), path=folder)) from error
    found.settle()
    return found
