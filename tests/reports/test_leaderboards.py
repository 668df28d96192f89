from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from taskloom.core import Labels
from taskloom.messages import Note
from taskloom.reports import How, compare, differs
from taskloom.reports.contrasts import ENOUGH, contrast
from taskloom.reports.leaderboards import leaderboard, leaderboards, over_groups
from taskloom.scores import Scored, metric
from taskloom.stats import standard_error_interval
from taskloom.studies.costs import Cost
from taskloom.studies.results import Outcome

QUICK = How(count=400)


def outcome(learner, seed, units, *, task="t", items=None, name="exact-match", shots=0):
    array = np.array(units, dtype=float)
    array = array[:, None] if array.ndim == 1 else array
    ids = tuple(items or (f"{seed}-{n}" for n in range(len(array))))
    return Outcome(
        cell="", task=task, learner=learner, shots=shots, seed=seed, index=0, pool="all", rows=tuple(range(len(ids))),
        items=ids, answers=(None,) * len(ids), gold=((),) * len(ids),
        scores={name: Scored(metric(name), array, {})}, counts={}, cost=Cost(),
    )  # fmt: skip


def rights(rng, chance, n=40):
    return (rng.random(n) < chance).astype(float)


def of(made, learner):
    return next(s for s in made.standings if s.learner == learner)


def test_a_score_is_the_mean_over_tasks_of_the_mean_over_episodes():
    outcomes = [
        outcome("a", 0, [1, 1, 1, 0]),
        outcome("a", 1, [0, 0]),
        outcome("a", 0, [1, 0, 0, 0, 0], task="u"),
    ]
    made = leaderboard("exact-match", 0, outcomes, how=QUICK)
    score = of(made, "a").score
    assert score.value == pytest.approx(((0.75 + 0) / 2 + 0.2) / 2)
    assert score.n == 11
    assert made.tasks["t"]["a"].value == pytest.approx(0.375)
    assert made.tasks["u"]["a"].value == pytest.approx(0.2)


def test_with_one_episode_the_interval_is_that_of_the_items():
    units = rights(np.random.default_rng(0), 0.6, 400)
    found = of(leaderboard("exact-match", 0, [outcome("a", 0, units)], how=How(count=2000)), "a").score
    plain = standard_error_interval(units)
    assert found.low == pytest.approx(plain.low, abs=0.006)
    assert found.high == pytest.approx(plain.high, abs=0.006)


def test_with_many_episodes_the_interval_is_that_of_their_scores():
    rng = np.random.default_rng(1)
    chances = rng.random(60)
    outcomes = [outcome("a", seed, rights(rng, chance, 20)) for seed, chance in enumerate(chances)]
    found = of(leaderboard("exact-match", 0, outcomes, how=How(count=2000)), "a").score
    plain = standard_error_interval([float(o.scores["exact-match"].units.mean()) for o in outcomes])
    assert found.low == pytest.approx(plain.low, abs=0.012)
    assert found.high == pytest.approx(plain.high, abs=0.012)


def test_items_that_all_episodes_share_are_not_taken_for_more_items():
    units = rights(np.random.default_rng(2), 0.5, 50)
    ids = [str(n) for n in range(50)]
    one = of(leaderboard("exact-match", 0, [outcome("a", 0, units, items=ids)], how=QUICK), "a").score
    many = of(
        leaderboard("exact-match", 0, [outcome("a", s, units, items=ids) for s in range(6)], how=QUICK), "a"
    ).score
    assert many.n == 6 * one.n
    assert many.high - many.low == pytest.approx(one.high - one.low, rel=0.15)


def test_drawing_tasks_too_makes_intervals_wider_where_tasks_differ():
    rng = np.random.default_rng(3)
    outcomes = [outcome("a", 0, rights(rng, c, 100), task=f"t{c}") for c in (0.05, 0.2, 0.5, 0.8, 0.95)]
    fixed = of(leaderboard("exact-match", 0, outcomes, how=QUICK), "a").score
    drawn = of(leaderboard("exact-match", 0, outcomes, how=How(count=400, tasks="drawn")), "a").score
    assert drawn.value == fixed.value
    assert drawn.high - drawn.low > 2 * (fixed.high - fixed.low)


