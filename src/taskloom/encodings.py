"""Instructions to text: which parts of a task are shown, in the words of the released Tk-Instruct."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from .core import Item, Shown, Suite, Task
from .errors import UsageError
from .ids import shuffled
from .prompts import write

TABLE_4 = (  # the encodings of the paper's table 4, in its order
    "id", "def", "pos1", "def+pos1", "pos2", "def+pos2", "def+pos2+neg2", "def+pos2+neg2+expl", "pos4", "def+pos4",
)  # fmt: skip
DEFAULT, NONE, RANDOM = "def+pos2", "none", "random"
DRAWN = ("def", "pos2", "def+pos2", "def+pos2+neg2", "def+pos2+expl")  # what the released training draws among
TAUGHT = 100  # instances of a training task, as released; the paper finds that 64 are enough
PART = re.compile(r"(id|def|expl)|(pos|neg)([1-9]\d?)")
CUT = " ... "  # what stands for the middle of a text that was shortened
SHARES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """Which parts of an instruction are shown, always in this order."""

    task_id: bool = False
    definition: bool = False
    positive: int = 0
    negative: int = 0
    explanations: bool = False


@dataclass(frozen=True, slots=True)
class Lesson:
    """An instance to train on: what a model is to read, and to write."""

    task: str
    item: str
    prompt: str
    answer: str


@dataclass(frozen=True, slots=True)
class Encoded:
    """A prompt as it is sent, and what is not in it."""

    text: str
    own: int = 0  # examples that are the item itself
    dropped: int = 0  # examples that did not fit
    cut: int = 0  # characters of the input, from its middle
    untold: int = 0  # characters of the definition, from its middle


def encoding(name: str) -> Encoding:
    """Read an encoding's name: parts joined by +, such as def+pos2, id, or def+pos2+neg2+expl; or none.

    >>> encoding("def+pos2")
    Encoding(task_id=False, definition=True, positive=2, negative=0, explanations=False)
    """
    if name == NONE:
        return Encoding()
    found = [PART.fullmatch(part) for part in name.split("+")]
    kinds = [match[1] or match[2] for match in found if match]
    if not all(found) or len(set(kinds)) < len(kinds) or ("expl" in kinds and not {"pos", "neg"} & set(kinds)):
        raise UsageError(f"an encoding joins id, def, posN, negN and expl by +, as in {DEFAULT}: {name!r}")
    counts = {match[2]: int(match[3]) for match in found if match and match[2]}
    return Encoding(
        task_id="id" in kinds,
        definition="def" in kinds,
        positive=counts.get("pos", 0),
        negative=counts.get("neg", 0),
        explanations="expl" in kinds,
    )


def encode(task: Task, item: Item, how: Encoding, *, without: int = 0) -> str:
    """Write an instruction and an item as they were released; `without` leaves so many examples out, the last first."""
    shown = _shown(task, how)
    return _head(task, how) + "".join(shown[: len(shown) - without]) + _question(task, item)


def without_item(task: Task, item: Item) -> Task:
    """Leave out of a task's examples what is the item itself."""
    others = tuple(shown for shown in task.examples if dict(shown.fields) != dict(item.fields))
    return task if len(others) == len(task.examples) else replace(task, examples=others)


def lessons(
    suite: Suite, tasks: Sequence[str], *, how: str = DEFAULT, most: int = TAUGHT, seed: int = 0
) -> Iterator[Lesson]:
    """Yield what to train on: some instances of each task; where `how` is random, each has an encoding of its own.

    They are drawn from the first of a task, whose texts were compared with test tasks (more are looked at only where
    more are wanted). Of several acceptable answers one is drawn, and never an empty one: an instance that has no other
    is passed over, and the item itself is not shown as an example. The same arguments give the same lessons.
    """
    from .suites.leaks import COMPARED  # here, for an encoding alone needs no suites

    encodings = [encoding(name) for name in (DRAWN if how == RANDOM else (how,))]
    for name in tasks:
        task, able = suite.task(name), _answered(suite, name, max(COMPARED, most))
        rows = [row for row, _ in zip(shuffled(len(able), "lessons", seed, name), range(most), strict=False)]
        for item, answers in (able[row] for row in sorted(rows)):
            key = ("lesson", seed, name, item.id)
            chosen = encodings[next(shuffled(len(encodings), *key, "encoding"))]
            answer = answers[next(shuffled(len(answers), *key, "answer"))]
            yield Lesson(name, item.id, encode(without_item(task, item), item, chosen), answer)


