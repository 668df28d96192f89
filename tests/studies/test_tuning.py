"""Models that are trained inside studies: for a cell, or for many; killed, resumed, looked at on the way."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as hf
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from taskloom.core import Example, Folds, Item, Labels, Suite, Task
from taskloom.errors import StudyError, TaskloomError
from taskloom.models.recipe import Recipe
from taskloom.models.scratch import pretraining
from taskloom.models.trained import Trained, trained
from taskloom.reports import How, render, summarise
from taskloom.studies.api import open_run, prepare
from taskloom.studies.ledger import Ledger
from taskloom.studies.results import Results
from taskloom.studies.training import Training
from taskloom.studies.training_notes import Progressing, TrainingNote, progressing
from taskloom.suites import rows, store

torch.set_num_threads(1)  # tiny models: more threads than workers only get in each other's way

COLOURS = {"sky": "blue", "sea": "blue", "grass": "green", "leaf": "green", "snow": "white", "milk": "white"}
FILLERS = ("the", "a", "old", "new", "big", "small")
QUESTION = ("Answer", "Labels", "what", "colour", "is", "it", ":", ",")
WORDS = ["<pad>", "</s>", "<unk>", *COLOURS, *dict.fromkeys(COLOURS.values()), *FILLERS, *QUESTION]
STUDY = """
name: tuned
baselines: false
suite: suite
tasks: ["@test"]
protocol: {seeds: 2, shots: [0, 4], query: 12, dev: 4}
models:
  tiny: {load: "path:model"}
  meta: {train: tiny, most: 20, lr: 3e-3, steps: 60}
  light: {train: tiny, what: lora, most: 20, lr: 1e-2, steps: 10}
learners:
  plain: {in-context: {model: tiny}, shots: [0]}
  few: {tune: {model: tiny, lr: 1e-2, steps: 40}}
  lora: {tune: {model: tiny, what: lora, lr: 1e-2, steps: 10}, shots: [4]}
  +meta: {tune: {model: meta, lr: 3e-3, steps: 20, answers: choose}}
  +light: {in-context: {model: light}, shots: [0]}
"""
PROGRAM = """
import sys
import torch
from taskloom.models import checkpoints
checkpoints.SECONDS, checkpoints.SHARE = 0.0, 0
torch.set_num_threads(1)
from taskloom.studies.api import prepare
if __name__ == "__main__":
    done, _ = prepare(sys.argv[1], sys.argv[2]).run()
    sys.exit(done.failed)
