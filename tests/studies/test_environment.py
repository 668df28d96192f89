"""Where a run was made is kept beside its results."""

from __future__ import annotations

import platform
from pathlib import Path

from taskloom import __version__
from taskloom.studies import environment
from taskloom.studies.api import LEDGER
from taskloom.studies.ledger import Ledger


def test_versions_and_hardware_are_named_and_no_host():
    found = environment.environment()
    assert found["taskloom"] == __version__
    assert found["python"] == platform.python_version()
    assert "cores" in found["processor"]
    assert platform.node() not in " ".join(found.values()).split()


def test_a_system_without_such_files_is_described_too(tmp_path, monkeypatch):
    monkeypatch.setattr(environment, "CPUINFO", tmp_path / "none")
    monkeypatch.setattr(environment, "MEMINFO", tmp_path / "none")
    assert "memory" not in environment.environment()["processor"]


def test_a_ledger_without_cells_has_no_times(tmp_path: Path):
    with Ledger(tmp_path / LEDGER) as ledger:
        assert ledger.times(0) is None
