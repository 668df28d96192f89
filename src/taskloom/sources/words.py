"""A lexicon: the words of two languages, the relations between them as tables of ids, and the words to ask about.

It is worked out from a wordnet in seconds, and kept in the cache by what it was made from.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tokenize import TokenError
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from ..core import Ints
from ..errors import SourceError, UnknownNameError, UsageError
from ..folders import replace_folder, scratch_beside
from ..ids import Json, fingerprint
from ..limits import parse_json, refuse_no_folder
from ..messages import Note
from ..progress import Progress
from . import lexical, packages, word_lists, wordnets
from .lexical import RELATIONS, SENTIMENTS, Wordnet
from .sentiment import scores

if TYPE_CHECKING:
    from scipy.sparse import csr_array

T = TypeVar("T")
DAMAGED = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    EOFError,
    SyntaxError,
    TokenError,
    OverflowError,
)
Truths: TypeAlias = "np.ndarray[tuple[int], Any]"

FORMAT = 1  # of what is kept: raise it when the same sources give other tables
MANIFEST = "lexicon.json"
ENGLISH, SPANISH = "eng", "spa"
INPUTS: Mapping[str, str] = {ENGLISH: "data:brown", SPANISH: "data:wordfreq"}
ALIASES: Mapping[str, str] = {  # values as papers and programs write them
    "adjective": "adj", "adverb": "adv", "pos": "positive", "neg": "negative", "none": "neutral",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexicon:
    """Words and the relations between them. A word's id is its place in the vocabulary of its language."""

    vocabularies: Mapping[str, tuple[str, ...]]  # lower-case lemmas, with spaces, in order
    inputs: Mapping[str, Ints]  # ids of the words that tasks ask about
    unavailable: Mapping[str, Note]  # what can't be asked for want of a source: "is{sentiment=positive}[eng]"
    notes: tuple[Note, ...] = ()  # what another source had to be taken for
    digest: str
    tables: Mapping[str, tuple[Ints, Ints]] = field(repr=False)  # where rows begin, and their columns
    truths: Mapping[str, Truths] = field(repr=False)

    def relation(self, name: str, source: str, target: str) -> csr_array:
        """Give a table of truth values: which words of the target language each word of the source is related to."""
        key = f"{name}[{source}]" if source == target else f"{name}[{source}->{target}]"
        begins, columns = self._known(self.tables, key, (source, target))
        shape = len(self.vocabularies[source]), len(self.vocabularies[target])
        return lexical.filled(begins, columns, shape)

    def predicate(self, name: str, value: str, language: str) -> Truths:
        """Tell for each word whether it is so, as in `predicate("POS", "noun", "eng")`."""
        key = f"is{{{name}={ALIASES.get(value, value)}}}[{language}]"
        return self._known(self.truths, key, (language,))

    def _known(self, of: Mapping[str, T], key: str, languages: Sequence[str]) -> T:
        for language in languages:
            if language not in self.vocabularies:
                raise UnknownNameError("language", language, self.vocabularies)
        if key in self.unavailable:
            raise SourceError(Note.of("relation-unavailable", name=key, reason=self.unavailable[key]))
        if key not in of:
            raise UnknownNameError("relation", key, of)
        return of[key]


def lexicon(
    source: str = "data:wordnet",
    *,
    languages: Sequence[str] = (ENGLISH, SPANISH),
    inputs: Mapping[str, str] | None = None,
    sentiment: str = "data:sentiwordnet",
    progress: Progress | None = None,
) -> Lexicon:
    """Give the lexicon of a source: `data:wordnet`, a folder of WordNet's files, or `wn:LEXICON ...` of the library wn.

    `inputs` names a word list for each language (`data:brown`, `data:wordfreq` or a file), `sentiment` the scores of
    SentiWordNet ("" for none). Where npm is missing, what it would fetch is replaced and told in the notes.
    """
    asked = {language: INPUTS.get(language, "") for language in languages} | dict(inputs or {})
    if wrong := sorted(set(asked) - set(languages)):
        raise UnknownNameError("language", wrong[0], languages)
    if missing := sorted(language for language, spec in asked.items() if not spec):
        raise UsageError(Note.of("word-list-needed", languages=missing))
    replaced = {language: spec for language, spec in asked.items() if _needs_npm(spec)}
    notes = [_note(spec, Note.of("instead-wordfreq")) for spec in replaced.values()]
    asked |= dict.fromkeys(replaced, "data:wordfreq")
    if _needs_npm(sentiment):
        notes.append(_note(sentiment, Note.of("instead-no-sentiment")))
        sentiment = ""
    contents = [_content(spec, progress) for spec in (source, sentiment, *asked.values())]
    kept = packages.cache_folder() / "words" / fingerprint("lexicon", FORMAT, list(languages), contents)
    if (found := _opened(kept, tuple(notes))) is None:
        net = wordnet(source, languages)
        lists = {language: word_lists.words(spec, language) for language, spec in asked.items()}
        with scratch_beside(kept) as scratch:
            _write(net, lists, scores(sentiment) if sentiment else {}, scratch / "new")
            replace_folder(scratch / "new", kept)
        found = _opened(kept, tuple(notes))
    if found is None:
        raise SourceError(Note.of("lexicon-damaged", path=kept))
    return found


