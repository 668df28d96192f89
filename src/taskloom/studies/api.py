"""Studies from Python, in a notebook too: all that the command line does."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ..errors import StudyError, UsageError
from ..folders import write_whole
from ..ids import Json, canonical
from ..learners import model_of
from ..progress import Progress
from .ledger import Ledger
from .outcomes import results
from .plan import Get, Plan, learners_of, plan
from .results import Results
from .run import run as run_cells
from .study import Study, load, parse, written
from .views import Gain, View

LEDGER, STUDY = "ledger.db", "study.yaml"
FOLDER, MODELS, INSTEAD = "study_folder", "models", "instead"  # what a ledger keeps about its run
RUNS = Path("runs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """What takes the place of things that a study names."""

    suite: str = ""  # a suite's folder
    model: str = ""  # the model of all learners that need one

    @classmethod
    def of(cls, suite: Path | str | None, model: str = "") -> Overrides:
        """Make paths whole, so that they mean the same from anywhere."""
        place = Path(model.removeprefix("path:")).expanduser().absolute()
        named = f"path:{place}" if model.startswith("path:") else model
        return cls(suite=str(Path(suite).absolute()) if suite else "", model=named)

    def in_place(self, study: Study) -> Study:
        """Put a suite or a model in its place; a learner that alone is named after its model takes the new name."""
        if self.suite:
            study = replace(study, suite=self.suite, build="", source="")
        return self._with_model(study) if self.model else study

    def _with_model(self, study: Study) -> Study:
        models = {name: model_of(made) for name, made in learners_of(study).items()}
        if not any(models.values()):
            raise StudyError(f"no learner of the study needs a model: {self.model!r}")
        after = [name for name, model in models.items() if model == name]
        renamed = {name: self.model if after == [name] and self.model not in models else name for name in models}
        learners = {
            renamed[name]: replace(chosen, options={**chosen.options, "model": self.model}) if models[name] else chosen
            for name, chosen in study.learners.items()
        }
        views = tuple(_renamed(view, renamed) for view in study.views)
        return replace(study, learners=learners, views=views)

    def folder(self, name: str) -> str:
        """Name the folder of a run."""
        model = Path(self.model).name if self.model.startswith("path:") else self.model.partition(":")[2] or self.model
        parts = [name, Path(self.suite).name if self.suite else "", re.sub(r"[^\w.-]+", "-", model)]
        return "-".join(filter(None, parts))

    def options(self) -> str:
        """Write it as options of a command."""
        return "".join(f" --{name} {shlex.quote(value)}" for name, value in asdict(self).items() if value)


def _renamed(view: View, names: Mapping[str, str]) -> View:
    if not isinstance(view, Gain):
        return view
    return replace(view, learner=names.get(view.learner, view.learner), over=tuple(names.get(n, n) for n in view.over))


def run(
    study: Study | str | Path,
    folder: Path | str | None = None,
    *,
    overrides: Overrides | None = None,
    only: Sequence[str] = (),
    limit: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> Results:
    """Run what is missing of a study, by its name, its file, or as an object, and give all that was found.

    The results show as a report where a notebook shows them: `taskloom.summarise(taskloom.run("quickstart"))`.
    """
    prepared = prepare(study, folder, overrides=overrides, only=only, limit=limit, get=lambda _, model: model.get())
    with prepared.opened() as ledger:
        done = run_cells(prepared.plan, ledger, workers=workers, progress=progress)
        if done.interrupted:
            raise KeyboardInterrupt
        return results(prepared.plan, ledger, prepared.again(limit))


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A study that is planned, and where it will be run."""

    plan: Plan
    folder: Path
    named: str  # the study, and its folder if one was asked for, as a command names them
    text: str  # of its file
    overrides: Overrides

    @property
    def is_changed(self) -> bool:
        """Tell whether the folder has a run of another study, or of an older text of this one."""
        kept = self.folder / STUDY
        return (self.folder / LEDGER).is_file() and kept.is_file() and kept.read_text(encoding="utf-8") != self.text

    def opened(self) -> Ledger:
        """Open the run's ledger, once all is there that is needed to go on with it, or to report on it."""
        write_whole(self.folder / STUDY, self.text)
        ledger = Ledger(self.folder / LEDGER)
        ledger.keep_about(FOLDER, str(self.plan.study.folder.absolute()))
        ledger.keep_about(INSTEAD, canonical(asdict(self.overrides)))
        ledger.keep_about(MODELS, canonical({**known_models(ledger), **self.plan.model_ids}))
        return ledger

    def again(self, limit: int = 0) -> str:
        """Write the command that runs it again."""
        return _command(self.named, self.overrides, limit)


