"""The verb export: an encoder that a run has trained, as a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import console
from ..errors import UnknownNameError
from .arguments import MOST_SEED, RunFolder


def export(
    run: RunFolder,
    model: Annotated[str, typer.Argument(metavar="TRAINED", help="A model that the study trains, by its name there.")],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder to write, which must not exist.")],
    *,
    to: Annotated[
        str,
        typer.Option(
            metavar="LAYOUT",
            help="The layout: folder (for path:FOLDER, with all forms), sentence-transformers or adapters.",
        ),
    ] = "folder",
    training: Annotated[
        int | None,
        typer.Option(metavar="SEED", min=0, max=MOST_SEED, help="The seed of training, where the run has several."),
    ] = None,
) -> None:
    """Write an encoder that a run has trained into a folder."""
    from ..models.telling import LAYOUTS
    from ..studies.export import open_trained_encoder, trained_encoder

    if to not in LAYOUTS:
        raise UnknownNameError("layout", to, LAYOUTS)
    found = trained_encoder(run, model, training)
    encoder = open_trained_encoder(found, run)
    from ..models.encoder_files import export_encoder

    export_encoder(encoder, folder, to=to)
    forms = f", forms {', '.join(encoder.forms)}" if encoder.forms else ""
    console.note(f"{model}, training seed {found.training}{forms}: {folder}")
