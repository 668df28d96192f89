"""Architectures and sizes without weights, named `new:FAMILY-SIZE`: from nano, for 2 cores, to those of the papers.

Looking a name up needs no torch; weights are drawn from a seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from ..errors import UnknownNameError, UsageError
from ..messages import Note

PREFIX = "new:"
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))  # tokens that stand for a character that has none of its own
SENTINELS = tuple(f"<extra_id_{number}>" for number in range(100))
Kind: TypeAlias = Literal["characters", "unigram", "bpe"]  # of tokenizer
Goal: TypeAlias = Literal["spans", "infilling", "gaps", "causal"]  # of pre-training
KINDS: tuple[Kind, ...] = get_args(Kind)
GOALS: tuple[Goal, ...] = get_args(Goal)


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """Tokens that stand for no text, in the order of their ids: the first from 0, the last after all others."""

    first: tuple[str, ...]
    roles: Mapping[str, str]  # such as pad_token: <pad>
    last: tuple[str, ...] = ()
    begin: str = ""  # what every text begins with
    end: str = ""
    start: str = ""  # what a decoder begins with
    mask: str = ""
    unknown: str = "<unk>"

    @property
    def count(self) -> int:
        """Count all of them."""
        return len(self.first) + len(self.last)

    @property
    def extra(self) -> list[str]:
        """List those that have no role of their own."""
        return [name for name in (*self.first, *self.last) if name not in self.roles.values()]


@dataclass(frozen=True, slots=True)
class Size:
    """How large a model is; an encoder and a decoder have so many layers each."""

    width: int
    layers: int
    inner: int  # width of the feed-forward layers
    heads: int
    dropout: float = 0.0


@dataclass(frozen=True, slots=True)
class Family:
    """What models of one architecture share."""

    special: SpecialTokens
    sizes: Mapping[str, Size]
    goals: tuple[Goal, ...]  # what it can be pre-trained on, the usual first
    positions: int  # the most tokens that it is made for, unless told otherwise
    settings: Callable[[Size, int], dict[str, Any]]  # of transformers, for a size and a number of positions
    count: Callable[[Size, int, int], int]  # parameters, for a size, a vocabulary and a number of positions
    config: str  # of transformers
    rate: float  # the usual learning rate of pre-training for a model 128 wide
    is_causal: bool = False
    learns_positions: bool = False  # each has weights of its own


def _t5(size: Size, positions: int) -> dict[str, Any]:
    return {
        "d_model": size.width, "d_kv": size.width // size.heads, "d_ff": size.inner, "num_layers": size.layers,
        "num_heads": size.heads, "dropout_rate": size.dropout, "n_positions": positions,
    }  # fmt: skip


def _bart(size: Size, positions: int) -> dict[str, Any]:
    sides = {
        f"{side}_{name}": value
        for side in ("encoder", "decoder")
        for name, value in (("layers", size.layers), ("ffn_dim", size.inner), ("attention_heads", size.heads))
    }
    dropout = {"dropout": size.dropout, "attention_dropout": 0.0, "activation_dropout": 0.0}
    return {"d_model": size.width, "max_position_embeddings": positions, **sides, **dropout}


def _plain_bart(size: Size, positions: int) -> dict[str, Any]:
    return _bart(size, positions) | {"forced_eos_token_id": None, "forced_bos_token_id": None}


def _pegasus(size: Size, positions: int) -> dict[str, Any]:
    return _bart(size, positions) | {
        "scale_embedding": True,
        "activation_function": "relu",
        "forced_eos_token_id": None,
    }


def _llama(size: Size, positions: int) -> dict[str, Any]:
    return {
        "hidden_size": size.width, "num_hidden_layers": size.layers, "intermediate_size": size.inner,
        "num_attention_heads": size.heads, "num_key_value_heads": size.heads, "max_position_embeddings": positions,
        "tie_word_embeddings": True,
    }  # fmt: skip


def _t5_count(of: Size, vocabulary: int, positions: int) -> int:  # noqa: ARG001 (positions have no weights)
    attention, forward = 4 * of.width**2, 2 * of.width * of.inner
    layers = of.layers * (3 * attention + 2 * forward + 5 * of.width)
    return vocabulary * of.width + layers + 2 * (32 * of.heads + of.width)  # 32 buckets of distances


def _bart_layers(of: Size) -> int:
    attention, forward = 4 * (of.width**2 + of.width), 2 * of.width * of.inner + of.inner + of.width
    return of.layers * (3 * attention + 2 * forward + 5 * 2 * of.width)


def _bart_count(of: Size, vocabulary: int, positions: int) -> int:
    return of.width * (vocabulary + 2 * (positions + 2) + 2 * 2) + _bart_layers(of)  # two positions are for padding


def _pegasus_count(of: Size, vocabulary: int, positions: int) -> int:
    return of.width * (vocabulary + 2 * positions + 2 * 2) + _bart_layers(of)


def _llama_count(of: Size, vocabulary: int, positions: int) -> int:  # noqa: ARG001
    layer = 4 * of.width**2 + 3 * of.width * of.inner + 2 * of.width
    return of.width * (vocabulary + 1) + of.layers * layer


PAD, END, UNKNOWN = "<pad>", "</s>", "<unk>"
ROLES = {"pad_token": PAD, "eos_token": END, "unk_token": UNKNOWN}
SMALL = {"nano": Size(128, 2, 512, 4), "mini": Size(256, 4, 1024, 4), "small": Size(512, 6, 2048, 8, 0.1)}
FAMILIES: Mapping[str, Family] = {
    "t5": Family(  # Raffel et al. 2020, table 14
        SpecialTokens((PAD, END, UNKNOWN), ROLES, last=SENTINELS[::-1], end=END, start=PAD, mask=SENTINELS[0]),
        {**SMALL, "base": Size(768, 12, 3072, 12, 0.1), "large": Size(1024, 24, 4096, 16, 0.1)},
        ("spans", "infilling", "gaps"), 512, _t5, _t5_count, "T5Config", 3e-3,
    ),
    "bart": Family(  # Lewis et al. 2020, section 2.1
        SpecialTokens(
            ("<s>", PAD, END, UNKNOWN), {**ROLES, "bos_token": "<s>", "mask_token": "<mask>"}, last=("<mask>",),
            begin="<s>", end=END, start=END, mask="<mask>",
        ),
        {**SMALL, "base": Size(768, 6, 3072, 12, 0.1), "large": Size(1024, 12, 4096, 16, 0.1)},
        ("infilling", "gaps"), 1024, _plain_bart, _bart_count, "BartConfig", 1e-3, learns_positions=True,
    ),
    "pegasus": Family(  # Zhang et al. 2020, section 5
        SpecialTokens(
            (PAD, END, UNKNOWN), {**ROLES, "mask_token": "<mask_2>"}, last=("<mask_1>", "<mask_2>"), end=END, start=PAD,
            mask="<mask_1>",
        ),
        {**SMALL, "base": Size(768, 12, 3072, 12, 0.1), "large": Size(1024, 16, 4096, 16, 0.1)},
        ("gaps", "infilling"), 512, _pegasus, _pegasus_count, "PegasusConfig", 1e-3,
    ),
    "llama": Family(  # base and large as GPT-2's first two sizes
        SpecialTokens((UNKNOWN, "<s>", END, PAD), {**ROLES, "bos_token": "<s>"}, begin="<s>", end=""),
        {
            "nano": Size(128, 4, 384, 4), "mini": Size(256, 8, 768, 4), "small": Size(512, 8, 1536, 8),
            "base": Size(768, 12, 2048, 12), "large": Size(1024, 24, 2816, 16),
        },
        ("causal",), 1024, _llama, _llama_count, "LlamaConfig", 1e-3, is_causal=True,
    ),
}  # fmt: skip
NAMES = tuple(f"{family}-{size}" for family, of in FAMILIES.items() for size in of.sizes)


def family_of(name: str) -> Family:
    """Look a name up, with or without its prefix, or say which names come nearest.

    >>> family_of("new:t5-nano").goals
    ('spans', 'infilling', 'gaps')
    """
    short = name.removeprefix(PREFIX)
    if short not in NAMES:
        raise UnknownNameError("architecture", short, NAMES)
    return FAMILIES[short.partition("-")[0]]


def size_of(name: str) -> Size:
    """Give the size that a name stands for.

    >>> size_of("t5-nano")
    Size(width=128, layers=2, inner=512, heads=4, dropout=0.0)
    """
    return family_of(name).sizes[name.removeprefix(PREFIX).partition("-")[2]]


def parameter_count(name: str, vocabulary: int, positions: int = 0) -> int:
    """Count the parameters that a model will have with so many tokens.

    >>> parameter_count("t5-nano", 8000)
    1943296
    """
    family = family_of(name)
    return family.count(size_of(name), vocabulary, positions or family.positions)


def check_vocabulary(special: SpecialTokens, size: int) -> None:
    """Refuse a vocabulary without room for special tokens, bytes and at least one more."""
    if size < (least := special.count + len(BYTES) + 1):
        raise UsageError(Note.of("vocabulary-too-small", least=least, given=size))


def goal_of(name: str, goal: str = "") -> Goal:
    """Give what a model is pre-trained on: as wanted, if its family can do that, or the usual."""
    goals = family_of(name).goals
    if goal and goal not in GOALS:
        raise UnknownNameError("objective", goal, GOALS)
    for able in goals:
        if goal in ("", able):
            return able
    raise UsageError(Note.of("objective-unfit", model=name.removeprefix(PREFIX), known=goals, given=goal))


def config(name: str, tokenizer: Any, *, positions: int = 0) -> Any:
    """Make the configuration of a model for a tokenizer: sizes, and the tokens that begin and end what it writes."""
    import transformers

    family = family_of(name)
    made: Any = getattr(transformers, family.config)
    sizes = family.settings(size_of(name), positions or family.positions)
    return made(vocab_size=len(tokenizer), **sizes, **_token_ids(family.special, tokenizer))


def _token_ids(special: SpecialTokens, tokenizer: Any) -> dict[str, int | None]:
    """Give the ids of the tokens that a configuration names."""
    named = {"pad": PAD, "eos": END, "bos": special.roles.get("bos_token"), "decoder_start": special.start or None}
    return {
        f"{role}_token_id": None if token is None else tokenizer.convert_tokens_to_ids(token)
        for role, token in named.items()
        if role != "decoder_start" or token
    }


def net(name: str, tokenizer: Any, *, seed: int, positions: int = 0) -> Any:
    """Make a model whose weights are drawn from a seed, whatever else was drawn before."""
    import transformers

    of = config(name, tokenizer, positions=positions)
    kind = transformers.AutoModelForCausalLM if family_of(name).is_causal else transformers.AutoModelForSeq2SeqLM
    with drawn_from(seed):
        made: Any = kind.from_config(of)
    for role, token in _token_ids(family_of(name).special, tokenizer).items():
        setattr(made.generation_config, role, token)
    return made


@contextmanager
def drawn_from(seed: int) -> Iterator[None]:
    """Draw from a seed of its own, and leave the random numbers of others as they were."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def parameters(of: Any) -> int:
    """Count the parameters of a model, those that are shared once."""
    return sum(parameter.numel() for parameter in of.parameters())
