"""An encoder trained on tasks of several formats, for good: what changes is kept in a folder, heads are dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from .format_files import save_formats
from .recipe import Learnt, Watch
from .train import train
from .vector_lessons import VectorTask
from .vector_objective import VectorObjective

if TYPE_CHECKING:
    from .encoder import TransformerEncoder
    from .trained import Trained

DEV_BATCH = 16


def train_vectors(
    encoder: TransformerEncoder, tasks: Sequence[VectorTask], how: Trained, *, seed: int, folder: Path, watch: Watch
) -> Learnt:
    """Train an encoder, which is told the forms of tasks, and write what changes into a folder."""
    forms = dict.fromkeys(form for task in tasks for form in task.forms)
    added = encoder.attach_formats(how.telling, list(forms), seed=seed, restore=False)
    objective = VectorObjective(
        encoder, tasks, batch=how.batch, parts=how.accumulate, margin=how.margin, seed=seed
    )  # fmt: skip
    held_out = objective.dev_batches(DEV_BATCH) if how.patience else []
    parameters = {**added.parameters, **objective.parameters}
    found = train(encoder.net, parameters, objective, how, seed=seed, dev=held_out, watch=watch)
    save_formats(added, folder)
    heads = sum(weight.numel() for weight in objective.parameters.values())
    own = sum(weight.numel() for weight in added.parts.parameters.values())
    counts = {**found.counts, **({"text-cut": objective.cut} if objective.cut else {})}
    each = own // max(1, len(added.forms))
    return replace(found, parameters=found.parameters - heads, per_form=each, counts=counts)
