"""A study as it is written: which suite, tasks, sizes and learners. A small YAML file, or this object."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, asdict, dataclass, field, fields, replace
from fnmatch import fnmatchcase
from importlib import resources
from pathlib import Path
from typing import Any, Literal, get_args

from ..core import declared
from ..episodes import ALL, Sampler, ShortClass, Shots
from ..errors import StudyError, UsageError, nearest
from ..learners import FLOORS
from .views import VIEWS, View
from .yaml_reader import Node, Places, StudyFaults

FORMAT = 1
MAX_FILE = 1 << 20  # bytes of a study file
WRITTEN = "NAME: {} or NAME: {LEARNER: {option: value}}, with tasks, shots or optional beside the learner if need be"
NAMED = resources.files(__package__) / "named"


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyProtocol:
    """How episodes are drawn: for each task and seed, so many of each setting."""

    shots: Mapping[Shots, int] = field(default_factory=lambda: {0: 1, 1: 1, 4: 1})  # setting -> episodes for each seed
    seeds: tuple[int, ...] = (0, 1, 2)  # of draws
    training: tuple[int, ...] = ()  # seeds of training; none: that of the draw
    sampler: Sampler = field(default_factory=Sampler)  # but for shots and reserve, which each setting has
    tasks: Mapping[str, StudyProtocol] = field(
        default_factory=dict
    )  # names or patterns of tasks -> how these are drawn

    def of(self, task: str) -> StudyProtocol:
        """Give the protocol of a task: the first whose name or pattern it has, or this one."""
        return next((other for text, other in self.tasks.items() if named([task], text)), self)

    def drawing(self, shots: Shots) -> Sampler:
        """Say how episodes of a setting are drawn; those of all numbers of shots have the same query set."""
        reserve = max((number for number in self.shots if isinstance(number, int)), default=0)
        return replace(self.sampler, shots=shots, reserve=reserve)


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyLearner:
    """A learner of a study: what it is, what it is set to, and where it takes part."""

    learner: str
    options: Mapping[str, Any] = field(default_factory=dict)
    tasks: tuple[str, ...] = ("*",)
    shots: tuple[Shots, ...] = ()  # none: all of the study's
    optional: bool = False  # whether it is left out, and that told, where its model can't be had


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A declared grid of work."""

    name: str
    suite: str = ""  # a folder, or nothing where it is built
    build: str = ""  # a benchmark
    source: str = ""  # that it is built from
    tasks: tuple[str, ...] = ("*",)  # names, or patterns such as abstract->*
    protocol: StudyProtocol = field(default_factory=StudyProtocol)
    learners: Mapping[str, StudyLearner] = field(default_factory=dict)
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # names of its own, and what they stand for
    views: tuple[View, ...] = ()  # what its report shows beside the scores
    folder: Path = Path()  # where the file lies: paths in it start there
    places: Places = field(default_factory=dict, compare=False, repr=False)  # where in the file its parts are written


def names() -> list[str]:
    """List the studies that come with taskloom."""
    return sorted(Path(entry.name).stem for entry in NAMED.iterdir() if entry.name.endswith(".yaml"))


def load(name_or_path: str) -> tuple[Study, str]:
    """Read a study by its name or from a file, and give its text too."""
    path = Path(name_or_path)
    if name_or_path in names():
        return parse(text := (NAMED / f"{name_or_path}.yaml").read_text(encoding="utf-8"), f"{name_or_path}.yaml"), text
    if not path.is_file():
        raise UsageError(f"no study of that name, and no such file; {nearest(name_or_path, names())}: {name_or_path!r}")
    if path.stat().st_size > MAX_FILE:
        raise StudyError(f"a study of more than {MAX_FILE:,} bytes is none: {path}")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise StudyError(f"not UTF-8 ({error.reason} at byte {error.start}): {path}") from None
    return parse(text, path.name, path.parent), text


