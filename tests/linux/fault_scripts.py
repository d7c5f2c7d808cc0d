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


KEEP = "--keep /sys/fs/bpf/hyperperiod"
"""With this the daemon's servers outlive it."""

KILLED = """\
# The daemon dies, and leaves what it had put in force.
kill_daemon() {
    kill -9 $daemon
    while [ -e /proc/$daemon ]; do busybox usleep 1000; done
}
# Nobody gets the lock, and the kernel's own scheduler goes on.
end_scheduler() {
    faults hold
    until busybox grep -q disabled /sys/kernel/sched_ext/state; do busybox usleep 10000; done
}
pins() { busybox ls /sys/fs/bpf/hyperperiod | busybox wc -l; }
files_of() { busybox ls /proc/$daemon/fd | busybox wc -l; }
"""


def taken_over() -> str:
    """The daemon is killed, and nothing is asked of it for 0.3 s; then a new one is asked.

    Among the servers a number is free; members are a process, a thread, a cgroup, what matches a
    pattern, and the daemon itself.
    """
    return f"""\
{KILLED}
begin gap "name=ptps pcpus=0"
server gone pcpu=0 period_ns=10000000 budget_ns=1000000
server a pcpu=0 period_ns=10000000 budget_ns=3000000 priority=1
server b pcpu=0 period_ns=20000000 budget_ns=4000000 priority=2
server hyperperiodd pcpu=0 best_effort=1
ask attach hyperperiodd pid=self
ask remove gone
groups=/sys/fs/cgroup
busybox mkdir -p $groups/g $groups/pods/pod-1
spin; one=$spinning
spin; two=$spinning
spin; three=$spinning
spin; four=$spinning
echo $two >$groups/g/cgroup.procs
echo $three >$groups/pods/pod-1/cgroup.procs
ask attach a pid=$one
ask attach b cgroup=/g
ask attach a "cgroup=pods/pod-*"
ask attach b thread=$four
ask start
busybox usleep 100000
ask status
busybox cp /tmp/answer /left/gap/before
kill_daemon
hyperperiodctl status >/left/gap/none 2>&1
fact code $?
state_is enabled
busybox usleep 300000
kill -9 $four
wait $four
start_daemon
ask status
busybox cp /tmp/answer /left/gap/after
spin; five=$spinning
server c pcpu=0 period_ns=20000000 budget_ns=2000000 priority=0
ask attach c pid=$five
ask set b budget_ns=2000000
ask detach a pid=$one
ask attach a pid=$one
busybox usleep 30000
ask status
busybox cp /tmp/answer /left/gap/changed
busybox usleep 100000
kill -HUP $daemon
while [ -e /proc/$daemon ]; do busybox usleep 1000; done
busybox usleep 100000
daemon=$(busybox pidof hyperperiodd)
finish
busybox cp /tmp/daemon /left/gap/said
fact pins "$(pins)"
kill -9 $one $two $three $five
wait $one $two $three $five
busybox rmdir $groups/g $groups/pods/pod-1 $groups/pods
"""


def other_layout() -> str:
    """What the daemon that was killed has left is of another layout than the next one knows."""
    return f"""\
begin layout "name=ptps pcpus=0"
{TWO}
kill_daemon
faults layout
kill -STOP $one $two
start_daemon
kill -CONT $one $two
ask status
busybox cp /tmp/answer /left/layout/after
busybox usleep 100000
all_run $one $two
finish
busybox cp /tmp/daemon /left/layout/said
{GONE}
"""


def other_build() -> str:
    """What is taken over is of another build: it goes on, and the next start loads anew."""
    return f"""\
{KILLED}
begin build "name=ptps pcpus=0"
{TWO}
kill_daemon
faults build
start_daemon
all_run $one $two
kill -STOP $one $two
ask stop
ask start
kill -CONT $one $two
busybox cp /tmp/daemon /left/build/said
kill_daemon
start_daemon
busybox cp /tmp/daemon /left/build/again
busybox usleep 100000
finish
{GONE}
"""


CHANGES = """\
server x pcpu=0 period_ns=20000000 budget_ns=1000000 priority=9
attach x thread=$three
set x budget_ns=500000
detach x thread=$three
remove x
"""
"""A request each millisecond, which is to be done when the daemon dies, or not at all."""


def _ends(number: int, kind: str, rng: random.Random) -> str:
    """One end of the daemon, or of the scheduler, or of both, and what there is afterwards."""
    scheduler = "end_scheduler\n" if kind != "daemon" else ""
    end = f"""\
kill_daemon
busybox usleep {rng.randrange(60_000)}
{scheduler}start_daemon
"""
    return f"""\
ask status
busybox cp /tmp/answer /left/$name/before{number}
faults requests /tmp/changes 1000 1000 >/dev/null 2>&1 & asking=$!
busybox usleep {rng.randrange(1_000, 60_000)}
{end if kind != "scheduler" else scheduler}kill $asking 2>/dev/null
wait $asking
runs_again
said remove x
ask status
busybox cp /tmp/answer /left/$name/after{number}
[ "$(files_of)" -le $files ] || give_up "files: found $(files_of), allowed: $files"
[ "$(pins)" = $pinned ] || give_up "pins: found $(pins), allowed: $pinned"
objects_are "$all"
"""


def random_ends(name: str, seed: int, kinds: list[str]) -> str:
    """Ends of these kinds ("daemon", "scheduler", "both") at random instants."""
    rng = random.Random(seed)
    ends = "".join(_ends(number, kind, rng) for number, kind in enumerate(kinds))
    return f"""\
# In force within 4 s, of which a second is what the daemon waits before it tries again.
runs_again() {{
    for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        said status && busybox grep -q '"running": true' /tmp/answer && return
        busybox usleep 200000
    done
    give_up "not in force again: $(busybox cat /tmp/answer /tmp/daemon)"
}}
begin {name} "name=ptps pcpus=0"
{TWO}
spin; three=$spinning
busybox cat >/tmp/changes <<CHANGES
{CHANGES}CHANGES
kill_daemon
start_daemon
# libbpf keeps one more file from the first link on that a daemon makes.
files=$(($(files_of) + 1)) pinned=$(pins) all=$(faults objects)
{ends}
finish
{GONE}
kill -9 $three
wait $three
"""
