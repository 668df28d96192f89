"""Studies from Python, in a notebook too: all that the command line does."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ..core import Suite
from ..databases import is_filled
from ..errors import StudyError, UnknownNameError, UsageError
from ..folders import check_name, refuse_file, write_whole
from ..ids import Json, canonical, fingerprint
from ..messages import Note
from ..models.replies import NAME as REPLIES
from ..models.trained import Trained
from ..progress import Progress
from ..scores import METRICS
from ..scores.tasks import is_known
from ..suites.store import MANIFEST, files_of, open_suite
from . import artifacts
from .cells import Cell, bases
from .cluster_nodes import check_reachable
from .environment import environment
from .estimate import Spent, expected_seconds
from .ledger import Ledger, State
from .merging import Merged, merge
from .metrics import metric_faults
from .overrides import Overrides
from .plan import SUITE, Plan, asked, plan
from .results import Outcome, PlanAbout, Results, plan_about, read_results
from .run import Done, crew_of
from .run import run as run_cells
from .study import Study, load, parse, views_of
from .study_learners import Get
from .tokens import TokenEstimate, expected_tokens
from .yaml_reader import StudyFaults
from .yaml_writer import written, written_views

LEDGER, STUDY, REPORT = "ledger.db", "study.yaml", "report.html"
RUNS = Path("runs")
KEPT = (LEDGER, STUDY, REPLIES, SUITE, artifacts.FOLDER)  # what a run's folder has, beside reports


def run(
    study: Study | str | Path,
    folder: Path | str | None = None,
    *,
    overrides: Overrides | None = None,
    only: Sequence[str] = (),
    limit: int = 0,
    workers: int = 0,
    on: str = "",
    progress: Progress | None = None,
) -> Results:
    """Run what is missing of a study, by its name, its file, or as an object, and give all that was found.

    With `on="ray"` or `on="ray://HOST:PORT"` a Ray cluster runs it. The results show as a report where a notebook shows
    them: `taskloom.summarise(taskloom.run("quickstart"))`.
    """
    if on:
        check_reachable(on)
    prepared = prepare(study, folder, overrides=overrides, only=only, limit=limit, get=lambda _, model: model.get())
    if prepared.work(workers=workers, on=on, progress=progress).interrupted:
        raise KeyboardInterrupt
    return prepared.results()


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """How much a plan has left to run."""

    cells: int
    left: int
    seconds: float | None  # None where a learner was never run
    tokens: Sequence[TokenEstimate] = ()  # by model


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A study that is planned, and where it will be run."""

    plan: Plan
    folder: Path
    named: str  # the study, and its folder if one was asked for, as a command names them
    limit: int
    text: str  # of its file
    overrides: Overrides

    @property
    def is_changed(self) -> bool:
        """Tell whether the folder has a run of another study, or of an older text of this one."""
        kept = self.folder / STUDY
        return is_filled(self.folder / LEDGER) and kept.is_file() and not _is_text(kept, self.text)

    def opened(self) -> Ledger:
        """Open the run's ledger, once all is there that is needed to go on with it, or to report on it."""
        ledger = Ledger(self.folder / LEDGER, filling=True)
        if not _is_text(self.folder / STUDY, self.text):
            write_whole(self.folder / STUDY, self.text)
        plan, study = self.plan, self.plan.study
        if not ledger.writable and not self.left():  # there is nothing to add to a finished run
            return ledger
        ledger.keep_about(
            study_folder=str(study.folder.absolute()),
            suite_folder=str(plan.folder.absolute()) if study.suite else SUITE,
            overrides=canonical(asdict(self.overrides)),
            models=canonical({**known_models(ledger), **plan.model_ids}),
            views=canonical(written_views(study)),
            metrics=canonical(list(study.metrics)),
            verified=plan.verified,
            environment=canonical(environment()),
        )
        keep_plan(plan, ledger, self.limit)
        return ledger

    def run(self, *, workers: int = 0, on: str = "", progress: Progress | None = None) -> tuple[Done, Results]:
        """Run what is missing; say how that ended, and give all that the run has found so far."""
        return self.work(workers=workers, on=on, progress=progress), self.results()

    def work(
        self, *, workers: int = 0, on: str = "", progress: Progress | None = None,
        stopping: Callable[[], None] | None = None, status: Callable[[str], None] | None = None,
    ) -> Done:  # fmt: skip
        """Run what is missing, and say how that ended; `status` is called with who is at work."""
        crew = crew_of(self.plan, self.folder, workers, on) if on else None  # one that is refused leaves no run behind
        try:
            with self.opened() as ledger:
                if not ledger.writable and not self.left():
                    return Done(0, 0, 0)
                return run_cells(
                    self.plan, ledger, workers=workers, crew=crew, progress=progress, stopping=stopping, status=status
                )
        finally:
            if crew:
                crew.shutdown(now=True)  # where the run did not come to that

    def inputs(self) -> list[Path]:
        """Name the files that it is made of: what the run's folder has of it, and its suite."""
        own = [self.folder / name for name in KEPT]
        return [*own, *(files_of(self.plan.folder) if self.plan.study.suite else ())]

    def results(self) -> Results:
        """Give all that the run has found so far."""
        study = self.plan.study
        with Ledger(self.folder / LEDGER) as ledger:
            return read_results(
                ledger, self.plan.suite, command=self.again(), trial=self.limit, views=study.views,
                metrics=study.metrics,
            )  # fmt: skip

    def left(self) -> list[Cell]:
        """Give the cells that are not finished."""
        states: dict[str, State] = {}
        if is_filled(self.folder / LEDGER):
            with Ledger(self.folder / LEDGER) as ledger:
                states = ledger.states()
        return [cell for cell in self.plan.to_run if states.get(cell.id) != "done"]

    def forecast(self) -> Forecast:
        """Say what is left to run, how long that will take by what was measured, and how many tokens by prompts."""
        spent: dict[str, list[Spent]] = {"adapt": [], "train": []}
        if is_filled(self.folder / LEDGER):
            with Ledger(self.folder / LEDGER) as ledger:
                spent = {kind: [Spent(*cost) for cost in ledger.costs(kind)] for kind in spent}
        cells, left = self.plan.to_run, self.left()
        asked = {"adapt": self.plan.questions, "train": {}}  # what is taught is as much each time
        parts = [expected_seconds([c for c in left if c.kind == kind], spent[kind], 0, asked[kind]) for kind in spent]
        seconds = None if None in parts else sum(part or 0.0 for part in parts)
        return Forecast(cells=len(cells), left=len(left), seconds=seconds, tokens=expected_tokens(self.plan, left))

    def again(self) -> str:
        """Write the command that runs it again."""
        return _command(self.named, self.overrides, self.limit)


