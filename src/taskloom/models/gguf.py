"""GGUF files to folders of safetensors, so that they load in a second instead of half a minute."""

from __future__ import annotations

import io
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer

from ..errors import ModelError
from ..messages import Note
from .gguf_header import gguf_header
from .guarded import SAFE, loading
from .plausible import refuse_implausible
from .tokenizer_files import MOST_ADDED

UNREADABLE = (Exception,)  # what reading a file may end in: tokenizers and transformers raise plain exceptions, too


def convert(file: Path, folder: Path) -> None:
    """Write the dequantised weights, the settings and the tokenizer of a GGUF file to a folder."""
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    _refuse_misfit(file)
    safe: dict[str, Any] = {"gguf_file": file.name, **SAFE}
    try:
        with loading():
            with redirect_stderr(io.StringIO()):  # a bar of its own, which can't be turned off
                read, info = AutoModelForCausalLM.from_pretrained(
                    file.parent, dtype=torch.float32, output_loading_info=True, **safe
                )
            tokenizer = AutoTokenizer.from_pretrained(file.parent, **safe)
            plain = _plain(read)
    except UNREADABLE as error:
        first = (str(error).strip().splitlines() or [""])[0][:200]
        raise ModelError(Note.of("gguf-unreadable", kind=type(error).__name__, reason=first, path=file)) from None
    if missing := sorted(info["missing_keys"]):  # which would be drawn at random
        raise ModelError(Note.of("gguf-weights-missing", part=missing[0], path=file))
    plain.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _plain(read: Any) -> Any:
    """Copy a model that was read from GGUF, and refuses to be saved; weights must have the shapes of its settings."""
    if hasattr(read.config, "quantization_config"):
        del read.config.quantization_config
    plain = type(read)(read.config)
    plain.load_state_dict(read.state_dict())
    plain.generation_config = read.generation_config
    return plain


def _refuse_misfit(file: Path) -> None:
    """Refuse a file that asks for more than its tensors have, before a network is built of it."""
    try:
        header = gguf_header(file)
    except (OSError, ValueError) as error:
        raise ModelError(Note.of("gguf-unreadable", kind="ValueError", reason=str(error)[:200], path=file)) from None
    if header.added > MOST_ADDED:
        raise ModelError(Note.of("tokenizer-costly", what="added tokens", value=header.added, path=file))
    settings, sizes = header.settings, {"tensors": len(header.shapes), "parameters": header.parameters}
    refuse_implausible(settings, file, **sizes)
    heads = [value for name, value in settings.items() if name.endswith("head_count")]
    if not all(isinstance(value, int) and value > 0 for value in heads):
        raise ModelError(Note.of("setting-implausible", name="head_count", value=heads[0], path=file))
