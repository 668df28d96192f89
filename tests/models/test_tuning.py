"""Models that are trained on lessons: what is trained changes, nothing else does, and all of it can be undone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as hf
from safetensors import safe_open
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from taskloom.errors import ModelError
from taskloom.models import Decoding, Lesson
from taskloom.models.adaptations import CHANGED, apply, attach
from taskloom.models.lm import LM
from taskloom.models.objectives import IGNORED, AnswerObjective, Order
from taskloom.models.recipe import Recipe, Watch
from taskloom.models.tuning import add, train_for_good

torch.set_num_threads(1)  # tiny models: more threads than workers only get in each other's way

QUESTION = ("what", "is", "the", "colour", "of", "?", ":")
COLOURS = {"sky": "blue", "grass": "green", "snow": "white", "sun": "yellow"}
WORDS = ["<pad>", "</s>", "<unk>", *QUESTION, *COLOURS, *COLOURS.values()]
LESSONS = [
    Lesson("colours", thing, f"what is the colour of {thing} ? :", f" {colour}") for thing, colour in COLOURS.items()
]
PROMPTS = [lesson.prompt for lesson in LESSONS]
OPTIONS = [f" {colour}" for colour in COLOURS.values()]
PLAIN = Decoding(tokens=3)
LLAMA: dict[str, Any] = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 64, "bos_token_id": None, "eos_token_id": 1,
    "initializer_range": 0.3,
}  # fmt: skip
T5: dict[str, Any] = {
    "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0,
    "pad_token_id": 0, "eos_token_id": 1, "dropout_rate": 0.0,
}  # fmt: skip
BART: dict[str, Any] = {
    "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48,
    "encoder_attention_heads": 2, "decoder_attention_heads": 2, "max_position_embeddings": 64, "pad_token_id": 0,
    "decoder_start_token_id": 1, "eos_token_id": 1, "bos_token_id": None, "forced_eos_token_id": None, "dropout": 0.0,
    "init_std": 0.3,
}  # fmt: skip
GPT2: dict[str, Any] = {
    "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "eos_token_id": 1, "initializer_range": 0.3,
}  # fmt: skip
BLOOM: dict[str, Any] = {"n_layer": 2, "n_head": 4, "eos_token_id": 1, "initializer_range": 0.3}
FAMILIES: dict[str, Callable[[int], Any]] = {
    "llama": lambda words: hf.LlamaConfig(vocab_size=words, **LLAMA),
    "gpt2": lambda words: hf.GPT2Config(
        vocab_size=words, n_embd=32, n_layer=2, n_head=4, n_positions=64, eos_token_id=1
    ),
    "bloom": lambda words: hf.BloomConfig(vocab_size=words, hidden_size=32, **BLOOM),
    "t5": lambda words: hf.T5Config(vocab_size=words, **T5),
    "bart": lambda words: hf.BartConfig(vocab_size=words, **BART),
    "pegasus": lambda words: hf.PegasusConfig(vocab_size=words, **BART),
}
WAYS = {
    "all": Recipe(what="all", lr=3e-3, batch=4, steps=60),
    "lora": Recipe(what="lora", lr=2e-2, batch=4, steps=120),
    "prompt": Recipe(what="prompt", lr=3e-1, batch=4, steps=200, virtual=8, start="random"),
    "adapters": Recipe(what="adapters", lr=2e-2, batch=4, steps=120, reduction=2),
}


def model(family: str) -> LM:
    """A tiny model of random weights, of a family."""
    words = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    torch.manual_seed(0)
    config = FAMILIES[family](len(WORDS))
    if config.is_encoder_decoder:
        words.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    tokenizer = hf.PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", eos_token="</s>", unk_token="<unk>", model_max_length=64
    )
    kind = hf.AutoModelForSeq2SeqLM if config.is_encoder_decoder else hf.AutoModelForCausalLM
    return LM(kind.from_config(config), tokenizer)


def logs(lm: LM) -> torch.Tensor:
    return torch.tensor([odds.logs for odds in lm.score(PROMPTS, [OPTIONS] * 4, PLAIN) if odds])


def right(lm: LM) -> int:
    return int((logs(lm).argmax(1) == torch.arange(4)).sum())


@contextmanager
def unchanged(lm: LM) -> Iterator[None]:
    """See that weights, names and answers are the same afterwards."""
    before, said = {name: value.clone() for name, value in lm.net.state_dict().items()}, logs(lm)
    yield
    after = lm.net.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(value, after[name]) for name, value in before.items())
    assert torch.equal(said, logs(lm))
    assert lm.virtual == ()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("family", ["llama", "t5"])
def test_each_way_learns_what_it_is_taught(family: str, way: str):
    lm = model(family)
    with unchanged(lm), lm.tuned(LESSONS, WAYS[way], seed=1) as learnt:
        assert learnt.losses[-1][1] < learnt.losses[0][1] / 2
        if (family, way) == ("t5", "prompt"):  # too little for a frozen model of random weights to learn it all
            return
        assert right(lm) == 4
        assert [reply.text.strip() for reply in lm.generate(PROMPTS, PLAIN) if reply] == list(COLOURS.values())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("family", FAMILIES)
def test_each_way_changes_just_the_weights_that_it_should(family: str, way: str):
    lm = model(family)
    if way == "adapters" and family == "bloom":
        with pytest.raises(ModelError) as caught, lm.tuned(LESSONS, WAYS[way], seed=1):
            pass
        assert caught.value.note.code == "adapters-unsupported"
        return
    before = {name: value.clone() for name, value in lm.net.named_parameters()}
    with unchanged(lm), lm.tuned(LESSONS, replace(WAYS[way], steps=5), seed=1) as learnt:
        assert learnt.losses[-1][1] < learnt.losses[0][1]
        now = {name.replace(".base_layer", ""): value for name, value in lm.net.named_parameters()}
        changed = [name for name, value in before.items() if not torch.equal(value, now[name])]
        assert bool(changed) == (way == "all")
        assert len(changed) > 0.8 * len(before) or way != "all"


@pytest.mark.parametrize("family", ["llama", "t5"])
def test_a_soft_prompt_is_what_peft_makes_of_the_same_weights(family: str):
    from peft import PromptTuningConfig, TaskType, get_peft_model

    lm, twin = model(family), model(family)
    kind = TaskType.SEQ_2_SEQ_LM if family == "t5" else TaskType.CAUSAL_LM
    theirs = get_peft_model(twin.net, PromptTuningConfig(task_type=kind, num_virtual_tokens=5)).eval()
    ours = attach(lm.net, Recipe(what="prompt", virtual=5, start="random"), seed=3)
    with torch.no_grad():
        ours.parameters["prompt"].copy_(next(p for n, p in theirs.named_parameters() if "prompt_encoder" in n)[:5])
        ids = torch.tensor(lm.tokenizer(PROMPTS)["input_ids"])
        more = {"decoder_input_ids": torch.tensor([[0, 5]] * 4)} if family == "t5" else {}
        expected = theirs(input_ids=ids, attention_mask=torch.ones_like(ids), **more).logits
        whole = torch.cat([torch.tensor([ours.virtual] * 4), ids], dim=1)
        found = lm.net(input_ids=whole, attention_mask=torch.ones_like(whole), **more).logits
    assert torch.allclose(found[:, -2:], expected[:, -2:], atol=1e-5)
    assert ours.parameters["prompt"].numel() == 5 * 32


@pytest.mark.parametrize("family", ["llama", "t5"])
def test_lora_is_what_peft_makes_of_the_same_weights(family: str):
    from peft import LoraConfig, get_peft_model

    lm, twin = model(family), model(family)
    theirs = get_peft_model(twin.net, LoraConfig(r=4, lora_alpha=16)).eval()
    ours = attach(lm.net, Recipe(what="lora", rank=4), seed=3)
    torch.manual_seed(0)
    with torch.no_grad():
        for name, parameter in ours.parameters.items():
            parameter.normal_()
            dict(theirs.named_parameters())[f"base_model.model.{name}"].copy_(parameter)
        ids = torch.tensor(lm.tokenizer(PROMPTS)["input_ids"])
        more = {"decoder_input_ids": torch.tensor([[0, 5]] * 4)} if family == "t5" else {}
        assert torch.allclose(lm.net(ids, **more).logits, theirs(ids, **more).logits, atol=1e-5)
    assert sum(p.numel() for p in ours.parameters.values()) == theirs.get_nb_trainable_parameters()[0]


def test_a_soft_prompt_starts_from_words_over_and_over():
    lm = model("llama")
    table = lm.net.get_input_embeddings().weight
    made = attach(lm.net, Recipe(what="prompt", virtual=5), seed=0, words=[7, 9])
    assert torch.equal(made.parameters["prompt"], table[[7, 9, 7, 9, 7]])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("family", ["llama", "t5"])
def test_what_was_trained_for_good_is_kept_alone_and_opens_to_the_same_answers(tmp_path: Path, family: str, way: str):
    lm = model(family)
    learnt = train_for_good(lm, LESSONS, WAYS[way], dev=(), seed=1, folder=tmp_path, watch=Watch())
    again = model(family)
    add(again, tmp_path)
    assert torch.allclose(logs(again), logs(lm), atol=2e-5)
    size = (tmp_path / CHANGED).stat().st_size
    assert size < 4 * learnt.parameters + 8000
    more = Recipe(what="prompt", virtual=3, steps=5)  # can be trained on top of it
    with unchanged_but_virtual(again), again.tuned(LESSONS[:2], more, seed=2):
        assert len(again.virtual) == 3 + 8 * (way == "prompt")


@contextmanager
def unchanged_but_virtual(lm: LM) -> Iterator[None]:
    virtual, said = lm.virtual, logs(lm)
    yield
    assert lm.virtual == virtual
    assert torch.equal(said, logs(lm))


def test_trained_weights_that_can_not_be_read_are_told(tmp_path: Path):
    train_for_good(model("llama"), LESSONS, WAYS["lora"], dev=(), seed=1, folder=tmp_path, watch=Watch())
    whole = (tmp_path / CHANGED).read_bytes()
    (tmp_path / CHANGED).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelError) as caught:
        apply(model("llama").net, tmp_path)
    assert caught.value.note.code == "weights-unreadable"


@pytest.mark.parametrize(("way", "size"), [("lora", "rank"), ("prompt", "virtual")])
def test_a_size_that_trained_weights_do_not_have_is_refused_before_it_is_made(tmp_path: Path, way: str, size: str):
    train_for_good(model("llama"), LESSONS, WAYS[way], dev=(), seed=1, folder=tmp_path, watch=Watch())
    with safe_open(tmp_path / CHANGED, "pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
        recipe = json.loads(file.metadata()["recipe"])
    save_file(tensors, tmp_path / CHANGED, {"recipe": json.dumps(recipe | {size: 10**11})})
    with pytest.raises(ModelError) as caught:
        apply(model("llama").net, tmp_path)
    assert caught.value.note.code == "weights-unreadable"
    assert "no weights for a" in str(caught.value)


def test_answers_are_looked_at_on_the_way():
    lm, seen = model("llama"), dict[int, int]()
    watch = Watch(looks=frozenset({0, 60}), look=lambda step: seen.update({step: right(lm)}))
    with unchanged(lm), lm.tuned(LESSONS, WAYS["all"], seed=1, watch=watch):
        pass
    assert seen[0] < seen[60] == 4


def test_early_stopping_goes_by_lessons_that_are_held_out():
    lm = model("llama")
    how = Recipe(what="all", lr=3e-3, batch=2, steps=200, patience=2, every=10)
    with lm.tuned(LESSONS[:2], how, dev=LESSONS[2:], seed=1) as learnt:
        assert learnt.steps < 200
        assert learnt.validation[-3][1] == min(loss for _, loss in learnt.validation)


@pytest.mark.parametrize("family", ["llama", "bloom"])
def test_the_loss_is_over_the_answer_alone_whatever_is_padded(family: str):
    lm = model(family)
    pairs = [([4, 5, 6], [7, 1]), ([4], [8, 9, 1])]
    together = AnswerObjective(lm.net, pairs, batch=2, parts=1, seed=0, pad=0)
    (batch,) = together.batches(2)
    assert (batch.tokens, batch.targets) == (9, 5)
    assert int((batch.inputs["targets"] != IGNORED).sum()) == 5
    expected = 0.0
    for read, written in pairs:
        ids = torch.tensor([[*read, *written]])
        found = lm.net(ids).logits[0].detach().log_softmax(-1)
        expected -= sum(float(found[len(read) + at - 1, token]) for at, token in enumerate(written))
    assert together.loss(lm.net, batch).item() == pytest.approx(expected, rel=1e-5)


def test_every_example_is_in_an_epoch_once_and_lengths_stand_together():
    order = Order(range(100), batch=8, seed=3)
    rows = [order.rows(step) for step in range(order.epoch)]
    assert sorted(row for batch in rows for row in batch) == list(range(100))
    assert max(max(batch) - min(batch) for batch in rows) < 8
    assert rows != [order.rows(step) for step in range(order.epoch, 2 * order.epoch)]
    assert rows == [Order(range(100), batch=8, seed=3).rows(step) for step in range(order.epoch)]


def test_lessons_that_are_too_long_keep_the_end_of_the_prompt_and_room_for_the_answer():
    lm = model("llama")
    ((read, written),), counts = lm.lesson_pairs([Lesson("t", "i", "the " * 100 + "sky ? :", " blue")])
    assert counts == {"lesson-cut": 1}
    assert (len(read), written) == (64 - 2, [WORDS.index("blue"), 1])
    assert read[-3:] == [WORDS.index("sky"), WORDS.index("?"), WORDS.index(":")]


@pytest.mark.parametrize("family", ["llama", "t5"])
def test_of_what_is_too_long_the_start_is_kept_where_a_lesson_or_a_question_says_so(family: str):
    lm = model(family)
    whole = "sky ? : " + "the " * 100 + "green"
    ((read, _),), counts = lm.lesson_pairs([Lesson("t", "i", whole, " blue", keeps="start")])
    assert counts == {"lesson-cut": 1}
    assert list(read[:3]) == [WORDS.index("sky"), WORDS.index("?"), WORDS.index(":")]
    assert read[-1] == (WORDS.index("green") if family == "llama" else lm.tokenizer.eos_token_id)
    how = Decoding(tokens=2, keeps="start")
    for left, right in ((whole, whole.replace("sky", "grass")), (whole, whole.replace("green", "the green"))):
        one, other = lm.score([left, right], [OPTIONS, OPTIONS], how)
        assert one
        assert other
        assert (one.logs == other.logs) == (left.split()[0] == right.split()[0])
    (reply,) = lm.generate([whole], how)
    assert reply
    assert reply.cut > 0


@pytest.mark.parametrize("family", ["llama", "t5"])
def test_only_one_of_some_answers_is_written_where_that_is_asked_for(family: str):
    lm = model(family)
    options = (*OPTIONS, " blue green", " blue green white")  # one may be the beginning of another
    how = Decoding(tokens=8, only=options)
    free = [reply.text for reply in lm.generate(PROMPTS, Decoding(tokens=8)) if reply]
    assert not {*free} <= {*options}
    written = [reply.text for reply in lm.generate(PROMPTS, how) if reply]
    assert {text.strip() for text in written} <= {text.strip() for text in options}
    assert all(reply.ended for reply in lm.generate(PROMPTS, how) if reply)
    with lm.tuned(LESSONS, WAYS["all"], seed=1):
        taught = [reply.text.strip() for reply in lm.generate(PROMPTS, how) if reply]
    assert taught == list(COLOURS.values())


@pytest.mark.parametrize("way", ["all", "lora"])
def test_what_was_computed_at_a_look_is_not_taken_for_the_weights_that_follow(way: str):
    lm, other, seen = model("llama"), model("llama"), list[torch.Tensor]()
    looking = Watch(looks=frozenset({0}), look=lambda step: seen.append(logs(lm)))
    how = replace(WAYS[way], steps=10)
    with lm.tuned(LESSONS, how, seed=1, watch=looking), other.tuned(LESSONS, how, seed=1):
        assert torch.equal(logs(lm), logs(other))


def test_what_was_cut_of_lessons_is_counted():
    lm = model("llama")
    long = [Lesson("t", "i", "the sky ? :", " blue" * 60), Lesson("t", "j", "the " * 90, " blue"), LESSONS[0]]
    with lm.tuned(long, Recipe(steps=1), seed=0) as learnt:
        assert learnt.counts == {"lesson-cut": 1, "lesson-answer-cut": 1}


def test_the_tokens_of_a_soft_prompt_are_no_part_of_the_budget():
    lm = model("llama")
    steps = []
    for how in (Recipe(what="prompt", tokens=200, batch=4), Recipe(what="lora", tokens=200, batch=4)):
        with lm.tuned(LESSONS, how, seed=0) as learnt:
            steps.append(learnt.steps)
    assert steps[0] == steps[1]


def test_a_soft_prompt_starts_from_what_the_layer_gives_for_words_however_it_scales_them():
    lm = model("pegasus")
    lm.net.get_encoder().get_input_embeddings().embed_scale = 3.0
    made = attach(lm.net, Recipe(what="prompt", virtual=2), seed=0, words=[7, 9])
    given = lm.net.get_encoder().get_input_embeddings()(torch.tensor([7, 9]))
    assert torch.equal(made.parameters["prompt"], given)


@pytest.mark.parametrize("family", ["llama", "t5"])
@pytest.mark.parametrize("way", WAYS)
def test_activations_that_are_recomputed_and_half_precision_learn_alike(family: str, way: str):
    lm, losses = model(family), dict[str, list[float]]()
    how = replace(WAYS[way], steps=4)
    kinds = {"plain": how, "again": replace(how, recompute=True), "half": replace(how, precision="bfloat16")}
    for name, kind in kinds.items():
        with unchanged(lm), lm.tuned(LESSONS, kind, seed=1) as learnt:
            losses[name] = [loss for _, loss in learnt.losses]
    assert losses["again"] == pytest.approx(losses["plain"], rel=1e-4)
    assert losses["half"][0] == pytest.approx(losses["plain"][0], rel=0.02)  # of the same weights
    assert losses["half"] != losses["plain"]
