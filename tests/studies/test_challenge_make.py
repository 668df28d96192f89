"""Challenges are the same bytes everywhere, are of a study's own draws, and keep their answers apart."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from taskloom.core import Example, Item, Labels, Number, Suite, Task
from taskloom.episodes import draw_id
from taskloom.errors import ChallengeError, UsageError
from taskloom.messages import Note
from taskloom.studies import study as studies
from taskloom.studies.challenge import DIGITS, MANIFEST, Digest, read_lines
from taskloom.studies.challenge_make import answers_beside, make_challenge
from taskloom.suites import rows, store

FILES = ("challenge.json", "items.jsonl", "questions.jsonl", "README.md")


def study(folder: Path, tasks: list[tuple[Task, list[Example]]], protocol: str) -> Path:
    """Write a study of tasks with a single pool."""
    pools = {task.id: {"all": rows.pool(task, examples)} for task, examples in tasks}
    store.write(Suite(id="s", tasks={task.id: task for task, _ in tasks}, pools=pools), folder / "suite")
    text = f"name: s\nsuite: suite\nprotocol: {protocol}\nlearners: {{nearest: {{}}}}\n"
    (folder / "study.yaml").write_text(text)
    return folder / "study.yaml"


def labelled(name: str, gold: str, **fields: str) -> tuple[Task, list[Example]]:
    """Make a task and an example for each of the labels, split at spaces."""
    labels = gold.split()
    task = Task(id=name, instruction="", output=Labels(tuple(sorted(set(labels)))), metrics=("accuracy",))
    examples = [
        Example(Item(f"{n}", {"text": f"{name} {n}", **dict.fromkeys(fields, label)}), (label,), f"{n}")
        for n, label in enumerate(labels)
    ]
    return task, examples


def test_it_is_the_same_bytes_everywhere(made_topics, tmp_path: Path):
    """In another process, under another hash seed, in another folder."""
    program = "import sys; from taskloom import make_challenge; make_challenge(*sys.argv[1:])"
    command = [sys.executable, "-c", program, made_topics.study, tmp_path / "again"]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": "7"})
    for name in FILES:
        assert (tmp_path / "again" / name).read_bytes() == (made_topics.folder / name).read_bytes(), name
    assert answers_beside(tmp_path / "again").read_bytes() == made_topics.answers.read_bytes()


def test_the_digests_of_lines_are_known(made_topics):
    """Other lines are another challenge, which nobody has answered."""
    found = {}
    for name in ("items.jsonl", "questions.jsonl"):
        digest = Digest()
        list(digest.of(read_lines(made_topics.folder / name)))
        found[name] = digest.hex
    assert found == {
        "items.jsonl": "efbeaa83764c92c1df891128ed78d0d2",
        "questions.jsonl": "6cdc0d6fa13eec4bc81084ed5df5bd49",
    }


def test_episodes_are_the_draws_of_the_study(made_topics):
    declared, _ = studies.load(str(made_topics.study))
    suite = store.open_suite(made_topics.study.parent / "suite")
    wanted = [
        draw_id(suite, task, declared.protocol.drawing(shots), seed=0, index=index)[:DIGITS]
        for task in suite.tasks
        for shots in (0, 2)
        for index in range(3)
    ]
    manifest = json.loads((made_topics.folder / MANIFEST).read_text())
    assert list(manifest["episodes"]) == wanted
    assert set(manifest["episodes"].values()) == {9}
    assert manifest["protocol"]["shots"] == [0, 2]


def test_drawn_shots_and_a_protocol_for_some_tasks_are_frozen_too(tmp_path: Path):
    protocol = "{seeds: 1, query: 4, shots: {drawn: 2, 0: 1}, for: {other: {shots: [1], episodes: 1, dev: 2}}}"
    made = make_challenge(
        study(tmp_path, [labelled("few", "a b " * 12), labelled("other", "c d " * 12)], protocol), tmp_path / "c"
    )
    found = [(e.task.id, e.shots, len(e.dev)) for e in made.challenge.episodes()]
    assert found == [("few", "drawn", 0), ("few", "drawn", 0), ("few", 0, 0), ("other", 1, 2)]
    assert all(2 <= len(e.support) <= 10 for e in made.challenge.episodes(0, 2))


def test_classes_that_are_dropped_and_labels_that_other_episodes_show_are_noted(tmp_path: Path):
    made = make_challenge(
        study(tmp_path, [labelled("t", "a b " * 4 + "c")], "{seeds: 3, query: 4, shots: [2]}"), tmp_path / "c"
    )
    assert {note.code for note in made.notes} == {"challenge-classes-dropped", "questions-told"}
    (dropped,) = [note for note in made.notes if note.code == "challenge-classes-dropped"]
    assert dropped == Note.of("challenge-classes-dropped", task="t", classes=[("c", 1)])
    taught = {(row.episode, item) for row in made.challenge.rows() for item in row.taught}
    asked = [(row.episode, item) for row in made.challenge.rows() for item in row.query.values()]
    told = sum(any(item == other and episode != where for where, other in taught) for episode, item in asked)
    (note,) = [note for note in made.notes if note.code == "questions-told"]
    shown = dict(note.values)
    assert (shown["told"], shown["asked"]) == (told, 12)
    assert str(note).startswith(f"{told} of 12 questions of t are about items whose label another episode shows")


def test_ids_cannot_be_guessed_from_names_that_tell_the_class(tmp_path: Path):
    """Rows sorted by class have such names; with another gold answer anywhere in the pool, all ids are others."""
    ids: list[set[str]] = []
    for name, golds in (("one", "a " * 10 + "b " * 10), ("other", "a " * 11 + "b " * 9)):
        (tmp_path / name).mkdir()
        made = make_challenge(
            study(tmp_path / name, [labelled("t", golds)], "{seeds: 3, query: 4, shots: [2]}"), tmp_path / name / "c"
        )
        questions = {question.partition("/")[2] for row in made.challenge.rows() for question in row.query}
        ids.append({*made.challenge.items, *questions})
    assert not ids[0] & ids[1]


def test_two_pools_leave_no_label_in_another_episode(made_topics, tmp_path: Path):
    made = make_challenge(made_topics.study, tmp_path / "c")
    (told,) = made.notes
    assert dict(told.values)["tasks"] == ("one-pool",)


# --- what is refused -------------------------------------------------------------------------------------------------


def test_answers_never_lie_in_the_participants_folder(made_topics, tmp_path: Path, refused):
    (tmp_path / "link").symlink_to(tmp_path / "c")
    for inside in (tmp_path / "c" / "answers.jsonl", tmp_path / "c" / "deep" / "x", tmp_path / "link" / "x"):
        with refused(UsageError, "answers-inside", path=inside):
            make_challenge(made_topics.study, tmp_path / "c", answers=inside)
    assert not (tmp_path / "c").exists()


def test_nothing_is_overwritten_unless_asked(own_topics, refused, tmp_path: Path):
    before = (own_topics.folder / MANIFEST).read_bytes()
    (own_topics.folder / "items.jsonl").write_text("edited")
    for answers in (tmp_path / "new.jsonl", own_topics.answers):
        with refused(UsageError, "exists-already"):
            make_challenge(own_topics.study, own_topics.folder, answers=answers)
    with refused(UsageError, "exists-already", paths=[own_topics.answers]):
        make_challenge(own_topics.study, tmp_path / "free", answers=own_topics.answers)
    make_challenge(own_topics.study, own_topics.folder, answers=own_topics.answers, replace=True)
    assert (own_topics.folder / MANIFEST).read_bytes() == before
    (own_topics.folder / "notes.txt").write_text("mine")
    with refused(UsageError, "not-overwritten", path=own_topics.folder):
        make_challenge(own_topics.study, own_topics.folder, answers=tmp_path / "x", replace=True)
    with refused(UsageError, "output-is-file", path=own_topics.answers):
        make_challenge(own_topics.study, own_topics.answers, answers=tmp_path / "x", replace=True)


def test_answers_replace_no_study_and_no_suite_and_no_device(own_topics, refused, tmp_path: Path):
    for given in (own_topics.study, *(own_topics.study.parent / "suite").iterdir()):
        before = given.read_bytes()
        with refused(UsageError, "output-is-input", path=given):
            make_challenge(own_topics.study, tmp_path / "c", answers=given, replace=True)
        assert given.read_bytes() == before
    (tmp_path / "device").symlink_to(os.devnull)
    make_challenge(own_topics.study, tmp_path / "c", answers=tmp_path / "device")
    assert (tmp_path / "device").is_symlink()


def test_tasks_without_one_label_are_named(tmp_path: Path, refused):
    years = Task(id="year", instruction="", output=Number(), metrics=("mse",))
    words = replace(years, id="words", output=Labels(("a", "b"), many=True), metrics=("micro-f1",))
    examples = [Example(Item(str(n), {"text": str(n)}), (float(n),), str(n)) for n in range(9)]
    sets = [replace(e, gold=(("a",),)) for e in examples]
    path = study(tmp_path, [labelled("t", "a b " * 4), (years, examples), (words, sets)], "{seeds: 1, query: 2}")
    with refused(ChallengeError, "challenge-outputs", tasks=["year", "words"]):
        make_challenge(path, tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_all_tasks_that_cannot_be_drawn_are_named(tmp_path: Path):
    path = study(
        tmp_path,
        [labelled("few", "a b"), labelled("enough", "a b " * 9), labelled("lone", "a a a b")],
        "{seeds: 1, query: 2, shots: [4]}",
    )
    with pytest.raises(ChallengeError) as told:
        make_challenge(path, tmp_path / "c")
    assert told.value.note.code == "challenge-undrawable"
    assert ["few" in told.value.faults[0], "lone" in told.value.faults[1]] == [True, True]
    assert list(tmp_path.glob("c*")) == []
    assert list(tmp_path.glob(".c*")) == []


def test_a_field_that_is_the_label_is_refused(tmp_path: Path, refused):
    path = study(tmp_path, [labelled("t", "a b " * 6, topic="")], "{seeds: 1, query: 4, shots: [1]}")
    with refused(ChallengeError, "label-in-field", task="t", name="topic"):
        make_challenge(path, tmp_path / "c")


def test_two_items_of_one_id_are_refused(tmp_path: Path, refused):
    task, examples = labelled("t", "a b " * 6)
    same = [replace(e, item=replace(e.item, id="same")) for e in examples]
    path = study(tmp_path, [(task, same)], "{seeds: 1, query: 4, shots: [1]}")
    with refused(ChallengeError, "challenge-items-doubled", task="t"):
        make_challenge(path, tmp_path / "c")


def test_answers_of_the_working_folder_are_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert answers_beside(Path()) == tmp_path.with_name(f"{tmp_path.name}-answers.jsonl")
