"""How often 95 % intervals hold the truth, by simulation: the table of docs/verification.md."""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from taskloom.scores.reduce import mean
from taskloom.stats import bootstrap, standard_error_interval

KINDS: dict[str, tuple[float, Callable[[np.random.Generator, int], np.ndarray]]] = {
    "normal, mean 0.6, deviation 0.1": (0.6, lambda rng, n: rng.normal(0.6, 0.1, n)),
    "right or wrong, 70 %": (0.7, lambda rng, n: (rng.random(n) < 0.7).astype(float)),
    "right or wrong, 95 %": (0.95, lambda rng, n: (rng.random(n) < 0.95).astype(float)),
    "skewed (exponential)": (1.0, lambda rng, n: rng.exponential(1.0, n)),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=4000)
    given = parser.parse_args()
    print("\n| values | n | percentile | bca | standard error |\n| --- | --- | --- | --- | --- |")
    for name, (truth, make) in KINDS.items():
        for n in (10, 30, 90, 300):
            rng = np.random.default_rng(n)
            held = np.zeros(3)
            for trial in range(given.trials):
                values = make(rng, n)
                units = values[:, None]
                found = [bootstrap(units, mean, method=m, count=1000, key=trial) for m in ("percentile", "bca")]
                found.append(standard_error_interval(values))
                held += [e.low <= truth <= e.high for e in found]
            print(f"| {name} | {n} | " + " | ".join(f"{share:.1%}" for share in held / given.trials) + " |")


if __name__ == "__main__":
    main()
