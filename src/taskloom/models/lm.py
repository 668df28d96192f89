"""Language models on this machine, by transformers and torch: texts to tokens, tokens to answers."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer
from transformers.models.auto import modeling_auto

from ..errors import ModelError
from ..messages import Note
from ..texts import without_surrogates
from . import Decoding, Lesson, Odds, Prompt, Reply, Side, Usage, prompt_text, turns
from .causal import Causal, Ids, common_prefix
from .chat_templates import rendered
from .guarded import SAFE, GuardedTokenizer, brief, loading, vocabulary
from .parallel import device_for
from .recipe import Learnt, Recipe, Watch
from .seq2seq import Seq2Seq
from .tokenizer_files import refuse_costly_tokenizer
from .weight_files import family_of

LONG = 1 << 20  # a length that a tokenizer gives when it knows of none
TOLD: Mapping[str, Any] = {"use_safetensors": True, "output_loading_info": True}
FAMILIES = frozenset(  # that read or write texts: those of pictures and sounds fetch parts, and run other libraries
    family
    for kind in ("CAUSAL_LM", "SEQ_TO_SEQ_CAUSAL_LM", "MASKED_LM", "TEXT_ENCODING")
    for family in getattr(modeling_auto, f"MODEL_FOR_{kind}_MAPPING_NAMES")
)
UNREADABLE = (Exception,)  # what loading a folder may end in: tokenizers and transformers raise plain exceptions, too


class LM:
    """A causal or text-to-text model with its tokenizer."""

    def __init__(self, net: Any, tokenizer: Any, context: int = 0) -> None:
        self.net, self.tokenizer = net.eval(), tokenizer
        pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id or 0
        self.is_causal = not net.config.is_encoder_decoder
        self.engine: Causal | Seq2Seq = Causal(net, pad) if self.is_causal else Seq2Seq(net, pad)
        self.ends = _ends(net, tokenizer)
        self.context = context_of(net.config, tokenizer, context)
        self.virtual: Ids = ()  # tokens of soft prompts, which stand before all that is read
        self.usage = Usage()

    @classmethod
    def load(cls, folder: Path, *, dtype: str = "float32", device: str = "auto", context: int = 0) -> LM:
        """Load a folder of safetensors; no code and no pickle of it is run."""
        keep_quiet()
        refuse_unfit(folder)
        try:
            with loading():
                config = AutoConfig.from_pretrained(folder, **SAFE)
                kind = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
                tokenizer = load_tokenizer(folder)
                net, info = kind.from_pretrained(folder, dtype=getattr(torch, dtype), **SAFE, **TOLD)
            net.to(device_for(device))
        except UNREADABLE as e:
            raise ModelError(Note.of("weights-unreadable", reason=brief(e), path=folder)) from e
        tokenizer.size = vocabulary(net)
        if missing := sorted(info["missing_keys"]):  # which would be drawn at random
            raise ModelError(Note.of("weights-missing", part=missing[0], path=folder))
        return cls(net, tokenizer, context)

    def fits(self, prompt: Prompt, decoding: Decoding) -> bool:
        """Tell whether a prompt and what is to be written after it fit into the context."""
        return len(self._encode([framed(self.tokenizer, prompt)])[0]) <= self._room(decoding.tokens)

    def generate(self, prompts: Sequence[Prompt], decoding: Decoding) -> list[Reply | None]:
        """Go on from each prompt, the shared part of which is computed once."""
        if not prompts:
            return []
        whole = self._encode([framed(self.tokenizer, prompt) for prompt in prompts])
        ids = [self._cut(row, self._room(decoding.tokens), decoding.keeps) for row in whole]
        given = [[*self.virtual, *row] for row in ids]
        writing = _Writing(self, prompts, decoding)
        computed = self.engine.generate(given, decoding.tokens, writing.step)
        self._note(sum(map(len, given)), sum(map(len, writing.tokens)), computed)
        return [
            Reply(writing.text(row), len(writing.tokens[row]), writing.ended[row], len(whole[row]) - len(ids[row]))
            for row in range(len(prompts))
        ]

    def score(
        self,
        prompts: Sequence[Prompt],
        options: Sequence[Sequence[str]],
        decoding: Decoding,
    ) -> list[Odds | None]:
        """Say how likely each option is after its prompt; prompt and option are tokenised together."""
        if not prompts:
            return []
        texts = [framed(self.tokenizer, prompt) for prompt in prompts]
        split = self._together(texts, options) if self.is_causal else self._apart(texts, options)
        room = self._room(max(len(ids) for _, each in split for ids in each))
        asked = [(self._cut(context, room, decoding.keeps), each) for context, each in split]
        given = [([*self.virtual, *context], each) for context, each in asked]
        logs, computed = self.engine.score(given)
        self._note(sum(len(c) + sum(map(len, each)) for c, each in given), 0, computed)
        return [
            Odds(tuple(found), tuple(map(len, each)), len(whole) - len(kept))
            for found, (kept, each), (whole, _) in zip(logs, asked, split, strict=True)
        ]

    # --- training ----------------------------------------------------------------------------------------------------

    def tuned(
        self, lessons: Sequence[Lesson], how: Recipe, *, dev: Sequence[Lesson] = (), seed: int, words: str = "",
        watch: Watch | None = None,
    ) -> AbstractContextManager[Learnt]:  # fmt: skip
        """Train on lessons; at the end of the context the model is what it was before."""
        from .tuning import tuned

        return tuned(self, lessons, how, dev=dev, seed=seed, words=words, watch=watch or Watch())

    def lesson_pairs(self, lessons: Sequence[Lesson]) -> tuple[list[tuple[Ids, Ids]], dict[str, int]]:
        """Give what is read and written in lessons, as tokens that fit, and count what was cut for that.

        What is written ends with the model's end; of a prompt that is too long one end is cut, as the lesson says.
        """
        prompts, answers = [lesson.prompt for lesson in lessons], [[lesson.answer] for lesson in lessons]
        split = self._together(prompts, answers) if self.is_causal else self._apart(prompts, answers)
        end = [self.tokenizer.eos_token_id] if self.is_causal and self.tokenizer.eos_token_id is not None else []
        most = self.context // 2 if self.is_causal else self.context
        found: list[tuple[Ids, Ids]] = []
        counts = {"lesson-cut": 0, "lesson-answer-cut": 0}
        for lesson, (context, (answer,)) in zip(lessons, split, strict=True):
            written = [*answer, *end][:most]
            read = self._cut(context, self._room(len(written)), lesson.keeps)
            found.append(([*self.virtual, *read], written))
            counts["lesson-cut"] += len(read) < len(context)
            counts["lesson-answer-cut"] += len(written) < len(answer) + len(end)
        return found, {code: count for code, count in counts.items() if count}

    def option_ids(self, options: Sequence[str]) -> list[list[int]]:
        """Give options as the tokens that are written for them, with the end."""
        texts = [*map(without_surrogates, options)]
        if not texts or not self.is_causal:
            return self.tokenizer(text_target=texts)["input_ids"] if texts else []
        end = self.tokenizer.eos_token_id
        rows = self.tokenizer(texts, add_special_tokens=False)["input_ids"]
        return [[*row, *([end] if end is not None else [])] for row in rows]

    def forget(self) -> None:
        """Let go of what was computed with weights that have changed since."""
        if isinstance(self.engine, Causal):
            self.engine.forget()

    # --- tokens ------------------------------------------------------------------------------------------------------

    def _together(self, prompts: Sequence[str], options: Sequence[Sequence[str]]) -> list[tuple[Ids, list[Ids]]]:
        """Split prompt and options where their tokens part, which need not be where the texts do."""
        whole = iter(self._encode([p + option for p, each in zip(prompts, options, strict=True) for option in each]))
        found: list[tuple[Ids, list[Ids]]] = []
        for prompt, each in zip(self._encode(prompts), options, strict=True):
            rows = [next(whole) for _ in each]
            at = common_prefix([prompt, *(row[:-1] for row in rows)])  # of every option one token is left at least
            found.append((rows[0][:at] or self._start, [row[at:] for row in rows]))
        return found

    def _apart(self, prompts: Sequence[str], options: Sequence[Sequence[str]]) -> list[tuple[Ids, list[Ids]]]:
        """Give prompts to the encoder and options to the decoder, each with the end that it was taught."""
        each = [self.tokenizer(text_target=[*map(without_surrogates, some)])["input_ids"] for some in options]
        return list(zip(self._encode(prompts), each, strict=True))

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        rows: list[list[int]] = self.tokenizer([*map(without_surrogates, texts)], verbose=False)["input_ids"]
        return [row or self._start for row in rows]

    @property
    def _start(self) -> list[int]:
        """Give what stands for an empty text: something must be gone on from."""
        known = (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id, self.engine.pad)
        return [next(i for i in known if i is not None)]

    def _cut(self, ids: Ids, room: int, keeps: Side) -> Ids:
        """Cut the beginning of what does not fit, or its end but for the last token: a line end, or the model's own."""
        if keeps == "start" and len(ids) > room:
            return [*ids[: room - 1], ids[-1]]
        return ids[max(0, len(ids) - room) :]

    def _room(self, written: int) -> int:
        return room_for(self.net.config, self.context - len(self.virtual), written)

    def _note(self, read: int, written: int, computed: int) -> None:
        self.usage.read += read
        self.usage.written += written
        self.usage.computed += computed


