"""Encoders against sentence-transformers: same weights, texts and vectors, in one process; and against the cache.

sentence-transformers is installed apart (`make bench`). The share of the machine is that of its own matrix products:
multiplications of the model's tokens, without padding, over those of products by torch in the same run. These are large
square ones, or those of the model's own layers for a full batch, which are what it could reach at best. The best run of
each counts, for other work on the machine makes any of them slower.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from measure import interleaved, peak_mb, report
from taskloom.ids import shuffled
from taskloom.models.encoder import TOGETHER, TransformerEncoder
from taskloom.models.fetched import get
from taskloom.models.vectors import VectorCache
from taskloom.sources import packages
from taskloom.sources.files import RowFaults

RUNS = 5
SQUARE = 2048  # of the products that the machine is measured by
LONG = 1.0  # seconds of them: at its best for a moment, the machine is not what an encoder has


def texts_of(field: str, count: int) -> list[str]:
    rows = [row for _, row in packages.rows("arxiv", RowFaults())]
    return list(dict.fromkeys(str(rows[place][field]) for place in shuffled(len(rows), "bench")))[:count]


def operations(encoder: TransformerEncoder, texts: Sequence[str]) -> float:
    """Count the multiplications and additions of all matrix products for some texts."""
    of = encoder.net.config
    weights = 4 * of.hidden_size**2 + 2 * of.hidden_size * of.intermediate_size
    lengths = [len(row) for row in encoder.tokens(texts)[0]]
    return float(of.num_hidden_layers * sum(2 * weights * n + 4 * of.hidden_size * n**2 for n in lengths))


def product_rate(*shapes: tuple[int, int, int]) -> float:
    """Measure how many multiplications and additions a second products reach here: (n, k) times (k, m) for each."""
    made = [(torch.rand(n, k), torch.rand(k, m)) for n, k, m in shapes]
    start, times = time.perf_counter(), 0
    while (taken := time.perf_counter() - start) < LONG or not times:
        times += 1
        for one, other in made:
            one @ other
    return 2 * times * sum(n * k * m for n, k, m in shapes) / taken


def layer(encoder: TransformerEncoder) -> list[tuple[int, int, int]]:
    """Give the products of a layer for a full batch."""
    wide, inner = encoder.net.config.hidden_size, encoder.net.config.intermediate_size
    return [*[(TOGETHER, wide, wide)] * 4, (TOGETHER, wide, inner), (TOGETHER, inner, wide)]


def compared(encoder: TransformerEncoder, peer: object, texts: Sequence[str]) -> dict[str, float | str]:
    found: dict[str, np.ndarray] = {}
    square, own, seconds = list[float](), list[float](), list[float]()

    def by_taskloom() -> None:
        """Encode into an empty cache, as the first task of a run does."""
        with tempfile.TemporaryDirectory() as folder:
            os.environ["TASKLOOM_CACHE"] = folder
            start, cache = time.perf_counter(), VectorCache("minilm", "bench", "float32", lambda: encoder)
            found["taskloom"] = cache.take(texts)[0]
            cache.close()
            seconds.append(time.perf_counter() - start)

    def by_peer() -> None:
        found["peer"] = peer.encode(list(texts), show_progress_bar=False)  # type: ignore[attr-defined]

    by_taskloom()
    taken = interleaved(
        {
            "taskloom": by_taskloom,
            "square": lambda: square.append(product_rate((SQUARE, SQUARE, SQUARE))),
            "own": lambda: own.append(product_rate(*layer(encoder))),
            "peer": by_peer,
        },
        runs=RUNS,
    )
    done = operations(encoder, texts) / min(seconds)
    return {
        "texts": float(len(texts)),
        "tokens a text": statistics.fmean(len(row) for row in encoder.tokens(texts)[0]),
        "texts per second, taskloom": len(texts) / taken["taskloom"],
        "texts per second, sentence-transformers": len(texts) / taken["peer"],
        "times as fast": taken["peer"] / taken["taskloom"],
        "largest difference between vectors": float(np.abs(found["taskloom"] - found["peer"]).max()),
        "share of the rate of large square products": done / max(square),
        "share of the rate of the model's own products": done / max(own),
        "times as fast the second time, from the cache": taken["taskloom"] / second_time(encoder, texts),
    }


def second_time(encoder: TransformerEncoder, texts: Sequence[str]) -> float:
    """Measure how long vectors take that are kept, for a process that opens the cache anew."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TASKLOOM_CACHE"] = folder
        VectorCache("minilm", "bench", "float32", lambda: encoder).take(texts)

        def again() -> None:
            VectorCache("minilm", "bench", "float32", lambda: sys.exit("not kept")).take(texts)

        return interleaved({"again": again}, runs=RUNS)["again"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=256)
    arguments = parser.parse_args()
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        print("bench_encoder: sentence-transformers is not installed; see the Makefile's target `bench`")
        sys.exit(0)
    place: Path = get("minilm")
    ours, theirs = TransformerEncoder.load(place), SentenceTransformer(str(place), device="cpu")
    for title, field, count in (("titles", "title", 4), ("abstracts", "abstract", 1)):
        texts = texts_of(field, count * arguments.count)
        report(f"{title}, all-MiniLM-L6-v2, fresh texts", compared(ours, theirs, texts))
    report("this process", {"peak MB": peak_mb()})
