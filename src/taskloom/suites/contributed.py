"""What a contributor's task files must keep to, each fault by file, field and index."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from ..errors import nearest
from ..sources.task_files import (
    INSTANCES,
    NEGATIVE,
    POSITIVE,
    TAGS,
    FileFaults,
    escaped,
    faults_of_shape,
    kind_of,
    load,
    splits,
    task_of,
    task_paths,
    tasks_in,
    texts_of,
)
from .faults import Fault, imbalance

FEWEST, MOST = 26, 6_500  # instances
NAMED: Mapping[str, str] = {  # keys of a file -> lists of known names
    "Categories": "categories",
    "Domains": "domains",
    "Input_language": "languages",
    "Output_language": "languages",
    "Instruction_language": "languages",
}
LACKED = ("Instance License",)  # what some released files do without
UNFILLED = ("Reasoning",)  # what many of them leave empty


@dataclass(slots=True)
class Doubled:
    """Objects in which a key stands twice, found while a file is read."""

    found: list[tuple[dict[str, Any], list[str]]] = field(default_factory=list)

    def __call__(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Make an object as JSON does: the last of equal keys counts."""
        made = dict(pairs)
        if len(made) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            self.found.append((made, [key for key, count in counts.items() if count > 1]))
        return made


def is_contribution(path: Path) -> bool:
    """Tell a folder of task files, or one of them, from a suite."""
    return path.suffix == ".json" or (
        path.is_dir() and not (path / "suite.json").exists() and (any(path.glob("*.json")) or (path / "tasks").is_dir())
    )


def check(path: Path) -> Iterator[Fault]:
    """Read task files, and yield all that is wrong with them and with their splits."""
    paths = [path] if path.is_file() else task_paths(path)
    first: dict[str, tuple[str, int]] = {}
    for file in paths:
        faults, doubled = FileFaults(), Doubled()
        content = load(file, faults, doubled)
        if content is not None:
            faults_of_shape(file.name, content, faults)
        yield from (Fault(*fault) for fault in faults.found)
        if content is not None:
            yield from _doubled(file.name, content, doubled)
            yield from _header(file.name, content)
            yield from _names(file.name, content)
            yield from _lists(file.name, content, first)
    if path.is_dir():
        yield from _splits(path, {file.stem for file in paths})


@cache
def known_names() -> Mapping[str, Sequence[str]]:
    """Read the names of categories, domains and languages that the released tasks go by."""
    path = resources.files("taskloom").joinpath("data", "instruction_names.json")
    names: dict[str, list[str]] = json.loads(path.read_text(encoding="utf-8"))
    return names


def _doubled(file: str, content: Mapping[str, Any], doubled: Doubled) -> Iterator[Fault]:
    """Name keys that stand twice, with the places of their objects where these were kept."""
    if not doubled.found:
        return
    lists = {key: value for key, value in content.items() if isinstance(value, list)}
    places = {id(one): f"{key}[{number}]." for key, value in lists.items() for number, one in enumerate(value)}
    for made, keys in doubled.found:
        for key in keys:
            yield Fault.of("E407", f"{file}: {places.get(id(made), '')}{escaped(key)}")


def _header(file: str, content: Mapping[str, Any]) -> Iterator[Fault]:
    """Look for fields that are missing, empty, or no lists of texts."""
    for key in TAGS:
        if key not in content:
            yield Fault.of("W407-missing" if key in LACKED else "E401-missing", f"{file}: {key}")
        elif content[key] == [] and key not in UNFILLED:
            yield Fault.of("W407-empty", f"{file}: {key}")
        for number, value in _numbered(content.get(key)):
            if value != value or (isinstance(value, str) and not value.strip()):  # NaN is what an empty cell became
                yield Fault.of("W407-empty", f"{file}: {key}[{number}]")
            elif not isinstance(value, str):
                yield Fault.of("E401-kind", f"{file}: {key}[{number}]", wanted="a text", kind=kind_of(value))


def _names(file: str, content: Mapping[str, Any]) -> Iterator[Fault]:
    """Warn of names that are not among the released ones: slips, or new."""
    for key, kind in NAMED.items():
        known = known_names()[kind]
        for number, name in _numbered(content.get(key)):
            if isinstance(name, str) and name.strip() and name not in known:
                yield Fault.of("W403", f"{file}: {key}[{number}]", name=name, hint=nearest(name, known))


def _numbered(value: object) -> list[tuple[int, Any]]:
    return list(enumerate(value)) if isinstance(value, list) else []


def _lists(file: str, content: Mapping[str, Any], first: dict[str, tuple[str, int]]) -> Iterator[Fault]:
    """Look at instances and examples; `first` has the places of the ids of all files before."""
    if isinstance(listed := content.get(INSTANCES), list):
        instances = [(number, one) for number, one in enumerate(listed) if isinstance(one, dict)]
        yield from _count(file, len(listed))
        yield from _instances(file, instances)
        yield from _repeated(file, content, instances)
        yield from _shared_ids(file, instances, first)
    for key in (POSITIVE, NEGATIVE):
        yield from _examples(file, content, key)