def parse(text: str, file: str = "study", folder: Path = Path()) -> Study:
    """Read a study, naming all faults at once, each by line and column."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        read = YAML(typ="rt", pure=True).load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{file}:{mark.line + 1}:{mark.column + 1}" if mark else file
        raise StudyError(f"{place}: not YAML ({error.problem})") from None
    except YAMLError as error:  # a character that no file may hold
        raise StudyError(f"{file}: not YAML ({str(error).splitlines()[0]})") from None
    if not isinstance(read, dict):
        raise StudyError(f"{file}: a study is a mapping of name, suite, tasks, protocol, learners")
    node = Node(read, StudyFaults(), file)
    study = _study(node, folder)
    node.faults.settle()
    return study


def written(study: Study) -> str:
    """Write a study as a file that reads as the same study, if it lies in the study's folder."""
    told = _told(study)
    text = "".join(_lines(key, value) for key, value in told.items())
    again = _told(parse(text, folder=study.folder))
    if odd := [key for key in told if again[key] != told[key]]:
        raise StudyError(f"a file would not be read as the same study; write otherwise: {', '.join(odd)}")
    return text


def _told(study: Study) -> dict[str, Any]:
    """Give what a study's file tells."""
    told = {
        "format": FORMAT,
        "name": study.name,
        "suite": study.suite or {"build": study.build, "from": study.source},
        "tasks": study.tasks,
        "protocol": _written_protocol(study.protocol),
        "floors": False,  # those that it has are among its learners
        "learners": {name: _written_learner(chosen) for name, chosen in study.learners.items()},
        "models": {name: dict(options) for name, options in study.models.items()},
        "views": written_views(study),
    }
    return {key: _plain(key, value) for key, value in told.items()}


def _lines(key: str, value: Any) -> str:
    """Write a part of a study on a line, and each of its learners and models on one of its own."""
    if key in ("learners", "models") and value:
        return f"{key}:\n" + "".join(f"  {_json(name)}: {_json(of)}\n" for name, of in value.items())
    return f"{key}: {_json(value)}\n"


def _json(value: Any) -> str:
    """Write JSON, which YAML reads, but for what is no character to it: half of one, or a line's end of some kind."""
    text = json.dumps(value, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in text)


def _written_protocol(protocol: StudyProtocol) -> dict[str, Any]:
    """Write a protocol: settings as a list where all have as many episodes, and sizes that are not the usual ones."""
    counts = list(protocol.shots.values())
    same = len(set(counts)) == 1
    told: dict[str, Any] = {"shots": list(protocol.shots) if same else dict(protocol.shots)}
    told |= {"episodes": counts[0]} if same and counts[0] != 1 else {}
    told |= {"seeds": protocol.seeds} | ({"training": protocol.training} if protocol.training else {})
    sizes = {name: value for name, value in declared(protocol.sampler).items() if name not in ("shots", "reserve")}
    own = {text: _written_protocol(other) for text, other in protocol.tasks.items()}
    return told | sizes | ({"for": own} if own else {})


def _written_learner(chosen: StudyLearner) -> dict[str, Any]:
    where = {"tasks": chosen.tasks, "shots": chosen.shots, "optional": chosen.optional}
    default = StudyLearner(learner=chosen.learner)
    return {chosen.learner: dict(chosen.options)} | {k: v for k, v in where.items() if v != getattr(default, k)}


def written_views(study: Study) -> list[dict[str, Any]]:
    """Write the views of a study; `views_of` reads them back."""
    return [_written_view(view) for view in study.views]


def views_of(written: Sequence[Any]) -> tuple[View, ...]:
    """Read views that were written."""
    node = Node({}, StudyFaults(), "views")
    found = tuple(_views(node, list(written)))
    node.faults.settle()
    return found


def _written_view(view: View) -> dict[str, Any]:
    name = next(name for name, kind in VIEWS.items() if isinstance(view, kind))
    return {name: {option: value for option, value in asdict(view).items() if value}}


