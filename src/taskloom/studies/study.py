"""A study as it is written: which suite, tasks, sizes and learners. A small YAML file, or this object."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from importlib import resources
from pathlib import Path
from typing import Any

from ..episodes import ALL
from ..errors import StudyError, UsageError, nearest
from ..learners import FLOORS
from .views import VIEWS, View

FORMAT = 1
MAX_FILE = 1 << 20  # bytes of a study file
MOST = 100_000  # seeds, or shots
WRITTEN = "NAME: {} or NAME: {LEARNER: {option: value}}, with tasks, shots or optional beside the learner if need be"
NAMED = resources.files(__package__) / "named"


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """How episodes are drawn: for each task, seed and episode, with each number of shots."""

    shots: tuple[int, ...] = (0, 1, 4)
    seeds: tuple[int, ...] = (0, 1, 2)
    episodes: int = 1
    dev: int = 0
    query: int = 32
    per_class: bool = False
    ways: int = 0
    short_class: str = "skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A learner of a study: what it is, what it is set to, and where it takes part."""

    learner: str
    options: Mapping[str, Any] = field(default_factory=dict)
    tasks: tuple[str, ...] = ("*",)
    shots: tuple[int, ...] = ()  # none: all of the study's
    optional: bool = False  # whether it is left out, and that told, where its model can't be had


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A declared grid of work."""

    name: str
    suite: str = ""  # a folder, or nothing where it is built
    build: str = ""  # a benchmark
    source: str = ""  # that it is built from
    tasks: tuple[str, ...] = ("*",)  # names, or patterns such as abstract->*
    protocol: Protocol = field(default_factory=Protocol)
    learners: Mapping[str, Chosen] = field(default_factory=dict)
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # names of its own, and what they stand for
    views: tuple[View, ...] = ()  # what its report shows beside the scores
    folder: Path = Path()  # where the file lies: paths in it start there


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
    from ruamel.yaml.error import MarkedYAMLError

    try:
        read = YAML(typ="rt", pure=True).load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{file}:{mark.line + 1}:{mark.column + 1}" if mark else file
        raise StudyError(f"{place}: not YAML ({error.problem})") from None
    if not isinstance(read, dict):
        raise StudyError(f"{file}: a study is a mapping of name, suite, tasks, protocol, learners")
    faults = _Faults(file)
    study = _study(_Node(read, faults, ""), folder)
    faults.settle()
    return study


@dataclass(slots=True)
class _Faults:
    file: str
    found: list[str] = field(default_factory=list)

    def add(self, node: Any, key: str | int | None, what: str) -> None:
        line, column = _place(node, key)
        self.found.append(f"{self.file}:{line}:{column}: {what}")

    def settle(self) -> None:
        if self.found:
            raise StudyError("\n  ".join(["the study can't be run as it is written:", *self.found]))


def _place(node: Any, key: str | int | None) -> tuple[int, int]:
    marks = getattr(node, "lc", None)
    if marks is None:
        return 1, 1
    try:
        line, column = (
            (marks.line, marks.col) if key is None else marks.item(key) if isinstance(key, int) else marks.key(key)
        )
    except (KeyError, TypeError, AttributeError):
        line, column = marks.line, marks.col
    return line + 1, column + 1


@dataclass(slots=True)
class _Node:
    """A mapping of the file, whose values are taken one by one; what is not taken is a fault."""

    values: Mapping[str, Any]
    faults: _Faults
    name: str
    known: list[str] = field(default_factory=list)

    def take(self, key: str, kinds: type | tuple[type, ...], default: Any) -> Any:
        self.known.append(key)
        value = self.values.get(key, default)
        wrong_bool = isinstance(value, bool) and kinds is not bool
        if key in self.values and (wrong_bool or not isinstance(value, kinds)):
            wanted = " or ".join(_NAMES[kind] for kind in (kinds if isinstance(kinds, tuple) else (kinds,)))
            self.faults.add(self.values, key, f"{key} must be {wanted}: {str(value)[:40]!r}")
            return default
        return value

    def numbers(self, key: str, default: tuple[int, ...]) -> tuple[int, ...]:
        """Take a list of whole numbers, or one that stands for so many, from 0."""
        value = self.take(key, (int, list), default)
        if isinstance(value, int) and value > MOST:
            self.faults.add(self.values, key, f"{key} can be {MOST:,} at most: {value}")
            return default
        if isinstance(value, int):
            value = range(value) if key == "seeds" else [value]
        if not value:
            self.faults.add(self.values, key, f"{key} must be one or more: {self.values.get(key)}")
            return default
        if any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in value):
            self.faults.add(self.values, key, f"{key} must be whole numbers, none below nought: {list(value)}")
            return default
        return tuple(dict.fromkeys(value))

    def size(self, key: str, default: int) -> int:
        value = self.take(key, int, default)
        if value < 0:
            self.faults.add(self.values, key, f"{key} can't be below nought: {value}")
        return int(value)

    def texts(self, key: str, default: tuple[str, ...]) -> tuple[str, ...]:
        value = self.take(key, (str, list), default)
        found = [value] if isinstance(value, str) else value
        if not found or not all(isinstance(text, str) for text in found):
            self.faults.add(self.values, key, f"{key} must be a list of texts: {str(value)[:40]!r}")
            return default
        return tuple(found)

    def finish(self) -> None:
        for key in self.values:
            if key not in self.known:
                self.faults.add(self.values, key, f"unknown key {key!r}{self.name}; {nearest(str(key), self.known)}")


_NAMES = {str: "text", int: "a whole number", list: "a list", dict: "a mapping", bool: "true or false"}


def _study(node: _Node, folder: Path) -> Study:
    version = node.take("format", int, FORMAT)
    if version > FORMAT:
        node.faults.add(node.values, "format", f"study format {version} is newer than the {FORMAT} known here")
    name = node.take("name", str, "")
    if not re.fullmatch(r"[\w-][\w. -]*", name):
        node.faults.add(node.values, "name", f"a study needs a name that can be a folder's: {name!r}")
    suite = node.take("suite", (str, dict), "")
    where = {"suite": suite} if isinstance(suite, str) else _built(_Node(suite, node.faults, " of suite"))
    if not any(where.values()):
        node.faults.add(node.values, "suite", "suite must be a folder, or {build: BENCHMARK}")
    tasks = node.texts("tasks", ("*",))
    protocol = _protocol(_Node(node.take("protocol", dict, {}), node.faults, " of protocol"))
    learners = _learners(node.take("learners", dict, {}), node.faults)
    models = _models(node.take("models", dict, {}), node.faults)
    views = tuple(_views(node.take("views", list, []), node.faults))
    if not learners:
        node.faults.add(node.values, "learners", "a study needs learners, such as {majority: {}, nearest: {}}")
    if node.take("floors", bool, True):
        used = {chosen.learner for chosen in learners.values()}
        learners |= {floor: Chosen(learner=floor) for floor in FLOORS if floor not in used | learners.keys()}
    node.finish()
    for name_of, chosen in learners.items():
        if odd := [shots for shots in chosen.shots if shots not in protocol.shots]:
            node.faults.add(node.values, "learners", f"shots of {name_of!r} that the protocol has not: {odd}")
    return Study(
        name=name, tasks=tasks, protocol=protocol, learners=learners, models=models, views=views, folder=folder, **where
    )


def _built(node: _Node) -> dict[str, str]:
    found = {"build": node.take("build", str, ""), "source": node.take("from", str, "")}
    node.finish()
    return found


def _protocol(node: _Node) -> Protocol:
    default = Protocol()
    found = Protocol(
        shots=node.numbers("shots", default.shots),
        seeds=node.numbers("seeds", default.seeds),
        episodes=node.size("episodes", default.episodes),
        dev=node.size("dev", default.dev),
        query=_query(node, default.query),
        per_class=node.take("per_class", bool, default.per_class),
        ways=node.size("ways", default.ways),
        short_class=node.take("short_class", str, default.short_class),
    )
    if found.short_class not in ("skip", "refuse"):
        node.faults.add(node.values, "short_class", f"short_class must be skip or refuse: {found.short_class!r}")
    if not found.query or not found.episodes:
        node.faults.add(node.values, "query", "query and episodes must be above nought")
    node.finish()
    return found


def _query(node: _Node, default: int) -> int:
    """Take a size, or `all`."""
    if node.values.get("query") == "all":
        node.known.append("query")
        return ALL
    return node.size("query", default)


def _learners(values: Mapping[str, Any], faults: _Faults) -> dict[str, Chosen]:
    """Read learners: `nearest: {}` by its own name, or `mine: {tfidf-linear: {C: 10.0}}` under another.

    Beside the learner may stand the tasks and shots that it takes part in, and whether it is optional.
    """
    found = {}
    for name, value in values.items():
        if value and not isinstance(value, dict):
            faults.add(values, name, f"a learner is written {WRITTEN}: {name!r}")
            continue
        node = _Node(value or {}, faults, f" of learner {name!r}")
        where = {
            "tasks": node.texts("tasks", ("*",)),
            "shots": node.numbers("shots", ()) if "shots" in node.values else (),
            "optional": node.take("optional", bool, False),
        }
        named = [(str(kind), options or {}) for kind, options in node.values.items() if kind not in where]
        if len(named) > 1 or not all(isinstance(options, dict) for _, options in named):
            faults.add(values, name, f"a learner is written {WRITTEN}: {name!r}")
            continue
        kind, options = named[0] if named else (str(name), {})
        found[str(name)] = Chosen(learner=kind, options=dict(options), **where)
    return found


def _models(values: Mapping[str, Any], faults: _Faults) -> dict[str, dict[str, Any]]:
    """Read names for models: `mine: {load: path:models/mine, dtype: bfloat16}`."""
    for name, value in values.items():
        if not isinstance(value, dict) or not isinstance(value.get("load"), str):
            faults.add(values, name, f"a model is written NAME: {{load: WHERE, option: value}}: {name!r}")
    return {str(name): dict(value) for name, value in values.items() if isinstance(value, dict)}


def _views(values: Sequence[Any], faults: _Faults) -> Iterator[View]:
    """Read views: `gain`, or `agreement: {x: exact-match, y: rouge-l}` with what it is set to."""
    for at, value in enumerate(values):
        named = {value: {}} if isinstance(value, str) else value
        (name, options), *more = named.items() if isinstance(named, dict) and named else [("", None)]
        if more or not isinstance(options or {}, dict):
            faults.add(values, at, f"a view is written NAME, or NAME: {{option: value}}: {str(value)[:40]!r}")
        elif name not in VIEWS:
            faults.add(values, at, f"unknown view {str(name or value)[:40]!r}; {nearest(str(name), VIEWS)}")
        else:
            node = _Node(options or {}, faults, f" of view {name!r}")
            for f in fields(VIEWS[name]):
                if f.default is MISSING and f.name not in node.values:
                    faults.add(values, at, f"view {name!r} needs {f.name}")
            yield VIEWS[name](**{f.name: _option(node, f) for f in fields(VIEWS[name])})
            node.finish()


def _option(node: _Node, of: Field[Any]) -> Any:
    """Take a text, or a list of them where that is what an option holds."""
    if of.default == () and of.name in node.values:
        return node.texts(of.name, ())
    return node.take(of.name, str, "" if of.default is MISSING else of.default)


def chosen_tasks(known: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Give the tasks that names and patterns stand for, in the suite's order, or refuse with the nearest names."""
    from fnmatch import fnmatchcase

    faults = [f"{text!r}; {nearest(text, known)}" for text in wanted if not any(fnmatchcase(n, text) for n in known)]
    if faults:
        raise UsageError("unknown tasks: " + "; ".join(faults))
    return [name for name in known if any(fnmatchcase(name, text) for text in wanted)]
