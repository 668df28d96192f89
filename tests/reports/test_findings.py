"""What a run found, by codes: the best learners, what examples add, and tasks on which nothing beats a baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from taskloom.core import Suite, Task, Text
from taskloom.reports import How
from taskloom.reports.findings import findings
from taskloom.reports.leaderboards import leaderboards
from taskloom.scores import Scored, metric
from taskloom.studies.costs import Cost
from taskloom.studies.results import Outcome, Results

QUICK = How(count=400)
ITEMS, SEEDS = 60, 5


def outcome(learner: str, task: str, shots: int, seed: int, rights: int) -> Outcome:
    """Answer the first so many items right; all learners and settings are asked about the same ones."""
    ids = tuple(f"{seed}-{n}" for n in range(ITEMS))
    units = np.array([[float((n * 7 + seed) % ITEMS < rights)] for n in range(ITEMS)])
    return Outcome(
        cell="", task=task, learner=learner, shots=shots, seed=seed, index=0, pool="all", rows=tuple(range(ITEMS)),
        items=ids, answers=(None,) * ITEMS, gold=((),) * ITEMS,
        scores={"exact-match": Scored(metric("exact-match"), units, {})}, counts={}, cost=Cost(),
    )  # fmt: skip


def found(rights: Mapping[tuple[str, str, int], int], baselines: Sequence[str] = ()) -> dict[str, list[dict[str, Any]]]:
    """Give findings by their code, from how many answers of (learner, task, shots) are right."""
    outcomes = tuple(outcome(*at, seed, right) for at, right in rights.items() for seed in range(SEEDS))
    tasks = {t: Task(id=t, instruction="Do.", output=Text(), metrics=("exact-match",)) for _, t, _ in rights}
    results = Results(
        name="s", command="", suite=Suite(id="s", tasks=tasks, pools={t: {} for t in tasks}), outcomes=outcomes,
        learners={name: name for name, *_ in rights}, baselines=tuple(baselines), failures=(), missing=0,
        skipped={},
    )  # fmt: skip
    boards = [
        dict(leaderboards("exact-match", shots, [o for o in outcomes if o.shots == shots], baselines, QUICK, {}))[""]
        for shots in sorted({o.shots for o in outcomes})
    ]
    by_code: dict[str, list[dict[str, Any]]] = {}
    for note in findings(results, boards, QUICK):
        by_code.setdefault(note.code, []).append(dict(note.values))
    return by_code


def test_a_learner_that_is_far_ahead_is_the_best_alone():
    notes = found({("a", "t", 0): 50, ("b", "t", 0): 20, ("c", "t", 0): 10})
    (best,) = notes["best-alone"]
    assert best["learner"] == "a"
    assert best["score"].startswith("83.3 [")
    assert best["others"] == ("b (33.3)", "c (16.7)")


def test_learners_that_answer_alike_share_the_best_place():
    (best,) = found({("a", "t", 0): 31, ("b", "t", 0): 30})["best-shared"]
    assert (best["learner"], best["others"]) == ("a", ("b",))


def test_a_learner_without_rivals_is_said_to_have_none():
    notes = found({("a", "t", 0): 30, ("random", "t", 0): 6}, ["random"])
    assert [best["learner"] for best in notes["best-only"]] == ["a"]


def test_examples_that_help_and_those_that_hurt_are_named_with_their_ends():
    rights = {("a", "t", 0): 20, ("a", "t", 1): 30, ("a", "t", 4): 50, ("b", "t", 0): 50, ("b", "t", 4): 20}
    notes = found(rights | {("c", "t", 0): 30, ("c", "t", 4): 30})
    assert [(n["learner"], n["fewest"], n["most"]) for n in notes["examples-help"]] == [("a", "0 shots", "4 shots")]
    assert notes["examples-help"][0]["difference"].startswith("50.0 [")
    assert [n["learner"] for n in notes["examples-hurt"]] == ["b"]


def test_tasks_on_which_no_learner_beats_the_best_baseline_are_named():
    rights = {("a", "t", 0): 50, ("a", "u", 0): 21, ("b", "t", 0): 10, ("b", "u", 0): 20}
    rights |= {("random", "t", 0): 10, ("random", "u", 0): 10, ("majority", "t", 0): 5, ("majority", "u", 0): 20}
    (note,) = found(rights, ["random", "majority"])["no-better-than-baseline"]
    assert (note["tasks"], note["count"], note["of"]) == (("u",), 1, 2)


def test_nothing_is_said_of_baselines_where_there_are_none():
    assert "no-better-than-baseline" not in found({("a", "t", 0): 50, ("b", "t", 0): 10})


def test_nothing_scored_is_nothing_found(empty: Results):
    assert findings(empty, [], QUICK) == ()
