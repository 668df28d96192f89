"""How often 95 % intervals hold the truth, and equal learners differ significantly: see docs/statistics.md."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np

from taskloom.core import Labels, Text
from taskloom.people.answers import Answers
from taskloom.people.judgements import Comparison, Pair, Settled
from taskloom.people.summary import compared
from taskloom.reports import How, differs
from taskloom.reports.calibration import Beliefs, calibration
from taskloom.reports.group_scores import EpisodeGroup, group_differences, group_scores
from taskloom.reports.leaderboards import Leaderboard, ScoreField, leaderboard
from taskloom.scores import Metric, Scored, metric
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
Trial: TypeAlias = Callable[[np.random.Generator], Iterator[bool]]
TRUTH = 0.5
EXACT = metric("exact-match", Text())
RARE = Labels(("common", "rare"))
MACRO_F1 = metric("macro-f1", RARE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """How many tasks, seeds and items there are, how much scores vary by each, and whether tasks share records."""

    tasks: int = 1
    seeds: int = 1
    items: int
    by_task: float = 0
    by_seed: float = 0
    by_item: float = 0
    taken: Literal["fixed", "drawn"] = "fixed"
    shared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """Answers that are right or wrong; how alike those to one record are, in one task and in all that share it."""

    tasks: int = 1
    seeds: int = 1
    items: int
    chances: tuple[float, ...] = (0.6, 0.6)  # of each learner
    in_task: float = 0.0  # the part of what makes an answer right that the seeds of a task share
    in_record: float = 0.0  # the part that all tasks of a record share; of people, that all items of a task share
    shared: bool = False


DESIGNS: dict[str, Design] = {
    **{f"{n} seeds that vary, 200 items": Design(seeds=n, items=200, by_seed=1, by_item=0.1) for n in (2, 3, 5, 12)},
    **{
        f"{n} tasks that vary, drawn, 200 items each": Design(tasks=n, items=200, by_task=1, by_item=0.1, taken="drawn")
        for n in (2, 3, 5, 10)
    },
    **{f"{n} items, one seed": Design(items=n, by_item=1) for n in (5, 10, 30)},
    **{f"{n} items that 5 seeds share": Design(seeds=5, items=n, by_item=1) for n in (5, 10, 30)},
    "10 items that 12 seeds share": Design(seeds=12, items=10, by_item=1),
    "50 tasks of 3 items": Design(tasks=50, items=3, by_item=1),
    "4 tasks x 3 seeds, the same 50 records, alike": Design(tasks=4, seeds=3, items=50, by_item=1, shared=True),
}
SIX = (0.6,) * 6
APART = (0.6395, 0.5605)  # 7.9 points
RIGHTS: dict[str, Rights] = {
    "4 tasks x 3 seeds, 50 records each": Rights(tasks=4, seeds=3, items=50, in_task=0.6),
    "4 tasks x 3 seeds, the same 50 records": Rights(
        tasks=4, seeds=3, items=50, in_task=0.3, in_record=0.3, shared=True
    ),
    "10 tasks, the same 100 records": Rights(tasks=10, items=100, in_record=0.4, shared=True),
    "10 tasks, the same 100 records, not alike": Rights(tasks=10, items=100, shared=True),
    "3 tasks x 1 seed, the same 30 records": Rights(tasks=3, items=30, in_record=0.4, shared=True),
    "100 items, one seed, 1 %": Rights(items=100, chances=(0.01, 0.01)),
    "100 items, one seed, 99 %": Rights(items=100, chances=(0.99, 0.99)),
    "30 items, one seed, 95 %": Rights(items=30, chances=(0.95, 0.95)),
    "60 items, one seed, 2 %": Rights(items=60, chances=(0.02, 0.02)),
    "60 items, one seed, 98 %": Rights(items=60, chances=(0.98, 0.98)),
    "4 tasks x 3 seeds, 50 records each, 99 %": Rights(tasks=4, seeds=3, items=50, in_task=0.6, chances=(0.99, 0.99)),
    "six equals, 4 tasks x 3 seeds, 50 records each": Rights(tasks=4, seeds=3, items=50, in_task=0.6, chances=SIX),
    "six equals, 4 tasks x 3 seeds, the same 50 records": Rights(
        tasks=4, seeds=3, items=50, in_task=0.3, in_record=0.3, shared=True, chances=SIX
    ),
    "six equals, 10 tasks, the same 100 records": Rights(tasks=10, items=100, in_record=0.4, shared=True, chances=SIX),
}
PEOPLE: dict[str, Rights] = {
    "people, 60 tasks of 10 items": Rights(tasks=60, items=10, in_record=0.2),
    "people, 20 tasks of 5 items": Rights(tasks=20, items=5, in_record=0.2),
    "people, 8 tasks of 10 items": Rights(tasks=8, items=10, in_record=0.2),
    "people, 20 tasks of 5 items, 95 %": Rights(tasks=20, items=5, chances=(0.95, 0.95)),
}
DRAWN: dict[str, Rights] = {  # seeds are episodes, and in_task the part that an episode shares
    "3 tasks x 30 episodes of 20 of 300 records": Rights(tasks=3, seeds=30, items=20, in_task=0.05, in_record=0.2),
    "3 tasks x 6 episodes of 20 of 40 records": Rights(tasks=3, seeds=6, items=20, in_task=0.05, in_record=0.2),
}
POOLS = {30: 300, 6: 40}  # records of a task, by its episodes
SURE = np.array([0.55, 0.65, 0.75, 0.85, 0.95])  # confidences, which say nothing about who is right
POWER: dict[str, Rights] = {
    "7.9 points, 4 tasks x 3 seeds, 50 records each": Rights(tasks=4, seeds=3, items=50, in_task=0.6, chances=APART),
    "7.9 points, 4 tasks x 3 seeds, 50 other records for each": Rights(tasks=4, seeds=3, items=50, chances=APART),
    "12 points, 4 tasks x 1 seed, 50 records each": Rights(tasks=4, items=50, chances=(0.66, 0.54)),
    "7.9 points, 4 tasks x 3 seeds, the same 50 records": Rights(
        tasks=4, seeds=3, items=50, in_task=0.3, in_record=0.3, shared=True, chances=APART
    ),
}


def main() -> None:
    """Print each table; --only picks rows by a part of their name."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--only", default="")
    parser.add_argument("--skip-means", action="store_true", help="leave the table of plain means out")
    chosen = parser.parse_args()
    if not chosen.skip_means:
        show_means(chosen.trials, chosen.only)
    made: dict[str, Trial] = {name: partial(continuous, design=of) for name, of in DESIGNS.items()}
    made |= {name: partial(of_rights, design=of) for name, of in RIGHTS.items()}
    made |= {f"macro F1, a class of 5 %, one seed, {n} items": partial(rare, items=n) for n in (50, 100, 200)}
    made |= {name: partial(judged, design=of) for name, of in PEOPLE.items()}
    show(
        "in reports | interval holds the truth | equals differ significantly | interval of a difference holds 0",
        made,
        chosen.trials,
        chosen.only,
    )
    show(
        "half of the episodes | interval of their score holds the truth | equal halves differ significantly | "
        "interval of the difference between halves holds 0",
        {name: partial(halves, design=of) for name, of in DRAWN.items()},
        chosen.trials,
        chosen.only,
    )
    show(
        "calibration: the interval holds the truth | expected calibration error | Brier | accuracy | accuracy of a bin",
        {name: partial(calibrated, design=of) for name, of in DRAWN.items()},
        chosen.trials,
        chosen.only,
    )
    seen = {name: partial(of_rights, design=of) for name, of in POWER.items()}
    show(
        "a real difference | (interval holds the truth) | significant | (interval of it holds 0)",
        seen,
        chosen.trials,
        chosen.only,
    )


