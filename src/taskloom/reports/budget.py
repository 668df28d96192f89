"""A plan for a budget as people read it: tables, plots of width and coverage over episodes, and one page."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, TypeAlias

from ..errors import UsageError
from ..folders import write_output
from ..messages import Note
from ..sample_sizes import LEVEL, POWER, SampleSize, SampleSizes
from ..stats import Estimate
from ..studies.budget import Share, StudyBudget
from ..texts import time_text, without_surrogates
from . import numbers, pages, plots
from .plot_files import standalone
from .tables import plain

Table: TypeAlias = tuple[Sequence[str], Sequence[Sequence[str]]]
FORMS = (".html", ".svg")


# --- tables ----------------------------------------------------------------------------------------------------------


def choices_table(found: StudyBudget) -> Table:
    """Write the sizes to choose from, and the best of other budgets; all in points."""
    items = "test items" if found.items_of == "each" else f"test items {found.items_of}"
    columns = ("budget", "episodes", items, "time", "width", "coverage", "detectable", "")
    rows = [_row(found.seconds, one, found, "narrowest" if one == found.best else "") for one in found.sizes.choices]
    others = [_row(seconds, sizes.best, found, "narrowest") for seconds, sizes in found.others.items()]
    return columns, [*rows, *others]


def _row(budget: float, one: SampleSize, found: StudyBudget, note: str) -> list[str]:
    if not one.is_covered:
        note = ", ".join(filter(None, [note, "too few episodes"]))
    return [
        time_text(budget), f"{one.episodes:,}", f"{one.items:,}", time_text(found.fixed + one.seconds),
        points(one.width), f"{100 * one.coverage.value:.1f} %", points(one.detectable), note,
    ]  # fmt: skip


def shares_table(what: str, shares: Sequence[Share]) -> Table:
    """Write what learners, or tasks, take of a budget."""
    whole = sum(share.seconds for share in shares) or 1.0
    columns = (what, "s per episode", "s per item", "time", "share", "width", "detectable")
    return columns, [
        [
            share.name, numbers.seconds(share.fit), numbers.seconds(share.item), time_text(share.seconds),
            f"{share.seconds / whole:.0%}", points(share.width), points(share.detectable),
        ]
        for share in shares
    ]  # fmt: skip


def points(value: float) -> str:
    """Write a width or a difference in points.

    >>> points(0.02249), points(float("nan"))
    ('2.25', 'no value')
    """
    return numbers.NONE if math.isnan(value) else f"{100 * value:.2f}"


def recommended(found: StudyBudget) -> str:
    """Say what is best, in one sentence."""
    best, tasks = found.best, len(found.tasks)
    overall = f", and {points(best.overall_width)} points of the mean over {tasks} tasks" if tasks > 1 else ""
    return (
        f"{best.episodes:,} episodes with {best.items:,} test items {found.items_of}: "
        f"an interval of {points(best.width)} points on one task{overall}"
    )


def detectable(found: StudyBudget) -> str:
    """Say which differences between two models would be found."""
    best, several = found.best, len(found.tasks) > 1
    overall = f" (or by {points(best.overall_detectable)} on average over all tasks)" if several else ""
    return (
        f"two models that differ by {points(best.detectable)} points on one task{overall} "
        f"are significantly different in {100 * POWER:.0f} of 100 studies"
    )


def as_data(found: StudyBudget) -> dict[str, Any]:
    """Give all of a plan for programs."""
    told: dict[str, Any] = plain(found)
    return told | {"best": plain(found.best), "notes": [plain(note) | {"text": str(note)} for note in found.notes]}


# --- plots -----------------------------------------------------------------------------------------------------------


def width_plot(budgets: Mapping[str, SampleSizes], *, width: int = plots.WIDE) -> str:
    """Draw the width of intervals over episodes, a line for each budget."""
    lines = [
        plots.Curve(name, [(one.episodes, _exactly(100 * one.width)) for one in sizes.choices])
        for name, sizes in budgets.items()
    ]
    return plots.curves(lines, "width over episodes", over="episodes", up="width of the interval, points", width=width)


def coverage_plot(budgets: Mapping[str, SampleSizes], *, width: int = plots.WIDE) -> str:
    """Draw how often intervals hold the true value over episodes, a line for each budget, beside what they say."""
    ends = sorted({one.episodes for sizes in budgets.values() for one in sizes.choices})
    said = plots.Curve(f"{LEVEL:.0%}", [(at, _exactly(100 * LEVEL)) for at in ends[:: max(1, len(ends) - 1)]], True)
    lines = [
        plots.Curve(name, [(one.episodes, numbers.shown(one.coverage, True)) for one in sizes.choices])
        for name, sizes in budgets.items()
    ]
    return plots.curves([*lines, said], "coverage over episodes", over="episodes", up="coverage, %", width=width)


def _exactly(value: float) -> Estimate:
    return Estimate(value, math.nan, math.nan, 0)


def by_budget(found: StudyBudget) -> dict[str, SampleSizes]:
    """Name the budgets that were looked at, the smallest first."""
    every = {found.seconds: found.sizes, **found.others}
    return {time_text(seconds): every[seconds] for seconds in sorted(every)}


# --- files -----------------------------------------------------------------------------------------------------------


def check_plot_file(path: Path) -> None:
    """Refuse a file that plots can't be written to, before any work."""
    if path.suffix not in FORMS:
        raise UsageError(Note.of("plot-file-unknown", forms=list(FORMS), path=path))


