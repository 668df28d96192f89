"""Pre-training from scratch: what is learnt from, what is written, and that a kill changes nothing."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from taskloom.errors import ModelError, UnknownNameError, UsageError
from taskloom.models import Decoding, denoise, new, tokenizer
from taskloom.models.corpus import Corpus
from taskloom.models.corruption import sentences
from taskloom.models.lm import LM
from taskloom.models.load import source
from taskloom.models.objectives import IGNORED
from taskloom.models.pretrain import ABOUT, Pretrained, Pretraining, part_of, pretrain, usual_recipe

torch.set_num_threads(1)  # tiny models: more threads than workers only get in each other's way

NOUNS, KINDS = ("tree", "bird", "stone", "river"), ("old", "new", "red", "small")
TEXTS = [
    f"The {noun} number {n} is {kind}. It was {kind} for {n} years. Nobody knows why the {noun} is so."
    for n in range(30)
    for noun, kind in zip(NOUNS, KINDS, strict=True)
]
CORPUS = Corpus(tuple(TEXTS), {"text-duplicate": 3})
STEPS = 6


def settings(model: str = "t5-nano", **given: Any) -> Pretraining:
    budget = {name: given.pop(name) for name in ("steps", "epochs", "tokens", "lr") if name in given}
    recipe = usual_recipe(model, batch=4, **(budget or {"steps": STEPS}))
    return Pretraining(**{"model": model, "vocabulary": 400, "length": 32, "how": recipe, **given})


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


def lessons(model: str, goal: str = "") -> tuple[denoise.TextObjective, Any]:
    special = new.family_of(model).special
    read = tokenizer.train("bpe", TEXTS, 400, special)
    marks, goal_ = denoise.Marks.of(special, read), new.goal_of(model, goal)
    found, _ = denoise.pieces(TEXTS, read, goal_, marks, 32)
    return denoise.TextObjective(found, goal_, marks, batch=4, seed=1), read


# --- what is learnt from ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "goal"), [(f"{f}-nano", goal) for f, of in new.FAMILIES.items() for goal in of.goals]
)
def test_batches_are_functions_of_the_step(model: str, goal: str):
    objective, _ = lessons(model, goal)
    for step in (0, 3, objective.epoch + 1):
        (one,), (again,) = objective.parts(step), lessons(model, goal)[0].parts(step)
        assert all(torch.equal(one.inputs[name], again.inputs[name]) for name in one.inputs)
        assert one.targets == int((one.inputs["targets"] != IGNORED).sum())
        written = 0 if model == "llama-nano" else one.targets
        assert one.tokens == int(one.inputs["attention_mask"].sum()) + written


def test_an_epoch_has_every_piece_once_and_noise_differs_between_epochs():
    objective, _ = lessons("t5-nano")
    rows = [row for step in range(objective.epoch) for row in objective.order.rows(step)]
    assert sorted(rows) == list(range(len(objective.pieces)))
    piece = objective.pieces[0]
    assert objective.pair(piece, 1, 0, 0) != objective.pair(piece, 1, 1, 0)


def test_a_decoder_reads_what_it_has_written():
    objective, read = lessons("bart-nano")
    inputs = objective.parts(0)[0].inputs
    row = [token for token in inputs["targets"][0].tolist() if token != IGNORED]
    given = inputs["decoder_input_ids"][0].tolist()[: len(row)]
    assert given == [read.eos_token_id, *row[:-1]]
    assert read.decode(row, skip_special_tokens=True) in " ".join(TEXTS)
    assert (row[0], row[-1]) == (read.bos_token_id, read.eos_token_id)


def test_spans_come_back_from_a_batch():
    objective, read = lessons("t5-nano")
    inputs = objective.parts(0)[0].inputs
    shown, asked = (read.decode(inputs[name][0].clamp(min=0)) for name in ("input_ids", "targets"))
    assert shown.count("<extra_id_0>") == asked.count("<extra_id_0>") == 1
    assert "</s>" in shown


@pytest.mark.parametrize("kind", new.KINDS)
def test_gaps_are_whole_sentences_and_texts_of_one_sentence_are_counted(kind: new.Kind):
    special = new.family_of("pegasus-nano").special
    read = tokenizer.train(kind, TEXTS, 400, special)
    marks = denoise.Marks.of(special, read)
    found, short = denoise.pieces([TEXTS[0], "Only one sentence, of some words"], read, "gaps", marks, 200)
    assert (len(found), short) == (1, 1)
    objective = denoise.TextObjective(found, "gaps", marks, batch=1)
    shown, asked = map(read.decode, objective.pair(found[0], 0))
    assert shown.count("<mask_1>") == 1
    assert asked.strip() in [text.strip() for text in sentences(TEXTS[0])]
    whole = shown.replace("<mask_1>", f" {asked} ")
    assert "".join(whole.split()) == "".join(TEXTS[0].split())


def test_parts_of_a_step_together_are_the_step():
    objective, _ = lessons("t5-nano")
    whole = objective.parts(2)
    objective.count = 2
    halves = objective.parts(2)
    assert (len(whole), len(halves)) == (1, 2)
    assert sum(part.tokens for part in halves) == whole[0].tokens


# --- what is written -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", new.FAMILIES)
def test_a_model_is_pretrained_and_loads(family: str, tmp_path: Path):
    how = settings(f"{family}-nano", epochs=1)
    seen: list[int] = []
    made = pretrain(how, CORPUS, tmp_path / "m", note=lambda step, share, loss: seen.append(step))
    before, after = made.perplexity
    assert after < before
    assert made.about["texts"]["held_out"] == 6
    assert made.about["counts"]["text-duplicate"] == 3
    assert made.about["steps"] == len(seen) == seen[-1]
    assert not part_of(tmp_path / "m").exists()
    assert [file.name for file in tmp_path.iterdir()] == ["m"]
    lm = source(f"path:{tmp_path / 'm'}").open(tmp_path)
    assert isinstance(lm, LM)
    assert len(lm.generate(["The tree number 3 is"], Decoding(tokens=3))) == 1


def test_the_same_settings_give_the_same_bytes_and_others_do_not(tmp_path: Path):
    for name, how in {"a": settings(), "b": settings(), "c": settings(seed=1)}.items():
        pretrain(how, CORPUS, tmp_path / name)
    files = {f.name: f.read_bytes() for f in (tmp_path / "a").iterdir()}
    assert files == {f.name: f.read_bytes() for f in (tmp_path / "b").iterdir()}
    assert weights(tmp_path / "c") != files["model.safetensors"]


def test_no_steps_give_random_weights(tmp_path: Path):
    made = pretrain(settings(how=None), CORPUS, tmp_path / "m")
    assert made.perplexity[0] == made.perplexity[1] > 100
    assert (made.about["steps"], made.about["losses"]) == (0, [])


def test_without_held_out_text_there_is_no_perplexity(tmp_path: Path):
    made = pretrain(settings(held_out=0, how=None), CORPUS, tmp_path / "m")
    assert all(map(math.isnan, made.perplexity))


def test_a_budget_can_be_in_tokens(tmp_path: Path):
    made = pretrain(settings(tokens=2000), CORPUS, tmp_path / "m")
    assert 2000 <= made.about["tokens"] < 2400


# --- again, and after a kill -----------------------------------------------------------------------------------------


def test_a_model_that_is_there_is_not_made_again(tmp_path: Path, refused):
    first = pretrain(settings(), CORPUS, tmp_path / "m")
    again = pretrain(settings(), CORPUS, tmp_path / "m", note=lambda *_: pytest.fail("trained again"))
    assert again == Pretrained(folder=first.folder, about=json.loads(json.dumps(first.about)), was_there=True)
    with refused(UsageError, "pretrained-otherwise"):
        pretrain(settings(seed=1), CORPUS, tmp_path / "m")
    with refused(UsageError, "pretrained-otherwise"):
        pretrain(settings(), Corpus(tuple(TEXTS[1:]), {}), tmp_path / "m")
    assert not pretrain(settings(seed=1), CORPUS, tmp_path / "m", overwrite=True).was_there


def test_what_is_not_ours_is_not_overwritten(tmp_path: Path, refused):
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "thesis.txt").write_text("mine")
    (tmp_path / "n.part").mkdir()
    (tmp_path / "n.part" / "thesis.txt").write_text("mine")
    for name in "mn":
        with refused(UsageError, "not-a-pretrained-model"):
            pretrain(settings(), CORPUS, tmp_path / name, overwrite=True)
    assert {f.name for f in tmp_path.rglob("*")} == {"m", "n.part", "thesis.txt"}


PROGRAM = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from taskloom.models import checkpoints
checkpoints.SECONDS = checkpoints.SHARE = 0
from test_pretrain import CORPUS, pretrain, settings
folder, die = Path(sys.argv[2]), int(sys.argv[3])
steps = []
def note(step, share, loss):
    steps.append(step)
    if step == die:
        os.kill(os.getpid(), signal.SIGKILL)
pretrain(settings(), CORPUS, folder, note=note)
print(steps[0])
"""


