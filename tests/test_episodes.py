import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, combinations, pairwise
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from taskloom.core import Example, Item, Labels, Pool, Suite, Task, Text
from taskloom.episodes import ALL, Deck, Draw, Role, Sampler, draw, draws, episode, episodes
from taskloom.errors import EpisodeError, UnknownNameError
from taskloom.messages import Note
from taskloom.sources.table import Field
from taskloom.stocks import Stock
from taskloom.suites import fields, rows

often = settings(deadline=None, max_examples=40)

NAMES = ("a", "b", "c", "d")
CHOICE = Task(id="t", instruction="Which?", output=Labels(NAMES), metrics=("accuracy",))
FREE = Task(id="t", instruction="Say it.", output=Text(), metrics=("rouge-l",))

Cell = tuple[str, int]  # a row's label and the number of its group

labels = st.sampled_from("aaaaaabbbbccd")  # so that some classes are too small
records = st.lists(st.tuples(labels, st.integers(1, 3)), min_size=4, max_size=25)  # a label, and rows of that label
pure_cells = records.map(lambda found: [(label, n) for n, (label, size) in enumerate(found) for _ in range(size)])
mixed_cells = st.lists(st.tuples(labels, st.integers(0, 15)), min_size=4, max_size=40)  # groups of several classes
samplers = st.builds(
    Sampler,
    shots=st.integers(0, 3),
    dev=st.integers(0, 3),
    query=st.integers(0, 3),
    per_class=st.booleans(),
    ways=st.sampled_from([0, 0, 1, 2]),
)
seeds = st.integers(0, 1000)


def example(label: str, group: int, number: int) -> Example:
    return Example(Item(f"i{number}", {"text": f"text of {group}"}), (label,), f"g{group}")


def pool(cells: Iterable[Cell], task: Task = CHOICE) -> Pool:
    return rows.pool(task, [example(label, group, number) for number, (label, group) in enumerate(cells)])


def suite_of(pools: Mapping[str, Sequence[Cell]], task: Task = CHOICE) -> Suite:
    made = {name: pool(cells, task) for name, cells in pools.items()}
    return Suite(id="s", tasks={"t": task}, pools={"t": made})


def even(each: int, names: Sequence[str] = NAMES) -> list[Cell]:
    """Give each class as many records, of one row."""
    return [(names[n % len(names)], n) for n in range(each * len(names))]


def moved(cells: Iterable[Cell], by: int) -> list[Cell]:
    """Give the same cells with other records."""
    return [(label, group + by) for label, group in cells]


def drawn(suite: Suite, sampler: Sampler, seed: int = 0, count: int = 1) -> list[Draw]:
    return list(draws(suite, "t", sampler, seed=seed, count=count))


def groups_of(suite: Suite, found: Draw) -> set[int]:
    return Deck(suite, found.task).groups(found)


def drawn_if_any(suite: Suite, sampler: Sampler, seed: int = 0) -> Draw | None:
    try:
        return drawn(suite, sampler, seed)[0]
    except EpisodeError:
        return None


@contextmanager
def refused(code: str, **values: Any) -> Iterator[None]:
    """Expect an error of a code, with these among its values."""
    with pytest.raises(EpisodeError) as told:
        yield
    assert told.value.note.code == code
    assert set(Note.of(code, **values).values) <= set(told.value.note.values)


def counts_by_record(cells: Iterable[Cell]) -> Counter[str]:
    return Counter(label for label, _ in set(cells))


def expect_a_sound_draw(draw: Draw, pools: Mapping[str, Sequence[Cell]], sampler: Sampler) -> None:
    cells = {role: [pools[draw.pools[role]][row] for row in found] for role, found in draw.rows.items()}
    used = [(draw.pools[role], group) for role, found in cells.items() for _, group in found]
    assert len(set(used)) == len(used)  # no record twice, neither in one set nor in two of one pool
    assert all(label in draw.labels for found in cells.values() for label, _ in found)
    sizes: Mapping[Role, tuple[Any, bool]] = {
        "support": (sampler.shots, True),
        "dev": (sampler.dev, sampler.per_class),
        "query": (sampler.query, sampler.per_class),
    }
    for role, (size, each) in sizes.items():
        assert len(cells[role]) == size * (len(draw.labels) if each else 1)
        counts = Counter(label for label, _ in cells[role])
        assert not each or all(counts[label] == size for label in draw.labels)


