# SPDX-License-Identifier: BSD-2-Clause
"""The scheduler on Linux bears what goes wrong, and its accounts are right afterwards.

All of it happens on one machine that counts instructions. After each hardship every decision is
played again (0 may differ), the core's laws hold after each, and what the daemon says that servers
used is what the record says.
"""

from __future__ import annotations

import random
import re

import pytest
from tests.linux.fault_scripts import (
    GONE,
    KEEP,
    MS,
    SEED,
    TWO,
    changed,
    changes_server,
    clients_killed,
    memory,
    other_layout,
    random_ends,
    storm,
    taken_over,
    workload_killed,
)
from tests.linux.hardships import (
    Left,
    members_of,
    per_period,
    require_no_gap,
    require_right,
    run,
    stolen_per_period,
)

from hyperperiod.hosts.replay import replay
from hyperperiod.model import Scope

pytestmark = pytest.mark.xdist_group("faults on linux")

OVERRUN_NS = 20_000
"""How much longer than its budget a server may run in a period."""


def cgroups() -> str:
    """Cgroups come, go and are nested, and a thread that never sleeps is moved between them.

    Another one is in cgroups that match a pattern, which are made after that was attached.
    """
    return """\
begin cgroups "name=ds pcpus=0"
server a pcpu=0 period_ns=10000000 budget_ns=3000000 priority=0
server b pcpu=0 period_ns=20000000 budget_ns=4000000 priority=1
server c pcpu=0 period_ns=10000000 budget_ns=1000000 priority=2
groups=/sys/fs/cgroup
busybox mkdir -p $groups/a/x/y $groups/b
ask attach a cgroup=/a
ask attach b cgroup=/b
ask attach c "cgroup=pods/pod-*"
ask start
spin; one=$spinning
for group in a b a/x b a/x/y b a; do
    echo $one >$groups/$group/cgroup.procs
    busybox usleep 23000
done
echo $one >$groups/cgroup.procs
busybox rmdir $groups/a/x/y $groups/a/x $groups/a
ask status
fact gone "$(faults entries server_of_cgroup)"
busybox mkdir $groups/a
echo $one >$groups/a/cgroup.procs
ask attach b cgroup=later/ wait=1
ask status
busybox cp /tmp/answer /left/cgroups/made
spin; pod=$spinning
busybox mkdir -p $groups/pods/pod-1
echo $pod >$groups/pods/pod-1/cgroup.procs
busybox sleep 1.2
fact back "$(faults entries server_of_cgroup)"
ask attach a cgroup=/b
busybox mkdir $groups/pods/pod-2
echo $pod >$groups/pods/pod-2/cgroup.procs
busybox rmdir $groups/b $groups/pods/pod-1
busybox mkdir $groups/b $groups/later
all_run $one
busybox sleep 1.2
fact again "$(faults entries server_of_cgroup)"
finish
kill -9 $one $pod
wait $one $pod
busybox rmdir $groups/a $groups/b $groups/later $groups/pods/pod-2 $groups/pods
"""


def lock_held() -> str:
    """Nobody gets the lock of a lock domain: the kernel's own scheduler goes on, for a second."""
    return f"""\
begin held "name=ds pcpus=0"
{TWO}
faults hold
all_run $one $two
state_is disabled
ask status
busybox cp /tmp/answer /left/held/ended
busybox sleep 1.5
all_run $one $two
finish
{GONE}
"""


def written_down() -> str:
    """The kernel writes down the state of all, as before it ends a scheduler."""
    return f"""\
begin written "name=ds pcpus=0"
{TWO}
all_run $one $two
trace=/sys/kernel/tracing
busybox mount -t tracefs tracefs $trace
echo 1 >$trace/events/sched_ext/sched_ext_dump/enable
echo D >/proc/sysrq-trigger
busybox cat $trace/trace >/left/written/state
fact one $one
finish
{GONE}
"""


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Left]:
    """What all hardships left."""
    hardships = [
        changed("changed", Scope.PARTITIONED, 200),
        changed("changed_global", Scope.GLOBAL, 100),
        cgroups(),
        storm(200),
        changes_server(SEED),
        memory(),
        workload_killed(SEED, 6),
        clients_killed(SEED, 6),
        lock_held(),
        written_down(),
        taken_over(),
        other_layout(),
        random_ends("ends", SEED, ENDS),
    ]
    return run("".join(hardships), tmp_path_factory.mktemp("faults"), keep=KEEP)


