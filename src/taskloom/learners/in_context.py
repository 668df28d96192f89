"""In-context learning: a language model is shown demonstrations, and nothing of it is changed."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from .. import prompts
from ..core import Answer, Example, Item, Labels, Ranking, Task
from ..errors import LearnerError
from ..ids import shuffled
from ..messages import Note
from ..models import Ability, Decoding, LanguageModel, Odds, Prompt, Reply
from ..options import check_booleans, check_choices, check_integers, settle_number
from ..templates import DEFAULT, MOST_LABELS, TEMPLATES, UNLISTED, Prompting, template
from . import SURROGATES, Learner, Predictor, Response, Tools
from .baselines import WordWeights

From: TypeAlias = Literal["support", "task"]
Choose: TypeAlias = Literal["random", "balanced", "nearest"]
Answers: TypeAlias = Literal["score", "choose", "generate"]
Demonstrations: TypeAlias = tuple[Example, ...]
Asked: TypeAlias = tuple[Item, Demonstrations]
Reads: TypeAlias = "Callable[[str], Answer | None]"
Templates: TypeAlias = str | tuple[str, ...]  # of several, a seed takes one
EMPTY = ("N/A", "", "[MASK]")  # inputs without content, as Zhao et al. (2021) have them
AUTO = "auto"  # the template `default` where the model writes an answer, `unlisted` where the task's labels are scored
ALL_BUT_RANKINGS = frozenset({"text", "labels", "terms", "number", "words", "fields"})


@dataclass(frozen=True, slots=True, kw_only=True)
class InContext(Learner):
    """A language model that is shown the support as demonstrations, and asked."""

    version: ClassVar[int] = 3
    outputs: ClassVar[frozenset[str]] = ALL_BUT_RANKINGS | {"ranking"}
    unaided: ClassVar[frozenset[str]] = outputs
    reads_texts_alone: ClassVar[bool] = True
    model: str = "smollm2"
    demonstrations: From = "support"  # or the task's own examples
    choose: Choose = "random"
    most: int = 0  # demonstrations; 0: all there are
    answers: Answers = "score"  # how one label is found: the likeliest, written token by token among all, or freely
    calibrate: bool = True  # weigh labels against what an input without content would give
    per_token: bool = False  # weigh labels by the mean over their tokens
    template: Templates | Mapping[str, Templates] = AUTO  # a name or a text with slots; or by task, names or patterns
    max_labels: int = MOST_LABELS  # a task with more labels shows none of them
    chat: bool = False  # demonstrations as turns of a conversation, in the model's own format
    tokens: int = 64  # written at most
    temperature: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "template", _templates(self.template))
        check_choices(self, demonstrations=get_args(From), choose=get_args(Choose), answers=get_args(Answers))
        check_integers(self, {"most": 0, "max_labels": 0, "tokens": 1})
        check_booleans(self, "calibrate", "per_token", "chat")
        settle_number(self, "temperature", least=0, most=100)

    @property
    def models(self) -> tuple[str, ...]:
        """Name the model."""
        return (self.model,)

    def needs(self, task: Task) -> Mapping[str, frozenset[Ability]]:
        """Ask for what the way to answer takes."""
        way: Ability = self.way(task)
        return {self.model: frozenset({"chat-score" if self.chat and way == "score" else way})}

    def way(self, task: Task) -> Answers:
        """Say how the answers of a task are found: of single labels all are known, and candidates are to be graded."""
        if isinstance(task.output, Ranking):
            return "score"
        return self.answers if isinstance(task.output, Labels) and not task.output.many else "generate"

    @property
    def patterns(self) -> tuple[str, ...]:
        """Name the tasks that have a template of their own."""
        return tuple(self.template) if isinstance(self.template, Mapping) else ()

    def faults(self, task: Task, fields: Callable[[], Sequence[str]]) -> Iterator[Note]:
        """Name slots of the task's templates that are unknown, and inputs that these do not show."""
        for text in self._templates_of(task):
            if text not in TEMPLATES:
                yield from template(text).faults(fields())

    def _templates_of(self, task: Task) -> tuple[str, ...]:
        found: Any = self.template
        if isinstance(found, Mapping):
            fits = (of for pattern, of in found.items() if task.id == pattern or fnmatchcase(task.id, pattern))
            found = next(fits, AUTO)
        usual = UNLISTED if self.way(task) == "score" else DEFAULT
        return tuple(usual if name == AUTO else name for name in ((found,) if isinstance(found, str) else found))

    def fit(
        self,
        task: Task,
        support: Sequence[Example],
        dev: Sequence[Example],  # noqa: ARG002 (as all learners)
        *,
        seed: int,
        tools: Tools,
    ) -> Predictor:
        """Choose the template and the demonstrations, but for those that depend on the item."""
        shown = support if self.demonstrations == "support" else _own_examples(task)
        order = [shown[place] for place in shuffled(len(shown), "demonstrations", seed, task.id)]
        if self.demonstrations == "task":
            order = list(shown)  # as whoever wrote them put them
        if self.choose == "balanced":
            order = list(_in_turns(order))
        return self.asking(task, tuple(order), [shot.gold[0] for shot in order], seed=seed, tools=tools)

    def prompting(self, task: Task, seed: int) -> Prompting:
        """Give the task in the words of its template, or of the one of several that the seed takes."""
        templates = self._templates_of(task)
        return Prompting(task, template(templates[seed % len(templates)]), self.max_labels)

    def asking(
        self, task: Task, shown: Demonstrations, known: Sequence[Answer], *, seed: int, tools: Tools
    ) -> Predictor:
        """Ask about a task with demonstrations, by a model that knows these answers: how they look."""
        prompting = self.prompting(task, seed)
        if prompting.hides_labels:
            tools.count("labels-not-shown")
        return _Asking(self, prompting, shown, tuple(known), seed, tools)