def keep_plan(plan: Plan, ledger: Ledger, limit: int = 0) -> None:
    """Keep a plan in a ledger, with all that a report needs to know of it."""
    about = PlanAbout(
        study=plan.study.name,
        learners={name: repr(of) for name, of in plan.learners.items()},
        baselines=plan.baselines,
        settings=plan.settings,
        digests={name: plan.suite.digest(name) for name in dict.fromkeys(cell.task for cell in plan.cells)},
        skipped=[(note.to_json(), count) for note, count in plan.skipped.items()],
        dropped=[note.to_json() for note in plan.dropped],
        taught=[note.to_json() for note in plan.taught],
    )
    text = canonical(asdict(about))
    ledger.keep_plan(
        limit, fingerprint([[c.id, c.learner, c.task, c.fold] for c in plan.cells], text), text, plan.cells
    )


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
    made, text = study_and_text(study)
    place = Path(folder) if folder else _run_of(study) or RUNS / (overrides or Overrides()).folder(made.name)
    check_name(made.folder)
    _refuse_place(place, text)
    changed = _agreed(place, overrides or Overrides())
    known, verified = _known(place)
    planned = plan(changed.in_place(made), place, only=only, limit=limit, get=get, known=known, verified=verified)
    named = shlex.quote(str(place / STUDY if isinstance(study, Study) else study))
    if folder and not isinstance(study, Study):
        named += f" -o {shlex.quote(str(folder))}"
    prepared = Prepared(plan=planned, folder=place, named=named, limit=limit, text=text, overrides=changed)
    _refuse_unready(planned, prepared.left())
    return prepared


def _refuse_place(folder: Path, text: str) -> None:
    """Refuse a folder for a run that is a suite's, or has files of somebody's own in the places of a run's."""
    refuse_file(check_name(folder))
    if (folder / MANIFEST).is_file():
        raise UsageError(Note.of("run-in-suite", path=folder))
    if is_filled(folder / LEDGER):
        return
    others = [folder / REPORT] if os.path.lexists(folder / REPORT) else []
    if os.path.lexists(folder / STUDY) and not _is_text(folder / STUDY, text):
        others.append(folder / STUDY)
    if others:
        raise UsageError(Note.of("run-would-replace", paths=others))


