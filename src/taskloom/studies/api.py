"""Studies from Python, in a notebook too: all that the command line does."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ..errors import StudyError, UsageError
from ..ids import Json, canonical
from ..learners import model_of
from .ledger import Ledger
from .plan import Get, Plan, learners_of, plan
from .results import Results
from .run import Progress, results
from .run import run as run_cells
from .study import Study, load, parse

LEDGER, STUDY, MODELS, INSTEAD = "ledger.db", "study.yaml", "models", "instead"
RUNS = Path("runs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Instead:
    """What takes the place of things that a study names."""

    suite: str = ""  # a suite's folder
    model: str = ""  # the model of all learners that need one

    @classmethod
    def of(cls, suite: Path | str | None, model: str = "") -> Instead:
        """Make paths whole, so that they mean the same from anywhere."""
        place = Path(model.removeprefix("path:")).expanduser().absolute()
        named = f"path:{place}" if model.startswith("path:") else model
        return cls(suite=str(Path(suite).absolute()) if suite else "", model=named)

    def in_place(self, study: Study) -> Study:
        """Put a suite or a model in its place; a learner that is named after its model takes the new name."""
        if self.suite:
            study = replace(study, suite=self.suite, build="", source="")
        models = {name: model_of(made) for name, made in learners_of(study).items()} if self.model else {}
        if self.model and not any(models.values()):
            raise StudyError(f"no learner of the study needs a model: {self.model!r}")
        renamed = {
            (self.model if name == models.get(name) else name): (
                replace(chosen, options={**chosen.options, "model": self.model}) if models.get(name) else chosen
            )
            for name, chosen in study.learners.items()
        }
        return replace(study, learners=renamed)

    def folder(self, name: str) -> str:
        """Name the folder of a run."""
        model = Path(self.model).name if self.model.startswith("path:") else self.model.partition(":")[2] or self.model
        parts = [name, Path(self.suite).name if self.suite else "", re.sub(r"[^\w.-]+", "-", model)]
        return "-".join(filter(None, parts))

    def options(self) -> str:
        """Write it as options of a command."""
        return "".join(f" --{name} {shlex.quote(value)}" for name, value in asdict(self).items() if value)


def run(
    study: Study | str | Path,
    folder: Path | str | None = None,
    *,
    instead: Instead | None = None,
    only: Sequence[str] = (),
    limit: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> Results:
    """Run what is missing of a study, by its name, its file, or as an object, and give all that was found.

    The results show as a report where a notebook shows them: `taskloom.summarise(taskloom.run("quickstart"))`.
    """
    planned, place = prepare(study, folder, instead=instead, only=only, limit=limit, get=lambda _, model: model.get())
    with Ledger(place / LEDGER) as ledger:
        done = run_cells(planned, ledger, workers=workers, progress=progress)
        if done.interrupted:
            raise KeyboardInterrupt
        return results(planned, ledger, again(place / STUDY, instead))


def prepare(
    study: Study | str | Path,
    folder: Path | str | None = None,
    *,
    instead: Instead | None = None,
    only: Sequence[str] = (),
    limit: int = 0,
    get: Get | None = None,
) -> tuple[Plan, Path]:
    """Plan a study, and put what is needed to go on with it, or to report on it, into its run's folder."""
    instead = instead or Instead()
    made, text = (study, "") if isinstance(study, Study) else load(str(study))
    place = Path(folder) if folder else RUNS / instead.folder(made.name)
    planned = plan(instead.in_place(made), place, only=only, limit=limit, get=get)
    place.mkdir(parents=True, exist_ok=True)
    if text:
        aside = place / f".{STUDY}"
        aside.write_text(text, encoding="utf-8")
        aside.replace(place / STUDY)
    with Ledger(place / LEDGER) as ledger:
        ledger.keep_about("study_folder", str(made.folder.absolute()))
        ledger.keep_about(INSTEAD, canonical(asdict(instead)))
        kept = known_models(ledger)
        ledger.keep_about(MODELS, canonical({**kept, **planned.model_ids}))
    return planned, place


def gather(folder: Path) -> Results:
    """Give all that a run has found so far."""
    if not (folder / STUDY).is_file() or not (folder / LEDGER).is_file():
        raise UsageError(f"not a run, it has no {STUDY} and {LEDGER}: {folder}")
    with Ledger(folder / LEDGER) as ledger:
        study = parse((folder / STUDY).read_text(encoding="utf-8"), STUDY, Path(ledger.about("study_folder")))
        instead = Instead(**json.loads(ledger.about(INSTEAD) or "{}"))
        planned = plan(instead.in_place(study), folder, known=known_models(ledger))
        return results(planned, ledger, again(folder / STUDY, instead))


def again(study: Path | str, instead: Instead | None, limit: int = 0) -> str:
    """Write the command that runs a study again."""
    return f"taskloom run {study}{(instead or Instead()).options()}" + (f" --limit {limit}" if limit else "")


def known_models(ledger: Ledger) -> dict[str, Json]:
    """Give the models that cells of a run are named by, as they were when it was planned last."""
    found: dict[str, Json] = json.loads(ledger.about(MODELS) or "{}")
    return found
