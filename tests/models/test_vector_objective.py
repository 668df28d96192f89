"""Training an encoder on tasks of several formats: losses by hand, equal batches, resumed byte for byte."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open

from taskloom.errors import ModelError, UsageError
from taskloom.models import checkpoints
from taskloom.models.encoder import TransformerEncoder
from taskloom.models.load import Weights
from taskloom.models.recipe import Recipe, Watch
from taskloom.models.telling import TENSORS, Telling, told_in
from taskloom.models.trained import Trained, trained
from taskloom.models.vector_lessons import EqualOrder, VectorLesson, VectorTask, groups_of_formats, random_groups
from taskloom.models.vector_objective import VectorObjective, head_loss, triplet_loss

from .test_encoder import net_of, sentences, tokenizer_into

torch.set_num_threads(1)

TASKS = (
    VectorTask(
        name="kind", loss="class", forms=("CLF", "CLF"), size=2,
        lessons=tuple(VectorLesson((text,), (float(n % 2),)) for n, text in enumerate(("a b", "c d e", "f", "g h"))),
    ),
    VectorTask(
        name="labels", loss="labels", forms=("CLF", "CLF"), size=3,
        lessons=(VectorLesson(("a b",), (0.0, 2.0)), VectorLesson(("c",), (1.0,))),
    ),
    VectorTask(
        name="year", loss="number", forms=("RGN", "RGN"),
        lessons=(VectorLesson(("a b",), (0.5,)), VectorLesson(("h",), (1.0,)), VectorLesson(("e",), (0.0,))),
    ),
    VectorTask(
        name="find", loss="triplet", forms=("QRY", "PRX"),
        lessons=(VectorLesson(("a", "a b c", "f g h i")), VectorLesson(("b", "b c", "k l"))),
    ),
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT of sentence-transformers."""
    found = tmp_path_factory.mktemp("bert")
    net_of("bert").save_pretrained(found)
    tokenizer_into(found)
    sentences(found)
    return found


def objective(folder: Path, *, batch: int = 8, parts: int = 1, tell: Any = "codes") -> VectorObjective:
    encoder = TransformerEncoder.load(folder)
    encoder.attach_formats(Telling(tell=tell), ("CLF", "RGN", "QRY", "PRX"), seed=0)
    return VectorObjective(encoder, TASKS, batch=batch, parts=parts, margin=1.0, seed=0)


def recipe(**more: Any) -> Trained:
    return trained({"train": "x", "goal": "vectors", "batch": 8, "steps": 4, "lr": 0.01, "warmup": 0, **more})


# --- losses by hand --------------------------------------------------------------------------------------------------


def test_the_triplet_loss_is_the_margin_that_is_missing():
    query, better, worse = (torch.tensor([[0.0, 0.0]] * 3), torch.tensor([[3.0, 4.0]] * 3),
                            torch.tensor([[6.0, 8.0], [3.0, 4.0], [0.0, 0.0]]))  # fmt: skip
    # distances 5 - 10 + 1 < 0; 5 - 5 + 1 = 1; 5 - 0 + 1 = 6
    assert triplet_loss(query, better, worse, 1.0).item() == pytest.approx(7.0, abs=1e-4)
    assert triplet_loss(query, better, worse, 6.0).item() == pytest.approx(1 + 6 + 11, abs=1e-4)


def test_heads_have_cross_entropy_binary_cross_entropy_and_squared_error():
    logits = torch.tensor([[0.0, math.log(3.0)]])
    assert head_loss("class", logits, torch.tensor([1])).item() == pytest.approx(math.log(4 / 3))
    by_label = -math.log(0.5) - math.log(0.25)  # the first is there, the second is not
    assert head_loss("labels", logits, torch.tensor([[1.0, 0.0]])).item() == pytest.approx(by_label / 2)
    assert head_loss("number", torch.tensor([[0.5], [2.0]]), torch.tensor([1.0, 0.0])).item() == pytest.approx(4.25)