@pytest.mark.parametrize("episodes", [1, 2 * ENOUGH])
def test_what_differs_is_significant_and_what_does_not_is_not(episodes):
    rng = np.random.default_rng(4)
    chances = {"good": 0.9, "as good": 0.9, "bad": 0.5}
    size = 200 // episodes if episodes > 1 else 120
    outcomes = [outcome(name, s, rights(rng, c, size)) for name, c in chances.items() for s in range(episodes)]
    made = leaderboard("exact-match", 0, outcomes, how=QUICK)
    assert {frozenset((c.a, c.b)): differs(c) for c in made.pairs} == {
        frozenset(("good", "as good")): False,
        frozenset(("good", "bad")): True,
        frozenset(("as good", "bad")): True,
    }
    assert {s.learner: (s.rank, s.groups, s.best) for s in made.standings} == {
        "good": (1, "a", True),
        "as good": (1, "a", True),
        "bad": (3, "b", False),
    }


def test_the_difference_is_that_of_the_scores_and_the_test_is_exact_where_few_answers_are():
    outcomes = [outcome("a", 0, [1, 1, 1, 1, 1, 1]), outcome("b", 0, [0, 0, 0, 0, 0, 0])]
    found = contrast("a", "b", "exact-match", 0, outcomes, how=QUICK)
    assert found.difference == 1
    assert found.p == pytest.approx(2 / 2**6)


def test_learners_are_compared_on_the_items_that_both_answered():
    ours = outcome("a", 0, [1, 1, 0, 1], items=["p", "q", "r", "s"])
    theirs = outcome("b", 0, [0, 1, 0], items=["s", "q", "x"])
    found = contrast("a", "b", "exact-match", 0, [ours, theirs], how=QUICK)
    assert (found.n, found.difference) == (2, 0.5)
    nothing = contrast("a", "b", "exact-match", 0, [ours, replace(theirs, seed=1)], how=QUICK)
    assert nothing.n == 0
    assert math.isnan(nothing.difference)
    assert math.isnan(nothing.p)


def test_less_is_better_for_errors():
    rng = np.random.default_rng(5)
    gold = rng.normal(size=60)
    near = np.stack([gold, gold + 0.1 * rng.normal(size=60)], axis=1)
    far = np.stack([gold, gold + 2 * rng.normal(size=60)], axis=1)
    made = leaderboard("mse", 0, [outcome("far", 0, far, name="mse"), outcome("near", 0, near, name="mse")], how=QUICK)
    assert [s.learner for s in made.standings] == ["near", "far"]
    assert [s.rank for s in made.standings] == [1, 2]
    assert (made.higher, made.points) == (False, False)
    assert of(made, "near").score.value == pytest.approx(float(((near[:, 0] - near[:, 1]) ** 2).mean()))


def test_what_has_no_value_is_nan_and_has_no_rank():
    constant = np.stack([np.arange(8.0), np.ones(8)], axis=1)
    varied = np.stack([np.arange(8.0), np.arange(8.0)[::-1]], axis=1)
    made = leaderboard(
        "tau-b", 0, [outcome("a", 0, constant, name="tau-b"), outcome("b", 0, varied, name="tau-b")], how=QUICK
    )
    assert [s.learner for s in made.standings] == ["b", "a"]
    assert math.isnan(of(made, "a").score.value)
    assert (of(made, "a").rank, of(made, "a").best, of(made, "a").without) == (0, False, 1)
    assert of(made, "b").score.value == pytest.approx(-1)
    assert of(made, "a").missing == Note.of("incomplete", tasks=0, of=1, episodes=0, of_episodes=1)
    assert made.pairs == ()


def test_one_answer_has_no_interval():
    score = of(leaderboard("exact-match", 0, [outcome("a", 0, [1])], how=QUICK), "a").score
    assert score.value == 1
    assert math.isnan(score.low)
    assert math.isnan(score.high)


