"""What takes the place of things that a study names: a suite, what it is built from, and a model."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from ..errors import StudyError, UsageError
from ..learners import Learner
from ..limits import expanded
from ..schema import key
from .ledger import Ledger
from .study import Study, StudyLearner
from .study_learners import learners_of
from .views import renamed as with_renamed


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """What takes the place of things that a study names."""

    suite: str = ""  # a suite's folder
    source: str = key("", name="from")  # what the study's suite is built from
    model: str = ""  # the model of all learners that need one

    @classmethod
    def of(cls, suite: Path | str | None, model: str = "", source: str = "") -> Overrides:
        """Make paths whole, so that they mean the same from anywhere."""
        if suite and source:
            raise UsageError(f"a suite that is there is not built: name one of --suite and --from: {source!r}")
        place = expanded(model.removeprefix("path:")).absolute()
        named = f"path:{place}" if model.startswith("path:") else model
        if source and ":" not in source:
            source = str(expanded(source).absolute())
        return cls(suite=str(Path(suite).absolute()) if suite else "", source=source, model=named)

    @classmethod
    def kept(cls, ledger: Ledger) -> Overrides:
        """Give those that a run was made with."""
        with ledger.naming_damage("overrides"):
            found = cls(**ledger.about_json("overrides", {}))
            if not all(isinstance(value, str) for value in asdict(found).values()):
                raise TypeError(repr(found))
        return found

    def in_place(self, study: Study, names: Collection[str] | None = None) -> Study:
        """Put a suite or a model in its place; a learner that alone is named after its model takes the new name.

        Where only some learners may be made, the others stay as they are.
        """
        if self.suite:
            study = replace(study, suite=self.suite, build="", source="", build_options={})
        if self.source:
            if not study.build:
                raise StudyError(
                    f"the study's suite is a folder, and not built: use --suite instead of --from: {study.suite!r}"
                )
            study = replace(study, source=self.source)
        return self._with_model(study, names) if self.model else study

    def _with_model(self, study: Study, names: Collection[str] | None) -> Study:
        learners = learners_of(study, names)
        bases = _untrained(study, {model for made in learners.values() for model in made.models})
        if not bases and len(learners) == len(study.learners):
            raise StudyError(f"no learner of the study needs a model: {self.model!r}")
        after = [name for name, made in learners.items() if made.models == (name,) and name in bases]
        renamed = dict.fromkeys(after, self.model) if len(after) == 1 and self.model not in study.learners else {}
        chosen = {
            renamed.get(name, name): self._of_learner(one, learners[name], bases) if name in learners else one
            for name, one in study.learners.items()
        }
        models = {
            name: {**options, "train": self.model} if options.get("train") in bases else options
            for name, options in study.models.items()
        }
        views = tuple(with_renamed(view, renamed) for view in study.views)
        return replace(study, learners=chosen, models=models, views=views)

    def _of_learner(self, chosen: StudyLearner, made: Learner, bases: set[str]) -> StudyLearner:
        """Put the model in the place of those that a learner names itself."""
        values = {f.name: getattr(made, f.name) for f in fields(made)}  # type: ignore[arg-type]
        named = [name for name, value in values.items() if isinstance(value, str) and value in bases & {*made.models}]
        return replace(chosen, options={**chosen.options, **dict.fromkeys(named, self.model)})

    def folder(self, name: str) -> str:
        """Name the folder of a run."""
        model = Path(self.model).name if self.model.startswith("path:") else self.model.partition(":")[2] or self.model
        source = Path(self.source).name.partition(".")[0] if self.source else ""
        parts = [name, Path(self.suite).name if self.suite else source, re.sub(r"[^\w.-]+", "-", model)]
        return "-".join(filter(None, parts))

    def options(self) -> str:
        """Write it as options of a command."""
        given = ((f.metadata.get("name", f.name), getattr(self, f.name)) for f in fields(self))
        return "".join(f" --{name} {shlex.quote(value)}" for name, value in given if value)


def _untrained(study: Study, models: set[str]) -> set[str]:
    """Give the models that nothing of the study trains, but which learners use or trained models start from."""
    started = {str(options["train"]) for options in study.models.values() if "train" in options}
    return {name for name in models | started if "train" not in study.models.get(name, {})}
