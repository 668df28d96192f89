"""2,160 episodes (12 data sets, 180 each): drawn and read; beside it, a shuffle of the whole pool for each."""

from __future__ import annotations

import argparse

import numpy as np

from measure import interleaved, report
from taskloom.core import Example, Item, Labels, Suite, Task
from taskloom.episodes import Sampler, draws, episode
from taskloom.suites import rows


def suite(size: int, classes: int = 20) -> Suite:
    random = np.random.default_rng(0)
    names = tuple(f"label{n}" for n in range(classes))
    task = Task(id="news", instruction="Topic?", output=Labels(names), metrics=("accuracy",))
    labels = random.integers(0, classes, size)
    examples = (Example(Item(str(n), {"text": f"text {n}"}), (names[label],), str(n)) for n, label in enumerate(labels))
    return Suite(id="bench", tasks={"news": task}, pools={"news": {"all": rows.pool(task, examples)}})


def by_shuffling(labels: np.ndarray, count: int, seed: int) -> list[object]:
    """Draw as scripts do: permute everything, then go through it class by class."""
    random = np.random.default_rng(seed)
    drawn: list[object] = []
    for _ in range(count):
        order = random.permutation(len(labels))
        sorted_labels = labels[order]
        support = [order[sorted_labels == label][:5] for label in range(20)]
        rest = np.setdiff1d(order, np.concatenate(support), assume_unique=True)
        drawn.append((support, rest[:64], rest[64:128]))
    return drawn


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--episodes", type=int, default=2160)
    given = parser.parse_args()
    few = given.episodes // 20  # the peer is slow: a part of the episodes is enough for a ratio
    for size in (20_000, 400_000):
        measure(suite(size), size, given.episodes, few)


def measure(made: Suite, size: int, count: int, few: int) -> None:
    sampler = Sampler(shots=5, dev=64, query=64)
    labels = np.asarray(made.pools["news"]["all"].labels())
    taken = interleaved(
        {
            "ours": lambda: list(draws(made, "news", sampler, count=count)),
            "shuffling": lambda: by_shuffling(labels, few, 0),
            "read": lambda: [episode(made, draw) for draw in draws(made, "news", sampler, count=20)],
        },
        runs=3,
    )
    report(
        f"{count:,} episodes of 20 classes x 5 shots, 64 dev, 64 query, from {size:,} examples",
        {
            "drawing all, seconds": taken["ours"],
            "drawing and reading one, ms": taken["read"] / 20 * 1000,
            "shuffling the pool for each: seconds / ours": taken["shuffling"] / few * count / taken["ours"],
        },
    )


if __name__ == "__main__":
    main()
