# SPDX-License-Identifier: BSD-2-Clause
"""hyperperiodd on a kernel: tasks enter servers by themselves, without privileges, and meet their
deadlines there; and a daemon that is killed leaves nothing behind.

All of it happens on one machine that counts instructions.
"""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from tests.linux.scripts import capabilities
from tests.support.on_linux import TOP, bpf_object, files_left, load_program

pytestmark = pytest.mark.xdist_group("daemon on linux")

JOBS = 100
PERIOD_NS = 10_000_000
ROUNDS = 3_000
"""How long a job is: a round is 400 instructions, and an instruction takes one nanosecond."""
JOB_NS = 400 * ROUNDS

BODY = f"""\
hog() {{
    /bin/load hog &
    hogs="$hogs $!"
}}
# What the kernel says of sched_ext, once it is done with what it is at: a second at most.
settled() {{
    for look in 0 1 2 3 4 5 6 7 8 9; do
        busybox sleep 0.1
        state=$(busybox cat /sys/kernel/sched_ext/state)
        [ $state = disabling ] || break
    done
    echo $state
}}
servers() {{
    ask policy name=ds pcpus=0
    ask server own pcpu=0 period_ns={PERIOD_NS} budget_ns=2000000 priority=0 inside=edf users=all
    ask server closed pcpu=0 period_ns={PERIOD_NS} budget_ns=3000000 priority=1
    ask record on
    ask start
}}
servers
hog
ask attach closed pid=$!
for each in 1 2 3 4 5 6 7 8; do hog; done
periodic own {JOBS} {PERIOD_NS} {ROUNDS} >/left/inside 2>&1
ask status
busybox cp /tmp/answer /left/status
ask requests path=/tmp/requests
periodic - {JOBS} {PERIOD_NS} {ROUNDS} >/left/outside 2>&1
periodic closed {JOBS} {PERIOD_NS} {ROUNDS} >/left/refused 2>&1
/bin/load heir own >/left/heir 2>&1
for look in 1 2 3 4 5 6 7 8 9; do
    [ -s /left/heir ] || busybox sleep 0.1
done

# The daemon is killed; threads go on under the kernel's own scheduler.
kill -9 $(busybox pidof hyperperiodd)
settled >/left/state
hyperperiodctl status >/left/gone 2>&1
echo $? >>/left/gone
kill -0 $hogs || give_up "a thread has ended with the daemon"
kill $hogs
/bin/load bound {capabilities():x} hyperperiodd --object /bin/hyperperiod.bpf.o \\
    --keep /sys/fs/bpf/hyperperiod >/tmp/daemon 2>&1 ||
    give_up "no second daemon: $(busybox cat /tmp/daemon)"
ask status
busybox cp /tmp/answer /left/second
while read -r request; do ask $request; done </tmp/requests
busybox sleep 0.5
ask status
busybox cp /tmp/answer /left/again
busybox ls /sys/fs/bpf/hyperperiod >/left/pins
kill $(busybox pidof hyperperiodd)
settled >/left/ended
busybox ls /sys/fs/bpf/hyperperiod >/left/unpinned

hyperperiodd --object /bin/no-queues.o >/tmp/daemon 2>&1 || give_up "no third daemon"
ask policy name=ds pcpus=0
ask server own pcpu=0 period_ns={PERIOD_NS} budget_ns=2000000
hyperperiodctl start >/left/queues
ask status
busybox cp /tmp/answer /left/none
"""

# With few rules, for the verifier's sake: none of them comes to decide.
NO_QUEUES = """\
#include "tests/native/few_rules.h"
#include <vmlinux.h>
#define scx_bpf_create_dsq(id, node) (-7)
#include "hosts/linux/hyperperiod.bpf.c"
"""


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What the script left, by name."""
    folder = tmp_path_factory.mktemp("daemon")
    program = folder / "periodic"
    sources = ("tests/linux/periodic.c", "hosts/linux/api/hyperperiod_rt.c",
               "hosts/linux/api/clock.c")  # fmt: skip
    subprocess.run(
        ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-static",
         "-Ihosts/linux/api", "-o", program, *sources], cwd=TOP, check=True,
    )  # fmt: skip
    programs = {"bin/periodic": program.read_bytes(), "bin/load": load_program(folder)}
    programs["bin/no-queues.o"] = bpf_object(NO_QUEUES, folder)
    return files_left(BODY, folder, programs=programs)


def status(left: dict[str, bytes], name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(left[name])
    return found


def server(found: dict[str, Any], name: str) -> dict[str, Any]:
    (one,) = (each for each in found["servers"] if each["name"] == name)
    return dict(one)


def test_a_task_in_a_server_meets_its_deadlines(left: dict[str, bytes]) -> None:
    """Beside nine threads that never sleep; outside of servers the same task misses."""
    assert left["inside"].split() == [str(JOBS).encode()]
    assert int(left["outside"]) < JOBS // 2


def test_the_server_pays_for_its_task(left: dict[str, bytes]) -> None:
    own = server(status(left, "status"), "own")
    assert JOBS * JOB_NS <= own["used_ns"] <= JOBS * JOB_NS * 11 // 10
    assert own["members"] == []


def test_a_server_that_is_not_open_is_refused(left: dict[str, bytes]) -> None:
    assert b"not open to this user" in left["refused"]


def test_who_has_the_number_of_a_dead_client_does_not_enter(left: dict[str, bytes]) -> None:
    """A child that kept its connection asks for that, and the server is open to all."""
    assert b"thread: found one of another process" in left["heir"]


def test_the_daemon_is_killed_and_nothing_stays(left: dict[str, bytes]) -> None:
    """The kernel's own scheduler goes on, and a new daemon knows nothing of the servers."""
    assert left["state"].split() == [b"disabled"]
    assert b"found no daemon" in left["gone"]
    assert left["gone"].split()[-1] == b"3"
    assert "servers" not in status(left, "second")
    assert status(left, "second")["running"] is False


def test_a_new_daemon_can_start_the_system_again(left: dict[str, bytes]) -> None:
    """With what the first one said that makes it."""
    first, again = status(left, "status"), status(left, "again")
    assert (again["running"], again["recording"], again["ends"]) == (True, True, 0)
    assert again["policy"] == first["policy"]
    for name in ("own", "closed"):
        for key in ("pcpu", "period_ns", "budget_ns", "priority", "extra", "inside"):
            assert server(again, name)[key] == server(first, name)[key]
    assert left["ended"].split() == [b"disabled"]


def test_the_capabilities_of_the_unit_are_enough_to_pin(left: dict[str, bytes]) -> None:
    """And a daemon that is told to end leaves none."""
    assert {b"link-scheduler", b"map-cpus", b"program-lx_set"} <= set(left["pins"].split())
    assert left["unpinned"] == b""
    assert json.loads(left["second"])["running"] is False


def test_what_the_programs_refuse_at_the_start_is_refused(left: dict[str, bytes]) -> None:
    """The kernel takes the scheduler, and ends it at once."""
    assert b"cannot be put in force: " in left["queues"]
    assert b"ops.init() failed (-7)" in left["queues"]
    assert status(left, "none")["running"] is False
