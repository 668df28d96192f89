"""Plots as files: whole XML, nothing loaded, and no colour that a page would have to give."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from taskloom.reports import plots
from taskloom.reports.plot_files import standalone, write_plots
from taskloom.stats import Estimate


def test_each_plot_is_a_file_that_stands_alone(summary, tmp_path):
    written = write_plots(summary, tmp_path / "new" / "plots")
    names = {path.name for path in written}
    assert {"accuracy-5-shots-scores.svg", "accuracy-over-shots.svg", "accuracy-5-shots-differences.svg"} <= names
    assert "accuracy-0-shots-scores.svg" in names  # where a learner that has no more shots is
    assert len(names) == len(written)
    for path in written:
        root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        width, height = root.attrib["width"], root.attrib["height"]
        assert root.attrib["viewBox"] == f"0 0 {width} {height}"
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"var\(|url\(|@import|<script|light-dark", text)


def test_curves_are_named_inside(summary, tmp_path):
    write_plots(summary, tmp_path)
    text = (tmp_path / "accuracy-over-shots.svg").read_text(encoding="utf-8")
    names = [e.text for e in ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}text")]
    assert {"strong", "weak", "majority"} <= {*names}
    assert "broken" not in names


@pytest.mark.parametrize("name", ["<b>&\"'", "a\x00b\x1f", "half \ud83c"])
def test_names_from_data_stay_text(name):
    drawn = standalone(plots.dots([plots.Row(name, Estimate(1.0, 0.0, 2.0, 3), "1")], name))
    ElementTree.fromstring(drawn.encode())
