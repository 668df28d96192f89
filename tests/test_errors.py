from __future__ import annotations

import pytest

from taskloom.errors import SHOWN, FaultsError


@pytest.mark.parametrize("count", [0, 1, SHOWN])
def test_each_fault_has_a_line(count: int):
    assert str(FaultsError("wrong:", ["a"] * count)).splitlines() == ["wrong:", *["  a"] * count]


def test_of_many_faults_the_first_are_shown_and_the_others_counted():
    found = FaultsError("wrong:", [f"fault {n}" for n in range(30_001)])
    lines = str(found).splitlines()
    assert lines[:2] == ["wrong:", "  fault 0"]
    assert lines[-2:] == [f"  fault {SHOWN - 1}", "  and 29,981 more"]
    assert len(lines) == SHOWN + 2
    assert len(found.faults) == 30_001
