"""Make the picture of the README from the report of the quickstart: `python docs/images/make.py` (needs chromium)."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

TASKLOOM = str(Path(sys.executable).with_name("taskloom"))
CHROMIUM = [
    "chromium",
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--hide-scrollbars",
]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([TASKLOOM, "run", "quickstart"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        page = Path(folder) / "runs" / "quickstart" / "report.html"
        picture = Path(__file__).with_name("report.png")
        size = ["--window-size=1100,1470", f"--user-data-dir={folder}/browser"]
        subprocess.run([*CHROMIUM, *size, f"--screenshot={picture}", page.as_uri()], check=True)


if __name__ == "__main__":
    main()
