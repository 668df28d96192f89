"""How far a training is: a small file beside its checkpoints, so that another process can show it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from ..folders import write_whole
from ..limits import parse_json
from ..texts import duration

FILE, EVERY = "progress.json", 1.0  # seconds between two notes
STALE = 120.0  # seconds after which a note is of a training that was ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Progressing:
    """How far a training is."""

    model: str  # or the learner that trains
    task: str
    step: int
    share: float  # of the budget
    loss: float
    seconds: float | None  # that are left, if that can be said

    def __str__(self) -> str:
        """Write a line for people."""
        left = f", {duration(self.seconds)} left" if self.seconds is not None else ""
        of = f" on {self.task}" if self.task else ""
        return f"training {self.model}{of}: {self.share:.0%}, step {self.step:,}, loss {self.loss:.3g}{left}"


@dataclass(slots=True)
class TrainingNote:
    """Notes how far a training is, now and then."""

    folder: Path
    model: str
    task: str
    first: tuple[float, float] | None = None  # when it was called first, and the share that was done by then
    last: float = 0.0

    def __call__(self, step: int, share: float, loss: float) -> None:
        """Write a note, where the last one is old enough; one that can't be written is left out."""
        now = time.monotonic()
        self.first = self.first or (now, share)
        begun, before = self.first  # a training that is resumed does not begin at 0
        if now - max(self.last, begun) < EVERY:
            return
        self.last = now
        left = (now - begun) * (1 - share) / (share - before) if share > before else None
        note = Progressing(model=self.model, task=self.task, step=step, share=share, loss=loss, seconds=left)
        with suppress(OSError):
            write_whole(self.folder / FILE, json.dumps(asdict(note)))


def progressing(artifacts: Path) -> Iterator[Progressing]:
    """Read how far the trainings of a run are, those that are under way."""
    for path in sorted(artifacts.glob(f"*.part/{FILE}")):
        with suppress(OSError, ValueError, TypeError):
            if time.time() - path.stat().st_mtime < STALE:
                note = Progressing(**parse_json(path.read_bytes()))
                str(note)  # of wrong types, it can't be shown
                yield note
