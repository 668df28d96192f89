"""A study as it is written: which suite, tasks, sizes and learners. A small YAML file, or this object."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from .. import benchmarks
from ..episodes import DRAWN, Sampler, Shots
from ..errors import StudyError, UnknownNameError, UsageError, nearest
from ..learners import BASELINES
from ..limits import refuse_no_file, whole_number
from ..presets import PRESETS
from ..schema import Node, key, read, short, taken
from ..scores import METRICS
from ..scores.tasks import is_known
from .resources import RESOURCES, Resources, read_resources
from .views import VIEWS, View, view_kind
from .yaml_reader import Places, StudyFaults, places_in, read_yaml

FORMAT = 1
MAX_FILE = 1 << 18  # bytes of a study file: six seconds to read; those that come with taskloom have 12,000 at most
MOST = 100_000  # seeds that a number can stand for, and episodes of a setting
LARGEST_SEED = (1 << 63) - 1  # that a ledger holds
WRITTEN = (
    "NAME: {} or NAME: {LEARNER: {option: value}}, "
    "with optional keys tasks, shots, episodes, training, optional and resources"
)


# --- what a file holds, as objects -----------------------------------------------------------------------------------


def _settings(node: Node, key: str, default: Mapping[Shots, int]) -> dict[Shots, int]:
    """Read settings: a list of them with a number of episodes for all, or a mapping with one for each."""
    if not isinstance(written := node.values.get(key), Mapping):
        episodes = node.take("episodes", int, next(iter(default.values())))
        if not 0 < episodes <= MOST:
            node.fault("episodes", f"episodes must be an integer from 1 to {MOST:,}: {episodes}")
        if not {key, "episodes"} & node.values.keys():
            return dict(default)  # each with its own number
        return dict.fromkeys(_listed_settings(node, key, tuple(default)), episodes)
    counts = {_setting(_number_or_name(setting)): count for setting, count in written.items()}
    if None in counts or not counts or not all(map(_is_count, counts.values())):
        wanted = f"integers >= 0, all or drawn, each with a number of episodes, at most {MOST:,}"
        node.fault(key, f"{key} must be {wanted}: {short(written)}")
        return dict(default)
    return {setting: count for setting, count in counts.items() if setting is not None}


def _number_or_name(setting: Any) -> Any:
    """Read a number of shots that was quoted."""
    number = whole_number(setting) if isinstance(setting, str) else None
    return setting if number is None else number


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST


def _listed_settings(node: Node, key: str, default: tuple[Shots, ...]) -> tuple[Shots, ...]:
    written = node.values.get(key, default)
    listed = [_setting(one) for one in (written if isinstance(written, list | tuple) else [written])]
    if None in listed and isinstance(written, list):
        at = listed.index(None)
        node.fault(at, f"{key} must be integers >= 0, all or drawn: {short(written[at])}", written)
        return default
    if None in listed or not (listed or default == ()):
        node.fault(key, f"{key} must be integers >= 0, all or drawn: {short(written)}")
        return default
    return tuple(setting for setting in listed if setting is not None)


def _setting(value: Any) -> Shots | None:
    is_number = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if is_number or value in ("all", "drawn") else None


def _seeds(node: Node, key: str, default: tuple[int, ...]) -> tuple[int, ...]:
    """Read seeds: a list, or a number that stands for so many, from 0."""
    found = node.take(key, int | tuple[int, ...], default)
    if not found and key in node.values:
        node.fault(key, f"{key} must be an integer >= 1, or a list that is not empty: {short(node.values[key])}")
    elif isinstance(found, int) and found > MOST:
        node.fault(key, f"{key} must be at most {MOST:,}: {found}")
    elif isinstance(found, tuple) and max(found, default=0) > LARGEST_SEED:
        node.fault(key, f"{key} must be integers up to {LARGEST_SEED}: {max(found)}")
    else:
        return tuple(range(found)) if isinstance(found, int) else tuple(dict.fromkeys(found))
    return default


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyProtocol:
    """How episodes are drawn: for each task and seed, so many of each setting."""

    shots: Mapping[Shots, int] = key(default_factory=lambda: {0: 1, 1: 1, 4: 1}, read=_settings)  # setting -> episodes
    seeds: tuple[int, ...] = key((0, 1, 2), read=_seeds)  # of draws
    training: tuple[int, ...] = key((), read=_seeds)  # seeds of training; none: that of the draw
    looks: tuple[int, ...] = ()  # steps of training at which support and query are asked about
    own_episodes: bool = False  # whether each setting has episodes of its own, not the same ones at other shots
    sampler: Sampler = field(  # but for shots and reserve, which each setting has
        default_factory=Sampler, metadata={"beside": ("shots", "reserve", "version")}
    )
    tasks: Mapping[str, StudyProtocol] = key(default_factory=dict, outside=True)  # names or patterns -> their own

    def of(self, task: str) -> StudyProtocol:
        """Give the protocol of a task: the first whose name or pattern it has, or this one."""
        return next((other for text, other in self.tasks.items() if named([task], text)), self)

    def drawing(self, shots: Shots) -> Sampler:
        """Say how episodes of a setting are drawn; those of all numbers of shots have the same query set.

        Options that a setting does not use have their defaults, so that changing them changes no draw.
        """
        if shots == DRAWN:
            return replace(self.sampler, shots=shots, reserve=0)
        reserve = max((number for number in self.shots if isinstance(number, int)), default=0)
        usual = Sampler()
        unused = {name: getattr(usual, name) for name in ("least", "most", "base", "among", "balanced")}
        return replace(self.sampler, shots=shots, reserve=reserve, **unused)

    def episodes(self, shots: Shots) -> range:
        """Number the episodes of a setting: from 0 on, or after those of the settings before it."""
        before = itertools.takewhile(lambda setting: setting != shots, self.shots)
        first = sum(self.shots[setting] for setting in before) if self.own_episodes else 0
        return range(first, first + self.shots[shots])


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyLearner:
    """A learner of a study: what it is, what it is set to, and where it takes part."""

    learner: str
    options: Mapping[str, Any] = field(default_factory=dict)
    tasks: tuple[str, ...] = ("*",)
    shots: tuple[Shots, ...] = ()  # none: all of the study's
    episodes: int = 0  # the first so many of each setting; 0: all
    training: int = 0  # the first so many seeds of training; 0: all
    optional: bool = False  # whether it is skipped, with a warning, where its model is unavailable
    resources: Resources | None = None  # that its cells take on a cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A declared grid of work."""

    name: str
    suite: str = ""  # a folder, or nothing where it is built
    build: str = ""  # a benchmark
    source: str | tuple[str, ...] = ""  # that it is built from; several where a benchmark takes them
    build_options: Mapping[str, Any] = field(default_factory=dict)  # as `taskloom.build` takes them
    tasks: tuple[str, ...] = ("*",)  # names, or patterns such as abstract->*
    protocol: StudyProtocol = field(default_factory=StudyProtocol)
    learners: Mapping[str, StudyLearner] = field(default_factory=dict)
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # names of its own, and what they stand for
    views: tuple[View, ...] = ()  # what its report shows beside the scores
    baselines: bool | tuple[str, ...] = True  # those that apply, none, or these are run beside its learners
    metrics: tuple[str, ...] = ()  # of all tasks that they can score; none: each task's own
    folder: Path = Path()  # where the file lies: paths in it start there
    places: Places = field(default_factory=dict, compare=False, repr=False)  # where in the file its parts are written
    of_run: bool = field(default=False, compare=False)  # whether it is a run's copy, which may have come from others

    def with_baselines(self) -> Study:
        """Put the baselines among its learners: those that are listed, or all that it does not have under any name."""
        kinds = {chosen.learner for chosen in self.learners.values()}
        every = [name for name in BASELINES if self.baselines and name not in kinds]
        wanted = every if isinstance(self.baselines, bool) else self.baselines
        added = {name: StudyLearner(learner=name) for name in wanted if name not in self.learners}
        return replace(self, learners={**self.learners, **added})


