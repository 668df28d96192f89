"""Tasks given as instructions: task files of Super-NaturalInstructions to a suite, and back without loss.

A file has a definition, examples that are right and wrong with explanations, and instances. What a task can't hold as
it stood (an odd type, a key of its own) is kept beside the suite, so that writing gives equal JSON again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path, PureWindowsPath
from typing import Any

from ..core import ROLES, Example, Folds, Item, Pool, Shown, Suite, Task, Text
from ..errors import SuiteError
from ..ids import Json, fingerprint
from ..limits import parse_json
from ..sources.task_files import (
    DEFINITION,
    INSTANCES,
    KEYS,
    NEGATIVE,
    POSITIVE,
    TAGS,
    Splits,
    TaskFile,
    task_of,
    tasks_in,
    texts_of,
)
from . import rows

TEST = 100  # instances of a test task that are scored: the first of its file
METRICS = ("rouge-l:published", "rouge-l", "exact-match:published", "exact-match")
CROSS_LINGUAL = ("rouge-l:cross-lingual", *METRICS[1:])  # of tasks with another language than English
USED = tuple(role for role in ROLES if role != "excluded")
MATCHED = frozenset({  # categories whose answers are a few words: whether they match says more than what they share
    "Textual Entailment", "Cause Effect Classification", "Coreference Resolution", "Dialogue Act Recognition",
    "Answerability Classification", "Word Analogy",
})  # fmt: skip
EMPTY = ("empty-output",)  # some released instances have no answer; they count as published, and `check` names them
KEPT = "task_files"  # in a suite's `about`: what its tasks can't hold
KEPT_SPLITS = "task_splits"  # and what its folds can't: tasks that are not at hand
LEAKING = "leaking_tasks"  # and by fold and role, the tasks that are excluded, for they would give a test task away


def folds_of(found: Splits, known: Sequence[str]) -> Folds:
    """Make each track that has tasks to train, choose or test on a fold, of the tasks that are at hand."""
    here = set(known)
    folds = {
        track: {name: tuple(n for n in tasks_in(entries) if n in here) for name, entries in lists.items()}
        for track, lists in found.items()
    }
    used = {track: {name for role in USED for name in roles.get(role, ())} for track, roles in folds.items()}
    return {track: _without_used(roles, used[track]) for track, roles in folds.items() if used[track]}


def _without_used(roles: Mapping[str, tuple[str, ...]], used: set[str]) -> dict[str, tuple[str, ...]]:
    """Exclude no task that has another role; the role is there only where there are such tasks."""
    left = tuple(name for name in roles.get("excluded", ()) if name not in used)
    return {role: names for role, names in roles.items() if role in USED} | ({"excluded": left} if left else {})


# --- suites ----------------------------------------------------------------------------------------------------------


def suite(
    files: Sequence[TaskFile], found: Splits, *, id: str, about: Mapping[str, Json] | None = None, scored: int = TEST
) -> Suite:
    """Make a suite of task files: of test tasks the first instances are scored, and the others may be learnt from."""
    folds = folds_of(found, [file.name for file in files])
    tested = {name for roles in folds.values() for name in roles.get("test", ())}
    tasks = {file.name: task(file) for file in files}
    pools = {file.name: _pools(tasks[file.name], file, scored if file.name in tested else 0) for file in files}
    kept = {file.name: odd for file in files if (odd := _odd(file, tasks[file.name]))}
    lists: Json = {track: {name: list(names) for name, names in part.items()} for track, part in found.items()}
    kept_about: dict[str, Json] = dict(about or {}) | {KEPT: kept, KEPT_SPLITS: lists}
    return Suite(id=id, tasks=tasks, pools=pools, folds=folds, about=kept_about)


def task(file: TaskFile) -> Task:
    """Make the task of a file."""
    content = file.content
    shown = [
        Shown({"input": one["input"]}, _first(one["output"]), one.get("explanation", ""), right)
        for key, right in ((POSITIVE, True), (NEGATIVE, False))
        for one in content[key]
    ]
    tags = {tag: tuple(v for v in content.get(key, ()) if isinstance(v, str)) for key, tag in TAGS.items()}
    if MATCHED & {*tags["category"]}:
        tags["metric"] = (METRICS[2],)
    return Task(
        id=file.name,
        instruction=_first(content[DEFINITION]),  # of several, as the released code takes it
        output=Text(),
        metrics=METRICS if _is_english(tags) else CROSS_LINGUAL,
        tags={tag: values for tag, values in tags.items() if values},
        examples=tuple(shown),
    )


def _is_english(tags: Mapping[str, Sequence[str]]) -> bool:
    return {*tags["input_language"], *tags["output_language"]} <= {"English"}


def _pools(of: Task, file: TaskFile, scored: int) -> dict[str, Pool]:
    examples = [_example(of, number, instance) for number, instance in enumerate(file.content[INSTANCES])]
    parts = {"train": examples[scored:], "test": examples[:scored]} if scored else {"all": examples}
    return {name: rows.pool(of, part, but=EMPTY) for name, part in parts.items() if part or name != "train"}


def _example(of: Task, number: int, instance: Mapping[str, Any]) -> Example:
    """Make an example; equal inputs are one group, so that they are never on both sides of a draw."""
    gold = tuple(texts_of(instance["output"]) or ())
    id_ = instance.get("id") or f"{of.id}-{number}"
    return Example(Item(id_, {"input": instance["input"]}), gold, fingerprint(instance["input"])[:16])


# --- writing ---------------------------------------------------------------------------------------------------------


def write(suite: Suite, folder: Path) -> None:
    """Write a suite's tasks as task files, with its splits; names that would lead elsewhere are refused before."""
    splits = _splits_of(suite)
    _refuse_odd(suite.tasks, splits)
    (folder / "tasks").mkdir(parents=True, exist_ok=True)
    for name in suite.tasks:
        text = json.dumps(content_of(suite, name), ensure_ascii=False, indent=4)
        (folder / "tasks" / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    for track, lists in splits.items():
        (folder / "splits" / track).mkdir(parents=True, exist_ok=True)
        for name, names in lists.items():
            text = "".join(f"{one}\n" for one in names)
            (folder / "splits" / track / f"{name}_tasks.txt").write_text(text, encoding="utf-8")


def _refuse_odd(tasks: Iterable[str], splits: Splits) -> None:
    """Refuse tasks and tracks that would be files of another folder, on any system, and what is no name in a list."""
    listed = [name for lists in splits.values() for names in lists.values() for name in names]
    odd = [name for name in (*tasks, *splits) if not _is_file_name(name)]
    odd += [name for name in listed if name.split() != [name]]
    if odd:
        shown = ", ".join(map(repr, dict.fromkeys(odd)))
        raise SuiteError(f"names of tasks that can't be names of files: {shown}")


def _is_file_name(name: str) -> bool:
    r"""Tell a name that stays in its folder, on any system.

    >>> [name for name in ("task1", "", ".", "..", "a/b", r"a\b", "C:a", "a\n") if _is_file_name(name)]
    ['task1']
    """
    return bool(name) and PureWindowsPath(name).name == name and ".." not in name and name.isprintable()


def _splits_of(suite: Suite) -> Splits:
    """Give the lists of tracks: folds decide on tasks at hand, and what was read adds the others and the order."""
    kept, here = _kept_splits(suite), set(suite.tasks)
    gone = [  # tracks without a fold, though they had one: it was taken away
        track
        for track, lists in kept.items()
        if track not in suite.folds and here & {name for role in USED for name in tasks_in(lists.get(role, ()))}
    ]
    tracks = [track for track in dict.fromkeys([*kept, *suite.folds]) if track not in gone]
    return {track: _lists(kept.get(track, {}), roles_with_leaks(suite, track), here) for track in tracks}


def leaking_tasks(suite: Suite, fold: str) -> dict[str, list[str]]:
    """Give by role the tasks of a fold that were excluded for leaking, as the suite tells."""
    kept: Any = suite.about.get(LEAKING, {})
    roles: Any = kept.get(fold, {}) if isinstance(kept, Mapping) else kept
    if not isinstance(roles, Mapping) or not all(map(_are_names, roles.values())):
        raise SuiteError(f"leaking tasks must be lists of names, by fold and role: {roles!r}")
    return dict(roles)


def roles_with_leaks(suite: Suite, fold: str) -> dict[str, tuple[str, ...]]:
    """Give the roles of a fold as they were before its leaks were excluded; what was given a role since, keeps it."""
    roles = dict(suite.folds.get(fold, {}))
    kept = {name for role in ("excluded", "test") for name in roles.get(role, ())}
    for role, names in leaking_tasks(suite, fold).items():
        leaks = [name for name in names if name in kept]
        roles[role] = (*roles.get(role, ()), *leaks)
        if left := tuple(name for name in roles.pop("excluded", ()) if name not in leaks):
            roles["excluded"] = left
    return roles


def _kept_splits(suite: Suite) -> Splits:
    """Give the lists as they were read; no fingerprint covers them, so they are looked at."""
    kept: Any = suite.about.get(KEPT_SPLITS, {})
    lists = [*kept.values()] if isinstance(kept, Mapping) else [kept]
    if odd := [part for part in lists if not isinstance(part, Mapping) or not all(map(_are_names, part.values()))]:
        raise SuiteError(f"stored splits must be lists of names, by track and list: {odd[0]!r}")
    if unknown := [name for part in lists for name in part if name not in ROLES]:
        raise SuiteError(f"lists of a track must be {', '.join(ROLES)}: {', '.join(map(repr, unknown))}")
    return dict(kept)


def _are_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _lists(
    kept: Mapping[str, Sequence[str]], roles: Mapping[str, Sequence[str]], here: set[str]
) -> dict[str, list[str]]:
    """Merge the lists of a track with the roles of its fold: in the order that was read, and what is new after it."""
    known = {name for role in USED for name in tasks_in(kept.get(role, ()))}
    used = {name for role in USED for name in roles.get(role, ())}
    found: dict[str, list[str]] = {}
    for role in ROLES:
        wanted = dict.fromkeys(roles.get(role, ()))
        away = (here | used if role in USED else used - known) - wanted.keys()  # what folds have taken off the list
        old = [entry for entry in kept.get(role, ()) if task_of(entry) not in away]
        if role in kept or wanted or (role in roles and role in USED):
            listed = {*tasks_in(old)}
            found[role] = [*old, *(name for name in wanted if name not in listed)]
    return found


def content_of(suite: Suite, name: str) -> dict[str, Any]:
    """Give what stood in the file of a task; no fingerprint covers what is kept of it, so it may be damaged."""
    pools = suite.pools[suite.task(name).id]
    order = [pool for pool in ("test", "train", "all") if pool in pools]
    examples = [example for pool in order for example in pools[pool].take(range(len(pools[pool])))]
    kept = suite.about.get(KEPT)
    try:
        return _content(suite.tasks[name], examples, kept.get(name, {}) if isinstance(kept, Mapping) else {})
    except (LookupError, ValueError, TypeError, AttributeError) as error:
        raise SuiteError(f"not as a task of a task file is kept ({error!r}): {name!r}") from None


def _content(of: Task, examples: Sequence[Example], odd: Any) -> dict[str, Any]:
    instances = [{"id": e.item.id, "input": e.item.fields["input"], "output": list(e.gold)} for e in examples]
    read = partial(parse_json, parse_int=int)  # integers as they were
    for number, instance in read(odd.get(INSTANCES, "{}")).items():
        instances[int(number)] = instance
    made = _header(of) | {INSTANCES: instances} | read(odd.get("values", "{}"))
    return {key: made[key] for key in read(odd.get("keys", "[]")) or KEYS if key in made}


def _header(of: Task) -> dict[str, Any]:
    """Give all of a usual file but its instances."""
    shown = [{"input": one.fields["input"], "output": one.answer, "explanation": one.why} for one in of.examples]
    right = [one.right for one in of.examples]
    return {key: list(of.tags.get(tag, ())) for key, tag in TAGS.items()} | {
        DEFINITION: [of.instruction],
        POSITIVE: [one for one, good in zip(shown, right, strict=True) if good],
        NEGATIVE: [one for one, good in zip(shown, right, strict=True) if not good],
    }


def _odd(file: TaskFile, of: Task) -> dict[str, Json]:
    """Keep what would not come back as it was: as JSON texts, for they may hold what our manifests may not."""
    header, content = _header(of), file.content
    values = {k: v for k, v in content.items() if k != INSTANCES and (k not in header or not _equal(header[k], v))}
    instances = {}
    for number, instance in enumerate(content[INSTANCES]):
        made = _example(of, number, instance)
        usual = {"id": made.item.id, "input": made.item.fields["input"], "output": list(made.gold)}
        if list(instance.items()) != list(usual.items()):
            instances[str(number)] = instance
    found: dict[str, Json] = {"values": json.dumps(values)} if values else {}
    found |= {INSTANCES: json.dumps(instances)} if instances else {}
    return found | ({"keys": json.dumps(list(content))} if list(content) != list(KEYS) else {})


def _equal(ours: Any, theirs: Any) -> bool:
    return json.dumps(ours) == json.dumps(theirs)  # in order, and NaN is NaN


def _first(value: Any) -> str:
    return value if isinstance(value, str) else str(value[0])
