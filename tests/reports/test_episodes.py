"""The statistics of episodes that few-shot papers report."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as Xml

import numpy as np
import pytest
from scipy import stats

from taskloom.benchmarks import folder_of
from taskloom.benchmarks.data_sets import declarations
from taskloom.benchmarks.published import Figures, Published, published
from taskloom.core import Labels
from taskloom.episodes import DRAWN
from taskloom.reports import How, summarise
from taskloom.reports.episode_stats import episode_spread
from taskloom.reports.figures import Figure
from taskloom.reports.printed_means import PrintedMeans
from taskloom.reports.views.by import By
from taskloom.reports.views.episodes import EpisodeStatistics
from taskloom.stats import Estimate
from taskloom.studies.results import Results
from taskloom.studies.views import View

Make = Callable[..., Results]
SCORES = np.array([0.2, 0.4, 0.4, 0.5, 0.6, 0.6, 0.7, 0.9])
RIGHT = {"one": {"a@test": ["1100", "1000", "1110"], "b@test": ["1111", "1100"], "c@test": ["1000"]}}
TAGS = {
    "a@test": {"transfer": ("class",), "data set": ("Alpha",)}, "b@test": {"transfer": ("class",)},
    "c@test": {"transfer": ("task",)},
}  # fmt: skip


BESIDE = EpisodeStatistics(by="transfer", paper="flex")


def shown(made: Results) -> list[Figure]:
    found = list(summarise(made, How(count=200)).figures)
    for figure in found:
        assert all(len(row) == len(figure.columns) for row in figure.rows)
        assert Xml.fromstring(f"<div>{figure.plot}</div>").find(".//svg") is not None
    return found


def test_the_spread_of_one_task_is_as_scipy_has_it():
    found = episode_spread([SCORES])
    assert found.mean == pytest.approx(SCORES.mean())
    assert found.deviation == pytest.approx(SCORES.std(ddof=1))
    assert found.normal.high - found.mean == pytest.approx(1.959964 * stats.sem(SCORES), rel=1e-6)
    theirs = stats.bootstrap(
        (SCORES,), np.mean, method="percentile", n_resamples=20_000, rng=np.random.default_rng(0)
    ).confidence_interval
    assert found.bootstrap.low == pytest.approx(theirs.low, abs=0.008)
    assert found.bootstrap.high == pytest.approx(theirs.high, abs=0.008)


def test_the_mean_over_tasks_has_the_error_of_all():
    other = SCORES[:4] / 2
    found = episode_spread([SCORES, other])
    assert found.mean == pytest.approx((SCORES.mean() + other.mean()) / 2)
    error = math.hypot(stats.sem(SCORES), stats.sem(other)) / 2
    assert found.normal.high - found.mean == pytest.approx(1.959964 * error, rel=1e-6)
    assert found.bootstrap.high - found.bootstrap.low == pytest.approx(2 * 1.96 * error, rel=0.2)
    assert math.isnan(found.deviation)
    assert found.episodes == 12


def test_what_has_no_value_or_one_episode_has_no_interval():
    assert episode_spread([np.array([math.nan]), np.array([])]).episodes == 0
    assert math.isnan(episode_spread([]).mean)
    single = episode_spread([np.array([0.5, math.nan])])
    assert (single.mean, single.episodes) == (0.5, 1)
    assert all(map(math.isnan, (single.deviation, single.bootstrap.low, single.normal.high)))
    assert math.isnan(episode_spread([SCORES, np.array([0.5])]).normal.low)


def test_each_task_has_a_row_and_means_have_a_column_for_each_setting(tried: Make):
    each, over = shown(tried({0: RIGHT, DRAWN: RIGHT}, TAGS, views=(EpisodeStatistics(by="transfer"),)))
    assert each.columns == (
        "task", "shots", "learner", "episodes", "accuracy", "deviation", "bootstrap below", "bootstrap above",
        "1.96 errors",
    )  # fmt: skip
    assert [row[:2] for row in each.rows] == [(task, shots) for task in TAGS for shots in (0, DRAWN)]
    first, last = each.rows[0], each.rows[-1]
    assert (first[3], first[5], first[8]) == (3, "25.0", "28.29")  # 0.25, 0.5 and 0.75: 1.96 * 0.25 / sqrt(3)
    assert last[3:4] + last[5:] == (1, None, None, None, None)  # of one episode
    assert over.columns == (
        "transfer", "learner", "tasks", "0 shots", "1.96 errors, 0 shots", "drawn shots", "1.96 errors, drawn shots"
    )  # fmt: skip
    means = {row[0]: (row[2], row[3].value) for row in over.rows if isinstance(row[3], Estimate)}
    assert means == {"class": (2, 0.625), "task": (1, 0.25), "overall": (3, 0.5)}


def test_one_task_has_no_mean_over_tasks(tried: Make):
    assert len(shown(tried({4: {"one": {"a": ["10", "11"]}}}, views=(EpisodeStatistics(),)))) == 1


def beside_flex(tried: Make, tags: Mapping[str, Any], view: View = BESIDE, labels: Mapping[str, Any] = {}) -> Results:
    """Results on CR and TREC with the labels of the paper, or with others."""
    right = {"one": {"cr@test": ["1100", "1000"], "trec@test": ["1111", "1100"]}}
    made = tried({0: right, DRAWN: right}, tags, views=(view,))
    of = {f"{name}@test": labels.get(name, published("flex").tasks[name].labels) for name in ("cr", "trec")}
    tasks = {name: replace(task, output=Labels(of[name])) for name, task in made.suite.tasks.items()}
    return replace(made, suite=replace(made.suite, tasks=tasks))


@pytest.mark.parametrize(
    ("transfer", "labels", "why"),
    [
        ("task", {}, "cr@test: its kind of transfer is task here, and 'cr' has domain transfer in the paper"),
        ("domain", {"cr": ("bad", "good")}, "cr@test: its labels are not those of 'cr' in the paper"),
    ],
)
def test_figures_of_flex_are_left_out_of_tasks_with_other_labels_or_transfer(
    tried: Make, transfer: str, labels: dict[str, tuple[str, ...]], why: str
):
    tags = {"cr@test": {"transfer": (transfer,), "data set": ("cr",)}, "trec@test": {"transfer": ("task",)}}
    each, over = shown(beside_flex(tried, tags, labels=labels))
    assert {row[0] for row in each.rows if "published" in str(row[2])} == {"trec@test"}
    means = [row for row in over.rows if row[1] == "UniFew, published"]
    assert {row[0]: row[2] for row in means} == {"task": 1, "overall": 1}
    for figure in (each, over):
        assert f"published figures left out for {why}" in figure.notes


def test_figures_by_data_set_are_left_out_of_tasks_with_other_transfer_too(tried: Make):
    tags = {f"{name}@test": {"transfer": ("task",), "data set": (name,)} for name in ("cr", "trec")}
    (figure,) = shown(beside_flex(tried, tags, By(tags=("data set",), paper="flex")))
    assert {row[0] for row in figure.rows if "published" in str(row[2])} == {"trec"}
    assert any(note.startswith("published figures left out for cr@test") for note in figure.notes)


def test_the_labels_of_the_paper_are_those_that_are_declared():
    declared = declarations(folder_of("flex") / "data_sets.toml")
    theirs = published("flex").tasks
    assert {name: of.labels for name, of in theirs.items()} == {
        name: of.labels["test"] for name, of in declared.items() if "test" in of.labels
    }


def test_the_figures_of_flex_stand_beside_ours(tried: Make):
    tags = {"cr@test": {"transfer": ("domain",), "data set": ("cr",)}, "trec@test": {"transfer": ("task",)}}
    each, over = shown(beside_flex(tried, tags))
    theirs = {row[:3]: row[3:] for row in each.rows if "published" in str(row[2])}
    assert theirs["cr@test", 0, "UniFew, published"] == (90, 85.4, "4.7", "0.95", "0.92", "0.99")
    assert theirs["trec@test", DRAWN, "UniFew meta, published"] == (90, 60.0, "6.6", "1.41", "1.39", "1.38")
    assert any("for UniFew without meta-training, standard deviations are printed" in note for note in each.notes)
    mean = next(row for row in over.rows if row[:2] == ("overall", "UniFew, published"))
    assert isinstance(mean[3], Estimate)
    assert mean[3].value == pytest.approx((0.854 + 0.231) / 2)
    assert mean[4] == "0.69"  # 1.96 * sqrt(4.7 ** 2 + 4.7 ** 2) / 2 / sqrt(90)


def test_the_deviations_of_table_5_of_flex_divide_by_n():
    tables = {(t.by, t.shots): t.values for t in published("flex").figures}
    agrees = []
    for (by, shots), errors in tables.items():
        for method, found in errors.items() if by == "data set 1.96 errors" else ():
            for name, reach in found.items():
                deviation = tables["data set deviation", shots][method][name]
                ends = [(reach + half) / 1.959964 * math.sqrt(89) for half in (-0.005, 0.005)]
                agrees.append(ends[0] <= deviation + 0.05 and ends[1] >= deviation - 0.05)
    assert (sum(agrees), len(agrees)) == (45, 46)


def printed(made: Results) -> PrintedMeans:
    def table(by: str, alpha: float, b: float) -> Figures:
        values = {"Theirs": {"Alpha": alpha, "b": b}}
        return Figures(
            where=f"table 5, {by}", by=by, metric="accuracy" if by == "data set" else "", values=values,
            notes=("as printed",), shots=0, episodes=90,
        )  # fmt: skip

    tables = (table("data set", 70.0, 50.0), table("data set deviation", 9.0, 12.0))
    return PrintedMeans(Published(paper="They 2020", figures=tables, said={}), "accuracy", made.suite)


def test_published_means_stand_as_printed_by_the_name_of_the_data_set_or_of_the_task(tried: Make):
    beside = printed(tried({0: RIGHT}, TAGS))
    assert list(beside.rows("a@test", 0)) == [("a@test", 0, "Theirs, published", 90, 70.0, "9.0", None, None, None)]
    assert next(beside.rows("b@test", 0))[4:6] == (50.0, "12.0")
    assert list(beside.rows("c@test", 0)) == list(beside.rows("a@test", DRAWN)) == []
    assert beside.notes == (
        "published: They 2020, table 5, as printed there, of other episodes; not measured here", "as printed"
    )  # fmt: skip


def test_means_of_published_figures_have_the_interval_that_their_deviations_make(tried: Make):
    beside = printed(tried({0: RIGHT}, TAGS))
    ((of, learner, tasks, mean, reach, *rest),) = beside.means("all", ["a@test", "b@test", "c@test"], [0, DRAWN])
    assert (of, learner, tasks, rest) == ("all", "Theirs, published", 2, [None, None])
    assert isinstance(mean, Estimate)
    assert mean.value == pytest.approx(0.6)
    assert mean.high - mean.value == pytest.approx(0.01959964 * math.hypot(9, 12) / 2 / math.sqrt(90))
    assert reach == "1.55"
    assert list(beside.means("task", ["c@test"], [0])) == []
