"""Where a run was made: versions and hardware. It is kept beside results, and no part of what must be equal."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .. import __version__

PACKAGES = ("numpy", "scikit-learn", "torch", "transformers")  # whose versions may change what models answer
CPUINFO, MEMINFO = Path("/proc/cpuinfo"), Path("/proc/meminfo")


@dataclass(frozen=True, slots=True)
class RunRecord:
    """When the cells of a run were done, in seconds since 1970, and on what."""

    began: float
    ended: float
    environment: Mapping[str, str] = field(default_factory=dict)


def environment() -> dict[str, str]:
    """Describe this machine: versions of packages, the system, and the processor."""
    found = {"taskloom": __version__, "python": platform.python_version()}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    cores = f"{os.cpu_count() or 1} cores"
    found["system"] = f"{platform.system()} {platform.machine()}"
    found["processor"] = ", ".join(filter(None, [_processor(), cores, _memory()]))
    return found


def _processor() -> str:
    return _line(CPUINFO, "model name") or platform.processor()


def _memory() -> str:
    kilobytes = _line(MEMINFO, "MemTotal").split()
    return f"{int(kilobytes[0]) / 1e6:.0f} GB memory" if kilobytes else ""


def _line(path: Path, name: str) -> str:
    """Give the value of a line `name: value`, or nothing where the system has no such file."""
    with suppress(OSError):
        for line in path.read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == name:
                return value.strip()
    return ""
