"""A contributor's check of task files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from taskloom.suites.check import CODES
from taskloom.suites.contributed import check, known_names


def instances(count: int = 30) -> list[dict[str, Any]]:
    return [{"id": f"t-{n}", "input": f"Line {n}.", "output": ["yes" if n % 2 else "no"]} for n in range(count)]


def content(**changed: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {
        "Definition": ["Say yes or no."],
        "Positive Examples": [{"input": "So?", "output": "yes", "explanation": "It is."}],
        "Negative Examples": [],
        "Instances": instances(),
    }
    return usual | changed


@pytest.fixture
def found(tmp_path: Path) -> Callable[..., list[tuple[str, str, str]]]:
    def checked(**changed: Any) -> list[tuple[str, str, str]]:
        (tmp_path / "one.json").write_text(json.dumps(content(**changed)), encoding="utf-8")
        return [(fault.code, fault.place, fault.message) for fault in check(tmp_path)]

    return checked


def test_a_good_file_has_no_fault(found):
    assert found() == []


@pytest.mark.parametrize("count", [25, 6_501])
def test_too_few_and_too_many_instances(found, count: int):
    assert [(code, place) for code, place, _ in found(Instances=instances(count))] == [("E402", "one.json: Instances")]


def test_doubled_inputs_and_ids_are_named_by_index(found):
    doubled = [*instances(), {"id": "t-3", "input": "Line 4.", "output": ["no"]}]
    assert found(Instances=doubled) == [
        ("E403", "one.json: Instances[30].input", "the same as Instances[4].input"),
        ("E403", "one.json: Instances[30].id", "the same as Instances[3].id"),
    ]


def test_empty_outputs_are_named_by_index(found):
    some = [*instances(), {"id": "x", "input": "y", "output": ["no", " "]}]
    assert found(Instances=some) == [("E404", "one.json: Instances[30].output[1]", "empty")]


def test_imbalanced_labels_are_a_warning(found):
    some = [instance | {"output": ["yes" if n else "no"]} for n, instance in enumerate(instances())]
    ((code, place, told),) = found(Instances=some)
    assert (code, place) == ("W401", "one.json: Instances")
    assert told.startswith("normalised entropy 0.21")


def test_a_positive_example_among_the_instances(found):
    some = [{"input": "Line 7.", "output": "yes", "explanation": ""}]
    assert found(**{"Positive Examples": some}) == [
        ("E405", "one.json: Positive Examples[0].input", "stands in Instances[7] too")
    ]


def test_unknown_names_are_named_by_field_and_index_with_the_nearest(found):
    named = {
        "Categories": ["Textual Entailment", "Textual Entailement"],
        "Domains": ["news"],
        "Input_language": ["Mandarin Chinese", "Chinese"],
        "Output_language": ["Klingon"],
        "Instruction_language": [3],
    }
    few = f"known: {', '.join(known_names()['languages'][:12])} and 48 more"
    assert found(**named) == [
        ("W403", "one.json: Categories[1]", "not known: 'Textual Entailement'; did you mean Textual Entailment?"),
        ("W403", "one.json: Domains[0]", "not known: 'news'; did you mean News?"),
        ("W403", "one.json: Input_language[0]", "not known: 'Mandarin Chinese'; did you mean Chinese?"),
        ("W403", "one.json: Output_language[0]", f"not known: 'Klingon'; {few}"),
        ("W403", "one.json: Instruction_language[0]", f"not known: 3; {few}"),
    ]


def test_the_released_names_are_known(found):
    names = known_names()
    assert {kind: len(listed) for kind, listed in names.items()} == {"categories": 76, "domains": 130, "languages": 60}
    assert all(list(listed) == sorted(set(listed)) for listed in names.values())
    languages = {f"{part}_language": names["languages"] for part in ("Input", "Output", "Instruction")}
    assert found(Categories=names["categories"], Domains=names["domains"], **languages) == []


def test_names_that_are_no_list_are_one_fault_each(found):
    assert [code for code, *_ in found(Categories="Misc", Domains=None)] == ["E401", "E401"]


@pytest.mark.parametrize("name", ["superni", "superni_xlingual"])
def test_names_of_the_real_files_are_known(real_data: Path, name: str):
    assert [fault for fault in check(real_data / name) if fault.code == "W403"] == []


def test_all_faults_come_at_once_and_their_codes_are_listed(tmp_path: Path):
    bad = content(Definition=3, Instances=[{"input": 1, "output": ""}])
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "a.json").write_text(json.dumps(bad))
    (tmp_path / "tasks" / "b.json").write_text("{")
    (tmp_path / "tasks" / "c.json").write_text(json.dumps(content()))
    (tmp_path / "splits" / "default").mkdir(parents=True)
    (tmp_path / "splits" / "default" / "train_tasks.txt").write_text("a\nb\n")
    (tmp_path / "splits" / "default" / "test_tasks.txt").write_text("b\n")
    faults = list(check(tmp_path))
    assert {fault.code for fault in faults} == {"E401", "E402", "E404", "E406", "W402"}
    assert {fault.code for fault in faults} <= CODES.keys()


def test_the_command_ends_with_1_where_there_are_faults(taskloom, tmp_path: Path):
    path = tmp_path / "one.json"
    path.write_text(json.dumps(content(Instances=instances(3))))
    ran = taskloom("check", path)
    assert (ran.code, "E402" in ran.out) == (1, True)
    path.write_text(json.dumps(content()))
    assert taskloom("check", path).code == 0
    assert json.loads(taskloom("check", tmp_path, "--json").out)["faults"] == []


def test_our_own_tasks_keep_to_the_rules(taskloom):
    import taskloom as package

    assert list(check(Path(package.__file__).parent / "data" / "instructions")) == []
