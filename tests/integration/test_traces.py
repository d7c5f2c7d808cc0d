# SPDX-License-Identifier: BSD-2-Clause
"""Whatever the system, the simulator's trace has every property, and the core keeps its laws."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.random_systems import POLICIES, random_system, step_of

from hyperperiod.runs import simulate
from hyperperiod.trace.check import check_file
from hyperperiod.trace.properties import Status

HORIZON_STEPS = 200


def _checks(number: int, tmp_path: Path) -> list[str]:
    """What fails on the trace of the system with this number."""
    system = random_system(number)
    path = tmp_path / "trace.hpt"
    simulate(system, HORIZON_STEPS * step_of(system), seed=number, trace_path=path, check=True)
    result = check_file(path)
    assert not result.interrupted
    return [
        f"system {number}, {system.policy}, {one.name}: {finding}"
        for one, finding in result.findings
        if finding.status is Status.FAILS
    ]


@pytest.mark.parametrize("index", range(len(POLICIES)))
def test_random_systems(index: int, tmp_path: Path) -> None:
    for turn in range(8):
        assert not _checks(index + turn * len(POLICIES), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("index", range(len(POLICIES)))
def test_many_random_systems(index: int, tmp_path: Path) -> None:
    for turn in range(8, 150):
        assert not _checks(index + turn * len(POLICIES), tmp_path)
