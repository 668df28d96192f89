"""What is new in a held-out task, beside what is trained on: its classes, its domain, or the task; and leaks.

Of a fold, a test task is of class transfer where other classes of its data set are trained on, of domain transfer where
other data sets of its type are, and else of task transfer; where nothing is trained on, all rests on pretraining.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from ..core import Example, FoldRole, Labels, Suite, Task
from ..errors import LeakError, UnknownNameError
from ..messages import Note
from ..texts import alike, counted
from .labelled import Gathered, task_id
from .leaks import COMPARED_ROLES, Leak, find, sides_of

Transfer: TypeAlias = Literal["class", "domain", "task", "pretraining"]
TRANSFER, DATA_SET, TYPE = "transfer", "data set", "type"  # tags
COMPARED = 10_000  # examples of each task that are looked through for near texts; equal ones are found among all
HELD_OUT: tuple[FoldRole, ...] = ("test", "dev")


def transfer(suite: Suite, fold: str, *, by_text: bool = True) -> Suite:
    """Tag each held-out task of a fold with its kind of transfer; refuse a fold that trains on what it tests."""
    if leaks := leaks_of(suite, fold, by_text=by_text):
        told = [f"{leak.note.code}: {leak.note}" for leak in leaks]
        raise LeakError(Note.of("leaks-found", fold=fold, count=len(told)), told)
    trained = [suite.tasks[name] for name in suite.tasks_with("train", fold)]
    held_out = [suite.tasks[name] for role in HELD_OUT for name in suite.tasks_with(role, fold)]
    tagged = {task.id: _tagged(task, kind) for task in held_out if (kind := transfer_of(task, trained))}
    return replace(suite, tasks={name: tagged.get(name, task) for name, task in suite.tasks.items()})


def _tagged(task: Task, kind: Transfer) -> Task:
    return replace(task, tags={**task.tags, TRANSFER: (kind,)})


def transfer_of(task: Task, trained: Sequence[Task]) -> Transfer | None:
    """Say what is new in a task; nothing where the same classes are trained on, as those of dev tasks may be."""
    related = [other for other in trained if _shared(task, other, DATA_SET)]
    if any(_labels(task) & _labels(other) for other in related):
        return None
    if related:
        return "class"
    if any(_shared(task, other, TYPE) for other in trained):
        return "domain"
    return "task" if trained else "pretraining"


def _shared(one: Task, other: Task, tag: str) -> set[str]:
    return {*one.tags.get(tag, ())} & {*other.tags.get(tag, ())}


def _labels(task: Task) -> set[str]:
    return {*task.output.names} if isinstance(task.output, Labels) else set()


# --- leaks -----------------------------------------------------------------------------------------------------------


def leaks_of(suite: Suite, fold: str, *, by_text: bool = True) -> list[Leak]:
    """Find what tasks of a fold that are learnt from give away of test tasks: by class, by data set, by text."""
    if fold not in suite.folds:
        raise UnknownNameError("fold", fold, suite.folds)
    found = [*_leaks_by_class(suite, fold)]
    for learnt, held_out in COMPARED_ROLES if by_text else ():
        found += _leaks_by_text(suite, fold, learnt, held_out)
    return found


def _leaks_by_class(suite: Suite, fold: str) -> Iterator[Leak]:
    """Find classes of a data set that are learnt and tested; all of them: the data set has no split of classes."""
    for name in (*suite.tasks_with("train", fold), *suite.tasks_with("dev", fold)):
        for other in suite.tasks_with("test", fold):
            ours, theirs = suite.tasks[name], suite.tasks[other]
            both = sorted(_labels(ours) & _labels(theirs))
            if name == other or not both or not (names := sorted(_shared(ours, theirs, DATA_SET))):
                continue
            values = {"task": name, "other": other, "name": names[0]}
            if len(both) == len(_labels(theirs)):
                yield Leak(name, Note.of("leak-data-set", **values))
            else:
                yield Leak(name, Note.of("leak-label", labels=both, **values))


def _leaks_by_text(suite: Suite, fold: str, learnt: FoldRole, held_out: FoldRole) -> Iterator[Leak]:
    ours, theirs = suite.tasks_with(learnt, fold), suite.tasks_with(held_out, fold)
    groups = {name: {*_groups(suite, name)} for name in {*ours, *theirs}}
    for name in ours:
        for other in theirs:
            if name != other and (count := len(groups[name] & groups[other])):
                yield Leak(name, Note.of("leak-text", task=name, other=other, count=count))
    if ours and theirs:
        yield from find(*sides_of(suite, (learnt, ours), (held_out, theirs), compared=COMPARED))


def _groups(suite: Suite, name: str) -> Iterator[int]:
    for pool in suite.pools[name].values():
        yield from pool.groups().tolist()


def certified(suite: Suite, fold: str) -> str:
    """Say how many examples were compared, of a suite whose fold was found to have no leak."""
    if not any(suite.tasks_with(ours, fold) and suite.tasks_with(theirs, fold) for ours, theirs in COMPARED_ROLES):
        return "no tasks are learnt from: nothing to compare"
    sizes = [sum(map(len, pools.values())) for pools in suite.pools.values()]
    near = counted(sum(min(size, COMPARED) for size in sizes), "example")
    return (
        f"{counted(sum(sizes), 'example')} compared for equal texts, and the first {COMPARED:,} of each task ({near}) "
        "for half a text in common: no leak"
    )


# --- texts that are learnt and held out ------------------------------------------------------------------------------


def apart(sets: Sequence[Gathered]) -> tuple[list[Gathered], list[str]]:
    """Drop what is learnt from and stands, whole or by half, in what is held out; and tell what was compared."""
    kept, told = list(sets), list[str]()
    for held_out, learnt in (("test", ("train", "dev")), ("dev", ("train",))):
        theirs, ours = _examples(kept, (held_out,)), _examples(kept, learnt)
        if theirs and ours:
            leaking = _leaking(ours, theirs)
            kept = [_without(one, learnt, leaking) for one in kept]
            told.append(_told(learnt, held_out, ours, leaking))
    return kept, told


def _examples(sets: Sequence[Gathered], phases: Sequence[str]) -> dict[str, list[Example]]:
    """Give the examples of each task of some phases."""
    found = {task_id(one.of.name, phase): one.examples.get(phase, []) for one in sets for phase in phases}
    return {name: examples for name, examples in found.items() if examples}


def _leaking(ours: Mapping[str, list[Example]], theirs: Mapping[str, list[Example]]) -> dict[str, set[int]]:
    """Give by task the places of examples with a text that is held out: an equal one, or half of one."""
    groups = {example.group for examples in theirs.values() for example in examples}
    found = {name: {at for at, e in enumerate(examples) if e.group in groups} for name, examples in ours.items()}
    places = [(name, at) for name, examples in ours.items() for at in range(min(COMPARED, len(examples)))]
    texts, looked_at = ([*_texts(of)] for of in (ours, theirs))
    for at in alike(looked_at, texts):
        name, place = places[at]
        found[name].add(place)
    return {name: leaks for name, leaks in found.items() if leaks}


def _texts(of: Mapping[str, list[Example]]) -> Iterator[str]:
    """Give the texts of the first examples of tasks."""
    return (" ".join(e.item.fields.values()) for examples in of.values() for e in examples[:COMPARED])


def _without(one: Gathered, phases: Sequence[str], leaking: Mapping[str, set[int]]) -> Gathered:
    examples, dropped = dict(one.examples), Counter(one.dropped)
    for phase in phases:
        leaks = leaking.get(task_id(one.of.name, phase), set())
        examples[phase] = [example for at, example in enumerate(examples.get(phase, ())) if at not in leaks]
        dropped[Note.of("row-leaking", phase=phase)] += len(leaks)
    return replace(one, examples=examples, dropped=dropped)


def _told(
    learnt: Sequence[str], held_out: str, ours: Mapping[str, list[Example]], leaking: Mapping[str, set[int]]
) -> str:
    """Say how many examples were dropped, of which tasks, and how they were compared."""
    count = sum(map(len, leaking.values()))
    named = f" ({', '.join(f'{name} {len(leaks):,}' for name, leaks in leaking.items())})" if count else ""
    size = counted(sum(map(len, ours.values())), "example")
    return (
        f"{' and '.join(learnt)} beside {held_out}: {f'{count:,}' if count else 'none'} of {size} dropped{named}; "
        f"compared for equal texts, and the first {COMPARED:,} of each task for half a text in common"
    )