def _templates(given: Any) -> Any:
    """Read templates: a name or a text, several of which a seed takes one, or these by task."""
    if isinstance(given, Mapping) and given and all(isinstance(pattern, str) for pattern in given):
        return {pattern: _templates_of_task(of) for pattern, of in given.items()}
    return _templates_of_task(given)


def _templates_of_task(given: Any) -> Templates:
    several = (given,) if isinstance(given, str) else given
    if not isinstance(several, list | tuple) or not several or not all(isinstance(text, str) for text in several):
        raise LearnerError(Note.of("template-expected", given=repr(given)))
    for text in several:
        if text != AUTO:
            template(text)  # refuses what is none
    return str(several[0]) if len(several) == 1 else tuple(map(str, several))


@dataclass(frozen=True, slots=True)
class _Asking:
    """A task put into words, and a model to ask."""

    how: InContext
    prompting: Prompting
    shown: Demonstrations
    known: tuple[Answer, ...]  # answers that the model was shown, or was taught
    seed: int
    tools: Tools

    @property
    def task(self) -> Task:
        """Give the task."""
        return self.prompting.task

    def predict(self, items: Sequence[Item]) -> list[Response]:
        """Ask about all items that have the same demonstrations at once, and about the others together."""
        model = self.tools.model(self.how.model)
        groups: dict[tuple[str, ...], list[tuple[int, Demonstrations]]] = {}
        for place, (item, chosen) in enumerate(zip(items, self._chosen(items), strict=True)):
            shots = self._fitting(model, item, chosen)
            groups.setdefault(_names(shots), []).append((place, shots))
        several = [group for group in groups.values() if len(group) > 1]
        single = [member for group in groups.values() if len(group) == 1 for member in group]
        found: dict[int, Response] = {}
        for group in filter(None, [*several, single]):
            asked = [(items[place], shots) for place, shots in group]
            found |= zip((place for place, _ in group), self._answers(model, asked), strict=True)
        return [found[place] for place in range(len(items))]

    # --- demonstrations ----------------------------------------------------------------------------------------------

    def _chosen(self, items: Sequence[Item]) -> Iterator[Demonstrations]:
        """Choose demonstrations for each item, of which none is the item itself."""
        most = self.how.most or len(self.shown)
        nearest = self._by_nearness(items) if self.how.choose == "nearest" and self.shown else None
        for place, item in enumerate(items):
            order = [self.shown[at] for at in nearest[place]] if nearest else self.shown
            others = tuple(shot for shot in order if not _same(shot.item, item))
            if len(others) < len(order):
                self.tools.count("demonstration-is-item", len(order) - len(others))
            chosen = others[:most]
            yield chosen[::-1] if nearest else chosen  # the nearest stands last, before the item

    def _by_nearness(self, items: Sequence[Item]) -> list[list[int]]:
        """Order demonstrations for each item, the nearest by TF-IDF cosine first."""
        words = WordWeights.of(self.task, self.shown, self.tools)
        near = (words.rows(items) @ words.rows([shot.item for shot in self.shown]).T).toarray().round(12)
        return (-near).argsort(axis=1, kind="stable").tolist()  # type: ignore[no-any-return]

    def _fitting(self, model: LanguageModel, item: Item, shots: Demonstrations) -> Demonstrations:
        """Drop demonstrations, those farthest from the item first, until the prompt fits into the context."""
        dropped = bisect.bisect_left(
            range(len(shots)), True, key=lambda first: model.fits(self._prompt(item, shots[first:]), self._decoding)
        )
        kept = shots[dropped:]
        if kept != shots:
            self.tools.count("demonstration-dropped", len(shots) - len(kept))
        return kept

    # --- questions and answers ---------------------------------------------------------------------------------------

    @property
    def _decoding(self) -> Decoding:
        """Stop at the end of a line, or of a paragraph where answers have several lines."""
        how, task = self.how, self.task
        several = (task.output.kind == "fields" and "\n" in task.separator) or any(
            "\n" in prompts.write(task, answer) for answer in self.known
        )
        ends = (prompts.GAP if several else "\n",)
        return Decoding(tokens=how.tokens, stop=ends, temperature=how.temperature, seed=self.seed)

    def _decoding_of(self, asked: Sequence[Asked]) -> Decoding:
        """Say which end of prompts is kept, too; a conversation ends with what the model goes on from."""
        return self._decoding if self.how.chat else replace(self._decoding, keeps=self.prompting.keeps(asked[0][0]))

    def _prompt(self, item: Item, shots: Demonstrations) -> Prompt:
        return self.prompting.messages(item, shots) if self.how.chat else self.prompting.text(item, shots)

    def _answers(self, model: LanguageModel, asked: Sequence[Asked]) -> list[Response]:
        texts, way, how = [self._prompt(*one) for one in asked], self.how.way(self.task), self._decoding_of(asked)
        names = self.task.output.names if isinstance(self.task.output, Labels) else ()
        if isinstance(self.task.output, Ranking):
            return self._graded(model, asked, texts)
        if way == "score":
            return self._likeliest(model, asked, texts, names)
        if way == "choose":
            how = replace(how, only=tuple(self._options(asked, names)))
        replies = zip(asked, texts, model.generate(texts, how), strict=True)
        return [self._read(item, text, reply) for (item, _), text, reply in replies]

    def _read(self, item: Item, text: Prompt, reply: Reply | None) -> Response:
        read = partial(self.prompting.read, item=item, shown=self.known)
        return read_reply(read, partial(self.prompting.pick, item=item), text, reply, self.tools)

    def _graded(self, model: LanguageModel, asked: Sequence[Asked], texts: Sequence[Prompt]) -> list[Response]:
        """Grade each item's candidates by their log probabilities."""
        options = [[self._option(candidate) for candidate in item.candidates] for item, _ in asked]
        odds = model.score(texts, options, self._decoding)
        grades = [self._weights(one) for one in odds]
        answers = [tuple(zip(item.candidates, own, strict=False)) for (item, _), own in zip(asked, grades, strict=True)]
        return [Response(answer or None, prompt=text) for answer, text in zip(answers, texts, strict=True)]

    def _option(self, name: str) -> str:
        return name if self.how.chat else self.prompting.after(name)

    def _options(self, asked: Sequence[Asked], names: Sequence[str]) -> list[str]:
        """Write labels as they are written after items, which all have the same fields."""
        return [self._option(self.prompting.write(name, asked[0][0])) for name in names]

    def _likeliest(
        self,
        model: LanguageModel,
        asked: Sequence[Asked],
        texts: Sequence[Prompt],
        names: Sequence[str],
    ) -> list[Response]:
        """Take the label that is likeliest to come next; of equal ones, the first."""
        options, how = self._options(asked, names), self._decoding_of(asked)
        found = self._weighed(model, texts, options, how)
        if self.how.calibrate:
            unasked = self._unasked(model, asked, options)
            found = [_against(*pair) for pair in zip(found, unasked, strict=True)]
        return [
            Response(names[_first_best(weights)], options=dict(zip(names, weights, strict=True)), prompt=text)
            if weights
            else Response(None, prompt=text)
            for text, weights in zip(texts, found, strict=True)
        ]

    def _weighed(
        self, model: LanguageModel, texts: Sequence[Prompt], options: Sequence[str], how: Decoding
    ) -> list[list[float]]:
        odds = model.score(texts, [options] * len(texts), how)
        return [self._weights(one) for one in odds]

    def _weights(self, odds: Odds | None) -> list[float]:
        if odds is None:
            self.tools.count("prompt-refused")
            return []
        _count_cut(odds.cut, self.tools)
        if not self.how.per_token:
            return list(odds.logs)
        return [log / max(1, tokens) for log, tokens in zip(odds.logs, odds.tokens, strict=True)]

    def _unasked(self, model: LanguageModel, asked: Sequence[Asked], options: Sequence[str]) -> list[list[float]]:
        """Weigh the options where the input says nothing: the log of the mean chance over inputs without content."""
        sets = {_names(shots): shots for _, shots in asked}
        item = asked[0][0]
        texts = [self._prompt(_without_content(item, text), shots) for shots in sets.values() for text in EMPTY]
        chances = iter([_chances(weights) for weights in self._weighed(model, texts, options, self._decoding)])
        means = {name: _log_means([next(chances) for _ in EMPTY]) for name in sets}
        return [means[_names(shots)] for _, shots in asked]


