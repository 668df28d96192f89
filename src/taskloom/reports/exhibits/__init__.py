"""What a study wants to see beside its scores, as tables with plots: a function for each view of `studies.views`.

Of a learner that was run at several numbers of shots, the scores at the most are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...studies.views import VIEWS, Agreement, Beside, Gain, Matrix, Scaling
from .agreement import agreement
from .beside import beside
from .core import Exhibit, Seen, text
from .gain import gain
from .settings import matrix, scaling

__all__ = ["Exhibit", "Seen", "exhibits", "text"]
MAKERS: Mapping[type, Callable[[Seen, Any], Iterator[Exhibit]]] = {
    Beside: beside,
    Gain: gain,
    Agreement: agreement,
    Matrix: matrix,
    Scaling: scaling,
}


def exhibits(seen: Seen) -> tuple[Exhibit, ...]:
    """Make all that a study wants to see; what can't be drawn says so."""
    if not seen.boards:
        return ()
    names = {kind: name for name, kind in VIEWS.items()}
    found: list[Exhibit] = []
    for view in seen.results.views:
        made = list(MAKERS[type(view)](seen, view))
        missing = "not drawn: what it needs has no scores yet, or no task of the study has it"
        found += made or [Exhibit(title=f"View {names[type(view)]!r}", notes=(missing,))]
    return tuple(found)