def expect_the_classes_that_are_large_enough(draw: Draw, support: Sequence[Cell], sampler: Sampler) -> None:
    counts = counts_by_record(support)
    fit = [name for name in NAMES if counts[name] > sampler.shots]  # type: ignore[operator]
    assert draw.short == {name: counts[name] for name in NAMES if name not in fit}
    if sampler.ways:
        assert len(set(draw.labels)) == sampler.ways
        assert set(draw.labels) <= set(fit)
    else:
        assert draw.labels == tuple(fit)


@often
@given(pure_cells, samplers, seeds)
def test_a_draw_from_one_pool_is_sound(cells: list[Cell], sampler: Sampler, seed: int) -> None:
    draw = drawn_if_any(suite_of({"all": cells}), sampler, seed)
    assume(draw is not None)
    assert draw is not None
    expect_a_sound_draw(draw, {"all": cells}, sampler)
    expect_the_classes_that_are_large_enough(draw, cells, sampler)


@often
@given(mixed_cells, samplers, seeds)
def test_a_draw_is_sound_where_one_record_has_rows_of_several_classes(
    cells: list[Cell], sampler: Sampler, seed: int
) -> None:
    draw = drawn_if_any(suite_of({"all": cells}), sampler, seed)
    assume(draw is not None)
    assert draw is not None
    expect_a_sound_draw(draw, {"all": cells}, sampler)
    expect_the_classes_that_are_large_enough(draw, cells, sampler)


@often
@given(st.tuples(pure_cells, pure_cells, pure_cells), st.booleans(), samplers, seeds)
def test_a_draw_from_pools_of_their_own_is_sound(
    cells: tuple[list[Cell], ...], has_dev: bool, sampler: Sampler, seed: int
) -> None:
    names = ("train", "test", "dev") if has_dev else ("train", "test")
    every = [(name, 100 + n) for n, name in enumerate(NAMES)]  # each pool has each class
    pools = {name: [*found, *every] for name, found in zip(names, cells, strict=False)}
    draw = drawn_if_any(suite_of(pools), sampler, seed)
    assume(draw is not None)
    assert draw is not None
    assert draw.pools == {"support": "train", "dev": "dev" if has_dev else "train", "query": "test"}
    expect_a_sound_draw(draw, pools, sampler)


@often
@given(pure_cells, samplers, seeds)
def test_a_draw_is_refused_only_where_it_can_not_be_made(cells: list[Cell], sampler: Sampler, seed: int) -> None:
    sampler = replace(sampler, ways=0)
    counts = {name: n for name, n in counts_by_record(cells).items() if n > sampler.shots}  # type: ignore[operator]
    if sampler.per_class:
        can = all(n >= sampler.shots + sampler.dev + sampler.query for n in counts.values())  # type: ignore[operator]
    else:
        can = sum(counts.values()) >= sampler.shots * len(counts) + sampler.dev + sampler.query  # type: ignore[operator]
    assert (drawn_if_any(suite_of({"all": cells}), sampler, seed) is not None) == (can and len(counts) > 1)


@often
@given(pure_cells, samplers, seeds)
def test_a_task_without_labels_takes_its_shots_in_all(cells: list[Cell], sampler: Sampler, seed: int) -> None:
    sampler = replace(sampler, ways=0)
    draw = drawn_if_any(suite_of({"all": cells}, FREE), sampler, seed)
    wanted = sampler.shots + sampler.dev + sampler.query  # type: ignore[operator]
    assert (draw is not None) == (wanted <= len({group for _, group in cells}))
    if draw:
        assert [len(found) for found in draw.rows.values()] == [sampler.shots, sampler.dev, sampler.query]
        assert len({cells[row][1] for row in chain(*draw.rows.values())}) == wanted
        assert (draw.labels, draw.short) == ((), {})


