"""How benchmarks measure: medians of interleaved runs, as ratios to a peer; peak memory in a process of its own."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping

PEAK = """
def peak_mb():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
"""


def peak_mb() -> float:
    """Give this process's peak memory; `ru_maxrss` would start from its parent's."""
    made: dict[str, Callable[[], float]] = {}
    exec(PEAK, made)
    return made["peak_mb"]()


def interleaved(work: Mapping[str, Callable[[], object]], runs: int = 7) -> dict[str, float]:
    """Run each piece of work in turn, and give the median seconds of each."""
    taken: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(runs):
        for name, run in work.items():
            start = time.perf_counter()
            run()
            taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def alone(code: str) -> dict[str, float]:
    """Run code in a fresh process: it fills `figures`; its peak memory in MB is added."""
    program = (
        f"import json, time\nfigures = {{}}\n{code}\n{PEAK}\nfigures['peak MB'] = peak_mb()\nprint(json.dumps(figures))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def report(title: str, figures: Mapping[str, float | str]) -> None:
    """Print figures, one a line."""
    print(f"\n{title}")
    for name, value in figures.items():
        print(f"  {name:<60} {value if isinstance(value, str) else f'{value:,.4g}'}")
