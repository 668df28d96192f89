"""What plots are drawn of: texts whose widths are estimated, axes and scales.

Colours are CSS variables of the page, so that one drawing serves light and dark.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import TypeAlias
from unicodedata import east_asian_width

from ..stats import Estimate

HUES = 10
FONT = 13  # pixels
NARROW = 0.36  # of the height of a font: the width of its narrow characters

Scale: TypeAlias = Callable[[float], float]


def drawing(about: str, size: tuple[float, float], parts: Sequence[str], details: str = "") -> str:
    """Write a drawing of this size that shrinks to its place, with a name and what it shows in words."""
    described = f"<desc>{escape(details)}</desc>" if details else ""
    return (
        f'<svg class="plot" width="{size[0]:.0f}" viewBox="0 0 {size[0]:.0f} {size[1]:.0f}" role="img" '
        f'aria-label="{escape(about)}">'
        f"{described}{''.join(parts)}</svg>"
    )


def short(text: str, size: int) -> str:
    """Leave out the middle of a long name, for names differ most at their ends.

    >>> short("hf:organisation/model-small-1b", 16)
    'hf:or…l-small-1b'
    """
    return text if len(text) <= size else f"{text[: size // 3]}…{text[-(size - size // 3 - 1) :]}"


def fitted(text: str, room: float) -> str:
    """Leave out the beginning of a name that is wider than there is room, by a guess at the widths of wide fonts.

    >>> fitted("Social Media -> Twitter", 200), fitted("城市道路绿化", 70)
    ('Social Media -> Twitter', '…道路绿化')
    """
    first = max(0, len(text) - int(room / (NARROW * FONT)) - 2)  # no more characters have room
    cut = (text if not at else f"…{text[at:].lstrip(' ->')}" for at in range(first, len(text)))
    return next((one for one in cut if text_width(one) <= room), text[-1:])


def text_width(text: str, font: float = FONT) -> float:
    """Estimate the width of a text in pixels, rather too wide than too narrow."""
    return font * sum(map(_em, text))


def _em(character: str) -> float:
    if east_asian_width(character) in "WF":
        return 1.0
    return NARROW if character in " fijlrt.,:;-'()" else 0.95 if character in "mwMW@%>…" else 0.62


def text_at(x: float, y: float, text: str, style: str, anchor: str = "start") -> str:
    """Write a text at a place."""
    return f'<text class="{style}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


# --- scales ----------------------------------------------------------------------------------------------------------


def known(e: Estimate) -> list[float]:
    """Give what is known of a value and its interval."""
    return [v for v in (e.value, e.low, e.high) if not math.isnan(v)]


def span(values: Sequence[float]) -> tuple[float, float]:
    """Give the ends of an axis, a little wider than the values."""
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    reach = (high - low) or abs(high) or 1.0
    return low - 0.04 * reach, high + 0.04 * reach


def scale(low: float, high: float, first: float, last: float) -> Scale:
    """Place values between two points of a drawing."""
    width = (high - low) or 1.0
    return lambda value: first + (value - low) / width * (last - first)


def ticks(low: float, high: float) -> list[float]:
    """Give round numbers within a span, three to eight of them.

    >>> ticks(0.3, 9.2)
    [2.0, 4.0, 6.0, 8.0]
    """
    rough = (high - low) / 4
    base = 10.0 ** math.floor(math.log10(rough))
    step = base * next(n for n in (1, 2, 5, 10) if base * n >= rough * 0.75)
    return [round(n * step, 10) for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Give powers of ten within a span, and where there are few also twos and fives.

    >>> log_ticks(0.5, 2e4), log_ticks(30, 700)
    ([1.0, 10.0, 100.0, 1000.0, 10000.0], [50.0, 100.0, 200.0, 500.0])
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    powers = [float(f"1e{n}") for n in range(first, last + 1)]
    within = [tick for tick in powers if low <= tick <= high]
    finer = (times * power for power in powers for times in (1.0, 2.0, 5.0))
    return within if len(within) > 2 else [tick for tick in finer if low <= tick <= high]


def tick_text(value: float) -> str:
    """Write a number beside an axis."""
    return f"{float(f'{value:.4g}'):,.10g}".replace("-", "−")


def spaced(labels: Sequence[tuple[float, str]]) -> list[tuple[float, str]]:
    """Leave out labels that would run into the one before."""
    kept: list[tuple[float, str]] = []
    for x, text in labels:
        if not kept or x - kept[-1][0] >= 8 * max(len(text), len(kept[-1][1])) / 2 + 14:
            kept.append((x, text))
    return kept
