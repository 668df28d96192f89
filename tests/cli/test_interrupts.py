"""Ctrl-C while modules are loaded, and while things are cleaned up: one line at the most, and exit code 130."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def ran(program: str, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, cwd=cwd)


INTERRUPTING = """
import os, signal, sys

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whatever the tests were started by

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.{name})

sys.meta_path.insert(0, Interrupting())
sys.argv = ["taskloom", "list", "learners"]
from taskloom.__main__ import main
main()
"""


@pytest.mark.parametrize("module", ["taskloom.cli", "rich.table", "taskloom.cli.people"])
def test_ctrl_c_while_the_command_line_is_loaded_ends_it_without_a_word(module: str):
    done = ran(INTERRUPTING.format(module=module, name="SIGINT"))
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize(("name", "code", "told"), [("SIGINT", 130, 1), ("SIGTERM", 143, 0), ("SIGHUP", 129, 0)])
def test_a_signal_while_a_verb_loads_its_modules_ends_it_in_one_line(name: str, code: int, told: int):
    program = INTERRUPTING.format(module="taskloom.studies.asking", name=name)
    command = [sys.executable, "-c", program.replace('"list", "learners"', '"ask", "fake:echo", "a->b"')]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr
        shown = child.stderr.read()  # what is asked about never comes
    assert child.returncode == code
    assert shown == "error: interrupted; no partial files were kept\n" * told


def test_ctrl_c_while_training_loads_its_modules_says_how_to_resume(tmp_path: Path):
    (tmp_path / "texts.txt").write_text("".join(f"a text of number {n}\n" for n in range(40)))
    program = INTERRUPTING.format(module="taskloom.models.pretrained_net", name="SIGINT")
    verb = ["pretrain", "t5-nano", "-o", "m", "--texts", "texts.txt"]
    done = ran(program.replace('"list", "learners"', str(verb)[1:-1]), cwd=tmp_path)
    assert done.returncode == 130
    assert done.stderr == "error: interrupted; the same command resumes from the last checkpoint in m.part\n"


MODULE = """
import os, signal, time
try:
    os.kill(os.getpid(), signal.SIGINT)
    {meanwhile}
except BaseException:  # as some libraries do
    print("swallowed")
"""


WHOLE = """
from pathlib import Path
from taskloom.cli.interrupts import handle_signals
from taskloom.folders import scratch_beside
handle_signals()
with scratch_beside(Path("made")) as scratch:
    (scratch / "half").touch()
    import module
"""


@pytest.mark.parametrize("meanwhile", ["pass", "while True: time.sleep(0.01)"])
def test_a_module_that_is_loaded_neither_swallows_nor_outlasts_ctrl_c(tmp_path: Path, meanwhile: str):
    (tmp_path / "module.py").write_text(MODULE.format(meanwhile=meanwhile))
    done = ran(WHOLE, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted; no partial files were kept\n")
    assert not list(tmp_path.glob(".*"))


CLEANED = """
import os, signal, time
from taskloom.cli.interrupts import Interrupted, end_quietly, handle_signals
handle_signals()
try:
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
    finally:
        for _ in range(20):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
        print("cleaned up")
except Interrupted:
    end_quietly()
    print("interrupted")
"""


def test_nothing_interrupts_the_cleaning_up():
    done = ran(CLEANED)
    assert (done.returncode, done.stdout, done.stderr) == (0, "cleaned up\ninterrupted\n", "")


SWALLOWED = """
import os, signal
from taskloom.cli.interrupts import Interrupted, handle_signals
handle_signals()
try:
    os.kill(os.getpid(), signal.SIGINT)
except BaseException:  # of a library
    pass
try:
    os.kill(os.getpid(), signal.SIGINT)
except Interrupted:
    print("interrupted")
"""


def test_where_something_has_swallowed_ctrl_c_the_next_one_is_answered():
    assert ran(SWALLOWED).stdout == "interrupted\n"
