"""2,160 episodes (12 data sets, 180 each): drawn, read and planned; beside it, a shuffle of the whole pool for each."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from measure import interleaved, report
from taskloom.core import Example, Item, Labels, Pool, Suite, Task
from taskloom.episodes import Deck, Draw, Sampler, draws, episode
from taskloom.presets import PRESETS
from taskloom.studies.plan import plan
from taskloom.studies.study import parse
from taskloom.suites import rows
from taskloom.suites.store import open_suite, write

FLEX: Mapping[str, tuple[int, int]] = {  # classes and examples of the meta-test sets, as the paper counts them
    "mr": (2, 10_662), "cr": (2, 1_708), "subj": (2, 10_000), "trec": (6, 500), "conll": (4, 5_648),
    "fewrel": (10, 7_000), "huffpost": (16, 113_957), "snli": (3, 9_842), "scitail": (2, 2_126),
    "amazon": (9, 9_000), "20news": (7, 6_021), "reuters": (11, 835),
}  # fmt: skip
STUDY = "name: flex\nsuite: suite\nprotocol: {preset: flex}\nbaselines: [majority, random]\nlearners:\n" + "".join(
    f"  {name}: {{}}\n" for name in ("nearest", "tfidf-linear", "copy-demonstration")
)


def data_set(name: str, size: int, classes: int = 20) -> tuple[Task, Pool]:
    random = np.random.default_rng(len(name))
    names = tuple(f"label{n}" for n in range(classes))
    task = Task(id=name, instruction="Topic?", output=Labels(names), metrics=("accuracy",))
    labels = random.integers(0, classes, size)
    text = "this is about the length of a short text of some data set, number {}"
    examples = (
        Example(Item(str(n), {"text": text.format(n)}), (names[label],), str(n)) for n, label in enumerate(labels)
    )
    return task, rows.pool(task, examples)


def suite(**sizes: tuple[int, int]) -> Suite:
    made = {name: data_set(name, size, classes) for name, (classes, size) in sizes.items()}
    tasks = {name: task for name, (task, _) in made.items()}
    return Suite(id="bench", tasks=tasks, pools={name: {"all": pool} for name, (_, pool) in made.items()})


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
        measure(suite(news=(20, size)), size, given.episodes, few)
    with tempfile.TemporaryDirectory() as folder:
        measure_flex(Path(folder), given.episodes)


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


def flex_draws(made: Suite, each: int) -> Iterator[Draw]:
    """Draw few-shot and zero-shot episodes of each data set, pools read from disk as in a run."""
    sampler = PRESETS["flex"].sampler
    zero_shot = Sampler(shots=0, ways=sampler.ways, query=sampler.query, per_class=True, share=sampler.share)
    for name in made.tasks:
        deck = Deck(made, name)
        for index in range(each):
            yield deck.draw(sampler, index=index)
            yield deck.draw(zero_shot, index=each + index)


def measure_flex(folder: Path, count: int) -> None:
    write(suite(**FLEX), folder / "suite")
    made, study = open_suite(folder / "suite"), parse(STUDY, folder=folder)
    each = count // len(FLEX) // 2
    drawn = list(flex_draws(made, each))
    taken = interleaved(
        {
            "drawn": lambda: list(flex_draws(open_suite(folder / "suite"), each)),
            "read": lambda: [episode(made, one) for one in drawn],
            "planned": lambda: plan(study, folder / "run"),
        },
        runs=3,
    )
    report(
        f"{len(drawn):,} episodes of the preset flex, from {sum(n for _, n in FLEX.values()):,} examples in 12 sets",
        {
            "drawing all, seconds": taken["drawn"],
            "questions of an episode": float(np.mean([len(one.rows["query"]) for one in drawn])),
            "reading all, seconds": taken["read"],
            f"planning {len(plan(study, folder / 'run').cells):,} cells, seconds": taken["planned"],
        },
    )


if __name__ == "__main__":
    main()