def test_baselines_have_no_rank_but_learners_are_compared_with_them():
    rng = np.random.default_rng(6)
    outcomes = [outcome(n, 0, rights(rng, c, 100)) for n, c in {"a": 0.9, "low": 0.3, "lower": 0.1}.items()]
    made = leaderboard("exact-match", 0, outcomes, baselines=("low", "lower"), how=QUICK)
    assert [(s.rank, s.baseline, s.best) for s in made.standings] == [
        (1, False, True),
        (0, True, False),
        (0, True, False),
    ]
    assert made.pairs == ()
    assert [(c.a, c.b, c.family) for c in made.against] == [("a", "low", 2), ("a", "lower", 2)]


def test_baselines_are_never_ranked_nor_part_of_the_correction_for_pairs_of_learners():
    rng = np.random.default_rng(11)
    chances = {"a": 0.9, "b": 0.5, "c": 0.2, "low": 0.95, "lower": 0.1}
    outcomes = [outcome(name, 0, rights(rng, chance, 100)) for name, chance in chances.items()]
    made = leaderboard("exact-match", 0, outcomes, baselines=("low", "lower"), how=QUICK)
    learners = [o for o in outcomes if o.learner in "abc"]
    assert made.pairs == leaderboard("exact-match", 0, learners, how=QUICK).pairs
    assert {c.family for c in made.pairs} == {3}
    assert {c.family for c in made.against} == {len(made.against)} == {6}
    assert {s.learner: (s.rank, s.groups, s.best) for s in made.standings if s.baseline} == {
        "low": (0, "", False),
        "lower": (0, "", False),
    }
    alone = leaderboard("exact-match", 0, outcomes[3:], baselines=("low", "lower"), how=QUICK)
    assert [(s.rank, s.groups, s.best) for s in alone.standings] == [(0, "", False)] * 2
    assert alone.pairs == alone.against == ()


def test_letters_are_given_only_where_some_learners_differ():
    rng = np.random.default_rng(12)
    alike = [outcome(name, 0, rights(rng, 0.5, 100)) for name in "abc"]
    assert {(s.rank, s.groups, s.best) for s in leaderboard("exact-match", 0, alike, how=QUICK).standings} == {
        (1, "", True)
    }
    (alone,) = leaderboard("exact-match", 0, alike[:1], how=QUICK).standings
    assert (alone.rank, alone.groups) == (1, "")


# --- like for like ---------------------------------------------------------------------------------------------------


def on_tasks(learner, chances, *, seeds=1, size=60):
    rng = np.random.default_rng(sum(map(ord, learner)))
    return [
        outcome(learner, seed, rights(rng, chance, size), task=task)
        for task, chance in chances.items()
        for seed in range(seeds)
    ]


EASY, HARD = {"e0": 0.9, "e1": 0.9}, {"h0": 0.3, "h1": 0.3}


def test_a_learner_that_lacks_tasks_is_listed_apart_and_ranked_on_the_common_ones():
    outcomes = on_tasks("good", EASY | HARD) + on_tasks("bad", {"e0": 0.5, "e1": 0.5, "h0": 0.1, "h1": 0.1})
    outcomes += on_tasks("lazy", {"e0": 0.7, "e1": 0.7})
    made = leaderboard("exact-match", 0, outcomes, how=QUICK)
    assert [s.learner for s in made.standings] == ["good", "bad", "lazy"]
    lazy = of(made, "lazy")
    assert lazy.score.value > of(made, "good").score.value
    assert (lazy.rank, lazy.groups, lazy.best, lazy.comparable) == (0, "", False, False)
    assert lazy.missing == Note.of("incomplete", tasks=2, of=4, episodes=2, of_episodes=4)
    assert [(s.rank, s.comparable, s.missing) for s in made.standings[:2]] == [(1, True, None), (2, True, None)]
    assert made.ranked_on == ("e0", "e1", "h0", "h1")
    assert [(c.a, c.b) for c in made.pairs] == [("good", "bad")]

    assert made.headline is made  # two learners are ranked on all tasks, and one that lacks some does not change that
    assert made.common is not None
    assert made.common.ranked_on == ("e0", "e1")
    assert [(s.learner, s.rank, s.tasks, s.comparable) for s in made.common.standings] == [
        ("good", 1, 2, True),
        ("lazy", 2, 2, True),
        ("bad", 3, 2, True),
    ]
    assert of(made.common, "lazy").score == lazy.score
    pair = leaderboard("exact-match", 0, [o for o in outcomes if o.learner != "bad"], how=QUICK)
    assert pair.headline is pair.common is not None  # else there would be nothing to compare
    only = leaderboard("exact-match", 0, [o for o in outcomes if o.task in EASY], how=QUICK)
    assert (only.standings, only.pairs, only.common) == (made.common.standings, made.common.pairs, None)


