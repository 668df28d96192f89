"""Encoders that are told the form of a vector: what is trained, what stays, and what is kept."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from taskloom.errors import ModelError, TaskloomError, UnknownNameError, UsageError
from taskloom.models import FORMS
from taskloom.models.encoder import TransformerEncoder
from taskloom.models.format_files import save_formats
from taskloom.models.formats import FormatAdaptation, attach_formats
from taskloom.models.load import Weights
from taskloom.models.telling import TELLS, Telling, forms_told

from .test_encoder import TEXTS, net_of, opened, sentences, tokenizer_into

if TYPE_CHECKING:
    from ..conftest import Refused

torch.set_num_threads(1)

TOLD = [tell for tell in TELLS if tell != "none"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT of sentence-transformers."""
    found = tmp_path_factory.mktemp("bert")
    net_of("bert").save_pretrained(found)
    tokenizer_into(found)
    sentences(found)
    return found


def attached(
    encoder: TransformerEncoder, tell: Any, *, seed: int = 0, forms: Sequence[str] = FORMS
) -> FormatAdaptation:
    if tell == "fusion":
        strong(encoder.attach_formats(Telling(tell="adapters", reduction=4), forms, seed=seed)).settle()
    return encoder.attach_formats(Telling(tell=tell, reduction=4, pal_heads=2), forms, seed=seed)


@torch.no_grad()
def strong(made: FormatAdaptation, seed: int = 0) -> FormatAdaptation:
    """Change what is trained as training would, so that forms differ."""
    draws = torch.Generator().manual_seed(seed)
    for name in sorted(made.parameters):
        value = made.parameters[name]
        value.add_(torch.randn(value.shape, generator=draws) * (0.02 if name.startswith("net/") else 0.4))
    return made


def hidden(encoder: TransformerEncoder) -> torch.Tensor:
    with torch.no_grad():
        found: torch.Tensor = encoder.net(**encoder.inputs([[2, 5, 6, 3], [2, 7, 3]])).last_hidden_state
    return found


# --- forms -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tell", TOLD)
def test_a_text_has_a_vector_for_each_form(folder: Path, tell: str):
    encoder = opened(folder)
    strong(attached(encoder, tell))
    assert encoder.forms == FORMS
    found = [encoder.encode(TEXTS, form) for form in FORMS]
    assert {one.shape for one in found} == {(len(TEXTS), 16)}
    for number, one in enumerate(found):
        assert all(np.abs(one - other).max() > 1e-3 for other in found[:number])
        alone = np.concatenate([encoder.encode([text], FORMS[number]) for text in TEXTS])
        assert np.abs(alone - one).max() < 1e-5


def test_an_encoder_that_is_told_nothing_has_one_vector(folder: Path):
    encoder = opened(folder)
    before = encoder.encode(TEXTS)
    made = attached(encoder, "none")
    assert encoder.forms == ()
    assert np.array_equal(encoder.encode(TEXTS), before)
    strong(made)
    assert not np.allclose(encoder.encode(TEXTS), before, atol=1e-3)
    encoder.remove_formats()
    assert np.array_equal(encoder.encode(TEXTS), before)


@pytest.mark.parametrize("tell", TOLD)
def test_an_unknown_form_is_refused_and_none_too(folder: Path, tell: str, refused: Refused):
    encoder = opened(folder)
    attached(encoder, tell)
    with pytest.raises(UnknownNameError, match="unknown form: 'PRXX'; did you mean PRX"):
        encoder.encode(["a"], "PRXX")
    with refused(ModelError, "form-missing", forms=list(FORMS)):
        encoder.encode(["a"])
    with refused(ModelError, "form-missing"):
        encoder.vectors(encoder.inputs([[2, 5, 3]]))


def test_a_control_code_comes_after_the_first_token_and_its_output_is_the_vector(folder: Path):
    encoder = opened(folder, normalise=False)
    made = attached(encoder, "codes")
    (row,), (cut,) = encoder.tokens(["a b c"], "RGN")
    assert row == [2, made.codes["RGN"], 4, 5, 6, 3]
    assert cut == 0
    with torch.no_grad():
        wanted = encoder.net(input_ids=torch.tensor([row])).last_hidden_state[0, 1]
    assert np.abs(encoder.encode(["a b c"], "RGN")[0] - wanted.numpy()).max() < 1e-6
    (long,), (cut,) = encoder.tokens([TEXTS[5]], "RGN")
    assert (len(long), long[1], long[-1]) == (12, made.codes["RGN"], 3)  # as long as without a code
    assert cut == 10  # one more than without


