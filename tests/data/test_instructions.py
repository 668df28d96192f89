from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import taskloom
from taskloom.texts import overlaps

FOLDER = Path(taskloom.__file__).parent / "data" / "instructions"
PATHS = sorted((FOLDER / "tasks").iterdir())
KEYS = "Contributors,Source,URL,Categories,Reasoning,Definition,Input_language,Output_language,Instruction_language"
KEYS += ",Domains,Positive Examples,Negative Examples,Instances,Instance License"
EXACT = {"Contributors": ["taskloom"], "URL": ["https://example.org/taskloom"], "Reasoning": []}
CATEGORIES = {
    *("Answerability Classification", "Cause Effect Classification", "Coreference Resolution", "Data to Text"),
    *("Dialogue Act Recognition", "Grammar Error Correction", "Intent Identification", "Keyword Tagging"),
    *("Mathematics", "Named Entity Recognition", "Number Conversion", "Overlap Extraction", "Preposition Prediction"),
    *("Program Execution", "Question Rewriting", "Question Understanding", "Sentiment Analysis", "Spam Classification"),
    *("Text Categorization", "Textual Entailment", "Title Generation", "Translation", "Word Analogy"),
    *("Word Relation Classification", "Word Semantics"),
}
LANGUAGES = {  # the others are English
    **{"task9004": "Spanish", "task9012": "Chinese"},
    **{"task9023": "German", "task9024": "French", "task9025": "Italian"},
}
LABELS = {
    "task9002": {"rain", "snow", "wind", "heat"},
    "task9003": {"positive", "negative"},
    "task9004": {"saludo", "pregunta", "petición", "agradecimiento"},
    "task9006": {"yes", "no"},
    "task9010": {"entailment", "contradiction", "neutral"},
    "task9011": {"cause", "effect"},
    "task9013": {"animal", "plant", "tool", "clothing"},
    "task9015": {"person", "place", "time", "number"},
    "task9016": {"light", "music", "heating", "alarm"},
    "task9021": {"spam", "normal"},
    "task9022": {"in", "on", "at", "with"},
    "task9023": {"Ursache", "Folge"},
}


def read(path: Path) -> dict[str, Any]:
    task: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return task


def split(name: str, track: str) -> list[str]:
    return (FOLDER / "splits" / track / f"{name}_tasks.txt").read_text(encoding="utf-8").splitlines()


def side(name: str, key: str, track: str) -> set[str]:
    return {value for task in split(name, track) for value in read(FOLDER / "tasks" / f"{task}.json")[key]}


def texts(name: str, track: str) -> list[str]:
    tasks = [read(FOLDER / "tasks" / f"{task}.json") for task in split(name, track)]
    return [row["input"] for task in tasks for row in task["Instances"]]


def number(path: Path) -> str:
    return path.name.partition("_")[0]


each = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
classifying = pytest.mark.parametrize("path", [p for p in PATHS if number(p) in LABELS], ids=lambda path: path.stem)


@each
def test_a_file_is_small_and_laid_out_in_one_way(path: Path) -> None:
    written = path.read_bytes()
    assert len(written) < 40_000
    assert written.decode() == json.dumps(read(path), ensure_ascii=False, indent=4) + "\n"


@each
def test_a_task_has_all_keys_in_order_and_values_of_the_right_kind(path: Path) -> None:
    task = read(path)
    assert list(task) == KEYS.split(",")
    assert {key: task[key] for key in EXACT} == EXACT
    assert task["Instance License"] == ["Apache-2.0"]
    for key in ("Source", "Categories", "Definition", "Domains"):
        (value,) = task[key]
        assert value.strip() == value
        assert value
    assert task["Categories"][0] in CATEGORIES


@each
def test_a_definition_has_30_to_80_words(path: Path) -> None:
    assert 30 <= len(read(path)["Definition"][0].split()) <= 80


@each
def test_inputs_and_outputs_are_in_the_language_of_the_task(path: Path) -> None:
    task, language = read(path), LANGUAGES.get(number(path), "English")
    assert task["Input_language"] == task["Output_language"] == [language]
    assert task["Instruction_language"] in (["English"], [language])
    instances = [text for row in task["Instances"] for text in (row["input"], *row["output"])]
    assert all(any("\u4e00" <= letter <= "\u9fff" for letter in text) == (language == "Chinese") for text in instances)


