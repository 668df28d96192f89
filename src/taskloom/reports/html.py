"""A summary as one HTML file: it loads nothing, has all data escaped, and can be read without its script."""

from __future__ import annotations

from html import escape

from ..episodes import shots_order
from ..texts import counted
from .page import about
from .page.boards import boards
from .page.tasks import links, tasks
from .page.training import training
from .pages import document
from .summary import Summary


def page(summary: Summary) -> str:
    """Write the report."""
    return _page(summary, script=True)


def _page(summary: Summary, *, script: bool) -> str:
    names = links(summary)
    body = [
        _top(summary), "<main>", about.warnings(summary), boards(summary, names),
        about.categories(summary), about.figures(summary), training(summary), tasks(summary, with_items=script),
        about.failures(summary.failures), about.method(summary), "</main>", about.footer(summary),
    ]  # fmt: skip
    return document(summary.name, body, script=script)


def frame(summary: Summary) -> str:
    """Write the report as a frame for a notebook, which runs no script."""
    style = "width:100%;height:40rem;border:0"
    return (
        f'<iframe sandbox="" style="{style}" title="report" srcdoc="{escape(_page(summary, script=False))}"></iframe>'
    )


def _top(summary: Summary) -> str:
    """Write the name of the study, what it is of, and where to go."""
    contested = len(summary.learners.keys() - set(summary.baselines))
    shots = ", ".join(map(str, sorted({b.shots for b in summary.leaderboards}, key=shots_order)))
    facts = [
        f"suite {escape(summary.suite)}",
        counted(len(summary.tasks), "task"),
        counted(contested, "learner"),
        counted(len(summary.baselines), "baseline") if summary.baselines else "",
        f"{shots} shots" if shots else "",
        counted(len(summary.seeds), "seed") if summary.seeds else "",
    ]
    return (
        f'<header class="top"><h1>{escape(summary.name)}</h1><p>{" · ".join(filter(None, facts))}</p>{_nav(summary)}'
        "</header>"
    )


def _nav(summary: Summary) -> str:
    to = [("boards", "Scores")] if summary.leaderboards else []
    to += [("categories", "By category")] if summary.categories else []
    to += [("figures", "Figures")] if summary.figures else []
    to += [("training", "Training")] if summary.training.rows else []
    to += [("tasks", "Tasks"), *([("failures", "Failures")] if summary.failures else []), ("method", "The run")]
    items = "".join(f'<li><a href="#{name}">{escape(text)}</a></li>' for name, text in to)
    return f'<nav aria-label="Sections"><ul>{items}</ul></nav>'
