"""Whether meta tasks that are connected to a target, in the graph of fields, add more than those that are not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..core import Suite
from ..stats import Estimate, student_interval
from ..suites.bridges import Partition, bridge
from ..texts import counted
from . import numbers, plots
from .figures import Figure
from .transfer import Gains

LEAST = 2  # targets that have both kinds of meta tasks, below which nothing is said of them together


@dataclass(frozen=True, slots=True)
class _Sides:
    """The learners whose meta tasks are connected to a target, and the others."""

    connected: tuple[str, ...]
    others: tuple[str, ...]


def is_connected(suite: Suite, meta: Sequence[str], target: str) -> bool | None:
    """Tell whether meta tasks are connected to a target; None where not all are field tasks.

    A single task is if it reads a field that the target reads, or writes one that it writes; several tasks are if they
    bridge the target.
    """
    if not all({"inputs", "outputs"} <= {*suite.task(name).tags} for name in (*meta, target)):
        return None
    if len(meta) > 1:
        return bridge(Partition(tuple(meta), target)).shape != "broken"
    ours, theirs = (suite.task(name).tags for name in (meta[0], target))
    return any({*ours[side]} & {*theirs[side]} for side in ("inputs", "outputs"))


def bridges(suite: Suite, gains: Gains, meta: Mapping[str, Sequence[str]]) -> Iterator[Figure]:
    """Compare meta tasks that are connected to a target with those that are not, where tasks are made of fields."""
    sides = {target: found for target in gains.targets if (found := _sides(suite, gains, meta, target))}
    if not sides:
        return
    both = {target: of for target, of in sides.items() if of.connected and of.others}
    title = "Gain of meta tasks that are connected to the target, over those that are not"
    if len(both) < LEAST:
        few = f"too few pairs: {counted(len(both), 'target')} with both kinds of meta tasks, and {LEAST} are needed"
        yield Figure(title=title, notes=(few, *_meaning(meta)))
        return
    connected, others, apart = (
        gains.each({target: shares(gains, of) for target, of in both.items()})
        for shares in (lambda g, of: g.gain_of(of.connected), lambda g, of: g.gain_of(of.others), _difference)
    )
    whole = gains.mean({target: _difference(gains, of) for target, of in both.items()})
    rows = [(t, apart[t], connected[t], len(of.connected), others[t], len(of.others)) for t, of in both.items()]
    yield Figure(
        title=title,
        columns=("target", "difference", "connected: mean gain", "pairs", "not connected: mean gain", "pairs "),
        rows=(*rows, ("mean over targets", whole, None, None, None, None)),
        notes=(*_notes(gains, both, apart, whole), *_meaning(meta)),
        plot=_plot(apart, whole, title),
    )


def _difference(gains: Gains, of: _Sides) -> dict[str, float]:  # noqa: ARG001 (as the shares of gains)
    """Take scores of one side less those of the other: what no meta task is needed for cancels out."""
    return {
        **dict.fromkeys(of.connected, 1 / len(of.connected)),
        **dict.fromkeys(of.others, -1 / len(of.others)),
    }


def _sides(suite: Suite, gains: Gains, meta: Mapping[str, Sequence[str]], target: str) -> _Sides | None:
    known = [name for name in gains.learners if (name, target) in gains.at and target in gains.in_points]
    kinds = {name: is_connected(suite, meta[name], target) for name in known}
    if not kinds or None in kinds.values():
        return None
    return _Sides(*(tuple(name for name in known if kinds[name] is kind) for kind in (True, False)))


def _notes(gains: Gains, both: Mapping[str, _Sides], apart: Mapping[str, Estimate], whole: Estimate) -> Iterator[str]:
    pairs = (sum(len(of.connected) for of in both.values()), sum(len(of.others) for of in both.values()))
    over = f"{counted(len(both), 'target')}, {pairs[0]} connected pairs and {pairs[1]} others"
    yield f"mean difference {numbers.score(whole, points=True)} for these targets, each paired: {over}"
    like = student_interval([found.value for found in apart.values()], level=gains.how.level)
    yield f"for other targets like these {numbers.score(like, points=True)} (Student's, over targets)"
    if dropped := len(gains.targets) - len(both):
        yield f"left out, as one kind of meta tasks is missing there: {counted(dropped, 'target')}"


def _meaning(meta: Mapping[str, Sequence[str]]) -> Iterator[str]:
    if any(len(tasks) == 1 for tasks in meta.values()):
        yield "connected: the meta task reads a field that the target reads, or writes one that it writes"
    if any(len(tasks) > 1 for tasks in meta.values()):
        yield "a group of meta tasks is connected if it bridges the target (see: taskloom bridge)"


def _plot(apart: Mapping[str, Estimate], whole: Estimate, title: str) -> str:
    found = {**apart, "mean over targets": whole}
    rows = [
        plots.Row(
            name, numbers.shown(e, True), numbers.score(e, points=True), "apart" if e.low > 0 or e.high < 0 else ""
        )
        for name, e in found.items()
    ]
    axis = "connected less not connected, points"
    return plots.responsive(lambda width: plots.forest(rows, title, axis=axis, width=width))
