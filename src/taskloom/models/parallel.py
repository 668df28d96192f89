"""Several processes that train one model together, as `torchrun` starts them; and accelerators shared among workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import distributed

from ..errors import ModelError
from ..messages import Note
from ..processes import ended_by_signals, number_in_environment, rank_among_several
from . import WORKER


@contextmanager
def together() -> Iterator[None]:
    """Join the processes that were started with this one; alone, do nothing."""
    if number_in_environment("WORLD_SIZE", 1, least=1) == 1 or distributed.is_initialized():
        yield
        return
    rank_among_several()  # refuses what is not a number
    try:
        with ended_by_signals():
            distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    except (ValueError, RuntimeError) as error:  # a variable that is missing, or others that can't be reached
        raise ModelError(Note.of("processes-not-joined", reason=str(error).splitlines()[0])) from None
    try:
        yield
    finally:
        distributed.destroy_process_group()


def rank() -> int:
    """Number this process among those that train together."""
    return distributed.get_rank() if distributed.is_initialized() else 0


def processes() -> int:
    """Count the processes that train together."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def wait_for_others() -> None:
    """Wait until all processes have come so far."""
    if distributed.is_initialized():
        distributed.barrier()


def device_for(wanted: str, *, count: int | None = None) -> str:
    """Choose a device: accelerators are shared out among the processes that train together, or the workers of a run.

    >>> device_for("cpu"), device_for("auto", count=0)
    ('cpu', 'cpu')
    """
    if wanted != "auto":
        return wanted
    found = torch.cuda.device_count() if count is None else count
    own = number_in_environment("LOCAL_RANK", number_in_environment(WORKER, 0))
    return f"cuda:{own % found}" if found else "cpu"
