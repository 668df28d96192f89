"""The verbs of models: list, show, get, rm."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import console
from . import shell_completion as complete

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


Name = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A short name, hf:ORG/NAME@REVISION, path:FOLDER or pypi:PACKAGE==VERSION.",
        autocompletion=complete.short_models,
    ),
]


def list_(*, as_json: AsJson = False) -> None:
    """List the models that go by a short name: what they are, their licence and size, and whether they are here."""
    from . import listings_names

    listings_names.list_models(as_json=as_json)


def show(name: Name, *, as_json: AsJson = False) -> None:
    """Show where a model comes from, under which terms, what it is named by, and where its files are."""
    from ..models.load import weights
    from . import listings_names

    told = listings_names.describe_model(weights(name).load)
    if as_json:
        console.as_json(told)
        return
    shown = {key: ", ".join(value) if isinstance(value, list) else value for key, value in told.items()}
    console.pairs({key: "yes" if v is True else "no" if v is False else v for key, v in shown.items() if v != ""})


def get(
    name: Annotated[list[str], typer.Argument(metavar="MODEL...", autocompletion=complete.short_models)],
) -> None:
    """Fetch models into the cache, and convert those that come as GGUF; after that no network is needed."""
    from ..models.load import NAMED, weights
    from . import listings_names

    for wanted in [weights(one) for one in name]:  # unknown names are refused before anything is fetched
        with console.progress(f"fetching {wanted.load}", of_bytes=True) as progress:
            if wanted.load in NAMED:
                console.note(f"{wanted.load}: licence {listings_names.describe_model(wanted.load)['licence']}")
            folder = wanted.get(progress)
        console.line(str(folder))


def rm(name: Name) -> None:
    """Remove a model's files from the cache."""
    from ..models.load import remove, weights

    freed = remove(weights(name).load)
    console.note(f"removed {name}: {console.size(freed)}" if freed else f"not here: {name}")