def read_reply(read: Reads, pick: Reads, prompt: Prompt, reply: Reply | None, tools: Tools) -> Response:
    """Read the answer out of what a model wrote, and count what went wrong on the way."""
    if reply is None:
        tools.count("prompt-refused")
        return Response(None, prompt=prompt)
    _count_cut(reply.cut, tools)
    if not reply.ended:
        tools.count("answer-cut")
    if not reply.text.strip():
        tools.count("reply-empty")
    if reply.surrogates:
        tools.count(SURROGATES)
    answer = read(reply.text)
    if answer is None and (answer := pick(reply.text)) is not None:
        tools.count("answer-picked")
    return Response(answer, reply.text, prompt=prompt)


def _count_cut(tokens: int, tools: Tools) -> None:
    if tokens:
        tools.count("prompt-cut")


def _own_examples(task: Task) -> list[Example]:
    """Take the right ones of the examples that come with a task."""
    right = [shown for shown in task.examples if shown.right]
    return [Example(Item(f"example-{n}", shown.fields), (shown.answer,), "") for n, shown in enumerate(right)]


def _in_turns(examples: Sequence[Example]) -> Iterator[Example]:
    """Let labels take turns, in the order in which they first come."""
    by_label: dict[Answer, list[Example]] = {}
    for example in examples:
        by_label.setdefault(_hashable(example.gold[0]), []).append(example)
    for turn in itertools.zip_longest(*by_label.values()):
        yield from (example for example in turn if example is not None)


