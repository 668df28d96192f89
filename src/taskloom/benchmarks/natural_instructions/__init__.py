"""Super-NaturalInstructions: tasks given as instructions, from a folder of task files with its splits.

Where no folder is named, the tasks are taken that come with taskloom.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from importlib import resources
from pathlib import Path
from typing import ClassVar

from ...core import Suite
from ...errors import UsageError, nearest
from ...limits import refuse_no_folder
from ...schema import key
from ...sources import task_files
from ...suites import instructions
from ...suites.leaks import without_leaks

NAME = "natural-instructions"
FEW = 3  # tasks without a file that are named
LANGUAGES = {"input_language", "output_language"}  # tags, by which a task is scored


@dataclass(frozen=True, slots=True, kw_only=True)
class NaturalInstructions:
    """The suite of a folder of task files, which say themselves what they hold."""

    version: ClassVar[int] = 1
    source: str = key("", name="from", path=True)  # a folder; none: our own tasks
    test: tuple[str, ...] = ()  # the tasks to hold out, by name, pattern or category; none: as the splits say
    scored: int = instructions.TEST  # instances of a test task, the first of its file; the others may be trained on

    def build(self) -> Suite:
        """Build the suite."""
        (folder,) = map(Path, self.sources())
        refuse_no_folder(folder)
        files, splits = task_files.read(folder)
        if self.test:
            splits = {"held-out": held_out(files, self.test)}
        id_ = folder.absolute().name if self.source else NAME
        if self.scored < 1:
            raise UsageError(f"scored must be an integer >= 1: {self.scored}")
        told = instructions.suite(files, splits, id=id_, about={"benchmark": NAME}, scored=self.scored)
        made = without_leaks(told)
        notes = "; ".join([*_notes(files, splits), *_untrained(made)])
        return replace(made, about={**made.about, "note": notes}) if notes else made

    def sources(self) -> tuple[str, ...]:
        """Name the folder."""
        return (self.source or str(resources.files("taskloom") / "data" / "instructions"),)


def _untrained(suite: Suite) -> Iterator[str]:
    for fold in suite.folds:
        leaking = instructions.leaking_tasks(suite, fold).get("train")
        if leaking and not suite.tasks_with("train", fold):
            yield f"split {fold} has no task to train on: all {len(leaking):,} leak"


def held_out(files: Sequence[task_files.TaskFile], wanted: Sequence[str]) -> dict[str, list[str]]:
    """Part tasks into those to test on, by names, patterns or categories, and those to train on."""
    names = {file.name: (file.name, *instructions.task(file).tags.get("category", ())) for file in files}
    every = {name: None for found in names.values() for name in found}
    if unknown := [text for text in wanted if not any(fnmatchcase(name, text) for name in every)]:
        names_near = "; ".join(f"{text!r} ({nearest(text, every)})" for text in unknown)
        raise UsageError(f"--test matches no task and no category: {names_near}")
    test = [task for task, found in names.items() if any(fnmatchcase(n, text) for text in wanted for n in found)]
    if len(test) == len(files):
        raise UsageError(f"--test must not hold out all tasks: {len(files):,}")
    return {"train": [task for task in names if task not in set(test)], "test": test}


def _notes(files: Sequence[task_files.TaskFile], splits: task_files.Splits) -> Iterator[str]:
    """Say what is not as one would expect: tasks of splits that have no file, no splits, no answers, doubles."""
    here = {file.name for file in files}
    for track, lists in splits.items():
        tasks = {name: task_files.tasks_in(entries) for name, entries in lists.items() if name != "excluded"}
        gone = {name: sum(task not in here for task in listed) for name, listed in tasks.items()}
        told = [f"{gone[name]:,} of {len(tasks[name]):,} {name} tasks" for name in gone if gone[name]]
        if told:
            absent = [task for listed in tasks.values() for task in listed if task not in here]
            named = "; ".join(f"{task!r}, {nearest(task, here)}" for task in absent) if len(absent) <= FEW else ""
            yield f"without a file, of split {track}: {', '.join(told)}" + (f" ({named})" if named else "")
    if not splits:
        yield "no splits: every task is a test task"
    empty = sum(not any(map(str.strip, gold)) for file in files for gold in _golds(file))
    if empty:
        yield f"instances without an answer, as published: {empty:,}"
    for part in ("id", "input"):
        if again := sum(_again(file, part) for file in files):
            yield f"instances with a duplicate {part} in their file: {again:,}"
    several = sum(isinstance(given := file.content[task_files.DEFINITION], list) and len(given) > 1 for file in files)
    if several:
        yield f"tasks with several definitions (the first is used, as released): {several:,}"
    if silent := sum(not LANGUAGES & instructions.task(file).tags.keys() for file in files):
        yield f"tasks without a language, scored as English: {silent:,}"


def _again(file: task_files.TaskFile, part: str) -> int:
    """Count the instances that have a part of one before them; those without an id are given one."""
    values = [value for instance in file.content[task_files.INSTANCES] if (value := instance.get(part))]
    return len(values) - len(set(values))


def _golds(file: task_files.TaskFile) -> list[list[str]]:
    outputs = [instance["output"] for instance in file.content[task_files.INSTANCES]]
    return [[output] if isinstance(output, str) else output for output in outputs]
