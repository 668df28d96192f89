"""The learners of a study and their models: made, found, and checked against its tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, TypeAlias

from ..core import Suite
from ..errors import TaskloomError
from ..ids import Json
from ..learners import Learner, can_do, learner
from ..messages import Note
from ..models import LANGUAGE, Ability
from ..models.load import Source, source
from ..models.scratch import Scratch, pretraining
from ..models.trained import Trained, trained
from .cells import bases
from .resources import RESOURCES
from .study import Study
from .trained_tasks import faults_of, untrainable
from .vector_checks import form_faults, vector_base_faults
from .yaml_reader import StudyFaults

Get: TypeAlias = "Callable[[str, Source], object]"  # fetches a model by its name in the study


def learners_of(study: Study, names: Collection[str] | None = None) -> dict[str, Learner]:
    """Make the learners of a study, all or these, or name all that is wrong with them."""
    faults = StudyFaults(study.places)
    made = made_learners(study, faults, names)
    faults.settle()
    return made


def models_of(
    study: Study, learners: Mapping[str, Learner], names: Collection[str] = ()
) -> dict[str, Source | Trained]:
    """Say where the models are that learners need, and these, or name all that is wrong with what was said."""
    faults = StudyFaults(study.places)
    made = found_models(study, learners, faults, names)
    faults.settle()
    return made


def made_learners(study: Study, faults: StudyFaults, names: Collection[str] | None = None) -> dict[str, Learner]:
    """Make the learners of a study, all or these, that can be made; note the faults of the others."""
    made = {}
    for name, chosen in study.learners.items():
        if names is None or name in names:
            with faults.of("learner", name):
                made[name] = learner(chosen.learner, chosen.options, study.folder)
    return made


def found_models(
    study: Study, learners: Mapping[str, Learner], faults: StudyFaults, names: Collection[str] = ()
) -> dict[str, Source | Trained]:
    """Find the models of learners, and the bases of those that are trained, which must not come back to themselves.

    Models of these names are found whether a learner uses them or not.
    """
    users = dict.fromkeys(names, "") | {model: name for name, of in learners.items() for model in of.models}
    made: dict[str, Source | Trained] = {}
    for first, user in sorted(users.items()):
        chain, model = list[str](), first
        while model and model not in made:
            named_by = ("model", chain[-1]) if chain else ("learner", user)
            with faults.of(*(("model", model) if model in study.models else named_by)):
                made[model] = _model(study, model)
            chain.append(model)
            found = made.get(model)
            model = found.train if isinstance(found, Trained) else ""
        if model in chain:
            circle = " -> ".join([*chain[chain.index(model) :], model])
            faults.add(study.places.get(("model", model), ""), f"a model is trained from itself: {circle}")
    for name in study.models:
        if name not in made:
            with faults.of("model", name):
                _model(study, name)  # that no learner uses, and may yet be misspelt
    return made


def _model(study: Study, name: str) -> Source | Trained:
    options = {option: value for option, value in study.models.get(name, {}).items() if option != RESOURCES}
    if "train" in options:
        return trained(options)
    return source(name, options, study.folder, others=study.models)


def check_models(
    study: Study,
    suite: Suite,
    models: Mapping[str, Source | Trained],
    parts: Mapping[str, Mapping[str, Learner]],
    faults: StudyFaults,
) -> None:
    """Note learners whose models can't do what they are needed for, and training that can't be done."""
    for name, of in models.items():
        if isinstance(of, Trained):
            place = study.places.get(("model", name), "")
            of_tasks = (*faults_of(of, suite), *untrainable(of, suite, study, [*parts]))
            for fault in (*of_tasks, *_base_faults(models, name, of)):
                faults.add(place, f"model {name!r}: {fault}")
    if not faults.found:
        _add_shared(study, form_faults(suite, models, parts), faults)
    for task, part in parts.items():
        for name, learner_ in part.items():
            needs = learner_.needs(suite.tasks[task]) if can_do(learner_, suite.tasks[task]) else {}
            for model, needed in needs.items():
                if lacking := needed - _can(models, model):
                    faults.add(study.places.get(("learner", name), ""), f"learner {name!r}: {_unable(model, lacking)}")


def _unable(model: str, lacking: frozenset[Ability]) -> Note:
    """Say what a model can't do, and what to do about it."""
    if lacking == {"chat-score"}:
        return Note.of("chat-score-unable", model=model)
    if "vectors" in lacking:
        return Note.of("vectors-unable", model=model)
    return Note.of("model-unable", model=model, lacking=sorted(lacking))