"""


def write_model(folder: Path, *, broken: bool = False) -> None:
    """Write a tiny T5 of random weights with a tokenizer of whole words; a broken one knows no number."""
    words = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    read = hf.PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", eos_token="</s>", unk_token="<unk>", model_max_length=64
    )
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4}
    ends: dict[str, Any] = {"decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1, "dropout_rate": 0.0}
    net = hf.T5ForConditionalGeneration(hf.T5Config(vocab_size=len(WORDS), **sizes, **ends))
    if broken:
        net.encoder.final_layer_norm.weight.data.fill_(float("nan"))
    net.save_pretrained(folder)
    read.save_pretrained(folder)


def write_suite(folder: Path) -> None:
    """Write two tasks of colours, one to train on and one to ask about, which share no record."""
    labels = Labels(tuple(dict.fromkeys(COLOURS.values())))
    tasks, pools = {}, {}
    for name, firsts in (("taught", FILLERS[:3]), ("asked", FILLERS[3:])):
        tasks[name] = Task(id=name, instruction="what colour is it", output=labels, metrics=("accuracy",))
        texts = {f"{a} {b} {thing}": colour for a in firsts for b in FILLERS for thing, colour in COLOURS.items()}
        made = [Example(Item(text, {"input": text}), (colour,), text) for text, colour in texts.items()]
        pools[name] = {"all": rows.pool(tasks[name], made)}
    folds: Folds = {"only": {"train": ("taught",), "test": ("asked",)}}
    store.write(Suite(id="s", tasks=tasks, pools=pools, folds=folds), folder)


@pytest.fixture
def study(tmp_path: Path) -> Callable[..., Path]:
    """Write a study of a tiny model; parts of its text can be replaced."""
    write_model(tmp_path / "model")
    write_suite(tmp_path / "suite")

    def make(*replaced: tuple[str, str]) -> Path:
        text = STUDY
        for old, new in replaced:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "study.yaml").write_text(text)
        return tmp_path / "study.yaml"

    return make


def accuracy(found: Any, learner: str, shots: object) -> float:
    some = [o for o in found.outcomes if (o.learner, o.shots) == (learner, shots)]
    return float(sum(o.scores["accuracy"].value for o in some) / len(some))


def test_models_are_tuned_for_a_cell_and_trained_for_many(study: Callable[..., Path], tmp_path: Path):
    done, found = prepare(study(), tmp_path / "run").run()
    assert (done.failed, found.failures) == (0, ())
    kinds = {name: len(costs) for name, costs in found.training.items()}
    assert kinds == {"meta": 2, "light": 2}
    assert accuracy(found, "few", 4) > accuracy(found, "few", 0) + 0.3
    assert accuracy(found, "+meta", 0) > accuracy(found, "plain", 0) + 0.3
    zero = {o.learner: o for o in found.outcomes if o.shots == 0 and o.seed == 0}
    assert zero["few"].cost.trained == 0  # without support, nothing is changed
    by_learner = {o.learner: o.cost for o in found.outcomes if o.shots == 4}
    assert 0 < by_learner["lora"].trained < by_learner["few"].trained / 5
    assert by_learner["few"].taught > 0 < by_learner["few"].threads
    with Ledger(tmp_path / "run" / "ledger.db") as ledger:
        traces = ledger.traces(0)
        cell = next(o.cell for o in found.outcomes if (o.learner, o.shots) == ("few", 4))
        assert [step for step, _ in traces[cell]["loss"]] == list(range(40))
        assert traces[cell]["loss"][-1][1] < traces[cell]["loss"][0][1]
        assert len(ledger.outputs(cell)["query"]["scores"]) == 12
    assert not list((tmp_path / "run" / "artifacts").glob("*.part"))


def _killed(
    process: subprocess.Popen[bytes], artifacts: Path, kind: str, until: Callable[[Callable[[], bool]], None]
) -> bool:
    """Kill a process as soon as it has a checkpoint of a training for a cell, or for many."""
    place = "*.part/0/step-*" if kind == "few" else "*.part/step-*"
    until(lambda: process.poll() is not None or any(artifacts.glob(place)))
    alive = process.poll() is None
    if alive:
        os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return alive


def test_a_run_with_training_that_is_killed_ends_with_the_same_weights_and_answers(
    study: Callable[..., Path], tmp_path: Path, until: Callable[[Callable[[], bool]], None]
):
    path = study(("steps: 60", "steps: 120"), ("steps: 40}", "steps: 120}"))
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    command = [sys.executable, str(program), str(path)]
    subprocess.run([*command, str(whole)], check=True, capture_output=True)
    kills = 0
    for kind in ("few", "meta"):  # while a model is trained for a cell, and for many
        process = subprocess.Popen([*command, str(killed)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        kills += _killed(process, killed / "artifacts", kind, until)
    assert kills
    subprocess.run([*command, str(killed)], check=True, capture_output=True)
    with Ledger(whole / "ledger.db") as one, Ledger(killed / "ledger.db") as other:
        assert list(one.contents()) == list(other.contents())


def test_looks_keep_what_was_answered_on_the_way(study: Callable[..., Path], tmp_path: Path):
    path = study(("dev: 4}", "dev: 4, looks: [0, 20, 40]}"))
    _, found = prepare(path, tmp_path / "run").run()
    with Ledger(tmp_path / "run" / "ledger.db") as ledger:
        few = next(o for o in found.outcomes if (o.learner, o.shots) == ("few", 4))
        body = ledger.result(few.cell)
        assert body is not None
        assert sorted(body["sets"]) == ["query", *(f"{s}@{n}" for s in ("query", "support") for n in (0, 20, 40))]
        assert body["sets"]["query@40"]["answers"] == body["sets"]["query"]["answers"]
        support = body["sets"]["support@40"]
        assert (len(support["answers"]), len(support["rows"])) == (12, 12)
        plain = next(o for o in found.outcomes if o.learner == "plain")
        assert set((ledger.result(plain.cell) or {})["sets"]) == {"query"}
    assert [(look.set, look.step) for look in few.looks] == [(s, n) for s in ("query", "support") for n in (0, 20, 40)]
    last = {look.set: look for look in few.looks if look.step == 40}
    assert last["query"].scores["accuracy"].value == few.scores["accuracy"].value
    assert last["query"].records == few.records
    gold = [COLOURS[item.split()[-1]] for item in last["support"].items]
    right = sum(given == colour for given, colour in zip(support["answers"], gold, strict=True))
    assert last["support"].scores["accuracy"].value == pytest.approx(right / 12)
    assert plain.looks == ()
    _check_curves(open_run(tmp_path / "run"))
    before = {cell.id for cell in prepare(study(), tmp_path / "run").plan.cells if cell.learner == "plain"}
    assert plain.cell in before  # looks are a part of the name of what can be looked at, and of no other


def _check_curves(found: Results) -> None:
    """Losses and looks are rows, of learners and of models."""
    rows = found.curves().to_pylist()
    cells = {(row["learner"], row["kind"], row["shots"], row["task"]) for row in rows if row["metric"] == "loss"}
    assert cells == {
        ("few", "adapt", 4, "asked"), ("lora", "adapt", 4, "asked"), ("+meta", "adapt", 4, "asked"),
        ("meta", "train", None, None), ("light", "train", None, None),
    }  # fmt: skip
    lora = [row for row in rows if (row["learner"], row["seed"], row["metric"]) == ("lora", 1, "loss")]
    assert [row["step"] for row in lora] == list(range(10))
    looks = {(row["learner"], row["set"], row["step"]) for row in rows if row["metric"] == "accuracy"}
    assert {step for name, _, step in looks if name == "lora"} == {0}  # it made 10 steps, and none at 20
    assert {set_ for _, set_, _ in looks} == {"support", "query"}
    assert {trace.what for trace in found.traces() if trace.learner == "light"} == {"lora"}
    only = replace(found, outcomes=tuple(o for o in found.outcomes if o.learner == "plain"), training={})
    assert only.traces() == ()


def test_a_trial_makes_few_steps(study: Callable[..., Path], tmp_path: Path):
    _, found = prepare(study(), tmp_path / "run", limit=3).run()
    few = next(o for o in found.outcomes if (o.learner, o.shots) == ("few", 4))
    assert {trace.points[-1][0] for trace in found.traces()} == {2}
    with Ledger(tmp_path / "run" / "ledger.db") as ledger:
        assert [step for step, _ in ledger.traces(3)[few.cell]["loss"]] == [0, 1, 2]


def test_a_loss_that_is_not_finite_fails_its_cell_alone_and_names_the_step(study: Callable[..., Path], tmp_path: Path):
    write_model(tmp_path / "broken", broken=True)
    path = study(
        ('path:model"}\n', 'path:model"}\n  broken: {load: "path:broken"}\n'),
        ("few: {tune: {model: tiny", "few: {tune: {model: broken"),
    )
    _, found = prepare(path, tmp_path / "run").run()
    assert {(f.learner, f.why.code, dict(f.why.values)["step"]) for f in found.failures} == {
        ("few", "loss-not-finite", 0)
    }
    assert {o.learner for o in found.outcomes} >= {"plain", "lora", "+meta", "+light"}


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "what: lora, lr: 1e-2, steps: 10}, shots",
            "what: lorra, lr: 1e-2, steps: 10}, shots",
            "did you mean lora",
        ),
        ("lr: 1e-2, steps: 40", "lr: 0, steps: 40", "lr must be a number from 1e-12 to 100: 0"),
        ("lr: 1e-2, steps: 40", "lr: fast, steps: 40", "lr must be a number from 1e-12 to 100: 'fast'"),
        ("lr: 3e-3, steps: 60", "lr: 3e-3, steps: 6, epochs: 2", "one of steps, epochs and tokens"),
        ("most: 20, lr: 3e-3", "most: 20, what: none, lr: 3e-3", "not none"),
        ("most: 20, lr: 3e-3", "most: 20, patience: 3, lr: 3e-3", "early stopping needs examples and patience"),
        ("path:model", "path:suite", "no safetensors in the folder"),
        ('tiny: {load: "path:model"}', 'tiny: {load: "api:x@http://127.0.0.1:9/v1"}', "can't be trained"),
        ('tiny: {load: "path:model"}', "tiny: {load: minilm}", "can't"),
    ],
)
def test_recipes_that_do_not_fit_are_refused_before_any_training(
    study: Callable[..., Path], tmp_path: Path, old: str, new: str, told: str
):
    with pytest.raises(TaskloomError) as refused:
        prepare(study((old, new)), tmp_path / "run")
    assert told in str(refused.value)
    assert not (tmp_path / "run" / "ledger.db").exists()


def test_more_shots_than_examples_are_told_by_the_plan(study: Callable[..., Path], tmp_path: Path):
    with pytest.raises(StudyError, match="nothing to run"):
        prepare(
            study(("shots: [0, 4], query", "shots: [50], query"), (", shots: [4]", ""), (", shots: [0]", "")),
            tmp_path / "run",
        )


def test_results_of_a_run_with_training_are_read_from_the_ledger_alone(study: Callable[..., Path], tmp_path: Path):
    path = study()
    prepare(path, tmp_path / "run", only=["lora", "+light"]).run()
    for file in (tmp_path / "model").iterdir():
        file.unlink()
    found = open_run(tmp_path / "run")
    assert {o.learner for o in found.outcomes} == {"lora", "+light"}


def test_how_far_a_training_is_can_be_read_by_another_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("taskloom.studies.training_notes.EVERY", 0.0)
    note = TrainingNote(tmp_path / "cell.part", "meta", "")
    note(1, 0.1, 3.0)
    note(5, 0.5, 1.25)
    (found,) = progressing(tmp_path)
    assert (found.model, found.step, found.share, found.loss) == ("meta", 5, 0.5, 1.25)
    told = Progressing(model="few", task="a->b", step=1200, share=0.5, loss=1.2345, seconds=75)
    assert str(told) == "training few on a->b: 50%, step 1,200, loss 1.23, 1:15 left"


NANO = """
name: nano
baselines: false
suite: suite
tasks: ["@test"]
protocol: {seeds: 1, shots: [0, 2], query: 6}
models:
  nano: {train: "new:llama-nano", goal: texts, most: all, vocabulary: 400, length: 32, steps: 6, batch: 4}
  meta: {train: nano, steps: 4}
