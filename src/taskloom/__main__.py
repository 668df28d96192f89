"""Run the command line as `python -m taskloom`, as `torchrun -m taskloom` does."""

from __future__ import annotations

from .cli import main

if __name__ == "__main__":
    main()
