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
    faults_of_shape,
    kind_of,
    load,
    splits,
    task_of,
    task_paths,
    tasks_in,
    texts_of,
    whole,
)
from ..texts import counted
from .check import Fault, imbalance

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
        yield from (Fault("E401", *fault) for fault in faults.found)
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
            yield Fault(
                "E407", f"{file}: {places.get(id(made), '')}{whole(key)}", "stands twice, and only the last counts"
            )


def _header(file: str, content: Mapping[str, Any]) -> Iterator[Fault]:
    """Look for fields that are missing, empty, or no lists of texts."""
    for key in TAGS:
        if key not in content:
            yield Fault("W407" if key in LACKED else "E401", f"{file}: {key}", "missing")
        elif content[key] == [] and key not in UNFILLED:
            yield Fault("W407", f"{file}: {key}", "empty")
        for number, value in _numbered(content.get(key)):
            if value != value or (isinstance(value, str) and not value.strip()):  # NaN is what an empty cell became
                yield Fault("W407", f"{file}: {key}[{number}]", "empty")
            elif not isinstance(value, str):
                yield Fault("E401", f"{file}: {key}[{number}]", f"must be a text, not {kind_of(value)}")


def _names(file: str, content: Mapping[str, Any]) -> Iterator[Fault]:
    """Warn of names that are not among the released ones: slips, or new."""
    for key, kind in NAMED.items():
        known = known_names()[kind]
        for number, name in _numbered(content.get(key)):
            if isinstance(name, str) and name.strip() and name not in known:
                yield Fault("W403", f"{file}: {key}[{number}]", f"not known: {name!r}; {nearest(name, known)}")


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
        told = f"{counted(count, 'instance')}; there must be {FEWEST} to {MOST:,}"
        yield Fault("E402", f"{file}: {INSTANCES}", told)


def _instances(file: str, instances: Sequence[tuple[int, Mapping[str, Any]]]) -> Iterator[Fault]:
    for part in ("input", "id"):
        first: dict[str, int] = {}
        for number, instance in instances:
            if isinstance(value := instance.get(part), str) and value:
                if value in first:
                    place = f"{file}: {INSTANCES}[{number}].{part}"
                    yield Fault("E403", place, f"the same as {INSTANCES}[{first[value]}].{part}")
                first.setdefault(value, number)
    if unnamed := [number for number, instance in instances if instance.get("id", "") == ""]:
        told = f"{counted(len(unnamed), 'instance')} without an id: one is made; the first: {INSTANCES}[{unnamed[0]}]"
        yield Fault("W404", f"{file}: {INSTANCES}", told)
    for number, instance in instances:
        if isinstance(given := instance.get("input"), str) and not given.strip():
            yield Fault("E404", f"{file}: {INSTANCES}[{number}].input", "empty")
    outputs = [(number, texts_of(instance.get("output"))) for number, instance in instances]
    for number, texts in outputs:
        for at, text in enumerate(texts or ()):
            if not text.strip():
                yield Fault("E404", f"{file}: {INSTANCES}[{number}].output[{at}]", "empty")
    yield from imbalance("W401", f"{file}: {INSTANCES}", [texts[0] for _, texts in outputs if texts])


def _repeated(
    file: str, content: Mapping[str, Any], instances: Sequence[tuple[int, Mapping[str, Any]]]
) -> Iterator[Fault]:
    """Look for positive examples among the instances."""
    at = {instance["input"]: number for number, instance in instances if isinstance(instance.get("input"), str)}
    for number, example in _numbered(content.get(POSITIVE)):
        if isinstance(example, dict) and isinstance(given := example.get("input"), str) and given in at:
            yield Fault("E405", f"{file}: {POSITIVE}[{number}].input", f"stands in {INSTANCES}[{at[given]}] too")


def _examples(file: str, content: Mapping[str, Any], key: str) -> Iterator[Fault]:
    """Look at the examples of a list; the output of a negative one may be wrong for being empty."""
    if content.get(key) == []:
        yield Fault("W406", f"{file}: {key}", "empty")
    for number, example in _numbered(content.get(key)):
        for part in ("input", "output") if isinstance(example, dict) else ():
            place, value = f"{file}: {key}[{number}].{part}", example.get(part)
            texts = texts_of(value) or ()
            if texts and not texts[0].strip() and (part, key) != ("output", NEGATIVE):
                yield Fault("E404", place, "empty")
            if isinstance(value, list) and part == "output" and texts:
                told = f"a list of {counted(len(texts), 'text')} where a text is wanted: only the first is shown"
                yield Fault("W405", place, told)


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
        more = f"; {counted(len(pairs) - 1, 'more id')} of that file too" if len(pairs) > 1 else ""
        yield Fault("E408", f"{file}: {INSTANCES}[{here}].id", f"the same as {other}: {INSTANCES}[{there}].id{more}")


def _splits(folder: Path, known: set[str]) -> Iterator[Fault]:
    faults = FileFaults()
    tracks = splits(folder, faults)
    yield from (Fault("E401", *fault) for fault in faults.found)
    for track, lists in tracks.items():
        for split, entries in lists.items():
            yield from _twice(f"splits/{track}/{split}_tasks.txt", list(map(task_of, entries)))
        for one, other in itertools.combinations(lists, 2):
            for name in sorted({*tasks_in(lists[one])} & {*tasks_in(lists[other])}):
                yield Fault("E406", f"splits/{track}", f"{name} is in {one} and in {other}")
    placed = {name for lists in tracks.values() for entries in lists.values() for name in tasks_in(entries)}
    for name in sorted(known - placed if tracks else ()):
        yield Fault("W402", "splits", f"{name} is in no split of any track")


def _twice(file: str, names: Sequence[str]) -> Iterator[Fault]:
    first: dict[str, int] = {}
    for number, name in enumerate(names):
        if first.setdefault(name, number) != number:
            yield Fault("E406", f"{file}: [{number}]", f"{name} again, after [{first[name]}]")
