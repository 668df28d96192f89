"""Encoders: vectors as transformers alone would give them, whatever is computed beside; folders as they say."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Sequence
from itertools import accumulate, combinations, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
import transformers as hf
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from taskloom.errors import ModelError, TaskloomError, UnknownNameError
from taskloom.models import TextPair
from taskloom.models.encoder import PARTS, TransformerEncoder, batches
from taskloom.models.load import Weights, source
from taskloom.models.recipe import Recipe, Watch
from taskloom.models.sentence_files import SentenceSettings, sentence_settings
from taskloom.models.weight_files import content

if TYPE_CHECKING:
    from ..conftest import Refused

torch.set_num_threads(1)

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdefghijklmnop"]
TEXTS = ["a b c", "d", "", "e f g h i j k l m", "z z", "a b c d e f g h i j k l m n o p a b c"]
SIZES: dict[str, Any] = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}


def tokenizer_into(folder: Path, *, marks: bool = True) -> None:
    words = Tokenizer(models.WordLevel({word: n for n, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    if marks:
        special = [("[CLS]", 2), ("[SEP]", 3)]
        words.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", special_tokens=special)
    kept = hf.PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]",
        eos_token="[SEP]",
    )  # fmt: skip
    kept.save_pretrained(folder)


def net_of(kind: str) -> Any:
    torch.manual_seed(0)
    if kind == "bert":
        return hf.BertModel(hf.BertConfig(vocab_size=20, max_position_embeddings=16, **SIZES))
    if kind == "llama":
        return hf.LlamaForCausalLM(hf.LlamaConfig(vocab_size=20, max_position_embeddings=16, **SIZES))
    sizes: dict[str, Any] = {"d_model": 16, "d_ff": 32, "num_layers": 2, "num_heads": 2, "d_kv": 8, "n_positions": 16}
    return hf.T5ForConditionalGeneration(hf.T5Config(vocab_size=20, decoder_start_token_id=0, **sizes))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Tiny models of three families; the encoder is one of sentence-transformers."""
    found = {}
    for kind in ("bert", "llama", "t5"):
        found[kind] = tmp_path_factory.mktemp(kind)
        net_of(kind).save_pretrained(found[kind])
        tokenizer_into(found[kind], marks=kind == "bert")
    sentences(found["bert"])
    return found


def sentences(folder: Path, *, pooling: Any = None, **more: Any) -> None:
    """Write what sentence-transformers writes beside the weights."""
    kinds = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    listed = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in kinds.items()]
    (folder / "modules.json").write_text(json.dumps(listed))
    (folder / "1_Pooling").mkdir(exist_ok=True)
    said = pooling or {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(said))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 12, "do_lower_case": False}))
    if more:
        (folder / "config_sentence_transformers.json").write_text(json.dumps(more))


def opened(folder: Path, **options: Any) -> TransformerEncoder:
    found = Weights(load=f"path:{folder}", **options).open_encoder(folder)
    assert isinstance(found, TransformerEncoder)
    return found


@torch.no_grad()
def naive(folder: Path, text: str, pooling: str, length: int, *, normalise: bool = False) -> Any:
    """One text alone, without padding, by transformers itself."""
    tokenizer, net = hf.AutoTokenizer.from_pretrained(folder), hf.AutoModel.from_pretrained(folder).eval()
    ids = tokenizer(text, truncation=True, max_length=length)["input_ids"] or [0]
    reader = net.get_encoder() if net.config.is_encoder_decoder else net
    hidden = reader(torch.tensor([ids])).last_hidden_state[0]
    found = {"cls": hidden[0], "last": hidden[-1], "mean": hidden.mean(0)}[pooling].numpy()
    return found / np.linalg.norm(found) if normalise else found


