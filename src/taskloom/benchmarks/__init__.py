"""Published systems as declarations: a module and a row here for each.

What else a benchmark owns lies in the module's folder: its named studies (`*.yaml`), the figures that its paper has
published (`published.json`), and those of its card (`card.json`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Protocol

from ..core import Suite
from ..errors import UnknownNameError, UsageError
from ..schema import Node, read


class Benchmark(Protocol):
    """A way to build a suite: a frozen dataclass whose fields are its options, all of them with a default.

    Raise `version` when the same options and sources give another suite.
    """

    version: ClassVar[int]

    def build(self) -> Suite:
        """Build the suite."""

    def sources(self) -> tuple[str, ...]:
        """Name what the suite would be built from: files, folders, data:NAME or hub:NAME."""


@dataclass(frozen=True, slots=True)
class BenchmarkRow:
    """What is known of a benchmark before its module is loaded."""

    about: str
    source: str  # what it is built from when nothing is named, or what must be named
    kind: str  # "module:Class"


BENCHMARKS: Mapping[str, BenchmarkRow] = {
    "auto": BenchmarkRow("a table of your own: what its columns hold is guessed", "records", "auto:Auto"),
    "csl": BenchmarkRow(
        "CSL: every pair of field sets of Chinese papers is a task", "data:arxiv, as a stand-in", "csl:Csl"
    ),
    "fields": BenchmarkRow(
        "the same for a table of your own: name its fields with --field", "records", "fields:TableFields"
    ),
    "flex": BenchmarkRow(
        "FLEX: few-shot classification over 20 data sets; a folder of them",
        "data:20news and others, as a stand-in",
        "flex:Flex",
    ),
    "functions": BenchmarkRow(
        "compositions of lexical, factual and random functions: name them", "functions", "functions:FunctionTasks"
    ),
    "labelled": BenchmarkRow(
        "few-shot classification of labelled data of your own", "tables or declarations", "labelled:LabelledSets"
    ),
    "natural-instructions": BenchmarkRow(
        "Super-NaturalInstructions: a folder of task files with its splits",
        "our own tasks",
        "natural_instructions:NaturalInstructions",
    ),
    "quickstart": BenchmarkRow("a field suite to start with, of arXiv papers", "data:arxiv", "quickstart:Quickstart"),
    "scirepeval": BenchmarkRow(
        "SciRepEval: tasks that judge vectors of documents; a folder of them, or tasks of your own in YAML",
        "data:arxiv, data:nsf, data:papers, as a stand-in",
        "scirepeval:SciRepEval",
    ),
    "taskbench": BenchmarkRow(
        "TaskBench500: functions of words and facts, composed", "data:wordnet, data:facts", "taskbench:TaskBench"
    ),
}


def build(name: str, source: str | Sequence[str] = "", **options: Any) -> Suite:
    """Build the suite of a benchmark, as `taskloom build` does.

    >>> len(build("fields", "data:papers", fields=["title:text", "category:label"], id_column="id").tasks)
    2
    """
    return benchmark(name, source, options).build()


def benchmark(name: str, source: str | Sequence[str] = "", options: Mapping[str, Any] | None = None) -> Benchmark:
    """Make a benchmark with its options, or name all that is wrong with them."""
    faults: list[str] = []
    made = read_benchmark(name, Node(with_source(source, options or {}), lambda _, what: faults.append(what)))
    if made is None or faults:
        raise UsageError("; ".join(faults))
    return made


def with_source(source: str | Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """Give options as a file has them, where a source stands under `from`."""
    return {"from": source, **options} if source else dict(options)


def read_benchmark(name: str, node: Node, folder: Path = Path()) -> Benchmark | None:
    """Read the options of a benchmark; relative paths among them start in a folder."""
    kind: Any = benchmark_kind(name)
    node.of = f" of benchmark {name!r}"
    made: Any = read(kind, node)
    if made is None:
        return None
    paths = {f.name: getattr(made, f.name) for f in dataclasses.fields(kind) if f.metadata.get("path")}
    found: Benchmark = replace(made, **{name: _below(folder, at) for name, at in paths.items()})
    return found


def _below(folder: Path, at: str | tuple[str, ...]) -> str | tuple[str, ...]:
    """Start a path, or several, in a folder; what is no path stays as it is."""
    if isinstance(at, tuple):
        return tuple(str(_below(folder, one)) for one in at)
    return str(folder / at) if at and ":" not in at else at


def option_names(name: str) -> list[str]:
    """List the options of a benchmark."""
    return [f.name for f in dataclasses.fields(benchmark_kind(name))]  # type: ignore[arg-type]


def takes_several(name: str) -> bool:
    """Tell a benchmark that is built from any number of sources."""
    made_from = (f for f in dataclasses.fields(benchmark_kind(name)) if f.metadata.get("name") == "from")  # type: ignore[arg-type]
    return any(isinstance(f.default, tuple) for f in made_from)


def benchmark_kind(name: str) -> type[Benchmark]:
    """Load the class of a benchmark."""
    module, _, kind = _row(name).kind.partition(":")
    found: type[Benchmark] = getattr(import_module(f".{module}", __package__), kind)
    return found


def studies() -> dict[str, Path]:
    """Give the files of the named studies of all benchmarks."""
    return {file.stem: file for name in BENCHMARKS for file in sorted(folder_of(name).glob("*.yaml"))}


def folder_of(name: str) -> Path:
    """Say where a benchmark's files lie; one that has none but its module has no folder."""
    module = _row(name).kind.partition(":")[0]
    places = [Path(base) / module for base in __path__]
    return next((place for place in places if place.is_dir()), places[0])


def _row(name: str) -> BenchmarkRow:
    if name not in BENCHMARKS:
        raise UnknownNameError("benchmark", name, BENCHMARKS)
    return BENCHMARKS[name]