def _needs_npm(spec: str) -> bool:
    """Tell what can't be fetched for want of npm."""
    kind, _, name = spec.partition(":")
    return kind == "data" and packages.needs_npm(name)


def _note(spec: str, instead: Note) -> Note:
    return Note.of("npm-missing", name=spec.removeprefix("data:"), instead=instead)


def _content(spec: str, progress: Progress | None) -> Json:
    """Name what a source holds; what the catalogue has is fetched, and goes by its hash."""
    kind, _, name = spec.partition(":")
    if kind == "data":
        packages.get(name, progress)
        return {"data": name, "sha256": packages.entry(name).sha256}
    if kind == "wn":
        from .wn_lexicons import identity

        return {"wn": identity(name)}
    path = Path(spec)
    files = sorted(file for file in path.iterdir() if file.is_file()) if path.is_dir() else [path] if spec else []
    return [[file.name, _hash(file)] for file in files if file.is_file()]


def _hash(file: Path) -> str:
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, hashlib.blake2b).hexdigest()


def wordnet(source: str, languages: Sequence[str] = (ENGLISH, SPANISH)) -> Wordnet:
    """Read the wordnet of a source: its synsets, links, and lemmas of each language."""
    kind, _, name = source.partition(":")
    if kind == "wn":
        from .wn_lexicons import wordnet as of_library

        return of_library(name, languages)
    if kind == "data" and name != "wordnet":
        raise UnknownNameError("source of words", source, ("data:wordnet", "wn:", "a folder of WordNet's files"))
    folder = packages.get(name) / wordnets.PACKAGED / "wordnet" if kind == "data" else Path(source)
    refuse_no_folder(folder)
    wordnets.refuse_other(folder)
    tables = wordnets.tables(folder.parent / "omw-1.4" / "mcr" if kind == "data" else folder)
    for language in languages:
        if language not in (ENGLISH, *tables):
            raise UnknownNameError("language", language, (ENGLISH, *tables))
    return _of_files(folder, {language: tables[language] for language in languages if language != ENGLISH})


def _of_files(folder: Path, tables: Mapping[str, Path]) -> Wordnet:
    found = sorted(wordnets.synsets(folder), key=lambda synset: synset.id)
    ids = {synset.id: number for number, synset in enumerate(found)}
    links: dict[str, list[tuple[int, int]]] = {name: [] for name in lexical.SYMBOLS.values()}
    for number, synset in enumerate(found):
        for pointer in synset.pointers:
            name = lexical.SYMBOLS.get(pointer.symbol, "")
            if name and pointer.target in ids and pointer.lexical == (name == "antonyms"):
                links[name].append((number, ids[pointer.target]))
    lemmas = {ENGLISH: [(ids[synset.id], lemma) for synset in found for lemma in synset.lemmas]}
    for language, path in tables.items():
        lemmas[language] = [(ids[id_], lemma) for id_, lemma in wordnets.translations(path) if id_ in ids]
    return Wordnet(synsets=tuple(ids), lemmas=lemmas, links=links, irregular=wordnets.exceptions(folder))


def _write(net: Wordnet, lists: Mapping[str, frozenset[str]], found: Mapping[str, float], folder: Path) -> None:
    """Work out all tables, and keep them with a name of their content."""
    folder.mkdir()
    of = {language: lexical.words(net, language) for language in net.lemmas}
    arrays = dict(_tables(net, of)) | dict(_truths(net, of, found)) | dict(_inputs(of, lists))
    whole = hashlib.blake2b(digest_size=16)
    for language, words in sorted(of.items()):
        text = "\n".join(words.vocabulary)
        (folder / f"{language}.txt").write_text(text, encoding="utf-8", newline="\n")
        whole.update(f"{language}\0{text}\0".encode())
    for number, (name, array) in enumerate(sorted(arrays.items())):
        np.save(folder / f"{number}.npy", array, allow_pickle=False)
        whole.update(f"{name}\0".encode() + array.tobytes())
    files = {file.name: file.stat().st_size for file in sorted(folder.iterdir())}
    manifest = {"digest": whole.hexdigest(), "languages": sorted(of), "arrays": sorted(arrays), "files": files}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")