def test_baselines_are_scored_on_what_learners_have():
    outcomes = on_tasks("a", EASY) + on_tasks("b", EASY) + on_tasks("low", EASY | HARD)
    made = leaderboard("exact-match", 0, outcomes, baselines=("low",), how=QUICK)
    alone = leaderboard("exact-match", 0, [o for o in outcomes if o.task in EASY], baselines=("low",), how=QUICK)
    assert of(made, "low").score == of(alone, "low").score
    assert made.against == alone.against
    assert sorted(made.tasks) == ["e0", "e1", "h0", "h1"]


def test_a_learner_that_lacks_seeds_is_listed_apart():
    outcomes = on_tasks("a", EASY, seeds=3) + on_tasks("b", EASY, seeds=3)[:-1]
    made = leaderboard("exact-match", 4, [replace(o, shots=4) for o in outcomes], how=QUICK)
    assert of(made, "b").missing == Note.of("incomplete", tasks=2, of=2, episodes=5, of_episodes=6)
    assert {s.learner: s.episodes for s in made.headline.standings} == {"a": 5, "b": 5}
    assert {s.rank for s in made.headline.standings} == {1}


def test_where_no_learner_has_everything_all_are_ranked_on_what_they_share():
    first, second = on_tasks("a", {**EASY, "h0": 0.3}), on_tasks("b", {**EASY, "h1": 0.3})
    made = leaderboard("exact-match", 0, first + second, how=QUICK)
    assert [s.rank for s in made.standings] == [0, 0]
    assert made.pairs == ()
    assert made.headline.ranked_on == ("e0", "e1")
    assert [s.rank for s in made.headline.standings] == [1, 1]


def test_learners_that_share_nothing_are_not_ranked_and_the_least_of_many_is_dropped_from_what_is_common():
    apart = on_tasks("a", {"e0": 0.5}) + on_tasks("b", {"e1": 0.5})
    made = leaderboard("exact-match", 0, apart, how=QUICK)
    assert ([s.rank for s in made.standings], made.common, made.headline) == ([0, 0], None, made)
    several = on_tasks("a", EASY | HARD) + on_tasks("b", EASY) + on_tasks("c", {"h1": 0.5})
    found = leaderboard("exact-match", 0, several, how=QUICK).headline
    assert found.ranked_on == ("e0", "e1")
    assert {s.learner for s in found.standings} == {"a", "b"}


def test_items_that_differ_within_an_episode_are_not_common():
    shared = [outcome(name, 0, [1, 0, 1], task="t", items=["x", "y", "z"]) for name in "ab"]
    other = [outcome(name, 0, [1, 0], task="u", items=items) for name, items in (("a", ["x", "y"]), ("b", ["x", "z"]))]
    made = leaderboard("exact-match", 0, shared + other, how=QUICK)
    assert [s.comparable for s in made.standings] == [False, False]
    assert made.headline.ranked_on == ("t",)


def test_a_baseline_that_lacks_tasks_is_compared_only_on_common_ground():
    outcomes = on_tasks("a", EASY) + on_tasks("low", {"e0": 0.1})
    made = leaderboard("exact-match", 0, outcomes, baselines=("low",), how=QUICK)
    assert of(made, "low").missing == Note.of("incomplete", tasks=1, of=2, episodes=1, of_episodes=2)
    assert made.against == ()
    assert of(made, "a").rank == 1


def test_the_order_of_outcomes_does_not_matter(results):
    some = [o for o in results.outcomes if o.task == "title->category"]
    assert leaderboard("accuracy", 0, some, how=QUICK) == leaderboard("accuracy", 0, some[::-1], how=QUICK)


