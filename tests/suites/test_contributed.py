"""A contributor's check of task files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from taskloom.messages import Note
from taskloom.messages.faults import FAULTS
from taskloom.sources.task_files import KEYS, TAGS
from taskloom.suites.contributed import check, known_names
from taskloom.suites.faults import Fault


def instances(count: int = 30) -> list[dict[str, Any]]:
    return [{"id": f"t-{n}", "input": f"Line {n}.", "output": ["yes" if n % 2 else "no"]} for n in range(count)]


def content(**changed: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {
        "Contributors": ["us"],
        "Source": ["made-up"],
        "URL": ["https://example.org"],
        "Categories": ["Textual Entailment"],
        "Reasoning": [],
        "Definition": ["Say yes or no."],
        "Input_language": ["English"],
        "Output_language": ["English"],
        "Instruction_language": ["English"],
        "Domains": ["News"],
        "Positive Examples": [{"input": "So?", "output": "yes", "explanation": "It is."}],
        "Negative Examples": [{"input": "Is it?", "output": "", "explanation": "Nothing is said."}],
        "Instances": instances(),
        "Instance License": ["Apache-2.0"],
    }
    return usual | changed


@pytest.fixture
def found(tmp_path: Path) -> Callable[..., list[Fault]]:
    def checked(**changed: Any) -> list[Fault]:
        (tmp_path / "one.json").write_text(json.dumps(content(**changed)), encoding="utf-8")
        return list(check(tmp_path))

    return checked


def test_a_good_file_has_no_fault(found):
    assert found() == []


@pytest.mark.parametrize("count", [25, 6_501])
def test_too_few_and_too_many_instances(found, count: int):
    wanted = Fault.of("E402", "one.json: Instances", count=count, fewest=26, most=6_500)
    assert found(Instances=instances(count)) == [wanted]


def test_doubled_inputs_and_ids_are_named_by_index(found):
    doubled = [*instances(), {"id": "t-3", "input": "Line 4.", "output": ["no"]}]
    assert found(Instances=doubled) == [
        Fault.of("E403", "one.json: Instances[30].input", other="Instances[4].input"),
        Fault.of("E403", "one.json: Instances[30].id", other="Instances[3].id"),
    ]


def test_empty_outputs_are_named_by_index(found):
    some = [*instances(), {"id": "x", "input": "y", "output": ["no", " "]}]
    assert found(Instances=some) == [Fault.of("E404", "one.json: Instances[30].output[1]")]


def test_imbalanced_labels_are_a_warning(found):
    some = [instance | {"output": ["yes" if n else "no"]} for n, instance in enumerate(instances())]
    (fault,) = found(Instances=some)
    values = dict(fault.note.values)
    assert (fault.code, fault.place) == ("W401", "one.json: Instances")
    assert values.pop("entropy") == pytest.approx(0.2108, abs=1e-4)  # of 1 and 29 of 30
    assert values == {"wanted": 0.8, "label": "yes", "most": 29, "of": 30}


def test_a_positive_example_among_the_instances(found):
    some = [{"input": "Line 7.", "output": "yes", "explanation": ""}]
    assert found(**{"Positive Examples": some}) == [
        Fault.of("E405", "one.json: Positive Examples[0].input", other="Instances[7]")
    ]


def test_unknown_names_are_named_by_field_and_index_with_the_nearest(found):
    named = {
        "Categories": ["Textual Entailment", "Textual Entailement"],
        "Domains": ["news"],
        "Input_language": ["Mandarin Chinese", "Chinese"],
        "Output_language": ["Klingon"],
    }

    def unknown(place: str, name: str, *near: str) -> Fault:
        hint = Note.of("names-near", names=near) if near else known
        return Fault.of("W403", f"one.json: {place}", name=name, hint=hint)

    known = Note.of("names-known", names=sorted(known_names()["languages"]))
    assert found(**named) == [
        unknown("Categories[1]", "Textual Entailement", "Textual Entailment"),
        unknown("Domains[0]", "news", "News"),
        unknown("Input_language[0]", "Mandarin Chinese", "Chinese"),
        unknown("Output_language[0]", "Klingon"),
    ]
    assert str(found(Domains=["news"])[0].note) == "unknown: 'news'; did you mean News?"


def test_the_released_names_are_known(found):
    names = known_names()
    assert {kind: len(listed) for kind, listed in names.items()} == {"categories": 76, "domains": 130, "languages": 60}
    assert all(list(listed) == sorted(set(listed)) for listed in names.values())
    languages = {f"{part}_language": names["languages"] for part in ("Input", "Output", "Instruction")}
    assert found(Categories=names["categories"], Domains=names["domains"], **languages) == []


def test_names_that_are_no_list_are_one_fault_each(found):
    assert [fault.code for fault in found(Categories="Misc", Domains=None)] == ["E401", "E401"]


def test_values_that_are_no_texts_are_of_the_wrong_type(found):
    assert found(Domains=["News", 3, None], Contributors=[5]) == [
        Fault.of("E401-kind", "one.json: Contributors[0]", wanted="a text", kind="a number"),
        Fault.of("E401-kind", "one.json: Domains[1]", wanted="a text", kind="a number"),
        Fault.of("E401-kind", "one.json: Domains[2]", wanted="a text", kind="null"),
    ]


@pytest.mark.parametrize("key", [key for key in KEYS if key != "Instance License"])
def test_every_field_that_is_missing_is_named(tmp_path: Path, key: str):
    some = {name: value for name, value in content().items() if name != key}
    (tmp_path / "one.json").write_text(json.dumps(some))
    assert list(check(tmp_path)) == [Fault.of("E401-missing", f"one.json: {key}")]


def test_a_licence_that_is_missing_is_a_warning_for_some_released_files_have_none(tmp_path: Path):
    some = {name: value for name, value in content().items() if name != "Instance License"}
    (tmp_path / "one.json").write_text(json.dumps(some))
    assert list(check(tmp_path)) == [Fault.of("W407-missing", "one.json: Instance License")]


@pytest.mark.parametrize("key", [key for key in TAGS if key != "Reasoning"])
def test_empty_fields_are_a_warning(found, key: str):
    assert found(**{key: []}) == [Fault.of("W407-empty", f"one.json: {key}")]
    assert found(**{key: [" "]}) == [Fault.of("W407-empty", f"one.json: {key}[0]")]
    assert found(**{key: [float("nan")]}) == [Fault.of("W407-empty", f"one.json: {key}[0]")]


def test_broken_instances_are_counted_too(found):
    some = [*instances(18), 3, {"id": "x"}]
    assert [str(fault.note) for fault in found(Instances=some) if fault.code == "E402"] == [
        "must have 26 to 6,500 instances: 20"
    ]
    assert "E402" not in [fault.code for fault in found(Instances=[*instances(25), 3])]


def test_blank_inputs_are_named_by_index(found):
    some = [*instances(), {"id": "x", "input": " \n", "output": ["no"]}]
    assert found(Instances=some) == [Fault.of("E404", "one.json: Instances[30].input")]


def test_instances_without_id_are_one_warning(found):
    some = [*instances(), {"input": "x", "output": ["no"]}, {"id": "", "input": "y", "output": ["yes"]}]
    assert found(Instances=some) == [Fault.of("W404", "one.json: Instances", count=2, first="Instances[30]")]
    (one,) = found(Instances=[*instances(), {"id": "", "input": "y", "output": ["yes"]}])
    assert str(one.note) == "1 instance without an id, which is generated; the first: Instances[30]"


def test_positive_examples_that_are_none_or_lists_are_warnings(found):
    assert found(**{"Positive Examples": []}) == [Fault.of("W406", "one.json: Positive Examples")]
    some = [{"input": "So?", "output": ["yes", "no"], "explanation": ""}]
    assert found(**{"Positive Examples": some}) == [Fault.of("W405", "one.json: Positive Examples[0].output", count=2)]


def test_no_negative_example_is_a_warning(found):
    assert found(**{"Negative Examples": []}) == [Fault.of("W406", "one.json: Negative Examples")]


@pytest.mark.parametrize("output", ["", " ", [""]])
def test_a_positive_example_without_output_is_a_fault(found, output: str | list[str]):
    faults = found(**{"Positive Examples": [{"input": "So?", "output": output, "explanation": ""}]})
    assert faults[0] == Fault.of("E404", "one.json: Positive Examples[0].output")


def test_examples_without_input_are_faults(found):
    some = [{"input": "", "output": "no", "explanation": ""}]
    assert found(**{"Negative Examples": some}) == [Fault.of("E404", "one.json: Negative Examples[0].input")]


def test_what_is_no_file_is_a_fault_of_its_own_and_the_others_are_checked(tmp_path: Path):
    (tmp_path / "a.json").mkdir()
    (tmp_path / "b.json").symlink_to(tmp_path / "nowhere")
    (tmp_path / "c.json").write_text(json.dumps(content(Source=[])))
    assert list(check(tmp_path)) == [
        Fault.of("E401-unreadable", "a.json", reason="Is a directory"),
        Fault.of("E401-unreadable", "b.json", reason="No such file or directory"),
        Fault.of("W407-empty", "c.json: Source"),
    ]


def test_lists_that_are_not_utf_8_and_names_that_stand_twice_in_one(tmp_path: Path):
    (tmp_path / "one.json").write_text(json.dumps(content()))
    (tmp_path / "splits" / "default").mkdir(parents=True)
    (tmp_path / "splits" / "default" / "train_tasks.txt").write_bytes(b"away\ncaf\xe9\n")
    (tmp_path / "splits" / "default" / "test_tasks.txt").write_text("\ufeffone.json\nother\none\n", encoding="utf-8")
    reason = "invalid continuation byte"
    assert list(check(tmp_path)) == [
        Fault.of("E401-encoding", "splits/default/train_tasks.txt", reason=reason, byte=8, line=2),
        Fault.of("E406-twice", "splits/default/test_tasks.txt: [2]", task="one", first=0),
    ]


def test_keys_that_stand_twice_are_named_with_their_place(tmp_path: Path):
    text = json.dumps(content()).replace('"id": "t-2",', '"id": "t-2", "id": "t-2",')
    (tmp_path / "one.json").write_text(text[:-1] + ', "Reasoning": []}')
    assert list(check(tmp_path)) == [
        Fault.of("E407", "one.json: Instances[2].id"),
        Fault.of("E407", "one.json: Reasoning"),
    ]


def test_the_same_ids_in_several_files_are_one_fault_for_each_pair(tmp_path: Path):
    for name, first in (("a", 0), ("b", 40), ("c", 28)):
        some = [one | {"id": f"t-{first + n}"} for n, one in enumerate(instances())]
        (tmp_path / f"{name}.json").write_text(json.dumps(content(Instances=some)))
    one, other = check(tmp_path)
    assert one == Fault.of("E408-more", "c.json: Instances[0].id", other="a.json: Instances[28].id", more=1)
    assert other == Fault.of("E408-more", "c.json: Instances[12].id", other="b.json: Instances[0].id", more=17)
    assert str(one.note) == "duplicate of a.json: Instances[28].id; and 1 more id of that file"


def test_only_tasks_in_no_split_of_any_track_are_warned_of(tmp_path: Path):
    for place, name in enumerate("abc"):
        some = [one | {"id": f"{name}{n}"} for n, one in enumerate(instances())]
        (tmp_path / f"{name}.json").write_text(json.dumps(content(Instances=some)))
        if place < 2:
            (tmp_path / "splits" / f"track{place}").mkdir(parents=True)
            (tmp_path / "splits" / f"track{place}" / "test_tasks.txt").write_text(f"{name}\n")
    assert list(check(tmp_path)) == [Fault.of("W402", "splits", task="c")]


@pytest.mark.parametrize(("name", "faults"), [("superni", ["E404"]), ("superni_xlingual", [])])
def test_real_files_keep_to_the_rules_but_for_one_empty_output(real_data: Path, name: str, faults: list[str]):
    assert [fault.code for fault in check(real_data / name) if fault.is_error] == faults


def test_of_real_files_two_have_no_licence_and_three_no_address(real_data: Path):
    warnings = [fault for fault in check(real_data / "superni") if not fault.is_error]
    assert Counter((fault.code, fault.place.partition(": ")[2]) for fault in warnings) == {
        ("W407", "Instance License"): 2,
        ("W407", "URL[0]"): 3,
    }
    assert [fault for fault in check(real_data / "superni_xlingual") if not fault.is_error] == []


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
    assert {fault.code for fault in faults} == {"E401", "E402", "E404", "E406", "W402", "W404"}
    assert {fault.code for fault in faults} <= FAULTS.keys()


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


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        ({"Definition": ["\ud800"]}, "Definition[0]"),
        ({"Definition": "a \udfff b"}, "Definition"),
        ({"Contributors": ["us", "\udc00"]}, "Contributors[1]"),
        ({"Positive Examples": [{"input": "So?", "output": "yes", "explanation": "\ud800"}]},
         "Positive Examples[0].explanation"),
        ({"Instances": [*instances(), {"id": "x", "input": "y", "output": ["no", "\ud800"]}]},
         "Instances[30].output[1]"),
        ({"More": {"deep": [[{"\ud83d": 1}]]}}, "More.deep[0][0].\\ud83d"),
    ],
    ids=["definition", "text", "tag", "example", "instance", "key"],
)  # fmt: skip
def test_half_a_character_is_named_by_its_place(found, changed: dict[str, Any], place: str):
    assert found(**changed) == [Fault.of("E401-half", f"one.json: {place}")]


def test_both_halves_of_a_character_are_one(found):
    assert found(Definition=["\U0001f600"]) == []


def test_half_a_character_far_down_is_found(tmp_path: Path):
    deep = '{"a":' * 90 + r'"\ud800"' + "}" * 90
    (tmp_path / "one.json").write_text(json.dumps(content())[:-1] + f', "More": {deep}}}')
    assert [fault.note.code for fault in check(tmp_path)] == ["E401-half"]


def test_a_key_with_half_a_character_that_stands_twice_can_be_shown(tmp_path: Path, taskloom: Any):
    (tmp_path / "one.json").write_text(json.dumps(content())[:-1] + r', "\ud800": 1, "\ud800": 2}')
    told = taskloom("check", tmp_path)
    assert (told.code, [line.split("\t")[0] for line in told.out.splitlines()]) == (1, ["code", "E401", "E407"])


def test_a_file_whose_name_is_not_utf_8_is_refused(tmp_path: Path):
    try:
        (tmp_path / "caf\udce9.json").write_text(json.dumps(content()))
    except OSError:
        pytest.skip("no such names on this system")
    (fault,) = check(tmp_path)
    assert (fault.code, fault.place) == ("E401", r"caf\udce9.json")


def test_a_device_in_a_folder_of_task_files_is_not_read(tmp_path: Path):
    (tmp_path / "task1_x.json").symlink_to("/dev/zero")
    assert Fault.of("E401-unreadable", "task1_x.json", reason="not a regular file") in list(check(tmp_path))
