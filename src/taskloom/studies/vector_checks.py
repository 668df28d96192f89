"""What is wrong with encoders that a study trains, and with learners that use them; before any work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from ..core import Suite, Task
from ..document_lessons import trained_forms
from ..learners import Learner, can_do, settings
from ..learners.vector_reader import AUTO
from ..messages import Note
from ..models.fetched import is_here
from ..models.load import EncoderSource, Source, Weights
from ..models.trained import Trained
from .cells import bases
from .trained_tasks import trained_in


def vector_base_faults(models: Mapping[str, Source | Trained], name: str, of: Trained) -> Iterator[str]:
    """Say why an encoder can't be trained from its base: fusion needs adapters below it, all else plain vectors."""
    first, base = bases(models, name)[0], models[of.train]
    able = frozenset() if isinstance(found := models[first], Trained) else found.can
    told = base.tell if isinstance(base, Trained) and base.goal == "vectors" else "none"
    if not {"train", "vectors"} <= able:
        yield str(Note.of("encoder-untrainable", base=first))
    elif of.tell == "fusion" and told != "adapters":
        yield str(Note.of("fusion-needs-adapters", base=of.train))
    elif of.tell != "fusion" and told != "none":
        yield str(Note.of("base-told", base=of.train, tell=told))


def form_faults(
    suite: Suite, models: Mapping[str, Source | Trained], parts: Mapping[str, Mapping[str, Learner]]
) -> Iterator[tuple[str, str, Note]]:
    """Name learners that need a form of vectors which their model is not trained in, with the task."""
    known = {name: trained_in(of, suite) for name, of in models.items() if isinstance(of, Trained) and of.has_forms}
    unknown = {name: list(_unknown_forms(models, of)) for part in parts.values() for name, of in part.items()}
    for task, part in parts.items():
        for name, of in part.items():
            yield from ((name, task, note) for note in unknown[name])
            for model in sorted(known.keys() & {*of.models}):
                if missing := [form for form in wanted_forms(of, suite.tasks[task]) if form not in known[model]]:
                    yield name, task, Note.of("form-untrained", model=model, forms=missing, known=sorted(known[model]))


def _unknown_forms(models: Mapping[str, Source | Trained], of: Learner) -> Iterator[Note]:
    """Name a form that a learner asks for and its model lacks; models that the study trains are checked elsewhere."""
    form = settings(of).get("form", AUTO)
    for model in of.models if form not in (AUTO, "") else ():
        found = models.get(model)
        if found is None or isinstance(found, Trained) or "vectors" not in found.can:
            continue
        if isinstance(found, Weights) and not is_here(found.load):
            continue
        if form not in (known := cast(EncoderSource, found).forms()):
            yield Note.of("form-unknown", model=model, forms=form, known=known or ["no forms"])


def wanted_forms(of: Learner, task: Task) -> tuple[str, ...]:
    """Name the forms that a learner takes vectors of a multi-format encoder in; none where it takes no vectors."""
    if not can_do(of, task) or "vectors" not in frozenset[str]().union(*of.needs(task).values()):
        return ()
    form = settings(of).get("form", AUTO)
    return tuple(dict.fromkeys(trained_forms(task, {}))) if form == AUTO else (str(form),)
