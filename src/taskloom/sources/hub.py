"""Hugging Face data sets: from the hub, or from its cache on this machine. Needs the extra `hub`."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import SourceError, UsageError
from ..http_client import check_proxies
from ..messages import Note
from .files import Place, Row

PART = r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?"
NAME = re.compile(rf"(?=.{{1,96}}$){PART}(/{PART})?")  # ORG/NAME, or the NAME alone of an old data set
NO_CONFIG = re.compile(r'^\.|[<>:/\\|?*"\s]')  # characters of which the library makes no folder
SAID = 300  # characters of what the library says


def rows(spec: str) -> Iterator[tuple[Place, Row]]:
    """Yield the rows of `org/name`, or `org/name:config`, each with `@split` (train if not said).

    No code of a data set is run: only data sets in plain formats load. No file of this machine is read by such a name.
    """
    whole, _, split = spec.partition("@")
    name, _, config = whole.partition(":")
    if not NAME.fullmatch(name) or NO_CONFIG.search(config):
        raise UsageError(Note.of("hub-name-wrong", name=spec))
    library = _library()
    if Path(name).exists() or _is_builder(name, library):
        raise UsageError(Note.of("hub-name-local", name=name))
    check_proxies()
    with _told(name):
        loaded = library.load_dataset(name, config or None, split=split or "train")
        named = {column: kind.names for column, kind in (loaded.features or {}).items() if hasattr(kind, "names")}
        for number, row in enumerate(loaded, 1):
            yield f"{spec}: row {number}", {column: _named(named.get(column), value) for column, value in row.items()}


def _library() -> ModuleType:
    try:
        return importlib.import_module("datasets")
    except ImportError:
        raise SourceError(Note.of("hub-extra-missing")) from None


def _is_builder(name: str, library: ModuleType) -> bool:
    """Tell a name that `datasets` has for a format, such as json: it would read the files of the working folder."""
    known = getattr(library.packaged_modules, "_PACKAGED_DATASETS_MODULES", None)
    return "/" not in name and (known is None or name in known)


@contextmanager
def _told(name: str) -> Iterator[None]:
    """Say in one line what the library could not do: what it raises is of many kinds, and those of other libraries."""
    try:
        yield
    except SourceError:
        raise
    except Exception as error:
        said = " ".join(str(error).split())[:SAID]
        raise SourceError(Note.of("hub-unreadable", name=name, kind=type(error).__name__, reason=said)) from None


def _named(names: list[str] | None, value: Any) -> Any:
    """Give the name of a label that the data set keeps as a number; -1 is how it says that there is none."""
    if names is None or not isinstance(value, int):
        return value
    if value >= len(names):
        raise SourceError(Note.of("hub-label-unnamed", value=value, names=names))
    return names[value] if value >= 0 else None
