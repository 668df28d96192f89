"""Adapters in the layout of the package `adapters`: `adapter_config.json`, and tensors with its names beside it.

Its usual file of tensors is a pickle, which is never read; it saves and loads `adapter.safetensors` too
(`save_adapter(FOLDER, NAME, use_safetensors=True)`). So SPECTER2's adapters are read once they are saved in this way.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from ..errors import ModelError
from ..messages import Note
from .formats import FormAdapters, FormatAdaptation
from .telling import Telling
from .weight_files import ADAPTER as CONFIG
from .weight_files import ADAPTER_TENSORS as TENSORS

if TYPE_CHECKING:
    from .encoder import TransformerEncoder

VERSION = "adapters.1.3.0"  # whose layout this is
LARGEST = 1 << 20  # bytes of a configuration
FAMILIES = ("bert", "roberta", "xlm-roberta")  # whose names of blocks are those of the package, with `output` after
NAME = re.compile(
    r"(?:.*?\.)?((?:encoder|transformer|layers)\..*?)(?:\.output_adapters|\.output)?"
    r"\.adapters\..+\.adapter_(down\.0|up)\.(weight|bias)"
)
# What an adapter must be, of what the package can make: `seq_bn`, or `pfeiffer` as it was called.
USUAL: Mapping[str, Any] = {
    "adapter_residual_before_ln": False, "cross_adapter": False, "dropout": 0.0, "factorized_phm_W": True,
    "factorized_phm_rule": False, "hypercomplex_nonlinearity": "glorot-uniform", "init_weights": "bert",
    "init_weights_seed": None, "inv_adapter": None, "inv_adapter_reduction_factor": None, "is_parallel": False,
    "learn_phm": True, "leave_out": [], "ln_after": False, "ln_before": False, "mh_adapter": False,
    "non_linearity": "relu", "original_ln_after": True, "original_ln_before": True, "output_adapter": True,
    "phm_bias": True, "phm_c_init": "normal", "phm_dim": 4, "phm_init_range": 0.0001, "phm_layer": False, "phm_rank": 1,
    "residual_before_ln": True, "scaling": 1.0, "shared_W_phm": False, "shared_phm_rule": True, "stochastic_depth": 0.0,
    "use_gating": False,
}  # fmt: skip
DECIDING = (  # those that change what is computed
    "adapter_residual_before_ln", "inv_adapter", "is_parallel", "leave_out", "ln_after", "ln_before", "mh_adapter",
    "non_linearity", "original_ln_after", "original_ln_before", "output_adapter", "phm_layer", "residual_before_ln",
    "scaling", "use_gating",
)  # fmt: skip


def write_adapters(of: FormatAdaptation, folder: Path) -> None:
    """Write the adapters of each form into a folder of its own."""
    config = of.net.config
    if config.model_type not in FAMILIES:
        raise ModelError(Note.of("export-unsupported", family=config.model_type))
    assert isinstance(of.parts, FormAdapters)
    for form, made in of.parts.of.items():
        (folder / form).mkdir()
        said = {
            "config": {**USUAL, "reduction_factor": of.telling.reduction}, "hidden_size": config.hidden_size,
            "model_class": type(of.net).__name__, "model_name": "", "model_type": config.model_type, "name": form,
            "version": VERSION, "base": of.base,
        }  # fmt: skip
        (folder / form / CONFIG).write_text(json.dumps(said, indent=2, sort_keys=True), encoding="utf-8")
        tensors = {_their_name(name, form): value.detach().contiguous() for name, value in made.state_dict().items()}
        save_file(tensors, folder / form / TENSORS)


def add_adapters(encoder: TransformerEncoder, folders: Mapping[str, Path]) -> None:
    """Attach adapters of forms, for good; those that are not as ours are, or of another model, are refused."""
    said = {form: _config(folder) for form, folder in folders.items()}
    for form, config in said.items():
        _refuse_unfit(config, encoder.net.config, folders[form])
    reductions = {config["config"]["reduction_factor"] for config in said.values()}
    if len(reductions) > 1:
        raise ModelError(Note.of("adapters-differ", reductions=sorted(reductions)))
    telling = Telling(tell="adapters", reduction=int(reductions.pop()))
    made = encoder.attach_formats(telling, [*folders], seed=0, restore=False)
    assert isinstance(made.parts, FormAdapters)
    for form, folder in folders.items():
        if said[form].get("base", made.base) != made.base:
            raise ModelError(Note.of("formats-other-base", path=folder))
        _fill(dict(made.parts.of[form].named_parameters()), folder)
    made.settle()


@torch.no_grad()
def _fill(parameters: Mapping[str, Tensor], folder: Path) -> None:
    try:
        found = {_our_name(name): value for name, value in load_file(folder / TENSORS).items()}
        if found.keys() != parameters.keys():
            raise KeyError(sorted(found.keys() ^ parameters.keys())[0])
        for name, parameter in parameters.items():
            parameter.copy_(found[name])
    except (OSError, SafetensorError, KeyError, RuntimeError) as error:
        raise ModelError(Note.of("adapter-unreadable", reason=str(error), path=folder)) from error


def _their_name(name: str, adapter: str) -> str:
    """Name a weight as the package does.

    >>> _their_name("encoder.layer.0.down.weight", "PRX")
    'encoder.layer.0.output.adapters.PRX.adapter_down.0.weight'
    """
    block, layer, kind = name.rsplit(".", 2)
    return f"{block}.output.adapters.{adapter}.adapter_{'down.0' if layer == 'down' else layer}.{kind}"


def _our_name(name: str) -> str:
    """Name a weight as taskloom does: by its block, within the model without its head.

    >>> _our_name("bert.encoder.layer.0.output.adapters.[PRX].adapter_down.0.weight")
    'encoder.layer.0.down.weight'
    """
    if not (found := NAME.fullmatch(name)):
        raise KeyError(name)
    return f"{found[1]}.{found[2].removesuffix('.0')}.{found[3]}"


def _config(folder: Path) -> dict[str, Any]:
    """Read the configuration of an adapter."""
    try:
        with (folder / CONFIG).open("rb") as handle:
            found = json.loads(handle.read(LARGEST))
        factor = found["config"].get("reduction_factor") if isinstance(found["config"], dict) else None
        if isinstance(factor, int | float) and 1 <= factor < math.inf:
            return {**found}
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        pass
    raise ModelError(Note.of("adapter-config-unreadable", path=folder / CONFIG))


def _refuse_unfit(said: Mapping[str, Any], config: Any, folder: Path) -> None:
    """Refuse an adapter of another kind than ours, or of another model than the encoder."""
    wrong = [name for name in DECIDING if name in said["config"] and said["config"][name] != USUAL[name]]
    if wrong:
        raise ModelError(Note.of("adapter-kind", names=wrong, path=folder))
    of = {"model_type": config.model_type, "hidden_size": config.hidden_size}
    if other := [f"{name} {said[name]}" for name, value in of.items() if said.get(name, value) != value]:
        raise ModelError(Note.of("adapter-of-other", other=other, path=folder))
