"""The files of a model's folder: those that are loaded, which name it by their content, and what is refused."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from ..errors import ModelError
from ..ids import fingerprint
from ..limits import parse_json
from ..messages import Note
from .plausible import refuse_code, refuse_implausible
from .sentence_files import module_files

T = TypeVar("T")

FILES = (
    "*.safetensors", "*.safetensors.index.json", "*.gguf", "*.json", "*.txt", "*.model", "*.jinja",
    "*.spm", "*.codes", "*.tokenizer",
)  # fmt: skip
TEMPLATES = "additional_chat_templates"  # a folder of *.jinja, which transformers reads too
WEIGHTS, CONFIG = ".safetensors", "config.json"
GENERATION = "generation_config.json"
INDEX = "model.safetensors.index.json"
ADAPTER, ADAPTER_TENSORS = "adapter_config.json", "adapter.safetensors"  # as the package `adapters` has them
LARGEST_CONFIG = 4 << 20  # bytes: those of published models have a few thousand
LONGEST_HEAD = 100_000_000  # bytes, as safetensors has it


def refuse_uncovered(folder: Path) -> None:
    """Refuse a folder whose weights are not all safetensors of its own: its name would not cover what is loaded."""
    if (folder / ADAPTER).exists():  # loaded or not by what is installed, and its weights may be a pickle
        raise ModelError(Note.of("weights-adapter", file=ADAPTER, path=folder))
    here = {file.name for file in folder.glob(f"*{WEIGHTS}") if file.is_file()}
    for said_by, file in _named_weights(folder):
        if file not in here:
            raise ModelError(Note.of("weights-elsewhere", said_by=said_by, file=file, path=folder))


def _named_weights(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the files that a folder's configuration and index name as weights, each with the file that says so."""
    indexes = {INDEX} & {file.name for file in folder.iterdir()}
    named = _read(folder / CONFIG).get("transformers_weights") if (folder / CONFIG).is_file() else None
    if isinstance(named, str) and named.endswith(".index.json") and Path(named).name == named:
        indexes.add(named)
    elif named is not None:
        yield CONFIG, str(named)
    for index in sorted(indexes):
        weights = _read(folder / index).get("weight_map")
        if not isinstance(weights, dict) or not all(isinstance(file, str) for file in weights.values()):
            raise ModelError(Note.of("weights-index-unreadable", path=folder / index))
        yield from ((index, file) for file in sorted(set(weights.values())))


def _read(path: Path) -> dict[str, Any]:
    """Read an object of JSON; what is none has nothing to say, and is refused by those who load it."""
    try:
        found = parse_json(path.read_bytes(), parse_int=int) if path.is_file() else {}
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _settings(path: Path) -> dict[str, Any]:
    """Read the settings of a model; no library may read what was not checked."""
    found = _read(path) if path.stat().st_size <= LARGEST_CONFIG else {}
    if not found:
        raise ModelError(Note.of("config-unreadable", path=path))
    return found


def family_of(folder: Path) -> str:
    """Give the family of a folder's model; "" where its configuration says none, as old ones do."""
    return str(_read(folder / CONFIG).get("model_type") or "")


def read_learnt(path: Path, read: Callable[[Any], T]) -> T:
    """Read JSON that training wrote, or refuse what is not as it was written."""
    try:
        return read(parse_json(path.read_bytes()))
    except (OSError, ValueError, TypeError, AttributeError, LookupError) as error:
        raise ModelError(Note.of("weights-unreadable", reason=str(error)[:100], path=path)) from None


def cut_weights(folder: Path) -> str:
    """Name a file of safetensors that is shorter than its own header says, as a copy that was interrupted is."""
    return next((file.name for file in sorted(folder.glob(f"*{WEIGHTS}")) if file.is_file() and _is_cut(file)), "")


def _is_cut(file: Path) -> bool:
    """Compare a file with where its last tensor ends; a header that can't be read is refused by the loader."""
    there = file.stat().st_size
    size, head = _header(file)
    if size > LONGEST_HEAD or there < 8 + size:
        return size <= LONGEST_HEAD
    try:
        ends = [of["data_offsets"][1] for name, of in parse_json(head).items() if name != "__metadata__"]
        return bool(there < 8 + size + max(ends, default=0))
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
        return False


def _header(file: Path) -> tuple[int, bytes]:
    """Read the size of a file's header, and the header as far as it is there."""
    with file.open("rb") as handle:
        size = int.from_bytes(handle.read(8), "little")
        return size, handle.read(min(size, LONGEST_HEAD))


def parameters_in(folder: Path) -> int | None:
    """Count the parameters of a folder's safetensors from the headers of the files; None where no file can be read."""
    try:
        return sum(map(math.prod, shapes_in(folder))) or None
    except (ValueError, TypeError, AttributeError, KeyError):
        return None  # whoever loads it says what is wrong


def shapes_in(folder: Path) -> list[list[int]]:
    """Give the shapes of the tensors of a folder's safetensors, by their headers; what is none raises."""
    found: list[list[int]] = []
    for file in sorted(file for file in folder.glob(f"*{WEIGHTS}") if file.is_file()):
        _, head = _header(file)
        shapes = [of["shape"] for name, of in parse_json(head).items() if name != "__metadata__"]
        if not all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for shape in shapes for n in shape):
            raise ValueError("shapes must be integers >= 0")
        found += shapes
    return found


def refuse_misfit(folder: Path) -> None:
    """Refuse a folder whose configuration asks for more than its weights have, or says nothing."""
    settings = _settings(folder / CONFIG)
    for name in (CONFIG, GENERATION):
        if (folder / name).is_file():
            refuse_code(_settings(folder / name), folder / name)
    try:
        shapes = shapes_in(folder)
        sizes = {"tensors": len(shapes), "parameters": sum(map(math.prod, shapes))}
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise ModelError(Note.of("weights-unreadable", reason=repr(error)[:100], path=folder)) from None
    refuse_implausible(settings, folder / CONFIG, **sizes)


def content(place: Path) -> str:
    """Hash a GGUF file, or all that a model's folder loads."""
    if place.is_file():
        return _hashed(place)
    refuse_uncovered(place)
    files = [f for f in place.iterdir() if any(f.match(pattern) for pattern in FILES)]
    files += [*(place / TEMPLATES).glob("*.jinja"), *module_files(place)]
    named = {str(f.relative_to(place)): f for f in files if f.is_file()}
    return fingerprint("weights", {name: _hashed(named[name]) for name in sorted(named)})


def adapter_content(folder: Path) -> str:
    """Hash an adapter in the layout of the package `adapters`."""
    files = [folder / ADAPTER, folder / ADAPTER_TENSORS]
    if lost := [file for file in files if not file.is_file()]:
        raise ModelError(Note.of("adapter-missing", file=lost[0].name, path=folder))
    return fingerprint("adapter", {file.name: _hashed(file) for file in files})


def _hashed(file: Path) -> str:
    seen = file.stat()
    return _hashed_as_seen(file, seen.st_size, seen.st_mtime_ns)


@cache
def _hashed_as_seen(file: Path, size: int, changed: int) -> str:  # noqa: ARG001 (a changed file is hashed again)
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