def test_prompts_of_a_folder_are_no_forms_of_an_encoder_that_is_told_some(folder: Path, tmp_path: Path):
    mine = Path(shutil.copytree(folder, tmp_path / "mine"))
    sentences(mine, prompts={"query": "a b ", "usual": "c "}, default_prompt_name="usual")
    encoder = opened(mine)
    attached(encoder, "adapters")
    assert encoder.forms == FORMS
    assert encoder.tokens(["d"], "PRX")[0] == [[2, 6, 7, 3]]  # after the usual prompt


# --- what is trained -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tell", TELLS)
def test_removing_leaves_the_net_bit_for_bit_as_it_was(folder: Path, tell: str):
    encoder = opened(folder)
    before, weights = hidden(encoder), {name: value.clone() for name, value in encoder.net.state_dict().items()}
    strong(attached(encoder, tell))
    encoder.encode(TEXTS, "CLF" if tell != "none" else "")
    while encoder.formats:
        encoder.remove_formats()
    assert torch.equal(hidden(encoder), before)
    assert encoder.net.state_dict().keys() == weights.keys()
    assert all(torch.equal(value, weights[name]) for name, value in encoder.net.state_dict().items())
    assert not [module for module in encoder.net.modules() if module._forward_hooks or module._forward_pre_hooks]


@pytest.mark.parametrize("tell", TOLD)
def test_what_is_trained_gets_gradients_and_the_rest_stays(folder: Path, tell: str):
    encoder = opened(folder, normalise=False)
    made = attached(encoder, tell)
    encoder.net.requires_grad_(False)
    for value in made.parameters.values():
        value.requires_grad_(True)
    strong(made)
    rows, _ = encoder.tokens(TEXTS[:4], "RGN")
    encoder.vectors(encoder.inputs(rows), "RGN").square().sum().backward()
    names = {name for name, value in made.parameters.items() if value.grad is not None and value.grad.abs().max() > 0}
    others = [form for form in FORMS if form != "RGN"]
    assert not [name for name in names if any(f"/{form}/" in name for form in others)]
    whole = tell in ("codes", "pals")
    assert bool([name for name in names if name.startswith("net/")]) is whole
    own = {name for name in made.parameters if "/RGN/" in name or name == "codes"}
    assert own - names == set()
    if tell == "codes":
        grad = made.parameters["codes"].grad
        assert grad is not None
        assert grad.abs().sum(1).nonzero().flatten().tolist() == [1]  # of the form that was asked for
    if not whole:
        assert not [name for name, value in encoder.net.named_parameters() if value.grad is not None]


@pytest.mark.parametrize("tell", TELLS)
def test_what_starts_at_random_comes_from_the_seed_and_the_form(folder: Path, tell: str):
    found = [attached(opened(folder), tell, seed=seed).parameters for seed in (0, 0, 1)]
    assert found[0].keys() == found[1].keys()
    assert all(torch.equal(value, found[1][name]) for name, value in found[0].items())
    own = [name for name in found[0] if not name.startswith("net/") and found[0][name].std() > 1e-3]
    drawn = [name for name in own if "value" not in name]
    assert all(not torch.equal(found[0][name], found[2][name]) for name in drawn)
    for name in drawn:
        if "/CLF/" in name:
            assert not torch.equal(found[0][name], found[0][name.replace("/CLF/", "/PRX/")])


@pytest.mark.parametrize("tell", TOLD)
def test_activations_are_not_computed_again_in_another_form(folder: Path, tell: str, refused: Refused):
    encoder = opened(folder)
    attached(encoder, tell)
    encoder.net.gradient_checkpointing_enable({"use_reentrant": False})
    encoder.net.train()
    rows = encoder.inputs(encoder.tokens(["a b"], "CLF")[0])
    if tell == "codes":
        encoder.vectors(rows, "CLF").sum().backward()  # the code is among the tokens
        return
    with refused(ModelError, "formats-recompute", tell=tell):
        encoder.vectors(rows, "CLF")


# --- what is kept ----------------------------------------------------------------------------------------------------


def trained(folder: Path, tell: str, into: Path) -> tuple[TransformerEncoder, list[Path]]:
    """Keep what tells an encoder its forms, as a chain of folders."""
    encoder, made = opened(folder), []
    for one in ("adapters", "fusion") if tell == "fusion" else (tell,):
        formats = strong(encoder.attach_formats(Telling(tell=one, reduction=4, pal_heads=2), FORMS, seed=0))
        made.append(into / one)
        made[-1].mkdir()
        save_formats(formats, made[-1])
        formats.settle()
    return encoder, made


