"""What a model is sent: the prompt of an item, made by the same code as in a run, and compared with a finished run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..core import Example, Suite
from ..episodes import Sampler, Shots, draw_id, episode
from ..errors import TaskloomError, UnknownNameError, UsageError
from ..learners import learner as make_learner
from ..learners.answering import answer
from ..messages import Note, text_of
from ..models import Decoding, Lesson, Measure, Odds, Prompt, Reply, Unmeasured, Usage
from ..models.load import source
from ..models.recipe import Learnt, Recipe
from ..suites.store import open_suite
from .api import LEDGER, study_and_text
from .cells import Cell
from .ledger import Ledger, Planned
from .plan import sampler
from .results import QUERY
from .study import Study, StudyLearner, StudyProtocol
from .trust import OpenedStudy
from .work import Bench, drawn_for, prompt_hash, tools_for

BLOCK = 1000  # examples that are looked through at a time
REFUSED = "prompt-refused"  # counted of every prompt here, for no model answers


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPrompt:
    """The prompt of an item, as it is sent."""

    learner: str
    task: str
    item: str
    shots: Shots
    seed: int
    prompt: Prompt
    counts: dict[str, int] = field(default_factory=dict)  # by code: what was dropped or cut to fit the context
    tokens: int | None = None  # None if they can't be counted
    is_drawn: bool = True  # whether the item is among those that the seed draws
    kept: str = ""  # the hash of the prompt that a run has sent; "" if there is none
    unmeasured: Note | None = None  # why it was not fitted to the model's context

    @property
    def hash(self) -> str:
        """Name the prompt as ledgers do."""
        return prompt_hash(self.prompt)

    def notes(self) -> Iterator[Note]:
        """Say whose prompt it is, what was dropped from it, and whether a run has sent the same."""
        yield Note.of(
            "prompt-of", item=self.item, learner=self.learner, shots=str(self.shots), seed=self.seed, hash=self.hash
        )
        if self.tokens is not None:
            yield Note.of("prompt-tokens", tokens=self.tokens)
        if self.unmeasured:
            yield Note.of("prompt-unmeasured", reason=self.unmeasured)
        yield from (Note.of("prompt-count", what=text_of(code), count=count) for code, count in self.counts.items())
        if not self.is_drawn:
            yield Note.of("item-not-drawn", item=self.item, seed=self.seed)
        if self.kept:
            yield Note.of("prompt-as-sent" if self.kept == self.hash else "prompt-differs", kept=self.kept)

    def __str__(self) -> str:
        """Write the text; of a conversation, each turn below its role."""
        if isinstance(self.prompt, str):
            return self.prompt
        return "\n\n".join(f"[{message.role}]\n{message.content}" for message in self.prompt)


def show_prompt(
    place: Path | str,
    task: str,
    *,
    learner: str | StudyLearner = "",
    shots: Shots | None = None,
    seed: int | None = None,
    item: str = "",
    study: Study | str | Path | None = None,
    trust_code: bool = False,
) -> ShownPrompt:
    """Give what a model is sent for an item of a task, with the learner and episodes of a study, or of a run.

    `place` is a suite's folder, or a run's, whose ledger keeps a hash of each prompt. What is not named is the first:
    the learner that has a model, the setting, the seed, and the item that is asked about. A learner may be described
    instead of named, with its options. Code in files that a run names runs only where it is trusted.
    """
    folder = Path(place)
    described = learner if isinstance(learner, StudyLearner) else None
    name = described.learner if described else str(learner)
    if (folder / LEDGER).is_file():
        if study is not None or described:
            raise UsageError("a run has its own study and learners; name a suite to use others")
        return _shown_of_run(folder, task, name, shots, seed, item, trust_code=trust_code)
    suite = open_suite(folder)
    made = _study(suite, task, name, shots, study)
    made = replace(made, learners={**made.learners, name: described}) if described else made
    if study is None:
        _refuse_unknown(made)
    opened = OpenedStudy(study=made, suite=suite, folder=folder, trust_code=trust_code or not made.of_run)
    name = name or opened.with_model()
    bench = opened.bench([name])
    shown = _shown(bench, _cell(bench, task, name, shots, seed), item)
    return shown if study is not None else replace(shown, is_drawn=True)  # without a study, no item is more drawn


# --- what is asked ---------------------------------------------------------------------------------------------------


def _study(suite: Suite, task: str, learner: str, shots: Shots | None, study: Study | str | Path | None) -> Study:
    """Give the study that says how, on this suite; without one, of a single learner that goes by its own name."""
    if study is not None:
        return study if isinstance(study, Study) else study_and_text(study)[0]
    name = learner or ("instructed" if suite.task(task).examples else "in-context")
    protocol = StudyProtocol(shots={shots or 0: 1}, seeds=(0,), sampler=Sampler(query=1))
    return Study(name="show", learners={name: StudyLearner(learner=name)}, protocol=protocol)


def _refuse_unknown(made: Study) -> None:
    """Refuse a learner, an option or a model that the caller named: there is no study whose fault it would be."""
    for of in made.learners.values():
        for model in make_learner(of.learner, of.options, made.folder).models:
            source(model, {}, made.folder)


def _cell(bench: Bench, task: str, learner: str, shots: Shots | None, seed: int | None) -> Cell:
    """Make the cell of a study that is meant: what is not named is the first."""
    protocol = bench.study.protocol.of(bench.suite.task(task).id)
    setting = next(iter(protocol.shots)) if shots is None else shots
    if setting not in protocol.shots:
        raise UsageError(f"the study has the settings {', '.join(map(str, protocol.shots))}, but not: {setting!r}")
    drawn_with = protocol.seeds[0] if seed is None else seed
    index = protocol.episodes(setting)[0]
    draw = draw_id(bench.suite, task, sampler(bench.study, task, setting), seed=drawn_with, index=index)
    training = next(iter(protocol.training), drawn_with)
    return Cell(
        id="", key="", task=task, learner=learner, shots=setting, seed=drawn_with, index=index, training=training,
        draw=draw,
    )  # fmt: skip


# --- of a run --------------------------------------------------------------------------------------------------------


def _shown_of_run(
    folder: Path, task: str, learner: str, shots: Shots | None, seed: int | None, item: str, *, trust_code: bool
) -> ShownPrompt:
    """Show a prompt of a run, with the hash of what was sent."""
    with Ledger(folder / LEDGER) as ledger:
        opened = OpenedStudy.of_run(folder, ledger, trust_code=trust_code)
        name = learner or opened.with_model()
        bench = opened.bench([name])
        one = _planned(ledger.planned(0), task, name, shots, seed)
        with ledger.naming_damage(f"cell {one.cell}"):
            asked = list((ledger.result(one.cell) or {}).get("sets", {}).get(QUERY, {"items": []})["items"])
            kept = list(ledger.outputs(one.cell).get(QUERY, {}).get("prompts", []))
        drawn = str(ledger.key(one.cell).get("draw", ""))
    if not drawn:
        raise UsageError(f"the run has nothing of this learner and task yet: {one.learner!r}, {one.task!r}")
    cell = Cell(
        id=one.cell, key="", task=one.task, learner=one.learner, shots=one.shots, seed=one.seed, index=one.episode,
        training=one.training, draw=drawn,
    )  # fmt: skip
    shown = _shown(bench, cell, item)
    hashes = dict(zip(asked, kept, strict=False))
    return replace(shown, kept=hashes.get(shown.item, "") if shown.is_drawn else "")


def _planned(planned: Sequence[Planned], task: str, learner: str, shots: Shots | None, seed: int | None) -> Planned:
    """Find the first cell of a run that is meant, or say what the run has."""
    found = [one for one in planned if one.kind == "adapt"]
    wanted: list[tuple[str, Any]] = [("task", task), ("learner", learner), ("shots", shots), ("seed", seed)]
    for name, value in wanted:
        if value is None:
            continue
        known = dict.fromkeys(getattr(one, name) for one in found)
        if value not in known:
            raise UnknownNameError(f"{name} of the run", str(value), [str(one) for one in known])
        found = [one for one in found if getattr(one, name) == value]
    return found[0]


# --- the prompt ------------------------------------------------------------------------------------------------------


class _Silent:
    """A model that says what fits, and answers nothing."""

    def __init__(self, measure: Measure) -> None:
        self.measure, self.usage = measure, Usage()

    def fits(self, prompt: Prompt, decoding: Decoding) -> bool:
        return self.measure.fits(prompt, decoding)

    def generate(self, prompts: Sequence[Prompt], decoding: Decoding) -> list[Reply | None]:  # noqa: ARG002
        return [None for _ in prompts]

    def score(
        self,
        prompts: Sequence[Prompt],
        options: Sequence[Sequence[str]],  # noqa: ARG002
        decoding: Decoding,  # noqa: ARG002
    ) -> list[Odds | None]:
        return [None for _ in prompts]

    def tuned(self, lessons: Sequence[Lesson], how: Recipe, **more: Any) -> AbstractContextManager[Learnt]:  # noqa: ARG002
        """Learn nothing: training does not change what is sent."""
        return nullcontext(Learnt(steps=0, tokens=0, parameters=0))


def _shown(bench: Bench, cell: Cell, item: str) -> ShownPrompt:
    """Do with one item of a cell what a run does, but for asking the model."""
    if cell.learner not in bench.learners:
        raise UnknownNameError("learner", cell.learner, bench.study.learners)
    of, drawn = bench.learners[cell.learner], drawn_for(bench, cell)
    trial = episode(bench.suite, drawn)
    asked = next((example for example in trial.query if item in ("", example.item.id)), None)
    example = asked or _example(bench.suite, cell.task, item)
    if faults := list(of.faults(trial.task, lambda: tuple(example.item.fields))):
        raise UsageError("; ".join(map(str, faults)))
    measures = {name: _measure(bench, name) for name in of.models}
    tools = tools_for(bench, cell, lambda name: _Silent(measures[name][0]))
    (found,) = answer(of, replace(trial, query=(example,)), seed=cell.training, tools=tools)
    if not found.prompt:
        raise UsageError(f"this learner sends no prompt: {cell.learner!r}")
    measure, why = next(iter(measures.values()), (Unmeasured(), None))
    return ShownPrompt(
        learner=cell.learner,
        task=cell.task,
        item=example.item.id,
        shots=cell.shots,
        seed=cell.seed,
        prompt=found.prompt,
        counts={code: count for code, count in tools.counts.items() if code != REFUSED},
        tokens=measure.count(found.prompt),
        is_drawn=asked is not None,
        unmeasured=why,
    )


def _measure(bench: Bench, name: str) -> tuple[Measure, Note | None]:
    """Give how a model counts tokens; where it is not here, all fits, with the reason."""
    try:
        return bench.base(name).measure(), None
    except TaskloomError as error:
        return Unmeasured(), error.note


def _example(suite: Suite, task: str, item: str) -> Example:
    """Find an example among all that can be asked about."""
    pool = suite.asked_pool(task)
    for start in range(0, len(pool), BLOCK):
        examples = pool.take(range(start, min(start + BLOCK, len(pool))))
        if found := next((example for example in examples if example.item.id == item), None):
            return found
    some = [example.item.id for example in pool.take(range(min(3, len(pool))))]
    raise UsageError(f"the task has no such item; some are {', '.join(map(repr, some))}: {item!r}")