def test_the_loss_of_a_task_is_that_of_the_vectors_of_its_forms(folder: Path):
    of = objective(folder)
    part = of.parts(0)[3]
    lessons = [TASKS[3].lessons[row] for row in of.order.rows(0)[3]]
    first, better, worse = zip(*(lesson.texts for lesson in lessons), strict=True)
    encode = of.encoder.encode
    query, near, far = encode(first, "QRY"), encode(better, "PRX"), encode(worse, "PRX")
    by_hand = np.maximum(np.linalg.norm(query - near, axis=1) - np.linalg.norm(query - far, axis=1) + 1, 0).sum()
    assert of.loss(of.encoder.net, part).item() == pytest.approx(by_hand, abs=1e-4)
    kind = of.parts(0)[0]
    chosen = [TASKS[0].lessons[row] for row in of.order.rows(0)[0]]
    with torch.no_grad():
        logits = of.heads[0](torch.tensor(encode([lesson.texts[0] for lesson in chosen], "CLF")))
    wanted = torch.tensor([int(lesson.target[0]) for lesson in chosen])
    assert of.loss(of.encoder.net, kind).item() == pytest.approx(head_loss("class", logits, wanted).item(), abs=1e-4)


# --- equal batches ---------------------------------------------------------------------------------------------------


def test_each_step_has_equally_many_lessons_of_each_task_and_smaller_tasks_come_again(folder: Path):
    of = objective(folder, batch=8)
    assert of.epoch == 2  # of the largest task, two lessons in each step
    for step in range(4):
        parts = of.parts(step)
        assert [int(part.inputs["task"]) for part in parts] == [0, 1, 2, 3]
        assert [part.targets for part in parts] == [2, 2, 2, 2]
    rows = [of.order.rows(step) for step in range(6)]
    assert Counter(row for step in rows[:2] for row in step[0]) == Counter(range(4))  # each once in an epoch
    assert Counter(row for step in rows for row in step[1]) == {0: 6, 1: 6}
    assert Counter(row for step in rows for row in step[2]) == {0: 4, 1: 4, 2: 4}
    again = EqualOrder([4, 2, 3, 2], batch=8, seed=0)
    assert [again.rows(step) for step in (5, 0, 3)] == [rows[5], rows[0], rows[3]]  # whatever came before
    assert sorted(EqualOrder([3, 2], batch=256, seed=0).rows(0)[0]) == [0, 1, 2]  # none of the largest task twice
    assert len(objective(folder, parts=2).parts(0)) == 8  # which saves memory
    with pytest.raises(ModelError) as caught:
        objective(folder, batch=3)
    assert caught.value.note.code == "batch-below-tasks"


def test_random_groups_are_as_equal_as_can_be_and_formats_follow_the_most():
    names = [f"t{n}" for n in range(7)]
    groups = random_groups(names, 3, seed=1)
    assert sorted(Counter(groups.values()).values()) == [2, 2, 3]
    assert groups == random_groups(names, 3, seed=1) != random_groups(names, 3, seed=2)
    formats = {"a": "CLF", "b": "CLF", "c": "CLF", "d": "RGN"}
    assert groups_of_formats({"a": "g2", "b": "g1", "c": "g2", "d": "g1"}, formats) == {"CLF": "g2", "RGN": "g1"}


def test_a_warm_up_is_a_share_or_a_number_of_steps():
    assert Recipe(warmup=700, epochs=2).warmup == 700
    for given in ({"warmup": 1.5}, {"warmup": 700, "tokens": 5}):
        with pytest.raises(UsageError) as caught:
            Recipe(**given)
        assert caught.value.note.code == "warmup-steps-unfit"


def test_a_training_that_is_shorter_than_its_warm_up_is_counted(folder: Path, tmp_path: Path):
    base = Weights(load=f"path:{folder}")
    short = base.train_vectors(TASKS, [], recipe(warmup=5), seed=0, folder=tmp_path)
    enough = base.train_vectors(TASKS, [], recipe(warmup=4), seed=0, folder=tmp_path)
    assert (short.counts.get("warmup-not-over"), enough.counts.get("warmup-not-over")) == (1, None)


