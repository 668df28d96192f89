from __future__ import annotations

from pathlib import Path

import pytest

from taskloom.errors import StudyError, UsageError
from taskloom.studies.backlog import Needs
from taskloom.studies.plan import plan
from taskloom.studies.resources import Resources, bytes_of
from taskloom.studies.study import load, parse
from taskloom.studies.yaml_writer import written

STUDY = """
name: small
suite: suite
baselines: false
tasks: ["abstract->category"]
protocol: {seeds: 1, shots: [1], query: 4}
models:
  taught: {train: pupil, tasks: ["title->*"], resources: {gpu: 1, memory: 2GB}}
  pupil: {load: "fake:pupil", resources: {cpu: 3}}
learners:
  majority: {}
  linear: {tfidf-linear: {}, resources: {cpu: 2}}
  taught: {in-context: {model: taught}, resources: {memory: 1GB}}
"""
PLAIN = STUDY.replace(", resources: {gpu: 1, memory: 2GB}", "").replace(", resources: {cpu: 3}", "")
PLAIN = PLAIN.replace(", resources: {cpu: 2}", "").replace(", resources: {memory: 1GB}", "")


def write(folder: Path, suite: Path, text: str) -> Path:
    if not (folder / "suite").exists():
        (folder / "suite").symlink_to(suite)
    (folder / "study.yaml").write_text(text)
    return folder / "study.yaml"


def test_a_cell_takes_the_most_of_what_its_learner_and_its_models_declare(tmp_path: Path, papers: Path):
    made = plan(load(str(write(tmp_path, papers, STUDY)))[0], tmp_path)
    needs = Needs(made.study, made.learners, made.models)
    found = {(cell.kind, cell.learner): needs.resources(cell) for cell in made.to_run}
    assert found == {
        ("adapt", "majority"): Resources(),
        ("adapt", "linear"): Resources(cpu=2),
        ("train", "taught"): Resources(cpu=3, gpu=1, memory=2_000_000_000),
        ("adapt", "taught"): Resources(cpu=3, gpu=1, memory=2_000_000_000),
    }


def test_resources_are_no_part_of_a_cells_name(tmp_path: Path, papers: Path):
    cells = [
        [cell.id for cell in plan(load(str(write(tmp_path, papers, text)))[0], tmp_path).cells]
        for text in (STUDY, PLAIN)
    ]
    assert cells[0] == cells[1]


def test_a_study_with_resources_is_written_as_it_was_read():
    study = parse(STUDY)
    assert parse(written(study)).learners == study.learners
    assert parse(written(study)).models["taught"]["resources"] == {"gpu": 1, "memory": "2GB"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{gpus: 1}", "unknown key 'gpus' of resources"),
        ("{memory: 2 apples}", "memory must be a number of bytes, or one with a unit such as 2GB"),
        ("{cpu: many}", "cpu must be a number: 'many'"),
        ("{cpu: 0}", "cpu must be a number from 0.01"),
        ("{gpu: 1.5}", "gpu must be a whole number, or less than 1: 1.5"),
        ("[gpu]", "resources must be a mapping such as"),
        ("{}", "resources must be a mapping such as"),
    ],
)
@pytest.mark.parametrize("place", ["{cpu: 3}", "{cpu: 2}"])
def test_what_can_not_be_a_resource_is_refused_with_its_place(text: str, told: str, place: str):
    with pytest.raises(StudyError, match=r"study:\d+:\d+: ") as error:
        parse(STUDY.replace(place, text))
    assert told in str(error.value)


@pytest.mark.parametrize("given", ["", "GB", "-1GB", "1 PB", True])
def test_a_size_is_a_number_with_a_unit(given: str | bool):
    with pytest.raises(UsageError):
        bytes_of(given)


def test_a_node_has_room_for_what_it_has():
    has = {"cpu": 2.0, "gpu": 0.5, "memory": 1e9}
    assert Resources(cpu=2, gpu=0.5, memory=10**9).fits(has)
    assert not Resources(gpu=1).fits(has)
    assert not Resources(memory=2 * 10**9).fits(has)
    assert str(Resources(cpu=0.5, gpu=1, memory=2 * 10**9)) == "0.5 CPU, 1 GPU, 2 GB memory"
    assert str(Resources(memory=9 * 10**12)) == "1 CPU, 9 TB memory"