# --- the keys of a file ----------------------------------------------------------------------------------------------


def _format(node: Node, key: str, default: int) -> int:
    found: int = node.take(key, int, default)
    if found > FORMAT:
        node.fault(key, f"study format must be at most {FORMAT}; a newer taskloom reads it: {found}")
    return found


def _name(node: Node, key: str, default: str) -> str:
    found: str = node.take(key, str, default)
    if not re.fullmatch(r"[\w-][\w. -]*", found):
        node.fault(key, f"name must be letters, digits, spaces, _, - and dots, as it names a folder: {found!r}")
    return found


def _suite(node: Node, key: str, default: Mapping[str, Any]) -> Mapping[str, Any]:
    """Read a suite's folder, or a benchmark with its source and options, which are looked up when it is built."""
    value = node.values.get(key)
    if isinstance(value, str) and value:
        return {"suite": value}
    part = node.mapping(key) if isinstance(value, Mapping) else node.below({}, "", node.place(key))
    found = {"build": part.take("build", str, ""), "source": part.take("from", str | tuple[str, ...], "")}
    if not found["build"]:
        node.fault(key, f"suite must be a folder or {{build: BENCHMARK}}: {short(value)}")
    options = {str(name): value for name, value in part.values.items() if name not in part.known}
    return {**default, **found, "build_options": options}