@often
@given(st.lists(st.none() | labels, min_size=4, max_size=30).filter(any), samplers, seeds)
def test_a_draw_from_a_field_view_is_sound(found: list[str | None], sampler: Sampler, seed: int) -> None:
    known = [(label, n) for n, label in enumerate(found) if label]
    suite = suite_of_table(found)
    try:
        (draw,) = draws(suite, "text->label", sampler, seed=seed)
    except EpisodeError:
        assume(False)
    expect_a_sound_draw(draw, {"all": known}, sampler)
    read = episode(suite, draw)
    for found_there, taken in zip((read.support, read.dev, read.query), draw.rows.values(), strict=True):
        assert [e.group for e in found_there] == [f"r{known[row][1]}" for row in taken]
        assert [e.gold for e in found_there] == [(known[row][0],) for row in taken]


def suite_of_table(found: Sequence[str | None]) -> Suite:
    columns = (Field("text", "text", "Text"), Field("label", "label", "Label"))
    made = [{"id": f"r{n}", "text": f"text {n}", "label": label} for n, label in enumerate(found)]
    return fields.suite(fields.records(columns, made), id="table")


@often
@given(pure_cells, samplers, seeds)
def test_an_episode_has_the_examples_of_its_draw_and_only_its_labels(
    cells: list[Cell], sampler: Sampler, seed: int
) -> None:
    suite = suite_of({"all": cells})
    draw = drawn_if_any(suite, sampler, seed)
    assume(draw is not None)
    assert draw is not None
    (read,) = episodes(suite, "t", sampler, seed=seed)
    assert read == episode(suite, draw)
    assert read.id == draw.id
    assert read.task == CHOICE.narrowed(draw.labels)
    sets = {"support": read.support, "dev": read.dev, "query": read.query}
    assert {role: tuple(int(e.item.id[1:]) for e in found) for role, found in sets.items()} == draw.rows


@often
@given(pure_cells, samplers, seeds)
def test_a_text_asked_about_is_never_shown_before(cells: list[Cell], sampler: Sampler, seed: int) -> None:
    try:
        (read,) = episodes(suite_of({"all": cells}), "t", sampler, seed=seed)
    except EpisodeError:
        assume(False)
    texts = [{e.item.fields["text"] for e in found} for found in (read.support, read.dev, read.query)]
    assert all(not ours & theirs for ours, theirs in combinations(texts, 2))


@often
@given(pure_cells, samplers, seeds)
def test_the_same_arguments_give_the_same_draw(cells: list[Cell], sampler: Sampler, seed: int) -> None:
    first = drawn_if_any(suite_of({"all": cells}), sampler, seed)
    assert drawn_if_any(suite_of({"all": cells}), replace(sampler), seed) == first


def test_a_draw_does_not_depend_on_those_before_it() -> None:
    suite, sampler = suite_of({"all": even(10)}), Sampler(shots=2, dev=3, query=4)
    assert drawn(suite, sampler, count=5)[3] == drawn(suite, sampler, count=10)[3]
    assert [draw.index for draw in drawn(suite, sampler, count=5)] == [0, 1, 2, 3, 4]
    assert drawn(suite, sampler, count=0) == []


def test_other_seeds_and_other_numbers_give_other_draws() -> None:
    suite, sampler = suite_of({"all": even(20)}), Sampler(shots=1, dev=2, query=4)
    found = [draw for seed in range(10) for draw in drawn(suite, sampler, seed, count=10)]
    assert len({draw.id for draw in found}) == 100
    assert len({str(draw.rows) for draw in found}) > 95


def test_every_record_is_as_likely_to_be_shown() -> None:
    suite = suite_of({"all": even(10, ("a", "b"))})
    counts = Counter(row for draw in drawn(suite, Sampler(dev=0, query=0), count=2000) for row in draw.rows["support"])
    assert sum((counts[row] - 200) ** 2 / 200 for row in range(20)) < 42.31  # chi-square, 18 degrees, p = 0.001


def test_support_dev_and_query_are_drawn_apart() -> None:
    suite = suite_of({"train": even(10), "dev": even(10), "test": even(10)}, FREE)
    (draw,) = drawn(suite, Sampler(shots=8, dev=8, query=8))
    assert len(set(draw.rows.values())) == 3


