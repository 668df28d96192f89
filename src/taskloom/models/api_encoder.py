"""Vectors from an OpenAI-compatible endpoint: key, budget, retries and kept replies are as for language models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import shorten

import numpy as np

from ..errors import ModelError, ModelUnavailableError
from ..ids import Json
from ..messages import Note
from ..texts import without_surrogates
from . import Array, embeddings
from .api import EMBEDDINGS, Api

TOGETHER = 64  # texts of a request
CHARACTERS = 1 << 16  # of a request, unless a single text has more


class ApiEncoder:
    """An endpoint that is asked for vectors."""

    forms: tuple[str, ...] = ()

    def __init__(self, api: Api) -> None:
        self.api, self.usage = api, api.usage
        self.width = 0  # of the vectors that it gave last

    def encode(self, texts: Sequence[str], form: str = "") -> Array:  # noqa: ARG002 (has none)
        """Ask for the vectors of texts, several in a request: (texts, width)."""
        batches = list(batched([without_surrogates(text) or " " for text in texts]))
        found = self._asked(batches)
        again = [[text] for batch, vectors in zip(batches, found, strict=True) if vectors is None for text in batch]
        alone = dict(zip((text for (text,) in again), self._asked(again), strict=True))  # or one is refused for all
        if refused := [text for text, vectors in alone.items() if vectors is None]:
            raise ModelError(
                Note.of("text-refused", text=shorten(refused[0], 100, placeholder=" ..."), url=self.api.url)
            )
        rows = [
            vector
            for batch, vectors in zip(batches, found, strict=True)
            for vector in (vectors if vectors is not None else [(alone[text] or [])[0] for text in batch])
        ]
        widths = sorted({*map(len, rows)})
        if len(widths) > 1 or (self.width and widths not in ([], [self.width])):
            raise ModelUnavailableError(Note.of("vectors-vary", widths=widths, url=self.api.url))
        self.width = widths[0] if widths else self.width
        return np.array(rows, dtype=np.float32).reshape(len(texts), self.width)

    def take(self, texts: Sequence[str], form: str = "") -> tuple[Array, list[int]]:
        """Give vectors; only the endpoint knows what does not fit."""
        return self.encode(texts, form), [0] * len(texts)

    def _asked(self, batches: Sequence[Sequence[str]]) -> list[list[list[float]] | None]:
        """Ask for the vectors of each batch; None where the endpoint refuses one as too long."""
        calls: list[tuple[str, dict[str, Json]]] = [
            (EMBEDDINGS, {"model": self.api.name, "input": list(batch), "encoding_format": "float"})
            for batch in batches
        ]
        found: list[list[list[float]] | None] = []
        for batch, body in zip(batches, self.api.asked(calls), strict=True):
            vectors = embeddings.vectors(body, len(batch)) if body is not None else None
            if vectors == []:
                raise ModelUnavailableError(Note.of("vectors-not-each", texts=len(batch), url=self.api.url))
            found.append(vectors)
        return found


def batched(texts: Sequence[str]) -> Iterator[list[str]]:
    """Put texts together, as many as a request should have.

    >>> [len(batch) for batch in batched(["owl"] * 100)]
    [64, 36]
    """
    batch: list[str] = []
    for text in texts:
        if batch and (len(batch) == TOGETHER or sum(map(len, batch)) + len(text) > CHARACTERS):
            yield batch
            batch = []
        batch.append(text)
    if batch:
        yield batch
