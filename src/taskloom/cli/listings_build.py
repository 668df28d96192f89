"""What `build` shows beside its result: guesses of columns, and faults of the table; all of it on standard error."""

from __future__ import annotations

from collections.abc import Iterable

from .. import console
from ..benchmarks.auto import Auto
from ..suites.faults import Fault
from ..texts import counted


def show_guesses(of: Auto, output: str, *, dry_run: bool) -> None:
    """Say what each column was taken for, and why; then print the command that builds the same."""
    rows = [("column", "taken for", "why"), *((repr(one.column), one.holds, str(one.why)) for one in of.guesses)]
    widths = [max(len(row[at]) for row in rows) for at in (0, 1)]
    for column, holds, why in rows:
        console.note(f"{column:<{widths[0]}}  {holds:<{widths[1]}}  {why}")
    command = of.command(output)
    if dry_run:
        console.line(command)
    else:
        console.note(f"the same by hand, to be changed where a guess is wrong:\n  {command}")


def show_table_faults(faults: Iterable[Fault]) -> None:
    """Name what is wrong with the table; the suite is built all the same."""
    found = list(faults)
    for fault in found:
        console.note(str(fault))
    if found:
        errors = sum(fault.is_error for fault in found)
        counts = f"{counted(errors, 'error')} and {counted(len(found) - errors, 'warning')}"
        console.note(f"the suite was built; its table has {counts} (what codes mean: taskloom check --codes)")
