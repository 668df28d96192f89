"""What runs on the nodes of a cluster: a worker that is sent all that it needs; it shares no disk."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ray

from ..ids import Json
from ..masking import masked
from ..models import WORKER
from ..models.function import Function
from ..models.load import Source, Weights
from ..models.precomputed import PREFIX, Precomputed
from ..models.trained import Trained
from ..suites import store
from . import artifacts, parcels
from .cells import Cell
from .crews import CellOutcome, attempt, learner_content, limit_threads
from .environment import environment
from .finished import Finished
from .parcels import Parcel
from .study import Study
from .study_learners import learners_of
from .work import Bench


@dataclass(frozen=True, slots=True)
class Sent:
    """A place within a parcel."""

    parcel: str
    file: str = ""

    @property
    def path(self) -> Path:
        """Say where it is on this machine."""
        return parcels.received(self.parcel) / self.file


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a worker must know of a run; files are named by the parcels that they come in."""

    run: str
    study: Study
    suite: Sent
    learners: Mapping[str, str]  # their content
    models: Mapping[str, Source | Trained]
    ids: Mapping[str, Json]  # what models are named by
    learner_files: Mapping[str, Sent]
    model_files: Mapping[str, Sent]
    adapter_files: Mapping[str, Sent]  # by their folder on the driver
    text_files: Mapping[str, Sent]  # by what the study names them

    def bench(self) -> Bench:
        """Open the suite, and find models and learners, where they lie on this machine."""
        chosen = {name: self._learner(name) for name in self.learners}
        study = replace(self.study, learners=chosen, folder=parcels.cluster_folder())
        made = {name: of for name, of in learners_of(study).items() if self.learners[name] == learner_content(of)}
        models = {name: self._model(name, of) for name, of in self.models.items()}
        run = parcels.run_folder(self.run)
        return Bench(study, store.open_suite(self.suite.path), made, models, run, ids=self.ids)

    def _learner(self, name: str) -> Any:
        chosen = self.study.learners[name]
        if name not in self.learner_files:
            return chosen
        kind = chosen.learner.rpartition(":")[2]
        return replace(chosen, learner=f"{self.learner_files[name].path}:{kind}")

    def _model(self, name: str, of: Source | Trained) -> Source | Trained:
        if isinstance(of, Trained):
            here = [str(self.text_files[text].path) if text in self.text_files else text for text in of.texts]
            return replace(of, texts=tuple(here)) if of.texts else of
        if isinstance(of, Weights) and of.adapters:
            of = replace(of, adapters=tuple((form, str(self.adapter_files[at].path)) for form, at in of.adapters))
        return _moved(of, self.model_files[name].path) if name in self.model_files else of


def _moved(of: Source, path: Path) -> Source:
    """Say that the files of a model lie elsewhere."""
    if isinstance(of, Weights):
        return replace(of, load=f"path:{path}")
    if isinstance(of, Precomputed):
        return replace(of, load=f"{PREFIX}{path}")
    assert isinstance(of, Function)
    return replace(of, load=f"{path}:{of.load.rpartition(':')[2]}")


@dataclass(frozen=True, slots=True)
class Found:
    """What a cell gave, with the files that it made: a parcel, and its chunks in the object store."""

    outcome: CellOutcome
    seconds: float
    parcel: Parcel | None = None
    chunks: Sequence[Any] = ()


class Worker:
    """An actor: it opens the suite and its models once, and runs one cell after another."""

    def __init__(self, run: str, threads: int, *, has_gpu: bool) -> None:
        os.environ[WORKER] = "0"  # of the accelerators that Ray lets it see
        if not has_gpu:
            os.environ["CUDA_VISIBLE_DEVICES"] = ""  # what declares none computes on the processor
        limit_threads(threads)
        self.run, self.folder = run, parcels.run_folder(run)
        self.bench: Bench | None = None

    def hello(self, digests: Sequence[str]) -> tuple[dict[str, str], list[str]]:
        """Say what runs here, and which parcels this machine lacks."""
        return environment(), [digest for digest in digests if not parcels.received(digest).is_dir()]

    def receive(self, parcel: Parcel, chunks: Sequence[Any]) -> None:
        """Lay a parcel out."""
        parcels.receive(parcel, _fetched(chunks))

    def receive_artifact(self, cell: str, parcel: Parcel, chunks: Sequence[Any]) -> None:
        """Lay out what another machine has trained."""
        folder = artifacts.place(self.folder, cell)
        if not artifacts.digest(self.folder, cell):
            parcels.lay_out(folder, parcel, _fetched(chunks))

    def prepare(self, job: Job) -> None:
        """Make ready for the cells of a run."""
        with _without_keys():
            self.bench = job.bench()

    def work(self, cells: Sequence[Cell]) -> list[Found]:
        """Run cells, one after another."""
        return [self._found(cell) for cell in cells]

    def _found(self, cell: Cell) -> Found:
        """Run a cell; what it trains goes along with what it gave."""
        assert self.bench is not None
        start = time.perf_counter()
        found = attempt(self.bench, cell)
        seconds = time.perf_counter() - start
        if not isinstance(found, Finished) or not found.artifact:
            return Found(found, seconds)
        artifacts.drop_partial(self.folder, cell.id)
        place = artifacts.place(self.folder, cell.id)
        parcel = parcels.parcel_of(place)
        return Found(found, seconds, parcel, [ray.put(chunk) for chunk in parcels.chunks_of(place, parcel)])

    def leave(self) -> None:
        """Remove what the run has made on this machine."""
        parcels.drop_run(self.run)


@contextmanager
def _without_keys() -> Iterator[None]:
    """Raise what others' code raises, but for the keys of this machine that it tells."""
    try:
        yield
    except Exception as error:
        told = "".join(traceback.format_exception(error))
        if masked(told) == told:
            raise
        raise RuntimeError(masked(f"{type(error).__name__}: {error}")) from None


def _fetched(chunks: Sequence[Any]) -> Iterator[bytes]:
    """Get chunks one by one, so that memory holds no more."""
    return (ray.get(chunk) for chunk in chunks)


def probe() -> dict[str, str]:
    """Say what runs on this machine."""
    return environment()