def _count(file: str, count: int) -> Iterator[Fault]:
    if not FEWEST <= count <= MOST:
        yield Fault.of("E402", f"{file}: {INSTANCES}", count=count, fewest=FEWEST, most=MOST)


def _instances(file: str, instances: Sequence[tuple[int, Mapping[str, Any]]]) -> Iterator[Fault]:
    for part in ("input", "id"):
        first: dict[str, int] = {}
        for number, instance in instances:
            if isinstance(value := instance.get(part), str) and value:
                if value in first:
                    place = f"{file}: {INSTANCES}[{number}].{part}"
                    yield Fault.of("E403", place, other=f"{INSTANCES}[{first[value]}].{part}")
                first.setdefault(value, number)
    if unnamed := [number for number, instance in instances if instance.get("id", "") == ""]:
        first_place = f"{INSTANCES}[{unnamed[0]}]"
        yield Fault.of("W404", f"{file}: {INSTANCES}", count=len(unnamed), first=first_place)
    for number, instance in instances:
        if isinstance(given := instance.get("input"), str) and not given.strip():
            yield Fault.of("E404", f"{file}: {INSTANCES}[{number}].input")
    outputs = [(number, texts_of(instance.get("output"))) for number, instance in instances]
    for number, texts in outputs:
        for at, text in enumerate(texts or ()):
            if not text.strip():
                yield Fault.of("E404", f"{file}: {INSTANCES}[{number}].output[{at}]")
    yield from imbalance("W401", f"{file}: {INSTANCES}", [texts[0] for _, texts in outputs if texts])


def _repeated(
    file: str, content: Mapping[str, Any], instances: Sequence[tuple[int, Mapping[str, Any]]]
) -> Iterator[Fault]:
    """Look for positive examples among the instances."""
    at = {instance["input"]: number for number, instance in instances if isinstance(instance.get("input"), str)}
    for number, example in _numbered(content.get(POSITIVE)):
        if isinstance(example, dict) and isinstance(given := example.get("input"), str) and given in at:
            yield Fault.of("E405", f"{file}: {POSITIVE}[{number}].input", other=f"{INSTANCES}[{at[given]}]")


def _examples(file: str, content: Mapping[str, Any], key: str) -> Iterator[Fault]:
    """Look at the examples of a list; the output of a negative one may be wrong for being empty."""
    if content.get(key) == []:
        yield Fault.of("W406", f"{file}: {key}")
    for number, example in _numbered(content.get(key)):
        for part in ("input", "output") if isinstance(example, dict) else ():
            place, value = f"{file}: {key}[{number}].{part}", example.get(part)
            texts = texts_of(value) or ()
            if texts and not texts[0].strip() and (part, key) != ("output", NEGATIVE):
                yield Fault.of("E404", place)
            if isinstance(value, list) and part == "output" and texts:
                yield Fault.of("W405", place, count=len(texts))


def _shared_ids(
    file: str, instances: Sequence[tuple[int, Mapping[str, Any]]], first: dict[str, tuple[str, int]]
) -> Iterator[Fault]:
    """Look for ids that stood in files before, one fault for each of these; `first` has the places of ids."""
    shared: dict[str, list[tuple[int, int]]] = {}
    for number, instance in instances:
        if isinstance(id_ := instance.get("id"), str) and id_:
            other, at = first.setdefault(id_, (file, number))
            if other != file:
                shared.setdefault(other, []).append((number, at))
    for other, pairs in shared.items():
        here, there = pairs[0]
        place, same = f"{file}: {INSTANCES}[{here}].id", f"{other}: {INSTANCES}[{there}].id"
        more = len(pairs) - 1
        yield Fault.of("E408-more", place, other=same, more=more) if more else Fault.of("E408", place, other=same)


def _splits(folder: Path, known: set[str]) -> Iterator[Fault]:
    faults = FileFaults()
    tracks = splits(folder, faults)
    yield from (Fault(*fault) for fault in faults.found)
    for track, lists in tracks.items():
        for split, entries in lists.items():
            yield from _twice(f"splits/{track}/{split}_tasks.txt", list(map(task_of, entries)))
        for one, other in itertools.combinations(lists, 2):
            for name in sorted({*tasks_in(lists[one])} & {*tasks_in(lists[other])}):
                yield Fault.of("E406-lists", f"splits/{track}", task=name, one=one, other=other)
    placed = {name for lists in tracks.values() for entries in lists.values() for name in tasks_in(entries)}
    for name in sorted(known - placed if tracks else ()):
        yield Fault.of("W402", "splits", task=name)


def _twice(file: str, names: Sequence[str]) -> Iterator[Fault]:
    first: dict[str, int] = {}
    for number, name in enumerate(names):
        if first.setdefault(name, number) != number:
            yield Fault.of("E406-twice", f"{file}: [{number}]", task=name, first=first[name])
