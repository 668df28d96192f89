"""The tasks of a page: of few all is shown, and many stay small."""

from __future__ import annotations

import pytest

from taskloom.core import Example, Item, Labels, Suite, Task
from taskloom.reports import How, render, summarise
from taskloom.reports.page import tasks
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


@pytest.fixture(scope="module")
def page(summary):
    return render(summary, "html")


def test_many_tasks_are_rows_under_their_categories(summary, page, read_page):
    read = read_page(page)
    said = "".join(read.text)
    assert read.open == []
    assert all(said.count(f"task-{n:03}") >= 1 for n in range(320))
    groups = [attributes for tag, attributes in read.tags if tag == "tbody" and attributes.get("class") == "group"]
    assert len(groups) == len(summary.leaderboards) * 4  # three categories, and the task that has none
    assert "category 0 <b> 107" in said
    assert "other tasks 1" in said


def test_every_task_is_linked_to_where_it_is_shown(summary, page, read_page):
    read = read_page(page)
    ids = {attributes["id"] for tag, attributes in read.tags if tag == "details" and "id" in attributes}
    assert {a["href"] for tag, a in read.tags if tag == "a" and (a["href"] or "").startswith("#t")} >= {
        f"#{link}" for link in tasks.links(summary).values()
    }
    assert len(ids) == 320


def test_the_page_of_many_tasks_stays_small(page):
    assert len(page.encode()) < 2_500_000


def test_few_tasks_have_scores_and_classes(read_page):
    few = summarise(results(5), How(count=20))
    said = "".join(read_page(render(few, "html")).text)
    assert "other tasks" not in said
    assert said.count("F1 by class") == 5 * 2  # settings
    assert set(few.samples) == set(few.tasks)
