"""Pages with many tasks stay small, and show every task."""

from __future__ import annotations

import pytest

from taskloom.core import Example, Item, Labels, Suite, Task
from taskloom.reports import How, render, summarise, task_pages
from taskloom.scores import metric, score
from taskloom.studies.costs import Cost
from taskloom.studies.results import Outcome, Results
from taskloom.suites import rows

OUTPUT = Labels(("yes", "no"))
LEARNERS = ("first", "second")


def outcome(task: str, learner: str, shots: int) -> Outcome:
    answers = tuple("yes" if (n + len(task) + len(learner)) % 3 else "no" for n in range(6))
    gold = (("yes",),) * 6
    scores = {name: score(metric(name, OUTPUT), gold, answers, OUTPUT) for name in ("accuracy", "macro-f1")}
    return Outcome(
        cell="", task=task, learner=learner, shots=shots, seed=0, index=0, pool="all", rows=tuple(range(6)),
        items=tuple(f"{task}-{n}" for n in range(6)), answers=answers, gold=gold, scores=scores, counts={}, cost=Cost(),
    )  # fmt: skip


def results(count: int, categories: int = 3) -> Results:
    """Make up answers to so many tasks; the last task has no category."""
    tasks, pools = {}, {}
    for n in range(count):
        tags = {"category": (f"category {n % categories} <b>",)} if n < count - 1 else {}
        task = Task(id=f"task-{n:03}", instruction=str(n), output=OUTPUT, metrics=("accuracy", "macro-f1"), tags=tags)
        examples = [Example(Item(f"{task.id}-{i}", {"input": f"{i}"}, ()), ("yes",), f"{i}") for i in range(6)]
        tasks[task.id], pools[task.id] = task, {"all": rows.pool(task, examples)}
    outcomes = tuple(outcome(t, name, shots) for t in tasks for name in LEARNERS for shots in (0, 4))
    return Results(
        name="many", command="taskloom run many.yaml", suite=Suite(id="many", tasks=tasks, pools=pools),
        learners=dict.fromkeys(LEARNERS, "made up"), baselines=(), outcomes=outcomes, failures=(), missing=0,
        skipped={},
    )  # fmt: skip


@pytest.fixture(scope="module")
def summary():
    return summarise(results(320), How(count=20))


def test_many_tasks_are_in_folded_tables_by_category(summary, read_page):
    page = render(summary, "html")
    read = read_page(page)
    said = "".join(read.text)
    assert read.open == []
    assert "script" not in {tag for tag, _ in read.tags}
    assert all(said.count(f"task-{n:03}") >= 1 for n in range(320))
    assert "category 0 <b>: 107 tasks, 1 to 100" in said
    assert "category 0 <b>: 107 tasks, 101 to 107" in said
    assert "other tasks: 1 task" in said
    assert "Samples of 54 tasks" in said
    assert len(page) < 500_000


def test_a_page_shows_no_more_scores_than_a_browser_likes(summary, monkeypatch):
    monkeypatch.setattr(task_pages, "CELLS", 1000)
    assert "320 of 1,280 rows are shown" in task_pages.tasks(summary)
    monkeypatch.setattr(task_pages, "CELLS", 100)
    shown = task_pages.tasks(summary)
    assert "50 of 1,280 rows are shown; the CSV and JSON reports have all" in shown


def test_few_tasks_have_a_section_each(read_page):
    few = summarise(results(5), How(count=20))
    said = "".join(read_page(render(few, "html")).text)
    assert "other tasks" not in said
    assert set(few.samples) == set(few.tasks)
