"""The card of a suite as it is shown: figures beside the published ones, and how tasks are spread over names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any, TypeAlias

from ..benchmarks import published
from ..core import DROPPED, Suite
from ..messages import counted_text
from ..suites.cards import CardRow, Spread, is_tagged, label_spreads, records_of, sizes, task_card
from ..suites.cards import card as table_card
from ..texts import counted, human, length_unit
from . import pages, svg

Value: TypeAlias = str | int | float | None
WORDS: Mapping[str, str] = {  # fields of a task card, as people read them
    "tasks": "tasks",
    "types": "task types",
    "languages": "languages of inputs and outputs",
    "instruction_languages": "languages of instructions",
    "domains": "domains",
    "sources": "sources",
    "non_english": "tasks not only in English",
    "instances": "instances",
    "words": "mean words of a definition",
    "positive": "mean positive examples of a task",
    "negative": "mean negative examples of a task",
    "instances_per_task": "mean instances of a task",
}
NOUNS: Mapping[str, str] = {
    "types": "task type", "languages": "language", "domains": "domain", "kinds": "kind", "levels": "level",
    "origins": "origin", "forms": "form", "transfers": "kind of transfer", "formats": "format",
    "trainings": "role in training",
}  # fmt: skip
BLOCKS = " ▏▎▍▌▋▊▉█"  # eighths of a character
MOST_BARS = 40  # of a plot
BAR = 24  # characters of the longest bar


@dataclass(frozen=True, slots=True)
class Sheet:
    """A card made ready: a table, what is to be said of it, counts to be drawn, and all of it for programs."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    data: Any
    notes: tuple[str, ...] = ()
    spreads: Mapping[str, Spread] = field(default_factory=dict)
    counts_of: str = "task"  # what spreads count
    sizes: Mapping[str, Sequence[int]] = field(default_factory=dict)  # of texts and lists, by field
    unit: str = ""  # that texts are measured in
    about: Mapping[str, str] = field(default_factory=dict)


def sheet(suite: Suite) -> Sheet:
    """Make the card of a suite ready: of the table behind its tasks, or else of their tags."""
    return _of_tags(suite) if is_tagged(suite) else _of_table(suite)


def _published(suite: Suite) -> published.PublishedCard | None:
    return published.card(str(suite.about.get("benchmark", "")))


# --- of tags ---------------------------------------------------------------------------------------------------------


def _of_tags(suite: Suite) -> Sheet:
    found = task_card(suite)
    beside = _published(suite)
    figures = beside.rows.get(published.ALL, {}) if beside else {}
    rows = [(words, getattr(found, name), figures.get(name)) for name, words in WORDS.items()]
    return Sheet(
        title=suite.id,
        columns=("what", "here", "published")[: 3 if figures else 2],
        rows=tuple(row if figures else row[:2] for row in rows),
        data=asdict(found) | {"published": dict(figures) or None},
        notes=(*_without(found.spreads), *_dropped(suite), *([f"published: {beside.note}"] if beside else [])),
        spreads={what: spread for what, spread in found.spreads.items() if spread.counts},
        about=pages.facts(suite.id, suite.fingerprint, suite.about),
    )


def _dropped(suite: Suite) -> Iterator[str]:
    """Say what is in no task, and why."""
    kept: Any = suite.about.get(DROPPED)
    if kept:
        yield f"dropped: {counted_text(kept)}"


def _without(spreads: Mapping[str, Spread]) -> Iterator[str]:
    for what, spread in spreads.items():
        if spread.without:
            yield f"without a {NOUNS[what]}: {counted(spread.without, 'task')}"


# --- of a table ------------------------------------------------------------------------------------------------------


