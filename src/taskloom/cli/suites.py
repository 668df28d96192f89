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

LISTED = ("benchmarks", "data", "learners", "metrics", "models", "studies")
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
FLAGS = {"fields": "--field", "separators": "--separator", "columns": "--column", "id_column": "--id"}  # by option
SuiteFolder = Annotated[Path, typer.Argument(metavar="SUITE", help="A suite's folder.")]


def build(
    name: Annotated[
        str,
        typer.Argument(
            metavar="BENCHMARK", help="One of `taskloom list benchmarks`.", autocompletion=complete.benchmarks
        ),
    ],
    source: Annotated[
        str,
        typer.Argument(
            help="A file (CSV, TSV, JSONL, Parquet, .gz), a folder of task files, data:NAME or hub:NAME.",
            autocompletion=complete.sources,
        ),
    ] = "",
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")],
    field: Annotated[list[str], typer.Option(help="name:kind[:title]; kinds: text, list, label, number.")] = [],  # noqa: B006
    column: Annotated[list[str], typer.Option(help="field=column, where their names differ.")] = [],  # noqa: B006
    where: Annotated[list[str], typer.Option(help="column=value: keep only these rows.")] = [],  # noqa: B006
    id_column: Annotated[
        str, typer.Option("--id", help="The column that names a record; else rows are numbered.")
    ] = "",
    venues: Annotated[str, typer.Option(help="A table that adds labels by the value of its first column.")] = "",
    language: Annotated[str, typer.Option(help="en, zh, ...: how texts are measured.")] = "",
    instruction: Annotated[
        list[str],
        typer.Option(help="What tasks ask, in words: TEXT for all, or TASK=TEXT; slots: {inputs}, {outputs}, {task}."),
    ] = [],  # noqa: B006
    separator: Annotated[list[str], typer.Option(help="field=text that stands between the terms of a list.")] = [],  # noqa: B006
    file_encoding: Annotated[str, typer.Option(help="The file's encoding, if not UTF-8.")] = "",
    delimiter: Annotated[str, typer.Option(help="What stands between the cells of a CSV file, if not a comma.")] = "",
    test: Annotated[
        list[str], typer.Option(help="Of task files: a task, pattern or category to hold out, instead of the splits.")
    ] = [],  # noqa: B006
    on_error: Annotated[
        str, typer.Option(help="stop: name all faults, the default; skip: leave those rows out and count them.")
    ] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace a suite that is there.")] = False,
) -> None:
    """Build a suite of tasks and write it to a folder."""
    from ..benchmarks import benchmark
    from ..suites.store import refuse_to_clobber, write

    given = {
        "fields": field, "separators": _assignments(separator), "columns": _assignments(column),
        "where": _assignments(where), "id_column": id_column, "venues": venues, "language": language,
        "on_error": on_error, "file_encoding": file_encoding, "delimiter": delimiter, "test": test,
        "instruction": _instructions(instruction),
    }  # fmt: skip
    options = {option: value for option, value in given.items() if value}
    _refuse_flags(name, options)
    of = benchmark(name, source, options)
    refuse_to_clobber(output, replace=force)  # before the work, and again when it is written
    suite = write(of.build(), output, replace=force)
    for told in ("note", DROPPED, "leakage", "faults"):
        if suite.about.get(told):
            console.note(f"{told}: {_told(suite.about[told])}")
    console.line(f"{output}: {counted(len(suite.tasks), 'task')}, fingerprint {suite.fingerprint}")


def _refuse_flags(name: str, options: Iterable[str]) -> None:
    """Name the flags that a benchmark has no option for, and those that it has."""
    from ..benchmarks import option_names

    known = option_names(name)
    if odd := [_flag(option) for option in options if option not in known]:
        taken = ", ".join(_flag(option) for option in known if option != "source")
        raise UsageError(f"{name} takes a source and {taken}, but not {', '.join(odd)}")


