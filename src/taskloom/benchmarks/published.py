"""Figures that papers have published, shown beside ours and never as ours: one JSON file for each paper."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from ..errors import UnknownNameError

FOLDER = resources.files("taskloom") / "data" / "published"
ALL = "all"  # the column of figures that are by nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """A table of a paper, in points: by method, then by what `by` says; a learner of ours has its own name there."""

    where: str
    by: str  # "" for all tasks together, category, or a setting of learners
    metric: str  # that of ours which was meant
    values: Mapping[str, Mapping[str, float]]
    notes: tuple[str, ...]
    over: str = "tasks"  # what they are means over: tasks, or instances


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What a paper has published."""

    paper: str
    figures: tuple[Figures, ...]
    said: Mapping[str, str]  # findings that are no table, by the view they belong to

    def by(self, what: str) -> list[Figures]:
        """Give the tables that are by something."""
        return [figures for figures in self.figures if figures.by == what]


def names() -> list[str]:
    """List the benchmarks whose papers' figures are at hand."""
    return sorted(Path(entry.name).stem for entry in FOLDER.iterdir() if entry.name.endswith(".json"))


@cache
def published(name: str) -> Published:
    """Give the figures of a benchmark's paper.

    >>> published("natural-instructions").by("")[0].values["Tk-Instruct 11B"]
    {'all': 62.0}
    """
    if name not in names():
        raise UnknownNameError("paper", name, names())
    read = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    figures = (Figures(**{**table, "notes": tuple(table["notes"])}) for table in read["figures"])
    return Published(paper=read["paper"], figures=tuple(figures), said=read["said"])