def _of_table(suite: Suite) -> Sheet:
    rows = table_card(suite)
    beside = _published(suite)
    figures = beside.rows if beside else {}
    labelled = [f.name for f in records_of(suite).fields if f.kind == "label"][:2]
    legend = [f"in brackets: {beside.note}"] if beside else []
    language = str(suite.about.get("language", "en"))
    return Sheet(
        title=suite.id,
        columns=(*(labelled or [""]), *rows[0].means, "records"),
        rows=tuple(_table_cells(row, len(labelled), figures.get(row.label, {})) for row in rows),
        data=[asdict(row) | {"published": figures.get(row.label)} for row in rows],
        notes=(f"texts in {length_unit(language)}, lists in terms", *legend),
        spreads=label_spreads(records_of(suite)),
        counts_of="record",
        sizes=sizes(records_of(suite), language),
        unit=f"{length_unit(language)}, or terms of lists",
        about=pages.facts(suite.id, suite.fingerprint, suite.about),
    )


def _table_cells(row: CardRow, labelled: int, beside: Mapping[str, str | float]) -> tuple[Value, ...]:
    """Write a row of the card, each figure with the published one in brackets where there is one."""
    below = {"labels_below": row.labels_below} if labelled > 1 else {}
    figures: dict[str, Value] = {**below, **row.means, "records": row.records}
    return (row.label, *(f"{_figure(v)} ({beside[k]:,})" if k in beside else v for k, v in figures.items()))


def _figure(value: Value) -> str:
    return f"{value:.1f}" if isinstance(value, float) else str(value)


# --- shown -----------------------------------------------------------------------------------------------------------


def blocks(count: int, most: int) -> str:
    """Draw a count as a bar of characters whose length goes by its logarithm.

    >>> blocks(100, 100) == BAR * "█", blocks(1, 100)
    (True, '███▏')
    """
    eighths = round(8 * BAR * svg.log_share(count, most))
    return (eighths // 8 * BLOCKS[-1] + BLOCKS[eighths % 8]).rstrip()


def page(sheet: Sheet) -> str:
    """Write a card as a page."""
    rows = [[human(cell) for cell in row] for row in sheet.rows]
    return pages.document(f"{sheet.title}: card", [
        f"<header><h1>{escape(sheet.title)}</h1></header><main>",
        f"<h2>In numbers</h2>{pages.table(sheet.columns, rows, 'figures')}",
        *(f'<p class="small soft">{escape(note)}</p>' for note in sheet.notes),
        _spreads(sheet),
        _sizes(sheet),
        f"<h2>About</h2>{pages.table(['what', 'value'], sheet.about.items(), 'loose')}</main>",
    ])  # fmt: skip


def _spreads(sheet: Sheet) -> str:
    if not sheet.spreads:
        return ""
    of = sheet.counts_of
    how = f"Bars go by the logarithm of the number of {of}s; a {of} counts once for each name it has."
    drawn = "".join(_spread(NOUNS.get(what, what), spread, of) for what, spread in sheet.spreads.items())
    return f'<h2>How {of}s are spread</h2><p class="small soft">{how}</p><div class="spreads">{drawn}</div>'


def _spread(noun: str, spread: Spread, of: str) -> str:
    """Draw counts, of many names those of the most common, and list them all with their whole names."""
    rows = [(name, f"{count:,}") for name, count in spread.counts.items()]
    drawn = svg.bars(list(spread.counts.items())[:MOST_BARS], f"number of {of}s by {noun}")
    more = f'<p class="small soft">drawn: the {MOST_BARS} most common</p>' if len(rows) > MOST_BARS else ""
    listed = pages.table([noun, f"{of}s"], rows, "figures")
    return (
        f"<section><h3>{counted(len(rows), noun).capitalize()}</h3><figure>{drawn}</figure>{more}"
        f"{pages.folded('As a table', listed)}</section>"
    )


def _sizes(sheet: Sheet) -> str:
    """Draw how long texts and lists are."""
    if not any(sheet.sizes.values()):
        return ""
    drawn = "".join(
        f"<section><h3>{escape(name.capitalize())}</h3><figure>"
        f"{svg.histogram(found, f'lengths of {name}', axis=sheet.unit)}</figure></section>"
        for name, found in sheet.sizes.items()
        if found
    )
    return f'<h2>Lengths</h2><p class="small soft">Records by length.</p><div class="spreads">{drawn}</div>'
