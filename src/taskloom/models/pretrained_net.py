"""The net that pre-training makes: its tokenizer, its texts as pieces, and what it has learnt."""

from __future__ import annotations

import math
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import transformers
from safetensors import SafetensorError
from transformers import AutoTokenizer

from ..errors import ModelError
from ..folders import replace_folder, scratch_beside
from ..messages import Note
from . import new
from . import tokenizer as tokenizers
from .corpus import Corpus
from .denoise import Marks, TextObjective, mean_loss, pieces
from .parallel import device_for, processes, rank, wait_for_others
from .pretrain import Pretraining
from .recipe import Learnt, Recipe, Watch
from .train import train


@dataclass(frozen=True, slots=True)
class Material:
    """Texts as they are learnt from: a tokenizer, pieces to train on, and pieces that are held out."""

    tokenizer: Any
    learnt: TextObjective
    held_out: TextObjective
    too_short: int  # texts
    learnt_texts: int
    held_out_texts: int


def make(how: Pretraining, corpus: Corpus, part: Path, watch: Watch) -> tuple[dict[str, Any], Learnt]:
    """Train tokenizer and net in a folder, write them into its folder `model`, and say how it went."""
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    lessons = _lessons(how, corpus, part / "tokenizer")
    net = new.net(how.model, lessons.tokenizer, seed=how.seed, positions=how.positions)
    net.to(device_for("auto"))
    before = _perplexity(net, lessons.held_out)
    learnt = _trained(net, lessons.learnt, how, replace(watch, keep=part / "checkpoints"))
    after = _perplexity(net, lessons.held_out) if learnt.steps else before
    if rank() == 0:
        _write(net, lessons.tokenizer, part / "model")
    about = _told(lessons, corpus, learnt) | {
        "parameters": new.parameters(net),
        "perplexity": {"before": before, "after": after},
    }
    return about, replace(learnt, counts={**learnt.counts, **about["counts"]})


def _write(net: Any, tokenizer: Any, folder: Path) -> None:
    """Write a model as transformers does."""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        net.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    except (OSError, SafetensorError) as error:
        raise ModelError(Note.of("weights-unwritten", reason=str(error), path=folder)) from None


def _lessons(how: Pretraining, corpus: Corpus, folder: Path) -> Material:
    texts, apart = corpus.split(how.held_out, how.seed)
    tokenizer = _tokenizer(how, texts, folder)
    marks, recipe = Marks.of(new.family_of(how.model).special, tokenizer), how.how or Recipe()
    found, short = pieces(texts, tokenizer, how.goal, marks, how.length)
    if not found:
        raise ModelError(Note.of("texts-too-short", objective=how.goal, texts=len(texts)))
    asked, _ = pieces(apart, tokenizer, how.goal, marks, how.length)
    learnt = TextObjective(
        found, how.goal, marks, batch=recipe.batch, accumulate=max(recipe.accumulate, processes()), seed=how.seed
    )
    held_out = TextObjective(asked, how.goal, marks, batch=recipe.batch)
    return Material(tokenizer, learnt, held_out, short, len(texts), len(apart))


def _tokenizer(how: Pretraining, texts: list[str], folder: Path) -> Any:
    """Train a tokenizer, or read the one that was trained before a kill, or by the first of several processes."""
    if rank() == 0 and not folder.is_dir():
        kind = next((kind for kind in new.KINDS if kind == how.tokenizer), None) or tokenizers.likely_kind(texts)
        family = new.family_of(how.model)
        made = tokenizers.train(kind, texts, how.vocabulary, family.special, context=how.positions)
        with scratch_beside(folder) as scratch:
            made.save_pretrained(scratch / "made")
            replace_folder(scratch / "made", folder)
    wait_for_others()
    return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)


def _trained(net: Any, objective: TextObjective, how: Pretraining, watch: Watch) -> Learnt:
    if how.how is None:
        return Learnt(steps=0, tokens=0, parameters=0)
    return train(net, dict(net.named_parameters()), objective, how.how, seed=how.seed, watch=watch)


def _perplexity(net: Any, held_out: TextObjective) -> float | None:
    """Give the perplexity of what is to be written about held-out text; None where there is none."""
    return math.exp(min(mean_loss(net, held_out), 700.0)) if held_out.pieces else None


def _told(lessons: Material, corpus: Corpus, learnt: Learnt) -> dict[str, Any]:
    """Say what was learnt from, and how the loss went; nothing that differs from run to run."""
    dropped = dict(corpus.counts) | ({"text-too-short": lessons.too_short} if lessons.too_short else {})
    return {
        "texts": {"digest": corpus.digest, "learnt": lessons.learnt_texts, "held_out": lessons.held_out_texts},
        "counts": dropped,
        "objective": lessons.learnt.goal,
        "vocabulary": len(lessons.tokenizer),
        "steps": learnt.steps,
        "tokens": learnt.tokens,
        "losses": [list(point) for point in learnt.losses],
    }
