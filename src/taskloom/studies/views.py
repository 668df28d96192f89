"""Views: what a report shows beside scores. A row here for each, and a file in `reports/views`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from importlib import import_module
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from ..benchmarks import published
from ..errors import UnknownNameError
from ..ids import Json
from ..schema import key
from ..scores import METRICS
from ..scores.tasks import is_known

Settings: TypeAlias = Mapping[str, Mapping[str, Json]]  # of each learner
Named: TypeAlias = Literal["learner", "metric", "paper", "setting of learners", "tag of tasks"]  # by an option
V = TypeVar("V")
VIEWS: Mapping[str, str] = {  # "module:Class", loaded when a study has the view
    "published": "published:Beside",
    "gain": "gain:Gain",
    "agreement": "agreement:Agreement",
    "matrix": "matrix:Matrix",
    "scaling": "scaling:Scaling",
    "learning": "learning:Learning",
    "ladder": "ladder:Ladder",
    "transfer": "transfer:Transfer",
    "bridge": "bridge:Bridges",
    "meta-gain": "meta_gain:MetaGain",
    "composition": "composition:Composition",
    "distribution": "distribution:Distribution",
    "by": "by:By",
    "episodes": "episodes:EpisodeStatistics",
    "calibration": "calibration:Calibration",
    "values": "values:Values",
    "correlation": "correlation:Correlation",
    "anova": "anova:Anova",
    "efficiency": "efficiency:Efficiency",
}


class View(Protocol):
    """A frozen dataclass whose fields are its options; one that names something says so by `naming`."""

    def faults(self, settings: Settings) -> Iterator[str]:
        """Yield why it can't be drawn, whatever the results; names in its options are already looked up."""

    def figures(self, seen: Any) -> Iterable[Any]:
        """Make tables and plots of results: `reports.figures` says of what, and what these are."""


def naming(what: Named, **default: Any) -> Any:
    """Declare an option that names learners, metrics, papers, settings or tags; none by default, or all."""
    return key(**default, names=what)


def view_kind(name: str) -> type[View]:
    """Load the class of a view."""
    module, _, kind = VIEWS[name].partition(":")
    found: type[View] = getattr(import_module(f"taskloom.reports.views.{module}"), kind)
    return found


def view_name(view: View) -> str:
    """Name a view as studies do."""
    return next(name for name in VIEWS if type(view) is view_kind(name))


def view_faults(view: View, settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield options of a view that have unknown names, or else why it can't be drawn; with the option, or none."""
    unknown = [
        (option, str(UnknownNameError(what, name, known)))
        for option, what, name in _named(view)
        if what != "tag of tasks"  # which are known when the suite is open
        and name not in (known := _known(what, settings))
        and not (what == "metric" and is_known(name))
    ]
    yield from unknown or (("", fault) for fault in view.faults(settings))


def named_by(view: View, wanted: Named) -> list[str]:
    """Name the metrics, or the tags of tasks, that a view needs."""
    return [name for _, what, name in _named(view) if what == wanted]


def renamed(view: V, names: Mapping[str, str]) -> V:
    """Give a view whose learners go by other names."""
    found = {}
    for f in fields(view):  # type: ignore[arg-type]
        if f.metadata.get("names") == "learner":
            old = getattr(view, f.name)
            found[f.name] = tuple(names.get(n, n) for n in old) if isinstance(old, tuple) else names.get(old, old)
    return replace(view, **found)  # type: ignore[type-var]


def _named(view: View) -> Iterator[tuple[str, Named, str]]:
    """Yield options that have names, unless they are defaults: the option, what it names, and the name."""
    for f in fields(view):  # type: ignore[arg-type]
        value = getattr(view, f.name)
        if "names" in f.metadata and value != f.default:
            listed = value if isinstance(value, tuple) else (value,)
            yield from ((f.metadata.get("name", f.name), f.metadata["names"], name) for name in listed)


def _known(what: Named, settings: Settings) -> Collection[str]:
    if what == "setting of learners":
        return sorted({name for found in settings.values() for name in found})
    known: Mapping[Named, Collection[str]] = {"learner": settings, "metric": METRICS, "paper": published.names()}
    return known[what]
