"""Super-NaturalInstructions: tasks given as instructions, from a folder of task files with its splits.

Where no folder is named, the dozen tasks are taken that come with taskloom.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path

from ..core import Suite
from ..errors import SourceError, UsageError
from ..sources.table import Field
from ..suites import instructions
from ..suites.build import Reading
from ..suites.leaks import without_leaks

NAME = "natural-instructions"

# The paper's table 2, and the number of instances from the text beside it.
PUBLISHED_CARD: Mapping[str, str | float] = {
    "tasks": 1_616,
    "types": 76,
    "languages": 55,
    "domains": 33,
    "non_english": 576,
    "instances": "5M",
    "words": 56.6,
    "positive": 2.8,
    "negative": 2.4,
    "instances_per_task": 3_106.0,
}
CARD_NOTE = (  # doc/domains_map.json of the release maps the names in its files to 33 wider ones
    "published: the paper's table 2, of all 1,616 tasks; its 33 domains are wider than those that files name, "
    "which are counted here"
)


def build(source: str, fields: Sequence[Field], reading: Reading, language: str) -> Suite:
    """Build a suite of task files; they say themselves what they hold."""
    if fields or language or reading != Reading():
        raise UsageError("task files say themselves what they hold: only the folder and -o go with them")
    folder = Path(source) if source else Path(str(resources.files("taskloom") / "data" / "instructions"))
    if not folder.is_dir():
        raise SourceError(f"no such folder: {folder}")
    files, splits = instructions.read(folder)
    notes = "; ".join(_notes(files, splits))
    about = {"benchmark": NAME} | ({"note": notes} if notes else {})
    id_ = folder.absolute().name if source else NAME
    return without_leaks(instructions.suite(files, splits, id=id_, about=about))


def _notes(files: Sequence[instructions.TaskFile], splits: instructions.Splits) -> Iterator[str]:
    """Say what is not as one would expect: tasks of splits that have no file, no splits, no answers."""
    here = {file.name for file in files}
    for track, lists in splits.items():
        gone = {name: sum(task not in here for task in tasks) for name, tasks in lists.items() if name != "excluded"}
        told = [f"{gone[name]:,} of {len(lists[name]):,} {name} tasks" for name in gone if gone[name]]
        if told:
            yield f"without a file, of split {track}: {', '.join(told)}"
    if not splits:
        yield "no splits: any task may be asked about"
    empty = sum(not any(map(str.strip, gold)) for file in files for gold in _golds(file))
    if empty:
        yield f"instances without an answer, as they were published: {empty:,}"


def _golds(file: instructions.TaskFile) -> list[list[str]]:
    outputs = [instance["output"] for instance in file.content[instructions.INSTANCES]]
    return [[output] if isinstance(output, str) else output for output in outputs]
