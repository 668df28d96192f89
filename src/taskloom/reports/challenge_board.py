"""The board of a challenge: for each protocol and setting of shots, submissions with intervals and tie groups.

One static page that loads nothing; all that participants say of themselves is escaped.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from statistics import stdev
from typing import Any

from .. import __version__
from ..episodes import Shots, shots_order, shots_text
from ..errors import ChallengeError
from ..messages import Note
from ..studies.results import Outcome, Results
from ..studies.submissions import PROTOCOLS, Protocol, Submission
from ..texts import counted
from . import board_plots, numbers, plots, tables
from .comparable import Ground
from .draws import How
from .leaderboards import Leaderboard, Standing, leaderboard
from .page.about import estimation
from .page.headline import extent, sentence
from .page.matrix import Shades, value
from .pages import box, document, folded, table

NOT_ALL = "they do not answer all episodes of the challenge in this setting"
LINKS = ("https://", "http://")
COLUMNS = ("protocol", "metric", "shots", "task", "submission", "value", "low", "high", "deviation", "n", "episodes",
           "of", "rank", "groups", "best", "baseline")  # fmt: skip


@dataclass(frozen=True, slots=True)
class ProtocolBoard:
    """The submissions of one protocol by one metric at one setting of shots."""

    protocol: Protocol
    leaderboard: Leaderboard
    tasks: tuple[str, ...]  # in the order of the challenge
    deviations: Mapping[tuple[str, str], float]  # task and submission -> standard deviation over episodes
    episodes: int  # of the challenge, in this setting

    @property
    def partial(self) -> bool:
        """Tell whether a submission does not answer all episodes."""
        return any(s.missing for s in self.leaderboard.standings)

    @property
    def title(self) -> str:
        """Name the board."""
        return f"{self.leaderboard.metric}, {_setting(self.leaderboard.shots)}"


@dataclass(frozen=True, slots=True)
class _Setting:
    """What the submissions of a board are asked."""

    metric: str
    shots: Shots
    asked: Ground


def challenge_boards(results: Results, how: How | None = None) -> tuple[ProtocolBoard, ...]:
    """Rank the submissions of each protocol: by each task's first metric, at each setting of shots.

    Those that do not answer all episodes of the challenge are shown and not ranked, even where no other one does.
    """
    said = {name: results.settings[name]["protocol"] for name in results.learners}
    if silent := [name for name, one in said.items() if not one]:
        raise ChallengeError(Note.of("protocol-missing", names=silent, known=list(PROTOCOLS)))
    first = {task: results.metrics_of(task)[0] for task in sorted(results.suite.tasks)}
    found: dict[tuple[Protocol, str, Shots], list[Outcome]] = {}
    for o in results.outcomes:
        at: Any = (said[o.learner], first[o.task], o.shots)
        found.setdefault(at, []).append(o)
    metrics = list(dict.fromkeys(first.values()))
    order = sorted(found, key=lambda at: (list(PROTOCOLS).index(at[0]), metrics.index(at[1]), _few_first(at[2])))
    return tuple(_ranked(results, at[0], found[at], _asked(results, first, *at[1:]), how) for at in order)


def _asked(results: Results, first: Mapping[str, str], metric: str, shots: Shots) -> _Setting:
    """Give all episodes of the challenge with this first metric and setting of shots."""
    asked = frozenset(
        ((task, seed, index, 0), items)
        for (task, at, seed, index), items in results.asked.items()
        if (first[task], at) == (metric, shots)
    )
    return _Setting(metric, shots, asked)


def _ranked(
    results: Results, protocol: Protocol, outcomes: Sequence[Outcome], of: _Setting, how: How | None
) -> ProtocolBoard:
    made = leaderboard(of.metric, of.shots, outcomes, results.baselines, how, asked=of.asked)
    tasks = tuple(task for task in results.suite.tasks if task in made.tasks)
    alone = replace(made, common=None)  # a submission is ranked on the whole challenge, or not at all
    return ProtocolBoard(protocol, alone, tasks, _deviations(of.metric, outcomes), len(of.asked))


def _few_first(shots: Shots) -> tuple[bool, tuple[int, int]]:
    """Give the key that sorts settings: few-shot, then zero-shot."""
    return shots == 0, shots_order(shots)


def _setting(shots: Shots) -> str:
    return "zero-shot" if shots == 0 else "few-shot" if shots == "drawn" else shots_text(shots)


def _deviations(metric: str, outcomes: Sequence[Outcome]) -> dict[tuple[str, str], float]:
    """Give the standard deviation of episodes' scores, where there are two or more."""
    scores: dict[tuple[str, str], list[float]] = {}
    for o in outcomes:
        scored = o.scores[metric]
        scores.setdefault((o.task, o.learner), []).append(float(scored.metric.reduce(scored.units)[0]))
    known = {at: [one for one in found if not math.isnan(one)] for at, found in scores.items()}
    return {at: stdev(found) if len(found) > 1 else math.nan for at, found in known.items()}


