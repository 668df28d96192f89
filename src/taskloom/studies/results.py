"""What a run found: the finished cells with their answers and scores. Reports are made of this alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..core import Answer, Suite
from ..episodes import Shots
from ..ids import Json
from ..scores import Scored
from .costs import Cost
from .views import View


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A finished cell: one learner on one episode of one task."""

    cell: str  # its id
    task: str
    learner: str  # its name in the study
    shots: Shots
    seed: int
    index: int  # of the episode
    pool: str  # that the query items are of
    rows: tuple[int, ...]  # of the query items in it, as the answers; two pools may share ids
    items: tuple[str, ...]  # their ids
    answers: tuple[Answer | None, ...]
    gold: tuple[tuple[Answer, ...], ...]
    scores: Mapping[str, Scored]  # by the metric as the task names it: "rouge-l", "title/rouge-l"
    counts: Mapping[str, int]  # what was cut, dropped or unparsable on the way
    cost: Cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A cell whose learner raised."""

    cell: str
    task: str
    learner: str
    shots: Shots
    seed: int
    index: int
    traceback: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """All that a run has found so far."""

    name: str  # of the study
    command: str  # that runs it again
    suite: Suite = field(repr=False)
    learners: Mapping[str, str]  # name in the study -> what it is, for people
    floors: tuple[str, ...]  # names of learners that are only lines to be above
    outcomes: tuple[Outcome, ...] = field(repr=False)
    failures: tuple[Failure, ...] = field(repr=False)
    missing: int  # cells that were not run yet
    left_out: Mapping[str, int]  # why cells or classes were left out, and how many
    smoke: bool = False  # whether sizes were limited for a trial
    settings: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)  # what each learner is set to
    views: tuple[View, ...] = ()  # what the study wants to see beside scores
