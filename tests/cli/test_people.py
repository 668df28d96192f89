"""What people think, from the command line: sheets are written, filled in as people do, and summed up."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from taskloom.benchmarks import build
from taskloom.people import judgements
from taskloom.people.sheets import TOLD
from taskloom.sources.table import Field
from taskloom.suites.store import write

LEARNER = """
from dataclasses import dataclass
from typing import ClassVar
from taskloom import Learner

@dataclass(frozen=True)
class Words(Learner):
    count: int = 1
    version: ClassVar[int] = 1
    outputs: ClassVar[frozenset] = frozenset({"text", "labels"})
    unaided: ClassVar[frozenset] = outputs

    def fit(self, task, support, dev, *, seed, tools):
        return self

    def predict(self, items):
        given = [" ".join(next(iter(item.fields.values())).split()[: self.count]) for item in items]
        return [None, "=1+1, 道路", *given[2:]]
"""
STUDY = """
format: 1
name: small
baselines: true
suite: suite
tasks: ["abstract->title", "abstract->category"]
protocol: {seeds: 1, shots: [0], query: 16}
learners:
  two: {"words.py:Words": {count: 2}}
  four: {"words.py:Words": {count: 4}}
  eight: {"words.py:Words": {count: 8}}
"""


@pytest.fixture(scope="session")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a suite, and a run of three cheap learners."""
    from taskloom.studies.api import run

    folder = tmp_path_factory.mktemp("people")
    fields = (Field("title", "text"), Field("abstract", "text"), Field("category", "label"))
    write(
        build("fields", "data:papers", fields=fields, where={"language": "en"}, id_column="id"),
        folder / "suite",
    )
    (folder / "words.py").write_text(LEARNER)
    (folder / "study.yaml").write_text(STUDY)
    run(folder / "study.yaml", folder / "runs" / "small")
    return folder


