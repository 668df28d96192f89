"""Numbers as people read them, with their intervals."""

from __future__ import annotations

import math

from ..stats import Contrast, Estimate

NONE = "no value"


def number(value: float, points: bool) -> str:
    """Write a score, in points where it is a share of one.

    >>> number(0.1234, True), number(12345.678, False), number(float("nan"), True)
    ('12.3', '12,350', 'no value')
    """
    if math.isnan(value):
        return NONE
    if points:
        return f"{100 * value:.1f}".replace("-0.0", "0.0")
    return f"{float(f'{value:.4g}'):,.10g}"


def interval(found: Estimate | Contrast, points: bool) -> str:
    """Write the ends of an interval.

    >>> interval(Estimate(0.1234, 0.118, 0.129, 100), True)
    '[11.8, 12.9]'
    """
    if math.isnan(found.low) or math.isnan(found.high):
        return "[no interval]"
    return f"[{number(found.low, points)}, {number(found.high, points)}]"


def score(found: Estimate | Contrast, points: bool) -> str:
    """Write a score with its interval; what has no value says so.

    >>> score(Estimate(0.1234, 0.118, 0.129, 100), True)
    '12.3 [11.8, 12.9]'
    """
    value = found.difference if isinstance(found, Contrast) else found.value
    return NONE if math.isnan(value) else f"{number(value, points)} {interval(found, points)}"


def p_value(p: float) -> str:
    """Write a p-value.

    >>> p_value(0.0004), p_value(0.0321)
    ('< 0.001', '0.032')
    """
    return NONE if math.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def seconds(value: float) -> str:
    """Write a time that was measured.

    >>> seconds(0.01234), seconds(1234.5), seconds(0.00001), seconds(0)
    ('0.0123', '1,234', '< 0.001', '0')
    """
    if math.isnan(value):
        return NONE
    return f"{value:,.0f}" if value >= 100 or not value else f"{value:.3g}" if value >= 0.001 else "< 0.001"


def memory(size: float) -> str:
    """Write a size in memory.

    >>> memory(1_234_567_890), memory(45_600_000), memory(0)
    ('1.23 GB', '46 MB', '')
    """
    return "" if not size else f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def shown(found: Estimate, points: bool) -> Estimate:
    """Give an estimate as it is drawn: in points where it is a share of one."""
    return Estimate(100 * found.value, 100 * found.low, 100 * found.high, found.n) if points else found
