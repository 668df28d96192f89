"""A summary as one HTML file: it loads nothing, runs no script, and has all that comes from data escaped."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from ..episodes import shots_order, shots_text
from ..stats import Estimate
from ..studies.results import Failure
from ..texts import counted
from . import cite, numbers, pages, svg, tables
from .contrasts import differs
from .figures import Figure
from .leaderboards import Leaderboard, Standing
from .pages import box as _box
from .pages import document, folded, score
from .pages import table as _table
from .summary import Summary, curve
from .task_pages import tasks

TRACEBACK = 4000  # characters that are shown
FAILURES = 20
SIGNATURES = 20  # that are shown without being asked
FOREST = 12  # rows of the plot of differences


def page(summary: Summary) -> str:
    """Write the report."""
    return document(summary.name, _sections(summary))


def frame(summary: Summary) -> str:
    """Write the report as a frame for a notebook."""
    style = "width:100%;height:40rem;border:0"
    return f'<iframe sandbox="" style="{style}" title="report" srcdoc="{escape(page(summary))}"></iframe>'


def _sections(summary: Summary) -> Iterator[str]:
    yield _top(summary)
    for number, metric in enumerate(summary.metrics):
        yield _metric(summary, metric, number)
    yield _categories(summary)
    for number, figure in enumerate(summary.figures):
        yield _study_figure(figure, number)
    yield tasks(summary)
    yield _counted(summary)
    yield _failures(summary.failures)
    yield _provenance(summary)


# --- the top ---------------------------------------------------------------------------------------------------------


def _top(summary: Summary) -> str:
    contested = len(summary.learners.keys() - set(summary.baselines))
    shots = ", ".join(map(str, sorted({b.shots for b in summary.leaderboards}, key=shots_order))) or "none"
    sizes = f"{counted(len(summary.tasks), 'task')}, {counted(contested, 'learner')}"
    baselines = f", {counted(len(summary.baselines), 'baseline')}" if summary.baselines else ""
    warn = [
        "This was a trial with limited sizes: its numbers are no results." if summary.smoke else "",
        f"{counted(summary.counts.failed, 'cell')} failed; they are listed below." if summary.counts.failed else "",
        f"{counted(summary.counts.missing, 'cell')} not run yet." if summary.counts.missing else "",
    ]
    return "".join([
        f"<header><h1>{escape(summary.name)}</h1>",
        f'<p class="soft">Suite <b>{escape(summary.suite)}</b>: {sizes}{baselines}; shots: {shots}. '
        f"{escape(tables.tally(summary))}.</p></header><main>",
        *(f'<p class="warn">{line}</p>' for line in warn if line),
        f"<h2>In brief</h2>{_brief(summary)}{_sure(summary)}{_learners(summary)}{_nav(summary)}",
    ])  # fmt: skip


def _brief(summary: Summary) -> str:
    if not summary.leaderboards:
        return "<p>No value: nothing has been scored yet.</p>"
    leaderboards = [
        (leaderboard, best)
        for leaderboard, best in tables.brief(summary)
        if leaderboard is summary.of(leaderboard.metric)[-1]
    ]
    items = "".join(f"<li>{_in_words(leaderboard, best)}</li>" for leaderboard, best in leaderboards)
    return f"<ul>{items}</ul>"


def _in_words(leaderboard: Leaderboard, best: Sequence[Standing]) -> str:
    where = f"<b>{escape(leaderboard.metric)}</b>, {shots_text(leaderboard.shots)}: "
    if not best:
        return f"{where}no learner has a value."
    names = [f"{escape(s.learner)} ({numbers.score(s.score, leaderboard.points)})" for s in best]
    rivals = sum(s.rank > 0 for s in leaderboard.standings)
    absent = any(not s.rank and not s.baseline for s in leaderboard.standings)
    if rivals == 1:
        words = f"{names[0]}, and no other learner to compare it with"
    elif len(names) == 1:
        words = f"{names[0]} is the best, and is told apart from all other learners{' with a score' if absent else ''}"
    else:
        words = f"{names[0]} has the best score, but can't be told from {_and(names[1:])}"
    return f"{where}{words}{_above(leaderboard, best[0])}."


def _above(leaderboard: Leaderboard, best: Standing) -> str:
    """Say so if the best is below a baseline, or can't be told from one."""
    apart = {frozenset((c.a, c.b)) for c in leaderboard.against if differs(c)}
    known = [s for s in leaderboard.standings if s.baseline and s is not best and not math.isnan(s.score.value)]
    better = [s for s in known if leaderboard.sign * (s.score.value - best.score.value) > 0]
    above = [escape(s.learner) for s in better if frozenset((s.learner, best.learner)) in apart]
    near = [escape(s.learner) for s in known if frozenset((s.learner, best.learner)) not in apart]
    told = [f"it is below the baseline {_and(above)}"] if above else []
    told += [f"it can't be told from the baseline {_and(near)}"] if near else []
    return "".join(f'; <span class="wrong">{words}</span>' for words in told)


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _sure(summary: Summary) -> str:
    if not summary.leaderboards:
        return ""
    level = f"{100 * summary.how.level:.4g} %"
    return (
        '<p class="small soft">A score is the mean over tasks of the mean over episodes, in points from 0 to 100 '
        f"(squared errors as they are). Brackets are {level} intervals from {summary.how.count:,} resamples of "
        f"episodes and records; they speak of {tables.spoken_of(summary)}. An interval of no width says that all "
        "resamples agree, not that one can be sure. Learners are compared on the same items; they are told apart where "
        "p &lt; 0.05 and the interval of the difference has no zero. p is the larger of that of a paired permutation "
        "test and that of the difference against its error, which knows of records that are shared; it is corrected "
        "by Holm for all pairs.</p>"
    )