@often
@given(pure_cells, st.booleans(), st.integers(0, 3), st.integers(1, 3), seeds)
def test_fewer_shots_are_a_part_of_more(cells: list[Cell], has_labels: bool, few: int, more: int, seed: int) -> None:
    suite = suite_of({"all": cells}, CHOICE if has_labels else FREE)
    less, full = (drawn_if_any(suite, Sampler(shots=n, dev=0, query=0), seed) for n in (few, few + more))
    assume(less is not None and full is not None)
    assert less is not None
    assert full is not None
    kept = [row for row in less.rows["support"] if not has_labels or cells[row][0] in full.labels]
    assert set(kept) <= set(full.rows["support"])


def test_fewer_shots_are_a_part_of_more_where_one_record_has_rows_of_several_classes() -> None:
    suite = suite_of({"all": [(name, n) for n in range(12) for name in ("a", "b")]})
    for seed in range(20):
        few, more = (drawn(suite, Sampler(shots=n, dev=0, query=0), seed)[0] for n in (1, 3))
        assert set(few.rows["support"]) <= set(more.rows["support"])


def test_fewer_shots_ask_for_the_same_classes_where_those_are_large_enough() -> None:
    suite = suite_of({"all": [*even(9, ("b", "c", "d")), ("a", 90), ("a", 91)]})
    for seed in range(20):
        few, more = (drawn(suite, Sampler(shots=n, dev=0, query=0, ways=2), seed)[0] for n in (1, 2))
        assert few.labels == more.labels or "a" in few.labels


def test_classes_are_drawn_anew_for_each_episode() -> None:
    found = drawn(suite_of({"all": even(5)}), Sampler(dev=0, query=4, ways=2), count=60)
    assert {frozenset(draw.labels) for draw in found} == {frozenset(pair) for pair in combinations(NAMES, 2)}
    assert {draw.labels for draw in found} > {("a", "b"), ("b", "a")}  # in any order


def test_a_class_of_too_few_records_is_left_out_and_counted_by_record() -> None:
    cells = [*even(3, ("a", "b")), ("c", 90), ("c", 90), ("c", 91)]  # c: three rows of two records; d: none
    (draw,) = drawn(suite_of({"all": cells}), Sampler(shots=2, dev=0, query=2))
    assert draw.labels == ("a", "b")
    assert (draw.short, draw.least) == ({"c": 2, "d": 0}, 3)


def test_a_class_of_too_few_records_is_refused_where_that_is_asked() -> None:
    suite = suite_of({"all": even(3, ("a", "b", "c"))})
    with refused("class-too-small", least=2, classes=[("d", 0)]):
        drawn(suite, Sampler(shots=1, dev=0, query=1, short_class="refuse"))
    whole = suite_of({"all": even(3)})
    assert drawn(whole, Sampler(shots=1, dev=0, query=1, short_class="refuse"))[0].labels == NAMES


def test_no_class_of_enough_records_is_refused() -> None:
    sizes = [(name, 3) for name in NAMES]
    told = {"task": "t", "query": 1, "enough": 0, "classes": sizes}
    remedy = Note.of("add-test-pool")
    with refused("too-few-classes", least=4, support=3, cause="query", remedy=remedy, **told):
        drawn(suite_of({"all": even(3)}), Sampler(shots=3, dev=0, query=0))
    remedy = Note.of("use-fewer-shots")
    with refused("too-few-classes", least=5, support=4, cause="support", remedy=remedy, **told):
        drawn(suite_of({"all": even(3)}), Sampler(shots=4, dev=0, query=0))


def test_too_few_classes_of_a_train_pool_are_a_matter_of_support() -> None:
    with pytest.raises(EpisodeError) as caught:
        drawn(suite_of({"train": even(3), "test": even(9)}), Sampler(shots=4, dev=0, query=1))
    values = dict(caught.value.note.values)
    assert (values["cause"], values["query"], values["least"]) == ("support", 0, 4)
    assert "4 for support, 0 for query" in str(caught.value)


def test_more_classes_than_there_are_is_refused() -> None:
    with refused("too-few-ways", ways=5, able=4, least=2):
        drawn(suite_of({"all": even(3)}), Sampler(ways=5))
    with refused("too-few-ways", ways=2, able=0, least=2):
        drawn(suite_of({"all": even(3)}, FREE), Sampler(ways=2))


