"""The graph of facts that taskloom makes of packages and of tables of its own: `data:facts`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from ..ids import fingerprint
from ..progress import Progress
from . import fact_countries, fact_tables, fact_wordnet, packages
from .fact_countries import Countries
from .fact_lines import FactLines
from .fact_wordnet import Names
from .wordnets import PACKAGED

FORMAT = 1  # raise it when the same sources give other facts
FILE = "facts.nt"


def sources() -> list[str]:
    """Name the data sets that the graph is made of; the factbook stands in for one that needs npm."""
    wanted = ["countries", "factbook", "elements", "wordnet"]
    return [name for name in wanted if not packages.needs_npm(name)]


def content() -> str:
    """Name what the graph is made of: the files of packages, our own tables, and how facts are made of them."""
    tables = [(fact_tables.FOLDER / f"{name}.csv").read_bytes() for name in fact_tables.TABLES]
    shipped = hashlib.blake2b(b"\0".join(tables)).hexdigest()
    return fingerprint("facts", FORMAT, shipped, [packages.entry(name).sha256 for name in sources()])


def write(folder: Path, progress: Progress | None = None) -> None:
    """Write the graph as N-Triples, in order."""
    at = {name: packages.get(name, progress) for name in sources()}
    lines = build(at.get("countries"), at["factbook"], at["elements"], at["wordnet"])
    (folder / FILE).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def build(countries: Path | None, factbook: Path, elements: Path, wordnet: Path) -> Sequence[str]:
    """Gather all facts: lines of N-Triples, in order."""
    facts = FactLines()
    if countries is not None:
        known = Countries.of(fact_countries.of_countries(countries / "package" / "countries.json"))
    else:
        known = Countries.of(fact_countries.of_factbook(factbook))
    fact_countries.add_countries(facts, known)
    fact_countries.add_heads(facts, known, factbook)
    corpora = wordnet / PACKAGED
    names = Names.of(corpora / "wordnet", corpora / "omw-1.4" / "mcr" / "wn-data-spa.tab")
    at = fact_wordnet.places(names, known)
    within = fact_wordnet.countries_of(names, at)
    cities = fact_wordnet.cities(names, at, within, known)
    place = fact_tables.finder(facts, known, cities)
    fact_wordnet.add_capitals(facts, known.all, cities)
    fact_wordnet.add_places(facts, names, at, within)
    fact_tables.add_people(facts, known, place)  # whose labels come first
    fact_tables.add_works(facts, known)
    fact_tables.add_others(facts, known, place)
    fact_wordnet.add_persons(facts, names, known, fact_tables.born())
    fact_wordnet.add_taxa(facts, names)
    fact_tables.add_elements(facts, elements / "mendeleev" / "elements.db")
    return sorted(facts.lines)
