# SPDX-License-Identifier: BSD-2-Clause
"""Where the kernel refuses the scheduler, its reason is what the daemon says.

One machine has a cpu of isolcpus=, where sched_ext does not start, and is given programs that the
verifier refuses. Another stops ticks on a cpu that has one thread to run.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.linux.scripts import run_phases
from tests.support.on_linux import bpf_object, files_left

pytestmark = pytest.mark.xdist_group("starts on linux")

REFUSED = """\
#include "hosts/linux/hyperperiod.bpf.c"

SEC("syscall")
int reads_nothing(struct lx_name *name) {
    return *(volatile int *)0;
}
"""
BODY = """\
ask policy name=ds pcpus=0
ask server first pcpu=0 period_ns=10000000 budget_ns=3000000
hyperperiodctl start >/left/isolated
busybox killall hyperperiodd
while busybox pidof hyperperiodd >/dev/null; do busybox usleep 10000; done
hyperperiodd --cpus 1 --object /bin/refused.o >/left/refused 2>&1
echo $? >>/left/refused
"""


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """By name: what `start` was answered where a cpu is one of isolcpus= (`isolated`), and what a
    daemon with programs that the verifier refuses said, with its exit code last (`refused`)."""
    folder = tmp_path_factory.mktemp("starts")
    programs = {"bin/refused.o": bpf_object(REFUSED, folder)}
    arguments = "isolcpus=1"
    return files_left(BODY, folder, cpus=2, icount=False, arguments=arguments, programs=programs)


def test_with_isolcpus_the_reason_is_the_kernels(left: dict[str, bytes]) -> None:
    """And what there is instead is named."""
    said = left["isolated"].decode()
    assert "cannot be put in force (Invalid argument)" in said
    assert 'Not compatible with \\"isolcpus=\\" domain isolation' in said
    assert "allowed: cpus of a cpuset partition" in said


def test_programs_that_are_refused_are_so_for_the_verifiers_reason(
    left: dict[str, bytes],
) -> None:
    *lines, error, code = left["refused"].decode().splitlines()
    reason = "R1 invalid mem access 'scalar'"
    assert f"the programs cannot be loaded (Permission denied): {reason}; the log" in error
    assert any("reads_nothing" in line for line in lines)
    assert 3 <= len(lines) <= 40
    assert code == "1"


@pytest.mark.slow
def test_servers_where_ticks_stop(tmp_path: Path) -> None:
    """A grant ends by a timer of its own."""
    phase = """\
ask policy name=ds pcpus=1
ask record on
ask server first pcpu=1 period_ns=10000000 budget_ns=3000000 inside=turns
load hog
ask attach first pid=$it
load pin $it 1
ask start
busybox cp /sys/devices/system/cpu/nohz_full /left/$phase/stops
busybox sleep 0.5
"""
    arguments = "nohz_full=1 rcu_nocbs=1"
    phases = {"ticks": phase}
    (left,) = run_phases(phases, tmp_path, cpus=2, counts=True, arguments=arguments).values()
    assert left.status["ends"] == 0
    assert left.files["stops"].strip() == b"1"
    paid_ns = left.paid_ns(0, 10_000_000)[1:]
    assert len(paid_ns) >= 45
    assert abs(paid_ns - 3_000_000).max() <= 20_000
