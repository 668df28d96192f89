"""A plan for a budget as a page and as plots."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from taskloom.errors import UsageError
from taskloom.messages import Note
from taskloom.reports.budget import as_data, choices_table, page, points, recommended, shares_table, write_plots
from taskloom.sample_sizes import SampleSize, SampleSizes
from taskloom.stats import Estimate
from taskloom.studies.budget import Share, StudyBudget


def size(episodes: int, width: float, coverage: float) -> SampleSize:
    held = Estimate(coverage, coverage - 0.005, coverage + 0.005, 4000)
    return SampleSize(
        episodes=episodes, items=10, seconds=10.0 * episodes, width=width, coverage=held, detectable=width,
        overall_width=width / 2, overall_detectable=width / 2,
    )  # fmt: skip


def share(name: str) -> Share:
    return Share(name=name, fit=1.5, item=0.01, seconds=450.0, width=0.03, detectable=0.02)


@pytest.fixture
def found() -> StudyBudget:
    sizes = SampleSizes(seconds=880.0, choices=(size(10, 0.02, 0.89), size(45, 0.03, 0.942), size(90, 0.025, 0.946)))
    others = {1800.0: SampleSizes(seconds=1780.0, choices=(size(90, 0.022, 0.946), size(150, 0.02, 0.949)))}
    return StudyBudget(
        study="a <b> study", seconds=900.0, training=15.0, loading=5.0, sizes=sizes, others=others,
        learners=(share("one & two"), share("three")), tasks=(share("t"), share("u")), lines="protocol:\n  query: 10",
        notes=(Note.of("loading-unknown"),),
    )  # fmt: skip


def test_the_narrowest_interval_that_is_covered_is_recommended(found: StudyBudget):
    assert found.best.episodes == 90
    assert recommended(found) == (
        "90 episodes with 10 test items each: an interval of 2.50 points on one task, and 1.25 points of the mean "
        "over 2 tasks"
    )
    _, rows = choices_table(found)
    assert [row[-1] for row in rows] == ["too few episodes", "", "narrowest", "narrowest"]
    assert rows[2][:4] == ["15 min", "90", "10", "15 min 20 s"]  # with what is done once
    assert shares_table("learner", found.learners)[1][0][4] == "50%"
    assert points(0.0249) == "2.49"


def test_all_of_it_is_there_for_programs(found: StudyBudget):
    told = as_data(found)
    assert told["best"]["episodes"] == 90
    assert told["notes"][0]["code"] == "loading-unknown"
    assert len(told["sizes"]["choices"]) == 3


def test_a_page_has_everything_and_nothing_unescaped(found: StudyBudget):
    text = page(found)
    assert text == page(found)
    assert "a &lt;b&gt; study" in text
    assert "one &amp; two" in text
    assert "<b>" not in text
    assert text.count('<svg class="plot"') == 4  # each for a screen and a phone


def test_plots_are_files_that_stand_alone(found: StudyBudget, tmp_path: Path):
    files = write_plots(found, tmp_path / "plan.svg")
    assert [file.name for file in files] == ["plan-width.svg", "plan-coverage.svg"]
    assert all(ET.fromstring(file.read_text()).tag.endswith("svg") for file in files)
    assert write_plots(found, tmp_path / "plan.html") == [tmp_path / "plan.html"]


def test_a_plot_needs_an_ending_that_is_known(found: StudyBudget, tmp_path: Path, refused):
    with refused(UsageError, "plot-file-unknown"):
        write_plots(found, tmp_path / "plan.png")
