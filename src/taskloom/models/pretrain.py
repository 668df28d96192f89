"""Pre-train a model from scratch on texts, and write a folder that transformers and `path:` load.

Work is done in `FOLDER.part`, with checkpoints: after a kill the same call goes on, to the same weights.
"""

from __future__ import annotations

import fcntl
import json
import math
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from ..core import declared
from ..errors import ModelError, UsageError
from ..folders import check_new_folder, replace_folder, restore, scratch_beside, write_whole
from ..ids import Json, fingerprint
from ..limits import parse_json
from ..messages import Note
from ..options import check_choices, check_integers
from . import new
from .corpus import Corpus
from .corruption import most_spans
from .fetched import need_torch
from .new import KINDS, SENTINELS, Goal
from .recipe import BUDGETS, Recipe, Watch
from .trained import STEPS_OF_TEXTS, USUAL

Notify: TypeAlias = Callable[[int, float, float], None]  # called with the step, the share that is done, and the loss
VERSION = 1  # of what the same settings give
ABOUT, SETTINGS, LOCK = "pretraining.json", "settings.json", "lock"
LENGTH, VOCABULARY = 128, 8000  # the usual
LEAST_LENGTH = 16
RATE_WIDTH = 128  # of a model that has its family's learning rate; that of wider ones is lower


@dataclass(frozen=True, slots=True, kw_only=True)
class Pretraining:
    """A model to be made: its architecture, what it is asked, and for how long; without a recipe it is not trained."""

    model: str
    objective: str = ""  # "": the usual one of the family
    tokenizer: str = ""  # "": characters where text is written without spaces, else bpe
    vocabulary: int = VOCABULARY
    length: int = LENGTH  # tokens of a piece of text
    held_out: int | None = None  # texts; None: a twentieth
    seed: int = 0
    how: Recipe | None = None

    def __post_init__(self) -> None:
        family = new.family_of(self.model)
        object.__setattr__(self, "model", self.model.removeprefix(new.PREFIX))
        object.__setattr__(self, "objective", new.goal_of(self.model, self.objective))
        check_choices(self, tokenizer=("", *KINDS))
        check_integers(self, {"vocabulary": 1, "length": LEAST_LENGTH, "seed": 0})
        if self.held_out is not None:
            check_integers(self, {"held_out": 0})
        new.check_vocabulary(family.special, self.vocabulary)
        most = family.positions - 2  # with a begin and an end
        if self.length > most or (self.goal == "spans" and most_spans(self.length) > len(SENTINELS)):
            raise UsageError(Note.of("length-too-large", model=self.model, most=most, given=self.length))

    @property
    def goal(self) -> Goal:
        """Give the objective."""
        return new.goal_of(self.model, self.objective)

    @property
    def positions(self) -> int:
        """Give the number of positions: where each has weights of its own, no more than are trained."""
        family = new.family_of(self.model)
        return self.length + 2 if family.learns_positions else family.positions

    @property
    def parameters(self) -> int:
        """Count the parameters that it will have, where texts have enough words for the vocabulary."""
        return new.parameter_count(self.model, self.vocabulary, self.positions)

    def id(self, corpus: Corpus) -> str:
        """Name the model by all that determines it."""
        return fingerprint("pretrain", VERSION, declared(self), corpus.digest)


def usual_rate(model: str) -> float:
    """Give the learning rate of pre-training: the wider a model, the lower."""
    return new.family_of(model).rate * RATE_WIDTH / new.size_of(model).width


def usual_recipe(model: str, **given: Any) -> Recipe:
    """Make a recipe of pre-training: what is not given is usual for a model of this size.

    >>> usual_recipe("t5-nano", steps=100).rate
    0.003
    """
    usual = {"lr": usual_rate(model), **USUAL["texts"]}
    budget = {} if any(given.get(name) for name in BUDGETS) else {"steps": STEPS_OF_TEXTS}
    said = {name: value for name, value in given.items() if value is not None and (value or name not in BUDGETS)}
    return Recipe(**usual | budget | said)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pretrained:
    """A model that was made: where it is, and what is to be known of it."""

    folder: Path
    about: Mapping[str, Any]
    was_there: bool = False  # made before, by the same settings and texts

    @property
    def perplexity(self) -> tuple[float, float]:
        """Give the perplexity on held-out text before and after training; NaN where none is held out."""
        before, after = (self.about["perplexity"][name] for name in ("before", "after"))
        return (math.nan if before is None else before), (math.nan if after is None else after)


