"""Ways to adapt to a task from a few examples: a learner is a frozen dataclass, and what it is set to is its identity.

A learner of your own is one too: name it `path/to/file.py:ClassName` in a study, or give it an entry point in the
group `taskloom.learners`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, is_dataclass
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, ClassVar, Protocol

from ..core import OUTPUTS, Answer, Example, Fields, Item, Labels, Output, Stored, Task, declared, store_of
from ..errors import LearnerError, TaskloomError, UnknownNameError
from ..ids import Json, canonical
from ..limits import parse_json
from ..messages import Note
from ..models import Ability, Array, LanguageModel, Lesson, Prompt, TextPair
from ..models.recipe import Recipe
from ..priors import Prior
from ..user_code import module_of


class Tools(Protocol):
    """What the runner gives a learner to work with."""

    def count(self, what: str, n: int = 1) -> None:
        """Count something that a report should show beside the score, by a code: `prompt-cut`, or one of your own."""

    def model(self, name: str) -> LanguageModel:
        """Give a model, loaded once for all that ask for it."""

    def vectors(self, model: str, texts: Sequence[str], form: str = "", ids: Sequence[str] = ()) -> Array:
        """Encode texts by a model: float32, (texts, width). Each distinct text is encoded once, and kept for all.

        Texts that were cut are counted. What a model gives that is trained in this cell is not kept. Vectors that were
        made elsewhere are found by the ids of documents, one for each text.
        """

    def forms(self, model: str) -> tuple[str, ...]:
        """Name the forms that an encoder gives vectors in, beside the plain one."""

    def stored(self, store: str, ids: Sequence[str]) -> list[Stored]:
        """Read documents of a store of the suite by id, in this order."""

    def prior(self, field: str = "") -> Prior:
        """Count the gold answers of the pool that support is drawn from, without the records of the query set.

        A learner that answers the fields of a task one by one gets the prior of the field at hand; one that answers
        all together names the field.
        """

    def word_counts(self) -> Mapping[str, int]:
        """Count the words of inputs of the pool that support is drawn from, without the records of the query set.

        Words are in lower case; of a large pool a sample is counted. No gold answer is read.
        """

    def train(
        self, model: str, lessons: Sequence[Lesson], how: Recipe, *, dev: Sequence[Lesson] = (), seed: int,
        words: str = "", predictor: Predictor | None = None,
    ) -> None:  # fmt: skip
        """Train a model on lessons until the cell ends; then it is what it was before.

        Losses are kept. Where the study looks at what is learnt on the way, the predictor is asked at those steps.
        """

    def train_encoder(self, model: str, pairs: Sequence[TextPair], how: Recipe, *, seed: int) -> None:
        """Train an encoder on pairs of texts until the cell ends; then it is what it was before."""


@dataclass(frozen=True, slots=True)
class Response:
    """An answer, and what it was read from."""

    answer: Answer | None  # None where none can be given
    raw: str | None = None  # what the model wrote
    options: Mapping[str, float] = field(default_factory=dict)  # what the model thinks of each: probabilities, or logs
    prompt: Prompt = ""  # as it was sent; a hash of it is kept
    parts: Mapping[str, Response] = field(default_factory=dict)  # of an answer of several fields, found one by one


class Predictor(Protocol):
    """A learner that has adapted to a task."""

    def predict(self, items: Sequence[Item]) -> Sequence[Response | Answer | None]:
        """Answer each item, with what the answer was read from where that is more than the answer itself."""


class Learner(Protocol):
    """A way to adapt; raise `version` when the same settings give other answers.

    A learner of your own inherits from this one, and so has all that it does not declare itself.
    """

    __slots__ = ()
    version: ClassVar[int]
    outputs: ClassVar[frozenset[str]]  # kinds of output that it can answer
    unaided: ClassVar[frozenset[str]]  # those that it can answer without any example
    takes_examples: ClassVar[bool] = False  # whether a task's own examples will do where there is no support
    looks: ClassVar[bool] = False  # whether it can be asked while it learns
    reads_texts_alone: ClassVar[bool] = False  # whether candidates must be texts, not ids of documents
    one_label_alone: ClassVar[bool] = False  # whether it can't answer with several labels

    @property
    def models(self) -> tuple[str, ...]:
        """Name its models; their content is part of its identity, and the runner makes them ready."""
        return ()

    def needs(self, task: Task) -> Mapping[str, frozenset[Ability]]:  # noqa: ARG002 (most need nothing)
        """Say what each of its models must be able to do for a task."""
        return {}

    @property
    def facets(self) -> Mapping[str, Json]:
        """Give what tables can be laid out by, beyond its settings."""
        return {}

    def shown(self, task: Task) -> Json:  # noqa: ARG002
        """Give what it shows of a task's tags and metrics, which do not name a task."""
        return None

    @property
    def patterns(self) -> tuple[str, ...]:
        """Name the tasks, or patterns of these, that its settings speak of: each must be a task of the suite."""
        return ()

    def faults(self, task: Task, fields: Callable[[], Sequence[str]]) -> Iterator[Note]:  # noqa: ARG002
        """Say what is wrong with its settings for a task, before any work; `fields` gives the names of its inputs."""
        return iter(())

    def fit(
        self, task: Task, support: Sequence[Example], dev: Sequence[Example], *, seed: int, tools: Tools
    ) -> Predictor:
        """Adapt to a task from its support examples; dev is for stopping and choosing."""