@pytest.mark.parametrize(
    ("kind", "options", "pooling", "length", "normalise"),
    [
        ("bert", {}, "mean", 12, True),  # as its folder says
        ("bert", {"pooling": "cls", "normalise": False}, "cls", 12, False),
        ("bert", {"pooling": "last", "context": 6}, "last", 6, True),
        ("llama", {}, "last", 16, False),
        ("llama", {"pooling": "mean", "normalise": True}, "mean", 16, True),
        ("t5", {}, "mean", 16, False),
    ],
)
def test_vectors_are_those_of_each_text_alone(
    folders: dict[str, Path], kind: str, options: dict[str, Any], pooling: str, length: int, normalise: bool
):
    encoder = opened(folders[kind], **options)
    found = encoder.encode(TEXTS)
    assert (found.dtype, found.shape, encoder.width) == (np.float32, (len(TEXTS), 16), 16)
    wanted = [naive(folders[kind], text, pooling, length, normalise=normalise) for text in TEXTS]
    assert np.abs(found - np.array(wanted)).max() < 1e-5


def test_what_a_text_is_computed_with_changes_its_vector_by_rounding_alone(folders: dict[str, Path]):
    encoder = opened(folders["bert"])
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    assert np.abs(alone - encoder.encode(TEXTS)).max() < 1e-6
    assert np.abs(alone - encoder.encode(TEXTS[::-1])[::-1]).max() < 1e-6
    assert len(encoder.encode([])) == 0


def test_batches_hold_rows_of_like_length_up_to_a_budget():
    lengths = [50, 10, 90, 85, 10, 30, 1000]
    found = list(batches(lengths, budget=200))
    assert found == [[6], [2, 3], [0], [5], [1, 4]]
    assert sorted(place for batch in found for place in batch) == list(range(7))


@given(st.lists(st.integers(0, 60), min_size=1, max_size=7))
def test_no_other_batches_take_less(lengths: list[int]):
    order, budget = sorted(lengths, reverse=True), 100

    def cost(cuts: Sequence[int]) -> float:
        sizes = [(max(1, order[start]), end - start) for start, end in pairwise((0, *cuts, len(order)))]
        return sum(math.inf if n > 1 and w * n > budget else w * n + budget / PARTS for w, n in sizes)

    ways = [cuts for count in range(len(order)) for cuts in combinations(range(1, len(order)), count)]
    found = list(accumulate(map(len, batches(lengths, budget))))[:-1]
    assert cost(found) == pytest.approx(min(map(cost, ways)))


def test_few_tokens_are_one_batch_however_much_is_padding():
    assert list(batches([20, 20, 20, 10, 10, 3], budget=2048)) == [[0, 1, 2, 3, 4, 5]]
    assert list(batches([20] * 13 + [10] * 13, budget=2048)) == [[*range(13)], [*range(13, 26)]]


def test_over_long_texts_are_cut_at_their_end_and_counted(folders: dict[str, Path]):
    encoder = opened(folders["bert"])
    assert encoder.take(TEXTS)[1] == [0, 0, 0, 0, 0, 9]  # 19 words and two marks, of which 12 fit
    assert encoder.tokens([TEXTS[5]])[0][0][-1] == 3  # the mark at the end stays
    assert opened(folders["bert"], context=16).take(TEXTS)[1][5] == 5
    with pytest.raises(ModelError, match="`context` must be <= 16"):
        opened(folders["bert"], context=17)


def test_usage_counts_tokens_that_were_read(folders: dict[str, Path]):
    encoder = opened(folders["bert"])
    encoder.encode(["a b", "c"])
    assert (encoder.usage.read, encoder.usage.computed) == (7, 7)


def test_half_characters_are_replaced_as_everywhere(folders: dict[str, Path]):
    assert np.isfinite(opened(folders["bert"]).encode(["a \ud800 b"])).all()


# --- names -----------------------------------------------------------------------------------------------------------


def test_options_of_vectors_name_a_model_unless_they_are_the_usual_ones(folders: dict[str, Path]):
    usual = source("x", {"load": f"path:{folders['bert']}"}).identity()
    assert set(usual) == {"weights"}  # type: ignore[arg-type]
    more = source(
        "x", {"load": f"path:{folders['bert']}", "pooling": "cls", "normalise": True, "vector_dtype": "float16"}
    )
    assert more.identity() == {**usual, "pooling": "cls", "normalise": True, "vector_dtype": "float16"}  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("option", "code"),
    [
        ({"pooling": "max"}, "name-unknown"),
        ({"normalise": "yes"}, "true-or-false-expected"),
        ({"vector_dtype": "int8"}, "name-unknown"),
    ],
)
def test_options_that_can_not_be_meant_are_refused(option: dict[str, Any], code: str):
    with pytest.raises(TaskloomError) as told:
        source("minilm", option)
    assert told.value.note.code == code


