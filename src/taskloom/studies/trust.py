"""What a run that came from others may do: be read. Unless it is trusted, no code of it runs, and nothing is sent."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from ..core import Suite
from ..errors import LearnerError, ModelError
from ..learners import Learner, file_of
from ..messages import Note
from ..models.api import Endpoint
from ..models.function import Function
from ..models.load import Source
from ..suites.store import open_suite
from .api import STUDY, study_and_text, suite_folder
from .ledger import Ledger
from .overrides import Overrides
from .study import Study
from .study_learners import learners_of, models_of
from .work import Bench


def is_code(study: Study, name: str) -> bool:
    """Tell whether a learner of a study is code in a file."""
    return name in study.learners and file_of(study.learners[name].learner) is not None


def study_of_run(folder: Path, ledger: Ledger, *, trust_code: bool = False) -> Study:
    """Read the study of a run, with the suite and the model that took the place of its own."""
    study = study_and_text(folder / STUDY)[0]
    return Overrides.kept(ledger).in_place(study, makeable(study, trust_code=trust_code))


def makeable(study: Study, *, trust_code: bool) -> list[str]:
    """Name the learners of a study that may be made: all, or those that are not code in files."""
    return [name for name in study.learners if trust_code or not is_code(study, name)]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedStudy:
    """A study of which only those learners and models are made that are asked for."""

    study: Study
    suite: Suite
    folder: Path  # for what models keep
    trust_code: bool  # whether code in files that the study names may run, and its endpoints be asked

    @classmethod
    def of_run(cls, folder: Path, ledger: Ledger, *, trust_code: bool) -> OpenedStudy:
        """Open the study of a run."""
        study = study_of_run(folder, ledger, trust_code=trust_code)
        return cls(study=study, suite=open_suite(suite_folder(ledger)), folder=folder, trust_code=trust_code)

    def learners(self, names: Collection[str]) -> dict[str, Learner]:
        """Make learners; those that are code in files are refused, unless that is trusted."""
        for name in names:
            if is_code(self.study, name) and not self.trust_code:
                path = file_of(self.study.learners[name].learner, self.study.folder)
                raise LearnerError(Note.of("learner-untrusted", learner=name, path=path))
        return learners_of(self.study, names)

    def with_model(self) -> str:
        """Name the first learner that asks a model."""
        names = [*self.study.learners]
        return next((name for name in names if self.learners([name])[name].models), names[0])

    def bench(self, names: Collection[str], models: Collection[str] = ()) -> Bench:
        """Give what a worker needs for these learners, and for these models."""
        made = self.learners(names)
        found = models_of(self.study, made, models)
        return Bench(self.study, self.suite, made, found, self.folder, check=None if self.trust_code else refuse_model)


def refuse_model(name: str, of: Source) -> None:
    """Refuse a model that is code in a file, or an endpoint: that would get texts, and a key of the user's."""
    if isinstance(of, Function):
        raise ModelError(Note.of("model-untrusted", model=name, path=of.path))
    if isinstance(of, Endpoint):
        raise ModelError(Note.of("endpoint-untrusted", model=name, url=of.address[1]))