def _hashable(gold: Answer) -> Answer:
    return gold if isinstance(gold, str | float | int | tuple) else str(gold)


def _same(one: Item, other: Item) -> bool:
    """Tell by what they say whether two items are one: two pools may share ids."""
    return dict(one.fields) == dict(other.fields)


def _without_content(item: Item, text: str) -> Item:
    return Item("", dict.fromkeys(item.fields, text))


def _names(shots: Demonstrations) -> tuple[str, ...]:
    return tuple(shot.item.id for shot in shots)


def _against(weights: Sequence[float], others: Sequence[float]) -> list[float]:
    """Take one weight from the other; nothing where the model refused either."""
    return [a - b for a, b in zip(weights, others, strict=True)] if weights and others else []


def _log_means(rows: Sequence[Sequence[float]]) -> list[float]:
    if not all(rows):
        return []
    return [math.log(max(sum(column) / len(rows), 1e-12)) for column in zip(*rows, strict=True)]


def _first_best(weights: Sequence[float]) -> int:
    """Give the place of the largest weight, the first of those that rounding alone tells apart."""
    rounded = [round(weight, 4) for weight in weights]
    return rounded.index(max(rounded))


def _chances(weights: Sequence[float]) -> list[float]:
    """Make weights add up to one."""
    best = max(weights, default=0.0)
    each = [math.exp(weight - best) for weight in weights]
    return [one / sum(each) for one in each]
