"""Scores laid out by two settings of learners."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...benchmarks.published import published
from ...ids import Json
from ...stats import Estimate
from ...studies.views import Settings, naming
from .. import numbers, svg
from ..figures import Figure, ReportData, counted_over
from ..leaderboards import Leaderboard, Standing
from .published import what_is_published


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Scores laid out by two settings of learners."""

    rows: str = naming("setting of learners")
    columns: str = naming("setting of learners")
    paper: str = naming("paper", default="")

    def faults(self, settings: Settings) -> Iterator[str]:
        """Name learners that would lie on each other."""
        taken: dict[tuple[str, str], str] = {}
        for name, found in settings.items():
            if self._is_placed(found):
                other = taken.setdefault((str(found[self.rows]), str(found[self.columns])), name)
                if other != name:
                    yield f"{other!r} and {name!r} share a cell of the matrix of {self.rows} and {self.columns}"
        if not taken:
            yield f"no learner has both settings of the matrix: {self.rows!r} and {self.columns!r}"

    def _is_placed(self, settings: Mapping[str, Json]) -> bool:
        """Tell whether a learner has both settings; one that is not known is none."""
        return settings.get(self.rows) is not None and settings.get(self.columns) is not None

    def figures(self, data: ReportData) -> Iterator[Figure]:
        """Lay scores by the first metric out by two settings, above published rows."""
        ours, settings = data.at_most(data.first), data.results.settings
        at = {
            (str(found[self.rows]), str(found[self.columns])): ours[name]
            for name, found in settings.items()
            if name in ours and self._is_placed(found)
        }
        if not at:
            return
        tables = [f for f in published(self.paper).by(self.columns) if f.metric == data.first] if self.paper else []
        order = [name for f in tables for found in f.values.values() for name in found]
        rows, columns = (_ordered(names, order) for names in zip(*at, strict=True))
        over = tables[0].over if tables else "tasks"
        here = {row: [_score_at(at, row, column, over) for column in columns] for row in rows}
        theirs = {f"{n}, published": [v.get(c) for c in columns] for f in tables for n, v in f.values.items()}
        told = [note for f in tables for note in what_is_published(data, f, published(self.paper).paper)]
        about, points = f"{data.first} by {self.rows} and {self.columns}", next(iter(at.values()))[0].points
        yield Figure(
            title=about,
            columns=(self.rows, *columns),
            rows=(
                *((name, *found) for name, found in here.items()),
                *((name, *found) for name, found in theirs.items()),
            ),
            notes=(counted_over(at.values(), over), *told),
            points=points,
            plot=_heat(here, theirs, columns, about, points=points),
        )


def _ordered(names: Iterable[str], order: Sequence[str]) -> list[str]:
    """Put names into the order of a paper's table, each once, and those that it does not have after them."""
    place = {name: at for at, name in reversed([*enumerate(order)])}
    return sorted(dict.fromkeys(names), key=lambda name: place.get(name, len(order)))


def _score_at(
    at: Mapping[tuple[str, str], tuple[Leaderboard, Standing]], row: str, column: str, over: str
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