def test_comparing_gives_each_task_and_all(results):
    found = compare(results, "strong", "weak", how=QUICK)
    assert {(c.metric, c.shots) for c in found} >= {("accuracy", 0), ("accuracy", 5), ("title/rouge-l", 0), ("mse", 5)}
    accuracy = next(c for c in found if (c.metric, c.shots) == ("accuracy", 0))
    assert set(accuracy.tasks) == {"title->category", "keywords->category"}
    assert differs(accuracy.overall)
    assert accuracy.overall.difference == pytest.approx(np.mean([c.difference for c in accuracy.tasks.values()]))


@pytest.mark.parametrize("episodes", [3, 8])
def test_intervals_of_few_episodes_hold_the_truth_nearly_as_often_as_they_promise(episodes: int):
    """Episodes that differ by 10 points, 32 items each: measured over 800 trials, 93 of 100 hold it."""
    rng = np.random.default_rng(episodes)
    held = 0
    for _ in range(120):
        chances = np.clip(rng.normal(0.6, 0.1, episodes), 0, 1)
        made = leaderboard(
            "exact-match", 0, [outcome("a", s, rights(rng, c, 32)) for s, c in enumerate(chances)], how=QUICK
        )
        score = of(made, "a").score
        held += score.low <= 0.6 <= score.high
    assert held / 120 >= 0.85


def shared(seeds: int):
    rng = np.random.default_rng(6)
    answers = {name: rights(rng, 0.5, 60) for name in "ab"}
    ids = [str(n) for n in range(60)]
    return [outcome(name, seed, units, items=ids) for name, units in answers.items() for seed in range(seeds)]


def test_seeds_that_give_the_same_answers_to_the_same_items_make_nothing_surer():
    once = contrast("a", "b", "exact-match", 0, shared(1), how=QUICK)
    for seeds in (5, ENOUGH):
        again = contrast("a", "b", "exact-match", 0, shared(seeds), how=QUICK)
        assert again.p == pytest.approx(once.p, abs=0.1)
    assert once.p > 0.1


def test_a_difference_has_the_same_interval_from_both_sides_and_none_is_beyond_what_a_metric_can_be():
    units = {"a": ([1] * 38 + [0] * 2, [1] * 24 + [0] * 16), "b": ([1] * 20 + [0] * 20,) * 2}
    outcomes = [outcome(name, seed, each[seed]) for name, each in units.items() for seed in (0, 1)]
    ab = contrast("a", "b", "exact-match", 0, outcomes, how=QUICK)
    ba = contrast("b", "a", "exact-match", 0, outcomes, how=QUICK)
    assert (ab.low, ab.high) == pytest.approx((-ba.high, -ba.low))
    assert -1 <= ab.low < 0 < ab.high <= 1
    x = np.linspace(0, 1, 8)
    other = [x + (0.3 + 0.6 * seed) * (-1) ** np.arange(8) for seed in (0, 1)]
    for name, (low, high) in {"mse": (0, math.inf), "pearson": (-1, 1)}.items():
        found = leaderboard(name, 0, [outcome("a", s, np.stack([x, y], 1), name=name) for s, y in enumerate(other)])
        score = of(found, "a").score
        assert low <= score.low < score.high <= high


def test_equally_good_learners_are_seldom_significantly_different_by_few_items_that_seeds_share():
    """Ten items, five seeds: measured over 250 trials, p is below 0.05 in 2 of 100; it was in 9."""
    rng, ids, below = np.random.default_rng(9), [str(n) for n in range(10)], 0
    for _ in range(120):
        items = {name: rng.normal(size=10) for name in "ab"}
        outcomes = [
            outcome(name, seed, items[name] + rng.normal(0, 0.5, 10), items=ids) for name in "ab" for seed in range(5)
        ]
        below += contrast("a", "b", "exact-match", 0, outcomes, how=QUICK).p < 0.05
    assert below / 120 <= 0.08


