"""What tells an encoder the form of a vector: control codes, adapters, fusion or PALs, attached to any BERT-like net.

They stand in the net as hooks (see `bottleneck`): its modules, their names and its state dict do not change, and
removing them leaves it bit for bit as it was. The form is chosen for the time of a computation:

    formats = attach_formats(net, Telling(tell="adapters"), FORMS, seed=0)
    with formats.using("PRX"):
        hidden = net(**inputs).last_hidden_state

Gradients may be computed after the context has ended, but not with activations that are computed again (`recompute`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn import Parameter

from ..errors import ModelError, UnknownNameError
from ..ids import raw_bits
from ..messages import Note
from .adaptations import AllWeights, SoftPrompt
from .bottleneck import Bottlenecks, inserted
from .fusion import Fusions
from .pals import Pals, attending
from .telling import WHOLE, Telling, checked_forms

NET = "net/"  # what names of weights of the base begin with
NO_CODES: Mapping[str, int] = {}


class FormParts(Protocol):
    """What is added to a net for its forms."""

    parameters: Mapping[str, Parameter]
    codes: Mapping[str, int]  # form -> the token that stands for it, where there is one

    def using(self, form: str) -> AbstractContextManager[None]:
        """Choose the form of what is computed."""

    def remove(self) -> None:
        """Leave the net as it was."""


class FormatAdaptation:
    """What was attached to a net so that it is told forms."""

    def __init__(
        self, net: Any, telling: Telling, forms: Sequence[str], *, seed: int, below: FormatAdaptation | None,
        restore: bool,
    ) -> None:  # fmt: skip
        _refuse_below(telling, below)
        self.net, self.telling, self.forms, self.below = net, telling, checked_forms(telling, forms), below
        self.base = digest(net, below)
        trained = dict(net.named_parameters()) if telling.tell in WHOLE else {}
        self.weights = AllWeights(net, {f"{NET}{name}": value for name, value in trained.items()}, restore=restore)
        self.parts = _parts(net, telling, self.forms, seed=seed, below=below)
        self.parameters: Mapping[str, Parameter] = {**self.weights.parameters, **self.parts.parameters}

    @property
    def codes(self) -> Mapping[str, int]:
        """Give the token that stands for each form; none where forms are told otherwise."""
        return self.parts.codes

    def using(self, form: str) -> AbstractContextManager[None]:
        """Choose the form of what is computed within the context."""
        if not self.forms:
            return nullcontext()
        check_form(form, self.forms)
        if self.net.training and self.net.is_gradient_checkpointing and not self.codes:
            raise ModelError(Note.of("formats-recompute", tell=self.telling.tell))  # or other forms would be computed
        return self.parts.using(form)

    def remove(self) -> None:
        """Make the net what it was before."""
        self.parts.remove()
        self.weights.remove()

    def settle(self) -> None:
        """Leave it in the net for good, as it is."""
        self.weights.settle()
        for parameter in self.parts.parameters.values():
            parameter.requires_grad_(False)


def attach_formats(
    net: Any, telling: Telling, forms: Sequence[str], *, seed: int, below: FormatAdaptation | None = None,
    restore: bool = True,
) -> FormatAdaptation:  # fmt: skip
    """Attach what tells a net the form; fusion needs the adapters `below` it.

    Without `restore`, nothing is kept for the sake of removing it again.
    """
    return FormatAdaptation(net, telling, forms, seed=seed, below=below, restore=restore)


def check_form(form: str, forms: Sequence[str]) -> None:
    """Refuse a form that is unknown, or none where an encoder must be told one."""
    if not form:
        raise ModelError(Note.of("form-missing", forms=list(forms)))
    if form not in forms:
        raise UnknownNameError("form", form, forms)


def digest(net: Any, below: FormatAdaptation | None = None) -> str:
    """Name a net by its weights, with those of adapters that were added to it."""
    found: dict[str, Tensor] = dict(net.named_parameters())
    if below is not None:
        found |= {f"below/{name}": value for name, value in below.parts.parameters.items()}
    made = hashlib.blake2b(digest_size=16)
    for name in sorted(found):
        value = found[name].detach().cpu().contiguous()
        made.update(f"{name} {value.dtype} {list(value.shape)}\n".encode())
        made.update(value.reshape(-1).view(torch.uint8).numpy().tobytes())
    return made.hexdigest()


def _refuse_below(telling: Telling, below: FormatAdaptation | None) -> None:
    """Refuse what can't stand on what was attached before: fusion alone needs adapters, and others no forms."""
    under = below.telling.tell if below else "none"
    if under != ("adapters" if telling.tell == "fusion" else "none"):
        raise ModelError(Note.of("formats-below", tell=telling.tell, below=under))


