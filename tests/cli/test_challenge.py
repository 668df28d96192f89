"""The verbs of challenges, from a study to a board."""

from __future__ import annotations

import json
from pathlib import Path

from taskloom.cli import shell_completion


def answered(made_topics, path: Path, **about: str) -> Path:
    """Answer all questions of the challenge rightly."""
    lines = [json.loads(line) for line in made_topics.answers.read_text(encoding="utf-8").splitlines()[1:]]
    answers = {q: {"label": labels[0]} for line in lines for q, labels in line["gold"].items()}
    path.write_text(json.dumps({"submission": about, "predictions": answers} if about else answers))
    return path


def test_make_says_what_was_made_and_what_to_keep(taskloom, made_topics, tmp_path: Path):
    ran = taskloom("challenge", "make", made_topics.study, "-o", tmp_path / "c")
    assert ran.code == 0
    assert ran.out.startswith(f"{tmp_path / 'c'}: 2 tasks, 12 episodes, 108 questions, hash ")
    assert "c-answers.jsonl: keep it" in ran.err
    assert "label another episode shows" in ran.err
    again = taskloom("challenge", "make", made_topics.study, "-o", tmp_path / "c")
    assert (again.code, "--force" in again.err) == (2, True)
    inside = taskloom("challenge", "make", made_topics.study, "-o", tmp_path / "d", "--answers", tmp_path / "d" / "a")
    assert inside.code == 2
    other = taskloom("challenge", "make", made_topics.study, "-o", tmp_path / "d", "--suite", tmp_path / "none")
    assert other.code == 2


def test_validate_counts_and_ends_with_1_where_something_is_wrong(taskloom, made_topics, tmp_path: Path):
    path = answered(made_topics, tmp_path / "p.json")
    good = taskloom("challenge", "validate", made_topics.folder, path)
    assert (good.code, good.err) == (0, "")
    assert good.out == "what\tcount\nquestions\t108\nanswered\t108\nnull\t0\nwith a score\t0\n"
    answers = json.loads(path.read_text())
    first = next(iter(answers))
    del answers[first]
    path.write_text(json.dumps({**answers, "x": {"label": "art"}}))
    bad = taskloom("challenge", "validate", made_topics.folder, path)
    assert bad.code == 1
    assert f"1 question without an answer; the first: {first}" in bad.err
    assert "1 answer to questions that the challenge does not have; the first: x" in bad.err
    as_json = taskloom("challenge", "validate", made_topics.folder, path, "--json")
    found = json.loads(as_json.out)
    assert (as_json.code, found["answered"]) == (1, 107)
    assert {fault["code"] for fault in found["faults"]} == {"question-missing", "question-unknown"}


def test_two_halves_are_merged_and_scored(taskloom, made_topics, tmp_path: Path):
    answers = list(json.loads(answered(made_topics, tmp_path / "p.json").read_text()).items())
    for name, part in (("a", answers[:50]), ("b", answers[50:])):
        (tmp_path / f"{name}.json").write_text(json.dumps(dict(part)))
    command = ("challenge", "merge", tmp_path / "a.json", tmp_path / "b.json", "-o", tmp_path / "all.json")
    assert taskloom(*command).out == f"{tmp_path / 'all.json'}: 108 answers\n"
    assert taskloom(*command).code == 2
    assert taskloom(*command, "--force").code == 0
    score = ("challenge", "score", made_topics.folder, "--answers", made_topics.answers)
    whole = taskloom(*score, f"mine={tmp_path / 'all.json'}", "--to", "csv")
    assert whole.code == 0
    assert "accuracy,0,,mine,1.0," in whole.out
    part = taskloom(*score, tmp_path / "a.json")
    assert (part.code, "--partial" in part.err) == (1, True)
    assert taskloom(*score, tmp_path / "a.json", "--partial").code == 0
    page = taskloom(*score, tmp_path / "all.json", "--to", "html", "-o", tmp_path / "r.html")
    assert (page.code, (tmp_path / "r.html").read_text(encoding="utf-8")[:9]) == (0, "<!doctype")
    items = taskloom(*score, tmp_path / "all.json", "--to", "items")
    assert len(items.out.splitlines()) == 109
    assert taskloom(*score, tmp_path / "all.json", "--to", "none").code == 2
    assert taskloom(*score, tmp_path / "missing.json").code == 2


