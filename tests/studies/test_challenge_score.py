"""Predictions for a challenge are scored as the answers of a run are, and by nothing but its own answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import taskloom
from taskloom.errors import ChallengeError, UsageError
from taskloom.reports import How, render, summarise
from taskloom.studies.challenge import open_challenge
from taskloom.studies.challenge_export import export_predictions, file_name
from taskloom.studies.challenge_score import read_answers, score_challenge
from taskloom.studies.submissions import Submission, write_predictions


def gold(answers: Path) -> dict[str, str]:
    lines = [json.loads(line) for line in answers.read_text(encoding="utf-8").splitlines()]
    return {question: labels[0] for line in lines[1:] for question, labels in line["gold"].items()}


@pytest.fixture
def submit(made_topics, tmp_path: Path) -> Callable[..., Path]:
    """Write predictions that are right but for every so manieth question, where they are missing or wrong."""

    def written(name: str, wrong: int = 0, missing: int = 0, **about: Any) -> Path:
        right = gold(made_topics.answers)
        answers: dict[str, str | None] = {
            question: {"art": "law", "law": "sea", "sea": "art"}[label] if wrong and n % wrong == 0 else label
            for n, (question, label) in enumerate(right.items())
            if not (missing and n % missing == 0)
        }
        path = tmp_path / f"{name}.json"
        write_predictions(path, answers, Submission(name=name, **about))
        return path

    return written


def test_accuracy_is_the_share_of_right_answers(made_topics, submit):
    found = taskloom.score_challenge(
        made_topics.folder, made_topics.answers, {"half": submit("x", wrong=2), "all": submit("y")}
    )
    assert list(found.learners) == ["half", "all"]
    summary = summarise(found, How(count=50))
    scores = {(b.shots, s.learner): s.score.value for b in summary.of("accuracy") for s in b.standings}
    right: dict[Any, list[float]] = {(o.shots, o.learner): [] for o in found.outcomes}
    for o in found.outcomes:
        right[o.shots, o.learner].append(sum(a == g[0] for a, g in zip(o.answers, o.gold, strict=True)) / 9)
    assert scores == pytest.approx({at: sum(each) / len(each) for at, each in right.items()})
    assert scores[0, "all"] == scores[2, "all"] == 1
    assert sum(scores[shots, "half"] for shots in (0, 2)) == pytest.approx(1)


def test_every_form_of_report_serves_a_challenge(made_topics, submit):
    found = score_challenge(made_topics.folder, made_topics.answers, {"a": submit("x", wrong=3), "b": submit("y")})
    summary = summarise(found, How(count=50))
    for form in ("terminal", "md", "csv", "tex", "json", "html"):
        assert "macro-f1" in render(summary, form)
    rows = found.to_arrow().to_pylist()
    assert len(rows) == 2 * 108
    assert {row["gold"] for row in rows} == {"art", "law", "sea"}
    (compared, *_) = taskloom.compare(found, "b", "a", How(count=50))
    assert compared.overall.difference > 0


def test_null_is_wrong_and_said_so(made_topics, tmp_path: Path):
    answers: dict[str, str | None] = dict.fromkeys(gold(made_topics.answers))
    write_predictions(tmp_path / "p.json", answers)
    found = score_challenge(made_topics.folder, made_topics.answers, [("", tmp_path / "p.json")])
    assert {float(o.scores["accuracy"].units.mean()) for o in found.outcomes} == {0.0}
    assert {code for o in found.outcomes for code in o.scores["accuracy"].unusable} == {"unparsable"}


def test_a_run_exported_scores_as_in_the_run(made_topics, tmp_path: Path):
    """The same draws, the same items, the same records: equal scores and equal intervals."""
    ran = taskloom.run(made_topics.study, tmp_path / "run")
    opened = open_challenge(made_topics.folder)
    given = {}
    for one in export_predictions(opened, tmp_path / "run"):
        path = tmp_path / file_name(one.about.name)
        write_predictions(path, one.answers, one.about)
        given[one.about.name] = path
        assert (len(one.answers), one.outside) == ((54 if one.about.name == "nearest" else 108), 0)
    found = score_challenge(opened, made_topics.answers, given, partial=True)
    here, there = (
        {(b.metric, b.shots, s.learner): s.score for b in summarise(of).leaderboards for s in b.standings}
        for of in (found, ran)
    )
    assert here.keys() == there.keys()
    for at, e in there.items():
        assert here[at].value == pytest.approx(e.value, nan_ok=True)
        assert (here[at].low, here[at].high) == pytest.approx((e.low, e.high), nan_ok=True)
    assert found.baselines == ran.baselines
    theirs = {(o.learner, o.task, o.shots, o.index): o for o in ran.outcomes}
    for o in found.outcomes:
        run = theirs[o.learner, o.task, o.shots, o.index]
        assert (o.sizes, o.chance) == (run.sizes, run.chance)
        assert {*zip(o.items, o.answers, o.records, strict=True)} == {
            *zip(run.items, run.answers, run.records, strict=True)
        }


# --- partial ---------------------------------------------------------------------------------------------------------


def test_partial_predictions_are_scored_on_what_they_answer_and_not_ranked(made_topics, submit, refused):
    part = submit("part", missing=30)
    with refused(ChallengeError, "predictions-partial"):
        score_challenge(made_topics.folder, made_topics.answers, {"part": part})
    found = score_challenge(made_topics.folder, made_topics.answers, {"part": part, "all": submit("all")}, partial=True)
    (board, *_) = summarise(found, How(count=50)).of("accuracy")
    standings = {s.learner: s for s in board.standings}
    assert standings["part"].score.value == 1
    assert (standings["part"].comparable, standings["all"].comparable) == (False, True)
    assert {note.code: count for note, count in found.skipped.items()} == {"episode-unanswered": 4}


def test_episodes_that_are_not_answered_in_full_are_left_out(made_topics, tmp_path: Path, refused):
    right = gold(made_topics.answers)
    write_predictions(tmp_path / "p.json", {question: right[question] for question in list(right)[:8]})
    with refused(ChallengeError, "no-whole-episode", path=tmp_path / "p.json"):
        score_challenge(made_topics.folder, made_topics.answers, {"p": tmp_path / "p.json"}, partial=True)
    write_predictions(tmp_path / "p.json", {question: right[question] for question in list(right)[:12]})
    found = score_challenge(made_topics.folder, made_topics.answers, {"p": tmp_path / "p.json"}, partial=True)
    assert [len(o.items) for o in found.outcomes] == [9]


# --- what is refused -------------------------------------------------------------------------------------------------


def test_answers_of_another_challenge_are_refused(made_topics, own_topics, refused):
    header, _, rest = own_topics.answers.read_text(encoding="utf-8").partition("\n")
    other = json.loads(header) | {"challenge": "0" * 32}
    own_topics.answers.write_text(f"{json.dumps(other)}\n{rest}", encoding="utf-8")
    opened = open_challenge(made_topics.folder)
    with refused(ChallengeError, "answers-of-another", name="topics", hash=opened.hash):
        read_answers(opened, own_topics.answers)
    for wrong in (made_topics.folder / "questions.jsonl", made_topics.folder / "items.jsonl"):
        with refused(ChallengeError, "answers-expected", path=wrong):
            read_answers(opened, wrong)


def test_edited_and_shortened_answers_are_refused(made_topics, own_topics, refused):
    opened, text = open_challenge(made_topics.folder), own_topics.answers.read_text(encoding="utf-8")
    for edited in (text.replace('["art"]', '["law"]', 1), text[: text[:-1].rindex("\n") + 1]):
        own_topics.answers.write_text(edited, encoding="utf-8")
        with refused(ChallengeError, "answers-edited"):
            read_answers(opened, own_topics.answers)
    own_topics.answers.write_text(text.replace('"gold"', '"golds"', 1), encoding="utf-8")
    with refused(ChallengeError, "challenge-damaged"):
        read_answers(opened, own_topics.answers)


def test_an_edited_challenge_is_not_scored(own_topics, submit, refused):
    path = own_topics.folder / "items.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace("paint", "Paint", 1), encoding="utf-8")
    with refused(ChallengeError, "challenge-edited"):
        score_challenge(own_topics.folder, own_topics.answers, {"a": submit("a")})


def test_two_submissions_of_one_name_are_refused(made_topics, submit, refused):
    with refused(UsageError, "submission-doubled", name="x"):
        score_challenge(made_topics.folder, made_topics.answers, [("", submit("x")), ("x", submit("y"))])
