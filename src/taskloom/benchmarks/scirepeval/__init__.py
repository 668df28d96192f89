"""SciRepEval: 24 tasks of four formats that judge vectors of scientific documents, and MDCR.

Built from a folder of the released files, from the hub, from declarations of your own, or, where nothing is named, from
data inside packages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import ClassVar, TypeAlias

from ...core import ABSENT, Suite
from ...errors import FetchError, SourceError, UnknownNameError
from ...ids import Json
from ...limits import refuse_no_file, refuse_no_folder
from ...messages import Note
from ...schema import key
from ...sources import packages
from ...sources.files import OnError
from ...suites.document_tasks import DocumentExamples, Missing, by_part, examples_of, suite
from ..document_sets import (
    CONFIGURATIONS,
    HUB,
    DeclaredTask,
    TaskReader,
    declarations,
    found_in,
    hub_specs,
    own_declarations,
)
from ..labelled import DECLARATIONS

Found: TypeAlias = tuple[DeclaredTask, Sequence[str]]  # a task, and what its rows are read from
NAME = FOLD = "scirepeval"
EVERY, DATA = "all", "data:"


@cache
def catalogue() -> dict[str, DeclaredTask]:
    """Give the tasks of the paper.

    >>> catalogue()["drsm"].sizes["gold"]
    955
    """
    return declarations(Path(__file__).with_name("tasks.toml"))


def stand_ins() -> dict[str, DeclaredTask]:
    """Give the tasks of data inside packages."""
    return declarations(Path(__file__).with_name("stand_ins.toml"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SciRepEval:
    """The suite of the tasks that are at hand."""

    version: ClassVar[int] = 2
    source: tuple[str, ...] = key((), name="from", path=True)  # folders, declarations, hub:NAME or hub:all
    missing: Missing = "refuse"  # of documents that are named and missing
    most: int = 0  # documents of each task's table, drawn at random; 0: as many as it says
    held_out: float | None = None  # share of in-train tasks that is tested, of those that say none and have no split
    on_error: OnError = "stop"

    def build(self) -> Suite:
        """Build the suite."""
        notes: list[Note] = []
        reader = TaskReader(self.on_error)
        found: list[DocumentExamples] = []
        absent = dict.fromkeys(catalogue())
        for of, specs in self._wanted(notes):
            parts = [examples_of(one, own, self.missing) for one, own in by_part(of, reader.content_of(of, specs))]
            found += parts
            if not all(map(is_without_examples, parts)):
                absent.pop(of.name, None)
        used = [one for one in found if not is_without_examples(one)]
        if used and (idle := [one.of.name for one in found if one not in used]):
            notes.append(Note.of("data-set-unused", names=idle))
        about: dict[str, Json] = {"benchmark": NAME, "note": "; ".join(map(str, notes)), ABSENT: [*absent]}
        return suite(used or found, id=NAME, fold=FOLD, about=about)

    def sources(self) -> tuple[str, ...]:
        """Name what is read."""
        if not self.source:
            return tuple(dict.fromkeys(spec for of in stand_ins().values() for spec in of.source))
        own = [spec for one in self.source if is_declaration(one) for of in _own(one) for spec in of.source]
        return (*self.source, *dict.fromkeys(own))

    def _wanted(self, notes: list[Note]) -> Iterator[Found]:
        """Give the tasks, of fewer documents or with a part to train on where that is wanted."""
        for of, specs in self._given(notes) if self.source else _packaged(notes):
            most = min(of.most or self.most, self.most) if self.most else of.most
            share = self.held_out if of.held_out is None and of.training == "in-train" else of.held_out
            yield replace(of, most=most, held_out=share), specs

    def _given(self, notes: list[Note]) -> Iterator[Found]:
        for spec in self.source:
            if is_declaration(spec):
                yield from ((of, of.source) for of in _own(spec))
        yield from ((of, hub_specs(of)) for of in _on_hub(self.source))
        if folders := [Path(spec) for spec in self.source if ":" not in spec and not is_declaration(spec)]:
            yield from _in_folders(folders, notes)


def _packaged(notes: list[Note]) -> Iterator[Found]:
    """Give the tasks of data inside packages, but for those that can't be fetched."""
    refused: set[str] = set()
    for of in stand_ins().values():
        for name in (spec.removeprefix(DATA) for spec in of.source if spec not in refused):
            try:
                packages.get(name)
            except FetchError as error:
                refused.add(f"{DATA}{name}")
                notes.append(Note.of("data-set-not-fetched", name=name, reason=str(error)))
        if refused.isdisjoint(of.source):
            yield of, of.source


def _in_folders(folders: Sequence[Path], notes: list[Note]) -> Iterator[Found]:
    """Give the tasks of the paper whose files are in folders."""
    refuse_no_folder(*folders)
    found = {name: paths for name, of in catalogue().items() if (paths := found_in(folders, of))}
    missing = [name for name in catalogue() if name not in found]
    if not found:
        raise SourceError(Note.of("document-tasks-not-found", names=missing, folders=list(map(str, folders))))
    if missing:
        notes.append(Note.of("data-set-not-found", names=missing))
    yield from ((catalogue()[name], list(map(str, paths))) for name, paths in found.items())


def is_without_examples(one: DocumentExamples) -> bool:
    """Tell a task of the catalogue of which only documents were found, or no rows: tasks share them."""
    codes = [fault.code for fault in one.faults]
    return one.of.name in catalogue() and codes in (["documents-unasked"], ["documents-no-rows"])


def is_declaration(source: str) -> bool:
    """Tell a declaration of tasks from a folder."""
    return ":" not in source and Path(source).suffix in (*DECLARATIONS, *CONFIGURATIONS)


def _own(spec: str) -> list[DeclaredTask]:
    refuse_no_file(Path(spec))
    return own_declarations(Path(spec), catalogue())


def _on_hub(source: tuple[str, ...]) -> list[DeclaredTask]:
    """Give the tasks that are named on the hub."""
    named = [spec.removeprefix(HUB) for spec in source if spec.startswith(HUB)]
    for name in named:
        if name != EVERY and name not in catalogue():
            raise UnknownNameError("task of SciRepEval", name, catalogue())
    return [of for name, of in catalogue().items() if name in named or (EVERY in named and of.hub)]
