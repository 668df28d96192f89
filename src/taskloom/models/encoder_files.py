"""A trained encoder as a folder: one that `path:` loads, one of sentence-transformers, or adapters as published."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from safetensors import SafetensorError
from transformers import AutoModel

from ..errors import ModelError, UsageError
from ..folders import replace_folder, scratch_beside
from ..messages import Note
from .adapter_files import write_adapters
from .format_files import save_beside_weights
from .sentence_files import write_sentence_files
from .telling import Layout

if TYPE_CHECKING:
    from .encoder import TransformerEncoder

BASE = "base"  # the folder of the encoder that published adapters are for


def export_encoder(encoder: TransformerEncoder, folder: Path, *, to: Layout = "folder") -> None:
    """Write an encoder into a new folder, there whole or not at all."""
    if folder.exists():
        raise UsageError(Note.of("export-exists", path=folder))
    try:
        with scratch_beside(folder) as scratch:
            made = scratch / "made"
            made.mkdir()
            WRITERS[to](encoder, made)
            replace_folder(made, folder)
    except (OSError, SafetensorError) as error:
        raise ModelError(Note.of("weights-unwritten", reason=str(error), path=folder)) from None


def write_encoder(encoder: TransformerEncoder, folder: Path) -> None:
    """Write an encoder with all that it has learnt, so that `path:FOLDER` gives the same vectors in all forms."""
    _write_base(encoder, folder)
    if encoder.formats and encoder.formats.forms:
        save_beside_weights(encoder.formats, folder)


def _write_sentences(encoder: TransformerEncoder, folder: Path) -> None:
    """Write an encoder for sentence-transformers, which knows of no forms."""
    if encoder.formats and encoder.formats.forms:
        raise ModelError(Note.of("export-forms", to="sentence-transformers", tell=encoder.formats.telling.tell))
    _write_base(encoder, folder)


def _write_adapters(encoder: TransformerEncoder, folder: Path) -> None:
    """Write the encoder without forms, and the adapters of each form as the package `adapters` has them."""
    if not encoder.formats or encoder.formats.telling.tell != "adapters":
        tell = encoder.formats.telling.tell if encoder.formats else "none"
        raise ModelError(Note.of("export-forms", to="adapters", tell=tell))
    (folder / BASE).mkdir()
    _write_base(encoder, folder / BASE)
    write_adapters(encoder.formats, folder)


WRITERS: Mapping[Layout, Callable[[TransformerEncoder, Path], None]] = {
    "folder": write_encoder,
    "sentence-transformers": _write_sentences,
    "adapters": _write_adapters,
}


def _write_base(encoder: TransformerEncoder, folder: Path) -> None:
    """Write weights, tokenizer, and how vectors are made."""
    net = encoder.net
    is_whole = type(net.config) in AutoModel._model_mapping and AutoModel._model_mapping[type(net.config)] is type(net)
    if encoder.virtual or not is_whole:  # a soft prompt, or a part of a model that can't be loaded alone
        raise ModelError(Note.of("export-unsupported", family=net.config.model_type))
    net.save_pretrained(folder)
    encoder.tokenizer.save_pretrained(folder)
    how = replace(encoder.how, pooling=encoder.pooling, length=encoder.length)
    write_sentence_files(how, folder, width=encoder.width)
