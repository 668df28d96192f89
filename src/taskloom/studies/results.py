"""What a run found: the finished cells with their answers and scores. Reports are made of this alone.

It is read from the ledger and the suite on disk: no learner, no model and no benchmark is needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

from ..core import Answer, Example, Fields, Ints, Output, Suite, Task
from ..episodes import NamedShots, Shots
from ..errors import StudyError
from ..ids import Json
from ..limits import parse_json
from ..messages import Note
from ..scores import Metric, Scored
from ..scores.tasks import parts_of, score_key, score_task
from ..suites.columns import hashes
from .costs import Cost
from .curves import LossTrace, curve_table, loss_traces
from .environment import RunRecord
from .finished import Score, body_of
from .items import as_frame, item_table
from .ledger import Ledger, Planned
from .metrics import metrics_of
from .views import View

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

QUERY = "query"
NO_GROUP = int(hashes([""])[0])
RowNumbers: TypeAlias = tuple[int, ...]
Golds: TypeAlias = tuple[tuple[Answer, ...], ...]  # the acceptable answers to each item
Asked: TypeAlias = Callable[[str, str, RowNumbers], tuple[RowNumbers, Golds, RowNumbers]]  # rows, gold, records


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The scores of what was answered about a set while a cell learnt."""

    set: Literal["support", "query"]
    step: int  # of training, before which it was asked; or the number of steps, after the last
    items: tuple[str, ...]
    records: tuple[int, ...]
    scores: Mapping[str, Scored]  # by metric, as those of the outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A finished cell: one learner on one episode of one task."""

    cell: str  # its id
    task: str
    learner: str  # its name in the study
    shots: Shots
    seed: int
    index: int  # of the episode
    training: int = 0  # the seed of all that was learnt
    fold: str = ""  # whose train tasks its model was trained on
    pool: str  # that the query items are of
    rows: tuple[int, ...]  # of the query items in it, as the answers; two pools may share ids
    items: tuple[str, ...]  # their ids
    answers: tuple[Answer | None, ...]
    gold: tuple[tuple[Answer, ...], ...]
    scores: Mapping[str, Scored]  # by the metric as the task names it: "rouge-l", "title/rouge-l"
    counts: Mapping[str, int]  # by code: what was cut, dropped or unparsable on the way
    cost: Cost
    records: tuple[int, ...] = ()  # of the items, by numbers that are the same in all tasks; none if each is its own
    looks: tuple[Look, ...] = ()  # by set and step, where the study looks at answers while a cell learns
    sizes: tuple[int, ...] = ()  # support examples of each class of the episode; none of a task without classes
    chance: float = 1.0  # the probability of these sizes, given the classes

    @property
    def episode(self) -> tuple[int, int, int]:
        """Tell episodes of a task and a setting apart: by draw, number, and what was learnt from it."""
        return self.seed, self.index, self.training


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A cell that gave nothing, and why."""

    cell: str
    task: str
    learner: str
    shots: Shots
    seed: int
    index: int
    why: Note
    traceback: str


EpisodeKey: TypeAlias = tuple[str, Shots, int, int]  # an episode of a challenge: its task, shots, seed and index


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """All that a run has found so far."""

    name: str  # of the study
    command: str  # that runs it again
    suite: Suite = field(repr=False)
    learners: Mapping[str, str]  # name in the study -> what it is, for people
    baselines: tuple[str, ...]  # names of learners that are baselines: never ranked, never the best
    outcomes: tuple[Outcome, ...] = field(repr=False)
    failures: tuple[Failure, ...] = field(repr=False)
    missing: int  # cells that were not run yet
    skipped: Mapping[Note, int]  # why cells or tasks were skipped, and how many
    smoke: bool = False  # whether sizes were limited for a trial
    settings: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)  # what each learner is set to
    views: tuple[View, ...] = ()  # what the study wants to see beside scores
    training: Mapping[str, tuple[Cost, ...]] = field(default_factory=dict)  # by model: what each of its cells cost
    training_counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # by model and code: what was cut
    metrics: tuple[str, ...] = ()  # that the study names; none: the tasks' own
    dropped: tuple[Note, ...] = ()  # classes that take no part, task by task
    taught: tuple[Note, ...] = ()  # what is known of leaks into what is asked about, trained model by trained model

    def metrics_of(self, task: str) -> tuple[str, ...]:
        """Name the metrics that a task is scored by."""
        return metrics_of(self.suite.task(task), self.metrics)

    ledger: Path | None = field(default=None, repr=False)  # where what models wrote is; none of predictions
    not_run: frozenset[tuple[str, str, Shots]] = frozenset()  # learner, task and shots of cells that were not run yet
    record: RunRecord | None = None  # when and where cells were run
    trial: int = 0  # the limit of a trial
    asked: Mapping[EpisodeKey, tuple[str, ...]] = field(
        default_factory=dict, repr=False
    )  # a challenge's episodes, items

    def to_arrow(self, tasks: Collection[str] = ()) -> pa.Table:
        """Give a table with a row for each answer, of these tasks or of all: input, gold, raw output, answer, scores.

        What models wrote is read from the ledger now. `studies.items.item_rows` gives the same row by row.
        """
        return item_table(self, tasks)

    def to_pandas(self, tasks: Collection[str] = ()) -> pd.DataFrame:
        """Give the rows of `to_arrow` as a data frame."""
        return as_frame(self.to_arrow(tasks))

    def traces(self) -> tuple[LossTrace, ...]:
        """Give the losses of all that was trained, cell by cell; they are read from the ledger now."""
        return loss_traces(self)

    def curves(self) -> pa.Table:
        """Give a table of what was measured while cells learnt: losses, and scores of looks, a row for each step."""
        return curve_table(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanAbout:
    """What is kept about a plan beside its cells; a ledger holds it as JSON."""

    study: str  # its name
    learners: Mapping[str, str]
    baselines: Sequence[str]
    settings: Mapping[str, Mapping[str, Json]]
    digests: Mapping[str, str]  # of the tasks
    skipped: Sequence[tuple[Mapping[str, Any], int]]  # notes, and how often each
    dropped: Sequence[Mapping[str, Any]] = ()  # notes
    taught: Sequence[Mapping[str, Any]] = ()  # notes on what trained models may know of the tasks

    def notes(self) -> dict[Note, int]:
        """Give what was skipped when the plan was made."""
        return {Note.from_json(note): count for note, count in self.skipped}


def plan_about(ledger: Ledger, trial: int) -> PlanAbout | None:
    """Read what was kept about a plan, or nothing."""
    if not (text := ledger.plan_about(trial)):
        return None
    with ledger.naming_damage("the plan"):
        about = PlanAbout(**parse_json(text))
        texts = [about.study, *about.baselines, *about.learners.values(), *about.digests.values()]
        if not all(isinstance(one, str) for one in texts) or not all(type(n) is int for n in about.notes().values()):
            raise TypeError("texts and counts are expected")
        notes = [Note.from_json(note) for note in (*about.dropped, *about.taught)]
        if not all(type(dict(note.values).get("count")) is int for note in notes[: len(about.dropped)]):
            raise TypeError("what was dropped is counted")
        {name: dict(settings) for name, settings in about.settings.items()}
    return about


def read_results(
    ledger: Ledger,
    suite: Suite,
    *,
    command: str,
    trial: int = 0,
    views: tuple[View, ...] = (),
    metrics: Sequence[str] = (),
) -> Results:
    """Gather the finished cells of the plan that was made last, with their answers, gold and scores.

    They are scored by these metrics, or by the tasks' own.
    """
    about = plan_about(ledger, trial)
    if about is None:
        return _nothing(ledger, suite, command, trial)
    _refuse_changed(suite, about.digests)
    planned = _planned(ledger, suite, trial, about.learners)
    cells = {one.cell: one for one in planned if one.kind == "adapt"}
    with ledger.naming_damage("what cells gave"):
        reading = _Reading(ledger, suite, trial, metrics)
        failed, skipped = ledger.ended("failed"), ledger.ended("skipped")
    outcomes = reading.outcomes(planned)
    reasons = Counter(about.notes()) + reading.damaged(planned)
    for one in planned:
        if one.cell in skipped:
            reasons[skipped[one.cell][0]] += 1
    waiting = [one for id_, one in cells.items() if not (id_ in reading.bodies or id_ in failed or id_ in skipped)]
    return Results(
        name=about.study,
        command=command,
        suite=suite,
        learners=about.learners,
        baselines=tuple(about.baselines),
        outcomes=tuple(outcomes),
        failures=tuple(_failure(one, *failed[one.cell]) for one in planned if one.cell in failed),
        missing=len(waiting),
        skipped=dict(reasons),
        smoke=trial > 0,
        trial=trial,
        settings=about.settings,
        views=views,
        training=_training(planned, reading.costs),
        training_counts=reading.training_counts(planned),
        metrics=tuple(metrics),
        dropped=tuple(Note.from_json(note) for note in about.dropped),
        taught=tuple(Note.from_json(note) for note in about.taught),
        ledger=ledger.path,
        not_run=frozenset((one.learner, one.task, one.shots) for one in waiting),
        record=_record(ledger, trial),
    )


def _planned(ledger: Ledger, suite: Suite, trial: int, learners: Collection[str]) -> list[Planned]:
    """Read the cells of a plan, and refuse those that no plan of this suite has."""
    planned = ledger.planned(trial)
    with ledger.naming_damage("the plan"):
        for one in planned:
            if not all(type(n) is int for n in (one.seed, one.episode, one.training)):
                raise TypeError(f"seeds and episodes are integers: {one.cell}")
            if not all(isinstance(text, str) for text in (one.cell, one.kind, one.learner, one.fold)):
                raise TypeError(f"names are texts: {one.cell}")
            if one.kind == "adapt" and (one.task not in suite.tasks or not _is_shots(one.shots)):
                raise LookupError(f"no task of the suite, or no shots: {one.cell}")
            if one.kind == "adapt" and one.learner not in learners:
                raise LookupError(f"no learner of the study: {one.cell}")
    return planned


def _is_shots(shots: Any) -> bool:
    return (type(shots) is int and shots >= 0) or shots in get_args(NamedShots)


def _record(ledger: Ledger, trial: int) -> RunRecord | None:
    times = ledger.times(trial)
    return RunRecord(*times, ledger.about_json("environment", {})) if times else None


def _training(planned: Sequence[Planned], costs: Mapping[str, Cost]) -> dict[str, tuple[Cost, ...]]:
    """Give what it cost to train models, those that are done."""
    done = [one for one in planned if one.kind == "train" and one.cell in costs]
    return {name: tuple(costs[o.cell] for o in done if o.learner == name) for name in sorted({o.learner for o in done})}


def _nothing(ledger: Ledger, suite: Suite, command: str, trial: int) -> Results:
    """Give the results of a run of which only other trials, or nothing, was planned; a trial has the study's name."""
    names = (about.study for other in ledger.trials() if (about := plan_about(ledger, other)))
    return Results(
        name=next(names, suite.id), command=command, suite=suite, learners={}, baselines=(), outcomes=(), failures=(),
        missing=0, skipped={}, smoke=trial > 0, trial=trial,
    )  # fmt: skip


