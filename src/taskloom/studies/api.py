"""Studies from Python, in a notebook too: all that the command line does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .ledger import Ledger
from .plan import plan
from .results import Results
from .run import Progress, results
from .run import run as run_cells
from .study import Study, load

LEDGER, STUDY = "ledger.db", "study.yaml"
RUNS = Path("runs")


def run(
    study: Study | str,
    folder: Path | None = None,
    *,
    only: Sequence[str] = (),
    limit: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> Results:
    """Run what is missing of a study, by its name, its file, or as an object, and give all that was found.

    The results show as a report where a notebook shows them: `taskloom.summarise(taskloom.run("quickstart"))`.
    """
    made, text = load(study) if isinstance(study, str) else (study, "")
    place = folder or RUNS / made.name
    place.mkdir(parents=True, exist_ok=True)
    if text:
        (place / STUDY).write_text(text, encoding="utf-8")
    planned = plan(made, place, only=only, limit=limit)
    with Ledger(place / LEDGER) as ledger:
        run_cells(planned, ledger, workers=workers, progress=progress)
        return results(
            planned, ledger, f"taskloom run {study}" if text else f"taskloom.run(Study(name={made.name!r}, ...))"
        )
