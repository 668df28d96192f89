"""Full data and drawn sizes beside numbers of shots, in every place that orders, prints or draws shots."""

from __future__ import annotations

from dataclasses import replace

import pytest

from taskloom.episodes import Shots, shots_from, shots_order, shots_text
from taskloom.errors import UsageError
from taskloom.reports import FORMS, How, compare, plots, render, summarise
from taskloom.reports.figures import ReportData, counted_over
from taskloom.reports.summary import curve
from taskloom.stats import Estimate

ORDERED: tuple[Shots, ...] = (0, 10, "drawn", "all")
NAMES: dict[int, Shots] = {0: 0, 1: "all", 2: "drawn", 10: 10}


@pytest.fixture(scope="module")
def named(make):
    """Give results at 0 and 10 shots, with drawn and with all."""
    found = make({"strong": 0.8, "weak": 0.4, "majority": 0.3}, shots=tuple(NAMES), seeds=2, size=10)
    tags = {name: replace(task, tags={"category": ("only",)}) for name, task in found.suite.tasks.items()}
    outcomes = tuple(replace(o, shots=NAMES[o.shots]) for o in found.outcomes)
    return replace(found, outcomes=outcomes, suite=replace(found.suite, tasks=tags))


@pytest.fixture(scope="module")
def summed(named):
    return summarise(named, How(count=50))


def test_leaderboards_go_from_numbers_over_drawn_to_all(summed):
    assert [leaderboard.shots for leaderboard in summed.of("accuracy")] == [0, 10, "drawn", "all"]
    assert [shots for shots, _ in curve(summed, "accuracy")["weak"]] == [0, 10, "drawn", "all"]


def test_categories_and_samples_show_all_as_the_most(summed):
    assert {category.leaderboard.shots for category in summed.categories} == {"all"}
    assert {sample.shots for samples in summed.samples.values() for sample in samples} == {"all"}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_names_the_settings(summed, form):
    written = render(summed, form)
    words = ("all", "drawn") if form in ("csv", "json") else ("10 shots", "drawn shots", "all examples")
    assert all(word in written for word in words)


def test_figures_take_the_most_shots_and_name_them(named, summed):
    seen = ReportData(results=named, how=summed.how, leaderboards=summed.leaderboards, categories=summed.categories)
    ours = seen.at_most("accuracy")
    assert ours["weak"][0].shots == "all"
    both = [ours["weak"], (summed.of("accuracy")[0], ours["weak"][1])]
    assert counted_over(both) == "means over 2 tasks, at 0 or all examples"


def test_two_learners_are_compared_at_every_setting(named):
    found = compare(named, "strong", "weak", How(count=50))
    assert [c.shots for c in found if c.metric == "accuracy"] == [0, 10, "drawn", "all"]


def test_curves_place_names_to_the_right_of_numbers():
    points = [(x, Estimate(y, y, y, 1)) for x, y in zip(ORDERED, (1.0, 2.0, 3.0, 4.0), strict=True)]
    drawn = plots.curves([plots.Curve("a", points)], "x")
    line = drawn.split('<polyline class="line" points="')[1].split('"')[0]
    across = [float(spot.split(",")[0]) for spot in line.split()]
    assert across == sorted(across)
    assert across[3] - across[2] == pytest.approx(across[2] - across[1], abs=0.2)
    assert "drawn shots: 3; all shots: 4" in drawn
    assert plots.curves([plots.Curve("a", points[2:])], "x")


def test_shots_are_read_ordered_and_written():
    assert sorted(NAMES.values(), key=shots_order) == list(ORDERED)
    assert [shots_text(shots_from(typed)) for typed in ("1", "0", "drawn")] == ["1 shot", "0 shots", "drawn shots"]
    with pytest.raises(UsageError, match="integer >= 0, drawn or all: -1"):
        shots_from("-1")
