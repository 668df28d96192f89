"""How often 95 % intervals hold the truth, and equals are told apart, by simulation: docs/verification.md."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np

from taskloom.core import Text
from taskloom.reports import How, differs
from taskloom.reports.boards import board
from taskloom.scores import Scored, metric
from taskloom.scores.reduce import mean
from taskloom.stats import bootstrap, standard_error_interval
from taskloom.studies.costs import Cost
from taskloom.studies.results import Outcome

KINDS: dict[str, tuple[float, Callable[[np.random.Generator, int], np.ndarray]]] = {
    "normal, mean 0.6, deviation 0.1": (0.6, lambda rng, n: rng.normal(0.6, 0.1, n)),
    "right or wrong, 70 %": (0.7, lambda rng, n: (rng.random(n) < 0.7).astype(float)),
    "right or wrong, 95 %": (0.95, lambda rng, n: (rng.random(n) < 0.95).astype(float)),
    "skewed (exponential)": (1.0, lambda rng, n: rng.exponential(1.0, n)),
}
TRUTH = 0.5
EXACT = metric("exact-match", Text())
Design = tuple[tuple[float, float, float], tuple[int, int, int], Literal["fixed", "drawn"]]
DESIGNS: dict[str, Design] = {  # how much tasks, seeds and items that seeds share vary; how many; how tasks are taken
    **{f"{n} seeds that vary, 200 items": ((0, 1, 0.1), (1, n, 200), "fixed") for n in (2, 3, 5, 12)},
    **{f"{n} tasks that vary, drawn, 200 items each": ((1, 0, 0.1), (n, 1, 200), "drawn") for n in (2, 3, 5, 10)},
    **{f"{n} items, one seed": ((0, 0, 1), (1, 1, n), "fixed") for n in (5, 10, 30)},
    **{f"{n} items that 5 seeds share": ((0, 0, 1), (1, 5, n), "fixed") for n in (5, 10, 30)},
    "10 items that 12 seeds share": ((0, 0, 1), (1, 12, 10), "fixed"),
    "50 tasks of 3 items": ((0, 0, 1), (50, 1, 3), "fixed"),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=2000)
    trials = parser.parse_args().trials
    print("\n| values | n | percentile | bca | standard error |\n| --- | --- | --- | --- | --- |")
    for name, (truth, make) in KINDS.items():
        for n in (10, 30, 90, 300):
            held = [list(of_means(make, truth, n, trial)) for trial in range(trials)]
            print(f"| {name} | {n} | " + " | ".join(f"{share:.1%}" for share in np.mean(held, axis=0)) + " |")
    print("\n| in reports | interval holds the truth | equals told apart |\n| --- | --- | --- |")
    for name, (spreads, sizes, tasks) in DESIGNS.items():
        rng = np.random.default_rng(0)
        found = [list(of_reports(rng, spreads, sizes, How(count=400, tasks=tasks))) for _ in range(trials)]
        print(f"| {name} | " + " | ".join(f"{share:.1%}" for share in np.mean(found, axis=0)) + " |")


def of_means(
    make: Callable[[np.random.Generator, int], np.ndarray], truth: float, n: int, trial: int
) -> Iterator[bool]:
    """Say of each kind of interval whether it holds the truth."""
    values = make(np.random.default_rng((n, trial)), n)
    for method in ("percentile", "bca"):
        found = bootstrap(values[:, None], mean, method=method, count=1000, key=trial)
        yield found.low <= truth <= found.high
    plain = standard_error_interval(values)
    yield plain.low <= truth <= plain.high


def of_reports(
    rng: np.random.Generator, spreads: tuple[float, float, float], sizes: tuple[int, int, int], how: How
) -> Iterator[bool]:
    """Say whether a learner's interval holds the truth, and whether it is told from one that is as good."""
    outcomes = [outcome for name in "ab" for outcome in answers(rng, name, spreads, sizes)]
    made = board("exact-match", 0, outcomes, how=how)
    score = made.standings[0 if made.standings[0].learner == "a" else 1].score
    yield score.low <= TRUTH <= score.high
    yield differs(made.pairs[0])


def answers(
    rng: np.random.Generator, learner: str, spreads: tuple[float, float, float], sizes: tuple[int, int, int]
) -> Iterator[Outcome]:
    """Make scores that vary by task, by seed, by item, and by chance."""
    tasks, seeds, items = sizes
    ids = tuple(f"{n}" for n in range(items))
    for task in range(tasks):
        base = spreads[0] * rng.normal() + spreads[2] * rng.normal(size=items)
        for seed in range(seeds):
            values = base + spreads[1] * rng.normal() + 0.1 * rng.normal(size=items)
            units = TRUTH + 0.05 * values[:, None]
            yield Outcome(
                cell="", task=f"t{task}", learner=learner, shots=0, seed=seed, index=0, pool="", rows=(), items=ids,
                answers=(), gold=(), scores={"exact-match": Scored(EXACT, units, {})}, counts={}, cost=Cost(),
            )  # fmt: skip


if __name__ == "__main__":
    main()
