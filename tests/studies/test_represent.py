"""Studies of representations: one learner for labels, numbers, rankings and clusters of documents."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from taskloom.core import Example, Item, Labels, Number, Ranking, Stored, Suite, Task, Terms
from taskloom.errors import ModelError
from taskloom.studies.api import LEDGER, prepare
from taskloom.studies.ledger import Ledger
from taskloom.suites import linked, store
from taskloom.suites.documents import documents

STUDY = """
name: representations
baselines: false
suite: suite
protocol: {seeds: 2, shots: [all], query: 6, training: 1}
models:
  bag: {load: "fake:bag"}
  random: {load: "fake:random"}
  mine: {load: "mine.py:encode"}
  given: {load: "vectors:vectors.jsonl"}
learners:
  bag: {represent: {model: bag}}
  random: {represent: {model: random}}
  mine: {represent: {model: mine}}
  given: {represent: {model: given}}
  both: {represent: {model: [bag, random], combine: concat}}
  sentences: {represent: {model: bag, match: best}, tasks: [near, search]}
  tfidf-linear: {}
  bm25: {}
views: [values, correlation, {anova: {over: seed}}, efficiency]
"""
CODE = """
def encode(texts):
    return [[text.count("owl"), text.count("elm"), len(text)] for text in texts]
"""
KINDS = {"birds": ("owl", "crow", "wren"), "trees": ("elm", "oak", "ash")}


def suite() -> Suite:
    """Papers about birds and trees: their field, year, neighbours, searches, reviewers and authors."""
    papers, kinds = [], {}
    for kind, words in KINDS.items():
        for n in range(12):
            id_ = f"{kind}-{n}"
            kinds[id_] = kind
            texts = {"title": f"The {words[n % 3]} {kind}", "abstract": f"On {words[(n + 1) % 3]} {kind}. Number {n}."}
            papers.append(Stored(id_, texts))
    reviewers = [Stored(kind, {}, tuple(id_ for id_ in kinds if kinds[id_] == kind)[:4]) for kind in KINDS]
    of = documents("documents", [*papers, *reviewers])
    tags = {name: {"format": (name,)} for name in ("CLF", "RGN", "PRX", "SRCH")}
    tasks = [
        Task(id="field", instruction="", output=Labels(tuple(KINDS)), metrics=("macro-f1",), tags=tags["CLF"]),
        Task(id="fields", instruction="", output=Labels(tuple(KINDS), True), metrics=("macro-f1",), tags=tags["CLF"]),
        Task(id="year", instruction="", output=Number(), metrics=("tau-b",), tags=tags["RGN"]),
        Task(id="near", instruction="", output=Ranking(store="documents"), metrics=("map", "ndcg"), tags=tags["PRX"]),
        Task(id="search", instruction="", output=Ranking(store="documents"), metrics=("ndcg",), tags=tags["SRCH"]),
        Task(id="reviewers", instruction="", output=Ranking(store="documents"), metrics=("p@1",), tags=tags["PRX"]),
        Task(id="authors", instruction="", output=Terms(store="documents"), metrics=("b-cubed",), tags=tags["PRX"]),
    ]  # fmt: skip
    pools = {}
    for task in tasks:
        by_id = task.id not in ("search", "authors")
        pools[task.id] = {"all": linked.pool(task, [*_examples(task.id, kinds)], of, by_id=by_id)}
    return Suite(id="s", tasks={task.id: task for task in tasks}, pools=pools, stores={"documents": of})


def _examples(task: str, kinds: dict[str, str]) -> Any:
    ids = list(kinds)
    for at, (id_, kind) in enumerate(kinds.items()):
        others = tuple(other for other in (ids * 2)[at + 1 : at + 24 : 3] if other != id_)
        graded = tuple((other, float(kinds[other] == kind)) for other in others)
        if task == "field":
            yield Example(Item(id_, {"document": id_}), (kind,), id_)
        elif task == "fields":
            yield Example(Item(id_, {"document": id_}), ((kind,),), id_)
        elif task == "year":
            yield Example(Item(id_, {"document": id_}), (2000.0 + 10 * (kind == "trees") + at % 3,), id_)
        elif task == "near":
            yield Example(Item(id_, {"document": id_}, others), (graded,), id_)
        elif task == "search":
            yield Example(Item(id_, {"query": f"{kind} number {at}"}, others), (graded,), id_)
        elif task == "reviewers":
            yield Example(
                Item(id_, {"document": id_}, tuple(KINDS)), (tuple((k, float(k == kind)) for k in KINDS),), id_
            )
        else:
            yield Example(Item(id_, {"block": "x"}, others), (tuple(kinds[other] for other in others),), id_)


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TASKLOOM_CACHE", str(tmp_path / "cache"))
    made = suite()
    store.write(made, tmp_path / "suite")
    (tmp_path / "mine.py").write_text(CODE)
    ids = [f"{kind}-{n}" for kind in KINDS for n in range(12)]
    lines = [json.dumps({"doc_id": id_, "embedding": [float("birds" in id_), 1.0]}) for id_ in ids]
    (tmp_path / "vectors.jsonl").write_text("\n".join(lines))
    (tmp_path / "study.yaml").write_text(STUDY)
    return tmp_path / "study.yaml"


def test_one_learner_answers_all_formats_on_any_vectors_with_any_number_of_workers(
    study: Path, taskloom: Callable[..., Any]
):
    done, found = prepare(study, study.parent / "one").run()
    assert done.failed == 0
    names = {(o.learner, o.task) for o in found.outcomes}
    tasks = {"field", "fields", "year", "near", "search", "reviewers", "authors"}
    for learner in ("bag", "random", "mine", "given", "both"):
        assert {task for name, task in names if name == learner} == tasks
    assert {task for name, task in names if name == "tfidf-linear"} == tasks - {"authors"}
    scores = {(o.learner, o.task): next(iter(o.scores.values())).value for o in found.outcomes if o.seed == 0}
    for task in tasks - {"year"}:
        assert scores["given", task] > 0.8, task
        assert scores["bag", task] > 0.8 or task == "search", task  # whose queries have a form of their own
    assert scores["bag", "year"] > 0.5
    assert scores["bag", "near"] > scores["random", "near"] + 0.1
    assert scores["tfidf-linear", "near"] > scores["random", "near"] + 0.1
    prepare(study, study.parent / "two").run(workers=2)
    with Ledger(study.parent / "one" / LEDGER) as one, Ledger(study.parent / "two" / LEDGER) as other:
        assert list(one.contents()) == list(other.contents())
    shown = taskloom("report", study.parent / "one", "--to", "md").out
    assert "Correlation of tasks over learners" in shown
    assert "Analysis of variance over seeds of draws" in shown
    assert "Efficiency" in shown


def test_vectors_that_can_not_be_used_are_named_before_any_work(study: Path):
    study.write_text(STUDY.replace("vectors.jsonl", "other.jsonl"))
    with pytest.raises(ModelError, match=r"no such file of vectors: .*other.jsonl"):
        prepare(study, study.parent / "run")
