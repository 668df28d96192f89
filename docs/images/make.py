"""Make the pictures of the README from what the commands really print: `python docs/images/make.py`."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

WIDTH = 104
TASKLOOM = str(Path(sys.executable).with_name("taskloom"))


def printed(arguments: list[str], folder: str) -> str:
    """Run a command on a terminal and give what it showed."""
    ours, theirs = pty.openpty()
    size = {"COLUMNS": str(WIDTH), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    with subprocess.Popen([TASKLOOM, *arguments], cwd=folder, stdout=theirs, stderr=theirs, env={**os.environ, **size}):
        os.close(theirs)
        shown = b""
        try:
            while block := os.read(ours, 65536):
                shown += block
        except OSError:  # how a terminal says that it is closed
            pass
    return shown.decode()


def main() -> None:
    build = ["build", "quickstart", "-o", "suites/quickstart"]
    show = ["show", "suites/quickstart"]
    one = [*show, "abstract->categories+archive", "-n", "1"]
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    with tempfile.TemporaryDirectory() as folder:
        for arguments, kept in ((build, 2), (show, 14), (one, 40)):
            quoted = [f"'{a}'" if ">" in a else a for a in arguments]
            console.print(Text(f"$ taskloom {' '.join(quoted)}", style="bold green"))
            lines = printed(arguments, folder).splitlines()
            console.print(Text.from_ansi("\n".join(lines[:kept])))
            if len(lines) > kept:
                console.print(Text(f"  ... {len(lines) - kept} more lines", style="dim"))
    picture = re.sub(r"@font-face \{.*?\}", "", console.export_svg(title="taskloom"), flags=re.DOTALL)  # works offline
    Path(__file__).with_name("quickstart.svg").write_text(re.sub(r"[ \t]+$", "", picture, flags=re.MULTILINE))


if __name__ == "__main__":
    main()
