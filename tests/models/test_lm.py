from __future__ import annotations

import fcntl
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as hf
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from taskloom.errors import FetchError, ModelError
from taskloom.models import Decoding, Message, Odds, Prompt, Reply, fetched
from taskloom.models.causal import Causal
from taskloom.models.lm import LM, Tokens
from taskloom.sources.packages import cache_folder

torch.set_num_threads(1)  # tiny models: more threads than workers only get in each other's way

CORPUS = ["the tree is old", "the bird is new", "the answer is\n\nthe tree", "old\n\nnew\n\ntree\n\nbird"] * 5
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
PLACES = 128
PLAIN = Decoding(tokens=8)


def tokenizer(*, start: bool = False, template: str = "") -> Any:
    """A byte-level BPE of few merges, which puts a start before each text if it is told to."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex("\n+| "), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<s>", "</s>"]
    trainer = trainers.BpeTrainer(
        vocab_size=290, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(CORPUS, trainer)
    if start:
        made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    found = hf.PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="</s>")
    found.chat_template = template or None
    return found


def net(words: int) -> Any:
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
    heads: dict[str, Any] = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": PLACES}
    ends: dict[str, Any] = {"bos_token_id": 0, "eos_token_id": 1}
    return hf.LlamaForCausalLM(hf.LlamaConfig(vocab_size=words, initializer_range=0.5, **sizes, **heads, **ends))


def saying(said: Sequence[int], words: int) -> Any:
    """A model that says one token at each place, whatever it has read."""
    ends: dict[str, Any] = {"bos_token_id": 0, "eos_token_id": 1, "tie_word_embeddings": False}
    made = hf.GPT2LMHeadModel(
        hf.GPT2Config(vocab_size=words, n_embd=PLACES, n_positions=PLACES, n_layer=1, n_head=1, **ends)
    )
    with torch.no_grad():
        for block in made.transformer.h:
            for layer in (block.attn.c_proj, block.mlp.c_proj):
                layer.weight.zero_()
        made.transformer.wte.weight.zero_()
        made.transformer.wpe.weight.copy_(torch.eye(PLACES))
        made.lm_head.weight.zero_()
        for place, token in enumerate(said):
            made.lm_head.weight[token, place] = 10.0
    return made


def saved(made: Any, read: Any, folder: Path) -> LM:
    made.save_pretrained(folder)
    read.save_pretrained(folder)
    return LM.load(folder, device="cpu")


@pytest.fixture(scope="module")
def lm(tmp_path_factory: pytest.TempPathFactory) -> LM:
    """A model of random weights."""
    read = tokenizer()
    return saved(net(len(read)), read, tmp_path_factory.mktemp("lm"))


@pytest.fixture
def says(tmp_path: Path) -> Callable[[str], LM]:
    """Make a model that goes on from the prompt `?` with a text, and then ends."""

    def make(text: str) -> LM:
        read = tokenizer()
        return saved(saying([*read(text)["input_ids"], 1], len(read)), read, tmp_path / "model")

    return make


def replies(of: LM, prompts: Sequence[Prompt], decoding: Decoding) -> list[Reply]:
    found = of.generate(prompts, decoding)
    return [reply for reply in found if reply is not None]


def odds(of: LM, prompts: Sequence[Prompt], options: Sequence[Sequence[str]], decoding: Decoding = PLAIN) -> list[Odds]:
    return [found for found in of.score(prompts, options, decoding) if found is not None]


def ids(of: LM, text: str) -> list[int]:
    found: list[int] = of.tokenizer(text)["input_ids"]
    return found


def naive_score(of: LM, context: Sequence[int], option: Sequence[int]) -> float:
    with torch.inference_mode():
        logs = of.net(torch.tensor([[*context, *option]]), use_cache=False).logits[0].float().log_softmax(-1)
    return sum(float(logs[len(context) - 1 + place, token]) for place, token in enumerate(option))


def naive_generate(of: LM, prompt: str, limit: int) -> list[int]:
    given = torch.tensor([ids(of, prompt)])
    made = of.net.generate(given, attention_mask=torch.ones_like(given), do_sample=False, max_new_tokens=limit)
    found: list[int] = made[0, given.shape[1] :].tolist()
    return found


# --- writing ---------------------------------------------------------------------------------------------------------


def test_an_answer_ends_where_the_model_ends_it(says: Callable[[str], LM]) -> None:
    lm = says("old tree")
    assert replies(lm, ["?"], Decoding(tokens=40)) == [Reply("old tree", len(ids(lm, "old tree")), True)]


def test_an_answer_that_has_no_tokens_left_did_not_end(says: Callable[[str], LM]) -> None:
    lm = says("old tree")
    (reply,) = replies(lm, ["?"], Decoding(tokens=2))
    assert (reply.text, reply.tokens, reply.ended) == (lm.tokenizer.decode(ids(lm, "old tree")[:2]), 2, False)


def test_an_answer_ends_before_a_stop_but_not_at_blank_lines_before_it(says: Callable[[str], LM]) -> None:
    lm = says("\n\n \nold tree\nnew bird")
    (reply,) = replies(lm, ["?"], Decoding(tokens=40, stop=("\n",)))
    assert (reply.text.strip(), reply.ended) == ("old tree", True)
    assert reply.tokens < len(ids(lm, "\n\n \nold tree\nnew bird"))


@pytest.mark.parametrize("stops", [("bird", "tree"), ("tree", "bird"), (", new", "tree")])
def test_the_first_of_several_stops_counts(says: Callable[[str], LM], stops: tuple[str, ...]) -> None:
    (reply,) = replies(says("old tree, new bird"), ["?"], Decoding(tokens=40, stop=stops))
    assert (reply.text, reply.ended) == ("old ", True)


def test_blank_text_alone_is_not_ended_by_a_stop(says: Callable[[str], LM]) -> None:
    (reply,) = replies(says("\n\n\n"), ["?"], Decoding(tokens=40, stop=("\n",)))
    assert reply.text.strip() == ""
    assert reply.ended


@pytest.mark.parametrize("text", ["机器学习", "naïve 🌳🌲", "Ω\u2028x"])
def test_characters_of_several_tokens_are_written_whole(says: Callable[[str], LM], text: str) -> None:
    assert replies(says(text), ["?"], Decoding(tokens=60))[0].text == text


def test_writing_is_greedy_as_one_by_one(lm: LM) -> None:
    prompts = ["the tree is", "the tree is old", "bird", "the tree is"]
    found = replies(lm, prompts, PLAIN)
    for prompt, reply in zip(prompts, found, strict=True):
        tokens = [token for token in naive_generate(lm, prompt, 8) if token != 1]
        assert (reply.text, reply.tokens) == (lm.tokenizer.decode(tokens, skip_special_tokens=True), len(tokens))


def test_a_draw_is_the_same_whatever_stands_beside_it(lm: LM) -> None:
    warm = Decoding(tokens=8, temperature=1.0, seed=3)
    alone = replies(lm, ["the tree"], warm)[0]
    assert replies(lm, ["the tree is new", "the tree", "bird"], warm)[1] == alone
    assert replies(lm, ["the tree"], warm)[0] == alone
    assert replies(lm, ["the tree"], Decoding(tokens=8, temperature=1.0, seed=4))[0] != alone


def test_draws_follow_the_odds(lm: LM) -> None:
    prompt = "the tree"
    (found,) = odds(lm, [prompt], [["\x01", "d"]])
    share = float(torch.tensor(found.logs[0]).exp())
    drawn = [
        replies(lm, [prompt], Decoding(tokens=1, temperature=1.0, seed=seed))[0].text == "\x01" for seed in range(150)
    ]
    assert 0.15 < share < 0.85
    assert sum(drawn) / 150 == pytest.approx(share, abs=0.1)  # three standard errors


def test_nothing_asked_is_nothing_answered(lm: LM) -> None:
    assert lm.generate([], PLAIN) == []
    assert lm.score([], [], PLAIN) == []


# --- what is read ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prompt", ["", "机器学习", "🌳🌲", "naïve\u0301", "\x00", "\ud800 half", "</s>", "\n"])
def test_any_text_can_be_a_prompt(lm: LM, prompt: str) -> None:
    assert lm.fits(prompt, PLAIN)
    assert len(replies(lm, [prompt, "the tree"], PLAIN)) == 2
    (found,) = odds(lm, [prompt], [["the tree", "🌳", "\udfff"]])
    assert all(log < 0 for log in found.logs)


def test_an_option_after_an_empty_prompt_comes_after_the_start(lm: LM) -> None:
    (found,) = odds(lm, [""], [["the tree", "bird"]])
    assert found.logs == pytest.approx([naive_score(lm, [0], ids(lm, o)) for o in ("the tree", "bird")], abs=1e-4)


def test_a_prompt_over_the_context_loses_its_beginning_and_that_is_counted(lm: LM) -> None:
    prompt = "the tree is old\n" * 40
    size = len(ids(lm, prompt))
    assert size > PLACES
    assert not lm.fits(prompt, PLAIN)
    (reply,) = replies(lm, [prompt], PLAIN)
    assert reply.cut == size - (PLACES - 8)
    (short,) = replies(lm, [lm.tokenizer.decode(ids(lm, prompt)[reply.cut :])], PLAIN)
    assert (short.text, short.cut) == (reply.text, 0)
    (found,) = odds(lm, [prompt], [["bird", "tree"]])
    assert found.cut == size - (PLACES - max(found.tokens))


def test_a_prompt_that_just_fits_is_not_cut(lm: LM) -> None:
    prompt = lm.tokenizer.decode(ids(lm, "the tree is old\n" * 40)[: PLACES - 8])
    size = len(ids(lm, prompt))
    assert lm.fits(prompt, Decoding(tokens=PLACES - size))
    assert not lm.fits(prompt, Decoding(tokens=PLACES - size + 1))
    assert replies(lm, [prompt], Decoding(tokens=PLACES - size))[0].cut == 0


def test_no_room_for_a_prompt_is_refused(lm: LM) -> None:
    with pytest.raises(ModelError, match="no room for a prompt: 128 output tokens in a context of 128"):
        lm.generate(["the tree"], Decoding(tokens=PLACES))
    with pytest.raises(ModelError, match="no room for a prompt"):
        lm.score(["the tree"], [["bird " * 200]], PLAIN)


# --- odds ------------------------------------------------------------------------------------------------------------


def test_options_are_scored_as_one_by_one(lm: LM) -> None:
    prompts, options = ["the tree is", "the bird is"], [[" old", " new bird"], [" new"]]
    for prompt, each, found in zip(prompts, options, odds(lm, prompts, options), strict=True):
        tokens = [ids(lm, option) for option in each]
        assert [*ids(lm, prompt), *tokens[0]] == ids(lm, prompt + each[0])
        assert found.logs == pytest.approx([naive_score(lm, ids(lm, prompt), o) for o in tokens], abs=1e-4)
        assert found.tokens == tuple(map(len, tokens))


def test_a_token_that_joins_prompt_and_option_counts_as_the_options(lm: LM) -> None:
    prompt, options = "old\n", ["\nnew", "tree"]
    whole = [ids(lm, prompt + option) for option in options]
    assert whole[0][: len(ids(lm, prompt))] != ids(lm, prompt)  # a token for both line ends
    at = len(ids(lm, "old"))
    (found,) = odds(lm, [prompt], [options])
    assert found.logs == pytest.approx([naive_score(lm, row[:at], row[at:]) for row in whole], abs=1e-4)
    assert found.tokens == tuple(len(row) - at for row in whole)


def test_a_token_that_joins_all_of_a_prompt_with_an_option_comes_after_the_start(lm: LM) -> None:
    assert len(ids(lm, "\n\n")) == 1
    (found,) = odds(lm, ["\n"], [["\n"]])
    assert found.logs == pytest.approx([naive_score(lm, [0], ids(lm, "\n\n"))], abs=1e-4)


def test_use_is_counted(tmp_path: Path) -> None:
    read = tokenizer()
    lm = saved(net(len(read)), read, tmp_path)
    size, more = len(ids(lm, "the tree is old")), len(ids(lm, " new"))
    odds(lm, ["the tree is old"], [[" new", " new"]])
    assert (lm.usage.read, lm.usage.written, lm.usage.computed) == (size + 2 * more, 0, size + more - 1)
    (reply,) = replies(lm, ["the tree is old"], PLAIN)
    assert (lm.usage.read, lm.usage.written) == (2 * size + 2 * more, reply.tokens)
    assert lm.usage.requests == 0


# --- conversations ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [True, False], ids=["adds a start", "adds none"])
def test_a_turn_of_a_conversation_starts_once(tmp_path: Path, start: bool) -> None:
    read = tokenizer(start=start, template=TEMPLATE)
    lm = saved(net(len(read)), read, tmp_path)
    chat = (Message("user", "old tree"),)
    lm.generate([chat], PLAIN)
    first = read("<s><user>old tree<assistant>", add_special_tokens=False)["input_ids"]
    assert first[0] == 0
    assert 0 not in first[1:]
    assert lm.usage.read == len(first)
    given = torch.tensor([first])
    made = lm.net.generate(given, attention_mask=torch.ones_like(given), do_sample=False, max_new_tokens=8)
    text = read.decode([t for t in made[0, len(first) :].tolist() if t != 1], skip_special_tokens=True)
    assert replies(lm, [chat], PLAIN)[0].text == text
    options = [read(o, add_special_tokens=False)["input_ids"] for o in ("bird", "tree")]
    (found,) = odds(lm, [chat], [["bird", "tree"]], PLAIN)
    assert found.logs == pytest.approx([naive_score(lm, first, option) for option in options], abs=1e-4)


def test_what_fits_is_known_without_the_weights(tmp_path: Path) -> None:
    read = tokenizer(template=TEMPLATE)
    lm = saved(net(len(read)), read, tmp_path)
    counted = Tokens.load(tmp_path)
    for prompt in ("old tree", "", (Message("user", "old"), Message("assistant", "tree"), Message("user", "bird"))):
        room = [tokens for tokens in range(1, lm.context) if lm.fits(prompt, Decoding(tokens=tokens))]
        assert room == [tokens for tokens in range(1, lm.context) if counted.fits(prompt, Decoding(tokens=tokens))]
        assert counted.count(prompt) == lm.context - max(room)


def test_without_chat_a_template_is_left_alone(tmp_path: Path, lm: LM) -> None:
    read = tokenizer(template=TEMPLATE)
    assert replies(saved(net(len(read)), read, tmp_path), ["tree"], PLAIN) == replies(lm, ["tree"], PLAIN)


def test_a_conversation_with_a_model_that_knows_none_is_refused(lm: LM) -> None:
    with pytest.raises(ModelError, match="the model has no chat template; remove `chat`"):
        lm.generate([(Message("user", "tree"),)], PLAIN)


# --- text to text ----------------------------------------------------------------------------------------------------


def test_a_text_to_text_model_is_loaded_and_answers(tmp_path: Path) -> None:
    read = tokenizer()
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2}
    ends: dict[str, Any] = {"decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1}
    made = hf.T5ForConditionalGeneration(hf.T5Config(vocab_size=len(read), **sizes, **ends))
    lm = saved(made, read, tmp_path)
    assert not lm.is_causal
    assert [reply.cut for reply in replies(lm, ["the tree is", "bird"], PLAIN)] == [0, 0]
    (found,) = odds(lm, ["the tree is"], [["old", "new bird"]])
    with torch.inference_mode():
        option = ids(lm, "old")
        given = torch.tensor([[0, *option[:-1]]])
        logs = (
            lm.net(input_ids=torch.tensor([ids(lm, "the tree is")]), decoder_input_ids=given).logits[0].log_softmax(-1)
        )
    assert found.logs[0] == pytest.approx(sum(float(logs[n, token]) for n, token in enumerate(option)), abs=1e-4)

    shown = LM.load(tmp_path, context=6)  # relative positions: as many as one likes
    prompt = "old bird " * 9 + "the tree"
    assert shown.context == 6 < lm.context
    assert lm.fits(prompt, PLAIN)
    assert not shown.fits(prompt, PLAIN)
    (cut,) = replies(shown, [prompt], PLAIN)
    assert cut.cut == len(ids(lm, prompt)) - 6
    assert cut.text == replies(lm, [lm.tokenizer.decode(ids(lm, prompt)[-6:])], PLAIN)[0].text


def test_a_context_that_the_model_was_not_made_for_is_refused(tmp_path: Path) -> None:
    saved(net(len(tokenizer())), tokenizer(), tmp_path)
    assert LM.load(tmp_path, context=PLACES - 1).context == PLACES - 1
    with pytest.raises(ModelError, match=f"must be <= {PLACES}, the limit of the model: {PLACES + 1}"):
        LM.load(tmp_path, context=PLACES + 1)


# --- the default model -----------------------------------------------------------------------------------------------

SHOTS = "".join(
    f"Word: {word}\nOpposite: {other}\n\n"
    for word, other in [("hot", "cold"), ("big", "small"), ("early", "late"), ("full", "empty")]
)
ASKED = [f"{SHOTS}Word: {word}\nOpposite:" for word in ("old", "light", "happy")]


@pytest.fixture(scope="session")
def smollm2() -> LM:
    """The default model, fetched and converted by one process at a time."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    with (cache_folder() / "tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            folder = fetched.get("smollm2")
        except FetchError as error:
            pytest.skip(f"the default model can't be had here: {error}")
    return LM.load(folder, device="cpu")


def test_the_default_model_writes_as_one_by_one(smollm2: LM) -> None:
    assert isinstance(smollm2.engine, Causal)
    assert smollm2.engine.can_share
    found = replies(smollm2, ASKED, Decoding(tokens=6, stop=("\n",)))
    for prompt, reply in zip(ASKED, found, strict=True):
        whole = smollm2.tokenizer.decode(naive_generate(smollm2, prompt, 6), skip_special_tokens=True)
        assert reply.text == whole.partition("\n")[0]
        assert reply.ended == ("\n" in whole)


def test_the_default_model_scores_as_one_by_one(smollm2: LM) -> None:
    options = [[" young", " new", " heavy metal"]] * 3
    for prompt, found in zip(ASKED, odds(smollm2, ASKED, options), strict=True):
        context = ids(smollm2, prompt)
        wanted = [naive_score(smollm2, context, ids(smollm2, prompt + o)[len(context) :]) for o in options[0]]
        assert found.logs == pytest.approx(wanted, abs=1e-3)
        assert max(found.logs[:2]) > found.logs[2]
