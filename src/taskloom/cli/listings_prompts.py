"""What a model is sent, shown: the prompt of an item on standard output, all else beside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .. import console
from ..episodes import shots_from
from ..errors import UsageError
from ..models import turns
from ..studies.api import LEDGER, study_and_text
from ..studies.overrides import Overrides
from ..studies.prompting import ShownPrompt, show_prompt
from ..studies.study import StudyLearner
from ..studies.trust import makeable
from ..suites.store import open_suite


@dataclass(frozen=True, slots=True)
class PromptOptions:
    """Which prompt is asked for: all that is not named is the first."""

    study: str = ""
    learner: str = ""
    shots: str = ""
    seed: int | None = None
    item: str = ""
    encoding: str = ""
    model: str = ""
    trust_code: bool = False


def show(place: Path, task: str, of: PromptOptions, *, as_json: bool) -> bool:
    """Print a prompt, and say beside it what it is; tell whether it is the one that a run has sent."""
    study = study_and_text(of.study)[0] if of.study else None
    learner: str | StudyLearner = of.learner
    if study and of.model:
        names = makeable(study, trust_code=of.trust_code or not study.of_run)
        study = Overrides.of(None, of.model).in_place(study, names)
    elif of.model or of.encoding:
        learner = _described(place, task, of)
    shots = shots_from(of.shots) if of.shots else None
    shown = show_prompt(
        place, task, learner=learner, shots=shots, seed=of.seed, item=of.item, study=study, trust_code=of.trust_code
    )
    if as_json:
        console.as_json(_json(shown))
    else:
        console.line(str(shown))
    for note in shown.notes():
        console.note(str(note))
    return shown.kept in ("", shown.hash)


def _described(place: Path, task: str, of: PromptOptions) -> StudyLearner:
    """Describe the learner that an encoding or a model is for."""
    if of.study or (place / LEDGER).is_file():
        raise UsageError("--encoding goes without --study, and neither --encoding nor --model with a run")
    instructs = bool(of.encoding or open_suite(place).task(task).examples)
    options = {"encoding": of.encoding, "model": of.model}
    name = of.learner or ("instructed" if instructs else "in-context")
    return StudyLearner(learner=name, options={option: value for option, value in options.items() if value})


def _json(shown: ShownPrompt) -> dict[str, object]:
    prompt = shown.prompt if isinstance(shown.prompt, str) else turns(shown.prompt)
    about = {"learner": shown.learner, "task": shown.task, "item": shown.item, "shots": shown.shots, "seed": shown.seed}
    return about | {
        "prompt": prompt,
        "tokens": shown.tokens,
        "counts": shown.counts,
        "hash": shown.hash,
        "kept": shown.kept,
    }
