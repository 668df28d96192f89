"""Figures that papers have published, shown beside ours and never as ours: JSON files beside a benchmark."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from ..episodes import Shots
from ..errors import UnknownNameError
from . import BENCHMARKS, folder_of

FIGURES, CARD = "published.json", "card.json"
ALL = "all"  # the column of figures that are by nothing; the row of a card that is of the whole suite


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """A table of a paper, in points: by method, then by what `by` says; a learner of ours has its own name there."""

    where: str
    by: str  # "" for all tasks together, category, or a setting of learners
    metric: str  # that of ours which was meant; none where figures are no scores
    values: Mapping[str, Mapping[str, float]]
    notes: tuple[str, ...]
    over: str = "tasks"  # what they are means over: tasks, or instances
    shots: Shots | None = None  # that they are at, where a paper has several
    episodes: int = 0  # that each is a mean over, where that is known


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedTask:
    """What a paper tested on a data set, and what was new in it beside what it trained on."""

    transfer: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What a paper has published."""

    paper: str
    figures: tuple[Figures, ...]
    said: Mapping[str, str]  # findings that are no table, by the view they belong to
    tasks: Mapping[str, PublishedTask] = field(default_factory=dict)  # by data set; figures of others go by its name

    def by(self, what: str) -> list[Figures]:
        """Give the tables that are by something."""
        return [figures for figures in self.figures if figures.by == what]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedCard:
    """What a paper says of its data: figures by label, or under `all` of the whole."""

    note: str
    rows: Mapping[str, Mapping[str, str | float]]


def card(benchmark: str) -> PublishedCard | None:
    """Give the published figures of a suite's card, if its benchmark has any.

    >>> card("natural-instructions").rows[ALL]["tasks"]
    1616
    """
    file = folder_of(benchmark) / CARD if benchmark in BENCHMARKS else None
    return PublishedCard(**json.loads(file.read_text(encoding="utf-8"))) if file and file.is_file() else None


def names() -> list[str]:
    """List the benchmarks whose papers' figures are at hand."""
    return sorted(name for name in BENCHMARKS if (folder_of(name) / FIGURES).is_file())


@cache
def published(name: str) -> Published:
    """Give the figures of a benchmark's paper.

    >>> published("natural-instructions").by("")[0].values["Tk-Instruct 11B"]
    {'all': 62.0}
    """
    if name not in names():
        raise UnknownNameError("paper", name, names())
    read = json.loads((folder_of(name) / FIGURES).read_text(encoding="utf-8"))
    figures = (Figures(**{**table, "notes": tuple(table["notes"])}) for table in read["figures"])
    tasks = {of: PublishedTask(**{**one, "labels": tuple(one["labels"])}) for of, one in read.get("tasks", {}).items()}
    return Published(paper=read["paper"], figures=tuple(figures), said=read["said"], tasks=tasks)
