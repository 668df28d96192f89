"""Models that need no weights: deterministic, for tests of one's own learners and studies."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..errors import UnknownNameError
from ..ids import Json, canonical, shuffled
from ..messages import Note
from ..progress import Progress
from ..texts import tokens
from . import (
    LANGUAGE,
    Ability,
    Array,
    Decoding,
    Encoder,
    LanguageModel,
    Lesson,
    Measure,
    Odds,
    Prompt,
    Reply,
    TextPair,
    Usage,
)  # fmt: skip
from .fake_vectors import WIDTH, moves, read_moves, write_moves
from .recipe import Learnt, Recipe, Watch
from .trained import Trained
from .vector_lessons import VectorLesson, VectorTask
from .weight_files import read_learnt

CONTEXT = 4096  # tokens that a fake can see
KINDS: Mapping[str, str] = {
    "echo": "writes the last line of the prompt, but for one such as Answer:, and likes options whose words are in it",
    "noise": "writes words of the prompt, and likes options, as a hash of the prompt has it",
    "pupil": "answers as in the lesson with most words in common; as long as it has had none, it echoes",
    "bag": "encodes: texts with words in common have like vectors; it can be trained on pairs of texts, and on tasks",
    "random": "encodes: a random vector for each text, which says nothing of it",
}
ENCODERS: Mapping[str, frozenset[Ability]] = {
    "bag": frozenset({"vectors", "train"}),
    "random": frozenset({"vectors"}),
}
LESSONS = "lessons.json"
BAG_FORMS = ("CLF", "QRY")  # of vectors of a bag that is not trained


@dataclass(frozen=True, slots=True, kw_only=True)
class Fake:
    """A fake by its name: `fake:echo`, `fake:noise`, `fake:pupil`, which can be trained, or an encoder."""

    load: str
    seconds: float = 0.0  # that training takes, or encoding a text; no part of the identity
    vector_dtype: ClassVar[str] = "float32"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UnknownNameError("fake", self.kind, KINDS)

    @property
    def can(self) -> frozenset[Ability]:
        """Say what the fake can do."""
        if self.kind in ENCODERS:
            return ENCODERS[self.kind]
        return LANGUAGE | {"train"} if self.kind == "pupil" else LANGUAGE

    def lacks(self) -> Sequence[Note]:
        """Lack nothing."""
        return ()

    @property
    def kind(self) -> str:
        """Name the fake without its prefix."""
        return self.load.removeprefix("fake:")

    def identity(self) -> Json:
        """Name the fake."""
        return self.load

    def parameters(self) -> None:
        """Have none."""

    def get(self, progress: Progress | None = None) -> None:
        """Fetch nothing."""

    def open(self, run: Path, *, workers: int = 1) -> LanguageModel:  # noqa: ARG002 (as all sources)
        """Make the fake ready."""
        return FakeModel(self.kind)

    def open_encoder(self, run: Path, added: Sequence[Path] = (), *, workers: int = 1) -> Encoder:  # noqa: ARG002
        """Make the fake encoder ready, with what training has moved."""
        if self.kind == "random":
            return RandomEncoder()
        return FakeEncoder(self.seconds, read_moves(added) if added else None)

    def forms(self, added: Sequence[Path] = ()) -> tuple[str, ...]:
        """Name the forms of vectors."""
        if self.kind != "bag":
            return ()
        return tuple(form for form in read_moves(added) if form) if added else BAG_FORMS

    def train_vectors(
        self, tasks: Sequence[VectorTask], added: Sequence[Path], how: Trained, *, seed: int, folder: Path,  # noqa: ARG002
        watch: Watch | None = None,
    ) -> Learnt:  # fmt: skip
        """Move words by what tasks tell of their texts."""
        _wait(self.seconds)
        write_moves(moves(tasks, seed=seed), how, folder)
        lessons = [lesson for task in tasks for lesson in task.lessons]
        words = sum(len(tokens(text)) for lesson in lessons for text in lesson.texts)
        return replace(_learnt(lessons, how, watch), tokens=words, per_form=WIDTH if how.has_forms else 0)

    def measure(self) -> Measure:
        """Count words for tokens."""
        return FakeModel(self.kind)

    def train(
        self, lessons: Sequence[Lesson], added: Sequence[Path], how: Recipe, *, dev: Sequence[Lesson] = (),  # noqa: ARG002
        seed: int, folder: Path, watch: Watch | None = None,
    ) -> Learnt:  # fmt: skip
        """Keep the lessons, in the order of the seed: of two that are as near, the first counts."""
        _wait(self.seconds)
        order = shuffled(len(lessons), "pupil", seed, len(added))
        kept = [[lessons[place].prompt, lessons[place].answer] for place in order]
        (folder / LESSONS).write_text(canonical(kept), encoding="utf-8")
        return _learnt(lessons, how, watch)

    def open_trained(self, run: Path, added: Sequence[Path], *, workers: int = 1) -> LanguageModel:  # noqa: ARG002
        """Make the fake ready with its lessons, the last first."""
        kept = [read_learnt(folder / LESSONS, _lessons) for folder in reversed(added)]
        return FakeModel(self.kind, [lesson for lessons in kept for lesson in lessons])


def _lessons(kept: Any) -> list[tuple[str, str]]:
    return [(str(prompt), str(answer)) for prompt, answer in kept]


class FakeModel:
    """A model that follows a rule."""

    def __init__(self, kind: str, lessons: Sequence[tuple[str, str]] = ()) -> None:
        self.kind, self.usage = kind, Usage()
        self.lessons = [(frozenset(tokens(prompt.lower())), answer) for prompt, answer in lessons]

    def fits(self, prompt: Prompt, decoding: Decoding) -> bool:
        """Tell whether a prompt and what is written after it fit."""
        return self.count(prompt) + decoding.tokens <= CONTEXT

    def count(self, prompt: Prompt) -> int:
        """Count words for tokens."""
        return len(tokens(_content(prompt)))

    def generate(self, prompts: Sequence[Prompt], decoding: Decoding) -> list[Reply | None]:
        """Write by the rule."""
        return [self._reply(_content(prompt), decoding) for prompt in prompts]

    def score(
        self,
        prompts: Sequence[Prompt],
        options: Sequence[Sequence[str]],
        decoding: Decoding,  # noqa: ARG002 (as all models)
    ) -> list[Odds | None]:
        """Weigh options by the rule."""
        texts = [_content(prompt) for prompt in prompts]
        for prompt, each in zip(texts, options, strict=True):
            self._note(len(tokens(prompt)) + sum(len(tokens(option)) for option in each), 0)
        return [
            Odds(tuple(self._log(prompt, option) for option in each), tuple(max(1, len(tokens(o))) for o in each))
            for prompt, each in zip(texts, options, strict=True)
        ]

    @contextmanager
    def tuned(
        self, lessons: Sequence[Lesson], how: Recipe, *, dev: Sequence[Lesson] = (), seed: int, words: str = "",  # noqa: ARG002
        watch: Watch | None = None,
    ) -> Iterator[Learnt]:  # fmt: skip
        """Have some more lessons for a while; they come before those that it had."""
        before = self.lessons
        self.lessons = [(frozenset(tokens(each.prompt.lower())), each.answer) for each in lessons] + before
        try:
            yield _learnt(lessons, how, watch)
        finally:
            self.lessons = before

    def _reply(self, prompt: str, decoding: Decoding) -> Reply:
        if decoding.only:
            self._note(len(tokens(prompt)), 1)
            return Reply(max(decoding.only, key=lambda option: self._log(prompt, option)), 1)
        words = self._words(prompt, decoding.tokens)
        self._note(len(tokens(prompt)), min(len(words), decoding.tokens))
        text = " ".join(words[: decoding.tokens])
        ends = [at for stop in decoding.stop if (at := text.find(stop)) >= 0]
        ended = bool(ends) or len(words) <= decoding.tokens
        return Reply(text[: min(ends, default=len(text))], min(len(words), decoding.tokens), ended)

    def _words(self, prompt: str, most: int) -> list[str]:
        if self.kind == "noise":
            return _drawn(prompt, most)
        return (self._recalled(prompt) if self.lessons else _last_line(prompt)).split()

    def _recalled(self, prompt: str) -> str:
        """Give the answer of the lesson that has most words in common, of equal ones the first."""
        words = frozenset(tokens(prompt.lower()))
        return max(self.lessons, key=lambda lesson: len(words & lesson[0]) / (1 + len(words | lesson[0])))[1]

    def _log(self, prompt: str, option: str) -> float:
        if self.kind == "noise":
            return -10 * _fraction(f"{prompt}\n{option}")
        if self.lessons:
            return -1.0 * (option.strip() != self._recalled(prompt).strip()) - len(option) / 1000
        seen, words = set(tokens(_last_line(prompt).lower())), tokens(option.lower())
        return -sum(word not in seen for word in words) - len(option) / 1000

    def _note(self, read: int, written: int) -> None:
        self.usage.read += read
        self.usage.written += written
        self.usage.computed += read + written


class FakeEncoder:
    """An encoder that adds up a vector for each word, drawn by a hash of it; forms give other vectors."""

    width = WIDTH

    def __init__(self, seconds: float = 0.0, moved: Mapping[str, Mapping[str, Array]] | None = None) -> None:
        self.seconds, self.usage, self.moved = seconds, Usage(), moved or {}
        self.forms = BAG_FORMS if moved is None else tuple(form for form in moved if form)
        self.learnt: dict[str, Array] = {}  # by word, what training has added

    def encode(self, texts: Sequence[str], form: str = "") -> Array:
        """Add up the vectors of words, to length 1: (texts, width)."""
        if form and form not in self.forms:
            raise UnknownNameError("form", form, self.forms)
        time.sleep(self.seconds * len(texts))
        words = [self._words(text) for text in texts]
        self.usage.read += sum(map(len, words))
        self.usage.computed += sum(map(len, words))
        found = np.array([self._sum(own, form) for own in words]).reshape(len(texts), self.width)
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        return (found / np.where(lengths == 0, 1, lengths)).astype(np.float32)

    def take(self, texts: Sequence[str], form: str = "") -> tuple[Array, list[int]]:
        """Give vectors, and count words beyond the context."""
        return self.encode(texts, form), [max(0, len(tokens(text)) - CONTEXT) for text in texts]

    @contextmanager
    def tuned(
        self, pairs: Sequence[TextPair], how: Recipe, *, seed: int, watch: Watch | None = None  # noqa: ARG002
    ) -> Iterator[Learnt]:  # fmt: skip
        """Move the words of each pair towards each other, or away; for a while."""
        before, self.learnt = self.learnt, dict(self.learnt)
        for pair in pairs:
            for own, other in ((pair.first, pair.second), (pair.second, pair.first)):
                step = (pair.target - 0.5) * self._sum(self._words(other), "") / len(pairs)
                for word in self._words(own):
                    self.learnt[word] = self.learnt.get(word, 0.0) + step
        try:
            yield _learnt(pairs, how, watch)
        finally:
            self.learnt = before

    def _words(self, text: str) -> list[str]:
        return tokens(text.lower())[:CONTEXT]

    def _sum(self, words: Sequence[str], form: str) -> Array:
        moved = self.moved.get(form, {})
        each = (
            _direction(word, form, self.width) + self.learnt.get(word, 0.0) + moved.get(word, 0.0) for word in words
        )
        return sum(each, np.zeros(self.width))


class RandomEncoder:
    """A baseline of encoders: of each text, numbers from -1 to 1 by a hash of it."""

    width, forms = 384, ()

    def __init__(self) -> None:
        self.usage = Usage()

    def encode(self, texts: Sequence[str], form: str = "") -> Array:  # noqa: ARG002 (as all encoders)
        """Draw a vector for each text: (texts, width)."""
        self.usage.read += len(texts)
        self.usage.computed += len(texts)
        drawn = (hashlib.shake_128(text.encode("utf-8", "surrogatepass")).digest(2 * self.width) for text in texts)
        bits = np.frombuffer(b"".join(drawn), dtype="<u2").reshape(len(texts), self.width)
        return ((bits + 0.5) / (1 << 15) - 1).astype(np.float32)

    def take(self, texts: Sequence[str], form: str = "") -> tuple[Array, list[int]]:
        """Give vectors; all of each text is read."""
        return self.encode(texts, form), [0] * len(texts)


@lru_cache(maxsize=1 << 16)
def _direction(word: str, form: str, width: int) -> Array:
    return np.array([_fraction(f"{form}\n{place}\n{word}") - 0.5 for place in range(width)])


def _wait(seconds: float) -> None:
    """Take so long, in short naps, so that a process can be ended meanwhile."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(min(0.05, seconds))