def check_settings(study: Study, suite: Suite, parts: Mapping[str, Mapping[str, Learner]], faults: StudyFaults) -> None:
    """Note settings of learners that do not fit their tasks."""
    found = []
    for task, part in parts.items():
        fields = cache(lambda task=task: _input_names(suite, task))
        found += [(name, task, fault) for name, of in part.items() for fault in of.faults(suite.tasks[task], fields)]
    _add_shared(study, found, faults)


def _add_shared(study: Study, found: Iterable[tuple[str, str, Note]], faults: StudyFaults) -> None:
    """Note faults of learners at tasks; one that tasks share is named once."""
    shared: dict[tuple[str, Note], list[str]] = {}
    for name, task, fault in found:
        shared.setdefault((name, fault), []).append(task)
    for (name, fault), tasks in shared.items():
        others = f" and {len(tasks) - 1:,} more" if len(tasks) > 1 else ""
        faults.add(study.places.get(("learner", name), ""), f"learner {name!r}, task {tasks[0]!r}{others}: {fault}")


def _input_names(suite: Suite, task: str) -> tuple[str, ...]:
    """Name the fields of a task's items, as its first one has them."""
    pool = suite.asked_pool(task)
    return tuple(pool.take([0])[0].item.fields) if len(pool) else ()


def _base_faults(models: Mapping[str, Source | Trained], name: str, of: Trained) -> Iterator[str]:
    """Say why a model can't be trained from its base."""
    base = models[of.train]
    if of.goal == "vectors":
        yield from vector_base_faults(models, name, of)
    elif not ({"train"} if isinstance(base, Scratch) else {"train", "score"}) <= _can(models, name):  # one that writes
        yield f"its base can't be trained: {bases(models, name)[0]!r}"
    elif isinstance(base, Scratch) != (of.goal == "texts"):
        yield str(Note.of("new-needs-texts" if isinstance(base, Scratch) else "goal-needs-new", base=of.train))
    elif isinstance(base, Scratch):
        try:
            pretraining(base.load, of)
        except TaskloomError as error:
            yield str(error)


def _can(models: Mapping[str, Source | Trained], name: str) -> frozenset[Any]:
    """Say what a model can do: what its base can, and what pre-training has made of it."""
    chain = [models[model] for model in bases(models, name)]
    if isinstance(last := chain[-1], Trained) and last.goal == "vectors":
        return frozenset({"vectors"})
    pretrained = any(isinstance(of, Trained) and of.goal == "texts" for of in chain)
    made = LANGUAGE | {"vectors"} if pretrained else frozenset()
    return frozenset() if isinstance(chain[0], Trained) else chain[0].can | made


def model_ids(
    study: Study,
    models: Mapping[str, Source | Trained],
    learners: Mapping[str, Learner],
    get: Get | None,
    skipped: Counter[Note],
) -> dict[str, Json]:
    """Name models by their content; one that is unavailable is skipped where all its learners are optional."""
    found: dict[str, Json] = {}
    for name, of in models.items():
        users = [user for user, made in learners.items() if any(name in bases(models, m) for m in made.models)]
        if isinstance(of, Trained) or not users:
            continue
        try:
            if get:
                get(name, of)
            found[name] = of.identity()
        except TaskloomError as error:
            if not all(study.learners[user].optional for user in users):
                raise
            skipped[Note.of("model-unavailable", model=name, learners=", ".join(users), reason=error.note)] += 1
    return found