learners:
  few: {tune: {model: nano, steps: 4}}
  meta: {tune: {model: meta, what: none}, shots: [0]}
"""


def test_a_study_pre_trains_a_model_on_texts_and_goes_on_from_it(tmp_path: Path):
    write_suite(tmp_path / "suite")
    (tmp_path / "study.yaml").write_text(NANO)
    done, found = prepare(tmp_path / "study.yaml", tmp_path / "run").run()
    assert (done.failed, len(found.outcomes)) == (0, 3)
    assert {name: len(costs) for name, costs in found.training.items()} == {"nano": 1, "meta": 1}
    (cost,) = found.training["nano"]
    assert (cost.trained > 5 * 10**5, cost.items) == (True, 108)
    assert prepare(tmp_path / "study.yaml", tmp_path / "run").left() == []


def test_texts_outside_the_suite_name_a_model_by_their_content(tmp_path: Path):
    write_suite(tmp_path / "suite")
    texts = tmp_path / "texts.txt"
    cells = []
    for words in ("the sky is blue", "the sea is blue", "the sky is blue"):
        texts.write_text("\n".join(f"{words} {n}" for n in range(40)))
        (tmp_path / "study.yaml").write_text(NANO.replace("most: all", "texts: texts.txt"))
        made = prepare(tmp_path / "study.yaml", tmp_path / "run").plan
        cells.append(next(cell.id for cell in made.cells if cell.learner == "nano"))
    assert cells[0] == cells[2] != cells[1]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("new:llama-nano", "new:llama-nanno", "did you mean llama-nano"),
        ("goal: texts, most: all, vocabulary: 400, length: 32, ", "", "set `goal: texts`"),
        ("train: nano, steps", "train: nano, goal: texts, steps", "needs an architecture without weights"),
        ("goal: texts, ", "", "options of pre-training need `goal: texts`: vocabulary, length"),
        ("vocabulary: 400", "vocabulary: 40", "vocabulary"),
        ("length: 32", "objective: gaps", "gaps"),
        ("length: 32", "length: 32, what: lora", "has no such options: what"),
        ("most: all", "texts: nowhere.txt", "nowhere.txt"),
        ("few: {tune: {model: nano", 'few: {tune: {model: "new:t5-nano"', "a model that can score"),
    ],
)
def test_pre_training_that_can_not_be_done_is_refused_before_any_work(tmp_path: Path, old: str, new: str, told: str):
    write_suite(tmp_path / "suite")
    assert old in NANO
    (tmp_path / "study.yaml").write_text(NANO.replace(old, new))
    with pytest.raises(TaskloomError) as refused:
        prepare(tmp_path / "study.yaml", tmp_path / "run")
    assert told in str(refused.value)
    assert not (tmp_path / "run" / "ledger.db").exists()


def test_a_report_shows_what_was_trained_and_how_it_was_learnt(study: Callable[..., Path], tmp_path: Path):
    path = study(
        ("dev: 4}", "dev: 4, looks: [0, 10]}"),
        ("  plain:", "  adapters: {tune: {model: tiny, what: adapters, steps: 10}, shots: [4]}\n  plain:"),
        ("name: tuned", "name: tuned\nviews: [learning, ladder]"),
        ("steps: 40", "steps: 10"),
    )
    _, found = prepare(path, tmp_path / "run", only=["few", "lora", "adapters", "plain", "+light"]).run()
    told = summarise(found, How(count=50))
    rows = {row.label: row for row in told.training.rows}
    assert list(rows) == ["light", "adapters, 4 shots", "few, 4 shots", "lora, 4 shots"]
    assert {label: row.steps for label, row in rows.items()} == dict.fromkeys(rows, 10)
    assert rows["light"].what == rows["lora, 4 shots"].what == "LoRA"
    assert rows["adapters, 4 shots"].parameters < rows["few, 4 shots"].parameters
    assert all(0 < row.loss < 10 and row.seconds > 0 for row in rows.values())
    tuned = [o for o in found.outcomes if o.looks]
    assert all(0 < o.cost.fitting < o.cost.seconds for o in tuned)
    query, support, memorised, ladder = told.figures
    assert memorised.columns[0] == "learner"
    assert query.columns == support.columns == ("learner", "step 0", "step 10")
    assert {row[0]: row[2] for row in ladder.rows}["few"] == rows["few, 4 shots"].parameters
    final = next(s.score for s in told.leaderboards[-1].standings if s.learner == "few")
    assert {row[0]: row[2] for row in query.rows}["few"] == final
    assert render(told, "html").count('aria-label="loss of ') == 4


def test_what_is_held_out_for_early_stopping_shares_no_record_with_what_is_taught(tmp_path: Path):
    write_suite(tmp_path / "suite")
    (tmp_path / "study.yaml").write_text(
        NANO.replace("train: nano, steps: 4", "train: nano, dev: 20, patience: 1, steps: 4")
    )
    made = prepare(tmp_path / "study.yaml", tmp_path / "run").plan
    training = Training(made.suite, made.study)
    of = made.models["meta"]
    assert isinstance(of, Trained)
    kept, apart = training.lessons(of, training.taught("meta", of, "asked", 0), 0)
    assert (len(apart), len(kept)) == (20, 80)
    assert not {lesson.item for lesson in kept} & {lesson.item for lesson in apart}
    (tmp_path / "study.yaml").write_text(
        NANO.replace("train: nano, steps: 4", "train: nano, dev: 80, patience: 1, steps: 4")
    )
    skipped = prepare(tmp_path / "study.yaml", tmp_path / "run").plan.skipped
    assert {note.code for note in skipped} == {"dev-too-large"}


def test_options_that_are_written_out_count_though_they_are_the_usual_ones_elsewhere():
    how = pretraining("t5-nano", trained({"train": "new:t5-nano", "goal": "texts", "batch": 8, "warmup": 0.0})).how
    assert how is not None
    assert (how.batch, how.warmup, how.steps, how.rate) == (8, 0.0, 3000, 3e-3)
    assert pretraining("t5-nano", trained({"train": "new:t5-nano", "goal": "texts", "epochs": 2})).how == Recipe(
        batch=16, warmup=0.05, epochs=2, lr=3e-3
    )


def test_a_lost_model_is_made_again_with_as_many_threads_and_the_same_weights(
    study: Callable[..., Path], tmp_path: Path
):
    path = study()
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        prepare(path, tmp_path / "run", only=["+light"]).run()
        torch.set_num_threads(1)
        for folder in (tmp_path / "run" / "artifacts").iterdir():
            shutil.rmtree(folder)
        text = path.read_text().replace("model: light}, shots: [0]}", "model: light, tokens: 9}, shots: [0]}")
        path.write_text(text)
        done, found = prepare(path, tmp_path / "run", only=["+light"]).run()
    finally:
        torch.set_num_threads(before)
    assert (done.failed, done.skipped, len(found.outcomes)) == (0, 0, 2)