ENDS = random.Random(SEED).sample(["both", "scheduler"], 2) + ["daemon"] * 4
"""What ends, one after the other; the rings are those of the last start."""
NAMES = ("changed", "changed_global", "cgroups", "storm", "changes", "memory", "killed",
         "clients", "held", "written", "layout", "ends")  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_decisions_and_accounts_are_right_afterwards(name: str, left: dict[str, Left]) -> None:
    require_right(left[name])


@pytest.mark.parametrize("name", ["changed", "changed_global"])
def test_a_change_each_millisecond_is_performed(name: str, left: dict[str, Left]) -> None:
    said = left[name].fact("said")
    assert said["refused"] == 0


def test_cgroups_that_are_removed_leave_nothing_behind(left: dict[str, Left]) -> None:
    """The kernel's half forgets them; a new one at the same path is found within a second, one
    that was waited for, and those that match a pattern."""
    assert left["cgroups"].number("gone") == 1
    assert left["cgroups"].number("back") == 3
    assert left["cgroups"].number("again") == 4


def test_a_cgroup_that_matches_has_its_budget_within_a_second(left: dict[str, Left]) -> None:
    """Its thread, which never sleeps, has all of it in each whole period from then on."""
    done = left["cgroups"]
    (pattern,) = done.server("c")["members"]
    assert pattern["matching"] == ["/sys/fs/cgroup/pods/pod-2"]
    made = done.fact("made")
    made_ns = made["clock_ns"] - made["base_ns"]
    used = per_period(done.rings[0], 2, 10 * MS, made_ns + 1000 * MS, made_ns + 1200 * MS)
    assert len(used) >= 19
    assert max(abs(each - MS) for each in used) <= OVERRUN_NS, used


def test_a_storm_of_forks_has_its_server_alone(left: dict[str, Left]) -> None:
    done = left["storm"]
    assert done.number("children") > 20
    require_promises(done, "b", 1, 4 * MS, 20 * MS)


def test_threads_that_never_sleep_change_server_at_once(left: dict[str, Left]) -> None:
    """From then on the server without threads uses nothing, or pays for nobody."""
    done = left["changes"]
    (before,) = (s for s in done.fact("before")["servers"] if s["name"] == "b")
    assert before["runnable"] == 2
    assert done.server("b")["runnable"] == 2
    assert done.server("a")["runnable"] == 0


def require_promises(left: Left, name: str, number: int, budget_ns: int, period_ns: int) -> None:
    """In each whole period the server ran for its budget, but for what the kernel itself took, and
    no longer than late decisions are."""
    server = left.server(name)
    first_ns = 2 * period_ns
    within = (period_ns, first_ns, server["now_ns"])
    used = per_period(left.rings[0], number, *within)
    stolen = stolen_per_period(left.rings[0], *within)
    assert len(used) > 2
    for used_ns, stolen_ns in zip(used, stolen, strict=True):
        assert used_ns >= budget_ns - stolen_ns - OVERRUN_NS, (name, used, stolen)
    assert max(used) <= budget_ns + OVERRUN_NS, (name, used)


def test_memory_ends_and_servers_go_on(left: dict[str, Left]) -> None:
    assert left["memory"].number("ended") == 137
    require_promises(left["memory"], "b", 1, 4 * MS, 20 * MS)


def test_who_was_killed_is_forgotten(left: dict[str, Left]) -> None:
    assert left["killed"].number("members") == 2


def test_clients_that_were_killed_are_forgotten(left: dict[str, Left]) -> None:
    clients = left["clients"]
    assert clients.number("members") == 2
    assert clients.server("c")["arrivals"] > 0
    assert clients.server("c")["runnable"] == 0


def test_a_lock_that_cannot_be_had_ends_the_scheduler(left: dict[str, Left]) -> None:
    """The daemon says so, and puts the system in force again when it is asked to."""
    ended = left["held"].fact("ended")
    assert ended["ends"] == 1
    assert "the lock of a lock domain could not be had" in ended["ended"]
    assert not ended["running"]
    assert left["held"].status["running"]
    assert left["held"].status["ends"] == 1