def plot_files(path: Path) -> list[Path]:
    """Name the files that are written: a page, or an SVG file for each plot, named after the path."""
    return [path] if path.suffix == ".html" else [path.with_name(f"{path.stem}-{name}.svg") for name in DRAWN]


def write_plots(found: StudyBudget, path: Path) -> list[Path]:
    """Write a page with plots and tables, or both plots as SVG files that are named after the path."""
    check_plot_file(path)
    drawn = [page(found)] if path.suffix == ".html" else [standalone(plot(by_budget(found))) for plot in DRAWN.values()]
    files = plot_files(path)
    for file, text in zip(files, drawn, strict=True):
        write_output(file, text)
    return files


DRAWN: Mapping[str, Callable[[Mapping[str, SampleSizes]], str]] = {"width": width_plot, "coverage": coverage_plot}


def page(found: StudyBudget) -> str:
    """Write the plan as one page, which loads nothing."""
    budgets = by_budget(found)
    drawn = {
        "Width of the interval": plots.responsive(lambda width: width_plot(budgets, width=width)),
        "Coverage of the interval": plots.responsive(lambda width: coverage_plot(budgets, width=width)),
    }
    figures = "".join(
        f'<section class="figure"><h3>{title}</h3><figure>{plot}</figure></section>' for title, plot in drawn.items()
    )
    notes = "".join(f"<li>{escape(str(note))}</li>" for note in found.notes)
    budget, told = (
        f"a budget of {time_text(found.seconds)}, with one worker",
        f"{recommended(found)}; {detectable(found)}",
    )
    body = [
        f'<header class="top"><h1>{escape(found.study)}</h1><p>{budget}</p></header>',
        f"<main><h2>Recommended</h2><p>{escape(told)}</p><pre>{escape(found.lines)}</pre>", figures,
        "<h2>Sizes</h2>", pages.table(*choices_table(found), "n"),
        "<h2>Learners</h2>", pages.table(*shares_table("learner", found.learners), "n"),
        "<h2>Tasks</h2>", pages.table(*shares_table("task", found.tasks), "n"),
        f'<h2>Notes</h2><ul class="notes">{notes}</ul></main>',
    ]  # fmt: skip
    return without_surrogates(pages.document(f"{found.study}, {time_text(found.seconds)}", body))
