"""Templates: a task, its demonstrations and an item to the text, or the messages, that a model is sent."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from .choices import (
    ANY_INPUT,
    CHOICES,
    FORMS,
    PAIR,
    RELEASED,
    SAID,
    in_one_line,
    lettered,
    pick_choice,
    read_choice,
    yes_no,
)
from .core import Answer, Example, Fields, Item, Labels, Task
from .errors import UsageError, nearest
from .ids import Json
from .messages import Note
from .models import Message, Side
from .prompts import GAP, pick, read, write
from .texts import title_of

ANSWER, TEXT, INPUT = "answer", "text", "input"
LABEL_SLOTS = ("labels", "options", CHOICES)
TASK_SLOTS = ("instruction", *LABEL_SLOTS)  # the same for all items of a task
SLOT = re.compile(r"\{\{|\}\}|\{([^{}\n]*)\}|[{}]")
BRACES = {"{{": "{", "}}": "}"}
MOST_LABELS = 32  # a task with more shows none, unless the learner says otherwise
DEFAULT, UNLISTED = "default", "unlisted"
TEMPLATES: Mapping[str, str] = {
    DEFAULT: "{instruction}\nLabels: {labels}\n\n{text}\nAnswer: {answer}",
    UNLISTED: "{instruction} Answer with one of the labels.\n\n{text}\nAnswer: {answer}",
    "plain": "{instruction}\n{input}\n{answer}",
    "cue": "{instruction}\n\nInput: {input}\nOutput: {answer}",
    "question": "{input}\nQuestion: {instruction}\nAnswer: {answer}",
    CHOICES: ANY_INPUT,
    RELEASED: in_one_line(ANY_INPUT),
}
FORMS_OF: Mapping[str, Mapping[tuple[str, ...], str]] = {  # templates that have other words for items of some fields
    CHOICES: FORMS,
    RELEASED: {fields: in_one_line(text) for fields, text in FORMS.items()},
}


@dataclass(frozen=True, slots=True)
class Template:
    """What is said once, then for each demonstration and for the item, and what stands before an answer."""

    head: str
    item: str
    gap: str
    fields: tuple[str, ...] = field(default=(), repr=False)  # of its items, where it is one of several forms
    forms: tuple[Template, ...] = field(default=(), repr=False)

    def on(self, fields: Collection[str]) -> Template:
        """Give the form for items with these fields, or else itself."""
        return next((form for form in self.forms if {*form.fields} == {*fields}), self)

    @property
    def keeps(self) -> Side:
        """Say which end of a prompt that is too long is kept: the one with the choices."""
        _, _, after = self.item.partition(f"{{{CHOICES}}}")
        return "start" if {*_slots(after)} - {*TASK_SLOTS} else "end"

    @property
    def slots(self) -> tuple[str, ...]:
        """Name the slots, each once."""
        return tuple(dict.fromkeys([*_slots(self.head), *_slots(self.item)]))

    def faults(self, fields: Collection[str]) -> Iterator[Note]:
        """Name slots that are unknown for items with these fields, and the fields that no slot shows."""
        known = [*TASK_SLOTS, TEXT, INPUT, *fields]
        for slot in self.slots:
            if slot not in known:
                yield Note.of("slot-unknown", slot=slot, hint=nearest(slot, [*known, ANSWER]))
        whole = any(slot in self.slots and self.is_whole(slot, fields) for slot in (TEXT, INPUT))
        if missing := [name for name in fields if name not in self.slots and not whole]:
            yield Note.of("input-not-shown", fields=missing)

    def is_whole(self, slot: str, fields: Collection[str]) -> bool:
        """Tell whether `text` or `input` is all inputs: it is, but for a field of that name beside others by name."""
        if self.fields:
            return False
        return slot not in fields or not any(name in self.slots for name in fields if name not in (TEXT, INPUT))


def template(name_or_text: str) -> Template:
    r"""Read a template: one of the table by its name, or a text with slots.

    Paragraphs before the first that shows something of the item are said once. The answer follows where `{answer}`
    stands, at the end; without it, after a colon in the same line, else in a new line.

    >>> template("{instruction}\n\nReview: {text}\nSentiment:")
    Template(head='{instruction}', item='Review: {text}\nSentiment:', gap=' ')
    """
    made = _template(TEMPLATES.get(name_or_text, name_or_text).strip())
    forms = FORMS_OF.get(name_or_text, {}).items()
    return replace(made, forms=tuple(replace(_template(text), fields=fields) for fields, text in forms))


def words_of(name_or_text: str) -> Json:
    """Give all that a template says: it names what was written in it, and its name alone would not."""
    text = TEMPLATES.get(name_or_text, name_or_text)
    forms = FORMS_OF.get(name_or_text)
    return [text, *([list(fields), words] for fields, words in forms.items()), SAID] if forms else text


def _template(text: str) -> Template:
    if "{" not in text:
        raise UsageError(Note.of("template-unknown", name=text, hint=nearest(text, TEMPLATES)))
    slots = _slots(text)
    if slots.count(ANSWER) > 1 or (ANSWER in slots and not text.endswith(f"{{{ANSWER}}}")):
        raise UsageError(Note.of("answer-not-last", template=text))
    body = text.removesuffix(f"{{{ANSWER}}}")
    gap = body[len(body.rstrip()) :] if ANSWER in slots else _usual_gap(body)
    paragraphs = body.rstrip().split(GAP)
    shows = (at for at, part in enumerate(paragraphs) if {*_slots(part)} - {*TASK_SLOTS})
    if (first := next(shows, None)) is None:
        raise UsageError(Note.of("input-slot-missing", template=text))
    return Template(GAP.join(paragraphs[:first]), GAP.join(paragraphs[first:]), gap)


@dataclass(frozen=True, slots=True)
class Prompting:
    """A task in the words of a template; a task with more labels than `most_labels` shows none."""

    task: Task
    template: Template
    most_labels: int = MOST_LABELS

    def text(self, item: Item, support: Sequence[Example] = ()) -> str:
        r"""Write the text up to where the answer begins, but for a space, which belongs to the answer's first token.

        >>> from taskloom.core import Text
        >>> task = Task(id="abstract->title", instruction="摘要->标题", output=Text(), metrics=())
        >>> Prompting(task, template("plain")).text(Item("1", {"摘要": "研究了城市道路绿化。"}))
        '摘要->标题\n研究了城市道路绿化。\n'
        """
        gap = self.template.gap
        shown = (f"{self.question(e.item)}{gap}{self.write(e.gold[0], e.item)}" for e in support)
        return GAP.join([*self._head(), *shown, self.question(item)]) + gap.rstrip(" ")

    def messages(self, item: Item, support: Sequence[Example] = ()) -> tuple[Message, ...]:
        """Write a conversation: each demonstration is a question and its answer; the first turn has the head."""
        asked = [self.question(e.item) for e in support] + [self.question(item)]
        asked[0] = GAP.join([*self._head(), asked[0]])
        answers = [self.write(e.gold[0], e.item) for e in support]
        turns = [(Message("user", q), Message("assistant", a)) for q, a in zip(asked, answers, strict=False)]
        return (*(message for turn in turns for message in turn), Message("user", asked[-1]))

    def after(self, answer: str) -> str:
        """Write an answer as it follows the text."""
        return self.template.gap[len(self.template.gap.rstrip(" ")) :] + answer

    def write(self, answer: Answer, item: Item) -> str:
        """Write an answer about an item; of a pair, Yes, No or Maybe for a label that says so."""
        return self._said(item).get(str(answer)) or write(self.task, answer)

    def read(self, text: str, item: Item, shown: Collection[Answer] = ()) -> Answer | None:
        """Read an answer about an item: one that was written, or the letter of a choice."""
        written = self._choices(item)
        return read_choice(written, text) if written else read(self.task, text, shown)

    def pick(self, text: str, item: Item) -> Answer | None:
        """Read an answer out of a longer text."""
        written = self._choices(item)
        return pick_choice(self.task, written, text) if written else pick(self.task, text)

    def keeps(self, item: Item) -> Side:
        """Say which end of a prompt that is too long is kept."""
        return self.template.on(item.fields).keeps

    def question(self, item: Item) -> str:
        """Write what is said of each item."""
        form = self.template.on(item.fields)
        joined = self.task.separator.join(item.fields.values())
        named = (f"{self.task.titles.get(name) or title_of(name)}: {value}" for name, value in item.fields.items())
        text = joined if len(item.fields) == 1 else "\n".join(named)
        both = {INPUT: joined, TEXT: text}.items()
        inputs = {name: whole for name, whole in both if form.is_whole(name, item.fields)}
        return _filled(form.item, dict(item.fields) | self._of_task(self._said(item)) | inputs)

    @property
    def hides_labels(self) -> bool:
        """Tell whether the template would show labels, and the task has too many."""
        return self._has_too_many and self.most_labels > 0 and bool({*LABEL_SLOTS} & {*self.template.slots})

    @property
    def _has_too_many(self) -> bool:
        return sum(len(names) for _, names in _labels(self.task)) > self.most_labels

    def _said(self, item: Item) -> dict[str, str]:
        """Give what is written for labels, where not their names: in the form of a pair."""
        is_pair = self.template.on(item.fields).fields == PAIR
        match self.task.output:
            case Labels(names=names, many=False) if is_pair and not self._has_too_many:
                return yes_no(names)
        return {}

    def _choices(self, item: Item) -> dict[str, str]:
        """Give what is written for each label, where labels are shown as choices, one of which is the answer."""
        is_shown = CHOICES in self.template.on(item.fields).slots and not self._has_too_many
        match self.task.output:
            case Labels(names=names, many=False) if is_shown:
                return {name: name for name in names} | self._said(item)
        return {}

    def _head(self) -> list[str]:
        head = _filled(self.template.head, self._of_task({}))
        return [head] if head else []

    def _of_task(self, said: Mapping[str, str]) -> dict[str, str]:
        parts = [] if self._has_too_many else _labels(self.task)
        return {
            "instruction": self.task.instruction,
            "labels": "; ".join((f"{of}: " if of else "") + ", ".join(names) for of, names in parts),
            "options": "\n".join("\n".join([*([f"{of}:"] if of else []), *(f"- {n}" for n in ns)]) for of, ns in parts),
            CHOICES: "; ".join((f"{of}: " if of else "") + lettered([said.get(n, n) for n in ns]) for of, ns in parts),
        }


def _labels(task: Task) -> list[tuple[str, tuple[str, ...]]]:
    """Give the labels of a task; those of an answer of several fields, by field."""
    match task.output:
        case Labels(names=names):
            return [("", names)]
        case Fields(parts=parts):
            found = [(name, part.names) for name, part in parts.items() if isinstance(part, Labels)]
            return [(task.titles.get(name) or title_of(name), names) for name, names in found]
    return []


def _slots(text: str) -> list[str]:
    """List the slots of a text, or refuse a brace that belongs to none."""
    found = [(hit[0], hit[1]) for hit in SLOT.finditer(text)]
    if any(hit in ("{", "}") or name == "" for hit, name in found):
        raise UsageError(Note.of("brace-unpaired", template=text))
    return [name for _, name in found if name is not None]


def _usual_gap(body: str) -> str:
    return {":": " ", "：": ""}.get(body.rstrip()[-1:], "\n")


def _filled(text: str, values: Mapping[str, str]) -> str:
    """Put values into slots; a line is dropped whose slots are all of the task and empty, and so is its paragraph."""
    kept = ([line for line in part.split("\n") if not _is_void(line, values)] for part in text.split(GAP))
    return GAP.join("\n".join(_line(line, values) for line in lines) for lines in kept if lines)


def _is_void(line: str, values: Mapping[str, str]) -> bool:
    slots = _slots(line)
    return bool(slots) and all(slot in TASK_SLOTS and not values[slot] for slot in slots)


def _line(line: str, values: Mapping[str, str]) -> str:
    return SLOT.sub(lambda hit: BRACES.get(hit[0]) or values[hit[1]], line)
