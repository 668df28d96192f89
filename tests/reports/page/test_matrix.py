"""The matrix of tasks and learners: colours, marks, and what stands where there is no score."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from taskloom.reports import How, summarise
from taskloom.reports.contrasts import differs
from taskloom.reports.page.matrix import STEPS, Matrix, Shades


@pytest.fixture(scope="module")
def board(summary):
    return summary.of("accuracy")[-1]


def html(summary, board, links=None):
    return Matrix.of(summary, board).html(links or {})


def test_the_best_cell_has_the_strongest_colour_and_the_worst_the_weakest():
    up, down = Shades(0.2, 0.8), Shades(9.0, 1.0)  # of an error, less is better
    assert (up.step(0.2), up.step(0.8), up.step(0.5)) == (0, STEPS - 1, (STEPS - 1) // 2)
    assert (down.step(9.0), down.step(1.0)) == (0, STEPS - 1)
    assert Shades(0.5, 0.5).step(0.5) == STEPS // 2


def test_each_task_is_tested_against_its_best_baseline(summary, board):
    assert set(board.tests) == set(board.tasks)
    for task, found in board.tests.items():
        assert set(found) == set(board.tasks[task]) - {"majority"}
        assert {c.b for c in found.values()} == {"majority"}
        strong = found["strong"]
        assert strong.difference == pytest.approx(
            board.tasks[task]["strong"].value - board.tasks[task]["majority"].value
        )
        assert differs(strong)
    assert html(summary, board).count("▲") >= 4


def test_baselines_come_last_and_learners_without_a_score_not_at_all(summary, board):
    names = re.findall(r"<span>(.*?)</span>", html(summary, board).split("</thead>")[0])
    assert names[-1] == "majority"
    assert "broken" not in names


def test_what_is_missing_has_a_mark(results):
    fewer = [o for o in results.outcomes if (o.learner, o.task) != ("weak", "title->category")]
    for waiting, mark in ((frozenset({("weak", "title->category", 5)}), "○"), (frozenset(), "–")):
        made = summarise(replace(results, outcomes=tuple(fewer), not_run=waiting, failures=()), How(count=20))
        assert f">{mark}</td>" in html(made, made.of("accuracy")[-1])


def test_what_failed_is_marked_as_a_failure(results):
    failed = replace(results.failures[0], learner="weak", task="title->category")
    fewer = [o for o in results.outcomes if (o.learner, o.task) != ("weak", "title->category")]
    made = summarise(replace(results, outcomes=tuple(fewer), failures=(failed,)), How(count=20))
    assert '<td class="none failed" title="failed">✗</td>' in html(made, made.of("accuracy")[-1])
