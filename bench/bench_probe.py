"""Probes against scikit-learn's grid search, and ranking by vectors: the same folds, the same objective, as ratios."""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable

import numpy as np
from joblib.externals.loky import get_reusable_executor  # type: ignore[import-untyped]
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from measure import alone, report
from taskloom.learners.squared_hinge import objective
from taskloom.learners.svm import GRID, Probe, fit_classes
from taskloom.models.encoder import TransformerEncoder
from taskloom.models.fetched import get
from taskloom.models.load import source
from taskloom.models.vectors import VectorCache
from taskloom.sources.files import RowFaults
from taskloom.sources.packages import rows

Data = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # vectors and classes to learn from, and to be asked about


def made_up(count: int, width: int, classes: int) -> Data:
    """Draw vectors of length one about the means of classes."""
    rng = np.random.default_rng(0)
    places = rng.integers(0, classes, count + count // 4)
    vectors = rng.normal(size=(classes, width))[places] * 0.12 + rng.normal(size=(len(places), width))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors[:count], places[:count], vectors[count:], places[count:]


def tfidf(texts: list[str]) -> np.ndarray:
    """Give TF-IDF in its first axes."""
    words = TfidfVectorizer(min_df=3, sublinear_tf=True).fit_transform(texts)
    return np.asarray(TruncatedSVD(384, random_state=0).fit_transform(words))


def minilm(texts: list[str]) -> np.ndarray:
    """Give vectors of minilm, which are kept: the first time takes minutes."""
    named = source("minilm").identity()
    return VectorCache("minilm", named, "float32", lambda: TransformerEncoder.load(get("minilm"))).take(texts)[0]


def newsgroups(vectors_of: Callable[[list[str]], np.ndarray]) -> Data:
    """Read 20 Newsgroups as vectors, with its own split."""
    found = [row for _, row in rows("20news", RowFaults("skip"))]
    vectors = vectors_of([str(row["text"]) for row in found])
    classes = np.unique([row["label"] for row in found], return_inverse=True)[1]
    train = np.array([row["split"] == "train" for row in found])
    return vectors[train], classes[train], vectors[~train], classes[~train]


def value(weights: np.ndarray, intercepts: np.ndarray, data: Data, cost: float) -> float:
    """Give the objective, added up over classes."""
    vectors, places = data[0], data[1]
    targets = np.where(np.arange(weights.shape[1])[:, None] == places, 1.0, -1.0)
    values = (vectors @ weights + intercepts).T
    return float(objective(np.vstack([weights, intercepts]).T, values, targets, cost).sum())


def used(work: Callable[[], object]) -> tuple[float, float]:
    """Measure seconds of the clock, and of all processors, those of processes that the work has started too."""
    get_reusable_executor().shutdown(wait=True)  # a process counts when it has ended
    before, start = processor(), time.perf_counter()
    work()
    clock = time.perf_counter() - start
    get_reusable_executor().shutdown(wait=True)
    return clock, processor() - before


def processor() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def probes(data: Data, runs: int) -> dict[str, float | str]:
    """Measure ours before and after theirs, which takes minutes."""
    taken, found, theirs = [], list[Probe](), (0.0, 0.0)
    search = GridSearchCV(LinearSVC(random_state=42), {"C": GRID}, cv=3, scoring="f1_macro", n_jobs=2)
    for turn in range(2 * runs):
        if turn == runs:
            theirs = used(lambda: search.fit(data[0], data[1]))
        taken.append(used(lambda: found.append(fit_classes(data[0], data[1]))))
    ours, (clock, seconds) = found[-1], np.median(taken, axis=0).tolist()
    best, cost = search.best_estimator_, search.best_params_["C"]
    same = fit_classes(data[0], data[1], grid=(cost,))
    here = value(same.weights, same.intercepts, data, cost)
    there = value(best.coef_.T, best.intercept_, data, cost)
    scores = [
        100 * f1_score(data[3], found, average="macro") for found in (ours.classes(data[2]), search.predict(data[2]))
    ]
    return {
        "vectors x dimensions, classes": f"{len(data[0]):,} x {data[0].shape[1]}, {len(set(data[1].tolist()))}",
        "ours, seconds of the clock, of processors": f"{clock:.2f}, {seconds:.2f}",
        "GridSearchCV(LinearSVC, n_jobs=2)": f"{theirs[0]:.2f}, {theirs[1]:.2f}",
        "GridSearchCV / ours, by the clock": theirs[0] / clock,
        "GridSearchCV / ours, by processors": theirs[1] / seconds,
        "C, ours and theirs": f"{ours.costs[0]:g}, {cost:g}",
        "objective at their C, (ours - theirs) / theirs": (here - there) / there,
        "macro F1 on held-out folds, largest difference in points": float(
            100 * np.abs(ours.scores - search.cv_results_["mean_test_score"]).max()
        ),
        "macro F1 on test vectors, ours and theirs": f"{scores[0]:.3f}, {scores[1]:.3f}",
    }


def ranking(queries: int, candidates: int, width: int) -> dict[str, float]:
    """Find the nearest 100 of many candidates, in a process of its own."""
    return alone(
        f"""
import numpy as np
from taskloom.learners.near import nearest
rng = np.random.default_rng(0)
asked, pool = (rng.standard_normal((n, {width}), dtype=np.float32) for n in ({queries}, {candidates}))
start = time.perf_counter()
nearest(asked, pool, 100)
figures["seconds"] = time.perf_counter() - start
figures["vectors, MB"] = (asked.nbytes + pool.nbytes) / 1e6
"""
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--vectors", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--candidates", type=int, default=100_000)
    parser.add_argument("--minilm", action="store_true", help="also 20 Newsgroups as vectors of minilm")
    parser.add_argument("--runs", type=int, default=1, help="runs of ours before and after theirs")
    given = parser.parse_args()
    title = f"the nearest 100 of {given.candidates:,} candidates for {given.queries:,} queries, 384 dimensions"
    report(title, ranking(given.queries, given.candidates, 384))
    report("a probe of 20 Newsgroups, TF-IDF in 384 axes", probes(newsgroups(tfidf), given.runs))
    if given.minilm:
        report("a probe of 20 Newsgroups, minilm", probes(newsgroups(minilm), given.runs))
    report("a probe of made-up vectors", probes(made_up(given.vectors, 384, 20), given.runs))


if __name__ == "__main__":
    main()
