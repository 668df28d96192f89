"""Encoders that are a Python function of the user's own: `file.py:function`.

The function gets a list of texts and gives an array with a row for each. One with a second parameter, `form`, gets the
format of the task too: CLF, RGN, PRX or QRY. The content of its file is its identity; what that imports is not.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ModelError, UnknownNameError
from ..ids import Json, fingerprint
from ..messages import Note
from ..options import check_choices
from ..progress import Progress
from ..user_code import module_of
from . import FORMS, VECTOR_DTYPES, Ability, Array, Encoder, LanguageModel, Measure, Unmeasured, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function in a file."""

    load: str
    vector_dtype: str = "float32"  # that vectors are kept in

    def __post_init__(self) -> None:
        check_choices(self, vector_dtype=VECTOR_DTYPES)

    @property
    def path(self) -> Path:
        """Give the file."""
        return Path(self.load.rpartition(":")[0])

    @property
    def can(self) -> frozenset[Ability]:
        """Say that it gives vectors."""
        return frozenset({"vectors"})

    def lacks(self) -> Sequence[Note]:
        """Lack the file, where it is not there."""
        return () if self.path.is_file() else (Note.of("function-missing", path=self.path),)

    def identity(self) -> Json:
        """Name the function by the content of its file."""
        return {"function": self.load.rpartition(":")[2], "file": fingerprint(self._source())} | (
            {} if self.vector_dtype == "float32" else {"vector_dtype": self.vector_dtype}
        )

    def parameters(self) -> None:
        """Say nothing: what a function does is its own."""

    def get(self, progress: Progress | None = None) -> None:
        """Fetch nothing."""

    def measure(self) -> Measure:
        """Count no tokens."""
        return Unmeasured()

    def open(self, run: Path, *, workers: int = 1) -> LanguageModel:  # noqa: ARG002 (as all sources)
        """Refuse: it writes nothing."""
        raise ModelError(Note.of("vectors-alone", model=self.load))

    def forms(self, added: Sequence[Path] = ()) -> tuple[str, ...]:  # noqa: ARG002
        """Name the formats of tasks, where the function asks for them."""
        return FORMS if "form" in inspect.signature(self.function()).parameters else ()

    def open_encoder(self, run: Path, added: Sequence[Path] = (), *, workers: int = 1) -> Encoder:  # noqa: ARG002
        """Load the function."""
        return FunctionEncoder(self.function(), self.forms(), self.load)

    def function(self) -> Callable[..., Any]:
        """Load the file, and give its function."""
        self._source()
        try:
            module = module_of(self.path)
        except (Exception, SystemExit) as error:
            reason = f"{type(error).__name__}: {error}"
            raise ModelError(Note.of("function-not-loaded", path=self.path, reason=reason)) from error
        name = self.load.rpartition(":")[2]
        own = {n: of for n, of in vars(module).items() if inspect.isfunction(of) and not n.startswith("_")}
        if name not in own:
            raise UnknownNameError(f"function in {self.path}", name, own)
        return own[name]

    def _source(self) -> str:
        try:
            return self.path.read_text(encoding="utf-8-sig")
        except (OSError, ValueError):
            raise ModelError(Note.of("function-missing", path=self.path)) from None


class FunctionEncoder:
    """A function that is asked for vectors."""

    def __init__(self, function: Callable[..., Any], forms: tuple[str, ...], name: str) -> None:
        self.function, self.forms, self.name = function, forms, name
        self.usage, self.width = Usage(), 0  # of the vectors that it gave first

    def encode(self, texts: Sequence[str], form: str = "") -> Array:
        """Call the function: (texts, width)."""
        try:
            with redirect_stdout(sys.stderr):  # standard output is for results
                found = np.asarray(self.function(list(texts), **({"form": form} if self.forms else {})), np.float32)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise ModelError(Note.of("function-failed", name=self.name, reason=reason)) from error
        if found.ndim != 2 or len(found) != len(texts) or (self.width and found.shape[1] != self.width):
            wanted = [len(texts), self.width or "width"]
            raise ModelError(Note.of("vectors-unfit", found=list(found.shape), wanted=wanted))
        self.width = found.shape[1]
        return found

    def take(self, texts: Sequence[str], form: str = "") -> tuple[Array, list[int]]:
        """Give vectors; a function says nothing of what does not fit."""
        return self.encode(texts, form), [0] * len(texts)
