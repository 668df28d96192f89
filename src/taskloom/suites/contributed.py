"""What a contributor's task files must keep to, each fault by file, field and index."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from ..errors import nearest
from ..texts import counted
from .check import BALANCED, FEW_LABELS, Fault
from .instructions import INSTANCES, POSITIVE, Faults, faults_of_shape, load, splits, task_paths, texts_of

FEWEST, MOST = 26, 6_500  # instances
NAMED: Mapping[str, str] = {  # keys of a file -> lists of known names
    "Categories": "categories",
    "Domains": "domains",
    "Input_language": "languages",
    "Output_language": "languages",
    "Instruction_language": "languages",
}


def is_contribution(path: Path) -> bool:
    """Tell a folder of task files, or one of them, from a suite."""
    return path.suffix == ".json" or (
        path.is_dir() and not (path / "suite.json").exists() and (any(path.glob("*.json")) or (path / "tasks").is_dir())
    )


def check(path: Path) -> Iterator[Fault]:
    """Read task files, and yield all that is wrong with them and with their splits."""
    paths = [path] if path.is_file() else task_paths(path)
    for file in paths:
        faults = Faults()
        content = load(file, faults)
        if content is not None:
            faults_of_shape(file.name, content, faults)
        yield from (Fault("E401", file.name, fault.removeprefix(f"{file.name}: ")) for fault in faults.found)
        yield from _names(file.name, content or {})
        if content is not None and isinstance(content.get(INSTANCES), list):
            instances = [(n, i) for n, i in enumerate(content[INSTANCES]) if isinstance(i, dict)]
            yield from _instances(file.name, instances)
            yield from _examples(file.name, content, instances)
    if path.is_dir():
        yield from _splits(path, {file.stem for file in paths})


@cache
def known_names() -> Mapping[str, Sequence[str]]:
    """Read the names of categories, domains and languages that the released tasks go by."""
    path = resources.files("taskloom").joinpath("data", "instruction_names.json")
    names: dict[str, list[str]] = json.loads(path.read_text(encoding="utf-8"))
    return names


def _names(file: str, content: Mapping[str, Any]) -> Iterator[Fault]:
    """Warn of names that are not among the released ones: slips, or new."""
    for key, kind in NAMED.items():
        known, listed = known_names()[kind], content.get(key)
        for number, name in enumerate(listed if isinstance(listed, list) else []):
            if name not in known:
                yield Fault("W403", f"{file}: {key}[{number}]", f"not known: {name!r}; {nearest(str(name), known)}")


def _instances(file: str, instances: Sequence[tuple[int, Mapping[str, Any]]]) -> Iterator[Fault]:
    if not FEWEST <= len(instances) <= MOST:
        told = f"{counted(len(instances), 'instance')}; there must be {FEWEST} to {MOST:,}"
        yield Fault("E402", f"{file}: {INSTANCES}", told)
    for field in ("input", "id"):
        first: dict[str, int] = {}
        for number, instance in instances:
            if isinstance(value := instance.get(field), str):
                if value in first:
                    place = f"{file}: {INSTANCES}[{number}].{field}"
                    yield Fault("E403", place, f"the same as {INSTANCES}[{first[value]}].{field}")
                first.setdefault(value, number)
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
    for number, example in enumerate(shown if isinstance(shown, list) else []):
        if isinstance(example, dict) and isinstance(given := example.get("input"), str) and given in at:
            yield Fault("E405", f"{file}: {POSITIVE}[{number}].input", f"stands in {INSTANCES}[{at[given]}] too")


def _splits(folder: Path, known: set[str]) -> Iterator[Fault]:
    for track, lists in splits(folder).items():
        for one, other in itertools.combinations(lists, 2):
            for name in sorted(set(lists[one]) & set(lists[other])):
                yield Fault("E406", f"splits/{track}", f"{name} is in {one} and in {other}")
        for name in sorted(known - {name for names in lists.values() for name in names}):
            yield Fault("W402", f"splits/{track}", f"{name} is in no split")
