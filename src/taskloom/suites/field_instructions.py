"""What a field task asks for, in words: as the user wrote it, or made from the names and kinds of its fields."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from ..errors import UsageError, nearest
from ..messages import Note
from ..sources.table import Field
from ..texts import readable

ARROW, PLUS = "->", "+"
SLOTS = ("inputs", "outputs", "task")
ARROWS = "{task}"  # the published instruction of CSL: the titles of fields around an arrow
SLOT = re.compile(r"\{([^{}\n]*)\}")
LABEL_NAMES = ("label", "class", "gold", "y", "target")  # that say no more than that it is a label


def instruction(given: str | Mapping[str, str], name: str, inputs: Sequence[Field], outputs: Sequence[Field]) -> str:
    """Give the instruction of a task: the text that is given for it, with its slots filled, or one that is made.

    >>> title, topic = Field("title", "text"), Field("topic_area", "label")
    >>> instruction("", "title->topic_area", [title], [topic])
    'Read the title and choose the topic area.'
    >>> instruction({"*->topic_area": "What is the {outputs}?"}, "title->topic_area", [title], [topic])
    'What is the topic area?'
    """
    text = _text_for(given, name)
    if not text:
        return made(inputs, outputs)
    values = {
        "inputs": _listed([readable(f.title) for f in inputs]),
        "outputs": _listed([readable(f.title) for f in outputs]),
        "task": f"{PLUS.join(f.title for f in inputs)}{ARROW}{PLUS.join(f.title for f in outputs)}",
    }
    return SLOT.sub(lambda slot: values[slot[1]], text)


def check_instruction(given: str | Mapping[str, str], tasks: Sequence[str]) -> None:
    """Refuse slots and tasks that are unknown, naming all of them at once."""
    texts = {"": given} if isinstance(given, str) else given
    faults = [
        str(Note.of("instruction-slot-unknown", slot=slot, hint=nearest(slot, SLOTS)))
        for slot in dict.fromkeys(slot for text in texts.values() for slot in SLOT.findall(text))
        if slot not in SLOTS
    ]
    unknown = [pattern for pattern in texts if pattern and not any(_is_for(pattern, task) for task in tasks)]
    faults += [f"unknown tasks: {pattern!r}; {nearest(pattern, tasks)}" for pattern in unknown]
    if faults:
        raise UsageError("; ".join(faults))


def made(inputs: Sequence[Field], outputs: Sequence[Field]) -> str:
    """Make an instruction from the names and kinds of fields; Chinese where their titles are.

    >>> made([Field("text", "text")], [Field("label", "label")])
    'Classify the text.'
    >>> made([Field("title", "text"), Field("abstract", "text")], [Field("keywords", "list"), Field("year", "number")])
    'Read the title and the abstract, and write the keywords (separated by ";") and the year (a number), one per line.'
    >>> made([Field("a", "text", "摘要")], [Field("t", "text", "标题"), Field("k", "list", "关键词")])
    '根据摘要写出标题和关键词（用“;”分隔），每行一项。'
    """
    if [f.name for f in inputs] == [f.name for f in outputs]:
        return _rewrite(inputs)
    if all(_is_chinese(f.title) for f in (*inputs, *outputs)):
        return _chinese(inputs, outputs)
    read = _listed([_with_article(f) for f in inputs])
    if len(outputs) == 1 and outputs[0].kind == "label" and outputs[0].title.lower() in LABEL_NAMES:
        return f"Classify {read}."
    verb = "choose" if all(f.kind == "label" for f in outputs) else "write"
    wanted = _listed([_with_article(f) + _form(f) for f in outputs])
    joined = f"Read {read}, and {verb}" if len(inputs) > 1 else f"Read {read} and {verb}"
    return f"{joined} {wanted}" + (", one per line." if len(outputs) > 1 else ".")


def _rewrite(fields: Sequence[Field]) -> str:
    if all(_is_chinese(f.title) for f in fields):
        return f"改写{_listed([f.title for f in fields], '、', '和')}。"
    return f"Rewrite {_listed([_with_article(f) for f in fields])}."


def _chinese(inputs: Sequence[Field], outputs: Sequence[Field]) -> str:
    read, wanted = (
        _listed([f.title + _form_zh(f) * (f in outputs) for f in some], "、", "和") for some in (inputs, outputs)
    )
    verb = "选出" if all(f.kind == "label" for f in outputs) else "写出"
    return f"根据{read}{verb}{wanted}" + ("，每行一项。" if len(outputs) > 1 else "。")


def _is_chinese(title: str) -> bool:
    return bool(re.search(r"[\u4e00-\u9fff]", title))


def _form(field: Field) -> str:
    if field.kind == "list":
        return f' (separated by "{field.separator.strip() or field.separator}")'
    return " (a number)" if field.kind == "number" else ""


def _form_zh(field: Field) -> str:
    if field.kind == "list":
        return f"（用“{field.separator.strip() or field.separator}”分隔）"
    return "（数字）" if field.kind == "number" else ""


def _with_article(field: Field) -> str:
    """Put an article before a name, but not before one with a number, such as text1."""
    words = readable(field.title)
    return words if words[-1].isdecimal() else f"the {words}"


def _listed(names: Sequence[str], comma: str = ", ", last: str = " and ") -> str:
    return last.join(filter(None, [comma.join(names[:-1]), names[-1]]))


def _text_for(given: str | Mapping[str, str], name: str) -> str:
    if isinstance(given, str):
        return given
    return next((text for pattern, text in given.items() if _is_for(pattern, name)), "")


def _is_for(pattern: str, task: str) -> bool:
    return pattern == task or fnmatchcase(task, pattern)
