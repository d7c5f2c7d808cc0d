# SPDX-License-Identifier: BSD-2-Clause
"""What the analysis promises of flows is kept on Xen.

Systems with flows through a driver and one to three domains behind it are generated and judged
with the overheads that were measured on this very host. Those that are schedulable run beside a
domain that never sleeps: no job and no item is late, none is dropped, and none takes longer than
its bound.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
from tests.support.guaranteed_flows import schedulable
from tests.support.on_xen import need_xen, run_on_xen, with_overheads
from tests.support.promises import require_promises

from hyperperiod.analysis import AnalysisResult
from hyperperiod.model import System
from hyperperiod.model.policy import PRESETS

OF_EACH = 3
"""Systems of each policy, of the first that are drawn."""
HORIZON_NS = 10_000_000_000


def keeps_its_promise(
    system: System, verdict: AnalysisResult, horizon_ns: int, folder: Path
) -> None:
    """Nothing is late or dropped on Xen, and nothing takes longer than its bound."""
    result = run_on_xen(system, horizon_ns, 1, folder).result
    assert all(flow.items > 0 and flow.dropped == 0 for flow in result.flows)
    require_promises(system.name, verdict, result)


@pytest.mark.parametrize("preset", ["crps", "psedf"])
def test_a_system_with_flows_for_half_a_second(preset: str, tmp_path: Path) -> None:
    need_xen()
    system, verdict = next(schedulable(preset, with_overheads))
    keeps_its_promise(system, verdict, HORIZON_NS // 20, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("preset", PRESETS)
def test_systems_with_flows_for_ten_seconds(preset: str, tmp_path: Path) -> None:
    """None is accepted under sedf-prime: its bounds of a slice with overheads are too far."""
    need_xen()
    found = 0
    for system, verdict in islice(schedulable(preset, with_overheads), OF_EACH):
        keeps_its_promise(system, verdict, HORIZON_NS, tmp_path)
        found += 1
    assert found > 0 or preset == "sedf-prime"
