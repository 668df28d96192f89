"""Encoders on this machine, by transformers and torch: texts to vectors.

Texts of like length are computed together, in batches that take least in all. With which others a text is computed
changes its vector by rounding alone: in single precision about 1e-7 of a normalised vector. The vector that is kept
first is the one that all see (see `vectors`).
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize
from transformers import AutoModel

from ..errors import ModelError
from ..messages import Note
from ..texts import without_surrogates
from . import Array, TextPair, Usage
from .adaptations import attach
from .causal import Ids
from .contrast import ContrastObjective
from .format_files import add_formats
from .formats import FormatAdaptation, attach_formats, check_form
from .guarded import SAFE, brief, loading, vocabulary
from .lm import LM, TOLD, UNREADABLE, context_of, keep_quiet, load_tokenizer, refuse_unfit
from .padding import padded
from .parallel import device_for
from .recipe import Learnt, Recipe, Watch
from .sentence_files import Pooling, SentenceSettings, sentence_settings
from .telling import Telling, is_told
from .train import train

TOGETHER = 2048  # tokens that are computed at once, padding among them: what they make stays in a processor's cache
PARTS = 32  # a batch takes as long as this part of the tokens, besides its own
ON_DEVICE = 1 << 15  # the same on an accelerator, which wants more to do


class TransformerEncoder:
    """The last hidden layer of a model, pooled over the tokens of a text."""

    def __init__(self, net: Any, tokenizer: Any, how: SentenceSettings, *, context: int = 0, virtual: Ids = ()) -> None:
        self.net, self.tokenizer, self.how, self.virtual = net.eval(), tokenizer, how, tuple(virtual)
        self.pooling: Pooling = how.pooling or ("last" if _is_causal(net) else "mean")
        most = min(context_of(net.config, tokenizer), int(tokenizer.model_max_length))
        self.length = (context_of(net.config, tokenizer, context) if context else how.length or most) - len(virtual)
        known = (tokenizer.pad_token_id, tokenizer.eos_token_id, tokenizer.bos_token_id, 0)
        self.pad = next(token for token in known if token is not None)
        self.options = {"use_cache": False} if "use_cache" in inspect.signature(net.forward).parameters else {}
        self.formats: FormatAdaptation | None = None  # what tells it the form of a vector
        self.usage = Usage()

    @classmethod
    def load(
        cls, folder: Path, *, pooling: Pooling | None = None, normalise: bool | None = None, dtype: str = "float32",
        device: str = "auto", context: int = 0,
    ) -> TransformerEncoder:  # fmt: skip
        """Load a folder of safetensors; what is not said of pooling is as the folder says it."""
        how = settled(sentence_settings(folder), pooling, normalise)
        keep_quiet()
        refuse_unfit(folder)
        try:
            with loading():
                tokenizer = load_tokenizer(folder)
                net, info = AutoModel.from_pretrained(folder, dtype=getattr(torch, dtype), **SAFE, **TOLD)
            net.to(device_for(device))
        except UNREADABLE as e:
            raise ModelError(Note.of("encoder-unreadable", reason=brief(e), path=folder)) from e
        if missing := sorted(name for name in info["missing_keys"] if not name.startswith("pooler.")):
            raise ModelError(Note.of("encoder-incomplete", part=missing[0], path=folder))
        tokenizer.size = vocabulary(net)
        found = cls(_reader(net), tokenizer, how, context=context)
        if is_told(folder):
            add_formats(found, folder)
        return found

    @classmethod
    def of(
        cls, lm: LM, folder: Path, *, pooling: Pooling | None = None, normalise: bool | None = None
    ) -> TransformerEncoder:
        """Make an encoder of a language model, as it is: with all that training has added to it."""
        how = settled(sentence_settings(folder), pooling, normalise)
        return cls(_reader(lm.net.base_model), lm.tokenizer, how, context=lm.context, virtual=lm.virtual)

    @property
    def width(self) -> int:
        """Say how many numbers a vector has."""
        return int(self.net.config.hidden_size)

    @property
    def forms(self) -> tuple[str, ...]:
        """Name the forms that it is told, or else the prompts of the folder."""
        return self.formats.forms if self.formats and self.formats.forms else self.how.forms

    @property
    def is_told(self) -> bool:
        """Tell whether every vector needs a form."""
        return self.formats is not None and bool(self.formats.forms)

    def encode(self, texts: Sequence[str], form: str = "") -> Array:
        """Give the vector of each text: float32, (texts, width)."""
        return self.take(texts, form)[0]

    def take(self, texts: Sequence[str], form: str = "") -> tuple[Array, list[int]]:
        """Give the vector of each text, and count the tokens of each that do not fit."""
        rows, beyond = self.tokens(texts, form)
        found = np.empty((len(texts), self.width), np.float32)
        budget = TOGETHER if self.net.device.type == "cpu" else ON_DEVICE
        for places in batches([len(row) for row in rows], budget):
            with torch.no_grad():
                made = self.vectors(self.inputs([rows[place] for place in places]), form)
            found[places] = made.cpu().numpy()
        self.usage.read += sum(map(len, rows))
        self.usage.computed += sum(map(len, rows))
        return found, beyond

    def tokens(self, texts: Sequence[str], form: str = "") -> tuple[list[Ids], list[int]]:
        """Give the tokens of each text that fit, and count those that do not."""
        if form or self.is_told:
            check_form(form, self.forms)
        prompt, code = self.how.prompts.get("" if self.is_told else form, ""), self._code(form)
        room = self.length - len(code)
        given = [without_surrogates(prompt + text) for text in texts]
        rows: list[Ids] = self.tokenizer(given, verbose=False)["input_ids"] if given else []
        beyond = [max(0, len(row) - room) for row in rows]
        if long := [place for place, count in enumerate(beyond) if count]:
            kept = self.tokenizer([given[place] for place in long], truncation=True, max_length=room)
            for place, row in zip(long, kept["input_ids"], strict=True):
                rows[place] = row
        after = len(code)  # a code comes after [CLS]
        whole = [row or [self.pad] for row in rows]
        return [[*self.virtual, *row[:after], *code, *row[after:]] for row in whole], beyond

    def _code(self, form: str) -> Ids:
        """Give the token that stands for a form, where there is one."""
        return (self.formats.codes[form],) if self.formats and self.formats.codes else ()

    def inputs(self, rows: Sequence[Ids]) -> dict[str, Tensor]:
        """Pad rows of tokens: (rows, tokens)."""
        width = max(map(len, rows))
        mask = padded([[1] * len(row) for row in rows], width, 0)
        return {"input_ids": padded(rows, width, self.pad), "attention_mask": mask}

    def vectors(self, inputs: dict[str, Tensor], form: str = "") -> Tensor:
        """Compute the vectors of rows of tokens, in the form of `tokens`: (rows, tokens) to (rows, width)."""
        there = {name: value.to(self.net.device) for name, value in inputs.items()}
        with self.formats.using(form) if self.formats else nullcontext():
            hidden = self.net(**there, **self.options).last_hidden_state  # (rows, tokens, width)
        own = slice(len(self.virtual), None)
        if self._code(form):
            found = hidden[:, own][:, 1].float()
        else:
            found = _pooled(hidden[:, own].float(), there["attention_mask"][:, own], self.pooling)
        return normalize(found, dim=1) if self.how.normalise else found

    def attach_formats(
        self, telling: Telling, forms: Sequence[str], *, seed: int, restore: bool = True
    ) -> FormatAdaptation:
        """Attach what tells the encoder the form of a vector, on top of what it has."""
        if (telling.tell == "codes" or self.pooling == "cls") and not self._begins_with_cls:
            raise ModelError(Note.of("cls-missing", family=self.net.config.model_type))
        self.formats = attach_formats(self.net, telling, forms, seed=seed, below=self.formats, restore=restore)
        return self.formats

    def remove_formats(self) -> None:
        """Take out what was attached last."""
        if self.formats is not None:
            self.formats.remove()
            self.formats = self.formats.below

    @property
    def _begins_with_cls(self) -> bool:
        first = self.tokenizer.cls_token_id
        return first is not None and self.tokenizer("a")["input_ids"][:1] == [first]

    @contextmanager
    def tuned(
        self, pairs: Sequence[TextPair], how: Recipe, *, seed: int, watch: Watch | None = None
    ) -> Iterator[Learnt]:
        """Train on pairs of texts; at the end of the context the encoder is what it was before."""
        if how.what == "prompt":
            raise ModelError(Note.of("prompt-tuned-encoder"))
        added = attach(self.net, how, seed=seed)
        try:
            objective = ContrastObjective(self, pairs, batch=how.batch, seed=seed)
            yield train(self.net, added.parameters, objective, how, seed=seed, watch=watch)
        finally:
            added.remove()


def batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Part rows by length into batches that fit a budget of tokens, so that all take least: places, the longest first.

    A batch takes as long as its tokens, padding among them, and a share of the budget.

    >>> list(batches([30, 90, 29, 88], budget=200))
    [[1, 3], [0, 2]]
    """
    order = sorted(range(len(lengths)), key=lambda place: (-lengths[place], place))
    least, ends = np.zeros(len(order) + 1), [0] * len(order)  # of the rows from a place on, and where its batch ends
    for at in reversed(range(len(order))):
        longest = max(1, lengths[order[at]])
        rest = least[at + 1 : at + 1 + max(1, budget // longest)]
        taken = rest + longest * np.arange(1, len(rest) + 1)
        best = int(taken.argmin())
        least[at], ends[at] = taken[best] + budget / PARTS, at + best + 1
    at = 0
    while at < len(order):
        yield order[at : ends[at]]
        at = ends[at]


def settled(of: SentenceSettings, pooling: Pooling | None, normalise: bool | None) -> SentenceSettings:
    """Say how vectors are made: as wanted, or as a folder says."""
    return SentenceSettings(
        pooling=pooling or of.pooling, normalise=of.normalise if normalise is None else normalise, length=of.length,
        prompts=of.prompts,
    )  # fmt: skip


def _pooled(hidden: Tensor, mask: Tensor, how: Pooling) -> Tensor:
    """Make one vector of those of a text's tokens: (rows, tokens, width), (rows, tokens) to (rows, width)."""
    if how == "cls":
        return hidden[:, 0]
    if how == "last":
        return hidden[torch.arange(len(hidden), device=hidden.device), mask.sum(1) - 1]
    weights = mask.unsqueeze(-1).to(hidden.dtype)
    return (hidden * weights).sum(1) / weights.sum(1)


def _is_causal(net: Any) -> bool:
    """Tell a model whose tokens see those before them alone, by what it was made for."""
    kinds = getattr(net.config, "architectures", None) or ()
    return any(str(kind).endswith(("ForCausalLM", "LMHeadModel")) for kind in kinds)


def _reader(net: Any) -> Any:
    """Give the part of a model that reads; what some put on top of the first token is no part of a vector."""
    reader = net.get_encoder() if net.config.is_encoder_decoder else net
    if "add_pooling_layer" in inspect.signature(type(reader)).parameters:
        reader.pooler = None
    return reader
