"""What a worker does with a cell: draw, adapt, answer and score; or train a model and keep what that makes."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from ..core import Part, Suite
from ..episodes import Deck, Draw, Episode, episode
from ..errors import LearnerError, StalePlanError
from ..ids import Json
from ..learners import Learner, Response
from ..learners.answering import answer
from ..learners.toolbox import Toolbox
from ..messages import Note
from ..models import LANGUAGE, KeptVectors, LanguageModel, Prompt, Usage, prompt_text
from ..models.load import EncoderSource, Source, TrainableEncoderSource, TrainableSource
from ..models.precomputed import Precomputed
from ..models.recipe import Learnt, Watch
from ..models.scratch import Scratch
from ..models.trained import Trained
from ..models.vector_lessons import GroupedVectors, groups_in, write_groups
from ..models.vectors import VectorCache
from ..priors import Prior, Priors
from ..scores.tasks import score_key, score_task
from ..word_counts import WordCounts
from . import artifacts
from .cells import Cell, Uses, bases
from .costs import Cost, forget_peak, peak_memory
from .curves import PER_FORM
from .finished import Finished, SetAnswers
from .metrics import metrics_of
from .plan import sampler
from .results import QUERY
from .study import Study
from .training import Training
from .training_notes import TrainingNote

MOST_OPEN = 3  # trained models
DIGITS = 5  # of log-probabilities that are kept

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Bench:
    """What a worker keeps at hand."""

    study: Study
    suite: Suite
    learners: Mapping[str, Learner]
    models: Mapping[str, Source | Trained]
    run: Path  # its folder
    workers: int = 1
    ids: Mapping[str, Json] = field(default_factory=dict)  # what models are named by, where that is known already
    decks: dict[str, Deck] = field(default_factory=dict)
    drawn: dict[str, Draw] = field(default_factory=dict)  # the last one by its id: cells of an episode come together
    priors: dict[str, Priors] = field(default_factory=dict)
    words: dict[str, WordCounts] = field(default_factory=dict)
    opened: dict[str, tuple[Uses, LanguageModel]] = field(default_factory=dict)
    encoders: dict[str, tuple[Uses, KeptVectors]] = field(default_factory=dict)
    check: Callable[[str, Source], None] | None = None  # refuses models, by name, that must not be opened

    def model(self, name: str, uses: Uses = ()) -> LanguageModel:
        """Open a model once; of those that were trained, the last few are kept, for each has weights of its own."""
        return self._ready(self.opened, name, uses, self._open)

    def vectors(self, name: str, uses: Uses = ()) -> KeptVectors:
        """Give the vectors of a model; it is opened when one is asked for that is not kept."""
        return self._ready(self.encoders, name, uses, self._open_vectors)

    def _ready(self, opened: dict[str, tuple[Uses, T]], name: str, uses: Uses, opener: Callable[[str, Uses], T]) -> T:
        chain = tuple((model, id_) for model, id_ in uses if model in bases(self.models, name))
        found = opened.pop(name, None)
        if found is None or found[0] != chain:
            found = None  # or its weights would stay while others are read
            _close_oldest(opened, {model for model, _ in uses})
            found = (chain, opener(name, chain))
        opened[name] = found  # the last one that was asked for
        return found[1]

    def allowed(self, name: str) -> Source:
        """Give where a model is that may be opened, or refuse it."""
        if self.check:
            self.check(bases(self.models, name)[0], self.base(name))
        return self.base(name)

    def _open(self, name: str, chain: Uses) -> LanguageModel:
        base = self.allowed(name)
        if not chain:
            return base.open(self.run, workers=self.workers)
        return cast(TrainableSource, base).open_trained(self.run, self._added(chain), workers=self.workers)

    def _open_vectors(self, name: str, chain: Uses) -> KeptVectors:
        base, added = cast(EncoderSource, self.allowed(name)), self._added(chain)
        named = self.ids.get(bases(self.models, name)[0]) or base.identity()
        content: Json = {"base": named, "added": [artifacts.digest(self.run, id_) for _, id_ in chain]}
        if isinstance(base, Precomputed):
            return base.vectors()
        kept = VectorCache(
            name, content if chain else named, base.vector_dtype,
            lambda: base.open_encoder(self.run, added, workers=self.workers), base.forms(added),
        )  # fmt: skip
        groups = groups_in(added)
        return GroupedVectors(kept, groups) if groups else kept

    def _added(self, chain: Uses) -> list[Path]:
        return [artifacts.opened(self.run, id_) for _, id_ in chain]

    def prior(self, drawn: Draw, of: str) -> Prior:
        """Give the prior of an episode, or of one field of its answers."""
        if drawn.task not in self.priors:
            self.priors[drawn.task] = Priors(self.decks[drawn.task])
        return self.priors[drawn.task].of(drawn, of)

    def word_counts(self, drawn: Draw) -> Mapping[str, int]:
        """Count the words of the pool that the support of an episode is drawn from."""
        if drawn.task not in self.words:
            self.words[drawn.task] = WordCounts(self.decks[drawn.task])
        return self.words[drawn.task].of(drawn)

    def base(self, name: str) -> Source:
        """Give where the model is that a model was trained from, or is."""
        if name not in self.models:
            raise LearnerError(f"a learner must name its models in `models`: {name!r}")
        found = self.models[bases(self.models, name)[0]]
        assert not isinstance(found, Trained)
        return found

    def usage(self) -> dict[str, Usage]:
        """Give what models were used for so far."""
        found = {name: replace(model.usage) for name, (_, model) in self.opened.items()}
        encoders = {f"vectors of {name} {chain}": cache.usage for name, (chain, cache) in self.encoders.items()}
        return found | encoders  # by what trained them too: a cell opens others under the same name


def _close_oldest(opened: dict[str, tuple[Uses, T]], needed: Collection[str]) -> None:
    """Let go of trained models that a cell does not need, so that there is room for one more."""
    trained = [name for name, (chain, _) in opened.items() if chain]
    for name in [name for name in trained if name not in needed][: max(0, len(trained) - MOST_OPEN + 1)]:
        del opened[name]


def work(bench: Bench, cell: Cell) -> Finished:
    """Run one cell."""
    found = _train(bench, cell) if cell.kind == "train" else _adapt(bench, cell)
    for packed in (found.body, found.said):
        packed()  # what can't be kept is a fault of this cell, not of the run
    return found


def _train(bench: Bench, cell: Cell) -> Finished:
    """Train a model on what the plan named, and keep what that makes."""
    of = bench.models.get(cell.learner)
    if not isinstance(of, Trained):  # no learner that uses it is as it was
        raise LearnerError(Note.of("learner-changed", learner=cell.learner))
    forget_peak()
    start = time.perf_counter()
    training = Training(bench.suite, bench.study, cell.limit)
    taught = training.taught(cell.learner, of, cell.task, cell.seed)
    if taught.id != cell.draw:
        raise StalePlanError(Note.of("draw-differs"))
    added = [artifacts.opened(bench.run, id_) for _, id_ in cell.uses]
    base, watch = cast(TrainableSource, bench.base(cell.learner)), _watch(bench, cell)
    with artifacts.made(bench.run, cell.id) as folder:
        if of.goal == "texts":
            texts = training.texts(of, taught)
            learnt = cast(Scratch, base).pretrain(texts, of, seed=cell.training, folder=folder, watch=watch)
        elif of.goal == "vectors":
            tasks, dropped = training.vector_tasks(of, taught, cell.training)
            encoder = cast(TrainableEncoderSource, base)
            learnt = encoder.train_vectors(tasks, added, of, seed=cell.training, folder=folder, watch=watch)
            learnt = replace(learnt, counts={**learnt.counts, **dropped})
            if groups := training.form_names(of, taught, cell.training):
                write_groups(groups, folder)
        else:
            lessons, dev = training.lessons(of, taught, cell.training)
            learnt = base.train(lessons, added, of, dev=dev, seed=cell.training, folder=folder, watch=watch)
    seconds = time.perf_counter() - start
    artifacts.opened(bench.run, cell.id)  # refuses what is not whole
    taught_items = sum(len(rows) for rows in taught.rows.values())
    cost = Cost(seconds=seconds, fitting=seconds, items=taught_items, memory=peak_memory())
    found = Finished(artifact=artifacts.digest(bench.run, cell.id), cost=cost, counts=learnt.counts)
    return _with_training(found, [learnt])


def _watch(bench: Bench, cell: Cell, looks: Sequence[int] = ()) -> Watch:
    """Keep checkpoints of a training, and say how far it is."""
    folder = artifacts.partial(bench.run, cell.id)
    note = TrainingNote(folder, cell.learner, cell.task if cell.kind == "adapt" else "")
    return Watch(keep=folder, note=note, looks=frozenset(looks), limit=cell.limit, threads=cell.threads)


def _with_training(found: Finished, learnt: Sequence[Learnt]) -> Finished:
    """Add what was measured while a cell learnt."""
    if not learnt:
        return found
    cost = replace(
        found.cost,
        trained=sum(each.parameters for each in learnt),
        taught=sum(each.tokens for each in learnt),
        threads=max(each.threads for each in learnt),
    )
    curves = {"loss": learnt[-1].losses, "validation": learnt[-1].validation}
    curves |= {PER_FORM: [(0, float(learnt[-1].per_form))]} if learnt[-1].per_form else {}
    return replace(found, cost=cost, traces={name: points for name, points in curves.items() if points})


def _adapt(bench: Bench, cell: Cell) -> Finished:
    """Draw, adapt, answer, score."""
    if cell.learner not in bench.learners:
        raise LearnerError(Note.of("learner-changed", learner=cell.learner))
    of = bench.learners[cell.learner]
    needs = of.needs(bench.suite.tasks[cell.task])
    for name in of.models:
        if needs.get(name, LANGUAGE) & LANGUAGE:  # encoders are loaded when a text is not in the cache
            bench.model(name, cell.uses)  # loading it is no part of what a cell costs
    forget_peak()
    before, start = bench.usage(), time.perf_counter()
    drawn = drawn_for(bench, cell)
    trial = episode(bench.suite, drawn)
    tools = tools_for(bench, cell, lambda name: bench.model(name, cell.uses))
    with tools.held:
        found = answer(of, trial, seed=cell.training, tools=tools)
    answers = [response.answer for response in found]
    task = bench.suite.tasks[cell.task]
    metrics = metrics_of(task, bench.study.metrics)
    scored = score_task(task, [example.gold for example in trial.query], answers, metrics)
    sets = {QUERY: found, **tools.looked}
    kept = outputs(found)
    made = Finished(
        sets={name: _set_answers(name, responses, trial, drawn) for name, responses in sets.items()},
        counts=tools.counts,
        outputs={QUERY: kept} if kept else {},
        sizes=drawn.sizes,
        chance=drawn.chance,
        scores={score_key(name, given.metric): (given.units, given.unusable) for name, given in scored.items()},
        cost=_cost(bench, before, time.perf_counter() - start, tools.fitting, len(trial.query)),
    )
    return _with_training(made, tools.learnt)


def _set_answers(name: str, responses: Sequence[Response], trial: Episode, drawn: Draw) -> SetAnswers:
    """Put the answers about a set with its items: "query", or a set as it was looked at, such as "support@100"."""
    part = cast(Part, name.partition("@")[0])
    return SetAnswers(
        answers=[response.answer for response in responses],
        items=[example.item.id for example in getattr(trial, part)],
        rows=drawn.rows[part],
        pool=drawn.pools[part],
    )


def tools_for(bench: Bench, cell: Cell, models: Callable[[str], LanguageModel]) -> Toolbox:
    """Give a learner what it works with."""
    looks = bench.study.protocol.of(cell.task).looks
    return Toolbox(
        {}, models, stores=bench.suite.stores, priors=lambda of: bench.prior(_whole_draw(bench, cell), of),
        watch=_watch(bench, cell, looks), encoders=lambda name: bench.vectors(name, cell.uses),
        words=lambda: bench.word_counts(_whole_draw(bench, cell)),
    )  # fmt: skip


def drawn_for(bench: Bench, cell: Cell) -> Draw:
    """Draw the episode that the plan named; a trial asks about its first items."""
    return _limited(_whole_draw(bench, cell), cell.limit)


def _whole_draw(bench: Bench, cell: Cell) -> Draw:
    """Draw the episode that the plan named."""
    if cell.draw in bench.drawn:
        return bench.drawn[cell.draw]
    if cell.task not in bench.decks:
        bench.decks[cell.task] = Deck(bench.suite, cell.task)
    how = sampler(bench.study, cell.task, cell.shots)
    drawn = bench.decks[cell.task].draw(how, seed=cell.seed, index=cell.index)
    if drawn.id != cell.draw:
        raise StalePlanError(Note.of("draw-differs"))
    bench.drawn.clear()
    bench.drawn[drawn.id] = drawn
    return drawn


def _limited(drawn: Draw, limit: int) -> Draw:
    """Keep the first query items, which a trial asks about."""
    return replace(drawn, rows={**drawn.rows, "query": drawn.rows["query"][:limit]}) if limit else drawn


def outputs(found: Sequence[Response]) -> dict[str, Any]:
    """Give what answers were read from, column by column: what was written, options with scores, hashes of prompts."""
    kept: dict[str, Any] = {}
    if any(response.raw is not None for response in found):
        kept["raw"] = [response.raw for response in found]
    kept |= _options(found)
    if any(response.prompt for response in found):
        kept["prompts"] = [prompt_hash(response.prompt) for response in found]
    parts = dict.fromkeys(name for response in found for name in response.parts)
    inner = {name: outputs([response.parts[name] for response in found]) for name in parts}
    return kept | ({"parts": inner} if any(inner.values()) else {})


def _options(found: Sequence[Response]) -> dict[str, Any]:
    """Give options and their scores; where all items have the same options, these stand there once."""
    names = [list(response.options) for response in found]
    if not any(names):
        return {}
    scores = [[_rounded(score) for score in response.options.values()] for response in found]
    same = {tuple(each) for each in names if each}
    shared = {"options": list(same.pop())} if len(same) == 1 else {"item_options": names}
    return shared | {"scores": scores}


def prompt_hash(prompt: Prompt) -> str:
    """Name a prompt: 16 hexadecimal digits."""
    return hashlib.blake2b(prompt_text(prompt).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _rounded(score: float) -> float:
    return round(float(score), DIGITS)


def _cost(bench: Bench, before: Mapping[str, Usage], seconds: float, fitting: float, items: int) -> Cost:
    used = [usage.since(before.get(name, Usage())) for name, usage in bench.usage().items()]
    encoding = sum(u.encoding for u in used)
    return Cost(
        seconds=max(0.0, seconds - encoding),
        fitting=fitting,
        items=items,
        read=sum(u.read for u in used),
        written=sum(u.written for u in used),
        computed=sum(u.computed for u in used),
        requests=sum(u.requests for u in used),
        dollars=sum(u.dollars for u in used),
        memory=peak_memory(),
        encoded=sum(u.encoded for u in used),
        encoding=encoding,
    )
