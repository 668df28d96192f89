"""Texts: written from numbers, split into tokens (characters where writing has no spaces), compared for overlap."""

from __future__ import annotations

import itertools
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from sys import intern
from typing import Any, TypeAlias

from .errors import UsageError
from .messages import Note

CJK = "\u3005\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
ASCII_TOKEN = re.compile("[A-Za-z0-9]+")
SPACELESS = (  # other writing without spaces, where vowel signs go with their letter: Thai and Lao, Burmese, Khmer
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F)
)  # fmt: skip
UNSPACED = ("zh", "ja", "th", "lo", "my", "km")  # languages that are measured in characters
SHINGLE_WORDS, SHINGLE_CHARACTERS = 13, 30
UNITS = (86_400, 3600, 60, 1)  # seconds of a day, an hour, a minute and a second
TIME = re.compile("".join(rf"(?:(\d{{1,9}}(?:\.\d{{1,9}})?){unit})?" for unit in "dhms"), re.ASCII)
LONE_SURROGATE = re.compile("[\ud800-\udfff]")  # half a character: JSON allows it, UTF-8 does not
FIRST_BITS = 25  # of the numbers of runs
SHORTEST_WORDS, SHORTEST_CHARACTERS = 4, 8  # that shorter texts are equal says nothing
FORMULA = re.compile(r"""(?:^|(?<=[,;|\t\r\n]))[ "]*'*(?=[=+\-@＝＋－＠])""")  # comes before a formula
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")  # steer a terminal
TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")  # turn the direction of all that follows in a line
BLANK = re.compile("'*[\t\r\n]")  # how a cell begins of which a spreadsheet might drop the first character
NUMBER = re.compile(r"[+-]\d+([.,]\d+)?([eE][+-]?\d+)? *([,;|\t\r\n]|$)")  # a part of a cell that is one

Tokens: TypeAlias = tuple[str, ...]
Openings: TypeAlias = dict[int, dict[Tokens, list[tuple[int, Tokens]]]]  # by length: how short texts begin -> which


def counted(number: int, noun: str) -> str:
    """Write a number of things.

    >>> counted(1, "task"), counted(1616, "task"), counted(2, "category"), counted(2, "class")
    ('1 task', '1,616 tasks', '2 categories', '2 classes')
    """
    return f"{number:,} {noun if number == 1 else _plural(noun)}"


def _plural(noun: str) -> str:
    if re.search("[^aeiou]y$", noun):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


