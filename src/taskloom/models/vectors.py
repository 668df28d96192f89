"""Vectors that encoders gave, kept by content: of each model, each distinct text is encoded once in each form.

They lie in the cache, `vectors/MODEL/FORM/`: an index (SQLite: the digest of a text -> its row) and segments, which are
read by memory map. Tasks, runs and processes share them. A process claims texts before it encodes them, so that two
that ask at once share the work; what a killed process had claimed is free again. A batch is written before the index
knows of it. Each vector has a checksum, which is of its text too: what is damaged, or another's, is encoded again.
What is kept first is what all see, whatever another machine or batch would have rounded otherwise.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, takewhile
from pathlib import Path
from textwrap import shorten

import numpy as np

from ..errors import FaultsError, ModelError, TaskloomError, UsageError
from ..folders import remove, write_whole
from ..ids import Json, canonical, fingerprint
from ..limits import parse_json
from ..messages import Note
from ..sources import packages
from . import VECTOR_DTYPES, Array, Encoder, Usage
from .vector_store import NOT_KEPT, VectorStore

VERSION = 1  # of the way texts become vectors: raise it when the same model gives others
FOLDER, ABOUT, PLAIN = "vectors", "about.json", "plain"
FIRST = 1 << 15  # characters of texts that are claimed at first
SECONDS = 5.0  # that the texts of a later claim should take: no more is lost when a process is killed
SHORTEST = 8  # characters that a text counts for at least
FASTER = 8  # times as much at most as the claim before
TRIES = 3  # to encode what is lost as soon as it is written
POLL = 0.05  # seconds between looks at what other processes have encoded


class VectorCache:
    """The vectors of one model; the encoder is opened when a text is asked for that is not kept."""

    by_id = False

    def __init__(
        self, name: str, identity: Json, dtype: str, opener: Callable[[], Encoder], forms: tuple[str, ...] = ()
    ) -> None:
        self.forms = forms
        self.folder = packages.cache_folder() / FOLDER / fingerprint("vectors", VERSION, identity)
        self.about = {"model": name, "identity": identity, "dtype": dtype}
        self.dtype, self.opener = dtype, opener
        self.opened: Encoder | None = None
        self.stores: dict[str, VectorStore] = {}
        self.encoded, self.encoding = 0, 0.0  # tokens of vectors that were kept, and the seconds they took

    @property
    def encoder(self) -> Encoder:
        """Give the encoder itself."""
        if self.opened is None:
            self.opened = self.opener()
        return self.opened

    @property
    def usage(self) -> Usage:
        """Say what the encoder was used for; what is kept for all who ask later counts apart."""
        own = self.opened.usage if self.opened else Usage()
        read, computed = own.read - self.encoded, own.computed - self.encoded
        return replace(own, read=read, computed=computed, encoded=self.encoded, encoding=self.encoding)

    def take(self, given: Sequence[str], form: str = "") -> tuple[Array, list[int]]:
        """Give the vector of each text, float32, (texts, width), and the tokens of each that were cut."""
        digests = [text_digest(text) for text in given]
        wanted = dict(zip(digests, given, strict=True))
        store = self._store(form)
        found, cut, missing = store.find(list(wanted))
        for _ in range(TRIES if missing else 0):  # again where what was encoded is lost meanwhile
            start = time.perf_counter()
            self._encode(store, {digest: wanted[digest] for digest in missing}, form)
            self.encoding += time.perf_counter() - start
            found, cut, missing = store.find(list(wanted))
            if not missing:
                break
        else:
            store.refuse_lost(len(missing))
        places = {digest: place for place, digest in enumerate(wanted)}
        return found[[places[digest] for digest in digests]], [cut[places[digest]] for digest in digests]

    def close(self) -> None:
        """Let go of the files."""
        for store in self.stores.values():
            store.close()
        self.stores.clear()

    def _store(self, form: str) -> VectorStore:
        if form not in self.stores:
            store = self.stores[form] = VectorStore(self.folder / form_folder(form), self.dtype)
            self._describe(store)
        return self.stores[form]

    def _describe(self, store: VectorStore) -> None:
        """Say beside the vectors whose they are, before there are any: the first text may fail."""
        if not (self.folder / ABOUT).is_file():
            store.guarded(lambda: write_whole(self.folder / ABOUT, canonical(self.about)))

    def _encode(self, store: VectorStore, wanted: dict[bytes, str], form: str) -> None:
        """Encode texts, the longest first, as far as no other process does; wait for what others have claimed."""
        left = dict.fromkeys(sorted(wanted, key=lambda digest: (-len(wanted[digest]), digest)))
        budget = FIRST
        while left:
            ours, there = store.claim(left, _count(map(len, (wanted[digest] for digest in left)), budget))
            if ours:
                start, texts = time.perf_counter(), [wanted[digest] for digest in ours]
                self._keep(store, ours, texts, form)
                rate = sum(map(len, texts)) / max(time.perf_counter() - start, 1e-3)
                budget = min(int(rate * SECONDS), FASTER * budget)
            elif not there:
                time.sleep(POLL)
            for digest in (*ours, *there):
                del left[digest]

    def _keep(self, store: VectorStore, digests: Sequence[bytes], texts: Sequence[str], form: str) -> None:
        try:
            before = self.encoder.usage.read
            found, cut = self.encoder.take(texts, form)
            _refuse_unfit(found, texts, self.encoder.width)
            store.keep(digests, found, cut)
            self.encoded += self.encoder.usage.read - before
            self._describe(store)  # somebody may have cleared the cache
        except BaseException:
            store.release()
            raise


def _count(lengths: Iterable[int], budget: int) -> int:
    """Count how many texts fit a budget of characters, the first in any case; a text counts for a few at least.

    >>> _count([50, 40, 30], 100), _count([500], 100)
    (2, 1)
    """
    sums = accumulate(max(length, SHORTEST) for length in lengths)
    return max(1, sum(1 for _ in takewhile(lambda total: total <= budget, sums)))


def _refuse_unfit(found: Array, texts: Sequence[str], width: int) -> None:
    """Refuse what is not a vector for each text."""
    if found.shape != (len(texts), width):
        raise ModelError(Note.of("vectors-unfit", found=list(found.shape), wanted=[len(texts), width]))
    finite = np.isfinite(found).all(1)
    if not finite.all():
        text = shorten(texts[int(finite.argmin())], 100, placeholder=" ...")
        raise ModelError(Note.of("vectors-not-finite", text=text))


def text_digest(text: str) -> bytes:
    """Name a text by its content."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def form_folder(form: str) -> str:
    """Name the folder of a form; what can't be the name of a folder goes by its fingerprint.

    >>> form_folder(""), form_folder("CLF"), form_folder("../x")
    ('plain', 'CLF', 'form-11915b7fb1af4f6d')
    """
    if form == PLAIN or (form and not re.fullmatch(r"[A-Za-z0-9_]{1,40}", form)):
        return f"form-{fingerprint(form)[:16]}"
    return form or PLAIN


