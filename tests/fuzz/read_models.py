"""Readers of model files: folders, headers of safetensors, GGUF, checkpoints, vectors that were kept, replies."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from taskloom.errors import TaskloomError
from taskloom.models.load import source
from taskloom.models.pretrain import _there
from taskloom.models.replies import Price, Replies
from taskloom.models.sentence_files import sentence_settings
from taskloom.models.vector_store import VectorStore
from taskloom.models.weight_files import content, parameters_in, refuse_uncovered
from taskloom.studies import artifacts, training_notes

from .mutate import Case
from .reader import Reader, files_in

TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"


@cache
def model_files() -> Case:
    """Make a tiny model's folder, once."""
    import torch
    import transformers as hf
    from tokenizers import Tokenizer, models, pre_tokenizers

    torch.set_num_threads(1)  # children are forked
    hf.logging.set_verbosity_error()
    hf.utils.logging.disable_progress_bar()
    words = Tokenizer(models.WordLevel({"<s>": 0, "a": 1, "b": 2, "?": 3}, unk_token="?"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = hf.PreTrainedTokenizerFast(tokenizer_object=words, bos_token="<s>", eos_token="<s>", unk_token="?")
    tokenizer.chat_template = TEMPLATE
    sizes: dict[str, Any] = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    torch.manual_seed(0)
    config = hf.LlamaConfig(vocab_size=4, num_attention_heads=2, max_position_embeddings=32, **sizes)
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        hf.LlamaForCausalLM(config).save_pretrained(folder)
        return files_in(Path(folder))


def _header(folder: Path) -> None:
    """Ask all that is known of a model without loading it."""
    model = source(f"path:{folder}")
    for ask in (
        lambda: model.can, model.lacks, model.identity, lambda: parameters_in(folder), lambda: content(folder),
        lambda: refuse_uncovered(folder), lambda: sentence_settings(folder), lambda: _there(folder),
    ):  # fmt: skip
        with suppress(TaskloomError):
            ask()


def _header_seeds() -> Sequence[Case]:
    head = json.dumps({"__metadata__": {"a": "b"}, "w": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}})
    weights = len(head).to_bytes(8, "little") + head.encode() + bytes(16)
    plain = {"model.safetensors": weights, "config.json": b'{"architectures": ["LlamaForCausalLM"]}'}
    modules = [
        {"type": "x.Transformer", "path": ""},
        {"type": "x.Pooling", "path": "1_Pooling"},
        {"type": "x.Normalize"},
    ]
    sentence = {
        "modules.json": json.dumps(modules).encode(), "1_Pooling/config.json": b'{"pooling_mode": "mean"}',
        "sentence_bert_config.json": b'{"max_seq_length": 128}',
        "config_sentence_transformers.json": b'{"prompts": {"query": "q: "}, "default_prompt_name": "query"}',
    }  # fmt: skip
    index = {"model.safetensors.index.json": b'{"weight_map": {"w": "model.safetensors"}}'}
    return [plain, plain | sentence, plain | index, plain | {"pretraining.json": b'{"id": "x", "settings": {}}'}]


def _loaded(folder: Path) -> None:
    """Load a model and ask it something."""
    import torch

    from taskloom.models import Decoding, Message
    from taskloom.models.lm import LM, Tokens

    torch.set_num_threads(1)
    with suppress(TaskloomError):
        Tokens.load(folder).count("a b")
    lm = LM.load(folder)
    for prompt in ("a b", (Message("user", "a"),)):
        with suppress(TaskloomError):
            lm.generate([prompt], Decoding(tokens=2))


@cache
def gguf_file() -> bytes:
    """Make a tiny model in GGUF."""
    from gguf import GGUFWriter

    made = GGUFWriter(None, "llama")
    made.add_block_count(1)
    made.add_context_length(32)
    made.add_embedding_length(32)
    made.add_feed_forward_length(32)
    made.add_head_count(2)
    made.add_head_count_kv(2)
    made.add_layer_norm_rms_eps(1e-5)
    made.add_rope_dimension_count(16)
    made.add_vocab_size(8)
    made.add_tokenizer_model("gpt2")
    made.add_token_list(["<s>", "a", "b", "ab", "d", "e", "f", "g"])
    made.add_token_types([3, 1, 1, 1, 1, 1, 1, 1])
    made.add_token_merges(["a b"])
    made.add_bos_token_id(0)
    made.add_eos_token_id(0)
    random = np.random.default_rng(0)
    shapes = {"token_embd": (8, 32), "output": (8, 32), "output_norm": (32,)}
    shapes |= {f"blk.0.attn_{name}": (32, 32) for name in ("q", "k", "v", "output")}
    shapes |= {f"blk.0.ffn_{name}": (32, 32) for name in ("gate", "up", "down")}
    shapes |= {f"blk.0.{name}": (32,) for name in ("attn_norm", "ffn_norm")}
    for name, shape in shapes.items():
        made.add_tensor(f"{name}.weight", random.normal(size=shape).astype(np.float32))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.gguf"
        made.write_header_to_file(path)
        made.write_kv_data_to_file()
        made.write_tensors_to_file()
        made.close()
        return path.read_bytes()


def _gguf(folder: Path) -> None:
    import torch

    from taskloom.models.gguf import convert

    torch.set_num_threads(1)
    convert(folder / "m.gguf", folder / "made")


def _checkpoint_seeds() -> Sequence[Case]:
    import torch

    from taskloom.models.checkpoints import Checkpoints, State

    with tempfile.TemporaryDirectory() as folder:
        kept = Checkpoints(Path(folder), "x")
        state = State(step=3, losses=[(1, 2.0)], validation=[(1, 2.5)], best=2.5)
        kept.write(state, {"w": torch.zeros(2), "v": torch.ones(1)})
        return [files_in(Path(folder))]


def _checkpoint(folder: Path) -> None:
    from taskloom.models.checkpoints import Checkpoints

    Checkpoints(folder, "x").newest()


# --- what is kept ----------------------------------------------------------------------------------------------------

DIGESTS = [bytes([n]) * 16 for n in range(4)]


def _vector_seeds() -> Sequence[Case]:
    with tempfile.TemporaryDirectory() as folder:
        kept = VectorStore(Path(folder))
        kept.keep(DIGESTS[:3], np.ones((3, 4), np.float32), [0, 1, 0])
        kept.close()
        return [{name: data for name, data in files_in(Path(folder)).items() if data and "-" not in name}]


def _vectors(folder: Path) -> None:
    (folder / "about.json").write_text('{"model": "x"}')
    VectorStore.described(folder, folder / "about.json")
    kept = VectorStore(folder)
    kept.find(DIGESTS)
    ours, _ = kept.claim(DIGESTS, 4)
    kept.keep(ours, np.ones((len(ours), 4), np.float32), [0] * len(ours))
    kept.find(DIGESTS)
    kept.close()


def _replies_seeds() -> Sequence[Case]:
    with tempfile.TemporaryDirectory() as folder:
        kept = Replies(Path(folder) / "replies.db")
        kept.set_aside("k", "m", Price(5, 0.5), Price(0, 0.0))
        kept.keep("k", "m", (200, {"choices": []}), Price(3, 0.1), Price(5, 0.5))
        kept.close()
        return [{"replies.db": (Path(folder) / "replies.db").read_bytes()}]


def _replies(folder: Path) -> None:
    kept = Replies(folder / "replies.db")
    for ask in (
        lambda: kept.find("k"), lambda: kept.spent("m"), lambda: kept.set_aside("j", "m", Price(1, 0.1), Price(9, 9.0)),
    ):  # fmt: skip
        with suppress(TaskloomError):
            ask()
    kept.close()


def _artifact_seeds() -> Sequence[Case]:
    about = {"cell": "c", "files": {"w.bin": [2, hashlib.sha256(b"ab").hexdigest()]}}
    note = {"model": "m", "task": "t", "step": 1, "share": 0.5, "loss": 1.0, "seconds": None}
    return [
        {"artifacts/c/about.json": json.dumps(about).encode(), "artifacts/c/w.bin": b"ab",
         f"artifacts/c.part/{training_notes.FILE}": json.dumps(note).encode()},
    ]  # fmt: skip


def _artifact(folder: Path) -> None:
    artifacts.digest(folder, "c")
    list(map(str, training_notes.progressing(folder / "artifacts")))
    artifacts.opened(folder, "c")


READERS = {
    "model folders": Reader(_header_seeds, _header),
    "models loaded": Reader(lambda: [model_files()], _loaded, tests=12, seconds=6),
    "GGUF": Reader(lambda: [{"m.gguf": gguf_file()}], _gguf, tests=12, seconds=6),
    "checkpoints": Reader(_checkpoint_seeds, _checkpoint),
    "vector cache": Reader(_vector_seeds, _vectors),
    "replies kept": Reader(_replies_seeds, _replies),
    "artifacts": Reader(_artifact_seeds, _artifact),
}
