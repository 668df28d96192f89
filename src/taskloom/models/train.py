"""One training loop, for every model and every choice of what is trained.

A step is a function of the seed and its number: batches, dropout and learning rate have no state that must be saved.
So a run that was killed goes on from its last checkpoint to the same weights, on the same machine and threads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
from torch import Tensor, distributed
from torch.nn import Parameter

from ..core import declared
from ..errors import ModelError
from ..ids import Json, raw_bits
from ..messages import Note
from .checkpoints import Checkpoints, State
from .parallel import processes, rank
from .recipe import Learnt, Recipe, Watch, recipe_of

MOST_POINTS = 400  # of a curve of losses; where it has more, every second is dropped


@dataclass(frozen=True, slots=True)
class Batch:
    """What a net is given at once."""

    inputs: Mapping[str, Tensor]
    tokens: int  # read and written, without padding
    targets: int  # tokens that the loss is over


class Objective(Protocol):
    """What is learnt: batches, and their loss."""

    @property
    def epoch(self) -> int:
        """Give the steps of an epoch; 0 where there are none."""

    def parts(self, step: int) -> Sequence[Batch]:
        """Give the batches that a step is computed in: they depend on the step alone, not on those before it."""

    def loss(self, net: Any, batch: Batch) -> Tensor:
        """Give the loss, summed over the targets of a batch."""


def train(
    net: Any,
    parameters: Mapping[str, Parameter],
    objective: Objective,
    how: Recipe,
    *,
    seed: int,
    dev: Sequence[Batch] = (),
    watch: Watch | None = None,
) -> Learnt:
    """Train the parameters of a net by a recipe, in place; early stopping goes by the loss on `dev`."""
    watch = watch or Watch()
    loop = _Loop(net, parameters, objective, how, seed, dev)
    named: Json = [declared(recipe_of(how)), seed, sorted(parameters)]
    checkpoints = Checkpoints(watch.keep, named) if watch.keep else None
    with _training(net, parameters, how):
        if watch.threads:
            torch.set_num_threads(watch.threads)
        if checkpoints and (found := checkpoints.newest()):
            loop.resume(*found)
        while not (loop.is_done or 0 < watch.limit <= loop.state.step):
            watch.look_at(loop.state.step)
            loss = loop.step()
            watch.notify(loop.state.step, loop.share, loss)
            if checkpoints and checkpoints.is_due and rank() == 0:
                checkpoints.write(loop.state, loop.tensors())
        if checkpoints and checkpoints.written and rank() == 0:
            checkpoints.write(loop.state, loop.tensors())  # what comes next may fail, for want of space say
        watch.look_at(loop.state.step)
        loop.take_best()
        learnt = loop.learnt()
    counts = {
        "checkpoint-unwritten": checkpoints.failed if checkpoints else 0,
        "warmup-not-over": int(how.warmup > max(1, learnt.steps)),
    }
    return replace(learnt, counts={code: count for code, count in counts.items() if count})


class _Loop:
    """A net that is being trained."""

    def __init__(
        self, net: Any, parameters: Mapping[str, Parameter], objective: Objective, how: Recipe, seed: int,
        dev: Sequence[Batch],
    ) -> None:  # fmt: skip
        self.net, self.parameters, self.objective, self.how = net, parameters, objective, how
        self.seed, self.dev = seed, dev if how.patience else ()
        self.device = next(iter(parameters.values())).device if parameters else net.device
        self.state = State()
        self.best: dict[str, Tensor] = {}
        unit, self.size = how.budget
        if unit == "epochs":
            if not objective.epoch:
                raise ModelError(Note.of("epochs-unknown"))
            self.size *= objective.epoch
        self.counts_tokens = unit == "tokens"
        self.last: tuple[int, float] | None = None  # the step that was made last, and its loss
        self.optimizer = torch.optim.AdamW(parameters.values(), lr=how.rate, weight_decay=how.decay, fused=True)

    @property
    def share(self) -> float:
        """Say how much of the budget is used."""
        return self._share_after(0, 0)

    def _share_after(self, steps: int, tokens: int) -> float:
        used = self.state.tokens + tokens if self.counts_tokens else self.state.step + steps
        return min(1.0, used / self.size)

    @property
    def is_done(self) -> bool:
        """Tell whether the budget is used, or the validation loss has not become lower for long enough."""
        return self.share >= 1 or (bool(self.dev) and self.state.waited >= self.how.patience)

    def step(self) -> float:
        """Make a step and give its loss: the mean over the targets of its batches."""
        state, parts = self.state, self.objective.parts(self.state.step)
        tokens, targets = sum(part.tokens for part in parts), sum(part.targets for part in parts)
        torch.manual_seed(next(iter(raw_bits("step", self.seed, state.step))) >> 1)
        rate = self.how.rate * _factor(self.how, self.share, self._share_after(1, tokens), size=self.size)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        loss = self._gradients(parts, max(1, targets))
        if not math.isfinite(loss):
            raise ModelError(Note.of("loss-not-finite", loss=str(loss), step=state.step))
        norm = torch.nn.utils.clip_grad_norm_(self.parameters.values(), self.how.clip or math.inf).item()
        if not math.isfinite(norm):
            raise ModelError(Note.of("gradient-not-finite", norm=str(norm), step=state.step))
        self.optimizer.step()
        self.optimizer.zero_grad()
        self._note_loss(loss)
        state.step, state.tokens = state.step + 1, state.tokens + tokens
        if self.dev and (state.step % self._every == 0 or self.share >= 1):
            self._validate()
        return loss

    def _gradients(self, parts: Sequence[Batch], targets: int) -> float:
        """Add up the gradients of all parts; processes that train together take turns, and share theirs."""
        total = torch.zeros((), device=self.device)
        for part in parts[rank() :: processes()]:
            loss = self._loss(part) / targets
            loss.backward()  # type: ignore[no-untyped-call]
            total += loss.detach()
        if processes() > 1:
            for parameter in self.parameters.values():
                parameter.grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
                distributed.all_reduce(parameter.grad)
            distributed.all_reduce(total)
        return total.item()

    def _loss(self, batch: Batch) -> Tensor:
        inputs = {name: value.to(self.device) for name, value in batch.inputs.items()}
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.how.precision == "bfloat16"):
            return self.objective.loss(self.net, Batch(inputs, batch.tokens, batch.targets))

    # --- validation --------------------------------------------------------------------------------------------------

    @property
    def _every(self) -> int:
        return self.how.every or self.objective.epoch or 100

    def _validate(self) -> None:
        """Measure the validation loss; keep the weights where it is the lowest so far."""
        state, loss = self.state, self.validation_loss()
        state.validation.append((state.step, loss))
        if loss < state.best:
            state.best, state.waited = loss, 0
            self.best = {name: parameter.detach().clone() for name, parameter in self.parameters.items()}
        else:
            state.waited += 1

    @torch.no_grad()
    def validation_loss(self) -> float:
        """Give the mean loss over the targets of the validation batches."""
        self.net.eval()
        total = sum(self._loss(batch).item() for batch in self.dev)
        self.net.train()
        return total / max(1, sum(batch.targets for batch in self.dev))

    def take_best(self) -> None:
        """Put the weights of the lowest validation loss back."""
        with torch.no_grad():
            for name, weights in self.best.items():
                self.parameters[name].copy_(weights)

    # --- what is kept ------------------------------------------------------------------------------------------------

    def _note_loss(self, loss: float) -> None:
        state, self.last = self.state, (self.state.step, loss)
        if state.step % state.stride == 0:
            state.losses.append((state.step, loss))
        if len(state.losses) > MOST_POINTS:
            state.stride *= 2
            state.losses = [point for point in state.losses if point[0] % state.stride == 0]

    def tensors(self) -> dict[str, Tensor]:
        """Give the weights, the best ones, and the optimiser's moments, by name."""
        found = {f"weight/{name}": parameter.detach() for name, parameter in self.parameters.items()}
        found |= {f"best/{name}": weights for name, weights in self.best.items()}
        for name, parameter in self.parameters.items():
            moments = self.optimizer.state.get(parameter, {})
            found |= {f"{moment}/{name}": value for moment, value in moments.items()}
        return found

    @torch.no_grad()
    def resume(self, state: State, tensors: Mapping[str, Tensor]) -> None:
        """Go on from a checkpoint."""
        self.state = state
        for key, value in tensors.items():
            kind, _, name = key.partition("/")
            parameter = self.parameters[name]
            if kind == "weight":
                parameter.copy_(value)
            elif kind == "best":
                self.best[name] = value.to(self.device)
            else:
                self.optimizer.state[parameter][kind] = value.to(parameter.device)

    def learnt(self) -> Learnt:
        """Say how training went."""
        state = self.state
        losses = state.losses if self.last is None or self.last in state.losses[-1:] else [*state.losses, self.last]
        return Learnt(
            steps=state.step, tokens=state.tokens, parameters=sum(p.numel() for p in self.parameters.values()),
            losses=tuple(losses), validation=tuple(state.validation), threads=torch.get_num_threads(),
        )  # fmt: skip


