"""What a report says about training: a table, losses over steps, and nothing where nothing was trained."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from xml.etree import ElementTree as Xml

import pytest

from taskloom.reports import How, Summary, loss_plots, render, summarise, tables
from taskloom.reports.plot_files import named_plots
from taskloom.reports.training import MOST, LossCurve, loss_points, training
from taskloom.studies.costs import Cost
from taskloom.studies.curves import LossSet, LossTrace
from taskloom.studies.results import Results

TUNED = Cost(seconds=4, fitting=3, items=20, memory=600_000_000, trained=6144, taught=4000, threads=2)


def trace(
    learner: str, points: list[tuple[int, float]], *, shots: int | None = 5, of: LossSet = "training"
) -> LossTrace:
    return LossTrace(
        cell="c", kind="train" if shots is None else "adapt", learner=learner, what="lora" if shots else "all",
        shots=shots, seed=0, training=0, set=of, points=tuple(points),
    )  # fmt: skip


TRACES = (
    trace("strong", [(0, 4.0), (1, 1.0)]),
    trace("strong", [(0, 2.0), (1, 0.02)]),
    trace("strong", [(1, 0.5)], of="validation"),
    trace("base <b>", [(n, 3.0 - n / 1000) for n in range(1000)], shots=None),
)


@pytest.fixture(scope="module")
def trained(make: Callable[..., Results]) -> Results:
    """Results in which one learner is trained at five shots, and a model for all."""
    found = make()
    outcomes = tuple(replace(o, cost=TUNED) if (o.learner, o.shots) == ("strong", 5) else o for o in found.outcomes)
    model = Cost(seconds=60, fitting=60, items=100, trained=2_000_000, taught=50_000, threads=1)
    return replace(found, outcomes=outcomes, training={"base <b>": (model, replace(model, fitting=40))})


@pytest.fixture(scope="module")
def told(trained: Results) -> Summary:
    return replace(summarise(trained, How(count=20)), training=training(trained, TRACES))


def test_a_row_has_means_per_cell_of_what_was_trained(trained):
    model, learner = training(trained, TRACES).rows
    assert (model.label, model.is_model, model.what, model.cells) == ("base <b>", True, "all weights", 2)
    assert (model.parameters, model.tokens, model.seconds, model.steps) == (2_000_000, 50_000, 50, 1000)
    assert (learner.label, learner.what, learner.cells) == ("strong, 5 shots", "LoRA", 15)
    assert (learner.seconds, learner.tokens, learner.threads, learner.memory) == (3, 4000, 2, 600_000_000)
    assert learner.steps == 2
    assert learner.loss == pytest.approx(0.51)  # the mean of 1 and 0.02


def test_losses_are_means_between_the_least_and_the_most(trained):
    curves = {(curve.label, curve.set): curve.points for curve in training(trained, TRACES).losses}
    assert curves["strong, 5 shots", "training"] == ((0, 3, 2, 4), (1, 0.51, 0.02, 1))
    assert curves["strong, 5 shots", "validation"] == ((1, 0.5, 0.5, 0.5),)
    assert len(curves["base <b>", "training"]) <= MOST


def test_many_steps_are_joined_and_none_is_lost():
    found = loss_points([[(step, float(step)) for step in range(1000)]])
    assert len(found) <= MOST
    assert (found[0][2], found[-1][3]) == (0, 999)
    assert loss_points([]) == ()


def test_without_losses_there_is_still_a_row(trained):
    found = training(trained, ())
    assert [math.isnan(row.loss) for row in found.rows] == [True, True]
    assert found.losses == ()


def test_nothing_is_said_where_nothing_was_trained(summary):
    assert summary.training.rows == ()
    for form in ("terminal", "md", "html"):
        assert "raining" not in render(summary, form)


def test_the_table_is_in_every_form_and_the_plots_on_the_page(told, read_page):
    columns, rows = tables.training(told)
    assert columns == list(tables.TRAINING_COLUMNS)
    assert rows[1] == ["strong", "LoRA", "5", "15", "6,144", "4,000", "2", "3", "2", "600 MB", "0.51"]
    assert rows[0][:2] == ["base <b> (model)", "all weights"]
    assert "\ntraining\n" in render(told, "terminal")
    assert "## Training" in render(told, "md")
    page = read_page(render(told, "html"))
    assert page.open == []
    assert sum(tag == "polygon" for tag, _ in page.tags) == 2
    assert ("section", {"id": "training"}) in page.tags
    assert json.loads(render(told, "json"))["training"]["rows"][1]["parameters"] == 6144
    assert {"loss-base-b", "loss-strong-5-shots"} <= {name for name, _ in named_plots(told)}


@pytest.mark.parametrize(
    ("points", "logarithmic"),
    [
        ([(0, 4.0, 4.0, 4.0), (1, 0.1, 0.05, 0.2)], True),
        ([(0, 4.0, 4.0, 4.0), (1, 3.0, 2.0, 3.5)], False),
        ([(0, 4.0, 4.0, 4.0), (1, 0.0, 0.0, 1e-9)], True),  # almost nothing stands at the foot
        ([(0, 0.0, 0.0, 0.0)], False),
        ([(0, 1e6, 1.0, 1e7), (1, 1e3, 1e3, 1e3)], True),
    ],
)
def test_the_axis_of_losses_is_logarithmic_where_they_span_much(points, logarithmic):
    curves = [LossCurve(label="a <b>", set="training", points=tuple(points))]
    assert loss_plots.is_logarithmic(curves) is logarithmic
    ((label, panel),) = loss_plots.losses(curves)
    assert label == "a <b>"
    drawn = Xml.fromstring(panel)
    ys = [float(y) for mark in drawn.iter("polyline") for y in (p.split(",")[1] for p in mark.attrib["points"].split())]
    assert all(loss_plots.TOP - 1 <= y <= loss_plots.FOOT + 1 for y in ys)
