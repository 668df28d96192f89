"""A summary as rows, and rows for a terminal, Markdown and JSON."""

from __future__ import annotations

import io
import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import fields, is_dataclass
from typing import Any

from ..episodes import shots_text
from ..messages import Note, money, text_of
from ..studies.costs import Cost
from ..studies.results import Failure
from ..suites.leaks import LEAKAGE
from ..texts import counted
from .class_tables import class_tables
from .classes import class_reports, shared_errors
from .contrasts import differs
from .draws import How
from .figures import Figure
from .figures import text as cell_text
from .leaderboards import Leaderboard, Standing
from .numbers import NONE, memory, p_value, score, seconds
from .summary import Summary
from .training import TrainingRow, processor

Rows = list[list[str]]
OTHER_EPISODES = "their means are over other tasks or episodes than of ranked learners"
PAIR_COLUMNS = ["a", "b", "a - b", "p (Holm)", "of pairs", "significant"]
FEW = 20  # rows of a figure on a terminal
FAILURE_COLUMNS = ["learner", "what happened", "cells", "the first"]
TRACEBACKS = "whole tracebacks: --to html or --to json"
TRAINING_COLUMNS = ("model or learner", "trained", "shots", "cells", "parameters", "tokens", "steps", "seconds",
                    "threads", "peak memory", "final loss")  # fmt: skip
COST_COLUMNS = ("learner", "cells", "seconds", "tokens read", "written", "computed / s", "shared", "peak memory",
                "requests", "dollars", "tokens encoded", "seconds encoding")  # fmt: skip


# --- words ---------------------------------------------------------------------------------------------------------


def label(standing: Standing) -> str:
    """Name a learner, and say that it is only a baseline."""
    return f"{standing.learner} (baseline)" if standing.baseline else standing.learner


def marks(standing: Standing) -> str:
    """Give the letters of a standing's groups, with a star for the best and what is not significantly different."""
    return standing.groups + ("*" if standing.best and standing.groups else "")


def partly(standing: Standing) -> str:
    """Say what part of the compared tasks or episodes a learner has, if it does not have all."""
    if standing.missing is None:
        return ""
    values = dict(standing.missing.values)
    tasks = values["tasks"] < values["of"]
    have, of, what = ("tasks", "of", "task") if tasks else ("episodes", "of_episodes", "episode")
    return f"(on {values[have]:,} of {counted(values[of], what)})"


# --- rows ------------------------------------------------------------------------------------------------------------


def scores(summary: Summary, metric: str) -> tuple[list[str], Rows]:
    """Lay the leaderboards of one metric side by side: a row for each learner, a column for each setting of shots."""
    return _side_by_side(summary.of(metric))


def common_scores(summary: Summary, metric: str) -> tuple[list[str], Rows]:
    """Lay out the scores on what learners have in common, at the settings where some lack tasks or episodes."""
    return _side_by_side([found.common for found in summary.of(metric) if found.common])


def common_title(summary: Summary, metric: str) -> str:
    """Say which tasks and episodes the scores of `common_scores` are over."""
    found = [of.common for of in summary.of(metric) if of.common]
    return f"{metric}, on what is common: {'; '.join(map(_extent, found))}"


def _extent(leaderboard: Leaderboard) -> str:
    most = max((s.episodes for s in leaderboard.standings if s.comparable), default=0)
    of = f"{counted(len(leaderboard.ranked_on), 'task')}, {counted(most, 'episode')}"
    return f"{of} at {shots_text(leaderboard.shots)}"


def _side_by_side(leaderboards: Sequence[Leaderboard]) -> tuple[list[str], Rows]:
    if not leaderboards:
        return [], []
    found = [{s.learner: s for s in leaderboard.standings} for leaderboard in leaderboards]
    named = {name: s for by in reversed(found) for name, s in by.items()}
    named = dict(sorted(named.items(), key=lambda pair: pair[1].baseline))  # in order of score, baselines last
    rows = [
        [
            label(standing),
            *(_cell(by.get(name), leaderboard.points) for by, leaderboard in zip(found, leaderboards, strict=True)),
        ]
        for name, standing in named.items()
    ]
    return ["learner", *(shots_text(leaderboard.shots) for leaderboard in leaderboards)], rows


