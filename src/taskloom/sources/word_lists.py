"""Lists of words to ask about: those that a corpus, a frequency list or a file of one's own has often enough."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from ..errors import SourceError, UnknownNameError, UsageError
from ..limits import refuse_no_file, whole_number
from ..messages import Note
from ..progress import Progress
from . import packages
from .files import RowFaults, lines

OFTEN = 5  # times in the Brown corpus, or in a list that has counts; times in a million words of a frequency list
CENTIBELS = 530  # of frequency: the first that are rarer than 5 in a million
FREQUENCY_CODES: Mapping[str, str] = {"eng": "en", "spa": "es", "cat": "ca"}


def words(spec: str, language: str, progress: Progress | None = None) -> frozenset[str]:
    """Give the words of `data:brown`, of `data:wordfreq`, or of a file: a word a line, with or without a count."""
    kind, _, name = spec.partition(":")
    if kind != "data":
        return frozenset(_file(Path(spec)))
    if name not in LISTS:
        raise UnknownNameError("word list", name, LISTS)
    return frozenset(LISTS[name](packages.get(name, progress), language))


def _brown(folder: Path, language: str) -> Iterator[str]:
    """Yield the words that are in the Brown corpus often enough, in lower case."""
    if language != "eng":
        raise UsageError(Note.of("list-of-other-language", name="data:brown", language=language))
    counts: Counter[str] = Counter()
    for path in sorted((folder / "package").glob("c[a-r][0-9][0-9]")):
        tagged = path.read_text(encoding="utf-8").split()
        counts.update(token.rpartition("/")[0].lower() for token in tagged)
    return (word for word, count in counts.items() if count >= OFTEN)


def _wordfreq(folder: Path, language: str) -> Iterator[str]:
    """Yield the words that come 5 times or more in a million; a bin holds those of a frequency, the frequent first."""
    import msgpack

    if language not in FREQUENCY_CODES:
        raise UnknownNameError("language of data:wordfreq", language, FREQUENCY_CODES)
    path = folder / "wordfreq" / "data" / f"small_{FREQUENCY_CODES[language]}.msgpack.gz"
    header, *bins = msgpack.unpackb(gzip.decompress(path.read_bytes()))
    if header != {"format": "cB", "version": 1}:
        raise SourceError(Note.of("frequencies-unreadable", path=path))
    return (word for words in bins[: CENTIBELS + 1] for word in words)


def _file(path: Path) -> Iterator[str]:
    """Yield the words of a file; where they have counts, those that have enough."""
    refuse_no_file(path)
    faults = RowFaults()
    for number, line, good in lines(path, faults, "utf-8"):
        word, tab, count = line.strip().partition("\t")
        times = whole_number(count) if tab else OFTEN
        if times is None:
            faults.add(f"{path.name}:{number}", "a count must be an integer")
        elif good and word and times >= OFTEN:
            yield word.lower()
    faults.settle()


LISTS: Mapping[str, Callable[[Path, str], Iterator[str]]] = {"brown": _brown, "wordfreq": _wordfreq}
