"""Libraries that load models of others, guarded: nothing is fetched meanwhile, and what ends them is an error."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import huggingface_hub

from ..errors import ModelError
from ..messages import Note

PANIC = "PanicException"  # of libraries in Rust: not a subclass of Exception, so nothing catches it
LONGEST_REASON = 200  # characters


class _Loading:
    """Counts those who load, in all threads."""

    def __init__(self) -> None:
        self.lock, self.count, self.before = threading.Lock(), 0, False

    def begin(self) -> None:
        with self.lock:
            if not self.count:
                self.before, huggingface_hub.constants.HF_HUB_OFFLINE = huggingface_hub.constants.HF_HUB_OFFLINE, True
            self.count += 1

    def end(self) -> None:
        with self.lock:
            self.count -= 1
            if not self.count:
                huggingface_hub.constants.HF_HUB_OFFLINE = self.before


_LOADING = _Loading()


@contextmanager
def loading() -> Iterator[None]:
    """Load what is on this machine: a folder can name others of the hub, which are not fetched."""
    _LOADING.begin()
    try:
        with panics_as_errors():
            yield
    finally:
        _LOADING.end()


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Make errors of what no `except Exception` catches, and which would end a run."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != PANIC:
            raise
        raise RuntimeError(str(error)[:LONGEST_REASON]) from None


class GuardedTokenizer:
    """A tokenizer of others: whatever it ends in is an error of the model, and so are tokens that the model lacks."""

    def __init__(self, of: Any) -> None:
        self.of = of
        self.size = 0  # of the vocabulary of the weights; 0: not known

    def __getattr__(self, name: str) -> Any:
        """Be as the tokenizer is in all else."""
        if name == "of":  # while it is copied, before it has one
            raise AttributeError(name)
        return getattr(self.of, name)

    def __len__(self) -> int:
        """Count its tokens."""
        return len(self.of)

    def __call__(self, *texts: Any, **options: Any) -> Any:
        """Write texts as tokens."""
        with _told():
            found = self.of(*texts, **options)
        self._refuse_beyond(found["input_ids"])
        return found

    def decode(self, *tokens: Any, **options: Any) -> Any:
        """Write tokens as a text."""
        with _told():
            return self.of.decode(*tokens, **options)

    def _refuse_beyond(self, rows: Sequence[Any]) -> None:
        """Refuse tokens for which the model has no weights: it would end in an error of its own."""
        last = max((max(row, default=0) if isinstance(row, Sequence) else row for row in rows), default=0)
        if self.size and last >= self.size:
            raise ModelError(Note.of("tokenizer-beyond", token=last, size=self.size))


@contextmanager
def _told() -> Iterator[None]:
    try:
        with panics_as_errors():
            yield
    except Exception as error:  # tokenizers raise nothing more precise
        raise ModelError(Note.of("tokenizer-broken", reason=brief(error))) from error


def brief(error: Exception) -> str:
    """Give the first line of an error."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:LONGEST_REASON] if lines else ''}"


def vocabulary(net: Any) -> int:
    """Count the tokens that a net has weights for; 0 where it has no table of them."""
    try:
        table = net.get_input_embeddings()
    except (NotImplementedError, AttributeError):
        return 0
    shape: Sequence[int] = getattr(getattr(table, "weight", None), "shape", ())
    return int(shape[0]) if shape else 0


SAFE: Mapping[str, Any] = {"local_files_only": True, "trust_remote_code": False}