def test_what_a_folder_says_of_pooling_names_it_too(folders: dict[str, Path], tmp_path: Path):
    mine = Path(shutil.copytree(folders["bert"], tmp_path / "mine"))
    assert Weights(load=f"path:{mine}").identity() == Weights(load=f"path:{folders['bert']}").identity()
    sentences(mine, pooling={"pooling_mode": "cls"})
    assert Weights(load=f"path:{mine}").identity() != Weights(load=f"path:{folders['bert']}").identity()
    assert opened(mine).pooling == "cls"


def test_language_models_and_encoders_give_vectors_and_endpoints_do_not(folders: dict[str, Path]):
    assert {"vectors", "train", "score"} <= Weights(load=f"path:{folders['llama']}").can
    assert Weights(load=f"path:{folders['bert']}").can == {"vectors", "train"}
    assert Weights(load="minilm").can == {"vectors", "train"}
    assert "vectors" not in source("fake:echo").can
    assert source("fake:bag").can == {"vectors", "train"}


# --- folders ---------------------------------------------------------------------------------------------------------


def test_a_folder_that_was_not_made_for_sentences_says_nothing(tmp_path: Path):
    assert sentence_settings(tmp_path) == SentenceSettings()


def test_prompts_of_a_folder_are_forms(folders: dict[str, Path], tmp_path: Path):
    mine = Path(shutil.copytree(folders["bert"], tmp_path / "mine"))
    sentences(mine, prompts={"query": "a b ", "document": ""}, default_prompt_name=None)
    encoder = opened(mine)
    assert encoder.forms == ("query",)
    assert np.allclose(encoder.encode(["c"], "query"), encoder.encode(["a b c"]), atol=1e-6)
    with pytest.raises(UnknownNameError, match="unknown form: 'querry'; did you mean query"):
        encoder.encode(["c"], "querry")
    sentences(mine, prompts={"query": "a b "}, default_prompt_name="query")
    assert np.allclose(opened(mine).encode(["c"]), encoder.encode(["a b c"]), atol=1e-6)


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"modules.json": "{}"}, "sentence-file-unreadable"),
        ({"modules.json": "[" * 100_000}, "sentence-file-unreadable"),
        ({"modules.json": '[{"type": "a.Transformer", "path": "0_Transformer"}]'}, "sentence-module-unsupported"),
        ({"modules.json": '[{"type": "a.Transformer"}, {"type": "a.Dense"}]'}, "sentence-module-unsupported"),
        ({"modules.json": '[{"type": "a.Pooling", "path": ".."}]'}, "sentence-file-unreadable"),
        ({"1_Pooling/config.json": '{"pooling_mode": "max"}'}, "sentence-module-unsupported"),
        ({"1_Pooling/config.json": '{"pooling_mode": ["cls", "mean"]}'}, "sentence-module-unsupported"),
        ({"1_Pooling/config.json": '{"include_prompt": false}'}, "sentence-module-unsupported"),
        ({"1_Pooling/config.json": "[]"}, "sentence-file-unreadable"),
        ({"config_sentence_transformers.json": '{"prompts": [1]}'}, "sentence-file-unreadable"),
    ],
)
def test_folders_that_ask_for_what_is_not_known_are_refused(
    folders: dict[str, Path], tmp_path: Path, files: dict[str, str], code: str, refused: Refused
):
    mine = Path(shutil.copytree(folders["bert"], tmp_path / "mine"))
    for name, text in files.items():
        (mine / name).write_text(text)
    with refused(ModelError, code):
        sentence_settings(mine)


@pytest.mark.parametrize("name", ["1_Pooling", "10_Pooling", "Pooling"])
def test_a_model_is_named_by_how_it_pools_wherever_that_stands(folders: dict[str, Path], tmp_path: Path, name: str):
    mine = Path(shutil.copytree(folders["bert"], tmp_path / "mine"))
    (mine / "1_Pooling").rename(mine / name)
    (mine / "modules.json").write_text((mine / "modules.json").read_text().replace("1_Pooling", name))
    before = content(mine)
    (mine / name / "config.json").write_text('{"pooling_mode": "cls"}')
    assert sentence_settings(mine).pooling == "cls"
    assert content(mine) != before


