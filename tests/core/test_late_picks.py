# SPDX-License-Identifier: BSD-2-Clause
"""A late pick moves nothing but what it used: neither a change of parameters nor a deadline."""

from __future__ import annotations

import pytest

from hyperperiod import _sim

_, DEFERRABLE, POLLING, SPORADIC, CBS = range(5)
FP, EDF = range(2)
SPARE = 3
EXTRA = 4
MAY_HAVE_EXTRA = 2
LATE = 2


def core(budget: int) -> _sim.Core:
    """One pcpu under EDF, without a spare."""
    return _sim.Core(budget, EDF, 0, 1, 0, 0, 0, 0)


@pytest.mark.parametrize("budget", [DEFERRABLE, POLLING, SPORADIC, CBS])
def test_a_change_counts_from_its_time_however_late_the_pick(budget: int) -> None:
    deadlines = []
    for late in (0, LATE):
        one = core(budget)
        one.add(0, 20, 5, 0, 0, 0)
        one.arrive(0, 0)
        one.pick(0, 0)
        one.pick(0, 5)
        one.update(0, 10, 5, 0, 0, 6)
        one.pick(0, 6)
        one.pick(0, 20 + late)
        deadlines.append((one.remaining(0), one.deadline(0)))
    assert deadlines == [(5, 30), (5, 30)]


def test_an_overrun_into_the_next_refill_leaves_its_deadline() -> None:
    """Used from 0 to 2 and from 10 to 14, a budget of 6 comes back as 2 at 20 and 4 at 30.

    The server waits for a more urgent one until 35. At 37 the first refill is used up and the
    second, which has been there since 30, is the head: its deadline is 50 whenever the pick comes.
    """
    one = core(SPORADIC)
    one.add(0, 20, 6, 0, 0, 0)
    one.add(1, 19, 15, 0, 0, 0)
    for begin, end in ((0, 2), (10, 14)):
        one.arrive(0, begin)
        one.pick(0, begin)
        one.depart(0, end)
        one.pick(0, end)
    one.arrive(0, 20)
    one.arrive(1, 20)
    assert one.pick(0, 20)[2] == 1
    one.depart(1, 35)
    assert one.pick(0, 35)[1:3] == (37, 0)
    in_time = one.copy()
    in_time.pick(0, 37)
    in_time.pick(0, 37 + LATE)
    one.pick(0, 37 + LATE)
    assert [(it.remaining(0), it.deadline(0)) for it in (in_time, one)] == [(2, 50), (2, 50)]


def test_an_overrun_is_not_forgiven_however_long_it_was() -> None:
    """A budget of 1000 in a period of 2^32 is overrun by 2^32 budgets and one, 72 minutes.

    Each comes back a period later, so that what comes back first does so after 2^64: never.
    """
    one = core(SPORADIC)
    one.add(0, 1 << 32, 1000, 0, 0, 0)
    one.arrive(0, 0)
    one.pick(0, 0)
    end = 1000 * ((1 << 32) + 1)
    assert one.pick(0, end)[2] is None
    assert one.remaining(0) == 0
    assert one.deadline(0) > 1 << 62
    assert one.check(end + 1) == 0


def test_a_debt_from_before_extra_time_costs_the_same_into_however_many_pieces() -> None:
    """A budget of 5 is overrun until new parameters at 20 give 15, which the debt uses up.

    They allow extra time: the late grant goes on there until the refill at 40, and has used 5 of
    that when the pick comes.
    """
    one = _sim.Core(CBS, EDF, EXTRA, 1, 0, 0, 0, 0)
    one.add(0, 20, 5, 0, 0, 0)
    one.arrive(0, 0)
    one.pick(0, 0)
    one.update(0, 20, 15, 0, MAY_HAVE_EXTRA, 1)
    pieces = one.copy()
    for now in range(1, 46):
        pieces.kicks(now)
    for it in (one, pieces):
        it.pick(0, 45)
    assert [(it.remaining(0), it.deadline(0)) for it in (one, pieces)] == [(10, 60), (10, 60)]


@pytest.mark.parametrize("order", [FP, EDF])
def test_the_spare_helps_by_the_deadlines_of_now(order: int) -> None:
    """A refill that only pays back a debt moves the deadline of a server that stays depleted.

    Vcpu 1 has overrun its budget of 10 by 15; vcpu 0 has used up its own at 35 and waits until 60,
    which is later than 50. At 50 the refill of vcpu 1 leaves a debt of 5: it waits until 100 now.
    """
    one = _sim.Core(DEFERRABLE, order, SPARE, 1, 0, 100, 50, 0)
    one.add(0, 60, 10, 0, 0, 0)
    one.add(1, 50, 10, 1, 0, 0)
    one.arrive(1, 0)
    one.pick(0, 0)
    one.arrive(0, 25)
    one.pick(0, 25)
    assert one.pick(0, 35)[1:4] == (50, 0, "spare")
    assert one.pick(0, 50)[2:4] == (1, "spare")
    assert (one.remaining(1), one.deadline(1)) == (-5, 100)


def test_a_spare_that_comes_back_while_it_is_overrun_is_given_again() -> None:
    """The spare of 50 is used up at 60, and nobody picks when that is noticed at 70.

    By 101 its refill at 100 has paid that back but for 9.
    """
    one = _sim.Core(DEFERRABLE, FP, SPARE, 1, 0, 100, 50, 0)
    one.add(0, 1000, 10, 0, 0, 0)
    one.arrive(0, 0)
    one.pick(0, 0)
    assert one.pick(0, 10)[1:4] == (60, 0, "spare")
    assert one.kicks(70) == 1
    assert one.pick(0, 101)[1:4] == (110, 0, "spare")
