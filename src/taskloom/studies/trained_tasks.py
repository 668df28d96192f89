"""Which tasks a model is trained on, by name, pattern, tag or role of a fold, and what is wrong with that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from ..core import ROLES, Suite
from ..document_lessons import LEARNT, trained_forms
from ..encodings import encoding
from ..errors import StudyError, TaskloomError, UnknownNameError, nearest
from ..lessons import RANDOM
from ..messages import Note
from ..models.trained import Trained
from ..suites.instructions import leaking_tasks
from ..templates import TEMPLATES, template
from .study import Study, named


def excluded(suite: Suite, of: Trained) -> set[str]:
    """Give the tasks that a model is not trained on: `!NAME`, or a pattern or tag after the `!`."""
    texts = [name for text in of.tasks if text.startswith("!") for name in _named_or_tagged(suite, text[1:])]
    return {name for text in texts for name in named(suite.tasks, text)}


def split_tasks(suite: Suite, of: Trained) -> tuple[list[str], list[str]]:
    """Part what a model is trained on into roles and names or patterns of tasks."""
    tasks = [text for text in of.tasks if not text.startswith("!")]
    marked = [text for text in tasks if text.startswith("@") and text not in suite.tasks]
    roles = [text.removeprefix("@") for text in marked if "=" not in text]
    plain = [name for text in tasks if text not in marked or "=" in text for name in _named_or_tagged(suite, text)]
    return roles, list(dict.fromkeys(plain))


def _named_or_tagged(suite: Suite, text: str) -> list[str]:
    """Put names in the place of `@TAG=VALUE`; one that no task has stays, and is a fault."""
    is_tag = text.startswith("@") and "=" in text and text not in suite.tasks
    return (tagged(suite, text) if is_tag else []) or [text]


def tagged(suite: Suite, text: str) -> list[str]:
    """Give the tasks that have all tags of a text such as `@training=in-train&format=CLF`."""
    wanted = [part.partition("=") for part in text.removeprefix("@").split("&")]
    return [n for n, task in suite.tasks.items() if all(value in task.tags.get(tag, ()) for tag, _, value in wanted)]


def faults_of(of: Trained, suite: Suite) -> Iterator[str]:
    """Say what is wrong with a model that is to be trained on tasks of a suite."""
    roles, plain = split_tasks(suite, of) if not of.texts else ([], [])
    for role in roles:
        if role not in ROLES:
            yield f"unknown role of a fold: '@{role}'; {nearest(f'@{role}', [f'@{name}' for name in ROLES])}"
    out = [name for text in of.tasks if text.startswith("!") for name in _named_or_tagged(suite, text[1:])]
    for text in (*plain, *out):
        if not named(suite.tasks, text):
            yield str(_unknown(suite, text))
    if roles and not suite.folds:
        yield "the suite has no folds; name the tasks to train on in `tasks`"
    for text in of.folds if roles and suite.folds else ():
        if not named(suite.folds, text):
            yield f"unknown fold: {text!r}; {nearest(text, suite.folds)}"
    try:
        if of.encoding not in ("", RANDOM):
            encoding(of.encoding)
        taught = [name for fold in suite.folds.values() for role in roles for name in fold.get(role, ())]
        taught += [name for text in plain for name in named(suite.tasks, text)]
        taught = [name for name in taught if name not in excluded(suite, of)]
        if of.goal == "vectors":
            yield from _vector_faults(of, suite, dict.fromkeys(taught))
        yield from _template_faults(of, suite, dict.fromkeys(taught))
    except TaskloomError as error:
        yield str(error)


def _vector_faults(of: Trained, suite: Suite, tasks: Iterable[str]) -> Iterator[str]:
    """Name tasks that vectors can't be learnt from, and a batch that has no room for all."""
    for name in tasks:
        task = suite.tasks[name]
        if task.output.kind not in LEARNT:
            yield str(Note.of("vectors-unlearnable", task=name, kind=task.output.kind))
    count = len([*tasks])
    if count > of.batch:
        yield str(Note.of("batch-below-tasks", batch=of.batch, tasks=count))


