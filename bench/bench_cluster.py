"""A cluster of one machine against processes: the same cells by 1 process, by 2, and by 2 actors of Ray.

Measured from the first finished cell to the last, in turns: the time to start is given separately, and a worker that
starts later than another counts against its crew. Small cells show what a crew adds to each; cells that keep a core
busy show how well it shares the cores.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

from measure import report
from taskloom.benchmarks import build
from taskloom.episodes import Sampler
from taskloom.sources.table import Field
from taskloom.studies.ledger import Ledger
from taskloom.studies.plan import Plan, plan
from taskloom.studies.run import run
from taskloom.studies.study import Study, StudyLearner, StudyProtocol
from taskloom.suites.store import write

FIELDS = (Field("title", "text"), Field("abstract", "text"), Field("category", "label"))
BUSY = """
import hashlib
from dataclasses import dataclass
from typing import ClassVar
from taskloom import Learner

@dataclass(frozen=True)
class Busy(Learner):
    rounds: int = 0
    version: ClassVar[int] = 1
    outputs: ClassVar[frozenset] = frozenset({"labels"})
    unaided: ClassVar[frozenset] = frozenset({"labels"})

    def fit(self, task, support, dev, *, seed, tools):
        found = b""
        for _ in range(self.rounds):
            found = hashlib.sha256(found).digest()
        return self

    def predict(self, items):
        return [("x",) for _ in items]
"""
CREWS: dict[str, dict[str, object]] = {
    "1 process": {"workers": 1},
    "2 processes": {"workers": 2},
    "2 actors of Ray": {"workers": 2, "on": "ray"},
}


def planned(folder: Path, cells: int, learner: StudyLearner) -> Plan:
    protocol = StudyProtocol(shots={0: 1}, seeds=tuple(range(cells)), sampler=Sampler(query=8))
    study = Study(
        name="x", suite="suite", tasks=("abstract->category",), protocol=protocol, learners={"it": learner},
        baselines=False, folder=folder,
    )  # fmt: skip
    return plan(study, folder)


def timed(made: Plan, folder: Path, options: dict[str, object]) -> tuple[float, float]:
    """Give the seconds until the first cell is finished, and those from then on for each of the others."""
    ends: list[tuple[float, int]] = []

    def progress(done: int, total: int) -> None:  # noqa: ARG001 (a Progress)
        if done and (not ends or done > ends[-1][1]):
            ends.append((time.perf_counter(), done))

    with tempfile.TemporaryDirectory(dir=folder) as at, Ledger(Path(at) / "ledger.db") as ledger:
        start = time.perf_counter()
        done = run(made, ledger, progress=progress, **options)  # type: ignore[arg-type]
        assert (done.ran, done.failed) == (len(made.to_run), 0)
    (first, before), (last, after) = ends[0], ends[-1]
    return first - start, (last - first) / (after - before)


def compared(made: Plan, folder: Path, runs: int) -> dict[str, list[tuple[float, float]]]:
    """Run a plan by each crew in turns."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in CREWS}
    for _ in range(runs):
        for name, options in CREWS.items():
            found[name].append(timed(made, folder, options))
            start, each = found[name][-1]
            print(f"    {name}: {start:.1f} s to start, {1000 * each:.2f} ms a cell", flush=True)
    return found


def figures_of(kind: str, found: dict[str, list[tuple[float, float]]]) -> dict[str, float | str]:
    """Give medians, and how the crews compare."""
    each = {name: statistics.median(per_cell for _, per_cell in taken) for name, taken in found.items()}
    figures: dict[str, float | str] = {f"{kind}, {name}: ms a cell": 1000 * seconds for name, seconds in each.items()}
    one, two, actors = each.values()
    return figures | {
        f"{kind}: 2 processes against 1 process, times as fast": one / two,
        f"{kind}: 2 actors of Ray against 1 process, times as fast": one / actors,
        f"{kind}: 2 actors of Ray against 2 processes, times as long": actors / two,
    }


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--small", type=int, default=10_000, help="number of small cells")
    asked.add_argument("--busy", type=int, default=200, help="number of cells that keep a core busy")
    asked.add_argument("--short", type=int, default=60, help="number of such cells that take half as long")
    asked.add_argument("--rounds", type=int, default=400_000, help="hashes in each of the busy cells")
    asked.add_argument("--on", default="ray", help="a cluster with two cores, instead of one that is started")
    asked.add_argument("--runs", type=int, default=3, help="of each crew, in turns; of small cells, one")
    how = asked.parse_args()
    CREWS["2 actors of Ray"]["on"] = how.on
    hashing = {"rounds": how.rounds}, {"rounds": how.rounds // 2}
    busy, short = (StudyLearner(learner="busy.py:Busy", options=options) for options in hashing)
    kinds = {
        f"{how.busy:,} busy cells": (how.busy, busy, how.runs),
        f"{how.short:,} short busy cells": (how.short, short, how.runs),
        f"{how.small:,} small cells": (how.small, StudyLearner(learner="majority"), 1),
    }
    figures: dict[str, float | str] = {}
    starts: dict[str, list[float]] = {name: [] for name in CREWS}
    with tempfile.TemporaryDirectory() as at:
        folder = Path(at)
        write(build("fields", "data:papers", fields=FIELDS, where={"language": "en"}, id_column="id"), folder / "suite")
        (folder / "busy.py").write_text(BUSY)
        for kind, (cells, learner, runs) in kinds.items():
            found = compared(planned(folder, cells, learner), folder, runs)
            figures |= figures_of(kind, found)
            for name, taken in found.items():
                starts[name] += [start for start, _ in taken]
    figures |= {f"seconds to the first cell, {name}": statistics.median(taken) for name, taken in starts.items()}
    figures["load of the machine, mean of the last minute"] = f"{os.getloadavg()[0]:.1f}"
    report("the same cells by three crews", figures)


if __name__ == "__main__":
    main()
