# SPDX-License-Identifier: BSD-2-Clause
"""Outside of servers Linux is as it was: shares, limits and wake-ups, beside the kernel's own.

Each phase has the same threads under the kernel's own scheduler first, and then under ours, on a
cpu that counts instructions.
"""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest
from tests.linux.scripts import Left, run_phases

pytestmark = [pytest.mark.xdist_group("background on linux"), pytest.mark.slow]

S = 1_000_000_000
SERVER = """\
ask policy name=ds pcpus=0
ask server idle pcpu=0 period_ns=10000000 budget_ns=1000000 priority=0
"""
HAD = """\
had() {
    for pid in $loads; do busybox cat /proc/$pid/schedstat; done >/left/$phase/$1
}
"""
LOOK = """\
look() {
    had $1-first
    busybox sleep $2
    had $1-last
}
"""
GROUP = """\
group() {
    busybox mkdir /sys/fs/cgroup/$1
    for pid in $3; do echo $pid >/sys/fs/cgroup/$1/cgroup.procs; done
    [ -z "$2" ] || echo $2 >/sys/fs/cgroup/$1/cpu.weight
}
"""
BOTH = """\
look kernel {seconds}
ask record on
ask start
look ours {seconds}
"""


def shares(left: Left, scheduler: str) -> np.ndarray:
    """What each had of what all had, between two looks."""
    first, last = (
        np.array([int(line.split()[0]) for line in left.files[f"{scheduler}-{when}"].splitlines()])
        for when in ("first", "last")
    )
    had = last - first
    return np.array(had / had.sum())


PHASES = {
    "nice": f"""\
{SERVER}{HAD}{LOOK}{GROUP}
echo +cpu >/sys/fs/cgroup/cgroup.subtree_control
load hog
group limited "" $it
echo "10000 100000" >/sys/fs/cgroup/limited/cpu.max
load hog
busybox renice -n 19 -p $it
load hog
busybox renice -n -10 -p $it
{BOTH.format(seconds=10)}""",
    "groups": f"""\
{SERVER}{HAD}{LOOK}{GROUP}
load hog
group one 300 $it
load hog
echo $it >/sys/fs/cgroup/one/cgroup.procs
load hog
busybox mkdir /sys/fs/cgroup/two
echo +cpu >/sys/fs/cgroup/two/cgroup.subtree_control
group two/a "" $it
load hog
group two/b 50 $it
load hog
echo $it >/sys/fs/cgroup/two/b/cgroup.procs
{BOTH.format(seconds=3)}""",
    "limits": f"""\
{SERVER}{LOOK}{GROUP}
had() {{
    for group in one two many; do
        busybox sed -n "s/usage_usec //p" /sys/fs/cgroup/outer/$group/cpu.stat
    done >/left/$phase/$1
    read ns rest </proc/$it/schedstat
    echo $((ns / 1000)) >>/left/$phase/$1
}}
busybox mkdir /sys/fs/cgroup/outer
echo +cpu >/sys/fs/cgroup/outer/cgroup.subtree_control
load hog
group outer/one "" $it
load hog
group outer/two "" $it
load crowd 60
group outer/many "" $it
echo "5000 100000" >/sys/fs/cgroup/outer/one/cpu.max
echo "30000 100000" >/sys/fs/cgroup/outer/cpu.max
load hog
{BOTH.format(seconds=3)}""",
    "alone": f"""\
{SERVER}{HAD}{LOOK}{GROUP}
load hog
group alone "" $it
echo "3000 10000" >/sys/fs/cgroup/alone/cpu.max
{BOTH.format(seconds=2)}""",
    "builds": f"""\
{SERVER}
builds() {{
    read before rest </proc/uptime
    busybox seq 4 | busybox xargs -n 1 -P 4 busybox sh -c '
        busybox sha256sum /bin/busybox && busybox gzip -c /bin/busybox' >/dev/null
    read after rest </proc/uptime
    echo $before $after >/left/$phase/$1
}}
builds kernel
ask record on
ask start
builds ours
""",
    "wakes": f"""\
{SERVER}
for hog in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do load hog; done
/bin/load wakes 200 10000 >/left/$phase/kernel
ask record on
ask start
/bin/load wakes 200 10000 >/left/$phase/ours
""",
}


