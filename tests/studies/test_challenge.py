"""A challenge as participants open it: frozen, whole, and without a word on what is right."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import taskloom
from taskloom.core import Labels
from taskloom.errors import ChallengeError, UsageError
from taskloom.learners import learner
from taskloom.learners.toolbox import Toolbox
from taskloom.studies import challenge as module
from taskloom.studies.challenge import ITEMS, MANIFEST, QUESTIONS, README, item_key, open_challenge
from taskloom.studies.submissions import check, read_predictions

LINE = "{}\n"


def change(path: Path, edit: Callable[[str], str]) -> None:
    before = path.read_text(encoding="utf-8")
    after = edit(before)
    assert after != before
    path.write_text(after, encoding="utf-8")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_episodes_have_texts_examples_and_items_without_answers(made_topics):
    opened = taskloom.open_challenge(made_topics.folder)
    assert (opened.name, len(opened), opened.questions) == ("topics", 12, 12 * 9)
    episodes = list(opened.episodes())
    assert [(e.task.id, e.shots, len(e.support), len(e.query)) for e in episodes] == [
        (task, shots, 3 * shots, 9) for task in ("one-pool", "two-pools") for shots in (0, 2) for _ in range(3)
    ]
    one = episodes[3]
    assert one.labels == ("art", "law", "sea")
    assert isinstance(one.task.output, Labels)
    assert {e.gold[0] for e in one.support} == {*one.labels}
    assert all(re.fullmatch(r"\w+ number \d+ of all, one-pool", item.fields["text"]) for item in one.query)
    assert all(item.id.startswith(one.id) for item in one.query)


def test_ranges_of_episodes_are_those_of_all(made_topics):
    opened = open_challenge(made_topics.folder)
    every = list(opened.episodes())
    assert [*opened.episodes(0, 5), *opened.episodes(5)] == every
    assert list(opened.episodes(3, 4)) == every[3:4]
    assert list(opened.episodes(12)) == []


def test_a_learner_of_ours_can_answer_episodes(made_topics):
    """The nouns are the same, so that a participant may use a learner as it is."""
    opened = open_challenge(made_topics.folder)
    (episode,) = opened.episodes(3, 4)
    fitted = learner("nearest").fit(episode.task, episode.support, episode.dev, seed=0, tools=Toolbox({}))
    assert {*fitted.predict(episode.query)} <= {*episode.labels}


def test_nothing_in_the_folder_tells_what_is_right(made_topics):
    """Neither ids nor groups show, which tell the class here, and the order of questions is that of hashes."""
    text = "".join((made_topics.folder / name).read_text(encoding="utf-8") for name in (ITEMS, QUESTIONS, MANIFEST))
    assert not re.search(r"(art|law|sea)-?(all|train|test)", text)
    for row in lines(made_topics.folder / QUESTIONS):
        assert row.keys() == {"episode", "task", "shots", "seed", "index", "labels", "support", "dev", "query"}
        assert list(row["query"]) == sorted(row["query"])
        assert all(re.fullmatch("[0-9a-f]{16}/[0-9a-f]{16}", question) for question in row["query"])
        assert not {item for item, _ in row["support"]} & {*row["query"].values()}
    for row in lines(made_topics.folder / ITEMS):
        assert row.keys() == {"item", "fields"}
        assert row["fields"].keys() == {"text"}
    gold = [labels for row in lines(made_topics.answers)[1:] for labels in row["gold"].values()]
    runs = sum(a != b for a, b in itertools.pairwise(gold))
    assert runs > len(gold) / 2  # drawn class after class, there would be a change at every third


def test_items_stand_in_the_order_of_their_hashes_task_by_task(made_topics):
    order = [row["item"] for row in lines(made_topics.folder / ITEMS)]
    descents = sum(a > b for a, b in itertools.pairwise(order))
    assert len(set(order)) == len(order)
    assert descents == 1  # where the second task begins


def test_an_item_is_named_by_its_task_its_pool_with_all_in_it_and_its_id():
    assert len({item_key(*names) for names in ("abcd", "abce", "abed", "aecd", "ebcd")}) == 5


def test_a_program_with_nothing_but_the_folder_can_answer(own_topics):
    """The program of the folder's own README, run without taskloom and without a site."""
    (program,) = re.findall(r"```python\n(.*?)```", (own_topics.folder / README).read_text(encoding="utf-8"), re.DOTALL)
    own_topics.answers.unlink()
    subprocess.run([sys.executable, "-I", "-S", "-c", program], cwd=own_topics.folder, check=True)
    found = read_predictions(own_topics.folder / "predictions.json")
    checked = check(open_challenge(own_topics.folder).rows(), found)
    assert (checked.answered, checked.questions, checked.faults) == (108, 108, {})


