# SPDX-License-Identifier: BSD-2-Clause
"""A virtual machine in a server: it is held to its budget, and its own tasks meet their deadlines.

A machine that counts instructions has the files of this one (`whole`), and QEMU runs there, as any
other program, a guest with two periodic tasks (`vm_guest.c`). How long their jobs take on that
machine is measured, and the server of the vcpu is computed from it, by the command that a user
calls. Beside it are servers for the other threads of QEMU and for a container, both found by name,
and threads that never sleep and have no server.
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

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("this machine's files on linux"),
]

SHARE = 0.005
"""The vcpu gets that part of its budgets in all whole periods more or less at most."""
OVERRUN_NS = 20_000
WEB, BOX = 0, 2
"""The numbers of servers, in the order of the system's domains."""

SYSTEM = """\
name = "machines"
policy = "ds"
[[domain]]
name = "web"
scheduler = "rm"
interface_period = "20ms"
{tasks}
[[domain]]
name = "emulator"
interface = {{ period = "10ms", budget = "500us" }}
[[domain.task]]
name = "devices"
kind = "busy"
[[domain]]
name = "box"
interface = {{ period = "50ms", budget = "5ms" }}
[[domain.task]]
name = "program"
kind = "busy"
"""
TASK = """\
[[domain.task]]
name = "task{number}"
period = "{period_ns}ns"
wcet = "{wcet_ns}ns"
"""
MARGIN = 1.1
"""What is added to the measured times of jobs, for what the kernel does in between."""

DESCRIBE = f"""\
import re
tasks = [
    {TASK!r}.format(number=n, period_ns=int(period, 16), wcet_ns=int({MARGIN} * int(alone, 16)))
    for n, period, alone in re.findall(
        r"task=(.) period_ns=(\\w+) alone_ns=(\\w+)", open("said").read())
]
open("machines.toml", "w").write({SYSTEM!r}.format(tasks="".join(tasks)))
"""

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
both_measured() {{
    [ "$(grep -c ^task= said)" = 2 ]
}}
echo boots
qemu-system-x86_64 -name web,debug-threads=on -nodefaults -display none -m 16M -kernel guest \\
    -debugcon file:said -accel tcg,thread=multi &
qemu=$!
until_there both_measured 2>/dev/null
python describe.py
cp machines.toml left
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
hyperperiod linux start machines.toml --attach web=vm:web --attach emulator=emulator:web \\
    --attach box=container:0123456789 >left/started 2>&1 || {{ cat left/started; exit 1; }}
ask stop
ask record on
ask start
for each in 1 2 3; do hog; done
cp said left/before
echo under way
sleep 5
ask rings path=left/rings
ask status
cp answer left/status
cp said left/inside
ask stop
sleep 3
cp said left/outside
kill $hogs $qemu $daemon
wait
"""


class Job(NamedTuple):
    """A job of a task in the guest, and its response time."""

    task: int
    response_ns: int


class Machines(NamedTuple):
    """What was seen: the servers, and the jobs of the guest beside threads that never sleep."""

    left: Left
    server: dict[str, Any]
    inside: list[Job]
    outside: list[Job]
    periods_ns: list[int]


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
    given = {"guest": guest(folder), "describe.py": DESCRIBE.encode()}
    files = session(SCRIPT, given, folder)
    left = left_in(files)
    (server,) = (one for one in left.status["servers"] if one["name"] == "web")
    periods = re.findall(r"task=. period_ns=(\w+)", files["before"].decode())
    return Machines(
        left,
        server,
        jobs(files["before"], files["inside"]),
        jobs(files["inside"], files["outside"]),
        [int(period, 16) for period in periods],
    )


def late(found: list[Job], periods_ns: list[int]) -> list[Job]:
    return [job for job in found if job.response_ns > periods_ns[job.task]]


def test_a_vcpu_is_held_to_its_budget(machines: Machines) -> None:
    """It never sleeps, and pays its whole budget in every period and no more."""
    assert len(machines.server["members"]) == 1
    budget_ns = machines.server["budget_ns"]
    paid = machines.left.paid_ns(WEB, machines.server["period_ns"])
    assert len(paid) > 200
    promised_ns = budget_ns * len(paid)
    assert abs(int(paid.sum()) - promised_ns) <= SHARE * promised_ns
    assert paid.max() <= budget_ns + OVERRUN_NS


def test_a_container_is_held_to_its_budget(machines: Machines) -> None:
    (box,) = (one for one in machines.left.status["servers"] if one["name"] == "box")
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


def test_tasks_in_the_guest_meet_their_deadlines(machines: Machines) -> None:
    """In the server that was computed; without it the same tasks miss."""
    assert {job.task for job in machines.inside} == {0, 1}
    assert len(machines.inside) > 50
    assert late(machines.inside, machines.periods_ns) == []
    assert late(machines.outside, machines.periods_ns) != []