def test_the_kernel_writes_down_who_has_which_server(left: dict[str, Left]) -> None:
    """Its dump is of the whole, of the cpu, on which a thread without a server has asked for it,
    and of each thread that wants to run."""
    written = left["written"].files["state"].decode()
    assert "places 1, global 0, parked 0" in written
    assert re.search(r"place 0, granted -1 until \d+, payer -1, runs -1, timer \d+", written)
    one = re.search(rf"\[{left['written'].number('one')}\].*?server (-?\d+)", written, re.DOTALL)
    assert one is not None
    assert one[1] == "0"
    assert "server 1, counted 1" in written


def test_servers_go_on_without_a_daemon(left: dict[str, Left]) -> None:
    """Each whole period before its death, without one and after the next one's start has its
    budget."""
    gap = left["gap"]
    before, after, changed = (gap.fact(name) for name in ("before", "after", "changed"))
    assert after["base_ns"] == before["base_ns"]
    (ring,) = gap.rings
    replay(ring, 1 << 62, "Linux")
    to_ns = after["clock_ns"] - after["base_ns"]
    assert to_ns - (before["clock_ns"] - before["base_ns"]) >= 300 * MS
    for number, budget_ns, period_ns in ((1, 3 * MS, 10 * MS), (2, 4 * MS, 20 * MS)):
        used = per_period(ring, number, period_ns, period_ns, to_ns)
        assert len(used) >= 20
        assert max(abs(each - budget_ns) for each in used) <= OVERRUN_NS, used
    later = per_period(ring, 0, 20 * MS, to_ns + 80 * MS, to_ns + 160 * MS)
    assert max(abs(each - 2 * MS) for each in later) <= OVERRUN_NS, later
    later = per_period(ring, 2, 20 * MS, to_ns + 80 * MS, to_ns + 160 * MS)
    assert max(abs(each - 2 * MS) for each in later) <= OVERRUN_NS, later
    assert members_of(changed)["c"] != []


def test_the_next_daemon_knows_the_same_servers(left: dict[str, Left]) -> None:
    """But for a thread that ended meanwhile; it was not asked to make one anew."""
    gap = left["gap"]
    before, after = members_of(gap.fact("before")), members_of(gap.fact("after"))
    assert len(before["b"]) == 2
    before["b"] = [member for member in before["b"] if "thread" not in member]
    assert before == after
    assert gap.files["said"].count(b"servers have gone on without a gap") == 2
    assert gap.number("pins") == 0


def test_who_asks_nobody_is_told_that_servers_go_on(left: dict[str, Left]) -> None:
    gap = left["gap"]
    assert gap.number("code") == 3
    assert b"the servers of a daemon that died are in force still" in gap.files["none"]


def test_what_has_another_layout_ends_and_is_put_in_force_anew(left: dict[str, Left]) -> None:
    layout = left["layout"]
    after = layout.fact("after")
    assert b"with another layout than" in layout.files["said"]
    assert b"without a gap" not in layout.files["said"]
    assert after["running"]
    assert [(s["name"], len(s["members"])) for s in after["servers"]] == [("a", 1), ("b", 1)]


def test_whatever_ends_the_system_is_in_force_again(left: dict[str, Left]) -> None:
    """And where only the daemon did, all periods since the last start have their budgets."""
    ends = left["ends"]
    require_no_gap(ends, ENDS)
    for number, budget_ns, period_ns in ((0, 3 * MS, 10 * MS), (1, 4 * MS, 20 * MS)):
        used = per_period(
            ends.rings[0], number, period_ns, 2 * period_ns, ends.server("a")["now_ns"]
        )
        assert len(used) >= 20
        assert max(abs(each - budget_ns) for each in used) <= OVERRUN_NS, (SEED, used)


def test_the_verifier_of_debians_kernel_has_room(left: dict[str, Left]) -> None:
    """All programs, also those that only a kernel with sched_ext takes."""
    looked_at = [int(line.split()[1]) for line in left["killed"].files["programs"].splitlines()]
    assert len(looked_at) > 20
    assert max(looked_at) <= 200_000
