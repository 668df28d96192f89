"""Questions and instructions to sheets that people fill in: CSV for a spreadsheet, JSON lines for a program."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from ..core import Task
from ..errors import UsageError
from ..folders import check_output, is_stream, write_output, write_outputs
from ..prompts import write as written
from ..texts import inert
from .judgements import CHOICES, SCALE
from .questions import Questions, tidy

COMPARED = ("choice", "rater", "comment")  # columns that people fill in
RATED = ("rating", "typos", "clarity", "rater")
TOLD = {  # columns of which a spreadsheet is to tell people what they may say
    "choice": f"choice ({', '.join(CHOICES[:-1])} or {CHOICES[-1]})",
    "rating": f"rating ({SCALE[0]} to {SCALE[-1]})",
}
KEY = ".key.jsonl"
ENDINGS = (".csv", ".jsonl")
LARGEST_CELL = 32_767  # characters, in a spreadsheet

Rows = Sequence[Mapping[str, str]]


def comparison_rows(questions: Questions) -> list[dict[str, str]]:
    """Lay questions out, with empty cells for what people say."""
    return [asdict(question) | dict.fromkeys(COMPARED, "") for question in questions.asked]


def rating_rows(tasks: Sequence[Task]) -> list[dict[str, str]]:
    """Lay instructions out, with empty cells for what people say."""
    return [
        {
            "id": task.id,
            "definition": tidy(task.instruction),
            "positive": _examples(task, right=True),
            "negative": _examples(task, right=False),
        }
        | dict.fromkeys(RATED, "")
        for task in tasks
    ]


def _examples(task: Task, *, right: bool) -> str:
    """Write the examples of an instruction for people to read."""
    shown = [one for one in task.examples if one.right == right]
    parts = []
    for number, one in enumerate(shown, 1):
        lines = [
            f"{number}. Input: {tidy(task.separator.join(one.fields.values()))}",
            f"Output: {tidy(written(task, one.answer))}",
        ]
        parts.append("\n".join([*lines, *([f"Why: {tidy(one.why)}"] if one.why.strip() else [])]))
    return "\n\n".join(parts)


def key_path(sheet: Path) -> Path:
    """Say where the key to a sheet lies.

    >>> key_path(Path("asked/sheet.csv")).as_posix()
    'asked/sheet.key.jsonl'
    """
    return sheet.with_suffix(KEY)


def write_comparisons(questions: Questions, path: Path, *, replace: bool = False) -> None:
    """Write a sheet of questions, and beside it the key, which is not for raters."""
    if not questions.asked:
        raise UsageError(f"nothing to compare: all answers equal the reference or are unusable: {len(questions.key):,}")
    refuse_to_clobber(path, key_path(path), replace=replace)
    key = _jsonl([asdict(pair) for pair in questions.key])
    write_outputs({key_path(path): key, path: _text(path, comparison_rows(questions))})


def write_ratings(tasks: Sequence[Task], path: Path, *, replace: bool = False) -> None:
    """Write a sheet of instructions."""
    if not tasks:
        raise UsageError(f"no tasks to rate: {path}")
    refuse_to_clobber(path, replace=replace)
    write_output(path, _text(path, rating_rows(tasks)))


def refuse_to_clobber(*paths: Path, replace: bool, inputs: Iterable[Path] = ()) -> None:
    """Refuse a sheet of an unknown kind, inputs, and files that are there unless they are to be replaced."""
    if paths[0].suffix.lower() not in ENDINGS:
        raise UsageError(f"the name of a sheet must end in {' or '.join(ENDINGS)}: {paths[0]}")
    for path in paths:
        check_output(path, inputs)
    there = [path for path in paths if path.exists() and not is_stream(path)]
    if there and not replace:
        raise UsageError(f"exists; use --force to replace it: {', '.join(map(str, there))}")


def too_long(rows: Rows) -> int:
    """Count the cells that a spreadsheet would cut."""
    return sum(len(cell) > LARGEST_CELL for row in rows for cell in row.values())


def _text(path: Path, rows: Rows) -> str:
    return _csv(rows) if path.suffix.lower() == ".csv" else _jsonl(rows)


def _csv(rows: Rows) -> str:
    """Write cells that no spreadsheet works out; the mark in front says UTF-8 to those that would guess."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow([TOLD.get(name, name) for name in rows[0]])
    writer.writerows([inert(cell) for cell in row.values()] for row in rows)
    return "\ufeff" + text.getvalue()


def _jsonl(rows: Sequence[Mapping[str, str | int]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
