"""What CONTRIBUTING promises: a metric, learner, view or benchmark is one file and one row."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import taskloom as package
from taskloom import benchmarks, learners, scores
from taskloom.reports import render, views
from taskloom.studies import views as known_views

ROOT = Path(__file__).parents[1]
METRIC = """
from dataclasses import dataclass
from typing import ClassVar

from ..scores import Metric
from ..scores.reduce import ratio, sums


@dataclass(frozen=True)
class FirstLetter(Metric):
    name: ClassVar[str] = "first-letter"
    version: ClassVar[int] = 1

    def unit(self, gold, answer):
        return (float(answer is not None and any(answer[:1] == text[:1] for text in gold)), 1.0)

    def reduce(self, units, weights=None):
        right, n = sums(units, weights).T
        return ratio(right, n)
"""
LEARNER = '''
from dataclasses import dataclass
from typing import ClassVar

from . import Learner


@dataclass(frozen=True)
class Echo(Learner):
    """Says a word."""

    word: str = "oak"
    version: ClassVar[int] = 1
    outputs: ClassVar[frozenset[str]] = frozenset({"text"})
    unaided: ClassVar[frozenset[str]] = frozenset({"text"})

    def fit(self, task, support, dev, *, seed, tools):
        return self

    def predict(self, items):
        return [self.word for _ in items]
'''
VIEW = """
from dataclasses import dataclass

from ...studies.views import naming
from ..figures import Figure


@dataclass(frozen=True, kw_only=True)
class Leader:
    of: str = naming("learner")

    def faults(self, settings):
        yield from ()

    def figures(self, seen):
        _, standing = seen.at_most(seen.first)[self.of]
        yield Figure(title="Leader", columns=("learner", "score"), rows=((self.of, standing.score),))
"""
BENCHMARK = '''
from dataclasses import dataclass
from typing import ClassVar

from ...core import Example, Item, Suite, Task, Text
from ...suites import rows


@dataclass(frozen=True)
class Trees:
    """Names of trees, by letter."""

    version: ClassVar[int] = 1
    words: tuple[str, ...] = ("oak", "olive", "elm", "orange")

    def build(self):
        task = Task(id="tree", instruction="Name a tree.", output=Text(), metrics=("first-letter",))
        made = [Example(Item(word, {"letter": word[0]}), (word,), word) for word in self.words]
        return Suite(id="trees", tasks={"tree": task}, pools={"tree": {"test": rows.pool(task, made)}})

    def sources(self):
        return ()
'''
STUDY = """# Which trees begin with an o.
name: trees
suite: {build: trees, words: [oak, olive, elm, orange]}
protocol: {shots: [0], seeds: 1, query: all}
baselines: false
learners: {echo: {word: {}}}
views: [leader: {of: echo}]
"""


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Add one of each: its file, as if it lay in the package, and its row."""

    def put(into: ModuleType, file: str, text: str) -> None:
        folder = tmp_path / into.__name__
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)
        monkeypatch.setattr(into, "__path__", [*into.__path__, str(folder)])
        name = f"{into.__name__}.{file.removesuffix('.py').removesuffix('/__init__')}"
        monkeypatch.delitem(sys.modules, name, raising=False)

    put(scores, "first_letter.py", METRIC)
    put(learners, "word.py", LEARNER)
    put(views, "leader.py", VIEW)
    put(benchmarks, "trees/__init__.py", BENCHMARK)
    (tmp_path / benchmarks.__name__ / "trees" / "trees.yaml").write_text(STUDY)
    entry = scores.MetricRow("first_letter:FirstLetter", ("text",), "the first letter is right", "worked by hand")
    row = benchmarks.BenchmarkRow("names of trees", "nothing", "trees:Trees")
    monkeypatch.setitem(scores.METRICS, "first-letter", entry)
    monkeypatch.setitem(learners.LEARNERS, "word", "word:Echo")
    monkeypatch.setitem(known_views.VIEWS, "leader", "leader:Leader")
    monkeypatch.setitem(benchmarks.BENCHMARKS, "trees", row)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("added")
def test_one_file_and_one_row_are_enough_for_a_metric_a_learner_a_view_and_a_benchmark():
    found = package.run("trees")  # the study lies beside its benchmark
    report = render(found, "md")
    assert {o.task for o in found.outcomes} == {"tree"}
    assert re.search(r"## Leader.*\| echo +\| 75\.0", report, re.DOTALL)  # oak, olive and orange, but not elm


@pytest.mark.usefixtures("added")
@pytest.mark.parametrize(
    ("what", "name"), [("metrics", "first-letter"), ("learners", "word"), ("benchmarks", "trees"), ("studies", "trees")]
)
def test_what_has_a_row_is_listed(taskloom: Callable[..., Any], what: str, name: str):
    assert name in taskloom("list", what).out


def rows() -> dict[str, list[str]]:
    """The table of CONTRIBUTING: what is added -> the cells beside it."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    lines = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| a ")]
    return {what.strip(): [cell.strip() for cell in cells] for what, *cells in lines}


@pytest.mark.parametrize("what", ["a metric", "a learner", "a view", "a benchmark"])
def test_the_table_names_folders_and_tables_that_are_there(what: str):
    file, row = rows()[what]
    (folder,) = re.findall(r"`(src/taskloom/[\w/]+/)", file)
    assert (ROOT / folder).is_dir()
    (table,), (module,) = re.findall(r"`([A-Z]+)`", row), re.findall(r"`([\w/]+)\.py`", row)
    assert getattr(import_module(f"taskloom.{module.removesuffix('/__init__').replace('/', '.')}"), table)