def _cell(standing: Standing | None, points: bool) -> str:
    if standing is None:
        return NONE
    return " ".join(filter(None, [score(standing.score, points), marks(standing), partly(standing)]))


def categories(summary: Summary) -> tuple[list[str], Rows]:
    """Lay the leaderboards of categories out: a row for each, a column for each learner that has a score."""
    standings = [{s.learner: s.score for s in of.leaderboard.standings} for of in summary.categories]
    learners = [name for name in summary.learners if any(name in found for found in standings)]
    rows = []
    for of, found in zip(summary.categories, standings, strict=True):
        cells = [score(found[n], of.leaderboard.points) if n in found else NONE for n in learners]
        rows.append([of.name, of.leaderboard.metric, str(of.leaderboard.shots), *cells])
    return ["category", "metric", "shots", *learners], rows


def figure_table(of: Figure) -> tuple[list[str], Rows]:
    """Write the table of a figure."""
    return list(of.columns), [[cell_text(cell, of.points) for cell in row] for row in of.rows]


def pairs(leaderboard: Leaderboard) -> Rows:
    """Give a row for each paired difference: between learners, then from baselines, which are a family of their own."""
    return [
        [c.a, c.b, score(c, leaderboard.points), p_value(c.p), f"{c.family:,}", "yes" if differs(c) else "no"]
        for c in (*leaderboard.pairs, *leaderboard.against)
    ]  # fmt: skip


def notes(summary: Summary, metric: str) -> list[str]:
    """Gather the notes of a metric, each with the settings that it is about."""
    where: dict[str, list[str]] = {}
    for leaderboard in summary.of(metric):
        for note in leaderboard_notes(leaderboard):
            where.setdefault(note, []).append(shots_text(leaderboard.shots))
    return [f"{', '.join(shots)}: {note}" for note, shots in where.items()]


def leaderboard_notes(leaderboard: Leaderboard, why: str = OTHER_EPISODES) -> Iterator[str]:
    """Say which learners are not ranked and why, and what intervals do not cover."""
    yield from _not_ranked(leaderboard, why)
    for s in leaderboard.standings:
        if s.without:
            yield f"{s.learner}: {s.without} of {counted(s.episodes, 'episode')} without a score, not in the mean"
    yield from map(str, leaderboard.warnings)
    weighed = [s for s in leaderboard.standings if not math.isclose(s.by_instance.value, s.score.value, rel_tol=1e-9)]
    weighed = [s for s in weighed if score(s.by_instance, leaderboard.points) != score(s.score, leaderboard.points)]
    if weighed:
        listed = "; ".join(f"{s.learner} {score(s.by_instance, leaderboard.points)}" for s in weighed)
        yield f"mean over instances (a task weighs as many as it has): {listed}"


def _not_ranked(leaderboard: Leaderboard, why: str) -> Iterator[str]:
    """Name learners that lack tasks or episodes, those that have as many together."""
    found: dict[str, list[str]] = {}
    for s in leaderboard.standings:
        if s.missing:
            found.setdefault(str(s.missing), []).append(s.learner)
    if found:
        listed = "; ".join(f"{', '.join(names)} ({has})" for has, names in found.items())
        yield f"not ranked, because {why}: {listed}"


def brief(summary: Summary) -> list[tuple[Leaderboard, list[Standing]]]:
    """Give, for each leaderboard, the best learner and those that are not significantly different from it."""
    return [(leaderboard, [s for s in leaderboard.standings if s.best]) for leaderboard in summary.leaderboards]


