"""An answer to text as a model is to write it, and what a model wrote back to an answer."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from .answers import as_given, is_finite, ranked
from .core import Answer, Fields, Labels, Number, Output, Ranking, Task, Terms, Words
from .texts import CJK, number_text

EXCERPT = 10  # candidates of a ranking that people are shown
GAP = "\n\n"  # between demonstrations


NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})+(\.\d*)?|\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
NUMBER_IN = re.compile(rf"(?<![\w.,-])(?:{NUMBER.pattern})(?![\w,-]|\.\d)", re.ASCII)


def write(task: Task, answer: Answer) -> str:
    """Write an answer as a model is to write it; `read` reads it back, but for the grades of a ranking."""
    if isinstance(task.output, Fields) and isinstance(answer, Mapping):
        return task.separator.join(_write(part, answer[name]) for name, part in task.output.parts.items())
    return _write(task.output, answer)


def excerpt(task: Task, answer: Answer) -> str:
    """Write an answer for people: of a ranking, the best few."""
    match task.output, answer:
        case Ranking(), tuple() if len(answer) > EXCERPT and all(_is_graded(pair) for pair in answer):
            best = tuple(ranked(answer)[:EXCERPT])  # type: ignore[arg-type]
            return f"{write(task, best)}\nand {len(answer) - EXCERPT:,} more"
    return write(task, answer)


def read(task: Task, text: str, shown: Iterable[Answer] = ()) -> Answer | None:
    r"""Read an answer that a model wrote; None where it can't be parsed.

    Of several fields, those that are missing are None, and the others count. An empty text says that there are no
    labels only where an answer that was `shown` to the model says so too.

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
    if not text.strip() and () in shown:
        return ()
    return _read(task.output, text)


def pick(task: Task, text: str) -> Answer | None:
    """Read an answer out of a longer text: the only label or number of its first line, or else of all of it.

    >>> task = Task(id="t", instruction="", output=Labels(("history", "art history")), metrics=())
    >>> pick(task, "The category is **Art History**.")
    'art history'
    """
    first = next((line for line in text.splitlines() if line.strip()), "")
    for part in (first, text):
        match task.output:
            case Labels(names=names, many=False):
                found: Sequence[Answer] = _named(names, part)
            case Number():
                numbers = [_number(number[0]) for number in NUMBER_IN.finditer(part)]
                found = [number for number in numbers if number is not None]
            case _:
                return None
        if len(set(found)) == 1:
            return found[0]
    return None


def _named(names: Sequence[str], text: str) -> list[str]:
    """Find the labels that a text names as words, whatever their case; of nested ones, the longest."""
    longest_first = sorted(filter(None, names), key=lambda name: (-len(name), name))
    whole = "|".join(f"{_edge(name[0], '<!')}{re.escape(name)}{_edge(name[-1], '!')}" for name in longest_first)
    spelt = {name.casefold(): name for name in reversed(longest_first)}
    return [spelt[hit[0].casefold()] for hit in re.finditer(whole, text, re.IGNORECASE) if hit[0].casefold() in spelt]


def _edge(character: str, look: str) -> str:
    """Ask that a word ends here, but not where writing has no spaces."""
    return "" if re.match(f"[{CJK}]", character) else rf"(?{look}\w)"


def _split(task: Task, text: str, count: int) -> list[str]:
    """Split an answer of several fields; where there are too many parts, which of them belong together is unknown."""
    whole, stripped = text.split(task.separator), text.strip().split(task.separator)
    parts = whole if len(whole) == count else stripped
    return parts if len(parts) <= count else []


def _write(output: Output, answer: Answer | None) -> str:
    match output, answer:
        case Terms(separator=separator), tuple():
            return separator.join(str(term) for term in answer)
        case Labels(many=True), tuple():
            return "; ".join(str(label) for label in answer)
        case Number(), float() | int() if is_finite(answer):
            return number_text(answer)
        case Ranking(), tuple() if all(_is_graded(pair) for pair in answer):
            return "\n".join(str(pair[0]) for pair in sorted(answer, key=lambda pair: -float(pair[1])))
        case Words(), tuple():
            return str(as_given(output, answer))
    return str(answer)


def _is_graded(pair: object) -> bool:
    return isinstance(pair, tuple) and len(pair) == 2 and is_finite(pair[1])


def _read(output: Output, text: str) -> Answer | None:
    text = text.strip()
    match output:
        case Labels(names=names, many=False):
            return text if text in names else None
        case Labels(names=names):
            chosen = tuple(label.strip() for label in text.split(";") if label.strip())
            return chosen if chosen and all(label in names for label in chosen) else None
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
