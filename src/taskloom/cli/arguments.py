"""Arguments and options that several verbs have, explained in the same way everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

from ..errors import UsageError
from ..messages import Note
from ..texts import LONE_SURROGATE
from . import shell_completion as complete

MOST = 1_000_000  # items, shots, tasks and such
MOST_STEPS = 10**9  # of training
MOST_TOKENS = 10**15
MOST_SEED = 2**32 - 1  # that every generator of random numbers takes
SHOWN = 200  # characters of a value

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
SuiteFolder = Annotated[Path, typer.Argument(metavar="SUITE", help="A suite's folder.")]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.")]
TrustCode = Annotated[
    bool,
    typer.Option(
        "--trust-code",
        help="Run learner files that the run names, and ask its endpoints; only for runs that you trust.",
    ),
]
ReportForm = Annotated[
    str,
    typer.Option(metavar="FORMAT", help="terminal, md, csv, tex, json, html or items.", autocompletion=complete.forms),
]
ReportFile = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="The file to write, instead of standard output.")
]
StudyName = Annotated[
    str,
    typer.Argument(
        metavar="STUDY", help="A study: a YAML file, or a name of `taskloom list studies`.",
        autocompletion=complete.studies,
    ),
]  # fmt: skip
ModelName = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A model: a name of `taskloom list models`, hf:ORG/NAME[@REVISION], path:FOLDER or pypi:PACKAGE==VERSION.",
        autocompletion=complete.short_models,
    ),
]
ModelNames = Annotated[
    list[str],
    typer.Argument(
        metavar="MODEL...",
        help="Models: names of `taskloom list models`, hf:ORG/NAME[@REVISION] or pypi:PACKAGE==VERSION.",
        autocompletion=complete.short_models,
    ),
]
DataName = Annotated[
    str,
    typer.Argument(metavar="NAME", help="A data set: a name of `taskloom list data`.", autocompletion=complete.data),
]
DataNames = Annotated[
    list[str],
    typer.Argument(
        metavar="NAME...", help="Data sets: names of `taskloom list data`.", autocompletion=complete.data
    ),
]  # fmt: skip


def check_given(params: Iterable[Any], given: Mapping[str, Any], verb: Callable[..., Any]) -> None:
    """Refuse values, as they were typed, that no file and no report can hold, and paths that are empty.

    An empty path would be the working folder.
    """
    hints = get_type_hints(verb)
    for param in params:
        for text in _texts(given.get(param.name)):
            if "\0" in text or LONE_SURROGATE.search(text):
                raise UsageError(Note.of("argument-unwritable", name=_called(param), given=ascii(text)[:SHOWN]))
            if not text and Path in (hints.get(param.name), *get_args(hints.get(param.name))):
                raise UsageError(Note.of("argument-empty", name=_called(param)))


def _texts(given: Any) -> Sequence[str]:
    several = given if isinstance(given, list | tuple) else [given]  # which is True of a flag
    return [text for text in several if isinstance(text, str)]


def _called(param: Any) -> str:
    """Name a parameter as help does."""
    return str(param.opts[0] if param.param_type_name == "option" else param.metavar or param.name)
