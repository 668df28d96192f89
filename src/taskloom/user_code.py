"""Code of the user's own, in a file that a study names: learners, and functions that encode."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType

from .ids import fingerprint


def module_of(path: Path) -> ModuleType:
    """Load a file of the user's own as a module, named by its content.

    What was read is run, not Python's cache of it: that may be older than the content.
    """
    source = path.read_text(encoding="utf-8-sig")
    name = f"{path.stem}-{fingerprint(source)[:12]}"
    if name in sys.modules:  # the same content is the same class, so that two learners of it can be equal
        return sys.modules[name]
    code = compile(source, path, "exec", dont_inherit=True)
    module = sys.modules[name] = ModuleType(name)  # dataclasses look their module up
    module.__file__ = str(path)
    try:
        with redirect_stdout(sys.stderr):  # standard output is for results
            exec(code, vars(module))  # noqa: S102 - as importing it would
    except BaseException:
        del sys.modules[name]
        raise
    return module