@functools.cache
def _left(folder: Path) -> dict[str, Left]:
    return run_phases(PHASES, folder)


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Left]:
    return _left(tmp_path_factory.mktemp("background"))


@pytest.mark.parametrize("phase", ["nice", "groups"])
def test_shares_are_the_kernels(left: dict[str, Left], phase: str) -> None:
    ours, kernels = shares(left[phase], "ours"), shares(left[phase], "kernel")
    print(kernels, ours)
    assert ours == pytest.approx(kernels, rel=0.05)


def test_limits_hold_for_all_inside(left: dict[str, Left]) -> None:
    """A group has three tenths of the cpu; one inside has a limit of its own, another many threads.

    The kernel's own scheduler is less exact.
    """
    for scheduler, tolerance in (("ours", 0.01), ("kernel", 0.05)):
        one, *others, outside = shares(left["limits"], scheduler)
        print(scheduler, one, others, outside)
        assert one <= 0.05 * (1 + tolerance)
        assert one + sum(others) == pytest.approx(0.3, rel=tolerance)


def test_a_limit_holds_where_nobody_else_runs(left: dict[str, Left]) -> None:
    """Nobody takes the place of a thread whose limit is used up, but it does not go on."""
    for scheduler in ("kernel", "ours"):
        first, last = (
            left["alone"].number(f"{scheduler}-{when}") / (2 * S) for when in ("first", "last")
        )
        print(scheduler, last - first)
        assert last - first == pytest.approx(0.3, rel=0.02)


def test_who_wakes_up_beside_hogs_goes_on_as_soon(left: dict[str, Left]) -> None:
    """The median is at most twice the least that was seen of the kernel's own, 56 us."""
    late_ns = {
        who: np.array([int(line) for line in left["wakes"].files[who].split()])
        for who in ("kernel", "ours")
    }
    for who, late in late_ns.items():
        print(who, np.percentile(late, [50, 90, 99, 100]))
    assert np.median(late_ns["ours"]) <= 112_000
    assert np.percentile(late_ns["ours"], 99) <= 3 * np.percentile(late_ns["kernel"], 99)


def test_a_build_takes_as_long(left: dict[str, Left]) -> None:
    """Four shells start programs that compute, until all are done."""
    kernel_s, ours_s = (
        last - first
        for first, last in (
            map(float, left["builds"].files[who].split()) for who in ("kernel", "ours")
        )
    )
    print(kernel_s, ours_s)
    assert ours_s <= 1.05 * kernel_s


CACHES = f"""\
{SERVER}{HAD}{LOOK}
ask record on
ask start
for hog in 1 2 3 4 5 6; do load hog; done
busybox sleep 0.5
had first
for look in $(busybox seq 200); do
    busybox usleep 20000
    for pid in $loads; do busybox cut -d " " -f 39 /proc/$pid/stat; done | busybox tr "\\n" " "
    echo
done >/left/$phase/cpus
had last
"""


def cpu_changes(left: Left) -> float:
    """How often a thread was found on another cpu than at the look before, at most 1."""
    cpus = [line.split() for line in left.files["cpus"].decode().splitlines()]
    return float((np.diff(np.array(cpus, int), axis=0) != 0).mean())


def test_threads_stay_near_their_cache(tmp_path: Path) -> None:
    """Two cpus with a cache each: threads change their cpu seldom, and share both all the same."""
    shared, apart = (
        run_phases({"caches": CACHES}, tmp_path, cpus=2, caches=caches, counts=True)["caches"]
        for caches in (1, 2)
    )
    changes = [cpu_changes(left) for left in (shared, apart)]
    had = [np.array([int(line.split()[0]) for line in apart.files[when].splitlines()])
           for when in ("first", "last")]  # fmt: skip
    print(changes, had[1] - had[0])
    assert changes[1] <= changes[0] / 3
    assert had[1] - had[0] == pytest.approx(np.full(6, (had[1] - had[0]).mean()), rel=0.05)
