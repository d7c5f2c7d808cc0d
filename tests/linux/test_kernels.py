# SPDX-License-Identifier: BSD-2-Clause
"""The same programs on all kernels that can be booted by name: budgets, and requests in force."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.linux.scripts import (
    FIRST_NS,
    HOGS,
    LATE_NS,
    MOVED,
    PERIOD_NS,
    SECOND_NS,
    SERVERS,
    Left,
    require_budgets,
    run_phases,
)

from hyperperiod.hosts.linux.build import KERNELS

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kernels")]

MORE_NS = 4_000_000
REQUESTS = f"""{SERVERS}{HOGS}
set -- $loads
busybox sleep 0.5
ask set first budget_ns={MORE_NS}
busybox sleep 0.5
ask remove second
busybox sleep 0.5
busybox cp /proc/$2/schedstat /left/$phase/removed
ask swap name=cbs
busybox sleep 0.5
"""
"""The thread of the server that is removed is background, with another: both go on."""


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernel_holds_budgets_and_performs_requests(kernel: str, tmp_path: Path) -> None:
    phases = {"shares": f"{SERVERS}{HOGS}busybox sleep 2\n", "moved": MOVED, "requests": REQUESTS}
    left = run_phases(phases, tmp_path, kernel=kernel)
    assert all(one.status["ends"] == 0 for one in left.values())
    for number, budget_ns in ((0, FIRST_NS), (1, SECOND_NS)):
        paid_ns = left["shares"].paid_ns(number, PERIOD_NS)
        assert len(paid_ns) >= 180
        assert np.abs(paid_ns - budget_ns).max() <= budget_ns / 1000
    for one in left.values():
        assert max(server["overrun_ns_max"] for server in one.status["servers"]) <= LATE_NS
    require_moved(left["moved"])
    require_performed(left["requests"])


def require_moved(left: Left) -> None:
    """A thread that never sleeps belongs to the server that it was given to."""
    first, second = (left.paid_ns(number, PERIOD_NS) for number in (0, 1))
    require_budgets(first[: np.flatnonzero(first)[-1]], FIRST_NS, 95)
    assert np.count_nonzero(first) <= 110
    require_budgets(second[:-1], SECOND_NS, 90)


def require_performed(left: Left) -> None:
    """The budget is the new one from some period on, and the removed server's thread goes on."""
    paid_ns = left.paid_ns(0, PERIOD_NS)
    before, after = paid_ns < (FIRST_NS + MORE_NS) / 2, paid_ns > (FIRST_NS + MORE_NS) / 2
    require_budgets(paid_ns[before], FIRST_NS, 45)
    require_budgets(paid_ns[after][:80], MORE_NS, 80)
    assert np.flatnonzero(before).max() < np.flatnonzero(after).min()
    assert left.number("removed") > 200_000_000
    assert [server["name"] for server in left.status["servers"]] == ["first"]
