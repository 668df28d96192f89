"""Output of the command line: tables on a terminal, TSV when piped, JSON if asked; messages on stderr."""

from __future__ import annotations

import errno
import io
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from rich import progress as bars
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .masking import masked
from .texts import duration, human, safe

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

Value = str | int | float | None
LINE_EVERY = 30.0  # seconds between lines about training, where there is no terminal
SPEED_OVER = 3600  # seconds over which the speed is measured: one step may take minutes


def plain(text: str, style: str = "") -> Text:
    """Make a text that is shown as it is: nothing in it is markup, an emoji's name or a terminal's command."""
    return Text(safe(text), style=style)


def out() -> Console:
    """Make a console of the current standard output."""
    return Console(highlight=False)


def note(message: str) -> None:
    """Print a message that is not a result, and no key, which logs would keep."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(plain(masked(message)))


def error(message: str) -> None:
    """Print an error, and no key."""
    shown = Text.assemble(("error:", "bold red"), " ", plain(masked(message)))
    Console(stderr=True, highlight=False, soft_wrap=True).print(shown)


def line(text: str = "") -> None:
    """Print a line of plain text."""
    write(text + "\n")


def write(text: str) -> None:
    """Print a text that ends its own lines; what it holds does not steer a terminal."""
    sys.stdout.write(safe(text) if sys.stdout.isatty() else text)


def as_json(value: Any) -> None:
    """Print a result for programs."""
    line(json.dumps(value, ensure_ascii=False, indent=1))


def table(
    columns: Sequence[str],
    rows: Sequence[Sequence[Value]],
    *,
    title: str = "",
    figures: Sequence[str] = (),
    whole: Sequence[str] = (),
) -> None:
    """Print rows: a table on a terminal, tab-separated values elsewhere; figures and `whole` wrap last, or never."""
    if not sys.stdout.isatty():
        for row in (columns, *rows):
            line("\t".join(_tabbed(cell) for cell in row))
        return
    heading = plain(title) if title else None
    shown = Table(title=heading, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    cells = [[human(cell) for cell in row] for row in rows]
    tight = _width(columns, cells) > out().width
    for number, name in enumerate(columns):
        numeric = name in figures or (bool(rows) and all(isinstance(row[number], int | float) for row in rows))
        kept = name in whole or (numeric and not tight) or (tight and number == 0 and bool(figures))
        shown.add_column(plain(name), justify="right" if numeric else "left", overflow="fold", no_wrap=kept)
    for row in cells:
        shown.add_row(*map(plain, row))
    out().print(shown)


def fitting(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Count the first columns that a terminal is wide enough for, two at the least; elsewhere all are."""
    count = len(columns)
    while sys.stdout.isatty() and count > 2 and _width(columns[:count], [row[:count] for row in rows]) > out().width:
        count -= 1
    return count


