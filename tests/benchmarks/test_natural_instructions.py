"""Super-NaturalInstructions as a benchmark."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from taskloom.benchmarks import build
from taskloom.errors import StudyError, UsageError
from taskloom.studies.plan import plan
from taskloom.studies.study import load, parse
from taskloom.suites.check import check

BUILD = partial(build, "natural-instructions")


def test_our_own_tasks_are_the_default():
    made = BUILD()
    assert len(made.tasks) == 25
    assert [len(made.folds["default"][role]) for role in ("train", "test")] == [16, 6]
    assert [len(made.folds["xlingual"][role]) for role in ("train", "test")] == [16, 3]
    assert [fault for fault in check(made) if fault.is_error] == []


def test_only_a_folder_goes_with_it(tmp_path: Path):
    with pytest.raises(UsageError, match=r"unknown key 'fields' of benchmark .*; known: from, scored, test"):
        BUILD(fields=["title:text"])
    with pytest.raises(UsageError, match="no such folder"):
        BUILD(str(tmp_path / "none"))
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="a file, not a folder"):
        BUILD(str(tmp_path / "file"))


def test_doubles_and_tasks_without_a_language_are_told(tmp_path: Path):
    instances = [{"id": "a", "input": "one", "output": "x"}, {"input": "two", "output": "x"}]
    plain = {"Definition": "Do it.", "Positive Examples": [], "Negative Examples": []}
    again = [{"id": "a", "input": "two", "output": "x"}, {"input": "one", "output": "x"}]
    (tmp_path / "plain.json").write_text(json.dumps(plain | {"Instances": instances}))
    assert BUILD(str(tmp_path)).about["note"] == (
        "no splits: every task is a test task; tasks without a language, scored as English: 1"
    )
    spoken = plain | {"Input_language": ["English"], "Instances": [*instances, *again]}
    (tmp_path / "spoken.json").write_text(json.dumps(spoken))
    assert BUILD(str(tmp_path)).about["note"] == (
        "no splits: every task is a test task; instances with a duplicate id in their file: 1; "
        "instances with a duplicate input in their file: 2; "
        "tasks without a language, scored as English: 1"
    )


def test_tasks_without_a_file_are_counted_once(tmp_path: Path):
    task = {"Definition": "Do it.", "Positive Examples": [], "Negative Examples": [], "Input_language": ["English"]}
    (tmp_path / "one.json").write_text(json.dumps(task | {"Instances": [{"input": "one", "output": "x"}]}))
    (tmp_path / "splits" / "default").mkdir(parents=True)
    (tmp_path / "splits" / "default" / "train_tasks.txt").write_text("one.json\naway\naway.json\n")
    assert BUILD(str(tmp_path)).about["note"] == (
        "without a file, of split default: 1 of 2 train tasks ('away', known: one)"
    )


def test_the_demo_asks_the_test_tasks_in_three_encodings(tmp_path: Path):
    made = plan(load("natural-instructions-demo")[0], tmp_path)
    tasks = {cell.task for cell in made.cells}
    assert tasks == {*made.suite.tasks_with("test")}
    assert {cell.learner for cell in made.cells} == {
        "no-instruction", "definition", "definition+2", "copy-input", "copy-demonstration",
    }  # fmt: skip


@pytest.mark.parametrize(("wanted", "count"), [("@train", 16), ("@default/test", 6), ("@test", 9), ("task9001*", 1)])
def test_tasks_are_chosen_by_their_role_in_a_fold(tmp_path: Path, wanted: str, count: int):
    text = (
        "name: x\nsuite: {build: natural-instructions}\n"
        f'tasks: ["{wanted}"]\nprotocol: {{shots: [0], seeds: 1, query: all}}\nlearners: {{copy-input: {{}}}}'
    )
    made = plan(parse(text), tmp_path)
    assert len({cell.task for cell in made.cells}) == count


def test_a_role_that_no_fold_has_is_refused(tmp_path: Path):
    text = "name: x\nsuite: {build: natural-instructions}\ntasks: ['@other/test']\nlearners: {copy-input: {}}"
    with pytest.raises(StudyError, match="folds of the suite: default, xlingual: '@other/test'"):
        plan(parse(text), tmp_path)


def test_tasks_and_categories_can_be_held_out_and_what_leaks_is_left_out():
    made = BUILD(test=("Title Generation", "task9001_*"))
    (roles,) = made.folds.values()
    titles = [name for name, task in made.tasks.items() if "Title Generation" in task.tags["category"]]
    assert {*roles["test"]} == {*titles, *(name for name in made.tasks if name.startswith("task9001_"))}
    assert {*roles["test"]}.isdisjoint(roles["train"])
    assert len(made.tasks) == sum(map(len, roles.values()))
    assert str(made.about["leakage"]).startswith("['held-out: ")
    with pytest.raises(
        UsageError, match=r"--test matches no task and no category: 'Titel Generation' .did you mean Title"
    ):
        BUILD(test=("Titel Generation",))
    with pytest.raises(UsageError, match="must not hold out all tasks: 25"):
        BUILD(test=("*",))
    with pytest.raises(UsageError, match="unknown key 'test' of benchmark 'quickstart'"):
        build("quickstart", test=("*",))


def test_a_name_in_a_list_that_is_misspelt_is_told_with_the_nearest_and_so_is_a_fold_without_training(tmp_path: Path):
    plain = {"Definition": "Do it.", "Positive Examples": [], "Negative Examples": [], "Source": ["mine"]}
    (tmp_path / "splits" / "default").mkdir(parents=True)
    for name in ("task1_moods", "task2_titles"):
        instances = [{"id": f"{name}-{n}", "input": f"{name} {n}", "output": "x"} for n in range(3)]
        (tmp_path / f"{name}.json").write_text(json.dumps(plain | {"Instances": instances}))
    (tmp_path / "splits" / "default" / "train_tasks.txt").write_text("task1_mods\ntask1_moods\n")
    (tmp_path / "splits" / "default" / "test_tasks.txt").write_text("task2_titles\n")
    made = BUILD(str(tmp_path))
    assert "1 of 2 train tasks ('task1_mods', did you mean task1_moods" in str(made.about["note"])
    assert "split default has no task to train on: all 1 leak" in str(made.about["note"])
