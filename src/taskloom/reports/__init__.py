"""Results to reports: tables, plots, and one HTML file that works offline.

`summarise` sums results up; `render` writes them for people and programs; `compare` gives paired differences of two
learners.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import cast

from ..errors import UnknownNameError
from ..studies.results import Results
from ..texts import without_surrogates
from .contrasts import differs
from .draws import How
from .leaderboards import Leaderboard, Standing
from .summary import Comparison, Summary, comparisons, summarise

TERMINAL = "terminal"  # the form that is styled already where it goes to a terminal
FORMS: Mapping[str, str] = {
    TERMINAL: "tables:terminal",
    "md": "tables:markdown",
    "csv": "score_table:as_csv",
    "tex": "latex:latex",
    "json": "tables:as_json",
    "html": "html:page",
}
ITEMS = "items"  # the form that is of single answers, and written by `items.write_items`
__all__ = [
    "FORMS",
    "ITEMS",
    "Comparison",
    "How",
    "Leaderboard",
    "Standing",
    "Summary",
    "check_form",
    "compare",
    "differs",
    "render",
    "summarise",
]


def render(results: Results | Summary, to: str, how: How | None = None) -> str:
    """Write a report of results, or of a summary that was made of them."""
    if to not in FORMS:
        raise UnknownNameError("form of report", to, FORMS)
    summary = summarise(results, how) if isinstance(results, Results) else results
    module, _, name = FORMS[to].partition(":")
    write = cast(Callable[[Summary], str], getattr(import_module(f".{module}", __package__), name))
    return without_surrogates(write(summary))  # names and errors may hold half a character, which no file can


def check_form(to: str, output: Path | None = None) -> None:
    """Refuse a form of report that there is not, or a file that can't have it, before any work."""
    if to not in (*FORMS, ITEMS):
        raise UnknownNameError("form of report", to, (*FORMS, ITEMS))
    if to == ITEMS and output:
        from .items import check_ending

        check_ending(output)


def compare(results: Results, a: str, b: str, how: How | None = None) -> tuple[Comparison, ...]:
    """Compare two learners on the answers that both have given: a - b, over all tasks and task by task."""
    for name in (a, b):
        if name not in results.learners:
            raise UnknownNameError("learner", name, results.learners)
    return comparisons(results, a, b, how)
