"""Vectors of a file of documents, for those who want nothing else: ids and vectors as Parquet, JSON Lines or NumPy."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import IO, Protocol, cast

import numpy as np

from ..errors import SourceError, UnknownNameError, UsageError
from ..folders import output_scratch, put_output
from ..messages import Note
from ..progress import Progress
from ..sources import files
from ..sources.document_rows import Columns, documents
from ..sources.embeddings import ID, VECTOR
from ..sources.files import Layout, OnError, RowFaults
from . import Array
from .load import EncoderSource, Source
from .vectors import VectorCache

TOGETHER = 512  # documents whose vectors are asked for at once


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFile:
    """A file of documents, and what of them is read."""

    path: Path
    columns: Columns
    separator: str = "\n"  # between the fields of a document, as tasks have it
    layout: Layout | None = None
    on_error: OnError = "stop"

    def texts(self, faults: RowFaults) -> Iterator[tuple[str, str]]:
        """Yield the id and the text of each document."""
        for id_, fields in self._documents(faults):
            yield id_, self.separator.join(fields.values())

    def _documents(self, faults: RowFaults) -> Iterator[tuple[str, dict[str, str]]]:
        return documents(files.read(self.path, faults, self.layout), self.columns, faults)

    def count(self) -> tuple[int, int]:
        """Count documents and rows with errors; where these are not to be skipped, name them all."""
        faults = RowFaults(self.on_error, other_encoding=files.BY_OPTION, has_delimiter=True)
        found, named = 0, set[str]()
        for _, fields in self._documents(faults):
            found += 1
            named |= fields.keys()
        faults.settle()
        if not found:
            raise SourceError(Note.of("file-without-documents", path=self.path))
        if self.columns.fields != Columns().fields and (lacking := [f for f in self.columns.fields if f not in named]):
            raise SourceError(Note.of("document-fields-missing", fields=lacking, path=self.path))
        return found, faults.count


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    """What was done with a file of documents."""

    documents: int
    width: int
    skipped: int  # rows with errors
    cut: int  # documents that were too long, and lost their end


class Writer(Protocol):
    """What writes vectors to a file, a part at a time."""

    def __enter__(self) -> Writer:
        """Begin."""

    def __exit__(self, kind: type[BaseException] | None, of: BaseException | None, at: TracebackType | None) -> None:
        """Finish the file."""

    def write(self, ids: Sequence[str], vectors: Array) -> None:
        """Write the vectors of some documents."""


def encode_file(
    name: str, of: Source, given: DocumentFile, output: Path, *, form: str = "", progress: Progress | None = None
) -> Encoded:
    """Encode the documents of a file, as far as their vectors are not in the cache, and write them to another."""
    cache = _cache(name, of, form)
    make = writer_for(output)
    total, skipped = given.count()
    done = cut = width = 0
    with output_scratch(output) as scratch:
        aside = scratch / output.name
        with make(aside) as writer:
            texts = given.texts(RowFaults("skip"))
            while some := [*islice(texts, TOGETHER)]:
                vectors, lost = cache.take([text for _, text in some], form)
                writer.write([id_ for id_, _ in some], vectors)
                done, cut, width = done + len(some), cut + sum(map(bool, lost)), vectors.shape[1]
                if progress:
                    progress(done, total)
        cache.close()
        for made in sorted(scratch.iterdir()):
            put_output(made, output.with_name(made.name))
    return Encoded(documents=done, width=width, skipped=skipped, cut=cut)


def writer_for(path: Path) -> Callable[[Path], Writer]:
    """Choose how vectors are written by the ending of a file."""
    if path.suffix not in WRITERS:
        raise UsageError(Note.of("vectors-ending", endings=[*WRITERS], path=path))
    return WRITERS[path.suffix]


def ids_beside(path: Path) -> Path:
    """Say where the ids of documents lie whose vectors are in a NumPy file."""
    return path.with_suffix(".ids.json")


def _cache(name: str, of: Source, form: str) -> VectorCache:
    if "vectors" not in of.can:
        raise UsageError(Note.of("not-an-encoder", model=name))
    encoder = cast(EncoderSource, of)
    if form and form not in encoder.forms():
        raise UnknownNameError("form", form, encoder.forms())
    return VectorCache(
        name, of.identity(), encoder.vector_dtype, lambda: encoder.open_encoder(Path()), encoder.forms()
    )  # fmt: skip


class ParquetVectors:
    """Columns `doc_id` and `embedding`, as `vectors:FILE` reads them."""

    def __init__(self, path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.pa = pa
        self.schema = pa.schema([(ID, pa.string()), (VECTOR, pa.list_(pa.float32()))])
        self.file = pq.ParquetWriter(path, self.schema, compression="zstd")

    def __enter__(self) -> ParquetVectors:
        return self

    def __exit__(self, kind: type[BaseException] | None, of: BaseException | None, at: TracebackType | None) -> None:
        self.file.close()

    def write(self, ids: Sequence[str], vectors: Array) -> None:
        """Write a row group."""
        starts = np.arange(len(ids) + 1, dtype=np.int32) * vectors.shape[1]
        lists = self.pa.ListArray.from_arrays(starts, np.ascontiguousarray(vectors, np.float32).reshape(-1))
        self.file.write_table(self.pa.table([self.pa.array([*ids]), lists], schema=self.schema))


class JsonVectors:
    """Lines of {doc_id, embedding}."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("w", encoding="utf-8", newline="\n")

    def __enter__(self) -> JsonVectors:
        return self

    def __exit__(self, kind: type[BaseException] | None, of: BaseException | None, at: TracebackType | None) -> None:
        self.file.close()

    def write(self, ids: Sequence[str], vectors: Array) -> None:
        """Write a line for each vector, with as many digits as single precision has."""
        for id_, vector in zip(ids, vectors, strict=True):
            rounded = [float(f"{value:.9g}") for value in vector.tolist()]
            self.file.write(json.dumps({ID: id_, VECTOR: rounded}, ensure_ascii=False) + "\n")


class NumpyVectors:
    """An array (documents, width), and the ids in `NAME.ids.json` beside it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ids: list[str] = []
        self.parts: list[Array] = []

    def __enter__(self) -> NumpyVectors:
        return self

    def __exit__(self, kind: type[BaseException] | None, of: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            with self.path.open("wb") as file:
                _write_array(file, np.concatenate(self.parts))
            ids_beside(self.path).write_text(json.dumps(self.ids, ensure_ascii=False), encoding="utf-8")

    def write(self, ids: Sequence[str], vectors: Array) -> None:
        """Keep vectors until all are there."""
        self.ids += ids
        self.parts.append(np.asarray(vectors, np.float32))


def _write_array(file: IO[bytes], array: Array) -> None:
    """Write as `np.save` does, whose error does not tell a full disk."""
    np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
    file.write(array.data)


WRITERS: Mapping[str, Callable[[Path], Writer]] = {
    ".parquet": ParquetVectors,
    ".jsonl": JsonVectors,
    ".npy": NumpyVectors,
}