def test_an_interval_of_a_metric_that_is_no_mean_holds_its_own_value_and_the_truth():
    """Macro F1 over 20 labels, 40 episodes of 16 items: resamples have fewer labels, and so are lower or higher."""
    rng, names = np.random.default_rng(10), tuple(f"l{n}" for n in range(20))
    f1 = metric("macro-f1", Labels(names))

    def units():
        gold = rng.integers(0, 20, 16)
        given = np.where(rng.random(16) < 0.6, gold, rng.integers(0, 20, 16))
        return np.array([f1.unit((names[g],), names[a]) for g, a in zip(gold, given, strict=True)])

    truth = np.mean([f1.reduce(units())[0] for _ in range(2000)])
    held = 0
    for _ in range(25):
        plain = [outcome("a", seed, [0.0] * 16) for seed in range(40)]
        episodes = [replace(o, scores={"macro-f1": Scored(f1, units(), {})}) for o in plain]
        score = of(leaderboard("macro-f1", 0, episodes, how=QUICK), "a").score
        assert score.low < score.value < score.high
        held += score.low <= truth <= score.high
    assert held >= 21


def test_intervals_for_other_tasks_hold_the_truth_nearly_as_often_as_they_promise():
    """Three tasks that differ by 15 points: measured over 200 trials, 93 of 100 hold it."""
    rng, held = np.random.default_rng(7), 0
    how = replace(QUICK, tasks="drawn")
    for _ in range(120):
        chances = np.clip(rng.normal(0.5, 0.15, 3), 0, 1)
        outcomes = [outcome("a", 0, rights(rng, c, 50), task=f"t{at}") for at, c in enumerate(chances)]
        score = of(leaderboard("exact-match", 0, outcomes, how=how), "a").score
        held += score.low <= 0.5 <= score.high
    assert held / 120 >= 0.87
    alone = of(leaderboard("exact-match", 0, [outcome("a", 0, rights(rng, 0.5))], how=how), "a").score
    assert math.isnan(alone.low)


def test_tasks_of_one_item_each_say_nothing_of_how_sure_their_mean_is():
    single = [outcome("a", 0, [right], task=f"t{right}") for right in (0, 1)]
    score = of(leaderboard("exact-match", 0, single, how=QUICK), "a").score
    assert (score.value, math.isnan(score.low), math.isnan(score.high)) == (0.5, True, True)
    many = [outcome("a", 0, rights(np.random.default_rng(n), 0.5), task=f"more{n}") for n in range(20)]
    assert not math.isnan(of(leaderboard("exact-match", 0, [*single[:1], *many], how=QUICK), "a").score.low)


def test_a_mean_over_instances_is_that_of_all_answers_together():
    rng = np.random.default_rng(8)
    outcomes = [outcome("a", 0, rights(rng, c, n), task=f"t{n}") for n, c in ((100, 0.2), (400, 0.6))]
    standing = of(leaderboard("exact-match", 0, outcomes, how=How(count=2000)), "a")
    together = np.concatenate([o.scores["exact-match"].units[:, 0] for o in outcomes])
    assert standing.over("instances").value == pytest.approx(together.mean())
    assert standing.over("tasks").value == standing.score.value < together.mean()
    error = math.sqrt(sum(len(u) * u.var() for o in outcomes for u in [o.scores["exact-match"].units]) / 500**2)
    assert standing.by_instance.high - standing.by_instance.low == pytest.approx(2 * 1.96 * error, rel=0.06)


@pytest.mark.parametrize("right", [0, 1])
def test_answers_that_are_all_right_or_all_wrong_have_the_interval_of_wilson(right):
    found = of(leaderboard("exact-match", 0, [outcome("a", 0, [right] * 100)], how=QUICK), "a").score
    ends = [0.0, 1.96**2 / (100 + 1.96**2)]  # z^2 / (n + z^2)
    assert [found.low, found.high] == pytest.approx([1 - end for end in ends[::-1]] if right else ends, abs=1e-5)
    tasks = [outcome("a", seed, [right] * 50, task=f"t{n}") for n in range(4) for seed in range(3)]
    made = leaderboard("exact-match", 0, tasks, how=QUICK)
    assert of(made, "a").score.high - of(made, "a").score.low == pytest.approx(1.96**2 / (600 + 1.96**2), abs=1e-5)
    alone = made.tasks["t0"]["a"]
    assert alone.high - alone.low == pytest.approx(1.96**2 / (150 + 1.96**2), abs=1e-5)