@pytest.fixture
def here(ran: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("suite", "runs"):
        (tmp_path / name).symlink_to(ran / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def filled(sheet: Path, copy: Path, fill: Callable[[int, dict[str, str]], dict[str, str]]) -> None:
    """Fill a copy of a CSV sheet in, row by row, as a spreadsheet would write it."""
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        sheet_rows = list(csv.DictReader(file))
    rows = [
        row | {TOLD.get(name, name): said for name, said in fill(n, row).items()} for n, row in enumerate(sheet_rows)
    ]
    copy.parent.mkdir(exist_ok=True)
    with copy.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def test_answers_are_compared_from_the_sheet_to_the_sum(taskloom, here: Path):
    made = taskloom("people", "compare", "runs/small", "-o", "sheet.csv", "--items", 16)
    assert made.code == 0
    assert "eight, four, two with 0 shots on 1 task (there are only 1)" in made.err
    assert "skipped: tasks whose output is not text (1)" in made.err
    assert "do not send sheet.key.jsonl" in made.err
    key = {row["id"]: row for row in map(json.loads, (here / "sheet.key.jsonl").read_text().splitlines())}
    asked = sum(not row["settled"] for row in key.values())
    assert len(key) == 48
    assert f"sheet.csv: {asked} questions" in made.out
    better = {"two": "loss", "four": "tie", "eight": "win"}

    def choice(n: int, row: dict[str, str]) -> dict[str, str]:
        side = key[row["id"]]["side"]
        other = {"first": "second", "second": "first"}[side]
        said = {"win": side, "loss": other, "tie": "tie"}[better[key[row["id"]]["learner"]]]
        return {"choice": said.upper(), "comment": "=odd 道路" if n == 0 else ""}

    filled(here / "sheet.csv", here / "ann.csv", choice)
    filled(here / "sheet.csv", here / "back" / "bo.csv", lambda n, row: choice(n, row) if n % 2 else {})
    told = json.loads(taskloom("people", "sum", "ann.csv", "back/bo.csv", "--run", "runs/small", "--json").out)
    settled = [row for row in key.values() if row["settled"]]
    for name, good in (("two", 0), ("four", 1), ("eight", 1)):
        lost = sum(row["learner"] == name for row in settled)
        assert told["learners"][name]["score"]["value"] == pytest.approx(good * (16 - lost) / 16)
        assert told["learners"][name]["unusable"] == lost
    assert told["agreement"]["alpha"]["value"] == pytest.approx(1.0)
    assert told["agreement"]["alpha"]["n"] == asked // 2
    assert told["raters"] == {"ann": asked, "bo": asked // 2}
    assert told["remarks"][0]["text"] == "=odd 道路"
    assert told["metric"]["metric"] == "rouge-l"
    assert told["metric"]["correlation"]["n"] == 3
    assert told["metric"]["correlation"]["low"] is None  # three points have no interval
    assert told["learners"]["two"]["score"]["low"] is None  # and neither has one task
    shown = taskloom("people", "sum", "ann.csv", "--by-task")
    assert shown.out.startswith("learner\tas good, %\t95 % interval\tn\n")
    assert "abstract->title\teight\t" in shown.out
    assert "win, tie or loss\tno value\t[no interval]\t0\t0\n" in shown.out
    assert "unusable: counted as losses, not judged" in shown.err
    counted = "judged: wins\tjudged: ties\tjudged: losses\titems: equal\titems: unusable\titems: not answered"
    assert f"learner\t{counted}\n" in shown.out


def test_instructions_are_rated_from_the_sheet_to_the_sum(taskloom, here: Path):
    made = taskloom("people", "rate", "suite", "-o", "rate.csv", "--task", "abstract->*")
    assert (made.code, made.out) == (0, "rate.csv: 3 tasks\n")
    for rater, score in (("ann", 5), ("bo", 4), ("cy", 3)):
        filled(here / "rate.csv", here / f"{rater}.csv", lambda n, _, s=score: {"rating": f"{s if n else 2}"})  # type: ignore[misc]
    told = json.loads(taskloom("people", "sum", "ann.csv", "bo.csv", "cy.csv", "--json").out)
    assert told["mean"]["value"] == pytest.approx((3 * 2 + 2 * (5 + 4 + 3)) / 9)
    assert told["good"]["value"] == pytest.approx(4 / 9)
    assert told["few"] == []
    shown = taskloom("people", "sum", "ann.csv", "bo.csv")
    assert "all tasks\tvalue\t95 % interval\tn\n" in shown.out
    assert f"\n{judgements.GOOD} or above, %\t" in shown.out
    assert "rated by fewer than 3 people: 3 tasks" in shown.err


def test_a_terminal_shows_the_first_comments(taskloom, here: Path, monkeypatch: pytest.MonkeyPatch):
    taskloom("people", "rate", "suite", "-o", "rate.csv")
    filled(here / "rate.csv", here / "ann.csv", lambda n, _: {"rating": "4", "typos": f"No{n}.", "clarity": f"Yes{n}."})
    total = 2 * len(list(csv.DictReader((here / "ann.csv").read_text(encoding="utf-8").splitlines())))
    assert total > 10
    assert "Yes5." in taskloom("people", "sum", "ann.csv").out
    assert len(json.loads(taskloom("people", "sum", "ann.csv", "--json").out)["remarks"]) == total
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    few, every = taskloom("people", "sum", "ann.csv"), taskloom("people", "sum", "ann.csv", "--comments")
    assert ("Yes4." in few.out, "No5." in few.out) == (True, False)
    assert f"{total - 10} more: --comments shows all" in few.err
    assert ("Yes5." in every.out, "--comments" in every.err) == (True, False)


def test_a_sheet_is_json_lines_where_that_is_asked_for(taskloom, here: Path):
    assert taskloom("people", "compare", "runs/small", "-o", "s.jsonl", "--learner", "two", "--items", 3).code == 0
    rows = [json.loads(line) for line in (here / "s.jsonl").read_text(encoding="utf-8").splitlines()]
    (here / "s.jsonl").write_text("\n".join(json.dumps(row | {"choice": "tie"}) for row in rows))
    assert json.loads(taskloom("people", "sum", "s.jsonl", "--json").out)["learners"]["two"]["ties"] == len(rows)


def test_a_sheet_needs_force_to_be_replaced(taskloom, here: Path):
    compare = ("people", "compare", "runs/small", "-o", "s.csv")
    assert taskloom(*compare).code == 0
    before = (here / "s.csv").read_bytes()
    assert taskloom(*compare).code == 2
    assert taskloom(*compare, "--force").code == 0
    assert (here / "s.csv").read_bytes() == before
    assert taskloom(*compare, "--force", "--seed", 1).code == 0
    assert (here / "s.csv").read_bytes() != before


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("compare", "runs/small", "-o", "s.xlsx"), 2, "the name of a sheet must end in .csv or .jsonl: s.xlsx"),
        (("compare", "runs/small", "-o", "s.csv", "--learner", "tow"), 2, "did you mean two"),
        (("compare", "runs/small", "-o", "s.csv", "--shots", "3"), 2, "shots must be one of 0: 3"),
        (("compare", "nowhere", "-o", "s.csv"), 2, "not a run"),
        (("rate", "nowhere", "-o", "s.csv"), 2, "no such folder"),
        (("rate", "suite", "-o", "s.csv", "--task", "abstract->titel"), 2, "did you mean abstract->title"),
        (("sum", "gone.csv"), 2, "no such file: gone.csv"),
        (("sum", "empty.csv"), 1, "the file is empty"),
        (("sum", "odd.csv"), 1, "a sheet needs a column id"),
        (("sum", "choices.csv"), 2, "use --key FILE"),
        (("sum", "choices.csv", "--key", "gone.jsonl"), 2, "no such file: gone.jsonl"),
        (("sum", "choices.csv", "--key", "odd.csv"), 1, "not the key of a sheet: odd.csv"),
        (("sum", "latin.csv", "--key", "odd.csv"), 1, "latin.csv:2:8: not utf-8; try --file-encoding latin-1"),
        (("sum", "ratings.csv", "--key", "odd.csv"), 2, "are for comparisons; these sheets are ratings"),
        (("sum", "ratings.csv", "choices.csv"), 2, "sheets must be of one kind"),
        (("sum", "ratings.csv"), 1, "ratings.csv:2: rating must be an integer from 1 to 5: '7'"),
        (("sum", "blank.csv"), 1, "no row has a rating yet"),
    ],
)
def test_bad_usage_says_what_to_do(taskloom, here: Path, arguments, code: int, told: str):
    files = {
        "empty.csv": b"", "odd.csv": b"a,b\n1,2\n", "choices.csv": b"id,choice\nq1,tie\n",
        "latin.csv": b"id,choice,comment\nq1,tie,\xe9\n", "ratings.csv": b"id,rating\nt,7\n",
        "blank.csv": b"id,rating\nt,\n",
    }  # fmt: skip
    for name, content in files.items():
        (here / name).write_bytes(content)
    ended = taskloom("people", *arguments)
    assert (ended.code, ended.out) == (code, "")
    assert told in ended.err
    assert "Traceback" not in ended.err
    assert not list(here.glob("s.*"))


