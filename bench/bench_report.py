"""Reports over many tasks, episodes and learners: seconds, peak memory, and the size of the page."""

from __future__ import annotations

import argparse
import random
from dataclasses import dataclass
from pathlib import Path

from measure import alone, report
from taskloom.core import Answer, Example, Item, Labels, Suite, Task, Text
from taskloom.reports.views.by import By
from taskloom.reports.views.episodes import EpisodeStatistics
from taskloom.reports.views.gain import Gain
from taskloom.scores.tasks import score_task
from taskloom.studies.costs import Cost
from taskloom.studies.results import Outcome, Results, records_of
from taskloom.studies.views import View
from taskloom.suites.rows import pool

WORDS = tuple(f"word{n}" for n in range(400))
LABELS = ("positive", "negative", "neutral", "none of them")
CATEGORIES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """How much there is to report."""

    tasks: int
    learners: int
    episodes: int = 1
    shots: tuple[int, ...] = (4,)
    items: int = 32  # that an episode asks about
    pool: int = 100  # that they are drawn from
    shared: bool = False  # whether all tasks ask about the same records
    labelled: bool = False  # whether all tasks have labels, or every other one
    views: tuple[View, ...] = (Gain(),)


DESIGNS = {
    "500 tasks x 6 learners, 0 and 4 shots": Design(tasks=500, learners=6, shots=(0, 4)),
    "12 tasks x 180 episodes x 8 learners": Design(tasks=12, learners=8, episodes=180, pool=1000),
    "12 tasks x 180 episodes x 10 learners, by groups of episodes": Design(
        tasks=12,
        learners=10,
        episodes=90,
        shots=(0, 4),
        pool=1000,
        labelled=True,
        views=(By(tags=("category",), draw=("way", "shots", "balance")), EpisodeStatistics(by="category")),
    ),
    "3,000 tasks x 3 learners": Design(tasks=3000, learners=3),
    "180 tasks x 3 seeds x 6 learners, the same 1,000 records": Design(
        tasks=180, learners=6, episodes=3, pool=1000, shared=True
    ),
}


def results(design: Design) -> Results:
    """Make up what learners of known skill answered."""
    suite = _suite(design)
    names = [f"learner-{n}" for n in range(design.learners)]
    outcomes = [
        _outcome(suite, design, task, (n, name), shots, episode)
        for task in suite.tasks
        for n, name in enumerate(names)
        for shots in design.shots
        for episode in range(design.episodes)
    ]
    return Results(
        name="bench", command="taskloom run bench.yaml", suite=suite, learners=dict.fromkeys(names, "made up"),
        baselines=(names[0],), outcomes=tuple(outcomes), failures=(), missing=0, skipped={}, views=design.views,
    )  # fmt: skip


def _suite(design: Design) -> Suite:
    draw = random.Random(0)
    tasks = [_task(n, draw, design) for n in range(design.tasks)]
    pools = {
        task.id: {"all": pool(task, [_example(task, n, draw, design) for n in range(design.pool)])} for task in tasks
    }
    return Suite(id="bench", tasks={task.id: task for task in tasks}, pools=pools)


def _task(number: int, draw: random.Random, design: Design) -> Task:
    labelled = design.labelled or number % 2 == 0
    return Task(
        id=f"task{number:04d}_made_up_for_the_bench",
        instruction=_text(draw, 60),
        output=Labels(LABELS) if labelled else Text(),
        metrics=("accuracy", "macro-f1") if labelled else ("rouge-l", "exact-match"),
        tags={"category": (f"category {number % CATEGORIES}",)},
    )


def _example(task: Task, number: int, draw: random.Random, design: Design) -> Example:
    gold: Answer = draw.choice(LABELS) if isinstance(task.output, Labels) else _text(draw, 6)
    id_ = f"{task.id}-{number}"
    return Example(Item(id_, {"input": _text(draw, 80)}, ()), (gold,), str(number) if design.shared else id_)


def _text(draw: random.Random, words: int) -> str:
    return " ".join(draw.choices(WORDS, k=words))


def _outcome(suite: Suite, design: Design, task: str, learner: tuple[int, str], shots: int, episode: int) -> Outcome:
    at, name = learner
    drawn = random.Random(f"{task} {episode}")
    rows = tuple(drawn.sample(range(design.pool), design.items))
    examples = suite.pools[task]["all"].take(rows)
    draw = random.Random(f"{task} {episode} {name} {shots}")
    gold = tuple(e.gold for e in examples)
    answers = tuple(g[0] if draw.random() < 0.3 + 0.07 * at else draw.choice(gold)[0] for g in gold)
    return Outcome(
        cell=f"{task} {name} {shots} {episode}", task=task, learner=name, shots=shots, seed=0, index=episode,
        pool="all", rows=rows, items=tuple(e.item.id for e in examples), answers=answers, gold=gold,
        scores=score_task(suite.tasks[task], gold, answers), counts={}, cost=Cost(seconds=1.0, read=1000, written=50),
        records=records_of(task, examples, suite.pools[task]["all"].groups()[list(rows)]),
        sizes=tuple(drawn.choices(range(1, 6), k=drawn.randint(5, 10))),
    )  # fmt: skip


MEASURE = """
import sys
sys.path.insert(0, {here!r})
from bench_report import DESIGNS, results
from taskloom.reports import render, summarise
found = results(DESIGNS[{name!r}])
start = time.perf_counter()
summary = summarise(found)
summed = time.perf_counter()
page = render(summary, "html")
figures["summing up, seconds"] = summed - start
figures["writing the page, seconds"] = time.perf_counter() - summed
figures["page, MB"] = len(page.encode()) / 1e6
"""


def main() -> None:
    """Measure each design in a process of its own."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--design", choices=DESIGNS, action="append")
    for name in parser.parse_args().design or DESIGNS:
        report(name, alone(MEASURE.format(here=str(Path(__file__).parent), name=name)))


if __name__ == "__main__":
    main()
