"""What a plan refuses, and what it estimates, before any cell is run; and what learners print."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from taskloom.errors import StudyError
from taskloom.studies.api import prepare, run
from taskloom.studies.tokens import about_tokens

STUDY = """
name: small
baselines: false
suite: {suite}
tasks: [abstract->category, abstract->title]
protocol: {{seeds: 2, shots: [0, 2], query: 10}}
models:
  remote: {{load: "{load}", {more}}}
learners:
  written: {{in-context: {{model: remote, answers: generate, tokens: 16, chat: {chat}}}}}
  scored: {{in-context: {{model: remote, chat: {chat}}}, tasks: abstract->category}}
  majority: {{}}
"""
PRINTING = """
from dataclasses import dataclass
from typing import ClassVar
from taskloom import Learner

print("loaded")

@dataclass(frozen=True)
class Loud(Learner):
    version: ClassVar[int] = 1
    outputs: ClassVar[frozenset] = frozenset({"labels"})
    unaided: ClassVar[frozenset] = frozenset({"labels"})

    def fit(self, task, support, dev, *, seed, tools):
        print("fitting")
        return self

    def predict(self, items):
        print("predicting")
        return ["x" for _ in items]
"""


@pytest.fixture
def study_of(tmp_path: Path, papers: Path) -> Callable[..., Path]:
    def make(load: str = "fake:echo", more: str = "", chat: str = "false") -> Path:
        text = STUDY.format(suite=papers, load=load, more=more, chat=chat)
        (tmp_path / "s.yaml").write_text(text.replace(", }", "}"), encoding="utf-8")
        return tmp_path / "s.yaml"

    return make


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch):
    for name in ("OPENAI_API_KEY", "MY_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


# --- tokens ----------------------------------------------------------------------------------------------------------


def test_tokens_are_those_that_a_model_reads_and_at_most_writes(study_of, tmp_path: Path):
    study = study_of()
    (told,) = prepare(study, tmp_path / "run").forecast().tokens
    results = run(study, tmp_path / "run")
    read = sum(outcome.cost.read for outcome in results.outcomes)
    written = [len(outcome.items) * 16 for outcome in results.outcomes if outcome.learner == "written"]
    assert told.model == "remote"
    assert told.written == sum(written)
    assert 1 < told.read / read < 1.8  # the fake counts words
    assert (told.dollars_in, told.dollars_out) == (None, None)
    assert prepare(study, tmp_path / "run").forecast().tokens == []


def test_dollars_come_from_the_prices_of_the_model(study_of, tmp_path: Path):
    study = study_of("api:m@http://127.0.0.1:9/v1", "price_in: 3, price_out: 15")
    prepared = prepare(study, tmp_path / "run", only=["written"])
    (told,) = prepared.forecast().tokens
    assert told.written == len(prepared.plan.to_run) * 10 * 16
    assert told.dollars_in == pytest.approx(told.read * 3 / 1e6)
    assert told.dollars_out == pytest.approx(told.written * 15 / 1e6)


def test_an_endpoint_reads_the_prompt_again_with_each_option(study_of, tmp_path: Path, papers: Path):
    (near,) = prepare(study_of(), tmp_path / "a", only=["scored", "abstract->category"]).forecast().tokens
    (far,) = prepare(study_of("api:m@http://127.0.0.1:9/v1"), tmp_path / "b", only=["scored"]).forecast().tokens
    assert near.written == far.written == 0
    assert 3 < far.read / near.read < 6  # of six categories


def test_a_sample_of_cells_stands_for_all(study_of, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (every,) = prepare(study_of(), tmp_path / "run").forecast().tokens
    monkeypatch.setattr("taskloom.studies.tokens.SAMPLED", 1)
    (some,) = prepare(study_of(), tmp_path / "run").forecast().tokens
    assert some.written == pytest.approx(every.written, rel=0.5)
    assert some.read == pytest.approx(every.read, rel=0.9)


def test_plan_prints_tokens_and_dollars_as_an_estimate(study_of, tmp_path: Path, taskloom):
    study = study_of("api:m@http://127.0.0.1:9/v1", "price_in: 3, price_out: 15")
    shown = taskloom("plan", study, "-o", tmp_path / "run").out
    assert "estimate: about" in shown
    assert "$" in shown
    (told,) = json.loads(taskloom("plan", study, "-o", tmp_path / "run", "--json").out)["tokens"]
    assert told.keys() == {"model", "read", "written", "dollars_in", "dollars_out"}


def test_texts_without_spaces_have_a_token_for_each_character():
    assert about_tokens("\u57ce\u5e02\u9053\u8def") == 4
    assert about_tokens("word " * 100) == 125
    assert about_tokens("") == 0


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("load", "more", "named"),
    [
        ("api:m@https://example.org/v1", "", "OPENAI_API_KEY"),
        ("api:m@https://example.org/v1", "key: MY_KEY", "MY_KEY"),
        ("api:m@http://127.0.0.1:9/v1", "key: MY_KEY", "MY_KEY"),
        ("api:m@https://example.org/v1", "key: ''", ""),
        ("api:m@http://127.0.0.1:9/v1", "", ""),
        ("api:m@http://gpu7:8000/v1", "", ""),
    ],
)
def test_a_key_that_is_not_set_is_refused_before_any_cell(
    study_of, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, load: str, more: str, named: str
):
    study = study_of(load, more)
    if named:
        with pytest.raises(StudyError, match=f"s.yaml:8:3: model 'remote': .{named} is not set"):
            prepare(study, tmp_path / "run")
        assert not (tmp_path / "run" / "ledger.db").exists()
        assert prepare(study, tmp_path / "run", only=["majority"])
        monkeypatch.setenv(named, "sk-0")
    assert prepare(study, tmp_path / "run")


def test_scores_of_a_chat_endpoint_are_refused_with_the_remedy(study_of, tmp_path: Path):
    study = study_of("api:m@http://127.0.0.1:9/v1", chat="true")
    with pytest.raises(StudyError, match=r"learner 'scored': chat endpoints .* set `answers: generate`"):
        prepare(study, tmp_path / "run")
    assert prepare(study, tmp_path / "run", only=["written", "majority"])
    assert prepare(study_of(chat="true"), tmp_path / "run")  # a model on this machine can do it


def test_options_of_a_model_that_no_learner_uses_are_checked(study_of, tmp_path: Path):
    study = study_of()
    text = study.read_text(encoding="utf-8")
    study.write_text(text.replace("learners:", "  spare: {load: 'fake:echo', secnods: 1}\nlearners:"), encoding="utf-8")
    with pytest.raises(StudyError, match="model 'spare': unknown option: 'secnods'; did you mean seconds"):
        prepare(study, tmp_path / "run")


# --- what learners print ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2])
def test_what_a_learner_prints_is_not_on_standard_output(
    papers: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], workers: int
):
    (tmp_path / "loud.py").write_text(PRINTING)
    (tmp_path / "s.yaml").write_text(
        f"name: s\nsuite: {papers}\ntasks: [abstract->category]\nprotocol: {{shots: [0], seeds: 2, query: 4}}\n"
        "baselines: false\nlearners: {loud: {'loud.py:Loud': {}}}\n"
    )
    run(tmp_path / "s.yaml", tmp_path / "run", workers=workers)
    printed = capfd.readouterr()
    assert printed.out == ""
    assert {"loaded", "fitting", "predicting"} <= {*printed.err.split()}