def show(title: str, made: Mapping[str, Trial], trials: int, only: str) -> None:
    """Print the share of trials in which each thing came out."""
    print(f"\n| {title} |\n|{' --- |' * (1 + title.count('|'))}")
    for name, trial in made.items():
        if only in name:
            rng = np.random.default_rng(0)
            found = [list(trial(rng)) for _ in range(trials)]
            print(f"| {name} | " + " | ".join(f"{share:.1%}" for share in np.mean(found, axis=0)) + " |", flush=True)


# --- plain means -----------------------------------------------------------------------------------------------------


def show_means(trials: int, only: str) -> None:
    """Print how intervals of plain means do."""
    print("\n| values | n | percentile | bca | standard error |\n| --- | --- | --- | --- | --- |")
    for name, (truth, make) in KINDS.items():
        for n in (10, 30, 90, 300) if only in name else ():
            held = [list(of_means(make, truth, n, trial)) for trial in range(trials)]
            print(f"| {name} | {n} | " + " | ".join(f"{share:.1%}" for share in np.mean(held, axis=0)) + " |")


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


# --- reports ---------------------------------------------------------------------------------------------------------


def outcome(at: tuple[str, int, int], records: Sequence[int], units: np.ndarray, of: Metric = EXACT) -> Outcome:
    """Make what a learner reached on a task with a seed."""
    learner, task, seed = at
    return Outcome(
        cell="", task=f"t{task}", learner=learner, shots=0, seed=seed, index=0, pool="", rows=(), answers=(), gold=(),
        items=tuple(map(str, records)), records=tuple(records), scores={"score": Scored(of, units, {})}, counts={},
        cost=Cost(),
    )  # fmt: skip