def cached() -> list[tuple[Path, str]]:
    """List the folders of kept vectors, each with what is in it."""
    folders = sorted((packages.cache_folder() / FOLDER).glob("*/*/"))
    return [(at, VectorStore.described(at, at.parent / ABOUT)) for at in folders]


def merge(cache: Path) -> Iterator[tuple[str, int]]:
    """Copy the vectors of another cache, of a node of a cluster say, that this one lacks: of each model, how many.

    What can't be read there is reported at the end; everything else is copied, unless ours can't be written.
    """
    if not (cache / FOLDER).is_dir():
        raise UsageError(Note.of("no-vectors", path=cache))
    faults: list[TaskloomError] = []
    for folder in sorted((cache / FOLDER).glob("*/*/")):
        try:
            yield _merged(folder)
        except TaskloomError as error:
            if error.note.code in NOT_KEPT:
                raise
            faults.append(error)
    if len(faults) > 1:
        raise FaultsError(Note.of("vectors-not-merged", count=len(faults), path=cache), list(map(str, faults)))
    for fault in faults:
        raise fault


def _merged(folder: Path) -> tuple[str, int]:
    """Copy the vectors of one model in one form."""
    about, target = folder.parent / ABOUT, packages.cache_folder() / FOLDER / folder.parent.name
    try:
        said = parse_json(about.read_bytes())
        name, dtype, kept = str(said["model"]), str(said["dtype"]), canonical(said)
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError(Note.of("vectors-unnamed", path=about)) from None
    if dtype not in VECTOR_DTYPES:
        raise UsageError(Note.of("vectors-unnamed", path=about))
    theirs, ours = VectorStore(folder, dtype, is_ours=False), VectorStore(target / folder.name, dtype)
    try:
        width, own = theirs.guarded(lambda: theirs.width), ours.guarded(lambda: ours.width)
        if width and own not in (0, width):
            raise UsageError(Note.of("vectors-unnamed", path=about))
        copied = ours.merge(theirs)
        if not (target / ABOUT).is_file():
            ours.guarded(lambda: write_whole(target / ABOUT, kept))
    finally:
        theirs.close()
        ours.close()
    return f"{name}, {folder.name}", copied


def clear() -> int:
    """Remove all vectors, and give the number of bytes that were freed."""
    folder = packages.cache_folder() / FOLDER
    freed = packages.size_on_disk(folder) if folder.is_dir() else 0
    remove(folder)
    return freed
