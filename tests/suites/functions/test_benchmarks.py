"""The benchmarks of functions, from the command line: with a small lexicon and graph in the place of the real ones."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from taskloom.benchmarks import build, takes_several
from taskloom.benchmarks.taskbench import paper_functions
from taskloom.errors import UsageError
from taskloom.sources import facts, words
from taskloom.suites.functions.language import FunctionError, kind_of, written
from taskloom.suites.functions.parse import parse
from taskloom.suites.store import open_suite

from .conftest import SmallLexicon, graph_of


@pytest.fixture(autouse=True)
def small_sources(monkeypatch):
    """Words and facts that need no data."""
    monkeypatch.setattr(words, "lexicon", lambda _: SmallLexicon(sizes={"eng": 400, "spa": 300}))
    graph, _ = graph_of(0, 60, 0.02)
    monkeypatch.setattr(facts, "graph", lambda _: graph)  # none of whose properties are Wikidata's


def test_taskbench_takes_the_papers_functions_first_and_lists_what_is_not_at_hand():
    of = build("taskbench", most=150, sequences=100)
    origins = [task.tags["origin"][0] for task in of.tasks.values()]
    assert origins == sorted(origins, reverse=True)
    assert len(of.tasks) == 150
    about: Any = of.about
    refused = {one["function"]: one["code"] for one in about["refused"]}
    factual = [written(function) for function in paper_functions() if kind_of(function) == "factual"]
    assert {refused[name] for name in factual if name in refused} == {"function-unavailable"}
    assert of.about["benchmark"] == "taskbench"
    assert build("taskbench", most=150, sequences=100).fingerprint == of.fingerprint
    assert build("taskbench", most=150, sequences=100, seed=1).fingerprint != of.fingerprint


def test_functions_are_built_from_the_command_line_and_written_as_published_files(taskloom, tmp_path):
    suite, files = tmp_path / "s", tmp_path / "files"
    names = ["antonyms[eng](0)", "map{synonyms[eng](0)}(filter{is{POS=noun}[eng](0)}(S))"]
    options = [part for option in ("sequences=120", "mark=#", "least=50") for part in ("--option", option)]
    built = taskloom("build", "functions", *names, *options, "-o", suite)
    assert (built.code, "2 tasks" in built.out) == (0, True)
    assert list(open_suite(suite).tasks) == names
    card = json.loads(taskloom("show", suite, "--card", "--json").out)
    assert card["spreads"]["levels"]["counts"] == {"atomic": 1, "sequence": 1}
    assert taskloom("show", suite, "--files", files).code == 0
    assert (files / "atomic" / names[0] / "test.jsonl").is_file()
    assert taskloom("build", "taskbench", files, "-o", tmp_path / "again").code == 0
    assert {*open_suite(tmp_path / "again").tasks} == {*names}


def test_a_task_is_shown_by_any_form_of_its_function(taskloom, tmp_path):
    name = "union(antonyms[eng](0),synonyms[eng](0))"
    assert taskloom("build", "functions", name, "-o", tmp_path / "s").code == 0
    shown = taskloom("show", tmp_path / "s", "union(synonyms[eng](0), antonyms[eng](0))", "--json")
    assert (shown.code, shown.out) == (0, taskloom("show", tmp_path / "s", name, "--json").out)
    other = taskloom("show", tmp_path / "s", "antonyms[eng](0)")
    assert (other.code, "unknown task" in other.err) == (2, True)


@pytest.mark.parametrize(
    ("function", "kind", "told"),
    [
        ("antonims[eng](0)", FunctionError, "did you mean antonyms"),
        ("antonyms[deu](0)", UsageError, "unknown language: 'deu'; known: eng, spa"),
        ("antonyms[spa](synonyms[eng](0))", FunctionError, "takes spa"),
        ("mother(" * 12 + "0" + ")" * 12, FunctionError, "must not be deeper than 8"),
        (
            "intersection(" + ",".join(f"{n}[eng](0)" for n in ("antonyms", "synonyms", "hyponyms")) + ")",
            UsageError,
            "too few samples",
        ),
        ("mother(0)", UsageError, "source not at hand: no source has wiki{mother(0)}"),
    ],
)
def test_what_makes_no_task_is_refused(function, kind, told):
    with pytest.raises(kind) as caught:
        build("functions", [function])
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"passing": 8}, "some must pass and some fail: 8 of 8"),
        ({"mark": "# "}, "must have no spaces"),
        ({"words": "madeup"}, "words"),
        ({"nonsense": 1}, "nonsense"),
    ],
)
def test_options_are_checked(options, told):
    with pytest.raises(UsageError) as caught:
        build("functions", ["antonyms[eng](0)"], **options)
    assert told in str(caught.value)


def test_functions_must_be_named():
    assert takes_several("functions")
    assert not takes_several("taskbench")
    with pytest.raises(UsageError, match="SOURCE is missing: functions, such as"):
        build("functions")


def test_functions_that_are_recommended_are_those_the_documents_build():
    with pytest.raises(UsageError) as caught:
        build("functions")
    recommended = re.findall("'([^']+)'", str(caught.value))
    document = Path(__file__).parents[3] / "docs" / "functions.md"
    line = next(line for line in document.read_text("utf-8").splitlines() if "taskloom build functions" in line)
    assert recommended[0] in shlex.split(line)
    assert "mother(creator(0))" not in line  # of the data that packages have, it has 88 samples
    assert [written(parse(text)) for text in recommended] == ["wiki{mother(father(0))}", "antonyms[eng](0)"]


def test_taskbench_has_permuted_versions_of_its_atoms_and_pairs_of_them():
    permuted = build("taskbench", which="permuted", facts="")
    names = [name for name in permuted.tasks if not name.startswith("permuted")]
    assert {*permuted.tasks} == {*names, *(f"permuted{{0}}({name})" for name in names)}
    assert {task.tags["level"] for name, task in permuted.tasks.items() if name in names} == {("atomic",)}
    pairs = build("taskbench", which="pairs", facts="")
    matched = [task for task in pairs.tasks.values() if task.output.kind == "ranking"]
    assert "match(synonyms[eng](0),antonyms[eng](0))" in pairs.tasks
    assert all(part in pairs.tasks for task in matched for part in task.tags["parts"])
    assert not any("is{" in name for name in pairs.tasks)  # predicates have no outputs to weigh


STUDY = """
name: small
suite:
  build: functions
  from: {functions}
  facts: ""
