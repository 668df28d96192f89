"""What people think: questions, sheets, what comes back, and the numbers made of it."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskloom.core import Answer, Example, Item, Labels, Shown, Suite, Task, Text
from taskloom.episodes import Shots
from taskloom.errors import SourceError, UnknownNameError, UsageError
from taskloom.messages import Note
from taskloom.people import answers, judgements, questions, sheets, summary
from taskloom.people.agreement import RESAMPLES, Level, agreement, alpha
from taskloom.people.judgements import Comparison, Pair, Rating
from taskloom.reports import How
from taskloom.reports.contrasts import contrast
from taskloom.reports.leaderboards import leaderboard
from taskloom.scores import Scored, metric, score
from taskloom.stats import Contrast, Estimate
from taskloom.studies.costs import Cost
from taskloom.studies.results import Outcome, Results
from taskloom.suites import rows
from taskloom.texts import alive, inert

if TYPE_CHECKING:
    from .conftest import FilesUpTo

NASTY = "=1+1, \"quoted\"\n第二行，道路; 'end'"
TASKS = ("colours", "capitals", "names")


def text_task(name: str) -> Task:
    return Task(id=name, instruction=f"Say {name}.", output=Text(), metrics=("exact-match", "rouge-l"))


def suite(size: int = 12) -> Suite:
    """Three tasks of texts, and one of labels; the reference of item n is "right n"."""
    labels = Task(id="labels", instruction="", output=Labels(("yes", "no")), metrics=("accuracy",))
    tasks = {name: text_task(name) for name in TASKS} | {"labels": labels}
    pools = {
        name: {
            "test": rows.pool(
                task,
                [
                    Example(
                        Item(f"{name}-{n}", {"input": f"{name} {n}"}),
                        ("yes",) if name == "labels" else (f"right {n}", f"also right {n}"),
                        "",
                    )
                    for n in range(size)
                ],
            )
        }
        for name, task in tasks.items()
    }
    return Suite(id="s", tasks=tasks, pools=pools)


def outcome(of: Suite, task: str, learner: str, said: Sequence[Answer | None], **where: Any) -> Outcome:
    examples = of.pools[task]["test"].take(range(len(said)))
    gold = tuple(example.gold for example in examples)
    scores = {name: score(metric(name, of.tasks[task].output), gold, said) for name in of.tasks[task].metrics}
    place: dict[str, Any] = {"shots": 0, "seed": 0, "index": 0} | where
    return Outcome(
        cell=f"{learner}/{task}/{place}", task=task, learner=learner, pool="test", rows=tuple(range(len(said))),
        items=tuple(e.item.id for e in examples), answers=tuple(said), gold=gold, scores=scores,
        counts={}, cost=Cost(), **place,
    )  # fmt: skip


def results(
    said: Mapping[str, Sequence[Answer | None]],
    tasks: Sequence[str] = TASKS,
    baselines: Sequence[str] = (),
    **where: int,
) -> Results:
    """A run in which learners give the same answers in every task."""
    size = max(len(found) for found in said.values())
    of = suite(size)
    outcomes = [outcome(of, task, name, found, **where) for task in tasks for name, found in said.items()]
    return Results(
        name="run", command="", suite=of, learners={name: name for name in said}, baselines=tuple(baselines),
        outcomes=tuple(outcomes), failures=(), missing=0, skipped={},
    )  # fmt: skip


def wrong(learner: str, size: int = 12) -> list[str]:
    return [f"{learner} says {n}" for n in range(size)]


@pytest.fixture
def run() -> Results:
    return results({"a": wrong("a"), "b": wrong("b"), "copy": wrong("copy")}, baselines=["copy"])


# --- questions -------------------------------------------------------------------------------------------------------


def test_every_learner_but_baselines_is_asked_about_on_the_same_items(run: Results):
    drawn = questions.draw(run, tasks=2, items=5)
    asked = {name: {(p.task, p.item) for p in drawn.key if p.learner == name} for name in ("a", "b")}
    assert len(drawn.asked) == len(drawn.key) == 20
    assert asked["a"] == asked["b"]
    assert len({task for task, _ in asked["a"]}) == 2
    assert {p.learner for p in questions.draw(run, ["copy"]).key} == {"copy"}


def test_a_question_shows_the_answer_and_the_reference_and_no_more(run: Results):
    drawn = questions.draw(run, items=3)
    for question, pair in zip(drawn.asked, drawn.key, strict=True):
        number = pair.item.rpartition("-")[2]
        ours, theirs = f"{pair.learner} says {number}", f"right {number}"
        assert (question.first, question.second) == ((ours, theirs) if pair.side == "first" else (theirs, ours))
        assert (question.instruction, question.input) == (f"Say {pair.task}.", f"{pair.task} {number}")
        assert set(asdict(question)) == {"id", "task", "instruction", "input", "first", "second"}


def test_the_same_run_and_seed_give_the_same_questions(run: Results):
    drawn = questions.draw(run, items=4)
    backwards = replace(run, outcomes=run.outcomes[::-1], learners=dict(sorted(run.learners.items(), reverse=True)))
    assert questions.draw(backwards, items=4) == drawn
    assert questions.draw(run, items=4, seed=1).key != drawn.key
    assert not {p.id for p in questions.draw(run, items=4, seed=1).key} & {p.id for p in drawn.key}


def test_more_questions_keep_those_that_were_there(run: Results):
    few, many = questions.draw(run, tasks=2, items=3), questions.draw(run, tasks=3, items=6)
    assert set(few.key) < set(many.key)


def test_sides_are_even_and_ids_do_not_tell_them():
    drawn = questions.draw(results({"a": wrong("a", 400), "b": wrong("b", 400)}), items=400)
    first = np.array([pair.side == "first" for pair in drawn.key])
    assert len(first) == 2400
    assert 0.46 < first.mean() < 0.54
    digits = np.array([[int(digit, 16) % 2 for digit in pair.id[1:]] for pair in drawn.key])
    assert all(0.46 < (digits[:, at] == first).mean() < 0.54 for at in range(digits.shape[1]))
    assert all(pair.id[0] == "q" for pair in drawn.key)  # no spreadsheet takes it for a number
    in_order = [pair.side for pair in sorted(drawn.key, key=lambda pair: pair.id)]
    assert 0.46 < np.mean([a == b for a, b in pairwise(in_order)]) < 0.54


def test_an_item_comes_again_only_after_all_others(run: Results):
    items = [pair.item for pair in questions.draw(run, items=4).key]
    assert items[:12] == items[12:]
    assert len(set(items[:12])) == 12


def test_what_equals_the_reference_or_is_no_answer_is_not_asked():
    found = results({"a": [" right 0\n", "also right 1", None, "  ", "Right 4", "x"]}, tasks=["names"])
    drawn = questions.draw(found)
    settled = {pair.item: (pair.settled, pair.side != "") for pair in drawn.key}
    assert settled == {
        "names-0": ("equal", False), "names-1": ("equal", False), "names-2": ("unusable", False),
        "names-3": ("unusable", False), "names-4": ("", True), "names-5": ("", True),
    }  # fmt: skip
    assert len(drawn.asked) == 2


def test_an_item_of_several_episodes_is_asked_about_once():
    of = suite()
    outcomes = [outcome(of, "names", "a", wrong(f"seed {seed}"), seed=seed) for seed in range(3)]
    found = replace(results({"a": wrong("a")}), suite=of, outcomes=tuple(outcomes))
    drawn = questions.draw(found, items=12)
    assert len({pair.item for pair in drawn.key}) == len(drawn.key) == 12
    assert len({pair.seed for pair in drawn.key}) > 1


def test_the_most_shots_are_asked_about_unless_others_are_named():
    of = suite()
    found = replace(
        results({"a": wrong("a")}),
        suite=of,
        learners={"a": "", "b": ""},
        outcomes=tuple(outcome(of, "names", n, wrong(n), shots=s) for n, s in (("a", 0), ("a", 4), ("b", 0))),
    )
    drawn = questions.draw(found)
    assert drawn.shots == 4
    assert drawn.left_out == {Note.of("learner-without-texts", learner="b", shots="4 shots"): 1}
    assert {pair.learner for pair in questions.draw(found, shots=0).key} == {"a", "b"}
    with pytest.raises(UsageError, match="shots must be one of 0, 4: 1"):
        questions.draw(found, shots=1)
    with pytest.raises(UsageError, match="no texts with 4 shots of b"):
        questions.draw(found, ["b"])
    names: dict[Shots, Shots] = {0: "drawn", 4: "all"}
    full = replace(found, outcomes=tuple(replace(o, shots=names[o.shots]) for o in found.outcomes))
    assert questions.draw(full).shots == "all"
    assert {pair.shots for pair in questions.draw(full, shots="drawn").key} == {"drawn"}


def test_what_can_not_be_asked_is_counted_or_refused(run: Results):
    of = suite()
    more = (*run.outcomes, outcome(of, "labels", "a", ["yes", "no"]))
    assert questions.draw(replace(run, outcomes=more)).left_out == {Note.of("task-without-text"): 1}
    fewer = [o for o in run.outcomes if (o.task, o.learner) != ("names", "b")]
    left_out = questions.draw(replace(run, outcomes=tuple(fewer))).left_out
    assert left_out == {Note.of("item-not-answered-by-all"): 12}
    with pytest.raises(UsageError, match="no answers yet"):
        questions.draw(replace(run, outcomes=()))
    with pytest.raises(UsageError, match="no task of the run has text as output"):
        questions.draw(replace(run, outcomes=more[-1:]))
    with pytest.raises(UnknownNameError, match="did you mean copy"):
        questions.draw(run, ["coppy"])
    apart = [o for o in run.outcomes if (o.learner == "a") == (o.task == "names")]
    with pytest.raises(UsageError, match="answered by all learners; choose some with --learner: a, b"):
        questions.draw(replace(run, outcomes=tuple(apart)))


def test_items_without_a_reference_are_left_out():
    found = results({"a": wrong("a", 3)}, tasks=["names"])
    (only,) = found.outcomes
    bare = replace(only, gold=((" ", "x"), *only.gold[1:]))
    drawn = questions.draw(replace(found, outcomes=(bare,)))
    assert drawn.left_out == {Note.of("item-without-reference"): 1}
    assert len(drawn.key) == 2


# --- sheets ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sheet.csv", "sheet.jsonl"])
def test_nasty_texts_come_back_from_a_sheet(tmp_path: Path, name: str):
    drawn = questions.draw(results({"a": [NASTY, "'=x", "-", "x\r\ny\udc00", "＝", "'tis"]}), items=6)
    sheets.write_comparisons(drawn, tmp_path / name)
    read = answers.read_sheets([tmp_path / name])
    shown = [{column: line.cells[column] for column in asdict(drawn.asked[0])} for line in read.lines]
    assert shown == [asdict(question) for question in drawn.asked]
    assert any(NASTY in (row["first"], row["second"]) for row in shown)
    assert answers.read_key(tmp_path / "sheet.key.jsonl") == {pair.id: pair for pair in drawn.key}


def test_no_cell_of_a_csv_sheet_is_a_formula(tmp_path: Path):
    drawn = questions.draw(results({"a": ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(1)", "\t=1", "＝1+1"]}), items=6)
    sheets.write_comparisons(drawn, tmp_path / "sheet.csv")
    with (tmp_path / "sheet.csv").open(encoding="utf-8-sig", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r", "＝"))]
    assert "'=cmd|' /C calc'!A0" in cells


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_no_part_of_a_csv_sheet_is_a_formula_wherever_it_is_split(tmp_path: Path, separator: str):
    texts = ["Say yes;=cmd|' /C calc'!A0", "a\t=1", "a|+1+x", "one\n=2+3", 'a;"=1"', "b; @SUM(1)"]
    sheets.write_comparisons(questions.draw(results({"a": texts}), items=6), tmp_path / "sheet.csv")
    with (tmp_path / "sheet.csv").open(encoding="utf-8-sig", newline="") as file:
        cells = [cell.strip(' "') for row in csv.reader(file, delimiter=separator) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "＝"))]


@given(st.text() | st.text(alphabet="a5'\" =+-@,;|\t\r\n"))
def test_inert_texts_come_alive_again(text: str):
    assert alive(inert(text)) == text
    assert not inert(text).startswith(("=", "+", "-", "@", "\t", "\r", "\n"))


def test_the_same_run_gives_the_same_bytes(run: Results, tmp_path: Path):
    for folder in ("one", "two"):
        sheets.write_comparisons(questions.draw(run), tmp_path / folder / "sheet.csv")
    for name in ("sheet.csv", "sheet.key.jsonl"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert (tmp_path / "one" / "sheet.csv").read_bytes().startswith(b'\xef\xbb\xbf"id","task"')  # so that Excel knows


def test_a_sheet_is_not_replaced_unless_it_is_meant(run: Results, tmp_path: Path):
    drawn = questions.draw(run)
    sheets.write_comparisons(drawn, tmp_path / "sheet.csv")
    (tmp_path / "sheet.csv").unlink()
    with pytest.raises(UsageError, match=r"use --force to replace it: .*sheet\.key\.jsonl"):
        sheets.write_comparisons(drawn, tmp_path / "sheet.csv")
    assert not (tmp_path / "sheet.csv").exists()
    sheets.write_comparisons(drawn, tmp_path / "sheet.csv", replace=True)
    with pytest.raises(UsageError, match=r"end in \.csv or \.jsonl: .*sheet\.xlsx"):
        sheets.write_comparisons(drawn, tmp_path / "sheet.xlsx")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(UsageError, match="a folder"):
        sheets.write_comparisons(drawn, tmp_path / "folder.csv", replace=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.csv", "sheet.csv", "sheet.key.jsonl"]


def test_a_sheet_that_can_not_be_written_leaves_no_key(tmp_path: Path, files_up_to: FilesUpTo):
    drawn = questions.draw(results({"a": ["long " * 1000] * 6}))
    sheets.write_comparisons(drawn, tmp_path / "sheet.csv")
    key, sheet = ((tmp_path / name).stat().st_size for name in ("sheet.key.jsonl", "sheet.csv"))
    assert key < sheet
    with files_up_to(sheet - 1), pytest.raises(OSError, match="File too large"):
        sheets.write_comparisons(drawn, tmp_path / "full" / "sheet.csv")
    sheets.write_comparisons(drawn, tmp_path / "full" / "sheet.csv")


def test_nothing_to_ask_is_refused(tmp_path: Path):
    drawn = questions.draw(results({"a": ["right 0", None]}))
    with pytest.raises(UsageError, match=r"nothing to compare: .*: 6"):
        sheets.write_comparisons(drawn, tmp_path / "sheet.csv")


def test_instructions_are_written_to_be_read():
    shown = (
        Shown({"input": "2 + 2"}, "4", "It is."),
        Shown({"input": "1 + 1"}, "3", "It is 2.", right=False),
        Shown({"input": "0"}, "0"),
    )
    (row,) = sheets.rating_rows([replace(text_task("sums"), examples=shown)])
    assert row == {
        "id": "sums",
        "definition": "Say sums.",
        "positive": "1. Input: 2 + 2\nOutput: 4\nWhy: It is.\n\n2. Input: 0\nOutput: 0",
        "negative": "1. Input: 1 + 1\nOutput: 3\nWhy: It is 2.",
        "rating": "", "typos": "", "clarity": "", "rater": "",
    }  # fmt: skip


def test_cells_that_a_spreadsheet_cuts_are_counted():
    assert sheets.too_long([{"id": "x" * 32_767, "input": "x" * 32_768}]) == 1


# --- what comes back -------------------------------------------------------------------------------------------------


def pair(id_: str, learner: str = "a", task: str = "t", **more: Any) -> Pair:
    settled = {"side": "", "settled": more["settled"]} if "settled" in more else {"side": more.get("side", "first")}
    return Pair(id=id_, task=task, item=f"i-{id_}", learner=learner, cell="c", shots=0, seed=0, **settled)


KEY = {name: pair(name) for name in ("q1", "q2", "q3")} | {"q4": pair("q4", settled="equal")}


def sheet(path: Path, *lines: str, header: str = "id,choice,rater,comment") -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return path


def compared(*paths: Path, encoding: str = "utf-8-sig") -> answers.Answers[Comparison]:
    return answers.comparisons(answers.read_sheets(paths, encoding), KEY)


def test_choices_are_read_whatever_their_case_and_blanks(tmp_path: Path):
    found = compared(sheet(tmp_path / "s.csv", "q1, First ,ann,", "q2,TIE, bo ,fine", "q3,,ann,", ",,,"))
    assert found.said == (Comparison("q1", "ann", "first"), Comparison("q2", "bo", "tie", "fine"))
    assert (found.blank, found.about) == (1, ("q1", "q2", "q3"))


def test_who_names_nobody_goes_by_the_name_of_the_file(tmp_path: Path):
    named = sheet(tmp_path / "ann.csv", "q1,tie,,")
    without = sheet(tmp_path / "bo.csv", "q1;tie;so, so", header="id;choice;comment")  # as some countries write it
    found = compared(named, without, named)
    assert [(one.rater, one.comment) for one in found.said] == [("ann", ""), ("bo", "so, so")]
    again = sheet(tmp_path / "other" / "ann.csv", "q2,tie,,")
    with pytest.raises(UsageError, match=r"two files with the same name.*other/ann\.csv"):
        compared(named, again)
    sheet(tmp_path / "other" / "ann.csv", "q2,tie,cy,")
    assert [one.rater for one in compared(named, again).said] == ["ann", "cy"]


def test_who_is_named_in_one_row_only_is_the_rater_of_the_file(tmp_path: Path):
    ann = sheet(tmp_path / "a.csv", "q1,tie,,", "q2,tie,Ann,", "q3,,,odd")
    bo = sheet(tmp_path / "other" / "a.csv", "q1,tie,Bo,", "q2,tie,,")  # the files' names are not needed
    assert [one.rater for one in compared(ann, bo).said] == ["Ann"] * 3 + ["Bo"] * 2


def test_rows_without_a_rater_are_faults_where_a_file_has_several(tmp_path: Path):
    lines = ["q1,tie,ann,", "q2,tie,,", "q1,tie,bo,", "q3,,,odd", "q2,,,"]
    with pytest.raises(SourceError) as refused:
        compared(sheet(tmp_path / "s.csv", *lines))
    told = "rater is missing, and the file has several"
    assert refused.value.faults == (f"{tmp_path}/s.csv:3: {told}: 'q2'", f"{tmp_path}/s.csv:5: {told}: 'q3'")
    found = compared(sheet(tmp_path / "s.csv", lines[0], lines[2], lines[4]))
    assert ([one.rater for one in found.said], found.blank) == (["ann", "bo"], 1)  # nothing said needs no name


def test_json_lines_are_read_with_their_types(tmp_path: Path):
    path = tmp_path / "s.jsonl"
    path.write_text('{"id": "q1", "choice": "tie", "more": [1], "comment": "\'=x"}\n{"id": "q2", "choice": null}\n')
    found = compared(path)
    assert (found.said, found.blank) == ((Comparison("q1", "s", "tie", "'=x"),), 1)


def test_all_faults_are_named_by_file_and_line(tmp_path: Path):
    lines = ["q1,frist,ann,", "q2,tie,ann,", "q2,first,ann,", "zz,tie,ann,", "q3,tie", "q4,tie,ann,", '"q1\n",tie,bo,']
    with pytest.raises(SourceError) as refused:
        compared(sheet(tmp_path / "s.csv", *lines), sheet(tmp_path / "t.csv", "q2,second,ann,"))
    told = str(refused.value)
    for fault in (
        "s.csv:2: choice must be one of first, second, tie: 'frist'",
        "s.csv:4: 'ann' answered differently at",
        "s.csv:5: id is not in the key: 'zz'",
        "s.csv:6: 2 cells, the header has 4",
        "s.csv:7: id is not in the key: 'q4'",  # nobody was asked about it
        "t.csv:2: 'ann' answered differently at",
    ):
        assert fault in told
    assert len(refused.value.faults) == 6


def test_all_faults_of_a_row_are_named(tmp_path: Path):
    lines = ["q1,tie,ann,", "q1,tie,bo,", "zz,frist,,"]
    with pytest.raises(SourceError) as refused:
        compared(sheet(tmp_path / "s.csv", *lines))
    assert [fault.partition("s.csv:4: ")[2] for fault in refused.value.faults] == [
        "id is not in the key: 'zz'",
        "choice must be one of first, second, tie: 'frist'",
        "rater is missing, and the file has several: 'zz'",
    ]
    with pytest.raises(SourceError) as refused:
        answers.ratings(answers.read_sheets([sheet(tmp_path / "s.csv", ",7,ann", header="id,rating,rater")]))
    assert len(refused.value.faults) == 2


def test_columns_tell_what_may_be_said_and_are_read_by_either_name(run: Results, tmp_path: Path):
    sheets.write_comparisons(questions.draw(run), tmp_path / "c.csv")
    sheets.write_comparisons(questions.draw(run), tmp_path / "c.jsonl", replace=True)
    sheets.write_ratings([text_task("t")], tmp_path / "r.csv")
    assert ',"choice (first, second or tie)",' in (tmp_path / "c.csv").read_text(encoding="utf-8")
    assert '"choice": ""' in (tmp_path / "c.jsonl").read_text(encoding="utf-8")
    assert ',"rating (1 to 5)",' in (tmp_path / "r.csv").read_text(encoding="utf-8")
    told = '"choice (first, second or tie)"'
    for header in (f"id,{told}", "id,choice"):
        assert compared(sheet(tmp_path / "s.csv", "q1,tie", header=header)).said == (Comparison("q1", "s", "tie"),)
    semicolons = sheet(tmp_path / "s.csv", "tie;q1", header="choice (first, second or tie);id")
    assert compared(semicolons).said == (Comparison("q1", "s", "tie"),)
    rated = sheet(tmp_path / "s.csv", "t,4", header="id,rating (1 to 5)")
    assert answers.ratings(answers.read_sheets([rated])).said == (Rating("t", "s", 4),)


def test_a_sheet_with_both_names_of_a_column_is_read_unless_they_differ(tmp_path: Path):
    header = 'id,"choice (first, second or tie)",choice'
    found = compared(sheet(tmp_path / "s.csv", "q1,,tie", "q2,tie,", "q3,tie,tie", header=header))
    assert [one.choice for one in found.said] == ["tie"] * 3
    with pytest.raises(SourceError, match="choice must be one of first, second, tie: 'tie and first'"):
        compared(sheet(tmp_path / "s.csv", "q1,tie,first", header=header))


def test_many_faults_are_cut_short(tmp_path: Path):
    with pytest.raises(SourceError, match="and 11 more"):
        compared(sheet(tmp_path / "s.csv", "q1,tie,ann,", *["q1,x,ann,"] * 31))


def test_the_same_answer_twice_counts_once_and_no_word_is_lost(tmp_path: Path):
    found = compared(sheet(tmp_path / "s.csv", "q1,,ann,hm", "q1,tie,ann,fine", "q1,tie,ann,fine", "q2,,ann,odd"))
    assert found.said == (Comparison("q1", "ann", "tie", "hm\nfine"), Comparison("q2", "ann", None, "odd"))


def test_nothing_to_rate_is_refused(tmp_path: Path):
    for name in ("r.csv", "r.jsonl"):
        with pytest.raises(UsageError, match="no tasks to rate"):
            sheets.write_ratings([], tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_ratings_are_whole_numbers_of_the_scale(tmp_path: Path):
    header = "id,rating,typos,clarity,rater"
    good = sheet(tmp_path / "s.csv", "t,4,,,ann", "t, 4.0 ,teh,,bo", "u,,,long,ann", "u,,,,bo", header=header)
    found = answers.ratings(answers.read_sheets([good]))
    assert found.said == (
        Rating("t", "ann", 4), Rating("t", "bo", 4, "teh"), Rating("u", "ann", None, clarity="long"),
    )  # fmt: skip
    assert found.blank == 2
    lines = [f"t,{text},,,{n}" for n, text in enumerate(["0", "6", "3.5", "good", "nan", "-1"])]
    with pytest.raises(SourceError) as refused:
        answers.ratings(answers.read_sheets([sheet(good, *lines, ",4,,,ann", header=header)]))
    assert len(refused.value.faults) == 7
    assert "s.csv:4: rating must be an integer from 1 to 5: '3.5'" in str(refused.value)


def test_a_task_whose_id_looks_like_a_formula_comes_back(tmp_path: Path):
    sheets.write_ratings([text_task("=a+b")], tmp_path / "s.csv")
    text = (tmp_path / "s.csv").read_text(encoding="utf-8")
    (tmp_path / "s.csv").write_text(text.replace(',"","","",""\n', ",5,-,'@,ann\n"), encoding="utf-8")
    found = answers.ratings(answers.read_sheets([tmp_path / "s.csv"]))
    assert found.said == (Rating("=a+b", "ann", 5, "-", "@"),)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "the file is empty"),
        (b"id,choice\n", "no readable rows"),
        (b"a,b\n1,2\n", "a column id, and either choice or rating; columns of .*: a, b"),
        (b"id,choice,rating\nq1,tie,4\n", "either choice or rating"),
        (b"id,choice,comment\nq1,tie,caf\xe9\n", "--file-encoding latin-1"),
        (b'id,choice\nq1,"tie\n', "never closed"),
    ],
)
def test_what_is_no_sheet_is_refused(tmp_path: Path, content: bytes, told: str):
    (tmp_path / "s.csv").write_bytes(content)
    with pytest.raises(SourceError, match=told):
        compared(tmp_path / "s.csv")


def test_sheets_of_two_kinds_and_of_another_key_are_refused(tmp_path: Path):
    ours, ratings = sheet(tmp_path / "s.csv", "q9,tie,,"), sheet(tmp_path / "r.csv", "t,4", header="id,rating")
    with pytest.raises(UsageError, match=r"sheets must be of one kind: comparisons .* and ratings"):
        answers.read_sheets([ours, ratings])
    with pytest.raises(UsageError, match="none of the 1 ids is in the key; use --key FILE"):
        compared(ours)


def test_another_encoding_can_be_said(tmp_path: Path):
    (tmp_path / "s.csv").write_bytes("id,choice,comment\nq1,tie,道路\n".encode("gb18030"))
    assert compared(tmp_path / "s.csv", encoding="gb18030").said[0].comment == "道路"


def test_the_key_is_found_beside_the_first_sheet(tmp_path: Path):
    with pytest.raises(UsageError, match=r"use --key FILE .*: none"):
        answers.find_key([tmp_path / "ann.csv"])
    (tmp_path / "sheet.key.jsonl").touch()
    assert answers.find_key([tmp_path / "ann.csv"]) == tmp_path / "sheet.key.jsonl"
    (tmp_path / "ann.key.jsonl").touch()
    assert answers.find_key([tmp_path / "ann.csv"]) == tmp_path / "ann.key.jsonl"
    with pytest.raises(UsageError, match=r"ann\.key\.jsonl, .*sheet\.key\.jsonl"):
        answers.find_key([tmp_path / "bo.csv"])


@pytest.mark.parametrize(
    "change", [{"side": "left"}, {"settled": "maybe"}, {"shots": "0"}, {"id": None}, {"settled": "equal"}]
)
def test_what_is_no_key_is_refused(tmp_path: Path, change: dict[str, object]):
    path = tmp_path / "s.key.jsonl"
    path.write_text(json.dumps(asdict(KEY["q1"])) + "\n" + json.dumps(asdict(KEY["q1"]) | change) + "\n")
    with pytest.raises(SourceError, match=r"not the key of a sheet: .*:\n  s\.key\.jsonl:2: invalid row"):
        answers.read_key(path)
    path.write_text((json.dumps(asdict(KEY["q1"])) + "\n") * 2)
    with pytest.raises(SourceError, match="duplicate id: 'q1'"):
        answers.read_key(path)


# --- agreement -------------------------------------------------------------------------------------------------------

NONE = math.nan
BINARY = [[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]]
LETTERS = [[0, 0, 1, 1, 3, 2, 2, 2, 4, 3, 3, 0], [1, 0, 1, 1, 1, 2, 2, 2, 4, 3, 3, 3]]
FOUR = [  # observers, on twelve units, with gaps
    [0, 1, 2, 2, 1, 0, 3, 0, 1, NONE, NONE, NONE],
    [0, 1, 2, 2, 1, 1, 3, 0, 1, 4, NONE, 2],
    [NONE, 2, 2, 2, 1, 2, 3, 1, 1, 4, 0, NONE],
    [0, 1, 2, 2, 1, 3, 3, 0, 1, 4, 0, NONE],
]


def units(observers: Sequence[Sequence[float]]) -> list[list[int]]:
    found = [[int(value) for value in unit if not math.isnan(value)] for unit in zip(*observers, strict=True)]
    return [unit for unit in found if len(unit) > 1]


@pytest.mark.parametrize(
    ("observers", "level", "published"),
    [(BINARY, "nominal", 0.095), (LETTERS, "nominal", 0.692), (FOUR, "nominal", 0.743), (FOUR, "ordinal", 0.815)],
)
def test_alpha_is_what_krippendorff_worked_out(observers: list[list[float]], level: Level, published: float):
    """The examples of Krippendorff (2011), "Computing Krippendorff's alpha-reliability"."""
    found = alpha(units(observers), 5, level)
    assert found.value == pytest.approx(published, abs=5e-4)
    assert found.low < found.value <= found.high
    assert found.n == len(units(observers))


@given(st.lists(st.lists(st.integers(0, 4), min_size=2, max_size=4), min_size=1, max_size=12), st.booleans())
def test_alpha_equals_the_reference_package(judged: list[list[int]], ordinal: bool):
    level: Level = "ordinal" if ordinal else "nominal"
    found = alpha(judged, 5, level).value
    if len({value for unit in judged for value in unit}) < 2:
        assert math.isnan(found)
        return
    counts = [[unit.count(value) for value in range(5)] for unit in judged]
    assert found == pytest.approx(krippendorff.alpha(value_counts=counts, level_of_measurement=level), abs=1e-9)


def test_there_is_no_agreement_where_nobody_overlapped():
    found = agreement({"x": {"ann": 1}, "y": {"bo": 1}}, 3, "nominal")
    assert (found.alpha.n, found.raters, math.isnan(found.alpha.value)) == (0, 0, True)
    found = agreement({"x": {"ann": 1, "bo": 1}, "y": {"bo": 0, "cy": 0}, "z": {"dee": 2}}, 3, "nominal")
    assert (found.alpha.value, found.alpha.n, found.raters) == (1.0, 2, 3)


# --- sums ------------------------------------------------------------------------------------------------------------


def said(*comparisons: tuple[str, str, str]) -> answers.Answers[Comparison]:
    found = tuple(Comparison(id_, rater, choice) for id_, rater, choice in comparisons)  # type: ignore[arg-type]
    return answers.Answers(found, 0, ())


def test_the_score_is_how_often_an_answer_is_at_least_as_good():
    key = {
        "q1": pair("q1"), "q2": pair("q2", side="second"), "q3": pair("q3"), "q4": pair("q4", settled="equal"),
        "q5": pair("q5", settled="unusable", task="u"), "q6": pair("q6", task="u"),
    }  # fmt: skip
    choices = [("q1", "ann", "first"), ("q2", "ann", "tie"), ("q3", "ann", "second"), ("q6", "ann", "second")]
    found = summary.compared(key, said(*choices)).learners["a"]
    assert found.score.value == pytest.approx(3 / 6)  # win, tie, loss, equal, unusable, loss
    assert found.score.n == 6
    assert found.score.low < 0.5 < found.score.high
    assert (found.wins, found.ties, found.losses) == (1, 1, 2)
    assert (found.equal, found.unusable, found.unanswered) == (1, 1, 0)
    assert {task: (e.value, e.n) for task, e in found.tasks.items()} == {"t": (0.75, 4), "u": (0.0, 2)}


def test_what_nobody_judged_counts_as_what_was():
    key = {f"q{n}": pair(f"q{n}") for n in range(4)} | {f"e{n}": pair(f"e{n}", settled="equal") for n in range(4)}
    found = summary.compared(key, said(("q0", "ann", "second"), ("q1", "ann", "first"))).learners["a"]
    assert found.score.value == pytest.approx((4 * 1 / 2 + 4) / 8)  # half of the four that were asked, and four equal
    assert (found.score.n, found.unanswered) == (6, 2)
    other = key | {"r0": pair("r0", "b"), "r1": pair("r1", "b", settled="equal")}
    silent = summary.compared(other, said(("q0", "ann", "second"))).learners["b"]
    assert math.isnan(silent.score.value)  # one that is equal says nothing of the other


def test_several_raters_share_an_item_and_agree_by_verdicts():
    key = {"q1": pair("q1"), "q2": pair("q2", side="second")}
    votes = [("q1", "ann", "first"), ("q1", "bo", "second"), ("q2", "ann", "second"), ("q2", "bo", "second")]
    found = summary.compared(key, said(*votes))
    assert found.learners["a"].score.value == pytest.approx((0.5 + 1) / 2)
    assert found.learners["a"].score.n == 2
    # wins and losses, not sides: [win, loss], [win, win] is o = 2, n = (3, 1), so 1 - 3 * 2 / 6
    assert found.agreement.alpha.value == pytest.approx(0.0)
    assert found.raters == {"ann": 2, "bo": 2}


def test_two_learners_are_compared_on_the_same_items():
    key = {f"{name}{n}": pair(f"{name}{n}", name, task=f"t{n % 8}") for name in "ab" for n in range(40)}
    same = {id_: replace(p, item=f"i{id_[1:]}") for id_, p in key.items()}
    choices = [(id_, "ann", "first" if p.learner == "a" else "second") for id_, p in same.items()]
    (contrast,) = summary.compared(same, said(*choices)).contrasts
    assert (contrast.a, contrast.b, contrast.difference, contrast.n) == ("a", "b", 1.0, 40)
    assert contrast.p == pytest.approx(1 / 1001)  # no change of sides at random is as far, of a thousand
    assert summary.compared(same, said(("a0", "ann", "tie"))).contrasts == ()


def half_settled(size: int = 100) -> dict[str, Pair]:
    """Two learners on ten tasks; what is odd equals the reference for both of them."""
    return {
        f"{name}{n}": replace(
            pair(f"{name}{n}", name, f"t{n % 20 // 2}", **({"settled": "equal"} if n % 2 else {})), item=f"i{n}"
        )
        for name in "ab"
        for n in range(size)
    }


@pytest.mark.parametrize(("step_a", "step_b", "n"), [(10, 10, 60), (4, 6, 59), (2, 2, 100)])
def test_contrasts_are_the_differences_of_scores(step_a: int, step_b: int, n: int):
    key = half_settled()
    wins = [(f"a{n}", "ann", "first") for n in range(0, 100, step_a)]
    losses = [(f"b{n}", "ann", "second") for n in range(0, 100, step_b)]
    found = summary.compared(key, said(*wins, *losses))
    (contrast,) = found.contrasts
    assert [one.score.value for one in found.learners.values()] == pytest.approx([1.0, 0.5])
    assert contrast.difference == pytest.approx(0.5)
    assert contrast.low <= 0.5 <= contrast.high
    assert contrast.n == n


def test_what_is_settled_for_one_learner_counts_for_it_in_a_contrast():
    settled = {"a0": replace(pair("a0", settled="equal"), item="i0")}
    asked = {f"{name}{n}": replace(pair(f"{name}{n}", name), item=f"i{n}") for name in "ab" for n in range(4)}
    votes = [("a1", "ann", "second"), ("a2", "ann", "first"), ("b1", "ann", "first"), ("b3", "ann", "second")]
    (found,) = summary.compared(asked | settled, said(*votes)).contrasts
    # of both only i1 is judged: a has one equal and three like i1, (1 + 0) / 4; b four like i1, 4 / 4
    assert found.difference == pytest.approx(0.25 - 1.0)
    assert found.n == 1
    apart = [("a1", "ann", "first"), ("b3", "ann", "first")]
    assert summary.compared(asked | settled, said(*apart)).contrasts == ()


def test_many_learners_can_still_differ_significantly():
    key = {
        f"{name}{n}": replace(pair(f"{name}{n}", name, f"t{n}"), item=f"i{n}")
        for name in "abcdefghijk"
        for n in range(20)
    }
    votes = [(id_, "ann", "first" if p.learner == "a" else "second") for id_, p in key.items()]
    found = summary.compared(key, said(*votes)).contrasts
    assert len(found) == 55
    assert [c.p for c in found if c.a == "a"] == pytest.approx([55 / 5501] * 10)  # one of 5,501, and Holm's 55 times
    assert {c.p for c in found if c.a != "a"} == {1.0}


def no_interval(of: Estimate | Contrast) -> bool:
    return math.isnan(of.low) and math.isnan(of.high)


def test_one_task_or_one_item_has_no_interval():
    key = {f"{name}{n}": replace(pair(f"{name}{n}", name), item=f"i{n}") for name in "ab" for n in range(6)}
    votes = [(id_, "ann", "first" if n % 2 else "second") for n, id_ in enumerate(key)]
    found = summary.compared(key, said(*votes))
    assert no_interval(found.learners["a"].score)
    assert no_interval(found.contrasts[0])
    assert found.learners["a"].tasks["t"].low < 0.5 < found.learners["a"].tasks["t"].high  # over the items of the task
    more = key | {"a6": replace(pair("a6", "a", "u"), item="i6")}
    found = summary.compared(more, said(*votes, ("a6", "ann", "first")))
    assert not no_interval(found.learners["a"].score)
    assert no_interval(found.learners["a"].tasks["u"])
    rated = summary.rated(answers.Answers(tuple(Rating("t", f"r{n}", n + 2) for n in range(3)), 0, ("t",)))
    assert (rated.mean.value, rated.mean.n) == (3.0, 3)
    assert no_interval(rated.mean)
    assert no_interval(rated.good)


def test_nothing_filled_in_is_no_score():
    with pytest.raises(SourceError, match="no row has a choice yet; empty rows: 7"):
        summary.compared(KEY, answers.Answers((Comparison("q1", "ann", None, "odd"),), 7, ()))
    with pytest.raises(SourceError, match="no row has a rating yet"):
        summary.rated(answers.Answers((Rating("t", "ann", None),), 1, ("t",)))


def test_ratings_by_task_and_over_all():
    scores = {"t": [5, 4, 4], "u": [2, 3, 1], "v": [4]}
    given = [Rating(task, f"r{n}", score) for task, by in scores.items() for n, score in enumerate(by)]
    given[0] = replace(given[0], typos="teh", clarity="long")
    found = summary.rated(answers.Answers(tuple(given), 2, ("t", "u", "v", "w")))
    assert found.tasks["t"].n == 3
    assert found.tasks["t"].mean == pytest.approx(13 / 3)
    assert found.tasks["t"].deviation == pytest.approx(math.sqrt(1 / 3))
    assert math.isnan(found.tasks["v"].deviation)
    assert found.mean.n == 7
    assert found.mean.value == pytest.approx(23 / 7)
    assert found.mean.low < 23 / 7 < found.mean.high
    assert found.good.value == pytest.approx(4 / 7)
    assert found.few == ("v", "w")
    assert [(r.column, r.text, r.rater) for r in found.remarks] == [("typos", "teh", "r0"), ("clarity", "long", "r0")]
    counts = np.array([[0, 0, 0, 2, 1], [1, 1, 1, 0, 0]])
    expected = krippendorff.alpha(value_counts=counts, level_of_measurement="ordinal")
    assert found.agreement.alpha.n == 2
    assert found.agreement.alpha.value == pytest.approx(expected)


def test_order_of_sheets_and_rows_changes_no_number():
    key = {f"q{n}": pair(f"q{n}", task=f"t{n % 3}") for n in range(9)}
    choices = [
        (id_, rater, judgements.CHOICES[(n + len(rater)) % 3]) for n, id_ in enumerate(key) for rater in ("a", "bo")
    ]
    backwards = dict(reversed(key.items()))
    one, other = summary.compared(key, said(*choices)), summary.compared(backwards, said(*choices[::-1]))
    assert one == other


# --- a metric beside people ------------------------------------------------------------------------------------------


def test_people_and_a_metric_are_correlated_over_learners():
    learners = {"good": 9, "fair": 5, "poor": 1}
    run = results({name: [f"right {n}" if n < k else "no" for n in range(10)] for name, k in learners.items()})
    drawn = questions.draw(run, items=10)
    key = {pair.id: pair for pair in drawn.key}
    losses = said(*((p.id, "ann", "second" if p.side == "first" else "first") for p in key.values() if not p.settled))
    found = summary.beside(run, key, answers=losses, people=summary.compared(key, losses).learners)
    assert found.metric == "exact-match"
    assert {name: e.value for name, e in found.learners.items()} == {"good": 0.9, "fair": 0.5, "poor": 0.1}
    assert found.correlation.value == pytest.approx(1.0)
    assert found.correlation.n == 3
    with pytest.raises(UsageError, match="the key is of another run"):
        summary.beside(results({"good": wrong("good")}, seed=7), key, answers=losses, people={})


def test_a_metric_is_scored_on_the_items_that_people_judged():
    given = [f"right {n}" for n in range(5)] + ["RIGHT 5", *["no"] * 4]  # what differs in case is asked about
    run = results({"a": given, "b": wrong("b", 10)})
    key = {pair.id: pair for pair in questions.draw(run, items=10).key}
    judged = [p for p in key.values() if p.learner == "a" and p.item.endswith(("-5", "-6"))]
    votes = said(*((p.id, "ann", p.side) for p in judged))
    people = summary.compared(key, votes).learners
    found = summary.beside(run, key, answers=votes, people=people).learners
    assert found["a"].value == pytest.approx((5 + 5 * 1 / 2) / 10)  # one right of the two judged stands for five
    assert found["a"].n == people["a"].score.n == 3 * 7
    assert math.isnan(found["b"].value)
    assert found["b"].n == people["b"].score.n == 0


def test_two_learners_have_no_correlation_to_speak_of():
    assert math.isnan(summary.against({"a": 1.0, "b": 2.0}, {"a": 1.0, "b": 2.0}).value)
    assert summary.against({"a": 1.0, "b": 2.0, "c": math.nan}, {"a": 1.0, "b": 2.0, "c": 3.0}).n == 2


def test_the_published_correlation_of_five_systems_comes_out():
    """Figure 3 of the paper on Super-NaturalInstructions prints 0.998, and no interval."""
    systems = ("copying the input", "T0", "InstructGPT", "Tk-Instruct 3B", "Tk-Instruct 11B")
    people = dict(zip(systems, (15.2, 40.0, 64.6, 64.1, 76.9), strict=True))
    found = summary.against(dict(zip(systems, (14.2, 32.3, 52.1, 54.3, 62.0), strict=True)), people)
    assert found.value == pytest.approx(0.998, abs=5e-4)
    assert found.n == 5
    assert 0.9 < found.low < found.value < found.high < 1


def test_what_people_say_is_estimated_as_scores_of_reports_are():
    wins = {f"{t}-{n}": (7 * t + 3 * n) % 4 > 0 for t in range(8) for n in range(5)}
    key = {id_: pair(id_, "a", f"t{id_[0]}") for id_ in wins}
    found = summary.compared(key, said(*((id_, "ann", "first" if won else "second") for id_, won in wins.items())))
    outcomes = [
        Outcome(
            cell="", task=f"t{t}", learner="a", shots=0, seed=0, index=0, pool="", rows=(), answers=(), gold=(),
            items=tuple(f"i-{t}-{n}" for n in range(5)), counts={}, cost=Cost(),
            scores={"m": Scored(metric("exact-match"), np.array([[wins[f"{t}-{n}"]] for n in range(5)], float), {})},
        )
        for t in range(8)
    ]  # fmt: skip
    made = leaderboard("m", 0, outcomes, how=How(count=RESAMPLES, tasks="drawn"))
    score, expected = found.learners["a"].score, made.standings[0].by_instance
    assert (score.value, score.low, score.high) == pytest.approx((expected.value, expected.low, expected.high))
    assert found.learners["a"].tasks["t3"] == made.tasks["t3"]["a"]


def votes_of(chances: dict[str, float], tasks: int = 12, items: int = 5) -> tuple[dict[str, Pair], dict[str, bool]]:
    """Make the key of learners that were all judged on the same items, and what they won."""
    rng = np.random.default_rng(3)
    key = {
        f"{name}-{t}-{n}": replace(pair(f"{name}-{t}-{n}", name, f"t{t:02}"), item=f"{t}-{n}")
        for name in chances
        for t in range(tasks)
        for n in range(items)
    }
    return key, {id_: bool(rng.random() < chances[p.learner]) for id_, p in key.items()}


def test_contrasts_of_people_are_those_of_reports():
    key, wins = votes_of({"a": 0.8, "b": 0.6})
    votes = said(*((id_, "ann", "first" if won else "second") for id_, won in wins.items()))
    (found,) = summary.compared(key, votes).contrasts
    outcomes = [
        Outcome(
            cell="", task=f"t{t:02}", learner=name, shots=0, seed=0, index=0, pool="", rows=(), answers=(), gold=(),
            items=tuple(f"{t}-{n}" for n in range(5)), counts={}, cost=Cost(),
            scores={
                "m": Scored(metric("exact-match"), np.array([[wins[f"{name}-{t}-{n}"]] for n in range(5)], float), {})
            },
        )
        for name in "ab"
        for t in range(12)
    ]  # fmt: skip
    expected = contrast("a", "b", "m", 0, outcomes, how=How(count=RESAMPLES, tasks="drawn"))
    assert (found.difference, found.low, found.high, found.p, found.n) == pytest.approx(
        (expected.difference, expected.low, expected.high, expected.p, expected.n)
    )


def test_learners_that_are_never_as_good_have_intervals_that_have_a_width():
    key, wins = votes_of({"a": 0.0, "b": 0.0})
    found = summary.compared(key, said(*((id_, "ann", "second") for id_ in wins)))
    one, task, (pair_of,) = found.learners["a"].score, found.learners["a"].tasks["t00"], found.contrasts
    assert (one.value, one.low, one.high) == pytest.approx((0, 0, 1.96**2 / (12 + 1.96**2)), abs=1e-4)  # of 12 tasks
    assert (task.value, task.low, task.high) == pytest.approx((0, 0, 1.96**2 / (5 + 1.96**2)), abs=1e-4)
    assert -0.3 < pair_of.low < 0 < pair_of.high < 0.3


def test_items_of_one_record_are_drawn_together_where_records_are_known():
    key, wins = votes_of({"a": 0.6, "b": 0.6}, tasks=6, items=4)
    alike = {id_: wins[f"{id_[0]}-0-{id_[-1]}"] for id_ in wins}  # all tasks ask about the same four records
    votes = said(*((id_, "ann", "first" if won else "second") for id_, won in alike.items()))
    records = {id_: int(id_[-1]) for id_ in key}
    own, shared = summary.compared(key, votes), summary.compared(key, votes, records)
    assert own.learners["a"].score.value == shared.learners["a"].score.value
    width = [c.high - c.low for c in (own.contrasts[0], shared.contrasts[0])]
    assert width[1] > 1.5 * width[0]


def test_records_are_those_of_the_run(run: Results):
    drawn = {p.id: p for p in questions.draw(run, items=2).key}
    assert summary.records_in(run, drawn) == {}  # the run does not know them: each item is its own
    known = replace(run, outcomes=tuple(replace(o, records=tuple(range(len(o.items)))) for o in run.outcomes))
    items = {o.cell: o.items for o in run.outcomes}
    assert summary.records_in(known, drawn) == {id_: items[p.cell].index(p.item) for id_, p in drawn.items()}
