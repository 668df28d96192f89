"""Predictions for a challenge: all that is wrong with a file is counted, and the first question of each kind named."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskloom.errors import ChallengeError, UsageError
from taskloom.studies import submissions
from taskloom.studies.challenge import Challenge, EpisodeRow, open_challenge
from taskloom.studies.submissions import (
    Given,
    Predictions,
    Submission,
    check,
    check_protocol,
    fault_of,
    merged,
    read_predictions,
    refuse_faulty,
    write_predictions,
)


@pytest.fixture(scope="module")
def opened(made_topics) -> Challenge:
    return open_challenge(made_topics.folder)


@pytest.fixture
def file(tmp_path: Path) -> Callable[[Any], Path]:
    def written(content: Any) -> Path:
        path = tmp_path / "predictions.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return written


def right(opened: Challenge) -> dict[str, Any]:
    """Answer all questions with a label of their episode."""
    return {question: {"label": row.labels[0]} for row in opened.rows() for question in row.query}


def faults(opened: Challenge, path: Path) -> dict[str, dict[str, Any]]:
    return {code: dict(note.values) for code, note in check(opened.rows(), read_predictions(path)).faults.items()}


# --- files -----------------------------------------------------------------------------------------------------------


def test_a_file_may_say_what_its_answers_are_of(file):
    plain = read_predictions(file({"q": {"label": "a"}}))
    assert (plain.name, plain.about, plain.answers) == ("predictions", Submission(), {"q": Given("a")})
    about: dict[str, Any] = {
        "name": "mine",
        "protocol": "meta-trained",
        "model": "m",
        "url": "https://x.org",
        "date": "2026-11-17",
    }
    told = read_predictions(file({"submission": about, "predictions": {"q": {"label": None, "score": [1, 0]}}}))
    assert (told.name, told.about) == ("mine", Submission(**about))
    assert told.answers == {"q": Given(None, [1, 0])}


def test_half_a_character_in_a_name_is_replaced(file):
    told = read_predictions(file({"submission": {"name": "a\ud800"}, "predictions": {"q": {"label": "a"}}}))
    assert told.name == "a\ufffd"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("[]", "predictions-expected"),
        ("1", "predictions-expected"),
        ('{"label": "a"}', "predictions-expected"),
        ('{"predictions": []}', "predictions-expected"),
        ('{"predictions": {"label": "a"}}', "predictions-expected"),
        ('{"submission": {}}', "predictions-expected"),
        ('{"submission": 1, "predictions": {"q": {"label": "a"}}}', "predictions-expected"),
        ('{"predictions": {}, "predictions": {}}', "predictions-expected"),
        ('{"predictions": {}, "more": {}}', "predictions-expected"),
        ("{}", "predictions-empty"),
        ('{"predictions": {}}', "predictions-empty"),
        ('{"q": {"label": "a"}}\n{"r": {"label": "a"}}', "not-json"),
        ('{"q": ', "not-json"),
        ("[" * 100_000, "not-json"),
        ('{"q": {"label": "a", "score": ' + "9" * 5000 + "}}", "not-json"),
    ],
)
def test_what_is_no_file_of_predictions_is_refused(file, refused, content: str, code: str):
    path = file(content)
    with refused(ChallengeError, code, path=path):
        read_predictions(path)


def test_a_file_has_a_limit_an_encoding_and_a_place(file, refused, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    path = file({"q": {"label": "a"}})
    path.write_bytes(b'{"q": {"label": "\xe9"}}')
    with refused(ChallengeError, "not-utf", place=17, path=path):
        read_predictions(path)
    monkeypatch.setattr(submissions, "MAX_FILE", 5)
    with refused(ChallengeError, "file-too-large", most=5):
        read_predictions(path)
    for missing in (tmp_path / "none.json", tmp_path):
        with pytest.raises(UsageError):
            read_predictions(missing)


def test_all_that_is_wrong_with_a_submission_is_named(file):
    about = {"name": 1, "protocol": "none", "urls": "x", "url": "javascript:alert(1)"}
    with pytest.raises(ChallengeError) as told:
        read_predictions(file({"submission": about, "predictions": {"q": {"label": "a"}}}))
    assert told.value.note.code == "submission-faults"
    assert [fault.split()[0] for fault in told.value.faults] == ["name", "protocol", "unknown", "url"]


def test_what_is_said_of_a_submission_has_a_limit(file):
    with pytest.raises(ChallengeError) as told:
        read_predictions(file({"submission": {"name": "x" * 1001, "model": "y" * 1000}, "predictions": {}}))
    assert [fault.split()[0] for fault in told.value.faults] == ["name"]


def test_a_protocol_is_one_of_two(refused):
    assert check_protocol("meta-trained") == "meta-trained"
    assert check_protocol("") == ""
    with refused(UsageError, "protocol-unknown", given="meta"):
        check_protocol("meta")


# --- checks ----------------------------------------------------------------------------------------------------------


def test_good_predictions_have_no_faults(opened, file):
    answers = right(opened)
    first, second = islice(answers, 2)
    answers[first] = {"label": None}
    answers[second] |= {"score": [0.5, 0.25, 0.25]}
    found = check(opened.rows(), read_predictions(file(answers)))
    assert (found.questions, found.answered, found.without_label, found.scored) == (108, 108, 1, 1)
    assert found.faults == {}


def test_missing_and_unknown_questions_are_counted(opened, file):
    answers = right(opened)
    first, second, *_ = answers
    del answers[first], answers[second]
    found = faults(opened, file({"x/1": {"label": "art"}, **answers, "x/2": {"label": "art"}}))
    assert found == {
        "question-missing": {"count": 2, "question": first},
        "question-unknown": {"count": 2, "question": "x/1"},
    }


def test_a_question_that_is_answered_twice_is_noticed(opened, file):
    """JSON allows it, and a plain reader would take the last."""
    answers = right(opened)
    first, second, *_ = answers
    twice = f'{{"{second}": {{"label": "law"}}, "{first}": {{"label": "law"}}, {json.dumps(answers)[1:]}'
    found = faults(opened, file(twice))
    assert found == {"question-doubled": {"count": 2, "question": second}}
    wrapped = f'{{"submission": {{}}, "predictions": {twice}}}'
    assert faults(opened, file(wrapped)) == found


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"label": "music"}, "label-outside"),
        ({"label": "0"}, "label-outside"),
        ({"label": "ART"}, "label-outside"),
        ({"label": ""}, "label-outside"),
        ({"label": 0}, "prediction-malformed"),
        ({"label": ["art"]}, "prediction-malformed"),
        ({"lable": "art"}, "prediction-malformed"),
        ({"label": "art", "why": "so"}, "prediction-malformed"),
        ("art", "prediction-malformed"),
        (None, "prediction-malformed"),
        ({"label": "art", "score": "high"}, "score-malformed"),
        ({"label": "art", "score": True}, "score-malformed"),
        ({"label": "art", "score": [1.0, 2.0]}, "score-malformed"),
        ({"label": "art", "score": [1.0, 2.0, None]}, "score-malformed"),
        ({"label": "art", "score": float("nan")}, "score-malformed"),
        ({"label": "art", "score": []}, "score-malformed"),
    ],
)
def test_an_answer_that_is_none_is_named(opened, file, answer: Any, code: str):
    answers = right(opened)
    third = list(answers)[2]
    answers[third] = answer
    found = faults(opened, file(answers))
    assert list(found) == [code]
    assert (found[code]["count"], found[code]["question"]) == (1, third)


def test_a_label_twice_in_one_answer_is_malformed(opened, file):
    answers = json.dumps(right(opened)).replace('{"label": "art"}', '{"label": "art", "label": "law"}', 1)
    assert list(faults(opened, file(answers))) == ["prediction-malformed"]


def test_partial_predictions_are_refused_unless_asked_for(opened, file, refused):
    answers = right(opened)
    first = next(iter(answers))
    del answers[first]
    part = read_predictions(file(answers))
    with refused(ChallengeError, "predictions-partial"):
        refuse_faulty(opened.rows(), part)
    assert refuse_faulty(opened.rows(), part, partial=True).answered == 107
    answers["x"] = {"label": "art"}
    with refused(ChallengeError, "predictions-faulty"):
        refuse_faulty(opened.rows(), read_predictions(file(answers)), partial=True)
    with refused(ChallengeError, "predictions-faulty"):
        refuse_faulty(opened.rows(), read_predictions(file({"x": {"label": "art"}})), partial=True)


LABELS = ("a", "b")
ROW = EpisodeRow(episode="e", task="t", shots=0, seed=0, index=0, labels=LABELS, support=(), dev=(), query={})
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3) | st.sampled_from(LABELS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["label", "score", "x"]), inner),
    max_leaves=5,
)


@given(ANYTHING)
def test_whatever_json_holds_is_right_or_has_one_fault(value: Any):
    given_ = submissions._object(list(value.items())) if isinstance(value, dict) else value
    fault = fault_of(ROW, given_)
    if fault is None:
        assert given_.label is None or given_.label in LABELS
    else:
        assert fault[0] in ("prediction-malformed", "label-outside", "score-malformed")


# --- write and merge -------------------------------------------------------------------------------------------------


def test_what_is_written_is_read_again(tmp_path: Path, refused):
    path = tmp_path / "p.json"
    answers = {"q": "a", "r": None, "s": {"label": "é", "score": 0.5}, "t": Given("b", [1.0])}
    about = Submission(name='a "b"', protocol="meta-trained", baseline=True)
    write_predictions(path, answers, about)
    found = read_predictions(path)
    assert (found.about, found.doubled) == (about, ())
    assert found.answers == {"q": Given("a"), "r": Given(None), "s": Given("é", 0.5), "t": Given("b", [1.0])}
    write_predictions(path, answers)
    assert json.loads(path.read_text(encoding="utf-8"))["s"] == {"label": "é", "score": 0.5}
    with refused(UsageError, "exists-already", paths=[path]):
        write_predictions(path, answers, replace=False)
    with refused(UsageError, "output-is-folder", path=tmp_path):
        write_predictions(tmp_path, answers)
    (tmp_path / "device").symlink_to(os.devnull)
    write_predictions(tmp_path / "device", answers, replace=False)
    assert (tmp_path / "device").is_symlink()


def part(answers: dict[str, Any], **about: Any) -> Predictions:
    return Predictions(path=Path("p.json"), about=Submission(**about), answers=answers)


def test_parts_are_joined_in_any_order():
    halves = [part({"b": Given("x"), "c": Given("y")}, name="n"), part({"a": Given("z"), "b": Given("x")})]
    for order in (halves, halves[::-1]):
        answers, about = merged(order)
        assert list(answers.items()) == [("a", Given("z")), ("b", Given("x")), ("c", Given("y"))]
        assert about == Submission(name="n")


def test_conflicts_are_named(refused):
    with pytest.raises(ChallengeError) as told:
        merged([part({"a": Given("x"), "b": Given("x")}), part({"b": Given("y")}), part({"a": Given("x", 1.0)})])
    assert told.value.note.code == "merge-conflicts"
    assert ["first: b" in told.value.faults[0], "first: a" in told.value.faults[1]] == [True, True]
    with refused(ChallengeError, "submissions-differ", names=["name", "model"]):
        merged([part({"a": Given("x")}, name="n", model="m"), part({"b": Given("x")}, name="o")])
    twice = Predictions(path=Path("p.json"), about=Submission(), answers={"a": Given("x")}, doubled=("a",))
    with refused(ChallengeError, "predictions-faulty", path="p.json"):
        merged([twice])
