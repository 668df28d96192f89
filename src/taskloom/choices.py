"""Lettered choices: labels as multiple-choice questions write them, and the wordings of UniFew for forms of input.

The wordings are those of FLEX (Bragg et al. 2021, appendix C), which follow UnifiedQA (Khashabi et al. 2020). What is
written is a label, or Yes, No or Maybe for it; a letter is read too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from string import ascii_uppercase

from .core import Labels, Task
from .prompts import pick as pick_label

CHOICES = "choices"  # the slot of lettered labels, and the name of the wordings
RELEASED = "unifiedqa"  # the same wordings, with \n as two characters, as UnifiedQA was trained
PAIR = ("text1", "text2")
ANY_INPUT = "{instruction}\n {choices}\n {text}\n{answer}"
FORMS: Mapping[tuple[str, ...], str] = {  # by the fields of an item; others are asked by the task's instruction
    ("text",): "Topic?\n {choices}\n {text}\n{answer}",
    PAIR: "{text1} Is {text2}?\n {choices}\n{answer}",
    ("text", "mention1", "mention2"): "{mention1} to {mention2}?\n {choices}\n {text}\n{answer}",
    ("text", "mention"): "What is the type of the entity between the # marks?\n {choices}\n {text}\n{answer}",
}
YES, NO, MAYBE = "Yes", "No", "Maybe"
AGREEING = ("entailment", "entails", "equivalent", "duplicate", "paraphrase")
SAID: Mapping[str, str] = {  # what is written for a label of a pair
    **dict.fromkeys(AGREEING, YES),
    **{f"not {label}": NO for label in AGREEING},
    "contradiction": NO,
    "neutral": MAYBE,
}
LETTERED = re.compile(r"(?:\(([A-Z]{1,2})\)|([A-Z]{1,2})[).:]|([A-Z]{1,2})(?=$))\s*(.*)", re.DOTALL)
LETTER_IN = re.compile(r"\(([A-Z]{1,2})\)")


def in_one_line(text: str) -> str:
    r"""Write a wording as UnifiedQA was trained: \n is two characters, for its tokenizer knows no line ends.

    >>> print(in_one_line("Topic?\n {choices}\n {text}\n{answer}"))
    Topic? \n {choices} \n {text} {answer}
    """
    return text.replace("\n{answer}", " {answer}").replace("\n", r" \n")


def letter(place: int) -> str:
    """Give the letter of a place; after Z comes AA, as columns of spreadsheets go.

    >>> letter(0), letter(25), letter(26)
    ('A', 'Z', 'AA')
    """
    before, last = divmod(place, len(ascii_uppercase))
    return (letter(before - 1) if before else "") + ascii_uppercase[last]


def lettered(names: Collection[str]) -> str:
    """Write labels as choices.

    >>> lettered(["sports", "law"])
    '(A) sports (B) law'
    """
    return " ".join(f"({letter(place)}) {name}" for place, name in enumerate(names))


def yes_no(labels: Sequence[str]) -> dict[str, str]:
    """Say what is written for the labels of a pair: Yes, No and Maybe; nothing where any label is not known.

    Of two labels one of which is Yes, the other is No.

    >>> yes_no(["entailment", "neutral", "contradiction"])
    {'entailment': 'Yes', 'neutral': 'Maybe', 'contradiction': 'No'}
    >>> yes_no(["neutral", "entailment"])
    {'neutral': 'No', 'entailment': 'Yes'}
    >>> yes_no(["positive", "negative"])
    {}
    """
    said = {label: SAID.get(re.sub(r"[\s_-]+", " ", label).strip().casefold(), "") for label in labels}
    if {*said.values()} == {YES, MAYBE}:
        said = {label: NO if word == MAYBE else word for label, word in said.items()}
    return said if all(said.values()) and len({*said.values()}) == len(said) else {}


def read_choice(written: Mapping[str, str], text: str) -> str | None:
    """Read the label that a text is: by what is written for it, by its letter, or by both if they agree.

    >>> written = {"entailment": "Yes", "contradiction": "No"}
    >>> [read_choice(written, text) for text in ("No", "(B)", "B", "(B) No", "(A) No", "perhaps")]
    ['contradiction', 'contradiction', 'contradiction', 'contradiction', None, None]
    """
    text = text.strip()
    exact = next((label for label, word in written.items() if word == text), None)
    if exact is not None or not (hit := LETTERED.fullmatch(text)):
        return exact
    label = _at(written, next(filter(None, hit.groups()[:3])))
    return label if label is not None and hit[4] in ("", written[label]) else None


def pick_choice(task: Task, written: Mapping[str, str], text: str) -> str | None:
    """Find the only label that a longer text names, or else the only letter in brackets."""
    spoken = replace(task, output=Labels(tuple(written.values())))
    named = pick_label(spoken, text)
    if named is not None:
        return next(label for label, word in written.items() if word == named)
    found = {label for hit in LETTER_IN.finditer(text) if (label := _at(written, hit[1])) is not None}
    return found.pop() if len(found) == 1 else None


def _at(written: Mapping[str, str], letters: str) -> str | None:
    return next((label for place, label in enumerate(written) if letter(place) == letters), None)
