"""A suite of 1,616 tasks and 5 M instances: open it, read a task; beside it, one JSON file a task, as released.

`--tasks` and `--instances` make it smaller.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from measure import alone, interleaved, peak_mb, report
from taskloom.core import Pool, Suite, Task, Text
from taskloom.suites import rows
from taskloom.suites.store import open_suite, write

WORDS = np.array([f"word{n}" for n in range(5000)])


class Generated(Mapping[str, Mapping[str, Pool]]):
    """Pools made when they are asked for, so that five million instances are never in memory."""

    def __init__(self, tasks: Mapping[str, Task], instances: int) -> None:
        self.tasks, self.instances = tasks, instances

    def __getitem__(self, name: str) -> Mapping[str, Pool]:
        random = np.random.default_rng(int(name.removeprefix("task")))
        size = max(10, int(random.lognormal(np.log(self.instances / len(self.tasks) / 1.6), 1.0)))
        size = min(size, 6500 * 3)
        made = pa.table(
            {
                "id": [f"{name}-{n}" for n in range(size)],
                "group": [f"{name}-{n}" for n in range(size)],
                "fields": [[" ".join(words)] for words in random.choice(WORDS, (size, 12))],
                "candidates": [[] for _ in range(size)],
                "gold": [json.dumps([word]) for word in random.choice(WORDS, size)],
                "label": np.full(size, -1, dtype=np.int32),
            },
            schema=rows.SCHEMA,
        )
        return {"all": rows.from_table(self.tasks[name].output, ("input",), made)}

    def __iter__(self) -> Iterator[str]:
        return iter(self.tasks)

    def __len__(self) -> int:
        return len(self.tasks)


def make(count: int, instances: int, folder: Path) -> Suite:
    instruction = " ".join(WORDS[:56])
    tasks = {
        f"task{n}": Task(
            id=f"task{n}", instruction=instruction, output=Text(), metrics=("rouge-l",), tags={"n": (str(n),)}
        )
        for n in range(count)
    }
    return write(Suite(id="big", tasks=tasks, pools=Generated(tasks, instances)), folder)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=1616)
    parser.add_argument("--instances", type=int, default=5_000_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "suite"
        start = time.perf_counter()
        suite = make(given.tasks, given.instances, folder)
        total = sum(len(pools["all"]) for pools in suite.pools.values())
        report(
            f"writing {given.tasks:,} tasks, {total:,} instances",
            {
                "seconds": time.perf_counter() - start,
                "peak MB of the writer": peak_mb(),
                "MB on disk": sum(file.stat().st_size for file in folder.iterdir()) / 1e6,
            },
        )
        opened = alone(
            f"""
from pathlib import Path
from taskloom.suites.store import open_suite
from taskloom.suites.verify import verify
start = time.perf_counter()
suite = open_suite(Path({str(folder)!r}))
figures['open, seconds'] = time.perf_counter() - start
times = []
for name in list(suite.tasks)[::16]:
    start = time.perf_counter()
    pool = suite.pools[name]['all']
    pool.take(range(len(pool)))
    times.append(time.perf_counter() - start)
figures['read a whole task, median ms'] = sorted(times)[len(times) // 2] * 1000
figures['read a whole task, slowest ms'] = max(times) * 1000
times = []
for name in list(suite.tasks)[::16]:
    start = time.perf_counter()
    suite.pools[name]['all'].take(range(5))
    times.append(time.perf_counter() - start)
figures['read 5 examples of a task, median ms'] = sorted(times)[len(times) // 2] * 1000
start = time.perf_counter()
found = verify(suite, Path({str(folder)!r}), suite.tasks)
figures['verify all tasks for a run, seconds'] = time.perf_counter() - start
start = time.perf_counter()
verify(suite, Path({str(folder)!r}), suite.tasks, found)
figures['the same once more, seconds'] = time.perf_counter() - start
"""
        )
        report("opening it in a fresh process", opened)
        report("against one JSON file a task", against_json(suite, folder, Path(scratch)))


def against_json(suite: Suite, folder: Path, scratch: Path) -> dict[str, float]:
    """Compare with the released layout: open all, and read five examples of one task."""
    sample = sorted(suite.tasks, key=lambda name: len(suite.pools[name]["all"]))[len(suite.tasks) // 2]
    pool = suite.pools[sample]["all"]
    instances = [
        {"id": e.item.id, "input": e.item.fields["input"], "output": list(e.gold)} for e in pool.take(range(len(pool)))
    ]
    file = scratch / "task.json"
    file.write_text(json.dumps({"Definition": ["x"], "Instances": instances}))
    taken = interleaved(
        {
            "json": lambda: json.loads(file.read_text())["Instances"][:5],
            "taskloom": lambda: suite.pools[sample]["all"].take(range(5)),
            "open": lambda: open_suite(folder),
        }
    )
    return {
        "reading 5 examples of the median task: JSON seconds / ours": taken["json"] / taken["taskloom"],
        "opening all tasks: JSON seconds (parsing every file) / ours": taken["json"] * len(suite.tasks) / taken["open"],
    }


if __name__ == "__main__":
    main()
