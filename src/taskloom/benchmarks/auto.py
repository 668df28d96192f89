"""Field tasks of a table whose columns are guessed: what was guessed can be looked at, and typed as a command."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, get_args

from .. import sources
from ..core import Suite
from ..errors import SourceError, UsageError
from ..messages import Note
from ..schema import key
from ..sources.files import BY_OPTION, Layout, OnError, RowFaults, likely_layout
from ..sources.guess import LOOKED_AT, Guess, guess
from ..sources.splits import DEV, TEST, TRAIN, VALUES, pool_in_name
from ..sources.table import Field, Kind
from ..suites.fields import TAKEN
from .fields import TableFields

MOST = 5  # fields: 180 tasks
USEFUL: Sequence[Kind] = ("text", "label", "list", "number")  # where there are more, the last are not used


@dataclass(frozen=True, kw_only=True)
class Auto:
    """The suite of one table, or of the files of a split, by guess."""

    version: ClassVar[int] = 1
    files: tuple[str, ...] = key((), name="from", path=True)
    on_error: OnError = "stop"
    file_encoding: str = ""  # guessed, as the delimiter is
    delimiter: str = ""
    language: str = ""

    def build(self) -> Suite:
        """Build the suite."""
        return replace(self.options.build(), id=self.name)

    def sources(self) -> tuple[str, ...]:
        """Name the tables that are read."""
        return self.files

    @cached_property
    def name(self) -> str:
        """Name the suite after its file, or after what its files have in common."""
        stem = Path(self.files[0].partition(":")[2] or self.files[0]).name.partition(".")[0] if self.files else ""
        words = re.split(r"([\W_]+)", stem)  # every other one is what is between them
        if len(self.files) > 1 and any(word.lower() in VALUES for word in words):
            words = [word for at, word in enumerate(words) if at % 2 == 0 and word and word.lower() not in VALUES]
            stem = "_".join(words)
        return stem or "data"

    @cached_property
    def guesses(self) -> tuple[Guess, ...]:
        """Guess what each column holds, by the rows of all files; columns beyond the most useful are not used."""
        if not self.files:
            raise UsageError("name a table, or the files of a split: taskloom build auto FILE")
        found = guess(row for path in self.files for row in self._rows(path))
        fields = sorted((one for one in found if one.holds in get_args(Kind)), key=lambda one: USEFUL.index(one.holds))
        if len(fields) < 2:
            told = [f"{one.column}: {one.holds} ({one.why})" for one in found]
            raise SourceError(Note.of("guess-too-few", files=list(self.files)), told)
        beyond = {one.column for one in fields[MOST:]}
        return tuple(
            replace(one, holds="unused", why=Note.of("guess-beyond", kind=one.holds, most=MOST))
            if one.column in beyond
            else one
            for one in found
        )

    def _rows(self, path: str) -> list[dict[str, object]]:
        faults = RowFaults("skip", other_encoding=BY_OPTION, has_delimiter=True)
        found = [row for _, row in itertools.islice(sources.rows(path, faults, self._layout(path)), LOOKED_AT)]
        if not found:
            why = Note.of("no-records-left" if faults.count else "no-rows")
            raise SourceError(Note.of("of-source", reason=why, source=path, dropped=""), faults.shown)
        return found

    def _layout(self, path: str) -> Layout:
        likely = likely_layout(Path(path)) if ":" not in path else Layout()
        return replace(
            likely, encoding=self.file_encoding or likely.encoding, delimiter=self.delimiter or likely.delimiter
        )

    @cached_property
    def options(self) -> TableFields:
        """Give the options that the guesses come to."""
        found, usual = self.guesses, Layout()
        used = {_field_name(one.column): one for one in found if one.holds in get_args(Kind)}
        split = next((one for one in found if one.holds == "split"), None)
        layouts = [self._layout(path) for path in self.files]
        encoding = next((of.encoding for of in layouts if of.encoding != usual.encoding), usual.encoding)
        delimiter = next((of.delimiter for of in layouts if of.delimiter != usual.delimiter), usual.delimiter)
        return TableFields(
            **self._tables(split),
            fields=tuple(Field(name, one.holds) for name, one in used.items()),  # type: ignore[arg-type]
            separators={name: one.separator for name, one in used.items() if one.separator.strip() not in ("", ";")},
            columns={name: one.column for name, one in used.items() if name != one.column},
            id_column=next((one.column for one in found if one.holds == "id"), ""),
            language=self.language or next((one.language for one in found if one.language), "en"),
            on_error=self.on_error,
            file_encoding=encoding,
            delimiter=delimiter,
        )

    def _tables(self, split: Guess | None) -> Mapping[str, Any]:
        """Say what is read: a table, with or without a split, or the files of each pool, known by their names."""
        if len(self.files) == 1:
            by = {"split": split.column, "pools": split.pools} if split else {}
            return {"source": self.files[0], **by}
        named: dict[str, tuple[str, ...]] = {}
        for path in self.files:
            pool = pool_in_name(path)
            named[pool] = (*named.get(pool, ()), path)
        if TEST not in named and DEV in named:
            named[TEST] = named.pop(DEV)  # the only rows that are held out
        if "" in named or not {TRAIN, TEST} <= {*named}:
            raise UsageError(Note.of("guess-files", files=list(self.files)))
        return dict(named)

    def command(self, output: str) -> str:
        """Write the command of `build fields` that builds the same."""
        of, usual = self.options, TableFields()
        words = ["taskloom", "build", "fields", *([of.source] if of.source else [])]
        for pool, paths in ((TRAIN, of.train), (DEV, of.dev), (TEST, of.test)):
            words += [word for path in paths for word in (f"--{pool}", path)]
        for flag, value in (("--split", of.split), ("--id", of.id_column)):
            words += [flag, value] if value else []
        words += [word for f in of.fields for word in ("--field", f"{f.name}:{f.kind}")]
        for flag, pairs in (("--pool", of.pools), ("--column", of.columns), ("--separator", of.separators)):
            words += [word for name, value in pairs.items() for word in (flag, f"{name}={value}")]
        for name in ("language", "file_encoding", "delimiter", "on_error"):
            if (value := getattr(of, name)) != getattr(usual, name):
                words += [f"--{name.replace('_', '-')}", value]
        return shlex.join([*words, "-o", output])


def _field_name(column: str) -> str:
    """Make a name for a field of the column's: some signs can't be in it.

    >>> _field_name("price/kg"), _field_name("id"), _field_name("title")
    ('price_kg', 'id_', 'title')
    """
    name = TAKEN.sub("_", column)
    return f"{name}_" if name == "id" else name