LEARNERS: Mapping[str, str] = {
    "majority": "baselines:Majority",
    "random": "baselines:Random",
    "copy-input": "baselines:CopyInput",
    "copy-demonstration": "baselines:CopyDemonstration",
    "nearest": "baselines:Nearest",
    "tfidf-linear": "baselines:TfidfLinear",
    "bm25": "baselines:Bm25",
    "in-context": "in_context:InContext",
    "instructed": "instructed:Instructed",
    "tune": "tune:Tune",
    "prototype": "prototype:Prototype",
    "neighbours": "prototype:Neighbours",
    "setfit": "setfit:SetFit",
    "signatures": "signatures:Signatures",
    "represent": "represent:Represent",
}
BASELINES = ("majority", "random", "copy-input", "copy-demonstration")  # shown beside learners, and never ranked
ENTRY_POINTS = "taskloom.learners"
DECLARED = (
    "version",
    "outputs",
    "unaided",
    "takes_examples",
    "looks",
    "models",
    "needs",
    "facets",
    "shown",
    "patterns",
    "faults",
    "fit",
)
SURROGATES = "surrogates-replaced"  # counted of texts with half a character


def learner(name: str, options: Mapping[str, Any] | None = None, folder: Path = Path()) -> Learner:
    """Make the learner that a name stands for: one of the table, `file.py:Class`, or an entry point."""
    kind = _kind(name, folder)
    if not isinstance(kind, type) or not is_dataclass(kind) or not kind.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        raise LearnerError(f"a learner must be a frozen dataclass, so that its settings are its identity: {name!r}")
    known = {f.name for f in fields(kind) if f.init}
    for option in options or {}:
        if option not in known:
            raise UnknownNameError(f"option of learner {name!r}", option, known)
    try:
        return _checked(name, kind(**dict(options or {})))
    except TaskloomError:
        raise
    except (Exception, SystemExit) as error:  # an option of another type; or whatever a learner of the user's does
        told = f"{type(error).__name__}: {error}"[:200]
        raise LearnerError(f"learner {name!r} can't be made with the options {dict(options or {})} ({told})") from error


def _checked(name: str, made: Any) -> Learner:
    inherited = getattr(type(made), "fit", None) is Learner.fit
    if lacking := [needed for needed in DECLARED if not hasattr(made, needed) or (needed == "fit" and inherited)]:
        raise LearnerError(f"a learner declares {', '.join(lacking)}, or inherits taskloom.Learner: {name!r}")
    for kind in _kinds(name, made):
        if kind not in OUTPUTS:
            raise UnknownNameError(f"output of learner {name!r}", kind, OUTPUTS)
    if odd := [model for model in made.models if not isinstance(model, str)]:
        raise LearnerError(f"a model of learner {name!r} must be a text: {odd[0]!r}")
    for option, value in declared(made).items():
        _writable(f"option {option!r} of learner {name!r}", value)
    for facet, value in made.facets.items():
        _writable(f"facet {facet!r} of learner {name!r}", value)
    found: Learner = made
    return found


def _kinds(name: str, made: Any) -> list[str]:
    """Give the kinds of output that a learner can answer, with examples or without."""
    for declared_by in ("outputs", "unaided"):
        given = getattr(made, declared_by)
        if not isinstance(given, Set) or not all(isinstance(kind, str) for kind in given):
            raise LearnerError(f"{declared_by} of a learner must be a set of texts: {name!r}")
    return sorted(made.outputs | made.unaided)