def found_in(made: Leaderboard, truth: float) -> Iterator[bool]:
    """Say whether a score's interval holds the truth, whether any two differ, and whether the first pair's holds 0."""
    score = next(s.score for s in made.standings if s.learner == "a")
    yield score.low <= truth <= score.high
    yield any(differs(pair) for pair in made.pairs)
    yield made.pairs[0].low <= 0 <= made.pairs[0].high


def continuous(rng: np.random.Generator, design: Design) -> Iterator[bool]:
    """Make scores that vary by task, by seed, by item, and by chance, of two learners that are as good."""
    outcomes = []
    for learner in "ab":
        effect = rng.normal(size=design.items)
        for task in range(design.tasks):
            effect = effect if design.shared else rng.normal(size=design.items)
            base = design.by_task * rng.normal() + design.by_item * effect
            records = range(design.items) if design.shared else range(1000 * task, 1000 * task + design.items)
            for seed in range(design.seeds):
                values = base + design.by_seed * rng.normal() + 0.1 * rng.normal(size=design.items)
                outcomes.append(outcome((learner, task, seed), records, TRUTH + 0.05 * values[:, None]))
    yield from found_in(leaderboard("score", 0, outcomes, how=How(count=400, tasks=design.taken)), TRUTH)


def of_rights(rng: np.random.Generator, design: Rights) -> Iterator[bool]:
    """Make right and wrong answers by a probit model, in which records and tasks have parts."""
    outcomes = []
    own = 1 - design.in_task - design.in_record
    for learner, chance in zip("abcdef", design.chances, strict=False):
        limit = NormalDist().inv_cdf(chance)
        of_record = rng.normal(size=design.items)
        for task in range(design.tasks):
            base = design.in_record**0.5 * of_record + design.in_task**0.5 * rng.normal(size=design.items)
            for seed in range(design.seeds):
                right = base + own**0.5 * rng.normal(size=design.items) < limit
                first = 0 if design.shared else 1000 * task
                first += 0 if design.in_task or design.shared else 100_000 * seed
                records = range(first, first + design.items)
                outcomes.append(outcome((learner, task, seed), records, right[:, None].astype(float)))
    yield from found_in(leaderboard("score", 0, outcomes, how=How(count=400)), design.chances[0])


def rare(rng: np.random.Generator, items: int) -> Iterator[bool]:
    """Make answers to items of which one in twenty has the rare label; the truth is F1 of infinitely many."""
    right = np.array([0.9, 0.6])  # of common and rare ones
    share = np.array([0.95, 0.05])
    outcomes = []
    gold = (rng.random(items) < share[1]).astype(int)
    for learner in "ab":
        given = np.where(rng.random(items) < right[gold], gold, 1 - gold)
        units = np.concatenate([np.eye(2)[gold], np.eye(2)[given]], axis=1)
        outcomes.append(outcome((learner, 0, 0), range(items), units, MACRO_F1))
    hits, predicted = share * right, share * right + (share * (1 - right))[::-1]
    truth = float(np.mean(2 * hits / (share + predicted)))
    yield from found_in(leaderboard("score", 0, outcomes, how=How(count=400)), truth)


