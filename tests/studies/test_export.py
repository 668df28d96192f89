"""Encoders taken out of a run: by their name in the study and the seed of training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from taskloom.errors import UnknownNameError, UsageError
from taskloom.models import FORMS
from taskloom.models.fake import Fake
from taskloom.models.format_files import save_formats
from taskloom.models.load import Weights
from taskloom.models.telling import Telling
from taskloom.studies import artifacts
from taskloom.studies.cells import Cell
from taskloom.studies.costs import Cost
from taskloom.studies.export import TrainedEncoder, _chain, open_trained_encoder, trained_encoder
from taskloom.studies.finished import Finished
from taskloom.studies.ledger import Ledger

from ..models.test_encoder import TEXTS, net_of, opened, sentences, tokenizer_into
from ..models.test_formats import strong

if TYPE_CHECKING:
    from ..conftest import Refused

torch.set_num_threads(1)

STUDY = """
name: formats
suite: suite
models:
  base: {load: "path:bert", pooling: cls}
  adapters: {train: base, goal: vectors, tell: adapters}
  fusion: {train: adapters, goal: vectors, tell: fusion}
  codes: {train: base, goal: vectors, tell: codes}
learners:
  represent: {represent: {model: codes}}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has trained adapters with two seeds, and fusion on one of them; codes are not trained yet."""
    folder = tmp_path_factory.mktemp("study")
    net_of("bert").save_pretrained(folder / "bert")
    tokenizer_into(folder / "bert")
    sentences(folder / "bert")
    made = folder / "run"
    made.mkdir()
    (made / "study.yaml").write_text(STUDY)
    with Ledger(made / "ledger.db") as ledger:
        ledger.keep_about(study_folder=str(folder))
        cells = [cell("adapters0", "adapters", 0, {}), cell("adapters1", "adapters", 1, {})]
        cells += [cell("fusion1", "fusion", 1, {"trained": "adapters1"}), cell("codes0", "codes", 0, {})]
        ledger.keep_plan(0, "digest", "{}", cells)
        for one in cells[:3]:
            with artifacts.made(made, one.id) as into:
                train(folder / "bert", made, one, into)
            ledger.finish(one, Finished(artifact=artifacts.digest(made, one.id), cost=Cost(seconds=1.0)))
    return made


def cell(id_: str, model: str, training: int, base: dict[str, str]) -> Cell:
    key = json.dumps({"kind": "train", "base": base or {"weights": "x"}, "seed": training})
    return Cell(id=id_, key=key, task="t", learner=model, training=training, kind="train")


def train(base: Path, run: Path, of: Cell, into: Path) -> None:
    before = json.loads(of.key)["base"].get("trained")
    added = [artifacts.opened(run, before)] if before else []
    encoder: Any = Weights(load=f"path:{base}", pooling="cls").open_encoder(run, added)
    told: Any = {"tell": of.learner, "reduction": 4}
    save_formats(strong(encoder.attach_formats(Telling(**told), FORMS, seed=of.training), of.training), into)


@pytest.mark.parametrize(("model", "seed", "cells"), [
    ("adapters", 0, ["adapters0"]), ("adapters", 1, ["adapters1"]), ("fusion", None, ["adapters1", "fusion1"]),
])  # fmt: skip
def test_a_trained_encoder_is_written_as_it_is_in_the_run(
    taskloom, run: Path, tmp_path: Path, model: str, seed: int | None, cells: list[str]
):
    chosen = [] if seed is None else ["--training", seed]
    ran = taskloom("export", run, model, tmp_path / "made", *chosen)
    assert (ran.code, ran.out) == (0, "")
    assert f"{model}, training seed {1 if seed is None else seed}, forms CLF, RGN, PRX, QRY" in ran.err
    added = [artifacts.opened(run, one) for one in cells]
    assert list(trained_encoder(run, model, seed).added) == added
    wanted = Weights(load=f"path:{run.parent / 'bert'}", pooling="cls").open_encoder(run, added)
    found = opened(tmp_path / "made")
    assert found.pooling == "cls"
    assert all(np.array_equal(found.take(TEXTS, form)[0], wanted.take(TEXTS, form)[0]) for form in FORMS)


def test_a_fake_has_nothing_to_export(tmp_path: Path, refused: Refused):
    trained = TrainedEncoder(base=Fake(load="fake:bag"), added=(tmp_path,), training=0)
    with refused(UsageError, "export-fake", model="fake:bag"):
        open_trained_encoder(trained, tmp_path)


def test_what_can_not_be_chosen_is_refused(run: Path, tmp_path: Path, refused: Refused):
    with refused(UsageError, "training-several", seeds=[0, 1]):
        trained_encoder(run, "adapters")
    with refused(UsageError, "training-unknown", seeds=[0, 1], given=7):
        trained_encoder(run, "adapters", 7)
    with refused(UsageError, "not-trained-yet"):
        trained_encoder(run, "codes")
    with pytest.raises(UnknownNameError, match="unknown trained model: 'code'; did you mean codes"):
        trained_encoder(run, "code")
    with refused(UsageError, "not-a-run"):
        trained_encoder(tmp_path, "codes")


def test_an_encoder_of_random_groups_is_not_exported(taskloom, run: Path, tmp_path: Path, monkeypatch: Any):
    monkeypatch.setattr("taskloom.studies.export.groups_in", lambda added: {"kind": "group1"})
    ran = taskloom("export", run, "fusion", tmp_path / "made")
    assert ran.code == 2
    assert "random groups of tasks" in ran.err
    assert not (tmp_path / "made").exists()


def test_layouts_that_can_not_have_forms_are_refused(taskloom, run: Path, tmp_path: Path):
    ran = taskloom("export", run, "fusion", tmp_path / "made", "--to", "sentence-transformers")
    assert ran.code != 0
    assert "has no place for forms told by fusion" in ran.err
    assert "unknown layout: 'adapter'" in taskloom("export", run, "fusion", tmp_path / "made", "--to", "adapter").err
    assert taskloom("export", run, "adapters", tmp_path / "made", "--to", "adapters", "--training", 0).code == 0
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == ["CLF", "PRX", "QRY", "RGN", "base"]


def test_a_model_that_says_to_be_its_own_base_has_a_chain_that_ends(tmp_path: Path):
    with Ledger(tmp_path / "ledger.db") as ledger:
        ledger.finish(cell("a", "m", 0, {"trained": "a"}), Finished(cost=Cost(seconds=1.0)))
        assert _chain(ledger, "a") == ["a"]


def test_a_list_of_files_that_no_json_can_hold_is_no_artifact(tmp_path: Path):
    with artifacts.made(tmp_path, "a") as into:
        (into / "w").write_bytes(b"x")
    about = tmp_path / "artifacts" / "a" / "about.json"
    about.write_text(about.read_text().replace('[1,"', '[1,NaN,"').replace('NaN,"', 'NaN],"x":["'))
    assert artifacts.digest(tmp_path, "a") == ""
