"""Asking a model about texts of one's own: by a task of a suite or a run, or by a prompt that no task has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..core import Example, Fields, Item, Suite, Task, Text
from ..episodes import Deck, Episode, Sampler, episode
from ..errors import UnknownNameError, UsageError
from ..learners import Learner, Response, learner
from ..learners.answering import answer
from ..learners.toolbox import Toolbox
from ..messages import Note
from ..models.load import source
from ..models.trained import Trained
from ..sources import packages
from ..sources.table import Field
from ..suites.field_instructions import ARROWS
from ..suites.field_instructions import instruction as instruction_of
from ..suites.fields import FieldPool, Records, parse_task_id, task_id
from ..suites.fields import task as field_task
from ..suites.store import open_suite
from .api import LEDGER
from .cells import Uses, bases
from .ledger import Ledger, Planned
from .study import Study
from .trust import OpenedStudy, makeable
from .work import Bench

LONGEST = 256  # tokens of an answer
FOLDER = "ask"  # in the cache, for what endpoints reply where there is no run


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A model with a task that it can be asked about."""

    bench: Bench
    learner: Learner
    uses: Uses  # what trained models of a run were made by
    task: Task
    fields: tuple[str, ...]  # of what is asked about
    support: tuple[Example, ...] = ()
    seed: int = 0

    def answers(self, texts: Sequence[Mapping[str, str]]) -> tuple[list[Response], dict[str, int]]:
        """Answer texts, each a mapping of the task's fields; with counts of what was cut or can't be parsed."""
        for given in texts:
            if {*given} != {*self.fields}:
                raise UsageError(Note.of("ask-fields", fields=list(self.fields), given=list(given)))
            if odd := [name for name, text in given.items() if not isinstance(text, str) or not text.strip()]:
                raise UsageError(Note.of("ask-no-text", fields=odd))
        query = tuple(Example(Item(f"{n}", dict(given)), (), "") for n, given in enumerate(texts, 1))
        asked = Episode(id="", task=self.task, support=self.support, dev=(), query=query)
        tools = Toolbox(
            {}, lambda name: self.bench.model(name, self.uses), stores=self.bench.suite.stores,
            encoders=lambda name: self.bench.vectors(name, self.uses),
        )  # fmt: skip
        with tools.held:
            return answer(self.learner, asked, seed=self.seed, tools=tools), tools.counts


def asking(
    model: str, task: str, *, suite: Path | str | None = None, run: Path | str | None = None, shots: int = 0,
    seed: int = 0, trust_code: bool = False,
) -> Asking:  # fmt: skip
    """Make a model ready to be asked: one that can be loaded, or a model or learner of a run.

    The task is one of the suite or of the run's. Field tasks that these do not have can be asked too, such as
    `abstract->abstract`; without either, any field task, whose answer is then a text. Code in files that a run names
    runs only where it is trusted, and its endpoints are asked only there.
    """
    if suite and run:
        raise UsageError(Note.of("ask-one-place"))
    if run:
        found = _of_run(Path(run), model, task, seed, trust_code=trust_code)
    else:
        opened = open_suite(Path(suite)) if suite else Suite(id="asked", tasks={}, pools={})
        kept = packages.cache_folder() / FOLDER
        bench = Bench(Study(name="ask"), opened, {}, {model: source(model, None, Path(), others={})}, kept)
        found = _asking(bench, _usual(model), (), task, seed)
    return replace(found, support=_support(found, shots)) if shots else found


def replies_kept() -> list[tuple[Path, list[str]]]:
    """List the folder of the cache that has what endpoints replied, if there is one, and what it is for."""
    at = packages.cache_folder() / FOLDER
    return [(at, ["replies of endpoints that `taskloom ask` asked"])] if at.is_dir() else []


def _named(suite: Suite, task: str) -> str:
    """Name a task as the suite does, where it is a field task that is written otherwise."""
    records = _records(suite)
    if task in suite.tasks or records is None or "->" not in task.replace("→", "->"):
        return task
    order = [f.name for f in records.fields]
    sides = parse_task_id(task)
    for name in (*sides[0], *sides[1]):
        records.field(name)
    inputs, outputs = (sorted({*side}, key=order.index) for side in sides)
    return task_id(inputs, outputs)


def _records(suite: Suite) -> Records | None:
    pools = (pool for found in suite.pools.values() for pool in found.values())
    return next((pool.records for pool in pools if isinstance(pool, FieldPool)), None)


def _asking(bench: Bench, of: Learner, uses: Uses, task: str, seed: int) -> Asking:
    made, fields = _task(bench.suite, _named(bench.suite, task))
    return Asking(bench=bench, learner=of, uses=uses, task=made, fields=fields, seed=seed)


