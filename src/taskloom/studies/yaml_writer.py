"""A study as a file that reads as the same study."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from ..core import declared
from ..episodes import Sampler
from ..errors import StudyError
from .resources import RESOURCES
from .study import FORMAT, Study, StudyLearner, StudyProtocol, parse
from .views import View, view_name


def written(study: Study) -> str:
    """Write a study as a file that reads as the same study, if it lies in the study's folder."""
    values = _values(study)
    text = "".join(_lines(key, value) for key, value in values.items())
    again = _values(parse(text, folder=study.folder))
    if odd := [key for key in values if again[key] != values[key]]:
        raise StudyError(f"can't be written to a file that reads as the same study: {', '.join(odd)}")
    return text


def _values(study: Study) -> dict[str, Any]:
    """Give what a study's file tells."""
    values = {
        "format": FORMAT,
        "name": study.name,
        "suite": study.suite or _written_build(study),
        "tasks": study.tasks,
        "protocol": written_protocol(study.protocol),
        "baselines": study.baselines,
        "metrics": study.metrics,
        "learners": {name: _written_learner(chosen) for name, chosen in study.learners.items()},
        "models": {name: dict(options) for name, options in study.models.items()},
        "views": written_views(study),
    }
    return {key: _plain(key, value) for key, value in values.items()}


def _written_build(study: Study) -> dict[str, Any]:
    return {"build": study.build, **({"from": study.source} if study.source else {}), **study.build_options}


def _lines(key: str, value: Any) -> str:
    """Write a part of a study on a line, and each of its learners and models on one of its own."""
    if key in ("learners", "models") and value:
        return f"{key}:\n" + "".join(f"  {_json(name)}: {_json(of)}\n" for name, of in value.items())
    return f"{key}: {_json(value)}\n"


def _json(value: Any) -> str:
    """Write JSON, which YAML reads, but for what is no character to it: half of one, or a line's end of some kind."""
    text = json.dumps(value, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in text)


def written_protocol(protocol: StudyProtocol, around: StudyProtocol | None = None) -> dict[str, Any]:
    """Write a protocol: settings as a list where all have as many episodes, and sizes that are not the usual ones.

    One of some tasks says what differs from the one `around` it, too.
    """
    counts = list(protocol.shots.values())
    same = len(set(counts)) == 1
    values: dict[str, Any] = {"shots": list(protocol.shots) if same else dict(protocol.shots)}
    values |= {"episodes": counts[0]} if same and counts[0] != 1 else {}
    values |= {"seeds": protocol.seeds} | ({"training": protocol.training} if protocol.training else {})
    values |= {"looks": protocol.looks} if protocol.looks else {}
    values |= {"own_episodes": protocol.own_episodes} if protocol.own_episodes or around else {}
    usual = Sampler()
    others = [f.name for f in fields(Sampler) if around and getattr(around.sampler, f.name) != getattr(usual, f.name)]
    every = {**{name: getattr(usual, name) for name in others}, **declared(protocol.sampler)}
    sizes = {name: value for name, value in every.items() if name not in ("shots", "reserve")}
    own = {text: written_protocol(other, protocol) for text, other in protocol.tasks.items()}
    return values | sizes | ({"for": own} if own else {})


def protocol_json(study: Study) -> Any:
    """Give the protocol of a study as its file tells it."""
    return _plain("protocol", written_protocol(study.protocol))


def _written_learner(chosen: StudyLearner) -> dict[str, Any]:
    names = ("tasks", "shots", "episodes", "training", "optional")
    where = {name: getattr(chosen, name) for name in names}
    default = StudyLearner(learner=chosen.learner)
    where = {k: v for k, v in where.items() if v != getattr(default, k)}
    where |= {RESOURCES: chosen.resources.declared() or {"cpu": 1}} if chosen.resources else {}
    return {chosen.learner: dict(chosen.options)} | where


def written_views(study: Study) -> list[dict[str, Any]]:
    """Write the views of a study; `study.views_of` reads them back."""
    return [_written_view(view) for view in study.views]


def _written_view(view: View) -> dict[str, Any]:
    options = {f.name: getattr(view, f.name) for f in fields(view)}  # type: ignore[arg-type]
    return {view_name(view): {option: value for option, value in options.items() if value}}


def _plain(key: str, value: Any) -> Any:
    """Give a value as a file would, a number of numpy as a number; what no file can hold is refused."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError) as error:
        kinds = "texts, finite numbers, true or false, or lists or mappings of these"
        raise StudyError(f"{key} of a study must be {kinds} ({error}): {value!r}") from None
