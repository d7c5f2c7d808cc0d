# SPDX-License-Identifier: BSD-2-Clause
"""What happens on the machine: its first program, a shell script made from the system.

It starts hyperperiodd and asks it for the system's policy and servers. Then a process for each
domain makes the threads of its tasks, which sleep until the epoch, an instant of Linux's clock that
is the core's time 0. What is done to the run from outside has processes of its own (`outside`).
When all are there the scheduler is put in force. At the horizon the processes end; the scheduler's
rings and theirs are written to the port of results, and the machine is turned off. Whatever goes
wrong ends it too, and is said on the console.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from hyperperiod.hosts.linux import live
from hyperperiod.hosts.rings import GUEST_RING_OFFSET
from hyperperiod.hosts.xen.command_line import ICOUNT_RATE, guest_words
from hyperperiod.hosts.xen.plan import guest_ring_bytes
from hyperperiod.model import Scope, System, Vcpu, vcpus_of
from hyperperiod.model.units import NS_PER_UNIT

BEGUN, DONE, COMPLAINT = "hyperperiod: begins at", "hyperperiod: done", "hyperperiod: error:"
EPOCH = "epoch=0"
"""In the words of a domain, where the script puts the epoch."""

SCRIPT = """\
#!/bin/busybox sh
export PATH=/bin
busybox mount -t devtmpfs dev /dev
busybox mount -t proc proc /proc
busybox mount -t sysfs sys /sys
busybox mount -t cgroup2 cgroup /sys/fs/cgroup
busybox mkdir -p /left /run/hyperperiod
exec >/dev/console 2>&1

give_up() {
    echo "$COMPLAINT $*"
    busybox poweroff -f
    while :; do busybox sleep 1000; done
}

ask() {
    hyperperiodctl "$@" >/tmp/answer 2>&1 || give_up "$*: $(busybox cat /tmp/answer)"
}
"""

START = """\
hyperperiodd --cpus $cpus --object /bin/hyperperiod.bpf.o >/tmp/daemon 2>&1 ||
    give_up "hyperperiodd: $(busybox cat /tmp/daemon)"
"""

BEGIN = """\
read -r up rest </proc/uptime
epoch=$((${up%.*} + start_s))000000000
tasks=
"""

RUN = """\
waiting=$processes
while [ "$waiting" != 0 ]; do
    busybox sleep 0.01
    waiting=$processes
    for file in /tmp/$run/ready*; do [ -e "$file" ] && waiting=$((waiting - 1)); done
    kill -0 $tasks 2>/dev/null || give_up "a domain's tasks do not run"
done
ask start epoch_ns=$epoch force=1
read -r up rest </proc/uptime
[ "${up%.*}" -lt "${epoch%?????????}" ] || give_up "$LATE"
echo "$BEGUN $epoch"
for each in $tasks; do
    wait $each
    ended=$?
    [ $ended = 0 ] || [ $ended = 143 ] || give_up "a domain's tasks have ended early"
done
ask rings path=/left/$run/rings
ask status
busybox cp /tmp/answer /left/$run/status
ask stop
ask clear
"""

ORDERS = """\
{ read -r order </dev/vport0p2 && kill $tasks; } &
"""

END = """\
busybox tar c -C /left . >/dev/vport0p1
echo "$DONE"
busybox poweroff -f
"""
COUNTING = "/proc/sys/kernel/bpf_stats_enabled"
COUNTED_AHEAD_NS = 1_000_000
"""How long before the epoch the kernel begins to count: it changes its own code for that."""
Events = Mapping[int, str]
"""By the cpu that each happens on: lines of guests/linux/events.c, without the epoch."""
LATE = "the epoch has passed already"


def init(runs: Sequence[str], *, cpus: int, start_s: int, prepare: str = "") -> str:
    """The script for runs one after the other, on `cpus` cpus that servers may be on.

    The epoch of each is `start_s` seconds after the first of its processes is made. A run can be
    ended early, by a line on the port of orders, if it is the only one.
    """
    said = f'COMPLAINT="{COMPLAINT}"\nBEGUN="{BEGUN}"\nDONE="{DONE}"\nLATE="{LATE}"\n'
    numbers = f"cpus={cpus}\nstart_s={start_s}\n"
    if len(runs) == 1:
        runs = [runs[0].replace("for each in", f"{ORDERS}for each in")]
    return "".join([SCRIPT, said, numbers, START, prepare, *runs, END])


def run(number: int, requests: Iterable[str], prepare: str, processes: str, waiting: int) -> str:
    """The part of the script for the run of this number.

    `requests` are those for hyperperiodd. `prepare` is done before the epoch is set, `processes`
    starts what knows it, with its process ids in `tasks`: they say in `waiting` files that they are
    ready, and end at the horizon.
    """
    folders = f"run={number}\nbusybox mkdir -p /tmp/$run /left/$run\n"
    asked = "".join(f"ask {request}\n" for request in requests)
    count = f"processes={waiting}\n"
    return f"{folders}{asked}{prepare}{count}{BEGIN}{processes}{RUN}"


def run_tasks(system: System, number: int, events: Events) -> str:
    """The part of the script for a run of a system's tasks, a process for each domain."""
    processes = "".join(_process(system, domain) for domain in range(len(system.domains)))
    processes += "".join(_outside(cpu) for cpu in events)
    waiting = len(system.domains) + len(events)
    return run(number, requests(system), "", processes, waiting)


