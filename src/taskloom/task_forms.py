"""Which form of a vector suits a task: encoders can have one for each format, and for each side of a search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from .core import Task

Side: TypeAlias = Literal["query", "candidate"]
FORMAT = "format"  # the tag of tasks that says in which of SciRepEval's formats they are
FORMATS: Mapping[str, str] = {"labels": "CLF", "number": "RGN", "ranking": "PRX", "terms": "PRX"}  # by output, else
SEARCH = "SRCH"


def format_of(task: Task) -> str:
    """Give the format of a task: its tag, or what its output is."""
    return next(iter(task.tags.get(FORMAT, ())), "") or FORMATS.get(task.output.kind, "")


def forms_of(task: Task, side: Side) -> tuple[str, ...]:
    """Name the forms that suit a task, the best first: an encoder that has none of them gives plain vectors.

    In search, queries and documents differ; sentence encoders call these forms by other names.
    """
    format_ = format_of(task)
    if format_ != SEARCH:
        return (format_,)
    return ("QRY", "query") if side == "query" else ("PRX", "document", "passage")