def test_after_a_kill_the_same_weights_are_made(tmp_path: Path):
    def run(name: str, die: int) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", PROGRAM, str(Path(__file__).parent), str(tmp_path / name), str(die)]
        return subprocess.run(command, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})

    killed = run("killed", 4)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not (tmp_path / "killed").exists()
    assert part_of(tmp_path / "killed").is_dir()
    resumed = run("killed", 0)
    assert (resumed.returncode, resumed.stdout.strip()) == (0, "4"), resumed.stderr  # the third step was kept
    assert run("whole", 0).returncode == 0
    for file in (tmp_path / "whole").iterdir():
        assert file.read_bytes() == (tmp_path / "killed" / file.name).read_bytes(), file.name
    assert not part_of(tmp_path / "killed").exists()


def test_other_settings_do_not_go_on_with_what_was_begun(tmp_path: Path, refused):
    def stop(step: int, share: float, loss: float) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        pretrain(settings(), CORPUS, tmp_path / "m", note=stop)
    with refused(UsageError, "pretraining-differs"):
        pretrain(settings(seed=1), CORPUS, tmp_path / "m")
    pretrain(settings(seed=1), CORPUS, tmp_path / "m", overwrite=True)
    pretrain(settings(seed=1), CORPUS, tmp_path / "whole")
    assert weights(tmp_path / "m") == weights(tmp_path / "whole")