def _is_text(path: Path, text: str) -> bool:
    return path.is_file() and path.read_bytes() == text.encode()


def asked_by(study: Study | str | Path, *, overrides: Overrides | None = None) -> tuple[Study, Suite, list[str]]:
    """Give a study with its suite, where its run has it, and the tasks that it asks about."""
    made, _ = study_and_text(study)
    place = _run_of(study) or RUNS / (overrides or Overrides()).folder(made.name)
    kept = _agreed(place, overrides or Overrides())
    made = replace(kept, model="").in_place(made)  # learners and models are not looked at
    return made, *asked(made, place)


def _refuse_unready(planned: Plan, left: Sequence[Cell]) -> None:
    """Refuse models that can't be asked, for want of a key say, before any cell; but for optional learners."""
    faults = StudyFaults(planned.study.places)
    wanted = {cell.learner for cell in left if cell.kind == "adapt"}
    learners = [name for name in planned.learners if name in wanted and not planned.study.learners[name].optional]
    for model in dict.fromkeys(model for name in learners for model in planned.learners[name].models):
        base = bases(planned.models, model)[0]
        of = planned.models[base]
        for note in () if isinstance(of, Trained) else of.lacks():
            faults.add(planned.study.places.get(("model", base), ""), f"model {base!r}: {note}")
    faults.settle()


def _known(folder: Path) -> tuple[dict[str, Json], str]:
    """Give the models of a run that was planned before, and which data of its suite was verified then."""
    if not is_filled(folder / LEDGER):
        return {}, ""
    with Ledger(folder / LEDGER) as ledger:
        return known_models(ledger), ledger.about("verified") or ""


def study_and_text(study: Study | str | Path) -> tuple[Study, str]:
    """Read a study and its text; an object is read as it will be written, so that a run and its reports agree."""
    if isinstance(study, Study):
        text = written(study)
        return replace(parse(text, folder=study.folder), places={}), text
    made, text = load(str(study))
    if run := _run_of(study):
        with Ledger(run / LEDGER) as ledger:
            folder = Path(ledger.about_folder("study_folder", must_exist=False) or made.folder)
            made = replace(made, folder=folder, of_run=True)
    return made, text


def _run_of(study: Study | str | Path) -> Path | None:
    """Give the run whose copy of its study this is, if it is one."""
    if isinstance(study, Study) or Path(study).name != STUDY or not Path(study).with_name(LEDGER).is_file():
        return None
    return Path(study).parent


def _agreed(folder: Path, asked: Overrides) -> Overrides:
    """Take what a run was made with where nothing is asked for, and refuse to mix it with something else."""
    if not is_filled(folder / LEDGER):
        return asked
    with Ledger(folder / LEDGER) as ledger:
        kept = Overrides.kept(ledger) if ledger.about("overrides") else asked
    if asked not in (kept, Overrides()):
        raise UsageError(
            f"the run was made with{kept.options() or ' the suite and models of the study'}; use another -o: {folder}"
        )
    return kept


def open_run(folder: Path | str, *, limit: int = 0, metrics: Sequence[str] = ()) -> Results:
    """Read the results of a run so far, or of its trial with this limit, from its ledger and its suite alone.

    Answers are scored by these metrics, or by those of the study.
    """
    folder = Path(folder)
    with _ledger_of(folder) as ledger:
        suite = open_suite(suite_folder(ledger))
        views = views_of(ledger.about_json("views", []))
        overrides = Overrides.kept(ledger)
        command = _command(shlex.quote(str(folder / STUDY)), overrides, limit)
        scored_by = metrics or tuple(map(str, ledger.about_json("metrics", [])))
        found = read_results(ledger, suite, command=command, trial=limit, views=views, metrics=scored_by)
    _refuse_metrics(found, metrics)
    return found


def inputs_of_run(folder: Path | str) -> list[Path]:
    """Name the files and folders that a run is read from; reports may lie beside them, and not in their place."""
    folder = Path(folder)
    with _ledger_of(folder) as ledger:
        suite = suite_folder(ledger)
    return [*(folder / name for name in KEPT), *files_of(suite)]


def _ledger_of(folder: Path) -> Ledger:
    if not (folder / LEDGER).is_file():
        raise UsageError(Note.of("not-a-run", file=LEDGER, path=folder))
    return Ledger(folder / LEDGER)