def _refuse_changed(suite: Suite, digests: Mapping[str, str]) -> None:
    """Refuse a suite that is no longer the one whose items were answered."""
    changed = [name for name, digest in digests.items() if name not in suite.tasks or suite.digest(name) != digest]
    if changed:
        told = ", ".join(changed[:5]) + (f" and {len(changed) - 5} more" if len(changed) > 5 else "")
        raise StudyError(f"the suite has changed since the run; run it again; tasks that differ: {told}")


def _failure(one: Planned, why: Note, trace: str) -> Failure:
    return Failure(
        cell=one.cell, task=one.task, learner=one.learner, shots=one.shots, seed=one.seed, index=one.episode, why=why,
        traceback=trace or str(why),
    )  # fmt: skip


class _Reading:
    """Reads what the cells of a plan gave, each table in one go."""

    def __init__(self, ledger: Ledger, suite: Suite, trial: int, metrics: Sequence[str]) -> None:
        self.ledger, self.suite = ledger, suite
        self.bodies = dict(ledger.bodies(trial))
        self.scores, self.costs = ledger.scores(trial), ledger.costs_of(trial)
        self.metrics = cache(lambda name: _metrics(suite.tasks[name], metrics))
        self.asked: Asked = cache(self._asked)  # all learners share an episode's
        self.groups = cache(lambda task, pool: suite.pools[task][pool].groups())
        self.new: list[tuple[str, str, Score]] = []

    def outcomes(self, planned: Sequence[Planned]) -> list[Outcome]:
        """Read the outcomes of cells that are finished; scores by metrics that are new are made, and kept."""
        found = [self._outcome(one) for one in planned if one.kind == "adapt" and one.cell in self.bodies]
        self.ledger.keep_scores(self.new)
        return found

    def training_counts(self, planned: Sequence[Planned]) -> dict[str, dict[str, int]]:
        """Count what was cut or dropped when models were trained."""
        found: dict[str, Counter[str]] = {}
        for one in planned:
            if one.kind == "train" and one.cell in self.bodies:
                with self.ledger.naming_damage(f"cell {one.cell}"):
                    found.setdefault(one.learner, Counter()).update(body_of(self.bodies[one.cell])["counts"])
        return {model: dict(counts) for model, counts in found.items() if counts}

    def damaged(self, planned: Sequence[Planned]) -> Counter[Note]:
        """Tell finished cells whose results are not what was kept; the next run does them again."""
        states = self.ledger.states()
        lost = [one.cell for one in planned if one.cell not in self.bodies and states.get(one.cell) == "done"]
        return Counter(Note.of("result-damaged", cell=cell) for cell in dict.fromkeys(lost))

    def _asked(self, task: str, pool: str, rows: RowNumbers) -> tuple[RowNumbers, Golds, RowNumbers]:
        examples = self.suite.pools[task][pool].take(rows)
        return rows, tuple(e.gold for e in examples), records_of(task, examples, self.groups(task, pool)[list(rows)])

    def _outcome(self, one: Planned) -> Outcome:
        task = self.suite.tasks[one.task]
        with self.ledger.naming_damage(f"cell {one.cell}"):
            body = body_of(self.bodies[one.cell])
            query = body["sets"][QUERY]
            answers = tuple(_as_given(task.output, answer) for answer in query["answers"])
            rows, gold, records = self.asked(one.task, query["pool"], tuple(query["rows"]))
        return Outcome(
            cell=one.cell,
            task=one.task,
            learner=one.learner,
            shots=one.shots,
            seed=one.seed,
            index=one.episode,
            training=one.training,
            fold=one.fold,
            pool=query["pool"],
            rows=rows,
            items=query["items"],
            answers=answers,
            gold=gold,
            scores=self._scores(one.cell, task, gold, answers),
            counts=body["counts"],
            cost=self.costs.get(one.cell, Cost()),
            records=records,
            looks=tuple(self._looks(task, body["sets"])) if len(body["sets"]) > 1 else (),
            sizes=body["sizes"],
            chance=body["chance"],
        )

    def _looks(self, task: Task, sets: Mapping[str, Any]) -> Iterator[Look]:
        """Score what was answered on the way, set by set and step by step; these scores are not kept."""
        named = sorted((part, int(step), name) for name in sets for part, at, step in [name.partition("@")] if at)
        for part, step, name in named:
            given = sets[name]
            with self.ledger.naming_damage(name):
                _, gold, records = self.asked(task.id, given["pool"], tuple(given["rows"]))
                answers = [_as_given(task.output, answer) for answer in given["answers"]]
            yield Look(
                set=cast(Literal["support", "query"], part), step=step, items=given["items"], records=records,
                scores=score_task(task, gold, answers, tuple(self.metrics(task.id))),
            )  # fmt: skip

    def _scores(self, cell: str, task: Task, gold: Sequence[Any], answers: Sequence[Any]) -> dict[str, Scored]:
        """Take the scores of a cell; those of metrics that are new are made of the answers."""
        kept, metrics = self.scores.get(cell, {}), self.metrics(task.id)
        found = {name: kept.get(score_key(name, of)) for name, of in metrics.items()}
        new = tuple(name for name, score in found.items() if score is None)
        made = score_task(task, gold, answers, new) if new else {}
        self.new += [(cell, score_key(name, s.metric), (s.units, s.unusable)) for name, s in made.items()]
        return {name: Scored(of, *score) if (score := found[name]) else made[name] for name, of in metrics.items()}