@dataclass(frozen=True, slots=True)
class Tokens:
    """How a model counts tokens, without its weights."""

    config: Any
    tokenizer: Any
    context: int

    @classmethod
    def load(cls, folder: Path, context: int = 0) -> Tokens:
        """Load a folder's configuration and tokenizer."""
        refuse_unfit(folder)
        try:
            with loading():
                config, tokenizer = AutoConfig.from_pretrained(folder, **SAFE), load_tokenizer(folder)
        except UNREADABLE as e:
            raise ModelError(Note.of("weights-unreadable", reason=brief(e), path=folder)) from e
        return cls(config, tokenizer, context_of(config, tokenizer, context))

    def count(self, prompt: Prompt) -> int:
        """Count the tokens of a prompt."""
        text = without_surrogates(framed(self.tokenizer, prompt))
        return max(1, len(self.tokenizer(text, verbose=False)["input_ids"]))

    def fits(self, prompt: Prompt, decoding: Decoding) -> bool:
        """Tell whether a prompt can be read whole, with room for what is written after it."""
        return self.count(prompt) <= room_for(self.config, self.context, decoding.tokens)


class _Writing:
    """What is written so far, row by row."""

    def __init__(self, lm: LM, prompts: Sequence[Prompt], decoding: Decoding) -> None:
        self.lm, self.decoding = lm, decoding
        self.tokens: list[list[int]] = [[] for _ in prompts]
        self.ended = [False] * len(prompts)
        if decoding.temperature:
            self.draws = [_draws(decoding.seed, prompt_text(prompt)) for prompt in prompts]
        self.options = lm.option_ids(decoding.only)

    def step(self, rows: Sequence[int], logits: torch.Tensor) -> tuple[torch.Tensor, list[int]]:
        """Choose the next token of each row, and say which go on."""
        if self.decoding.temperature:
            noise = torch.stack([_gumbel(self.draws[row], logits.shape[-1]) for row in rows]).to(logits.device)
            logits = logits / self.decoding.temperature + noise
        if self.options:
            logits = logits + torch.stack([self._barred(row, logits) for row in rows])
        chosen = logits.argmax(-1)
        for row, token in zip(rows, chosen.tolist(), strict=True):
            self.ended[row] = token in self.lm.ends
            if not self.ended[row]:
                self.tokens[row].append(token)
                self.ended[row] = self._stops(row)
        return chosen, [place for place, row in enumerate(rows) if not self.ended[row]]

    def _barred(self, row: int, logits: torch.Tensor) -> torch.Tensor:
        """Bar the tokens that lead to none of the options: (vocabulary,)."""
        so_far = self.tokens[row]
        size = len(so_far)
        going = {ids[size] for ids in self.options if len(ids) > size and ids[:size] == so_far} or self.lm.ends
        found = torch.full(logits.shape[-1:], -torch.inf, device=logits.device)
        found[list(going)] = 0.0
        return found

    def _stops(self, row: int) -> bool:
        return any(_end(text, stop) >= 0 for text in [self._written(row)] for stop in self.decoding.stop)

    def _written(self, row: int) -> str:
        text: str = self.lm.tokenizer.decode(self.tokens[row], skip_special_tokens=True)
        return text

    def text(self, row: int) -> str:
        """Give what a row has written, up to the first stop."""
        text = self._written(row)
        return text[: min((at for stop in self.decoding.stop if (at := _end(text, stop)) >= 0), default=len(text))]


