"""The prompt that is shown is the one that a run sends: the hashes of a real run say so."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import taskloom
from taskloom import StudyLearner
from taskloom.errors import StudyError, UnknownNameError, UsageError
from taskloom.studies.api import LEDGER
from taskloom.studies.ledger import Ledger
from taskloom.studies.prompting import show_prompt
from taskloom.studies.work import prompt_hash

TASK = "title+abstract->category"
STUDY = """
format: 1
name: asked
baselines: false
suite: suite
tasks: ["title+abstract->category", "abstract->title"]
protocol: {seeds: [3, 5], shots: [0, 2], query: 4}
learners:
  nearest: {}
  plain: {in-context: {model: "fake:noise", choose: nearest, calibrate: true}}
  chat:
    in-context:
      model: "fake:noise"
      chat: true
      template:
        "*->category": "{instruction}\\n\\n{title} / {abstract}\\n{options}"
        "*": [plain, cue]
  told: {instructed: {model: "fake:noise", encoding: def}}
  told-chat: {instructed: {model: "fake:noise", encoding: def, chat: true}}
"""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory, papers: Path) -> Path:
    """A folder with a study, its suite, and its run."""
    folder = tmp_path_factory.mktemp("asked")
    (folder / "suite").symlink_to(papers)
    (folder / "study.yaml").write_text(STUDY)
    taskloom.run(folder / "study.yaml", folder / "run")
    return folder


@pytest.mark.parametrize("learner", ["plain", "chat", "told", "told-chat"])
def test_every_prompt_of_a_run_is_shown_as_it_was_sent(asked: Path, learner: str):
    with Ledger(asked / "run" / LEDGER) as ledger:
        cells = [one for one in ledger.planned(0) if one.learner == learner]
        kept = {one.cell: ledger.outputs(one.cell)["query"]["prompts"] for one in cells}
        items = {one.cell: (ledger.result(one.cell) or {})["sets"]["query"]["items"] for one in cells}
    assert len(cells) == 8
    for one in cells:
        for item, sent in zip(items[one.cell], kept[one.cell], strict=True):
            where = {"learner": learner, "shots": one.shots, "seed": one.seed, "item": item}
            of_run = show_prompt(asked / "run", one.task, **where)
            of_suite = show_prompt(asked / "suite", one.task, **where, study=asked / "study.yaml")
            assert of_run.hash == of_run.kept == of_suite.hash == sent
            assert (of_suite.prompt, of_suite.kept) == (of_run.prompt, "")
            assert [note.code for note in of_run.notes()][-1] == "prompt-as-sent"


def test_a_conversation_is_shown_by_its_turns(asked: Path):
    shown = taskloom.show_prompt(asked / "run", TASK, learner="chat", shots=2, seed=3)
    assert not isinstance(shown.prompt, str)
    assert [message.role for message in shown.prompt] == ["user", "assistant"] * (len(shown.prompt) // 2) + ["user"]
    assert str(shown).startswith("[user]\nRead the title and the abstract, and choose the category.\n\n")
    assert str(shown).count("[assistant]\n") == len(shown.prompt) // 2


def test_what_is_not_named_is_the_first(asked: Path):
    shown = show_prompt(asked / "run", TASK)
    assert (shown.learner, shown.shots, shown.seed, shown.is_drawn) == ("plain", 0, 3, True)
    assert shown.tokens
    assert shown.prompt == show_prompt(asked / "suite", TASK, study=asked / "study.yaml").prompt


def test_a_prompt_that_differs_from_what_was_sent_is_told(asked: Path, tmp_path: Path):
    changed = tmp_path / "run"
    changed.mkdir()
    for name in (LEDGER, "study.yaml"):
        (changed / name).write_bytes((asked / "run" / name).read_bytes())
    text = (changed / "study.yaml").read_text()
    (changed / "study.yaml").write_text(text.replace("encoding: def}", "encoding: none}"))
    shown = show_prompt(changed, TASK, learner="told")
    assert (shown.kept != shown.hash, [note.code for note in shown.notes()][-1]) == (True, "prompt-differs")


def test_without_a_study_a_learner_goes_by_its_name_or_is_described(asked: Path):
    shown = show_prompt(asked / "suite", "abstract->category", learner="in-context", shots=1, seed=7)
    assert (shown.shots, shown.seed, shown.kept, shown.is_drawn) == (1, 7, "", True)
    echo = StudyLearner(learner="in-context", options={"model": "fake:echo", "template": "plain"})
    described = show_prompt(asked / "suite", "abstract->category", learner=echo, item=shown.item)
    assert str(described).startswith("Read the abstract and choose the category.\n")


def test_an_item_that_the_seed_does_not_draw_is_shown_and_that_is_told(asked: Path):
    drawn = {show_prompt(asked / "run", TASK, seed=3).item}
    suite = taskloom.open_suite(asked / "suite")
    with Ledger(asked / "run" / LEDGER) as ledger:
        one = next(one for one in ledger.planned(0) if one.task == TASK and one.seed == 3)
        drawn |= {*(ledger.result(one.cell) or {})["sets"]["query"]["items"]}
    pool = suite.asked_pool(TASK)
    other = next(e.item.id for e in pool.take(range(len(pool))) if e.item.id not in drawn)
    shown = show_prompt(asked / "run", TASK, learner="plain", seed=3, item=other)
    assert (shown.item, shown.is_drawn, shown.kept) == (other, False, "")
    assert [note.code for note in shown.notes()][-1] == "item-not-drawn"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"learner": "plane"}, UnknownNameError),
        ({"shots": 7}, UnknownNameError),
        ({"seed": 4}, UnknownNameError),
        ({"item": "gone"}, UsageError),
        ({"learner": "nearest", "shots": 2}, UsageError),
        ({"study": "study.yaml"}, UsageError),
    ],
)
def test_what_a_run_does_not_have_is_refused(asked: Path, options, error):
    with pytest.raises(error):
        show_prompt(asked / "run", TASK, **options)


def test_faults_of_templates_are_named_before_any_work(asked: Path, tmp_path: Path):
    (tmp_path / "suite").symlink_to((asked / "suite").resolve())
    text = STUDY.replace('"*->category": "{instruction}', '"*->categori": plain\n        "*->category": "{abstrakt}')
    (tmp_path / "study.yaml").write_text(text)
    with pytest.raises(StudyError) as refused:
        taskloom.run(tmp_path / "study.yaml", tmp_path / "run")
    assert "'*->categori'" in str(refused.value)
    (tmp_path / "study.yaml").write_text(text.replace('        "*->categori": plain\n', ""))
    with pytest.raises(StudyError) as refused:
        taskloom.run(tmp_path / "study.yaml", tmp_path / "run")
    assert "unknown slot {abstrakt}" in str(refused.value)
    assert not (tmp_path / "run" / LEDGER).exists()


def test_faults_of_templates_and_of_models_are_named_at_once(asked: Path, tmp_path: Path):
    (tmp_path / "suite").symlink_to((asked / "suite").resolve())
    remote = '  remote: {in-context: {model: "api:m@https://example.org/v1", chat: true}}\n'
    (tmp_path / "study.yaml").write_text(STUDY.replace("{title} /", "{titel} /") + remote)
    with pytest.raises(StudyError) as refused:
        taskloom.run(tmp_path / "study.yaml", tmp_path / "run")
    assert "unknown slot {titel}" in str(refused.value)
    assert "learner 'remote': chat endpoints" in str(refused.value)


def test_the_template_is_part_of_a_learners_identity(asked: Path):
    from taskloom.learners import identity, learner

    plain, cue = (learner("in-context", {"template": {"*": name}}) for name in ("plain", "cue"))
    assert identity(plain) != identity(cue)
    assert prompt_hash("a") != prompt_hash("b")


def test_a_cell_that_has_not_been_run_has_no_prompt_yet(asked: Path, tmp_path: Path):
    shutil.copytree(asked / "run", tmp_path / "run")
    with Ledger(tmp_path / "run" / "ledger.db") as ledger:
        one = next(one for one in ledger.planned(0) if one.kind == "adapt")
        ledger.db.execute("DELETE FROM keys")
    with pytest.raises(UsageError, match="the run has nothing of this learner and task yet"):
        show_prompt(tmp_path / "run", one.task, learner=one.learner)
