"""Meta-training by partitions: what is trained, what it adds, and how bridges are drawn."""

from __future__ import annotations

import json
from xml.etree import ElementTree as Xml

import pytest

from taskloom import build, write_suite
from taskloom.benchmarks.csl import PARTITIONS, meta_gain
from taskloom.benchmarks.published import published
from taskloom.reports import How, render, summarise
from taskloom.reports.bridge_plots import bridge_plot, bridge_text, fields_in_order
from taskloom.reports.contrasts import contrast
from taskloom.reports.figures import Figure
from taskloom.reports.summary import Summary
from taskloom.stats import Contrast
from taskloom.studies.api import prepare
from taskloom.studies.results import Results
from taskloom.suites.bridges import bridge, partition_of

FIELDS = ["title", "abstract", "keywords", "category", "discipline"]
STUDY = """
name: partitions
suite: suite
tasks: ["@1-1/test", "@2-1/test", "@3-2/test"]
metrics: [mean]
baselines: false
protocol: {seeds: 2, shots: [0, 1], query: 8}
models:
  base: {load: "fake:pupil"}
  meta: {train: base, folds: ["1-*", "2-*"], most: 10}
  broken: {train: base, folds: ["3-*"], most: 10}
learners:
  few: {in-context: {model: base}, shots: [1]}
  +meta: {in-context: {model: meta}}
  +broken: {in-context: {model: broken}, tasks: [abstract->category], shots: [1]}
views: [bridge, {meta-gain: {over: few, paper: csl}}]
"""
HOW = How(count=100)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("partitions")
    rows = [
        {
            "title": f"题目 {n}", "abstract": f"研究 {n} 的方法", "keywords": [f"词{n}", "方法"],
            "category": "工学" if n % 2 else "农学", "discipline": f"学科{n % 3}",
        }
        for n in range(40)
    ]  # fmt: skip
    (folder / "records.jsonl").write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    write_suite(build("csl", str(folder / "records.jsonl")), folder / "suite")
    (folder / "study.yaml").write_text(STUDY, encoding="utf-8")
    return prepare(folder / "study.yaml", folder / "run").run()[1]


@pytest.fixture(scope="module")
def summary(results: Results) -> Summary:
    return summarise(results, HOW)


def figure(summary: Summary, title: str) -> Figure:
    return next(found for found in summary.figures if found.title.startswith(title))


def test_an_outcome_names_the_partition_that_its_model_was_trained_in(results: Results):
    folds = {(o.learner, o.task): o.fold for o in results.outcomes}
    assert folds["+meta", "abstract->title"] == "1-1"
    assert folds["+meta", "abstract->category"] == "2-1"
    assert folds["+broken", "abstract->category"] == "3-2"
    assert folds["few", "abstract->category"] == ""


def test_gains_are_the_paired_contrasts_of_the_partition(results: Results, summary: Summary):
    rows = {(row[0], row[3]): row for row in figure(summary, "Gain of meta-training by partition").rows}
    assert {*rows} == {("1-1", 0), ("1-1", 1), ("2-1", 0), ("2-1", 1), ("3-2", 1)}
    assert rows["1-1", 0][5] is None  # without examples, the base is not asked
    assert rows["1-1", 0][7] is None
    title = [o for o in results.outcomes if o.task == "abstract->title"]
    expected = contrast("+meta", "few", "mean", 1, title, how=HOW)
    gain = rows["1-1", 1][7]
    assert isinstance(gain, Contrast)
    assert (gain.difference, gain.low, gain.high) == (expected.difference, expected.low, expected.high)
    assert gain.family == 3


def test_published_figures_stand_beside(summary: Summary):
    found = figure(summary, "Gain of meta-training by partition")
    at = found.columns.index("T5-base, published")
    rows = {(row[0], row[3]): row[at] for row in found.rows}
    assert rows["1-1", 1] == "9.3 → 28.8 (+19.5)"
    assert rows["1-1", 0] is None
    assert any("misprint" in note for note in found.notes)


def test_the_papers_own_arithmetic():
    """The mean over the partitions of scenario 1 at one shot is +11.7 (T5) and +14.0 (BART), as printed."""
    (table,) = [table for table in published("csl").by("partition") if table.shots == 1]
    scenario = ["1-1", "1-2", "1-3"]
    for model, gain in {"T5-base": 11.7, "BART-base": 14.0}.items():
        few, meta = ([table.values[f"{model} {how}"][fold] for fold in scenario] for how in ("few", "+meta"))
        assert round(meta_gain(few, meta), 1) == gain


def test_means_by_kind_of_bridge_show_the_papers(summary: Summary):
    found = figure(summary, "Mean gain of meta-training by kind of bridge")
    rows = {row[0]: dict(zip(found.columns, row, strict=True)) for row in found.rows}
    assert {*rows} == {"single-leap", "two-leap", "broken"}
    assert rows["single-leap"]["T5-base, published"] == "+11.7"


def test_a_bridge_is_compared_with_the_broken_one_of_its_target(summary: Summary):
    (row,) = figure(summary, "Bridges against broken ones").rows
    assert row[:3] == ("2-1 against 3-2", "abstract->category", 1)


def test_partitions_that_were_trained_in_are_drawn(summary: Summary):
    found = figure(summary, "Bridges between tasks")
    assert [(row[0], row[3], row[4]) for row in found.rows] == [
        ("1-1", "single leap over keywords", 1),
        ("2-1", "two leaps over keywords and title", 2),
        ("3-2", "broken bridge", "none"),
    ]
    assert "标题" in found.plot
    assert 'class="panels"' in render(summary, "html")


@pytest.mark.parametrize("name", PARTITIONS)
def test_every_published_partition_can_be_drawn(name: str):
    of = partition_of(PARTITIONS[name], FIELDS)
    drawn = Xml.fromstring(bridge_plot(name, of, {}))
    arrows = [g for g in drawn.iter("g") if g.get("class", "").startswith("hue")]
    assert {arrow.findtext("title") for arrow in arrows} == {*of.meta}
    assert next(g.findtext("title") for g in drawn.iter("g") if g.get("class") == "target") == of.target
    named = {text.text for text in drawn.iter("text")} - {None}
    assert {*fields_in_order(of)} < named


def test_a_bridge_in_words():
    assert bridge_text(bridge(partition_of(PARTITIONS["1-3"], FIELDS))) == "single leap over title, in part"
    assert bridge_text(bridge(partition_of(PARTITIONS["3-1"], FIELDS))) == "broken bridge"
