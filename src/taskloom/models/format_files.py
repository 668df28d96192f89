"""What tells an encoder its forms, kept in a folder: `formats.json` says how it is attached, and tensors beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from ..errors import ModelError
from ..messages import Note
from .formats import NET, FormatAdaptation, digest
from .telling import ABOUT, TENSORS, Told, told_in, write_told

if TYPE_CHECKING:
    from .encoder import TransformerEncoder


def save_formats(of: FormatAdaptation, folder: Path) -> None:
    """Write what was trained, and nothing else, with how it is attached."""
    told = Told(telling=of.telling, forms=of.forms, base=of.base, has_weights=bool(of.weights.parameters))
    _write([told], [of.parameters], folder)


def save_beside_weights(of: FormatAdaptation, folder: Path) -> None:
    """Write all that was attached, what is below included, beside the base's weights as they are now."""
    chain = [one for one in (of.below, of) if one is not None and one.forms]
    told = [Told(telling=one.telling, forms=one.forms, base=digest(one.net, one.below)) for one in chain]
    _write(told, [one.parts.parameters for one in chain], folder)


def _write(told: Sequence[Told], tensors: Sequence[Mapping[str, Tensor]], folder: Path) -> None:
    named = {f"{number}/{name}": value for number, of in enumerate(tensors) for name, value in of.items()}
    try:
        save_file({name: value.detach().contiguous() for name, value in named.items()}, folder / TENSORS)
        write_told(told, folder)
    except (OSError, SafetensorError) as error:
        raise ModelError(Note.of("weights-unwritten", reason=str(error), path=folder)) from None


def add_formats(encoder: TransformerEncoder, folder: Path) -> None:
    """Attach what was saved, for good; what was trained on other weights is refused."""
    all_told = told_in(folder)
    _refuse_misfit(all_told, folder)
    for number, told in enumerate(all_told):
        made = encoder.attach_formats(told.telling, told.forms, seed=0, restore=False)
        if made.base != told.base:
            raise ModelError(Note.of("formats-other-base", path=folder))
        _fill(made, folder, number, has_weights=told.has_weights)
        made.settle()


def _refuse_misfit(told: Sequence[Told], folder: Path) -> None:
    """Refuse more forms, or larger parts, than there are tensors for, before they are made."""
    try:
        with safe_open(folder / TENSORS, "pt") as file:
            shapes = [file.get_slice(name).get_shape() for name in file.keys()]  # noqa: SIM118 (no mapping)
    except (OSError, SafetensorError) as error:
        raise ModelError(Note.of("encoder-unreadable", reason=str(error), path=folder)) from None
    most = max([len(shapes), *(size for shape in shapes for size in shape)])
    if any(max(len(one.forms), one.telling.pal_size) > most for one in told):
        raise ModelError(Note.of("formats-unreadable", path=folder / ABOUT))


@torch.no_grad()
def _fill(of: FormatAdaptation, folder: Path, number: int, *, has_weights: bool) -> None:
    wanted = {name: value for name, value in of.parameters.items() if has_weights or not name.startswith(NET)}
    try:
        with safe_open(folder / TENSORS, "pt") as file:
            for name, parameter in wanted.items():
                parameter.copy_(file.get_tensor(f"{number}/{name}"))
    except (OSError, SafetensorError, KeyError, RuntimeError) as error:
        raise ModelError(Note.of("encoder-unreadable", reason=str(error), path=folder)) from error
