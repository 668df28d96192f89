"""Judgements and rankings as trec_eval reads them: qrels and run files; judgements also as JSON Lines.

- qrels: query, iteration (not used), document, grade
- run: query, Q0 (not used), document, rank (not used), score, name (not used)
- JSON Lines of {query_id, cand_id, score}, as SciRepEval releases judgements
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from ..errors import SourceError, UsageError
from ..limits import refuse_no_file
from ..texts import counted
from .files import FORMATS, Layout, RowFaults, format_of, lines

Graded: TypeAlias = dict[str, dict[str, float]]  # by query and document

QRELS, RUN = ("query", "iteration", "document", "grade"), ("query", "Q0", "document", "rank", "score", "name")
RELEASED = ("query_id", "cand_id", "score")


def read_qrels(path: Path) -> Graded:
    """Read judgements, or name all lines that are none or judge a document for the second time."""
    return _read(path, QRELS, "grade", "judgements")


def read_run(path: Path) -> Graded:
    """Read a run, or name all lines that are none or rank a document for the second time."""
    return _read(path, RUN, "score", "rankings")


def _read(path: Path, columns: tuple[str, ...], number: str, what: str) -> Graded:
    refuse_no_file(path)
    faults = RowFaults("skip")
    found: Graded = {}
    for place, row in _released(path, faults) if _is_released(path) else _rows(path, faults, columns):
        query, document, text = row["query"], row["document"], row[number]
        value = _number(text)
        if math.isnan(value):
            faults.add(place, f"{number} must be a finite number: {text[:40]!r}")
        elif document in found.setdefault(query, {}):
            faults.add(place, f"duplicate document {document!r} of query {query!r}")
        else:
            found[query][document] = value
    if faults.count:
        more = [f"and {faults.count - len(faults.shown):,} more"] if faults.count > len(faults.shown) else []
        raise SourceError(f"lines that are not {what}: {path}", [*faults.shown, *more])
    if not found:
        raise SourceError(f"the file has no {what}: {path}")
    return found


def _rows(path: Path, faults: RowFaults, columns: tuple[str, ...]) -> Iterator[tuple[str, Mapping[str, str]]]:
    for at, line, good in lines(path, faults, Layout().encoding):
        cells = line.split()
        if good and cells and len(cells) != len(columns):
            faults.add(f"{path.name}:{at}", f"{counted(len(cells), 'column')} instead of {', '.join(columns)}")
        elif good and cells:
            yield f"{path.name}:{at}", dict(zip(columns, cells, strict=True))


def _is_released(path: Path) -> bool:
    try:
        return format_of(path) == "jsonl"
    except UsageError:
        return False


def _released(path: Path, faults: RowFaults) -> Iterator[tuple[str, Mapping[str, str]]]:
    for place, row in FORMATS["jsonl"](path, faults, Layout()):
        given = [row.get(name) for name in RELEASED]
        if any(isinstance(value, bool) or not isinstance(value, str | int | float) for value in given):
            faults.add(place, f"must have {', '.join(RELEASED)}")
        else:
            query, document, grade = map(str, given)
            yield place, {"query": query, "document": document, "grade": grade, "score": grade}


def _number(text: str) -> float:
    """Read a finite number; NaN is none."""
    try:
        found = float(text)
    except ValueError:
        return math.nan
    return found if math.isfinite(found) else math.nan
