"""Encoders that a run has trained, taken out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ..errors import UnknownNameError, UsageError
from ..messages import Note
from ..models.fake import Fake
from ..models.load import EncoderSource, Source, Weights, source
from ..models.scratch import Scratch
from ..models.telling import is_told
from ..models.vector_lessons import groups_in
from . import artifacts
from .api import LEDGER
from .ledger import Ledger, Planned
from .study import Study
from .trust import study_of_run


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedEncoder:
    """A model that a run has trained: its base, and what training has added to it, in this order."""

    base: Source
    added: tuple[Path, ...]
    training: int  # the seed


def trained_encoder(run: Path, model: str, training: int | None = None) -> TrainedEncoder:
    """Find a model of a run by the name that its study gives it, and by the seed of training where it has several."""
    if not (run / LEDGER).is_file():
        raise UsageError(Note.of("not-a-run", file=LEDGER, path=run))
    with Ledger(run / LEDGER) as ledger:
        study = study_of_run(run, ledger)
        planned = [one for one in ledger.planned(0) if one.kind == "train"]
        chosen = _chosen(planned, model, training)
        chain = _chain(ledger, chosen.cell)
    added = tuple(artifacts.opened(run, cell) for cell in chain)
    return TrainedEncoder(base=_base(study, model), added=added, training=chosen.training)


def open_trained_encoder(of: TrainedEncoder, run: Path) -> Any:
    """Make a trained encoder ready; a fake, and what was trained to write answers, is refused."""
    if isinstance(of.base, Fake):
        raise UsageError(Note.of("export-fake", model=of.base.load))
    is_new = isinstance(of.base, Scratch)  # which pre-training makes a model of
    is_able = is_new or (isinstance(of.base, Weights) and "vectors" in of.base.can)  # no code, no endpoint
    if not is_able or not all(is_told(folder) for folder in of.added[is_new:]):
        raise UsageError(Note.of("export-no-vectors", path=run))
    if groups_in(of.added):
        raise UsageError(Note.of("export-groups"))
    return cast(EncoderSource, of.base).open_encoder(run, of.added)


def _chosen(planned: Sequence[Planned], model: str, training: int | None) -> Planned:
    """Choose the cell that trained a model; where there are several, a seed must say which."""
    named = sorted({one.learner for one in planned})
    if model not in named:
        raise UnknownNameError("trained model", model, named)
    own = {one.cell: one for one in planned if one.learner == model}
    seeds = sorted({one.training for one in own.values()})
    if training is not None and training not in seeds:
        raise UsageError(Note.of("training-unknown", model=model, seeds=seeds, given=training))
    left = [one for one in own.values() if training is None or one.training == training]
    if len(left) > 1 and training is None and len(seeds) > 1:
        raise UsageError(Note.of("training-several", model=model, seeds=seeds))
    if len(left) > 1:
        raise UsageError(Note.of("trained-for-each", model=model, count=len(left)))
    return left[0]


def _chain(ledger: Ledger, cell: str) -> list[str]:
    """Give the cells that made a model, its bases first."""
    found: list[str] = []
    while cell and cell not in found:  # a forged one may be its own base
        if not (key := ledger.key(cell)):
            raise UsageError(Note.of("not-trained-yet", path=ledger.path.parent))
        found.insert(0, cell)
        base = key.get("base")
        cell = str(base["trained"]) if isinstance(base, dict) and "trained" in base else ""
    return found


def _base(study: Study, model: str) -> Source:
    """Give the model that a model was trained from, and nothing of the study trained."""
    seen = {model}
    while "train" in study.models.get(model, {}):
        model = str(study.models[model]["train"])
        if model in seen:
            raise UsageError(Note.of("trained-from-itself", model=model))
        seen.add(model)
    return source(model, study.models.get(model), study.folder, others=study.models)
