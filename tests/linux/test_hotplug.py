# SPDX-License-Identifier: BSD-2-Clause
"""A cpu goes offline and comes back, and the kernel's thread that sees to that waits for nobody.

The machine has two cpus that count instructions, in turns: it is the same every time. Nothing else
happens on the cpu that goes, so if its kernel thread were left waiting nothing would help it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.linux.fault_scripts import MS
from tests.linux.hardships import Left, require_right, run

from hyperperiod.model import Scope

pytestmark = pytest.mark.xdist_group("hotplug on linux")

TIMES = 2
WAITS_NS = MS
"""So long at most the thread waits each time the cpu goes and comes back."""
SCOPES = {"unplugged": Scope.PARTITIONED, "unplugged_global": Scope.GLOBAL}
FIND = """\
for each in /proc/[0-9]*; do
    read -r comm <$each/comm
    [ "$comm" = cpuhp/1 ] && hotplug=${each#/proc/}
done
"""
TOGGLE = """\
echo 0 >/sys/devices/system/cpu/cpu1/online
busybox usleep 20000
echo 1 >/sys/devices/system/cpu/cpu1/online
busybox usleep 50000
"""


def unplugged(name: str, scope: Scope) -> str:
    policy = "rtds" if scope is Scope.GLOBAL else "ds"
    first, second = ("global", "global") if scope is Scope.GLOBAL else (0, 1)
    return f"""\
begin {name} "name={policy} pcpus=0-1"
server a pcpu={first} period_ns=10000000 budget_ns=3000000 priority=0
server b pcpu={second} period_ns=20000000 budget_ns=8000000 priority=1
spin; one=$spinning
ask attach a pid=$one
ask start
busybox usleep 50000
fact before "$(busybox cut -d ' ' -f 2 /proc/$hotplug/schedstat)"
{TOGGLE * TIMES}
fact after "$(busybox cut -d ' ' -f 2 /proc/$hotplug/schedstat)"
all_run $one
finish
kill -9 $one
wait $one
"""


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Left]:
    text = FIND + "".join(unplugged(name, scope) for name, scope in SCOPES.items())
    folder: Path = tmp_path_factory.mktemp("unplugged")
    return run(text, folder, cpus=2, counts=True)


@pytest.mark.parametrize("name", SCOPES)
def test_a_cpu_goes_and_comes_back_at_once(name: str, left: dict[str, Left]) -> None:
    waited_ns = left[name].number("after") - left[name].number("before")
    assert waited_ns < TIMES * WAITS_NS


@pytest.mark.parametrize("name", SCOPES)
def test_decisions_and_accounts_are_right_afterwards(name: str, left: dict[str, Left]) -> None:
    require_right(left[name])
