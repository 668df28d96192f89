"""What language models will read and write, estimated from the prompts of some cells before any is run."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import TYPE_CHECKING, TypeAlias

from ..episodes import Deck, Shots, episode
from ..learners.answering import answer
from ..learners.toolbox import Toolbox
from ..models import Decoding, Odds, Prompt, Reply, Usage, prompt_text
from .cells import Cell, bases
from .plan import Plan, sampler

if TYPE_CHECKING:
    from ..models.api import Endpoint

SAMPLED = 12  # cells of each learner whose prompts are written
ITEMS = 8  # of each of them
BYTES = 4.0  # of ASCII that make a token, about; any other character is taken for one

Kind: TypeAlias = tuple[str, str, Shots]  # learner, task and shots: cells of one kind read about the same


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenEstimate:
    """What a model will read, about, and write at most; and what that costs where its prices are known."""

    model: str
    read: int
    written: int
    dollars_in: float | None = None
    dollars_out: float | None = None


def expected_tokens(plan: Plan, cells: Sequence[Cell]) -> list[TokenEstimate]:
    """Estimate what each model of some cells will read and write; a model whose learner can't be tried has no entry."""
    groups: dict[Kind, list[Cell]] = defaultdict(list)
    for cell in cells:
        if cell.kind == "adapt" and plan.learners[cell.learner].models:
            groups[cell.learner, cell.task, cell.shots].append(cell)
    tried = {kind: found for kind in _sampled(list(groups)) if (found := _tried(plan, groups[kind][0]))}
    total: dict[str, list[float]] = {}
    for kind, group in groups.items():
        for model, (read, written) in _alike(kind, tried).items():
            sums = total.setdefault(model, [0.0, 0.0])
            sums[0] += read * len(group)
            sums[1] += written * len(group)
    return [_priced(plan, model, round(read), round(written)) for model, (read, written) in total.items()]


def _sampled(kinds: Sequence[Kind]) -> Iterator[Kind]:
    """Choose so many kinds of cells of each learner, spread over all that it has."""
    for learner in dict.fromkeys(kind[0] for kind in kinds):
        own = [kind for kind in kinds if kind[0] == learner]
        count = min(SAMPLED, len(own))
        yield from (own[at * len(own) // count] for at in range(count))


def _alike(kind: Kind, tried: Mapping[Kind, Mapping[str, tuple[float, float]]]) -> dict[str, tuple[float, float]]:
    """Give what a cell of a kind takes: of its own kind, or the mean of those of its learner and shots, or learner."""
    learner, _, shots = kind
    near = [tried[kind]] if kind in tried else [of for one, of in tried.items() if (one[0], one[2]) == (learner, shots)]
    near = near or [of for one, of in tried.items() if one[0] == learner]
    models = dict.fromkeys(model for of in near for model in of)
    found = {model: [of[model] for of in near if model in of] for model in models}
    return {model: (fmean(r for r, _ in each), fmean(w for _, w in each)) for model, each in found.items()}


def _tried(plan: Plan, cell: Cell) -> dict[str, tuple[float, float]]:
    """Let a learner write its prompts for some items of a cell, to a model that only counts; scale to all items."""
    how = sampler(plan.study, cell.task, cell.shots)
    drawn = Deck(plan.suite, cell.task).draw(how, seed=cell.seed, index=cell.index)
    rows = drawn.rows["query"][: cell.limit or None]
    trial = episode(plan.suite, replace(drawn, rows={**drawn.rows, "query": rows[:ITEMS]}))
    counting: dict[str, _Counting] = {}

    def model(name: str) -> _Counting:
        return counting.setdefault(name, _Counting(each_option=_endpoint(plan, name) is not None))

    tools = Toolbox({}, model, stores=plan.suite.stores)
    try:
        with redirect_stdout(sys.stderr):
            answer(plan.learners[cell.learner], trial, seed=cell.training, tools=tools)
    except Exception:  # a learner that makes nothing of empty replies: what it needs is not known
        return {}
    scale = len(rows) / max(1, len(trial.query))
    return {name: (of.usage.read * scale, of.usage.written * scale) for name, of in counting.items()}


def _priced(plan: Plan, model: str, read: int, written: int) -> TokenEstimate:
    of = _endpoint(plan, model)
    if of is None or not (of.price_in or of.price_out):
        return TokenEstimate(model=model, read=read, written=written)
    dollars = {"dollars_in": read * of.price_in / 1e6, "dollars_out": written * of.price_out / 1e6}
    return TokenEstimate(model=model, read=read, written=written, **dollars)


def _endpoint(plan: Plan, model: str) -> Endpoint | None:
    """Give the endpoint that a model is at, if it is at one."""
    from ..models.api import Endpoint

    of = plan.models.get(bases(plan.models, model)[0])
    return of if isinstance(of, Endpoint) else None


def about_tokens(text: str) -> int:
    """Guess how many tokens a text has: tokenizers differ, and those of endpoints are elsewhere.

    >>> about_tokens("The cat sat on the mat."), about_tokens("\u57ce\u5e02")
    (6, 2)
    """
    plain = len(text.encode("ascii", "ignore"))
    return round(plain / BYTES) + len(text) - plain


@dataclass(slots=True)
class _Counting:
    """A model that answers nothing, and counts what it is asked."""

    each_option: bool  # whether a prompt is sent again with each option, as endpoints must be asked
    usage: Usage = field(default_factory=Usage)

    def fits(self, prompt: Prompt, decoding: Decoding) -> bool:  # noqa: ARG002 (as all models)
        return True

    def generate(self, prompts: Sequence[Prompt], decoding: Decoding) -> list[Reply | None]:
        self.usage.read += sum(about_tokens(prompt_text(prompt)) for prompt in prompts)
        self.usage.written += decoding.tokens * len(prompts)
        return [Reply("", 0) for _ in prompts]

    def score(
        self,
        prompts: Sequence[Prompt],
        options: Sequence[Sequence[str]],
        decoding: Decoding,  # noqa: ARG002
    ) -> list[Odds | None]:
        for prompt, each in zip(prompts, options, strict=True):
            self.usage.read += about_tokens(prompt_text(prompt)) * (len(each) if self.each_option else 1)
            self.usage.read += sum(map(about_tokens, each))
        return [Odds((0.0,) * len(each), (1,) * len(each)) for each in options]
