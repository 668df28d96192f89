"""180 field tasks over 400,000 records: made, written, opened, read; beside it, one copy of the examples a task."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from measure import alone, interleaved, report
from taskloom.benchmarks.csl import FIELDS
from taskloom.suites import fields
from taskloom.suites.store import open_suite, write

WORDS = np.array([f"词{n}" for n in range(5000)])


def table(count: int) -> pa.Table:
    random = np.random.default_rng(0)

    def texts(words: int) -> list[str]:
        return ["".join(row) for row in random.choice(WORDS, (count, words))]

    return pa.table(
        {
            "id": [str(n) for n in range(count)],
            "title": texts(6),
            "abstract": texts(40),
            "keywords": [list(row) for row in random.choice(WORDS, (count, 4))],
            "category": [f"c{n}" for n in random.integers(0, 13, count)],
            "discipline": [f"d{n}" for n in random.integers(0, 67, count)],
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=400_000)
    given = parser.parse_args()
    made = table(given.records)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "suite"
        start = time.perf_counter()
        records = fields.of_table(FIELDS, made)
        digests = time.perf_counter()
        suite = fields.suite(records, id="csl", language="zh")
        views = time.perf_counter()
        fingerprint = suite.fingerprint
        named = time.perf_counter()
        write(suite, folder)
        report(
            f"{len(suite.tasks)} views over {given.records:,} records",
            {
                "digests of the columns, seconds": digests - start,
                "making all views, seconds": views - digests,
                "naming the suite and all tasks, seconds": named - views,
                "writing, seconds": time.perf_counter() - named,
                "MB on disk": sum(file.stat().st_size for file in folder.iterdir()) / 1e6,
            },
        )
        opened = alone(
            f"""
from pathlib import Path
from taskloom.suites.store import open_suite
start = time.perf_counter()
suite = open_suite(Path({str(folder)!r}))
figures['open, seconds'] = time.perf_counter() - start
assert suite.fingerprint == {fingerprint!r}
pool = suite.pools['abstract->title']['all']
for first, name in ((0, 'first 64 spread rows, ms'), (7, '64 more, ms')):
    start = time.perf_counter()
    pool.take(range(first, len(pool), len(pool) // 64))
    figures[name] = (time.perf_counter() - start) * 1000
"""
        )
        report("opening it in a fresh process", opened)
        report("against a JSONL file a task", against_jsonl(folder, Path(scratch)))


def against_jsonl(folder: Path, scratch: Path) -> dict[str, float]:
    """Compare with examples copied out for one task: reading 64 spread ones."""
    pool = open_suite(folder).pools["abstract->title"]["all"]
    at = range(0, len(pool), len(pool) // 64)
    file = scratch / "task.jsonl"
    with file.open("w") as out:
        for first in range(0, len(pool), 10_000):
            for e in pool.take(range(first, min(first + 10_000, len(pool)))):
                out.write(json.dumps([e.item.id, *e.item.fields.values(), e.gold]) + "\n")

    def from_jsonl() -> list[object]:
        with file.open() as lines:
            return [json.loads(line) for number, line in enumerate(lines) if number in at]

    taken = interleaved({"jsonl": from_jsonl, "views": lambda: pool.take(at)}, runs=5)
    size = sum(f.stat().st_size for f in folder.iterdir())
    return {
        "reading 64 spread examples: JSONL seconds / ours": taken["jsonl"] / taken["views"],
        "room for 180 tasks: JSONL bytes (180 times this file) / ours": file.stat().st_size * 180 / size,
    }


if __name__ == "__main__":
    main()
