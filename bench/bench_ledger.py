"""A ledger of 100,000 cells: written, listed, resumed; and what the framework itself takes for a cell."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from measure import report
from taskloom.benchmarks import build
from taskloom.episodes import Sampler
from taskloom.learners import Response
from taskloom.sources import packages
from taskloom.sources.files import RowFaults
from taskloom.sources.table import Field
from taskloom.studies.api import keep_plan
from taskloom.studies.cells import Cell
from taskloom.studies.costs import Cost
from taskloom.studies.finished import Finished, SetAnswers
from taskloom.studies.ledger import Ledger
from taskloom.studies.merging import discard_damaged
from taskloom.studies.plan import plan
from taskloom.studies.results import read_results
from taskloom.studies.run import run
from taskloom.studies.study import Study, StudyLearner, StudyProtocol
from taskloom.studies.work import outputs
from taskloom.suites.store import write

KEY = "{}" + " " * 500  # about as long as the key of a cell
FIELDS = (Field("title", "text"), Field("abstract", "text"), Field("category", "label"))


def filled(path: Path, count: int) -> dict[str, float]:
    units = np.ones((32, 1))
    asked = SetAnswers(answers=["a label"] * 32, items=[str(n) for n in range(32)], rows=range(32), pool="all")
    found = Finished(
        sets={"query": asked},
        scores={"accuracy|v:1": (units, {})},
        cost=Cost(seconds=0.1),
    )
    with Ledger(path) as ledger:
        start = time.perf_counter()
        for number in range(0, count, 10):
            cells = [f"{n:032d}" for n in range(number, number + 10)]
            ledger.claim(cells, "bench")
            for cell in cells:
                ledger.finish(Cell(id=cell, key=KEY, task="t", learner="majority"), found)
        written = time.perf_counter()
    with Ledger(path) as ledger:
        opened = time.perf_counter()
        states = ledger.states()
        listed = time.perf_counter()
        damaged = discard_damaged(ledger, states)
        checked = time.perf_counter()
        (found,) = ledger.db.execute("PRAGMA quick_check(1)").fetchone()
        looked_through = time.perf_counter()
    assert (len(states), damaged, found) == (count, (), "ok")
    return {
        "writing a cell, ms": (written - start) / count * 1000,
        "listing all, seconds": listed - opened,
        "checking all before a run, seconds": checked - listed,
        "SQLite's quick check after a kill, seconds": looked_through - checked,
        "MB on disk": path.stat().st_size / 1e6,
    }


def overhead(folder: Path) -> dict[str, float]:
    """Run a learner that does next to nothing, so that what is left is the framework."""
    write(
        build("fields", "data:papers", fields=FIELDS, where={"language": "en"}, id_column="id"),
        folder / "suite",
    )
    protocol = StudyProtocol(shots={0: 1}, seeds=tuple(range(400)), sampler=Sampler(query=8))
    learners = {"majority": StudyLearner(learner="majority")}
    study = Study(
        name="x", suite="suite", tasks=("abstract->category",), protocol=protocol, learners=learners, folder=folder
    )
    made = plan(study, folder)
    with Ledger(folder / "ledger.db") as ledger:
        run(made, ledger)
        tables = ("cells", "results", "scores", "costs", "keys", "outputs")
        ledger.db.executescript("; ".join(f"DELETE FROM {table}" for table in tables))
        start = time.perf_counter()
        run(made, ledger)
        taken = time.perf_counter() - start
        keep_plan(made, ledger)
        start = time.perf_counter()
        found = read_results(ledger, made.suite, command="")
        read = time.perf_counter() - start
    assert len(found.outcomes) == len(made.cells)
    return {
        "a whole cell with next to no learner in it, ms": taken / len(made.cells) * 1000,
        "reading the results of a cell, ms": read / len(made.cells) * 1000,
    }


def said(folder: Path, count: int = 10_000) -> dict[str, float]:
    """Keep what a model wrote, or thought of 15 options, in cells of 40 answers."""
    titles = [str(row["title"]) for _, row in packages.rows("papers", RowFaults())]
    texts = [f"{titles[n % len(titles)]} {titles[n * 7 % len(titles)]}" for n in range(count)]
    chance = np.random.default_rng(0)
    written = [Response(text, text, prompt=f"{n} {text}") for n, text in enumerate(texts)]
    labels = [f"label {n}" for n in range(15)]
    weighed = [
        Response("label 1", options=dict(zip(labels, map(float, -10 * chance.random(15)), strict=True)), prompt=text)
        for text in texts
    ]
    sizes = {}
    for name, found in (("nothing", []), ("texts of 15 words", written), ("15 options", weighed)):
        path = folder / f"{name}.db"
        with Ledger(path) as ledger:
            for first in range(0, count, 40):
                kept = {"query": outputs(found[first : first + 40])} if found else {}
                asked = SetAnswers(answers=texts[first : first + 40], items=(), rows=(), pool="all")
                cell = Cell(id=f"{first:032d}", key=KEY, task="t", learner="l")
                ledger.finish(cell, Finished(sets={"query": asked}, outputs=kept, cost=Cost()))
            ledger.db.execute("VACUUM")
        sizes[name] = path.stat().st_size / 1e6
    bare = sizes.pop("nothing")
    return {"answers alone, MB": bare} | {f"{name} and hashes of prompts, MB": mb - bare for name, mb in sizes.items()}


def resumed(folder: Path, cells: int) -> dict[str, float]:
    protocol = StudyProtocol(shots={0: 1, 1: 1}, seeds=tuple(range(cells // 4)), sampler=Sampler(query=8))
    learners = {"majority": StudyLearner(learner="majority"), "random": StudyLearner(learner="random")}
    study = Study(
        name="x", suite="suite", tasks=("abstract->category",), protocol=protocol, learners=learners, folder=folder
    )
    start = time.perf_counter()
    made = plan(study, folder)
    return {f"planning {len(made.cells):,} cells, seconds": time.perf_counter() - start}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cells", type=int, default=100_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        report(f"a ledger of {given.cells:,} cells", filled(Path(scratch) / "ledger.db", given.cells))
        report("the framework's own time", overhead(Path(scratch)))
        report("resuming", resumed(Path(scratch), given.cells))
        report("what models said, for 10,000 answers", said(Path(scratch)))


if __name__ == "__main__":
    main()
