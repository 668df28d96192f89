from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Mapping

import numpy as np
import pytest
from scipy import stats as reference

from taskloom.errors import StatsError
from taskloom.scores import metric
from taskloom.scores.reduce import mean
from taskloom.stats import (
    Estimate,
    anova,
    bootstrap,
    correlation,
    holm,
    interval_of,
    line,
    mean_of_values,
    ranks,
    resamples,
    sign_ps,
    standard_error_interval,
    swap_p,
    tie_groups,
)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def column(values) -> np.ndarray:
    return np.asarray(values, dtype=float)[:, None]


def paired_p(ours, theirs, reduce, **more) -> float:
    """Test two systems by units that change sides."""
    both = np.concatenate([ours, theirs])

    def difference(sides: np.ndarray) -> np.ndarray:
        swapped = np.hstack([sides, 1 - sides])
        return reduce(both, swapped) - reduce(both, 1 - swapped)  # type: ignore[no-any-return]

    return swap_p(difference, len(ours), **more)


def test_resamples_draw_as_many_units_as_there_are():
    weights = np.concatenate(list(resamples(30, 2000, "key")))
    assert weights.shape == (2000, 30)
    assert (weights.sum(1) == 30).all()
    assert weights.mean() == pytest.approx(1)
    assert weights.var() == pytest.approx(1 - 1 / 30, rel=0.03)  # multinomial


def test_resamples_depend_on_the_key_alone():
    program = "from taskloom.stats import resamples; print(next(iter(resamples(10, 3, 'key'))).tolist())"
    runs = {
        subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True
        ).stdout
        for seed in ("0", "1")
    }
    assert len(runs) == 1
    assert next(iter(resamples(10, 3, "key"))).tolist() != next(iter(resamples(10, 3, "other"))).tolist()


def test_resamples_are_those_of_the_first_release():
    assert next(iter(resamples(5, 2, "golden"))).astype(int).tolist() == GOLDEN


GOLDEN = [[1, 1, 0, 0, 3], [0, 3, 1, 1, 0]]


def test_the_percentile_bootstrap_agrees_with_scipy(rng: np.random.Generator):
    values = rng.normal(size=200)
    ours = bootstrap(column(values), mean)
    theirs = reference.bootstrap((values,), np.mean, method="percentile", rng=np.random.default_rng(1))
    assert ours.value == pytest.approx(values.mean())
    assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=0.01)
    assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=0.01)
    assert ours.n == 200


def test_the_bca_bootstrap_agrees_with_scipy_on_skewed_values(rng: np.random.Generator):
    values = rng.exponential(size=60)
    ours = bootstrap(column(values), mean, method="bca")
    theirs = reference.bootstrap((values,), np.mean, method="BCa", rng=np.random.default_rng(1))
    assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=0.05)
    assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=0.05)
    plain = bootstrap(column(values), mean)
    assert ours.high > plain.high  # it leans to the long tail


def test_the_bca_bootstrap_serves_any_metric(rng: np.random.Generator):
    x = rng.normal(size=80)
    units = np.stack([x, x + rng.normal(size=80)], axis=1)
    found = bootstrap(units, metric("pearson").reduce, method="bca", count=4000)
    assert found.low < found.value < found.high


def test_the_standard_error_interval_is_the_textbook_one(rng: np.random.Generator):
    values = rng.normal(size=40)
    found = standard_error_interval(values)
    low, high = reference.norm.interval(0.95, loc=values.mean(), scale=reference.sem(values))
    assert (found.low, found.high) == pytest.approx((low, high))


# FLEX, table 5: standard deviation over 90 episodes, and the printed symmetric 95 % interval.
FLEX = [
    (7.2, 1.50), (9.7, 2.02), (10.1, 2.10), (10.2, 2.12), (6.0, 1.26), (4.7, 0.99), (3.3, 0.69), (3.2, 0.66),
    (2.5, 0.52), (8.4, 1.74), (9.2, 1.91), (6.6, 1.37), (8.3, 1.72), (7.5, 1.56), (7.8, 1.62), (10.5, 2.18),
    (5.7, 1.19), (4.5, 0.93), (10.6, 2.19), (6.6, 1.38),
]  # fmt: skip


