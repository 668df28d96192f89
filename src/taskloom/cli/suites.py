"""The verbs of suites: build, show, check, bridge; and list, which lists what has a name."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from .. import console
from ..core import DROPPED, Suite
from ..errors import UsageError
from ..limits import MOST_DIGITS, whole_number
from ..messages import counted_text
from ..texts import counted
from . import shell_completion as complete
from .arguments import MOST, MOST_SEED, AsJson, SuiteFolder, TrustCode

AUTO = "auto"
LISTED = {
    "benchmarks": "what `taskloom build` can build",
    "data": "data sets that come inside packages",
    "learners": "baselines and ways to adapt a model, for studies",
    "metrics": "how answers are scored, and what each metric was checked against",
    "models": "models that have a short name",
    "presets": "ways to draw episodes, for the protocol of a study",
    "studies": "studies that come with taskloom",
}
FLAGS = {  # by option
    "fields": "--field", "separators": "--separator", "columns": "--column", "id_column": "--id", "pools": "--pool",
    "partitions": "--partition",
}  # fmt: skip


def build(
    name: Annotated[
        str,
        typer.Argument(
            metavar="BENCHMARK", help="A name of `taskloom list benchmarks`.", autocompletion=complete.benchmarks
        ),
    ],
    source: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE",
            help="A file (CSV, TSV, JSONL, Parquet, .gz), a folder, data:NAME or hub:NAME; or functions to compose.",
            autocompletion=complete.sources,
        ),
    ] = [],  # noqa: B006
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FOLDER", help="The folder to write; for auto: suites/NAME."),
    ] = None,
    field: Annotated[
        list[str], typer.Option(metavar="NAME:KIND[:TITLE]", help="A field; KIND is text, list, label or number.")
    ] = [],  # noqa: B006
    column: Annotated[
        list[str], typer.Option(metavar="FIELD=COLUMN", help="The column of a field, where their names differ.")
    ] = [],  # noqa: B006
    where: Annotated[
        list[str], typer.Option(metavar="COLUMN=VALUE", help="Keep only the rows that have this value.")
    ] = [],  # noqa: B006
    split: Annotated[
        str, typer.Option(metavar="COLUMN", help="The column that says train, dev (or validation) or test.")
    ] = "",
    pool: Annotated[
        list[str],
        typer.Option(metavar="VALUE=POOL", help="The pool of a value of the split column: train, dev, test or drop."),
    ] = [],  # noqa: B006
    train: Annotated[
        list[str], typer.Option(metavar="FILE", help="A file of training rows, instead of a split column.")
    ] = [],  # noqa: B006
    dev: Annotated[list[str], typer.Option(metavar="FILE", help="A file of development rows.")] = [],  # noqa: B006
    id_column: Annotated[
        str, typer.Option("--id", metavar="COLUMN", help="The column with the ids of records; else row numbers.")
    ] = "",
    venues: Annotated[
        str, typer.Option(metavar="FILE", help="A table that adds labels: its first column holds venues.")
    ] = "",
    language: Annotated[
        str, typer.Option(metavar="CODE", help="The language of texts, as en or zh: how they are tokenised.")
    ] = "",
    instruction: Annotated[
        list[str],
        typer.Option(
            metavar="[TASK=]TEXT", help="The instruction of a task or of all; slots: {inputs}, {outputs}, {task}."
        ),
    ] = [],  # noqa: B006
    partition: Annotated[
        list[str],
        typer.Option(metavar="NAME=TASKS", help="A fold: meta tasks and their target, such as 'a->b, b->c => a->c'."),
    ] = [],  # noqa: B006
    separator: Annotated[
        list[str], typer.Option(metavar="FIELD=TEXT", help="The text between the terms of a list.")
    ] = [],  # noqa: B006
    file_encoding: Annotated[str, typer.Option(metavar="NAME", help="The encoding of the file, if not UTF-8.")] = "",
    delimiter: Annotated[
        str | None, typer.Option(metavar="CHAR", help="The delimiter of a CSV file, if not a comma.")
    ] = None,
    test: Annotated[
        list[str],
        typer.Option(
            metavar="FILE", help="A file of test rows; for task files: a task, pattern or category to hold out."
        ),
    ] = [],  # noqa: B006
    scored: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            max=MOST,
            help="For task files: instances of a test task that are scored (100); others may train.",
        ),
    ] = 0,
    on_error: Annotated[
        str,
        typer.Option(metavar="stop|skip", help="Rows with errors: stop and list them (default), or skip and count."),
    ] = "",
    option: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=VALUE", help="Another option of the benchmark, such as seed=1 (see its documentation)."
        ),
    ] = [],  # noqa: B006
    force: Annotated[bool, typer.Option("--force", help="Replace an existing suite.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="For auto: print the guesses and the command, build nothing.")
    ] = False,
) -> None:
    """Build a suite of tasks from data, and write it to a folder."""
    from ..benchmarks import benchmark, takes_several
    from ..benchmarks.auto import Auto
    from ..sources.files import Layout
    from ..suites.store import refuse_to_clobber, write
    from ..suites.table_faults import table_faults
    from .listings_build import show_guesses, show_table_faults

    if delimiter is not None:
        Layout(delimiter=delimiter)  # refuses an empty text and several characters
    wanted = {
        "fields": field, "separators": _assignments(separator), "columns": _assignments(column),
        "where": _assignments(where), "id_column": id_column, "venues": venues, "language": language,
        "on_error": on_error, "file_encoding": file_encoding, "delimiter": delimiter, "test": test,
        "split": split, "pools": _assignments(pool), "train": train, "dev": dev,
        "instruction": _instructions(instruction), "partitions": _assignments(partition), "scored": scored,
    }  # fmt: skip
    options = {name: value for name, value in wanted.items() if value} | _plain_values(_assignments(option))
    _refuse_flags(name, options)
    several = takes_several(name)
    if len(source) > 1 and not several:
        raise UsageError(f"{name} is built from one source: {', '.join(source)}")
    of = benchmark(name, source if several else "".join(source), options)
    if isinstance(of, Auto):
        output = output or Path("suites") / of.name
        show_guesses(of, str(output), dry_run=dry_run)
    if output is None or (dry_run and name != AUTO):
        raise UsageError("name the folder to write: -o SUITE" if output is None else f"--dry-run is for {AUTO}: {name}")
    if dry_run:
        return
    refuse_to_clobber(output, map(Path, of.sources()), replace=force)  # before the work, and again when it is written
    suite = write(of.build(), output, replace=force)
    for part in ("note", DROPPED, "leakage", "faults"):
        if suite.about.get(part):
            console.note(f"{part}: {_as_text(suite.about[part])}")
    show_table_faults(table_faults(suite))
    console.line(f"{output}: {counted(len(suite.tasks), 'task')}, fingerprint {suite.fingerprint}")
    if isinstance(of, Auto):
        _write_first_study(suite, of.name, output)


def _write_first_study(suite: Suite, name: str, folder: Path) -> None:
    """Write a study to start from, unless there is a file of its name."""
    from ..folders import write_whole
    from ..studies.first_study import first_study, first_tasks

    path = Path(f"{name}.yaml")
    if not any(first_tasks(suite)):
        console.note("no study was written: no task goes from texts to another field")
    elif path.exists():
        console.note(f"the study {path} exists and is kept; run it: taskloom run {shlex.quote(str(path))}")
    else:
        write_whole(path, first_study(suite, name=name, folder=str(folder), file=str(path)))
        console.note(f"wrote {path}, a study to start from; run it: taskloom run {shlex.quote(str(path))}")


def _refuse_flags(name: str, options: Iterable[str]) -> None:
    """Name the flags that a benchmark has no option for, and those that it has."""
    from ..benchmarks import option_names

    known = option_names(name)
    if odd := [_flag(option) for option in options if option not in known]:
        taken = ", ".join(_flag(option) for option in known if option not in ("source", "files", "functions"))
        raise UsageError(f"{name} does not take {', '.join(odd)}; it takes SOURCE, {taken}")


def _flag(option: str) -> str:
    known = {*inspect.signature(build).parameters, *FLAGS}
    return FLAGS.get(option, "--" + option.replace("_", "-")) if option in known else f"--option {option}=..."


def _plain_values(given: Mapping[str, str]) -> dict[str, int | str]:
    """Read values as a study file has them: numbers, or texts."""
    numbers = {name: whole_number(value) for name, value in given.items()}
    if large := [f"{name}={given[name][:20]}..." for name, n in numbers.items() if n is None and given[name].isdigit()]:
        raise UsageError(f"--option takes integers of at most {MOST_DIGITS} digits: {', '.join(large)}")
    return {name: given[name] if number is None else number for name, number in numbers.items()}


def _assignments(texts: Sequence[str]) -> dict[str, str]:
    split = [text.partition("=") for text in texts]
    if wrong := [text for text, (name, equals, _) in zip(texts, split, strict=True) if not equals or not name.strip()]:
        raise UsageError(f"must be NAME=VALUE: {', '.join(wrong)}")
    names = [name for name, _, _ in split]
    if doubles := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"named twice: {', '.join(doubles)}")
    return {name: value for name, _, value in split}


def _instructions(texts: Sequence[str]) -> str | dict[str, str]:
    """Read instructions: what stands before an equals sign is a task, or a pattern, where it has an arrow."""
    split = [text.partition("=") for text in texts]
    found = {name if equals and "->" in name else "": value if equals and "->" in name else text
             for text, (name, equals, value) in zip(texts, split, strict=True)}  # fmt: skip
    if len(found) < len(texts):
        raise UsageError(f"two instructions for the same tasks: {', '.join(texts)}")
    return found.get("", "") if {*found} <= {""} else {"*" if name == "" else name: t for name, t in found.items()}


def _as_text(value: object) -> str:
    if isinstance(value, list):
        return counted_text(value) if isinstance(value[0], dict) else "\n  ".join(["", *value])
    return str(value)


def show(
    suite: Annotated[Path, typer.Argument(metavar="SUITE", help="A suite's folder, or with --prompt a run's.")],
    task: Annotated[
        str, typer.Argument(metavar="TASK", help="A task of the suite.", autocompletion=complete.tasks)
    ] = "",
    *,
    card: Annotated[
        bool, typer.Option("--card", help="Describe the suite: its records, or the tags of its tasks.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="With --card: write an HTML page to this file."),
    ] = None,
    files: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write function tasks to this folder, as the files of TaskBench500."),
    ] = None,
    prompt: Annotated[bool, typer.Option("--prompt", help="Print exactly what a model is sent for an item.")] = False,
    study: Annotated[str, typer.Option(metavar="STUDY", help="With --prompt: the study that has the learner.")] = "",
    learner: Annotated[
        str, typer.Option(metavar="NAME", help="With --prompt: a learner of the study or run, or of `list learners`.")
    ] = "",
    shots: Annotated[str, typer.Option(metavar="N", help="With --prompt: the number of examples, all or drawn.")] = "",
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, max=MOST_SEED, help="With --prompt: the seed of the episode, if not the first."
        ),
    ] = None,
    item: Annotated[str, typer.Option(metavar="ID", help="With --prompt: the item, if not the first.")] = "",
    encoding: Annotated[
        str,
        typer.Option(
            metavar="PARTS",
            help="With --prompt: parts of an instruction, as def+pos2, def+pos2+neg2+expl, id or none.",
            autocompletion=complete.encodings,
        ),
    ] = "",
    model: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="With --prompt: cut the prompt to this model's context, and count tokens.",
            autocompletion=complete.models,
        ),
    ] = "",
    trust_code: TrustCode = False,
    everything: Annotated[bool, typer.Option("--all", help="List all on a terminal.")] = False,
    examples: Annotated[
        int, typer.Option("-n", metavar="N", min=0, max=MOST, help="The number of examples of a task.")
    ] = 3,
    as_json: AsJson = False,
) -> None:
    """Show a suite's tasks, a task with examples, a prompt or a card."""
    from ..folders import check_output
    from ..suites.store import files_of, open_suite
    from . import listings, listings_prompts
    from .listings_prompts import PromptOptions

    if prompt and not task:
        raise UsageError("--prompt needs a TASK")
    asked = PromptOptions(study, learner, shots, seed, item, encoding, model, trust_code)
    if not prompt and asked != PromptOptions():
        options = "--study, --learner, --shots, --seed, --item, --encoding, --model and --trust-code"
        raise UsageError(f"{options} need --prompt")
    if card and task:
        raise UsageError(f"--card describes a whole suite; remove the task: {task!r}")
    if output and not card:
        raise UsageError(f"-o needs --card: {str(output)!r}")
    if output:
        check_output(output, files_of(suite))
    if prompt:
        if not listings_prompts.show(suite, task, asked, as_json=as_json):
            raise typer.Exit(1)
        return
    opened = open_suite(suite)
    if files:
        from ..suites.functions.layout import write

        console.note(f"{files}: {counted(write(opened, files), 'task')}")
    elif card:
        listings.show_card(opened, everything=everything, as_json=as_json, to=output)
    elif task:
        listings.show_task(opened, _named(opened, task), examples, as_json=as_json)
    else:
        listings.show_suite(opened, everything=everything, as_json=as_json)


