"""Run the command line, as the program `taskloom`, `python -m taskloom` and `torchrun -m taskloom` do."""

from __future__ import annotations

import os
import signal
from typing import NoReturn


def main() -> NoReturn:
    """Load the command line and run it; Ctrl-C while it loads ends it without a word, for nothing was begun."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    from .cli import main as run

    run()


if __name__ == "__main__":
    main()
