"""What a source is, without reading it: so that what was made from it need not be made again."""

from __future__ import annotations

from pathlib import Path

from ..ids import Json
from . import packages


def identity(spec: str) -> Json:
    """Identify a source: an entry of the catalogue by its hash, files by name, size and time, the hub by name."""
    kind, _, name = spec.partition(":")
    if kind == "data":
        of = packages.entry(name)
        return {"data": name, "sha256": of.sha256, "bytes": of.bytes}
    if kind == "hub":
        return {"hub": name}
    path = Path(spec)
    found = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    return [[file.relative_to(path.parent).as_posix(), (at := file.stat()).st_size, at.st_mtime_ns] for file in found]
