"""Scores by category."""

from __future__ import annotations

from dataclasses import replace

from taskloom.reports import How, render, summarise
from taskloom.reports.leaderboards import leaderboard


def test_tasks_with_categories_have_a_table_by_category(results):
    tags = {name: {"category": ("first" if n % 2 else "second",)} for n, name in enumerate(results.suite.tasks)}
    tasks = {name: replace(task, tags=tags[name]) for name, task in results.suite.tasks.items()}
    summary = summarise(replace(results, suite=replace(results.suite, tasks=tasks)))
    assert {of.name for of in summary.categories} == {"first", "second"}
    for form in ("terminal", "md", "html"):
        assert "by category" in render(summary, form).lower()
    assert '"categories"' in render(summary, "json")


def test_a_category_has_a_table_by_the_metric_that_suits_it_too(results):
    tagged = {
        name: replace(task, tags={"category": ("A",), "metric": ("accuracy",)}) if "accuracy" in task.metrics else task
        for name, task in results.suite.tasks.items()
    }
    found = summarise(replace(results, suite=replace(results.suite, tasks=tagged)), How(count=100)).categories
    assert "accuracy" in {of.leaderboard.metric for of in found if of.name == "A"}


def test_tasks_without_categories_have_none(summary):
    assert summary.categories == ()
    assert "by category" not in render(summary, "html").lower()


def test_a_category_has_the_leaderboard_that_its_tasks_would_have_alone(make):
    results = make(shots=(5,), seeds=4, size=12)
    tasks = {name: replace(task, tags={"category": (name[:5],)}) for name, task in results.suite.tasks.items()}
    found = summarise(replace(results, suite=replace(results.suite, tasks=tasks)), How(count=200)).categories
    assert len(found) > 3
    for of in found:
        alone = [o for o in results.outcomes if o.task in of.leaderboard.tasks]
        assert of.leaderboard == leaderboard(of.leaderboard.metric, 5, alone, results.baselines, How(count=200))
