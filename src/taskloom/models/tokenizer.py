"""Train a tokenizer on texts: by character, unigram or byte-level BPE. The same texts give the same files."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from ..texts import is_unspaced
from .new import BYTES, Kind, SpecialTokens, check_vocabulary

SPACE = "▁"
BYTE_SCORE = -1000.0  # a text that reads so is written by its characters
COVERED = 0.9995  # of all characters have a token of their own; as in SentencePiece
LONGEST_PIECE = 16  # characters
READ = 20_000_000  # characters that a tokenizer is trained on: more change little


def likely_kind(texts: Iterable[str]) -> Kind:
    """Choose characters where most of the text is written without spaces, or else byte-level BPE.

    >>> likely_kind(["本文研究了LSTM"]), likely_kind(["We study LSTMs"])
    ('characters', 'bpe')
    """
    found = Counter(is_unspaced(character) for text in _part(texts, 100_000) for character in text if character.strip())
    return "characters" if found[True] > found[False] else "bpe"


def train(kind: Kind, texts: Sequence[str], vocabulary: int, special: SpecialTokens, *, context: int = 512) -> Any:
    """Train a tokenizer with at most so many tokens, special ones included, as transformers takes it."""
    check_vocabulary(special, vocabulary)
    made = TRAINERS[kind]([*_part(texts, READ)], vocabulary, special)
    _add_specials(made, special)
    return PreTrainedTokenizerFast(
        tokenizer_object=made, model_max_length=context, clean_up_tokenization_spaces=False,
        extra_special_tokens=list(special.extra), **special.roles,
    )  # fmt: skip


def _part(texts: Iterable[str], most: int) -> Iterator[str]:
    """Give the first texts, up to so many characters."""
    read = 0
    for text in texts:
        if read >= most:
            return
        read += len(text)
        yield text


def _add_specials(made: Tokenizer, special: SpecialTokens) -> None:
    """Name the special tokens, the last of them after all others, and put begin and end around each text."""
    made.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in special.first])
    made.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in special.last])
    around = [name for name in (special.begin, special.end) if name]
    template = " ".join(filter(None, (special.begin, "$A", special.end)))
    pair = " ".join(filter(None, (special.begin, "$A", special.end, "$B:1", f"{special.end}:1" * bool(special.end))))
    made.post_processor = processors.TemplateProcessing(
        single=template, pair=pair, special_tokens=[(name, made.token_to_id(name)) for name in around]
    )


# --- characters ------------------------------------------------------------------------------------------------------


def _characters(texts: Sequence[str], vocabulary: int, special: SpecialTokens) -> Tokenizer:
    """Make every character a token, the most frequent first; the bytes of others are tokens."""
    normal = normalizers.NFC()
    room = vocabulary - special.count - len(BYTES)
    known = _frequent((normal.normalize_str(text) for text in texts), room)
    names = [*special.first, *BYTES, *known]
    made = Tokenizer(
        models.BPE({name: n for n, name in enumerate(names)}, [], unk_token=special.unknown, byte_fallback=True)
    )
    made.normalizer = normal
    made.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
    return made


def _frequent(texts: Iterable[str], most: int, share: float = 1.0) -> list[str]:
    """Give the most frequent characters, as many as there is room for or as make up a share of the text."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text)
    found: list[str] = []
    left = counts.total() * share
    for character, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        if len(found) >= most or left <= 0:
            break
        found.append(character)
        left -= count
    return found


# --- unigram ---------------------------------------------------------------------------------------------------------


def _unigram(texts: Sequence[str], vocabulary: int, special: SpecialTokens) -> Tokenizer:
    """Train a unigram language model of pieces (Kudo 2018), with bytes for characters that have no piece.

    The trainer looks for pieces in distinct words: one that is in a single word, however frequent, is not found.
    """
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex("\n"), "isolated"),
            pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme="first"),
        ]
    )
    room = vocabulary - special.count - len(BYTES)
    normal = [made.normalizer.normalize_str(text) for text in texts]
    known = {*_frequent(normal, max(1, room // 2), COVERED)}
    covered = ["".join(character if character in known else " " for character in text) for text in normal]
    trainer = trainers.UnigramTrainer(
        vocab_size=room, max_piece_length=LONGEST_PIECE, show_progress=False, special_tokens=[], unk_token=None
    )
    with _one_thread():
        made.train_from_iterator(covered, trainer)
    pieces = _settled(json.loads(made.to_str())["model"]["vocab"])
    listed = [*((name, 0.0) for name in special.first), *((byte, BYTE_SCORE) for byte in BYTES), *pieces]
    made.model = models.Unigram(listed, special.first.index(special.unknown), byte_fallback=True)
    made.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(SPACE, prepend_scheme="first")])
    return made


def _settled(pieces: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """Give pieces one order and scores that do not depend on the order in which the trainer met the words.

    That order differs from process to process. It moves scores by rounding errors, and by more (steps of 0.0001) those
    of rare characters: the lowest are made equal, and all are rounded.
    """
    longer = [score for piece, score in pieces if len(piece) > 1] or [score for _, score in pieces]
    low = min(longer, default=0.0)
    lifted = low + 0.0001 * len(pieces)
    found = [(piece, round(low if len(piece) == 1 and score <= lifted else score, 2)) for piece, score in pieces]
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Keep the trainer from adding numbers in an order that threads decide."""
    name = "TOKENIZERS_PARALLELISM"
    before = os.environ.get(name)
    os.environ[name] = "false"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


# --- byte-level BPE --------------------------------------------------------------------------------------------------


def _bpe(texts: Sequence[str], vocabulary: int, special: SpecialTokens) -> Tokenizer:
    """Train byte-level BPE as for GPT-2: every text can be written, and comes back as it was."""
    made = Tokenizer(models.BPE())
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary - len(special.last), min_frequency=2, show_progress=False,
        special_tokens=list(special.first), initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
    )  # fmt: skip
    made.train_from_iterator(texts, trainer)
    return made


TRAINERS: Mapping[Kind, Callable[[Sequence[str], int, SpecialTokens], Tokenizer]] = {
    "characters": _characters, "unigram": _unigram, "bpe": _bpe,
}  # fmt: skip
