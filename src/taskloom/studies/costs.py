"""What a cell costs: time, tokens, money, and the most memory that it took."""

from __future__ import annotations

import resource
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

MOST = ("memory", "trained", "threads")  # of which not the sum counts
STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a cell cost; measured, and so no part of what must be equal."""

    seconds: float = 0.0
    fitting: float = 0.0  # of them, those of adapting; looks at answers on the way are none of these
    items: int = 0  # that were asked about
    read: int = 0  # tokens
    written: int = 0
    computed: int = 0  # of both, those that were not shared between prompts
    requests: int = 0  # to an endpoint
    dollars: float = 0.0
    memory: int = 0  # bytes, at the peak
    trained: int = 0  # parameters that were trained
    taught: int = 0  # tokens that they were trained on
    threads: int = 0  # of the training; with others, weights differ a little
    encoded: int = 0  # tokens of texts whose vectors are kept for all cells that ask later; no part of the above
    encoding: float = 0.0  # seconds that these took, or were waited for; no part of the above


def total(costs: Sequence[Cost]) -> Cost:
    """Add costs up; of memory, trained parameters and threads, take the most."""
    sums = {f.name: sum(getattr(cost, f.name) for cost in costs) for f in fields(Cost)}
    most = {name: max((getattr(cost, name) for cost in costs), default=0) for name in MOST}
    return Cost(**{**sums, **most})


def forget_peak() -> None:
    """Measure peak memory from now on, where the system can do so."""
    with suppress(OSError):
        RESET.write_text("5")
    if cuda := _cuda():
        cuda.reset_peak_memory_stats()


def peak_memory() -> int:
    """Give the most memory that this process has held, that of accelerators included."""
    on_device = int(cuda.max_memory_allocated()) if (cuda := _cuda()) else 0
    with suppress(OSError, StopIteration):
        lines = STATUS.read_text().splitlines()
        return on_device + 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    unit = 1 if sys.platform == "darwin" else 1024
    return on_device + unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _cuda() -> Any:
    """Give torch's view of accelerators, where a model has loaded it and there are any."""
    torch = sys.modules.get("torch")
    return torch.cuda if torch is not None and torch.cuda.is_available() else None