def _answered(suite: Suite, name: str, first: int) -> list[tuple[Item, list[str]]]:
    """Give the first items of a task that may be taught, each with the answers to it that are not empty."""
    from .suites.instructions import taught

    task, pool = suite.task(name), taught(suite, name)
    if pool is None:
        raise UsageError(f"all examples of the task are scored, and none is left to train on: {name!r}")
    found = [(one.item, [write(task, gold) for gold in one.gold]) for one in pool.take(range(min(first, len(pool))))]
    able = [(item, [text for text in answers if text.strip()]) for item, answers in found]
    return [(item, answers) for item, answers in able if answers]


def fitted(task: Task, item: Item, how: Encoding, fits: Callable[[str], bool]) -> Encoded:
    """Write a prompt that fits, for a model to go on from; the item itself is not shown as an example.

    Examples go first, the last before the others, then the middle of the input; where the definition leaves no room for
    one, both lose the same share.
    """
    others = without_item(task, item)
    own, count = len(task.examples) - len(others.examples), len(_shown(others, how))
    for without in range(count + 1):
        text = _open(encode(others, item, how, without=without))
        if fits(text):
            return Encoded(text, own, without)
    definition, asked = task.instruction.strip(), task.separator.join(item.fields.values())

    def kept(of_definition: int, of_input: int) -> str:
        told = replace(task, instruction=_but_the_middle(definition, of_definition), examples=())
        return _open(encode(told, Item("", {"input": _but_the_middle(asked, of_input)}), how))

    most = _most(len(asked), lambda size: fits(kept(len(definition), size)))
    if most >= 0:
        return Encoded(kept(len(definition), most), own, count, len(asked) - most)
    share = max(0, _most(SHARES, lambda n: fits(kept(*_part(n, definition, asked)))))
    sizes = _part(share, definition, asked)
    return Encoded(kept(*sizes), own, count, len(asked) - sizes[1], (len(definition) - sizes[0]) * how.definition)


def _open(text: str) -> str:
    """Leave the last space to the answer, whose first token it belongs to."""
    return text.rstrip(" ")


def _most(high: int, so: Callable[[int], bool]) -> int:
    """Give the largest number up to a limit that something is so for, or -1; it is so for all that are smaller."""
    low = -1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if so(middle) else (low, middle - 1)
    return low


def _part(share: int, *texts: str) -> tuple[int, int]:
    first, second = (len(text) * share // SHARES for text in texts)
    return first, second


def _but_the_middle(text: str, kept: int) -> str:
    """Shorten a text to so many characters of its beginning and end."""
    end = kept // 2
    return text if kept >= len(text) else text[: kept - end] + CUT + (text[-end:] if end else "")


def tagged(task: Task, how: Encoding) -> str:
    """Give what an encoding shows of a task's tags: its source and category, which stand for its id."""
    return " ".join([*task.tags.get("source", ()), *task.tags.get("category", ())]) if how.task_id else ""


def _head(task: Task, how: Encoding) -> str:
    named = tagged(task, how) or task.id
    definition = f"{_stopped(f'Definition: {task.instruction.strip()}')}\n\n"
    return (f"{named}. " if how.task_id else "") + (definition if how.definition else "")


def lacking(task: Task, how: Encoding) -> int:
    """Count the examples that an encoding asks for and a task has not."""
    right, wrong = _chosen(task, how)
    return how.positive - len(right) + how.negative - len(wrong)


def _chosen(task: Task, how: Encoding) -> tuple[list[Shown], list[Shown]]:
    right = [shown for shown in task.examples if shown.right]
    wrong = [shown for shown in task.examples if not shown.right]
    return right[: how.positive], wrong[: how.negative]


def _shown(task: Task, how: Encoding) -> list[str]:
    right, wrong = _chosen(task, how)
    return _examples(task, "Positive", right, how) + _examples(task, "Negative", wrong, how)


def _examples(task: Task, kind: str, examples: Sequence[Shown], how: Encoding) -> list[str]:
    found = []
    for number, shown in enumerate(examples, 1):
        asked = task.separator.join(shown.fields.values()).strip()
        lines = [f" {kind} Example {number} -", _stopped(f"Input: {asked}")]
        lines.append(_stopped(f" Output: {write(task, shown.answer).strip()}"))
        if how.explanations and shown.why:
            lines.append(_stopped(f" Explanation: {shown.why.strip()}"))
        found.append("\n".join(lines) + "\n\n")
    return found


def _question(task: Task, item: Item) -> str:
    asked = task.separator.join(item.fields.values()).strip()
    return "\n".join(["Now complete the following example -", _stopped(f"Input: {asked}"), "Output: "])


def _stopped(text: str) -> str:
    """Add a full stop where a part does not end in punctuation."""
    return text if text[-1] in string.punctuation else f"{text}."
