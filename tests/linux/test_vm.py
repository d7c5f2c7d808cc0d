# SPDX-License-Identifier: BSD-2-Clause
"""A virtual machine and its iothread in servers: what is computed for the guest holds inside.

A machine that counts instructions has the files of this one (`whole`), and QEMU runs there, as any
other program, a guest with tasks one of which reads from a disk (`vm_guest.c`): it has no data, and
takes its time for each request. The guest's servers are those of an example system, whose execution
times must not be below those measured here: of the vcpu, of the iothread that serves the disk, of
the other threads of QEMU and of a container, all found by name. Beside them are threads that never
sleep and have no server.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.linux.scripts import Left, left_in
from tests.linux.whole import session
from tests.support.on_linux import TOP

from hyperperiod.analysis import analyze
from hyperperiod.model import load_system
from hyperperiod.resources import SYSTEMS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("this machine's files on linux"),
]

SHARE = 0.005
"""The vcpu gets that part of its budgets in all whole periods more or less at most."""
OVERRUN_NS = 20_000
WEB, IO, BOX = 0, 1, 3
"""The numbers of servers, in the order of the system's domains."""
FILE = SYSTEMS / "vm-disk.toml"
SYSTEM = load_system(FILE)
(READS,) = SYSTEM.flows
DISK_NS = 6_000_000
"""What the disk takes for a request: with the wait until a read is submitted, the jitter of the
flow's source, whose items come when the disk has the block."""
TASKS = SYSTEM.domains[WEB].tasks
"""Those of the guest, in its order; the first one goes on with what was read."""
MARGIN = 1.1
"""What execution times must have room for beside the measured ones: the kernel in between."""

SCRIPT = f"""\
ask() {{
    {TOP}/build/linux/hyperperiodctl "$@" >answer || {{ cat answer; exit 1; }}
}}
hog() {{
    sh -c 'while :; do :; done' &
    hogs="$hogs $!"
}}
until_there() {{
    for look in $(seq 600); do "$@" && return; sleep 0.1; done
    exit 1
}}
all_measured() {{
    [ "$(grep -c ^task= said)" = 3 ]
}}
echo boots
qemu-system-x86_64 -name web,debug-threads=on -nodefaults -display none -m 16M -kernel guest \\
    -debugcon file:said -accel tcg,thread=multi \\
    -object iothread,id=io0 \\
    -blockdev driver=null-co,node-name=disk,read-zeroes=on,latency-ns={DISK_NS} \\
    -device virtio-blk-pci,addr=4,disable-modern=on,queue-size=8,drive=disk,iothread=io0 &
qemu=$!
until_there all_measured 2>/dev/null
echo measured

{TOP}/build/linux/hyperperiodd --foreground --cpus 1 \\
    --object {TOP}/build/linux/hyperperiod.bpf.o >left/daemon 2>&1 &
daemon=$!
until_there test -S /run/hyperperiod/control
ask policy name=ds pcpus=0
ask server commands pcpu=0 best_effort=1
ask start
hyperperiod linux exec commands cat /proc/self/cgroup >left/command 2>&1
echo $? >>left/command
ask status
cp answer left/commands
ask stop
ask clear
box=/sys/fs/cgroup/machine.slice/libpod-0123456789abcdef.scope
mkdir -p $box
(echo 0 >$box/cgroup.procs; exec sh -c 'while :; do :; done') &
hogs=$!
hyperperiod linux start {FILE} --attach web=vm:web --attach io=iothread:web \\
    --attach emulator=emulator:web --attach box=container:0123456789 >left/started 2>&1 ||
    {{ cat left/started; exit 1; }}
ask stop
ask record on
ask start
for each in 1 2 3; do hog; done
cp said left/before
echo under way
sleep 4
ask rings path=left/rings
ask status
cp answer left/status
cp said left/inside
ask remove io
sleep 2
cp said left/beside
ask stop
sleep 2
cp said left/outside
kill $hogs $qemu $daemon
wait
"""


class Job(NamedTuple):
    """A job of a task in the guest, and its response time."""

    task: int
    response_ns: int


class Machines(NamedTuple):
    """What was seen: the servers, and the jobs of the guest beside threads that never sleep.

    First with all servers, then without the iothread's, then without any.
    """

    left: Left
    servers: dict[str, dict[str, Any]]
    inside: list[Job]
    beside: list[Job]
    outside: list[Job]
    alone_ns: list[int]


