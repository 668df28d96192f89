"""How an encoder is told the form of a vector: settings, and what a folder says of them; no torch, so that plans can.

A form is the kind of task that a vector is for (`FORMS`). An encoder is told nothing (one vector for all), by control
codes (a token before the text), by adapters, by fusion (attention over frozen adapters), or by PALs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from ..errors import ModelError, TaskloomError, UsageError
from ..ids import canonical
from ..messages import Note
from ..options import check_choices, check_integers

Tell: TypeAlias = Literal["none", "codes", "adapters", "fusion", "pals"]
TELLS: tuple[Tell, ...] = get_args(Tell)
WHOLE: frozenset[Tell] = frozenset({"none", "codes", "pals"})  # those that train all weights of the base too
Layout: TypeAlias = Literal["folder", "sentence-transformers", "adapters"]  # of an encoder that is exported
LAYOUTS: tuple[Layout, ...] = get_args(Layout)
ABOUT, TENSORS = "formats.json", "formats.safetensors"
LARGEST = 1 << 20  # bytes of what a folder says


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """How an encoder is told the form, and the sizes of what is added to it."""

    tell: Tell = "none"
    reduction: int = 16  # of adapters: how much narrower than the model they are
    pal_size: int = 0  # width of projected attention layers; 0: 204 of 768, as published
    pal_heads: int = 6

    def __post_init__(self) -> None:
        check_choices(self, tell=TELLS)
        check_integers(self, {"reduction": 1, "pal_size": 0, "pal_heads": 1})
        if self.pal_size % self.pal_heads:
            raise UsageError(Note.of("pal-heads-unfit", heads=self.pal_heads, size=self.pal_size))

    def size_of_pals(self, width: int) -> int:
        """Give the width of projected attention layers beside a model: a multiple of their heads.

        >>> Telling().size_of_pals(768), Telling().size_of_pals(384)
        (204, 102)
        """
        return self.pal_size or max(1, round(width * 204 / 768) // self.pal_heads) * self.pal_heads


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """An addition to an encoder, as a folder has it."""

    telling: Telling
    forms: tuple[str, ...]
    base: str  # digest of the weights that it was trained on
    has_weights: bool = False  # whether the folder holds the base's weights as they were trained, too


def checked_forms(telling: Telling, forms: Sequence[str]) -> tuple[str, ...]:
    """Refuse names of forms that can't be meant; an encoder that is told nothing has none."""
    if telling.tell == "none":
        return ()
    named = tuple(forms)
    if not named or len({*named}) < len(named) or not all(re.fullmatch(r"[A-Za-z0-9_-]{1,40}", name) for name in named):
        raise UsageError(Note.of("forms-unfit", forms=list(named)))
    return named


def is_told(folder: Path) -> bool:
    """Tell whether a folder has forms added to an encoder."""
    return (folder / ABOUT).is_file()


def told_in(folder: Path) -> tuple[Told, ...]:
    """Read what was added to an encoder, in its order; no weights are read."""
    try:
        with (folder / ABOUT).open("rb") as handle:
            said: Any = json.loads(handle.read(LARGEST))
        return tuple(_told(one) for one in said["told"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError, TaskloomError):
        raise ModelError(Note.of("formats-unreadable", path=folder / ABOUT)) from None


def forms_told(folders: Sequence[Path]) -> tuple[str, ...]:
    """Name the forms of an encoder from the folders that were added to it: those of the last."""
    found = [told for folder in folders if is_told(folder) for told in told_in(folder)]
    return found[-1].forms if found else ()


def write_told(told: Sequence[Told], folder: Path) -> None:
    """Write what was added to an encoder: all of it, for defaults may change."""
    (folder / ABOUT).write_text(canonical({"told": [asdict(one) for one in told]}), encoding="utf-8")


def _told(said: Any) -> Told:
    telling = Telling(**said["telling"])
    forms = checked_forms(telling, said["forms"])
    return Told(telling=telling, forms=forms, base=str(said["base"]), has_weights=bool(said["has_weights"]))
