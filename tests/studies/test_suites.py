"""Suites that studies build: options in a file, and a key that says whether one must be built again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import taskloom
from taskloom.errors import SourceError, StudyError
from taskloom.studies.plan import plan
from taskloom.studies.study import Study, parse
from taskloom.studies.suites import build_key, built_suite, suite_in
from taskloom.studies.yaml_writer import written
from taskloom.suites.store import write

STUDY = """
name: s
suite: {build: fields, from: films.csv, %s}
protocol: {seeds: 1, shots: [1], query: 1}
learners: {nearest: {}}
"""
OPTIONS = "fields: [story:text, genre:label], columns: {story: plot}, where: {year: '2001'}, delimiter: ;"


@pytest.fixture
def films(tmp_path: Path) -> Path:
    (tmp_path / "films.csv").write_text("plot;genre;year\nA whale sings.;drama;2001\nA dog runs.;farce;2001\nX;y;1\n")
    return tmp_path


def study(films: Path, options: str = OPTIONS) -> Study:
    return parse(STUDY % options, "s.yaml", films)


def test_a_study_gives_options_to_its_benchmark_and_is_written_with_them(films: Path):
    made = study(films)
    assert (made.build, made.source) == ("fields", "films.csv")
    assert made.build_options["columns"] == {"story": "plot"}
    assert parse(written(made), folder=films) == made
    suite = built_suite(made)
    assert list(suite.tasks) == ["story->genre", "genre->story"]
    assert suite.about["dropped"] == [{"code": "row-filtered", "values": {"where": ["year=2001"]}, "count": 1}]


def test_a_study_python_and_the_command_line_build_the_same_suite(films: Path, taskloom):
    options = {"columns": {"story": "plot"}, "where": {"year": "2001"}, "delimiter": ";"}
    here = build(films, fields=["story:text", "genre:label"], **options)
    flags = ("--column", "story=plot", "--where", "year=2001", "--delimiter", ";", "-o", films / "out")
    ran = taskloom("build", "fields", films / "films.csv", "--field", "story:text", "--field", "genre:label", *flags)
    assert ran.code == 0
    assert here.fingerprint == built_suite(study(films)).fingerprint
    assert here.fingerprint in ran.out


def build(films: Path, **options: object):
    return taskloom.build("fields", str(films / "films.csv"), **options)


def test_faults_of_options_are_named_at_once_with_those_of_learners(films: Path, tmp_path: Path):
    wrong = "fields: [plot:texts], where: 7, on_error: stopp, id_colum: id"
    text = (STUDY % wrong).replace("nearest", "nearst")
    with pytest.raises(StudyError) as refused:
        plan(parse(text, "s.yaml", films), tmp_path)
    line = text.splitlines()[2]
    keys = [f"s.yaml:3:{line.index(written) + 1}" for written in ("[plot", "7", "stopp", "id_colum")]
    assert [fault.split(": ")[0] for fault in refused.value.faults] == [*keys, "s.yaml:5:12"]
    for told in ("unknown kind of field", "where must be a mapping", "must be stop or skip", "did you mean id_column"):
        assert told in str(refused.value)


@pytest.mark.parametrize(
    ("suite", "told"),
    [
        ("{build: quickstrat}", "did you mean quickstart"),
        ("{build: natural-instructions, fields: [a:text]}", "unknown key 'fields' of benchmark 'natural-instructions'"),
        ("{build: quickstart, source: x}", "unknown key 'source' of benchmark 'quickstart'"),
    ],
)
def test_a_benchmark_or_option_that_is_not_there_is_refused_by_place(tmp_path: Path, suite: str, told: str):
    text = f"name: s\nsuite: {suite}\nlearners: {{nearest: {{}}}}"
    with pytest.raises(StudyError, match=r"s\.yaml:2:\d+: ") as refused:
        plan(parse(text, "s.yaml"), tmp_path)
    assert told in str(refused.value)


def test_a_build_key_changes_with_options_and_sources_and_with_nothing_else(films: Path):
    key = build_key(study(films))
    assert build_key(study(films)) == key
    assert build_key(study(films, OPTIONS.replace("2001", "2002"))) != key
    (films / "other.csv").write_text("x")
    assert build_key(study(films)) == key
    os.utime(films / "films.csv", ns=(0, 0))
    assert build_key(study(films)) != key


def test_a_build_key_knows_data_by_its_hash_and_folders_by_their_files(tmp_path: Path):
    def key(suite: str) -> str:
        return build_key(parse(f"name: s\nsuite: {suite}\nlearners: {{nearest: {{}}}}", folder=tmp_path))

    (tmp_path / "tasks").mkdir()
    first = key("{build: natural-instructions, from: tasks}")
    (tmp_path / "tasks" / "t.json").write_text("{}")
    assert key("{build: natural-instructions, from: tasks}") != first
    assert key("{build: quickstart, from: data:papers}") != key("{build: quickstart, from: data:arxiv}")
    assert key("{build: fields, from: hub:a/b}") == key("{build: fields, from: hub:a/b}")


def test_a_suite_that_is_there_is_not_built_again_unless_what_it_is_built_from_has_changed(films: Path, tmp_path: Path):
    made, folder = study(films), tmp_path / "run" / "suite"
    first = suite_in(folder, made)
    (table := films / "films.csv").rename(films / "kept.csv")
    table.write_text((films / "kept.csv").read_text().replace("whale", "shark"))
    assert suite_in(folder, made).fingerprint != first.fingerprint
    before = [path.stat().st_mtime_ns for path in sorted(folder.iterdir())]
    assert suite_in(folder, made).fingerprint != first.fingerprint
    assert [path.stat().st_mtime_ns for path in sorted(folder.iterdir())] == before
    table.write_text("")
    with pytest.raises(SourceError):
        suite_in(folder, made)


def test_a_damaged_suite_and_one_that_took_its_place_are_built_again(films: Path, tmp_path: Path):
    made, folder = study(films), tmp_path / "run" / "suite"
    first = suite_in(folder, made).fingerprint
    write(built_suite(study(films, OPTIONS.replace("genre:label", "genre:text"))), folder, replace=True)
    assert suite_in(folder, made).fingerprint == first
    next(folder.glob("*.json")).write_text("{")
    assert suite_in(folder, made).fingerprint == first
