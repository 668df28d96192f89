"""Task files of Super-NaturalInstructions as they lie on disk: read, with every fault by file, field and index."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from ..core import ROLES
from ..errors import SourceError
from ..limits import parse_json, refuse_no_folder, regular
from ..messages import Note
from ..texts import LONE_SURROGATE

LISTS = ROLES  # of a track: its tasks by their role
LARGEST = 50 << 20  # bytes of a file
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # how JSON writes half a character, alone or beside its other half
MARK = "\ufeff"  # a byte order mark, with which some editors begin a file
DEFINITION, INSTANCES = "Definition", "Instances"
POSITIVE, NEGATIVE = "Positive Examples", "Negative Examples"
TAGS: Mapping[str, str] = {  # keys of a file -> tags of a task
    "Contributors": "contributor",
    "Source": "source",
    "URL": "url",
    "Categories": "category",
    "Reasoning": "reasoning",
    "Input_language": "input_language",
    "Output_language": "output_language",
    "Instruction_language": "instruction_language",
    "Domains": "domain",
    "Instance License": "licence",
}
KEYS = (*list(TAGS)[:5], DEFINITION, *list(TAGS)[5:9], POSITIVE, NEGATIVE, INSTANCES, "Instance License")
NEEDED = (DEFINITION, POSITIVE, NEGATIVE, INSTANCES)
PARTS: Mapping[str, tuple[str, ...]] = {  # of the objects in the lists of a file; one without an id is given one
    POSITIVE: ("input", "output", "explanation"),
    NEGATIVE: ("input", "output", "explanation"),
    INSTANCES: ("id", "input", "output"),
}
Splits: TypeAlias = Mapping[str, Mapping[str, Sequence[str]]]  # by track: the entries of each list, as they stand
Hook: TypeAlias = Callable[[list[tuple[str, Any]]], dict[str, Any]]  # makes an object of its keys and values


@dataclass(frozen=True, slots=True)
class TaskFile:
    """A task file as it was read."""

    name: str  # of the task: the file's, without its ending
    content: Mapping[str, Any]


@dataclass(slots=True)
class FileFaults:
    """What is wrong with task files, each by its place (file, field and index)."""

    found: list[tuple[str, Note]] = field(default_factory=list)

    def add(self, file: str, place: str, code: str, **values: Any) -> None:
        """Note a fault."""
        self.found.append((f"{file}: {place}" if place else file, Note.of(code, **values)))

    def settle(self, folder: Path) -> None:
        """Refuse, with all faults at once, if there are any."""
        if self.found:
            faults = [f"{place}: {note}" for place, note in self.found]
            raise SourceError(f"invalid task files in {folder}:", faults)


def read(folder: Path) -> tuple[list[TaskFile], Splits]:
    """Read a folder of task files, `tasks/*.json` or `*.json`, and its splits; all faults are named at once."""
    files, faults = [], FileFaults()
    for path in task_paths(folder):
        content = load(path, faults)
        if content is not None:
            faults_of_shape(path.name, content, faults)
            files.append(TaskFile(path.stem, content))
    found = splits(folder, faults)
    faults.settle(folder)
    return files, found


def task_paths(folder: Path) -> list[Path]:
    """List the task files of a folder."""
    refuse_no_folder(folder)
    inner = folder / "tasks"
    paths = sorted((inner if inner.is_dir() else folder).glob("*.json"))
    if not paths:
        raise SourceError(f"no task files (*.json, or tasks/*.json) in {folder}")
    return paths


def load(path: Path, faults: FileFaults, hook: Hook | None = None) -> dict[str, Any] | None:
    """Read one file, or note why it can't be; a hook sees the keys of each object, doubled ones too."""
    if LONE_SURROGATE.search(path.name):
        faults.add(escaped(path.name), "", "E401-name")
        return None
    text = _text_of(path, path.name, faults)
    if text is None:
        return None
    try:
        content = parse_json(text.removeprefix(MARK), **({"object_pairs_hook": hook} if hook else {}))
    except ValueError as error:
        faults.add(path.name, "", "E401-json", reason=str(error))
        return None
    if not isinstance(content, dict):
        faults.add(path.name, "", "E401-object", kind=kind_of(content))
        return None
    if SURROGATE.search(text):
        for place in _halves(content):
            faults.add(path.name, place, "E401-half")
    return content


def _halves(content: Mapping[str, Any]) -> Iterator[str]:
    """Give the places of texts and keys, however deep, that hold half a character: no suite can."""
    pending: list[tuple[str, Any]] = [("", content)]
    while pending:
        place, value = pending.pop()
        if isinstance(value, dict):
            inner = [(f"{place}.{key}".removeprefix("."), part) for key, one in value.items() for part in (key, one)]
            pending += reversed(inner)
        elif isinstance(value, list):
            pending += reversed([(f"{place}[{number}]", one) for number, one in enumerate(value)])
        elif isinstance(value, str) and LONE_SURROGATE.search(value):
            yield escaped(place)


