"""Few-shot tasks of labelled data of your own: tables, or data sets that are declared in YAML or TOML."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from .. import sources
from ..core import Suite
from ..errors import UnknownNameError, UsageError
from ..schema import key
from ..sources.files import OnError, RowFaults
from ..sources.labelled import guessed_form
from ..suites.labelled import Gathered
from .auto import Auto
from .data_sets import Declared, Leaks, assembled, declarations, declared, gather, own_declaration, rows_of

DECLARATIONS = (".yaml", ".yml", ".toml")
FOLD = "labelled"


@cache
def known_sets() -> dict[str, Declared]:
    """Give the data sets that taskloom declares."""
    return declarations(Path(__file__).with_name("flex") / "data_sets.toml")


def is_declaration(source: str) -> bool:
    """Tell a declaration from data."""
    return ":" not in source and Path(source).suffix in DECLARATIONS


def own_set(of: Declared, on_error: OnError) -> Gathered:
    """Read a data set that says where its rows are."""
    faults = RowFaults(on_error)
    return gather(of, [row for spec in of.source for row in rows_of(spec, of, faults)])


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledSets:
    """The suite of data sets: one of all tables that are named, and one of each declaration."""

    version: ClassVar[int] = 1
    files: tuple[str, ...] = key((), name="from", path=True)
    like: str = ""  # a data set of FLEX whose format the tables have
    labels: str = ""  # numbers of labels for train, dev and test, as in 8/3/5; none: all labels are for test
    form: str = ""  # of the texts: single, pair, relation, entity or document; none: by the columns
    type: str = ""  # of task, such as sentiment
    leaks: Leaks = "drop"
    on_error: OnError = "stop"

    def build(self) -> Suite:
        """Build the suite."""
        if not self.files:
            raise UsageError("SOURCE is missing: a table with texts and labels, or the declaration of a data set")
        sets = [own_set(of, self.on_error) for of in self._declared()]
        return assembled(sets, id=sets[0].of.name, fold=FOLD, leaks=self.leaks, about={"benchmark": "labelled"})

    def sources(self) -> tuple[str, ...]:
        """Name the declarations and the tables."""
        own = [of for of in self.files if is_declaration(of)]
        return (*self.files, *(spec for path in own for spec in own_declaration(Path(path), known_sets()).source))

    def _declared(self) -> list[Declared]:
        tables = tuple(source for source in self.files if not is_declaration(source))
        own = [own_declaration(Path(source), known_sets()) for source in self.files if is_declaration(source)]
        return [*([self._table(tables)] if tables else []), *own]

    def _table(self, tables: tuple[str, ...]) -> Declared:
        """Declare the data set of tables."""
        if self.like and self.like not in known_sets():
            raise UnknownNameError("data set", self.like, known_sets())
        base = known_sets()[self.like] if self.like else None
        form = self.form or (base.form if base else _form_of(tables[0]))
        said: dict[str, Any] = {"labels": self.labels, "type": self.type, "form": form}
        values = {"name": Auto(files=tables).name, "from": list(tables), **{k: v for k, v in said.items() if v}}
        return declared(values, tables[0], base)


def _form_of(source: str) -> str:
    rows = sources.rows(source, RowFaults("skip"))
    return next((guessed_form(row) for _, row in itertools.islice(rows, 1)), "single")