def test_too_few_examples_for_a_set_are_told_with_their_number() -> None:
    with refused("too-few-examples", role="query", task="t", wanted=5, found=4, size=12):
        drawn(suite_of({"all": even(3)}), Sampler(shots=1, dev=4, query=5))
    with refused("too-few-examples", role="dev", task="t", wanted=9, found=8, size=12):
        drawn(suite_of({"all": [*even(2), *even(1)]}), Sampler(shots=0, dev=9, query=0))


def test_no_shots_give_an_empty_support_set() -> None:
    (draw,) = drawn(suite_of({"all": even(3)}), Sampler(shots=0, dev=0, query=12))
    assert draw.rows["support"] == draw.rows["dev"] == ()
    assert sorted(draw.rows["query"]) == list(range(12))
    assert draw.labels == NAMES


def test_a_class_of_which_nothing_is_left_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0

    def counted(*given: Any) -> Iterator[int]:
        nonlocal asked
        asked += 1
        return unused(*given)

    unused = Stock.unused
    monkeypatch.setattr(Stock, "unused", counted)
    cells = [*even(20), *moved([(NAMES[0], n) for n in range(500)], 1000)]
    (draw,) = drawn(suite_of({"train": even(1), "test": moved(cells, 100)}), Sampler(dev=0, query=ALL, per_class=True))
    assert len(draw.rows["query"]) == len(cells)
    assert asked <= len(cells) + 3 * len(NAMES)


def test_all_that_is_left_can_be_asked_about() -> None:
    (draw,) = drawn(suite_of({"all": even(3)}), Sampler(shots=1, dev=2, query=ALL))
    used = {*draw.rows["support"], *draw.rows["dev"]}
    assert sorted(draw.rows["query"]) == [row for row in range(12) if row not in used]


@pytest.mark.parametrize("size", ["shots", "dev", "query", "ways"])
def test_negative_sizes_are_refused(size: str) -> None:
    sizes: Mapping[str, Any] = {size: -2}
    with refused("sizes-negative"):
        Sampler(**sizes)


@pytest.mark.parametrize("task", [FREE, CHOICE])
def test_nothing_can_be_drawn_from_an_empty_pool(task: Task) -> None:
    with pytest.raises(EpisodeError):
        drawn(suite_of({"all": []}, task), Sampler())


def test_a_row_of_several_acceptable_labels_counts_as_the_first() -> None:
    both = replace(example("a", 90, 90), gold=("a", "b"))
    found = [both, *(example(label, group, group) for label, group in [("a", 1), ("b", 2), ("b", 3)])]
    suite = Suite(id="s", tasks={"t": CHOICE}, pools={"t": {"all": rows.pool(CHOICE, found)}})
    (draw,) = drawn(suite, Sampler(shots=1, dev=0, query=2))
    assert draw.labels == ("a", "b")
    assert 0 in chain(*draw.rows.values())


@pytest.mark.parametrize("role", ["dev", "test"])
def test_a_class_that_a_pool_lacks_is_not_made_up_from_others(role: str) -> None:
    pools = {"train": even(5), "dev": even(5), "test": even(5)} | {role: even(20, ("a", "b"))}
    with refused("too-few-examples"):
        drawn(suite_of(pools), Sampler(shots=1, dev=2, query=2, per_class=True))


def test_a_class_needs_no_more_than_its_shots_where_queries_have_their_own_pool() -> None:
    suite = suite_of({"train": even(2), "dev": moved(even(2), 10), "test": moved(even(2), 20)})
    assert drawn(suite, Sampler(shots=2, dev=4, query=4))[0].labels == NAMES


def test_a_record_that_is_in_two_pools_is_never_in_two_sets() -> None:
    suite = suite_of({"train": even(3), "dev": even(3), "test": even(3)})
    (found,) = drawn(suite, Sampler(shots=1, dev=4, query=4))
    assert len(groups_of(suite, found)) == 12
    with refused("too-few-examples", role="query"):
        drawn(suite, Sampler(shots=1, dev=4, query=5))


def test_a_reserve_keeps_dev_and_query_when_shots_change() -> None:
    suite = suite_of({"all": even(20)})
    found = [drawn(suite, Sampler(shots=k, reserve=8, dev=8, query=16))[0] for k in (0, 1, 2, 8)]
    assert len({(d.rows["dev"], d.rows["query"]) for d in found}) == 1
    assert [len(d.rows["support"]) for d in found] == [0, 4, 8, 32]
    assert all(set(a.rows["support"]) <= set(b.rows["support"]) for a, b in pairwise(found))
    assert len({d.id for d in found}) == 4