def _tables(net: Wordnet, of: Mapping[str, lexical.Words]) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Yield where the rows of each relation begin, and their columns."""
    same = [(name, language, language) for name in RELATIONS for language in of]
    across = [("translate", source, target) for source in of for target in of if source != target]
    links = {name: lexical.linked(net, name) for name in (*RELATIONS, "translate")}
    for name, source, target in (*same, *across):
        found = lexical.related(of[source], links[name], of[target])
        key = f"{name}[{source}]" if source == target else f"{name}[{source}->{target}]"
        yield f"{key}.rows", found.indptr.astype("<i4")
        yield f"{key}.columns", found.indices.astype("<i4")


def _truths(
    net: Wordnet, of: Mapping[str, lexical.Words], found: Mapping[str, float]
) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Yield what each word is: of a part of speech, and in English of a sentiment."""
    for language, words in of.items():
        for value, letter in wordnets.PARTS_OF_SPEECH.items():
            yield f"is{{POS={value}}}[{language}].truths", words.written @ lexical.is_part_of_speech(net, letter)
    if ENGLISH in of and not found.keys().isdisjoint(net.synsets):
        signs = np.array([np.sign(found[synset]) if synset in found else np.nan for synset in net.synsets])
        for value, sign in SENTIMENTS.items():
            yield f"is{{sentiment={value}}}[{ENGLISH}].truths", of[ENGLISH].written @ (signs == sign)


def _inputs(
    of: Mapping[str, lexical.Words], lists: Mapping[str, frozenset[str]]
) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Yield the words of lists that are written so in the wordnet: names are no words to ask about."""
    for language, words in of.items():
        listed = np.array([word in lists[language] for word in words.vocabulary], bool)
        yield f"{language}.inputs", np.flatnonzero(listed & words.lower).astype("<i4")


def _opened(folder: Path, notes: tuple[Note, ...]) -> Lexicon | None:
    """Open what is kept, if it is whole; tables are read when they are needed."""
    try:
        manifest = parse_json((folder / MANIFEST).read_bytes())
        if any((folder / name).stat().st_size != size for name, size in manifest["files"].items()):
            return None
        numbered = enumerate(manifest["arrays"])
        arrays = {name: np.load(folder / f"{number}.npy", mmap_mode="r") for number, name in numbered}
        texts = {name: (folder / f"{name}.txt").read_text(encoding="utf-8") for name in manifest["languages"]}
        tables = [name.removesuffix(".rows") for name in arrays if name.endswith(".rows")]
        truths = {name.removesuffix(".truths"): array for name, array in arrays.items() if name.endswith(".truths")}
        found = Lexicon(
            vocabularies={language: tuple(text.split("\n")) if text else () for language, text in texts.items()},
            inputs={language: arrays[f"{language}.inputs"] for language in texts},
            unavailable=_unavailable(truths, texts),
            notes=notes,
            digest=manifest["digest"],
            tables={name: (arrays[f"{name}.rows"], arrays[f"{name}.columns"]) for name in tables},
            truths=truths,
        )
        return found if _fits(found) else None
    except DAMAGED:
        return None


def _fits(of: Lexicon) -> bool:
    """Tell whether the arrays that are kept have the types and sizes of their vocabularies."""
    sizes = {language: len(vocabulary) for language, vocabulary in of.vocabularies.items()}
    fits = [_is_whole_number(array) and _are_below(array, sizes[name]) for name, array in of.inputs.items()]
    for key, (begins, columns) in of.tables.items():
        source, _, target = key.rpartition("[")[2].removesuffix("]").partition("->")
        fits += [_is_whole_number(begins), _is_whole_number(columns), len(begins) == sizes[source] + 1]
        fits += [begins[0] == 0, begins[-1] == len(columns), bool((np.diff(begins) >= 0).all())]
        fits += [_are_below(columns, sizes[target or source])]
    for key, array in of.truths.items():
        fits += [array.dtype == bool and array.shape == (sizes[key.rpartition("[")[2].removesuffix("]")],)]
    return isinstance(of.digest, str) and all(fits)


def _is_whole_number(array: Ints) -> bool:
    return array.dtype == np.dtype("<i4") and array.ndim == 1


def _are_below(array: Ints, size: int) -> bool:
    return not len(array) or bool(array.min() >= 0 and array.max() < size)


def _unavailable(truths: Mapping[str, Truths], languages: Mapping[str, str]) -> dict[str, Note]:
    """Say what can't be asked, and why: sentiment needs scores, which are there for English only."""
    keys = [f"is{{sentiment={value}}}[{language}]" for language in languages for value in SENTIMENTS]
    return {key: Note.of("sentiment-unavailable") for key in keys if key not in truths}
