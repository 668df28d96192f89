"""Hugging Face data sets: from the hub, its local cache, or a folder saved by `datasets`. Needs the extra `hub`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import SourceError
from .files import Place, Row


def rows(spec: str) -> Iterator[tuple[Place, Row]]:
    """Yield the rows of `org/name`, `org/name:config`, or a saved folder, each with `@split` (train if not said).

    No code of a data set is run: only data sets in plain formats load.
    """
    name, _, split = spec.partition("@")
    path, _, config = name.partition(":")
    split = split or "train"
    loaded = _load(path, config, split)
    named = {name: kind.names for name, kind in (loaded.features or {}).items() if hasattr(kind, "names")}
    for number, row in enumerate(loaded, 1):
        yield f"{spec}: row {number}", {name: _named(named.get(name), value) for name, value in row.items()}


def _named(names: list[str] | None, value: Any) -> Any:
    """Give the name of a label that the data set keeps as a number; -1 is how it says that there is none."""
    if names is None or not isinstance(value, int):
        return value
    return names[value] if value >= 0 else None


def _load(path: str, config: str, split: str) -> Any:
    try:
        import datasets
    except ImportError:
        raise SourceError("hub: sources need an extra: pip install 'taskloom[hub]'") from None
    try:
        if Path(path).is_dir() and any((Path(path) / f).is_file() for f in ("dataset_info.json", "dataset_dict.json")):
            return _split_of(datasets.load_from_disk(path), split, path)
        return datasets.load_dataset(path, config or None, split=split)
    except (OSError, ValueError, RuntimeError, KeyError, datasets.exceptions.DatasetsError) as error:
        raise SourceError(f"can't load {path!r} ({type(error).__name__}: {str(error)[:300]})") from None


def _split_of(loaded: Any, split: str, path: str) -> Any:
    if not isinstance(loaded, dict):
        if loaded.split is not None and str(loaded.split) != split:
            raise SourceError(f"unknown split of {path}; known: {loaded.split}: {split!r}")
        return loaded
    if split not in loaded:
        raise SourceError(f"unknown split of {path}; known: {', '.join(loaded)}: {split!r}")
    return loaded[split]
