"""Scores by tags of tasks, and by how episodes were drawn."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as Xml

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy import stats

from taskloom.episodes import DRAWN
from taskloom.reports import How, render, summarise
from taskloom.reports.episode_groups import bins_of, by_setting, by_tag
from taskloom.reports.figures import Figure
from taskloom.reports.group_scores import EpisodeGroup, group_differences, group_scores
from taskloom.reports.leaderboards import ScoreField, leaderboard
from taskloom.reports.views.by import By
from taskloom.stats import Contrast, Estimate
from taskloom.studies.results import Results

Make = Callable[..., Results]
TAGS = {
    "a": {"transfer": ("class",)}, "b": {"transfer": ("class",)}, "c": {"transfer": ("domain",)}, "plain": {}
}  # fmt: skip
RIGHT = {  # shares of right answers: a 0.5, b 0.75, c 0.25, and plain 1
    "good": {"a": ["1100", "1010"], "b": ["1110", "1011"], "c": ["1000", "0001"], "plain": ["1111"]},
    "bad": {"a": ["0000", "1000"], "b": ["1010", "0110"], "c": ["0000", "0001"], "plain": ["1111"]},
}


def shown(made: Results) -> list[Figure]:
    found = list(summarise(made, How(count=200)).figures)
    for figure in found:
        assert all(len(row) == len(figure.columns) for row in figure.rows)
        if figure.plot:
            assert Xml.fromstring(f"<div>{figure.plot}</div>").find(".//svg") is not None
    return found


def value(cell: Any) -> float:
    return cell.difference if isinstance(cell, Contrast) else cell.value


def test_scores_stand_by_a_tag_with_all_tasks_and_the_macro_average(tried: Make):
    (figure,) = shown(tried({4: RIGHT}, TAGS, views=(By(tags=("transfer",), against="bad"),)))
    assert figure.columns == ("transfer", "shots", "learner", "tasks", "episodes", "accuracy", "less bad", "p (Holm)")
    rows = {(row[0], row[2]): row[3:] for row in figure.rows}
    assert {at: (tasks, episodes, value(score)) for at, (tasks, episodes, score, *_) in rows.items()} == {
        ("class", "good"): (2, 4, 0.625),
        ("class", "bad"): (2, 4, pytest.approx(0.3125)),
        ("domain", "good"): (1, 2, 0.25),
        ("domain", "bad"): (1, 2, 0.125),
        ("all tasks", "good"): (3, 6, 0.5),
        ("all tasks", "bad"): (3, 6, 0.25),
        ("mean over transfer", "good"): (3, 6, pytest.approx((0.625 + 0.25) / 2)),
        ("mean over transfer", "bad"): (3, 6, pytest.approx((0.3125 + 0.125) / 2)),
    }
    assert value(rows["class", "good"][3]) == pytest.approx(0.3125)
    assert rows["class", "bad"][3] is None
    assert any("1 episode of 1 task" in note for note in figure.notes)  # that of the task without the tag


def test_the_row_of_all_tasks_is_that_of_the_leaderboard(tried: Make):
    made = tried({4: {name: {t: e for t, e in of.items() if t != "plain"} for name, of in RIGHT.items()}}, TAGS)
    how = How(count=100)
    field = ScoreField.of("accuracy", 4, made.outcomes, how)
    (_, _, everything, _) = by_tag(made.suite, "transfer").groups(made.outcomes)
    standings = leaderboard("accuracy", 4, made.outcomes, how=how).standings
    found = group_scores(field, everything)
    assert {s.learner: s.score for s in standings} == {name: of.score for name, of in found.items()}


def test_settings_of_shots_have_rows_of_their_own(tried: Make):
    (figure,) = shown(tried({0: RIGHT, DRAWN: RIGHT}, TAGS, views=(By(tags=("transfer",)),)))
    assert [row[1] for row in figure.rows if row[::2][:2] == ("class", "good")] == [0, DRAWN]
    assert "class, 0 shots" in figure.plot
    assert "class, drawn shots" in figure.plot


def test_episodes_stand_by_what_was_drawn(tried: Make):
    right = {"one": {"a": ["11", "10", "10", "00"], "b": ["11", "11"]}}
    sizes = {(DRAWN, "a"): [(1, 1), (3, 1), (2, 2, 2), (1, 1, 1)], (DRAWN, "b"): [(5, 5), (1, 2, 3)]}
    view = By(draw=("way", "shots", "support", "balance"))
    way, shots, support, balance, apart = shown(tried({DRAWN: right}, sizes=sizes, views=(view,)))
    assert [(row[0], row[3], row[4], value(row[5])) for row in way.rows] == [
        ("2", 2, 3, (0.75 + 1) / 2), ("3", 2, 3, (0.25 + 1) / 2)
    ]  # fmt: skip
    assert [(row[0], value(row[5])) for row in shots.rows] == [
        ("1", 0.5), ("2", 0.75), ("5", 1.0)
    ]  # fmt: skip
    assert [row[0] for row in support.rows] == ["2", "3", "4", "6", "10"]
    assert {row[0]: value(row[5]) for row in balance.rows} == {
        "balanced": pytest.approx((0.5 + 1) / 2), "imbalanced": pytest.approx((0.5 + 1) / 2)
    }  # fmt: skip
    assert apart.title == "accuracy: balanced less imbalanced, drawn shots"
    assert [(row[0], row[1], row[2], value(row[3])) for row in apart.rows] == [("one", 2, 6, 0.0)]
    assert any("groups have different tasks" in note for note in shots.notes)


def test_episodes_without_classes_or_support_are_counted_and_not_shown(tried: Make):
    right = {"one": {"a": ["11", "10", "01"]}}
    sizes = {(0, "a"): [(0, 0), (0, 0), ()]}
    way, balance = shown(tried({0: right}, sizes=sizes, views=(By(draw=("way",)), By(draw=("balance",)))))
    assert [row[:5] for row in way.rows] == [("2", 0, "one", 1, 2)]
    assert any("1 episode of 1 task" in note for note in way.notes)
    assert balance.notes[0].startswith("not drawn")


def test_curves_of_settings_that_share_numbers_are_drawn_apart(tried: Make):
    sizes = {(0, "a"): [(0, 0), (0, 0, 0)], (DRAWN, "a"): [(1, 2), (2, 2, 2)]}
    right = {"one": {"a": ["11", "10"]}}
    way, shots = shown(tried({0: right, DRAWN: right}, sizes=sizes, views=(By(draw=("way", "shots")),)))
    assert way.plot.count('<div class="wide">') == 2
    assert shots.plot.count('<div class="wide">') == 1


def test_many_numbers_are_put_into_bins(tried: Make):
    sizes = {(DRAWN, "a"): [(n, n) for n in range(1, 13)]}
    right = {"one": {"a": ["10"] * 12}}
    (figure,) = shown(tried({DRAWN: right}, sizes=sizes, views=(By(draw=("shots",), bins=3),)))
    assert [(row[0], row[4]) for row in figure.rows] == [("1 to 4", 4), ("5 to 8", 4), ("9 to 12", 4)]
    assert any("put together" in note for note in figure.notes)


@given(some.lists(some.integers(0, 30).map(float), max_size=60), some.integers(2, 9))
def test_bins_hold_all_numbers_once_and_are_no_more_than_asked_for(values: list[float], most: int):
    bins = bins_of(values, most)
    assert len(bins) <= most
    assert sum(sum(low <= v <= high for v in values) for low, high in bins) == len(values)
    assert all(high < low for (_, high), (low, _) in itertools.pairwise(bins))


def test_a_difference_of_groups_is_as_welch_has_it(tried: Make):
    draw = np.random.default_rng(0)
    shares = [draw.binomial(20, p, 30) for p in (0.7, 0.5)]
    episodes = ["1" * n + "0" * (20 - n) for of in shares for n in of]
    made = tried({4: {"one": {"a": episodes[:15] + episodes[30:45]}}})
    places = [("a", 0, at, 0) for at in range(30)]
    field = ScoreField.of("accuracy", 4, made.outcomes, How(count=2000))
    found = group_differences(field, {"x": places[:15], "y": places[15:]})["one"]
    test = stats.ttest_ind(shares[0][:15] / 20, shares[1][:15] / 20, equal_var=False)
    low, high = test.confidence_interval(0.95)
    assert found.contrast.difference == pytest.approx(np.mean(shares[0][:15] - shares[1][:15]) / 20)
    assert found.contrast.high - found.contrast.low == pytest.approx(high - low, rel=0.15)
    assert (found.tasks, found.episodes, found.contrast.a, found.contrast.b) == (1, 30, "x", "y")


def test_groups_that_share_no_task_have_no_difference(tried: Make):
    made = tried({4: {"one": {"a": ["10"], "b": ["11"]}}})
    field = ScoreField.of("accuracy", 4, made.outcomes, How(count=50))
    assert group_differences(field, {"x": [("a", 0, 0, 0)], "y": [("b", 0, 0, 0)]}) == {}


def test_a_group_without_outcomes_has_no_scores(tried: Make):
    made = tried({4: {"one": {"a": ["10"]}}})
    field = ScoreField.of("accuracy", 4, made.outcomes, How(count=50))
    assert group_scores(field, EpisodeGroup([("other", 0, 0, 0)])) == {}
    assert by_setting(made.outcomes, "rouge-l") == {}


def test_nothing_to_group_by_is_a_fault():
    assert list(By().faults({})) == ["name tags of tasks, or what is drawn (way, shots, support, balance)"]
    assert list(By(tags=("t",), bins=1).faults({})) == ["bins must be >= 2: 1"]


def test_single_groups_have_their_interval_and_say_what_it_does_not_cover(tried: Make):
    (figure,) = shown(tried({4: {"one": {"a": ["1100"]}}}, {"a": {"t": ("x",)}}, views=(By(tags=("t",)),)))
    (row,) = figure.rows
    assert isinstance(row[5], Estimate)
    assert row[5].low < 0.5 < row[5].high
    assert any("some tasks have one episode" in note for note in figure.notes)


def test_all_forms_have_it_and_names_are_escaped(tried: Make):
    tags = {"a": {"t": ("<b>x",)}, "b": {"t": ("y",)}}
    right = {"one": {"a": ["1100", "1000"], "b": ["1000", "1100"]}}
    summary = summarise(tried({4: right}, tags, views=(By(tags=("t",)),)), How(count=50))
    for form in ("terminal", "md", "tex", "html", "json"):
        assert "accuracy by t" in render(summary, form)
    assert "<b>x" not in render(summary, "html")
