"""What `--help` prints: usage, arguments, options and examples in one plain layout that fits any width."""

from __future__ import annotations

import re
import shlex
import shutil
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import typer
from typer.core import TyperCommand, TyperGroup

from .arguments import check_given

Rows: TypeAlias = Sequence[tuple[str, str]]  # names and what they mean
NARROWEST, WIDEST = 40, 110  # characters of a line
NAMES = 26  # characters of a name that has its explanation beside it; a longer one has it below
SUITES, STUDIES, PEOPLE, NAMED = "Suites of tasks", "Studies and results", "Human evaluation", "Names, data and models"
VERBS = "Verbs"  # the heading of those that have no other
HEADINGS = (SUITES, STUDIES, PEOPLE, NAMED, VERBS)  # of verbs, in the order in which they are shown


class Verb(TyperCommand):
    """A command that checks what it is given, and prints its help in our layout."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Check values as they were typed, then make of them what the verb takes."""
        if not ctx.resilient_parsing and self.callback:
            given, *_ = self.make_parser(ctx).parse_args(args=list(args))
            check_given(self.get_params(ctx), given, self.callback)
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write usage, explanations and examples."""
        formatter.write(help_text(self, ctx))


class Verbs(TyperGroup):
    """A group of commands that prints its help in our layout."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write usage, explanations, the verbs under their headings, and examples."""
        formatter.write(help_text(self, ctx))


def help_text(command: Any, ctx: Any) -> str:
    """Write the help of a command or of a group of them."""
    width = min(WIDEST, max(NARROWEST, shutil.get_terminal_size().columns))
    shown = [param for param in command.get_params(ctx) if not getattr(param, "hidden", False)]
    arguments = [param for param in shown if param.param_type_name == "argument"]
    options = [param for param in shown if param.param_type_name == "option"]
    parts = [_usage(command, ctx, shown, width), textwrap.fill(command.help or "", width)]
    parts += _sections({"Arguments": [(_name(param), _explained(param)) for param in arguments]}, width)
    parts += _sections(_verbs(command, ctx), width) if isinstance(command, TyperGroup) else []
    parts += _sections({"Options": [(_option(param), _explained(param)) for param in options]}, width)
    return "\n\n".join([*parts, *_examples(command.epilog or "", width)]) + "\n"


def _usage(command: Any, ctx: Any, params: Iterable[Any], width: int) -> str:
    words = []
    for param in params:
        if param.param_type_name == "argument":
            words.append(_name(param) if param.required else f"[{_name(param)}]")
        elif param.required:
            words.append(f"{param.opts[-1]} {_value(param)}")
    words += ["VERB ..."] if isinstance(command, TyperGroup) else ["[options]"]
    return _wrapped(["usage:", ctx.command_path, *words], width, indent="  ", end="")


def _name(param: Any) -> str:
    name = param.metavar or param.name.upper()
    return name if param.nargs == 1 or name.endswith("...") else f"{name}..."


def _value(param: Any) -> str:
    return param.metavar or "TEXT"


def _option(param: Any) -> str:
    """Write an option with its short form first, where it has one, and with its value unless it is a flag."""
    names = sorted(param.opts, key=len)
    aligned = "" if len(names[0]) == 2 else "    "
    return aligned + ", ".join(names) + ("" if param.is_flag else f" {_value(param)}")


def _explained(param: Any) -> str:
    """Give the explanation, and say whether a parameter is required, may be repeated, or has a default."""
    is_option = param.param_type_name == "option"
    facts = ["required"] if is_option and param.required else []
    facts += ["repeatable"] if is_option and param.multiple else []
    facts += [f"default: {param.default}"] if _has_default(param) else []
    said = f"({', '.join(facts)})" if facts else ""
    return f"{param.help or ''} {said}".strip()


def _has_default(param: Any) -> bool:
    return isinstance(param.default, str | int) and not isinstance(param.default, bool) and bool(param.default)


def _verbs(group: Any, ctx: Any) -> dict[str, list[tuple[str, str]]]:
    """List the verbs of a group under their headings."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name in group.list_commands(ctx):
        verb = group.get_command(ctx, name)
        if not verb.hidden:
            rows = found.setdefault(getattr(verb, "rich_help_panel", None) or VERBS, [])
            rows.append((name, verb.short_help or verb.help or ""))
    return {heading: found[heading] for heading in HEADINGS if heading in found}


def _sections(sections: Mapping[str, Rows], width: int) -> list[str]:
    """Write rows under their headings, all with the same indent; a heading without rows is not shown."""
    names = [name for rows in sections.values() for name, _ in rows]
    room = max((len(name) for name in names if len(name) <= NAMES), default=NAMES)
    return ["\n".join([_heading(title), *_listed(rows, width, room)]) for title, rows in sections.items() if rows]


def _listed(rows: Rows, width: int, room: int) -> Iterator[str]:
    """Write names with their explanations beside them, or below where a name is long."""
    for name, text in rows:
        lines = textwrap.wrap(text, width - room - 4, break_on_hyphens=False) or [""]
        if len(name) <= room:
            yield f"  {name:<{room}}  {lines[0]}".rstrip()
            lines = lines[1:]
        else:
            yield f"  {name}"
        yield from (f"{'':{room + 4}}{line}" for line in lines)


def _examples(epilog: str, width: int) -> list[str]:
    """Write examples, one below the other, and what else stands at the end."""
    commands = [line for line in epilog.splitlines() if line.startswith("taskloom ")]
    others = [textwrap.fill(line, width) for line in epilog.splitlines() if line and line not in commands]
    shown = [_wrapped(_quoted(command), width - 2, indent="      ", end=" \\") for command in commands]
    return ["\n".join([_heading("Examples"), *(f"  {one}" for one in shown)])] * bool(shown) + others


def _quoted(command: str) -> list[str]:
    """Split a command where a line may end: an option stays beside its value."""
    words: list[str] = []
    for word in map(shlex.quote, shlex.split(command)):
        if words and re.fullmatch("--?[a-z-]+", words[-1]) and not word.startswith("-"):
            words[-1] += f" {word}"
        else:
            words.append(word)
    return words


def _wrapped(words: Sequence[str], width: int, *, indent: str, end: str) -> str:
    """Break a command between words; lines that go on have an end that a shell reads over."""
    lines = [words[0]]
    for word in words[1:]:
        if len(lines[-1]) + 1 + len(word) + len(end) > width:
            lines[-1] += end
            lines.append(indent + word)
        else:
            lines[-1] += f" {word}"
    return "\n".join(lines)


def _heading(text: str) -> str:
    return typer.style(text, bold=True)


def example(*lines: str) -> str:
    """Declare the examples of a command."""
    return "\n".join(lines)
