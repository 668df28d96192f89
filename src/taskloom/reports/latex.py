r"""A summary as tables for a paper: one for each metric, a column for each setting; they need \usepackage{booktabs}."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from ..episodes import shots_text
from ..stats import Estimate
from ..texts import counted, safe, without_surrogates
from . import numbers
from .figures import Figure
from .leaderboards import Leaderboard, Standing
from .summary import Summary
from .tables import common_title, figure_table, partly, spoken_of, tally

NONE = "--"
BESIDE = 3  # settings whose intervals stand beside scores, not below
RULE = r"\midrule"
PACKAGES = (
    r"% \usepackage{booktabs}",
    r"% \usepackage[T1]{fontenc} % for pdflatex; other scripts need a font that has them",
)
IF_PDFTEX = r"\ifdefined\pdftexversion"
DECLARE = (
    r"\providecommand\taskloomunknown[2]{\expandafter\ifx\csname u8:\detokenize{#1}\endcsname\relax"
    r"\expandafter\gdef\csname u8:\detokenize{#1}\endcsname{#2}\fi}"
)
CHARACTERS: Mapping[str, str] = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "[": "{[}", "]": "{]}", '"': "''", "*": "{*}", "`": r"\textasciigrave{}",
    "\0": "{}",  # which `safe` leaves in no text
    "\ufffd": "{[}U+FFFD{]}",  # which LuaTeX takes for damage
}  # fmt: skip


def latex(summary: Summary) -> str:
    """Write a table for each metric and each figure."""
    tables = list[str]()
    for metric in summary.metrics:
        found = summary.of(metric)
        tables.append(_scores(summary, found, "scores"))
        if common := [leaderboard.common for leaderboard in found if leaderboard.common]:
            tables.append(_scores(summary, common, "common"))
    tables += [_figure(summary, of) for of in summary.figures if of.rows]
    body = "\n\n".join(tables)
    return "\n".join([f"% {escaped(tally(summary))}", *PACKAGES, *_shown_by_numbers(body), "", body, ""])


def _shown_by_numbers(text: str) -> list[str]:
    """Have pdfTeX, which stops at a character that it knows nothing of, show such ones by their numbers.

    It looks a character up by a name that is made of its bytes; what a document has declared stays.
    """
    odd = sorted({c for c in text if ord(c) > 127})
    made = [rf"\taskloomunknown{{{c}}}{{{{[}}U+{ord(c):04X}{{]}}}}" for c in odd]
    return [IF_PDFTEX, DECLARE, *made, r"\fi"] if made else []


def _scores(summary: Summary, leaderboards: Sequence[Leaderboard], of: str) -> str:
    """Write the scores by one metric: learners that are ranked, those that are incomplete, then baselines."""
    found = [{s.learner: s for s in leaderboard.standings} for leaderboard in leaderboards]
    names = dict.fromkeys(name for by in reversed(found) for name in by)
    names = {name: None for name in names if any(_has_score(by.get(name)) for by in found)}
    rows = {
        name: [escaped(name), *(_cell(by.get(name), b, len(found)) for by, b in zip(found, leaderboards, strict=True))]
        for name in names
    }
    baselines = [rows[name] for name in names if name in summary.baselines]
    others = [rows[name] for name in names if name not in summary.baselines]
    body = [*map(_row, others), *([RULE] if baselines and others else []), *map(_row, baselines)]
    heads = ["learner", *(shots_text(leaderboard.shots) for leaderboard in leaderboards)]
    metric = leaderboards[0].metric
    caption = _caption(summary, leaderboards, of, bool(baselines))
    return _environment(map(escaped, heads), body, caption, _label(summary.name, of, metric))


def _has_score(standing: Standing | None) -> bool:
    return standing is not None and not math.isnan(standing.score.value)


def _cell(standing: Standing | None, leaderboard: Leaderboard, columns: int) -> str:
    """Write a score, and its interval small; of many columns below it. Bold is what is best among several."""
    if standing is None or not _has_score(standing):
        return NONE
    value, ends = (write(standing.score, leaderboard.points) for write in (_value, numbers.interval))
    is_contest = sum(s.rank > 0 for s in leaderboard.standings) > 1
    shown = rf"\textbf{{{value}}}" if standing.best and is_contest else value
    known = ends if not math.isnan(standing.score.low) else ""
    small = " ".join(filter(None, [known, partly(standing)]))
    if not small:
        return shown
    below = rf"{{\scriptsize {escaped(small)}}}"
    return f"{shown} {below}" if columns <= BESIDE else rf"\shortstack[r]{{{shown}\\{below}}}"


def _value(of: Estimate, points: bool) -> str:
    return numbers.number(of.value, points)


def _caption(summary: Summary, leaderboards: Sequence[Leaderboard], of: str, baselines: bool) -> str:
    """Say what the numbers are, of how many answers and seeds, and what bold means."""
    standings = [s for leaderboard in leaderboards for s in leaderboard.standings if s.score.n]
    sizes = sorted({s.score.n for s in standings})
    n = f"{sizes[0]:,}" + (f" to {sizes[-1]:,}" if sizes and sizes[-1] > sizes[0] else "") if sizes else "0"
    tasks = max((len(leaderboard.ranked_on) for leaderboard in leaderboards), default=0)
    unit = "" if not leaderboards[0].points else ", in points of 100"
    direction = "" if leaderboards[0].higher else ", lower is better"
    metric = leaderboards[0].metric
    over = common_title(summary, metric) if of == "common" else f"{metric}: mean over {counted(tasks, 'task')}"
    parts = [
        f"{over}{unit}{direction}",
        f"n = {n} answers for each learner, {counted(len(summary.seeds), 'seed')}",
        f"{100 * summary.how.level:.4g} % confidence intervals for {spoken_of(summary)} in brackets",
        "bold: the best, and what is not significantly different from it (paired tests, Holm)",
        *(["baselines are below the line and take no part in that"] if baselines else []),
    ]
    quoted = "; ".join(summary.signatures[metric][:1])
    return f"{'; '.join(parts)}. Signature: {quoted}."


def _figure(summary: Summary, of: Figure) -> str:
    columns, rows = figure_table(of)
    body = [_row(map(escaped, row)) for row in rows]
    label = _label(summary.name, "view", of.title)
    return _environment(map(escaped, columns), body, "; ".join([of.title, *of.notes]), label)


def _environment(heads: Iterable[str], body: Sequence[str], caption: str, label: str) -> str:
    cells = list(heads)
    return "\n".join([
        r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{l{'r' * (len(cells) - 1)}}}", r"\toprule",
        _row(cells), RULE, *body, r"\bottomrule", r"\end{tabular}", rf"\caption{{{escaped(caption)}}}",
        rf"\label{{{label}}}", r"\end{table}",
    ])  # fmt: skip


def _row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _label(*parts: str) -> str:
    """Name a table by letters and digits alone.

    >>> _label("my study", "scores", "title/rouge-l")
    'tab:my-study-scores-title-rouge-l'
    """
    return "tab:" + "-".join(re.sub(r"[^A-Za-z0-9]+", "-", part).strip("-") or "x" for part in parts)


def escaped(text: str) -> str:
    r"""Write a text so that TeX shows it as it is.

    >>> escaped("50 % of {a_b}")
    '50 \\% of \\{a\\_b\\}'
    """
    apart = re.sub(
        "([-,'])(?=\\1)", r"\1\0", safe(" ".join(without_surrogates(text).split()))
    )  # or two of them are shown as one sign
    return "".join(CHARACTERS.get(c, c) for c in apart)
