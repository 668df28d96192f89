"""How a run was made: what was counted, what failed, what it cost, how to repeat and cite it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape

from ... import __version__
from ...episodes import shots_text
from ...studies.results import Failure
from ...texts import counted
from .. import cite, numbers, pages, tables
from ..draws import How
from ..figures import Figure
from ..pages import folded, table
from ..summary import Summary

TRACEBACK = 4000  # characters that are shown
FAILURES = 20
MEMORY = "peak memory"  # the column of costs
ENCODING = "Encoding is counted apart: vectors are kept for all who ask later, and who asks first is chance."
FEW = 20  # rows of categories that are shown without being asked
SIGNATURES = 20  # that are shown without being asked


def failures(found: Sequence[Failure]) -> str:
    """Write what failed, each with its traceback."""
    if not found:
        return ""
    shown = "".join(
        folded(
            f"{escape(f.learner)} on {escape(f.task)}, {shots_text(f.shots)}, seed {f.seed}, episode {f.index}",
            f"<pre>{escape(f.traceback[-TRACEBACK:])}</pre>",
        )
        for f in found[:FAILURES]
    )
    more = f"<p>And {len(found) - FAILURES:,} more.</p>" if len(found) > FAILURES else ""
    return f'<section id="failures"><h2>Failures</h2>{shown}{more}</section>'


def figures(summary: Summary) -> str:
    """Write what the study wants to see beside its scores."""
    if not summary.figures:
        return ""
    return f'<section id="figures"><h2>Figures of the study</h2>{"".join(map(_figure, summary.figures))}</section>'


def _figure(figure: Figure) -> str:
    notes = "".join(f"<li>{escape(note)}</li>" for note in figure.notes)
    plot = f"<figure>{figure.plot}</figure>" if figure.plot else ""
    listed = table(*tables.figure_table(figure), "n") if figure.rows else ""
    below = folded("As a table", listed) if listed and plot else listed  # what is drawn can be read there
    return (
        f'<section class="figure"><h3>{escape(figure.title)}</h3>{plot}<ul class="notes">{notes}</ul>{below}</section>'
    )


def categories(summary: Summary) -> str:
    """Write the scores by category, where tasks have categories."""
    if not summary.categories:
        return ""
    columns, rows = tables.categories(summary)
    shown = table(columns, rows, "n")
    if len(rows) > FEW:
        shown = folded(f"{len(rows):,} rows", shown)
    return f'<section id="categories"><h2>By category</h2>{shown}</section>'


def method(summary: Summary) -> str:
    """Write what learners are, what they cost, what was counted, and how scores are estimated."""
    names = [
        [f"{name} (baseline)" if name in summary.baselines else name, about] for name, about in summary.learners.items()
    ]
    parts = [
        ("Learners", table(["learner", "what"], names)),
        ("Compute cost", _costs(summary)),
        ("Warnings and counts", _counted(summary)),
        ("How scores are estimated", _estimation(summary)),
        ("Repeat and cite", _again(summary)),
    ]
    shown = "".join(folded(f"<h3>{title}</h3>", inside) for title, inside in parts if inside)
    return f'<section id="method"><h2>The run</h2>{shown}</section>'


def _costs(summary: Summary) -> str:
    """Write what learners cost; memory is of a process, which several may share, and so said once."""
    columns, rows = tables.costs(summary)
    if not rows:
        return ""
    kept = [n for n, name in enumerate(columns) if name != MEMORY]
    notes = ["Seconds are of cells, without loading a model."]
    notes += ["Shared: tokens of prompts that were computed once for several."] if "shared" in columns else []
    notes += [ENCODING] if "seconds encoding" in columns else []
    peak = max((cost.memory for cost in summary.counts.costs.values()), default=0)
    notes += [f"Peak memory of a process: {peak / 1e9:.2f} GB."] if peak else []
    shown = table([columns[n] for n in kept], [[row[n] for n in kept] for row in rows], "figures")
    return f'{shown}<p class="legend">{" ".join(notes)}</p>'


def _counted(summary: Summary) -> str:
    found = tables.dropped(summary)
    shown = table(["learner", "what", "count"], found) if found else "<p>Nothing was skipped, cut or unusable.</p>"
    return f"<p>{escape(tables.tally(summary))}.</p>{shown}"


def _estimation(summary: Summary) -> str:
    return estimation(summary.how) if summary.leaderboards else ""


def estimation(how: How) -> str:
    """Say how scores, intervals and differences are estimated."""
    level = f"{100 * how.level:.4g} %"
    return (
        "<p>A score is the mean over tasks of the mean over episodes, in points from 0 to 100 (squared errors as "
        f"they are). Brackets are {level} confidence intervals from {how.count:,} resamples of episodes and "
        f"records; they are for {tables.spoken(how)}. Learners are compared on the same items; a difference "
        "is significant if p &lt; 0.05 and its interval does not include 0. p is the larger of that of a paired "
        "permutation test and that of the difference against its standard error, which allows for shared records; it "
        "is corrected by Holm's method, for pairs of learners and for learners against baselines apart.</p>"
    )


def _again(summary: Summary) -> str:
    quoted = [[name, one] for name, found in summary.signatures.items() for one in found]
    suite = pages.facts(summary.suite, summary.fingerprint, summary.about).items()
    signatures = table(["metric", "signature"], quoted, "loose") if quoted else f"<p>{numbers.NONE}</p>"
    if len(quoted) > SIGNATURES:
        signatures = folded(f"{len(quoted):,} signatures: metrics over labels have one for each set", signatures)
    return "".join([
        f"<h4>Command</h4><pre>{escape(summary.command)}</pre><h4>Suite</h4>",
        table(["what", "value"], suite, "loose"),
        f"<h4>Signatures of metrics</h4>{signatures}<h4>Cite</h4>",
        *(f"<pre>{escape(entry)}</pre>" for entry in cite.entries(summary)),
    ])  # fmt: skip


def footer(summary: Summary) -> str:
    """Write the size of a run, its seeds, when and on what it was run."""
    answers = sum(len(o.answers) for o in summary.results.outcomes)
    facts = {"answers": f"{answers:,}", "cells": f"{summary.counts.done:,}", "seeds": _seeds(summary.seeds)}
    if record := summary.results.record:
        facts |= {"run": _dates(record.began, record.ended)}
    facts |= _environment(record.environment if record else {}) or {"versions": f"taskloom {__version__}"}
    facts |= {"suite": f"{summary.suite} ({summary.fingerprint[:12]})"}
    shown = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts.items() if value
    )
    return f"<footer><dl>{shown}</dl></footer>"


def _environment(kept: Mapping[str, str]) -> dict[str, str]:
    """Write versions and hardware; taskloom and Python come first."""
    hardware = [kept[name] for name in ("processor", "system") if name in kept]
    order = sorted(kept.keys() - {"processor", "system"}, key=lambda name: (name not in ("taskloom", "python"), name))
    versions = ", ".join(f"{name} {kept[name]}" for name in order)
    return {"versions": versions, "hardware": ", ".join(hardware)} if kept else {}


def _seeds(seeds: Sequence[int]) -> str:
    """Write seeds: a range where they follow each other.

    >>> _seeds((0, 1, 2, 3)), _seeds((7,)), _seeds((1, 5))
    ('4 (0 to 3)', '1 (7)', '2 (1, 5)')
    """
    if not seeds:
        return ""
    follow = len(seeds) > 2 and seeds == tuple(range(seeds[0], seeds[0] + len(seeds)))
    named = (
        f"{seeds[0]} to {seeds[-1]}" if follow else ", ".join(map(str, seeds[:8])) + (", …" if len(seeds) > 8 else "")
    )
    return f"{len(seeds)} ({named})"


def _dates(began: float, ended: float) -> str:
    first, last = (datetime.fromtimestamp(at, UTC) for at in (began, ended))
    if first.date() == last.date():
        return f"{first:%Y-%m-%d %H:%M} to {last:%H:%M} UTC"
    return f"{first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC"


def warnings(summary: Summary) -> str:
    """Write what a reader must know before the results."""
    failed, missing = summary.counts.failed, summary.counts.missing
    lines = [
        ("warn", "A trial with limited sizes: its numbers are no results.") if summary.smoke else None,
        ("fail", f'{counted(failed, "cell")} failed: <a href="#failures">see failures</a>.') if failed else None,
        ("warn", f"{counted(missing, 'cell')} not run yet.") if missing else None,
    ]
    return "".join(f'<p class="{line[0]}">{line[1]}</p>' for line in lines if line)
