"""The verbs of suites: build, show, check, bridge; and list, which says what goes by a name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from .. import console
from ..core import DROPPED
from ..errors import UsageError
from ..messages import counted_text
from ..texts import counted
from . import shell_completion as complete

AUTO = "auto"
LISTED = ("benchmarks", "data", "learners", "metrics", "models", "studies")
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
FLAGS = {  # by option
    "fields": "--field", "separators": "--separator", "columns": "--column", "id_column": "--id", "pools": "--pool",
}  # fmt: skip
SuiteFolder = Annotated[Path, typer.Argument(metavar="SUITE", help="A suite's folder.")]


def build(
    name: Annotated[
        str,
        typer.Argument(
            metavar="BENCHMARK", help="One of `taskloom list benchmarks`.", autocompletion=complete.benchmarks
        ),
    ],
    source: Annotated[
        list[str],
        typer.Argument(
            help="A file (CSV, TSV, JSONL, Parquet, .gz), a folder of task files, data:NAME or hub:NAME.",
            autocompletion=complete.sources,
        ),
    ] = [],  # noqa: B006
    *,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The folder to write; of auto: suites/NAME by default.")
    ] = None,
    field: Annotated[list[str], typer.Option(help="name:kind[:title]; kinds: text, list, label, number.")] = [],  # noqa: B006
    column: Annotated[list[str], typer.Option(help="field=column, where their names differ.")] = [],  # noqa: B006
    where: Annotated[list[str], typer.Option(help="column=value: keep only these rows.")] = [],  # noqa: B006
    split: Annotated[str, typer.Option(help="The column that has train, dev (or validation) or test.")] = "",
    pool: Annotated[
        list[str], typer.Option(help="value=pool, where the split column has other values: train, dev, test or drop.")
    ] = [],  # noqa: B006
    train: Annotated[list[str], typer.Option(help="A file of training rows, instead of a split column.")] = [],  # noqa: B006
    dev: Annotated[list[str], typer.Option(help="A file of development rows.")] = [],  # noqa: B006
    id_column: Annotated[
        str, typer.Option("--id", help="The column that names a record; else rows are numbered.")
    ] = "",
    venues: Annotated[str, typer.Option(help="A table that adds labels by the value of its first column.")] = "",
    language: Annotated[str, typer.Option(help="en, zh, ...: how texts are measured.")] = "",
    separator: Annotated[list[str], typer.Option(help="field=text that stands between the terms of a list.")] = [],  # noqa: B006
    file_encoding: Annotated[str, typer.Option(help="The file's encoding, if not UTF-8.")] = "",
    delimiter: Annotated[str, typer.Option(help="What stands between the cells of a CSV file, if not a comma.")] = "",
    test: Annotated[
        list[str],
        typer.Option(help="A file of test rows; of task files: a task, pattern or category to hold out."),
    ] = [],  # noqa: B006
    on_error: Annotated[
        str, typer.Option(help="stop: name all faults, the default; skip: leave those rows out and count them.")
    ] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace a suite that is there.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Of auto: print the command only, build nothing.")] = False,
) -> None:
    """Build a suite of tasks and write it to a folder."""
    from ..benchmarks import benchmark
    from ..benchmarks.auto import Auto
    from ..suites.store import refuse_to_clobber, write
    from ..suites.table_faults import table_faults
    from .listings_build import show_guesses, show_table_faults

    given = {
        "fields": field, "separators": _assignments(separator), "columns": _assignments(column),
        "where": _assignments(where), "id_column": id_column, "venues": venues, "language": language,
        "on_error": on_error, "file_encoding": file_encoding, "delimiter": delimiter, "test": test,
        "split": split, "pools": _assignments(pool), "train": train, "dev": dev,
    }  # fmt: skip
    options = {option: value for option, value in given.items() if value}
    _refuse_flags(name, options)
    if len(source) > 1 and name != AUTO:
        raise UsageError(f"{name} is built from one source: {', '.join(source)}")
    of = benchmark(name, source if name == AUTO else "".join(source), options)
    if isinstance(of, Auto):
        output = output or Path("suites") / of.name
        show_guesses(of, str(output), dry_run=dry_run)
    if output is None or (dry_run and name != AUTO):
        raise UsageError("name the folder to write: -o SUITE" if output is None else f"--dry-run is for {AUTO}: {name}")
    if dry_run:
        return
    refuse_to_clobber(output, replace=force)  # before the work, and again when it is written
    suite = write(of.build(), output, replace=force)
    for told in ("note", DROPPED, "leakage", "faults"):
        if suite.about.get(told):
            console.note(f"{told}: {_told(suite.about[told])}")
    show_table_faults(table_faults(suite))
    console.line(f"{output}: {counted(len(suite.tasks), 'task')}, fingerprint {suite.fingerprint}")


def _refuse_flags(name: str, options: Iterable[str]) -> None:
    """Name the flags that a benchmark has no option for, and those that it has."""
    from ..benchmarks import option_names

    known = option_names(name)
    if odd := [_flag(option) for option in options if option not in known]:
        taken = ", ".join(_flag(option) for option in known if option not in ("source", "files"))
        raise UsageError(f"{name} takes a source and {taken}, but not {', '.join(odd)}")


def _flag(option: str) -> str:
    return FLAGS.get(option, "--" + option.replace("_", "-"))


def _assignments(texts: Sequence[str]) -> dict[str, str]:
    split = [text.partition("=") for text in texts]
    if wrong := [text for text, (_, equals, _) in zip(texts, split, strict=True) if not equals]:
        raise UsageError(f"not of the form name=value: {', '.join(wrong)}")
    return {name: value for name, _, value in split}


def _told(value: object) -> str:
    if isinstance(value, list):
        return counted_text(value) if isinstance(value[0], dict) else "\n  ".join(["", *value])
    return str(value)


def show(
    suite: SuiteFolder,
    task: Annotated[str, typer.Argument(help="A task of it.", autocompletion=complete.tasks)] = "",
    *,
    card: Annotated[bool, typer.Option("--card", help="Describe the table behind the tasks, or their tags.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="With --card: a page, instead of standard output.")
    ] = None,
    prompt: Annotated[bool, typer.Option("--prompt", help="Print the exact prompt of an item.")] = False,
    item: Annotated[str, typer.Option(help="With --prompt: the item's id, instead of the first.")] = "",
    encoding: Annotated[
        str,
        typer.Option(
            help="Which parts of an instruction: def+pos2, id, def+pos2+neg2+expl, none, ...",
            autocompletion=complete.encodings,
        ),
    ] = "",
    model: Annotated[
        str,
        typer.Option(help="Fit the prompt to this model's context, and count tokens.", autocompletion=complete.models),
    ] = "",
    everything: Annotated[bool, typer.Option("--all", help="List all on a terminal, too.")] = False,
    examples: Annotated[int, typer.Option("-n", min=0, help="How many examples of a task.")] = 3,
    as_json: AsJson = False,
) -> None:
    """Show a suite's tasks, one task with examples, or the suite's card."""
    from ..suites.store import open_suite
    from . import listings

    if prompt and (as_json or not task):
        raise UsageError("--prompt is for a task, and prints plain text")
    if (encoding or model or item) and not prompt:
        raise UsageError("--encoding, --model and --item go with --prompt")
    if card and task:
        raise UsageError("--card is for the whole suite, not for a task")
    if output and not card:
        raise UsageError(f"-o goes with --card: {str(output)!r}")
    opened = open_suite(suite)
    if card:
        listings.show_card(opened, everything=everything, as_json=as_json, to=output)
    elif task and prompt:
        listings.show_prompt(opened, task, how=encoding, model=model, item=item)
    elif task:
        listings.show_task(opened, task, examples, as_json=as_json)
    else:
        listings.show_suite(opened, everything=everything, as_json=as_json)


def check(
    suite: Annotated[
        Path | None, typer.Argument(metavar="SUITE", help="A suite's folder, or task files: a folder, or one of them.")
    ] = None,
    *,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings count as faults.")] = False,
    codes: Annotated[bool, typer.Option("--codes", help="List what is checked.")] = False,
    as_json: AsJson = False,
) -> None:
    """Read a whole suite, verify its fingerprint, and name its faults; ends with 1 if there are any."""
    from ..messages import FAULTS
    from ..suites.check import check as faults_of
    from ..suites.contributed import check as check_files
    from ..suites.contributed import is_contribution
    from ..suites.store import open_suite
    from . import listings, listings_names

    if codes:
        listings_names.show_rows(["code", "meaning"], list(FAULTS.items()), as_json=as_json)
        return
    if suite is None:
        raise UsageError("name a suite's folder")
    if is_contribution(suite):
        faults = list(check_files(suite))
        listings.show_faults(str(suite), faults, as_json=as_json)
    else:
        opened = open_suite(suite)
        with console.progress("checking") as progress:
            faults = list(faults_of(opened, progress))
        of = listings.summary(opened)
        listings.show_faults(of, faults, fingerprint=opened.fingerprint, as_json=as_json)
    if any(fault.is_error or strict for fault in faults):
        raise typer.Exit(1)


def bridge(
    suite: SuiteFolder,
    *,
    target: Annotated[str, typer.Option(help="The task that is to be helped.")] = "",
    meta: Annotated[list[str], typer.Option(help="A meta task; say it again for each.")] = [],  # noqa: B006
    propose: Annotated[str, typer.Option(help="List partitions: single-leap, two-leap or broken.")] = "",
    limit: Annotated[int, typer.Option("-n", min=1, help="How many proposals.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Tell whether meta tasks bridge a target task, and in how many leaps; or propose such partitions."""
    from ..suites.store import open_suite
    from . import listings

    opened = open_suite(suite)
    if propose:
        listings.show_proposals(opened, propose, target, limit, as_json=as_json)
    elif target and meta:
        listings.show_bridge(opened, target, meta, as_json=as_json)
    else:
        raise UsageError("give --target and one --meta or more, or --propose with a shape")


def list_(
    what: Annotated[
        str,
        typer.Argument(
            help="benchmarks, data, learners, metrics, models or studies", autocompletion=lambda: list(LISTED)
        ),
    ],
    *,
    as_json: AsJson = False,
) -> None:
    """List what taskloom knows by name."""
    from ..errors import UnknownNameError
    from . import listings_names

    known = {name: getattr(listings_names, f"list_{name}") for name in LISTED}
    if what not in known:
        raise UnknownNameError("listing", what, known)
    known[what](as_json=as_json)
