"""Scores over a setting of learners that is a number."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...benchmarks.published import Figures, published
from ...ids import Json, canonical
from ...stats import Estimate, line
from ...studies.model_settings import BASE, NOTHING, OF_TRAINING, PARAMETERS, TRAINED
from ...studies.views import Settings, naming
from .. import numbers, plots
from ..contrasts import combination
from ..figures import Figure, ReportData, counted_over
from .published import what_is_published

LEAST = 3  # values that a trend needs


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """Scores over a setting of learners that is a number, with a straight line over its logarithm."""

    over: str = naming("setting of learners")
    paper: str = naming("paper", default="")

    def faults(self, settings: Settings) -> Iterator[str]:
        """Name a setting that is no number >= 0; one that is not known yet may be."""
        values = [found[self.over] for found in settings.values() if found.get(self.over) is not None]
        numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
        if values and (not numbers or min(numbers) < 0):
            yield f"scores can only be drawn over numbers >= 0, and this setting has none: {self.over!r}"

    def figures(self, data: ReportData) -> Iterator[Figure]:
        """Draw scores by the first metric over a setting that is a number, and published ones beside them."""
        series, same = _series(data, self.over)
        if not series:
            return
        paper = published(self.paper) if self.paper else None
        tables = [f for f in paper.by(self.over) if f.metric == data.first] if paper else []
        told = [note for f in tables if paper for note in what_is_published(data, f, paper.paper)]
        over = tables[0].over if tables else "tasks"
        ours, theirs = data.at_most(data.first), _published(tables)
        scores = {label: {x: ours[n][1].over(over) for x, n in names.items()} for label, names in series.items()}
        points = next(iter(ours.values()))[0].points
        xs = sorted({x for names in series.values() for x in names} | {x for by_x in theirs.values() for x in by_x})
        about, curves = f"{data.first} over {self.over}", _curves(scores, theirs, points=points)
        yield Figure(
            title=about,
            columns=("learner", *(f"{x:,g}" for x in xs)),
            rows=(
                *((label, *(by_x.get(x) for x in xs)) for label, by_x in scores.items()),
                *((label, *(by_x.get(x) for x in xs)) for label, by_x in theirs.items()),
            ),
            notes=(
                counted_over([ours[name] for names in series.values() for name in names.values()], over),
                *(note for label, names in series.items() for note in _trend(data, label, names, over)),
                *(f"{label}: {_line(by_x)}" for label, by_x in theirs.items() if len(by_x) >= LEAST),
                *same,
                *told,
            ),
            points=points,
            plot=plots.responsive(
                lambda width: plots.curves(curves, about, over=self.over, up=data.first, width=width)
            ),
        )


def _published(tables: Sequence[Figures]) -> dict[str, dict[float, float]]:
    """Give published scores by method: those that stand over a number."""
    return {
        f"{method}, published": {float(x): value for x, value in found.items()}
        for table in tables
        for method, found in table.values.items()
    }


def _curves(
    ours: Mapping[str, Mapping[float, Estimate]], theirs: Mapping[str, Mapping[float, float]], *, points: bool
) -> list[plots.Curve]:
    drawn = [plots.Curve(n, [(x, numbers.shown(e, points)) for x, e in by_x.items()]) for n, by_x in ours.items()]
    bare = {n: [(x, Estimate(y, math.nan, math.nan, 0)) for x, y in by_x.items()] for n, by_x in theirs.items()}
    return drawn + [plots.Curve(name, spots, baseline=True) for name, spots in bare.items()]


def _series(data: ReportData, over: str) -> tuple[dict[str, dict[float, str]], list[str]]:
    """Put learners together that differ in one setting alone, each by its value of it; tell those that are the same."""
    ours = data.at_most(data.first)
    found: dict[str, dict[float, str]] = {}  # what else learners are set to -> value -> learner
    for name, settings in data.results.settings.items():
        value = settings.get(over)
        if name in ours and isinstance(value, int | float) and not isinstance(value, bool):
            found.setdefault(_rest(settings, over), {}).setdefault(value, name)
    labels = _told_apart([data.results.settings[next(iter(names.values()))] for names in found.values()], over)
    series, same = dict[str, dict[float, str]](), list[str]()
    for label, names in zip(labels, found.values(), strict=True):
        series[label], more = _distinct(data, dict(sorted(names.items())))
        same += [f"{label}: {x:,g} is not drawn: its cells are those of {first:,g}" for x, first in more.items()]
    return series, same


def _distinct(data: ReportData, names: Mapping[float, str]) -> tuple[dict[float, str], dict[float, float]]:
    """Keep values that make cells of their own; give the others, each with the one that made its cells."""
    cells: dict[str, set[str]] = {}
    for o in data.results.outcomes:
        cells.setdefault(o.learner, set()).add(o.cell)
    first: dict[frozenset[str], float] = {}
    for x, name in names.items():
        first.setdefault(frozenset(cells[name]), x)
    kept = {x: name for x, name in names.items() if first[frozenset(cells[name])] == x}
    return kept, {x: first[frozenset(cells[name])] for x, name in names.items() if x not in kept}


def _rest(settings: Mapping[str, Json], over: str) -> str:
    """Write all that a learner is set to but one, and what goes with it."""
    return canonical({name: value for name, value in settings.items() if name not in _beside(over)})


def _beside(over: str) -> set[str]:
    """Name settings that tell no series apart: an encoding is told by its parts, and a trained model by its training.

    >>> sorted(_beside("positive examples"))
    ['encoding', 'positive examples']
    """
    names = {over, "encoding"}
    names |= {"model"} if over in (*OF_TRAINING, PARAMETERS) else set()
    return names | ({BASE} if over == PARAMETERS else set())


def _told_apart(series: Sequence[Mapping[str, Json]], over: str) -> list[str]:
    """Name series by the settings in which they differ; in those of training, only models that were trained can."""
    trained = [found for found in series if found.get(TRAINED) != NOTHING]
    names = dict.fromkeys(name for found in series for name in found if name not in _beside(over))
    differ = [n for n in names if len({canonical(f.get(n)) for f in (trained if n in OF_TRAINING else series)}) > 1]
    mixed = 0 < len(trained) < len(series)
    return [_label(found, [name for name in differ if name in found], mixed=mixed) for found in series]


def _label(found: Mapping[str, Json], differ: Sequence[str], *, mixed: bool) -> str:
    is_trained = found.get(TRAINED) != NOTHING
    parts = [f"{name} {found[name]}" for name in differ if is_trained or name not in OF_TRAINING]
    parts += ["trained" if is_trained else "untrained"] if mixed else []
    return ", ".join(parts) or str(found.get(BASE) or found.get("model") or found.get("learner"))


def _trend(data: ReportData, label: str, names: Mapping[float, str], over: str) -> Iterator[str]:
    """Fit a straight line over the logarithm; its slope is a sum of scores, and has an interval as they have."""
    ours = data.at_most(data.first)
    leaderboards = [ours[name][0] for name in names.values()]
    x = _logarithms(names)
    if len(names) < LEAST or len({b.shots for b in leaderboards}) > 1:
        if len(names) > 1:
            yield f"{label}: a trend needs three values or more, at one number of shots"
        return
    shares = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    of = dict(zip(names.values(), shares.tolist(), strict=True))
    slope = combination(of, data.first, leaderboards[0].shots, data.results.outcomes, data.how, over=over)
    yield f"{label}: {numbers.score(slope, leaderboards[0].points)} for each doubling of 1 + x, by a straight line"


def _line(values: Mapping[float, float]) -> str:
    """Tell the trend of published scores, whose uncertainty is not known."""
    fit = line(_logarithms(values), list(values.values()))
    return f"{fit.slope.value:.1f} for each doubling of 1 + x, by a straight line (R² {fit.r_squared.value:.2f})"


def _logarithms(values: Mapping[float, object]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.log2(1 + np.array(list(values), dtype=np.float64))
