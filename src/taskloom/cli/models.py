"""The verbs of models: show, get, rm."""

from __future__ import annotations

from .. import console
from .arguments import AsJson, ModelName, ModelNames


def show(name: ModelName, *, as_json: AsJson = False) -> None:
    """Show a model: its package, licence, digest and folder."""
    from ..models.load import weights
    from . import listings_names

    about = listings_names.describe_model(weights(name).load)
    if as_json:
        console.as_json(about)
        return
    shown = {key: ", ".join(value) if isinstance(value, list) else value for key, value in about.items()}
    console.pairs({key: "yes" if v is True else "no" if v is False else v for key, v in shown.items() if v != ""})


def get(name: ModelNames) -> None:
    """Fetch models into the cache, so that runs need no network."""
    from ..models.fetched import NAMED
    from ..models.load import weights
    from . import listings_names

    for wanted in [weights(one) for one in name]:  # unknown names are refused before anything is fetched
        with console.progress(f"fetching {wanted.load}", of_bytes=True) as progress:
            if wanted.load in NAMED:
                console.note(f"{wanted.load}: licence {listings_names.describe_model(wanted.load)['licence']}")
            folder = wanted.get(progress)
        console.line(str(folder))


def rm(name: ModelName) -> None:
    """Remove a model from the cache."""
    from ..models.fetched import remove
    from ..models.load import weights

    freed = remove(weights(name).load)
    console.note(f"removed {name}: {console.size(freed)}" if freed else f"not in the cache: {name}")
