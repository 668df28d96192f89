"""A learner's answers to an episode: it adapts, is asked, and what it says is checked before it is kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..answers import cut
from ..core import Answer, Example, Fields, Item, Output
from ..episodes import Episode
from ..errors import LearnerError
from ..messages import Note
from ..texts import without_surrogates
from . import SURROGATES, Learner, Predictor, Response, Tools
from .toolbox import Toolbox

PLAIN: Mapping[type, Callable[[Any], object]] = {  # as JSON writes them, whatever a kind of theirs says that it is
    int: int.__int__,
    float: float.__float__,
}


def answer(of: Learner, episode: Episode, *, seed: int, tools: Toolbox) -> list[Response]:
    """Adapt to an episode's support set and answer its queries."""
    if isinstance(episode.task.output, Fields) and Fields.kind not in of.outputs:
        parts = {name: _answers(of, _part(episode, name), seed, tools, name) for name in episode.task.output.parts}
        return [_together({name: found[at] for name, found in parts.items()}) for at in range(len(episode.query))]
    return _answers(of, episode, seed, tools)


def _together(parts: Mapping[str, Response]) -> Response:
    return Response({name: part.answer for name, part in parts.items()}, parts=parts)


def _answers(of: Learner, episode: Episode, seed: int, tools: Toolbox, field: str = "") -> list[Response]:
    items = [example.item for example in episode.query]
    tools.part = field
    tools.asked = {"support": [example.item for example in episode.support], "query": items}
    tools.answers = lambda fitted, asked: _responses(of, fitted, asked, episode.task.output, tools)
    start, before = time.perf_counter(), tools.apart
    fitted = of.fit(episode.task, episode.support, episode.dev, seed=seed, tools=tools)
    if not callable(getattr(fitted, "predict", None)):  # what a learner of the user's gives is not known
        raise LearnerError(Note.of("predictor-missing", given=_described(fitted), learner=repr(of)))
    tools.fitting += time.perf_counter() - start - (tools.apart - before)
    found = _responses(of, fitted, items, episode.task.output, tools)
    tools.let_go()  # another field starts from the same weights
    return found


def _responses(of: Learner, fitted: Predictor, items: Sequence[Item], output: Output, tools: Tools) -> list[Response]:
    """Ask about items, and refuse what is not an answer to each."""
    answers = fitted.predict(items)
    if isinstance(answers, str | bytes | Mapping) or not isinstance(answers, Iterable):
        raise LearnerError(Note.of("answers-not-listed", given=_described(answers), learner=repr(of)))
    found = list(answers)
    if len(found) != len(items):
        raise LearnerError(Note.of("answers-missing", items=len(items), answers=len(found), learner=repr(of)))
    responses = [_response(one, output, tools) for one in found]
    for item, response in zip(items, responses, strict=True):
        if not _is_writable(response.answer):
            given = _described(response.answer)
            raise LearnerError(Note.of("answer-unwritable", item=item.id, given=given, learner=repr(of)))
    return responses


def _described(value: object) -> str:
    """Say what a value is, without asking it for its text."""
    return "None" if value is None else f"a value of type {type(value).__name__}"


def _is_writable(answer: object) -> bool:
    """Tell what a ledger can keep; whether it is an answer of the task's form, scoring says."""
    if isinstance(answer, Mapping):
        return all(isinstance(name, str) and _is_writable(part) for name, part in answer.items())
    if isinstance(answer, tuple):
        return all(_is_writable(part) for part in answer)
    return answer is None or isinstance(answer, str | int | float)


def _response(given: Any, output: Output, tools: Tools) -> Response:
    """Take an answer for a response that says no more; rankings are cut, so that what is scored is what is kept."""
    response = given if isinstance(given, Response) else Response(given)
    return replace(response, answer=cut(output, _plain(response.answer, tools)))


def _plain(answer: Any, tools: Tools) -> Any:
    """Take lists for tuples, numpy's numbers for numbers, and kinds of texts and numbers for those that they are."""
    if isinstance(answer, Mapping):
        return {_plain(name, tools): _plain(part, tools) for name, part in answer.items()}
    if isinstance(answer, list | tuple):
        return tuple(_plain(part, tools) for part in answer)
    if isinstance(answer, str):
        return _text(str.__str__(answer), tools)
    if type(answer).__module__ == "numpy" and hasattr(answer, "item"):
        return answer.item()
    plain = (of(answer) for kind, of in PLAIN.items() if isinstance(answer, kind) and not isinstance(answer, bool))
    return next(plain, answer)


def _text(answer: str, tools: Tools) -> str:
    """Replace half characters, and count such answers."""
    text = without_surrogates(answer)
    if text != answer:
        tools.count(SURROGATES)
    return text


def _part(episode: Episode, name: str) -> Episode:
    """Give the episode that asks for one field alone."""
    output = episode.task.output
    assert isinstance(output, Fields)
    task = replace(episode.task, id=f"{episode.task.id}/{name}", output=output.parts[name])
    return replace(episode, task=task, support=_only(episode.support, name), dev=_only(episode.dev, name))


def _only(examples: Sequence[Example], name: str) -> tuple[Example, ...]:
    return tuple(replace(e, gold=gold) for e in examples if (gold := _golds(e, name)))


def _golds(example: Example, name: str) -> tuple[Answer, ...]:
    parts = (gold[name] for gold in example.gold if isinstance(gold, Mapping))
    return tuple(part for part in parts if part is not None)
