"""The card of a suite: what is in the table behind its tasks, label by label, or what the tags of its tasks say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

import pyarrow as pa
import pyarrow.compute as pc

from ..core import Suite, Task
from ..errors import SuiteError
from ..texts import length
from .columns import texts
from .fields import FieldPool, Records

TAGS: Mapping[str, tuple[str, ...]] = {  # what is counted -> the tags that name it
    "types": ("category", "type"),
    "languages": ("input_language", "output_language", "language"),
    "instruction_languages": ("instruction_language",),
    "domains": ("domain",),
    "sources": ("source",),
    "kinds": ("kind",),
    "levels": ("level",),
    "origins": ("origin",),
    "forms": ("form",),
    "transfers": ("transfer",),
    "formats": ("format",),
    "trainings": ("training",),
}
SPREAD = ("types", "languages", "domains", "kinds", "levels", "origins", "forms", "transfers", "formats", "trainings")
COUNTED = ("types", "languages", "instruction_languages", "domains", "sources")  # in the table of a card
ENGLISH = {"English", "en"}


@dataclass(frozen=True, slots=True)
class CardRow:
    """What is known of the records of one label; `means` has a length for each text and a size for each list."""

    label: str
    labels_below: int
    means: dict[str, float | None] = field(default_factory=dict)
    records: int = 0


@dataclass(frozen=True, slots=True)
class Spread:
    """How many tasks or records go by each name, the most common first, and how many by none."""

    counts: dict[str, int]
    without: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCard:
    """What is known of tasks without reading an example; None where no task has the tag."""

    tasks: int
    types: int | None
    languages: int | None  # of inputs and outputs
    instruction_languages: int | None
    domains: int | None
    sources: int | None
    non_english: int | None  # tasks with another language than English in inputs or outputs
    instances: int
    words: float  # of a definition; this and what follows are means over tasks
    positive: float
    negative: float
    instances_per_task: float
    spreads: dict[str, Spread] = field(default_factory=dict)


# --- of a table ------------------------------------------------------------------------------------------------------


def records_of(suite: Suite) -> Records:
    """Give the table that a field suite was made from."""
    found = _records(suite)
    if found is None:
        raise SuiteError(f"only for suites that were built from a table: {suite.id!r}")
    return found


def _records(suite: Suite) -> Records | None:
    pools = (pool for pools in suite.pools.values() for pool in pools.values())
    return next((pool.records for pool in pools if isinstance(pool, FieldPool)), None)


def card(suite: Suite, by: str = "", below: str = "") -> list[CardRow]:
    """Describe the table of a field suite, the largest label first, all records last.

    Records are put together by the first label field, and the labels of the second are counted below it.
    """
    of = records_of(suite)
    for name in filter(None, (by, below)):
        if of.field(name).kind != "label":
            raise SuiteError(f"records can be grouped only by a field of kind label: {name!r}")
    labelled = [f.name for f in of.fields if f.kind == "label"]
    by = by or (labelled[0] if labelled else "")
    below = below or next((name for name in labelled if name != by), "")
    language = str(suite.about.get("language", "en"))
    rows = [_row(of, language, below, label, part) for label, part in _parts(of, by)]
    return [*sorted(rows, key=lambda row: (-row.records, row.label)), _row(of, language, below, "all", of.table)]


def _parts(of: Records, by: str) -> Iterator[tuple[str, pa.Table]]:
    if by:
        for label in of.label_names[by]:
            yield label, of.table.filter(pc.equal(of.table[by], label))


def _row(of: Records, language: str, below: str, label: str, part: pa.Table) -> CardRow:
    means: dict[str, float | None] = {}
    for f in (f for f in of.fields if f.kind in ("text", "list")):
        values = texts(part[f.name].drop_null())
        means[f.name] = fmean([_size(value, language) for value in values]) if values else None
    return CardRow(label, len(pc.unique(part[below].drop_null())) if below else 0, means, part.num_rows)


def label_spreads(of: Records) -> dict[str, Spread]:
    """Count the records of each label, field by field."""
    found = {}
    for name in of.label_names:
        values = texts(of.table[name])
        found[name] = _spread([{value} if value is not None else set() for value in values])
    return found


def sizes(of: Records, language: str) -> dict[str, list[int]]:
    """Give the length of each text and the number of terms of each list, field by field."""
    fields = [f.name for f in of.fields if f.kind in ("text", "list")]
    return {name: [_size(value, language) for value in texts(of.table[name].drop_null())] for name in fields}


def _size(value: str | Sequence[str], language: str) -> int:
    return length(value, language) if isinstance(value, str) else len(value)


# --- of tags ---------------------------------------------------------------------------------------------------------


def is_tagged(suite: Suite) -> bool:
    """Tell whether tags are what there is to describe: a table says more than the tags of tasks made from it."""
    known = {tag for tags in TAGS.values() for tag in tags}
    return _records(suite) is None and any(known & task.tags.keys() for task in suite.tasks.values())


def task_card(suite: Suite) -> TaskCard:
    """Describe tasks by their tags, instructions and sizes; no example is read."""
    if not is_tagged(suite):
        raise SuiteError(f"a card needs tasks with tags, such as category or domain: {suite.id!r}")
    tasks = list(suite.tasks.values())
    spreads = {what: _spread([_names(task, tags) for task in tasks]) for what, tags in TAGS.items()}
    counts = {what: len(spreads[what].counts) or None for what in COUNTED}
    foreign = sum(bool(_names(task, TAGS["languages"]) - ENGLISH) for task in tasks)
    instances = sum(len(pool) for pools in suite.pools.values() for pool in pools.values())
    return TaskCard(
        tasks=len(tasks),
        **counts,
        non_english=foreign if spreads["languages"].counts else None,
        instances=instances,
        words=fmean(length(task.instruction, "en") for task in tasks),  # definitions are English, or have spaces
        positive=fmean(sum(shown.right for shown in task.examples) for task in tasks),
        negative=fmean(sum(not shown.right for shown in task.examples) for task in tasks),
        instances_per_task=instances / len(tasks),
        spreads={what: spreads[what] for what in SPREAD if what in COUNTED or spreads[what].counts},
    )


def _names(task: Task, tags: Sequence[str]) -> set[str]:
    return {name for tag in tags for name in task.tags.get(tag, ()) if name.strip()}


def _spread(named: Sequence[set[str]]) -> Spread:
    """Count what has names: once for each of them."""
    counts = Counter(name for names in named for name in names)
    order = sorted(counts, key=lambda name: (-counts[name], name))
    return Spread({name: counts[name] for name in order}, sum(not names for names in named))
