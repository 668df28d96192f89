"""Vectors that were made elsewhere, by the ids of their documents: `vectors:FILE`.

A file has JSON Lines of {doc_id, embedding}, as SciRepEval releases them, or the same columns in Parquet.
"""

# ruff: noqa: ARG002 - sources are all asked the same

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ..errors import ModelError
from ..ids import Json
from ..messages import Note
from ..progress import Progress
from ..sources.embeddings import Embeddings, read_embeddings
from . import Ability, Array, Encoder, LanguageModel, Measure, Unmeasured, Usage
from .weight_files import content

PREFIX = "vectors:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Precomputed:
    """A file of vectors, in place of a model."""

    load: str
    vector_dtype: ClassVar[str] = "float32"
    can: ClassVar[frozenset[Ability]] = frozenset({"vectors"})

    @property
    def path(self) -> Path:
        """Give the file."""
        return Path(self.load.removeprefix(PREFIX))

    def lacks(self) -> Sequence[Note]:
        """Lack the file, where it is not there."""
        return () if self.path.is_file() else (Note.of("vectors-file-missing", path=self.path),)

    def identity(self) -> Json:
        """Name the vectors by the content of their file."""
        if not self.path.is_file():
            raise ModelError(Note.of("vectors-file-missing", path=self.path))
        return {"vectors": content(self.path)}

    def parameters(self) -> None:
        """Say nothing: what made the vectors is not known."""

    def get(self, progress: Progress | None = None) -> None:
        """Fetch nothing."""

    def measure(self) -> Measure:
        """Count no tokens."""
        return Unmeasured()

    def open(self, run: Path, *, workers: int = 1) -> LanguageModel:
        """Refuse: vectors write nothing."""
        raise ModelError(Note.of("vectors-alone", model=self.load))

    def forms(self, added: Sequence[Path] = ()) -> tuple[str, ...]:
        """Have none: a document has one vector."""
        return ()

    def open_encoder(self, run: Path, added: Sequence[Path] = (), *, workers: int = 1) -> Encoder:
        """Refuse: no other text can be encoded."""
        raise ModelError(Note.of("vectors-alone", model=self.load))

    def vectors(self) -> DocumentVectors:
        """Read the file, when the first vector is asked for."""
        return DocumentVectors(self)


class DocumentVectors:
    """The vectors of a file, by the ids of documents."""

    by_id = True
    forms: tuple[str, ...] = ()

    def __init__(self, of: Precomputed) -> None:
        self.of, self.usage, self.encoding = of, Usage(), 0.0
        self.read: Embeddings | None = None

    @property
    def encoder(self) -> Encoder:
        """Refuse: there is none."""
        raise ModelError(Note.of("vectors-alone", model=self.of.load))

    def take(self, given: Sequence[str], form: str = "") -> tuple[Array, list[int]]:
        """Give the vector of each document; all that have none are named."""
        if self.read is None:
            self.read = read_embeddings(self.of.path)
        if lost := self.read.missing(given):
            raise ModelError(Note.of("vectors-missing", count=len(lost), ids=lost))
        return self.read.rows(given), [0] * len(given)
