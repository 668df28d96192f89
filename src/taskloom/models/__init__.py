"""Models: weights on this machine, or an endpoint elsewhere. Language models generate and score, encoders encode."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from ..ids import Json, canonical
from .recipe import Learnt, Recipe, Watch

if TYPE_CHECKING:
    from numpy import ndarray

Array: TypeAlias = "ndarray[Any, Any]"

# What a model can do, or is needed for; chat-score is to say how likely answers are as a turn of a conversation, and
# choose to write one of some answers and nothing else.
Ability: TypeAlias = Literal["generate", "score", "chat-score", "choose", "vectors", "train"]
Side: TypeAlias = Literal["start", "end"]
WORKER = "TASKLOOM_WORKER"  # in its environment, the number of a worker: models choose an accelerator by it
VECTOR_DTYPES = ("float32", "float16")  # that vectors are kept in
FORMS = ("CLF", "RGN", "PRX", "QRY")  # formats of tasks: classification, regression, proximity, queries of search
LANGUAGE: frozenset[Ability] = frozenset({"generate", "score", "chat-score", "choose"})


@dataclass(frozen=True, slots=True)
class Message:
    """A turn of a conversation."""

    role: Literal["user", "assistant"]
    content: str


Prompt: TypeAlias = str | tuple[Message, ...]  # a text to go on from, or a conversation to answer


def prompt_text(prompt: Prompt) -> str:
    """Give a prompt as one text: a conversation as JSON, as endpoints are sent it.

    >>> prompt_text((Message("user", "What is red?"),))
    '[{"content":"What is red?","role":"user"}]'
    """
    return prompt if isinstance(prompt, str) else canonical(turns(prompt))


def turns(messages: Sequence[Message]) -> list[Json]:
    """Give a conversation as endpoints and chat templates take it."""
    return [{"role": message.role, "content": message.content} for message in messages]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """How a model goes on from a prompt: greedily unless it is given a temperature."""

    tokens: int = 64  # at most
    stop: tuple[str, ...] = ()  # the text ends before these, once there is some
    temperature: float = 0.0
    seed: int = 0  # of the draws, where there is a temperature
    only: tuple[str, ...] = ()  # texts, one of which is written; none: any text
    keeps: Side = "end"  # of a prompt that does not fit


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model wrote."""

    text: str
    tokens: int
    ended: bool = True  # by itself or at a stop, not because it had no tokens left
    cut: int = 0  # tokens of the prompt that did not fit
    surrogates: bool = False  # whether half characters of it were replaced by U+FFFD


@dataclass(frozen=True, slots=True)
class Odds:
    """What a model thinks of each option as the next words: log-probabilities, and the tokens they are over."""

    logs: tuple[float, ...]
    tokens: tuple[int, ...]
    cut: int = 0


@dataclass(frozen=True, slots=True)
class Lesson:
    """An instance to train on: what a model is to read, and to write."""

    task: str
    item: str
    prompt: str
    answer: str
    keeps: Side = "end"  # of a prompt that does not fit


@dataclass(frozen=True, slots=True)
class TextPair:
    """Two texts to train an encoder on, and how alike their vectors should be: the cosine."""

    first: str
    second: str
    target: float


@dataclass(slots=True)
class Usage:
    """What a model was used for so far."""

    read: int = 0  # tokens of prompts and options
    written: int = 0
    computed: int = 0  # of both, those that were not shared with another prompt or kept from before
    requests: int = 0  # sent to an endpoint
    dollars: float = 0.0
    encoded: int = 0  # tokens of texts whose vectors are kept for all who ask later; no part of the above
    encoding: float = 0.0  # seconds that these took

    def since(self, before: Usage) -> Usage:
        """Give what came after an earlier state."""
        return Usage(*(getattr(self, f.name) - getattr(before, f.name) for f in fields(self)))


class Measure(Protocol):
    """How a model counts tokens, which is known without its weights."""

    def fits(self, prompt: Prompt, decoding: Decoding) -> bool:
        """Tell whether a prompt and what is to be written after it fit into the context; yes if that can't be known."""

    def count(self, prompt: Prompt) -> int | None:
        """Count the tokens of a prompt; None if that can't be known."""


class Unmeasured:
    """A model that only says when it is asked what fits, or one that is not here."""

    def fits(self, prompt: Prompt, decoding: Decoding) -> bool:  # noqa: ARG002 (as all that measure)
        """Say yes."""
        return True

    def count(self, prompt: Prompt) -> int | None:  # noqa: ARG002
        """Say that it is not known."""
        return None


class LanguageModel(Protocol):
    """A model that is ready to be asked."""

    usage: Usage

    def fits(self, prompt: Prompt, decoding: Decoding) -> bool:
        """Tell whether a prompt and what is to be written after it fit into the context; yes if that can't be known."""

    def generate(self, prompts: Sequence[Prompt], decoding: Decoding) -> list[Reply | None]:
        """Go on from each prompt; None where the model refuses one."""

    def score(
        self, prompts: Sequence[Prompt], options: Sequence[Sequence[str]], decoding: Decoding
    ) -> list[Odds | None]:
        """Say how likely each option is as what comes after its prompt; None where the model refuses one."""


class Trainable(LanguageModel, Protocol):
    """A model that can be trained for a while."""

    def tuned(
        self, lessons: Sequence[Lesson], how: Recipe, *, dev: Sequence[Lesson] = (), seed: int, words: str = "",
        watch: Watch | None = None,
    ) -> AbstractContextManager[Learnt]:  # fmt: skip
        """Train on lessons; at the end of the context the model is what it was before.

        A soft prompt may start from the words. Early stopping goes by the lessons of `dev`.
        """


class Encoder(Protocol):
    """A model that gives vectors, and is ready to be asked."""

    usage: Usage

    @property
    def width(self) -> int:
        """Say how many numbers a vector has."""

    @property
    def forms(self) -> tuple[str, ...]:
        """Name the forms that it encodes texts in, beside the plain one, which has no name."""

    def take(self, texts: Sequence[str], form: str = "") -> tuple[Array, list[int]]:
        """Give the vector of each text in a form, float32, (texts, width), and the tokens of each that do not fit."""


class KeptVectors(Protocol):
    """The vectors of one model, each made once: by its text, or by the id of its document."""

    @property
    def encoding(self) -> float:
        """Say how many seconds encoding took so far."""

    @property
    def by_id(self) -> bool:
        """Tell whether vectors are found by the ids of documents, having been made elsewhere."""

    @property
    def forms(self) -> tuple[str, ...]:
        """Name the forms that vectors come in, beside the plain one."""

    @property
    def encoder(self) -> Encoder:
        """Give the encoder itself."""

    @property
    def usage(self) -> Usage:
        """Say what the encoder was used for."""

    def take(self, given: Sequence[str], form: str = "") -> tuple[Array, list[int]]:
        """Give the vector of each text or id, float32, (given, width), and the tokens of each that were cut."""


class TrainableEncoder(Encoder, Protocol):
    """An encoder that can be trained for a while."""

    def tuned(
        self, pairs: Sequence[TextPair], how: Recipe, *, seed: int, watch: Watch | None = None
    ) -> AbstractContextManager[Learnt]:
        """Train on pairs of texts; at the end of the context the encoder is what it was before."""
