"""Scores against what was trained, and over the steps of training."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from taskloom.reports import How, plots, render, summarise
from taskloom.reports.drawing import text_width
from taskloom.reports.figures import Figure
from taskloom.reports.leaderboards import leaderboard
from taskloom.reports.log_panels import LogPanel, LogPoint, log_panels
from taskloom.reports.views.ladder import Ladder
from taskloom.reports.views.learning import Learning
from taskloom.stats import Estimate
from taskloom.studies.costs import Cost
from taskloom.studies.environment import RunRecord
from taskloom.studies.results import Look, Outcome, Results
from taskloom.studies.views import View

SKILL = {"full": 0.9, "lora": 0.85, "zero-shot": 0.4, "majority": 0.33}
FULL = Cost(seconds=32, fitting=30, items=20, trained=1_000_000, taught=5000, threads=2, memory=10**9)
LORA = replace(FULL, fitting=12, seconds=13, trained=20_000, taught=5100)
COSTS = {"full": FULL, "lora": LORA, "zero-shot": Cost(seconds=2, items=20)}
STEPS = (0, 10, 100)
HOW = How(count=100)


def looked(o: Outcome) -> Outcome:
    """An outcome that was looked at: before training, a look is what zero-shot would be."""
    looks = [Look(set=part, step=step, items=o.items, records=o.records, scores=o.scores)
             for part in ("query", "support") for step in STEPS]  # fmt: skip
    return replace(o, looks=tuple(looks))


@pytest.fixture(scope="module")
def tuned(make: Callable[..., Results]) -> Callable[..., Results]:
    """Make results of learners, two of which were trained and looked at."""
    found = make(SKILL)
    some = (replace(o, cost=COSTS.get(o.learner, o.cost)) for o in found.outcomes)
    outcomes = tuple(looked(o) if o.cost.trained else o for o in some)

    def made(*views: View, change: Callable[[Outcome], Outcome] = lambda o: o, **more: Any) -> Results:
        record = RunRecord(0, 1, {"processor": "a processor, 2 cores"})
        settings: dict[str, dict[str, Any]] = {"full": {"model": "meta"}, "lora": {"model": "tiny", "patience": 3}}
        return replace(
            found, outcomes=tuple(map(change, outcomes)), views=views, record=record, settings=settings, **more
        )

    return made


def figures(results: Results) -> list[Figure]:
    found = summarise(results, HOW).figures
    for figure in found:
        assert Xml.fromstring(f"<div>{figure.plot}</div>") is not None
        assert all(len(row) == len(figure.columns) for row in figure.rows)
    return list(found)


# --- the ladder ------------------------------------------------------------------------------------------------------


def test_a_ladder_has_a_row_for_each_learner_with_what_it_took(tuned):
    (figure,) = figures(tuned(Ladder()))
    rows = {row[0]: row[1:] for row in figure.rows}
    assert list(rows) == ["zero-shot", "lora", "full", "majority"]  # by trained parameters, baselines last
    assert rows["lora"][1:] == (
        20_000,
        5100,
        "12",
        "0.00714",
        "1.00 GB",
    )  # 13 - 12 seconds for 20 items, and for those at three looks at two sets
    assert rows["zero-shot"][1:5] == (0, None, "0", "0.1")
    board = {s.learner: s.score for s in summarise(tuned(), HOW).leaderboards[0].standings}
    assert set(board) >= set(rows)
    most = [b for b in summarise(tuned(), HOW).leaderboards if (b.metric, b.shots) == ("accuracy", 5)]
    assert rows["full"][0] == {s.learner: s.score for s in most[0].standings}["full"]


def test_a_ladder_draws_points_and_baselines_twice(tuned):
    (figure,) = figures(tuned(Ladder()))
    wide, narrow = Xml.fromstring(f"<div>{figure.plot}</div>").findall("div")
    for drawn in (wide, narrow):
        texts = [t.text or "" for t in drawn.iter("text")]
        assert all(texts.count(name) == 2 for name in ("full", "lora", "zero-shot"))
        assert sum(text.startswith("majority ") for text in texts) == 2
        assert {"none", "< 0.01", "trained parameters", "seconds of training per episode"} <= set(texts)


def test_notes_name_the_machine_and_whether_the_budget_was_the_same(tuned):
    (figure,) = figures(tuned(Ladder()))
    notes = "\n".join(figure.notes)
    assert "a processor, 2 cores, training with 2 threads" in notes
    assert "the same budget: about 5,100 tokens" in notes  # 2 % are no difference
    assert "starts from" not in notes

    def cheaper(o: Outcome) -> Outcome:
        return replace(o, cost=replace(o.cost, taught=4000)) if o.learner == "lora" else o

    (figure,) = figures(tuned(Ladder(), change=cheaper, training={"meta": (Cost(seconds=9, fitting=9, trained=77),)}))
    notes = "\n".join(figure.notes)
    assert "budgets differ: tokens of training per episode range from 4,000 (lora) to 5,000 (full)" in notes
    assert "full starts from meta, which the study trained before: 77 parameters, 9 seconds" in notes


def test_a_ladder_can_have_some_learners_alone_and_needs_one_that_was_trained(tuned):
    (figure,) = figures(tuned(Ladder(learners=("lora", "majority"))))
    assert [row[0] for row in figure.rows] == ["lora", "majority"]
    (none,) = summarise(tuned(Ladder(learners=("zero-shot",))), HOW).figures
    assert none.notes[0].startswith("not drawn")


def test_every_form_of_report_has_both_views(tuned, read_page):
    found = summarise(tuned(Ladder(), Learning()), HOW)
    for form in ("terminal", "md", "json", "html"):
        assert "against trained parameters" in render(found, form)
        assert "while learning" in render(found, form)
    assert read_page(render(found, "html")).open == []


# --- learning --------------------------------------------------------------------------------------------------------


def test_learning_is_scored_as_final_answers_are(tuned):
    query, support, reached = figures(tuned(Learning()))
    assert query.columns == ("learner", "step 0", "step 10", "step 100")
    assert [row[0] for row in query.rows] == ["full", "lora"]
    made = tuned()
    board = leaderboard("accuracy", 5, made.outcomes, made.baselines, HOW)
    final = {s.learner: s.score for s in board.standings}
    assert [row[3] for row in query.rows] == [final["full"], final["lora"]]  # the same value and the same interval
    assert "memorisation" in support.title
    assert [row[1:4] for row in reached.rows] == [("0", "0", "0"), ("0", "not by 100", "not by 100")]
    assert "lowest validation loss, not of the last step: lora" in query.notes[-1]


def test_steps_that_only_some_episodes_reached_are_not_drawn_and_named(tuned):
    def stopped(o: Outcome) -> Outcome:
        early = o.learner == "lora" and o.seed == 0
        return replace(o, looks=tuple(look for look in o.looks if look.step < 100)) if early else o

    query, *_ = figures(tuned(Learning(), change=stopped))
    assert {row[0]: row[3] is None for row in query.rows} == {"full": False, "lora": True}
    assert any("lora: not drawn at step 100" in note for note in query.notes)


def test_learning_without_looks_is_not_drawn(results):
    (none,) = summarise(replace(results, views=(Learning(),)), HOW).figures
    assert none.notes[0].startswith("not drawn")


# --- labels ----------------------------------------------------------------------------------------------------------


def points(count: int, *, xs: Sequence[float], spread: float) -> list[LogPoint]:
    return [
        LogPoint(f"learner {n}", xs[n % len(xs)], Estimate(50 + spread * n, 48 + spread * n, 52 + spread * n, 9), "x")
        for n in range(count)
    ]


@pytest.mark.parametrize("width", [plots.SIDES, plots.NARROW])
@pytest.mark.parametrize(
    ("count", "xs", "spread"),
    [(1, [1e6], 1), (4, [0], 3), (6, [0, 1e3, 1e6], 2), (7, [5e4], 4), (8, [0, 10, 1e4, 3e4, 1e8], 1.5)],
)
def test_names_of_points_do_not_overlap_or_leave_the_plot(width, count, xs, spread):
    lines = [plots.Row(f"baseline {n}", Estimate(40 + n, 39, 44, 9), f"{40 + n}", "baseline") for n in range(3)]
    panel = LogPanel("parameters", points(count, xs=xs, spread=spread), "none", counts=True)
    plot = Xml.fromstring(log_panels([panel, panel], lines, "x", up="accuracy", width=width))
    boxes = []
    for text in plot.iter("text"):
        size = text_width(text.text or "", 12)
        x, y = float(text.attrib["x"]), float(text.attrib["y"])
        left = x - {"start": 0, "middle": size / 2, "end": size}[text.attrib["text-anchor"]]
        boxes.append((text.text, left, y - 10, left + size, y + 1))
    for name, left, _, right, _ in boxes:
        assert -1 <= left <= right <= width + 1, name
    for a, b in itertools.combinations(boxes, 2):
        across, down = min(a[3], b[3]) - max(a[1], b[1]), min(a[4], b[4]) - max(a[2], b[2])
        assert across <= 2 or down <= 3, (a, b)


def test_points_at_almost_the_same_place_stand_beside_each_other():
    panel = LogPanel("seconds", points(5, xs=[1.0, 1.001, 1.05, 1.1, 90], spread=0), "none")
    plot = Xml.fromstring(log_panels([panel], [], "x", up="accuracy", width=plots.SIDES))
    xs = sorted(float(mark.attrib["cx"]) for mark in plot.iter("circle"))
    assert all(b - a > 10.5 for a, b in itertools.pairwise(xs))


def test_nothing_stands_left_of_an_axis_that_has_only_numbers():
    panel = LogPanel("seconds", points(2, xs=[0.5, 40], spread=2), "< 0.01", least=0.01)
    texts = re.findall(r">([^<]+)</text>", log_panels([panel], [], "x", up="accuracy", width=plots.SIDES))
    assert "< 0.01" not in texts
    assert {"1", "10"} <= set(texts)
