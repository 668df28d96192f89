"""The board of a challenge: one for each protocol and setting, with deviations, and safe whatever participants say."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from taskloom.errors import ChallengeError
from taskloom.reports import How
from taskloom.reports.challenge_board import board_page, board_rows, challenge_boards
from taskloom.studies.challenge_score import score_challenge
from taskloom.studies.results import Results
from taskloom.studies.submissions import Submission, write_predictions

HOW = How(count=60)
SCRIPT = "<script>alert(1)</script> & </style> \"quoted' 道路绿化 🌲"  # the name of a submission


def test_each_protocol_and_setting_has_a_board(submitted: Results):
    boards = challenge_boards(submitted, HOW)
    assert [(b.protocol, b.title, len(b.leaderboard.standings)) for b in boards] == [
        ("pretraining-only", "accuracy, 2 shots", 3),
        ("pretraining-only", "accuracy, zero-shot", 3),
        ("meta-trained", "accuracy, 2 shots", 1),
        ("meta-trained", "accuracy, zero-shot", 1),
    ]
    ranks = {s.learner: (s.rank, s.baseline) for s in boards[0].leaderboard.standings}
    assert ranks == {SCRIPT: (1, False), "weak": (2, False), "chance": (0, True)}


def test_rows_have_the_mean_over_tasks_and_the_deviation_over_episodes(submitted: Results):
    rows = list(board_rows(challenge_boards(submitted, HOW)))
    assert len(rows) == 2 * 4 * 3  # settings, submissions, and two tasks with their mean
    at = [r for r in rows if (r["submission"], r["shots"]) == ("weak", 2)]
    mean, *tasks = at
    assert (mean["task"], mean["deviation"], mean["episodes"]) == (None, None, 6)
    assert mean["value"] == pytest.approx(sum(r["value"] for r in tasks) / 2)
    for row in tasks:
        outcomes = [o for o in submitted.outcomes if (o.learner, o.task, o.shots) == ("weak", row["task"], 2)]
        scores = [sum(a == g[0] for a, g in zip(o.answers, o.gold, strict=True)) / 9 for o in outcomes]
        assert row["value"] == pytest.approx(sum(scores) / 3)
        assert row["deviation"] == pytest.approx(statistics.stdev(scores))
        assert row["low"] <= row["value"] <= row["high"]
    json.dumps(rows, allow_nan=False)


def test_a_single_episode_has_no_deviation(submitted: Results):
    one = replace(submitted, outcomes=tuple(o for o in submitted.outcomes if o.index == 0))
    boards = challenge_boards(one, HOW)
    assert all(math.isnan(spread) for board in boards for spread in board.deviations.values())
    assert {row["deviation"] for row in board_rows(boards)} == {None}
    assert "sd " not in board_page(one, boards, HOW).partition("legend")[0]


def test_the_page_is_whole_and_escapes_all_that_participants_say(submitted: Results, read_page: Callable[[str], Any]):
    page = board_page(submitted, challenge_boards(submitted, HOW), HOW)
    reader = read_page(page)
    assert reader.open == []
    assert not [tag for tag, _ in reader.tags if tag in ("script", "img", "link", "iframe")]
    assert SCRIPT in "".join(reader.text)
    links = [of.get("href") for tag, of in reader.tags if tag == "a" and not of["href"].startswith("#")]
    assert set(links) == {f"https://x.org/{SCRIPT}", "https://x.org/meta"}
    text = " ".join(reader.text)
    for said in (
        "Pretraining-Only",
        "Meta-Trained",
        "zero-shot",
        "group a",
        "rank 1",
        "108",
        str(submitted.suite.about["challenge"]),
    ):
        assert said in text
    assert "default-src 'none'" in page


def test_only_web_addresses_are_links(submitted: Results, read_page: Callable[[str], Any]):
    settings = {name: {**of, "url": "javascript:alert(1)"} for name, of in submitted.settings.items()}
    changed = replace(submitted, settings=settings)
    reader = read_page(board_page(changed, challenge_boards(changed, HOW), HOW))
    assert all(of["href"].startswith("#") for tag, of in reader.tags if tag == "a")


def test_a_submission_must_say_its_protocol(made_topics, submitted: Results, tmp_path: Path, refused):
    answers = {q: None for line in made_topics.answers.read_text().splitlines()[1:] for q in json.loads(line)["gold"]}
    write_predictions(tmp_path / "silent.json", answers)
    paths = [("", tmp_path / "silent.json")]
    found = score_challenge(made_topics.folder, made_topics.answers, paths)
    with refused(ChallengeError, "protocol-missing", names=["silent"]):
        challenge_boards(found, HOW)
    said = score_challenge(made_topics.folder, made_topics.answers, paths, protocol="meta-trained")
    assert {board.protocol for board in challenge_boards(said, HOW)} == {"meta-trained"}


def test_partial_submissions_are_shown_and_not_ranked(made_topics, submitted: Results, tmp_path: Path):
    lines = [json.loads(line) for line in made_topics.answers.read_text().splitlines()[1:]]
    for name, some in (("part", lines[:2] + lines[6:]), ("whole", lines)):
        answers = {q: labels[0] for line in some for q, labels in line["gold"].items()}
        write_predictions(tmp_path / f"{name}.json", answers, Submission(protocol="meta-trained"))
    paths = [("", tmp_path / f"{name}.json") for name in ("part", "whole")]
    found = score_challenge(made_topics.folder, made_topics.answers, paths, partial=True)
    boards = challenge_boards(found, HOW)
    assert {s.learner: s.rank for s in boards[0].leaderboard.standings} == {"whole": 1, "part": 0}
    page = board_page(found, boards, HOW)
    assert "not ranked" in page
    assert "part (1 of 2 tasks" in page
    assert "All submissions answer the same questions" not in page


def test_partial_submissions_are_not_ranked_where_no_other_one_is_there(made_topics, tmp_path: Path):
    lines = [json.loads(line) for line in made_topics.answers.read_text().splitlines()[1:]]
    for name, some in (("first", lines[:1]), ("second", lines[:1]), ("chance", lines)):
        answers = {q: labels[0] for line in some for q, labels in line["gold"].items()}
        about = Submission(protocol="meta-trained", baseline=name == "chance")
        write_predictions(tmp_path / f"{name}.json", answers, about)
    for names in (["first"], ["first", "second"], ["first", "chance"]):
        paths = [("", tmp_path / f"{name}.json") for name in names]
        found = score_challenge(made_topics.folder, made_topics.answers, paths, partial=True)
        boards = challenge_boards(found, HOW)
        first = next(row for row in board_rows(boards) if row["submission"] == "first")
        assert (first["rank"], first["best"], first["episodes"], first["of"]) == (None, False, 1, 6)
        page = board_page(found, boards, HOW)
        assert "No submission answers all 6 episodes: none is ranked." in page
        assert "on 1 of 6 episodes" in page
        assert "rank 1" not in page
        assert "answer the same questions" not in page


def test_a_submission_without_one_setting_is_ranked_in_the_other_and_the_page_does_not_say_that_all_are_whole(
    submitted: Results,
):
    kept = [o for o in submitted.outcomes if o.learner != "meta" or o.shots == 2]
    few = replace(submitted, outcomes=tuple(kept))
    boards = challenge_boards(few, HOW)
    assert [(b.title, b.leaderboard.ranked) for b in boards if b.protocol == "meta-trained"] == [
        ("accuracy, 2 shots", 1)
    ]
    assert "answer the same questions" not in board_page(few, boards, HOW)
    assert "answer the same questions" in board_page(submitted, challenge_boards(submitted, HOW), HOW)


def test_a_whole_baseline_stays_whole_beside_a_partial_submission(made_topics, tmp_path: Path):
    lines = [json.loads(line) for line in made_topics.answers.read_text().splitlines()[1:]]
    for name, some in (("part", lines[:1]), ("chance", lines)):
        answers = {q: labels[0] for line in some for q, labels in line["gold"].items()}
        write_predictions(
            tmp_path / f"{name}.json", answers, Submission(protocol="meta-trained", baseline=name == "chance")
        )
    paths = [("", tmp_path / f"{name}.json") for name in ("part", "chance")]
    found = score_challenge(made_topics.folder, made_topics.answers, paths, partial=True)
    boards = [board.leaderboard.standings for board in challenge_boards(found, HOW)]
    (standings,) = [of for of in boards if len(of) == 2]
    assert {s.learner: (s.episodes, s.missing is None) for s in standings} == {"chance": (6, True), "part": (1, False)}