def prepare(
    study: Study | str | Path,
    folder: Path | str | None = None,
    *,
    overrides: Overrides | None = None,
    only: Sequence[str] = (),
    limit: int = 0,
    get: Get | None = None,
) -> Prepared:
    """Plan a study; the one of a run goes on with that run, and with the suite and model that it was made with."""
    made, text = _read(study)
    place = Path(folder) if folder else _run_of(study) or RUNS / (overrides or Overrides()).folder(made.name)
    changed = _agreed(place, overrides or Overrides())
    planned = plan(changed.in_place(made), place, only=only, limit=limit, get=get)
    named = shlex.quote(str(place / STUDY if isinstance(study, Study) else study))
    if folder and not isinstance(study, Study):
        named += f" -o {shlex.quote(str(folder))}"
    return Prepared(plan=planned, folder=place, named=named, text=text, overrides=changed)


def _read(study: Study | str | Path) -> tuple[Study, str]:
    """Read a study and its text; an object is read as it will be written, so that a run and its reports agree."""
    if isinstance(study, Study):
        text = written(study)
        return replace(parse(text, folder=study.folder), places={}), text
    made, text = load(str(study))
    if run := _run_of(study):
        with Ledger(run / LEDGER) as ledger:
            made = replace(made, folder=Path(ledger.about(FOLDER) or made.folder))
    return made, text


def _run_of(study: Study | str | Path) -> Path | None:
    """Give the run whose copy of its study this is, if it is one."""
    if isinstance(study, Study) or Path(study).name != STUDY or not Path(study).with_name(LEDGER).is_file():
        return None
    return Path(study).parent


def _agreed(folder: Path, asked: Overrides) -> Overrides:
    """Take what a run was made with where nothing is asked for, and refuse to mix it with something else."""
    if not (folder / LEDGER).is_file():
        return asked
    with Ledger(folder / LEDGER) as ledger:
        told = ledger.about(INSTEAD)
    kept = Overrides(**json.loads(told)) if told else asked
    if asked not in (kept, Overrides()):
        raise UsageError(f"the run was made with{kept.options() or ' what the study names'}; name another -o: {folder}")
    return kept


def gather(folder: Path, *, limit: int = 0) -> Results:
    """Give all that a run has found so far, or its trial on so many items."""
    study, overrides = study_of(folder)
    with Ledger(folder / LEDGER) as ledger:
        planned = plan(study, folder, limit=limit, known=known_models(ledger))
        return results(planned, ledger, _command(shlex.quote(str(folder / STUDY)), overrides, limit))


def _command(named: str, overrides: Overrides, limit: int) -> str:
    return f"taskloom run {named}{overrides.options()}" + (f" --limit {limit}" if limit else "")


def study_of(folder: Path) -> tuple[Study, Overrides]:
    """Read the study of a run, with what was put in the place of things that it names."""
    if not (folder / STUDY).is_file() or not (folder / LEDGER).is_file():
        raise UsageError(f"not a run, it has no {STUDY} and {LEDGER}: {folder}")
    with Ledger(folder / LEDGER) as ledger:
        place, overrides = Path(ledger.about(FOLDER)), Overrides(**json.loads(ledger.about(INSTEAD) or "{}"))
    return overrides.in_place(parse((folder / STUDY).read_text(encoding="utf-8"), STUDY, place)), overrides


def only_run() -> Path:
    """Give the folder of the only run that there is."""
    found = [path.parent for path in sorted(RUNS.glob(f"*/{LEDGER}"))]
    if len(found) != 1:
        names = ", ".join(map(str, found)) or "none"
        raise UsageError(f"name the run with --run, or as RUN:LEARNER; in {RUNS} there are: {names}")
    return found[0]


def known_models(ledger: Ledger) -> dict[str, Json]:
    """Give the models that cells of a run are named by, as they were when it was planned last."""
    found: dict[str, Json] = json.loads(ledger.about(MODELS) or "{}")
    return found
