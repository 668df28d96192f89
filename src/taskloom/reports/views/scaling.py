"""Scores over a setting of learners that is a number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...ids import Json, canonical
from ...studies.views import Settings, naming
from .. import numbers, plots
from ..contrasts import combination
from ..figures import Figure, ReportData, counted_over


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """Scores over a setting of learners that is a number, with a straight line over its logarithm."""

    over: str = naming("setting of learners")

    def faults(self, settings: Settings) -> Iterator[str]:
        """Name a setting that is no number >= 0."""
        values = [found[self.over] for found in settings.values() if self.over in found]
        numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
        if values and (not numbers or min(numbers) < 0):
            yield f"scores can only be drawn over numbers >= 0, and this setting has none: {self.over!r}"

    def figures(self, data: ReportData) -> Iterator[Figure]:
        """Draw scores by the first metric over a setting that is a number."""
        ours, series = data.at_most(data.first), _series(data, self.over)
        if not series:
            return
        xs = sorted({x for names in series.values() for x in names})
        points = next(iter(ours.values()))[0].points
        scores = {label: {x: ours[name][1].score for x, name in names.items()} for label, names in series.items()}
        lines = [plots.Curve(n, [(x, numbers.shown(e, points)) for x, e in by_x.items()]) for n, by_x in scores.items()]
        about = f"{data.first} over {self.over}"
        yield Figure(
            title=about,
            columns=("learner", *(f"{x:,g}" for x in xs)),
            rows=tuple((label, *(by_x.get(x) for x in xs)) for label, by_x in scores.items()),
            notes=(
                counted_over([ours[name] for names in series.values() for name in names.values()]),
                *(note for label, names in series.items() for note in _trend(data, label, names)),
            ),
            points=points,
            plot=plots.responsive(lambda width: plots.curves(lines, about, over=self.over, up=data.first, width=width)),
        )


def _series(data: ReportData, over: str) -> dict[str, dict[float, str]]:
    """Put learners together that differ in one setting alone: each by its value of it."""
    ours = data.at_most(data.first)
    found: dict[str, dict[float, str]] = {}  # what else learners are set to -> value -> learner
    for name, settings in data.results.settings.items():
        value = settings.get(over)
        if name in ours and isinstance(value, int | float) and not isinstance(value, bool):
            found.setdefault(_rest(settings, over), {}).setdefault(value, name)
    labels = _told_apart([data.results.settings[next(iter(names.values()))] for names in found.values()], over)
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


def _trend(data: ReportData, label: str, names: Mapping[float, str]) -> Iterator[str]:
    """Fit a straight line over the logarithm; its slope is a sum of scores, and has an interval as they have."""
    ours = data.at_most(data.first)
    leaderboards = [ours[name][0] for name in names.values()]
    x = np.log2(1 + np.array(list(names)))
    if len(names) < 3 or len({b.shots for b in leaderboards}) > 1:
        yield f"{label}: a trend needs three values or more, at one number of shots"
        return
    shares = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    of = dict(zip(names.values(), shares.tolist(), strict=True))
    slope = combination(of, data.first, leaderboards[0].shots, data.results.outcomes, data.how)
    yield f"{label}: {numbers.score(slope, leaderboards[0].points)} for each doubling of 1 + x, by a straight line"