def _learners(summary: Summary) -> str:
    rows = [
        [f"{name} (baseline)" if name in summary.baselines else name, about] for name, about in summary.learners.items()
    ]
    what, took = _table(["learner", "what"], rows), _table(*tables.costs(summary))
    note = (
        '<p class="small soft">Seconds are of cells, without loading a model. Shared are tokens of prompts that were '
        "computed once for several; memory is the most that a process held during a cell.</p>"
    )
    return folded("Learners, and what they took", f"{what}{took}{note}")


def _nav(summary: Summary) -> str:
    links = [(f"m{number}", metric) for number, metric in enumerate(summary.metrics)]
    links += [("categories", "by category")] if summary.categories else []
    links += [(f"x{number}", figure.title) for number, figure in enumerate(summary.figures)]
    links += [("tasks", "tasks"), ("counts", "counted on the way"), ("again", "run it again, cite it")]
    return "<nav><ul>" + "".join(f'<li><a href="#{to}">{escape(text)}</a></li>' for to, text in links) + "</ul></nav>"


# --- metrics ---------------------------------------------------------------------------------------------------------


def _metric(summary: Summary, metric: str, number: int) -> str:
    leaderboards = summary.of(metric)
    said = "" if leaderboards[-1].higher else ' <small class="soft">(less is better)</small>'
    notes = "".join(f"<li>{escape(note)}</li>" for note in tables.notes(summary, metric))
    return "".join([
        f'<section id="m{number}"><h2>{escape(metric)}{said}</h2>',
        _scores(leaderboards), f'<ul class="small">{notes}</ul>' if notes else "",
        f'<p class="small soft">{escape(tables.legend(summary))}</p>',
        f'<div class="plots">{"".join(_plots(summary, leaderboards))}</div>',
        _pairs(leaderboards[-1]), "</section>",
    ])  # fmt: skip


def _scores(leaderboards: Sequence[Leaderboard]) -> str:
    found = [{s.learner: s for s in leaderboard.standings} for leaderboard in leaderboards]
    rows = (
        f"<tr><th>{escape(tables.label(last))}</th>"
        + "".join(_standing(by[last.learner], leaderboard) for by, leaderboard in zip(found, leaderboards, strict=True))
        + "</tr>"
        for last in leaderboards[-1].standings
    )
    return _box(["learner", *(shots_text(leaderboard.shots) for leaderboard in leaderboards)], "".join(rows))


def _standing(s: Standing, leaderboard: Leaderboard) -> str:
    marks = f"<sup>{escape(tables.marks(s))}</sup>" if s.groups else ""
    rank = f"rank {s.rank}; " if s.rank else ""
    hover = f"{rank}{counted(s.score.n, 'answer')}, {counted(s.tasks, 'task')}, {counted(s.episodes, 'episode')}"
    return f'<td class="n{" best" if s.best else ""}" title="{hover}">{score(s.score, leaderboard.points)}{marks}</td>'


def _plots(summary: Summary, leaderboards: Sequence[Leaderboard]) -> Iterator[str]:
    last = leaderboards[-1]
    at = shots_text(last.shots)
    rows = [_row(s, last.points) for s in last.standings]
    yield _figure(svg.dots(rows, f"{last.metric} at {at}"), f"Scores at {at}; dashed lines are baselines.")
    if len(leaderboards) > 1:
        found = curve(summary, last.metric)
        lines = {  # in the order of the study, so that a learner keeps its colour
            name: [(shots, numbers.shown(e, last.points)) for shots, e in found[name]]
            for name in summary.learners
            if summary.counts.cells[name]
        }
        yield _figure(svg.curves(lines, f"{last.metric} over shots") + svg.key(list(lines)), "Scores over shots.")
    if last.pairs or last.against:
        yield _forest(last, at)


