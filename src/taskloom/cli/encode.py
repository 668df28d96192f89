"""The verb encode: vectors of documents, and nothing else."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import console
from ..errors import UsageError
from ..folders import check_output, temporary_folder
from ..limits import expanded
from ..messages import Note
from ..texts import counted
from .arguments import ModelName

STDOUT = "vectors.parquet"  # what is written to standard output


def encode(
    name: ModelName,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE", help="Documents: JSONL, CSV, TSV or Parquet. Standard input (JSONL or CSV) if left out."
        ),
    ] = None,
    *,
    form: Annotated[
        str,
        typer.Option(
            "--format", metavar="FORM", help="The form of the vectors: CLF, RGN, PRX, QRY, or another of the encoder's."
        ),
    ] = "",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The file to write: .parquet, .jsonl or .npy. Parquet to standard output if left out.",
        ),
    ] = None,
    field: Annotated[
        list[str],
        typer.Option(metavar="NAME", help="A field that is a part of the text; title and abstract if left out."),
    ] = [],  # noqa: B006
    id_column: Annotated[
        str, typer.Option("--id", metavar="NAME", help="The field with the id, if not a usual one such as doc_id.")
    ] = "",
    separator: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What stands between fields; a line break if left out.")
    ] = None,
    pooling: Annotated[
        str, typer.Option(metavar="NAME", help="The token or tokens of a vector: cls, mean or last.")
    ] = "",
    adapter: Annotated[
        list[str],
        typer.Option(metavar="FORM=FOLDER", help="An adapter of a form, as the package adapters saves it."),
    ] = [],  # noqa: B006
    file_encoding: Annotated[str, typer.Option(metavar="NAME", help="The encoding of the file, if not UTF-8.")] = "",
    delimiter: Annotated[
        str | None, typer.Option(metavar="CHAR", help="The delimiter of a CSV file, if not a comma.")
    ] = None,
    on_error: Annotated[
        str,
        typer.Option(metavar="stop|skip", help="Rows with errors: stop and list them (default), or skip and count."),
    ] = "stop",
) -> None:
    """Encode documents: a vector for each, in the cache and in a file."""
    from ..models.document_vectors import DocumentFile, encode_file
    from ..models.load import source
    from ..sources.document_rows import Columns
    from ..sources.files import Layout

    if on_error not in ("stop", "skip"):
        raise UsageError(f"--on-error must be stop or skip: {on_error!r}")
    if output is None and sys.stdout.isatty():
        raise UsageError(Note.of("parquet-to-terminal"))
    _check_output(output, file, name, adapter)
    options: dict[str, Any] = {"pooling": pooling, "adapters": _adapters(adapter)}
    of = source(name, {option: value for option, value in options.items() if value})
    columns = Columns(fields=tuple(field), id=id_column) if field else Columns(id=id_column)
    more: dict[str, Any] = {"columns": columns, "on_error": on_error}
    more |= {"separator": separator} if separator is not None else {}
    with _input(file) as (path, kind), _output(output) as aside:
        layout = Layout(format=kind)
        layout = replace(layout, encoding=file_encoding) if file_encoding else layout
        layout = replace(layout, delimiter=delimiter) if delimiter is not None else layout
        given = DocumentFile(path=path, layout=layout, **more)
        with console.progress(f"encoding with {name}") as progress:
            found = encode_file(name, of, given, aside, form=form, progress=progress)
    told = f"{counted(found.documents, 'document')}, {found.width:,} numbers each"
    console.note(told + (f": {output}" if output else ""))
    if found.cut:
        console.note(f"{counted(found.cut, 'document')} too long, cut at the end")
    if found.skipped:
        console.note(f"{counted(found.skipped, 'row')} with errors, skipped")


def _check_output(output: Path | None, file: Path | None, model: str, adapters: list[str]) -> None:
    """Refuse a file that vectors can't be written to, or that they are made of."""
    from ..models.document_vectors import ids_beside, writer_for

    writer_for(output or Path(STDOUT))  # refuses other endings
    folders = [expanded(folder) for folder in _adapters(adapters).values()]
    named = [expanded(model.partition(":")[2])] if model.startswith(("path:", "vectors:")) else []
    for path in (output, ids_beside(output)) if output else ():
        check_output(path, [*([file] if file else []), *named, *folders])


def _adapters(given: list[str]) -> dict[str, str]:
    """Read the folders of adapters by form."""
    pairs = [text.partition("=") for text in given]
    if wrong := [text for text, (form, _, folder) in zip(given, pairs, strict=True) if not (form and folder)]:
        raise UsageError(f"--adapter must be FORM=FOLDER: {wrong[0]!r}")
    return {form: folder for form, _, folder in pairs}


@contextmanager
def _input(file: Path | None) -> Iterator[tuple[Path, str]]:
    """Give a file, and its format where its name does not say it; standard input is put into one, to be read twice."""
    if file is not None:
        yield file, ""
        return
    if sys.stdin.isatty():
        raise UsageError(Note.of("documents-on-terminal"))
    if _is_endless(sys.stdin.buffer):
        raise UsageError(Note.of("file-not-regular", path="standard input"))
    with temporary_folder() as folder:
        path = folder / "standard input"
        with path.open("wb") as handle:
            shutil.copyfileobj(sys.stdin.buffer, handle)
        with path.open("rb") as handle:
            begins = handle.read(1 << 16).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
        yield path, {b"{": "jsonl", b"": "jsonl", b"[": "json"}.get(begins, "csv")


def _is_endless(stream: Any) -> bool:
    """Tell a device that gives something: it would fill the disk."""
    try:
        return stat.S_ISCHR(os.fstat(stream.fileno()).st_mode) and bool(stream.peek(1))
    except OSError:  # it is in memory
        return False


@contextmanager
def _output(file: Path | None) -> Iterator[Path]:
    """Give the file to write; what goes to standard output is written when all is there."""
    if file is not None:
        yield file
        return
    with temporary_folder() as folder:
        path = folder / STDOUT
        yield path
        with path.open("rb") as handle:
            shutil.copyfileobj(handle, sys.stdout.buffer)