def framed(tokenizer: Any, prompt: Prompt) -> str:
    """Write a prompt as it is tokenised: a conversation in the model's own format."""
    if isinstance(prompt, str):
        return prompt
    if not tokenizer.chat_template:
        raise ModelError(Note.of("chat-template-missing"))
    text = rendered(tokenizer, turns(prompt))
    start = tokenizer.bos_token or ""
    return text.removeprefix(start) if start and _adds_start(tokenizer) else text


def _adds_start(tokenizer: Any) -> bool:
    first = tokenizer("a")["input_ids"][:1]
    return bool(first) and first[0] == tokenizer.bos_token_id


def _end(text: str, stop: str) -> int:
    """Find a stop that comes after something; blank lines before an answer do not end it."""
    start = len(text) - len(text.lstrip())
    return text.find(stop, start) if text.strip() else -1


def _draws(seed: int, prompt: str) -> torch.Generator:
    """Make the random stream of a prompt, so that it does not matter what is asked beside it."""
    digest = hashlib.blake2b(f"{seed}\n{prompt}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest, "little") >> 1)


def _gumbel(draws: torch.Generator, size: int) -> torch.Tensor:
    return -torch.log(torch.empty(size).exponential_(generator=draws))


def _ends(net: Any, tokenizer: Any) -> frozenset[int]:
    """Give the tokens that end a text: those of the model's settings, and the tokenizer's."""
    declared = net.generation_config.eos_token_id if net.generation_config else None
    several = declared if isinstance(declared, list) else [declared]
    return frozenset(token for token in (*several, tokenizer.eos_token_id) if token is not None)


def room_for(config: Any, context: int, written: int) -> int:
    """Say how many tokens a prompt may have, where so many are written after it."""
    room = context if config.is_encoder_decoder else context - written
    if room < 1:
        raise ModelError(Note.of("context-too-small", written=written, context=context))
    return room


def refuse_unfit(folder: Path) -> None:
    """Refuse a folder that is not of a model of texts, or whose tokenizer takes too long, before it is loaded."""
    refuse_costly_tokenizer(folder)
    family = family_of(folder)
    if family and family not in FAMILIES:
        raise ModelError(Note.of("family-unsupported", family=family, path=folder))


def load_tokenizer(folder: Path) -> GuardedTokenizer:
    """Load a folder's tokenizer, whose longest text must be a number."""
    found = AutoTokenizer.from_pretrained(folder, **SAFE)
    if not isinstance(found.model_max_length, int | float) or not 0 < found.model_max_length < math.inf:
        raise TypeError(f"model_max_length must be a number > 0: {found.model_max_length!r}")
    return GuardedTokenizer(found)


def context_of(config: Any, tokenizer: Any, wanted: int = 0) -> int:
    """Say how many tokens a model is shown: as wanted, or what it was made for, or what its tokenizer says."""
    for name in ("max_position_embeddings", "n_positions", "max_seq_len"):
        if isinstance(size := getattr(config, name, None), int) and size > 0:
            if wanted > size:
                raise ModelError(Note.of("context-too-large", most=size, wanted=wanted))
            return wanted or size
    return wanted or min(int(tokenizer.model_max_length), LONG)


def keep_quiet() -> None:
    """Keep transformers from repeating what taskloom reports."""
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