def _usual(model: str, encoding: str = "") -> Learner:
    """Give how a model is asked: in the words it was trained with, where it was."""
    if encoding:
        return learner("instructed", {"model": model, "encoding": encoding, "tokens": LONGEST})
    return learner("in-context", {"model": model, "tokens": LONGEST, "calibrate": False})


# --- of a run --------------------------------------------------------------------------------------------------------


def _of_run(folder: Path, name: str, task: str, seed: int, *, trust_code: bool) -> Asking:
    if not (folder / LEDGER).is_file():
        raise UsageError(Note.of("not-a-run", file=LEDGER, path=folder))
    with Ledger(folder / LEDGER) as ledger:
        bench = _bench(OpenedStudy.of_run(folder, ledger, trust_code=trust_code), name)
        of = bench.learners[name] if name in bench.study.learners else _usual(name, _encoding(bench.models[name]))
        for model in of.models:
            bench.allowed(model)  # before anybody types a text
        name = _named(bench.suite, task)
        uses = tuple(one for model in of.models for one in _made(ledger, bench, model, name, seed))
    return _asking(bench, of, uses, task, seed)


def _bench(opened: OpenedStudy, name: str) -> Bench:
    """Give what is needed to ask a learner of a study, a model of it, or a model that only its learners name."""
    if name in opened.study.learners:
        return opened.bench([name])
    if name in opened.study.models:
        return opened.bench([], [name])
    bench = opened.bench(makeable(opened.study, trust_code=opened.trust_code))
    if name not in bench.models:
        known = [*opened.study.models, *bench.models, *opened.study.learners]
        raise UnknownNameError("model or learner of the run", name, known)
    return bench


def _encoding(of: object) -> str:
    """Give the encoding that a model was trained with, where it was one."""
    return of.encoding if isinstance(of, Trained) and of.encoding != "random" else ""


def _made(ledger: Ledger, bench: Bench, model: str, task: str, seed: int) -> Uses:
    """Find the cells that made a trained model: those for the task that is asked, or else the first with the seed."""
    chain = bases(bench.models, model)[1:]
    if not chain:
        return ()
    done = ledger.states()
    trained = [one for one in ledger.planned(0) if one.kind == "train" and done.get(one.cell) == "done"]
    able = [one for one in trained if one.learner == model and one.seed == seed]
    if not able:
        raise UsageError(Note.of("model-not-trained", model=model, seed=seed))
    cell = min(able, key=lambda one: not _is_for(bench.suite, one, task)).cell
    found: list[tuple[str, str]] = []
    for name in reversed(chain):
        found.insert(0, (name, cell))
        base = ledger.key(cell).get("base")
        cell = base["trained"] if isinstance(base, Mapping) and "trained" in base else ""
    return tuple(found)


def _is_for(suite: Suite, one: Planned, task: str) -> bool:
    """Tell whether a model was trained to help with a task."""
    return task in suite.folds.get(one.fold, {}).get("test", ()) if one.fold else one.task == task


# --- what is asked ---------------------------------------------------------------------------------------------------


def _task(suite: Suite, name: str) -> tuple[Task, tuple[str, ...]]:
    """Find a task and the fields of its inputs, or make one of fields that the suite's tasks have."""
    if name in suite.tasks:
        pool = suite.asked_pool(name)
        return suite.tasks[name], tuple(pool.take([0])[0].item.fields)
    if suite.tasks and "->" not in name.replace("→", "->"):
        raise UnknownNameError("task", name, suite.tasks)
    inputs, outputs = parse_task_id(name)
    of = _records(suite)
    if of is None and suite.tasks:
        raise UnknownNameError("task", name, suite.tasks)
    if of is None:
        return _bare_task(inputs, outputs), inputs
    some = next(iter(suite.tasks.values()))
    known = [[of.field(field) for field in some.tags[side]] for side in ("inputs", "outputs")]
    words = ARROWS if some.instruction == instruction_of(ARROWS, some.id, *known) else ""
    return field_task(of, inputs, outputs, language=some.tags["language"][0], instruction=words), inputs


def _bare_task(inputs: Sequence[str], outputs: Sequence[str]) -> Task:
    """Make a task of fields of which nothing but the names is known."""
    ins, outs = ([Field(name, "text") for name in names] for names in (inputs, outputs))
    parts = {field.name: Text() for field in outs}
    name = task_id(list(dict.fromkeys(inputs)), list(parts))
    output = Fields(parts) if len(parts) > 1 else Text()
    return Task(id=name, instruction=instruction_of("", name, ins, outs), output=output, metrics=())


def _support(of: Asking, shots: int) -> tuple[Example, ...]:
    """Draw examples of the task from its suite."""
    suite, task = of.bench.suite, of.task.id
    if task not in suite.tasks:
        raise UsageError(Note.of("ask-no-examples", task=task))
    drawn = Deck(suite, task).draw(Sampler(shots=shots, dev=0, query=1), seed=of.seed)
    return episode(suite, drawn).support
