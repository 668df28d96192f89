"""The suite of a study that is built: its benchmark, with the options that the study gives it."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from .. import __version__
from ..benchmarks import Benchmark, read_benchmark, with_source
from ..core import Suite
from ..errors import TaskloomError
from ..folders import write_whole
from ..ids import fingerprint
from ..schema import Node
from ..sources.identity import identity
from ..suites import store
from .study import Study
from .yaml_reader import StudyFaults


def built_suite(study: Study) -> Suite:
    """Build the suite of a study."""
    return benchmark_of(study).build()


def suite_in(folder: Path, study: Study) -> Suite:
    """Open the suite that a study has built in a folder, or build it where it would be another one."""
    there, receipt, key = _opened(folder), folder.with_name(f"{folder.name}.key"), build_key(study)
    if there and receipt.is_file() and receipt.read_text(encoding="utf-8") == _receipt(key, there):
        return there
    built = built_suite(study)
    if not there or there.fingerprint != built.fingerprint:
        there = store.write(built, folder, replace=True)
    if build_key(study) == key:  # else a source was fetched or changed meanwhile, and it is built again next time
        write_whole(receipt, _receipt(key, there))
    return there


def _receipt(key: str, suite: Suite) -> str:
    """Say what a suite was built from, and which one that is: another may have taken its place."""
    return f"{key} {suite.fingerprint}\n"


def _opened(folder: Path) -> Suite | None:
    try:
        return store.open_suite(folder)
    except TaskloomError:  # there is none, or it is damaged
        return None


def build_key(study: Study) -> str:
    """Name what a study's suite is built from: versions of taskloom and the benchmark, options, and sources as of now.

    A suite that was built under the same key need not be built again.
    """
    made = benchmark_of(study)
    options = {f.name: getattr(made, f.name) for f in fields(made)}  # type: ignore[arg-type]
    sources = {source: identity(source) for source in made.sources()}
    return fingerprint("build", __version__, study.build, made.version, repr(sorted(options.items())), sources)


def check_options(study: Study, faults: StudyFaults) -> Benchmark | None:
    """Note all that is wrong with the benchmark of a study and its options, each by its place."""
    made: list[Benchmark | None] = []
    with faults.of("suite"):
        values = with_source(study.source, study.build_options)
        place = study.places.get(("suite", ""), "")

        def find(values: Any, key: str | int, *, of_key: bool = False) -> str:  # noqa: ARG001 (a FindPlace)
            return study.places.get(("option key" if of_key else "option", str(key)), place)

        node = Node(values, faults.add, find, at=place)
        made.append(read_benchmark(study.build, node, study.folder))
    return made[0] if made else None


def benchmark_of(study: Study) -> Benchmark:
    """Make the benchmark of a study, or name all that is wrong with its options."""
    faults = StudyFaults(study.places)
    made = check_options(study, faults)
    faults.settle()
    assert made is not None
    return made
