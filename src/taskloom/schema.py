"""Values of plain kinds, as files hold them, to the fields of dataclasses: a field's type says what is taken.

One reader for all that is declared outside of Python: study files, and the options of views and benchmarks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from .errors import TaskloomError, nearest

T = TypeVar("T")
SHOWN = 40  # characters of a wrong value
NAMES_IN_TYPES = {"Literal": Literal}  # for aliases that are written as texts
_NAMES = {str: "text", bool: "true or false", int: "an integer >= 0", float: "a number"}


def key(default: Any = MISSING, *, default_factory: Any = MISSING, **metadata: Any) -> Any:
    """Declare a field that is not read by its type and name alone.

    `name` is its key in a file; `read(node, key, default)` reads it instead of its type; `beside` says that the fields
    of a dataclass are keys of the same mapping, but for those that it names; what is `outside` is no key.
    """
    if default_factory is not MISSING:
        return field(default_factory=default_factory, metadata=metadata)
    return field(default=default, metadata=metadata)


def nowhere(values: Mapping[str, Any], key: str | int | None) -> str:  # noqa: ARG001 (as all that find places)
    """Find no place, for values that were not read from a file."""
    return ""


@dataclass(slots=True)
class Node:
    """A mapping whose values are taken one by one; what is not taken is a fault."""

    values: Mapping[str, Any]
    note: Callable[[str, str], None]  # is told the place of a fault, and what is wrong
    find: Callable[[Any, str | int | None], str] = nowhere  # finds the place of a key, or of an item of a list
    of: str = ""  # what the mapping belongs to, as in " of protocol"
    at: str = ""  # its own place
    known: list[str] = field(default_factory=list)

    def below(self, values: Mapping[str, Any], of: str, at: str) -> Node:
        """Go on with a mapping that is a part of this one."""
        return Node(values, self.note, self.find, of, at)

    def place(self, key: str | int | None = None, within: Any = None) -> str:
        """Say where a key is written, or an item of a list."""
        return (self.find(self.values if within is None else within, key) if key is not None else "") or self.at

    def fault(self, key: str | int | None, what: str, within: Any = None) -> None:
        """Note what is wrong with the value of a key, or an item of a list."""
        self.note(self.place(key, within), what)

    def take(self, key: str, kind: Any, default: Any) -> Any:
        """Take a value of some type, or the default."""
        self.known.append(key)
        if key not in self.values:
            return default
        value = self.values[key]
        try:
            found = converted(value, kind)
        except ValueError:
            self.fault(key, f"{key} must be {described(kind)}: {short(value)}")
            return default
        if found == () and default:
            self.fault(key, f"{key} must be one or more: {short(value)}")
        return found

    def mapping(self, key: str) -> Node:
        """Take a mapping; none, or one without content, is empty."""
        value = self.values.get(key) or {}
        if not isinstance(value, Mapping):
            self.fault(key, f"{key} must be a mapping: {short(value)}")
        self.known.append(key)
        return self.below(value if isinstance(value, Mapping) else {}, f" of {key}", self.place(key))

    def finish(self) -> None:
        """Note every key that was not taken."""
        for key in self.values:
            if key not in self.known:
                self.fault(key, f"unknown key {key!r}{self.of}; {nearest(str(key), self.known)}")


def read(kind: type[T], node: Node, base: T | None = None) -> T | None:
    """Read a dataclass, with defaults of its own or of another one; None where something that it needs is missing.

    >>> @dataclass(frozen=True)
    ... class Size:
    ...     width: int = 1
    ...     unit: Literal["mm", "cm"] = "mm"
    >>> read(Size, Node({"width": 7, "unit": "inch"}, lambda place, what: print(what)))
    unit must be mm or cm: 'inch'
    Size(width=7, unit='mm')
    """
    made = taken(kind, node, base)
    node.finish()
    return made


def taken(kind: type[T], node: Node, base: T | None = None) -> T | None:
    """Read a dataclass from a mapping that has more keys than its own."""
    hints = get_type_hints(kind, localns=NAMES_IN_TYPES)
    wanted = [f for f in fields(kind) if f.init and not f.metadata.get("outside")]  # type: ignore[arg-type]
    try:
        found = {f.name: _value(f, hints[f.name], node, base) for f in wanted}
        return None if MISSING in found.values() else kind(**found)
    except TaskloomError as error:  # values that do not go together
        node.fault(None, str(error))
        return None


def _value(of: Field[Any], hint: Any, node: Node, base: Any) -> Any:
    key, default = of.metadata.get("name", of.name), _default(of) if base is None else getattr(base, of.name)
    if skipped := of.metadata.get("beside"):
        return _beside(default, hint, node, skipped)
    if default is MISSING and key not in node.values:
        node.fault(None, f"missing key {key!r}{node.of}")
    if reader := of.metadata.get("read"):
        node.known.append(key)
        return reader(node, key, default)
    return node.take(key, hint, default)


def _beside(base: Any, kind: Any, node: Node, skipped: tuple[str, ...]) -> Any:
    hints = get_type_hints(kind, localns=NAMES_IN_TYPES)
    kept = {f.name: getattr(base, f.name) for f in fields(kind) if f.name in skipped}
    read = {f.name: _value(f, hints[f.name], node, base) for f in fields(kind) if f.name not in skipped}
    return kind(**kept, **read)


def _default(of: Field[Any]) -> Any:
    return of.default if of.default_factory is MISSING else of.default_factory()


def converted(value: Any, kind: Any) -> Any:
    """Give a value the type that is wanted, or raise ValueError; one text stands for a list of it.

    >>> converted("a", tuple[str, ...]), converted(["a", "b"], tuple[str, ...])
    (('a',), ('a', 'b'))
    """
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin in (Union, UnionType):
        return _first(value, parts)
    if origin is Literal and any(value == part and isinstance(value, type(part)) for part in parts):
        return value
    if origin is tuple and not isinstance(value, Mapping):
        return tuple(converted(one, parts[0]) for one in (value if isinstance(value, list | tuple) else [value]))
    if origin is Mapping and isinstance(value, Mapping):
        return {converted(name, parts[0]): converted(one, parts[1]) for name, one in value.items()}
    if origin is None and _is_plain(value, kind):
        return value
    raise ValueError


def _first(value: Any, kinds: tuple[Any, ...]) -> Any:
    for kind in kinds:
        try:
            return converted(value, kind)
        except ValueError:
            continue
    raise ValueError


def _is_plain(value: Any, kind: type) -> bool:
    """Tell a value of a plain type: true is no number, and a whole number is one; none is below nought."""
    if isinstance(value, bool) or kind is bool:
        return isinstance(value, bool) and kind is bool
    if kind is int:
        return isinstance(value, int) and value >= 0
    return isinstance(value, (int, float) if kind is float else kind)


def described(kind: Any) -> str:
    """Say which values a type takes.

    >>> described(int | Literal["all"]), described(tuple[str, ...])
    ('an integer >= 0 or all', 'text, or a list of that')
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Literal:
        return " or ".join(map(str, parts))
    if origin in (Union, UnionType):
        return " or ".join(map(described, parts))
    if origin is tuple:
        return f"{described(parts[0])}, or a list of that"
    if origin is Mapping:
        return "a mapping" if parts[1] is Any else f"a mapping to {described(parts[1])}"
    return _NAMES.get(kind, str(kind))


def short(value: Any) -> str:
    """Show a value that is wrong, the beginning of a long one."""
    return repr(value) if isinstance(value, int | float) else repr(str(value)[:SHOWN])
