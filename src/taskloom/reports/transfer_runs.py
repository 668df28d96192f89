"""Maps of what transfers to what, from Python: the study is made, run, and run again with what it says to choose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..progress import Progress
from ..studies.api import run
from ..studies.results import Results
from ..studies.study import Study
from ..studies.transfer import TransferOptions, transfer_study, with_sets
from ..suites.store import open_suite
from .views.transfer import Transfer


def transfer(
    suite: Path | str,
    folder: Path | str | None = None,
    *,
    limit: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
    **options: Any,
) -> Results:
    """Measure what transfers to what in a suite's folder; `studies.transfer.TransferOptions` has the options.

    The results show as a report, with the map, where a notebook shows them: `taskloom.summarise(results)`.
    """
    how = TransferOptions(**options)
    study, _ = transfer_study(open_suite(Path(suite)), suite, how)
    found = run(study, folder, limit=limit, workers=workers, progress=progress)
    if how.measure and (chosen := with_chosen(study, found)):
        found = run(chosen, folder, limit=limit, workers=workers, progress=progress)
    return found


def with_chosen(study: Study, found: Results) -> Study | None:
    """Add learners that start from what a map says to choose for each target; None where there is too little of it."""
    sets = {
        target: some
        for view in study.views
        if isinstance(view, Transfer)
        for target, some in view.chosen(found).items()
    }
    return with_sets(study, sets) if sets else None
