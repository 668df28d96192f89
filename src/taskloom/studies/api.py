"""Studies from Python, in a notebook too: all that the command line does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..errors import UsageError
from ..ids import Json, canonical
from .ledger import Ledger
from .plan import Get, Plan, plan
from .results import Results
from .run import Progress, results
from .run import run as run_cells
from .study import Study, load, parse

LEDGER, STUDY, MODELS, ON_SUITE = "ledger.db", "study.yaml", "models", "on_suite"
RUNS = Path("runs")


def run(
    study: Study | str | Path,
    folder: Path | str | None = None,
    *,
    suite: Path | str | None = None,
    only: Sequence[str] = (),
    limit: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> Results:
    """Run what is missing of a study, by its name, its file, or as an object, and give all that was found.

    A suite takes the place of the one that the study names.

    The results show as a report where a notebook shows them: `taskloom.summarise(taskloom.run("quickstart"))`.
    """
    planned, place = prepare(study, folder, suite=suite, only=only, limit=limit, get=lambda _, model: model.get())
    with Ledger(place / LEDGER) as ledger:
        done = run_cells(planned, ledger, workers=workers, progress=progress)
        if done.interrupted:
            raise KeyboardInterrupt
        return results(planned, ledger, again(str(place / STUDY), suite))


def prepare(
    study: Study | str | Path,
    folder: Path | str | None = None,
    *,
    suite: Path | str | None = None,
    only: Sequence[str] = (),
    limit: int = 0,
    get: Get | None = None,
) -> tuple[Plan, Path]:
    """Plan a study, and put what is needed to go on with it, or to report on it, into its run's folder."""
    made, text = (study, "") if isinstance(study, Study) else load(str(study))
    made = _on(made, suite)
    place = Path(folder) if folder else RUNS / (f"{made.name}-{Path(suite).absolute().name}" if suite else made.name)
    planned = plan(made, place, only=only, limit=limit, get=get)
    place.mkdir(parents=True, exist_ok=True)
    if text:
        aside = place / f".{STUDY}"
        aside.write_text(text, encoding="utf-8")
        aside.replace(place / STUDY)
    with Ledger(place / LEDGER) as ledger:
        ledger.keep_about("study_folder", str(made.folder.absolute()))
        ledger.keep_about(ON_SUITE, str(Path(suite).absolute()) if suite else "")
        kept = known_models(ledger)
        ledger.keep_about(MODELS, canonical({**kept, **planned.model_ids}))
    return planned, place


def gather(folder: Path) -> Results:
    """Give all that a run has found so far."""
    if not (folder / STUDY).is_file() or not (folder / LEDGER).is_file():
        raise UsageError(f"not a run, it has no {STUDY} and {LEDGER}: {folder}")
    with Ledger(folder / LEDGER) as ledger:
        study = parse((folder / STUDY).read_text(encoding="utf-8"), STUDY, Path(ledger.about("study_folder")))
        suite = ledger.about(ON_SUITE)
        planned = plan(_on(study, suite), folder, known=known_models(ledger))
        return results(planned, ledger, again(str(folder / STUDY), suite))


def again(study: str, suite: Path | str | None, limit: int = 0) -> str:
    """Write the command that runs a study again."""
    return f"taskloom run {study}" + (f" --suite {suite}" if suite else "") + (f" --limit {limit}" if limit else "")


def _on(study: Study, suite: Path | str | None) -> Study:
    """Put a suite in the place of the one that a study names."""
    return replace(study, suite=str(Path(suite).absolute()), build="", source="") if suite else study


def known_models(ledger: Ledger) -> dict[str, Json]:
    """Give the models that cells of a run are named by, as they were when it was planned last."""
    found: dict[str, Json] = json.loads(ledger.about(MODELS) or "{}")
    return found