def _template_faults(of: Trained, suite: Suite, tasks: Iterable[str]) -> Iterator[str]:
    """Say where a template of one's own does not fit the inputs of tasks; a fault that tasks share is named once."""
    words, found = template(of.template), dict[Note, list[str]]()
    for name in tasks if of.template not in TEMPLATES else ():
        if pool := suite.taught_pool(name):
            for fault in words.faults(tuple(pool.take([0])[0].item.fields)):
                found.setdefault(fault, []).append(name)
    for fault, names in found.items():
        yield f"task {names[0]!r}{f' and {len(names) - 1:,} more' if names[1:] else ''}: {fault}"


def trained_in(of: Trained, suite: Suite) -> frozenset[str]:
    """Name the forms that an encoder is trained in: those of its tasks."""
    roles, plain = split_tasks(suite, of)
    folds = [name for name in suite.folds if any(fnmatchcase(name, text) for text in of.folds)]
    names = {name for fold in folds for role in roles for name in suite.folds[fold].get(role, ())}
    names |= {name for text in plain for name in named(suite.tasks, text)}
    able = [name for name in names - excluded(suite, of) if suite.taught_pool(name) is not None]
    return frozenset(form for name in able for form in trained_forms(suite.tasks[name], {}))


def untrainable(of: Trained, suite: Suite, study: Study, asked: Sequence[str]) -> Iterator[str]:
    """Say so where no fold that asks about tasks of a study has any to train on: a track without training tasks."""
    roles, plain = split_tasks(suite, of) if not of.texts else ([], [])
    named_in = folds_named(suite, study.tasks)
    every = dict.fromkeys(fold for task in asked for fold in named_in.get(task) or suite.folds_with(task))
    folds = [fold for fold in every if any(fnmatchcase(fold, text) for text in of.folds)]
    if folds and roles and not plain and not any(suite.folds[fold].get(role) for fold in folds for role in roles):
        leaks = sum(len(leaking_tasks(suite, fold).get(role, ())) for fold in folds for role in roles)
        yield str(Note.of("track-without-training", roles=roles, folds=folds, leaks=leaks))


def folds_named(suite: Suite, tasks: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Give the folds that a study names for tasks (`@FOLD/test`): they are asked about in these alone."""
    found: dict[str, list[str]] = {}
    for text in tasks:
        fold, _, role = text.removeprefix("@").rpartition("/")
        if text.startswith("@") and text not in suite.tasks and fold in suite.folds:
            for name in suite.folds[fold].get(role, ()):
                found.setdefault(name, []).append(fold)
    return {name: tuple(folds) for name, folds in found.items()}


def meant(suite: Suite, text: str) -> list[str]:
    """Put names in the place of `@test`, or of `@FOLD/test`: the tasks that have a role in any fold, or in one.

    `@*` stands for the tasks of any role, and `@TAG=VALUE` for the tasks with a tag of that value (`@level=atomic`).
    """
    if text in suite.tasks or not text.startswith("@"):
        return [text]
    if "=" in text:
        return _with_tag(suite, text)
    fold, _, name = text.removeprefix("@").rpartition("/")
    roles = [role for role in ROLES if name == role or (name == "*" and role != "excluded")]
    if not roles:
        raise UnknownNameError("role of a fold", f"@{name}", [*(f"@{role}" for role in ROLES), "@*"])
    if not suite.folds and text in ("@test", "@*"):
        return list(suite.tasks)  # of a suite without folds, every task may be asked about
    names = [task for role in roles for task in suite.tasks_with(role, fold)] if fold in ("", *suite.folds) else []
    if not names:
        raise StudyError(f"no fold has such tasks; folds of the suite: {', '.join(suite.folds) or 'none'}: {text!r}")
    return list(dict.fromkeys(names))


def _with_tag(suite: Suite, text: str) -> list[str]:
    """Give the tasks that have tags of some values."""
    found = tagged(suite, text)
    if not found:
        raise _unknown(suite, text)
    return found


def _unknown(suite: Suite, text: str) -> UnknownNameError:
    """Say that no task has a name, or a tag."""
    if not text.startswith("@"):
        return UnknownNameError("task", text, suite.tasks)
    known = {f"@{name}={one}" for task in suite.tasks.values() for name, some in task.tags.items() for one in some}
    return UnknownNameError("tag of tasks", text, sorted(known))
