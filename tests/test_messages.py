"""Words are for people: codes are what is stored and decided by, each with a text for exactly its values."""

from __future__ import annotations

import ast
import json
import pickle
import re
import string
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

import taskloom
from taskloom import errors, messages
from taskloom.core import Example, Item, Labels, Number, Suite, Task
from taskloom.encodings import Encoded
from taskloom.learners.instructed import left_out
from taskloom.messages import FIELD, TEXTS, Note, text_of
from taskloom.reports import How, render
from taskloom.studies.api import open_run, run
from taskloom.studies.ledger import Ledger
from taskloom.suites import rows, store

ROOT = Path(taskloom.__file__).parent
MAKERS = ("Note.of", "Fault.of")  # given a code first, and its values by name
SIGN = "¿"  # what a reworded text begins with

# --- notes -----------------------------------------------------------------------------------------------------------


def test_a_note_is_put_into_words_when_it_is_shown(monkeypatch: pytest.MonkeyPatch):
    error = errors.ScoreError(Note.of("lengths-differ", gold=1001, answers=1))
    assert str(error) == "numbers differ: 1,001 gold answers, 1 prediction"
    monkeypatch.setattr(messages, "TEXTS", {"lengths-differ": "{answers} Antworten auf {gold} Fragen"})
    assert str(error) == "1 Antworten auf 1001 Fragen"


@pytest.mark.parametrize(
    ("note", "text"),
    [
        (Note.of("class-too-small", least=2, classes=[("d", 0), ("e", 1)]), "fewer than 2 examples: d (0), e (1)"),
        (Note.of("class-too-small", least=2, classes=[(f"c{n}", n) for n in range(22)]), "c19 (19) and 2 more"),
        (Note.of("names-near", names=["title", "tile"]), "did you mean title or tile?"),
        (Note.of("names-known", names=[f"n{n}" for n in range(14)]), "n10, n11 and 2 more"),
        (Note.of("label-unknown", given="'z'").of_field("kind"), "kind: label not declared: 'z'"),
        (Note.of("body-sets-ours", model="m", names=["x" * 81, "y"]), f"can't set {'x' * 77}..., y: 'm'"),
        (Note.of("no-reply", url="u", tries=2, reason=Note.of("unreachable", reason="x")), "unreachable (x)"),
    ],
)
def test_values_stand_in_the_text(note: Note, text: str):
    assert text in str(note)


def test_what_has_no_words_is_shown_as_it_is():
    assert str(Note.of("rhymes")) == text_of("rhymes") == "rhymes"
    assert text_of("my {odd} / count: 50 %") == "my {odd} / count: 50 %"
    assert str(Note.of("of-a-newer-release", n=1, task="t")) == "of-a-newer-release (n: 1, task: t)"
    assert str(Note.of("lengths-differ", gold="many")) == "lengths-differ (gold: many)"


def test_what_is_counted_goes_by_a_key_and_is_told_without_values():
    note = Note.of("label-unknown", given="'z'").of_field("kind")
    assert note.key == "kind/label-unknown"
    assert text_of(note.key) == "kind: label not declared"
    assert text_of("clusters-differ") == "a cluster for each element is needed"


def test_a_note_is_equal_and_the_same_key_when_it_was_written_and_read():
    inner = Note.of("http-error", status=500, said="oh no")
    note = Note.of("no-reply", url="u", tries=2, reason=inner, more=[("a", 1), ("b", None)], path=Path("x"))
    again = Note.from_json(json.loads(json.dumps(note.to_json())))
    assert again == note
    assert hash(again) == hash(note)
    assert str(again) == str(note)


def test_messages_import_nothing_of_ours():
    for path in Path(messages.__file__).parent.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level > 1]


# --- errors ----------------------------------------------------------------------------------------------------------


def test_every_error_has_a_note():
    assert errors.LearnerError("no such file: x").note == Note.of("error", text="no such file: x")
    assert str(errors.LearnerError("no {such} | file").note) == "no {such} | file"
    assert errors.TaskloomError().note == Note.of("error", text="")
    unknown = errors.UnknownNameError("task", "titel", ["title"])
    assert unknown.note.code == "name-unknown"
    assert dict(unknown.note.values)["hint"] == Note.of("names-near", names=["title"])


@pytest.mark.parametrize(
    "error",
    [
        errors.EpisodeError(Note.of("sizes-negative", sampler="s")),
        errors.ModelUnavailableError("words alone"),
        errors.UnknownNameError("task", "x", ["title", "abstract"]),
        errors.StudyError(Note.of("error", text="bad"), ["a: one", "b: two"]),
    ],
)
def test_errors_come_back_whole_from_other_processes(error: errors.TaskloomError):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.note, str(again)) == (type(error), error.note, str(error))
    assert getattr(again, "faults", ()) == getattr(error, "faults", ())


def test_faults_stand_on_lines_of_their_own():
    assert str(errors.StudyError("bad study:", ["a", "b"])) == "bad study:\n  a\n  b"


# --- codes and texts -------------------------------------------------------------------------------------------------


def trees() -> Iterator[ast.AST]:
    for path in ROOT.rglob("*.py"):
        if path.parent.name != "messages":
            yield from ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def calls(wanted: Callable[[ast.Attribute], bool]) -> Iterator[ast.Call]:
    for node in trees():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and wanted(node.func):
            yield node


def codes_of(call: ast.Call) -> set[str]:
    """Give the codes that a call may name first: one, or one of two."""
    (code, *_) = call.args
    either = (code.body, code.orelse) if isinstance(code, ast.IfExp) else (code,)
    return {str(one.value) for one in either if isinstance(one, ast.Constant)}