def _width(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> int:
    """Measure a table that wraps nothing: where it is too wide, figures may wrap, and the names beside them don't."""
    widest = [max(cell_len(safe(text)) for text in column) for column in zip(columns, *cells, strict=True)]
    return sum(widest) + 3 * len(widest)


def pairs(values: Mapping[str, Value]) -> None:
    """Print names with their values, one a line."""
    if not sys.stdout.isatty():
        table(["name", "value"], list(values.items()))
        return
    shown = Table.grid(padding=(0, 2))
    shown.add_column(no_wrap=True)
    shown.add_column(overflow="fold")
    for name, value in values.items():
        shown.add_row(plain(name, "bold"), plain(human(value)))
    out().print(shown)


class _Detail(bars.ProgressColumn):
    """What is being done just now, asked for whenever the bar is drawn."""

    max_refresh = 0.5

    def __init__(self, detail: Callable[[], str]) -> None:
        super().__init__()
        self.detail = detail

    def render(self, task: bars.Task) -> Text:  # noqa: ARG002 (as all columns)
        return Text(safe(self.detail()), overflow="ellipsis", no_wrap=True)


WHAT = bars.TextColumn("{task.description}", markup=False)  # its braces and brackets are shown as they are


@contextmanager
def progress(
    what: str, *, of_bytes: bool = False, detail: Callable[[], str] = str
) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on a terminal; it is called with the work done and the total.

    `detail` gives a line on what is being done, which may take long.
    """
    console = Console(stderr=True)
    counted = bars.DownloadColumn() if of_bytes else bars.MofNCompleteColumn()
    if not console.is_terminal:
        yield lambda done, total: None  # noqa: ARG005 (nothing is shown)
        return
    columns = (
        WHAT, bars.BarColumn(bar_width=20), counted, bars.TimeRemainingColumn(),
        _Detail(detail),
    )  # fmt: skip
    with bars.Progress(*columns, console=console, transient=True, speed_estimate_period=SPEED_OVER) as bar:
        task = bar.add_task(safe(what), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def training(what: str) -> Iterator[Callable[[int, float, float], None]]:
    """Show steps, loss and the time left; it is called with the step, the share that is done, and the loss."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _training_lines(what)
        return
    columns = (
        WHAT, bars.TextColumn("step {task.fields[step]:,}, loss {task.fields[loss]:.3f}"),
        bars.BarColumn(), bars.TaskProgressColumn(), bars.TimeRemainingColumn(),
    )  # fmt: skip
    with bars.Progress(*columns, console=console, transient=True, speed_estimate_period=SPEED_OVER) as bar:
        task = bar.add_task(safe(what), total=1.0, step=0, loss=math.nan)
        yield lambda step, share, loss: bar.update(task, completed=share, step=step, loss=loss)


def _training_lines(what: str) -> Callable[[int, float, float], None]:
    """Print a line now and then, for logs."""
    begun: list[tuple[float, float]] = []  # when the first step ended and how much was done by then, after a resume too
    shown = time.monotonic()

    def note_step(step: int, share: float, loss: float) -> None:
        nonlocal shown
        now = time.monotonic()
        begun.extend([(now, share)] * (not begun))
        if now - shown >= LINE_EVERY and share > begun[0][1]:
            left = (now - begun[0][0]) * (1 - share) / (share - begun[0][1])
            note(f"{what}: step {step:,}, {share:.0%}, loss {loss:.3f}, {duration(left)} left")
            shown = now

    return note_step


def size(count: int) -> str:
    """Write a number of bytes for people.

    >>> size(2_875_645)
    '2.9 MB'
    """
    value = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            break
        value /= 1000
    return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"


def open_streams() -> None:
    """Make the standard streams fit for any text, and open: the next file would take the place of a closed one."""
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(opened, True)
    os.close(opened)
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 (as long as the process)
    if sys.stdout is sys.__stdout__:  # neither is one that a program has put in its place
        sys.stdout = _text_of(StandardOutput(1, "w", closefd=False), sys.stdout)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _text_of(StandardError(2, "w", closefd=False), sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a program reads UTF-8; a terminal may know fewer characters
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")


class StandardOutput(io.FileIO):
    """Standard output: an error names it and is raised once; without a reader, what is written is discarded."""

    def write(self, data: Buffer, /) -> int:
        """Write bytes; once that has failed, Python's flush at exit must not fail again."""
        try:
            return super().write(data)
        except OSError as error:
            _discard(self)
            if error.errno == errno.EPIPE:
                return memoryview(data).nbytes
            raise OSError(error.errno, error.strerror, "standard output") from None


class StandardError(io.FileIO):
    """Standard error: a message that can't be shown stops nothing."""

    def write(self, data: Buffer, /) -> int:
        """Write bytes, or discard them."""
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def _text_of(stream: io.FileIO, before: TextIO | None) -> TextIO:
    """Make a stream of text that is buffered as the one before, if there was one; messages appear line by line."""
    by_line = stream.fileno() == 2 or (isinstance(before, io.TextIOWrapper) and before.line_buffering)
    unbuffered = isinstance(before, io.TextIOWrapper) and before.write_through
    encoding = before.encoding if before else "utf-8"
    return io.TextIOWrapper(io.BufferedWriter(stream), encoding, line_buffering=by_line or unbuffered)


def _discard(stream: io.FileIO) -> None:
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, stream.fileno())
    os.close(nothing)


def _tabbed(cell: Value) -> str:
    text = "" if cell is None else f"{cell:.6g}" if isinstance(cell, float) else str(cell)
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
