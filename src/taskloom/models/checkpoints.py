"""Checkpoints of training: safetensors, written aside and renamed, so that each is there whole or not at all."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypeAlias

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from ..ids import Json, fingerprint
from ..limits import parse_json
from ..processes import is_gone, new_owner

SECONDS = 60.0  # between checkpoints, at the least
SHARE = 30  # as much longer as writing one takes
KEPT = 2
Curve: TypeAlias = list[tuple[int, float]]  # steps, and the loss at each


@dataclass(slots=True)
class State:
    """Where training stands; what a checkpoint keeps beside the weights."""

    step: int = 0
    tokens: int = 0
    losses: Curve = field(default_factory=list)
    validation: Curve = field(default_factory=list)
    best: float = math.inf  # the lowest validation loss
    waited: int = 0  # validations since then
    stride: int = 1  # steps between two points of the curve


class Checkpoints:
    """The checkpoints of one training; those of another recipe in the same folder are not read."""

    def __init__(self, folder: Path, of: Json) -> None:
        self.folder, self.of = folder, fingerprint("checkpoint", of)
        self.wait, self.last = SECONDS, time.monotonic()
        self.written = self.failed = 0
        for left in folder.glob(".*.safetensors"):  # of a process that was killed while it wrote
            if is_gone(left.stem.removeprefix(".")):
                left.unlink(missing_ok=True)

    @property
    def is_due(self) -> bool:
        """Tell whether it is time for another one."""
        return time.monotonic() - self.last >= self.wait

    def write(self, state: State, tensors: Mapping[str, Tensor]) -> None:
        """Write a checkpoint and drop all but the last two; one that there is no room for is left out."""
        begun = time.monotonic()
        about = {"of": self.of, "state": json.dumps(asdict(state)), "threads": str(torch.get_num_threads())}
        aside = self.folder / f".{new_owner()}.safetensors"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            save_file({name: value.contiguous() for name, value in tensors.items()}, aside, about)
            aside.replace(self.folder / f"step-{state.step:09}.safetensors")
            self.written += 1
        except (OSError, SafetensorError):  # a full disk: the weights at the end are what counts
            self.failed += 1
            with suppress(OSError):
                aside.unlink()
        for old in self._found()[KEPT:]:
            old.unlink(missing_ok=True)
        self.last = time.monotonic()
        self.wait = max(SECONDS, SHARE * (self.last - begun))

    def newest(self) -> tuple[State, dict[str, Tensor]] | None:
        """Read the newest checkpoint that is whole; training continues with as many threads as it had."""
        for path in self._found():
            with suppress(OSError, SafetensorError, ValueError, KeyError, TypeError), safe_open(path, "pt") as file:
                about = file.metadata()
                if about["of"] != self.of:
                    continue
                values = parse_json(about["state"])
                for name in ("losses", "validation"):
                    values[name] = [(int(step), float(loss)) for step, loss in values[name]]
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
                torch.set_num_threads(int(about["threads"]))
                return State(**values), tensors
        return None

    def _found(self) -> list[Path]:
        """List the checkpoints, the newest first."""
        return sorted(self.folder.glob("step-*.safetensors"), reverse=True)