def human(value: str | float | None) -> str:
    """Write a value for people.

    >>> human(1616), human(56.64), human(None), human("a")
    ('1,616', '56.6', '', 'a')
    """
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def duration(seconds: float) -> str:
    """Write a time for people.

    >>> duration(75), duration(3675)
    ('1:15', '1:01:15')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def time_text(seconds: float) -> str:
    """Write a time with its units, to the second, or to the minute where it is long.

    >>> time_text(0.0123), time_text(45), time_text(119), time_text(5400), time_text(172800)
    ('0.0123 s', '45 s', '1 min 59 s', '1 h 30 min', '48 h')
    """
    if seconds < 59.5:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, left = divmod(round(seconds / 60), 60)
    parts = {"h": hours, "min": left} if hours else {"min": minutes, "s": rest}
    return " ".join(f"{number:,} {unit}" for unit, number in parts.items() if number)


def seconds_of(time: str) -> float:
    """Read a time as people type it.

    >>> seconds_of("90m"), seconds_of("1h30m"), seconds_of("45s"), seconds_of("2d"), seconds_of("1.5h")
    (5400.0, 5400.0, 45.0, 172800.0, 5400.0)
    """
    found = TIME.fullmatch(time.replace(" ", ""))
    seconds = sum(float(number or 0) * size for number, size in zip(found.groups(), UNITS, strict=True)) if found else 0
    if not seconds:
        raise UsageError(Note.of("time-expected", given=time))
    return seconds


def number_text(number: float) -> str:
    """Write a number with all its digits, and no more.

    >>> number_text(2001.0), number_text(1234567.25)
    ('2001', '1234567.25')
    """
    return repr(float(number)).removesuffix(".0")


def readable(name: str) -> str:
    """Write the name of a column as words.

    >>> readable("head_line"), readable("标题")
    ('head line', '标题')
    """
    return name.replace("_", " ").strip() or name


def title_of(name: str) -> str:
    """Write the name of a column as it stands before its value.

    >>> title_of("head_line"), title_of("DOI")
    ('Head line', 'DOI')
    """
    words = readable(name)
    return words[:1].upper() + words[1:]


def safe(text: str) -> str:
    r"""Show characters that would steer a terminal instead of sending them to it.

    >>> safe("\x1b[2J")
    '\\u001b[2J'
    """
    return UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def straight(text: str) -> str:
    r"""Show characters that turn the direction of a line, and so the digits of a score that stands after a name.

    >>> straight("\u202e12")
    '\\u202e12'
    """
    return TURNS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def inert(text: str) -> str:
    """Keep a spreadsheet from taking a cell for a formula, or a part of it where it splits rows at `;`, tabs or lines.

    `alive` undoes it.

    >>> inert("=1+1"), inert("one"), inert("'tis"), inert("Say yes;=1+1"), inert("3, -5")
    ("'=1+1", 'one', "'tis", "Say yes;'=1+1", '3, -5')
    """
    parts = FORMULA.sub(_marked, text)
    return f"'{parts}" if BLANK.match(text) else parts


def _marked(found: re.Match[str]) -> str:
    """Put a mark before the first letter of a cell, or of a part that is no number."""
    is_number = found.start() > 0 and not found[0].endswith("'") and NUMBER.match(found.string, found.end())
    return found[0] if is_number else f"{found[0]}'"


def alive(cell: str) -> str:
    """Give a text back that was made inert, letter by letter.

    >>> alive(inert("=1+1")), alive(inert("'=1+1")), alive("'tis"), alive(inert("Say yes;=1+1"))
    ('=1+1', "'=1+1", "'tis", 'Say yes;=1+1')
    """
    whole = cell[1:] if cell.startswith("'") and BLANK.match(cell) else cell
    return FORMULA.sub(lambda found: found[0].removesuffix("'"), whole)


def without_surrogates(text: str) -> str:
    r"""Join halves of characters that stand side by side, and put U+FFFD in the place of one that stands alone.

    Done once, where texts come in: JSON allows half a character (a lone surrogate), and no file or database does.

    >>> without_surrogates("\ud83c\udf33"), without_surrogates("a\ud83c")
    ('🌳', 'a�')
    """
    if not LONE_SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def tokens(text: str) -> list[str]:
    """Split a text: each CJK character is a token, and so is each run of other letters and digits.

    Thai, Lao, Burmese and Khmer are split by letter, each with its vowel signs.

    >>> tokens("用BERT-base做实验, twice")
    ['用', 'BERT', 'base', '做', '实', '验', 'twice']
    >>> tokens("กินข้าว 2 มื้อ")
    ['กิ', 'น', 'ข้', 'า', 'ว', '2', 'มื้', 'อ']
    """
    if text.isascii():
        return ASCII_TOKEN.findall(text)  # the same, and many times faster
    return _token().findall(unicodedata.normalize("NFC", text))


@cache
def _token() -> re.Pattern[str]:
    """Make the pattern when it is first needed: looking all of Unicode through for vowel signs takes a while."""
    marks = "".join(c for c in map(chr, range(sys.maxunicode)) if unicodedata.category(c).startswith("M"))
    others = f"^\\W_{CJK}{_spaceless()}"
    return re.compile(f"[{CJK}]|[{_spaceless()}][{marks}]*|[{others}](?:[{others}]|[{marks}])*")


@cache
def _spaceless() -> str:
    """Give the letters of writing without spaces, but for CJK; digits of theirs are runs as others are."""
    found = (chr(code) for first, last in SPACELESS for code in range(first, last + 1))
    return "".join(c for c in found if unicodedata.category(c) in ("Lo", "Lm"))


@cache
def _unspaced() -> re.Pattern[str]:
    """Make the pattern of a token that is a character of writing without spaces."""
    return re.compile(f"[{CJK}{_spaceless()}]")


def is_unspaced(character: str) -> bool:
    """Tell a character of writing without spaces.

    >>> is_unspaced("字"), is_unspaced("a")
    (True, False)
    """
    return _unspaced().match(character) is not None


def length_unit(language: str) -> str:
    """Say what texts of a language are measured in.

    >>> length_unit("zh-CN"), length_unit("en")
    ('characters', 'words')
    """
    return "characters" if re.split("[-_]", language)[0] in UNSPACED else "words"


def length(text: str, language: str) -> int:
    """Measure a text in characters where the language writes no spaces, else in words."""
    return len(text) if length_unit(language) == "characters" else len(text.split())


def shingles(text: str) -> set[int]:
    """Hash every run of 13 words, or of 30 tokens where most are characters; a text that is half a run is one run.

    Shorter texts have none: that a word or a name comes again says nothing.
    """
    return _runs(*_measured(text)[:2])


def _runs(found: Tokens, size: int) -> set[int]:
    if 2 * len(found) < size:
        return set()
    return {hash(found[at : at + size]) for at in range(max(1, len(found) - size + 1))}


def comparable(text: str) -> bool:
    """Tell a text that can be compared with others from one that is too short.

    >>> comparable("Why did he leave?"), comparable("Why, then?")
    (True, False)
    """
    found, _, least = _measured(text)
    return len(found) >= least


def _measured(text: str) -> tuple[Tokens, int, int]:
    """Give the tokens of a text in lower case, how many make a run, and how many a text needs to be compared."""
    found = tuple(intern(token) for token in tokens(text.lower()))
    characters = 0 if text.isascii() else sum(_unspaced().match(token) is not None for token in found)
    if characters * 2 > len(found):
        return found, SHINGLE_CHARACTERS, SHORTEST_CHARACTERS
    return found, SHINGLE_WORDS, SHORTEST_WORDS


def overlaps(ours: Sequence[str], theirs: Sequence[str], least: float = 0.5) -> Iterator[tuple[int, int, float]]:
    """Yield the pairs of texts, by number, of which one holds at least half of the other's shingles.

    A text that is shorter than a run must stand in the other one as a whole.
    """
    left, right = [_measured(text)[:2] for text in ours], [_measured(text)[:2] for text in theirs]
    sets = [_runs(*text) for text in left]
    holders: dict[int, list[int]] = {}
    for number, found in enumerate(sets):
        for shingle in found:
            holders.setdefault(shingle, []).append(number)
    short, their_short = _openings(left), _openings(right)
    held: dict[int, set[int]] = {}  # short texts of theirs -> texts of ours that they stand in
    for number, (text, _) in enumerate(left):
        for other in _held(text, their_short):
            held.setdefault(other, set()).add(number)
    for number, text_and_size in enumerate(right):
        whole = {*held.get(number, ()), *_held(text_and_size[0], short)}
        yield from _pairs(_runs(*text_and_size), sets, holders, whole, number, least)


def _openings(texts: Sequence[tuple[Tokens, int]]) -> Openings:
    """Find the texts of half a run or more that are shorter than one, by the half run that they begin with."""
    found: Openings = {}
    for number, (text, size) in enumerate(texts):
        half = (size + 1) // 2
        if half <= len(text) < size:
            found.setdefault(half, {}).setdefault(text[:half], []).append((number, text))
    return found


def _held(text: Tokens, openings: Openings) -> Iterator[int]:
    """Yield the short texts that stand in a text."""
    for half, beginning in openings.items():
        for at in range(len(text) - half + 1):
            for number, short in beginning.get(text[at : at + half], ()):
                if text[at : at + len(short)] == short:
                    yield number


def equals(ours: Sequence[str], theirs: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of equal texts, by number, that are too short for shingles; of several of ours the first.

    >>> list(equals(["To be or not", "Yes."], ["Yes.", "to be, or not!"]))
    [(0, 1)]
    """
    first: dict[Tokens, int] = {}
    for number, text in enumerate(ours):
        first.setdefault(_short(text), number)
    for number, text in enumerate(theirs):
        found = _short(text)
        if found and found in first:
            yield first[found], number


