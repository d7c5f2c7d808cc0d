# SPDX-License-Identifier: BSD-2-Clause
"""The scheduler in Linux on two cpus at once: races end nothing, and replay finds no difference.

The machine is as fast as this host lets it: nothing is said of how much time anybody gets. Each cpu
has a cache of its own, so the background has two queues.
"""

from __future__ import annotations

import json

import pytest
from tests.linux.scripts import Left, cpus_of, run_phases

pytestmark = pytest.mark.xdist_group("two cpus on linux")

CPU = "/sys/devices/system/cpu/cpu1/online"
TOGGLE = f"echo 0 >{CPU}\nbusybox sleep 0.1\necho 1 >{CPU}\nbusybox sleep 0.1\n"
PARTITIONED = """\
ask policy name=ds pcpus=0-1
ask record on
ask server first pcpu=0 period_ns=10000000 budget_ns=3000000 priority=1 inside=turns
ask server second pcpu=1 period_ns=10000000 budget_ns=3000000 priority=1 inside=turns
load hog
one=$it
ask attach first pid=$it
load hog
ask attach second pid=$it
load hog
ask start force=1
busybox sleep 0.3
"""
# On the one cpu that stays, too, they leave some time to the shell that brings the other one back.
GLOBAL = """\
ask policy name=rtds pcpus=0-1 global=1
ask record on
""" + "".join(
    f"ask server {name} pcpu=global period_ns=10000000 budget_ns=2500000 inside=turns\n"
    f"load hog\nask attach {name} pid=$it\n"
    for name in ("first", "second", "third")
)
# The thread of the first may run where that does and nowhere else; the second's not where it does.
BOUND = (
    GLOBAL
    + """\
ask set first pcpus=1
ask set second pcpus=0
set -- $loads
load pin $1 1
ask start force=1
busybox sleep 0.3
"""
)
# While the first may be everywhere its thread, which may not, is a stray.
STRAYS = """\
ask set first pcpus=0-1
busybox sleep 0.1
ask set first pcpus=1
busybox sleep 0.1
load pin $2 1
busybox sleep 0.1
"""
# A server without any cpu has no threads; when the cpu is back they may run everywhere, and one of
# the first two is waited for there: on a busy host that takes a while.
GONE = f"""\
echo 0 >{CPU}
busybox sleep 0.3
ask status
busybox cp /tmp/answer /left/$phase/without
echo 1 >{CPU}
set -- $loads
for look in $(busybox seq 50); do
    busybox cut -d ' ' -f 39 /proc/$1/stat /proc/$2/stat | busybox grep -q 1 && break
    busybox sleep 0.1
done
busybox sleep 0.3
"""
# What they are promised is more than the one cpu that stays has.
OVERBOOKED = (
    GLOBAL.replace("budget_ns=2500000", "budget_ns=4500000")
    + f"ask start force=1\nbusybox sleep 0.3\n{GONE}"
)
# A cpu of a cpuset partition, where the kernel balances no load.
SET_APART = """\
echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control
busybox mkdir -p /sys/fs/cgroup/apart
echo 1 >/sys/fs/cgroup/apart/cpuset.cpus
echo isolated >/sys/fs/cgroup/apart/cpuset.cpus.partition
busybox cp /sys/fs/cgroup/apart/cpuset.cpus.partition /left/$phase/partition
ask policy name=ds pcpus=1
ask record on
ask server first pcpu=1 period_ns=10000000 budget_ns=3000000 inside=turns
ask attach first cgroup=apart
load hog
echo $it >/sys/fs/cgroup/apart/cgroup.procs
load hog
ask start
for look in $(busybox seq 50); do
    busybox sleep 0.1
    ask status
    used=$(busybox sed 's/.*"used_ns": \\([0-9]*\\).*/\\1/' /tmp/answer)
    [ "$used" -le 60000000 ] || break
done
echo member >/sys/fs/cgroup/apart/cpuset.cpus.partition
echo $it >/sys/fs/cgroup/cgroup.procs
"""
# Of three threads outside of servers one may run on the second cpu first, and then on no other than
# the first, where the virtual time is another.
REPINNED = """\
ask policy name=ds pcpus=0
ask record on
ask server idle pcpu=0 period_ns=10000000 budget_ns=1000000
ask start
for cpu in 0 0 1; do
    load hog
    /bin/load pin $it $cpu
done
busybox sleep 3
/bin/load pin $it 0
busybox sleep 0.5
busybox cat /proc/$it/schedstat >/left/$phase/first
busybox sleep 1
busybox cat /proc/$it/schedstat >/left/$phase/last
"""
PHASES = {
    "repinned": REPINNED,
    "parked": PARTITIONED + TOGGLE * 3,
    "pinned": PARTITIONED
    + "".join(f"/bin/load pin $one {turn % 2}\n" for turn in range(40))
    + "busybox sleep 0.3\n",
    "global": f"{GLOBAL}load hog\nask start force=1\nbusybox sleep 0.3\n" + TOGGLE * 3,
    "bound": BOUND,
    "strays": BOUND + STRAYS,
    "absent": f"echo 0 >{CPU}\n{PARTITIONED}{GONE}",
    "absent_global": f"echo 0 >{CPU}\n{GLOBAL}ask start force=1\nbusybox sleep 0.3\n{GONE}",
    "set_apart": SET_APART,
    "contended": f"{GLOBAL}ask start force=1\n"
    + "ask set first budget_ns=3000000\nask swap name=deferrable+edf+none\n"
    "ask set first budget_ns=2000000\nask swap name=rtds\n" * 20,
}


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Left]:
    """What each phase left, by its name: the daemon's status, and its decisions played again."""
    return run_phases(PHASES, tmp_path_factory.mktemp("two"), cpus=2, caches=2)


