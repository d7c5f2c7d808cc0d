# SPDX-License-Identifier: BSD-2-Clause
"""What the Linux host costs, beside the kernel's own schedulers, and what each lets a neighbour do.

All of it is measured on one machine that boots once and counts instructions: one takes a
nanosecond, and a measurement repeats to the last digit. The machine has one cpu.

A round trip is a byte that one process writes to another by a pipe, and one back: two switches and
two wake-ups. The processes are put into servers, reservations of SCHED_DEADLINE or cgroups with
cpu.max that are so large that they never run out. Servers beside them have no work.

A cyclic task works for 2 ms every 11 ms, beside a process that never sleeps: how long after its
release it runs, and how long after it is done. The neighbour has 6 ms in 10 ms, and the task 3 ms
in 11 ms wherever a reservation can be had. So it is released at every phase of the neighbour's.

A decision is timed in the BPF programs themselves, with lock and record (`linux_pick.bpf.c`).

Of each program it is said how many instructions the kernel's verifier looked at, how much stack it
takes with all that it calls, and how long its machine code is.
"""

import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from bench.environment import BUILD, TOP, SkippedError
from bench.results import Row
from bench.stack import depths

from hyperperiod.hosts.linux import script
from hyperperiod.hosts.linux.attend import run_script
from hyperperiod.hosts.linux.build import images
from hyperperiod.hosts.linux.machine import LinuxMachine
from hyperperiod.model import MissingError

POLICIES = ("ds", "cbs")
"""Fixed priorities and EDF."""
LOADS = ("equal", "mixed")
SERVERS = (2, 8, 32, 64)
STACK, CODE = "stack", "machine code"
"""Numbers of programs that are bytes."""
SMALL = 1_000
"""Programs of which the verifier looks at fewer instructions stand in one row."""
MANY = (2, 32, 64)
"""Servers while a round trip is measured between two of them, hyperperiodd's own left out if there
are no others."""
SPREAD = tuple(
    f"{what}, {which}" for what in ("delay", "response") for which in ("least", "median", "longest")
)

LARGE_NS, LARGE_PERIOD_NS = 400_000_000, 1_000_000_000
TASK_NS, TASK_PERIOD_NS = 3_000_000, 11_000_000
HOG_NS, HOG_PERIOD_NS = 6_000_000, 10_000_000
PATIENCE_S = 600.0

MEASURE = """\
# measure NAME COMMAND...: a line "NAME|numbers".
measure() {
    name=$1
    shift
    found=$("$@") || give_up "$name: $found"
    echo "$name|$found" >>/left/prices
    echo "measured: $name: $found"
}

# servers FROM TO: makes servers without work.
servers() {
    each=$1
    while [ $each -lt $2 ]; do
        ask server s$each pcpu=0 period_ns=1000000000 budget_ns=1000000 priority=$each
        each=$((each + 1))
    done
}
"""

KERNEL = f"""\
# The kernel is done with its start by then.
busybox sleep 5
measure "round trip, EEVDF" price pong none none
place=deadline:{LARGE_NS}:{LARGE_PERIOD_NS}
measure "round trip, SCHED_DEADLINE" price pong $place $place
measure "cyclic, alone" price alone none
measure "cyclic, EEVDF" price cyclic none none
measure "cyclic, SCHED_DEADLINE" price cyclic \\
    deadline:{TASK_NS}:{TASK_PERIOD_NS} deadline:{HOG_NS}:{HOG_PERIOD_NS}

# group NAME BUDGET PERIOD: makes a cgroup with cpu.max (ns).
groups=/sys/fs/cgroup
group() {{
    busybox mkdir $groups/$1
    echo $(($2 / 1000)) $(($3 / 1000)) >$groups/$1/cpu.max
}}
echo +cpu >$groups/cgroup.subtree_control
group large0 {LARGE_NS} {LARGE_PERIOD_NS}
group large1 {LARGE_NS} {LARGE_PERIOD_NS}
measure "round trip, cpu.max" price pong cgroup:$groups/large0 cgroup:$groups/large1
group task {TASK_NS} {TASK_PERIOD_NS}
group hog {HOG_NS} {HOG_PERIOD_NS}
measure "cyclic, cpu.max" price cyclic cgroup:$groups/task cgroup:$groups/hog
busybox rmdir $groups/large0 $groups/large1 $groups/task $groups/hog
echo -cpu >$groups/cgroup.subtree_control

price attach /bin/linux_fifo.bpf.o >/dev/null 2>&1 &
fifo=$!
until [ "$(busybox cat /sys/kernel/sched_ext/state)" = enabled ]; do busybox sleep 0.01; done
measure "round trip, sched_ext FIFO" price pong none none
kill $fifo
wait $fifo
until [ "$(busybox cat /sys/kernel/sched_ext/state)" = disabled ]; do busybox sleep 0.01; done
"""

VERIFIER = """\
price verifier /bin/hyperperiod.bpf.o >/left/verifier 2>/left/complaints ||
    give_up "$(busybox cat /left/verifier /left/complaints)"
"""