@each
def test_examples_are_whole_and_wrong_outputs_are_not_right_ones(path: Path) -> None:
    task = read(path)
    positive, negative = task["Positive Examples"], task["Negative Examples"]
    assert 2 <= len(positive) <= 4
    assert len(negative) == 2
    for row in positive + negative:
        assert list(row) == ["input", "output", "explanation"]
        assert all(text.strip() == text != "" for text in row.values())
    right = {(row["input"], row["output"]) for row in positive}
    assert right.isdisjoint((row["input"], row["output"]) for row in negative)


@each
def test_30_to_60_instances_have_outputs_that_are_filled_and_differ(path: Path) -> None:
    instances = read(path)["Instances"]
    assert 30 <= len(instances) <= 60
    for row in instances:
        assert list(row) == ["id", "input", "output"]
        assert all(text.strip() == text != "" for text in (row["input"], *row["output"]))
        assert len(row["output"]) == len(set(row["output"])) > 0


@each
def test_inputs_are_unique_and_ids_are_made_of_them(path: Path) -> None:
    instances = read(path)["Instances"]
    assert len({row["input"].lower() for row in instances}) == len(instances)
    for row in instances:
        assert row["id"] == f"{number(path)}-{hashlib.blake2b(row['input'].encode(), digest_size=16).hexdigest()}"


@each
def test_no_example_is_among_the_instances(path: Path) -> None:
    task = read(path)
    examples = {row["input"].lower() for row in task["Positive Examples"] + task["Negative Examples"]}
    assert examples.isdisjoint(row["input"].lower() for row in task["Instances"])


@classifying
def test_labels_are_those_that_the_definition_quotes(path: Path) -> None:
    task, labels = read(path), LABELS[number(path)]
    assert all(f'"{label}"' in task["Definition"][0] for label in labels)
    assert {label for row in task["Instances"] for label in row["output"]} == labels
    assert {row["output"] for row in task["Positive Examples"]} <= labels


@classifying
def test_labels_are_balanced(path: Path) -> None:
    instances = read(path)["Instances"]
    counts = Counter(row["output"][0] for row in instances)
    shares = [count / len(instances) for count in counts.values()]
    assert -sum(share * math.log(share) for share in shares) / math.log(len(counts)) > 0.8


@classifying
def test_each_label_comes_once_in_every_round_so_that_the_first_few_are_balanced_too(path: Path) -> None:
    found, labels = [row["output"][0] for row in read(path)["Instances"]], LABELS[number(path)]
    assert all(set(found[at : at + len(labels)]) == labels for at in range(0, len(found), len(labels)))


@pytest.mark.parametrize("path", [p for p in PATHS if number(p) not in LABELS], ids=lambda path: path.stem)
def test_other_tasks_have_too_many_outputs_to_be_classification(path: Path) -> None:
    assert len({row["output"][0] for row in read(path)["Instances"]}) >= 15


def test_the_splits_name_exactly_the_files() -> None:
    assert split("train", "default") == split("train", "xlingual")
    tested = split("test", "default") + split("test", "xlingual")
    assert sorted(split("train", "default") + tested) == [path.stem for path in PATHS]
    assert len(PATHS) == 25


@pytest.mark.parametrize("track", ["default", "xlingual"])
def test_no_source_and_no_text_is_on_both_sides(track: str) -> None:
    assert side("train", "Source", track).isdisjoint(side("test", "Source", track))
    assert not list(overlaps(texts("train", track), texts("test", track)))


@pytest.mark.parametrize(("track", "count"), [("default", 6), ("xlingual", 3)])
def test_the_test_tasks_are_of_several_categories_none_of_them_trained_on(track: str, count: int) -> None:
    assert len(side("test", "Categories", track)) == count
    assert side("train", "Categories", track).isdisjoint(side("test", "Categories", track))


def test_the_cross_lingual_track_is_tested_in_other_languages_than_english() -> None:
    assert "English" not in side("test", "Output_language", "xlingual")