@pytest.mark.parametrize(("deviation", "printed"), FLEX)
def test_intervals_printed_by_flex_follow_from_their_deviations(deviation: float, printed: float):
    found = interval_of(50.0, deviation, 90)
    assert found.high - found.value == pytest.approx(printed, abs=0.025)  # deviations are printed to 0.05


def test_deviations_of_flex_divide_by_n():
    # 69.9 with a deviation of 7.2: 1.96 * 7.2 / sqrt(89) is 1.496, printed as 1.50; divided by sqrt(90), it is 1.488
    found = interval_of(69.9, 7.2, 90, ddof=0)
    assert found.high - found.value == pytest.approx(1.4959, abs=1e-4)
    student = interval_of(69.9, 7.2, 90, by="student", ddof=0)
    assert student.high - student.value == pytest.approx(1.9870 * 7.2 / math.sqrt(89), abs=1e-3)


def test_a_single_value_has_no_interval_of_student():
    assert math.isnan(interval_of(1.0, 0.5, 1, by="student").low)
    with pytest.raises(StatsError):
        interval_of(1.0, 0.5, 0)


def test_an_interval_is_the_same_every_time(rng: np.random.Generator):
    units = column(rng.normal(size=50))
    assert bootstrap(units, mean, key="a") == bootstrap(units, mean, key="a")
    assert bootstrap(units, mean, key="a") != bootstrap(units, mean, key="b")


@pytest.mark.parametrize("values", [[1.0], [0.5] * 10])
def test_constant_values_have_a_point_for_an_interval(values):
    found = bootstrap(column(values), mean, count=100)
    assert (found.low, found.high) == (values[0], values[0])


def test_one_value_has_no_standard_error():
    found = standard_error_interval([0.5])
    assert found.value == 0.5
    assert math.isnan(found.low)


def test_nothing_is_an_error_and_never_0():
    for call in (lambda: bootstrap(np.empty((0, 1)), mean), lambda: standard_error_interval([])):
        with pytest.raises(StatsError, match="there are none"):
            call()


def test_a_metric_that_has_no_value_has_no_interval():
    constant = np.array([[1.0, 2.0]] * 10)
    found = bootstrap(constant, metric("pearson").reduce, count=100)
    assert all(math.isnan(n) for n in (found.value, found.low, found.high))


def test_a_permutation_test_of_few_units_is_exact():
    ours, theirs = column([3.0, 2.0, 5.0, 4.0]), column([1.0, 1.0, 1.0, 1.0])
    assert paired_p(ours, theirs, mean) == 2 / 2**4  # only all and none of the signs reach it
    assert paired_p(ours, ours, mean) == 1


def test_a_permutation_test_agrees_with_scipy(rng: np.random.Generator):
    ours = rng.normal(0.3, 1, 50)
    theirs = rng.normal(0, 1, 50)
    found = paired_p(column(ours), column(theirs), mean)
    expected = reference.permutation_test(
        (ours, theirs), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=9999, rng=1
    )
    assert found == pytest.approx(expected.pvalue, abs=0.02)


def test_a_permutation_test_serves_any_metric(rng: np.random.Generator):
    gold = rng.normal(size=60)
    good = np.stack([gold, gold + 0.1 * rng.normal(size=60)], axis=1)
    bad = np.stack([gold, rng.normal(size=60)], axis=1)
    assert paired_p(good, bad, metric("spearman").reduce, count=500) < 0.01


