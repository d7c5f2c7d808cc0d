# SPDX-License-Identifier: BSD-2-Clause
"""What goes wrong on Linux, as shell: changes, storms, kills, too little memory.

Each is one phase of a machine (`hardships.py`).
"""

from __future__ import annotations

import os
import random

from hyperperiod.model import Scope
from hyperperiod.model.policy import PRESETS

SEED = int(os.environ.get("HYPERPERIOD_SEED", "20250101"))
MS = 1_000_000
TWO = """\
server a pcpu=0 period_ns=10000000 budget_ns=3000000 priority=0
server b pcpu=0 period_ns=20000000 budget_ns=4000000 priority=1
spin; one=$spinning
spin; two=$spinning
ask attach a pid=$one
ask attach b pid=$two
ask start
"""
GONE = """\
kill -9 $one $two
wait $one $two
"""


def requests(scope: Scope) -> list[str]:
    """A change of a server each time, and every tenth time another policy of the scope."""
    lines = []
    policies = [name for name, policy in PRESETS.items() if policy.scope is scope]
    for turn, policy in enumerate(policies):
        lines.append(f"swap name={policy}")
        for step in range(1, 10):
            server, most = ("a", 2_000) if (turn + step) % 2 else ("b", 3_000)
            lines.append(f"set {server} budget_ns={most * 500 + step * 100_000}")
    return lines


def changed(name: str, scope: Scope, count: int) -> str:
    """A request each millisecond, so many, while two servers always have work."""
    first = requests(scope)[0].removeprefix("swap ")
    said = "\n".join(requests(scope))
    where = "pcpu=global" if scope is Scope.GLOBAL else "pcpu=0"
    return f"""\
begin {name} "{first} pcpus=0"
busybox cat >/tmp/requests <<'REQUESTS'
{said}
REQUESTS
{TWO.replace("pcpu=0", where)}
faults requests /tmp/requests {count} 1000 >/left/{name}/said || give_up "requests of {name}"
all_run $one $two
finish
{GONE}
"""


def storm(ms: int) -> str:
    """A server whose threads fork and end without a pause, beside another."""
    return f"""\
begin storm "name=cbs pcpus=0"
server a pcpu=0 period_ns=10000000 budget_ns=3000000
server b pcpu=0 period_ns=20000000 budget_ns=4000000
busybox mkdir /sys/fs/cgroup/storm
spin; one=$spinning
ask attach a cgroup=/storm
ask attach b pid=$one
ask start
(echo 0 >/sys/fs/cgroup/storm/cgroup.procs; exec faults storm {ms}) >/left/storm/children
all_run $one
finish
kill -9 $one
wait $one
busybox rmdir /sys/fs/cgroup/storm
"""


def changes_server(seed: int) -> str:
    """Threads that never sleep change server at random instants."""
    rng = random.Random(seed)
    moves = "".join(
        f"busybox usleep {rng.randrange(1000, 30000)}\nask attach {rng.choice('ab')}"
        f" pid=${rng.choice(['one', 'two'])}\n"
        for _ in range(12)
    )
    return f"""\
begin changes "name=ptps pcpus=0"
{TWO}
{moves}
ask attach b pid=$one
ask attach b pid=$two
ask status
busybox cp /tmp/answer /left/changes/before
busybox usleep 100000
finish
{GONE}
"""


def memory() -> str:
    """A process of a server takes all memory until the kernel ends it; the others go on.

    The kernel's report does not go to the serial line: writing there is work that nobody preempts.
    """
    return f"""\
echo 1 >/proc/sys/kernel/printk
begin memory "name=ds pcpus=0"
{TWO}
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
busybox mkdir /sys/fs/cgroup/m
echo 33554432 >/sys/fs/cgroup/m/memory.max
ask attach a cgroup=/m
for time in 1 2 3; do
    (echo 0 >/sys/fs/cgroup/m/cgroup.procs; exec faults memory)
    fact ended $?
done
all_run $one $two
finish
{GONE}
busybox rmdir /sys/fs/cgroup/m
"""


def workload_killed(seed: int, times: int) -> str:
    """A server's processes are killed at random instants, and others take their places."""
    rng = random.Random(seed)
    kills = "".join(
        f"busybox usleep {rng.randrange(1000, 20000)}\nkill -9 $one\nspin; one=$spinning\n"
        f"ask attach {rng.choice('ab')} pid=$one\n"
        for _ in range(times)
    )
    return f"""\
begin killed "name=sporadic pcpus=0"
{TWO}
{kills}
all_run $one $two
fact members "$(faults entries server_of_thread)"
fact programs "$(faults programs)"
finish
{GONE}
"""


def clients_killed(seed: int, times: int) -> str:
    """Processes that enter a server by themselves are killed, at any point of that."""
    rng = random.Random(seed)
    kills = "".join(
        f"faults enter c 2>/dev/null & client=$!\nbusybox usleep {rng.randrange(20_000)}\n"
        "kill -9 $client\nwait $client\n"
        for _ in range(times)
    )
    return f"""\
begin clients "name=ds pcpus=0"
server c pcpu=0 period_ns=10000000 budget_ns=2000000 priority=2 users=all
{TWO}
{kills}
all_run $one $two
fact members "$(faults entries server_of_thread)"
finish
{GONE}
"""


def daemon_killed(instants_us: list[int]) -> str:
    """The daemon is killed while its system is in force, and a new one starts it again."""
    text = ""
    for number, instant_us in enumerate(instants_us):
        text += f"""\
begin daemon{number} "name=ptps pcpus=0"
{TWO}
state_is enabled
busybox usleep {instant_us}
kill -9 $daemon
objects_are "$none"
state_is disabled
all_run $one $two
start_daemon
ask policy name=ptps pcpus=0
server a pcpu=0 period_ns=10000000 budget_ns=3000000 priority=0
server b pcpu=0 period_ns=20000000 budget_ns=4000000 priority=1
ask attach a pid=$one
ask attach b pid=$two
ask record on
ask start
busybox usleep 100000
all_run $one $two
finish
state_is disabled
{GONE}
"""
    return text
