"""Functions to a suite of tasks: what each gives, which are dropped and why, and pools split by word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa

from ...core import DROPPED, Ints, Labels, Output, Ranking, Suite, Task, Text, Words
from ...errors import SourceError
from ...ids import Json
from ...messages import Note, counted_notes
from .evaluate import Bits, Grid, Matrix, TooManyError
from .forms import canonical, checked, type_of
from .knowledge import Answers, scattered
from .language import (
    FACTS,
    Filter,
    Function,
    Map,
    Match,
    Permuted,
    Random,
    Relation,
    WordFunction,
    atoms,
    composition_of,
    kind_of,
    parts_of,
    split,
    written,
)
from .plain import language, plain
from .pools import Asks, pool, samples
from .sample import in_random_order, permutation, sequences
from .tables import Tables, digest_of, tables
from .workshop import Workshop

TRUE, FALSE = "true", "false"
METRICS: Mapping[str, tuple[str, ...]] = {
    "words": ("token-accuracy", "token-accuracy:published"),
    "ranking": ("mass@1", "mass@2", "best-mass@1", "best-mass@2"),
}
FEWEST_OTHERS = 10  # samples for which the most frequent answer must be wrong
MOST_OF_ONE = 0.95  # of all samples, for which it may be right

Origin: TypeAlias = Literal["paper", "ours"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A function to make a task of, and where it comes from."""

    function: Function
    origin: Origin = "ours"