def board_rows(boards: Sequence[ProtocolBoard]) -> Iterator[dict[str, Any]]:
    """Give a row for each submission and task, and one without a task for the mean; numbers are as they are."""
    for board in boards:
        made = board.leaderboard
        at = {"protocol": board.protocol, "metric": made.metric, "shots": made.shots}
        for s in made.standings:
            own = {
                "episodes": s.episodes,
                "of": board.episodes,
                "rank": s.rank or None,
                "groups": s.groups,
                "best": s.best,
            }
            means = {"task": None, "submission": s.learner, **_numbers(s.score.value, s.score.low, s.score.high)}
            yield {**at, **means, "deviation": None, "n": s.score.n, **own, "baseline": s.baseline}
            for task in (task for task in board.tasks if s.learner in made.tasks[task]):
                e, spread = made.tasks[task][s.learner], board.deviations[task, s.learner]
                values = _numbers(e.value, e.low, e.high) | {"deviation": None if math.isnan(spread) else spread}
                blank = dict.fromkeys(("episodes", "of", "rank", "groups", "best"))
                yield {**at, "task": task, "submission": s.learner, **values, "n": e.n, **blank, "baseline": s.baseline}


def _numbers(*found: float) -> dict[str, float | None]:
    values = (None if math.isnan(number) else number for number in found)
    return dict(zip(("value", "low", "high"), values, strict=True))


# --- the page --------------------------------------------------------------------------------------------------------


def board_page(results: Results, boards: Sequence[ProtocolBoard], how: How | None = None) -> str:
    """Write the boards of a challenge as a page."""
    how = how or How()
    about = {name: Submission(**of) for name, of in results.settings.items()}  # type: ignore[arg-type]
    present = [one for one in PROTOCOLS if any(board.protocol == one for board in boards)]
    sections = (_protocol(one, [b for b in boards if b.protocol == one], about, how) for one in present)
    answered = Counter(o.learner for o in results.outcomes)
    method = _method(how, partial=any(answered[name] < len(results.asked) for name in results.learners))
    body = [_top(results, present), "<main>", *sections, _submissions(about), method, "</main>", _footer(results)]
    return document(f"{results.name}: board", body)


def _top(results: Results, present: Sequence[Protocol]) -> str:
    facts = [
        counted(len(results.suite.tasks), "task"),
        *(f"{results.suite.about[name]:,} {name}" for name in ("episodes", "questions")),
        counted(len(results.learners), "submission"),
    ]
    links = [*((one, PROTOCOLS[one]) for one in present), ("submissions", "Submissions"), ("method", "Method")]
    items = "".join(f'<li><a href="#{name}">{escape(text)}</a></li>' for name, text in links)
    return (
        f'<header class="top"><h1>{escape(results.name)}</h1><p>{" · ".join(facts)}</p>'
        f'<nav aria-label="Sections"><ul>{items}</ul></nav></header>'
    )


def _protocol(protocol: Protocol, boards: Sequence[ProtocolBoard], about: Mapping[str, Submission], how: How) -> str:
    inside = "".join(f"<h3>{escape(board.title)}</h3>{_board(board, about, how)}" for board in boards)
    return f'<section id="{protocol}"><h2>{PROTOCOLS[protocol]}</h2>{inside}</section>'


def _board(board: ProtocolBoard, about: Mapping[str, Submission], how: How) -> str:
    made = board.leaderboard
    drawn = plots.responsive(lambda width: board_plots.scores(made.headline, width))
    over = extent(made) if made.ranked else "Each mean is over the episodes that the submission answers"
    said = f"{over}. Bars are {100 * how.level:.4g} % confidence intervals, for {tables.spoken(how)}."
    notes = "".join(f"<li>{escape(note)}</li>" for note in tables.leaderboard_notes(made, NOT_ALL))
    pairs = [*made.headline.pairs, *made.headline.against]
    return "".join([
        f'<div class="hero"><p class="lead">{_lead(board)}</p>',
        f"<figure>{drawn}<figcaption>{escape(said)}</figcaption></figure></div>",
        _table(board, about),
        f'<ul class="notes">{notes}</ul>' if notes else "",
        folded("Paired differences", table(tables.PAIR_COLUMNS, tables.pairs(made.headline), "n")) if pairs else "",
    ])  # fmt: skip