def values_of(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def fits(call: ast.Call) -> bool:
    """Tell a note that has a text, and the text's values; a maker of notes passes on what it was given."""
    if isinstance(call.args[0], ast.Name) and call.args[0].id == "code":
        return True
    given = {keyword.arg for keyword in call.keywords} - {FIELD}
    codes, passed_on = codes_of(call), None in given  # by **
    wanted = [values_of(TEXTS[code]) - {FIELD} for code in codes if code in TEXTS]
    whole = all(given == each or (passed_on and given - {None} <= each) for each in wanted)
    return bool(codes) and len(wanted) == len(codes) and whole


def test_every_note_has_a_text_with_exactly_its_values():
    found = list(calls(lambda of: f"{ast.unparse(of.value)}.{of.attr}" in MAKERS))
    assert len(found) > 50
    assert not [ast.unparse(call) for call in found if not fits(call)]


def test_every_count_has_a_text_that_needs_no_values():
    counting = re.compile(r"(.+\.)?tools\.count")
    found = calls(lambda of: bool(counting.fullmatch(ast.unparse(of))))
    codes = {code for call in found for code in codes_of(call)} | {*left_out(Encoded("", 1, 1, 1, 1))}
    assert {"prompt-refused", "no-common-word", "input-cut"} <= codes
    assert not {code for code in codes if code not in TEXTS or values_of(TEXTS[code])}


def test_no_text_is_unused():
    said = {node.value for node in trees() if isinstance(node, ast.Constant)}
    assert not TEXTS.keys() - said


def test_a_code_has_one_text():
    codes = [code for topic in messages.TOPICS for code in topic]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"([EW]\d{3}|[a-z]+)(-[a-z]+)*", code) for code in TEXTS)


# --- what is stored --------------------------------------------------------------------------------------------------

LEARNER = """
from dataclasses import dataclass
from typing import ClassVar
from taskloom import Learner
from taskloom.errors import EpisodeError
from taskloom.messages import Note

@dataclass(frozen=True)
class Fussy(Learner):
    version: ClassVar[int] = 1
    outputs: ClassVar[frozenset] = frozenset({"labels", "number"})
    unaided: ClassVar[frozenset] = outputs

    def fit(self, task, support, dev, *, seed, tools):
        if task.output.kind == "number":
            raise EpisodeError(Note.of("too-few-ways", ways=2, able=1, least=1))
        tools.count("sighs")
        return self

    def predict(self, items):
        return [("red", None, ("red",))[n % 3] for n, _ in enumerate(items)]
"""
STUDY = """
name: reworded
baselines: false
suite: suite
protocol: {seeds: 2, shots: [1], query: 6, dev: 0}
learners:
  nearest: {}
  fussy: {"fussy.py:Fussy": {}}
  written: {in-context: {model: "fake:echo", answers: generate, tokens: 2}}
"""


def small(folder: Path) -> Path:
    """Write a study whose learners count, answer what can't be used, and can't draw."""
    colour = Task(id="colour", instruction="Which?", output=Labels(("red", "blue")), metrics=("accuracy",))
    size = Task(id="size", instruction="How many?", output=Number(), metrics=("mse",))
    items = [Item(str(n), {"text": f"word{n} other{n} red or so"[: 7 if n % 2 else 99]}) for n in range(24)]
    golds: Mapping[str, Callable[[int], str | float]] = {"colour": lambda n: ("red", "blue")[n % 2], "size": float}
    pools = {
        of.id: {"all": rows.pool(of, [Example(i, (golds[of.id](n),), i.id) for n, i in enumerate(items)])}
        for of in (colour, size)
    }
    store.write(Suite(id="s", tasks={"colour": colour, "size": size}, pools=pools), folder / "suite")
    (folder / "fussy.py").write_text(LEARNER)
    (folder / "study.yaml").write_text(STUDY)
    return folder / "study.yaml"


def kept(folder: Path) -> list[tuple[str, str, bytes]]:
    with Ledger(folder / "ledger.db") as ledger:
        return list(ledger.contents())


def test_rewording_every_message_changes_no_id_and_no_stored_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    study = small(tmp_path)
    before = run(study, tmp_path / "before")
    plain = render(open_run(tmp_path / "before"), "md", How(count=20))
    monkeypatch.setattr(messages, "TEXTS", {code: SIGN + text for code, text in TEXTS.items()})
    after = run(study, tmp_path / "after")
    assert kept(tmp_path / "before") == kept(tmp_path / "after")
    assert [o.counts for o in before.outcomes] == [o.counts for o in after.outcomes]
    counted = {code for o in after.outcomes for code in o.counts}
    unusable = {code for o in after.outcomes for scored in o.scores.values() for code in scored.unusable}
    assert counted >= {"sighs", "no-common-word", "answer-cut"}
    assert unusable >= {"unparsable", "label-unknown"}
    assert {o.learner for o in after.outcomes if o.task == "size"} == {"nearest", "written"}  # the other was skipped
    reworded = render(open_run(tmp_path / "before"), "md", How(count=20))
    for code in ("no-common-word", "label-unknown", "answer-cut"):
        assert text_of(code) in reworded
        assert text_of(code) not in plain
    assert "sighs" in plain
    assert "sighs" in reworded
    told = json.loads(render(open_run(tmp_path / "after"), "json", How(count=20)))
    assert counted | unusable == {one["what"] for kind in ("noted", "unusable") for one in told["counts"][kind]}


def test_small_budgets_have_their_digits():
    told = str(Note.of("budget-spent", budget=0.0004, spent=0.00031, most=0.0002))
    assert "$0.00040 is spent: $0.00031 so far" in told