def escaped(text: str) -> str:
    r"""Write half characters as JSON does, so that a text can be shown.

    >>> print(escaped("caf\udce9"))
    caf\udce9
    """
    return text.encode("utf-8", "backslashreplace").decode()


def _text_of(path: Path, name: str, faults: FileFaults) -> str | None:
    """Read the text of a file as it stands, or note why it can't be."""
    try:
        size = regular(path).stat().st_size
        if size <= LARGEST:
            return path.read_bytes().decode("utf-8")
        faults.add(name, "", "E401-size", bytes=size, most=LARGEST)
    except OSError as error:
        faults.add(name, "", "E401-unreadable", reason=error.strerror)
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        faults.add(name, "", "E401-encoding", reason=error.reason, byte=error.start, line=line)
    return None


def faults_of_shape(file: str, content: Mapping[str, Any], faults: FileFaults) -> None:
    """Note what keeps a file from being a task: missing fields, and wrong types."""
    for key in NEEDED:
        if key not in content:
            faults.add(file, key, "E401-missing")
    definition = content.get(DEFINITION, "-")
    if not _is_text(definition) and not (
        isinstance(definition, list) and definition and all(map(_is_text, definition))
    ):
        faults.add(file, DEFINITION, "E401-definition")
    for key in TAGS:
        if key in content and not isinstance(content[key], list):
            faults.add(file, key, "E401-kind", wanted="a list", kind=kind_of(content[key]))
    for key, parts in PARTS.items():
        for place, one in _listed(file, content, key, faults):
            for part in parts:
                if wrong := _wrong(one, part):
                    faults.add(file, f"{place}.{part}", wrong.code, **dict(wrong.values))


def _wrong(of: Mapping[str, Any], part: str) -> Note | None:
    """Say what is wrong with the type of a part, or nothing."""
    value, is_output = of.get(part), part == "output"
    if part not in of:
        return None if part == "id" else Note.of("E401-missing")
    if isinstance(value, str) or (is_output and texts_of(value)):
        return None
    if is_output and value == []:
        return Note.of("E401-no-text")
    odd = [kind_of(one) for one in value if not isinstance(one, str)] if isinstance(value, list) else []
    wanted = "a text, or a list of texts" if is_output else "a text"
    if odd and is_output:
        return Note.of("E401-part", wanted=wanted, kind=kind_of(value), part=odd[0])
    return Note.of("E401-kind", wanted=wanted, kind=kind_of(value))


def _listed(
    file: str, content: Mapping[str, Any], key: str, faults: FileFaults
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the objects of a list, each with its place."""
    values = content.get(key, [])
    if not isinstance(values, list):
        faults.add(file, key, "E401-kind", wanted="a list", kind=kind_of(values))
        return
    for number, value in enumerate(values):
        if isinstance(value, dict):
            yield f"{key}[{number}]", value
        else:
            faults.add(file, f"{key}[{number}]", "E401-kind", wanted="an object", kind=kind_of(value))


def splits(folder: Path, faults: FileFaults) -> Splits:
    """Read `splits/TRACK/{train,dev,test,excluded}_tasks.txt` as they are, or note why they can't be."""
    tracks = sorted(path for path in (folder / "splits").glob("*") if path.is_dir())
    paths = {track: {name: track / f"{name}_tasks.txt" for name in LISTS} for track in tracks}
    return {
        track.name: {name: _entries(path, folder, faults) for name, path in lists.items() if os.path.lexists(path)}
        for track, lists in paths.items()
    }


def _entries(path: Path, folder: Path, faults: FileFaults) -> list[str]:
    return (_text_of(path, path.relative_to(folder).as_posix(), faults) or "").split()


def task_of(entry: str) -> str:
    r"""Give the task that an entry of a list means, which may be written as its file.

    >>> task_of("task1"), task_of("task1.json"), task_of("\ufefftask1")
    ('task1', 'task1', 'task1')
    """
    return entry.removeprefix(MARK).removesuffix(".json")


def tasks_in(entries: Iterable[str]) -> list[str]:
    """Give the tasks of a list, each once."""
    return list(dict.fromkeys(filter(None, map(task_of, entries))))


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def texts_of(value: object) -> list[str] | None:
    """Give the texts of an output, which may be one or a list of them; None of anything else."""
    if isinstance(value, str):
        return [value]
    return value if isinstance(value, list) and all(isinstance(text, str) for text in value) else None


def kind_of(value: object) -> str:
    """Say what a value of JSON is.

    >>> kind_of([]), kind_of(None), kind_of(1.5)
    ('a list', 'null', 'a number')
    """
    names = {dict: "an object", list: "a list", str: "a text", type(None): "null", bool: "true or false"}
    return names.get(type(value), "a number")
