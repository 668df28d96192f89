"""What a contributor's task files must keep to, each fault by file, field and index."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from ..errors import nearest
from ..texts import counted
from .check import BALANCED, FEW_LABELS, Fault
from .instructions import INSTANCES, POSITIVE, Faults, faults_of_shape, kind_of, load, splits, task_paths, texts_of

FEWEST, MOST = 26, 6_500  # instances
NAMED: Mapping[str, str] = {  # keys of a file -> lists of known names
    "Categories": "categories",
    "Domains": "domains",
    "Input_language": "languages",
    "Output_language": "languages",
    "Instruction_language": "languages",
}
FILLED = ("Categories", "Domains", "Input_language", "Output_language")


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
        faults, doubled = Faults(), Doubled()
        content = load(file, faults, doubled)
        if content is not None:
            faults_of_shape(file.name, content, faults)
        yield from (Fault("E401", file.name, fault.removeprefix(f"{file.name}: ")) for fault in faults.found)
        yield from _doubled(file.name, content or {}, doubled)
        yield from _names(file.name, content or {})
        if content is not None and isinstance(listed := content.get(INSTANCES), list):
            instances = [(n, i) for n, i in enumerate(listed) if isinstance(i, dict)]
            yield from _count(file.name, len(listed))
            yield from _instances(file.name, instances)
            yield from _examples(file.name, content, instances)
            yield from _shared_ids(file.name, instances, first)
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
            yield Fault("E407", f"{file}: {places.get(id(made), '')}{key}", "stands twice, and only the last counts")


def _names(file: str, content: Mapping[str, Any]) -> Iterator[Fault]:
    """Warn of names that are not among the released ones: slips, or new; and of none."""
    for key, kind in NAMED.items():
        known, listed = known_names()[kind], content.get(key)
        if not isinstance(listed, list):
            continue
        if odd := [(number, name) for number, name in enumerate(listed) if not isinstance(name, str)]:
            number, name = odd[0]
            yield Fault("E401", file, f"{key}: must be a list of texts, and {key}[{number}] is {kind_of(name)}")
        if not listed and key in FILLED:
            yield Fault("W407", f"{file}: {key}", "empty")
        for number, name in enumerate(listed):
            if isinstance(name, str) and name not in known:
                yield Fault("W403", f"{file}: {key}[{number}]", f"not known: {name!r}; {nearest(name, known)}")


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
    yield from _balance(file, [texts[0] for _, texts in outputs if texts])


def _balance(file: str, outputs: Sequence[str]) -> Iterator[Fault]:
    """Judge the balance of labels, where there are few enough that outputs are labels."""
    counts = Counter(outputs)
    if not 1 < len(counts) < FEW_LABELS:
        return
    shares = [count / len(outputs) for count in counts.values()]
    entropy = -sum(share * math.log(share) for share in shares) / math.log(len(counts))
    if entropy <= BALANCED:
        common, count = counts.most_common(1)[0]
        told = f"normalised entropy {entropy:.2f}, above {BALANCED} is wanted; {common!r} is {count / len(outputs):.0%}"
        yield Fault("W401", f"{file}: {INSTANCES}", told)


def _examples(
    file: str, content: Mapping[str, Any], instances: Sequence[tuple[int, Mapping[str, Any]]]
) -> Iterator[Fault]:
    at = {instance["input"]: number for number, instance in instances if isinstance(instance.get("input"), str)}
    shown = content.get(POSITIVE)
    if shown == []:
        yield Fault("W406", f"{file}: {POSITIVE}", "empty")
    for number, example in enumerate(shown if isinstance(shown, list) else []):
        if not isinstance(example, dict):
            continue
        if isinstance(given := example.get("input"), str) and given in at:
            yield Fault("E405", f"{file}: {POSITIVE}[{number}].input", f"stands in {INSTANCES}[{at[given]}] too")
        if isinstance(output := example.get("output"), list) and texts_of(output):
            told = f"a list of {counted(len(output), 'text')} where a text is wanted: only the first is shown"
            yield Fault("W405", f"{file}: {POSITIVE}[{number}].output", told)


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
    tracks = splits(folder)
    for track, lists in tracks.items():
        for one, other in itertools.combinations(lists, 2):
            for name in sorted(set(lists[one]) & set(lists[other])):
                yield Fault("E406", f"splits/{track}", f"{name} is in {one} and in {other}")
    placed = {name for lists in tracks.values() for names in lists.values() for name in names}
    for name in sorted(known - placed if tracks else ()):
        yield Fault("W402", "splits", f"{name} is in no split of any track")
