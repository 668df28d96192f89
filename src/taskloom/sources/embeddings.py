"""Vectors that were made elsewhere: JSON Lines of {doc_id, embedding}, as SciRepEval releases them, or Parquet."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import SourceError
from . import files
from .files import Layout, Row, RowFaults

ID, VECTOR = "doc_id", "embedding"


@dataclass(frozen=True, slots=True)
class Embeddings:
    """Vectors by the ids of their documents."""

    places: dict[str, int]
    vectors: Any  # (n, d), single precision

    def __len__(self) -> int:
        return len(self.places)

    def missing(self, ids: Sequence[str]) -> list[str]:
        """Give the ids that have no vector."""
        return [id_ for id_ in ids if id_ not in self.places]

    def rows(self, ids: Sequence[str]) -> Any:
        """Give the vectors of ids that have one: (ids, d)."""
        return self.vectors[[self.places[id_] for id_ in ids]]


def read_embeddings(path: Path) -> Embeddings:
    """Read vectors, or name all lines that are none, differ in length, or have an id for the second time."""
    faults = RowFaults("skip")
    places: dict[str, int] = {}
    vectors: list[Any] = []
    lines: dict[str, str] = {}
    for place, row in files.read(path, faults, Layout(format="parquet" if path.suffix == ".parquet" else "jsonl")):
        id_, vector = row.get(ID), _vector(row)
        if wrong := next(_wrong(row, vector, lines, len(vectors[0]) if vectors else 0), ""):
            faults.add(place, wrong)
            continue
        lines[str(id_)] = place
        places[str(id_)] = len(vectors)
        vectors.append(vector.astype(np.float32))
    if faults.count:
        more = [f"and {faults.count - len(faults.shown):,} more"] if faults.count > len(faults.shown) else []
        raise SourceError(f"lines that are not embeddings: {path}", [*faults.shown, *more])
    if not vectors:
        raise SourceError(f"the file has no embeddings: {path}")
    return Embeddings(places, np.stack(vectors))


def _vector(row: Row) -> Any:
    """Give the vector of a line; None where it is no list of numbers."""
    given = row.get(VECTOR)
    if not isinstance(given, list) or not given or not {*map(type, given)} <= {float, int}:
        return None
    try:
        return np.array(given, dtype=np.float64)
    except OverflowError:
        return np.array([math.inf])


def _wrong(row: Row, vector: Any, lines: dict[str, str], width: int) -> Iterator[str]:
    """Say what is wrong with a line, by its id where it has one."""
    id_ = row.get(ID)
    if isinstance(id_, bool) or not isinstance(id_, str | int):
        yield f"{ID} is missing" if id_ is None else f"{ID} must be a text: {id_!r:.40}"
        return
    named = f"document {str(id_)!r}"
    if str(id_) in lines:
        yield f"{named} is a duplicate of {lines[str(id_)]}"
    if vector is None:
        yield f"{named}: {VECTOR} must be a list of numbers"
    elif not (np.abs(vector) <= np.finfo(np.float32).max).all():
        yield f"{named}: NaN or infinite values"
    elif width and len(vector) != width:
        yield f"{named}: {len(vector):,} dimensions, those before have {width:,}"
