"""Scores against their reference packages, and the bootstrap: medians of interleaved runs, as ratios."""

from __future__ import annotations

import argparse
import random
import time

import numpy as np
import pytrec_eval
from rouge_score.rouge_scorer import RougeScorer
from sklearn.metrics import f1_score

from measure import interleaved, report
from taskloom.core import Answer, Labels, Ranking
from taskloom.scores import metric, rank, score
from taskloom.scores.text import _published_tokens
from taskloom.stats import bootstrap, resamples

WORDS = ["run", "running", "easily", "nations", "national", "cat", "the", "of", "model", "models", "evaluate", "tests"]
WORDS += [
    f"{a}{b}" for a in ("inter", "pre", "un", "re", "dis") for b in ("national", "tested", "doing", "action", "view")
]
WORDS += [f"word{n}ing" for n in range(5000)]


def pairs(count: int, length: int) -> list[tuple[str, str]]:
    choose = random.Random(0)
    texts = [" ".join(choose.choices(WORDS, k=choose.randint(1, 2 * length))) for _ in range(2 * count)]
    return list(zip(texts[::2], texts[1::2], strict=True))


def rouge(count: int) -> dict[str, float]:
    made = pairs(count, 12)
    scorer = RougeScorer(["rougeL"], use_stemmer=True)
    of = metric("rouge-l:published")
    few = made[: count // 10]  # the peer is slow: a part is enough for a ratio

    def ours() -> np.ndarray:
        _published_tokens.cache_clear()
        return np.array([of.unit((gold,), found)[0] for gold, found in made])

    def theirs() -> np.ndarray:
        return np.array([scorer.score(gold, found)["rougeL"].fmeasure for gold, found in few])

    assert np.abs(ours()[: len(few)] - theirs()).max() < 1e-9
    taken = interleaved({"ours": ours, "theirs": theirs}, runs=3)
    return {"ours, seconds": taken["ours"], "rouge_score / ours": taken["theirs"] * count / len(few) / taken["ours"]}


def macro_f1() -> dict[str, float]:
    rng = np.random.default_rng(0)
    names = tuple(f"label{n}" for n in range(67))
    gold = rng.integers(0, 67, 1000)
    found = np.where(rng.random(1000) < 0.6, gold, rng.integers(0, 67, 1000))
    of = metric("macro-f1", Labels(names))
    units = score(of, [(names[n],) for n in gold], [names[n] for n in found]).units
    weights = next(iter(resamples(1000, 20, "bench")))

    def by_calls() -> list[float]:
        rows = [np.repeat(np.arange(1000), w.astype(int)) for w in weights]
        return [f1_score(gold[row], found[row], average="macro") for row in rows]

    taken = interleaved({"ours": lambda: bootstrap(units, of.reduce, count=10_000), "sklearn": by_calls}, runs=3)
    return {
        "10,000 resamples of 1,000 units, seconds": taken["ours"],
        "a call of scikit-learn for each / ours": taken["sklearn"] / 20 * 10_000 / taken["ours"],
    }


def ranking(queries: int, depth: int, case: str) -> dict[str, float]:
    """Compare with trec_eval's C: judgements were read before by both, or by none."""
    rng = np.random.default_rng(0)
    names = [[f"{q if 'own' in case else ''}d{n}" for n in range(depth)] for q in range(queries)]
    graded = [tuple(zip(row, rng.integers(0, 3, depth).astype(float).tolist(), strict=True)) for row in names]
    drawn = rng.normal(size=(queries, depth))
    scores = (np.round(3 * drawn) if "ties" in case else drawn).tolist()
    scored = [tuple(zip(row, own, strict=True)) for row, own in zip(names, scores, strict=True)]
    if "best first" in case:  # new pairs, as a reader of files makes them
        scored = [tuple((n, s + 0.0) for n, s in sorted(row, key=lambda pair: -pair[1])) for row in scored]
    gold: list[tuple[Answer, ...]] = [(right,) for right in graded]
    answers: list[Answer | None] = [*scored]
    grades = {str(q): {name: int(grade) for name, grade in right} for q, right in enumerate(graded)}
    runs = {str(q): {name: one + 0.0 for name, one in answer} for q, answer in enumerate(scored)}
    evaluator = pytrec_eval.RelevanceEvaluator(grades, {"ndcg"})
    of = metric("ndcg")

    def ours() -> float:
        return score(of, gold, answers, Ranking()).value

    def ours_first() -> float:
        rank.KEPT.clear()
        return ours()

    def mean(found: dict[str, dict[str, float]]) -> float:
        return float(np.mean([one["ndcg"] for one in found.values()]))

    assert abs(ours() - mean(evaluator.evaluate(runs))) < 1e-9
    work = {
        "first": ours_first,
        "ours": ours,
        "theirs, first": lambda: mean(pytrec_eval.RelevanceEvaluator(grades, {"ndcg"}).evaluate(runs)),
        "theirs": lambda: mean(evaluator.evaluate(runs)),
    }
    taken = interleaved(work, runs=15)
    return {
        "nDCG, judgements read before, seconds": taken["ours"],
        "pytrec_eval (C) / ours, judgements read before by both": taken["theirs"] / taken["ours"],
        "pytrec_eval (C) / ours, with judgements": taken["theirs, first"] / taken["first"],
    }


def episodes() -> dict[str, float]:
    values = np.random.default_rng(0).normal(size=(1000, 1))
    start = time.perf_counter()
    bootstrap(values, metric("accuracy").reduce, count=10_000)
    return {"10,000 resamples of a mean over 1,000 episodes, seconds": time.perf_counter() - start}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=100_000)
    given = parser.parse_args()
    report(f"ROUGE-L of {given.pairs:,} short pairs, stemmed, equal to 1e-9", rouge(given.pairs))
    report("macro F1 over 67 classes, bootstrapped", macro_f1())
    report("a mean, bootstrapped", episodes())
    order = "in the order of the judgements", "best first", "best first, own documents"
    for case in (*order, "best first, ties", "best first, own documents, ties"):
        report(f"rankings, 2,000 queries x 100, {case}", ranking(2000, 100, case))


if __name__ == "__main__":
    main()