def measure() -> Iterator[Row]:
    """Boots the machine and says what it found."""
    try:
        found = measured()
    except MissingError as error:
        raise SkippedError(f"{error}") from None
    for name, value in found.items():
        yield Row(name, value, "bytes" if name.endswith((STACK, CODE)) else "instructions")


def _script() -> str:
    """The shell script that measures everything on the machine, and leaves the numbers in files."""
    parts = [
        MEASURE,
        KERNEL,
        _decisions(),
        VERIFIER,
        script.START,
        *(_ours(policy) for policy in POLICIES),
        script.END,
    ]
    return "".join(parts)


def _decisions() -> str:
    asked = " ".join(
        f"{policy} {load} {count}" for policy in POLICIES for load in LOADS for count in SERVERS
    )
    return (
        f"price picks /bin/linux_pick.bpf.o {asked} >/left/picks 2>/left/complaints ||\n"
        '    give_up "$(busybox cat /left/picks /left/complaints)"\n'
    )


def _ours(policy: str) -> str:
    """Round trips and the cyclic task with servers of ours."""

    def server(name: str, priority: int, budget_ns: int, period_ns: int) -> str:
        numbers = f"period_ns={period_ns} budget_ns={budget_ns} priority={priority}"
        return f"ask server {name} pcpu=0 {numbers}\n"

    policed = f"ask policy name={policy} pcpus=0\n"
    lines = [
        policed,
        server("a", 0, LARGE_NS, LARGE_PERIOD_NS),
        server("b", 1, LARGE_NS, LARGE_PERIOD_NS),
        "ask record on\nask start\n",
        f'measure "round trip, {policy}, outside of servers" price pong none none\n',
        f'measure "round trip, {policy}, in a server" price pong server:a server:a\n',
    ]
    made = 2
    for count in MANY:
        wanted = max(count - 1, 2)
        name = f"round trip, {policy}, between servers, {count} servers"
        lines.append(f"servers {made} {wanted}\n")
        lines.append(f'measure "{name}" price pong server:a server:b\n')
        made = wanted
    lines += [
        "ask stop\nask clear\n",
        policed,
        server("a", 0, TASK_NS, TASK_PERIOD_NS),
        server("b", 1, HOG_NS, HOG_PERIOD_NS),
        "ask start\n",
        "# What the kernel has put off, such as to free the servers before, is done.\n",
        "busybox sleep 6\n",
        f'measure "cyclic, {policy}" price cyclic server:a server:b\n',
        "ask stop\nask clear\n",
    ]
    return "".join(lines)


def measured() -> dict[str, int]:
    """What the machine says, by name: instructions, and bytes of programs.

    MissingError where it cannot be booted, SkippedError where stack cannot be counted.
    """
    machine = LinuxMachine(images(), _script(), files=_programs())
    with tempfile.TemporaryDirectory(prefix="hyperperiod-") as folder:
        left = run_script(machine, Path(folder) / "console.log", PATIENCE_S)
    found = dict(_numbers(left["prices"].decode(), left["picks"].decode()))
    return found | dict(_programs_seen(left["verifier"].decode().splitlines()))


def _numbers(prices: str, picks: str) -> Iterator[tuple[str, int]]:
    """The numbers of the lines that the machine has left, by name."""
    for line in prices.splitlines():
        name, found = line.split("|")
        numbers = [int(number) for number in found.split()]
        if len(numbers) == 1:
            yield name, numbers[0]
        else:
            yield from zip((f"{name}: {what}" for what in SPREAD), numbers, strict=True)
    for line in picks.splitlines():
        policy, load, servers, mean, longest = line.split()
        name = f"decision, {policy}, {load} periods, {servers} servers"
        yield name, int(mean)
        yield f"{name}: longest", int(longest)


def _programs_seen(lines: Iterable[str]) -> Iterator[tuple[str, int]]:
    """The numbers of the programs by name: of each, and of all small ones the greatest."""
    stack = depths(images().kernel.parent / "hyperperiod.bpf.o")
    others = [0, 0, 0]
    for line in lines:
        name, *words = line.split()
        looked_at, code = map(int, words)
        numbers = [looked_at, stack[name].stack_bytes, code]
        if looked_at < SMALL:
            others = list(map(max, others, numbers))
        else:
            yield from _named(name.removeprefix("hyperperiod_"), numbers)
    yield from _named("all others", others)


def _named(program: str, numbers: Iterable[int]) -> Iterator[tuple[str, int]]:
    name = f"verifier, {program}"
    return zip((name, f"{name}: {STACK}", f"{name}: {CODE}"), numbers, strict=True)


def _programs() -> dict[str, bytes | None]:
    """What the machine has beside the host's own programs."""
    root = images().kernel.parent / "root"
    BUILD.mkdir(parents=True, exist_ok=True)
    made = ["linux_fifo.bpf.o", "linux_pick.bpf.o", "price"]
    make = ["make", "--silent", "-C", str(TOP), "-f", "bench/linux.mk", f"OUT={BUILD}"]
    subprocess.run([*make, f"SYSROOT={root}", *(f"{BUILD}/{name}" for name in made)], check=True)
    return {f"bin/{name}": (BUILD / name).read_bytes() for name in made}