def _writable(what: str, value: Json) -> Json:
    """Give what is a part of a cell's name, or refuse what JSON can't hold."""
    try:
        parse_json(canonical(value))  # as a ledger reads it
    except (TypeError, ValueError):
        kinds = "a text, a finite number (integers of 64 bits), true or false, or a list or mapping of these"
        raise LearnerError(f"{what} must be {kinds}: {value!r}") from None
    return value


def names() -> list[str]:
    """List the learners that go by a name: the table's, then those that are installed."""
    return [*LEARNERS, *sorted(point.name for point in metadata.entry_points(group=ENTRY_POINTS))]


def identity(of: Learner, contents: Mapping[str, Json] | None = None) -> dict[str, Json]:
    """Give what names a learner in a cell: where it is, its version, and its settings, with the content of its models.

    A model goes by its content instead of its name.
    """
    kind, known = type(of), contents or {}
    named = {f.name: getattr(of, f.name) for f in fields(of)}  # type: ignore[arg-type]
    models = {name: known.get(value) for name, value in named.items() if value in of.models}
    others: dict[str, Json] = {model: known.get(model) for model in of.models if model not in named.values()}
    found: dict[str, Json] = {"learner": f"{kind.__module__}:{kind.__qualname__}", "version": of.version}
    return found | {"set": declared(of) | models} | ({"models": others} if others else {})


def shown(of: Learner, task: Task) -> Json:
    """Give what a learner shows of a task beyond what names it; nothing, for most."""
    return _writable(f"what learner {type(of).__name__} shows of task {task.id!r}", of.shown(task))


def settings(of: Learner) -> dict[str, Json]:
    """Give all that a learner is set to, and what it tells of that in `facets`: tables are laid out by these."""
    own = {f.name: getattr(of, f.name) for f in fields(of)}  # type: ignore[arg-type]
    return {"learner": type(of).__name__} | own | dict(of.facets)


def file_of(name: str, folder: Path = Path()) -> Path | None:
    """Give the file of a learner that is code of somebody's own, `file.py:Class`; None for all others.

    >>> file_of("mine.py:Mine"), file_of("nearest")
    (PosixPath('mine.py'), None)
    """
    path, _, _ = name.rpartition(":")
    return folder / path if name not in LEARNERS and path.endswith(".py") else None


def _kind(name: str, folder: Path) -> type:
    if name in LEARNERS:
        module, _, kind = LEARNERS[name].partition(":")
        found: type = getattr(import_module(f".{module}", __package__), kind)
        return found
    if path := file_of(name, folder):
        return _from_file(path, name.rpartition(":")[2])
    if name.endswith(".py"):
        raise LearnerError(f"the class is missing, as in {name}:MyLearner")
    for point in metadata.entry_points(group=ENTRY_POINTS):
        if point.name == name:
            return _from_package(point)
    raise UnknownNameError("learner", name, names())


def _from_package(point: metadata.EntryPoint) -> type:
    try:
        loaded: type = point.load()
    except Exception as error:
        raise LearnerError(f"{point.value} can't be loaded ({type(error).__name__}: {error})") from error
    return loaded


def _from_file(path: Path, kind: str) -> type:
    """Load a class from a file of the user's own; the file's content is part of its identity."""
    if not path.is_file():
        raise LearnerError(f"no such file: {path}")
    try:
        module = module_of(path)
    except (Exception, SystemExit) as error:
        raise LearnerError(f"{path} can't be loaded ({type(error).__name__}: {error})") from error
    own = {n: v for n, v in vars(module).items() if isinstance(v, type) and v.__module__ == module.__name__}
    if kind not in own:
        raise UnknownNameError(f"class in {path}", kind, [n for n in own if not n.startswith("_")])
    return own[kind]


def can_do(of: Learner, task: Task, *, unaided: bool = False) -> bool:
    """Tell whether a learner can answer a task, with examples or without; several fields are answered one by one."""
    helped = bool(task.examples) and of.takes_examples
    kinds = of.unaided if unaided and not helped else of.outputs
    if store_of(task.output) and of.reads_texts_alone:
        return False
    if task.output.kind in kinds:
        return _is_fit(of, task.output)
    parts = task.output.parts.values() if isinstance(task.output, Fields) else ()
    return bool(parts) and all(part.kind in kinds and _is_fit(of, part) for part in parts)


def _is_fit(of: Learner, output: Output) -> bool:
    return not (isinstance(output, Labels) and output.many and of.one_label_alone)
