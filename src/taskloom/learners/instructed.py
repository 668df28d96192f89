"""Instructions: a language model is told what to do, by a task's definition and its own examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import ClassVar

from .. import prompts
from ..core import Example, Item, Task
from ..encodings import DEFAULT, Encoded, encoding, fitted, lacking, tagged
from ..ids import Json
from ..models import Ability, Decoding, Message, Prompt
from ..options import check_booleans, check_integers, settle_number
from . import Learner, Predictor, Response, Tools
from .in_context import ALL_BUT_RANKINGS, read_reply

NAMES = {"task_id": "task id", "positive": "positive examples", "negative": "negative examples"}  # of parts, for people


@dataclass(frozen=True, slots=True, kw_only=True)
class Instructed(Learner):
    """A language model that is given a task's instruction; the support is not looked at."""

    version: ClassVar[int] = 2
    outputs: ClassVar[frozenset[str]] = ALL_BUT_RANKINGS
    unaided: ClassVar[frozenset[str]] = outputs
    model: str = "smollm2"
    encoding: str = DEFAULT  # parts joined by +: id, def, posN, negN, expl
    chat: bool = False
    tokens: int = 128  # written at most
    temperature: float = 0.0

    def __post_init__(self) -> None:
        encoding(self.encoding)  # refuses what is none
        check_integers(self, {"tokens": 1})
        check_booleans(self, "chat")
        settle_number(self, "temperature", least=0, most=100)

    @property
    def models(self) -> tuple[str, ...]:
        """Name the model."""
        return (self.model,)

    def needs(self, task: Task) -> Mapping[str, frozenset[Ability]]:  # noqa: ARG002 (of any task the same)
        """Ask for a model that writes."""
        return {self.model: frozenset({"generate"})}

    @property
    def facets(self) -> dict[str, Json]:
        """Tell the parts of the encoding: tables and curves go by them."""
        return {NAMES.get(part, part): shown for part, shown in asdict(encoding(self.encoding)).items()}

    def shown(self, task: Task) -> Json:
        """Tell which tags the encoding shows: they do not name a task."""
        return tagged(task, encoding(self.encoding))

    def fit(
        self,
        task: Task,
        support: Sequence[Example],  # noqa: ARG002 (as all learners)
        dev: Sequence[Example],  # noqa: ARG002
        *,
        seed: int,
        tools: Tools,
    ) -> Predictor:
        """Learn nothing: all that the model is told is in the task."""
        if short := lacking(task, encoding(self.encoding)):
            tools.count("example-missing", short)
        several = any("\n" in prompts.write(task, shown.answer) for shown in task.examples)
        stop = (prompts.GAP if several else "\n",)
        how = Decoding(tokens=self.tokens, stop=stop, temperature=self.temperature, seed=seed)
        return _Told(self, task, how, tools)


@dataclass(frozen=True, slots=True)
class _Told:
    """A task in one encoding, and a model to ask."""

    of: Instructed
    task: Task
    how: Decoding
    tools: Tools

    def predict(self, items: Sequence[Item]) -> list[Response]:
        """Ask about all items at once: what their prompts share is computed once."""
        model = self.tools.model(self.of.model)
        parts, texts = encoding(self.of.encoding), list[Prompt]()
        for item in items:
            found = fitted(self.task, item, parts, lambda text: model.fits(self._prompt(text), self.how))
            for code, count in left_out(found).items():
                self.tools.count(code, count)
            texts.append(self._prompt(found.text))
        golds = [shown.answer for shown in self.task.examples if shown.right]
        read, pick = partial(prompts.read, self.task, shown=golds), partial(prompts.pick, self.task)
        replies = zip(texts, model.generate(texts, self.how), strict=True)
        return [read_reply(read, pick, text, reply, self.tools) for text, reply in replies]

    def _prompt(self, text: str) -> Prompt:
        return (Message("user", text),) if self.of.chat else text


def left_out(found: Encoded) -> dict[str, int]:
    """Count what is not in a prompt, by code."""
    counts = {
        "demonstration-is-item": found.own,
        "demonstration-dropped": found.dropped,
        "input-cut": int(found.cut > 0),
        "instruction-cut": int(found.untold > 0),
    }
    return {code: count for code, count in counts.items() if count}