def part_of(folder: Path) -> Path:
    """Say where a model is while it is being made."""
    return folder.parent / f"{folder.name}.part"


def pretrain(
    how: Pretraining, corpus: Corpus, folder: Path, *, overwrite: bool = False, note: Notify | None = None
) -> Pretrained:
    """Make a model in a folder, or go on with it; a folder that holds something else is refused."""
    id_ = how.id(corpus)
    restore(folder)
    if (found := _there(folder)) and found["id"] == id_:
        return Pretrained(folder=folder, about=found, was_there=True)
    _refuse_others(folder, found, overwrite=overwrite)
    corpus.split(how.held_out, how.seed)  # refused before any work
    need_torch()
    from .parallel import rank, together
    from .pretrained_net import make

    part = part_of(folder)
    with together():
        if rank():  # the first process keeps what all of them make
            return Pretrained(folder=folder, about=make(how, corpus, part, Watch())[0])
        with _locked(part):
            _begin(part, id_, declared(how), overwrite=overwrite)
            found, _ = make(how, corpus, part, Watch(note=note))
            about = {"format": 1, "id": id_, "settings": declared(how), **found}
            _write(part / "model", folder, about)
    shutil.rmtree(part, ignore_errors=True)
    return Pretrained(folder=folder, about=about)


# --- folders ---------------------------------------------------------------------------------------------------------


def _there(folder: Path) -> dict[str, Any] | None:
    """Read what a folder says of a model that was made here; None where it says nothing."""
    try:
        found = parse_json((folder / ABOUT).read_bytes())
    except (OSError, ValueError):
        return None
    is_whole = isinstance(found, dict) and isinstance(found.get("id"), str) and any(folder.glob("*.safetensors"))
    return found if is_whole else None


def check_place(folder: Path, sources: Iterable[str]) -> None:
    """Refuse a folder for a model, before any work, that is a file or holds texts to learn from."""
    restore(folder)
    check_new_folder(folder, map(Path, sources))


def _refuse_others(folder: Path, found: Mapping[str, Any] | None, *, overwrite: bool) -> None:
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if found is None:
        raise UsageError(Note.of("not-a-pretrained-model", path=folder))
    if not overwrite:
        raise UsageError(Note.of("pretrained-otherwise", path=folder))


def _begin(part: Path, id_: str, settings: Json, *, overwrite: bool) -> None:
    """Begin a model, or go on with one of the same settings and texts."""
    path = part / SETTINGS
    try:
        kept = parse_json(path.read_bytes())
    except (OSError, ValueError):
        kept = {}
    if isinstance(kept, dict) and kept.get("id") not in (None, id_):
        if not overwrite:
            raise UsageError(Note.of("pretraining-differs", path=part))
        for old in part.iterdir():
            if old.is_dir():
                shutil.rmtree(old)
    write_whole(path, json.dumps({"id": id_, "settings": settings}, indent=1) + "\n")


@contextmanager
def _locked(part: Path) -> Iterator[None]:
    """Keep two processes from making one model; the lock of a killed one is gone with it."""
    is_ours = part.is_dir() and (not any(part.iterdir()) or (part / LOCK).is_file())
    if part.exists() and not is_ours:
        raise UsageError(Note.of("not-a-pretrained-model", path=part))
    part.mkdir(parents=True, exist_ok=True)
    with (part / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ModelError(Note.of("pretraining-under-way", path=part)) from None
        yield


def _write(made: Path, folder: Path, about: Mapping[str, Any]) -> None:
    """Put the model in its place, whole."""
    (made / ABOUT).write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    with scratch_beside(folder) as scratch:
        replace_folder(made.rename(scratch / "made"), folder)
