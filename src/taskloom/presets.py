"""Ways to draw episodes that papers use, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .sampler import ALL, DRAWN, Between, Sampler, Shots

EPISODES = 90  # of each setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A sampler, with the settings and the number of episodes of each."""

    about: str
    sampler: Sampler
    shots: Mapping[Shots, int]
    own_episodes: bool = False  # whether settings have episodes of their own, not the same ones at other shots


HALF = Sampler(per_class=True, share=0.5, label_order="shuffled")  # of each class is left for support, in all of them

PRESETS: Mapping[str, Preset] = {
    "flex": Preset(
        about="Bragg et al. 2021: 5 or more classes, 1 to 5 shots of each, and zero-shot episodes of their own",
        sampler=replace(HALF, shots=DRAWN, ways=Between(least=5, all_up_to=6), least=1, most=5, query=110),
        shots={DRAWN: EPISODES, 0: EPISODES},
        own_episodes=True,
    ),
    "gao": Preset(
        about="Gao et al. 2021: all classes, 16 shots of each",
        sampler=replace(HALF, shots=16, query=40),
        shots={16: EPISODES},
    ),
    "bansal": Preset(
        about="Bansal et al. 2020: all classes, 4, 8 or 16 shots of each",
        sampler=replace(HALF, shots=DRAWN, among=(4, 8, 16), balanced=1.0, query=40),
        shots={4: EPISODES, 8: EPISODES, 16: EPISODES},
    ),
    "bao": Preset(
        about="Bao et al. 2020: 5 classes, 1 or 5 shots of each",
        sampler=replace(HALF, shots=DRAWN, among=(1, 5), balanced=1.0, ways=5, query=40),
        shots={1: EPISODES, 5: EPISODES},
    ),
}


def ways_text(sampler: Sampler) -> str:
    """Write how many classes an episode has.

    >>> ways_text(PRESETS["flex"].sampler), ways_text(Sampler(ways=(5, 10))), ways_text(Sampler())
    ('5 to all, or all of 6 or fewer', '5 or 10', 'all')
    """
    ways = sampler.ways
    if isinstance(ways, Between):
        few = f", or all of {ways.all_up_to} or fewer" if ways.all_up_to else ""
        return f"{ways.least} to {ways.most or ALL}{few}"
    return _either(ways) if isinstance(ways, tuple) else str(ways or ALL)


def drawn_text(sampler: Sampler) -> str:
    """Write how many shots each class has.

    >>> drawn_text(PRESETS["flex"].sampler), drawn_text(PRESETS["bansal"].sampler), drawn_text(Sampler(shots=16))
    ('1 to 5', '4, 8 or 16, balanced', '16')
    """
    if sampler.shots != DRAWN:
        return str(sampler.shots)
    is_range = isinstance(sampler.choices, range)
    sizes = f"{sampler.least} to {sampler.most}" if is_range else _either(sampler.choices)
    return sizes + (", balanced" if sampler.balanced == 1 else "")


def _either(numbers: Sequence[int]) -> str:
    """Write alternatives."""
    *others, last = map(str, numbers)
    return f"{', '.join(others)} or {last}" if others else last