def _named(suite: Suite, task: str) -> str:
    """Give the task that a text names; functions may be written in any of their forms."""
    if task in suite.tasks:
        return task
    from ..suites.functions.parse import task_name

    return task_name(task, suite.tasks)


def check(
    suite: Annotated[
        Path | None, typer.Argument(metavar="SUITE", help="A suite's folder, a folder of task files, or a task file.")
    ] = None,
    *,
    strict: Annotated[bool, typer.Option("--strict", help="Treat warnings as errors.")] = False,
    codes: Annotated[bool, typer.Option("--codes", help="List the codes of errors and warnings.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check a suite or task files; exit code 1 if there are errors."""
    from ..messages.faults import FAULTS
    from ..suites.check import check as faults_of
    from ..suites.contributed import check as check_files
    from ..suites.contributed import is_contribution
    from ..suites.store import open_suite
    from . import listings, listings_names

    if codes:
        listings_names.show_rows(["code", "meaning"], list(FAULTS.items()), as_json=as_json)
        return
    if suite is None:
        raise UsageError("SUITE is missing: a suite's folder, a folder of task files, or a task file")
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
    target: Annotated[str, typer.Option(metavar="TASK", help="The target task.")] = "",
    meta: Annotated[list[str], typer.Option(metavar="TASK", help="A meta task.")] = [],  # noqa: B006
    propose: Annotated[
        str, typer.Option(metavar="SHAPE", help="List partitions of a shape: single-leap, two-leap or broken.")
    ] = "",
    limit: Annotated[
        int, typer.Option("-n", metavar="N", min=1, max=MOST, help="The number of partitions to list.")
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """Classify how meta tasks bridge a target task, or propose some."""
    from ..suites.store import open_suite
    from . import listings

    opened = open_suite(suite)
    if propose:
        listings.show_proposals(opened, propose, target, limit, as_json=as_json)
    elif target and meta:
        listings.show_bridge(opened, target, meta, as_json=as_json)
    else:
        raise UsageError("give --target and at least one --meta, or --propose SHAPE")


def list_(
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="benchmarks, data, learners, metrics, models, presets or studies; nothing lists these.",
            autocompletion=lambda: list(LISTED),
        ),
    ] = "",
    *,
    as_json: AsJson = False,
) -> None:
    """List benchmarks, data, learners, metrics, models, presets, studies."""
    from ..errors import UnknownNameError
    from . import listings_names

    if not what:
        listings_names.show_rows(["list", "about"], list(LISTED.items()), as_json=as_json)
        return
    known = {name: getattr(listings_names, f"list_{name}") for name in LISTED}
    if what not in known:
        raise UnknownNameError("listing", what, known)
    known[what](as_json=as_json)
