"""What a model said is kept: the text an answer was read from, the scores of options, and a hash of the prompt."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from taskloom.core import Example, Fields, Item, Labels, Number, Suite, Task, Text
from taskloom.errors import StudyError
from taskloom.learners import Response
from taskloom.studies.api import LEDGER, prepare
from taskloom.studies.ledger import Ledger
from taskloom.studies.work import outputs, prompt_hash
from taskloom.suites import rows, store

TASKS = {
    "title": (Task(id="title", instruction="Name it.", output=Text(), metrics=("rouge-l",)), "a name"),
    "kind": (Task(id="kind", instruction="Sort it.", output=Labels(("red", "blue")), metrics=("accuracy",)), "red"),
    "both": (
        Task(
            id="both",
            instruction="Tell both.",
            output=Fields({"kind": Labels(("red", "blue")), "size": Number()}),
            metrics=("kind/accuracy", "size/mse"),
        ),
        {"kind": "red", "size": 2.0},
    ),
}
STUDY = """
name: said
baselines: false
suite: suite
protocol: {seeds: 1, shots: [1], query: 3}
learners:
  writes: {in-context: {model: "fake:noise", answers: generate, tokens: 4}}
  scores: {in-context: {model: "fake:noise"}}
  parts: {nearest: {}}
  own: {"own.py:Own": {}}
"""
OWN = """
from dataclasses import dataclass
from typing import ClassVar
from taskloom import Learner, Response

@dataclass(frozen=True)
class Own(Learner):
    version: ClassVar[int] = 1
    outputs: ClassVar[frozenset[str]] = frozenset({"labels", "number", "text"})
    unaided: ClassVar[frozenset[str]] = outputs

    def fit(self, task, support, dev, *, seed, tools):
        self_kind = task.output.kind
        return Says(self_kind)

@dataclass(frozen=True)
class Says:
    kind: str

    def predict(self, items):
        answer = {"labels": "blue", "number": 1.0, "text": "x"}[self.kind]
        return [Response(answer, f"I think {answer}") for _ in items]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A study of four learners on three tasks, which has been run."""
    pools: dict[str, Any] = {}
    for name, (task, gold) in TASKS.items():
        golds: list[Any] = [gold] * 12 if name != "kind" else ["red", "blue"] * 6
        made = [Example(Item(f"{n}", {"input": f"text {n}"}), (golds[n],), str(n)) for n in range(12)]
        pools[name] = {"all": rows.pool(task, made)}
    store.write(Suite(id="s", tasks={n: t for n, (t, _) in TASKS.items()}, pools=pools), tmp_path / "suite")
    (tmp_path / "study.yaml").write_text(STUDY)
    (tmp_path / "own.py").write_text(OWN)
    prepare(tmp_path / "study.yaml", tmp_path / "run").run()
    return tmp_path


def kept(folder: Path, learner: str, task: str) -> dict[str, Any]:
    made = prepare(folder / "study.yaml", folder / "run").plan
    (cell,) = [cell for cell in made.cells if (cell.learner, cell.task) == (learner, task)]
    with Ledger(folder / "run" / LEDGER) as ledger:
        return ledger.outputs(cell.id)


def test_what_a_model_wrote_is_kept_with_a_hash_of_each_prompt(folder: Path):
    found = kept(folder, "writes", "title")["query"]
    assert set(found) == {"raw", "prompts"}
    assert all(len(text.split()) == 4 for text in found["raw"])
    assert len(set(found["prompts"])) == 3
    assert all(len(name) == 16 for name in found["prompts"])


def test_scores_of_options_are_kept_in_the_order_of_the_labels(folder: Path):
    found = kept(folder, "scores", "kind")["query"]
    assert found["options"] == ["red", "blue"]
    assert [len(scores) for scores in found["scores"]] == [2, 2, 2]
    made = prepare(folder / "study.yaml", folder / "run").plan
    (cell,) = [cell for cell in made.cells if (cell.learner, cell.task) == ("scores", "kind")]
    with Ledger(folder / "run" / LEDGER) as ledger:
        body = ledger.result(cell.id)
    assert body is not None
    likeliest = [("red", "blue")[scores[1] > scores[0]] for scores in found["scores"]]
    assert body["sets"]["query"]["answers"] == likeliest


def test_fields_that_are_answered_one_by_one_keep_what_each_was_read_from(folder: Path):
    assert kept(folder, "own", "both")["query"] == {
        "parts": {"kind": {"raw": ["I think blue"] * 3}, "size": {"raw": ["I think 1.0"] * 3}}
    }


def test_of_an_answer_that_says_all_nothing_more_is_kept(folder: Path):
    assert kept(folder, "parts", "kind") == {}


def test_a_hash_of_a_prompt_is_the_first_16_digits_of_its_blake2b():
    text = "Sort it.\ntext 1"
    assert prompt_hash(text) == hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    assert outputs([Response("a", "A.", prompt=text), Response(None)]) == {
        "raw": ["A.", None],
        "prompts": [prompt_hash(text), prompt_hash("")],
    }


NEEDS = """
from dataclasses import dataclass
from typing import ClassVar
from taskloom import Learner

@dataclass(frozen=True)
class Near(Learner):
    model: str
    other: str = ""
    version: ClassVar[int] = 1
    outputs: ClassVar[frozenset[str]] = frozenset({"labels"})
    unaided: ClassVar[frozenset[str]] = outputs

    @property
    def models(self):
        return tuple(filter(None, (self.model, self.other)))

    def needs(self, task):
        return dict.fromkeys(self.models, frozenset({"vectors"}))

    def fit(self, task, support, dev, *, seed, tools):
        return self
"""


@pytest.mark.parametrize(
    ("learner", "told"),
    [
        (
            '"near.py:Near": {model: "fake:echo"}',
            "needs a model that gives vectors, and 'fake:echo' gives none;",
        ),
        ('"near.py:Near": {model: minilm, other: "fake:noise"}', "gives vectors, and 'fake:noise' gives none"),
        ("in-context: {model: minilm}", "learner 'near': needs a model that can score, and 'minilm' can't"),
        ("instructed: {model: minilm}", "learner 'near': needs a model that can generate, and 'minilm' can't"),
    ],
)
def test_a_model_that_can_not_do_what_a_learner_needs_is_refused_before_any_work(folder: Path, learner: str, told: str):
    (folder / "near.py").write_text(NEEDS)
    (folder / "study.yaml").write_text(
        STUDY.partition("learners:")[0] + f"tasks: [kind]\nlearners:\n  near: {{{learner}}}\n"
    )
    with pytest.raises(StudyError, match=rf"study.yaml:\d+:10: .*{told}"):
        prepare(folder / "study.yaml", folder / "other")
    assert not (folder / "other").exists()


@pytest.mark.parametrize("odd", ['options={"x": __import__("numpy").float32(-1.5)}', 'raw=b"x"'])
def test_what_can_not_be_kept_fails_its_cell_alone(folder: Path, odd: str):
    (folder / "own.py").write_text(OWN.replace('f"I think {answer}"', odd))
    done, found = prepare(folder / "study.yaml", folder / "odd").run()
    kept_all = "options" in odd  # numbers of numpy are numbers
    assert done.failed == (0 if kept_all else 3)
    assert {failure.learner for failure in found.failures} == (set() if kept_all else {"own"})


def test_options_that_differ_from_item_to_item_stand_with_each():
    found = outputs([Response("a", options={"a": 1.0, "b": 2.0}), Response("c", options={"c": 3.0})])
    assert found == {"item_options": [["a", "b"], ["c"]], "scores": [[1.0, 2.0], [3.0]]}
