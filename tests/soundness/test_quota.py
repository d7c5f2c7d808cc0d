# SPDX-License-Identifier: BSD-2-Clause
"""What a quota of Linux promises on a cpu of its own (`export/quota.py`): no less than a deferrable
server, in a small model of the kernel's accounting, one tick at a time, whose charges come as late
as they may. Beside others it promises nothing."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest
from tests.support.campaign import Trial, draw_for, hunt, sizes


@dataclass
class Quota:
    """A cgroup's pool and its account on one cpu, as the kernel keeps them."""

    quota: int
    slice: int
    kept: int
    """What an account keeps when nothing wants the cpu any more; the rest goes back."""
    pool: int = 0
    account: int = 0
    uncharged: int = 0
    throttled: bool = False
    timer_runs: bool = False
    untouched: bool = False

    def take(self, up_to: int) -> None:
        """The account takes from the pool what it lacks, and the timer runs again."""
        self.timer_runs = True
        amount = min(self.pool, up_to - self.account)
        self.pool -= amount
        self.account += amount
        self.untouched = self.untouched and not amount

    def begin_period(self) -> None:
        """The timer fires: the pool is full, and who can pay what is overdrawn runs again."""
        if not self.timer_runs:
            return
        self.pool = self.quota
        self.untouched, stops = not self.throttled, self.untouched and not self.throttled
        if self.throttled:
            self.take(1)
            self.throttled = self.account <= 0
        elif stops:
            self.timer_runs = False

    def charge(self) -> None:
        """The account pays for what has run, or for nothing when work comes."""
        self.account -= self.uncharged
        self.uncharged = 0
        if self.account <= 0:
            self.take(self.slice)
            self.throttled = self.account <= 0

    def rest(self) -> None:
        """Nothing wants the cpu any more."""
        given_back = max(0, self.account - self.kept)
        self.pool += given_back
        self.account -= given_back


def first_shortfall(
    draw: random.Random, period: int, quota: Quota, late: int, budget: int, interrupts: int
) -> int:
    """The first tick at which a cgroup has had less than a deferrable server, or is throttled while
    that has budget; -1 if never.

    It is charged after so many ticks of running at the latest, and for so many of interrupts in a
    period.
    """
    phase, long, steal, eager = (
        draw.randrange(period),
        draw.random(),
        draw.random() / 5,
        draw.random(),
    )
    quota.pool = quota.quota
    wanted = had = granted = busy = 0
    left, paid = budget, interrupts
    for tick in range(12 * period):
        if tick % period == phase:
            quota.begin_period()
            left, paid = budget, interrupts
        if not busy and draw.random() < 0.3:
            busy = draw.randrange(1, 2 * period) if draw.random() < long else 1
        if busy:
            if wanted == had and not quota.throttled:
                quota.charge()
            wanted += 1
            busy -= 1
        stolen = draw.random() < steal
        if had < wanted and not quota.throttled and (paid or not stolen):
            had += not stolen
            paid -= stolen
            quota.uncharged += 1
            if quota.uncharged == late or had == wanted or draw.random() < eager**3:
                quota.charge()
            if had == wanted:
                quota.rest()
        if not stolen and granted < wanted and left:
            granted += 1
            left -= 1
        if had < granted or (left and quota.throttled):
            return tick
    return -1


def drawn(draw: random.Random, less: int, interrupts: int) -> int:
    """The first shortfall in a drawn world of a quota that has so much less than it should, and
    pays for so many ticks of interrupts in a period."""
    late = draw.randrange(1, 5)
    budget = draw.randrange(1, 12)
    period = budget + draw.randrange(0, 15)
    whole = budget + late + interrupts
    quota = Quota(whole - less, slice=draw.randrange(1, 8), kept=draw.randrange(1, 3))
    return first_shortfall(draw, period, quota, late, budget, interrupts)


def trial(draw: random.Random) -> Trial:
    found = drawn(draw, 0, draw.randrange(4))
    return Trial(True, "" if found < 0 else f"less than a deferrable server at {found}")


@sizes(5_000)
def test_no_counterexample(systems: int) -> None:
    hunt("quota", systems, trial, least_accepted=1.0)


@pytest.mark.parametrize(("less", "interrupts"), [(2, 0), (4, 3)])
def test_less_room_is_not_enough(less: int, interrupts: int) -> None:
    """For what is overdrawn or for interrupts: an account that was above zero at its last charge is
    overdrawn by a tick less than `late`."""
    draws = (draw_for("quota, less", number) for number in range(500))
    assert sum(drawn(draw, less, interrupts) >= 0 for draw in draws) > 50


def test_beside_others_a_quota_promises_nothing() -> None:
    """Two cgroups of the same weight on one cpu, whose quotas fill it: the turns are equal."""
    left, had = {"a": 15, "b": 25}, {"a": 0, "b": 0}
    for _ in range(20):
        one = min((name for name in left if left[name]), key=had.__getitem__)
        left[one] -= 1
        had[one] += 1
    assert had["a"] == 10
