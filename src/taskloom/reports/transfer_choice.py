"""Which meta tasks to choose for a target that was not measured: greedily, by their gains on the other targets.

The choice is evaluated on the target that was held out, beside a random one and the best that there was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from ..ids import shuffled
from ..stats import Estimate
from ..texts import counted
from . import numbers, plots
from .figures import Figure
from .transfer import Gains, Shares

Plain = Mapping[str, Mapping[str, float]]  # target -> learner -> gain


@dataclass(frozen=True, slots=True)
class Choice:
    """Meta tasks for a target, as learners that start from them, in the order of the map."""

    target: str
    chosen: tuple[str, ...]  # by the other targets
    random: tuple[str, ...]  # as many, drawn by the target's name
    best: tuple[str, ...]  # by the gains on the target itself, in hindsight
    among: tuple[str, ...]


def choices(gains: Plain, count: int) -> list[Choice]:
    """Choose for each target by the gains on all others; none where there are too few to choose from.

    >>> gains = {"x": {"a": 3.0, "b": 1.0, "c": 2.0}, "y": {"a": 2.0, "b": 0.0, "c": 4.0}}
    >>> [(of.target, of.chosen, of.best) for of in choices(gains, 1)]
    [('x', ('c',), ('a',)), ('y', ('a',), ('c',))]
    """
    found = []
    for target, own in gains.items():
        others = {name: by for name, by in gains.items() if name != target}
        known = tuple(name for name in own if any(name in by for by in others.values()))
        if count and len(known) > count:
            found.append(_choice(target, known, others, own, count))
    return found


def _choice(target: str, known: Sequence[str], others: Plain, own: Mapping[str, float], count: int) -> Choice:
    worth = {name: _worth(name, others) for name in known}
    drawn = [known[place] for _, place in zip(range(count), shuffled(len(known), "choice", target), strict=False)]
    picks = (_highest(worth, count), drawn, _highest({name: own[name] for name in known}, count))
    chosen, random, best = (tuple(name for name in known if name in pick) for pick in picks)
    return Choice(target, chosen, random, best, tuple(known))


def _worth(name: str, others: Plain) -> float:
    """Say by how much more than the average a meta task adds on the targets that it was measured on.

    A task that is a target itself was measured on fewer, which may gain more or less than others: averages are taken
    away first.
    """
    return fmean(by[name] - fmean(by.values()) for by in others.values() if name in by)


def _highest(worth: Mapping[str, float], count: int) -> list[str]:
    """Take the best one by one; of equals the first."""
    left, found = dict(worth), list[str]()
    while left and len(found) < count:
        found.append(max(left, key=lambda name: left[name]))
        del left[found[-1]]
    return found


# --- as a figure -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Kind:
    """A way to choose: what it adds on each target, as a sum of scores."""

    name: str
    gains: Gains
    shares: Shares

    def less(self, other: _Kind) -> str:
        """Write the mean difference from another way, over the targets that both have."""
        shares = {
            target: {name: of.get(name, 0.0) - theirs.get(name, 0.0) for name in {**of, **theirs}}
            for target, of in self.shares.items()
            if (theirs := other.shares.get(target))
        }
        return numbers.score(self.gains.mean(shares), points=True)


def choice_figure(
    gains: Gains, made: Sequence[Choice], count: int, together: Gains | None, sets: Mapping[tuple[str, ...], str]
) -> Figure:
    """Show what is chosen for each target, what that would add, and what models that were trained on it add."""
    title = f"Choosing {counted(count, 'meta task')} for a target by the gains on other targets"
    if len(made) < 2:
        few = f"too few to choose from: {counted(len(gains.in_points), 'target')} in points; two are needed, each with "
        return Figure(title=title, notes=(f"{few}more than {counted(count, 'meta task')} measured on it",))
    kinds = _assumed(gains, made) + (_measured(together, made, sets) if together else [])
    each = [kind.gains.each(kind.shares) for kind in kinds]
    mean = {kind.name: kind.gains.mean(kind.shares) for kind in kinds}
    rows = ((of.target, _names(of.chosen), *(e.get(of.target) for e in each), _names(of.best)) for of in made)
    return Figure(
        title=title,
        columns=("target", "chosen", *mean, "best"),
        rows=(*rows, ("mean over targets", "", *mean.values(), "")),
        notes=tuple(_notes(made, kinds)),
        plot=_plot(mean, title),
    )


def _assumed(gains: Gains, made: Sequence[Choice]) -> list[_Kind]:
    """Take the gain of a set for the mean of its members' gains."""
    return [
        _Kind("gain of the chosen", gains, {of.target: gains.gain_of(of.chosen) for of in made}),
        _Kind("at random", gains, {of.target: gains.gain_of(of.among) for of in made}),
        _Kind("best in hindsight", gains, {of.target: gains.gain_of(of.best) for of in made}),
    ]


def _measured(gains: Gains, made: Sequence[Choice], sets: Mapping[tuple[str, ...], str]) -> list[_Kind]:
    """Take the gains of models that were trained on what is chosen together, and on as many at random."""
    found = []
    for name, kind in (("chosen, trained together", "chosen"), ("random, trained together", "random")):
        learners = {of.target: sets.get(getattr(of, kind), "") for of in made}
        known = {target: learner for target, learner in learners.items() if (learner, target) in gains.at}
        found.append(_Kind(name, gains, {target: gains.gain_of([learner]) for target, learner in known.items()}))
    return found if all(len(kind.shares) > 1 for kind in found) else []


def _notes(made: Sequence[Choice], kinds: Sequence[_Kind]) -> Iterator[str]:
    chosen, random, best, *measured = kinds
    over = f"means over {counted(len(made), 'target')}"
    yield f"chosen less random {chosen.less(random)}, best less chosen {best.less(chosen)}: {over}"
    if measured:
        steps = "one model for each set, trained for as many steps as on a single meta task"
        yield f"trained together, chosen less random {measured[0].less(measured[1])}: {steps}"
    yield "chosen one by one: the highest gain, above the average meta task's, over all targets but this one"
    yield "random: the expected gain of as many, each equally likely; best: by the target itself, so rather too good"
    yield "the gain of several is taken for the mean of their gains, which is an assumption" + (
        "; trained together, it is measured" if measured else ""
    )
    yield "intervals take the choice as it is; but for those trained together, all targets share the models"


def _names(learners: Sequence[str]) -> str:
    return ", ".join(name.removeprefix("+") for name in learners)


def _plot(mean: Mapping[str, Estimate], title: str) -> str:
    rows = [plots.Row(name, numbers.shown(e, True), numbers.score(e, points=True)) for name, e in mean.items()]
    axis = "gain over no meta task, points, mean over targets"
    return plots.responsive(lambda width: plots.forest(rows, title, axis=axis, width=width))
