"""SentiWordNet: how positive or negative each synset of WordNet 3.0 is."""

from __future__ import annotations

import re
from pathlib import Path

from ..errors import SourceError, UnknownNameError
from ..limits import refuse_no_file
from ..messages import Note
from . import packages
from .files import RowFaults, lines

FILE = "package/data/SentiWordNet_3.0.0_20130122.txt"


def scores(spec: str) -> dict[str, float]:
    """Give the positive minus the negative score of each synset, from `data:sentiwordnet` or a file in its format."""
    kind, _, name = spec.partition(":")
    if kind == "data" and name != "sentiwordnet":
        raise UnknownNameError("sentiment scores", spec, ("data:sentiwordnet", "a file"))
    path = packages.get(name) / FILE if kind == "data" else Path(spec)
    refuse_no_file(path)
    found: dict[str, float] = {}
    faults = RowFaults()
    for number, line, good in lines(path, faults, "utf-8"):
        cells = line.split("\t")
        if not good or len(cells) < 5 or cells[0].startswith("#") or not cells[1]:
            continue
        if not re.fullmatch(r"[nvasr]\t\d{8}(\t\d+(\.\d+)?){2}", "\t".join(cells[:4])):
            raise SourceError(Note.of("wordnet-malformed", path=path, line=number))
        found[f"{cells[1]}-{cells[0].replace('s', 'a')}"] = float(cells[2]) - float(cells[3])
    faults.settle()
    return found
