# SPDX-License-Identifier: BSD-2-Clause
"""The scheduler on Linux bears what goes wrong on two cpus: affinity, and a cpu that goes.

The machine runs as fast as it can: its times are those of a busy host, so nothing is asked of them,
but what is decided and accounted must be right.
"""

from __future__ import annotations

import random

import pytest
from tests.linux.fault_scripts import MS, SEED
from tests.linux.hardships import Left, require_right, run

from hyperperiod.model import Scope

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("faults on two cpus of linux")]

BETWEEN_CPUS_NS = 5 * MS

TWO_CPUS = """\
{policy}
server a pcpu={first} period_ns=10000000 budget_ns=3000000 {fp0}
server b pcpu={second} period_ns=20000000 budget_ns=8000000 {fp1}
server c pcpu={second} period_ns=30000000 budget_ns=6000000 {fp2}
spin; one=$spinning
spin; two=$spinning
spin; three=$spinning
ask attach a pid=$one
ask attach b pid=$two
ask attach c pid=$three
ask start
"""
THREE_GONE = """\
kill -9 $one $two $three
wait $one $two $three
"""


def two_cpus(name: str, policy: str, scope: Scope) -> str:
    """Three servers with work on two cpus."""
    is_global = scope is Scope.GLOBAL
    return TWO_CPUS.format(
        policy=f'begin {name} "name={policy} pcpus=0-1"',
        first="global" if is_global else 0,
        second="global" if is_global else 1,
        fp0="priority=0",
        fp1="priority=1",
        fp2="priority=2",
    )


def fought_over(name: str, policy: str, scope: Scope, seed: int) -> str:
    """Another process says at random instants where threads may run."""
    return f"""\
{two_cpus(name, policy, scope)}
faults affinity {seed} 1000 $one $two $three || give_up "affinity"
all_run $one $two $three
finish
{THREE_GONE}
"""


def unplugged(name: str, policy: str, scope: Scope, seed: int, times: int) -> str:
    """A cpu goes and comes back, under load, at random instants."""
    rng = random.Random(seed)
    text = two_cpus(name, policy, scope)
    for _ in range(times):
        text += f"""\
busybox usleep {rng.randrange(1000, 200_000)}
echo 0 >/sys/devices/system/cpu/cpu1/online
busybox usleep {rng.randrange(1000, 200_000)}
all_run $one $two $three
ask status
busybox cp /tmp/answer /left/{name}/without
echo 1 >/sys/devices/system/cpu/cpu1/online
"""
    return f"""{text}
all_run $one $two $three
finish
{THREE_GONE}
"""


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Left]:
    hardships = [
        fought_over("fought", "ptps", Scope.PARTITIONED, SEED),
        fought_over("fought_global", "rtds", Scope.GLOBAL, SEED),
        unplugged("unplugged", "ds", Scope.PARTITIONED, SEED, 4),
        unplugged("unplugged_global", "rtds", Scope.GLOBAL, SEED, 4),
    ]
    return run("".join(hardships), tmp_path_factory.mktemp("several"), cpus=2)


NAMES = ("fought", "fought_global", "unplugged", "unplugged_global")


@pytest.mark.parametrize("name", NAMES)
def test_two_cpus_decide_and_account_right(name: str, several: dict[str, Left]) -> None:
    require_right(several[name], BETWEEN_CPUS_NS)


@pytest.mark.parametrize("name", NAMES)
def test_every_thread_is_back_in_its_server(name: str, several: dict[str, Left]) -> None:
    assert [server["runnable"] for server in several[name].status["servers"]] == [1, 1, 1]


def test_threads_that_may_not_run_in_their_servers_are_counted(several: dict[str, Left]) -> None:
    assert several["fought"].status["strays"] > 0


def test_a_cpu_that_is_gone_is_said(several: dict[str, Left]) -> None:
    """Under a partitioned policy its servers' threads are background until it is back."""
    without = several["unplugged"].fact("without")
    assert without["parked"] == 2
    assert [server["runnable"] for server in without["servers"]] == [1, 0, 0]
    assert several["unplugged"].status["parked"] == 0
    without = several["unplugged_global"].fact("without")
    assert [server["runnable"] for server in without["servers"]] == [1, 1, 1]