# --- edited files ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (ITEMS, "paint number", "paint  number"),
        (QUESTIONS, '"shots": 2', '"shots": 3'),
        (QUESTIONS, '"labels": ["art", "law", "sea"]', '"labels": ["law", "art", "sea"]'),
        (MANIFEST, "Which topic?", "What topic?"),
        (MANIFEST, '"name": "topics"', '"name": "other"'),
        (MANIFEST, '"hash": "', '"hash": "0'),
    ],
)
def test_an_edit_is_noticed_by_the_hash(own_topics, refused, file: str, old: str, new: str):
    change(own_topics.folder / file, lambda text: text.replace(old, new, 1))
    with refused(ChallengeError, "challenge-edited", path=own_topics.folder):
        open_challenge(own_topics.folder)


def test_a_line_that_was_dropped_is_noticed(own_topics, refused):
    change(own_topics.folder / QUESTIONS, lambda text: text.partition("\n")[2])
    with refused(ChallengeError, "challenge-edited"):
        open_challenge(own_topics.folder)


def test_spaces_and_ends_of_lines_are_no_edit(own_topics):
    for name in (ITEMS, QUESTIONS):
        change(own_topics.folder / name, lambda text: text.replace("\n", "\r\n").replace('": ', '":   '))
    assert len(open_challenge(own_topics.folder)) == 12


@pytest.mark.parametrize(
    ("file", "edit"),
    [
        (QUESTIONS, lambda row: row | {"gold": ["art"]}),
        (QUESTIONS, lambda row: row | {"query": dict(reversed(row["query"].items()))}),
        (QUESTIONS, lambda row: row | {"query": {f"art-{q}": item for q, item in row["query"].items()}}),
        (QUESTIONS, lambda row: row | {"query": dict.fromkeys(row["query"], "art")}),
        (QUESTIONS, lambda row: row | {"query": [1]}),
        (QUESTIONS, lambda row: row | {"support": [["f" * 16, "art"]]}),
        (QUESTIONS, lambda row: row | {"task": "none"}),
        (QUESTIONS, lambda row: {}),
        (ITEMS, lambda row: row | {"label": "art"}),
        (ITEMS, lambda row: row | {"fields": {"text": 1}}),
        (ITEMS, lambda row: {"item": 1}),
    ],
)
def test_a_line_that_says_more_or_less_is_refused(own_topics, refused, file: str, edit: Callable[[Any], Any]):
    def edited(text: str) -> str:
        first, _, rest = text.partition("\n")
        return f"{json.dumps(edit(json.loads(first)))}\n{rest}"

    change(own_topics.folder / file, edited)
    with refused(ChallengeError, "challenge-damaged", path=own_topics.folder / file):
        open_challenge(own_topics.folder)


@pytest.mark.parametrize("damage", [b"{", b"[1]", b'{"a": "\xff"}', b"9" * 5000])
def test_lines_that_are_no_json_or_no_text_are_named(own_topics, damage: bytes):
    path = own_topics.folder / ITEMS
    path.write_bytes(damage + b"\n" + path.read_bytes())
    with pytest.raises(ChallengeError) as told:
        open_challenge(own_topics.folder)
    assert told.value.note.code in ("lines-unreadable", "challenge-edited")
    assert told.value.faults[0].startswith("items.jsonl:1")


def test_a_line_has_a_limit(own_topics, refused, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("taskloom.sources.files.MAX_LINE", 300)
    with refused(ChallengeError, "lines-unreadable"):
        open_challenge(own_topics.folder)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"{", "not-json"),
        (b"[]", "challenge-damaged"),
        (b'{"format": 1}', "challenge-damaged"),
        (b'{"format": 99, "hash": ""}', "challenge-newer"),
        (b'{"format": 1, "hash": ""}', "challenge-damaged"),
        (b'{"format": 1, "hash": "", "tasks": [{"id": 1}]}', "challenge-damaged"),
        (b"\xff\xfe{", "not-utf"),
        (b"[" * 100_000, "not-json"),
    ],
)
def test_a_manifest_that_is_none_is_refused(own_topics, refused, content: bytes, code: str):
    (own_topics.folder / MANIFEST).write_bytes(content)
    with refused(ChallengeError, code, path=own_topics.folder / MANIFEST):
        open_challenge(own_topics.folder)


def test_what_is_no_challenge_or_lacks_a_file_is_refused(own_topics, refused, tmp_path: Path, monkeypatch):
    with refused(UsageError, "not-a-challenge", path=tmp_path / "none"):
        open_challenge(tmp_path / "none")
    monkeypatch.setattr(module, "MAX_MANIFEST", 10)
    with refused(ChallengeError, "file-too-large", most=10):
        open_challenge(own_topics.folder)
    monkeypatch.undo()
    (own_topics.folder / ITEMS).unlink()
    with refused(ChallengeError, "challenge-file-missing", path=own_topics.folder / ITEMS):
        open_challenge(own_topics.folder)