WILSON_60 = 1.96**2 / (60 + 1.96**2)  # the upper limit of 0 of 60


@pytest.mark.parametrize("right", [0, 30, 60])
def test_two_learners_that_answer_alike_do_not_have_a_difference_that_is_sure_to_be_0(right):
    units = [1] * right + [0] * (60 - right)
    found = contrast("a", "b", "exact-match", 0, [outcome(name, 0, units) for name in "ab"], how=QUICK)
    assert (found.difference, found.low, found.high) == pytest.approx((0, -WILSON_60, WILSON_60), abs=1e-5)
    assert not differs(found)


def test_a_difference_that_few_answers_show_reaches_as_far_as_its_parts_do():
    """One answer better and none worse, of 60: limits by the two shares of 1 and 0 of 58.4, by Wilson and Newcombe."""
    outcomes = [outcome("a", 0, [1] + [0] * 59), outcome("b", 0, [0] * 60)]
    found = contrast("a", "b", "exact-match", 0, outcomes, how=QUICK)
    assert (found.low, found.high) == pytest.approx((-0.046, 0.089), abs=2e-3)
    sure = contrast("a", "b", "exact-match", 0, [outcome("a", 0, [1] * 60), outcomes[1]], how=QUICK)
    assert sure.low == pytest.approx(1 - math.sqrt(2) * WILSON_60, abs=1e-5)
    assert sure.high == 1


def test_no_share_of_any_kind_has_an_interval_of_no_width():
    outcomes = [outcome("a", 0, [0] * 60, task=task) for task in "tu"]
    ((_, whole), (_, part)) = leaderboards("exact-match", 0, outcomes, (), QUICK, {"category": ["t"]})
    shown = [whole.standings[0].score, whole.standings[0].by_instance, *(e["a"] for e in whole.tasks.values())]
    shown += [part.standings[0].score, part.standings[0].by_instance]
    grouped = over_groups("exact-match", 0, outcomes, {"one": ["t"], "other": ["u"]}, QUICK)
    shown += [grouped.mean["a"], *(made.standings[0].by_instance for made in grouped.groups.values())]
    assert all(e.low == 0 and 0.02 < e.high < 0.07 for e in shown)


def test_a_label_that_is_never_right_does_not_make_macro_f1_sure():
    """Of 5 answers with the rare label none is right: the limit of that share is 0.434 (Wilson), and F1 there 0.606."""
    f1 = metric("macro-f1", Labels(("common", "rare")))
    given = [("common", "common")] * 95 + [("rare", "common")] * 3 + [("common", "rare")] * 2
    units = np.array([f1.unit((gold,), answer) for gold, answer in given])
    plain = outcome("a", 0, [0.0] * 100)
    found = of(
        leaderboard("macro-f1", 0, [replace(plain, scores={"macro-f1": Scored(f1, units, {})})], how=QUICK), "a"
    ).score
    assert f1.unseen(units, 0.95) == pytest.approx((0, (0.6055 / 2) ** 2), abs=1e-4)
    assert found.high > found.value + 0.6055 / 2


def test_where_one_seed_hides_what_varies_between_seeds_that_is_said():
    def made(seeds, shots):
        outcomes = [outcome("a", s, [0, 1, 1], task=t, shots=shots) for t, n in seeds.items() for s in range(n)]
        return leaderboard("exact-match", shots, outcomes, how=QUICK).warnings

    assert made({"t": 1, "u": 5}, 4) == made({"t": 1, "u": 5}, "all") == (Note.of("single-episodes", tasks=1, of=2),)
    assert made({"t": 5, "u": 6}, 4) == made({"t": 1, "u": 1}, 0) == ()
    few = Note.of("few-episodes", tasks=1, of=2, least=5)
    assert made({"t": 4, "u": 5}, 4) == made({"t": 2, "u": 1}, 0) == (few,)
    assert made({"t": 1, "u": 4}, 4) == (Note.of("single-episodes", tasks=1, of=2), few)
