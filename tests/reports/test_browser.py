"""The page in a real browser, at the width of a phone."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from taskloom.reports import render

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--allow-file-access-from-files", "--window-size=800,900", "--virtual-time-budget=2000",
)  # fmt: skip
# The page is opened in a frame as wide as a phone; what is measured is written below it.
MEASURE = """<!doctype html><body><iframe id="f" src="report.html" style="width:390px;height:800px;border:0"></iframe>
<p id="o"></p><script>f.onload=()=>{let d=f.contentDocument;for(let e of d.querySelectorAll("details"))e.open=true;
let text=d.body.textContent.includes("<"+"script>alert(1)</"+"script>"),tables=d.querySelectorAll("table").length;
o.textContent=["width",d.documentElement.scrollWidth,"scripts",d.scripts.length,"text",text,"tables",tables].join(" ")}
</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_the_page_fits_a_phone_and_text_stays_text(summary, tmp_path):
    (tmp_path / "report.html").write_text(render(summary, "html"), encoding="utf-8")
    (tmp_path / "measure.html").write_text(MEASURE, encoding="utf-8")
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={tmp_path}/profile", "--dump-dom"]
    done = subprocess.run(
        [*command, (tmp_path / "measure.html").as_uri()], capture_output=True, text=True, timeout=60, check=True
    )
    found = re.search(r"width (\d+) scripts (\d+) text (\w+) tables (\d+)", done.stdout)
    assert found, done.stdout[-500:]
    assert int(found[1]) <= 390
    assert (found[2], found[3]) == ("0", "true")
    assert int(found[4]) > 10