def test_meta_tasks_can_be_drawn_apart_from_their_target() -> None:
    suite = suite_of_table([NAMES[n % 4] for n in range(80)])
    target = draw(suite, "text->label", Sampler(shots=2, dev=8, query=8))
    meta = draw(suite, "label->text", Sampler(shots=40, dev=0, query=0), avoid=groups_of(suite, target))
    assert len(meta.rows["support"]) == 40
    assert not groups_of(suite, target) & groups_of(suite, meta)
    alone = draw(suite, "label->text", Sampler(shots=40, dev=0, query=0))
    assert alone.id != meta.id
    with refused("too-few-examples"):
        draw(suite, "label->text", Sampler(shots=60, dev=0, query=0), avoid=groups_of(suite, target))


def test_records_that_are_avoided_do_not_count_for_their_class() -> None:
    suite = suite_of({"all": even(3)})
    keys = suite.pools["t"]["all"].groups()
    all_of_a = {int(keys[row]) for row, (label, _) in enumerate(even(3)) if label == "a"}
    assert draw(suite, "t", Sampler(shots=1, dev=0, query=2), avoid=all_of_a).short == {"a": 0}


def test_a_pool_that_no_set_is_drawn_from_is_refused() -> None:
    with refused("of-task", task="t", reason=Note.of("pools-unfit", pools=["train", "validation", "test"])):
        drawn(suite_of({"train": even(2), "validation": even(2), "test": even(2)}), Sampler())


def test_an_unknown_way_with_short_classes_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="did you mean refuse"):
        Sampler(short_class="refused")  # type: ignore[arg-type]


def test_pools_that_lack_a_role_are_refused() -> None:
    with refused("of-task", task="t", reason=Note.of("pools-unfit", pools=["train", "dev"])):
        drawn(suite_of({"train": even(2), "dev": even(2)}), Sampler())
    with refused("of-task", reason=Note.of("pools-unfit", pools=["dev", "test"])):
        drawn(suite_of({"dev": even(2), "test": even(2)}), Sampler())


def test_an_only_pool_serves_all_roles_whatever_its_name() -> None:
    (draw,) = drawn(suite_of({"test": even(3)}), Sampler(shots=1, dev=1, query=1))
    assert set(draw.pools.values()) == {"test"}


def test_an_unknown_task_is_refused() -> None:
    with pytest.raises(UnknownNameError):
        list(draws(suite_of({"all": even(3)}), "u", Sampler()))


def test_a_draws_name_changes_with_all_that_determines_it() -> None:
    cells, sampler = even(5), Sampler(shots=1, dev=1, query=1)
    suite = suite_of({"all": cells})
    renamed = Suite(id="s", tasks={"u": replace(CHOICE, id="u")}, pools={"u": suite.pools["t"]})
    found = [
        *drawn(suite, sampler, count=2),
        *drawn(suite, sampler, seed=1),
        *drawn(suite_of({"all": cells[::-1]}), sampler),
        *drawn(suite_of({"all": cells[:-1]}), sampler),
        *drawn(suite_of({"all": [("b", 0), *cells[1:]]}), sampler),
        *draws(renamed, "u", sampler),
        *(drawn(suite, changed)[0] for changed in changes_of(sampler)),
    ]
    assert len({draw.id for draw in found}) == len(found)


def test_a_draws_name_changes_with_which_roles_share_a_pool() -> None:
    sampler = Sampler(dev=1, query=1)
    (one,), (two,) = (
        drawn(suite_of({"all": even(5)}), sampler),
        drawn(suite_of({"train": even(5), "test": even(5)}), sampler),
    )
    assert one.id != two.id


def changes_of(sampler: Sampler) -> list[Sampler]:
    changes: list[dict[str, Any]] = [
        {"shots": 2}, {"dev": 2}, {"query": 2}, {"per_class": True}, {"ways": 4}, {"short_class": "refuse"},
        {"version": 2},
    ]  # fmt: skip
    return [replace(sampler, **change) for change in changes]


