"""A run whose ledger was forged: every text in it is hostile, and all is shown as the text that it is."""

from __future__ import annotations

import json
import os
import pty
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import taskloom as library
from taskloom.errors import LedgerError
from taskloom.limits import deflated
from taskloom.reports import How, Summary, pages, render, summarise
from taskloom.reports.plot_files import standalone
from taskloom.reports.transfer_plots import Arrow, gain_matrix
from taskloom.studies.api import LEDGER, open_run
from taskloom.studies.finished import checksum, unpacked

from ..conftest import topics

ATTACK = (
    '<img src=x onerror="document.title=1"></script><script>alert(1)</script> [a](javascript:alert(1)) '
    "![b](http://127.0.0.1:9/b.png)\x1b]0;c\x07\u202e\n=cmd|' /C calc'!A0\\input{/etc/passwd}"
)
STUDY = """
name: topics
suite: suite
protocol: {seeds: 1, episodes: 1, shots: [0, 2], query: 3, per_class: true}
learners: {nearest: {}, few: {in-context: {model: "fake:noise"}}, bad: {"bad.py:Bad": {}}}
"""
BAD = """
from dataclasses import dataclass
from typing import ClassVar
from taskloom import Learner

@dataclass(frozen=True)
class Bad(Learner):
    version: ClassVar[int] = 1
    outputs: ClassVar[frozenset] = frozenset({"labels"})
    unaided: ClassVar[frozenset] = frozenset({"labels"})

    def fit(self, task, support, dev, *, seed, tools):
        raise RuntimeError("no")
"""


def poisoned(value: Any) -> Any:
    """Put the attack at the end of every text of a value."""
    if isinstance(value, str):
        return value + ATTACK
    if isinstance(value, list):
        return [poisoned(one) for one in value]
    return {name: poisoned(one) for name, one in value.items()} if isinstance(value, dict) else value


def noted(note: dict[str, Any]) -> dict[str, Any]:
    return {**note, "values": poisoned(note["values"])}


def plan(about: dict[str, Any]) -> dict[str, Any]:
    """Forge what is kept of a plan, with notes of codes that there are not."""
    unknown = {"code": f"unknown{ATTACK}", "values": {f"value{ATTACK}": ATTACK, "count": 2}}
    return {
        **about, "study": poisoned(about["study"]), "learners": poisoned(about["learners"]),
        "settings": poisoned(about["settings"]), "taught": [unknown], "dropped": [unknown],
        "skipped": [*([noted(note), count] for note, count in about["skipped"]), [unknown, 3]],
    }  # fmt: skip


def result(body: dict[str, Any]) -> dict[str, Any]:
    asked = body["sets"]["query"]
    kept = {**asked, "items": poisoned(asked["items"]), "answers": poisoned(asked["answers"])}
    return {**body, "sets": {"query": kept}, "counts": {**body["counts"], f"counted{ATTACK}": 2}}


def forge(path: Path) -> None:
    """Write hostile texts wherever a ledger has texts, with checksums that fit."""
    with sqlite3.connect(path) as db:
        rows = db.execute("SELECT value FROM about WHERE name = 'environment'").fetchall()
        db.executemany("UPDATE about SET value = ? WHERE name = 'environment'", [rewritten(rows[0][0], poisoned)])
        for trial, about in db.execute("SELECT trial, about FROM plans").fetchall():
            db.execute("UPDATE plans SET about = ? WHERE trial = ?", (*rewritten(about, plan), trial))
        for cell, why in db.execute("SELECT id, why FROM cells WHERE why != ''").fetchall():
            db.execute("UPDATE cells SET why = ?, trace = ? WHERE id = ?", (*rewritten(why, noted), ATTACK, cell))
        for table, forged in (("results", result), ("outputs", poisoned)):
            for cell, body in db.execute(f"SELECT cell, body FROM {table}").fetchall():
                packed = deflated(rewritten(unpacked(body), forged)[0].encode())
                values = (packed, checksum(cell, packed), cell)
                db.execute(f"UPDATE {table} SET body = ?, digest = ? WHERE cell = ?", values)
        db.execute("DELETE FROM scores")
    db.close()


