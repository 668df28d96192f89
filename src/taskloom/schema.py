"""Plain values, as files hold them, to the fields of dataclasses: a field's type decides what is valid.

One reader for all that is declared outside of Python: study files, and the options of views and benchmarks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from types import UnionType
from typing import Any, Literal, Protocol, TypeVar, Union, get_args, get_origin, get_type_hints

from .errors import TaskloomError, nearest

T = TypeVar("T")
SHOWN = 40  # characters of a wrong value
NAMES_IN_TYPES = {"Literal": Literal}  # for aliases that are written as texts
_NAMES = {str: "a text", bool: "true or false", int: "an integer >= 0", float: "a number"}
_PLURALS: Mapping[Any, str] = {str: "texts", int: "integers >= 0", float: "numbers"}


def key(default: Any = MISSING, *, default_factory: Any = MISSING, **metadata: Any) -> Any:
    """Declare a field that is not read by its type and name alone.

    `name` is its key in a file; `read(node, key, default)` reads it instead of its type; `beside` says that the fields
    of a dataclass are keys of the same mapping, but for those that it names; what is `outside` is no key.
    """
    if default_factory is not MISSING:
        return field(default_factory=default_factory, metadata=metadata)
    return field(default=default, metadata=metadata)


class FindPlace(Protocol):
    """Find where something is written, as file, line and column; "" where that is unknown."""

    def __call__(self, values: Any, key: str | int, *, of_key: bool = False) -> str:
        """Find the value of a key, an item of a list, or the key itself."""


def no_place(values: Any, key: str | int, *, of_key: bool = False) -> str:  # noqa: ARG001 (a FindPlace)
    """Find no place, for values that were not read from a file."""
    return ""


@dataclass(slots=True)
class Node:
    """A mapping whose values are taken one by one; a key that is not taken is a fault."""

    values: Mapping[str, Any]
    note: Callable[[str, str], None]  # called with the place of a fault, and its text
    find: FindPlace = no_place
    of: str = ""  # what the mapping belongs to, as in " of protocol"
    at: str = ""  # its own place
    known: list[str] = field(default_factory=list)

    def below(self, values: Mapping[str, Any], of: str, at: str) -> Node:
        """Go on with a mapping that is a part of this one."""
        return Node(values, self.note, self.find, of, at)

    def place(self, key: str | int | None = None, within: Any = None, *, of_key: bool = False) -> str:
        """Find where the value of a key is written, an item of a list, or the key itself."""
        if key is None:
            return self.at
        return self.find(self.values if within is None else within, key, of_key=of_key) or self.at

    def fault(self, key: str | int | None, what: str, within: Any = None, *, of_key: bool = False) -> None:
        """Note a fault of the value of a key, of an item of a list, or of the key itself."""
        self.note(self.place(key, within, of_key=of_key), what)

    def take(self, key: str, kind: Any, default: Any) -> Any:
        """Take a value of some type, or the default."""
        self.known.append(key)
        if key not in self.values:
            return default
        value = self.values[key]
        try:
            found = converted(value, kind)
        except ValueError:
            item = _wrong_item(value, kind)
            at = (key, None) if item is None else (item, value)
            self.fault(
                at[0], f"{key} must be {described(kind)}: {short(value if item is None else value[item])}", at[1]
            )
            return default
        if found == () and default:
            self.fault(key, f"{key} must not be empty: {short(value)}")
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
                self.fault(key, f"unknown key {key!r}{self.of}; {nearest(str(key), self.known)}", of_key=True)


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
        return _read_by(reader, node, key, default)
    return node.take(key, hint, default)


def _read_by(reader: Callable[[Node, str, Any], Any], node: Node, key: str, default: Any) -> Any:
    """Read a value by a function of its own; what that refuses is a fault, and the keys after it are read."""
    try:
        return reader(node, key, default)
    except TaskloomError as error:
        node.fault(key, str(error))
        return default


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


def _wrong_item(value: Any, kind: Any) -> int | None:
    """Find the item of a list that is of another type than a list of this kind takes."""
    lists = [part for part in (kind, *get_args(kind)) if get_origin(part) is tuple]
    if not isinstance(value, list | tuple) or not lists:
        return None
    wanted = get_args(lists[0])[0]
    return next((at for at, one in enumerate(value) if not _is_converted(one, wanted)), None)


def _is_converted(value: Any, kind: Any) -> bool:
    try:
        converted(value, kind)
    except ValueError:
        return False
    return True


def _is_plain(value: Any, kind: type) -> bool:
    """Check the type of a plain value: true is not a number, an integer is one, and integers are not negative."""
    if isinstance(value, bool) or kind is bool:
        return isinstance(value, bool) and kind is bool
    if kind is int:
        return isinstance(value, int) and value >= 0
    return isinstance(value, (int, float) if kind is float else kind)


def described(kind: Any) -> str:
    """Describe the values that a type takes.

    >>> described(int | Literal["all"]), described(tuple[str, ...]), described(int | tuple[int, ...])
    ('an integer >= 0 or all', 'a text or a list of texts', 'an integer >= 0 or a list of integers >= 0')
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Literal:
        return " or ".join(map(str, parts))
    if origin in (Union, UnionType):
        listed = {get_args(part)[0] for part in parts if get_origin(part) is tuple}
        return " or ".join(dict.fromkeys(described(part) for part in parts if part not in listed))
    if origin is tuple:
        return f"{described(parts[0])} or a list of {_PLURALS.get(parts[0], 'them')}"
    if origin is Mapping:
        return "a mapping" if parts[1] is Any else f"a mapping to {_PLURALS.get(parts[1], described(parts[1]))}"
    return _NAMES.get(kind, str(kind))


def short(value: Any) -> str:
    """Show a wrong value; of a long one, the beginning."""
    return repr(value) if isinstance(value, int | float) else repr(str(value)[:SHOWN])