def test_weights_that_are_missing_or_damaged_are_told(folders: dict[str, Path], tmp_path: Path, refused: Refused):
    mine = Path(shutil.copytree(folders["bert"], tmp_path / "mine"))
    config = json.loads((mine / "config.json").read_text())
    (mine / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}))
    with refused(ModelError, "encoder-incomplete", part="encoder.layer.2.attention.output.LayerNorm.bias"):
        opened(mine)
    (mine / "model.safetensors").write_bytes(b"no weights")
    with refused(ModelError, "weights-unreadable"):
        opened(mine)


# --- training --------------------------------------------------------------------------------------------------------

PAIRS = [
    TextPair("a b", "c d", 1.0),
    TextPair("a b", "m n", 0.0),
    TextPair("c d", "m n", 0.0),
    TextPair("m n", "o p", 1.0),
]


def cosine(encoder: Any, one: str, other: str) -> float:
    a, b = encoder.encode([one, other])
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


@pytest.mark.parametrize(("what", "rate"), [("all", 5e-3), ("lora", 2e-2), ("adapters", 5e-2)])
def test_training_makes_pairs_as_alike_as_they_should_be_for_a_while(folders: dict[str, Path], what: Any, rate: float):
    encoder = opened(folders["bert"])
    before = encoder.encode(TEXTS)
    how = Recipe(what=what, lr=rate, batch=4, steps=16, reduction=2)
    with encoder.tuned(PAIRS, how, seed=0, watch=Watch()) as learnt:
        trained = encoder.encode(TEXTS)
        apart = cosine(encoder, "a b", "c d") - cosine(encoder, "a b", "m n")
    assert learnt.losses[-1][1] < learnt.losses[0][1]
    assert apart > cosine(encoder, "a b", "c d") - cosine(encoder, "a b", "m n")
    assert learnt.steps == 16
    assert not np.array_equal(trained, before)
    assert np.array_equal(encoder.encode(TEXTS), before)  # bit for bit
    with encoder.tuned(PAIRS, how, seed=0, watch=Watch()):
        assert np.array_equal(encoder.encode(TEXTS), trained)  # the seed says it all


def test_another_seed_trains_otherwise_and_an_error_leaves_the_encoder_as_it_was(folders: dict[str, Path]):
    encoder = opened(folders["bert"])
    before, found = encoder.encode(TEXTS), []
    for seed in (0, 1):
        with encoder.tuned(PAIRS, Recipe(lr=1e-3, batch=2, steps=3), seed=seed):
            found.append(encoder.encode(TEXTS))
    assert not np.array_equal(found[0], found[1])
    with pytest.raises(RuntimeError), encoder.tuned(PAIRS, Recipe(lr=1e-3, steps=2), seed=0):
        raise RuntimeError
    assert np.array_equal(encoder.encode(TEXTS), before)


def test_a_soft_prompt_can_not_be_trained_before_an_encoder(folders: dict[str, Path], refused: Refused):
    how = Recipe(what="prompt")
    with refused(ModelError, "prompt-tuned-encoder"), opened(folders["bert"]).tuned(PAIRS, how, seed=0):
        pass


def test_vectors_of_a_trained_language_model_are_those_of_its_new_weights(folders: dict[str, Path], tmp_path: Path):
    from taskloom.models import Lesson

    of = Weights(load=f"path:{folders['llama']}")
    lessons = [Lesson("t", "1", "a b", " c"), Lesson("t", "2", "d e", " f")]
    for what in ("all", "prompt"):
        made = tmp_path / what
        made.mkdir()
        of.train(lessons, (), Recipe(what=what, lr=1e-2, steps=2, batch=2, virtual=3), seed=0, folder=made)
        trained = of.open_encoder(tmp_path, [made])
        assert not np.allclose(trained.take(["a b"])[0], of.open_encoder(tmp_path).take(["a b"])[0], atol=1e-4)
        both = trained.take(["a b", "c d e f"])[0]
        assert np.abs(both[0] - trained.take(["a b"])[0][0]).max() < 1e-5
