"""Answers inside a page: what is packed can be read back, and what is too much is left to another form."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import pytest

from taskloom.core import Example, Item, Number, Suite, Task
from taskloom.reports import How, render, summarise
from taskloom.reports.page import items
from taskloom.scores.tasks import score_task
from taskloom.studies.costs import Cost
from taskloom.studies.results import Outcome, Results
from taskloom.suites.rows import pool


def unpacked(of: items.Packed) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(of.text)))
    return found


def test_all_answers_are_read_back(results):
    found = items.packed(results)
    assert set(found) == {o.task for o in results.outcomes}
    data = unpacked(found["title->category"])
    asked = [o for o in results.outcomes if o.task == "title->category"]
    assert found["title->category"].answers == sum(len(o.answers) for o in asked)
    assert data["learners"] == ["strong", "strong too", "weak", "majority"]
    assert data["baselines"] == 1
    assert (data["settings"], data["setting"]) == (["0 shots", "5 shots"], "5 shots")
    assert len(data["rows"]) == 2 * 3 * 20  # settings, seeds, items
    item, setting, episode, answers = data["rows"][0]
    first = asked[0]
    assert data["items"][item][0] == first.items[0]
    assert (data["settings"][setting], data["episodes"][episode]) == ("0 shots", "seed 0")
    assert answers[0][0] == first.answers[0]
    assert answers[0][2] == int(first.answers[0] == first.gold[0][0])


def test_an_item_is_there_once_however_many_seeds_ask_about_it(results):
    data = unpacked(items.packed(results)["title->category"])
    assert len({item[0] for item in data["items"]}) == len(data["items"]) <= 60


def test_of_too_many_answers_whole_episodes_are_kept_and_the_page_says_so(results, monkeypatch):
    monkeypatch.setattr(items, "ANSWERS", 1000)
    found = items.packed(results)
    for name in found:
        rows = unpacked(found[name])["rows"]
        assert len(rows) == 40  # two episodes of 20 items at the most shots: 160 of the 200 answers of a fifth
        assert all(all(answers) for *_, answers in rows)
        assert unpacked(found[name])["settings"] == ["5 shots"]
    page = render(summarise(results, How(count=20)), "html")
    assert "800 of 2,400 answers are in this file" in page
    assert "report RUN --to items" in page


def test_of_too_many_answers_in_an_episode_the_first_items_are_kept(results, monkeypatch):
    monkeypatch.setattr(items, "ANSWERS", 200)
    for of in items.packed(results).values():
        rows = unpacked(of)["rows"]
        assert len(rows) == 10  # 40 answers of a task, by four learners
        assert all(all(answers) for *_, answers in rows)


def test_a_file_has_a_size(results, monkeypatch):
    whole = items.packed(results)
    first, second, *_ = (len(of.text) for of in whole.values())
    monkeypatch.setattr(items, "BYTES", first + second)
    assert list(items.packed(results)) == list(whole)[:2]


@pytest.mark.parametrize("length", [items.LONGEST, items.LONGEST + 1])
def test_long_texts_are_cut(length):
    found = items._cut("x" * length)
    assert found.endswith("characters)") == (length > items.LONGEST)


def test_scores_that_are_no_points_of_a_hundred_are_written_as_they_are():
    task = Task(id="t", instruction="?", output=Number(), metrics=("mse",))
    suite = Suite(id="s", tasks={"t": task}, pools={"t": {"all": pool(task, [Example(Item("i", {}), (1.0,), "r")])}})
    outcome = Outcome(
        cell="c", task="t", learner="a", shots=4, seed=0, index=0, pool="all", rows=(0,), items=("i",), answers=(3.0,),
        gold=((1.0,),), scores=score_task(task, [(1.0,)], [3.0]), counts={}, cost=Cost(),
    )  # fmt: skip
    made = Results(
        name="x", command="", suite=suite, learners={"a": ""}, baselines=(), outcomes=(outcome,), failures=(),
        missing=0, skipped={},
    )  # fmt: skip
    ((*_, answers),) = unpacked(items.packed(made)["t"])["rows"]
    assert answers[0][3] == "4"
