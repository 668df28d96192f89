"""Lexicons of the library `wn`, which are in its own data base: `wn.download("omw-en:1.4")` puts them there.

Synsets of several lexicons are one where they have the same inter-lingual index, or the same offset of WordNet 3.0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING

from ..errors import SourceError, UnknownNameError
from ..ids import Json
from ..messages import Note
from .lexical import Wordnet
from .wordnets import PARTS_OF_SPEECH

if TYPE_CHECKING:
    import wn

LINKS: Mapping[str, str] = {"hypernym": "hypernyms", "hyponym": "hyponyms", "entails": "entailments"}
ANTONYM = "antonym"
CODES: Mapping[str, str] = {"en": "eng", "es": "spa", "ca": "cat", "eu": "eus", "gl": "glg"}  # as lexicons name them


def identity(names: str) -> Json:
    """Name lexicons by their ids, versions and dates of change."""
    return [[lexicon.specifier(), lexicon.label, lexicon.modified()] for lexicon in _lexicons(names)]


def wordnet(names: str, languages: Sequence[str]) -> Wordnet:
    """Read lexicons, named as wn names them, with spaces between: "omw-en:1.4 omw-es:1.4"."""
    lexicons = _lexicons(names)
    of = {lexicon.specifier(): CODES.get(lexicon.language, lexicon.language) for lexicon in lexicons}
    if missing := sorted(set(languages) - set(of.values())):
        raise UnknownNameError("language", missing[0], of.values())
    offsets = all(lexicon.id.startswith("omw-") for lexicon in lexicons)
    found = [one for one in _wn().Wordnet(" ".join(of), expand="").synsets() if _part_of_speech(one)]
    ids = {name: number for number, name in enumerate(sorted({_name(one, offsets=offsets) for one in found}))}
    places = {(one.lexicon().specifier(), one.id): ids[_name(one, offsets=offsets)] for one in found}
    lemmas: dict[str, list[tuple[int, str]]] = {language: [] for language in languages}
    links: dict[str, set[tuple[int, int]]] = {name: set() for name in (*LINKS.values(), "antonyms")}
    for (lexicon, _), synset in zip(places, found, strict=True):
        at = places[lexicon, synset.id]
        lemmas.get(of[lexicon], []).extend((at, str(lemma)) for lemma in synset.lemmas())
        for name, target in _linked(synset):
            if (lexicon, target.id) in places:
                links[name].add((at, places[lexicon, target.id]))
    return Wordnet(
        synsets=tuple(ids),
        lemmas=lemmas,
        links={name: sorted(pairs) for name, pairs in links.items()},
        irregular=_irregular(found, of),
    )


def _linked(synset: wn.Synset) -> list[tuple[str, wn.Synset]]:
    """Give the synsets that a synset is linked to, by itself or, if they are antonyms, by a sense of it."""
    related = synset.relations(*LINKS)
    antonyms = [sense.synset() for own in synset.senses() for sense in own.get_related(ANTONYM)]
    own = [(LINKS[name], target) for name, targets in related.items() for target in targets]
    return [*own, *(("antonyms", target) for target in antonyms)]


def _irregular(found: Sequence[wn.Synset], of: Mapping[str, str]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Find the base forms of English words whose other forms are listed."""
    forms: dict[str, dict[str, list[str]]] = {letter: defaultdict(list) for letter in PARTS_OF_SPEECH.values()}
    for synset in found:
        if of[synset.lexicon().specifier()] == "eng":
            for word in synset.words():
                for form in word.forms()[1:]:
                    forms[_part_of_speech(synset)][str(form).lower()].append(word.lemma().lower())
    return {letter: {form: tuple(sorted(set(b))) for form, b in bases.items()} for letter, bases in forms.items()}


def _name(synset: wn.Synset, *, offsets: bool) -> str:
    """Name a synset, with its part of speech at the end."""
    ili = synset.ili
    name = synset.id.split("-")[-2] if offsets else str(getattr(ili, "id", ili) or synset.id)
    return f"{name}-{_part_of_speech(synset)}"


def _part_of_speech(synset: wn.Synset) -> str:
    letter = synset.pos.replace("s", "a")
    return letter if letter in PARTS_OF_SPEECH.values() else ""


def _lexicons(names: str) -> list[wn.Lexicon]:
    library = _wn()
    try:
        found = [lexicon for name in names.split() for lexicon in library.lexicons(lexicon=name)]
    except library.Error as error:
        raise SourceError(Note.of("wn-lexicon-missing", names=names, reason=error)) from None
    if not found:
        raise SourceError(Note.of("wn-lexicon-missing", names=names, reason="none is in its data base"))
    return found


def _wn() -> ModuleType:
    try:
        import wn
    except ImportError:
        raise SourceError(Note.of("wn-missing")) from None
    return wn
