# SPDX-License-Identifier: BSD-2-Clause
"""The supply bound against every legal supply pattern of small servers."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperperiod import _analysis
from hyperperiod._analysis import Shape
from hyperperiod.analysis.domains.supply_bound import Supply

SMALL = [(period, budget) for period in range(1, 5) for budget in range(1, period + 1)]


def patterns(period: int, budget: int, periods: int) -> list[tuple[int, ...]]:
    """All ways to place the budget in each of some periods, as slots of 0 and 1."""
    one = [
        tuple(int(slot in chosen) for slot in range(period))
        for chosen in combinations(range(period), budget)
    ]
    return [sum(parts, ()) for parts in product(one, repeat=periods)]


def least(slots: tuple[int, ...], starts: range, window: int) -> int:
    return min(sum(slots[start : start + window]) for start in starts)


@pytest.mark.parametrize(("period", "budget"), SMALL)
def test_general_is_the_least_over_all_patterns_and_starts(period: int, budget: int) -> None:
    supply = Supply(Shape.GENERAL, period, budget)
    for window in range(2 * period + 1):
        worst = min(least(slots, range(period), window) for slots in patterns(period, budget, 3))
        assert supply.sbf(window) == worst


@pytest.mark.parametrize(("period", "budget"), SMALL)
def test_harmonic_is_the_least_over_windows_that_begin_with_a_period(
    period: int, budget: int
) -> None:
    supply = Supply(Shape.HARMONIC, period, budget)
    for window in range(3 * period + 1):
        worst = min(least(slots, range(1), window) for slots in patterns(period, budget, 3))
        assert supply.sbf(window) == worst


@pytest.mark.parametrize(("period", "budget"), SMALL)
def test_polling_loses_the_period_in_which_work_comes(period: int, budget: int) -> None:
    supply = Supply(Shape.POLLING, period, budget)
    nothing = (0,) * period
    for window in range(3 * period + 1):
        worst = min(
            least(nothing + slots, range(period), window) for slots in patterns(period, budget, 3)
        )
        assert supply.sbf(window) == worst


servers = st.integers(1, 200).flatmap(
    lambda period: st.tuples(st.just(period), st.integers(1, period))
)


@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.sampled_from(list(Shape)), servers, st.integers(0, 2000), st.integers(0, 2000))
def test_inverse_and_kernel(
    shape: Shape, server: tuple[int, int], window: int, amount: int
) -> None:
    supply = Supply(shape, *server)
    assert _analysis.sbf((shape, *server, 0), window) == supply.sbf(window)
    earliest = supply.time_for(amount)
    assert supply.sbf(earliest) >= amount
    assert earliest == 0 or supply.sbf(earliest - 1) < amount


@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.sampled_from(list(Shape)), servers, st.integers(0, 2000))
def test_more_budget_never_supplies_less(
    shape: Shape, server: tuple[int, int], window: int
) -> None:
    period, budget = server
    if budget < period:
        more = Supply(shape, period, budget + 1)
        assert more.sbf(window) >= Supply(shape, period, budget).sbf(window)


def test_a_whole_period_is_the_pcpu_itself() -> None:
    assert [Supply(Shape.GENERAL, 7, 7).sbf(window) for window in range(20)] == list(range(20))


@pytest.mark.parametrize("budget", [0, 11, -1])
def test_a_budget_outside_the_period_is_refused(budget: int) -> None:
    with pytest.raises(ValueError, match="outside 1"):
        Supply(Shape.GENERAL, 10, budget)
    with pytest.raises(ValueError, match="below 0"):
        Supply(Shape.GENERAL, 10, 5).sbf(-1)