def _flag(option: str) -> str:
    return FLAGS.get(option, "--" + option.replace("_", "-"))


def _assignments(texts: Sequence[str]) -> dict[str, str]:
    split = [text.partition("=") for text in texts]
    if wrong := [text for text, (_, equals, _) in zip(texts, split, strict=True) if not equals]:
        raise UsageError(f"not of the form name=value: {', '.join(wrong)}")
    return {name: value for name, _, value in split}


def _instructions(texts: Sequence[str]) -> str | dict[str, str]:
    """Read instructions: what stands before an equals sign is a task, or a pattern, where it has an arrow."""
    split = [text.partition("=") for text in texts]
    found = {name if equals and "->" in name else "": value if equals and "->" in name else text
             for text, (name, equals, value) in zip(texts, split, strict=True)}  # fmt: skip
    if len(found) < len(texts):
        raise UsageError(f"two instructions for the same tasks: {', '.join(texts)}")
    return found.get("", "") if {*found} <= {""} else {"*" if name == "" else name: t for name, t in found.items()}


def _told(value: object) -> str:
    if isinstance(value, list):
        return counted_text(value) if isinstance(value[0], dict) else "\n  ".join(["", *value])
    return str(value)


def show(
    suite: Annotated[Path, typer.Argument(metavar="SUITE", help="A suite's folder; with --prompt, or a run's.")],
    task: Annotated[str, typer.Argument(help="A task of it.", autocompletion=complete.tasks)] = "",
    *,
    card: Annotated[bool, typer.Option("--card", help="Describe the table behind the tasks, or their tags.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="With --card: a page, instead of standard output.")
    ] = None,
    prompt: Annotated[bool, typer.Option("--prompt", help="Print exactly what a model is sent for an item.")] = False,
    study: Annotated[str, typer.Option(help="With --prompt: the study that has the learner and the protocol.")] = "",
    learner: Annotated[
        str, typer.Option(help="With --prompt: a learner of the study or run, or of `taskloom list learners`.")
    ] = "",
    shots: Annotated[str, typer.Option(help="With --prompt: a number, all or drawn; the first of the study.")] = "",
    seed: Annotated[int | None, typer.Option(min=0, help="With --prompt: of the episode; the first.")] = None,
    item: Annotated[str, typer.Option(help="With --prompt: the item's id; the first that is asked about.")] = "",
    encoding: Annotated[
        str,
        typer.Option(
            help="With --prompt: parts of an instruction, such as def+pos2, id, def+pos2+neg2+expl, none.",
            autocompletion=complete.encodings,
        ),
    ] = "",
    model: Annotated[
        str, typer.Option(help="With --prompt: the model whose context it must fit.", autocompletion=complete.models)
    ] = "",
    everything: Annotated[bool, typer.Option("--all", help="List all on a terminal, too.")] = False,
    examples: Annotated[int, typer.Option("-n", min=0, help="How many examples of a task.")] = 3,
    as_json: AsJson = False,
) -> None:
    """Show a suite's tasks, one task with examples, the suite's card, or what a model is sent."""
    from ..suites.store import open_suite
    from . import listings, listings_prompts
    from .listings_prompts import PromptOptions

    if prompt and not task:
        raise UsageError("--prompt needs a task")
    if not prompt and (study or learner or shots or seed is not None or item or encoding or model):
        raise UsageError("--study, --learner, --shots, --seed, --item, --encoding and --model go with --prompt")
    if card and task:
        raise UsageError("--card is for the whole suite, not for a task")
    if output and not card:
        raise UsageError(f"-o goes with --card: {str(output)!r}")
    if prompt:
        asked = PromptOptions(study, learner, shots, seed, item, encoding, model)
        if not listings_prompts.show(suite, task, asked, as_json=as_json):
            raise typer.Exit(1)
        return
    opened = open_suite(suite)
    if card:
        listings.show_card(opened, everything=everything, as_json=as_json, to=output)
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
