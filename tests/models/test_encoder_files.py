"""Encoders as folders: the same vectors when they are loaded; adapters as the package `adapters` has them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
import transformers as hf
from safetensors.torch import load_file

from taskloom.errors import ModelError, UsageError
from taskloom.models import FORMS
from taskloom.models.adapter_files import add_adapters
from taskloom.models.encoder import TransformerEncoder
from taskloom.models.encoder_files import export_encoder
from taskloom.models.formats import FormAdapters
from taskloom.models.load import Weights, source
from taskloom.models.sentence_files import SentenceSettings, sentence_settings, write_sentence_files
from taskloom.models.telling import TELLS

from .test_encoder import TEXTS, net_of, opened, sentences, tokenizer_into
from .test_formats import attached, strong

if TYPE_CHECKING:
    from ..conftest import Refused

torch.set_num_threads(1)

REFERENCE = Path(__file__).parent / "adapters_reference"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT of sentence-transformers."""
    found = tmp_path_factory.mktemp("bert")
    net_of("bert").save_pretrained(found)
    tokenizer_into(found)
    sentences(found)
    return found


@pytest.mark.parametrize("tell", TELLS)
def test_a_folder_gives_the_same_vectors_in_all_forms(folder: Path, tell: str, tmp_path: Path):
    encoder = opened(folder, pooling="cls")
    strong(attached(encoder, tell))
    export_encoder(encoder, tmp_path / "made")
    of = Weights(load=f"path:{tmp_path / 'made'}")
    assert of.forms() == encoder.forms == (FORMS if tell != "none" else ())
    again = opened(tmp_path / "made")
    assert (again.pooling, again.how.normalise, again.length) == ("cls", True, 12)
    for form in encoder.forms or ("",):
        assert np.array_equal(again.encode(TEXTS, form), encoder.encode(TEXTS, form))
    assert (tmp_path / "made" / "formats.json").exists() is (tell != "none")


def test_the_name_of_a_folder_covers_its_forms(folder: Path, tmp_path: Path):
    named = []
    for seed in (0, 1):
        encoder = opened(folder)
        strong(attached(encoder, "adapters"), seed)
        export_encoder(encoder, tmp_path / str(seed))
        named.append(Weights(load=f"path:{tmp_path / str(seed)}").identity())
    assert named[0] != named[1]
    swapped = json.loads((tmp_path / "0" / "formats.json").read_text())
    swapped["told"][0]["forms"].reverse()
    (tmp_path / "0" / "formats.json").write_text(json.dumps(swapped))
    assert Weights(load=f"path:{tmp_path / '0'}").identity() != named[0]


def test_forms_of_a_folder_belong_to_its_weights(folder: Path, tmp_path: Path, refused: Refused):
    encoder = opened(folder)
    strong(attached(encoder, "adapters"))
    export_encoder(encoder, tmp_path / "made")
    net = net_of("bert")
    with torch.no_grad():
        net.embeddings.LayerNorm.bias += 1
    net.save_pretrained(tmp_path / "made")
    with refused(ModelError, "formats-other-base"):
        opened(tmp_path / "made")


@pytest.mark.parametrize("change", [
    {"forms": [f"F{n}" for n in range(5_000)]}, {"telling": {"tell": "pals", "pal_size": 10**9, "pal_heads": 1}},
])  # fmt: skip
def test_forms_that_a_folder_has_no_tensors_for_are_refused_before_they_are_made(
    folder: Path, tmp_path: Path, refused: Refused, change: dict[str, Any]
):
    encoder = opened(folder)
    strong(attached(encoder, "adapters"))
    export_encoder(encoder, tmp_path / "made")
    path = tmp_path / "made" / "formats.json"
    said = json.loads(path.read_text())
    path.write_text(json.dumps({"told": [{**said["told"][0], **change}]}))
    with refused(ModelError, "formats-unreadable", path=path):
        opened(tmp_path / "made")


def test_what_exists_is_not_overwritten_and_a_failure_leaves_nothing(folder: Path, tmp_path: Path, refused: Refused):
    encoder = opened(folder)
    attached(encoder, "codes")
    for to in ("sentence-transformers", "adapters"):
        with refused(ModelError, "export-forms", to=to, tell="codes"):
            export_encoder(encoder, tmp_path / "made", to=to)
    assert not [*tmp_path.iterdir()]
    (tmp_path / "made").mkdir()
    with refused(UsageError, "export-exists"):
        export_encoder(encoder, tmp_path / "made")


@pytest.mark.parametrize("pooling", ["cls", "mean", "last"])
def test_settings_of_vectors_are_read_as_they_were_written(tmp_path: Path, pooling: Any):
    prompts = {"query": "a ", "document": "b ", "": "b "}
    how = SentenceSettings(pooling=pooling, normalise=True, length=77, prompts=prompts)
    write_sentence_files(how, tmp_path, width=16)
    assert sentence_settings(tmp_path) == how


def test_an_encoder_without_forms_is_written_for_sentence_transformers(folder: Path, tmp_path: Path):
    encoder = opened(folder)
    strong(attached(encoder, "none"))
    export_encoder(encoder, tmp_path / "made", to="sentence-transformers")
    assert np.array_equal(opened(tmp_path / "made").encode(TEXTS), encoder.encode(TEXTS))
    assert not (tmp_path / "made" / "formats.json").exists()


