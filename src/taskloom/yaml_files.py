"""Safe YAML: plain values alone, and limits on levels, aliases and numbers, so that a small file stays small."""

from __future__ import annotations

from typing import Any, Literal

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer, ComposerError
from ruamel.yaml.constructor import ConstructorError, DuplicateKeyError, RoundTripConstructor, SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent
from ruamel.yaml.nodes import MappingNode, ScalarNode
from ruamel.yaml.scanner import RoundTripScanner, Scanner, ScannerError

from .limits import MOST_NESTED

TAGS = (None, "!", "tag:yaml.org,2002:str")  # that may be written: others make what is no plain value
MOST_BITS = 63  # of an integer, beside its sign: no ledger holds more
LONG = f"an integer of more than {MOST_BITS:,} bits"
LONGEST = 1_000  # characters of an integer: one of few bits may begin with zeros
INTEGER = "tag:yaml.org,2002:int"
MOST_VALUES = 100_000  # once aliases are written out: a study of 10,000 tasks has as many; aliases make billions


class YamlError(ValueError):
    """What is wrong with a text of YAML, and where: its line and column from 1, or 0 where that is not known."""

    def __init__(self, problem: str, line: int = 0, column: int = 0) -> None:
        super().__init__(problem)
        self.line, self.column = line, column


def load_yaml(text: str, kind: Literal["rt", "safe"] = "rt") -> Any:
    """Read YAML; the values of "rt" know their lines and columns.

    >>> load_yaml("{a: [1, yes]}", "safe")
    {'a': [1, 'yes']}
    """
    reader: Any = YAML(typ=kind, pure=True)
    reader.Scanner, reader.Composer, reader.Constructor = _SCANNERS[kind], _Limited, _CONSTRUCTORS[kind]
    try:
        return reader.load(text)
    except MarkedYAMLError as error:
        mark, problem = error.problem_mark, str(error.problem)
        if isinstance(error, DuplicateKeyError):
            key = problem.partition('"')[2].partition('" with value')[0]
            problem = f"duplicate key: {key!r}"
        else:
            problem = f"invalid YAML ({problem})"
        raise YamlError(problem, *((mark.line + 1, mark.column + 1) if mark else ())) from None
    except YAMLError as error:  # a character that no file may hold
        raise YamlError(f"invalid YAML ({str(error).splitlines()[0]})") from None


class _Shallow(Scanner):
    """Refuses brackets that are nested too deep: it reads ahead, and takes seconds for a thousand of them."""

    def fetch_flow_collection_start(self, *given: Any, **named: Any) -> None:
        """Take a bracket."""
        if len(self.flow_context) >= MOST_NESTED:
            raise ScannerError(None, None, f"more than {MOST_NESTED} levels", self.reader.get_mark())
        super().fetch_flow_collection_start(*given, **named)


class _ShallowRoundTrip(_Shallow, RoundTripScanner):
    """The same of values that know their lines."""


_SCANNERS = {"safe": _Shallow, "rt": _ShallowRoundTrip}


class _Limited(Composer):
    """Refuses what is nested too deep, refers to itself, or is too much once aliases are written out."""

    def __init__(self, loader: Any = None) -> None:
        super().__init__(loader=loader)
        self.warn_double_anchors = False  # the last one counts, as YAML has it
        self.level = self.values = 0
        self.sizes: dict[str, int] = {}  # of what anchors name

    def compose_node(self, parent: Any, index: Any) -> Any:
        event, before = self.parser.peek_event(), self.values
        if isinstance(event, AliasEvent):
            if event.anchor in self.anchors and event.anchor not in self.sizes:
                raise ComposerError(None, None, f"{event.anchor!r} refers to itself", event.start_mark)
            self.values += self.sizes.get(event.anchor, 0)
        else:
            self.sizes.pop(event.anchor, None)
            if event.tag not in TAGS:
                raise ComposerError(None, None, f"tags are not supported: {str(event.tag)[:40]!r}", event.start_mark)
        self.values, self.level = self.values + 1, self.level + 1
        if self.level > MOST_NESTED:
            raise ComposerError(None, None, f"more than {MOST_NESTED} levels", event.start_mark)
        if self.values > MOST_VALUES:
            raise ComposerError(None, None, f"more than {MOST_VALUES:,} values", event.start_mark)
        node = super().compose_node(parent, index)
        self.level -= 1
        for key, _ in node.value if isinstance(node, MappingNode) else ():
            if not isinstance(key, ScalarNode):
                raise ComposerError(None, None, "a key must be a text or a number", key.start_mark)
        if event.anchor is not None and not isinstance(event, AliasEvent):
            self.sizes[event.anchor] = self.values - before
        return node


class _Placed:
    """Names the place of a value that can't be read, such as a day that no month has."""

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        try:
            if _is_long_number(node):
                raise ValueError(LONG)
            found = super().construct_object(node, deep=deep)  # type: ignore[misc]
            if isinstance(found, int) and found.bit_length() > MOST_BITS:
                raise ValueError(LONG)
        except (ValueError, ArithmeticError, LookupError, TypeError, AttributeError, AssertionError) as error:
            raise ConstructorError(None, None, _reason(error, node), node.start_mark) from None
        return found


def _is_long_number(node: Any) -> bool:
    """Tell an integer that Python would not even read: it gives advice on that, for programmers."""
    return isinstance(node, ScalarNode) and node.tag == INTEGER and len(node.value) > LONGEST


def _reason(error: Exception, node: Any) -> str:
    value = node.value if isinstance(node.value, str) else ""
    reason = str(error) if isinstance(error, ValueError) else "it has another type than its tag says"
    return f"{reason[:100]}: {value[:40]!r}" if value else reason[:100]


class _PlacedRoundTrip(_Placed, RoundTripConstructor):
    pass


class _PlacedSafe(_Placed, SafeConstructor):
    pass


_CONSTRUCTORS = {"rt": _PlacedRoundTrip, "safe": _PlacedSafe}
