"""The sample sizes of the FLEX paper, on its whole grid: what is best for each budget, beside its choice; and the time.

Beside it, the same simulation as one would write it: a loop over repetitions with numpy's normal, binomial and choice.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from measure import interleaved, report
from taskloom.reports.budget import coverage_plot, width_plot
from taskloom.reports.plot_files import standalone
from taskloom.sample_sizes import ACCURACIES, EPISODES, Design, EpisodeCosts, SampleSizes, sample_size, simulate

COSTS = [EpisodeCosts(96.5, 0.09), EpisodeCosts(2.0, 0.09)] * 12  # few-shot and zero-shot, of twelve data sets
HOURS = range(24, 85, 12)
CHOSEN = 90  # episodes of the paper


def by_loop(design: Design, repetitions: int) -> tuple[float, float]:
    """Simulate a design one repetition after the other: width and coverage."""
    random, widths, held = np.random.default_rng(0), [], 0
    for _ in range(repetitions):
        chances = np.clip(random.normal(design.accuracy, design.deviation, design.episodes), 0, 1)
        values = random.binomial(design.items, chances) / design.items
        means = random.choice(values, (999, design.episodes)).mean(1)
        low, high = np.quantile(means, [0.025, 0.975])
        widths.append(high - low)
        held += low <= design.accuracy <= high
    return float(np.mean(widths)), held / repetitions


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--plots", type=Path, help="a folder to write the plots to")
    given = parser.parse_args()
    start, cpu = time.perf_counter(), time.process_time()
    found = {hours: sample_size(f"{hours}h", COSTS, tasks=12) for hours in HOURS}
    taken, used = time.perf_counter() - start, time.process_time() - cpu
    designs = sum(len(sizes.choices) for sizes in found.values()) * len(ACCURACIES)
    figures: dict[str, float | str] = {
        f"{hours} h: {_told(sizes)}": _beside(sizes) for hours, sizes in found.items()
    }  # what is best, and the paper's choice
    report(f"sizes, for {EPISODES[0]} to {EPISODES[-1]} episodes, accuracies of 0.30 to 0.95", figures)
    report(
        "time",
        {
            f"the whole grid, {designs:,} designs x 1,000 repetitions, seconds": taken,
            "of the processor, seconds": used,
            **_ratio(),
        },
    )
    if given.plots:
        shown = {f"{hours} h": sizes for hours, sizes in found.items()}
        for name, drawn in (("width", width_plot(shown)), ("coverage", coverage_plot(shown))):
            (given.plots / f"plan-{name}.svg").write_text(standalone(drawn), encoding="utf-8")


def _told(sizes: SampleSizes) -> str:
    best = sizes.best
    return f"{best.episodes} episodes x {best.items} items, {_points(best.width)} wide"


def _beside(sizes: SampleSizes) -> str:
    theirs = next((one for one in sizes.choices if one.episodes == CHOSEN), None)
    if theirs is None:
        return f"{CHOSEN} episodes can't be paid for"
    wider = theirs.width / sizes.best.width - 1
    return (
        f"{CHOSEN} x {theirs.items}: {_points(theirs.width)} wide ({wider:+.0%}), {theirs.coverage.value:.1%} covered"
    )


def _points(share: float) -> str:
    return f"{100 * share:.2f} points"


def _ratio() -> dict[str, float]:
    """Compare designs of the grid; the loop makes fewer repetitions, and its time is scaled."""
    designs = [Design(episodes, 341, accuracy) for episodes in (30, 90, 150) for accuracy in (0.5, 0.7)]
    taken = interleaved(
        {
            "ours": lambda: simulate(designs, repetitions=1000),
            "loop": lambda: [by_loop(design, 50) for design in designs],
        },
        runs=5,
    )
    return {
        "6 designs x 1,000 repetitions, ours, seconds": taken["ours"],
        "the same by a loop with numpy's choice, seconds (50 repetitions, x 20)": 20 * taken["loop"],
        "times as fast": 20 * taken["loop"] / taken["ours"],
    }


if __name__ == "__main__":
    main()