@pytest.mark.parametrize("tell", TELLS)
def test_what_was_saved_gives_the_same_vectors_when_it_is_opened(folder: Path, tell: str, tmp_path: Path):
    encoder, made = trained(folder, tell, tmp_path)
    of = Weights(load=f"path:{folder}")
    assert of.forms(made) == forms_told(made) == (FORMS if tell != "none" else ())
    again = of.open_encoder(tmp_path, made)
    for form in encoder.forms or ("",):
        assert np.array_equal(again.take(TEXTS, form)[0], encoder.take(TEXTS, form)[0])


@pytest.mark.parametrize("tell", ["adapters", "codes"])
def test_forms_of_another_base_are_refused(folder: Path, tmp_path: Path, tell: str, refused: Refused):
    _, made = trained(folder, tell, tmp_path)
    other = Path(shutil.copytree(folder, tmp_path / "other"))
    torch.manual_seed(1)
    net = net_of("bert")
    with torch.no_grad():
        net.encoder.layer[1].output.dense.bias[0] += 1
    net.save_pretrained(other)
    with refused(ModelError, "formats-other-base"):
        opened_with(other, made)


def opened_with(folder: Path, made: Sequence[Path]) -> Any:
    return Weights(load=f"path:{folder}").open_encoder(folder, made)


TOLD_ODDLY = '{"told": [{"telling": {"tell": "%s"}, "forms": ["%s"], "base": "", "has_weights": false}]}'


@pytest.mark.parametrize("said", ["[]", "{", "[" * 100_000, TOLD_ODDLY % ("odd", "A"), TOLD_ODDLY % ("codes", "A/B")])
def test_files_that_say_what_is_not_known_are_refused(folder: Path, tmp_path: Path, said: str, refused: Refused):
    _, (made,) = trained(folder, "adapters", tmp_path)
    (made / "formats.json").write_text(said)
    with refused(ModelError, "formats-unreadable"):
        opened_with(folder, [made])


def test_files_that_do_not_fit_are_refused(folder: Path, tmp_path: Path, refused: Refused):
    _, (made,) = trained(folder, "adapters", tmp_path)
    said = json.loads((made / "formats.json").read_text())
    said["told"][0]["telling"]["reduction"] = 2
    (made / "formats.json").write_text(json.dumps(said))
    with refused(ModelError, "encoder-unreadable"):
        opened_with(folder, [made])
    (made / "formats.safetensors").write_bytes(b"no tensors")
    with refused(ModelError, "encoder-unreadable"):
        opened_with(folder, [made])


# --- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [{"tell": "odd"}, {"reduction": 0}, {"tell": "pals", "pal_size": 10, "pal_heads": 4}, {"pal_heads": 0}],
)
def test_settings_that_can_not_be_meant_are_refused(given: dict[str, Any]):
    with pytest.raises(TaskloomError):
        Telling(**given)


@pytest.mark.parametrize("forms", [(), ("A", "A"), ("A/B",), ("",)])
def test_names_of_forms_must_differ_and_be_plain(forms: tuple[str, ...], refused: Refused):
    with refused(UsageError, "forms-unfit"):
        attach_formats(net_of("bert"), Telling(tell="codes"), forms, seed=0)


def test_an_encoder_without_cls_can_have_no_codes_and_no_cls_pooling(tmp_path: Path, refused: Refused):
    net_of("t5").save_pretrained(tmp_path)
    tokenizer_into(tmp_path, marks=False)
    with refused(ModelError, "cls-missing", family="t5"):
        attached(opened(tmp_path), "codes")
    with refused(ModelError, "cls-missing"):
        attached(opened(tmp_path, pooling="cls"), "adapters")
    attached(opened(tmp_path), "adapters")


def test_fusion_needs_adapters_and_others_an_encoder_without_forms(folder: Path, refused: Refused):
    with refused(ModelError, "formats-below", tell="fusion", below="none"):
        attach_formats(net_of("bert"), Telling(tell="fusion"), FORMS, seed=0)
    encoder = opened(folder)
    attached(encoder, "none")
    attached(encoder, "adapters")
    with refused(ModelError, "formats-below", tell="codes", below="adapters"):
        attached(encoder, "codes")
