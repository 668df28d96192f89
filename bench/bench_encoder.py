"""Encoders against sentence-transformers: same weights, texts and vectors, in one process; and against the cache.

sentence-transformers is installed apart (`make bench`). The share of the machine is that of its own matrix products:
multiplications of the model's tokens, without padding, over those of large products by torch in the same run.
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
from taskloom.models.encoder import TransformerEncoder
from taskloom.models.fetched import get
from taskloom.models.vectors import VectorCache
from taskloom.sources import packages
from taskloom.sources.files import RowFaults

RUNS = 5
SQUARE = 2048  # of the products that the machine is measured by


def texts_of(field: str, count: int) -> list[str]:
    rows = [row for _, row in packages.rows("papers", RowFaults()) if row["language"] == "en"]
    return [str(rows[place][field]) for place in shuffled(len(rows), "bench")][:count]


def operations(encoder: TransformerEncoder, texts: Sequence[str]) -> float:
    """Count the multiplications and additions of all matrix products for some texts."""
    of = encoder.net.config
    weights = 4 * of.hidden_size**2 + 2 * of.hidden_size * of.intermediate_size
    lengths = [len(row) for row in encoder.tokens(texts)[0]]
    return float(of.num_hidden_layers * sum(2 * weights * n + 4 * of.hidden_size * n**2 for n in lengths))


def product_rate() -> float:
    """Measure how many multiplications and additions a second large products reach here."""
    one, other = torch.rand(SQUARE, SQUARE), torch.rand(SQUARE, SQUARE)
    taken = []
    for _ in range(5):
        start = time.perf_counter()
        one @ other
        taken.append(time.perf_counter() - start)
    return 2 * SQUARE**3 / statistics.median(taken)


def compared(encoder: TransformerEncoder, peer: object, texts: Sequence[str]) -> dict[str, float | str]:
    found: dict[str, np.ndarray] = {}
    rates: list[float] = []

    def by_taskloom() -> None:
        """Encode into an empty cache, as the first task of a run does."""
        with tempfile.TemporaryDirectory() as folder:
            os.environ["TASKLOOM_CACHE"] = folder
            cache = VectorCache("minilm", "bench", "float32", lambda: encoder)
            found["taskloom"] = cache.take(texts)[0]
            cache.close()

    def by_peer() -> None:
        found["peer"] = peer.encode(list(texts), show_progress_bar=False)  # type: ignore[attr-defined]

    by_taskloom()
    work = {"taskloom": by_taskloom, "peer": by_peer, "products": lambda: rates.append(product_rate())}
    taken = interleaved(work, runs=RUNS)
    done = operations(encoder, texts) / taken["taskloom"]
    return {
        "texts": float(len(texts)),
        "tokens a text": statistics.fmean(len(row) for row in encoder.tokens(texts)[0]),
        "texts per second, taskloom": len(texts) / taken["taskloom"],
        "texts per second, sentence-transformers": len(texts) / taken["peer"],
        "times as fast": taken["peer"] / taken["taskloom"],
        "largest difference between vectors": float(np.abs(found["taskloom"] - found["peer"]).max()),
        "share of the machine's own matrix products": done / statistics.median(rates),
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
    for title, field in (("abstracts", "abstract"), ("titles", "title")):
        report(f"{title}, all-MiniLM-L6-v2, fresh texts", compared(ours, theirs, texts_of(field, arguments.count)))
    report("this process", {"peak MB": peak_mb()})
