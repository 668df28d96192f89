"""A cluster of one machine against processes: the same cells by 1 process, by 2, and by 2 actors of Ray.

Measured from the first finished cell to the last, in turns: the time to start is given separately. Small
cells show what a crew adds to each; cells that keep a core busy show how well it shares the cores.
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
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in CREWS}
    for _ in range(runs):
        for name, options in CREWS.items():
            found[name].append(timed(made, folder, options))
            print(
                f"    {name}: {found[name][-1][0]:.1f} s to start, {1000 * found[name][-1][1]:.2f} ms a cell",
                flush=True,
            )
    return found


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--small", type=int, default=10_000, help="number of small cells")
    asked.add_argument("--busy", type=int, default=200, help="number of cells that keep a core busy")
    asked.add_argument("--rounds", type=int, default=400_000, help="hashes in each of these")
    asked.add_argument("--on", default="ray", help="a cluster with two cores, instead of one that is started")
    asked.add_argument("--runs", type=int, default=3, help="of each crew, in turns")
    how = asked.parse_args()
    CREWS["2 actors of Ray"]["on"] = how.on
    with tempfile.TemporaryDirectory() as at:
        folder = Path(at)
        write(build("fields", "data:papers", fields=FIELDS, where={"language": "en"}, id_column="id"), folder / "suite")
        (folder / "busy.py").write_text(BUSY)
        busy_learner = StudyLearner(learner="busy.py:Busy", options={"rounds": how.rounds})
        busy = compared(planned(folder, how.busy, busy_learner), folder, how.runs)
        small = compared(planned(folder, how.small, StudyLearner(learner="majority")), folder, 1)
    figures: dict[str, float | str] = {"load of the machine, mean of the last minute": f"{os.getloadavg()[0]:.1f}"}
    for name in CREWS:
        figures[f"{how.small:,} small cells, {name}: ms a cell"] = 1000 * small[name][0][1]
        figures[f"{how.small:,} small cells, {name}: seconds to start"] = small[name][0][0]
    each = {name: statistics.median(per_cell for _, per_cell in taken) for name, taken in busy.items()}
    figures |= {f"busy cells, {name}: ms a cell": 1000 * seconds for name, seconds in each.items()}
    figures["busy cells: 2 actors of Ray against 1 process, times as fast"] = (
        each["1 process"] / each["2 actors of Ray"]
    )
    figures["busy cells: 2 processes against 1 process, times as fast"] = each["1 process"] / each["2 processes"]
    figures["busy cells: 2 actors of Ray against 2 processes, times as long"] = (
        each["2 actors of Ray"] / each["2 processes"]
    )
    report("the same cells by three crews", figures)


if __name__ == "__main__":
    main()
