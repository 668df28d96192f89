"""The suite of a study that is built: its benchmark, with the options that the study gives it."""

from __future__ import annotations

from dataclasses import fields

from ..benchmarks import Benchmark, read_benchmark, with_source
from ..core import Suite
from ..ids import fingerprint
from ..schema import Node
from ..sources.identity import identity
from .study import Study
from .yaml_reader import StudyFaults


def built_suite(study: Study) -> Suite:
    """Build the suite of a study."""
    return benchmark_of(study).build()


def build_key(study: Study) -> str:
    """Name what a study's suite is built from: its benchmark and version, its options, and what its sources are now.

    A suite that was built under the same key need not be built again. Where a source is fetched first, take the key
    after the build.
    """
    made = benchmark_of(study)
    options = {f.name: getattr(made, f.name) for f in fields(made)}  # type: ignore[arg-type]
    sources = {source: identity(source) for source in made.sources()}
    return fingerprint("build", study.build, made.version, repr(sorted(options.items())), sources)


def check_options(study: Study, faults: StudyFaults) -> Benchmark | None:
    """Note all that is wrong with the benchmark of a study and its options, each by its place."""
    made: list[Benchmark | None] = []
    with faults.of("suite"):
        values = with_source(study.source, study.build_options)
        place = study.places.get(("suite", ""), "")
        node = Node(values, faults.add, lambda _, key: study.places.get(("option", str(key)), place), at=place)
        made.append(read_benchmark(study.build, node, study.folder))
    return made[0] if made else None


def benchmark_of(study: Study) -> Benchmark:
    """Make the benchmark of a study, or name all that is wrong with its options."""
    faults = StudyFaults(study.places)
    made = check_options(study, faults)
    faults.settle()
    assert made is not None
    return made