def legend(summary: Summary) -> str:
    """Say what brackets, letters and stars mean."""
    if not summary.leaderboards:
        return f"{NONE}: nothing has been scored yet"
    intervals = f"[ ]: {100 * summary.how.level:.4g} % confidence intervals, for {spoken_of(summary)}"
    marked = [s for found in summary.leaderboards for at in (found, found.common) if at for s in at.standings]
    if any(s.groups for s in marked):
        letters = "learners that share a letter are not significantly different (p >= 0.05, Holm, pairs of learners)"
        return f"{intervals}; {letters}; *: best, or not significantly different from the best"
    if any(s.rank > 0 for s in marked) and any(found.pairs for found in summary.leaderboards):
        return f"{intervals}; no letters: no learners are significantly different (p >= 0.05, Holm, pairs of learners)"
    return intervals


def spoken_of(summary: Summary) -> str:
    """Say which tasks intervals speak of."""
    return spoken(summary.how)


def spoken(how: How) -> str:
    """Say which tasks intervals that are made so speak of."""
    return "these tasks" if how.tasks == "fixed" else "other tasks like these"


def tally(summary: Summary) -> str:
    """Say in one line how much was done."""
    c = summary.counts
    smoke = "a trial with limited sizes: " if summary.smoke else ""
    return f"{smoke}{counted(c.done, 'cell')} done, {c.failed:,} failed, {c.missing:,} not run yet"


def dropped(summary: Summary) -> Rows:
    """Give a row for each thing that was skipped, cut, or could not be used."""
    c = summary.counts
    skipped = [["", f"skipped: {why}", f"{c.skipped[why]:,}"] for why in sorted(c.skipped, key=str)]
    classes = [["", str(note), f"{dict(note.values)['count']:,}"] for note in c.dropped]
    unusable = [[t.learner, f"unusable answer: {text_of(t.what)}", f"{t.count:,} of {t.of:,}"] for t in c.unusable]
    noted = [[t.learner, text_of(t.what), f"{t.count:,}"] for t in c.noted]
    return [*skipped, *classes, *unusable, *noted]


def failures(summary: Summary) -> Rows:
    """Give a row for each cause of failures: what the traceback ends with, and the first cell that it ended.

    That is its last line that is not indented: below it an error may list its faults.
    """
    causes: dict[tuple[str, str], list[Failure]] = {}
    for failure in summary.failures:
        whole = [line for line in failure.traceback.strip().splitlines() if not line.startswith(" ")]
        last = (whole or [str(failure.why)])[-1]
        causes.setdefault((failure.learner, last), []).append(failure)
    return [
        [learner, last, f"{len(found):,}", f"{found[0].task}, {shots_text(found[0].shots)}, seed {found[0].seed}"]
        for (learner, last), found in causes.items()
    ]


def costs(summary: Summary) -> tuple[list[str], Rows]:
    """Give a row for each learner, and each model that was trained, with what it took; empty columns are dropped."""
    c = summary.counts
    rows = [[name, f"{c.cells[name]:,}", *_cost(c.costs[name])] for name in summary.learners if c.cells[name]]
    rows += [[f"training {name}", f"{cells:,}", *_cost(cost)] for name, (cells, cost) in c.training.items()]
    kept = [n for n, name in enumerate(COST_COLUMNS) if n < 3 or any(row[n] for row in rows)]
    return [COST_COLUMNS[n] for n in kept], [[row[n] for n in kept] for row in rows]


def training(summary: Summary) -> tuple[list[str], Rows]:
    """Give a row for each model and learner that was trained, with what that took; empty columns are dropped."""
    rows = [_training_row(row) for row in summary.training.rows]
    kept = [n for n in range(len(TRAINING_COLUMNS)) if n < 2 or any(row[n] for row in rows)]
    return [TRAINING_COLUMNS[n] for n in kept], [[row[n] for n in kept] for row in rows]


def _training_row(of: TrainingRow) -> list[str]:
    shots = "" if of.shots is None else str(of.shots)
    steps, loss = (value if not math.isnan(value) else None for value in (of.steps, of.loss))
    return [
        f"{of.name} (model)" if of.is_model else of.name, of.what, shots, f"{of.cells:,}", f"{of.parameters:,}",
        f"{of.tokens:,.0f}" if of.tokens else "", f"{steps:,.0f}" if steps is not None else "",
        seconds(of.seconds), f"{of.threads:,}" if of.threads else "", memory(of.memory),
        f"{loss:.3g}" if loss is not None else "",
    ]  # fmt: skip