def _row(s: Standing, points: bool) -> svg.Row:
    style = "baseline" if s.baseline else "best" if s.best else ""
    return svg.Row(tables.label(s), numbers.shown(s.score, points), numbers.score(s.score, points), style)


def _forest(leaderboard: Leaderboard, at: str) -> str:
    """Draw the differences from the learner in front; all others are in the table."""
    front = next((s.learner for s in leaderboard.standings if s.best), leaderboard.standings[0].learner)
    found = [c for c in (*leaderboard.pairs, *leaderboard.against) if front in (c.a, c.b)][:FOREST]
    rows = [
        svg.Row(
            f"{c.a} − {c.b}",
            numbers.shown(Estimate(c.difference, c.low, c.high, c.n), leaderboard.points),
            numbers.score(c, leaderboard.points),
            "apart" if differs(c) else "",
        )
        for c in found
    ]
    drawn = svg.forest(rows, f"paired differences of {leaderboard.metric} at {at}")
    return _figure(drawn, f"Paired differences from {front} at {at}; filled dots are told apart.")


def _figure(drawn: str, caption: str) -> str:
    return f"<figure>{drawn}<figcaption>{escape(caption)}</figcaption></figure>"


def _pairs(leaderboard: Leaderboard) -> str:
    """Show the differences at the most shots; the JSON report has all."""
    if not (leaderboard.pairs or leaderboard.against):
        return ""
    named = f"All paired differences at {shots_text(leaderboard.shots)}"
    return folded(named, _table(tables.PAIR_COLUMNS, tables.pairs(leaderboard), "n"))


# --- tasks -----------------------------------------------------------------------------------------------------------


def _categories(summary: Summary) -> str:
    if not summary.categories:
        return ""
    table = _table(*tables.categories(summary))
    return f'<section id="categories"><h2>By category</h2>{table}</section>'


def _study_figure(figure: Figure, number: int) -> str:
    notes = "".join(f"<li>{escape(note)}</li>" for note in figure.notes)
    plot = f"<figure>{figure.plot}</figure>" if figure.plot else ""
    table = _table(*tables.figure_table(figure), "n")
    below = folded("As a table", table) if figure.rows else ""
    return (
        f'<section id="x{number}"><h2>{escape(figure.title)}</h2>{plot}'
        f'<ul class="small soft">{notes}</ul>{below}</section>'
    )


# --- the rest --------------------------------------------------------------------------------------------------------


def _counted(summary: Summary) -> str:
    found = tables.dropped(summary)
    table = _table(["learner", "what", "count"], found) if found else "<p>Nothing was left out, cut or unusable.</p>"
    return f'<section id="counts"><h2>Counted on the way</h2><p>{escape(tables.tally(summary))}.</p>{table}</section>'


def _failures(failures: Sequence[Failure]) -> str:
    if not failures:
        return ""
    shown = "".join(
        folded(
            f"{escape(f.learner)} on {escape(f.task)}, {shots_text(f.shots)}, seed {f.seed}, episode {f.index}",
            f"<pre>{escape(f.traceback[-TRACEBACK:])}</pre>",
        )
        for f in failures[:FAILURES]
    )
    more = f"<p>And {len(failures) - FAILURES:,} more.</p>" if len(failures) > FAILURES else ""
    return f"<section><h2>Failures</h2>{shown}{more}</section>"


def _provenance(summary: Summary) -> str:
    quoted = [[name, one] for name, found in summary.signatures.items() for one in found]
    suite = pages.facts(summary.suite, summary.fingerprint, summary.about).items()
    signatures = _table(["metric", "signature"], quoted, "loose") if quoted else f"<p>{numbers.NONE}</p>"
    if len(quoted) > SIGNATURES:
        signatures = folded(f"{len(quoted):,} signatures: metrics over labels have one for each set", signatures)
    return "".join([
        f'<section id="again"><h2>Run it again</h2><pre>{escape(summary.command)}</pre>',
        _table(["what", "value"], suite, "loose"),
        f"<h2>Signatures</h2>{signatures}<h2>Cite</h2>",
        *(f"<pre>{escape(entry)}</pre>" for entry in cite.entries(summary)), "</section></main>",
    ])  # fmt: skip
