# SPDX-License-Identifier: BSD-2-Clause
"""Budgets on PREEMPT_RT, where no program may have a timer: threads of the daemon end grants.

The machine has one cpu, which counts instructions.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.linux.scripts import (
    FIRST_NS,
    HOGS,
    PERIOD_NS,
    SECOND_NS,
    SERVERS,
    Left,
    capabilities,
    require_budgets,
    run_phases,
)

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("linux with PREEMPT_RT")]

LATE_NS = 5_000
"""At most so late a grant ends: 2.0 us, in 1,008 periods. From the timer to the pick a thread wakes
up and asks the kernel; what that took at most, lately, is waited for."""
BOUND = f"""\
busybox killall hyperperiodd
while busybox pidof hyperperiodd >/dev/null; do busybox usleep 10000; done
# The daemon as the unit has it, but for what `ulimit` says of priorities of real time.
daemon() {{
    (ulimit -r $1; exec /bin/load bound {capabilities():x} hyperperiodd --cpus 1 --object "$object")
}}
daemon 0
{SERVERS}
hyperperiodctl start >/left/$phase/refused 2>&1
busybox killall hyperperiodd
while busybox pidof hyperperiodd >/dev/null; do busybox usleep 10000; done
daemon 1
{SERVERS}{HOGS}busybox sleep 1
for each in /proc/$(busybox pidof hyperperiodd)/task/*/stat; do
    busybox cut -d ' ' -f 39-41 $each >>/left/$phase/threads
done
"""
ALONE = {"shares": f"{SERVERS}{HOGS}busybox sleep 2\n", "bound": BOUND}


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Left]:
    phases = {**ALONE, "robbed": f"{SERVERS}{HOGS}load fifo 2000 7700\nbusybox sleep 3\n"}
    return run_phases(phases, tmp_path_factory.mktemp("rt"), kernel="rt")


@pytest.mark.parametrize("phase", [*ALONE, "robbed"])
def test_every_period_has_its_budget(phase: str, left: dict[str, Left]) -> None:
    assert left[phase].status["ends"] == 0
    for number, budget_ns in ((0, FIRST_NS), (1, SECOND_NS)):
        require_budgets(left[phase].paid_ns(number, PERIOD_NS), budget_ns, 95)
        assert left[phase].status["servers"][number]["overrun_ns_max"] <= LATE_NS


@pytest.mark.parametrize("phase", ALONE)
def test_whole_periods_differ_by_a_thousandth(phase: str, left: dict[str, Left]) -> None:
    for number, budget_ns in ((0, FIRST_NS), (1, SECOND_NS)):
        paid_ns = left[phase].paid_ns(number, PERIOD_NS)
        assert np.abs(paid_ns - budget_ns).max() <= budget_ns / 1000


def test_the_unit_lets_the_daemon_have_the_threads_that_it_needs(left: dict[str, Left]) -> None:
    """One more than itself: of cpu 0, real-time priority 1, SCHED_FIFO. Without LimitRTPRIO= the
    start is refused, and the reason is said."""
    own, ender = left["bound"].files["threads"].decode().splitlines()
    assert own == "0 0 0"
    assert ender == "0 1 1"
    assert "ends the grants of cpu 0" in left["bound"].files["refused"].decode()
    assert "allowed: LimitRTPRIO=1" in left["bound"].files["refused"].decode()
