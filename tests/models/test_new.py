"""Architectures without weights: sizes, names, and weights that a seed decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import GenerationConfig

from taskloom.errors import UnknownNameError, UsageError
from taskloom.models import Decoding, new, tokenizer
from taskloom.models.lm import LM

torch.set_num_threads(1)  # tiny models: more threads than workers only get in each other's way

TEXTS = [f"the {noun} number {n} is {kind}" for n in range(40) for noun, kind in (("tree", "old"), ("bird", "new"))]


def words(name: str) -> Any:
    return tokenizer.train("bpe", TEXTS, 400, new.family_of(name).special)


def digest(net: Any) -> float:
    return float(sum(p.detach().double().sum().item() for p in net.parameters()))


class Padded:
    """A tokenizer of 8,000 words."""

    def __init__(self, name: str) -> None:
        self.made = words(name)

    def __len__(self) -> int:
        return 8000

    def convert_tokens_to_ids(self, name: str) -> int:
        return int(self.made.convert_tokens_to_ids(name))


@pytest.mark.parametrize("family", new.FAMILIES)
def test_nano_has_about_two_million_parameters_with_eight_thousand_words(family: str):
    name = f"{family}-nano"
    count = new.parameters(new.net(name, Padded(name), seed=0))
    assert 1.7e6 < count < 2.3e6
    assert new.parameter_count(name, len(Padded(name))) == count


@pytest.mark.parametrize(
    ("name", "vocabulary", "millions"),
    [("t5-small", 32128, 60.5), ("t5-base", 32128, 222.9), ("t5-large", 32128, 737.7),
     ("bart-base", 50265, 139.4), ("bart-large", 50265, 406.3), ("pegasus-large", 96103, 570.8)],
)  # fmt: skip
def test_the_sizes_of_the_papers_have_their_numbers_of_parameters(name: str, vocabulary: int, millions: float):
    made = new.config(name, words(name), positions=1024)
    made.vocab_size = vocabulary
    from transformers import AutoModelForSeq2SeqLM

    with torch.device("meta"):
        net = AutoModelForSeq2SeqLM.from_config(made)
    assert new.parameters(net) / 1e6 == pytest.approx(millions, abs=0.5)


@pytest.mark.parametrize("family", new.FAMILIES)
def test_weights_depend_on_the_seed_alone(family: str):
    name = f"{family}-nano"
    read = words(name)
    torch.manual_seed(5)
    first, after = digest(new.net(name, read, seed=1)), torch.rand(1)
    torch.manual_seed(5)
    assert torch.rand(1) == after  # the random numbers of others are as they were
    assert digest(new.net(name, read, seed=1)) == first
    assert digest(new.net(name, read, seed=2)) != first


@pytest.mark.parametrize("family", new.FAMILIES)
def test_a_new_model_is_an_ordinary_folder_that_loads_and_answers(family: str, tmp_path: Path):
    name = f"{family}-nano"
    read = words(name)
    new.net(name, read, seed=1).save_pretrained(tmp_path)
    read.save_pretrained(tmp_path)
    lm = LM.load(tmp_path, device="cpu")
    assert len(lm.generate(["the tree is"], Decoding(tokens=4))) == 1
    (odds,) = lm.score(["the tree is"], [["old", "new"]], Decoding())
    assert odds is not None
    assert all(log < 0 for log in odds.logs)
    told = GenerationConfig.from_pretrained(tmp_path)
    assert (told.eos_token_id, told.pad_token_id) == (read.eos_token_id, read.pad_token_id)
    start = {"t5": read.pad_token_id, "pegasus": read.pad_token_id, "bart": read.eos_token_id, "llama": None}[family]
    assert told.decoder_start_token_id == start
    assert (start is None) or lm.engine.start == start  # type: ignore[union-attr]


def test_names_are_known_or_the_nearest_are_named(refused):
    assert new.family_of("new:bart-mini") is new.FAMILIES["bart"]
    with pytest.raises(UnknownNameError, match="did you mean t5-nano"):
        new.family_of("t5-nan")
    with pytest.raises(UnknownNameError, match="llama-base"):
        new.size_of("gpt")
    assert (new.goal_of("t5-nano"), new.goal_of("bart-nano", "gaps")) == ("spans", "gaps")
    with pytest.raises(UnknownNameError, match="did you mean spans"):
        new.goal_of("t5-nano", "span")
    with refused(UsageError, "objective-unfit", model="t5-nano", given="causal"):
        new.goal_of("t5-nano", "causal")