@pytest.mark.parametrize("phase", PHASES)
def test_the_kernel_ends_nothing_and_all_is_played_again(phase: str, left: dict[str, Left]) -> None:
    assert left[phase].status["ends"] == 0
    assert left[phase].status["ended"] == ""
    assert all(sum(domain.picks(1 << 62)) > 0 for domain in left[phase].domains)


def test_a_server_is_back_when_its_cpu_is(left: dict[str, Left]) -> None:
    assert left["parked"].status["parked"] == 0
    servers = {server["name"]: server for server in left["parked"].status["servers"]}
    assert servers["second"]["arrivals"] >= 4
    assert servers["second"]["runnable"] == 1
    assert servers["first"]["arrivals"] == 1


def test_a_cpu_may_be_offline_when_the_system_starts(left: dict[str, Left]) -> None:
    """The kernel ends nothing since nobody waits for it; when it comes, its server has it."""
    without = json.loads(left["absent"].files["without"])
    assert without["parked"] == 0b10
    assert [server["runnable"] for server in without["servers"]] == [1, 0]
    assert left["absent"].status["parked"] == 0
    assert [server["runnable"] for server in left["absent"].status["servers"]] == [1, 1]
    assert cpus_of(left["absent_global"], 0) | cpus_of(left["absent_global"], 1) == {0, 1}


def test_a_server_may_have_a_cpu_that_is_set_apart(left: dict[str, Left]) -> None:
    """By a cpuset partition, as isolcpus= keeps the scheduler from starting."""
    assert left["set_apart"].files["partition"].strip() == b"isolated"
    (server,) = left["set_apart"].status["servers"]
    assert server["runnable"] == 1
    assert server["used_ns"] > 20 * 3_000_000


def test_a_thread_that_is_kept_away_is_counted(left: dict[str, Left]) -> None:
    assert left["pinned"].status["strays"] >= 10
    assert left["pinned"].status["servers"][0]["arrivals"] >= 10


def test_a_bound_server_runs_on_its_cpus_alone(left: dict[str, Left]) -> None:
    """And its threads need no more than these."""
    bound = left["bound"]
    assert [server.get("pcpus") for server in bound.status["servers"]] == [[1], [0], None]
    assert cpus_of(bound, 0) == {1}
    assert cpus_of(bound, 1) == {0}
    assert [server["runnable"] for server in bound.status["servers"]] == [1, 1, 1]


def test_a_server_that_is_bound_again_has_its_thread_back(left: dict[str, Left]) -> None:
    """One that may not run wherever its server does is a stray."""
    strays = left["strays"]
    assert [server.get("pcpus") for server in strays.status["servers"]] == [[1], [0], None]
    assert [server["runnable"] for server in strays.status["servers"]] == [1, 0, 1]
    assert strays.status["servers"][0]["arrivals"] >= 2
    assert strays.status["strays"] >= 2


@pytest.fixture(scope="module")
def with_one(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Left]:
    """What phases left in which one of the two cpus is gone for a while."""
    phases = {"overbooked": OVERBOOKED, "homeless": BOUND + GONE}
    return run_phases(phases, tmp_path_factory.mktemp("one"), cpus=2)


@pytest.mark.slow
def test_a_server_whose_cpus_are_gone_is_back_with_them(with_one: dict[str, Left]) -> None:
    homeless = with_one["homeless"]
    without = json.loads(homeless.files["without"])
    assert [server["runnable"] for server in without["servers"]] == [0, 1, 1]
    assert [server["runnable"] for server in homeless.status["servers"]] == [1, 1, 1]
    assert homeless.status["ends"] == 0


@pytest.mark.slow
def test_servers_without_room_on_the_cpus_that_stay_are_parked(with_one: dict[str, Left]) -> None:
    """The last one: its thread is background, which has a part of what is left."""
    overbooked = with_one["overbooked"]
    without = json.loads(overbooked.files["without"])
    assert without["parked"] == 0b100
    assert [server["runnable"] for server in without["servers"]] == [1, 1, 0]
    assert overbooked.status["parked"] == 0
    assert [server["runnable"] for server in overbooked.status["servers"]] == [1, 1, 1]


def test_who_may_not_run_where_it_did_has_its_share_elsewhere(left: dict[str, Left]) -> None:
    had_ns = left["repinned"].number("last") - left["repinned"].number("first")
    assert 200_000_000 <= had_ns <= 500_000_000