def test_a_run_is_exported_and_placed_on_the_board(taskloom, made_topics, tmp_path: Path):
    assert taskloom("run", made_topics.study, "-o", tmp_path / "run").code == 0
    export = ("challenge", "export", made_topics.folder, tmp_path / "run", "-o", tmp_path / "submissions")
    ran = taskloom(*export)
    told = {line.partition(": ")[2] for line in ran.out.splitlines()}
    assert told == {"54 answers of 108", "108 answers"}
    assert taskloom(*export).code == 2
    theirs = answered(made_topics, tmp_path / "theirs.json", name="theirs", protocol="meta-trained")
    files = [theirs, *sorted((tmp_path / "submissions").iterdir())]
    board = ("challenge", "board", made_topics.folder, *files, "--answers", made_topics.answers)
    assert taskloom(*board).code == 1
    placed = taskloom(*board, "--partial", "-o", tmp_path / "board.html")
    assert placed.code == 0
    rows = [line.split("\t") for line in placed.out.splitlines()]
    assert rows[0][:5] == ["protocol", "metric", "shots", "task", "submission"]
    assert {row[0] for row in rows[1:]} == {"pretraining-only", "meta-trained"}
    assert "Meta-Trained" in (tmp_path / "board.html").read_text(encoding="utf-8")
    told = json.loads(taskloom(*board, "--partial", "--json").out)
    assert len(told) == len(rows) - 1
    unknown = taskloom(*board, "--partial", "--protocol", "meta")
    assert (unknown.code, "pretraining-only or meta-trained" in unknown.err) == (2, True)


def test_folders_and_protocols_are_completed(made_topics, monkeypatch):
    monkeypatch.chdir(made_topics.folder.parent)
    assert shell_completion.challenges("ch") == ["challenge"]
    assert shell_completion.challenges("su") == ["suite/"]
    assert shell_completion.protocols("m") == ["meta-trained"]


def test_no_output_replaces_predictions_or_answers(taskloom, own_topics, tmp_path: Path):
    path, board = answered(own_topics, tmp_path / "p.json"), ("challenge", "board", own_topics.folder)
    (tmp_path / "hard.json").hardlink_to(path)
    gold = ("--answers", own_topics.answers)
    for command, into in [
        (("challenge", "merge", path, "--force"), path),
        (("challenge", "merge", path, "--force"), tmp_path / "hard.json"),
        (("challenge", "score", own_topics.folder, path, *gold, "--to", "csv"), own_topics.answers),
        ((*board, f"mine={path}", *gold), path),
        ((*board, path, *gold), own_topics.folder / "items.jsonl"),
        (("challenge", "make", own_topics.study, "-o", tmp_path / "c", "--force", "--answers"), own_topics.study),
    ]:
        before = into.read_bytes()
        ran = taskloom(*command, *([into] if command[-1] == "--answers" else ["-o", into]))
        assert (ran.code, ran.out, "an output must not" in ran.err) == (2, "", True)
        assert into.read_bytes() == before


def test_what_can_not_all_be_exported_is_not_exported_in_part(taskloom, own_topics, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = own_topics.study
    study.write_text(
        study.read_text().replace("nearest: {}", "a b: {nearest: {}}").replace("majority: {}", "a-b: {majority: {}}")
    )
    assert taskloom("run", study).code == 0
    export = ("challenge", "export", own_topics.folder, "runs/topics", "-o", "out")
    ran = taskloom(*export, "--force")
    assert (ran.code, "a b and a-b would be written to one file" in ran.err) == (1, True)
    assert not Path("out").exists()
    assert taskloom(*export, "--learner", "a b").code == 0
    inside = taskloom(*export[:-1], own_topics.folder, "--learner", "a b")
    assert (inside.code, "an output must not be written into an input" in inside.err) == (2, True)