def guest(folder: Path) -> bytes:
    """The guest, as QEMU boots it."""
    flags = "-m32 -O2 -Wall -Wextra -Werror -ffreestanding -nostdlib -static -fno-pie -no-pie"
    flags += " -fno-stack-protector -fno-asynchronous-unwind-tables -fcf-protection=none"
    flags += " -mgeneral-regs-only -Wl,--build-id=none -Wl,-Ttext=0x100000 -Wl,-z,noexecstack"
    image = folder / "guest"
    source = TOP / "tests/linux/vm_guest.c"
    subprocess.run(["gcc", *flags.split(), "-o", str(image), str(source)], check=True)
    return image.read_bytes()


def jobs(before: bytes, after: bytes) -> list[Job]:
    """The jobs that were said between two copies of what the guest said."""
    said = after[len(before) :].decode()
    found = re.findall(r"job=(.) release_ns=\w+ response_ns=(\w+)\n", said)
    return [Job(int(task), int(response, 16)) for task, response in found]


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Machines:
    folder = tmp_path_factory.mktemp("vm")
    files = session(SCRIPT, {"guest": guest(folder)}, folder)
    left = left_in(files)
    alone = re.findall(r"alone_ns=(\w+)", files["before"].decode())
    return Machines(
        left,
        {one["name"]: one for one in left.status["servers"]},
        jobs(files["before"], files["inside"]),
        jobs(files["inside"], files["beside"]),
        jobs(files["beside"], files["outside"]),
        [int(each, 16) for each in alone],
    )


def late(found: list[Job]) -> list[Job]:
    read_ns = READS.source.jitter_ns + READS.deadline_ns
    deadlines_ns = [read_ns, *(task.deadline_ns or 0 for task in TASKS[1:])]
    return [job for job in found if job.response_ns > deadlines_ns[job.task]]


def reads(found: list[Job]) -> list[Job]:
    """The reads among them, which respond when the guest has gone on with the block."""
    return [job for job in found if job.task == 0]


def test_a_vcpu_is_held_to_its_budget(machines: Machines) -> None:
    """It never sleeps, and pays its whole budget in every period and no more."""
    web = machines.servers["web"]
    assert len(web["members"]) == 1
    budget_ns = web["budget_ns"]
    paid = machines.left.paid_ns(WEB, web["period_ns"])
    assert len(paid) > 200
    promised_ns = budget_ns * len(paid)
    assert abs(int(paid.sum()) - promised_ns) <= SHARE * promised_ns
    assert paid.max() <= budget_ns + OVERRUN_NS


def test_a_container_is_held_to_its_budget(machines: Machines) -> None:
    box = machines.servers["box"]
    assert box["members"] == [
        {"cgroup": "/sys/fs/cgroup/machine.slice/libpod-0123456789abcdef.scope"}
    ]
    paid = machines.left.paid_ns(BOX, box["period_ns"])
    promised_ns = box["budget_ns"] * len(paid)
    assert abs(int(paid.sum()) - promised_ns) <= SHARE * promised_ns


def test_a_command_has_run_in_a_server(machines: Machines) -> None:
    """In a cgroup of its own, which is no member any more."""
    said = machines.left.files["command"].decode().split()
    assert re.fullmatch(r"0::/hyperperiod-\d+", said[0])
    assert said[1:] == ["0"]
    (server,) = json.loads(machines.left.files["commands"])["servers"]
    assert server["extra_ns"] > 0
    assert server["members"] == []


def test_the_example_has_what_was_measured(machines: Machines) -> None:
    """The iothread's periods are shorter than the disk takes: it submits or completes in each."""
    for task, alone_ns in zip(TASKS, machines.alone_ns, strict=True):
        assert MARGIN * alone_ns <= (task.wcet_ns or 0)
    interface = SYSTEM.domains[IO].interface
    assert interface is not None
    paid = machines.left.paid_ns(IO, interface.period_ns)
    assert 0 < paid.max() <= SYSTEM.devices[0].receive_ns


def test_tasks_in_the_guest_meet_their_deadlines(machines: Machines) -> None:
    """In servers that the analysis says yes to; without them the same tasks miss."""
    assert {job.task for job in machines.inside} == {0, 1, 2}
    assert len(machines.inside) > 100
    assert late(machines.inside) == []
    assert late(machines.outside) != []


def test_reads_wait_for_an_iothread_without_a_server(machines: Machines) -> None:
    """With one they are within their bound; what the vcpu has does not help."""
    bound_ns = analyze(SYSTEM).flows[0].response_bound_ns
    assert bound_ns is not None
    longest_ns = max(job.response_ns for job in reads(machines.inside))
    assert DISK_NS < longest_ns <= READS.source.jitter_ns + bound_ns
    beside = reads(machines.beside)
    assert 4 * len(late(beside)) > len(beside) > 30