def _learnt(lessons: Sequence[Lesson | TextPair | VectorLesson], how: Recipe, watch: Watch | None) -> Learnt:
    """Tell of a training that takes a step for each lesson, and forgets nothing."""
    watch = watch or Watch()
    for step in range(len(lessons)):
        watch.look_at(step)
        watch.notify(step + 1, (step + 1) / len(lessons), 1 / (step + 1))
    watch.look_at(len(lessons))
    losses = tuple((step, 1 / (step + 1)) for step in range(len(lessons)))
    return Learnt(steps=len(lessons), tokens=0, parameters=0 if how.what == "none" else 1, losses=losses)


def _content(prompt: Prompt) -> str:
    return prompt if isinstance(prompt, str) else "\n".join(message.content for message in prompt)


def _last_line(prompt: str) -> str:
    lines = [line for line in prompt.splitlines() if line.strip()]
    said = [line for line in lines if not line.rstrip().endswith(":")] or lines
    return said[-1] if said else ""


def _fraction(text: str) -> float:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).digest()
    return int.from_bytes(digest, "little") / (1 << 48)


def _drawn(prompt: str, most: int) -> list[str]:
    words = prompt.split() or ["nothing"]
    return [words[int(_fraction(f"{place}\n{prompt}") * len(words))] for place in range(min(most, 5))]