def _plain(key: str, value: Any) -> Any:
    """Give a value as a file would, a number of numpy as a number; what no file can hold is refused."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError) as error:
        kinds = "texts, finite numbers, true or false, or lists or mappings of these"
        raise StudyError(f"{key} of a study must be {kinds} ({error}): {value!r}") from None


def _study(node: Node, folder: Path) -> Study:
    version = node.take("format", int, FORMAT)
    if version > FORMAT:
        node.fault("format", f"study format {version} is newer than the {FORMAT} known here")
    name = node.take("name", str, "")
    if not re.fullmatch(r"[\w-][\w. -]*", name):
        node.fault("name", f"a study needs a name that can be a folder's: {name!r}")
    suite = node.take("suite", (str, dict), "")
    where = {"suite": suite} if isinstance(suite, str) else _built(node.below(suite, " of suite"))
    if not any(where.values()):
        node.fault("suite", "suite must be a folder, or {build: BENCHMARK}")
    tasks = node.texts("tasks", ("*",))
    protocol = _protocol(node.below(node.take("protocol", dict, {}), " of protocol"))
    learners = _learners(node.below(node.take("learners", dict, {}), " of learners"))
    models = _models(node.below(node.take("models", dict, {}), " of models"))
    views = tuple(_views(node, node.take("views", list, [])))
    if not learners:
        node.fault("learners", "a study needs learners, such as {majority: {}, nearest: {}}")
    if node.take("floors", bool, True):
        used = {chosen.learner for chosen in learners.values()}
        learners |= {floor: StudyLearner(learner=floor) for floor in FLOORS if floor not in used | learners.keys()}
    node.finish()
    for name_of, chosen in learners.items():
        if odd := [shots for shots in chosen.shots if shots not in protocol.shots]:
            node.fault(name_of, f"shots of {name_of!r} that the protocol has not: {odd}", node.values["learners"])
    return Study(
        name=name, tasks=tasks, protocol=protocol, learners=learners, models=models, views=views, folder=folder,
        places=dict(_places(node)), **where,
    )  # fmt: skip


def _places(node: Node) -> Iterator[tuple[tuple[str, str], str]]:
    """Say where things are written whose names can only be looked up later."""
    for key in ("suite", "tasks"):
        yield (key, ""), node.place(key)
    for kind, key in (("learner", "learners"), ("model", "models")):
        written = node.values.get(key)
        yield from (((kind, str(name)), node.place(name, written)) for name in (written or ()))
    for at, _ in enumerate(views := node.values.get("views") or ()):
        yield ("view", str(at)), node.place(at, views)


def _built(node: Node) -> dict[str, str]:
    found = {"build": node.take("build", str, ""), "source": node.take("from", str, "")}
    node.finish()
    return found


def _protocol(node: Node, over: StudyProtocol | None = None) -> StudyProtocol:
    """Read a protocol, or what a task's own has other than the study's."""
    base = over or StudyProtocol()
    sizes = {name: node.size(name, getattr(base.sampler, name)) for name in ("dev", "ways", "least", "most")}
    found = StudyProtocol(
        shots=_settings(node, base.shots),
        seeds=node.numbers("seeds", base.seeds),
        training=node.numbers("training", base.training) if "training" in node.values else base.training,
        sampler=replace(
            base.sampler,
            **sizes,
            query=_query(node, base.sampler.query),
            per_class=node.take("per_class", bool, base.sampler.per_class),
            short_class=_short_class(node, base.sampler.short_class),
        ),
    )
    if not found.sampler.query:
        node.fault("query", "query must be above nought")
    if over is None:
        own = node.below(node.take("for", dict, {}), " of for")
        parts = {str(text): own.below(part or {}, f" of {text!r}") for text, part in own.values.items()}
        found = replace(found, tasks={text: _protocol(part, found) for text, part in parts.items()})
    node.finish()
    return found


def _settings(node: Node, default: Mapping[Shots, int]) -> dict[Shots, int]:
    """Take settings: a list of them with a number of episodes for all, or a mapping with one for each."""
    if isinstance(node.values.get("shots"), dict):
        node.known += ["shots"]
        given = {_setting(_number(name)): count for name, count in node.values["shots"].items()}
        wrong = [n for n, count in given.items() if n is None or not isinstance(count, int) or count < 1]
        if wrong or not given:
            node.fault("shots", f"shots must be numbers, all or drawn, each with a number of episodes: {dict(given)}")
            return dict(default)
        return {setting: count for setting, count in given.items() if setting is not None}
    episodes = node.size("episodes", next(iter(default.values())))
    if not episodes:
        node.fault("episodes", "episodes must be above nought")
    return dict.fromkeys(_listed_settings(node, list(default)), episodes)


def _listed_settings(node: Node, default: Sequence[Shots]) -> list[Shots]:
    written = node.take("shots", (int, str, list), list(default))
    listed = [_setting(one) for one in (written if isinstance(written, list) else [written])]
    if not listed or None in listed:
        node.fault("shots", f"shots must be whole numbers, none below nought, all or drawn: {written}")
        return list(default)
    return [setting for setting in listed if setting is not None]


def _number(key: Any) -> Any:
    """Take a key for a number where it is written as one in quotes, as JSON has it."""
    return int(key) if isinstance(key, str) and key.isdecimal() else key


def _setting(value: Any) -> Shots | None:
    is_number = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if is_number or value in ("all", "drawn") else None


def _short_class(node: Node, default: ShortClass) -> ShortClass:
    value: ShortClass = node.take("short_class", str, default)
    if value not in get_args(ShortClass):
        node.fault("short_class", f"short_class must be skip or refuse: {value!r}")
        return default
    return value


def _query(node: Node, default: int | Literal["all"]) -> int | Literal["all"]:
    """Take a size, or `all`."""
    if node.values.get("query", default) == "all":
        node.known.append("query")
        return ALL
    return node.size("query", default if isinstance(default, int) else 0)


def _learners(written: Node) -> dict[str, StudyLearner]:
    """Read learners: `nearest: {}` by its own name, or `mine: {tfidf-linear: {C: 10.0}}` under another.

    Beside the learner may stand the tasks and shots that it takes part in, and whether it is optional.
    """
    found = {}
    for name, value in written.values.items():
        if value and not isinstance(value, dict):
            written.fault(name, f"a learner is written {WRITTEN}: {name!r}")
            continue
        node = written.below(value or {}, f" of learner {name!r}")
        where = {
            "tasks": node.texts("tasks", ("*",)),
            "shots": tuple(_listed_settings(node, ())) if "shots" in node.values else (),
            "optional": node.take("optional", bool, False),
        }
        named = [(str(kind), options or {}) for kind, options in node.values.items() if kind not in where]
        if len(named) > 1 or not all(isinstance(options, dict) for _, options in named):
            written.fault(name, f"a learner is written {WRITTEN}: {name!r}")
            continue
        kind, options = named[0] if named else (str(name), {})
        found[str(name)] = StudyLearner(learner=kind, options=dict(options), **where)
    return found


def _models(written: Node) -> dict[str, dict[str, Any]]:
    """Read names for models: `mine: {load: path:models/mine, dtype: bfloat16}`."""
    for name, value in written.values.items():
        if not isinstance(value, dict) or not isinstance(value.get("load"), str):
            written.fault(name, f"a model is written NAME: {{load: WHERE, option: value}}: {name!r}")
    return {str(name): dict(value) for name, value in written.values.items() if isinstance(value, dict)}


def _views(study: Node, values: Sequence[Any]) -> Iterator[View]:
    """Read views: `gain`, or `agreement: {x: exact-match, y: rouge-l}` with what it is set to."""
    for at, value in enumerate(values):
        named = {value: {}} if isinstance(value, str) else value
        (name, options), *more = named.items() if isinstance(named, dict) and named else [("", None)]
        if more or not isinstance(options or {}, dict):
            study.fault(at, f"a view is written NAME, or NAME: {{option: value}}: {str(value)[:40]!r}", values)
        elif name not in VIEWS:
            study.fault(at, f"unknown view {str(name or value)[:40]!r}; {nearest(str(name), VIEWS)}", values)
        else:
            node = study.below(options or {}, f" of view {name!r}")
            for f in fields(VIEWS[name]):
                if f.default is MISSING and f.name not in node.values:
                    study.fault(at, f"view {name!r} needs {f.name}", values)
            yield VIEWS[name](**{f.name: _option(node, f) for f in fields(VIEWS[name])})
            node.finish()


def _option(node: Node, of: Field[Any]) -> Any:
    """Take a text, or a list of them where that is what an option holds."""
    if of.default == () and of.name in node.values:
        return node.texts(of.name, ())
    return node.take(of.name, str, "" if of.default is MISSING else of.default)


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
    if faults := [f"{text!r}; {nearest(text, known)}" for text, some in found.items() if not some]:
        raise UsageError("unknown tasks: " + "; ".join(faults))
    chosen = {name for some in found.values() for name in some}
    return [name for name in known if name in chosen]
