"""Scores laid out by what learners are set to: by two settings, or over a number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ...benchmarks.published import published
from ...ids import Json, canonical
from ...stats import Estimate
from ...studies.views import Matrix, Scaling
from .. import numbers, svg
from ..boards import Board, Standing
from ..contrasts import combination
from .beside import what_is_published
from .core import Exhibit, Seen, counted_over


def matrix(seen: Seen, view: Matrix) -> Iterator[Exhibit]:
    """Lay scores by the first metric out by two settings, above published rows."""
    ours, settings = seen.at_most(seen.first), seen.results.settings
    at = {
        (str(found[view.rows]), str(found[view.columns])): ours[name]
        for name, found in settings.items()
        if name in ours and view.rows in found and view.columns in found
    }
    if not at:
        return
    rows, columns = (list(dict.fromkeys(names)) for names in zip(*at, strict=True))
    tables = [f for f in published(view.paper).by(view.columns) if f.metric == seen.first] if view.paper else []
    over = tables[0].over if tables else "tasks"
    here = {row: [_score_at(at, row, column, over) for column in columns] for row in rows}
    theirs = {f"{n}, published": [v.get(c) for c in columns] for f in tables for n, v in f.values.items()}
    told = [note for f in tables for note in what_is_published(seen, f, published(view.paper).paper)]
    about, points = f"{seen.first} by {view.rows} and {view.columns}", next(iter(at.values()))[0].points
    yield Exhibit(
        title=about,
        columns=(view.rows, *columns),
        rows=(*((name, *found) for name, found in here.items()), *((name, *found) for name, found in theirs.items())),
        notes=(counted_over(at.values(), over), *told),
        points=points,
        plot=_heat(here, theirs, columns, about, points=points),
    )


def _score_at(
    at: Mapping[tuple[str, str], tuple[Board, Standing]], row: str, column: str, over: str
) -> Estimate | None:
    return at[row, column][1].over(over) if (row, column) in at else None


def _heat(
    here: Mapping[str, Sequence[Estimate | None]],
    theirs: Mapping[str, Sequence[float | None]],
    columns: Sequence[str],
    about: str,
    *,
    points: bool,
) -> str:
    ours = {name: [numbers.shown(e, points).value if e else None for e in found] for name, found in here.items()}
    bare = {name.removesuffix(", published"): found for name, found in theirs.items()}
    rows = [*((n, found, "hue0") for n, found in ours.items()), *((n, found, "hue1") for n, found in bare.items())]
    return svg.heat(rows, columns, about) + (svg.dot_key({"here": "hue0", "published": "hue1"}) if theirs else "")


def scaling(seen: Seen, view: Scaling) -> Iterator[Exhibit]:
    """Draw scores by the first metric over a setting that is a number."""
    ours, series = seen.at_most(seen.first), _series(seen, view.over)
    if not series:
        return
    xs = sorted({x for names in series.values() for x in names})
    points = next(iter(ours.values()))[0].points
    scores = {label: {x: ours[name][1].score for x, name in names.items()} for label, names in series.items()}
    lines = {n: [(x, numbers.shown(e, points)) for x, e in by_x.items()] for n, by_x in scores.items()}
    about = f"{seen.first} over {view.over}"
    yield Exhibit(
        title=about,
        columns=("learner", *(f"{x:,g}" for x in xs)),
        rows=tuple((label, *(by_x.get(x) for x in xs)) for label, by_x in scores.items()),
        notes=(
            counted_over([ours[name] for names in series.values() for name in names.values()]),
            *(note for label, names in series.items() for note in _trend(seen, label, names)),
        ),
        points=points,
        plot=svg.curves(lines, about, over=view.over) + svg.key(list(lines)),
    )


def _series(seen: Seen, over: str) -> dict[str, dict[float, str]]:
    """Put learners together that differ in one setting alone: each by its value of it."""
    ours = seen.at_most(seen.first)
    found: dict[str, dict[float, str]] = {}  # what else learners are set to -> value -> learner
    for name, settings in seen.results.settings.items():
        value = settings.get(over)
        if name in ours and isinstance(value, int | float) and not isinstance(value, bool):
            found.setdefault(_rest(settings, over), {}).setdefault(value, name)
    labels = _told_apart([seen.results.settings[next(iter(names.values()))] for names in found.values()], over)
    return {label: dict(sorted(names.items())) for label, names in zip(labels, found.values(), strict=True)}


def _rest(settings: Mapping[str, Json], over: str) -> str:
    """Write all that a learner is set to but one; an encoding is told by its parts."""
    return canonical({name: value for name, value in settings.items() if name not in (over, "encoding")})


def _told_apart(series: Sequence[Mapping[str, Json]], over: str) -> list[str]:
    """Name series by the settings in which they differ."""
    names = dict.fromkeys(name for found in series for name in found if name not in (over, "encoding"))
    differ = [name for name in names if len({canonical(found.get(name)) for found in series}) > 1]
    alone = [str(found.get("model") or found.get("learner")) for found in series]
    return [", ".join(f"{n} {found[n]}" for n in differ if n in found) or alone[at] for at, found in enumerate(series)]


def _trend(seen: Seen, label: str, names: Mapping[float, str]) -> Iterator[str]:
    """Fit a straight line over the logarithm; its slope is a sum of scores, and has an interval as they have."""
    ours = seen.at_most(seen.first)
    boards = [ours[name][0] for name in names.values()]
    x = np.log2(1 + np.array(list(names)))
    if len(names) < 3 or len({b.shots for b in boards}) > 1:
        yield f"{label}: a trend needs three values or more, at one number of shots"
        return
    shares = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    of = dict(zip(names.values(), shares.tolist(), strict=True))
    slope = combination(of, seen.first, boards[0].shots, seen.results.outcomes, seen.how)
    yield f"{label}: {numbers.score(slope, boards[0].points)} for each doubling of 1 + x, by a straight line"
