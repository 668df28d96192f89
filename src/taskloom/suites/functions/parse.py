"""Text to functions: the published syntax, and the names of the paper's tables.

`antonyms[eng](0)`, `is{POS=noun}[eng](0)`, `wiki{mother(creator(0))}`, `map{random{0}[eng](0)}(S)`; as the paper prints
them, `antonyms[eng](entailments[eng])`, `is-POS-noun[eng]`, `map{λx. random-seed0[eng](x)}`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken

from ...errors import nearest
from ...limits import whole_number
from ...messages import Note
from .forms import canonical, checked, other_expected, type_of
from .language import (
    FACTS,
    OPERATIONS,
    SEQUENCE,
    Combined,
    Filter,
    Function,
    FunctionError,
    Map,
    Match,
    Permuted,
    Predicate,
    Random,
    Relation,
    WordFunction,
    compose,
    written,
)

GRAMMAR = r"""
start: term
term: (NAME | IRI) brace? bracket? brace? paren? | INT
brace: "{" (assignment | terms) "}"
assignment: NAME "=" (NAME | IRI)
bracket: "[" NAME (ARROW NAME)? "]"
paren: "(" terms ")"
terms: term ("," term)*
NAME: /[^\W\d_λ](?:[\w'’.&+ -]*[\w'’.])?/
IRI: /<[^<>"{}|^`\\\s]+>/
INT: /\d{1,9}/
ARROW: "->" | ">"
%ignore /\s+/
LAMBDA: /λ\s*x\s*\./
%ignore LAMBDA
"""
TERMINALS = {  # as messages name them
    "NAME": "a name", "IRI": "an IRI in <>", "INT": "a number", "ARROW": "'->'", "LPAR": "'('", "RPAR": "')'",
    "LBRACE": "'{'", "RBRACE": "'}'", "LSQB": "'['", "RSQB": "']'", "COMMA": "','", "EQUAL": "'='", "$END": "the end",
}  # fmt: skip
LEXICAL = ("synonyms", "antonyms", "hyponyms", "hypernyms", "entailments", "translate")
ATTRIBUTES: Mapping[str, tuple[str, ...]] = {"POS": ("noun", "verb", "adj", "adv"), "sentiment": ("pos", "neg", "none")}
OPERATORS = (*OPERATIONS, "map", "filter", "mapfilter", "map-filter", "permuted", "match", "wiki", "is", "random")
LANGUAGE = re.compile("[a-z]{3}")
INPUTS = ("0", "x", "S")
PAPER_RANDOM = re.compile(r"random-seed(\d{1,9})")
PAPER_PREDICATE = re.compile(r"is-([A-Za-z]+)-([A-Za-z]+)")
PAPER_WORDS = {  # of the paper's predicates -> as the published files write them
    "adjective": "adj", "adverb": "adv", "positive": "pos", "negative": "neg", "neutral": "none",
    "instance": "instance of", "birthplace": "place of birth",
    "nyc": "new york city", "la": "los angeles", "buenosaires": "buenos aires",
}  # fmt: skip
MOST_NESTED = 64  # brackets within brackets: more are refused before they are read

Node: TypeAlias = "Tree[Token]"


@dataclass(frozen=True, slots=True)
class FactNames:
    """What a graph of facts has names for: relations, and the values that attributes can be asked for."""

    relations: Mapping[str, str] = field(default_factory=dict)  # to the IRI of the property
    values: Mapping[str, str] = field(default_factory=dict)  # to the IRI of the entity

    def relation(self, name: str) -> str:
        """Give the property of a relation, as SPARQL writes it; one that is named by its IRI is that."""
        return name if name.startswith("<") else f"<{self.relations[name]}>"

    def value(self, name: str) -> str:
        """Give the entity that a value stands for."""
        return name if name.startswith("<") else f"<{self.values[name]}>"


def parse(text: str, facts: FactNames | None = None) -> Function:
    """Read a function, or say where it goes wrong and what was expected there.

    >>> parse("union(antonyms[eng](0), synonyms[eng](0))").by
    'union'
    >>> parse("map{λx. random-seed0[eng](x)}")
    Map(each=Random(seed=0, language='eng'), over=None)
    """
    _refuse_nesting(text)
    try:
        tree = _parser().parse(text)
    except UnexpectedInput as error:
        raise FunctionError(_unexpected(text, error)) from None
    return _Reader(text, facts).read(tree)


def task_name(text: str, tasks: Collection[str]) -> str:
    """Give the task that a text names: the one that it is, or that of an equal function.

    >>> task_name("union(mother(0), father(0))", ["wiki{union(father(0),mother(0))}"])
    'wiki{union(father(0),mother(0))}'
    """
    if text in tasks:
        return text
    try:
        name = written(canonical(parse(text)))
    except FunctionError:
        return text
    return name if name in tasks else text


@cache
def _parser() -> Lark:
    return Lark(GRAMMAR, parser="lalr", propagate_positions=True)


@cache
def fact_names() -> FactNames:
    """Give the names of facts that come with taskloom."""
    from ...sources.facts import CLASSES, PROPERTIES

    values = {PAPER_WORDS.get(name, name): iri for of in CLASSES.values() for name, iri in of.items()}
    return FactNames(PROPERTIES, values)


def _refuse_nesting(text: str) -> None:
    nested = 0
    for place, character in enumerate(text, 1):
        nested += (character in "([{") - (character in ")]}")
        if nested > MOST_NESTED:
            raise FunctionError(Note.of("function-nested", most=MOST_NESTED, place=place))


def _unexpected(text: str, error: UnexpectedInput) -> Note:
    place = len(text.rstrip()) if isinstance(error, UnexpectedEOF) else (error.pos_in_stream or 0)
    names = error.accepts if isinstance(error, UnexpectedToken) else ()
    if isinstance(error, UnexpectedCharacters):
        names = error.allowed or ()
    at_end = isinstance(error, UnexpectedToken) and error.token.type == "$END"
    place = len(text.rstrip()) if at_end else place
    expected = sorted({TERMINALS.get(name, name) for name in names if not name.startswith("__")})
    character = text[place : place + 1].strip()
    found = repr(character) if character else "the end"
    return Note.of("function-unreadable", place=place + 1, found=found, expected=expected, text=text)


@dataclass(frozen=True, slots=True)
class _Parts:
    """A term, taken apart."""

    at: Node
    name: str
    braces: tuple[Node, ...] = ()
    bracket: tuple[str, ...] = ()
    inputs: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class _Reader:
    """Makes functions of what was parsed; errors name the place."""

    text: str
    given: FactNames | None

    @property
    def facts(self) -> FactNames:
        return fact_names() if self.given is None else self.given

    def read(self, tree: Node) -> Function:
        return self._function(_parts(_child(tree)))

    def _function(self, of: _Parts) -> Function:
        try:
            return checked(self._made(of))
        except FunctionError as error:
            if error.note.code in ("function-at", "function-unreadable"):
                raise
            raise self._at(of.at.meta.start_pos, error.note) from None

    def _at(self, start: int, reason: Note) -> FunctionError:
        """Say where a function is wrong."""
        return FunctionError(Note.of("function-at", reason=reason, place=start + 1, text=self.text))

    def _made(self, of: _Parts) -> Function:
        if of.name in ("map", "filter", "mapfilter", "map-filter"):
            return self._sequence(of)
        if of.name in OPERATIONS or of.name == "match":
            return self._several(of)
        if of.name == "permuted":
            return Permuted(self._number(of), self._word(self._only(of, of.inputs)))
        if of.name == "wiki":
            return self._word(self._only(of, _terms(of.braces)))
        atom = self._atom(of)
        inner = [one for one in of.inputs if _parts(one).name not in INPUTS]
        if len(of.inputs) > 1:
            raise FunctionError(Note.of("inputs-too-many", name=of.name, count=len(of.inputs)))
        if of.inputs and _parts(of.inputs[0]).name == SEQUENCE:
            raise self._at(of.inputs[0].meta.start_pos, Note.of("word-expected", name=of.name))
        return compose(atom, self._word(inner[0])) if inner else atom

    def _word(self, node: Node) -> WordFunction:
        found = self._function(_parts(node))
        if isinstance(found, Map | Filter | Match):
            raise FunctionError(Note.of("word-function-expected", given=_parts(node).name))
        return found

    def _several(self, of: _Parts) -> Function:
        parts = tuple(self._word(one) for one in of.inputs)
        if of.name == "match":
            if len(parts) != 2:
                raise FunctionError(Note.of("inputs-too-many", name=of.name, count=len(parts)))
            return Match(*parts)
        by = next(operation for operation in OPERATIONS if operation == of.name)
        return Combined(by, parts)

    def _sequence(self, of: _Parts) -> Function:
        nodes = _terms(of.braces)
        own = [self._word(one) for one in nodes]
        wanted = (of.name == "filter",) if len(own) == 1 else (False, True)
        for node, found, predicate in zip(nodes, own, wanted, strict=False):
            if type_of(found).is_predicate is not predicate:
                raise self._at(node.meta.start_pos, other_expected(found, predicate=predicate))
        over = self._over(of)
        if of.name in ("map", "filter"):
            if len(own) != 1:
                raise FunctionError(Note.of("braces-expected", name=of.name, wanted="one function"))
            return Map(own[0], over) if of.name == "map" else Filter(own[0], over)
        if len(own) != 2:
            raise FunctionError(Note.of("braces-expected", name=of.name, wanted="a map and a filter"))
        return Map(own[0], Filter(own[1], over))

    def _over(self, of: _Parts) -> Map | Filter | None:
        if not of.inputs or _parts(of.inputs[0]).name == SEQUENCE:
            return None
        node = of.inputs[0]
        found = self._function(_parts(node)) if _parts(node).name not in INPUTS else None
        if not isinstance(found, Map | Filter):
            raise self._at(node.meta.start_pos, Note.of("sequence-expected", name=of.name, given=_parts(node).name))
        return found

    def _atom(self, of: _Parts) -> Relation | Predicate | Random:
        if of.name == "random":
            return Random(self._number(of), self._language(of))
        if found := PAPER_RANDOM.fullmatch(of.name):
            return Random(int(found[1]), self._language(of))
        if of.name == "is":
            return self._assigned(of)
        if found := PAPER_PREDICATE.fullmatch(of.name):
            return self._predicate(of, *(PAPER_WORDS.get(word, word) for word in found.groups()))
        return self._relation(of)

    def _assigned(self, of: _Parts) -> Predicate:
        attribute, value = self._assignment(of)
        try:
            return self._predicate(of, str(attribute).strip(), str(value).strip())
        except FunctionError as error:
            if error.note.code != "name-unknown":
                raise
            wrong = attribute if dict(error.note.values)["what"] == "attribute" else value
            raise self._at(wrong.start_pos or 0, error.note) from None

    def _predicate(self, of: _Parts, attribute: str, value: str) -> Predicate:
        if attribute in ATTRIBUTES:
            self._known("value", value, ATTRIBUTES[attribute])
            return Predicate(attribute, value, self._language(of))
        self._known("attribute", attribute, (*ATTRIBUTES, *self.facts.relations))
        self._known("value", value, self.facts.values)
        return Predicate(attribute, value)

    def _relation(self, of: _Parts) -> Relation:
        if of.name in LEXICAL:
            source, target = (*self._languages(of), "")[:2]
            if (of.name == "translate") is not bool(target):
                wanted = "two languages, as [eng->spa]" if of.name == "translate" else "one language, as [eng]"
                raise FunctionError(Note.of("language-expected", name=of.name, wanted=wanted))
            return Relation(of.name, source, target or source)
        facts = self.facts.relations
        self._known("relation", of.name, (*LEXICAL, *facts, *OPERATORS))
        if of.name not in facts and not of.name.startswith("<"):
            raise FunctionError(Note.of("inputs-too-many", name=of.name, count=len(of.inputs)))
        if of.bracket not in ((), ("inv",)):
            raise FunctionError(Note.of("language-expected", name=of.name, wanted="[inv] or nothing"))
        return Relation(of.name, FACTS, FACTS, inverse=bool(of.bracket))

    def _known(self, what: str, name: str, known: Collection[str]) -> None:
        if name not in known and not name.startswith("<"):
            raise FunctionError(Note.of("name-unknown", what=what, name=name, hint=nearest(name, known)))

    def _languages(self, of: _Parts) -> tuple[str, ...]:
        if not of.bracket or not all(map(LANGUAGE.fullmatch, of.bracket)):
            wanted = "a language of three letters, as [eng]"
            raise FunctionError(Note.of("language-expected", name=of.name, wanted=wanted))
        return of.bracket

    def _language(self, of: _Parts) -> str:
        found = self._languages(of)
        if len(found) > 1:
            raise FunctionError(Note.of("language-expected", name=of.name, wanted="one language, as [eng]"))
        return found[0]

    def _number(self, of: _Parts) -> int:
        found = [_parts(one).name for one in _terms(of.braces)]
        number = whole_number(found[0]) if len(found) == 1 else None
        if number is None:
            raise FunctionError(Note.of("braces-expected", name=of.name, wanted="a number, as {0}"))
        return number

    def _assignment(self, of: _Parts) -> tuple[Token, Token]:
        for brace in of.braces:
            inside = _child(brace)
            if inside.data == "assignment":
                attribute, value = (token for token in inside.children if isinstance(token, Token))
                return attribute, value
        raise FunctionError(Note.of("braces-expected", name=of.name, wanted="an attribute and a value, as {POS=noun}"))

    def _only(self, of: _Parts, given: tuple[Node, ...]) -> Node:
        if len(given) != 1:
            raise FunctionError(Note.of("inputs-too-many", name=of.name, count=len(given)))
        return given[0]


def _parts(term: Node) -> _Parts:
    name, *rest = term.children
    nodes = [one for one in rest if isinstance(one, Tree)]
    tagged = {kind: [one for one in nodes if one.data == kind] for kind in ("brace", "bracket", "paren")}
    bracket = tagged["bracket"][0].children if tagged["bracket"] else []
    return _Parts(
        at=term,
        name=re.sub(r"\s+", " ", str(name)),
        braces=tuple(tagged["brace"]),
        bracket=tuple(str(token) for token in bracket if isinstance(token, Token) and token.type == "NAME"),
        inputs=_terms(tuple(tagged["paren"])),
    )


def _terms(of: tuple[Node, ...]) -> tuple[Node, ...]:
    """Give the terms inside braces or parentheses."""
    inside = (_child(node) for node in of)
    return tuple(term for terms in inside if terms.data == "terms" for term in terms.children if isinstance(term, Tree))


def _child(of: Node) -> Node:
    (only,) = of.children
    assert isinstance(only, Tree)
    return only
