"""Plots that compare learners: where labels, baselines and points are placed."""

from __future__ import annotations

import itertools
import math
import re
from xml.etree import ElementTree

import pytest

from taskloom.reports import plots
from taskloom.stats import Estimate


def row(label: str, value: float, style: str = "", reach: float = 2.0) -> plots.Row:
    return plots.Row(label, Estimate(value, value - reach, value + reach, 10), f"{value:.1f}", style)


def drawn(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)


def texts(plot: ElementTree.Element, style: str) -> dict[str, dict[str, str]]:
    return {t.text or "": t.attrib for t in plot.iter("text") if t.get("class") == style}


@pytest.mark.parametrize("width", [plots.WIDE, plots.HALF])
def test_labels_stand_in_a_gutter_to_the_left_of_all_marks(width):
    plot = drawn(plots.forest([row("− one", 5), row("− another learner", -3)], "x", axis="points", width=width))
    names = texts(plot, "name")
    assert {found["text-anchor"] for found in names.values()} == {"end"}
    ends = {float(found["x"]) for found in names.values()}
    least = min(float(line.attrib["x1"]) for line in plot.iter("line") if line.get("class") == "bar")
    assert max(ends) < least
    assert "points" in texts(plot, "axis")


def test_a_phone_has_labels_above_rows():
    plot = drawn(plots.dots([row("a", 5), row("b", 3)], "x", width=plots.NARROW))
    assert {found["text-anchor"] for found in texts(plot, "name").values()} == {"start"}
    assert plot.attrib["viewBox"].startswith(f"0 0 {plots.NARROW} ")


def test_baselines_are_named_lines_and_no_rows():
    plot = drawn(plots.dots([row("a", 50), row("majority", 20, "baseline"), row("random", 21, "baseline")], "x"))
    assert list(texts(plot, "name")) == ["a"]
    flags = [t for g in plot.iter("g") if g.get("class") == "flag" for t in g.iter("text")]
    assert [t.text for t in flags] == ["majority 20.0", "random 21.0"]
    assert len({t.attrib["y"] for t in flags}) == 2  # a line of its own each
    lines = [line for line in plot.iter("line") if line.get("class") == "baseline"]
    assert len(lines) == 2


def test_baselines_alone_are_rows():
    plot = drawn(plots.dots([row("majority", 20, "baseline")], "x"))
    assert list(texts(plot, "name")) == ["majority"]


def test_curves_have_measured_points_alone_with_error_bars():
    nan = Estimate(math.nan, math.nan, math.nan, 0)
    spots = [(0, Estimate(10, 8, 12, 5)), (1, nan), (4, Estimate(20, 18, 22, 5))]
    base = plots.Curve("majority", [(0, Estimate(5, 4, 6, 5))], baseline=True)
    plot = drawn(plots.curves([plots.Curve("a", spots), base], "x", up="accuracy"))
    first, second = list(plot.iter("g"))
    assert first.get("class") == "hue0"
    assert len(list(first.iter("circle"))) == 2
    assert sum(line.get("class") == "error" for line in first.iter("line")) == 2
    assert second.get("class") == "baseline"
    assert not any(line.get("class") == "error" for line in second.iter("line"))
    assert "accuracy" in texts(plot, "axis")
    assert "shots" in texts(plot, "axis")


@pytest.mark.parametrize("width", [plots.WIDE, plots.NARROW])
@pytest.mark.parametrize("count", [2, 9])
def test_names_of_curves_have_a_line_of_their_own(count, width):
    lines = [plots.Curve(f"learner {n}", [(0, Estimate(50 + n / 9, 49, 51, 5))]) for n in range(count)]
    plot = drawn(plots.curves(lines, "x", width=width))
    ys = sorted(float(found["y"]) for found in texts(plot, "end").values())
    assert len(ys) == count
    assert all(b - a >= plots.LINE - 0.2 for a, b in itertools.pairwise(ys))
    height = float(plot.attrib["viewBox"].split()[3])
    assert 0 < ys[0] < ys[-1] < height


def test_what_is_drawn_is_said_in_words():
    text = plots.dots([row("<a>", 5)], 'scores of "x"')
    assert "<desc>&lt;a&gt;: 5.0</desc>" in text
    assert re.search('aria-label="scores of &quot;x&quot;"', text)
