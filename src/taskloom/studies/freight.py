"""What a run sends to the nodes of a cluster: suite, models and files of learners, each once for a node, by content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import ray

from ..models.api import Endpoint
from ..models.function import Function
from ..models.load import Source, Weights
from ..models.precomputed import Precomputed
from ..models.trained import Trained
from ..models.weight_files import FILES
from . import artifacts
from .cells import bases
from .cluster_worker import Job, Sent
from .crews import learner_content
from .parcels import Parcel, chunks_of, parcel_of
from .plan import Plan

MOST_KEPT = 4  # trained models whose chunks stay in the object store
Load: TypeAlias = tuple[Parcel, list[Any]]  # with the references of its chunks


class Freight:
    """Puts files into Ray's object store when a node lacks them, and not before."""

    def __init__(self, plan: Plan, run: Path, name: str) -> None:
        self.plan, self.run = plan, run
        self.places: dict[str, tuple[Path, Parcel]] = {}  # by the digest of a parcel
        self.loads: dict[str, Load] = {}
        self.trained: dict[str, Load] = {}  # by cell
        self.job = self._job(name)

    def _job(self, name: str) -> Job:
        """Say what workers must know; learners that ask an endpoint are none of theirs."""
        plan = self.plan
        asking = {model for model in plan.models if is_asking(plan.models, model)}
        learners = {name: of for name, of in plan.learners.items() if not asking & {*of.models}}
        models = {model: of for model, of in plan.models.items() if model not in asking and self._is_named(model)}
        study = replace(plan.study, models={}, views=(), places={})
        return Job(
            run=name,
            study=replace(study, learners={name: study.learners[name] for name in learners}),
            suite=self._sent(plan.folder),
            learners={name: learner_content(of) for name, of in learners.items()},
            models=models,
            ids={model: plan.model_ids[model] for model in models if model in plan.model_ids},
            learner_files={
                name: self._sent(plan.study.folder / path)
                for name in learners
                if (path := plan.study.learners[name].learner.rpartition(":")[0]).endswith(".py")
            },
            model_files=self._model_files(models),
            adapter_files={
                at: self._sent(Path(at)) for of in models.values() if isinstance(of, Weights) for _, at in of.adapters
            },
            text_files={
                text: self._sent(place)
                for of in models.values()
                for text in (of.texts if isinstance(of, Trained) else ())
                if (place := plan.study.folder / text).exists()
            },
        )

    def _is_named(self, model: str) -> bool:
        """Tell a model that some cell uses: others may not even be there."""
        return bases(self.plan.models, model)[0] in self.plan.model_ids

    def _model_files(self, models: Mapping[str, Source | Trained]) -> dict[str, Sent]:
        found = {}
        for name, of in models.items():
            if isinstance(of, Weights):
                found[name] = self._sent(of.get(), FILES)
            elif isinstance(of, Precomputed | Function):
                found[name] = self._sent(of.path)
        return found

    def _sent(self, place: Path, names: tuple[str, ...] = ("*",)) -> Sent:
        """Note what is to be sent; a file keeps its name, a folder is sent whole, or what of it has such names."""
        parcel = parcel_of(place, names)
        self.places[parcel.digest] = place, parcel
        return Sent(parcel.digest, place.name if place.is_file() else "")

    def load(self, digest: str) -> Load:
        """Give a parcel with its chunks, which are put into the object store once."""
        if digest not in self.loads:
            self.loads[digest] = self._put(*self.places[digest])
        return self.loads[digest]

    def artifact(self, cell: str) -> Load:
        """Give what a cell has trained; the last few stay in the object store."""
        found = self.trained.pop(cell, None)
        if found is None:
            place = artifacts.opened(self.run, cell)
            found = self._put(place, parcel_of(place))
        self.trained[cell] = found
        for oldest in list(self.trained)[:-MOST_KEPT]:
            del self.trained[oldest]
        return found

    @staticmethod
    def _put(place: Path, parcel: Parcel) -> Load:
        return parcel, [ray.put(chunk) for chunk in chunks_of(place, parcel)]


def is_asking(models: Mapping[str, Source | Trained], name: str) -> bool:
    """Tell a model behind an endpoint."""
    return any(isinstance(models.get(base), Endpoint) for base in bases(models, name))