def test_a_part_of_a_model_is_not_exported(tmp_path: Path, refused: Refused):
    net_of("t5").save_pretrained(tmp_path / "t5")
    tokenizer_into(tmp_path / "t5", marks=False)
    with refused(ModelError, "export-unsupported", family="t5"):
        export_encoder(opened(tmp_path / "t5"), tmp_path / "made")


# --- adapters as published -------------------------------------------------------------------------------------------


def reference(family: str, tmp_path: Path) -> TransformerEncoder:
    """The encoder that the package's adapter is of."""
    about = json.loads((REFERENCE / f"{family}.json").read_text())
    stored = load_file(REFERENCE / f"{family}.safetensors")
    net = getattr(hf, about["class"])(hf.AutoConfig.for_model(**about["config"]))
    net.load_state_dict({name.removeprefix("net/"): v for name, v in stored.items() if name.startswith("net/")})
    net.save_pretrained(tmp_path / family)
    tokenizer_into(tmp_path / family)
    return opened(tmp_path / family, pooling="cls")


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_an_adapter_of_the_package_is_read_and_written_as_it_is(family: str, tmp_path: Path):
    encoder = reference(family, tmp_path)
    theirs = REFERENCE / f"{family}_adapter"
    add_adapters(encoder, {"a": theirs})
    assert encoder.formats is not None
    assert isinstance(encoder.formats.parts, FormAdapters)
    wanted = load_file(REFERENCE / f"{family}_fusion.safetensors")
    for name, value in encoder.formats.parts.of["a"].named_parameters():
        assert torch.equal(value, wanted[f"adapter/a/{name}"])
    export_encoder(encoder, tmp_path / "made", to="adapters")
    made = tmp_path / "made" / "a"
    ours, said = (load_file(at / "adapter.safetensors") for at in (made, theirs))
    assert ours.keys() == said.keys()
    assert all(torch.equal(value, said[name]) for name, value in ours.items())
    config, their_config = (
        json.loads((at / "adapter_config.json").read_text()) for at in (tmp_path / "made/a", theirs)
    )
    assert {name: value for name, value in config.items() if name != "base"} == their_config


def test_published_adapters_are_an_option_of_a_model(folder: Path, tmp_path: Path):
    encoder = opened(folder)
    strong(attached(encoder, "adapters"))
    export_encoder(encoder, tmp_path / "made", to="adapters")
    adapters = {form: f"path:made/{form}" for form in FORMS}
    of = source("x", {"load": "path:made/base", "adapters": adapters}, tmp_path)
    assert isinstance(of, Weights)
    assert of.forms() == FORMS
    again = of.open_encoder(tmp_path)
    assert all(np.array_equal(again.take(TEXTS, form)[0], encoder.take(TEXTS, form)[0]) for form in FORMS)
    assert opened(tmp_path / "made" / "base").forms == ()
    moved = Path(shutil.copytree(tmp_path / "made", tmp_path / "moved"))
    other = {form: str(moved / form) for form in FORMS}
    same = source("x", {"load": "path:made/base", "adapters": other}, tmp_path)
    assert same.identity() == of.identity()  # by content
    assert source("x", {"load": "path:made/base"}, tmp_path).identity() != of.identity()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"model_type": "roberta"}, "adapter-of-other"),
        ({"hidden_size": 8}, "adapter-of-other"),
        ({"base": "0" * 32}, "formats-other-base"),
        ({"config": {"reduction_factor": 4, "non_linearity": "gelu"}}, "adapter-kind"),
        ({"config": {"reduction_factor": 2}}, "adapter-unreadable"),
        ({"config": []}, "adapter-config-unreadable"),
        ({"config": {"reduction_factor": float("nan")}}, "adapter-config-unreadable"),
        ({"config": {"reduction_factor": float("inf")}}, "adapter-config-unreadable"),
        ({"config": {"reduction_factor": 0}}, "adapter-config-unreadable"),
    ],
)
def test_adapters_of_another_model_or_kind_are_refused(
    tmp_path: Path, change: dict[str, Any], code: str, refused: Refused
):
    encoder = reference("bert", tmp_path)
    mine = Path(shutil.copytree(REFERENCE / "bert_adapter", tmp_path / "mine"))
    said = json.loads((mine / "adapter_config.json").read_text())
    (mine / "adapter_config.json").write_text(json.dumps({**said, **change}))
    with refused(ModelError, code):
        add_adapters(encoder, {"a": mine})


def test_an_adapter_that_is_a_pickle_is_refused_before_any_work(folder: Path, tmp_path: Path):
    shutil.copytree(REFERENCE / "bert_adapter", tmp_path / "mine")
    (tmp_path / "mine" / "adapter.safetensors").rename(tmp_path / "mine" / "pytorch_adapter.bin")
    of = source("x", {"load": f"path:{folder}", "adapters": {"PRX": str(tmp_path / "mine")}})
    (note,) = of.lacks()
    assert note.code == "adapter-missing"


@pytest.mark.parametrize("given", [{"PRX": 3}, {"PRX": ""}, [1], 2])
def test_adapters_must_name_a_folder_for_each_form(given: Any, refused: Refused):
    with refused(UsageError, "adapters-mapping"):
        source("minilm", {"adapters": given})