def test_holm_is_worked_by_hand():
    assert holm([0.01, 0.02, 0.03, 0.04]) == pytest.approx([0.04, 0.06, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []
    corrected = holm([math.nan, 0.01])
    assert math.isnan(corrected[0])
    assert corrected[1] == 0.01


def test_systems_that_do_not_differ_share_a_rank():
    scores = {"a": 3.0, "b": 2.9, "c": 1.0}
    differ = lambda x, y: "c" in (x, y)  # noqa: E731
    assert ranks(scores, differ) == {"a": 1, "b": 1, "c": 3}
    assert tie_groups(scores, differ) == [("a", "b"), ("c",)]
    assert tie_groups(scores, lambda x, y: False) == [("a", "b", "c")]
    assert tie_groups(scores, lambda x, y: True) == [("a",), ("b",), ("c",)]


def test_anova_and_tukey_are_those_of_scipy(rng: np.random.Generator):
    groups = {"a": rng.normal(0, 1, 5), "b": rng.normal(3, 1, 5), "c": rng.normal(0, 1, 6)}
    found = anova(groups)
    assert (found.f, found.p) == pytest.approx(tuple(reference.f_oneway(*groups.values())))
    by_pair = {(pair.a, pair.b): pair for pair in found.pairs}
    assert by_pair["a", "b"].p < 0.05 < by_pair["a", "c"].p
    assert by_pair["a", "b"].difference == pytest.approx(groups["a"].mean() - groups["b"].mean())
    assert by_pair["a", "b"].low < by_pair["a", "b"].difference < by_pair["a", "b"].high < 0


def test_anova_of_too_little_is_refused_and_of_constants_is_nan():
    with pytest.raises(StatsError, match="two groups or more"):
        anova({"a": [1, 2]})
    with pytest.raises(StatsError, match="two values or more"):
        anova({"a": [1, 2], "b": [1]})
    assert math.isnan(anova({"a": [1, 1], "b": [2, 2]}).p)


def test_correlation_has_fishers_interval(rng: np.random.Generator):
    x = rng.normal(size=30)
    y = x + rng.normal(size=30)
    expected = reference.pearsonr(x, y)
    interval = expected.confidence_interval(0.95)
    found = correlation(x, y)
    assert (found.value, found.low, found.high) == pytest.approx((expected.statistic, interval.low, interval.high))


def test_a_line_has_the_slope_interval_and_r_squared_of_the_textbook(rng: np.random.Generator):
    x = np.arange(12.0)
    y = 2 + 3 * x + rng.normal(size=12)
    found, expected = line(x, y), reference.linregress(x, y)
    reach = reference.t.ppf(0.975, 10) * expected.stderr
    slope = found.slope
    assert (slope.value, slope.low, slope.high) == pytest.approx(
        (expected.slope, expected.slope - reach, expected.slope + reach)
    )
    reach = reference.t.ppf(0.975, 10) * expected.intercept_stderr
    assert (found.intercept.value, found.intercept.low) == pytest.approx(
        (expected.intercept, expected.intercept - reach)
    )
    r = reference.pearsonr(x, y)
    ends = r.confidence_interval(0.95)
    explained = found.r_squared
    assert (explained.value, explained.low, explained.high) == pytest.approx(
        (r.statistic**2, ends.low**2, ends.high**2)
    )


def test_r_squared_may_be_zero_where_the_correlation_may_be():
    found = line([0, 1, 2, 3, 4], [1, 3, 2, 1, 2]).r_squared
    assert (found.value, found.low) == pytest.approx((0.0, 0.0))
    assert 0.5 < found.high < 1


def test_bad_points_are_refused_or_nan():
    assert math.isnan(correlation([1, 1, 1], [1, 2, 3]).value)
    assert math.isnan(correlation([], []).value)
    with pytest.raises(StatsError, match="one x"):
        line([1, 1], [1, 2])
    with pytest.raises(StatsError, match="2 x and 1 y"):
        correlation([1, 2], [1])
    with pytest.raises(StatsError, match="NaN"):
        line([1, math.nan], [1, 2])
    assert math.isnan(line([1, 2, 3], [5, 5, 5]).r_squared.value)


@pytest.mark.parametrize(
    ("method", "make"),
    [
        ("normal", lambda rng: rng.normal(0.6, 0.1, 90)),
        ("accuracy", lambda rng: (rng.random(90) < 0.7).astype(float)),
    ],
)
def test_intervals_cover_the_truth_as_often_as_they_promise(method, make):
    """90 episodes: 95 % intervals should hold the true mean in 93 to 97 of 100 trials."""
    truth = {"normal": 0.6, "accuracy": 0.7}[method]
    rng = np.random.default_rng(5)
    trials = [column(make(rng)) for _ in range(1500)]
    covered = {"percentile": 0, "bca": 0, "error": 0}
    for number, units in enumerate(trials):
        for name in ("percentile", "bca"):
            found = bootstrap(units, mean, method=name, count=400, key=number)
            covered[name] += found.low <= truth <= found.high
        error = standard_error_interval(units[:, 0])
        covered["error"] += error.low <= truth <= error.high
    assert all(0.925 <= n / len(trials) <= 0.975 for n in covered.values()), covered


def test_paired_tests_reject_as_often_as_they_promise_when_nothing_differs():
    rng = np.random.default_rng(3)
    hits = sum(
        paired_p(column(rng.normal(size=40)), column(rng.normal(size=40)), mean, count=199, key=n) <= 0.05
        for n in range(600)
    )
    assert 0.03 <= hits / 600 <= 0.07


def test_a_permutation_without_a_value_counts_against_the_difference():
    units = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    other = np.array([[1.0, 3.0], [2.0, 3.0], [3.0, 3.0]])
    assert math.isnan(paired_p(units, other, metric("pearson").reduce))
    assert paired_p(units, units[::-1] * [1, -1], metric("pearson").reduce) >= 0.25


@pytest.mark.parametrize("n", [5, 40])
def test_changing_signs_of_differences_is_changing_sides_of_units(n: int):
    rng = np.random.default_rng(n)
    ours, theirs = rng.normal(0.3, 1, n), rng.normal(0, 1, n)
    whole = paired_p(column(ours), column(theirs), mean, count=2000, key="answers")
    assert sign_ps([(ours - theirs) / n], count=2000, key="answers") == [whole]


def test_many_sums_share_their_changes_of_signs_and_get_the_same_chance():
    rng = np.random.default_rng(0)
    sums = [rng.normal(0.3, 1, n) for n in (30, 5, 30, 12, 30)]
    assert sign_ps(sums, count=1000, key="x") == [sign_ps([one], count=1000, key="x")[0] for one in sums]


# --- means over values -----------------------------------------------------------------------------------------------

# The last row of SciRepEval's table 11: the mean over the values of each format, and how many these are (table 1).
IN_TRAIN = {"CLF": (67.5, 2), "RGN": (44.8, 2), "PRX": (67.0, 2), "SRCH": (78.3, 1)}
OUT_OF_TRAIN = {"CLF": (71.7, 4), "RGN": (19.3, 3), "PRX": (87.2, 11), "SRCH": (79.7, 2)}  # SciDocs: 4 tasks, 8 values


def exactly(value: float) -> Estimate:
    return Estimate(value, value, value, 1)


def values_of(*sets: Mapping[str, tuple[float, int]]) -> list[list[Estimate]]:
    return [[exactly(mean)] * count for of in sets for mean, count in of.values()]


@pytest.mark.parametrize(
    ("sets", "printed", "n"),
    [((IN_TRAIN,), 62.4, 7), ((OUT_OF_TRAIN,), 73.1, 20), ((IN_TRAIN, OUT_OF_TRAIN), 70.4, 27)],
)
def test_means_over_values_are_those_of_scirepeval(sets, printed, n):
    found = mean_of_values(values_of(*sets))
    assert found.n == n
    assert found.value == pytest.approx(printed, abs=0.1)  # of means that are rounded to 0.05 themselves


def test_a_mean_over_tasks_would_be_another_number():
    tasks = [
        exactly(mean) for name, (mean, count) in OUT_OF_TRAIN.items() for _ in range(7 if name == "PRX" else count)
    ]
    assert len(tasks) == 16
    assert mean_of_values([[task] for task in tasks]).value == pytest.approx(69.7, abs=0.05)  # not 73.1


def test_values_of_one_task_may_err_together_and_tasks_err_apart():
    one, two = Estimate(0.5, 0.4, 0.7, 9), Estimate(0.7, 0.6, 0.9, 9)
    together = mean_of_values([[one, two]])
    assert [together.low, together.high] == pytest.approx([0.6 - 0.1, 0.6 + 0.2])
    apart = mean_of_values([[one], [two]])
    assert [apart.low, apart.high] == pytest.approx([0.6 - 0.1 / 2**0.5, 0.6 + 0.2 / 2**0.5])


def test_a_mean_over_values_needs_values_and_intervals():
    with pytest.raises(StatsError):
        mean_of_values([[]])
    assert math.isnan(mean_of_values([[Estimate(0.5, math.nan, math.nan, 1)]]).low)
