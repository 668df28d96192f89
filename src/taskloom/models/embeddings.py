"""What an OpenAI-compatible endpoint answers that is asked for vectors, read with care: it may be anything."""

from __future__ import annotations

from typing import Any

LARGEST = 3.4e38  # that vectors of single precision hold


def is_embeddings(body: Any) -> bool:
    """Tell whether an answer has vectors, each with its place."""
    data = body.get("data") if isinstance(body, dict) else None
    return isinstance(data, list) and all(isinstance(one, dict) and _is_vector(one.get("embedding")) for one in data)


def vectors(body: Any, count: int) -> list[list[float]]:
    """Read the vectors of so many texts, in their order; none where they are not one for each.

    >>> vectors({"data": [{"index": 1, "embedding": [2.0]}, {"index": 0, "embedding": [1.0]}]}, 2)
    [[1.0], [2.0]]
    """
    at_place = [one.get("index", at) for at, one in enumerate(body["data"])]
    if not all(type(at) is int for at in at_place):
        return []
    placed = {at: one["embedding"] for at, one in zip(at_place, body["data"], strict=True)}
    return (
        [placed[at] for at in range(count)] if placed.keys() == {*range(count)} == {*range(len(body["data"]))} else []
    )


def _is_vector(given: Any) -> bool:
    return isinstance(given, list) and bool(given) and all(type(n) in (int, float) and abs(n) <= LARGEST for n in given)