def _protocol(node: Node, key: str, default: StudyProtocol) -> StudyProtocol:
    part = node.mapping(key)
    found = _sizes(part, default)
    own = part.mapping("for")
    parts = {str(text): own.mapping(text) for text in own.values}
    found = replace(found, tasks={text: _sizes(below, found) for text, below in parts.items()})
    for below in (part, *parts.values()):
        below.finish()
    return found


def _sizes(part: Node, base: StudyProtocol) -> StudyProtocol:
    base = _preset(part, base)
    found = taken(StudyProtocol, part, base) or base
    if not found.sampler.query:
        part.fault("query", "query must be an integer >= 1, or all: 0")
    if found.sampler.per_label and DRAWN in found.shots:
        part.fault("per_label", "per_label can't be set together with shots: drawn")
    return found


def _preset(part: Node, base: StudyProtocol) -> StudyProtocol:
    """Take the sizes of a preset, if one is named, in the place of others; keys beside it override them."""
    name = part.take("preset", str, "")
    if name and name not in PRESETS:
        part.fault("preset", f"unknown preset {short(name)}; {nearest(name, PRESETS)}")
    if name not in PRESETS:
        return base
    preset, setting = PRESETS[name], Sampler().shots
    sampler = replace(preset.sampler, shots=setting)  # each of the settings has its own
    return replace(base, shots=preset.shots, seeds=(0,), sampler=sampler, own_episodes=preset.own_episodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Where:
    """What may stand beside a learner."""

    tasks: tuple[str, ...] = ("*",)
    shots: tuple[Shots, ...] = key((), read=_listed_settings)
    episodes: int = 0
    training: int = 0
    optional: bool = False
    resources: Resources | None = field(default=None, metadata={"read": read_resources})


def _learners(node: Node, key: str, default: Mapping[str, StudyLearner]) -> dict[str, StudyLearner]:
    """Read learners: `nearest: {}` by its own name, or `mine: {tfidf-linear: {C: 10.0}}` under another.

    Beside the learner may stand the tasks, shots, first episodes and first seeds of training that it takes part in, and
    whether it is optional.
    """
    found, part = dict(default), node.mapping(key)
    for name, value in part.values.items():
        if made := _learner(part, str(name), value or {}):
            found[str(name)] = made
    if not part.values:
        node.fault(key, "learners must not be empty; try {majority: {}, nearest: {}}")
    return found


def _learner(part: Node, name: str, value: Any) -> StudyLearner | None:
    node = part.below(value if isinstance(value, Mapping) else {}, f" of learner {name!r}", part.place(name))
    where = taken(_Where, node) or _Where()
    kinds = [(str(kind), options or {}) for kind, options in node.values.items() if kind not in node.known]
    kind, options = kinds[0] if kinds else (name, {})
    if not isinstance(value, Mapping) or len(kinds) > 1 or not isinstance(options, Mapping):
        part.fault(name, f"a learner must be {WRITTEN}: {name!r}")
        return None
    return StudyLearner(
        learner=kind, options={str(name): one for name, one in options.items()}, tasks=where.tasks,
        shots=where.shots, episodes=where.episodes, training=where.training, optional=where.optional,
        resources=where.resources,
    )  # fmt: skip


def _models(node: Node, key: str, default: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Read names for models: `mine: {load: path:models/mine}`, or `mine: {train: BASE}` for one that a cell makes."""
    part, found = node.mapping(key), dict(default)
    for name, value in part.values.items():
        ways = [value.get(way) for way in ("load", "train") if way in value] if isinstance(value, Mapping) else []
        if len(ways) == 1 and isinstance(ways[0], str):
            read_resources(part.below(value, f" of model {name!r}", part.place(name)), RESOURCES)
            found[str(name)] = dict(value)
        else:
            part.fault(name, f"a model must be NAME: {{load: WHERE}} or NAME: {{train: BASE}}, with options: {name!r}")
    return found


def _views(node: Node, key: str, default: tuple[View, ...]) -> tuple[View, ...]:
    """Read views: `gain`, or `agreement: {x: exact-match, y: rouge-l}` with what it is set to."""
    values = node.values.get(key, default)
    if not isinstance(values, list | tuple):
        node.fault(key, f"{key} must be a list: {short(values)}")
        return default
    return tuple(view for at, value in enumerate(values) if (view := _view(node, values, at, value)))


def _view(node: Node, values: Sequence[Any], at: int, value: Any) -> View | None:
    written = {value: {}} if isinstance(value, str) else value
    (name, options), *more = written.items() if isinstance(written, Mapping) and written else [("", None)]
    if more or not isinstance(options or {}, Mapping):
        node.fault(at, f"a view must be NAME or NAME: {{option: value}}: {short(value)}", values)
    elif name not in VIEWS:
        node.fault(at, f"unknown view {short(name or value)}; {nearest(str(name), VIEWS)}", values)
    else:
        return read(view_kind(name), node.below(options or {}, f" of view {name!r}", node.place(at, values)))
    return None


def _baselines(node: Node, key: str, default: bool) -> bool | tuple[str, ...]:
    """Read which baselines are run: true or false, or their names."""
    found: bool | tuple[str, ...] = node.take(key, bool | tuple[str, ...], default)
    for name in () if isinstance(found, bool) else found:
        if name not in BASELINES:
            node.fault(key, f"unknown baseline {short(name)}; {nearest(name, BASELINES)}")
    return found


def _metrics(node: Node, key: str, default: tuple[str, ...]) -> tuple[str, ...]:
    """Read names of metrics, as tasks have them: `accuracy`, `ndcg@10`, `title/rouge-l`."""
    found: tuple[str, ...] = node.take(key, tuple[str, ...], default)
    for name in found:
        if not is_known(name):
            node.fault(key, f"unknown metric {short(name)}; {nearest(name, METRICS)}")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _StudyFile:
    """The keys of a study's file."""

    format: int = key(FORMAT, read=_format)
    name: str = key("", read=_name)
    suite: Mapping[str, Any] = key(default_factory=dict, read=_suite)
    tasks: tuple[str, ...] = ("*",)
    protocol: StudyProtocol = field(default_factory=StudyProtocol, metadata={"read": _protocol})
    learners: Mapping[str, StudyLearner] = key(default_factory=dict, read=_learners)
    models: Mapping[str, Mapping[str, Any]] = key(default_factory=dict, read=_models)
    views: tuple[View, ...] = key((), read=_views)
    baselines: bool | tuple[str, ...] = key(True, read=_baselines)
    metrics: tuple[str, ...] = key((), read=_metrics)


# --- read ------------------------------------------------------------------------------------------------------------


def names() -> list[str]:
    """List the studies that come with taskloom."""
    return sorted(benchmarks.studies())


def load(name_or_path: str) -> tuple[Study, str]:
    """Read a study by its name or from a file, and give its text too."""
    path, own = Path(name_or_path), benchmarks.studies()
    if name_or_path in own:
        return parse(text := own[name_or_path].read_text(encoding="utf-8"), f"{name_or_path}.yaml"), text
    if path.exists():
        refuse_no_file(path)
    if not path.is_file():
        raise UsageError(f"no such study and no such file; {nearest(name_or_path, own)}: {name_or_path!r}")
    if path.stat().st_size > MAX_FILE:
        raise StudyError(f"a study must not be larger than {MAX_FILE:,} bytes: {path}")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise StudyError(f"not UTF-8 ({error.reason} at byte {error.start}): {path}") from None
    return parse(text, path.name, path.parent), text


def about(name: str) -> str:
    """Say what a study that comes with taskloom is about: the first line of its file."""
    return benchmarks.studies()[name].read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")


def parse(text: str, file: str = "study", folder: Path = Path()) -> Study:
    """Read a study, or list all its faults, each with line and column."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_FILE:  # one that a program made is refused before it is run
        raise StudyError(f"a study must not be larger than {MAX_FILE:,} bytes: {file}")
    values = read_yaml(text, file)
    if not isinstance(values, Mapping):
        raise StudyError(f"{file}: a study must be a mapping with the keys name, suite, tasks, protocol and learners")
    faults = StudyFaults()
    node = Node(values, faults.add, places_in(file), at=f"{file}:1:1")
    written = read(_StudyFile, node) or _StudyFile()
    if not faults.found:
        _check_shots(node, written)
    faults.settle()
    return Study(
        name=written.name, tasks=written.tasks, protocol=written.protocol, learners=written.learners,
        models=written.models, views=written.views, baselines=written.baselines, metrics=written.metrics,
        folder=folder, places=dict(_places(node)), **written.suite,
    )  # fmt: skip


def views_of(written: Sequence[Any]) -> tuple[View, ...]:
    """Read views that `yaml_writer.written_views` wrote."""
    faults = StudyFaults()
    found = _views(Node({"views": written}, faults.add), "views", ())
    faults.settle()
    return found


def _check_shots(node: Node, written: _StudyFile) -> None:
    known = {s for protocol in (written.protocol, *written.protocol.tasks.values()) for s in protocol.shots}
    for name, chosen in written.learners.items():
        if odd := [shots for shots in chosen.shots if shots not in known]:
            listed = node.values["learners"]
            node.fault("shots", f"shots of learner {name!r} that the protocol does not have: {odd}", listed[name])


def _places(node: Node) -> Iterator[tuple[tuple[str, str], str]]:
    """Find where things are written whose names can only be looked up later."""
    for name in ("suite", "tasks", "protocol", "metrics"):
        yield (name, ""), node.place(name)
    yield from _places_of_items(node, "tasks", node.values)
    for name in suite if isinstance(suite := node.values.get("suite"), Mapping) else ():
        yield ("option", str(name)), node.place(name, suite)
        yield ("option key", str(name)), node.place(name, suite, of_key=True)
    for name, written in node.values["learners"].items():
        yield from _places_of_learner(node, str(name), written)
    for name, written in (node.values.get("models") or {}).items():
        yield ("model", str(name)), node.place("load" if "load" in written else "train", written)
    for pattern in (own := (node.values.get("protocol") or {}).get("for") or {}):
        yield ("protocol", str(pattern)), node.place(pattern, own, of_key=True)
    for at, written in enumerate(views := node.values.get("views") or ()):
        yield ("view", str(at)), node.place(at, views)
        for options in written.values() if isinstance(written, Mapping) else ():
            yield from ((("view", f"{at} {name}"), node.place(name, options)) for name in options or ())


def _places_of_learner(node: Node, name: str, written: Any) -> Iterator[tuple[tuple[str, str], str]]:
    """Find where a learner's kind is written, which may be its name, and where the tasks that it takes part in are."""
    kinds = [kind for kind in written or () if kind not in _Where.__dataclass_fields__]
    within, kind = (written, kinds[0]) if kinds else (node.values["learners"], name)
    yield ("learner", name), node.place(kind, within, of_key=True)
    yield from _places_of_items(node, f"tasks of learner {name}", written or {})


def _places_of_items(node: Node, kind: str, written: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], str]]:
    """Find where each of the tasks is written that a list, or a text instead of one, names."""
    tasks = written.get("tasks", ())
    for at, text in enumerate(tasks if isinstance(tasks, list) else [tasks]):
        yield (kind, str(text)), node.place(at, tasks) if isinstance(tasks, list) else node.place("tasks", written)


def named(known: Collection[str], text: str) -> list[str]:
    """Give the names that a text stands for: the one that it is, or else all that it matches as a pattern.

    >>> named(["price [EUR]", "price E"], "price [EUR]"), named(["a->b", "b->a"], "a->*")
    (['price [EUR]'], ['a->b'])
    """
    return [text] if text in known else [name for name in known if fnmatchcase(name, text)]


def chosen_tasks(known: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Give the tasks that names and patterns stand for, in the suite's order, or refuse with the nearest names."""
    names = dict.fromkeys(known)
    found = {text: named(names, text) for text in wanted}
    if unknown := [UnknownNameError("task", text, known) for text, some in found.items() if not some]:
        raise UsageError("; ".join(map(str, unknown))) if len(unknown) > 1 else unknown[0]
    chosen = {name for some in found.values() for name in some}
    return [name for name in known if name in chosen]