def _factor(how: Recipe, before: float, after: float, *, size: int = 1) -> float:
    """Give the factor of the learning rate in a step, from the shares of the budget that are used before and after it.

    A warm-up of a number of steps is a share of the budget's `size`. The inverse square root is of the steps so far,
    in units of the warm-up (Vaswani et al., 2017), whose last step has the full rate.

    >>> [round(_factor(Recipe(warmup=0.5), step / 4, (step + 1) / 4), 2) for step in range(4)]
    [0.5, 1.0, 1.0, 0.5]
    >>> how = Recipe(warmup=2, schedule="inverse-sqrt")
    >>> [round(_factor(how, step / 8, (step + 1) / 8, size=8), 2) for step in range(8)]
    [0.5, 1.0, 0.82, 0.71, 0.63, 0.58, 0.53, 0.5]
    """
    warmup = how.warmup / size if how.warmup > 1 else how.warmup
    if before < warmup:
        return min(1.0, after / warmup)
    if how.schedule == "inverse-sqrt":
        return math.sqrt(max(warmup, after - before) / after)
    left = (1 - before) / (1 - warmup) if warmup < 1 else 1.0
    return {"constant": 1.0, "linear": left, "cosine": 0.5 * (1 - math.cos(math.pi * left))}[how.schedule]


@contextmanager
def _training(net: Any, parameters: Mapping[str, Parameter], how: Recipe) -> Iterator[None]:
    """Let gradients flow to some parameters alone, with dropout; afterwards all is as it was, the random state too."""
    frozen = {parameter: parameter.requires_grad for parameter in net.parameters()}
    devices = [net.device] if net.device.type == "cuda" else []
    threads = torch.get_num_threads()
    net.requires_grad_(False)
    for parameter in parameters.values():
        parameter.requires_grad_(True)
    if how.recompute:
        net.gradient_checkpointing_enable({"use_reentrant": False})
    net.train()
    try:
        with torch.random.fork_rng(devices):
            yield
    finally:
        torch.set_num_threads(threads)  # a checkpoint may have brought others
        net.eval()
        if how.recompute:
            net.gradient_checkpointing_disable()
        for parameter, was in frozen.items():
            parameter.requires_grad_(was)
            parameter.grad = None