def training_notes(summary: Summary) -> tuple[str, ...]:
    """Say what the numbers about training are of, and what is known of leaks; the certificate is the suite's."""
    where = processor(summary.results)
    measured = f"seconds are of the machine of the run ({where})" if where else ""
    means = "tokens, steps, seconds and the final loss are means per cell; peak memory is of the whole process"
    known = [*map(str, summary.results.taught)]
    return ("; ".join(filter(None, [means, measured])), *known, *(_certificate(summary) if known else ()))


def _certificate(summary: Summary) -> Iterator[str]:
    """Give the lines of the suite's certificate against leaks that are about the folds of what was asked."""
    folds = {fold for task in summary.tasks for fold in summary.results.suite.folds_with(task)}
    lines = summary.about.get(LEAKAGE)
    for line in lines if isinstance(lines, list) else ():
        if isinstance(line, str) and line.partition(": ")[0] in folds:
            yield f"leakage certificate, {line}"


def _cost(of: Cost) -> list[str]:
    speed = of.computed / of.seconds if of.seconds else 0.0
    shared = 1 - of.computed / (of.read + of.written) if of.read + of.written else 0.0
    memory = f"{of.memory / 1e9:.2f} GB" if of.memory else ""
    counts = [f"{n:,}" if n else "" for n in (of.read, of.written)]
    rates = [f"{speed:,.0f}" if of.computed else "", f"{100 * max(shared, 0):.0f} %" if of.computed else ""]
    requests = f"{of.requests:,}" if of.requests else ""
    encoded = [f"{of.encoded:,}", f"{of.encoding:,.1f}"] if of.encoded else ["", ""]
    return [f"{of.seconds:,.1f}", *counts, *rates, memory, requests, _dollars(of), *encoded]


def _dollars(of: Cost) -> str:
    return money(of.dollars) if of.dollars else ""


# --- forms -----------------------------------------------------------------------------------------------------------


class _Screen(io.StringIO):
    """A text that is a terminal where standard output is one."""

    def isatty(self) -> bool:
        return sys.__stdout__ is not None and sys.__stdout__.isatty()


def terminal(summary: Summary) -> str:
    """Write tables for a terminal, or tab-separated values where there is none."""
    from .. import console

    with redirect_stdout(_Screen()) as screen:
        console.line(f"{summary.name}: {tally(summary)}")
        for metric in summary.metrics:
            columns, rows = scores(summary, metric)
            console.line(f"\n{metric}")
            console.table(columns, rows, figures=columns[1:])
            for note in notes(summary, metric):
                console.line(note)
            columns, rows = common_scores(summary, metric)
            if rows:
                console.line(f"\n{common_title(summary, metric)}")
                console.table(columns, rows, figures=columns[1:])
        if summary.categories:
            columns, rows = categories(summary)
            console.line("\nby category")
            console.table(columns, rows, figures=columns[2:])
        console.line(legend(summary))
        for figure in summary.figures:
            _show(figure, FEW if screen.isatty() else len(figure.rows))
        if found := dropped(summary):
            console.line("\nwarnings and counts")
            console.table(["learner", "what", "count"], found)
        if found := failures(summary):
            console.line("\nfailures")
            console.table(FAILURE_COLUMNS, found)
            console.line(TRACEBACKS)
        if summary.training.rows:
            columns, rows = training(summary)
            _show(
                Figure(
                    title="training", columns=tuple(columns), rows=tuple(map(tuple, rows)),
                    notes=training_notes(summary),
                ),
                FEW,
            )  # fmt: skip
        if any(cost.read or cost.encoded for cost in summary.counts.costs.values()):
            console.line("\ncompute cost")
            columns, rows = costs(summary)
            console.table(columns, rows, figures=columns[1:])
        if summary.findings:
            console.line("\nFindings")
        for finding in summary.findings:
            console.line(f"- {finding}")
    return screen.getvalue()


