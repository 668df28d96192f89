"""Small studies of a learner of the user's own, which waits a little."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from taskloom.benchmarks import build
from taskloom.suites.store import write

LEARNER = """
import time
from dataclasses import dataclass
from typing import ClassVar
from taskloom import Learner

@dataclass(frozen=True)
class Slow(Learner):
    seconds: float = 0.0
    broken: str = ""
    version: ClassVar[int] = 1
    outputs: ClassVar[frozenset] = frozenset({"labels", "text"})
    unaided: ClassVar[frozenset] = frozenset({"labels", "text"})

    def fit(self, task, support, dev, *, seed, tools):
        if self.broken and self.broken in task.id:
            raise RuntimeError("on purpose")
        time.sleep(self.seconds)
        tools.count("fitted")
        return self

    def predict(self, items):
        return [str(len(item.fields)) for item in items]
"""
STUDY = """
format: 1
name: small
baselines: false
suite: suite
tasks: ["abstract->*"]
protocol: {{seeds: 2, shots: [0, 1], query: 8}}
learners:
  majority: {{}}
  slow: {{"slow.py:Slow": {{seconds: {seconds}, broken: "{broken}"}}}}
"""


@pytest.fixture(scope="session")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The embedded papers as a suite of twelve tasks."""
    from taskloom.sources.table import Field

    fields = (Field("title", "text"), Field("abstract", "text"), Field("category", "label"))
    folder = tmp_path_factory.mktemp("papers") / "suite"
    write(build("fields", "data:papers", fields=fields, where={"language": "en"}, id_column="id"), folder)
    return folder


@pytest.fixture
def study(tmp_path: Path, papers: Path) -> Callable[..., Path]:
    """Write a study file, beside its learner and its suite."""

    def make(seconds: float = 0.0, broken: str = "") -> Path:
        (tmp_path / "slow.py").write_text(LEARNER)
        if not (tmp_path / "suite").exists():
            (tmp_path / "suite").symlink_to(papers)
        path = tmp_path / "study.yaml"
        path.write_text(STUDY.format(seconds=seconds, broken=broken))
        return path

    return make
