"""What learners are set to, with what their models were trained with: tables and curves go by these.

Where a learner has several models, these are the settings of its first one.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TypeAlias

from ..core import Suite, declared
from ..errors import TaskloomError
from ..ids import Json
from ..learners import Learner, settings
from ..messages import Note
from ..models.load import Source
from ..models.scratch import Scratch, pretraining
from ..models.trained import Trained
from ..suites.leaks import COMPARED, LEAKAGE
from .cells import bases
from .training import Taught

BASE, PARAMETERS, TRAINED = "base", "parameters", "trained"
TELL, BY = "tell", "by"  # of an encoder: how it is told formats, and what tasks share
TASKS, INSTANCES, ENCODING, OTHERS = "training tasks", "training instances", "training encoding", "training"
OF_TRAINING = (TRAINED, TASKS, INSTANCES, ENCODING, OTHERS)
NOTHING = "nothing"  # what a model was trained in that was not
UNTRAINED: Mapping[str, Json] = {TRAINED: NOTHING, TASKS: 0, INSTANCES: 0, ENCODING: "untrained"}
TOLD = ("train", "what", "most", "sample", "encoding", "template")  # options that have a setting of their own

Models: TypeAlias = Mapping[str, Source | Trained]
AllTaught: TypeAlias = Mapping[tuple[str, str, int], Taught]  # by model, task that is asked about, and seed


def settings_of(learners: Mapping[str, Learner], models: Models, taught: AllTaught) -> dict[str, dict[str, Json]]:
    """Give all that learners are set to; how many tasks a model has is known once it is `taught`."""
    return {name: _of_model(of, models, taught) | settings(of) for name, of in learners.items()}


def _of_model(of: Learner, models: Models, taught: AllTaught) -> dict[str, Json]:
    name = next(iter(of.models), "")
    if name not in models:  # it needs none, or one at fault
        return {}
    each = [_parameters(models, model) for model in of.models if model in models]
    size: dict[str, Json] = {PARAMETERS: None if None in each else sum(filter(None, each))}
    how = models[name]
    if not isinstance(how, Trained) or how.goal == "texts":
        return {BASE: name, **size, **UNTRAINED}
    if how.goal == "vectors":
        size |= {TELL: how.tell, BY: how.by}
    rows = [found.rows for (model, _, _), found in taught.items() if model == name]
    tasks = max(map(len, rows), default="all")
    most = max((len(chosen) for found in rows for chosen in found.values()), default="all")
    return {
        BASE: how.train, **size, TRAINED: how.what, TASKS: how.sample or tasks,
        INSTANCES: most if how.most == "all" else how.most, ENCODING: how.encoding or f"{how.template} template",
        OTHERS: {option: value for option, value in declared(how).items() if option not in TOLD},
    }  # fmt: skip


def _parameters(models: Models, name: str) -> int | None:
    """Count the parameters of a model, as far as that is known before it is loaded."""
    chain = bases(models, name)
    if not all(one in models for one in chain):
        return None
    first, *trained = (models[one] for one in chain)
    if isinstance(first, Scratch) and trained and isinstance(trained[0], Trained):
        with suppress(TaskloomError):  # which is reported where models are checked
            return pretraining(first.load, trained[0]).parameters
    return None if isinstance(first, Trained) else first.parameters()


def taught_notes(suite: Suite, models: Models, taught: AllTaught) -> tuple[Note, ...]:
    """Say of models that are trained on tasks what is known of leaks into those that are asked about."""
    by_model: dict[str, dict[str, Taught]] = {}
    for (model, target, _), given in taught.items():
        if given.rows and isinstance(how := models[model], Trained) and how.goal != "texts":
            by_model.setdefault(model, {})[target] = given
    return tuple(note for model, found in by_model.items() if (note := _note(suite, model, found)))


def _note(suite: Suite, model: str, taught: Mapping[str, Taught]) -> Note | None:
    """Say what is known of a model, by the tasks that it is asked about."""
    if own := sum(target in given.rows for target, given in taught.items()):
        return Note.of("taught-asked", model=model, tasks=own, asked=len(taught))
    if LEAKAGE not in suite.about or not all(_is_compared(suite, *one) for one in taught.items()):
        return None
    tasks = max(len(given.rows) for given in taught.values())
    beyond = max(row for given in taught.values() for rows in given.rows.values() for row in rows) >= COMPARED
    return Note.of("taught-beyond" if beyond else "taught-certified", model=model, tasks=tasks, compared=COMPARED)


def _is_compared(suite: Suite, target: str, given: Taught) -> bool:
    """Tell whether all that is taught is of train tasks of a fold, which were compared with its test tasks."""
    folds = [given.fold] if given.fold else suite.folds_with(target)
    return bool(folds) and all({*given.rows} <= {*suite.folds[fold].get("train", ())} for fold in folds)
