"""The verb ask: what a model answers to a text of one's own."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import console
from ..errors import UsageError
from ..limits import parse_json, refuse_no_file
from ..messages import Note, text_of
from ..texts import without_surrogates
from . import shell_completion as complete
from .arguments import MOST, MOST_SEED, AsJson, TrustCode

if TYPE_CHECKING:
    from ..core import Task
    from ..learners import Response

MOST_BYTES = 16 << 20  # of a text


def ask(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL|LEARNER",
            help="A name of `list models`, path:FOLDER, hf:ORG/NAME or api:NAME@URL; or a model or learner of --run.",
            autocompletion=complete.models,
        ),
    ],
    task: Annotated[
        str, typer.Argument(metavar="TASK", help="A task of the suite, or any field task such as 'abstract->title'.")
    ],
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="The text, or JSON Lines; standard input where none is named."),
    ] = None,
    *,
    suite: Annotated[Path | None, typer.Option(metavar="SUITE", help="A suite's folder, that has the task.")] = None,
    run: Annotated[Path | None, typer.Option(metavar="RUN", help="A run's folder, that has the model.")] = None,
    shots: Annotated[
        int, typer.Option(metavar="N", min=0, max=MOST, help="Examples of the suite that the model is shown.")
    ] = 0,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, max=MOST_SEED, help="The seed of examples, and of trained models.")
    ] = 0,
    trust_code: TrustCode = False,
    as_json: AsJson = False,
) -> None:
    """Ask a model about a text of your own."""
    from ..studies.asking import asking

    if trust_code and not run:
        raise UsageError("--trust-code needs --run")
    asked = asking(model, task, suite=suite, run=run, shots=shots, seed=seed, trust_code=trust_code)
    texts = read_texts(_text(file, asked.fields), asked.fields)
    found, counts = asked.answers(texts)
    for given, response in zip(texts, found, strict=True):
        if as_json or len(texts) > 1:
            console.line(json.dumps(_told(asked.task, given, response), ensure_ascii=False))
        else:
            console.line(_written(asked.task, response))
    for code, count in counts.items():
        console.note(text_of(code) + (f" ({count:,} times)" if count > 1 else ""))
    if unread := sum(not _is_read(response) for response in found):
        console.note(str(Note.of("ask-unparsable", count=unread, kind=asked.task.output.kind)))
        raise typer.Exit(1)


def _text(file: Path | None, fields: Sequence[str]) -> str:
    """Read what is asked about."""
    if file:
        refuse_no_file(file, pipes=True)
    if not file and sys.stdin.isatty():
        console.note(f"reading {' and '.join(fields)} from the terminal; end with Ctrl-D")
    with file.open("rb") if file else nullcontext(sys.stdin.buffer) as handle:
        content: bytes = handle.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise UsageError(f"a text must not be longer than {MOST_BYTES:,} bytes: {file or 'standard input'}")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"not UTF-8 ({error.reason} at byte {error.start}): {file or 'standard input'}") from None


def read_texts(text: str, fields: Sequence[str]) -> list[dict[str, str]]:
    """Read what is asked about: a text for a task with one field, or JSON Lines with the task's fields.

    >>> read_texts(" A text. ", ["abstract"]), read_texts('{"a": "x", "b": "y"}', ["a", "b"])
    ([{'abstract': 'A text.'}], [{'a': 'x', 'b': 'y'}])
    """
    if not text.strip():
        raise UsageError(Note.of("ask-empty", fields=list(fields)))
    if text.lstrip().startswith("{"):
        return [_object(line, number) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if len(fields) > 1:
        raise UsageError(Note.of("ask-several", fields=list(fields)))
    return [{fields[0]: text.strip()}]


def _object(line: str, number: int) -> dict[str, str]:
    try:
        found = parse_json(line)
    except ValueError as error:
        raise UsageError(f"line {number} starts like JSON and is not JSON ({error})") from None
    if not isinstance(found, dict):
        raise UsageError(f"line {number} must be a JSON object")
    return {name: without_surrogates(text) if isinstance(text, str) else text for name, text in found.items()}


def _written(task: Task, response: Response) -> str:
    from ..prompts import write

    if isinstance(response.answer, dict):
        return task.separator.join("" if part is None else str(part) for part in response.answer.values())
    return (response.raw or "") if response.answer is None else write(task, response.answer)


def _is_read(response: Response) -> bool:
    parts = response.answer.values() if isinstance(response.answer, dict) else (response.answer,)
    return all(part is not None for part in parts)


def _told(task: Task, given: Mapping[str, str], response: Response) -> dict[str, Any]:
    told: dict[str, Any] = {"task": task.id, **given, "answer": response.answer}
    if response.raw is not None:
        told["raw"] = response.raw
    return told | ({"options": dict(response.options)} if response.options else {})