def test_two_processes_do_not_make_one_model(tmp_path: Path, refused):
    def meanwhile(step: int, share: float, loss: float) -> None:
        with refused(ModelError, "pretraining-under-way"):
            pretrain(settings(), CORPUS, tmp_path / "m")

    assert not pretrain(settings(steps=1), CORPUS, tmp_path / "m", note=meanwhile).was_there


# --- what is refused -------------------------------------------------------------------------------------------------


def test_bad_settings_are_refused_before_any_work(refused):
    with pytest.raises(UnknownNameError, match="did you mean t5-nano"):
        Pretraining(model="t5-nanno")
    with refused(UsageError, "objective-unfit", given="causal"):
        Pretraining(model="t5-nano", objective="causal")
    with pytest.raises(UnknownNameError, match="did you mean unigram"):
        Pretraining(model="t5-nano", tokenizer="unigrams")
    with refused(UsageError, "length-too-large", most=510, given=600):
        Pretraining(model="t5-nano", length=600)
    with refused(UsageError, "vocabulary-too-small", least=360, given=300):
        Pretraining(model="t5-nano", vocabulary=300)
    with refused(UsageError, "whole-number-expected"):
        Pretraining(model="t5-nano", length=4)
    for budget in ({"lr": 0.0}, {"steps": 1, "epochs": 1}, {"lr": "fast"}):
        with pytest.raises(UsageError):
            usual_recipe("t5-nano", **budget)


def test_texts_that_are_too_short_are_refused(tmp_path: Path, refused):
    with refused(ModelError, "texts-too-short"):
        pretrain(settings(held_out=0), Corpus(("a", "b"), {}), tmp_path / "m")


def test_what_a_model_says_of_itself_is_no_place_or_time(tmp_path: Path):
    pretrain(settings(), CORPUS, tmp_path / "m")
    about = (tmp_path / "m" / ABOUT).read_text()
    assert str(tmp_path) not in about
    assert {*json.loads(about)} == {
        "format", "id", "settings", "texts", "counts", "objective", "vocabulary", "steps", "tokens", "losses",
        "parameters", "perplexity",
    }  # fmt: skip