def judged(rng: np.random.Generator, design: Rights) -> Iterator[bool]:
    """Make what people said of answers, a fifth of which are settled, and a quarter of the others not judged."""
    key, said = {}, []
    for learner, chance in zip("ab", design.chances, strict=True):
        limit = NormalDist().inv_cdf(chance)
        for task in range(design.tasks):
            of_task = design.in_record**0.5 * rng.normal()
            for item in range(design.items):
                good = of_task + (1 - design.in_record) ** 0.5 * rng.normal() < limit
                settled: Settled = "" if rng.random() < 0.8 else "equal" if good else "unusable"
                pair = Pair(
                    id=f"{learner}-{task}-{item}", task=f"t{task}", item=f"{item}", learner=learner, cell="", shots=0,
                    seed=0, side="" if settled else "first", settled=settled,
                )  # fmt: skip
                key[pair.id] = pair
                if not settled and rng.random() < 0.75:
                    said.append(Comparison(pair.id, "rater", "first" if good else "second"))
    found = compared(key, Answers(tuple(said), 0, ()))
    score = found.learners["a"].score
    yield score.low <= design.chances[0] <= score.high
    yield any(differs(pair) for pair in found.contrasts)
    yield from (pair.low <= 0 <= pair.high for pair in found.contrasts)


# --- episodes that were drawn ----------------------------------------------------------------------------------------


def drawn(rng: np.random.Generator, design: Rights) -> Iterator[tuple[tuple[int, int], np.ndarray, np.ndarray]]:
    """Yield task and episode, the records that it asks about, and which answers are right."""
    limit, pool = NormalDist().inv_cdf(design.chances[0]), POOLS[design.seeds]
    own = 1 - design.in_task - design.in_record
    for task in range(design.tasks):
        of_record = rng.normal(size=pool)
        for episode in range(design.seeds):
            rows = rng.choice(pool, design.items, replace=False)
            base = design.in_record**0.5 * of_record[rows] + design.in_task**0.5 * rng.normal()
            yield (task, episode), 1000 * task + rows, base + own**0.5 * rng.normal(size=design.items) < limit


def halves(rng: np.random.Generator, design: Rights) -> Iterator[bool]:
    """Score the even episodes of each task, and compare them with the odd ones."""
    outcomes = [
        outcome(("a", *at), records.tolist(), right[:, None].astype(float)) for at, records, right in drawn(rng, design)
    ]
    field = ScoreField.of("score", 0, outcomes, How(count=400))
    sides = {f"{rest}": [(o.task, *o.episode) for o in outcomes if o.seed % 2 == rest] for rest in (0, 1)}
    score = group_scores(field, EpisodeGroup(sides["0"]))["a"].score
    yield score.low <= design.chances[0] <= score.high
    apart = group_differences(field, sides)["a"].contrast
    yield differs(apart)
    yield apart.low <= 0 <= apart.high


def calibrated(rng: np.random.Generator, design: Rights) -> Iterator[bool]:
    """Estimate what is said of answers whose confidence is drawn at random."""
    made = []
    for (task, episode), records, right in drawn(rng, design):
        sure, ones = rng.choice(SURE, design.items), right.astype(float)
        made.append(Beliefs((f"t{task}", episode, 0, 0), records, sure, ones, 2 * (ones - sure) ** 2, 0))
    found, chance = calibration({"a": made}, How(count=400))["a"], design.chances[0]
    brier = float(np.mean(2 * (chance * (1 - SURE) ** 2 + (1 - chance) * SURE**2)))
    truths = (float(np.abs(SURE - chance).mean()), brier, chance, chance)
    for e, truth in zip((found.error, found.brier, found.accuracy, found.bins[7].accuracy), truths, strict=True):
        yield e.low <= truth <= e.high


if __name__ == "__main__":
    main()