def _show(figure: Figure, most: int) -> None:
    from .. import console

    columns, rows = figure_table(figure)
    console.line(f"\n{figure.title}")
    fit = console.fitting(columns, rows[:most])
    if rows:
        console.table(columns[:fit], [row[:fit] for row in rows[:most]], figures=columns[1:fit])
    if fit < len(columns):
        console.line(f"too wide for this terminal, and in the other forms of report: {', '.join(columns[fit:])}")
    if len(rows) > most:
        console.line(f"{counted(len(rows) - most, 'more row')} in the other forms of report")
    for note in figure.notes:
        console.line(note)


def markdown(summary: Summary) -> str:
    """Write Markdown tables."""
    parts = [f"# {_md(summary.name)}", tally(summary)]
    parts += ["\n".join(f"- {_md(str(finding))}" for finding in summary.findings)]
    for metric in summary.metrics:
        parts += [f"## {_md(metric)}", _md_table(*scores(summary, metric))]
        parts += ["\n".join(f"- {_md(note)}" for note in notes(summary, metric))]
        if any(found.common for found in summary.of(metric)):
            parts += [f"### {_md(common_title(summary, metric))}", _md_table(*common_scores(summary, metric))]
        last = summary.of(metric)[-1]
        for ranked in filter(None, (last, last.common)):
            parts += [f"Paired differences, {_extent(ranked)}:", _md_table(PAIR_COLUMNS, pairs(ranked))]
        parts += ["Signature: " + ", ".join(f"`{_code(s)}`" for s in summary.signatures[metric])]
    if summary.categories:
        parts += ["## By category", _md_table(*categories(summary))]
    parts += [legend(summary)]
    for figure in summary.figures:
        parts += [f"## {_md(figure.title)}", _md_table(*figure_table(figure)) if figure.rows else ""]
        parts += ["\n".join(f"- {_md(note)}" for note in figure.notes)]
    if found := dropped(summary):
        parts += ["## Warnings and counts", _md_table(["learner", "what", "count"], found)]
    for title, table in class_tables(summary):
        parts += [f"## {_md(title)}", _md_table(*table)]
    if found := failures(summary):
        parts += ["## Failures", _md_table(FAILURE_COLUMNS, found), f"{TRACEBACKS}."]
    if summary.training.rows:
        parts += ["## Training", _md_table(*training(summary))]
        parts += ["\n".join(f"- {_md(note)}" for note in training_notes(summary))]
    parts += ["## Compute cost", _md_table(*costs(summary))] if summary.counts.done else []
    parts += ["## Run it again", f"    {' '.join(summary.command.split())}", f"Suite: `{summary.fingerprint}`"]
    return "\n\n".join(part for part in parts if part) + "\n"


def _md_table(columns: Sequence[str], rows: Rows) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(c if line is lines[1] else _md(c) for c in line) + " |" for line in lines)


def _code(text: str) -> str:
    return " ".join(text.replace("`", "'").split())


def _md(text: str) -> str:
    escaped = re.sub(r"([\\`*_|\[\]#])", r"\\\1", " ".join(text.split()))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def as_json(summary: Summary) -> str:
    r"""Write all of a summary; what has no value is null, and `<` is \u003c, so that it may stand in a page."""
    results, level = summary.results, summary.how.level
    found = plain(summary) | {
        "classes": plain([one for task in summary.tasks for one in class_reports(results, task, level=level)]),
        "shared_errors": plain([of for task in summary.tasks if (of := shared_errors(results, task))]),
    }
    return json.dumps(found, ensure_ascii=False, indent=1, allow_nan=False).replace("<", "\\u003c") + "\n"


def plain(value: Any) -> Any:
    """Give what JSON can hold: no value is null, and what is only drawn is left out."""
    if isinstance(value, Note):
        return value.to_json()
    if is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value) if "drawn" not in f.metadata}
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