@dataclass(frozen=True, slots=True)
class Refused:
    """A function that no task is made of, and why."""

    function: str
    origin: Origin
    why: Note


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A task with the rows of its pools, before the words that all tasks use are known."""

    task: Task
    asks: Asks
    rows: Mapping[str, pa.Table]
    looked_up: tuple[WordFunction, ...] = ()  # what gives its outputs
    same: str  # what tasks that are equal by output have in common


# --- single words ----------------------------------------------------------------------------------------------------


def make(wanted: Wanted, shop: Workshop) -> Made | Note:
    """Make a task of a function, or say why not."""
    of = wanted.function
    if isinstance(of, Map | Filter):
        return _make_sequences(wanted, shop)
    if isinstance(of, Match):
        return _make_match(wanted, of, shop)
    inner = of.of if isinstance(of, Permuted) else of
    found = shop.answers(inner)
    if found.truths is not None:
        return _make_predicate(wanted, shop, found)
    if why := _unfit(inner, shop):
        return why
    keys = None
    if isinstance(of, Permuted):
        keys = found.words[permutation(len(found.words), of.seed, written(inner), shop.how.seed)][:, None]
    asks = Asks(written(inner), found.source, found.target, shop.how.seed)
    rows = _rows(shop, found.source, found.words, keys=keys)
    same = f"{shop.signature(inner)}{'' if keys is None else written(of)}"
    return Made(task=task_of(wanted, Text()), asks=asks, rows=rows, looked_up=(inner,), same=same)


def _make_predicate(wanted: Wanted, shop: Workshop, found: Answers) -> Made | Note:
    assert found.truths is not None
    words, held = _balanced(shop, found)
    most = max(int(held.sum()), int((~held).sum()))
    if why := _few(len(words), shop) or _constant(most, len(words)):
        return why
    if isinstance(wanted.function, Permuted):
        of = wanted.function
        held = held[permutation(len(words), of.seed, written(of.of), shop.how.seed)]
    rows = _rows(shop, found.source, words, labels=np.where(held, 0, 1))
    same = digest_of(shop.hashes(found.source)[words], held)
    asks = Asks("", found.source, found.source, shop.how.seed)
    return Made(task=task_of(wanted, Labels((TRUE, FALSE))), asks=asks, rows=rows, same=same)


def _balanced(shop: Workshop, found: Answers) -> tuple[Ints, Bits]:
    """Take no more entities for which a predicate fails than those for which it holds; of words take all."""
    assert found.truths is not None
    if found.source != FACTS:
        return found.words, found.truths
    order = in_random_order(shop.hashes(found.source)[found.words], shop.how.seed)
    held = found.truths[order]
    most = int(held.sum())
    kept = np.sort(order[held | (np.cumsum(~held) <= most)])
    return found.words[kept], found.truths[kept]


def _unfit(of: WordFunction, shop: Workshop, among: Ints | None = None) -> Note | None:
    """Say why a relation makes no task: too few words (of some) have an output, or it says nothing about them."""
    found = shop.answers(of)
    assert found.sets is not None
    own = np.arange(len(found.words)) if among is None else np.flatnonzero(np.isin(found.words, among))
    if why := _few(len(own), shop):
        return why
    sets = found.sets if among is None else found.sets[own]
    if why := _constant(int(np.bincount(sets.indices).max()), len(own)):
        return why
    is_single = found.source == found.target and (np.diff(sets.indptr) == 1).all()
    if is_single and (sets.indices == found.words[own]).all():
        return Note.of("function-same-word")
    return None


def _few(count: int, shop: Workshop) -> Note | None:
    """Refuse fewer samples than a task must have."""
    return Note.of("function-few", count=count, least=shop.how.least) if count < shop.how.least else None


def _constant(most: int, count: int, share: float = MOST_OF_ONE) -> Note | None:
    """Refuse a function whose most frequent answer is right for all but a few samples."""
    is_constant = count - most < FEWEST_OTHERS or most > share * count
    return Note.of("function-constant") if is_constant else None


def _rows(
    shop: Workshop, source: str, words: Ints, *, keys: Grid | None = None, labels: Ints | None = None
) -> dict[str, pa.Table]:
    hashes = shop.hashes(source)[words]
    order = in_random_order(hashes, shop.how.seed)
    made = {}
    for name, places in shop.parts(source, words[order]).items():
        own = order[places]
        made[name] = samples(
            words[own][:, None], None if keys is None else keys[own], None if labels is None else labels[own]
        )
    return made


def _relations(of: WordFunction) -> tuple[WordFunction, ...]:
    """Give the relations that outputs are looked up in: of facts the whole function, of words its atoms."""
    if kind_of(of) == "factual":
        return (of,)
    return tuple(dict.fromkeys(atom for atom in atoms(of) if isinstance(atom, Relation | Random)))


# --- sequences -------------------------------------------------------------------------------------------------------


def _make_sequences(wanted: Wanted, shop: Workshop) -> Made | Note:
    of = wanted.function
    assert isinstance(of, Map | Filter)
    each, keep = split(of)
    own = each.of if isinstance(each, Permuted) else each
    if why := _unfit_sequences(own, keep, shop):
        return why
    rows: dict[str, pa.Table] = {}
    for name in ("train", "test"):
        found = _sequences(of, shop, name)
        if isinstance(found, Note):
            return found
        rows[name] = found
    if (total := sum(table.num_rows for table in rows.values())) < shop.how.least:
        return Note.of("function-few", count=total, least=shop.how.least)
    found_type = type_of(of)
    asks = Asks(written(own) if own else "", found_type.source, found_type.target, shop.how.seed)
    same = "|".join([shop.signature(one) if one else "" for one in (own, keep)])
    same += written(each) if isinstance(each, Permuted) else ""
    output = Words(f" {shop.mark} " if shop.mark else " ")
    return Made(
        task=task_of(wanted, output), asks=asks, rows=rows, looked_up=(own,) if own else (), same=f"sequence {same}"
    )


def _unfit_sequences(each: WordFunction | None, keep: WordFunction | None, shop: Workshop) -> Note | None:
    """Ask of what is mapped and filtered by what is asked of tasks of single words: enough words, and answers differ.

    As many words as are wanted pass a filter, so that one which fails or holds for most words is no fault.
    """
    passing = None
    if keep:
        words, held = _balanced(shop, shop.answers(keep))
        most = max(int(held.sum()), int((~held).sum()))
        if why := _few(len(words), shop) or _constant(most, len(words), share=1):
            return why
        passing = words[held]
    return _unfit(each, shop, passing) if each else None


def _sequences(of: Map | Filter, shop: Workshop, name: str) -> pa.Table | Note:
    """Draw the sequences of a pool."""
    each, keep = split(of)
    passing, failing = _sides(shop, each, keep, name)
    how = shop.how
    kept = how.passing if keep else how.length
    if len(passing) < kept or len(failing) < how.length - kept:  # each of a sequence could be another word
        return Note.of("function-few-words", pool=name, passing=len(passing), failing=len(failing))
    share = how.test_share if name == "test" else 1 - how.test_share
    sizes = (round(how.sequences * share), how.length, kept)
    drawn, keys = sequences(passing, failing, sizes, written(of), name, how.seed)
    return samples(drawn, _dealt(shop, each, keys) if keep or isinstance(each, Permuted) else None)


def _sides(shop: Workshop, each: WordFunction | None, keep: WordFunction | None, name: str) -> tuple[Ints, Ints]:
    """Give the words of a pool that pass and have an image, and those that fail."""
    mapped = shop.answers(each.of if isinstance(each, Permuted) else each) if each else None
    kept = shop.answers(keep) if keep else None
    passing = mapped.words if mapped else np.empty(0, np.int64)
    failing, source = passing[:0], mapped.source if mapped else ""
    if kept and kept.truths is not None:
        holding, failing, source = kept.words[kept.truths], kept.words[~kept.truths], kept.source
        passing = np.intersect1d(holding, passing) if mapped else holding
    sides = [words[shop.parts(source, words)[name]] for words in (passing, failing)]
    return sides[0], sides[1]


def _dealt(shop: Workshop, of: WordFunction | None, keys: Grid) -> Grid:
    """Give the words whose outputs are taught: other ones where answers are dealt out at random."""
    if not isinstance(of, Permuted):
        return keys
    words = shop.answers(of.of).words
    other = words[permutation(len(words), of.seed, written(of.of), shop.how.seed)]
    return other[np.searchsorted(words, keys)]


# --- two functions at once -------------------------------------------------------------------------------------------


def _make_match(wanted: Wanted, of: Match, shop: Workshop) -> Made | Note:
    """Teach two relations alike, and ask about words that both have outputs for (paper, appendix D)."""
    first, second = shop.answers(of.first), shop.answers(of.second)
    both = np.intersect1d(first.words, second.words)
    if len(both) < shop.how.least:
        return Note.of("function-few", count=len(both), least=shop.how.least)
    alone = [_of_pool(shop, np.setdiff1d(one.words, both), first.source, "train") for one in (first, second)]
    equally = min(map(len, alone))
    common = _of_pool(shop, both, first.source, "train")
    taught = np.concatenate([common, alone[0][:equally], common, alone[1][:equally]])
    question = np.repeat([1, 2], len(common) + equally)
    order = permutation(len(taught), written(of), shop.how.seed)
    asked = _of_pool(shop, both, first.source, "test")
    rows = {"train": samples(taught[order][:, None], labels=question[order]), "test": samples(asked[:, None])}
    asks = Asks(written(of.first), first.source, first.target, shop.how.seed, written(of.second))
    same = f"match {shop.signature(of.first)} {shop.signature(of.second)}"
    return Made(task=task_of(wanted, Ranking()), asks=asks, rows=rows, looked_up=(of.first, of.second), same=same)


def _of_pool(shop: Workshop, words: Ints, source: str, name: str) -> Ints:
    """Give the words of a pool in a random order."""
    own = words[shop.parts(source, words)[name]]
    return own[in_random_order(shop.hashes(source)[own], shop.how.seed)]


# --- tasks and suites ------------------------------------------------------------------------------------------------


def task_of(wanted: Wanted, output: Output) -> Task:
    """Declare the task of a function; its instruction is the function in plain words."""
    of = wanted.function
    metrics = METRICS.get(output.kind, ("token-accuracy",))
    return Task(id=written(of), instruction=plain(of), output=output, metrics=metrics, tags=_tags(wanted))


def _tags(wanted: Wanted) -> dict[str, tuple[str, ...]]:
    of = wanted.function
    composition, found = composition_of(of), type_of(of)
    level = "sequence" if isinstance(of, Map | Filter) else "word" if composition else "atomic"
    tags = {
        "kind": (kind_of(of),),
        "domain": ("facts" if found.source == FACTS else "words",),
        "level": (level,),
        "composition": (composition,) if composition else (),
        "category": (composition or level,),
        "parts": tuple(written(part) for part in parts_of(of)),
        "atoms": tuple(dict.fromkeys(written(atom) for atom in atoms(of))),
        "origin": (wanted.origin,),
        "input_language": (language(found.source),),
        "output_language": (language(found.target),) if found.target else (),
    }
    return {name: values for name, values in tags.items() if values}


@dataclass(frozen=True)
class Collected:
    """Tasks that were made, and functions that were refused."""

    made: list[Made] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)

    def add(self, wanted: Iterable[Wanted], shop: Workshop, most: int = 0) -> None:
        """Make tasks until there are enough; those that are equal to an earlier one are refused."""
        ids = {made.task.id for made in self.made} | {one.function for one in self.refused}
        same = {made.same: made.task.id for made in self.made}
        for one in wanted:
            if most and len(self.made) >= most:
                return
            name = written(one.function)
            if name in ids:
                continue
            ids.add(name)
            found = _made(one, shop)
            if isinstance(found, Made):
                found = _refused(found, same) or found
            if isinstance(found, Note):
                self.refused.append(Refused(name, one.origin, found))
            else:
                self.made.append(found)
                same[found.same] = name


def _made(wanted: Wanted, shop: Workshop) -> Made | Note:
    try:
        return make(wanted, shop)
    except SourceError as error:
        return Note.of("function-unavailable", reason=error.note)
    except TooManyError as error:
        return error.note


def _refused(made: Made, same: Mapping[str, str]) -> Note | None:
    if made.same in same:
        return Note.of("function-duplicate", other=same[made.same])
    empty = [name for name, table in made.rows.items() if not table.num_rows]
    return Note.of("function-without-pool", pool=empty[0]) if empty else None


def wanted_of(functions: Iterable[Function], origin: Origin = "ours") -> Iterator[Wanted]:
    """Take functions in their canonical form."""
    for of in functions:
        yield Wanted(canonical(checked(of)), origin)


def suite(found: Collected, shop: Workshop, *, id: str, about: Mapping[str, Json]) -> Suite:
    """Put tasks together with the words and relations that they share."""
    shared = _shared(found.made, shop)
    pools = {
        made.task.id: {name: pool(made.task.output, made.asks, shared, table) for name, table in made.rows.items()}
        for made in found.made
    }
    refused = Counter(Note(one.why.code) for one in found.refused)
    listed: list[Json] = [
        {"function": one.function, "origin": one.origin, **one.why.to_json()} for one in found.refused
    ]
    told: dict[str, Json] = {DROPPED: counted_notes(refused), "refused": listed}
    return Suite(id=id, tasks={made.task.id: made.task for made in found.made}, pools=pools, about={**about, **told})


def _shared(made: Sequence[Made], shop: Workshop) -> Tables:
    functions = dict.fromkeys(of for one in made for looked_up in one.looked_up for of in _relations(looked_up))
    relations = {written(of): _table(of, shop) for of in functions}
    domains = {domain for one in made for domain in (one.asks.source, one.asks.target)}
    domains |= {domain for source, target, _ in relations.values() for domain in (source, target)}
    shared = tables({domain: shop.names(domain) for domain in domains}, relations)
    shared.kept.update({f"hashes {domain}": shop.hashes(domain) for domain in domains})
    for of in dict.fromkeys(looked_up for one in made for looked_up in one.looked_up):
        shared.learn(written(of), shop.answers(of).source, shop.answers(of).words, shop.sums(of))
    return shared


def _table(of: WordFunction, shop: Workshop) -> tuple[str, str, Matrix]:
    if isinstance(of, Relation | Random) and kind_of(of) != "factual" and shop.lexical:
        source, target = (of.source, of.target) if isinstance(of, Relation) else (of.language, of.language)
        return source, target, shop.lexical.matrix(of)
    found = shop.answers(of)
    assert found.sets is not None
    size = len(shop.names(found.source))
    return found.source, found.target, scattered(found, size)
