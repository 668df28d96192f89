"""Task files of Super-NaturalInstructions: read, made into suites, written back."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from taskloom.core import Folds, Shown, Suite
from taskloom.errors import SourceError, SuiteError
from taskloom.ids import Json
from taskloom.sources import task_files
from taskloom.suites import instructions
from taskloom.suites.leaks import without_leaks
from taskloom.suites.store import open_suite
from taskloom.suites.store import write as store


def content(**changed: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "Contributors": ["us"],
        "Source": ["made-up"],
        "URL": ["https://example.org"],
        "Categories": ["Sentiment Analysis"],
        "Reasoning": [],
        "Definition": ["Say whether the sentence is glad or sad."],
        "Input_language": ["English"],
        "Output_language": ["English"],
        "Instruction_language": ["English"],
        "Domains": ["Reviews"],
        "Positive Examples": [{"input": "What a day!", "output": "glad", "explanation": "It sounds so."}],
        "Negative Examples": [{"input": "Alas.", "output": "glad", "explanation": "It is sad."}],
        "Instances": [
            {"id": f"t-{n}", "input": f"Line {n}.", "output": ["glad" if n % 2 else "sad"]} for n in range(130)
        ],
        "Instance License": ["Apache-2.0"],
    }
    return {key: value for key, value in (made | changed).items() if value is not None}


def folder(at: Path, **files: dict[str, Any]) -> Path:
    (at / "tasks").mkdir(parents=True)
    for name, values in files.items():
        (at / "tasks" / f"{name}.json").write_text(json.dumps(values), encoding="utf-8")
    return at


def splits(at: Path, track: str, **names: str) -> None:
    (at / "splits" / track).mkdir(parents=True)
    for split, text in names.items():
        (at / "splits" / track / f"{split}_tasks.txt").write_text(text)


def test_a_file_is_a_task_with_its_examples_and_tags(tmp_path: Path):
    files, folds = task_files.read(folder(tmp_path, one=content()))
    made = instructions.suite(files, folds, id="s")
    task = made.tasks["one"]
    assert task.instruction == "Say whether the sentence is glad or sad."
    assert task.examples[0] == Shown({"input": "What a day!"}, "glad", "It sounds so.")
    assert task.examples[1].right is False
    assert (task.tags["category"], task.tags["source"]) == (("Sentiment Analysis",), ("made-up",))
    assert {name: len(pool) for name, pool in made.pools["one"].items()} == {"all": 130}


def test_of_a_test_task_the_first_hundred_are_scored(tmp_path: Path):
    at = folder(tmp_path, one=content(), two=content(Instances=content()["Instances"][:30]), three=content())
    splits(at, "default", test="one\ntwo\nelsewhere\n", train="three\n")
    files, found = task_files.read(at)
    made = instructions.suite(files, found, id="s")
    assert made.folds == {"default": {"train": ("three",), "test": ("one", "two")}}
    sizes = {task: {name: len(pool) for name, pool in pools.items()} for task, pools in made.pools.items()}
    assert sizes == {"one": {"train": 30, "test": 100}, "two": {"test": 30}, "three": {"all": 130}}
    assert made.pools["one"]["test"].take([0, 99])[1].item.id == "t-99"


def test_tasks_in_other_languages_have_the_cross_lingual_score(tmp_path: Path):
    files, _ = task_files.read(folder(tmp_path, one=content(Output_language=["Spanish"]), two=content()))
    first, second = map(instructions.task, files)
    assert first.metrics[0] == "rouge-l:cross-lingual"
    assert second.metrics[0] == "rouge-l:published"


ODD = [
    {},
    {"Definition": "A plain text."},
    {"Definition": ["Two", "parts"]},
    {"URL": [float("nan")]},
    {"_note": "a key of its own", "Reasoning": None},
    {"Instance License": None},
    {"Instances": [{"id": "a", "input": "x", "output": "y"}, {"input": "z", "output": ["", "w"], "more": 1}]},
    {"Positive Examples": [{"output": "glad", "input": "Order.", "explanation": ""}]},
    {
        "Positive Examples": [{"input": "List.", "output": ["glad", "merry"], "explanation": ""}],
        "Negative Examples": [],
    },
    {"Instances": [{"id": "a", "input": "没有空格 🌳", "output": ["\u2028"]}]},
]


@pytest.mark.parametrize("changed", ODD, ids=lambda changed: ", ".join(changed) or "usual")
def test_what_was_read_is_written_back_as_it_was(changed: dict[str, Any], tmp_path: Path):
    files, folds = task_files.read(folder(tmp_path / "from", one=content(**changed)))
    store(instructions.suite(files, folds, id="s"), tmp_path / "suite")
    instructions.write(open_suite(tmp_path / "suite"), tmp_path / "to")
    again = json.loads((tmp_path / "to" / "tasks" / "one.json").read_text(encoding="utf-8"))
    assert json.dumps(again) == json.dumps(content(**changed))


def test_splits_are_written_back_too(tmp_path: Path):
    at = folder(tmp_path / "from", one=content(), two=content())
    splits(at, "default", test="one\nelsewhere\n", train="two\n", excluded="neither\n")
    splits(at, "empty", test="nowhere\n")
    files, found = task_files.read(at)
    store(without_leaks(instructions.suite(files, found, id="s")), tmp_path / "suite")
    made = open_suite(tmp_path / "suite")
    assert made.folds == {"default": {"train": (), "test": ("one",), "excluded": ("two",)}}  # both of one source
    instructions.write(made, tmp_path / "to")
    lists = sorted(path.relative_to(at) for path in (at / "splits").rglob("*.txt"))
    assert len(lists) == 4
    assert [(tmp_path / "to" / path).read_bytes() for path in lists] == [(at / path).read_bytes() for path in lists]


def test_entries_of_lists_may_have_a_mark_an_ending_or_come_twice_and_are_written_back_as_they_stood(tmp_path: Path):
    at = folder(tmp_path / "from", one=content(), two=content(), three=content())
    splits(at, "default", test="\ufeffone\nfar.json\n", train="two.json\nthree\nthree\naway\n")
    made = instructions.suite(*task_files.read(at), id="s")
    assert made.folds == {"default": {"train": ("two", "three"), "test": ("one",)}}
    store(made, tmp_path / "suite")
    instructions.write(open_suite(tmp_path / "suite"), tmp_path / "to")
    for name in ("test_tasks.txt", "train_tasks.txt"):
        path = Path("splits") / "default" / name
        assert (tmp_path / "to" / path).read_bytes() == (at / path).read_bytes()
    edited = replace(made, folds={"default": {"train": ("one", "three"), "test": ("two",)}})
    assert written(edited, tmp_path / "edited")["default"] == {
        "train": ["three", "three", "away", "one"],
        "test": ["far.json", "two"],
    }


def test_folds_that_were_not_read_are_written_as_splits(tmp_path: Path):
    files, found = task_files.read(folder(tmp_path / "from", one=content(), two=content()))
    made = replace(instructions.suite(files, found, id="s"), folds={"mine": {"train": ("two",), "test": ("one",)}})
    instructions.write(made, tmp_path / "to")
    assert task_files.read(tmp_path / "to")[1] == {"mine": {"train": ["two"], "test": ["one"]}}


def listed(at: Path) -> dict[str, dict[str, list[str]]]:
    found = task_files.splits(at, task_files.FileFaults())
    return {track: {name: list(names) for name, names in lists.items()} for track, lists in found.items()}


def written(made: Suite, at: Path) -> dict[str, dict[str, list[str]]]:
    instructions.write(made, at)
    return listed(at)


def three_tasks(at: Path) -> Suite:
    of = folder(at, one=content(), two=content(), three=content())
    splits(of, "default", train="away\ntwo\none\n", test="three\nfar\n", excluded="never\n")
    splits(of, "other", train="one\n", test="two\n")
    splits(of, "elsewhere", train="away\n", test="far\n", excluded="one\n")
    return instructions.suite(*task_files.read(of), id="s")


def test_edited_folds_decide_for_the_tasks_at_hand(tmp_path: Path):
    made = three_tasks(tmp_path / "from")
    folds: Folds = {"default": {"train": ("three", "two"), "test": ("one",)}, "mine": {"train": ("one",)}}
    assert written(replace(made, folds=folds), tmp_path / "to") == {
        "default": {"train": ["away", "two", "three"], "test": ["far", "one"], "excluded": ["never"]},
        "elsewhere": {"train": ["away"], "test": ["far"], "excluded": ["one"]},  # none of its tasks is at hand
        "mine": {"train": ["one"]},
    }  # and the track "other" was taken away


def test_an_excluded_task_that_was_given_a_role_is_excluded_no_more(tmp_path: Path):
    at = folder(tmp_path / "from", one=content(), two=content(), three=content())
    splits(at, "default", train="one\n", excluded="three\ntwo\none\n")
    made = instructions.suite(*task_files.read(at), id="s")
    assert written(made, tmp_path / "as-read")["default"] == listed(at)["default"]
    edited = replace(made, folds={"default": {"train": ("one",), "test": ("two",)}})
    assert written(edited, tmp_path / "edited")["default"] == {
        "train": ["one"],
        "test": ["two"],
        "excluded": ["three", "one"],
    }


ODD_NAMES = ["../../../escaped", "..", ".", "", "a/b", "a\\b", "C:a", "a..b", "a\nb", "a\0b"]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_tracks_that_lead_out_of_the_folder_are_refused_before_anything_is_written(name: str, tmp_path: Path):
    made = instructions.suite([], {name: {"train": ["away"]}}, id="s")
    for odd in (made, replace(made, about={}, folds={name: {"train": ("away",)}})):
        with pytest.raises(SuiteError, match="can't be names of files") as refused:
            instructions.write(odd, tmp_path / "a" / "b" / "c" / "to")
        assert repr(name) in str(refused.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ODD_NAMES)
def test_tasks_that_lead_out_of_the_folder_are_refused_too(name: str, tmp_path: Path):
    made = instructions.suite([task_files.TaskFile(name, content())], {}, id="s")
    with pytest.raises(SuiteError, match="can't be names of files") as refused:
        instructions.write(made, tmp_path / "to")
    assert repr(name) in str(refused.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        ({"default": {"../../train": ["a"]}}, "must be train, dev, test, excluded: '../../train'"),
        ({"default": {"train": ["a b"]}}, "names of files: 'a b'"),
        ({"default": {"train": "a"}}, "must be lists of names"),
        ({"default": {"train": [1]}}, "must be lists of names"),
        ({"default": ["train"]}, "must be lists of names"),
        (["default"], "must be lists of names"),
    ],
)
def test_kept_splits_that_are_none_are_refused(kept: Json, told: str, tmp_path: Path):
    made = Suite(id="s", tasks={}, pools={}, about={instructions.KEPT_SPLITS: kept})
    with pytest.raises(SuiteError, match=told):
        instructions.write(made, tmp_path / "to")
    assert not list(tmp_path.iterdir())


def test_the_real_splits_are_written_back_byte_by_byte_though_leaks_were_left_out(real_data: Path, tmp_path: Path):
    at = real_data / "superni"
    store(without_leaks(instructions.suite(*task_files.read(at), id="s")), tmp_path / "suite")
    made = open_suite(tmp_path / "suite")
    instructions.write(made, tmp_path / "to")
    lists = sorted(path.relative_to(at) for path in (at / "splits").rglob("*.txt"))
    assert (len(made.folds["default"]["excluded"]), len(lists)) == (4, 4)
    assert [(tmp_path / "to" / path).read_bytes() for path in lists] == [(at / path).read_bytes() for path in lists]


@pytest.mark.parametrize("name", ["superni", "superni_xlingual"])
def test_the_real_files_are_written_back_as_they_were(real_data: Path, name: str, tmp_path: Path):
    files, folds = task_files.read(real_data / name)
    store(instructions.suite(files, folds, id="s"), tmp_path / "suite")
    made = open_suite(tmp_path / "suite")
    different = [f.name for f in files if json.dumps(instructions.content_of(made, f.name)) != json.dumps(f.content)]
    assert len(files) == {"superni": 88, "superni_xlingual": 17}[name]
    assert different == []


def test_every_fault_is_named_at_once_by_file_field_and_index(tmp_path: Path):
    odd = [{"id": 1, "input": 2, "output": 3}, "x", {"input": "y", "output": []}, {"output": ["y", None]}]
    at = folder(
        tmp_path,
        a=content(Definition=None, Source="text"),
        b=content(Definition=[" "], Instances=odd),
        c=content(**{"Positive Examples": [{"input": "x"}], "Negative Examples": {}}),
        g=content(**{"Positive Examples": [{"input": "x", "output": [], "explanation": None}]}),
        j=content(Definition=["half \ud800"], Contributors=["\udc00"]),
    )
    (at / "tasks" / "d.json").write_text("{")
    (at / "tasks" / "e.json").write_bytes(b"\xff\xfe\x00")
    (at / "tasks" / "f.json").write_text("[1]")
    (at / "tasks" / "h.json").mkdir()
    (at / "tasks" / "i.json").symlink_to(at / "nowhere")
    (at / "splits" / "default" / "test_tasks.txt").mkdir(parents=True)
    (at / "splits" / "default" / "train_tasks.txt").write_bytes(b"one\ncaf\xe9\n")
    with pytest.raises(SourceError) as refused:
        task_files.read(at)
    told = "\n".join(refused.value.faults)
    for fault in [
        "a.json: Definition: missing",
        "a.json: Source: must be a list, not a text",
        "b.json: Definition: must be a text or a list of texts, and not empty",
        "b.json: Instances[0].input: must be a text, not a number",
        "b.json: Instances[0].id: must be a text, not a number",
        "b.json: Instances[0].output: must be a text, or a list of texts, not a number",
        "b.json: Instances[1]: must be an object, not a text",
        "b.json: Instances[2].output: must not be an empty list",
        "b.json: Instances[3].input: missing",
        "b.json: Instances[3].output: must be a text, or a list of texts, not a list with null",
        "c.json: Positive Examples[0].output: missing",
        "c.json: Positive Examples[0].explanation: missing",
        "c.json: Negative Examples: must be a list, not an object",
        "g.json: Positive Examples[0].output: must not be an empty list",
        "g.json: Positive Examples[0].explanation: must be a text, not null",
        "j.json: Definition[0]: invalid Unicode (a lone surrogate)",
        "j.json: Contributors[0]: invalid Unicode (a lone surrogate)",
        "d.json: invalid JSON",
        "e.json: not UTF-8 (invalid start byte at byte 0, line 1)",
        "f.json: a task file must be an object, not a list",
        "h.json: can't be read (Is a directory)",
        "i.json: can't be read (No such file or directory)",
        "splits/default/train_tasks.txt: not UTF-8 (invalid continuation byte at byte 7, line 2)",
        "splits/default/test_tasks.txt: can't be read (Is a directory)",
    ]:
        assert fault in told


def test_a_folder_without_task_files_is_refused(tmp_path: Path):
    with pytest.raises(SourceError, match="no task files"):
        task_files.read(tmp_path)


@pytest.mark.parametrize(
    "kept", [{"values": "{"}, {"keys": "3"}, {"Instances": '{"99999": {}}'}, {"values": "[" * 5000}, 3]
)
def test_what_is_kept_of_a_task_file_is_refused_where_it_is_damaged(tmp_path: Path, kept: Json):
    made = three_tasks(tmp_path)
    name = next(iter(made.tasks))
    with pytest.raises(SuiteError, match="not as a task of a task file is kept"):
        instructions.content_of(replace(made, about={**made.about, instructions.KEPT: {name: kept}}), name)


def test_a_suite_of_other_tasks_is_not_written_as_task_files(small_suite: Suite, tmp_path: Path):
    with pytest.raises(SuiteError):
        instructions.write(small_suite, tmp_path)
