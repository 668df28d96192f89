from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import pytrec_eval

from taskloom.reports.predictions import score_predictions
from taskloom.scores.rankings import METRICS, judged_suite, predictions_of_run

TREC = {"map": "map", "ndcg": "ndcg", "ndcg@10": "ndcg_cut_10", "p@10": "P_10", "mrr": "recip_rank"}


def test_a_run_scores_as_trec_eval_says_with_intervals():
    rng = np.random.default_rng(0)
    names = [f"d{n}" for n in range(40)]
    qrels = {f"q{n}": dict(zip(names, rng.choice([0.0, 0, 0, 1, 2], 40).tolist(), strict=True)) for n in range(30)}
    run = {q: dict(zip(rng.permutation(names)[:25].tolist(), rng.normal(size=25), strict=True)) for q in qrels}
    found = score_predictions(judged_suite("web", qrels), predictions_of_run(Path("a.run"), run))
    judged = {q: {d: int(grade) for d, grade in own.items()} for q, own in qrels.items()}
    theirs = pytrec_eval.RelevanceEvaluator(judged, {*TREC.values(), "ndcg_cut.10", "P.10"}).evaluate(run)
    assert tuple(found.metrics) == METRICS
    for ours, name in TREC.items():
        estimate = found.metrics[ours].micro
        assert estimate.value == pytest.approx(np.mean([of[name] for of in theirs.values()]), abs=1e-9)
        assert estimate.low < estimate.value < estimate.high
        assert estimate.n == 30


def test_queries_that_are_missing_unknown_or_have_nothing_relevant_are_told():
    qrels = {"a": {"d": 1.0}, "b": {"d": 1.0}, "c": {"d": 0.0, "e": -1.0}}
    run = {"a": {"d": 1.0, "unjudged": 2.0}, "c": {"d": 1.0}, "z": {"d": 1.0}}
    found = score_predictions(judged_suite("web", qrels), predictions_of_run(Path("a.run"), run), ["mrr"])
    assert found.metrics["mrr"].micro.value == (1 / 2 + 0) / 2
    assert (found.missing, found.unknown, found.nothing_relevant) == ({"web": 1}, 1, {"web": ("c",)})


def test_queries_that_a_level_leaves_without_a_relevant_candidate_are_told_with_the_metric():
    qrels = {"a": {"d": 3.0}, "b": {"d": 2.0}, "c": {"d": 0.0}}
    run = {query: {"d": 1.0} for query in qrels}
    typed = ["p@1:level=3", "p@1:level=2", "p@1:published,level=3", "map"]
    found = score_predictions(judged_suite("web", qrels), predictions_of_run(Path("a.run"), run), typed)
    assert [found.metrics[name].micro.value for name in typed] == [1.0, 1.0, pytest.approx(1 / 3), 1.0]
    assert found.nothing_relevant == {"web": ("c",), "web, p@1:level=3": ("b", "c")}
