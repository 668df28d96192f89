"""A suite to start with: arXiv papers where they can be fetched, else the papers that come with taskloom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..core import Suite
from ..errors import FetchError
from ..sources import packages
from ..sources.table import Field
from ..suites.build import Reading, field_suite

FIELDS = (
    Field("title", "text"),
    Field("abstract", "text"),
    Field("categories", "list"),
    Field("archive", "label"),
    Field("year", "number"),
)
PAPERS = {"categories": "keywords", "archive": "category"}  # the columns of the embedded table that stand for these


def build(source: str, fields: Sequence[Field], reading: Reading, language: str) -> Suite:
    """Build the quickstart's suite."""
    reading = replace(reading, id_column="id")
    note = {}
    if not source:
        try:
            packages.get("arxiv")
            source = "data:arxiv"
        except FetchError as error:
            source, note = "data:papers", {"note": f"{error}; the made-up papers that come with taskloom are used"}
    if source == "data:papers":
        columns = {} if fields else PAPERS | dict(reading.columns)
        reading = replace(reading, where={"language": "en"} | dict(reading.where), columns=columns)
    return field_suite(source, fields or FIELDS, reading, id="quickstart", language=language or "en", about=note)