def rewritten(text: str | dict[str, Any], forged: Callable[[Any], Any]) -> tuple[str]:
    return (json.dumps(forged(json.loads(text) if isinstance(text, str) else text)),)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forged")
    topics(folder)
    (folder / "study.yaml").write_text(STUDY)
    (folder / "bad.py").write_text(BAD)
    library.run(folder / "study.yaml", folder / "run")
    forge(folder / "run" / LEDGER)
    return folder / "run"


@pytest.fixture(scope="module")
def summary(run: Path) -> Summary:
    return summarise(open_run(run), How(count=20))


class Tags(HTMLParser):
    """Collects what a page has that could run or load something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        loads = {name: value for name, value in attrs if name in ("src", "href", "action", "srcdoc", "xlink:href")}
        away = [value for value in loads.values() if not str(value).startswith("#")]
        runs = tag == "script" and ("type", "application/octet-stream") not in attrs
        if tag in ("img", "iframe", "object", "embed", "link", "form", "base") or away or runs:
            self.found.append(tag)
        self.found += [name for name, _ in attrs if name.startswith("on")]


def test_a_page_has_no_element_of_the_data(summary: Summary):
    page = render(summary, "html")
    assert Tags(page).found == ["script"]
    assert page.count(pages.resource("report.js")) == 1
    assert page.count("Content-Security-Policy") == 1
    assert page.count("&lt;img src=x") > 20
    assert "\u202e" not in page


@pytest.mark.parametrize("form", ["md", "tex", "csv", "json"])
def test_other_forms_have_no_markup_of_the_data(summary: Summary, form: str):
    text = render(summary, form)
    bad = {"md": ["<img", "[a](", "![b]("], "tex": ["\\input{", "\x1b"], "csv": ['"=cmd'], "json": ["<img", "\x1b"]}
    assert [one for one in bad[form] if one in text] == []


@pytest.mark.parametrize("command", ["report RUN", "report RUN --to md", "compare nearest few --run RUN"])
def test_a_terminal_is_not_steered(run: Path, command: str):
    printed = on_terminal([sys.executable, "-m", "taskloom", *command.replace("RUN", str(run)).split()])
    assert "nearest" in printed
    assert "\x1b]" not in printed
    assert "\u202e" not in printed


def on_terminal(command: list[str]) -> str:
    """Run a command on a real terminal, and give all that it printed."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=theirs, env={**os.environ, "TERM": "xterm"}):
        os.close(theirs)
        parts = []
        with suppress(OSError):  # as Linux tells the end
            while part := os.read(ours, 1 << 16):
                parts.append(part)
    os.close(ours)
    return b"".join(parts).decode("utf-8", "replace")


def test_plots_that_stand_alone_turn_no_line():
    arrows = [Arrow("a\u202eb", "c", 1.0, "d", "significant")]
    drawn = standalone(gain_matrix(arrows, ["a\u202eb"], ["c"], "e\u202ef", width=900))
    assert ("\u202e" in drawn, "e\\u202ef" in drawn) == (False, True)


def test_a_note_of_what_was_dropped_without_its_count_is_damage(run: Path, tmp_path: Path):
    copied = Path(shutil.copytree(run, tmp_path / "run"))
    with sqlite3.connect(copied / LEDGER) as db:
        (about,) = db.execute("SELECT about FROM plans").fetchone()
        lost = json.loads(about) | {"dropped": [{"code": "classes-dropped", "values": {}}]}
        db.execute("UPDATE plans SET about = ?", (json.dumps(lost),))
    db.close()
    with pytest.raises(LedgerError, match="what was dropped is counted"):
        open_run(copied)
