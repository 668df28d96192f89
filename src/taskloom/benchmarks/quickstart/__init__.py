"""A suite to start with: arXiv papers where they can be fetched, else the papers that come with taskloom."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ...core import Suite
from ...errors import FetchError
from ...sources import packages
from ...sources.table import Field
from ...suites.build import TableOptions, field_suite

FIELDS = (
    Field("title", "text"),
    Field("abstract", "text"),
    Field("opening", "text"),  # the abstract's first sentence
    Field("topic", "label"),
    Field("parity", "label"),  # of the id: a negative control
)
ARXIV, PAPERS = "data:arxiv", "data:papers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quickstart(TableOptions):
    """The quickstart's suite."""

    version: ClassVar[int] = 2
    id_column: str = "id"

    def build(self) -> Suite:
        """Build the suite."""
        note = {}
        source = self.source or ARXIV
        if not self.source:
            try:
                packages.get("arxiv")
            except FetchError as error:
                source, note = PAPERS, {"note": f"{error}; using the made-up papers that come with taskloom"}
        options = replace(self, source=source, fields=self.fields or FIELDS)
        if source == PAPERS:
            options = replace(options, where={"language": "en"} | dict(self.where))
        return field_suite(options, id="quickstart", about=note)

    def sources(self) -> tuple[str, ...]:
        """Name the source, or the one that is available."""
        here = ARXIV if packages.is_here(packages.entry("arxiv")) else PAPERS
        return (self.source or here, *filter(None, [self.venues]))