def test_draws_of_one_name_are_equal_whatever_the_order_of_labels() -> None:
    turned = replace(CHOICE, output=Labels(NAMES[::-1]))
    sampler = Sampler(shots=1, dev=1, query=1)
    (ours,), (theirs,) = (drawn(suite_of({"all": even(5)}, task), sampler) for task in (CHOICE, turned))
    assert ours.id != theirs.id or ours == theirs


def test_what_is_said_about_a_suite_changes_no_draw() -> None:
    suite = suite_of({"all": even(5)})
    other = replace(suite, id="other", about={"language": "zh"}, folds={"f": {"train": ("t",)}})
    assert drawn(other, Sampler(dev=1, query=1)) == drawn(suite, Sampler(dev=1, query=1))


def golden_draws() -> list[Draw]:
    """Give draws from rows and from a view; a child process calls it too."""
    cells = [*even(4), ("a", 3), ("b", 2), ("c", 40), ("a", 41), ("a", 41)]
    sampler = Sampler(shots=2, dev=2, query=3, ways=3)
    from_rows = drawn(suite_of({"all": cells}), sampler, seed=7, count=2)
    view = suite_of_table(["a", "b", None, "a", "b", "a", "c", "b", "a"])
    return [*from_rows, *draws(view, "text->label", Sampler(dev=1, query=2), seed=7)]


def test_draws_are_those_of_the_first_release() -> None:
    first, second, _ = golden_draws()
    assert first.rows == {"support": (9, 13, 2, 6, 15, 7), "dev": (10, 18), "query": (11, 14, 5)}
    assert (first.id, second.id) == ("122e362cff5a2b43ec961663b2c95a94", "e0fb585b83293f6bd682559d033acd3d")


@pytest.mark.parametrize("hash_seed", ["0", "random"])
def test_draws_are_equal_in_another_process_with_another_hash_seed(hash_seed: str) -> None:
    code = "import runpy, sys; print(*runpy.run_path(sys.argv[1])['golden_draws'](), sep='\\n')"
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", code, __file__], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [str(draw) for draw in golden_draws()]


def test_all_shots_are_what_dev_and_query_leave_and_those_stay_the_same():
    suite = suite_of({"all": even(20)})
    few = drawn(suite, Sampler(shots=2, reserve=2, dev=3, query=4))[0]
    every = drawn(suite, Sampler(shots="all", reserve=2, dev=3, query=4))[0]
    assert (every.rows["dev"], every.rows["query"]) == (few.rows["dev"], few.rows["query"])
    assert set(few.rows["support"]) < set(every.rows["support"])
    together = [row for rows in every.rows.values() for row in rows]
    assert sorted(together) == list(range(len(suite.pools["t"]["all"])))


def test_all_shots_of_a_pool_that_query_has_used_up_are_refused():
    with pytest.raises(EpisodeError, match=r"support set of task 't'.*: 1 needed, 0 of 16 left"):
        drawn(suite_of({"all": even(4)}), Sampler(shots="all", query="all"))


def test_drawn_shots_lie_between_the_fewest_and_the_most_of_each_class():
    suite = suite_of({"all": even(20)})
    seen = set()
    for seed in range(30):
        (found,) = drawn(suite, Sampler(shots="drawn", least=2, most=4, query=4), seed=seed)
        labels = [int(suite.pools["t"]["all"].labels()[row]) for row in found.rows["support"]]
        counts = {label: labels.count(label) for label in labels}
        assert set(counts.values()) <= {2, 3, 4}
        seen |= {tuple(sorted(counts.items()))}
        assert drawn(suite, Sampler(shots="drawn", least=2, most=4, query=4), seed=seed) == [found]
    assert len(seen) > 3


@pytest.mark.parametrize("wrong", [{"shots": "some"}, {"query": "drawn"}, {"least": 3, "most": 2}, {"dev": -1}])
def test_sizes_that_are_none_are_refused(wrong: dict[str, Any]):
    with pytest.raises(EpisodeError):
        Sampler(**wrong)


def test_far_more_than_there_are_is_refused_at_once():
    with refused("too-few-examples"):
        drawn(suite_of({"all": even(4)}), Sampler(shots=0, query=99_999_999_999, per_class=True))