def suite_folder(ledger: Ledger) -> Path:
    """Say where the suite of a run is."""
    return ledger.path.parent / (ledger.about_folder("suite_folder", must_exist=True) or SUITE)


def _refuse_metrics(found: Results, metrics: Sequence[str]) -> None:
    """Refuse metrics that are none, or that can score no task of a run."""
    for name in metrics:
        if not is_known(name):
            raise UnknownNameError("metric", name, METRICS)
    ran = [found.suite.tasks[name] for name in sorted({o.task for o in found.outcomes})]
    if faults := [str(fault) for fault in metric_faults(ran, metrics if ran else ())]:
        raise StudyError("the run can't be scored by these metrics:", faults)


def trials_of(folder: Path | str) -> list[int]:
    """Give the limits of the trials of a run (`run --limit`), which are kept apart from the full run."""
    with Ledger(Path(folder) / LEDGER) as ledger:
        return ledger.trials()


def paired(a: str, b: str, run: Path | str | None = None, *, limit: int = 0) -> Results:
    """Gather two learners, of one run (`NAME`) or of two (`RUN:NAME`), under the names that they were asked for by."""
    if a == b:
        raise UsageError(f"a learner can't be compared with itself: {a!r}")
    gathered: dict[Path, Results] = {}
    outcomes: list[Outcome] = []
    for name in (a, b):
        place, _, learner = name.rpartition(":")
        folder = Path(place or run or only_run())
        if folder not in gathered:
            gathered[folder] = open_run(folder, limit=limit)
        found = gathered[folder]
        if not found.outcomes and (trials := [n for n in trials_of(folder) if n != limit]):
            raise UsageError(f"only trials have results; compare one with --limit {_or(trials)}: {folder}")
        if learner not in found.learners:
            raise UnknownNameError(f"learner of {folder}", learner, found.learners)
        outcomes += [replace(outcome, learner=name) for outcome in found.outcomes if outcome.learner == learner]
    first, *others = gathered.values()
    for other in others:
        shared = [task for task in first.suite.tasks if task in other.suite.tasks]
        if not shared or any(first.suite.digest(task) != other.suite.digest(task) for task in shared):
            raise UsageError("the two runs have different tasks, and can't be paired")
        outcomes = [outcome for outcome in outcomes if outcome.task in shared]
    return replace(first, outcomes=tuple(outcomes), learners={a: a, b: b}, baselines=(), failures=())


def _or(numbers: Sequence[int]) -> str:
    return " or ".join(map(str, numbers))


def learners_of_run(folder: Path) -> list[str]:
    """Name the learners of a run."""
    with Ledger(folder / LEDGER) as ledger:
        about = plan_about(ledger, 0)
    return list(about.learners) if about else []


def merge_runs(into: Path, other: Path) -> Merged:
    """Copy what another run, or its ledger, has finished.

    Models that it has trained are copied if they are beside its ledger; others are trained again when needed.
    """
    ours, theirs = (path if path.suffix == ".db" or path.is_file() else path / LEDGER for path in (into, other))
    if not theirs.is_file():
        raise UsageError(Note.of("not-a-run", file=LEDGER, path=other))
    with Ledger(theirs):  # refuses what is none
        pass
    if not ours.is_file():  # mistyped, and not to be made of what is merged
        raise UsageError(Note.of("merge-into-nothing", path=into))
    with Ledger(ours) as ledger:
        found = merge(ledger, theirs)
        artifacts.copy_missing(theirs.parent, ours.parent, lambda cell: (ledger.result(cell) or {}).get("artifact", ""))
    return found


def _command(named: str, overrides: Overrides, limit: int) -> str:
    return f"taskloom run {named}{overrides.options()}" + (f" --limit {limit}" if limit else "")


def only_run() -> Path:
    """Give the folder of the only run that there is."""
    found = [path.parent for path in sorted(RUNS.glob(f"*/{LEDGER}"))]
    if len(found) != 1:
        names = ", ".join(map(str, found)) or "none"
        raise UsageError(f"name the run, with --run RUN or as RUN:LEARNER; runs in {RUNS}: {names}")
    return found[0]


def known_models(ledger: Ledger) -> dict[str, Json]:
    """Give the models that cells of a run are named by, as they were when it was planned last."""
    found: dict[str, Json] = ledger.about_json("models", {})
    return found
