# SPDX-License-Identifier: BSD-2-Clause
"""Systems on Linux, one of each named policy, all on one machine that counts instructions.

The runner plays every decision again with the core built here, and asks for its laws after each.
"""

from __future__ import annotations

import pytest
from tests.linux.on_linux import OnLinux, run_on_linux
from tests.xen.robust import HORIZON_NS, NUMBERS, SEED, candidate

from hyperperiod.model import System
from hyperperiod.model.policy import PRESETS

Runs = dict[str, tuple[System, OnLinux]]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """A system under each policy, by the name of the policy, and what came of it."""
    systems = [candidate(preset, NUMBERS[preset][0]) for preset in PRESETS]
    done = run_on_linux(systems, HORIZON_NS, SEED, tmp_path_factory.mktemp("runs"))
    return dict(zip(PRESETS, zip(systems, done, strict=True), strict=True))


@pytest.mark.parametrize("preset", PRESETS)
def test_every_task_of_every_domain_runs(preset: str, runs: Runs) -> None:
    system, done = runs[preset]
    assert done.result.timing is None
    assert not done.result.interrupted
    for domain, ran in zip(system.domains, done.result.domains, strict=True):
        assert not domain.tasks or ran.supply_ns > 0
        assert all(task.jobs > 0 for task in ran.tasks)
