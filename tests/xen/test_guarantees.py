# SPDX-License-Identifier: BSD-2-Clause
"""What the analysis calls schedulable misses nothing on Xen.

Systems are generated, their interfaces computed and judged with the overheads that were measured
on this very host. Those that are schedulable run on Xen, next to best-effort domains that never
sleep, one for each pcpu: no job may be late, and none may respond later than the analysis says.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import pytest
from tests.support.guarantees import POLICIES, generated, schedulable
from tests.support.on_xen import need_xen, run_on_xen
from tests.support.promises import require_promises

from hyperperiod.analysis import AnalysisResult, analyze, resolve
from hyperperiod.model import System

OF_EACH = 4
"""Systems of each policy: 36 in all."""
HORIZON_NS = 10_000_000_000


def keeps_its_promise(
    system: System, verdict: AnalysisResult, horizon_ns: int, folder: Path
) -> None:
    """No miss on Xen, and no response beyond its bound."""
    result = run_on_xen(system, horizon_ns, 1, folder).result
    require_promises(system.name, verdict, result)
    assert sum(task.jobs for domain in result.domains for task in domain.tasks) > 20


@pytest.mark.parametrize("preset", ["crps", "ds", "rtds"])
def test_a_system_for_a_second(preset: str, tmp_path: Path) -> None:
    need_xen()
    for system, verdict in islice(schedulable(preset), 1):
        keeps_its_promise(system, verdict, HORIZON_NS // 10, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("preset", POLICIES)
def test_systems_of_each_policy_for_ten_seconds(preset: str, tmp_path: Path) -> None:
    need_xen()
    for system, verdict in islice(schedulable(preset), OF_EACH):
        keeps_its_promise(system, verdict, HORIZON_NS, tmp_path)


SHARED = {
    "rtds": (297, 421, 720, 838),
    "ertds": (290, 328, 391, 785),
    "deferrable+edf+none+global": (88, 250, 388, 811),
}
"""Numbers of systems on two pcpus that the analysis accepts: about one in a hundred."""


def keep_their_promises(policy: str, numbers: Sequence[int], horizon_ns: int, folder: Path) -> None:
    need_xen()
    for number in numbers:
        system = resolve(generated(policy, number, 2))
        verdict = analyze(system)
        assert verdict.schedulable is True, system.name
        keeps_its_promise(system, verdict, horizon_ns, folder)


def test_a_system_on_two_pcpus(tmp_path: Path) -> None:
    keep_their_promises("rtds", SHARED["rtds"][:1], HORIZON_NS // 20, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("policy", SHARED)
def test_systems_on_two_pcpus_for_two_seconds(policy: str, tmp_path: Path) -> None:
    keep_their_promises(policy, SHARED[policy], HORIZON_NS // 5, tmp_path)
