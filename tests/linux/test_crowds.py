# SPDX-License-Identifier: BSD-2-Clause
"""No number of threads outside of servers ends the scheduler: each has a turn in time.

Beside a server of 9 in 10 parts of the cpu they wait in one queue. The kernel ends a scheduler of
which a thread waits for 30 s; the machine counts instructions, and time is its own.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.linux.scripts import run_phases

pytestmark = pytest.mark.xdist_group("crowds on linux")

BUDGET_NS, PERIOD_NS = 90_000_000, 100_000_000
LATE_NS = 100_000


@pytest.mark.parametrize(
    ("threads", "more"),
    [
        (1_400, ""),
        pytest.param(10_000, "", marks=pytest.mark.slow),
        pytest.param(1_400, "extra=1", marks=pytest.mark.slow),
    ],
)
def test_a_crowd_does_not_end_the_scheduler(threads: int, more: str, tmp_path: Path) -> None:
    """The shell has a server as well, or each command of it would wait for as long."""
    phase = f"""\
echo {4 * threads} | busybox tee /proc/sys/kernel/threads-max >/proc/sys/kernel/pid_max
ask policy name=ds pcpus=0
ask server most pcpu=0 period_ns={PERIOD_NS} budget_ns={BUDGET_NS} priority=0 inside=turns {more}
ask server shell pcpu=0 period_ns={PERIOD_NS} budget_ns=4000000 priority=1 inside=turns
load crowd {threads}
crowd=$it
busybox sleep 1
load hog
ask attach most pid=$it
busybox mkdir /sys/fs/cgroup/shell
echo $$ >/sys/fs/cgroup/shell/cgroup.procs
ask attach shell cgroup=shell
ask record on
ask start
busybox ls /proc/$crowd/task >/left/$phase/threads
busybox sleep 46
"""
    (left,) = run_phases({"crowd": phase}, tmp_path).values()
    assert len(left.files["threads"].split()) == threads
    assert left.status["ends"] == 0
    paid_ns = left.paid_ns(0, PERIOD_NS)[1:-1]
    assert len(paid_ns) >= 440
    assert abs(paid_ns - BUDGET_NS).max() <= LATE_NS