tasks: ["@level=atomic", "@composition=union", "@composition=match"]
baselines: false
metrics: [token-accuracy, mass@1, mass@2]
protocol: {{seeds: 1, shots: [8], query: 12, looks: [0, 2]}}
models: {{pupil: {{load: "fake:pupil"}}}}
learners:
  fine-tuning: {{tune: {{model: pupil, steps: 2}}}}
  in-context: {{in-context: {{model: pupil}}}}
views: [{{learning: {{by: kind}}}}, {{composition: {{paper: taskbench}}}}, {{distribution: {{paper: taskbench}}}}]
"""


def test_a_study_of_functions_is_one_file_and_one_command(taskloom, tmp_path):
    parts = ["antonyms[eng](0)", "synonyms[eng](0)", "random{0}[eng](0)"]
    unions = [f"union({a},{b})" for a, b in itertools.combinations(sorted(parts), 2)]
    functions = [*parts, *unions, "match(antonyms[eng](0),synonyms[eng](0))", "map{antonyms[eng](0)}(S)"]
    file = tmp_path / "small.yaml"
    file.write_text(STUDY.format(functions=json.dumps(functions)), encoding="utf-8")
    ran = taskloom("run", file, "-o", tmp_path / "run")
    assert ran.code == 0, ran.err
    assert "14 cells done, 0 failed" in ran.out + ran.err  # the map is not asked about
    for title in ("while learning, on support items", "Steps to memorise", "Adaptability by level", "32-shot"):
        assert title in ran.out
    assert "fine-tuning, random" in ran.out
