"""Lessons of sampled episodes: the same for a seed, with the classes of their episode alone, of taught rows alone."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from taskloom.core import Example, Item, Labels, Suite, Task, Text
from taskloom.errors import EpisodeError
from taskloom.lesson_episodes import drawable, episode_lessons
from taskloom.models import Lesson
from taskloom.models.trained import Trained
from taskloom.suites import rows

NAMES = tuple(f"class{n}" for n in range(12))
PAIRS = Labels(("entailment", "neutral", "contradiction"))


def suite() -> Suite:
    """Make a task of twelve classes, one of pairs, and one without labels."""
    topics = Task(id="topics", instruction="Which?", output=Labels(NAMES), metrics=())
    pairs = Task(id="pairs", instruction="Related?", output=PAIRS, metrics=())
    texts = Task(id="texts", instruction="Say it.", output=Text(), metrics=())
    made = [
        (topics, [_single(n, NAMES[n % 12]) for n in range(120)]),
        (pairs, [_pair(n, PAIRS.names[n % 3]) for n in range(30)]),
        (texts, [Example(Item(f"t{n}", {"text": f"text {n}"}), (f"said {n}",), f"t{n}") for n in range(20)]),
    ]
    pools = {of.id: {"all": rows.pool(of, examples)} for of, examples in made}
    return Suite(id="s", tasks={of.id: of for of, _ in made}, pools=pools)


def _single(n: int, label: str) -> Example:
    return Example(Item(f"s{n}", {"text": f"text {n} of {label}"}), (label,), f"s{n}")


def _pair(n: int, label: str) -> Example:
    return Example(Item(f"p{n}", {"text1": f"one {n}", "text2": f"two {n}"}), (label,), f"p{n}")


def drawn(*tasks: str, seed: int = 0, most: int = 0, **how: Any) -> list[Lesson]:
    made = suite()
    taught = {name: range(len(made.pools[name]["all"])) for name in tasks}
    settings = Trained(**{"train": "x", "template": "choices", "episodes": 40, **how})
    return [lesson for _, lesson in episode_lessons(made, taught, settings, seed=seed, most=most)]


def options(lesson: Lesson) -> tuple[str, ...]:
    return tuple(re.findall(r"\([A-Z]+\) (\S+)", lesson.prompt))


def test_the_same_seed_draws_the_same_lessons_and_another_seed_others() -> None:
    assert drawn("topics", "pairs") == drawn("topics", "pairs")
    assert drawn("topics", "pairs") != drawn("topics", "pairs", seed=1)
    whole = drawn("topics", "pairs")
    assert drawn("topics", "pairs", most=3) == whole[: len(drawn("topics", "pairs", most=3))]  # one by one


def test_a_lesson_shows_the_classes_of_its_episode_alone_in_an_order_of_their_own() -> None:
    found = drawn("topics", episodes=200)
    for lesson in found:
        assert lesson.answer in options(lesson)
        assert 2 <= len(options(lesson)) <= 5
    episodes = Counter(options(lesson) for lesson in found)
    assert {len(shown) for shown in episodes} == {2, 3, 4, 5}
    assert any(shown != tuple(sorted(shown)) for shown in episodes)
    assert {lesson.answer for lesson in found} == {*NAMES}
    for shown, count in episodes.items():
        assert count >= len(shown)  # each class has a shot at least


def test_shots_and_ways_stay_within_their_bounds() -> None:
    found = drawn("topics", episodes=60, ways=[4, 0], shots=2)
    assert max(len(options(lesson)) for lesson in found) > 5
    assert min(len(options(lesson)) for lesson in found) == 4
    sizes = Counter((options(lesson), lesson.answer) for lesson in found)
    assert {*sizes.values()} == {2}
    assert len({lesson.item for lesson in drawn("topics", episodes=1, ways=12, shots=10)}) == 120


def test_pairs_are_asked_for_yes_no_and_maybe() -> None:
    found = drawn("pairs", ways=3)
    assert {lesson.answer for lesson in found} == {"Yes", "No", "Maybe"}
    assert {frozenset(options(lesson)) for lesson in found} == {frozenset({"Yes", "No", "Maybe"})}
    said = {"p0": "Yes", "p1": "Maybe", "p2": "No"}
    assert all(said.get(lesson.item, lesson.answer) == lesson.answer for lesson in found)


def test_every_task_has_its_share_and_one_without_labels_has_no_options() -> None:
    found = drawn("topics", "pairs", "texts", episodes=300)
    sizes = Counter(lesson.task for lesson in found)
    assert all(sizes[name] > 100 for name in ("topics", "pairs", "texts"))
    (first, *_) = [lesson for lesson in found if lesson.task == "texts"]
    assert (options(first), first.answer.startswith("said ")) == ((), True)


def test_lessons_are_of_the_rows_that_are_taught_alone() -> None:
    made = suite()
    taught = {"topics": [n for n in range(120) if n % 12 in (3, 5, 7)][::2], "pairs": [0, 1, 2]}
    found = list(episode_lessons(made, taught, Trained(train="x", episodes=50, template="choices"), seed=4))
    records: Any = made.pools["topics"]["all"].groups()
    assert {lesson.item for _, lesson in found if lesson.task == "topics"} <= {f"s{n}" for n in taught["topics"]}
    assert {record for record, lesson in found if lesson.task == "topics"} <= {
        int(records[n]) for n in taught["topics"]
    }
    assert {shown for _, lesson in found if lesson.task == "topics" for shown in options(lesson)} <= {
        "class3", "class5", "class7"
    }  # fmt: skip


def test_a_template_of_any_words_shows_the_drawn_labels() -> None:
    (first, *_) = drawn("topics", template="default", ways=2)
    assert first.prompt.startswith("Which?\nLabels: class")
    assert first.prompt.partition("\n\n")[0].count("class") == 2


@pytest.mark.parametrize(
    ("rows", "how", "able"),
    [
        ((0, 1), {}, True),
        ((0, 12), {}, False),  # one class alone
        ((), {}, False),
        (range(24), {"shots": (2, 2)}, True),
        (range(13), {"shots": (2, 2)}, False),
        (range(24), {"ways": (13, 0)}, True),  # all there are
    ],
)
def test_an_episode_takes_classes_with_enough_examples(rows: Any, how: Any, able: bool) -> None:
    assert drawable(suite(), "topics", rows, Trained(train="x", episodes=1, **how)) == able
    assert drawable(suite(), "texts", (0,), Trained(train="x", episodes=1))


def test_in_the_place_of_an_episode_that_can_not_be_drawn_another_is() -> None:
    task = Task(id="twins", instruction="", output=Labels(("a", "b", "c")), metrics=())
    golds = ["a", "b", *"cccc"]  # the only examples of a and b are one record
    examples = [Example(Item(str(n), {"text": str(n)}), (gold,), f"r{max(1, n)}") for n, gold in enumerate(golds)]
    made = Suite(id="s", tasks={"twins": task}, pools={"twins": {"all": rows.pool(task, examples)}})
    how = Trained(train="x", episodes=20, ways=(2, 2), shots=(1, 1), template="choices")
    found = [lesson for _, lesson in episode_lessons(made, {"twins": range(6)}, how, seed=0)]
    assert len(found) == 40
    assert {frozenset(options(lesson)) for lesson in found} == {frozenset("ac"), frozenset("bc")}
    with pytest.raises(EpisodeError):
        list(episode_lessons(made, {"twins": range(2)}, how, seed=0))
