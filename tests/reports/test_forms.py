"""Each form can be read by what reads it, and nothing that comes from data can break out of it."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace

import pytest

from taskloom.reports import How, plots, render, summarise, tables
from taskloom.reports.numbers import number
from taskloom.stats import Estimate


def test_csv_is_read_back(summary):
    rows = list(csv.DictReader(io.StringIO(render(summary, "csv"))))
    leaderboard = summary.of("accuracy")[0]
    overall = {r["learner"]: r for r in rows if (r["metric"], r["shots"], r["task"]) == ("accuracy", "0", "")}
    for s in leaderboard.standings:
        row = overall[s.learner]
        assert row["value"] == ("" if s.learner == "broken" else repr(s.score.value))
        assert row["best"] == str(int(s.best))
    assert {r["task"] for r in rows} == {"", *summary.tasks}


def test_json_is_read_back_and_may_stand_in_a_page(summary):
    text = render(summary, "json")
    assert "<" not in text
    found = json.loads(text)
    assert found["leaderboards"][0]["standings"][0]["learner"] == summary.leaderboards[0].standings[0].learner
    broken = next(s for s in found["leaderboards"][0]["standings"] if s["learner"] == "broken")
    assert broken["score"]["value"] is None
    assert "<script>alert(1)</script>" in found["failures"][0]["traceback"]


@pytest.mark.parametrize("form", ["terminal", "md"])
def test_failures_show_the_last_line_of_their_traceback(summary, form):
    text = render(summary, form)
    last = summary.failures[0].traceback.strip().splitlines()[-1]
    assert "failures" in text.lower()
    assert (last in text) or form == "md"
    assert "--to json" in text.replace("\\", "")


def test_of_an_error_with_a_list_of_faults_the_error_is_shown(summary):
    listed = "Traceback:\n  File x\nSourceError: lines that are no vectors: v.jsonl\n  v.jsonl:1: no id\n  and 2 more\n"
    failed = replace(summary, failures=(replace(summary.failures[0], traceback=listed),))
    assert tables.failures(failed)[0][1] == "SourceError: lines that are no vectors: v.jsonl"


def test_markdown_has_tables_and_no_html(summary):
    text = render(summary, "md")
    assert "| strong |" in text
    assert "<" not in text
    assert r"a\*" in text
    widths = {line.count(" | ") for line in text.split("## accuracy")[1].split("\n\n")[1].splitlines()}
    assert len(widths) == 1


def test_a_terminal_shows_scores_with_intervals(summary):
    text = render(summary, "terminal")
    assert re.search(r"strong\t\d+\.\d \[\d+\.\d, \d+\.\d\] a\*", text)
    assert "no value" in text


def test_numbers():
    assert number(-0.0001, True) == "0.0"
    assert number(0.5, True) == "50.0"
    assert number(0.00012345, False) == "0.0001234"


def test_plots_do_without_values():
    nothing = Estimate(float("nan"), float("nan"), float("nan"), 0)
    rows = [plots.Row("<a>", nothing, "no value")]
    for drawn in (
        plots.dots(rows, '"<x>"'),
        plots.forest(rows, "x"),
        plots.curves([plots.Curve("<a>", [(0, nothing), (4, nothing)])], "x"),
    ):
        assert "nan" not in drawn
        assert "<a>" not in drawn
        assert 'role="img"' in drawn


def test_plots_cope_with_equal_and_extreme_values():
    same = [plots.Row("a", Estimate(v, v, v, 2), "x") for v in (100.0, 100.0)]
    assert "nan" not in plots.dots(same, "x")
    wild = [plots.Row("a", Estimate(v, v - 1, v + 1, 2), "x") for v in (-1e9, 1e9)]
    assert "nan" not in plots.forest(wild, "x")


@pytest.mark.parametrize("form", ["html", "md", "terminal"])
def test_what_one_seed_hides_stands_beside_the_scores(make, form):
    text = " ".join(render(make(seeds=1), form, How(count=20)).split())
    assert "5 shots: " in text
    assert "a single episode in 2 of 2 tasks: intervals do not include the variation over seeds" in text
    assert "a single episode" not in render(make(seeds=2), form, How(count=20))


@pytest.fixture(scope="module")
def partial(make):
    """One learner lacks one of two tasks with labels."""
    found = make()
    lacks = ("strong too", "title->category")
    return summarise(
        replace(found, outcomes=tuple(o for o in found.outcomes if (o.learner, o.task) != lacks)), How(count=50)
    )


@pytest.mark.parametrize("form", ["terminal", "md", "tex"])
def test_a_learner_that_lacks_tasks_is_marked_and_ranked_on_common_tasks_in_a_table_of_its_own(partial, form):
    text = " ".join(render(partial, form).split())
    assert "(on 1 of 2 tasks)" in text
    assert "accuracy, on what is common: 1 task, 3 episodes at 0 shots; 1 task, 3 episodes at 5 shots" in text


def test_csv_and_json_say_what_is_comparable(partial):
    lines = list(csv.DictReader(io.StringIO(render(partial, "csv"))))
    ours = [
        r for r in lines if (r["metric"], r["shots"], r["learner"], r["task"]) == ("accuracy", "0", "strong too", "")
    ]
    assert [(r["on"], r["comparable"], bool(r["rank"])) for r in ours] == [("all", "0", False), ("common", "1", True)]
    found = next(b for b in json.loads(render(partial, "json"))["leaderboards"] if b["metric"] == "accuracy")
    (standing,) = (s for s in found["standings"] if s["learner"] == "strong too")
    assert standing["missing"] == {
        "code": "incomplete",
        "values": {"tasks": 1, "of": 2, "episodes": 3, "of_episodes": 6},
    }
    assert found["common"]["ranked_on"] == ["keywords->category"]


def test_pairs_say_for_how_many_pairs_p_is_corrected(partial):
    found = partial.leaderboards[0]
    assert tables.PAIR_COLUMNS[-2:] == ["of pairs", "significant"]
    families = [(row[0], row[1], row[-2]) for row in tables.pairs(found)]
    assert families == [(c.a, c.b, str(c.family)) for c in (*found.pairs, *found.against)]
    assert {c.family for c in found.pairs} == {len(found.pairs)}
