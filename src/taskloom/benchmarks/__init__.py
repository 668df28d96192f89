"""Published systems as declarations: one file each, and one row here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module

from ..core import Suite
from ..errors import UnknownNameError
from ..sources.table import Field
from ..suites.build import Reading

Builder = Callable[[str, Sequence[Field], Reading, str], Suite]  # source, fields, reading, language


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A named way to build a suite."""

    about: str
    source: str  # what it is built from when nothing is named, or what must be named
    build: str  # "module:function"


BENCHMARKS: Mapping[str, Benchmark] = {
    "csl": Benchmark("CSL: every pair of field sets of Chinese papers is a task", "records", "csl:build"),
    "fields": Benchmark("the same for a table of your own: name its fields with --field", "records", "fields:build"),
    "natural-instructions": Benchmark(
        "Super-NaturalInstructions: a folder of task files with its splits",
        "our own dozen",
        "natural_instructions:build",
    ),
    "quickstart": Benchmark("a field suite to start with, of arXiv papers", "data:arxiv", "quickstart:build"),
}


def builder(name: str) -> Builder:
    """Load the function that builds a benchmark's suite."""
    if name not in BENCHMARKS:
        raise UnknownNameError("benchmark", name, BENCHMARKS)
    module, _, function = BENCHMARKS[name].build.partition(":")
    found: Builder = getattr(import_module(f".{module}", __package__), function)
    return found