def _lead(board: ProtocolBoard) -> str:
    """Say who is best, of those that answer all episodes."""
    if board.partial and not board.leaderboard.ranked:
        return f"No submission answers all {counted(board.episodes, 'episode')}: none is ranked."
    return sentence(board.leaderboard)


def _table(board: ProtocolBoard, about: Mapping[str, Submission]) -> str:
    """Write a row for each submission, and a column for each task."""
    made, shades = board.leaderboard, Shades.of(board.leaderboard)
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in ("submission", "overall", *board.tasks))
    order = sorted(made.standings, key=lambda s: s.baseline)
    rows = "".join(f"<tr>{_row(s, board, shades, about[s.learner])}</tr>" for s in order)
    letters = any(s.groups for s in made.standings)
    legend = ["overall: the mean over tasks", "sd: standard deviation over episodes"]
    legend += ["group: submissions that share a letter are not significantly different"] if letters else []
    listed = "".join(f"<li>{text}</li>" for text in legend)
    return (
        f'<div class="box"><table class="matrix"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
        f'<ul class="legend marks">{listed}</ul>'
    )


def _row(s: Standing, board: ProtocolBoard, shades: Shades, about: Submission) -> str:
    made = board.leaderboard
    place = "baseline" if s.baseline else f"rank {s.rank}" if s.rank else "not ranked"
    told = escape(" · ".join(filter(None, [place, about.model])))
    letters = f"<small>group {escape(s.groups)}</small>" if s.groups else ""
    part = f"<small>on {s.episodes:,} of {counted(board.episodes, 'episode')}</small>" if s.missing else ""
    best = ' class="best"' if s.best else ""
    title = f"{counted(s.score.n, 'answer')}, {counted(s.episodes, 'episode')}"
    head = f'<th scope="row"><b>{_linked(s.learner, about.url)}</b><br><small>{told}</small></th>'
    overall = f'<td{best} title="{title}">{value(s.score, made.points)}{letters}{part}</td>'
    return head + overall + "".join(_cell(task, s.learner, board, shades) for task in board.tasks)


def _cell(task: str, name: str, board: ProtocolBoard, shades: Shades) -> str:
    made = board.leaderboard
    e = made.tasks[task].get(name)
    if e is None or math.isnan(e.value):
        return f'<td class="none" title="{numbers.NONE}">–</td>'
    spread = board.deviations[task, name]
    deviation = "" if math.isnan(spread) else f"<small>sd {numbers.number(spread, made.points)}</small>"
    return f'<td class="h{shades.step(e.value)}">{value(e, made.points)}{deviation}</td>'


def _linked(name: str, url: str) -> str:
    """Link a name to where its submission is described; no other kind of address is followed."""
    if not url.startswith(LINKS):
        return escape(name)
    return f'<a href="{escape(url)}" rel="noopener noreferrer nofollow">{escape(name)}</a>'


def _submissions(about: Mapping[str, Submission]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{_linked(name, of.url)}</th>'
        + "".join(f"<td>{escape(text)}</td>" for text in (PROTOCOLS[of.protocol], of.model, of.url, of.date))
        + "</tr>"
        for name, of in about.items()
    )
    shown = box(["submission", "protocol", "model", "url", "date"], rows, "loose")
    return f'<section id="submissions"><h2>Submissions</h2>{shown}</section>'


def _method(how: How, *, partial: bool) -> str:
    same = (
        "Not all submissions answer all questions: those that lack episodes of a board are shown there, and not ranked."
        if partial
        else "All submissions answer the same questions."
    )
    protocols = (
        "<p>Pretraining-Only: the model was trained on no tasks like these. Meta-Trained: the model, or a base of it, "
        f"was trained on other tasks. Each protocol has its own boards. {same}</p>"
    )
    return f'<section id="method"><h2>Method</h2>{protocols}{estimation(how)}</section>'


def _footer(results: Results) -> str:
    of = str(results.suite.about["challenge"])
    facts = {"challenge": results.name, "hash": of, "versions": f"taskloom {__version__}"}
    shown = "".join(f"<div><dt>{name}</dt><dd>{escape(text)}</dd></div>" for name, text in facts.items())
    return f"<footer><dl>{shown}</dl></footer>"