def _metrics(task: Task, wanted: Sequence[str]) -> dict[str, Metric]:
    return {typed: of for typed, _, of in parts_of(task, metrics_of(task, wanted))}


def records_of(task: str, examples: Sequence[Example], groups: Ints) -> tuple[int, ...]:
    """Number the records of examples by their groups; one that has no group is a record of its own."""
    records = tuple(groups.tolist())
    if NO_GROUP not in records:
        return records
    own = own_records(task, tuple(example.item.id for example in examples))
    return tuple(alone if record == NO_GROUP else record for record, alone in zip(records, own, strict=True))


@lru_cache(maxsize=1 << 14)
def own_records(task: str, items: tuple[str, ...]) -> tuple[int, ...]:
    """Number items whose records are not known: each is a record of its own, which no other task shares."""
    return tuple(hashes(f"{task}\0{item}" for item in items).tolist())


def _as_given(output: Output, kept: Any) -> Any:
    """Read an answer as it was given and scored, whatever its form; parts stand in the order of their output."""
    if isinstance(kept, list):
        return tuple(_as_given(output, part) for part in kept)
    if not isinstance(kept, dict):
        return kept
    order = [name for name in output.parts if name in kept] if isinstance(output, Fields) else []
    return {name: _as_given(output, kept[name]) for name in dict.fromkeys([*order, *kept])}
