# SPDX-License-Identifier: BSD-2-Clause
"""Tests of tasks on a pcpu of their own: known answers, verdicts, reasons, and the edges."""

from __future__ import annotations

import random
import time
import tracemalloc

import pytest

from hyperperiod.analysis.component import Load
from hyperperiod.analysis.tasks.edf_demand import edf_demand
from hyperperiod.analysis.tasks.hyperbolic import hyperbolic
from hyperperiod.analysis.tasks.liu_layland import liu_layland
from hyperperiod.analysis.tasks.qpa import qpa
from hyperperiod.analysis.tasks.response_time import response_times

# Burns and Wellings' example, whose responses are in every textbook: 3, 6 and 20.
TEXTBOOK = [Load(3, 7, 7), Load(3, 12, 12), Load(5, 20, 20)]


def bounds(loads: list[Load]) -> list[int | None]:
    return [verdict.bound_ns for verdict in response_times(loads)]


def test_textbook_responses() -> None:
    assert bounds(TEXTBOOK) == [3, 6, 20]
    assert bounds([*TEXTBOOK[:2], Load(5, 20, 19)]) == [3, 6, None]


def test_a_later_job_of_the_busy_window_is_the_longest() -> None:
    """Lehoczky's example: the first job of the second task takes 114, the fifth 118."""
    assert bounds([Load(26, 70, 70), Load(62, 100, 118)]) == [26, 118]
    assert bounds([Load(26, 70, 70), Load(62, 100, 117)]) == [26, None]


def test_jitter_counts_from_the_actual_release() -> None:
    """The higher task can be released at 0 (late) and at 5 (early) again."""
    assert bounds([Load(2, 10, 10, 5), Load(4, 20, 20)]) == [2, 8]
    assert bounds([Load(2, 10, 10, 5), Load(4, 20, 20, 19)]) == [2, 11]


def test_blocking_counts_once_in_a_busy_window() -> None:
    blocked = [load._replace(blocking=2) for load in TEXTBOOK[:2]]
    assert bounds(blocked) == [5, 11]
    # The second job of the window: 10 + 2 * 62 + 4 * 26 is 238, and it was released at 100.
    assert bounds([Load(26, 70, 70), Load(62, 100, 140, 0, 10)]) == [26, 138]


def test_what_is_not_exact_says_null_instead_of_no() -> None:
    late = [Load(3, 7, 7), Load(5, 12, 7)]
    assert response_times(late)[1].holds is False
    assert response_times(late, phased=True)[1].holds is None
    assert qpa(late).holds is False
    assert qpa(late, phased=True).holds is None
    assert edf_demand(late, phased=True).verdict.holds is None
    for more in ({"jitter": 1}, {"blocking": 1}):
        maybe = [late[0]._replace(**more), late[1]]
        assert response_times(maybe)[1].holds is None
        assert qpa(maybe).holds is None
        assert edf_demand(maybe).verdict.holds is None


def test_an_overload_is_no_whatever_the_phases() -> None:
    over = [Load(3, 4, 9, 1), Load(3, 9, 90, 0, 2)]
    for verdict in (response_times(over)[1], qpa(over), edf_demand(over, phased=True).verdict):
        assert verdict.holds is False
        assert "more than a pcpu" in verdict.reason


def test_the_demand_test_names_the_shortest_window_that_is_short() -> None:
    loads = [Load(2, 6, 4), Load(3, 9, 5), Load(2, 9, 8)]
    found = edf_demand(loads)
    assert (found.verdict.holds, found.window, found.demand) == (True, 8, 7)
    tight = [*loads[:2], Load(4, 13, 8)]
    found = edf_demand(tight)
    assert (found.verdict.holds, found.window, found.demand) == (False, 8, 9)
    assert "9 is due in a window of 8" in found.verdict.reason
    assert qpa(tight).holds is False


def test_edf_with_blocking_holds_the_longest_of_those_due() -> None:
    """A window of 4 holds 2 of demand and 2 of blocking; one of 9 holds 7 and 2."""
    loads = [Load(2, 20, 4, 0, 2), Load(5, 20, 9)]
    assert qpa(loads).holds
    assert edf_demand(loads).verdict.holds
    for more in (loads[0]._replace(blocking=3), loads[0]._replace(wcet=3)):
        assert qpa([more, loads[1]]).holds is None
        assert edf_demand([more, loads[1]]).verdict.holds is None


PRIMES = (10_000_019, 10_000_079, 10_000_103, 10_000_121, 10_000_139, 10_000_141)


@pytest.mark.parametrize("unit", [1, 1000, 10**9])
def test_time_and_memory_do_not_follow_the_hyperperiod(unit: int) -> None:
    """Hyperperiods from 10^42 on, utilisation 0.98 and deadlines below periods.

    The bounds, of processor time, are generous, for slow machines.
    """
    loads = [Load(p * unit * 98 // 600, p * unit, p * unit - p * unit // 150) for p in PRIMES]
    tracemalloc.start()
    began = time.process_time()
    assert qpa(loads).holds
    assert edf_demand(loads).verdict.holds
    assert response_times(loads)[0].holds
    spent, peak = time.process_time() - began, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert spent < 2
    assert peak < 10**6


def test_no_tasks_have_nothing_to_miss() -> None:
    assert response_times([]) == []
    assert qpa([]).holds
    assert edf_demand([]).verdict.holds


def test_times_out_of_range_are_refused() -> None:
    for bad in (Load(0, 5, 5), Load(1, 2**62, 5), Load(1, 5, -1)):
        for test in (response_times, qpa, edf_demand):
            with pytest.raises((ValueError, TypeError)):
                test([bad])


def test_the_bounds_on_utilizations_are_the_published_ones() -> None:
    """Liu and Layland's bounds of 1 to 4 tasks; and exactly on the hyperbolic bound.

    (1 + 1/2) (1 + 1/3) = 2 is on the edge of the hyperbolic bound, above the other one, and rate
    monotonic just meets (1, 2), (1, 3); one unit more of a thousand is above both.
    """
    for count, bound in enumerate([1.0, 0.828427, 0.779763, 0.756828], 1):
        for wcet, holds in ((bound - 1e-6, True), (bound + 2e-6, None if count > 1 else False)):
            loads = [Load(round(wcet * 10**9 / count), 10**9, 10**9)] * count
            assert liu_layland(loads).holds is holds
            assert hyperbolic(loads).holds is holds
    edge = [Load(1, 2, 2), Load(1, 3, 3)]
    assert hyperbolic(edge).holds is True
    assert liu_layland(edge).holds is None
    assert hyperbolic([Load(1000, 2000, 2000), Load(1001, 3000, 3000)]).holds is None


def test_the_bounds_on_utilizations_accept_only_what_response_times_accept() -> None:
    draw = random.Random(1)
    accepted = [0, 0]
    for _ in range(300):
        loads = []
        for _ in range(draw.randint(1, 4)):
            period = draw.randint(4, 40)
            loads.append(Load(draw.randint(1, period // 2), period, period))
        loads.sort(key=lambda load: load.period)
        plain, product = liu_layland(loads).holds, hyperbolic(loads).holds
        assert product or not plain, loads
        assert not product or all(one.holds for one in response_times(loads)), loads
        accepted = [accepted[0] + bool(plain), accepted[1] + bool(product)]
    assert 0 < accepted[0] < accepted[1] < 300
    for load in (Load(1, 4, 3), Load(1, 4, 4, 1), Load(1, 4, 4, 0, 1)):
        assert liu_layland([load]).holds is None
        assert hyperbolic([load]).holds is None
