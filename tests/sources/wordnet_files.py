"""A made-up WordNet in its own file format, small enough to be read, and what tests of lexicons share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from taskloom.sources.words import Lexicon

FILES = {"n": "noun", "v": "verb", "a": "adj", "s": "adj", "r": "adv"}
LICENCE = "  1 This is no licence, but it is indented as one.  \n"


@dataclass
class Made:
    """A synset to write; pointers name a symbol, another synset, and whether they are of one lemma alone."""

    id: str  # "00000001-n"
    lemmas: str  # with commas
    pointers: Sequence[tuple[str, str, bool]] = ()
    gloss: str = "a thing"

    def line(self) -> str:
        offset, letter = self.id.split("-")
        words = [word.strip().replace(" ", "_") for word in self.lemmas.split(",")]
        pointed = [
            f"{symbol} {target.replace('-', ' ')} {'0101' if lexical else '0000'}"
            for symbol, target, lexical in self.pointers
        ]
        counted = f"{len(words):02x} " + " ".join(f"{word} 0" for word in words)
        return " ".join([offset, "03", letter, counted, f"{len(pointed):03}", *pointed, "|", self.gloss]) + "  \n"


@dataclass
class MadeWordnet:
    synsets: Sequence[Made]
    spanish: Sequence[tuple[str, str]] = ()
    exceptions: dict[str, str] = field(default_factory=dict)  # by the ending of a file

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for name in dict.fromkeys(FILES.values()):
            found = [one.line() for one in self.synsets if FILES[one.id[-1]] == name]
            (folder / f"data.{name}").write_text(LICENCE + "".join(found), encoding="utf-8")
            (folder / f"{name}.exc").write_text(self.exceptions.get(name, ""), encoding="utf-8")
        rows = "".join(f"{id_}\tlemma\t{lemma}\n" for id_, lemma in self.spanish)
        (folder / "wn-data-spa.tab").write_text("# made up\tspa\n" + rows, encoding="utf-8")
        return folder


SMALL = MadeWordnet(
    [
        Made("00000001-n", "animal", [("~", "00000002-n", False), ("~", "00000004-n", False)]),
        Made(
            "00000002-n",
            "dog, domestic dog, Canis familiaris",
            [("@", "00000001-n", False), ("~", "00000003-n", False)],
        ),
        Made("00000003-n", "puppy, Dog", [("@", "00000002-n", False)]),
        Made("00000004-n", "ox", [("@", "00000001-n", False)]),
        Made("00000005-n", "Poland, Polish"),
        Made("00000006-n", "Fido", [("@i", "00000002-n", False)]),
        Made("00000011-v", "polish, shine", [("*", "00000012-v", False)]),
        Made("00000012-v", "rub", [("*", "00000013-v", False)]),
        Made("00000013-v", "touch"),
        Made("00000014-v", "leave, go away", [("!", "00000015-v", True)]),
        Made("00000015-v", "arrive, get, come", [("!", "00000014-v", True)]),
        Made("00000016-v", "circle", [("~", "00000017-v", False)]),
        Made("00000017-v", "ring", [("~", "00000016-v", False)]),
        Made("00000021-a", "good(p)", [("!", "00000022-a", True), ("!", "00000023-a", False)]),
        Made("00000022-s", "bad, evil"),
        Made("00000023-a", "left"),
        Made("00000031-r", "well, good", [("!", "00000032-r", True)]),
        Made("00000032-r", "badly"),
    ],
    spanish=[
        ("00000001-n", "animal"), ("00000001-n", "bestia"), ("00000002-n", "perro"), ("00000003-n", "cachorro"),
        ("00000014-v", "irse"), ("00000014-v", "marcharse"), ("00000015-v", "llegar"), ("00000021-a", "bueno"),
        ("00000022-s", "malo"), ("00000012-v", "frotar"), ("00000011-v", "pulir"), ("00000005-n", "Polonia"),
    ],
    exceptions={"noun": "oxen ox\n", "verb": "left leave\n"},
)  # fmt: skip


def related(of: Lexicon, name: str, word: str, source: str = "eng", target: str = "") -> set[str]:
    """Give the words that a word is related to."""
    found = of.relation(name, source, target or source)
    row = of.vocabularies[source].index(word)
    assert found.dtype == bool
    return {of.vocabularies[target or source][n] for n in found.indices[found.indptr[row] : found.indptr[row + 1]]}