def cpus_of(systems: Sequence[System]) -> int:
    """On so many cpus runs of these systems need locks, and rings, of their own."""
    return max(len(lock_domains(system)) for system in systems)


def outside(horizon_ns: int, *, counts: bool) -> Events:
    """What is done to a run from outside.

    `counts`: from the epoch to the horizon the kernel counts what BPF programs take.
    """
    if not counts:
        return {}
    return {
        0: f"{-COUNTED_AHEAD_NS} write {COUNTING}=1\n{horizon_ns} write {COUNTING}=0\n",
    }


def words(system: System, number: int, horizon_ns: int, seed: int, *, icount: bool) -> str:
    """What the process of a domain (from 0) is told, but for the epoch."""
    told = guest_words(
        system,
        number,
        epoch_ns=0,
        horizon_ns=horizon_ns,
        seed=seed,
        memory_bytes=GUEST_RING_OFFSET + guest_ring_bytes(system, number, horizon_ns),
        rate=ICOUNT_RATE if icount else 0,
        counter_hz=NS_PER_UNIT["s"],
    )
    return " ".join(told) + "\n"


def requests(system: System) -> Iterator[str]:
    """What hyperperiodd is asked for before the start."""
    for request in live.requests(system, range(system.pcpus), name_of):
        # A run is short: servers that leave nothing to others need not frighten anybody.
        yield f"{request} force=1" if request.startswith("server ") else request
    yield "record on"


def name_of(vcpu: Vcpu) -> str:
    """What a server is called on Linux."""
    return f"d{vcpu.domain_index}.{vcpu.index}"


def lock_domains(system: System) -> Sequence[Sequence[int]]:
    """The vcpus (ids) of each lock domain, in the order of their numbers there."""
    vcpus = vcpus_of(system)
    if system.policy.scope is Scope.GLOBAL:
        return [[vcpu.id for vcpu in vcpus]]
    return [[vcpu.id for vcpu in vcpus if (vcpu.pcpu or 0) == pcpu] for pcpu in range(system.pcpus)]


def _process(system: System, number: int) -> str:
    domain = system.domains[number]
    servers = " ".join(name_of(vcpu) for vcpu in vcpus_of(system) if vcpu.domain_index == number)
    assert domain.vcpus == len(servers.split())
    return (
        f'busybox sed "s/{EPOCH}/epoch=$epoch/" /words/$run/{number} >/tmp/$run/words{number}\n'
        f"tasks /tmp/$run/words{number} /left/$run/ring{number} /tmp/$run/ready{number}"
        f" {servers} &\n"
        'tasks="$tasks $!"\n'
    )


def _outside(cpu: int) -> str:
    """Starts the process of what happens on a cpu from outside."""
    file = f"/tmp/$run/events{cpu}"
    return (
        f"{{ echo $epoch; busybox cat /words/$run/events{cpu}; }} >{file}\n"
        f"events {file} /tmp/$run/ready-events{cpu} {cpu} &\n"
        'tasks="$tasks $!"\n'
    )
