"""Task, demonstrations and item to text, and text back to an answer."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from .core import Answer, Example, Fields, Item, Labels, Number, Output, Ranking, Task, Terms
from .texts import number_text

GAP = "\n\n"  # between demonstrations
NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})+(\.\d*)?|\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def prompt(task: Task, item: Item, support: Sequence[Example] = ()) -> str:
    """Write the text that a model is asked to go on from.

    >>> from taskloom.core import Text
    >>> task = Task(id="abstract->title", instruction="摘要->标题", output=Text(), metrics=())
    >>> print(prompt(task, Item("1", {"摘要": "研究了城市道路绿化。"})))
    摘要->标题
    研究了城市道路绿化。
    """
    shown = (f"{question(task, example.item)}\n{write(task, example.gold[0])}" for example in support)
    return GAP.join([*shown, question(task, item)])


def question(task: Task, item: Item) -> str:
    """Write the instruction in front of the item's fields."""
    return f"{task.instruction}\n{task.separator.join(item.fields.values())}"


def write(task: Task, answer: Answer) -> str:
    """Write an answer as a model is to write it; `read` reads it back, but for the grades of a ranking."""
    if isinstance(task.output, Fields) and isinstance(answer, Mapping):
        return task.separator.join(_write(part, answer[name]) for name, part in task.output.parts.items())
    return _write(task.output, answer)


def read(task: Task, text: str) -> Answer | None:
    r"""Read an answer that a model wrote; None where it can't be parsed.

    Of several fields, those that are missing are None, and the others count.

    >>> from taskloom.core import Text
    >>> both = Fields({"title": Text(), "category": Labels(("Art", "History"))})
    >>> task = Task(id="abstract->title+category", instruction="", output=both, metrics=())
    >>> read(task, "On colour\nArt")
    {'title': 'On colour', 'category': 'Art'}
    >>> read(task, "On colour")
    {'title': 'On colour', 'category': None}
    """
    if isinstance(task.output, Fields):
        found = dict(zip(task.output.parts, _split(task, text, len(task.output.parts)), strict=False))
        return {name: _read(part, found.get(name, "")) for name, part in task.output.parts.items()}
    return _read(task.output, text)


def _split(task: Task, text: str, count: int) -> list[str]:
    """Split an answer of several fields; where there are too many parts, which belong together can't be told."""
    whole, stripped = text.split(task.separator), text.strip().split(task.separator)
    parts = whole if len(whole) == count else stripped
    return parts if len(parts) <= count else []


def _write(output: Output, answer: Answer | None) -> str:
    match output, answer:
        case Terms(separator=separator), tuple():
            return separator.join(str(term) for term in answer)
        case Labels(many=True), tuple():
            return "; ".join(str(label) for label in answer)
        case Number(), float() | int():
            return number_text(answer)
        case Ranking(), tuple():
            return "\n".join(str(pair[0]) for pair in sorted(answer, key=lambda pair: -float(pair[1])))
    return str(answer)


def _read(output: Output, text: str) -> Answer | None:
    text = text.strip()
    match output:
        case Labels(names=names, many=False):
            return text if text in names else None
        case Labels(names=names):
            chosen = tuple(label.strip() for label in text.split(";") if label.strip())
            return chosen if all(label in names for label in chosen) else None
        case Terms(separator=separator):
            return tuple(term for part in text.split(separator.strip() or separator) if (term := part.strip())) or None
        case Number():
            return _number(text)
        case Ranking():
            lines = [line.strip() for line in text.splitlines() if line.strip()]
            return tuple((line, float(-place)) for place, line in enumerate(lines)) or None
    return text or None


def _number(text: str) -> float | None:
    """Read a finite number, with or without commas between thousands."""
    if not NUMBER.fullmatch(text):
        return None
    number = float(text.replace(",", ""))
    return number if math.isfinite(number) else None