# --- training --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tell", ["none", "codes", "adapters", "pals"])
def test_training_lowers_the_loss_and_the_folder_gives_the_trained_vectors(folder: Path, tmp_path: Path, tell: Any):
    base = Weights(load=f"path:{folder}", normalise=False)
    how = recipe(tell=tell, steps=30, **({"pal_heads": 2} if tell == "pals" else {}))
    learnt = base.train_vectors(TASKS, [], how, seed=0, folder=tmp_path)
    assert learnt.losses[-1][1] < learnt.losses[0][1]
    (told,) = told_in(tmp_path)
    assert told.telling.tell == tell
    assert (base.forms([tmp_path]) == ()) == (tell == "none")
    encoder = base.open_encoder(tmp_path, [tmp_path])
    vectors = {form: encoder.take(["a b"], form)[0] for form in base.forms([tmp_path]) or ("",)}
    assert all(np.isfinite(vector).all() for vector in vectors.values())
    assert len({vector.tobytes() for vector in vectors.values()}) == len(vectors)
    assert (learnt.per_form > 0) == (tell != "none")
    if tell == "codes":
        assert learnt.per_form == 16  # an embedding
    with safe_open(tmp_path / TENSORS, "pt") as file:
        assert not any("head/" in name for name in file.keys())  # noqa: SIM118 (it is no mapping)


def test_fusion_is_trained_on_top_of_adapters(folder: Path, tmp_path: Path):
    base, below, above = Weights(load=f"path:{folder}"), tmp_path / "adapters", tmp_path / "fusion"
    for at in (below, above):
        at.mkdir()
    base.train_vectors(TASKS, [], recipe(tell="adapters"), seed=0, folder=below)
    kept = (below / TENSORS).read_bytes()
    base.train_vectors(TASKS, [below], recipe(tell="fusion"), seed=0, folder=above)
    assert (below / TENSORS).read_bytes() == kept
    found = base.open_encoder(tmp_path, [below, above]).take(["a b"], "PRX")[0]
    assert not np.allclose(found, base.open_encoder(tmp_path, [below]).take(["a b"], "PRX")[0], atol=1e-6)


def test_a_training_that_was_ended_goes_on_to_the_same_bytes(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    base, how = Weights(load=f"path:{folder}"), recipe(tell="adapters", steps=6)
    places = {name: tmp_path / name for name in ("whole", "first", "then", "kept")}
    for at in places.values():
        at.mkdir()
    base.train_vectors(TASKS, [], how, seed=3, folder=places["whole"], watch=Watch(threads=1))
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    monkeypatch.setattr(checkpoints, "SHARE", 0)
    watch = Watch(keep=places["kept"], threads=1)
    with pytest.raises(KeyboardInterrupt):
        base.train_vectors(TASKS, [], how, seed=3, folder=places["first"], watch=replace(watch, note=end_at_4))
    learnt = base.train_vectors(TASKS, [], how, seed=3, folder=places["then"], watch=watch)
    assert learnt.steps == 6
    assert (places["then"] / TENSORS).read_bytes() == (places["whole"] / TENSORS).read_bytes()


def end_at_4(step: int, share: float, loss: float) -> None:
    if step == 4:
        raise KeyboardInterrupt


def test_early_stopping_goes_by_what_is_held_out(folder: Path, tmp_path: Path):
    tasks = [replace(TASKS[0], dev=(VectorLesson(("k l",), (1.0,)),)), *TASKS[1:]]
    how = recipe(tell="codes", steps=40, lr=0.5, dev=1, patience=1, every=1)
    learnt = Weights(load=f"path:{folder}").train_vectors(tasks, [], how, seed=0, folder=tmp_path)
    assert 1 < len(learnt.validation) < 40