def alike(ours: Sequence[str], theirs: Sequence[str]) -> set[int]:
    """Give the texts of theirs, by number, that `overlaps` or `equals` finds beside a text of ours.

    >>> sorted(alike(["To be or not to be", "Yes."], ["Yes.", "to be, or not to be!"]))
    [1]
    """
    return {at for _, at, _ in overlaps_of_many(ours, theirs)} | {at for _, at in equals(ours, theirs)}


def overlaps_of_many(ours: Sequence[str], theirs: Sequence[str]) -> Iterator[tuple[int, int, float]]:
    """Yield what `overlaps` does, in the same order.

    Texts that share no run of half a shingle are not compared, which is many times faster where few are alike.
    """
    chosen = _with_common_runs(*([tokens(text.lower()) for text in side] for side in (ours, theirs)))
    left, right = ([side[n] for n in kept] for side, kept in zip((ours, theirs), chosen, strict=True))
    for our_at, their_at, share in overlaps(left, right):
        yield chosen[0][our_at], chosen[1][their_at], share


def _with_common_runs(ours: Sequence[Sequence[str]], theirs: Sequence[Sequence[str]]) -> list[list[int]]:
    """Give the texts of each side that may overlap with one of the other.

    They have a shingle of words in common, or one of them is short and what it opens with stands in the other.
    """
    import numpy as np

    sides = [_coded(side) for side in (ours, theirs)]
    kept: list[list[Any]] = [[], []]
    for size, of_openings in ((SHINGLE_WORDS, False), ((SHINGLE_WORDS + 1) // 2, True)):
        runs = [_run_codes(*side, size) for side in sides]
        for one, other in ((0, 1), (1, 0)):
            (codes, places, opens), (their_codes, their_places, _) = runs[one], runs[other]
            chosen = opens if of_openings else slice(None)
            here = _is_in(their_codes, codes[chosen])
            kept[other].append(their_places[here])
            kept[one].append(places[chosen][_is_in(codes[chosen], their_codes[here])])
    return [np.unique(np.concatenate(found)).tolist() for found in kept]


def _is_in(values: Any, known: Any) -> Any:
    """Tell which values are known: their first bits rule most out, and the others are found by bisection."""
    import numpy as np

    first = np.zeros(1 << FIRST_BITS, bool)
    first[known >> np.uint64(64 - FIRST_BITS)] = True
    found = first[values >> np.uint64(64 - FIRST_BITS)]
    ordered, likely = np.sort(known), values[found]
    if len(likely):
        found[found] = ordered[np.minimum(np.searchsorted(ordered, likely), len(ordered) - 1)] == likely
    return found


def _coded(side: Sequence[Sequence[str]]) -> tuple[Any, Any, Any]:
    """Give the tokens of all texts as numbers, the text of each, and its place there."""
    import numpy as np

    sizes = np.fromiter(map(len, side), np.int64, len(side))
    text_of = np.repeat(np.arange(len(side)), sizes)
    codes = np.fromiter(map(hash, itertools.chain.from_iterable(side)), np.int64, len(text_of)).view(np.uint64)
    return codes, text_of, np.arange(len(text_of)) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def _run_codes(codes: Any, text_of: Any, place: Any, size: int) -> tuple[Any, Any, Any]:
    """Give each run of so many tokens as a number, its text, and whether a text that is short opens with it."""
    import numpy as np

    count = max(len(codes) - size + 1, 0)
    mixed = np.zeros(count, np.uint64)
    for at in range(size if count else 0):
        mixed = mixed * np.uint64(0x9E3779B97F4A7C15) + codes[at : count + at]
    within = text_of[:count] == text_of[size - 1 : size - 1 + count]
    is_short = np.bincount(text_of, minlength=1)[text_of[:count]] < SHINGLE_CHARACTERS
    return mixed[within], text_of[:count][within], ((place[:count] == 0) & is_short)[within]


def _short(text: str) -> Tokens:
    """Give the tokens of a text that has no shingles and can yet be compared; none of others."""
    if 2 * len(tokens(text.lower())) >= SHINGLE_CHARACTERS:
        return ()  # the same, and faster
    found, size, least = _measured(text)
    return found if least <= len(found) and 2 * len(found) < size else ()


def _pairs(
    found: set[int],
    sets: Sequence[set[int]],
    holders: Mapping[int, Sequence[int]],
    whole: Collection[int],
    number: int,
    least: float,
) -> Iterator[tuple[int, int, float]]:
    """Yield the texts of ours that share enough with a text of theirs, or one of which is a whole part of the other."""
    common = Counter(holder for shingle in found for holder in holders.get(shingle, ()))
    for holder in sorted({*common, *whole}):
        share = 1.0 if holder in whole else common[holder] / min(len(found), len(sets[holder]))
        if share >= least:
            yield holder, number, share
