"""What a model is sent, shown: the prompt of an item on standard output, all else beside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .. import console
from ..episodes import Shots
from ..errors import UsageError
from ..models import turns
from ..studies.api import LEDGER, Overrides, study_and_text
from ..studies.prompting import ShownPrompt, show_prompt
from ..studies.study import StudyLearner
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


def show(place: Path, task: str, of: PromptOptions, *, as_json: bool) -> bool:
    """Print a prompt, and say beside it what it is; tell whether it is the one that a run has sent."""
    study = study_and_text(of.study)[0] if of.study else None
    learner: str | StudyLearner = of.learner
    if study and of.model:
        study = Overrides.of(None, of.model).in_place(study)
    elif of.model or of.encoding:
        learner = _described(place, task, of)
    shown = show_prompt(
        place, task, learner=learner, shots=_shots(of.shots), seed=of.seed, item=of.item, study=study
    )  # fmt: skip
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


def _shots(text: str) -> Shots | None:
    if text.isdecimal():
        return int(text)
    if text in ("all", "drawn"):
        return text  # type: ignore[return-value]
    if text:
        raise UsageError(f"--shots must be an integer >= 0, all or drawn: {text!r}")
    return None


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