def _parts(net: Any, telling: Telling, forms: Sequence[str], *, seed: int, below: FormatAdaptation | None) -> FormParts:
    match telling.tell:
        case "codes":
            return Codes(net, forms, seed)
        case "adapters":
            made = {form: Bottlenecks(net, reduction=telling.reduction, seed=drawn(seed, form)) for form in forms}
            return FormAdapters(made)
        case "fusion":
            assert below is not None
            assert isinstance(below.parts, FormAdapters)  # see _refuse_below
            adapters = [*below.parts.of.values()]
            rate = float(getattr(net.config, "attention_probs_dropout_prob", 0.0))
            return FormFusions({form: Fusions(adapters, rate=rate, seed=drawn(seed, form)) for form in forms})
        case "pals":
            return FormPals(net, {form: Pals(net, telling, seed=drawn(seed, form)) for form in forms})
    return NoParts()


def drawn(seed: int, form: str) -> int:
    """Give the seed of what is drawn for a form."""
    return next(iter(raw_bits("form", seed, form))) >> 1


class NoParts:
    """Nothing: one vector for all tasks."""

    def __init__(self) -> None:
        self.parameters: Mapping[str, Parameter] = {}
        self.codes = NO_CODES

    def using(self, form: str) -> AbstractContextManager[None]:  # noqa: ARG002 (as all parts)
        """Choose nothing."""
        return nullcontext()

    def remove(self) -> None:
        """Leave the net as it is."""


class Codes:
    """A token for each form, which the vocabulary does not have; it is a part of the text that is read."""

    def __init__(self, net: Any, forms: Sequence[str], seed: int) -> None:
        self.prompt = SoftPrompt(net, len(forms), seed)
        self.codes: Mapping[str, int] = dict(zip(forms, self.prompt.virtual, strict=True))
        self.parameters: Mapping[str, Parameter] = {"codes": self.prompt.weight}  # (forms, width)

    def using(self, form: str) -> AbstractContextManager[None]:  # noqa: ARG002 (the code is among the tokens)
        """Choose nothing: the code is among the tokens."""
        return nullcontext()

    def remove(self) -> None:
        """Take the codes out of the vocabulary."""
        self.prompt.remove()


class FormAdapters:
    """Bottleneck adapters for each form, of which those of one are in the net at a time."""

    def __init__(self, of: Mapping[str, Bottlenecks]) -> None:
        self.of, self.codes, self.parameters = of, NO_CODES, _named("adapters", of)

    def using(self, form: str) -> AbstractContextManager[None]:
        """Put the adapters of a form into the net."""
        return inserted(self.of[form].stand)

    def remove(self) -> None:
        """Leave the net as it is: what is in it while it is used is out."""


class FormFusions:
    """Attention over the adapters of all forms, for each form."""

    def __init__(self, of: Mapping[str, Fusions]) -> None:
        self.of, self.codes, self.parameters = of, NO_CODES, _named("fusion", of)

    def using(self, form: str) -> AbstractContextManager[None]:
        """Put the fusion of a form into the net."""
        return inserted(self.of[form].stand)

    def remove(self) -> None:
        """Leave the net as it is."""


class FormPals:
    """Projected attention layers for each form."""

    def __init__(self, net: Any, of: Mapping[str, Pals]) -> None:
        self.net, self.of, self.codes, self.parameters = net, of, NO_CODES, _named("pals", of)

    def using(self, form: str) -> AbstractContextManager[None]:
        """Let the layers of a form attend beside those of the net."""
        return attending(self.net, self.of[form])

    def remove(self) -> None:
        """Leave the net as it is."""


def _named(kind: str, of: Mapping[str, nn.Module]) -> Mapping[str, Parameter]:
    return {f"{kind}/{form}/{name}": value for form, made in of.items() for name, value in made.named_parameters()}