def test_a_key_or_a_run_of_something_else_is_refused(taskloom, here: Path):
    for name, seed in (("one", 0), ("two", 1)):
        taskloom("people", "compare", "runs/small", "-o", f"{name}.csv", "--seed", seed)
    filled(here / "one.csv", here / "ann.csv", lambda *_: {"choice": "tie"})
    refused = taskloom("people", "sum", "ann.csv", "--key", "two.key.jsonl")
    assert (refused.code, "is in the key; use --key FILE" in refused.err) == (2, True)
    text = (here / "one.key.jsonl").read_text().replace('"cell": "', '"cell": "x')
    (here / "one.key.jsonl").write_text(text)
    refused = taskloom("people", "sum", "ann.csv", "--key", "one.key.jsonl", "--run", "runs/small")
    assert (refused.code, "the key is of another run" in refused.err) == (2, True)


def test_a_run_without_texts_is_refused(taskloom, ran: Path, tmp_path: Path):
    study = STUDY.replace('"abstract->title", ', "").replace("suite: suite", f"suite: {ran / 'suite'}")
    (tmp_path / "study.yaml").write_text(study.replace("words.py", str(ran / "words.py")))
    assert taskloom("run", tmp_path / "study.yaml", "-o", tmp_path / "run").code == 0
    refused = taskloom("people", "compare", tmp_path / "run", "-o", tmp_path / "s.csv")
    assert (refused.code, "no task of the run has text as output" in refused.err) == (2, True)


@pytest.mark.parametrize("verb", ["compare", "rate", "sum"])
def test_help_has_examples(taskloom, verb: str):
    shown = taskloom("people", verb, "--help")
    assert shown.code == 0
    assert "Examples" in shown.out
    assert f"taskloom people {verb}" in shown.out


def test_a_sheet_replaces_nothing_that_it_is_made_of_and_no_device(taskloom, here: Path):
    (here / "sheet.csv").symlink_to(os.devnull)
    assert taskloom("people", "rate", "suite", "-o", "sheet.csv").code == 0
    assert taskloom("people", "compare", "runs/small", "-o", "sheet.csv").code == 0
    assert (here / "sheet.csv").is_symlink()
    (here / "run.csv").hardlink_to((here / "runs" / "small" / "ledger.db").resolve())
    (here / "suite.csv").symlink_to(here / "suite" / "suite.json")
    for command in (("compare", "runs/small", "-o", "run.csv"), ("rate", "suite", "-o", "suite.csv")):
        ran = taskloom("people", *command, "--force")
        assert (ran.code, "an output must not replace an input" in ran.err) == (2, True)
